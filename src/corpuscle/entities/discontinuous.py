"""Mentions in two pieces that the tags of a chain do not say, by a linear classifier of candidates.

Tags for gaps are rare, and a chain hardly ever gives them. A second stage looks at every pair of pieces that may be one
(``kernels.discontinuous``): words that began and ended mentions of the training text or of the chain, with a gap
between them. A logistic regression of hashed features says how likely each is a mention: whether the words, joined,
were a mention or stand together in the document, what opens and closes the gap, what is alike on both sides of a
conjunction, and what the chain thinks of each piece. It is learned from what chains of other parts of the text say, so
that it meets in training what it will meet later; the threshold is the one with the best F1 over all mentions, those of
the chain included, on parts that a classifier has not seen.

Candidates that pass are taken from the likeliest down. A piece of one may be a piece of another of its type, but not
overlap it otherwise. A simple mention of the chain that is a part of an accepted one is dropped.

Which pieces belong together: a classifier of pairs of runs, in place of a fixed rule.

Tags say which words are parts of complex mentions, not which parts go together when a sentence has several. For each
two runs of D and H words of one type a logistic model says how likely they are parts of one mention, from how far they
are apart, what stands between them, and what they are. Every D run then takes the H runs that are likelier than not to
go with it, at least the likeliest one, and no H run is left alone; without H runs, D runs are joined as long as the
mean over their pairs is above one half. Learned from the training mentions.

Day and Edelsbrunner, "Efficient algorithms for agglomerative hierarchical clustering methods", 1984, for average
linkage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.entities.documents import Documents
from corpuscle.entities.kernels import discontinuous as kernels
from corpuscle.entities.kernels.discontinuous import BUCKETS, LONGEST, N_FEATURES, Lexicon, Text
from corpuscle.entities.kernels.fields import index_of
from corpuscle.hashing import hashes_of
from corpuscle.model import Array
from corpuscle.text.corpus import starts_of
from corpuscle.text.mention_tags import TokenMention, mentions_of_tags, tags_of_mentions
from corpuscle.text.wording import shape_of

FEWEST = 50  # a classifier is tried where the training text has at least this number of mentions in two pieces
_COMMON = 3  # words that open or close gaps do so for at least this number of different pieces
_NEGATIVES = 60_000  # about this number of wrong candidates are learned from, with the weight of all
_THRESHOLDS = np.arange(0.1, 0.95, 0.05)
_ENDING = 3
_STRETCHES = range(2, 5)

PIECES = {
    "pieces/keys": Array("uint64", ("piece_keys",), rising=True),
    "pieces/counts": Array("int32", ("piece_keys",), low=1),
    "pieces/weights": Array("float64", (BUCKETS,), finite=True),
    "pieces/bounds": Array("float64", (2,), finite=True),
}
"""The arrays of a classifier inside a model; ``bounds``: its intercept and its threshold."""


class ChainOutput(NamedTuple):
    """What a chain says of documents: the ``tags`` of all tokens; ``chances`` float64 (n_tokens, T + 1), how likely
    each is in a mention of each type, and in one that has a gap or shares words."""

    tags: Sequence[str]
    chances: np.ndarray


class Part(NamedTuple):
    """Some of the training ``documents``, by number, the ``output`` of a chain of the others for them, and the
    ``mentions`` of each sentence that its tags mean."""

    documents: np.ndarray
    output: ChainOutput
    mentions: Sequence[Sequence[TokenMention]]


def _lexicon(counted: Iterable[tuple[np.ndarray, np.ndarray]]) -> Lexicon:
    """From numbers and how often each counts."""
    parts = list(counted)
    keys, inverse = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.bincount(inverse, np.concatenate([counts for _, counts in parts]), len(keys))
    return Lexicon(index_of(keys), keys, counts.astype(np.int32))


def _known(documents: Documents, types: Sequence[str]) -> Lexicon:
    """The roles of words in the mentions of a training text."""
    words, starts = documents.lowered, documents.corpus.sentence_starts.tolist()
    roles: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
    around: dict[int, dict[int, set[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(set))
    tokens = words.tolist()
    for first, mentions in zip(starts, documents.mentions, strict=False):
        for mention in mentions:
            t, own = types.index(mention.type) + 1, tuple(tokens[first + token] for token in mention.tokens)
            roles[kernels.WHOLE, t, own] += 1
            roles[kernels.FIRST, t, own[:1]] += 1
            roles[kernels.LAST, t, own[-1:]] += 1
            for k in range(1, len(own)):
                roles[kernels.LEFT, t, own[:k]] += k <= LONGEST
                roles[kernels.RIGHT, t, own[k:]] += len(own) - k <= LONGEST
            runs = mention.runs
            if len(runs) == 2:
                (a, b), (c, _) = runs
                left, right = (tuple(tokens[first + i : first + j + 1]) for i, j in runs)
                roles[kernels.LEFT_PIECE, t, left] += 1
                roles[kernels.RIGHT_PIECE, t, right] += 1
                if c - b > 2:
                    around[kernels.OPENER][tokens[first + b + 1]].add(left)
                    around[kernels.CLOSER][tokens[first + c - 1]].add(right)
                if b > a:
                    around[kernels.LINKER][left[-1]].add(left)
    for role, pieces in around.items():
        roles.update({(role, 0, (word,)): 1 for word, beside in pieces.items() if len(beside) >= _COMMON})
    roles += Counter()  # without those that do not count
    entries = list(roles)
    flat = np.array([word for entry in entries for word in entry[2]], np.uint64)
    keys = kernels.keys_of_roles(
        np.array([entry[:2] for entry in entries], np.int64), flat, starts_of(len(entry[2]) for entry in entries)
    )
    forms, counts = np.unique(words, return_counts=True)
    single = kernels.keys_of_roles(
        np.tile(np.array([[kernels.WORD, 0]], np.int64), (len(forms), 1)), forms, np.arange(len(forms) + 1)
    )
    edges = {entry[2][0] for entry in entries if entry[0] in (kernels.FIRST, kernels.LAST)}
    kept = np.isin(forms, np.array(list(edges), np.uint64))
    return _lexicon([(keys, np.array([roles[entry] for entry in entries])), (single[kept], counts[kept])])


def _text(documents: Documents, output: ChainOutput, types: Sequence[str]) -> tuple[Text, Lexicon]:
    """The tokens with what a chain says of them, and the stretches and mentions of each document."""
    corpus = documents.corpus
    forms, n = corpus.vocab.strings, corpus.n_tokens
    begins, ends, covers = (np.full((n, len(types)), -1, np.int32) for _ in range(3))
    spans: list[tuple[int, int, int, int]] = []
    for i, (first, last) in enumerate(pairwise(corpus.sentence_starts.tolist())):
        tags = output.tags[first:last]
        for mention in mentions_of_tags(tags) if any(tag != "O" for tag in tags) else ():
            for a, b in mention.runs:
                spans.append((i, types.index(mention.type), first + a, first + b))
    table = np.array(spans, np.int64).reshape(-1, 4)
    for _, t, a, b in spans:
        begins[a, t], ends[b, t], covers[a : b + 1, t] = b, a, a
    text = Text(
        corpus.sentence_starts, documents.document_of, documents.lowered,
        hashes_of([form[-_ENDING:].lower() for form in forms])[corpus.tokens],
        hashes_of([shape_of(form, 1) for form in forms])[corpus.tokens], begins, ends, covers, output.chances,
    )  # fmt: skip
    counted = [(kernels.keys_of_spans(text, table), np.ones(len(table), np.int64))]
    document, stop = (np.repeat(each, corpus.lengths) for each in (text.documents, text.starts[1:]))
    for k in _STRETCHES:
        at = np.flatnonzero(np.arange(n) + k <= stop)
        roles = np.column_stack([np.full(len(at), kernels.HERE), document[at]])
        keys = kernels.keys_of_roles(roles, text.words[at[:, None] + np.arange(k)].ravel(), k * np.arange(len(at) + 1))
        counted.append(np.unique(keys, return_counts=True))
    return text, _lexicon(counted)


class Seen(NamedTuple):
    """Candidates, int32 (n, 8), and the buckets of their features, int32 (n, N_FEATURES), see
    ``kernels.discontinuous``."""

    candidates: np.ndarray
    features: np.ndarray


def candidates_of(documents: Documents, output: ChainOutput, lexicon: Lexicon, types: Sequence[str]) -> Seen:
    text, here = _text(documents, output, types)
    n = kernels.candidates(text, lexicon, 0, len(documents.corpus), np.zeros((0, 8), np.int32))
    found, features = np.zeros((n, 8), np.int32), np.zeros((n, N_FEATURES), np.int32)
    kernels.candidates(text, lexicon, 0, len(documents.corpus), found)
    kernels.features(text, lexicon, here, found, features)
    return Seen(found, features)


def _right(documents: Documents, found: np.ndarray, types: Sequence[str]) -> np.ndarray:
    """Which candidates are gold mentions, bool (n,)."""
    starts = documents.corpus.sentence_starts.tolist()
    gold = {
        (i, types.index(mention.type), *(starts[i] + edge for run in mention.runs for edge in run))
        for i, mentions in enumerate(documents.mentions) for mention in mentions if len(mention.runs) == 2
    }  # fmt: skip
    return np.array([tuple(row) in gold for row in found[:, :6].tolist()], bool)


def _regression(features: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and intercept of a logistic regression; of many wrong candidates it takes every n-th, n times."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    every = max(1, int(np.sum(~right)) // _NEGATIVES)
    rows = np.concatenate([np.flatnonzero(right), np.flatnonzero(~right)[::every]])
    weight = np.where(right[rows], 1.0, float(every))
    features = features[rows]
    there = features >= 0
    matrix = csr_matrix((np.ones(there.sum()), features[there], starts_of(there.sum(axis=1))), (len(rows), BUCKETS))
    model = LogisticRegression(C=0.2, max_iter=500, tol=1e-7).fit(matrix, right[rows], weight)
    return model.coef_[0].astype(np.float64), float(model.intercept_[0])


def _accepted(
    documents: Documents, found: np.ndarray, chances: np.ndarray, threshold: float, types: Sequence[str]
) -> list[dict[TokenMention, float]]:
    """The candidates that are taken, by sentence, and how likely each is: those above the threshold, the likeliest
    first, with pieces that fit together."""
    taken: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    mentions: list[dict[TokenMention, float]] = [{} for _ in range(len(documents.corpus))]
    for k in np.argsort(-chances, kind="stable").tolist():
        if chances[k] < threshold:
            break
        sentence, t, a, b, c, d = found[k, :6].tolist()
        mine, others = ((a, b), (c, d)), taken[sentence, t]
        if all(piece == other or piece[1] < other[0] or other[1] < piece[0] for piece in mine for other in others):
            others += mine
            first = int(documents.corpus.sentence_starts[sentence])
            tokens = (*range(a - first, b - first + 1), *range(c - first, d - first + 1))
            mentions[sentence][TokenMention(types[t], tokens)] = float(chances[k])
    return mentions


def with_pieces(mentions: Sequence[TokenMention], found: Iterable[TokenMention]) -> list[TokenMention]:
    """The mentions of a sentence together with some in pieces, without those that are parts of these."""
    added = [mention for mention in found if mention not in mentions]
    kept = [
        mention for mention in mentions
        if len(mention.runs) > 1
        or not any(mention.type == other.type and set(mention.tokens) < set(other.tokens) for other in added)
    ]  # fmt: skip
    return sorted([*kept, *added], key=lambda mention: (mention.tokens, mention.type))


@dataclass(frozen=True, eq=False)
class Pieces:
    """A classifier of candidates: what it knows of words, its ``weights`` (BUCKETS,), intercept and threshold."""

    lexicon: Lexicon
    weights: np.ndarray
    intercept: float
    threshold: float

    @classmethod
    def learn(cls, documents: Documents, parts: Sequence[Part], types: Sequence[str]) -> tuple[Pieces, float] | None:
        """From documents in parts, each with what a chain of the others says of it; and by how much F1 over all
        mentions grows where classifiers of the others add to each. None where there are not both right and wrong
        candidates."""
        held = [documents.select(part.documents) for part in parts]
        seen, right = [], []
        for part, own in zip(parts, held, strict=True):
            others = np.setdiff1d(np.arange(len(documents)), part.documents)
            seen.append(candidates_of(own, part.output, _known(documents.select(others), types), types))
            right.append(_right(own, seen[-1].candidates, types))
        chances = []
        for k, mine in enumerate(seen):
            features = np.concatenate([each.features for j, each in enumerate(seen) if j != k])
            of_others = np.concatenate([each for j, each in enumerate(right) if j != k])
            if of_others.all() or not of_others.any():
                return None
            weights, intercept = _regression(features, of_others)
            chances.append(_logistic(kernels.sums(mine.features, weights) + intercept))

        def f1(threshold: float) -> float:
            good = found = gold = 0
            for part, own, mine, chance in zip(parts, held, seen, chances, strict=True):
                added = _accepted(own, mine.candidates, chance, threshold, types)
                for truth, alone, more in zip(own.mentions, part.mentions, added, strict=True):
                    both = with_pieces(alone, more)
                    good += len(set(both) & set(truth))
                    found += len(both)
                    gold += len(truth)
            return 2 * good / max(1, found + gold)

        figures = {threshold: f1(threshold) for threshold in _THRESHOLDS.tolist()}
        threshold = max(figures, key=lambda each: figures[each])
        learned = _regression(np.concatenate([s.features for s in seen]), np.concatenate(right))
        return cls(_known(documents, types), *learned, threshold), figures[threshold] - f1(np.inf)

    def find(self, documents: Documents, output: ChainOutput, types: Sequence[str]) -> list[dict[TokenMention, float]]:
        """The mentions in two pieces of each sentence, and how likely each is."""
        seen = candidates_of(documents, output, self.lexicon, types)
        chances = _logistic(kernels.sums(seen.features, self.weights) + self.intercept)
        return _accepted(documents, seen.candidates, chances, self.threshold, types)

    def arrays(self) -> dict[str, np.ndarray]:
        bounds = np.array([self.intercept, self.threshold])
        return {"pieces/keys": self.lexicon.keys, "pieces/counts": self.lexicon.counts,
                "pieces/weights": self.weights, "pieces/bounds": bounds}  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Pieces | None:
        if "pieces/keys" not in arrays:
            return None
        keys, counts, weights, bounds = (arrays[name] for name in PIECES)
        return cls(Lexicon(index_of(keys), keys, counts), weights, float(bounds[0]), float(bounds[1]))


def _logistic(scores: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


_BUCKETS = 128  # hashed features of the words between two runs, and as many of the last and first word of the two
_EDGES = (1, 2, 3, 5, 9, 15)
_NEAR = 6  # words between runs count where there are at most this number
WIDTH = 4 + len(_EDGES) + 1 + 3 + 3 * _BUCKETS

PAIRING = {"pairing": Array("float64", (WIDTH,), finite=True, optional=True)}
Runs = dict[str, tuple[list[list[int]], list[list[int]]]]  # type -> its runs of own (D) and of shared (H) words


def runs_of_tags(tags: Sequence[str]) -> tuple[list[TokenMention], Runs]:
    """The simple mentions of a sentence, and its other runs by type."""
    runs = defaultdict[tuple[str, str], list[list[int]]](list)
    before = None
    for position, tag in enumerate(tags):
        name, _, type = tag.partition("-")
        here = None if tag == "O" else (type, name[:-1])
        if here is not None:
            if name.endswith("B") or here != before:
                runs[here].append([])
            runs[here][-1].append(position)
        before = here
    simple = [TokenMention(type, tuple(run)) for (type, which), own in runs.items() if not which for run in own]
    others = dict.fromkeys(type for type, which in runs if which)
    return simple, {type: (runs.get((type, "D"), []), runs.get((type, "H"), [])) for type in others}


def _pair(words: Sequence[str], one: list[int], other: list[int], shared: bool, between: int) -> np.ndarray:
    """The features of two runs, the earlier one first, float64 (WIDTH,)."""
    first, second = sorted((one, other))
    gap = list(words[first[-1] + 1 : second[0]])
    x = np.zeros(WIDTH)
    x[0], x[1], x[2], x[3] = 1.0, shared, one[0] < other[0], any(word in (",", ";", "/") for word in gap)
    at = 4
    x[at + int(np.searchsorted(_EDGES, len(gap), "right"))] = 1.0
    at += len(_EDGES) + 1
    x[at + min(between, 2)] = 1.0
    at += 3
    for some in (gap if len(gap) <= _NEAR else [], [words[first[-1]]], [words[second[0]]]):
        for place in (hashes_of([word.lower() for word in some]) % np.uint64(_BUCKETS)).tolist():
            x[at + place] = 1.0
        at += _BUCKETS
    return x


def _pairs(words: Sequence[str], own: list[list[int]], shared: list[list[int]]) -> dict[tuple[int, int], np.ndarray]:
    """The features of all pairs of runs of which the first is an own one; shared runs are numbered behind the own."""
    runs = own + shared
    found = {}
    for a in range(len(own)):
        for b in range(a + 1, len(runs)):
            low, high = sorted((runs[a][0], runs[b][0]))
            between = sum(low < run[0] < high for run in runs)
            found[a, b] = _pair(words, runs[a], runs[b], b >= len(own), between)
    return found


class Pairing(NamedTuple):
    """The learned classifier: ``weights`` float64 (WIDTH,)."""

    weights: np.ndarray

    @classmethod
    def learn(cls, sentences: Sequence[tuple[Sequence[str], Sequence[TokenMention]]]) -> Pairing | None:
        """From sentences with their mentions; None where there are not both pairs that go together and others."""
        rows, right = [], []
        for words, mentions in sentences:
            _, runs = runs_of_tags(tags_of_mentions(mentions, len(words)).tags)
            for type, (own, shared) in runs.items():
                together = [set(mention.tokens) for mention in mentions if mention.type == type]
                both = own + shared
                for (a, b), x in _pairs(words, own, shared).items():
                    rows.append(x)
                    right.append(any(both[a][0] in each and both[b][0] in each for each in together))
        if len(set(right)) < 2:
            return None
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000, tol=1e-6).fit(np.array(rows), right)
        return cls(model.coef_[0].astype(np.float64))

    def join(self, words: Sequence[str], tags: Sequence[str]) -> list[TokenMention]:
        """The mentions that the tags of a sentence stand for."""
        found, runs = runs_of_tags(tags)
        for type, (own, shared) in runs.items():
            sure = {pair: float(_logistic(x @ self.weights)) for pair, x in _pairs(words, own, shared).items()}
            for group in self._groups(own, shared, sure):
                found.append(TokenMention(type, tuple(sorted(group))))
        return sorted(set(found), key=lambda mention: (mention.tokens, mention.type))

    @staticmethod
    def _groups(own: list[list[int]], shared: list[list[int]], sure: dict[tuple[int, int], float]) -> list[list[int]]:
        if not own:
            return [[token for run in shared for token in run]]
        if shared:
            likely = np.array([[sure[a, len(own) + h] for h in range(len(shared))] for a in range(len(own))])
            chosen = likely > 0.5
            chosen[np.arange(len(own)), likely.argmax(axis=1)] = True
            left = np.flatnonzero(~chosen.any(axis=0))
            chosen[likely[:, left].argmax(axis=0), left] = True
            return [
                [*run, *(token for h in np.flatnonzero(chosen[a]) for token in shared[h])] for a, run in enumerate(own)
            ]
        clusters = [[a] for a in range(len(own))]
        while len(clusters) > 1:
            means = {
                (i, j): float(np.mean([sure[min(a, b), max(a, b)] for a in clusters[i] for b in clusters[j]]))
                for i in range(len(clusters)) for j in range(i + 1, len(clusters))
            }  # fmt: skip
            i, j = max(means, key=lambda pair: (means[pair], -pair[0], -pair[1]))
            if means[i, j] <= 0.5:
                break
            clusters[i] += clusters.pop(j)
        return [[token for a in cluster for token in own[a]] for cluster in clusters]
