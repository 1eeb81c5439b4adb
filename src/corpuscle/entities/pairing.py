"""Which pieces belong together: a classifier of pairs of runs, in place of a fixed rule.

Tags say which words are parts of complex mentions, not which parts go together when a sentence has several. For each
two runs of D and H words of one type a logistic model says how likely they are parts of one mention, from how far they
are apart, what stands between them, and what they are. Every D run then takes the H runs that are likelier than not to
go with it, at least the likeliest one, and no H run is left alone; without H runs, D runs are joined as long as the
mean over their pairs is above one half. Learned from the training mentions.

Day and Edelsbrunner, "Efficient algorithms for agglomerative hierarchical clustering methods", 1984, for average
linkage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from corpuscle.hashing import hashes_of
from corpuscle.model import Array
from corpuscle.text.mention_tags import TokenMention, tags_of_mentions

_BUCKETS = 128
"""Words between two runs, and the last and first word of the two, are hashed to so many numbers each."""
_EDGES = (1, 2, 3, 5, 9, 15)
_NEAR = 6
"""Words between runs count where there are at most so many."""
WIDTH = 4 + len(_EDGES) + 1 + 3 + 3 * _BUCKETS

PAIRING = {"pairing": Array("float64", (WIDTH,), finite=True, optional=True)}
Runs = dict[str, tuple[list[list[int]], list[list[int]]]]
"""Type -> its runs of own (D) and of shared (H) words."""


def runs_of_tags(tags: Sequence[str]) -> tuple[list[TokenMention], Runs]:
    """The simple mentions of a sentence, and its other runs by type."""
    simple: list[TokenMention] = []
    runs: Runs = defaultdict(lambda: ([], []))
    before = ("", "")
    current: list[int] = []
    for position, tag in enumerate([*tags, "O"]):
        name, _, type = tag.partition("-")
        family = name[:-1]
        if tag == "O" or name.endswith("B") or (type, family) != before:
            if current:
                kind, which = before
                if which:
                    runs[kind][which == "H"].append(current)
                else:
                    simple.append(TokenMention(kind, tuple(current)))
            current = []
        if tag != "O":
            current = [*current, position]
        before = ("", "") if tag == "O" else (type, family)
    return simple, dict(runs)


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
    parts = (gap if len(gap) <= _NEAR else [], [words[first[-1]]], [words[second[0]]])
    for some in parts:
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


class Pairing:
    """The learned classifier: ``weights`` float64 (WIDTH,)."""

    def __init__(self, weights: np.ndarray):
        self.weights = weights

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
            sure = {pair: float(1 / (1 + np.exp(-np.clip(x @ self.weights, -30, 30))))
                    for pair, x in _pairs(words, own, shared).items()}  # fmt: skip
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
