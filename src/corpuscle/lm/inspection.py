"""Which sentences of a text surprise a language model most, and which least."""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.lm.base import LanguageModel
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import UNKNOWN
from corpuscle.text.wording import clip

_FEWEST_WORDS = 6  # a sentence of a word or two is surprising by accident
Shown = dict[str, Any]


def surprises(
    model: LanguageModel, held_out: Corpus, high: int, low: int, most_words: int
) -> tuple[tuple[Shown, ...], tuple[Shown, ...]]:
    """The sentences with the highest and the lowest surprisal per word, each only once, as plain data: their first
    words with surprisal in bits (None: no bound) and whether they are unknown; ``bits_per_token``; ``cut``."""

    def rounded(bits: float) -> float | None:
        return round(float(bits), 3) if np.isfinite(bits) else None

    bits, starts = model.surprisals(held_out)
    lengths = held_out.lengths
    means = np.add.reduceat(bits, starts[:-1]) / np.diff(starts)
    long_enough = np.flatnonzero(lengths >= min(_FEWEST_WORDS, int(lengths.max())))
    unknown = model.vocab_.mapping_from(held_out.vocab) == UNKNOWN
    falling = long_enough[np.argsort(-means[long_enough], kind="stable")]

    def shown(i: int) -> Shown:
        ids = held_out.sentence(i)[:most_words]
        words = [[clip(held_out.vocab.word(int(id))), rounded(b), bool(unknown[id])]
                 for id, b in zip(ids, bits[starts[i] :], strict=False)]  # fmt: skip
        return {"words": words, "bits_per_token": rounded(means[i]), "cut": bool(lengths[i] > most_words)}

    def first(order: np.ndarray, most: int) -> tuple[Shown, ...]:
        distinct: dict[bytes, int] = {}
        for i in order.tolist():
            distinct.setdefault(held_out.sentence(i).tobytes(), i)
            if len(distinct) == most:
                break
        return tuple(map(shown, distinct.values()))

    return first(falling, high), first(falling[::-1], low)
