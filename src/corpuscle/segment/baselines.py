"""What a nested model is measured against: Dirichlet processes over words (Goldwater, Griffiths and Johnson 2009), and
two rules that need no learning.

``DirichletSegmenter`` draws words from a Dirichlet process (``order=1``), or from a hierarchical one given the word
before (``order=2``). A new word costs by its length alone: after each letter it ends with probability ``end``, and all
letters are equally probable. Boundaries are sampled one at a time, with annealing; see ``kernels.boundaries``.
All else is as in ``NestedSegmenter``, whose letters nobody has seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.errors import SettingError
from corpuscle.random import Random
from corpuscle.segment.chain import HISTORY, Chain, Material
from corpuscle.segment.files import check_model, model_arrays
from corpuscle.segment.kernels import boundaries
from corpuscle.segment.kernels.model import BOUNDARY_BASE, LETTER_BASE, grown_nested
from corpuscle.segment.letters import FORCED, Letters, first_letters, letters_of, segmented_bytes, word_corpus
from corpuscle.segment.npylm import NestedSegmenter
from corpuscle.text.corpus import Corpus
from corpuscle.text.preprocessing import Preprocessing

__all__ = ["DirichletSegmenter", "TrivialSegmenter"]

_DEFAULTS: dict[int, tuple[tuple[float, ...], float]] = {1: ((20.0,), 0.5), 2: ((3000.0, 100.0), 0.2)}
"""Strengths of the root and of contexts, and the probability that a new word ends, by order."""

_LEVELS = 10
_COOLED = 0.75
"""Annealing: the weights of the two hypotheses are taken to the powers 0.1, 0.2 .. 1, the last from this share of the
sweeps on."""

_STEP = 1 << 15


class BoundaryChain(Chain):
    """One Markov chain; ``settings`` as of ``Chain``, and strengths, end, anneal, iterations."""

    SPELLED: ClassVar[bool] = False

    def __init__(self, material: Material, settings: Mapping[str, Any], seed: int):
        super().__init__(material, settings, seed)
        pool = self.nested.words
        pool.discounts[:], pool.strengths[:] = 0.0, settings["strengths"]
        n = len(material.text)
        self.n_steps = max(1, -(-n // _STEP))
        self.seated[:] = 1
        self.names = np.zeros(n + 1, np.int32)
        # Where the words of a sentence are given, all of its gaps are.
        given = material.in_given()
        self._gaps = np.where(given & (material.gaps == 0), 1, material.gaps).astype(np.uint8)
        self._begin(np.where(given, material.cuts, material.gaps == 1))
        stream = Random(seed, "segment.start").array()
        boundaries.scatter(self._begins, self._gaps, settings["max_word"], float(settings["end"]), stream)
        self.cuts = self._cuts()
        self._choice = boundaries.new_choice()

    @classmethod
    def columns(cls, order: int, max_context: int) -> list[str]:
        """The names of what is noted after a sweep."""
        return list(HISTORY)

    def _set_lengths(self, sweep: int, step: int) -> None:
        """The base measure is fixed: that of the letters, which are equally probable, times a factor."""
        lengths = np.arange(self.nested.factors.shape[1])
        letter, boundary = (float(self.nested.bases[i]) for i in (LETTER_BASE, BOUNDARY_BASE))
        end = self.settings["end"]
        law = (1.0 - boundary) * end * (1.0 - end) ** np.maximum(0, lengths - 1)
        self.nested.factors[:] = np.where(lengths > 0, law / letter, 0.0)
        self._bases = np.where(lengths > 0, np.maximum(law * letter**lengths, 1e-300), boundary)

    def _begin(self, cuts: np.ndarray) -> None:
        self._begins = np.append(cuts, 0).astype(np.uint8)
        self._begins[self.material.starts] = boundaries.SENTENCE

    def _cuts(self) -> np.ndarray:
        return (self._begins[:-1] != boundaries.INSIDE).astype(np.uint8)

    def _heat(self, sweep: int) -> float:
        if not self.settings["anneal"]:
            return 1.0
        return min(_LEVELS, 1 + int(_LEVELS * (sweep - 1) / (_COOLED * self.settings["iterations"]))) / _LEVELS

    def step(self, sweep: int, number: int) -> None:
        """One piece of a sweep."""
        stream = Random(self.seed, "segment.boundaries", sweep, number).array()
        at, last = number * _STEP, min((number + 1) * _STEP, len(self.material.text))
        while at < last:
            if sweep == 0:
                at = boundaries.come(self.nested, self._begins, self.names, self._bases, at, last, stream)
            else:
                at = boundaries.sweep(
                    self.nested, self._gaps, self._begins, self.names, self._bases, self.settings["max_word"], at,
                    last, self._heat(sweep), self._choice, stream,
                )  # fmt: skip
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
        """Stand where the kept state stands; ``ValueError`` if it cannot be one of this text."""
        super().restore(arrays, sweep, number)
        self._begin(self.cuts)
        boundaries.name(self.nested, self._begins, self.names)


class DirichletSegmenter(NestedSegmenter):
    """A segmenter whose words come from a Dirichlet process, given the word before (``order=2``) or not (``order=1``).

    - ``strengths``: of the root and, with order 2, of the contexts; ``end``: the probability that a new word ends
      after a letter (defaults: 20 and 0.5; 3000, 100 and 0.2);
    - ``anneal``: begin with flattened choices, and let them become sharper during three quarters of the sweeps;
    - all other settings, and what is learned, as in ``NestedSegmenter``, but for those that need letters or lattices
      (``types``, ``max_context``, ``paths``, ``mh``, ``length_norm``, ``start``).
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "segment.dirichlet", 1, lambda extra: model_arrays(extra),
        check=lambda loaded: check_model(loaded, DirichletSegmenter),
    )  # fmt: skip
    CHAIN: ClassVar[type[Chain]] = BoundaryChain
    ORDERS: ClassVar[tuple[int, ...]] = (1, 2)
    NAMES: ClassVar[tuple[str, ...]] = (
        "order", "max_word", "iterations", "spaces", "units", "joiner", "chains", "samples", "strengths", "end",
        "anneal", "boundary", "seed",
    )  # fmt: skip

    def __init__(
        self,
        order: int = 2,
        *,
        strengths: tuple[float, ...] | list[float] | None = None,
        end: float | None = None,
        anneal: bool = True,
        **settings: Any,
    ):
        super().__init__(
            order, types=False, max_context=0, paths=1, mh=False, length_norm="none", start="growing", **settings
        )
        usual = _DEFAULTS[order]
        self.strengths = list(usual[0] if strengths is None else strengths)
        self.end, self.anneal = usual[1] if end is None else end, anneal
        if len(self.strengths) != order or not all(0.0 < strength < np.inf for strength in self.strengths):
            raise SettingError(f"strengths are {order} positive numbers, not {strengths!r}")
        if not 0.0 < self.end < 1.0:
            raise SettingError(f"end is a probability between 0 and 1, not {end!r}")
        if type(anneal) is not bool:
            raise SettingError("anneal is true or false")

    @property
    def method(self) -> str:
        """The name of the method."""
        return "unigram" if self.order == 1 else "bigram"


class TrivialSegmenter:
    """Rules that need no learning: every letter is a word (``letters``), or every line (``lines``)."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "segment.trivial", 1, lambda extra: {}, check=lambda loaded: _check_rule(loaded)
    )

    def __init__(self, method: str = "letters", *, units: str = "characters"):
        for name, value, allowed in (
            ("method", method, ("letters", "lines")),
            ("units", units, ("characters", "graphemes")),
        ):
            if value not in allowed:
                raise SettingError(f"{name} is one of {', '.join(allowed)}; not {value!r}")
        self.method, self.units = method, units
        self.preprocessing, self.workers = Preprocessing(), 1
        self.origins: dict[str, str] = {}
        self.provenance: dict[str, Any] = {}

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
        """The words of a text, see ``NestedSegmenter.segment``."""
        return word_corpus(*self._cuts(corpus, spaces), self.units)

    def segment_lines(self, corpora: Iterator[Corpus], *, spaces: str | None = None) -> Iterator[bytes]:
        """The same for a stream of texts, as bytes of segmented lines."""
        for corpus in corpora:
            yield segmented_bytes(*self._cuts(corpus, spaces), self.units)

    def overlap(self, corpus: Corpus) -> float:
        """Nothing was learned from any line."""
        return 0.0

    def save(self, path: str | PathLike[str]) -> None:
        """Write the rule to a file."""
        settings = {name: (getattr(self, name), self.origins.get(name, "default")) for name in ("method", "units")}
        container.save_part(path, container.Part(self.KIND, {}, settings=settings))

    @classmethod
    def from_container(cls, loaded: container.Container) -> TrivialSegmenter:
        """The rule of a file."""
        self = cls(loaded.settings["method"], units=loaded.settings["units"])
        self.origins = loaded.origins
        return self


def _check_rule(loaded: container.Container) -> None:
    TrivialSegmenter.from_container(loaded)
