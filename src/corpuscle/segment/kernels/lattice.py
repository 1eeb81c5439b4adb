"""All segmentations of a sentence at once: their total, one drawn from them, the best one.

A sentence has n letters and boundaries 0..n. ``fill`` looks up every stretch of at most L letters, with its unigram
probability. ``paths`` adds up, from left to right, the probability of all beginnings of the
sentence by their last word (bigram) or their last two words (trigram), and goes back from the end.

Two ideas make it fast. The context of a letter is the same whatever the word begins with, up to the beginning of the
word: so one walk down the tree of contexts serves all words that end behind a letter, or go on with it. And

    P(w | v) = own share of w after v + g(v) P(w),     so     sum_v P(w | v) A(v) = P(w) sum_v g(v) A(v) + a few terms

where the few terms are those contexts v that have seen w. The best instead of the sum works in the same way.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.2, equations 7-12: their alpha[t][k] is ``total``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import own_share, passed_on
from corpuscle.engine.restaurants.pool import NONE, find_child, find_entry
from corpuscle.engine.restaurants.variable import stop_probability
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
    - ``contexts``: int32 (L + 1, L + 2), ``weights``: float64 (1, L + 1), ``mass``: float64 (L + 1,): for one t.
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
    """Room for sentences of at most so many letters."""
    size = (letters + 1, longest + 1)
    states = (*size, longest + 1 if order > 2 else 1)
    return Lattice(
        np.zeros(size), np.zeros(size), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size),
        np.zeros(size), np.zeros(states), np.zeros(states, np.int16),
        np.zeros((longest + 1, longest + 2), np.int32), np.zeros((1, longest + 1)), np.zeros(longest + 1),
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
