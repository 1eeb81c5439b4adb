"""A phrase table, a language model and weights, ready to translate; many sentences at a time, by several workers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from corpuscle.align import PhraseTable
from corpuscle.compiled import frozen
from corpuscle.lm import NgramModel
from corpuscle.scale import Workers, chunks_of
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, FIRST, Vocab
from corpuscle.translate.kernels.reordering import Derivations, Limits, Problem, Sentences, decode, estimate
from corpuscle.translate.settings import PhraseSettings
from corpuscle.transliterate import UNKNOWN_FEATURE, Found, spell_out

__all__ = ["Decoder"]

_WORK = 10_000
"""Beam times words of a chunk: a call of the kernel stays below half a second."""


class Decoder:
    """Translates. ``weights`` are those of ``phrase.FEATURES``: the four table features, the language model, the number
    of phrases, the number of words, minus the distance of jumps."""

    def __init__(
        self, table: PhraseTable, lm: NgramModel, source: Vocab, weights: np.ndarray, settings: PhraseSettings
    ):
        self.table, self.lm, self.source = table, lm, source
        self.weights, self.settings = weights, settings
        self.options, self.entries = table.options(weights[:4], settings.table_limit)
        self.estimates = frozen(estimate(self.options, lm.automaton_), np.float64)

    def unknown(self, sentences: list[list[str]]) -> list[str]:
        """The different words for which the table has nothing when they stand alone."""
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
        self,
        sentences: list[list[str]],
        outputs: Vocab,
        written: Mapping[str, str],
        pool: Workers,
        n_best: int = 1,
        distinct: bool = True,
    ) -> Found:
        """The best translations of some sentences, in the words of ``outputs``."""
        corpus = Corpus.from_sentences(sentences, self.source)
        copies = np.array(
            [outputs.ids.get(written.get(word, word), 0) for sentence in sentences for word in sentence], np.int32
        )
        problem = Problem(self.options, self.lm.automaton_, self._limits(n_best, distinct), self.estimates)
        chunks = []
        beam = self.settings.beam
        for first, last in pairwise(chunks_of(corpus.lengths * beam, max(_WORK, beam)).tolist()):
            starts = corpus.sentence_starts[first : last + 1]
            inside = slice(starts[0], starts[-1])
            chunks.append(Sentences(corpus.tokens[inside], starts - starts[0], copies[inside]))
        chunks = chunks or [Sentences(corpus.tokens, corpus.sentence_starts, copies)]
        return self._found(list(pool.scatter(chunks).map(decode, problem)))

    def _limits(self, n_best: int, distinct: bool) -> Limits:
        settings = self.settings
        language, phrase, word, jump = self.weights[4:].tolist()
        unknown = float(UNKNOWN_FEATURE * self.weights[:4].sum())
        return Limits(
            settings.beam, settings.beam_threshold, max(1, self.table.trie.depth), n_best, distinct,
            settings.distortion, language, phrase, word, jump, unknown, self.lm.initial_state, END,
            len(self.lm.vocab_),
        )  # fmt: skip

    def _found(self, parts: list[Derivations]) -> Found:
        """One record of all chunks, with features and targets spelled out."""
        spelled = spell_out(parts, self.table, self.options, self.entries)
        phrases, words = np.diff(spelled.segment_starts), np.diff(spelled.target_starts)
        features = np.column_stack([spelled.sums, spelled.logs[:, 0], phrases, words, spelled.logs[:, 1]])
        return spelled.found(features, spelled.segments[:, 2])
