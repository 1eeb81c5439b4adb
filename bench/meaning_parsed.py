"""Meaning in context from text that our own tagger and parser have parsed, beside that of gold trees.

The text is the Brown corpus, WikiText-2 and the text of EWT and GUM, 3.4 million tokens, eleven times as many as have
gold trees. The parser learned from EWT. Everything else is as in ``meaning``: words are lower-cased forms with the
universal tags of the tagger; the number of classes, the cut-off and plain transitions are those that were chosen there,
on MEN and gold trees, and words out of context are found by exact inference. ``sweep`` tells how other models of parsed
text do on MEN.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import english
from bench.harness import Call, Cell, Claim, not_run
from bench.meaning import PHRASES, SETS, _name, plain_tables
from bench.meaning import SOURCES as WORDS

MODELS = [(32, 5, False), (64, 5, False), (32, 5, True)]
CHOSEN = (32, 5, False)
SOURCES = (*WORDS, *english.SOURCES)


def cells(data: Path) -> Iterator[Cell]:
    """Phrases first; the sweep, which takes longest, last."""

    def cell(name: str, title: str, calls: dict[str, tuple[str, dict[str, Any]]], *files: Path) -> Cell:
        given = {"texts": [str(data)], "parsed": True}
        sides = tuple(Call(side, f"bench.meaning:{what}", {**given, **more}) for side, (what, more) in calls.items())
        return Cell(name, title, sides, None, files, None, 1, False, SOURCES)

    men, bless = data / "word-similarity" / "men3000.tsv", data / "bless" / "bless.tsv"
    for file, name in PHRASES.items():
        path = data / "composition" / f"{file}.tsv"
        calls: dict[str, tuple[str, dict[str, Any]]] = {"meaning": ("phrases", {"path": str(path), "model": CHOSEN})}
        yield cell(f"phrases-{file}", f"Parsed text: {name}", calls, path)
    sets = {name: data / "word-similarity" / f"{file}.tsv" for file, name in SETS.items()}
    given: dict[str, Any] = {"files": {name: str(path) for name, path in sets.items()}, "model": CHOSEN}
    calls = {measure: ("pairs", {**given, "measure": measure}) for measure in ("hellinger", "ppmi")}
    yield cell("pairs", "Parsed text: word pairs, Spearman's correlation", calls, *sets.values())
    ways = {"path": str(bless), "prior": "uniform", "model": CHOSEN}
    calls = {"without map": ("bless", ways | {"mapped": False}), "with map": ("bless", ways | {"mapped": True})}
    yield cell("relations", "Parsed text: BLESS, medians by relation, standardised by concept", calls, bless)
    calls = {_name(model): ("men", {"model": model, "pairs": str(men)}) for model in MODELS}
    calls["ppmi"] = "men", {"model": None, "pairs": str(men)}
    yield cell("sweep", "Parsed text: classes, on MEN", calls, men)


def claims(results: dict[str, Any]) -> list[Claim]:
    """What context gives."""
    found = []
    for file, name in PHRASES.items():
        claim = Claim(f"parsed text, {name}: head in context above head alone", "higher")
        if f"phrases-{file}" in results:
            each, what = results[f"phrases-{file}"]["runs"]["meaning"][0]["figures"], "head-context - head"
            low, high = each[f"{what}, low"], each[f"{what}, high"]
            holds = None if low <= 0 <= high else each[what] > 0
            claim = Claim(claim.text, claim.target, f"{each[what]:.3f} ({low:.3f} to {high:.3f})", holds)
        found.append(claim)
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """A table a cell."""
    return plain_tables(results)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[1:]]
    return "\n\n".join(["### Notes", *lines, f"Chosen: {_name(CHOSEN)}.", *not_run(cells(Path()), results)])
