"""Claims about the normaliser that ``corpuscle learn`` makes of noisy messages."""

from __future__ import annotations

import shutil

import pytest

import corpuscle
from corpuscle.cli.main import main
from corpuscle.normalise import Normaliser
from corpuscle.packs import learn
from corpuscle.packs.systems.normaliser import NORMALISER
from corpuscle.samples import write
from tests.packs.kits import HOSTILE, findings
from tests.packs.pages import Page

pytestmark = pytest.mark.filterwarnings("ignore::corpuscle.errors.CorpuscleWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A kit without what was meant, its pack, and the pack of the kit with it."""
    folder = tmp_path_factory.mktemp("noisy")
    write(folder / "kit", sentences=300, pairs=10, names=10, notes=5, messages=150)
    noisy = folder / "kit" / "noisy.txt"
    noisy.write_text(noisy.read_text("utf-8") + f"{HOSTILE} xxxx\n\n", "utf-8")
    learn(folder / "kit", folder / "plain", steps=[NORMALISER])
    for name in ("noisy.tsv", "slang.tsv"):
        shutil.copy(folder / "kit" / "gold" / name, folder / "kit" / name)
    learn(folder / "kit", folder / "pack", steps=[NORMALISER])
    return folder


def test_messages_alone_are_changed_where_a_word_is_not_in_the_text(folder):
    found = findings(folder / "plain", "normaliser")
    assert found["messages"] == 152 and found["annotated"] == 0 and found["held_out"] is None
    assert found["also_from"] == ["text", "lexicon"] and 0 < found["changed"] <= found["survey"]["unknown"]
    page = Page((folder / "plain" / "report.html").read_text(encoding="utf-8"))
    text = "".join(page.text)
    assert "Nobody has said what was meant" in text and "Before and after" in text
    typed, form, _ = found["frequent"][0]
    assert typed in text and form in text


def test_what_was_meant_gives_figures_on_unseen_messages(folder):
    found = findings(folder / "pack", "normaliser")
    figures = found["held_out"]
    assert found["annotated"] == 150 and figures["messages"] == 15 and sum(found["errors"].values()) > 50
    assert found["baseline"] <= figures["f1"] and figures["low"] <= figures["f1"] <= figures["high"]
    assert found["also_from"] == ["text", "lexicon", "meant", "slang"]
    model = corpuscle.load(folder / "pack" / "models" / "normaliser.model")
    assert isinstance(model, Normaliser) and model.provenance_["annotated"] == 150 and len(model.slang_) > 0
    text = "".join(Page((folder / "pack" / "report.html").read_text(encoding="utf-8")).text)
    assert "Kinds of errors" in text and "most frequent replacement" in text
    for row in found["reasons"]:
        assert row["typed"] in text and row["typed"] != row["form"]


def test_reports_show_messages_as_text(folder):
    for pack in ("plain", "pack"):
        assert HOSTILE not in (folder / pack / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"noisy.txt": "a b\n" * 5}, "noisy.txt: only 5 messages; at least 10 are needed"),
        ({"noisy.txt": "a b\n" * 20}, "noisy.txt: no running text to learn standard spelling from"),
        ({"noisy.txt": "a b\n" * 20, "noisy.tsv": "a\ta\n\n" * 5}, "noisy.tsv: only 5 messages with what was meant"),
        ({"noisy.txt": "a b\n" * 20, "slang.tsv": "a\n"}, "slang.tsv:1:"),
    ],
)
def test_what_is_too_little(tmp_path, capsys, files, reason):
    (tmp_path / "kit").mkdir()
    for name, content in files.items():
        (tmp_path / "kit" / name).write_text(content, encoding="utf-8")
    assert main(["learn", str(tmp_path / "kit"), "-o", str(tmp_path / "pack"), "-q"]) == 2
    assert reason in capsys.readouterr().err
