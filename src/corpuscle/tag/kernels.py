"""The compiled code of tagging: features as places in a table of weights, the search for labels, and learning.

**Features.** What a word and its neighbours say about its tag, and hashes of the beginnings and endings of words, which
are among them. A feature is a template with values: (the ending of three letters, the form of the next word), say. It
is never stored: its hash is where its weights begin in a table of 2^bits. A label (a combination of UPOS, XPOS and
FEATS) has parts: its UPOS, each feature of its FEATS, and itself. The weight of a feature with part k stands k places
behind the beginning of the feature, so that the weights of all parts lie together in memory, while only those that were
ever moved take part in collisions. The score of a label is the sum over features and parts: rare labels learn from the
parts that they share with others.

The beginning of k letters has the FNV-1a hash of its bytes in their order, the ending that of its bytes in the opposite
order, so one pass from each side gives those of all lengths. UTF-8 says where letters begin: a byte of the form
10xxxxxx goes on with a letter.

**Search.** The labels of a sentence: candidates by their own scores, then the best path among them, or how likely each
is. A word of the lexicon has the labels that it was seen with; a rare or unknown word may have any that words of open
classes have, of which the ones with the best parts are looked at more closely. Of the candidates of a word the ``BEAM``
best by local scores stay. A path is scored by its words and by its steps, each from two labels r, p to a third, q:

    best[j, p, q] = local[j, q] + max over r of best[j - 1, r, p] + steps[j, r, p, q]

so the best path is exact among the candidates that stay; the chance of each step follows from the same recursion with
sums, from both sides. A word with a single candidate is not scored at all.

**Learning**: the conditional likelihood of the right labels, by adaptive gradients, sentence after sentence. The
gradient of the log-likelihood of a sentence with respect to the weight of a feature is how often the feature occurs
with the right labels, minus how often it is expected to, among all paths through the candidates. Each weight moves by
``rate`` times its gradient over the root of its squared gradients so far, so that rare features learn as fast as
frequent ones. Words and steps that are nearly certain move nothing. The result is the mean of the weights after every
sentence: ``totals`` collects each change times the number of sentences before it, so that mean = weights - totals /
sentences.

Features: Ratnaparkhi, "A maximum entropy model for part-of-speech tagging", 1996, table 1 (templates); Weinberger,
Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale multitask learning", 2009; Fowler, Noll, Vo
and Eastlake, "The FNV non-cryptographic hash algorithm", 2012. Search over two labels, and endings of unknown words:
Brants, "TnT: a statistical part-of-speech tagger", 2000, equation 1 and section 2.3; candidates, pruning and parts of
labels: Mueller, Schmid and Schuetze, "Efficient higher-order CRFs for morphological tagging", 2013, sections 3.2 and
3.3. Expectations and likelihood: Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for
segmenting and labeling sequence data", 2001, section 4; Duchi, Hazan and Singer, "Adaptive subgradient methods for
online learning and stochastic optimization", 2011 (``squares`` are their sums of squares); means as in Collins,
"Discriminative training methods for hidden Markov models", 2002.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.random import mix

_FIRST, _SECOND, _THIRD, _TEMPLATE, _SPREAD = (np.uint64(odd) for odd in (
    0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x8EBC6AF09C88C6E3, 0xBF58476D1CE4E5B9
))  # fmt: skip
_STEPS = 1000  # where the templates of steps from label to label begin


class Words(NamedTuple):
    """The words of a text.

    - ``starts``: int64 (n_sentences + 1,), where sentences begin; ``tokens``: int32 (n_words,), rows of ``values``;
    - ``values``: uint64 (types + 2, columns), what is known of each type, 0 for nothing; the last two rows stand before
      and behind a sentence;
    - ``entries``: int32 (types,), its row of the lexicon, -1 for none; ``open``: bool (types,), it may have others;
    - ``templates``: int32 (templates, 3, 2), up to three pairs of a distance and a column, -1 for no column.
    """

    starts: np.ndarray
    tokens: np.ndarray
    values: np.ndarray
    entries: np.ndarray
    open: np.ndarray
    templates: np.ndarray


class Labels(NamedTuple):
    """The labels and their parts.

    - ``starts`` int64 (labels + 1,), ``parts`` int32: the parts of each label, the coarsest one first;
    - ``n_parts``: how many there are, the labels themselves not counted;
    - ``lexicon_starts`` int64 (entries + 1,), ``lexicon`` int32: the labels of each entry; ``open`` int32: those that
      unknown words may have, the most frequent one first.
    """

    starts: np.ndarray
    parts: np.ndarray
    n_parts: int
    lexicon_starts: np.ndarray
    lexicon: np.ndarray
    open: np.ndarray


@part(inline=True)
def _place(value, shift):
    key = (value ^ (value >> np.uint64(32))) * _SPREAD
    return np.int64((key ^ (key >> np.uint64(29))) * _SPREAD >> shift)


@part
def local_features(words, first, last, i, shift, places):
    """``places`` int64 := where the features of word i of a sentence begin; returns how many."""
    count = 0
    for t in range(len(words.templates)):
        value, given = np.uint64(t) * _TEMPLATE, True
        for k in range(3):
            column = words.templates[t, k, 1]
            if column >= 0:
                at = i + words.templates[t, k, 0]
                # A place outside of the sentence has the values of the last two rows.
                row = len(words.values) - 2 if at < first else len(words.values) - 1 if at >= last else words.tokens[at]
                part = words.values[row, column]
                given = given and part != 0
                value += part * (_FIRST if k == 0 else _SECOND if k == 1 else _THIRD)
        if given:
            places[count] = _place(value, shift)
            count += 1
    return count


@part(inline=True)
def score_of(weights, place, label, labels):
    """The weight of a label at the place of a feature: its own and those of its parts."""
    total = weights[place + labels.n_parts + label]
    for k in range(labels.starts[label], labels.starts[label + 1]):
        total += weights[place + labels.parts[k]]
    return total


@part
def step_places(words, i, before, previous, labels, shift, places):
    """``places[:5]`` := where the features of a step begin, from the labels ``before`` and ``previous`` (-1: none) to
    that of word i."""
    coarse_b = labels.parts[labels.starts[before]] + 1 if before >= 0 else 0
    coarse_p = labels.parts[labels.starts[previous]] + 1 if previous >= 0 else 0
    b, p = np.uint64(coarse_b + 1) * _FIRST, np.uint64(coarse_p + 1) * _SECOND
    whole = np.uint64(previous + 2) * _THIRD
    word, first = words.values[words.tokens[i], 1], np.uint64(_STEPS) * _TEMPLATE
    places[0] = _place(p + first, shift)
    places[1] = _place(whole + first + _TEMPLATE, shift)
    places[2] = _place(whole + word * _FIRST + first + np.uint64(2) * _TEMPLATE, shift)
    places[3] = _place(b + p + first + np.uint64(3) * _TEMPLATE, shift)
    places[4] = _place(b + whole + first + np.uint64(4) * _TEMPLATE, shift)


# ---- beginnings and endings


_PRIME, _BASIS = np.uint64(0x100000001B3), np.uint64(0xCBF29CE484222325)


@kernel
def hash_affixes(text, offsets, endings, beginnings):
    """``endings`` uint64 (n, k) and ``beginnings`` uint64 (n, m) := hashes of the affixes of 1, 2, ... letters, 0 where
    a word has no more letters than that; ``text`` uint8, ``offsets`` int64 (n + 1,)."""
    endings[:], beginnings[:] = 0, 0
    for i in range(len(endings)):
        for side in range(2):
            found = beginnings[i] if side else endings[i]
            h, letters = _BASIS, 0
            for k in range(offsets[i + 1] - offsets[i] - 1):
                j = offsets[i] + k if side else offsets[i + 1] - 1 - k
                h = (h ^ np.uint64(text[j])) * _PRIME
                # Another letter begins behind the beginning, or with the first byte of the ending.
                if letters < len(found) and (text[j + side] & 0xC0) != 0x80:
                    found[letters] = mix(h + _PRIME if side else h)
                    letters += 1


# ---- search


BEAM, MOST, STEPS = 6, 32, 5
"""Candidates that stay, that are looked at closely, and features of a step."""


class Room(NamedTuple):
    """Buffers for sentences of up to n words.

    - ``places`` int64, where features begin; ``parts`` float64 (n_parts,), the scores of parts;
    - ``ranked`` int32, ``ranks`` float64 (candidates,): candidates of a word before pruning, with scores;
    - ``counts`` int64 (n,), ``candidates`` int32 (n, BEAM): the candidates of each word;
    - ``local`` float64 (n, BEAM), ``steps`` float64 (n, BEAM, BEAM, BEAM): scores, or how likely each is;
    - ``best``, ``behind`` float64, ``back`` int8 (n, BEAM, BEAM): by the labels of a word and of the one before it.
    """

    places: np.ndarray
    parts: np.ndarray
    ranked: np.ndarray
    ranks: np.ndarray
    counts: np.ndarray
    candidates: np.ndarray
    local: np.ndarray
    steps: np.ndarray
    best: np.ndarray
    behind: np.ndarray
    back: np.ndarray


def room_for(n: int, words: Words, labels: Labels) -> Room:
    """Buffers for sentences of up to n words."""
    most = MOST + int(np.diff(labels.lexicon_starts).max(initial=1))
    return Room(
        np.zeros(max(STEPS, len(words.templates)), np.int64), np.zeros(labels.n_parts),
        np.zeros(most, np.int32), np.zeros(most), np.zeros(n, np.int64), np.zeros((n, BEAM), np.int32),
        np.zeros((n, BEAM)), np.zeros((n, BEAM, BEAM, BEAM)), np.zeros((n, BEAM, BEAM)), np.zeros((n, BEAM, BEAM)),
        np.zeros((n, BEAM, BEAM), np.int8),
    )  # fmt: skip


@part
def _insert(candidates, scores, count, most, label, score):
    """Put a label into a list of at most ``most``, the best one first, before those that are not better; returns how
    many there are."""
    if count == most:
        if score <= scores[count - 1]:
            return count
        count -= 1
    at = count
    while at > 0 and scores[at - 1] < score:
        candidates[at], scores[at] = candidates[at - 1], scores[at - 1]
        at -= 1
    candidates[at], scores[at] = label, score
    return count + 1


@part
def _propose(words, labels, type_, count, weights, room):
    """``room.ranked`` := the candidates of a type with ``count`` features at ``room.places``; returns how many."""
    found = 0
    if words.open[type_]:
        room.parts[:] = 0.0
        for f in range(count):
            place = room.places[f]
            for part in range(labels.n_parts):
                room.parts[part] += weights[place + part]
        for label in labels.open:
            score = 0.0
            for k in range(labels.starts[label], labels.starts[label + 1]):
                score += room.parts[labels.parts[k]]
            found = _insert(room.ranked, room.ranks, found, MOST, label, score)
    entry = words.entries[type_]
    if entry >= 0:
        for k in range(labels.lexicon_starts[entry], labels.lexicon_starts[entry + 1]):
            known = False
            for i in range(found):
                known = known or room.ranked[i] == labels.lexicon[k]
            if not known:
                room.ranked[found] = labels.lexicon[k]
                found += 1
    return found


@kernel
def score_sentence(words, first, last, labels, weights, shift, room):
    """The candidates of every word with their local scores, and the score of every step (a step without a choice has
    none), into ``room``."""
    for i in range(first, last):
        type_, j = words.tokens[i], i - first
        entry = words.entries[type_]
        if not words.open[type_] and labels.lexicon_starts[entry + 1] - labels.lexicon_starts[entry] == 1:
            room.counts[j], room.local[j, 0] = 1, 0.0
            room.candidates[j, 0] = labels.lexicon[labels.lexicon_starts[entry]]
            continue
        count = local_features(words, first, last, i, shift, room.places)
        found, kept = _propose(words, labels, type_, count, weights, room), 0
        for c in range(found):
            score = 0.0
            for f in range(count):
                score += score_of(weights, room.places[f], room.ranked[c], labels)
            kept = _insert(room.candidates[j], room.local[j], kept, BEAM, room.ranked[c], score)
        room.counts[j] = kept
    for j in range(last - first):
        n_before, n_previous = room.counts[j - 2] if j > 1 else 1, room.counts[j - 1] if j > 0 else 1
        for r in range(n_before):
            before = room.candidates[j - 2, r] if j > 1 else -1
            for p in range(n_previous):
                previous = room.candidates[j - 1, p] if j > 0 else -1
                if n_before * n_previous * room.counts[j] == 1:
                    room.steps[j, r, p, 0] = 0.0
                    continue
                step_places(words, first + j, before, previous, labels, shift, room.places)
                for q in range(room.counts[j]):
                    score = 0.0
                    for f in range(STEPS):
                        score += score_of(weights, room.places[f], room.candidates[j, q], labels)
                    room.steps[j, r, p, q] = score


@kernel
def best_labels(n, room, found):
    """``found`` int32 (n,) := the best path by the scores in ``room``; returns its score."""
    if n == 0:
        return 0.0
    for j in range(n):
        n_before, n_previous = room.counts[j - 2] if j > 1 else 1, room.counts[j - 1] if j > 0 else 1
        for p in range(n_previous):
            for q in range(room.counts[j]):
                top = -math.inf
                for r in range(n_before):
                    score = (room.best[j - 1, r, p] if j > 0 else 0.0) + room.steps[j, r, p, q]
                    if score > top:
                        top, room.back[j, p, q] = score, r
                room.best[j, p, q] = top + room.local[j, q]
    top, best_p, best_q = -math.inf, 0, 0
    for p in range(room.counts[n - 2] if n > 1 else 1):
        for q in range(room.counts[n - 1]):
            if room.best[n - 1, p, q] > top:
                top, best_p, best_q = room.best[n - 1, p, q], p, q
    for j in range(n - 1, -1, -1):
        found[j] = room.candidates[j, best_q]
        best_q, best_p = best_p, room.back[j, best_p, best_q]
    return top


@kernel
def expectations(n, room):
    """``room.steps`` := how likely each step is, ``room.local`` := how likely each candidate, by the scores in them."""
    # Forwards, ``best``: sums over all paths that arrive, scaled to add up to 1 at each word so that none overflows.
    for j in range(n):
        n_before, n_previous = room.counts[j - 2] if j > 1 else 1, room.counts[j - 1] if j > 0 else 1
        top, total = -math.inf, 0.0
        for r in range(n_before):
            for p in range(n_previous):
                for q in range(room.counts[j]):
                    room.steps[j, r, p, q] += room.local[j, q]
                    top = max(top, room.steps[j, r, p, q])
        for p in range(n_previous):
            for q in range(room.counts[j]):
                here = 0.0
                for r in range(n_before):
                    room.steps[j, r, p, q] = math.exp(room.steps[j, r, p, q] - top)
                    here += (room.best[j - 1, r, p] if j > 0 else 1.0) * room.steps[j, r, p, q]
                room.best[j, p, q] = here
                total += here
        room.best[j, :n_previous, : room.counts[j]] /= total
    # Backwards, ``behind``: sums over all paths that go on from there, scaled by their largest.
    for j in range(n - 1, -1, -1):
        n_before, n_previous = room.counts[j - 2] if j > 1 else 1, room.counts[j - 1] if j > 0 else 1
        total = 0.0
        for r in range(n_before):
            for p in range(n_previous):
                arrived, behind = room.best[j - 1, r, p] if j > 0 else 1.0, 0.0
                for q in range(room.counts[j]):
                    behind += room.steps[j, r, p, q] * (room.behind[j, p, q] if j < n - 1 else 1.0)
                    room.steps[j, r, p, q] *= arrived * (room.behind[j, p, q] if j < n - 1 else 1.0)
                    total += room.steps[j, r, p, q]
                if j > 0:
                    room.behind[j - 1, r, p] = behind
        room.local[j] = 0.0
        for r in range(n_before):
            for p in range(n_previous):
                for q in range(room.counts[j]):
                    room.steps[j, r, p, q] /= total
                    room.local[j, q] += room.steps[j, r, p, q]
        if j > 0:
            behind_all = room.behind[j - 1, :n_before, :n_previous]
            behind_all /= behind_all.max()


# ---- learning


_DAMPING, _SMALL = 0.01, 0.001
"""Squares that every weight begins with, and gradients that are left out."""


class Learning(NamedTuple):
    """Weights under way: ``weights`` float32, ``totals`` float64, ``squares`` float32 (places,); ``clock`` int64 (1,),
    sentences so far; ``rate``; ``shift``: 64 - bits of the table."""

    weights: np.ndarray
    totals: np.ndarray
    squares: np.ndarray
    clock: np.ndarray
    rate: float
    shift: np.uint64


@part(inline=True)
def _climb(learning, places, count, label, labels, slope):
    """Move the weights of a label at the places of some features along a gradient."""
    for f in range(count):
        for k in range(labels.starts[label] - 1, labels.starts[label + 1]):
            at = places[f] + (labels.parts[k] if k >= labels.starts[label] else labels.n_parts + label)
            learning.squares[at] += slope * slope
            change = learning.rate * slope / math.sqrt(learning.squares[at] + _DAMPING)
            learning.weights[at] += change
            learning.totals[at] += change * (learning.clock[0] - 1)


@part
def _learn_words(words, first, last, gold, labels, learning, room):
    """Move the weights of local features; returns how many words had a wrong label as the most likely one."""
    wrong = 0
    for i in range(first, last):
        j, own, top = i - first, -1, 0
        for q in range(room.counts[j]):
            own = q if room.candidates[j, q] == gold[i] else own
            top = q if room.local[j, q] > room.local[j, top] else top
        wrong += own != top
        missing = 1.0 - (room.local[j, own] if own >= 0 else 0.0)
        if missing > _SMALL:
            count = local_features(words, first, last, i, learning.shift, room.places)
            _climb(learning, room.places, count, gold[i], labels, missing)
            for q in range(room.counts[j]):
                if q != own and room.local[j, q] > _SMALL:
                    _climb(learning, room.places, count, room.candidates[j, q], labels, -room.local[j, q])
    return wrong


@part
def _learn_steps(words, first, last, gold, labels, learning, room):
    for i in range(first, last):
        j = i - first
        n_before, n_previous = room.counts[j - 2] if j > 1 else 1, room.counts[j - 1] if j > 0 else 1
        if n_before * n_previous * room.counts[j] == 1 and room.candidates[j, 0] == gold[i]:
            continue
        gold_before, gold_previous = gold[i - 2] if j > 1 else -1, gold[i - 1] if j > 0 else -1
        among = False
        for r in range(n_before):
            before = room.candidates[j - 2, r] if j > 1 else -1
            for p in range(n_previous):
                previous = room.candidates[j - 1, p] if j > 0 else -1
                right = before == gold_before and previous == gold_previous
                step_places(words, i, before, previous, labels, learning.shift, room.places)
                for q in range(room.counts[j]):
                    here = right and room.candidates[j, q] == gold[i]
                    among = among or here
                    slope = (1.0 if here else 0.0) - room.steps[j, r, p, q]
                    if abs(slope) > _SMALL:
                        _climb(learning, room.places, STEPS, room.candidates[j, q], labels, slope)
        if not among:
            step_places(words, i, gold_before, gold_previous, labels, learning.shift, room.places)
            _climb(learning, room.places, STEPS, gold[i], labels, 1.0)


@kernel
def learn(words, order_of, gold, labels, weights, learning, room):
    """Learn from the sentences ``order_of`` int64, one after the other; returns how many words had a wrong label as the
    most likely one. ``gold``: int32 (n_words,), the right labels; ``weights``: those of ``learning``, read-only, so
    that scoring has the types that it has in a tagger."""
    wrong = 0
    for sentence in order_of:
        first, last = words.starts[sentence], words.starts[sentence + 1]
        learning.clock[0] += 1
        score_sentence(words, first, last, labels, weights, learning.shift, room)
        expectations(last - first, room)
        wrong += _learn_words(words, first, last, gold, labels, learning, room)
        _learn_steps(words, first, last, gold, labels, learning, room)
    return wrong
