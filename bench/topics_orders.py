"""Topic n-gram models by order: 4-grams and infinite order, their nodes and the time to predict; both samplers by time.

The table of Noji, Mochihashi and Miyao (2013) with all methods at n = 4 and n = infinite, the curves of the log
probability by time at n = 3 and 4, and what it brings to move all tables in every sweep. Texts, held-out documents and
preprocessing as in ``topics``; ``brown-part`` is every tenth document of the Brown corpus, for quick answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, cpu_hours, joined, not_run, table
from bench.topics import CORPORA, SHORT, SOURCES, TOPICS, _figure, _files

METHODS = ("hpylm", "hpytm", "hierarchical", "switching")
ORDERS: tuple[int | str, ...] = (4, "infinite")
PART = 10
TURNS = (4, 1)
SIZES = {
    "brown-part": ("a tenth of the Brown corpus", 20, 40),
    **{name: (title, 100, SHORT) for name, title in CORPORA.items()},
}
"""By name: a title, how many topics, how many sweeps."""


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, small texts first."""

    def cell(name: str, title: str, corpus: str, sides: list[Call]) -> Cell:
        inputs = tuple(Path(path) for path in _files(data, corpus.removesuffix("-part")) if path)
        return Cell(name, title, tuple(sides), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)

    def files(corpus: str) -> dict[str, Any]:
        part = PART if corpus.endswith("-part") else 1
        return {"files": _files(data, corpus.removesuffix("-part")), "part": part}

    for corpus, (title, topics, sweeps) in SIZES.items():
        sides = [
            Call(f"turns {turns}", "bench.topics:history",
                 {**files(corpus), "method": "switching", "topics": topics, "sweeps": sweeps, "turns": turns})
            for turns in TURNS
        ]  # fmt: skip
        yield cell(f"{corpus}-turns", f"{title}: SWITCHING, a quarter or all of the tables in a sweep", corpus, sides)
        for order in ORDERS:
            for method in (*METHODS, *(("rescaling",) if order == 4 else ())):
                arguments = {"method": method, "topics": topics, "order": order, "sweeps": sweeps}
                side = Call(f"{method}, n = {order}", "bench.topics:learned", {**files(corpus), **arguments})
                yield cell(f"{corpus}-{method}-{order}", f"{title}: {topics} topics, {sweeps} sweeps", corpus, [side])
        for k in TOPICS:
            sides = [
                Call(f"HPYTM by {sampler}, K = {k}", "bench.topics:learned",
                     {**files(corpus), "method": "hpytm", "topics": k, "sweeps": sweeps, "sampler": sampler})
                for sampler in ("token", "table")
            ]  # fmt: skip
            yield cell(f"{corpus}-samplers-{k}", f"{title}: samplers of HPYTM, trigrams", corpus, sides)
        for order in (3, 4):
            for method in METHODS[1:]:
                sides = [
                    Call(f"{method} by {sampler}, n = {order}", "bench.topics:history",
                         {**files(corpus), "method": method, "topics": topics, "sweeps": sweeps, "order": order,
                          "sampler": sampler})
                    for sampler in ("token", "table")
                ]  # fmt: skip
                yield cell(f"{corpus}-time-{method}-{order}", f"{title}: log P by time, n = {order}", corpus, sides)


# ---- what they show


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for corpus, (title, *_) in SIZES.items():
        four, infinite = (results.get(f"{corpus}-switching-{order}") for order in ORDERS)
        text, measured = f"{title}: nodes of SWITCHING, infinite order over 4-grams", ()
        if four is not None and infinite is not None:
            ratio = _figure(infinite, "nodes") / _figure(four, "nodes")
            measured = (f"{ratio:.2f}", ratio < 1.0)
        found.append(Claim(text, "below 1", *measured))
        others = [results.get(f"{corpus}-{method}-4") for method in METHODS[:-1]]
        text, measured = f"{title}: perplexity of SWITCHING over the best of the others, n = 4", ()
        if four is not None and all(others):
            ratio = _figure(four, "perplexity") / min(_figure(other, "perplexity") for other in others if other)
            measured = (f"{ratio:.3f}", ratio < 1.0)
        found.append(Claim(text, "below 1", *measured))
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """One table for all cells with the same title."""
    return [table(result) for result in joined(results)]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables, and which cells have not run."""
    return "\n".join(
        [
            "### Notes",
            "",
            f"- `CPU s` is the time of reading the held-out documents, or of all sweeps. All these figures together "
            f"cost {cpu_hours(results):.1f} hours of CPU time, training included.",
            "- Nodes: contexts of all n-gram models of the last sample together; of RESCALING, of its one.",
            *not_run(cells(Path()), results),
        ]
    )
