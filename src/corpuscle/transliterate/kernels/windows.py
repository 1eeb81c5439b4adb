"""Which piece stands at a place, judged by the symbols around it: logistic regression over windows of a source.

A piece is a few source symbols together with what they become. At a place of a source all pieces compete whose source
symbols stand there, each with a probability in proportion to exp(sum of its weights), one for each feature of the
place. Features are the stretches of symbols that contain the place or end right before it, within ``radius`` of it,
and, since spelling conventions hold for a whole source, its single symbols and bigrams wherever they are. A feature
together with a piece has its weight at a hash of both, so the table of weights has a fixed size. Weights are learned
one place at a time with steps of their own (AdaGrad), in a seeded order.

Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011;
Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature hashing for large scale multitask learning", 2009.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.random import Random, mix
from corpuscle.scale import chunks_of

WEIGHTS = 1 << 20
"""How many weights there are, a power of two."""

RIVALS = 100
"""The largest number of pieces that compete at a place: the most frequent ones that begin with its symbol."""

FLOOR = -9.0
"""The log probability of a piece that does not compete."""

RATE, SPREAD, NEGLIGIBLE = 0.1, 0.1, 1e-3
"""The first step is RATE / sqrt(SPREAD) times the gradient; gradients below NEGLIGIBLE are none."""

_SLICE = 10_000  # symbols per call of the kernel


class Windows(NamedTuple):
    """Pieces and their weights.

    - ``first``: int64 (n_symbols + 1,), the competing pieces that begin with symbol s are ``pieces[first[s]]`` to
      ``pieces[first[s + 1]]``, int32;
    - ``starts``: int64 (n_pieces + 1,), ``symbols``: int32: the source symbols of every piece; ``counts``: int64
      (n_pieces,), how often each was seen;
    - ``radius``: how far a place looks; ``weights``: float32 (WEIGHTS,).

    All arrays are empty where there is no such model.
    """

    first: np.ndarray
    pieces: np.ndarray
    starts: np.ndarray
    symbols: np.ndarray
    counts: np.ndarray
    radius: int
    weights: np.ndarray


def windows(
    starts: np.ndarray,
    symbols: np.ndarray,
    counts: np.ndarray,
    n_symbols: int,
    radius: int,
    weights: np.ndarray | None = None,
) -> Windows:
    """The competition of pieces with these source symbols (CSR) and counts; without ``weights`` all of them are 0."""
    begins = np.flatnonzero((np.diff(starts) > 0) & (counts > 0))
    symbol = symbols[starts[begins]]
    order = np.lexsort((begins, -counts[begins], symbol))
    begins, symbol = begins[order], symbol[order]
    rank = np.arange(len(begins)) - np.searchsorted(symbol, symbol)
    begins, symbol = begins[rank < RIVALS], symbol[rank < RIVALS]
    return Windows(
        frozen(np.searchsorted(symbol, np.arange(n_symbols + 1)), np.int64),
        frozen(begins, np.int32),
        frozen(starts, np.int64),
        frozen(symbols, np.int32),
        frozen(counts, np.int64),
        radius,
        np.zeros(WEIGHTS, np.float32) if weights is None else np.array(weights, np.float32),
    )


class Room(NamedTuple):
    """Buffers for one place: features, uint64; rivals, int32; their scores, float64."""

    features: np.ndarray
    rivals: np.ndarray
    scores: np.ndarray


def room(radius: int, longest: int) -> Room:
    return Room(np.empty(2 * longest + (radius + 2) ** 2, np.uint64), np.empty(RIVALS, np.int32), np.empty(RIVALS))


@part(bare=True)
def _whole(source, features):
    """Write the features that a source has at all its places, its symbols and bigrams; returns their number."""
    k = np.int64(0)
    for i in range(len(source)):
        features[k] = mix(np.uint64(source[i]) << np.uint64(8))
        k += 1
        if i > 0:
            features[k] = mix(features[k - 1] + np.uint64(source[i - 1]) + np.uint64(1))
            k += 1
    return k


@part(bare=True)
def _nearby(source, place, radius, features, k):
    """Add the features of a place: stretches, with one symbol for either end; returns the number of all features."""
    n = len(source)
    for begin in range(max(-1, place - radius), place + 1):
        key = mix(np.uint64(place - begin + 1) << np.uint64(40))
        for end in range(begin, min(n, begin + radius) + 1):
            symbol = 1 if end < 0 else 2 if end == n else source[end] + 3
            key = mix(key + np.uint64(symbol))
            if end >= place - 1:  # the hash of a stretch goes on from that of the shorter one
                features[k] = key
                k += 1
    return k


@part(bare=True)
def _compete(windows, source, place, n_features, room):
    """Find the pieces that fit a place and their log probabilities; returns how many there are."""
    symbol, n = np.int64(source[place]), 0
    top = -np.inf
    mask = np.uint64(len(windows.weights) - 1)
    for p in range(windows.first[symbol], windows.first[symbol + 1]):
        piece = windows.pieces[p]
        begin, length = windows.starts[piece], windows.starts[piece + 1] - windows.starts[piece]
        if place + length > len(source):
            continue
        fits = True
        for i in range(1, length):
            if windows.symbols[begin + i] != source[place + i]:
                fits = False
                break
        if not fits:
            continue
        own, score = mix(np.uint64(piece)), 0.0
        for k in range(n_features):
            score += windows.weights[np.int64(_weight_of(room.features[k], own) & mask)]
        room.rivals[n], room.scores[n] = piece, score
        top = max(top, score)
        n += 1
    total = 0.0
    for r in range(n):
        total += np.exp(room.scores[r] - top)
    total = np.log(total) + top
    for r in range(n):
        room.scores[r] -= total
    return n


@part(bare=True)
def _weight_of(feature, piece):
    """The hash of a feature together with a piece: the number of their weight, with more bits than are needed."""
    return ((feature ^ piece) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24)


@part(bare=True)
def judge(windows, source, room, out):
    """The log probability of every piece at every place of a source: float64 (n_places, n_pieces) in ``out``."""
    whole = _whole(source, room.features)
    for place in range(len(source)):
        out[place, :] = FLOOR
        n = _compete(windows, source, place, _nearby(source, place, windows.radius, room.features, whole), room)
        for r in range(n):
            out[place, room.rivals[r]] = max(FLOOR, room.scores[r])


@kernel(bare=True)
def _learn(windows, squares, source, source_starts, pieces, piece_starts, order, first, last, room):
    """Learn from the sources ``order[first..last-1]``; returns the sum of the log probabilities of their pieces."""
    mask = np.uint64(len(windows.weights) - 1)
    total = 0.0
    for item in order[first:last]:
        own = source[source_starts[item] : source_starts[item + 1]]
        whole = _whole(own, room.features)
        place = np.int64(0)
        for p in range(piece_starts[item], piece_starts[item + 1]):
            right = pieces[p]
            length = windows.starts[right + 1] - windows.starts[right]
            if length == 0:
                continue
            n_features = _nearby(own, place, windows.radius, room.features, whole)
            n = _compete(windows, own, place, n_features, room)
            place += length
            known = False
            for r in range(n):
                if room.rivals[r] == right:
                    known = True
                    total += room.scores[r]
            if not known:  # the right piece is not among the most frequent: nothing can be learned here
                total += FLOOR
                continue
            for r in range(n):
                gradient = np.float32((1.0 if room.rivals[r] == right else 0.0) - np.exp(room.scores[r]))
                if abs(gradient) < NEGLIGIBLE:
                    continue
                rival = mix(np.uint64(room.rivals[r]))
                for k in range(n_features):
                    at = np.int64(_weight_of(room.features[k], rival) & mask)
                    squares[at] += gradient * gradient
                    windows.weights[at] += np.float32(RATE) * gradient / np.sqrt(squares[at])
    return total


def learn(
    windows: Windows,
    source: np.ndarray,
    source_starts: np.ndarray,
    pieces: np.ndarray,
    piece_starts: np.ndarray,
    epochs: int,
    seed: int,
) -> list[float]:
    """Learn the weights, in place, from sources that are cut into pieces (both CSR); returns the mean log probability
    of a piece in every epoch, as it was before learning from it."""
    squares = np.full(len(windows.weights), SPREAD, np.float32)
    lengths = np.diff(source_starts)
    work = room(windows.radius, int(lengths.max(initial=0)))
    arrays = (
        frozen(source, np.int32), frozen(source_starts, np.int64), frozen(pieces, np.int32),
        frozen(piece_starts, np.int64),
    )  # fmt: skip
    values = []
    for epoch in range(epochs):
        order = np.array(Random(seed, "windows", epoch).shuffled(range(len(lengths))), np.int64)
        total = 0.0
        for first, last in pairwise(chunks_of(lengths[order], _SLICE).tolist()):
            total += _learn(windows, squares, *arrays, frozen(order, np.int64), first, last, work)
        values.append(total / max(1, len(pieces)))
    return values
