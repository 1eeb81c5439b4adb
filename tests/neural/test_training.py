"""Training: smoothing, masks, batches, what it learns, and that it is the same twice."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra neural")

from corpuscle.errors import SettingError
from corpuscle.neural.network import Cell, forward
from corpuscle.neural.settings import PRESETS, NetworkSettings
from corpuscle.neural.training import (
    Examples,
    Plan,
    Task,
    _batch,
    _dropping,
    _loss,
    advance,
    batches,
    begun,
    cross_entropy,
    named,
    padded,
    plan_of,
    quality,
    rate_of,
    smoothing,
)
from corpuscle.random import Random
from corpuscle.text.vocab import END, FIRST, START, Vocab
from tests.neural.made import SMALL, tensors

PLAN = Plan(0.2, 0.1, 0.0, 0.005, 20, 32, 5, 0.9, 10, True, 0.0, "plateau", 1000)


def names(count, symbols=8, shortest=2, longest=6, seed=1):
    random = Random(seed, "names")
    made = {tuple(FIRST + random.below(symbols) for _ in range(shortest + random.below(longest - shortest + 1)))
            for _ in range(4 * count)}  # fmt: skip
    return [np.array(name, np.int32) for name in sorted(made)][::4][:count]


def task(pairs, held, architecture, plan=PLAN, symbols=8, links=None):
    vocab = Vocab.from_words([chr(97 + i) for i in range(symbols)])
    accepted = [{tuple(target.tolist())} for _, target in held]
    return Task(architecture, (vocab, vocab), Examples.of(pairs, links), Examples.of(held), accepted, plan)


@pytest.fixture(scope="module")
def copying():
    pairs = [(name, name) for name in names(120)]
    return task(pairs[:100], pairs[100:], SMALL["gru"])


def test_constant_weights_stay_and_growing_ones_lag_by_a_tenth():
    constant, growing = 3.0, 0.0
    for t in range(2001):
        share = smoothing(t)
        constant = share * constant + (1 - share) * 3.0
        growing = share * growing + (1 - share) * t
    assert constant == pytest.approx(3.0, rel=1e-12) and 2000 - growing == pytest.approx(200, rel=0.01)
    assert smoothing(10**6) == 1 - 1e-4


def test_batches_hold_every_pair_once_and_pairs_of_like_length():
    made = names(100)
    examples = Examples.of([(name, name[::-1]) for name in made])
    cut = batches(examples, 16, 1, 0)
    assert sorted(np.concatenate(cut).tolist()) == list(range(len(made)))
    lengths = np.diff(examples.source_starts)
    assert all(np.ptp(lengths[part]) <= 1 for part in cut)
    again = batches(examples, 16, 1, 0), batches(examples, 16, 1, 1)
    assert all((a == b).all() for a, b in zip(cut, again[0], strict=True))
    assert any(a.tolist() != b.tolist() for a, b in zip(cut, again[1], strict=True))


def test_padded_sides_end_with_the_end():
    examples = Examples.of([(np.array([3, 4, 5]), np.array([6])), (np.array([7]), np.array([8, 9]))])
    symbols, real = padded(examples.sources, examples.source_starts, np.array([1, 0]))
    assert symbols.tolist() == [[7, END, END, END], [3, 4, 5, END]]
    assert real.tolist() == [[True, True, False, False], [True] * 4]
    inputs, wanted, _ = _batch(examples, np.array([0, 1]))
    assert inputs.inputs.tolist() == [[START, 6, END], [START, 8, 9]]
    assert wanted.tolist() == [[6, END, END], [8, 9, END]]


def test_a_mask_is_one_for_a_sequence_and_dropout_leaves_the_carried_state():
    drop = _dropping(PLAN, 1, 0)
    mask = drop(50, 40)
    assert set(np.unique(mask.numpy())) == {np.float32(0), np.float32(1.25)} and 0.1 < (mask == 0).float().mean() < 0.3
    assert drop(5, 4, 1, symbols=True).shape == (5, 4, 1) and _dropping(PLAN._replace(dropout=0.0), 1, 0)(3, 3) is None
    cell = Cell(torch.zeros(4, 12), torch.cat([torch.zeros(4), torch.full((4,), 100.0), torch.zeros(4)]))
    h = torch.tensor([[1.0, -2.0, 3.0, 4.0]])
    np.testing.assert_allclose(cell.gru(None, h, torch.zeros(1, 4)), h)  # update gate 1: the state is carried whole


def test_the_rate_warms_up_and_falls_after_each_validation_without_a_new_minimum(copying):
    progress = begun(copying, 1)
    assert rate_of(progress, PLAN) == pytest.approx(0.005 / 20)
    later = progress._replace(updates=100, history=np.array([[3.0, 0, 0], [2.0, 0, 0], [2.5, 0, 0], [2.1, 0, 0]]))
    assert rate_of(later, PLAN) == pytest.approx(0.005 * 0.81) and later.waits() == 2
    assert rate_of(later, PLAN._replace(schedule="root")) == pytest.approx(0.005 * np.sqrt(20 / 101))
    assert not later.over(PLAN) and later.over(PLAN._replace(patience=2))


def test_the_rate_falls_in_a_line_to_nothing(copying):
    plan, progress = PLAN._replace(schedule="linear"), begun(copying, 1)
    assert rate_of(progress, plan) == pytest.approx(0.005 / 20)
    assert rate_of(progress._replace(updates=400), plan) == pytest.approx(0.005 * 0.6)
    assert rate_of(progress._replace(updates=1000), plan) == 0


@pytest.mark.parametrize(
    "given, pairs, wanted",
    [
        ({}, 12_500, ("linear", 32, 0.01, 36 * 391, 391, 36 * 391)),
        ({}, 100, ("linear", 32, 0.01, 100 * 4, 4, 100 * 4)),
        ({}, 100_000, ("linear", 32, 0.01, 75 * 500, 500, 75 * 500)),
        ({"preset": "medium", "max_epochs": 2, "patience": 3}, 320, ("linear", 32, 0.002, 20, 10, 3)),
        ({"preset": "transformer"}, 12_500, ("root", 128, 0.001, 36 * 98, 98, 5)),
        ({"schedule": "plateau", "batch": 128, "rate": 0.003}, 12_500, ("plateau", 128, 0.003, 36 * 98, 98, 5)),
    ],
)
def test_a_plan_is_made_for_the_model_and_the_pairs(given, pairs, wanted):
    settings = NetworkSettings(**given)
    plan = plan_of(settings, pairs, 0.0)
    assert (plan.schedule, plan.batch, plan.rate, plan.updates, plan.interval, plan.patience) == wanted


def test_a_decay_without_validations_to_follow_is_an_error():
    with pytest.raises(SettingError, match="decay is of schedule plateau"):
        NetworkSettings(decay=0.5)


def test_an_update_follows_adam(copying):
    plain = copying._replace(plan=PLAN._replace(dropout=0.0, symbol_dropout=0.0, smoothing=False, warm_up=0))
    progress = begun(plain, 1)
    theta = torch.nn.Parameter(torch.tensor(progress.weights))
    adam = torch.optim.Adam([theta], lr=PLAN.rate)
    order = batches(plain.training, PLAN.batch, 1, 0)
    for which in order[:3]:
        adam.zero_grad()
        _loss(plain, named(theta, plain), which, lambda *_, **__: None).backward()
        torch.nn.utils.clip_grad_norm_([theta], 1.0)
        adam.step()
    ours = advance(progress, plain, 3)
    np.testing.assert_allclose(ours.weights, theta.detach().numpy(), atol=2e-5)
    np.testing.assert_array_equal(ours.mean, ours.weights)


@pytest.mark.parametrize("kind", ["gru", "mlstm", "transformer"])
def test_the_same_seed_gives_the_same_bytes_in_parts_or_at_once(copying, kind):
    each = copying._replace(architecture=SMALL[kind])
    once = advance(begun(each, 3), each, 10)
    parts = advance(begun(each, 3), each, 4)
    parts = advance(parts, each, 6)
    for name in ("weights", "first", "second", "mean", "best", "history"):
        np.testing.assert_array_equal(getattr(once, name), getattr(parts, name))
    assert once.updates == parts.updates == 10 and len(once.history) == 1
    assert (advance(begun(each, 4), each, 10).weights != once.weights).any()


def test_the_kept_weights_are_those_of_the_best_accuracy(copying):
    progress, kept = begun(copying, 1), []
    for _ in range(6):
        progress = advance(progress, copying, 10)
        kept.append(progress.mean)
    right = progress.history[:, 1]
    best = min(range(6), key=lambda i: (-right[i], progress.history[i, 0]))
    np.testing.assert_array_equal(progress.best, kept[best])
    arrays = named(progress.best, copying)
    assert quality(copying, arrays) == right[best]
    p = {name: torch.from_numpy(x) for name, x in arrays.items()}
    assert cross_entropy(copying, p) == pytest.approx(progress.history[best, 0])


def test_a_loss_that_is_not_finite_stops_with_the_last_good_weights(copying):
    good = advance(begun(copying, 1), copying, 10)
    broken = advance(good._replace(weights=good.weights * np.nan), copying, 10)
    assert broken.broken and broken.over(PLAN) and (broken.best == good.best).all()


def test_guided_attention_looks_where_the_links_are():
    made = [(name, name) for name in names(60, shortest=3)]
    links = [np.eye(len(name), dtype=np.float32)[::-1] for name, _ in made]  # wrong on purpose: from the end
    plan = PLAN._replace(dropout=0.0, symbol_dropout=0.0, guide=5.0, rate=0.02, interval=60)
    each = task(made[:50], made[50:], dataclasses.replace(PRESETS["tiny"], embedding=16, state=16, attention=16),
                plan, links=links[:50])  # fmt: skip
    trained = advance(begun(each, 1), each, 60)
    inputs, _, _ = _batch(each.training, np.arange(50))
    with torch.no_grad():
        _, shares = forward(each.architecture, tensors(named(trained.weights, each)), inputs)
    lengths = np.diff(each.training.source_starts)
    ends = [shares[i, 0, n - 1].item() for i, n in enumerate(lengths.tolist())]
    assert np.mean(ends) > 0.5


def test_examples_keep_pairs_apart():
    pairs = [(np.array([3, 4]), np.array([5])), (np.array([6]), np.array([7, 8, 9]))]
    examples = Examples.of(pairs, [np.ones((1, 2)), np.full((3, 1), 2.0)])
    assert len(examples) == 2
    for i, (a, b) in enumerate(pairwise(examples.target_starts.tolist())):
        assert examples.targets[a:b].tolist() == pairs[i][1].tolist()
    assert examples.links_of(np.array([1, 0]), 3, 2).tolist() == [[[2, 0], [2, 0], [2, 0]], [[1, 1], [0, 0], [0, 0]]]
