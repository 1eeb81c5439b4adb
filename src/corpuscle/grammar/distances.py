"""Distances between tags from the vectors of the words that have them.

Two words whose latent parents are near co-vary strongly. With S(s, t, delta) the sum of w w'^T over all pairs of words
with tags s and t, delta words apart, N their number, and a kernel that shares what is seen at similar distances,

    K(delta, delta') = max(0, 1 - |delta - delta'| / (delta + delta') / gamma)        (graded; binary: 1 where > 0)
    Sigma(s, t, delta) = sum_delta' K S(s, t, delta') / sum_delta' K N(s, t, delta')
    d(s, t, delta) = - log LAM(Sigma(s, t, delta)) + 1/2 log LAM(Sigma(s, s, 0)) + 1/2 log LAM(Sigma(t, t, 0))

where LAM is the product of the m largest singular values and Sigma(s, s, 0) the uncentred second moment of a tag. Along
the latent tree such distances add up. A pair seen less than m times in effect has no rank m: then all its distances are
taken together, and if that is still too little, the largest distance of the table is its own.

Symbols may be finer than tags (a tag with a word class). The moments of a pair of symbols are shrunk to those of their
tags: (sum K S + backoff Sigma of the tags) / (sum K N + backoff).

Parikh, Cohen and Xing, "Spectral unsupervised parsing with additive tree metrics", 2014, eq. 1-2 and section 4.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.scale import workers

_SMALLEST = 1e-8


class Words(NamedTuple):
    """The words of a text: ``symbols`` int64 (n,); ``starts`` int64 (n_sentences + 1,); ``vectors`` float64 (n, p);
    ``tags`` int64 (n_symbols,): the symbol that stands for the tag of a symbol, itself where it is one."""

    symbols: np.ndarray
    starts: np.ndarray
    vectors: np.ndarray
    tags: np.ndarray


class Estimator(NamedTuple):
    """``rank`` m, ``gamma``, whether the kernel is ``graded``, the greatest ``distance``, and ``backoff``."""

    rank: int
    gamma: float
    graded: bool
    distance: int
    backoff: float


def smoothing(estimator: Estimator) -> np.ndarray:
    """The kernel, float64 (distance, distance); row and column 0 are for words one apart."""
    delta = np.arange(1, estimator.distance + 1, dtype=np.float64)
    apart = np.abs(delta[:, None] - delta) / (delta[:, None] + delta)
    kernel = np.maximum(0.0, 1.0 - apart / estimator.gamma)
    return kernel if estimator.graded else (kernel > 0).astype(np.float64)


def _log_volume(moments: np.ndarray, rank: int) -> np.ndarray:
    """The sum of logarithms of the largest singular values of matrices (..., p, p)."""
    values = np.linalg.svd(moments, compute_uv=False)[..., :rank]
    return np.log(np.maximum(values, _SMALLEST)).sum(axis=-1)


class _Sums(NamedTuple):
    """For one left symbol: ``moments`` float64 (symbols, distance, p, p) and ``counts`` (symbols, distance)."""

    moments: np.ndarray
    counts: np.ndarray


def _sums(members: np.ndarray, labels: np.ndarray, n_labels: int, words: Words, distance: int) -> _Sums:
    """The sums over pairs whose left words are ``members``, by the label of the right word."""
    p = words.vectors.shape[1]
    moments, counts = np.zeros((n_labels, distance, p, p)), np.zeros((n_labels, distance))
    ends = words.starts[np.searchsorted(words.starts, members, side="right")]
    for delta in range(1, distance + 1):
        good = members + delta < ends
        left = members[good]
        if len(left) == 0:
            break
        label = labels[left + delta]
        order = np.argsort(label, kind="stable")
        bounds = np.searchsorted(label[order], np.arange(n_labels + 1))
        counts[:, delta - 1] = np.diff(bounds)
        for which in np.flatnonzero(counts[:, delta - 1]).tolist():
            at = left[order[bounds[which] : bounds[which + 1]]]
            moments[which, delta - 1] = words.vectors[at].T @ words.vectors[at + delta]
    return _Sums(moments, counts)


class _Row(NamedTuple):
    """A row of the table: ``values`` float64 (symbols, distance), NaN where there is too little; ``sigmas``: the
    smoothed moments of a tag and the effective ``counts``, for what is shrunk to them."""

    values: np.ndarray
    sigmas: np.ndarray
    counts: np.ndarray


def _smoothed(sums: _Sums, estimator: Estimator) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts by kernel weights, (symbols, distance, p, p) and (symbols, distance)."""
    kernel = smoothing(estimator)
    return np.einsum("de,sepq->sdpq", kernel, sums.moments, optimize=True), sums.counts @ kernel.T


def _tag_row(tag: int, broadcast: tuple[Words, Estimator, np.ndarray]) -> _Row:
    words, estimator, _ = broadcast
    of_words = words.tags[words.symbols]
    sums = _sums(np.flatnonzero(of_words == tag), of_words, len(words.tags), words, estimator.distance)
    moments, counts = _smoothed(sums, estimator)
    little = counts < estimator.rank
    total, number = sums.moments.sum(axis=1), sums.counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        everywhere = (total / number[:, None, None])[:, None]
        sigmas = np.where(little[..., None, None], everywhere, moments / counts[..., None, None])
    effective = np.where(little, number[:, None], counts)
    values = np.full(counts.shape, np.nan)
    enough = effective >= estimator.rank
    values[enough] = -_log_volume(sigmas[enough], estimator.rank)
    return _Row(values, sigmas, counts)


def _fine_row(symbol: int, broadcast: tuple[Words, Estimator, np.ndarray]) -> np.ndarray:
    """Distances from one symbol to all symbols, shrunk to those of its tag: float64 (symbols, distance)."""
    words, estimator, table = broadcast
    tag = int(words.tags[symbol])
    coarse = _tag_row(tag, broadcast)
    values = table[tag][words.tags].copy()
    sums = _sums(np.flatnonzero(words.symbols == symbol), words.symbols, len(words.tags), words, estimator.distance)
    moments, counts = _smoothed(sums, estimator)
    base = coarse.sigmas[words.tags]
    seen = (counts > 0) & np.isfinite(coarse.values[words.tags])
    mixed = (moments[seen] + estimator.backoff * base[seen]) / (counts[seen] + estimator.backoff)[:, None, None]
    values[seen] = -_log_volume(mixed, estimator.rank)
    return values


def _own(words: Words, estimator: Estimator) -> np.ndarray:
    """1/2 log LAM of the second moment of every symbol, float64 (symbols,)."""
    own, of_words = np.zeros(len(words.tags)), words.tags[words.symbols]

    def moment(at: np.ndarray) -> np.ndarray:
        return words.vectors[at].T @ words.vectors[at]

    for symbol, tag in enumerate(words.tags.tolist()):
        coarse = of_words == tag
        if coarse.any():
            mean = moment(coarse) / coarse.sum()
            if tag != symbol:
                at = words.symbols == symbol
                mean = (moment(at) + estimator.backoff * mean) / (at.sum() + estimator.backoff)
            own[symbol] = 0.5 * _log_volume(mean, estimator.rank)
    return own


def distance_table(
    words: Words, estimator: Estimator, threads: int | None = None, cluster: object = None
) -> np.ndarray:
    """All distances, float64 (symbols, symbols, distance + 1), entry 0 of the last axis 0; finite."""
    n = len(words.tags)
    tags = np.flatnonzero(words.tags == np.arange(n))
    own = _own(words, estimator)
    table = np.full((n, n, estimator.distance), np.nan)
    with workers(threads, cluster) as pool:
        for tag, row in zip(tags, pool.map(_values_of_tag, tags.tolist(), (words, estimator, table)), strict=True):
            table[tag] = row
        table[tags] = table[tags][:, words.tags]
        fine = [symbol for symbol in range(n) if words.tags[symbol] != symbol]
        for symbol, values in zip(fine, pool.map(_fine_row, fine, (words, estimator, table)), strict=True):
            table[symbol] = values
    table += own[:, None, None] + own[None, :, None]
    largest = np.nanmax(table) if np.isfinite(table).any() else 1.0
    result = np.zeros((n, n, estimator.distance + 1))
    result[..., 1:] = np.where(np.isfinite(table), table, largest)
    return result


def _values_of_tag(tag: int, broadcast: tuple[Words, Estimator, np.ndarray]) -> np.ndarray:
    return _tag_row(tag, broadcast).values
