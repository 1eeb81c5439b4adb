"""Log-linear language models: the passes against the formula written out, trie against tree, the model as a whole."""

import itertools
import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.engine.ngrams.counting import add_boundaries, count_ngrams
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.lm import LogLinearModel, NgramModel, loglinear_fitting, read_arpa, write_arpa
from corpuscle.lm.kernels.loglinear import collapsed, levels_of, longest_matches, suffix_trie, with_all_words
from corpuscle.lm.kernels.proximal import Fista, Stochastic
from corpuscle.lm.loglinear_fitting import Batches, Objective, Search, Shape, may_collapse
from corpuscle.samples import generate
from corpuscle.text import Corpus
from corpuscle.text.vocab import END, START
from tests.hostile import survives_hostile_edits

SENTENCES = [
    line.split()
    for line in (
        "a b c a b", "a b c", "b b a", "c a b c a b c", "a", "d a b c", "c c a b", "b a d a b", "a b c d", "d d",
        "b c a b c", "a b d c",
    )
]  # fmt: skip


def ngrams_of(order, sentences=SENTENCES):
    corpus = Corpus.from_sentences(sentences).counted()
    symbols = add_boundaries(corpus.tokens, corpus.sentence_starts, 1, START, END)
    predictable = np.ones(len(corpus.vocab), bool)
    predictable[START] = False
    return count_ngrams(symbols, len(corpus.vocab), order, end=END), symbols, predictable


def histories(symbols, order):
    """(contexts of the history from the empty one on, word) of every position."""
    found, history = [], []
    for symbol in symbols.tolist():
        if symbol == START:
            history = [START]
            continue
        found.append(([tuple(history[len(history) - d :]) for d in range(min(len(history), order - 1) + 1)], symbol))
        history.append(symbol)
    return found


def grams_of(ngrams):
    """Every row as a tuple of symbols."""
    grams = [(word,) for word in range(ngrams.levels[1])]
    for context in range(len(ngrams.first_child) - 1):
        for row in range(ngrams.first_child[context], ngrams.first_child[context + 1]):
            grams.append((*grams[context], int(ngrams.words[row])))
    return grams


class Plain:
    """The model from its formula: weights of (context, word) in a dictionary."""

    def __init__(self, added, n_types, order):
        self.added, self.n_types, self.order = added, n_types, order

    def distribution(self, contexts):
        scores = np.array([
            sum(self.added.get((*context, word), 0.0) for context in contexts) for word in range(self.n_types)
        ])
        scores[START] = -np.inf
        exps = np.exp(scores)
        return exps / exps.sum()

    def loss(self, positions):
        return -np.mean([np.log(self.distribution(contexts)[word]) for contexts, word in positions])


@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("weighted", [1.0, 0.8])
def test_loss_and_gradient_are_those_of_the_formula(order, weighted):
    ngrams, symbols, predictable = ngrams_of(order)
    trie = suffix_trie(ngrams, predictable)
    problem = Objective(trie, predictable, Shape("tree-l2", weighted), 1.0)
    rng = np.random.default_rng(order)
    weights = np.abs(rng.normal(0, 1, trie.n_entries)) * rng.integers(0, 2, trie.n_entries)
    weights[START] = 0.0
    gradient = np.empty_like(weights)
    value = problem.gradient(weights, gradient)
    grams, positions = grams_of(ngrams), histories(symbols, order)
    added = dict(zip(grams, problem.added(weights), strict=True))
    plain = Plain(added, len(predictable), order)
    assert value == pytest.approx(plain.loss(positions), rel=1e-13)
    assert problem.loss(weights) == value
    expected = dict.fromkeys(grams, 0.0)
    for contexts, word in positions:
        distribution = plain.distribution(contexts)
        for context in contexts:
            factor = weighted ** len(context) / len(positions)
            for other in range(len(predictable)):
                if (*context, other) in expected:
                    expected[(*context, other)] += factor * (distribution[other] - (other == word))
    np.testing.assert_allclose(gradient[trie.entry_of], [expected[gram] for gram in grams], atol=1e-15)
    for entry in rng.integers(0, trie.n_entries, 20):  # and finite differences
        if trie.words[entry] != START:
            nudge = np.zeros_like(weights)
            nudge[entry] = 1e-5
            slope = (problem.loss(weights + nudge) - problem.loss(weights - nudge)) / 2e-5
            assert slope == pytest.approx(gradient[entry], abs=1e-9)


def test_the_trie_has_every_context_with_its_words_and_counts():
    ngrams, symbols, predictable = ngrams_of(4)
    trie = suffix_trie(ngrams, predictable)
    counts, ends = {}, {}
    for contexts, word in histories(symbols, 4):
        for context in contexts:
            counts[(*context, word)] = counts.get((*context, word), 0) + 1
        ends[contexts[-1]] = ends.get(contexts[-1], 0) + 1
    grams, nodes = grams_of(ngrams), trie.entry_nodes
    for row, gram in enumerate(grams):
        entry = trie.entry_of[row]
        assert trie.counts[entry] == counts.get(gram, 0)
        assert trie.words[entry] == gram[-1]
        assert trie.depths[nodes[entry]] == len(gram) - 1
        if gram in counts:
            assert trie.ends[nodes[entry]] == ends.get(gram[:-1], 0)
        if len(gram) > 1:
            assert trie.entry_parents[entry] == trie.entry_of[grams.index(gram[1:])]
            assert nodes[trie.entry_parents[entry]] == trie.parents[nodes[entry]]
    assert (trie.parents[1:] < np.arange(1, len(trie.parents))).all()


def test_contexts_collapse_if_and_only_if_they_occur_together():
    ngrams, symbols, predictable = ngrams_of(6)
    trie = suffix_trie(ngrams, predictable)
    tree = collapsed(trie)
    occurrences = {}
    for position, (contexts, _) in enumerate(histories(symbols, 6)):
        for context in contexts:
            occurrences.setdefault(context, set()).add(position)
    together = {frozenset(found) for context, found in occurrences.items() if context}
    assert len(tree.parents) == 1 + len(together)
    assert tree.sizes.sum() == len(occurrences) == len(trie.parents)
    assert tree.ends.sum() == trie.ends.sum()
    assert (tree.counts[tree.entry_of] == trie.counts[trie.entry_of]).all()
    assert (levels_of(trie)[trie.entry_nodes][trie.entry_of] == levels_of(tree)[tree.entry_nodes][tree.entry_of]).all()


def test_longest_matches_are_those_of_a_search():
    ngrams, _, _ = ngrams_of(4)
    grams = grams_of(ngrams)
    followed = {gram[:-1] for gram in grams}
    rng = np.random.default_rng(0)
    sentences = [rng.integers(3, 7, rng.integers(1, 9)).tolist() for _ in range(20)]
    symbols = np.array(list(itertools.chain(*([START, *sentence, END] for sentence in sentences))), np.int32)
    contexts, rows = longest_matches(ngrams, symbols, START, END)
    assert (rows[symbols == START] == -2).all()
    found = [row for row in zip(contexts.tolist(), rows.tolist(), strict=True) if row[0] != -2]
    for (context, row), (suffixes, word) in zip(found, histories(symbols, 4), strict=True):
        longest = max((suffix for suffix in suffixes if suffix in followed), key=len)
        assert (grams[context] if context >= 0 else ()) == longest
        assert grams[row] == (*max((s for s in suffixes if (*s, word) in grams), key=len), word)


@pytest.mark.parametrize(
    "shape",
    [
        Shape("l1"),
        Shape("l2"),
        Shape("tree-linf"),
        Shape("tree-linf", 0.85, "penalty"),
        Shape("tree-linf", 0.85, "node"),
        Shape("tree-linf", 1.2, "node"),
        Shape("l1", 0.7, "node"),
        Shape("l2", 0.5, "node"),
    ],
)
def test_trie_and_tree_agree_step_by_step(shape):
    ngrams, _, predictable = ngrams_of(7)
    trie = suffix_trie(ngrams, predictable)
    assert not may_collapse(shape)
    ends = []
    for tree in (trie, collapsed(trie)):
        method = Fista(Objective(tree, predictable, shape, 0.4), np.zeros(tree.n_entries))
        values = [method.step() for _ in range(80)]
        assert method.problem.penalty(method.weights) > 0.0
        ends.append((method.problem.added(method.weights), values, method.problem.penalty(method.weights)))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-10)
    np.testing.assert_allclose(ends[0][1], ends[1][1], atol=1e-10)
    assert ends[0][2] == pytest.approx(ends[1][2], rel=1e-10)


@pytest.mark.parametrize(
    "shape, reason",
    [
        (Shape("tree-l2"), "tree-l2"),
        (Shape("tree-linf", 0.85), "weighting node"),
        (Shape("l1", 0.7, "penalty"), "l1"),
        (Shape("l2", 0.7), "weighting node"),
        (Shape("tree-linf", 1.1, "penalty"), "grow with depth"),
        (Shape("l1", signed=2), "never followed"),
    ],
)
def test_what_cannot_collapse_is_refused_with_a_reason(shape, reason):
    assert reason in may_collapse(shape)
    with pytest.raises(SettingError, match=reason):
        LogLinearModel(collapse="yes", **shape._asdict()).fit(Corpus.from_sentences(SENTENCES))


@pytest.mark.parametrize("penalty", ["l1", "l2", "tree-l2", "tree-linf"])
@pytest.mark.parametrize("weighted", [1.0, 0.8])
def test_fista_finds_the_optimum(penalty, weighted):
    ngrams, _, predictable = ngrams_of(4)
    trie = suffix_trie(ngrams, predictable)
    problem = Objective(trie, predictable, Shape(penalty, weighted), 0.3)
    start = np.zeros(trie.n_entries)
    before = problem.loss(start) + problem.penalty(start)
    method = Fista(problem, start)
    for _ in range(1500):
        assert method.step() + problem.penalty(method.weights) <= before + 1e-12
    gradient, after = np.empty_like(start), np.empty_like(start)
    problem.gradient(method.weights, gradient)
    problem.update(method.weights, gradient, method.scale, after)
    assert np.abs(after - method.weights).max() < 1e-6
    best = problem.loss(method.weights) + problem.penalty(method.weights)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):  # convex: no point near it is better
        for _ in range(50):
            nudge = size * rng.normal(0, 1, len(start)) * rng.integers(0, 2, len(start))
            other = np.maximum(0.0, method.weights + nudge)
            assert problem.loss(other) + problem.penalty(other) >= best - 1e-9


def test_scaled_weights_under_l1_and_l2_are_the_same_problem():
    """The easier problem that is solved gives the model of the weights as they are meant."""
    ngrams, _, predictable = ngrams_of(3)
    trie = suffix_trie(ngrams, predictable)
    alpha, depths = 0.6, trie.depths[trie.entry_nodes]
    w = np.abs(np.random.default_rng(1).normal(0, 1, trie.n_entries))
    w[START] = 0
    for penalty, norm in (("l1", np.abs(w).sum()), ("l2", (w**2).sum() / 2)):
        problem = Objective(trie, predictable, Shape(penalty, alpha), 2.0)
        assert problem.penalty(alpha**depths * w) == pytest.approx(2.0 / problem.positions * norm)
        np.testing.assert_allclose(problem.added(alpha**depths * w), (alpha**depths * w)[trie.entry_of])


def test_parts_and_threads_change_no_bit(monkeypatch):
    ngrams, _, predictable = ngrams_of(5)
    trie = suffix_trie(ngrams, predictable)
    monkeypatch.setattr(loglinear_fitting, "_PART", 20)
    for penalty in ("l1", "l2", "tree-l2", "tree-linf"):
        ends = []
        for threads in (1, 3):
            problem = Objective(trie, predictable, Shape(penalty, 0.9), 0.3, threads=threads)
            assert len(problem._parts) > 2
            method = Fista(problem, np.zeros(trie.n_entries))
            ends.append([method.step() for _ in range(30)] + method.weights.tolist())
        assert ends[0] == ends[1]
        monkeypatch.setattr(loglinear_fitting, "_PART", 1 << 18)
        method = Fista(Objective(trie, predictable, Shape(penalty, 0.9), 0.3), np.zeros(trie.n_entries))
        whole = [method.step() for _ in range(30)]
        monkeypatch.setattr(loglinear_fitting, "_PART", 20)
        np.testing.assert_allclose(whole, ends[0][:30], rtol=1e-11)


@pytest.mark.parametrize("penalty", ["l2", "tree-linf"])
def test_the_stochastic_method_comes_near_the_optimum(penalty):
    ngrams, symbols, predictable = ngrams_of(3)
    trie = suffix_trie(ngrams, predictable)
    problem = Objective(trie, predictable, Shape(penalty), 2.0, uniform=True)
    exact = Fista(problem, np.zeros(trie.n_entries))
    for _ in range(300):
        exact.step()
    best = problem.loss(exact.weights) + problem.penalty(exact.weights)
    rows = longest_matches(ngrams, symbols, START, END)[1]
    batches = Batches(trie.entry_of[rows[rows >= 0]], 10, seed=1)
    convexity = problem.strength / problem.positions if penalty == "l2" else 0.0
    method = Stochastic(problem, np.zeros(trie.n_entries), 0.5, convexity, noise=1e-3)
    start = problem.loss(method.weights)
    for number in range(60):
        for step in range(batches.number):
            batches.show(problem, number, step)
            method.step()
    problem.see(None)
    reached = problem.loss(method.weights) + problem.penalty(method.weights)
    assert best <= reached < best + 0.1 * (start - best)


def test_all_batches_of_a_pass_are_the_text():
    ngrams, symbols, predictable = ngrams_of(4)
    trie = collapsed(suffix_trie(ngrams, predictable))
    problem = Objective(trie, predictable, Shape("l1"), 1.0)
    rows = longest_matches(ngrams, symbols, START, END)[1]
    batches = Batches(trie.entry_of[rows[rows >= 0]], 7, seed=3)
    counts, ends = np.zeros(trie.n_entries), np.zeros(len(trie.parents))
    point = np.abs(np.sin(np.arange(trie.n_entries)))
    point[START] = 0
    losses = []
    for step in range(batches.number):
        batches.show(problem, 0, step)
        counts += problem._passes.tree.counts
        ends += problem._passes.tree.ends
        losses.append(problem.loss(point) * problem.positions)
    np.testing.assert_array_equal(counts, trie.counts)
    np.testing.assert_array_equal(ends, trie.ends)
    problem.see(None)
    assert problem.loss(point) * problem.positions == pytest.approx(sum(losses))


def fitted(sentences=SENTENCES, **settings):
    return LogLinearModel(**{"min_count": 1, "order": 3, **settings}).fit(Corpus.from_sentences(sentences))


@pytest.mark.parametrize("penalty", ["l1", "l2", "tree-l2", "tree-linf"])
def test_distributions_sum_to_one_and_are_those_of_the_formula(penalty):
    model = fitted(penalty=penalty, strength=0.3, passes=60, order=4)
    added = {}
    for context, word, value in model.weights():
        added[tuple(model.vocab_.encode([*context, word]).tolist())] = value
    ids = {"<s>": START}
    plain = Plain({}, len(model.vocab_), 4)
    for context, word, value in model.weights():
        key = [ids.get(each, int(model.vocab_.encode([each])[0])) for each in context]
        last = END if word == "</s>" else int(model.vocab_.encode([word])[0])
        plain.added[(*key, last)] = value
    for context in (["<s>"], ["<s>", "a"], ["a", "b", "c"], ["zzz"], ["d", "zzz", "a"], ["c", "d", "a", "b"], []):
        found = model.distribution(context)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        known = [START if word == "<s>" else int(model.vocab_.encode([word])[0]) for word in context][-3:]
        expected = plain.distribution([tuple(known[len(known) - d :]) for d in range(len(known) + 1)])
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_without_penalty_order_one_is_relative_frequencies():
    words = ["a"] * 6 + ["b"] * 3 + ["c"]
    corpus = Corpus.from_sentences([words[:5], words[5:]])
    model = LogLinearModel(order=1, strength=0.0, min_count=1, penalty="l2", passes=2000, tolerance=1e-13).fit(corpus)
    frequency = {"a": 6 / 12, "b": 3 / 12, "c": 1 / 12, "</s>": 2 / 12}
    total = 1.0 - model.distribution([])[0]  # the unknown word, which has no weight, keeps a little
    for word, share in frequency.items():
        index = END if word == "</s>" else model.vocab_.encode([word])[0]
        assert model.distribution([])[index] / total == pytest.approx(share, rel=1e-3)


def test_a_huge_strength_leaves_nothing_but_the_vocabulary():
    for penalty in ("l1", "tree-l2", "tree-linf"):
        model = fitted(penalty=penalty, strength=1e6)
        assert not model.added_.any()
        events = model.events(Corpus.from_sentences(SENTENCES))
        np.testing.assert_allclose(np.exp(-events.log_probability), len(model.vocab_) - 1)


def test_the_model_is_a_back_off_model_and_survives_its_file_and_arpa(tmp_path):
    model = fitted(penalty="tree-linf", strength=0.4, order=4)
    corpus = Corpus.from_sentences([["a", "b", "zzz", "c", "a", "b"], ["d", "d", "a"], []])
    scores = model.events(corpus).log_probability
    model.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.events(corpus).log_probability, scores)
    assert list(loaded.weights()) == list(model.weights())
    write_arpa(model.as_ngram(), tmp_path / "m.arpa")
    np.testing.assert_allclose(read_arpa(tmp_path / "m.arpa").events(corpus).log_probability, scores, atol=1e-5)


def test_zero_weights_are_left_out_without_a_change():
    model = fitted(penalty="tree-linf", strength=1.0, order=5)
    assert np.count_nonzero(model.added_[len(model.vocab_) :]) <= sum(np.diff(model.ngrams_.levels)[1:])
    assert model.provenance_["nonzero"] < model.provenance_["parameters"]
    plain = {}
    for context, word, value in model.weights():
        plain[(*context, word)] = value
    text = ["a", "b", "c", "a"]
    at_once = model.events(Corpus.from_sentences([text])).log_probability
    history, found = ["<s>"], []
    for word in [*text, "</s>"]:
        distribution = model.distribution(history)
        found.append(np.log(distribution[END if word == "</s>" else model.vocab_.encode([word])[0]]))
        history.append(word)
    np.testing.assert_allclose(at_once, found, atol=1e-13)


def test_collapsing_changes_nothing_that_a_user_sees():
    kept = [fitted(penalty="tree-linf", strength=0.4, order=6, collapse=how) for how in ("yes", "no")]
    np.testing.assert_allclose(kept[0].added_, kept[1].added_, atol=1e-9)
    assert kept[0].provenance_["parameters"] < kept[1].provenance_["parameters"]


def test_more_text_splits_nodes_and_changes_no_prediction():
    model = fitted(penalty="tree-linf", strength=0.3, order=6)
    grown, symbols, predictable = ngrams_of(6, [*SENTENCES, ["b", "b", "c", "a", "b", "d"], ["d", "a", "b", "b"]])
    carried = model.carried(grown)
    before = suffix_trie(ngrams_of(6)[0], predictable)
    after = collapsed(suffix_trie(grown, predictable))
    assert len(after.parents) > len(collapsed(before).parents)
    values = np.zeros(after.n_entries)
    values[after.entry_of] = carried
    np.testing.assert_array_equal(values[after.entry_of], carried)  # one value a collapsed entry, still
    added = dict(zip(grams_of(grown), carried, strict=True))
    plain = Plain(added, len(predictable), 6)
    for contexts, word in histories(symbols, 6):
        words = [model.vocab_.word(symbol) for symbol in contexts[-1]]
        assert plain.distribution(contexts)[word] == pytest.approx(model.distribution(words)[word], rel=1e-12)


def test_learning_goes_on_from_another_model():
    corpus = Corpus.from_sentences(SENTENCES)
    settings = {"min_count": 1, "penalty": "tree-l2", "strength": 0.3}
    model = LogLinearModel(order=3, **settings).fit(corpus)
    longer = LogLinearModel(order=3, passes=10, **settings).fit(corpus, start=model)
    assert longer.history_[0, 2] <= model.history_[-1, 2] + 1e-9
    assert longer.history_[0, 2] < LogLinearModel(order=3, passes=10, **settings).fit(corpus).history_[0, 2]


def test_signed_weights_make_the_training_text_likelier():
    settings = {"penalty": "l2", "strength": 0.1, "order": 2, "passes": 600}
    losses = [fitted(signed=signed, **settings).history_[-1, 2] for signed in (0, 1, 2)]
    assert losses[0] > losses[1] > losses[2]
    model = fitted(signed=2, **settings)
    assert model.added_.min() < 0.0
    assert model.distribution(["<s>", "a"]).sum() == pytest.approx(1.0, abs=1e-12)


def test_all_words_after_every_context_up_to_an_order():
    ngrams, _, _ = ngrams_of(4)
    dense = with_all_words(ngrams, 2)
    grams, before = grams_of(dense), grams_of(ngrams)
    assert dict(zip(before, ngrams.counts, strict=True)).items() <= dict(zip(grams, dense.counts, strict=True)).items()
    followed = {gram[:1] for gram in before if len(gram) == 2}
    n = int(ngrams.levels[1])
    assert {gram for gram in grams if len(gram) == 2} == {(*context, word) for context in followed for word in range(n)}
    assert [gram for gram in grams if len(gram) > 2] == [gram for gram in before if len(gram) > 2]
    for row, gram in enumerate(grams):
        assert (dense.suffix[row] < 0) if len(gram) == 1 else grams[dense.suffix[row]] == gram[1:]


def test_strength_and_weight_are_chosen_on_a_development_text():
    train, dev = Corpus.from_sentences(SENTENCES * 3), Corpus.from_sentences([*SENTENCES[::-1][:5], ["d", "c", "b"]])
    model = LogLinearModel(min_count=1, order=3, passes=60).fit(train, dev)
    assert set(model.chosen_) == {"strength", "weighted"}
    assert len({tuple(row) for row in model.history_[:, :2].tolist()}) > 2
    best = np.argmax(model.history_[:, 3])
    assert (model.strength_, model.weighted_) == tuple(model.history_[best, :2])
    assert -model.events(dev).log_probability.mean() == pytest.approx(-model.history_[best, 3], rel=1e-12)
    given = LogLinearModel(min_count=1, order=3, passes=60, strength=0.5, weighted=1.0).fit(train, dev)
    assert given.chosen_ == {}


def test_the_search_follows_a_ridge_to_its_top():
    for early in (True, False):
        search = Search((1.0, 1.0), (True, True), 20, 0.0, early)
        for _ in range(200):
            if search.over:
                break
            strength, weighted = search.trial
            value = -1.0 - (np.log(strength) - np.log(1.4**3)) ** 2 - (np.log(weighted) + np.log(1.15**2)) ** 2
            search.see((strength, weighted, 1.0 / (1 + len(search.rows)), value))
        assert search.over
        np.testing.assert_allclose(search.best[1], (1.4**3, 1.15**-2))


def test_a_run_that_was_stopped_ends_in_the_same_model(tmp_path):
    train, dev = Corpus.from_sentences(SENTENCES), Corpus.from_sentences(SENTENCES[:4])

    class Stopped(Exception):
        pass

    for estimator in ("fista", "stochastic"):
        settings = {"min_count": 1, "order": 3, "passes": 30, "estimator": estimator}
        whole = LogLinearModel(**settings).fit(train, dev)
        path = tmp_path / estimator
        for stop in (3, 17, 55):
            model = LogLinearModel(**settings)
            with pytest.raises(Stopped), model.checkpoint(train, path, resume=stop > 3) as checkpoint:
                checkpoint.every, seen = 0.0, []

                def after(*arguments, _after=checkpoint.after, _seen=seen, _stop=stop, **more):
                    _after(*arguments, **more)
                    _seen.append(1)
                    if len(_seen) == _stop:
                        raise Stopped

                checkpoint.after = after
                model.fit(train, dev, checkpoint=checkpoint)
        model = LogLinearModel(**settings)
        with model.checkpoint(train, path, resume=True) as checkpoint:
            model.fit(train, dev, checkpoint=checkpoint)
        np.testing.assert_array_equal(model.added_, whole.added_)
        np.testing.assert_array_equal(model.history_, whole.history_)


def test_unfinished_work_goes_on_from_the_model_that_it_began_with(tmp_path):
    corpus, model = Corpus.from_sentences(SENTENCES), LogLinearModel(min_count=1, order=3, passes=30)
    starts = [None, LogLinearModel(min_count=1, order=2, passes=20).fit(corpus)]
    for start, other in (starts, starts[::-1]):
        with pytest.raises(KeyboardInterrupt), model.checkpoint(corpus, tmp_path / "m") as checkpoint:
            checkpoint.every, after = 0.0, checkpoint.after

            def stop(*arguments, _after=after, **more):
                _after(*arguments, **more)
                raise KeyboardInterrupt

            checkpoint.after = stop
            model.fit(corpus, start=start, checkpoint=checkpoint)
        with pytest.raises(InputError, match="another run"), model.checkpoint(corpus, tmp_path / "m", True) as resumed:
            model.fit(corpus, start=other, checkpoint=resumed)
        with model.checkpoint(corpus, tmp_path / "m", resume=True) as resumed:
            model.fit(corpus, start=start, checkpoint=resumed)
        np.testing.assert_array_equal(
            model.added_, LogLinearModel(min_count=1, order=3, passes=30).fit(corpus, start=start).added_
        )


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"order": 0}, "order is a whole number from 1"),
        ({"strength": -1.0}, "strength is a number"),
        ({"strength": float("nan")}, "strength is a number"),
        ({"weighted": 0.0}, "weighted is a number"),
        ({"boundary": "pad"}, "boundary is one of single, none"),
        ({"order": 2, "signed": 3}, "no contexts of 2 words"),
        ({"batch_tokens": 10}, "means nothing without estimator stochastic"),
        ({"penalty": "l3"}, "penalty is one of"),
    ],
)
def test_settings_that_cannot_be(settings, reason):
    with pytest.raises(SettingError, match=reason):
        LogLinearModel(**settings)


def test_texts_that_nothing_can_be_learned_from():
    with pytest.raises(InputError, match="the training text is empty"):
        LogLinearModel().fit(Corpus.from_sentences([]))
    with pytest.raises(SettingError, match="needs a development text"):
        LogLinearModel(strength="auto").fit(Corpus.from_sentences(SENTENCES))
    with pytest.raises(InputError, match="the development text is empty"):
        LogLinearModel(min_count=1).fit(Corpus.from_sentences(SENTENCES), Corpus.from_sentences([]))


@pytest.mark.filterwarnings("ignore:no sentence is long enough")
def test_one_word_is_text_enough():
    for order in (1, 2, 5):
        model = fitted([["a"]], order=order)
        assert model.distribution(["<s>"]).sum() == pytest.approx(1.0, abs=1e-12)
        stream = LogLinearModel(order=order, min_count=1, boundary="none").fit(Corpus.from_sentences([["a", "a", "b"]]))
        assert stream.distribution([]).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.fixture
def files(tmp_path):
    """A training and a development text in files."""
    for name, lines in (("train", SENTENCES * 2), ("dev", SENTENCES[:6])):
        (tmp_path / name).write_text("\n".join(map(" ".join, lines)) + "\n")
    return tmp_path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_learns_chooses_and_lists_weights(capsys, files):
    train = ["lm", "train", files / "train", "-o", files / "m", "--method", "loglinear", "--order", "3"]
    dev = ["--dev", files / "dev", "--strength", "auto", "--weighted", "auto", "--min-count", "1"]
    code, out, err = run(capsys, *train, *dev, "--arpa", files / "arpa", "--json")
    assert code == 0, err
    figures = json.loads(out.splitlines()[-1])
    assert figures["tuned"] == ["strength", "weighted"] and figures["nonzero"] <= figures["parameters"]
    assert "chosen on" in err and not (files / "m.partial").exists()
    for command in (["perplexity", files / "m", files / "dev"], ["next", files / "m", "a b"], ["sample", files / "m"]):
        assert run(capsys, "lm", *command)[0] == 0
    code, out, _ = run(capsys, "lm", "weights", files / "m", "b", "--top", "3")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and len(rows) == 3 and {row[1] for row in rows} == {"b"}
    assert float(rows[0][2]) >= float(rows[2][2]) > 0.0
    code, out, _ = run(capsys, "lm", "perplexity", files / "m", files / "train", "--json")
    assert run(capsys, "lm", "import", files / "arpa", "-o", files / "back")[0] == 0
    _, again, _ = run(capsys, "lm", "perplexity", files / "back", files / "train", "--json")
    assert json.loads(out)["perplexity"] == pytest.approx(json.loads(again)["perplexity"], rel=1e-5)


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--strength", "auto"], "needs a development text"),
        (["--collapse", "yes"], "collapse yes is not exact here: tree-l2"),
        (["--penalty", "tree-linf", "--weighted", "0.9", "--collapse", "yes"], "--weighting node"),
        (["--strength", "-1"], "--strength is a number from 0"),
        (["--weighted", "0"], "--weighted is a number"),
        (["--order", "0"], "--order is a whole number from 1"),
        (["--boundary", "pad"], "boundary is one of single, none"),
        (["--boundary", "none", "--arpa", "x.arpa"], "no ARPA form"),
        (["--noise", "1"], "means nothing without estimator stochastic"),
        (["--sweeps", "3"], "it is for"),
        (["--resume"], "nothing to resume"),
    ],
)
def test_bad_options_are_one_line(capsys, files, options, reason):
    command = ["lm", "train", files / "train", "-o", files / "n", "--method", "loglinear", "--min-count", "1"]
    code, _, err = run(capsys, *command, *options)
    assert (code, err.count("\n")) == (2, 1) and err.startswith("error: ") and reason in err
    assert not (files / "n").exists()


def test_the_command_goes_on_with_more_text(capsys, files):
    (files / "more").write_text((files / "train").read_text() + "b b c a b d\nd a b b new\n")
    learn = ["lm", "train", "--method", "loglinear", "--penalty", "tree-linf", "--strength", "0.3", "--order", "4"]
    assert run(capsys, *learn, files / "train", "-o", files / "old", "--min-count", "1", "--lowercase")[0] == 0
    code, out, err = run(capsys, *learn, files / "more", "-o", files / "new", "--start", files / "old", "--json")
    assert code == 0, err
    old, new = corpuscle.load(files / "old"), corpuscle.load(files / "new")
    assert new.vocab_ == old.vocab_ and new.lowercase
    alone = LogLinearModel(penalty="tree-linf", strength=0.3, order=4, lowercase=True, min_count=1)
    text = Corpus.from_sentences(line.split() for line in (files / "more").read_text().splitlines())
    alone.fit(text.recode(old.vocab_))
    found = json.loads(out.splitlines()[-1])
    assert new.history_[0, 2] < alone.history_[0, 2]
    assert found["objective"] == pytest.approx(alone.summary()["objective"], rel=1e-3)


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--min-count", "1"], "keeps its words"),
        (["--boundary", "none"], "was learned from text that was read in another way"),
        (["--start", "k"], "a model of kind lm.ngram, where lm.loglinear is needed"),
        (["--method", "plre"], "--start means nothing with --method plre"),
    ],
)
def test_what_cannot_be_begun_with_is_one_line(capsys, files, monkeypatch, options, reason):
    monkeypatch.chdir(files)
    quick = ["lm", "train", "train", "-o", "m", "--method", "loglinear", "--passes", "10"]
    assert run(capsys, "lm", "train", "train", "-o", "k", "--discounts", "0.5,1,1.5")[0] == 0
    assert run(capsys, *quick)[0] == 0
    code, _, err = run(capsys, "lm", "train", "train", "-o", "n", *quick[5:], "--start", "m", *options)
    assert (code, err.count("\n")) == (2, 1) and err.startswith("error: ") and reason in err
    assert not (files / "n").exists()


def test_weights_of_other_models_and_words(capsys, files):
    counted = ["lm", "train", files / "train", "-o", files / "k", "--quiet", "--discounts", "0.5,1,1.5"]
    assert run(capsys, *counted)[0] == 0
    code, _, err = run(capsys, "lm", "weights", files / "k")
    assert code == 2 and err.count("\n") == 1
    small = ["--method", "loglinear", "--passes", "10", "--min-count", "1"]
    assert run(capsys, "lm", "train", files / "train", "-o", files / "l", *small)[0] == 0
    assert run(capsys, "lm", "weights", files / "l", "zzz")[::2] == (2, "error: the model does not know zzz\n")


def test_hostile_models_are_refused_or_harmless(tmp_path):
    fitted(penalty="tree-linf", strength=0.5, passes=20).save(tmp_path / "m")

    def use(path):
        model = corpuscle.load(path)
        model.events(Corpus.from_sentences([["a", "b", "zzz"], []]))
        list(itertools.islice(model.weights(), 3))

    assert survives_hostile_edits(tmp_path / "m", use, edits=150) > 30


def test_hostile_unfinished_work_is_refused_or_harmless(tmp_path):
    train, dev = Corpus.from_sentences(SENTENCES), Corpus.from_sentences(SENTENCES[:4])
    settings = {"min_count": 1, "order": 2, "passes": 30, "strength": 0.5, "weighted": 1.0}
    learner = LogLinearModel(**settings)
    with pytest.raises(Interrupted), learner.checkpoint(train, tmp_path / "m") as checkpoint:
        checkpoint._stop.requested = True
        learner.fit(train, dev, checkpoint=checkpoint)

    def resume(partial):
        (tmp_path / "x.partial").write_bytes(partial.read_bytes())
        again = LogLinearModel(**settings)
        with again.checkpoint(train, tmp_path / "x", resume=True) as kept:
            again.fit(train, dev, checkpoint=kept).save(tmp_path / "x")

    assert survives_hostile_edits(tmp_path / "m.partial", resume, edits=120) > 20
    again = LogLinearModel(**settings)
    with pytest.raises(InputError, match="another run"), again.checkpoint(train, tmp_path / "m", resume=True) as kept:
        again.fit(train, dev[1:], checkpoint=kept)


@pytest.mark.slow
def test_tree_norms_are_near_kneser_ney_on_a_text_whose_contexts_matter():
    text = Corpus.from_sentences([sentence.words for sentence in generate(seed=3).sentences()])
    held, order = np.arange(len(text)) % 10, 5
    train, dev, test = text.select(held > 2), text.select(held == 0), text.select((held == 1) | (held == 2))
    baseline = NgramModel(method="kn", order=order).fit(train).perplexity(test, draws=1)["perplexity"]
    best = min(
        LogLinearModel(penalty=penalty, order=order).fit(train, dev).perplexity(test, draws=1)["perplexity"]
        for penalty in ("tree-l2", "tree-linf")
    )
    assert best <= 1.05 * baseline
