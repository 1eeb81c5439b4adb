"""PhraseTransliterator: names are rewritten phrase by phrase, under weights tuned on names that the tables did not see.

The score of a rewriting is a weighted sum of eight numbers: the four features of the phrase table, the log probability
of a letter n-gram model of the target, that of an n-gram model over small pieces of both sides together (the joint
model), that of the same pieces among the source letters around them (the context model), and the number of phrases.
Phrases and weights are those of statistical machine translation (Koehn, Och and Marcu 2003; Och 2003) on letters; the
joint model is that of Bisani and Ney (2008), as one more feature.

Names are cut into small pieces of both sides, and so are the entries of the phrase table (``learn_pieces``).
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align import FEATURES as TABLE_FEATURES
from corpuscle.align import build_table
from corpuscle.align.phrases import TABLE_ARRAYS, check_table
from corpuscle.compiled import frozen
from corpuscle.engine.phrase_extraction import Occurrences, intern, linked
from corpuscle.errors import CorpuscleWarning, SettingError, warn
from corpuscle.figures import phrase_lattice
from corpuscle.learning import Checkpoint, partial
from corpuscle.lm import NgramModel
from corpuscle.model import ITEMS, Array, Container, Inner, Kind
from corpuscle.scale import Workers, workers
from corpuscle.settings import learned
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import SPACE, Corpus, starts_of
from corpuscle.text.origin import error_about
from corpuscle.text.pairs import Pair
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.transliterate.base import Candidate, Transliterator, combined
from corpuscle.transliterate.decoding import HISTORY, Decoder, Found, Tuned
from corpuscle.transliterate.kernels.joint import blocks, phrase_blocks
from corpuscle.transliterate.kernels.windows import WEIGHTS, Windows, learn, windows
from corpuscle.transliterate.links import align_letters
from corpuscle.transliterate.preparation import Prepared, WordPair, merged, prepare
from corpuscle.transliterate.settings import PhraseSettings

BETWEEN = "\u2502"
"""Stands between the source and the target letters in the name of a piece."""


def learn_pieces(
    bitext: Bitext, alignments: Alignments, entries: Occurrences
) -> tuple[Corpus, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The names as sequences of smallest pieces, the source letters of every piece (CSR: int64 starts, int32 letters),
    and the ``entries`` of the phrase table cut into pieces (CSR, too)."""
    source, target = bitext.source, bitext.target
    of_names, starts = blocks(
        linked(alignments.links, alignments.starts, source.sentence_starts, target.sentence_starts)
    )
    of_entries, entry_starts = phrase_blocks(entries)
    pieces = np.concatenate([of_names, of_entries])
    left, _ = intern(source.tokens, pieces[:, 0], pieces[:, 1])
    right, right_firsts = intern(target.tokens, pieces[:, 2], pieces[:, 3])
    _, first, inverse = np.unique(left * len(right_firsts) + right, return_index=True, return_inverse=True)
    words: list[str] = []
    letters: list[np.ndarray] = [source.tokens[:0]] * FIRST
    for a, n, b, m in pieces[first].tolist():
        f, e = source.vocab.decode(source.tokens[a : a + n]), target.vocab.decode(target.tokens[b : b + m])
        words.append("".join(f) + BETWEEN + "".join(e))
        letters.append(source.tokens[a : a + n])
    ids, in_names = (FIRST + inverse).astype(np.int32), len(of_names)
    vocab = Vocab.from_words(words, np.bincount(inverse[:in_names], minlength=len(words)))
    cut = frozen(entry_starts, np.int64), frozen(ids[in_names:], np.int32)
    return Corpus(ids[:in_names], starts, vocab), (starts_of(map(len, letters)), np.concatenate(letters)), cut


FEATURES = (*TABLE_FEATURES, "language", "joint", "context", "phrases")
"""The eight numbers that weights belong to."""

EPOCHS = 4
"""Passes of the context model over the names: with more it learns single names by heart."""

DERIVATIONS = 200
"""The number of rewritings that are added up by their output where ``sum`` is asked for."""

_NOTHING = np.zeros(0, np.int64)
_NO_CONTEXT = windows(np.zeros(1, np.int64), _NOTHING, _NOTHING, FIRST, 0, _NOTHING)


def _check(loaded: Container) -> None:
    """What the kernels rely on and the declarations cannot say."""
    context = PhraseTransliterator.restored(loaded.described).context > 0
    extra = loaded.extra
    if type(extra.get("joint")) is not bool:
        raise ValueError("it does not say whether it has a joint model")
    check_table(loaded)
    if extra["joint"] and len(loaded.component("joint").arrays["vocab/counts"]) != extra.get("piece_types", -4) + 3:
        raise ValueError("the table and its component 'joint' have different symbols")
    # Pieces are there for the joint model, or for that of pieces in their context, whose weights a hash finds.
    arrays = loaded.arrays
    size = len(arrays["context"])
    if size > WEIGHTS or size & (size - 1) or (size > 0) != context:  # a power of two, by which hashes are cut
        raise ValueError(f"{size} weights of the context")
    if len(arrays["pieces/counts"]) != (extra["piece_types"] + 3 if context else 0):
        raise ValueError("the table and the pieces in their context are different")
    if not context and not extra["joint"] and len(arrays["pieces"]):
        raise ValueError("there are pieces, but no model of them")


def _components(extra: Mapping[str, Any]) -> dict[str, tuple[Kind, ...]]:
    names = ("lm", "joint") if extra.get("joint") is True else ("lm",)
    return dict.fromkeys(names, (NgramModel.KIND,))


_PARTIAL = partial(
    "transliterate.phrase",
    *({"probability": Array("float64", (f"pieces{n}",), low=0, finite=True, optional=True)} for n in range(3)),
)
"""What is kept of an unfinished training: of the joint aligner, then the rounds of tuning, then of the joint aligner on
all pairs. With other aligners, tuning comes first."""


class PhraseTransliterator(PhraseSettings, Tuned, Transliterator):
    """Learns to write names in another script, phrase by phrase.

    Learned: ``table_``, ``lm_``, ``joint_`` (None without), ``context_``, ``source_vocab_``, ``weights_`` (8,),
    ``history_``; and from ``fit`` on, but not in the file, the names and their links, ``bitext_`` and ``alignments_``.
    """

    KIND: ClassVar[Kind] = Kind(
        "transliterate.phrase",
        1,
        {
            **TABLE_ARRAYS,
            **ITEMS,
            "pieces/starts": Array("int64", ("pieces+1",), offsets_into="piece_symbols"),
            "pieces/symbols": Array("int32", ("piece_symbols",), low=0, high="source_types+3"),
            "pieces/counts": Array("int64", ("pieces",), low=0),
            "context": Array("float32", ("context_weights",), finite=True),
            **HISTORY,
        },
        components=_components,
        check=_check,
    )
    FEATURES: ClassVar[tuple[str, ...]] = FEATURES
    MEANINGLESS: ClassVar = {"precision": "precision is for neural models"}
    SAVED: ClassVar = {**Tuned.SAVED, "joint_": Inner("joint", "corpuscle.lm:NgramModel")}

    joint_: NgramModel | None = learned()
    context_: Windows = learned()
    bitext_: Bitext = learned()
    alignments_: Alignments = learned()

    def fit(
        self, pairs: Sequence[Pair], dev: Sequence[Pair] | None = None, checkpoint: Checkpoint | None = None
    ) -> Self:
        """Learn from names with their accepted targets.

        Weights are tuned on ``dev``, which is used for nothing else, or on a seeded tenth of the pairs; after that the
        tables are learned again from all pairs (``final_refit``).
        """
        self._check_size(pairs, 50, 500, "expect many errors; a few thousand make a good transliterator")
        if dev is not None:
            self.check_development(dev)
        training, tuning = self.divided(pairs, self.seed) if self.tune and dev is None else (pairs, list(dev or ()))
        self.__dict__.pop("decoder", None)
        joint, context = 0.5 * (self.joint_order > 0), 0.5 * (self.context > 0)
        self.weights_, self.history_ = np.array([0.2, 0.2, 0.2, 0.2, 0.5, joint, context, 0.0]), []
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
        return Checkpoint(path, _PARTIAL, self.settings, self.signature(pairs, dev), resume=resume)

    def _learn(self, pairs: Sequence[Pair], checkpoint: Checkpoint) -> None:
        prepared = prepare(pairs, self.spelling, self.references)
        if prepared.mismatched:
            warn(f"{prepared.mismatched} of {len(pairs)} pairs are left out: their numbers of words do not match")
        if prepared.lopsided:
            warn(f"{prepared.lopsided} of {len(pairs)} pairs are left out: one side is more than nine times as long")
        rows = [
            (word.source, *each) for word in prepared.words for each in zip(word.targets, word.weights, strict=True)
        ]
        if not rows:
            raise error_about(pairs, f"no pair can be used: {_reasons(prepared)}")
        sources, targets, weights = zip(*rows, strict=True)
        bitext = Bitext(*(Corpus.from_sentences(map(self.spelling.symbols, side)) for side in (sources, targets)))
        work = {"workers": self.workers, "cluster": self.cluster}
        alignments = align_letters(bitext, self.aligner, self.passes, self.symmetrise, self.rules, checkpoint, **work)
        self.alignments_, self.bitext_ = alignments, bitext
        self.table_, entries = build_table(bitext, alignments, np.array(weights), self.max_phrase)
        pieces, letters, cut = learn_pieces(bitext, alignments, entries)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorpuscleWarning)  # few letters: their counts never give discounts
            self.lm_ = self._model(bitext.target, self.order)
            self.joint_ = self._model(pieces, self.joint_order) if self.joint_order else None
        self.context_ = _NO_CONTEXT
        if self.context:
            source, counts = bitext.source, np.bincount(pieces.tokens, minlength=len(pieces.vocab))
            self.context_ = windows(*letters, counts, len(source.vocab), self.context)
            sides = source.tokens, source.sentence_starts, pieces.tokens, pieces.sentence_starts
            learn(self.context_, *sides, EPOCHS, self.seed)
        if self.joint_order or self.context:
            self.table_ = dataclasses.replace(self.table_, piece_starts=cut[0], pieces=cut[1])
        self.source_vocab_ = bitext.source.vocab

    def _model(self, corpus: Corpus, order: int) -> NgramModel:
        return NgramModel(order=order, min_count=1, allow_markup=True, workers=self.workers, seed=self.seed).fit(corpus)

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

        def decode(decoder: Decoder, pool: Workers) -> Found:
            return decoder.decode(letters, pool, self.tuning_nbest)

        self._find_weights(references, self.lm_.vocab_, self.metric, free, decode, checkpoint)

    def _decoder(self, weights: np.ndarray) -> Decoder:
        joint = self.joint_ if self.joint_ is not None else self.lm_
        return Decoder(self.table_, self.lm_, joint, self.context_, self.source_vocab_, weights, self)

    @property
    def known_letters(self) -> Vocab:
        return self.source_vocab_

    def _written(
        self, names: list[str], n_best: int, sum: bool | None = None, beam: int | None = None
    ) -> list[list[Candidate]]:
        split = [self.spelling.normal(name).split() for name in names]
        words = list(dict.fromkeys(word for name in split for word in name))
        letters = [self.spelling.symbols(word) for word in words]
        with workers(self.workers, self.cluster) as pool:
            found = self.decoder.decode(letters, pool, DERIVATIONS if sum else n_best, not sum, beam)
        lists = [[_candidate(*each) for each in ranked] for ranked in found.ranked(self.lm_.vocab_)]
        if sum:
            lists = [_summed(each)[:n_best] for each in lists]
        ranked = dict(zip(words, lists, strict=True))
        return [combined([ranked[word] for word in name], n_best) for name in split]

    def derivations(self, word: str, n_best: int = 5) -> list[tuple[Candidate, list[tuple[str, str]]]]:
        """The best ways to write one word, each with its phrases (source, target) from left to right."""
        normal = self.spelling.normal(word)
        if not normal or " " in normal:
            raise SettingError(f"one word is needed, not {word!r}")
        symbols = self.spelling.symbols(normal)
        with workers(1) as pool:
            found = self.decoder.decode([symbols], pool, n_best)
        letters, result = self.lm_.vocab_.decode(found.targets), []
        for c, ranked in enumerate(found.ranked(self.lm_.vocab_)[0]):
            i, j, phrases = 0, int(found.target_starts[c]), []
            for _, n, m in found.segments[found.segment_starts[c] : found.segment_starts[c + 1]].tolist():
                phrases.append(("".join(symbols[i : i + n]), "".join(letters[j : j + m]).replace(SPACE, " ")))
                i, j = i + n, j + m
            result.append((_candidate(*ranked), phrases))
        return result

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            **super()._arrays(),
            "pieces/starts": self.context_.starts,
            "pieces/symbols": self.context_.symbols,
            "pieces/counts": self.context_.counts,
            "context": self.context_.weights,
        }

    def _extra(self) -> dict[str, Any]:
        pieces = len(self.context_.counts) if self.joint_ is None else len(self.joint_.vocab_)
        needed = max(0, pieces - FIRST)  # 0 if no model needs them
        return super()._extra() | {"piece_types": needed, "joint": self.joint_ is not None}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        arrays = loaded.arrays
        starts, symbols, counts = (arrays[f"pieces/{part}"] for part in ("starts", "symbols", "counts"))
        self.context_ = windows(starts, symbols, counts, len(self.source_vocab_), self.context, arrays["context"])

    def summary(self) -> tuple[dict[str, Any], str]:
        figures, said = self._tuning_figures(self.metric, "tuning_value")
        return {"entries": len(self.table_), "metric": self.metric if self.tune else None, **figures}, said


def _usable(words: Iterable[WordPair]) -> list[WordPair]:
    """Without words whose source was joined from several: at prediction there are none."""
    return [word for word in words if SPACE not in word.source]


def _reasons(prepared: Prepared) -> str:
    reasons = {
        "different numbers of words": prepared.mismatched,
        "one side is more than nine times as long": prepared.lopsided,
        "sources of several words for targets of one": len(prepared.words),
    }
    return ", or ".join(reason for reason, count in reasons.items() if count)


def _candidate(target: str, score: float) -> Candidate:
    return Candidate(target.replace(SPACE, " "), score)


def _summed(ranked: list[Candidate]) -> list[Candidate]:
    """One candidate per string, with the log of the sum of its probabilities."""
    sums: dict[str, float] = {}
    for target, score in ranked:
        sums[target] = float(np.logaddexp(sums.get(target, -np.inf), score))
    return [Candidate(*item) for item in sorted(sums.items(), key=lambda item: -item[1])]


def draw_lattice(model: PhraseTransliterator, word: str, nbest: int) -> str:
    """The best ways to write a word, phrase by phrase, as SVG."""
    found = model.derivations(word, nbest)
    return phrase_lattice([(target, phrases) for (target, _), phrases in found], title=f"Ways to write {word}")
