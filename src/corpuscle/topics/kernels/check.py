"""Whether the state of a topic sampler is sound: every count, every list, every table, whatever its arrays hold.

What must hold of restaurants and their tables: Teh, "A hierarchical Bayesian language model based on Pitman-Yor
processes", 2006; of those of topics: Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models",
2013, section 4.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import FREE, NONE, used_rows
from corpuscle.engine.restaurants.seating import claim, verify_sizes
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.seating import DOUBLY, SWITCHING, Seats
from corpuscle.topics.kernels.state import empty_shares, refresh, restaurants

_claim = partial(claim, "unsound topics")


@kernel(bare=True)
def _walk(heads, items, after, before, owner):
    """``owner[item]`` := in whose list an item is; whether these are lists, each item in one at most."""
    for head in range(len(heads)):
        item, last = np.int64(heads[head]), np.int64(NONE)
        while item != NONE:
            if item < 0 or item >= len(owner) or owner[item] != NONE or items[item, before] != last:
                return False
            owner[item] = head
            item, last = np.int64(items[item, after]), item
    return True


def _lists(heads: np.ndarray, items: np.ndarray, after: int, before: int, name: str) -> np.ndarray:
    """In whose list every item is, int64 (items,), -1 if in none."""
    owner = np.full(len(items), NONE, np.int64)
    sound = _walk(np.ascontiguousarray(heads), np.ascontiguousarray(items), after, before, owner)
    _claim(sound, f"the lists of {name} are no lists")
    return owner


def _verify_entries(seats: Seats) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lists of entries; returns live entries that are no shadows, and their topics and rows."""
    nodes, entries = used_rows(seats.pool)
    links = seats.links[: len(entries)]
    live = entries[:, col.NODE] != FREE
    owner = _lists(seats.rows[:, at.FIRST_ENTRY], links, at.NEXT_ENTRY, at.ENTRY_BEFORE, "entries")
    mains = np.flatnonzero(owner >= 0)
    _claim(live[mains].all(), "a free entry in a list")
    shadows = entries[mains, col.OWN]
    shadows = shadows[shadows != NONE]
    _claim(((shadows >= 0) & (shadows < len(entries))).all(), "a shadow that is no entry")
    seen = np.zeros(len(entries), np.int64)
    seen[mains] = 1
    np.add.at(seen, shadows, 1)
    _claim(((seen == 1) == live).all() and (seen < 2).all(), "an entry that is in no list, or twice")
    _claim(((entries[live, col.NODE] >= 0) & (entries[live, col.NODE] < len(nodes))).all(), "an entry of no restaurant")
    _claim(((entries[live, col.DISH] >= 0) & (entries[live, col.DISH] < len(seats.rows))).all(), "an entry of no row")
    of = nodes[entries[live, col.NODE]]
    _claim((of[:, col.PARENT] == NONE).all(), "an entry of a free restaurant")
    _claim((links[live, at.OF_TOPIC] == of[:, col.SYMBOL]).all(), "an entry of another topic than its restaurant's")
    rows = entries[live, col.DISH]
    _claim((of[:, at.OF_CONTEXT] == seats.rows[rows, at.CONTEXT]).all(), "an entry in another context than its row's")
    _claim((entries[mains, col.DISH] == owner[mains]).all(), "an entry in another row's list")
    with_shadow = mains[entries[mains, col.OWN] >= 0]
    for column in (col.NODE, col.DISH):
        same = entries[entries[with_shadow, col.OWN], column] == entries[with_shadow, column]
        _claim(same.all(), "a shadow of another entry")
    topics = links[mains, at.OF_TOPIC].astype(np.int64)
    keys = owner[mains] * len(seats.alpha) + topics
    _claim(len(np.unique(keys)) == len(keys), "two entries of one topic in a row")
    if seats.method != DOUBLY:
        _claim(len(shadows) == 0, "a shadow")
    return mains, topics, owner[mains]


def _verify_nodes(seats: Seats) -> None:
    nodes, entries = used_rows(seats.pool)
    owner = _lists(seats.contexts[:, at.FIRST_NODE], nodes, at.NEXT_NODE, at.NODE_BEFORE, "restaurants")
    live = nodes[:, col.PARENT] != FREE
    _claim(((owner >= 0) == live).all(), "a restaurant in no context")
    of, topics = owner[live], nodes[live, col.SYMBOL]
    _claim((nodes[live, at.OF_CONTEXT] == of).all(), "a restaurant of another context")
    _claim((nodes[live, col.LAW] == seats.contexts[of, at.DEPTH]).all(), "a restaurant of another depth")
    _claim(((topics >= 0) & (topics < len(seats.alpha))).all(), "a topic that is none")
    keys = of * len(seats.alpha) + topics
    _claim(len(np.unique(keys)) == len(keys), "two restaurants of one topic in a context")
    used = entries[:, col.NODE] >= 0
    for column in (col.CUSTOMERS, col.TABLES):
        sums = np.bincount(entries[used, col.NODE], weights=entries[used, column], minlength=len(nodes))
        _claim((sums[live] == nodes[live, column]).all(), "totals that are not the sums of their dishes")
    _claim((nodes[live, col.CUSTOMERS] > 0).all(), "an empty restaurant")


def _verify_customers(
    seats: Seats, mains: np.ndarray, topics: np.ndarray, rows: np.ndarray, seated: np.ndarray
) -> None:
    """Every customer is a word, a table of a child or, for topic 0 of DOUBLY, a table of label 0."""
    entries = used_rows(seats.pool)[1].astype(np.int64)
    links = seats.links[: len(entries)]
    shadow = entries[mains, col.OWN]
    below = np.where(shadow >= 0, entries[shadow, col.TABLES], 0)
    customers = entries[mains, col.CUSTOMERS] + np.where(shadow >= 0, entries[shadow, col.CUSTOMERS], 0)
    _claim((customers > 0).all() and (entries[shadow[shadow >= 0], col.TABLES] > 0).all(), "an empty entry")
    columns = len(seats.alpha)
    keys = rows * columns + topics
    order = np.argsort(keys)

    def found(wanted: np.ndarray) -> np.ndarray:
        """Which of ``mains`` have these keys, as far as any has; none if there are no entries at all."""
        return order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)] if len(order) else wanted[:0]

    child = _lists(links[:, at.FIRST_CHILD], links, at.NEXT_CHILD, at.CHILD_BEFORE, "children")
    parent = seats.rows[rows, at.ABOVE].astype(np.int64)
    linked = (entries[mains, col.TABLES] > 0) & (parent >= 0)
    _claim(((child[mains] >= 0) == linked).all() and (child >= 0).sum() == linked.sum(), "a child without a parent")
    up = entries[mains, col.UP]
    _claim((np.where(linked, child[mains], NONE) == up).all(), "a child of another entry")
    place = found(parent[linked] * columns + topics[linked])
    _claim((mains[place] == up[linked]).all(), "a child of another row or topic")
    expected = np.bincount(up[linked], weights=entries[mains[linked], col.TABLES], minlength=len(entries))
    words = seats.words[seated]
    wanted = words[:, at.ROW].astype(np.int64) * columns + words[:, at.TOPIC]
    place = found(wanted)
    _claim(len(place) == len(wanted) and (keys[place] == wanted).all(), "a word that sits nowhere")
    sitting = _lists(links[:, at.FIRST_WORD], seats.words, at.NEXT_WORD, at.WORD_BEFORE, "words")
    _claim((sitting >= 0).sum() == len(seated) and (sitting[seated] == mains[place]).all(), "a word at another entry")
    expected = expected + np.bincount(mains[place], minlength=len(entries))
    if below.any():
        _claim((topics[below > 0] > 0).all(), "topic 0 leaning on itself")
        wanted = rows[below > 0] * columns
        place = found(wanted)
        _claim((keys[place] == wanted).all(), "a table without its customer in topic 0")
        expected = expected + np.bincount(mains[place], weights=below[below > 0], minlength=len(entries))
    _claim((expected[mains] == customers).all(), "customers that came from nowhere")


def _verify_words(seats: Seats, seated: np.ndarray, rebuild: bool) -> None:
    words = seats.words[seated].astype(np.int64)
    columns = len(seats.alpha)
    lowest = 0 if seats.method == SWITCHING else 1
    _claim(((words[:, at.TOPIC] >= lowest) & (words[:, at.TOPIC] < columns)).all(), "a topic that is none")
    _claim(((words[:, at.ROW] >= 0) & (words[:, at.ROW] < len(seats.rows))).all(), "a word at no row")
    depth = seats.contexts[seats.rows[words[:, at.ROW], at.CONTEXT], at.DEPTH]
    row = words[:, at.LONGEST].copy()
    for gap in range(int(words[:, at.AVAILABLE].max(initial=0)), 0, -1):
        higher = words[:, at.AVAILABLE] - depth >= gap
        row[higher] = seats.rows[row[higher], at.ABOVE]
    _claim((row == words[:, at.ROW]).all(), "a word at a row that is not its own")
    _claim(not seats.fixed or (depth == words[:, at.AVAILABLE]).all(), "a word that does not use its whole context")
    counts = np.bincount(words[:, at.DOCUMENT] * columns + words[:, at.TOPIC], minlength=len(seats.documents) * columns)
    counts = counts.reshape(-1, columns)
    if rebuild:
        seats.documents[:, :-1], seats.documents[:, -1] = counts, counts[:, 1:].sum(1)
    _claim((counts == seats.documents[:, :-1]).all(), "wrong counts of topics")
    _claim((seats.documents[:, 1:-1].sum(1) == seats.documents[:, -1]).all(), "wrong numbers of words with a topic")
    stops, passes = np.zeros(len(seats.contexts), np.int64), np.zeros(len(seats.contexts), np.int64)
    if not seats.fixed:
        stops += np.bincount(seats.rows[words[:, at.ROW], at.CONTEXT], minlength=len(stops))
        levels = seats.contexts[:, at.DEPTH]
        for m in range(int(levels.max()), 0, -1):
            here = np.flatnonzero(levels == m)
            through = np.bincount(seats.contexts[here, at.ABOVE], (stops + passes)[here], len(stops))
            passes += through.astype(np.int64)
    for column, expected in ((at.STOPPED, stops), (at.PASSED, passes)):
        _claim((seats.contexts[:, column] == expected).all(), "wrong numbers of words that stopped")


def _verify_switch(seats: Seats, mains: np.ndarray, topics: np.ndarray, rows: np.ndarray, seated: np.ndarray) -> None:
    contexts, switch = seats.contexts, seats.switch
    expected = np.zeros((len(contexts), 2), np.int64)
    if seats.method == SWITCHING:
        words = seats.words[seated]
        np.add.at(expected, (seats.rows[words[:, at.ROW], at.CONTEXT], (words[:, at.TOPIC] > 0).astype(int)), 1)
    elif seats.method == DOUBLY:
        chosen = topics > 0
        of, entries = seats.rows[rows[chosen], at.CONTEXT], seats.pool.entries
        shadow = entries[mains[chosen], col.OWN]
        np.add.at(expected, (of, 1), entries[mains[chosen], col.TABLES])
        np.add.at(expected, (of, 0), np.where(shadow >= 0, entries[shadow, col.TABLES], 0))
    levels, used = contexts[:, at.DEPTH], int(switch.counters[col.NODES, col.USED])
    nodes = contexts[:, at.SWITCH].astype(np.int64)
    filled = np.flatnonzero(nodes != NONE)
    _claim(((nodes[filled] >= 0) & (nodes[filled] < used)).all(), "a switch that does not exist")
    _claim(len(np.unique(nodes[filled])) == len(filled), "a switch of two contexts")
    live = switch.nodes[:used, col.PARENT] != FREE
    _claim(live.sum() == len(filled) and live[nodes[filled]].all(), "a switch of no context")
    _claim((switch.nodes[nodes[filled], col.LAW] == levels[filled]).all(), "a switch of another depth")
    for m in range(int(levels.max()), -1, -1):
        here = filled[levels[filled] == m]
        pair = 2 * nodes[here, None] + np.arange(2)
        _claim((switch.entries[pair, col.NODE] == nodes[here, None]).all(), "a switch without its labels")
        _claim((switch.entries[pair, col.CUSTOMERS] == expected[here]).all(), "switch customers that came from nowhere")
        _claim((expected[here].sum(1) == switch.nodes[nodes[here], col.CUSTOMERS]).all(), "wrong totals of a switch")
        tables = switch.entries[pair, col.TABLES]
        _claim((tables.sum(1) == switch.nodes[nodes[here], col.TABLES]).all(), "wrong totals of a switch")
        above = contexts[here, at.ABOVE]
        up = np.full((len(here), 2), NONE) if m == 0 else 2 * nodes[above, None] + np.arange(2)
        _claim((switch.entries[pair, col.UP] == up).all(), "a switch below another one")
        if m:
            np.add.at(expected, above, tables)
    _claim((expected.sum(1)[nodes == NONE] == 0).all() and (expected.sum(1)[filled] > 0).all(), "an empty switch")


def verify(seats: Seats, seated: np.ndarray | None = None, *, rebuild: bool = False) -> None:
    """Check everything; ``ValueError`` says what is wrong. ``seated``: the words that sit somewhere (default: all);
    ``rebuild``: make the dense tables and the counts of documents, which follow from the rest, instead of checking."""
    seated = np.arange(len(seats.words)) if seated is None else seated
    for pool in (seats.pool, seats.switch):
        verify_sizes(restaurants(pool))
    mains, topics, rows = _verify_entries(seats)
    _verify_nodes(seats)
    places = np.full_like(seats.places, NONE)
    slot = seats.rows[rows, at.SLOT]
    places[slot[slot >= 0], topics[slot >= 0]] = mains[slot >= 0]
    nodes, _ = used_rows(seats.pool)
    live = np.flatnonzero(nodes[:, col.PARENT] != FREE)
    slot = seats.contexts[nodes[live, at.OF_CONTEXT], at.SLOT]
    places[slot[slot >= 0], nodes[live, col.SYMBOL][slot >= 0]] = live[slot >= 0]
    if rebuild:
        seats.places[:] = places
    _claim(np.array_equal(seats.places, places), "a dense table that points elsewhere")
    kept = seats.shares.copy()
    empty_shares(seats)
    refresh(seats)
    _claim(rebuild or np.array_equal(kept, seats.shares), "a dense table that is out of date")
    _verify_words(seats, seated, rebuild)
    _verify_customers(seats, mains, topics, rows, seated)
    _verify_switch(seats, mains, topics, rows, seated)
