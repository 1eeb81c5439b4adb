"""Hierarchical Pitman-Yor restaurants against enumeration, formulas and one another."""

from collections import Counter
from itertools import product
from math import exp, lgamma, log

import numpy as np
import pytest

from corpuscle.engine.restaurants import hierarchy as hpy
from corpuscle.engine.restaurants import pool as pools
from corpuscle.engine.restaurants import seating, variable
from corpuscle.random import Random


def stream(seed=1, item=0):
    return Random(seed, "tests.restaurants", 0, item).array()


def roomy(pool, depth):
    return pool if pools.has_room(pool, depth) else pools.grown(pool)


def random_tokens(seed, n, depth, types):
    """(context, dish) pairs: contexts of ``depth`` symbols in an array of their own, most recent last."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, types + 1)
    return random.choice(types, (n, depth + 1), p=weights / weights.sum()).astype(np.int32)


def fill(tokens, pool, root, draws, base):
    depth = tokens.shape[1] - 1
    nodes = []
    for row in tokens:
        pool = roomy(pool, depth)
        node = pools.make_context(pool, root, row, depth, depth)
        hpy.add(pool, node, int(row[-1]), base, draws)
        nodes.append(node)
    return pool, nodes


def sizes_of(pool, entry):
    """All table sizes of an entry, falling."""
    customers, tables, singles = (int(pool.entries[entry, c]) for c in (pools.CUSTOMERS, pools.TABLES, pools.SINGLES))
    sizes, at = [], int(pool.entries[entry, pools.CELLS])
    if at < 0 and tables > singles:
        sizes = [customers - singles]
    while at >= 0:
        sizes += [int(pool.cells[at, pools.SIZE])] * int(pool.cells[at, pools.COUNT])
        at = int(pool.cells[at, pools.NEXT])
    return sizes + [1] * singles


# ---- sums, removal, soundness


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_predictions_sum_to_one_and_counts_are_sound_after_any_history(depth):
    types, tokens = 6, random_tokens(depth, 400, depth, 6)
    pool = pools.new_pool(depth + 1, nodes=4, entries=4, cells=2, discount=0.4, strength=0.7)
    root, draws = pools.new_root(pool, 0), stream()
    pool, nodes = fill(tokens, pool, root, draws, 1 / types)
    present = list(range(len(tokens)))
    random = np.random.default_rng(3)
    for step in range(600):
        i = int(random.integers(len(tokens)))
        if i in present:
            hpy.remove(pool, nodes[i], int(tokens[i, -1]), draws)
            present.remove(i)
        else:
            pool = roomy(pool, depth)
            nodes[i] = pools.make_context(pool, root, tokens[i], depth, depth)
            hpy.add(pool, nodes[i], int(tokens[i, -1]), 1 / types, draws)
            present.append(i)
        if step % 100 == 0:
            direct = seating.verify(pool)
            assert direct.sum() == len(present)
            for context in random_tokens(step, 5, depth, types):
                node = pools.find_context(pool, root, context, depth, depth)
                assert sum(hpy.probability(pool, node, w, 1 / types) for w in range(types)) == pytest.approx(
                    1, abs=1e-12
                )
    for i in present:
        hpy.remove(pool, nodes[i], int(tokens[i, -1]), draws)
    seating.verify(pool)
    used, free = pool.counters[:, pools.USED], pool.counters[:, pools.FREE_COUNT]
    assert (used - free).tolist() == [1, 0, 0]  # the root alone
    assert (pool.node_index >= 0).sum() == (pool.entry_index >= 0).sum() == 0


def test_direct_customers_are_those_that_came_from_outside():
    tokens = random_tokens(5, 300, 2, 5)
    pool = pools.new_pool(3)
    root = pools.new_root(pool, 0)
    pool, nodes = fill(tokens, pool, root, stream(), 0.2)
    direct = seating.verify(pool)
    for (node, dish), count in Counter(zip(nodes, tokens[:, -1].tolist(), strict=True)).items():
        assert direct[pools.find_entry(pool, node, dish)] == count


def test_a_pool_that_grows_gives_the_same_seats_as_one_that_is_large_from_the_start():
    tokens = random_tokens(1, 500, 2, 12)
    kept = []
    for room in (2, 5000):
        pool = pools.new_pool(3, nodes=room, entries=room, cells=room)
        root = pools.new_root(pool, 0)
        pool, _ = fill(tokens, pool, root, stream(), 1 / 12)
        kept.append(seating.to_arrays(pool))
    for name in kept[0]:
        np.testing.assert_array_equal(kept[0][name], kept[1][name])


def test_hierarchies_of_one_pool_do_not_touch_one_another():
    sets = [random_tokens(seed, 150, 1, 5) for seed in (1, 2)]
    alone = []
    for k, tokens in enumerate(sets):
        pool = pools.new_pool(2)
        root = pools.new_root(pool, 0)
        pool, _ = fill(tokens, pool, root, stream(7, k), 0.2)
        alone.append([hpy.probability(pool, root, w, 0.2) for w in range(5)])
    pool = pools.new_pool(2)
    roots, draws = [pools.new_root(pool, 0) for _ in sets], [stream(7, k) for k in range(2)]
    for pair in zip(*sets, strict=True):
        for k, row in enumerate(pair):
            pool = roomy(pool, 1)
            hpy.add(pool, pools.make_context(pool, roots[k], row, 1, 1), int(row[-1]), 0.2, draws[k])
    together = [[hpy.probability(pool, root, w, 0.2) for w in range(5)] for root in roots]
    assert together == alone


def test_a_pool_goes_on_from_its_arrays_exactly():
    tokens = random_tokens(2, 400, 2, 6)
    pool = pools.new_pool(3)
    root, draws = pools.new_root(pool, 0), stream()
    pool, nodes = fill(tokens, pool, root, draws, 1 / 6)
    for i in range(100):
        hpy.remove(pool, nodes[i], int(tokens[i, -1]), draws)
    again, copied = seating.from_arrays(pool, seating.to_arrays(pool)), draws.copy()
    pool, _ = fill(tokens[:100], pool, root, draws, 1 / 6)
    again, _ = fill(tokens[:100], again, root, copied, 1 / 6)
    seating.sample_parameters(pool, 1, 5)
    seating.sample_parameters(again, 1, 5)
    for name, array in seating.to_arrays(pool).items():
        np.testing.assert_array_equal(array, seating.to_arrays(again)[name])


def test_damaged_arrays_are_refused_or_sound():
    tokens = random_tokens(2, 120, 1, 4)
    pool = pools.new_pool(2)
    root, draws = pools.new_root(pool, 0), stream()
    pool, nodes = fill(tokens, pool, root, draws, 0.25)
    for i in range(50):
        hpy.remove(pool, nodes[i], int(tokens[i, -1]), draws)
    arrays, random, refused = seating.to_arrays(pool), np.random.default_rng(1), 0
    for _ in range(400):
        name = str(random.choice(list(arrays)))
        damaged = dict(arrays) | {name: arrays[name].copy()}
        flat = damaged[name].reshape(-1)
        odd = [0, 1, -1, -2, -3, 2**31 - 1, flat[random.integers(len(flat))]]
        flat[random.integers(len(flat))] = odd[random.integers(len(odd))]
        try:
            bad = seating.from_arrays(pool, damaged)
        except ValueError:
            refused += 1
        else:
            fill(tokens[:5], bad, root, stream(), 0.25)
    assert refused > 200


# ---- table sizes


def test_table_sizes_follow_a_plain_list_through_moves_of_whole_tables():
    pool = pools.new_pool(1)
    root, draws = pools.new_root(pool, 0), stream()
    entry = pools.entry_of(pool, root, 3)
    random, sizes = np.random.default_rng(0), []
    for step in range(800):
        pool = roomy(pool, 1)
        if not sizes or random.random() < 0.3 + 0.4 * (step < 400):
            size = int(random.choice([1, 1, 2, 2, 3, 7]))
            hpy.place_table(pool, entry, size)
            sizes.append(size)
        else:
            sizes.remove(hpy.take_table(pool, entry, draws))
        assert sizes_of(pool, entry) == sorted(sizes, reverse=True)
        seating.verify(pool, empty=True)


def test_joining_leaving_and_taking_choose_tables_with_the_right_weights():
    sizes, discount = [5, 3, 3, 2, 1, 1], 0.3
    draws, n = stream(), 20_000
    joined, left, taken = Counter(), Counter(), Counter()
    pool = pools.new_pool(1, discount=discount)
    root = pools.new_root(pool, 0)
    entry = pools.entry_of(pool, root, 0)
    for size in sizes:
        hpy.place_table(pool, entry, size)
    before, saved = Counter(sizes), (pool.entries.copy(), pool.nodes.copy(), pool.cells.copy(), pool.counters.copy())

    def restore():
        for array, copy in zip((pool.entries, pool.nodes, pool.cells, pool.counters), saved, strict=True):
            array[:] = copy

    for _ in range(n):
        hpy.join_table(pool, entry, draws)
        joined[max((before - Counter(sizes_of(pool, entry))).elements())] += 1
        restore()
        hpy.leave_table(pool, entry, draws)
        left[max((before - Counter(sizes_of(pool, entry))).elements())] += 1
        restore()
        taken[hpy.take_table(pool, entry, draws)] += 1
        restore()
    for size, count in before.items():
        assert joined[size] / n == pytest.approx(count * (size - discount) / (15 - 6 * discount), abs=0.015)
        assert left[size] / n == pytest.approx(count * size / 15, abs=0.015)
        assert taken[size] / n == pytest.approx(count / 6, abs=0.015)


# ---- Kneser-Ney


def test_one_table_for_each_pair_and_no_strength_is_interpolated_kneser_ney():
    types, discounts = 5, [0.6, 0.7, 0.8]
    tokens = random_tokens(4, 200, 2, types)
    pool = pools.new_pool(3, nodes=500, entries=500, strength=0.0)
    pool.discounts[:] = discounts
    root = pools.new_root(pool, 0)
    counts = [Counter(), Counter(), Counter()]
    counts[2] = Counter(map(tuple, tokens.tolist()))
    for m in (1, 0):  # lower orders count the distinct words before an n-gram
        counts[m] = Counter(ngram[1:] for ngram in counts[m + 1])
    for m in (0, 1, 2):
        for ngram, count in counts[m].items():
            node = pools.make_context(pool, root, np.array(ngram, np.int32), m, m)
            hpy.place_table(pool, pools.entry_of(pool, node, ngram[-1]), count)

    def kneser_ney(context, word):
        lower = kneser_ney(context[1:], word) if context else 1 / types
        after = {ngram[-1]: c for ngram, c in counts[len(context)].items() if ngram[:-1] == context}
        if not after:
            return lower
        d, total = discounts[len(context)], sum(after.values())
        return max(after.get(word, 0) - d, 0) / total + d * len(after) / total * lower

    seating.verify(pool)
    for context in product(range(types), repeat=2):
        symbols = np.array(context, np.int32)
        node = pools.find_context(pool, root, symbols, 2, 2)
        for word in range(types):
            assert hpy.probability(pool, node, word, 1 / types) == pytest.approx(kneser_ney(context, word), abs=1e-12)


# ---- enumerated posteriors


def partitions(items):
    """All ways to put items into unlabelled groups."""
    if not items:
        yield []
        return
    for smaller in partitions(items[1:]):
        for i, group in enumerate(smaller):
            yield [*smaller[:i], [items[0], *group], *smaller[i + 1 :]]
        yield [[items[0]], *smaller]


def seating_probability(seats, discount, strength):
    """The probability of one restaurant's seating, a list of table sizes over all its dishes; chain rule."""
    total, customers = 1.0, 0
    for tables, size in enumerate(seats):
        total *= (strength + discount * tables) / (strength + customers) if customers else 1.0
        customers += 1
        for seated in range(1, size):
            total *= (seated - discount) / (strength + customers)
            customers += 1
    return total


def enumerate_seatings(tokens, discounts, strengths, base):
    """Bigrams (context, dish): every arrangement of table sizes with its joint probability with the words.

    An arrangement is a tuple of (node, dish, falling sizes); node None is the root.
    """
    cells = Counter(tokens)
    keys = sorted(cells)
    result = Counter()
    for choice in product(*(list(partitions(list(range(cells[key])))) for key in keys)):
        leaf = {
            key: sorted((len(group) for group in groups), reverse=True)
            for key, groups in zip(keys, choice, strict=True)
        }
        above = Counter()
        for (_, dish), sizes in leaf.items():
            above[dish] += len(sizes)
        p = 1.0
        for node in {node for node, _ in keys}:
            seats = [size for key in keys if key[0] == node for size in leaf[key]]
            p *= seating_probability(seats, discounts[1], strengths[1])
        dishes = sorted(above)
        for upper in product(*(list(partitions(list(range(above[dish])))) for dish in dishes)):
            root = {
                dish: sorted((len(g) for g in groups), reverse=True) for dish, groups in zip(dishes, upper, strict=True)
            }
            q = p * seating_probability([s for dish in dishes for s in root[dish]], discounts[0], strengths[0])
            for dish in dishes:
                q *= base[dish] ** len(root[dish])
            state = tuple((*key, tuple(leaf[key])) for key in keys)
            state += tuple((None, dish, tuple(root[dish])) for dish in dishes)
            result[state] += q
    return result


TOKENS = [(0, 0), (0, 0), (0, 0), (0, 1), (1, 0), (1, 0)]
DISCOUNTS, STRENGTHS, BASE = (0.3, 0.5), (0.8, 0.4), (0.6, 0.4)


def small_pool():
    pool = pools.new_pool(2)
    pool.discounts[:], pool.strengths[:] = DISCOUNTS, STRENGTHS
    root = pools.new_root(pool, 0)
    return pool, root


def state_of(pool, root, tokens):
    keys = sorted(set(tokens))
    nodes = {node: pools.find_child(pool, root, node) for node, _ in keys}
    state = tuple((*key, tuple(sizes_of(pool, pools.find_entry(pool, nodes[key[0]], key[1])))) for key in keys)
    dishes = sorted({dish for _, dish in keys})
    return state + tuple((None, dish, tuple(sizes_of(pool, pools.find_entry(pool, root, dish)))) for dish in dishes)


@pytest.mark.parametrize("whole", [True, False])
def test_long_gibbs_runs_match_the_enumerated_posterior_of_seatings(whole):
    exact = enumerate_seatings(TOKENS, DISCOUNTS, STRENGTHS, BASE)
    total = sum(exact.values())
    pool, root = small_pool()
    draws, seen, sweeps = stream(3), Counter(), 20_000
    for node, dish in TOKENS:
        hpy.add(pool, pools.make_child(pool, root, node), dish, BASE[dish], draws)
    for _ in range(sweeps):
        for node, dish in TOKENS:
            if whole:
                hpy.remove(pool, pools.find_child(pool, root, node), dish, draws)
                hpy.add(pool, pools.make_child(pool, root, node), dish, BASE[dish], draws)
            else:
                hpy.reseat(pool, pools.find_entry(pool, pools.find_child(pool, root, node), dish), BASE[dish], draws)
        seen[state_of(pool, root, TOKENS)] += 1
    assert seen.keys() <= exact.keys()
    assert sum(abs(seen[state] / sweeps - p / total) for state, p in exact.items()) / 2 < 0.02
    seating.verify(pool)


def test_the_log_probability_of_a_seating_is_that_of_the_enumeration_up_to_the_number_of_equal_ones():
    pool, root = small_pool()
    draws = stream(4)
    for node, dish in TOKENS:
        hpy.add(pool, pools.make_child(pool, root, node), dish, BASE[dish], draws)
    state = state_of(pool, root, TOKENS)
    by_hand = 0.0
    for node in (0, 1, None):
        seats = [size for where, _, sizes in state if where == node for size in sizes]
        law = 0 if node is None else 1
        by_hand += log(seating_probability(seats, DISCOUNTS[law], STRENGTHS[law]))
    assert seating.log_seating(pool) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("order", [1, -1])
def test_the_probability_of_a_text_does_not_depend_on_its_order(order):
    """The product of predictions, averaged over seatings, estimates the marginal probability without bias."""
    exact = sum(enumerate_seatings(TOKENS, DISCOUNTS, STRENGTHS, BASE).values())
    draws, runs, total = stream(6), 6000, 0.0
    for _ in range(runs):
        pool, root = small_pool()
        product_ = 1.0
        for node, dish in TOKENS[::order]:
            child = pools.make_child(pool, root, node)
            product_ *= hpy.probability(pool, child, dish, BASE[dish])
            hpy.add(pool, child, dish, BASE[dish], draws)
        total += product_
    assert total / runs == pytest.approx(exact, rel=0.03)


# ---- parameters


def test_sampled_parameters_have_the_means_of_the_grid_posterior():
    seats = [[5, 1, 1, 2], [3], [8], [1], [2], [1, 1, 4], [6], [4]]
    pool = pools.new_pool(1, nodes=50, entries=50)
    for sizes in seats:  # restaurants of one depth; every table has a dish of its own, which changes nothing
        root = pools.new_root(pool, 0)
        for dish, size in enumerate(sizes):
            hpy.place_table(pool, pools.entry_of(pool, root, dish), size)
    drawn = np.empty((20_000, 2))
    for i in range(len(drawn)):
        seating.sample_parameters(pool, 1, i)
        drawn[i] = pool.discounts[0], pool.strengths[0]
    mean = drawn[200:].mean(0)

    discounts, strengths = np.meshgrid(np.linspace(0.001, 0.999, 400), np.linspace(0.001, 8, 1600), indexing="ij")
    weight = -strengths
    for sizes in seats:
        for i in range(1, len(sizes)):
            weight += np.log(strengths + discounts * i)
        for i in range(1, sum(sizes)):
            weight -= np.log(strengths + i)
        for size in sizes:
            for j in range(1, size):
                weight += np.log(j - discounts)
    weight = np.exp(weight - weight.max())
    grid = [(values * weight).sum() / weight.sum() for values in (discounts, strengths)]
    assert grid == pytest.approx([0.219, 0.238], abs=0.005)
    assert mean[0] == pytest.approx(grid[0], abs=0.01) and mean[1] == pytest.approx(grid[1], abs=0.02)


def test_a_dirichlet_strength_has_the_mean_of_its_grid_posterior():
    pool = pools.new_pool(1, discount=0.0)
    for sizes in ([6, 2], [9], [1, 1, 3]):
        root = pools.new_root(pool, 0)
        for dish, size in enumerate(sizes):
            hpy.place_table(pool, pools.entry_of(pool, root, dish), size)
    drawn = np.empty(20_000)
    for i in range(len(drawn)):
        seating.sample_parameters(pool, 2, i, discounts=False)
        drawn[i] = pool.strengths[0]
    assert pool.discounts[0] == 0.0
    strength = np.linspace(0.0005, 15, 30_000)
    weight = -strength + 6 * np.log(strength)
    for customers in (8, 9, 5):
        for i in range(customers):
            weight -= np.log(strength + i)
    weight = np.exp(weight - weight.max())
    assert drawn.mean() == pytest.approx((strength * weight).sum() / weight.sum(), abs=0.02)


# ---- variable depth


def variable_text(seed=1, n=300, types=5):
    return np.random.default_rng(seed).choice(types, n, p=[0.4, 0.3, 0.15, 0.1, 0.05]).astype(np.int32)


def test_variable_depth_sums_to_one_and_everything_can_be_removed():
    text, types, longest = variable_text(), 5, 6
    pool = pools.new_pool(longest + 1, nodes=4, entries=4, cells=4)
    root, draws = pools.new_root(pool, 0), stream()
    depths = []
    for i, dish in enumerate(text):
        pool = roomy(pool, longest)
        depths.append(variable.add_variable(pool, root, text, i, min(i, longest), dish, 1 / types, draws))
    for sweep in range(3):
        for i, dish in enumerate(text):
            variable.remove_variable(pool, root, text, i, depths[i], dish, draws)
            pool = roomy(pool, longest)
            depths[i] = variable.add_variable(pool, root, text, i, min(i, longest), dish, 1 / types, draws)
        assert seating.verify(pool, variable=True).sum() == len(text)
        seating.sample_parameters(pool, 1, sweep)
    assert max(depths) > 2
    for i in (0, 1, 7, 40, 299):
        available = min(i, longest)
        whole = [variable.variable_probability(pool, root, text, i, available, w, 1 / types) for w in range(types)]
        assert sum(whole) == pytest.approx(1, abs=1e-12)
        deepest = variable.descend(pool, root, text, i, available)
        for w in range(types):
            assert variable.stop_weights(pool, deepest, available, w, 1 / types) == pytest.approx(whole[w], abs=1e-14)
    for i, dish in enumerate(text):
        variable.remove_variable(pool, root, text, i, depths[i], dish, draws)
    seating.verify(pool, variable=True)
    assert (pool.counters[:, pools.USED] - pool.counters[:, pools.FREE_COUNT]).tolist() == [1, 0, 0]
    assert pool.nodes[root].tolist()[2:] == [0] * 6


def test_depths_of_a_long_variable_run_match_the_enumerated_posterior():
    tokens = [(0, 0), (0, 0), (1, 0), (0, 1)]  # context, dish
    prior = (1.0, 2.0)
    exact = Counter()
    for depths in product((0, 1), repeat=len(tokens)):
        stops = sum(d == 0 for d in depths)
        p = exp(
            lgamma(prior[0] + stops) + lgamma(prior[1] + len(tokens) - stops) - lgamma(sum(prior) + len(tokens))
            - lgamma(prior[0]) - lgamma(prior[1]) + lgamma(sum(prior))
        )  # fmt: skip
        exact[depths] = p * marginal(tokens, depths)
    total = sum(exact.values())
    pool = pools.new_pool(2, stop_prior=prior)
    pool.discounts[:], pool.strengths[:] = DISCOUNTS, STRENGTHS
    root, draws, seen, sweeps = pools.new_root(pool, 0), stream(8), Counter(), 20_000
    arrays = [np.array(token, np.int32) for token in tokens]
    depths = [variable.add_variable(pool, root, a, 1, 1, a[1], BASE[a[1]], draws) for a in arrays]
    for _ in range(sweeps):
        for i, a in enumerate(arrays):
            variable.remove_variable(pool, root, a, 1, depths[i], a[1], draws)
            depths[i] = variable.add_variable(pool, root, a, 1, 1, a[1], BASE[a[1]], draws)
        seen[tuple(depths)] += 1
    assert sum(abs(seen[key] / sweeps - p / total) for key, p in exact.items()) / 2 < 0.02


def marginal(tokens, depths):
    """The probability of the dishes given how deep each goes, summed over all seatings."""
    deep = Counter(token for token, depth in zip(tokens, depths, strict=True) if depth)
    shallow = Counter(dish for (_, dish), depth in zip(tokens, depths, strict=True) if not depth)
    keys, total = sorted(deep), 0.0
    for choice in product(*(list(partitions(list(range(deep[key])))) for key in keys)):
        p = 1.0
        for node in {node for node, _ in keys}:
            seats = [len(g) for key, groups in zip(keys, choice, strict=True) if key[0] == node for g in groups]
            p *= seating_probability(seats, DISCOUNTS[1], STRENGTHS[1])
        above = Counter(shallow)
        for (_, dish), groups in zip(keys, choice, strict=True):
            above[dish] += len(groups)
        dishes = sorted(above)
        for upper in product(*(list(partitions(list(range(above[dish])))) for dish in dishes)):
            q = p * seating_probability([len(g) for groups in upper for g in groups], DISCOUNTS[0], STRENGTHS[0])
            for dish, groups in zip(dishes, upper, strict=True):
                q *= BASE[dish] ** len(groups)
            total += q
    return total
