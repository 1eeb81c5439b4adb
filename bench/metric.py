"""Metrics beside plain distances and metric-learn: retrieval by reduction, clustering by dimension, seconds.

``captions``: all training pictures, the development pictures as queries. ``draws-...``: as the paper does it, ten draws
of 200 groups to learn from and 50 other groups to search among, at reductions of the features to 1, 5, 10, 20 and 50
per cent; the plain distance has the same reduction. ``newsgroups``: 16 groups to learn from and the other 4 to search
among, in five folds, texts drawn to equal length, words that occur at least three times (about 7,400), so that 20 per
cent of the features are fewer than the 1,600 texts; p: that the R-precision of both is equal, by paired bootstrap over
the queries of all folds; K-means into four clusters from 20 random starts. ``uci``: K-means from 100 random starts
after a reduction by principal components; the metric is learned from the labels on which it is judged, as in the paper.
``peers``: learned from one half of a set, judged on the other, with the defaults of every method, where
METRIC_LEARN_PYTHON names a Python that has metric-learn; an empty row took more than 20 CPU seconds, or ended in an
error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import HERE, Call, Cell, Claim, row, typical

RATES = (0.01, 0.05, 0.1, 0.2, 0.5)
NEWS_RATES = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2)
CLUSTERED = (0.005, 0.05, 0.2)
"""Reductions at which newsgroups are clustered, too."""
SPACES = ("metric", "euclidean", "cosine")
UCI = {
    "wine": (2, 5, 10, 13), "iris": (1, 2, 3, 4), "soybean-small": (2, 5, 10, 20), "ecoli": (2, 4, 6),
    "yeast": (2, 4, 8),
}  # fmt: skip
PEER, PEERS = os.environ.get("METRIC_LEARN_PYTHON", ""), ("RCA", "NCA", "LMNN", "MMC")
"""A Python that has metric-learn, and its methods."""
OURS = {"corpuscle, distortion": "distortion", "corpuscle, discriminant": "discriminant"}
HALVED = ("wine", "iris", "ecoli", "breast-cancer", "soybean-small", "yeast")
SOURCES = ("corpuscle/metric/**/*.py", "corpuscle/engine/linalg/*.py", "corpuscle/measure/retrieval.py")


def cells(data: Path) -> Iterator[Cell]:
    """All tables, short ones first."""
    train, dev = data / "captions-multi30k" / "train.en.tsv", data / "captions-multi30k" / "dev.en.tsv"
    uci = [data / "uci" / f"{name}.csv" for name in UCI if name not in ("wine", "iris")]
    yield _cell("uci", [_call(name, "uci", folder=str(data / "uci"), name=name) for name in UCI], *uci)
    if PEER:
        for name in HALVED:
            sides = [_call(who, "peers", folder=str(data / "uci"), name=name, who=who) for who in (*OURS, *PEERS)]
            yield _cell(f"peers-{name}", sides, *uci)
    paths = {"train": str(train), "dev": str(dev)}
    ways: dict[str, dict[str, Any]] = {
        "discriminant": {},
        "distortion": {"method": "distortion"},
        "distortion, Euclidean": {"method": "distortion", "distance": "euclidean"},
        "diagonal": {"method": "diagonal", "dimensions": 0},
    }
    yield _cell("captions", [_call(way, "captions", **paths, settings=s) for way, s in ways.items()], train, dev)
    sets = {"captions": train, "tatoeba": data / "paraphrase-tatoeba-en" / "clusters.tsv"}
    for name, path in sets.items():
        sides = [_call(method, "draws", path=str(path), method=method) for method in ("distortion", "discriminant")]
        yield _cell(f"draws-{name}", sides, path)
    news = data / "newsgroups20" / "train.tsv"
    sides = [_call(method, "newsgroups", path=str(news), method=method) for method in ("distortion", "discriminant")]
    yield _cell("newsgroups", sides, news)


def _call(side: str, function: str, /, **arguments: Any) -> Call:
    return Call(side, f"bench.metric:{function}", arguments)


def _cell(name: str, sides: list[Call], *inputs: Path) -> Cell:
    return Cell(name, name, tuple(sides), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)


# ---- the sides


def captions(timer, train: str, dev: str, settings: dict[str, Any]) -> dict[str, float]:
    """Learn from all training captions; each development caption is a query for the other four of its picture."""
    from corpuscle.metric import MetricModel, evaluate, read_items, warm

    warm()
    items = read_items(train)
    with timer:
        model = MetricModel(**settings).fit(items.content, items.labels)
    found = evaluate(model, read_items(dev))
    figures = {f"{space}, 11-point": float(found.results[space]["eleven_point"]) for space in SPACES}
    figures |= {f"{space}, R-precision": float(found.results[space]["r_precision"]) for space in SPACES}
    return {**figures, "gain on cosine, low": found.gains["cosine"].low}


def _groups(path: str, least: int, most: int) -> dict[str, list[str]]:
    from corpuscle.metric import read_items

    items = read_items(path)
    groups: dict[str, list[str]] = {}
    for text, label in zip(items.content, items.labels, strict=True):
        if len(groups.setdefault(label, [])) < most:
            groups[label].append(str(text))
    return {label: texts for label, texts in groups.items() if len(texts) >= least}


class _Draw:
    """Groups to learn from and others to search among, ready for any reduction."""

    def __init__(self, train: dict[str, list[str]], test: dict[str, list[str]], **settings: Any):
        import numpy as np

        from corpuscle.metric import MetricModel

        self.settings, self.by_query = settings, dict[tuple[str, float], Any]()
        self.texts = [text for texts in train.values() for text in texts]
        self.labels = [label for label, texts in train.items() for _ in texts]
        self.queries = [text for texts in test.values() for text in texts]
        self.groups = [label for label, texts in test.items() for _ in texts]
        plain = MetricModel(**{**settings, "dimensions": 0, "method": "diagonal"}).fit(self.texts, self.labels)
        matrix = plain.vectors(self.texts)
        values = np.linalg.eigvalsh((matrix @ matrix.T).toarray())
        self.n_features, self.rank = plain.n_features_, int((values > 1e-8 * values[-1]).sum())

    def compare(self, rate: float, starts: int = 0) -> dict[str, Any]:
        """Precision, and with ``starts`` clusters, by the metric and by the plain distance after one reduction."""
        import numpy as np

        from corpuscle.measure import rank_items
        from corpuscle.metric import MetricModel, k_means_agreement

        k = max(1, min(round(rate * self.n_features), self.rank - 5))  # the last ones are hardly there
        model = MetricModel(**self.settings, dimensions=k, distance="euclidean").fit(self.texts, self.labels)
        reduced = np.asarray(model.vectors(self.queries) @ model.basis_)
        figures: dict[str, Any] = {}
        for name, vectors in (("metric", model.transform(self.queries)), ("plain", reduced)):
            ranked = rank_items(vectors, self.groups)
            figures |= {f"{name}, 11-point": ranked.levels.mean(), f"{name}, R-precision": ranked.r_precision.mean()}
            figures[f"{name}, precision"] = ranked.levels.mean(axis=0)
            self.by_query[name, rate] = ranked.r_precision
            if starts:
                figures[f"{name}, Rand index"] = k_means_agreement(vectors, self.groups, starts)[0]
        return figures


def _mean(tables: list[dict[str, Any]], prefix: str) -> dict[str, Any]:
    import numpy as np

    return {f"{prefix} {name}": np.mean([table[name] for table in tables], axis=0).tolist() for name in tables[0]}


def draws(timer, path: str, method: str) -> dict[str, Any]:
    """Ten draws of 200 groups to learn from, and of 50 others to search among."""
    from corpuscle.random import Random

    groups = _groups(path, 2, 100)
    names, figures = sorted(groups), {}
    with timer:
        made = []
        for draw in range(10):
            order = Random(1, "bench.draws", draw).shuffled(names)
            train, test = ({name: groups[name] for name in part} for part in (order[:200], order[200:250]))
            made.append(_Draw(train, test, method=method, min_count=1))
        for rate in RATES:
            figures |= _mean([one.compare(rate) for one in made], f"{rate:.0%}:")
    return figures


def newsgroups(timer, path: str, method: str) -> dict[str, Any]:
    """Five folds: four groups to search among, the other sixteen to learn from; texts of equal length."""
    import numpy as np

    from corpuscle.measure import paired_bootstrap

    groups = _groups(path, 2, 100)
    names, figures = sorted(groups), {}
    settings = {"method": method, "length": "median", "lowercase": True, "tokenise": "simple", "min_count": 3}
    with timer:
        made = []
        for fold in range(5):
            held = names[fold::5]
            train = {name: texts for name, texts in groups.items() if name not in held}
            made.append(_Draw(train, {name: groups[name] for name in held}, **settings))
        for rate in NEWS_RATES:
            starts = 20 if rate in CLUSTERED else 0
            figures |= _mean([one.compare(rate, starts) for one in made], f"{rate:.1%}:")
            ours, plain = (np.concatenate([one.by_query[name, rate] for one in made]) for name in ("metric", "plain"))
            told = paired_bootstrap(ours, plain, np.ones(len(ours)), items="queries")
            figures[f"{rate:.1%}: p"] = told.p_value
    return figures


def _vectors(folder: str, name: str) -> tuple[Any, Any]:
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine

    from corpuscle.metric import read_items

    known = {"wine": load_wine, "iris": load_iris, "breast-cancer": load_breast_cancer}
    if name in known:
        bunch = known[name]()
        return bunch.data, bunch.target
    items = read_items(f"{folder}/{name}.csv")
    return np.asarray(items.content), np.unique(items.labels, return_inverse=True)[1]


def uci(timer, folder: str, name: str) -> dict[str, float]:
    """K-means by dimension in the plain and in the learned space."""
    import numpy as np

    from corpuscle.metric import DistortionMetric, k_means_agreement

    items, labels = _vectors(folder, name)
    centred = items - items.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    figures = {}
    with timer:
        for k in UCI[name]:
            reduced = centred @ axes[:k].T
            mapped = DistortionMetric(singular="pinv").fit_transform(reduced, labels)
            for space, vectors in (("plain", reduced), ("metric", mapped)):
                rand, balanced = k_means_agreement(vectors, labels, 100)
                figures |= {f"k={k}, {space}": rand, f"k={k}, {space}, balanced": balanced}
    return figures


def peers(timer, folder: str, name: str, who: str) -> dict[str, float]:
    """Learn on one half of the items, search among the other; the CPU seconds are those of learning alone."""
    import json
    import subprocess
    import sys
    import tempfile
    import time

    import numpy as np

    from corpuscle.measure import rank_items
    from corpuscle.metric import DistortionMetric

    items, labels = _vectors(folder, name)
    half = slice(0, None, 2), slice(1, None, 2)
    if who in OURS:
        begin = time.process_time()
        learner = DistortionMetric(method=OURS[who]).fit(items[half[0]], labels[half[0]])
        seconds, mapped = time.process_time() - begin, learner.transform(items[half[1]])
    else:
        given = {"train": items[half[0]].tolist(), "labels": labels[half[0]].tolist(), "test": items[half[1]].tolist()}
        with tempfile.TemporaryDirectory() as here:
            path = Path(here, "vectors.json")
            path.write_text(json.dumps(given))
            command = (PEER, "bench/metric_peer.py", who, str(path))
            run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:  # it cannot deal with these items, or not in time
            print(run.stderr, file=sys.stderr)
            return {}
        answer = json.loads(run.stdout)
        seconds, mapped = answer["seconds"], np.array(answer["mapped"])
    ranked, plain = rank_items(mapped, labels[half[1]]), rank_items(items[half[1]], labels[half[1]])
    return {"11-point": _precision(ranked), "11-point, plain": _precision(plain), "CPU s of learning": seconds}


def _precision(ranked: Any) -> float:
    return float(ranked.levels.mean())


# ---- what it shows


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    made = []
    text = "captions: 11-point precision over that of Euclidean tf-idf"
    if "captions" in results:
        found = {space: typical(results["captions"], "discriminant", f"{space}, 11-point") for space in SPACES}
        low = typical(results["captions"], "discriminant", "gain on cosine, low")
        ratio = found["metric"] / found["euclidean"]
        made.append(Claim(text, "1.25", f"{ratio:.2f}", ratio >= 1.25))
        beside = f"{found['metric']:.3f} beside {found['cosine']:.3f}"
        made.append(Claim("captions: 11-point precision beside cosine tf-idf", "higher", beside, low > 0))
    else:
        made.append(Claim(text, "1.25"))
    for name in ("wine", "iris"):
        if "uci" in results:
            k = UCI[name][-1]
            ours, plain = (typical(results["uci"], name, f"k={k}, {space}") for space in ("metric", "plain"))
            made.append(
                Claim(f"{name}: Rand index of K-means", "higher", f"{ours:.3f} beside {plain:.3f}", ours > plain)
            )
    return made


def tables(results: dict[str, Any]) -> list[str]:
    """A table a cell: a row for each side and reduction; the halves of all sets in one."""
    _draw_curves(results)
    made = []
    for name, result in results.items():
        if not name.startswith("peers-"):
            rows = [each for side, runs in result["runs"].items() for each in _rows(side, runs[0])]
            made.append(_table(name, rows))
    halves = {name.removeprefix("peers-"): result for name, result in results.items() if name.startswith("peers-")}
    rows = [
        (f"{name}: {side}", runs[0]["figures"])
        for name, result in halves.items()
        for side, runs in result["runs"].items()
    ]
    return [*made, *([_table("peers", rows)] if rows else [])]


def _rows(side: str, run: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """The figures of a run, those of each reduction ("20%: ", "k=5, ") in a row of its own."""
    rows: dict[str, dict[str, float]] = {}
    for figure, value in run["figures"].items():
        found = re.match(r"(.*%): (.*)|k=(\d+), (.*)", figure)
        prefix, name = (
            (next(filter(None, found.group(1, 3))), next(filter(None, found.group(2, 4)))) if found else ("", figure)
        )
        rows.setdefault(prefix, {})[name] = value
    for number, (prefix, figures) in enumerate(rows.items()):
        seconds = {"CPU s": run["cpu"]} if number == 0 else {}
        yield f"{side} {prefix}".strip(), {**seconds, **figures}


def _table(title: str, rows: list[tuple[str, dict[str, float]]]) -> str:
    names = list(dict.fromkeys(name for _, figures in rows for name in figures))
    lines = [f"### {title}", "", row(["", *names]), row(["---", *["---:"] * len(names)])]
    for side, figures in rows:
        lines.append(row([side, *(f"{figures[name]:.3f}" if name in figures else "" for name in names)]))
    return "\n".join(lines)


def _draw_curves(results: dict[str, Any]) -> None:
    """Precision by recall, and by reduction, for the page of the task."""
    from corpuscle.figures import Series, line_plot

    for name, rate in (("captions", "20%"), ("tatoeba", "20%")):
        if f"draws-{name}" not in results:
            continue
        runs = {side: each[0] for side, each in results[f"draws-{name}"]["runs"].items()}
        recall = [level / 10 for level in range(11)]
        lines = [Series(side, recall, run["curves"][f"{rate}: metric, precision"]) for side, run in runs.items()]
        lines.append(Series("plain", recall, runs["distortion"]["curves"][f"{rate}: plain, precision"]))
        picture = line_plot(
            lines, title=f"{name}: precision by recall, {rate} of the features", x_label="recall", y_label="precision"
        )
        (HERE.parent / "docs" / "images" / f"metric-{name}-recall.svg").write_text(picture)
        reductions = [100 * rate for rate in RATES]
        points = {
            side: [run["figures"][f"{rate:.0%}: metric, 11-point"] for rate in RATES] for side, run in runs.items()
        }
        points["plain"] = [runs["distortion"]["figures"][f"{rate:.0%}: plain, 11-point"] for rate in RATES]
        lines = [Series(side, reductions, values) for side, values in points.items()]
        picture = line_plot(
            lines, title=f"{name}: 11-point precision by reduction", x_label="% of the features kept",
            y_label="11-point precision", log_x=True, x_ticks=reductions,
        )  # fmt: skip
        (HERE.parent / "docs" / "images" / f"metric-{name}-reduction.svg").write_text(picture)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [__doc__.split("\n\n", 1)[1].replace("\n", " ").strip()]
    if not PEER:
        lines.append("- METRIC_LEARN_PYTHON did not name a Python with metric-learn.")
    return "\n".join(["### Notes", "", *lines])
