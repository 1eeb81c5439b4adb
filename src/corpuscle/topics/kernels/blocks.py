"""Block moves: a table and all that hangs on it changes its topic at once.

Customers of a restaurant are the tables of its children (and words), so a table of n-grams "h w" stands for a set of
words: those at the child tables that sit at it, and so on. Which child tables these are is not recorded; given the
sizes all choices are equally likely, so they are drawn when the table moves. The block leaves its topic, every topic is
weighed (``weigh``), and the same tables are set up in the one that is drawn. Single words seldom leave a topic that
holds their whole phrase; a block can.

The weight of a topic is the probability that it would give the top table's word to it, times the probability of seating
the block's tables in its restaurants, times that of its words' documents choosing it. For SWITCHING the probability
that all words of the block have the same switch is computed with fractional customers, see ``switch_probability``.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, section 4.2, algorithm 1 (the
table-based sampler) and equations 10-13: their S is the block.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import place_table, take_table
from corpuscle.random import below, categorical, uniform
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.seating import (
    DOUBLY,
    SWITCHING,
    Seats,
    add_switch,
    count_topic,
    find_entry,
    join_word,
    leave,
    link_child,
    make_entry,
    make_shadow,
    note,
    part_word,
    remove_switch,
    settle,
    sit,
)
from corpuscle.topics.kernels.token_sampler import fill_levels, fill_passed, fill_path, has_room

_FACTORS = 24
"""How many factors of a weight are multiplied before their logarithm is taken."""

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
    """Note that N factors were multiplied; take logarithms before the products get too small or too large."""
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
    """P(label | context) with the fractional customers of the block; then one more such customer comes, who is also one
    above the context with the probability of a new table, and so on up."""
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
    """``weights`` := the weight of each topic for the block, up to a common factor, once the block and its customer
    above have left. ``levels`` and ``topical`` are then as ``sit`` needs them, Q_k(w | h) in ``levels[depth + 1]``."""
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


@part(inline=True)
def _gather(seats, block, entry):
    """``objects`` := the customers of an entry, its children's tables and (as -2 - w) words: how many."""
    n, child = 0, np.int64(seats.links[entry, at.FIRST_CHILD])
    while child >= 0:
        for _ in range(seats.pool.entries[child, col.TABLES]):
            block.objects[n] = child
            n += 1
        child = np.int64(seats.links[child, at.NEXT_CHILD])
    word = np.int64(seats.links[entry, at.FIRST_WORD])
    while word >= 0:
        block.objects[n] = -2 - word
        n += 1
        word = np.int64(seats.words[word, at.NEXT_WORD])
    return n


@part(inline=True)
def _collect(seats, block, entry, table_of, stream):
    """Take a table of ``table_of`` (an entry or its shadow) out, and all that hangs on it."""
    pool, numbers = seats.pool, block.numbers
    block.tables[0, TABLE_ROW], block.tables[0, TABLE_ENTRY] = pool.entries[entry, col.DISH], entry
    block.tables[0, TABLE_SIZE] = take_table(pool, table_of, stream)
    numbers[N_TABLES], numbers[N_WORDS] = 1, 0
    place = 0
    while place < numbers[N_TABLES]:  # breadth first: tables that are found are looked into in their turn
        of = np.int64(block.tables[place, TABLE_ENTRY])
        n = _gather(seats, block, of)
        for j in range(block.tables[place, TABLE_SIZE]):
            pick = j + below(stream, n - j)  # without replacement: the first left over takes the place
            drawn = np.int64(block.objects[pick])
            block.objects[pick] = block.objects[j]
            if drawn >= 0:
                table = numbers[N_TABLES]
                block.tables[table, TABLE_ROW], block.tables[table, TABLE_ENTRY] = pool.entries[drawn, col.DISH], drawn
                block.tables[table, TABLE_SIZE] = take_table(pool, drawn, stream)
                numbers[N_TABLES] += 1
            else:
                word = -2 - drawn
                part_word(seats, word, of)
                block.words[numbers[N_WORDS]] = word
                numbers[N_WORDS] += 1
        place += 1
    # From the deepest table up, an entry may be free for good; one that had several tables comes several times.
    for place in range(numbers[N_TABLES] - 1, -1, -1):
        of = np.int64(block.tables[place, TABLE_ENTRY])
        if pool.entries[of, col.NODE] >= 0:
            settle(seats, of)


@part(inline=True)
def place_block(seats, buffers, block, row, depth, topic, stream):
    """Set the block up in a topic: first the customer of its top table, then its tables from the top down."""
    pool, levels = seats.pool, buffers.levels
    label = np.int64(1)
    if seats.method == DOUBLY:
        shorter = buffers.topical[depth] * levels[depth, topic]
        longer = (1.0 - buffers.topical[depth]) * levels[depth + 1, 0]
        label = np.int64(uniform(stream) * (longer + shorter) < shorter)
        add_switch(seats, np.int64(seats.rows[row, at.CONTEXT]), label, stream)
    if label == 0:
        sit(seats, buffers, row, depth, np.int64(0), stream)
    elif depth > 0:
        sit(seats, buffers, np.int64(seats.rows[row, at.ABOVE]), depth - 1, topic, stream)
    for i in range(block.numbers[N_TABLES]):
        place, size = np.int64(block.tables[i, TABLE_ROW]), np.int64(block.tables[i, TABLE_SIZE])
        entry = make_entry(seats, place, topic)
        if i == 0 and label == 0:
            place_table(pool, make_shadow(seats, entry), size)
        else:
            place_table(pool, entry, size)
            if pool.entries[entry, col.UP] < 0 and seats.rows[place, at.ABOVE] >= 0:
                link_child(seats, entry, find_entry(seats, np.int64(seats.rows[place, at.ABOVE]), topic))
        note(seats, entry)
    for i in range(block.numbers[N_WORDS]):
        word = np.int64(block.words[i])
        place = np.int64(seats.words[word, at.ROW])
        seats.words[word, at.TOPIC] = topic
        count_topic(seats, word, topic, 1)
        if seats.method == SWITCHING:
            add_switch(seats, np.int64(seats.rows[place, at.CONTEXT]), np.int64(topic > 0), stream)
        join_word(seats, word, find_entry(seats, place, topic))


@part(inline=True)
def take_block(seats, block, row, entry, table_of, stream):
    """Take a table of an entry (or of its shadow, ``table_of``) and all that hangs on it out of the restaurants."""
    entries, topic = seats.pool.entries, np.int64(seats.links[entry, at.OF_TOPIC])
    above = np.int64(entries[entry, col.UP]) if table_of == entry else find_entry(seats, row, np.int64(0))
    _collect(seats, block, entry, table_of, stream)
    if seats.method == DOUBLY:
        remove_switch(seats, np.int64(seats.rows[row, at.CONTEXT]), np.int64(table_of == entry), stream)
    if above >= 0:
        leave(seats, above, stream)
    for i in range(block.numbers[N_WORDS]):
        word = block.words[i]
        count_topic(seats, word, topic, -1)
        if seats.method == SWITCHING:
            context = np.int64(seats.rows[seats.words[word, at.ROW], at.CONTEXT])
            remove_switch(seats, context, np.int64(topic > 0), stream)


@part(inline=True)
def _tables_of(seats, row):
    """How many tables of a row may move."""
    total, entry = np.int64(0), np.int64(seats.rows[row, at.FIRST_ENTRY])
    while entry >= 0:
        if seats.method != DOUBLY or seats.links[entry, at.OF_TOPIC] > 0:
            total += seats.pool.entries[entry, col.TABLES]
            shadow = seats.pool.entries[entry, col.OWN]
            if shadow >= 0:
                total += seats.pool.entries[shadow, col.TABLES]
        entry = np.int64(seats.links[entry, at.NEXT_ENTRY])
    return total


@part(inline=True)
def _pick(seats, row, n_tables, stream):
    """One of the tables of a row, each with the same probability: its entry, and the entry or shadow that it is of."""
    entries = seats.pool.entries
    left, entry = below(stream, n_tables), np.int64(seats.rows[row, at.FIRST_ENTRY])
    while True:
        if seats.method != DOUBLY or seats.links[entry, at.OF_TOPIC] > 0:
            left -= entries[entry, col.TABLES]
            if left < 0:
                return entry, entry
            shadow = np.int64(entries[entry, col.OWN])
            if shadow >= 0:
                left -= entries[shadow, col.TABLES]
                if left < 0:
                    return entry, shadow
        entry = np.int64(seats.links[entry, at.NEXT_ENTRY])


@kernel(bare=True)
def sweep_tables(seats, buffers, block, first, last, done, stream):
    """For each of the rows ``first`` to ``last`` as many random tables as it has draw their topics anew; of the first
    row ``done`` are done, and rows of a single word are left out. Returns ``(last, 0)``, or row and number where there
    was no more room."""
    depths = len(seats.pool.discounts)
    for row in range(first, last):
        if block.counts[row] == 1:  # a block of one word, and words move by themselves
            continue
        n_tables = _tables_of(seats, row)
        depth = np.int64(seats.contexts[seats.rows[row, at.CONTEXT], at.DEPTH])
        need = np.int64(block.counts[row]) * (depths - depth) + 4 * len(buffers.levels)
        while done < n_tables:
            if not has_room(seats, need):
                return row, done
            entry, table_of = _pick(seats, row, n_tables, stream)
            take_block(seats, block, row, entry, table_of, stream)
            weigh(seats, buffers, block, row, depth)
            place_block(seats, buffers, block, row, depth, categorical(stream, block.weights), stream)
            done += 1
        done = np.int64(0)
    return last, done
