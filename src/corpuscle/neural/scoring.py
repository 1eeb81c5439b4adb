"""How likely given targets are: the model reads each target symbol by symbol instead of choosing its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.engine.neural.products import Matrix
from corpuscle.neural.forward import Batch, Buffers, network
from corpuscle.neural.output import Output
from corpuscle.neural.weights import Weights
from corpuscle.text.vocab import END, START

__all__ = ["log_probabilities"]

ROWS = 512
"""So many targets are read together."""


def log_probabilities(
    weights: Weights, sources: Sequence[np.ndarray], owners: np.ndarray, targets: Sequence[np.ndarray]
) -> np.ndarray:
    """The natural log of the probability of every target, END included, float64 (n_targets,).

    :param sources: symbols of each source, without END.
    :param owners: which source each target belongs to, int64 (n_targets,).
    :param targets: symbols of each target, without END.
    """
    model, output = network(weights, Matrix), Output.of(weights, Matrix)
    lengths = np.array([len(target) + 1 for target in targets], np.int64)
    order = np.lexsort((owners, -lengths))
    result = np.zeros(len(targets))
    for first in range(0, len(order), ROWS):
        part = order[first : first + ROWS]  # the longest first, so that those that go on are at the beginning
        used, sentences = np.unique(owners[part], return_inverse=True)
        longest = int(lengths[part[0]])
        room = Buffers()
        read = [np.append(sources[i], END).astype(np.int32) for i in used.tolist()]
        encoded = model.encode(Batch.of(read), room, np.full(len(used), longest, np.int32))
        wanted = np.full((len(part), longest + 1), END, np.int32)
        wanted[:, 0] = START
        for row, i in enumerate(part.tolist()):
            wanted[row, 1 : lengths[i]] = targets[i]
        state = tuple(array[sentences] for array in encoded.first)
        for j in range(longest):
            rows = int((lengths[part] > j).sum())
            state = tuple(np.ascontiguousarray(array[:rows]) for array in state)
            hidden, state = model.step(
                encoded, sentences[:rows].astype(np.int32), np.ascontiguousarray(wanted[:rows, j]), state, room
            )
            logs = output.logs(hidden, room)
            result[part[:rows]] += logs[np.arange(rows), wanted[:rows, j + 1]]
    return result
