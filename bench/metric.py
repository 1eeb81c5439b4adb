"""Metrics beside plain distances and metric-learn: retrieval by reduction, clustering by dimension, seconds.

``captions``: all training pictures, the development pictures as queries. ``draws-...``: as the paper does it, ten
draws of 200 groups to learn from and 50 other groups to search among, at reductions of the features to 1, 5, 10, 20
and 50 per cent; the plain distance has the same reduction. ``newsgroups``: 16 groups to learn from and the other 4 to
search among, in five folds. ``uci``: K-means from 100 random starts after a reduction by principal components; the
metric is learned from the labels on which it is judged, as in the paper. ``peers``: metric-learn on halves of the sets,
where METRIC_LEARN_PYTHON names a Python that has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, row, typical

RATES = (0.01, 0.05, 0.1, 0.2, 0.5)
NEWS_RATES = (0.005, 0.01, 0.02, 0.05, 0.1)
SPACES = ("metric", "euclidean", "cosine")
UCI = {
    "wine": (2, 5, 10, 13), "iris": (1, 2, 3, 4), "soybean-small": (2, 5, 10, 20), "ecoli": (2, 4, 6),
    "yeast": (2, 4, 8),
}  # fmt: skip
PEER, PEERS = os.environ.get("METRIC_LEARN_PYTHON", ""), ("RCA", "NCA", "LMNN", "MMC")
"""A Python that has metric-learn, and its methods."""
SOURCES = ("corpuscle/metric/**/*.py", "corpuscle/engine/linalg/*.py", "corpuscle/measure/retrieval.py")


def cells(data: Path) -> Iterator[Cell]:
    """All tables, short ones first."""
    train, dev = data / "captions-multi30k" / "train.en.tsv", data / "captions-multi30k" / "dev.en.tsv"
    uci = [data / "uci" / f"{name}.csv" for name in UCI if name not in ("wine", "iris")]
    yield _cell("uci", [_call(name, "uci", folder=str(data / "uci"), name=name) for name in UCI], *uci)
    if PEER:
        sides = [_call(f"{set_}: {who}", "peers", folder=str(data / "uci"), name=set_, who=who)
                 for set_ in ("wine", "iris") for who in ("corpuscle", *PEERS)]  # fmt: skip
        yield _cell("peers", sides, *uci)
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


def _compare(train: dict[str, list[str]], test: dict[str, list[str]], rate: float, **settings: Any) -> dict[str, float]:
    """Precision with the metric, and with the plain distance after the same reduction."""
    import numpy as np

    from corpuscle.measure import rank_items
    from corpuscle.metric import MetricModel

    flat = [(text, label) for label, texts in train.items() for text in texts]
    queries = [(text, label) for label, texts in test.items() for text in texts]
    texts, labels = map(list, zip(*flat, strict=True))
    wanted, groups = map(list, zip(*queries, strict=True))
    plain = MetricModel(**{**settings, "dimensions": 0, "method": "diagonal"}).fit(texts, labels)
    rank = np.linalg.matrix_rank(plain.vectors(texts).toarray(), rtol=1e-6)
    k = max(1, min(round(rate * plain.n_features_), rank - 5))  # the last ones are hardly there
    model = MetricModel(**settings, dimensions=k, distance="euclidean").fit(texts, labels)
    reduced = np.asarray(model.vectors(wanted) @ model.basis_)
    spaces = {"metric": model.transform(wanted), "plain": reduced}
    ranked = {name: rank_items(vectors, groups) for name, vectors in spaces.items()}
    figures = {f"{name}, 11-point": float(one.levels.mean()) for name, one in ranked.items()}
    return figures | {f"{name}, R-precision": float(one.r_precision.mean()) for name, one in ranked.items()}


def _mean(tables: list[dict[str, float]], prefix: str) -> dict[str, float]:
    return {f"{prefix} {name}": sum(table[name] for table in tables) / len(tables) for name in tables[0]}


def draws(timer, path: str, method: str) -> dict[str, float]:
    """Ten draws of 200 groups to learn from, and of 50 others to search among."""
    from corpuscle.random import Random

    groups = _groups(path, 2, 100)
    names, figures = sorted(groups), {}
    with timer:
        for rate in RATES:
            tables = []
            for draw in range(10):
                order = Random(1, "bench.draws", draw).shuffled(names)
                train, test = ({name: groups[name] for name in part} for part in (order[:200], order[200:250]))
                tables.append(_compare(train, test, rate, method=method, min_count=1))
            figures |= _mean(tables, f"{rate:.0%}:")
    return figures


def newsgroups(timer, path: str, method: str) -> dict[str, float]:
    """Five folds: four groups to search among, the other sixteen to learn from; texts of equal length."""
    groups = _groups(path, 2, 100)
    names, figures = sorted(groups), {}
    with timer:
        for rate in NEWS_RATES:
            tables = []
            for fold in range(5):
                held = names[fold::5]
                train = {name: texts for name, texts in groups.items() if name not in held}
                test = {name: groups[name] for name in held}
                settings = {"method": method, "length": "median", "lowercase": True, "tokenise": "simple"}
                tables.append(_compare(train, test, rate, **settings))
            figures |= _mean(tables, f"{rate:.1%}:")
    return figures


def _vectors(folder: str, name: str) -> tuple[Any, Any]:
    import numpy as np
    from sklearn.datasets import load_iris, load_wine

    from corpuscle.metric import read_items

    if name in ("wine", "iris"):
        bunch = load_wine() if name == "wine" else load_iris()
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
    import tempfile
    import time

    import numpy as np

    from corpuscle.measure import rank_items
    from corpuscle.metric import DistortionMetric

    items, labels = _vectors(folder, name)
    half = slice(0, None, 2), slice(1, None, 2)
    if who == "corpuscle":
        begin = time.process_time()
        learner = DistortionMetric().fit(items[half[0]], labels[half[0]])
        seconds, mapped = time.process_time() - begin, learner.transform(items[half[1]])
    else:
        given = {"train": items[half[0]].tolist(), "labels": labels[half[0]].tolist(), "test": items[half[1]].tolist()}
        with tempfile.TemporaryDirectory() as here:
            path = Path(here, "vectors.json")
            path.write_text(json.dumps(given))
            command = (PEER, "bench/metric_peer.py", who, str(path))
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
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
    """All figures, a table a cell."""
    made = []
    for name, result in results.items():
        names = list(dict.fromkeys(figure for runs in result["runs"].values() for figure in runs[0]["figures"]))
        lines = [f"### {name}", "", row(["", "CPU s", *names]), row(["---", *["---:"] * (len(names) + 1)])]
        for side, runs in result["runs"].items():
            values = [f"{runs[0]['figures'][figure]:.3f}" if figure in runs[0]["figures"] else "" for figure in names]
            lines.append(row([side, f"{runs[0]['cpu']:.1f}", *values]))
        made.append("\n".join(lines))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [__doc__.split("\n\n", 1)[1].replace("\n", " ").strip()]
    if not PEER:
        lines.append("- METRIC_LEARN_PYTHON did not name a Python with metric-learn.")
    return "\n".join(["### Notes", "", *lines])
