"""A cache of words: what has been said in a document will be said again.

After t events of a document the weight of word w is the sum of decay^(t - 1 - i) over the events i that were w, and Z
is the sum of all weights. With a strength a and a base distribution P_0

    P(w | the document so far) = (weight(w) + a P_0(w)) / (Z + a)

Both sums follow from one event to the next: weights shrink by ``decay``, and that of the event grows by one.

Kuhn and De Mori, "A cache-based natural language model for speech recognition", 1990; Clarkson and Robinson, "Language
model adaptation using mixtures and an exponentially decaying cache", 1997.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel


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


@kernel
def cache_distribution(history, decay, strength, base, out):
    """P of every word after a document that begins with ``history``: float64 (n_types,)."""
    total, weight = 0.0, 1.0
    out[:] = strength * base
    for i in range(len(history) - 1, -1, -1):
        out[history[i]] += weight
        total += weight
        weight *= decay
    out /= total + strength
