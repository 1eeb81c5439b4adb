"""Compiling ahead: all kernels of metrics, on a few tiny texts."""

from __future__ import annotations

from corpuscle.metric.evaluation import evaluate
from corpuscle.metric.items import Items
from corpuscle.metric.model import MetricModel
from corpuscle.text.plain import warm as warm_text

__all__ = ["warm"]


def warm() -> None:
    """Compile the kernels of this task by running them on a few tiny texts."""
    warm_text()
    texts, labels = ["a b", "a c", "d b", "d e f"], ["1", "1", "2", "2"]
    model = MetricModel(min_count=1, length=2, dimensions=2, method="distortion", workers=1).fit(texts, labels)
    evaluate(model, Items(texts, labels))
