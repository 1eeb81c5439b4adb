"""Low rank shares over a trie of n-grams: what a word gets after a context that never saw it, see ``ensemble``.

Between order m and order m - 1 of a model stand ``eta`` layers. In layer j the context u h and the n-gram h w, both
rows of the trie of the same order, m - 1, have a vector of ``ranks[m - 2, j]`` numbers each. Scaled, their product is
the share of the probability of w after u h that this layer has.

Parikh, Saluja, Dyer and Xing, "Language modeling with power low rank ensembles", 2014, section 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, part


class Layers(NamedTuple):
    """The layers of all orders; a model without any has no ``ranks``.

    - ``levels``: int64 (order,), the contexts of order m - 1 are the rows ``levels[m - 2]`` to ``levels[m - 1]``;
    - ``ranks``: int64 (order - 1, eta), how long the vectors are; 0 where there is no layer;
    - ``vectors``: float32 (2, size), those of all rows, the layers of a row side by side: as n-gram h w (``WORD``) and
      as context u h (``CONTEXT``);
    - ``scales``: float64 (2, contexts, eta); 0 where a row has no part in a layer.
    """

    levels: np.ndarray
    ranks: np.ndarray
    vectors: np.ndarray
    scales: np.ndarray


WORD, CONTEXT = 0, 1


def frozen_layers(*arrays: np.ndarray) -> Layers:
    """Layers of these arrays, in the order of the fields of ``Layers``."""
    return Layers(*map(frozen, arrays, (np.int64, np.int64, np.float32, np.float64)))


def no_layers() -> Layers:
    """The layers of a model that has none."""
    return frozen_layers(np.zeros(0), np.zeros((0, 0)), np.zeros((2, 0)), np.zeros((2, 0, 0)))


@part(bare=True)
def layer_share(layers, context, row):
    """S(u h, h w) / a(u h): the probability that all layers of an order add for n-gram ``row`` after ``context``."""
    order, base = 0, np.int64(0)
    while True:
        width = np.int64(0)
        for j in range(layers.ranks.shape[1]):
            width += layers.ranks[order, j]
        if context < layers.levels[order + 1]:
            break
        base += (layers.levels[order + 1] - layers.levels[order]) * width
        order += 1
    here = base + (context - layers.levels[order]) * width
    there = base + (row - layers.levels[order]) * width
    total = 0.0
    for j in range(layers.ranks.shape[1]):
        scale, rank = layers.scales[CONTEXT, context, j] * layers.scales[WORD, row, j], layers.ranks[order, j]
        if scale > 0:
            product = 0.0
            for k in range(rank):
                product += np.float64(layers.vectors[CONTEXT, here + k]) * np.float64(layers.vectors[WORD, there + k])
            total += scale * product
        here += rank
        there += rank
    return total
