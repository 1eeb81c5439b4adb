"""Scores of arcs, of pairs of them and of their relations, and the learning of the weights, sentence by sentence.

The score of a tree is linear in its features: w . f(tree). A sentence is parsed with the present weights; if the tree
y' is not the right one y, the weights move along df = f(y) - f(y'), by

- perceptron: tau = 1;
- MIRA: tau = max(0, (loss - w . df) / |df|^2), at most ``step``: as little as makes y better than y' by the loss, the
  number of wrong heads. With several ``trees``, the least change that does so for each of the best trees, by Hildreth's
  algorithm, which meets one constraint after the other.

With a ``cost``, y' is the best tree when every wrong head scores so much more: the tree that violates its margin most,
not the one that would be chosen, so that right trees are learned from until they win by their margins.

The result is the mean of the weights after every sentence: ``totals`` collects each change times the number of
sentences before it, so that mean = weights - totals / sentences.

Relations come from a linear classifier over the features of an arc and of its surroundings in the tree: every feature
has a row with a weight for each relation. The features of an arc are those of ``features``, and of the modifier's place
among the modifiers of its head: the tags of its neighbours on either side, whether it is the first or the last one, how
many modifiers it has itself. Learned on right trees by the averaged perceptron: where the best relation is wrong, the
rows of the right one gain what those of the wrong one lose.

A parser without crossing arcs learns from trees in which an arc that crosses another is lifted to the head of its head.
The arc into m from h is projective if every word between h and m hangs on h, directly or not. Of those that are not,
the shortest is lifted first (the leftmost of equals), until none is left: the fewest and shortest lifts, as the field
does it. A word that hangs on the root is never lifted.

Collins, "Discriminative training methods for hidden Markov models: theory and experiments with perceptron algorithms",
2002; Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", 2003; McDonald, Crammer and
Pereira, "Online large-margin training of dependency parsers", 2005, section 3; costs in the search as in Taskar,
Guestrin and Koller, "Max-margin Markov networks", 2003; relations as in McDonald, Lerman and Pereira, "Multilingual
dependency analysis with a two-stage discriminative parser", 2006, section 3; lifting as in Nivre and Nilsson,
"Pseudo-projective dependency parsing", 2005, section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.charts import NO_SIBLINGS, Chart, best_heads, chart_for, k_best
from corpuscle.engine.dp.spanning import best_tree, climb, k_best_trees
from corpuscle.parse.kernels.features import N_TAGS, arc_features, place_of, sibling_features

_PLACES = 1024 + 2 * N_TAGS * 8
"""Features of an arc or of a pair at most."""
_STEPS = 10_000
"""Rounds of Hildreth's algorithm at most; it ends when no multiplier moves."""


class Decoding(NamedTuple):
    """How trees are found: ``order`` 1 or 2, ``crossing`` (arcs may cross), ``single`` (one root), 64 - bits."""

    order: int
    crossing: bool
    single: bool
    shift: np.uint64


class Learning(NamedTuple):
    """Weights under way.

    - ``weights``: float32 (2^bits,); ``totals``: float64 (2^bits,), see the top; ``delta``: float32 (2^bits,), zeros;
    - ``clock``: int64 (1,), sentences so far;
    - ``trees``: how many of the best; ``step``: the largest tau, 0 for the perceptron;
    - ``cost``: what a wrong head gains while learning.
    """

    weights: np.ndarray
    totals: np.ndarray
    delta: np.ndarray
    clock: np.ndarray
    trees: int
    step: float
    cost: float


@kernel
def score(layers, sentence, decoding, weights, marks, places, arcs, siblings):
    """``arcs`` (n + 1, n + 1), ``siblings`` (n + 1, n + 1, n + 1; not read in the first order) := the scores of a
    sentence."""
    base = layers.starts[sentence] + 1
    n = layers.starts[sentence + 1] - layers.starts[sentence] - 3
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h == m:
                continue
            total = 0.0
            for i in range(arc_features(layers, base, h, m, decoding.shift, marks, places)):
                total += weights[places[i]]
            arcs[h, m] = total
            if decoding.order == 1:
                continue
            step = 1 if m > h else -1
            s = h
            while s != m:
                total = 0.0
                if s != 0 or h == 0:
                    for i in range(sibling_features(layers, base, h, s, m, decoding.shift, places)):
                        total += weights[places[i]]
                siblings[h, s, m] = total
                s += step


class Room(NamedTuple):
    """Buffers for sentences of up to n words: see ``charts`` and ``score``; ``trees`` int32 (k, n), ``scores`` (k,)."""

    chart: Chart
    arcs: np.ndarray
    siblings: np.ndarray
    marks: np.ndarray
    places: np.ndarray
    trees: np.ndarray
    scores: np.ndarray


def room_for(n: int, order: int, k: int = 1) -> Room:
    """Buffers for sentences of up to n words and k trees."""
    siblings = np.zeros((n + 1,) * 3) if order == 2 else NO_SIBLINGS
    marks, places = np.zeros(N_TAGS + 1, np.int64), np.empty(_PLACES, np.uint32)
    arcs, trees = np.zeros((n + 1, n + 1)), np.zeros((k, n), np.int32)
    return Room(chart_for(n), arcs, siblings, marks, places, trees, np.zeros(k))


@kernel
def decode(n, decoding, room, heads):
    """``heads`` int32 (n,) := the best tree by the scores in ``room``; returns its score."""
    if decoding.crossing and decoding.order == 1:
        return best_tree(n, room.arcs, decoding.single, heads)
    found = best_heads(n, room.arcs, room.siblings, decoding.single, room.chart, heads)
    if decoding.crossing:
        found += climb(room.arcs, room.siblings, decoding.single, heads)
    return found


@part
def _sibling_of(heads, m):
    """The next modifier of the same head that is nearer to it on m's side, or the head if there is none."""
    h = heads[m - 1]
    step = 1 if h > m else -1
    s = m + step
    while s != h and (s == 0 or heads[s - 1] != h):
        s += step
    return s


@part
def _difference(layers, sentence, decoding, gold, heads, room, delta, touched):
    """Add f(gold) - f(heads) to ``delta``; ``touched`` := the places that may not be 0, with repeats; returns how many,
    -1 if there is no room for them."""
    base = layers.starts[sentence] + 1
    used = 0
    for m in range(1, len(gold) + 1):
        same = gold[m - 1] == heads[m - 1]
        pairs_differ = decoding.order == 2 and (not same or _sibling_of(gold, m) != _sibling_of(heads, m))
        if same and not pairs_differ:
            continue
        if used + 4 * len(room.places) > len(touched):  # arcs and pairs, of both trees
            return -1
        for side in range(2):
            tree, change = (gold, 1.0) if side == 0 else (heads, -1.0)
            h = tree[m - 1]
            for pairs in range(2):
                if pairs and pairs_differ:
                    s = _sibling_of(tree, m)
                    count = sibling_features(layers, base, h, s, m, decoding.shift, room.places)
                elif not pairs and not same:
                    count = arc_features(layers, base, h, m, decoding.shift, room.marks, room.places)
                else:
                    continue
                for place in room.places[:count]:
                    delta[place] += change
                    touched[used] = place
                    used += 1
    return used


@kernel
def learn(layers, order_of, heads, first_word, decoding, learning, room, touched):
    """Learn from the sentences ``order_of`` int64, one after the other; returns how many words got a wrong head.

    ``heads``: int32 (n_words,), the right heads; sentence i begins at word ``first_word[i]``; ``touched``: uint32
    (trees, room), for the places of features that differ.
    """
    wrong = 0
    losses, used = np.zeros(len(touched)), np.zeros(len(touched), np.int64)
    values = np.zeros(touched.shape, np.float32)
    for sentence in order_of:
        n = first_word[sentence + 1] - first_word[sentence]
        learning.clock[0] += 1
        if n == 0:
            continue
        gold = heads[first_word[sentence] : first_word[sentence + 1]]
        score(layers, sentence, decoding, learning.weights, room.marks, room.places, room.arcs, room.siblings)
        # every wrong head looks better by the cost, so the right tree must win by that for each of them
        for m in range(1, n + 1):
            for h in range(n + 1):
                room.arcs[h, m] += learning.cost if h != gold[m - 1] else 0.0
        found = 1
        if learning.trees > 1:
            found = best_trees(n, decoding, room)
        else:
            decode(n, decoding, room, room.trees[0, :n])
        constraints = 0
        for tree in range(found):
            loss = 0
            for i in range(n):
                loss += gold[i] != room.trees[tree, i]
            wrong += loss if tree == 0 else 0
            if loss > 0:
                guess, delta, own = room.trees[tree, :n], learning.delta, touched[constraints]
                kept = 0
                for i in range(_difference(layers, sentence, decoding, gold, guess, room, delta, own)):
                    place = own[i]
                    if delta[place] != 0.0:  # what is left of the difference moves to the front, once
                        own[kept], values[constraints, kept] = place, delta[place]
                        delta[place] = 0.0
                        kept += 1
                used[constraints], losses[constraints] = kept, loss
                constraints += 1
        if constraints > 0:
            _move(learning, losses[:constraints], used, touched, values)
    return wrong


@kernel
def best_trees(n, decoding, room):
    """The best trees by the scores in ``room`` into its ``trees`` and ``scores``; returns how many."""
    k, trees = len(room.trees), room.trees[:, :n]
    if decoding.crossing:
        return k_best_trees(n, room.arcs[: n + 1, : n + 1], decoding.single, k, trees, room.scores)
    return k_best(n, room.arcs, room.siblings, decoding.single, k, room.chart, trees, room.scores)


@part
def _move(learning, losses, used, touched, values):
    """Move the weights so that the right tree is better than each other tree by its loss: by Hildreth's algorithm, with
    one multiplier a constraint between 0 and ``step``; the perceptron moves along the first difference."""
    n, weights, delta = len(losses), learning.weights, learning.delta
    taus = np.zeros(n)
    if learning.step == 0.0:
        taus[0] = 1.0
    else:
        gaps, products = losses.copy(), np.zeros((n, n))
        # gaps: by how much each constraint is broken; products of two differences: one is scattered into ``delta``
        for a in range(n):
            for i in range(used[a]):
                gaps[a] -= values[a, i] * weights[touched[a, i]]
                delta[touched[a, i]] = values[a, i]
            for b in range(a, n):
                for i in range(used[b]):
                    products[a, b] += values[b, i] * delta[touched[b, i]]
                products[b, a] = products[a, b]
            for i in range(used[a]):
                delta[touched[a, i]] = 0.0
        # coordinate ascent on the dual: each multiplier in turn, given the others
        for _ in range(_STEPS):
            largest = 0.0
            for a in range(n):
                if products[a, a] > 0.0:
                    reached = 0.0
                    for b in range(n):
                        reached += taus[b] * products[a, b]
                    new = max(0.0, min(taus[a] + (gaps[a] - reached) / products[a, a], learning.step))
                    largest = max(largest, abs(new - taus[a]))
                    taus[a] = new
            if n == 1 or largest < 1e-8:  # a single constraint is exact after one step
                break
    # mean weights are weights - totals / clock: this change was not there in the sentences before
    age = learning.clock[0] - 1
    for a in range(n):
        if taus[a] > 0.0:
            for i in range(used[a]):
                change = taus[a] * values[a, i]
                weights[touched[a, i]] += change
                learning.totals[touched[a, i]] += change * age


# ---- relations


_FIRST = 4000
"""Where the templates of this module begin."""


@part(inline=True)
def _neighbour(heads, m, step):
    """The next modifier of the same head in a direction, 0 if there is none."""
    s = m + step
    while 1 <= s <= len(heads):
        if heads[s - 1] == heads[m - 1]:
            return s
        s += step
    return 0


@part
def _arc_rows(layers, base, heads, m, shift, marks, places):
    """``places`` := the rows of the features of the arc into m; returns how many."""
    h = heads[m - 1]
    count = arc_features(layers, base, h, m, shift, marks, places)
    tags = layers.tags[0]
    left, right, modifiers = _neighbour(heads, m, -1), _neighbour(heads, m, 1), 0
    for head in heads:
        modifiers += head == m
    ends = 1 if left == 0 else 0
    ends += 2 if right == 0 else 0
    ht, mt = tags[base + h], tags[base + m]
    lt = tags[base + left] if left > 0 else np.uint64(1)
    rt = tags[base + right] if right > 0 else np.uint64(1)
    for template, a, b, c in (
        (0, mt, lt, ht), (1, mt, rt, ht), (2, lt, mt, rt), (3, mt, ht, np.uint64(ends)),
        (4, mt, ht, np.uint64(min(modifiers, 4) + 10)),
    ):  # fmt: skip
        places[count] = place_of(a, b, c, _FIRST + template, shift)
        count += 1
    return count


@part(inline=True)
def _best_relation(weights, places, count, scores):
    """``scores`` (relations,) := the sums of the rows; returns the relation of the largest."""
    scores[:] = 0.0
    for i in range(count):
        row = weights[places[i]]
        for relation in range(len(scores)):
            scores[relation] += row[relation]
    return np.argmax(scores)


@kernel
def relate(layers, sentences, heads, shift, weights, relations):
    """``relations`` int32 := the best relation of each arc of some trees, one tree after the other in ``heads`` int32;
    ``sentences`` int64: whose trees they are."""
    marks, places = np.zeros(N_TAGS + 1, np.int64), np.empty(_PLACES, np.uint32)
    first, scores = 0, np.empty(weights.shape[1], np.float32)
    for sentence in sentences:
        base = layers.starts[sentence] + 1
        last = first + layers.starts[sentence + 1] - layers.starts[sentence] - 3
        for m in range(1, last - first + 1):
            count = _arc_rows(layers, base, heads[first:last], m, shift, marks, places)
            relations[first + m - 1] = _best_relation(weights, places, count, scores)
        first = last


@kernel
def learn_relations(layers, order_of, bank, shift, learning):
    """Learn from the trees of the sentences ``order_of`` int64; returns how many arcs got a wrong relation.

    ``bank``: heads and relations int32 (n_words,), -1 where nothing is known, first words int64; ``learning``: weights
    and totals float32 (2^bits, relations), clock int64 (1,).
    """
    heads, relations, first_word = bank
    weights, totals, clock = learning
    marks, places = np.zeros(N_TAGS + 1, np.int64), np.empty(_PLACES, np.uint32)
    wrong, scores = 0, np.empty(weights.shape[1], np.float32)
    for sentence in order_of:
        first, last = first_word[sentence], first_word[sentence + 1]
        base = layers.starts[sentence] + 1
        for m in range(1, last - first + 1):
            right = relations[first + m - 1]
            if right < 0:
                continue
            count = _arc_rows(layers, base, heads[first:last], m, shift, marks, places)
            found = _best_relation(weights, places, count, scores)
            if found != right:
                wrong += 1
                age = np.float32(clock[0])
                for place in places[:count]:
                    weights[place, right] += 1.0
                    weights[place, found] -= 1.0
                    totals[place, right] += age
                    totals[place, found] -= age
            clock[0] += 1
    return wrong


# ---- crossing arcs


@part
def _is_projective(heads, m):
    """Whether every word between m and its head hangs on that head."""
    h = heads[m - 1]
    for between in range(min(h, m) + 1, max(h, m)):
        above = between
        while above != 0 and above != h:
            above = heads[above - 1]
        if above != h:
            return False
    return True


@kernel
def lift(heads, starts, lifted):
    """``lifted`` int32 (n_words,) := the heads of all sentences, lifted; sentence i begins at ``starts[i]``."""
    lifted[:] = heads
    for sentence in range(len(starts) - 1):
        tree = lifted[starts[sentence] : starts[sentence + 1]]
        while True:
            shortest, found = len(tree) + 1, 0
            for m in range(1, len(tree) + 1):
                length = abs(tree[m - 1] - m)
                if 1 < length < shortest and tree[m - 1] != 0 and not _is_projective(tree, m):
                    shortest, found = length, m
            if found == 0:
                break
            tree[found - 1] = tree[tree[found - 1] - 1]


@kernel
def crossings(heads, starts):
    """How many sentences have crossing arcs."""
    count = 0
    for sentence in range(len(starts) - 1):
        tree = heads[starts[sentence] : starts[sentence + 1]]
        crosses = False
        for m in range(1, len(tree) + 1):
            low, high = min(m, tree[m - 1]), max(m, tree[m - 1])
            for other in range(low + 1, high):
                crosses |= not low <= tree[other - 1] <= high
        count += crosses
    return count
