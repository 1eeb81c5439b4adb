"""The output layer of one model or several: from the vectors of hypotheses to their best next symbols.

The scores of a large vocabulary never stand in memory all at once: some thousand classes are multiplied, then seen by
the fused softmax while they are in the cache, then the next ones. Where only the best symbol is asked for, there is
no softmax at all.

Vocabulary shortlists: the few target symbols that a batch of sources can need, instead of all.

Jean, Cho, Memisevic and Bengio, "On using very large target vocabulary for neural machine translation", 2015, section
3.2: the most frequent targets, and for every source symbol of the batch its most probable translations. The output
layer then multiplies these alone. It is not exact: ``coverage`` says how many symbols of references are there. For
characters, of which there are few, it does not pay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from corpuscle.neural.forward import Buffers
from corpuscle.neural.kernels.products import Matrix
from corpuscle.neural.kernels.search import NoClass, Ranked, absorb, nothing, peaks, ranked
from corpuscle.neural.reference import Weights
from corpuscle.text.vocab import END, UNKNOWN

SCORES = 1 << 18
"""The number of scores that are made at a time: a megabyte, which a cache has room for."""


class Output:
    """Scores of all classes, x E^T + b, and the best of them; ``bias`` b forbids a class by -inf. Where only some of
    the classes are there, ``classes`` (n,) int32 has their numbers."""

    def __init__(self, vectors: np.ndarray, bias: np.ndarray, product: Matrix, classes: np.ndarray | None = None):
        self.vectors, self.bias, self.product, self.classes = vectors, bias, product, classes

    @classmethod
    def of(cls, weights: Weights, matrix: type[Matrix]) -> Output:
        vectors = weights.arrays["embedding" if weights.architecture.tied else "output"]
        return cls(vectors, weights.arrays["output_bias"], matrix(vectors.T))

    def without(self, forbidden: Sequence[int]) -> Output:
        """The layer without some classes."""
        bias = self.bias.copy()
        bias[list(forbidden)] = -np.inf
        return Output(self.vectors, bias, self.product, self.classes)

    def only(self, classes: np.ndarray) -> Output:
        """The layer with some classes (sorted, int32) only; the best are still given by their numbers among all."""
        vectors = self.vectors[classes]
        return Output(vectors, self.bias[classes], type(self.product)(vectors.T), classes)

    def __len__(self) -> int:
        return len(self.bias)

    def _blocks(self, hidden: np.ndarray, room: Buffers) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The scores of some classes after the other: the first one, scores (rows, n), bias."""
        size = max(1, SCORES // (1024 * max(1, len(hidden)))) * 1024
        for first in range(0, len(self), size):
            last = min(first + size, len(self))
            scores = room("scores", len(hidden), last - first)
            yield first, self.product(hidden, scores, first, last), self.bias[first:last]

    def best(self, hidden: np.ndarray, k: int, room: Buffers) -> Ranked:
        """The k best classes of each row with the logs of their probabilities."""
        best = nothing(len(hidden), min(k, len(self)))
        for first, scores, bias in self._blocks(hidden, room):
            absorb(best, scores, bias, first)
        found = ranked(best)
        return Ranked(self._names(found.classes), found.logs)

    def first(self, hidden: np.ndarray, room: Buffers) -> Ranked:
        """The best class of each row, without softmax; all logs are 0."""
        chosen, highest = np.full(len(hidden), -1, np.int32), np.full(len(hidden), -np.inf, np.float32)
        every = np.arange(len(hidden))
        for first, scores, bias in self._blocks(hidden, room):
            here = peaks(scores, bias)
            value = scores[every, here] + bias[here]
            better = value > highest
            chosen[better], highest[better] = here[better] + first, value[better]
        if (chosen < 0).any():
            raise NoClass(int(chosen.argmin()), "no class is allowed")
        return Ranked(self._names(chosen)[:, None], np.zeros((len(hidden), 1), np.float32))

    def _names(self, chosen: np.ndarray) -> np.ndarray:
        return chosen if self.classes is None else np.where(chosen < 0, np.int32(-1), self.classes[chosen])

    def logs(self, hidden: np.ndarray) -> np.ndarray:
        """The logs of the probabilities of all classes, (rows, n)."""
        scores = self.product(hidden, np.empty((len(hidden), len(self)), np.float32), 0, len(self))
        best = nothing(len(hidden), 1)
        absorb(best, scores, self.bias)
        ranked(best)
        return scores + self.bias - (best.peak + np.log(best.total))[:, None].astype(np.float32)


class Ensemble:
    """The output layers of several models with the same symbols: the mean of the logs of their probabilities, or the
    log of the mean of the probabilities (``arithmetic``)."""

    def __init__(self, outputs: Sequence[Output], arithmetic: bool = False):
        self.outputs, self.arithmetic = outputs, arithmetic

    def __len__(self) -> int:
        return len(self.outputs[0])

    def only(self, classes: np.ndarray) -> Ensemble:
        """The layers with some classes only."""
        return Ensemble([output.only(classes) for output in self.outputs], self.arithmetic)

    def logs(self, hidden: Sequence[np.ndarray]) -> np.ndarray:
        """The combined logs of all classes, (rows, n)."""
        logs = [output.logs(each) for output, each in zip(self.outputs, hidden, strict=True)]
        if len(logs) == 1:
            return logs[0]
        if not self.arithmetic:
            return np.mean(logs, axis=0)
        return np.logaddexp.reduce(logs, axis=0) - np.float32(np.log(len(logs)))

    def best(self, hidden: Sequence[np.ndarray], k: int, room: Buffers) -> Ranked:
        """The k best classes of each row and their combined logs."""
        if len(self.outputs) == 1:
            return self.outputs[0].best(hidden[0], k, room)
        logs = self.logs(hidden)
        best = nothing(len(logs), min(k, len(self)))
        absorb(best, logs, np.zeros(len(self), np.float32))
        ranked(best)
        return Ranked(self.outputs[0]._names(best.classes), best.scores)

    def first(self, hidden: Sequence[np.ndarray], room: Buffers) -> Ranked:
        """The best class of each row, of a single model without softmax."""
        return self.outputs[0].first(hidden[0], room) if len(self.outputs) == 1 else self.best(hidden, 1, room)


class Shortlist:
    """Allowed targets. ``always`` (n,) int32: those of every batch; ``likely`` (source_size, m) int32: those of each
    source symbol, -1 where there are fewer."""

    def __init__(self, always: np.ndarray, likely: np.ndarray):
        self.always = np.unique(np.append(always, [END, UNKNOWN])).astype(np.int32)
        self.likely = np.ascontiguousarray(likely, np.int32)

    def __repr__(self) -> str:
        return f"<Shortlist of {len(self.always):,} targets and {self.likely.shape[1]:,} for each source symbol>"

    @classmethod
    def of_table(cls, table: np.ndarray, counts: np.ndarray, frequent: int = 100, best: int = 100) -> Shortlist:
        """From a lexical table (source_size, target_size) of probabilities and counts (target_size,) of targets: the
        ``frequent`` most frequent targets, and the ``best`` of each source symbol that have any probability."""
        rows, columns = np.nonzero(table > 0)
        return cls.of_links(rows, columns, table[rows, columns], counts, len(table), frequent, best)

    @classmethod
    def of_links(
        cls, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray, counts: np.ndarray, size: int,
        frequent: int = 100, best: int = 100,
    ) -> Shortlist:  # fmt: skip
        """From linked symbols, (n,) each, whose weights add up, and counts (target_size,) of targets; ``size``: how
        many source symbols there are."""
        keys, places = np.unique(sources.astype(np.int64) * len(counts) + targets, return_inverse=True)
        rows, columns = np.divmod(keys, len(counts))
        order = np.lexsort((columns, -np.bincount(places, weights, len(keys)), rows))
        rows, columns = rows[order], columns[order]
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        kept = ranks < best
        likely = np.full((size, min(best, 1 + int(ranks.max(initial=-1)))), -1, np.int32)
        likely[rows[kept], ranks[kept]] = columns[kept]
        return cls(np.argsort(-counts, kind="stable")[: min(frequent, np.count_nonzero(counts))], likely)

    def allowed(self, symbols: np.ndarray) -> np.ndarray:
        """The targets that sources with these symbols may have, sorted, int32."""
        found = np.unique(self.likely[np.unique(symbols)])
        return np.union1d(self.always, found[found >= 0]).astype(np.int32)

    def coverage(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> float:
        """The share of the symbols of references that are allowed for their sources."""
        inside = [np.isin(target, self.allowed(source)) for source, target in zip(sources, targets, strict=True)]
        return float(np.concatenate(inside).mean()) if sum(map(len, targets)) else 1.0
