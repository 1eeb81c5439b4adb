"""Gibbs sampling of the topics of words, one word at a time, over the restaurants of ``seating``.

A word leaves, draws a topic (and, in models of variable order, how much of its context it uses) with weights that need
its probability under every topic, and sits down there. These probabilities are computed depth by depth: the vector of
the depth before times what the restaurants pass on, plus what the entries of the row have.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, section 4.1, equations 6-9 (the
token-based sampler).
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.pool import has_free
from corpuscle.random import uniform
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.seating import (
    DOUBLY,
    SEPARATE,
    SWITCHING,
    add_switch,
    count_topic,
    find_entry,
    find_node,
    join_word,
    leave,
    make_entry,
    own_mass,
    part_word,
    remove_switch,
    sit,
)


@part(inline=True)
def has_room(seats, items):
    """Whether there is room for N new restaurants, entries and switches, and for their tables."""
    return has_free(seats.pool, items, items, 2 * items) and has_free(seats.switch, items, 0, 2 * items)


@part(inline=True)
def fill_path(seats, buffers, row, depth):
    """``path`` := the row of this depth and its ancestors, with their contexts; ``topical`` := their switches."""
    row = np.int64(row)
    for m in range(depth, -1, -1):
        buffers.path[m, 0], buffers.path[m, 1] = row, seats.rows[row, at.CONTEXT]
        row = np.int64(seats.rows[row, at.ABOVE])
    if seats.method == SEPARATE:
        return
    here, known = seats.numbers[at.TOP], True
    for m in range(depth + 1):
        if known:  # a context without customers has no children with any
            node = np.int64(seats.contexts[buffers.path[m, 1], at.SWITCH])
            known = bool(node >= 0)
            if known:
                strength = seats.switch.strengths[m]
                ones = seats.switch.entries[2 * node + 1, col.CUSTOMERS]
                here = (ones + strength * here) / (ones + seats.switch.entries[2 * node, col.CUSTOMERS] + strength)
        buffers.topical[m] = here


@part(inline=True)
def _global(seats, levels, row, context, m):
    """P_0 of a word at depth m."""
    result, entry = levels[m, 0], find_entry(seats, row, np.int64(0))
    slot = seats.contexts[context, at.SLOT]
    if slot >= 0:
        result *= seats.shares[slot + 1, 0]
        if entry >= 0:
            result += own_mass(seats, entry, m) * seats.shares[slot, 0]
        return result
    node = find_node(seats, context, np.int64(0))
    if node >= 0:
        strength = seats.pool.strengths[m]
        result *= strength + seats.pool.discounts[m] * seats.pool.nodes[node, col.TABLES]
        if entry >= 0:
            result += own_mass(seats, entry, m)
        result /= strength + seats.pool.nodes[node, col.CUSTOMERS]
    return result


@part(inline=True)
def fill_passed(seats, buffers, m):
    """``levels[m + 1]`` := Q_k(w | h) at depth m, what the restaurants there pass on to, for all topics; for topic 0 of
    DOUBLY P_0(w | h) itself."""
    levels, topics = buffers.levels, len(seats.alpha)
    if seats.method != DOUBLY:
        for k in range(topics):
            levels[m + 1, k] = levels[m, k]
        return
    topical = buffers.topical[m]
    shared = _global(seats, levels, np.int64(buffers.path[m, 0]), np.int64(buffers.path[m, 1]), m)
    rest = (1.0 - topical) * shared
    for k in range(topics):
        levels[m + 1, k] = topical * levels[m, k] + rest
    levels[m + 1, 0] = shared


@part(inline=True)
def fill_levels(seats, buffers, depth):
    """``levels[m + 1]`` := P_k(w | h) for all topics along ``path``, for m up to a depth, each from the one before."""
    levels, topics = buffers.levels, len(seats.alpha)
    for k in range(topics):
        levels[0, k] = seats.numbers[at.BASE]
    for m in range(depth + 1):
        row, context = np.int64(buffers.path[m, 0]), np.int64(buffers.path[m, 1])
        fill_passed(seats, buffers, m)
        shared = levels[m + 1, 0]
        slot = np.int64(seats.contexts[context, at.SLOT])
        if slot >= 0:
            shares, of_row = seats.shares, seats.rows[row, at.SLOT]
            if of_row >= 0:
                for k in range(topics):
                    levels[m + 1, k] = shares[slot + 1, k] * levels[m + 1, k] + shares[of_row, k] * shares[slot, k]
            else:
                for k in range(topics):
                    levels[m + 1, k] *= shares[slot + 1, k]
                entry = np.int64(seats.rows[row, at.FIRST_ENTRY])
                while entry >= 0:
                    k = seats.links[entry, at.OF_TOPIC]
                    levels[m + 1, k] += own_mass(seats, entry, m) * shares[slot, k]
                    entry = np.int64(seats.links[entry, at.NEXT_ENTRY])
        else:
            nodes, strength, discount = seats.pool.nodes, seats.pool.strengths[m], seats.pool.discounts[m]
            node = np.int64(seats.contexts[context, at.FIRST_NODE])
            while node >= 0:
                mass = strength + discount * nodes[node, col.TABLES]
                levels[m + 1, nodes[node, col.SYMBOL]] *= mass / (strength + nodes[node, col.CUSTOMERS])
                node = np.int64(nodes[node, at.NEXT_NODE])
            entry = np.int64(seats.rows[row, at.FIRST_ENTRY])
            while entry >= 0:
                total = strength + nodes[seats.pool.entries[entry, col.NODE], col.CUSTOMERS]
                levels[m + 1, seats.links[entry, at.OF_TOPIC]] += own_mass(seats, entry, m) / total
                entry = np.int64(seats.links[entry, at.NEXT_ENTRY])
        if seats.method == DOUBLY:
            levels[m + 1, 0] = shared


@part(inline=True)
def count_depth(seats, context, change):
    """A word uses just this context (or, with -1, no longer does)."""
    contexts = seats.contexts
    contexts[context, at.STOPPED] += change
    context = np.int64(contexts[context, at.ABOVE])
    while context >= 0:
        contexts[context, at.PASSED] += change
        context = np.int64(contexts[context, at.ABOVE])


@part(inline=True)
def _remove(seats, word, stream):
    words = seats.words
    row, topic = np.int64(words[word, at.ROW]), np.int64(words[word, at.TOPIC])
    context = np.int64(seats.rows[row, at.CONTEXT])
    count_topic(seats, word, topic, -1)
    if seats.method == SWITCHING:
        remove_switch(seats, context, np.int64(topic > 0), stream)
    if not seats.fixed:
        count_depth(seats, context, -1)
    entry = find_entry(seats, row, topic)
    part_word(seats, word, entry)
    leave(seats, entry, stream)


@part(inline=True)
def _weigh(seats, buffers, m, scale):
    """``weights[m]`` := the weight of each topic at depth m, times ``scale``; returns their sum."""
    levels, weights, mixture, topics = buffers.levels, buffers.weights, buffers.mixture, len(seats.alpha)
    first = 0.0
    if seats.method == SWITCHING:
        first = scale * (1.0 - buffers.topical[m]) * levels[m + 1, 0]
        scale *= buffers.topical[m]
    for k in range(topics):
        weights[m, k] = scale * mixture[k] * levels[m + 1, k]
    weights[m, 0] = first
    # Four sums at a time, which do not wait for one another.
    a, b, c, d, k = 0.0, 0.0, 0.0, 0.0, 0
    while k + 4 <= topics:
        a += weights[m, k]
        b += weights[m, k + 1]
        c += weights[m, k + 2]
        d += weights[m, k + 3]
        k += 4
    while k < topics:
        a += weights[m, k]
        k += 1
    return a + b + c + d


@part(inline=True)
def _add(seats, buffers, word, stream):
    words, contexts = seats.words, seats.contexts
    depth, document = np.int64(words[word, at.AVAILABLE]), np.int64(words[word, at.DOCUMENT])
    fill_path(seats, buffers, words[word, at.LONGEST], depth)
    fill_levels(seats, buffers, depth)
    scale = 1.0
    if seats.method == SWITCHING:  # elsewhere all weights have this factor; here that of topic 0 has not
        scale /= seats.documents[document, len(seats.alpha)] + seats.numbers[at.ALL_ALPHA]
    for k in range(len(seats.alpha)):
        buffers.mixture[k] = scale * (seats.documents[document, k] + seats.alpha[k])
    if seats.fixed:
        total = _weigh(seats, buffers, depth, 1.0)
    else:
        # First the depth is drawn, given the sum of the weights of all topics there, then the topic at that depth.
        total, reach = 0.0, 1.0
        for m in range(depth + 1):
            stop = 1.0
            if m < depth:
                context = buffers.path[m, 1]
                stops = contexts[context, at.STOPPED] + seats.numbers[at.STOP_PRIOR]
                stop = stops / (stops + contexts[context, at.PASSED] + seats.numbers[at.PASS_PRIOR])
            buffers.totals[m] = _weigh(seats, buffers, m, reach * stop)
            total += buffers.totals[m]
            reach *= 1.0 - stop
        left, chosen = uniform(stream) * total, np.int64(0)
        while chosen < depth and left >= buffers.totals[chosen]:
            left -= buffers.totals[chosen]
            chosen += 1
        depth, total = chosen, buffers.totals[chosen]
    left, topic, last = uniform(stream) * total, 0, len(seats.alpha) - 1
    left -= buffers.weights[depth, 0]
    while left >= 0.0 and topic < last:
        topic += 1
        left -= buffers.weights[depth, topic]
    row, context = np.int64(buffers.path[depth, 0]), np.int64(buffers.path[depth, 1])
    words[word, at.ROW], words[word, at.TOPIC] = row, topic
    count_topic(seats, word, topic, 1)
    sit(seats, buffers, row, depth, topic, stream)
    if seats.method == SWITCHING:
        add_switch(seats, context, np.int64(topic > 0), stream)
    if not seats.fixed:
        count_depth(seats, context, 1)
    join_word(seats, word, make_entry(seats, row, np.int64(topic)))


@kernel(bare=True)
def sweep_words(seats, buffers, visits, first, last, come, stream):
    """Let the words ``visits[first:last]`` draw their topics anew, or (``come``) for the first time. Returns ``last``,
    or where there was no more room."""
    for i in range(first, last):
        if not has_room(seats, 4 * len(buffers.levels)):
            return i
        if not come:
            _remove(seats, np.int64(visits[i]), stream)
        _add(seats, buffers, np.int64(visits[i]), stream)
    return last
