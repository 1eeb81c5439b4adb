"""What fewer bits change: the targets of a decoder beside those of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.neural.decoder import Decoder

__all__ = ["TOLERANCE", "Difference", "check_precision", "difference"]

SAMPLE, TOLERANCE = 200, 0.005
"""So many sources are compared before the others are decoded, and this share of them may have another target."""


class Difference(NamedTuple):
    """Of how many ``sources`` the best target has ``changed``, and how far the natural log of the probability of the
    first decoder's target is off in the second: the ``mean`` and the ``most``."""

    sources: int
    changed: int
    mean: float
    most: float


def difference(one: Decoder, other: Decoder, sources: Sequence[np.ndarray], **given: Any) -> Difference:
    """How another decoder differs; ``given``: settings of the search."""
    some = [source for source in sources if len(source)]
    if not some:
        return Difference(0, 0, 0.0, 0.0)
    best, others = ([found[0].symbols for found in decoder.decode(some, **given)] for decoder in (one, other))
    changed = sum(not np.array_equal(a, b) for a, b in zip(best, others, strict=True))
    apart = np.abs(one.score(some, best) - other.score(some, best))
    return Difference(len(some), changed, float(apart.mean()), float(apart.max()))


def check_precision(
    one: Decoder, other: Decoder, sources: Sequence[np.ndarray], tolerance: float = TOLERANCE, **given: Any
) -> Difference:
    """Make sure that fewer bits change few targets of some of the sources, the first that are different; an error if
    they change more than the tolerance allows."""
    some = list({source.tobytes(): source for source in sources}.values())[:SAMPLE]
    found = difference(one, other, some, **given)
    if found.changed > tolerance * found.sources:
        raise SettingError(
            f"with precision {other.precision}, {found.changed} of {found.sources} targets change: "
            f"a tolerance of {found.changed / found.sources:.3f} would allow that"
        )
    return found
