"""Expectation and maximisation for hidden Markov models on chains and trees: all the text at once, or batch by batch.

The state of learning are expected counts: of classes of roots, of pairs of classes of child and parent, of words with
classes; the model is what they are when each is divided by its sum. After batch t, whose expected counts under the
present model are new,

    counts <- (1 - g) counts + g new,    g = 1 / (delay + t)^decay   (online),   g = 1   (batch: all the text)

Online, the table of all words is never touched as a whole: it is kept divided by the product of all 1 - g so far, so
that only the rows of words of the batch change, and the sums of its columns are kept up to date. A class without any
counts keeps those that it had.

A prior adds a small count to every word of every class, and to every class after every class (of the whole text; where
the counts are those of a batch, its part of that). Without it EM learns a small text by heart: the log-likelihood of
other text falls from the first passes on.

Splitting doubles the classes: every count is shared between two twins, whose words differ by a little noise.

Where relations have tables of their own, a column of such a table is (its counts + s times the shared one) / (their sum
+ s), with s = 50 links of the whole text: what a relation has not seen often enough it takes from all relations.

Texts come in chunks of sentences whose words stand parents first. A chunk is what one call of a worker deals with.
Those of a *batch* share the rows of emissions that their words need, so that no more than those travel to a cluster.

Grave, Obozinski and Bach, "Hidden Markov tree models for semantic class induction", 2013; Cappé and Moulines, "On-line
expectation-maximization algorithm for latent data models", 2009; Petrov, Barrett, Thibaux and Klein, "Learning
accurate, compact, and interpretable tree annotation", 2006, for splitting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle import learning
from corpuscle.compiled import frozen
from corpuscle.engine.dp import trees
from corpuscle.model import Array
from corpuscle.random import Random
from corpuscle.scale import Workers, chunks_of
from corpuscle.text.corpus import Corpus
from corpuscle.words.forests import Forest
from corpuscle.words.settings import HmmSettings

FEW = 50  # a relation that occurs more rarely has no table of its own; see also above
SMALL = 1e-100  # when the product of all 1 - g is smaller than this, it is multiplied into the table


class Table(NamedTuple):
    """Expected counts: ``first`` (C,), ``steps`` (links, C, C) of child and parent, ``emission`` (types, C)."""

    first: np.ndarray
    steps: np.ndarray
    emission: np.ndarray

    @property
    def n_classes(self) -> int:
        """C, the number of classes."""
        return len(self.first)


def from_nothing(words: np.ndarray, tokens: int, roots: int, links: int, n_classes: int, seed: int) -> Table:
    """Random counts of as much mass as a text of ``tokens`` tokens and ``roots`` roots; ``words`` bool (types,): which
    ids occur."""
    random = Random(seed, "hidden Markov start")
    first, steps = random.uniforms(n_classes), random.uniforms(links, n_classes, n_classes)
    emission = random.uniforms(len(words), n_classes) * words[:, None]
    masses = roots, tokens - roots, tokens
    return Table(*(each * (mass / each.sum()) for each, mass in zip((first, steps, emission), masses, strict=True)))


def from_classes(forest: Forest, links: np.ndarray, shape: tuple[int, int], classes: np.ndarray, floor: float) -> Table:
    """The counts of a text whose words have one class each, int (types,); ``shape``: how many links and classes there
    are; ``floor``: zeros become this part of the largest count of their row, so that they can grow."""
    (n_links, n_classes), tokens = shape, forest.corpus.tokens
    of_words, is_root = classes[tokens].astype(np.int64), forest.parents < 0
    pairs = (links[~is_root] * n_classes + of_words[~is_root]) * n_classes + of_words[forest.parents[~is_root]]
    first = np.bincount(of_words[is_root], minlength=n_classes).astype(np.float64)
    steps = np.bincount(pairs, minlength=n_links * n_classes**2).reshape(n_links, n_classes, n_classes)
    emission = np.zeros((len(classes), n_classes))
    known = np.flatnonzero(classes >= 0)
    emission[known, classes[known]] = np.bincount(tokens, minlength=len(classes))[known]

    def smoothed(counts: np.ndarray) -> np.ndarray:
        return np.where(counts == 0, floor * counts.max(axis=-1, keepdims=True), counts)

    return Table(smoothed(first), smoothed(steps.astype(np.float64)), smoothed(emission))


STATE = {
    "first": Array("float64", ("now",), low=0, finite=True),
    "steps": Array("float64", ("links", "now", "now"), low=0, finite=True),
    "emission": Array("float64", ("types", "now"), low=0, finite=True),
    "sums": Array("float64", ("now",), low=0, finite=True),
    "scale": Array("float64", (1,), low=0, finite=True),
    "tallies": Array("float64", (4,), finite=True),
    "recent": Array("float64", (3,)),
}


class Em(learning.Learner):
    """A learner whose sweeps are passes over a text; a step is a batch. Its ``settings`` leave nothing open.

    - ``table``: the counts, those of words divided by ``scale``; ``sums`` (C,): the columns of words;
    - ``doublings``: how often classes are still split;
    - ``tallies``: of this pass: log-likelihood, kept entries of messages, sentences that were done again because their
      projection left nothing, and sentences that are impossible;
    - ``recent``: the log-likelihood a token of the last three passes since the last splitting.
    """

    def __init__(self, batches: list[Batch], start: Table, doublings: int, settings: HmmSettings, pool: Workers):
        assert settings.passes is not None
        self.batches, self.settings = batches, settings
        self.held = [pool.scatter(batch.chunks) for batch in batches]
        self.tokens = sum(batch.tokens for batch in batches)
        self.mass = 1.0 / max(1, len(batches))  # the counts are those of so much of the text
        self.total, self.stages = settings.passes * len(batches), doublings + 1
        self.occurs = start.emission.sum(axis=1) > 0
        self._begin(Table(*(counts * self.mass for counts in start)), 1.0, doublings)
        self.tallies, self.recent = np.zeros(4), np.full(3, -math.inf)

    def _begin(self, table: Table, scale: float, doublings: int) -> None:
        self.table, self.scale, self.doublings = table, scale, doublings
        self.sums = table.emission.sum(axis=0) * scale

    # ---- the model

    def first_and_steps(self) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities of classes of roots (C,), and of children, given their parents, (links, C, C)."""
        more = self.settings.prior_steps * self.mass
        first, steps = self.table.first + more, self.table.steps
        counts = steps.sum(axis=0) + more
        sums = counts.sum(axis=0)
        # Columns add up to one; all are alike where there is nothing.
        shared = np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), 1.0 / len(counts))
        few = FEW * self.mass
        own = (steps[1:] + few * shared) / (steps[1:].sum(axis=1, keepdims=True) + few)
        return first / first.sum(), np.concatenate([shared[None], own])

    def emissions(self, ids: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The probabilities of some words, or of all, given their classes, (words, C)."""
        more = self.settings.prior * self.mass
        sums = self.sums + more * np.count_nonzero(self.occurs)
        each = 1.0 / np.where(sums > 0, sums, 1.0)
        rows = self.table.emission[ids] * (self.scale * each)
        if more:
            rows += more * each
            rows[~self.occurs[ids]] = 0.0
        return rows

    # ---- learning

    @property
    def converged(self) -> bool:
        """Whether the last pass has hardly gained anything, and no classes are left to split."""
        return self.doublings == 0 and self._stalled

    @property
    def _stalled(self) -> bool:
        # Hard classes are a saddle: what passes gain from there is little at first, and grows.
        first, before, last = self.recent.tolist()
        if self.settings.estimator == "online" or before == -math.inf:
            return False
        return last - before < self.settings.tolerance * abs(last) and last - before <= before - first

    def steps(self, sweep: int) -> int:
        return len(self.batches)

    def step(self, sweep: int, number: int) -> None:
        """What is expected of a batch becomes a part of the counts."""
        t, batch = sweep * len(self.batches) + number, self.batches[number]
        if self.doublings and (self._stalled or self.stages * t // self.total > self.stages - 1 - self.doublings):
            self.double()
        new, tallies = self._expected(number, weights_of(*self.first_and_steps(), self.emissions(batch.types)))
        self.tallies += tallies
        if self.settings.estimator == "online":
            self._absorb(batch, new, (self.settings.delay + t + 1) ** -self.settings.decay)
        else:
            self._replace(batch, new)

    def finish(self, sweep: int) -> np.ndarray:
        """End a pass: the log-likelihood a token, and the mean number of classes that messages kept."""
        row, self.tallies = self.tallies[:2] / self.tokens, np.zeros(4)
        self.recent = np.append(self.recent[1:], row[0])
        return row

    def _expected(self, number: int, weights: trees.Weights) -> tuple[Table, np.ndarray]:
        """The expected counts of a batch, those of words by its types, and its tallies."""
        batch, n_classes = self.batches[number], len(weights.first)
        new = Table(np.zeros(n_classes), np.zeros_like(weights.steps), np.zeros((len(batch.types), n_classes)))
        now = Parameters(weights, most_kept(self.settings.k_best, n_classes), self.settings.epsilon)
        tallies = np.zeros(4)
        for chunk, counts in zip(batch.chunks, self.held[number].map(expect, now), strict=True):
            for total, part in zip(new[:2], counts[:2], strict=True):
                total += part
            new.emission[chunk.types] += counts.emission
            possible = counts.likelihoods[np.isfinite(counts.likelihoods)]
            tallies += (possible.sum(), *counts.tallies, len(counts.likelihoods) - len(possible))
        return new, tallies

    def _replace(self, batch: Batch, new: Table) -> None:
        """The counts of all the text take the place of the old ones; what has none keeps the old."""
        emission = np.zeros_like(self.table.emission)
        emission[batch.types] = new.emission
        for old, counts, axes in (self.table.steps, new.steps, (0, 1)), (self.table.emission, emission, (0,)):
            nothing = counts.sum(axis=axes) == 0
            counts[..., nothing] = old[..., nothing]
        self._begin(Table(new.first, new.steps, emission), 1.0, self.doublings)

    def _absorb(self, batch: Batch, new: Table, weight: float) -> None:
        kept, (first, steps, emission) = 1.0 - weight, self.table
        self.scale *= kept
        emission[batch.types] += new.emission * (weight / self.scale)
        self.sums = kept * self.sums + weight * new.emission.sum(axis=0)
        self.table = Table(kept * first + weight * new.first, kept * steps + weight * new.steps, emission)
        if self.scale < SMALL:
            self._begin(self.table._replace(emission=emission * self.scale), 1.0, self.doublings)

    def double(self) -> None:
        first, steps, emission = self.table
        twins = np.repeat(emission, 2, axis=1) / 2
        changes = Random(self.settings.seed, "hidden Markov split", self.table.n_classes).uniforms(*twins.shape)
        twins *= 1.0 + self.settings.noise * (2.0 * changes - 1.0)
        both = np.repeat(np.repeat(steps, 2, axis=1), 2, axis=2) / 4
        self._begin(Table(np.repeat(first, 2) / 2, both, twins), self.scale, self.doublings - 1)
        self.recent = np.full(3, -math.inf)

    def count(self, first: np.ndarray, steps: np.ndarray, emission: np.ndarray) -> tuple[Table, np.ndarray]:
        """What is expected of the whole text under a given model, and its tallies."""
        total, tallies = Table(np.zeros_like(first), np.zeros_like(steps), np.zeros_like(emission)), np.zeros(4)
        for number, batch in enumerate(self.batches):
            new, more = self._expected(number, weights_of(first, steps, emission[batch.types]))
            for sums, part in zip(total[:2], new[:2], strict=True):
                sums += part
            total.emission[batch.types] += new.emission
            tallies += more
        return total, tallies

    # ---- unfinished work

    def state(self) -> dict[str, np.ndarray]:
        state = {"sums": self.sums, "scale": np.array([self.scale]), "tallies": self.tallies, "recent": self.recent}
        return {**self.table._asdict(), **{name: array.copy() for name, array in state.items()}}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        table = Table(*(np.array(arrays[name]) for name in Table._fields))
        doubled = [self.table.n_classes << times for times in range(self.stages)]
        shape = (len(self.table.steps), len(self.occurs))
        if (len(table.steps), len(table.emission)) != shape or table.n_classes not in doubled:
            raise ValueError("it does not fit the text")
        self.table, self.doublings = table, self.stages - 1 - doubled.index(table.n_classes)
        self.sums, self.scale = np.array(arrays["sums"]), float(arrays["scale"][0])
        self.tallies, self.recent = np.array(arrays["tallies"]), np.array(arrays["recent"])


def chain_learner(corpus: Corpus, start: Table, passes: int, tolerance: float, pool: Workers) -> Em:
    """A learner of plain hidden Markov models: all sentences of a text as chains, all classes of every message."""
    forest, classes = Forest.chain(corpus), start.n_classes
    batches = batches_of(forest, np.zeros(forest.n_tokens, np.int32), forest.n_tokens, chunk_size(classes, classes))
    settings = HmmSettings(k_best="all", passes=passes, tolerance=tolerance, prior=0.0, prior_steps=0.0)
    return Em(batches, start, 0, settings, pool)


MOST = 8192  # a chunk has hardly more tokens


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


def most_kept(k_best: int | str | None, n_classes: int) -> int:
    """At most how many classes of a message are kept."""
    return min(k_best, n_classes) if isinstance(k_best, int) else n_classes


def chunk_size(classes: int, kept: int) -> int:
    """How many tokens a chunk has: fewer where each takes long."""
    return int(np.clip((1 << 28) // (classes * kept), MOST // 8, MOST))


def links_of(forest: Forest, relations: list[str]) -> np.ndarray:
    """Which table of transitions leads to each token, int32 (n_tokens,): that of its relation, without subtypes, if it
    is one of the given ones, which are numbered from 1 on, else 0, the one that all others share."""
    if forest.relations is None:
        return np.zeros(forest.n_tokens, np.int32)
    number = {name: link for link, name in enumerate(relations, 1)}
    groups = [number.get(value.partition(":")[0], 0) for value in forest.relations.values]
    return np.array(groups, np.int32)[forest.relations.ids]


def chunk_of(forest: Forest, links: np.ndarray, first: int, last: int, rows: np.ndarray | None = None) -> Chunk:
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
    above = np.where(above >= 0, at[above], -1).astype(np.int32)
    nodes = trees.Nodes(above, links[here][order], words, places.astype(np.int32), starts - starts[0])
    return Chunk(nodes, types, order)


def batches_of(forest: Forest, links: np.ndarray, tokens: int, size: int) -> list[Batch]:
    """A text in batches of about ``tokens`` tokens, each in chunks of about ``size``."""
    lengths, starts, result = forest.corpus.lengths, forest.corpus.sentence_starts, []
    for first, last in pairwise(chunks_of(lengths, tokens)):
        types = np.unique(forest.corpus.tokens[starts[first] : starts[last]])
        inner = first + chunks_of(lengths[first:last], size)
        parts = [chunk_of(forest, links, a, b, types) for a, b in pairwise(inner)]
        result.append(Batch(parts, types, int(starts[last] - starts[first])))
    return result


def weights_of(first: np.ndarray, steps: np.ndarray, emission: np.ndarray) -> trees.Weights:
    """The weights of a model for kernels: probabilities (C,), (links, C, C) and (words, C)."""
    return trees.Weights(first, steps, np.ascontiguousarray(steps.transpose(0, 2, 1)), emission)


def ready(chunk: Chunk, weights: trees.Weights) -> tuple[trees.Nodes, trees.Weights]:
    """Nodes and weights as all kernels get them, wherever they come from."""
    types = np.int32, np.int32, np.int32, np.int32, np.int64
    nodes = trees.Nodes(*map(frozen, chunk.nodes, types))
    return nodes, trees.Weights(*(frozen(array, np.float64) for array in weights))


def expect(chunk: Chunk, now: Parameters) -> trees.Counts:
    nodes, weights = ready(chunk, now.weights)
    links, classes, _ = weights.steps.shape
    counts = trees.Counts.empty(classes, links, len(chunk.types), len(nodes.starts) - 1)
    trees.expectations(nodes, weights, now.k, now.epsilon, counts)
    return counts


def token_shares(chunk: Chunk, now: Parameters) -> np.ndarray:
    """How likely each class is at each token of a chunk, float64 (tokens, C); zeros in impossible sentences."""
    n = len(chunk.order)
    apart = chunk._replace(nodes=chunk.nodes._replace(places=chunk.order), types=np.arange(n, dtype=np.int32))
    return expect(apart, now).emission
