"""The words that the documents of a lemma and a document have in common, for many pairs of a lemma and a document.

N_l(w), how often word w is in the documents of lemma l, and tf(w, d), how often it is in document d, are sparse rows.
Pairs come lemma by lemma: the row of a lemma is spread out once, then read at the words of each of its documents.

Shah, Dhillon, Liberman, Foster, Maamouri and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010,
section 4.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel


class Sparse(NamedTuple):
    """Rows of counts: row i has ``counts[starts[i]:starts[i + 1]]``, int32, at ``columns``, int32, ascending."""

    starts: np.ndarray
    columns: np.ndarray
    counts: np.ndarray


@kernel
def common_words(lemmas, texts, pairs, room, ends, columns, counts, times):
    """Of ``pairs`` int64 (n, 2) of a row of ``lemmas`` and one of ``texts``, sorted: the ``columns`` that both have,
    their ``counts`` and ``times``, int32, up to ``ends`` (n,). ``room`` int32 (n_columns,): zeros, and left so."""
    at, before = 0, -1
    for k in range(len(pairs)):
        lemma, text = pairs[k]
        if lemma != before:
            # Only the cells that were written are cleared: a row is short, the room has a cell for each word.
            if before >= 0:
                for j in range(lemmas.starts[before], lemmas.starts[before + 1]):
                    room[lemmas.columns[j]] = 0
            for j in range(lemmas.starts[lemma], lemmas.starts[lemma + 1]):
                room[lemmas.columns[j]] = lemmas.counts[j]
            before = lemma
        for j in range(texts.starts[text], texts.starts[text + 1]):
            count = room[texts.columns[j]]
            if count > 0:
                columns[at], counts[at], times[at] = texts.columns[j], count, texts.counts[j]
                at += 1
        ends[k] = at
    if before >= 0:
        for j in range(lemmas.starts[before], lemmas.starts[before + 1]):
            room[lemmas.columns[j]] = 0
