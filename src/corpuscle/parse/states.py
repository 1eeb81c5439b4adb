"""The states behind the observables of ``latent``: recovered from them, and polished by EM.

With exact moments D(y) = G diag(G'y) G^-1 for every y, so the eigenvectors of D for a random y are the columns of G,
and all parameters follow. With estimates they are numbers near probabilities, some of them negative; without those
they are where EM starts, which otherwise starts at random and ends anywhere.

Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", 2009, appendix C; ``kernels.latent_em``
for EM.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corpuscle.parse.kernels.latent import Observables, Trees
from corpuscle.parse.kernels.latent_em import Expectations, States, expect, expectations_for, up_down
from corpuscle.random import Random
from corpuscle.scale import chunks_of, each
from corpuscle.text.vocab import END

_TRIES = 20
_WORST = 1e12
"""Eigenvectors of a larger condition number are not states."""
_SMALLEST = 1e-6
_FLOOR = 1e-3
"""What a distribution has at least, as a part of the uniform one, where states are recovered."""
_PRIOR = 1e-3
"""Added to expected counts."""
_WORDS = 1 << 16
"""About so many words have their expectations in one sum."""


def recovered(model: Observables, seed: int = 1) -> Observables:
    """The same model in the basis of its states, made of probabilities: with G the eigenvectors of D(y) for a random y,
    scaled so that c_inf' G = 1', they are G^-1 E G, G'a and G^-1 c_1, without what is negative. So every tree has a
    positive value. Of several y that is taken whose eigenvectors come closest to diagonalising the others' D."""
    rank = len(model.start)
    random = Random(seed, "parse.latent.recovery")
    tries = [np.tensordot(2.0 * random.uniforms(rank) - 1.0, model.maps, 1) for _ in range(_TRIES)]

    def misfit(vectors: np.ndarray) -> float:
        if np.linalg.cond(vectors) > _WORST:
            return np.inf
        turned = np.linalg.solve(vectors, np.array(tries) @ vectors)
        diagonal = (np.einsum("mii->mi", turned).real ** 2).sum()
        return float((np.abs(turned) ** 2).sum() / diagonal)

    states = min((np.linalg.eig(matrix)[1] for matrix in tries), key=misfit)
    scale = model.end @ states
    states = states / np.where(np.abs(scale) > _SMALLEST, scale, 1.0)
    back = np.linalg.inv(states)

    def shares(array: np.ndarray, axis: int) -> np.ndarray:
        kept = np.maximum(array.real, 0.0) + _FLOOR / array.shape[axis]
        return np.ascontiguousarray(kept / kept.sum(axis=axis, keepdims=True))

    steps = shares(back @ model.steps @ states, 1)
    duals = shares(model.duals @ states, 0)
    unit = np.eye(rank)
    of_tags = np.einsum("tii->ti", back @ model.tags @ states)
    tags = shares(of_tags, 0)[:, :, None] * unit if len(of_tags) else model.tags
    stops = duals[END] @ steps if len(model.stops) else model.stops
    return Observables(
        shares(back @ model.start, 0), np.ones(rank), steps, np.ascontiguousarray(unit[:, :, None] * unit[:, None, :]),
        duals, model.operators, np.ascontiguousarray(tags), np.ascontiguousarray(stops),
    )  # fmt: skip


def _states(model: Observables) -> States:
    """Recovered observables as the probabilities that they are."""
    tags = np.ascontiguousarray(np.einsum("tii->ti", model.tags))
    return States(model.start, model.steps, model.duals, tags, model.stops)


def _expected(trees: Trees, states: States, workers: int | None) -> Expectations:
    """Expected counts of all trees, those of stops too."""
    lengths = np.diff(trees.starts)

    def work(piece: tuple[int, int]) -> Expectations:
        found = expectations_for(states)
        expect(trees, *piece, states, up_down(int(lengths[slice(*piece)].max()), len(states.start)), found)
        return found

    whole = expectations_for(states)
    for part in each(work, list(pairwise(chunks_of(lengths + 1, _WORDS).tolist())), workers):
        for total, more in zip(whole, part, strict=True):
            total += more
    for side in range(len(states.stops)):
        both = whole.stopped / states.stops[side] * states.steps[side] * states.words[END][:, None]
        whole.steps[side] += both
        whole.words[END] += both.sum(axis=1)
    return whole


def polished(
    model: Observables, trees: Trees, passes: int, workers: int | None = None
) -> tuple[Observables, list[float]]:
    """Recovered observables after so many passes of EM on trees, and the log likelihood before each of them."""
    history: list[float] = []
    for _ in range(passes):
        counts = _expected(trees, _states(model), workers)
        history.append(float(counts.log[0]))

        def shares(array: np.ndarray, axis: int) -> np.ndarray:
            smoothed = array + _PRIOR
            return np.ascontiguousarray(smoothed / smoothed.sum(axis=axis, keepdims=True))

        steps, words = shares(counts.steps, 1), shares(counts.words, 0)
        tags = shares(counts.tags, 0)[:, :, None] * np.eye(len(model.start)) if len(model.tags) else model.tags
        model = model._replace(
            start=shares(counts.start, 0), steps=steps, duals=words, tags=np.ascontiguousarray(tags),
            stops=np.ascontiguousarray(words[END] @ steps) if len(model.stops) else model.stops,
        )  # fmt: skip
    return model, history
