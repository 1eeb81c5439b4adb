"""Claims about packs as things to ship: damage is seen, the archive is the same everywhere, differences are named."""

from __future__ import annotations

import hashlib
import json
import shutil
import tracemalloc
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpuscle.cli.main import main
from corpuscle.errors import InputError
from corpuscle.lm import NgramModel
from corpuscle.packs import learn
from corpuscle.packs.ship import differences, export, problems, write_site
from corpuscle.text import read_text
from tests.packs.kits import Counted, plain_step, state, write_kit, write_pairs
from tests.schemas import last_line_conforms

CHANGE = {"what": str, "name": str, "first": str | int | float | list | None, "second": str | int | float | list | None}


@dataclass(frozen=True)
class Nested(Counted):
    nested: Mapping[str, int]


def counting(job, settings):
    """A step whose file is a real model."""
    model = NgramModel(order=2).fit(read_text(*job.kit.paths("text"), blank="document"))
    model.save(job.pack / "models" / "lm.model")
    return Nested(sum(Path(path).stat().st_size for path in job.kit.paths("text")), {"types": 3})


STEPS = [plain_step("lm", "text", run=counting, found=Nested)]


@pytest.fixture
def pack(tmp_path):
    learn(write_kit(tmp_path / "kit"), tmp_path / "pack", steps=STEPS)
    return tmp_path / "pack"


def test_a_pack_as_it_was_written_is_sound(pack, capsys):
    assert problems(pack) == []
    assert main(["pack", "verify", str(pack), "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, {"pack": str, "sound": bool, "problems": [str]})


@pytest.mark.parametrize(
    ("damage", "seen"),
    [
        (lambda pack: (pack / "models/lm.model").unlink(), "models/lm.model: missing"),
        (lambda pack: (pack / "models/lm.model").write_bytes(b"x"), "is not what the step wrote"),
        (
            lambda pack: (pack / "state.json").write_text(
                (pack / "state.json").read_text().replace('"types": 3', '"types": 4')
            ),
            "state.json: what is written down about the step 'lm' was changed",
        ),
    ],
)
def test_damage_is_one_line_each_and_exit_code_2(pack, capsys, damage, seen):
    damage(pack)
    assert main(["pack", "verify", str(pack)]) == 2
    said = capsys.readouterr()
    assert seen in said.err and said.out == ""
    assert all(line.startswith(f"error: {pack}: ") for line in said.err.splitlines())
    with pytest.raises(InputError, match="not exported"):
        export(pack, pack.parent / "pack.zip")
    assert not (pack.parent / "pack.zip").exists()


def test_an_archive_is_the_same_bytes_wherever_the_pack_lies_and_has_the_sums_of_its_files(pack, tmp_path, capsys):
    (pack / "annotations").mkdir()
    (pack / "annotations" / "parse.jsonl").write_text("{}")
    assert main(["pack", "export", str(pack), "-o", str(tmp_path / "a.zip"), "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, {"files": int, "bytes": int, "archive": str})
    moved = tmp_path / "elsewhere" / "other"
    moved.parent.mkdir()
    shutil.copytree(pack, moved)
    export(moved, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        sums = dict(reversed(line.split("  ")) for line in archive.read("SHA256SUMS").decode().splitlines())
        assert sums == {n: hashlib.sha256(archive.read(n)).hexdigest() for n in archive.namelist() if n != "SHA256SUMS"}
        assert {*sums} == {"state.json", "models/lm.model", "report.html", "report.json"}
        assert json.loads(archive.read("state.json"))["kit"] == "kit"
        archive.extractall(tmp_path / "back")
    assert problems(tmp_path / "a.zip") == [] == problems(tmp_path / "back")


def rewritten(source: Path, target: Path, change) -> Path:
    """An archive with other members: ``change`` gets a dictionary of them."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda members: members.update({"report.html": b"x"}), "report.html: is not what it was"),
        (lambda members: members.pop("report.html"), "report.html: missing"),
        (lambda members: members.update({"more": b"x"}), "more: has no checksum"),
        (lambda members: members.update({"../more": b"x"}), "../more: a name that leads out of the pack"),
        (lambda members: members.update({"/etc/more": b"x"}), "a name that leads out of the pack"),
    ],
)
def test_a_changed_archive_is_not_sound(pack, tmp_path, change, seen):
    export(pack, tmp_path / "a.zip")
    assert any(seen in problem for problem in problems(rewritten(tmp_path / "a.zip", tmp_path / "b.zip", change)))


def test_what_is_no_archive_and_no_pack_is_one_clear_error(pack, tmp_path, capsys):
    export(pack, tmp_path / "a.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:-30])
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as archive:
        archive.writestr("a", "b")
    for wrong in ("cut.zip", "plain.zip", "kit", "nowhere"):
        assert main(["pack", "verify", str(tmp_path / wrong)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def bomb(path: Path, members: Mapping[str, int]) -> Path:
    """An archive of members that are zeros, so that they unpack to far more than is sent."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, size in members.items():
            with archive.open(name, "w", force_zip64=True) as file:
                for begin in range(0, size, 1 << 24):
                    file.write(bytes(min(1 << 24, size - begin)))
    return path


@pytest.mark.parametrize(
    ("members", "seen"),
    [
        ({"SHA256SUMS": 5 << 20}, "SHA256SUMS has more than"),
        ({"SHA256SUMS": 10, "models/lm.model": (1 << 30) + 1}, "would unpack to"),
        ({"SHA256SUMS": 10, **{str(number): 0 for number in range(10_001)}}, "at most 10,000"),
    ],
)
def test_an_archive_that_costs_much_more_than_its_size_is_refused_at_once(tmp_path, members, seen):
    path = bomb(tmp_path / "a.zip", members)
    tracemalloc.start()
    with pytest.raises(InputError, match=seen):
        problems(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 64 << 20


def test_an_archive_that_says_less_of_its_sizes_than_is_true_is_damaged(pack, tmp_path):
    export(pack, tmp_path / "a.zip")
    path = bomb(tmp_path / "b.zip", {"SHA256SUMS": 1 << 20})
    content = path.read_bytes().replace((1 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(content.replace((1 << 20).to_bytes(8, "little"), (10).to_bytes(8, "little")))
    with pytest.raises(InputError, match=r"not an exported pack|damaged one"):
        problems(path)


def test_a_pack_beside_itself_has_no_difference_and_another_text_is_seen(pack, tmp_path, capsys):
    assert differences(pack, pack) == []
    learn(write_kit(tmp_path / "more", 400), tmp_path / "second", steps=STEPS)
    found = {(each.what, each.name): each for each in differences(pack, tmp_path / "second")}
    sizes = [state(each)["steps"]["lm"]["findings"]["size"] for each in (pack, tmp_path / "second")]
    assert list(found["figure", "lm.size"][2:]) == sizes and sizes[0] < sizes[1]
    assert ("file", "models/lm.model") in found and ("figure", "lm.nested.types") not in found
    assert main(["pack", "diff", str(pack), str(tmp_path / "second"), "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, {"same": bool, "differences": [CHANGE]})


def test_a_step_that_only_one_pack_has_is_named(pack, tmp_path):
    learn(tmp_path / "kit", tmp_path / "second", steps=[*STEPS, plain_step("more", "text")])
    assert differences(pack, tmp_path / "second")[-1][:] == ("step", "more", None, "learned")


def test_pages_without_a_server_have_the_report_and_the_sentences_as_data_that_cannot_become_markup(
    pack, tmp_path, capsys
):
    write_pairs(tmp_path / "kit", ["ka mi </script><b>"], ["tor sen"])
    assert main(["pack", "site", str(pack), "-o", str(tmp_path / "site"), "--json"]) == 0
    last_line_conforms(capsys.readouterr().out, {"pages": [str], "missing": [str], "site": str})
    page = (tmp_path / "site" / "concordance.html").read_text(encoding="utf-8")
    held = page.partition('id="data">')[2].partition("</script>")[0]
    assert ["ka mi </script><b>", "tor sen", "ltr"] in json.loads(held)
    assert page.count("<script") == 2 and "script-src 'sha256-" in page
    assert (tmp_path / "site" / "report.html").read_bytes() == (pack / "report.html").read_bytes()
    with pytest.raises(InputError, match="not an empty folder"):
        write_site(pack, tmp_path / "site")


def test_without_the_kit_there_is_no_concordance_and_it_is_said(pack, tmp_path, capsys):
    shutil.rmtree(tmp_path / "kit")
    assert main(["pack", "site", str(pack), "-o", str(tmp_path / "site")]) == 0
    assert "concordance" in capsys.readouterr().err and not (tmp_path / "site" / "concordance.html").exists()
