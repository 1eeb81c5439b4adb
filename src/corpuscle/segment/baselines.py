"""What a nested model is measured against: Dirichlet processes over words, and two rules that need no learning.

Goldwater, Griffiths and Johnson, "A Bayesian framework for word segmentation: exploring the effects of context", 2009.

``DirichletSegmenter`` draws words from a Dirichlet process (``unigram``), or from a hierarchical one given the word
before (``bigram``). The base probability of a word follows from its length: it ends after each letter with probability
``word_end`` (possible lengths share what longer words would have); letters, with one for the unknown, are equally
probable. Boundaries are sampled one at a time, with annealing, see ``kernels.boundaries``. The outcome is a nested
model without customers in its restaurants of letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.model import Container, Kind, Model
from corpuscle.random import Random
from corpuscle.segment.base import Segmenter
from corpuscle.segment.chain import HISTORY, Chain, check_model, model_arrays
from corpuscle.segment.kernels import boundaries
from corpuscle.segment.kernels.model import BOUNDARY_BASE, LETTER_BASE, grown_nested
from corpuscle.segment.letters import FORCED, Letters, Material, first_letters, letters_of, segmented_bytes, word_corpus
from corpuscle.segment.settings import DirichletSettings, TrivialSettings
from corpuscle.text.corpus import Corpus

_DEFAULTS: dict[str, tuple[tuple[float, ...], float]] = {"unigram": ((20.0,), 0.5), "bigram": ((3000.0, 100.0), 0.2)}
"""Strengths of the root and of contexts, and the probability that a new word ends, by method."""

_LEVELS = 10
_COOLED = 0.75
"""Annealing: the weights of the two hypotheses are taken to the powers 0.1, 0.2 .. 1, the last from this share of the
sweeps on."""

_STEP = 1 << 15


class BoundaryChain(Chain):
    """One Markov chain; ``settings`` as of ``Chain``, and strengths, word_end, anneal, sweeps."""

    SPELLED: ClassVar[bool] = False

    def __init__(self, material: Material, settings: Mapping[str, Any], seed: int):
        super().__init__(material, settings, seed)
        pool = self.nested.words
        pool.discounts[:], pool.strengths[:] = 0.0, settings["strengths"]
        n = len(material.text)
        self.n_steps = max(1, -(-n // _STEP))
        self.seated[:] = 1
        # Where the words of a sentence are given, all of its gaps are.
        given = material.in_given()
        gaps = np.where(given & (material.gaps == 0), 1, material.gaps).astype(np.uint8)
        self._text = boundaries.Boundaries(
            gaps, np.zeros(n + 1, np.uint8), np.zeros(n + 1, np.int32), self._bases, settings["max_word"]
        )
        self._begin(np.where(given, material.cuts, material.gaps == FORCED))
        boundaries.scatter(self._text, settings["word_end"], Random(seed, "segment.start").array())
        self.cuts = self._cuts()
        self._choice = boundaries.new_choice()

    def _set_lengths(self, sweep: int, step: int) -> None:
        """The base measure is fixed: that of the letters, which are equally probable, times a factor."""
        lengths = np.arange(self.nested.factors.shape[1])
        letter, boundary = (float(self.nested.bases[i]) for i in (LETTER_BASE, BOUNDARY_BASE))
        law = np.where(lengths > 0, (1.0 - self.settings["word_end"]) ** (lengths - 1.0), 0.0)
        law *= (1.0 - boundary) / law.sum()
        # The letters of the nested model share with the end of a word, which is no letter here.
        spelled = letter ** (lengths + 1.0)
        bases = law * (letter / (1.0 - letter)) ** lengths
        self.nested.factors[:] = bases / spelled
        self._bases = np.where(lengths > 0, np.maximum(bases, 1e-300), boundary)

    def _begin(self, cuts: np.ndarray) -> None:
        self._text.begins[:-1] = cuts
        self._text.begins[self.material.starts] = boundaries.SENTENCE

    def _cuts(self) -> np.ndarray:
        return (self._text.begins[:-1] != boundaries.INSIDE).astype(np.uint8)

    def step(self, sweep: int, number: int) -> None:
        stream = Random(self.seed, "segment.boundaries", sweep, number).array()
        at, last, level = number * _STEP, min((number + 1) * _STEP, len(self.material.text)), _LEVELS
        if self.settings["anneal"]:
            level = min(_LEVELS, 1 + int(_LEVELS * (sweep - 1) / (_COOLED * self.settings["sweeps"])))
        while at < last:
            if sweep == 0:
                at = boundaries.come(self.nested, self._text, at, last, stream)
            else:
                at = boundaries.sweep(self.nested, self._text, at, last, level / _LEVELS, self._choice, stream)
            if at < last:
                self.nested = grown_nested(self.nested, boundaries.ROOM)
        self.cuts = self._cuts()

    def finish(self, sweep: int) -> list[float]:
        """What is noted; there is nothing else to draw, and no perplexity."""
        words = int(self.cuts.sum())
        joint = boundaries.log_joint(self.nested, self._bases)
        distinct = len(self.nested.rows[: self.nested.counters[0, 0]]) - 1 - int(self.nested.counters[0, 2])
        return [joint, float("nan"), words, distinct, len(self.cuts) / max(1, words)]

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        super().restore(arrays, sweep, number)
        self._begin(self.cuts)
        boundaries.name(self.nested, self._text)


class DirichletSegmenter(DirichletSettings, Segmenter):
    """A segmenter whose words come from a Dirichlet process, of order 1 or 2; ``strengths_`` and ``word_end_``: as set,
    or else those of the method."""

    KIND: ClassVar[Kind] = Kind(
        "segment.dirichlet",
        1,
        model_arrays,
        check=lambda loaded: check_model(DirichletSegmenter.from_container(loaded)),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        strengths, word_end = _DEFAULTS[self.method]
        self.strengths_ = strengths if self.strengths is None else self.strengths
        self.word_end_ = word_end if self.word_end is None else self.word_end
        self.order, self.max_context, self.types = len(strengths), 0, False

    def _chain(self, material: Material, seed: int) -> Chain:
        learned = {"max_word": self.max_word_, "strengths": self.strengths_, "word_end": self.word_end_}
        fixed = {"order": self.order, "max_context": self.max_context, "start": "growing", "mh": False}
        return BoundaryChain(material, {**self.settings, **learned, **fixed}, seed)

    def history_columns(self) -> list[str]:
        return list(HISTORY)


class TrivialSegmenter(TrivialSettings, Model):
    """Rules that need no learning: every letter is a word (``letters``), or every line (``lines``)."""

    LEARNS: ClassVar[bool] = False
    KIND: ClassVar[Kind] = Kind("segment.trivial", 1, {}, check=lambda loaded: _check_rule(loaded))

    def _cuts(self, corpus: Corpus, spaces: str | None) -> tuple[Letters, np.ndarray]:
        if spaces not in (None, "forced", "remove"):
            raise SettingError(f"spaces is forced or remove, not {spaces!r}")
        letters = letters_of(corpus, self.units, None)
        if self.method == "letters":
            return letters, np.ones(len(letters.tokens), np.uint8)
        cuts = (letters.gaps == FORCED).astype(np.uint8) if spaces != "remove" else np.zeros_like(letters.gaps)
        cuts[first_letters(letters.starts)] = 1
        return letters, cuts

    def segment(self, corpus: Corpus, *, spaces: str | None = None) -> Corpus:
        """The words of a text, see ``Segmenter.segment``."""
        return word_corpus(*self._cuts(corpus, spaces), self.units)

    def segment_lines(self, corpora: Iterator[Corpus], *, spaces: str | None = None) -> Iterator[bytes]:
        """The words of a stream of texts, as bytes of segmented lines."""
        for corpus in corpora:
            yield segmented_bytes(*self._cuts(corpus, spaces), self.units)

    def overlap(self, corpus: Corpus) -> float:
        """Nothing was learned from any line."""
        return 0.0


def _check_rule(loaded: Container) -> None:
    TrivialSegmenter.from_container(loaded)
