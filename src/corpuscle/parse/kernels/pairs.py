"""The features of ordered pairs of words, the loss of a classifier over them, and the K best trees by its scores.

A pair (i, j) asks: is word i the head of word j? With words w, tags p, and the tags of the neighbours of i (a before
it, b behind it) and of j (c, d), it has 31 features:

- unigrams: wi pi, wi, pi, wj pj, wj, pj;
- bigrams: wi pi wj pj, pi wj pj, wi wj pj, wi pi pj, wi pi wj, wi wj, pi pj, wi pj, pi wj;
- surroundings: pi b c pj, a pi c pj, pi b pj d, a pi pj d, a pi c, a pi d, pi b c, pi b d, a c pj, a pj d, b c pj,
  b pj d, pi c pj, pi pj d, a pi pj, pi b pj;

each once as it is and once with the distance of the two words, and a constant. The distance is six answers: is i before
j, are they adjacent, is a verb between them, how many commas are (0, 1, 2, more), does a comma follow the first of the
two, does a comma precede the second. Numbers between two words are differences of running sums.

A feature is the hash of its template and values, see ``features``. The weights v minimise

    sum over pairs of weight * loss(y v . phi) + |v|^2 / (4 sigma^2),    y = +1 or -1,

with loss(z) = log(1 + exp(-z)), two-class maximum entropy with variance sigma^2 (v = w+ - w-), or max(0, 1 - z)^2, a
support vector machine.

The K best projective trees are found by joining neighbouring segments, as in a chart of constituents. A segment is a
tree over a span of words; two neighbours make one segment in two ways: the root of either becomes the head of the
other's. ``V[i, j]`` has the K best segments of the span from i to j, sorted, with distinct sets of arcs: the same tree
comes from several orders of joining, and duplicates would fill the list. A set of arcs is known by the sum of the
hashes of its arcs.

With K for a whole span the result is approximate, since a segment that is needed above may have been dropped; with K
for every root of a span (``per_root``) the best tree is exact even for K = 1, in O(n^5).

Cube pruning: each split k and direction is a grid, the segments of [i, k] by those of [k + 1, j], whose sums fall along
both axes but for the score of the joining arc. A heap begins with all corners; the best cell is taken, and its two
neighbours come in. It stops when K distinct segments and ``margin`` more have been seen.

Jiang and Liu, "Dependency parsing and projection based on word-pair classification", 2010, section 3, table 1 and
algorithm 1 (i, j, C, r, V, K); the distance of Collins, "A new statistical parser based on bigram lexical
dependencies", 1996, section 3.1.2; Huang and Chiang, "Better k-best parsing", 2005, section 4.2 (cube pruning).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.heap import pop, push
from corpuscle.parse.kernels.features import collins
from corpuscle.random import mix, uniform

FEATURES = 63
MAXENT, SVM = 0, 1
NO, YES, UNKNOWN = 0, 1, 2
"""What is known of a pair."""
SMALLEST = math.log(1e-12)
"""No logarithm of a probability is below this."""

_ROLES = tuple(np.uint64(odd) for odd in (
    0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F,
    0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0xBF58476D1CE4E5B9, 0xD1342543DE82EF95, 0xDA942042E4DD58B5,
))  # fmt: skip
_WI, _PI, _WJ, _PJ, _A, _B, _C, _D, _TEMPLATE, _DISTANCE = _ROLES


class Instances(NamedTuple):
    """Pairs to learn from: ``sentences``, ``heads``, ``modifiers`` int32 (n,), words counted from 1; ``sure`` float32
    (n,), how likely the first is the head of the second: above 1/2 for a yes."""

    sentences: np.ndarray
    heads: np.ndarray
    modifiers: np.ndarray
    sure: np.ndarray


class Sampling(NamedTuple):
    """A sample of fixed size from candidates that come one after the other: ``stream`` uint64 (2,); ``left``,
    ``wanted``: int64 (2,), the number of noes and yeses that are still to come, and of those still wanted."""

    stream: np.ndarray
    left: np.ndarray
    wanted: np.ndarray


@part
def pair_features(layers, i, j, shift, places):
    """``places`` uint32 (FEATURES,) := where the weights of the features of the words at places i and j stand."""
    words, tags = layers.lexical[0], layers.tags[0]
    apart = np.uint64(collins(layers.verbs, layers.commas, i, j) + 1) * _DISTANCE
    wi, pi, wj, pj = words[i] * _WI, tags[i] * _PI, words[j] * _WJ, tags[j] * _PJ
    a, b, c, d = tags[i - 1] * _A, tags[i + 1] * _B, tags[j - 1] * _C, tags[j + 1] * _D
    at = 0
    for value in (
        wi + pi, wi, pi, wj + pj, wj, pj,
        wi + pi + wj + pj, pi + wj + pj, wi + wj + pj, wi + pi + pj, wi + pi + wj, wi + wj, pi + pj, wi + pj, pi + wj,
        pi + b + c + pj, a + pi + c + pj, pi + b + pj + d, a + pi + pj + d, a + pi + c, a + pi + d, pi + b + c,
        pi + b + d, a + c + pj, a + pj + d, b + c + pj, b + pj + d, pi + c + pj, pi + pj + d, a + pi + pj, pi + b + pj,
    ):  # fmt: skip
        value += np.uint64(at) * _TEMPLATE
        places[at] = np.uint32(mix(value) >> shift)  # the feature alone, then with the distance
        places[at + 1] = np.uint32(mix(value + apart) >> shift)
        at += 2
    places[at] = np.uint32(mix(np.uint64(at) * _TEMPLATE) >> shift)


@kernel
def score_pairs(layers, sentence, weights, shift, correction, classifier, arcs):
    """``arcs`` (n + 1, n + 1) := log C(h, m) of the words of a sentence, C = sigmoid(v . phi - correction), or v . phi
    of a support vector machine; arcs of the root have 0."""
    base = layers.starts[sentence] + 1
    n = layers.starts[sentence + 1] - layers.starts[sentence] - 3
    places = np.empty(FEATURES, np.uint32)
    arcs[0, : n + 1] = 0.0
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            if h == m:
                continue
            pair_features(layers, base + h, base + m, shift, places)
            total = -correction
            for place in places:
                total += weights[place]
            if classifier == MAXENT:  # far below zero log C is the logit itself, and exp would overflow
                total = -math.log1p(math.exp(-total)) if total > -30.0 else total
                total = max(total, SMALLEST)
            arcs[h, m] = total


@kernel
def places_of(layers, instances, shift, places):
    """``places`` uint32 (n, FEATURES) := where the weights of the features of the instances stand."""
    for number in range(len(instances.sentences)):
        base = layers.starts[instances.sentences[number]] + 1
        pair_features(layers, base + instances.heads[number], base + instances.modifiers[number], shift, places[number])


@kernel
def loss(columns, signs, weights, point, classifier, gradient):
    """The loss of some instances, without the penalty, and its gradient added to ``gradient`` float64 (variables + 1,).

    ``columns``: int32 (n, FEATURES), variables, the last of which stands for those that have no weight; ``signs``,
    ``weights``: float32 (n,); ``point``: float64 (variables + 1,), whose last is 0.
    """
    total = 0.0
    for number in range(len(columns)):
        z = 0.0
        for column in columns[number]:
            z += point[column]
        z *= signs[number]
        if classifier == MAXENT:
            # exp overflows above 709; below -30 the loss is -z to all digits that matter
            share = 1.0 / (1.0 + math.exp(z)) if z < 700.0 else 0.0
            total += weights[number] * (math.log1p(math.exp(-z)) if z > -30.0 else -z)
        else:
            gap = max(0.0, 1.0 - z)
            share = 2.0 * gap
            total += weights[number] * gap * gap
        slope = -share * signs[number] * weights[number]
        if slope != 0.0:
            for column in columns[number]:
                gradient[column] += slope
    return total


@kernel
def collect(sentence, labels, sure, sampling, found, at):
    """Put a sample of the pairs of a sentence into ``found`` from ``at`` on; returns where the next ones go.

    ``labels``: int8 (n, n), NO, YES or UNKNOWN; ``sure``: float32 (n, n); heads first, words counted from 0. A pair is
    taken with probability wanted / left, which makes every sample equally likely (Knuth, "Seminumerical algorithms",
    1969, algorithm 3.4.2 S).
    """
    n = len(labels)
    for i in range(n):
        for j in range(n):
            label = labels[i, j]
            if label == UNKNOWN:
                continue
            wanted, left = sampling.wanted[label], sampling.left[label]
            sampling.left[label] -= 1
            if wanted >= left or uniform(sampling.stream) * left < wanted:
                sampling.wanted[label] -= 1
                found.sentences[at], found.heads[at], found.modifiers[at] = sentence, i + 1, j + 1
                found.sure[at] = sure[i, j]
                at += 1
    return at


# ---- the K best trees


class _Segments(NamedTuple):
    """All segments of a sentence; those of the span from i to j stand from ``first[i, j]`` on, ``sizes[i, j]`` of them.

    ``scores`` float64, ``roots`` int32, ``marks`` uint64 (hashes of sets of arcs), ``lefts`` and ``rights`` int32: what
    it was joined from, -1 for a word; ``leftward`` bool: whether the right one has the head.
    """

    first: np.ndarray
    sizes: np.ndarray
    scores: np.ndarray
    roots: np.ndarray
    marks: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    leftward: np.ndarray


@part
def _join(v, left, right, leftward, arcs):
    """The score, the root and the mark of two segments that are joined."""
    # a sum of hashes is the same whatever the order of joining
    head, modifier = (v.roots[right], v.roots[left]) if leftward else (v.roots[left], v.roots[right])
    score = v.scores[left] + v.scores[right] + arcs[head + 1, modifier + 1]
    arc = mix(np.uint64(head) * np.uint64(1 << 32) + np.uint64(modifier) + np.uint64(1))
    return score, head, v.marks[left] + v.marks[right] + arc


@part
def _insert(v, begin, size, k, score, root, mark, left, right, leftward):
    """Put a segment into the sorted list of up to k from ``begin`` on, unless it is there; returns its new size."""
    if size == k and score <= v.scores[begin + size - 1]:
        return size
    for slot in range(begin, begin + size):
        if v.marks[slot] == mark:
            return size
    slot = begin + min(size, k - 1)  # from a full list the last one falls out
    while slot > begin and v.scores[slot - 1] < score:
        for field in (v.lefts, v.rights, v.roots):
            field[slot] = field[slot - 1]
        v.scores[slot], v.marks[slot], v.leftward[slot] = v.scores[slot - 1], v.marks[slot - 1], v.leftward[slot - 1]
        slot -= 1
    v.scores[slot], v.marks[slot], v.leftward[slot] = score, mark, leftward
    v.lefts[slot], v.rights[slot], v.roots[slot] = left, right, root
    return min(size + 1, k)


@part
def _fill_by_root(i, j, k, arcs, v):
    """All ways to join, K kept for every root."""
    kept, begin = np.zeros(j - i + 1, np.int64), v.first[i, j]
    for split in range(i, j):
        for left in range(v.first[i, split], v.first[i, split] + v.sizes[i, split]):
            for right in range(v.first[split + 1, j], v.first[split + 1, j] + v.sizes[split + 1, j]):
                for leftward in (False, True):
                    score, root, mark = _join(v, left, right, leftward, arcs)
                    kept[root - i] = _insert(
                        v, begin + k * (root - i), kept[root - i], k, score, root, mark, left, right, leftward
                    )
    total = 0
    for root in range(j - i + 1):  # close the gaps
        for slot in range(begin + k * root, begin + k * root + kept[root]):
            for field in (v.lefts, v.rights, v.roots):
                field[begin + total] = field[slot]
            v.scores[begin + total], v.marks[begin + total] = v.scores[slot], v.marks[slot]
            v.leftward[begin + total] = v.leftward[slot]
            total += 1
    v.sizes[i, j] = total


@part
def _fill_by_cubes(i, j, k, margin, arcs, v, heap):
    """The best cells of all grids until K distinct segments and some more have been seen."""
    priorities, names, cells, seen = heap
    size, made, begin, kept, distinct = 0, 0, v.first[i, j], 0, 0
    seen[: 2 * (j - i)] = False
    found = np.empty(k + margin, np.uint64)
    # each grid begins with its corner: the best segments of both sides
    for grid in range(2 * (j - i)):
        split, leftward = i + grid // 2, grid % 2 == 1
        score, _, _ = _join(v, v.first[i, split], v.first[split + 1, j], leftward, arcs)
        cells[made, 0], cells[made, 1], cells[made, 2] = grid, 0, 0
        push(priorities, names, size, score, made)
        size, made = size + 1, made + 1
    while size > 0 and distinct < k + margin:
        grid, a, b = cells[names[0]]
        pop(priorities, names, size)
        size -= 1
        split, leftward = i + grid // 2, grid % 2 == 1
        left, right = v.first[i, split] + a, v.first[split + 1, j] + b
        score, root, mark = _join(v, left, right, leftward, arcs)
        new = True
        for number in range(distinct):
            new = new and found[number] != mark
        if new:
            found[distinct] = mark
            distinct += 1
            kept = _insert(v, begin, kept, k, score, root, mark, left, right, leftward)
        # its neighbours along both axes, each once: they can be reached from two cells
        for step in range(2):
            next_a, next_b = a + 1 - step, b + step
            if next_a < v.sizes[i, split] and next_b < v.sizes[split + 1, j] and not seen[grid, next_a, next_b]:
                seen[grid, next_a, next_b] = True
                score, _, _ = _join(v, v.first[i, split] + next_a, v.first[split + 1, j] + next_b, leftward, arcs)
                cells[made, 0], cells[made, 1], cells[made, 2] = grid, next_a, next_b
                push(priorities, names, size, score, made)
                size, made = size + 1, made + 1
    v.sizes[i, j] = kept


@kernel
def best_segments(n, arcs, k, margin, per_root, heads, scores):
    """``heads`` int32 (k, n), ``scores`` (k,) := the best trees of n words, the best one first; returns how many.

    ``arcs``: (n + 1, n + 1), as in ``charts``; those of the root do not count.
    """
    first, total = np.zeros((n, n), np.int64), 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            first[i, i + width - 1] = total
            total += k * width if per_root else k
    v = _Segments(
        first, np.zeros((n, n), np.int64), np.empty(total), np.empty(total, np.int32), np.empty(total, np.uint64),
        np.full(total, -1, np.int32), np.full(total, -1, np.int32), np.zeros(total, np.bool_),
    )  # fmt: skip
    grids = 2 * max(1, n - 1)
    room = 1 if per_root else grids * k * k
    heap = (
        np.empty(room), np.empty(room, np.int64), np.empty((room, 3), np.int64),
        np.zeros((1, 1, 1) if per_root else (grids, k, k), np.bool_),
    )  # fmt: skip
    for i in range(n):
        slot = v.first[i, i]
        v.sizes[i, i], v.scores[slot], v.roots[slot], v.marks[slot] = 1, 0.0, i, np.uint64(0)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            if per_root:
                _fill_by_root(i, i + width - 1, k, arcs, v)
            else:
                _fill_by_cubes(i, i + width - 1, k, min(margin, room), arcs, v, heap)
    begin, last = v.first[0, n - 1], v.first[0, n - 1] + v.sizes[0, n - 1]
    order = np.argsort(-v.scores[begin:last], kind="mergesort")[:k]
    stack = np.empty(2 * n, np.int64)
    for rank in range(len(order)):
        slot = begin + order[rank]
        scores[rank] = v.scores[slot]
        heads[rank, v.roots[slot]] = 0
        stack[0], top = slot, 1
        while top > 0:
            top -= 1
            slot = stack[top]
            if v.lefts[slot] >= 0:
                left, right = v.lefts[slot], v.rights[slot]
                if v.leftward[slot]:
                    heads[rank, v.roots[left]] = v.roots[right] + 1
                else:
                    heads[rank, v.roots[right]] = v.roots[left] + 1
                stack[top], stack[top + 1] = left, right
                top += 2
    return len(order)
