"""Claims about what people have: every messy kit is described, and ends with a report or one clear error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from corpuscle.cli.main import main
from corpuscle.errors import InputError
from corpuscle.packs import learn, take_in
from corpuscle.packs.kit import ROLES, show_rows
from corpuscle.text.running import attached_punctuation, line_breaks_of, tokenised_lines
from tests.packs.kits import plain_step
from tests.packs.messy import HINDI, LINES, MESSY, PLAIN, Messy

STEPS = [plain_step(role, role) for role in ROLES]


def write_files(folder: Path, messy: Messy) -> Path:
    folder.mkdir()
    for name, content in messy.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.mark.parametrize("name", MESSY)
def test_every_messy_kit_is_described_and_ends_with_a_report_or_one_error(tmp_path, name):
    messy = MESSY[name]
    kit, pack = write_files(tmp_path / "kit", messy), tmp_path / "pack"
    try:
        intake = take_in(kit, pack, tmp_path / "prepared", **messy.options)
    except InputError as error:
        assert messy.error and re.search(messy.error, str(error)), error
    else:
        said = "\n".join("  ".join(row) for row in show_rows(intake.rows))
        for phrase in messy.says:
            assert phrase in said, said
        assert {role: len(names) for role, names in intake.kit.files.items()} == messy.roles, said
        assert {row.name for row in intake.rows} == set(messy.files)
        json.dumps([row.to_json() for row in intake.rows])
    if messy.error:
        with pytest.raises(InputError, match=messy.error):
            learn(kit, pack, steps=STEPS, **messy.options)
        assert not pack.exists()
        return
    outcome = learn(kit, pack, steps=STEPS, **messy.options)
    assert set(outcome.chapters) == set(messy.roles) and outcome.report.is_file()
    page = outcome.report.read_text(encoding="utf-8")
    assert all(Path(name).name in page for name in messy.files if name != "kit.toml")
    again = learn(kit, pack, steps=STEPS, **messy.options)
    assert set(again.kept) == set(messy.roles)


def prepared(tmp_path: Path, name: str) -> dict[str, str]:
    """The files that steps read, by name."""
    messy = MESSY[name]
    kit = write_files(tmp_path / "kit", messy)
    found = take_in(kit, tmp_path / "pack", tmp_path / "prepared", **messy.options).kit
    return {n: found.path(n).read_text(encoding="utf-8") for names in found.files.values() for n in names}


def test_a_glossed_text_becomes_text_pairs_and_glosses(tmp_path):
    for name, first in ("ELAN", "rec-a"), ("FLEx", "a"), ("Toolbox", "a"):
        messy = MESSY[name]
        kit = write_files(tmp_path / name, messy)
        intake = take_in(kit, tmp_path / "pack", tmp_path / f"{name}-prepared")
        read = {
            n: intake.kit.path(n).read_text(encoding="utf-8") for r in ("text", "parallel") for n in intake.kit.files[r]
        }
        assert read[f"text/{first}.txt"].splitlines()[0] == "kitablar geldi", name
        assert read[f"parallel/{first}.src"].splitlines()[0] == "kitablar geldi"
        assert read[f"parallel/{first}.tgt"].splitlines()[0] == "The books came ."
        glosses = dict(intake.glosses)
        assert glosses["kitablar"] == "book-PL" and glosses["kitab"] == "book", name


def test_prepared_text_is_the_text(tmp_path):
    for name in ("UTF-16", "running text", "a few broken lines", "a word processor", "packed text"):
        (tmp_path / name).mkdir()
        if name == "packed text":
            continue
        for text in prepared(tmp_path / name, name).values():
            lines = [line.removesuffix(" !").lower() for line in text.splitlines()]
            assert lines[:60] == LINES, name


def test_bad_sides_of_pairs_go_together(tmp_path):
    (tmp_path / "kit/parallel").mkdir(parents=True)
    (tmp_path / "kit/parallel/x.hi").write_text(HINDI, encoding="utf-8")
    broken = PLAIN.encode().split(b"\n")
    broken[7] = b"\xff\xff"
    (tmp_path / "kit/parallel/x.en").write_bytes(b"\n".join(broken))
    kit = take_in(tmp_path / "kit", tmp_path / "pack", tmp_path / "prepared").kit
    source, target = (Path(path).read_text(encoding="utf-8").splitlines() for path in kit.paths("parallel"))
    assert len(source) == len(target) == 59
    assert kit.languages == {"source": "English", "target": "Hindi"}
    assert LINES[7] not in source[7:8] and source[:7] == LINES[:7] and source[7:] == LINES[8:]


def test_a_description_names_languages_and_turns_preparation_off(tmp_path):
    messy = MESSY["running text"]
    kit = write_files(tmp_path / "kit", messy)
    (kit / "kit.toml").write_text('prepare = "no"\n[languages]\ntext = "tlh"\n')
    found = take_in(kit, tmp_path / "pack", tmp_path / "prepared").kit
    assert found.languages == {"text": "tlh"} and not found.places


def test_punctuation_is_attached_or_not():
    assert attached_punctuation("He came, saw . And (then) it 's done !")[0] == pytest.approx(2 / 4)
    assert attached_punctuation("a b c")[1] == 0
    assert line_breaks_of("One.\nTwo.\nThree") == "sentence"


def test_lines_are_tokenised_one_by_one():
    assert tokenised_lines(["He came.", "", "Yes, he. Did he?"]) == ["He came .", "", "Yes , he . Did he ?"]
    assert tokenised_lines([]) == [] and tokenised_lines(["", ""]) == ["", ""]


def test_check_shows_the_table_and_writes_nothing(tmp_path, capsys):
    def run(*arguments):
        return main(list(map(str, arguments))), capsys.readouterr().out

    kit = write_files(tmp_path / "kit", MESSY["another encoding"])
    code, out = run("learn", kit, "--check", "-o", tmp_path / "pack", "--json")
    assert code == 2 and not (tmp_path / "pack").exists()
    [file] = json.loads(out.splitlines()[-1])["files"]
    assert file["problems"][0]["fix"] == "--encoding cp1252" and not file["problems"][0]["used"]
    code, out = run("learn", kit, "--check", "--encoding", "cp1252")
    assert code == 0 and "read as cp1252" in out
    assert run("learn", kit, "--check", "--encoding", "klingon")[0] == 2
    assert run("learn", "--check")[0] == 2
