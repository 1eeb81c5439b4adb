"""Texts as hidden Markov models read them: chunks of sentences whose words stand parents first.

A chunk is what one call of a worker deals with. Those of a *batch* share the rows of emissions that their words need,
so that no more than those travel to a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.dp import trees
from corpuscle.random import purpose_id
from corpuscle.scale import chunks_of
from corpuscle.words.forests import Forest

__all__ = [
    "Batch", "Chunk", "Parameters", "batches_of", "best_classes", "chunk_size", "chunks", "expect", "likelihoods",
    "links_of", "random_classes", "token_shares", "weights_of",
]  # fmt: skip

SHARED = 0
"""The link whose table is that of all relations without one of their own."""

MOST = 8192
"""A chunk has hardly more tokens."""


class Chunk(NamedTuple):
    """Some sentences.

    - ``nodes``: their words, parents first; ``nodes.words`` are rows of the emissions that go with the batch;
    - ``types``: int32, which of those rows occur here, ascending; ``nodes.places`` count in it;
    - ``order``: int32 (n,), at which token of the chunk each node stands.
    """

    nodes: trees.Nodes
    types: np.ndarray
    order: np.ndarray


class Batch(NamedTuple):
    """Some chunks, the ids of all their words, int32, ascending, and the number of their tokens."""

    chunks: list[Chunk]
    types: np.ndarray
    tokens: int


class Parameters(NamedTuple):
    """What a worker needs to know: the model, with the rows of a batch, and the projection."""

    weights: trees.Weights
    k: int
    epsilon: float


def chunk_size(classes: int, kept: int) -> int:
    """How many tokens a chunk has: fewer where each takes long."""
    return int(np.clip((1 << 28) // (classes * kept), MOST // 8, MOST))


def links_of(forest: Forest, relations: list[str]) -> np.ndarray:
    """Which table of transitions leads to each token, int32 (n_tokens,): that of its relation, without subtypes, if it
    is one of the given ones, which are numbered from 1 on, else the shared one."""
    if not relations:
        return np.zeros(forest.n_tokens, np.int32)
    assert forest.relations is not None
    number = {name: link for link, name in enumerate(relations, 1)}
    groups = [number.get(value.partition(":")[0], SHARED) for value in forest.relations.values]
    return np.array(groups, np.int32)[forest.relations.ids]


def _chunk(forest: Forest, links: np.ndarray, first: int, last: int, rows: np.ndarray | None) -> Chunk:
    """The sentences first..last-1; ``rows``: the ids whose emissions go with the batch, ascending (None: all)."""
    starts = forest.corpus.sentence_starts[first : last + 1]
    here = slice(starts[0], starts[-1])
    parents = forest.parents[here]
    parents = frozen(np.where(parents >= 0, parents - starts[0], -1), np.int32)
    order, at = np.empty(len(parents), np.int32), np.empty(len(parents), np.int32)
    trees.parents_first(parents, order)
    at[order] = np.arange(len(order))
    above = parents[order]
    words = forest.corpus.tokens[here][order]
    if rows is not None:
        words = np.searchsorted(rows, words).astype(np.int32)
    types, places = np.unique(words, return_inverse=True)
    nodes = trees.Nodes(
        np.where(above >= 0, at[above], -1).astype(np.int32),
        links[here][order],
        words,
        places.astype(np.int32),
        starts - starts[0],
    )
    return Chunk(nodes, types, order)


def chunks(forest: Forest, links: np.ndarray, size: int) -> Iterator[Chunk]:
    """A text in chunks of about ``size`` tokens; words are ids of its vocabulary."""
    bounds = chunks_of(forest.corpus.lengths, size)
    for first, last in pairwise(bounds):
        yield _chunk(forest, links, first, last, None)


def batches_of(forest: Forest, links: np.ndarray, tokens: int, size: int) -> list[Batch]:
    """A text in batches of about so many tokens, each in chunks of about ``size``."""
    lengths, starts, result = forest.corpus.lengths, forest.corpus.sentence_starts, []
    bounds = chunks_of(lengths, tokens)
    for first, last in pairwise(bounds):
        types = np.unique(forest.corpus.tokens[starts[first] : starts[last]])
        inner = first + chunks_of(lengths[first:last], size)
        parts = [_chunk(forest, links, a, b, types) for a, b in pairwise(inner)]
        result.append(Batch(parts, types, int(starts[last] - starts[first])))
    return result


def weights_of(first: np.ndarray, steps: np.ndarray, emission: np.ndarray) -> trees.Weights:
    """The weights of a model for kernels: probabilities (C,), (links, C, C) and (words, C)."""
    return trees.Weights(first, steps, np.ascontiguousarray(steps.transpose(0, 2, 1)), emission)


def _ready(chunk: Chunk, weights: trees.Weights) -> tuple[trees.Nodes, trees.Weights]:
    """Nodes and weights as all kernels get them, wherever they come from."""
    types = np.int32, np.int32, np.int32, np.int32, np.int64
    nodes = trees.Nodes(*map(frozen, chunk.nodes, types))
    return nodes, trees.Weights(*(frozen(array, np.float64) for array in weights))


def expect(chunk: Chunk, now: Parameters) -> trees.Counts:
    """What is expected of a chunk."""
    nodes, weights = _ready(chunk, now.weights)
    links, classes, _ = weights.steps.shape
    counts = trees.Counts.empty(classes, links, len(chunk.types), len(nodes.starts) - 1)
    trees.expectations(nodes, weights, now.k, now.epsilon, counts)
    return counts


def token_shares(chunk: Chunk, now: Parameters) -> np.ndarray:
    """How likely each class is at each token of a chunk, float64 (tokens, C); zeros in impossible sentences."""
    n = len(chunk.order)
    apart = chunk._replace(nodes=chunk.nodes._replace(places=chunk.order), types=np.arange(n, dtype=np.int32))
    return expect(apart, now).emission


def likelihoods(chunk: Chunk, now: Parameters) -> tuple[np.ndarray, int]:
    """The log-likelihood of each sentence of a chunk, float64, and how many entries of messages were kept."""
    nodes, weights = _ready(chunk, now.weights)
    result, tallies = np.empty(len(nodes.starts) - 1), np.zeros(2, np.int64)
    trees.likelihoods(nodes, weights, now.k, now.epsilon, result, tallies)
    return result, int(tallies[0])


def best_classes(chunk: Chunk, logs: trees.Weights) -> np.ndarray:
    """The most likely classes of a chunk under the logarithms of a model, int32 (tokens,); -1 where a sentence is
    impossible."""
    nodes, logs = _ready(chunk, logs)
    classes, scores = np.empty(len(chunk.order), np.int32), np.empty(len(nodes.starts) - 1)
    trees.best_classes(nodes, logs, classes, scores)
    return _in_order(chunk, classes)


def random_classes(chunk: Chunk, weights: trees.Weights, seed: int, first: int) -> np.ndarray:
    """Classes of a chunk drawn from a model, given the words, int32 (tokens,); ``first``: the number of its first
    sentence in the text."""
    nodes, weights = _ready(chunk, weights)
    classes = np.empty(len(chunk.order), np.int32)
    trees.random_classes(nodes, weights, seed, purpose_id("classes"), first, classes)
    return _in_order(chunk, classes)


def _in_order(chunk: Chunk, values: np.ndarray) -> np.ndarray:
    """What belongs to the nodes of a chunk, (n, ...), in the order of its tokens."""
    result = np.empty_like(values)
    result[chunk.order] = values
    return result
