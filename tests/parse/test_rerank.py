"""The re-ranker: what it chooses by, what it learns, what it refuses."""

from __future__ import annotations

import os

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.parse import MstParser, Reranker
from corpuscle.parse import lists as weights_of_lists
from corpuscle.parse import rerank as module
from corpuscle.parse.kernels.reranking import MOST_CHILDREN, choice_loss
from corpuscle.parse.lists import (
    Judged,
    best_trees_of,
    heads_of,
    joined,
    listed,
    right_heads,
    scores_of,
    standardised,
    valence_logs,
)
from corpuscle.samples import generate
from corpuscle.text import read_conllu, write_conllu
from corpuscle.text.treebank import Treebank
from corpuscle.words import OsccaVectors, PpmiVectors
from tests.hostile import survives_hostile_edits
from tests.lm.test_pitman_yor import StopAt
from tests.schemas import last_line_conforms

SMALL = {"hash_bits": 14, "relation_bits": 10, "passes": 2}
QUICK = {"nbest": 6, "passes": 3, "hash_bits": 12, "states": 3, "polish": 3}

RERANK = {
    "sentences": int, "words": int, "trees": int, "uas_lists": float, "oracle_lists": float, "estimator": str,
    "rank": int, "triples": int, "not_positive": int, "tuned": [str], "passes": int, "base_weight": float,
    "number_weights": [float], "seconds": float, "uas_dev": float,
}  # fmt: skip
PROBABILITY = {
    "sentences": int, "tokens": int, "logp": float, "not_positive": int,
    "trees": [{"sentence": int, "words": int, "logp": float, "positive": bool}],
}  # fmt: skip


@pytest.fixture(scope="module")
def bank():
    return generate(seed=1, sentences=260).treebank()[:250]


@pytest.fixture(scope="module")
def parser(bank):
    return MstParser(**SMALL).fit(bank[:150])


@pytest.fixture(scope="module")
def ranker(bank, parser):
    return Reranker(**QUICK).fit(bank[:150], parser, bank[150:200])


def test_with_the_parsers_score_alone_the_parsers_tree_is_best(bank, parser):
    ranker = Reranker(features=("base",), **QUICK).fit(bank[:150], parser)
    np.testing.assert_array_equal(ranker.parse(bank[200:]).heads, parser.parse(bank[200:]).heads)


def test_the_best_tree_of_a_list_is_at_least_as_right_as_the_chosen_one(bank, ranker):
    lists, scores = ranker.ranked(bank[:150])
    right = right_heads(lists, bank[:150].heads)
    chosen, oracle, first = best_trees_of(lists, scores), best_trees_of(lists, right), lists.firsts[:-1]
    assert (right[oracle] >= right[chosen]).all() and right[oracle].sum() > right[first].sum()
    assert (heads_of(lists, chosen) == bank[:150].heads).sum() == right[chosen].sum()


def test_lists_to_learn_from_come_from_parsers_that_have_not_seen_them(ranker, bank):
    lists, _ = ranker.ranked(bank[:150])
    seen = right_heads(lists, bank[:150].heads)[lists.firsts[:-1]].sum() / bank[:150].corpus.n_tokens
    assert ranker.provenance_["uas_lists"] < seen
    assert ranker.provenance_["oracle_lists"] > ranker.provenance_["uas_lists"]


def test_scores_are_weighted_sums_of_features_and_numbers(bank, ranker):
    some = bank[200:203]
    lists, scores = ranker.ranked(some)
    numbers = standardised(lists, ranker.deviations_)[0].numbers
    no_tags = Reranker(features=("base", "logp"), **QUICK).fit(bank[:60], ranker.parser_)
    there, plain = no_tags.ranked(some)
    own = standardised(there, no_tags.deviations_)[0].numbers
    np.testing.assert_allclose(plain, own @ no_tags.number_weights_, rtol=1e-9)
    assert not np.allclose(scores, numbers @ ranker.number_weights_)  # tags count, too


def test_the_loss_of_lists_is_how_unlikely_their_best_trees_are(bank, ranker):
    lists, _ = ranker.ranked(bank[:4])
    lists = standardised(lists, ranker.deviations_)[0]
    judged = Judged(lists, right_heads(lists, bank[:4].heads))
    apart = weights_of_lists._differences(ranker, lists)
    weights = np.random.default_rng(1).normal(size=(1 << ranker.hash_bits) + lists.numbers.shape[1])
    best = np.concatenate([of == of.max() for of in np.split(judged.right, lists.firsts[1:-1])])

    def loss(weights):
        scores = np.split(scores_of(lists, weights_of_lists.ranking_of(ranker, weights)), lists.firsts[1:-1])
        mass = [np.exp(of).sum() for of in scores]
        right = [np.exp(of[good]).sum() for of, good in zip(scores, np.split(best, lists.firsts[1:-1]), strict=True)]
        return -np.log(np.array(right) / np.array(mass)).sum()

    gradient = np.zeros_like(weights)
    assert choice_loss(lists, best, apart, weights, np.empty(50), gradient) == pytest.approx(loss(weights), rel=1e-9)
    assert np.count_nonzero(gradient) > 20
    for place in [*np.argsort(-np.abs(gradient))[:10], len(weights) - 2, len(weights) - 1]:
        step = np.zeros_like(weights)
        step[place] = 1e-5
        assert gradient[place] == pytest.approx(
            (loss(weights + step) - loss(weights - step)) / 2e-5, rel=1e-4, abs=1e-6
        )


def test_what_is_open_is_chosen_by_held_out_lists(bank, parser, ranker):
    perceptron = Reranker(learner="perceptron", **QUICK).fit(bank[:100], parser)
    assert perceptron.history_.shape == (4, 3) and set(perceptron.chosen_) == {"base_weight", "passes"}
    value, number = np.unravel_index(perceptron.history_.argmax(), (4, 3))
    assert perceptron.chosen_ == {"base_weight": weights_of_lists.BASE_WEIGHTS[value], "passes": number + 1}
    assert perceptron.number_weights_[0] == perceptron.chosen_["base_weight"]
    assert ranker.history_.shape == (4, 1) and set(ranker.chosen_) == {"variance"}
    given = Reranker(variance=0.5, base_weight=2.0, **QUICK).fit(bank[:100], parser)
    assert not given.chosen_ and given.number_weights_[0] == 2.0


def test_numbers_of_children_are_probabilities(bank):
    logs = valence_logs(bank, bank.tags.ids, len(bank.tags.vocab))
    np.testing.assert_allclose(np.exp(logs).sum(axis=-1), 1.0)
    assert logs.shape[1:] == (2, MOST_CHILDREN + 1, 2)
    two = Treebank.from_sentences([["a", "b", "c"]], heads=[[2, 0, 2]], tags=[["X", "Y", "X"]])
    found = np.exp(valence_logs(two, np.array([0, 1, 0], np.int32), 2))
    # Tag Y once has a child to the left: one count, smoothed by the share of all words, (1 + 0.5) / (3 + 1).
    assert found[1, 0, 0, 1] == pytest.approx((1 + 1.5 / 4) / 2)


def test_structure_and_tags_as_observations_can_be_used(bank, parser):
    for settings in ({"observe": "tags"}, {"observe": "both", "projection": "svd"}, {"recover": False}):
        ranker = Reranker(features=("base", "tags", "logp", "structure"), **settings, **QUICK).fit(bank[:100], parser)
        assert len(ranker.number_weights_) == 3
        ranker.annotate(bank[200:210]).check_trees(single_root=True)


def test_vectors_of_every_kind_serve(bank, parser):
    corpus = bank[:150].corpus
    oscca = OsccaVectors(dimensions=4, min_count=2, rare="signature").fit(corpus)
    ppmi = PpmiVectors(dimensions=4, min_count=2).fit(corpus)
    for vectors, way in ((oscca, "duals"), (ppmi, "operators"), ((ppmi.vocab_, ppmi.vectors_), "operators")):
        ranker = Reranker(**QUICK).fit(bank[:100], parser, vectors=vectors)
        assert len(getattr(ranker.latent_.model, way)) == len(ranker.latent_.words)
        assert np.isfinite(ranker.probability(bank[200:]).logs).all()
    with pytest.raises(SettingError, match="4 dimensions are too few for 9 states"):
        Reranker(**{**QUICK, "states": 9}).fit(bank[:100], parser, vectors=(ppmi.vocab_, ppmi.vectors_))


def test_trees_of_one_sentence_are_compared_and_unknown_words_have_a_probability(bank, ranker):
    some = bank[200:230]
    found = ranker.probability(some)
    assert len(found.logs) == 30 and (found.logs[found.known] < 0).all()
    assert (found.logs[~found.known] == ranker.latent_.floor).all()
    new = Treebank.from_sentences([["Zzyzx-3", "qq"]], heads=[[2, 0]], tags=[["NOUN", "VERB"]])
    assert np.isfinite(ranker.probability(new).logs).all()


def test_empty_sentences_pass(ranker, bank):
    mixed = Treebank.from_sentences([[], ["a"], []], heads=[[], [0], []], tags=[[], ["NOUN"], []])
    assert ranker.annotate(mixed).heads.tolist() == [0]
    assert len(ranker.best_trees(mixed, 3)) == 3


def test_the_number_of_workers_changes_nothing_and_files_come_back(bank, parser, ranker, tmp_path):
    ranker.save(tmp_path / "a")
    Reranker(workers=1, **QUICK).fit(bank[:150], parser, bank[150:200]).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = corpuscle.load(tmp_path / "a")
    np.testing.assert_array_equal(again.parse(bank[200:]).heads, ranker.parse(bank[200:]).heads)
    np.testing.assert_array_equal(again.probability(bank[200:]).logs, ranker.probability(bank[200:]).logs)


@pytest.mark.parametrize("stop_at", [3, 9, 22])  # in the first fold, in a later one, while lists are learned from
def test_stopped_learning_goes_on_to_the_same_bytes(bank, parser, tmp_path, monkeypatch, stop_at):
    monkeypatch.setattr(module, "Checkpoint", StopAt)
    some, dev, path = bank[:80], bank[150:170], tmp_path / "m"
    Reranker(**QUICK).fit(some, parser, dev).save(tmp_path / "whole")
    ranker = Reranker(**QUICK)
    with pytest.raises(Interrupted), ranker.checkpoint(some, path) as checkpoint:
        checkpoint.stop_at = stop_at
        ranker.fit(some, parser, dev, checkpoint=checkpoint)
    with ranker.checkpoint(some, path, resume=True) as checkpoint:
        ranker.fit(some, parser, dev, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes() and not (tmp_path / "m.partial").exists()


def test_hostile_files_are_refused(ranker, bank, tmp_path):
    ranker.save(tmp_path / "model")

    def use(path):
        loaded = corpuscle.load(path)
        loaded.annotate(bank[200:203])
        loaded.probability(bank[200:203])

    assert survives_hostile_edits(tmp_path / "model", use, edits=60) > 15


def test_what_cannot_be_is_one_clear_error(bank, parser):
    with pytest.raises(SettingError, match="means nothing without base"):
        Reranker(features=("tags",), base_weight=2.0)
    with pytest.raises(SettingError, match="means nothing with learner perceptron"):
        Reranker(learner="perceptron", variance=2.0)
    with pytest.raises(SettingError, match="only tags are observed"):
        Reranker(observe="tags", **QUICK).fit(bank[:20], parser, vectors=(bank.corpus.vocab, np.ones((9, 9))))
    with pytest.raises(SettingError, match="folds are too many"):
        Reranker(folds=5).fit(bank[:3], parser)
    with pytest.raises(InputError, match="empty"):
        Reranker().fit(bank[:0], parser)
    flat = Treebank.from_sentences([["a", "b"]] * 6, heads=[[0, 1]] * 6, tags=[["A", "B"]] * 6)
    flat_parser = MstParser(**SMALL).fit(flat)
    for estimator, reason in (("pairs", "children on both sides"), ("chain", "both a child and a head")):
        with pytest.raises(SettingError, match=reason):
            Reranker(estimator=estimator, stops=False, **QUICK).fit(flat, flat_parser)
    crossing = MstParser(order=2, decode="nonprojective", **SMALL).fit(bank[:30])
    with pytest.raises(SettingError, match="in order 1 only"):
        Reranker(**QUICK).fit(bank[:30], crossing)


def test_lists_are_joined_in_order(bank):
    one = listed(bank[:2], bank[:2].tags.ids, np.array([1, 1]), bank[:2].heads, np.array([[1.0], [2.0]]))
    two = listed(bank[2:3], bank[2:3].tags.ids, np.array([1]), bank[2:3].heads, np.array([[3.0]]))
    both = joined([one, two])
    assert (right_heads(both, bank[:3].heads) == bank[:3].corpus.lengths).all()
    assert both.numbers.ravel().tolist() == [1.0, 2.0, 3.0]


def test_the_command_line_goes_all_the_way(bank, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_conllu(bank[:120], "train.conllu")
    write_conllu(bank[200:220], "dev.conllu")
    main(["parse", "train", "train.conllu", "-o", "base", "--passes", "2", "--hash-bits", "14", "-q"])
    capsys.readouterr()
    main(["parse", "rerank", "train.conllu", "--parser", "base", "--dev", "dev.conllu", "-o", "r", "--nbest", "5",
          "--passes", "2", "--states", "3", "--json"])  # fmt: skip
    figures = last_line_conforms(capsys.readouterr().out, RERANK)
    assert figures["tuned"] == ["variance"] and figures["uas_dev"] > 0.8
    main(["parse", "apply", "r", "dev.conllu", "-o", "out.conllu"])
    read_conllu("out.conllu").check_trees(single_root=True)
    main(["parse", "apply", "r", "dev.conllu", "--nbest", "2"])
    assert capsys.readouterr().out.count("# logp = ") > 20
    main(["parse", "probability", "r", "out.conllu", "--json"])
    found = last_line_conforms(capsys.readouterr().out, PROBABILITY)
    assert len(found["trees"]) == 20
    for arguments, reason in (
        (["parse", "probability", "base", "dev.conllu"], "parse.rerank is needed"),
        (["parse", "rerank", "train.conllu", "--parser", "r", "-o", "x"], "parse.mst is needed"),
        (["parse", "apply", "r", "dev.conllu", "--confidence"], "how likely arcs are"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert reason in said and said.count("\n") == 1
    assert not os.path.exists("x")
