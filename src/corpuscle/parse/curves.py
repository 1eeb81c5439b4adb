"""Learning curves: how good a parser gets with how many trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from corpuscle.measure import Result, attachment
from corpuscle.parse.mst import MstParser
from corpuscle.random import Random
from corpuscle.text.treebank import Treebank
from corpuscle.words import WordSources

__all__ = ["Point", "learning_curve"]

_LEAST = 20
"""A parser of fewer sentences says nothing."""


class Point(NamedTuple):
    """A parser of so many sentences and words, and what it scores."""

    sentences: int
    words: int
    parser: MstParser
    result: Result


def learning_curve(
    learner: MstParser,
    bank: Treebank,
    held_out: Treebank,
    points: int = 5,
    *,
    known: WordSources | None = None,
    draws: int = 1000,
) -> Iterator[Point]:
    """Parsers of a part of the trees, of twice as many, and so on to all of them, smallest first; each part has the
    sentences of the one before it, drawn at random."""
    if len(bank) < _LEAST:
        raise bank.error(f"a learning curve needs at least {_LEAST} sentences, not {len(bank)}")
    order = np.argsort(Random(learner.seed, "parse.curve").uniforms(len(bank)), kind="stable")
    sizes = [size for halvings in range(points - 1, -1, -1) if (size := len(bank) >> halvings) >= _LEAST]
    for size in sizes:
        part = bank.select(np.sort(order[:size]))
        parser = learner.replace().fit(part, known=known)
        result = attachment(held_out, parser.annotate(held_out), draws=draws, seed=learner.seed)
        yield Point(size, part.corpus.n_tokens, parser, result)
