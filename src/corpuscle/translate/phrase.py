"""PhraseTranslator: sentences are translated phrase by phrase, under weights tuned on pairs that the table did not see.

The score of a translation is a weighted sum of eight numbers: the four features of the phrase table, the log
probability of a word n-gram model of the target, the number of phrases, the number of words, and minus the distance of
all jumps (Koehn, Och and Marcu 2003). The weights are those with the best BLEU on held-out pairs (Och 2003). A word
that the table does not know is copied, or written in the other script by a transliterator. A ``Decoder`` is a table, a
language model and weights, ready to translate many sentences at a time, by several workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align import FEATURES as TABLE_FEATURES
from corpuscle.align import PhraseTable, build_table, merged_links
from corpuscle.align.phrases import TABLE_ARRAYS, check_table
from corpuscle.compiled import frozen
from corpuscle.errors import CorpuscleWarning, SettingError
from corpuscle.learning import Checkpoint, partial
from corpuscle.lm import NgramModel
from corpuscle.model import ITEMS, Container, Kind
from corpuscle.scale import Workers, workers
from corpuscle.settings import learned
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, FIRST, Vocab
from corpuscle.translate.base import Links, Translation, Translator, each_of
from corpuscle.translate.kernels import Limits, Problem, decode, estimate
from corpuscle.translate.settings import PhraseSettings
from corpuscle.transliterate import PhraseTransliterator
from corpuscle.transliterate.decoding import HISTORY, Found, PhraseDecoder, Tuned

_WORK = 10_000
"""Beam times words of a chunk: a call of the kernel stays below half a second."""


class Decoder(PhraseDecoder):
    """Translates. ``weights`` are those of ``phrase.FEATURES``: the four table features, the language model, the number
    of phrases, the number of words, minus the distance of jumps."""

    def __init__(
        self, table: PhraseTable, lm: NgramModel, source: Vocab, weights: np.ndarray, settings: PhraseSettings
    ):
        super().__init__(table, lm, source, weights, settings)
        self.estimates = frozen(estimate(self.options, lm.automaton_), np.float64)

    def unknown(self, sentences: list[list[str]]) -> list[str]:
        """The different words that the table cannot translate on their own."""
        first, roots = self.options.first_option, self.table.trie.roots
        filled = np.flatnonzero(np.diff(first[: roots + 1]))
        known = set(self.source.decode(self.table.trie.symbols[filled]))
        return list(dict.fromkeys(word for sentence in sentences for word in sentence if word not in known))

    def outputs(self, written: Mapping[str, str]) -> Vocab:
        """The words of translations: those of the language model, then how unknown words are ``written``."""
        own = self.lm.vocab_
        new = dict.fromkeys(word for word in written.values() if own.ids.get(word, 0) < FIRST)
        return Vocab.from_words([*own.strings[FIRST:], *new])

    def decode(
        self, sentences: list[list[str]], outputs: Vocab, written: Mapping[str, str], pool: Workers, n_best: int = 1
    ) -> Found:
        """The best translations of some sentences, in the words of ``outputs``."""
        corpus = Corpus.from_sentences(sentences, self.source)
        copies = np.array(
            [outputs.ids.get(written.get(word, word), 0) for sentence in sentences for word in sentence], np.int32
        )
        settings = self.settings
        language, phrase, word, jump = self.weights[4:].tolist()
        limits = Limits(
            settings.beam, settings.beam_threshold, max(1, self.table.trie.depth), n_best, True,
            settings.distortion, language, phrase, word, jump, self.unknown_score, self.lm.initial_state, END,
            len(self.lm.vocab_),
        )  # fmt: skip
        problem = Problem(self.options, self.lm.automaton_, limits, self.estimates)
        found = self._found(decode, problem, corpus, copies, _WORK, pool)
        table, language, jumps, phrases = np.split(found.features, (4, 5, 6), axis=1)
        features = np.column_stack([table, language, phrases, np.diff(found.target_starts), jumps])
        return found._replace(features=features)


FEATURES = (*TABLE_FEATURES, "language", "phrases", "words", "jumps")
"""The eight numbers that weights belong to."""

START = (0.2, 0.2, 0.2, 0.2, 0.5, 0.0, 0.3, 0.3)
"""The weights before tuning."""


def _check(loaded: Container) -> None:
    check_table(loaded)
    if loaded.extra.get("piece_types") != 0 or len(loaded.arrays["pieces"]):
        raise ValueError("a table of words has no pieces")


class PhraseTranslator(PhraseSettings, Tuned, Translator):
    """Learns to translate, phrase by phrase.

    Learned: ``table_``, ``lm_``, ``source_vocab_``, ``weights_`` (8,), ``history_``; and from ``fit`` on, but not in
    the file, the links of all pairs, ``alignments_``, by each aligner.
    """

    KIND: ClassVar[Kind] = Kind(
        "translate.phrase", 1, {**TABLE_ARRAYS, **ITEMS, **HISTORY}, components={"lm": (NgramModel.KIND,)}, check=_check
    )
    FEATURES: ClassVar[tuple[str, ...]] = FEATURES
    NEURAL: ClassVar[bool] = False
    MEANINGLESS: ClassVar[Mapping[str, str]] = dict.fromkeys(("beam", "shortlist", "precision"), "is about networks")

    alignments_: list[Alignments] = learned()

    def fit(
        self,
        bitext: Bitext,
        dev: Bitext | None = None,
        links: Links | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Learn from sentence pairs, and from their ``links`` if those are known already; of several aligners the
        phrases of all are counted, each pair in equal parts.

        Weights are tuned on ``dev``, which is used for nothing else, or on a seeded tenth of the pairs, whose phrases
        are learned afterwards (``final_refit``). The aligner sees all pairs at once.
        """
        usable = self._usable(bitext)
        if dev is not None and not self.tune:
            raise SettingError("development pairs are for tuning: give none (--dev) where weights are not tuned")
        self.alignments_ = each_of(self._align(bitext) if links is None else links)
        held = self._held_out(usable, self.tuning_pairs) if self.tune and dev is None else usable[:0]
        self.weights_, self.history_ = np.array(START), []
        self._learn(bitext, np.setdiff1d(usable, held))
        tuning = bitext.select(held) if dev is None else dev
        if self.tune:
            self._tune(tuning, checkpoint or Checkpoint())
            if len(held) and self.final_refit:
                self._learn(bitext, usable)
        figures = {"tuning_pairs": len(tuning) if self.tune else 0, "entries": len(self.table_)}
        self._remember(bitext, tuning, dev, links, learned_from=len(usable), **figures)
        return self

    def _learn(self, bitext: Bitext, pairs: np.ndarray) -> None:
        self.__dict__.pop("decoder", None)
        part = bitext.select(pairs)
        part = Bitext(part.source.counted(), part.target.counted())
        linked = merged_links(part, [own.select(pairs) for own in self.alignments_])
        self.table_, _ = build_table(*linked, self.max_phrase)
        if not len(self.table_):
            raise bitext.error("no words are linked, so there are no phrases")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorpuscleWarning)  # few words: their counts may give no discounts
            model = NgramModel(order=self.order, min_count=1, allow_markup=True, workers=self.workers)
            self.lm_ = model.fit(part.target)
        self.source_vocab_ = part.source.vocab

    def _tune(self, pairs: Bitext, checkpoint: Checkpoint) -> None:
        pairs = self._development(pairs, "tune")
        sources = list(pairs.source)
        written = {word: word for word in self.decoder.unknown(sources)}
        outputs = self.decoder.outputs(written)
        free = np.array([True] * 7 + [self.distortion > 0])

        def decode(decoder: Decoder, pool: Workers) -> Found:
            return decoder.decode(sources, outputs, written, pool, self.tuning_nbest)

        self._find_weights([[target] for target in pairs.target], outputs, "bleu", free, decode, checkpoint)

    def _unfinished(self) -> Kind:
        return partial("translate.phrase", {})  # the rounds of tuning; links and tables are made again

    def _decoder(self, weights: np.ndarray) -> Decoder:
        return Decoder(self.table_, self.lm_, self.source_vocab_, weights, self)

    def translate(
        self, text: Corpus, n_best: int = 1, transliterator: PhraseTransliterator | None = None
    ) -> list[list[Translation]]:
        """The best translations, best first; unknown words are copied, or written by a transliterator."""
        if n_best < 1:
            raise SettingError(f"n_best is at least 1, not {n_best}")
        sentences, decoder = list(text), self.decoder
        unknown = decoder.unknown(sentences)
        written = {word: word for word in unknown}
        if transliterator is not None:
            ranked = zip(unknown, transliterator.transliterate(unknown), strict=True)
            written |= {word: own[0].target for word, own in ranked if own}
        outputs = decoder.outputs(written)
        with workers(self.workers, self.cluster) as pool:
            found = decoder.decode(sentences, outputs, written, pool, n_best)
        return [[Translation(*each) for each in ranked] for ranked in found.ranked(outputs, " ")]

    def summary(self) -> tuple[dict[str, Any], str]:
        figures, said = self._tuning_figures("BLEU", "tuning_bleu")
        return {"entries": len(self.table_), **figures}, said

    def _extra(self) -> dict[str, Any]:
        return super()._extra() | {"piece_types": 0}
