"""Decoding and tuning: a phrase table, a language model and weights, ready to rewrite many words at a time, by several
workers; and the weights that are best for development words (or sentences): decode them, pool the candidates, find
better weights, and again until no round gains anything.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.align import PhraseTable
from corpuscle.engine import likelihood, mert
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint, Learner
from corpuscle.lm import NgramModel
from corpuscle.measure.overlaps import Candidates, bleu_statistics, f_statistics
from corpuscle.model import Array, Arrays, Container, Inner, Record
from corpuscle.model.saved import Saved
from corpuscle.random import Random
from corpuscle.scale import Workers, chunks_of, workers
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.vocab import END, FIRST, UNKNOWN, Vocab
from corpuscle.text.wording import number
from corpuscle.transliterate.kernels.monotone import Derivations, Limits, Models, Problem, Sequences, decode
from corpuscle.transliterate.kernels.windows import Windows
from corpuscle.transliterate.settings import PhraseSettings

UNKNOWN_FEATURE = -5.0
"""The value of each of the table's features for a letter that the table does not cover."""

_WORK = 20_000
"""Beam times letters of a chunk: a call of the kernel takes well below half a second."""


class Found(NamedTuple):
    """The rewritings of many words.

    - ``starts``: int64 (n_words + 1,), the candidates of each word, best first;
    - ``scores``: float64 (n_candidates,); ``features``: float64 (n_candidates, k);
    - ``target_starts``: int64 (n_candidates + 1,), ``targets``: int32, their symbols;
    - ``segment_starts``: int64 (n_candidates + 1,), ``segments``: int32 (n_segments, 3): entry of the table (-1 for a
      letter that it does not cover), number of source and of target letters.
    """

    starts: np.ndarray
    scores: np.ndarray
    features: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    segment_starts: np.ndarray
    segments: np.ndarray

    def ranked(self, vocab: Vocab, between: str = "") -> list[list[tuple[str, float]]]:
        """The candidates of each word as strings, with their scores."""
        symbols, starts = vocab.decode(self.targets), self.target_starts.tolist()
        strings = [between.join(symbols[a:b]) for a, b in pairwise(starts)]
        both = list(zip(strings, self.scores.tolist(), strict=True))
        return [both[a:b] for a, b in pairwise(self.starts.tolist())]


class Weighted:
    """A model that decides by a weighted sum of its ``FEATURES``; ``weights_`` float64, in their order."""

    FEATURES: ClassVar[tuple[str, ...]]
    weights_: np.ndarray

    @property
    def named_weights(self) -> dict[str, float]:
        """The weights by the names of their features."""
        return dict(zip(self.FEATURES, self.weights_.tolist(), strict=True))

    def set_weights(self, weights: Sequence[float] | np.ndarray) -> None:
        """Replace the learned weights."""
        given = np.array(weights, np.float64)
        if given.shape != (len(self.FEATURES),) or not np.isfinite(given).all():
            names = ", ".join(self.FEATURES)
            raise SettingError(f"{len(self.FEATURES)} weights are needed ({names}), not {list(weights)!r}")
        self.weights_ = given
        self.__dict__.pop("decoder", None)


class PhraseDecoder:
    """A phrase table and a language model under weights, the first four of which are those of the table's features.

    ``options``: the best entries of the table for each source phrase; ``entries``: which ones they are;
    ``unknown_score``: that of a symbol which the table does not cover.
    """

    def __init__(self, table: PhraseTable, lm: NgramModel, source: Vocab, weights: np.ndarray, settings: Any):
        self.table, self.lm, self.source, self.weights, self.settings = table, lm, source, weights, settings
        self.options, self.entries = table.options(weights[:4], settings.table_limit)
        self.unknown_score = float(UNKNOWN_FEATURE * weights[:4].sum())

    def _found(
        self, decode: Callable[..., Derivations], problem: Any, corpus: Corpus, copies: np.ndarray, work: int,
        pool: Workers,
    ) -> Found:  # fmt: skip
        """What ``decode`` finds, in calls of about ``work`` (beam times symbols). Features are the sums of the table's
        four over all phrases, the logs of the derivations, and the number of phrases."""
        chunks, beam = [], problem.limits.beam
        for first, last in pairwise(chunks_of(corpus.lengths * beam, max(work, beam)).tolist()):
            starts = corpus.sentence_starts[first : last + 1]
            inside = slice(starts[0], starts[-1])
            chunks.append(Sequences(corpus.tokens[inside], starts - starts[0], copies[inside]))
        chunks = chunks or [Sequences(corpus.tokens, corpus.sentence_starts, copies)]
        parts = list(zip(*pool.scatter(chunks).map(decode, problem), strict=True))  # by field of ``Derivations``
        starts, segment_starts = (starts_of(np.concatenate([*map(np.diff, parts[i])])) for i in (0, 3))
        scores, logs, segments = (np.concatenate(parts[i]) for i in (1, 2, 4))
        option = segments[:, 0].astype(np.int64)
        covered, copied = option >= 0, option < -1
        entry = np.full(len(option), -1, np.int64)
        entry[covered] = self.entries[option[covered]]
        features = np.full((len(option), 4), UNKNOWN_FEATURE)
        features[covered] = self.table.features[entry[covered]]
        lengths = np.where(copied, 1, 0)
        lengths[covered] = np.diff(self.options.target_starts)[option[covered]]
        ends = starts_of(lengths)
        targets = np.empty(ends[-1], np.int32)
        targets[ends[:-1][copied]] = -1 - option[copied]
        places, _ = items_of(self.options.target_starts, option[covered])
        targets[np.repeat(covered, lengths)] = self.options.targets[places]
        totals = np.concatenate([np.zeros((1, 4)), np.cumsum(features, axis=0)])
        sums = totals[segment_starts[1:]] - totals[segment_starts[:-1]]
        features = np.column_stack([sums, logs, np.diff(segment_starts)])
        shown = np.column_stack([entry, segments[:, -1], lengths]).astype(np.int32)
        return Found(starts, scores, features, ends[segment_starts], targets, segment_starts, shown)


class Decoder(PhraseDecoder):
    """Rewrites words. ``weights`` are those of the four table features, the language model of the target, the joint
    model of both sides, the model of pieces in their context, and the number of phrases."""

    def __init__(
        self, table: PhraseTable, lm: NgramModel, joint: NgramModel, context: Windows, source: Vocab,
        weights: np.ndarray, settings: PhraseSettings,
    ):  # fmt: skip
        super().__init__(table, lm, source, weights, settings)
        self.joint, self.models = joint, Models(lm.automaton_, joint.automaton_, context)

    def decode(
        self, words: list[list[str]], pool: Workers, n_best: int = 1, distinct: bool = True, beam: int | None = None
    ) -> Found:
        """The best rewritings of some words, each a list of letters; ``beam``: another one than the settings say."""
        corpus = Corpus.from_sentences(words, self.source)
        copies = self.lm.vocab_.encode(symbol for word in words for symbol in word)
        copies = np.where(copies >= FIRST, copies, UNKNOWN).astype(np.int32)
        language, pieces, context, phrase = self.weights[4:].tolist()
        limits = Limits(
            beam or self.settings.beam, self.settings.beam_threshold, max(1, self.table.trie.depth), n_best, distinct,
            language, pieces, context, phrase, self.unknown_score, self.lm.initial_state, self.joint.initial_state, END,
        )  # fmt: skip
        return self._found(decode, Problem(self.options, self.models, limits), corpus, copies, _WORK, pool)


HISTORY = {
    "weights": Array("float64", (8,), finite=True),
    "history/weights": Array("float64", ("rounds", 8), finite=True),
    "history/values": Array("float64", ("rounds",), finite=True),
    "history/candidates": Array("int64", ("rounds",), low=0),
}

GAIN = 1e-4
"""The least gain for which there is another round."""


class Round(NamedTuple):
    """The result of a round: its weights, their figure on the pooled candidates, and the number of these."""

    weights: np.ndarray
    value: float
    candidates: int


class _Rounds(Saved):
    def arrays(self, value: Sequence[Round]) -> dict[str, np.ndarray]:
        return {
            "history/weights": np.array([step.weights for step in value], np.float64).reshape(-1, 8),
            "history/values": np.array([step.value for step in value], np.float64),
            "history/candidates": np.array([step.candidates for step in value], np.int64),
        }

    def restored(self, loaded: Container) -> list[Round]:
        rows = zip(*(loaded.arrays[f"history/{name}"] for name in ("weights", "values", "candidates")), strict=True)
        return [Round(np.array(weights), float(value), int(candidates)) for weights, value, candidates in rows]


class Tuned(Weighted):
    """A phrase table and a language model under eight weights, which were tuned in the rounds of ``history_``."""

    SAVED: ClassVar[Mapping[str, Saved]] = {
        "source_vocab_": Record(Vocab, "source/"),
        "lm_": Inner("lm", "corpuscle.lm:NgramModel"),
        "table_": Record(PhraseTable),
        "weights_": Arrays("weights", copied=True),
        "history_": _Rounds(),
    }

    table_: PhraseTable
    lm_: NgramModel
    source_vocab_: Vocab
    history_: list[Round]

    @abstractmethod
    def _decoder(self, weights: np.ndarray) -> Any:
        """A decoder with these weights."""

    @cached_property
    def decoder(self) -> Any:
        return self._decoder(self.weights_)

    def _find_weights(
        self: Any, references: list[list[list[str]]], vocab: Vocab, metric: str, free: np.ndarray,
        decode: Callable[[Any, Workers], Found], checkpoint: Checkpoint,
    ) -> None:  # fmt: skip
        """Tune the ``free`` weights, see ``Tuner``; ``decode``: the candidates of a decoder, found by some workers."""
        with workers(self.workers, self.cluster) as pool:
            tuner = Tuner(references, vocab, metric, free, self.restarts, self.seed, pool)
            start = self.weights_ * free
            self.history_ = tuner.run(start, lambda w: decode(self._decoder(w), pool), self.rounds, checkpoint)
        if self.history_:
            self.set_weights(self.history_[-1].weights)

    def _tuning_figures(self, metric: str, name: str) -> tuple[dict[str, Any], str]:
        """The figures of a new model, and a sentence; ``name``: of the tuned figure."""
        value = self.history_[-1].value if self.history_ else None
        tuned = "" if value is None else f", {metric} {number(value)} on the pairs it was tuned on"
        figures = {"rounds": len(self.history_), name: value, "weights": self.named_weights}
        return figures, f"{len(self.table_):,} phrase pairs{tuned}"

    def _extra(self) -> dict[str, Any]:
        return {"roots": int(self.table_.trie.roots), "target_types": len(self.lm_.vocab_) - FIRST}


def _climb(attempt: int, shared: tuple[mert.Pools, np.ndarray, int, int, int]) -> tuple[float, np.ndarray]:
    """The best value and weights from the present weights (attempt 0) or from a random point on; ``shared``: the
    candidates, the present weights, the figure to raise (see ``mert``), the seed, the number of the round."""
    pools, start, figure, seed, iteration = shared
    random = Random(seed, "transliterate/mert", iteration, attempt)
    if attempt > 0:
        start = np.array([random.uniform() for _ in range(len(start))])
    return mert.climb(pools, start, figure, random)


class Tuner(Learner):
    """A learner of weights, from development words with accepted targets; a sweep is a round of tuning.

    - ``references``: for each word its accepted targets, each a list of letters;
    - ``metric``: mean log probability of accepted targets; or corpus BLEU of letters (of words, where those are what is
      written), accuracy, or mean F-score, which have no slope and are raised by line searches from several points;
    - ``free``: which weights may change, bool (k,); ``restarts``: how many random starting points a round has;
      ``pool``: the workers that climb from them.
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
        self.quality = mert.BLEU if metric == "bleu" else mert.SHARE
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

    def merge(self, found: Found) -> int:
        """Add new candidates to the pools (unique by output and features); returns how many were new."""
        item = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
        starts, targets = found.target_starts.tolist(), found.targets.tolist()
        if self.metric in ("acc", "likelihood"):
            right = [tuple(targets[starts[c] : starts[c + 1]]) in self.answers[i] for c, i in enumerate(item.tolist())]
            statistics = np.column_stack([np.array(right, np.float64), np.ones(len(item))])
        else:
            measure = bleu_statistics if self.metric == "bleu" else f_statistics
            statistics = measure(Candidates(found.targets, found.target_starts, *self.references, item))
        rounded, before = np.round(found.features, 9), sum(map(len, self.candidates))
        for c, i in enumerate(item.tolist()):
            output = found.targets[starts[c] : starts[c + 1]]
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
        """The best value for the pools, and its weights; by climbs from the present weights and from random points."""
        pools = self.pools()
        result = np.zeros(len(self.free))
        if self.metric == "likelihood":
            logs = np.arange(len(self.free)) < len(self.free) - 1  # the last one is the number of phrases
            value, result[self.free] = likelihood.maximise(pools, weights[self.free], logs[self.free])
            return value, result
        shared = pools, weights[self.free], self.quality, self.seed, iteration
        attempts = self.pool.scatter(range(self.restarts + 1)).map(_climb, shared)
        value, best = max(attempts, key=lambda found: found[0])
        result[self.free] = best / (np.abs(best).sum() or 1.0)  # the scale of weights decides nothing
        return value, result

    def figure(self, pools: mert.Pools, weights: np.ndarray) -> float:
        """The metric on the best of some candidates under some weights."""
        if self.metric == "likelihood":
            return likelihood.figure(pools, weights[self.free])[0]
        sums = mert.total(pools, weights[self.free])
        return float(mert.quality(sums, self.quality))

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
        """Empty: the candidates follow from the history."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Decode again, round by round, to get the candidates back."""
        history = arrays["history"]
        if not np.isfinite(history).all() or not (np.abs(history[:, 1]) < 1 << 53).all():
            raise ValueError("a round that cannot be")
        for done, row in enumerate(history):
            self._go_on(np.array(row[2:]), float(row[0]), self.figure(self.pools(), self.weights), done)
