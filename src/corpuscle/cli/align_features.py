"""``corpuscle align``: what the log-linear model adds, and several best alignments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpuscle.cli.common import ModelFile, Output, Quiet, emit
from corpuscle.errors import SettingError

if TYPE_CHECKING:
    from corpuscle.align import Aligner
    from corpuscle.text.alignments import Alignments
    from corpuscle.text.bitext import Bitext

__all__ = ["measure_oracle", "weights", "write_n_best"]


def weights(
    model: ModelFile,
    output: Output = "-",
    top: Annotated[int | None, typer.Option("--top", min=1, help="Only so many of each direction.")] = None,
    quiet: Quiet = False,
) -> None:
    """List the features of a log-linear model and their weights, the strongest first: direction, feature, weight."""
    from corpuscle.align import LogLinear, load
    from corpuscle.text.files import write_atomically

    loaded = load(model)
    if not isinstance(loaded, LogLinear):
        raise SettingError(f"{model}: only the method loglinear has features; this model is {loaded.method}")
    with write_atomically(output, "w") as file:
        for direction, name in enumerate(("forward", "backward")):
            for feature, weight in loaded.learned_features(direction)[:top]:
                file.write(f"{name}\t{feature}\t{weight:.6g}\n")


def write_n_best(model: Aligner, bitext: Bitext, k: int, symmetrise: str, output: str) -> None:
    """Write line, rank, probability and links of the best alignments of one direction."""
    from corpuscle.align import n_best
    from corpuscle.text.files import write_atomically

    if symmetrise not in ("forward", "backward"):
        raise SettingError("the best alignments are those of one direction: --symmetrise forward or backward")
    with write_atomically(output, "w") as file:
        for line, ranked in enumerate(n_best(model, bitext, k, int(symmetrise == "backward")), 1):
            for rank, each in enumerate(ranked, 1):
                links = " ".join(f"{i}-{j}" for i, j in each.links.tolist())
                file.write(f"{line}\t{rank}\t{each.probability:.6g}\t{links}\n")


def measure_oracle(
    gold: Alignments, bitext: Bitext, training: Bitext, name: str, seed: int, workers: int | None, as_json: bool
) -> None:
    """Show how good links could be if only those that a neighbourhood allows may be chosen."""
    from corpuscle.align.neighbourhood import NEIGHBOURHOODS, Neighbourhood, allowed_links
    from corpuscle.measure.links import alignment_error
    from corpuscle.scale import workers as some_workers

    if name not in NEIGHBOURHOODS:
        raise SettingError(f"a neighbourhood is one of {', '.join(NEIGHBOURHOODS)}, not {name!r}")
    with some_workers(workers) as pool:
        hood = Neighbourhood.learn(training, name, pool)
    values: dict[str, Any] = {"neighbourhood": name}
    lines = []
    for direction, which in enumerate(("forward", "backward")):
        result = alignment_error(gold, allowed_links(gold, bitext, hood, training, direction), seed=seed)
        values |= {f"aer_{which}": result["aer"], f"couples_{which}": hood.size(direction)}
        lines.append(f"{which}: oracle AER {100 * result['aer']:.2f} %, {hood.size(direction):,} couples")
    emit(values, as_json, "\n".join(lines))
