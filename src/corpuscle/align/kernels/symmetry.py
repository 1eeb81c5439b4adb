"""Symmetry: one alignment from those of the two directions.

Both inputs are links (source, target) of the same sentence pairs in CSR form. ``grow`` starts from the links that both
have and adds neighbours of what it has from the links that either has, if their row or their column is still free;
``final`` then adds links of the first, then of the second input whose row or column (``final-and``: row and column) is
free. The order of all this is part of the definition.

Och and Ney, "A systematic comparison of various statistical alignment models", 2003; Koehn, Och and Marcu,
"Statistical phrase-based translation", 2003.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.align.kernels.cooccurrence import shape_of
from corpuscle.compiled import kernel, part

OR, AND, ALL = 1, 2, 3
"""The last step: add links whose row or column is free, or only those where both are, or all of them."""


class Links(NamedTuple):
    """Links of sentence pairs: ``links`` int32 (n_links, 2), source and target, ``starts`` int64 (n_pairs + 1,)."""

    links: np.ndarray
    starts: np.ndarray


@part
def _free(links_of_row, links_of_column, i, j, final):
    if final == ALL:
        return True
    if final == AND:
        return links_of_row[i] == 0 and links_of_column[j] == 0
    return links_of_row[i] == 0 or links_of_column[j] == 0


@part
def _grow(given, current, rows, columns, m, n, steps):
    """Add neighbours until nothing changes; ``given`` has 1 for links of the first input, 2 for the second, 3 both."""
    changed = True
    while changed:
        changed = False
        for i in range(m):
            for j in range(n):
                if not current[i, j]:
                    continue
                for k in range(len(steps)):
                    a, b = i + steps[k, 0], j + steps[k, 1]
                    inside = 0 <= a < m and 0 <= b < n
                    if inside and given[a, b] and not current[a, b] and (rows[a] == 0 or columns[b] == 0):
                        current[a, b] = True
                        rows[a] += 1
                        columns[b] += 1
                        changed = True


@kernel
def symmetrise(one, other, lengths, first, last, steps, final, result, result_starts):
    """Join the ``Links`` of sentence pairs first..last-1 of both directions; returns how many there are.

    ``lengths`` int64 (n_pairs, 2): source and target length. ``steps`` int64 (k, 2): the neighbours of ``grow``, none
    for no growing; ``final``: 0, ``OR``, ``AND`` or ``ALL``. ``result`` int32 (at least as many as both inputs have, 2)
    gets the links row by row, ``result_starts[p + 1 - first]`` how many there are up to pair p.
    """
    count = 0
    for pair in range(first, last):
        m, n = lengths[pair, 0], lengths[pair, 1]
        given = np.zeros((m, n), np.uint8)
        current = np.zeros((m, n), np.bool_)
        rows, columns = np.zeros(m, np.int64), np.zeros(n, np.int64)
        for k in range(one.starts[pair], one.starts[pair + 1]):
            given[one.links[k, 0], one.links[k, 1]] |= 1
        for k in range(other.starts[pair], other.starts[pair + 1]):
            given[other.links[k, 0], other.links[k, 1]] |= 2
        for i in range(m):
            for j in range(n):
                if given[i, j] == 3:
                    current[i, j] = True
                    rows[i] += 1
                    columns[j] += 1
        _grow(given, current, rows, columns, m, n, steps)
        if final:
            for side in range(1, 3):
                for i in range(m):
                    for j in range(n):
                        wanted = given[i, j] & side and not current[i, j]
                        if wanted and _free(rows, columns, i, j, final):
                            current[i, j] = True
                            rows[i] += 1
                            columns[j] += 1
        for i in range(m):
            for j in range(n):
                if current[i, j]:
                    result[count, 0] = i
                    result[count, 1] = j
                    count += 1
        result_starts[pair + 1 - first] = count
    return count


@kernel
def strongest(pairs, links, nulls, best):
    """The most probable state of every output: ``best`` int32 (n_outputs,), -1 for the null word.

    ``pairs``: see ``cooccurrence.Directed``; ``links`` and ``nulls`` as ``translation.posteriors`` fills them. Ties go
    to the null word, then to the smaller position.
    """
    for sentence in range(len(pairs.cell_starts) - 1):
        m, n, state_step, output_step = shape_of(pairs, sentence)
        for j in range(n):
            output = pairs.output_starts[sentence] + j
            top = nulls[output]
            best[output] = -1
            for i in range(m):
                value = links[pairs.cell_starts[sentence] + j * output_step + i * state_step]
                if value > top:
                    top = value
                    best[output] = i
