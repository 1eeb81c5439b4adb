"""Claims about packs on disk: hostile and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpuscle.errors import InputError
from corpuscle.packs import learn
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
