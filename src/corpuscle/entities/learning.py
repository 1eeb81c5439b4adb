"""Learning the weights of a conditional random field by likelihood, with crfsuite.

Features are counted, rare ones dropped, and the rest numbered; crfsuite maximises the penalised likelihood by
stochastic gradients, or by L-BFGS (OWL-QN where weights are to become 0), and its weights come back as arrays, so that
a model file holds nothing that is run.

Okazaki, "CRFsuite: a fast implementation of conditional random fields", 2007; Shalev-Shwartz, Singer and Srebro,
"Pegasos: primal estimated sub-gradient solver for SVM", 2007; Liu and Nocedal, "On the limited memory BFGS method for
large scale optimization", 1989; Andrew and Gao, "Scalable training of L1-regularized log-linear models", 2007.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.entities.features import Sheet
from corpuscle.entities.kernels.features import features
from corpuscle.entities.kernels.fields import Field, index_of
from corpuscle.entities.settings import CrfSettings
from corpuscle.errors import SettingError
from corpuscle.progress import Bar, bar
from corpuscle.scale import chunks_of

_CHUNK = 50_000
_SMALL = 2000  # with fewer sentences, passes over all of them at once are quick, and do better


def steps_of(settings: CrfSettings, n_sentences: int) -> tuple[str, int]:
    """The algorithm, sgd or lbfgs, and its passes over the text at most, also where the settings leave them open."""
    algorithm = settings.algorithm or ("lbfgs" if settings.c1 or n_sentences < _SMALL else "sgd")
    if settings.c1 and algorithm == "sgd":
        raise SettingError("the penalty c1 needs the algorithm lbfgs")
    return algorithm, settings.iterations or (80 if algorithm == "sgd" else 200)


def all_features(sheet: Sheet) -> np.ndarray:
    """The features of all tokens, uint64 (n_tokens, templates)."""
    starts = sheet.tokens.starts
    found = np.zeros((int(starts[-1]), len(sheet.templates)), np.uint64)
    for begin, end in pairwise(chunks_of(np.diff(starts), _CHUNK).tolist()):
        features(sheet.tokens, begin, end, found[starts[begin] : starts[end]])
    return found


def learn_field(sheet: Sheet, tags: Sequence[str], labels: Sequence[str], settings: CrfSettings) -> tuple[Field, int]:
    """A field that makes the tags likely, and how many iterations it took."""
    import pycrfsuite

    algorithm, iterations = steps_of(settings, len(sheet.tokens.starts) - 1)
    found = all_features(sheet)
    keys, numbers, counts = np.unique(found, return_inverse=True, return_counts=True)
    kept = (counts >= settings.min_count) & (keys != 0)
    keys, renumbered = keys[kept], np.cumsum(kept) - 1
    names = [str(number) for number in range(len(keys))]
    numbers = np.where(kept[numbers], renumbered[numbers], -1).reshape(found.shape)
    trainer = _trainer(settings, algorithm, iterations)
    for first, last in pairwise(sheet.tokens.starts.tolist()):
        if last > first:
            rows = [[names[k] for k in row if k >= 0] for row in numbers[first:last].tolist()]
            trainer.append(rows, list(tags[first:last]))
    with tempfile.TemporaryDirectory(prefix="corpuscle-") as folder, bar("iterations", iterations) as trainer.bar:
        path = os.path.join(folder, "crf")
        # crfsuite shuffles sentences by the random numbers of the C library.
        ctypes.CDLL("ucrtbase" if os.name == "nt" else None).srand(settings.seed & 0x7FFFFFFF)
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
        tagger.close()
    return _field(keys, info.state_features, info.transitions, labels), trainer.done


def _trainer(settings: CrfSettings, algorithm: str, iterations: int) -> Any:
    import pycrfsuite

    class Watched(pycrfsuite.Trainer):
        """Tells how far it is; an interrupt is heard after the iteration that it falls into."""

        def __init__(self) -> None:
            super().__init__(algorithm="l2sgd" if algorithm == "sgd" else "lbfgs", verbose=True)
            self.done, self.bar = 0, Bar()

        def message(self, message: str) -> None:
            if message.startswith(("***** Iteration", "***** Epoch")):
                self.done += 1
                self.bar.advance()

    trainer = Watched()
    trainer.set_params({"c2": settings.c2, "max_iterations": iterations, "feature.minfreq": 0.0})
    if algorithm == "lbfgs":
        trainer.set_params({"c1": settings.c1})
    return trainer


def _field(
    keys: np.ndarray, state: dict[tuple[str, str], float], steps: dict[tuple[str, str], float], labels: Sequence[str]
) -> Field:
    number = {label: k for k, label in enumerate(labels)}
    rows = np.array([int(name) for name, _ in state], np.int64)
    columns = np.array([number[label] for _, label in state], np.int32)
    weights = np.array(list(state.values()), np.float64)
    order = np.lexsort((columns, rows))
    rows, columns, weights = rows[order], columns[order], weights[order]
    used, first = np.unique(rows, return_index=True)
    keys, starts = keys[used], np.append(first, len(rows)).astype(np.int64)
    between = np.zeros((len(labels), len(labels)))
    for (a, b), weight in steps.items():
        between[number[a], number[b]] = weight
    return Field(index_of(keys), keys, starts, columns, weights, between)
