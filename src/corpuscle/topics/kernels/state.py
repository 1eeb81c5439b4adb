"""The state of a topic sampler: its beginning, its growth, its probability, and sampling its parameters.

**The n-grams of a text** are numbered once, and never change while topics are sampled. A *row* is an n-gram hw, a
*context* is its h; the parent of either lacks the oldest word. Rows are numbered depth by depth, where depth is the
length of h, and within a depth by their parent and then by their oldest word, so the extensions of a row to the left
are consecutive. The same holds for contexts; context 0 is the empty one.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, section 4; parameters are drawn
as in section 4.3."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import NONE, Restaurants, free_items, longer, new_pool, used_rows
from corpuscle.engine.restaurants.seating import log_seating, sample_parameters
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.seating import ALL_ALPHA, BASE, DOUBLY, SEPARATE, Buffers, Seats, UnindexedPool, note


class Grams(NamedTuple):
    """All n-grams of a text and where its words stand among them.

    - ``row_symbol``: int32 (rows,), the oldest word of a row; ``row_parent``: int32 (rows,), -1 at depth 0;
    - ``row_context``: int32 (rows,); ``row_count``: int32 (rows,), how many words of the text have it;
    - ``row_levels``, ``context_levels``: int64 (depths + 1,), where the rows and contexts of each depth begin;
    - ``context_symbol``: int32 (contexts,), 0 for the empty context; ``context_parent``: int32 (contexts,), -1 for it;
    - ``context_count``: int32 (contexts,);
    - ``longest``: int32 (words,), the row of every word with the longest context that it has;
    - ``available``: uint8 (words,), the depth of that row.
    """

    row_symbol: np.ndarray
    row_parent: np.ndarray
    row_context: np.ndarray
    row_count: np.ndarray
    row_levels: np.ndarray
    context_symbol: np.ndarray
    context_parent: np.ndarray
    context_count: np.ndarray
    context_levels: np.ndarray
    longest: np.ndarray
    available: np.ndarray


class _Level(NamedTuple):
    """The items of one depth: parents, oldest symbols, counts, and the item of every word that has one."""

    parent: np.ndarray
    symbol: np.ndarray
    counts: np.ndarray
    of_word: np.ndarray


def _extend(of_word: np.ndarray, symbols: np.ndarray, n_types: int, first: int) -> _Level:
    """Items one symbol longer, numbered from ``first`` on; ``of_word`` and ``symbols``: (words,)."""
    keys, of_word, counts = np.unique(
        of_word.astype(np.int64) * n_types + symbols, return_inverse=True, return_counts=True
    )
    parent, symbol = np.divmod(keys, n_types)
    return _Level(parent, symbol, counts, of_word + first)


def number_grams(symbols: np.ndarray, available: np.ndarray, start: int, n_types: int) -> Grams:
    """The n-grams of a stream of symbols in which ``start`` begins every sentence and is not itself a word;
    ``available``: uint8 (n_symbols,), the length of the longest context of each symbol."""
    words = np.flatnonzero(symbols != start)
    available = available[words]
    zero = np.zeros(len(words), np.int64)
    rows = [_extend(zero, symbols[words], n_types, 0)]
    contexts = [_Level(np.array([-1]), np.array([0]), np.array([len(words)]), zero)]
    rows[0].parent[:] = -1
    row_context = [np.zeros(len(rows[0].parent), np.int64)]
    row_levels, context_levels = [0, len(rows[0].parent)], [0, 1]
    longest = rows[0].of_word.copy()
    chosen = np.arange(len(words))  # the words that have a context of this depth
    for depth in range(1, int(available.max(initial=0)) + 1):
        deeper = np.flatnonzero(available[chosen] >= depth)
        chosen = chosen[deeper]
        before = symbols[words[chosen] - depth]
        rows.append(_extend(rows[-1].of_word[deeper], before, n_types, row_levels[-1]))
        contexts.append(_extend(contexts[-1].of_word[deeper], before, n_types, context_levels[-1]))
        context = np.empty(len(rows[-1].parent), np.int64)
        context[rows[-1].of_word - row_levels[-1]] = contexts[-1].of_word
        row_context.append(context)
        longest[chosen] = rows[-1].of_word
        row_levels.append(row_levels[-1] + len(rows[-1].parent))
        context_levels.append(context_levels[-1] + len(contexts[-1].parent))
    if row_levels[-1] >= 2**31:
        raise ValueError("more than 2^31 n-grams in one text")

    def joined(levels: list[_Level], field: int) -> np.ndarray:
        return np.concatenate([level[field] for level in levels]).astype(np.int32)

    return Grams(
        joined(rows, 1), joined(rows, 0), np.concatenate(row_context).astype(np.int32), joined(rows, 2),
        np.array(row_levels, np.int64), joined(contexts, 1), joined(contexts, 0), joined(contexts, 2),
        np.array(context_levels, np.int64), longest.astype(np.int32), available,
    )  # fmt: skip


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
        np.array([base, top, alpha.sum(), *at.STOPPING]),
    )  # fmt: skip
    empty_shares(seats)
    return seats


def new_buffers(seats: Seats) -> Buffers:
    depths, columns = len(seats.pool.discounts), len(seats.alpha)
    return Buffers(
        np.zeros((depths + 1, columns)), np.zeros((depths, columns)), np.zeros(columns), np.zeros(depths),
        np.zeros(depths), np.zeros((depths, 2), np.int32),
    )  # fmt: skip


def _with_room(pool: UnindexedPool, items: int, entries_a_node: int) -> UnindexedPool:
    """A pool with room for N more nodes and entries; ``entries_a_node``: 2 for switches, else 0."""
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
    """The same state with room for N more restaurants and entries."""
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

    nodes, entries = used_rows(seats.pool)
    roots = nodes[(nodes[:, col.PARENT] == NONE) & (nodes[:, col.LAW] == 0)]
    drawn = roots[:, col.TABLES].sum()
    if seats.method == DOUBLY:  # tables of label 0 took their word from topic 0
        rows = np.flatnonzero(seats.rows[:, at.ABOVE] == NONE)
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
