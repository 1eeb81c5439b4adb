"""Word segmentation one boundary at a time: Gibbs sampling for models in which a new word costs by its length.

The model is a ``model.Nested`` without customers in its restaurants of letters: its base measure is a table by length,
base(w) = bases[len(w)]. All discounts are 0: Dirichlet processes of words (order 1), or hierarchical ones of words
after a word (order 2). At each gap the words around it are taken out, and either one word or two come back:

    P(one) = P(w | x) P(y | w),      P(two) = P(u | x) P(v | u) P(y | v),      w = uv, x before it, y after it

The words of a hypothesis change the probabilities of one another: the second finds the customers of the first, and a
table that one opens in its context is a customer of the root for the others. So all ways to sit (join a table or open
one, each of at most three words) are enumerated, and one is drawn with its exact weight. With ``heat`` below 1 the
hypotheses are drawn with their probabilities to that power: annealing.

Goldwater, Griffiths and Johnson, "A Bayesian framework for word segmentation: exploring the effects of context", 2009.

**First words** for text without spaces, by branching entropy. Inside a word the next letter is easy to predict, and the
more so the longer the part before it; at the end anything may follow. So for each string of the text we take the
entropy of the letter after it, less that after the string without its last letter; the same to the left; and subtract
from both their means over strings of that length. The sum is the *autonomy* of the string. The first words have the
greatest sum of autonomies times lengths: a path through the lattice of all strings (``best_cuts``),

    table[t] = the largest table[t - k] + scores[t - k, k] over all k,     back[t] = that k,

which is MAX of ``engine.dp`` for a semi-Markov model without labels. Sarawagi and Cohen, "Semi-Markov
conditional random fields for information extraction", 2004.

Magistry and Sagot, "Unsupervized word segmentation: the case for Mandarin Chinese", 2012."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.hierarchy import add, join_table, place_table, remove, seat
from corpuscle.engine.restaurants.pool import entry_of, find_child, find_entry, used_rows
from corpuscle.engine.restaurants.seating import log_seating
from corpuscle.random import categorical, uniform
from corpuscle.segment.kernels import model
from corpuscle.segment.kernels.lattice import FREE_GAP
from corpuscle.segment.kernels.model import BOUNDARY, Nested, context_of, drop_word, find_at, has_room, intern

INSIDE, WORD, SENTENCE = 0, 1, 2
"""What begins at a letter: nothing, a word, or a sentence (and a word). The end of the text counts as SENTENCE."""

ROOM = 4
"""A step needs the room of a sentence of this length."""

_BOTH, _IN_CONTEXT, _AT_ROOT, _BASE = range(4)
"""Columns of ``counts``: customers of the word in its context, of the context, of the word at the root; its base."""


class Boundaries(NamedTuple):
    """What is known and drawn of a text.

    - ``gaps``: uint8 (letters,), FREE_GAP before letters of which it is not given whether a word begins there;
    - ``begins``: uint8 (letters + 1,), what begins at each letter; ``names``: int32 (letters + 1,), the number of the
      word that begins there, kept up to date;
    - ``bases``: float64 (longest + 1 or more,), the base measure of words by length, of ``$`` first; ``longest``: no
      longer word is made.
    """

    gaps: np.ndarray
    begins: np.ndarray
    names: np.ndarray
    bases: np.ndarray
    longest: int


class Choice(NamedTuple):
    """Room for one decision: two hypotheses, of at most three words each.

    - ``words``: int64 (2, 3, 2), each word and the word before it; ``counts``: float64 (2, 3, 4), see above;
    - ``weights``: float64 (2, 8), of all ways to sit: bit i of the column says that word i opens a table.
    """

    words: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


def new_choice() -> Choice:
    return Choice(np.zeros((2, 3, 2), np.int64), np.zeros((2, 3, 4)), np.zeros((2, 8)))


@kernel(bare=True)
def scatter(text, rate, stream):
    """Let words begin at random, no longer than ``longest`` where that is possible: a start for sampling. Known words
    and given gaps stay as they are."""
    gaps, begins, longest = text.gaps, text.begins, text.longest
    begin, place = 0, 0  # of this word, and where it was last possible to end it
    for i in range(len(gaps)):
        if begins[i] != INSIDE:
            begin = i
        elif gaps[i] == FREE_GAP:
            place = i
            if i - begin >= longest or uniform(stream) < rate:
                begins[i] = WORD
                begin = i
        if i - begin >= longest and place > begin:
            begins[place] = WORD
            begin = place


@kernel(bare=True)
def name(nested, text):
    """``names`` := the numbers of the words of a text that are in the model; whether all are."""
    begins, names = text.begins, text.names
    for i in range(len(names) - 1):
        if begins[i] != INSIDE:
            end = i + 1
            while begins[end] == INSIDE:
                end += 1
            names[i] = find_at(nested, np.int64(i), np.int64(end - i))
            if names[i] < 0:
                return False
    return True


@part(bare=True)
def _base(nested, text, word):
    return text.bases[0] if word == BOUNDARY else text.bases[nested.rows[word, model.LENGTH]]


@part(bare=True)
def _word_before(text, at):
    """The name of the word before the one that begins at a place."""
    if text.begins[at] == SENTENCE:
        return np.int64(BOUNDARY)
    at -= 1
    while text.begins[at] == INSIDE:
        at -= 1
    return np.int64(text.names[at])


@kernel(bare=True)
def come(nested, text, first, last, stream):
    """Seat the words that begin at the letters ``first`` to ``last``, and the ends of their sentences. Returns
    ``last``, or the letter at which there was no more room."""
    begins, names = text.begins, text.names
    for i in range(first, last):
        if begins[i] == INSIDE:
            continue
        if not has_room(nested, ROOM):
            return i
        end = i + 1
        while begins[end] == INSIDE:
            end += 1
        word = intern(nested, i, end - i)
        names[i] = word
        node = context_of(nested, _word_before(text, i), BOUNDARY, True)
        add(nested.words, node, word, _base(nested, text, word), stream)
        if begins[end] == SENTENCE:
            add(nested.words, context_of(nested, word, BOUNDARY, True), BOUNDARY, text.bases[0], stream)
    return last


@part(bare=True)
def _weigh(nested, text, choice, which, n):
    """The probability that the ``n`` words of a hypothesis come one after the other, and of each way to sit."""
    pool = nested.words
    words, counts, weights = choice.words[which], choice.counts[which], choice.weights[which]
    flat = len(pool.discounts) == 1
    for i in range(n):
        root_entry = find_entry(pool, 0, words[i, 0])
        counts[i, _AT_ROOT] = pool.entries[root_entry, col.CUSTOMERS] if root_entry >= 0 else 0.0
        counts[i, _BASE] = _base(nested, text, words[i, 0])
        counts[i, _BOTH] = counts[i, _IN_CONTEXT] = 0.0
        node = np.int64(-1) if flat else find_child(pool, 0, words[i, 1])
        if node >= 0:
            counts[i, _IN_CONTEXT] = pool.nodes[node, col.CUSTOMERS]
            entry = find_entry(pool, node, words[i, 0])
            if entry >= 0:
                counts[i, _BOTH] = pool.entries[entry, col.CUSTOMERS]
    at_root, total = pool.nodes[0, col.CUSTOMERS], 0.0
    # Bit i of ``way``: word i opens a table in its context, and so is a customer of the root. The words before it have
    # sat down by then: j < i with the same context, or (``opened``) at the root.
    for way in range(1 << n):
        weight = 1.0
        for i in range(n):
            both, in_context, word_at_root, opened = 0, 0, 0, 0
            for j in range(i):
                if words[j, 1] == words[i, 1]:
                    in_context += 1
                    both += words[j, 0] == words[i, 0]
                if (way >> j) & 1:
                    opened += 1
                    word_at_root += words[j, 0] == words[i, 0]
            opens = (way >> i) & 1
            root = counts[i, _AT_ROOT] + word_at_root + pool.strengths[0] * counts[i, _BASE]
            root /= pool.strengths[0] + at_root + opened
            if flat:
                weight *= root if opens else 0.0
            elif opens:
                weight *= pool.strengths[1] / (pool.strengths[1] + counts[i, _IN_CONTEXT] + in_context) * root
            else:
                weight *= (counts[i, _BOTH] + both) / (pool.strengths[1] + counts[i, _IN_CONTEXT] + in_context)
        weights[way] = weight
        total += weight
    return total


@part(bare=True)
def _sit_down(nested, choice, which, n, stream):
    """The words of a hypothesis sit down in one of the ways that were weighed."""
    pool = nested.words
    words, counts, weights = choice.words[which], choice.counts[which], choice.weights[which]
    way = categorical(stream, weights[: 1 << n])
    for i in range(n):
        entry = entry_of(pool, context_of(nested, words[i, 1], BOUNDARY, True), words[i, 0])
        if len(pool.discounts) == 1:
            seat(pool, entry, counts[i, _BASE], stream)
        elif (way >> i) & 1:
            place_table(pool, entry, 1)
            seat(pool, np.int64(pool.entries[entry, col.UP]), counts[i, _BASE], stream)
        else:
            join_table(pool, entry, stream)


@kernel(bare=True)
def sweep(nested, text, first, last, heat, choice, stream):
    """Decide anew, at each of the letters ``first`` to ``last``, whether a word begins there. Returns ``last``, or the
    letter at which there was no more room."""
    pool, begins, names = nested.words, text.begins, text.names
    bigram = len(pool.discounts) > 1
    for i in range(first, last):
        if begins[i] == SENTENCE or text.gaps[i] != FREE_GAP:
            continue
        if not has_room(nested, ROOM):
            return i
        begin, end = i - 1, i + 1
        while begins[begin] == INSIDE:
            begin -= 1
        while begins[end] == INSIDE:
            end += 1
        if end - begin > text.longest:
            continue
        x = _word_before(text, begin)
        y = np.int64(BOUNDARY) if begins[end] == SENTENCE else np.int64(names[end])
        w, u, v = intern(nested, begin, end - begin), intern(nested, begin, i - begin), intern(nested, i, end - i)
        joined, apart = choice.words[0], choice.words[1]  # of each word itself and the one before it
        joined[0, 0], joined[0, 1], joined[1, 0], joined[1, 1] = w, x, y, w
        apart[0, 0], apart[0, 1], apart[1, 0], apart[1, 1], apart[2, 0], apart[2, 1] = u, x, v, u, y, v
        # Without contexts the word behind does not care.
        one, two = (2, 3) if bigram else (1, 2)
        now = 1 if begins[i] == WORD else 0  # the hypothesis that holds: its words go, the last one first
        for j in range((two if now else one) - 1, -1, -1):
            remove(pool, context_of(nested, choice.words[now, j, 1], BOUNDARY, False), choice.words[now, j, 0], stream)
        whole, split = _weigh(nested, text, choice, 0, one), _weigh(nested, text, choice, 1, two)
        odds = math.exp(min(700.0, heat * (math.log(whole) - math.log(split))))
        if uniform(stream) * (1.0 + odds) < 1.0:
            _sit_down(nested, choice, 1, two, stream)
            begins[i], names[begin], names[i] = WORD, u, v
        else:
            _sit_down(nested, choice, 0, one, stream)
            begins[i], names[begin] = INSIDE, w
        # Numbers were given to the words of both hypotheses; those of which no customer is left are given up.
        drop_word(nested, w)
        drop_word(nested, u)
        if u != v:
            drop_word(nested, v)
    return last


def log_joint(nested: Nested, bases: np.ndarray) -> float:
    """Natural log of the probability of the words and their seating."""
    _, entries = used_rows(nested.words)
    root = entries[entries[:, col.NODE] == 0]
    lengths = np.where(root[:, col.DISH] == BOUNDARY, 0, nested.rows[root[:, col.DISH], model.LENGTH])
    return log_seating(nested.words) + float((root[:, col.TABLES] * np.log(bases[lengths])).sum())


class _Strings(NamedTuple):
    """The strings of one length: at each letter the number of the one that begins there (-1: a stretch ends before it
    does); how often each occurs; the numbers of its parts without the last and without the first letter."""

    at: np.ndarray
    counts: np.ndarray
    heads: np.ndarray
    tails: np.ndarray


def _longer(strings: _Strings, text: np.ndarray, left: np.ndarray, length: int) -> _Strings:
    """The strings of ``length`` letters, one more than those given; ``left``: letters to the end of the stretch."""
    places = np.flatnonzero(left >= length)
    heads, last = strings.at[places], text[places + length - 1]
    _, first, numbers, counts = np.unique(
        heads * (int(text.max(initial=0)) + 1) + last, return_index=True, return_inverse=True, return_counts=True
    )
    at = np.full(len(text), -1, np.int64)
    at[places] = numbers
    tails = strings.at[places[first] + 1] if length > 1 else np.zeros(len(first), np.int64)
    return _Strings(at, counts, heads[first], tails)


def autonomies(text: np.ndarray, stretches: np.ndarray, longest: int) -> np.ndarray:
    """float32 (letters, longest + 1): the autonomy of the string of each length at each letter; -inf where there is
    none. ``text``: int (letters,); ``stretches``: int64 (stretches + 1,), where stretches without a known boundary
    begin. Each end of a stretch is a letter that differs from all others."""
    left = np.repeat(stretches[1:], np.diff(stretches)) - np.arange(len(text))
    shorter = _Strings(np.zeros(len(text), np.int64), np.array([len(text)]), np.zeros(1, int), np.zeros(1, int))
    strings = _longer(shorter, text, left, 1)
    found = np.full((len(text), longest + 1), -np.inf, np.float32)
    after = before = np.zeros(1)  # the entropies of shorter strings; of the empty one, which all have, any number does
    for length in range(1, min(longest, int(left.max(initial=0))) + 1):
        longer = _longer(strings, text, left, length + 1)
        logs, total = longer.counts * np.log(longer.counts), len(strings.counts)
        entropies = [
            np.log(strings.counts) - np.bincount(part, logs, minlength=total) / strings.counts
            for part in (longer.heads, longer.tails)
        ]
        rises = entropies[0] - after[strings.heads], entropies[1] - before[strings.tails]
        autonomy = sum(rise - rise.mean() for rise in rises)
        places = strings.at >= 0
        found[places, length] = autonomy[strings.at[places]]
        (after, before), strings = entropies, longer
    return found


@part(bare=True)
def best_cuts(scores, allowed, table, back, cuts):
    """``cuts[t]`` := 1 where a stretch of the best way to cut a sequence of n symbols begins, for t = 0..n-1.
    ``scores``: (n, longest + 1), of the stretch of each length that begins at each symbol, -inf where there is none;
    ``allowed``: bool (n,), whether a stretch may begin inside the sequence. Without any way, every symbol is a stretch.
    ``table`` float64 and ``back`` int32 (at least n + 1,) are room. Among equals, the one whose last stretch is the
    longest."""
    n, longest = len(scores), scores.shape[1] - 1
    table[0] = 0.0
    for t in range(1, n + 1):
        table[t], back[t] = -math.inf, 1
    for begin in range(n):
        if table[begin] == -math.inf or (begin > 0 and not allowed[begin]):
            continue
        for k in range(1, min(longest, n - begin) + 1):
            score = table[begin] + scores[begin, k]
            if score > table[begin + k]:
                table[begin + k], back[begin + k] = score, k
    t = n
    while t > 0:
        t -= back[t]
        cuts[t] = 1


@kernel
def _best(scores, stretches, allowed, cuts):
    """``cuts`` := 1 where the words with the greatest sum of scores, each times its length, begin."""
    room = 1
    for i in range(len(stretches) - 1):
        room = max(room, stretches[i + 1] - stretches[i] + 1)
    table, back, weighted = np.empty(room), np.empty(room, np.int32), np.empty((room, scores.shape[1]))
    for i in range(len(stretches) - 1):
        first, last = stretches[i], stretches[i + 1]
        for at in range(first, last):
            for length in range(1, scores.shape[1]):
                weighted[at - first, length] = length * scores[at, length]
        best_cuts(weighted[: last - first], allowed[first:last], table, back, cuts[first:last])


def autonomous_words(text: np.ndarray, stretches: np.ndarray, allowed: np.ndarray, longest: int) -> np.ndarray:
    """Where words of at most ``longest`` letters begin: uint8 (letters,). ``allowed``: bool (letters,), whether a word
    may begin at a letter inside a stretch; no stretch of letters where none may is longer than ``longest``."""
    cuts = np.zeros(len(text), np.uint8)
    _best(autonomies(text, stretches, longest), stretches, allowed, cuts)
    return cuts
