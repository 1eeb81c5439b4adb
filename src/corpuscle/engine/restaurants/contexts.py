"""A finished model of variable depth, laid out for prediction: sorted arrays instead of hash tables.

``freeze`` turns one hierarchy of ``engine.restaurants.variable`` into ``Contexts``, the counts in breadth-first order,
as a model file keeps them; ``predictor`` turns these and the parameters into the numbers that prediction needs.

Mochihashi and Sumita, "The infinite Markov model", 2007, for models of variable depth; Teh, "A hierarchical Bayesian
language model based on Pitman-Yor processes", 2006, for the prediction at each depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import children_rise, find
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import FREE, Restaurants, used_rows
from corpuscle.scale import each, starts_of

_CHUNK = 1 << 16


class Contexts(NamedTuple):
    """The counts of a hierarchy. Nodes are in breadth-first order, the root first, siblings by rising symbol.

    - ``symbols``: int32 (nodes,), by which a node extends its parent (of the root: 0);
    - ``first_child``: int32 (nodes + 1,), the children of node n are ``first_child[n]`` to ``first_child[n + 1]``;
    - ``stops``, ``passes``: int32 (nodes,);
    - ``first_entry``: int32 (nodes + 1,), the entries of node n, by rising dish;
    - ``dishes``, ``customers``, ``tables``: int32 (entries,).
    """

    symbols: np.ndarray
    first_child: np.ndarray
    stops: np.ndarray
    passes: np.ndarray
    first_entry: np.ndarray
    dishes: np.ndarray
    customers: np.ndarray
    tables: np.ndarray


class Predictor(NamedTuple):
    """What prediction needs: for each node the probability to stop there and what it passes on to its parent, both
    float64 (nodes,); for each entry its own share of the probability, float64 (entries,)."""

    symbols: np.ndarray
    first_child: np.ndarray
    stop: np.ndarray
    passed_on: np.ndarray
    first_entry: np.ndarray
    dishes: np.ndarray
    share: np.ndarray


def freeze(pool: Restaurants, root: int) -> Contexts:
    """The counts of the hierarchy below a root; it must be the only one of its pool."""
    nodes, entries = used_rows(pool)
    live = np.flatnonzero(nodes[:, col.PARENT] >= 0)
    rank = np.full(len(nodes), -1, np.int64)
    rank[root] = 0
    order, below = [np.array([root])], 1
    for law in range(nodes[root, col.LAW] + 1, 1 + nodes[live, col.LAW].max(initial=0)):  # depth by depth
        level = live[nodes[live, col.LAW] == law]
        level = level[np.lexsort((nodes[level, col.SYMBOL], rank[nodes[level, col.PARENT]]))]
        rank[level] = below + np.arange(len(level))
        below += len(level)
        order.append(level)
    sequence = np.concatenate(order)
    children = np.bincount(rank[nodes[sequence[1:], col.PARENT]], minlength=below)
    used = np.flatnonzero(entries[:, col.NODE] != FREE)
    used = used[np.lexsort((entries[used, col.DISH], rank[entries[used, col.NODE]]))]
    dishes = np.bincount(rank[entries[used, col.NODE]], minlength=below)
    symbols = nodes[sequence, col.SYMBOL].copy()
    symbols[0] = 0
    return Contexts(
        symbols,
        (1 + starts_of(children)).astype(np.int32),
        nodes[sequence, col.STOPS].copy(),
        nodes[sequence, col.PASSES].copy(),
        starts_of(dishes).astype(np.int32),
        entries[used, col.DISH].copy(),
        entries[used, col.CUSTOMERS].copy(),
        entries[used, col.TABLES].copy(),
    )


def check_contexts(contexts: Contexts) -> None:
    """What prediction relies on beyond ranges and rising offsets; ``ValueError`` if it does not hold."""
    nodes = len(contexts.symbols)
    if nodes == 0 or contexts.first_child[0] != 1 or contexts.first_child[-1] != nodes:
        raise ValueError("the contexts are not one tree")
    if (contexts.first_child[:-1] <= np.arange(nodes)).any():
        raise ValueError("a context comes before the one that it extends")
    if not children_rise(frozen(contexts.symbols, np.int32), frozen(contexts.first_child, np.int32)):
        raise ValueError("the extensions of a context must rise")
    if not children_rise(frozen(contexts.dishes, np.int32), frozen(contexts.first_entry, np.int32)):
        raise ValueError("the words after a context must rise")
    if (contexts.tables < 1).any() or (contexts.tables > contexts.customers).any():
        raise ValueError("every word after a context has customers and at most as many tables")


def tree_depths(first_child: np.ndarray, roots: int = 1) -> np.ndarray:
    """The depth of every node of trees in breadth-first order, int64 (nodes,); ``first_child`` as in ``Contexts``."""
    result = np.zeros(len(first_child) - 1, np.int64)
    first, last, depth = 0, roots, 0
    while first < last:
        result[first:last] = depth
        first, last, depth = last, int(first_child[last]), depth + 1
    return result


def predictor(
    contexts: Contexts, discounts: np.ndarray, strengths: np.ndarray, stop_prior: tuple[float, float]
) -> Predictor:
    """The model with these parameters, by depth."""
    depth = tree_depths(contexts.first_child)
    discount, strength = discounts[depth], strengths[depth]
    of = np.repeat(np.arange(len(depth)), np.diff(contexts.first_entry))
    customers, tables = (
        np.bincount(of, weights=counts, minlength=len(depth)) for counts in (contexts.customers, contexts.tables)
    )
    filled = customers > 0
    passed_on = np.ones(len(depth))
    passed_on[filled] = ((strength + discount * tables) / np.maximum(strength + customers, 1e-300))[filled]
    share = (contexts.customers - discount[of] * contexts.tables) / (strength + customers)[of]
    stops, passes = contexts.stops + stop_prior[0], contexts.passes + stop_prior[1]
    tree, entries = (contexts.symbols, contexts.first_child), (contexts.first_entry, contexts.dishes)
    types = (np.int32, np.int32, np.float64, np.float64, np.int32, np.int32, np.float64)
    return Predictor(*map(frozen, (*tree, stops / (stops + passes), passed_on, *entries, share), types))


@kernel
def _score(model, symbols, available, start, base, first, last, out):
    """Add the probability of every symbol but ``start`` to ``out``."""
    for i in range(first, last):
        dish = symbols[i]
        if dish == start:
            continue
        node, known = np.int64(0), True
        here, reach, total = base, 1.0, 0.0
        for n in range(available[i] + 1):
            here *= model.passed_on[node]
            if known:  # where a word is missing it is missing further down, too
                low, high = np.int64(model.first_entry[node]), np.int64(model.first_entry[node + 1])
                entry = find(model.dishes, low, high, dish)
                known = entry >= 0
                if known:
                    here += model.share[entry]
            if n == available[i]:
                break
            total += reach * model.stop[node] * here
            reach *= 1.0 - model.stop[node]
            low, high = np.int64(model.first_child[node]), np.int64(model.first_child[node + 1])
            node = find(model.symbols, low, high, symbols[i - 1 - n])
            if node < 0:
                break
        out[i] += total + reach * here


def score(
    model: Predictor,
    symbols: np.ndarray,
    available: np.ndarray,
    start: int,
    base: float,
    out: np.ndarray,
    workers: int = 1,
) -> None:
    """Add to ``out``, float64 (n_symbols,), the probability of every symbol of a stream but ``start``.

    ``available``: uint8 (n_symbols,), how many symbols before each may be looked at; ``base``: the probability of a
    symbol before anything is known; ``workers``: threads.
    """
    symbols, available = frozen(symbols, np.int32), frozen(available, np.uint8)

    def score(first: int) -> None:
        _score(model, symbols, available, start, base, first, min(first + _CHUNK, len(symbols)), out)

    each(score, range(0, len(symbols), _CHUNK), workers)


def distribution(model: Predictor, context: np.ndarray, base: np.ndarray) -> np.ndarray:
    """P(symbol | context), float64 (n_types,); ``context`` has the most recent symbol last and is not longer than the
    model looks back."""
    here, total, reach, node = base.copy(), np.zeros(len(base)), 1.0, 0
    for n in range(len(context) + 1):
        here *= model.passed_on[node]
        span = slice(int(model.first_entry[node]), int(model.first_entry[node + 1]))
        here[model.dishes[span]] += model.share[span]
        if n == len(context):
            break
        total += reach * model.stop[node] * here
        reach *= 1.0 - model.stop[node]
        low, high = int(model.first_child[node]), int(model.first_child[node + 1])
        node = low + int(np.searchsorted(model.symbols[low:high], context[len(context) - 1 - n]))
        if node >= high or model.symbols[node] != context[len(context) - 1 - n]:
            break
    return total + reach * here
