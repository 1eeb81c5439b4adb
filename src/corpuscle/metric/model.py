"""MetricModel: a metric for texts or vectors, learned from items that are known to belong together.

Texts become counts weighted by idf; these are reduced by a truncated SVD without centring (latent semantic indexing);
there the metric is solved. Everything that training has learned is applied to new items in the same order. ``evaluate``
asks whether the learned space is better than the plain one: retrieval and clustering in both, on the same items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from corpuscle.engine.linalg import unit_rows
from corpuscle.engine.linalg.lowrank import right_vectors
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.errors import SettingError, warn
from corpuscle.measure import ELEVEN_POINT, pair_agreement, paired_bootstrap, rank_items, retrieval
from corpuscle.measure.result import Comparison, Result
from corpuscle.metric.features import Features, Items, counted, find_features, occurrences, resampled
from corpuscle.metric.settings import MetricSettings, SolutionSettings
from corpuscle.metric.solution import Solution, grouped, solve
from corpuscle.model import VOCAB, Array, Arrays, Container, Fact, Kind, Model
from corpuscle.random import Random, shuffle
from corpuscle.settings import learned
from corpuscle.text.plain import read_strings
from corpuscle.text.vocab import Vocab

TEXT_DIMENSIONS = 500
ROUNDS = 2
"""Power iterations of the reduction: it is a smoothing, and needs no exact singular vectors."""
_BLOCK = 1 << 24  # distances that are computed at a time


def nearest(queries: np.ndarray, items: np.ndarray, k: int, same: bool) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` nearest of ``items`` (m, n) to each query, int64 (queries, k), and their distances, nearest first; of
    equally near ones that of the smaller number. ``same``: the queries are the items, and none is its own neighbour."""
    k = min(k, len(items) - same)
    squares = np.einsum("ij,ij->i", items, items)
    found, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    step = max(1, _BLOCK // max(1, len(items)))
    for first in range(0, len(queries), step):
        block = queries[first : first + step]
        away = np.einsum("ij,ij->i", block, block)[:, None] + squares - 2 * block @ items.T
        if same:
            away[np.arange(len(block)), first + np.arange(len(block))] = np.inf
        order = np.argsort(away, axis=1, kind="stable")[:, :k]
        found[first : first + step] = order
        distances[first : first + step] = np.sqrt(np.maximum(np.take_along_axis(away, order, 1), 0.0))
    return found, distances


def _numbers(*shape: str) -> Array:
    return Array("float64", shape, finite=True)


def _declared(extra: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays of a metric: of single features or of directions, after a reduction or not, for texts or vectors."""
    declared = {"map": _numbers("directions", "inner"), "values": _numbers("directions")}
    if extra.get("diagonal"):
        declared = dict.fromkeys(declared, _numbers("inner"))
    if extra.get("reduced"):
        declared["basis"] = _numbers("n_features", "inner")
    if extra.get("text"):
        declared |= {**VOCAB, "pairs": Array("int64", ("pairs",), low=0, rising=True), "idf": _numbers("n_features")}
    return declared


class MetricModel(MetricSettings, Model):
    """Learns from items, a list of texts or a matrix (items, n), and the label of each.

    Learned: ``features_`` (None for vectors), ``basis_`` float64 (features, k) or None, ``solution_``, ``n_features_``.
    """

    KIND: ClassVar[Kind] = Kind("metric.model", 1, _declared, check=lambda loaded: _check(loaded))
    SAVED: ClassVar = {"n_features_": Fact("n_features"), "basis_": Arrays("basis")}

    features_: Features | None = learned()
    basis_: np.ndarray | None = learned()
    solution_: Solution = learned()
    n_features_: int = learned()

    @property
    def distance_(self) -> str:
        return self.distance or ("euclidean" if self.features_ is None else "cosine")

    def fit(self, items: Any, labels: Sequence[Any] | None = None, weights: np.ndarray | None = None) -> Self:
        """Learn from items and their labels, or from ``Items``, which have both; those of one label belong together.
        ``weights``: of each group, in the order of sorted labels."""
        if isinstance(items, Items):
            items, labels = items
        if labels is None or isinstance(items, str):
            raise SettingError("a list of texts or a matrix, and labels, are needed: read_items(path) makes one")
        n = items.shape[0] if hasattr(items, "shape") else len(items)
        if len(labels) != n:
            raise SettingError(f"{n} items cannot have {len(labels)} labels")
        chosen = self._choose(np.asarray(labels))
        groups = grouped(np.asarray(labels)[chosen])
        alone = int((groups.sizes == 1).sum())
        if alone:
            warn(f"{alone} of {len(groups.sizes)} groups have one item and say nothing about the metric")
        matrix = self._learn_features(items, chosen)
        self.n_features_ = matrix.shape[1]
        reduce = self.dimensions != 0 if self.features_ is not None else bool(self.dimensions)
        self.basis_ = self._reduction(matrix) if reduce else None
        reduced = self._reduced(matrix)
        items_, inner = reduced.shape
        if self.method != "diagonal" and items_ - len(groups.sizes) < inner:
            warn(f"{items_} items of {len(groups.sizes)} groups do not fill {inner} dimensions")
        # The directions of a reduction, and words, are measured in the same unit; other features are not.
        alike = self.features_ is not None or reduce
        self.chosen_ = {} if self.singular else {"singular": "ridge" if alike else "scaled"}
        how = {name: getattr(self, name) for name in SolutionSettings.SETTINGS} | self.chosen_
        self.solution_ = solve(reduced, groups, SolutionSettings(**how), weights)
        self.provenance_ = {"items": len(chosen), "groups": len(groups.sizes), "features": self.n_features_}
        return self

    def _choose(self, labels: np.ndarray) -> np.ndarray:
        """The items to learn from: at most ``max_items`` of each label, in their order."""
        _, number, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        if sizes.max(initial=0) <= self.max_items:
            return np.arange(len(labels))
        order = np.arange(len(labels))
        shuffle(Random(self.seed, "metric.items").array(), order)
        by_group = order[np.argsort(number.ravel()[order], kind="stable")]
        rank = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.sort(by_group[rank < self.max_items])

    def _learn_features(self, items: Any, chosen: np.ndarray) -> Any:
        """What the chosen items are, as a matrix; for texts, the features are found first."""
        self.features_ = None
        if not isinstance(items, list):
            return _matrix(items)[chosen]
        corpus = read_strings([items[i] for i in chosen], preprocessing=self.preprocessing)
        features = find_features(corpus, self.min_count, self.function_words)
        if len(features.idf) == 0:
            raise SettingError("the texts have no words that occur often enough")
        found, starts = occurrences(corpus, features)
        if self.idf:
            having = np.bincount(counted(found, starts, features).indices, minlength=len(features.idf))
            features = features._replace(idf=np.log(len(corpus) / np.maximum(having, 1)))
        if self.length is not None:
            found, starts = resampled(found, starts, self.length, self.seed)
        self.features_ = features
        return counted(found, starts, features)

    def _reduction(self, matrix: Any) -> np.ndarray:
        """The first right singular vectors of the training items, (features, dimensions): as many as were asked for, or
        by default as many as there are up to a limit."""
        wanted = self.dimensions or min(TEXT_DIMENSIONS, *matrix.shape)
        if wanted > min(matrix.shape):
            raise SettingError(f"{matrix.shape[0]} items with {matrix.shape[1]} features have no {wanted} dimensions")
        operator: Any = matrix
        if issparse(matrix):
            rows = Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, matrix.shape[1])
            operator = SparseOperator(rows, self.threads)
        values, vectors = right_vectors(operator, wanted, rounds=ROUNDS, seed=self.seed)
        rank = max(1, int((values > 1e-7 * values[0]).sum()))
        if self.dimensions is not None and rank < wanted:
            raise SettingError(f"the items span {rank} dimensions, not {wanted}")
        return np.ascontiguousarray(vectors[:, :rank])

    def _reduced(self, matrix: Any) -> Any:
        """Items in the space where the metric is solved, float64 (items, inner): dense, unless features alone have
        weights."""
        if self.basis_ is None:
            return matrix.toarray() if issparse(matrix) and self.method != "diagonal" else matrix
        return np.asarray(matrix @ self.basis_)

    def vectors(self, items: Any) -> Any:
        """Items as training saw them, before the metric: a matrix, sparse for texts, (items, features)."""
        if isinstance(items, list):
            if self.features_ is None:
                raise SettingError("this metric is one of vectors, and these are texts")
            corpus = read_strings(items, preprocessing=self.preprocessing)
            return counted(*occurrences(corpus, self.features_), self.features_)
        if isinstance(items, str):
            raise SettingError("a list of texts is needed, not a single one: [text]")
        matrix = _matrix(items)
        if self.features_ is not None:
            raise SettingError("this metric is one of texts, and these are vectors")
        if matrix.shape[1] != self.n_features_:
            raise SettingError(f"items of {matrix.shape[1]} numbers, where the metric is one of {self.n_features_}")
        return matrix

    def transform(self, items: Any) -> np.ndarray:
        """Map items: Euclidean distances after it are the metric, float64 (items, directions). Compared by cosine,
        mapped items have length one; an empty text is mapped to zero."""
        mapped = self.solution_.mapped(self._reduced(self.vectors(items)))
        return unit_rows(mapped) if self.distance_ == "cosine" else mapped

    def neighbours(self, items: Any, k: int = 10, among: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` nearest of the items ``among`` (default: the items themselves), see ``nearest``."""
        mapped = self.transform(items)
        return nearest(mapped, mapped if among is None else self.transform(among), k, among is None)

    def top_features(self, direction: int, k: int = 10) -> list[tuple[str, float]]:
        """The features with the largest weights in a direction of the map, and these weights."""
        if not 0 <= direction < len(self.solution_.map):
            raise SettingError(f"there is no direction {direction}; they are 0 to {len(self.solution_.map) - 1}")
        row = self.solution_.map[direction]
        if self.solution_.map.ndim == 1:
            row = np.where(np.arange(len(self.solution_.map)) == direction, row, 0.0)
        weights = row if self.basis_ is None else self.basis_ @ row
        names = list(map(str, range(len(weights)))) if self.features_ is None else self.features_.names()
        return [(names[i], float(weights[i])) for i in np.argsort(-np.abs(weights), kind="stable")[:k]]

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {**super()._arrays(), "map": self.solution_.map, "values": self.solution_.values}
        if self.features_ is not None:
            arrays |= {**self.features_.vocab.arrays(), "pairs": self.features_.pairs, "idf": self.features_.idf}
        return arrays

    def _extra(self) -> dict[str, Any]:
        return {
            **super()._extra(),
            "text": self.features_ is not None,
            "reduced": self.basis_ is not None,
            "scale": self.solution_.scale,
            "diagonal": self.solution_.map.ndim == 1,
        }

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        arrays, texts = loaded.arrays, loaded.extra["text"]
        self.solution_ = Solution(arrays["map"], float(loaded.extra["scale"]), arrays["values"])
        self.features_ = Features(Vocab.from_arrays(arrays), arrays["pairs"], arrays["idf"]) if texts else None


def _matrix(items: Any) -> Any:
    """Vectors as float64 (items, n), dense or sparse; ``SettingError`` if they are none."""
    matrix = csr_array(items, dtype=np.float64) if issparse(items) else np.asarray(items, np.float64)
    if matrix.ndim != 2:
        raise SettingError(f"vectors are a matrix (items, numbers), not an array of shape {matrix.shape}")
    if not np.isfinite(matrix.data if issparse(matrix) else matrix).all():
        raise SettingError("vectors must be finite: there is a number that is not")
    return matrix


def _check(loaded: Container) -> None:
    arrays, extra = loaded.arrays, loaded.extra
    n, scale = extra.get("n_features"), extra.get("scale")
    if type(n) is not int or type(scale) is not float or not (np.isfinite(scale) and scale > 0):
        raise ValueError("it does not say how many features there are, or its scale")
    if "basis" not in arrays and arrays["map"].shape[-1] != n:
        raise ValueError("the map does not fit the features")
    if extra.get("text"):
        types = len(arrays["vocab/offsets"]) - 1
        size = types + 3
        if types + len(arrays["pairs"]) != n or (len(arrays["pairs"]) and arrays["pairs"][-1] >= size * size):
            raise ValueError("the features do not fit the vocabulary")


# ---- evaluation


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
    how: dict[str, Any] = {"draws": draws, "seed": seed, "of": ELEVEN_POINT, "items": "queries"}
    plain = {name: one.levels.mean(axis=1) for name, one in ranked.items() if name != "metric"}
    gains = {name: paired_bootstrap(ours, levels, ones, **how) for name, levels in plain.items()}
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
