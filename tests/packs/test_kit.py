"""Claims about kits: what the files of a folder are."""

from __future__ import annotations

from corpuscle.packs import find_kit


def test_files_are_recognised_by_place_and_name(tmp_path):
    usable = "text/a.txt text/b.txt.gz parallel/x.src parallel/x.tgt names.tsv noisy.txt entities/1.ann"
    others = "text/c.md deep/text/a.txt gold/names.tsv"
    for name in (*usable.split(), *others.split(), ".hidden", "pack/models/x.model"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    kit = find_kit(tmp_path, tmp_path / "pack")
    assert kit.files == {
        "text": ("text/a.txt", "text/b.txt.gz"),
        "parallel": ("parallel/x.src", "parallel/x.tgt"),
        "names": ("names.tsv",),
        "noisy": ("noisy.txt",),
        "entities": ("entities/1.ann",),
    }
    assert set(kit.reasons) == set(others.split())
