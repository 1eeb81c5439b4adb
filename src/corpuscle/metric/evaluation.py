"""Is the learned space better than the plain one? Retrieval and clustering in both, on the same items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from corpuscle.engine.linalg import unit_rows
from corpuscle.measure import ELEVEN_POINT, pair_agreement, paired_bootstrap, rank_items, retrieval
from corpuscle.measure.result import Comparison, Result
from corpuscle.metric.items import Items
from corpuscle.metric.model import MetricModel


class Evaluation(NamedTuple):
    """Results by space (``metric``, ``euclidean`` and ``cosine`` of the features as they are), and how much better the
    metric is than each of the two."""

    results: dict[str, Result]
    gains: dict[str, Comparison]


def spaces(model: MetricModel, items: Items) -> dict[str, Any]:
    """The items in each space, as vectors whose Euclidean distances count; those of texts as they are are sparse."""
    plain = model.vectors(items.content)
    return {"metric": model.transform(items.content), "euclidean": plain, "cosine": unit_rows(plain)}


def evaluate(model: MetricModel, items: Items, *, draws: int = 1000, seed: int = 1) -> Evaluation:
    """Retrieval in each space: every item is a query, those of its label are relevant."""
    ranked = {name: rank_items(vectors, items.labels) for name, vectors in spaces(model, items).items()}
    results = {name: retrieval(one, draws=draws, seed=seed) for name, one in ranked.items()}
    ours, ones = ranked["metric"].levels.mean(axis=1), np.ones(len(ranked["metric"].levels))
    gains = {
        name: paired_bootstrap(
            ours, one.levels.mean(axis=1), ones, draws=draws, seed=seed, of=ELEVEN_POINT, items="queries"
        )
        for name, one in ranked.items()
        if name != "metric"
    }
    return Evaluation(results, gains)


def k_means_agreement(vectors: Any, labels: Any, starts: int = 100, seed: int = 1) -> tuple[float, float]:
    """K-means into as many clusters as there are labels, from ``starts`` random starts: the mean over starts of the
    share of pairs on which clusters and labels agree, and of its balanced form, see ``pair_agreement``."""
    from sklearn.cluster import KMeans

    vectors, labels = vectors.toarray() if issparse(vectors) else vectors, np.asarray(labels)
    k = len(np.unique(labels))
    agreements = [
        pair_agreement(KMeans(k, init="random", n_init=1, random_state=seed + start).fit(vectors).labels_, labels)
        for start in range(starts)
    ]
    rand, balanced = np.mean(agreements, axis=0)
    return float(rand), float(balanced)
