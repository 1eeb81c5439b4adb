"""Files of this task: the model's arrays and what they must satisfy, and the results of the NEWS tasks as XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.errors import InputError, warn
from corpuscle.learning import partial
from corpuscle.lm import NgramModel
from corpuscle.model import ITEMS, Array, Container, Kind, vocab_arrays
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.pairs import Pair, read_news, read_pairs
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.base import Candidate
from corpuscle.transliterate.kernels.phrases import LONGEST, Trie
from corpuscle.transliterate.kernels.windows import WEIGHTS, Windows
from corpuscle.transliterate.table import PhraseTable
from corpuscle.transliterate.tuning import Round

__all__ = [
    "KIND",
    "PARTIAL",
    "arrays_of",
    "history_from",
    "read_names",
    "read_results",
    "table_from",
    "write_results",
]

_HISTORY = {
    "history/weights": Array("float64", ("rounds", 8), finite=True),
    "history/values": Array("float64", ("rounds",), finite=True),
    "history/candidates": Array("int64", ("rounds",), low=0),
}
_TABLE = {
    "first_entry": Array("int64", ("nodes+1",), offsets_into="entries"),
    "target_starts": Array("int64", ("entries+1",), offsets_into="target_symbols"),
    "targets": Array("int32", ("target_symbols",), low=3, high="target_types+3"),
    "counts": Array("float64", ("entries",), finite=True),
    "lexical": Array("float32", ("entries", 2), low=0.0, finite=True),
    "links": Array("uint64", ("entries",)),
    "piece_starts": Array("int64", ("entries+1",), offsets_into="entry_pieces"),
    "pieces": Array("int32", ("entry_pieces",), low=3, high="piece_types+3"),
}
"""The arrays of a ``PhraseTable``, in their order, besides its trie."""
PARTIAL = partial(
    "transliterate.phrase",
    *({"probability": Array("float64", (f"pieces{n}",), low=0, finite=True, optional=True)} for n in range(3)),
)
"""What is kept of an unfinished training: of the joint aligner, then the rounds of tuning, then of the joint aligner on
all pairs. With other aligners, tuning comes first."""


def history_from(arrays: Mapping[str, np.ndarray]) -> list[Round]:
    """Rounds of tuning from a file."""
    rows = zip(*(arrays[name] for name in _HISTORY), strict=True)
    return [Round(np.array(weights), float(value), int(candidates)) for weights, value, candidates in rows]


def _check(loaded: Container) -> None:
    """What the kernels rely on and the declarations cannot say."""
    from corpuscle.transliterate.phrase import PhraseTransliterator

    context = PhraseTransliterator.restored(loaded.described).context > 0
    arrays, extra = loaded.arrays, loaded.extra
    if type(extra.get("joint")) is not bool:
        raise ValueError("it does not say whether it has a joint model")
    symbols, first_child, roots = arrays["trie/symbols"], arrays["trie/first_child"], extra.get("roots")
    if type(roots) is not int or not 0 < roots <= len(symbols) or first_child[0] != roots:
        raise ValueError("the phrase trie does not begin with its roots")
    if first_child[-1] != len(symbols) or (first_child[:-1] <= np.arange(len(symbols))).any():
        raise ValueError("a phrase in the trie is not longer than the one it extends")
    begins = np.zeros(len(symbols) + 1, bool)
    begins[first_child] = True
    begins[0] = True
    if ((np.diff(symbols) <= 0) & ~begins[1:-1]).any():
        raise ValueError("the symbols after a phrase must rise")
    if Trie(symbols, first_child, roots).depth > LONGEST or np.diff(arrays["target_starts"]).max(initial=0) > LONGEST:
        raise ValueError(f"a phrase has more than {LONGEST} symbols")
    if not (arrays["counts"] > 0).all():
        raise ValueError("every entry of the table has been seen")
    types = [("lm", "target_types")] + ([("joint", "piece_types")] if extra.get("joint") else [])
    for component, size in types:
        if len(loaded.component(component).arrays["vocab/counts"]) != extra.get(size, -4) + 3:
            raise ValueError(f"the table and its component {component!r} have different symbols")
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
        **vocab_arrays("source/", "source_types"),
        **ITEMS,
        "trie/symbols": Array("int32", ("nodes",), low=0, high="source_types+3"),
        "trie/first_child": Array("int32", ("nodes+1",), low=0, high="nodes+1", rising=True),
        **_TABLE,
        "pieces/starts": Array("int64", ("pieces+1",), offsets_into="piece_symbols"),
        "pieces/symbols": Array("int32", ("piece_symbols",), low=0, high="source_types+3"),
        "pieces/counts": Array("int64", ("pieces",), low=0),
        "context": Array("float32", ("context_weights",), finite=True),
        "weights": Array("float64", (8,), finite=True),
        **_HISTORY,
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
        "trie/symbols": table.trie.symbols,
        "trie/first_child": table.trie.first_child,
        **{name: getattr(table, name) for name in _TABLE},
        "pieces/starts": context.starts,
        "pieces/symbols": context.symbols,
        "pieces/counts": context.counts,
        "context": context.weights,
        "weights": weights,
        "history/weights": np.array([step.weights for step in history], np.float64).reshape(-1, 8),
        "history/values": np.array([step.value for step in history], np.float64),
        "history/candidates": np.array([step.candidates for step in history], np.int64),
    }


def table_from(arrays: Mapping[str, np.ndarray], roots: int) -> PhraseTable:
    """The table of a model file that has been checked."""
    trie = Trie(frozen(arrays["trie/symbols"], np.int32), frozen(arrays["trie/first_child"], np.int32), roots)
    return PhraseTable(trie, *(frozen(arrays[name], declared.dtype) for name, declared in _TABLE.items()))


_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML can hold, not even escaped."""


def read_names(path: AnyPath) -> list[Pair]:
    """Name pairs from TSV, or from the XML of the NEWS tasks where the file's name ends in ``.xml``."""
    return read_news(path) if str(path).endswith(".xml") else read_pairs(path)


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
