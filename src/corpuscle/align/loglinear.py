"""LogLinear: word alignment with any features (Dyer, Clark, Lavie and Smith 2011), learned without gold links.

See ``kernels.loglinear`` for the model, ``corpuscle.align.features`` for the features and
``engine.optim.online`` for how their weights are learned: most stay at zero. Each direction has its own weights.

To align, every word may stand for every word of the other sentence, whatever the neighbourhood was while learning.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import InitVar, dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.align.base import Aligner, Posteriors
from corpuscle.align.features import FAMILIES, LEAST_LOG, SMALLEST_M1, Facts, Side, by_role
from corpuscle.align.features_user import Function, UserFeatures
from corpuscle.align.kernels import loglinear_links, translation
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.loglinear import (
    CELLS,
    CLASS_UNKNOWN,
    FIRST_CLASS,
    LONGEST,
    OUTPUTS,
    SCORES,
    STATES,
    workspace,
)
from corpuscle.align.loglinear_data import Ready, bigrams_of, make_ready, rising, turned, words_of_pairs
from corpuscle.align.loglinear_file import Stored
from corpuscle.align.loglinear_learning import PARTIAL, Plan, climb
from corpuscle.align.models import KEEP, signature_of, usable
from corpuscle.align.neighbourhood import NEIGHBOURHOODS, Neighbourhood
from corpuscle.compiled import frozen
from corpuscle.engine.optim.online import reader_of
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.model import Container, save
from corpuscle.progress import bar
from corpuscle.scale import chunks_of
from corpuscle.scale import workers as some_workers
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.words import ExchangeClasses

__all__ = ["NULL_JUMPS", "ROMANISERS", "LogLinear"]

NULL_JUMPS = ("skip", "remember")
ROMANISERS = ("none", "plain")
_CELLS_A_PIECE = 100_000


def _plain(word: str) -> str:
    """Lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


class Prepared(NamedTuple):
    """Some sentence pairs, both directions ready; ``turn``: for each cell, source by source, its place in the other."""

    source_starts: np.ndarray
    target_starts: np.ndarray
    cell_starts: np.ndarray
    ready: tuple[Ready, Ready]
    turn: np.ndarray


@dataclass(eq=False)
class LogLinear(Stored):
    """A globally normalised log-linear model of word alignment.

    - ``iterations``: passes over the text; ``batch``: sentence pairs to a step;
    - ``rate``: of the first step, ``decay``: what is left of it after each pass; ``beta``: weight of the L1 penalty;
    - ``adaptive``: every feature has a rate of its own, or all have the same: the rules ``ADAPTIVE`` and ``CUMULATIVE``
      of ``engine.optim.online``;
    - ``agreement``: each direction learns from links that the other believes in too, see ``loglinear_agreement``;
    - ``neighbourhood``: which words a word may stand for while learning, one of ``NEIGHBOURHOODS``;
    - ``families``: the features, some of ``FAMILIES``; ``classes``: how many word classes of each side they use;
    - ``null_jump``: after a null word, jumps are not seen (``skip``), or start where they would without it
      (``remember``);
    - ``romanise``: how words are written before spellings are compared: as they are (``none``), or ``plain``, in lower
      case without accents;
    - ``seed``: of the order of the sentence pairs;
    - ``max_length``: pairs with a longer side are not learned from;
    - ``features``: features of your own, a function of two words or what ``read_features`` gives; ``romaniser``: a
      function that takes the place of ``romanise``. Functions cannot be saved: ``set_functions`` after loading.
    """

    method: ClassVar[str] = "loglinear"

    iterations: int = 5
    batch: int = 8
    rate: float = 0.3
    decay: float = 0.85
    beta: float = 0.4
    adaptive: bool = True
    agreement: bool = True
    neighbourhood: str = "eb-model1"
    families: tuple[str, ...] = FAMILIES
    classes: int = 50
    null_jump: str = "skip"
    romanise: str = "none"
    seed: int = 1
    max_length: int = 100
    workers: int | None = None
    features: InitVar[Function | UserFeatures | None] = None
    romaniser: InitVar[Callable[[str], str] | None] = None

    def __post_init__(self, features: Function | UserFeatures | None, romaniser: Callable[[str], str] | None) -> None:
        for name, kind, low, high in (
            ("iterations", int, 1, 10_000),
            ("batch", int, 1, 100_000),
            ("rate", float, 1e-9, 1e3),
            ("decay", float, 1e-3, 1.0),
            ("beta", float, 0.0, 1e9),
            ("classes", int, 1, 500),
            ("seed", int, 0, 2**63 - 1),
            ("max_length", int, 1, 1_000),
        ):
            value = getattr(self, name)
            right = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
            if not right or not low <= value <= high:
                raise SettingError(f"{name} is between {low} and {high}, not {value!r}")
        for name, known in (("neighbourhood", NEIGHBOURHOODS), ("null_jump", NULL_JUMPS), ("romanise", ROMANISERS)):
            if getattr(self, name) not in known:
                raise SettingError(f"{name} is one of {', '.join(known)}, not {getattr(self, name)!r}")
        if isinstance(self.families, str) or not all(family in FAMILIES for family in self.families):
            raise SettingError(f"families are some of {', '.join(FAMILIES)}, not {self.families!r}")
        self.families = tuple(family for family in FAMILIES if family in self.families)
        for name in "adaptive", "agreement":
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name} is true or false, not {getattr(self, name)!r}")
        if self.workers is not None and self.workers < 1:
            raise SettingError(f"workers must be at least 1, not {self.workers}")
        self.user_ = features if isinstance(features, UserFeatures) else UserFeatures(function=features)
        self.romaniser_ = romaniser
        self.missing_: list[str] = []

    def set_functions(self, features: Function | None = None, romaniser: Callable[[str], str] | None = None) -> None:
        """Give a loaded model the functions that it was learned with: they cannot be saved."""
        if features is not None:
            self.user_.function = features
            self.missing_ = [name for name in self.missing_ if "function" not in name]
        if romaniser is not None:
            self.romaniser_ = romaniser
            self.missing_ = [name for name in self.missing_ if "romaniser" not in name]

    # Features.

    def _facts(self, direction: int) -> Facts:
        width = len(self.target_vocab_)
        rows = np.repeat(np.arange(len(self.source_vocab_)), np.diff(self.couples_.row_starts))
        return Facts(
            rows * np.int64(width) + self.couples_.columns,
            self.m1_[direction],
            self.m1_[1 - direction],
            self.null_m1_[direction],
            self.dice_,
            direction == 1,
            width,
        )

    def _sides(self, bitext: Bitext) -> tuple[Side, Side]:
        romanise = self.romaniser_ or (_plain if self.romanise == "plain" else None)
        sides = []
        for corpus, vocab, classes in zip(
            (bitext.source, bitext.target), (self.source_vocab_, self.target_vocab_), self.classes_, strict=True
        ):
            known = vocab.mapping_from(corpus.vocab)
            sides.append(Side(corpus.vocab, known, classes[known], romanise))
        return sides[0], sides[1]

    def _ready(
        self,
        bitext: Bitext,
        sides: tuple[Side, Side],
        direction: int,
        rows: np.ndarray,
        columns: np.ndarray,
        facts: Facts,
    ) -> Ready:
        states, outputs = by_role((bitext.source, bitext.target), direction)
        layout, bigrams, sides = self.layout(direction), self.bigrams_[direction], by_role(sides, direction)
        return make_ready(states, outputs, sides, rows, columns, layout, facts, bigrams, self.user_)

    # Learning.

    def checkpoint(self, bitext: Bitext, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, PARTIAL, self._dependence(), signature_of(bitext), resume=resume)

    def _dependence(self) -> dict[str, Any]:
        """The settings, and what they do not say about features of the user's own."""
        return self.settings() | {
            "user_features": self.user_.signature,
            "function": self.user_.function is not None,
            "romaniser": self.romaniser_ is not None,
        }

    def fit(
        self,
        bitext: Bitext,
        *,
        preprocessing: Preprocessing | None = None,
        checkpoint: Checkpoint | None = None,
        base: Aligner | None = None,
    ) -> Self:
        """Learn from sentence pairs.

        ``preprocessing`` says what was done to the text, for the model's record; ``checkpoint`` keeps unfinished work.
        """
        if base is not None:
            raise SettingError("a log-linear model does not go on from another one: learn from all the text")
        if not self.families and not self.user_.names and self.user_.function is None:
            raise SettingError("there are no features: name at least one family")
        signature = signature_of(bitext) if checkpoint is None else checkpoint.signature
        chosen = usable(bitext, self.max_length)
        learned = bitext if chosen.all() else bitext.select(chosen)
        with ExitStack() as stack:
            if checkpoint is None:
                checkpoint = stack.enter_context(Checkpoint(None, PARTIAL, self._dependence(), signature))
            pool = stack.enter_context(some_workers(self.workers))
            progress = stack.enter_context(bar(self.method, self.iterations * len(learned)))
            hood = Neighbourhood.learn(learned, self.neighbourhood, pool)
            ready = self.prepare(learned, hood)
            shapes = [self.layout(d).shape(self.null_jump == "remember") for d in (0, 1)]
            start = [self.layout(d).start_weights() for d in (0, 1)]
            plan = Plan(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Plan)})
            weights, self.history_ = climb(ready, shapes, start, plan, checkpoint, pool, progress)
        self.weights_ = weights[0], weights[1]
        self.preprocessing_ = preprocessing or Preprocessing()
        self.provenance_ = {
            "sentence_pairs": len(bitext),
            "learned_from": len(learned),
            "source_tokens": learned.source.n_tokens,
            "target_tokens": learned.target.n_tokens,
            "couples": [hood.size(0), hood.size(1)],
            "signature": signature,
        }
        self._count(learned)
        self._prune()
        return self

    def prepare(self, bitext: Bitext, hood: Neighbourhood) -> list[Ready]:
        """Both directions of the training text, with all features of the couples of a neighbourhood."""
        self._study(bitext, hood)
        allowed = [self._allowed(hood, d) for d in (0, 1)]
        if self.user_.function is not None:  # its names must be known before features are numbered
            for d in (0, 1):
                states, outputs = by_role((bitext.source, bitext.target), d)
                self.user_.of(states.vocab, outputs.vocab, *allowed[d], d == 1, True)
        sides = self._sides(bitext)
        return [self._ready(bitext, sides, d, *allowed[d], self._facts(d)) for d in (0, 1)]

    def _study(self, bitext: Bitext, hood: Neighbourhood) -> None:
        """Keep what the features will ask for: Model 1, meetings, classes."""
        self.source_vocab_, self.target_vocab_ = bitext.source.vocab, bitext.target.vocab
        kept = np.flatnonzero(hood.worth_keeping)
        self.couples_, order = rising(hood.rows[kept], hood.couples.columns[kept], len(self.source_vocab_))
        kept = kept[order]
        self.m1_ = np.stack([table.couples[kept] for table in hood.tables])
        self.null_m1_ = hood.tables[0].null, hood.tables[1].null
        self.dice_ = hood.dice[kept]
        self.classes_ = self._learn_classes(bitext.source), self._learn_classes(bitext.target)
        empty = Couples(frozen(np.zeros(1), np.int64), frozen(np.zeros(0), np.int32))
        sides = bitext.source, bitext.target
        self.bigrams_ = tuple(bigrams_of(each) if "bigram" in self.families else empty for each in sides)  # type: ignore

    def _learn_classes(self, corpus: Corpus) -> np.ndarray:
        """The class of every type, int32; that of unknown words is the one of most rare words."""
        if not {"classpair", "diag", "source", "jump", "bigram"} & set(self.families):
            return np.full(len(corpus.vocab), CLASS_UNKNOWN, np.int32)
        types = int((np.bincount(corpus.tokens) > 0).sum())
        learned = ExchangeClasses(classes=min(self.classes, types), workers=self.workers).fit(corpus)
        found = learned.classes_[learned.vocab_.mapping_from(corpus.vocab)]
        return np.where(found < 0, CLASS_UNKNOWN, FIRST_CLASS + found).astype(np.int32)

    def _allowed(self, hood: Neighbourhood, direction: int) -> tuple[np.ndarray, np.ndarray]:
        """The couples that a direction learns from: types of states, the null word's beyond them, and outputs."""
        rows, columns = hood.rows[hood.allowed[direction]], hood.couples.columns[hood.allowed[direction]]
        null = np.flatnonzero(hood.from_null[direction])
        states, outputs = (columns, rows) if direction else (rows, columns)
        n_states = len(self.target_vocab_ if direction else self.source_vocab_)
        return (
            np.append(states, np.full(len(null), n_states)).astype(np.int32),
            np.append(outputs, null).astype(np.int32),
        )

    def _count(self, bitext: Bitext) -> None:
        """How often each couple is linked in the training text, by direction, for dictionaries."""
        counts = np.zeros((2, len(self.couples_.columns) + 1))
        self.counts_ = counts[:, :-1].astype(np.float32)

        def posteriors(pairs: Prepared) -> list[np.ndarray]:
            return [self.posteriors(pairs, 0, len(pairs.source_starts) - 1, d, None).links for d in (0, 1)]

        pieces = (super(LogLinear, self)._located(piece) for piece in self._slices(bitext))
        for piece, both in zip(pieces, self._map(bitext, posteriors), strict=True):
            for d in (0, 1):
                translation.add_counts(piece.cells, both[d], counts[d])
        self.counts_ = counts[:, :-1].astype(np.float32)

    def _prune(self) -> None:
        """Drop couples and bigrams about which no feature says anything."""
        old = [self.layout(d) for d in (0, 1)]
        likely = LEAST_LOG if "m1log" in self.families else SMALLEST_M1
        kept = (self.m1_.max(axis=0) >= likely) | (self.dice_ > 0) | (self.counts_.max(axis=0) >= KEEP)
        kept_bigrams = []
        for d in (0, 1):
            begin, size = old[d].blocks.get("pair", (0, 0))
            if size:
                kept |= self.weights_[d][begin : begin + size] != 0
            begin, size = old[d].blocks.get("bigram", (0, 0))
            kept_bigrams.append(self.weights_[d][begin : begin + size] != 0)
        self.couples_ = _subset(self.couples_, kept)
        self.counts_, self.m1_, self.dice_ = self.counts_[:, kept], self.m1_[:, kept], self.dice_[kept]
        self.bigrams_ = tuple(_subset(each, k) for each, k in zip(self.bigrams_, kept_bigrams, strict=True))  # type: ignore
        new = []
        for d in (0, 1):
            weights = self.weights_[d]
            parts = []
            for block, (begin, size) in old[d].blocks.items():
                part = weights[begin : begin + size]
                parts.append(part[kept] if block == "pair" else part[kept_bigrams[d]] if block == "bigram" else part)
            new.append(np.concatenate(parts))
        self.weights_ = new[0], new[1]

    # Aligning.

    def _slices(self, bitext: Bitext) -> Iterator[Bitext]:
        bounds = chunks_of(bitext.source.lengths * bitext.target.lengths + 1, _CELLS_A_PIECE).tolist()
        for first, last in pairwise(bounds):
            yield bitext[first:last]

    def _map(self, bitext: Bitext, function: Any) -> Iterator[Any]:
        """``function(prepared)`` of every chunk of a bitext, in order."""
        if self.missing_:
            raise SettingError(f"this model was learned with {' and '.join(self.missing_)}: set it before aligning")
        long = int((np.maximum(bitext.source.lengths, bitext.target.lengths) > LONGEST).sum())
        if long:
            warn(f"{long:,} sentence pairs have a side of more than {LONGEST:,} words and get no links")
        sides, facts = self._sides(bitext), (self._facts(0), self._facts(1))
        for side in sides:  # so that threads do not make them at the same time
            _ = side.spelling, side.letters, side.prefixes

        def prepared(piece: Bitext) -> Prepared:
            ready = []
            for d in (0, 1):
                states, outputs = by_role((piece.source, piece.target), d)
                ready.append(self._ready(piece, sides, d, *words_of_pairs(states, outputs), facts[d]))
            starts = ready[0].text.starts
            places = starts[STATES], starts[OUTPUTS], starts[CELLS]
            return Prepared(*places, (ready[0], ready[1]), turned(starts))

        with some_workers(self.workers) as pool:
            pieces = list(self._slices(bitext))
            yield from pool.scatter(pieces).map(lambda piece: function(prepared(piece)))

    @property
    def tables_(self) -> Any:
        """What ``posteriors`` and ``best`` get besides sentence pairs: nothing."""
        return None, None

    def _kernel_arguments(self, pairs: Prepared, direction: int) -> Any:
        ready = pairs.ready[direction]
        shape = self.layout(direction).shape(self.null_jump == "remember")
        work = workspace(*ready, shape)
        weights = np.asarray(self.weights_[direction]).view(np.ndarray)
        loglinear_links.couple_scores(ready.hood, frozen(weights, np.float64), work.couples[SCORES])
        return (*ready, shape, reader_of(np.array(weights)), work)

    def posteriors(self, pairs: Any, first: int, last: int, direction: int, tables: Any) -> Posteriors:
        """Link probabilities of sentence pairs first..last-1."""
        outputs = pairs.source_starts if direction else pairs.target_starts
        links = np.zeros(int(pairs.cell_starts[last] - pairs.cell_starts[first]), np.float32)
        nulls = np.zeros(int(outputs[last] - outputs[first]), np.float32)
        text, hood, shape, reader, work = self._kernel_arguments(pairs, direction)
        total = loglinear_links.link_posteriors(text, hood, shape, reader, work, first, last, links, nulls)
        if direction == 1:
            begin, end = pairs.cell_starts[first], pairs.cell_starts[last]
            links = links[pairs.turn[begin:end] - begin]
        return Posteriors(np.minimum(links, np.float32(1)), nulls, total)

    def best(self, pairs: Any, first: int, last: int, direction: int, tables: Any) -> np.ndarray:
        """The best path through all outputs, int32, -1 for the null word."""
        return self.k_best(pairs, first, last, direction, 1, normalise=False)[0][0]

    def k_best(
        self, pairs: Any, first: int, last: int, direction: int, k: int, normalise: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` best alignments of sentence pairs: int32 (k, outputs), from 0, -1 for the null word, and their
        log-probabilities, float64 (k, n_pairs), or, not normalised, scores; -inf where there are fewer."""
        outputs = pairs.source_starts if direction else pairs.target_starts
        paths = np.empty((k, int(outputs[last] - outputs[first])), np.int32)
        scores = np.empty((k, last - first))
        text, hood, shape, reader, work = self._kernel_arguments(pairs, direction)
        loglinear_links.n_best(text, hood, shape, reader, work, first, last, k, normalise, paths, scores)
        return paths, scores

    def log_likelihood(self, bitext: Bitext) -> np.ndarray:
        """Not defined for new text: this model is normalised over the neighbourhoods of its training text."""
        raise SettingError(
            "a log-linear model gives no probabilities of new text; its history has those of the training"
        )

    def learned_features(self, direction: int) -> list[tuple[str, float]]:
        """The features of one direction that have a weight, and their weights, the strongest first."""
        weights = self.weights_[direction]
        numbers = np.flatnonzero(weights)
        numbers = numbers[np.argsort(-np.abs(weights[numbers]), kind="stable")]
        return list(zip(self.names(direction, numbers), weights[numbers].tolist(), strict=True))

    # Files.

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""
        return super().settings() | {"families": list(self.families)}

    def save(self, path: str | PathLike[str]) -> None:
        """Write a model file."""
        extra = {"function": self.user_.function is not None, "romaniser": self.romaniser_ is not None}
        settings = self.settings_
        if self.families == FAMILIES:
            settings["families"] = list(self.families), "default"
        save(
            path,
            self.KIND,
            self.arrays(),
            settings=settings,
            preprocessing=self.preprocessing_.settings,
            provenance=self.provenance_,
            extra=extra,
        )

    @classmethod
    def from_container(cls, container: Container) -> LogLinear:
        """The model of a file."""
        settings = dict(container.settings)
        settings.pop("method", None)
        settings.setdefault("agreement", False)  # there was none when files did not say so
        if settings.keys() != {field.name for field in dataclasses.fields(cls)} - {"workers"}:
            raise SettingError(f"{container.path}: its settings are not those of the method {cls.method}")
        settings["families"] = tuple(settings["families"])
        model = cls(**settings)
        model.restore(container)
        return model


def _subset(couples: Couples, kept: np.ndarray) -> Couples:
    """Some couples of a table."""
    sums = np.concatenate([[0], np.cumsum(kept)])
    return Couples(frozen(sums[couples.row_starts], np.int64), frozen(couples.columns[kept], np.int32))
