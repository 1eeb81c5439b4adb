"""ConstituentContext: brackets without trees to learn from, by which strings of tags stand as one (the CCM).

A bracketing B of a sentence is uniform over binary trees; given B, every span says its string of tags (*yield*) and the
two tags around it (*context*) by whether it is a bracket of B (T) or not (F):

    P(S, B) = 1 / Catalan(n - 1)  prod_{spans} P(yield | B_ij) P(context | B_ij)

Divided by what all spans would be worth as F, a bracketing weighs the product over its own spans of

    exp f = P(yield | T) P(context | T) / (P(yield | F) P(context | F))

so expected brackets come from a chart with one symbol. EM from the brackets of random splits (or of drawn trees); every
observed yield and context has some counts of either kind beforehand, and the objective is the likelihood with that
prior, which never falls. Single words and the whole sentence are always brackets.

Klein and Manning, "A generative constituent-context model for improved grammar induction", 2002.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.engine.dp.cky import cell_numbers, cells_of
from corpuscle.grammar.induction import INDUCED, BracketInducer, Brackets, check_induced, random_brackets
from corpuscle.grammar.kernels import spans as kernels
from corpuscle.grammar.sentences import Sentences, TagMap, WordSymbols
from corpuscle.grammar.settings import CcmSettings
from corpuscle.grammar.variational import Climber
from corpuscle.hashing import find
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Array, Arrays, Kind
from corpuscle.scale import Chunks, chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.layers import aligned_signature
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.words import WordFeatures

_WORK = 500_000
"""The sum of cubed lengths of a chunk of sentences."""
_PARTS = ("yields", "contexts")
_COUNTS = {f"{part}/keys": Array("uint64", (part,), rising=True) for part in _PARTS}
_COUNTS |= {f"{part}/counts": Array("float64", (part, 2), low=0.0, finite=True) for part in _PARTS}
_STATE = {f"{part}/brackets": Array("float64", (part,), low=0.0, finite=True) for part in _PARTS}
_STATE["values"] = Array("float64", (2,))
PARTIAL = partial("grammar.ccm", _STATE)


class _Spans(NamedTuple):
    """The spans of sentences, those of each by width: ``lengths`` int64 (n_sentences,), ``yields`` and ``contexts``
    int64 (n_spans,), numbers of types, -1 for unknown ones."""

    lengths: np.ndarray
    yields: np.ndarray
    contexts: np.ndarray

    def chunks(self) -> list[_Spans]:
        cells = _first_cells(self.lengths)
        bounds = chunks_of(self.lengths**3 + 1, _WORK)
        return [
            _Spans(self.lengths[a:b], self.yields[cells[a] : cells[b]], self.contexts[cells[a] : cells[b]])
            for a, b in pairwise(bounds.tolist())
        ]


class _Scores(NamedTuple):
    """f of yields and contexts, the last entry that of unknown ones."""

    yields: np.ndarray
    contexts: np.ndarray

    @classmethod
    def from_logs(cls, logs: Iterable[np.ndarray]) -> _Scores:
        """From log P(type | T) and log P(type | F) of yields and of contexts."""
        return cls(*(log[:, 0] - log[:, 1] for log in logs))

    def of(self, spans: _Spans) -> np.ndarray:
        """f of each span."""
        return self.yields[spans.yields] + self.contexts[spans.contexts]


def _expect(spans: _Spans, scores: _Scores) -> tuple[np.ndarray, np.ndarray]:
    """How likely every span of a chunk is, and the logarithms of all weight."""
    shares, totals = np.zeros(len(spans.yields)), np.zeros(len(spans.lengths))
    kernels.posteriors(scores.of(spans), spans.lengths, kernels.WEIGHTS, shares, totals)
    return np.minimum(shares, 1.0), totals


class _Em(Climber):
    """EM as a learner: its state is how often each type is expected to be a bracket."""

    def __init__(self, spans: _Spans, model: ConstituentContext, start: np.ndarray, empty: np.ndarray):
        self.spans, self.prior = spans, (model.constituents, model.distituents)
        sizes = [len(keys) for keys in model.keys_]
        types = (spans.yields, spans.contexts)
        self.totals = [np.bincount(each, minlength=n).astype(np.float64) for each, n in zip(types, sizes, strict=True)]
        self.brackets = self._count(start)
        # Empty spans have one yield of their own, and the contexts of neighbours; they are never brackets.
        self.empty = np.bincount(empty, minlength=sizes[1]).astype(np.float64) if len(empty) else np.zeros(0)
        self.held: Chunks | None = None
        super().__init__(model.tolerance)
        self.catalan = float(sum(math.lgamma(2 * n - 1) - 2 * math.lgamma(n) - math.log(n) for n in spans.lengths))

    def _count(self, shares: np.ndarray) -> list[np.ndarray]:
        return [
            np.bincount(types, shares, len(total))
            for types, total in zip((self.spans.yields, self.spans.contexts), self.totals, strict=True)
        ]

    def counts(self) -> list[np.ndarray]:
        """Of yields and contexts, as brackets and not: float64 (types, 2); with empty spans, whose yield is last."""
        found = [np.column_stack([t, np.maximum(n - t, 0.0)]) for t, n in zip(self.brackets, self.totals, strict=True)]
        if len(self.empty):
            found[0] = np.vstack([found[0], [0.0, self.empty.sum()]])
            found[1][:, 1] += self.empty
        return found

    def finish(self, sweep: int) -> float:
        """The objective under the present counts, and new counts."""
        counts = self.counts()
        logs = [_log_shares(each, self.prior) for each in counts]
        assert self.held is not None
        found = list(self.held.map(_expect, _Scores.from_logs(logs)))
        shares = np.concatenate([each for each, _ in found])
        objective = sum(float(totals.sum()) for _, totals in found) - self.catalan
        for number, log in enumerate(logs):
            objective += float((log[:-1] * np.array(self.prior)).sum())
            outside = self.totals[number]
            objective += float(log[: len(outside), 1] @ outside)
            if len(self.empty):
                objective += float(log[:-1, 1] @ self.empty) if number else float(log[-2, 1] * self.empty.sum())
        self.brackets = self._count(shares)
        self.values = np.array([self.values[1], objective])
        return objective

    def state(self) -> dict[str, np.ndarray]:
        found = {f"{part}/brackets": each for part, each in zip(_PARTS, self.brackets, strict=True)}
        return {**found, "values": self.values}

    def restore(self, arrays: Any, sweep: int, number: int) -> None:
        found = [np.array(arrays[f"{part}/brackets"]) for part in _PARTS]
        if [len(each) for each in found] != [len(each) for each in self.totals]:
            raise ValueError("it does not fit the text")
        self.brackets, self.values = found, np.array(arrays["values"])


def _log_shares(counts: np.ndarray, prior: tuple[float, float]) -> np.ndarray:
    """log P(type | T) and log P(type | F), float64 (types + 1, 2); the last row is that of a new type."""
    padded = np.vstack([counts, [0.0, 0.0]]) + np.array(prior)
    return np.log(padded) - np.log(padded[:-1].sum(axis=0))


class ConstituentContext(CcmSettings, BracketInducer):
    """The constituent-context model.

    Learned: ``keys_`` and ``counts_``, of yields and of contexts: hashes, ascending, and how often each was a bracket
    and how often not, float64 (types, 2); ``history_``: the objective after each iteration.
    """

    KIND: ClassVar[Kind] = Kind(
        "grammar.ccm",
        1,
        {**INDUCED, **_COUNTS, "history": Array("float64", ("iterations",), finite=True)},
        check=check_induced,
    )
    SAVED: ClassVar = {
        **BracketInducer.SAVED,
        "history_": Arrays("history"),
        "keys_": Arrays(*(f"{part}/keys" for part in _PARTS)),
        "counts_": Arrays(*(f"{part}/counts" for part in _PARTS)),
    }

    keys_: Sequence[np.ndarray] = learned()
    counts_: Sequence[np.ndarray] = learned()
    history_: np.ndarray = learned()

    def checkpoint(self, bank: Treebank, path: Any, resume: bool = False) -> Checkpoint:
        """What keeps unfinished work on this text."""
        signature = aligned_signature(bank.corpus.signature(), bank.tags, bank.xpos)
        return Checkpoint(path, PARTIAL, self.settings, signature, resume=resume)

    def fit(
        self,
        bank: Treebank,
        *,
        sources: WordFeatures | None = None,
        tag_map: TagMap | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Learn from words with tags; ``sources``: classes of words, see ``class_sources``."""
        sentences = self._chosen_sentences(bank, sources, tag_map)
        self.symbols_ = WordSymbols.learn(sentences, self.symbols, self.known_)
        symbols = self.symbols_.of(sentences, self.symbols, self.known_)
        keys = self._span_keys(symbols, sentences.lengths)
        boundary, empty = np.uint64(len(self.symbols_.keys)), np.zeros(0, np.uint64)
        if self.empty_spans:  # between any two symbols, or a symbol and the end of its sentence
            padded = np.insert(symbols.astype(np.uint64), sentences.starts, boundary)
            empty = padded[:-1] * np.uint64(2**32) + padded[1:]
        self.keys_ = [np.unique(keys[0]), np.unique(np.concatenate([keys[1], empty]))]
        spans = _Spans(sentences.lengths, *(find(key, known) for key, known in zip(keys, self.keys_, strict=True)))
        em = _Em(spans, self, self._start(sentences), find(empty, self.keys_[1]))
        with workers(self.workers, self.cluster) as pool:
            em.held = pool.scatter(spans.chunks())
            run = (checkpoint or Checkpoint()).run(
                em, self.iterations, title="iterations", note="objective {:.6g}", converged=em.converged
            )  # fmt: skip
        self.history_ = run.history[:, 0]
        self.counts_ = counts = em.counts()
        if self.empty_spans:  # their yield is no key that a span can have
            self.keys_ = [np.append(self.keys_[0], np.uint64(2**64 - 1)), self.keys_[1]]
        self.provenance_ |= {
            "words": len(symbols), "symbols": len(self.symbols_.keys), "yields": len(counts[0]),
            "contexts": len(counts[1]), "iterations": len(self.history_),
        }  # fmt: skip
        return self

    def _span_keys(self, symbols: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """The hashes of the yields and contexts of all spans, uint64."""
        n = int(_first_cells(lengths)[-1])
        found = [np.zeros(n, np.uint64), np.zeros(n, np.uint64)]
        kernels.keys_of_spans(symbols, lengths, len(self.symbols_.keys), found[0], found[1])
        return found

    def _start(self, sentences: Sentences) -> np.ndarray:
        """How likely each span is at first."""
        shares = np.zeros(int(_first_cells(sentences.lengths)[-1]))
        if self.start == "splits":
            kernels.random_splits(sentences.lengths, shares)
            return shares
        shares[_cells(sentences.lengths, random_brackets(sentences.lengths, self.seed, "grammar.ccm"))] = 1.0
        return np.where(_wide(sentences.lengths), shares, 1.0)

    # ---- brackets

    def _scores(self, sentences: Sentences) -> tuple[_Spans, _Scores]:
        symbols = self.symbols_.of(sentences, self.symbols, self.known_, self.strict)
        keys = zip(self._span_keys(symbols, sentences.lengths), self.keys_, strict=True)
        logs = (_log_shares(counts, (self.constituents, self.distituents)) for counts in self.counts_)
        return _Spans(sentences.lengths, *(find(key, known) for key, known in keys)), _Scores.from_logs(logs)

    def brackets(self, bank: Treebank, *, gold: Trees | None = None, confidence: bool = False) -> Brackets:
        """The best bracketing of every sentence; where asked for, how likely each of its brackets is."""
        spans, scores = self._scores(self.sentences(bank))
        jobs = ((chunk, scores, confidence or self.decode == "risk") for chunk in spans.chunks())
        found = list(self.spread(_bracketed, jobs))
        parts = [np.concatenate([each[which] for each in found] or [np.zeros(0)]) for which in (0, 1)]
        return Brackets(parts[0].reshape(-1, 2).astype(np.int32), np.zeros(0), parts[1])


def _bracketed(job: tuple[_Spans, _Scores, bool], model: ConstituentContext) -> tuple[np.ndarray, np.ndarray]:
    """The brackets of a chunk of sentences, and how likely each is, or nothing."""
    spans, scores, weigh = job
    values, lengths = scores.of(spans), spans.lengths
    brackets = np.zeros((int(np.maximum(lengths - 1, 0).sum()), 2), np.int32)
    shares = np.zeros(0)
    if weigh:
        shares, _ = _expect(spans, scores)
        if model.decode == "risk":
            values = np.where(_wide(lengths), shares, 0.0)
    kernels.best_bracketings(values, lengths, kernels.BRACKETS, brackets)
    return brackets, shares[_cells(lengths, brackets)] if weigh else shares


def _first_cells(lengths: np.ndarray) -> np.ndarray:
    """Where the spans of each sentence begin, int64 (n_sentences + 1,)."""
    return starts_of(lengths * (lengths + 1) // 2)


def _cells(lengths: np.ndarray, brackets: np.ndarray) -> np.ndarray:
    """Where the brackets of each sentence stand among its spans, int64 (n_brackets,)."""
    numbers = np.repeat(np.arange(len(lengths)), np.maximum(lengths - 1, 0))
    return _first_cells(lengths)[numbers] + cell_numbers(lengths[numbers], brackets[:, 0], brackets[:, 1])


def _wide(lengths: np.ndarray) -> np.ndarray:
    """Which spans of sentences have more than one word, bool (n_spans,)."""
    return np.concatenate([np.zeros(0, bool), *(np.arange(cells_of(n)) >= n for n in lengths.tolist())])
