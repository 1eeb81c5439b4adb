"""Dependency parsers on development trees with gold tags: how many heads and relations are right, and what it costs.

The peer is UDPipe 1 (pip install ufal.udpipe) with the default settings of its parser; the environment variable
UDPIPE_PYTHON names a Python in which it is installed. FEATS are taken away on both sides of that cell, because the
training part of EWT has none. Its training takes most of an hour: its model is kept beside the cells.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import CELLS, Call, Cell, Claim, typical

ENGLISH = "english-ewt"
OTHERS = (
    "turkish-imst", "french-sequoia", "arabic-padt", "german-gsd", "japanese-gsd", "chinese", "czech-fictree",
    "finnish-tdt", "hindi-hdtb",
)  # fmt: skip
SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/engine/dp/*.py", "corpuscle/measure/dependencies.py")
PEER = os.environ.get("UDPIPE_PYTHON", "")
BEAMS = {"UDPipe 1, beam 5": "", "UDPipe 1, beam 1": "beam_search=1"}
RAW = {
    "czech-fictree": ("multi30k/train.cs",),
    "french-sequoia": ("tatoeba11/fr.txt", "multi30k/train.fr"),
    "german-gsd": ("tatoeba11/de.txt", "multi30k/train.de"),
}
"""Raw text of the languages of small treebanks."""
LAYERS: dict[str, dict[str, Any]] = {
    "forms and tags": {"sources": ["none"]},
    "+ FEATS": {"sources": ["features"]},
    "+ lemmas": {"sources": ["lemmas"]},
}


def cells(data: Path) -> Iterator[Cell]:
    """English in several ways, then the other treebanks, then what sources of features bring to small ones."""
    for name in (ENGLISH, *OTHERS):
        train, dev = (data / f"ud-{name}" / f"{part}.conllu" for part in ("train", "dev"))
        ways: dict[str, dict[str, Any]] = {"second order": {}}
        if name == ENGLISH:
            ways |= {"first order": {"order": 1}, "second order, perceptron": {"learner": "perceptron"}}
            ways["second order, not augmented"] = {"augmented": False}
        yield _cell(name, train, dev, ways, peer=bool(PEER) and name == ENGLISH)
    sample = (data / "ptb-sample" / f"{part}.dep.conll" for part in ("train", "dev"))
    yield _cell("ptb-sample", *sample, {"second order": {}, "first order": {"order": 1}})
    for name, texts in RAW.items():
        train, dev = (data / f"ud-{name}" / f"{part}.conllu" for part in ("train", "dev"))
        first = {way: {"order": 1, **settings} for way, settings in LAYERS.items()}
        known = [str(data / text) for text in texts]
        yield _cell(f"sources-{name}", train, dev, first | {"+ classes": {"order": 1, "known": known}})


def _cell(name: str, train: Path, dev: Path, ways: dict[str, dict[str, Any]], peer: bool = False) -> Cell:
    files = {"train": str(train), "dev": str(dev)}
    sides = [Call(way, "bench.parse:job", {**files, "settings": settings}) for way, settings in ways.items()]
    if peer:
        sides += [Call(way, "bench.parse:udpipe", {**files, "options": options}) for way, options in BEAMS.items()]
    return Cell(name, name, tuple(sides), inputs=(train, dev), repeats=1, warm_up=False, sources=SOURCES)


def job(timer: Any, train: str, dev: str, settings: dict[str, Any]) -> dict[str, float]:
    """Train a parser and parse the development trees; the clock counts both, CPU seconds are told apart."""
    import time

    from corpuscle.parse import MstParser, warm
    from corpuscle.text import read_conllu

    warm()
    known = _classes(settings.pop("known", []))
    bank, gold = read_conllu(train), read_conllu(dev)
    with timer:
        begin = time.process_time()
        parser = MstParser(workers=2, **settings).fit(bank, known=known)
        learned = time.process_time()
        wall = time.perf_counter()
        found = parser.annotate(gold)
        wall, parsed = time.perf_counter() - wall, time.process_time() - learned
    return {
        "sentences": len(bank), **_figures(gold, found), "training CPU s": learned - begin,
        "sentences a second": len(gold) / wall, "sentences a CPU second": len(gold) / parsed,
    }  # fmt: skip


def _classes(texts: list[str]) -> Any:
    """200 word classes of lower-cased raw text as a source of features."""
    from corpuscle.words import ExchangeClasses, class_sources

    if not texts:
        return None
    learner = ExchangeClasses(classes=200, lowercase=True)
    return class_sources(learner.fit(learner.read(*texts)))


def _figures(gold: Any, found: Any) -> dict[str, float]:
    from corpuscle.measure import attachment

    result = attachment(gold, found, draws=1000)
    return {
        "UAS": 100 * float(result["uas"]), "LAS": 100 * float(result["las"]),
        "LAS low": 100 * float(result["las_low"]), "LAS high": 100 * float(result["las_high"]),
    }  # fmt: skip


def udpipe(timer: Any, train: str, dev: str, options: str) -> dict[str, float]:
    """What the peer makes of the same files; it is trained once."""
    import json
    import subprocess

    from corpuscle.text import read_conllu

    def run(*arguments: str) -> dict[str, float]:
        command = [PEER, "bench/parse_peer.py", *arguments]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(printed.splitlines()[-1])

    folder = CELLS / "files"
    folder.mkdir(parents=True, exist_ok=True)
    model, notes, output = folder / "udpipe-ewt.model", folder / "udpipe-ewt.json", folder / "udpipe-ewt.conllu"
    if not (model.exists() and notes.exists()):
        notes.write_text(json.dumps(run("train", train, str(model))))
    with timer:
        parsed = run("parse", str(model), dev, str(output), *([options] if options else []))
    learned = json.loads(notes.read_text())
    return {
        "sentences": learned["sentences"], **_figures(read_conllu(dev), read_conllu(output)),
        "training CPU s": learned["seconds"], "sentences a second": parsed["sentences"] / parsed["wall"],
        "sentences a CPU second": parsed["sentences"] / parsed["seconds"],
    }  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """How fast English is parsed, and how it compares with the peer."""
    found = []
    for order, target in (("second", 800), ("first", 2000)):
        claim = Claim(f"English: sentences a second, {order} order, two threads", f"{target:,}")
        if ENGLISH in results:
            rate = typical(results[ENGLISH], f"{order} order", "sentences a second")
            claim = Claim(claim.text, claim.target, f"{rate:,.0f}", rate >= target)
        found.append(claim)
    for figure in ("UAS", "LAS", "sentences a CPU second"):
        claim = Claim(f"English: {figure}, second order, against UDPipe 1 at beam 5", "at least as much")
        if ENGLISH in results and "UDPipe 1, beam 5" in results[ENGLISH]["runs"]:
            ours, theirs = (typical(results[ENGLISH], side, figure) for side in ("second order", "UDPipe 1, beam 5"))
            claim = Claim(claim.text, f"{theirs:,.2f}", f"{ours:,.2f}", ours >= theirs)
        found.append(claim)
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Trained on the whole training part with default settings; tags of the development part as in the files. "
        "Intervals are of 1,000 resampled sets of sentences. `sources-...`: first order; classes are 200 of "
        "lower-cased raw text."
    ) + ("" if PEER else " UDPIPE_PYTHON named no Python with UDPipe.")
