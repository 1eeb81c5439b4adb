"""Verbs about text without spaces: where its words are, how likely it is, which words there are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from corpuscle.settings import Seeded, setting
from corpuscle.web.verbs.table import K, Lines, lines_of, verb

__all__ = ["SEGMENTERS", "Context"]

SEGMENTERS = ("segment.npylm", "segment.dirichlet")
"""Kinds that are language models, too."""


class Context(K):
    """The beginning of a sentence."""

    context: str = setting("The beginning of a sentence.", default="")


class Segmenting(Seeded, Lines):
    """Text without spaces, a sentence a line."""

    draws: int = setting("Segmentations drawn, for how probable boundaries are.", default=50, low=1, high=1000)


def _letters(*lines: str) -> Any:
    from corpuscle.text import read_strings

    return read_strings(lines, unk_token="literal")


@verb("segment", Segmenting, text="abcab", draws=10)
def apply(model: Any, given: Any) -> dict[str, Any]:
    """The words of text without spaces, and how probable a boundary is between any two letters."""
    text = _letters(*lines_of(given))
    words = [list(line) for line in model.segment(text)]
    if model.KIND.name == "segment.trivial":
        return {"lines": [{"words": line, "boundaries": None} for line in words]}
    letters, probabilities = model.posterior(text, draws=given.draws, seed=given.seed)
    strings, tokens, sure = letters.vocab.strings, letters.tokens.tolist(), probabilities.tolist()
    bounds = [
        [
            {"position": i - begin, "before": strings[tokens[i - 1]], "after": strings[tokens[i]],
             "probability": sure[i]}
            for i in range(begin + 1, end)
        ]
        for begin, end in pairwise(letters.starts.tolist())
    ]  # fmt: skip
    return {"lines": [{"words": a, "boundaries": b} for a, b in zip(words, bounds, strict=True)]}


@verb("segment", Lines, kinds=SEGMENTERS, text="abcab")
def score(model: Any, given: Any) -> dict[str, Any]:
    """How likely each line is, however it is cut into words, and its perplexity a letter."""
    import numpy as np

    found = model.score(_letters(*lines_of(given)))
    rows = zip(found.letters.tolist(), found.unknown.tolist(), found.log_probability.tolist(), strict=True)
    lines = [
        {"letters": n, "unknown": unknown, "log10": log / np.log(10),
         "perplexity": float(np.exp(min(700.0, -log / n))) if n else None}
        for n, unknown, log in rows
    ]  # fmt: skip
    return {"lines": lines}


@verb("segment", Context, kinds=SEGMENTERS, name="next", context="ab", k=3)
def next_after_letters(model: Any, given: Any) -> dict[str, Any]:
    """The most likely next words after the beginning of a line, however that is cut, and how likely a new one is."""
    begin = _letters(given.context)
    found = model.next_words(begin, given.k)
    words = [{"word": word, "probability": probability} for word, probability in found.words]
    return {"context": model.segment(begin).words(0), "next": words, "new": found.new}


@verb("segment", K, kinds=SEGMENTERS, k=5)
def lexicon(model: Any, given: Any) -> dict[str, Any]:
    """The words that a model found, the most frequent first."""
    return {"words": [entry._asdict() for entry in model.lexicon()[: given.k]]}
