"""The fused softmax is a softmax, a sort and nothing else."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.errors import CorpuscleWarning, SettingError
from corpuscle.neural.kernels.search import (
    BLOCK,
    Best,
    NoClass,
    absorb,
    fused_argmax,
    fused_topk,
    merge,
    nothing,
    ranked,
)

KINDS = ("random", "constant", "one forbidden", "huge", "ascending", "descending", "ties")


def rows_of(kind: str, rows: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    """Scores as they come in practice, and as they come at worst."""
    scores = rng.normal(0, 3, (rows, classes))
    if kind == "constant":
        scores[:] = 2.5
    elif kind == "one forbidden":
        scores[:, rng.integers(classes)] = -np.inf
    elif kind == "huge":
        scores = rng.choice([-1e4, 1e4, 0.0, 9999.5], (rows, classes))
    elif kind == "ties":
        scores = np.round(scores)
    elif kind != "random":
        scores.sort(axis=1)
        scores = scores if kind == "ascending" else scores[:, ::-1]
    return scores.astype(np.float32)


def separate(scores: np.ndarray, bias: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Bias, softmax in double precision, full sort; smaller classes first among equals, none that is forbidden."""
    x = (scores + bias).astype(np.float64)
    peak = x.max(axis=1, keepdims=True)
    logs = x - peak - np.log(np.exp(x - peak).sum(axis=1, keepdims=True))
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(logs, order, axis=1)
    return np.where(best == -np.inf, -1, order), best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [1, 2, 7, 64, 100, 1000, BLOCK, BLOCK + 1, 3000])
def test_fused_is_softmax_in_double_precision_and_a_full_sort(kind, classes):
    rng = np.random.default_rng(classes)
    for k in {1, 2, 5, 9, 20, classes} & {*range(1, min(classes, 20) + 1)}:
        scores, bias = rows_of(kind, 4, classes, rng), rng.normal(size=classes).astype(np.float32)
        if kind in ("constant", "huge", "ties"):
            bias[:] = 0
        if kind == "one forbidden" and classes == 1:
            continue
        order, logs = separate(scores, bias, k)
        found = fused_topk(scores, bias, k)
        assert np.array_equal(found.classes, order)
        assert np.allclose(found.logs, logs, rtol=1e-6, atol=2e-6)
        assert np.array_equal(fused_argmax(scores, bias), order[:, 0])


def test_the_listing_of_the_paper_is_corrected():
    found = fused_topk(np.array([[1.0, 2.0, 3.0]]), k=1)
    assert found.classes.tolist() == [[2]] and abs(np.exp(found.logs[0, 0]) - 0.66524) < 1e-5


def piece(scores: np.ndarray, offset: int, k: int) -> Best:
    best = nothing(len(scores), k)
    absorb(best, np.ascontiguousarray(scores), np.zeros(scores.shape[1], np.float32), offset)
    return best


def assert_alike(a: Best, b: Best) -> None:
    assert np.array_equal(a.peak, b.peak) and np.allclose(a.total, b.total, rtol=1e-6)
    assert np.array_equal(a.scores, b.scores) and np.array_equal(a.classes, b.classes)


@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_merging_is_associative_and_commutative_and_any_split_gives_the_same(seed, k, ties):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (3, 50)).astype(np.float32)
    if ties:
        scores = np.round(scores)
    first, second = sorted(rng.integers(0, 51, 2))
    a, b, c = (
        piece(scores[:, begin:end], begin, k) for begin, end in ((0, first), (first, second), (second, scores.shape[1]))
    )
    whole = piece(scores, 0, k)
    assert_alike(merge(merge(a, b), c), whole)
    assert_alike(merge(a, merge(b, c)), whole)
    assert_alike(merge(c, merge(b, a)), whole)
    assert_alike(merge(whole, nothing(3, k)), whole)
    assert_alike(merge(nothing(3, k), whole), whole)


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_shards_and_workers_do_not_change_the_result(rows):
    rng = np.random.default_rng(rows)
    scores, bias = rng.normal(size=(rows, 5000)), rng.normal(size=5000)
    whole = fused_topk(scores, bias, 7)
    for shards in 2, 5, 6000:
        for count in 1, 2:
            parts = fused_topk(scores, bias, 7, shards=shards, workers_=count)
            assert np.array_equal(parts.classes, whole.classes) and np.allclose(parts.logs, whole.logs, atol=1e-6)
    shared = fused_topk(scores, bias, 7, workers_=2)
    assert np.array_equal(shared.classes, whole.classes) and np.array_equal(shared.logs, whole.logs)


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf])
@pytest.mark.parametrize("where", [0, 70, 1500])
def test_a_score_that_is_not_a_number_is_an_error_that_names_its_row(value, where):
    scores = np.random.default_rng(0).normal(size=(3, 2000)).astype(np.float32)
    scores[1, where] = value
    for fused in fused_topk, fused_argmax:
        with pytest.raises(NoClass, match="row 1: a score is not a finite number") as caught:
            fused(scores)
        assert pickle.loads(pickle.dumps(caught.value)).row == 1


def test_a_row_in_which_everything_is_forbidden_is_an_error():
    scores = np.zeros((2, 1500), np.float32)
    scores[1] = -np.inf
    for fused in fused_topk, fused_argmax:
        with pytest.raises(NoClass, match="row 1: no class is allowed"):
            fused(scores)


def test_more_than_all_classes_are_all_of_them_with_a_note():
    with pytest.warns(CorpuscleWarning, match="only 3 classes"):
        assert fused_topk(np.zeros((1, 3)), k=5).classes.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"k": 0}, "best classes is at least 1, not 0"),
        ({"shards": 0}, "shards is at least 1, not 0"),
        ({"bias": np.zeros(4)}, r"a bias for 3 classes is needed, not one of the shape \(4,\)"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, reason):
    with pytest.raises(SettingError, match=reason):
        fused_topk(np.zeros((2, 3)), **arguments)
    with pytest.raises(SettingError, match="rows and at least one class"):
        fused_topk(np.zeros(3))


def test_a_block_after_the_other_is_all_at_once():
    rng = np.random.default_rng(5)
    scores, bias = rng.normal(size=(6, 4000)).astype(np.float32), rng.normal(size=4000).astype(np.float32)
    best = nothing(6, 4)
    for first in range(0, 4000, 700):
        absorb(best, np.ascontiguousarray(scores[:, first : first + 700]), bias[first : first + 700], first)
    whole, pieces = fused_topk(scores, bias, 4), ranked(best)
    assert np.array_equal(whole.classes, pieces.classes) and np.allclose(whole.logs, pieces.logs, atol=1e-6)


def test_numpy_framework_and_kernel_agree():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(6)
    scores, bias = rng.normal(size=(8, 3000)).astype(np.float32), rng.normal(size=3000).astype(np.float32)
    logs, classes = torch.topk(torch.log_softmax(torch.from_numpy(scores + bias), 1), 9)
    found = fused_topk(scores, bias, 9)
    assert np.array_equal(found.classes, classes.numpy()) and np.allclose(found.logs, logs.numpy(), atol=1e-5)
