"""Claims about the word vectors and senses that ``corpuscle learn`` finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import corpuscle
from corpuscle.packs import learn
from corpuscle.packs.systems.word_vectors import WORD_VECTORS, number_of_dimensions, number_of_passes
from corpuscle.text.vocab import FIRST
from corpuscle.words import HmmClasses, PpmiVectors
from tests.packs.kits import findings, kit_of, state
from tests.packs.pages import Page

HEBREW = ["שלום", "עולם", "ספר", "בית", "ילד"]


@pytest.fixture(scope="module")
def learned(tmp_path_factory, sample) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    texts = sorted(f"text/{path.name}" for path in (sample / "text").iterdir())
    kit = kit_of(folder / "kit", sample, *texts)
    stories = "\n".join(f"{HEBREW[i % 5]} {HEBREW[i % 3]} ka <b>{HEBREW[i % 4]} & tor ." for i in range(60))
    (kit / "text" / "z.txt").write_text(stories, encoding="utf-8")
    learn(kit, folder / "pack", steps=[WORD_VECTORS])
    return folder


def test_the_rules_follow_the_size_of_the_text():
    assert [number_of_dimensions(n) for n in (20, 100, 400, 10**6)] == [5, 25, 100, 100]
    assert [number_of_passes(n) for n in (0, 10**6, 5 * 10**6, 10**9)] == [10, 10, 2, 1]


def test_the_pack_has_vectors_and_a_model_of_senses_and_the_findings_are_theirs(learned):
    found, models = findings(learned / "pack", "vectors"), learned / "pack" / "models"
    vectors, senses = corpuscle.load(models / "vectors.model"), corpuscle.load(models / "senses.model")
    assert isinstance(vectors, PpmiVectors) and isinstance(senses, HmmClasses)
    assert found["words"] == len(vectors.vocab_) - FIRST
    assert vectors.vectors_.shape[1] == found["dimensions"] == number_of_dimensions(found["words"])
    for each in found["nearest"]:
        assert dict(each["neighbours"]) == pytest.approx(dict(vectors.nearest(each["word"], 8)))
    for word in found["senses"]:
        shares = dict(senses.classes_of(word["word"]))
        assert [s["share"] for s in word["senses"]] == pytest.approx([shares[s["class"]] for s in word["senses"]])
        assert all(s["sentence"][s["place"]] == word["word"] for s in word["senses"])
        assert all(word["word"] not in s["words"] for s in word["senses"])


def test_neighbours_are_those_of_words_of_middle_frequency(learned):
    found = findings(learned / "pack", "vectors")
    text = [w for path in (learned / "kit" / "text").iterdir() for w in path.read_text(encoding="utf-8").split()]
    counts = [each["count"] for each in found["nearest"]]
    assert counts == sorted(counts, reverse=True) == [text.count(each["word"]) for each in found["nearest"]]
    above = sorted(map(text.count, set(text)), reverse=True)
    assert sum(n for n in above if n > counts[0]) <= len(text) / 2 <= sum(n for n in above if n >= counts[0])


def test_the_report_shows_map_neighbours_and_senses_in_any_direction_of_writing(learned):
    page = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    text = "".join(Page(page).text)
    for words in ("A map of words", "Nearest neighbours", "Words in several senses", "Words by their vectors"):
        assert words in text
    assert f"<b>{HEBREW[0]}" not in page and f"&lt;b&gt;{HEBREW[0]}" in page and len(page) < 200_000
    found = findings(learned / "pack", "vectors")
    word = found["nearest"][0]["word"]
    assert f'<bdi class="word">{word}</bdi>' in page


def trees(sentences: int) -> str:
    """A treebank: who does what, the verb first."""
    lines = []
    for i in range(sentences):
        words = [f"v{i % 3}", f"n{i % 7}", f"n{i % 5}", "."]
        lines += [f"{k + 1}\t{word}\t_\t_\t_\t_\t{0 if k == 0 else 1}\tdep\t_\t_" for k, word in enumerate(words)]
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("n", "structure"), [(400, "tree"), (20, "chain")])
def test_senses_come_from_trees_where_the_kit_has_as_many_words_of_them(tmp_path, n, structure):
    (tmp_path / "kit" / "text").mkdir(parents=True)
    lines = (f"a{i % 11} b{i % 13} c{i % 7} d{i % 3}" for i in range(150))
    (tmp_path / "kit" / "text" / "a.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "kit" / "tagged.conllu").write_text(trees(n))
    outcome = learn(tmp_path / "kit", tmp_path / "pack", steps=[WORD_VECTORS])
    assert outcome.chapters["vectors"].figures["structure"] == structure
    assert corpuscle.load(tmp_path / "pack" / "models" / "senses.model").structure == structure
    report = json.loads((tmp_path / "pack" / "report.json").read_text())
    assert ("tagged.conllu" in report["not_used"]) == (structure == "chain")


def test_a_new_treebank_is_a_reason_to_learn_again_and_a_broken_one_costs_nothing_but_trees(tmp_path):
    kit, pack = tmp_path / "kit", tmp_path / "pack"
    (kit / "text").mkdir(parents=True)
    (kit / "text" / "a.txt").write_text("\n".join(f"a{i % 11} b{i % 13} c{i % 7}" for i in range(150)) + "\n")
    learn(kit, pack, steps=[WORD_VECTORS])
    assert learn(kit, pack, steps=[WORD_VECTORS]).kept == ("vectors",)
    (kit / "tagged.conllu").write_text("1\tonly three\n")
    assert learn(kit, pack, steps=[WORD_VECTORS]).kept == ()
    notes = state(pack)["steps"]["vectors"]["notes"]
    assert any("no senses from trees" in note and "tagged.conllu:1" in note for note in notes)


def test_a_text_with_few_words_or_without_company_is_left_out(tmp_path):
    for name, lines in ("few", ["a b c"] * 40), ("lonely", [f"w{i % 30}" for i in range(300)]):
        (tmp_path / name / "text").mkdir(parents=True)
        (tmp_path / name / "text" / "a.txt").write_text("\n".join(lines) + "\n")
        with pytest.raises(corpuscle.errors.InputError) as error:
            learn(tmp_path / name, tmp_path / f"{name}.pack", steps=[WORD_VECTORS])
        assert str(error.value).startswith(str(tmp_path / name / "text"))
