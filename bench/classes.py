"""Word classes beside other tools: seconds, and the mutual information of the classes that they find.

All partitions are judged by the same count, ours: left neighbours within a sentence, its start as a class of its own.
Liang's ``wcluster`` takes part when it is on PATH, the Python package ``brown-clustering`` when it is installed. Both
merge greedily (Brown et al. 1992). ``brown-clustering`` is slow and so has a cell of its own with a small vocabulary.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, Side, typical

CLASSES = 200
SMALL = {"classes": 50, "max_types": 1000}


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""
    text = data / "brown" / "brown.txt"
    sides: list[Side] = [
        Call(f"{start} start, {workers} workers", "bench.classes:ours", {"text": str(text), "classes": CLASSES} | more)
        for start, workers in (("best", 2), ("best", 1), ("cyclic", 1))
        for more in [{"workers": workers, "start": start, "max_types": None}]
    ]
    if shutil.which("wcluster"):
        sides.append(Call("wcluster", "bench.classes:wcluster", {"text": str(text), "classes": CLASSES}))
    yield Cell(
        "brown",
        f"Brown corpus, 1 million tokens, {CLASSES} classes",
        tuple(sides),
        peer="wcluster" if shutil.which("wcluster") else None,
        inputs=(text,),
    )
    if importlib.util.find_spec("brown_clustering"):
        yield Cell(
            "small",
            f"Brown corpus, {SMALL['max_types']:,} most frequent words, {SMALL['classes']} classes",
            (
                Call("corpuscle", "bench.classes:ours", {"text": str(text), "workers": 1, "start": "best"} | SMALL),
                Call("brown-clustering", "bench.classes:brown_clustering", {"text": str(text)} | SMALL),
            ),
            peer="brown-clustering",
            inputs=(text,),
            repeats=1,
            warm_up=False,
        )


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    text = f"Brown corpus: 1 million tokens, {CLASSES} classes"
    if "brown" not in results:
        return [Claim(text, "10 s")]
    seconds = typical(results["brown"], "best start, 2 workers")
    return [Claim(text, "10 s", f"{seconds:.1f} s", seconds <= 10)]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes",
        "",
        "- Learning only, from an encoded corpus, kernels warm. I is the mutual information of neighbouring classes in "
        "nats, by our count for every tool; the log-likelihood a token is I minus the entropy of the words.",
    ]
    if not shutil.which("wcluster"):
        lines.append("- wcluster was not on PATH.")
    if not importlib.util.find_spec("brown_clustering"):
        lines.append("- The package brown-clustering was not installed.")
    return "\n".join(lines)


def ours(timer, text: str, classes: int, workers: int, start: str, max_types: int | None) -> dict[str, float]:
    """The exchange algorithm."""
    from corpuscle.text import read_text
    from corpuscle.words import ExchangeClasses, warm

    warm()
    corpus = read_text(text)
    with timer:
        model = ExchangeClasses(classes=classes, workers=workers, start=start, max_types=max_types).fit(corpus)
    history = [step.mutual_information for step in model.history_]
    by_pass = {f"I, pass {number}": history[min(number, len(history) - 1)] for number in (1, 3, 5, 10)}
    return {**by_pass, "I": model.mutual_information_, "log-likelihood": model.likelihood_ / model.n_tokens_}


def wcluster(timer, text: str, classes: int) -> dict[str, float]:
    """Liang's program: text in, a file of bit strings out."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        with timer:
            command = ("wcluster", "--text", text, "--c", str(classes), "--output_dir", folder)
            subprocess.run(command, check=True, capture_output=True)
        lines = (Path(folder) / "paths").read_text(encoding="utf-8").splitlines()
    return judge(text, {word: bits for bits, word, _ in (line.split("\t") for line in lines)}, None)


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
    near = exchange.neighbours(rank[Forest.chain(corpus).parent_words], rank[corpus.tokens], len(types))
    names = {name: number for number, name in enumerate(dict.fromkeys(classes.values()))}
    table = exchange.class_counts(near, np.array([names[classes[word]] for word in types]), len(names))
    total, counts = corpus.n_tokens, near.degrees[exchange.UP, :-1]
    information = exchange.objective(table) / total + np.log(total)
    entropy = np.log(total) - (counts * np.log(counts)).sum() / total
    return {"I": float(information), "log-likelihood": float(information - entropy)}
