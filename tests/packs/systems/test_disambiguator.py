"""Claims about the analyses of words that ``corpuscle learn`` ranks."""

from __future__ import annotations

import pytest

import corpuscle
from corpuscle import samples
from corpuscle.disambiguate import Ranker
from corpuscle.packs import learn
from corpuscle.packs.systems.disambiguator import DISAMBIGUATOR
from corpuscle.text import read_conllu
from tests.packs.kits import findings
from tests.packs.pages import Page


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyses")
    samples.write(folder / "sample", sentences=150, pairs=5, names=5, notes=5, messages=5)
    for kit, files in {"both": ("tagged.conllu", "lexicon.tsv"), "plain": ("tagged.conllu",)}.items():
        (folder / kit).mkdir()
        for name in files:
            (folder / kit / name).write_bytes((folder / "sample" / name).read_bytes())
        learn(folder / kit, folder / f"{kit}-pack", steps=[DISAMBIGUATOR])
    return folder


def test_annotated_sentences_give_a_ranker_that_beats_frequency_on_unseen_ones(learned):
    found = findings(learned / "plain-pack", "disambiguator")
    figures = found["measures"]
    assert found["baseline"]["a1"] < figures["a1"] <= figures["a2"] <= figures["ceiling"]
    model = corpuscle.load(learned / "plain-pack/models/disambiguator.model")
    bank = read_conllu(learned / "plain/tagged.conllu")
    assert isinstance(model, Ranker) and model.provenance_["words"] == bank.corpus.n_tokens
    assert found["also_from"] == []


def test_a_lexicon_proposes_analyses_of_what_both_have(learned):
    with_table, plain = (findings(learned / f"{kit}-pack", "disambiguator") for kit in ("both", "plain"))
    assert with_table["also_from"] == ["lexicon"] and set(with_table["elements"]) <= set(plain["elements"])
    assert with_table["measures"]["unseen_words"] < plain["measures"]["unseen_words"]
    assert with_table["measures"]["ambiguous_words"] > 2  # the paradigms of the sample are ambiguous


def test_the_report_shows_words_with_their_analyses(learned):
    found = findings(learned / "both-pack", "disambiguator")
    text = "".join(Page((learned / "both-pack/report.html").read_text(encoding="utf-8")).text)
    assert "Words with their analyses" in text and len(found["words"]) > 2
    for word in found["words"]:
        assert word["form"] in text and len(word["analyses"]) > 1
        assert sum(each["right"] for each in word["analyses"]) <= 1
