"""Restaurants of variable depth: every customer decides how many symbols of its context to look at.

A customer comes to the root and goes down the path of its context, most recent symbol first. At every node it stops
with probability (stops + a) / (stops + passes + a + b), where ``stops`` and ``passes`` count the customers who did so
before it and (a, b) is ``pool.stop_prior``; a customer without more context, or at the greatest depth, must stop.
Where it stops it is a customer as in ``engine.restaurants.hierarchy``. So the prediction is a sum over depths, and the
depth of the tree follows the data.

- ``add_variable``, ``remove_variable`` (with the depth that was returned), ``variable_probability``;
- their parts ``choose_node`` (``descend``, ``stop_weights``), ``stop_probability``, ``count_stop``, for models that do
  something else, too.

The context of ``symbols[position]`` are the symbols before it, at most ``longest`` of them.

Mochihashi and Sumita, "The infinite Markov model", 2007.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import add, own_share, passed_on, remove
from corpuscle.engine.restaurants.pool import NONE, find_child, find_context, find_entry, make_child
from corpuscle.random import uniform


@part(bare=True)
def stop_probability(pool, node):
    """The probability that a customer who comes through a node stops there; NONE: a node that does not exist."""
    stops, passes = pool.stop_prior[0], pool.stop_prior[1]
    if node >= 0:
        stops += pool.nodes[node, col.STOPS]
        passes += pool.nodes[node, col.PASSES]
    return stops / (stops + passes)


@part(bare=True)
def count_stop(pool, node, change):
    """Note that a customer stopped at a node and passed through all its ancestors (or, with -1, no longer does)."""
    pool.nodes[node, col.STOPS] += change
    node = np.int64(pool.nodes[node, col.PARENT])
    while node >= 0:
        pool.nodes[node, col.PASSES] += change
        node = np.int64(pool.nodes[node, col.PARENT])


@part(bare=True)
def descend(pool, root, symbols, position, longest):
    """``path`` := the existing nodes for the symbols before a position, from the root down to depth ``longest`` at
    most; returns the depth of the last one."""
    node = np.int64(root)
    pool.path[0] = root
    for m in range(longest):
        node = find_child(pool, node, np.int64(symbols[position - 1 - m]))
        if node < 0:
            return m
        pool.path[m + 1] = node
    return longest


@part(bare=True)
def stop_weights(pool, deepest, longest, dish, base):
    """``work[2, n]`` := P(stop at depth n) P(dish | the node there), n = 0..longest, along ``path``; returns their sum.

    A customer that gets to ``longest`` must stop there. Nodes below ``deepest`` do not exist and predict as it does.
    """
    here, reach, total = np.float64(base), 1.0, 0.0
    entry = np.int64(0)
    for n in range(longest + 1):
        node = np.int64(NONE)
        if n <= deepest:
            node = np.int64(pool.path[n])
            if entry >= 0:  # where a dish is missing it is missing further down, too
                entry = find_entry(pool, node, dish)
            here = own_share(pool, node, entry) + passed_on(pool, node) * here
        stop = stop_probability(pool, node) if n < longest else 1.0
        pool.work[2, n] = reach * stop * here
        total += pool.work[2, n]
        reach *= 1.0 - stop
    return total


@part(bare=True)
def variable_probability(pool, root, symbols, position, longest, dish, base):
    """P(dish | the symbols before a position), summed over depths up to ``longest``; writes nothing."""
    node, entry = np.int64(root), np.int64(0)
    here, reach, total = np.float64(base), 1.0, 0.0
    for n in range(longest + 1):
        if entry >= 0:
            entry = find_entry(pool, node, dish)
        here = own_share(pool, node, entry) + passed_on(pool, node) * here
        if n == longest:
            break
        stop = stop_probability(pool, node)
        total += reach * stop * here
        reach *= 1.0 - stop
        node = find_child(pool, node, np.int64(symbols[position - 1 - n]))
        if node < 0:
            break
    return total + reach * here


@part(bare=True)
def choose_node(pool, root, symbols, position, longest, dish, base, stream):
    """A customer chooses how many of the symbols before a position it looks at, and stops there: that depth, and the
    node, made if need be."""
    deepest = descend(pool, root, symbols, position, longest)
    left = uniform(stream) * stop_weights(pool, deepest, longest, dish, base)
    depth = 0
    while depth < longest and left >= pool.work[2, depth]:
        left -= pool.work[2, depth]
        depth += 1
    node = np.int64(pool.path[min(depth, deepest)])
    for m in range(deepest, depth):
        node = make_child(pool, node, np.int64(symbols[position - 1 - m]))
    count_stop(pool, node, 1)
    return depth, node


@part(bare=True)
def add_variable(pool, root, symbols, position, longest, dish, base, stream):
    """A customer comes, chooses its depth and sits down; returns that depth."""
    depth, node = choose_node(pool, root, symbols, position, longest, dish, base, stream)
    add(pool, node, dish, base, stream)
    return depth


@part(bare=True)
def remove_variable(pool, root, symbols, position, depth, dish, stream):
    """The customer who chose this depth goes."""
    node = find_context(pool, root, symbols, position, depth)
    count_stop(pool, node, -1)
    remove(pool, node, dish, stream)
