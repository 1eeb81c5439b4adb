"""How many brackets are right, beside trees that know nothing: the table that stands under every induced grammar.

Brackets are sets of spans of two words or more, without punctuation; F1 = 2 hits / (found + gold), all sentences of at
most so many words together. The whole sentence is a bracket in both; ``proper`` is without it, ``sentences`` the mean
over sentences (published figures differ in this, and seldom say).

Klein, "The unsupervised learning of natural language structure", 2005, section 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from corpuscle.grammar.induction import BRANCHINGS, Brackets, branching
from corpuscle.grammar.sentences import Sentences, gold_spans, heuristic_tops, oracle_tops
from corpuscle.text.trees import Trees

__all__ = ["LIMITS", "span_f1", "span_table"]

LIMITS = (10, 20, 40)


def span_f1(gold: Sequence[np.ndarray], found: Sequence[np.ndarray], words: np.ndarray, limit: int) -> dict[str, float]:
    """``f1``, ``proper``, ``sentences`` of spans (n_brackets, 2) of each sentence of 2 to ``limit`` words."""
    rows = []
    for right, guess, n in zip(gold, found, words.tolist(), strict=True):
        if 2 <= n <= limit:
            wanted, got = ({tuple(span) for span in spans.tolist()} for spans in (right, guess))
            both, whole = len(wanted & got), ((0, n) in got, (0, n) in wanted)
            rows.append((both, len(got), len(wanted), both - all(whole), len(got) - whole[0], len(wanted) - whole[1]))
    if not rows:
        return dict.fromkeys(("f1", "proper", "sentences"), float("nan"))
    table = np.array(rows, np.float64)
    sums, each = table.sum(axis=0), 2 * table[:, 0] / (table[:, 1] + table[:, 2])
    proper = 2 * sums[3] / (sums[4] + sums[5]) if sums[4] + sums[5] else 1.0
    return {"f1": float(2 * sums[0] / (sums[1] + sums[2])), "proper": float(proper), "sentences": float(each.mean())}


def span_table(
    sentences: Sentences, trees: Trees, others: Mapping[str, Brackets], limits: Iterable[int] = LIMITS, seed: int = 1
) -> list[dict[str, Any]]:
    """Rows of ``name``, ``limit``, ``sentences_counted`` and figures of ``span_f1``: branching of all kinds (with gold
    top brackets, too: what a perfect choice of tops would give), then the ``others``."""
    words, gold = sentences.lengths, gold_spans(trees, sentences.kept)
    tops = heuristic_tops(sentences)
    found = {kind: branching(kind, words, tops, seed) for kind in BRANCHINGS}
    found["oracle-top-right"] = branching("top-right", words, oracle_tops(gold, words, tops), seed)
    rows = []
    for limit in limits:
        counted = int(((words >= 2) & (words <= limit)).sum())
        for name, brackets in {**found, **others}.items():
            figures = span_f1(gold, brackets.lists(words), words, limit)
            rows.append({"name": name, "limit": limit, "sentences_counted": counted, **figures})
    return rows
