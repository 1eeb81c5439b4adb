"""A phrase table, a language model and weights, ready to rewrite words; many words at a time, by several workers."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.lm import NgramModel
from corpuscle.scale import Workers, chunks_of
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import END, FIRST, UNKNOWN, Vocab
from corpuscle.transliterate.kernels.monotone import Derivations, Limits, Models, decode
from corpuscle.transliterate.kernels.stacks import Options
from corpuscle.transliterate.kernels.windows import Windows
from corpuscle.transliterate.table import PhraseTable

__all__ = ["UNKNOWN_FEATURE", "Decoder", "Found", "Search"]

UNKNOWN_FEATURE = -5.0
"""What each of the table's features is for a letter that the table does not cover."""

_WORK = 20_000
"""Beam times letters of a chunk: a call of the kernel stays well below half a second."""


class Search(NamedTuple):
    """How a decoder searches, see ``kernels.monotone.Limits``; ``limit`` is the number of targets of a source
    phrase."""

    beam: int = 100
    threshold: float = 10.0
    limit: int = 20


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


class Words(NamedTuple):
    """Some words as the kernel wants them: symbols (int32), where each word begins (int64), and what stands for a
    symbol that the table does not cover (int32)."""

    tokens: np.ndarray
    starts: np.ndarray
    copies: np.ndarray


class Problem(NamedTuple):
    """What is the same for all words."""

    options: Options
    models: Models
    limits: Limits


def rewrite(words: Words, problem: Problem) -> Derivations:
    """The best rewritings of some words."""
    return decode(*problem, *words, 0, len(words.starts) - 1)


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
        search: Search,
    ):
        self.table, self.lm, self.joint = table, lm, joint
        self.source, self.weights, self.search = source, weights, search
        self.options, self.entries = table.options(weights[:4], search.limit)
        self.models = Models(lm.automaton_, joint.automaton_, context)

    def encode(self, words: list[list[str]]) -> tuple[Corpus, np.ndarray]:
        """Words as symbols of the table; and what stands for each letter that the table does not cover."""
        corpus = Corpus.from_sentences(words, self.source)
        copies = self.lm.vocab_.encode(symbol for word in words for symbol in word)
        return corpus, np.where(copies >= FIRST, copies, UNKNOWN).astype(np.int32)

    def decode(
        self, words: list[list[str]], pool: Workers, n_best: int = 1, distinct: bool = True, beam: int | None = None
    ) -> Found:
        """The best rewritings of some words, each a list of letters; ``beam``: another one than the search has."""
        corpus, copies = self.encode(words)
        beam = beam or self.search.beam
        limits = Limits(
            beam,
            self.search.threshold,
            self._longest(),
            n_best,
            distinct,
            float(self.weights[4]),
            float(self.weights[5]),
            float(self.weights[6]),
            float(self.weights[7]),
            float(UNKNOWN_FEATURE * self.weights[:4].sum()),
            self.lm.initial_state,
            self.joint.initial_state,
            END,
        )
        chunks = []
        for first, last in pairwise(chunks_of(corpus.lengths * beam, max(_WORK, beam)).tolist()):
            starts = corpus.sentence_starts[first : last + 1]
            inside = slice(starts[0], starts[-1])
            chunks.append(Words(corpus.tokens[inside], starts - starts[0], copies[inside]))
        problem = Problem(self.options, self.models, limits)
        return self._found(list(pool.scatter(chunks).map(rewrite, problem)))

    def _longest(self) -> int:
        """How deep the trie of source phrases is."""
        depth, low, high = 0, 0, self.options.roots
        while low < high:
            depth += 1
            low, high = high, int(self.options.first_child[high])
        return max(1, depth)

    def _found(self, parts: list[Derivations]) -> Found:
        """One record of all chunks, with features and targets spelled out."""
        starts, segment_starts = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for part in parts:
            starts = np.concatenate([starts, part.starts[1:] + starts[-1]])
            segment_starts = np.concatenate([segment_starts, part.segment_starts[1:] + segment_starts[-1]])
        segments = np.concatenate([part.segments for part in parts] or [np.empty((0, 2), np.int32)])
        scores = np.concatenate([part.scores for part in parts] or [np.empty(0)])
        logs = np.concatenate([part.logs for part in parts] or [np.empty((0, 3))])
        option = segments[:, 0].astype(np.int64)
        covered = option >= 0
        entry = np.full(len(option), -1, np.int64)
        entry[covered] = self.entries[option[covered]]
        features = np.full((len(option), 4), UNKNOWN_FEATURE)
        features[covered] = self.table.features[entry[covered]]
        lengths = np.where(option < -1, 1, 0)
        spans = np.diff(self.options.target_starts)
        lengths[covered] = spans[option[covered]]
        ends = np.zeros(len(option) + 1, np.int64)
        np.cumsum(lengths, out=ends[1:])
        targets = np.empty(ends[-1], np.int32)
        copied = np.flatnonzero(option < -1)
        targets[ends[copied]] = -1 - option[copied]
        inside = np.repeat(covered, lengths)
        shift = np.repeat(np.where(covered, self.options.target_starts[np.maximum(option, 0)], 0) - ends[:-1], lengths)
        targets[inside] = self.options.targets[(shift + np.arange(ends[-1]))[inside]]
        sums = np.empty((len(scores), 8))
        totals = np.concatenate([np.zeros((1, 4)), np.cumsum(features, axis=0)])
        sums[:, :4] = totals[segment_starts[1:]] - totals[segment_starts[:-1]]
        sums[:, 4:7], sums[:, 7] = logs, np.diff(segment_starts)
        shown = np.column_stack([entry, segments[:, 1], lengths]).astype(np.int32)
        return Found(starts, scores, sums, ends[segment_starts], targets, segment_starts, shown)
