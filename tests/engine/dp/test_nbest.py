"""The n best paths of a small lattice, against enumeration of all paths."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.phrase_decoding import search


class Options(NamedTuple):
    target_starts: np.ndarray
    targets: np.ndarray


class Limits(NamedTuple):
    n_best: int
    distinct: bool


OPTIONS = Options(np.array([0, 1, 2, 4, 4]), np.array([5, 6, 5, 6], np.int32))  # 5; 6; 5 6; nothing
OUTPUTS = [(5,), (6,), (5, 6), ()]


def any_lattice(seed: int, stacks: int):
    """Stacks of two hypotheses behind the first, edges (into, from, option, score of the edge), what endings add."""
    dice = np.random.default_rng(seed)
    first = np.array([0, *range(1, 2 * stacks + 2, 2)])
    edges = []
    for into in range(1, 2 * stacks + 1):
        q = (into + 1) // 2
        before = [h for h in range(first[q]) if (h + 1) // 2 < q]
        for source in [before[-1], *before]:  # at least one
            if source == before[-1] or dice.uniform() < 0.6:
                edges.append((into, source, int(dice.integers(4)), float(dice.normal())))
    return first, edges, dice.normal(size=2)


def every_path(edges, stacks):
    """All paths from the first hypothesis to one of the last stack: the hypothesis, its edges."""
    found = {0: [[]]}
    for h in range(1, 2 * stacks + 1):
        found[h] = [[*path, edge] for edge in edges if edge[0] == h for path in found[edge[1]]]
    return [(h, path) for h in (2 * stacks - 1, 2 * stacks) for path in found[h]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from([1, 5, 500]))
@pytest.mark.parametrize("distinct", [False, True])
def test_the_n_best_equal_enumeration(distinct, seed, stacks, n_best):
    first, edges, endings = any_lattice(seed, stacks)
    scores = np.zeros(2 * stacks + 1)
    through = []
    for into in range(1, 2 * stacks + 1):
        own = [(into, source, option, scores[source] + score) for t, source, option, score in edges if t == into]
        scores[into] = max(edge[3] for edge in own)
        through += own
    limits = Limits(n_best, distinct)
    ranked, items, done = search(OPTIONS, limits, first, endings, scores, np.array(through).T.copy(), 10**6)
    found = []
    for item in done:
        output, at = (), item
        while items.edges[at] >= 0:
            output += OUTPUTS[int(ranked[2, items.edges[at]])]
            at = items.following[at]
        found.append((float(items.after[item]), output))
    wanted = sorted(
        (
            (sum(edge[3] for edge in path) + endings[h - 2 * stacks + 1], sum((OUTPUTS[e[2]] for e in path), ()))
            for h, path in every_path(edges, stacks)
        ),
        reverse=True,
    )
    if distinct:
        best = {}
        for score, output in wanted:
            best.setdefault(output, score)
        wanted = [(score, output) for output, score in best.items()]
    np.testing.assert_allclose([score for score, _ in found], [score for score, _ in wanted[:n_best]], atol=1e-12)
    assert [output for _, output in found] == [output for _, output in wanted[:n_best]]
