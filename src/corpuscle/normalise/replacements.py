"""Replacements: what a word stands for, from a dictionary of slang or as seen in annotated messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corpuscle.errors import InputError
from corpuscle.model import Array, vocab_arrays
from corpuscle.normalise.tokens import is_examined
from corpuscle.text.files import AnyPath, read_lines
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, Vocab

Messages = Sequence[Sequence[str]]


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
        return {typed: dict(sorted(several.items(), key=lambda item: -item[1])) for typed, several in found.items()}

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
    def seen(cls, typed: Messages, meant: Messages, never: Collection[str]) -> Replacements:
        """Count the pairs of annotated messages. A token whose followers have empty forms stands for a run together
        with these (``al right``: *alright*); where the tokens of such a run are not one word they count as that."""
        pairs: list[tuple[str, str]] = []
        runs: set[tuple[str, ...]] = set()
        for one, other in zip(typed, meant, strict=True):
            k = 0
            while k < len(one):
                end = k + 1
                while other[k] and end < len(one) and not other[end]:
                    end += 1
                if is_examined(one[k]) and one[k].lower() not in never:
                    if end > k + 1:
                        runs.add(tuple(token.lower() for token in one[k:end]))
                    pairs.append((" ".join(one[k:end]), other[k]))
                k = end
        apart: Counter[tuple[str, str]] = Counter()
        firsts = {run[0] for run in runs}
        for one, other in zip(typed, meant, strict=True):
            lower = [token.lower() for token in one]
            for k in (k for k, token in enumerate(lower) if token in firsts):
                for run in runs:
                    if tuple(lower[k : k + len(run)]) == run and all(other[k : k + len(run)]):
                        apart[" ".join(run), " ".join(run)] += 1
        return cls(cls.from_pairs(pairs).counts | apart)

    @classmethod
    def beside(
        cls, seen: Replacements, typed: Messages, meant: Messages, edges: tuple[str, str]
    ) -> tuple[Replacements, Replacements]:
        """The replacements of words that have several, each with the word before it in front, and with the word behind
        it at the end; ``edges`` stand before the first and behind the last."""
        after: Counter[tuple[str, str]] = Counter()
        before: Counter[tuple[str, str]] = Counter()
        for one, other in zip(typed, meant, strict=True):
            lower = [edges[0], *(token.lower() for token in one), edges[1]]
            for k, form in enumerate(other, 1):
                word, meaning = lower[k], " ".join(form.lower().split())
                if len(seen.of.get(word, ())) > 1:
                    after[f"{lower[k - 1]} {word}", meaning] += 1
                    before[f"{word} {lower[k + 1]}", meaning] += 1
        return cls(after), cls(before)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Replacements:
        """Count pairs of what was typed and what was meant, in lower case."""
        return cls(Counter((typed.lower(), " ".join(meant.lower().split())) for typed, meant in pairs))


class Run(NamedTuple):
    """Several tokens that stand for one form, and the share of times that they did."""

    tokens: tuple[str, ...]
    form: str
    share: float


def runs_of(*several: Replacements) -> dict[str, list[Run]]:
    """First token -> runs that mostly stand for one form, the longest first; what later replacements say of a run
    counts."""
    found: dict[str, tuple[str, float]] = {}
    for replacements in several:
        for typed, forms in replacements.of.items():
            if " " in typed:
                form = next(iter(forms))
                found[typed] = form, forms[form] / sum(forms.values())
    runs: dict[str, list[Run]] = {}
    for typed, (form, share) in found.items():
        if form != typed:
            runs.setdefault(typed.split()[0], []).append(Run(tuple(typed.split()), form, share))
    return {first: sorted(some, key=lambda run: (-len(run.tokens), run.tokens)) for first, some in runs.items()}


def read_slang(path: AnyPath) -> Replacements:
    """A dictionary: a word, or several, and what they stand for, with a tab between, on each line; of several entries
    the first counts."""
    entries: dict[str, str] = {}
    for number, (typed, meant) in read_table(path, ("word", "meaning")):
        if not typed.strip() or not meant.strip():
            raise InputError(path, number, "needs a word, a tab and what it stands for")
        entries.setdefault(" ".join(typed.lower().split()), meant)
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
