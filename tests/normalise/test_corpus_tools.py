"""Surveys, noise that is learned from pairs, and the language of messages: by hand."""

import json
from collections import Counter

import numpy as np
import pytest

from corpuscle.cli.main import main
from corpuscle.errors import InputError
from corpuscle.normalise import Languages, Noise, error_categories, survey_of
from corpuscle.normalise.corpus_tools import CATEGORIES, category_of
from corpuscle.random import Random
from corpuscle.text.columns import Normalised, read_normalised
from tests.schemas import FRACTION, last_line_conforms

SURVEY = {
    "words": int,
    "texts": [{
        "name": str, "messages": int, "tokens": int, "unknown": int, "types": int, "unknown_types": int,
        "histogram": [int], "frequent": [list], "unknown_rate": FRACTION, "errors?": {str: int},
    }],
}  # fmt: skip


def test_a_survey_by_hand():
    messages = [["I", "see", "u", "!"], ["lol", "u", "r"], ["we", "see"], [":)"]]
    found = survey_of(messages, {"i", "see", "we"})
    assert (found.messages, found.tokens, found.unknown, found.types, found.unknown_types) == (4, 8, 4, 6, 3)
    assert found.histogram == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1] and found.frequent == [("u", 2), ("lol", 1), ("r", 1)]


def test_categories_of_errors_by_hand():
    pairs = [("talkin", "talking"), ("2", "to"), ("b4", "before"), ("lol", "laughing out loud"), ("xqz", "nothing")]
    typed, meant = ([pair[side] for pair in pairs] + ["as", "it", "Is"] for side in (0, 1))
    gold = Normalised.from_messages([typed], [[*meant[:5], "as", "it", "is"]])
    assert error_categories(gold) == dict(zip(CATEGORIES, (1, 1, 1, 1, 1), strict=True))
    assert category_of("talkin", "talking", {"talkin"}) == "slang"


@pytest.fixture(scope="module")
def pairs():
    typed = [["u", "r", "talkin"], ["you", "are", "walkin"], ["dat", "cat", "here"]] * 10
    meant = [["you", "are", "talking"], ["you", "are", "walking"], ["that", "cat", "here"]] * 10
    return Normalised.from_messages(typed, meant)


def test_noise_repeats_what_was_seen_as_often(pairs):
    noise = Noise(pairs)
    drawn = Counter(noise.typed("you", Random(1, "tests.noise", 0, item)) for item in range(2000))
    assert set(drawn) == {"you", "u"} and abs(drawn["u"] / 2000 - 0.5) < 0.05
    assert noise.typed("cat", Random(1, "tests.noise")) == "cat"


def test_unseen_words_are_changed_by_changes_of_letters_that_were_seen(pairs):
    noise = Noise(pairs)
    drawn = Counter(noise.typed("singing", Random(2, "tests.noise", 0, item)) for item in range(2000))
    assert set(drawn) <= {"singing", "singin", "sinin"} and drawn["singin"] > 100
    assert set(Counter(noise.typed("thing", Random(3, "tests.noise", 0, k)) for k in range(400))) >= {"thing", "ding"}
    assert noise.rate == pytest.approx(50 / 90)


def test_corrupted_text_has_its_truth_beside_it_and_depends_on_the_seed_alone(pairs, tmp_path):
    gold, text = tmp_path / "gold.tsv", tmp_path / "text"
    gold.write_text("\n\n".join(
        "\n".join(f"{a}\t{b}" for a, b in zip(m, pairs.standard(i), strict=True)) for i, m in enumerate(pairs.corpus)
    ) + "\n", "utf-8")  # fmt: skip
    text.write_text("you are talking to that cat !\nwalking here\n" * 20, "utf-8")
    outs = []
    for name, seed in (("a.tsv", 1), ("b.tsv", 1), ("c.tsv", 2), ("d.jsonl", 1), ("e.txt", 1)):
        command = ["normalise", "corrupt", str(gold), str(text), "-o", str(tmp_path / name), "--seed", str(seed), "-q"]
        assert main(command) == 0
        outs.append(tmp_path / name)
    a, b, c, d, e = outs
    assert a.read_bytes() == b.read_bytes() != c.read_bytes()
    made = read_normalised(a)
    assert [" ".join(made.standard(i)) for i in range(len(made))] == text.read_text("utf-8").splitlines()
    assert [" ".join(message) for message in made.corpus] == e.read_text("utf-8").splitlines()
    assert list(read_normalised(d).corpus) == list(made.corpus)
    assert any(list(message) != made.standard(i) for i, message in enumerate(made.corpus))


def test_noise_needs_pairs_that_differ(tmp_path, capsys):
    gold = tmp_path / "gold.tsv"
    gold.write_text("a\ta\nb\tb\n", "utf-8")
    assert main(["normalise", "corrupt", str(gold), str(gold)]) == 2
    assert capsys.readouterr().err == f"error: {gold}: only 0 changed words; at least 10 are needed to learn noise\n"


def test_languages_of_messages(tmp_path, capsys):
    texts = {
        "en": ["the house is red and the dog sleeps", "what are you doing there", "this is the best thing"],
        "de": ["das haus ist rot und der hund schläft", "was machst du da", "das ist die beste sache"],
    }
    known = Languages(texts)
    assert [known.language(m) for m in ("is the dog there", "ist der hund da", "Τι")] == ["en", "de", known.names[0]]
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), "utf-8")
    (tmp_path / "mixed").write_text("is the dog there\nist der hund da\n", "utf-8")
    command = ["normalise", "languages", str(tmp_path / "mixed"), str(tmp_path / "en.txt"), str(tmp_path / "de.txt")]
    assert main(command) == 0 and capsys.readouterr().out == "is the dog there\n"
    assert main([*command, "--keep", "de"]) == 0 and capsys.readouterr().out == "ist der hund da\n"
    assert main([*command, "--keep", "fr"]) == 2 and "--keep is one of en, de" in capsys.readouterr().err
    assert main(command[:4]) == 2 and "two at least" in capsys.readouterr().err
    with pytest.raises(InputError, match="is empty"):
        Languages({"a": ["x"], "b": []})


def test_the_skew_divergence_is_its_formula():
    known = Languages({"a": ["ab"], "b": ["abab"]})
    from corpuscle.normalise.corpus_tools import _grams

    p = np.bincount(_grams("ab"), minlength=3 << 16) / len(_grams("ab"))
    for row, found in zip(known.prototypes, known.divergences("ab"), strict=True):
        on = p > 0
        assert found == pytest.approx((p[on] * np.log(p[on] / (0.99 * row[on] + 0.01 * p[on]))).sum(), abs=1e-12)
    assert known.divergences("ab")[0] == pytest.approx(0.0, abs=1e-12)


def test_the_survey_command_says_what_its_schema_says(tmp_path, capsys):
    text, gold, words = tmp_path / "t.txt", tmp_path / "g.tsv", tmp_path / "words"
    text.write_text("i see u\n\nwe see\n", "utf-8")
    gold.write_text("u\tyou\nsee\tsee\nlol\tlaughing out loud\n", "utf-8")
    words.write_text("i\nsee\nwe\nyou\n", "utf-8")
    assert main(["normalise", "survey", str(text), str(gold), "--words", str(words), "--json"]) == 0
    printed = capsys.readouterr().out
    figures = last_line_conforms(printed, SURVEY)
    one, other = figures["texts"]
    assert (one["unknown"], one["tokens"], other["unknown"]) == (1, 5, 2) and "errors" not in one
    assert other["errors"] == {"letter": 0, "number": 0, "letter and number": 0, "slang": 1, "other": 1}
    assert json.loads(printed.splitlines()[-1])["words"] == 4
    assert main(["normalise", "survey", str(text)]) == 0
    assert "t.txt: 3 messages, 5 words, 100.0 % not known" in capsys.readouterr().out
