"""The seats of topic models: exact checks of the sampler against enumeration, joints and grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corpuscle.compiled import kernel
from corpuscle.engine.restaurants.gibbs import available_context
from corpuscle.engine.restaurants.pool import (
    CELLS,
    COUNT,
    CUSTOMERS,
    DISH,
    ENTRIES,
    NEXT,
    NODE,
    OWN,
    SINGLES,
    SIZE,
    TABLES,
    USED,
)
from corpuscle.random import Random
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.blocks import (
    N_TABLES,
    N_WORDS,
    new_block,
    place_block,
    sweep_tables,
    switch_probability,
    take_block,
    weigh,
)
from corpuscle.topics.kernels.check import verify
from corpuscle.topics.kernels.frozen import freeze, likelihoods, predictor, used_depths
from corpuscle.topics.kernels.seating import DOUBLY, SEPARATE, SWITCHING, Buffers, Seats
from corpuscle.topics.kernels.state import (
    log_joint,
    more_room,
    new_buffers,
    new_seats,
    number_grams,
    sample_discounts,
    set_prior,
)
from corpuscle.topics.kernels.token_sampler import _remove, sweep_words
from tests.topics.brute import Brute

START = 1


@kernel(bare=True)
def remove_words(seats, first, last, stream):
    """Let the words ``first`` to ``last`` go for good."""
    for word in range(first, last):
        _remove(seats, np.int64(word), stream)


@kernel(bare=True)
def taken_and_weighed(seats, buffers, block, row, depth, entry, table_of, stream):
    """The first half of a block move; kernels that become part of others are not called from outside."""
    take_block(seats, block, row, entry, table_of, stream)
    weigh(seats, buffers, block, row, depth)


@kernel(bare=True)
def placed(seats, buffers, block, row, depth, topic, stream):
    place_block(seats, buffers, block, row, depth, topic, stream)


@kernel(bare=True)
def switched(seats, block, context, label):
    return switch_probability(seats, block, context, label)


class Sampler:
    """A state with its buffers, for documents given as lists of word ids from 2 on; each document is one sentence."""

    def __init__(self, documents, method, topics=2, order=2, types=2, dense=None, fixed=True, top=0.5, padded=True):
        symbols, owners = [], []
        for number, document in enumerate(documents):
            symbols += [START, *document] if padded else document
            owners += [number] * len(document)
        self.symbols = np.array(symbols, np.int32)
        available = available_context(self.symbols, START, order - 1)
        self.grams = number_grams(self.symbols, available, START, int(self.symbols.max()) + 1)
        self.seats: Seats = new_seats(
            self.grams, np.array(owners), topics, method, 1.0 / types, fixed=fixed, top=top, dense=dense
        )
        self.buffers: Buffers = new_buffers(self.seats)
        self.block = new_block(self.seats, self.grams.row_count)
        self.n_words = len(owners)

    def set(self, discounts, strengths, alpha, switches=None):
        self.seats.pool.discounts[:], self.seats.pool.strengths[:] = discounts, strengths
        set_prior(self.seats, np.array(alpha))
        if switches is not None:
            self.seats.switch.strengths[:] = switches

    def sweep(self, iteration, come=False):
        stream = Random(1, "test.words", iteration).array()
        visits, done = np.arange(self.n_words, dtype=np.int32), 0
        while done < self.n_words:
            done = sweep_words(self.seats, self.buffers, visits, done, self.n_words, come, stream)
            if done < self.n_words:
                self.seats = more_room(self.seats, 64)

    def sweep_tables(self, iteration):
        stream = Random(1, "test.tables", iteration).array()
        row, done = 0, 0
        while row < len(self.seats.rows):
            row, done = sweep_tables(self.seats, self.buffers, self.block, row, len(self.seats.rows), done, stream)
            if row < len(self.seats.rows):
                self.seats = more_room(self.seats, 64 + 4 * self.n_words)

    @property
    def topics(self):
        return tuple(self.seats.words[:, at.TOPIC].tolist())


def text(seed, documents=6, length=40, types=8):
    rng = np.random.default_rng(seed)
    return [(2 + rng.integers(0, types, length) * rng.integers(0, 2, length)).tolist() for _ in range(documents)]


@pytest.mark.parametrize("dense", [1, 5, 10**9])
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("method", [SEPARATE, DOUBLY, SWITCHING])
def test_every_count_is_right_after_every_sweep(method, fixed, dense):
    sampler = Sampler(text(1), method, topics=4, order=3, types=9, dense=dense, fixed=fixed)
    sampler.sweep(0, come=True)
    verify(sampler.seats)
    for iteration in range(1, 12):
        sampler.sweep(iteration)
        verify(sampler.seats)
        sampler.sweep_tables(iteration)
        verify(sampler.seats)
        sample_discounts(sampler.seats, 1, iteration)
        verify(sampler.seats)
        assert math.isfinite(log_joint(sampler.seats))


def test_nothing_is_left_when_all_words_have_gone():
    for method in (SEPARATE, DOUBLY, SWITCHING):
        sampler = Sampler(text(2), method, topics=3, order=3, types=9, fixed=method != DOUBLY)
        sampler.sweep(0, come=True)
        sampler.sweep_tables(1)
        remove_words(sampler.seats, 0, sampler.n_words, Random(1, "test.leave").array())
        seats = sampler.seats
        for pool in (seats.pool, seats.switch):
            assert pool.counters[0, 0] == pool.counters[0, 2] and pool.counters[2, 0] == pool.counters[2, 2]
        assert seats.pool.counters[1, 0] == seats.pool.counters[1, 2]
        assert (seats.rows[:, at.FIRST_ENTRY] < 0).all() and (seats.contexts[:, at.FIRST_NODE] < 0).all()
        assert (seats.contexts[:, at.SWITCH] < 0).all() and not seats.documents.any()
        assert not seats.contexts[:, [at.STOPPED, at.PASSED]].any() and (seats.places < 0).all()


A, B = 2, 3
PARAMETERS = {"discounts": [0.2, 0.3, 0.4], "strengths": [0.5, 0.4, 0.7], "switches": [0.9, 1.3, 0.6]}
ALPHA = (0.3, 0.6)


def distance(sampler, exact, sweeps, tables):
    """Total variation between the exact posterior of topics and the share of sweeps that end there."""
    found: dict[tuple[int, ...], int] = {}
    sampler.sweep(0, come=True)
    for iteration in range(1, sweeps + 1):
        sampler.sweep(iteration)
        for more in range(tables):
            sampler.sweep_tables(iteration * tables + more)
        found[sampler.topics] = found.get(sampler.topics, 0) + 1
    return 0.5 * sum(abs(found.get(topics, 0) / sweeps - p) for topics, p in exact.items())


@pytest.mark.parametrize(
    ("method", "documents", "order", "tables", "sweeps"),
    [
        (SEPARATE, [[A, B, A], [A, B]], 2, 0, 20_000),
        (SEPARATE, [[A, B, A], [A, B]], 2, 2, 10_000),
        (SEPARATE, [[A, A, A], [A, A]], 3, 2, 10_000),
        (DOUBLY, [[A, B, A], [A]], 2, 0, 20_000),
        (DOUBLY, [[A, B, A], [A]], 2, 2, 10_000),
        (SWITCHING, [[A, B, A], [A]], 2, 0, 40_000),
        (SWITCHING, [[A, B, A], [A]], 2, 2, 30_000),
    ],
)
def test_the_chain_visits_topics_as_often_as_their_posterior_says(method, documents, order, tables, sweeps):
    parameters = {name: values[:order] for name, values in PARAMETERS.items()}
    exact = Brute(method, 2, **parameters).posterior(documents, ALPHA, order)
    sampler = Sampler(documents, method, order=order)
    sampler.set(parameters["discounts"], parameters["strengths"], ALPHA, parameters["switches"])
    assert distance(sampler, exact, sweeps, tables) < 0.03


@pytest.mark.parametrize(
    ("method", "topics", "tables"),
    [(method, topics, tables) for method in (SEPARATE, DOUBLY) for topics in (4, 9) for tables in (0, 1)]
    + [(SWITCHING, 3, 1), (SWITCHING, 7, 0)],
)
def test_every_topic_of_many_is_visited_as_often_as_its_posterior_says(method, topics, tables):
    """Weights are added up four at a time, topic 0 among them: one round or two and a rest of 0, 1 or 2."""
    documents, alpha = [[A, B], [A]], np.linspace(0.1, 0.7, topics)[np.arange(topics) * 2 % topics].tolist()
    parameters = {name: values[:2] for name, values in PARAMETERS.items()}
    exact = Brute(method, 2, **parameters).posterior(documents, alpha, 2)
    sampler = Sampler(documents, method, topics=topics)
    sampler.set(parameters["discounts"], parameters["strengths"], alpha, parameters["switches"])
    sampler.sweep(0, come=True)
    seen = np.empty((8_000, 3), np.int64)
    for iteration in range(1, len(seen) + 1):
        sampler.sweep(iteration)
        for more in range(tables):
            sampler.sweep_tables(iteration * tables + more)
        seen[iteration - 1] = sampler.topics
    states, chances = np.array(list(exact)), np.array(list(exact.values()))
    for i in range(3):
        marginal = np.bincount(states[:, i], chances, topics + 1)
        shares = np.bincount(seen[:, i], minlength=topics + 1) / len(seen)
        assert abs(shares - marginal).sum() / 2 < 0.04
    for i, j in ((0, 1), (0, 2), (1, 2)):
        same = chances[states[:, i] == states[:, j]].sum()
        assert (seen[:, i] == seen[:, j]).mean() == pytest.approx(same, abs=0.03)


def test_the_joint_probability_of_infinite_order_is_that_of_all_its_choices():
    """Summed over seatings, by how much the words use of their contexts. No entry has more than two customers, so the
    sizes of tables say everything."""
    sampler = Sampler([[A, B], [A]], SEPARATE, topics=1, order=3, fixed=False)
    sampler.set(PARAMETERS["discounts"], PARAMETERS["strengths"], [1.0])
    prior = sampler.seats.numbers[at.STOP_PRIOR :]
    prior[:] = 1.0, 1.0
    brute = Brute(SEPARATE, 2, PARAMETERS["discounts"], PARAMETERS["strengths"])
    found: dict[tuple[int, ...], dict[frozenset, float]] = {}
    for iteration in range(2000):
        sampler.sweep(iteration, come=iteration == 0)
        seats = sampler.seats
        depths = tuple(seats.contexts[seats.rows[seats.words[:, at.ROW], at.CONTEXT], at.DEPTH].tolist())
        found.setdefault(depths, {})[frozenset(seating(sampler).items())] = math.exp(log_joint(seats))
    assert len(found) == 2 * 3 * 2
    contexts = [(1,), (1, A), (1,)]
    for depths, joints in found.items():
        used = [(1, h[len(h) - depth :], w) for h, depth, w in zip(contexts, depths, [A, B, A], strict=True)]
        expected = Brute.stopping(contexts, depths, prior) * brute.likelihood(used)
        assert sum(joints.values()) == pytest.approx(expected, rel=1e-9)


def test_a_stop_where_the_context_ends_costs_nothing():
    sampler, found = Sampler([[A, B]], SEPARATE, topics=1, fixed=False), {}
    sampler.set([0.2, 0.3], [0.5, 0.4], [1.0])
    for iteration in range(200):
        sampler.sweep(iteration, come=iteration == 0)
        rows = sampler.seats.words[:, at.ROW]
        depths = sampler.seats.contexts[sampler.seats.rows[rows, at.CONTEXT], at.DEPTH]
        found[tuple(depths.tolist())] = math.exp(log_joint(sampler.seats))
    words = 0.5 * 0.5 * (0.5 + 0.2) / (0.5 + 1)
    expected = {(0, 0): 4 / 5 * 5 / 6, (0, 1): 4 / 5 * 1 / 6, (1, 0): 1 / 5 * 4 / 6, (1, 1): 1 / 5 * 2 / 6}
    assert found == pytest.approx({depths: chance * words for depths, chance in expected.items()}, rel=1e-9)


@pytest.mark.parametrize("dense", [1, 10**9])
@pytest.mark.parametrize("method", [SEPARATE, DOUBLY, SWITCHING])
def test_the_weight_of_a_block_is_a_ratio_of_joint_probabilities(method, dense):
    sampler = Sampler([[A, B, A, A], [B, A]], method, dense=dense)
    sampler.set([0.3, 0.5], [1.5, 1.2], ALPHA, [1.1, 1.7])
    sampler.sweep(0, come=True)
    sampler.seats = more_room(sampler.seats, 1000)
    seats, block, first = sampler.seats, sampler.block, int(method != SWITCHING)
    large, shadows = 0, 0
    for iteration in range(1, 15):
        sampler.sweep(iteration)
        row = iteration % len(seats.rows)
        entry = int(seats.rows[row, at.FIRST_ENTRY])
        while entry >= 0 and method == DOUBLY and seats.links[entry, at.OF_TOPIC] == 0:
            entry = int(seats.links[entry, at.NEXT_ENTRY])
        if entry < 0:
            continue
        shadow = int(seats.pool.entries[entry, OWN])
        table_of = entry if shadow < 0 or (iteration % 2 and seats.pool.entries[entry, TABLES]) else shadow
        topic = int(seats.links[entry, at.OF_TOPIC])
        depth = int(seats.contexts[seats.rows[row, at.CONTEXT], at.DEPTH])
        stream = Random(2, "test.blocks", iteration).array()
        taken_and_weighed(seats, sampler.buffers, block, row, depth, entry, table_of, stream)
        found = np.log(block.weights[first:])
        expected = np.log([joint_with(sampler, row, depth, k) for k in range(first, 3)])
        # Several customers of switches, of words or of tables at several depths, come as if independent of one another.
        exact = method == SEPARATE or (depth == 0 if method == DOUBLY else block.numbers[N_WORDS] == 1)
        assert found - found[0] == pytest.approx(expected - expected[0], abs=1e-9 if exact else 0.01)
        large += block.numbers[N_TABLES] > 1
        shadows += table_of != entry
        placed(seats, sampler.buffers, block, row, depth, topic, stream)
        verify(seats)
    assert large > 2 and (method != DOUBLY or shadows > 2)


def joint_with(sampler, row, depth, topic):
    """The joint probability with the block in a topic, summed over all that is drawn when it is placed: by which label
    and where the customer of its top table sits, and the customers of switches.

    Enumeration knows every outcome and their probabilities, but for a factor; the joint probability of one gives it.
    """
    before, outcomes = seating(sampler), enumerated(sampler, topic)
    block = {table[1:3] for table in tables_of(sampler, topic)}
    factors = []
    for number in range(20):
        seats = copied(sampler.seats)
        stream = Random(3, "test.placed", number).array()
        placed(seats, copied(sampler.buffers), copied(sampler.block), row, depth, topic, stream)
        after = seating(sampler, seats)
        same = math.prod(
            ways(before.get(key, ()), sizes)
            for key, sizes in after.items()
            if not (key[:2] == ("w", topic) and key[2:4] in block)  # the block itself, which is given
        )
        factors.append(same * math.exp(log_joint(seats)) / outcomes[frozenset(after.items())])
    assert factors == pytest.approx([factors[0]] * len(factors), rel=1e-9)
    return factors[0] * sum(outcomes.values())


def tables_of(sampler, topic):
    """The tables of the block, the top one first: (topic, context, word, size)."""
    tables = sampler.block.tables[: sampler.block.numbers[N_TABLES]].tolist()
    return [(topic, *gram_of(sampler, row), size) for row, size, _ in tables]


def enumerated(sampler, topic):
    """Every state that can be when the block is placed in a topic, with its probability but for a common factor."""
    seats, block = sampler.seats, sampler.block
    brute = Brute(seats.method, 2, *(pool.tolist() for pool in (seats.pool.discounts, seats.pool.strengths)))
    brute.switches = seats.switch.strengths.tolist()
    (_, h, w, size), *below = tables_of(sampler, topic)
    states: dict[frozenset, float] = {}
    for label in (0, 1) if seats.method == DOUBLY else (1,):
        content = seating(sampler)
        for context, word, customers, of in [(h, w, size, label), *((*table[1:], 1) for table in below)]:
            key = ("w", topic, context, word, of)
            content[key] = tuple(sorted([*content.get(key, ()), customers]))
        start = frozenset(content.items())
        for chance, state in brute.switched(start, h, label) if seats.method == DOUBLY else [(1.0, start)]:
            above = [(brute.base, state)]
            if label == 0 or h:
                above = brute.seated(state, topic if label else 0, h[label:], w)
            for more, final in above:
                states[final] = states.get(final, 0.0) + chance * more
    for word in block.words[: block.numbers[N_WORDS]].tolist() if seats.method == SWITCHING else ():
        context, _ = gram_of(sampler, seats.words[word, at.ROW])
        after: dict[frozenset, float] = {}
        for state, weight in states.items():
            for chance, final in brute.switched(state, context, int(topic > 0)):
                after[final] = after.get(final, 0.0) + weight * chance
        states = after
    return states


def ways(before, after):
    """In how many ways new customers, one after the other, make tables of these sizes (sorted) of those."""
    if sum(before) == sum(after):
        return int(before == after)
    grown = [(*before[:i], size + 1, *before[i + 1 :]) for i, size in enumerate(before)]
    return sum(ways(tuple(sorted(sizes)), after) for sizes in [*grown, (*before, 1)])


def copied(record):
    """A NamedTuple with arrays of its own, at any depth."""
    if isinstance(record, tuple):
        return type(record)(*map(copied, record))
    return record.copy() if isinstance(record, np.ndarray) else record


def sizes_of(pool, entry):
    """The sizes of the tables of an entry, sorted."""
    entry = pool.entries[entry]
    sizes = [1] * int(entry[SINGLES])
    if entry[TABLES] - entry[SINGLES] == 1:
        sizes.append(int(entry[CUSTOMERS] - entry[SINGLES]))
    cell = int(entry[CELLS])
    while cell >= 0:
        sizes += [int(pool.cells[cell, SIZE])] * int(pool.cells[cell, COUNT])
        cell = int(pool.cells[cell, NEXT])
    return tuple(sorted(sizes))


def gram_of(sampler, row):
    """The context and the word of a row."""
    seats, grams = sampler.seats, sampler.grams
    context = int(seats.rows[row, at.CONTEXT])
    while seats.rows[row, at.ABOVE] >= 0:
        row = seats.rows[row, at.ABOVE]
    return context_names(sampler)[context], int(grams.row_symbol[row])


def context_names(sampler):
    grams, names = sampler.grams, {0: ()}
    for context in range(1, len(grams.context_parent)):
        names[context] = (int(grams.context_symbol[context]), *names[int(grams.context_parent[context])])
    return names


def seating(sampler, seats=None):
    """All tables of a state (that of the sampler, or a copy) as ``Brute`` writes them."""
    seats = sampler.seats if seats is None else seats
    entries = seats.pool.entries[: int(seats.pool.counters[ENTRIES, USED])]
    live = np.flatnonzero(entries[:, NODE] >= 0).tolist()
    shadows, content = set(entries[live, OWN].tolist()), {}
    for i in live:
        topic = int(seats.links[i, at.OF_TOPIC])
        content["w", topic, *gram_of(sampler, entries[i, DISH]), int(i not in shadows)] = sizes_of(seats.pool, i)
    for context, name in context_names(sampler).items():
        node = int(seats.contexts[context, at.SWITCH])
        for label in (0, 1) if node >= 0 else ():
            content["s", name, label] = sizes_of(seats.switch, 2 * node + label)
    return {key: sizes for key, sizes in content.items() if sizes}


def test_fractional_switch_customers_come_close_to_all_seatings_of_the_switch():
    documents = [[A, B, A, A, B], [B, A, A], [A, A, B, A]]
    sampler = Sampler(documents, SWITCHING, order=3)
    sampler.set([0.2, 0.3, 0.4], [0.5, 0.4, 0.7], ALPHA, [0.9, 1.3, 0.6])
    sampler.sweep(0, come=True)
    seats, block = sampler.seats, sampler.block
    brute = Brute(SWITCHING, 2, [0] * 3, [1] * 3, [0.9, 1.3, 0.6])
    state = frozenset((key, sizes) for key, sizes in seating(sampler).items() if key[0] == "s")
    contexts = [int(seats.rows[row, at.CONTEXT]) for row in seats.words[[2, 3, 4, 7, 10, 11], at.ROW]]
    names = context_names(sampler)
    for n in range(1, 7):
        logs = []
        for label in (0, 1):
            states, found = {state: 1.0}, 1.0
            for context in contexts[:n]:
                after: dict[frozenset, float] = {}
                for here, weight in states.items():
                    for chance, final in brute.switched(here, names[context], label):
                        after[final] = after.get(final, 0.0) + weight * chance
                states = after
                found *= switched(seats, block, context, label)
            logs.append(math.log(found) - math.log(sum(states.values())))
        block.fraction[:] = 0.0
        assert abs(logs[1] - logs[0]) < (1e-12 if n == 1 else 0.05)


def test_the_strength_of_the_switch_follows_its_grid_posterior():
    sampler = Sampler(text(4), SWITCHING, topics=2, order=2, types=9)
    sampler.sweep(0, come=True)
    switch = sampler.seats.switch
    law, customers, tables = (switch.nodes[: switch.counters[0, 0], column] for column in (2, 3, 4))
    grid = np.linspace(0.005, 20, 8000)
    here = law == 1
    logs = -grid + (tables[here].sum() - here.sum()) * np.log(grid)
    for c in customers[here].tolist():
        logs -= np.log(grid[:, None] + np.arange(1, c)).sum(1)
    weights = np.exp(logs - logs.max())
    draws = []
    for iteration in range(3000):
        sample_discounts(sampler.seats, 1, iteration)
        draws.append(switch.strengths[1])
    assert np.mean(draws) == pytest.approx((weights * grid).sum() / weights.sum(), rel=0.05)


def read_by(sampler, sample, method, topics, top=0.5):
    """What a sample says about the words of its own text, as a model of some method."""
    places = np.flatnonzero(sampler.symbols != START)
    available = available_context(sampler.symbols, START, 2)[places]
    model = predictor(sample, method, 1 / 9, fixed=True, top=top)
    return likelihoods(model, topics, sampler.symbols, places, sampler.symbols[places], available)


def test_a_switch_that_is_always_on_or_off_gives_the_simpler_model():
    forced = Sampler(text(5), DOUBLY, topics=3, order=3, types=9, top=1.0)
    silent = Sampler(text(5), SWITCHING, topics=3, order=3, types=9, top=0.0)
    for sampler in (forced, silent):
        sampler.sweep(0, come=True)
        for iteration in range(1, 4):
            sampler.sweep(iteration)
            sampler.sweep_tables(iteration)
            verify(sampler.seats)
    assert 0 not in forced.topics and set(silent.topics) == {0}
    entries = forced.seats.pool.entries[: forced.seats.pool.counters[ENTRIES, USED]]
    assert (entries[entries[:, NODE] >= 0, OWN] < 0).all()  # no table leans on the global model
    sample = freeze(forced.seats, forced.grams)
    leaning, separate = (read_by(forced, sample, DOUBLY, 3, 1.0), read_by(forced, sample, SEPARATE, 3))
    assert np.array_equal(leaning.topics, separate.topics) and (leaning.switch == 1.0).all()
    sample = freeze(silent.seats, silent.grams)
    switching = read_by(silent, sample, SWITCHING, 3, 0.0)
    plain = read_by(silent, sample | {"topics": np.ones_like(sample["topics"])}, SEPARATE, 1)
    assert np.array_equal(switching.common, plain.topics[:, 0]) and (switching.switch == 0.0).all()


def test_the_longest_contexts_are_used_as_often_as_they_are_reached():
    sampler = Sampler(text(6), SEPARATE, topics=2, order=3, types=9, fixed=False)
    for iteration in range(4):
        sampler.sweep(iteration, come=iteration == 0)
    seats, used = sampler.seats, used_depths(freeze(sampler.seats, sampler.grams))
    rows = np.flatnonzero(seats.rows[:, at.FIRST_ENTRY] >= 0)
    contexts = seats.rows[rows, at.CONTEXT]
    stops, passes = seats.contexts[:, at.STOPPED] + 4.0, seats.contexts[:, at.PASSED] + 1.0
    stop, above = stops / (stops + passes), seats.contexts[:, at.ABOVE]
    for context, found in zip(contexts.tolist(), used, strict=True):
        depth, expected = seats.contexts[context, at.DEPTH], 1.0
        if depth < 2:
            expected = stop[context]
        while above[context] >= 0:
            context = above[context]
            expected *= 1.0 - stop[context]
        assert found == pytest.approx(expected, rel=1e-12)
