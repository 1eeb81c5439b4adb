"""Compiling ahead: all kernels of word classes and word vectors, on a tiny text."""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.engine.linalg.lowrank import randomised_svd
from corpuscle.text.corpus import Corpus
from corpuscle.text.pairs import ScoredPair
from corpuscle.text.plain import warm as warm_text
from corpuscle.words.brown import BrownClasses
from corpuscle.words.canonical import OsccaVectors, TsccaVectors
from corpuscle.words.exchange import ExchangeClasses
from corpuscle.words.hmm import HmmClasses
from corpuscle.words.kernels import brown, exchange
from corpuscle.words.lrmvl import LrmvlVectors
from corpuscle.words.near import PpmiVectors
from corpuscle.words.vectors import WordVectors

__all__ = ["warm"]


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny text."""
    warm_text()
    corpus = Corpus.from_sentences([["a", "b", "a"], ["c", "b"]])
    for start in "best", "random":
        ExchangeClasses(classes=2, passes=1, start=start, workers=1).fit(corpus)
    BrownClasses(classes=2, workers=1).fit(corpus)
    model = HmmClasses(classes=2, passes=1, workers=1).fit(corpus)
    model.apply(corpus)
    model.evaluate(corpus)
    model.draw(corpus)
    near = exchange.neighbours(np.array([2, 0, 1]), np.array([0, 1, 1]), 2)
    table = exchange.class_counts(near, np.arange(2), 2)
    proposals = np.zeros(2, np.int32)
    exchange.propose(near, table, 0, 2, proposals)
    exchange.settle(near, table, 0, 2, proposals)
    exchange.gains(near, table, 0, np.empty(2))
    brown.places(brown.filled_window(near, np.arange(2, dtype=np.int32), 3))
    _warm_vectors()


def _warm_vectors() -> None:
    corpus = Corpus.from_sentences([["the", "cat", "sat"], ["a", "cat", "ran"], ["the", "dog", "sat", "there"]] * 2)
    more = Corpus.from_sentences([["the", "bird", "sat"]])
    small: dict[str, Any] = {"dimensions": 2, "min_count": 1, "workers": 1}
    methods: list[WordVectors] = [PpmiVectors(**small), OsccaVectors(**small), TsccaVectors(**small)]
    methods.append(LrmvlVectors(**small, passes=1))
    for method in methods:
        method.fit(corpus).apply(more)
    methods[0].similarity([ScoredPair("cat", "dog", 1.0), ScoredPair("the", "sat", 0.0)], draws=1)
    randomised_svd(np.eye(3), 1)
