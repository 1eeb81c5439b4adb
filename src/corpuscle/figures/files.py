"""A picture as a file: SVG as it was drawn, or PNG, by the suffix of the name."""

from __future__ import annotations

from corpuscle.errors import require
from corpuscle.text.files import AnyPath, write_atomically

__all__ = ["save_figure"]

ZOOM = 2
"""Pixels of a PNG for each unit of the drawing, so that it is sharp on good screens and in print."""


def save_figure(svg: str, path: AnyPath) -> None:
    """Write a picture; a name in ``.png`` needs the extra ``png``, ``-`` is stdout (as SVG)."""
    if not str(path).lower().endswith(".png"):
        with write_atomically(path, "w") as file:
            file.write(svg + "\n")
        return
    draw = require("resvg_py", "png")
    with write_atomically(path) as image:
        image.write(bytes(draw.svg_to_bytes(svg_string=svg, background="white", zoom=ZOOM)))
