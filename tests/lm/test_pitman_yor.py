"""Hierarchical Pitman-Yor language models: ``HpyModel`` and ``corpuscle lm train --method hpy``."""

import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.engine.ngrams import smoothing
from corpuscle.engine.restaurants import gibbs
from corpuscle.engine.restaurants.seating import verify
from corpuscle.errors import InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.learning import sweep as one_sweep
from corpuscle.lm import HpyModel, Mixture, NgramModel, base, read_arpa, write_arpa
from corpuscle.lm.pitman_yor import FixedSampler, VariableSampler
from corpuscle.text import Corpus
from corpuscle.text.vocab import END, START
from corpuscle.topics.kernels.seating import SEPARATE
from tests.hostile import survives_hostile_edits
from tests.schemas import last_line_conforms
from tests.topics.brute import Brute


def text(seed=1, sentences=120, types=12):
    """Sentences in which a word depends on the one before it."""
    random = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(types)]
    follow = random.dirichlet(np.full(types, 0.2), types)
    result = []
    for _ in range(sentences):
        sentence, last = [], int(random.integers(types))
        for _ in range(int(random.integers(0, 9))):
            last = int(random.choice(types, p=follow[last]))
            sentence.append(words[last])
        result.append(sentence)
    return Corpus.from_sentences(result)


SETTINGS = [
    {"order": 1},
    {"order": 2, "boundary": "none"},
    {"order": 3},
    {"order": 3, "boundary": "pad"},
    {"order": "infinite", "max_order": 5},
    {"order": "infinite", "boundary": "none"},
]


def trained(corpus=None, sweeps=6, samples=2, min_count=1, **settings):
    corpus = text() if corpus is None else corpus
    return HpyModel(sweeps=sweeps, samples=samples, min_count=min_count, **settings).fit(corpus)


# ---- distributions


@pytest.mark.parametrize("settings", SETTINGS)
def test_distributions_sum_to_one_and_are_what_events_say(settings):
    model = trained(**settings)
    begin = [] if model.boundary == "none" else ["<s>"]
    sentence = ["w1", "w3", "never", "w0", "w1", "w1", "w5", "w2"]
    logs = model.events(Corpus.from_sentences([sentence])).log_probability
    targets = sentence + ([] if model.boundary == "none" else ["</s>"])
    assert len(logs) == len(targets)
    for i, word in enumerate(targets):
        distribution = model.distribution(begin + sentence[:i])
        assert distribution.sum() == pytest.approx(1, abs=1e-12)
        assert distribution[START] == 0 and (distribution[END] > 0) == (model.boundary != "none")
        target = END if word == "</s>" else model.vocab_.id(word)
        assert np.log(distribution[target]) == pytest.approx(logs[i], abs=1e-12)


def test_one_table_an_n_gram_and_no_strength_is_interpolated_kneser_ney():
    corpus, discounts = text(), np.array([0.5, 0.6, 0.7])
    counted = NgramModel(method="kn", order=3, min_count=1, discounts=[[d] for d in discounts]).fit(corpus)
    ngrams = counted.ngrams_
    direct = gibbs.direct_counts(ngrams, START)
    tables = np.ones(len(ngrams.words), np.int32)
    tables[ngrams.words == START] = 0
    tables[: ngrams.levels[1]][ngrams.counts[: ngrams.levels[1]] == 0] = 0
    customers = gibbs.customers_of(ngrams, direct, tables)
    adjusted = smoothing.adjusted_counts(ngrams, START, keep_start=True, raw=False)
    np.testing.assert_array_equal(customers[adjusted > 0], adjusted[adjusted > 0])
    ours = gibbs.backoff_tables(ngrams, customers, tables, discounts, np.zeros(3), counted._predictable)
    known = np.isfinite(counted.tables_.log_probability) & (ngrams.words != START)
    np.testing.assert_allclose(ours.log_probability[known], counted.tables_.log_probability[known], rtol=0, atol=1e-12)


def test_a_unigram_model_without_discount_is_a_dirichlet_mean():
    corpus = Corpus.from_sentences([["a", "b", "a"], ["a"]])
    model = trained(corpus, order=1, samples=1)
    sample = model.samples_[0]
    sample["discounts"], sample["strengths"] = np.zeros(1), np.full(1, 2.5)
    probability = model.distribution(["<s>"])
    for word, count in (("a", 3), ("b", 1)):
        assert probability[model.vocab_.id(word)] == pytest.approx((count + 2.5 / 4) / (6 + 2.5), abs=1e-12)


@pytest.mark.parametrize("boundary", ["single", "pad", "none"])
def test_every_word_sits_once_at_its_longest_context(boundary):
    corpus = text()
    model = HpyModel(order=3, min_count=1, boundary=boundary)
    model.vocab_ = corpus.vocab
    sampler = FixedSampler(model._counting(corpus)(), 1.0 / model._predictable.sum(), model.seed)
    events = corpus.n_tokens + (len(corpus) if boundary != "none" else 0)
    assert sampler.direct.sum() == events
    for step in range(sampler.steps(0)):
        sampler.step(0, step)
    np.testing.assert_array_equal(verify(sampler.pool, empty=True), sampler.direct)
    for sweep in range(1, 4):
        one_sweep(sampler, sweep)
        np.testing.assert_array_equal(verify(sampler.pool, empty=True), sampler.direct)


def test_the_sweeps_of_infinite_order_keep_every_count_sound():
    corpus = text()
    model = HpyModel(order="infinite", min_count=1)
    model.vocab_ = corpus.vocab
    sampler = VariableSampler(model._symbols(corpus), model.order_ - 1, 1.0 / model._predictable.sum(), model.seed)
    for sweep in range(4):
        one_sweep(sampler, sweep)
        assert verify(sampler.pool, variable=True).sum() == corpus.n_tokens + len(corpus)


@pytest.mark.parametrize("deepest", [0, 1, 2])
def test_the_joint_probability_of_infinite_order_is_that_of_all_its_choices(deepest):
    symbols, found = np.array([START, 3, 4, END], np.int32), {}
    for seed in range(300):
        sampler = VariableSampler(symbols, deepest, 0.25, seed)
        sampler.pool.discounts[:], sampler.pool.strengths[:] = 0.3, 0.6
        sampler.step(0, 0)
        found[tuple(sampler.text.depths[1:].tolist())] = np.exp(sampler.log_joint())
    brute, words = Brute(SEPARATE, 4, [0.3] * 3, [0.6] * 3), (3, 4, END)
    contexts = [tuple(symbols[max(0, i - deepest) : i].tolist()) for i in (1, 2, 3)]
    for depths, joint in found.items():  # every word is another one, so there is but one seating
        used = [(1, h[len(h) - depth :], w) for h, depth, w in zip(contexts, depths, words, strict=True)]
        assert joint == pytest.approx(Brute.stopping(contexts, depths) * brute.likelihood(used), rel=1e-9)
    assert len(found) > 2 * deepest


def test_averaging_is_not_worse_than_the_mean_of_samples_and_context_helps():
    train, test = text(1, 800), text(1, 800)[:300]
    train = train[300:]
    for order in (2, "infinite"):
        model = trained(train, order=order, sweeps=20, samples=4)
        whole = model.events(test).log_probability.mean()
        single = []
        for sample in model.samples_:
            model_of_one = trained(train, order=order, sweeps=1, samples=1)
            model_of_one.samples_ = [sample]
            single.append(model_of_one.events(test).log_probability.mean())
        assert whole >= np.mean(single)
        unigram = trained(train, order=1, sweeps=5).events(test).log_probability.mean()
        assert whole > unigram + 0.3
        assert len(model.history_) == 21 and np.isfinite(model.history_).all()


@pytest.mark.parametrize("order", [2, "infinite"])
def test_a_model_that_learns_again_forgets_what_it_had_learned(order):
    model, other = trained(text(1), order=order), text(2)
    model.events(other)
    again, fresh = model.fit(other), trained(other, order=order)
    np.testing.assert_array_equal(again.events(other).log_probability, fresh.events(other).log_probability)


# ---- ARPA, files


def test_a_single_sample_of_fixed_order_is_a_back_off_model_exactly(tmp_path):
    corpus = text()
    model = trained(corpus, order=3, samples=1)
    write_arpa(model.as_ngram(), tmp_path / "m.arpa")
    other = text(2)
    before, after = (m.events(other).log_probability for m in (model, read_arpa(tmp_path / "m.arpa")))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-8)
    for other_model in (trained(corpus, order=3, samples=2), trained(corpus, order="infinite", samples=1)):
        with pytest.raises(SettingError, match="one sample"):
            other_model.as_ngram()


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_model_file_gives_back_the_model_and_the_same_seed_the_same_bytes(tmp_path, settings):
    model = trained(**settings)
    model.save(tmp_path / "a")
    trained(**settings, workers=3).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    trained(**settings, seed=2).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()
    loaded = corpuscle.load(tmp_path / "a")
    other = text(5)
    np.testing.assert_array_equal(loaded.events(other).log_probability, model.events(other).log_probability)
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


@pytest.mark.parametrize("order", [3, "infinite"])
@pytest.mark.parametrize("stop_at", [1, 6, 33, 40])
def test_an_interrupted_run_resumes_to_the_identical_bytes(tmp_path, monkeypatch, order, stop_at):
    monkeypatch.setattr("corpuscle.lm.pitman_yor._STEP", 200)
    monkeypatch.setattr("corpuscle.lm.pitman_yor._VARIABLE_STEP", 200)
    monkeypatch.setattr(base, "Checkpoint", StopAt)
    corpus, path = text(3), tmp_path / "m"
    settings = {"sweeps": 12, "samples": 3, "min_count": 1}
    HpyModel(order=order, **settings).fit(corpus).save(tmp_path / "whole")
    learner = HpyModel(order=order, **settings)
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = stop_at
        learner.fit(corpus, checkpoint=checkpoint)
    with pytest.raises(InputError, match="other data"):
        learner.checkpoint(corpus[1:], path, resume=True)
    with pytest.raises(InputError, match="lowercase was False and is True now"):
        HpyModel(order=order, **settings, lowercase=True).checkpoint(corpus, path, resume=True)
    with pytest.raises(InputError, match="sweeps was 12"):
        HpyModel(order=order, **settings | {"sweeps": 13}).checkpoint(corpus, path, resume=True)
    again = HpyModel(order=order, **settings)
    with again.checkpoint(corpus, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.partial").exists()


@pytest.mark.parametrize("order", [2, "infinite"])
def test_damaged_partial_files_are_refused_or_harmless(tmp_path, monkeypatch, order):
    monkeypatch.setattr(base, "Checkpoint", StopAt)
    corpus, path = text(3, 30), tmp_path / "m"
    learner = HpyModel(order=order, sweeps=4, samples=2, min_count=1)
    with pytest.raises(Interrupted), learner.checkpoint(corpus, path) as checkpoint:
        checkpoint.stop_at = 8
        learner.fit(corpus, checkpoint=checkpoint)
    monkeypatch.setattr(base, "Checkpoint", Checkpoint)

    def resume(partial):
        (tmp_path / "x.partial").write_bytes(partial.read_bytes())
        again = HpyModel(order=order, sweeps=4, samples=2, min_count=1)
        with again.checkpoint(corpus, tmp_path / "x", resume=True) as kept:
            again.fit(corpus, checkpoint=kept)

    assert survives_hostile_edits(tmp_path / "m.partial", resume, edits=120) > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", SETTINGS)
def test_damaged_models_are_refused_or_harmless(tmp_path, settings):
    corpus = Corpus.from_sentences([["a", "b", "a", "c"], ["b", "c"], ["a"], ["c", "a", "b"]] * 3)
    trained(corpus, **settings).save(tmp_path / "m")

    def use(path):
        with np.errstate(all="ignore"):
            loaded = corpuscle.load(path)
            loaded.perplexity(Corpus.from_sentences([["a", "b", "z"], []]), draws=2)
            loaded.next_words(["a"], 3)

    assert survives_hostile_edits(tmp_path / "m", use, edits=100) > 20


def test_it_mixes_with_other_models(tmp_path):
    corpus = text()
    mixture = Mixture([
        trained(corpus, order=2),
        NgramModel(method="kn", order=2, min_count=1, discounts=0.5).fit(corpus),
    ])
    mixture.fit(text(4))
    mixture.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert loaded.distribution(["<s>", "w1"]).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"order": 0}, "order is"),
        ({"order": 101}, "order is a whole number from 1 to 100, or infinite"),
        ({"order": "auto"}, "order is"),
        ({"order": "infinite", "boundary": "pad"}, "boundary is one of single, none"),
        ({"sweeps": 0}, "sweeps is a whole number from 1"),
        ({"sweeps": 3, "samples": 4}, "3 sweeps have no 4 samples"),
        ({"max_order": 0}, "max_order"),
        ({"min_count": 0}, "min_count"),
        ({"units": "bytes"}, "units is one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        HpyModel(**settings)


def test_an_empty_text_is_an_error():
    with pytest.raises(InputError, match="empty"):
        HpyModel().fit(Corpus.from_sentences([[], []]))


# ---- the command


TRAIN = {
    "method": str, "order": int | str, "sentences": int, "words": int, "types": int, "sweeps": int,
    "samples": int, "discounts": [float], "strengths": [float], "log_likelihood": float, "tuned": [str],
    "seconds": float,
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("hpy") / "text.txt"
    path.write_text("\n".join(" ".join(sentence) for sentence in text()) + "\n")
    return path


@pytest.mark.parametrize("options", [["--method", "hpy"], ["--order", "infinite"]])
def test_the_command_trains_measures_and_predicts(source, tmp_path, capsys, options):
    path = str(tmp_path / "m")
    command = ["lm", "train", str(source), "-o", path, *options, "--sweeps", "5", "--samples", "2", "--json"]
    assert main(command) == 0
    result = last_line_conforms(capsys.readouterr().out, TRAIN)
    assert result["method"] == "hpy" and result["order"] == (3 if options[0] == "--method" else "infinite")
    assert main(["lm", "perplexity", path, str(source), "--json"]) == 0
    assert 1 < json.loads(capsys.readouterr().out)["perplexity"] < 12
    assert main(["lm", "next", path, "w1", "-k", "3"]) == 0 and main(["lm", "score", path, str(source)]) == 0
    assert main(["lm", "sample", path, "-n", "2"]) == 0 and main(["info", path]) == 0
    capsys.readouterr()
    assert main(["lm", "export", path, "-o", str(tmp_path / "arpa")]) == 2
    assert "one sample" in capsys.readouterr().err


def test_the_command_writes_an_arpa_file_of_one_sample(source, tmp_path, capsys):
    path, arpa = str(tmp_path / "m"), str(tmp_path / "arpa")
    command = ["lm", "train", str(source), "-o", path, "--method", "hpy", "--sweeps", "3", "--samples", "1"]
    assert main([*command, "--arpa", arpa]) == 0
    assert main(["lm", "export", path, "-o", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "arpa").read_bytes()


@pytest.mark.parametrize(
    "options, reason",
    [
        (["--method", "hpy", "--discounts", "0.5"], "--discounts means nothing with --method hpy"),
        (["--method", "hpy", "--dev", "x"], "--dev means nothing"),
        (["--sweeps", "5"], "--sweeps means nothing with --method mkn"),
        (["--method", "mkn", "--order", "infinite"], "or auto; not 'infinite'"),
        (["--method", "hpy", "--max-order", "5"], "max_order means nothing"),
        (["--method", "hpy", "--samples", "200"], "100 sweeps have no 200 samples"),
        (["--method", "hpy", "--resume"], "nothing to resume"),
        (["--method", "hpy", "--arpa", "x"], "one sample"),
        (["--method", "hpy", "--order", "auto"], "order is"),
    ],
)
def test_options_that_would_do_nothing_are_refused(source, tmp_path, capsys, options, reason):
    assert main(["lm", "train", str(source), "-o", str(tmp_path / "m"), *options]) == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1
