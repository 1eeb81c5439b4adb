"""Dependency parsers on development trees: how many heads and relations are right, and what it costs.

The peer is UDPipe 1 (pip install ufal.udpipe) with the default settings of its parser; the environment variable
UDPIPE_PYTHON names a Python in which it is installed. FEATS are taken away on both sides of that cell, because the
training part of EWT has none. Its training takes most of an hour: its model is kept beside the cells.

Tags are gold, but for ``predicted-...``, where our tagger, which learned from the training part, has tagged the
development part, and every parser reads that file. ``sources-...`` has what lemmas, FEATS and raw text bring to small
treebanks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import english
from bench.harness import CELLS, Call, Cell, Claim, joined, table, typical

ENGLISH = "english-ewt"
KEPT = f"gold-{ENGLISH}"
"""Kept models, ours and the peer's, side by side."""
SECOND, FIRST = "second order, learned from gold tags", "first order, learned from gold tags"
JACKKNIFED = "second order, learned from jackknifed tags"
OTHERS = (
    "turkish-imst", "french-sequoia", "arabic-padt", "german-gsd", "japanese-gsd", "chinese", "czech-fictree",
    "finnish-tdt", "hindi-hdtb",
)  # fmt: skip
SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/engine/dp/*.py", "corpuscle/measure/dependencies.py")
TAGS = (*SOURCES, "corpuscle/tag/**/*.py")
TEXTS = ("brown/brown.txt", "wikitext2/train.txt")
PEER = os.environ.get("UDPIPE_PYTHON", "")
BEAMS = {"UDPipe 1, beam 5": "", "UDPipe 1, beam 1": "beam_search=1"}
RAW = {
    "czech-fictree": ("multi30k/train.cs",),
    "french-sequoia": ("tatoeba11/fr.txt", "multi30k/train.fr"),
    "german-gsd": ("tatoeba11/de.txt", "multi30k/train.de"),
}
"""Raw text of the languages of small treebanks."""
SMALL = 1000
"""Trees of a small treebank of English, for which there is raw text of many kinds."""
KNOWN = {
    "+ paths of classes": ["paths"], "+ vectors": ["vectors"], "+ classes and vectors": ["classes", "vectors"],
}  # fmt: skip
"""Ways to know words from raw text."""
LAYERS: dict[str, dict[str, Any]] = {
    "forms and tags": {"sources": ["none"]},
    "+ FEATS": {"sources": ["features"]},
    "+ lemmas": {"sources": ["lemmas"]},
}


def cells(data: Path) -> Iterator[Cell]:
    """English in several ways, then the other treebanks, what sources of features bring to small ones, English with
    predicted tags, and what its model takes."""
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
        more = {way: {"order": 1, "known": known, "kinds": kinds} for way, kinds in KNOWN.items()}
        yield _cell(f"sources-{name}-raw", train, dev, more, title=f"sources-{name}")
    train, dev = (data / f"ud-{ENGLISH}" / f"{part}.conllu" for part in ("train", "dev"))
    some = {"order": 1, "trees": SMALL}
    ways = {"forms and tags": some, "+ classes": some | {"known": [str(data / path) for path in TEXTS]}}
    ways |= {way: ways["+ classes"] | {"kinds": kinds} for way, kinds in KNOWN.items()}
    yield _cell(f"sources-{ENGLISH}-{SMALL}", train, dev, ways)
    yield from _predicted(data, train, dev)
    size = Call("second order, tagger inside", "bench.parse:size", {"data": str(data), "dev": str(dev)})
    yield Cell("model", f"{ENGLISH}, the model", (size,), inputs=(train, dev), repeats=1, warm_up=False, sources=TAGS)


def _predicted(data: Path, train: Path, dev: Path) -> Iterator[Cell]:
    """English with the tags of our tagger and with gold ones, by kept models: ours, and the peer's."""
    files: dict[str, Any] = {"data": str(data), "train": str(train), "dev": str(dev)}
    for title, more in ((f"predicted-{ENGLISH}", {}), (KEPT, {"gold": True})):
        parts: dict[str, dict[str, dict[str, Any]]] = {
            "jackknife": {JACKKNIFED: {"tags": "jackknife"}}, "gold": {SECOND: {"tags": "gold"}},
        }  # fmt: skip
        if more:
            parts["first"] = {FIRST: {"tags": "gold", "order": 1}}
        if PEER:
            parts["peer"] = {way: {"options": options} for way, options in BEAMS.items()}
        for part, ways in parts.items():
            calls = tuple(Call(way, "bench.parse:predicted", files | how | more) for way, how in ways.items())
            name = f"{title}-{part}"
            yield Cell(name, title, calls, inputs=(train, dev), repeats=1, warm_up=False, sources=TAGS)


def _cell(
    name: str, train: Path, dev: Path, ways: dict[str, dict[str, Any]], peer: bool = False, title: str = ""
) -> Cell:
    files = {"train": str(train), "dev": str(dev)}
    sides = [Call(way, "bench.parse:job", {**files, "settings": settings}) for way, settings in ways.items()]
    if peer:
        sides += [Call(way, "bench.parse:udpipe", {**files, "options": options}) for way, options in BEAMS.items()]
    return Cell(name, title or name, tuple(sides), inputs=(train, dev), repeats=1, warm_up=False, sources=SOURCES)


def job(timer: Any, train: str, dev: str, settings: dict[str, Any]) -> dict[str, float]:
    """Train a parser and parse the development trees; the clock counts both, CPU seconds are told apart."""
    import time

    from corpuscle.parse import MstParser, warm
    from corpuscle.text import read_conllu

    warm()
    known = _known(settings.pop("known", []), settings.pop("kinds", ["classes"]))
    bank, gold = read_conllu(train)[: settings.pop("trees", None)], read_conllu(dev)
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


def _known(texts: list[str], kinds: list[str]) -> Any:
    """What lower-cased raw text says of words, as sources of features: 200 classes by exchange, the paths of 500 by
    merging, the same of frequent words alone, clusters of vectors of 50 dimensions."""
    from corpuscle.words import BrownClasses, ExchangeClasses, PpmiVectors, class_sources, joint_sources, vector_sources

    if not texts:
        return None
    found = []
    for kind in kinds:
        learner: Any = {
            "classes": lambda: ExchangeClasses(classes=200, lowercase=True),
            "paths": lambda: BrownClasses(classes=500, min_count=2, lowercase=True),
            "frequent": lambda: BrownClasses(classes=500, min_count=10, lowercase=True),
            "vectors": lambda: PpmiVectors(dimensions=50, min_count=3, lowercase=True),
        }[kind]()
        learner.fit(learner.read(*texts))
        found.append(vector_sources(learner.vocab_, learner.vectors_) if kind == "vectors" else class_sources(learner))
    return joint_sources(*found) if len(found) > 1 else found[0]


def _figures(gold: Any, found: Any) -> dict[str, float]:
    from corpuscle.measure import attachment

    result = attachment(gold, found, draws=1000)
    return {
        "UAS": 100 * float(result["uas"]), "LAS": 100 * float(result["las"]),
        "LAS low": 100 * float(result["las_low"]), "LAS high": 100 * float(result["las_high"]),
    }  # fmt: skip


def predicted(
    timer: Any, data: str, train: str, dev: str, tags: str = "", options: str | None = None, gold: bool = False,
    order: int = 2,
) -> dict[str, float]:  # fmt: skip
    """Parse the development words by the tags of our tagger, or by gold ones: by ours, learned from gold or from
    jackknifed tags, or by the peer."""
    import time

    from corpuscle.measure import tagging
    from corpuscle.parse import warm
    from corpuscle.text import read_conllu, write_conllu

    warm()
    right, path = read_conllu(dev), english.FILES / "ewt-dev-tagged.conllu"
    seen = right.without("features")
    if not gold:
        seen = english.parser(Path(data)).tagged(seen)
    if options is not None:
        write_conllu(seen, path)
        figures = udpipe(timer, train, dev, options, str(path))
    else:
        parser, seconds = english.learned(Path(data), tags, order)
        with timer:
            begin, wall = time.process_time(), time.perf_counter()
            found = parser.annotate(seen)
            parsed, wall = time.process_time() - begin, time.perf_counter() - wall
        figures = {"sentences": parser.provenance_["sentences"], **_figures(right, found), "training CPU s": seconds,
                   "sentences a second": len(right) / wall, "sentences a CPU second": len(right) / parsed}  # fmt: skip
    return figures | {"UPOS of the tags": 100 * float(tagging(right, seen)["upos"])}


def size(timer: Any, data: str, dev: str) -> dict[str, float]:
    """What a model of the second order takes on disk and in memory, and how long it takes to load it."""
    import resource
    import time

    import corpuscle
    from corpuscle.parse import warm
    from corpuscle.text import read_conllu

    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20

    warm()
    english.learned(Path(data), "jackknife")
    path, gold = english.place("jackknife"), read_conllu(dev)
    before = resident()
    with timer:
        begin, wall = time.process_time(), time.perf_counter()
        parser = corpuscle.load(path)
        seconds, wall = time.process_time() - begin, time.perf_counter() - wall
    loaded = resident()
    parser.annotate(gold)
    return {"file MB": path.stat().st_size / 2**20, "loading s": wall, "loading CPU s": seconds,
            "memory MB when loaded": loaded - before, "memory MB after parsing": resident() - before}  # fmt: skip


def udpipe(timer: Any, train: str, dev: str, options: str, tagged: str = "") -> dict[str, float]:
    """What the peer makes of the same files; it is trained once. ``tagged``: the development words with other tags."""
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
        parsed = run("parse", str(model), tagged or dev, str(output), *([options] if options else []))
    learned = json.loads(notes.read_text())
    return {
        "sentences": learned["sentences"], **_figures(read_conllu(dev), read_conllu(output)),
        "training CPU s": learned["seconds"], "sentences a second": parsed["sentences"] / parsed["wall"],
        "sentences a CPU second": parsed["sentences"] / parsed["seconds"],
    }  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """How fast English is parsed, and how it compares with the peer."""
    together = {result["title"]: result for result in joined(results)}
    kept, tagged = (together.get(title, {"runs": {}}) for title in (KEPT, f"predicted-{ENGLISH}"))
    found = []
    for side, order, target in ((SECOND, "second", 800), (FIRST, "first", 2000)):
        side = _measured(kept, side)
        text = f"English: sentences a CPU second, {order} order (on two threads there are two of them a second)"
        claim = Claim(text, f"{target:,} a second")
        if side:
            rate = typical(kept, side, "sentences a CPU second")
            claim = Claim(claim.text, claim.target, f"{rate:,.0f}", rate >= target)
        found.append(claim)
    minutes = Claim("English: CPU minutes of training, second order", "15")
    if side := _measured(kept, SECOND):
        spent = typical(kept, side, "training CPU s") / 60
        minutes = Claim(minutes.text, minutes.target, f"{spent:.1f}", spent <= 15)
    found.append(minutes)
    for figure in ("UAS", "LAS", "sentences a CPU second"):
        found.append(_beside_peer(kept, "gold tags", SECOND, figure))
    found.append(_beside_peer(kept, "gold tags", SECOND, "training CPU s", -1.0))
    found += [_beside_peer(tagged, "predicted tags", JACKKNIFED, figure) for figure in ("UAS", "LAS")]
    for what, figure, limit in (
        ("MB of the file", "file MB", 200.0), ("MB of memory", "memory MB after parsing", 200.0),
        ("seconds to load", "loading s", 1.0),
    ):  # fmt: skip
        claim = Claim(f"English: a model of the second order with its tagger, {what}", f"below {limit:g}")
        if "model" in results:
            value = typical(results["model"], "second order, tagger inside", figure)
            claim = Claim(claim.text, claim.target, f"{value:.3g}", value < limit)
        found.append(claim)
    return found + _raw_text(results)


def _measured(result: dict[str, Any], side: str) -> str:
    """The side, or that of jackknifed tags where it has not run; nothing if neither has."""
    ways = (side, JACKKNIFED) if side == SECOND else (side,)
    return next((each for each in ways if each in result["runs"]), "")


def _beside_peer(result: dict[str, Any], tags: str, side: str, figure: str, sign: float = 1.0) -> Claim:
    """A figure of ours beside that of the peer."""
    least = "at least as much" if sign > 0 else "less"
    claim = Claim(f"English, {tags}: {figure}, second order, against UDPipe 1 at beam 5", least)
    side = _measured(result, side)
    if not {side, "UDPipe 1, beam 5"} <= set(result["runs"]):
        return claim
    ours, theirs = (typical(result, each, figure) for each in (side, "UDPipe 1, beam 5"))
    target, text = f"{'' if sign > 0 else 'below '}{theirs:,.2f}", claim.text
    text += " (ours learned from jackknifed tags)" if side == JACKKNIFED else ""
    return Claim(text, target, f"{ours:,.2f}", sign * (ours - theirs) >= 0)


def _raw_text(results: dict[str, Any]) -> list[Claim]:
    """What raw text brings: LAS of the better of classes and vectors over forms and tags."""
    found, together = [], {result["title"]: result for result in joined(results)}
    for name in (*RAW, f"{ENGLISH}-{SMALL}"):
        claim = Claim(f"{name}: LAS that classes or vectors of raw text bring", "above 0")
        cell = together.get(f"sources-{name}")
        ways = [way for way in ("+ classes", *KNOWN) if cell and way in cell["runs"]]
        if cell and ways:
            best = max(ways, key=lambda way: typical(cell, way, "LAS"))
            plain = typical(cell, "forms and tags", "LAS")
            gain, inside = typical(cell, best, "LAS") - plain, typical(cell, best, "LAS low") < plain
            holds = None if gain > 0 and inside else gain > 0
            claim = Claim(claim.text, claim.target, f"{gain:+.2f} ({best}, best of {len(ways)})", holds)
        found.append(claim)
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """The other treebanks in one table; all rows of what sources bring together."""
    from bench.harness import row

    figures = ("sentences", "UAS", "LAS", "training CPU s", "sentences a CPU second")
    together = {result["title"]: result for result in joined(results)}
    lines = [row(["", *figures]), row(["---"] + ["---:"] * len(figures))]
    for name in (name for name in (KEPT, "ptb-sample", *OTHERS) if name in together):
        side = _measured(together[name], SECOND) if name == KEPT else "second order"
        values = [typical(together[name], side, figure) for figure in figures]
        lines.append(row([name, *(f"{value:,.{0 if value >= 1000 else 1}f}" for value in values)]))
    every = ["### All treebanks, second order", "", *lines, ""]
    return ["\n".join(every), *(table(result) for result in joined(results) if result["name"] not in OTHERS)]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Trained on the whole training part with default settings; tags of the development part as in the files, but "
        "for `predicted-...`: tagged by our tagger, which learned from the training part, the same file for all. "
        "Intervals are of 1,000 resampled sets of sentences. `sources-...`: first order; of lower-cased raw text come "
        "200 classes (exchange), the paths of 500 (Brown), and clusters of vectors (PPMI, 50 dimensions). The text is "
        "captions and short sentences (multi30k, tatoeba11), for English the Brown corpus and WikiText-2."
    ) + ("" if PEER else " UDPIPE_PYTHON named no Python with UDPipe.")
