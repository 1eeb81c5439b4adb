"""One seed, the same result: a counter-based random stream, inside kernels and in Python.

A stream is a key and a counter. The key is mixed from (seed, purpose, iteration, item), the n-th number of a stream is
``mix(key + n * step)``, so any number of any stream can be had without drawing the ones before it, and work can be
split over workers in any way without changing a single draw. The mixer is the finaliser of SplitMix64.

In kernels a stream is a ``uint64`` array of shape (2,), made by ``stream(seed, purpose, iteration, item)``, drawn from
by ``uniform(stream)`` and its friends, all of which advance the counter. ``Random`` gives the same numbers in plain
Python.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014; Salmon, Moraes, Dror and Shaw, "Parallel
random numbers: as easy as 1, 2, 3", 2011, for counters as state; Marsaglia and Tsang, "A simple method for generating
gamma variables", 2000.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from corpuscle.compiled import kernel, part

T = TypeVar("T")

_MASK = (1 << 64) - 1
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


def purpose_id(name: str) -> int:
    """The number of a purpose such as ``"exchange"``: 63 bits of a hash of its name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


@part
def mix(x):
    """A bijection of 64 bits under which neighbours look unrelated."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@kernel
def stream(seed, purpose, iteration, item):
    """A fresh stream, ``uint64`` of shape (2,): its key, and how many numbers have been drawn."""
    key = mix(np.uint64(seed) + _STEP)
    key = mix((key ^ np.uint64(purpose)) + _STEP)
    key = mix((key ^ np.uint64(iteration)) + _STEP)
    key = mix((key ^ np.uint64(item)) + _STEP)
    result = np.empty(2, np.uint64)
    result[0] = key
    result[1] = 0
    return result


@part
def bits(stream):
    """The next 64 random bits."""
    stream[1] += np.uint64(1)
    return mix(stream[0] + stream[1] * _STEP)


@part
def uniform(stream):
    """A number in [0, 1) with 53 random bits."""
    return np.float64(bits(stream) >> np.uint64(11)) * _TO_UNIT


@part
def below(stream, n):
    """An integer in 0..n-1 (n below 2^53)."""
    return np.int64(uniform(stream) * n)


@part
def normal(stream):
    """A standard normal number (Box-Muller, one of the pair)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(stream)))
    return radius * math.cos(2.0 * math.pi * uniform(stream))


@kernel
def gamma(stream, shape):
    """A gamma number with the given shape and scale 1 (Marsaglia and Tsang 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(stream)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@part
def beta(stream, a, b):
    """A beta number."""
    x = gamma(stream, a)
    y = gamma(stream, b)
    return x / (x + y)


@part
def categorical(stream, weights):
    """An index drawn in proportion to non-negative weights, which need not sum to one."""
    total = 0.0
    for weight in weights:
        total += weight
    left = uniform(stream) * total
    for index in range(len(weights)):
        left -= weights[index]
        if left < 0.0:
            return index
    last = len(weights) - 1
    while last > 0 and weights[last] == 0.0:  # rounding ate the remainder
        last -= 1
    return last


@kernel
def shuffle(stream, items):
    """Put an array into random order, in place."""
    for i in range(len(items) - 1, 0, -1):
        j = below(stream, i + 1)
        items[i], items[j] = items[j], items[i]


_STEP_INT, _MIX_1_INT, _MIX_2_INT = int(_STEP), int(_MIX_1), int(_MIX_2)  # converting at each draw is half its time


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * _MIX_1_INT) & _MASK
    x = ((x ^ (x >> 27)) * _MIX_2_INT) & _MASK
    return x ^ (x >> 31)


class Random:
    """The same stream in plain Python, for code whose objects are not arrays.

    >>> Random(1, "example").below(10) == Random(1, "example").below(10)
    True
    """

    def __init__(self, seed: int, purpose: str, iteration: int = 0, item: int = 0):
        step, key = _STEP_INT, 0
        for number in (seed, purpose_id(purpose), iteration, item):
            key = _mix((((key ^ number) & _MASK) + step) & _MASK)
        self.key, self.drawn = key, 0

    def uniform(self) -> float:
        """A number in [0, 1)."""
        self.drawn += 1
        return (_mix((self.key + self.drawn * _STEP_INT) & _MASK) >> 11) * _TO_UNIT

    def below(self, n: int) -> int:
        """An integer in 0..n-1."""
        return int(self.uniform() * n)

    def choice(self, items: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """One of the items, uniformly or in proportion to weights."""
        if weights is None:
            return items[self.below(len(items))]
        left = self.uniform() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0.0:
                return item
        return next(item for item, weight in zip(items[::-1], weights[::-1], strict=True) if weight > 0)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A new list with the items in random order."""
        result = list(items)
        for i in range(len(result) - 1, 0, -1):
            j = self.below(i + 1)
            result[i], result[j] = result[j], result[i]
        return result

    def uniforms(self, *shape: int) -> np.ndarray:
        """As many numbers in [0, 1) as an array of this shape has, float64; those that ``uniform`` would give in turn.

        >>> Random(1, "example").uniforms(2, 3).shape
        (2, 3)
        """
        count = math.prod(shape)
        x = np.arange(self.drawn + 1, self.drawn + count + 1, dtype=np.uint64) * _STEP + np.uint64(self.key)
        self.drawn += count
        return (getattr(mix, "py_func", mix)(x) >> np.uint64(11)).reshape(shape) * _TO_UNIT

    def array(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """This stream for use inside kernels, at its present position."""
        return np.array([self.key, self.drawn], np.uint64)


def folds(seed: int, purpose: str, n_items: int, n_folds: int) -> np.ndarray:
    """Which of ``n_folds`` parts, equal to one item, each item belongs to: int64 (n_items,), drawn at random.

    For jackknifing: a model learned from the other parts meets the items of one part as new.
    """
    order = np.arange(n_items) % n_folds
    shuffle(stream(seed, purpose_id(purpose), 0, 0), order)
    return order
