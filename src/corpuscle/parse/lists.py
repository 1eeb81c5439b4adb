"""Lists of trees to choose from: a parser's best trees of each sentence, and numbers of each tree.

Training lists come from parsers that have not seen the sentence: the treebank is cut into folds, and the trees of one
are found by a parser of the others. On lists of trees that it has learned, the parser's score would look perfect.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.parse.kernels.reranking import (
    MOST_CHILDREN,
    Lists,
    Ranking,
    TreeRoom,
    add_valences,
    best_of,
    count_right,
    score_candidates,
    tree_room,
    valences,
)
from corpuscle.parse.latent import Likelihoods
from corpuscle.parse.mst import MstParser
from corpuscle.scale import chunks_of, each
from corpuscle.text.treebank import Treebank

_WORDS = 1 << 18
"""About so many words of trees are scored at a time."""


class Jackknife(NamedTuple):
    """Lists to learn from: ``folds``, those of the sentences of each fold, by a parser of the others; ``dev``: of
    development sentences, by a parser of all, or None."""

    folds: list[Lists]
    dev: Lists | None


def lists_of(parser: MstParser, bank: Treebank, k: int) -> Lists:
    """The parser's k best trees of every sentence; their one number is their score, and tags are not known yet."""
    found = parser.k_best(bank, k)
    counts = np.array([len(trees) for trees in found], np.int64)
    heads = np.concatenate([heads for trees in found for heads, _ in trees] or [np.empty(0, np.int32)])
    scores = np.array([score for trees in found for _, score in trees], np.float64)
    return listed(bank, np.zeros(bank.corpus.n_tokens), counts, heads, scores[:, None])


def listed(bank: Treebank, tags: np.ndarray, counts: np.ndarray, heads: np.ndarray, numbers: np.ndarray) -> Lists:
    """Lists of ``counts`` int64 (n_sentences,) trees, whose heads stand one tree after the other."""
    starts = np.ascontiguousarray(bank.corpus.sentence_starts, np.int64)
    firsts, begins = (np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64) for sizes in (
        counts, counts * np.diff(starts)
    ))  # fmt: skip
    numbers = np.ascontiguousarray(numbers, np.float64)
    return Lists(firsts, begins, np.ascontiguousarray(heads, np.int32), numbers, tags.astype(np.int32), starts)


def shortened(lists: Lists, k: int) -> Lists:
    """The first k trees of each list."""
    counts, lengths = np.diff(lists.firsts), np.diff(lists.starts)
    kept = np.arange(int(lists.firsts[-1])) - np.repeat(lists.firsts[:-1], counts) < k
    firsts, begins = (np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64) for sizes in (
        np.minimum(counts, k), np.minimum(counts, k) * lengths
    ))  # fmt: skip
    heads = lists.heads[np.repeat(kept, np.repeat(lengths, counts))]
    return lists._replace(firsts=firsts, begins=begins, heads=heads, numbers=np.ascontiguousarray(lists.numbers[kept]))


def joined(parts: Sequence[Lists]) -> Lists:
    """Lists one after the other."""
    columns = list(zip(*parts, strict=True))

    def offsets(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(array) for array in arrays]))]).astype(np.int64)

    return Lists(*(
        offsets(arrays) if name in ("firsts", "begins", "starts") else np.concatenate(arrays)
        for name, arrays in zip(Lists._fields, columns, strict=True)
    ))  # fmt: skip


def room_for_lists(lists: Lists) -> TreeRoom:
    """Room for the features of any of their trees."""
    return tree_room(int(np.diff(lists.starts).max(initial=1)))


def pieces(lists: Lists) -> list[tuple[int, int]]:
    """The first and the last sentence of parts of equal size, about."""
    return list(pairwise(chunks_of(np.diff(lists.begins) + 1, _WORDS).tolist()))


def right_heads(lists: Lists, gold: np.ndarray) -> np.ndarray:
    """How many heads of each tree are right, int64 (n_trees,)."""
    right = np.zeros(int(lists.firsts[-1]), np.int64)
    count_right(lists, np.ascontiguousarray(gold, np.int32), right)
    return right


def best_trees_of(lists: Lists, scores: np.ndarray) -> np.ndarray:
    """The tree of each sentence with the largest score, int64 (n_sentences,), -1 where there is none."""
    best = np.empty(len(lists.firsts) - 1, np.int64)
    best_of(lists.firsts, scores.astype(np.float64), best)
    return best


def heads_of(lists: Lists, trees: np.ndarray) -> np.ndarray:
    """The heads of one tree of each sentence, int32 (n_words,)."""
    lengths = np.diff(lists.starts)
    places = lists.begins[:-1] + np.maximum(trees - lists.firsts[:-1], 0) * lengths
    within = np.arange(int(lists.starts[-1])) - np.repeat(lists.starts[:-1], lengths)
    return lists.heads[np.repeat(places, lengths) + within]


def scores_of(lists: Lists, ranking: Ranking, workers: int | None = None) -> np.ndarray:
    """The score of every tree, float64 (n_trees,)."""
    scores = np.zeros(int(lists.firsts[-1]))

    def work(piece: tuple[int, int]) -> None:
        score_candidates(lists, *piece, ranking, room_for_lists(lists), scores)

    each(work, pieces(lists), workers)
    return scores


# ---- numbers of trees


def likely(lists: Lists, found: Likelihoods) -> np.ndarray:
    """Log p of every tree for ranking, (n_trees,): what has no positive estimate is a little less likely than all
    others of its list."""
    logs = found.logs.copy()
    sentences = np.repeat(np.arange(len(lists.firsts) - 1), np.diff(lists.firsts))
    lowest = np.full(len(lists.firsts) - 1, np.inf)
    np.minimum.at(lowest, sentences[found.known], logs[found.known])
    lowest = np.where(np.isfinite(lowest), lowest, 0.0) - 1.0
    logs[~found.known] = lowest[sentences[~found.known]]
    return logs


def valence_logs(bank: Treebank, tags: np.ndarray, n_tags: int) -> np.ndarray:
    """How likely a word has no more children (0), or another one (1), by its tag, the side, and how many it has there
    already, as logarithms, float64 (n_tags, 2, MOST_CHILDREN + 1, 2). Tags are smoothed by the mean of all."""
    gold = listed(bank, tags, np.ones(len(bank), np.int64), bank.heads, np.zeros((len(bank), 1)))
    counts = np.zeros((n_tags, 2, MOST_CHILDREN + 1, 2))
    add_valences(gold, counts, room_for_lists(gold))
    whole = counts.sum(axis=0) + 0.5
    mean = whole / whole.sum(axis=-1, keepdims=True)
    return np.log((counts + mean) / (counts.sum(axis=-1, keepdims=True) + 1.0))


def valences_of(lists: Lists, logs: np.ndarray, workers: int | None = None) -> np.ndarray:
    """The log probability of the numbers of children of each tree, (n_trees,)."""
    found = np.zeros(int(lists.firsts[-1]))

    def work(piece: tuple[int, int]) -> None:
        valences(lists, *piece, logs, room_for_lists(lists), found)

    each(work, pieces(lists), workers)
    return found


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
