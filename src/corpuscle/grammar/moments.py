"""Moments of features of nodes, and what follows from them: operators of rules, in place of probabilities of states.

For every label a, with the features phi of a node's own tree and psi of what is around it (every node of every tree,
with weight one):

    Om_a = mean of phi psi',  its singular vectors U_a, V_a;  y = U_a' phi,  z = V_a' psi,  Sig_a = mean of y z'
    E_(a -> b c)[k, l, r] = (1 / M_a) sum over nodes with the rule of z[k] y_left[l] y_right[r]
    C_(a -> b c)[u, l, r] = sum_k Sig_a^-1[k, u] E[k, l, r];  c_(a -> x) = ((1 / M_a) sum of z) Sig_a^-1
    root_a = (1 / trees) sum over roots a of y

With exact moments the product of operators along a tree is its probability (checked in the tests). Drawing one node of
each tree, as the paper has it, is not enough: the chance of a node depends on the size of its tree, which ties inside
to outside. Rules and words that are rare are smoothed: a mean of three vectors by means of two and of one, with weight
sqrt(n) / (C + sqrt(n)) for n occurrences.

Cohen, Stratos, Collins, Foster and Ungar, "Spectral learning of latent-variable PCFGs", 2012, figure 3 and theorem 2;
smoothing as in Cohen et al., "Experiments with spectral learning of latent-variable PCFGs", 2013, section 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator

from corpuscle.engine.linalg.lowrank import krylov_svd
from corpuscle.grammar.tables import Counted, Tables

_DENSE = 60


class Moments(NamedTuple):
    """Projected features of all nodes: ``inside`` and ``outside`` float64 (n_nodes, most), 0 beyond the rank of a
    node's label; ``ranks`` int64 (n_symbols,); ``values`` float64 (n_symbols, most), the singular values."""

    inside: np.ndarray
    outside: np.ndarray
    ranks: np.ndarray
    values: np.ndarray


class Operators(NamedTuple):
    """``starts`` int64 (n_rules,) and ``values`` float64: the tensors of rules, one after the other; ``root`` float64
    (n_symbols, most); ``pairs`` float64 (n_pairs, most), ``tags`` float64 (n_tags, most): see ``Directions``."""

    starts: np.ndarray
    values: np.ndarray
    root: np.ndarray
    pairs: np.ndarray
    tags: np.ndarray


def _cross(phi: csr_array, psi: csr_array, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first singular vectors and values of phi' psi / n."""
    n = phi.shape[0]
    if min(phi.shape[1], psi.shape[1]) <= _DENSE or k + 8 >= min(phi.shape[1], psi.shape[1]):
        left, values, right = np.linalg.svd((phi.T @ psi).toarray() / n, full_matrices=False)
        return left[:, :k], values[:k], right[:k].T
    operator = LinearOperator(
        (phi.shape[1], psi.shape[1]), matvec=lambda v: phi.T @ (psi @ v) / n, rmatvec=lambda v: psi.T @ (phi @ v) / n,
        matmat=lambda v: phi.T @ (psi @ v) / n, rmatmat=lambda v: psi.T @ (phi @ v) / n, dtype=np.float64,
    )  # fmt: skip
    found = krylov_svd(operator, k, width=k, rounds=6, seed=seed)
    return found.left, found.values, found.right


def _used(features: csr_array, kappa: float) -> csr_array:
    """The columns that are not empty, scaled by sqrt(n / (count + kappa)) where kappa is not negative."""
    counts = np.asarray((features != 0).sum(axis=0)).ravel()
    features = csr_array(features[:, np.flatnonzero(counts)])
    if kappa < 0:
        return features
    return features @ diags_array(np.sqrt(features.shape[0] / (counts[counts > 0] + kappa)))


def project(
    symbols: np.ndarray, phi: csr_array, psi: csr_array, most: np.ndarray, *, kappa: float, tolerance: float, seed: int
) -> Moments:
    """Project the features of all nodes; ``most`` int64 (n_symbols,) bounds the ranks, ``kappa`` below 0 leaves
    features as they are."""
    n, width = len(symbols), int(most.max())
    inside, outside = np.zeros((n, width)), np.zeros((n, width))
    ranks, singular = np.ones(len(most), np.int64), np.zeros((len(most), width))
    order = np.argsort(symbols, kind="stable")
    edges = np.searchsorted(symbols[order], np.arange(len(most) + 1))
    for a in range(len(most)):
        rows = order[edges[a] : edges[a + 1]]
        if len(rows) == 0:
            continue
        mine, around = _used(phi[rows], kappa), _used(psi[rows], kappa)
        left, values, right = _cross(mine, around, int(min(most[a], *mine.shape, around.shape[1])), seed)
        rank = max(1, int((values > tolerance * values[0]).sum()))
        ranks[a], singular[a, :rank] = rank, values[:rank]
        inside[rows, :rank], outside[rows, :rank] = mine @ left[:, :rank], around @ right[:, :rank]
    return Moments(inside, outside, ranks, singular)


def _groups(keys: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The items of each key: their numbers in order of keys (those below 0 left out), and where each key begins."""
    order = np.argsort(keys, kind="stable")
    return order, np.searchsorted(keys[order], np.arange(count + 1))


def _mean_by(keys: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """The mean of the rows of each key, float64 (count, width)."""
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, keys, rows)
    return sums / np.maximum(np.bincount(keys, minlength=count), 1)[:, None]


def _weight(occurrences: Any, smoothing: float) -> Any:
    root = np.sqrt(occurrences)
    return root / (smoothing + root)


def _smooth(
    z: np.ndarray, left: np.ndarray, right: np.ndarray, means: list[np.ndarray], smoothing: float
) -> np.ndarray:
    """The mean of z x left x right over the nodes of a rule, smoothed."""
    three = np.einsum("nk,nl,nr->klr", z, left, right, optimize=True) / len(z)
    if smoothing == 0:
        return three
    weight = _weight(len(z), smoothing)
    own = [each.mean(axis=0) for each in (z, left, right)]
    two = (
        np.einsum("kl,r->klr", z.T @ left / len(z), own[2]) + np.einsum("kr,l->klr", z.T @ right / len(z), own[1])
        + np.einsum("lr,k->klr", left.T @ right / len(z), own[0])
    ) / 3  # fmt: skip
    single = [weight * mine + (1 - weight) * general for mine, general in zip(own, means, strict=True)]
    one = np.einsum("k,l,r->klr", *single)
    return weight * three + (1 - weight) * (weight * two + (1 - weight) * one)


def operators_of(counted: Counted, tables: Tables, moments: Moments, smoothing: float) -> Operators:
    """Operators of rules, words and roots from projected features."""
    nodes, ranks, n_phrases = counted.nodes, moments.ranks, tables.symbols.n_phrases
    symbols = nodes.symbols.astype(np.int64)
    n_symbols = len(ranks)
    sizes = np.bincount(symbols, minlength=n_symbols)
    inverse = np.zeros((n_symbols, moments.inside.shape[1], moments.inside.shape[1]))
    order, edges = _groups(symbols, n_symbols)
    for a in range(n_symbols):
        rows, m = order[edges[a] : edges[a + 1]], ranks[a]
        if len(rows):
            inverse[a, :m, :m] = np.linalg.inv(moments.inside[rows, :m].T @ moments.outside[rows, :m] / len(rows))
    around = _mean_by(symbols, moments.outside, n_symbols)
    phrase = np.flatnonzero(counted.rules >= 0)
    lefts, rights = nodes.lefts[phrase], nodes.rights[phrase]
    as_left, as_right = (
        _mean_by(symbols[child], moments.inside[child], n_symbols) for child in (lefts, rights)
    )  # fmt: skip
    order, edges = _groups(counted.rules, len(tables.counts))
    blocks, rules = [], tables.rules
    for r in range(len(tables.counts)):
        rows = order[edges[r] : edges[r + 1]]
        a, b, c = rules.parents[r], rules.lefts[r], rules.rights[r]
        views = (
            moments.outside[rows, : ranks[a]], moments.inside[nodes.lefts[rows], : ranks[b]],
            moments.inside[nodes.rights[rows], : ranks[c]],
        )  # fmt: skip
        means = [around[a, : ranks[a]], as_left[b, : ranks[b]], as_right[c, : ranks[c]]]
        mean = _smooth(*views, means, smoothing) * (len(rows) / sizes[a])
        blocks.append(np.einsum("ku,klr->ulr", inverse[a, : ranks[a], : ranks[a]], mean).ravel())
    starts = np.cumsum([0, *(len(block) for block in blocks)])[:-1].astype(np.int64)
    root = np.zeros((n_symbols, moments.inside.shape[1]))
    np.add.at(root, symbols[counted.roots], moments.inside[counted.roots])
    tags = np.flatnonzero(counted.pairs >= 0)
    table = tables.lexicon.counts
    of_pair = _mean_by(counted.pairs[tags], moments.outside[tags], table.nnz)
    seen = np.bincount(counted.pairs[tags], minlength=table.nnz)[:, None]
    weight = _weight(seen, smoothing) if smoothing > 0 else (seen > 0) * 1.0
    general = around[n_phrases:]
    of_pair = weight * of_pair + (1 - weight) * general[table.indices]
    return Operators(
        starts, np.concatenate([np.empty(0), *blocks]), root / len(counted.roots),
        np.einsum("nk,nku->nu", of_pair, inverse[n_phrases + table.indices]),
        np.einsum("nk,nku->nu", general, inverse[n_phrases:]),
    )  # fmt: skip
