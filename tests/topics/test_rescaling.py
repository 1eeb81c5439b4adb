"""Unigram rescaling against its formula, its special cases, and files that were damaged or left unfinished."""

import numpy as np
import pytest

import corpuscle
from corpuscle.engine.restaurants import gibbs
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.text import Corpus
from corpuscle.text.vocab import END, START
from corpuscle.topics import DocumentReader, base
from corpuscle.topics.kernels.particles import Likelihoods, Reader
from corpuscle.topics.rescaling import RescalingModel
from tests.hostile import survives_hostile_edits

SMALL = {"topics": 3, "sweeps": 20, "word_sweeps": 6, "samples": 2, "min_count": 1}


def documents(seed=1, n=30, sentences=5, length=8, topics=3, types=24):
    """Documents of one topic each: words of the topic, and common ones."""
    random = np.random.default_rng(seed)
    lines = []
    for d in range(n):
        own = np.arange(types) % (topics + 1) == d % topics
        weights = np.where(own, 4.0, 0.1) + (np.arange(types) % (topics + 1) == topics)
        for _ in range(sentences):
            lines.append([f"w{w}" for w in random.choice(types, length, p=weights / weights.sum())])
    return Corpus.from_sentences(lines).with_documents(np.arange(n + 1) * sentences)


def trained(corpus=None, **settings):
    return RescalingModel(**(SMALL | settings)).fit(documents() if corpus is None else corpus)


def word_probabilities(model, corpus):
    """P(w | h) of the language model alone, (n_tokens,), by its own look-up."""
    corpus = corpus.recode(model.vocab_)
    events = model.words_.events(corpus)
    symbols = model.words_._symbols(corpus)
    return np.exp(events.log_probability[symbols[symbols != START] != END])


def distributions(model, corpus, i, **settings):
    """What the model says about every word in the place of word i of a one-document corpus, (types,)."""
    said = []
    for word in [0, *range(3, len(model.vocab_))]:
        tokens = corpus.recode(model.vocab_).tokens.copy()
        tokens[i] = word
        changed = Corpus(tokens, corpus.sentence_starts, model.vocab_)
        said.append(model.log_probabilities(changed, **settings)[i])
    return np.exp(said)


def test_probabilities_sum_to_one_wherever_the_document_stands():
    model, other = trained(order=3), documents(seed=2, n=1)
    for i in (0, 1, 7, 8, 20, 33):
        assert distributions(model, other, i, every=1).sum() == pytest.approx(1, abs=1e-10)


def test_probabilities_are_the_formula():
    model, other = trained(order=2), documents(seed=2, n=1).recode(documents().vocab)
    said = model.log_probabilities(other, every=1)
    reader = Reader(model.alpha_, every=1)
    phi = (model.types_ + model.prior) / (model.types_ + model.prior).sum(0)
    common = phi @ model.alpha_ / model.alpha_.sum()
    rows = np.maximum(0, other.recode(model.vocab_).tokens - 2)
    for i in range(other.n_tokens):
        sentence, place = divmod(i, 8)
        context = ["<s>", *other.words(sentence)[:place]]
        words = model.words_.distribution(context)
        words = np.delete(words, [START, END])
        bent = ((phi @ reader.mixture) / common) ** 0.7 * words
        assert said[i] == pytest.approx(np.log(bent[rows[i]] / bent.sum()), abs=1e-9)
        reader.read(Likelihoods(phi[rows[i : i + 1]], np.zeros(1), np.ones(1)))


def test_exponent_zero_is_the_language_model_and_so_is_the_first_word_of_a_document():
    model, other = trained(order=3), documents(seed=2, n=4)
    plain = word_probabilities(model, other)
    first = np.arange(0, other.n_tokens, 40)
    np.testing.assert_allclose(np.exp(model.log_probabilities(other))[first], plain[first], rtol=1e-10)
    straight = trained(exponent=0.0)
    np.testing.assert_allclose(np.exp(straight.log_probabilities(other)), plain, rtol=1e-10)


def test_nobody_predicts_the_ends_of_sentences():
    corpus = documents()
    model = trained(corpus, order=3, word_sweeps=4, samples=1).words_
    ngrams = model.ngrams_
    direct = gibbs.direct_counts(ngrams, START)
    assert direct.sum() == corpus.n_tokens and (direct[ngrams.words == END] == 0).all()
    assert (model.samples_[0]["tables"][ngrams.words == END] == 0).all()
    distribution = model.distribution(["<s>", "w1"])
    assert distribution[END] == 0 and distribution.sum() == pytest.approx(1, abs=1e-12)


def test_topics_help_on_documents_that_have_them():
    model, other = trained(sweeps=40), documents(seed=2, n=6)
    assert model.log_probabilities(other).mean() > np.log(word_probabilities(model, other)).mean() + 0.05


def test_perplexity_is_of_words_with_an_interval_over_documents():
    model, other = trained(), documents(seed=2, n=4)
    figures = model.perplexity(other, draws=50, particles=3)
    expected = np.exp(-model.log_probabilities(other, particles=3).mean())
    assert figures["perplexity"] == pytest.approx(expected, rel=1e-12)
    assert (figures["tokens"], figures["oov"]) == (160, 0) and figures["low"] < expected < figures["high"]
    assert "bootstrap of documents" in str(figures.signature)


def test_a_model_file_gives_back_the_model_and_the_same_seed_the_same_bytes(tmp_path):
    model, other = trained(), documents(seed=2, n=4)
    model.save(tmp_path / "a")
    trained(workers=3).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded = corpuscle.load(tmp_path / "a")
    loaded.workers, again = 1, corpuscle.load(tmp_path / "a")
    again.workers = 3
    one, many = (each.log_probabilities(other) for each in (loaded, again))
    np.testing.assert_array_equal(one, model.log_probabilities(other))
    np.testing.assert_array_equal(one, many)
    loaded.save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


class StopAt(Checkpoint):
    """A checkpoint at which the user presses Ctrl-C at the given call."""

    calls = 0
    stop_at = 0

    def after(self, *args, **named):
        self.calls += 1
        self._stop.requested = self.calls == self.stop_at
        super().after(*args, **named)


def stopped(corpus, path, monkeypatch, stop_at):
    monkeypatch.setattr(base, "Checkpoint", StopAt)
    learner = RescalingModel(**SMALL)
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = stop_at
        learner.fit(corpus, checkpoint=checkpoint)
    monkeypatch.setattr(base, "Checkpoint", Checkpoint)


def resumed(corpus, path):
    again = RescalingModel(**SMALL)
    with again.checkpoint(corpus, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)


@pytest.mark.parametrize("stop_at", [1, 11, 42, 43, 50])
def test_an_interrupted_run_resumes_to_the_identical_bytes(tmp_path, monkeypatch, stop_at):
    corpus, path = documents(), tmp_path / "m"
    trained(corpus).save(tmp_path / "whole")
    stopped(corpus, path, monkeypatch, stop_at)
    with pytest.raises(InputError, match="other data"):
        RescalingModel(**SMALL).checkpoint(corpus.with_documents([0, len(corpus)]), path, resume=True)
    with pytest.raises(InputError, match="lowercase was False and is True now"):
        RescalingModel(**SMALL, lowercase=True).checkpoint(corpus, path, resume=True)
    resumed(corpus, path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.partial").exists()


@pytest.mark.parametrize("stop_at", [9, 48])
def test_damaged_partial_files_are_refused_or_harmless(tmp_path, monkeypatch, stop_at):
    corpus = documents(n=6)
    stopped(corpus, tmp_path / "m", monkeypatch, stop_at)

    def resume(partial):
        (tmp_path / "x.partial").write_bytes(partial.read_bytes())
        resumed(corpus, tmp_path / "x")

    assert survives_hostile_edits(tmp_path / "m.partial", resume, edits=60) > 10


@pytest.mark.filterwarnings("ignore")
def test_damaged_models_are_refused_or_harmless(tmp_path):
    trained(documents(n=6)).save(tmp_path / "m")
    other = documents(seed=3, n=1)

    def use(path):
        with np.errstate(all="ignore"):
            corpuscle.load(path).log_probabilities(other)

    assert survives_hostile_edits(tmp_path / "m", use, edits=100) > 20


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"topics": 0}, "topics is a whole number from 1"),
        ({"order": 0}, "order is a whole number from 1"),
        ({"sweeps": 0}, "sweeps is a whole number from 1"),
        ({"exponent": -1}, "exponent is a number from 0.0"),
        ({"exponent": float("nan")}, "exponent is a number from 0.0"),
        ({"prior": 0.0}, "prior is a number from 1e-09"),
        ({"min_count": 0}, "min_count is a whole number from 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        RescalingModel(**settings)


def test_what_is_given_is_saved_as_given_in_the_language_model_too(tmp_path):
    trained(documents(n=6), digits=True).save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert {name for name, origin in loaded.origins.items() if origin == "given"} == {*SMALL, "digits"}
    assert loaded.words_.digits and (loaded.words_.sweeps, loaded.words_.samples) == (6, 2)


def test_a_second_fit_forgets_the_first():
    model, other = trained(documents(n=8)), documents(seed=4, n=6)
    again = model.fit(other).log_probabilities(other)
    np.testing.assert_array_equal(again, trained(other).log_probabilities(other))


def test_texts_too_small_for_topics_are_an_error():
    with pytest.raises(InputError, match="no document has two words"):
        trained(Corpus.from_sentences([["a"], ["b"]]).with_documents([0, 1, 2]))
    same = Corpus.from_sentences([["a", "a"], ["a", "a", "a"]]).with_documents([0, 1, 2])
    with pytest.raises(InputError, match="fewer than two different words occur 1 times"):
        trained(same)
    rare = Corpus.from_sentences([["a", "b"], ["c", "d"]]).with_documents([0, 1, 2])
    with pytest.raises(InputError, match="fewer than two different words occur 2 times"):
        trained(rare, min_count=2)


def test_every_sweep_of_the_topics_is_logged():
    logged = []
    model = RescalingModel(**SMALL).fit(documents(), log=lambda sweep, value: logged.append((sweep, value)))
    assert logged == list(enumerate(model.history_.tolist())) and len(logged) == SMALL["sweeps"] + 1


def test_it_cannot_be_read_along():
    with pytest.raises(SettingError, match="reading along needs a model of the method hpylm, hpytm"):
        DocumentReader(RescalingModel())
