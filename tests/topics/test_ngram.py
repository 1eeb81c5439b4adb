"""Topic n-gram models as a whole: prediction, recovery, files, resuming, products, commands."""

from __future__ import annotations

import json
import math
import warnings
from itertools import pairwise

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleError, CorpuscleWarning, InputError, Interrupted, SettingError
from corpuscle.text import Corpus
from corpuscle.topics import (
    DocumentReader,
    NgramTopicModel,
    contexts,
    global_summary,
    mark,
    ngram,
    read_documents,
    summaries,
)  # fmt: skip
from corpuscle.topics.kernels.frozen import likelihoods
from corpuscle.topics.ngram import stream_of
from tests.hostile import survives_hostile_edits

METHODS = ("hpylm", "hpytm", "hierarchical", "switching")


def collection(seed=1, documents=12, sentences=4, topics=3):
    """Documents of a few words, each document with words of its own topic and common ones."""
    rng = np.random.default_rng(seed)
    common, own = ["the", "of", "a", ".", ","], [[f"{letter}{i}" for i in range(5)] for letter in "xyz"]
    text = [
        [str(rng.choice(common if rng.random() < 0.4 else own[d % topics])) for _ in range(rng.integers(4, 9))]
        for d in range(documents)
        for _ in range(sentences)
    ]
    return Corpus.from_sentences(text).with_documents(np.arange(documents + 1) * sentences)


def learner(method="switching", order=3, **settings):
    settings = {"sweeps": 8, "min_count": 1, "workers": 2} | settings
    return NgramTopicModel(method=method, order=order, **({} if method == "hpylm" else {"topics": 3}), **settings)


@pytest.fixture(scope="module")
def models():
    return {
        (method, order): learner(method, order, samples=2).fit(collection())
        for method in METHODS
        for order in (1, 3, "infinite")
    }


def test_probabilities_sum_to_one_after_every_word(models):
    for model in models.values():
        reader = DocumentReader(model)
        for word in ("the", "x1", "never-seen", "y2", "x1"):
            assert reader.distribution().sum() == pytest.approx(1.0, abs=1e-9)
            reader.observe(word)
        reader.end_sentence()
        assert reader.distribution().sum() == pytest.approx(1.0, abs=1e-9)


def test_every_topic_is_a_distribution_in_every_context(models):
    for (method, _), model in models.items():
        corpus = collection(2).recode(model.vocab_)
        symbols, places, available = stream_of(corpus, model.order_ - 1)
        words = np.array([0, *range(3, len(model.vocab_))], np.int32)
        for at in (0, 5, 17):
            same = np.full(len(words), places[at])
            seen = likelihoods(
                model._predictors[0], model.topics_, symbols, same, words, np.full(len(words), available[at], np.uint8)
            )
            assert seen.topics.sum(0) == pytest.approx(np.ones(model.topics_), abs=1e-9)
            if method == "switching":
                assert seen.common.sum() == pytest.approx(1.0, abs=1e-9)
                assert ((seen.switch > 0) & (seen.switch < 1)).all()


def test_reading_word_by_word_is_reading_at_once(models):
    for model in models.values():
        corpus = collection(3, documents=1)
        reader, logs = DocumentReader(model), []
        for sentence in corpus:
            logs += [reader.observe(word) for word in sentence]
            reader.end_sentence()
        assert logs == pytest.approx(model.log_probabilities(corpus), abs=1e-9)


def test_a_model_without_topics_is_the_pitman_yor_model_of_its_seats():
    """P(w | h) by the recursion over the counts of the sample, as in a plain language model."""
    model = learner("hpylm").fit(collection())
    sample = model.samples_[0]
    corpus = collection(4, documents=2).recode(model.vocab_)
    counts = _counts(sample)
    symbols, places, _ = stream_of(corpus, 2)
    expected = []
    for place in places.tolist():
        begin = place
        while symbols[begin - 1] != 1 and place - begin < 1:
            begin -= 1
        history = tuple(symbols[max(0, place - 2) : place].tolist())
        history = history[1:] if 1 in history[1:] else history
        expected.append(math.log(_recursion(counts, sample, history, int(symbols[place]), 1 / (len(model.vocab_) - 2))))
    assert model.log_probabilities(corpus) == pytest.approx(expected, abs=1e-9)


def _counts(sample):
    """(history, word) -> customers and tables, from the arrays of a sample with one topic."""
    rows, parent = len(sample["row_symbols"]), {}
    for row in range(rows):
        for child in range(sample["row_children"][row], sample["row_children"][row + 1]):
            parent[child] = row
    found = {}
    for row in range(rows):
        gram, at = [int(sample["row_symbols"][row])], row
        while at in parent:
            at = parent[at]
            gram.append(int(sample["row_symbols"][at]))
        entry = sample["row_entries"][row]
        found[tuple(gram[:-1]), gram[-1]] = int(sample["customers"][entry]), int(sample["tables"][entry])
    return found


def _recursion(counts, sample, history, word, base):
    a, b = sample["discounts"][len(history)], sample["strengths"][len(history)]
    here = [pair for (h, _), pair in counts.items() if h == history]
    c, t = sum(pair[0] for pair in here), sum(pair[1] for pair in here)
    cw, tw = counts.get((history, word), (0, 0))
    below = _recursion(counts, sample, history[1:], word, base) if history else base
    return (cw - a * tw + (b + a * t) * below) / (b + c)


@pytest.mark.parametrize("order", [3, "infinite"])
def test_one_topic_is_the_model_without_topics(order):
    without = learner("hpylm", order).fit(collection())
    single = NgramTopicModel(method="hpytm", topics=1, order=order, sweeps=8, min_count=1).fit(collection())
    for name, array in without.samples_[0].items():
        assert np.array_equal(array, single.samples_[0][name])
    test = collection(5)
    assert np.array_equal(without.log_probabilities(test), single.log_probabilities(test))


def bigram_topics(seed):
    """Documents of topics that differ in their bigrams: mixtures ~ Dir(0.08), rows of 40 words ~ Dir(0.08)."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(40, 0.08), size=(3, 40))
    text = []
    for _ in range(50):
        mixture, last, words = rng.dirichlet(np.full(3, 0.08)), 0, []
        for _ in range(120):
            last = int(rng.choice(40, p=rows[rng.choice(3, p=mixture), last]))
            words.append(f"w{last}")
        text.append(words)
    corpus = Corpus.from_sentences(text).with_documents(np.arange(51))
    return corpus[:40], corpus[40:]


def test_topics_of_bigrams_are_recovered():
    ratios, blocks = [], []
    for seed in (1, 2, 3):
        train, test = bigram_topics(seed)
        logs = {
            name: NgramTopicModel(order=2, sweeps=40, min_count=1, seed=seed, **settings)
            .fit(train)
            .log_probabilities(test)
            .mean()
            for name, settings in (
                ("plain", {"method": "hpylm"}),
                ("token", {"method": "hpytm", "topics": 3, "sampler": "token"}),
                ("table", {"method": "hpytm", "topics": 3, "sampler": "table"}),
            )
        }
        ratios.append(math.exp(logs["plain"] - logs["token"]))
        blocks.append(math.exp(logs["plain"] - logs["table"]))
    assert max(ratios) < 0.9 and min(ratios) < 0.7
    assert max(blocks) < 0.9 and np.mean(blocks) < np.mean(ratios)


def phrases(seed, documents):
    """Two function words, then a word of one of the document's topics, and so on."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, 61)
    text: list[list[str]] = []
    for _ in range(documents):
        mixture, words = rng.dirichlet(np.full(6, 0.3)), []
        for _ in range(25):
            words += [f"f{rng.choice(60, p=zipf / zipf.sum())}" for _ in range(2)]
            words.append(f"{'uvwxyz'[rng.choice(6, p=mixture)]}{rng.integers(0, 15)}")
        text.append(words)
    return Corpus.from_sentences(text).with_documents(np.arange(documents + 1))


def test_function_words_are_told_from_topical_ones():
    model = NgramTopicModel(topics=6, order=2, sweeps=30, min_count=1).fit(phrases(1, 60))
    shares: dict[bool, list[float]] = {True: [], False: []}
    for document in mark(model, phrases(2, 8)):
        for word, share in zip(document.words, document.topical, strict=True):
            shares[word[0] == "f"].append(share)
    assert np.mean(shares[False]) > 0.9 and np.mean(shares[True]) < 0.2
    topics = summaries(model, words=5)
    for topic in topics:
        assert len({word[0] for word, _ in topic.words}) == 1
    assert sum(topic.share for topic in topics) == pytest.approx(1.0)
    assert any(topic.phrases for topic in topics)
    table = contexts(model, least=5)
    assert [row.topical for row in table] == sorted(row.topical for row in table)
    assert table[0].topical < 0.3 and table[-1].topical > 0.6


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_seed_gives_the_same_bytes(tmp_path, workers):
    for name in ("a", "b"):
        learner(workers=workers).fit(collection()).save(tmp_path / name)
    learner(workers=2).fit(collection()).save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()
    test = collection(9)
    one, three = corpuscle.load(tmp_path / "a"), corpuscle.load(tmp_path / "a")
    one.workers, three.workers = 1, 3
    assert np.array_equal(*(model.sample_log_probabilities(test) for model in (one, three)))


class Stopping:
    """A user who presses Ctrl-C before a certain step."""

    def __init__(self, steps):
        self.steps = steps

    @property
    def requested(self):
        self.steps -= 1
        return self.steps < 0


def interrupted(model, corpus, path, steps):
    with pytest.raises(Interrupted), model.checkpoint(corpus, path) as checkpoint:
        checkpoint._stop = Stopping(steps)
        model.fit(corpus, checkpoint=checkpoint)


@pytest.mark.parametrize("stop_at", [0, 1, 5, 14])
@pytest.mark.parametrize("order", [3, "infinite"])
@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_run_resumes_to_the_identical_bytes(tmp_path, method, order, stop_at):
    corpus, path = collection(), tmp_path / "m"
    learner(method, order).fit(corpus).save(tmp_path / "whole")
    interrupted(learner(method, order), corpus, path, stop_at)
    with pytest.raises(InputError, match="other data"):
        learner(method, order).checkpoint(corpus[4:], path, resume=True)
    with pytest.raises(InputError, match="digits was False and is True now"):
        learner(method, order, digits=True).checkpoint(corpus, path, resume=True)
    with pytest.raises(InputError, match="sweeps was 8 and is 9"):
        learner(method, order, sweeps=9).checkpoint(corpus, path, resume=True)
    again = learner(method, order)
    with again.checkpoint(corpus, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.partial").exists()


@pytest.mark.parametrize("order", [3, "infinite"])
@pytest.mark.parametrize("method", METHODS)
def test_a_run_resumes_from_wherever_it_stopped(tmp_path, monkeypatch, method, order):
    monkeypatch.setattr("corpuscle.topics.ngram._WORDS", 30)
    monkeypatch.setattr("corpuscle.topics.ngram._TABLES", 30)
    corpus, settings = collection(documents=6, sentences=2), {"sweeps": 3, "samples": 2}
    learner(method, order, **settings).fit(corpus).save(tmp_path / "whole")
    chain = learner(method, order, **settings).chain(corpus)
    first, later = chain.steps(0), chain.steps(1)
    assert first > 1 and (method == "hpylm" or later > first + 1)
    for stop_at in range(first + 1 + 3 * (later + 1)):
        path, again = tmp_path / f"m{stop_at}", learner(method, order, **settings)
        interrupted(learner(method, order, **settings), corpus, path, stop_at)
        with again.checkpoint(corpus, path, resume=True) as checkpoint:
            again.fit(corpus, checkpoint=checkpoint).save(path)
        assert path.read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("method", ["hierarchical", "switching"])
def test_hostile_checkpoints_are_errors(tmp_path, method):
    corpus = collection(documents=4, sentences=2)
    interrupted(learner(method, samples=2), corpus, tmp_path / "m", 9)

    def resume(partial):
        (tmp_path / "x.partial").write_bytes(partial.read_bytes())
        again = learner(method, samples=2)
        with again.checkpoint(corpus, tmp_path / "x", resume=True) as kept:
            again.fit(corpus, checkpoint=kept)

    assert survives_hostile_edits(tmp_path / "m.partial", resume, edits=120) > 20


def test_hostile_models_are_errors(tmp_path):
    learner("switching", "infinite").fit(collection(documents=4)).save(tmp_path / "m")
    test = collection(9, documents=2)

    def use(path):
        model = corpuscle.load(path)
        model.workers = 1
        model.log_probabilities(test)
        mark(model, test)
        summaries(model)
        contexts(model)

    assert survives_hostile_edits(tmp_path / "m", use, edits=150) > 20


def test_settings_that_make_no_sense_are_errors():
    for settings, reason in (
        ({"method": "lda"}, "method is one of"),
        ({"topics": 0}, "topics is a whole number from 1"),
        ({"order": 0}, "order is a whole number from 1"),
        ({"order": "inf"}, "order is a whole number from 1 to 250, or infinite"),
        ({"sampler": "block"}, "sampler is one of"),
        ({"method": "hpylm", "topics": 5}, "no topics"),
        ({"method": "hpylm", "sampler": "token"}, "sampler means nothing"),
        ({"max_order": 4}, "max_order means nothing"),
        ({"method": "hpylm", "turns": 2}, "turns means nothing"),
        ({"sampler": "token", "turns": 1}, "turns mean nothing"),
        ({"sweeps": 2, "samples": 3}, "2 sweeps have no 3 samples"),
    ):
        with pytest.raises(SettingError, match=reason):
            NgramTopicModel(**settings)
    one_word = Corpus.from_sentences([["a", "a", "a"], ["a", "a"]]).with_documents(np.array([0, 1, 2]))
    with pytest.raises(InputError, match="two different words"):
        learner().fit(one_word)
    with pytest.raises(InputError, match="no document has two words"):
        learner().fit(Corpus.from_sentences([["a"], ["b"]]).with_documents(np.array([0, 1, 2])))
    with pytest.raises(SettingError, match="how topical"):
        contexts(learner("hpytm").fit(collection()))
    with pytest.raises(SettingError, match="marking words"):
        mark(learner("hpylm").fit(collection()), collection())


def test_tables_take_turns_or_all_move_in_every_sweep(monkeypatch):
    monkeypatch.setattr(ngram, "_TABLES", 20)
    moved = []
    monkeypatch.setattr(ngram, "sweep_tables", lambda *a: moved.append((a[3], a[4])) or (a[4], 0))
    for turns in (1, 2, 4):
        moved.clear()
        model = learner(sweeps=4, turns=turns)
        chain = model.chain(collection())
        pieces = list(pairwise(chain.rows))
        assert len(pieces) > 4
        for sweep in range(1, 5):
            moved.clear()
            for number in range(chain.word_steps, chain.steps(sweep)):
                chain.step(sweep, number)
            assert moved == [piece for i, piece in enumerate(pieces) if (i + sweep) % turns == 0]


def test_nodes_are_the_restaurants_of_all_topics(models):
    for (method, order), model in models.items():
        sample = model.samples_[-1]
        row = np.repeat(np.arange(len(sample["row_symbols"])), np.diff(sample["row_entries"]))
        roots = int(sample["row_children"][0])
        children = np.diff(sample["row_children"])
        parent = np.concatenate([np.full(roots, -1), np.repeat(np.arange(len(children)), children)])
        before = [()] * roots  # the words before the last of each n-gram
        for r in range(roots, len(parent)):
            before.append((int(sample["row_symbols"][r]), *before[parent[r]]))
        pairs = {(before[r], int(k)) for r, k in zip(row, sample["topics"], strict=True)}
        assert model.nodes == len(pairs), (method, order)


def test_the_global_topic_has_the_words_that_documents_share(models):
    for (method, _), model in models.items():
        found = global_summary(model, words=5, phrases=3)
        assert (found is not None) == (method in ("hierarchical", "switching"))
        if found is None:
            continue
        assert found.number == 0 and all(0 < phrase.score <= 1 for phrase in found.phrases)
        if method == "switching":
            assert 0 < found.share < 1 and {word for word, _ in found.words} & {"the", "of", "a", ".", ","}
        else:
            assert found.share == 0.0 and found.words


def test_phrases_may_begin_a_sentence_and_have_the_probabilities_of_their_topics(models):
    model = models["switching", 3]
    every = [p for topic in [*summaries(model, 0, 10**6), global_summary(model, 0, 10**6)] for p in topic.phrases]
    assert any(phrase.text.startswith("<s> ") for phrase in every) and all("<s>" not in p.text[1:] for p in every)
    shared = [phrase for phrase in global_summary(model, 0, 10**6).phrases if phrase.text.startswith("<s> ")]
    symbols = np.array([[1, model.vocab_.id(p.text.split()[1])] for p in shared if len(p.text.split()) == 2], np.int32)
    n = len(symbols)
    assert n
    seen = likelihoods(
        model._predictors[-1], 3, symbols.ravel(), np.arange(n) * 2 + 1, symbols[:, 1], np.ones(n, np.uint8)
    )
    assert seen.common == pytest.approx([p.score for p in shared if len(p.text.split()) == 2])


def test_what_is_given_is_saved_as_given_and_what_the_method_decides_stands_beside_it(tmp_path):
    model = NgramTopicModel(method="hpylm", sweeps=3, min_count=1, lowercase=True).fit(collection())
    model.save(tmp_path / "m")
    for same in model, corpuscle.load(tmp_path / "m"):
        given = {name for name, origin in same.origins.items() if origin == "given"}
        assert given == {"method", "sweeps", "min_count", "lowercase"}
        assert (same.topics, same.topics_, same.order_, same.sweeps_) == (None, 1, 3, 3)
    usual = NgramTopicModel(order="infinite")
    assert (usual.topics_, usual.order_, usual.sweeps_) == (50, 8, 500)


def test_a_second_fit_forgets_the_first():
    model, other = learner(), collection(2, documents=5)
    model.fit(collection()).log_probabilities(other)
    again = model.fit(other).log_probabilities(other)
    fresh = learner().fit(other)
    assert np.array_equal(again, fresh.log_probabilities(other))
    assert model.vocab_.strings == fresh.vocab_.strings and model.provenance_ == fresh.provenance_


def test_a_single_document_is_learned_from_with_advice():
    corpus = collection(documents=1)
    with pytest.warns(CorpuscleWarning, match="a single document"):
        learner(sweeps=1).fit(corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner("hpylm", sweeps=1).fit(corpus)


def test_every_sweep_is_logged_and_the_history_of_a_resumed_run_is_whole(tmp_path):
    corpus, logged = collection(), []
    interrupted(learner(), corpus, tmp_path / "m", 6)
    model = learner()
    with model.checkpoint(corpus, tmp_path / "m", resume=True) as checkpoint:
        model.fit(corpus, checkpoint=checkpoint, log=lambda sweep, value: logged.append((sweep, value)))
    whole = list(enumerate(learner().fit(corpus).history_.tolist()))
    assert list(enumerate(model.history_.tolist())) == whole and logged == whole[-len(logged) :]
    assert 0 < len(logged) < len(whole)


# ---- commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topics")
    for name, seed in (("train", 1), ("test", 2)):
        corpus = collection(seed)
        documents = [
            "\n".join(" ".join(corpus.words(i)) for i in range(a, b))
            for a, b in zip(corpus.document_starts[:-1], corpus.document_starts[1:], strict=True)
        ]
        (folder / f"{name}.txt").write_text("\n\n".join(documents) + "\n")
    return folder


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("method", [*METHODS, "rescaling"])
def test_the_commands_train_read_show_and_mark(folder, capsys, method):
    model = folder / f"{method}.model"
    settings = ["--sweeps", 6, "--min-count", 1, "--quiet", "--json"]
    settings += [] if method == "hpylm" else ["--topics", 3]
    settings += ["--word-sweeps", 5] if method == "rescaling" else []
    code, out, err = run(capsys, "topics", "train", folder / "train.txt", "-o", model, "--method", method, *settings)
    assert code == 0, err
    result = json.loads(out.splitlines()[-1])
    assert result["method"] == method and result["documents"] == 12 and result["sweeps"] == 6
    code, out, err = run(capsys, "topics", "perplexity", model, folder / "test.txt", "--particles", 5, "--json")
    assert code == 0, err
    figures = json.loads(out.splitlines()[-1])
    assert 1 < figures["low"] < figures["perplexity"] < figures["high"] < 40
    assert figures["tokens"] == read_documents(folder / "test.txt").n_tokens and figures["words_per_second"] > 0
    code, out, err = run(capsys, "topics", "show", model, "--json", "--figure", folder / "topics.svg")
    assert code == 0 and (folder / "topics.svg").read_text().startswith("<svg"), err
    assert len(json.loads(out)["topics"]) == (1 if method == "hpylm" else 3)
    code, out, err = run(capsys, "topics", "mark", model, folder / "test.txt", "--figure", folder / "text.svg")
    if method in ("hpylm", "rescaling"):
        assert code == 2 and "marking words needs" in err
    else:
        assert code == 0, err
        lines = [line.split("\t") for line in out.splitlines() if line]
        assert len(lines) == figures["tokens"] and all(0 <= float(share) <= 1 for _, share, _ in lines)


def test_a_run_of_the_command_can_be_logged_and_resumed(folder, capsys, tmp_path):
    arguments = ["topics", "train", folder / "train.txt", "-o", tmp_path / "m", "--topics", 2, "--min-count", 1]
    code, _, err = run(capsys, *arguments, "--sweeps", 3, "--resume")
    assert code == 2 and "nothing to resume" in err
    code, _, err = run(capsys, *arguments, "--sweeps", 3, "--order", "infinite", "--log", tmp_path / "log.tsv")
    assert code == 0, err
    lines = (tmp_path / "log.tsv").read_text().splitlines()
    assert lines[0] == "sweep\tlog_probability\tseconds" and len(lines) == 5
    code, out, err = run(capsys, "topics", "show", tmp_path / "m", "--contexts", 3)
    assert code == 0 and "topic 1" in out, err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--method", "lda"], "'lda' is not one of"),
        (["--method", "hpylm", "--topics", "5"], "topics means nothing with the method hpylm"),
        (["--method", "switching", "--exponent", "1"], "--exponent means nothing"),
        (["--method", "rescaling", "--sampler", "token"], "--sampler means nothing"),
        (["--method", "rescaling", "--order", "infinite"], "--order is a whole number"),
        (["--order", "many"], "--order is a whole number from 1 to 250, or infinite"),
        (["--max-order", "4"], "max_order means nothing without order infinite"),
        (["--topics", "0"], "--topics is a whole number"),
        (["--sampler", "block"], "sampler is one of"),
        (["--documents", "no-such.tsv"], "no-such.tsv"),
    ],
)
def test_bad_usage_is_one_line_and_code_two(folder, capsys, tmp_path, arguments, reason):
    code, _, err = run(capsys, "topics", "train", folder / "train.txt", "-o", tmp_path / "m", *arguments)
    assert code == 2 and reason in err and not (tmp_path / "m").exists()


def test_input_without_documents_is_an_error(capsys, tmp_path, folder):
    (tmp_path / "short.txt").write_text("word\n\nother\n")
    code, _, err = run(capsys, "topics", "train", tmp_path / "short.txt", "-o", tmp_path / "m")
    assert code == 2 and "no document has two words" in err
    (tmp_path / "one.txt").write_text("a a a a a a\n\na a a a\n")
    code, _, err = run(capsys, "topics", "train", tmp_path / "one.txt", "-o", tmp_path / "m")
    assert code == 2 and "one.txt: fewer than two different words" in err
    code, _, err = run(capsys, "topics", "perplexity", folder / "train.txt", folder / "test.txt")
    assert code == 2 and "error:" in err
    with pytest.raises(CorpuscleError):
        corpuscle.load(folder / "train.txt")
