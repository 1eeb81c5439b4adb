"""One alignment from those of both directions; see ``kernels.symmetry`` for the rules."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corpuscle.align.kernels import symmetry
from corpuscle.align.settings import DEFAULT_SYMMETRISATION, SYMMETRISATIONS
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.scale import chunks_of
from corpuscle.text.alignments import Alignments

_CROSS = [(-1, 0), (0, -1), (1, 0), (0, 1)]
_DIAGONAL = [(-1, -1), (-1, 1), (1, -1), (1, 1)]

_STEPS: dict[str, tuple[list[tuple[int, int]], int]] = {
    "intersection": ([], 0),
    "union": ([], symmetry.ALL),
    "grow": (_CROSS, 0),
    "grow-diag": (_CROSS + _DIAGONAL, 0),
    "grow-diag-final": (_CROSS + _DIAGONAL, symmetry.OR),
    "grow-diag-final-and": (_CROSS + _DIAGONAL, symmetry.AND),
}

_CELLS_A_CALL = 4_000_000


def symmetrise(forward: Alignments, backward: Alignments, how: str = DEFAULT_SYMMETRISATION) -> Alignments:
    """Join two alignments of the same sentence pairs, both with links (source, target); the result is sorted.

    >>> one = Alignments.from_pairs([[(0, 0), (1, 1), (3, 3), (4, 3)]])
    >>> two = Alignments.from_pairs([[(0, 0), (1, 1), (1, 2), (4, 5)]])
    >>> symmetrise(one, two, "grow-diag").links.tolist()
    [[0, 0], [1, 1], [1, 2]]
    """
    if how not in SYMMETRISATIONS:
        raise SettingError(f"the symmetrisation is one of {', '.join(SYMMETRISATIONS)}, not {how!r}")
    if len(forward) != len(backward):
        raise ValueError(f"{len(forward)} sentence pairs, but the other alignments have {len(backward)}")
    if how in ("forward", "backward"):
        return (forward if how == "forward" else backward).sorted()
    steps, final = _STEPS[how]
    return _joined(forward, backward, np.array(steps, np.int64).reshape(-1, 2), final)


def _joined(forward: Alignments, backward: Alignments, steps: np.ndarray, final: int) -> Alignments:
    lengths = np.zeros((len(forward), 2), np.int64)
    for each in forward, backward:
        np.maximum.at(lengths, each.pairs, each.links + 1)
    one, other = (
        symmetry.Links(frozen(each.links, np.int32), frozen(each.starts, np.int64)) for each in (forward, backward)
    )
    parts = []
    for first, last in pairwise(chunks_of(lengths.prod(axis=1) + 1, _CELLS_A_CALL).tolist()):
        most = sum(int(each.starts[last] - each.starts[first]) for each in (forward, backward))
        links, starts = np.empty((most, 2), np.int32), np.zeros(last - first + 1, np.int64)
        count = symmetry.symmetrise(one, other, lengths, first, last, steps, final, links, starts)
        parts.append(Alignments(links[:count].copy(), starts, np.ones(count, bool)))
    return Alignments.concatenated(parts)
