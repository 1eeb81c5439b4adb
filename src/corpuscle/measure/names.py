"""Ranked answers for names, as the NEWS shared tasks on transliteration measure them (Li et al. 2009).

For each name there is a list of candidates, best first, and one or more accepted references, all compared after Unicode
NFC; letters are code points. A name without candidates scores 0.

- ``acc``: the share of names whose first candidate is accepted;
- ``f_score``: the mean over names of F for the first candidate and the reference with the smallest edit distance
  |c| + |r| - 2 LCS to it: 2 LCS / (|c| + |r|), LCS being the length of their longest common subsequence;
- ``mrr``: the mean of 1 / rank of the first accepted candidate;
- ``map_ref``: the mean of (1/n) sum over k = 1..n of (accepted among the first k) / k, n the number of references. The
  formula of the task papers has no division by k, the official script does; so do we.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from corpuscle.measure.bootstrap import bootstrap
from corpuscle.measure.result import Result, Shown, resampled, signature, with_interval

__all__ = ["news_measures", "news_statistics"]

FIGURES = (
    Shown("acc", "ACC", ".3f"), Shown("f_score", "mean F", ".3f"), Shown("mrr", "MRR", ".3f"),
    Shown("map_ref", "MAP_ref", ".3f"),
)  # fmt: skip


def _letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)


def _f_score(candidate: str, references: Sequence[str]) -> float:
    from corpuscle.measure.kernels.overlaps import common_subsequence

    best: tuple[int, float] | None = None
    for reference in references:
        both = len(candidate) + len(reference)
        common = int(common_subsequence(_letters(candidate), _letters(reference)))
        found = both - 2 * common, 2 * common / both if common else 0.0
        if best is None or found[0] < best[0]:
            best = found
    return 0.0 if best is None else best[1]


def news_statistics(candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> np.ndarray:
    """The four measures of every name, float64 (n_names, 4), in the order of the module's list."""
    if len(candidates) != len(references):
        raise ValueError(f"{len(candidates)} lists of candidates, but {len(references)} names")
    rows = np.zeros((len(references), 4))
    for i, (ranked, accepted) in enumerate(zip(candidates, references, strict=True)):
        if not accepted:
            raise ValueError(f"name {i + 1} has no reference")
        ranked = [unicodedata.normalize("NFC", text) for text in ranked]
        right = list(dict.fromkeys(unicodedata.normalize("NFC", text) for text in accepted))
        if not ranked:
            continue
        hits = [text in right for text in ranked]
        rows[i, 0] = hits[0]
        rows[i, 1] = _f_score(ranked[0], right)
        rows[i, 2] = 1.0 / (hits.index(True) + 1) if any(hits) else 0.0
        precisions = [sum(hits[:k]) / k for k in range(1, len(right) + 1)]
        rows[i, 3] = sum(precisions) / len(right)
    return rows


def news_measures(
    candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, draws: int = 1000, seed: int = 1
) -> Result:
    """The four measures with their 95 % intervals (``_low``, ``_high``); the headline interval is that of ``acc``."""
    rows = news_statistics(candidates, references)
    figures: dict[str, float | int] = {}
    intervals = []
    for column, (name, *_) in enumerate(FIGURES):
        interval = bootstrap(
            np.column_stack([rows[:, column], np.ones(len(rows))]),
            lambda sums: sums[..., 0] / sums[..., 1],
            draws=draws,
            seed=seed,
        )
        intervals.append(interval)
        figures |= with_interval(name, float(rows[:, column].mean()), interval)
    figures["names"] = len(rows)
    drawn = resampled("names", draws, seed)
    how = signature("NEWS", letters="code points", normalisation="NFC", interval=drawn)
    return Result(figures, intervals[0], how, (*FIGURES, Shown("names", "names", ",")), _text)


def _text(result: Result) -> str:
    lines = [
        f"{label}: {result[name]:.4f} (95 % {result[f'{name}_low']:.4f} to {result[f'{name}_high']:.4f})"
        for name, label, _ in FIGURES
    ]
    return "\n".join([*lines, f"{result['names']:,} names"])
