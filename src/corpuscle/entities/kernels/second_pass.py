"""What a first pass says of a word where it stands in other sentences: nearby, and in the whole text.

The occurrences of a word, in order, are walked by a window that holds those of the sentences nearby; the counts of its
labels follow it, so that all words together take one step for each token and end of a window.

Krishnan and Manning,
"An effective two-stage model for exploiting non-local dependencies in named entity recognition", 2006, section 4: the
label that most of the other occurrences of a token have, in the document and in the corpus.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part

SHARES = 5
"""How many occurrences are in a mention: none, below a quarter, below three, below all, all."""


@part(inline=True)
def _majority(counts, without, n_labels):
    """1 + the most frequent label (the first of equal ones) and how many are not label 0; 0 if there is nothing."""
    total, best, most = 0, 0, 0
    for label in range(n_labels):
        count = counts[label] - without[label]
        total += count
        if count > most:
            best, most = label, count
    if total == 0:
        return 0
    inside = total - (counts[0] - without[0])
    share = 0
    if inside == total:
        share = 4
    elif 4 * inside >= 3 * total:
        share = 3
    elif 4 * inside >= total:
        share = 2
    elif inside > 0:
        share = 1
    return 1 + best * SHARES + share


@kernel
def elsewhere(groups, order, labels, sentences, regions, n_labels, out):
    """``out`` int32 (n_tokens, 2) := what most say nearby and in the whole text, see ``_majority``.

    - ``order`` int64: the tokens word by word, in the order of the text; those of word k are from ``groups[k]`` to
      ``groups[k + 1]``;
    - ``labels`` int32, ``sentences`` int64: of each token; label 0 is outside of mentions;
    - ``regions`` int64 (n_sentences, 2): the sentences near each, from and to; both only grow.
    """
    near, whole, own = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    for group in range(len(groups) - 1):
        begin, end = groups[group], groups[group + 1]
        near[:], whole[:] = 0, 0
        for k in range(begin, end):
            whole[labels[order[k]]] += 1
        first = last = k = begin
        while k < end:
            sentence = sentences[order[k]]
            # What the sentence itself says is no news: its own occurrences are left out of both counts.
            own[:] = 0
            same = k
            while same < end and sentences[order[same]] == sentence:
                own[labels[order[same]]] += 1
                same += 1
            # Sentences and regions only grow, so that both ends of the window only move on.
            while last < end and sentences[order[last]] < regions[sentence, 1]:
                near[labels[order[last]]] += 1
                last += 1
            while first < end and sentences[order[first]] < regions[sentence, 0]:
                near[labels[order[first]]] -= 1
                first += 1
            close, far = _majority(near, own, n_labels), _majority(whole, own, n_labels)
            for at in range(k, same):
                out[order[at], 0], out[order[at], 1] = close, far
            k = same
