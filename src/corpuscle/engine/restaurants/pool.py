"""The arrays behind ``engine.restaurants.hierarchy``: nodes and entries in a pool, found by hashing, freed and reused.

Everything is rows of integers, so that a restaurant, its key and its totals share a cache line. Items are found by
``engine.hashtable``. Free rows are chained and taken first (Knuth, "The art of computer
programming, vol. 1: fundamental algorithms", 1968).

What the columns hold has a name, by which other modules call it, too (``from ... import pool as col``). The first two
columns of nodes and entries are the key by which an item is found; free items, cells too, have FREE in the first column
and the next free item in the second.

Teh, "A hierarchical Bayesian language model based on Pitman-Yor processes", 2006, for restaurants and their tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.hashtable import enter, erase, find, new_index, pair

PARENT, SYMBOL, LAW, CUSTOMERS, TABLES, CHILDREN, STOPS, PASSES = range(8)
"""Of nodes."""
NODE, DISH, UP, _, _, SINGLES, CELLS, OWN = range(8)
"""Of entries; CUSTOMERS and TABLES are where nodes have them."""
SIZE, COUNT, NEXT = range(3)
"""Of cells."""

NODES, ENTRIES, CELL_ROWS = range(3)
"""The rows of ``counters``."""
USED, FREE_HEAD, FREE_COUNT = range(3)
"""The columns of ``counters``."""

NONE, FREE = -1, -2


class Restaurants(NamedTuple):
    """A pool of restaurants.

    - ``nodes``: int32 (node_room, 8): PARENT (NONE: a root), SYMBOL (by which it extends its parent), LAW, CUSTOMERS,
      TABLES, CHILDREN (how many child nodes), STOPS and PASSES (variable depth: customers that stopped here or went
      deeper);
    - ``entries``: int32 (entry_room, 8): NODE, DISH, UP (the entry of the same dish in the parent node, NONE in roots),
      CUSTOMERS, TABLES, SINGLES (tables of one customer), CELLS (first cell or NONE), OWN (the caller's; 0 at birth);
    - ``cells``: int32 (cell_room, 3): SIZE, COUNT, NEXT;
    - ``node_index``, ``entry_index``: int32 (power of two), open addressing by (parent, symbol) and (node, dish); of
      length 1 in a pool whose items nobody looks up;
    - ``counters``: int64 (3, 3), for nodes, entries and cells how many rows have been used, the first free one among
      them (NONE), and how many are free;
    - ``discounts``, ``strengths``: float64 (laws,);
    - ``stop_prior``: float64 (2,), the Beta prior of stopping at a node against going deeper;
    - ``work``: float64 (3, laws + 1) and ``path``: int32 (laws + 1,), room for the calls that write.
    """

    nodes: np.ndarray
    entries: np.ndarray
    cells: np.ndarray
    node_index: np.ndarray
    entry_index: np.ndarray
    counters: np.ndarray
    discounts: np.ndarray
    strengths: np.ndarray
    stop_prior: np.ndarray
    work: np.ndarray
    path: np.ndarray


def new_pool(
    laws: int,
    *,
    nodes: int = 1 << 10,
    entries: int = 1 << 10,
    cells: int = 1 << 8,
    indexed: bool = True,
    discount: float = 0.5,
    strength: float = 1.0,
    stop_prior: tuple[float, float] = (4.0, 1.0),
) -> Restaurants:
    """An empty pool with room for N ``nodes``, ``entries`` and ``cells``; no node is deeper than ``laws`` - 1.

    ``indexed=False`` is for static pools whose nodes and entries the caller numbers itself and never looks up.
    """
    counters = np.zeros((3, 3), np.int64)
    counters[:, FREE_HEAD] = NONE
    return Restaurants(
        np.zeros((nodes, 8), np.int32),
        np.zeros((entries, 8), np.int32),
        np.zeros((cells, 3), np.int32),
        new_index(nodes) if indexed else np.full(1, NONE, np.int32),
        new_index(entries) if indexed else np.full(1, NONE, np.int32),
        counters,
        np.full(laws, discount),
        np.full(laws, strength),
        np.array(stop_prior, np.float64),
        np.zeros((3, laws + 1)),
        np.zeros(laws + 1, np.int32),
    )


def longer(array: np.ndarray, length: int, fill: int = 0) -> np.ndarray:
    """A copy of an array with more rows, ``length`` in all, the new ones filled with one number."""
    result = np.full((length, *array.shape[1:]), fill, array.dtype)
    result[: len(array)] = array
    return result


def used_rows(pool: Any) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and the entries that have been taken so far, with those that are free again among them."""
    nodes, entries, _ = pool.counters[:, USED].tolist()
    return pool.nodes[:nodes], pool.entries[:entries]


def grown(pool: Restaurants, customers: int = 1) -> Restaurants:
    """A pool with the same content and more room, half as much again of whatever is nearly used up: N ``customers``
    can come and go then.

    A static pool, without indices, gets more cells only.
    """
    replaced = {}
    static = len(pool.entry_index) == 1
    needed = customers * len(pool.path)
    for row, (name, least) in enumerate((("nodes", needed), ("entries", needed), ("cells", 4 * needed))):
        if static and name != "cells":
            continue
        array = getattr(pool, name)
        if free_items(pool.counters, row, array) > max(least, len(array) // 4 + 2 * pool.work.shape[1]):
            continue
        length = len(array) + max(least, len(array) // 2 + 4 * pool.work.shape[1] + 64)
        if length >= 2**31:
            raise ValueError(f"more than 2^31 {name} in one pool")
        replaced[name] = longer(array, length)
    pool = pool._replace(**replaced)
    return indexed_anew(pool) if replaced.keys() & {"nodes", "entries"} else pool


def indexed_anew(pool: Restaurants) -> Restaurants:
    """The same pool with indices that fit its room."""
    pool = pool._replace(node_index=new_index(len(pool.nodes)), entry_index=new_index(len(pool.entries)))
    _fill_indices(pool)
    return pool


@kernel(bare=True)
def _fill_indices(pool):
    for node in range(pool.counters[NODES, USED]):
        if pool.nodes[node, PARENT] >= 0:
            enter(pool.node_index, pool.nodes, node)
    for entry in range(pool.counters[ENTRIES, USED]):
        if pool.entries[entry, NODE] >= 0:
            enter(pool.entry_index, pool.entries, entry)


@part(bare=True)
def take(counters, row, items):
    """The number of a free item."""
    head = counters[row, FREE_HEAD]
    if head >= 0:
        counters[row, FREE_HEAD] = items[head, 1]
        counters[row, FREE_COUNT] -= 1
        return head
    counters[row, USED] += 1
    return counters[row, USED] - 1


@part(bare=True)
def give_back(counters, row, items, item):
    items[item, 0] = FREE
    items[item, 1] = counters[row, FREE_HEAD]
    counters[row, FREE_HEAD] = item
    counters[row, FREE_COUNT] += 1


@kernel(bare=True)
def free_items(counters, row, items):
    """How many items can still be taken."""
    return len(items) - counters[row, USED] + counters[row, FREE_COUNT]


@part(bare=True)
def has_free(pool, nodes, entries, cells):
    """Whether N items of each sort can be taken."""
    return (
        free_items(pool.counters, NODES, pool.nodes) >= nodes
        and free_items(pool.counters, ENTRIES, pool.entries) >= entries
        and free_items(pool.counters, CELL_ROWS, pool.cells) >= cells
    )


@part(bare=True)
def has_room(pool, depth):
    """Whether one customer can come and one can go in hierarchies of this depth."""
    return has_free(pool, depth + 2, depth + 2, 4 * (depth + 2))


@part(bare=True)
def _new_node(pool, parent, symbol, law):
    node = take(pool.counters, NODES, pool.nodes)
    pool.nodes[node, :] = 0
    pool.nodes[node, PARENT] = parent
    pool.nodes[node, SYMBOL] = symbol
    pool.nodes[node, LAW] = law
    return node


@kernel(bare=True)
def new_root(pool, law):
    """A new hierarchy: the number of its root, which stays until the pool is thrown away."""
    return _new_node(pool, NONE, NONE, law)


@part(bare=True)
def find_child(pool, node, symbol):
    """The node that extends this one by a symbol, or NONE."""
    return find(pool.node_index, pool.nodes, pair(node, symbol))


@part(bare=True)
def make_child(pool, node, symbol):
    """The node that extends this one by a symbol, made if there is none."""
    child = find_child(pool, node, symbol)
    if child < 0:
        child = _new_node(pool, node, symbol, pool.nodes[node, LAW] + 1)
        enter(pool.node_index, pool.nodes, child)
        pool.nodes[node, CHILDREN] += 1
    return child


@part(bare=True)
def find_context(pool, root, symbols, position, length):
    """The deepest existing node for the ``length`` symbols before ``symbols[position]``, the last of them first."""
    node = np.int64(root)
    for m in range(length):
        child = find_child(pool, node, np.int64(symbols[position - 1 - m]))
        if child < 0:
            break
        node = child
    return node


@part(bare=True)
def make_context(pool, root, symbols, position, length):
    """The node for the ``length`` symbols before ``symbols[position]``, made if need be."""
    node = np.int64(root)
    for m in range(length):
        node = make_child(pool, node, np.int64(symbols[position - 1 - m]))
    return node


@part(bare=True)
def find_entry(pool, node, dish):
    """The entry of a dish in a node, or NONE."""
    return find(pool.entry_index, pool.entries, pair(node, dish))


@part(bare=True)
def _new_entry(pool, node, dish):
    entry = take(pool.counters, ENTRIES, pool.entries)
    pool.entries[entry, :] = 0
    pool.entries[entry, NODE] = node
    pool.entries[entry, DISH] = dish
    pool.entries[entry, UP] = NONE
    pool.entries[entry, CELLS] = NONE
    enter(pool.entry_index, pool.entries, entry)
    return entry


@part(bare=True)
def entry_of(pool, node, dish):
    """The entry of a dish in a node, made if there is none; so are those of its ancestors, as the first customer of a
    dish always opens a table."""
    first = find_entry(pool, node, dish)
    if first >= 0:
        return first
    first = _new_entry(pool, node, dish)
    entry = first
    while pool.nodes[node, PARENT] >= 0:
        node = np.int64(pool.nodes[node, PARENT])
        up = find_entry(pool, node, dish)
        found = up >= 0
        if not found:
            up = _new_entry(pool, node, dish)
        pool.entries[entry, UP] = up
        if found:
            break
        entry = up
    return first


@part(bare=True)
def drop_entry(pool, entry):
    """Free an entry that has no customers, and its node and the ancestors of that as far as they are empty now; roots
    stay."""
    nodes, node = pool.nodes, np.int64(pool.entries[entry, NODE])
    erase(pool.entry_index, pool.entries, entry)
    give_back(pool.counters, ENTRIES, pool.entries, entry)
    while nodes[node, PARENT] >= 0:
        if nodes[node, CUSTOMERS] or nodes[node, CHILDREN] or nodes[node, STOPS] or nodes[node, PASSES]:
            return
        parent = np.int64(nodes[node, PARENT])
        erase(pool.node_index, nodes, node)
        give_back(pool.counters, NODES, nodes, node)
        nodes[parent, CHILDREN] -= 1
        node = parent
