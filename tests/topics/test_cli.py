"""``corpuscle topics``: the commands as a user runs them, their tables and their JSON."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import Interrupted, SettingError
from corpuscle.topics import NgramTopicModel, RescalingModel, document_bounds, document_topics, read_documents
from tests.schemas import FRACTION, conforms, last_line_conforms

METHODS = ("hpylm", "hpytm", "hierarchical", "switching", "rescaling")
TOPICAL = METHODS[1:]
MARKING = METHODS[1:4]


def text_of(document, random, sentences=4, share=0.4):
    """Sentences of common words (a share of all) and of words of the document's own topic."""
    common, own = ["the", "of", "a", ".", ","], [f"{'xyz'[document % 3]}{i}" for i in range(5)]
    return [
        " ".join(str(random.choice(common if random.random() < share else own)) for _ in range(random.integers(4, 9)))
        for _ in range(sentences)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Documents with blank lines between them (train.txt, test.txt), with names (docs), of strange words (odd.txt)."""
    folder = tmp_path_factory.mktemp("topics")
    random = np.random.default_rng(1)
    for name, documents in (("train", 15), ("test", 6)):
        texts = ["\n".join(text_of(document, random)) for document in range(documents)]
        (folder / f"{name}.txt").write_text("\n\n".join(texts) + "\n")
    (folder / "docs").mkdir()
    for document, name in enumerate(("first", "second", "third")):
        (folder / "docs" / f"{name}.txt").write_text("\n".join(text_of(document, random)) + "\n")
    (folder / "odd.txt").write_text("qq rr ss\ntt\n\nuu vv\n")
    return folder


def train(folder, method, *options, samples=2):
    path = folder / f"{method}.model"
    settings = ["--method", method, "--sweeps", 8, "--min-count", 1, "--samples", samples, "--quiet"]
    settings += [] if method == "hpylm" else ["--topics", 3]
    settings += ["--word-sweeps", 4] if method == "rescaling" else []
    arguments = ["topics", "train", folder / "train.txt", "-o", path, *settings, *options]
    assert main([str(argument) for argument in arguments]) == 0
    return path


@pytest.fixture(scope="module")
def models(folder):
    return {method: train(folder, method) for method in METHODS}


def run(capsys, *arguments):
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys, schema, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return last_line_conforms(out, schema)


def table(text):
    return [line.split("\t") for line in text.splitlines()]


# ---- training

TRAINED = {
    "method": str, "topics": int, "order": int | str, "documents": int, "sentences": int, "words": int, "types": int,
    "sweeps": int, "log_likelihood": float, "nodes": int, "seconds": float, "model": str,
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_training_says_what_it_did_and_how_it_went(capsys, folder, tmp_path, method):
    arguments = ["topics", "train", folder / "train.txt", "-o", tmp_path / "m", "--method", method, "--sweeps", 3]
    arguments += ["--word-sweeps", 6] if method == "rescaling" else []
    found = run_json(capsys, TRAINED, *arguments, "--log", tmp_path / "log.tsv")
    assert found["documents"] == 15 and found["sentences"] == 60
    heading, *rows = table((tmp_path / "log.tsv").read_text())
    assert heading == ["sweep", "log_probability", "seconds"] and [row[0] for row in rows] == ["0", "1", "2", "3"]
    history = corpuscle.load(tmp_path / "m").history_
    assert [float(row[1]) for row in rows] == pytest.approx(history, rel=1e-8)
    assert sorted(rows, key=lambda row: float(row[2])) == rows
    settings = run_json(capsys, Any, "info", tmp_path / "m")["settings"]
    assert settings["samples"] == [5 if method == "rescaling" else 1, "default"]


def test_documents_can_be_split_by_every_command(capsys, folder, models, tmp_path):
    arguments = ["topics", "train", folder / "train.txt", "-o", tmp_path / "m", "--sweeps", 2, "--split", 2]
    assert run_json(capsys, TRAINED, *arguments)["documents"] == 30
    found = run_json(capsys, PERPLEXITY, "topics", "perplexity", models["hpytm"], folder / "test.txt", "--split", 1)
    assert found["documents"] == 24
    _, out, _ = run(capsys, "topics", "apply", models["hpytm"], folder / "docs", "--split", 3, "--top", 1)
    names = [row[0] for row in table(out)[1:]]
    assert names == ["first:1", "first:2", "second:1", "second:2", "third:1", "third:2"]
    _, out, _ = run(capsys, "topics", "mark", models["hpytm"], folder / "docs", "--split", 3, "--lines")
    assert [line[2:] for line in out.splitlines() if line.startswith("# ")] == names
    code, _, err = run(capsys, "topics", "score", models["hpytm"], folder / "docs", "--split", 0)
    assert code == 2 and "--split" in err


class Stopping:
    """A user who presses Ctrl-C before a certain step."""

    def __init__(self, steps):
        self.steps = steps

    @property
    def requested(self):
        self.steps -= 1
        return self.steps < 0


@pytest.mark.parametrize("method", METHODS)
def test_the_log_of_a_resumed_run_has_all_sweeps(capsys, folder, tmp_path, method):
    settings = ["--method", method, "--sweeps", 5, "--min-count", 1, "--quiet"]
    settings += ["--word-sweeps", 5] if method == "rescaling" else []
    settings += ["--log", tmp_path / "log.tsv"]
    arguments = ["topics", "train", folder / "train.txt", "-o", tmp_path / "m", *settings]
    code, _, err = run(capsys, *arguments)
    assert code == 0, err
    whole = table((tmp_path / "log.tsv").read_text())
    home = RescalingModel if method == "rescaling" else NgramTopicModel
    model = home(sweeps=5, min_count=1, **{"word_sweeps": 5} if method == "rescaling" else {"method": method})
    corpus = read_documents(folder / "train.txt")
    with pytest.raises(Interrupted), model.checkpoint(corpus, tmp_path / "m") as checkpoint:
        checkpoint._stop = Stopping(5)
        model.fit(corpus, checkpoint=checkpoint)
    code, _, err = run(capsys, *arguments, "--resume")
    assert code == 0, err
    resumed = table((tmp_path / "log.tsv").read_text())
    assert [row[:2] for row in resumed] == [row[:2] for row in whole]
    times = [row[2] for row in resumed[1:]]
    assert times[0] == "" and times[-1] != "" and "" not in times[times.count("") :]


# ---- perplexity

PERPLEXITY = {
    "perplexity": float, "perplexity_without_oov": float | None, "tokens": int, "oov": int, "bits_per_token": float,
    "low": float, "high": float, "deviation": float, "signature": str, "documents": int, "overlap_training": FRACTION,
    "seconds": float, "words_per_second": float, "perplexity_by_sample?": [float], "mean_of_samples?": float,
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_perplexity_prints_the_contract(capsys, folder, models, method):
    found = run_json(capsys, PERPLEXITY, "topics", "perplexity", models[method], folder / "test.txt")
    corpus, model = read_documents(folder / "test.txt"), corpuscle.load(models[method])
    assert found["documents"] == 6 and found["tokens"] == corpus.n_tokens and found["oov"] == 0
    assert found["perplexity"] == pytest.approx(model.perplexity(corpus)["perplexity"], rel=1e-12)
    assert ("perplexity_by_sample" in found) == (method != "rescaling")


def test_the_samples_have_perplexities_of_their_own_and_a_mean(capsys, folder, models):
    found = run_json(capsys, PERPLEXITY, "topics", "perplexity", models["switching"], folder / "test.txt")
    logs = corpuscle.load(models["switching"]).sample_log_probabilities(read_documents(folder / "test.txt"))
    assert found["perplexity_by_sample"] == pytest.approx(np.exp(-logs.mean(1)).tolist())
    assert found["mean_of_samples"] == pytest.approx(np.mean(found["perplexity_by_sample"]))
    _, out, _ = run(capsys, "topics", "perplexity", models["switching"], folder / "test.txt")
    assert f"mean of the perplexities of 2 samples {found['mean_of_samples']:.3f}" in out


def test_documents_are_read_once_for_all_figures(folder, models, monkeypatch):
    model, corpus = corpuscle.load(models["switching"]), read_documents(folder / "test.txt")
    whole, read = model.perplexity(corpus).to_json(), []
    once = model.sample_log_probabilities
    monkeypatch.setattr(model, "sample_log_probabilities", lambda *a, **k: read.append(a) or once(*a, **k))
    result, by_sample = model.perplexities(corpus)
    assert len(read) == 1 and len(by_sample) == 2 and result.to_json() == whole


@pytest.mark.parametrize("method", METHODS)
def test_documents_of_unknown_words_only_are_read_with_a_warning(capsys, folder, models, method):
    code, out, err = run(capsys, "topics", "perplexity", models[method], folder / "odd.txt")
    assert code == 0 and "no word of the text is known to the model" in err, err
    assert "6 words, 6 unknown" in out and "without them" not in out and "nan" not in out
    found = run_json(capsys, PERPLEXITY, "topics", "perplexity", models[method], folder / "odd.txt")
    assert found["perplexity_without_oov"] is None


def test_language_models_leave_out_what_has_no_value_as_well(capsys, folder, tmp_path):
    for boundary, words in (("none", "6 tokens, 6 unknown"), ("single", "10 tokens with </s>, 6 unknown")):
        path = tmp_path / boundary
        run(capsys, "lm", "train", folder / "docs" / "first.txt", "-o", path, "--boundary", boundary, "--min-count", 1)
        code, out, err = run(capsys, "lm", "perplexity", path, folder / "odd.txt")
        assert code == 0 and words in out and "nan" not in out, out
        assert "no word of the text is known to the model" in err
        assert ("without unknown words" in out) == (boundary == "single")


# ---- what documents are about


@pytest.mark.parametrize("method", TOPICAL)
def test_every_document_has_its_name_its_words_and_its_shares(folder, models, method):
    model = corpuscle.load(models[method])
    found = document_topics(model, read_documents(folder / "test.txt"))
    assert [document.name for document in found] == ["1", "2", "3", "4", "5", "6"]
    shares = np.array([document.shares for document in found])
    assert shares.shape == (6, 3) and shares.sum(1) == pytest.approx(np.ones(6))
    named = document_topics(model, read_documents(folder / "docs"))
    assert [document.name for document in named] == ["first", "second", "third"]
    corpus = read_documents(folder / "docs")
    assert [document.words for document in named] == np.diff(document_bounds(corpus)).tolist()
    alone, together = corpuscle.load(models[method]), corpuscle.load(models[method])
    alone.workers, together.workers = 1, 3
    for one, three in zip(*(document_topics(each, corpus) for each in (alone, together)), strict=True):
        assert np.array_equal(one.shares, three.shares)


def test_documents_about_the_same_are_most_alike(tmp_path):
    random = np.random.default_rng(3)
    for name, documents in (("train", 30), ("test", 9)):
        texts = ["\n".join(text_of(document, random, sentences=10, share=0.2)) for document in range(documents)]
        (tmp_path / f"{name}.txt").write_text("\n\n".join(texts) + "\n")
    for method in ("switching", "rescaling"):
        model = corpuscle.load(train(tmp_path, method, "--sweeps", 60, samples=1))
        found = document_topics(model, read_documents(tmp_path / "test.txt"), particles=100)
        shares = np.array([document.shares for document in found])
        apart = np.abs(shares[:, None] - shares).sum(2) + 9 * np.eye(9)
        assert (apart.argmin(1) % 3 == np.arange(9) % 3).all(), method


@pytest.mark.parametrize("method", TOPICAL)
def test_shares_are_the_average_of_what_particles_expect_at_the_end(folder, models, method):
    model, corpus = corpuscle.load(models[method]), read_documents(folder / "test.txt")
    odd = document_topics(model, read_documents(folder / "odd.txt"))
    assert [(document.words, document.oov) for document in odd] == [(4, 4), (2, 2)]
    if method == "rescaling":
        return
    from corpuscle.topics.kernels.frozen import likelihoods
    from corpuscle.topics.kernels.particles import Reader
    from corpuscle.topics.ngram import stream_of

    known = corpus.recode(model.vocab_)
    symbols, places, available = stream_of(known, model.order_ - 1)
    expected = []
    for sample, predictor in zip(model.samples_, model._predictors, strict=True):
        for document, (a, b) in enumerate(pairwise(document_bounds(corpus))):
            reader = Reader(sample["alpha"], document=document)
            reader.read(likelihoods(predictor, model.topics_, symbols, places[a:b], known.tokens[a:b], available[a:b]))
            expected.append(reader.mixture)
    shares = np.array([document.shares for document in document_topics(model, corpus)])
    assert shares == pytest.approx(np.mean(np.reshape(expected, (2, 6, 3)), axis=0), abs=1e-12)


def test_a_model_without_topics_cannot_say_what_documents_are_about(folder, models):
    with pytest.raises(SettingError, match="hpylm has no topics"):
        document_topics(corpuscle.load(models["hpylm"]), read_documents(folder / "test.txt"))


ABOUT = {"document": str, "words": int, "oov": int, "topics": [{"topic": int, "share": FRACTION, "words": [str]}]}
SHARES = {"document": str, "words": int, "oov": int, "shares": [FRACTION]}


@pytest.mark.parametrize("method", TOPICAL)
def test_apply_says_what_each_document_is_about(capsys, folder, models, method):
    code, out, err = run(capsys, "topics", "apply", models[method], folder / "docs", "--top", 2, "--words", 4)
    heading, *rows = table(out)
    assert code == 0 and heading == ["document", "words", "oov", "topic", "share", "typical"], err
    assert [row[0] for row in rows] == ["first", "first", "second", "second", "third", "third"]
    found = run_json(
        capsys, {"documents": [ABOUT]}, "topics", "apply", models[method], folder / "docs", "--top", 2, "--words", 4
    )["documents"]
    said = [
        [d["document"], str(d["words"]), str(d["oov"]), str(t["topic"]), f"{t['share']:.6g}", " ".join(t["words"])]
        for d in found
        for t in d["topics"]
    ]
    assert rows == said
    assert all(document["topics"][0]["share"] >= document["topics"][1]["share"] for document in found)


def test_apply_gives_all_shares_and_writes_a_file(capsys, folder, models, tmp_path):
    arguments = ["topics", "apply", models["rescaling"], folder / "test.txt", "--shares"]
    code, out, err = run(capsys, *arguments, "-o", tmp_path / "shares.tsv")
    assert code == 0 and out == "", err
    heading, *rows = table((tmp_path / "shares.tsv").read_text())
    assert heading == ["document", "words", "oov", "topic_1", "topic_2", "topic_3"]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert [sum(map(float, row[3:])) for row in rows] == pytest.approx([1.0] * 6, abs=2e-4)
    found = run_json(capsys, {"documents": [SHARES]}, *arguments)["documents"]
    assert [[f"{share:.6g}" for share in document["shares"]] for document in found] == [row[3:] for row in rows]


def test_apply_refuses_what_makes_no_sense_and_writes_nothing(capsys, folder, models, tmp_path):
    out = tmp_path / "out.tsv"
    code, _, err = run(capsys, "topics", "apply", models["hpylm"], folder / "test.txt", "-o", out)
    assert code == 2 and "hpylm has no topics" in err
    both = ["--shares", "--top", 2]
    code, _, err = run(capsys, "topics", "apply", models["hpytm"], folder / "test.txt", "-o", out, *both)
    assert code == 2 and "--top means nothing with --shares" in err
    assert not out.exists()
    code, _, err = run(capsys, "topics", "apply", models["hpytm"], folder / "odd.txt")
    assert code == 0 and "no word of the text is known" in err


def test_names_of_documents_keep_to_their_column(capsys, folder, models, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"id": "a\\tb", "text": "x1 the y1"}\n{"id": "c\\nd", "text": "z1 z2"}\n')
    code, out, err = run(capsys, "topics", "apply", models["switching"], tmp_path / "docs.jsonl", "--top", 1)
    assert code == 0 and [row[0] for row in table(out)] == ["document", "a\\tb", "c d"], err


# ---- scores


@pytest.mark.parametrize("method", METHODS)
def test_score_gives_sentences_and_words_in_the_units_of_language_models(capsys, folder, models, method):
    model, corpus = corpuscle.load(models[method]), read_documents(folder / "docs")
    logs = model.log_probabilities(corpus)
    code, out, err = run(capsys, "topics", "score", models[method], folder / "docs")
    heading, *rows = table(out)
    assert code == 0 and heading == ["sentence", "tokens", "oov", "log10", "perplexity", "document"], err
    sums = np.add.reduceat(logs, corpus.sentence_starts[:-1])
    assert [int(row[0]) for row in rows] == list(range(1, 13))
    assert [int(row[1]) for row in rows] == corpus.lengths.tolist()
    assert [float(row[3]) for row in rows] == pytest.approx(sums / math.log(10), rel=1e-5)
    assert [float(row[4]) for row in rows] == pytest.approx(np.exp(-sums / corpus.lengths), abs=1e-4)
    assert [row[5] for row in rows] == ["first"] * 4 + ["second"] * 4 + ["third"] * 4
    code, out, err = run(capsys, "topics", "score", models[method], folder / "docs", "--by-word")
    heading, *rows = table(out)
    assert code == 0 and heading == ["sentence", "word", "bits", "oov", "document"], err
    assert [row[1] for row in rows] == [word for sentence in corpus for word in sentence]
    assert [float(row[2]) for row in rows] == pytest.approx(-logs / math.log(2), abs=1e-4)


def test_score_counts_unknown_words(capsys, folder, models):
    _, out, _ = run(capsys, "topics", "score", models["switching"], folder / "odd.txt")
    assert [row[1:3] + row[5:] for row in table(out)[1:]] == [["3", "3", "1"], ["1", "1", "1"], ["2", "2", "2"]]
    _, out, _ = run(capsys, "topics", "score", models["switching"], folder / "odd.txt", "--by-word")
    assert [row[3] for row in table(out)[1:]] == ["1"] * 6


# ---- topics

TOPIC = {
    "number": int, "share": FRACTION, "words": [[Any]],
    "phrases": [{"text": str, "score": FRACTION, "customers": int}],
}  # fmt: skip
SHOWN = {
    "topics": [TOPIC], "global": Any,
    "contexts?": [{"text": str, "topical": FRACTION, "customers": int}],
}  # fmt: skip


@pytest.mark.parametrize("method", TOPICAL)
def test_topics_are_shown_as_text_as_a_table_and_as_json(capsys, models, tmp_path, method):
    code, out, err = run(capsys, "topics", "show", models[method], "--tsv", tmp_path / "t.tsv", "--phrases", 2)
    assert code == 0 and out.startswith("topic "), err
    shown = run_json(capsys, SHOWN, "topics", "show", models[method], "--phrases", 2)
    shared = shown["global"] is not None
    assert shared == (method in ("hierarchical", "switching")) == ("\nthe global topic" in out)
    if shared:
        conforms(shown["global"], TOPIC)
    found = shown["topics"] + [shown["global"]] * shared
    heading, *rows = table((tmp_path / "t.tsv").read_text())
    assert heading == ["topic", "share", "words", "phrases"]
    for row, topic in zip(rows, found, strict=True):
        words, phrases = (word for word, _ in topic["words"]), (phrase["text"] for phrase in topic["phrases"])
        assert row == [str(topic["number"]), f"{topic['share']:.6g}", " ".join(words), " | ".join(phrases)]
    code, out, err = run(capsys, "topics", "show", models[method], "--tsv", "-", "--phrases", 2)
    assert code == 0 and table(out) == [heading, *rows], err


def test_a_model_without_topics_says_so(capsys, models):
    code, out, _ = run(capsys, "topics", "show", models["hpylm"])
    assert code == 0 and out == "no topics: a model of the method hpylm is one n-gram model\n"
    run_json(capsys, SHOWN, "topics", "show", models["hpylm"])


@pytest.mark.parametrize("method", ["hierarchical", "switching"])
def test_contexts_with_few_customers_are_shown_on_demand(capsys, models, method):
    few, many = (
        run_json(capsys, SHOWN, "topics", "show", models[method], "--contexts", 500, "--least", least)["contexts"]
        for least in (40, 1)
    )
    assert len(few) < len(many) and min(row["customers"] for row in few) >= 40
    assert min(row["customers"] for row in many) < 20
    code, out, _ = run(capsys, "topics", "show", models[method], "--contexts", 500)
    at = out.splitlines().index("topical\tcustomers\tcontext")
    rows = table(out)[at + 1 :]
    assert code == 0 and [row[2] for row in rows].count("(no context)") == 1 and "" not in [row[2] for row in rows]


def test_nothing_is_drawn_or_written_before_all_options_are_known_to_be_good(capsys, models, tmp_path):
    files = ["--figure", tmp_path / "topics.svg", "--tsv", tmp_path / "topics.tsv"]
    for method, options, reason in (
        ("hpytm", ["--contexts", 5], "how topical a context is"),
        ("switching", ["--least", 5], "--least means nothing without --contexts"),
        ("switching", ["--figure", tmp_path / "no" / "such.svg"], "no such folder"),
    ):
        code, out, err = run(capsys, "topics", "show", models[method], *files, *options)
        assert code == 2 and reason in err and out == "", err
    assert list(tmp_path.iterdir()) == []


# ---- marked texts

MARKED = {"documents": [{"document": str, "sentences": [[{"word": str, "topical": FRACTION, "topic": int}]]}]}


def said(document):
    return [" ".join(word["word"] for word in sentence) for sentence in document["sentences"]]


@pytest.mark.parametrize("method", MARKING)
def test_marked_texts_keep_their_names_and_sentences(capsys, folder, models, method):
    found = run_json(capsys, MARKED, "topics", "mark", models[method], folder / "docs")["documents"]
    assert [document["document"] for document in found] == ["first", "second", "third"]
    for document in found:
        assert said(document) == (folder / "docs" / f"{document['document']}.txt").read_text().splitlines()
    code, out, err = run(capsys, "topics", "mark", models[method], folder / "docs", "--workers", 1)
    expected = [
        f"# {document['document']}\n"
        + "".join(f"{w['word']}\t{w['topical']:.6g}\t{w['topic']}\n" for s in document["sentences"] for w in s)
        for document in found
    ]
    assert code == 0 and out == "\n".join(expected), err
    code, out, err = run(capsys, "topics", "mark", models[method], folder / "docs", "--lines", "--workers", 3)
    expected = [
        f"# {document['document']}\n"
        + "".join(
            " ".join(f"{w['word']}/{w['topic'] if w['topical'] > 0.5 else 0}" for w in sentence) + "\n"
            for sentence in document["sentences"]
        )
        for document in found
    ]
    assert code == 0 and out == "\n".join(expected), err


def test_documents_without_names_have_no_headings(capsys, folder, models):
    code, out, _ = run(capsys, "topics", "mark", models["switching"], folder / "test.txt", "--lines")
    words = [[token.rpartition("/")[0] for token in line.split()] for line in out.splitlines()]
    assert code == 0 and [" ".join(line) for line in words] == (folder / "test.txt").read_text().splitlines()
    found = run_json(capsys, MARKED, "topics", "mark", models["switching"], folder / "test.txt")["documents"]
    assert [document["document"] for document in found] == ["1", "2", "3", "4", "5", "6"]


def test_a_document_of_one_word_can_be_marked(capsys, models, tmp_path):
    (tmp_path / "one.txt").write_text("x1\n")
    found = run_json(capsys, MARKED, "topics", "mark", models["switching"], tmp_path / "one.txt")["documents"]
    assert [said(document) for document in found] == [["x1"]]
    found = run_json(capsys, {"documents": [ABOUT]}, "topics", "apply", models["switching"], tmp_path / "one.txt")
    assert found["documents"][0]["words"] == 1


def test_a_file_of_marks_and_json_can_be_had_at_once(capsys, folder, models, tmp_path):
    arguments = ["topics", "mark", models["switching"], folder / "docs"]
    _, out, _ = run(capsys, *arguments)
    run_json(capsys, MARKED, *arguments, "-o", tmp_path / "marks.tsv", "--figure", tmp_path / "first.svg")
    assert (tmp_path / "marks.tsv").read_text() == out and (tmp_path / "first.svg").read_text().startswith("<svg")
