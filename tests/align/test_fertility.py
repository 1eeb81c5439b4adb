"""Alignment with fertilities: draws against enumeration, and what a model made of draws can do."""

from __future__ import annotations

import itertools
from math import lgamma, log

import numpy as np
import pytest

from corpuscle.align import HMM, Fertility
from corpuscle.align.counts import BitextChunks, pairs_of
from corpuscle.align.kernels import fertility as engine
from corpuscle.align.kernels.cooccurrence import couples_of, directed
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.measure import alignment_error
from corpuscle.random import Random
from corpuscle.samples import generate
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus

DICE = np.random.default_rng(5)
WIDTH = 6
NO_SINGLES = np.zeros(0, np.uint8)
TINY = Bitext(Corpus.from_sentences([["a", "b", "a"], ["b", "c"]]), Corpus.from_sentences([["x", "x", "y"], ["y"]]))


def pairs_from(bitext: Bitext):
    pairs = pairs_of(bitext.source, bitext.target)
    return pairs, couples_of(pairs, len(bitext.source.vocab), len(bitext.target.vocab))


def random_laws(direction: int, alpha: float = 0.3) -> engine.Laws:
    states, outputs = (TINY.target, TINY.source) if direction else (TINY.source, TINY.target)
    jumps = DICE.uniform(0.1, 1, 2 * WIDTH + 1)
    odds = DICE.uniform(0.2, 2, (len(states.vocab), engine.MOST))
    return engine.Laws(frozen(jumps, np.float64), frozen(odds, np.float32), float(len(outputs.vocab)), alpha, 0.2)


def blank_tally(couples, direction: int) -> engine.Tally:
    states, outputs = (TINY.target, TINY.source) if direction else (TINY.source, TINY.target)
    sizes = len(couples.columns) + 1, len(states.vocab), len(outputs.vocab)
    return engine.Tally(*(np.zeros(size, np.int32) for size in sizes), np.zeros(1, np.int64))


def log_joint(linked, pairs, couples, direction: int, laws: engine.Laws) -> float:
    """The logarithm of the probability of outputs and links, by the definition: Dirichlet-multinomial tables."""
    tally = blank_tally(couples, direction)
    engine.place(directed(pairs, direction), np.array(linked, np.int16), tally, NO_SINGLES)
    total = 0.0
    rows = np.repeat(np.arange(len(couples.row_starts) - 1), np.diff(couples.row_starts))
    owner = couples.columns if direction else rows
    groups = [tally.couples[:-1][owner == kind] for kind in np.unique(owner)] + [tally.nulls]
    for counts in groups:
        total += lgamma(laws.alpha * laws.support) - lgamma(laws.alpha * laws.support + counts.sum())
        total += sum(lgamma(laws.alpha + count) - lgamma(laws.alpha) for count in counts)
    states = (pairs.target, pairs.target_starts) if direction else (pairs.source, pairs.source_starts)
    starts = pairs.source_starts if direction else pairs.target_starts
    for sentence in range(len(starts) - 1):
        begin, m = states[1][sentence], int(np.diff(states[1])[sentence])
        before, taken = -1, np.zeros(m, int)
        for state in linked[starts[sentence] : starts[sentence + 1]]:
            total += log(laws.p0 if state < 0 else 1 - laws.p0)
            if state >= 0:
                total += log(laws.jumps[WIDTH + state - before])
                before = state
                taken[state] += 1
        total += log(laws.jumps[WIDTH + m - before])
        for i in range(m):
            for f in range(taken[i]):
                total += log(laws.odds[states[0][begin + i], min(f, engine.MOST - 1)])
    return total


def all_links(pairs, direction: int) -> list[tuple[int, ...]]:
    """Every way to link the outputs."""
    lengths = np.diff(pairs.source_starts), np.diff(pairs.target_starts)
    states, outputs = lengths[::-1] if direction else lengths
    choices = [range(-1, m) for m, n in zip(states.tolist(), outputs.tolist(), strict=True) for _ in range(n)]
    return list(itertools.product(*choices))


@pytest.mark.parametrize("direction", [0, 1])
def test_the_weights_of_a_draw_are_ratios_of_joint_probabilities(direction) -> None:
    pairs, couples = pairs_from(TINY)
    laws = random_laws(direction)
    states, state_starts = (pairs.target, pairs.target_starts) if direction else (pairs.source, pairs.source_starts)
    outputs, starts = (pairs.source, pairs.source_starts) if direction else (pairs.target, pairs.target_starts)
    scratch = engine.scratch_for(3, 10)
    for linked in all_links(pairs, direction)[::7]:
        for output in range(len(outputs)):
            sentence = int(np.searchsorted(starts, output, side="right")) - 1
            s, o = int(state_starts[sentence]), int(starts[sentence])
            m, n = int(state_starts[sentence + 1]) - s, int(starts[sentence + 1]) - o
            joint = [
                log_joint([*linked[:output], i, *linked[output + 1 :]], pairs, couples, direction, laws)
                for i in range(-1, m)
            ]
            without = np.array([*linked[:output], -1, *linked[output + 1 :]], np.int16)
            tally = blank_tally(couples, direction)
            engine.place(directed(pairs, direction), without, tally, NO_SINGLES)
            tally.nulls[outputs[output]] -= 1
            tally.unlinked[0] -= 1
            engine._prepare(without[o : o + n], m, scratch)
            for i in range(m):
                scratch.scales[i] = engine._scale(tally, laws, states[s + i], scratch.taken[i])
            before = next((int(i) for i in without[o:output][::-1] if i >= 0), -1)
            state_step, output_step = (1, m) if direction else (n, 1)
            cell = int(pairs.cell_starts[sentence]) + (output - o) * output_step
            after = int(scratch.after[output - o])
            engine._weigh(pairs, cell, state_step, m, tally, laws, before, after, scratch)
            none = engine._weight_of_none(tally, laws, outputs[output], before, after)
            weights = np.array([none, *scratch.weights[:m]])
            wanted = np.exp(np.array(joint) - max(joint))
            assert np.allclose(weights / weights.sum(), wanted / wanted.sum(), rtol=1e-6)


@pytest.mark.parametrize("cells", ["of all couples", "of shared couples"])
@pytest.mark.parametrize("direction", [0, 1])
def test_many_sweeps_draw_from_the_enumerated_posterior_and_keep_the_books(direction, cells) -> None:
    pairs, couples = pairs_from(TINY)
    laws = random_laws(direction)
    everything = all_links(pairs, direction)
    posterior = np.exp([log_joint(linked, pairs, couples, direction, laws) for linked in everything])
    posterior /= posterior.sum()
    wanted = np.zeros((len(everything[0]), 4))
    for linked, p in zip(everything, posterior, strict=True):
        wanted[np.arange(len(linked)), np.array(linked) + 1] += p
    text = BitextChunks(TINY, np.ones(2, bool))
    if cells == "of shared couples":
        pairs, couples = text.chunk(0), text.sharing.couples
        assert 0 < text.n_shared == pairs.cells.max()
        pairs = pairs._replace(cells=np.minimum(pairs.cells, text.n_shared))
    linked, tally = np.full(len(everything[0]), -1, np.int16), blank_tally(couples, direction)
    engine.place(directed(pairs, direction), linked, tally, np.zeros(1, np.uint8))
    scratch, dice = engine.scratch_for(3, 10), Random(1, "test").array()
    fertilities, jumps = np.zeros((10, engine.MOST + 1)), np.zeros(2 * WIDTH + 1)
    found, sweeps = np.zeros_like(wanted), 20_000
    for _ in range(sweeps):
        engine.sweep(directed(pairs, direction), linked, tally, laws, fertilities, jumps, scratch, dice)
        found[np.arange(len(linked)), linked + 1] += 1
    assert np.abs(found / sweeps - wanted).max() < 0.02
    again = blank_tally(couples, direction)
    if cells == "of shared couples":
        engine.recount(directed(text.plain(0), direction), text.sharing, linked, again)
    else:
        engine.place(directed(pairs, direction), linked, again, NO_SINGLES)
    assert all((a == b).all() for a, b in zip(tally, again, strict=True))
    states = TINY.target if direction else TINY.source
    assert fertilities.sum() == sweeps * states.n_tokens
    assert jumps.sum() == sweeps * len(TINY) + (fertilities * np.arange(engine.MOST + 1)).sum()


def as_prepared(model, pairs):
    return pairs


def sample(count: int) -> tuple[Bitext, Alignments]:
    pairs = generate(1, pairs=count).pairs
    gold = Alignments.from_pairs(
        [[(link.source, link.target) for link in pair.links] for pair in pairs],
        [[link.sure for link in pair.links] for pair in pairs],
    )
    corpora = (Corpus.from_sentences([getattr(p, side).words for p in pairs]) for side in ("source", "target"))
    return Bitext(*corpora), gold


def test_fertilities_help_where_there_is_little_text() -> None:
    bitext, gold = sample(500)
    errors = [alignment_error(gold, m.fit(bitext).align(bitext), draws=1)["aer"] for m in (HMM(), Fertility())]
    assert errors[1] < errors[0]


def test_the_links_of_a_pair_do_not_depend_on_where_it_stands() -> None:
    bitext, _ = sample(120)
    model = Fertility(sweeps=4).fit(bitext)
    whole, alone = model.matrix(bitext), model.matrix(bitext[77:78])
    assert (whole.matrix(77) == alone.matrix(0)).all()


def test_probabilities_of_every_output_sum_to_one() -> None:
    bitext, _ = sample(60)
    model = Fertility(sweeps=4).fit(bitext)
    (pairs,) = model.map(bitext, as_prepared)
    for direction in 0, 1:
        found = model.posteriors(pairs, direction)
        total = float(found.links.sum(dtype=np.float64) + found.nulls.sum(dtype=np.float64))
        assert total == pytest.approx(len(found.nulls), rel=1e-5)


def test_another_seed_is_another_draw_and_the_same_seed_the_same_model() -> None:
    bitext, _ = sample(100)
    one, again, other = (Fertility(sweeps=4, seed=seed).fit(bitext).matrix(bitext).weights for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_the_model_counts_the_links_that_win_and_their_fertilities() -> None:
    bitext, _ = sample(100)
    model = Fertility(sweeps=4).fit(bitext)
    for direction, (states, outputs) in enumerate(((bitext.source, bitext.target), (bitext.target, bitext.source))):
        fertilities = model.fertilities_[direction]
        assert model.counts_[direction].sum() + model.null_counts_[direction].sum() == outputs.n_tokens
        assert (fertilities.sum(axis=1) == states.vocab.counts).all()


def test_learning_goes_on_with_what_was_counted_before() -> None:
    bitext, gold = sample(500)
    before = Fertility(sweeps=4).fit(bitext[:350])
    after = Fertility(sweeps=4).fit(bitext[350:], base=before)
    assert after.fertilities_[0].sum() == bitext.source.n_tokens
    assert after.counts_.sum() > before.counts_.sum()
    errors = [alignment_error(gold[350:], m.align(bitext[350:]), draws=1)["aer"] for m in (before, after)]
    assert errors[1] < errors[0]


def test_there_are_not_more_votes_than_can_be_counted() -> None:
    with pytest.raises(SettingError, match="at most 255"):
        Fertility(chains=100, sweeps=10)
