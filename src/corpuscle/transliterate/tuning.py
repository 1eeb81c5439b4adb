"""Tuning: decode the development words (or sentences), pool the candidates, find better weights, and again until no
round gains anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.engine import likelihood, mert
from corpuscle.errors import warn
from corpuscle.learning import Checkpoint, Learner
from corpuscle.measure.overlaps import Candidates, bleu_statistics, f_statistics
from corpuscle.model import Array
from corpuscle.random import Random
from corpuscle.scale import Workers
from corpuscle.text.corpus import starts_of
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.decoding import Found

HISTORY = {
    "weights": Array("float64", (8,), finite=True),
    "history/weights": Array("float64", ("rounds", 8), finite=True),
    "history/values": Array("float64", ("rounds",), finite=True),
    "history/candidates": Array("int64", ("rounds",), low=0),
}

GAIN = 1e-4
"""What another round must gain at least."""


class Round(NamedTuple):
    """What a round has found: its weights, their figure on the pooled candidates, and how many candidates there are."""

    weights: np.ndarray
    value: float
    candidates: int


def normalised(weights: np.ndarray) -> np.ndarray:
    """The same weights with absolute values that sum to one: the best candidate stays the best."""
    size = np.abs(weights).sum()
    return weights / size if size > 0 else weights


class Climb(NamedTuple):
    """What every climb of a round has in common: candidates, the present weights, the figure to raise (see ``mert``),
    the seed and the number of the round."""

    pools: mert.Pools
    weights: np.ndarray
    figure: int
    seed: int
    iteration: int


def climb(number: int, shared: Climb) -> tuple[float, np.ndarray]:
    """The best value and weights from the present weights (number 0) or from a random point on."""
    random = Random(shared.seed, "transliterate/mert", shared.iteration, number)
    start = shared.weights if number == 0 else np.array([random.uniform() for _ in range(len(shared.weights))])
    return mert.climb(shared.pools, start, shared.figure, random)


class Tuner(Learner):
    """Finds weights for development words with accepted targets.

    - ``references``: for each word its accepted targets, each a list of letters;
    - ``metric``: mean log probability of accepted targets; or corpus BLEU of letters (of words, where
      those are what is written), accuracy, or mean F-score, which
      have no slope and are raised by line searches from several points;
    - ``free``: which weights may change, bool (k,); ``restarts``: how many random starting points a round has;
      ``pool``: who climbs from them.
    """

    def __init__(
        self,
        references: Sequence[Sequence[Sequence[str]]],
        vocab: Vocab,
        metric: str,
        free: np.ndarray,
        restarts: int,
        seed: int,
        pool: Workers,
    ):
        self.metric, self.free, self.restarts, self.seed, self.pool = metric, free, restarts, seed, pool
        strange: dict[str, int] = {}

        def number(letter: str) -> int:
            """Letters that the model cannot write get numbers of their own, so that they match nothing."""
            return vocab.ids.get(letter) or len(vocab) + strange.setdefault(letter, len(strange))

        numbered = [[tuple(map(number, reference)) for reference in accepted] for accepted in references]
        flat = [reference for accepted in numbered for reference in accepted]
        ids = np.array([letter for reference in flat for letter in reference], np.int32)
        self.references = ids, starts_of(map(len, flat)), starts_of(map(len, numbered))
        self.answers = [set(accepted) for accepted in numbered]
        self.candidates: list[dict[bytes, tuple[np.ndarray, np.ndarray]]] = [{} for _ in numbered]

    def __repr__(self) -> str:
        return f"Tuner({self.metric}, {len(self.answers):,} items)"

    def measured(self, found: Found, item: np.ndarray) -> np.ndarray:
        """The statistics of all candidates."""
        if self.metric in ("acc", "likelihood"):
            starts, targets = found.target_starts.tolist(), found.targets.tolist()
            right = [tuple(targets[starts[c] : starts[c + 1]]) in self.answers[i] for c, i in enumerate(item.tolist())]
            return np.column_stack([np.array(right, np.float64), np.ones(len(item))])
        measure = bleu_statistics if self.metric == "bleu" else f_statistics
        return measure(Candidates(found.targets, found.target_starts, *self.references, item))

    def merge(self, found: Found) -> int:
        """Add new candidates to the pools (unique by output and features); returns how many were new."""
        item = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
        statistics = self.measured(found, item)
        rounded, before = np.round(found.features, 9), sum(map(len, self.candidates))
        for c, i in enumerate(item.tolist()):
            output = found.targets[found.target_starts[c] : found.target_starts[c + 1]]
            key = output.tobytes() + rounded[c].tobytes()
            self.candidates[i].setdefault(key, (found.features[c], statistics[c]))
        return sum(map(len, self.candidates)) - before

    def pools(self) -> mert.Pools:
        """All candidates so far; words without any are left out."""
        filled = [own for own in self.candidates if own]
        features, statistics = zip(*(row for own in filled for row in own.values()), strict=True)
        return mert.Pools(
            starts_of(map(len, filled)), np.ascontiguousarray(np.array(features)[:, self.free]), np.array(statistics)
        )

    def optimise(self, weights: np.ndarray, iteration: int) -> tuple[float, np.ndarray]:
        """The best weights for the pools that a climb from the present or from a random point finds."""
        pools = self.pools()
        result = np.zeros(len(self.free))
        if self.metric == "likelihood":
            logs = np.arange(len(self.free)) < len(self.free) - 1  # the last one is the number of phrases
            value, result[self.free] = likelihood.maximise(pools, weights[self.free], logs[self.free])
            return value, result
        figure = mert.BLEU if self.metric == "bleu" else mert.SHARE
        shared = Climb(pools, weights[self.free], figure, self.seed, iteration)
        attempts = self.pool.scatter(range(self.restarts + 1)).map(climb, shared)
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
        self, weights: np.ndarray, decode: Callable[[np.ndarray], Found], rounds: int, checkpoint: Checkpoint
    ) -> list[Round]:
        """Rounds of optimising and decoding; ``decode`` maps weights to candidates.

        Where the candidates leave nothing to choose there are no rounds, and a warning.
        """
        self.weights, self.decode, self.rounds, self.over = weights, decode, rounds, False
        self.merge(decode(weights))
        pools = self.pools()
        if self.metric == "likelihood" and not likelihood.separates(pools):
            found = pools.statistics[:, 0].any()
            reason = "every word has right candidates only, or none" if found else "no accepted target was found"
            warn(f"the weights stay as they were before tuning: {reason}")
            return []
        columns = 2 + len(weights)
        history, _ = checkpoint.run(
            self, rounds, columns=columns, converged=lambda: self.over, title="tuning", note="{:.4f}"
        )
        return [Round(row[2:].copy(), float(row[0]), int(row[1])) for row in history]

    def finish(self, sweep: int) -> np.ndarray:
        """One round: the figure of its weights, the number of candidates, and the weights."""
        pools = self.pools()
        before = self.figure(pools, self.weights)
        value, better = self.optimise(self.weights, sweep)
        value, better = (value, better) if value > before else (before, self.weights)
        self._go_on(better, value, before, sweep)
        return np.append([value, len(pools.features)], better)

    def _go_on(self, weights: np.ndarray, value: float, before: float, sweep: int) -> None:
        """Find the candidates of the next round, unless this one was the last or has gained nothing."""
        self.weights = weights
        self.over = value < before + GAIN or (sweep + 1 < self.rounds and self.merge(self.decode(weights)) == 0)

    def state(self) -> dict[str, np.ndarray]:
        """Nothing but the history, from which the candidates follow."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Decode again what was decoded in the rounds before, for the sake of their candidates."""
        history = arrays["history"]
        if not np.isfinite(history).all() or not (np.abs(history[:, 1]) < 1 << 53).all():
            raise ValueError("a round that cannot be")
        for done, row in enumerate(history):
            self._go_on(np.array(row[2:]), float(row[0]), self.figure(self.pools(), self.weights), done)


def history_from(arrays: Mapping[str, np.ndarray]) -> list[Round]:
    """Rounds of tuning from a file."""
    rows = zip(*(arrays[f"history/{name}"] for name in ("weights", "values", "candidates")), strict=True)
    return [Round(np.array(weights), float(value), int(candidates)) for weights, value, candidates in rows]


def history_arrays(weights: np.ndarray, history: Sequence[Round]) -> dict[str, np.ndarray]:
    """Weights and the rounds of tuning that found them, as ``HISTORY`` declares them."""
    return {
        "weights": weights,
        "history/weights": np.array([step.weights for step in history], np.float64).reshape(-1, 8),
        "history/values": np.array([step.value for step in history], np.float64),
        "history/candidates": np.array([step.candidates for step in history], np.int64),
    }
