"""Learning the weights of a conditional random field by likelihood, with crfsuite.

Features are counted, rare ones dropped, and the rest numbered; crfsuite maximises the penalised likelihood by
stochastic gradients, or by L-BFGS (OWL-QN where weights are to become 0), and its weights come back as arrays, so that
a model file holds nothing that is run.

Okazaki, "CRFsuite: a fast implementation of conditional random fields", 2007; Shalev-Shwartz, Singer and Srebro,
"Pegasos: primal estimated sub-gradient solver for SVM", 2007; Liu and Nocedal, "On the limited memory BFGS method for
large scale optimization", 1989; Andrew and Gao, "Scalable training of L1-regularized log-linear models", 2007.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.hashtable import new_index
from corpuscle.entities.features import Sheet
from corpuscle.entities.kernels.features import features
from corpuscle.entities.kernels.fields import Field, fill_index
from corpuscle.entities.settings import CrfSettings
from corpuscle.errors import SettingError
from corpuscle.progress import Bar, bar

_CHUNK = 50_000
_SMALL = 2000  # with fewer sentences, passes over all of them at once are quick, and do better


class Steps(NamedTuple):
    """The algorithm, sgd or lbfgs, and its passes over the text at most."""

    algorithm: str
    iterations: int


def steps_of(settings: CrfSettings, n_sentences: int) -> Steps:
    """How weights are learned, where the settings leave it open."""
    algorithm = settings.algorithm or ("lbfgs" if settings.c1 or n_sentences < _SMALL else "sgd")
    if settings.c1 and algorithm == "sgd":
        raise SettingError("the penalty c1 needs the algorithm lbfgs")
    return Steps(algorithm, settings.iterations or (80 if algorithm == "sgd" else 200))


def field_of(arrays: dict[str, np.ndarray]) -> Field:
    """The field of a model file, with its hash table."""
    index = new_index(len(arrays["field/keys"]))
    fill_index(index, arrays["field/keys"])
    return Field(index, *(arrays[f"field/{name}"] for name in ("keys", "starts", "labels", "weights", "steps")))


def all_features(sheet: Sheet) -> np.ndarray:
    """The features of all tokens, uint64 (n_tokens, templates)."""
    starts = sheet.tokens.starts
    found = np.zeros((int(starts[-1]), len(sheet.templates)), np.uint64)
    bounds = np.unique(np.searchsorted(starts, np.arange(0, starts[-1] + _CHUNK, _CHUNK)))
    for begin, end in pairwise(np.unique([0, *bounds, len(starts) - 1]).clip(0, len(starts) - 1).tolist()):
        features(sheet.tokens, begin, end, found[starts[begin] : starts[end]])
    return found


def learn_field(
    sheet: Sheet, tags: Sequence[str], labels: Sequence[str], settings: CrfSettings
) -> tuple[dict[str, np.ndarray], int]:
    """The arrays of a field that makes the tags likely, and how many iterations it took."""
    way = steps_of(settings, len(sheet.tokens.starts) - 1)
    found = all_features(sheet)
    keys, numbers, counts = np.unique(found, return_inverse=True, return_counts=True)
    kept = (counts >= settings.min_count) & (keys != 0)
    keys, renumbered = keys[kept], np.cumsum(kept) - 1
    names = [str(number) for number in range(len(keys))]
    numbers = np.where(kept[numbers], renumbered[numbers], -1).reshape(found.shape)
    trainer = _trainer(settings, way)
    for first, last in pairwise(sheet.tokens.starts.tolist()):
        if last > first:
            rows = [[names[k] for k in row if k >= 0] for row in numbers[first:last].tolist()]
            trainer.append(rows, list(tags[first:last]))
    progress = bar("iterations", way.iterations)
    with tempfile.TemporaryDirectory(prefix="corpuscle-") as folder, progress as trainer.bar:
        path = os.path.join(folder, "crf")
        _seed(settings.seed)
        trainer.train(path)
        state, steps = _weights(path)
    return _arrays(keys, state, steps, labels), trainer.done


def _trainer(settings: CrfSettings, way: Steps) -> Any:
    import pycrfsuite

    class Watched(pycrfsuite.Trainer):
        """Tells how far it is; an interrupt is heard after the iteration that it falls into."""

        def __init__(self) -> None:
            super().__init__(algorithm="l2sgd" if way.algorithm == "sgd" else "lbfgs", verbose=True)
            self.done, self.bar = 0, Bar()

        def message(self, message: str) -> None:
            if message.startswith(("***** Iteration", "***** Epoch")):
                self.done += 1
                self.bar.advance()

    trainer = Watched()
    trainer.set_params({"c2": settings.c2, "max_iterations": way.iterations, "feature.minfreq": 0.0})
    if way.algorithm == "lbfgs":
        trainer.set_params({"c1": settings.c1})
    return trainer


def _seed(seed: int) -> None:
    """Seed the random numbers of the C library, by which crfsuite shuffles sentences."""
    import ctypes

    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).srand(seed & 0x7FFFFFFF)


def _weights(path: str) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()
    tagger.close()
    return info.state_features, info.transitions


def _arrays(
    keys: np.ndarray, state: dict[tuple[str, str], float], steps: dict[tuple[str, str], float], labels: Sequence[str]
) -> dict[str, np.ndarray]:
    number = {label: k for k, label in enumerate(labels)}
    rows = np.array([int(name) for name, _ in state], np.int64)
    columns = np.array([number[label] for _, label in state], np.int32)
    weights = np.array(list(state.values()), np.float64)
    order = np.lexsort((columns, rows))
    rows, columns, weights = rows[order], columns[order], weights[order]
    used, first = np.unique(rows, return_index=True)
    between = np.zeros((len(labels), len(labels)))
    for (a, b), weight in steps.items():
        between[number[a], number[b]] = weight
    return {
        "field/keys": keys[used], "field/starts": np.append(first, len(rows)).astype(np.int64),
        "field/labels": columns, "field/weights": weights, "field/steps": between,
    }  # fmt: skip
