"""Replacements: what a word stands for, from a dictionary of slang or as seen in annotated messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from corpuscle.errors import InputError
from corpuscle.model import Array, vocab_arrays
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, Vocab

__all__ = ["Replacements", "read_slang", "read_words", "replacement_arrays"]


def replacement_arrays(prefix: str) -> dict[str, Array]:
    """The declared arrays of replacements."""
    name = prefix.strip("/")
    return {
        **vocab_arrays(f"{prefix}typed/", f"{name}_typed"),
        **vocab_arrays(f"{prefix}meant/", f"{name}_meant"),
        f"{prefix}rows": Array("int32", (f"{name}_rows", 2), low=-1),
        f"{prefix}counts": Array("int64", (f"{name}_rows",), low=1, high=2**40),
    }


class Replacements:
    """How often each typed word (lower case) stood for what; what was meant may be several words, or none."""

    def __init__(self, counts: Mapping[tuple[str, str], int]):
        self.counts = dict(counts)

    def __repr__(self) -> str:
        return f"Replacements({len(self.counts):,} pairs)"

    @cached_property
    def of(self) -> dict[str, dict[str, int]]:
        """Typed word -> what it stood for, with counts, the most frequent first, of equal ones the first seen."""
        found: dict[str, dict[str, int]] = {}
        for (typed, meant), count in self.counts.items():
            found.setdefault(typed, {})[meant] = count
        return {
            typed: dict(sorted(several.items(), key=lambda item: -item[1])) for typed, several in found.items()
        }

    def __len__(self) -> int:
        return len(self.counts)

    def arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """As a model file has them."""
        typed = {word: i for i, word in enumerate(dict.fromkeys(pair[0] for pair in self.counts))}
        meant = {word: i for i, word in enumerate(dict.fromkeys(pair[1] for pair in self.counts if pair[1]))}
        rows = [(typed[pair[0]], meant.get(pair[1], -1)) for pair in self.counts]
        return {
            **Vocab.from_words(typed).arrays(f"{prefix}typed/"), **Vocab.from_words(meant).arrays(f"{prefix}meant/"),
            f"{prefix}rows": np.array(rows, np.int32).reshape(-1, 2),
            f"{prefix}counts": np.array(list(self.counts.values()), np.int64),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], prefix: str) -> Replacements:
        """From those of a file; ``ValueError`` where a row names a word that is not there."""
        typed, meant = (Vocab.from_arrays(arrays, f"{prefix}{side}/").strings[FIRST:] for side in ("typed", "meant"))
        rows = arrays[f"{prefix}rows"]
        if len(rows) and (rows.min(axis=0)[0] < 0 or (rows.max(axis=0) >= [len(typed), len(meant)]).any()):
            raise ValueError(f"{prefix}rows name words that are not there")
        pairs = [(typed[a], meant[b] if b >= 0 else "") for a, b in rows.tolist()]
        return cls(dict(zip(pairs, arrays[f"{prefix}counts"].tolist(), strict=True)))

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Replacements:
        """Count pairs of what was typed and what was meant, in lower case."""
        return cls(Counter((typed.lower(), " ".join(meant.lower().split())) for typed, meant in pairs))


def read_slang(path: AnyPath) -> Replacements:
    """A dictionary: a word and what it stands for, with a tab between, on each line; of several entries the first
    counts."""
    entries: dict[str, str] = {}
    for number, (typed, meant) in read_table(path, ("word", "meaning")):
        if not typed.strip() or not meant.strip() or any(char.isspace() for char in typed.strip()):
            raise InputError(path, number, "needs a word, a tab and what it stands for")
        entries.setdefault(typed.strip().lower(), meant)
    if not entries:
        raise InputError(path, None, "the dictionary is empty")
    return Replacements.from_pairs(entries.items())


def read_words(path: AnyPath) -> list[str]:
    """A word list: a word on each line, perhaps with a count behind it, which is not used."""
    words = []
    for number, line in read_lines(path):
        fields = line.split()
        if len(fields) > 2 or (len(fields) == 2 and not fields[1].isdigit()):
            raise InputError(path, number, "needs one word, and perhaps its count")
        words += fields[:1]
    if not words:
        raise InputError(path, None, "the word list is empty")
    return words
