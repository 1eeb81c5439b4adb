"""Features of the user's own: what a table or a function says about a source word and a target word.

A table is a text file with four fields on a line, separated by tabs: source word, target word, name of the feature,
value. An empty source word is the null word that target words may come from, an empty target word the one that source
words may come from. The words are treated like those of the text (lower-cased and so on, where the text is). Features
need not be about words of the training text: a weight learned for a name serves all its lines.

A function takes both words, one of them None where the null word stands, and returns names and values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.model import Array, vocab_arrays
from corpuscle.text.corpus import Preprocessing
from corpuscle.text.files import AnyPath
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, START, UNKNOWN, Vocab

Function = Callable[[str | None, str | None], Mapping[str, float]]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
LARGEST = 1e6
"""Values are not larger than this."""


USER_ARRAYS = {
    **vocab_arrays("user/names/", "user_names"),
    **vocab_arrays("user/source/", "user_source"),
    **vocab_arrays("user/target/", "user_target"),
    "user/places": Array("int32", ("user_places", 3), low=0),
    "user/values": Array("float64", ("user_places",), low=-LARGEST, high=LARGEST + 1),
}


def check_user_arrays(arrays: Mapping[str, np.ndarray]) -> None:
    """What the declarations of the arrays cannot say."""
    places = arrays["user/places"].astype(np.int64)
    sizes = [len(arrays[f"user/{part}/offsets"]) - 1 for part in ("source", "target", "names")]
    limits = np.array([sizes[0] + FIRST, sizes[1] + FIRST, sizes[2]])
    if (places >= limits).any() or (places[:, :2] < START).any():
        raise ValueError("it has features of words that are not there")
    keys = (places[:, 0] * limits[1] + places[:, 1]) * (limits[2] + 1) + places[:, 2]
    if (np.diff(keys) <= 0).any():
        raise ValueError("the features of the user are not in order")


@dataclass
class UserFeatures:
    """Names of features and where they fire.

    - ``names``: in the order of their numbers; ``source_vocab``, ``target_vocab``: the words of the table;
    - ``places``: int32 (n, 3), rising: source id, target id (``START`` for the null word), name; ``values``: float64;
    - ``function``: called for every couple, besides the table or instead of it.
    """

    names: list[str] = field(default_factory=list)
    source_vocab: Vocab = field(default_factory=lambda: Vocab.from_words([]))
    target_vocab: Vocab = field(default_factory=lambda: Vocab.from_words([]))
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    function: Function | None = None

    def __post_init__(self) -> None:
        self._numbers = {name: k for k, name in enumerate(self.names)}
        self._called: dict[tuple[str | None, str | None], list[tuple[int, float]]] = {}

    def arrays(self) -> dict[str, np.ndarray]:
        """As a model file keeps them, without the function."""
        return {
            **Vocab.from_words(self.names).arrays("user/names/"),
            **self.source_vocab.arrays("user/source/"),
            **self.target_vocab.arrays("user/target/"),
            "user/places": self.places,
            "user/values": self.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> UserFeatures:
        """The inverse of ``arrays``."""
        names, source, target = (Vocab.from_arrays(arrays, f"user/{part}/") for part in ("names", "source", "target"))
        return cls(names.strings[FIRST:], source, target, arrays["user/places"], arrays["user/values"])

    @property
    def signature(self) -> str:
        """A hash of the table, empty if there is none."""
        if not len(self.places):
            return ""
        digest = hashlib.blake2b(digest_size=16)
        for part in self.places, self.values, self.source_vocab.bytes, self.target_vocab.bytes:
            digest.update(np.ascontiguousarray(part).tobytes())
        digest.update("\n".join(self.names).encode())
        return digest.hexdigest()

    def of(self, states: Vocab, outputs: Vocab, rows: np.ndarray, columns: np.ndarray, swap: bool, learn: bool) -> Rows:
        """Which features fire for couples: the couple of each (int64), its number (int32), its value (float64).

        ``rows`` are state types, ``len(states)`` for the null word; with ``swap`` states are targets. New names that
        the function gives get a number if we ``learn``, else they are left out.
        """
        found = [self._from_table(states, outputs, rows, columns, swap)]
        if self.function is not None:
            found.append(self._from_function(states, outputs, rows, columns, swap, learn))
        couples, numbers, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(couples, kind="stable")
        return couples[order], numbers[order], values[order]

    def _from_table(self, states: Vocab, outputs: Vocab, rows: np.ndarray, columns: np.ndarray, swap: bool) -> Rows:
        sides = (self.target_vocab, self.source_vocab) if swap else (self.source_vocab, self.target_vocab)
        mapped = [
            np.append(own.mapping_from(vocab), START) for own, vocab in zip(sides, (states, outputs), strict=True)
        ]
        for each in mapped:
            each[:FIRST] = UNKNOWN
        left, right = mapped[0][rows], mapped[1][columns]
        source, target = (right, left) if swap else (left, right)
        width = np.int64(len(self.target_vocab) + 1)
        keys = self.places[:, 0] * width + self.places[:, 1]
        wanted = source * width + target
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        last[(source == UNKNOWN) | (target == UNKNOWN)] = 0
        counts = np.maximum(last - first, 0)
        couples = np.repeat(np.arange(len(rows)), counts)
        lines = np.arange(len(couples)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
        return couples, self.places[lines, 2], self.values[lines]

    def _from_function(
        self, states: Vocab, outputs: Vocab, rows: np.ndarray, columns: np.ndarray, swap: bool, learn: bool
    ) -> Rows:
        left: list[str | None] = [*states.strings, None]
        right = outputs.strings
        couples, numbers, values = [], [], []
        for couple, (x, t) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            source, target = (right[t], left[x]) if swap else (left[x], right[t])
            for number, value in self._call(source, target, learn):
                couples.append(couple)
                numbers.append(number)
                values.append(value)
        return np.array(couples, np.int64), np.array(numbers, np.int32), np.array(values, np.float64)

    def _call(self, source: str | None, target: str | None, learn: bool) -> list[tuple[int, float]]:
        assert self.function is not None
        key = source, target
        if key not in self._called:
            fired = []
            for name, value in self.function(source, target).items():
                if not isinstance(name, str) or not name or not name.isprintable():
                    raise SettingError(f"the name of a feature is a word, not {name!r}")
                value = float(value)
                if not (isfinite(value) and abs(value) <= LARGEST):
                    raise SettingError(f"the feature {name} of {source!r} and {target!r} has the value {value}")
                if learn and name not in self._numbers:
                    self._numbers[name] = len(self.names)
                    self.names.append(name)
                if name in self._numbers:
                    fired.append((self._numbers[name], value))
            self._called[key] = fired
        return self._called[key]


def read_features(path: AnyPath, preprocessing: Preprocessing | None = None) -> UserFeatures:
    """Read a table of features, see above; blank lines are skipped."""
    preprocessing = preprocessing or Preprocessing()
    ids: tuple[dict[str, int], dict[str, int]] = {}, {}
    names: dict[str, int] = {}
    found: dict[tuple[int, int, int], float] = {}
    for number, fields in read_table(path, ("source", "target", "name", "value"), skip_blank=True):
        words = [preprocessing.words(text) for text in fields[:2]]
        if not words[0] and not words[1]:
            raise InputError(path, number, "source and target are both empty: one of them may be the null word")
        for text, each in zip(fields, words, strict=False):
            if len(each) > 1:
                raise InputError(path, number, f"{text[:40]!r} is more than one word")
        name = fields[2].strip(" ")
        if not name or not name.isprintable():
            raise InputError(path, number, "the feature has no name of printable characters")
        try:
            value = float(fields[3])
        except ValueError:
            raise InputError(path, number, f"{fields[3][:40]!r} is not a number") from None
        if not (isfinite(value) and abs(value) <= LARGEST):
            raise InputError(path, number, f"the value {fields[3][:40]} is not between -1000000 and 1000000")
        place = [
            START if not each else seen.setdefault(each[0], FIRST + len(seen))
            for seen, each in zip(ids, words, strict=True)
        ]
        key = place[0], place[1], names.setdefault(name, len(names))
        if key in found:
            raise InputError(path, number, f"the feature {name} of these words for the second time")
        found[key] = value
    if not found:
        raise InputError(path, None, "there are no features in this file")
    keys = sorted(found)
    return UserFeatures(
        list(names),
        Vocab.from_words(ids[0]),
        Vocab.from_words(ids[1]),
        np.array(keys, np.int32).reshape(-1, 3),
        np.array([found[key] for key in keys], np.float64),
    )
