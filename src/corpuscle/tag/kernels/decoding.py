"""The labels of a sentence: candidates by their own scores, then the best path among them, or how likely each is.

A word of the lexicon has the labels that it was seen with; a rare or unknown word may have any that words of open
classes have, of which the ones with the best parts are looked at more closely. Of the candidates of a word the ``BEAM``
best by local scores stay. A path is scored by its words and by its steps, each from two labels r, p to a third, q:

    best[j, p, q] = local[j, q] + max over r of best[j - 1, r, p] + steps[j, r, p, q]

so the best path is exact among the candidates that stay; the chance of each step follows from the same recursion with
sums, from both sides. A word with a single candidate is not scored at all.

Viterbi search over two labels as in Brants, "TnT: a statistical part-of-speech tagger", 2000, equation 1; candidates
and pruning as in Mueller, Schmid and Schuetze, "Efficient higher-order CRFs for morphological tagging", 2013, section
3.2; expectations as in Lafferty, McCallum and Pereira, "Conditional random fields", 2001, section 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.tag.kernels.features import Labels, Words, local_features, score_of, step_places

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
def score_words(words, first, last, labels, weights, shift, room):
    """The candidates of every word and their local scores into ``room``."""
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


@kernel
def score_steps(words, first, last, labels, weights, shift, room):
    """``room.steps`` := the score of every step; a step without a choice has none."""
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
        for p in range(n_previous):
            for q in range(room.counts[j]):
                room.best[j, p, q] /= total
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
            largest = 0.0
            for r in range(n_before):
                for p in range(n_previous):
                    largest = max(largest, room.behind[j - 1, r, p])
            for r in range(n_before):
                for p in range(n_previous):
                    room.behind[j - 1, r, p] /= largest
