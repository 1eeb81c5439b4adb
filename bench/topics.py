"""Topic n-gram models: perplexity by method and number of topics, samplers against each other, speed.

Brown corpus: every ninth document (the first, the tenth, ..) is held out. Machine-learning papers: their own
development papers. Lower-cased, digits written as one symbol, words with fewer than four occurrences in the training
documents unknown; trigrams; nobody predicts the ends of sentences. Perplexities are from left to right with ten
particles. Trained models are kept beside the cells, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, cpu_hours, joined, source_digest, table, trained, typical

SOURCES = (
    "corpuscle/random.py",
    "corpuscle/topics/**/*.py",
    "corpuscle/engine/restaurants/*.py",
    "corpuscle/lm/pitman_yor.py",
)
"""What the figures depend on."""

CORPORA = {"brown": "Brown corpus", "ml-papers": "papers on machine learning"}
METHODS = ("hpytm", "hierarchical", "switching", "rescaling")
TOPICS = (10, 50, 100)
SEEDS = (1, 2, 3)
SHORT, LONG = 100, 500
IMAGES = Path(__file__).parent.parent / "docs" / "images"


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""

    def cell(name: str, title: str, corpus: str, sides: list[Call], **settings: Any) -> Cell:
        inputs = tuple(Path(path) for path in _files(data, corpus) if path)
        return Cell(name, title, tuple(sides), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES, **settings)

    def learned(corpus: str, method: str, topics: int, sweeps: int, seed: int = 1) -> Call:
        arguments = {"method": method, "topics": topics, "sweeps": sweeps, "seed": seed}
        name = _name(method, topics, sweeps, seed)
        return Call(name, "bench.topics:learned", {"files": _files(data, corpus), **arguments})

    for corpus, title in CORPORA.items():
        sides = [
            Call(name, f"bench.topics:{name.split()[0]}", {"files": _files(data, corpus), "topics": 100, **more})
            for name, more in (
                ("tomotopy LDA", {}),
                ("lda", {}),
                ("sampler switching token", {"method": "switching", "sampler": "token"}),
                ("sampler switching table", {"method": "switching", "sampler": "table"}),
                ("sampler hpytm token", {"method": "hpytm", "sampler": "token"}),
                ("sampler hierarchical token", {"method": "hierarchical", "sampler": "token"}),
            )
        ]
        yield cell(f"{corpus}-speed", f"{title}: sweeps of the samplers, K = 100", corpus, sides)
    for corpus, title in CORPORA.items():
        yield cell(f"{corpus}-hpylm", f"{title}: no topics", corpus, [learned(corpus, "hpylm", 1, SHORT)])
    for topics in TOPICS:
        for method in reversed(METHODS):
            for corpus, title in CORPORA.items():
                name, sides = f"{corpus}-{topics}-{method}", [learned(corpus, method, topics, SHORT)]
                yield cell(name, f"{title}: {topics} topics, {SHORT} sweeps", corpus, sides)
    for corpus, title in CORPORA.items():
        sides = [
            Call(name, "bench.topics:history", {"files": _files(data, corpus), "topics": 50, "sampler": name})
            for name in ("token", "table")
        ]
        yield cell(f"{corpus}-samplers", f"{title}: SWITCHING by its two samplers, 50 topics", corpus, sides)
    for seed in SEEDS:
        for method in ("hpylm", "switching"):
            for corpus, title in CORPORA.items():
                name, sides = f"{corpus}-long-{method}-{seed}", [learned(corpus, method, 100, LONG, seed)]
                yield cell(name, f"{title}: 100 topics, {LONG} sweeps", corpus, sides)


def _files(data: Path, corpus: str) -> list[str]:
    """Text and index of the training documents, and of the held-out ones if they have files of their own."""
    folder = data / corpus
    if corpus == "brown":
        return [str(folder / "brown.txt"), str(folder / "docs.tsv"), "", ""]
    return [str(folder / name) for name in ("train.txt", "train.docs.tsv", "dev.txt", "dev.docs.tsv")]


# ---- what they show


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for corpus, title in CORPORA.items():
        names = [(f"{corpus}-long-switching-{seed}", f"{corpus}-long-hpylm-{seed}") for seed in SEEDS]
        text, measured = "perplexity of SWITCHING over that of HPYLM, K = 100", ()
        run = [pair for pair in names if all(name in results for name in pair)]
        if run:
            means = [sum(_figure(results[name], "perplexity") for name in side) for side in zip(*run, strict=True)]
            measured = (f"{means[0] / means[1]:.3f}", means[0] <= 0.9 * means[1])
        found.append(Claim(f"{title}: {text}, {LONG} sweeps, {len(run)} seeds", "0.9", *measured))
        text, measured = "words a second that SWITCHING reads, K = 100, ten particles, one thread", ()
        if (switching := results.get(f"{corpus}-100-switching")) is not None:
            speed = _figure(switching, "words a second")
            measured = (f"{speed:,.0f}", speed >= 20_000)
        found.append(Claim(f"{title}: {text}", "20,000", *measured))
    return found


def _figure(result: dict[str, Any], what: str) -> float:
    """A figure of a cell with one side."""
    return typical(result, next(iter(result["runs"])), what)


def tables(results: dict[str, Any]) -> list[str]:
    """One table for all cells with the same title."""
    return [table(result) for result in joined(results)]


def _name(method: str, topics: int, sweeps: int, seed: int = 1) -> str:
    """What a side is called."""
    name = method if method == "hpylm" else f"{method}, K = {topics}"
    return name + (f", seed {seed}" if sweeps == LONG else "")


def notes(results: dict[str, Any]) -> str:
    """Perplexities in one table and in plots, how long everything took, how to read the tables."""
    names = [cell.name for cell in cells(Path())]
    missing = sum(name not in results for name in names)
    _draw(results)
    return "\n".join(
        [
            "### Notes",
            "",
            *_summary(results),
            f"- `CPU s` is the time of reading the held-out documents, without training, or of the sweeps that were "
            f"timed. All these figures together cost {cpu_hours(results):.1f} hours of CPU time, training included.",
            f"- {SHORT} sweeps: of RESCALING so many of the topics and 100 of its language model.",
            "- Every model has one sample, its last state; averaging several lowers all perplexities.",
            "- Nothing was tuned here; the exponent of RESCALING, 0.7, is that of the literature, tuned on the Brown "
            "corpus.",
            *([f"- {missing} of {len(names)} cells have not run yet."] if missing else []),
            "- tomotopy draws its prior every ten sweeps, ours after every one, with the log probability of the whole.",
        ]
    )


def _perplexities(results: dict[str, Any], corpus: str) -> dict[str, list[float]]:
    """By method, for every number of topics; NaN where a cell has not run."""
    found: dict[str, list[float]] = {}
    for method in METHODS:
        cells = [results.get(f"{corpus}-{topics}-{method}") for topics in TOPICS]
        found[method] = [float("nan") if cell is None else _figure(cell, "perplexity") for cell in cells]
    if f"{corpus}-hpylm" in results:
        found["hpylm"] = [_figure(results[f"{corpus}-hpylm"], "perplexity")] * len(TOPICS)
    return found


def _summary(results: dict[str, Any]) -> list[str]:
    lines = []
    for corpus, title in CORPORA.items():
        lines += [f"Perplexity on held-out documents, {title}:", ""]
        lines += ["| | " + " | ".join(f"K = {topics}" for topics in TOPICS) + " |", "|---|" + "---:|" * len(TOPICS)]
        for method, values in _perplexities(results, corpus).items():
            shown = ["" if value != value else f"{value:.1f}" for value in values]
            lines += [f"| {method.upper()} | " + " | ".join(shown) + " |"] if any(shown) else []
        lines.append("")
    return lines


def _draw(results: dict[str, Any]) -> None:
    """Perplexity by number of topics, and the log probability of the two samplers by time, as pictures for the docs."""
    from corpuscle.figures import Series, line_plot

    for corpus, title in CORPORA.items():
        lines = [
            Series(method.upper(), TOPICS, values)
            for method, values in _perplexities(results, corpus).items()
            if all(value == value for value in values)
        ]
        if len(lines) > 1:
            plot = line_plot(lines, title=f"Perplexity, {title}", x_label="topics", y_label="perplexity")
            (IMAGES / f"topics-{corpus}.svg").write_text(plot)
        if (result := results.get(f"{corpus}-samplers")) is not None:
            lines = [
                Series(name, figures["seconds"][5:], [-value / 1e6 for value in figures["log_probability"][5:]])
                for name, figures in ((name, runs[0]["curves"]) for name, runs in result["runs"].items())
            ]
            labels = {"x_label": "seconds of CPU time", "y_label": "-log P, millions"}
            plot = line_plot(lines, title=f"SWITCHING by its two samplers, {title}", **labels)
            (IMAGES / f"topics-samplers-{corpus}.svg").write_text(plot)


# ---- what the sides do


def _documents(files: list[str], part: int = 1):
    """Training documents, every ``part``-th, with a vocabulary of their own, and held-out documents."""
    import numpy as np

    from corpuscle.text import Preprocessing
    from corpuscle.topics import pick_documents, read_documents

    preprocessing = Preprocessing(lowercase=True, digits=True)
    train = read_documents(files[0], documents=files[1], preprocessing=preprocessing)
    if files[2]:
        new = read_documents(files[2], documents=files[3], preprocessing=preprocessing)
    else:
        held_out = np.arange(len(train.document_starts) - 1) % 9 == 0
        train, new = pick_documents(train, ~held_out).counted(), pick_documents(train, held_out)
    if part == 1:
        return train, new
    return pick_documents(train, np.arange(0, len(train.document_starts) - 1, part)).counted(), new


def _learner(method: str, topics: int, sweeps: int, seed: int = 1, **settings: Any):
    from corpuscle import topics as task

    settings |= {"sweeps": sweeps, "seed": seed, "workers": 1}
    if method == "rescaling":
        return task.RescalingModel(topics=topics, samples=1, **settings)
    of_topics = {} if method == "hpylm" else {"topics": topics}
    return task.NgramTopicModel(method=method, **of_topics, **settings)


def _trained(corpus, stem: str, **settings: Any):
    """See ``bench.harness.trained``."""
    name = "-".join(["topics", stem, *map(str, settings.values()), source_digest(SOURCES)])
    return trained(name, lambda: _learner(**settings), corpus)


def learned(timer, files: list[str], part: int = 1, **settings: Any) -> dict[str, float]:
    """Train a model, read the held-out documents; the time is that of reading."""
    import numpy as np

    from corpuscle.topics import document_bounds, pick_documents

    train, held_out = _documents(files, part)
    stem = Path(files[0]).parent.name + (f"-{part}" if part > 1 else "")
    model, seconds = _trained(train, stem, **settings)
    model.workers = 1
    model.log_probabilities(pick_documents(held_out, np.arange(1)))  # compiles
    with timer:
        logs = model.log_probabilities(held_out)
    bounds = document_bounds(held_out)
    return {
        "perplexity": float(np.exp(-logs.mean())),
        "nodes": model.nodes,
        "words": len(logs),
        "words a second": len(logs) / timer.cpu,
        "training CPU s": seconds,
        "logs": np.add.reduceat(logs, bounds[:-1]).tolist(),
        "lengths": np.diff(bounds).tolist(),
    }


def lda(timer, files: list[str], topics: int) -> dict[str, float]:
    """Sweeps of our latent Dirichlet allocation."""
    from corpuscle.learning import sweep
    from corpuscle.topics import document_bounds
    from corpuscle.topics.kernels.lda import Lda

    corpus = _cut(files)
    chain = Lda(corpus.tokens, document_bounds(corpus), len(corpus.vocab), topics)
    return _sweeps(timer, partial(sweep, chain), corpus.n_tokens, 20)


def tomotopy(timer, files: list[str], topics: int) -> dict[str, float]:
    """Sweeps of the latent Dirichlet allocation of tomotopy, on one thread."""
    import tomotopy as peer

    from corpuscle.topics import document_bounds

    corpus = _cut(files)
    bounds = document_bounds(corpus).tolist()
    model = peer.LDAModel(k=topics, alpha=0.1, eta=0.01, seed=1)
    for first, last in pairwise(bounds):
        model.add_doc(list(map(str, corpus.tokens[first:last])))
    return _sweeps(timer, lambda _: model.train(1, workers=1), corpus.n_tokens, 20)


def sampler(timer, files: list[str], topics: int, method: str, sampler: str) -> dict[str, float]:
    """Sweeps of a sampler of topic n-grams."""
    from corpuscle.learning import sweep

    corpus = _documents(files)[0]
    chain = _learner(method, topics, 10, sampler=sampler).chain(corpus)
    return _sweeps(timer, partial(sweep, chain), corpus.n_tokens, 2, before=2)


def history(
    timer, files: list[str], part: int = 1, method: str = "switching", sweeps: int = SHORT, **settings: Any
) -> dict[str, Any]:
    """The log probability of text and topics after each sweep, and when it was reached."""
    from corpuscle.learning import sweep

    corpus = _documents(files, part)[0]
    chain = _learner(method, sweeps=sweeps, **settings).chain(corpus)
    seconds: list[float] = []
    logs: list[float] = []
    for number in range(sweeps + 1):
        with timer:
            logs.append(sweep(chain, number))
        seconds.append(timer.cpu)
    half = logs[min(range(len(seconds)), key=lambda i: abs(seconds[i] - seconds[-1] / 2))]
    return {
        "seconds": seconds,
        "log_probability": logs,
        "log P": logs[-1],
        "log P after half the time": half,
        "CPU s a sweep": seconds[-1] / sweeps,
    }


def _cut(files: list[str]):
    """The training documents without rare words."""
    corpus = _documents(files)[0]
    return corpus.recode(corpus.vocab.cut(4)[0])


def _sweeps(timer, sweep, tokens: int, number: int, before: int = 4) -> dict[str, float]:
    """Time some sweeps after a few that are not timed."""
    for i in range(before):
        sweep(i)
    with timer:
        for i in range(before, before + number):
            sweep(i)
    return {"million tokens a second": number * tokens / timer.cpu / 1e6}
