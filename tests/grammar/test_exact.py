"""Learning from moments is exact: probabilities of all trees of a small grammar, and what reduces to what."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from corpuscle.engine.dp.cky import rules_for
from corpuscle.grammar import EmGrammar, Pcfg, SpectralGrammar
from corpuscle.grammar.kernels.vectors import Latent, TreeData, inside_trees, pairs_for
from corpuscle.grammar.parsing import Directions, Serving
from corpuscle.grammar.spectral import operators_of, project
from corpuscle.grammar.tables import count_trees
from corpuscle.random import Random
from corpuscle.samples import generate
from corpuscle.text import parse_brackets
from tests.grammar.trees import Truth, all_trees, brackets, nodes, vectors

TREES = all_trees("S")
PLAIN = {"rare": 0, "chains": 0.0, "classes": 0.0}


def learned(trees, weights, *, change=0):
    """Log probabilities of all trees by operators from trees with weights; ``change``: other features of the same
    span."""
    bank = parse_brackets([brackets(tree) for tree in trees])
    tables, counted = count_trees(bank, **PLAIN)
    of_nodes = [each for tree in trees for each in nodes(tree)]
    of_tree = np.repeat(np.arange(len(trees)), np.diff(counted.nodes.tree_starts))
    phi = vectors([brackets(inside) for inside, _ in of_nodes], 5, 1)
    psi = vectors([outside for _, outside in of_nodes], 6, 2)
    if change:
        phi = phi @ (np.eye(5) + 0.3 * Random(change, "a").uniforms(5, 5))
        psi = psi @ (np.eye(6) + 0.3 * Random(change, "b").uniforms(6, 6))
    # A weight of a node in its outside vector is one in every moment but the root's.
    psi = psi * weights[of_tree][:, None]
    most = np.full(len(tables.symbols.names), 2)
    moments = project(
        counted.nodes.symbols.astype(np.int64), csr_array(phi), csr_array(psi), most, kappa=-1.0, tolerance=1e-9, seed=1
    )
    found = operators_of(counted, tables, moments, 0.0)
    root = np.zeros_like(found.root)
    np.add.at(root, counted.nodes.symbols[counted.roots], moments.inside[counted.roots] * weights[:, None])
    n = len(tables.symbols.names)
    latent = Latent(moments.ranks, found.starts, found.values, pairs_for(tables.rules, n), 2)
    serving = Serving(tables, latent, root / weights.sum(), Directions(found.pairs, found.tags), np.ones(n, bool))
    model = Pcfg(rare_count=0, chain_weight=0.0, look_weight=0.0)
    model.tables_ = tables
    vars(model)["serving"] = serving
    return model


def probabilities(model):
    return np.exp(model.probability(parse_brackets([brackets(tree) for tree in TREES])))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exact_moments_give_exact_probabilities_of_all_trees(seed):
    truth = np.array([Truth(seed).probability(tree) for tree in TREES])
    assert truth.sum() == pytest.approx(1) and len(TREES) > 1000
    found = probabilities(learned(TREES, truth * len(TREES)))
    assert np.abs(found / truth - 1).max() < 1e-8


def test_other_features_of_the_same_span_change_nothing():
    truth = np.array([Truth(1).probability(tree) for tree in TREES])
    found = probabilities(learned(TREES, truth * len(TREES), change=3))
    assert np.abs(found / truth - 1).max() < 1e-8


def test_one_node_of_each_tree_would_not_do():
    """What the paper prints: a node drawn from each tree is one with weight 1 / size."""
    truth = np.array([Truth(1).probability(tree) for tree in TREES])
    sizes = np.array([sum(1 for _ in nodes(tree)) for tree in TREES])
    found = probabilities(learned(TREES, truth * len(TREES) / sizes))
    assert np.median(np.abs(found / truth - 1)) > 0.02


@pytest.mark.parametrize(("number", "far", "missing"), [(10_000, 0.35, 0.12), (100_000, 0.12, 0.04)])
def test_sampled_trees_come_near_the_truth(number, far, missing):
    truth = np.array([Truth(2).probability(tree) for tree in TREES])
    draws = np.searchsorted(np.cumsum(truth), Random(1, "sampled").uniforms(number) * truth.sum())
    counts = np.bincount(np.minimum(draws, len(TREES) - 1), minlength=len(TREES)).astype(float)
    seen = np.flatnonzero(counts)
    model = learned([TREES[i] for i in seen], counts[seen])
    found = probabilities(model)
    assert np.abs(found - truth).sum() < far and abs(found.sum() - 1) < missing
    assert -found[found < 0].sum() < 0.02


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=120).trees()


def test_constant_features_and_one_state_are_the_treebank_pcfg(bank):
    pcfg = Pcfg().fit(bank)
    spectral = SpectralGrammar(states=1, inside=(), outside=(), smoothing=0.0, mix=0.0).fit(bank)
    assert np.allclose(pcfg.probability(bank), spectral.probability(bank), atol=1e-9)
    words = bank.words[:10]
    assert np.allclose(pcfg.sentence_probability(words), spectral.sentence_probability(words), atol=1e-9)
    one, other = pcfg.parse(words), spectral.parse(words)
    assert np.array_equal(one.trees.spans, other.trees.spans)
    assert one.trees.labels.strings() == other.trees.labels.strings()


def test_one_state_learned_by_em_is_the_treebank_pcfg(bank):
    pcfg, em = Pcfg().fit(bank), EmGrammar(states=1, iterations=2).fit(bank)
    assert np.allclose(pcfg.probability(bank), em.probability(bank), atol=1e-9)


def test_em_never_loses_likelihood_and_ends_above_the_pcfg(bank):
    em = EmGrammar(states=4, iterations=25, nodes_a_state=1).fit(bank)
    history = em.history_
    assert (np.diff(history) > -1e-6 * np.abs(history[1:])).all()
    one = EmGrammar(states=1, iterations=1).fit(bank).history_[0]
    assert history[0] == pytest.approx(one, rel=0.02) and history[-1] > one
    # Posteriors sum to one at every node, so expected counts are the treebank's.
    assert np.allclose(em.counts_.rule.sum(axis=1), em.tables_.counts)
    assert np.allclose(em.counts_.left.sum(axis=2), em.counts_.rule)
    assert np.allclose(em.counts_.pair.sum(axis=1), em.tables_.lexicon.counts.data, atol=1.0)


def test_a_chain_of_pairs_is_a_hidden_markov_model():
    """X -> w X | w w: tree probabilities are those of the forward algorithm."""
    m, random = 3, Random(4, "hmm")

    def shares(*shape):
        drawn = 0.1 + random.uniforms(*shape)
        return drawn / drawn.sum(axis=-1, keepdims=True)

    start, onward, word_state = shares(m), shares(m, m), shares(m, m)
    last, stop, emit = shares(m, m), 0.1 + 0.8 * random.uniforms(m), shares(m, 4)
    x, w = 0, 1
    rules = rules_for([x, x], [w, w], [x, w], [1.0, 1.0], 2)
    go = np.einsum("u,ul,ur->ulr", 1 - stop, word_state, onward)
    end = np.einsum("u,ul,ur->ulr", stop, word_state, last)
    latent = Latent(
        np.array([m, m]), np.array([0, m**3]), np.concatenate([go.ravel(), end.ravel()]), pairs_for(rules, 2), m
    )
    words = [2, 0, 3, 1, 1]
    n = len(words)
    symbols = np.array([x, w] * (n - 1) + [w], np.int32)
    lefts = np.array([node + 1 if symbol == x else -1 for node, symbol in enumerate(symbols)])
    rights = np.array([node + 2 if symbol == x else -1 for node, symbol in enumerate(symbols)])
    which = np.array([(0 if node < 2 * (n - 2) else 1) if symbol == x else -1 for node, symbol in enumerate(symbols)])
    leaves = np.zeros((len(symbols), m))
    leaves[symbols == w] = emit[:, words].T
    data = TreeData(symbols, lefts, rights, which, np.array([0, len(symbols)]), np.ones(1, bool))
    root, totals = np.zeros((2, m)), np.zeros(1)
    root[x] = start
    inside_trees(data, rules, latent, root, leaves, totals)
    forward = start
    for word in words[:-2]:
        forward = (forward * (1 - stop) * (word_state @ emit[:, word])) @ onward
    final = (forward * stop * (word_state @ emit[:, words[-2]]) * (last @ emit[:, words[-1]])).sum()
    assert totals[0] == pytest.approx(np.log(final))
