"""Decoding of sentences: English captions to German (multi30k), BLEU and speed by vocabulary, state size and beam; where
the time goes; what fusing softmax and search is worth in the whole decoder; batches to 4,096.

The models are small and have learned little: three passes over the 29,000 pairs, at most 10,000 merges and 96 numbers
of state (Hoang et al. 2018: millions of pairs, 40,000 and 1,024), so that all of them train in half an hour of CPU.
They are stopped by 500 of the training pairs; figures are on the validation file, which nothing was chosen on. Times
are CPU seconds of one thread, the shortest of two rounds in which the sides take turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.decode import SOURCES, _busy, _figures, _grid, _shortest
from bench.harness import Call, Cell, Claim, trained

COMMON = {
    "batch": 32, "max_epochs": 1, "validate_every": 900, "rate": 0.003, "warm_up": 100, "dropout": 0.0,
    "symbol_dropout": 0.0, "aligner": "diagonal",
}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "5k": {"merges": 5000},
    "1k": {"merges": 1000},
    "10k": {"merges": 10_000},
    "5k, state 48": {"merges": 5000, "state": 48},
    "5k, mlstm": {"merges": 5000, "preset": "mlstm", "state": 128},
}
BEAMS = (1, 2, 3, 5, 9)
BATCHES = (1, 8, 64, 256, 1024, 4096)


def _files(data: str | Path, part: str) -> list[str]:
    return [str(Path(data) / "multi30k" / f"{part}.{side}") for side in ("en", "de")]


def _model(name: str, data: str) -> tuple[Any, float]:
    """A translator, learned once, and the CPU seconds that it took."""
    from corpuscle.text.bitext import read_bitext
    from corpuscle.translate import NeuralTranslator

    settings = {**COMMON, **MODELS[name]}
    texts = read_bitext(*_files(data, "train"))
    stem = f"sentences-{name.replace(', ', '-').replace(' ', '')}"
    return trained(stem, lambda: NeuralTranslator(**settings, workers=1), texts, None, None)
