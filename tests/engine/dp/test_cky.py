"""Binary trees by rules: every program against all trees of short sentences."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from corpuscle.engine.dp import cky
from corpuscle.random import Random, stream

SYMBOLS = 4


def grammar(seed, dense=True):
    """Random rules over four symbols with weights far from one, and a root."""
    random = Random(seed, "cky.rules")
    keys = [key for key in product(range(SYMBOLS), repeat=3) if dense or random.uniforms(1)[0] < 0.4]
    lefts, rights, parents = (np.array([key[axis] for key in keys]) for axis in range(3))
    return cky.rules_for(parents, lefts, rights, 2 * random.uniforms(len(keys)), SYMBOLS), random.uniforms(SYMBOLS)


def bracketings(i, j):
    """Every binary tree of spans over words i..j: (i, j, left, right), or (i, j) for a word."""
    if j - i == 1:
        yield i, j
    for k in range(i + 1, j):
        for left, right in product(bracketings(i, k), bracketings(k, j)):
            yield i, j, left, right


def weighted(shape, weights, leaves, spans, allowed):
    """Every way to give the nodes of a bracketing symbols: root symbol, weight, and all nodes in preorder."""
    i, j = shape[:2]
    n = len(leaves)
    cell = cky.cell_numbers(n, i, j)
    here = spans[cell] if len(spans) else 1.0
    for symbol in range(SYMBOLS):
        if len(allowed) and not allowed[cell, symbol]:
            continue
        if j - i == 1:
            yield symbol, leaves[i, symbol] * here, ((symbol, i, j),)
            continue
        for left in weighted(shape[2], weights, leaves, spans, allowed):
            for right in weighted(shape[3], weights, leaves, spans, allowed):
                rule = weights.get((symbol, left[0], right[0]), 0.0)
                if rule:
                    yield symbol, rule * here * left[1] * right[1], ((symbol, i, j), *left[2], *right[2])


def all_trees(rules, root, leaves, spans=cky.NO_SPANS, allowed=cky.ALL):
    names = zip(rules.parents.tolist(), rules.lefts.tolist(), rules.rights.tolist(), strict=True)
    weights = dict(zip(names, rules.weights.tolist(), strict=True))
    return {
        nodes: root[symbol] * weight
        for shape in bracketings(0, len(leaves))
        for symbol, weight, nodes in weighted(shape, weights, leaves, spans, allowed)
        if weight > 0
    }


def logs(rules, root):
    with np.errstate(divide="ignore"):
        return rules._replace(weights=np.log(rules.weights)), np.log(root)


def setting(seed, n, dense, extra):
    """Rules, root, leaves, weights of spans and allowed items."""
    rules, root = grammar(seed, dense)
    random = Random(seed, "cky.words", n)
    leaves = random.uniforms(n, SYMBOLS) * (random.uniforms(n, SYMBOLS) < 0.8)
    if not extra:
        return rules, root, leaves, cky.NO_SPANS, cky.ALL
    cells = cky.cells_of(n)
    return rules, root, leaves, 3 * random.uniforms(cells), (random.uniforms(cells, SYMBOLS) < 0.8).astype(np.uint8)


CASES = list(product((1, 2), (1, 2, 3, 4), (True, False), (False, True)))


@pytest.mark.parametrize("case", CASES)
def test_sums_and_expectations_are_those_of_all_trees(case):
    rules, root, leaves, spans, allowed = setting(*case)
    n, trees = len(leaves), all_trees(*setting(*case))
    chart = cky.chart_for(n, SYMBOLS)
    total = cky.sum_chart(n, rules, root, leaves, spans, allowed, chart)
    if not trees:
        assert total == -math.inf
        return
    whole = math.fsum(trees.values())
    assert total == pytest.approx(math.log(whole), abs=1e-12)
    outside, expected = np.zeros_like(chart.inside), np.zeros(len(rules.weights))
    assert cky.expectations(n, rules, root, spans, chart, outside, expected) > 0
    items, used = defaultdict(float), defaultdict(float)
    for nodes, weight in trees.items():
        for symbol, i, j in nodes:
            items[cky.cell_numbers(n, i, j), symbol] += weight / whole
        for rule in rules_of(nodes):
            used[rule] += weight / whole
    found = outside * chart.inside
    for (cell, symbol), share in np.ndenumerate(found):
        assert share == pytest.approx(items[cell, symbol], abs=1e-12)
    for r, key in enumerate(zip(rules.parents, rules.lefts, rules.rights, strict=True)):
        assert expected[r] == pytest.approx(used[key], abs=1e-12)


def rules_of(nodes):
    """The rules of a tree in preorder."""
    by_span = defaultdict(list)
    for symbol, i, j in nodes:
        by_span[i, j].append(symbol)
    for symbol, i, j in nodes:
        for k in range(i + 1, j):
            if (i, k) in by_span and (k, j) in by_span:
                yield symbol, by_span[i, k][0], by_span[k, j][0]


@pytest.mark.parametrize("case", CASES)
def test_the_best_trees_are_the_best_of_all(case):
    rules, root, leaves, spans, allowed = setting(*case)
    n, trees = len(leaves), all_trees(*setting(*case))
    log_rules, log_root = logs(rules, root)
    with np.errstate(divide="ignore"):
        log_leaves, log_spans = np.log(leaves), np.log(spans)
    chart = cky.chart_for(n, SYMBOLS)
    score = cky.best_chart(n, log_rules, log_root, log_leaves, log_spans, allowed, chart)
    ranked = sorted(trees.values(), reverse=True)
    k = 12
    nodes, scores = np.zeros((k, 2 * n - 1, 3), np.int32), np.zeros(k)
    count = cky.k_best(n, log_rules, log_root, k, chart, nodes, scores)
    assert count == min(k, len(ranked))
    best = np.zeros((2 * n - 1, 3), np.int32)
    assert cky.best_tree(n, log_rules, log_root, chart, best) == bool(trees)
    if not trees:
        assert score == -math.inf
        return
    assert score == pytest.approx(math.log(ranked[0])) and np.array_equal(best, nodes[0])
    seen = [tuple(map(tuple, each.tolist())) for each in nodes[:count]]
    assert len(set(seen)) == count
    for tree, found, expected in zip(seen, scores, ranked, strict=False):
        assert math.log(trees[tree]) == pytest.approx(found) == pytest.approx(math.log(expected))


def test_samples_follow_the_weights_of_trees():
    rules, root, leaves, spans, allowed = setting(1, 3, False, False)
    trees = all_trees(rules, root, leaves)
    chart = cky.chart_for(3, SYMBOLS)
    cky.sum_chart(3, rules, root, leaves, spans, allowed, chart)
    counts, tree = defaultdict(int), np.zeros((5, 3), np.int32)
    for draw in range(20_000):
        cky.sample_tree(3, rules, root, chart, stream(1, 7, 0, draw), tree)
        counts[tuple(map(tuple, tree.tolist()))] += 1
    whole = sum(trees.values())
    assert counts.keys() <= trees.keys()
    assert sum(abs(counts[each] / 20_000 - weight / whole) for each, weight in trees.items()) < 0.1


def test_scores_that_are_no_numbers_make_no_tree():
    rules, root = logs(*grammar(1))
    chart, tree = cky.chart_for(3, SYMBOLS), np.zeros((5, 3), np.int32)
    leaves = np.full((3, SYMBOLS), np.nan)
    assert cky.best_chart(3, rules, root, leaves, cky.NO_SPANS, cky.ALL, chart) == -math.inf
    assert not cky.best_tree(3, rules, root, chart, tree) and not tree.any()


def test_ways_too_improbable_for_a_float_can_be_drawn():
    """Together the two ways are as much as the least float, each alone is rounded to zero."""
    rules = cky.rules_for([0, 1, 2], [2, 2, 2], [1, 1, 1], [5e-324, 0.5, 1.0], 3)
    root, leaves = np.array([1.0, 0.0, 0.0]), np.tile([0.0, 0.45, 0.99], (3, 1))
    chart, tree = cky.chart_for(3, 3), np.zeros((5, 3), np.int32)
    assert cky.sum_chart(3, rules, root, leaves, cky.NO_SPANS, cky.ALL, chart) > -math.inf
    cky.sample_tree(3, rules, root, chart, stream(1, 7, 0, 0), tree)
    assert tree[0].tolist() == [0, 0, 3] and sorted((tree[:, 2] - tree[:, 1]).tolist()) == [1, 1, 1, 2, 3]


def test_a_long_sentence_neither_underflows_nor_overflows():
    rules, root = grammar(3)
    leaves = np.full((150, SYMBOLS), 1e-9)
    chart = cky.chart_for(150, SYMBOLS)
    one = cky.sum_chart(150, rules, root, leaves, cky.NO_SPANS, cky.ALL, chart)
    outside, expected = np.zeros_like(chart.inside), np.zeros(len(rules.weights))
    cky.expectations(150, rules, root, cky.NO_SPANS, chart, outside, expected)
    assert expected.sum() == pytest.approx(149) and one < -1000
    assert (outside * chart.inside)[:150].sum() == pytest.approx(150)
    scaled = rules._replace(weights=rules.weights * 1e-6)
    two = cky.sum_chart(150, scaled, root, leaves, cky.NO_SPANS, cky.ALL, chart)
    assert two == pytest.approx(one + 149 * math.log(1e-6))


def test_one_symbol_and_weights_of_spans_count_bracketings():
    rule = cky.rules_for([0], [0], [0], [1.0], 1)
    for n, count in enumerate((1, 1, 2, 5, 14, 42, 132), 1):
        chart = cky.chart_for(n, 1)
        total = cky.sum_chart(n, rule, np.ones(1), np.ones((n, 1)), cky.NO_SPANS, cky.ALL, chart)
        assert math.exp(total) == pytest.approx(count)


def test_rules_out_of_order_are_refused():
    with pytest.raises(ValueError, match="ordered"):
        cky.rules_for([0, 0], [1, 0], [0, 0], [1.0, 1.0], 2)
