"""Agreement of annotators: how often two of them say the same, and how much of that is more than chance.

Krippendorff's alpha for nominal data: 1 - observed / expected disagreement. It takes any number of annotators, and
units that not all of them have judged; 1 is perfect, 0 is chance. Krippendorff, "Reliability in content analysis",
2004; Artstein and Poesio, "Inter-coder agreement for computational linguistics", 2008, section 2.6. A unit with m
judgements adds to the observed disagreement the number of its ordered pairs that differ, over m - 1, and to n_c the
number of its judgements that are c; with n judgements of units that have at least two,

    alpha = 1 - (n - 1) observed / (n^2 - sum_c n_c^2)

which are sums over items, so that items (sentences) can be resampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from corpuscle.measure.bootstrap import bootstrap
from corpuscle.measure.result import Result, Shown, resampled, signature

__all__ = ["agreement"]

_SHOWN = (Shown("alpha", "Krippendorff's alpha", "."), Shown("agreement", "agreement"), Shown("units", "units", ","))


def _alpha(sums: np.ndarray) -> np.ndarray:
    """Alpha of sums (..., 2 + labels): observed disagreement, pairs that agree, and how often each label was given."""
    observed, counts = sums[..., 0], sums[..., 2:]
    n = counts.sum(axis=-1)
    expected = n**2 - (counts**2).sum(axis=-1)
    return np.where(expected > 0, 1.0 - (n - 1) * observed / np.maximum(expected, 1e-300), 1.0)


def agreement(items: Sequence[Sequence[Sequence[Hashable]]], *, draws: int = 1000, seed: int = 1) -> Result:
    """Agreement on items (sentences) of units (words), each with the labels that its annotators gave it.

    >>> result = agreement([[["a", "a"], ["b", "b"]], [["a", "b"], ["b", "b", "b"]]])
    >>> f"{result['alpha']:.3f} {result['agreement']:.3f}"
    '0.556 0.833'
    """
    labels = sorted({repr(label) for item in items for unit in item for label in unit})
    columns = {label: number for number, label in enumerate(labels, 2)}
    statistics = np.zeros((len(items), 2 + len(labels)))
    units, pairs = 0, 0
    for row, item in zip(statistics, items, strict=True):
        for unit in item:
            m = len(unit)
            if m < 2:
                continue
            counts = Counter(map(repr, unit))
            same = sum(count * (count - 1) for count in counts.values())
            units, pairs = units + 1, pairs + m * (m - 1)
            row[0] += (m * (m - 1) - same) / (m - 1)
            row[1] += same
            for label, count in counts.items():
                row[columns[label]] += count
    if not units:
        raise ValueError("no unit was judged by two annotators")
    sums = statistics.sum(axis=0)
    figures = {"alpha": float(_alpha(sums)), "agreement": float(sums[1] / pairs), "units": units, "items": len(items)}
    said = signature("agreement", labels="nominal", interval=resampled("items", draws, seed))
    return Result(figures, bootstrap(statistics, _alpha, draws=draws, seed=seed), said, _SHOWN)
