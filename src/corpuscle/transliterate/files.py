"""Files of this task: the model's arrays and what they must satisfy, and the results of the NEWS tasks as XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from corpuscle.align import PhraseTable
from corpuscle.align.phrases_file import TABLE_ARRAYS, check_table, table_arrays
from corpuscle.errors import InputError, warn
from corpuscle.learning import partial
from corpuscle.lm import NgramModel
from corpuscle.model import ITEMS, Array, Container, Kind
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.pairs import Pair, read_news
from corpuscle.text.reading import pairs
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.base import Candidate
from corpuscle.transliterate.kernels.windows import WEIGHTS, Windows
from corpuscle.transliterate.tuning import Round

__all__ = [
    "HISTORY",
    "KIND",
    "PARTIAL",
    "arrays_of",
    "history_arrays",
    "history_from",
    "read_names",
    "read_results",
    "write_results",
]

HISTORY = {
    "weights": Array("float64", (8,), finite=True),
    "history/weights": Array("float64", ("rounds", 8), finite=True),
    "history/values": Array("float64", ("rounds",), finite=True),
    "history/candidates": Array("int64", ("rounds",), low=0),
}
PARTIAL = partial(
    "transliterate.phrase",
    *({"probability": Array("float64", (f"pieces{n}",), low=0, finite=True, optional=True)} for n in range(3)),
)
"""What is kept of an unfinished training: of the joint aligner, then the rounds of tuning, then of the joint aligner on
all pairs. With other aligners, tuning comes first."""


def history_from(arrays: Mapping[str, np.ndarray]) -> list[Round]:
    """Rounds of tuning from a file."""
    rows = zip(*(arrays[f"history/{name}"] for name in ("weights", "values", "candidates")), strict=True)
    return [Round(np.array(weights), float(value), int(candidates)) for weights, value, candidates in rows]


def _check(loaded: Container) -> None:
    """What the kernels rely on and the declarations cannot say."""
    from corpuscle.transliterate.phrase import PhraseTransliterator

    context = PhraseTransliterator.restored(loaded.described).context > 0
    extra = loaded.extra
    if type(extra.get("joint")) is not bool:
        raise ValueError("it does not say whether it has a joint model")
    check_table(loaded)
    if extra["joint"] and len(loaded.component("joint").arrays["vocab/counts"]) != extra.get("piece_types", -4) + 3:
        raise ValueError("the table and its component 'joint' have different symbols")
    _check_pieces(loaded, context)


def _check_pieces(loaded: Container, context: bool) -> None:
    """Pieces are there for the joint model, or for that of pieces in their context, whose weights a hash finds."""
    arrays = loaded.arrays
    if len(arrays["context"]) != (WEIGHTS if context else 0):
        raise ValueError(f"{len(arrays['context'])} weights of the context")
    if len(arrays["pieces/counts"]) != (loaded.extra["piece_types"] + 3 if context else 0):
        raise ValueError("the table and the pieces in their context are different")
    if not context and not loaded.extra["joint"] and len(arrays["pieces"]):
        raise ValueError("there are pieces, but no model of them")


def _components(extra: Mapping[str, Any]) -> dict[str, tuple[Kind, ...]]:
    names = ("lm", "joint") if extra.get("joint") is True else ("lm",)
    return dict.fromkeys(names, (NgramModel.KIND,))


KIND = Kind(
    "transliterate.phrase",
    1,
    {
        **TABLE_ARRAYS,
        **ITEMS,
        "pieces/starts": Array("int64", ("pieces+1",), offsets_into="piece_symbols"),
        "pieces/symbols": Array("int32", ("piece_symbols",), low=0, high="source_types+3"),
        "pieces/counts": Array("int64", ("pieces",), low=0),
        "context": Array("float32", ("context_weights",), finite=True),
        **HISTORY,
    },
    components=_components,
    check=_check,
)


def arrays_of(
    table: PhraseTable, source: Vocab, context: Windows, weights: np.ndarray, history: Sequence[Round]
) -> dict[str, np.ndarray]:
    """The arrays of a model file."""
    return {
        **source.arrays("source/"),
        **table_arrays(table),
        "pieces/starts": context.starts,
        "pieces/symbols": context.symbols,
        "pieces/counts": context.counts,
        "context": context.weights,
        **history_arrays(weights, history),
    }


def history_arrays(weights: np.ndarray, history: Sequence[Round]) -> dict[str, np.ndarray]:
    """Weights and the rounds of tuning that found them, as ``HISTORY`` declares them."""
    return {
        "weights": weights,
        "history/weights": np.array([step.weights for step in history], np.float64).reshape(-1, 8),
        "history/values": np.array([step.value for step in history], np.float64),
        "history/candidates": np.array([step.candidates for step in history], np.int64),
    }


_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML can hold, not even escaped."""


def read_names(path: AnyPath) -> list[Pair]:
    """Name pairs from TSV, or from the XML of the NEWS tasks where the file's name ends in ``.xml``."""
    return pairs(path, None)


def write_results(names: Iterable[tuple[str, Sequence[Candidate]]], path: AnyPath, run: str = "1") -> None:
    """Write ranked candidates as the NEWS tasks want them: the rank of a target is its ID.

    A character that XML cannot hold becomes U+FFFD, with a warning.
    """
    replaced = 0

    def text(name: str) -> str:
        nonlocal replaced
        clean, count = _NOT_XML.subn("\ufffd", name)
        replaced += count
        return escape(clean)

    with write_atomically(path, "w") as output:
        output.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        output.write(
            f'<TransliterationTaskResults SourceLang="" TargetLang="" GroupID="Corpuscle" RunID={quoteattr(run)} '
            'RunType="Standard" Comments="">\n'
        )
        for number, (source, candidates) in enumerate(names, 1):
            output.write(f'  <Name ID="{number}">\n    <SourceName>{text(source)}</SourceName>\n')
            for rank, (target, _) in enumerate(candidates, 1):
                output.write(f'    <TargetName ID="{rank}">{text(target)}</TargetName>\n')
            output.write("  </Name>\n")
        output.write("</TransliterationTaskResults>\n")
    if replaced:
        warn(f"characters that XML cannot hold are written as U+FFFD: {replaced}")


def read_results(path: AnyPath) -> list[list[str]]:
    """Ranked targets from what ``apply`` writes: one target a line; source, rank, target, score a line; or XML."""
    if str(path).endswith(".xml"):
        return [list(pair.targets) for pair in read_news(path, results=True)]
    results: list[list[str]] = []
    for number, fields in read_table(path):
        if len(fields) == 1:
            results.append([target for target in fields if target])
            continue
        if len(fields) != 4 or not (fields[1].isascii() and fields[1].isdecimal()):
            raise InputError(path, number, "expected a target, or source, rank, target and score separated by tabs")
        rank = int(fields[1]) if len(fields[1]) < 10 else 0
        if rank == 1 or rank == 0:
            results.append([])
        if not results or rank != len(results[-1]) + (rank > 0):
            raise InputError(path, number, f"rank {fields[1]} does not follow the one before it")
        if rank:
            results[-1].append(fields[2])
    return results
