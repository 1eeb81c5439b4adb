"""What there is to look at in a segmenter: sentences in letters with how sure it is of each boundary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice, pairwise

import numpy as np

from corpuscle.segment import NestedSegmenter
from corpuscle.text.corpus import Corpus

Example = Sequence[tuple[str, bool, float]]
"""A sentence in letters: each with the chosen cut before it, and the probability of one."""
_DRAWS = 50


def without(lines: Corpus | None, text: Corpus) -> Corpus | None:
    """Lines whose letters are not among those of a text: what is measured must not have been seen."""
    if lines is None:
        return None
    held = {"".join(words) for words in text}
    kept = np.array(["".join(words) not in held for words in lines])
    return lines.select(kept).counted() if kept.any() else None


def examples(model: NestedSegmenter, text: Corpus, longest: int, seed: int) -> tuple[Example, ...]:
    """Sentences in letters, at most the ``longest``, with the chosen cut and the probability of a cut before each."""
    words = model.segment(text)
    letters, probabilities = model.posterior(text, draws=_DRAWS, seed=seed)
    spelled = letters.vocab.decode(letters.tokens)
    result: list[Example] = []
    for i, (first, last) in enumerate(pairwise(letters.starts.tolist())):
        begins = set(accumulate(map(len, words.words(i)), initial=0))
        places = accumulate(map(len, spelled[first:last]), initial=0)
        rows = zip(spelled[first:last], places, probabilities[first:last].tolist(), strict=False)
        result.append([(letter, at in begins, round(p, 2)) for letter, at, p in islice(rows, longest)])
    return tuple(filter(None, result))
