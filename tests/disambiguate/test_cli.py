"""The commands: from a treebank to a model, to ranked analyses and figures, and what they refuse."""

import json

import pytest

from corpuscle.cli.main import main
from corpuscle.samples import generate
from corpuscle.text import read_conllu, write_conllu
from tests.schemas import FRACTION, conforms, last_line_conforms

METHODS = ("full", "uni", "baseline", "agreement", "cheat", "viterbi", "ind", "frequency", "first")
RATES = ("a1", "a2", "e1", "e2", "ceiling", "mrr", "random", "unseen_a1")
RATES += ("ambiguous_a1", "ambiguous_e1", "ambiguous_e2")
EVALUATE = {f"{rate}{edge}": FRACTION for rate in RATES for edge in ("", "_low", "_high")} | {
    "candidates": float, "candidates_low": float, "candidates_high": float, "words": int, "sentences": int,
    "unseen_words": int, "ambiguous_words": int, "low": FRACTION, "high": FRACTION, "deviation": float,
    "signature": str, "overlap_training": FRACTION, "overlap_tuning": FRACTION,
    "by_element": [{"element": str, "e1": FRACTION, "e2": FRACTION}],
    "by_probability": [{"above": FRACTION, "words": int, "probability": FRACTION, "right": FRACTION}],
    "keystrokes": float, "keystrokes_low": float, "keystrokes_high": float,
}  # fmt: skip
TRAIN = {
    "method": str, "sentences": int, "words": int, "labels": int, "elements": [str], "counts?": int, "weights?": int,
    "weighed_words?": int, "tuned": [str], "seconds": float,
}  # fmt: skip
VOCABULARY = {
    "lemmas": int, "words": int, "difficulty": FRACTION, "unknown_words": FRACTION, "unknown_lemmas": int,
}  # fmt: skip
UPDATE = {"words": int, "added": int, "labels": int}
READINGS = {
    "words": [
        {
            "form": str, "known": bool, "candidates": int, "familiar?": bool,
            "analyses": [{"elements": {str: str}, "vowelled": str, "gloss": str, "probability": FRACTION}],
        }
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    sizes = ["--sentences", "250", "--pairs", "5", "--names", "5", "--notes", "5", "--messages", "5"]
    assert main(["samples", "write", str(folder / "sample"), *sizes, "-q"]) == 0
    bank = generate(seed=1, sentences=300).treebank()
    write_conllu(bank[:250], folder / "train.conllu")
    write_conllu(bank[250:], folder / "dev.conllu")
    assert main(["disambiguate", "train", str(folder / "train.conllu"), "-o", str(folder / "m"), "-q"]) == 0
    return folder


def run(*arguments):
    return main(["disambiguate", *map(str, arguments)])


@pytest.mark.parametrize("method", METHODS)
def test_train_and_evaluate_say_what_their_schemas_say(kit, capsys, method):
    assert run("train", kit / "train.conllu", "-o", kit / method, "--method", method, "--json", "-q") == 0
    figures = last_line_conforms(capsys.readouterr().out, TRAIN)
    assert figures["method"] == method and figures["elements"][:2] == ["lemma", "pos"]
    assert run("evaluate", kit / "dev.conllu", "--model", kit / method, "--json") == 0
    figures = last_line_conforms(capsys.readouterr().out, EVALUATE)
    assert figures["a1"] <= figures["a2"] <= figures["ceiling"] and figures["words"] > 300


def test_a_reader_sees_the_likeliest_analyses_of_every_word(kit, capsys):
    text = kit / "text"
    first = read_conllu(kit / "dev.conllu").corpus.words(0)
    text.write_text(" ".join([*first, "zzkola"]) + "\n", "utf-8")
    assert run("apply", kit / "m", text, "--json", "--nbest", 2) == 0
    lines = capsys.readouterr().out.splitlines()
    conforms(json.loads(lines[0]), READINGS)
    words = json.loads(lines[0])["words"]
    assert len(lines) == 1 and [word["form"] for word in words] == [*first, "zzkola"]
    assert all(1 <= len(word["analyses"]) <= 2 for word in words) and not words[-1]["known"]
    assert any(analysis["gloss"] for word in words for analysis in word["analyses"])


def test_a_reader_says_which_words_are_known_and_learns_the_others(kit, capsys, tmp_path):
    text, words = tmp_path / "text", tmp_path / "words"
    sentences = [read_conllu(kit / "dev.conllu").corpus.words(i) for i in range(3)]
    text.write_text("".join(" ".join(each) + "\n" for each in sentences), "utf-8")
    words.write_text(f"{sentences[0][0]}\n\n", "utf-8")
    assert run("apply", kit / "m", text, "--json", "--known", words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    conforms(lines[0], READINGS)
    assert lines[0]["words"][0]["familiar"] and not all(word["familiar"] for word in lines[0]["words"])
    assert run("vocabulary", kit / "m", text, "--known", words, "-o", tmp_path / "cards.tsv", "--json") == 0
    figures = last_line_conforms(capsys.readouterr().out, VOCABULARY)
    rows = [line.split("\t") for line in (tmp_path / "cards.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["lemma", "vowelled", "gloss", "times"] and len(rows) == 1 + figures["unknown_lemmas"]
    assert figures["difficulty"] == figures["unknown_lemmas"] / figures["lemmas"] < 1
    assert run("apply", kit / "m", text, "--vowelled") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [list(each) for each in sentences]


def test_what_an_annotator_chose_is_counted(kit, capsys, tmp_path):
    assert run("update", kit / "m", kit / "dev.conllu", "-o", tmp_path / "m", "--json") == 0
    figures = last_line_conforms(capsys.readouterr().out, UPDATE)
    assert figures["added"] == read_conllu(kit / "dev.conllu").corpus.n_tokens
    rates = []
    for model in (kit / "m", tmp_path / "m"):
        assert run("evaluate", kit / "dev.conllu", "--model", model, "--json") == 0
        rates.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert rates[1]["ceiling"] == 1 > rates[0]["ceiling"] and rates[1]["a1"] > rates[0]["a1"]
    assert rates[1]["overlap_training"] == 1


def test_apply_writes_analyses_into_the_columns(kit, tmp_path):
    assert run("apply", kit / "m", kit / "dev.conllu", "-o", tmp_path / "out.conllu") == 0
    gold, found = read_conllu(kit / "dev.conllu"), read_conllu(tmp_path / "out.conllu")
    same = [a == b for a, b in zip(gold.tags.strings(), found.tags.strings(), strict=True)]
    assert sum(same) > 0.85 * len(same) and all("Prob=" in misc for misc in found.misc.strings())
    assert gold.heads.tolist() == found.heads.tolist()


def test_a_table_of_the_kit_proposes_analyses(kit, capsys):
    lexicon, elements = kit / "sample/lexicon.tsv", "lemma,pos,Case,Number"
    options = ["--analyser", "table", "--candidates", lexicon, "--elements", elements, "--json", "-q"]
    assert run("train", kit / "train.conllu", "-o", kit / "t", *options) == 0
    assert last_line_conforms(capsys.readouterr().out, TRAIN)["elements"] == elements.split(",")
    assert run("evaluate", kit / "dev.conllu", "--model", kit / "t", "--json") == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    run("train", kit / "train.conllu", "-o", kit / "u", "--elements", elements, "-q")
    run("evaluate", kit / "dev.conllu", "--model", kit / "u", "--json")
    lexical = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert table["unseen_words"] < lexical["unseen_words"] and table["ceiling"] > lexical["ceiling"]


def refused(capsys, *arguments):
    assert run(*arguments) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ")
    return message


def test_bad_input_is_one_line_and_leaves_nothing_behind(kit, capsys, tmp_path):
    good, out = kit / "train.conllu", tmp_path / "out"
    narrow, table, empty = tmp_path / "narrow.conllu", tmp_path / "t.tsv", tmp_path / "e.conllu"
    narrow.write_text("1\ta\ta\tX\n\n", "utf-8")
    empty.write_text("", "utf-8")
    assert "narrow.conllu:1" in refused(capsys, "train", narrow, "-o", out)
    assert "e.conllu" in refused(capsys, "train", empty, "-o", out)
    assert "e.conllu" in refused(capsys, "evaluate", empty, "--model", kit / "m")
    assert "no element" in refused(capsys, "train", good, "-o", out, "--elements", "lemma,Colour")
    assert "go together" in refused(capsys, "train", good, "-o", out, "--analyser", "table")
    assert "go together" in refused(capsys, "train", good, "-o", out, "--candidates", table)
    bad = {"a\tb\n": "t.tsv:1", "a\tb\tX=1\na\tb\tplain\n": "t.tsv:2", "\tb\tX=1\n": "t.tsv:1", "": "t.tsv"}
    for text, where in bad.items():
        table.write_text(text, "utf-8")
        assert where in refused(capsys, "train", good, "-o", out, "--analyser", "table", "--candidates", table)
    assert "--nbest is for --json" in refused(capsys, "apply", kit / "m", good, "--nbest", 2)
    assert "means nothing" in refused(capsys, "train", good, "-o", out, "--method", "first", "--c2", 3)
    assert "--known is for --json" in refused(capsys, "apply", kit / "m", good, "--known", empty)
    assert "exclude each other" in refused(capsys, "apply", kit / "m", good, "--json", "--vowelled")
    assert "no words in it" in refused(capsys, "apply", kit / "m", good, "--json", "--known", empty)
    bare = tmp_path / "bare.conllu"
    bare.write_text("1\ta" + "\t_" * 8 + "\n\n", "utf-8")
    assert "bare.conllu: no word has" in refused(capsys, "update", kit / "m", bare, "-o", out)
    assert "nowhere" in refused(capsys, "train", good, "-o", out, "--analyser", "buckwalter", "--tables", "nowhere")
    assert not out.exists()
