"""Word vectors beside gensim's skip-gram: similarity sets, CPU time, and how quality grows with the text.

The text is the Brown corpus and WikiText-2, lower-cased, 3 million tokens; vectors have 100 dimensions; words below 5
occurrences have none, and pairs with such words are left out, for all tools alike. Settings were chosen on MEN's
development part (two lines of three); the other sets were seen meanwhile. gensim takes part when the environment
variable GENSIM_PYTHON names a Python in which it is installed; it learns on one thread, as we do, and both sides read
the text themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import HERE, Call, Cell, Claim, Commands, Side, joined, table, typical

TITLE = "brown and wikitext2, 3 million tokens, 100 dimensions"
WORDS = ("canonical", "cooccurrence", "spelling", "vectors")
SOURCES = (
    "corpuscle/engine/linalg/*.py", "corpuscle/words/kernels/contexts.py",
    *(f"corpuscle/words/{name}.py" for name in WORDS),
)  # fmt: skip
SETS = {"men3000": "MEN", "ws353": "WS353", "simlex999": "SimLex", "rg65": "RG65"}
METHODS: dict[str, dict[str, Any]] = {
    "ppmi (default)": {"method": "ppmi"},
    "ppmi, no spelling, nothing removed": {"method": "ppmi", "spelling": 0.0, "common": 0},
    "svd": {"method": "svd"},
    "oscca": {"method": "oscca"},
    "oscca, bag, window 10": {"method": "oscca", "bag": True, "window": 10},
    "tscca": {"method": "tscca"},
    "lrmvl": {"method": "lrmvl", "passes": 3},
}
GROWTH = (0.25, 0.5, 1.0, 2.0, 3.0)
WINDOWS = (5, 10)
PEER = os.environ.get("GENSIM_PYTHON", "")
TEXT = HERE / "cells" / "files" / "brown-wikitext2.txt"


def _make_text(data: Path) -> None:
    """Both texts in one file, sentences in the order of a stride, so that every beginning of it mixes the two."""
    if TEXT.exists():
        return
    lines = [line for path in _texts(data) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    TEXT.parent.mkdir(parents=True, exist_ok=True)
    TEXT.write_text("\n".join(line for first in range(97) for line in lines[first::97]) + "\n", encoding="utf-8")


def _texts(data: Path) -> tuple[Path, Path]:
    return data / "brown" / "brown.txt", data / "wikitext2" / "train.txt"


def cells(data: Path) -> Iterator[Cell]:
    """Our methods, growth, then the peer, whose cells are long."""
    pairs = {name: str(data / "word-similarity" / f"{file}.tsv") for file, name in SETS.items()}

    def cell(name: str, title: str, side: Side, sources: tuple[str, ...] = SOURCES) -> Cell:
        make = partial(_make_text, data)
        return Cell(name, title, (side,), None, _texts(data), make, repeats=1, warm_up=False, sources=sources)

    for name, settings in METHODS.items():
        side = Call(name, "bench.vectors:ours", {"text": str(TEXT), "pairs": pairs, "settings": settings, "share": 1.0})
        yield cell(f"method-{name.split(' (')[0].replace(' ', '-').replace(',', '')}", TITLE, side)
    for millions in GROWTH[:-1]:
        share = {"text": str(TEXT), "pairs": pairs, "settings": {"method": "ppmi"}, "share": millions / GROWTH[-1]}
        side = Call(f"ppmi, {millions} million tokens", "bench.vectors:ours", share)
        yield cell(f"growth-{millions}", "Quality against tokens, default settings", side)
    if PEER:
        for window in WINDOWS:
            argv = (PEER, "bench/vectors_peer.py", str(TEXT), str(window), "15", *pairs.values())
            side = Commands(f"gensim, window {window}", (argv,), "bench.vectors:read_peer")
            yield cell(f"gensim-{window}", TITLE, side, sources=())


def ours(timer, text: str, pairs: dict[str, str], settings: dict[str, Any], share: float) -> dict[str, float]:
    """Reading, counting and learning; then Spearman's correlation on each set."""
    from corpuscle.catalogue import TASKS, find
    from corpuscle.text import read_scored_pairs
    from corpuscle.words import warm

    warm()
    method = settings.pop("method")
    model = find(TASKS["vectors"].methods[method].learner)(lowercase=True, workers=1, **settings)
    with timer:
        corpus = model.read(text)
        model.fit(corpus[: round(len(corpus) * share)])
    figures: dict[str, float] = {}
    for name, path in pairs.items():
        scored = read_scored_pairs(path)
        if name == "MEN":
            figures["MEN, dev part"] = model.similarity([p for i, p in enumerate(scored) if i % 3], draws=1)["spearman"]
            figures["MEN, test part"] = model.similarity(scored[::3], draws=1)["spearman"]
        result = model.similarity(scored, draws=1)
        figures |= {name: result["spearman"], f"{name} covered": result["covered"]}
    return figures


def read_peer(printed: str) -> dict[str, float]:
    """What the peer prints, with our names of the sets."""
    import json

    answer = json.loads(printed.splitlines()[-1])
    return {SETS.get(name, "CPU s of learning" if name == "seconds" else name): value for name, value in answer.items()}


def claims(results: dict[str, Any]) -> list[Claim]:
    """At least the peer's best of its settings on each set, in a fifth of that setting's CPU time."""
    ours_cell = results.get("method-ppmi")
    peers = {name: result for name, result in results.items() if name.startswith("gensim")}
    made = []
    for name in SETS.values():
        text = (
            f"{name}: at least gensim's best of windows {' and '.join(map(str, WINDOWS))}, in a fifth of its CPU time"
        )
        if ours_cell is None or len(peers) < len(WINDOWS):
            made.append(Claim(text, "gensim"))
            continue
        best = max(peers, key=lambda peer: typical(peers[peer], _side(peers[peer]), name))
        score, peer = typical(ours_cell, "ppmi (default)", name), typical(peers[best], _side(peers[best]), name)
        seconds, theirs = typical(ours_cell, "ppmi (default)", "cpu"), typical(peers[best], _side(peers[best]), "cpu")
        measured = f"{score:.3f} in {seconds:.0f} s ({_side(peers[best])}: {peer:.3f} in {theirs:.0f} s)"
        made.append(Claim(text, f"{peer:.3f}, {theirs / 5:.0f} s", measured, score >= peer and seconds <= theirs / 5))
    return made


def _side(result: dict[str, Any]) -> str:
    """The name of the only side of a cell."""
    return next(iter(result["runs"]))


def tables(results: dict[str, Any]) -> list[str]:
    """Methods and peer in one table, growth in another; and the picture of growth."""
    _draw_growth(results)
    return [table(result) for result in joined(results)]


def _draw_growth(results: dict[str, Any]) -> None:
    """Quality against tokens, for the page of the task."""
    from corpuscle.figures import Series, line_plot

    grown = [results.get(f"growth-{millions}", results.get("method-ppmi")) for millions in GROWTH]
    if len(grown) == len([result for result in grown if result]) and "growth-0.25" in results:
        lines = [
            Series(name, GROWTH, [typical(result, _side(result), name) for result in grown if result])
            for name in SETS.values()
        ]
        title = "Spearman's correlation by size of the text"
        picture = line_plot(lines, title=title, x_label="million tokens", y_label="correlation", log_x=True, zero=True)
        (HERE.parent / "docs" / "images" / "vectors-growth.svg").write_text(picture)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes",
        "",
        "- Figures are Spearman's correlations on pairs of which both words occur at least 5 times. CPU time of our "
        "sides is reading and learning on one worker with compiled kernels; of gensim, the whole process.",
        "- LR-MVL was given 3 passes.",
    ]
    if not PEER:
        lines.append("- GENSIM_PYTHON named no Python with gensim.")
    return "\n".join(lines)
