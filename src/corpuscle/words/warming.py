"""Compiling ahead: all kernels of word classes, on a tiny text."""

from __future__ import annotations

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.plain import warm as warm_text
from corpuscle.words.brown import BrownClasses
from corpuscle.words.exchange import ExchangeClasses
from corpuscle.words.kernels import brown, exchange

__all__ = ["warm"]


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny text."""
    warm_text()
    corpus = Corpus.from_sentences([["a", "b", "a"], ["c", "b"]])
    for start in "best", "random":
        ExchangeClasses(classes=2, passes=1, start=start, workers=1).fit(corpus)
    BrownClasses(classes=2, workers=1).fit(corpus)
    near = exchange.neighbours(np.array([2, 0, 1]), np.array([0, 1, 1]), 2)
    table = exchange.class_counts(near, np.arange(2), 2)
    proposals = np.zeros(2, np.int32)
    exchange.propose(near, table, 0, 2, proposals)
    exchange.settle(near, table, 0, 2, proposals)
    exchange.gains(near, table, 0, np.empty(2))
    brown.places(brown.filled_window(near, np.arange(2, dtype=np.int32), 3))
