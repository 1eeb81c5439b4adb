"""The best model for a text: what pays stays, what does not goes, and what is saved is a plain mixture."""

import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import SettingError
from corpuscle.lm import AutoModel, HpyModel, Mixture, NgramModel, PlreModel, mixture
from corpuscle.lm.mixture import em_weights
from corpuscle.text import Corpus
from tests.lm.test_ngram import zipf_corpus

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(mixture, "SWEEPS", 6)
    monkeypatch.setattr(mixture, "CLASSES", 5)


def test_it_is_at_least_as_good_as_its_parts_and_its_weights_sum_to_one(tmp_path):
    train, dev = zipf_corpus(), zipf_corpus(seed=4)
    model = AutoModel(order=2, min_count=1).fit(train, dev)
    assert set(model.parts_) == {"mkn", "plre", "class", "cache", "hpy"}
    assert sum(part["weight"] for part in model.parts_.values()) == pytest.approx(1.0, abs=1e-6)
    ours = float(model.perplexity(dev, draws=1)["perplexity"])
    assert ours <= min(part["perplexity"] for part in model.parts_.values()) * 1.001
    assert all((part["weight"] > 0) == (part["contribution"] > 0) for part in model.parts_.values())
    model.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert isinstance(loaded, Mixture | NgramModel | PlreModel | HpyModel)
    np.testing.assert_array_equal(loaded.events(dev).log_probability, model.events(dev).log_probability)


def test_a_cache_pays_where_documents_repeat_their_words_and_not_elsewhere():
    chance, text, sentences = np.random.default_rng(2), zipf_corpus(types=60, sentences=600), []
    for _ in range(8):
        topic = chance.choice(60, 4, replace=False)
        sentences += [[f"w{i}" for i in chance.choice(topic, 8)] for _ in range(5)]
    repeating = Corpus.from_sentences(sentences).with_documents(np.arange(9) * 5)
    weights = []
    for dev in (repeating, text[400:]):
        weights.append(AutoModel(order=2, min_count=1).fit(text[:400], dev).parts_["cache"]["weight"])
    assert weights[0] > 0.3 and weights[1] < 0.05


def test_weights_of_one_model_are_one_and_those_of_equal_models_equal():
    probabilities = np.array([[0.2, 0.5, 0.1], [0.2, 0.5, 0.1]])
    np.testing.assert_array_equal(em_weights(probabilities[:1]), [1.0])
    np.testing.assert_allclose(em_weights(probabilities), [0.5, 0.5])


def test_it_needs_a_development_text_and_sentences():
    with pytest.raises(SettingError, match="development text"):
        AutoModel().fit(zipf_corpus())
    with pytest.raises(SettingError, match="boundary"):
        AutoModel(boundary="none").fit(zipf_corpus(), zipf_corpus(seed=4))


def test_the_command_says_what_each_part_does(tmp_path, capsys):
    for name, seed in (("train", 3), ("dev", 4)):
        lines = [" ".join(sentence) for sentence in zipf_corpus(seed=seed, sentences=150)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    train = ["lm", "train", str(tmp_path / "train"), "-o", str(tmp_path / "m"), "--min-count", "1"]
    command = [*train, "--method", "auto"]
    assert main(command) == 2 and "development text" in capsys.readouterr().err
    assert main([*command, "--dev", str(tmp_path / "dev"), "--order", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["method"] == "auto" and len(found["parts"]) == 5
    assert main([*command, "--dev", str(tmp_path / "dev"), "--order", "2"]) == 0
    assert "without it" in capsys.readouterr().out
    assert main(["lm", "perplexity", str(tmp_path / "m"), str(tmp_path / "dev")]) == 0
    assert main([*train, "--documents", "x"]) == 2 and "--documents means nothing" in capsys.readouterr().err
