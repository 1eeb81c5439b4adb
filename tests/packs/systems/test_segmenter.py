"""Claims about ``corpuscle learn`` on text that is written without spaces."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import corpuscle
from corpuscle import samples
from corpuscle.errors import Interrupted
from corpuscle.packs import learn
from corpuscle.packs.systems.language_model import LANGUAGE_MODEL
from corpuscle.packs.systems.segmenter import SEGMENTER, number_of_sweeps
from corpuscle.packs.systems.word_classes import WORD_CLASSES
from corpuscle.segment import NestedSegmenter
from corpuscle.text import read_text
from tests.packs.pages import Page

HOSTILE = "<script>alert(1)</script>"
QUICK = replace(SEGMENTER, settings=SEGMENTER.settings | {"sweeps": 8})
STEPS = (QUICK, LANGUAGE_MODEL, WORD_CLASSES)


def write_kit(folder: Path, between: str) -> Path:
    """A sample's text, 30 documents and more, with something between its words."""
    language = samples.generate(1, sentences=400, pairs=1, names=1, notes=1, messages=1)
    (folder / "text").mkdir(parents=True)
    for document in language.documents:
        lines = [between.join(sentence.words) for sentence in document.sentences]
        (folder / "text" / f"{document.label}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "text" / "x.txt").write_text(f"{HOSTILE}{between}ka\n" * 3, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unspaced")
    learn(write_kit(folder / "kit", ""), folder / "pack", steps=STEPS)
    return folder


def findings(pack: Path, step: str) -> dict:
    return json.loads((pack / "state.json").read_text(encoding="utf-8"))["steps"][step]["findings"]


def test_the_whole_text_is_split_into_words_and_nothing_else_changes(learned):
    kit = read_text(*sorted(map(str, (learned / "kit" / "text").iterdir())), blank="document")
    words = read_text(learned / "pack" / "segmented.txt", blank="document")
    assert ["".join(line) for line in words] == ["".join(line) for line in kit]
    assert words.document_starts.tolist() == kit.document_starts.tolist()
    assert words.n_tokens > 2 * kit.n_tokens


def test_later_steps_work_on_the_words_that_were_found(learned):
    words = read_text(learned / "pack" / "segmented.txt", blank="document")
    model = corpuscle.load(learned / "pack" / "models" / "lm.model")
    assert findings(learned / "pack", "lm")["words"] == words.n_tokens == model.vocab_.counts.sum()
    assert findings(learned / "pack", "classes")["types"] == findings(learned / "pack", "segment")["types"]
    listed = (learned / "pack" / "words.tsv").read_text(encoding="utf-8").splitlines()
    assert sum(int(line.split("\t")[1]) for line in listed) == words.n_tokens


def test_the_model_of_the_pack_splits_the_text_as_the_pack_says(learned):
    model = corpuscle.load(learned / "pack" / "models" / "segment.model")
    assert isinstance(model, NestedSegmenter) and model.sweeps == 8
    kit = read_text(*sorted(map(str, (learned / "kit" / "text").iterdir())), blank="document")
    words = read_text(learned / "pack" / "segmented.txt", blank="document")
    assert list(model.segment(kit[:50])) == list(words[:50])


def test_the_report_shows_growth_convergence_and_examples(learned):
    html = (learned / "pack" / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    text = "".join(page.text)
    for title in (
        "Has it settled?",
        "How the lexicon grows with the text",
        "Unseen sentences, split",
        "segmenter has found",
    ):
        assert title in text
    assert "<script" not in html and "script" not in page.tags
    found = findings(learned / "pack", "segment")
    assert len(found["history"]) == 8 and found["growth"]["types"][-1] == found["types"]
    assert 0 < found["agreement"]["f1"] <= found["agreement"]["boundary_f1"] <= 1
    assert found["held_out"]["low"] <= found["held_out"]["perplexity"] <= found["held_out"]["high"]
    for example in found["examples"]:
        assert example[0][1] and all(0 <= probability <= 1 for *_, probability in example)


def test_text_with_spaces_needs_no_segmenter_and_an_old_one_goes(learned, tmp_path):
    kit = write_kit(tmp_path / "kit", " ")
    outcome = learn(kit, tmp_path / "pack", steps=STEPS)
    assert "are spaces" in outcome.left_out["segment"] and list(outcome.chapters) == ["lm", "classes"]
    assert not (tmp_path / "pack" / "segmented.txt").exists()
    assert not findings(tmp_path / "pack", "lm")["segmented"]

    unspaced = write_kit(tmp_path / "other", "")
    assert learn(unspaced, tmp_path / "pack", steps=STEPS).kept == ()
    assert (tmp_path / "pack" / "segmented.txt").exists()
    assert learn(kit, tmp_path / "pack", steps=STEPS).kept == ()
    assert not (tmp_path / "pack" / "segmented.txt").exists()


def test_a_run_that_is_stopped_while_it_learns_words_goes_on_to_the_same_bytes(learned, tmp_path, monkeypatch):
    pack = tmp_path / "pack"
    original = NestedSegmenter.fit
    texts = []

    def interrupted(self, text=None, gold=None, *, checkpoint=None):
        texts.append(text)
        assert checkpoint is not None
        after = checkpoint.after

        def press(iteration, *args, **kwargs):
            if iteration == 3 and len(texts) == 2:
                os.kill(os.getpid(), signal.SIGINT)
            after(iteration, *args, **kwargs)

        monkeypatch.setattr(checkpoint, "after", press)
        return original(self, text, gold, checkpoint=checkpoint)

    with monkeypatch.context() as patch, pytest.raises(Interrupted, match="same command goes on"):
        patch.setattr(NestedSegmenter, "fit", interrupted)
        learn(learned / "kit", pack, steps=STEPS)
    assert (pack / "models" / "segment.model.partial").exists()
    learn(learned / "kit", pack, steps=STEPS)
    names = sorted(str(path.relative_to(pack)) for path in pack.rglob("*") if path.is_file())
    assert not [name for name in names if name.endswith(".partial")]
    for name in set(names) - {"state.json", "report.json", "report.html"}:
        assert (pack / name).read_bytes() == (learned / "pack" / name).read_bytes(), name


def test_large_texts_get_fewer_rounds():
    assert number_of_sweeps(1) == 200 and number_of_sweeps(10**9) == 30
    assert 30 < number_of_sweeps(400_000) < 200


def test_lines_that_were_cut_by_hand_are_learned_from_but_not_those_that_are_measured_on(learned, tmp_path):
    kit = write_kit(tmp_path / "kit", "")
    language = samples.generate(1, sentences=400, pairs=1, names=1, notes=1, messages=1)
    lines = [" ".join(sentence.words) for document in language.documents for sentence in document.sentences]
    (kit / "segmented.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    learn(kit, tmp_path / "pack", steps=(QUICK,))
    given, alone = findings(tmp_path / "pack", "segment"), findings(learned / "pack", "segment")
    assert given["also_from"] == ["segmented"] and alone["also_from"] == []
    right = [
        sum(" ".join(words) in set(lines) for words in read_text(pack / "segmented.txt", blank="document"))
        for pack in (tmp_path / "pack", learned / "pack")
    ]
    assert right[0] > right[1]
