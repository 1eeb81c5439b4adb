"""Word segmentation: ``NestedSegmenter`` and ``corpuscle segment``."""

import json

import numpy as np
import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.errors import CorpuscleWarning, InputError, Interrupted, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.measure import segmentation_scores
from corpuscle.model import read
from corpuscle.segment import NestedSegmenter, letters_of, word_corpus
from corpuscle.segment.chain import check_sample
from corpuscle.segment.letters import (
    FORBIDDEN,
    FORCED,
    LONGEST_LINE,
    around_punctuation,
    pieces,
    prepare,
    segmented_bytes,
    typical,
)
from corpuscle.text import Corpus, read_strings
from corpuscle.text.scripts import TYPES
from tests.hostile import survives_hostile_edits
from tests.mutation import survives
from tests.schemas import FRACTION, last_line_conforms
from tests.tiny_models import FOLDER


def language(seed=1, sentences=150, words=30):
    """Sentences of words that were drawn independently, frequency by rank."""
    random = np.random.default_rng(seed)
    lexicon = sorted({"".join(random.choice(list("abdegiklmnou"), random.integers(2, 5))) for _ in range(words)})
    weights = 1 / np.arange(1, len(lexicon) + 1)
    return [list(random.choice(lexicon, random.integers(2, 6), p=weights / weights.sum())) for _ in range(sentences)]


def raw(sentences):
    return Corpus.from_sentences([["".join(sentence)] if sentence else [] for sentence in sentences])


GOLD = language()


@pytest.fixture(scope="module")
def model():
    return NestedSegmenter(sweeps=12, max_word=6, samples=2, workers=2).fit(raw(GOLD))


# ---- letters


def test_letters_know_where_white_space_and_joiners_stood():
    corpus = read_strings(["ab c", "", "d", "e+f \u2581g"], unk_token="literal")
    letters = letters_of(corpus, joiner="+")
    assert [letters.vocab.word(i) for i in letters.tokens] == list("abcdef\u2581g")
    assert letters.starts.tolist() == [0, 3, 3, 4, 8]
    assert letters.gaps.tolist() == [0, 0, FORCED, 0, 0, FORBIDDEN, FORCED, 0]
    cuts = np.array([1, 0, 1, 1, 1, 0, 1, 0], np.uint8)
    assert segmented_bytes(letters, cuts, "characters").decode() == "ab c\n\nd\nef \u2581g\n"
    assert [list(s) for s in word_corpus(letters, cuts, "characters")] == [["ab", "c"], [], ["d"], ["ef", "\u2581g"]]


def test_phrases_are_words_with_marks_between_them():
    letters = letters_of(read_strings(["new york is big"]), "words")
    cuts = np.array([1, 0, 1, 1], np.uint8)
    assert segmented_bytes(letters, cuts, "words") == b"new_york is big\n"


def test_reserved_symbols_are_text_like_any_other():
    for unk_token in ("unknown", "literal"):
        letters = letters_of(read_strings(["ab <unk> </s>"], unk_token=unk_token))
        assert segmented_bytes(letters, (letters.gaps == FORCED).astype(np.uint8), "characters") == b"ab <unk> </s>\n"
    phrase = letters_of(read_strings(["new york <unk> is"]), "words")
    assert segmented_bytes(phrase, np.zeros(4, np.uint8), "words") == b"new_york_<unk>_is\n"


def test_long_lines_are_cut_after_punctuation():
    line = "a" * 300 + "." + "b" * 300 + "c" * 600
    with pytest.warns(CorpuscleWarning, match="1 lines have more than 500"):
        starts = pieces(letters_of(read_strings([line, "ab"])))
    assert starts[1] == 301 and np.diff(starts).max() <= LONGEST_LINE and starts[-2:].tolist() == [1201, 1203]


def test_the_script_suggests_types_and_lengths():
    for text, expected in (
        ("yu want tu si", (False, 10)),
        ("今天天气很好。", (True, 4)),
        ("今日はいい天気です", (True, 8)),
    ):
        letters = letters_of(read_strings([text]))
        assert typical(letters.vocab, letters.tokens) == expected


def test_punctuation_stands_alone_but_for_numbers():
    letters = letters_of(read_strings(["\u4f60\u597d\u3002\u201d5.3\uff05\u5927\u2026\u2026", "\u3002\u597d"]))
    gaps = around_punctuation(letters, letters.gaps)
    assert gaps.tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1]


# ---- learning


def test_punctuation_that_is_part_of_given_words_is_a_letter():
    names = ["ジョン・スミス", "ポール・スミス", "ジョン・レノン"]
    gold = read_strings([f"{name} は 来た 。" for name in names] * 4, unk_token="literal")
    model = NestedSegmenter(sweeps=5, max_word=8).fit(gold=gold)
    assert model.types_ and model.inner_marks_ == ["・"]
    assert segmentation_scores(gold, model.segment(gold, spaces="remove"), draws=1)["f1"] == 1.0
    letters = letters_of(read_strings(["・は。"]))
    assert around_punctuation(letters, letters.gaps, ["・"]).tolist() == [0, 0, FORCED]


def test_words_are_found_without_any_dictionary(model):
    found = model.segment(raw(GOLD))
    scores = segmentation_scores(Corpus.from_sentences(GOLD), found, draws=10)
    assert scores["f1"] > 0.7 and scores["lexicon_f1"] > 0.6
    assert ["".join(s) for s in found] == ["".join(s) for s in GOLD]
    assert model.history_.shape == (1, 13, len(model.history_columns()))
    assert model.history_[0, -1, 0] > model.history_[0, 0, 0]


def test_segmented_lines_help_and_are_enough():
    train, test = GOLD[:100], GOLD[100:]
    gold = Corpus.from_sentences(test)
    supervised = NestedSegmenter(sweeps=5, max_word=6).fit(gold=Corpus.from_sentences(train))
    assert segmentation_scores(gold, supervised.segment(raw(test)), draws=10)["f1"] > 0.95
    both = NestedSegmenter(sweeps=5, max_word=6).fit(raw(test), Corpus.from_sentences(train[:50]))
    assert segmentation_scores(gold, both.segment(raw(test)), draws=10)["f1"] > 0.9
    spaced = NestedSegmenter(sweeps=5, max_word=6, spaces="gold").fit(Corpus.from_sentences(train))
    assert segmentation_scores(gold, spaced.segment(raw(test)), draws=10)["f1"] > 0.95


def test_long_given_words_are_kept_but_never_proposed():
    gold = Corpus.from_sentences([["abcdefghijkl", "ab"], ["cd", "ab"]] * 5)
    with pytest.warns(CorpuscleWarning, match="5 given words are longer than 4"):
        model = NestedSegmenter(sweeps=3, max_word=4).fit(raw([["ab", "cd"]]), gold)
    assert "abcdefghijkl" in {entry.word for entry in model.lexicon()}
    assert max(len(w) for s in model.segment(raw([["abcdefghijkl", "ab"]])) for w in s) <= 4


def test_spaces_are_forced_boundaries_unless_they_are_removed():
    text = read_strings(["abab ab", "ab ab", "a babab"] * 5)
    model = NestedSegmenter(sweeps=5).fit(text)
    cut = [" ".join(s) for s in model.segment(text)]
    assert all(line.replace(" ", "") == "".join(w) for line, w in zip(cut, text, strict=True))
    assert cut[2].startswith("a ")
    assert [" ".join(s) for s in model.segment(text, spaces="remove")][2].startswith("ab")


def test_words_are_split_where_a_model_is_applied_as_they_were_in_training():
    text = ["ab,ab.", "aba,b.", "b,a,ab."] * 4
    for tokenise, apart in (("simple", True), ("none", False)):
        model = NestedSegmenter(sweeps=1, max_word=6, types=False, tokenise=tokenise)
        model.fit(read_strings(text, **model.reading))
        written = read_strings(["ab,b.", "é,ab,ab."], unk_token="literal")
        letters, probabilities = model.posterior(written, draws=20)
        beside = [letters.vocab.word(letter) in ",." for letter in letters.tokens.tolist()]
        assert all(p == 1.0 for p, mark in zip(probabilities, beside, strict=True) if mark) == apart
        if apart:
            assert all(len(word) == 1 or word.isalpha() for line in model.segment(written) for word in line)
        assert ["".join(line) for line in model.segment(written)] == ["ab,b.", "é,ab,ab."]


def test_joiners_forbid_boundaries():
    model = NestedSegmenter(sweeps=5, joiner="+").fit(read_strings(["abab", "ab", "ab", "b+a", "ab+ab"]))
    assert all("b a" not in " ".join(s) for s in model.segment(read_strings(["ab+ab", "b+a"])))
    with pytest.raises(InputError, match="a stretch without boundaries"):
        NestedSegmenter(sweeps=1, joiner="+", max_word=3).fit(read_strings(["a+b+c+d"]))


def test_a_stretch_that_no_word_can_be_is_refused_where_it_stands(model):
    joined = NestedSegmenter(sweeps=2, joiner="+", max_word=4).fit(read_strings(["abab", "ab", "ba"]))
    texts = [read_strings(["ab", "ba"]), read_strings(["ab", "", "ab" * 300, "ab+a+b+a+b"])]
    with pytest.raises(InputError) as error:
        list(joined.segment_lines(iter(texts)))
    assert error.value.line == 6
    with pytest.raises(InputError, match="longer than a word of 4"):
        joined.perplexity(texts[1][3:])


def test_phrases_of_words_are_found():
    random = np.random.default_rng(1)
    lines = [" ".join(random.choice(["new york", "is", "was", "big", "he"], 6)) for _ in range(120)]
    model = NestedSegmenter(sweeps=10, units="words", max_word=3).fit(read_strings(lines))
    found = [word for sentence in model.segment(read_strings(lines)) for word in sentence]
    assert found.count("new_york") > 0.6 * sum(line.count("new york") for line in lines)


def test_empty_lines_stay_and_single_letters_are_sentences():
    text = Corpus.from_sentences([["a"], [], ["ab"], ["a"], []])
    for model in (NestedSegmenter(sweeps=2).fit(text), NestedSegmenter(sweeps=2).fit(text[:2], text[2:])):
        assert [len(s) > 0 for s in model.segment(text)] == [True, False, True, True, False]
    assert [list(s) for s in model.segment(Corpus.from_sentences([["zzz"], []]))][1] == []


@pytest.mark.parametrize("order, length", [(2, 250), (3, 7), (2, 30)])
def test_there_is_always_room(order, length):
    random = np.random.default_rng(length)
    text = Corpus.from_sentences([["".join(random.choice(list("ab"), length))] for _ in range(40)])
    found = NestedSegmenter(order=order, sweeps=2, mh=True).fit(text).segment(text)
    assert ["".join(words) for words in found] == ["".join(letters) for letters in text]


def test_a_chain_begins_with_given_words_and_words_of_branching_entropy():
    text = raw(GOLD)
    first = prepare(text, None, NestedSegmenter(max_word=6))[1].first_words(6)
    ways = [NestedSegmenter(sweeps=1, max_word=6, start=start) for start in ("branching", "growing")]
    begun, grown = (model.fit(text) for model in ways)
    assert begun.history_[0, 0, 2] == first.sum()
    assert np.isnan(begun.history_[0, 0, 1]) and grown.history_[0, 0, 1] > 1.0  # nothing has been cut; all has been
    few, many = (Corpus.from_sentences(lines) for lines in ([["ab", "ba"]], GOLD))
    _, material = prepare(text, few, ways[0])
    assert ways[0].fit(text, few).history_[0, 0, 2] == material.first_words(6).sum()
    assert material.first_words(6)[-4:].tolist() == [1, 0, 1, 0]
    begun, grown = (model.fit(text, many) for model in ways)
    assert np.array_equal(begun.history_, grown.history_)


def test_few_given_lines_are_no_worse_than_none():
    gold = Corpus.from_sentences(language(2, 400, 60))
    text, found = gold[10:], []
    for given in (None, gold[:1], gold[:10]):
        model = NestedSegmenter(sweeps=20, max_word=6, spaces="remove").fit(text, given)
        found.append(segmentation_scores(text, model.segment(text), draws=1)["f1"])
    assert min(found[1:]) > found[0] - 0.02


@pytest.mark.parametrize(
    "settings",
    [{"order": 3}, {"mh": True}, {"length_norm": "paper"}, {"units": "graphemes"}, {"start": "growing"}],
)
def test_other_settings_segment_too(settings):
    model = NestedSegmenter(sweeps=3, max_word=6, **settings).fit(raw(GOLD[:40]))
    assert len(model.segment(raw(GOLD[:40]))) == 40


# ---- measuring


def test_perplexity_sums_over_segmentations_and_the_best_is_one_of_them(model):
    text = raw(GOLD[:20])
    every, best = model.perplexity(text, draws=10), model.perplexity(text, best=True, draws=10)
    assert 1 < every["perplexity"] < best["perplexity"] < 20
    assert every["letters"] == sum(len("".join(s)) for s in GOLD[:20]) and every["unknown"] == 0
    assert best["word_perplexity"] > best["perplexity"]
    strange = model.perplexity(raw([["\u4e2d\u6587"]]), draws=10)
    assert strange["unknown"] == 2 and np.isfinite(strange["perplexity"])


def test_the_perplexity_of_given_words_is_that_of_one_segmentation(model):
    gold = Corpus.from_sentences(GOLD[:20])
    given, all_of_them = (model.perplexity(gold, spaces=s, draws=1)["perplexity"] for s in ("gold", "remove"))
    best = model.segment(gold, spaces="remove")
    assert all_of_them < model.perplexity(best, spaces="gold", draws=1)["perplexity"] <= given
    of_best = model.perplexity(gold, best=True, draws=1)["perplexity"]
    assert model.perplexity(best, spaces="gold", draws=1)["perplexity"] == pytest.approx(of_best, rel=1e-12)


def test_boundary_probabilities_agree_with_the_best_segmentation(model):
    text = raw(GOLD[:40])
    letters, probabilities = model.posterior(text, draws=50)
    again = model.posterior(text, draws=50)[1]
    np.testing.assert_array_equal(probabilities, again)
    assert (probabilities[letters.starts[:-1]] == 1).all() and probabilities.min() >= 0
    model.workers = 1
    [(_, cuts)] = model._cuts([text], None)
    model.workers = 2
    assert ((probabilities > 0.5) == (cuts > 0)).mean() > 0.9


def test_the_lexicon_adds_up(model):
    entries = model.lexicon()
    assert sum(entry.occurrences for entry in entries) == model.history_[0, -1, 2]
    assert [e.occurrences for e in entries] == sorted((e.occurrences for e in entries), reverse=True)
    assert all(1 <= e.tables <= e.occurrences and e.surprisal > 0 and e.type == "any" for e in entries)


def test_chains_differ_and_the_best_one_segments():
    model = NestedSegmenter(sweeps=4, chains=3, max_word=6, workers=2).fit(raw(GOLD[:60]))
    last = model.history_[:, -1, 0]
    assert len(set(last.tolist())) == 3 and len(model.samples_) == 3
    one = NestedSegmenter(sweeps=4, max_word=6).fit(raw(GOLD[:60]))
    np.testing.assert_array_equal(one.history_[0], model.history_[0])
    best = model.samples_[0]["occurrences"].sum() - len(GOLD[:60])
    assert best == model.history_[int(last.argmax()), -1, 2]


# ---- files


def test_a_saved_model_segments_alike_whatever_the_workers(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = corpuscle.load(tmp_path / "m")
    loaded.workers = 1
    assert [list(s) for s in loaded.segment(raw(GOLD))] == [list(s) for s in model.segment(raw(GOLD))]
    assert loaded.lexicon() == model.lexicon()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_damaged_models_are_refused(tmp_path):
    NestedSegmenter(sweeps=2, max_word=4).fit(raw(GOLD[:12])).save(tmp_path / "m")

    def use(path):
        loaded = corpuscle.load(path)
        loaded.segment(raw(GOLD[:3]))
        loaded.posterior(raw(GOLD[:3]), draws=2)
        loaded.perplexity(raw(GOLD[:3]), draws=2)

    assert survives_hostile_edits(tmp_path / "m", use, edits=200) > 60


class Stopping(Checkpoint):
    """Stops after so many steps, as if the user had pressed Ctrl-C."""

    left = 0

    def after(self, *arguments, **named):
        self.left -= 1
        self._stop.requested |= self.left == 0
        super().after(*arguments, **named)


def interrupted(corpus, path, steps, **settings):
    """A run that is stopped after so many steps and resumed: the bytes of its model."""
    model, again = (NestedSegmenter(sweeps=6, max_word=6, samples=2, **settings) for _ in range(2))
    plain = model.checkpoint(corpus, None, path)
    stopping = Stopping(path, plain.kind, plain.settings, plain.signature)
    stopping.left = steps
    with pytest.raises(Interrupted), stopping as checkpoint:
        model.fit(corpus, checkpoint=checkpoint)
    with again.checkpoint(corpus, None, path, resume=True) as checkpoint:
        again.fit(corpus, checkpoint=checkpoint).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("start", ["branching", "growing"])
def test_a_run_that_is_stopped_before_all_sentences_have_come_ends_in_the_same_bytes(tmp_path, monkeypatch, start):
    monkeypatch.setattr("corpuscle.segment.chain._STEP", 400)
    corpus = raw(GOLD * 2)
    NestedSegmenter(sweeps=6, max_word=6, samples=2, start=start).fit(corpus).save(tmp_path / "whole")
    for steps in (1, 3, 6):
        assert interrupted(corpus, tmp_path / "m", steps, start=start) == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("steps", [1, 2, 7, 12])
def test_an_interrupted_run_ends_in_the_same_bytes(tmp_path, steps):
    corpus = raw(GOLD[:40])
    NestedSegmenter(sweeps=6, max_word=6, samples=2, chains=2).fit(corpus).save(tmp_path / "whole")
    assert interrupted(corpus, tmp_path / "m", steps, chains=2) == (tmp_path / "whole").read_bytes()


def test_damaged_unfinished_work_is_refused(tmp_path):
    corpus, path = raw(GOLD[:10]), tmp_path / "m"
    model = NestedSegmenter(sweeps=50, max_word=4)
    with pytest.raises(Interrupted), model.checkpoint(corpus, None, path) as checkpoint:
        checkpoint._stop.requested = True
        model.fit(corpus, checkpoint=checkpoint)
    partial = tmp_path / "m.partial"
    whole = partial.read_bytes()

    def use(damaged):
        partial.write_bytes(damaged.read_bytes())
        again = NestedSegmenter(sweeps=50, max_word=4)
        with again.checkpoint(corpus, None, path, resume=True) as checkpoint:
            checkpoint._stop.requested = damaged.read_bytes() != whole
            try:
                again.fit(corpus, checkpoint=checkpoint)
            except Interrupted:
                checkpoint._stop.requested = False

    copy = tmp_path / "copy"
    copy.write_bytes(whole)
    survives_hostile_edits(copy, use, edits=60)


# ---- settings


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"order": 1}, "order is one of 2, 3"),
        ({"max_word": 0}, "max_word is a whole number from 1"),
        ({"max_context": -1}, "max_context is a whole number from 0"),
        ({"sweeps": 0}, "sweeps is"),
        ({"sweeps": 2, "samples": 3}, "2 sweeps"),
        ({"spaces": "keep"}, "spaces is one of"),
        ({"end_probability": 1.0}, "end_probability is a number between 0.0 and 1.0"),
        ({"joiner": "ab"}, "joiner is one character"),
        ({"units": "bytes"}, "units is one of"),
        ({"start": "gold"}, "start is one of branching, growing"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, reason):
    with pytest.raises(SettingError, match=reason):
        NestedSegmenter(**settings)


def test_spaces_of_a_new_text_are_forced_or_removed(model):
    with pytest.raises(SettingError, match="spaces is forced or remove"):
        model.segment(raw(GOLD[:2]), spaces="gold")


def test_what_is_given_is_saved_as_given_and_what_the_script_decides_stands_beside_it(tmp_path):
    model = NestedSegmenter(sweeps=2, types=False, lowercase=True).fit(raw(GOLD[:20]))
    model.save(tmp_path / "m")
    for same in model, corpuscle.load(tmp_path / "m"):
        assert {name for name, origin in same.origins.items() if origin == "given"} == {
            "sweeps",
            "types",
            "lowercase",
        }
        assert (same.max_word, same.max_word_, same.types_) == (None, 10, False)


def test_a_second_fit_forgets_what_the_first_text_decided():
    model = NestedSegmenter(sweeps=2)
    for text, expected in (
        ("今天天气很好。", (4, True)),
        ("yu want tu si", (10, False)),
        ("今日はいい天気です", (8, True)),
    ):
        model.fit(read_strings([text, text]))
        assert (model.max_word_, model.types_) == expected and model.max_word is None and model.types is None


def test_nothing_to_learn_from_is_an_error():
    for text in (None, Corpus.from_sentences([[], []])):
        with pytest.raises(InputError, match="empty"):
            NestedSegmenter().fit(text)


# ---- the command

TRAIN = {
    "method": str, "order": int, "max_word": int, "types": bool, "sentences": int, "given_sentences": int,
    "letters": int, "sweeps": int, "chains": int, "log_likelihood": float, "perplexity": float | None,
    "words": int, "lexicon": int, "word_length": float, "seconds": float, "model": str,
}  # fmt: skip
RATES = {
    f"{group}{name}{end}": FRACTION
    for group in ("", "boundary_")
    for name in ("precision", "recall", "f1")
    for end in ("", "_low", "_high")
}
SCORES = RATES | {
    "lexicon_precision": FRACTION, "lexicon_recall": FRACTION, "lexicon_f1": FRACTION, "word_length": float,
    "gold_word_length": float, "words": int, "gold_words": int, "lexicon": int, "gold_lexicon": int,
    "characters": int, "sentences": int, "signature": str, "low": FRACTION, "high": FRACTION, "deviation": float,
    "overlap_training?": FRACTION,
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segment")
    (folder / "gold.txt").write_text("\n".join(" ".join(s) for s in GOLD) + "\n")
    (folder / "raw.txt").write_text("\n".join("".join(s) for s in GOLD) + "\n")
    command = ["segment", "train", str(folder / "raw.txt"), "-o", str(folder / "m"), "--max-word", "6"]
    assert main([*command, "--sweeps", "8", "--quiet"]) == 0
    return folder


def test_the_commands_train_apply_and_evaluate(files, tmp_path, capsys):
    gold, text, path, out = (str(p) for p in (files / "gold.txt", files / "raw.txt", files / "m", tmp_path / "out"))
    assert main(["segment", "train", text, "-o", str(tmp_path / "m"), "--sweeps", "3", "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, TRAIN)
    assert main(["segment", "apply", path, text, "-o", out]) == 0
    assert main(["segment", "evaluate", gold, out, "--json"]) == 0
    scores = last_line_conforms(capsys.readouterr().out, SCORES)
    assert main(["segment", "evaluate", gold, "--model", path, "--json"]) == 0
    again = last_line_conforms(capsys.readouterr().out, SCORES)
    assert again["f1"] == scores["f1"] > 0.6 and again["overlap_training"] == 1.0
    assert main(["segment", "perplexity", path, gold, "--json"]) == 0
    assert 1 < json.loads(capsys.readouterr().out)["perplexity"] < 20
    assert main(["segment", "perplexity", path, gold, "--best"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("method", ["unigram", "bigram", "letters", "lines"])
def test_the_command_learns_the_baselines(files, tmp_path, capsys, method):
    path, sweeps = str(tmp_path / "m"), ["--sweeps", "5"] if method in ("unigram", "bigram") else []
    assert main(["segment", "train", str(files / "raw.txt"), "-o", path, "--method", method, *sweeps, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["method"] == method
    assert main(["segment", "apply", path, str(files / "raw.txt")]) == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["".join(line) for line in words] == ["".join(sentence) for sentence in GOLD]
    lengths = {len(word) for line in words for word in line}
    if method == "letters":
        assert lengths == {1}
    elif method == "lines":
        assert all(len(line) == 1 for line in words)
    else:
        assert len(lengths) > 2
    if sweeps:
        options = ["--method", method, "--max-context", "3"]
        assert main(["segment", "train", str(files / "raw.txt"), "-o", str(tmp_path / "n"), *options]) == 2
        assert "--max-context means nothing" in capsys.readouterr().err and not (tmp_path / "n").exists()


def test_the_commands_print_tables(files, capsys):
    path = str(files / "m")
    tables = {}
    for name, more in (("lexicon", []), ("posterior", [str(files / "raw.txt"), "--draws", "5"]), ("history", [])):
        assert main(["segment", name, path, *more]) == 0
        tables[name] = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        assert len({len(row) for row in tables[name]}) == 1
    assert tables["lexicon"][0] == ["word", "occurrences", "tables", "type", "surprisal"]
    gaps = sum(len("".join(s)) - 1 for s in GOLD)
    assert len(tables["posterior"]) == 1 + gaps and tables["posterior"][1][:2] == ["1", "1"]
    assert len(tables["history"]) == 1 + 9
    last = dict(zip(tables["history"][0], tables["history"][-1], strict=True))
    assert 0 <= float(last["word_discount_1"]) < 1 and any(1 < float(last[f"length_{kind}"]) < 10 for kind in TYPES)


def test_text_stays_as_it_was_written_whatever_the_model_reads(files, tmp_path, capsys):
    command = ["segment", "train", "--gold", str(files / "gold.txt"), "-o", str(tmp_path / "m"), "--sweeps", "2"]
    assert main([*command, "--max-word", "6", "--lowercase", "--digits", "--quiet"]) == 0
    (tmp_path / "loud.txt").write_text((files / "raw.txt").read_text().upper())
    (tmp_path / "loud.gold").write_text((files / "gold.txt").read_text().upper())
    assert main(["segment", "apply", str(tmp_path / "m"), str(tmp_path / "loud.txt"), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text().replace(" ", "") == (tmp_path / "loud.txt").read_text()
    capsys.readouterr()
    assert main(["segment", "evaluate", str(tmp_path / "loud.gold"), "--model", str(tmp_path / "m"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert scores["f1"] == scores["overlap_training"] == 1.0


def test_gold_lines_alone_are_enough_for_the_command(files, tmp_path, capsys):
    command = ["segment", "train", "--gold", str(files / "gold.txt"), "-o", str(tmp_path / "m"), "--sweeps", "2"]
    assert main([*command, "--max-word", "6"]) == 0
    assert main(["segment", "evaluate", str(files / "gold.txt"), "--model", str(tmp_path / "m")]) == 0
    captured = capsys.readouterr()
    assert "perhaps segmented" in captured.err and "F1 100.0 %" in captured.out


@pytest.mark.parametrize(
    "command, reason",
    [
        (["train", "-o", "{tmp}/m"], "nothing to learn from"),
        (["train", "{empty}", "-o", "{tmp}/m"], "empty.txt: the training text is empty"),
        (["train", "{bad}", "-o", "{tmp}/m"], "bad.txt:2: invalid UTF-8"),
        (["train", "{raw}", "-o", "{tmp}/m", "--order", "4"], "order is one of 2, 3"),
        (["train", "{raw}", "-o", "{tmp}/m", "--max-word", "0"], "--max-word is a whole number from 1 to 100; not 0"),
        (["train", "{raw}", "-o", "{tmp}/m", "--max-context", "-1"], "--max-context is a whole number from 0 to 50"),
        (["train", "{raw}", "-o", "{tmp}/m", "--start", "gold"], "start is one of branching, growing"),
        (["train", "{raw}", "-o", "{tmp}/m", "--method", "bigram", "--start", "growing"], "--start means nothing"),
        (["train", "{raw}", "-o", "{tmp}/m", "--resume"], "nothing to resume"),
        (["apply", "{raw}", "{raw}"], "not a model file"),
        (["apply", "{model}", "{raw}", "--spaces", "gold"], "--spaces is one of forced, remove; not 'gold'"),
        (["evaluate", "{gold}"], "either an OUTPUT"),
        (["evaluate", "{gold}", "{other}"], "other.txt:1: "),
        (["evaluate", "{empty}", "{empty}"], "no words to score"),
        (["perplexity", "{model}", "{empty}"], "empty.txt: the text is empty"),
        (["perplexity", "{model}", "{raw}", "--spaces", "gold"], "raw.txt:1: a stretch without boundaries"),
        (["train", "{raw}", "--gold", "{long}", "-o", "{tmp}/m"], "long.txt:2: a given word has 300 letters"),
        (["train", "{raw}", "{joined}", "--joiner", "+", "-o", "{tmp}/m"], "joined.txt:2: a stretch without"),
        (["train", "{raw}", "-o", "{tmp}/m", "--method", "lines", "--order", "3"], "--order means nothing"),
    ],
)
def test_bad_input_is_one_line(files, tmp_path, capsys, command, reason):
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "bad.txt").write_bytes(b"ab\n\xff\n")
    (tmp_path / "other.txt").write_text("other words\n")
    (tmp_path / "long.txt").write_text(f"a b\n{'a' * 300} b\n")
    (tmp_path / "joined.txt").write_text("ab\n" + "+".join("a" * 20) + "\n")
    names = {"tmp": tmp_path, "raw": files / "raw.txt", "gold": files / "gold.txt", "model": files / "m"}
    names |= {name: tmp_path / f"{name}.txt" for name in ("empty", "bad", "other", "long", "joined")}
    assert main(["segment", *(part.format(**names) for part in command)]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ") and reason in error
    assert not (tmp_path / "m").exists()


def test_apply_survives_damaged_text(files):
    loaded = NestedSegmenter.from_container(read(files / "m"))

    def use(path):
        from corpuscle.text import iter_text

        for block in loaded.segment_lines(iter_text(path, unk_token="literal", lines_per_chunk=3)):
            assert block.endswith(b"\n")

    survives(use, (files / "raw.txt").read_bytes()[:400], 100, 1)


def test_a_file_with_more_customers_than_can_be_counted_is_refused():
    loaded = read(FOLDER / "segment.npylm.model")
    sample = {name[len("sample/0/") :]: array for name, array in loaded.arrays.items() if name.startswith("sample/0/")}
    bounds = (len(sample["words/discounts"]), len(sample["letters/discounts"]) - 1, sample["factors"].shape[1] - 1)
    check_sample(sample, *bounds)
    sample["words/customers"] = np.full_like(sample["words/customers"], 2**31 - 1)
    with pytest.raises(ValueError, match="more customers than there can be"):
        check_sample(sample, *bounds)
