"""Claims about the brackets that ``corpuscle learn`` finds in plain text."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import corpuscle
from corpuscle.packs.step import LeftOut
from corpuscle.packs.systems.grammar import BRACKETS, BRACKETS_FILE, induce
from corpuscle.packs.systems.word_classes import FILE as CLASSES
from corpuscle.text import Corpus
from corpuscle.words import ExchangeClasses
from tests.grammar.test_treemetric import bank


def job_of(text: Corpus, folder):
    """A job whose classes have been learned."""
    (folder / CLASSES).parent.mkdir(parents=True)
    ExchangeClasses(classes=6).fit(text.counted()).save(folder / CLASSES)
    kit = SimpleNamespace(paths=lambda role: ["t.txt"])
    return SimpleNamespace(text=text, common={"seed": 1, "workers": 1}, pack=folder, kit=kit)


def test_brackets_are_found_and_shown_as_a_hypothesis(tmp_path):
    text = Corpus.from_sentences(list(bank(1100).corpus))
    settings = BRACKETS.settings | {"classes": 5, "rank": 2, "dimensions": 6}
    findings = json.loads(json.dumps(induce(job_of(text, tmp_path), settings).to_json()))
    assert findings["sentences"] == 1100 and 0 < findings["confidence"] <= 1 and len(findings["examples"]) == 4
    chapter = BRACKETS.findings.from_json(findings).chapter(BRACKETS)
    assert "hypothesis" in chapter.headline and "".join(map(str, chapter.body)).count("<svg") == 4
    loaded = corpuscle.load(tmp_path / BRACKETS_FILE)
    assert loaded.parse(text[:3]).trees.n_nodes > 0


def test_a_short_text_has_no_brackets(tmp_path):
    with pytest.raises(LeftOut, match="only 40 sentences; at least 1000 are needed of 3 to 30 words"):
        induce(job_of(Corpus.from_sentences(list(bank(40).corpus)), tmp_path), BRACKETS.settings)
