"""Word segmentation without a dictionary, by a nested Pitman-Yor language model (Mochihashi, Yamada and Ueda 2009).

A word n-gram model whose unknown words are spelled by a letter n-gram model, both nonparametric, is learned from text
without word boundaries by sampling the words of one sentence after the other, each given all others. What is learned:
a lexicon, a language model over any words whatever, and the words of any text, by the Viterbi algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle import learning, scale
from corpuscle import model as container
from corpuscle.errors import InputError, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.measure.likelihood import letter_perplexity
from corpuscle.measure.result import Result
from corpuscle.random import Random
from corpuscle.segment.chain import STOP_PRIOR, Chain, Material, chain_arrays, letter_base, sample_arrays
from corpuscle.segment.files import check_model, model_arrays
from corpuscle.segment.kernels import apply as applied
from corpuscle.segment.kernels.lengths import root_tables, word_types
from corpuscle.segment.kernels.model import Nested
from corpuscle.segment.kernels.state import base_logs, thaw
from corpuscle.segment.letters import (
    FORBIDDEN,
    Letters,
    around_punctuation,
    check_stretches,
    known_gaps,
    letters_of,
    pieces,
    segmented_bytes,
    word_corpus,
)
from corpuscle.segment.material import Given, prepare
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes, overlap
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.scripts import TYPES, WORD_TYPES
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["LexiconEntry", "NestedSegmenter"]

_CHOICES = {
    "spaces": ("forced", "remove", "gold"),
    "units": ("characters", "graphemes", "words"),
    "length_norm": ("type", "paper", "none"),
    "start": ("branching", "growing"),
}
_NUMBERS = {
    "max_word": (1, 100),
    "iterations": (1, 10**6),
    "chains": (1, 100),
    "samples": (1, 1000),
    "max_context": (0, 50),
    "paths": (1, 10**6),
}
_NAMES = ("order", "max_word", "iterations", "spaces", "units", "joiner", "chains", "samples", "mh", "length_norm",
          "types", "max_context", "boundary", "paths", "start", "seed")  # fmt: skip


class LexiconEntry(NamedTuple):
    """A word of the lexicon: how often it occurs in the training text, in how many tables of the root it sits, its type
    by script, and the negative log probability of its spelling in the base measure."""

    word: str
    occurrences: int
    tables: int
    type: str
    surprisal: float


def _of_chains(extra: Mapping[str, Any], prefix: str, arrays: Callable[[str], Any]) -> dict[str, container.Array]:
    chains = extra["chains"]
    if type(chains) is not int or not 1 <= chains <= 100:
        raise ValueError("it does not say how many chains it has")
    return {name: a for chain in range(chains) for name, a in arrays(f"{prefix}chain/{chain}/").items()}


PARTIAL = learning.partial(
    "segment.npylm",
    lambda extra: _of_chains(extra, "", chain_arrays),
    sample=lambda extra, number: _of_chains(extra, f"sample/{number}/", sample_arrays),
)
"""An unfinished run."""


class NestedSegmenter:
    """A segmenter that learns from unsegmented text, from segmented text, or from both.

    - ``order``: 2 (bigram) or 3; ``max_word``: letters of the longest word it proposes (default: 4 for Chinese, 8 for
      Japanese, else 10); ``iterations``: sweeps over the text; ``seed``;
    - ``spaces``: white space in the text is a ``forced`` boundary, or ``remove`` it, or ``gold``: all words are given;
    - ``joiner``: a character that marks places without boundary; ``units``: what is never cut, ``characters``,
      ``graphemes`` or ``words`` (then phrases are found);
    - ``chains``: independent runs, the most probable of which segments; ``samples``: kept of each, for ``posterior``;
    - ``mh``: correct every sentence for its own repetitions by a Metropolis-Hastings step;
    - ``types``: a length law for each type of word by script, and boundaries around punctuation (default: where most
      letters are Han, kana, Hangul, Thai);
      ``length_norm``: how the lengths that letters imply are corrected, ``type``, ``paper`` or ``none``;
    - ``max_context``: letters that a letter looks back at most; ``boundary``: base probability of a sentence end;
      ``paths``: random spellings by which lengths are estimated in each sweep; ``workers``: threads;
    - ``start``: where no words are given, the first ones are found by ``branching`` entropy, or (``growing``, as in the
      paper) each sentence is cut with what those before it taught.

    Learned: ``vocab_`` (letters), ``samples_`` (a list of dicts of arrays, the one that segments first), ``history_``
    float64 (chains, iterations + 1, columns), see ``history_columns``, ``inner_marks_`` (punctuation that is a letter
    like others, by the words that are given); ``max_word`` and ``types`` are set.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "segment.npylm", 1, lambda extra: model_arrays(extra), check=lambda loaded: check_model(loaded, NestedSegmenter)
    )

    CHAIN: ClassVar[type[Chain]] = Chain
    ORDERS: ClassVar[tuple[int, ...]] = (2, 3)
    NAMES: ClassVar[tuple[str, ...]] = _NAMES

    def __init__(
        self,
        order: int = 2,
        *,
        max_word: int | None = None,
        iterations: int = 200,
        spaces: str = "forced",
        units: str = "characters",
        joiner: str | None = None,
        chains: int = 1,
        samples: int = 1,
        mh: bool = False,
        types: bool | None = None,
        length_norm: str = "type",
        max_context: int = 10,
        boundary: float = 0.05,
        paths: int = 200,
        start: str = "branching",
        preprocessing: Preprocessing | None = None,
        workers: int | None = None,
        seed: int = 1,
    ):
        values = dict(locals())
        for name, allowed in {"order": self.ORDERS, **_CHOICES}.items():
            if values[name] not in allowed:
                raise SettingError(f"{name} is one of {', '.join(map(str, allowed))}; not {values[name]!r}")
        for name, (least, most) in _NUMBERS.items():
            value = values[name]
            if not (value is None and name == "max_word") and not (type(value) is int and least <= value <= most):
                raise SettingError(f"{name} is a number from {least} to {most}, not {value!r}")
        if samples > iterations:
            raise SettingError(f"{iterations} iterations have no {samples} samples")
        if type(mh) is not bool or types not in (None, True, False):
            raise SettingError("mh and types are true or false")
        if not (isinstance(boundary, float) and 0.0 < boundary < 1.0):
            raise SettingError(f"boundary is a probability between 0 and 1, not {boundary!r}")
        if joiner is not None and not (isinstance(joiner, str) and len(joiner) == 1 and not joiner.isspace()):
            raise SettingError(f"joiner is one character, not {joiner!r}")
        if joiner is not None and units == "words":
            raise SettingError("joiner means nothing where words are units")
        self.order, self.max_word, self.iterations, self.spaces, self.units = order, max_word, iterations, spaces, units
        self.joiner, self.chains, self.samples, self.mh, self.types = joiner, chains, samples, mh, types
        self.length_norm, self.max_context, self.boundary, self.paths = length_norm, max_context, boundary, paths
        self.start = start
        self.preprocessing = preprocessing or Preprocessing()
        self.workers, self.seed = workers or scale.default_workers(), seed
        self.origins: dict[str, str] = {}
        self.provenance: dict[str, Any] = {}
        self.samples_: list[dict[str, np.ndarray]] = []
        self.inner_marks_: list[str] = []
        self.items_ = np.empty(0, np.uint64)

    @property
    def method(self) -> str:
        """The name of the method."""
        return "npylm"

    def history_columns(self) -> list[str]:
        """The names of the columns of ``history_``."""
        return self.CHAIN.columns(self.order, self.max_context)

    # ---- learning

    def checkpoint(
        self, text: Corpus | None, gold: Corpus | None, path: str | PathLike[str], resume: bool = False
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from these texts."""
        settings = {name: value for name, (value, _) in self.settings().items()} | self.preprocessing.settings
        signature = "+".join("none" if corpus is None else corpus.signature() for corpus in (text, gold))
        return Checkpoint(path, PARTIAL, settings, signature, resume=resume)

    def fit(
        self, text: Corpus | None = None, gold: Corpus | None = None, *, checkpoint: Checkpoint | None = None
    ) -> NestedSegmenter:
        """Learn from a text and from segmented lines, both corpora of what stands between white space; either may be
        missing. ``checkpoint`` keeps unfinished work."""
        given = prepare(text, gold, self)
        self.vocab_, self.max_word, self.types = given.letters.vocab, given.max_word, given.types
        self.inner_marks_ = given.inner_marks
        self.items_ = item_hashes(given.letters.as_corpus())
        self.provenance = {"sentences": len(given.letters), "letters": len(given.letters.tokens)}
        self.provenance["given_sentences"] = 0 if gold is None else len(gold)
        self._run(given, checkpoint or Checkpoint())
        return self

    def _chains(self, material: Material) -> list[Chain]:
        settings = {name: getattr(self, name) for name in dict.fromkeys((*_NAMES, *self.NAMES))}
        seeds = [self.seed, *(int(Random(self.seed, "segment.chain", 0, c).key >> 1) for c in range(1, self.chains))]
        return [self.CHAIN(material, settings, seed) for seed in seeds]

    def _run(self, given: Given, checkpoint: Checkpoint) -> None:
        """All sweeps of all chains, from where the checkpoint stands."""
        with scale.workers(min(self.workers, self.chains)) as pool:
            chains, columns = learning.Chains(self._chains(given.material), pool), len(self.history_columns())
            history, kept = checkpoint.run(
                chains,
                self.iterations + 1,
                columns=self.chains * columns,
                samples=learning.Samples(learning.spread(self.iterations, self.samples), chains.sample),
                facts={"chains": self.chains, "types": len(self.vocab_) - FIRST},
                note="log P {0:.5g}, {3:,.0f} words",
            )
        self.history_ = history.reshape(-1, self.chains, columns).transpose(1, 0, 2).copy()
        ranking = np.argsort(-self.history_[:, -1, 0], kind="stable").tolist()
        self.samples_ = [container.stripped(f"chain/{chain}/", several) for several in kept[::-1] for chain in ranking]
        self.__dict__.pop("_models", None)

    # ---- applying

    @cached_property
    def _models(self) -> list[Nested]:
        """Every sample, ready to predict."""
        masks = self._masks()
        return [
            thaw(sample, masks, WORD_TYPES, letter_base(masks), self.boundary, STOP_PRIOR) for sample in self.samples_
        ]

    def _masks(self) -> np.ndarray:
        from corpuscle.segment.material import letter_masks

        return letter_masks(self.vocab_, bool(self.types))

    def _known(
        self, corpus: Corpus, spaces: str | None, longest: int | None = None
    ) -> tuple[Letters, np.ndarray, np.ndarray, np.ndarray]:
        """A text as its letters, their ids, the starts of its pieces, and the gaps; ``longest``: of its words."""
        assert self.max_word is not None
        letters = letters_of(corpus, self.units, self.joiner)
        gaps = known_gaps(letters, spaces or ("forced" if self.spaces == "gold" else self.spaces))
        if self.types:
            gaps = around_punctuation(letters, gaps, self.inner_marks_)
        check_stretches(letters, gaps, longest or self.max_word)
        # The letters stay as they were written; the model sees them as it would have read them.
        spelled = map(self.preprocessing.spell, letters.vocab.strings[FIRST:])
        ids = np.concatenate([np.arange(FIRST), self.vocab_.encode(spelled)]).astype(np.int32)
        return letters, ids[letters.tokens], pieces(letters, gaps != FORBIDDEN), gaps

    def _cuts(self, corpus: Corpus, spaces: str | None) -> tuple[Letters, np.ndarray]:
        if spaces not in (None, "forced", "remove"):
            raise SettingError(f"spaces is forced or remove, not {spaces!r}")
        assert self.max_word is not None
        letters, text, starts, gaps = self._known(corpus, spaces)
        return letters, applied.best_cuts(self._models[0], text, starts, gaps, self.max_word, self.workers)[0]

    def segment(self, corpus: Corpus, *, spaces: str | None = None) -> Corpus:
        """The most probable words of a text (a corpus of what stands between white space), as a corpus of words.

        ``spaces``: ``forced`` or ``remove``, by default as in training.
        """
        return word_corpus(*self._cuts(corpus, spaces), self.units)

    def segment_lines(self, corpora: Iterator[Corpus], *, spaces: str | None = None) -> Iterator[bytes]:
        """The same for a stream of texts, as bytes of segmented lines."""
        lines = 0
        for corpus in corpora:
            try:
                yield segmented_bytes(*self._cuts(corpus, spaces), self.units)
            except InputError as error:
                raise InputError(error.path, error.line and lines + error.line, error.reason) from None
            lines += len(corpus)

    def posterior(
        self, corpus: Corpus, *, draws: int = 100, seed: int = 1, spaces: str | None = None
    ) -> tuple[Letters, np.ndarray]:
        """The probability that a word begins at each letter, float64 (letters,), over all samples, from so many
        segmentations drawn from each."""
        assert self.max_word is not None
        letters, text, starts, gaps = self._known(corpus, spaces)
        counts = np.zeros(len(text), np.int64)
        for number, nested in enumerate(self._models):
            counts += applied.drawn_boundaries(
                nested, text, starts, gaps, self.max_word, draws, seed, number, self.workers
            )
        return letters, counts / (draws * len(self._models))

    def perplexity(
        self, corpus: Corpus, *, best: bool = False, spaces: str | None = "remove", draws: int = 1000, seed: int = 1
    ) -> Result:
        """Perplexity per letter: of all segmentations together, or (``best``) of the best one.

        ``spaces``: ``remove``, ``forced``, or ``gold``: only the segmentation that they make counts. Sentence ends are
        predicted, but do not count as letters. Figures: ``perplexity`` with ``low`` and ``high``, ``letters``,
        ``unknown`` (letters that the training text does not have), ``sentences``, ``bits_per_letter``; with ``best``
        also ``words``, ``word_perplexity`` and ``word_length``.
        """
        if spaces not in (None, "forced", "remove", "gold"):
            raise SettingError(f"spaces is remove, forced or gold, not {spaces!r}")
        nested, figures = self._models[0], {}
        longest = self.max_word if spaces != "gold" else nested.factors.shape[1] - 1
        assert longest is not None
        letters, text, starts, gaps = self._known(corpus, spaces, longest)
        if len(text) == 0:
            raise InputError(None, None, "the text is empty")
        if best:
            cuts, logs = applied.best_cuts(nested, text, starts, gaps, longest, self.workers)
            words = int(cuts.sum())
            figures = {
                "words": words,
                "word_perplexity": float(np.exp(-logs.sum() / (words + int((np.diff(starts) > 0).sum())))),
                "word_length": len(text) / words,
            }
        else:
            logs = applied.log_totals(nested, text, starts, gaps, longest, self.workers)
        figures = {"unknown": int((text == UNKNOWN).sum()), "sentences": len(letters), **figures}
        return letter_perplexity(logs, np.diff(starts), figures, draws=draws, seed=seed)

    def lexicon(self) -> list[LexiconEntry]:
        """The words of the training text, most frequent first."""
        sample, nested = self.samples_[0], self._models[0]
        numbers = np.arange(1, len(sample["occurrences"]))
        tables = np.zeros(len(sample["occurrences"]), np.int64)
        words, of_root = root_tables(nested)
        tables[words] = of_root
        types, surprisals = word_types(nested, numbers), -base_logs(nested, numbers)
        strings, starts = self.vocab_.strings, sample["lexicon_starts"].tolist()
        glue = "_" if self.units == "words" else ""
        spelled = [strings[letter] for letter in sample["lexicon"].tolist()]
        return [
            LexiconEntry(
                glue.join(spelled[starts[i - 1] : starts[i]]), int(sample["occurrences"][i]), int(tables[i]),
                TYPES[types[i - 1]] if self.types else "any", float(surprisals[i - 1]),
            )
            for i in numbers.tolist()
        ]  # fmt: skip

    def overlap(self, corpus: Corpus) -> float:
        """The share of the lines of a text that were in the training text, with or without their boundaries."""
        corpus = self.preprocessing.apply(corpus)
        return overlap(self.items_, letters_of(corpus, self.units, self.joiner).as_corpus())

    # ---- keeping

    def settings(self) -> dict[str, tuple[Any, str]]:
        """Every setting with its origin."""
        values = {"method": self.method} | {name: getattr(self, name) for name in self.NAMES}
        return {name: (value, self.origins.get(name, "default")) for name, value in values.items()}

    def part(self) -> container.Part:
        """The model as it goes into a file."""
        arrays = container.numbered("sample", self.samples_)
        return container.Part(
            self.KIND,
            {**self.vocab_.arrays(), "items/training": self.items_, **arrays, "history": self.history_},
            settings=self.settings(),
            preprocessing=self.preprocessing.settings,
            provenance=self.provenance,
            extra={"samples": len(self.samples_), "chains": self.chains, "inner_marks": self.inner_marks_},
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file."""
        container.save_part(path, self.part())

    @classmethod
    def from_container(cls, loaded: container.Container) -> NestedSegmenter:
        """The model of a file that has been read and validated."""
        self = cls(
            **{name: loaded.settings[name] for name in cls.NAMES},
            preprocessing=Preprocessing(**loaded.preprocessing),
        )
        self.origins, self.provenance = loaded.origins, dict(loaded.provenance)
        self.vocab_, self.history_ = Vocab.from_arrays(loaded.arrays), loaded.arrays["history"]
        self.items_ = loaded.arrays.get("items/training", np.empty(0, np.uint64))
        self.inner_marks_ = loaded.extra.get("inner_marks", [])
        self.samples_ = container.separated("sample", loaded.arrays, loaded.extra["samples"])
        return self

