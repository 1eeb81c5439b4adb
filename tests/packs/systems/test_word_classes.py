"""Claims about the word classes that ``corpuscle learn`` finds."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from corpuscle.packs.systems.word_classes import WORD_CLASSES, learn, number_of_classes
from corpuscle.text import Corpus
from tests.words.test_classes import text


def test_the_number_of_classes_follows_the_rule():
    assert number_of_classes(np.array([2] * 100 + [1] * 1000)) == 10
    assert number_of_classes(np.array([1, 1, 1])) == 2
    assert number_of_classes(np.array([5])) == 1
    assert number_of_classes(np.full(4_000_000, 2)) == 1000


def learned(corpus):
    """What the step finds in a text."""
    fit = lambda model, text, name, save: model.fit(text)  # noqa: E731
    found = learn(SimpleNamespace(text=corpus.counted(), common={"seed": 1, "workers": 1}, fit=fit), {})
    return json.loads(json.dumps(found.to_json()))


def body_of(findings):
    """What the report says about it."""
    return "".join(map(str, WORD_CLASSES.findings.from_json(findings).chapter(WORD_CLASSES).body))


@pytest.mark.parametrize("leaves", [4, 40])
def test_the_report_shows_the_class_tree_cut_where_it_still_fits(leaves, monkeypatch):
    monkeypatch.setattr("corpuscle.packs.systems.word_classes._LEAVES", leaves)
    findings = learned(text())
    classes = len(findings["classes"])
    assert len(findings["tree"]["leaves"]) == min(leaves, classes) == len(findings["tree"]["merges"]) + 1
    assert findings["tree"]["values"][-1] == pytest.approx(0, abs=1e-9)
    body = body_of(findings)
    assert body.count("How the classes come together") == 2  # the picture's title, for eyes and for screen readers
    assert (f"cut where {leaves} are left" in body) == (leaves < classes)


def test_a_text_of_one_word_has_one_class_and_a_tree_of_one_leaf():
    findings = learned(Corpus.from_sentences([["a", "a"], ["a"]]))
    assert len(findings["classes"]) == 1 and findings["tree"]["merges"] == []
    assert "How the classes come together" in body_of(findings)
