"""Parsers of word pairs beside graph-based ones, parsers projected from English, and parsers boosted by them.

Supervised: trained on the training part, heads of the development part, gold tags. Projection: PUD sentences, gold
English trees, links by our own aligner; every fifth sentence (number mod 5 = 4) is for development and never projected
from. Boosting: a graph-based parser of some target trees, and the projected one; the weight is chosen on the first half
of the development part, the figures are of the other half.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, row, typical

SUPERVISED = {
    "ptb-sample": "ptb-sample/{}.dep.conll",
    "chinese": "ud-chinese/{}.conllu",
    "english-ewt": "ud-english-ewt/{}.conllu",
}
WAYS: dict[str, dict[str, Any]] = {
    "first order": {"order": 1}, "second order": {"order": 2}, "pairs": {"pairs": True},
    "pairs, SVM": {"pairs": True, "classifier": "svm"},
}  # fmt: skip
DISTANCES: dict[str, dict[str, Any]] = {
    "first order, verbs and commas": {"order": 1, "distance": "collins"},
    "first order, length, verbs and commas": {"order": 1, "distance": "both"},
}
"""Graph-based parsers with the distance of Collins that pairs have."""
LANGUAGES = ("fr", "de", "cs", "zh", "ar", "hi", "ru")
TREEBANKS = {
    "fr": "french-sequoia", "zh": "chinese", "de": "german-gsd", "ar": "arabic-padt", "hi": "hindi-hdtb",
    "cs": "czech-fictree",
}  # fmt: skip
FEW = 160
"""Pairs of the smaller amount."""
PASSES = 40
"""Steps of projected parsers."""
SIZES = (100, 500, 2000)
RATIOS = (1.0, 1.5, 2.0, 2.5, 3.0)
SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/engine/dp/*.py")
HERE = "bench.parse_project"


def _pud(data: Path, language: str) -> Path:
    return data / ("ud-pud-hi-ru" if language in ("hi", "ru") else "ud-pud-parallel") / f"{language}.conllu"


def cells(data: Path) -> Iterator[Cell]:
    """The small ones first."""
    facts: dict[str, Any] = {"repeats": 1, "warm_up": False, "sources": SOURCES}
    for language in LANGUAGES:
        files = (_pud(data, "en"), _pud(data, language))
        call = Call("projected", f"{HERE}:project_job", {"source": str(files[0]), "target": str(files[1])})
        yield Cell(f"project {language}", "projected", (call,), inputs=files, **facts)
    for language, treebank in TREEBANKS.items():
        files = (_pud(data, "en"), _pud(data, language),
                 *(data / f"ud-{treebank}" / f"{part}.conllu" for part in ("train", "dev")))  # fmt: skip
        names = dict(zip(("source", "target", "train", "dev"), map(str, files), strict=True))
        call = Call("boosted", f"{HERE}:boost_job", names)
        yield Cell(f"boost {language}", "boosted", (call,), inputs=files, **facts)
    for name, place in SUPERVISED.items():
        files = tuple(data / place.format(part) for part in ("train", "dev"))
        names = dict(zip(("train", "dev"), map(str, files), strict=True))
        sides = [Call(way, f"{HERE}:supervised_job", {**names, "settings": WAYS[way]}) for way in WAYS]
        if name == "ptb-sample":
            yield Cell("ratio", "pairs", (Call("pairs", f"{HERE}:ratio_job", names),), inputs=files, **facts)
        yield Cell(f"supervised {name}", "second order", tuple(sides), inputs=files, **facts)
        sides = [Call(way, f"{HERE}:supervised_job", {**names, "settings": how}) for way, how in DISTANCES.items()]
        yield Cell(f"distance {name}", f"distance {name}", tuple(sides), inputs=files, **facts)


def _uas(parser: Any, bank: Any) -> float:
    return 100 * float((parser.parse(bank).heads == bank.heads).mean())


def supervised_job(timer: Any, train: str, dev: str, settings: dict[str, Any]) -> dict[str, float]:
    """Train a parser and parse the development trees."""
    import time

    from corpuscle.measure import attachment
    from corpuscle.parse import MstParser, PairParser
    from corpuscle.text import read_conllu

    bank, gold = read_conllu(train), read_conllu(dev)
    settings = dict(settings)
    parser = PairParser(**settings) if settings.pop("pairs", False) else MstParser(**settings)
    parser.fit(bank[:3])
    with timer:
        begin = time.process_time()
        parser = parser.replace().fit(bank)
        learned = time.process_time()
        found = parser.annotate(gold)
        parsed = time.process_time()
    result = attachment(gold, found)
    return {
        "sentences": len(bank), "UAS": 100 * float(result["uas"]), "UAS low": 100 * float(result["uas_low"]),
        "UAS high": 100 * float(result["uas_high"]), "without punctuation": 100 * float(result["uas_nopunct"]),
        "root": 100 * float(result["root"]), "training CPU s": learned - begin,
        "sentences a CPU second": len(gold) / (parsed - learned),
    }  # fmt: skip


def ratio_job(timer: Any, train: str, dev: str) -> dict[str, float]:
    """UAS by the ratio of pairs without an arc, without and with the correction of the prior."""
    from corpuscle.parse import PairParser
    from corpuscle.text import read_conllu

    bank, gold = read_conllu(train), read_conllu(dev)
    figures = {}
    with timer:
        for ratio in RATIOS:
            parser = PairParser(ratio=ratio).fit(bank)
            figures[f"r {ratio}"] = _uas(parser, gold)
            parser.correction_ = 0.0
            figures[f"r {ratio}, as sampled"] = _uas(parser, gold)
    return figures


def _halves(source: str, target: str) -> tuple[Any, Any, Any]:
    """PUD: source and target sentences to project, and target sentences for development."""
    import numpy as np

    from corpuscle.text import read_conllu

    one, other = read_conllu(source), read_conllu(target)
    kept = np.arange(len(one)) % 5 != 4
    return one.select(kept), other.select(kept), other.select(~kept)


def _aligned(one: Any, other: Any) -> tuple[Any, Any]:
    """Matrices and links of two treebanks by our aligner, which learns from these pairs."""
    from corpuscle.align import Fertility
    from corpuscle.text import Bitext

    pairs = Bitext(one.corpus, other.corpus)
    aligner = Fertility().fit(pairs)
    return aligner.matrix(pairs), aligner.align(pairs)


def project_job(timer: Any, source: str, target: str) -> dict[str, float]:
    """UAS on the development sentences by method, threshold, ratio, amount and kind of links."""
    from corpuscle.parse import BranchingParser, ProjectedParser, Projection
    from corpuscle.text.alignments import AlignmentMatrix

    one, other, dev = _halves(source, target)
    matrix, links = _aligned(one, other)
    data = Projection(one, other, matrix)
    figures = {"pairs": len(one)}
    with timer:
        for side in ("left", "right"):
            figures[side] = _uas(BranchingParser(method=side), dev)
        ways: dict[str, dict[str, Any]] = {
            "direct": {"method": "direct"}, "tree": {"method": "tree"}, "b 0.85": {}, "b 0.65": {"threshold": 0.65},
            "b 0.95": {"threshold": 0.95}, "r 1": {"ratio": 1.0}, "without punctuation": {"punctuation": False},
            "for / (for + against)": {"evidence": "ratio"},
        }  # fmt: skip
        for name, settings in ways.items():
            figures[name] = _uas(ProjectedParser(passes=PASSES, **settings).fit(data), dev)
        part = AlignmentMatrix.from_matrices(map(matrix.matrix, range(FEW)))
        few = Projection(one[:FEW], other[:FEW], part)
        figures[f"{FEW} pairs"] = _uas(ProjectedParser(passes=PASSES).fit(few), dev)
        figures["1-best links"] = _uas(ProjectedParser(passes=PASSES).fit(data._replace(links=links)), dev)
    return figures


def boost_job(timer: Any, source: str, target: str, train: str, dev: str) -> dict[str, float]:
    """UAS of a graph-based parser of some target trees, alone and boosted, by the number of trees."""
    from corpuscle.parse import BoostedParser, MstParser, ProjectedParser, Projection
    from corpuscle.text import read_conllu

    one, other, _ = _halves(source, target)
    bank, gold = read_conllu(train), read_conllu(dev)
    half = len(gold) // 2
    figures: dict[str, float] = {}
    with timer:
        pairs = ProjectedParser(passes=PASSES).fit(Projection(one, other, _aligned(one, other)[0]))
        figures["projected"] = _uas(pairs, gold[half:])
        for size in SIZES:
            if size > len(bank):
                continue
            base = MstParser().fit(bank[:size])
            boosted = BoostedParser(base, pairs).fit(gold[:half])
            figures |= {
                f"{size} trees": _uas(base, gold[half:]), f"{size}, boosted": _uas(boosted, gold[half:]),
                f"{size}, weight": boosted.weight_,
            }  # fmt: skip
    return figures


def claims(results: dict[str, Any]) -> list[Claim]:
    """What the paper found."""
    found = []
    for name in SUPERVISED:
        claim = Claim(f"{name}: UAS of pairs is below that of the first order by less than", "6 points")
        if f"supervised {name}" in results:
            first, pairs = (typical(results[f"supervised {name}"], way, "UAS") for way in ("first order", "pairs"))
            claim = Claim(claim.text, claim.target, f"{first - pairs:.2f}", first - pairs < 6.0)
        found.append(claim)
    for name in SUPERVISED:
        for side, how in zip(DISTANCES, ("in place of", "beside"), strict=True):
            claim = Claim(f"{name}: UAS that the distance of Collins brings {how} length, first order", "above 0")
            if f"distance {name}" in results and f"supervised {name}" in results:
                with_it = typical(results[f"distance {name}"], side, "UAS")
                gain = with_it - typical(results[f"supervised {name}"], "first order", "UAS")
                claim = Claim(claim.text, claim.target, f"{gain:+.2f}", gain > 0)
            found.append(claim)
    for language in LANGUAGES:
        claim = Claim(f"{language}: instances of pairs, UAS over whole trees (log)", "above 0")
        if f"project {language}" in results:
            whole, single = (typical(results[f"project {language}"], "projected", way) for way in ("tree", "b 0.85"))
            claim = Claim(claim.text, claim.target, f"{single - whole:+.2f}", single > whole)
        found.append(claim)
    return found


def _table(corner: str, columns: dict[str, dict[str, float]], digits: int = 1) -> list[str]:
    """Figures by name, columns side by side."""
    names = list(dict.fromkeys(name for each in columns.values() for name in each))
    lines = [row([corner, *columns]), row(["---"] + ["---:"] * len(columns))]
    for name in names:
        lines.append(row([name, *(f"{each[name]:,.{digits}f}" if name in each else "" for each in columns.values())]))
    return [*lines, ""]


def tables(results: dict[str, Any]) -> list[str]:
    """Languages side by side; supervised parsers with their times."""
    made = []
    for name in SUPERVISED:
        cells = [results[cell] for cell in (f"supervised {name}", f"distance {name}") if cell in results]
        sides = {side: runs[0]["figures"] for cell in cells for side, runs in cell["runs"].items()}
        if not sides:
            continue
        figures = list(dict.fromkeys(key for each in sides.values() for key in each))
        lines = [row([name, *figures]), row(["---"] + ["---:"] * len(figures))]
        for side, each in sides.items():
            values = (f"{each[key]:,.{0 if each[key] >= 1000 else 2}f}" for key in figures)
            lines.append(row([side, *values]))
        made.append("\n".join([f"### Supervised: {name}", "", *lines, ""]))
    for what, title in (("project", "Projected from English, 640 sentences of PUD"), ("boost", "Boosted")):
        runs = {name.split()[1]: next(iter(result["runs"].values()))[0]["figures"]
                for name, result in results.items() if name.split()[0] == what}  # fmt: skip
        if runs:
            made.append("\n".join([f"### {title}", "", *_table("UAS", runs, 1 if what == "project" else 2)]))
    if "ratio" in results:
        figures = results["ratio"]["runs"]["pairs"][0]["figures"]
        both = {way: {f"{ratio}": figures[f"r {ratio}{end}"] for ratio in RATIOS}
                for way, end in (("prior corrected", ""), ("as sampled", ", as sampled"))}  # fmt: skip
        made.append("\n".join(["### Ratio of pairs without an arc, ptb-sample", "", *_table("UAS by r", both, 2)]))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Heads of all words, punctuation included, gold tags. Projected parsers use universal tags of the target and "
        "40 steps of L-BFGS. CPU seconds are of one process; other work ran beside it. Rows with verbs and commas: "
        "graph-based parsers whose arcs have the distance of Collins in place of, or beside, their length."
    )
