"""Numbers for tests."""

from __future__ import annotations

import numpy as np

from corpuscle.random import Random


def numbers(n: int, item: int = 0) -> np.ndarray:
    stream = Random(7, "test numbers", 0, item)
    return np.array([stream.uniform() for _ in range(n)])
