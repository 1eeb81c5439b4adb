"""The dictionary of a pack: is its confidence what people find right? And are pairs found that were mixed up?

``calibration``: the aligner of ``learn`` learns from a text with gold sentences behind it; every link that it makes
in those has the confidence of its entry in the dictionary, and is right if people have it. The expected calibration
error adds up how far the mean confidence is from the share of right links, over ten equal ranges of confidence. The
two numbers of the logistic function were fitted to the first half of the gold sentences of es-en, of fr-en (20,000
pairs) and of the sample; what is measured is the second half of all sets. ``suspicious``: 800 sentences of English
and Hindi (PUD), of which 40 exchange their translations, drawn eight times; those that ``learn`` would list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.harness import HERE, Call, Cell, Claim, row

SETS = {
    "es-en": ("align-es-en", "es", 5_288),
    "es-en, 1,000 pairs": ("align-es-en", "es", 1_000),
    "fr-en, 1,000 pairs": ("align-fr-en", "fr", 1_000),
    "fr-en, 5,000 pairs": ("align-fr-en", "fr", 5_000),
    "fr-en, 20,000 pairs": ("align-fr-en", "fr", 20_000),
    "zh-en, 10,000 pairs": ("align-zh-en", "zh", 10_000),
    "ja-en, 10,000 pairs": ("align-ja-en", "ja", 10_000),
}
SAMPLE = "sample"
BINS, DRAWS, PAIRS, MIXED = 10, 8, 800, 40
SOURCES = ("corpuscle/align/**/*.py",)
WANTED = {"es-en": "es-en", "fr-en, 5,000 pairs": "fr-en"}


def cells(data: Path) -> Iterator[Cell]:
    """One cell a question."""
    sides = [
        Call(name, "bench.align_dictionary:calibration", {"folder": str(data / folder), "other": other, "pairs": pairs})
        for name, (folder, other, pairs) in SETS.items()
    ]
    sides.append(Call(SAMPLE, "bench.align_dictionary:calibration", {"folder": "", "other": "", "pairs": 0}))
    inputs = tuple(data / folder / "dev.gold" for folder, *_ in SETS.values())
    yield Cell("calibration", "calibration", tuple(sides), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)
    treebanks = [data / "ud-pud-parallel" / "en.conllu", data / "ud-pud-hi-ru" / "hi.conllu"]
    call = Call("learn", "bench.align_dictionary:suspicious", {"paths": list(map(str, treebanks))})
    yield Cell("suspicious", "suspicious", (call,), inputs=tuple(treebanks), repeats=1, warm_up=False, sources=SOURCES)


def _material(folder: str, other: str, pairs: int) -> tuple[Any, Any]:
    """A bitext with gold sentences behind it, and their links."""
    import tempfile

    from corpuscle import samples
    from corpuscle.text import Bitext, read_pharaoh, read_strings

    if not folder:
        with tempfile.TemporaryDirectory() as temporary:
            root = Path(temporary) / "kit"
            samples.write(root, 1)
            sides = [
                (root / "parallel" / f"train.{side}").read_text(encoding="utf-8").splitlines()
                for side in ("src", "tgt")
            ]
            return Bitext(*map(read_strings, sides)), read_pharaoh(root / "gold" / "alignments.txt")
    root = Path(folder)
    sides = [
        [
            line
            for part, most in (("train", pairs), ("dev", None))
            for line in (root / f"{part}.{code}").read_text(encoding="utf-8").splitlines()[:most]
        ]
        for code in ("en", other)
    ]
    return Bitext(*map(read_strings, sides)), read_pharaoh(root / "dev.gold")


def calibration(timer, folder: str, other: str, pairs: int) -> dict[str, float]:
    """Confidence and truth of the links in the second half of the gold sentences."""
    import numpy as np

    from corpuscle.align import DEFAULT_METHOD, DEFAULT_SYMMETRISATION, learner
    from corpuscle.align.lexicon import lexicon

    bitext, gold = _material(folder, other, pairs)
    with timer:
        model = learner(DEFAULT_METHOD).fit(bitext)
    judged = bitext[len(bitext) - len(gold) :]
    links = model.align(judged, DEFAULT_SYMMETRISATION)
    sure = {(e.source, e.target): e for e in lexicon(model, min_links=0.0, min_score=0.0)}
    rows = []
    for i in range(len(judged) // 2, len(judged)):
        source, target = judged.source.words(i), judged.target.words(i)
        right = {(a, b) for a, b in gold.pair(i).tolist()}
        for a, b in links.pair(i).tolist():
            if (entry := sure.get((source[a], target[b]))) is not None:
                rows.append((entry.confidence, (a, b) in right))
    confidence, truth = np.array(rows, float).T
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    figures = {"links": float(len(rows)), "right": float(truth.mean()), "confidence": float(confidence.mean())}
    error = 0.0
    for k in np.unique(place):
        here = place == k
        error += here.mean() * abs(confidence[here].mean() - truth[here].mean())
        figures[f"bin {k}"] = float(truth[here].mean())
        figures[f"bin {k}, confidence"] = float(confidence[here].mean())
    return {"error": float(error), **figures}


def suspicious(timer, paths: list[str]) -> dict[str, float]:
    """How many of the mixed pairs are listed, and how many others, draw by draw."""
    import numpy as np

    from corpuscle.align import HMM
    from corpuscle.align.evaluation import score_by_halves
    from corpuscle.packs.systems.alignments import BY_CHANCE
    from corpuscle.random import Random
    from corpuscle.text import Bitext, Corpus, read_conllu

    english, hindi = ([bank.corpus.words(i) for i in range(PAIRS)] for bank in map(read_conllu, paths))
    figures: dict[str, float] = {}
    for seed in range(1, DRAWS + 1):
        mixed = np.array(sorted(Random(seed, "swap").shuffled(range(PAIRS))[:MIXED]))
        order = np.arange(PAIRS)
        order[mixed] = np.roll(mixed, 1)
        bitext = Bitext(Corpus.from_sentences(english), Corpus.from_sentences([hindi[i] for i in order]))
        with timer:
            halves = score_by_halves(bitext, lambda pairs, half: HMM().fit(pairs), BY_CHANCE, seed=1)
        listed = halves.surplus <= halves.by_chance
        figures[f"found {seed}"] = float(listed[mixed].sum())
        figures[f"false {seed}"] = float(listed.sum() - listed[mixed].sum())
    return figures


def _figures(results: dict[str, Any], cell: str, side: str) -> dict[str, float]:
    return results[cell]["runs"][side][0]["figures"]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    made = []
    for side, name in WANTED.items():
        text = f"{name}: expected calibration error of dictionary confidence"
        if "calibration" not in results:
            made.append(Claim(text, "below 0.05"))
            continue
        error = _figures(results, "calibration", side)["error"]
        made.append(Claim(f"{text} ({side})", "below 0.05", f"{error:.3f}", error < 0.05))
    text = f"{MIXED} mixed pairs of {PAIRS}: listed, with false ones; median of {DRAWS} draws"
    if "suspicious" in results:
        found, false = (
            median(v for k, v in _figures(results, "suspicious", "learn").items() if k.startswith(kind))
            for kind in ("found", "false")
        )
        made.append(Claim(text, "35 with at most 60", f"{found:g} with {false:g}", found >= 35 and false <= 60))
    else:
        made.append(Claim(text, "35 with at most 60"))
    return made


def tables(results: dict[str, Any]) -> list[str]:
    """Calibration by set, and the draws."""
    lines = []
    if "calibration" in results:
        draw(results)
        lines += [row(("text", "links judged", "right", "mean confidence", "error")), row(("---", *["---:"] * 4))]
        for side in results["calibration"]["runs"]:
            found = _figures(results, "calibration", side)
            numbers = (f"{found[name]:.3f}" for name in ("right", "confidence", "error"))
            lines.append(row((side, f"{found['links']:,.0f}", *numbers)))
    if "suspicious" in results:
        found = _figures(results, "suspicious", "learn")
        lines += ["", row(("draw", "found", "false")), row(("---:",) * 3)]
        lines += [
            row((str(i), f"{found[f'found {i}']:.0f}", f"{found[f'false {i}']:.0f}")) for i in range(1, DRAWS + 1)
        ]
    return ["\n".join(lines)]


def draw(results: dict[str, Any]) -> None:
    """The picture of the documentation: the share of right links by confidence."""
    from corpuscle.figures import Series, line_plot, save_figure

    shown = []
    for side, name in WANTED.items():
        found = _figures(results, "calibration", side)
        bins = [k for k in range(BINS) if f"bin {k}" in found]
        shown.append(Series(name, [found[f"bin {k}, confidence"] for k in bins], [found[f"bin {k}"] for k in bins]))
    shown.append(Series("as it should be", [0.0, 1.0], [0.0, 1.0]))
    picture = line_plot(
        shown, title="Confidence of dictionary entries", x_label="confidence", y_label="share of right links",
        description="Links of unseen gold sentences by the confidence of their entry; a point is a range of it.",
    )  # fmt: skip
    save_figure(picture, HERE.parent / "docs" / "images" / "dictionary-calibration.svg")


def notes(results: dict[str, Any]) -> str:
    """What is to be said about the figures."""
    return (
        "People who link by hand do not agree on what a link is: those of fr-en also marked what is only possible, "
        "those of zh-en and ja-en linked less. One function for all languages is too sure for the latter, and not sure "
        "enough for much text of the former."
    )
