"""A hidden Markov model whose parameters are known: the truth that estimates are measured by."""

from __future__ import annotations

import itertools

import numpy as np

from corpuscle.lm.kernels.spectral import Parameters, Windows
from corpuscle.text import Corpus


def windows_of_moments(moments: np.ndarray) -> Windows:
    """Windows as likely as ``moments[c, x, a]`` = p(x3 = c, x2 = x, x1 = a), (n, n, n)."""
    n = len(moments)
    ids, edges = np.arange(n, dtype=np.int32), n * np.arange(n * n + 1)
    shares = np.ascontiguousarray(moments.transpose(1, 2, 0))
    firsts, lasts = np.tile(ids, n), np.tile(ids, n * n)
    return Windows(firsts, n * np.arange(n + 1), shares.sum(2).ravel(), edges[:-1], edges[1:], lasts, shares.ravel())


class Truth:
    """A random hidden Markov model whose sentences have an end: k states, the end state, n words and the end symbol,
    which comes last. ``first`` (k + 1,), ``steps[i, j]`` from j to i, ``emission`` (n + 1, k + 1). The less even its
    distributions, the easier it is to tell the states apart."""

    def __init__(self, seed: int, k: int = 3, n: int = 7, stop: float = 0.25, evenness: float = 1.0):
        self.dice = np.random.default_rng(seed)
        self.k, self.end = k, n
        self.first = np.append(self.dice.dirichlet(np.ones(k)) * 0.9, 0.1)
        self.steps = np.zeros((k + 1, k + 1))
        self.steps[:k, :k] = self.dice.dirichlet(np.full(k, evenness), k).T * (1 - stop)
        self.steps[k, :k], self.steps[k, k] = stop, 1.0
        self.emission = np.zeros((n + 1, k + 1))
        self.emission[:n, :k] = self.dice.dirichlet(np.full(n, evenness), k).T
        self.emission[n, k] = 1.0

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.first, self.steps, self.emission)

    def probability(self, symbols) -> float:
        """The matrix form."""
        state = self.first
        for symbol in symbols:
            state = self.steps @ (self.emission[symbol] * state)
        return float(state.sum())

    def moments(self, pads: int = 3) -> np.ndarray:
        """p(x3, x2, x1) over all windows of all sentences, each with so many end symbols; (n + 1, n + 1, n + 1)."""
        # The expected number of windows that begin in each ordinary state, and in the end state `pads - 2` times.
        visits = np.linalg.solve(np.eye(self.k) - self.steps[: self.k, : self.k], self.first[: self.k])
        total = np.zeros((self.end + 1,) * 3)
        for state, weight in enumerate([*visits, max(0, pads - 2)]):
            total += weight * self.windows_from(state)
        if pads == 1:  # windows that would begin with the last word do not exist
            total[self.end, self.end] = 0.0
        return total / total.sum()

    def windows_from(self, state: int) -> np.ndarray:
        emission, steps = self.emission, self.steps
        return np.einsum("a,i,xi,ji,cj->cxa", emission[:, state], steps[:, state], emission, steps, emission)

    @property
    def opening(self) -> np.ndarray:
        return self.emission @ self.first

    def sentences(self, longest: int):
        for m in range(longest + 1):
            for words in itertools.product(range(self.end), repeat=m):
                yield np.array([*words, self.end], np.int32)

    def draw(self, sentences: int) -> list[list[int]]:
        """Random sentences, all of them one word further at a time."""

        def choose(distributions: np.ndarray) -> np.ndarray:  # (outcomes, items), one outcome for each item
            below = np.cumsum(distributions, axis=0) <= self.dice.random(distributions.shape[1])
            return np.minimum(below.sum(axis=0), len(distributions) - 1)

        texts: list[list[int]] = [[] for _ in range(sentences)]
        alive, states = np.arange(sentences), choose(np.repeat(self.first[:, None], sentences, axis=1))
        while len(alive):
            alive, states = alive[states != self.k], states[states != self.k]
            for text, word in zip(alive.tolist(), choose(self.emission[:, states]).tolist(), strict=True):
                texts[text].append(word)
            states = choose(self.steps[:, states])
        return texts

    def corpus(self, sentences: int) -> Corpus:
        """A text of the model, whose words are a, b, c, ..."""
        return Corpus.from_sentences([[chr(97 + word) for word in words] for words in self.draw(sentences)])

    def perplexity(self, corpus: Corpus) -> float:
        """The perplexity of such a text under the truth, sentence ends included."""
        logs = [np.log(self.probability([*(ord(word) - 97 for word in words), self.end])) for words in corpus]
        return float(np.exp(-sum(logs) / (corpus.n_tokens + len(corpus))))
