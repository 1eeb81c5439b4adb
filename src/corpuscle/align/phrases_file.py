"""A phrase table inside a model file: its arrays, what they must satisfy, and the way there and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corpuscle.align.phrases import PhraseTable
from corpuscle.compiled import frozen
from corpuscle.engine.phrases.extraction import LONGEST, Trie
from corpuscle.model import Array, Container, vocab_arrays

__all__ = ["TABLE_ARRAYS", "check_table", "table_arrays", "table_from"]

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

TABLE_ARRAYS = {
    **vocab_arrays("source/", "source_types"),
    "trie/symbols": Array("int32", ("nodes",), low=0, high="source_types+3"),
    "trie/first_child": Array("int32", ("nodes+1",), low=0, high="nodes+1", rising=True),
    **_TABLE,
}
"""The arrays of a model with a phrase table and the vocabulary of its source; the header has ``roots``,
``target_types`` and ``piece_types``."""


def check_table(loaded: Container) -> None:
    """What the kernels rely on and the declarations cannot say."""
    arrays, roots = loaded.arrays, loaded.extra.get("roots")
    symbols, first_child = arrays["trie/symbols"], arrays["trie/first_child"]
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
    if len(loaded.component("lm").arrays["vocab/counts"]) != loaded.extra.get("target_types", -4) + 3:
        raise ValueError("the table and its component 'lm' have different symbols")


def table_arrays(table: PhraseTable) -> dict[str, np.ndarray]:
    """The arrays of a table, without the vocabulary of its source."""
    trie = {"trie/symbols": table.trie.symbols, "trie/first_child": table.trie.first_child}
    return trie | {name: getattr(table, name) for name in _TABLE}


def table_from(arrays: Mapping[str, np.ndarray], roots: int) -> PhraseTable:
    """The table of a model file that has been checked."""
    trie = Trie(frozen(arrays["trie/symbols"], np.int32), frozen(arrays["trie/first_child"], np.int32), roots)
    return PhraseTable(trie, *(frozen(arrays[name], declared.dtype) for name, declared in _TABLE.items()))
