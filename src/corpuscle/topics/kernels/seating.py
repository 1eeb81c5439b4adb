"""Restaurants of all topics over the n-grams of one text: where customers sit, and how they come and go.

A restaurant is a (context, topic), a *node* of a pool of ``engine.restaurants.hierarchy``; a dish in it is a
(row, topic), an *entry*. Instead of hashing, the entries of a row and the nodes of a context are short lists; frequent
rows and contexts (those with a *slot*) also have dense tables over topics, so that the probabilities of a word under
all topics come from a few loops over consecutive numbers.

Three models, by number: ``SEPARATE``, K unrelated hierarchies (HPYTM; with one topic, HPYLM); ``DOUBLY``, in which
every topic leans on a global hierarchy, topic 0, in each context (HIERARCHICAL); ``SWITCHING``, where a word is global
or of a topic. In the latter two a switch of each context, a two-dish restaurant in a pool of its own, says how topical
the context is: its customers are words, or in DOUBLY the tables of topics.

Tables of DOUBLY carry a label: 1 if their customer went to the shorter context, 0 if to topic 0 in the same context.
An entry's tables of label 0 are those of a second entry, its *shadow*.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, sections 2.2 (SEPARATE), 3.1
(DOUBLY, equations 3-5) and 3.2 (SWITCHING); Wood and Teh, "A hierarchical nonparametric Bayesian approach to
statistical language model domain adaptation", 2009, for the labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import join_table, leave_table, place_table, seat
from corpuscle.engine.restaurants.pool import NONE, give_back, take
from corpuscle.random import below, uniform

SEPARATE, DOUBLY, SWITCHING = 1, 2, 3

# Columns of rows, contexts, words and links.
ABOVE, CONTEXT, SLOT, FIRST_ENTRY = range(4)
_ABOVE, DEPTH, _SLOT, FIRST_NODE, STOPPED, PASSED, SWITCH, _ = range(8)
LONGEST, AVAILABLE, ROW, TOPIC, DOCUMENT, NEXT_WORD, WORD_BEFORE, _ = range(8)
OF_TOPIC, NEXT_ENTRY, ENTRY_BEFORE, FIRST_CHILD, NEXT_CHILD, CHILD_BEFORE, FIRST_WORD, _ = range(8)
# What the columns of nodes mean here.
NEXT_NODE, OF_CONTEXT, NODE_BEFORE = col.CHILDREN, col.STOPS, col.PASSES
# Numbers of a model.
BASE, TOP, ALL_ALPHA, STOP_PRIOR, PASS_PRIOR = range(5)

STOPPING = 4.0, 1.0
"""The Beta prior of using just a context, or a longer one."""


class UnindexedPool(NamedTuple):
    """A pool of ``engine.restaurants.pool`` without what only lookups need: a kernel compiles the faster the fewer
    arrays go through it."""

    nodes: np.ndarray
    entries: np.ndarray
    cells: np.ndarray
    counters: np.ndarray
    discounts: np.ndarray
    strengths: np.ndarray
    work: np.ndarray


class Seats(NamedTuple):
    """The state of a sampler. A row or context without a slot has -1 there, and NONE (-1) ends every list.

    - ``method``: SEPARATE, DOUBLY or SWITCHING; ``fixed``: whether words always use their longest context;
    - ``pool``: the restaurants of all topics. Nodes: SYMBOL is the topic, LAW the depth, NEXT_NODE and NODE_BEFORE link
      the nodes of a context, OF_CONTEXT. Entries: DISH is the row, UP the entry of the same topic in the parent row
      while this one has tables there, OWN the shadow;
    - ``switch``: a node for each context with switch customers; entries 2 n and 2 n + 1 of node n count labels 0 and 1;
    - ``rows``: int32 (rows, 4): ABOVE, CONTEXT, SLOT, FIRST_ENTRY;
    - ``contexts``: int32 (contexts, 8): ABOVE, DEPTH, SLOT, FIRST_NODE, STOPPED and PASSED (variable order: words that
      use just this context, or a longer one), SWITCH (its node in the other pool);
    - ``words``: int32 (words, 8): LONGEST (row), AVAILABLE (its depth), ROW (where it sits), TOPIC, DOCUMENT, and
      NEXT_WORD, WORD_BEFORE among those that sit at the same entry;
    - ``links``: int32 (entry_room, 8): OF_TOPIC, NEXT_ENTRY, ENTRY_BEFORE (of the row), FIRST_CHILD, NEXT_CHILD,
      CHILD_BEFORE (entries whose tables are customers here), FIRST_WORD;
    - ``places``: int32, ``shares``: float64 (slots, K + 1). At the slot of a row the entry of each topic, and its
      c - d t; at that of a context the node of each topic, and its 1 / (c + s), 0 if it is empty, and in the row after
      that its (d t + s) / (c + s);
    - ``documents``: int32 (documents, K + 2), words of each topic, and in the last column those not of topic 0;
    - ``alpha``: float64 (K + 1,), the Dirichlet prior of topics, 0 for topic 0;
    - ``numbers``: float64 (5,): BASE (the probability of any word at first), TOP (the switch's prior mean), ALL_ALPHA,
      STOP_PRIOR and PASS_PRIOR (the Beta prior of using just a context, or a longer one).
    """

    method: int
    fixed: bool
    pool: UnindexedPool
    switch: UnindexedPool
    rows: np.ndarray
    contexts: np.ndarray
    words: np.ndarray
    links: np.ndarray
    places: np.ndarray
    shares: np.ndarray
    documents: np.ndarray
    alpha: np.ndarray
    numbers: np.ndarray


class Buffers(NamedTuple):
    """Room for one step.

    - ``levels``: float64 (depths + 1, K + 1), P_k(w | h) at every depth, from 1 on; row 0 is the base;
    - ``weights``: float64 (depths, K + 1); ``mixture``: float64 (K + 1,); ``totals``: float64 (depths,);
    - ``topical``: float64 (depths,), the probability of switch 1; ``path``: int32 (depths, 2), rows and contexts.
    """

    levels: np.ndarray
    weights: np.ndarray
    mixture: np.ndarray
    totals: np.ndarray
    topical: np.ndarray
    path: np.ndarray


@part(inline=True)
def _push(heads, head, first, items, item, after, before):
    """Put an item at the head of a list: ``heads[head, first]`` is its first item; the columns ``after`` and ``before``
    of ``items`` link the others."""
    second = heads[head, first]
    items[item, after], items[item, before] = second, NONE
    if second >= 0:
        items[second, before] = item
    heads[head, first] = item


@part(inline=True)
def _unlink(heads, head, first, items, item, after, before):
    """Take an item out of such a list."""
    previous, following = items[item, before], items[item, after]
    if previous >= 0:
        items[previous, after] = following
    else:
        heads[head, first] = following
    if following >= 0:
        items[following, before] = previous


@part(inline=True)
def find_entry(seats, row, topic):
    """The entry of a topic in a row, or NONE."""
    slot = seats.rows[row, SLOT]
    if slot >= 0:
        return np.int64(seats.places[slot, topic])
    entry = np.int64(seats.rows[row, FIRST_ENTRY])
    while entry >= 0 and seats.links[entry, OF_TOPIC] != topic:
        entry = np.int64(seats.links[entry, NEXT_ENTRY])
    return entry


@part(inline=True)
def find_node(seats, context, topic):
    """The restaurant of a topic in a context, or NONE."""
    slot = seats.contexts[context, SLOT]
    if slot >= 0:
        return np.int64(seats.places[slot, topic])
    node = np.int64(seats.contexts[context, FIRST_NODE])
    while node >= 0 and seats.pool.nodes[node, col.SYMBOL] != topic:
        node = np.int64(seats.pool.nodes[node, NEXT_NODE])
    return node


@part(inline=True)
def _new_entry(seats, row, node):
    entries = seats.pool.entries
    entry = take(seats.pool.counters, col.ENTRIES, entries)
    entries[entry, :] = 0
    entries[entry, col.NODE], entries[entry, col.DISH] = node, row
    entries[entry, col.UP] = entries[entry, col.CELLS] = entries[entry, col.OWN] = NONE
    seats.links[entry, :] = NONE
    seats.links[entry, OF_TOPIC] = seats.pool.nodes[node, col.SYMBOL]
    return entry


@part(inline=True)
def make_entry(seats, row, topic):
    """The entry of a topic in a row, and its restaurant; made if there are none."""
    entry = find_entry(seats, row, topic)
    if entry >= 0:
        return entry
    context = np.int64(seats.rows[row, CONTEXT])
    node = find_node(seats, context, topic)
    if node < 0:
        nodes = seats.pool.nodes
        node = take(seats.pool.counters, col.NODES, nodes)
        nodes[node, col.PARENT], nodes[node, col.SYMBOL] = NONE, topic
        nodes[node, col.LAW], nodes[node, OF_CONTEXT] = seats.contexts[context, DEPTH], context
        nodes[node, col.CUSTOMERS], nodes[node, col.TABLES] = 0, 0
        _push(seats.contexts, context, FIRST_NODE, nodes, node, NEXT_NODE, NODE_BEFORE)
        slot = seats.contexts[context, SLOT]
        if slot >= 0:
            seats.places[slot, topic] = node
    entry = _new_entry(seats, row, node)
    _push(seats.rows, row, FIRST_ENTRY, seats.links, entry, NEXT_ENTRY, ENTRY_BEFORE)
    slot = seats.rows[row, SLOT]
    if slot >= 0:
        seats.places[slot, topic] = entry
    return entry


@part(inline=True)
def make_shadow(seats, entry):
    """The entry for the tables of label 0, made if there is none."""
    if seats.pool.entries[entry, col.OWN] < 0:
        shadow = _new_entry(seats, seats.pool.entries[entry, col.DISH], seats.pool.entries[entry, col.NODE])
        seats.pool.entries[entry, col.OWN] = shadow
    return np.int64(seats.pool.entries[entry, col.OWN])


@part(inline=True)
def link_child(seats, entry, up):
    """The first table of an entry has its customer at ``up``."""
    seats.pool.entries[entry, col.UP] = up
    _push(seats.links, up, FIRST_CHILD, seats.links, entry, NEXT_CHILD, CHILD_BEFORE)


@part(inline=True)
def own_mass(seats, entry, law):
    """c - d t of an entry and its shadow."""
    entries, discount = seats.pool.entries, seats.pool.discounts[law]
    result = entries[entry, col.CUSTOMERS] - discount * entries[entry, col.TABLES]
    shadow = entries[entry, col.OWN]
    if shadow >= 0:
        result += entries[shadow, col.CUSTOMERS] - discount * entries[shadow, col.TABLES]
    return result


@part(inline=True)
def note(seats, entry):
    """Bring the dense tables up to date after a change of an entry."""
    pool = seats.pool
    entries, nodes = pool.entries, pool.nodes
    row, node, topic = entries[entry, col.DISH], entries[entry, col.NODE], seats.links[entry, OF_TOPIC]
    context = seats.rows[row, CONTEXT]
    slot = seats.contexts[context, SLOT]
    if slot < 0:  # nor has the row one: no n-gram is more frequent than its context
        return
    law, customers = nodes[node, col.LAW], nodes[node, col.CUSTOMERS]
    seats.shares[slot, topic], seats.shares[slot + 1, topic] = 0.0, 1.0
    if customers > 0:
        scale = 1.0 / (pool.strengths[law] + customers)
        seats.shares[slot, topic] = scale
        seats.shares[slot + 1, topic] = (pool.strengths[law] + pool.discounts[law] * nodes[node, col.TABLES]) * scale
    slot = seats.rows[row, SLOT]
    if slot >= 0:
        seats.shares[slot, topic] = own_mass(seats, entry, law)


@part(inline=True)
def settle(seats, entry):
    """After customers or tables left an entry: unlink it, free it and its shadow, as far as they are empty."""
    entries = seats.pool.entries
    shadow = entries[entry, col.OWN]
    if shadow >= 0 and entries[shadow, col.CUSTOMERS] == 0:
        give_back(seats.pool.counters, col.ENTRIES, entries, shadow)
        entries[entry, col.OWN] = shadow = NONE
    if entries[entry, col.TABLES] == 0 and entries[entry, col.UP] >= 0:
        up, entries[entry, col.UP] = entries[entry, col.UP], NONE
        _unlink(seats.links, up, FIRST_CHILD, seats.links, entry, NEXT_CHILD, CHILD_BEFORE)
    note(seats, entry)
    if entries[entry, col.CUSTOMERS] > 0 or shadow >= 0:
        return
    links, row, node = seats.links, entries[entry, col.DISH], np.int64(entries[entry, col.NODE])
    _unlink(seats.rows, row, FIRST_ENTRY, links, entry, NEXT_ENTRY, ENTRY_BEFORE)
    slot = seats.rows[row, SLOT]
    if slot >= 0:
        seats.places[slot, links[entry, OF_TOPIC]] = NONE
    give_back(seats.pool.counters, col.ENTRIES, entries, entry)
    nodes, context = seats.pool.nodes, seats.pool.nodes[node, OF_CONTEXT]
    if nodes[node, col.CUSTOMERS] == 0:
        _unlink(seats.contexts, context, FIRST_NODE, nodes, node, NEXT_NODE, NODE_BEFORE)
        slot = seats.contexts[context, SLOT]
        if slot >= 0:
            seats.places[slot, nodes[node, col.SYMBOL]] = NONE
        give_back(seats.pool.counters, col.NODES, nodes, node)


@part(bare=True)
def _make_switch(seats, context):
    """The switch nodes of a context and of those above it."""
    switch, contexts = seats.switch, seats.contexts
    below_it = np.int64(NONE)
    while context >= 0 and contexts[context, SWITCH] < 0:
        node = take(switch.counters, col.NODES, switch.nodes)
        switch.counters[col.ENTRIES, col.USED] = max(switch.counters[col.ENTRIES, col.USED], 2 * node + 2)
        switch.nodes[node, :] = 0
        switch.nodes[node, col.PARENT] = NONE
        switch.nodes[node, col.LAW] = contexts[context, DEPTH]
        for label in range(2):
            switch.entries[2 * node + label, :] = 0
            switch.entries[2 * node + label, col.NODE], switch.entries[2 * node + label, col.DISH] = node, label
            switch.entries[2 * node + label, col.UP] = switch.entries[2 * node + label, col.CELLS] = NONE
            if below_it >= 0:
                switch.entries[2 * below_it + label, col.UP] = 2 * node + label
        contexts[context, SWITCH] = node
        below_it, context = node, np.int64(contexts[context, ABOVE])
    if context >= 0 and below_it >= 0:
        for label in range(2):
            switch.entries[2 * below_it + label, col.UP] = 2 * contexts[context, SWITCH] + label


@part(inline=True)
def add_switch(seats, context, label, stream):
    """A customer with a label comes to the switch of a context."""
    if seats.contexts[context, SWITCH] < 0:
        _make_switch(seats, context)
    top = seats.numbers[TOP] if label == 1 else 1.0 - seats.numbers[TOP]
    seat(seats.switch, 2 * np.int64(seats.contexts[context, SWITCH]) + label, top, stream)


@part(inline=True)
def remove_switch(seats, context, label, stream):
    """A customer with a label leaves the switch of a context."""
    switch = seats.switch
    entry, closed = 2 * np.int64(seats.contexts[context, SWITCH]) + label, True
    while entry >= 0 and closed:
        closed = leave_table(switch, entry, stream)
        entry = np.int64(switch.entries[entry, col.UP])
    while context >= 0:
        node = np.int64(seats.contexts[context, SWITCH])
        if switch.nodes[node, col.CUSTOMERS] > 0:
            return
        switch.entries[2 * node, col.NODE] = switch.entries[2 * node + 1, col.NODE] = NONE
        give_back(switch.counters, col.NODES, switch.nodes, node)
        seats.contexts[context, SWITCH] = NONE
        context = np.int64(seats.contexts[context, ABOVE])


@part(inline=True)
def leave(seats, entry, stream):
    """A customer of an entry goes, and for each table that closes one where that table's customer sat."""
    entries = seats.pool.entries
    entry = np.int64(entry)
    while entry >= 0:
        at, shadow = entry, np.int64(entries[entry, col.OWN])
        if shadow >= 0:
            mine = np.int64(entries[entry, col.CUSTOMERS])
            # All customers of an entry are alike, so the one that goes is any of them, of label 1 or 0.
            if below(stream, mine + entries[shadow, col.CUSTOMERS]) >= mine:
                at = shadow
        closed = leave_table(seats.pool, at, stream)
        above = np.int64(NONE)
        if closed:
            row, topic = np.int64(entries[entry, col.DISH]), seats.links[entry, OF_TOPIC]
            above = np.int64(entries[entry, col.UP]) if at == entry else find_entry(seats, row, 0)
            if seats.method == DOUBLY and topic > 0:
                remove_switch(seats, np.int64(seats.rows[row, CONTEXT]), np.int64(at == entry), stream)
        settle(seats, entry)
        entry = above


@part(inline=True)
def sit(seats, buffers, row, depth, topic, stream):
    """A customer comes to a row of this depth in a topic, and for each new table one above it. ``buffers``: ``levels``
    and ``topical`` of its word along the row's ancestors."""
    pool, levels = seats.pool, buffers.levels
    entries = pool.entries
    row, topic = np.int64(row), np.int64(topic)
    entry = make_entry(seats, row, topic)
    while True:
        # The customer joins a table with the mass of its size less the discount, or opens one; in DOUBLY the new table
        # gets a label, and its customer goes to the shorter context (1) or to the global topic (0).
        discount, total = pool.discounts[depth], own_mass(seats, entry, depth)
        joining = entries[entry, col.CUSTOMERS] - discount * entries[entry, col.TABLES]
        labelled = seats.method == DOUBLY and topic > 0
        longer, shorter = 0.0, levels[depth, topic]
        if labelled:
            longer = (1.0 - buffers.topical[depth]) * levels[depth + 1, 0]
            shorter *= buffers.topical[depth]
        opening = pool.strengths[depth] + discount * pool.nodes[entries[entry, col.NODE], col.TABLES]
        left = uniform(stream) * (total + opening * (longer + shorter))
        if left < total:
            join_table(pool, entry if left < joining else np.int64(entries[entry, col.OWN]), stream)
            note(seats, entry)
            return
        label = np.int64(1)
        if labelled:
            label = np.int64(uniform(stream) * (longer + shorter) < shorter)
            add_switch(seats, np.int64(seats.rows[row, CONTEXT]), label, stream)
        if label == 0:
            place_table(pool, make_shadow(seats, entry), 1)
            note(seats, entry)
            topic = np.int64(0)
            entry = make_entry(seats, row, topic)
            continue
        place_table(pool, entry, 1)
        note(seats, entry)
        if depth == 0:
            return
        row = np.int64(seats.rows[row, ABOVE])
        above = np.int64(entries[entry, col.UP])
        if above < 0:
            above = make_entry(seats, row, topic)
            link_child(seats, entry, above)
        entry = above
        depth -= 1


@part(inline=True)
def join_word(seats, word, entry):
    """Note that a word sits at an entry."""
    _push(seats.links, entry, FIRST_WORD, seats.words, word, NEXT_WORD, WORD_BEFORE)


@part(inline=True)
def part_word(seats, word, entry):
    """Note that a word no longer sits at an entry."""
    _unlink(seats.links, entry, FIRST_WORD, seats.words, word, NEXT_WORD, WORD_BEFORE)


@part(inline=True)
def count_topic(seats, word, topic, by):
    """One word more or less (``by``) of a topic in the document of a word."""
    document = seats.words[word, DOCUMENT]
    seats.documents[document, topic] += by
    if topic > 0:
        seats.documents[document, len(seats.alpha)] += by
