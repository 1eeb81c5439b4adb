"""Verbs of normalisation in Python: messages are strings, lists of words or files; texts come back as lines."""

import pytest

import corpuscle
from corpuscle.errors import SettingError
from corpuscle.normalise.verbs import (
    apply,
    corrupt,
    doubts,
    evaluate,
    languages,
    normalise,
    survey,
    train,
    training_messages,
)
from corpuscle.text.columns import Normalised, read_normalised, write_normalised
from corpuscle.verbs import File, Typed
from tests.tiny_models import FOLDER

MODEL = FOLDER / "normalise.ranker.model"


def _applied(messages, **how):
    return list(apply(MODEL, messages, **how))


def test_messages_are_strings_lists_or_a_file(tmp_path):
    (tmp_path / "in.txt").write_text("u there\n\n")
    forms = [
        ["u there", ""],
        [["u", "there"], []],
        tmp_path / "in.txt",
        File(tmp_path / "in.txt"),
        Typed("u there\n\n"),
    ]
    assert list(map(_applied, forms)) == [["you there", ""]] * 5
    assert list(apply(MODEL, ["(u)"], raw=False)) == ["(u)"] and list(apply(MODEL, Typed("(u)"), raw=True)) == [
        "( you )"
    ]


def test_files_are_annotated_by_their_names(tmp_path):
    gold = Normalised.from_messages([["u", "there"]], [["you", "there"]])
    for name in "one.norm", "two.tsv":
        write_normalised(gold, tmp_path / name)
    (tmp_path / "plain.txt").write_text("see u\n")
    files = tuple(File(tmp_path / name) for name in ("one.norm", "plain.txt", "two.tsv"))
    found = training_messages(files, None, train.declared["messages"])
    assert (
        list(found.plain) == [["see", "u"]] and [found.annotated.standard(i) for i in (0, 1)] == [["you", "there"]] * 2
    )
    assert training_messages(["see u"], None, train.declared["messages"]) == ([["see", "u"]], None)
    values = survey(files).to_json()
    assert [each["name"] for each in values["texts"]] == ["one.norm", "plain.txt", "two.tsv"]
    assert values["texts"][0]["errors"] == values["texts"][2]["errors"] and "errors" not in values["texts"][1]


def test_a_corrupted_text_is_measured(tmp_path):
    gold = Normalised.from_messages([["u", "there"]] * 30, [["you", "there"]] * 30)
    noisy = corrupt(gold, ["are you there"] * 4)
    write_normalised(noisy, tmp_path / "noisy.norm")
    assert list(read_normalised(tmp_path / "noisy.norm").corpus) == list(noisy.corpus)
    told = evaluate(gold, model=MODEL).to_json()
    assert told["f1"] == 1.0 and told["messages"] == 30


def test_languages_are_a_mapping_or_files():
    texts = {"en": ["the house is red", "what are you doing"], "de": ["das haus ist rot", "was machst du da"]}
    assert list(languages(["is the dog there", "ist der hund da"], texts, keep="de")) == ["ist der hund da"]
    with pytest.raises(SettingError, match="--keep is one of en, de"):
        languages(["a"], texts, keep="fr")


def test_what_the_workbench_asks():
    model = corpuscle.load(MODEL)
    (told,) = normalise(model, Typed("u there"))["messages"]
    assert told["text"] == "you there" and told["changes"][0]["typed"] == "u"
    (item,) = doubts(model, Typed("u there\nu there"), n=5)["items"]
    assert item["value"]["standard"] == ["you", "there"] and item["confidence"] == min(item["by_part"])
