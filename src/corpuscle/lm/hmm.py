"""HmmModel: a hidden Markov model as a language model, learned by linear algebra or by expectation and maximisation.

    p(words) = sum over state sequences of  product over positions of  p(state | state before) p(word | state)

What the past says is a belief, a few numbers: its predictions look back arbitrarily far, but through a narrow door. The
mathematics of operators is in ``spectral``; EM is that of word classes (``words.hmm_learning``), on sentences that end
in an end symbol, which only the end state emits.

Estimated operators can predict negative numbers, or a sum that is not one. So every prediction is clipped from below,
divided by its sum, and mixed with the unigram distribution; the log probability of a text is the sum of the logs of
these. The belief itself goes on unclipped, and begins anew where it has lost its way (counted: ``resets``).

Words that are rarer than ``pool`` share a *symbol* with words that look alike, of which each has its relative
frequency. Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.engine.ngrams.counting import add_boundaries, count_ngrams
from corpuscle.engine.ngrams.trie import Ngrams
from corpuscle.errors import InputError, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.lm.base import Events, LanguageModel
from corpuscle.lm.kernels import spectral
from corpuscle.lm.kernels.spectral import FULL, HIDDEN, REDUCED, Operators, clipped_totals, trace
from corpuscle.lm.settings import INFINITE, MOST_RESTARTS, HmmSettings
from corpuscle.scale import Workers, chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, START, UNKNOWN, Vocab
from corpuscle.words.hmm_learning import STATE, Table, chain_learner, from_nothing
from corpuscle.words.spelling import vocabulary_of

WINDOW = 3
_FORMS = {"hkz": FULL, "reduced": REDUCED, "em": HIDDEN, "spectral-em": HIDDEN}
_MOST_NUMBERS = 1 << 28
_AT_ONCE = 1 << 12
_CHECKED = 50_000
"""The number of training tokens whose beliefs are looked at to see how steady they are."""
_SMOOTHED = 0.1
"""The share of all words, or of all states, in the distributions where spectral-em begins."""

_ARRAYS = {
    **container.VOCAB,
    **container.ITEMS,
    "symbols": container.Array("int32", ("types+3",), low=0, high="symbols"),
    "within": container.Array("float64", ("types+3",), high=1e-9, finite=True),
    "unigram": container.Array("float64", ("symbols",), low=0.0, high=1.001, sums="one"),
    "start": container.Array("float64", ("dimensions",), finite=True),
    "anew": container.Array("float64", ("dimensions",), finite=True),
    "outputs": container.Array("float64", ("symbols", "dimensions"), finite=True),
    "duals": container.Array("float64", ("with_duals", "dimensions"), finite=True),
    "maps": container.Array("float64", ("maps", "dimensions", "dimensions"), finite=True),
    "values": container.Array("float64", ("values",), low=0.0, finite=True),
    "history": container.Array("float64", ("passes", 2)),
}


def _check(loaded: container.Container) -> None:
    model, arrays = HmmModel.restored(loaded.described), loaded.arrays
    n, d = arrays["outputs"].shape
    sizes = {FULL: (0, n), REDUCED: (n, d), HIDDEN: (n, 1)}[model.form]
    if (len(arrays["duals"]), len(arrays["maps"])) != sizes:
        raise ValueError("its operators are not those of its estimator")
    if d == 0 or n <= max(START, END, UNKNOWN):
        raise ValueError("it has no states or no words")
    if (arrays["unigram"] == 0).sum() > 1 or arrays["unigram"][START] != 0:
        raise ValueError("a symbol has no probability")
    if (arrays["symbols"] == START).sum() != 1 or (arrays["symbols"] == END).sum() != 1:
        raise ValueError("a word shares the symbol of a boundary")
    if model.form == HIDDEN and any((arrays[name] < 0).any() for name in ("start", "anew", "outputs", "maps")):
        raise ValueError("it has probabilities below zero")


def _closed(table: Table) -> Table:
    """The same probabilities, but the last state is that of the end: it emits the end and nothing else does."""
    emission = table.emission.copy()
    emission[END] = emission[:, -1] = 0.0
    emission[END, -1] = 1.0
    return table._replace(emission=emission)


class HmmModel(HmmSettings, LanguageModel):
    """A hidden Markov model, or operators that stand for one.

    - ``operators_``: see ``kernels.spectral``; ``symbols_`` int32 (len(vocab_),): the symbol of each word, ``within_``
      float64 (len(vocab_),): the log of its share of that; ``unigram_`` float64 (n,): the distribution of symbols;
    - ``values_`` float64: the first singular values, the last of them beyond the model (em: none);
    - ``history_`` float64 (passes, 2): the log-likelihood a symbol before each pass of EM, and the states kept.
    """

    TUNES = True
    PARTIAL = learning.partial("lm.hmm", *[STATE] * MOST_RESTARTS)

    KIND: ClassVar[container.Kind] = container.Kind("lm.hmm", 1, _ARRAYS, check=_check)
    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "operators_": container.Record(Operators, copied=True),
        **{f"{name}_": container.Arrays(name) for name in ("symbols", "within", "unigram", "values", "history")},
    }

    operators_: Operators = learned()
    symbols_: np.ndarray = learned()
    within_: np.ndarray = learned()
    unigram_: np.ndarray = learned()
    values_: np.ndarray = learned()
    history_: np.ndarray = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order_ = WINDOW

    @property
    def form(self) -> int:
        return _FORMS[self.estimator]

    # ---- learning

    def fit(self, corpus: Corpus, dev: Corpus | None = None, *, checkpoint: Checkpoint | None = None) -> HmmModel:
        """Learn from a text; a development text chooses the share of unigrams; ``checkpoint`` keeps unfinished work."""
        corpus = self._take(corpus)
        text, start = self._symbolise(corpus), None
        self.values_, self.history_ = np.empty(0), np.empty((0, 2))
        if self.estimator != "em":
            self.operators_ = self._spectral(text)
        if self.form == HIDDEN:
            if self.estimator != "em":
                start = self._start_from(spectral.recover(self.operators_, self.seed))
            self.operators_ = self._maximised(text, start, checkpoint)
        if dev is not None:
            self._choose_share(self._take_dev(dev))
        some = corpus[: max(1, int(np.searchsorted(corpus.sentence_starts, _CHECKED)))]
        self.provenance_ |= {"symbols": len(self.unigram_), **self._conditions(len(corpus)), **self.steadiness(some)}
        return self

    def _symbolise(self, corpus: Corpus) -> Corpus:
        """The text in symbols, every sentence with its end; ``symbols_``, ``within_`` and ``unigram_`` follow."""
        vocab, self.symbols_ = vocabulary_of(self.vocab_, self.pool, None, "signature" if self.pool > 1 else "unknown")
        counts = self.vocab_.counts.astype(np.float64)
        counts[UNKNOWN] = max(counts[UNKNOWN], 1.0)  # it can come, though it never has
        counts[[START, END]] = 0.0, len(corpus)
        sums = np.bincount(self.symbols_, counts, len(vocab))
        with np.errstate(divide="ignore", invalid="ignore"):
            within = np.log(counts / sums[self.symbols_])
        self.within_ = np.where(counts > 0, within, 0.0)
        self.unigram_ = sums / sums.sum()
        stream = add_boundaries(self.symbols_[corpus.tokens], corpus.sentence_starts, 0, START, END)
        return Corpus(stream, corpus.sentence_starts + np.arange(len(corpus) + 1), vocab)

    def _symbols(self, corpus: Corpus) -> np.ndarray:
        """A text in symbols, with one end each, as a stream with all end symbols, of which the very last is another."""
        n = len(self.unigram_)
        return spectral.padded(corpus.tokens, corpus.sentence_starts, END, n, spectral.PADS - 1)

    @property
    def _count(self) -> Callable[..., Ngrams]:
        return partial(count_ngrams, n_types=len(self.unigram_) + 1, order=WINDOW, end=len(self.unigram_))

    def _spectral(self, text: Corpus) -> Operators:
        n, d, full = len(text.vocab), self.states + 1, self.estimator != "reduced"
        if full and n * d * d > _MOST_NUMBERS:
            raise SettingError(
                f"{n:,} operators of {d} dimensions are too large; estimator reduced has fewer, pool makes fewer words"
            )
        windows = spectral.windows_of(self._counting(text)(), END)
        tokens = len(text.tokens)
        if int((self.unigram_ > 0).sum()) < d:
            raise InputError(None, None, f"{self.states} states need more than {d - 1} kinds of symbols")
        projection = spectral.project(windows, d, self.projection, self.kappa / tokens, self.threads)
        self.values_ = projection.values
        floor = tokens**-0.5 if self.rank_tolerance == "noise" else float(self.rank_tolerance) * self.values_[0]
        rank = int((self.values_[:d] > floor).sum())
        if rank < d:
            shown = " ".join(f"{value:.3g}" for value in self.values_[:d])
            raise InputError(
                None, None, f"{self.states} states and the end need a rank of {d}; that of the text is {rank} ({shown})"
            )
        openings = text.tokens[text.sentence_starts[:-1]]
        opening = np.bincount(openings, minlength=n) / len(text)
        return spectral.estimated_operators(windows, projection, opening, self.threads, reduced=not full)

    def _start_from(self, found: spectral.Parameters) -> Table:
        """Where EM begins: recovered parameters, made probabilities, with the end state last."""
        unigram, d = self.unigram_[:, None], len(found.first)
        order = np.argsort(found.emission[END] / np.maximum(np.abs(found.emission).sum(axis=0), 1e-300), kind="stable")

        def cleaned(counts: np.ndarray, other: np.ndarray | float) -> np.ndarray:
            counts = np.clip(counts, 0.0, None)
            sums = counts.sum(axis=0)
            counts = np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), other)
            return (1 - _SMOOTHED) * counts + _SMOOTHED * other

        first, emission = cleaned(found.first[order], 1 / d), cleaned(found.emission[:, order], unigram)
        steps = cleaned(found.steps[np.ix_(order, order)], 1 / d)
        emission[START] = 0.0
        return _closed(Table(first, steps[None], emission))

    def _maximised(self, text: Corpus, start: Table | None, checkpoint: Checkpoint | None) -> Operators:
        """EM from a start, or from several random ones: the likeliest end."""
        checkpoint = checkpoint or Checkpoint()
        occurs = np.bincount(text.tokens, minlength=len(text.vocab)) > 0
        sizes = len(text.tokens), len(text), 1, self.states + 1
        tables = (start or _closed(from_nothing(occurs, *sizes, self.seed + n)) for n in range(self.restarts))
        with workers(self.workers, self.cluster) as pool:
            runs = [self._run(text, table, pool, checkpoint) for table in tables]
        operators, self.history_ = max(runs, key=lambda run: run[1][-1, 0] if len(run[1]) else 0.0)
        return operators

    def _run(self, text: Corpus, start: Table, pool: Workers, checkpoint: Checkpoint) -> tuple[Operators, np.ndarray]:
        em = chain_learner(text, start, self.passes, self.tolerance, pool)
        run = checkpoint.run(
            em, self.passes, columns=2, converged=lambda: em.converged, lasting=self.restarts > 1, title="passes",
            note="log-likelihood {:.4f} a symbol",
        )  # fmt: skip
        first, steps = em.first_and_steps()
        occupied = np.append(em.sums[:-1], 0.0)
        parameters = spectral.Parameters(first, steps[0], em.emissions())
        return spectral.hidden_operators(parameters, occupied / max(occupied.sum(), 1e-300)), run.history

    def _choose_share(self, dev: Corpus) -> None:
        """The share of unigrams under which a development text is most likely, by EM."""
        if self.origins["unigram_share"] == "given":
            return
        symbols, predicted = self._predicted(dev)
        unigram, share = self.unigram_[symbols], 0.5
        for _ in range(200):
            mixed = share * unigram
            share = float((mixed / (mixed + (1 - share) * predicted)).mean())
        self.chosen_["unigram_share"] = round(min(max(share, 1e-4), 1 - 1e-4), 6)

    @property
    def _share(self) -> float:
        return self.chosen_.get("unigram_share", self.unigram_share)

    def _conditions(self, sentences: int) -> dict[str, float]:
        """What theorems ask about: the smallest singular values, of pairs, of transitions and of emissions."""
        found: dict[str, float] = {}
        if len(self.values_):
            found["smallest_singular_value"] = self.values_[self.states]
            found["next_singular_value"] = self.values_[self.states + 1 :].max(initial=0.0)
            found["noise"] = (self.provenance_["words"] + sentences) ** -0.5
        if self.form == HIDDEN:
            for name, each in ("transitions", self.operators_.maps[0].T), ("emissions", self.operators_.outputs):
                found[f"smallest_of_{name}"] = np.linalg.svd(each, compute_uv=False)[-1]
        return {name: float(value) for name, value in found.items()}

    def summary(self) -> dict[str, Any]:
        figures = {"order": INFINITE, "method": "hmm", "estimator": self.estimator, "states": self.states}
        of_text = ("sentences", "words", "types_in_text")
        known = {name: value for name, value in self.provenance_.items() if name not in of_text}
        if len(self.history_):
            known |= {"passes": len(self.history_), "log_likelihood": float(self.history_[-1, 0])}
        return {**figures, **known, "unigram_share": self._share}

    # ---- predictions

    @cached_property
    def _turned(self) -> np.ndarray:
        """The outputs as ``clipped_totals`` wants them, (d, n)."""
        return np.ascontiguousarray(self.operators_.outputs.T)

    @cached_property
    def _floors(self) -> np.ndarray:
        floors = np.full(len(self.unigram_), self.least)
        floors[START] = 0.0
        return floors

    def _prepare(self) -> None:
        self._turned, self._floors  # noqa: B018

    def _beliefs(self, corpus: Corpus) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """The symbols of a text with the belief before each and the number of resets, some sentences at a time."""
        starts = corpus.sentence_starts + np.arange(len(corpus) + 1)
        symbols = add_boundaries(self.symbols_[corpus.tokens], corpus.sentence_starts, 0, START, END)
        for first, last in pairwise(chunks_of(corpus.lengths + 1, _AT_ONCE).tolist()):
            here = symbols[starts[first] : starts[last]]
            beliefs = np.empty((len(here), len(self.operators_.start)))
            resets = trace(self.form, self.operators_, here, starts[first : last + 1] - starts[first], beliefs)
            yield here, beliefs, resets

    def _predicted(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
        """The symbols of a text, sentence ends included, and the prediction of each, without the unigram share."""
        found, probability = [np.empty(0, np.int32)], [np.empty(0)]
        for symbols, beliefs, _ in self._beliefs(corpus):
            values = (self.operators_.outputs[symbols] * beliefs).sum(axis=1)
            if self.form != HIDDEN:
                totals = np.empty(len(symbols))
                clipped_totals(self._turned, beliefs, self._floors, totals)
                values = np.maximum(values, self._floors[symbols]) / totals
            found.append(symbols)
            probability.append(values)
        return np.concatenate(found), np.concatenate(probability)

    def _events(self, corpus: Corpus) -> Events:
        symbols, predicted = self._predicted(corpus)
        words = add_boundaries(corpus.tokens, corpus.sentence_starts, 0, START, END)
        mixed = (1 - self._share) * predicted + self._share * self.unigram_[symbols]
        return self._scored(corpus, np.log(mixed) + self.within_[words])

    def _distribution(self, context: list[str]) -> np.ndarray:
        operators, begins = self.operators_, self._begins(context)
        if not begins:
            operators = operators._replace(start=operators.anew)
        symbols = np.append(self.symbols_[self.vocab_.encode(context[begins:])], END).astype(np.int32)
        beliefs = np.empty((len(symbols), len(operators.start)))
        trace(self.form, operators, symbols, np.array([0, len(symbols)]), beliefs)
        predicted = operators.outputs @ beliefs[-1]
        if self.form != HIDDEN:
            predicted = np.maximum(predicted, self._floors)
            predicted /= predicted.sum()
        mixed = (1 - self._share) * predicted + self._share * self.unigram_
        result = mixed[self.symbols_] * np.exp(self.within_)
        result[START] = 0.0
        return result

    def steadiness(self, corpus: Corpus) -> dict[str, float]:
        """How often per symbol a belief begins anew (``resets``), or a prediction is below the least (``clipped``)."""
        events, resets, clipped = 0, 0, 0
        for symbols, beliefs, count in self._beliefs(corpus.recode(self.vocab_)):
            values = (self.operators_.outputs[symbols] * beliefs).sum(axis=1)
            events, resets, clipped = events + len(symbols), resets + count, clipped + int((values < self.least).sum())
        return {"resets": resets / max(1, events), "clipped": clipped / max(1, events)}

    def parameters(self) -> spectral.Parameters:
        """Start, transitions and emissions (len(vocab_), d): of EM, or nearly probabilities, of estimated operators."""
        start, _, outputs, _, maps = self.operators_
        hidden = self.form == HIDDEN
        found = (
            spectral.Parameters(start, maps[0].T, outputs) if hidden else spectral.recover(self.operators_, self.seed)
        )
        return found._replace(emission=found.emission[self.symbols_] * np.exp(self.within_)[:, None])
