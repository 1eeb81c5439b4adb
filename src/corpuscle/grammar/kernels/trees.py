"""Hidden states of trees that are given: their probabilities, and what is expected of their states.

A node with rule a -> b c has the inside vector b[u] = sum_{l, r} C[u, l, r] left[l] right[r] (``inside_trees``). Where
the tensor is a product, q(rule | u) s(l | u) t(r | u), it is b[u] = q[u] (S left)[u] (T right)[u], and the passes of
expectation-maximisation need m^2 for a node: outside, o_left[l] = sum_u S[u, l] o[u] q[u] (T right)[u], and its mirror
image. Every vector is divided by its largest entry; outside vectors are what a unit of an inside entry adds to the
logarithm of the tree's probability, so o b sums to one at every node, and nothing needs to be scaled back.

Cohen, Stratos, Collins, Foster and Ungar, "Spectral learning of latent-variable PCFGs", 2012, section 4; Matsuzaki,
Miyao and Tsujii, "Probabilistic CFG with latent annotations", 2005, section 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel


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
    most = states.root.shape[1]
    longest = 0
    for tree in range(len(data.starts) - 1):
        longest = max(longest, data.starts[tree + 1] - data.starts[tree])
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
