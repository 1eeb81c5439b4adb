"""Does a clustering agree with a gold one, when the names of the clusters mean nothing?

Everything is computed from the contingency table n(k, c): how many items of cluster k have the gold class c.

- homogeneity 1 - H(C|K)/H(C), completeness 1 - H(K|C)/H(K), V-measure their harmonic mean (Rosenberg and
  Hirschberg 2007); the normalised mutual information I / ((H(C) + H(K)) / 2) is the same number, and is not
  given twice;
- many-to-one: accuracy when each cluster is renamed to its most frequent gold class; one-to-one: when no two
  clusters may get the same class (the best assignment);
- variation of information H(C|K) + H(K|C), in bits (Meila 2003): a distance, 0 is perfect;
- adjusted Rand index (Hubert and Arabie 1985): agreement on pairs of items, 0 by chance, 1 perfect.

There is no interval: items drawn again with replacement are duplicates, which raises the mutual information by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import share
from corpuscle.measure.result import Result, Shown, signature

CLUSTERINGS = (
    Shown("v_measure", "V-measure"), Shown("homogeneity", "homogeneity"), Shown("completeness", "completeness"),
    Shown("many_to_one", "many-to-one"), Shown("one_to_one", "one-to-one"),
    Shown("variation_of_information", "variation of information", "."),
    Shown("adjusted_rand", "adjusted Rand index", "."), Shown("items", "items", ","),
)  # fmt: skip


def _entropy(counts: np.ndarray) -> float:
    """In bits."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _pairs(counts: np.ndarray) -> float:
    """How many pairs of items lie together, as a float: a million items have more than 2^31 pairs."""
    counts = counts.astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def _contingency(predicted: Any, gold: Any) -> np.ndarray:
    """n(k, c), int64 (clusters, classes), of two labellings of the same items."""
    predicted, gold = np.asarray(predicted), np.asarray(gold)
    if predicted.ndim != 1 or predicted.shape != gold.shape or len(gold) == 0:
        raise ValueError(
            f"two labellings of the same items are needed, at least one item: {predicted.shape}, {gold.shape}"
        )
    clusters, cluster = np.unique(predicted, return_inverse=True)
    classes, label = np.unique(gold, return_inverse=True)
    table = np.bincount(cluster * len(classes) + label, minlength=len(clusters) * len(classes))
    return table.reshape(len(clusters), len(classes))


def pair_agreement(predicted: Any, gold: Any) -> tuple[float, float]:
    """On which share of all pairs of items two labellings agree whether they belong together (the Rand index); and the
    mean of that share among pairs placed together and among pairs placed apart (Xing et al. 2002), which many small
    classes do not make easy. Not a number where there are no such pairs.

    >>> pair_agreement([0, 0, 1], ["a", "a", "b"]), pair_agreement([0, 1, 1], ["a", "a", "b"])[0]
    ((1.0, 1.0), 0.3333333333333333)
    """
    table = _contingency(predicted, gold)
    n = int(table.sum())
    both, placed, truly = _pairs(table.ravel()), _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    pairs = n * (n - 1) / 2
    apart = pairs - placed - truly + both
    rand, together, separate = share((both + apart, both, apart), (pairs, placed, pairs - placed)).tolist()
    return rand, (together + separate) / 2


def compare_clusterings(predicted: Any, gold: Any) -> Result:
    """Compare two labellings of the same items (any integers or strings).

    Figures: ``v_measure``, ``homogeneity``, ``completeness``, ``many_to_one``, ``one_to_one``,
    ``variation_of_information``, ``adjusted_rand``, ``items``, ``clusters``, ``classes``.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import, and few need it

    table = _contingency(predicted, gold)
    (n_clusters, n_classes), n = table.shape, int(table.sum())
    by_cluster, by_class = table.sum(axis=1), table.sum(axis=0)

    h_cluster, h_class, h_both = _entropy(by_cluster), _entropy(by_class), _entropy(table.ravel())
    # Conditional entropies; rounding must not make them negative.
    h_class_given_cluster, h_cluster_given_class = max(0.0, h_both - h_cluster), max(0.0, h_both - h_class)
    homogeneity = 1.0 if h_class == 0 else 1 - h_class_given_cluster / h_class
    completeness = 1.0 if h_cluster == 0 else 1 - h_cluster_given_class / h_cluster
    both = homogeneity + completeness

    together, in_clusters, in_classes = _pairs(table.ravel()), _pairs(by_cluster), _pairs(by_class)
    by_chance = in_clusters * in_classes / max(1.0, n * (n - 1) / 2)
    most = (in_clusters + in_classes) / 2
    rows, columns = linear_sum_assignment(table, maximize=True)
    return Result(
        {
            "v_measure": 0.0 if both == 0 else 2 * homogeneity * completeness / both,
            "homogeneity": homogeneity,
            "completeness": completeness,
            "many_to_one": float(table.max(axis=1).sum() / n),
            "one_to_one": float(table[rows, columns].sum() / n),
            "variation_of_information": h_class_given_cluster + h_cluster_given_class,
            "adjusted_rand": 1.0 if most == by_chance else (together - by_chance) / (most - by_chance),
            "items": n,
            "clusters": n_clusters,
            "classes": n_classes,
        },
        None,
        signature("clusterings", entropies="bits"),
        CLUSTERINGS,
    )
