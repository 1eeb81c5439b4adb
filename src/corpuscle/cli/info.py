"""``corpuscle info MODEL``: what is in a model file."""

from __future__ import annotations

from typing import Any

import typer

from corpuscle.cli.common import Json, ModelFile, Quiet, emit

__all__ = ["app"]

app = typer.Typer()


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((prefix + name, str(value)))
    return rows


def _section(title: str, rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [f"\n{title}", *("  " + line for line in lines)] if rows else []


@app.command()
def info(model: ModelFile, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what is in a model file: kind, settings and where they come from, training data, arrays."""
    from corpuscle.model import read_header

    header, entries, size = read_header(model)
    arrays = {
        name: {"dtype": e.dtype, "shape": list(e.shape), "bytes": e.end - e.begin}
        for name, e in entries.items()
    }
    lines = [f"{header['kind']} (version {header['kind_version']}), {_size(size)}"]
    settings = [(name, str(value), origin) for name, (value, origin) in header["settings"].items()]
    lines += _section("settings", settings)
    for part in "preprocessing", "provenance", "extra":
        lines += _section(part, list(_flat(header[part])))
    shapes = [
        (n, str(a["dtype"]), " x ".join(map(str, a["shape"])), _size(a["bytes"])) for n, a in arrays.items()
    ]
    lines += _section("arrays", shapes)
    emit({**header, "bytes": size, "arrays": arrays}, as_json, "\n".join(lines))
