"""Small kits, a step as quick as a step can be, and what a pack says about its steps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from corpuscle.packs import Chapter, Findings, Step
from corpuscle.random import Random

HOSTILE = '<script>alert("1")</script>'


def sentences(n: int, seed: int = 1) -> list[str]:
    stream = Random(seed, "test sentences")
    words = ["ka", "mi", "tor", "sen", "lu", "pa", "ri", "dok", "é", "ol"]
    weights = [1 / (i + 1) for i in range(len(words))]
    return [" ".join(stream.choice(words, weights) for _ in range(2 + stream.below(6))) for _ in range(n)]


def write_kit(folder: Path, n: int = 200) -> Path:
    lines = sentences(n)
    (folder / "text").mkdir(parents=True)
    documents = ["\n".join(lines[i : i + 10]) for i in range(0, n, 10)]
    (folder / "text" / "a.txt").write_text("\n\n".join(documents[::2]) + "\n", encoding="utf-8")
    (folder / "text" / "b.txt").write_text(
        "\n\n".join(documents[1::2]) + f"\n{HOSTILE} ka mi & tor\n", encoding="utf-8"
    )
    (folder / "names.tsv").write_text("a\tb\n", encoding="utf-8")
    (folder / "no <b>tes.md").write_text("hello", encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Counted(Findings):
    size: int

    def chapter(self, step):
        return Chapter(f"{step.name}: {self.size}", {"size": self.size}, [], [])


def plain_step(name: str, needs: str, after: tuple[str, ...] = (), version: int = 1, run=None, found=Counted) -> Step:
    """A step that counts the bytes of its input: as quick as a step can be."""

    def count(job, settings):
        size = sum(Path(path).stat().st_size for path in job.kit.paths(needs))
        (job.pack / "models" / f"{name}.model").write_text(str(size))
        return Counted(size)

    return Step(name, name.title(), version, (needs,), (f"models/{name}.model",), run or count, found, after=after)


def state(pack: Path) -> dict:
    return json.loads((pack / "state.json").read_text(encoding="utf-8"))


def findings(pack: Path, step: str) -> dict:
    return json.loads((pack / "state.json").read_text(encoding="utf-8"))["steps"][step]["findings"]


def write_pairs(kit: Path, source: list[str], target: list[str]) -> Path:
    (kit / "parallel").mkdir(parents=True, exist_ok=True)
    for side, lines in ("src", source), ("tgt", target):
        (kit / "parallel" / f"a.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return kit


def kit_of(folder: Path, sample: Path, *parts: str) -> Path:
    """Some files of the sample as a kit of their own."""
    for part in parts:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (folder / part).write_bytes((sample / part).read_bytes())
    return folder
