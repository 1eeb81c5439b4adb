"""Candidates in their context, by a language model.

The score of a candidate with the words w_1 .. w_m (mostly one) is the log probability of these and of the words that
follow as far as the order n of the model reaches, given the words before:

    sum over i of log P(w_i | before) + sum over n - 1 words behind of log P(. | before)

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 4.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.ngrams.trie import state_of, step

__all__ = ["score_candidates"]


@kernel
def score_candidates(model, contexts, places, words, starts, scores):
    """Write the score of each candidate.

    - ``contexts``: int32 (n_places, 2 (order - 1)), the words before and behind a place, -1: none;
    - ``places``: int64 (n_places + 1,), the first candidate of each place;
    - ``words``, ``starts``: int32 and int64 (n_candidates + 1,), the words of each candidate;
    - ``scores``: float64 (n_candidates,).
    """
    reach = contexts.shape[1] // 2
    for place in range(len(places) - 1):
        before, behind = contexts[place, :reach], contexts[place, reach:]
        begin = state_of(model, before[before >= 0])
        for k in range(places[place], places[place + 1]):
            state, total = np.int64(begin), 0.0
            for i in range(starts[k], starts[k + 1]):
                state, score = step(model, state, words[i])
                total += score
            for word in behind:
                if word >= 0:
                    state, score = step(model, state, word)
                    total += score
            scores[k] = total
