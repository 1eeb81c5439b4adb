"""Claims about packs on disk: hostile and damaged ones."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest

from corpuscle.errors import InputError
from corpuscle.packs import find_kit, learn
from corpuscle.packs.pack import LoadedPack, Pack
from corpuscle.packs.ship import problems
from corpuscle.web.served_models import Holdings
from tests.packs.kits import plain_step, state, write_kit


def damage(pack: Path, change) -> None:
    content = state(pack)
    change(content)
    (pack / "state.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("name", ["../precious.txt", "outside/precious.txt", "models/../../precious.txt", "", "a\0b"])
def test_a_hostile_pack_cannot_remove_what_is_not_in_it(tmp_path, name):
    kit, pack, precious = write_kit(tmp_path / "kit"), tmp_path / "pack", tmp_path / "precious.txt"
    learn(kit, pack, steps=[plain_step("one", "text")])
    precious.write_text("x")
    (pack / "outside").symlink_to(tmp_path)
    for hostile in (name, str(precious)):
        damage(pack, lambda content, name=hostile: content["steps"].update(old={"files": {name: "x"}}))
        with pytest.raises(InputError, match="damaged state"):
            learn(kit, pack, steps=[plain_step("one", "text")])
    assert precious.read_text() == "x"


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["findings"].clear(),
        lambda record: record.update(findings=None),
        lambda record: record.pop("seconds"),
        lambda record: record.update(notes=7),
        lambda record: record.pop("digest"),
    ],
)
def test_a_step_whose_record_is_damaged_is_done_again(tmp_path, change):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    steps = [plain_step("one", "text"), plain_step("two", "text")]
    learn(kit, pack, steps=steps)
    damage(pack, lambda content: change(content["steps"]["one"]))
    assert learn(kit, pack, steps=steps).kept == ("two",)
    assert learn(kit, pack, steps=steps).kept == ("one", "two")


@pytest.mark.parametrize("name", ["kit", "models/more.model", "annotations.jsonl", "report.html", "prepared"])
def test_a_pack_with_a_link_that_leads_out_is_neither_opened_nor_written_to(tmp_path, name):
    kit, pack, outside = write_kit(tmp_path / "kit"), tmp_path / "pack", tmp_path / "outside"
    learn(kit, pack, steps=[plain_step("one", "text")])
    outside.mkdir()
    (outside / "precious.txt").write_text("x")
    path = pack / name
    path.unlink(missing_ok=True)
    path.symlink_to(outside if name in ("kit", "prepared") else outside / "precious.txt")
    for use in (Pack, LoadedPack, problems, Holdings, partial(learn, kit)):
        with pytest.raises(InputError, match="leads out"):
            use(pack)
    assert [each.name for each in outside.iterdir()] == ["precious.txt"]
    assert (outside / "precious.txt").read_text() == "x"


def test_links_inside_of_a_pack_are_its_own_and_pipes_are_nobodys(tmp_path):
    kit, pack = write_kit(tmp_path / "kit"), tmp_path / "pack"
    learn(kit, pack, steps=[plain_step("one", "text")])
    (pack / "again.json").symlink_to(pack / "report.json")
    Pack(pack)
    os.mkfifo(pack / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        Pack(pack)


def test_nothing_is_written_through_a_link_that_came_after_a_pack_was_opened(tmp_path):
    kit, pack, outside = write_kit(tmp_path / "kit"), tmp_path / "pack", tmp_path / "outside"
    learn(kit, pack, steps=[plain_step("one", "text")])
    opened = Pack(pack)
    outside.mkdir()
    (pack / "state.json").rename(outside / "state.json")
    (pack / "state.json").symlink_to(outside / "state.json")
    before = (outside / "state.json").read_bytes()
    opened.state["seed"] = 77
    with pytest.raises(InputError, match="leads out"):
        opened.save()
    assert (outside / "state.json").read_bytes() == before


def test_a_kit_is_learned_from_without_what_links_in_it_name(tmp_path):
    kit, outside = write_kit(tmp_path / "kit"), tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("the secret of somebody else\n" * 30)
    (kit / "text" / "linked.txt").symlink_to(outside / "secret.txt")
    (kit / "more").symlink_to(outside)
    os.mkfifo(kit / "text" / "pipe.txt")
    found = find_kit(kit, tmp_path / "pack")
    assert "text/linked.txt" not in found.files["text"]
    assert "leads out" in found.reasons["text/linked.txt"] and "leads out" in found.reasons["more"]
    assert "neither a file" in found.reasons["text/pipe.txt"]
    learn(kit, tmp_path / "pack", steps=[plain_step("one", "text")])
    assert "secret" not in "".join(p.read_text(errors="replace") for p in (tmp_path / "pack").rglob("*") if p.is_file())


def test_what_a_pack_says_of_itself_fails_with_its_own_error(tmp_path, monkeypatch):
    learn(write_kit(tmp_path / "kit"), tmp_path / "pack", steps=[plain_step("one", "text")])
    pack = LoadedPack(tmp_path / "pack")
    monkeypatch.setattr("corpuscle.packs.pack.second_columns", lambda *_, **__: None.lines)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'lines'"):
        pack.glosses  # noqa: B018
    with pytest.raises(AttributeError, match="this pack has no 'colour'"):
        pack.colour  # noqa: B018
