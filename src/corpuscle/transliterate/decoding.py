"""A phrase table, a language model and weights, ready to rewrite words; many words at a time, by several workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align import PhraseTable
from corpuscle.engine.phrase_decoding import Options
from corpuscle.lm import NgramModel
from corpuscle.scale import Workers, chunks_of
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.vocab import END, FIRST, UNKNOWN, Vocab
from corpuscle.transliterate.kernels.monotone import Derivations, Limits, Models, Names, Problem, decode
from corpuscle.transliterate.kernels.windows import Windows
from corpuscle.transliterate.settings import PhraseSettings

UNKNOWN_FEATURE = -5.0
"""What each of the table's features is for a letter that the table does not cover."""

_WORK = 20_000
"""Beam times letters of a chunk: a call of the kernel stays well below half a second."""


class Found(NamedTuple):
    """The rewritings of many words.

    - ``starts``: int64 (n_words + 1,), the candidates of each word, best first;
    - ``scores``: float64 (n_candidates,); ``features``: float64 (n_candidates, k);
    - ``target_starts``: int64 (n_candidates + 1,), ``targets``: int32, what they are;
    - ``segment_starts``: int64 (n_candidates + 1,), ``segments``: int32 (n_segments, 3): entry of the table (-1 for a
      letter that it does not cover), number of source and of target letters.
    """

    starts: np.ndarray
    scores: np.ndarray
    features: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    segment_starts: np.ndarray
    segments: np.ndarray

    def strings(self, vocab: Vocab) -> list[str]:
        """All candidates as strings."""
        symbols, starts = vocab.strings, self.target_starts.tolist()
        letters = [symbols[i] for i in self.targets.tolist()]
        return ["".join(letters[a:b]) for a, b in pairwise(starts)]


class Spelled(NamedTuple):
    """The rewritings of all chunks as their segments spell them: ``sums``, float64 (n_candidates, 4), of the table's
    features; ``entry``, ``lengths``: int64 (n_segments,), entry of the table (-1: none) and number of target symbols;
    otherwise the arrays of ``Found`` and of a decoder's derivations."""

    starts: np.ndarray
    scores: np.ndarray
    logs: np.ndarray
    segment_starts: np.ndarray
    segments: np.ndarray
    sums: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    entry: np.ndarray
    lengths: np.ndarray

    def found(self, features: np.ndarray, sources: np.ndarray) -> Found:
        """The record of candidates with all their features; ``sources``: source symbols of each segment."""
        shown = np.column_stack([self.entry, sources, self.lengths]).astype(np.int32)
        places = self.target_starts, self.targets, self.segment_starts
        return Found(self.starts, self.scores, features, *places, shown)


def spell_out(parts: Sequence[Any], table: PhraseTable, options: Options, entries: np.ndarray) -> Spelled:
    """Join the derivations of all chunks (records with ``starts``, ``scores``, ``logs``, ``segment_starts`` and
    ``segments``, whose first column is an option, -1 - symbol for a copied symbol, -1 for nothing); ``entries``: which
    entry of the table each option is."""
    starts, segment_starts = (
        starts_of(np.concatenate([np.diff(getattr(part, name)) for part in parts]))
        for name in ("starts", "segment_starts")
    )
    scores, logs, segments = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "logs", "segments")
    )
    option = segments[:, 0].astype(np.int64)
    covered, copied = option >= 0, option < -1
    entry = np.full(len(option), -1, np.int64)
    entry[covered] = entries[option[covered]]
    features = np.full((len(option), 4), UNKNOWN_FEATURE)
    features[covered] = table.features[entry[covered]]
    lengths = np.where(copied, 1, 0)
    lengths[covered] = np.diff(options.target_starts)[option[covered]]
    ends = starts_of(lengths)
    targets = np.empty(ends[-1], np.int32)
    targets[ends[:-1][copied]] = -1 - option[copied]
    places, _ = items_of(options.target_starts, option[covered])
    targets[np.repeat(covered, lengths)] = options.targets[places]
    totals = np.concatenate([np.zeros((1, 4)), np.cumsum(features, axis=0)])
    sums = totals[segment_starts[1:]] - totals[segment_starts[:-1]]
    return Spelled(starts, scores, logs, segment_starts, segments, sums, ends[segment_starts], targets, entry, lengths)


class Decoder:
    """Rewrites words. ``weights`` are those of the four table features, the language model of the target, the joint
    model of both sides, the model of pieces in their context, and the number of phrases."""

    def __init__(
        self,
        table: PhraseTable,
        lm: NgramModel,
        joint: NgramModel,
        context: Windows,
        source: Vocab,
        weights: np.ndarray,
        settings: PhraseSettings,
    ):
        self.table, self.lm, self.joint = table, lm, joint
        self.source, self.weights, self.settings = source, weights, settings
        self.options, self.entries = table.options(weights[:4], settings.table_limit)
        self.models = Models(lm.automaton_, joint.automaton_, context)

    def encode(self, words: list[list[str]]) -> tuple[Corpus, np.ndarray]:
        """Words as symbols of the table; and what stands for each letter that the table does not cover."""
        corpus = Corpus.from_sentences(words, self.source)
        copies = self.lm.vocab_.encode(symbol for word in words for symbol in word)
        return corpus, np.where(copies >= FIRST, copies, UNKNOWN).astype(np.int32)

    def decode(
        self, words: list[list[str]], pool: Workers, n_best: int = 1, distinct: bool = True, beam: int | None = None
    ) -> Found:
        """The best rewritings of some words, each a list of letters; ``beam``: another one than the settings say."""
        corpus, copies = self.encode(words)
        beam = beam or self.settings.beam
        language, joint, context, phrase = self.weights[4:].tolist()
        unknown = float(UNKNOWN_FEATURE * self.weights[:4].sum())
        limits = Limits(
            beam, self.settings.beam_threshold, max(1, self.table.trie.depth), n_best, distinct, language, joint,
            context, phrase, unknown, self.lm.initial_state, self.joint.initial_state, END,
        )  # fmt: skip
        chunks = []
        for first, last in pairwise(chunks_of(corpus.lengths * beam, max(_WORK, beam)).tolist()):
            starts = corpus.sentence_starts[first : last + 1]
            inside = slice(starts[0], starts[-1])
            chunks.append(Names(corpus.tokens[inside], starts - starts[0], copies[inside]))
        problem = Problem(self.options, self.models, limits)
        chunks = chunks or [Names(corpus.tokens, corpus.sentence_starts, copies)]
        return self._found(list(pool.scatter(chunks).map(decode, problem)))

    def _found(self, parts: list[Derivations]) -> Found:
        """One record of all chunks, with features and targets spelled out."""
        spelled = spell_out(parts, self.table, self.options, self.entries)
        counts = np.diff(spelled.segment_starts)
        return spelled.found(np.column_stack([spelled.sums, spelled.logs, counts]), spelled.segments[:, 1])
