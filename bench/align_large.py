"""The log-linear aligner at 30,000 sentence pairs, beside fertility, the hidden Markov model and Model 4.

Texts as in ``align_loglinear``, but five times as many pairs, with those that have gold links behind them. Model 4 is
that of GIZA++, with its classes by ``mkcls``, the iterations that people run it with (five of Model 1, five of the
hidden Markov model, three of Model 3 and of Model 4) and both directions symmetrised by grow-diag-final-and; it takes
part when the environment variable ``GIZA`` names a folder with ``GIZA++``, ``mkcls``, ``plain2snt.out`` and
``snt2cooc.out``.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.align import FILES, SETS, SOURCES, _lines, _warm
from bench.align_loglinear import prepare
from bench.harness import Call, Cell, Claim, joined, not_run, row, typical
from corpuscle.align.settings import NEIGHBOURHOODS

MOST, FEW = 30_000, 300
GIZA = os.environ.get("GIZA", "")
SIDES: dict[str, dict[str, Any]] = {
    "hmm": {"method": "hmm", "agreement": False},
    "hmm agreeing": {"method": "hmm"},
    "fertility": {"method": "fertility"},
    "loglinear": {"method": "loglinear", "agreement": False},
    "loglinear agreeing": {"method": "loglinear"},
}
MODEL4 = "Model 4 (GIZA++)"
WAYS = {"e→f": "forward", "f→e": "backward", "sym": "grow-diag-final-and"}
"""Column -> alignment; the last is symmetrised."""


def cells(data: Path) -> Iterator[Cell]:
    """One cell for each set of sentence pairs and aligner."""
    train, dev, other, *_ = SETS["fr-en"]
    stem = FILES / "align-few-fr-en"
    texts = {"source": f"{stem}.en", "target": f"{stem}.{other}", "gold": f"{stem}.gold"}
    yield Cell(
        "neighbourhoods",
        "Neighbourhoods, Hansards",
        tuple(Call(name, "bench.align_large:neighbourhood", {**texts, "name": name}) for name in NEIGHBOURHOODS),
        inputs=tuple(data / f"{part}.{end}" for part in (train, *dev.split()) for end in ("en", other)),
        prepare=partial(prepare, data, "fr-en", FEW, "align-few"),
        repeats=1,
        warm_up=False,
        sources=SOURCES,
    )
    for name in ("fr-en", "zh-en"):
        train, dev, other, *_ = SETS[name]
        stem = FILES / f"align-large-{name}"
        texts = {"source": f"{stem}.en", "target": f"{stem}.{other}", "gold": f"{stem}.gold"}
        sides = [Call(side, "bench.align_large:ours", texts | settings) for side, settings in SIDES.items()]
        if GIZA:
            sides.append(Call(MODEL4, "bench.align_large:model4", {**texts, "folder": GIZA}))
        for side in sides:
            yield Cell(
                f"{name}-{side.name.split(' (')[0].lower().replace(' ', '-')}",
                f"{name}, {MOST:,} training pairs",
                (side,),
                inputs=tuple(data / f"{part}.{end}" for part in (train, *dev.split()) for end in ("en", other)),
                prepare=partial(prepare, data, name, MOST, "align-large"),
                repeats=1,
                warm_up=False,
                sources=SOURCES,
            )


def neighbourhood(timer, source: str, target: str, gold: str, name: str) -> dict[str, float]:
    """What a neighbourhood costs in a pass over the text, both directions, and what its oracle scores."""
    import time

    from corpuscle.align import LogLinear
    from corpuscle.align.loglinear_training import Neighbourhood, allowed_links
    from corpuscle.measure import alignment_error
    from corpuscle.scale import workers
    from corpuscle.text.alignments import read_pharaoh
    from corpuscle.text.bitext import read_bitext

    _warm("loglinear")
    bitext, wanted, spent = read_bitext(source, target), read_pharaoh(gold), []
    for passes in (1, 1, 6):  # the first fit also touches what is not in memory yet
        begin = time.process_time()
        with timer:
            LogLinear(neighbourhood=name, agreement=False, passes=passes, workers=1).fit(bitext)
        spent.append(time.process_time() - begin)
    with workers(1) as pool:
        learned = Neighbourhood.learn(bitext, name, pool)
    last = bitext[len(bitext) - len(wanted) :]
    figures = {"pairs": float(len(bitext)), "ms a pair and pass": 1000 * (spent[2] - spent[1]) / 5 / len(bitext)}
    for direction, column in enumerate(("e→f", "f→e")):
        figures[f"couples {column}"] = float(learned.size(direction))
        oracle = allowed_links(wanted, last, learned, bitext, direction)
        figures[f"oracle {column}"] = 100 * alignment_error(wanted, oracle, draws=1)["aer"]
    return figures


def _judged(found: dict[str, Any], gold: str, bitext: Any) -> dict[str, float]:
    """AER in percent by direction, the interval of the symmetrised, and links of words that occur once."""
    from corpuscle.measure import alignment_error, singleton_fertility
    from corpuscle.text.alignments import read_pharaoh

    wanted, figures = read_pharaoh(gold), {}
    for column, way in WAYS.items():
        judged = alignment_error(wanted, found[way][len(found[way]) - len(wanted) :], draws=1000)
        figures[f"AER {column}"] = 100 * judged["aer"]
        if column == "sym":
            figures |= {"AER low": 100 * judged["aer_low"], "AER high": 100 * judged["aer_high"]}
    figures["singletons"] = singleton_fertility(found["forward"], bitext.source, bitext.source)
    return figures


def ours(timer, source: str, target: str, gold: str, method: str, **settings: Any) -> dict[str, float]:
    """Learn, align everything, judge; how long each takes a sentence."""
    from corpuscle.align import learner
    from corpuscle.text.bitext import read_bitext

    _warm(method)
    bitext = read_bitext(source, target)
    with timer:
        model = learner(method, workers=1, **settings).fit(bitext)
    learning = timer.cpu
    with timer:
        found = model.align_all(bitext, tuple(WAYS.values()))
    each = {"ms a pair, learning": learning, "ms a pair, applying": timer.cpu - learning}
    return _judged(found, gold, bitext) | {name: 1000 * seconds / len(bitext) for name, seconds in each.items()}


def model4(timer, source: str, target: str, gold: str, folder: str) -> dict[str, float]:
    """GIZA++ in both directions, which learns and aligns at once."""
    from corpuscle.align import symmetrise
    from corpuscle.text.bitext import read_bitext

    bitext = read_bitext(source, target)
    with tempfile.TemporaryDirectory() as place:
        names = {"en": source, "xx": target}
        for name, path in names.items():
            Path(place, name).write_text("\n".join(_lines(Path(path))) + "\n", encoding="utf-8")
        peers = partial(_program, timer, folder, place)
        peers("plain2snt.out", "en", "xx")
        for name in names:
            peers("mkcls", "-c50", "-n2", f"-p{name}", f"-V{name}.vcb.classes", "opt")
        both = []
        for first, second in ("en", "xx"), ("xx", "en"):
            pairs, together = f"{first}_{second}.snt", f"{first}_{second}.cooc"
            counted = peers("snt2cooc.out", f"{first}.vcb", f"{second}.vcb", pairs)
            Path(place, together).write_bytes(counted)
            peers("GIZA++", "-S", f"{first}.vcb", "-T", f"{second}.vcb", "-C", pairs, "-CoocurrenceFile", together,
                  "-o", first, "-m1", "5", "-m2", "0", "-mh", "5", "-m3", "3", "-m4", "3", "-nodumps", "1",
                  "-onlyaldumps", "1", "-model4smoothfactor", "0.4", "-p0", "0.999")  # fmt: skip
            both.append(_read_links(Path(place, f"{first}.A3.final"), len(bitext)))
    forward, backward = both[0], both[1].transposed()
    found = {"forward": forward, "backward": backward, WAYS["sym"]: symmetrise(forward, backward, WAYS["sym"])}
    return _judged(found, gold, bitext) | {"ms a pair, learning": 1000 * timer.cpu / len(bitext)}


def _program(timer, folder: str, place: str, name: str, *words: str) -> bytes:
    """What one of GIZA's programs prints; its time counts."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with timer:
        command, environment = [str(Path(folder, name)), *words], {**os.environ, "USER": "bench"}  # GIZA++ asks for it
        done = subprocess.run(command, check=True, capture_output=True, cwd=place, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    timer.cpu += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout


def _read_links(path: Path, pairs: int):
    """The links of a file of GIZA++: three lines a pair, its number in the first, and in the last after each source
    word the target positions that come from it, counted from 1."""
    from corpuscle.text.alignments import Alignments

    lines = _lines(path)
    found: list[list[tuple[int, int]]] = [[] for _ in range(pairs)]
    for head, last in zip(lines[::3], lines[2::3], strict=True):
        number = int(re.search(r"\((\d+)\)", head)[1]) - 1
        for place, targets in enumerate(re.findall(r" \(\{([ \d]*)\}\)", last)):
            if place:  # the first word is the null word
                found[number] += [(place - 1, int(target) - 1) for target in targets.split()]
    return Alignments.from_pairs(found)


# ---- the report


def tables(results: dict[str, Any]) -> list[str]:
    """A table for each set."""
    shown = []
    if (result := results.get("neighbourhoods")) is not None:
        head = ["", "ms a pair and pass", "couples e→f", "f→e", "AER of the oracle e→f", "f→e"]
        pairs = next(iter(result["runs"].values()))[0]["figures"]["pairs"]
        lines = [f"### {result['title']}, {pairs:.0f} pairs", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
        for side, (run,) in result["runs"].items():
            found = run["figures"]
            cells = [
                f"{found['ms a pair and pass']:.1f}",
                *(f"{found[f'couples {way}']:,.0f}" for way in ("e→f", "f→e")),
            ]
            lines.append(row([side, *cells, *(f"{found[f'oracle {way}']:.1f}" for way in ("e→f", "f→e"))]))
        shown.append("\n".join(lines))
    for result in joined({name: each for name, each in results.items() if name != "neighbourhoods"}):
        head = ["", "AER e→f", "AER f→e", "AER sym (95 % interval)", "links of a rare word", "ms a pair, learning",
                "ms a pair, applying", "CPU s"]  # fmt: skip
        lines = [f"### {result['title']}", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
        for side, (run,) in result["runs"].items():
            figures = run["figures"]
            interval = f"{figures['AER sym']:.1f} ({figures['AER low']:.1f} to {figures['AER high']:.1f})"
            applying = figures.get("ms a pair, applying")
            cells = [f"{figures['AER e→f']:.1f}", f"{figures['AER f→e']:.1f}", interval]
            cells += [f"{figures['singletons']:.2f}", f"{figures['ms a pair, learning']:.2f}"]
            cells += ["" if applying is None else f"{applying:.3f}", f"{run['cpu']:.0f}"]
            lines.append(row([side, *cells]))
        shown.append("\n".join(lines))
    return shown


def claims(results: dict[str, Any]) -> list[Claim]:
    """The paper's: fewer errors than Model 4; ours: less than ten times the hidden Markov model's time to apply."""
    found = []
    for result in joined({name: each for name, each in results.items() if name != "neighbourhoods"}):
        name, sides = result["title"].partition(",")[0], result["runs"]
        for mine, theirs in ("loglinear", MODEL4), ("loglinear agreeing", MODEL4), ("fertility", MODEL4):
            if mine in sides and theirs in sides:
                value, other = (typical(result, side, "AER sym") for side in (mine, theirs))
                text = f"{name}: AER sym of {mine}, below Model 4"
                found.append(Claim(text, "lower", f"{value:.2f} beside {other:.2f}", value < other))
        if "loglinear" in sides and "hmm" in sides:
            ratio = typical(result, "loglinear", "ms a pair, applying") / typical(result, "hmm", "ms a pair, applying")
            text = f"{name}: time to apply, loglinear over hmm"
            found.append(Claim(text, "below 10", f"{ratio:.1f}", ratio < 10))
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join([
        "### Notes", "",
        "- CPU seconds on one worker; *learning* of Model 4 has its classes and its links in it, since GIZA++ aligns "
        "what it learns from. Ours learn and align everything, both directions, and symmetrise.",
        "- e→f: each foreign word is linked to an English one or to nothing; sym: grow-diag-final-and. *Links of a "
        "rare word*: of an English word that occurs once in the text, e→f.",
        f"- The first {MOST:,} pairs of each training text; those of Chinese are its shortest sentences. Nothing was "
        "chosen here.",
        *not_run(cells(Path()), results),
    ])  # fmt: skip
