"""From the words of some sentences to their trees: the work that parsers share out among workers, chunk by chunk.

A chunk is some sentences of the same ``Layers``. A sentence of more than ``PAIRED`` words is parsed by its arcs alone,
whatever the order of the parser.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from corpuscle.engine.dp import charts, spanning
from corpuscle.parse.kernels.features import Layers
from corpuscle.parse.kernels.training import Decoding, Room, best_trees, decode, relate, room_for, score
from corpuscle.scale import chunks_of
from corpuscle.text.treebank import Treebank

PAIRED = 300
"""Longer sentences are parsed without pairs of modifiers."""
_CUBES = 1 << 18
"""A worker parses sentences whose lengths, cubed, add up to about this."""

TEMPERATURES = 2.0 ** np.arange(-6.0, 8.5, 0.5)
"""What scores may be divided by before confidence is taken from them."""


class Parses(NamedTuple):
    """Trees of some sentences: ``heads`` int32 and ``relations`` int32 (n_words,), ids of the parser's relations;
    ``scores`` float64 (n_sentences,); ``confidence`` float64 (n_words,), how likely each arc is, or empty."""

    heads: np.ndarray
    relations: np.ndarray
    scores: np.ndarray
    confidence: np.ndarray


class Ranked(NamedTuple):
    """The best trees of some sentences, tree after tree, the best of a sentence first.

    - ``counts``: int64 (n_sentences,), how many trees each has; ``scores``: float64 (n_trees,);
    - ``heads``, ``relations``: int32, the words of all trees one after the other.
    """

    counts: np.ndarray
    scores: np.ndarray
    heads: np.ndarray
    relations: np.ndarray


T = TypeVar("T", Parses, Ranked)
_INTS, _FLOATS = np.empty(0, np.int32), np.empty(0)
_NONE: dict[type, Any] = {
    Parses: Parses(_INTS, _INTS, _FLOATS, _FLOATS), Ranked: Ranked(np.empty(0, np.int64), _FLOATS, _INTS, _INTS),
}  # fmt: skip


def joined(kind: type[T], parts: Iterable[T]) -> T:
    """``Parses`` or ``Ranked`` of consecutive sentences in one."""
    return kind(*(np.concatenate(columns) for columns in zip(_NONE[kind], *parts, strict=True)))


def with_ranks(
    bank: Treebank, counts: np.ndarray, notes: Iterable[tuple[str, ...]], of_empty: tuple[str, ...] = ()
) -> Treebank:
    """Every sentence once for each of its trees, with ``# rank`` and the ``notes`` of the tree as comments; an empty
    sentence stays, with ``of_empty``."""
    rest = iter(notes)
    added: list[tuple[str, ...]] = []
    for count in counts.tolist():
        ranked = [(f"# rank = {rank}", *next(rest)) for rank in range(1, count + 1)]
        added += ranked or [("# rank = 1", *of_empty)]
    repeated = bank.select(np.repeat(np.arange(len(bank)), np.maximum(counts, 1)))
    comments = tuple((*before, *more) for before, more in zip(repeated.comments, added, strict=True))
    return dataclasses.replace(repeated, comments=comments)


class Chunk(NamedTuple):
    """The sentences from ``first`` to before ``last``; ``wanted``: how many trees of each, or whether confidence."""

    layers: Layers
    first: int
    last: int
    wanted: int

    def sentences(self) -> Iterator[tuple[int, int]]:
        """Each sentence with its number of words."""
        lengths = np.diff(self.layers.starts[self.first : self.last + 1]) - 3
        return enumerate(lengths.tolist(), self.first)


def chunks_for(layers: Layers, wanted: int) -> list[Chunk]:
    """All sentences, in chunks for workers."""
    lengths = np.minimum(np.diff(layers.starts) - 3, PAIRED)
    return [Chunk(layers, first, last, wanted) for first, last in pairwise(chunks_of(lengths**3 + 1, _CUBES).tolist())]


Add = Callable[[int, np.ndarray], None]
"""Adds to the scores of the arcs of a sentence, (n + 1, n + 1) or larger."""


def _scored(chunk: Chunk, parser: Any, trees: int = 1, add: Add | None = None) -> Iterator[tuple[int, Decoding, Room]]:
    """Each sentence with its number of words, how it is decoded, and buffers with the scores of its arcs and pairs,
    which are used again: those of the chunk, or its own where the sentence is too long for pairs."""
    lengths = [n for _, n in chunk.sentences() if n <= PAIRED]
    usual = room_for(max(lengths, default=0), parser.order, trees)
    for sentence, n in chunk.sentences():
        order, room = (parser.order, usual) if n <= PAIRED else (1, room_for(n, 1, trees))
        decoding = parser.decoding(order)
        if n:
            score(chunk.layers, sentence, decoding, parser.weights_, room.marks, room.places, room.arcs, room.siblings)
            if add is not None:
                add(sentence, room.arcs)
        yield n, decoding, room


def parse_chunk(chunk: Chunk, parser: Any, add: Add | None = None) -> Parses:
    """The best tree of every sentence; ``wanted`` 1: with the confidence of its arcs."""
    heads, scores, likely = [], [], []
    for n, decoding, room in _scored(chunk, parser, add=add):
        tree = np.zeros(n, np.int32)
        scores.append(decode(n, decoding, room, tree) if n else 0.0)
        if n and chunk.wanted:
            likely.append(_confidence(n, tree, decoding, room, [parser.temperature_])[:, 0])
        heads.append(tree)
    return parses_of(chunk, parser, heads, scores, likely)


def rank_chunk(chunk: Chunk, parser: Any, add: Add | None = None) -> Ranked:
    """The ``wanted`` best trees of every sentence."""
    scores, heads = [], []
    for n, decoding, room in _scored(chunk, parser, chunk.wanted, add):
        count = best_trees(n, decoding, room) if n else 0
        scores.append(room.scores[:count].copy())
        heads.append(room.trees[:count, :n].flatten())  # a copy: the room is used again
    return ranked_of(chunk, parser, heads, scores)


def parses_of(
    chunk: Chunk, parser: Any, heads: list[np.ndarray], scores: list[float], likely: list[np.ndarray]
) -> Parses:
    """The trees of a chunk with their relations; ``likely``: the confidence of arcs, or nothing."""
    found = np.concatenate([_INTS, *heads])
    relations = related(chunk.layers, np.arange(chunk.first, chunk.last), found, parser)
    return Parses(found, relations, np.array(scores), np.concatenate([_FLOATS, *likely]))


def ranked_of(chunk: Chunk, parser: Any, heads: list[np.ndarray], scores: list[np.ndarray]) -> Ranked:
    """The best trees of a chunk with their relations: of each sentence the heads of all of them, and their scores."""
    found, counts = np.concatenate([_INTS, *heads]), np.array([len(each) for each in scores], np.int64)
    relations = related(chunk.layers, np.repeat(np.arange(chunk.first, chunk.last), counts), found, parser)
    return Ranked(counts, np.concatenate([_FLOATS, *scores]), found, relations)


def related(layers: Layers, sentences: np.ndarray, heads: np.ndarray, parser: Any) -> np.ndarray:
    """The best relations of trees, int32 (n_words,); ``sentences``: int64, whose trees they are."""
    relations, weights = np.zeros(len(heads), np.int32), parser.relation_weights_
    if weights.shape[1]:
        relate(layers, sentences, heads, np.uint64(64 - parser.relation_bits), weights, relations)
    return relations


def temper_chunk(chunk: Chunk, parser: Any) -> tuple[np.ndarray, np.ndarray]:
    """The best tree of every sentence, heads int32 (n_words,), and the confidence of its arcs at each of
    ``TEMPERATURES``, float64 (n_words, n_temperatures)."""
    heads, likely = [], []
    for n, decoding, room in _scored(chunk, parser):
        if n:
            tree = np.zeros(n, np.int32)
            decode(n, decoding, room, tree)
            heads.append(tree)
            likely.append(_confidence(n, tree, decoding, room, TEMPERATURES))
    return np.concatenate([_INTS, *heads]), np.concatenate([np.empty((0, len(TEMPERATURES))), *likely])


def _confidence(
    n: int, tree: np.ndarray, decoding: Decoding, room: Room, temperatures: Sequence[float] | np.ndarray
) -> np.ndarray:
    """How likely each arc of a tree is among all trees that the parser considers, by the scores in ``room`` (which are
    used up) divided by each temperature, float64 (n, n_temperatures)."""
    arcs, siblings = room.arcs[: n + 1, : n + 1], room.siblings[: n + 1, : n + 1, : n + 1]
    scores, words, columns = (arcs.copy(), siblings.copy()), np.arange(n), []
    for temperature in temperatures:
        arcs[:], siblings[:] = scores[0] / temperature, scores[1] / temperature
        if decoding.crossing:
            columns.append(spanning.shares(arcs, decoding.single)[0][tree, words + 1])
            continue
        shares = np.zeros((n + 1, n + 1))
        charts.tilt(n, tree, room.arcs, room.siblings)
        charts.expectations(n, room.arcs, room.siblings, decoding.single, room.chart, charts.chart_for(n), shares)
        columns.append(np.minimum(shares[tree, words + 1], 1.0))
    return np.column_stack(columns)
