"""Claims about the baselines of word segmentation: Dirichlet processes over words, and rules that learn nothing."""

from __future__ import annotations

import numpy as np
import pytest

import corpuscle
from corpuscle import measure
from corpuscle.errors import Interrupted, SettingError
from corpuscle.random import Random
from corpuscle.segment import DirichletSegmenter, TrivialSegmenter
from corpuscle.text import Corpus, read_strings
from tests.hostile import survives_hostile_edits


def gold_text(sentences: int = 150, seed: int = 1) -> Corpus:
    """Independent draws from thirty words over ten letters."""
    stream = Random(seed, "test segmentation")
    words = list({"".join("abcdefghij"[stream.below(10)] for _ in range(2 + stream.below(3))) for _ in range(30)})
    words.sort()
    return Corpus.from_sentences(
        [[words[min(stream.below(30), stream.below(30)) % len(words)] for _ in range(3 + stream.below(4))]
         for _ in range(sentences)]
    )  # fmt: skip


def segmenter(method: str = "bigram", **settings) -> DirichletSegmenter:
    return DirichletSegmenter(method=method, **{"sweeps": 30, "spaces": "remove", "workers": 1, **settings})


@pytest.mark.parametrize("method", ["unigram", "bigram"])
def test_words_are_found_without_being_shown(method):
    gold = gold_text()
    model = segmenter(method, strengths=[20.0] if method == "unigram" else [20.0, 20.0]).fit(gold)
    scores = measure.segmentation_scores(gold, model.segment(gold), draws=1)
    assert scores["f1"] > 0.7
    assert model.history_.shape[1] == 31 and np.isfinite(model.history_[0, :, 0]).all()
    assert model.history_[0, -1, 0] > model.history_[0, 0, 0]
    perplexity = model.perplexity(gold, draws=1)["perplexity"]
    assert 1.0 < perplexity < 10.0
    lexicon = model.lexicon()
    assert {entry.word for entry in lexicon[:10]} <= {word for line in gold for word in line}


def test_given_words_stay_and_teach_the_rest():
    gold = gold_text(200)
    some = gold.select(np.arange(len(gold)) % 2 == 0)
    model = segmenter().fit(gold.select(np.arange(len(gold)) % 2 == 1), some)
    chain_words = sum(entry.occurrences for entry in model.lexicon())
    assert chain_words == model.history_[0, -1, 2]
    assert measure.segmentation_scores(gold, model.segment(gold), draws=1)["f1"] > 0.8


def test_forced_boundaries_are_kept():
    text = Corpus.from_sentences([["abab", "ab"], ["abcabc"]] * 5)
    model = segmenter(spaces="forced").fit(text)
    for given, found in zip(text, model.segment(text), strict=True):
        starts = {"".join(found[:k]) for k in range(len(found) + 1)}
        assert {"".join(given[:k]) for k in range(len(given) + 1)} <= starts


@pytest.mark.parametrize("method", ["unigram", "bigram"])
def test_lines_of_one_letter_and_long_joined_stretches(method):
    letters = Corpus.from_sentences([[letter] for letter in "abcdefghij"])
    assert list(segmenter(method, sweeps=2).fit(letters).segment(letters)) == list(letters)
    text = read_strings(["abcdefg+h+i+j+kab"] * 5)
    model = DirichletSegmenter(method=method, sweeps=3, max_word=6, joiner="+").fit(text)
    assert all("ghijk" in " ".join(words) and max(map(len, words)) <= 6 for words in model.segment(text))


@pytest.mark.parametrize("method", ["unigram", "bigram"])
def test_the_same_seed_gives_the_same_file_and_a_file_the_same_words(tmp_path, method):
    gold = gold_text(40)
    for name in ("a", "b"):
        segmenter(method, sweeps=5).fit(gold).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded = corpuscle.load(tmp_path / "a")
    assert isinstance(loaded, DirichletSegmenter) and loaded.method == method
    assert list(loaded.segment(gold)) == list(segmenter(method, sweeps=5).fit(gold).segment(gold))
    assert list(loaded.segment(Corpus.from_sentences([["xyz"], []])))[1] == []


def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    gold, settings = gold_text(60), {"sweeps": 6}
    segmenter(**settings).fit(gold).save(tmp_path / "whole")
    model = segmenter(**settings)
    with pytest.raises(Interrupted), model.checkpoint(gold, None, tmp_path / "part") as checkpoint:
        after = checkpoint.after

        def stop_at_three(iteration, *arguments, **more):
            if iteration == 3:
                checkpoint._stop.requested = True
            after(iteration, *arguments, **more)

        monkeypatch.setattr(checkpoint, "after", stop_at_three)
        model.fit(gold, checkpoint=checkpoint)
    again = segmenter(**settings)
    with again.checkpoint(gold, None, tmp_path / "part", resume=True) as checkpoint:
        assert checkpoint.iteration == 3
        again.fit(gold, checkpoint=checkpoint).save(tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


def test_damaged_models_are_refused(tmp_path):
    text = gold_text(20)
    segmenter(sweeps=3).fit(text).save(tmp_path / "m")

    def use(path):
        corpuscle.load(path).segment(text[:3])

    assert survives_hostile_edits(tmp_path / "m", use, edits=100) > 20


def test_damaged_unfinished_work_is_refused(tmp_path):
    text, path = gold_text(10), tmp_path / "m"
    model = segmenter()
    with pytest.raises(Interrupted), model.checkpoint(text, None, path) as checkpoint:
        checkpoint._stop.requested = True
        model.fit(text, checkpoint=checkpoint)
    partial = tmp_path / "m.partial"
    whole = partial.read_bytes()

    def use(damaged):
        partial.write_bytes(damaged.read_bytes())
        again = segmenter()
        with again.checkpoint(text, None, path, resume=True) as checkpoint:
            checkpoint._stop.requested = damaged.read_bytes() != whole
            try:
                again.fit(text, checkpoint=checkpoint)
            except Interrupted:
                checkpoint._stop.requested = False

    (tmp_path / "copy").write_bytes(whole)
    survives_hostile_edits(tmp_path / "copy", use, edits=60)


def test_settings_that_make_no_sense_are_refused():
    for settings in (
        {"method": "trigram"},
        {"strengths": [1.0]},
        {"strengths": [1.0, -1.0]},
        {"word_end": 1.0},
        {"anneal": 1},
    ):
        with pytest.raises(SettingError):
            segmenter(**settings)
    for settings in ({"method": "words"}, {"units": "words"}):
        with pytest.raises(SettingError):
            TrivialSegmenter(**settings)


def test_rules_cut_everywhere_or_nowhere(tmp_path):
    text = Corpus.from_sentences([["ab", "c"], [], ["d"]])
    assert list(TrivialSegmenter(method="letters").segment(text)) == [["a", "b", "c"], [], ["d"]]
    assert list(TrivialSegmenter(method="lines").segment(text)) == [["ab", "c"], [], ["d"]]
    assert list(TrivialSegmenter(method="lines").segment(text, spaces="remove")) == [["abc"], [], ["d"]]
    TrivialSegmenter(method="lines", units="graphemes").save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    assert (loaded.method, loaded.units) == ("lines", "graphemes")
    assert b"".join(TrivialSegmenter(method="letters").segment_lines(iter([text]))) == b"a b c\n\nd\n"
