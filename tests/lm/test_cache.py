"""Caches: against the sum written out, in mixtures, and over documents however they are cut."""

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import SettingError
from corpuscle.lm import CacheModel, Mixture, NgramModel, base
from corpuscle.text import Corpus
from corpuscle.text.vocab import END, START
from tests.lm.test_ngram import zipf_corpus

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


def cache(**settings):
    return CacheModel(**({"min_count": 1, "half_life": 5, "strength": 2.0} | settings)).fit(zipf_corpus(types=8))


@pytest.mark.parametrize("boundary", ["single", "none"])
def test_every_event_has_the_share_of_the_formula(boundary):
    model = cache(boundary=boundary)
    text = Corpus.from_sentences([["w1", "w2"], ["w1"], ["w3", "new"], ["w1"]]).with_documents([0, 2, 4])
    events = model.events(text)
    decay, at = 0.5 ** (1 / 5), 0
    for document in ([["w1", "w2"], ["w1"]], [["w3", "new"], ["w1"]]):
        ends = [END] if boundary == "single" else []
        stream = [id for sentence in document for id in [*model.vocab_.encode(sentence).tolist(), *ends]]
        for t, word in enumerate(stream):
            weights = [decay ** (t - 1 - i) for i in range(t)]
            here = sum(weight for weight, other in zip(weights, stream, strict=False) if other == word)
            expected = (here + 2.0 * model.base_[word]) / (sum(weights) + 2.0)
            assert np.exp(events.log_probability[at]) == pytest.approx(expected, rel=1e-12)
            at += 1
    assert at == len(events.log_probability) and events.unknown.sum() == 1


def test_it_sums_to_one_and_its_distribution_is_that_of_its_events():
    model = cache()
    words = ["w1", "w2", "w1", "never"]
    events = model.events(Corpus.from_sentences([words]))
    for i, word in enumerate(words):
        distribution = model.distribution(["<s>", *words[:i]])
        assert distribution.sum() == pytest.approx(1.0, abs=1e-12) and distribution[START] == 0.0
        expected = np.exp(events.log_probability[i])
        assert distribution[model.vocab_.encode([word])[0]] == pytest.approx(expected, rel=1e-12)


def test_empty_sentences_part_documents_where_there_are_none_and_pieces_keep_them_whole(monkeypatch):
    model = cache()
    sentences = [["w1", "w2"], ["w1"], [], ["w1"], ["w2", "w1"], []] * 5
    text = Corpus.from_sentences(sentences)
    whole = model.events(text).log_probability
    starts = [i for i in range(len(sentences) + 1) if i % 3 == 0]
    assert np.array_equal(model.events(text.with_documents(starts)).log_probability, whole)
    assert not np.array_equal(model.events(text.with_documents([0, len(sentences)])).log_probability, whole)
    monkeypatch.setattr(base, "_EVENTS", 5)
    for workers in (1, 3):
        model.workers = workers
        assert np.array_equal(model.events(text).log_probability, whole)


def test_a_mixture_with_a_cache_predicts_what_was_said_before():
    train = zipf_corpus(types=60, sentences=200)
    ngram = NgramModel(order=2, min_count=1).fit(train)
    chance = np.random.default_rng(2)
    documents = []
    for _ in range(12):
        topic = [f"w{i}" for i in chance.choice(60, 5, replace=False)]
        documents.append([[str(word) for word in chance.choice(topic, 8)] for _ in range(5)])
    dev, test = (
        Corpus.from_sentences([s for d in part for s in d]).with_documents(np.arange(len(part) + 1) * 5)
        for part in (documents[:6], documents[6:])
    )
    mixture = Mixture([ngram, CacheModel(min_count=1).fit(train)]).fit(dev)
    assert mixture.by_document
    ours, theirs = (float(model.perplexity(test, draws=1)["perplexity"]) for model in (mixture, ngram))
    assert ours < 0.6 * theirs
    assert mixture.distribution(["<s>", "w1"]).sum() == pytest.approx(1.0, abs=1e-12)


def test_the_command_trains_mixes_and_reads_an_index_of_documents(tmp_path, capsys):
    text, index, paths = tmp_path / "text", tmp_path / "docs.tsv", [str(tmp_path / name) for name in "abm"]
    text.write_text("\n".join(" ".join(sentence) for sentence in zipf_corpus() if sentence) + "\n")
    lines = text.read_text().count("\n")
    index.write_text(f"first_line\tlines\n1\t20\n21\t{lines - 20}\n")
    assert main(["lm", "train", str(text), "-o", paths[0], "--min-count", "1"]) == 0
    assert main(["lm", "train", str(text), "-o", paths[1], "--min-count", "1", "--method", "cache"]) == 0
    command = ["lm", "mix", *paths[:2], "-o", paths[2], "--dev", str(text)]
    assert main([*command, "--documents", str(index)]) == 0
    capsys.readouterr()
    outputs = []
    for more in ([], ["--documents", str(index)]):
        assert main(["lm", "perplexity", paths[2], str(text), *more]) == 0
        assert main(["lm", "score", paths[1], str(text), *more]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] != outputs[1] and outputs[0].count("\n") == outputs[1].count("\n")
    for wrong in (["perplexity", paths[0]], ["score", paths[0]]):
        assert main(["lm", *wrong, str(text), "--documents", str(index)]) == 2
        assert "no cache" in capsys.readouterr().err


def test_a_saved_cache_scores_the_same_and_wrong_settings_are_refused(tmp_path):
    model, text = cache(), zipf_corpus(seed=4)
    model.save(tmp_path / "m")
    again = corpuscle.load(tmp_path / "m").events(text).log_probability
    assert np.array_equal(again, model.events(text).log_probability)
    for settings in ({"half_life": 0}, {"strength": 0.0}):
        with pytest.raises(SettingError):
            CacheModel(**settings)
