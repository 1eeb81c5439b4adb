"""What models are least sure of, the least sure first: where an annotator's minute is worth most.

Each item has what the model would say, in the form in which annotations are kept, how sure it is (``confidence``,
0..1), and which share of an annotator's keystrokes that guess is expected to save: labelling n words takes n,
correcting a guess one to accept it and one for each word that is expected to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def expected_saving(confidence: Sequence[float]) -> float:
    """The share of keystrokes that a guess is expected to save, given how sure each of its parts is.

    >>> expected_saving([1.0, 1.0, 1.0, 0.0]), expected_saving([])
    (0.5, 0.0)
    """
    n = len(confidence)
    return max(0.0, 1.0 - (1.0 + sum(1.0 - sure for sure in confidence)) / n) if n else 0.0


def unsure_item(value: Mapping[str, Any], sure: Sequence[float]) -> dict[str, Any]:
    """An item for annotators: what a model would say, and how sure each part of that is."""
    return {"value": value, "confidence": min(sure, default=1.0), "by_part": sure, "saved": expected_saving(sure)}


def unsure_words(words: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The item of a sentence whose words have a ``confidence``, which is None where nothing was in doubt."""
    sure = [1.0 if (each := word.pop("confidence")) is None else each for word in words]
    return unsure_item({"words": words}, sure)


def least_sure(items: Iterable[dict[str, Any]], n: int, **more: Any) -> dict[str, Any]:
    """The n least sure items, each text once; ``more``: what goes with them."""
    once = {str(item["value"]): item for item in items}
    return {"items": sorted(once.values(), key=lambda item: item["confidence"])[:n], **more}
