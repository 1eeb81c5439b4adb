"""Hierarchical Pitman-Yor language models: Kneser-Ney smoothing as the mean of a distribution instead of a formula.

Every context has a distribution over the next word, drawn around that of the context without its oldest word. Gibbs
sampling seats the words of the text in the restaurants of ``engine.restaurants.hierarchy`` and draws discounts and
strengths along with them, so there is nothing to tune; predictions are averaged over several samples of the chain.

With ``order="infinite"`` every word chooses for itself how much of its context to look at (Mochihashi and Sumita 2007);
with a number the model is that of Teh (2006), and one sample of it is a back-off model that ARPA files can hold.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.trie import BackoffTables, Ngrams
from corpuscle.engine.restaurants import contexts, gibbs
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.lm import sampling
from corpuscle.lm.base import Events, LanguageModel
from corpuscle.lm.ngram import ROWS, NgramModel, check_rows
from corpuscle.lm.settings import INFINITE, HpySettings
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, START, UNKNOWN, Vocab

_MOST_SAMPLES = 1000


def _arrays(extra: Any) -> dict[str, container.Array]:
    infinite, samples = extra["infinite"], extra["samples"]
    if type(infinite) is not bool or type(samples) is not int or not 1 <= samples <= _MOST_SAMPLES:
        raise ValueError("it does not say whether its order is infinite, or how many samples it has")
    arrays = {**container.VOCAB, **container.ITEMS, "history": container.Array("float64", ("history",))}
    if not infinite:
        arrays |= {**ROWS, "counts": container.Array("int32", ("rows",), low=0)}
    for number in range(samples):
        arrays |= sampling.sample_arrays(infinite, number)
    return arrays


class HpyModel(HpySettings, LanguageModel):
    """A hierarchical Pitman-Yor language model.

    ``workers`` are for reading text; sampling uses one. Where ``predicts_ends`` is set to False, before it learns and
    again after it was loaded, sentences begin somewhere, but nobody predicts where they end.

    Learned: ``vocab_``, ``samples_`` (a list of dicts of arrays), ``ngrams_`` (fixed order), ``history_`` float64
    (sweeps + 1,): the log probability of text and seating after each sweep.
    """

    PARTIAL = learning.partial(
        "lm.hpy",
        sampling.state_arrays,
        sample=lambda extra, number: sampling.sample_arrays(bool(extra["infinite"]), number),
    )
    samples_: list[dict[str, np.ndarray]] = learned()

    KIND: ClassVar[container.Kind] = container.Kind("lm.hpy", 1, _arrays, check=lambda loaded: _check(loaded))
    SAVED: ClassVar = {
        "vocab_": container.Record(Vocab),
        "history_": container.Arrays("history"),
        "samples_": container.Samples(),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order_ = self.max_order if isinstance(self.order, str) else self.order
        self.ngrams_: Ngrams | None = None
        self.predicts_ends = True

    @property
    def infinite(self) -> bool:
        """Whether every word chooses its own order."""
        return self.order == INFINITE

    def fit(self, corpus: Corpus, *, checkpoint: Checkpoint | None = None) -> HpyModel:
        """Learn from a text; ``checkpoint`` keeps unfinished work."""
        corpus = self._take(corpus)
        self.stays_here("a Gibbs chain is sequential by nature")
        self._run(self._sampler(corpus), checkpoint or Checkpoint())
        for name in ("_ngram_models", "_predictors"):
            self.__dict__.pop(name, None)
        return self

    @property
    def _predictable(self) -> np.ndarray:
        predictable = super()._predictable
        predictable[END] &= self.predicts_ends
        return predictable

    def _sampler(self, corpus: Corpus) -> sampling.Sampler:
        base = 1.0 / int(self._predictable.sum())
        if self.infinite:
            return sampling.VariableSampler(self._symbols(corpus), self.order_ - 1, base, self.seed)
        ngrams = self._counting(corpus)()
        if not self.predicts_ends:
            ngrams = ngrams._replace(counts=frozen(np.where(ngrams.words == END, 0, ngrams.counts), np.int32))
        self.ngrams_ = ngrams
        return sampling.FixedSampler(self.ngrams_, base, self.seed)

    def _run(self, sampler: sampling.Sampler, checkpoint: Checkpoint) -> None:
        """All sweeps, from where the checkpoint stands."""
        after = learning.spread(self.sweeps, self.samples)
        history, self.samples_ = checkpoint.run(
            sampler,
            self.sweeps + 1,
            samples=learning.Samples(after, sampler.sample, lambda sample: _check_sample(self, sample)),
            facts={"infinite": self.infinite, "types": len(self.vocab_) - 3},
        )
        self.history_ = history[:, 0]

    def sample_tables(self) -> list[BackoffTables]:
        """Every sample of a model of fixed order as a back-off model, exactly."""
        samples, ngrams = self.samples_, self.ngrams_
        assert ngrams is not None
        direct = gibbs.direct_counts(ngrams, START)
        return [
            gibbs.backoff_tables(
                ngrams, gibbs.customers_of(ngrams, direct, sample["tables"]), sample["tables"],
                sample["discounts"], sample["strengths"], self._predictable,
            )
            for sample in samples
        ]  # fmt: skip

    @cached_property
    def _ngram_models(self) -> list[NgramModel]:
        """The models of ``sample_tables``."""
        return [NgramModel.imitating(self, tables) for tables in self.sample_tables()]

    @cached_property
    def _predictors(self) -> list[contexts.Predictor]:
        """Every sample of a model of infinite order, ready to predict."""
        prior = sampling.STOP_PRIOR
        return [
            contexts.predictor(sampling.contexts_of(sample), sample["discounts"], sample["strengths"], prior)
            for sample in self.samples_
        ]

    def summary(self) -> dict[str, Any]:
        laws = {name: np.round(self.samples_[-1][name], 6).tolist() for name in ("discounts", "strengths")}
        run = {"order": self.order, "sweeps": self.sweeps, "samples": self.samples}
        return run | laws | {"log_likelihood": float(self.history_[-1])}

    def check_arpa(self) -> None:
        """Complain before anything is learned if the model will have no ARPA form."""
        if self.infinite or self.samples != 1 or self.boundary == "none":
            raise SettingError("an ARPA file holds one sample of a model of fixed order with boundaries: --samples 1")

    def as_ngram(self) -> NgramModel:
        """The model as a back-off model, where that is exact: of fixed order, with one sample."""
        if self.infinite or len(self.samples_) != 1:
            raise SettingError(
                "only a model of fixed order with one sample is a back-off model; train it with samples 1"
            )
        return self._ngram_models[0].as_ngram()

    def _events(self, corpus: Corpus) -> Events:
        if not self.infinite:
            several = [model._events(corpus) for model in self._ngram_models]
            logs = np.array([events.log_probability for events in several])
            with np.errstate(divide="ignore"):
                return several[0]._replace(log_probability=np.log(np.exp(logs).mean(0)))
        symbols = self._symbols(corpus)
        available = gibbs.available_context(symbols, START, self.order_ - 1)
        total, base = np.zeros(len(symbols)), 1.0 / int(self._predictable.sum())
        for predictor in self._predictors:
            contexts.score(predictor, symbols, available, START, base, total, self.threads)
        predicted = symbols != START
        with np.errstate(divide="ignore"):
            log_probability = np.log(total[predicted] / len(self._predictors))
        starts = corpus.sentence_starts
        if self.boundary != "none":
            starts = starts + np.arange(len(corpus) + 1)
        return Events(log_probability, symbols[predicted] == UNKNOWN, starts)

    def _distribution(self, context: list[str]) -> np.ndarray:
        if not self.infinite:
            return np.mean([model.distribution(context) for model in self._ngram_models], axis=0)
        ids = self.vocab_.encode(context)
        if self._begins(context):
            ids[0] = START
        ids = ids[max(0, len(ids) - self.order_ + 1) :]
        base = self._predictable / self._predictable.sum()
        return np.mean([contexts.distribution(predictor, ids, base) for predictor in self._predictors], axis=0)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **({} if self.ngrams_ is None else self.ngrams_.arrays())}

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "infinite": self.infinite}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        if not self.infinite:
            self.ngrams_ = Ngrams.from_arrays(loaded.arrays)


def _check_sample(model: HpyModel, sample: dict[str, np.ndarray]) -> None:
    """Whether a sample from a file can be one of the model's; ``ValueError``."""
    if len(sample["discounts"]) != model.order_:
        raise ValueError("a sample has a discount and a strength for every order")
    if not model.infinite:
        assert model.ngrams_ is not None
        if len(sample["tables"]) != len(model.ngrams_.words):
            raise ValueError("a sample has other n-grams than the text")
        gibbs.customers_of(model.ngrams_, gibbs.direct_counts(model.ngrams_, START), sample["tables"])
        return
    tree = sampling.contexts_of(sample)
    contexts.check_contexts(tree)
    if contexts.depths(tree).max() >= model.order_:
        raise ValueError("a context is longer than the model looks back")


def _check(loaded: container.Container) -> None:
    """Validate what a file claims to be before any kernel sees it."""
    model = HpyModel.restored(loaded.described)
    if model.infinite != loaded.extra["infinite"] or model.samples != loaded.extra["samples"]:
        raise ValueError("its settings do not fit its samples")
    if not model.infinite:
        check_rows(loaded)
        if len(loaded.arrays["levels"]) - 1 != model.order_:
            raise ValueError("its n-grams do not fit its order")
    model._restore(loaded)
    for sample in model.samples_:
        _check_sample(model, sample)
