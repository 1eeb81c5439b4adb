"""What the commands of all tasks with neural models share: options of applying them, figures, pictures, ONNX files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import option, written
from corpuscle.errors import SettingError

if TYPE_CHECKING:
    from corpuscle.neural.base import Networks

__all__ = ["beam", "draw", "export_networks", "faster", "figures_of", "write_report"]

beam = option(
    "beam", "Hypotheses kept at each step, instead of the model's.", metavar="N", type=click.IntRange(1, 10_000)
)


def faster(function: Any) -> Any:
    """``--precision``, ``--tolerance`` and ``--report``: how a network is applied, and what that took."""
    share = click.FloatRange(0, 1)
    for decorate in (
        written("report", "Neural: write rows, steps, seconds by stage and memory of the run (JSON)."),
        option(
            "tolerance", "Refuse 8 bits if more than this share of the first 200 inputs changes.",
            metavar="SHARE", type=share, default=0.005,
        ),
        option("precision", "Neural: numbers of 8 bits are quicker.", type=click.Choice(("fp32", "int8"))),
    ):  # fmt: skip
        function = decorate(function)
    return function


def write_report(model: Networks, precision: str | None, path: str | None) -> None:
    """Write what the last run of a model has done."""
    from corpuscle.text.files import write_atomically

    if path is not None:
        with write_atomically(path, "w") as out:
            out.write(json.dumps(model.decoder(precision or "fp32").report_.to_json()) + "\n")


def figures_of(model: Networks, quality: str) -> dict[str, Any]:
    """What there is to say about new networks; ``quality``: the name of what chose their weights."""
    return {
        "models": len(model.models_),
        "parameters": int(sum(array.size for array in model.models_[0].values())),
        "validations": len(model.history_),
        quality: float(model.history_[:, 1].max()),
        "cross_entropy": float(model.history_[:, 0].min()),
    }


def draw(model: Networks, text: str, target: str | None, output: str) -> None:
    """Draw where a network looks while it writes what it makes of a text, or a given target."""
    from corpuscle.figures import save_figure
    from corpuscle.neural import draw_attention

    save_figure(draw_attention(model, text, target), output)


def export_networks(model: Networks, output: str) -> None:
    """Write every network of a model: a decoder's step and its encoder; the networks are numbered if there are some."""
    from corpuscle.neural import write_onnx
    from corpuscle.progress import say

    if output == "-":
        raise SettingError("a neural model becomes several files: say where with -o")
    path, several = Path(output), len(model.models_) > 1
    for number in range(len(model.models_)):
        place = path.with_name(f"{path.stem}.{number + 1}{path.suffix}") if several else path
        say("wrote " + " and ".join(map(str, write_onnx(model.weights(number), place))))
