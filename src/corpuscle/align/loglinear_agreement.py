"""Agreement of the two directions of the log-linear model while they learn (after Liang, Taskar and Klein 2006).

Before every pass each direction says, with the weights that it has by then, how probable it finds every link of the
training text. In the pass, the other direction multiplies the weight of each of its own links by that: what is expected
given the outputs is expected from links that both believe in. What is expected without the outputs stays as it was. An
output comes from the null word as far as the other direction, where it is a state, lets nothing come from it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corpuscle.align.kernels import loglinear_links
from corpuscle.align.kernels.loglinear import CELLS, OUTPUTS, SCORES, STATES, Shape, Text, workspace
from corpuscle.align.loglinear_data import Encoded, transposition
from corpuscle.compiled import frozen
from corpuscle.engine.optim.online import reader_of
from corpuscle.scale import Workers, chunks_of

__all__ = ["guided"]

_SMALLEST, _SMALLEST_NULL = np.float32(1e-3), np.float32(1e-2)
"""No direction forbids what the other would do: probabilities are at least this, of links and of the null word."""

_CELLS_A_CALL = 100_000
_NOTHING = frozen(np.zeros(0), np.float32)


def _chunks(text: Text) -> list[tuple[int, int]]:
    return list(pairwise(chunks_of(np.diff(text.starts[CELLS]), _CELLS_A_CALL).tolist()))


def _link_probabilities(encoded: Encoded, shape: Shape, weights: np.ndarray) -> np.ndarray:
    """How probable every link is, float32 (n_cells,), within the neighbourhood, by one direction alone."""
    hood = encoded.hood
    text = encoded.text._replace(guide=_NOTHING, null_guide=_NOTHING)
    work = workspace(text, hood, shape)
    loglinear_links.couple_scores(hood, frozen(weights, np.float64), work.couples[SCORES])
    cells, outputs = text.starts[CELLS], text.starts[OUTPUTS]
    links, nulls = np.zeros(int(cells[-1]), np.float32), np.zeros(int(outputs[-1]), np.float32)
    reader = reader_of(weights)
    for first, last in _chunks(text):
        own = links[cells[first] : cells[last]]
        own_nulls = nulls[outputs[first] : outputs[last]]
        loglinear_links.link_posteriors(text, hood, shape, reader, work, first, last, own, own_nulls)
    return np.minimum(links, np.float32(1))


def _seen_from(text: Text, links: np.ndarray) -> np.ndarray:
    """The links of the other direction in the order of the cells of this one."""
    result = np.empty_like(links)
    for first, last in _chunks(text):
        part = slice(text.starts[CELLS, first], text.starts[CELLS, last])
        result[part] = links[part][transposition(text.starts[:, first : last + 1] - text.starts[:, first : first + 1])]
    return result


def _unlinked(text: Text, links: np.ndarray) -> np.ndarray:
    """The probability that nothing comes from each state, float32 (n_states,), outputs being independent."""
    outputs = np.repeat(np.diff(text.starts[OUTPUTS]), np.diff(text.starts[STATES]))
    begins = np.cumsum(outputs) - outputs
    rest = np.maximum(np.float32(1) - links, np.float32(1e-6))
    return np.exp(np.add.reduceat(np.log(rest), begins))


def guided(encoded: list[Encoded], shapes: list[Shape], weights: list[np.ndarray], pool: Workers) -> list[Encoded]:
    """Both directions of a text without empty sentences, each with what the other one's weights say about it."""
    links = list(pool.scatter([0, 1]).map(lambda d: _link_probabilities(encoded[d], shapes[d], weights[d])))
    result = []
    for d, one in enumerate(encoded):
        other = _seen_from(one.text, links[1 - d])
        unlinked = _unlinked(encoded[1 - d].text, links[1 - d])
        guide = frozen(np.log(np.maximum(other, _SMALLEST)), np.float32)
        null_guide = frozen(np.log(np.maximum(unlinked, _SMALLEST_NULL)), np.float32)
        result.append(one._replace(text=one.text._replace(guide=guide, null_guide=null_guide)))
    return result
