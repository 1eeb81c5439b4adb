"""The state of a topic sampler from outside: how it begins, grows, is judged, checked and drawn parameters for.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, section 4; parameters are drawn
as in section 4.3.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import NONE, Restaurants, free_items, longer, new_pool
from corpuscle.engine.restaurants.seating import log_seating, sample_parameters
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.grams import Grams
from corpuscle.topics.kernels.seating import ALL_ALPHA, BASE, DOUBLY, SEPARATE, Buffers, Seats, UnindexedPool, note

_CHUNK = 1 << 17


def _new_pool(depths: int, nodes: int, entries: int, cells: int, discount: float) -> UnindexedPool:
    pool = new_pool(depths, nodes=nodes, entries=entries, cells=cells, indexed=False, discount=discount)
    return UnindexedPool(*(getattr(pool, name) for name in UnindexedPool._fields))


def restaurants(tables: UnindexedPool) -> Restaurants:
    """The same arrays as ``engine.restaurants.seating`` knows them."""
    lookup = np.full(1, NONE, np.int32)
    return Restaurants(
        **tables._asdict(), node_index=lookup, entry_index=lookup, stop_prior=np.ones(2), path=np.zeros(1, np.int32)
    )


def empty_shares(seats: Seats) -> None:
    """Make the dense numbers those of empty restaurants."""
    seats.shares[:] = 0.0
    slot = seats.contexts[:, at.SLOT]
    seats.shares[slot[slot >= 0] + 1] = 1.0


def new_seats(
    grams: Grams,
    document_of: np.ndarray,
    topics: int,
    method: int,
    base: float,
    *,
    fixed: bool = True,
    top: float = 0.5,
    stop_prior: tuple[float, float] = (4.0, 1.0),
    dense: int | None = None,
) -> Seats:
    """No word seated yet. ``document_of``: (words,), the document of every word; ``base``: the probability of any one
    word; ``top``: the prior mean of the switch; ``dense``: how frequent an n-gram or context must be to have a slot."""
    columns, depths = topics + 1, len(grams.row_levels) - 1
    n_documents = int(document_of.max(initial=-1)) + 1
    dense = max(8, columns // 4) if dense is None else dense
    rows = np.full((len(grams.row_parent), 4), NONE, np.int32)
    rows[:, at.ABOVE], rows[:, at.CONTEXT] = grams.row_parent, grams.row_context
    contexts = np.full((len(grams.context_parent), 8), NONE, np.int32)
    contexts[:, at.ABOVE] = grams.context_parent
    contexts[:, at.DEPTH] = np.repeat(np.arange(depths), np.diff(grams.context_levels))
    contexts[:, at.STOPPED] = contexts[:, at.PASSED] = 0
    frequent = grams.context_count >= dense
    frequent[0] = True  # the empty context is never rare
    contexts[frequent, at.SLOT] = 2 * np.arange(frequent.sum())
    slots = 2 * int(frequent.sum())
    frequent = grams.row_count >= dense
    rows[frequent, at.SLOT] = slots + np.arange(frequent.sum())
    slots += int(frequent.sum())
    words = np.full((len(grams.longest), 8), NONE, np.int32)
    words[:, at.LONGEST], words[:, at.AVAILABLE] = grams.longest, grams.available
    words[:, at.DOCUMENT] = document_of
    room = len(words) + 1024
    switches = len(contexts) if fixed and method != SEPARATE else 64
    alpha = np.full(columns, 1.0)
    alpha[0] = 0.0
    seats = Seats(
        method, fixed, _new_pool(depths, room, room, room // 8, 0.5),
        _new_pool(depths, switches, 2 * switches, switches // 4 + 256, 0.0), rows, contexts, words,
        np.full((room, 8), NONE, np.int32), np.full((slots, columns), NONE, np.int32),
        np.zeros((slots, columns)), np.zeros((n_documents, columns + 1), np.int32), alpha,
        np.array([base, top, alpha.sum(), *stop_prior]),
    )  # fmt: skip
    empty_shares(seats)
    return seats


def new_buffers(seats: Seats) -> Buffers:
    """Room for the steps of one sampler."""
    depths, columns = len(seats.pool.discounts), len(seats.alpha)
    return Buffers(
        np.zeros((depths + 1, columns)), np.zeros((depths, columns)), np.zeros(columns), np.zeros(depths),
        np.zeros(depths), np.zeros((depths, 2), np.int32),
    )  # fmt: skip


def _with_room(pool: UnindexedPool, items: int, entries_a_node: int) -> UnindexedPool:
    """A pool with room for so many more nodes and entries; ``entries_a_node``: 2 for switches, 0 for free ones."""
    replaced = {}
    for row, name, need in (
        (col.NODES, "nodes", items),
        (col.ENTRIES, "entries", 0 if entries_a_node else items),
        (col.CELL_ROWS, "cells", 2 * items),
    ):
        array = getattr(pool, name)
        if free_items(pool.counters, row, array) < need:
            replaced[name] = longer(array, len(array) + len(array) // 2 + need, NONE)
    if entries_a_node and "nodes" in replaced:
        replaced["entries"] = longer(pool.entries, entries_a_node * len(replaced["nodes"]), NONE)
    if any(len(array) >= 2**31 for array in replaced.values()):
        raise ValueError("more than 2^31 seats in one model")
    return pool._replace(**replaced)


def more_room(seats: Seats, items: int) -> Seats:
    """The same state with room for so many more restaurants and entries."""
    pool, switch = _with_room(seats.pool, items, 0), _with_room(seats.switch, items, 2)
    links = seats.links
    if len(pool.entries) > len(links):
        links = longer(links, len(pool.entries), NONE)
    return seats._replace(pool=pool, switch=switch, links=links)


@kernel(bare=True)
def _note_all(seats, first, last):
    for row in range(first, last):
        entry = np.int64(seats.rows[row, at.FIRST_ENTRY])
        while entry >= 0:
            note(seats, entry)
            entry = np.int64(seats.links[entry, at.NEXT_ENTRY])


def refresh(seats: Seats) -> None:
    """Bring the dense tables up to date after a change of discounts or strengths."""
    for first in range(0, len(seats.rows), _CHUNK):
        _note_all(seats, first, min(first + _CHUNK, len(seats.rows)))


def sample_discounts(seats: Seats, seed: int, iteration: int) -> None:
    """Draw the discounts and strengths of every depth, pooled over topics, and the strengths of the switches."""
    sample_parameters(restaurants(seats.pool), seed, 2 * iteration)
    if seats.method != SEPARATE:
        sample_parameters(restaurants(seats.switch), seed, 2 * iteration + 1, discounts=False)
    refresh(seats)


def set_prior(seats: Seats, alpha: np.ndarray) -> None:
    """Another Dirichlet prior of topics, float64 (K,)."""
    seats.alpha[1:] = alpha
    seats.numbers[ALL_ALPHA] = seats.alpha.sum()


def log_joint(seats: Seats) -> float:
    """Natural log of the joint probability of words, topics and seats given all parameters."""
    from scipy.special import betaln, gammaln

    nodes = seats.pool.nodes[: int(seats.pool.counters[col.NODES, col.USED])]
    roots = nodes[(nodes[:, 0] == NONE) & (nodes[:, 2] == 0)]
    drawn = roots[:, col.TABLES].sum()
    if seats.method == DOUBLY:  # tables of label 0 took their word from topic 0
        rows = np.flatnonzero(seats.rows[:, at.ABOVE] == NONE)
        entries = seats.pool.entries[: int(seats.pool.counters[col.ENTRIES, col.USED])]
        live = np.flatnonzero((entries[:, col.NODE] >= 0) & (entries[:, col.OWN] >= 0))
        live = live[np.isin(entries[live, col.DISH], rows)]
        drawn -= entries[entries[live, col.OWN], col.TABLES].sum()
    total = log_seating(restaurants(seats.pool)) + float(drawn) * float(np.log(seats.numbers[BASE]))
    if seats.method != SEPARATE and seats.contexts[0, at.SWITCH] >= 0:
        root = 2 * int(seats.contexts[0, at.SWITCH])
        tops = (1.0 - seats.numbers[at.TOP], seats.numbers[at.TOP])
        tables = seats.switch.entries[root : root + 2, col.TABLES]
        total += log_seating(restaurants(seats.switch))
        total += sum(float(n * np.log(top)) for n, top in zip(tables, tops, strict=True) if n)
    if not seats.fixed:
        # A word that uses all the context it has did not choose to stop.
        forced = seats.words[seats.words[:, at.ROW] == seats.words[:, at.LONGEST], at.ROW]
        forced = np.bincount(seats.rows[forced, at.CONTEXT], minlength=len(seats.contexts))
        stops, passes = seats.contexts[:, at.STOPPED] - forced, seats.contexts[:, at.PASSED]
        seen = stops + passes > 0
        a, b = seats.numbers[at.STOP_PRIOR :]
        total += float((betaln(stops[seen] + a, passes[seen] + b) - betaln(a, b)).sum())
    alpha = seats.alpha[1:]
    counts = seats.documents[:, 1:-1]
    total += float((gammaln(counts + alpha) - gammaln(alpha)).sum())
    total -= float((gammaln(seats.documents[:, -1] + alpha.sum()) - gammaln(alpha.sum())).sum())
    return total
