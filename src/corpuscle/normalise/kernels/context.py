"""Candidates in their context, by a language model, token by token.

The score of a candidate with the words w_1 .. w_m (mostly one) is the log probability of these and of the words that
follow as far as the order n of the model reaches, given the words before:

    sum over i of log P(w_i | before) + sum over n - 1 words behind of log P(. | before)

Messages are streams: a number from 0 on is a word that stays, -1 - k is place k, where one of several candidates will
stand. A place has a range of words for the time being, those that it most probably stands for.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.ngrams.trie import state_of, step


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
