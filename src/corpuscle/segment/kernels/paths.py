"""Through a lattice of words and back: the total of all segmentations, one drawn from them, the best one.

``forward`` adds up beginnings (or takes the best of them), see ``lattice``; then ``draw`` or
``trace`` go back from the end. Everything is scaled: when a column of ``total`` becomes small, it and what has been
written of those behind it are multiplied; ``forward`` returns the logarithm of the total.

``words`` is the pool of the words; whether a model is a bigram or a trigram model shows in the shape of ``total``.

This is the lattice of ``branching.best_cuts`` with a weight for every two (or three) words that follow each other. The
weights come from restaurants, and only those of words that have been seen together are looked up; to look up all, as a
program over given weights must, takes 1.3 (1.9) times as long. The semiring (``engine.dp.semirings``, both with
products of weights) is an argument here: the look-ups take the time, and a kernel for each semiring is no faster (-4 to
+5 %).

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.2, equations 7-12.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import part
from corpuscle.engine.dp import SUM
from corpuscle.engine.restaurants.hierarchy import own_share, passed_on
from corpuscle.engine.restaurants.pool import NONE, find_child, find_entry
from corpuscle.random import categorical
from corpuscle.segment.kernels.lattice import after, last_lengths
from corpuscle.segment.kernels.model import BOUNDARY

_SMALL = 1e-60
"""Beginnings whose total is below this are scaled up: far above the least number that a float64 holds."""


@part(bare=True)
def _rescale(lattice, t, n):
    """Multiply column t and what has been written of the columns behind it, if all of it is small; the log of the
    factor."""
    longest, states = lattice.word.shape[1] - 1, lattice.total.shape[2]
    # Behind t only words that begin before t have been written: those that are longer than s - t.
    largest = 0.0
    for s in range(t, min(n, t + longest) + 1):
        for k in range(s - t + (s > t), min(s, longest) + 1):
            for j in range(states):
                largest = max(largest, lattice.total[s, k, j])
    if largest == 0.0 or largest > _SMALL:
        return 0.0
    for s in range(t, min(n, t + longest) + 1):
        for k in range(s - t + (s > t), min(s, longest) + 1):
            for j in range(states):
                lattice.total[s, k, j] /= largest
    return math.log(largest)


@part(bare=True)
def _gather_bigram(lattice, t, semiring):
    """``contexts[0]`` and ``weights[0]`` := the last words at t that have been followed by something; returns how many,
    the mass of what all pass on (or the largest) and the length of the word with the largest."""
    low, high = last_lengths(t, lattice.word.shape[1] - 1)
    count, mass, largest, pointer = 0, 0.0, 0.0, 0
    for k in range(low, high + 1):
        weight = lattice.total[t, k, 0]
        if weight == 0.0:
            continue
        part = lattice.passed[t, k] * weight
        mass += part
        if part > largest:
            largest, pointer = part, k
        if lattice.node[t, k] >= 0:
            lattice.contexts[0, count] = lattice.node[t, k]
            lattice.contexts[1, count] = k
            lattice.weights[0, count] = weight
            count += 1
    return count, mass if semiring == SUM else largest, pointer


@part(bare=True)
def _next_bigram(words, lattice, t, count, mass, pointer, word, unigram, semiring):
    """The total (or the best) of all beginnings that end at t, with one more word; and the length of the word before
    it in the best."""
    # What all contexts pass on needs one product; only contexts that have seen the word add a term of their own.
    value = unigram * mass
    if word >= 0:
        for c in range(count):
            node = np.int64(lattice.contexts[0, c])
            entry = find_entry(words, node, word)
            if entry >= 0:
                own, weight = own_share(words, node, entry), lattice.weights[0, c]
                k = np.int64(lattice.contexts[1, c])
                rest = lattice.passed[t, k] * unigram
                if semiring == SUM:
                    value += own * weight
                elif (own + rest) * weight > value:
                    value, pointer = (own + rest) * weight, k
    return value, pointer


@part(bare=True)
def _forward_bigram(words, lattice, n, semiring):
    longest = lattice.word.shape[1] - 1
    lattice.total[0, 0, 0] = 1.0
    log_scale = 0.0
    for t in range(n + 1):
        count, mass, pointer = _gather_bigram(lattice, t, semiring)
        if mass < _SMALL:
            log_scale += _rescale(lattice, t, n)
            count, mass, pointer = _gather_bigram(lattice, t, semiring)
        if t == n:
            unigram = lattice.unigram[0, 0]
            value, pointer = _next_bigram(words, lattice, t, count, mass, pointer, BOUNDARY, unigram, semiring)
            lattice.back[n, 0, 0] = pointer
            return math.log(value) + log_scale
        for k in range(1, min(longest, n - t) + 1):
            value, before, unigram = 0.0, pointer, lattice.unigram[t + k, k]
            if unigram > 0.0 and mass > 0.0:
                word = np.int64(lattice.word[t + k, k])
                value, before = _next_bigram(words, lattice, t, count, mass, pointer, word, unigram, semiring)
            lattice.total[t + k, k, 0] = value
            lattice.back[t + k, k, 0] = before
    return 0.0


@part(bare=True)
def _gather_trigram(words, lattice, t, semiring):
    """For each length k of the last word at t: ``mass[k]``, what all contexts pass on (or the largest), and in row k of
    ``contexts`` and ``weights`` those that have been followed by something, by the length of the word before; column
    0 of ``contexts`` holds the length with the largest. Returns the sum."""
    longest = lattice.word.shape[1] - 1
    low, high = last_lengths(t, longest)
    everything = 0.0
    for k in range(low, high + 1):
        node = np.int64(lattice.node[t, k])
        first, last = last_lengths(t - k, longest)
        mass, largest, pointer = 0.0, 0.0, 0
        for j in range(first, last + 1):
            weight, context = lattice.total[t, k, j], np.int64(NONE)
            if weight > 0.0:
                part = weight
                if node >= 0 and lattice.word[t - k, j] >= 0:
                    context = find_child(words, node, np.int64(lattice.word[t - k, j]))
                    if context >= 0:
                        part *= passed_on(words, context)
                mass += part
                if part > largest:
                    largest, pointer = part, j
            lattice.contexts[k, j + 1] = context
        lattice.contexts[k, 0] = pointer
        lattice.mass[k] = mass if semiring == SUM else largest
        everything += lattice.mass[k]
    return everything


@part(bare=True)
def _next_trigram(words, lattice, t, k, word, unigram, semiring):
    """As ``_next_bigram``, for beginnings that end with a word of length k."""
    longest = lattice.word.shape[1] - 1
    node, pointer = np.int64(lattice.node[t, k]), np.int64(lattice.contexts[k, 0])
    entry = find_entry(words, node, word) if node >= 0 and word >= 0 else np.int64(NONE)
    shorter = own_share(words, node, entry) + lattice.passed[t, k] * unigram
    value = shorter * lattice.mass[k]
    if entry >= 0:  # else no longer context has seen it
        first, last = last_lengths(t - k, longest)
        for j in range(first, last + 1):
            context = np.int64(lattice.contexts[k, j + 1])
            if context < 0:
                continue
            entry = find_entry(words, context, word)
            if entry >= 0:
                own, weight = own_share(words, context, entry), lattice.total[t, k, j]
                rest = passed_on(words, context) * shorter
                if semiring == SUM:
                    value += own * weight
                elif (own + rest) * weight > value:
                    value, pointer = (own + rest) * weight, np.int64(j)
    return value, pointer


@part(bare=True)
def _forward_trigram(words, lattice, n, semiring):
    longest = lattice.word.shape[1] - 1
    lattice.total[0, 0, 0] = 1.0
    log_scale = 0.0
    for t in range(n + 1):
        mass = _gather_trigram(words, lattice, t, semiring)
        if mass < _SMALL:
            log_scale += _rescale(lattice, t, n)
            mass = _gather_trigram(words, lattice, t, semiring)
        low, high = last_lengths(t, longest)
        if t == n:
            unigram, total, largest = lattice.unigram[0, 0], 0.0, 0.0
            for k in range(low, high + 1):
                if lattice.mass[k] > 0.0:
                    value, pointer = _next_trigram(words, lattice, t, k, BOUNDARY, unigram, semiring)
                    total += value
                    if value > largest:
                        largest = value
                        lattice.back[n, 0, 0] = k * (longest + 1) + pointer
            return math.log(total if semiring == SUM else largest) + log_scale
        for k in range(1, min(longest, n - t) + 1):
            unigram, word = lattice.unigram[t + k, k], np.int64(lattice.word[t + k, k])
            for j in range(longest + 1):
                lattice.total[t + k, k, j] = 0.0
            if unigram == 0.0 or mass == 0.0:
                continue
            for j in range(low, high + 1):
                if lattice.mass[j] > 0.0:
                    value, pointer = _next_trigram(words, lattice, t, j, word, unigram, semiring)
                    lattice.total[t + k, k, j] = value
                    lattice.back[t + k, k, j] = pointer
    return 0.0


@part(bare=True)
def forward(words, lattice, n, semiring):
    """The log probability of a sentence of n letters (at least one), with its end: of all its segmentations together
    (SUM), or of the best (MAX)."""
    if lattice.total.shape[2] > 1:
        return _forward_trigram(words, lattice, n, semiring)
    return _forward_bigram(words, lattice, n, semiring)


@part(bare=True)
def _draw_before(words, lattice, t, k, word, unigram, stream):
    """The length of the word before a word of length k that ends at t, given what follows (trigram)."""
    first, last = last_lengths(t - k, lattice.word.shape[1] - 1)
    for j in range(first, last + 1):
        weight = lattice.total[t, k, j]
        if weight > 0.0:
            weight *= after(words, lattice, t, k, j, word, unigram)
        lattice.weights[0, j] = weight
    return first + categorical(stream, lattice.weights[0, first : last + 1])


@part(bare=True)
def _draw_last(words, lattice, t, word, unigram, stream):
    """The length of the last word of a beginning that ends at t, given what follows."""
    low, high = last_lengths(t, lattice.word.shape[1] - 1)
    trigram = lattice.total.shape[2] > 1
    for k in range(low, high + 1):
        weight = 0.0
        first, last = (0, 0) if not trigram else last_lengths(t - k, lattice.word.shape[1] - 1)
        for j in range(first, last + 1):
            if lattice.total[t, k, j] > 0.0:
                weight += lattice.total[t, k, j] * after(words, lattice, t, k, j, word, unigram)
        lattice.mass[k] = weight
    return low + categorical(stream, lattice.mass[low : high + 1])


@part(bare=True)
def draw(words, lattice, n, cuts, first, stream):
    """Draw a segmentation after ``forward``: ``cuts[first + i]`` := whether a word begins at letter i."""
    trigram = lattice.total.shape[2] > 1
    for i in range(n):
        cuts[first + i] = 0
    word, unigram, t = np.int64(BOUNDARY), lattice.unigram[0, 0], n
    k = _draw_last(words, lattice, t, word, unigram, stream)
    while True:
        cuts[first + t - k] = 1
        if t == k:
            return
        before = 0
        if trigram:
            before = _draw_before(words, lattice, t, k, word, unigram, stream)
        word, unigram = np.int64(lattice.word[t, k]), lattice.unigram[t, k]
        t -= k
        k = before if trigram else _draw_last(words, lattice, t, word, unigram, stream)


@part(bare=True)
def trace(lattice, n, cuts, first):
    """The best segmentation, after ``forward`` with MAX."""
    trigram = lattice.total.shape[2] > 1
    for i in range(n):
        cuts[first + i] = 0
    longest = lattice.word.shape[1] - 1
    k, before, t = np.int64(lattice.back[n, 0, 0]), np.int64(0), n
    if trigram:
        k, before = k // (longest + 1), k % (longest + 1)
    while True:
        k = min(max(k, np.int64(1)), np.int64(t))  # whatever a damaged model says, the walk ends at letter 0
        cuts[first + t - k] = 1
        if t == k:
            return
        if trigram:
            k, before, t = before, np.int64(lattice.back[t, k, before]), t - k
        else:
            k, t = np.int64(lattice.back[t, k, 0]), t - k
