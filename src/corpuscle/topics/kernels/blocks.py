"""Block moves: a table and all that hangs on it changes its topic at once.

Customers of a restaurant are the tables of its children (and words), so a table of n-grams "h w" stands for a set of
words: those at the child tables that sit at it, and so on down. Which child tables these are is not recorded; given the
sizes all ways are equally likely, so they are drawn when the table moves. The block leaves its topic, every topic is
weighed as its new home (``block_weights``), and the same tables are set up there. Single words seldom
leave a topic that holds their whole phrase; a block can.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, section 4.2, algorithm 1 (the
table-based sampler).
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import place_table, take_table
from corpuscle.random import below, categorical, uniform
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.block_weights import N_TABLES, N_WORDS, TABLE_ENTRY, TABLE_ROW, TABLE_SIZE, weigh
from corpuscle.topics.kernels.seating import (
    DOUBLY,
    SWITCHING,
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
from corpuscle.topics.kernels.token_sampler import has_room


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
def _remove_words(seats, block, topic, stream):
    for i in range(block.numbers[N_WORDS]):
        word = block.words[i]
        count_topic(seats, word, topic, -1)
        if seats.method == SWITCHING:
            context = np.int64(seats.rows[seats.words[word, at.ROW], at.CONTEXT])
            remove_switch(seats, context, np.int64(topic > 0), stream)


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
    _remove_words(seats, block, topic, stream)


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
    """As many tables of each of the rows ``first`` to ``last`` as it has draw their topics anew, the first ``done`` of
    the first row excepted, and rows that only one word has. Returns ``(last, 0)``, or row and number where there was no
    more room."""
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
