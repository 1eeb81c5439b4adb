"""The best reading of a whole message: one candidate at each place, all of them at once.

    score(c_1 .. c_n) = sum over places of own(c_i) + weight * log P(words of the message with c_1 .. c_n)

with P an n-gram model, of which only the state after the words read so far matters. So of all ways to read the message
up to a token that lead to one state, the best is kept (Viterbi); at most ``beam`` states are kept, those with the best
scores. As long as there are fewer, and as each place offers all of its candidates, the result is exact.

Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding algorithm", 1967; the decoding of
whole messages follows Han, Cook and Baldwin, "Lexical normalization for social media text", 2013, section 7.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.engine.ngrams.trie import ROOT, step


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
def _add(beam, size, state, score, source, candidate):
    """Enter a way to read into a beam, in the place of a worse one to that state; returns the new size. When there is
    no room it replaces the worst if it is better."""
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
                    grown = _add(beam, grown, state, scores[now, k] + weight * score, k, -1)
            else:
                place = -1 - item
                count = _strongest(ranking, candidates.places[place], candidates.places[place + 1], most, tried)
                for k in range(size):
                    for which in tried[:count]:
                        state, total = states[now, k], scores[now, k] + own[which]
                        for at in range(candidates.starts[which], candidates.starts[which + 1]):
                            state, score = step(model, state, candidates.words[at])
                            total += weight * score
                        grown = _add(beam, grown, state, total, k, which)
            size = grown
        last = (n - 1) % 2  # two rows of states take turns; the way back is kept for every token
        at = int(np.argmax(scores[last, :size]))
        for i in range(n - 1, 0, -1):
            item = stream.items[begin + i]
            if item < 0:
                chosen[-1 - item] = taken[i, at]
            at = sources[i, at]
