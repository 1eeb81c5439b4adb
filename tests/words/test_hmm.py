"""Hidden Markov classes: exact checks, promises of learning, recovery of the truth, files, commands."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleWarning, InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.random import Random
from corpuscle.scale import workers
from corpuscle.text import FIRST, UNKNOWN, Corpus, Treebank, read_conllu, write_conllu
from corpuscle.words import ExchangeClasses, Forest, HmmClasses
from corpuscle.words.hmm_learning import (
    Em,
    batches_of,
    from_classes,
    from_nothing,
    links_of,
    weights_of,
)
from corpuscle.words.settings import HmmSettings
from tests.schemas import FRACTION, last_line_conforms

PLAIN = {"prior": 0.0, "prior_steps": 0.0}
"""Maximum likelihood."""


def text(seed: int = 1, sentences: int = 60, words: int = 30, longest: int = 9) -> Corpus:
    random = Random(seed, "text")
    return Corpus.from_sentences([
        [f"w{int(words * random.uniform() ** 2)}" for _ in range(random.below(longest))] for _ in range(sentences)
    ])


def bank(seed: int = 1, sentences: int = 60, relations: bool = False) -> Treebank:
    """Random trees over a text; a word is likely to hang on an earlier one."""
    random, corpus = Random(seed, "bank"), text(seed, sentences)
    heads = [[random.below(k + 1) if k else 0 for k in range(n)] for n in corpus.lengths.tolist()]
    names = [[["subj", "obj", "obj:x"][random.below(3)] for _ in range(n)] for n in corpus.lengths.tolist()]
    layers = {"relations": names} if relations else {}
    return Treebank.from_sentences(list(corpus), heads=heads, **layers)


class Truth:
    """A model whose parameters are known, and texts drawn from it; word W-1 is a homonym of the first two classes."""

    def __init__(self, seed: int, classes: int, words: int):
        self.dice = np.random.default_rng(seed)
        self.first = self.dice.dirichlet(np.ones(classes))
        self.steps = self.dice.dirichlet(np.full(classes, 0.3), classes).T
        own = np.arange(words) % classes
        emission = np.where(own[:, None] == np.arange(classes), self.dice.uniform(0.2, 1, (words, 1)), 0.0)
        emission[words - 1] = 0.0
        emission[words - 1, :2] = 1.0
        self.emission = emission / emission.sum(axis=0)

    def draw(self, sentences: int, longest: int = 10) -> tuple[Treebank, np.ndarray]:
        """Trees, and the class of every token."""
        dice, classes = self.dice, len(self.first)
        texts, heads, truth = [], [], []
        for _ in range(sentences):
            n = int(dice.integers(3, longest))
            above = [-1, *(int(dice.integers(k)) for k in range(1, n))]
            assigned: list[int] = []
            for parent in above:
                assigned.append(
                    int(dice.choice(classes, p=self.first if parent < 0 else self.steps[:, assigned[parent]]))
                )
            texts.append([f"v{dice.choice(len(self.emission), p=self.emission[:, each])}" for each in assigned])
            heads.append([parent + 1 for parent in above])
            truth += assigned
        return Treebank.from_sentences(texts, heads=heads), np.array(truth)

    def model(self, vocab) -> HmmClasses:
        """The truth as a model that has learned."""
        model = HmmClasses(classes=len(self.first), structure="tree")
        rows = np.zeros((len(vocab), len(self.first)), np.float32)
        rows[FIRST:] = self.emission[[int(word[1:]) for word in vocab.strings[FIRST:]]]
        model.first_, model.steps_ = self.first.astype(np.float32), self.steps[None].astype(np.float32)
        model.emission_, model.counts_, model.vocab_, model.relations_ = rows, rows, vocab, []
        model._derive()
        return model


def settings_of(**given) -> HmmSettings:
    """Settings of batch learning without priors, if nothing else is given."""
    return HmmSettings(**{"estimator": "batch", "k_best": "all", "passes": 10, **PLAIN} | given)


def learner(forest: Forest, n_classes: int, **given) -> Em:
    """A learner on a text, with random counts to begin with."""
    links = links_of(forest, [])
    start = from_nothing(
        forest.corpus.vocab.counts > 0, forest.n_tokens, int((forest.parents < 0).sum()), 1, n_classes, 1
    )
    with workers(1) as pool:
        return Em(batches_of(forest, links, forest.n_tokens, 100), start, 0, settings_of(**given), pool)


# ---- what can be checked exactly


@pytest.mark.parametrize("structure", ["chain", "tree"])
@pytest.mark.parametrize("init", ["random", "exchange", "brown"])
def test_no_pass_of_batch_learning_lowers_the_likelihood(structure, init):
    forest = Forest.tree(bank())
    model = HmmClasses(classes=5, structure=structure, init=init, passes=30, tolerance=0.0, **PLAIN).fit(forest)
    rises = np.diff([each.log_likelihood for each in model.history_])
    assert (rises > -1e-9).all() and rises.sum() > 0.005
    exact = model.log_likelihood(forest) / forest.n_tokens
    assert model.history_[-1].log_likelihood == pytest.approx(exact, abs=1e-12)


def test_with_priors_no_pass_lowers_the_logarithm_of_likelihood_times_prior():
    forest = Forest.tree(bank())
    em = learner(forest, 5, prior=0.5, prior_steps=2.0)
    reached = []
    for sweep in range(20):
        first, (steps,) = em.first_and_steps()
        emission = em.emissions()[em.occurs]
        em.step(sweep, 0)
        prior = 0.5 * np.log(emission).sum() + 2.0 * (np.log(steps).sum() + np.log(first).sum())
        reached.append(em.finish(sweep)[0] * forest.n_tokens + prior)
    assert (np.diff(reached) > -1e-9).all() and reached[-1] - reached[0] > 1


def test_a_prior_is_of_the_whole_text_however_it_is_cut_into_batches():
    corpus = text(3, 400)
    forest, links = Forest.chain(corpus), np.zeros(corpus.n_tokens, np.int32)
    start = from_nothing(corpus.vocab.counts > 0, corpus.n_tokens, len(corpus), 1, 4, 1)
    with workers(1) as pool:
        whole, parts = (
            Em(batches_of(forest, links, size, 100), start, 0, settings_of(prior=0.1, prior_steps=3.0), pool)
            for size in (corpus.n_tokens, 200)
        )
    assert len(parts.batches) > len(whole.batches) == 1
    np.testing.assert_allclose(parts.emissions(), whole.emissions())
    for ours, theirs in zip(parts.first_and_steps(), whole.first_and_steps(), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_the_priors_of_the_settings_keep_small_texts_from_being_learned_by_heart():
    truth, corpus = text(5, 300), text(5, 600)[300:]
    by_heart, held = (HmmClasses(classes=20, init="random", passes=40, tolerance=0.0, **how).fit(truth)
                      for how in (PLAIN, {}))  # fmt: skip
    assert by_heart.history_[-1].log_likelihood > held.history_[-1].log_likelihood
    other = corpus.recode(truth.vocab)
    assert held.log_likelihood(other) > by_heart.log_likelihood(other) + 10


def test_one_class_is_the_unigram_model():
    corpus = text()
    model = HmmClasses(classes=1, init="random", prior=0.0).fit(corpus)
    counts = corpus.vocab.counts[corpus.vocab.counts > 0]
    by_hand = float((counts * np.log(counts / counts.sum())).sum())
    assert model.likelihood_ == pytest.approx(by_hand, rel=1e-7)
    assert model.history_[1].log_likelihood * corpus.n_tokens == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("structure", ["chain", "tree"])
def test_counts_of_hard_classes_without_smoothing_give_the_class_bigram_model(structure):
    forest = Forest.tree(bank(2))
    hard = ExchangeClasses(classes=6, structure=structure).fit(forest)
    model = HmmClasses(classes=6, structure=structure, floor=0.0, passes=1, **PLAIN).fit(forest)
    assert model.history_[0].log_likelihood * forest.n_tokens == pytest.approx(hard.likelihood_, rel=1e-12)
    none = HmmClasses(classes=6, structure=structure, floor=0.0, passes=0, **PLAIN).fit(forest)
    assert none.likelihood_ == pytest.approx(hard.likelihood_, rel=1e-6)  # single precision
    np.testing.assert_array_equal(none.classes_, hard.classes_)
    assert none.mutual_information_ == pytest.approx(hard.mutual_information_, rel=1e-6)


def test_splitting_without_noise_changes_no_likelihood():
    em = learner(Forest.tree(bank(3)), 3, noise=0.0)
    em.step(0, 0)
    before = em._expected(0, weights_of(*em.first_and_steps(), em.emissions()[em.batches[0].types]))[1][0]
    em.doublings = 1
    em.double()
    after = em._expected(0, weights_of(*em.first_and_steps(), em.emissions()[em.batches[0].types]))[1][0]
    assert em.table.n_classes == 6 and after == pytest.approx(before, rel=1e-13)
    for sums in em.first_and_steps()[0].sum(), *em.first_and_steps()[1][0].sum(axis=0), *em.emissions().sum(axis=0):
        assert sums == pytest.approx(1.0, abs=1e-12)


def test_the_order_of_words_changes_nothing_in_trees():
    trees, dice = bank(4), np.random.default_rng(4)
    model = HmmClasses(classes=4, structure="tree", passes=5).fit(Forest.tree(trees))
    sentences, heads, orders = [], [], []
    for i, words in enumerate(trees.corpus):
        order = dice.permutation(len(words))
        at = np.argsort(order)
        begin = trees.corpus.sentence_starts[i]
        old = trees.heads[begin : begin + len(words)][order]
        sentences.append([words[k] for k in order])
        heads.append([0 if head == 0 else int(at[head - 1]) + 1 for head in old])
        orders.append(begin + order)
    mixed = Forest.tree(Treebank.from_sentences(sentences, heads=heads))
    assert model.log_likelihood(mixed) == pytest.approx(model.log_likelihood(Forest.tree(trees)), rel=1e-12)
    order = np.concatenate(orders)
    straight = np.concatenate(list(model.posteriors(Forest.tree(trees))))
    np.testing.assert_allclose(np.concatenate(list(model.posteriors(mixed))), straight[order], atol=1e-6)
    np.testing.assert_array_equal(model.apply(mixed).tokens, model.apply(Forest.tree(trees)).tokens[order])


def test_projections_that_leave_everything_learn_the_same():
    corpus = text(5)
    exact = HmmClasses(classes=6, passes=4, init="random").fit(corpus)
    for options in {"k_best": 6}, {"k_best": "all"}, {"epsilon": 1e-300}:
        other = HmmClasses(classes=6, passes=4, init="random", **options).fit(corpus)
        np.testing.assert_allclose(other.emission_, exact.emission_, atol=1e-6)
        assert 5.9 < other.history_[-1].support <= 6.0
    fewer = HmmClasses(classes=6, passes=4, init="random", k_best=2).fit(corpus)
    assert fewer.history_[-1].support == 2.0
    assert fewer.log_likelihoods(corpus, projected=True)[0].sum() < fewer.log_likelihood(corpus)
    some = HmmClasses(classes=6, passes=4, init="random", epsilon=0.2).fit(corpus)
    assert 1.0 < some.history_[-1].support < 6.0


def test_verbs_equal_enumeration():
    corpus = text(6)
    model = HmmClasses(classes=3, passes=3).fit(corpus)
    new = Corpus.from_sentences([["w1", "w3", "w0", "w1"], [], ["w2"], ["w5", "w1"]])
    posteriors, classes = np.concatenate(list(model.posteriors(new))), model.apply(new).tokens - FIRST
    logs, at = [], 0
    for words in new:
        weights = {}
        for assigned in itertools.product(range(3), repeat=len(words)):
            weight = 1.0
            for k, each in enumerate(assigned):
                weight *= model.first_[each] if k == 0 else model.steps_[0, each, assigned[k - 1]]
                weight *= model.emission_[model.vocab_.id(words[k]), each]
            weights[assigned] = float(weight)
        total = sum(weights.values())
        logs.append(math.log(total))
        for k in range(len(words)):
            for each in range(3):
                share = sum(weight for assigned, weight in weights.items() if assigned[k] == each) / total
                assert posteriors[at + k, each] == pytest.approx(share, abs=1e-5)
        assert max(weights, key=weights.__getitem__) == tuple(classes[at : at + len(words)].tolist())
        at += len(words)
    np.testing.assert_allclose(model.log_likelihoods(new)[0], logs, rtol=1e-5)
    assert [len(sentence) for sentence in model.apply(new)] == [4, 0, 1, 2]


def test_expected_counts_add_up_to_what_was_seen():
    corpus = text(7)
    model = HmmClasses(classes=4, passes=5, min_count=2).fit(corpus)
    np.testing.assert_allclose(model.counts_.sum(axis=1), model.vocab_.counts, rtol=1e-5)
    assert model.class_counts_.sum() == pytest.approx(corpus.n_tokens) and (np.diff(model.class_counts_) <= 0).all()
    assert model.roots_.sum() == pytest.approx((corpus.lengths > 0).sum())
    assert model.links_.sum() == pytest.approx(corpus.n_tokens - (corpus.lengths > 0).sum())
    posteriors = np.concatenate(list(model.posteriors(corpus)))
    ids = model.vocab_.encode(word for sentence in corpus for word in sentence)
    for word in "w1", "w4":
        mean = posteriors[ids == model.vocab_.id(word)].mean(axis=0)
        np.testing.assert_allclose(model.shares_[model.vocab_.id(word)], mean, atol=1e-5)
        assert model.class_of(word) == mean.argmax() == model.classes_of(word)[0][0]
        assert sum(share for _, share in model.classes_of(word)) == pytest.approx(1.0)


# ---- promises


@pytest.mark.parametrize(
    "settings",
    [
        {"passes": 4},
        {"estimator": "online", "batch_tokens": 60, "passes": 2, "k_best": 2},
        {"estimator": "online", "batch_tokens": 40, "passes": 2, "split": 2, "init": "random"},
    ],
)
def test_the_result_is_the_same_on_any_number_of_workers(settings, tmp_path):
    corpus, files = text(8, 300), []
    for count in 1, 2, 3:
        HmmClasses(classes=4, workers=count, **settings).fit(corpus).save(tmp_path / str(count))
        files.append((tmp_path / str(count)).read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"passes": 5}, 3),
        ({"estimator": "online", "batch_tokens": 100, "passes": 2, "split": 2}, 9),
        ({"passes": 9, "split": 1, "init": "random"}, 7),
    ],
)
def test_resuming_leads_to_the_same_bytes(settings, steps, tmp_path, monkeypatch):
    corpus = text(9, 300)
    model = HmmClasses(classes=4, **settings)
    path = tmp_path / "m"
    with model.checkpoint(corpus, path) as checkpoint:
        model.fit(corpus, checkpoint=checkpoint).save(path)
    straight = path.read_bytes()
    done = 0
    after = Checkpoint.after

    def stopping(self, *arguments, **more):
        nonlocal done
        done += self.path is not None  # not where the start is learned
        self._stop.requested = done == steps
        return after(self, *arguments, **more)

    monkeypatch.setattr(Checkpoint, "after", stopping)
    with pytest.raises(Interrupted), model.checkpoint(corpus, path) as checkpoint:
        model.replace().fit(corpus, checkpoint=checkpoint).save(path)
    monkeypatch.setattr(Checkpoint, "after", after)
    again = model.replace()
    with again.checkpoint(corpus, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == straight and not (tmp_path / "m.partial").exists()


def test_unfinished_work_of_another_run_is_refused(tmp_path):
    corpus, model = text(9), HmmClasses(classes=4, passes=3)
    checkpoint = Checkpoint(tmp_path / "m", HmmClasses.PARTIAL, model.settings, corpus.signature(), every=0.0)
    with pytest.raises(ZeroDivisionError), checkpoint:
        model.fit(corpus, checkpoint=checkpoint)
        raise ZeroDivisionError
    for other, given in (model, text(10)), (HmmClasses(classes=5, passes=3), corpus):
        with pytest.raises(InputError, match="cannot resume"):
            other.checkpoint(given, tmp_path / "m", resume=True)


def test_classes_are_split_until_there_are_enough():
    corpus = text(11, 200)
    for options in {"passes": 6}, {"passes": 1, "estimator": "online", "batch_tokens": 30}, {"passes": 0}:
        model = HmmClasses(classes=8, split=2, **options).fit(corpus)
        assert model.n_classes_ == 8 and len(model.history_) <= options["passes"] + 1
    other = HmmClasses(classes=8, split=2, passes=6, seed=2).fit(corpus)
    assert (other.emission_ != HmmClasses(classes=8, split=2, passes=6).fit(corpus).emission_).any()


def test_online_counts_are_weighted_means_however_they_are_kept(monkeypatch):
    corpus, settings = text(11, 200), {"estimator": "online", "batch_tokens": 60, "passes": 2, "init": "random"}
    kept = HmmClasses(classes=4, **settings).fit(corpus)
    monkeypatch.setattr("corpuscle.words.hmm_learning.SMALL", 0.5)
    renewed = HmmClasses(classes=4, **settings).fit(corpus)
    np.testing.assert_allclose(renewed.emission_, kept.emission_, rtol=1e-5, atol=1e-9)
    # By hand: two batches, the table of words as a whole.
    forest = Forest.chain(corpus.select(corpus.lengths > 0))
    links = links_of(forest, [])
    start = from_nothing(corpus.vocab.counts > 0, forest.n_tokens, len(forest), 1, 4, 1)
    with workers(1) as pool:
        em = Em(batches_of(forest, links, 400, 100), start, 0, settings_of(estimator="online", prior=1e-12), pool)
        table = start.emission * em.mass
        for number in range(2):
            weights = weights_of(*em.first_and_steps(), em.emissions(em.batches[number].types))
            weight, new = (5.0 + number) ** -0.6, np.zeros_like(table)
            new[em.batches[number].types] = em._expected(number, weights)[0].emission
            table = (1 - weight) * table + weight * new
            em.step(0, number)
    np.testing.assert_allclose(em.table.emission * em.scale, table, rtol=1e-12)
    np.testing.assert_allclose(em.sums, table.sum(axis=0), rtol=1e-12)


def test_what_projections_never_keep_stays_possible():
    corpus = text(19, 200)
    for prior in 0.0, 1e-12:
        model = HmmClasses(classes=8, init="random", k_best=1, passes=30, tolerance=0.0, prior=prior).fit(corpus)
        assert (model.emission_[FIRST:].min() > 0.0) == (prior > 0.0)
    other = Corpus.from_sentences([[f"w{i}", f"w{j}"] for i in range(12) for j in range(12)])
    assert np.isfinite(model.log_likelihood(other))


def test_what_settings_leave_open_is_chosen_and_recorded():
    model = HmmClasses(classes=64, init="random").fit(text())
    assert model.chosen_ == {"estimator": "batch", "passes": 50, "k_best": 16}
    assert model.origins["k_best"] == "tuned" and model.settings["k_best"] is None
    online = HmmClasses(classes=4, estimator="online", epsilon=0.1, init="random").fit(text())
    assert online.chosen_ == {"passes": 10, "k_best": "all"}


def test_a_class_without_counts_keeps_its_words():
    corpus = Corpus.from_sentences([["a", "b"], ["b", "a"], ["a"]])
    forest = Forest.chain(corpus)
    links = links_of(forest, [])
    # Class 1 has nothing but the word that never comes.
    classes = np.array([-1, -1, -1, 0, 0])
    start = from_classes(forest, links, (1, 2), classes, 0.0)
    start.emission[FIRST, 1] = start.emission[FIRST + 1, 1] = 1e-300
    start.steps[0, 1, 1] = 1.0
    with workers(1) as pool:
        em = Em(batches_of(forest, links, 10, 10), start, 0, settings_of(), pool)
        em.step(0, 0)
    np.testing.assert_allclose(em.emissions().sum(axis=0), 1.0)
    np.testing.assert_allclose(em.first_and_steps()[1].sum(axis=1), 1.0)
    with pytest.warns(CorpuscleWarning, match="have hardly any tokens"):
        HmmClasses(classes=64, init="random", k_best="all", passes=200, tolerance=0.0).fit(corpus)


def test_long_and_empty_sentences_are_left_out_and_counted():
    corpus = text(12, 80)
    model = HmmClasses(classes=3, max_length=4, passes=2).fit(corpus)
    lengths = corpus.lengths
    assert model.provenance_["too_long"] == (lengths > 4).sum() > 0
    assert model.provenance_["empty"] == (lengths == 0).sum() > 0
    assert model.provenance_["sentences"] == ((lengths > 0) & (lengths <= 4)).sum()
    alone = HmmClasses(classes=3, passes=2).fit(corpus.select((lengths > 0) & (lengths <= 4)))
    np.testing.assert_array_equal(alone.emission_, model.emission_)
    assert len(model.apply(corpus)) == 80  # they are read all the same


def test_a_word_that_was_never_seen_is_no_evidence():
    model = HmmClasses(classes=3, passes=4).fit(text(13))
    assert model.vocab_.counts[UNKNOWN] == 0
    unknown, alone = Corpus.from_sentences([["zzz", "w1"]]), Corpus.from_sentences([["zzz"]])
    np.testing.assert_allclose(next(model.posteriors(alone))[0], model.first_, atol=1e-6)
    shares = (model.steps_[0] @ model.first_) * model.emission_[model.vocab_.id("w1")]
    np.testing.assert_allclose(next(model.posteriors(unknown))[1], shares / shares.sum(), atol=1e-5)
    result = model.evaluate(unknown)
    assert result["tokens"] == 1 and result["oov"] == 1
    assert result["log_likelihood"] == pytest.approx(math.log(shares.sum()), abs=1e-5)
    with pytest.raises(ValueError, match="at least one token"):
        model.evaluate(alone)
    with_rare = HmmClasses(classes=3, passes=4, min_count=3).fit(text(13))
    assert with_rare.evaluate(unknown)["tokens"] == 2


def test_sentences_without_probability_are_said_to_be_so():
    corpus = Corpus.from_sentences([["a", "b"]] * 4)
    model = HmmClasses(classes=2, floor=0.0, passes=0, **PLAIN).fit(corpus)
    impossible = Corpus.from_sentences([["b", "b"]])
    assert model.log_likelihood(impossible) == -math.inf
    with pytest.warns(CorpuscleWarning, match="2 tokens of sentences without any probability"):
        assert (model.apply(impossible).tokens - FIRST).tolist() == [model.class_of("b")] * 2
    assert next(model.posteriors(impossible)).sum() == 0.0


def test_draws_have_the_posterior_as_their_mean():
    model = HmmClasses(classes=3, passes=4, init="random").fit(text(14))
    many = Corpus.from_sentences([["w1", "w2", "w0"]] * 3000)
    drawn = model.draw(many).tokens.reshape(-1, 3) - FIRST
    shares = next(model.posteriors(many[:1]))
    for k in range(3):
        seen = np.bincount(drawn[:, k], minlength=3) / 3000
        np.testing.assert_allclose(seen, shares[k], atol=0.04)
    assert (model.draw(many, seed=2).tokens != model.draw(many).tokens).any()


# ---- relations


def test_relations_have_tables_of_their_own_where_they_are_frequent():
    trees = bank(15, 120, relations=True)
    forest = Forest.tree(trees)
    model = HmmClasses(classes=3, structure="tree", labelled=True, passes=20, init="random").fit(forest)
    assert model.relations_ == ["obj", "subj"] and model.steps_.shape == (3, 3, 3)
    np.testing.assert_allclose(model.steps_.sum(axis=1), 1.0, atol=1e-6)
    values = [each.log_likelihood for each in model.history_]
    assert values[-1] > values[0] + 0.01
    # A relation without a table follows the shared one, and so does a model whose tables are alike.
    links = links_of(forest, model.relations_)
    assert set(links.tolist()) == {1, 2}
    other = Treebank.from_sentences([["w1", "w2"]], heads=[[0, 1]], relations=[["root", "new"]])
    by_hand = (model.steps_[0] @ (model.first_ * model.emission_[model.vocab_.id("w1")])) @ model.emission_[
        model.vocab_.id("w2")
    ]
    assert model.log_likelihood(Forest.tree(other)) == pytest.approx(math.log(by_hand), abs=1e-5)
    few = HmmClasses(classes=3, structure="tree", labelled=True, passes=3).fit(Forest.tree(bank(15, 5, relations=True)))
    plain = HmmClasses(classes=3, structure="tree", passes=3).fit(Forest.tree(bank(15, 5, relations=True)))
    assert few.relations_ == []
    np.testing.assert_array_equal(few.steps_, plain.steps_)


def test_relations_that_differ_are_told_apart():
    # Of a verb, subjects are a, objects b: without relations, both are as likely.
    sentences = [["v", "a", "b"], ["v", "b", "a"]] * 100
    relations = [["root", "subj", "obj"], ["root", "obj", "subj"]] * 100
    forest = Forest.tree(Treebank.from_sentences(sentences, heads=[[0, 1, 1]] * 200, relations=relations))
    plain = HmmClasses(classes=3, structure="tree").fit(forest)
    told = HmmClasses(classes=3, structure="tree", labelled=True).fit(forest)
    assert told.likelihood_ / forest.n_tokens > plain.likelihood_ / forest.n_tokens + 0.2


# ---- recovery of the truth


def test_the_truth_is_recovered_from_trees():
    truth = Truth(1, 3, 12)
    train, held_out = truth.draw(1200)[0], truth.draw(400)[0]
    forest, other = Forest.tree(train), Forest.tree(held_out)
    oracle = truth.model(forest.corpus.vocab)
    fits = [
        HmmClasses(classes=3, structure="tree", init="random", seed=seed, passes=200, tolerance=1e-7).fit(forest)
        for seed in (1, 2, 3)
    ]
    best = max(fits, key=lambda model: model.likelihood_)
    assert best.likelihood_ >= oracle.log_likelihood(forest)
    right = oracle.log_likelihood(other) / other.n_tokens
    assert best.log_likelihood(other) / other.n_tokens == pytest.approx(right, abs=0.01)


@pytest.mark.parametrize("decay", [0.6, 0.8])
def test_online_learning_comes_close_to_the_truth(decay):
    truth = Truth(4, 3, 12)
    forest, other = Forest.tree(truth.draw(1200)[0]), Forest.tree(truth.draw(400)[0])
    right = truth.model(forest.corpus.vocab).log_likelihood(other) / other.n_tokens
    fits = [
        HmmClasses(
            classes=3, structure="tree", init="random", seed=seed, estimator="online", passes=4, batch_tokens=130,
            decay=decay,
        ).fit(forest)
        for seed in (1, 2, 3)
    ]  # fmt: skip
    best = max(fits, key=lambda model: model.likelihood_)
    assert best.log_likelihood(other) / other.n_tokens == pytest.approx(right, abs=0.06)


def test_homonyms_are_told_apart_by_their_context():
    truth = Truth(3, 4, 24)
    (train, _), (held_out, classes) = truth.draw(2000), truth.draw(500)
    forest, other = Forest.tree(train), Forest.tree(held_out)
    oracle = truth.model(forest.corpus.vocab)
    fits = [
        HmmClasses(classes=4, structure="tree", init="random", seed=seed, passes=100, tolerance=1e-6).fit(forest)
        for seed in (1, 2, 3)
    ]
    model = max(fits, key=lambda each: each.likelihood_)
    found = model.apply(other).tokens - FIRST
    names = max(itertools.permutations(range(4)), key=lambda each: np.count_nonzero(np.array(each)[found] == classes))
    ours, right = np.array(names)[found] == classes, oracle.apply(other).tokens - FIRST == classes
    assert ours.mean() >= right.mean() - 0.01
    homonym = np.array([word == "v23" for sentence in other.corpus for word in sentence])
    majority = np.bincount(classes[homonym]).max() / homonym.sum()
    assert ours[homonym].mean() > majority + 0.02


# ---- files and commands


def test_a_model_file_gives_back_the_model(tmp_path):
    trees = bank(16, 120, relations=True)
    for model, given in (
        (HmmClasses(classes=4, min_count=2, passes=3, k_best=2), text(16)),
        (HmmClasses(classes=4, structure="tree", labelled=True, passes=3), Forest.tree(trees)),
    ):
        model.fit(given).save(tmp_path / "m")
        loaded = corpuscle.load(tmp_path / "m")
        assert type(loaded) is HmmClasses and loaded.history_ == model.history_
        assert loaded.classes_.tolist() == model.classes_.tolist() and loaded.relations_ == model.relations_
        assert loaded.log_likelihood(given) == model.log_likelihood(given)
        assert loaded.log_likelihoods(given, True)[1] == model.log_likelihoods(given, True)[1]
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_model_that_has_learned_again_forgets_what_it_had():
    model = HmmClasses(classes=3, passes=2).fit(text(1))
    model.apply(text(1)), model.shares_
    again = model.fit(text(2)).apply(text(2))
    np.testing.assert_array_equal(again.tokens, HmmClasses(classes=3, passes=2).fit(text(2)).apply(text(2)).tokens)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("first", lambda a: a - 2, "below 0"),
        ("steps", lambda a: np.concatenate([a, a]), "not one table"),
        ("emission", lambda a: a[:-1], "does not fit"),
        ("counts", lambda a: a + np.float32(1), "cannot come from learning"),
        ("history", lambda a: a[:0], "cannot come from learning"),
    ],
)
def test_hostile_files_are_refused(tmp_path, name, change, reason):
    model = HmmClasses(classes=3, passes=2).fit(text())
    part = model.part()
    part.arrays[name] = np.ascontiguousarray(change(part.arrays[name]))
    with pytest.raises((InputError, ValueError), match=reason):
        corpuscle.model.save(tmp_path / "m", part)
        corpuscle.load(tmp_path / "m")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hmm")
    (folder / "text").write_text("".join(" ".join(words) + "\n" for words in text(17, 300)))
    trees = bank(17, 80)
    write_conllu(trees.select(trees.corpus.lengths > 0), folder / "bank.conllu")
    more = ["--classes", "4", "--passes", "3", "--init", "random", "--quiet"]
    for name, source, options in ("chain", "text", []), ("tree", "bank.conllu", ["--structure", "tree"]):
        line = ["classes", "train", str(folder / source), "-o", str(folder / name), "--method", "hmm", *more, *options]
        assert main(line) == 0
    return folder


def test_train_and_show_speak_json(trained, tmp_path, capsys):
    line = ["classes", "train", f"{trained}/text", "-o", f"{tmp_path}/m", "--method", "hmm", "--classes", "4"]
    assert main([*line, "--passes", "3", "--init", "random", "--workers", "2", "--json"]) == 0
    schema = {
        "method": str, "classes": int, "words": int, "types": int, "passes": int, "mutual_information": float,
        "log_likelihood": float, "log_likelihood_per_word": float, "seconds": float, "model": str,
    }  # fmt: skip
    figures = last_line_conforms(capsys.readouterr().out, schema)
    assert figures["passes"] == 3 and (tmp_path / "m").read_bytes() == (trained / "chain").read_bytes()
    for by in "count", "emission", "share", "lift":
        assert main(["classes", "show", f"{trained}/chain", "--by", by, "-k", "3", "--json"]) == 0
        words = {"class": int, "path": None, "count": int, "words": [{"word": str, by: float}]}
        shown = last_line_conforms(
            capsys.readouterr().out, {"method": str, "mutual_information": float, "classes": [words]}
        )
        values = [word[by] for word in shown["classes"][1]["words"]]
        assert values == sorted(values, reverse=True) and len(values) == 3


def test_show_says_which_classes_a_word_has(trained, capsys):
    model = corpuscle.load(trained / "chain")
    assert main(["classes", "show", f"{trained}/chain", "--word", "w1", "-k", "4", "--json"]) == 0
    schema = {"word": str, "known": bool, "count": int, "classes": [{"class": int, "share": FRACTION, "words": [str]}]}
    shown = last_line_conforms(capsys.readouterr().out, schema)
    assert shown["count"] == model.vocab_.counts[model.vocab_.id("w1")] and shown["known"]
    assert [(row["class"], row["share"]) for row in shown["classes"]] == [
        each for each in model.classes_of("w1") if each[1] >= 0.01
    ]
    assert main(["classes", "show", f"{trained}/chain", "--word", "nothing"]) == 0
    assert "nothing: an unknown word" in capsys.readouterr().out


def test_evaluate_speaks_json(trained, tmp_path, capsys):
    (tmp_path / "new").write_text("w1 w2 zzz\nw0\n")
    assert main(["classes", "evaluate", f"{trained}/chain", f"{tmp_path}/new", "--json"]) == 0
    schema = {
        "log_likelihood": float, "low": float, "high": float, "deviation": float, "perplexity": float, "tokens": int,
        "oov": int, "projected": float, "support": float, "signature": str, "overlap_training": FRACTION,
        "overlap_tuning": FRACTION,
    }  # fmt: skip
    figures = last_line_conforms(capsys.readouterr().out, schema)
    model = corpuscle.load(trained / "chain")
    by_hand = model.log_likelihood(Corpus.from_sentences([["w1", "w2", "zzz"], ["w0"]])) / 3
    assert figures["log_likelihood"] == pytest.approx(by_hand) and figures["tokens"] == 3 and figures["oov"] == 1
    assert figures["support"] == 4.0 and figures["projected"] == figures["log_likelihood"]
    assert main(["classes", "evaluate", f"{trained}/tree", f"{trained}/bank.conllu", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["overlap_training"] == 1.0 and "warning: 100 % of these" in output.err


def test_apply_writes_classes_and_posteriors(trained, tmp_path, capsys):
    (tmp_path / "new").write_text("w1 w2 w3\n\nw0\n")
    out = tmp_path / "p.npy"
    assert main(["classes", "apply", f"{trained}/chain", f"{tmp_path}/new", "--posteriors", str(out)]) == 0
    model, new = corpuscle.load(trained / "chain"), Corpus.from_sentences([["w1", "w2", "w3"], [], ["w0"]])
    assert capsys.readouterr().out.split("\n")[:3] == [" ".join(words) for words in model.apply(new)]
    np.testing.assert_array_equal(np.load(out), np.concatenate(list(model.posteriors(new))))


def test_apply_writes_classes_into_treebanks(trained, tmp_path, capsys):
    source, posteriors, out = trained / "bank.conllu", tmp_path / "p.npy", tmp_path / "out.conllu"
    for name in "tree", "chain":
        line = ["classes", "apply", f"{trained}/{name}", str(source), "-o", str(out), "--posteriors", str(posteriors)]
        assert main(line) == 0
        model, trees = corpuscle.load(trained / name), read_conllu(source)
        forest = Forest.tree(trees) if name == "tree" else Forest.chain(trees.corpus)
        written = read_conllu(out)
        assert written.misc.strings() == [f"Class={id - FIRST}" for id in model.apply(forest).tokens.tolist()]
        np.testing.assert_array_equal(written.heads, trees.heads)
        np.testing.assert_array_equal(np.load(posteriors), np.concatenate(list(model.posteriors(forest))))
    assert main(["classes", "apply", f"{trained}/tree", str(source), "--raw"]) == 2
    assert "--raw means nothing" in capsys.readouterr().err


def test_hard_classes_have_neither_posteriors_nor_likelihoods(trained, tmp_path, capsys):
    hard, source = str(tmp_path / "m"), f"{trained}/text"
    assert main(["classes", "train", source, "-o", hard, "--classes", "3", "--quiet"]) == 0
    for line, reason in (
        (["apply", hard, source, "--posteriors", f"{tmp_path}/p.npy"], "no posteriors"),
        (["evaluate", hard, source], "a model of kind words.exchange, where words.hmm is needed"),
        (["show", hard, "--by", "lift"], "by count where one each"),
        (["coarsen", f"{trained}/chain", "-o", f"{tmp_path}/c", "--classes", "2"], "no class tree"),
        (["export", f"{trained}/chain", "--format", "paths"], "no class tree"),
    ):
        capsys.readouterr()
        assert main(["classes", *line]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and reason in error and error.count("\n") == 1
    assert not (tmp_path / "p.npy").exists()
    assert main(["classes", "show", hard, "--word", "w1"]) == 0
    assert "100.0 %" in capsys.readouterr().out


CIRCLE = "1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n2\tb\t_\t_\t_\t_\t1\tx\t_\t_\n\n"


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        ("a b\n", ["--classes", "0"], "classes is a whole number from 1 to 10,000; not 0"),
        ("a b\n", ["--decay", "0.4"], "decay is a number from 0.5 to 1.0; not 0.4"),
        ("a b\n", ["--decay", "1.1"], "decay is a number from 0.5 to 1.0; not 1.1"),
        ("a b\n", ["--structure", "tree"], "trees are needed"),
        ("a b\n", ["--labelled"], "labelled means nothing for chains"),
        ("a b\n", ["--classes", "6", "--split", "4"], "4 classes, doubled, never are 6"),
        ("a b\n", ["--classes", "3"], "3 classes are too many for 2 different words"),
        ("a b\n", ["--max-length", "1", "--classes", "1"], "no words to learn classes from"),
        ("a b\n", ["--init", "magic"], "init is one of exchange, brown, random; not 'magic'"),
        ("a b\n", ["--start", "cyclic"], "--start means nothing with --method hmm"),
        ("\n", ["--classes", "1"], "an empty text"),
        (CIRCLE, ["--structure", "tree", "--classes", "1"], "bad.conllu:"),
        (CIRCLE.replace("\t1\tx", "\t9\tx"), ["--structure", "tree", "--classes", "1"], "bad.conllu:2: "),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(tmp_path, capsys, content, options, reason):
    source = tmp_path / ("bad.conllu" if "\t" in content else "text")
    source.write_text(content)
    line = ["classes", "train", str(source), "-o", str(tmp_path / "m"), "--method", "hmm", *options]
    assert main(line) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and reason in error and error.count("\n") == 1, error
    assert not (tmp_path / "m").exists()


def test_models_of_trees_refuse_running_text(trained, tmp_path, capsys):
    assert main(["classes", "apply", f"{trained}/tree", f"{trained}/text"]) == 2
    assert "trees are needed" in capsys.readouterr().err
    model = corpuscle.load(trained / "tree")
    with pytest.raises(SettingError, match="trees are needed"):
        model.apply(text())
    labelled = HmmClasses(classes=2, structure="tree", labelled=True, passes=1)
    forest = Forest.tree(bank(1, 90, relations=True))
    labelled.fit(forest)
    with pytest.raises(SettingError, match="transitions by relations"):
        labelled.apply(Forest(forest.corpus, forest.parents))
    with pytest.raises(SettingError, match="relations have names"):
        labelled.fit(Forest(forest.corpus, forest.parents))


def test_nearest_classes_share_words():
    model = HmmClasses(classes=4, passes=4).fit(text(18, 200))
    near = model.nearest(1, 3)
    roots = np.sqrt(model.emission_.astype(np.float64))
    assert near[0][1] == pytest.approx(max(roots[:, 1] @ roots[:, other] for other in (0, 2, 3)))
    assert [other for other, _ in near] != [] and 1 not in [other for other, _ in near]
    with pytest.raises(SettingError, match="there is no class 4"):
        model.nearest(4)
