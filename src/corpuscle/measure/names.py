"""Ranked answers for names, as the NEWS shared tasks on transliteration measure them (Li et al. 2009).

For each name there is a list of candidates, best first, and one or more accepted references, all compared after Unicode
NFC; letters are code points. A name without candidates scores 0.

- ``acc``: the share of names whose first candidate is accepted;
- ``f_score``: the mean over names of F for the first candidate and the reference with the smallest edit distance
  |c| + |r| - 2 LCS to it (the first of several, as in the official script): 2 LCS / (|c| + |r|), LCS being the length
  of their longest common subsequence;
- ``mrr``: the mean of 1 / rank of the first accepted candidate;
- ``map_ref``: the mean of (1/n) sum over k = 1..n of (accepted among the first k) / k, n the number of references. The
  formula of the task papers has no division by k, the official script does; so do we.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_ratio
from corpuscle.measure.overlaps import Candidates, f_statistics
from corpuscle.measure.result import Result, Shown, resampled, signature, with_interval
from corpuscle.text.corpus import starts_of
from corpuscle.text.scripts import clusters, letters_of
from corpuscle.text.wording import number

FIGURES = (
    Shown("acc", "ACC", "."), Shown("f_score", "mean F", "."), Shown("mrr", "MRR", "."),
    Shown("map_ref", "MAP_ref", "."),
)  # fmt: skip


def news_statistics(candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> np.ndarray:
    """The four measures of every name, float64 (n_names, 4), in the order of the module's list."""
    if len(candidates) != len(references):
        raise ValueError(f"{len(candidates)} lists of candidates, but {len(references)} names")
    rows = np.zeros((len(references), 4))
    firsts, answers = [""] * len(rows), []
    for i, (ranked, accepted) in enumerate(zip(candidates, references, strict=True)):
        if not accepted:
            raise ValueError(f"name {i + 1} has no reference")
        ranked = [unicodedata.normalize("NFC", text) for text in ranked]
        right = list(dict.fromkeys(unicodedata.normalize("NFC", text) for text in accepted))
        answers.append(right)
        if not ranked:
            continue
        firsts[i], hits = ranked[0], [text in right for text in ranked]
        precisions = [sum(hits[:k]) / k for k in range(1, len(right) + 1)]
        rows[i, 0] = hits[0]
        rows[i, 2] = 1.0 / (hits.index(True) + 1) if any(hits) else 0.0
        rows[i, 3] = sum(precisions) / len(right)
    several = letters_of([answer for right in answers for answer in right])
    texts = Candidates(*letters_of(firsts), *several, starts_of(map(len, answers)), np.arange(len(rows)))
    rows[:, 1] = f_statistics(texts)[:, 0]
    return rows


def news_measures(
    candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, draws: int = 1000, seed: int = 1
) -> Result:
    """The four measures with their 95 % intervals (``_low``, ``_high``); the headline interval is that of ``acc``."""
    rows = news_statistics(candidates, references)
    intervals = [bootstrap_ratio(column, np.ones(len(rows)), draws=draws, seed=seed) for column in rows.T]
    figures: dict[str, float | int] = {}
    for shown, column, interval in zip(FIGURES, rows.T, intervals, strict=True):
        figures |= with_interval(shown.name, column.mean(), interval)
    figures["names"] = len(rows)
    how = signature("NEWS", letters="code points", normalisation="NFC", interval=resampled("names", draws, seed))
    return Result(figures, intervals[0], how, (*FIGURES, Shown("names", "names", ",")), _text)


def accuracy_at(
    candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]], ranks: Sequence[int]
) -> dict[int, float]:
    """For each rank the share of names with an accepted candidate at that rank or above."""
    rows = news_statistics(candidates, references)
    with np.errstate(divide="ignore"):
        first = 1.0 / rows[:, 2]
    return {rank: float((first <= rank + 0.5).mean()) for rank in ranks}


def _text(result: Result) -> str:
    lines = [
        f"{label}: {number(result[name])} (95 % {number(result[f'{name}_low'])} to {number(result[f'{name}_high'])})"
        for name, label, _ in FIGURES
    ]
    return "\n".join([*lines, f"{result['names']:,} names"])


def difference(found: str, wanted: str) -> tuple[str, str]:
    """What is left of two strings without the grapheme clusters that they have in common at the beginning and end.

    >>> difference("karan", "kiran")
    ('a', 'i')
    """
    a, b = clusters(found), clusters(wanted)
    while a and b and a[0] == b[0]:
        del a[0], b[0]
    while a and b and a[-1] == b[-1]:
        del a[-1], b[-1]
    return "".join(a), "".join(b)
