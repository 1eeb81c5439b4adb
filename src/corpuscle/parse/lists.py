"""Lists of trees to choose from: a parser's best trees of each sentence, numbers of each tree, and learning to choose.

Training lists come from parsers that have not seen the sentence: the treebank is cut into folds, and the trees of one
are found by a parser of the others. On lists of trees that it has learned, the parser's score would look perfect.

There are two learners, both from lists and the trees with most right heads of each (``kernels.reranking``). *maxent*
finds all weights at once, the parser's score's too; the variance of the weights is to be chosen. *perceptron* moves
them list by list; the weight of the parser's score and the number of passes are. Both are chosen on held-out lists.

The lists of the folds of a jackknife are held out in turn, and whatever has most right heads in all of them together is
chosen; development lists, if there are any, are held out as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.learning import Kept, Learner
from corpuscle.model import Array
from corpuscle.parse.kernels import reranking as kernels
from corpuscle.parse.kernels.reranking import MOST_CHILDREN, Differences, Lists, Ranking
from corpuscle.parse.latent import Likelihoods
from corpuscle.parse.lbfgs import Minimiser
from corpuscle.parse.mst import MstParser
from corpuscle.parse.settings import RerankSettings
from corpuscle.random import Random
from corpuscle.scale import chunks_of, each
from corpuscle.text.corpus import starts_of
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import items_of

_WORDS = 1 << 18
"""Words of trees that are scored in one piece of work."""


class Jackknife(NamedTuple):
    """Lists to learn from: ``folds``, those of the sentences of each fold, by a parser of the others; ``dev``: of
    development sentences, by a parser of all, or None."""

    folds: list[Lists]
    dev: Lists | None


def lists_of(parser: MstParser, bank: Treebank, k: int) -> Lists:
    """The parser's k best trees of every sentence; their one number is their score, and tags are not known yet."""
    found = parser.ranked(bank, k)
    return listed(bank, np.zeros(bank.corpus.n_tokens), found.counts, found.heads, found.scores[:, None])


def listed(bank: Treebank, tags: np.ndarray, counts: np.ndarray, heads: np.ndarray, numbers: np.ndarray) -> Lists:
    """Lists of ``counts`` int64 (n_sentences,) trees, whose heads stand one tree after the other."""
    starts = np.ascontiguousarray(bank.corpus.sentence_starts, np.int64)
    firsts, begins = starts_of(counts), starts_of(counts * np.diff(starts))
    numbers = np.ascontiguousarray(numbers, np.float64)
    return Lists(firsts, begins, np.ascontiguousarray(heads, np.int32), numbers, tags.astype(np.int32), starts)


def sentences_of(lists: Lists) -> np.ndarray:
    """The sentence of each tree, int64 (n_trees,)."""
    return np.repeat(np.arange(len(lists.firsts) - 1), np.diff(lists.firsts))


def first_trees(lists: Lists, k: int, scores: np.ndarray | None = None) -> np.ndarray:
    """The first k trees of each list, or its best by ``scores``, best first: int64."""
    sentences = sentences_of(lists)
    order = np.arange(len(sentences)) if scores is None else np.lexsort((-scores, sentences))
    return order[np.arange(len(order)) - lists.firsts[sentences] < k]


def heads_of(lists: Lists, trees: np.ndarray) -> np.ndarray:
    """The heads of some trees, one after the other, int32; -1 is no tree."""
    lengths = np.diff(lists.starts)[sentences_of(lists)]
    return lists.heads[items_of(starts_of(lengths), trees[trees >= 0])[0]]


def shortened(lists: Lists, k: int) -> Lists:
    """The first k trees of each list."""
    few, kept = np.minimum(np.diff(lists.firsts), k), first_trees(lists, k)
    begins, numbers = starts_of(few * np.diff(lists.starts)), np.ascontiguousarray(lists.numbers[kept])
    return lists._replace(firsts=starts_of(few), begins=begins, heads=heads_of(lists, kept), numbers=numbers)


def joined(parts: Sequence[Lists]) -> Lists:
    """Lists one after the other."""
    columns = dict(zip(Lists._fields, zip(*parts, strict=True), strict=True))
    offsets = {
        name: starts_of(np.concatenate([*map(np.diff, columns[name])])) for name in ("firsts", "begins", "starts")
    }
    return Lists(**{name: np.concatenate(arrays) for name, arrays in columns.items()} | offsets)


def pieces(lists: Lists) -> list[tuple[int, int]]:
    """The first and the last sentence of parts of equal size, about."""
    return list(pairwise(chunks_of(np.diff(lists.begins) + 1, _WORDS).tolist()))


def right_heads(lists: Lists, gold: np.ndarray) -> np.ndarray:
    """How many heads of each tree are right, int64 (n_trees,)."""
    words, bounds = items_of(lists.starts, sentences_of(lists))
    return np.diff(starts_of(lists.heads == gold[words])[bounds])


def best_trees_of(lists: Lists, scores: np.ndarray) -> np.ndarray:
    """The tree of each list with the largest score, the first of equals: int64 (n_sentences,), -1 where it is empty."""
    filled = np.flatnonzero(np.diff(lists.firsts))
    best = np.full(len(lists.firsts) - 1, -1, np.int64)
    if len(filled):
        tops = np.maximum.reduceat(scores, lists.firsts[filled])
        highest = np.flatnonzero(scores == np.repeat(tops, np.diff(lists.firsts)[filled]))
        best[filled] = highest[np.searchsorted(highest, lists.firsts[filled])]
    return best


def scores_of(
    lists: Lists, given: Any, workers: int | None = None, kernel: Callable[..., Any] = kernels.score_candidates
) -> np.ndarray:
    """The score of every tree by a ``Ranking``, or what another kernel computes, float64 (n_trees,)."""
    found = np.zeros(int(lists.firsts[-1]))
    each(lambda piece: kernel(lists, *piece, given, found), pieces(lists), workers)
    return found


# ---- numbers of trees


def likely(lists: Lists, found: Likelihoods) -> np.ndarray:
    """Log p of every tree for ranking, (n_trees,); without a positive estimate, a little below all others of its
    list."""
    logs, sentences = found.logs.copy(), sentences_of(lists)
    lowest = np.full(len(lists.firsts) - 1, np.inf)
    np.minimum.at(lowest, sentences[found.known], logs[found.known])
    lowest = np.where(np.isfinite(lowest), lowest, 0.0) - 1.0
    logs[~found.known] = lowest[sentences[~found.known]]
    return logs


def valence_logs(bank: Treebank, tags: np.ndarray, n_tags: int) -> np.ndarray:
    """How likely a word has no more children (0), or another one (1), by its tag, the side, and how many it has there
    already, as logarithms, float64 (n_tags, 2, MOST_CHILDREN + 1, 2). Tags are smoothed by the mean of all."""
    words = np.arange(bank.corpus.n_tokens)
    heads = np.repeat(bank.corpus.sentence_starts[:-1], bank.corpus.lengths) + bank.heads - 1
    counts = np.zeros((n_tags, 2, MOST_CHILDREN + 1, 2))
    for side, here in enumerate((words < heads, words > heads)):
        there = np.bincount(heads[here & (bank.heads > 0)], minlength=len(words))
        for child in range(MOST_CHILDREN + 1):
            more = there > child if child < MOST_CHILDREN else np.maximum(there - child, 0)
            counts[:, side, child, 0] = np.bincount(tags, np.minimum(there, MOST_CHILDREN) == child, n_tags)
            counts[:, side, child, 1] = np.bincount(tags, more, n_tags)
    whole = counts.sum(axis=0) + 0.5
    mean = whole / whole.sum(axis=-1, keepdims=True)
    return np.log((counts + mean) / (counts.sum(axis=-1, keepdims=True) + 1.0))


def standardised(lists: Lists, deviations: np.ndarray | None = None) -> tuple[Lists, np.ndarray]:
    """Lists whose numbers have the mean 0 in each list and, over all, the deviation 1 (or are divided by given
    ones), and the deviations (numbers,)."""
    counts, numbers = np.diff(lists.firsts), lists.numbers
    sums = np.zeros((len(counts), numbers.shape[1]))
    filled = np.flatnonzero(counts)
    if len(filled):
        sums[filled] = np.add.reduceat(numbers, lists.firsts[filled])
    centred = numbers - np.repeat(sums / np.maximum(counts, 1)[:, None], counts, axis=0)
    if deviations is None:
        deviations = np.sqrt((centred**2).mean(axis=0)) if len(centred) else np.ones(numbers.shape[1])
        deviations = np.where(deviations > 0, deviations, 1.0)
    return lists._replace(numbers=centred / deviations), deviations


# ---- learning to choose


VARIANCES = (0.01, 0.03, 0.1, 0.3)
BASE_WEIGHTS = (3.0, 10.0, 30.0, 100.0)
"""What the variance of weights, and the weight of the parser's score, may be where they are chosen."""
CHOICES = {"shares": Array("float64", ("values", "passes"), low=0.0, finite=True)}
"""The state of choosing."""
_START, _WIDE, _TOLERANCE = 1.0, 1000.0, 1e-4
"""maxent: the first weight of the parser's score, the variance of the weights of numbers, and when it has converged."""


class Judged(NamedTuple):
    """Lists with standardised numbers, and how many heads of each tree are right, int64 (n_trees,)."""

    lists: Lists
    right: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """Lists one after the other."""
        return cls(joined([part.lists for part in parts]), np.concatenate([part.right for part in parts]))


def ranking_of(settings: RerankSettings, weights: np.ndarray) -> Ranking:
    """Weights of features and of numbers as trees are scored with them."""
    shift = np.uint64(64 - settings.hash_bits)
    return Ranking(weights, np.zeros_like(weights), np.zeros(1, np.int64), shift, "tags" in settings.features)


def share_right(settings: RerankSettings, judged: Judged, weights: np.ndarray) -> float:
    """How many heads of the best trees are right, of all."""
    best = best_trees_of(judged.lists, scores_of(judged.lists, ranking_of(settings, weights), settings.workers))
    return float(judged.right[best[best >= 0]].sum() / max(1, judged.lists.starts[-1]))


def learn_weights(settings: RerankSettings, lists: Judged, value: float) -> Iterator[np.ndarray]:
    """Weights of features, then of numbers, float64 (2^hash_bits + numbers,): once by maxent, after every pass by the
    perceptron; ``value``: the variance of the former, the weight of the parser's score for the latter."""
    start = np.zeros((1 << settings.hash_bits) + lists.lists.numbers.shape[1])
    perceptron = settings.learner == "perceptron"
    base = value if perceptron else _START if settings.base_weight is None else settings.base_weight
    start[1 << settings.hash_bits] = base if "base" in settings.features else 0.0
    return _perceptron(settings, lists, start) if perceptron else iter([_maxent(settings, lists, start, value)])


def _perceptron(settings: RerankSettings, learned: Judged, start: np.ndarray) -> Iterator[np.ndarray]:
    lists, targets = learned.lists, best_trees_of(learned.lists, learned.right)
    ranking = ranking_of(settings, start)
    for number in range(settings.passes):
        order = np.argsort(Random(settings.seed, "parse.lists", number).uniforms(len(targets)), kind="stable")
        kernels.learn_lists(lists, order, targets, ranking)
        yield ranking.weights - ranking.totals / max(1, ranking.clock[0])


def _maxent(settings: RerankSettings, learned: Judged, start: np.ndarray, variance: float) -> np.ndarray:
    """The weights whose best trees are most likely, less a penalty for large ones."""
    lists, right = learned
    counts, size = np.diff(lists.firsts), 1 << settings.hash_bits
    most, sentences = np.zeros(len(counts), np.int64), sentences_of(lists)
    np.maximum.at(most, sentences, right)
    best, apart = right == most[sentences], _differences(settings, lists)
    precisions = np.full(len(start), 1.0 / variance)
    precisions[size:] = 1.0 / _WIDE
    scores = np.empty(int(counts.max(initial=1)))
    fixed = "base" not in settings.features or settings.base_weight is not None

    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        moved = point - start
        gradient = precisions * moved
        value = kernels.choice_loss(lists, best, apart, point, scores, gradient) + 0.5 * float(precisions @ moved**2)
        gradient[size] *= not fixed
        return value, gradient

    learner = Minimiser(objective, start, tolerance=_TOLERANCE)
    for number in range(settings.passes):
        learner.finish(number)
        if learner.converged():
            break
    return learner.point


def _differences(settings: RerankSettings, lists: Lists) -> Differences:
    """How the features of trees differ from those of the first ones of their lists; none without features of tags."""
    sizes = np.zeros(int(lists.firsts[-1]) + 1, np.int64)
    places, counts = [np.empty(0, np.uint32)], [np.empty(0, np.int16)]
    if "tags" in settings.features:
        balance, shift = np.zeros(1 << settings.hash_bits, np.int16), np.uint64(64 - settings.hash_bits)
        for first, last in pieces(lists):
            words = int(lists.begins[last] - lists.begins[first] + lists.firsts[last] - lists.firsts[first])
            here, many = np.empty(4 * words, np.uint32), np.empty(4 * words, np.int16)
            used = kernels.differ(lists, first, last, shift, balance, sizes, here, many)
            places.append(here[:used].copy())
            counts.append(many[:used].copy())
    return Differences(np.cumsum(sizes), np.concatenate(places), np.concatenate(counts))


class Trials(Kept, Learner):
    """A learner whose sweeps are values to choose from, and whose steps are parts that are
    held out; ``shares`` float64 (values, passes): how many heads of the best trees of all held-out lists are right."""

    KEEPS: ClassVar[tuple[str, ...]] = ("shares",)

    def __init__(self, settings: RerankSettings, folds: Sequence[Judged], dev: Judged | None):
        given = settings.base_weight if settings.learner == "perceptron" else settings.variance
        grid = BASE_WEIGHTS if settings.learner == "perceptron" else VARIANCES
        chosen = given is None and (settings.learner == "maxent" or "base" in settings.features)
        self.values = grid if chosen else (grid[0] if given is None else given,)
        self._settings, self._folds = settings, folds
        self._parts = [*folds, *([] if dev is None else [dev])]
        self._words = sum(int(part.lists.starts[-1]) for part in self._parts)
        passes = settings.passes if settings.learner == "perceptron" else 1
        self.shares = np.zeros((len(self.values), passes))

    def steps(self, sweep: int) -> int:
        return len(self._parts)

    def step(self, sweep: int, number: int) -> None:
        """Learn from all folds but one, or, at last, from all, and judge by the one, or by development lists."""
        judged = self._parts[number]
        learned = Judged.joined([fold for fold in self._folds if fold is not judged])
        weight = judged.lists.starts[-1] / max(1, self._words)
        for passed, weights in enumerate(learn_weights(self._settings, learned, self.values[sweep])):
            self.shares[sweep, passed] += weight * share_right(self._settings, judged, weights)

    def finish(self, sweep: int) -> float:
        return float(self.shares[sweep].max())

    def best(self) -> tuple[float, int]:
        """The value, and the number of passes, with most right heads."""
        value, number = np.unravel_index(np.argmax(self.shares), self.shares.shape)
        return self.values[value], int(number) + 1
