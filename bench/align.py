"""Word alignment beside eflomal: seconds, and AER for every symmetrisation, from the same text in the same run.

English is the source. The sentences with gold links stand behind the training sentences, as is usual for aligners that
learn without gold, and links are judged there. ``eflomal-align`` takes part when it is on PATH or named by the
environment variable ``EFLOMAL_ALIGN``; its two directions are symmetrised by us. Times cover everything from two text
files to the links of both directions of all sentences; ours also the symmetrisation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import CELLS, Call, Cell, Claim, ratios, typical

FILES = CELLS / "files"
WAYS = ("intersection", "grow-diag", "grow-diag-final-and")
EFLOMAL = os.environ.get("EFLOMAL_ALIGN") or shutil.which("eflomal-align")

SETS = {
    "fr-en": ("align-fr-en/train", "align-fr-en/trial align-fr-en/dev", "fr", 50_000, False),
    "es-en": ("align-es-en/train", "align-es-en/dev", "es", None, False),
    "zh-en": ("align-zh-en/train", "align-zh-en/dev", "zh", None, False),
    "ja-en": ("align-ja-en/train", "align-ja-en/dev", "ja", None, False),
    "cs-en": ("multi30k/train", "align-cs-en/dev", "cs", None, True),
}
"""Name -> training text, texts with gold links, the other language, how many training pairs, whether to lower-case."""


def cells(data: Path) -> Iterator[Cell]:
    """One cell for each set of sentence pairs, small ones first."""
    for name in ("es-en", "cs-en", "fr-en", "zh-en", "ja-en"):
        stem = FILES / f"align-{name}"
        texts = {"source": f"{stem}.en", "target": f"{stem}.{SETS[name][2]}", "gold": f"{stem}.gold"}
        sides = [Call(m, "bench.align:ours", {**texts, "method": m}) for m in ("hmm", "diagonal")]
        if EFLOMAL:
            sides.append(Call("eflomal", "bench.align:eflomal", {**texts, "program": EFLOMAL}))
        train, dev, other, _, _ = SETS[name]
        yield Cell(
            name,
            f"{name}, AER in percent",
            tuple(sides),
            peer="eflomal" if EFLOMAL else None,
            inputs=tuple(data / f"{part}.{side}" for part in (train, *dev.split()) for side in ("en", other)),
            prepare=partial(prepare, data, name),
            repeats=3,
        )


def prepare(data: Path, name: str) -> None:
    """Write the training text with the sentences to be judged behind it, and their gold links."""
    train, dev, other, most, lower = SETS[name]
    FILES.mkdir(parents=True, exist_ok=True)
    for side in ("en", other):
        lines = (data / f"{train}.{side}").read_text(encoding="utf-8").split("\n")[:-1][:most]
        for part in dev.split():
            lines += (data / f"{part}.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        text = "\n".join(lines) + "\n"
        (FILES / f"align-{name}.{side}").write_text(text.lower() if lower else text, encoding="utf-8")
    gold = "".join((data / f"{part}.gold").read_text() for part in dev.split())
    (FILES / f"align-{name}.gold").write_text(gold)


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for how, target in (("grow-diag-final-and", 9.0), ("grow-diag", 8.5), ("intersection", 8.0)):
        aer = typical(results["fr-en"], "hmm", f"AER {how}")
        found.append(Claim(f"fr-en, AER with {how}", f"below {target}", f"{aer:.2f}", aer < target))
    best = typical(results["fr-en"], "hmm", "AER posterior")
    found.append(Claim("fr-en, best AER", "below 7.5", f"{best:.2f}", best < 7.5))
    if EFLOMAL:
        for name, result in results.items():
            worst = max(ratios(result, "hmm"))
            found.append(Claim(f"{name}: time of the default beside eflomal", "at most 1", f"{worst:.2f}", worst <= 1))
            ours, theirs = (typical(result, side, "AER grow-diag-final-and") for side in ("hmm", "eflomal"))
            figures = f"{ours:.2f} beside {theirs:.2f}"
            found.append(Claim(f"{name}: AER of the default, grow-diag-final-and", "lower", figures, ours < theirs))
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes",
        "",
        "- Both directions, two cores, kernels warm. R is recall of the sure links in percent.",
        "- eflomal draws at random: its figures differ from run to run, and medians are shown.",
    ]
    return "\n".join(lines if EFLOMAL else [*lines, "- eflomal-align was not on PATH."])


def _judge(links: dict[str, Any], gold: str) -> dict[str, float]:
    """AER and recall by symmetrisation."""
    from corpuscle.measure import alignment_error
    from corpuscle.text.alignments import read_pharaoh

    wanted, figures = read_pharaoh(gold), {}
    for how, found in links.items():
        result = alignment_error(wanted, found[len(found) - len(wanted) :], draws=1)
        figures |= {f"AER {how}": 100 * result["aer"], f"R {how}": 100 * result["recall"]}
    return figures


def ours(timer, source: str, target: str, gold: str, method: str) -> dict[str, float]:
    """Learn, align, symmetrise."""
    from corpuscle.align import learner, warm
    from corpuscle.text.bitext import read_bitext

    warm()
    with timer:
        bitext = read_bitext(source, target)
        model = learner(method).fit(bitext)
        links = {"grow-diag-final-and": model.align(bitext)}
    others = (*(how for how in WAYS if how not in links), "posterior")
    return _judge(links | model.align_all(bitext, others), gold)


def eflomal(timer, source: str, target: str, gold: str, program: str) -> dict[str, float]:
    """The peer's program with its defaults, both directions."""
    from corpuscle.align import symmetrise
    from corpuscle.text.alignments import read_pharaoh

    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("forward", "backward")]
        command = (program, "-s", source, "-t", target, "-f", files[0], "-r", files[1], "--overwrite")
        with timer:
            subprocess.run(command, check=True, capture_output=True)
        both = [read_pharaoh(path) for path in files]
    return _judge({how: symmetrise(*both, how) for how in WAYS}, gold)
