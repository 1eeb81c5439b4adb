"""Hierarchical Pitman-Yor processes as Chinese restaurants in flat arrays.

A *node* is a restaurant (a context), an *entry* is a dish in it (a word after that context). Customers of an entry sit
at tables; every table of an entry is one customer of the same dish in the parent restaurant, and the tables of a root
are draws from the base measure. With c customers, t tables, discount d and strength s of the node:

    P(w | u) = (c_uw - d t_uw) / (s + c_u) + (s + d t_u) / (s + c_u) * P(w | parent of u),    P(w | above a root) = base

One pool holds any number of hierarchies (words, characters, a hierarchy for each topic, two-dish switches): each has a
root made by ``new_root(pool, law)``. A *law* is a row of ``pool.discounts`` and ``pool.strengths``; a child's law is
its parent's plus one, so laws are depths, shared by all hierarchies whose roots have the same law. The base probability
of a dish is an argument of every call: it may be constant, or come from another model inside the caller's kernel.

Other kernels let whole customers come and go (``add``, ``remove``; from an entry that they remember ``seat``,
``unseat``, ``reseat``): where these return that a table was opened (closed) at the root, the caller adds (removes) what
stands below the root, such as the spelling of a word. Prediction (``probability``, ``own_share``, ``passed_on``) writes
nothing, so it is safe in threads. Models whose tables have other parents deal with one restaurant at a time
(``join_table``, ``leave_table``, ``take_table``, ``place_table``). Nodes are found and made in ``pool``; all that
draws advances ``stream``, see ``corpuscle.random``.

Room. Kernels never grow arrays. Between two items a kernel asks ``has_room(pool, depth)``: enough for one customer to
come and one to go, in hierarchies of that depth. If not, it returns where it stands, the Python side calls
``grown(pool)`` and calls again (``reseat`` needs cells only, see ``has_free``). ``pool.new_pool`` makes a pool;
``engine.restaurants.seating`` samples discounts and strengths, verifies a pool, and keeps it in arrays.

Speed. All kernels here are bare, and kernels that call them should be, too: with references to the arrays of
the pool counted, a sweep takes eight times as long. Such a kernel allocates nothing; pass it its buffers.

Table sizes. Tables of one customer are counted (``SINGLES``); if only one table is larger, its size follows from the
totals; only from two larger tables on is there a list of *cells* (size, number of tables of that size), largest first.
So nearly all entries of a text need no cell, and frequent ones need one for each distinct size, not for each table.

Teh, "A hierarchical Bayesian language model based on Pitman-Yor processes", 2006: his theta_|u| and d_|u| are s and d,
c_uw. and t_uw are c_uw and t_uw. Blunsom, Cohn, Goldwater and Johnson, "A note on the implementation of hierarchical
Dirichlet processes", 2009, for the histograms of table sizes.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import NONE, drop_entry, entry_of, find_entry, give_back, take
from corpuscle.random import below, uniform


@part(bare=True)
def _insert_size(pool, entry, size):
    """One more table of this size (2 or more) in the list of cells."""
    cells, before, at = pool.cells, np.int64(NONE), np.int64(pool.entries[entry, col.CELLS])
    while at >= 0 and cells[at, col.SIZE] > size:
        before, at = at, np.int64(cells[at, col.NEXT])
    if at >= 0 and cells[at, col.SIZE] == size:
        cells[at, col.COUNT] += 1
        return
    new = take(pool.counters, col.CELL_ROWS, cells)
    cells[new, col.SIZE], cells[new, col.COUNT], cells[new, col.NEXT] = size, 1, at
    if before < 0:
        pool.entries[entry, col.CELLS] = new
    else:
        cells[before, col.NEXT] = new


@part(bare=True)
def _delete_size(pool, entry, size):
    """One table of this size less in the list of cells."""
    cells, before, at = pool.cells, np.int64(NONE), np.int64(pool.entries[entry, col.CELLS])
    while cells[at, col.SIZE] != size:
        before, at = at, np.int64(cells[at, col.NEXT])
    cells[at, col.COUNT] -= 1
    if cells[at, col.COUNT] == 0:
        after = cells[at, col.NEXT]
        if before < 0:
            pool.entries[entry, col.CELLS] = after
        else:
            cells[before, col.NEXT] = after
        give_back(pool.counters, col.CELL_ROWS, cells, at)


@part(bare=True)
def place_table(pool, entry, size):
    """Put a table with its customers into an entry; the customer above is the caller's business."""
    entries = pool.entries
    if size == 1:
        entries[entry, col.SINGLES] += 1
    else:
        larger = entries[entry, col.TABLES] - entries[entry, col.SINGLES]
        if larger == 1:
            _insert_size(pool, entry, np.int64(entries[entry, col.CUSTOMERS] - entries[entry, col.SINGLES]))
        if larger >= 1:
            _insert_size(pool, entry, size)
    node = entries[entry, col.NODE]
    entries[entry, col.CUSTOMERS] += size
    entries[entry, col.TABLES] += 1
    pool.nodes[node, col.CUSTOMERS] += size
    pool.nodes[node, col.TABLES] += 1


@part(bare=True)
def _take_table(pool, entry, size):
    """Take a table of a known size out of an entry."""
    entries = pool.entries
    if size == 1:
        entries[entry, col.SINGLES] -= 1
    else:
        larger = entries[entry, col.TABLES] - entries[entry, col.SINGLES]
        if larger >= 2:
            _delete_size(pool, entry, size)
        if larger == 2:
            _delete_size(pool, entry, np.int64(pool.cells[entries[entry, col.CELLS], col.SIZE]))
    node = entries[entry, col.NODE]
    entries[entry, col.CUSTOMERS] -= size
    entries[entry, col.TABLES] -= 1
    pool.nodes[node, col.CUSTOMERS] -= size
    pool.nodes[node, col.TABLES] -= 1


@part(bare=True)
def take_table(pool, entry, stream):
    """Take one of the tables of an entry, each with the same probability, out of it: its size."""
    entries = pool.entries
    left = below(stream, np.int64(entries[entry, col.TABLES])) - entries[entry, col.SINGLES]
    size = np.int64(1)
    if left >= 0:
        at = np.int64(entries[entry, col.CELLS])
        if at < 0:
            size = np.int64(entries[entry, col.CUSTOMERS] - entries[entry, col.SINGLES])
        else:
            while left >= pool.cells[at, col.COUNT]:
                left -= pool.cells[at, col.COUNT]
                at = np.int64(pool.cells[at, col.NEXT])
            size = np.int64(pool.cells[at, col.SIZE])
    _take_table(pool, entry, size)
    return size


@part(bare=True)
def joined_size(pool, entry, stream):
    """The size of the table of an entry that a customer joins, drawn with weights size - discount."""
    entries, cells = pool.entries, pool.cells
    singles, at = entries[entry, col.SINGLES], np.int64(entries[entry, col.CELLS])
    size = np.int64(1)
    if entries[entry, col.TABLES] > singles:
        size = np.int64(entries[entry, col.CUSTOMERS] - singles)
        if singles or at >= 0:
            discount = pool.discounts[pool.nodes[entries[entry, col.NODE], col.LAW]]
            left = uniform(stream) * (entries[entry, col.CUSTOMERS] - discount * entries[entry, col.TABLES])
            left -= singles * (1.0 - discount)
            if left < 0.0:
                size = np.int64(1)
            elif at >= 0:
                left -= cells[at, col.COUNT] * (cells[at, col.SIZE] - discount)
                while left >= 0.0 and cells[at, col.NEXT] >= 0:
                    at = np.int64(cells[at, col.NEXT])
                    left -= cells[at, col.COUNT] * (cells[at, col.SIZE] - discount)
                size = np.int64(cells[at, col.SIZE])
    return size


@part(bare=True)
def left_size(pool, entry, stream):
    """The size of the table of an entry that a customer leaves; each customer has the same probability."""
    entries, cells = pool.entries, pool.cells
    left = below(stream, np.int64(entries[entry, col.CUSTOMERS])) - entries[entry, col.SINGLES]
    if left < 0:
        return np.int64(1)
    at = np.int64(entries[entry, col.CELLS])
    if at < 0:
        return np.int64(entries[entry, col.CUSTOMERS] - entries[entry, col.SINGLES])
    while left >= np.int64(cells[at, col.SIZE]) * cells[at, col.COUNT]:
        left -= np.int64(cells[at, col.SIZE]) * cells[at, col.COUNT]
        at = np.int64(cells[at, col.NEXT])
    return np.int64(cells[at, col.SIZE])


@part(bare=True)
def resize_table(pool, entry, size, new_size):
    """A table of an entry gets another size; 0: it comes, or goes."""
    if size > 0:
        _take_table(pool, entry, size)
    if new_size > 0:
        place_table(pool, entry, new_size)


@part(bare=True)
def join_table(pool, entry, stream):
    """A customer joins one of the tables of an entry, with weights size - discount."""
    size = joined_size(pool, entry, stream)
    _take_table(pool, entry, size)
    place_table(pool, entry, size + 1)


@part(bare=True)
def leave_table(pool, entry, stream):
    """One of the customers of an entry, each with the same probability, leaves: whether its table is gone with it."""
    size = left_size(pool, entry, stream)
    _take_table(pool, entry, size)
    if size > 1:
        place_table(pool, entry, size - 1)
    return size == 1


@part(bare=True)
def own_share(pool, node, entry):
    """What a node itself gives to a dish: (c_uw - d t_uw) / (s + c_u); ``entry`` may be NONE."""
    if entry < 0 or pool.entries[entry, col.CUSTOMERS] == 0:
        return 0.0
    law = pool.nodes[node, col.LAW]
    mass = pool.entries[entry, col.CUSTOMERS] - pool.discounts[law] * pool.entries[entry, col.TABLES]
    return mass / (pool.strengths[law] + pool.nodes[node, col.CUSTOMERS])


@part(bare=True)
def passed_on(pool, node):
    """What a node leaves to its parent: (s + d t_u) / (s + c_u), 1 if it is empty."""
    customers, law = pool.nodes[node, col.CUSTOMERS], pool.nodes[node, col.LAW]
    if customers == 0:
        return 1.0
    strength, discount = pool.strengths[law], pool.discounts[law]
    return (strength + discount * pool.nodes[node, col.TABLES]) / (strength + customers)


@part(bare=True)
def probability(pool, node, dish, base):
    """P(dish | node), where ``base`` is its probability above the root."""
    total, weight, entry = 0.0, 1.0, np.int64(NONE)
    node = np.int64(node)
    while node >= 0:
        entry = find_entry(pool, node, dish) if entry < 0 else np.int64(pool.entries[entry, col.UP])
        total += weight * own_share(pool, node, entry)
        weight *= passed_on(pool, node)
        node = np.int64(pool.nodes[node, col.PARENT])
    return total + weight * base


@part(bare=True)
def fill_parents(pool, entry, base):
    """``work[0, k]`` := the probability of the dish above the k-th entry of the chain from ``entry`` to the root."""
    work, depth = pool.work, 0
    while entry >= 0:
        node = np.int64(pool.entries[entry, col.NODE])
        work[0, depth] = own_share(pool, node, entry)
        work[1, depth] = passed_on(pool, node)
        depth += 1
        entry = np.int64(pool.entries[entry, col.UP])
    here = np.float64(base)
    for k in range(depth - 1, -1, -1):
        here, work[0, k] = work[0, k] + work[1, k] * here, here


@part(bare=True)
def seat(pool, entry, base, stream):
    """A customer comes to an entry, and for each new table one to the entry above: whether a root opened a table."""
    entry, level = np.int64(entry), -1
    while entry >= 0:
        customers = pool.entries[entry, col.CUSTOMERS]
        opens = customers == 0
        if not opens:
            node = pool.entries[entry, col.NODE]
            law = pool.nodes[node, col.LAW]
            joining = customers - pool.discounts[law] * pool.entries[entry, col.TABLES]
            opening = pool.strengths[law] + pool.discounts[law] * pool.nodes[node, col.TABLES]
            draw = uniform(stream)
            # The probability above is at most one: often that decides, and the entries above need not be looked at.
            if draw * (joining + opening) >= joining:
                if level < 0:
                    fill_parents(pool, entry, base)
                    level = 0
                opens = draw * (joining + opening * pool.work[0, level]) >= joining
        if not opens:
            join_table(pool, entry, stream)
            return False
        place_table(pool, entry, 1)
        entry = np.int64(pool.entries[entry, col.UP])
        if level >= 0:
            level += 1
    return True


@part(bare=True)
def unseat(pool, entry, stream):
    """A customer of an entry goes, and for each table that closes one above: whether a root closed a table."""
    entry = np.int64(entry)
    while entry >= 0:
        closed = leave_table(pool, entry, stream)
        up = np.int64(pool.entries[entry, col.UP])
        if pool.entries[entry, col.CUSTOMERS] == 0:
            drop_entry(pool, entry)
        if not closed:
            return False
        entry = up
    return True


@part(bare=True)
def reseat(pool, entry, base, stream):
    """A customer of an entry stands up and sits down again: by how much the root's tables of the dish changed.

    Entries that are empty in between are full again at the end, so nothing is freed.
    """
    at, closed = np.int64(entry), True
    while at >= 0 and closed:
        closed = leave_table(pool, at, stream)
        at = np.int64(pool.entries[at, col.UP])
    return np.int64(seat(pool, entry, base, stream)) - np.int64(closed)


@part(bare=True)
def add(pool, node, dish, base, stream):
    """A customer with a dish comes to a node: whether the root opened a table (drew the dish from the base)."""
    return seat(pool, entry_of(pool, node, dish), base, stream)


@part(bare=True)
def remove(pool, node, dish, stream):
    """A customer with a dish leaves a node: whether the root closed a table."""
    return unseat(pool, find_entry(pool, node, dish), stream)
