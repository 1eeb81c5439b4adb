"""Word classes beside other tools: seconds, and the mutual information of the classes that they find.

All partitions are judged by the same count, ours: left neighbours within a sentence, its start as a class of its own.
Liang's ``wcluster`` takes part when it is on PATH or named by the environment variable ``WCLUSTER``, the Python package
``brown-clustering`` when it is installed. Both merge greedily (Brown et al. 1992). ``brown-clustering`` is slow and so
has a cell of its own with a small vocabulary. ``wcluster`` reads across sentence boundaries, and leaves out the words
below its cut-off: in the judgement they are one more class, beside those that it was asked for; with us they are a word
like any other.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, Side, typical

CLASSES, MANY = 200, 1000
LEAST = 3
"""Rarer words have no class of their own where we meet wcluster."""
SMALL = {"classes": 50, "max_types": 1000}
SOURCES = (
    "corpuscle/words/kernels/*.py",
    *(f"corpuscle/words/{name}.py" for name in ("classes", "forests", "hard_classes")),
)
WCLUSTER = os.environ.get("WCLUSTER") or shutil.which("wcluster")


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""
    text = data / "brown" / "brown.txt"
    exchange = [
        Call(f"{start} start, {workers} workers", "bench.classes:ours", {"text": str(text), "classes": CLASSES} | more)
        for start, workers in (("best", 2), ("best", 1), ("cyclic", 1))
        for more in [{"workers": workers, "start": start, "max_types": None}]
    ]
    title = f"Brown corpus, 1 million tokens, {CLASSES} classes"
    yield Cell("brown", title, tuple(exchange), inputs=(text,), sources=SOURCES)
    yield Cell(
        "merging",
        f"Brown corpus, words that occur at least {LEAST} times, {CLASSES} classes",
        (
            *_merging(text, CLASSES),
            *([Call("wcluster", "bench.classes:wcluster", _frequent(text, CLASSES))] if WCLUSTER else []),
        ),
        peer="wcluster" if WCLUSTER else None,
        inputs=(text,),
        warm_up=False,  # kernels are warmed by every side itself, and wcluster takes long
        sources=SOURCES,
    )
    yield Cell(
        "many",
        f"Brown corpus, words that occur at least {LEAST} times, {MANY:,} classes",
        tuple(_merging(text, MANY)),
        inputs=(text,),
        warm_up=False,
        sources=SOURCES,
    )
    if importlib.util.find_spec("brown_clustering"):
        yield Cell(
            "small",
            f"Brown corpus, {SMALL['max_types']:,} most frequent words, {SMALL['classes']} classes",
            (
                Call("exchange", "bench.classes:ours", {"text": str(text), "workers": 1, "start": "best"} | SMALL),
                Call("brown", "bench.classes:brown", {"text": str(text), "passes": 0} | SMALL),
                Call("brown-clustering", "bench.classes:brown_clustering", {"text": str(text)} | SMALL),
            ),
            peer="brown-clustering",
            inputs=(text,),
            repeats=1,
            warm_up=False,
        )


def _frequent(text: Path, classes: int) -> dict[str, Any]:
    """The arguments of a side that leaves rare words out."""
    return {"text": str(text), "classes": classes, "min_count": LEAST}


def _merging(text: Path, classes: int) -> list[Side]:
    """Our ways to so many classes, on one core."""
    arguments = _frequent(text, classes)
    return [
        Call("brown", "bench.classes:brown", {**arguments, "passes": 0}),
        Call("brown, 5 passes", "bench.classes:brown", {**arguments, "passes": 5}),
        Call("exchange", "bench.classes:ours", {**arguments, "workers": 1, "start": "best"}),
    ]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    made = [Claim(f"Brown corpus: 1 million tokens, {CLASSES} classes by exchange", "10 s")]
    if "brown" in results:
        seconds = typical(results["brown"], "best start, 2 workers", "cpu")
        made = [Claim(made[0].text, "10 s", f"{seconds:.1f} CPU s", seconds <= 10)]
    likely = Claim(f"{CLASSES} Brown clusters: as likely as those of wcluster", "to 0.1 %")
    fast = Claim(f"{CLASSES} Brown clusters: CPU time of wcluster over ours", "4")
    if "merging" in results and "wcluster" in results["merging"]["runs"]:
        ours, theirs = (typical(results["merging"], side, "log-likelihood") for side in ("brown", "wcluster"))
        less = (theirs - ours) / abs(theirs)
        likely = Claim(likely.text, likely.target, f"{ours:.4f} to {theirs:.4f} ({-less:+.2%})", less <= 0.001)
        ours, theirs = (typical(results["merging"], side, "cpu") for side in ("brown", "wcluster"))
        fast = Claim(
            fast.text, fast.target, f"{theirs / ours:.0f} ({theirs:.0f} s to {ours:.1f} s)", theirs >= 4 * ours
        )
    many = Claim(f"{MANY:,} Brown clusters of 1 million tokens", "2 minutes")
    if "many" in results:
        seconds = typical(results["many"], "brown", "cpu")
        many = Claim(many.text, many.target, f"{seconds:.0f} CPU s", seconds <= 120)
    return [*made, likely, fast, many]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes",
        "",
        "- Learning only, from an encoded corpus, kernels warm; wcluster reads its text, too. I is the mutual "
        "information of neighbouring classes in nats, by our count for every tool; the log-likelihood a token is I "
        "minus the entropy of the words.",
        "- wcluster gets one class more than it was asked for in this count: that of the words below its cut-off.",
    ]
    if not WCLUSTER:
        lines.append("- wcluster was neither on PATH nor named by WCLUSTER.")
    if not importlib.util.find_spec("brown_clustering"):
        lines.append("- The package brown-clustering was not installed.")
    return "\n".join(lines)


def ours(timer, text: str, classes: int, workers: int, start: str, **settings: int | None) -> dict[str, float]:
    """The exchange algorithm."""
    from corpuscle.text import read_text
    from corpuscle.words import ExchangeClasses, warm

    warm()
    corpus = read_text(text)
    with timer:
        model = ExchangeClasses(classes=classes, workers=workers, start=start, **settings).fit(corpus)
    history = [step.mutual_information for step in model.history_]
    by_pass = {f"I, pass {number}": history[min(number, len(history) - 1)] for number in (1, 3, 5, 10)}
    return {**by_pass, "I": model.mutual_information_, "log-likelihood": model.likelihood_ / model.n_tokens_}


def brown(timer, text: str, **settings: int | None) -> dict[str, float]:
    """Brown clustering."""
    from corpuscle.text import read_text
    from corpuscle.words import BrownClasses, warm

    warm()
    corpus = read_text(text)
    with timer:
        model = BrownClasses(workers=1, **settings).fit(corpus)
    return {"I": model.mutual_information_, "log-likelihood": model.likelihood_ / model.n_tokens_}


def wcluster(timer, text: str, classes: int, min_count: int) -> dict[str, float]:
    """Liang's program: text in, a file of bit strings out. It keeps what it has read beside the text, so that gets a
    folder of its own."""
    import resource
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(text, folder)
        options = ("--c", str(classes), "--min-occur", str(min_count), "--output_dir", f"{folder}/out")
        with timer:
            subprocess.run((str(WCLUSTER), "--text", copy, *options), check=True, capture_output=True)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        timer.cpu += usage.ru_utime + usage.ru_stime
        lines = Path(folder, "out", "paths").read_text(encoding="utf-8").splitlines()
    found = {word: bits for bits, word, _ in (line.split("\t") for line in lines)}
    return judge(text, {**found, "<unk>": "rare"}, set(found))


def brown_clustering(timer, text: str, classes: int, max_types: int) -> dict[str, float]:
    """The Python package as it comes (with add-one smoothing); rare words are one word, as with us."""
    from brown_clustering import BigramCorpus, BrownClustering

    sentences = [line.split() for line in Path(text).read_text(encoding="utf-8").split("\n")]
    kept = _most_frequent(sentences, max_types)
    sentences = [[word if word in kept else "<unk>" for word in sentence] for sentence in sentences]
    with timer:
        clusters = BrownClustering(BigramCorpus(sentences), classes).train()
    return judge(text, {word: number for number, words in enumerate(clusters) for word in words}, kept)


def _most_frequent(sentences: list[list[str]], max_types: int) -> set[str]:
    """The types that our own cut keeps."""
    from corpuscle.text import FIRST, Corpus

    return set(Corpus.from_sentences(sentences).vocab.cut(1, max_types)[0].strings[FIRST:])


def judge(text: str, classes: dict[str, Any], kept: set[str] | None) -> dict[str, float]:
    """I and the log-likelihood of a partition, by our count."""
    import numpy as np

    from corpuscle.text import FIRST, START, UNKNOWN, read_text
    from corpuscle.words import Forest
    from corpuscle.words.kernels import exchange

    corpus = read_text(text)
    strings = [word if kept is None or word in kept else "<unk>" for word in corpus.vocab.strings]
    types = {word: number for number, word in enumerate(dict.fromkeys(strings[FIRST:]))}
    rank = np.array([types.get(word, 0) for word in strings])
    rank[START] = len(types)
    assert not (corpus.tokens == UNKNOWN).any()
    pairs = np.stack([rank[Forest.chain(corpus).parent_words], rank[corpus.tokens]])
    near = exchange.neighbours_of(exchange.count_pairs(pairs, len(types)))
    names = {name: number for number, name in enumerate(dict.fromkeys(classes.values()))}
    table = exchange.class_counts(near, np.array([names[classes[word]] for word in types]), len(names))
    total, counts = corpus.n_tokens, near.degrees[exchange.UP, :-1]
    information = exchange.objective(table) / total + np.log(total)
    entropy = np.log(total) - (counts * np.log(counts)).sum() / total
    return {"I": float(information), "log-likelihood": float(information - entropy)}
