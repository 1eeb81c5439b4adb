"""PhraseTransliterator: names are rewritten phrase by phrase, under weights tuned on names that the tables did not see.

The score of a rewriting is a weighted sum of eight numbers: the four features of the phrase table, the log probability
of a letter n-gram model of the target, that of an n-gram model over small pieces of both sides together (the joint
model), that of the same pieces among the source letters around them (the context model), and the number of phrases.
Phrases and weights are those of statistical machine translation (Koehn, Och and Marcu 2003; Och 2003) on letters; the
joint model is that of Bisani and Ney (2008), as one more feature.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align import PhraseTable
from corpuscle.align.phrases_file import table_from
from corpuscle.errors import CorpuscleWarning, SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.lm import NgramModel
from corpuscle.model import Container, Kind, Part, read
from corpuscle.random import Random
from corpuscle.scale import workers
from corpuscle.settings import learned
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.characters import SPACE
from corpuscle.text.corpus import Corpus
from corpuscle.text.origin import error_about
from corpuscle.text.pairs import Pair, checked_pairs
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.transliterate.base import Candidate, Transliterator, combined
from corpuscle.transliterate.decoding import Decoder, Found
from corpuscle.transliterate.files import KIND, PARTIAL, arrays_of, history_from
from corpuscle.transliterate.kernels.windows import Windows, learn, windows
from corpuscle.transliterate.links import align_letters, repair
from corpuscle.transliterate.preparation import Prepared, WordPair, merged, prepare
from corpuscle.transliterate.settings import ALIGNERS, PhraseSettings
from corpuscle.transliterate.table import Learned, learn_table
from corpuscle.transliterate.tuning import Round, Tuner

__all__ = ["FEATURES", "FEWEST", "PhraseTransliterator", "warm", "warm_defaults"]

FEATURES = ("phi(f|e)", "lex(f|e)", "phi(e|f)", "lex(e|f)", "language", "joint", "context", "phrases")
"""The eight numbers that weights belong to."""

FEWEST, FEW = 50, 500
"""With fewer pairs there is nothing to learn; with few the result is poor."""

EPOCHS = 4
"""How often the context model goes through the names: more often learns single names by heart."""

DERIVATIONS = 200
"""So many rewritings are added up by their output where ``sum`` is asked for."""


_NOTHING = np.zeros(0, np.int64)
_NO_CONTEXT = windows(np.zeros(1, np.int64), _NOTHING, _NOTHING, FIRST, 0, _NOTHING)


class PhraseTransliterator(PhraseSettings, Transliterator):
    """Learns to write names in another script, phrase by phrase.

    Learned: ``table_``, ``lm_``, ``joint_`` (None without), ``context_``, ``source_vocab_``, ``weights_`` (8,),
    ``history_``; and from ``fit`` on, but not in the file, the names and their links, ``bitext_`` and ``alignments_``.
    """

    KIND: ClassVar[Kind] = KIND

    table_: PhraseTable = learned()
    lm_: NgramModel = learned()
    joint_: NgramModel | None = learned()
    context_: Windows = learned()
    source_vocab_: Vocab = learned()
    weights_: np.ndarray = learned()
    history_: list[Round] = learned()
    bitext_: Bitext = learned()
    alignments_: Alignments = learned()

    def fit(
        self, pairs: Sequence[Pair], dev: Sequence[Pair] | None = None, checkpoint: Checkpoint | None = None
    ) -> Self:
        """Learn from names with their accepted targets.

        Weights are tuned on ``dev``, which is used for nothing else, or on a seeded tenth of the pairs; after that the
        tables are learned again from all pairs (``final_refit``).
        """
        pairs = checked_pairs(pairs)
        if len(pairs) < FEWEST:
            raise error_about(pairs, f"only {len(pairs)} pairs; at least {FEWEST} are needed")
        if len(pairs) < FEW:
            warn(f"only {len(pairs)} pairs: expect many errors; a few thousand make a good transliterator")
        if dev is not None:
            self.check_development(dev)
        training, tuning = self.divided(pairs, self.seed) if self.tune and dev is None else (pairs, list(dev or ()))
        self.__dict__.pop("decoder", None)
        self.weights_ = start_weights(self.joint_order > 0, self.context > 0)
        self.history_ = []
        checkpoint = checkpoint or Checkpoint()
        self._learn(training, checkpoint)
        if self.tune:
            self._tune(tuning, checkpoint)
            if dev is None and self.final_refit:
                self._learn(pairs, checkpoint)
        self._remember(pairs, tuning)
        self.provenance_ = {
            "pairs": len(pairs),
            "tuning_pairs": len(tuning),
            "entries": len(self.table_),
            "signature": self.signature(pairs, dev),
        }
        return self

    def check_development(self, dev: Sequence[Pair]) -> None:
        """An error if weights cannot be tuned on these pairs."""
        if not self.tune:
            raise SettingError("development pairs are for tuning: give none (--dev) where weights are not tuned")
        if not len(dev):
            raise error_about(dev, "the development pairs are empty, and there is nothing to tune on")
        prepared = prepare(dev, self.spelling, "all")
        if not _usable(prepared.words):
            raise error_about(dev, f"no development pair can be used: {_reasons(prepared)}")

    def checkpoint(
        self, pairs: Sequence[Pair], dev: Sequence[Pair] | None, path: str | PathLike[str], resume: bool = False
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, PARTIAL, self.settings, self.signature(pairs, dev), resume=resume)

    def _learn(self, pairs: Sequence[Pair], checkpoint: Checkpoint) -> None:
        """Links, phrase table and both n-gram models."""
        prepared = prepare(pairs, self.spelling, self.references)
        _tell(prepared, len(pairs))
        rows = [
            (word.source, target, weight)
            for word in prepared.words
            for target, weight in zip(word.targets, word.weights, strict=True)
        ]
        if not rows:
            raise error_about(pairs, f"no pair can be used: {_reasons(prepared)}")
        bitext = Bitext(
            Corpus.from_sentences([self.spelling.symbols(source) for source, _, _ in rows]),
            Corpus.from_sentences([self.spelling.symbols(target) for _, target, _ in rows]),
        )
        work = {"workers": self.workers, "cluster": self.cluster}
        alignments = align_letters(
            bitext, self.aligner, self.passes, self.symmetrise, self.rules, checkpoint, **work
        )
        self.alignments_, self.bitext_ = alignments, bitext
        names = learn_table(bitext, alignments, np.array([weight for *_, weight in rows]), self.max_phrase)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorpuscleWarning)  # few letters: their counts never give discounts
            self.lm_ = self._model(bitext.target, self.order)
            self.joint_ = self._model(names.pieces, self.joint_order) if self.joint_order else None
        self.context_ = self._learned_context(names, bitext.source) if self.context else _NO_CONTEXT
        self.table_ = names.table if self.joint_order or self.context else names.table.without_pieces()
        self.source_vocab_ = bitext.source.vocab

    def _model(self, corpus: Corpus, order: int) -> NgramModel:
        return NgramModel(order=order, min_count=1, allow_markup=True, workers=self.workers, seed=self.seed).fit(corpus)

    def _learned_context(self, names: Learned, source: Corpus) -> Windows:
        """The model of pieces among the source letters around them."""
        pieces = names.pieces
        counts = np.bincount(pieces.tokens, minlength=len(pieces.vocab))
        model = windows(names.piece_starts, names.piece_letters, counts, len(source.vocab), self.context)
        learn(model, source.tokens, source.sentence_starts, pieces.tokens, pieces.sentence_starts, EPOCHS, self.seed)
        return model

    def _tune(self, pairs: Sequence[Pair], checkpoint: Checkpoint) -> None:
        prepared = prepare(pairs, self.spelling, "all")
        words = merged(_usable(prepared.words))
        if not words:
            reason = _reasons(prepared) if pairs else "there is only one name"
            warn(f"the weights stay as they were before tuning, no pair can be held out for it: {reason}")
            return
        letters = [self.spelling.symbols(source) for source, _ in words]
        free = np.array([True] * 5 + [self.joint_order > 0, self.context > 0, self.phrase_penalty])
        references = [[self.spelling.symbols(target) for target in targets] for _, targets in words]

        def decode(weights: np.ndarray) -> Found:
            return self._decoder(weights).decode(letters, pool, self.tuning_nbest)

        with workers(self.workers, self.cluster) as pool:
            tuner = Tuner(references, self.lm_.vocab_, self.metric, free, self.restarts, self.seed, pool)
            self.history_ = tuner.run(self.weights_, decode, self.rounds, checkpoint)
        if self.history_:
            self.weights_ = self.history_[-1].weights

    def _decoder(self, weights: np.ndarray) -> Decoder:
        joint = self.joint_ if self.joint_ is not None else self.lm_
        return Decoder(self.table_, self.lm_, joint, self.context_, self.source_vocab_, weights, self)

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder under the learned weights."""
        return self._decoder(self.weights_)

    @property
    def known_letters(self) -> Vocab:
        """The letters of sources in the pairs that were learned from."""
        return self.source_vocab_

    def transliterate(
        self,
        names: Iterable[str],
        n_best: int = 1,
        sum: bool = False,
        beam: int | None = None,
        precision: str | None = None,
    ) -> list[list[Candidate]]:
        """The best ways to write each name, best first; an empty name has none.

        ``sum``: the score of a string adds up the probabilities of its rewritings, among the best 200 of each word.
        ``beam``: another one than the model was tuned with.
        """
        if n_best < 1:
            raise SettingError(f"n_best is at least 1, not {n_best}")
        if precision is not None:
            raise SettingError("precision is for neural models")
        if beam is not None:
            beam = self.SETTINGS["beam"].checked(beam)
        split = [self.spelling.normal(name).split() for name in names]
        words = list(dict.fromkeys(word for name in split for word in name))
        ranked = dict(zip(words, self._ranked(words, n_best, sum, beam), strict=True))
        return [combined([ranked[word] for word in name], n_best) for name in split]

    def _ranked(self, words: list[str], n_best: int, sum: bool, beam: int | None) -> list[list[Candidate]]:
        letters = [self.spelling.symbols(word) for word in words]
        with workers(self.workers, self.cluster) as pool:
            found = self.decoder.decode(letters, pool, DERIVATIONS if sum else n_best, not sum, beam)
        strings, scores, starts = found.strings(self.lm_.vocab_), found.scores.tolist(), found.starts.tolist()
        lists = []
        for first, last in pairwise(starts):
            ranked = [Candidate(strings[i].replace(SPACE, " "), scores[i]) for i in range(first, last)]
            lists.append(_summed(ranked)[:n_best] if sum else ranked)
        return lists

    def derivations(self, word: str, n_best: int = 5) -> list[tuple[Candidate, list[tuple[str, str]]]]:
        """The best ways to write one word, each with its phrases (source, target) from left to right."""
        normal = self.spelling.normal(word)
        if not normal or " " in normal:
            raise SettingError(f"one word is needed, not {word!r}")
        symbols = self.spelling.symbols(normal)
        with workers(1) as pool:
            found = self.decoder.decode([symbols], pool, n_best)
        strings, letters = found.strings(self.lm_.vocab_), self.lm_.vocab_.decode(found.targets)
        result = []
        for c, string in enumerate(strings):
            i, j, phrases = 0, int(found.target_starts[c]), []
            for _, n, m in found.segments[found.segment_starts[c] : found.segment_starts[c + 1]].tolist():
                phrases.append(("".join(symbols[i : i + n]), "".join(letters[j : j + m]).replace(SPACE, " ")))
                i, j = i + n, j + m
            result.append((Candidate(string.replace(SPACE, " "), float(found.scores[c])), phrases))
        return result

    def _arrays(self) -> dict[str, np.ndarray]:
        return arrays_of(self.table_, self.source_vocab_, self.context_, self.weights_, self.history_)

    def _extra(self) -> dict[str, Any]:
        return {
            "roots": int(self.table_.trie.roots),
            "target_types": len(self.lm_.vocab_) - 3,
            "piece_types": self._piece_types(),
            "joint": self.joint_ is not None,
        }

    def _components(self) -> dict[str, Part]:
        return {"lm": self.lm_.part()} | ({} if self.joint_ is None else {"joint": self.joint_.part()})

    def _piece_types(self) -> int:
        """How many different pieces there are, 0 if no model needs them."""
        pieces = len(self.context_.counts) if self.joint_ is None else len(self.joint_.vocab_)
        return max(0, pieces - FIRST)

    def _restore(self, loaded: Container) -> None:
        arrays = loaded.arrays
        self.table_ = table_from(arrays, loaded.extra["roots"])
        self.lm_ = NgramModel.from_container(loaded.component("lm"))
        self.joint_ = NgramModel.from_container(loaded.component("joint")) if loaded.extra["joint"] else None
        self.source_vocab_ = Vocab.from_arrays(arrays, "source/")
        starts, symbols, counts = (arrays[f"pieces/{part}"] for part in ("starts", "symbols", "counts"))
        self.context_ = windows(starts, symbols, counts, len(self.source_vocab_), self.context, arrays["context"])
        self.weights_, self.history_ = np.array(arrays["weights"]), history_from(arrays)

    def set_weights(self, weights: Sequence[float]) -> None:
        """Put other weights in the place of the learned ones."""
        given = np.asarray(weights, np.float64)
        if given.shape != (len(FEATURES),) or not np.isfinite(given).all():
            raise SettingError(f"{len(FEATURES)} weights are needed ({', '.join(FEATURES)}), not {list(weights)!r}")
        self.weights_ = given
        self.__dict__.pop("decoder", None)


def start_weights(joint: bool, context: bool) -> np.ndarray:
    """Before tuning: 0.2 for each feature of the table, 0.5 for each model, nothing for the number of phrases."""
    return np.array([0.2, 0.2, 0.2, 0.2, 0.5, 0.5 * joint, 0.5 * context, 0.0])


def _usable(words: Iterable[WordPair]) -> list[WordPair]:
    """Without words whose source was joined from several: at prediction there are none."""
    return [word for word in words if SPACE not in word.source]


def _reasons(prepared: Prepared) -> str:
    """Why no pair can be used."""
    reasons = {
        "different numbers of words": prepared.mismatched,
        "one side is more than nine times as long": prepared.lopsided,
        "sources of several words for targets of one": len(prepared.words),
    }
    return ", or ".join(reason for reason, count in reasons.items() if count)


def _tell(prepared: Prepared, pairs: int) -> None:
    if prepared.mismatched:
        warn(f"{prepared.mismatched} of {pairs} pairs are left out: their numbers of words do not match")
    if prepared.lopsided:
        warn(f"{prepared.lopsided} of {pairs} pairs are left out: one side is more than nine times as long")


def _summed(ranked: list[Candidate]) -> list[Candidate]:
    """One candidate for each string, with the log of the sum of its probabilities."""
    sums: dict[str, float] = {}
    for target, score in ranked:
        sums[target] = float(np.logaddexp(sums.get(target, -np.inf), score))
    return [Candidate(*item) for item in sorted(sums.items(), key=lambda item: -item[1])]


def warm() -> None:
    """Compile every kernel of this task by running it on a few made-up names."""
    from corpuscle.neural.decoder import warm_decoder

    warm_decoder()
    _warm(("bleu", "fscore", "likelihood"), ALIGNERS)


def warm_defaults() -> None:
    """Compile what the default settings need."""
    _warm(("likelihood",))


def _warm(metrics: tuple[str, ...], aligners: tuple[str, ...] = ()) -> None:
    """Learn from a few made-up names, save, load, apply and measure."""
    from corpuscle.measure import news_measures

    names = ["".join(Random(1, "warm", 0, i).choice("abc") for _ in range(3 + i % 3)) for i in range(60)]
    pairs = [Pair(name, (name.replace("c", "ks"),)) for name in (*names, "dab")]  # d: letters that meet once
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        for metric in metrics:
            model = PhraseTransliterator(metric=metric, restarts=0, rounds=1, tuning_nbest=3).fit(pairs)
        for aligner in aligners:
            align_letters(model.bitext_, aligner, passes=2)
        crossed = Alignments.from_pairs([[(0, 0)] for _ in range(len(model.bitext_))])
        repair(crossed, model.bitext_)
        model.save(path)
        loaded = PhraseTransliterator.from_container(read(path))
        loaded.transliterate(["abc"])
        found = loaded.transliterate(["abc"], n_best=3, sum=True)
        news_measures([[candidate.target for candidate in found[0]]], [["abks"]], draws=2)
        assert np.isfinite(loaded.weights_).all()
