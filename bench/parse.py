"""Dependency parsers on development trees with gold tags: how many heads and relations are right, and what it costs.

English is compared with UDPipe 1 (its default parser, beam 5), where the environment variable ``UDPIPE_PYTHON`` names a
Python in which ``ufal.udpipe`` is installed; FEATS are blanked on both sides, because the training part has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

UDPIPE = os.environ.get("UDPIPE_PYTHON")
ENGLISH = "english-ewt"
OTHERS = (
    "turkish-imst", "french-sequoia", "arabic-padt", "german-gsd", "japanese-gsd", "chinese", "czech-fictree",
    "finnish-tdt", "hindi-hdtb",
)  # fmt: skip
SOURCES = ("corpuscle/parse", "corpuscle/engine/dp", "corpuscle/text")


def cells(data: Path) -> Iterator[Cell]:
    """English in several ways, then the other treebanks."""
    for name in (ENGLISH, *OTHERS):
        train, dev = (data / f"ud-{name}" / f"{part}.conllu" for part in ("train", "dev"))
        ways: dict[str, dict[str, Any]] = {"second order": {}}
        if name == ENGLISH:
            ways |= {"first order": {"order": 1}, "second order, perceptron": {"learner": "perceptron"}}
        files = {"train": str(train), "dev": str(dev)}
        sides = [Call(way, "bench.parse:job", {**files, "settings": settings}) for way, settings in ways.items()]
        if name == ENGLISH and UDPIPE:
            sides.append(Call("udpipe", "bench.parse:udpipe", files))
        yield Cell(name, name, tuple(sides), inputs=(train, dev), repeats=1, warm_up=False, sources=SOURCES)


def job(timer: Any, train: str, dev: str, settings: dict[str, Any]) -> dict[str, float]:
    """Train a parser and parse the development trees; the clock counts both, CPU seconds are told apart."""
    import time

    from corpuscle.measure import attachment
    from corpuscle.parse import MstParser, warm
    from corpuscle.text import read_conllu

    warm()
    bank, gold = read_conllu(train), read_conllu(dev)
    with timer:
        begin = time.process_time()
        parser = MstParser(workers=2, **settings).fit(bank)
        learned = time.process_time()
        wall = time.perf_counter()
        found = parser.annotate(gold)
        wall, parsed = time.perf_counter() - wall, time.process_time() - learned
    result = attachment(gold, found, draws=1000)
    return {
        "sentences": len(bank), "UAS": 100 * float(result["uas"]), "LAS": 100 * float(result["las"]),
        "LAS low": 100 * float(result["las_low"]), "LAS high": 100 * float(result["las_high"]),
        "training CPU s": learned - begin, "sentences a second": len(gold) / wall,
        "sentences a CPU second": len(gold) / parsed,
    }  # fmt: skip


def udpipe(timer: Any, train: str, dev: str) -> dict[str, float]:
    """UDPipe 1 in its own Python."""
    import json
    import subprocess

    assert UDPIPE is not None
    with timer:
        done = subprocess.run([UDPIPE, "bench/parse_peer.py", train, dev], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def claims(results: dict[str, Any]) -> list[Claim]:
    """Better than UDPipe, in less time."""
    speed = Claim("English: sentences a second, second order, two threads", "800")
    first = Claim("English: sentences a second, first order, two threads", "2,000")
    uas, las, cpu = (Claim(f"English: {name} beside UDPipe 1", target) for name, target in
                     (("UAS", "at least"), ("LAS", "at least"), ("training CPU s", "less")))  # fmt: skip
    if ENGLISH in results:
        found = results[ENGLISH]
        rate = typical(found, "second order", "sentences a second")
        speed = Claim(speed.text, speed.target, f"{rate:,.0f}", rate >= 800)
        rate = typical(found, "first order", "sentences a second")
        first = Claim(first.text, first.target, f"{rate:,.0f}", rate >= 2000)
        if "udpipe" in found["runs"]:
            ours, theirs = (
                {name: typical(found, side, name) for name in ("UAS", "LAS", "training CPU s")}
                for side in ("second order", "udpipe")
            )
            uas, las = (
                Claim(claim.text, claim.target, f"{ours[name]:.2f} beside {theirs[name]:.2f}", ours[name] >= theirs[name])
                for claim, name in ((uas, "UAS"), (las, "LAS"))
            )
            less = ours["training CPU s"], theirs["training CPU s"]
            cpu = Claim(cpu.text, cpu.target, f"{less[0]:.0f} beside {less[1]:.0f}", less[0] < less[1])
    return [uas, las, cpu, speed, first]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Trained on the whole training part with default settings, tags and trees of the development part as they are in "
        "the files. Intervals are of 1,000 resampled sets of sentences."
    )
