"""``corpuscle metric``: learn a distance from items that belong together, evaluate it, find neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, task_group, trainer
from corpuscle.cli.common import load, naming
from corpuscle.errors import SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import number

if TYPE_CHECKING:
    from corpuscle.metric import Items, MetricModel

__all__ = ["group"]

group = task_group("metric")

groups = option(
    "groups",
    "Items belong together by their labels, or are the sentences of a text by its documents.",
    type=click.Choice(("labels", "documents")),
    default="labels",
)
documents = option("documents", "Which lines make up which document (with --groups documents).", metavar="TSV")


def _read(path: str, groups: str, documents: str | None) -> Items:
    from corpuscle.metric import read_documents, read_items

    if groups == "documents":
        return read_documents(path, documents)
    if documents is not None:
        raise SettingError("--documents means nothing without --groups documents")
    return read_items(path)


@trainer(group)
@argument("items")
@output()
@groups
@documents
def train(model: MetricModel, items: str, output: str, groups: str, documents: str | None) -> Figures:
    """Learn from a table: a label, then a text or numbers; items of one label belong together."""

    begin = clock()
    read = _read(items, groups, documents)
    with naming(items):
        model.fit(read).save(output)
    return Figures(
        {
            **model.provenance_,
            "dimensions": model.solution_.map.shape[-1],
            "directions": len(model.solution_.map),
            "distance": model.distance_,
            "seconds": clock() - begin,
            "model": output,
        }
    )


@command(group, seed=True)
@argument("model")
@argument("items")
@groups
@documents
@option("starts", "Also K-means from so many random starts.", metavar="N", type=click.IntRange(0, 10_000), default=0)
@option("draws", "Draws of the bootstrap.", metavar="N", type=COUNT, default=1000)
def evaluate(model: str, items: str, groups: str, documents: str | None, starts: int, draws: int, seed: int) -> Figures:
    """Retrieval (and K-means) with the metric, beside Euclidean distance and cosine of the same features."""
    from corpuscle.metric import evaluate as evaluate_metric
    from corpuscle.metric import k_means_agreement
    from corpuscle.metric.evaluation import spaces

    loaded = load(model, "metric")
    read = _read(items, groups, documents)
    with naming(items):
        found = evaluate_metric(loaded, read, draws=draws, seed=seed)
    values: dict[str, Any] = found.results["metric"].to_json()
    values["baselines"] = {name: one.to_json() for name, one in found.results.items() if name != "metric"}
    values["gains"] = {name: one.to_json() for name, one in found.gains.items()}
    lines = [f"{name}: {', '.join(map(str, one.rows()))}" for name, one in found.results.items()]
    lines += [f"beside {name}: {one.text()}" for name, one in found.gains.items()]
    if starts:
        values["k_means"] = {
            name: dict(zip(("rand", "balanced"), k_means_agreement(each, read.labels, starts, seed), strict=True))
            for name, each in spaces(loaded, read).items()
        }
        lines += [
            f"K-means, {name}: Rand index {number(one['rand'])}, balanced {number(one['balanced'])}"
            for name, one in values["k_means"].items()
        ]
    return Figures(values, "\n".join(lines))


@command(group, figures=False)
@argument("model")
@argument("items")
@output("-")
@option("k", "How many neighbours.", "-k", metavar="N", type=COUNT, default=10)
@option("among", "Look for neighbours among these items instead.", metavar="ITEMS")
def neighbours(model: str, items: str, output: str, k: int, among: str | None) -> None:
    """The nearest neighbours of each item: query, rank, item, distance, and whether their labels agree."""
    from corpuscle.metric import read_items
    from corpuscle.text.tables import write_table

    loaded = load(model, "metric")
    queries = read_items(items)
    others = queries if among is None else read_items(among)
    with naming(items):
        found, distances = loaded.neighbours(queries.content, k, None if among is None else others.content)
    rows = (
        (query, rank, int(item), float(distance), "yes" if others.labels[item] == queries.labels[query] else "no")
        for query in range(len(found))
        for rank, (item, distance) in enumerate(zip(found[query], distances[query], strict=True), 1)
    )
    write_table(output, ("query", "rank", "item", "distance", "correct"), rows)


@command(group, figures=False)
@argument("model")
@argument("items")
@output("-")
def apply(model: str, items: str, output: str) -> None:
    """Map items: a table of labels and numbers whose Euclidean distances are the metric."""
    from corpuscle.metric import read_items
    from corpuscle.text.tables import write_table

    read = read_items(items)
    with naming(items):
        mapped = load(model, "metric").transform(read.content)
    write_table(output, (), ((label, *row) for label, row in zip(read.labels, mapped.tolist(), strict=True)), ".9g")


@command(group)
@argument("model")
@option("directions", "How many directions.", "-n", metavar="N", type=COUNT, default=10)
@option("k", "How many features of each.", "-k", metavar="N", type=COUNT, default=10)
def show(model: str, directions: int, k: int) -> Figures:
    """The features that weigh most in the first directions of the map."""
    loaded = load(model, "metric")
    values = loaded.solution_.values
    top = [loaded.top_features(number, k) for number in range(min(directions, len(values)))]
    rows = [
        {
            "direction": number,
            "value": float(values[number]),
            "features": [{"feature": name, "weight": weight} for name, weight in features],
        }
        for number, features in enumerate(top)
    ]
    names = [" ".join(name for name, _ in features) for features in top]
    lines = [f"{n:>4} {number(values[n]):>10}  {each}" for n, each in enumerate(names)]
    return Figures({"distance": loaded.distance_, "directions": rows}, "\n".join(lines))
