"""What the verbs of all tasks with networks share: settings of applying them, what is said of new ones, ONNX files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.verbs import path, setting

BEAM: Any = setting("Hypotheses kept at each step, instead of the model's.", default=None, low=1, high=10_000)
PRECISION: Any = setting("Neural: numbers of 8 bits are quicker.", default=None, choices=("fp32", "int8"))
TOLERANCE: Any = setting(
    "Refuse 8 bits if more than this share of the first 200 inputs changes.",
    default=0.005, low=0, high=1, metavar="SHARE",
)  # fmt: skip
REPORT: Any = path(
    "Neural: write rows, steps, seconds by stage and memory of the run (JSON).", form="file", option=True
)


@contextmanager
def applying(model: Any, texts: Any, precision: str | None, tolerance: float, report: str | None) -> Iterator[None]:
    """The frame of the application of a model to some texts: before it, numbers of 8 bits are compared with the usual
    ones; after it, what was done is written to ``report``. Both are for networks only."""
    from corpuscle.neural.base import Networks
    from corpuscle.text.files import write_atomically

    networks = isinstance(model, Networks)
    if report is not None and not networks:
        raise SettingError("--report is about networks")
    if precision == "int8" and networks:
        model.check_precision(texts, precision, tolerance)
    yield
    if report is not None:
        import json

        with write_atomically(report, "w") as out:
            out.write(json.dumps(model.decoder(precision or "fp32").report_.to_json()) + "\n")


def export_networks(model: Any, output: str | None) -> None:
    """Write every network of a model as ONNX: a decoder's step and its encoder; several networks are numbered."""
    from pathlib import Path

    from corpuscle.neural import write_onnx
    from corpuscle.progress import say

    if output in (None, "-"):
        raise SettingError("a neural model becomes several files: say where with -o")
    place, several = Path(output), len(model.models_) > 1
    for number in range(len(model.models_)):
        file = place.with_name(f"{place.stem}.{number + 1}{place.suffix}") if several else place
        say("wrote " + " and ".join(map(str, write_onnx(model.weights(number), file))))
