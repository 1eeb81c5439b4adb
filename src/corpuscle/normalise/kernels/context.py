"""Candidates in their context, by a language model and by a dependency bank, and the best reading of a whole message.

**By a language model**, token by token. The score of a candidate with the words w_1 .. w_m (mostly one) is the log
probability of these and of the words that follow within the order n of the model, given the words before:

    sum over i of log P(w_i | before) + sum over n - 1 words behind of log P(. | before)

Messages are streams: a number from 0 on is a word, -1 - k is place k, which has several candidates, and, for the time
being, the words that it most probably stands for.

**By a dependency bank**: it has entries (context c, target w, offset d of the context seen from the target) with a
value in (0, 1]. The window of a place has, at each of ``OFFSETS``, a word of the lexicon or none, and the words that
sound like what was typed there. A candidate w is supported by the entry of the word at each offset with w; if there is
none, by the entries of words that sound like it, times ``share``.

**The best reading** of a whole message: one candidate at each place, all of them at once.

    score(c_1 .. c_n) = sum over places of own(c_i) + weight * log P(words of the message with c_1 .. c_n)

with P an n-gram model. Of all ways to read the message up to a token that lead to one state of the model, the best is
kept (Viterbi), for the ``beam`` states with the best scores. With fewer states and all candidates the result is exact.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4; Viterbi, "Error
bounds for convolutional codes and an asymptotically optimum decoding algorithm", 1967; the decoding of whole messages
follows Han, Cook and Baldwin, "Lexical normalization for social media text", 2013, section 7."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.ngrams.trie import ROOT, state_of, step

OFFSETS = (-3, -2, -1, 1, 2, 3)
SPAN = 7


class Entries(NamedTuple):
    """The bank: ``keys``, int64, ascending, (context * ``words`` + target) * SPAN + offset + 3, each with a value,
    float32; ``words``: how many there are."""

    keys: np.ndarray
    values: np.ndarray
    words: int


class Windows(NamedTuple):
    """The windows of places: ``own``, int32 (n_places, 6), the word at each offset, -1: none; ``near``, int32, the
    words that sound like it, those of place p and offset o from ``starts[6 p + o]`` on, int64 (6 n_places + 1,)."""

    own: np.ndarray
    near: np.ndarray
    starts: np.ndarray


@part
def _add(bank, context, offset, share, own, found, slots, cursors, rows, values):
    """Write rows and values, times ``share``, of the entries of a context at one offset whose targets have slots: its
    ``own``, or for targets that have ``found`` no such entry. The cursors of the slots move on, even without room."""
    at = np.searchsorted(bank.keys, np.int64(context) * bank.words * SPAN)
    end = (np.int64(context) + 1) * bank.words * SPAN
    while at < len(bank.keys) and bank.keys[at] < end:
        key = bank.keys[at]
        slot = slots[key // SPAN % bank.words]
        if slot >= 0 and key % SPAN - 3 == offset and (own or not found[slot]):
            found[slot] = found[slot] or own
            if cursors[slot] < len(rows):
                rows[cursors[slot]], values[cursors[slot]] = at, share * bank.values[at]
            cursors[slot] += 1
        at += 1


@kernel
def matching_entries(bank, windows, places, words, share, starts, rows, values):
    """Find the entries that support each of ``words`` (int32, -1: none) at each of ``places`` (int64), both (n,); words
    of one place follow each other and are distinct. Writes where the entries of each begin, int64 (n + 1,), their rows
    in the bank, int64, and their values, float64; returns how many there are, even if there is no room for all. The
    entries of a context are gone over once for all words of a place, first to count, then to write."""
    slots, size, begin = np.full(bank.words, -1, np.int64), 0, 0
    while begin < len(words):
        place, end = places[begin], begin + 1
        while end < len(words) and places[end] == place:
            end += 1
        for k in range(begin, end):
            if words[k] >= 0:
                slots[words[k]] = k - begin
        cursors = np.full(end - begin, len(rows))  # no room: count
        for turn in range(2):  # first count, then write
            for o in range(len(OFFSETS)):
                found = np.zeros(end - begin, np.bool_)
                if windows.own[place, o] >= 0:
                    own = windows.own[place, o]
                    _add(bank, own, OFFSETS[o], 1.0, True, found, slots, cursors, rows, values)
                if share > 0.0:
                    slot = place * len(OFFSETS) + o
                    for i in range(windows.starts[slot], windows.starts[slot + 1]):
                        near = windows.near[i]
                        _add(bank, near, OFFSETS[o], share, False, found, slots, cursors, rows, values)
            if turn == 0:
                for k in range(end - begin):
                    starts[begin + k] = size
                    size += cursors[k] - len(rows)
                    cursors[k] = starts[begin + k]
        for k in range(begin, end):  # only what was set is reset: the lexicon may be large
            if words[k] >= 0:
                slots[words[k]] = -1
        begin = end
    starts[len(words)] = size
    return size


class Stream(NamedTuple):
    """Messages: ``items``, int32, the words of all of them with START and END, and where each begins, int64
    (n_messages + 1,)."""

    items: np.ndarray
    bounds: np.ndarray


class Candidates(NamedTuple):
    """The candidates of all places: ``places``, int64 (n_places + 1,), the first candidate of each; ``words``, int32,
    and ``starts``, int64 (n_candidates + 1,), the words of each."""

    places: np.ndarray
    words: np.ndarray
    starts: np.ndarray


@kernel
def contexts_of(stream, words, ranges, reach, contexts):
    """Write the words before and behind every place: int32 (n_places, 2 reach), -1: none. ``ranges``: int64
    (n_places, 2), which of ``words`` stand at each place."""
    for message in range(len(stream.bounds) - 1):
        begin, end = stream.bounds[message], stream.bounds[message + 1]
        size = 0  # of the message with words at all places
        for at in range(begin, end):
            item = stream.items[at]
            size += 1 if item >= 0 else ranges[-1 - item, 1] - ranges[-1 - item, 0]
        flat, first, last = np.empty(size, np.int32), np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
        size = 0
        for at in range(begin, end):
            item = stream.items[at]
            first[at - begin] = size
            if item >= 0:
                flat[size] = item
                size += 1
            else:
                for k in range(ranges[-1 - item, 0], ranges[-1 - item, 1]):
                    flat[size] = words[k]
                    size += 1
            last[at - begin] = size
        for at in range(begin, end):
            if stream.items[at] < 0:
                row = contexts[-1 - stream.items[at]]
                row[:] = -1
                before, behind = first[at - begin], last[at - begin]
                for k in range(1, min(reach, before) + 1):  # the nearest word stands next to the middle of the row
                    row[reach - k] = flat[before - k]
                for k in range(min(reach, size - behind)):
                    row[reach + k] = flat[behind + k]


@kernel
def score_candidates(model, contexts, candidates, scores):
    """Write the score of each candidate, float64, given the words before and behind its place (``contexts_of``)."""
    reach = contexts.shape[1] // 2
    for place in range(len(candidates.places) - 1):
        before, behind = contexts[place, :reach], contexts[place, reach:]
        begin = state_of(model, before[before >= 0])
        for k in range(candidates.places[place], candidates.places[place + 1]):
            state, total = np.int64(begin), 0.0
            for i in range(candidates.starts[k], candidates.starts[k + 1]):
                state, score = step(model, state, candidates.words[i])
                total += score
            for word in behind:  # a candidate also decides how likely the words behind it are
                if word >= 0:
                    state, score = step(model, state, word)
                    total += score
            scores[k] = total


@kernel
def best_candidates(places, scores, context, frequency, best, confidence):
    """Write the best candidate of each place, of equal ones that with the better context, then the more frequent, then
    the first; and its share of the sum of exponential scores. int64 and float64 (n_places,)."""
    for place in range(len(places) - 1):
        top = places[place]
        for k in range(top + 1, places[place + 1]):
            if scores[k] > scores[top] or (
                scores[k] == scores[top]
                and (context[k] > context[top] or (context[k] == context[top] and frequency[k] > frequency[top]))
            ):
                top = k
        total = 0.0
        for k in range(places[place], places[place + 1]):
            total += np.exp(scores[k] - scores[top])
        best[place], confidence[place] = top, 1.0 / total


@part
def _strongest(scores, first, end, most, chosen):
    """Write which ``most`` of scores first .. end are the highest, the first of equal ones; returns how many."""
    count = min(most, end - first)
    for rank in range(count):
        top = -1
        for k in range(first, end):
            if top < 0 or scores[k] > scores[top]:  # ``most`` is small: a look at those chosen is cheaper than sorting
                taken = False
                for before in range(rank):
                    taken = taken or chosen[before] == k
                if not taken:
                    top = k
        chosen[rank] = top
    return count


@part
def _enter(beam, size, state, score, source, candidate):
    """Enter a reading into a beam, in place of a worse one with the same state, or without room of the worst, if it is
    better; returns the new size."""
    states, scores, sources, candidates = beam
    at, worst = -1, 0
    for k in range(size):
        if states[k] == state:
            if score <= scores[k]:
                return size
            at = k
            break
        if scores[k] < scores[worst]:
            worst = k
    if at < 0 and size < len(states):
        at = size
        size += 1
    elif at < 0:
        if score <= scores[worst]:
            return size
        at = worst
    states[at], scores[at], sources[at], candidates[at] = state, score, source, candidate
    return size


@kernel
def decode_messages(model, stream, candidates, own, ranking, weight, limits, chosen):
    """Write the candidate of every place in the best reading of its message: int64 (n_places,).

    - ``own``: float64 (n_candidates,), their scores without the language model; ``weight``: its weight;
    - ``ranking``: float64 (n_candidates,), by which the candidates are chosen that are tried;
    - ``limits``: how many candidates of a place are tried, and how many states are kept.
    """
    most, width = limits
    tried = np.empty(most, np.int64)
    for message in range(len(stream.bounds) - 1):
        begin, end = stream.bounds[message], stream.bounds[message + 1]
        n = end - begin
        sources, taken = np.empty((n, width), np.int32), np.empty((n, width), np.int64)
        states, scores = np.empty((2, width), np.int64), np.empty((2, width))
        states[0, 0], scores[0, 0], size = step(model, ROOT, stream.items[begin])[0], 0.0, 1
        for i in range(1, n):
            item = stream.items[begin + i]
            now, then = (i - 1) % 2, i % 2
            beam = (states[then], scores[then], sources[i], taken[i])
            grown = 0
            if item >= 0:
                for k in range(size):
                    state, score = step(model, states[now, k], item)
                    grown = _enter(beam, grown, state, scores[now, k] + weight * score, k, -1)
            else:
                place = -1 - item
                count = _strongest(ranking, candidates.places[place], candidates.places[place + 1], most, tried)
                for k in range(size):
                    for which in tried[:count]:
                        state, total = states[now, k], scores[now, k] + own[which]
                        for at in range(candidates.starts[which], candidates.starts[which + 1]):
                            state, score = step(model, state, candidates.words[at])
                            total += weight * score
                        grown = _enter(beam, grown, state, total, k, which)
            size = grown
        last = (n - 1) % 2  # two rows of states take turns; the way back is kept for every token
        at = int(np.argmax(scores[last, :size]))
        for i in range(n - 1, 0, -1):
            item = stream.items[begin + i]
            if item < 0:
                chosen[-1 - item] = taken[i, at]
            at = sources[i, at]
