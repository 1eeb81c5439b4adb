"""Dependency parsers on development trees with gold tags: how many heads and relations are right, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

ENGLISH = "english-ewt"
OTHERS = (
    "turkish-imst", "french-sequoia", "arabic-padt", "german-gsd", "japanese-gsd", "chinese", "czech-fictree",
    "finnish-tdt", "hindi-hdtb",
)  # fmt: skip
SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/engine/dp/*.py", "corpuscle/measure/dependencies.py")


def cells(data: Path) -> Iterator[Cell]:
    """English in several ways, then the other treebanks."""
    for name in (ENGLISH, *OTHERS):
        train, dev = (data / f"ud-{name}" / f"{part}.conllu" for part in ("train", "dev"))
        ways: dict[str, dict[str, Any]] = {"second order": {}}
        if name == ENGLISH:
            ways |= {"first order": {"order": 1}, "second order, perceptron": {"learner": "perceptron"}}
        files = {"train": str(train), "dev": str(dev)}
        sides = [Call(way, "bench.parse:job", {**files, "settings": settings}) for way, settings in ways.items()]
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


def claims(results: dict[str, Any]) -> list[Claim]:
    """How fast English is parsed."""
    found = []
    for order, target in (("second", 800), ("first", 2000)):
        claim = Claim(f"English: sentences a second, {order} order, two threads", f"{target:,}")
        if ENGLISH in results:
            rate = typical(results[ENGLISH], f"{order} order", "sentences a second")
            claim = Claim(claim.text, claim.target, f"{rate:,.0f}", rate >= target)
        found.append(claim)
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Trained on the whole training part with default settings; tags of the development part as in the files. "
        "Intervals are of 1,000 resampled sets of sentences."
    )
