"""A linear-chain conditional random field: tags of sentences, and how likely each is.

    p(y | x) = exp( sum over tokens of [ sum over features f of weight(f, y_t) + step(y_{t-1}, y_t) ] ) / Z(x)

Features stand in a hash table of 64-bit numbers; each has the weights of the labels it was seen with. The best labels
are those of ``engine.dp.chains`` under logarithms, the probabilities of labels come from its scaled sums.

Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for segmenting and labeling sequence
data", 2001; Rabiner, "A tutorial on hidden Markov models and selected applications in speech recognition", 1989.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.chains import Chain, Room, best_chain, best_path, expectations, k_best
from corpuscle.engine.hashtable import enter, find, new_index
from corpuscle.entities.kernels.features import feature, longest_of


class Field(NamedTuple):
    """The weights of a field of s labels.

    - ``table``: int32 (2^k,), a hash table over ``keys`` uint64 (features,);
    - ``starts`` int64 (features + 1,), ``labels`` int32, ``weights`` float64: the weights of each feature by label;
    - ``steps``: float64 (s, s), from label to label.
    """

    table: np.ndarray
    keys: np.ndarray
    starts: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    steps: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"field/{name}": array for name, array in self._asdict().items() if name != "table"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Field:
        keys, *rest = (arrays[f"field/{name}"] for name in cls._fields[1:])
        return cls(index_of(keys), keys, *rest)


@kernel
def _fill(index, keys):
    for item in range(len(keys)):
        enter(index, keys, item)


def index_of(keys: np.ndarray) -> np.ndarray:
    """A hash table over some keys."""
    index = new_index(len(keys))
    _fill(index, keys)
    return index


@part(bare=True)
def score_tokens(tokens, field, sentence, scores):
    """``scores`` float64 (n, s) := the sums of the weights of all features of the tokens of a sentence."""
    first, last = tokens.starts[sentence], tokens.starts[sentence + 1]
    scores[: last - first] = 0.0
    for i in range(first, last):
        row = scores[i - first]
        for t in range(len(tokens.templates)):
            key = feature(tokens, first, last, i, t)
            if key != 0:
                item = find(field.table, field.keys, key)
                if item >= 0:
                    for k in range(field.starts[item], field.starts[item + 1]):
                        row[field.labels[k]] += field.weights[k]


@kernel
def tag_tokens(tokens, field, begin, end, tags):
    """``tags`` int32 := the best labels of the tokens of the sentences from ``begin`` to ``end``."""
    s, longest = len(field.steps), longest_of(tokens.starts, begin, end)
    scores, table = np.empty((longest, s)), np.empty((longest, s))
    edge, steps = np.zeros(s), field.steps.reshape((1, s, s))
    base = tokens.starts[begin]
    for sentence in range(begin, end):
        first, last = tokens.starts[sentence], tokens.starts[sentence + 1]
        n = last - first
        if n > 0:
            score_tokens(tokens, field, sentence, scores)
            chain = Chain(edge, scores, steps, edge)
            best_chain(n, s, chain, table, edge)
            best_path(n, s, chain, table, tags[first - base : last - base])


@kernel
def likely_tags(tokens, field, begin, end, shares):
    """``shares`` float64 (tokens, s) := how likely each label is at each token; returns the sum of log Z."""
    s, longest = len(field.steps), longest_of(tokens.starts, begin, end)
    scores, ones = np.empty((longest, s)), np.ones(s)
    # The sums run over exponentials. The largest step and the largest score of each token are taken out before, so that
    # none overflows, and are added to log Z again.
    highest, total = field.steps.max(), 0.0
    steps = np.exp(field.steps - highest).reshape((1, s, s))
    turned = np.ascontiguousarray(steps.transpose((0, 2, 1)))
    room = Room(np.empty((longest, s)), np.empty((1, s, s)), np.empty(s), np.empty(s), np.empty(longest))
    base = tokens.starts[begin]
    for sentence in range(begin, end):
        first, last = tokens.starts[sentence], tokens.starts[sentence + 1]
        n = last - first
        if n == 0:
            continue
        score_tokens(tokens, field, sentence, scores)
        for i in range(n):
            top = scores[i].max()
            total += top
            for q in range(s):
                scores[i, q] = math.exp(scores[i, q] - top)
        # Of n tokens there are n - 1 steps, each without ``highest``.
        logarithm = expectations(n, s, Chain(ones, scores, steps, ones), turned, room)
        if logarithm == -math.inf:  # steps so far apart that nothing is left of them
            room.table[:n] = 0.0
        total += logarithm + (n - 1) * highest
        shares[first - base : last - base] = room.table[:n, :s]
    return total


@kernel
def k_best_tags(tokens, field, sentence, paths, scores):
    """``paths`` int32 (k, n) := the k best labellings of a sentence that is not empty, ``scores`` (k,): the logarithms
    of their weights; returns how many there are."""
    s, n = len(field.steps), tokens.starts[sentence + 1] - tokens.starts[sentence]
    emission, edge = np.empty((n, s)), np.zeros(s)
    score_tokens(tokens, field, sentence, emission)
    return k_best(n, s, Chain(edge, emission, field.steps.reshape((1, s, s)), edge), len(paths), paths, scores)
