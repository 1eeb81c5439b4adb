"""What there is to look at in a tagger: what it takes for what."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import clip

_CONFUSIONS, _ERRORS, _AROUND = 12, 12, 4


def mistakes(gold: Treebank, found: Treebank, layer: str, known: list[bool]) -> tuple[Any, Any]:
    """Which tags are taken for which, and the first words with a wrong tag, with the words around them."""
    wanted, given = getattr(gold, layer).strings(), getattr(found, layer).strings()
    confused = Counter((a, b) for a, b in zip(wanted, given, strict=True) if a != b)
    errors = []
    for at in [i for i, (a, b) in enumerate(zip(wanted, given, strict=True)) if a != b][:_ERRORS]:
        sentence = int(np.searchsorted(gold.corpus.sentence_starts, at, side="right")) - 1
        words, i = gold.corpus.words(sentence), at - int(gold.corpus.sentence_starts[sentence])
        around = " ".join(words[max(0, i - _AROUND) : i]), words[i], " ".join(words[i + 1 : i + 1 + _AROUND])
        errors.append((*map(clip, around), given[at], wanted[at], known[at]))
    return tuple((a, b, n) for (a, b), n in confused.most_common(_CONFUSIONS)), tuple(errors)
