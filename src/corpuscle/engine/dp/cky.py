"""All binary trees over a sentence by rules: A -> B C over two stretches that lie side by side.

A cell is a stretch i..j of words (j exclusive); those of one width stand together, short ones first (``cell_of``). An
item is a symbol over a cell. With plus over rules and splits,

    inside[i, j, a] = span[i, j] plus_{a -> b c} weight(a -> b c) plus_{i < k < j} inside[i, k, b] inside[k, j, c]

and ``inside[i, i + 1, a] = span[i, i + 1] leaf[i, a]``; the answer is plus_a root[a] inside[0, n, a]. The inner sum
depends on the pair (b, c) alone, so it is taken once for a pair, over its splits, before any of its rules is applied:
for K symbols with all rules K^2 n + K^3 for a cell instead of K^3 n.

What the program is used for is a matter of its tables: a PCFG has rules, leaves and a root; brackets without labels
have one symbol, one rule and a weight for each span (the constituent-context model, and the tree with most expected
brackets); a span that is not ``allowed`` is left out.

Sums are of weights, scaled: the row of a cell is kept below 1, and ``exponents`` has the powers of two that were taken
out. The best tree is found with logarithms. ``expectations`` is the sum with its sweep reversed: ``outside`` is what a
unit of a (scaled) entry adds to the logarithm of the total, so ``inside * outside`` is the share of all trees that
have the item. ``k_best`` walks the finished table of the best one: a tree is the best but for the rule and split of
some items, and loses the sum of what each of these loses.

Baker, "Trainable grammars for speech recognition", 1979; Goodman, "Semiring parsing", 1999; the k best as in Huang and
Chiang, "Better k-best parsing", 2005, by losses instead of lists.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.dp import MAX, SUM
from corpuscle.engine.dp.charts import offer, room_for_candidates, take_best
from corpuscle.random import uniform

NO_SPANS = np.empty(0)
"""Every span has weight one."""
ALL = frozen(np.empty((0, 0)), np.uint8)
"""Every item is allowed."""
DEAD = -(2**30)
"""The exponent of a cell without items."""


class Rules(NamedTuple):
    """Binary rules over symbols 0..n_symbols - 1, ordered by left child, right child and parent.

    - ``parents``, ``lefts``, ``rights``: int32 (n_rules,); ``weights``: float64 (n_rules,), logarithms for the best;
    - ``pair_starts``: int64 (n_pairs + 1,), the rules of each pair of children; ``pair_rights``: int32 (n_pairs,);
    - ``left_starts``: int64 (n_symbols + 1,), the pairs of each left child;
    - ``parent_starts``: int64 (n_symbols + 1,) into ``by_parent``, int32 (n_rules,), the rules of each parent.
    """

    parents: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    weights: np.ndarray
    pair_starts: np.ndarray
    pair_rights: np.ndarray
    left_starts: np.ndarray
    parent_starts: np.ndarray
    by_parent: np.ndarray


def rules_for(parents: Any, lefts: Any, rights: Any, weights: Any, n_symbols: int) -> Rules:
    """The record of rules that are given in this very order: by left child, right child, parent; each once."""
    parents, lefts, rights = (np.ascontiguousarray(each, np.int32) for each in (parents, lefts, rights))
    pairs = lefts.astype(np.int64) * n_symbols + rights
    keys = pairs * n_symbols + parents
    if (np.diff(keys) <= 0).any():
        raise ValueError("rules are ordered by left child, right child and parent, and each is there once")
    firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
    starts = np.append(firsts, len(parents)).astype(np.int64)
    symbols = np.arange(n_symbols + 1)
    by_parent = np.argsort(parents, kind="stable").astype(np.int32)
    return Rules(
        parents, lefts, rights, np.ascontiguousarray(weights, np.float64), starts, rights[firsts],
        np.searchsorted(lefts[firsts], symbols).astype(np.int64),
        np.searchsorted(parents[by_parent], symbols).astype(np.int64), by_parent,
    )  # fmt: skip


class Chart(NamedTuple):
    """The table of a program for a sentence.

    - ``inside``: float64 (n_cells, n_symbols), see the top; ``exponents``: int64 (n_cells,), ``DEAD`` without items;
    - ``live``: int32 (n_cells, n_symbols), the symbols of a cell that have items: the first ``counts``, int64
      (n_cells,).
    """

    inside: np.ndarray
    exponents: np.ndarray
    live: np.ndarray
    counts: np.ndarray


def cells_of(n: int) -> int:
    """How many stretches n words have."""
    return n * (n + 1) // 2


def chart_for(n: int, n_symbols: int) -> Chart:
    """Room for sentences of up to n words."""
    cells = cells_of(n)
    return Chart(
        np.zeros((cells, n_symbols)), np.zeros(cells, np.int64), np.zeros((cells, n_symbols), np.int32),
        np.zeros(cells, np.int64),
    )  # fmt: skip


def cell_numbers(n: Any, i: Any, j: Any) -> Any:
    """The number of the cell of words i..j (j exclusive) of a sentence of n words; or of many, as arrays."""
    shorter = j - i - 1
    return shorter * n - shorter * (shorter - 1) // 2 + i


cell_of = part(cell_numbers, inline=True)
"""As ``cell_numbers``, within kernels."""


def cky(semiring: int) -> Any:
    """The kernel that fills the chart of a sentence."""
    none = 0.0 if semiring == SUM else -math.inf

    @kernel
    def fill(n, rules, root, leaves, spans, allowed, chart):
        """Fill ``chart`` for n words; returns the logarithm of the sum over all trees, or of the best one.

        ``root``: float64 (n_symbols,); ``leaves``: float64 (n, n_symbols); ``spans``: float64 (n_cells,) or
        ``NO_SPANS``; all these and the rules' weights are logarithms for the best. ``allowed``: uint8
        (n_cells, n_symbols) or ``ALL``.
        """
        inside, exponents, live, counts = chart
        symbols = len(root)
        pairs = np.empty(len(rules.pair_rights))
        for width in range(1, n + 1):
            for i in range(n + 1 - width):
                cell = cell_of(n, i, i + width)
                row = inside[cell]
                row[:symbols] = none
                scale = DEAD
                if width == 1:
                    row[:symbols] = leaves[i]
                    scale = 0
                for k in range(i + 1, i + width):
                    a, b = cell_of(n, i, k), cell_of(n, k, i + width)
                    if counts[a] > 0 and counts[b] > 0:
                        scale = max(scale, exponents[a] + exponents[b])
                if width > 1 and scale > DEAD:
                    pairs[:] = none
                    for k in range(i + 1, i + width):
                        a, b = cell_of(n, i, k), cell_of(n, k, i + width)
                        if counts[a] == 0 or counts[b] == 0:
                            continue
                        # Below 2^-1000 of the scale of the cell nothing is left of a split.
                        factor = math.ldexp(1.0, int(max(exponents[a] + exponents[b] - scale, -1000)))
                        right = inside[b]
                        for at in range(counts[a]):
                            symbol = live[a, at]
                            left = inside[a, symbol] * factor if semiring == SUM else inside[a, symbol]
                            for p in range(rules.left_starts[symbol], rules.left_starts[symbol + 1]):
                                if semiring == SUM:
                                    pairs[p] += left * right[rules.pair_rights[p]]
                                else:
                                    pairs[p] = max(pairs[p], left + right[rules.pair_rights[p]])
                    for p in range(len(pairs)):
                        value = pairs[p]
                        if value > none:
                            for r in range(rules.pair_starts[p], rules.pair_starts[p + 1]):
                                if semiring == SUM:
                                    row[rules.parents[r]] += rules.weights[r] * value
                                else:
                                    row[rules.parents[r]] = max(row[rules.parents[r]], rules.weights[r] + value)
                top = none
                for symbol in range(symbols):
                    if len(allowed) > 0 and allowed[cell, symbol] == 0:
                        row[symbol] = none
                    elif len(spans) > 0:
                        row[symbol] = row[symbol] * spans[cell] if semiring == SUM else row[symbol] + spans[cell]
                    top = max(top, row[symbol])
                power = math.frexp(top)[1] if semiring == SUM and top > 0.0 else 0
                exponents[cell] = scale + power if semiring == SUM else 0
                found = 0
                for symbol in range(symbols):
                    if row[symbol] > none:
                        if semiring == SUM and power != 0:
                            row[symbol] = math.ldexp(row[symbol], int(-power))
                        if row[symbol] > none:
                            live[cell, found] = symbol
                            found += 1
                counts[cell] = found
                if found == 0:
                    exponents[cell] = DEAD
        total, top = none, cell_of(n, 0, n)
        for symbol in range(symbols):
            if semiring == SUM:
                total += root[symbol] * inside[top, symbol]
            else:
                total = max(total, root[symbol] + inside[top, symbol])
        if semiring == MAX:
            return total
        return math.log(total) + exponents[top] * math.log(2.0) if total > 0.0 else -math.inf

    return fill


sum_chart, best_chart = cky(SUM), cky(MAX)


@kernel
def expectations(n, rules, root, spans, chart, outside, expected):
    """``outside`` float64 (n_cells, n_symbols) := what a unit of each item of a chart that ``sum_chart`` has filled
    adds to the logarithm of its total; ``expected`` float64 (n_rules,) += how often each rule is expected. Returns the
    total at the scale of the top cell; if it is 0 there is nothing to expect."""
    inside, exponents, live, counts = chart
    outside[: n * (n + 1) // 2] = 0.0
    top = cell_of(n, 0, n)
    total = 0.0
    for symbol in range(len(root)):
        total += root[symbol] * inside[top, symbol]
    if not total > 0.0:
        return 0.0
    for at in range(counts[top]):
        outside[top, live[top, at]] = root[live[top, at]] / total
    flows, pairs = np.zeros(len(rules.pair_rights)), np.zeros(len(rules.pair_rights))
    for width in range(n, 1, -1):
        for i in range(n + 1 - width):
            cell = cell_of(n, i, i + width)
            if counts[cell] == 0:
                continue
            weight = 1.0 if len(spans) == 0 else spans[cell]
            for p in range(len(flows)):
                flow = 0.0
                for r in range(rules.pair_starts[p], rules.pair_starts[p + 1]):
                    if inside[cell, rules.parents[r]] > 0.0:
                        flow += rules.weights[r] * outside[cell, rules.parents[r]]
                flows[p] = flow * weight
            pairs[:] = 0.0
            for k in range(i + 1, i + width):
                a, b = cell_of(n, i, k), cell_of(n, k, i + width)
                if counts[a] == 0 or counts[b] == 0:
                    continue
                power = exponents[a] + exponents[b] - exponents[cell]
                if power < -1000:
                    continue
                factor = math.ldexp(1.0, int(min(power, 1000)))
                for at in range(counts[a]):
                    symbol = live[a, at]
                    left, passed = inside[a, symbol] * factor, 0.0
                    for p in range(rules.left_starts[symbol], rules.left_starts[symbol + 1]):
                        other = rules.pair_rights[p]
                        right = inside[b, other]
                        if right > 0.0:
                            passed += flows[p] * right
                            outside[b, other] += flows[p] * left
                            pairs[p] += left * right
                    outside[a, symbol] += passed * factor
            for p in range(len(pairs)):
                if pairs[p] > 0.0:
                    for r in range(rules.pair_starts[p], rules.pair_starts[p + 1]):
                        if inside[cell, rules.parents[r]] > 0.0:
                            expected[r] += outside[cell, rules.parents[r]] * rules.weights[r] * weight * pairs[p]
    return total


# ---- trees: int32 (2 n - 1, 3), the symbol and the span of each node in preorder


@part(inline=True)
def _put(nodes, at, symbol, i, j):
    nodes[at, 0], nodes[at, 1], nodes[at, 2] = symbol, i, j


@part(inline=True)
def _push_parts(i, j, rule, split, rules, todo, top):
    """Put the children of a node on the stack ``todo`` (room, 3), the left one on top; returns its new height."""
    _put(todo, top, rules.rights[rule], split, j)
    _put(todo, top + 1, rules.lefts[rule], i, split)
    return top + 2


@part(inline=True)
def _value(n, i, j, r, k, rules, inside):
    """The logarithm of an item that is made by rule r and split k, without the weight of its span."""
    return rules.weights[r] + inside[cell_of(n, i, k), rules.lefts[r]] + inside[cell_of(n, k, j), rules.rights[r]]


@part(inline=True)
def _best_way(n, i, j, symbol, rules, inside):
    """The rule and the split of the best tree of an item; the first of equal ones."""
    best, rule, split = -math.inf, -1, -1
    for at in range(rules.parent_starts[symbol], rules.parent_starts[symbol + 1]):
        r = rules.by_parent[at]
        for k in range(i + 1, j):
            value = _value(n, i, j, r, k, rules, inside)
            if value > best:
                best, rule, split = value, r, k
    return best, rule, split


@kernel
def best_tree(n, rules, root, chart, tree):
    """``tree`` := the best tree of a chart that ``best_chart`` has filled; returns whether there is one."""
    inside = chart.inside
    top, best, score = cell_of(n, 0, n), 0, -math.inf
    for symbol in range(len(root)):
        if root[symbol] + inside[top, symbol] > score:
            best, score = symbol, root[symbol] + inside[top, symbol]
    if score == -math.inf:
        return False
    todo = np.empty((n + 1, 3), np.int64)
    _put(todo, 0, best, 0, n)
    waiting, made = 1, 0
    while waiting > 0:
        waiting -= 1
        symbol, i, j = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        _put(tree, made, symbol, i, j)
        made += 1
        if j - i > 1:
            _, rule, split = _best_way(n, i, j, symbol, rules, inside)
            waiting = _push_parts(i, j, rule, split, rules, todo, waiting)
    return True


@kernel
def sample_tree(n, rules, root, chart, stream, tree):
    """``tree`` := a tree drawn from a chart that ``sum_chart`` has filled with at least one."""
    inside, exponents = chart.inside, chart.exponents
    todo = np.empty((n + 1, 3), np.int64)
    top, at = cell_of(n, 0, n), uniform(stream) * np.dot(root, inside[cell_of(n, 0, n)][: len(root)])
    chosen = 0
    for symbol in range(len(root)):
        if root[symbol] * inside[top, symbol] > 0.0:
            chosen = symbol
            at -= root[symbol] * inside[top, symbol]
            if at < 0.0:
                break
    _put(todo, 0, chosen, 0, n)
    waiting, made = 1, 0
    while waiting > 0:
        waiting -= 1
        symbol, i, j = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        _put(tree, made, symbol, i, j)
        made += 1
        if j - i == 1:
            continue
        rule, split = -1, -1
        for turn in range(2):  # first the whole, then where the drawn number falls
            total = 0.0
            for place in range(rules.parent_starts[symbol], rules.parent_starts[symbol + 1]):
                r = rules.by_parent[place]
                for k in range(i + 1, j):
                    a, b = cell_of(n, i, k), cell_of(n, k, j)
                    left, right = inside[a, rules.lefts[r]], inside[b, rules.rights[r]]
                    value = rules.weights[r] * left * right
                    # A product that is too small for a float is a way, too: it may be the only one.
                    possible = value > 0.0 or (rule < 0 and rules.weights[r] > 0.0 and left > 0.0 and right > 0.0)
                    if possible and exponents[a] > DEAD and exponents[b] > DEAD:
                        power = exponents[a] + exponents[b] - exponents[cell_of(n, i, j)]
                        total += math.ldexp(value, int(max(power, -1000)))
                        rule, split = r, k
                        if turn == 1 and total > at:
                            break
                if turn == 1 and total > at:
                    break
            if turn == 0:
                at = uniform(stream) * total
        waiting = _push_parts(i, j, rule, split, rules, todo, waiting)


@kernel
def k_best(n, rules, root, k, chart, trees, scores):
    """``trees`` int32 (k, 2 n - 1, 3), ``scores`` (k,) := the k best trees of a chart that ``best_chart`` has filled,
    the best one first; returns how many there are.

    A candidate is a tree that differs from an earlier one (``origin``) in the way, a rule and a split, in which one
    item is made, the ``place``-th node in preorder; all before it are as in its origin, all behind it the best. So
    every tree is a candidate once. Only the k candidates that lose least can ever be chosen: others are not kept.
    The way of the whole tree (place 0) is its symbol.
    """
    inside = chart.inside
    top, wide = cell_of(n, 0, n), n + 1
    best = -math.inf
    for symbol in range(len(root)):
        best = max(best, root[symbol] + inside[top, symbol])
    if not best > -math.inf:
        return 0
    todo = np.empty((n + 1, 3), np.int64)
    ways = np.empty((k, 2 * n), np.int64)
    candidates, count = room_for_candidates(k), 0
    for symbol in range(len(root)):
        loss = best - root[symbol] - inside[top, symbol]
        if loss < math.inf:
            offer(candidates, k, loss, -1, 0, symbol)
    while candidates.counts[0] > 0 and count < k:
        loss, origin, place, choice = take_best(candidates)
        ways[count, 0] = choice if place == 0 else ways[origin, 0]
        _put(todo, 0, ways[count, 0], 0, n)
        waiting, node = 1, 0
        while waiting > 0:
            waiting -= 1
            symbol, i, j = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
            _put(trees[count], node, symbol, i, j)
            node += 1
            if j - i == 1:
                continue
            if node < place:
                way = ways[origin, node]
            elif node == place:
                way = choice
            else:
                value, rule, split = _best_way(n, i, j, symbol, rules, inside)
                way = rule * wide + split
                for at in range(rules.parent_starts[symbol], rules.parent_starts[symbol + 1]):
                    r = rules.by_parent[at]
                    for other in range(i + 1, j):
                        total = loss + value - _value(n, i, j, r, other, rules, inside)
                        if total < math.inf and not (r == rule and other == split):
                            offer(candidates, k - count, total, count, node, r * wide + other)
            ways[count, node] = way
            rule, split = way // wide, way % wide
            waiting = _push_parts(i, j, rule, split, rules, todo, waiting)
        scores[count] = best - loss
        count += 1
    return count
