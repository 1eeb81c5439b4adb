"""Claims about the topics that ``corpuscle learn`` finds in documents."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle import samples
from corpuscle.errors import Interrupted
from corpuscle.packs import Job, find_kit, learn
from corpuscle.packs.step import LeftOut
from corpuscle.packs.systems.topics import TOPICS, number_of_sweeps, number_of_topics
from corpuscle.text import Corpus, read_text
from corpuscle.text.heldout import held_documents, split
from corpuscle.topics import NgramTopicModel, mark, pick_documents
from tests.packs.pages import Page

HOSTILE = "<script>alert(1)</script>"
QUICK = replace(TOPICS, settings=dict(TOPICS.settings) | {"sweeps": 4, "sweeps_without_topics": 4})


def write_kit(folder: Path, documents: int | None = None) -> Path:
    language = samples.generate(1, sentences=500, pairs=1, names=1, notes=1, messages=1)
    (folder / "text").mkdir(parents=True)
    for document in language.documents[:documents]:
        lines = [*map(str, document.sentences), f"{HOSTILE} ka"]
        (folder / "text" / f"{document.label}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("topics")
    learn(write_kit(folder / "kit"), folder / "pack", steps=[QUICK])
    return folder


def findings(pack: Path) -> dict:
    return json.loads((pack / "state.json").read_text(encoding="utf-8"))["steps"]["topics"]["findings"]


def test_documents_give_topics_with_words_and_phrases(learned):
    found = findings(learned / "pack")
    assert found["documents"] >= 20 and found["topics"] == number_of_topics(found["documents"])
    assert len(found["topics_shown"]) == found["topics"]
    assert sum(topic["share"] for topic in found["topics_shown"]) == pytest.approx(1)
    heading, *rows = (learned / "pack" / "topics.tsv").read_text(encoding="utf-8").splitlines()
    assert heading.split("\t") == ["topic", "share", "words", "phrases"] and len(rows) == found["topics"]
    model = corpuscle.load(learned / "pack" / "models" / "topics.model")
    assert isinstance(model, NgramTopicModel) and model.topics == found["topics"]


def test_every_document_has_its_topics(learned):
    found = findings(learned / "pack")
    heading, *rows = (learned / "pack" / "documents.tsv").read_text(encoding="utf-8").splitlines()
    assert heading.split("\t")[:3] == ["document", "words", "topic_1"] and len(rows) == found["documents"]
    names, shares = [row.split("\t")[0] for row in rows], [list(map(float, row.split("\t")[2:])) for row in rows]
    assert all(sum(row) == pytest.approx(1, abs=0.01) for row in shares)
    for topic in found["topics_shown"]:
        most = max(range(len(rows)), key=lambda i: shares[i][topic["number"] - 1])
        assert topic["documents"][0] == names[most]


def test_documents_are_called_by_file_and_by_line_where_a_file_has_several(learned, tmp_path):
    files = sorted(path.name for path in (learned / "kit" / "text").iterdir())
    rows = (learned / "pack" / "documents.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [row.split("\t")[0] for row in rows] == files
    found = findings(learned / "pack")
    shown = {name for topic in found["topics_shown"] for name in topic["documents"]}
    assert shown <= set(files) and {text["name"] for text in found["marked"]} <= set(files)
    text = "".join(Page((learned / "pack" / "report.html").read_text(encoding="utf-8")).text)
    assert f"above all in {' '.join(found['topics_shown'][0]['documents'])}" in " ".join(text.replace(",", "").split())

    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("\ufeff\nka mi\nka\n \v\r\nmi tor\n" + "ka\n" * 20, encoding="utf-8")
    (tmp_path / "text" / "b\tc.txt").write_text("\n\nka\n")
    job = Job(find_kit(tmp_path, tmp_path / "pack"), tmp_path / "pack", 1, 1)
    assert len(job.raw.document_starts) == 4 and job.document_names() == ["a.txt:2", "a.txt:5", r"b\tc.txt"]


def test_perplexity_is_that_of_documents_that_were_held_out(learned):
    found = findings(learned / "pack")
    assert 0 < found["held_out"]["documents"] < found["documents"] / 3
    for name in ("plain", "topics"):
        figures = found["measures"][name]
        assert figures["low"] <= figures["perplexity"] <= figures["high"]
        assert figures["tokens"] == found["held_out"]["words"]


def test_texts_are_shaded_by_topicality(learned):
    html = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    marked = findings(learned / "pack")["marked"]
    assert marked and all(f"Document {text['name']}" in "".join(page.text) for text in marked) and "svg" in page.tags
    assert "learned from these documents too" in "".join(page.text)
    assert "<script" not in html and HOSTILE in "".join(page.text)
    for text in findings(learned / "pack")["marked"]:
        n = sum(map(len, text["sentences"]))
        assert len(text["topical"]) == len(text["topics"]) == n
        assert all(0 <= share <= 1 for share in text["topical"]) and min(text["topics"]) >= 1


def test_the_topics_of_shaded_texts_are_those_of_the_list(learned):
    text = read_text(*sorted(map(str, (learned / "kit" / "text").iterdir())), blank="document")
    some = pick_documents(text, np.flatnonzero(held_documents(text, 1))[:2])
    model = corpuscle.load(learned / "pack" / "models" / "topics.model")
    found = findings(learned / "pack")["marked"]
    for shown, expected in zip(found, mark(model, some, seed=1), strict=True):
        n = len(shown["topics"])
        assert [word for sentence in shown["sentences"] for word in sentence] == expected.words[:n]
        assert shown["topics"] == expected.topics[:n].tolist()
        assert shown["topical"] == np.round(expected.topical[:n], 3).tolist()


def test_few_documents_have_no_topics(tmp_path):
    with pytest.raises(LeftOut, match="text: only 3 documents; at least 20 are needed"):
        learn(write_kit(tmp_path / "kit", 3), tmp_path / "pack", steps=[QUICK])


def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(learned, tmp_path, monkeypatch):
    original, begun = NgramTopicModel.fit, []

    def interrupted(self, corpus, *, checkpoint=None, **others):
        begun.append(self)
        assert checkpoint is not None
        after = checkpoint.after

        def press(iteration, *args, **kwargs):
            if iteration == 2 and len(begun) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            after(iteration, *args, **kwargs)

        monkeypatch.setattr(checkpoint, "after", press)
        return original(self, corpus, checkpoint=checkpoint, **others)

    pack = tmp_path / "pack"
    with monkeypatch.context() as patch, pytest.raises(Interrupted, match="same command goes on"):
        patch.setattr(NgramTopicModel, "fit", interrupted)
        learn(learned / "kit", pack, steps=[QUICK])
    assert (pack / "models" / "topics.model.partial").exists()
    learn(learned / "kit", pack, steps=[QUICK])
    for name in ("models/topics.model", "topics.tsv", "documents.tsv"):
        assert (pack / name).read_bytes() == (learned / "pack" / name).read_bytes()
    assert findings(pack) == findings(learned / "pack")


def test_documents_are_held_out_as_for_the_language_model(learned):
    text = read_text(*sorted(map(str, (learned / "kit" / "text").iterdir())), blank="document")
    held = held_documents(text, 1)
    assert held.sum() == findings(learned / "pack")["held_out"]["documents"]
    sentences = np.repeat(held, np.diff(text.document_starts))
    assert list(split(text, 1).held_out) == list(text.select(sentences))
    assert not held_documents(Corpus.from_sentences([["a"]]), 1).any()


def test_rules_give_moderate_numbers():
    assert [number_of_topics(n) for n in (20, 344, 10**6)] == [5, 19, 50]
    assert number_of_sweeps(10) == 200 and number_of_sweeps(10**9) == 15
