"""Dictionaries of mentions: longest entries in a text, as a feature of taggers, and as a tagger that knows no better.

A file has an entry on a line, and its type behind a tab where it has one. Entries are split into tokens like text and
compared in lower case.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.entities.base import EntityTagger, Tagged
from corpuscle.entities.documents import UNTYPED, Documents
from corpuscle.entities.kernels.features import entries_of, look_up
from corpuscle.entities.kernels.fields import index_of
from corpuscle.entities.settings import DictionarySettings
from corpuscle.errors import InputError
from corpuscle.hashing import hashes_of
from corpuscle.model import Array
from corpuscle.settings import learned
from corpuscle.text.corpus import starts_of
from corpuscle.text.files import AnyPath
from corpuscle.text.heldout import item_hashes
from corpuscle.text.mention_tags import TokenMention
from corpuscle.text.running import prepare
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, Vocab

DICTIONARY = {
    "entries/keys": Array("uint64", ("entry_words",), rising=True),
    "entries/kinds": Array("int32", ("entry_words",), low=-1, high="entry_kinds"),
}
"""The arrays of a dictionary inside a model; ``entry_kinds`` says how many types there are."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Entries by the numbers of their beginnings (``kernels.features``).

    - ``keys``: uint64 (n,), ascending; ``kinds``: int32 (n,), the type of a whole entry, -1 for a mere beginning;
    - ``types``: the names of the types.
    """

    keys: np.ndarray
    kinds: np.ndarray
    types: tuple[str, ...]

    @cached_property
    def index(self) -> np.ndarray:
        """A hash table over the keys."""
        return index_of(self.keys)

    @classmethod
    def from_entries(cls, entries: Iterable[tuple[tuple[str, ...], str]]) -> Dictionary:
        """From entries, each a sequence of words in lower case and a type; the last of equal ones counts."""
        known = dict(entries)
        types = tuple(sorted(set(known.values())))
        words = hashes_of([word for entry in known for word in entry])
        starts = starts_of(len(entry) for entry in known)
        prefixes = np.zeros(len(words), np.uint64)
        entries_of(words, starts, prefixes)
        kinds = np.full(len(words), -1, np.int32)
        kinds[starts[1:] - 1] = [types.index(type) for type in known.values()]
        order = np.lexsort((-kinds, prefixes))  # a whole entry before a mere beginning
        keys, first = np.unique(prefixes[order], return_index=True)
        return cls(keys, kinds[order][first], types)

    def matches(self, documents: Documents) -> tuple[np.ndarray, np.ndarray]:
        """Of each token 1 + the type of the entry it is in, or 0, int32; and whether it begins one, bool."""
        words = documents.lowered
        found, begins = np.zeros(len(words), np.int32), np.zeros(len(words), bool)
        look_up(words, documents.corpus.sentence_starts, self.index, self.keys, self.kinds, found, begins)
        return found, begins

    def marks(self, documents: Documents) -> np.ndarray:
        """For features: a hash of the type and of first or later, 0 outside of entries; uint64 (n_tokens,)."""
        found, begins = self.matches(documents)
        names = ["", *(f"{letter} {type}" for type in self.types for letter in "IB")]
        return hashes_of(names)[np.where(found > 0, 2 * found - 1 + begins, 0)]

    def arrays(self, types: str = "vocab/") -> dict[str, np.ndarray]:
        """As they go into a model file, see ``DICTIONARY``; ``types``: the prefix of the vocabulary of types."""
        return {"entries/keys": self.keys, "entries/kinds": self.kinds, **Vocab.from_words(self.types).arrays(types)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], types: str = "vocab/") -> Dictionary | None:
        if "entries/keys" not in arrays:
            return None
        names = tuple(Vocab.from_arrays(arrays, types).strings[FIRST:])
        return cls(arrays["entries/keys"], arrays["entries/kinds"], names)


def read_dictionary(path: AnyPath) -> Dictionary:
    """Read a file of entries."""
    rows = [(number, fields) for number, fields in read_table(path) if any(map(str.strip, fields))]
    wrong = next((number for number, fields in rows if len(fields) > 2 or not fields[0].strip()), None)
    if wrong is not None:
        raise InputError(path, wrong, "expected an entry, and perhaps its type behind a tab")
    if not rows:
        raise InputError(path, None, "there are no entries in it")
    entries = [fields[0].lower() for _, fields in rows]
    texts = prepare("\n".join(entries), line_breaks="sentence")
    lines = np.searchsorted(starts_of(len(entry) + 1 for entry in entries), texts.offsets[:, 0], "right") - 1
    words: list[list[str]] = [[] for _ in rows]
    for token, line in zip(texts.tokens, lines.tolist(), strict=True):
        words[line].append(token)
    types = [(fields[1].strip() if len(fields) > 1 else "") or UNTYPED for _, fields in rows]
    return Dictionary.from_entries((tuple(entry), type) for entry, type in zip(words, types, strict=True) if entry)


class DictionaryTagger(DictionarySettings, EntityTagger):
    """Marks the longest strings that were mentions in the training text: the baseline of every learned tagger.

    Learned: ``dictionary_``, a ``Dictionary``.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "entities.dictionary", 1, {**container.TRAINING_ITEMS, **container.VOCAB, **DICTIONARY}
    )
    SAVED: ClassVar = {"dictionary_": container.Record(Dictionary)}

    dictionary_: Dictionary = learned()

    @property
    def types(self) -> list[str]:
        return sorted(self.dictionary_.types)

    def fit(self, documents: Documents) -> DictionaryTagger:
        """Take all mentions in one piece for entries, each with its most frequent type."""
        self._refuse(("source",), "to a dictionary, which has no features")
        counts = defaultdict[tuple[str, ...], Counter[str]](Counter)
        for words, mentions in zip(documents.corpus, documents.mentions, strict=True):
            for mention in mentions:
                if len(mention.runs) == 1:
                    counts[tuple(words[token].lower() for token in mention.tokens)][mention.type] += 1
        if not counts:
            raise documents.error("no mention in one piece to learn from")
        entries = ((entry, max(sorted(types), key=lambda type: types[type])) for entry, types in counts.items())
        self.dictionary_ = Dictionary.from_entries(entries)
        self.items_ = item_hashes(documents.corpus)
        self.provenance_ = {"documents": len(documents), "entries": len(counts), "words": documents.corpus.n_tokens}
        self.chosen_ = {}
        return self

    def tag(self, documents: Documents) -> Tagged:
        """The entries in documents; nothing is said about how sure they are."""
        found, begins = self.dictionary_.matches(documents)
        entry, mentions = np.cumsum(begins), []  # which entry each token is in, if any
        for first, last in pairwise(documents.corpus.sentence_starts.tolist()):
            tokens = first + np.flatnonzero(found[first:last])
            runs = [list(run) for _, run in groupby(tokens.tolist(), key=entry.__getitem__)]
            kinds = [self.dictionary_.types[found[run[0]] - 1] for run in runs]
            each = zip(kinds, runs, strict=True)
            mentions.append([TokenMention(kind, tuple(token - first for token in run)) for kind, run in each])
        sure = [np.ones(length) for length in documents.corpus.lengths.tolist()]
        return Tagged(mentions, [[1.0] * len(each) for each in mentions], sure)

    def _extra(self) -> dict[str, Any]:
        return {"entry_kinds": len(self.dictionary_.types)}
