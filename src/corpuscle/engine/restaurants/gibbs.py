"""Gibbs sampling of a Pitman-Yor language model of a text: fixed order over a trie of n-grams, or variable order.

Fixed order. The n-grams of a text do not change, so nothing is looked up: the row of an n-gram in the trie *is* its
entry in the pool, and its context's row, plus one, its node (the root is node 0). A sweep goes through the rows and
lets each word that sits there stand up and sit down again. All that a sample of the model adds to the counts of the
text is the number of tables of every n-gram: its customers are the words whose context is no longer, and the tables of
the n-grams that extend it to the left.

Variable order. A sweep goes through the text; every word leaves, chooses the depth of its context and comes back.

Teh, "A hierarchical Bayesian language model based on Pitman-Yor processes", 2006, for the fixed order; Mochihashi and
Sumita, "The infinite Markov model", 2007, for the variable order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import BackoffTables, Ngrams, log_tables
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import reseat, seat
from corpuscle.engine.restaurants.pool import (
    FREE,
    NONE,
    Restaurants,
    find_context,
    find_entry,
    has_free,
    has_room,
    new_pool,
)
from corpuscle.engine.restaurants.variable import add_variable, remove_variable


def direct_counts(ngrams: Ngrams, start: int) -> np.ndarray:
    """How many words of the text have each n-gram, but no longer one, as context and word: int32 (rows,).

    Nobody predicts the symbol ``start``, so rows that end with it have none.
    """
    direct = ngrams.counts.astype(np.int64)
    longer = np.flatnonzero(ngrams.suffix >= 0)
    direct -= np.bincount(ngrams.suffix[longer], weights=ngrams.counts[longer], minlength=len(direct)).astype(np.int64)
    direct[ngrams.words == start] = 0
    if (direct < 0).any():
        raise ValueError("the counts of this model contradict one another")
    return direct.astype(np.int32)


def static_pool(ngrams: Ngrams, start: int) -> Restaurants:
    """An empty pool with a node for each context and an entry for each row."""
    rows, contexts = len(ngrams.words), int(ngrams.levels[-2])
    pool = new_pool(ngrams.order, nodes=contexts + 1, entries=rows, cells=rows // 50 + 256, indexed=False)
    # The row of every row's context, -1 for unigrams.
    context = np.full(rows, -1)
    context[ngrams.levels[1] :] = np.repeat(np.arange(contexts), np.diff(ngrams.first_child))
    oldest = np.array(ngrams.words[:contexts], np.int32)
    for m in range(2, ngrams.order):
        span = slice(int(ngrams.levels[m - 1]), int(ngrams.levels[m]))
        oldest[span] = oldest[context[span]]
    nodes, entries = pool.nodes, pool.entries
    nodes[0, col.PARENT] = nodes[0, col.SYMBOL] = NONE
    nodes[1:, col.PARENT] = ngrams.suffix[:contexts] + 1
    nodes[1:, col.SYMBOL] = oldest
    nodes[1:, col.LAW] = np.repeat(np.arange(1, ngrams.order), np.diff(ngrams.levels)[: ngrams.order - 1])
    nodes[:, col.CHILDREN] = np.bincount(nodes[1:, col.PARENT], minlength=len(nodes))
    entries[:, col.NODE] = context + 1
    entries[:, col.DISH] = ngrams.words
    entries[:, col.UP] = ngrams.suffix
    entries[:, col.CELLS] = NONE
    unused = np.flatnonzero(ngrams.words == start)
    entries[unused, :] = 0
    entries[unused, col.NODE] = FREE
    entries[unused, col.DISH] = np.append(unused[1:], NONE)
    pool.counters[col.NODES, col.USED], pool.counters[col.ENTRIES, col.USED] = contexts + 1, rows
    pool.counters[col.ENTRIES, col.FREE_HEAD] = unused[0] if len(unused) else NONE
    pool.counters[col.ENTRIES, col.FREE_COUNT] = len(unused)
    return pool


@kernel(bare=True)
def sweep_rows(pool, direct, base, first, last, done, come, stream):
    """Reseat the words that sit at the rows ``first`` to ``last`` (``come``: seat them for the first time), the first
    ``done`` of the first row excepted. Returns ``(last, 0)``, or row and number where there was no more room."""
    deepest = len(pool.path) - 2
    for row in range(first, last):
        while done < direct[row]:
            if not has_free(pool, 0, 0, 4 * (deepest + 2)):  # no node and no entry is made
                return row, done
            if come:
                seat(pool, np.int64(row), base, stream)
            else:
                reseat(pool, np.int64(row), base, stream)
            done += 1
        done = np.int64(0)
    return last, done


def customers_of(ngrams: Ngrams, direct: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """The customers of every row, int64 (rows,), in a sample with these tables; ``ValueError`` if there is none."""
    longer = np.flatnonzero(ngrams.suffix >= 0)
    customers = direct + np.bincount(ngrams.suffix[longer], weights=tables[longer], minlength=len(tables))
    if (tables > customers).any() or ((customers > 0) & (tables < 1)).any():
        raise ValueError("every n-gram with customers has tables, at most as many")
    return customers.astype(np.int64)


@kernel
def _predict(first_child, suffix, customers, tables, discount, strength, first, last, probability, backoff):
    """Probabilities of the children of contexts of one order, and what these contexts pass on."""
    for context in range(first, last):
        total, occupied = np.int64(0), np.int64(0)
        for row in range(first_child[context], first_child[context + 1]):
            total += customers[row]
            occupied += tables[row]
        if total == 0:
            for row in range(first_child[context], first_child[context + 1]):
                probability[row] = 0.0
            continue
        backoff[context] = (strength + discount * occupied) / (strength + total)
        for row in range(first_child[context], first_child[context + 1]):
            own = (customers[row] - discount * tables[row]) / (strength + total)
            below = backoff[context] * probability[suffix[row]]
            probability[row] = own + below if customers[row] > 0 else 0.0


def backoff_tables(
    ngrams: Ngrams,
    customers: np.ndarray,
    tables: np.ndarray,
    discounts: np.ndarray,
    strengths: np.ndarray,
    predictable: np.ndarray,
) -> BackoffTables:
    """One sample as a back-off model, exactly: a seen n-gram has its probability, a context passes the rest on.

    ``customers``, ``tables``: (rows,); ``discounts``, ``strengths``: float64 (order,); ``predictable``: bool
    (n_types,), the symbols that share the base measure evenly.
    """
    levels = ngrams.levels.tolist()
    customers, tables = frozen(customers, np.int64), frozen(tables, np.int32)
    probability, backoff = np.empty(levels[-1]), np.ones(levels[-2])
    unigrams = slice(0, levels[1])
    total, occupied = customers[unigrams].sum(), tables[unigrams].astype(np.int64).sum()
    own = (customers[unigrams] - discounts[0] * tables[unigrams]) / (strengths[0] + total)
    rest = (strengths[0] + discounts[0] * occupied) / (strengths[0] + total)
    probability[unigrams] = np.where(predictable, own + rest / predictable.sum(), 0.0)
    for m in range(1, ngrams.order):
        for first in range(levels[m - 1], levels[m], 1 << 19):
            _predict(
                ngrams.first_child, ngrams.suffix, customers, tables, float(discounts[m]), float(strengths[m]),
                first, min(first + (1 << 19), levels[m]), probability, backoff,
            )  # fmt: skip
    return log_tables(ngrams, probability, backoff)


class Text(NamedTuple):
    """What is sampled: ``symbols`` int32 (n_symbols,), of which ``start`` begins a sentence and is not predicted;
    ``available`` uint8 (n_symbols,), how many symbols before each it may look at; ``depths`` uint8 (n_symbols,), how
    many it does look at, kept up to date; ``base``, the probability of any symbol before anything is known."""

    symbols: np.ndarray
    available: np.ndarray
    depths: np.ndarray
    start: int
    base: float


def available_context(symbols: np.ndarray, start: int, deepest: int) -> np.ndarray:
    """How many symbols before each belong to its sentence, ``start`` included, at most ``deepest``: uint8."""
    places = np.arange(len(symbols), dtype=np.int32)
    begins = np.maximum.accumulate(np.where(symbols == start, places, 0))
    return np.minimum(places - begins, deepest).astype(np.uint8)


@kernel(bare=True)
def sweep_text(pool, root, text, first, last, come, stream):
    """Let the symbols ``first`` to ``last`` (all but ``start``) choose their depths anew, or for the first time
    (``come``). Returns ``last``, or where there was no more room."""
    symbols, depths, deepest = text.symbols, text.depths, len(pool.path) - 2
    for i in range(first, last):
        dish = np.int64(symbols[i])
        if dish == text.start:
            continue
        if not has_room(pool, deepest):
            return i
        if not come:
            remove_variable(pool, root, symbols, i, np.int64(depths[i]), dish, stream)
        depths[i] = add_variable(pool, root, symbols, i, np.int64(text.available[i]), dish, text.base, stream)
    return last


@kernel(bare=True)
def count_stops(pool, root, text, n_symbols, counts):
    """``counts[entry]`` += those of the first symbols that sit there according to ``depths``; whether all of them have
    a place."""
    for i in range(n_symbols):
        if text.symbols[i] == text.start:
            continue
        if text.depths[i] > text.available[i]:
            return False
        node = find_context(pool, root, text.symbols, i, text.depths[i])
        entry = find_entry(pool, node, np.int64(text.symbols[i]))
        if pool.nodes[node, col.LAW] != text.depths[i] or entry < 0:
            return False
        counts[entry] += 1
    return True
