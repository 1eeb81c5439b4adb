"""The best way to cut a sequence, against enumeration."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.dp.lattices import best_cuts


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 1000))
def test_the_best_cuts_equal_enumeration(n, longest, seed):
    dice = np.random.default_rng(seed)
    scores, allowed = dice.normal(size=(n, longest + 1)), dice.uniform(size=n) < 0.7
    for t in range(1, n):  # there is a way
        allowed[t] |= not allowed[max(0, t - longest + 1) : t].any()
    scored = {}
    for inner in itertools.product([0, 1], repeat=n - 1):
        begins = [0, *(t for t, cut in enumerate(inner, 1) if cut), n]
        lengths = np.diff(begins)
        if lengths.max() <= longest and all(allowed[t] for t in begins[1:-1]):
            scored[1, *inner] = sum(scores[t, k] for t, k in zip(begins[:-1], lengths.tolist(), strict=True))
    cuts = np.zeros(n, np.uint8)
    best_cuts(scores, allowed, np.zeros(n + 1), np.zeros(n + 1, np.int32), cuts)
    assert tuple(cuts.tolist()) == max(scored, key=scored.__getitem__)
