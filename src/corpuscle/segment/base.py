"""What all learned segmenters have in common.

Chains of samples learn a lexicon and a language model over any words whatever, from text without word boundaries, from
segmented text or from both; each learner says which chain it runs. The words of any text are then found by the Viterbi
algorithm, boundary probabilities by drawing segmentations, perplexity by summing over all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from corpuscle import learning, scale
from corpuscle import model as container
from corpuscle.errors import InputError, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.measure.likelihood import letter_perplexity
from corpuscle.measure.result import Result
from corpuscle.model import Model
from corpuscle.random import Random
from corpuscle.segment.chain import STOP_PRIOR, Chain, Material, chain_arrays, letter_base, sample_arrays
from corpuscle.segment.kernels import apply as applied
from corpuscle.segment.kernels.apply import Chunk, chunks
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
from corpuscle.segment.material import Given, letter_masks, prepare
from corpuscle.segment.settings import SegmentSettings
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.overlap import item_hashes, overlap
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.scripts import TYPES, WORD_TYPES
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["PARTIAL", "LexiconEntry", "Segmenter"]


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
    "segment",
    lambda extra: _of_chains(extra, "", chain_arrays),
    sample=lambda extra, number: _of_chains(extra, f"sample/{number}/", sample_arrays),
)
"""An unfinished run."""


def _best(chunk: Chunk, model: Segmenter, longest: int) -> tuple[np.ndarray, np.ndarray]:
    return applied.best_cuts(chunk, model._models[0], longest)


def _totals(chunk: Chunk, model: Segmenter, longest: int) -> np.ndarray:
    return applied.log_totals(chunk, model._models[0], longest)


def _drawn(chunk: Chunk, model: Segmenter, longest: int, draws: int, seed: int) -> np.ndarray:
    """How often a word begins at each letter, over all samples."""
    several = [
        applied.drawn_boundaries(chunk, nested, longest, draws, seed, number)
        for number, nested in enumerate(model._models)
    ]
    return np.sum(several, axis=0)


class Segmenter(SegmentSettings, Model):
    """A segmenter that has learned words.

    Learned: ``vocab_`` (letters), ``samples_`` (a list of dicts of arrays, the one that segments first), ``history_``
    float64 (chains, sweeps + 1, columns), see ``history_columns``, ``inner_marks_`` (punctuation that is a letter
    like others, by the words that are given); ``max_word_`` and ``types_``: as set, or else by the script of the text.
    """

    method: str = learned()
    order: int = learned()
    max_context: int = learned()
    types: bool | None = learned()
    max_word_: int = learned()
    types_: bool = learned()
    vocab_: Vocab = learned()
    history_: np.ndarray = learned()
    samples_: list[dict[str, np.ndarray]] = learned()
    inner_marks_: list[str] = learned()

    @abstractmethod
    def _chain(self, material: Material, seed: int) -> Chain:
        """A new chain over the sentences of a text."""

    @abstractmethod
    def history_columns(self) -> list[str]:
        """The names of the columns of ``history_``."""

    def checkpoint(
        self, text: Corpus | None, gold: Corpus | None, path: str | PathLike[str], resume: bool = False
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from these texts."""
        signature = "+".join("none" if corpus is None else corpus.signature() for corpus in (text, gold))
        return Checkpoint(path, PARTIAL, self.settings, signature, resume=resume)

    def fit(
        self, text: Corpus | None = None, gold: Corpus | None = None, *, checkpoint: Checkpoint | None = None
    ) -> Self:
        """Learn from a text and from segmented lines, both corpora of what stands between white space; either may be
        missing. ``checkpoint`` keeps unfinished work."""
        given = prepare(text, gold, self)
        self.vocab_, self.max_word_, self.types_ = given.letters.vocab, given.max_word, given.types
        self.inner_marks_ = given.inner_marks
        self.items_ = item_hashes(given.letters.as_corpus())
        self.provenance_ = {"sentences": len(given.letters), "letters": len(given.letters.tokens)}
        self.provenance_["given_sentences"] = 0 if gold is None else len(gold)
        self._run(given, checkpoint or Checkpoint())
        return self

    def _chains(self, material: Material) -> list[Chain]:
        seeds = [self.seed, *(int(Random(self.seed, "segment.chain", 0, c).key >> 1) for c in range(1, self.chains))]
        return [self._chain(material, seed) for seed in seeds]

    def _run(self, given: Given, checkpoint: Checkpoint) -> None:
        """All sweeps of all chains, from where the checkpoint stands."""
        self.stays_here("a Gibbs chain is sequential by nature; chains run side by side")
        with scale.workers(min(self.threads, self.chains)) as pool:
            chains, columns = learning.Chains(self._chains(given.material), pool), len(self.history_columns())
            history, kept = checkpoint.run(
                chains,
                self.sweeps + 1,
                columns=self.chains * columns,
                samples=learning.Samples(learning.spread(self.sweeps, self.samples), chains.sample),
                facts={"chains": self.chains, "types": len(self.vocab_) - FIRST},
                note="log P {0:.5g}, {3:,.0f} words",
            )
        self.history_ = history.reshape(-1, self.chains, columns).transpose(1, 0, 2).copy()
        ranking = np.argsort(-self.history_[:, -1, 0], kind="stable").tolist()
        self.samples_ = [container.stripped(f"chain/{chain}/", several) for several in kept[::-1] for chain in ranking]
        self.__dict__.pop("_models", None)

    @cached_property
    def _models(self) -> list[Nested]:
        """Every sample, ready to predict."""
        masks = letter_masks(self.vocab_, self.types_)
        base = letter_base(masks)
        return [thaw(sample, masks, WORD_TYPES, base, self.end_probability, STOP_PRIOR) for sample in self.samples_]

    def _known(
        self, corpus: Corpus, spaces: str | None, longest: int | None = None
    ) -> tuple[Letters, np.ndarray, np.ndarray, np.ndarray]:
        """A text as its letters, their ids, the starts of its pieces, and the gaps; ``longest``: of its words."""
        # White space is where it was in the training text: where it is written, and where words were split.
        corpus = Preprocessing(nfc=False, tokenise=self.tokenise).apply(corpus)
        letters = letters_of(corpus, self.units, self.joiner)
        gaps = known_gaps(letters, spaces or ("forced" if self.spaces == "gold" else self.spaces))
        if self.types_:
            gaps = around_punctuation(letters, gaps, self.inner_marks_)
        check_stretches(letters, gaps, longest or self.max_word_)
        # The letters stay as they were written; the model sees them as it would have read them.
        spelled = map(self.preprocessing.spell, letters.vocab.strings[FIRST:])
        ids = np.concatenate([np.arange(FIRST), self.vocab_.encode(spelled)]).astype(np.int32)
        return letters, ids[letters.tokens], pieces(letters, gaps != FORBIDDEN), gaps

    def _prepare(self) -> None:
        assert self._models

    def _cuts(self, corpora: Iterable[Corpus], spaces: str | None) -> Iterator[tuple[Letters, np.ndarray]]:
        """A stream of texts as their letters, and where words begin, uint8 (letters,)."""
        if spaces not in (None, "forced", "remove"):
            raise SettingError(f"spaces is forced or remove, not {spaces!r}")

        def groups() -> Iterator[tuple[Letters, list[Chunk]]]:
            lines = 0
            for corpus in corpora:
                try:
                    letters, text, starts, gaps = self._known(corpus, spaces)
                except InputError as error:
                    raise InputError(error.path, error.line and lines + error.line, error.reason) from None
                lines += len(corpus)
                yield letters, chunks(text, starts, gaps)

        best = partial(_best, longest=self.max_word_)
        for letters, found in self.spread_groups(best, groups()):
            yield letters, np.concatenate([cuts for cuts, _ in found])

    def segment(self, corpus: Corpus, *, spaces: str | None = None) -> Corpus:
        """The most probable words of a text (a corpus of what stands between white space), as a corpus of words.

        ``spaces``: ``forced`` or ``remove``, by default as in training.
        """
        [(letters, cuts)] = self._cuts([corpus], spaces)
        return word_corpus(letters, cuts, self.units)

    def segment_lines(self, corpora: Iterator[Corpus], *, spaces: str | None = None) -> Iterator[bytes]:
        """The most probable words of a stream of texts, as bytes of segmented lines."""
        for letters, cuts in self._cuts(corpora, spaces):
            yield segmented_bytes(letters, cuts, self.units)

    def posterior(
        self, corpus: Corpus, *, draws: int = 100, seed: int = 1, spaces: str | None = None
    ) -> tuple[Letters, np.ndarray]:
        """The probability that a word begins at each letter, float64 (letters,), over all samples, from so many
        segmentations drawn from each."""
        letters, text, starts, gaps = self._known(corpus, spaces)
        draw = partial(_drawn, longest=self.max_word_, draws=draws, seed=seed)
        counts = np.concatenate(list(self.spread(draw, chunks(text, starts, gaps, draws))))
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
        longest = self.max_word_ if spaces != "gold" else nested.factors.shape[1] - 1
        letters, text, starts, gaps = self._known(corpus, spaces, longest)
        if len(text) == 0:
            raise InputError(None, None, "the text is empty")
        sentences = chunks(text, starts, gaps)
        if best:
            found = list(self.spread(partial(_best, longest=longest), sentences))
            cuts, logs = (np.concatenate(part) for part in zip(*found, strict=True))
            words = int(cuts.sum())
            figures = {
                "words": words,
                "word_perplexity": float(np.exp(-logs.sum() / (words + int((np.diff(starts) > 0).sum())))),
                "word_length": len(text) / words,
            }
        else:
            logs = np.concatenate(list(self.spread(partial(_totals, longest=longest), sentences)))
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
                TYPES[types[i - 1]] if self.types_ else "any", float(surprisals[i - 1]),
            )
            for i in numbers.tolist()
        ]  # fmt: skip

    def overlap(self, corpus: Corpus) -> float:
        """The share of the lines of a text that were in the training text, with or without their boundaries."""
        corpus = self.preprocessing.apply(corpus)
        return overlap(self.items_, letters_of(corpus, self.units, self.joiner).as_corpus())

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**self.vocab_.arrays(), **container.numbered("sample", self.samples_), "history": self.history_}

    def _extra(self) -> dict[str, Any]:
        return {
            "samples": len(self.samples_),
            "chains": self.chains,
            "max_word": self.max_word_,
            "word_types": self.types_,
            "inner_marks": self.inner_marks_,
        }

    def _restore(self, loaded: container.Container) -> None:
        extra = loaded.extra
        self.vocab_, self.history_ = Vocab.from_arrays(loaded.arrays), loaded.arrays["history"]
        self.max_word_, self.types_, self.inner_marks_ = extra["max_word"], extra["word_types"], extra["inner_marks"]
        self.samples_ = container.separated("sample", loaded.arrays, extra["samples"])
