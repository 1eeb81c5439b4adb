"""The seats of topic models: exact checks of the sampler against enumeration, joints and grids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from topic_brute import Brute

from corpuscle.compiled import kernel_bare
from corpuscle.engine import topic_seats as at
from corpuscle.engine.gibbs import available_context
from corpuscle.engine.topic_blocks import place_block, sweep_tables, take_block
from corpuscle.engine.topic_check import verify
from corpuscle.engine.topic_grams import number_grams
from corpuscle.engine.topic_seats import DOUBLY, SEPARATE, SWITCHING, Buffers, Seats
from corpuscle.engine.topic_state import log_joint, more_room, new_buffers, new_seats, sample_discounts, set_prior
from corpuscle.engine.topic_weights import N_TABLES, N_WORDS, new_block, switch_probability, weigh
from corpuscle.engine.topic_words import remove_words, sweep_words
from corpuscle.random import Random

START = 1


@kernel_bare
def taken_and_weighed(seats, buffers, block, row, depth, entry, stream):
    """The first half of a block move; kernels that become part of others are not called from outside."""
    take_block(seats, block, row, entry, entry, stream)
    return weigh(seats, buffers, block, row, depth)


@kernel_bare
def placed(seats, buffers, block, row, depth, topic, stream):
    place_block(seats, buffers, block, row, depth, topic, stream)


@kernel_bare
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


@pytest.mark.parametrize("dense", [1, 10**9])
@pytest.mark.parametrize("method", [SEPARATE, DOUBLY])
def test_the_weight_of_a_block_is_a_ratio_of_joint_probabilities(method, dense):
    sampler = Sampler(text(3, documents=4, length=30, types=4), method, topics=3, order=3, types=5, dense=dense)
    sampler.set([0.3, 0.5, 0.6], [0.8, 1.2, 0.7], [0.4, 0.2, 0.9], [1.1, 0.7, 0.5])
    sampler.sweep(0, come=True)
    seats, block, checked = sampler.seats, sampler.block, 0
    for iteration in range(1, 60):
        sampler.sweep(iteration)
        stream = Random(2, "test.blocks", iteration).array()
        row = iteration * 7 % len(seats.rows)
        entry = int(seats.rows[row, at.FIRST_ENTRY])
        while entry >= 0 and (seats.links[entry, at.OF_TOPIC] == 0 or seats.pool.entries[entry, 4] == 0):
            entry = int(seats.links[entry, at.NEXT_ENTRY])
        if entry < 0:
            continue
        topic = int(seats.links[entry, at.OF_TOPIC])
        depth = int(seats.contexts[seats.rows[row, at.CONTEXT], at.DEPTH])
        taken_and_weighed(seats, sampler.buffers, block, row, depth, entry, stream)
        found = np.log(block.weights[1:])
        passed = np.log(sampler.buffers.levels[depth + 1, 1:])
        expected = passed + [joint_with(sampler, k) for k in range(1, 4)]
        assert found - found[0] == pytest.approx(expected - expected[0], abs=1e-9)
        checked += block.numbers[N_TABLES] > 1
        placed(seats, sampler.buffers, block, row, depth, topic, stream)
        verify(sampler.seats)
    assert checked > 10


def tables_of(block):
    return [tuple(table) for table in block.tables[: block.numbers[N_TABLES]].tolist()]


def joint_with(sampler, topic):
    """The log joint probability with the block in a topic, its top table hanging in the air, by the formula of
    seatings: sum over restaurants of sum_{i<t} log(b + a i) - log b^(c), of documents log Dirichlet-multinomial."""
    seats, block = sampler.seats, sampler.block
    customers: dict[int, int] = {}
    tables: dict[int, int] = {}
    for row, size, _ in tables_of(block):
        context = int(seats.rows[row, at.CONTEXT])
        customers[context] = customers.get(context, 0) + size
        tables[context] = tables.get(context, 0) + 1
    total = 0.0
    for context in customers:
        depth = seats.contexts[context, at.DEPTH]
        a, b = seats.pool.discounts[depth], seats.pool.strengths[depth]
        node = int(seats.contexts[context, at.FIRST_NODE])
        while node >= 0 and seats.pool.nodes[node, 1] != topic:
            node = int(seats.pool.nodes[node, at.NEXT_NODE])
        c, t = (int(seats.pool.nodes[node, column]) for column in (3, 4)) if node >= 0 else (0, 0)
        total += sum(math.log(b + a * i) for i in range(t, t + tables[context]))
        total -= sum(math.log(b + i) for i in range(c, c + customers[context]))
    counts = seats.documents.astype(float).copy()
    for word in block.words[: block.numbers[N_WORDS]].tolist():
        document = seats.words[word, at.DOCUMENT]
        total += math.log(counts[document, topic] + seats.alpha[topic])
        counts[document, topic] += 1
    return total


def test_fractional_switch_customers_come_close_to_all_seatings_of_the_switch():
    documents = [[A, B, A, A, B], [B, A, A], [A, A, B, A]]
    sampler = Sampler(documents, SWITCHING, order=3)
    sampler.set([0.2, 0.3, 0.4], [0.5, 0.4, 0.7], ALPHA, [0.9, 1.3, 0.6])
    sampler.sweep(0, come=True)
    seats, block = sampler.seats, sampler.block
    brute = Brute(SWITCHING, 2, [0] * 3, [1] * 3, [0.9, 1.3, 0.6])
    state = switch_state(sampler)
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


def context_names(sampler):
    grams, names = sampler.grams, {0: ()}
    for context in range(1, len(grams.context_parent)):
        names[context] = (int(grams.context_symbol[context]), *names[int(grams.context_parent[context])])
    return names


def switch_state(sampler):
    """The switch tables of a state as ``Brute`` writes them."""
    from corpuscle.engine.pool import CELLS, COUNT, CUSTOMERS, NEXT, SINGLES, SIZE, TABLES

    seats, content = sampler.seats, {}
    for context, name in context_names(sampler).items():
        node = int(seats.contexts[context, at.SWITCH])
        for label in (0, 1) if node >= 0 else ():
            entry = seats.switch.entries[2 * node + label]
            sizes = [1] * int(entry[SINGLES])
            if entry[TABLES] - entry[SINGLES] == 1:
                sizes.append(int(entry[CUSTOMERS] - entry[SINGLES]))
            cell = int(entry[CELLS])
            while cell >= 0:
                sizes += [int(seats.switch.cells[cell, SIZE])] * int(seats.switch.cells[cell, COUNT])
                cell = int(seats.switch.cells[cell, NEXT])
            if sizes:
                content["s", name, label] = tuple(sorted(sizes))
    return frozenset(content.items())


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


def test_a_switch_that_is_always_on_or_off_gives_the_simpler_model():
    documents = text(5)
    plain = Sampler(documents, SEPARATE, topics=3, order=3, types=9)
    forced = Sampler(documents, DOUBLY, topics=3, order=3, types=9, top=1.0)
    silent = Sampler(documents, SWITCHING, topics=3, order=3, types=9, top=0.0)
    for sampler in (plain, forced, silent):
        sampler.sweep(0, come=True)
        for iteration in range(1, 4):
            sampler.sweep(iteration)
            sampler.sweep_tables(iteration)
            verify(sampler.seats)
    assert 0 not in forced.topics and set(silent.topics) == {0}
    entries = forced.seats.pool.entries[: forced.seats.pool.counters[1, 0]]
    assert (entries[entries[:, 0] >= 0, 7] < 0).all()  # no table leans on the global model
