"""What a metric can do: learn from items that belong together, be compared with plain distances, find neighbours, map
items, show its directions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from corpuscle.errors import SettingError
from corpuscle.settings import Setting
from corpuscle.text.wording import number
from corpuscle.verbs import (
    MOST,
    SEED,
    Answer,
    Input,
    K,
    Learned,
    Shown,
    Table,
    a_model,
    lines,
    path,
    setting,
    trains,
    verb,
    view,
)

if TYPE_CHECKING:
    from corpuscle.metric import Items, MetricModel


def items_of(value: Any, model: Any, declared: Input, *, groups: str = "labels", documents: str | None = None) -> Items:
    """Items of a table, or the sentences of a text by its documents."""
    from corpuscle.metric import read_documents, read_items

    if documents is not None and groups != "documents":
        raise SettingError("--documents means nothing without --groups documents")
    if not isinstance(value, str) and not hasattr(value, "__fspath__"):
        return value
    return read_documents(value, documents) if groups == "documents" else read_items(value)


_items: Any = partial(Input, "corpuscle.metric.verbs:items_of")
_GROUPED = _items(options={
    "groups": Setting(
        "labels", "Items belong together by their labels, or are the sentences of a text by its documents.",
        choices=("labels", "documents"), name="groups",
    ),
    "documents": path("Which lines make up which document (with --groups documents).", metavar="TSV", option=True),
})  # fmt: skip
"""Items that belong together by labels, or by documents."""


@trains("metric", "metric train items.tsv -o items.metric")
def train(model: MetricModel, items: Items = _GROUPED) -> Learned:
    """Learn from a table: a label, then a text or numbers; items of one label belong together."""
    model.fit(items)
    figures = {
        **model.provenance_,
        "dimensions": model.solution_.map.shape[-1],
        "directions": len(model.solution_.map),
        "distance": model.distance_,
    }
    return Learned(model, figures)


@verb("metric", "metric evaluate items.metric test.tsv")
def evaluate(
    model: MetricModel = a_model("metric"),
    items: Items = _GROUPED,
    *,
    starts: int = setting("Also K-means from N random starts.", default=0, low=0, high=10_000, shown="0"),
    draws: int = setting("Draws of the bootstrap.", default=1000, low=1, high=MOST),
    seed: int = SEED,
) -> Shown:
    """Retrieval (and K-means) with the metric, beside Euclidean distance and cosine of the same features."""
    from corpuscle.metric import evaluate as evaluate_metric
    from corpuscle.metric import k_means_agreement
    from corpuscle.metric.model import spaces

    found = evaluate_metric(model, items, draws=draws, seed=seed)
    values: dict[str, Any] = found.results["metric"].to_json()
    values["baselines"] = {name: one.to_json() for name, one in found.results.items() if name != "metric"}
    values["gains"] = {name: one.to_json() for name, one in found.gains.items()}
    said = [f"{name}: {', '.join(map(str, one.rows()))}" for name, one in found.results.items()]
    said += [f"beside {name}: {one.text()}" for name, one in found.gains.items()]
    if starts:
        values["k_means"] = {
            name: dict(zip(("rand", "balanced"), k_means_agreement(each, items.labels, starts, seed), strict=True))
            for name, each in spaces(model, items).items()
        }
        said += [
            f"K-means, {name}: Rand index {number(one['rand'])}, balanced {number(one['balanced'])}"
            for name, one in values["k_means"].items()
        ]
    return Answer(values, "\n".join(said))


@verb("metric", "metric neighbours items.metric test.tsv -k 3", out="-")
def neighbours(
    model: MetricModel = a_model("metric"),
    items: Items = _items(),
    *,
    k: int = setting("How many neighbours.", default=10, low=1, high=MOST, flag="-k"),
    among: Items | None = _items("Look for neighbours among these items.", metavar="ITEMS", option=True, default=None),
) -> Table:
    """The nearest neighbours of each item: query, rank, item, distance, and whether their labels agree."""
    found, distances = model.neighbours(items.content, k, None if among is None else among.content)
    labels = (items if among is None else among).labels
    rows = (
        (query, rank, int(item), float(distance), "yes" if labels[item] == items.labels[query] else "no")
        for query in range(len(found))
        for rank, (item, distance) in enumerate(zip(found[query], distances[query], strict=True), 1)
    )
    return Table(("query", "rank", "item", "distance", "correct"), rows)


@verb("metric", "metric apply items.metric test.tsv -o mapped.tsv", out="-")
def apply(model: MetricModel = a_model("metric"), items: Items = _items()) -> Table:
    """Map items: a table of labels and numbers whose Euclidean distances are the metric."""
    mapped = model.transform(items.content).tolist()
    return Table((), ((label, *row) for label, row in zip(items.labels, mapped, strict=True)), number=".9g")


@verb("metric", "metric show items.metric")
def show(
    model: MetricModel = a_model("metric"),
    *,
    directions: int = setting("How many directions.", default=10, low=1, high=MOST, flag="-n"),
    k: int = setting("How many features of each.", default=10, low=1, high=MOST, flag="-k"),
) -> Shown:
    """The features that weigh most in the first directions of the map."""
    rows = _directions(model, directions, k)
    said = [
        f"{row['direction']:>4} {number(row['value']):>10}  {' '.join(each['feature'] for each in row['features'])}"
        for row in rows
    ]
    return Answer({"distance": model.distance_, "directions": rows}, "\n".join(said))


def _directions(model: MetricModel, n: int, k: int) -> list[dict[str, Any]]:
    """The first directions of a map, each with its k heaviest features."""
    return [
        {
            "direction": each,
            "value": value,
            "features": [{"feature": name, "weight": weight} for name, weight in model.top_features(each, k)],
        }
        for each, value in enumerate(model.solution_.values.tolist()[:n])
    ]


# ---- the workbench


@view("metric", directions=2, k=3)
def features(
    model: MetricModel,
    *,
    k: int = K,
    directions: int = setting("How many directions.", default=10, low=1, high=200),
) -> dict[str, Any]:
    """The features that weigh most in the first directions of the map."""
    return {"directions": _directions(model, directions, k)}


@view("metric", name="neighbours", text="a b c\nb c a")
def neighbours_typed(
    model: MetricModel, text: list[str] = lines("Texts, one a line."), *, k: int = K
) -> dict[str, Any]:
    """Which of some texts are nearest to each of them, and how far away."""
    texts = [line for line in text if line.strip()]
    if model.features_ is None:
        raise SettingError("this metric has learned from vectors, not from texts")
    if len(texts) < 2:
        raise SettingError("text: at least two lines are needed")
    rows = zip(texts, *(each.tolist() for each in model.neighbours(texts, min(k, len(texts) - 1))), strict=True)
    return {
        "texts": [
            {"text": text, "near": [{"text": texts[i], "distance": d} for i, d in zip(near, far, strict=True)]}
            for text, near, far in rows
        ]
    }


def warm() -> None:
    """Compile the kernels of this task by running them on a few tiny texts."""
    from corpuscle.metric import Items, MetricModel
    from corpuscle.metric import evaluate as evaluate_metric
    from corpuscle.text import warm as warm_text

    warm_text()
    items = Items(["a b", "a c", "d b", "d e f"], ["1", "1", "2", "2"])
    model = MetricModel(min_count=1, length=2, dimensions=2, method="distortion", workers=1).fit(*items)
    evaluate_metric(model, items)
