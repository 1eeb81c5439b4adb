"""``corpuscle info MODEL``: what is in a model file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from corpuscle.cli.command import Figures, argument, command
from corpuscle.progress import one_line
from corpuscle.text.wording import size

__all__ = ["group"]

group = click.Group("info")


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((prefix + name, str(value)))
    return rows


def _section(title: str, rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return ["", title, *("  " + one_line(line) for line in lines)] if rows else []


@command(group)
@argument("model")
def info(model: str) -> Figures:
    """Show what is in a model file: kind, settings and where they come from, training data, arrays."""
    from corpuscle.model import read_header

    header, places, length = read_header(model)
    lines = [one_line(f"{header['kind']} (version {header['kind_version']}), {size(length)}")]
    lines += _section("settings", [(name, str(value), origin) for name, (value, origin) in header["settings"].items()])
    for part in "preprocessing", "provenance", "extra":
        lines += _section(part, _flat(header[part]))
    lines += _section("components", [(name, part["kind"]) for name, part in header["components"].items()])
    shapes = {name: " x ".join(map(str, place.shape)) for name, place in places.items()}
    lines += _section("arrays", [(name, e.dtype.name, shapes[name], size(e.size)) for name, e in places.items()])
    arrays = {name: {"dtype": e.dtype.name, "shape": e.shape, "bytes": e.size} for name, e in places.items()}
    return Figures({**header, "bytes": length, "arrays": arrays}, "\n".join(lines))
