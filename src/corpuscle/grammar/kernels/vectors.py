"""Vectors, one number for each hidden state of a symbol: as items of charts, and at the nodes of trees that are given.

A rule a -> b c has a tensor C[u, l, r] over the states of a, b and c (a probability for each combination in a PCFG with
hidden states, an operator of either sign where it was learned from moments). Over the items that a plain PCFG has left,

    inside[a, i, j][u] = sum_{a -> b c} sum_{l, r} C[u, l, r] sum_k inside[b, i, k][l] inside[c, k, j][r]

where the sum over splits, a matrix for each pair (b, c), is taken before any rule is applied: m^2 for a pair and a
split, m^3 for a rule and a cell. The vectors of a cell are scaled together, to a largest entry below 1 in size.
``outside`` is what a unit of an entry adds to the logarithm of the total, so inside . outside is the share of an item.

``best_rules`` finds the tree whose rules are most likely to be right, all together: the product over its rules of their
shares, where a share below zero counts as none.

In a tree that is given, a node with rule a -> b c has the inside vector b[u] = sum_{l, r} C[u, l, r] left[l] right[r]
(``inside_trees``). Where the tensor is a product, q(rule | u) s(l | u) t(r | u), it is b[u] = q[u] (S left)[u] (T
right)[u], and the passes of expectation-maximisation need m^2 for a node: outside, o_left[l] = sum_u S[u, l] o[u] q[u]
(T right)[u], and its mirror image. Every vector is divided by its largest entry; outside vectors are what a unit of an
inside entry adds to the logarithm of the tree's probability, so o b sums to one at every node, and nothing needs to be
scaled back.

Cohen, Stratos, Collins, Foster and Ungar, "Spectral learning of latent-variable PCFGs", 2012, section 4, figures 4 and
5 (there with the axes of C in the order right, outside, left); Matsuzaki, Miyao and Tsujii, "Probabilistic CFG with
latent annotations", 2005, section 3; Petrov and Klein, "Improved inference for unlexicalized parsing", 2007 (the
product of rules).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp.cky import DEAD, Rules, cell_of
from corpuscle.scale import starts_of

_UNSEEN, _USELESS = -1, -2


class Latent(NamedTuple):
    """Tensors of rules: ``ranks`` int64 (n_symbols,), how many states a symbol has; ``starts`` int64 (n_rules,), where
    the tensor of a rule begins in ``values``, float64, in the order u, l, r; ``pair_of`` int32 (n_symbols, n_symbols),
    the pair of two children or -1; ``most``: the largest rank."""

    ranks: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    pair_of: np.ndarray
    most: int


class Items(NamedTuple):
    """The items of a sentence, cell by cell: ``starts`` int64 (n_cells + 1,); ``symbols`` int32 (n_items,); ``places``
    int64 (n_items + 1,), where the vector of each begins; ``number`` int32 (n_cells, n_symbols), the item or -1."""

    starts: np.ndarray
    symbols: np.ndarray
    places: np.ndarray
    number: np.ndarray


def pairs_for(rules: Rules, n_symbols: int) -> np.ndarray:
    """The number of the pair of any two symbols as children, or -1: int32 (n_symbols, n_symbols)."""
    pair_of = np.full((n_symbols, n_symbols), -1, np.int32)
    lefts = np.repeat(np.arange(n_symbols), np.diff(rules.left_starts))
    pair_of[lefts, rules.pair_rights] = np.arange(len(rules.pair_rights))
    return pair_of


def items_for(keep: np.ndarray, ranks: np.ndarray) -> Items:
    """The items that are kept, bool (n_cells, n_symbols)."""
    cells, symbols = np.nonzero(keep)
    number = np.full(keep.shape, -1, np.int32)
    number[cells, symbols] = np.arange(len(cells))
    starts = np.searchsorted(cells, np.arange(len(keep) + 1)).astype(np.int64)
    return Items(starts, symbols.astype(np.int32), starts_of(ranks[symbols]), number)


class _Slots(NamedTuple):
    """Room for what is summed over the splits of a cell: ``slot`` int64 (n_pairs,), the row of ``rows`` that belongs to
    a pair, ``_UNSEEN``, or ``_USELESS`` without a rule whose parent is an item of the cell; ``touched`` int64
    (n_pairs,), the pairs that were seen; ``used`` int64 (2,), how many of them, and how many rows are taken; ``rows``
    float64 (n_pairs, most most), in the order l, r."""

    slot: np.ndarray
    touched: np.ndarray
    used: np.ndarray
    rows: np.ndarray


@part
def _slots_for(n_pairs, most):
    rows = np.zeros((n_pairs, most * most))
    return _Slots(np.full(n_pairs, _UNSEEN, np.int64), np.empty(n_pairs, np.int64), np.zeros(2, np.int64), rows)


@part(inline=True)
def _take(pair, cell, size, rules, items, slots):
    """The number of a pair's row, negative if it is of no use, and whether it is new: zeros."""
    if slots.slot[pair] != _UNSEEN:
        return slots.slot[pair], False
    slots.touched[slots.used[0]] = pair
    slots.used[0] += 1
    slot = _USELESS
    for r in range(rules.pair_starts[pair], rules.pair_starts[pair + 1]):
        if items.number[cell, rules.parents[r]] >= 0:
            slot = slots.used[1]
            slots.used[1] += 1
            slots.rows[slot, :size] = 0.0
            break
    slots.slot[pair] = slot
    return slot, slot >= 0


@part(inline=True)
def _clear(slots):
    for s in range(slots.used[0]):
        slots.slot[slots.touched[s]] = _UNSEEN
    slots.used[:] = 0


@part(inline=True)
def _scale(n, items, vectors, exponents, cell, scale):
    """Scale the vectors of a cell to a largest entry below 1; its exponent is ``scale`` and what was taken out."""
    first, last = items.places[items.starts[cell]], items.places[items.starts[cell + 1]]
    top = 0.0
    for at in range(first, last):
        top = max(top, abs(vectors[at]))
    if not top > 0.0 or scale == DEAD:
        exponents[cell] = DEAD
        return
    power = math.frexp(top)[1]
    for at in range(first, last):
        vectors[at] = math.ldexp(vectors[at], int(-power))
    exponents[cell] = scale + power


@part(reorder=True)
def _apply(tensor, row, states, vector):
    """``vector`` (states,) += ``tensor`` (states, l, r), its last axes taken with ``row`` (l, r)."""
    size = len(tensor) // states
    for u in range(states):
        block, total = tensor[u * size : (u + 1) * size], 0.0
        for at in range(size):
            total += block[at] * row[at]
        vector[u] += total


@part(inline=True)
def _total(top, items, root, vectors):
    """The weight of all trees, at the scale of the top cell."""
    total = 0.0
    for item in range(items.starts[top], items.starts[top + 1]):
        for u in range(items.places[item + 1] - items.places[item]):
            total += root[items.symbols[item], u] * vectors[items.places[item] + u]
    return total


@kernel
def inside_vectors(n, rules, latent, items, root, vectors, exponents):
    """``vectors`` float64 (room,), ``exponents`` int64 (n_cells,) := the insides of all items; those of tags are there,
    not yet scaled. ``root``: float64 (n_symbols, most). Returns the total and the exponent of the top cell."""
    slots = _slots_for(len(rules.pair_rights), latent.most)
    for i in range(n):
        _scale(n, items, vectors, exponents, cell_of(n, i, i + 1), 0)
    for width in range(2, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            cell = cell_of(n, i, j)
            # all splits are added up at the scale of the largest one
            scale = DEAD
            for k in range(i + 1, j):
                a, b = exponents[cell_of(n, i, k)], exponents[cell_of(n, k, j)]
                if a > DEAD and b > DEAD:
                    scale = max(scale, a + b)
            vectors[items.places[items.starts[cell]] : items.places[items.starts[cell + 1]]] = 0.0
            if scale == DEAD or items.starts[cell] == items.starts[cell + 1]:
                exponents[cell] = DEAD
                continue
            for k in range(i + 1, j):
                a, b = cell_of(n, i, k), cell_of(n, k, j)
                if exponents[a] == DEAD or exponents[b] == DEAD:
                    continue
                # outer products of both sides, summed by pair of symbols: a rule's tensor is applied once a cell
                factor = math.ldexp(1.0, int(max(exponents[a] + exponents[b] - scale, -1000)))
                for x in range(items.starts[a], items.starts[a + 1]):
                    for y in range(items.starts[b], items.starts[b + 1]):
                        pair = latent.pair_of[items.symbols[x], items.symbols[y]]
                        if pair < 0:
                            continue
                        lefts = items.places[x + 1] - items.places[x]
                        rights = items.places[y + 1] - items.places[y]
                        slot, _ = _take(pair, cell, lefts * rights, rules, items, slots)
                        if slot < 0:
                            continue
                        row = slots.rows[slot]
                        for left in range(lefts):
                            value = factor * vectors[items.places[x] + left]
                            for right in range(rights):
                                row[left * rights + right] += value * vectors[items.places[y] + right]
            for s in range(slots.used[0]):
                pair = slots.touched[s]
                if slots.slot[pair] == _USELESS:
                    continue
                row = slots.rows[slots.slot[pair]]
                for r in range(rules.pair_starts[pair], rules.pair_starts[pair + 1]):
                    item = items.number[cell, rules.parents[r]]
                    if item >= 0:
                        states = latent.ranks[rules.parents[r]]
                        size = states * latent.ranks[rules.lefts[r]] * latent.ranks[rules.rights[r]]
                        tensor = latent.values[latent.starts[r] : latent.starts[r] + size]
                        _apply(tensor, row, states, vectors[items.places[item] : items.places[item + 1]])
            _clear(slots)
            _scale(n, items, vectors, exponents, cell, scale)
    top = cell_of(n, 0, n)
    return _total(top, items, root, vectors) if exponents[top] > DEAD else 0.0, exponents[top]


@part(inline=True)
def _flow(r, item, rules, latent, items, outside, row):
    """Add a rule's tensor to ``row`` (l, r), its first axis taken with the outside of an item."""
    size = latent.ranks[rules.lefts[r]] * latent.ranks[rules.rights[r]]
    for u in range(latent.ranks[rules.parents[r]]):
        base, value = latent.starts[r] + u * size, outside[items.places[item] + u]
        for at in range(size):
            row[at] += value * latent.values[base + at]


@kernel
def outside_vectors(n, rules, latent, items, root, vectors, exponents, outside):
    """``outside`` float64 (room,) := what a unit of each entry of ``vectors`` adds to the logarithm of the total."""
    slots = _slots_for(len(rules.pair_rights), latent.most)
    outside[:] = 0.0
    top = cell_of(n, 0, n)
    total = _total(top, items, root, vectors)
    for item in range(items.starts[top], items.starts[top + 1]):
        for u in range(items.places[item + 1] - items.places[item]):
            outside[items.places[item] + u] = root[items.symbols[item], u] / total
    # wide cells first, so that the outsides of parents are complete
    for width in range(n, 1, -1):
        for i in range(n + 1 - width):
            j = i + width
            cell = cell_of(n, i, j)
            if exponents[cell] == DEAD:
                continue
            for k in range(i + 1, j):
                a, b = cell_of(n, i, k), cell_of(n, k, j)
                if exponents[a] == DEAD or exponents[b] == DEAD:
                    continue
                power = exponents[a] + exponents[b] - exponents[cell]
                # within the range of doubles; what is smaller than 2^-1000 of its cell is nothing
                factor = math.ldexp(1.0, int(min(max(power, -1000), 1000)))
                for x in range(items.starts[a], items.starts[a + 1]):
                    for y in range(items.starts[b], items.starts[b + 1]):
                        pair = latent.pair_of[items.symbols[x], items.symbols[y]]
                        if pair < 0:
                            continue
                        lefts = items.places[x + 1] - items.places[x]
                        rights = items.places[y + 1] - items.places[y]
                        slot, new = _take(pair, cell, lefts * rights, rules, items, slots)
                        if slot < 0:
                            continue
                        row = slots.rows[slot]
                        if new:
                            for r in range(rules.pair_starts[pair], rules.pair_starts[pair + 1]):
                                item = items.number[cell, rules.parents[r]]
                                if item >= 0:
                                    _flow(r, item, rules, latent, items, outside, row)
                        for left in range(lefts):
                            value, passed = factor * vectors[items.places[x] + left], 0.0
                            for right in range(rights):
                                flow = row[left * rights + right]
                                passed += flow * vectors[items.places[y] + right]
                                outside[items.places[y] + right] += flow * value
                            outside[items.places[x] + left] += factor * passed
            _clear(slots)


@kernel
def best_rules(n, rules, latent, items, vectors, exponents, outside, plain, scores, ways):
    """``scores`` float64 (n_items,) := the logarithm of the best product of shares of rules below each item; ``ways``
    int64 (n_items, 3) := its split and the items of its children. ``plain``: see ``Plain``."""
    most = latent.most
    flows = np.zeros((len(rules.parents), most * most))
    state, touched = np.full(len(rules.parents), _UNSEEN, np.int64), np.empty(len(rules.parents), np.int64)
    for cell in range(n):
        for item in range(items.starts[cell], items.starts[cell + 1]):
            value = 0.0
            for at in range(items.places[item], items.places[item + 1]):
                value += vectors[at] * outside[at]
            value = (1.0 - plain.mix) * max(value, 0.0)
            symbol = items.symbols[item]
            if plain.mix > 0.0:
                value += plain.mix * plain.inside[cell, symbol] * plain.outside[cell, symbol]
            scores[item] = math.log(value) if value > 0.0 else -math.inf
    for width in range(2, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            cell = cell_of(n, i, j)
            scores[items.starts[cell] : items.starts[cell + 1]] = -math.inf
            if items.starts[cell] == items.starts[cell + 1]:
                continue
            seen = 0
            for k in range(i + 1, j):
                a, b = cell_of(n, i, k), cell_of(n, k, j)
                factor = 0.0
                if exponents[a] > DEAD and exponents[b] > DEAD and exponents[cell] > DEAD:
                    factor = math.ldexp(1.0, int(min(max(exponents[a] + exponents[b] - exponents[cell], -1000), 1000)))
                usual = 0.0
                if plain.mix > 0.0 and plain.exponents[a] > DEAD and plain.exponents[b] > DEAD:
                    power = plain.exponents[a] + plain.exponents[b] - plain.exponents[cell]
                    usual = plain.mix * math.ldexp(1.0, int(min(max(power, -1000), 1000)))
                for x in range(items.starts[a], items.starts[a + 1]):
                    if scores[x] == -math.inf:
                        continue
                    for y in range(items.starts[b], items.starts[b + 1]):
                        pair = latent.pair_of[items.symbols[x], items.symbols[y]]
                        if pair < 0 or scores[y] == -math.inf:
                            continue
                        below = scores[x] + scores[y]
                        rights = items.places[y + 1] - items.places[y]
                        for r in range(rules.pair_starts[pair], rules.pair_starts[pair + 1]):
                            item = items.number[cell, rules.parents[r]]
                            if item < 0:
                                continue
                            if state[r] == _UNSEEN:  # the parent's part of a rule is the same for all splits
                                state[r] = seen
                                touched[seen] = r
                                flows[seen] = 0.0
                                _flow(r, item, rules, latent, items, outside, flows[seen])
                                seen += 1
                            row, share = flows[state[r]], 0.0
                            for left in range(items.places[x + 1] - items.places[x]):
                                value = 0.0
                                for right in range(rights):
                                    value += row[left * rights + right] * vectors[items.places[y] + right]
                                share += value * vectors[items.places[x] + left]
                            share = (1.0 - plain.mix) * max(share * factor, 0.0)
                            if usual > 0.0:
                                share += (
                                    usual * plain.outside[cell, rules.parents[r]] * rules.weights[r]
                                    * plain.inside[a, rules.lefts[r]] * plain.inside[b, rules.rights[r]]
                                )  # fmt: skip
                            if share > 0.0 and below + math.log(share) > scores[item]:
                                scores[item] = below + math.log(share)
                                ways[item, 0], ways[item, 1], ways[item, 2] = k, x, y
            for s in range(seen):
                state[touched[s]] = _UNSEEN


class Plain(NamedTuple):
    """A plain PCFG's chart of the same sentence, and the weight of its shares among those of the vectors."""

    inside: np.ndarray
    outside: np.ndarray
    exponents: np.ndarray
    mix: float


@kernel
def walk(n, top, items, ways, tree):
    """``tree`` int32 (2 n - 1, 3) := the nodes below the item ``top`` in preorder: symbol, first word, end."""
    todo = np.empty((n + 1, 3), np.int64)
    todo[0, 0], todo[0, 1], todo[0, 2] = top, 0, n
    waiting, made = 1, 0
    while waiting > 0:
        waiting -= 1
        item, i, j = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        tree[made, 0], tree[made, 1], tree[made, 2] = items.symbols[item], i, j
        made += 1
        if j - i > 1:
            k = ways[item, 0]
            todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = ways[item, 2], k, j
            todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = ways[item, 1], i, k
            waiting += 2


# ---- trees that are given


class TreeData(NamedTuple):
    """Nodes of binary trees in preorder: ``symbols`` int32, children ``lefts`` and ``rights`` int64 (-1 below tags),
    ``rules`` int64 (-1 for tags), each (n_nodes,); ``starts`` int64 (n_trees + 1,); ``known`` bool (n_trees,)."""

    symbols: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    rules: np.ndarray
    starts: np.ndarray
    known: np.ndarray


@kernel
def inside_trees(data, rules, latent, root, leaves, totals):
    """``totals`` float64 (n_trees,) := the log probability of each tree; -inf unless it is positive. ``leaves``:
    float64 (n_nodes, most), the vectors of tags."""
    vectors = leaves.copy()
    for tree in range(len(data.starts) - 1):
        first, last = data.starts[tree], data.starts[tree + 1]
        if not data.known[tree]:
            totals[tree] = -math.inf
            continue
        if last == first:
            totals[tree] = 0.0
            continue
        logs = 0.0
        for node in range(last - 1, first - 1, -1):
            r = data.rules[node]
            if r >= 0:
                left, right = vectors[data.lefts[node]], vectors[data.rights[node]]
                lefts, rights = latent.ranks[rules.lefts[r]], latent.ranks[rules.rights[r]]
                for u in range(latent.ranks[rules.parents[r]]):
                    value, at = 0.0, latent.starts[r] + u * lefts * rights
                    for v in range(lefts):
                        for k in range(rights):
                            value += latent.values[at] * left[v] * right[k]
                            at += 1
                    vectors[node, u] = value
            top = 0.0
            for u in range(latent.ranks[data.symbols[node]]):
                top = max(top, abs(vectors[node, u]))
            if top > 0.0:
                logs += math.log(top)
                for u in range(latent.ranks[data.symbols[node]]):
                    vectors[node, u] /= top
            else:
                logs = -math.inf
                break
        total = 0.0
        for u in range(latent.ranks[data.symbols[first]]):
            total += root[data.symbols[first], u] * vectors[first, u]
        totals[tree] = logs + math.log(total) if total > 0.0 and logs > -math.inf else -math.inf


class States(NamedTuple):
    """Probabilities of hidden states, or expected counts of the same shape.

    - ``ranks``: int64 (n_symbols,), how many states each has; ``root``: float64 (n_symbols, most);
    - ``rule``: float64 (n_rules, most), q(rule | u); ``left``, ``right``: float64 (n_rules, most, most), s and t with
      the parent's state first; ``pair``: float64 (n_pairs, most), q(word | u) of a tag and a word.
    """

    ranks: np.ndarray
    root: np.ndarray
    rule: np.ndarray
    left: np.ndarray
    right: np.ndarray
    pair: np.ndarray


@kernel
def expect(data, pairs, rules, states, counts):
    """``counts`` += what is expected of the hidden states of all trees; returns the sum of their log probabilities.
    ``pairs``: int64 (n_nodes,), the tag and word of tags."""
    most, longest = states.root.shape[1], np.max(np.diff(data.starts))
    inside, outside = np.zeros((longest, most)), np.zeros((longest, most))
    lefts, rights, tops = np.zeros((longest, most)), np.zeros((longest, most)), np.zeros(longest)
    whole = 0.0
    for tree in range(len(data.starts) - 1):
        first, last = data.starts[tree], data.starts[tree + 1]
        if last == first:
            continue
        for node in range(last - 1, first - 1, -1):
            at, r, m = node - first, data.rules[node], states.ranks[data.symbols[node]]
            top = 0.0
            if r < 0:
                for u in range(m):
                    inside[at, u] = states.pair[pairs[node], u]
            else:
                b, c = data.lefts[node] - first, data.rights[node] - first
                for u in range(m):
                    x = y = 0.0
                    for v in range(states.ranks[rules.lefts[r]]):
                        x += states.left[r, u, v] * inside[b, v]
                    for v in range(states.ranks[rules.rights[r]]):
                        y += states.right[r, u, v] * inside[c, v]
                    lefts[at, u], rights[at, u] = x, y
                    inside[at, u] = states.rule[r, u] * x * y
            for u in range(m):
                top = max(top, inside[at, u])
            whole += math.log(top)
            tops[at] = top
            for u in range(m):
                inside[at, u] /= top
        root, total = data.symbols[first], 0.0
        for u in range(states.ranks[root]):
            total += states.root[root, u] * inside[0, u]
        whole += math.log(total)
        for u in range(states.ranks[root]):
            outside[0, u] = states.root[root, u] / total
            counts.root[root, u] += outside[0, u] * inside[0, u]
        for node in range(first, last):
            at, r, m = node - first, data.rules[node], states.ranks[data.symbols[node]]
            if r < 0:
                for u in range(m):
                    counts.pair[pairs[node], u] += outside[at, u] * inside[at, u]
                continue
            b, c = data.lefts[node] - first, data.rights[node] - first
            lm, rm = states.ranks[rules.lefts[r]], states.ranks[rules.rights[r]]
            outside[b, :lm] = 0.0
            outside[c, :rm] = 0.0
            for u in range(m):
                counts.rule[r, u] += outside[at, u] * inside[at, u]
                flow = outside[at, u] * states.rule[r, u] / tops[at]
                for v in range(lm):
                    passed = flow * rights[at, u] * states.left[r, u, v]
                    outside[b, v] += passed
                    counts.left[r, u, v] += passed * inside[b, v]
                for v in range(rm):
                    passed = flow * lefts[at, u] * states.right[r, u, v]
                    outside[c, v] += passed
                    counts.right[r, u, v] += passed * inside[c, v]
    return whole
