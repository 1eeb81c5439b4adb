"""How grammars of several languages are learned, and the common grammar behind them.

Category A of language l emits a word with probability theta_lA0 psi_lAw, else branches into B and C with theta_lA1
phi_lABC. The rows are Dirichlet: theta_lA ~ Dir(alpha_A), phi_lA ~ Dir(beta_A) with a common grammar alpha, beta behind
all languages, each of whose numbers has a Gamma prior; psi_lA ~ Dir(gamma, ..., gamma). Posterior rows are Dirichlet
with parameters ``Grammar.emits``, ``pairs``, ``words``; their weights, exp(Psi(q) - Psi(sum q)), stand where
probabilities would in inside-outside, and the counts expected there, plus the prior, are the new parameters. The
objective

    F = sum log Z - sum KL(posterior row || prior row) + log p(alpha) + log p(beta)

is evaluated with the parameters that made the weights, and never falls. The common grammar moves by a fixed point,

    alpha_t <- (a - 1 + alpha_t L (Psi(sum alpha) - Psi(alpha_t))) / (b + sum_l (Psi(sum q_l) - Psi(q_lt)))

and half as far, in the logarithm, should that lower F. With probabilities in the place of weights, and counts alone, it
is EM. Weights to a power below 1 keep more trees alive than the posterior would (annealing): begun so, it finds far
better optima of F.

Iwata, Mochihashi and Sawada, "Learning common grammar from multilingual corpus", 2010, eq. 1-10; Kurihara and Sato,
"Variational Bayesian grammar induction for natural language", 2006, for one language; Katahira, Watanabe and Okada,
"Deterministic annealing variant of variational Bayes method", 2008.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from corpuscle.engine.dp.dense import inside_outside
from corpuscle.grammar.kernels.spans import fill_gammas
from corpuscle.learning import Learner
from corpuscle.model import Array
from corpuscle.random import purpose_id, stream
from corpuscle.scale import Chunks, starts_of

if TYPE_CHECKING:
    from corpuscle.grammar.common import CommonGrammar

_SMALLEST = 1e-8
_TOKENS = 40_000
"""Words in a chunk of sentences."""


class Grammar(NamedTuple):
    """The rows of one language, as parameters of Dirichlet distributions or as probabilities.

    - ``emits``: float64 (K, 2), emit or branch; ``pairs``: float64 (K, n_pairs); ``words``: float64 (K, W).
    """

    emits: np.ndarray
    pairs: np.ndarray
    words: np.ndarray

    def means(self) -> Grammar:
        """Each row divided by its sum."""
        return Grammar(*(each / each.sum(axis=1, keepdims=True) for each in self))

    def logs(self) -> Grammar:
        """The expected logarithms of each row."""
        return Grammar(*(digamma(each) - digamma(each.sum(axis=1, keepdims=True)) for each in self))

    def weights(self, power: float = 1.0) -> Grammar:
        """exp of the expected logarithms, to a power; some are so small that they are 0."""
        return Grammar(*(np.exp(power * each) for each in self.logs()))


class Common(NamedTuple):
    """The common grammar: ``emits`` float64 (K, 2) and ``pairs`` (K, n_pairs)."""

    emits: np.ndarray
    pairs: np.ndarray


class Weights(NamedTuple):
    """A language as inside-outside sees it: ``leaves`` float64 (W, K), ``rules`` float64 (K, K K)."""

    leaves: np.ndarray
    rules: np.ndarray

    @classmethod
    def of(cls, grammar: Grammar, allowed: np.ndarray) -> Weights:
        """From rows; ``allowed``: the pairs B K + C that there are, int64 (n_pairs,)."""
        k = len(grammar.emits)
        rules = np.zeros((k, k * k))
        rules[:, allowed] = grammar.emits[:, 1:] * grammar.pairs
        return cls(np.ascontiguousarray((grammar.emits[:, :1] * grammar.words).T), rules)


class Chunk(NamedTuple):
    """Sentences of one language and one length: ``words`` int32 (n_sentences, n), ``times`` float64 (n_sentences,), how
    often each is there; ``order``: the tokens by word, ``types`` and ``starts``: which words, and where they begin."""

    language: int
    words: np.ndarray
    times: np.ndarray
    order: np.ndarray
    types: np.ndarray
    starts: np.ndarray


class Counts(NamedTuple):
    """Expected counts of a chunk: ``rules`` float64 (K, K K), ``words`` (K, n_types) of its types; the sum of log Z."""

    rules: np.ndarray
    words: np.ndarray
    logarithm: float


def chunks_of_language(language: int, sentences: Sequence[np.ndarray]) -> list[Chunk]:
    """Group sentences by length, equal ones together."""
    chunks = []
    lengths = np.array([len(sentence) for sentence in sentences])
    for n in np.unique(lengths[lengths > 0]).tolist():
        table = np.stack([sentences[i] for i in np.flatnonzero(lengths == n).tolist()]).astype(np.int32)
        rows, times = np.unique(table, axis=0, return_counts=True)
        step = max(1, _TOKENS // n)
        for at in range(0, len(rows), step):
            words = np.ascontiguousarray(rows[at : at + step])
            order = np.argsort(words.ravel(), kind="stable")
            types, starts = np.unique(words.ravel()[order], return_index=True)
            chunks.append(Chunk(language, words, times[at : at + step].astype(np.float64), order, types, starts))
    return chunks


def expect(chunk: Chunk, weights: Sequence[Weights]) -> Counts:
    own = weights[chunk.language]
    found = inside_outside(own.leaves[chunk.words], own.rules, chunk.times)
    tokens = found.words.reshape(chunk.words.size, -1)[chunk.order]
    words = np.add.reduceat(tokens, chunk.starts, axis=0).T
    return Counts(found.rules, words, float(found.logarithms @ chunk.times))


def divergence(posterior: np.ndarray, prior: np.ndarray) -> float:
    """The sum over rows of KL(Dir(posterior) || Dir(prior)); the prior may have fewer rows or columns of ones."""
    prior = np.broadcast_to(prior, posterior.shape)
    total, before = posterior.sum(axis=1), prior.sum(axis=1)
    rows = gammaln(total) - gammaln(posterior).sum(axis=1) - gammaln(before) + gammaln(prior).sum(axis=1)
    rows += ((posterior - prior) * (digamma(posterior) - digamma(total)[:, None])).sum(axis=1)
    return float(rows.sum())


def _gain(rows: np.ndarray, logs: np.ndarray, languages: int, shape: float, rate: float) -> np.ndarray:
    """The part of F that depends on each row of the common grammar; ``logs``: expected logarithms, summed."""
    gain = languages * (gammaln(rows.sum(axis=1)) - gammaln(rows).sum(axis=1)) + ((rows - 1.0) * logs).sum(axis=1)
    return gain + ((shape - 1.0) * np.log(rows) - rate * rows).sum(axis=1)


def dirichlet_step(rows: np.ndarray, logs: np.ndarray, languages: int, shape: float, rate: float) -> np.ndarray:
    """One step of the fixed point: ``rows`` float64 (K, n), ``logs`` (K, n) the sum over languages of the expected
    logarithms of their rows. No step lowers the objective."""
    upper = shape - 1.0 + rows * languages * (digamma(rows.sum(axis=1, keepdims=True)) - digamma(rows))
    moved = np.maximum(upper / (rate - logs), _SMALLEST)
    before = _gain(rows, logs, languages, shape, rate)
    for _ in range(30):
        worse = _gain(moved, logs, languages, shape, rate) < before - 1e-12 * np.abs(before)
        if not worse.any():
            return moved
        moved[worse] = np.sqrt(moved[worse] * rows[worse])
    moved[worse] = rows[worse]
    return moved


STATE = {
    "common/emits": Array("float64", ("categories", 2), low=0.0, finite=True, sums="positive"),
    "common/pairs": Array("float64", ("categories", "pairs"), low=0.0, finite=True, sums="positive"),
    "emits": Array("float64", ("languages", "categories", 2), low=0.0, finite=True, sums="positive"),
    "pairs": Array("float64", ("languages", "categories", "pairs"), low=0.0, finite=True, sums="positive"),
    "words": Array("float64", ("categories", "slots"), low=0.0, finite=True, sums="positive"),
}


def dirichlet_rows(rows: int, columns: int, shape: float, draws: np.ndarray) -> np.ndarray:
    """Rows drawn from a symmetric Dirichlet distribution."""
    values = np.zeros((rows, columns))
    fill_gammas(draws, shape, values)
    return values / values.sum(axis=1, keepdims=True)


class Climber(Learner):
    """A learner that does everything at the end of a sweep, until the objective gains too little; ``values`` float64
    (2,): the objective of the last two iterations, NaN where there was none."""

    def __init__(self, tolerance: float):
        self.tolerance, self.values = tolerance, np.full(2, np.nan)

    def converged(self) -> bool:
        """Whether the last iteration gained too little."""
        before, now = self.values.tolist()
        return now - before < self.tolerance * abs(before)

    def state(self) -> dict[str, np.ndarray]:
        return {"values": self.values}


class GrammarLearner(Climber):
    """One start, as a learner: its state are the common grammar and those of all languages."""

    def __init__(self, model: CommonGrammar, sizes: Sequence[int], restart: int, words: list[np.ndarray]):
        super().__init__(model.tolerance)
        self.model, self.sizes = model, sizes
        self.allowed = model.allowed
        k, n = model.nonterminals, len(self.allowed)
        draws = stream(model.seed, purpose_id("grammar.common"), restart, 0)
        emits, pairs = dirichlet_rows(k, 2, 2.0, draws), dirichlet_rows(k, n, 1.0, draws)
        self.common = Common(np.ones((k, 2)), np.full((k, n), 0.1) if model.estimate == "separate" else 0.2 + k * pairs)
        prior = model.word_prior
        self.grammars = []
        for number, size in enumerate(sizes):
            own = stream(model.seed, purpose_id("grammar.common.words"), restart, number)
            rows = words[number] if words else dirichlet_rows(k, size, 1.0, own)
            rows = rows / rows.sum(axis=1, keepdims=True)
            start = Grammar(self.common.emits + 20 * emits, self.common.pairs + n * pairs, prior + size * rows)
            self.grammars.append(start.means() if model.estimate == "em" else start)
        self.held: Chunks | None = None
        self.chunks: list[Any] = []
        self.annealing = 0 if model.estimate == "em" else model.annealing

    def _counts(self, power: float = 1.0) -> tuple[list[Grammar], float]:
        """Expected counts of each language, and the sum of log Z, with weights to a power."""
        em = self.model.estimate == "em"
        rows = self.grammars if em else [grammar.weights(power) for grammar in self.grammars]
        weights = [Weights.of(each, self.allowed) for each in rows]
        k = self.model.nonterminals
        counts = [Grammar(np.zeros((k, 2)), np.zeros((k, len(self.allowed))), np.zeros((k, n))) for n in self.sizes]
        total = 0.0
        assert self.held is not None
        for chunk, found in zip(self.chunks, self.held.map(expect, weights), strict=True):
            own = counts[chunk.language]
            own.pairs[:] += found.rules[:, self.allowed]
            own.words[:, chunk.types] += found.words
            total += found.logarithm
        for own in counts:
            own.emits[:, 0], own.emits[:, 1] = own.words.sum(axis=1), own.pairs.sum(axis=1)
        if not math.isfinite(total):
            raise ArithmeticError("a sentence has no tree")
        return counts, total

    def finish(self, sweep: int) -> float:
        """The objective with the present parameters (while it anneals, another value); the parameters that follow."""
        counts, value = self._counts(0.5 + 0.5 * sweep / self.annealing if sweep < self.annealing else 1.0)
        model = self.model
        if model.estimate == "em":
            self.grammars = [
                Grammar(*(_normalised(own, old) for own, old in zip(new, before, strict=True)))
                for new, before in zip(counts, self.grammars, strict=True)
            ]
            self.values = np.array([self.values[1], value])
            return value
        for grammar in self.grammars:
            value -= divergence(grammar.emits, self.common.emits) + divergence(grammar.pairs, self.common.pairs)
            value -= divergence(grammar.words, np.full((1, 1), model.word_prior))
        priors = ((model.emit_shape, model.emit_rate), (model.pair_shape, model.pair_rate))
        if model.estimate == "common":
            for rows, (shape, rate) in zip(self.common, priors, strict=True):
                value += float(((shape - 1) * np.log(rows) - rate * rows).sum())
                value += rows.size * (shape * math.log(rate) - math.lgamma(shape))
        self.grammars = [
            Grammar(self.common.emits + own.emits, self.common.pairs + own.pairs, model.word_prior + own.words)
            for own in counts
        ]
        if model.estimate == "common":  # the common grammar moves towards the rows of all languages
            moved = []
            for name, rows, (shape, rate) in zip(Common._fields, self.common, priors, strict=True):
                logs = sum(getattr(grammar.logs(), name) for grammar in self.grammars)
                for _ in range(model.common_steps):
                    rows = dirichlet_step(rows, logs, len(self.grammars), shape, rate)
                moved.append(rows)
            self.common = Common(*moved)
        self.values = np.array([self.values[1], value if sweep >= self.annealing else np.nan])
        return value

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | arrays_of(self.common, self.grammars)

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        if any(arrays[name].shape != own.shape for name, own in self.state().items()):
            raise ValueError("it does not fit the text")
        self.common, self.grammars = restored_grammars(arrays, self.sizes)
        self.values = np.array(arrays["values"])


def _normalised(counts: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Rows of probabilities from counts; a row without counts stays as it was."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), before)


def arrays_of(common: Common, grammars: Sequence[Grammar]) -> dict[str, np.ndarray]:
    """The rows of all languages and of the common grammar as they stand in a file, see ``STATE``."""
    emits, pairs = (np.stack([getattr(each, name) for each in grammars]) for name in ("emits", "pairs"))
    words = np.concatenate([each.words for each in grammars], axis=1)
    return {"common/emits": common.emits, "common/pairs": common.pairs, "emits": emits, "pairs": pairs, "words": words}


def restored_grammars(arrays: Mapping[str, np.ndarray], sizes: Sequence[int]) -> tuple[Common, list[Grammar]]:
    bounds = starts_of(sizes)
    grammars = [
        Grammar(np.array(arrays["emits"][i]), np.array(arrays["pairs"][i]),
                np.array(arrays["words"][:, bounds[i] : bounds[i + 1]]))
        for i in range(len(sizes))
    ]  # fmt: skip
    return Common(np.array(arrays["common/emits"]), np.array(arrays["common/pairs"])), grammars
