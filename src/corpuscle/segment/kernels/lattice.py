"""All segmentations of a sentence at once: their total, one drawn from them, the best one.

A sentence has n letters and boundaries 0..n. ``fill`` looks up every stretch of at most L letters, with its unigram
probability. ``forward`` adds up, from left to right, the probability of all beginnings of the sentence (or takes the
best of them) by their last word (bigram) or their last two words (trigram); then ``draw`` or ``trace`` go back from the
end. Everything is scaled: when a column of ``total`` becomes small, it and what has been written of those behind it are
multiplied; ``forward`` returns the logarithm of the total.

Two ideas make it fast. The context of a letter is the same whatever the word begins with, up to the beginning of the
word: so one walk down the tree of contexts serves all words that end behind a letter, or go on with it. And

    P(w | v) = own share of w after v + g(v) P(w),     so     sum_v P(w | v) A(v) = P(w) sum_v g(v) A(v) + a few terms

where the few terms are those contexts v that have seen w. The best instead of the sum works in the same way.

``words`` is the pool of the words; whether a model is a bigram or a trigram model shows in the shape of ``total``.

This is the lattice of ``boundaries.best_cuts`` with a weight for every two (or three) consecutive words. Only the
weights of words that have been seen together are looked up in the restaurants; to look up all, as a program over given
weights must, takes 1.3 (1.9) times as long. The semiring (``engine.dp``, both with products of weights) is an
argument: the look-ups take the time, and a kernel for each semiring is no faster (-4 to +5 %).

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.2, equations 7-12."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import SUM
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import own_share, passed_on
from corpuscle.engine.restaurants.pool import NONE, find_child, find_entry
from corpuscle.engine.restaurants.variable import stop_probability
from corpuscle.random import categorical
from corpuscle.segment.kernels import model
from corpuscle.segment.kernels.model import BOUNDARY, EMPTY_HASH, find_word, hash_step

FREE_GAP, FORCED, FORBIDDEN = 0, 1, 2
"""What is known of the gap before a letter: nothing; a word begins here; no word begins here."""


class Lattice(NamedTuple):
    """Room for one sentence of fewer than ``room`` letters; k, j: lengths of words, up to L.

    - ``inner``, ``last``: float64 (room, L + 1): P(letter t | the k letters before it, from the beginning of a word),
      and P(end of word | the same);
    - ``word``, ``node``: int32 (room, L + 1), the number of the word of length k that ends at t, and its node as a
      context, or NONE; ``unigram``: float64 (room, L + 1), its probability without context, 0 where no word may be;
      ``passed``: float64 (room, L + 1), what the node passes on;
    - ``total``: float64 (room, L + 1, L + 1): of all beginnings that end at t with a word of length k after one of
      length j (0: the beginning of the sentence; of a bigram model always 0), scaled;
    - ``back``: int16 (room, L + 1, L + 1), of the best such beginning, the length of the word before: in a bigram model
      before the last, in a trigram model before the last two;
    - ``contexts``: int32 (L + 1, L + 2), ``weights``, ``mass``: float64 (L + 1,): for one t.
    """

    inner: np.ndarray
    last: np.ndarray
    word: np.ndarray
    node: np.ndarray
    unigram: np.ndarray
    passed: np.ndarray
    total: np.ndarray
    back: np.ndarray
    contexts: np.ndarray
    weights: np.ndarray
    mass: np.ndarray


def new_lattice(letters: int, longest: int, order: int) -> Lattice:
    """Room for sentences of at most N letters."""
    size = (letters + 1, longest + 1)
    states = (*size, longest + 1 if order > 2 else 1)
    return Lattice(
        np.zeros(size), np.zeros(size), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size),
        np.zeros(size), np.zeros(states), np.zeros(states, np.int16),
        np.zeros((longest + 1, longest + 2), np.int32), np.zeros(longest + 1), np.zeros(longest + 1),
    )  # fmt: skip


@part(bare=True)
def _spell(nested, lattice, text, first, n, gaps):
    """``inner`` and ``last``: one walk for each boundary, most recent letter first."""
    pool = nested.letters
    longest, deepest = lattice.word.shape[1] - 1, len(pool.path) - 2
    base = nested.bases[model.LETTER_BASE]
    begin = 0
    for t in range(n + 1):
        letter = np.int64(text[first + t]) if t < n else np.int64(model.END)
        most = min(t - begin, longest)
        # ``here`` and ``end``: the probabilities of the letter and of END with the k letters before them as context;
        # ``total`` and ``end_total``: summed over the contexts at which a customer may have stopped so far, ``reach``:
        # the probability that it has not.
        node, here, end = np.int64(0), base, base
        entry, end_entry = np.int64(0), np.int64(0)
        total, end_total, reach = 0.0, 0.0, 1.0
        k = 0
        while True:
            passed = passed_on(pool, node)
            if entry >= 0:  # what a shorter context has not seen, a longer one has not, either
                entry = find_entry(pool, node, letter)
            here = own_share(pool, node, entry) + passed * here
            if end_entry >= 0:
                end_entry = find_entry(pool, node, np.int64(model.END))
            end = own_share(pool, node, end_entry) + passed * end
            below = np.int64(NONE)
            if k < deepest:
                stop = stop_probability(pool, node)
                total += reach * stop * here
                end_total += reach * stop * end
                reach *= 1.0 - stop
                # A word that begins here ends the context with START, where everyone must stop.
                at_start, end_at_start = here, end
                if pool.nodes[node, col.CHILDREN] > 0:
                    child = find_child(pool, node, np.int64(model.START))
                    if child >= 0:
                        passed, there, ending = passed_on(pool, child), np.int64(NONE), np.int64(NONE)
                        if entry >= 0:
                            there = find_entry(pool, child, letter)
                        if end_entry >= 0:
                            ending = find_entry(pool, child, np.int64(model.END))
                        at_start = own_share(pool, child, there) + passed * here
                        end_at_start = own_share(pool, child, ending) + passed * end
                    if k < most:
                        below = find_child(pool, node, np.int64(text[first + t - 1 - k]))
                lattice.inner[t, k] = total + reach * at_start
                lattice.last[t, k] = end_total + reach * end_at_start
                k += 1
            if below < 0 or k > most:
                break
            node = below
        # No deeper context exists: with more letters before it the probability stays what it is.
        for rest in range(k, most + 1):
            lattice.inner[t, rest] = total + reach * here
            lattice.last[t, rest] = end_total + reach * end
        if t < n and gaps[first + t] == FORCED:
            begin = t  # no word reaches back over a forced boundary


@part(bare=True)
def fill(nested, lattice, text, first, n, gaps):
    """Look up all words that a sentence may contain."""
    _spell(nested, lattice, text, first, n, gaps)
    words, root = nested.words, np.int64(0)
    longest = lattice.word.shape[1] - 1
    passed = passed_on(words, root)
    own = own_share(words, root, find_entry(words, root, BOUNDARY))
    lattice.word[0, 0], lattice.unigram[0, 0] = BOUNDARY, own + passed * nested.bases[model.BOUNDARY_BASE]
    node = find_child(words, root, BOUNDARY)
    lattice.node[0, 0], lattice.passed[0, 0] = node, passed_on(words, node) if node >= 0 else 1.0
    for t in range(1, n + 1):
        for k in range(1, min(t, longest) + 1):
            lattice.unigram[t, k] = 0.0
    for begin in range(n):
        if begin > 0 and gaps[first + begin] == FORBIDDEN:
            continue
        hash, mask, spelled = EMPTY_HASH, 0, 1.0
        for k in range(1, min(longest, n - begin) + 1):
            t = begin + k
            letter = text[first + t - 1]
            hash = hash_step(hash, letter)
            mask |= nested.masks[letter]
            spelled *= lattice.inner[t - 1, k - 1]  # of the k letters so far, before the end of the word
            if t == n or gaps[first + t] != FORBIDDEN:
                word = find_word(nested, text, first + begin, k, hash)
                node, own = np.int64(NONE), 0.0
                if word >= 0:
                    own = own_share(words, root, find_entry(words, root, word))
                    node = find_child(words, root, word)
                lattice.word[t, k], lattice.node[t, k] = word, node
                lattice.passed[t, k] = passed_on(words, node) if node >= 0 else 1.0
                lattice.unigram[t, k] = (
                    own + passed * spelled * lattice.last[t, k] * nested.factors[nested.kinds[mask], k]
                )
            if t < n and gaps[first + t] == FORCED:
                break


@kernel(bare=True)
def last_lengths(t, longest):
    """The lengths of the last word of a beginning that ends at t: from, to."""
    return (0, 0) if t == 0 else (1, min(t, longest))


@part(bare=True)
def after(words, lattice, t, k, j, word, unigram):
    """P(word | the word of length k that ends at t, and the word of length j before it)."""
    node = np.int64(lattice.node[t, k])
    entry = find_entry(words, node, word) if node >= 0 and word >= 0 else np.int64(NONE)
    result = own_share(words, node, entry) + lattice.passed[t, k] * unigram
    if lattice.total.shape[2] > 1 and node >= 0 and lattice.word[t - k, j] >= 0:
        context = find_child(words, node, np.int64(lattice.word[t - k, j]))
        if context >= 0:
            own = 0.0
            if entry >= 0:
                own = own_share(words, context, find_entry(words, context, word))
            result = own + passed_on(words, context) * result
    return result


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
    """``contexts[0]``, ``contexts[1]`` and ``weights`` := nodes, lengths and totals of the last words at t that have
    been followed by something; returns how many, the mass of what all pass on (or the largest) and the length of the
    word with the largest."""
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
            lattice.weights[count] = weight
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
                own, weight = own_share(words, node, entry), lattice.weights[c]
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
    ``contexts`` those that have been followed by something, by the length of the word before; its column 0 holds the
    length with the largest. Returns the sum."""
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
            lattice.back[n, 0, 0] = 0
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
        if trigram:  # given what follows, the length of the word before this one
            low, high = last_lengths(t - k, lattice.word.shape[1] - 1)
            for j in range(low, high + 1):
                weight = lattice.total[t, k, j]
                if weight > 0.0:
                    weight *= after(words, lattice, t, k, j, word, unigram)
                lattice.weights[j] = weight
            before = low + categorical(stream, lattice.weights[low : high + 1])
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
