"""A step of beam search keeps what a sort of all continuations would keep."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.neural.kernels.search import Finished, Live, Nodes, advance, choose, follow

END = 2


def finished(n: int, beam: int, limit: int = 100) -> Finished:
    return Finished(
        np.zeros(n, np.int32), np.full((n, beam), -np.inf), np.full((n, beam), -np.inf),
        np.full((n, beam), -1, np.int32), np.zeros((n, beam), np.int32), np.full(n, limit, np.int32),
    )  # fmt: skip


def live(sentences: list[int], totals: list[float], length: int = 3) -> Live:
    n = len(sentences)
    return Live(
        np.array(sentences, np.int32), np.array(totals), np.arange(n, dtype=np.int32), np.full(n, length, np.int32)
    )


@given(st.integers(0, 10**6), st.booleans())
def test_the_chosen_are_the_best_of_all_continuations(seed, ties):
    rng = np.random.default_rng(seed)
    sentences = np.sort(rng.integers(0, 3, 6))
    rows, width = live(sentences.tolist(), rng.normal(size=6).tolist()), rng.integers(0, 4, 3).astype(np.int32)
    classes = np.array([rng.permutation(9)[:4] for _ in range(6)], np.int32)
    logs = np.sort(rng.normal(size=(6, 4)).astype(np.float32))[:, ::-1].copy()
    if ties:
        rows.totals[:], logs[:] = np.round(rows.totals), np.round(logs)
    classes[:, 3] = -1
    parents, picks = np.empty(24, np.int32), np.empty(24, np.int32)
    count = choose(rows, classes, logs, width, parents, picks, np.empty(6, np.int32))
    expected = []
    for s in range(3):
        every = [
            (-(rows.totals[row] + np.float64(logs[row, rank])), row, rank)
            for row in np.flatnonzero(sentences == s)
            for rank in range(3)
        ]
        expected += sorted(every)[: width[s]]
    assert list(zip(parents[:count], picks[:count], strict=True)) == [(row, rank) for _, row, rank in expected]


def test_ended_hypotheses_leave_and_the_others_go_on():
    rows = live([0, 0, 1], [-1.0, -2.0, -0.5])
    ranked = np.array([[5, END], [END, 6], [7, 8]], np.int32), np.log(np.array([[0.5, 0.5]] * 3, np.float32))
    nodes, done = Nodes(np.full(10, -1, np.int32), np.zeros(10, np.int32)), finished(2, 2)
    parents, picks = np.array([0, 0, 1, 2], np.int32), np.array([0, 1, 0, 1], np.int32)
    out = live([0] * 4, [0.0] * 4)
    count = advance(rows, ranked, (parents, picks), nodes, 3, done, (END, 1.0, 0), out)
    assert count == 2 and out.sentences[:2].tolist() == [0, 1] and parents[:2].tolist() == [0, 2]
    assert out.nodes[:2].tolist() == [3, 4] and out.lengths[:2].tolist() == [4, 4]
    assert nodes.symbols[3:5].tolist() == [5, 8] and nodes.before[3:5].tolist() == [0, 2]
    assert done.counts.tolist() == [2, 0] and done.depths[0].tolist() == [3, 3] and done.nodes[0].tolist() == [0, 1]
    assert np.allclose(done.scores[0], np.array([-1 + np.log(0.5), -2 + np.log(0.5)]) / 4)


def test_what_is_as_long_as_it_may_be_is_finished_without_an_end():
    rows, nodes, done = live([0], [-1.0]), Nodes(np.full(10, -1, np.int32), np.zeros(10, np.int32)), finished(1, 2, 4)
    ranked = np.array([[5, 6]], np.int32), np.array([[-1.0, -2.0]], np.float32)
    chosen = np.zeros(2, np.int32), np.array([0, 1], np.int32)
    assert advance(rows, ranked, chosen, nodes, 1, done, (END, 0.0, 0), live([0, 0], [0.0, 0.0])) == 0
    assert done.depths[0].tolist() == [4, 4] and done.scores[0].tolist() == [-2.0, -3.0]
    assert nodes.symbols[done.nodes[0]].tolist() == [5, 6]


def test_a_hypothesis_that_cannot_win_any_more_may_be_left():
    rows, nodes, done = live([0, 0], [-0.1, -80.0]), Nodes(np.zeros(9, np.int32), np.zeros(9, np.int32)), finished(1, 4)
    ranked = np.array([[END, 5], [6, 7]], np.int32), np.array([[-0.1, -0.2], [-0.1, -5.0]], np.float32)
    for wanted, left in (0, 2), (1, 1):
        done.counts[:] = 0
        chosen = np.array([0, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
        assert advance(rows, ranked, chosen, nodes, 2, done, (END, 1.0, wanted), live([0] * 3, [0.0] * 3)) == left


def test_symbols_are_read_back_from_the_tree():
    nodes = Nodes(np.array([-1, 0, 0, 1], np.int32), np.array([5, 6, 7, 8], np.int32))
    symbols = np.empty(5, np.int32)
    follow(nodes, np.array([3, 2], np.int32), np.array([0, 3, 5]), symbols)
    assert symbols.tolist() == [5, 6, 8, 5, 7]
