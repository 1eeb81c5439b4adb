"""Tuning: decode the development words, pool the candidates, find better weights, and again until nothing is gained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.optim import likelihood, mert
from corpuscle.errors import warn
from corpuscle.measure.kernels.overlaps import bleu_statistics, f_statistics
from corpuscle.random import Random
from corpuscle.text.corpus import starts_of
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.decoding import Found

__all__ = ["METRICS", "Round", "Tuner", "normalised"]

METRICS = ("likelihood", "bleu", "acc", "fscore")
GAIN = 1e-4
"""Another round must gain at least so much."""


class Round(NamedTuple):
    """What a round has found: its weights, their figure on the pooled candidates, and how many candidates there are."""

    weights: np.ndarray
    value: float
    candidates: int


def normalised(weights: np.ndarray) -> np.ndarray:
    """The same weights with absolute values that sum to one: the best candidate stays the best."""
    size = np.abs(weights).sum()
    return weights / size if size > 0 else weights


class Tuner:
    """Finds weights for development words with accepted targets.

    - ``references``: for each word its accepted targets, each a list of letters;
    - ``metric``: mean log probability of accepted targets; or corpus BLEU of letters, accuracy, or mean F-score, which
      have no slope and are raised by line searches from several points;
    - ``free``: which weights may change, bool (k,); ``restarts``: how many random starting points a round has.
    """

    def __init__(
        self,
        references: Sequence[Sequence[Sequence[str]]],
        vocab: Vocab,
        metric: str,
        free: np.ndarray,
        restarts: int,
        seed: int,
        threads: int,
    ):
        self.metric, self.free, self.restarts, self.seed, self.threads = metric, free, restarts, seed, threads
        flat = [reference for accepted in references for reference in accepted]
        # Letters that the model cannot write get numbers of their own, so that they match nothing.
        strange: dict[str, int] = {}
        ids = [
            vocab.ids.get(letter) or len(vocab) + strange.setdefault(letter, len(strange))
            for reference in flat
            for letter in reference
        ]
        self.references = (np.array(ids, np.int32), starts_of(map(len, flat)), starts_of(map(len, references)))
        self.answers = [{tuple(ids[a:b]) for a, b in spans} for spans in self._spans()]
        n = len(references)
        self.keys: list[dict[bytes, None]] = [{} for _ in range(n)]
        self.features: list[list[np.ndarray]] = [[] for _ in range(n)]
        self.statistics: list[list[np.ndarray]] = [[] for _ in range(n)]

    def _spans(self) -> list[list[tuple[int, int]]]:
        _, starts, first = self.references
        bounds = starts.tolist()
        return [[(bounds[r], bounds[r + 1]) for r in range(a, b)] for a, b in pairwise(first.tolist())]

    def measured(self, found: Found, item: np.ndarray) -> np.ndarray:
        """The statistics of all candidates."""
        if self.metric in ("acc", "likelihood"):
            starts, targets = found.target_starts.tolist(), found.targets.tolist()
            right = [tuple(targets[starts[c] : starts[c + 1]]) in self.answers[i] for c, i in enumerate(item.tolist())]
            return np.column_stack([np.array(right, np.float64), np.ones(len(item))])
        measure = bleu_statistics if self.metric == "bleu" else f_statistics
        return measure(found.targets, found.target_starts, *self.references, item)

    def merge(self, found: Found) -> int:
        """Add new candidates to the pools (unique by output and features); returns how many were new."""
        item = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
        statistics = self.measured(found, item)
        rounded = np.round(found.features, 9)
        new = 0
        for c, i in enumerate(item.tolist()):
            a, b = found.target_starts[c], found.target_starts[c + 1]
            key = found.targets[a:b].tobytes() + rounded[c].tobytes()
            if key not in self.keys[i]:
                self.keys[i][key] = None
                self.features[i].append(found.features[c])
                self.statistics[i].append(statistics[c])
                new += 1
        return new

    def pools(self) -> mert.Pools:
        """All candidates so far; words without any are left out."""
        filled = [i for i, rows in enumerate(self.features) if rows]
        features = np.array([row for i in filled for row in self.features[i]])[:, self.free]
        statistics = np.array([row for i in filled for row in self.statistics[i]])
        starts = starts_of(len(self.features[i]) for i in filled)
        return mert.Pools(starts, np.ascontiguousarray(features), statistics)

    def optimise(self, weights: np.ndarray, iteration: int) -> tuple[float, np.ndarray]:
        """The best weights for the pools that a climb from the present or from a random point finds."""
        pools, k = self.pools(), int(self.free.sum())
        result = np.zeros(len(self.free))
        if self.metric == "likelihood":
            logs = np.arange(len(self.free)) < len(self.free) - 1  # the last one is the number of phrases
            value, result[self.free] = likelihood.maximise(pools, weights[self.free], logs[self.free])
            return value, result
        figure = mert.BLEU if self.metric == "bleu" else mert.SHARE

        def attempt(number: int) -> tuple[float, np.ndarray]:
            random = Random(self.seed, "transliterate/mert", iteration, number)
            start = weights[self.free] if number == 0 else np.array([random.uniform() for _ in range(k)])
            return mert.climb(pools, start, figure, random)

        with ThreadPoolExecutor(self.threads) as executor:
            attempts = list(executor.map(attempt, range(self.restarts + 1)))
        value, best = max(attempts, key=lambda found: found[0])
        result[self.free] = normalised(best)
        return value, result

    def figure(self, pools: mert.Pools, weights: np.ndarray) -> float:
        """What some weights are worth on some candidates."""
        if self.metric == "likelihood":
            return likelihood.figure(pools, weights[self.free])[0]
        sums = mert.total(pools, weights[self.free])
        return float(mert.quality(sums, mert.BLEU if self.metric == "bleu" else mert.SHARE))

    def run(
        self,
        weights: np.ndarray,
        decode: Callable[[np.ndarray], Found],
        rounds: int,
        after: Callable[[list[Round]], Any],
        done: Sequence[Round] = (),
    ) -> list[Round]:
        """Rounds of decoding and optimising; ``decode`` maps weights to candidates, ``after`` sees each round.

        Rounds that are ``done`` already are decoded again for the sake of their candidates, and their weights are taken
        as they are. Where the candidates leave nothing to choose there are no rounds, and a warning.
        """
        history: list[Round] = []
        for iteration in range(rounds):
            new = self.merge(decode(weights))
            pools = self.pools()
            if self.metric == "likelihood" and not likelihood.separates(pools):
                found = pools.statistics[:, 0].any()
                reason = "every word has right candidates only, or none" if found else "no accepted target was found"
                warn(f"the weights stay as they were before tuning: {reason}")
                break
            before = self.figure(pools, weights)
            if iteration and new == 0:
                break
            if iteration < len(done):
                history.append(done[iteration])
            else:
                value, better = self.optimise(weights, iteration)
                better = better if value > before else weights
                history.append(Round(better, max(value, before), len(pools.features)))
                after(history)
            weights = history[-1].weights
            if history[-1].value < before + GAIN:
                break
        return history
