"""Memory and time of training a language model of order 5, with and without a limit, beside KenLM's ``lmplz``.

2 and 8 million tokens of the texts of the benchmark ``lm``; 50 million: nine of them, and behind these sentences that
were drawn from a model of order 5 of them (``bench.lm_sampled``), none of it repeated.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, Commands, typical
from bench.lm import FILES, GROWTH, _lmplz, _train, make_growth_text

SIZES = (2, 8, 50)
NATURAL = 9
"""So many millions of tokens are what people wrote."""
LIMITS = {2: ("512M", "1G"), 8: ("512M", "1G"), 50: ("1G", "2G")}
UNITS = {"M": 1 << 20, "G": 1 << 30}


def cells(data: Path) -> Iterator[Cell]:
    """All comparisons, cheap ones first."""
    for millions in SIZES:
        text, model = FILES / f"growth-{millions}m.txt", FILES / f"memory-{millions}m.lm"
        sides: list[Commands | Call] = [Commands("no limit", (_train(text, str(model), 5),))]
        for limit in LIMITS[millions]:
            limited = model.with_suffix(f".{limit}.lm")
            sides.append(Commands(f"--memory {limit}", ((*_train(text, str(limited), 5), "--memory", limit),)))
        files = [str(model), *(str(model.with_suffix(f".{limit}.lm")) for limit in LIMITS[millions])]
        sides.append(Call("bytes", "bench.lm_memory:compare", {"files": files}))
        if shutil.which("lmplz"):
            sides.append(Commands("lmplz -S 1G", (_lmplz(text, FILES / "memory.arpa", 5),)))
        yield Cell(
            f"train-{millions}m",
            f"Training on {millions} million tokens, order 5",
            tuple(sides),
            peer="lmplz -S 1G" if shutil.which("lmplz") else None,
            inputs=tuple(data / name for name in GROWTH),
            prepare=partial(make_text, data, millions),
            repeats=3 if millions < 50 else 1,
            warm_up=millions < 50,
        )


def make_text(data: Path, millions: int) -> None:
    """The text of a cell, unless it is there."""
    if millions <= NATURAL:
        make_growth_text(data, millions)
        return
    make_growth_text(data, NATURAL)
    text, target = FILES / f"growth-{NATURAL}m.txt", FILES / f"growth-{millions}m.txt"
    if not target.exists():
        subprocess.run((sys.executable, "-m", "bench.lm_sampled", text, target, str(millions * 10**6)), check=True)


def compare(timer, files: list[str]) -> dict[str, float]:
    """Whether the models are the same, byte by byte, and how large they are."""
    import filecmp

    with timer:
        same = all(filecmp.cmp(files[0], other, shallow=False) for other in files[1:])
    return {"the same": float(same), "MB": Path(files[0]).stat().st_size / 1e6}


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for millions in SIZES:
        if f"train-{millions}m" not in results:
            continue
        result, tokens = results[f"train-{millions}m"], f"{millions} million tokens"
        peak, most = _peak(result, "no limit"), max(300.0, 100.0 * millions)
        found.append(Claim(f"{tokens}: peak memory without a limit", f"{most:.0f} MB", f"{peak:.0f} MB", peak <= most))
        for limit in LIMITS[millions]:
            peak, most = _peak(result, f"--memory {limit}"), int(limit[:-1]) * UNITS[limit[-1]] / 1e6
            claim = f"{tokens}: peak memory with --memory {limit}"
            found.append(Claim(claim, f"{most:.0f} MB", f"{peak:.0f} MB", peak <= most))
        same = typical(result, "bytes", "the same") == 1
        found.append(Claim(f"{tokens}: the same bytes with and without a limit", "yes", "yes" if same else "no", same))
    return found


def _peak(result: dict[str, Any], side: str) -> float:
    """Peak memory in 10^6 bytes; the tables have it in 2^20."""
    return typical(result, side, "peak") * (1 << 20) / 1e6


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join(
        [
            "### Notes",
            "",
            f"- {NATURAL} million tokens come from the texts of the benchmark `lm`, in blocks of 100 lines; what goes "
            "beyond is drawn from a modified Kneser-Ney model of order 5 of these, seed 1 (`bench.lm_sampled`).",
            "- Whole commands, start-up included: from text to model, for lmplz to ARPA file. MB are 10^6 bytes in "
            "claims, 2^20 in tables. Peak memory is the largest resident set, mapped files included.",
        ]
    )
