"""Pictures of networks at work."""

from __future__ import annotations

from typing import Any

from corpuscle.figures import alignment_grid
from corpuscle.text.characters import SPACE

__all__ = ["draw_attention"]


def draw_attention(model: Any, text: str, target: str | None = None) -> str:
    """Which symbols of a text a model looks at while it writes each symbol of its best target, or of a given one, as
    SVG. The end of a text is a symbol, too."""
    source, written, shares = model.attention(text, target)
    left, right = ([each.replace(SPACE, "␣").rstrip(" ") for each in side] + ["∎"] for side in (source, written))
    return alignment_grid(left, right, weights=shares.T, title=f"Where the model looks in {text}")
