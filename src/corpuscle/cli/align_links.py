"""``corpuscle align evaluate``: links in files, gold ones and others, and what a comparison of them says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from corpuscle.align.settings import NEIGHBOURHOODS
from corpuscle.cli.command import Figures, work_of
from corpuscle.errors import InputError, SettingError

if TYPE_CHECKING:
    from corpuscle.measure import Result
    from corpuscle.text.alignments import Alignments
    from corpuscle.text.bitext import Bitext

__all__ = ["as_text", "check_links", "measure_oracle", "read_links"]


def read_links(path: str, sentences: int | None = None) -> Alignments:
    """Links in either format: a line of three or more numbers is that of the NAACL shared task."""
    from corpuscle.text.alignments import read_naacl, read_pharaoh
    from corpuscle.text.files import read_lines

    first = next((line.split() for _, line in read_lines(path) if line.split()), []) if path != "-" else []
    naacl = len(first) >= 3 and first[0].isdigit()
    links = read_naacl(path, sentences) if naacl else read_pharaoh(path)
    if not len(links):
        raise InputError(path, None, "there are no sentence pairs")
    return links


def check_links(gold: Alignments, found: Alignments, gold_path: str, path: str, bitext: Bitext | None) -> None:
    """Complain about links of other sentence pairs than those of the gold links, or of the text."""
    if len(gold) != len(found):
        raise InputError(path, None, f"links of {len(found)} sentence pairs, but {gold_path} has {len(gold)}")
    if bitext is not None:
        gold.check_range(bitext, gold_path)
        found.check_range(bitext, path)


def measure_oracle(gold: str, bitext: Bitext, training: Bitext, name: str, seed: int) -> Figures:
    """How good links could be if only those that a neighbourhood allows may be chosen."""
    from corpuscle.align.neighbourhood import Neighbourhood, allowed_links
    from corpuscle.measure.links import alignment_error
    from corpuscle.scale import workers

    if name not in NEIGHBOURHOODS:
        raise SettingError(f"a neighbourhood is one of {', '.join(NEIGHBOURHOODS)}, not {name!r}")
    wanted = read_links(gold, len(bitext))
    wanted.check_range(bitext, gold)
    work = work_of()
    with workers(work.get("workers"), work.get("cluster")) as pool:
        neighbourhood = Neighbourhood.learn(training, name, pool)
    values: dict[str, Any] = {"neighbourhood": name}
    lines = []
    for direction, which in enumerate(("forward", "backward")):
        result = alignment_error(wanted, allowed_links(wanted, bitext, neighbourhood, training, direction), seed=seed)
        couples = neighbourhood.size(direction)
        values |= {f"aer_{which}": result["aer"], f"couples_{which}": couples}
        lines.append(f"{which}: oracle AER {100 * result['aer']:.2f} %, {couples:,} couples")
    return Figures(values, "\n".join(lines))


def as_text(result: Result, values: dict[str, Any]) -> str:
    """The figures of ``align evaluate`` for people: the result, and what else was asked."""
    lines = [result.text()]
    for name, key in (("source", "singleton_fertility"), ("target", "singleton_fertility_target")):
        if not math.isnan(values.get(key, math.nan)):
            lines.append(f"links of {name} words seen once in training: {values[key]:.2f}")
    if "against" in values:
        other = values["against"]
        interval = f"({100 * other['low']:.2f} to {100 * other['high']:.2f})"
        lines.append(f"AER minus the other's: {100 * other['difference']:.2f} {interval}, p = {other['p_value']:.3f}")
    return "\n".join(lines)
