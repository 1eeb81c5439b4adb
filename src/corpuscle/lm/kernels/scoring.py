"""Texts scored without a model laid out as a whole: from n-gram counts, and from a cache.

**Counts** (``score_few``): no tables are estimated for n-grams that a short text does not ask for. The interpolated
estimates of ``smoothing`` are recursive, so the probability of one word needs its own counts and, for every context
from the shortest to the longest, two sums over what follows it (a(h) and the mass b(h) that discounting frees). That is
some microseconds a word, where laying out a whole model takes a fraction of a second and much memory. Operations and
their order are those of ``smoothing.estimate`` and ``trie.step``: the results are the same to the bit.

Chen and Goodman, "An empirical study of smoothing techniques for language modeling", 1999; notation of ``smoothing``.

**Cache** (``score_documents``): what has been said in a document will be said again. After t events of a document the
weight of word w is the sum of decay^(t - 1 - i) over the events i that were w, and Z is the sum of all weights. With a
strength a and a base distribution P_0

    P(w | the document so far) = (weight(w) + a P_0(w)) / (Z + a)

Both sums follow from one event to the next: weights shrink by ``decay``, and that of the event grows by one.

Kuhn and De Mori, "A cache-based natural language model for speech recognition", 1990; Clarkson and Robinson, "Language
model adaptation using mixtures and an exponentially decaying cache", 1997.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.smoothing import estimate_unigrams
from corpuscle.engine.ngrams.trie import ROOT, Ngrams, find


class _Counts(NamedTuple):
    """``ngrams``, their ``adjusted`` counts int32 (rows,), ``discounts`` float64 (order, 4), and the probability of
    every symbol without context, ``unigrams`` float64 (n_types,)."""

    ngrams: Ngrams
    adjusted: np.ndarray
    discounts: np.ndarray
    unigrams: np.ndarray


@part(bare=True)
def _read(ngrams, state, word, contexts, found):
    """Look a word up in a state and in its suffixes: (how many contexts those are, how many of them know the word).

    ``contexts`` receives the contexts, the longest one first; ``found`` the rows of the word below them.
    """
    depth = 0
    while state != ROOT:
        contexts[depth] = state
        depth += 1
        state = np.int64(ngrams.suffix[state])
    known = 0
    while known < depth:  # from the shortest on: a context that lacks the word has no longer one that knows it
        context = contexts[depth - 1 - known]
        low, high = np.int64(ngrams.first_child[context]), np.int64(ngrams.first_child[context + 1])
        found[depth - 1 - known] = find(ngrams.words, low, high, word)
        if found[depth - 1 - known] < 0:
            break
        known += 1
    return depth, known


@part(bare=True)
def _state_after(ngrams, word, depth, known, found):
    """The state after a word that ``_read`` has looked up: its longest n-gram, or the suffix of that."""
    row = found[depth - known] if known > 0 else np.int64(word)
    # rows of the highest order are no contexts
    return row if row < len(ngrams.first_child) - 1 else np.int64(ngrams.suffix[row])


@part(bare=True)
def _context_mass(model, m, context):
    """a(h) of a context of m symbols and its back-off weight b(h) / a(h)."""
    total, freed = 0, 0.0
    for row in range(model.ngrams.first_child[context], model.ngrams.first_child[context + 1]):
        count = model.adjusted[row]
        if count > 0:
            total += count
            freed += model.discounts[m, min(count, 3)]
    return total, freed / total if total > 0 else 1.0


@kernel
def _score(model, tokens, starts, start, left, end, probability, weights):
    """The probability of every event in the longest context that knows it, and the weights of those that do not."""
    ngrams, order = model.ngrams, len(model.discounts)
    contexts, found = np.empty(order, np.int64), np.empty(order, np.int64)
    event = 0
    for sentence in range(len(starts) - 1):
        state = np.int64(ROOT)
        for _ in range(left):
            depth, known = _read(ngrams, state, start, contexts, found)
            state = _state_after(ngrams, start, depth, known, found)
        for at in range(starts[sentence], starts[sentence + 1] + (end >= 0)):
            word = np.int64(tokens[at]) if at < starts[sentence + 1] else np.int64(end)
            depth, known = _read(ngrams, state, word, contexts, found)
            share = model.unigrams[word]
            for m in range(1, depth + 1):
                total, weight = _context_mass(model, m, contexts[depth - m])
                if m > known:  # logs of these are added later, in the order in which a model that is laid out adds them
                    weights[event, depth - m] = weight
                    continue
                share *= weight
                count = model.adjusted[found[depth - m]]
                if count > 0:
                    share += (count - model.discounts[m, min(count, 3)]) / total
            probability[event] = share
            state = _state_after(ngrams, word, depth, known, found)
            event += 1


def score_few(
    ngrams: Ngrams, adjusted: np.ndarray, discounts: np.ndarray, tokens: np.ndarray, starts: np.ndarray, *,
    predictable: np.ndarray, uniform: bool, start: int, left: int, end: int,
) -> np.ndarray:  # fmt: skip
    """Log probability of every token, and of ``end`` after every sentence unless that is negative: float64 (n_events,),
    in an interpolated model of these adjusted counts and discounts.

    ``starts``, int64: where sentences begin, each after ``left`` symbols ``start``.
    """
    unigrams = estimate_unigrams(adjusted[: len(predictable)], discounts[0], True, uniform, predictable)
    n_events = len(tokens) + (len(starts) - 1 if end >= 0 else 0)
    probability, weights = np.empty(n_events), np.ones((n_events, ngrams.order))
    model = _Counts(ngrams, adjusted, frozen(discounts, np.float64), unigrams)
    _score(model, frozen(tokens, np.int32), frozen(starts, np.int64), start, left, end, probability, weights)
    with np.errstate(divide="ignore"):
        logs, weights = np.log(probability), np.log(weights)
    return np.add.accumulate(weights, axis=1)[:, -1] + logs


@kernel
def score_documents(symbols, starts, decay, strength, base, out):
    """Log probability of every event of some documents, which begin at ``starts`` int64 (documents + 1,); ``base``:
    float64 (n_types,)."""
    weight, at, document_of = np.zeros(len(base)), np.zeros(len(base), np.int64), np.full(len(base), -1)
    for document in range(len(starts) - 1):
        total = 0.0
        for event in range(starts[document], starts[document + 1]):
            word, here = symbols[event], 0.0
            if document_of[word] == document:
                here = weight[word] * decay ** (event - at[word])
            out[event] = np.log((here + strength * base[word]) / (total + strength))
            weight[word], at[word], document_of[word] = decay * here + 1.0, event + 1, document
            total = decay * total + 1.0


def cache_distribution(history: np.ndarray, decay: float, strength: float, base: np.ndarray) -> np.ndarray:
    """P of every word after a document that begins with ``history``: float64 (n_types,)."""
    weights = np.cumprod(np.append(1.0, np.full(len(history), decay)))[:-1]  # from the last word backwards
    out = strength * base
    np.add.at(out, history[::-1], weights)
    return out / (np.cumsum(np.append(0.0, weights))[-1] + strength)
