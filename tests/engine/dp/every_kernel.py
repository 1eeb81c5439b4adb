"""A small case for every public kernel of ``corpuscle.engine.dp``: ``warm()`` calls them all."""

import numpy as np

from corpuscle.engine import phrase_decoding
from corpuscle.engine.dp import chains, charts, cky, spanning, trees
from corpuscle.grammar.kernels import minimum_evolution as evolution
from corpuscle.grammar.kernels.spans import BRACKETS
from corpuscle.random import stream
from tests.engine.dp import test_chains, test_charts, test_cky, test_nbest, test_trees

KERNELS = {
    f"{module.__name__}.{name}"
    for module in (chains, charts, cky, evolution, spanning, trees)
    for name, value in vars(module).items()
    if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    if hasattr(value, "py_func") and not value.targetoptions.get("no_cpython_wrapper")
}
"""Their full names; not of those that are parts of others, and cannot be called from here."""


def warm() -> None:
    """Call every kernel once."""
    n, s = 3, 2
    chain = test_chains.any_chain(1, n, s)
    for sweep in chains.sum_chain, chains.best_chain:
        sweep(n, s, chain, np.zeros((n, s)), np.zeros(n))
    chains.best_path(n, s, chain, np.zeros((n, s)), np.zeros(n, np.int32))
    test_chains.run_expectations(chain)
    test_chains.run_k_best(test_chains.logs_of(chain), 2)
    first, edges, endings = test_nbest.any_lattice(1, 1)
    limits = test_nbest.Limits(2, True)
    phrase_decoding.search(test_nbest.OPTIONS, limits, first, endings, np.zeros(3), np.array(edges, float).T.copy(), 9)
    nodes, model = test_trees.any_nodes(1, [3], 2), test_trees.any_weights(1, 2, 2)
    test_trees.expected(nodes, model)
    test_trees.best(nodes, model)
    trees.likelihoods(nodes, model, 2, 0.0, np.zeros(1), np.zeros(2, np.int64))
    trees.random_classes(nodes, model, 1, 1, 0, np.zeros(3, np.int32))
    trees.parents_first(nodes.parents, np.zeros(3, np.int32))
    for tree in trees.sum_tree, trees.best_tree:
        tree(0, 3, nodes, model, 2, 0.0, trees.room_for(nodes, 2))
    arcs, siblings = test_charts.scores_for(1, n, 2)
    chart, heads = charts.chart_for(n), np.zeros((2, n), np.int32)
    charts.k_best(n, arcs, siblings, True, 2, chart, heads, np.zeros(2))
    charts.best_heads(n, arcs, siblings, True, chart, heads[0])
    spanning.climb(arcs, siblings, True, heads[0])
    charts.tilt(n, heads[0], arcs, siblings)
    charts.best_chart(n, arcs, siblings, True, chart)
    charts.sum_chart(n, arcs, siblings, True, chart)
    charts.expectations(n, arcs, siblings, True, chart, charts.chart_for(n), np.zeros((n + 1, n + 1)))
    spanning.best_tree(n, arcs, True, heads[0])
    spanning.k_best_trees(n, arcs, True, 2, heads, np.zeros(2))
    _warm_rules()
    _warm_evolution()


def _warm_rules() -> None:
    rules, root, leaves, spans, allowed = test_cky.setting(1, 3, True, False)
    chart, tree = cky.chart_for(3, test_cky.SYMBOLS), np.zeros((5, 3), np.int32)
    cky.sum_chart(3, rules, root, leaves, spans, allowed, chart)
    cky.sample_tree(3, rules, root, chart, stream(1, 7, 0, 0), tree)
    cky.expectations(3, rules, root, spans, chart, np.zeros_like(chart.inside), np.zeros(len(rules.weights)))
    cky.best_chart(3, rules, root, leaves, spans, allowed, chart)
    cky.best_tree(3, rules, root, chart, tree)
    cky.k_best(3, rules, root, 2, chart, np.zeros((2, 5, 3), np.int32), np.zeros(2))


def _warm_evolution() -> None:
    n, words = 3, np.zeros(3, np.int32)
    metric = evolution.Metric(np.ones((1, 1, 2)), np.zeros((1, 1)), np.zeros(1), evolution.MEAN, 1.0, 0)
    found = evolution.Found(np.zeros((2, 2), np.int32), np.zeros(2), np.zeros(3), np.zeros(2), np.zeros(1))
    bounds = np.array([0, 3]), np.zeros(4), np.array([0, 4])
    evolution.shortest_trees((words, words), *bounds, metric, BRACKETS, False, found)
    sums, table = np.zeros((n + 1, n + 1)), evolution.evolution_for(n)
    lean = evolution.Leanings(np.zeros(n + 1), np.zeros(n + 1), np.zeros((n + 1, n + 1)))
    evolution.prefix_sums(np.ones((n, n)), n, sums)
    total = evolution.sum_evolution(sums, n, evolution.MEAN, lean, table)
    evolution.marginals(sums, n, evolution.MEAN, lean, table, total, np.zeros((n + 1, n + 1)), np.zeros(n + 1))
    evolution.best_evolution(sums, n, evolution.MEAN, lean, table)
    brackets = np.zeros((n - 1, 2), np.int32)
    evolution.best_tree(sums, n, evolution.MEAN, lean, table, brackets, np.zeros(n - 1), np.zeros(n))
