"""How likely every topic would be as the new home of a block of tables and words.

The weight of a topic is the probability that it would give the top table's word to it, times the probability of seating
the block's tables in its restaurants, times that of its words' documents choosing it. For SWITCHING the probability
that all words of the block have the same switch is computed with fractional customers, see ``switch_probability``.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, section 4.2, equations 10-13:
their S is the block.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.restaurants import pool as col
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.seating import SWITCHING, Seats
from corpuscle.topics.kernels.token_sampler import fill_levels, fill_passed, fill_path

_FACTORS = 24
"""So many factors of a weight are multiplied before their logarithm is taken."""

# Columns of the tables of a block.
TABLE_ROW, TABLE_SIZE, TABLE_ENTRY = range(3)
# Places in ``numbers``: how many tables and words the block has, how many factors were multiplied since logarithms were
# taken, and whether they were.
N_TABLES, N_WORDS, N_FACTORS, FOLDED = range(4)


class Block(NamedTuple):
    """Room for one block.

    - ``counts``: int32 (rows,), how many words of the text have each row;
    - ``tables``: int32 (room, 3): row, size and (before the move) entry; ``words``, ``objects``: int32 (room,);
    - ``numbers``: int64 (4,); ``weights``, ``logs``: float64 (K + 1,);
    - ``seen``: int32 (contexts, 2) and ``of_document``: int32 (documents,), the block's tables, customers and words
      that have been weighed already; ``fraction``: float64 (contexts, 2), its switch customers;
    - ``path``: int32, ``chance``: float64 (depths,).
    """

    counts: np.ndarray
    tables: np.ndarray
    words: np.ndarray
    objects: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    logs: np.ndarray
    seen: np.ndarray
    of_document: np.ndarray
    fraction: np.ndarray
    path: np.ndarray
    chance: np.ndarray


def new_block(seats: Seats, counts: np.ndarray) -> Block:
    """Room for the blocks of one sampler; ``counts``: int32 (rows,), how many words have each row."""
    depths, columns, most = len(seats.pool.discounts), len(seats.alpha), int(counts.max(initial=0)) + 1
    return Block(
        counts, np.zeros((most * depths, 3), np.int32), np.zeros(most, np.int32), np.zeros(most, np.int32),
        np.zeros(4, np.int64), np.zeros(columns), np.zeros(columns), np.zeros((len(seats.contexts), 2), np.int32),
        np.zeros(len(seats.documents), np.int32),
        np.zeros((len(seats.contexts) if seats.method == SWITCHING else 1, 2)), np.zeros(depths, np.int32),
        np.zeros(depths),
    )  # fmt: skip


@part(inline=True)
def _fold(block, factors):
    """Note that so many factors were multiplied; take logarithms before they get too small or too large."""
    block.numbers[N_FACTORS] += factors
    if block.numbers[N_FACTORS] > _FACTORS:
        for k in range(len(block.weights)):
            if block.weights[k] > 0.0:
                block.logs[k] += math.log(block.weights[k])
                block.weights[k] = 1.0
        block.numbers[N_FACTORS] = 0
        block.numbers[FOLDED] = 1


@part(inline=True)
def _weigh_in_slot(seats, block, slot, law, size, tables, customers):
    """Multiply by the probability of one more table in a frequent context where the block has some already."""
    weights, topics = block.weights, len(block.weights)
    shares = seats.shares
    discount, strength = seats.pool.discounts[law], seats.pool.strengths[law]
    if size == 1 and tables == 0:
        for k in range(topics):
            weights[k] *= shares[slot + 1, k]
        _fold(block, 1)
        return
    for k in range(topics):
        total = strength if shares[slot, k] == 0.0 else 1.0 / shares[slot, k]
        weights[k] *= (shares[slot + 1, k] * total + discount * tables) / (total + customers)
    _fold(block, 2)
    done = 1
    while done < size:  # eight factors at a time: one division for them, and no product that is too large
        upto = min(size, done + 8)
        for k in range(topics):
            total = strength if shares[slot, k] == 0.0 else 1.0 / shares[slot, k]
            product = 1.0
            for j in range(done, upto):
                product *= total + customers + j
            weights[k] /= product
        _fold(block, upto - done)
        done = upto


@part(inline=True)
def _weigh_in_list(seats, block, context, law, size, tables, customers):
    """The same in a rare context, relative to a topic that has nothing there."""
    nodes, discount, strength = seats.pool.nodes, seats.pool.discounts[law], seats.pool.strengths[law]
    node = np.int64(seats.contexts[context, at.FIRST_NODE])
    while node >= 0:
        opening, total = strength + discount * nodes[node, col.TABLES], strength + nodes[node, col.CUSTOMERS]
        if tables == 0:  # the strength itself, of which nothing but the ratio may be asked, cancels
            factor = opening / total
        else:
            factor = (opening + discount * tables) / (strength + discount * tables)
            factor *= (strength + customers) / (total + customers)
        for j in range(1, size):
            factor *= (strength + customers + j) / (total + customers + j)
        block.weights[nodes[node, col.SYMBOL]] *= factor
        node = np.int64(nodes[node, at.NEXT_NODE])
    _fold(block, 1 + size // 4)


@part(inline=True)
def _weigh_tables(seats, block):
    for i in range(block.numbers[N_TABLES]):
        context = np.int64(seats.rows[block.tables[i, TABLE_ROW], at.CONTEXT])
        size = np.int64(block.tables[i, TABLE_SIZE])
        law, slot = np.int64(seats.contexts[context, at.DEPTH]), np.int64(seats.contexts[context, at.SLOT])
        tables, customers = np.int64(block.seen[context, 0]), np.int64(block.seen[context, 1])
        if slot >= 0:
            _weigh_in_slot(seats, block, slot, law, size, tables, customers)
        else:
            _weigh_in_list(seats, block, context, law, size, tables, customers)
        block.seen[context, 0] += 1
        block.seen[context, 1] += size
    for i in range(block.numbers[N_TABLES]):
        context = seats.rows[block.tables[i, TABLE_ROW], at.CONTEXT]
        block.seen[context, 0] = block.seen[context, 1] = 0


@part(inline=True)
def _weigh_documents(seats, block):
    """Multiply by the probability of topics given documents; the log of the denominators that topic 0 does not have."""
    weights, documents, alpha = block.weights, seats.documents, seats.alpha
    first, denominator = weights[0], 0.0
    for i in range(block.numbers[N_WORDS]):
        document = seats.words[block.words[i], at.DOCUMENT]
        before = np.float64(block.of_document[document])
        for k in range(len(weights)):
            weights[k] *= documents[document, k] + alpha[k] + before
        if seats.method == SWITCHING:
            denominator += math.log(documents[document, len(weights)] + seats.numbers[at.ALL_ALPHA] + before)
        weights[0] = first
        _fold(block, 1)
        first = weights[0]
        block.of_document[document] += 1
    for i in range(block.numbers[N_WORDS]):
        block.of_document[seats.words[block.words[i], at.DOCUMENT]] = 0
    return denominator


@part(inline=True)
def switch_probability(seats, block, context, label):
    """P(label | context) with the fractional customers of the block; then one more such customer comes.

    A customer who sits down in a context is also one above it with the probability of a new table, and so on up.
    """
    entries, strengths = seats.switch.entries, seats.switch.strengths
    depth = np.int64(seats.contexts[context, at.DEPTH])
    place = np.int64(context)
    for m in range(depth, -1, -1):
        block.path[m] = place
        place = np.int64(seats.contexts[place, at.ABOVE])
    here = seats.numbers[at.TOP] if label == 1 else 1.0 - seats.numbers[at.TOP]
    for m in range(depth + 1):
        context, other = block.path[m], 0.0
        node, same = np.int64(seats.contexts[context, at.SWITCH]), block.fraction[context, label]
        if node >= 0:
            same += entries[2 * node + label, col.CUSTOMERS]
            other += entries[2 * node + 1 - label, col.CUSTOMERS]
        opening = strengths[m] * here
        block.chance[m] = opening / (same + opening) if opening > 0.0 else 0.0
        here = (same + opening) / (same + other + strengths[m])
    more = 1.0
    for m in range(depth, -1, -1):
        block.fraction[block.path[m], label] += more
        more *= block.chance[m]
    return here


@part(inline=True)
def _weigh_switches(seats, block):
    """The log of P(all words have switch 0) / P(all have switch 1)."""
    result = 0.0
    for i in range(block.numbers[N_WORDS]):
        context = np.int64(seats.rows[seats.words[block.words[i], at.ROW], at.CONTEXT])
        result += math.log(switch_probability(seats, block, context, 0))
        result -= math.log(switch_probability(seats, block, context, 1))
    for i in range(block.numbers[N_WORDS]):
        context = np.int64(seats.rows[seats.words[block.words[i], at.ROW], at.CONTEXT])
        while context >= 0:
            block.fraction[context, 0] = block.fraction[context, 1] = 0.0
            context = np.int64(seats.contexts[context, at.ABOVE])
    return result


@part(inline=True)
def weigh(seats, buffers, block, row, depth):
    """``weights`` := the weight of each topic as the new home of the block, up to a common factor.

    The block is out of the restaurants, and so is its customer above. Leaves ``levels`` and ``topical`` as ``sit``
    needs them, Q_k(w | h) in ``levels[depth + 1]``.
    """
    weights, logs, numbers, topics = block.weights, block.logs, block.numbers, len(block.weights)
    fill_path(seats, buffers, row, depth)
    fill_levels(seats, buffers, depth - 1)
    fill_passed(seats, buffers, depth)
    for k in range(topics):
        weights[k], logs[k] = buffers.levels[depth + 1, k], 0.0
    numbers[N_FACTORS] = numbers[FOLDED] = 0
    if seats.method != SWITCHING:
        weights[0] = 0.0
    _weigh_tables(seats, block)
    ratio = _weigh_documents(seats, block)
    if seats.method == SWITCHING:
        ratio += _weigh_switches(seats, block)
        if abs(ratio) > 30.0:
            _fold(block, _FACTORS + 1)
            logs[0] += ratio
        else:
            weights[0] *= math.exp(ratio)
    if numbers[FOLDED]:
        highest = -np.inf
        for k in range(topics):
            if weights[k] > 0.0:
                logs[k] += math.log(weights[k])
                highest = max(highest, logs[k])
        for k in range(topics):
            if weights[k] > 0.0:
                weights[k] = math.exp(logs[k] - highest)
