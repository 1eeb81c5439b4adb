"""Hidden Markov language models: ``HmmModel`` and ``corpuscle lm train --method hmm``."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import corpuscle
from bench.lm_truth import Truth
from corpuscle.cli.main import main
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.lm import HmmModel, Mixture, NgramModel, base, compare
from corpuscle.lm.settings import ESTIMATORS
from corpuscle.text import Corpus
from corpuscle.text.vocab import END, START, UNKNOWN
from tests.hostile import survives_hostile_edits
from tests.lm.test_pitman_yor import StopAt


def settings_of(estimator: str, **more):
    """Quick settings of an estimator for small texts, in which all words have symbols of their own."""
    quick = {"passes": 30} if "em" in estimator else {}
    plain = {} if estimator == "em" else {"kappa": 0.0}
    return {"estimator": estimator, "states": 3, "min_count": 1, "pool": 1, **quick, **plain, **more}


@cache
def texts(seed: int = 1, sentences: int = 4000) -> tuple[Truth, Corpus, Corpus]:
    truth = Truth(seed, k=3, n=10, stop=0.1, evenness=0.3)
    return truth, truth.corpus(sentences), truth.corpus(1500)


def trained(estimator: str, **more) -> HmmModel:
    return HmmModel(**settings_of(estimator, **more)).fit(texts()[1])


# ---- probabilities


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("pool", [1, 1500])
def test_distributions_sum_to_one_and_are_what_events_say(estimator, pool):
    model = trained(estimator, pool=pool, states=3 if pool == 1 else 2)
    assert (len(model.unigram_) < len(model.vocab_)) == (pool > 1)
    for words in ["a", "b", "zz", "j", "a"], ["zz"], []:
        events = model.events(Corpus.from_sentences([words]))
        for at, word in enumerate([*words, "</s>"]):
            distribution = model.distribution(["<s>", *words[:at]])
            assert distribution.sum() == pytest.approx(1.0, abs=1e-9) and (np.delete(distribution, START) > 0).all()
            id = END if word == "</s>" else model.vocab_.id(word)
            assert events.log_probability[at] == pytest.approx(np.log(distribution[id]), abs=1e-9)
    assert model.distribution(["a", "b"]).sum() == pytest.approx(1.0, abs=1e-9)


def test_pooled_words_have_their_relative_frequencies():
    model = trained("hkz", pool=1500, states=2)
    counts, distribution = model.vocab_.counts, model.distribution(["<s>", "a"])
    for symbol in np.unique(model.symbols_[3:]):
        members = np.flatnonzero(model.symbols_ == symbol)
        members = members[members != UNKNOWN]
        np.testing.assert_allclose(
            distribution[members] / counts[members], distribution[members[0]] / counts[members[0]]
        )


@pytest.mark.parametrize("estimator", ["em", "spectral-em"])
def test_no_pass_lowers_the_likelihood(estimator):
    model = trained(estimator, tolerance=0.0, passes=40)
    rises = np.diff(model.history_[:, 0])
    assert len(rises) > 10 and (rises > -1e-9).all() and rises.sum() > 1e-4


def test_the_likelihood_is_that_of_the_hidden_paths():
    _, corpus, _ = texts()
    model = trained("em", passes=5, unigram_share=1e-12)
    again = trained("em", passes=6, tolerance=0.0)
    logs = model.events(corpus).log_probability
    assert logs.mean() == pytest.approx(again.history_[-1, 0], abs=1e-9)
    first, steps, emission = model.parameters()
    for values in first[None].T, steps, emission:
        np.testing.assert_allclose(values.sum(axis=0), 1.0, atol=1e-12)
    assert emission[END, -1] == 1.0 and not emission[END, :-1].any() and not np.delete(emission[:, -1], END).any()


def test_one_state_is_the_unigram_model_of_words():
    model = HmmModel(**settings_of("em", states=1, unigram_share=1e-9)).fit(texts()[1])
    counts, probability = model.vocab_.counts[3:], model.distribution(["<s>", "a"])[3:]
    np.testing.assert_allclose(probability / probability.sum(), counts / counts.sum(), rtol=1e-6)


# ---- estimates


@pytest.mark.parametrize(
    "settings",
    [
        {"estimator": "em"},
        *({"estimator": name, "projection": "svd"} for name in ESTIMATORS if name != "em"),
        *({"estimator": name, "projection": "cca", "kappa": 0.0} for name in ESTIMATORS if name != "em"),
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
def test_the_error_shrinks_with_the_text(settings):
    settings = settings | ({"passes": 30} if "em" in settings["estimator"] else {})
    excess = {}
    for size in 300, 20_000:
        ratios = []
        for seed in 3, 4:
            truth = Truth(seed, k=3, n=10)
            model = HmmModel(**settings, states=3, min_count=1, pool=1, unigram_share=1e-3, least=1e-4)
            model.fit(truth.corpus(size))
            test = truth.corpus(1500)
            ratios.append(model.perplexity(test, draws=2)["perplexity"] / truth.perplexity(test) - 1)
        excess[size] = float(np.mean(ratios))
    assert excess[20_000] < 0.05 and excess[20_000] < excess[300]


def test_recovered_parameters_approach_the_truth():
    truth = Truth(3, k=3, n=10, stop=0.1, evenness=0.3)
    found = (model := HmmModel(**settings_of("hkz")).fit(truth.corpus(40_000))).parameters()
    ids = np.append(model.vocab_.encode([chr(97 + word) for word in range(10)]), END)
    distance = np.abs(found.emission[ids][:, :, None] - truth.emission[:, None, :]).sum(axis=0)
    order = distance.argmin(axis=0)
    assert sorted(order.tolist()) == [0, 1, 2, 3] and distance[order, range(4)].max() < 0.1
    assert np.abs(found.steps[np.ix_(order, order)] - truth.steps).max() < 0.1


def test_models_say_how_well_conditioned_and_how_steady_they_are():
    summary = trained("hkz", states=3).summary()
    assert summary["next_singular_value"] < summary["smallest_singular_value"] < 1
    assert summary["noise"] == pytest.approx((texts()[1].n_tokens + 4000) ** -0.5)
    assert 0 <= summary["resets"] <= summary["clipped"] + 0.01 < 0.5
    summary = trained("spectral-em").summary()
    assert 0 < summary["smallest_of_transitions"] < 1 and 0 < summary["smallest_of_emissions"] < 1
    assert summary["resets"] == 0 and summary["passes"] <= 30


def test_a_development_text_chooses_the_share_of_unigrams():
    _, corpus, dev = texts()
    free = HmmModel(**settings_of("reduced")).fit(corpus, dev)
    assert list(free.chosen_) == ["unigram_share"] and free.described()["unigram_share"][1] == "tuned"
    best = free.perplexity(dev, draws=2)["perplexity"]
    for share in free.chosen_["unigram_share"] * np.array([0.5, 2.0]):
        other = HmmModel(**settings_of("reduced", unigram_share=float(share))).fit(corpus, dev)
        assert not other.chosen_ and other.perplexity(dev, draws=2)["perplexity"] >= best - 1e-9


def test_the_likeliest_of_several_starts_is_kept():
    corpus = texts()[1][:400]
    ends = [HmmModel(**settings_of("em", passes=15, seed=seed)).fit(corpus).history_[-1, 0] for seed in (1, 2, 3)]
    assert HmmModel(**settings_of("em", passes=15, restarts=3)).fit(corpus).history_[-1, 0] == max(ends)


# ---- bad input


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"states": 0}, "states is a whole number from 1"),
        ({"estimator": "svd"}, "estimator is one of hkz, reduced, em, spectral-em"),
        ({"boundary": "none"}, "boundary is single"),
        ({"passes": 3}, "passes means nothing without"),
        ({"estimator": "em", "kappa": 3.0}, "kappa means nothing with estimator em"),
        ({"estimator": "em", "projection": "svd"}, "projection means nothing"),
        ({"projection": "svd", "kappa": 3.0}, "kappa means nothing with projection svd"),
        ({"estimator": "spectral-em", "restarts": 2}, "restarts means nothing"),
        ({"unigram_share": 0.0}, "unigram_share is a number between 0"),
        ({"least": 0.0}, "least is"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        HmmModel(**settings)


def test_more_states_than_the_text_can_tell_apart_are_an_error_that_says_how_many_there_are():
    pairs = [[a, b, c, d] for a in "abcd" for b in "efgh" for c in "abcd" for d in "efgh"]  # two kinds, in all ways
    with pytest.raises(InputError, match=r"6 states and the end need a rank of 7; that of the text is \d \(\d"):
        HmmModel(estimator="hkz", states=6, min_count=1, pool=1).fit(Corpus.from_sentences(pairs))
    with pytest.raises(InputError, match="9 states need more than 9 kinds of symbols"):
        HmmModel(estimator="hkz", states=9, min_count=1, pool=1).fit(Corpus.from_sentences([["a", "b"] * 5] * 20))
    with pytest.raises(InputError, match="empty"):
        HmmModel().fit(Corpus.from_sentences([[]]))
    few = HmmModel(estimator="reduced", states=2, min_count=1, pool=1, rank_tolerance="noise", projection="svd")
    with pytest.raises(InputError, match="a rank of 3"):
        few.fit(Corpus.from_sentences([["a"], ["b"]]))


def test_sentences_of_one_word_and_of_none_can_be_learned():
    corpus = Corpus.from_sentences([["a"], [], ["b"], ["a"], ["a", "b"]] * 5)
    for estimator in ESTIMATORS:
        model = HmmModel(**settings_of(estimator, states=1)).fit(corpus)
        assert np.isfinite(model.events(corpus).log_probability).all()


# ---- files, promises, commands


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_model_file_gives_back_the_model_and_workers_change_no_byte(tmp_path, estimator):
    model = trained(estimator, passes=3) if "em" in estimator else trained(estimator)
    model.save(tmp_path / "a")
    again = settings_of(estimator) | ({"passes": 3} if "em" in estimator else {})
    HmmModel(**again, workers=3).fit(texts()[1]).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded = corpuscle.load(tmp_path / "a")
    other = texts()[2]
    np.testing.assert_array_equal(loaded.events(other).log_probability, model.events(other).log_probability)
    loaded.save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


@pytest.mark.parametrize("estimator, more, stop_at", [("em", {"restarts": 2}, 8), ("spectral-em", {}, 3)])
def test_an_interrupted_run_resumes_to_the_identical_bytes(tmp_path, monkeypatch, estimator, more, stop_at):
    monkeypatch.setattr(base, "Checkpoint", StopAt)
    corpus, path = texts()[1][:500], tmp_path / "m"
    settings = settings_of(estimator, passes=5, tolerance=0.0, **more)
    HmmModel(**settings).fit(corpus).save(tmp_path / "whole")
    learner = HmmModel(**settings)
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = stop_at
        learner.fit(corpus, checkpoint=checkpoint)
    with learner.checkpoint(corpus, path, resume=True) as checkpoint:
        learner.fit(corpus, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes() and not (tmp_path / "m.partial").exists()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ["hkz", "reduced", "em"])
def test_damaged_models_are_refused_or_harmless(tmp_path, estimator):
    corpus = Corpus.from_sentences([["a", "b", "a", "c"], ["b", "c"], ["a"], ["c", "a", "b"]] * 3)
    HmmModel(**settings_of(estimator, states=1)).fit(corpus).save(tmp_path / "m")

    def use(path):
        with np.errstate(all="ignore"):
            loaded = corpuscle.load(path)
            loaded.perplexity(Corpus.from_sentences([["a", "b", "z"], []]), draws=2)
            loaded.next_words(["a"], 3)

    assert survives_hostile_edits(tmp_path / "m", use, edits=100) > 20


def test_it_mixes_and_compares_with_other_models(tmp_path):
    _, corpus, dev = texts()
    hidden, ngram = trained("hkz"), NgramModel(order=2, min_count=1).fit(corpus)
    mixture = Mixture([hidden, ngram]).fit(dev)
    mixture.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.distribution(["<s>", "a"]).sum() == pytest.approx(1, abs=1e-9)
    assert mixture.perplexity(dev, draws=2)["perplexity"] <= ngram.perplexity(dev, draws=2)["perplexity"] + 1e-9
    figures = [model.perplexity(dev, draws=2)["perplexity"] for model in (hidden, ngram)]
    assert compare(hidden, ngram, dev, dev).difference == pytest.approx(figures[0] - figures[1])


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hmm")
    for name, corpus in zip(("text", "test"), (texts()[1][:1500], texts()[2]), strict=True):
        (folder / name).write_text("".join(" ".join(words) + "\n" for words in corpus), "utf-8")
    return folder


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_commands(source, tmp_path, capsys, estimator):
    def run(*words):
        assert main([*map(str, words), "--quiet"]) == 0
        return capsys.readouterr().out

    model = tmp_path / "m"
    options = ["--method", "hmm", "--states", 3, "--estimator", estimator, "--min-count", 1, "--dev", source / "test"]
    figures = json.loads(run("lm", "train", source / "text", "-o", model, *options, "--json").splitlines()[-1])
    assert figures["method"] == "hmm" and figures["estimator"] == estimator and figures["states"] == 3
    assert figures["tuned"] == ["unigram_share"] and 0 <= figures["resets"] < 0.5
    assert json.loads(run("lm", "perplexity", model, source / "test", "--json").splitlines()[-1])["perplexity"] < 12
    assert run("lm", "score", model, source / "test").count("\n") == len(texts()[2]) + 1
    assert len(json.loads(run("lm", "next", model, "a b", "--json").splitlines()[-1])["next"]) == 10
    assert run("lm", "sample", model, "-n", 3).count("\n") == 3
    assert "resets" in run("info", model)


def test_complaints_of_the_command_are_one_line(source, tmp_path, capsys):
    for words, reason in (
        (["--states", "40"], "40 states need more than"),
        (["--estimator", "em", "--kappa", "1"], "kappa means nothing with estimator em"),
        (["--arpa", tmp_path / "x"], "a model of kind lm.hmm has no ARPA form"),
        (["--resume"], "nothing to resume"),
        (["--boundary", "pad"], "boundary is single"),
    ):
        given = map(str, ["lm", "train", source / "text", "-o", tmp_path / "m", "--method", "hmm", *words])
        assert main(list(given)) == 2
        error = capsys.readouterr().err.strip().splitlines()[-1]
        assert error.startswith("error: ") and reason in error
    assert not list(tmp_path.iterdir())
