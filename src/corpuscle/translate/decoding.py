"""A phrase table, a language model and weights, ready to translate; many sentences at a time, by several workers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from corpuscle.align import PhraseTable
from corpuscle.compiled import frozen
from corpuscle.lm import NgramModel
from corpuscle.scale import Workers, chunks_of
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.vocab import END, FIRST, Vocab
from corpuscle.translate.kernels.reordering import Derivations, Limits, Problem, Sentences, decode, estimate
from corpuscle.translate.settings import PhraseSettings
from corpuscle.transliterate import UNKNOWN_FEATURE, Found

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
        starts, segment_starts = (
            starts_of(np.concatenate([np.diff(getattr(part, name)) for part in parts]))
            for name in ("starts", "segment_starts")
        )
        scores, logs, segments = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "logs", "segments")
        )
        option = segments[:, 0].astype(np.int64)
        covered = option >= 0
        entry = np.full(len(option), -1, np.int64)
        entry[covered] = self.entries[option[covered]]
        features = np.full((len(option), 4), UNKNOWN_FEATURE)
        features[covered] = self.table.features[entry[covered]]
        lengths = np.ones(len(option), np.int64)
        lengths[covered] = np.diff(self.options.target_starts)[option[covered]]
        ends = starts_of(lengths)
        targets = np.empty(ends[-1], np.int32)
        targets[ends[:-1][~covered]] = -1 - option[~covered]
        places, _ = items_of(self.options.target_starts, option[covered])
        targets[np.repeat(covered, lengths)] = self.options.targets[places]
        totals = np.concatenate([np.zeros((1, 4)), np.cumsum(features, axis=0)])
        target_starts = ends[segment_starts]
        sums = np.column_stack([
            totals[segment_starts[1:]] - totals[segment_starts[:-1]],
            logs[:, 0], np.diff(segment_starts), np.diff(target_starts), logs[:, 1],
        ])  # fmt: skip
        shown = np.column_stack([entry, segments[:, 2], lengths]).astype(np.int32)
        return Found(starts, scores, sums, target_starts, targets, segment_starts, shown)
