"""Topic n-gram models by order: 4-grams and infinite order, their nodes and the time to predict; both samplers by time.

The table of Noji, Mochihashi and Miyao (2013) with all methods at n = 4 and n = infinite, the curves of the log
probability by time at n = 3 and 4, and what it brings to move all tables in every sweep. Texts, held-out documents and
preprocessing as in ``topics``; ``brown-part`` has every tenth training document of the Brown corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, cpu_hours, joined, not_run, perplexity_ratio, row
from bench.topics import IMAGES, SOURCES, TOPICS, _figure, _files

METHODS = ("hpylm", "hpytm", "hierarchical", "switching")
ORDERS: tuple[int | str, ...] = (4, "infinite")
PART = 10
TURNS = (4, 1)
MOST = 100
"""Topics, but where several numbers are compared."""

SIZES = {"brown-part": ("a tenth of the Brown corpus", 25)}
"""By name: a title, how many sweeps."""


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, small texts first."""

    def cell(name: str, title: str, corpus: str, sides: list[Call]) -> Cell:
        inputs = tuple(Path(path) for path in _files(data, corpus.removesuffix("-part")) if path)
        return Cell(name, title, tuple(sides), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)

    def files(corpus: str) -> dict[str, Any]:
        part = PART if corpus.endswith("-part") else 1
        return {"files": _files(data, corpus.removesuffix("-part")), "part": part}

    for corpus, (title, sweeps) in SIZES.items():
        for order in ORDERS:
            for method in (*METHODS, *(("rescaling",) if order == 4 else ())):
                arguments = {"method": method, "topics": MOST, "order": order, "sweeps": sweeps}
                side = Call(f"{method}, n = {order}", "bench.topics:learned", {**files(corpus), **arguments})
                yield cell(f"{corpus}-{method}-{order}", f"{title}: {MOST} topics, {sweeps} sweeps", corpus, [side])
        sides = [
            Call(f"turns {turns}", "bench.topics:history",
                 {**files(corpus), "method": "switching", "topics": MOST, "sweeps": sweeps, "turns": turns})
            for turns in TURNS
        ]  # fmt: skip
        yield cell(f"{corpus}-turns", f"{title}: SWITCHING, a quarter or all of the tables in a sweep", corpus, sides)
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
                         {**files(corpus), "method": method, "topics": MOST, "sweeps": sweeps, "order": order,
                          "sampler": sampler})
                    for sampler in ("token", "table")
                ]  # fmt: skip
                yield cell(f"{corpus}-time-{method}-{order}", f"{title}: log P by time, n = {order}", corpus, sides)


# ---- what they show


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for corpus, (title, *_) in SIZES.items():
        four, infinite = (f"{corpus}-switching-{order}" for order in ORDERS)
        text, measured = f"{title}: nodes of SWITCHING, infinite order over 4-grams", ()
        if four in results and infinite in results:
            ratio = _figure(results[infinite], "nodes") / _figure(results[four], "nodes")
            measured = (f"{ratio:.2f}", ratio < 1.0)
        found.append(Claim(text, "below 1", *measured))
        for order in ORDERS:
            for method in (*METHODS[:-1], *(("rescaling",) if order == 4 else ())):
                text = f"{title}: perplexity of {method.upper()} over that of SWITCHING, n = {order}"
                mine, other = (f"{corpus}-{each}-{order}" for each in (method, "switching"))
                found.append(Claim(text, "above 1", *perplexity_ratio(results, mine, other)))
        for method in METHODS[1:]:
            for order in (3, 4):
                if (result := results.get(f"{corpus}-time-{method}-{order}")) is not None:
                    token, table_ = (result["runs"][f"{method} by {s}, n = {order}"][0] for s in ("token", "table"))
                    measured = f"{token['figures']['log P']:,.0f} and {table_['figures']['log P']:,.0f}"
                    better = table_["figures"]["log P"] > token["figures"]["log P"]
                    text = f"{title}: log P of {method.upper()} by token, lower than by table, n = {order}"
                    found.append(Claim(text, "lower", measured, better))
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """Models by order; samplers; log P by time."""
    shown = []
    for result in joined(results):
        figures = next(iter(result["runs"].values()))[0]["figures"]
        ends = {"perplexity": ".1f", "nodes": ",.0f", "words a second": ",.0f", "training CPU s": ".0f"}
        if "perplexity" not in figures:
            ends = {"log P": ",.0f", "log P after half the time": ",.0f", "CPU s a sweep": ".2f"}
        lines = [f"### {result['title']}", "", row(["", *ends]), row(["---"] + ["---:"] * len(ends))]
        for side, (run,) in result["runs"].items():
            lines.append(row([side, *(f"{run['figures'][what]:{form}}" for what, form in ends.items())]))
        shown.append("\n".join(lines))
    return shown


def _draw(results: dict[str, Any]) -> None:
    """The negative log probability of both samplers by time, as pictures for the docs."""
    from corpuscle.figures import Series, line_plot

    for corpus, (title, *_) in SIZES.items():
        for order in (3, 4):
            lines = [
                Series(side.partition(",")[0], run["curves"]["seconds"][2:],
                       [-value / 1e6 for value in run["curves"]["log_probability"][2:]])
                for method in METHODS[1:]
                if (result := results.get(f"{corpus}-time-{method}-{order}")) is not None
                for side, (run,) in result["runs"].items()
            ]  # fmt: skip
            if lines:
                labels = {"x_label": "seconds of CPU time", "y_label": "-log P, millions"}
                plot = line_plot(lines, title=f"All models by both samplers, n = {order}, {title}", **labels)
                (IMAGES / f"topics-time-{order}.svg").write_text(plot)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables, and which cells have not run."""
    _draw(results)
    return "\n".join(
        [
            "### Notes",
            "",
            f"- All these figures together cost {cpu_hours(results):.1f} hours of CPU time, training included. Every "
            f"{PART}th of the training documents (words seen less than four times there are one unknown word), all "
            "held-out documents; the paper had all of them, and 500 sweeps.",
            "- Nodes: contexts of all n-gram models of the last sample together; of RESCALING, of its one.",
            "- Words a second: left to right, ten particles, one thread; one sample, the last state.",
            *not_run(cells(Path()), results),
        ]
    )
