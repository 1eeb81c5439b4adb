"""Chains against enumeration of all paths: sums, the best, expected states and steps, the k best."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.dp.chains import Chain, Room, best_chain, expectations, k_best, sum_chain


def any_chain(seed: int, n: int, s: int, sparse: float = 0.0, varying: bool = False) -> Chain:
    """Weights of any kind, some of them zero."""
    dice = np.random.default_rng(seed)
    shapes = (s,), (n, s), (n if varying else 1, s, s), (s,)
    chain = Chain(*(dice.uniform(0.1, 1, shape) for shape in shapes))
    chain.emission[dice.uniform(size=(n, s)) < sparse] = 0.0
    chain.steps[dice.uniform(size=chain.steps.shape) < sparse] = 0.0
    return chain


def enumerate_paths(chain: Chain) -> dict[tuple[int, ...], float]:
    """The weight of every path, by the definition."""
    n, s = chain.emission.shape
    weights = {}
    for path in itertools.product(range(s), repeat=n):
        weight = chain.first[path[0]] * chain.last[path[-1]]
        for j, q in enumerate(path):
            weight *= chain.emission[j, q]
            if j > 0:
                weight *= chain.steps[j if len(chain.steps) > 1 else 0][path[j - 1], q]
        weights[path] = float(weight)
    return weights


def logs_of(chain: Chain) -> Chain:
    with np.errstate(divide="ignore"):
        return Chain(*map(np.log, chain))


def run_expectations(chain: Chain) -> tuple[float, Room]:
    n, s = chain.emission.shape
    room = Room(np.zeros((n, s)), np.zeros_like(chain.steps), np.zeros(s), np.zeros(s), np.zeros(n))
    turned = np.ascontiguousarray(chain.steps.transpose(0, 2, 1))
    return expectations(n, s, chain, turned, room), room


def run_k_best(logs: Chain, k: int) -> tuple[list[tuple[int, ...]], np.ndarray]:
    n, s = logs.emission.shape
    paths, scores = np.zeros((k, n), np.int32), np.zeros(k)
    count = k_best(n, s, logs, k, paths, scores)
    assert 0 <= count <= k
    return [tuple(path) for path in paths[:count].tolist()], scores[:count]


any_case = pytest.mark.parametrize(
    ("n", "s", "sparse", "varying"), [(4, 3, 0.0, False), (4, 3, 0.25, True), (1, 4, 0.0, False), (5, 2, 0.2, True)]
)


@any_case
def test_total_and_best_equal_enumeration(n, s, sparse, varying):
    chain = any_chain(5, n, s, sparse, varying)
    weights = enumerate_paths(chain)
    table, scales = np.zeros((n, s)), np.zeros(n)
    assert sum_chain(n, s, chain, table, scales) == pytest.approx(math.log(sum(weights.values())), abs=1e-13)
    assert best_chain(n, s, logs_of(chain), table, scales) == pytest.approx(math.log(max(weights.values())), abs=1e-13)


@any_case
def test_expected_states_and_steps_equal_enumeration(n, s, sparse, varying):
    chain = any_chain(6, n, s, sparse, varying)
    weights = enumerate_paths(chain)
    z = sum(weights.values())
    logarithm, room = run_expectations(chain)
    assert logarithm == pytest.approx(math.log(z), abs=1e-13)
    states, steps = np.zeros((n, s)), np.zeros_like(chain.steps)
    for path, weight in weights.items():
        for j, q in enumerate(path):
            states[j, q] += weight / z
            if j > 0:
                steps[j if varying else 0][path[j - 1], q] += weight / z
    np.testing.assert_allclose(room.table, states, atol=1e-13)
    np.testing.assert_allclose(room.taken, steps, atol=1e-13)


@any_case
@pytest.mark.parametrize("k", [1, 3, 1000])
def test_the_k_best_equal_enumeration(n, s, sparse, varying, k):
    chain = any_chain(7, n, s, sparse, varying)
    weights = enumerate_paths(chain)
    possible = sorted((path for path, weight in weights.items() if weight > 0), key=lambda path: -weights[path])
    paths, scores = run_k_best(logs_of(chain), k)
    assert paths == possible[:k]
    np.testing.assert_allclose(scores, [math.log(weights[path]) for path in paths], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 30), st.integers(0, 1000))
def test_among_equals_smaller_states_come_first_from_the_last_position_on(n, s, k, seed):
    dice = np.random.default_rng(seed)  # small integers: all sums are exact, and many are equal
    shapes = (s,), (n, s), (n, s, s), (s,)
    logs = Chain(*(dice.choice([0.0, -1.0, -2.0, -np.inf], p=[0.5, 0.3, 0.1, 0.1], size=shape) for shape in shapes))
    with np.errstate(divide="ignore"):
        weights = enumerate_paths(Chain(*map(np.exp, logs)))
    ranked = sorted((-round(math.log(weight)), path[::-1]) for path, weight in weights.items() if weight > 0)
    paths, scores = run_k_best(logs, k)
    assert [(-score, path[::-1]) for score, path in zip(scores.tolist(), paths, strict=True)] == ranked[:k]


def test_the_best_of_many_states_are_those_of_a_plain_search():
    n, s, k = 12, 15, 40
    logs = logs_of(any_chain(8, n, s, 0.3))
    lists = [[(float(logs.first[q] + logs.emission[0, q]), (q,))] for q in range(s)]
    for j in range(1, n):
        lists = [
            sorted(
                (
                    (score + float(logs.steps[0, p, q]) + float(logs.emission[j, q]), (*path, q))
                    for p in range(s)
                    for score, path in lists[p]
                ),
                reverse=True,
            )[:k]
            for q in range(s)
        ]
    ends = [(score + float(logs.last[q]), path) for q in range(s) for score, path in lists[q]]
    best = sorted(ends, reverse=True)[:k]
    paths, scores = run_k_best(logs, k)
    assert paths == [path for _, path in best]
    assert scores.tolist() == [score for score, _ in best]  # the same sums in the same order


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 1000))
def test_expected_counts_are_distributions(n, s, seed):
    chain = any_chain(seed, n, s)
    _, room = run_expectations(chain)
    np.testing.assert_allclose(room.table.sum(1), 1.0, atol=1e-12)
    assert room.taken.sum() == pytest.approx(n - 1, abs=1e-12)


def test_many_positions_do_not_underflow_and_no_path_has_no_weight():
    n, s = 2000, 2
    chain = Chain(np.ones(s), np.full((n, s), 1e-6), np.full((1, s, s), 0.5), np.ones(s))
    logarithm, room = run_expectations(chain)
    assert logarithm == pytest.approx(n * math.log(1e-6) + math.log(2), abs=1e-6)
    np.testing.assert_allclose(room.table, 0.5, atol=1e-9)
    chain.emission[1000] = 0.0
    assert run_expectations(chain)[0] == -math.inf
    assert run_k_best(logs_of(chain), 3)[0] == []


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("name", ["first", "last", "emission"])
def test_no_weight_at_either_end_is_no_path(n, name):
    chain = any_chain(9, n, 3)
    getattr(chain, name)[:] = 0.0
    table, scales = np.zeros((n, 3)), np.zeros(n)
    assert sum_chain(n, 3, chain, table, scales) == best_chain(n, 3, logs_of(chain), table, scales) == -math.inf
    assert run_expectations(chain)[0] == -math.inf and run_k_best(logs_of(chain), 2)[0] == []


@pytest.mark.parametrize("state", [0, 1, 2])
@pytest.mark.parametrize("name", ["first", "last"])
def test_one_state_without_weight_at_either_end_leaves_the_others(name, state):
    chain = any_chain(10, 3, 3)
    getattr(chain, name)[state] = 0.0
    expected = math.log(sum(enumerate_paths(chain).values()))
    assert sum_chain(3, 3, chain, np.zeros((3, 3)), np.zeros(3)) == pytest.approx(expected, abs=1e-13)
    assert run_expectations(chain)[1].table.sum() == pytest.approx(3.0, abs=1e-12)
