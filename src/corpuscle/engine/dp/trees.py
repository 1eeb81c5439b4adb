"""Trees: sums over, and the best of, all ways to give every node of a forest one of C classes.

The class of a node depends on that of its parent, and what is seen at it on its own class. With c the classes of the
nodes, the weight of an assignment is the product of ``first`` (of the class of each root), ``steps`` (of each child,
given the class of its parent) and ``emission`` (of what is seen at each node): a hidden Markov model on trees. A chain
is the tree in which every token hangs on its left neighbour.

Nodes stand parents first. One sweep from the last node to the first collects what is below each node,

    table[k, i]    = emission[k, i] times over the children h of k of messages[h, i]
    messages[k, j] = plus over i of table[k, i] steps[i, j]

and the total is plus over i of first[i] table[k, i], times over the roots k. Sums are scaled after each child (after
each node would not do: the messages of 5,000 children, multiplied, are nothing), so that a row adds up to one; the
logarithms of the scales add up to that of the total. The way back divides what is known about a parent, all told, by
what this child has told it:

    shares[k, i] = table[k, i] (sum over j of steps[i, j] ratios[k, j]),    ratios[k, j] = shares[p, j] / messages[k, j]

is the probability of class i at node k with parent p, and table[k, i] steps[i, j] ratios[k, j] that of both classes.

Projections: a row of the table may be cut to its largest entries, so that what follows has less to do: the ``k``
largest, or the fewest of the largest that have all but ``epsilon`` of its total; what is kept is not changed. The first
bounds the work, the second what is lost. Among equals, smaller classes are kept first; with k = C and epsilon = 0
everything is. With k entries a message takes k C steps, and since ratios are zero wherever shares of the parent are,
the way back takes k^2.

Notation of the paper: q is first, T steps, O emission, u the rows of the table, v the ratios.

Grave, Obozinski and Bach, "Hidden Markov tree models for semantic class induction", 2013, also for
both projections; Pal, Sutton and McCallum, "Sparse forward-backward using minimum divergence beams for fast training of
conditional random fields", 2006, for that by epsilon; Crouse, Nowak and Baraniuk,
"Wavelet-based statistical signal processing using hidden Markov models", 1998, for the recursions on trees.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.heap import sink
from corpuscle.random import stream, uniform


class Nodes(NamedTuple):
    """The nodes of some trees or forests, one after the other, each with parents first.

    - ``parents``: int32 (n,), where the parent of each stands, before it; -1 for roots;
    - ``links``: int32 (n,), which of the tables of steps leads to it;
    - ``words``: int32 (n,), the row of ``Weights.emission`` that is seen at it;
    - ``places``: int32 (n,), the row of ``Counts.emission`` that its shares are added to;
    - ``starts``: int64 (trees + 1,), where each tree begins.
    """

    parents: np.ndarray
    links: np.ndarray
    words: np.ndarray
    places: np.ndarray
    starts: np.ndarray


class Weights(NamedTuple):
    """The weights of a model, float64 (for MAX their logarithms).

    - ``first``: (C,); ``emission``: (words, C);
    - ``steps``: (links, C, C), ``steps[link, i, j]`` from class j of a parent to class i of its child; ``turned``: the
      transpose of each.
    """

    first: np.ndarray
    steps: np.ndarray
    turned: np.ndarray
    emission: np.ndarray


class Counts(NamedTuple):
    """What is expected of some trees; ``expectations`` adds to it.

    - ``first``: (C,), the classes of roots; ``emission``: (places, C), the classes of nodes by their places;
    - ``steps``: (links, C, C), the pairs of classes of children and parents;
    - ``likelihoods``: (trees,), the logarithm of the total of each tree;
    - ``tallies``: int64 (2,), how many entries of tables were kept, and how many trees had no weight left after the
      projection and were done again exactly.
    """

    first: np.ndarray
    steps: np.ndarray
    emission: np.ndarray
    likelihoods: np.ndarray
    tallies: np.ndarray

    @classmethod
    def empty(cls, classes: int, links: int, places: int, trees: int) -> Counts:
        first, steps, emission = np.zeros(classes), np.zeros((links, classes, classes)), np.zeros((places, classes))
        return cls(first, steps, emission, np.zeros(trees), np.zeros(2, np.int64))


class Room(NamedTuple):
    """Where a tree of n nodes is worked on.

    - ``table``, ``messages``, ``shares``, ``ratios``: (n, C), see above; ``totals``: (n,), what the row of a node adds
      up to while children tell it their messages;
    - ``kept``: int32 (n, C), the classes that the projection leaves of each node, ``sizes``: int64 (n,), how many;
      shares are in the order of the kept classes;
    - ``values``: (C,), ``heap``: int32 (C,), for the projection.
    """

    table: np.ndarray
    messages: np.ndarray
    shares: np.ndarray
    ratios: np.ndarray
    totals: np.ndarray
    kept: np.ndarray
    sizes: np.ndarray
    values: np.ndarray
    heap: np.ndarray


@part
def room_for(nodes, s):
    """Room for the largest of the trees, with s classes."""
    n = 0
    for tree in range(len(nodes.starts) - 1):
        n = max(n, nodes.starts[tree + 1] - nodes.starts[tree])
    return Room(
        np.zeros((n, s)), np.zeros((n, s)), np.zeros((n, s)), np.zeros((n, s)), np.zeros(n),
        np.zeros((n, s), np.int32), np.zeros(n, np.int64), np.zeros(s), np.zeros(s, np.int32),
    )  # fmt: skip


@kernel
def parents_first(parents, order):
    """Fill ``order``, int32 (n,), with the nodes such that each comes after its parent, and trees stay where they are.
    ``parents``: int32 (n,), -1 for roots, without circles."""
    placed, path = np.zeros(len(parents), np.bool_), np.empty(len(parents), np.int32)
    size = 0
    for node in range(len(parents)):
        depth, at = 0, node
        while at >= 0 and not placed[at]:
            path[depth], placed[at] = at, True
            depth, at = depth + 1, parents[at]
        while depth > 0:
            depth -= 1
            order[size] = path[depth]
            size += 1


# ---- rows: sums go to four numbers at a time, so that they run along memory


@part(bare=True)
def _sum_row(row):
    n = len(row)
    a = b = c = d = 0.0
    for i in range(0, n - 3, 4):
        a += row[i]
        b += row[i + 1]
        c += row[i + 2]
        d += row[i + 3]
    for i in range(n - n % 4, n):
        a += row[i]
    return (a + b) + (c + d)


@part(bare=True)
def _combine_rows(shares, kept, size, rows, result):
    """The sum of rows (s, s), the kept ones, each times its share, as ``result`` (s,)."""
    result[:] = 0.0
    whole = size - size % 4
    for c in range(0, whole, 4):
        w0, w1, w2, w3 = shares[kept[c]], shares[kept[c + 1]], shares[kept[c + 2]], shares[kept[c + 3]]
        r0, r1, r2, r3 = rows[kept[c]], rows[kept[c + 1]], rows[kept[c + 2]], rows[kept[c + 3]]
        for j in range(len(result)):
            result[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j])
    for c in range(whole, size):
        w0, r0 = shares[kept[c]], rows[kept[c]]
        for j in range(len(result)):
            result[j] += w0 * r0[j]


# ---- projections


@part(bare=True)
def _keep_best(row, k, kept, values):
    """The k largest positive entries of a row, largest first, among equals the smaller class; returns how many."""
    size = 0
    least = 0.0
    for c in range(len(row)):
        value = row[c]
        if value > least:
            at = size if size < k else k - 1
            while at > 0 and values[at - 1] < value:
                values[at], kept[at] = values[at - 1], kept[at - 1]
                at -= 1
            values[at], kept[at] = value, c
            if size < k:
                size += 1
            if size == k:
                least = values[k - 1]
    return size


@part(bare=True)
def _keep_mass(row, total, k, epsilon, kept, heap):
    """The fewest of the largest entries that have all but ``epsilon`` of a row's total, at most k; returns how many."""
    n = 0
    for c in range(len(row)):
        if row[c] > 0.0:
            heap[n] = c
            n += 1
    for at in range(n // 2 - 1, -1, -1):
        sink(row, heap, n, at)
    size, mass, wanted = 0, 0.0, (1.0 - epsilon) * total
    while n > 0 and size < k:
        kept[size] = heap[0]
        mass += row[heap[0]]
        size, n = size + 1, n - 1
        if mass >= wanted:
            break
        heap[0] = heap[n]
        sink(row, heap, n, 0)
    return size


@part(bare=True)
def project(row, total, k, epsilon, kept, values, heap):
    """Fill ``kept``, int32 (C,), with the classes that are kept of a row (C,) of the given total; returns how many.
    They are in order if all are kept. ``values``: float64 (C,), ``heap``: int32 (C,), room."""
    s = len(row)
    size = s
    if epsilon > 0.0:
        size = _keep_mass(row, total, k, epsilon, kept, heap)
    elif k < s:
        size = _keep_best(row, k, kept, values)
    if size == s:
        for c in range(s):
            kept[c] = c
    return size


# ---- the programs


def tree(semiring: int) -> Any:
    """The kernel that fills the table and the messages of one tree."""

    @part(bare=True)
    def sweep(begin, end, nodes, weights, k, epsilon, room):
        """Work on the nodes begin..end-1; returns the logarithm of the sum over all assignments, or of the best one;
        -inf if none has any weight (is left)."""
        s, logarithm = len(weights.first), 0.0
        for at in range(begin, end):
            row, emission = room.table[at - begin], weights.emission[nodes.words[at]]
            for i in range(s):
                row[i] = emission[i]
            if semiring == SUM:
                total = _sum_row(row)
                if not total > 0.0:
                    return -math.inf
                room.totals[at - begin] = total
                logarithm += math.log(total)
        for at in range(end - 1, begin - 1, -1):
            node = at - begin
            row, kept, message = room.table[node], room.kept[node], room.messages[node]
            size = project(row, room.totals[node], k, epsilon, kept, room.values, room.heap)
            room.sizes[node] = size
            if semiring == SUM:
                scale = 1.0 / room.totals[node]
                for c in range(size):
                    row[kept[c]] *= scale
            parent = nodes.parents[at] - begin
            if nodes.parents[at] < 0:
                total = 0.0 if semiring == SUM else -math.inf
                for c in range(size):
                    if semiring == SUM:
                        total += weights.first[kept[c]] * row[kept[c]]
                    else:
                        total = max(total, weights.first[kept[c]] + row[kept[c]])
                if semiring == MAX:
                    logarithm += total
                elif total > 0.0:
                    logarithm += math.log(total)
                else:
                    return -math.inf
                continue
            steps, above = weights.steps[nodes.links[at]], room.table[parent]
            if semiring == SUM:
                _combine_rows(row, kept, size, steps, message)
                scale = 1.0 / room.totals[parent]
                for j in range(s):
                    above[j] *= message[j] * scale
                total = _sum_row(above)
                if not total > 0.0:
                    return -math.inf
                room.totals[parent] = total
                logarithm += math.log(total)
            else:
                message[:] = -math.inf
                for c in range(size):
                    share, to = row[kept[c]], steps[kept[c]]
                    for j in range(s):
                        value = share + to[j]
                        message[j] = value if value > message[j] else message[j]
                for j in range(s):
                    above[j] += message[j]
        return logarithm

    return sweep


sum_tree, best_tree = tree(SUM), tree(MAX)


@part(bare=True)
def _total(tree, nodes, weights, k, epsilon, room, tallies):
    """The logarithm of the sum over all assignments of one tree, by a projection, or exactly if that leaves nothing."""
    begin, end = nodes.starts[tree], nodes.starts[tree + 1]
    logarithm = sum_tree(begin, end, nodes, weights, k, epsilon, room)
    if logarithm == -math.inf and (k < len(weights.first) or epsilon > 0.0):
        tallies[1] += 1
        logarithm = sum_tree(begin, end, nodes, weights, len(weights.first), 0.0, room)
    if logarithm > -math.inf:
        for node in range(end - begin):
            tallies[0] += room.sizes[node]
    return logarithm


@part(bare=True)
def _add_products(begin, end, nodes, room, counts):
    """For a tree of which all classes are kept: add the products of table and ratios, several nodes of one link at a
    time."""
    s, at = room.table.shape[1], begin
    while at < end:
        n, link = 1, nodes.links[at]
        while n < 4 and at + n < end and nodes.links[at + n] == link and nodes.parents[at + n] >= 0:
            n += 1
        if nodes.parents[at] < 0:
            at += 1
            continue
        node, sums = at - begin, counts.steps[link]
        if n == 4:
            t0, t1, t2, t3 = room.table[node], room.table[node + 1], room.table[node + 2], room.table[node + 3]
            r0, r1, r2, r3 = room.ratios[node], room.ratios[node + 1], room.ratios[node + 2], room.ratios[node + 3]
            for i in range(s):
                w0, w1, w2, w3, to = t0[i], t1[i], t2[i], t3[i], sums[i]
                for j in range(s):
                    to[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j])
            at += 4
        else:
            t0, r0 = room.table[node], room.ratios[node]
            for i in range(s):
                w0, to = t0[i], sums[i]
                for j in range(s):
                    to[j] += w0 * r0[j]
            at += 1


@part(bare=True)
def _descend(begin, end, nodes, weights, room, counts):
    """The way back: count the shares of all nodes of a tree, and, by link, the products of table and ratios, which
    become expected steps when they are multiplied by the steps."""
    s, whole = len(weights.first), True
    for node in range(end - begin):
        whole = whole and room.sizes[node] == s
    for at in range(begin, end):
        node, parent, link = at - begin, nodes.parents[at] - begin, nodes.links[at]
        row, kept, shares, size = room.table[node], room.kept[node], room.shares[node], room.sizes[node]
        total = 0.0
        if nodes.parents[at] < 0:
            for c in range(size):
                shares[c] = weights.first[kept[c]] * row[kept[c]]
                total += shares[c]
        else:
            others, n_others, ratios, message = (
                room.kept[parent], room.sizes[parent], room.ratios[node], room.messages[node],
            )  # fmt: skip
            for c in range(n_others):
                share = room.shares[parent, c]
                ratios[c] = share / message[others[c]] if share > 0.0 else 0.0
            if whole:
                _combine_rows(ratios, others, s, weights.turned[link], shares)
                for c in range(s):
                    shares[c] *= row[c]
                    total += shares[c]
            else:
                for c in range(size):
                    weight, steps, sums = row[kept[c]], weights.steps[link, kept[c]], counts.steps[link, kept[c]]
                    share = 0.0
                    for d in range(n_others):
                        product = weight * ratios[d]
                        sums[others[d]] += product
                        share += product * steps[others[d]]
                    shares[c] = share
                    total += share
        for c in range(size):
            shares[c] /= total
        seen = counts.emission[nodes.places[at]]
        for c in range(size):
            seen[kept[c]] += shares[c]
            if nodes.parents[at] < 0:
                counts.first[kept[c]] += shares[c]
    if whole:
        _add_products(begin, end, nodes, room, counts)


@kernel
def expectations(nodes, weights, k, epsilon, counts):
    """Add to ``counts`` what is expected of all trees, and fill its likelihoods; by projections to the k best classes,
    or to all but ``epsilon``. A tree of no weight is left out, and its likelihood is -inf."""
    s = len(weights.first)
    room = room_for(nodes, s)
    for tree in range(len(nodes.starts) - 1):
        counts.likelihoods[tree] = _total(tree, nodes, weights, k, epsilon, room, counts.tallies)
        if counts.likelihoods[tree] > -math.inf:
            _descend(nodes.starts[tree], nodes.starts[tree + 1], nodes, weights, room, counts)
    for link in range(len(weights.steps)):
        for i in range(s):
            for j in range(s):
                counts.steps[link, i, j] *= weights.steps[link, i, j]


@kernel
def likelihoods(nodes, weights, k, epsilon, result, tallies):
    """Fill ``result`` (trees,) with the logarithm of the total of each tree; ``tallies`` as in ``Counts``."""
    room = room_for(nodes, len(weights.first))
    for tree in range(len(nodes.starts) - 1):
        result[tree] = _total(tree, nodes, weights, k, epsilon, room, tallies)


@kernel
def best_classes(nodes, logs, classes, scores):
    """The best assignment of each tree, by logarithms of weights: ``classes`` int32 (n,), -1 where a tree has none of
    any weight, and its logarithm, ``scores`` (trees,). Among equals, the smaller class of the node that comes first."""
    s = len(logs.first)
    room = room_for(nodes, s)
    for tree in range(len(nodes.starts) - 1):
        begin, end = nodes.starts[tree], nodes.starts[tree + 1]
        scores[tree] = best_tree(begin, end, nodes, logs, s, 0.0, room)
        for at in range(begin, end):
            parent = nodes.parents[at]
            best, found = -math.inf, np.int32(-1)
            if scores[tree] > -math.inf:
                for i in range(s):
                    score = room.table[at - begin, i]
                    score += logs.first[i] if parent < 0 else logs.turned[nodes.links[at], classes[parent], i]
                    if score > best:
                        best, found = score, np.int32(i)
            classes[at] = found


@kernel
def random_classes(nodes, weights, seed, purpose, first, classes):
    """Draw an assignment of each tree in proportion to its weight: ``classes`` int32 (n,), -1 where a tree has no
    weight. Tree t draws from the stream of (seed, purpose, 0, first + t)."""
    s = len(weights.first)
    room, tallies = room_for(nodes, s), np.zeros(2, np.int64)
    for tree in range(len(nodes.starts) - 1):
        logarithm = _total(tree, nodes, weights, s, 0.0, room, tallies)
        draws = stream(seed, purpose, 0, first + tree)
        begin = nodes.starts[tree]
        for at in range(begin, nodes.starts[tree + 1]):
            classes[at] = -1
            if logarithm == -math.inf:
                continue
            parent, row, total = nodes.parents[at], room.values, 0.0
            for i in range(s):
                step = weights.first[i] if parent < 0 else weights.turned[nodes.links[at], classes[parent], i]
                row[i] = step * room.table[at - begin, i]
                total += row[i]
            left = uniform(draws) * total
            for i in range(s):
                if row[i] > 0.0:
                    classes[at] = i
                    left -= row[i]
                    if left < 0.0:
                        break
