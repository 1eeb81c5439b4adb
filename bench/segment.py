"""Word segmentation: how well words are found, how fast a sweep and the application to new text are.

Spaces are taken out of the input. Models learn from the training and the development text without spaces (transcripts:
from all utterances) and cut the development text (all utterances) by the Viterbi algorithm with their last sample.
``semi``: every fifth training line keeps its words; ``gold``: all training lines do, and the development text is new.
Trained models are kept beside the cells, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, Commands, Side, cpu_hours, joined, source_digest, table, trained, typical

SOURCES = (
    "corpuscle/random.py",
    "corpuscle/text/scripts.py",
    "corpuscle/segment/**/*.py",
    "corpuscle/measure/segmentation.py",
    "corpuscle/engine/restaurants/*.py",
)
"""What the figures depend on."""

SWEEPS, SEEDS = 200, (1, 2, 3)
CORPORA = {
    "brent": ("transcripts of speech to children", "brent/br-phono.txt", "brent/br-phono.txt", {}),
    "pd199801": (
        "Chinese, People's Daily",
        "sighan2005/pd199801.train.txt",
        "sighan2005/pd199801.dev.txt",
        {"max_word": 4},
    ),
    "kwdlc": ("Japanese, web text", "japanese-kwdlc/train.txt", "japanese-kwdlc/dev.txt", {}),
}
"""By name: a title, training and development text, settings."""

RUNS = (
    ("brent", "npylm bigram", {"order": 2}),
    ("brent", "npylm trigram", {"order": 3}),
    ("kwdlc", "npylm bigram", {"order": 2}),
    ("kwdlc", "npylm trigram", {"order": 3}),
    ("pd199801", "npylm bigram", {"order": 2}),
    ("pd199801", "npylm bigram semi", {"order": 2, "given": "semi"}),
    ("pd199801", "npylm bigram gold", {"order": 2, "given": "gold"}),
    ("brent", "npylm bigram growing", {"order": 2, "start": "growing"}),
)
TARGETS = {
    ("brent", "npylm bigram"): 0.74,
    ("pd199801", "npylm bigram"): 0.78,
    ("pd199801", "npylm bigram semi"): 0.88,
    ("pd199801", "npylm bigram gold"): 0.93,
    ("kwdlc", "npylm trigram"): 0.62,
}
"""The least token F1, mean of the seeds."""

PEER = os.environ.get("NHPYLM_PYTHON", "")
"""A Python that has nhpylm, the peer, see ``bench/segment_peer.py``."""

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons: speed, then quality, the first seed of everything before the second of anything."""

    def cell(name: str, title: str, corpus: str, sides: Sequence[Side], **settings: Any) -> Cell:
        inputs = tuple(data / path for path in dict.fromkeys(CORPORA[corpus][1:3]))
        return Cell(name, title, tuple(sides), inputs=inputs, warm_up=False, sources=SOURCES, **settings)

    def files(corpus: str) -> dict[str, Any]:
        _, train, test, settings = CORPORA[corpus]
        return {"train": str(data / train), "test": str(data / test), **settings}

    sides: list[Side] = [Call("npylm", "bench.segment:sweeps", {**files("brent"), "order": 2})]
    if PEER:
        argv = (PEER, "bench/segment_peer.py", str(data / CORPORA["brent"][1]))
        sides.append(Commands("nhpylm", (argv,), "bench.segment:read_peer"))
    yield cell("brent-sweeps", "One sweep over the transcripts, bigram", "brent", sides, repeats=1)
    shares = [
        Call(f"1/{share} of the text", "bench.segment:sweeps", {**files("pd199801"), "order": 2, "share": share})
        for share in (8, 4, 2, 1)
    ]
    yield cell("growth", "One sweep over more and more Chinese text, bigram", "pd199801", shares, repeats=1)
    for corpus, (title, *_) in CORPORA.items():
        sides = [
            Call(method, "bench.segment:trivial", {**files(corpus), "method": method})
            for method in ("letters", "lines")
        ]
        yield cell(f"{corpus}-trivial", title, corpus, sides, repeats=1)
    for seed in SEEDS:
        for corpus, name, settings in RUNS:
            arguments = {**files(corpus), **settings, "seed": seed, "sweeps": SWEEPS}
            side = Call(f"{name}, seed {seed}", "bench.segment:learned", arguments)
            yield cell(_cell_name(corpus, name, seed), CORPORA[corpus][0], corpus, [side], repeats=1)
    for corpus, name, settings in RUNS:
        if "given" not in settings:
            arguments = {**files(corpus), **settings, "sweeps": SWEEPS}
            side = Call(f"{name}, curve", "bench.segment:curve", arguments)
            yield cell(f"{_cell_name(corpus, name)}-curve", "F1 by sweep", corpus, [side], repeats=1)


def _cell_name(corpus: str, name: str, seed: int | None = None) -> str:
    return "-".join([corpus, *name.lower().split(), *([] if seed is None else [str(seed)])])


# ---- what they show


def _mean(results: dict[str, Any], corpus: str, name: str, what: str) -> tuple[float, int]:
    """The mean of a figure over the seeds that have run, and how many they are."""
    cells = [results[key] for seed in SEEDS if (key := _cell_name(corpus, name, seed)) in results]
    values = [_figure(cell, what) for cell in cells]
    return (sum(values) / len(values) if values else float("nan")), len(values)


def _figure(result: dict[str, Any], what: str) -> float:
    """A figure of a cell with one side; NaN if it has none."""
    side = next(iter(result["runs"]))
    figures = result["runs"][side][0]["figures"]
    return typical(result, side, what) if what in figures or what in ("wall", "cpu") else float("nan")


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for (corpus, name), target in TARGETS.items():
        value, seeds = _mean(results, corpus, name, "F1")
        measured = (f"{value:.3f}", value >= target) if seeds else ()
        found.append(Claim(f"{corpus}: token F1 of {name}, mean of {seeds} seeds", f"{target:.2f}", *measured))
    if (sweeps := results.get("brent-sweeps")) is not None:
        seconds = typical(sweeps, "npylm", "CPU s a sweep")
        found.append(Claim("brent: 200 sweeps, CPU seconds", "120", f"{200 * seconds:.0f}", 200 * seconds <= 120))
        if "nhpylm" in sweeps["runs"]:
            ratio = typical(sweeps, "nhpylm", "CPU s a sweep") / seconds
            found.append(Claim("brent: a sweep of nhpylm over one of ours", "10", f"{ratio:.0f}", ratio >= 10))
    if (growth := results.get("growth")) is not None:
        speeds = [typical(growth, side, "letters a CPU s") for side in growth["runs"]]
        slower = speeds[0] / speeds[-1]
        text = "time a letter of a sweep, eight times as much text over an eighth"
        found.append(Claim(text, "1.5", f"{slower:.2f}", slower <= 1.5))
    for corpus in CORPORA:
        names = [name for other, name, _ in RUNS if other == corpus]
        name = next((each for each in names if _mean(results, corpus, each, "F1")[1]), names[0])
        value, seeds = _mean(results, corpus, name, "letters applied a CPU s")
        measured = (f"{value:,.0f}", value >= 200_000) if seeds else ()
        found.append(Claim(f"{corpus}: letters a second that {name} cuts, one thread", "200,000", *measured))
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """One table for all cells with the same title, and one of the means."""
    return [*_means(results), *map(table, joined(results))]


def _means(results: dict[str, Any]) -> list[str]:
    """The figures of all methods that have run, means of the seeds, as a table; none before the first has."""
    what = ("F1", "precision", "recall", "boundary F1", "lexicon F1", "perplexity a letter", "letters a word")
    head = ["### Means of the seeds", "", f"| | seeds | {' | '.join(what)} |", "|---|---:|" + "---:|" * len(what)]
    lines = []
    for corpus, name, _ in RUNS:
        means = [_mean(results, corpus, name, each) for each in what]
        if means[0][1]:
            shown = " | ".join("" if value != value else f"{value:.3f}" for value, _ in means)
            lines.append(f"| {corpus}: {name} | {means[0][1]} | {shown} |")
    return ["\n".join([*head, *lines, ""])] if lines else []


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    _draw(results)
    return "\n".join(
        [
            "### Notes",
            "",
            f"- {SWEEPS} sweeps, one chain, one thread; the time of a side is that of cutting the development "
            f"text. All these figures together cost {cpu_hours(results):.1f} hours of CPU time, training included.",
            "- Perplexities of `semi` and of the unsupervised runs are of text that was in the training text, without "
            "its words; that of `gold` is of new text.",
            "- `growing` begins as the paper does, with nothing; all other runs without given words begin with those "
            "of branching entropy (sweep 0 of the curves).",
            "- The baselines `letters` (every letter a word) and `lines` (every line one) learn nothing.",
            "- nhpylm is a Cython implementation of the same bigram model, with its own defaults.",
            "- The Dirichlet processes are in `segment_outside`.",
        ]
    )


def _draw(results: dict[str, Any]) -> None:
    """F1 by sweep, as pictures for the docs."""
    from corpuscle.figures import Series, line_plot

    for corpus, (title, *_) in CORPORA.items():
        curves = [
            (name, results[key]["runs"][f"{name}, curve"][0]["curves"])
            for other, name, _ in RUNS
            if other == corpus and (key := f"{_cell_name(corpus, name)}-curve") in results
        ]
        lines = [Series(name, curve["iteration"], curve["f1"]) for name, curve in curves]
        if lines:
            plot = line_plot(lines, title=f"F1 of words by sweep, {title}", x_label="sweep", y_label="F1")
            (IMAGES / f"segment-{corpus}.svg").write_text(plot)


# ---- what the sides do


def _texts(train: str, test: str, given: str = ""):
    """What a model learns from (text, gold lines), and the gold development text."""
    import numpy as np

    from corpuscle.text import Corpus, read_text

    first, last = read_text(train, unk_token="literal"), read_text(test, unk_token="literal")
    if train == test:
        return first, None, last
    if given == "gold":
        return None, first, last
    both = Corpus.from_sentences([*first, *last])
    is_gold = (np.arange(len(both)) % 5 == 0) & (np.arange(len(both)) < len(first))
    return (both.select(~is_gold), both.select(is_gold), last) if given == "semi" else (both, None, last)


def _segmenter(method: str = "npylm", **settings: Any):
    from corpuscle import segment as task

    if method == "npylm":
        return task.NestedSegmenter(workers=1, spaces="remove", **settings)
    return task.DirichletSegmenter(method=method, workers=1, spaces="remove", **settings)


def _trained(text, gold, stem: str, **settings: Any):
    """See ``bench.harness.trained``."""
    name = "-".join(["segment", stem, *map(str, settings.values()), source_digest(SOURCES)])
    return trained(name, lambda: _segmenter(**settings), text, gold)


def _scores(gold, found) -> dict[str, float]:
    from corpuscle.measure import segmentation_scores

    scores = segmentation_scores(gold, found, draws=200)
    return {
        "F1": scores["f1"],
        "F1 low": scores["f1_low"],
        "F1 high": scores["f1_high"],
        "precision": scores["precision"],
        "recall": scores["recall"],
        "boundary F1": scores["boundary_f1"],
        "lexicon F1": scores["lexicon_f1"],
        "letters a word": scores["word_length"],
    }


def learned(timer, train: str, test: str, given: str = "", **settings: Any) -> dict[str, float]:
    """Train a model and cut the development text; the time is that of cutting."""
    text, gold, development = _texts(train, test, given)
    model, seconds = _trained(text, gold, f"{Path(train).stem}-{given or 'free'}", **settings)
    model.workers = 1
    model.segment(development[:1], spaces="remove")  # compiles
    with timer:
        found = model.segment(development, spaces="remove")
    scores = _scores(development, found)
    letters = scores["letters a word"] * found.n_tokens
    return {
        **scores,
        "perplexity a letter": float(model.perplexity(development, draws=1)["perplexity"]),
        "letters applied a CPU s": letters / timer.cpu,
        "training CPU s": seconds,
    }


def trivial(timer, train: str, test: str, method: str, max_word: int | None = None) -> dict[str, float]:
    """A rule that learns nothing."""
    from corpuscle.segment import TrivialSegmenter
    from corpuscle.text import read_text

    development = read_text(test, unk_token="literal")
    with timer:
        found = TrivialSegmenter(method=method).segment(development, spaces="remove")
    return _scores(development, found)


def _chain(text, **settings: Any):
    """The chain of a segmenter, and the letters that it works on."""
    from corpuscle.segment.letters import prepare

    model = _segmenter(**settings)
    letters, material = prepare(text, None, model)
    return model._chain(material, model.seed), letters


def sweeps(timer, train: str, test: str, share: int = 1, count: int = 8, **settings: Any) -> dict[str, float]:
    """Sweeps of the sampler over a share of the text, once it has settled a little."""
    from corpuscle.learning import sweep
    from corpuscle.segment import warm

    warm()
    text = _texts(train, test)[0]
    chain, letters = _chain(text[: len(text) // share], sweeps=count + 4, **settings)
    for number in range(5):
        sweep(chain, number)
    spent = []
    for number in range(5, 5 + count):
        with timer:
            begin = time.process_time()
            sweep(chain, number)
            spent.append(time.process_time() - begin)
    middle = sorted(spent)[len(spent) // 2]
    return {"CPU s a sweep": middle, "letters": len(letters.tokens), "letters a CPU s": len(letters.tokens) / middle}


def read_peer(output: str) -> dict[str, float]:
    """The figures of ``bench/segment_peer.py``."""
    found = json.loads(output.splitlines()[-1])
    seconds, letters = found["seconds"], found["letters"]
    return {"CPU s a sweep": seconds, "letters": letters, "letters a CPU s": letters / seconds}


def curve(timer, train: str, test: str, sweeps: int, **settings: Any) -> dict[str, Any]:
    """F1 of the sample on the development text, and the log probability, after each sweep."""
    import numpy as np

    from corpuscle.learning import sweep
    from corpuscle.measure import segmentation_counts
    from corpuscle.segment import word_corpus

    text, _, development = _texts(train, test)
    chain, letters = _chain(text, sweeps=sweeps, **settings)
    shown, f1, logs = [], [], []
    for number in range(sweeps + 1):
        with timer:
            row = sweep(chain, number)
        if number <= 20 or number % 10 == 0:
            found = word_corpus(letters, np.asarray(chain.cuts), "characters")
            right, words, gold = segmentation_counts(development, found[len(found) - len(development) :])[0].sum(0)
            shown.append(number)
            f1.append(float(2 * right / (words + gold)))
            logs.append(float(row[0]))
    return {"iteration": shown, "f1": f1, "log_probability": logs, "last F1": f1[-1]}
