"""Metrics: a distance that fits the data, learned from items that are known to belong together.

- ``MetricModel``: learns from texts or vectors with labels, maps new ones, finds their neighbours;
- ``DistortionMetric``: the mathematics as a transformer of scikit-learn, ``fit(X, y)`` and ``transform(X)``;
- ``read_items``: texts or vectors with their labels, from a file;
- ``evaluate``: retrieval and clustering in the learned space, compared with the plain one.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.metric.estimator import DistortionMetric
    from corpuscle.metric.features import Items, read_documents, read_items
    from corpuscle.metric.model import Evaluation, MetricModel, evaluate, k_means_agreement
    from corpuscle.metric.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
