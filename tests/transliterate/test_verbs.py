"""Verbs of transliteration in Python: they take paths, lists and models, and return what a command writes."""

import json

import pytest

import corpuscle
from corpuscle.errors import InputError, SettingError
from corpuscle.text.pairs import Pair
from corpuscle.transliterate import FEATURES
from corpuscle.transliterate.verbs import apply, draw, evaluate, export, lattice, weights
from corpuscle.verbs import Typed
from tests.tiny_models import FOLDER

PHRASE = FOLDER / "transliterate.phrase.model"


def test_names_are_a_file_or_a_list_and_the_model_a_file_or_itself(tmp_path):
    (tmp_path / "names.txt").write_text("ab\n\nba\n")
    model = corpuscle.load(PHRASE)
    rows = [
        apply(one, two, nbest=2).to_json()
        for one in (PHRASE, model)
        for two in (tmp_path / "names.txt", ["ab", "", "ba"])
    ]
    assert rows[0]["rows"][0] == {"source": "ab", "rank": 1, **model.transliterate(["ab"])[0][0]._asdict()}
    assert all(row == rows[0] for row in rows)


def test_results_are_lines_in_the_formats_of_the_command(tmp_path):
    (line,) = apply(PHRASE, ["ab"], format="json")
    assert json.loads(line)["source"] == "ab" and json.loads(line)["candidates"]
    xml = apply(PHRASE, ["a&b"], format="news", nbest=1)
    xml.write(str(tmp_path / "out.xml"))
    assert "<SourceName>a&amp;b</SourceName>" in (tmp_path / "out.xml").read_text()
    assert next(iter(export(PHRASE))).count(" ||| ") == 4


def test_what_a_model_writes_is_measured_like_its_lists():
    pairs = [("ab", "xy"), ("ba", "yx")]
    found = [[candidate.target for candidate in each] for each in corpuscle.load(PHRASE).transliterate(["ab", "ba"], 5)]
    told, direct = evaluate(pairs, found, at=(1, 5)), evaluate(pairs, model=PHRASE, nbest=5, at=(1, 5))
    measured = {name: value for name, value in direct.to_json().items() if not name.startswith("overlap")}
    assert told.to_json() == measured and {"acc", "acc_at_1", "acc_at_5"} <= measured.keys()
    right = [[pair[1]] for pair in pairs]
    assert evaluate(pairs, right).to_json()["acc"] == 1.0
    back = evaluate([Pair("xy", ("ab",)), Pair("yx", ("ba",))], right, reverse=True)
    assert back.to_json()["acc"] == 1.0


def test_weights_and_pictures():
    assert list(weights(PHRASE).to_json()) == list(FEATURES)
    assert (
        draw(PHRASE, "ab").svg.startswith("<svg") and lattice(corpuscle.load(PHRASE), Typed("ab\n"))["source"] == "ab"
    )
    assert lattice(corpuscle.load(PHRASE), Typed(" "))["svg"] == ""


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda: evaluate([("a", "b")]), SettingError, "give either an OUTPUT"),
        (lambda: evaluate([("a", "b")], [["b"], ["c"]]), InputError, "2 names, but the gold list has 1"),
        (lambda: evaluate([], [["b"]]), InputError, "there are no pairs"),
        (lambda: apply(PHRASE, ["ab"], report="x.json"), SettingError, "--report is about networks"),
        (lambda: apply(PHRASE, ["ab"], precision="int8"), SettingError, "precision is for neural models"),
        (lambda: apply(FOLDER / "transliterate.combined.model", ["ab"], beam=3), SettingError, "ranks finished lists"),
    ],
)
def test_what_means_nothing_is_said(call, error, reason):
    with pytest.raises(error, match=reason):
        call()
