"""Claims about the entity tagger that ``corpuscle learn`` makes of annotated documents."""

from __future__ import annotations

import shutil

import pytest

import corpuscle
from corpuscle import samples
from corpuscle.entities import CrfTagger, read_documents
from corpuscle.packs import learn
from corpuscle.packs.systems.entities import ENTITIES
from corpuscle.packs.systems.word_classes import WORD_CLASSES
from tests.packs.kits import findings


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("entities")
    samples.write(folder / "sample", sentences=150, pairs=5, names=5, notes=40, messages=5)
    for kit, parts in {"both": ("entities", "text"), "plain": ("entities",)}.items():
        for part in parts:
            shutil.copytree(folder / "sample" / part, folder / kit / part)
        learn(folder / kit, folder / f"{kit}-pack", steps=[WORD_CLASSES, ENTITIES])
    return folder


def test_the_classes_of_the_pack_are_features_where_there_is_text(learned):
    both, plain = (findings(learned / f"{kit}-pack", "entities") for kit in ("both", "plain"))
    assert both["classes"] and not plain["classes"]
    models = [corpuscle.load(learned / f"{kit}-pack/models/entities.model") for kit in ("both", "plain")]
    assert all(isinstance(model, CrfTagger) for model in models)
    assert len(models[0].sources_.words) > 0 == len(models[1].sources_.words)
    report = (learned / "both-pack/report.html").read_text("utf-8")
    assert "Classes of words, learned from the running text" in report


def test_a_model_of_all_documents_is_kept_and_one_of_nine_tenths_is_measured(learned):
    found = findings(learned / "plain-pack", "entities")
    documents = read_documents(str(learned / "plain/entities"))
    model = corpuscle.load(learned / "plain-pack/models/entities.model")
    assert model.provenance_["documents"] == len(documents) == found["documents"]
    assert 0 < found["held_out"]["documents"] < len(documents) / 5 and 0 < found["held_out"]["strict_f1"] <= 1
