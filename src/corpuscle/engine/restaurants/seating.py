"""What is asked about a whole pool of restaurants: its parameters, its probability, its soundness, its arrays.

Discounts and strengths are sampled by auxiliary variables, separately for each law. Priors: a discount is uniform, a
strength Gamma(1, 1). For every restaurant with two or more customers x ~ Beta(s + 1, c - 1); for its i-th table from
the second on y ~ Bernoulli(s / (s + d i)); for the j-th customer of a table from the second on z ~ Bernoulli((j - 1) /
(j - d)); then

    d ~ Beta(1 + sum (1 - y), 1 + sum (1 - z)),     s ~ Gamma(1 + sum y, rate 1 - sum log x)

Teh, "A Bayesian interpretation of interpolated Kneser-Ney", 2006, has the auxiliary variables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import (
    FREE,
    NONE,
    Restaurants,
    find_child,
    find_entry,
    indexed_anew,
    new_pool,
    used_rows,
)
from corpuscle.random import Random, beta, gamma, uniform

_CHUNK = 1 << 17
_OPENED, _REPEATED, _LOG_X, _JOINED = range(4)
"""Columns of the sums for each law: of y, of 1 - y, of log x, of 1 - z."""

_ITEMS = ("nodes", "entries", "cells")
"""In the order of the rows of ``counters``."""

_HIGHEST = 1.0 - 1e-9
"""No discount comes closer to one: at one itself a table would have no weight."""


def _pieces(pool: Restaurants, row: int) -> list[tuple[int, int]]:
    """The used nodes or entries, in pieces that one call of a kernel goes through."""
    used = int(pool.counters[row, col.USED])
    return [(first, min(first + _CHUNK, used)) for first in range(0, used, _CHUNK)]


@kernel(bare=True)
def _restaurant_sums(pool, first, last, sums, stream):
    for node in range(first, last):
        customers, tables = pool.nodes[node, col.CUSTOMERS], pool.nodes[node, col.TABLES]
        if pool.nodes[node, col.PARENT] == FREE or customers < 2:
            continue
        law = pool.nodes[node, col.LAW]
        discount, strength = pool.discounts[law], pool.strengths[law]
        sums[law, _LOG_X] += math.log(beta(stream, strength + 1.0, customers - 1.0))
        for i in range(1, tables):
            if uniform(stream) * (strength + discount * i) < strength:
                sums[law, _OPENED] += 1.0
            else:
                sums[law, _REPEATED] += 1.0


@part(bare=True)
def _joined(stream, discount, size):
    """Sum of 1 - z over the customers of one table of two or more; the second customer always has z = 0."""
    total = 1.0
    for j in range(2, size):
        if uniform(stream) * (j - discount) >= j - 1:
            total += 1.0
    return total


@kernel(bare=True)
def _table_sums(pool, first, last, sums, stream):
    for entry in range(first, last):
        if pool.entries[entry, col.NODE] < 0:
            continue
        larger = pool.entries[entry, col.TABLES] - pool.entries[entry, col.SINGLES]
        if larger == 0:
            continue
        law = pool.nodes[pool.entries[entry, col.NODE], col.LAW]
        discount = pool.discounts[law]
        if larger == 1:
            size = np.int64(pool.entries[entry, col.CUSTOMERS] - pool.entries[entry, col.SINGLES])
            sums[law, _JOINED] += _joined(stream, discount, size)
            continue
        at = pool.entries[entry, col.CELLS]
        while at >= 0:
            for _ in range(pool.cells[at, col.COUNT]):
                sums[law, _JOINED] += _joined(stream, discount, np.int64(pool.cells[at, col.SIZE]))
            at = pool.cells[at, col.NEXT]


@kernel(bare=True)
def _draw(sums, law, stream):
    discount = beta(stream, 1.0 + sums[law, _REPEATED], 1.0 + sums[law, _JOINED])
    strength = gamma(stream, 1.0 + sums[law, _OPENED]) / (1.0 - sums[law, _LOG_X])
    return discount, strength


def sample_parameters(pool: Restaurants, seed: int, iteration: int, *, discounts: bool = True) -> None:
    """Draw the discounts and strengths of all laws given the seating, in place.

    ``discounts=False`` leaves the discounts as they are (0 for Dirichlet processes) and draws the strengths only.
    """
    stream = Random(seed, "restaurants.parameters", iteration).array()
    sums = np.zeros((len(pool.discounts), 4))
    for first, last in _pieces(pool, col.NODES):
        _restaurant_sums(pool, first, last, sums, stream)
    for first, last in _pieces(pool, col.ENTRIES):
        _table_sums(pool, first, last, sums, stream)
    for law in range(len(pool.discounts)):
        discount, strength = _draw(sums, law, stream)
        if discounts:
            pool.discounts[law] = min(discount, _HIGHEST)
        pool.strengths[law] = strength


@kernel(bare=True)
def _log_restaurants(pool, first, last):
    total = 0.0
    for node in range(first, last):
        tables, customers = pool.nodes[node, col.TABLES], pool.nodes[node, col.CUSTOMERS]
        if pool.nodes[node, col.PARENT] == FREE or customers == 0:
            continue
        discount, strength = pool.discounts[pool.nodes[node, col.LAW]], pool.strengths[pool.nodes[node, col.LAW]]
        if discount > 0.0:
            total += (tables - 1) * math.log(discount)
            total += math.lgamma(strength / discount + tables) - math.lgamma(strength / discount + 1.0)
        else:
            total += (tables - 1) * math.log(strength)
        total -= math.lgamma(strength + customers) - math.lgamma(strength + 1.0)
    return total


@kernel(bare=True)
def _log_tables(pool, first, last):
    total = 0.0
    for entry in range(first, last):
        if pool.entries[entry, col.NODE] < 0:
            continue
        discount = pool.discounts[pool.nodes[pool.entries[entry, col.NODE], col.LAW]]
        larger = pool.entries[entry, col.TABLES] - pool.entries[entry, col.SINGLES]
        if larger == 1:
            size = pool.entries[entry, col.CUSTOMERS] - pool.entries[entry, col.SINGLES]
            total += math.lgamma(size - discount) - math.lgamma(1.0 - discount)
        elif larger > 1:
            at = pool.entries[entry, col.CELLS]
            while at >= 0:
                each = math.lgamma(pool.cells[at, col.SIZE] - discount) - math.lgamma(1.0 - discount)
                total += pool.cells[at, col.COUNT] * each
                at = pool.cells[at, col.NEXT]
    return total


def log_seating(pool: Restaurants) -> float:
    """Natural log of the probability of all seatings given the parameters, without the draws from the base measure."""
    total = 0.0
    for first, last in _pieces(pool, col.NODES):
        total += _log_restaurants(pool, first, last)
    for first, last in _pieces(pool, col.ENTRIES):
        total += _log_tables(pool, first, last)
    return total


def log_stopping(pool: Restaurants, start: int) -> float:
    """Natural log of the probability that customers stopped at the depths where they did. Nobody chooses where a
    context begins with the symbol ``start``, or is as long as they get."""
    from scipy.special import betaln

    nodes = pool.nodes[pool.nodes[:, col.STOPS] + pool.nodes[:, col.PASSES] > 0]
    nodes = nodes[(nodes[:, col.PARENT] != FREE) & (nodes[:, col.SYMBOL] != start)]
    nodes = nodes[nodes[:, col.LAW] < len(pool.discounts) - 1]
    stops, passes = pool.stop_prior
    return float((betaln(nodes[:, col.STOPS] + stops, nodes[:, col.PASSES] + passes) - betaln(stops, passes)).sum())


@kernel(bare=True)
def _free_chain(items, counters, row):
    """How many free items the chain has; -1 if it is not a chain of free items."""
    used, at, length = counters[row, col.USED], counters[row, col.FREE_HEAD], 0
    while at != NONE:
        if at < 0 or at >= used or items[at, 0] != FREE or length >= used:
            return -1
        length += 1
        at = np.int64(items[at, 1])
    return length


@kernel(bare=True)
def _walk_cells(pool, first, last, seen):
    """The first entry whose cells do not add up to its totals, or -1; ``seen`` counts how often a cell is used."""
    used = pool.counters[col.CELL_ROWS, col.USED]
    for entry in range(first, last):
        if pool.entries[entry, col.NODE] < 0:
            continue
        singles = pool.entries[entry, col.SINGLES]
        larger = pool.entries[entry, col.TABLES] - singles
        rest = np.int64(pool.entries[entry, col.CUSTOMERS]) - singles
        at = np.int64(pool.entries[entry, col.CELLS])
        if larger < 2:
            if at != NONE or (larger == 0 and rest != 0) or (larger == 1 and rest < 2):
                return entry
            continue
        before = np.int64(1) << 40
        while at != NONE:
            if at < 0 or at >= used or seen[at] > 0:
                return entry
            size, count = np.int64(pool.cells[at, col.SIZE]), np.int64(pool.cells[at, col.COUNT])
            if size < 2 or size >= before or count < 1:
                return entry
            seen[at] += 1
            rest -= size * count
            larger -= count
            before = size
            at = np.int64(pool.cells[at, col.NEXT])
        if rest != 0 or larger != 0:
            return entry
    return -1


@kernel(bare=True)
def _lost(pool):
    """How many live nodes and entries the indices do not find."""
    lost = 0
    for node in range(pool.counters[col.NODES, col.USED]):
        if pool.nodes[node, col.PARENT] >= 0:
            lost += find_child(pool, pool.nodes[node, col.PARENT], pool.nodes[node, col.SYMBOL]) != node
    for entry in range(pool.counters[col.ENTRIES, col.USED]):
        if pool.entries[entry, col.NODE] >= 0:
            lost += find_entry(pool, pool.entries[entry, col.NODE], pool.entries[entry, col.DISH]) != entry
    return lost


def claim(unsound: str, holds: object, what: str) -> None:
    """``ValueError`` if what is said about arrays, which may come from a file, does not hold."""
    if not holds:
        raise ValueError(f"{unsound}: {what}")


_claim = partial(claim, "unsound restaurants")


def _distinct(first: np.ndarray, second: np.ndarray) -> bool:
    keys = (first.astype(np.int64) << 32) | second
    return len(np.unique(keys)) == len(keys)


def verify_free(items: np.ndarray, counters: np.ndarray, row: int, name: str) -> None:
    """Check the numbers and the chain of the free ones among items that ``pool.take`` gives out."""
    used, _, free = counters[row].tolist()
    _claim(0 <= free <= used <= len(items), f"impossible numbers of {name}")
    chain = int((items[:used, 0] == FREE).sum())
    _claim(_free_chain(items, counters, row) == free == chain, f"free {name} are not all in their chain")


def _verify_nodes(pool: Restaurants) -> None:
    nodes = used_rows(pool)[0].astype(np.int64)
    live = nodes[:, col.PARENT] != FREE
    parent, law = nodes[:, col.PARENT], nodes[:, col.LAW]
    _claim(((parent[live] >= NONE) & (parent[live] < len(nodes))).all(), "a parent that is no node")
    _claim((nodes[live, col.LAW :] >= 0).all() and (law[live] < len(pool.discounts)).all(), "impossible numbers")
    inner = np.flatnonzero(live & (parent >= 0))
    _claim(live[parent[inner]].all(), "a free parent")
    _claim((law[parent[inner]] + 1 == law[inner]).all(), "a law that is not one below its parent's")
    symbol = nodes[inner, col.SYMBOL]
    _claim((symbol >= 0).all() and _distinct(parent[inner], symbol), "a node twice")
    children = np.bincount(parent[inner], minlength=len(nodes))
    _claim((children[live] == nodes[live, col.CHILDREN]).all(), "a wrong number of children")
    through = (nodes[:, col.STOPS] + nodes[:, col.PASSES])[inner]
    passes = np.bincount(parent[inner], weights=through, minlength=len(nodes))
    _claim((passes[live] == nodes[live, col.PASSES]).all(), "a customer that passed a node and stopped nowhere")


def _verify_entries(pool: Restaurants, empty: bool) -> np.ndarray:
    nodes, entries = (rows.astype(np.int64) for rows in used_rows(pool))
    live = entries[:, col.NODE] != FREE
    node, up = entries[live, col.NODE], entries[live, col.UP]
    _claim(((node >= 0) & (node < len(nodes))).all(), "an entry in no node")
    _claim((nodes[node, col.PARENT] != FREE).all(), "an entry in a free node")
    _claim((entries[live, col.DISH] >= 0).all() and _distinct(node, entries[live, col.DISH]), "a dish twice")
    customers, tables = entries[live, col.CUSTOMERS], entries[live, col.TABLES]
    _claim((customers >= (0 if empty else 1)).all(), "an entry without customers")
    _claim(((up >= NONE) & (up < len(entries))).all(), "an entry below no entry")
    linked = np.flatnonzero(up >= 0)
    above = entries[up[linked]]
    _claim((above[:, col.NODE] == nodes[node[linked], col.PARENT]).all(), "an entry above in another node")
    _claim((above[:, col.DISH] == entries[live, col.DISH][linked]).all(), "an entry above with another dish")
    for column, counts in ((col.CUSTOMERS, customers), (col.TABLES, tables)):
        sums = np.bincount(node, weights=counts, minlength=len(nodes))
        of_live = nodes[:, col.PARENT] != FREE
        _claim((sums[of_live] == nodes[of_live, column]).all(), "totals that are not the sums of their dishes")
    direct = np.zeros(len(entries), np.int64)
    direct[live] = customers
    direct -= np.bincount(up[linked], weights=tables[linked], minlength=len(entries)).astype(np.int64)
    _claim((direct >= 0).all(), "a table without its customer above")
    return direct


def verify_sizes(pool: Restaurants) -> None:
    """Check parameters, free items and the sizes of tables, whatever arrays hold and nodes mean; ``ValueError``."""
    discounts, strengths = pool.discounts, pool.strengths
    sound = (discounts >= 0) & (discounts < 1) & (strengths >= 0) & np.isfinite(strengths)
    _claim(sound.all(), "a discount outside [0, 1) or a negative strength")
    for row, name in enumerate(_ITEMS):
        verify_free(getattr(pool, name), pool.counters, row, name)
    entries = used_rows(pool)[1].astype(np.int64)
    entries = entries[entries[:, col.NODE] >= 0]
    customers, tables, singles = entries[:, col.CUSTOMERS], entries[:, col.TABLES], entries[:, col.SINGLES]
    _claim(((singles >= 0) & (singles <= tables) & (tables <= customers)).all(), "tables without customers")
    seen = np.zeros(int(pool.counters[col.CELL_ROWS, col.USED]), np.int64)
    _claim(_walk_cells(pool, 0, int(pool.counters[col.ENTRIES, col.USED]), seen) < 0, "table sizes that do not add up")
    free = pool.cells[: len(seen), col.SIZE] == FREE
    _claim(((seen == 1) != free).all(), "a cell that no entry has")


def verify(pool: Restaurants, *, empty: bool = False, variable: bool = False) -> np.ndarray:
    """Check every count of a pool, whatever its arrays hold; ``ValueError`` says what is wrong.

    Returns int64 (used entries,): how many customers of each entry came from outside, not from a table below it.
    ``empty``: entries without customers are allowed (static pools). ``variable``: all hierarchies have variable depth,
    so that a node's customers from outside are those who stopped there.
    """
    verify_sizes(pool)
    _verify_nodes(pool)
    direct = _verify_entries(pool, empty)
    if variable:
        node = pool.entries[: len(direct), col.NODE]
        stopped = np.bincount(node[node >= 0], weights=direct[node >= 0], minlength=len(pool.nodes))
        stops = np.where(pool.nodes[:, col.PARENT] == FREE, 0, pool.nodes[:, col.STOPS])
        _claim((stopped == stops).all(), "customers from outside who did not stop")
    if len(pool.entry_index) > 1:
        _claim(_lost(pool) == 0, "an item that is not found")
    return direct


def to_arrays(pool: Restaurants) -> dict[str, np.ndarray]:
    """All that a pool is, row by row, for a checkpoint: int32 nodes, entries and cells, int64 counters, parameters."""
    used = dict(zip(_ITEMS, pool.counters[:, col.USED].tolist(), strict=True))
    rows = {name: getattr(pool, name)[:count].copy() for name, count in used.items()}
    return rows | {name: getattr(pool, name).copy() for name in ("counters", "discounts", "strengths")}


def from_arrays(
    like: Restaurants, arrays: Mapping[str, np.ndarray], *, empty: bool = False, variable: bool = False
) -> Restaurants:
    """The pool of ``to_arrays``, every count verified (``ValueError``); it goes on exactly as the old one would. From
    ``like`` it has the prior of stopping, whether it has indices, and at least the room."""
    nodes, entries, cells = (max(len(arrays[name]) + 64, len(getattr(like, name))) for name in _ITEMS)
    pool = new_pool(len(arrays["discounts"]), nodes=nodes, entries=entries, cells=cells, indexed=False)
    pool = pool._replace(stop_prior=like.stop_prior.copy())
    for name in (*_ITEMS, "discounts", "strengths", "counters"):
        getattr(pool, name)[: len(arrays[name])] = arrays[name]
    _claim(pool.counters[:, col.USED].tolist() == [len(arrays[name]) for name in _ITEMS], "counters that do not fit")
    verify(pool, empty=empty, variable=variable)
    return indexed_anew(pool) if len(like.entry_index) > 1 else pool
