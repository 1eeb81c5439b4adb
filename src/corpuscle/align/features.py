"""Features of the log-linear model of word alignment: their families, their numbers and their names.

A *family* is chosen by name; it has one or more *blocks* of features, and every feature has a number in the vector of
weights. Features of couples (a word that generates, a word that is generated) are listed by ``couple_features``; those
of positions and paths are found by the kernels of ``kernels.loglinear``.

The families (x generates t; C are word classes, the null word having its own):

- ``pair``: this x and this t; ``source``: this x, and its class; ``classpair``: the classes of x and t;
- ``identity``: x = t, and how long; ``prefix``: the same first three letters; ``ortho``: how similar the spellings are;
- ``dice``: how often the two meet; ``m1``: Model 1's p(t | x), p(x | t) and the square root of their product;
- ``m1log``: log p(t | x), whose weight begins at 1, so that learning starts from Model 1;
- ``diag``: distance from the diagonal, also by class of x;
- ``jump``: distance from the position before, also with the sentence length, the class of x, the classes of both;
- ``bigram``: the two words that successive outputs come from, and their classes;
- ``nulljump``: from or to the null word; ``cycle``: one word gives a copy of itself and another translation in a row.

The name of a feature is its block and what it is about: ``pair house maison`` (the word that generates comes first),
``jump +6..7``, ``classpair c12 c4``. ``<null>`` is the null word, ``<s>`` and ``</s>`` are the ends of a sentence,
``c?`` is the class of words without one.

Features of the user's own come from a table or a function. A table is a text file with four fields per line, separated
by tabs: source word, target word, name of the feature, value. An empty source word is the null word that target words
may come from, an empty target word the one that source words may come from. The words are preprocessed like the text,
and need not occur in the training text: a weight learned for a name serves all its lines. A function takes both words,
one of them None where the null word stands, and returns names and values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import NamedTuple, TypeVar

import numpy as np

from corpuscle.align.counts import rows_of
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.loglinear import BINS, FIRST_CLASS, SYMBOLS, Shape, similarities
from corpuscle.compiled import frozen
from corpuscle.errors import InputError, SettingError
from corpuscle.model import Array, vocab_arrays
from corpuscle.scale import chunks_of
from corpuscle.text.corpus import Preprocessing, starts_of
from corpuscle.text.files import AnyPath
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, START, UNKNOWN, Vocab

ORTHO_EDGES = np.arange(9, 31, 2) / 10
DICE_EDGES = np.append([0.05], np.arange(1, 10) / 10)
LENGTHS = 10
SMALLEST_M1 = 1e-3
LEAST_LOG = 1e-6
"""Lower bound on probabilities, before their logarithm is taken."""
COPY_LETTERS = 3
"""A copy of a word has at least this number of letters."""

_COUPLES_A_CALL = 500_000
_CLASSES = ("c?", "<s>", "</s>", "<null>")
_MODEL1 = ("p(t|x)", "p(x|t)", "sqrt(p(t|x)p(x|t))")

T = TypeVar("T")


def by_role(pair: tuple[T, T], direction: int) -> tuple[T, T]:
    """Of a source and a target, that of the states first, then that of the outputs."""
    return (pair[1], pair[0]) if direction else pair


def log_bins(longest: int) -> np.ndarray:
    """The bin of every length up to ``longest``: round(log1.3 d), int32 (longest + 1,); 0 for 0.

    >>> log_bins(10)[[1, 2, 3, 4, 5, 8, 10]].tolist()
    [0, 3, 4, 5, 6, 8, 9]
    """
    bins = np.zeros(longest + 1, np.int32)
    bins[1:] = np.minimum(np.round(np.log(np.arange(1, longest + 1)) / np.log(1.3)), BINS - 1)
    return frozen(bins, np.int32)


@dataclass(frozen=True)
class Layout:
    """Which feature has which number, in one direction.

    ``couples`` and ``bigrams`` are the sizes of the tables of known couples and bigrams, ``states`` and ``outputs`` the
    numbers of types of both sides, ``classes`` that of learned classes, ``user`` that of the user's features.
    """

    families: tuple[str, ...]
    couples: int
    bigrams: int
    states: int
    outputs: int
    classes: int
    user: int = 0

    @property
    def all_classes(self) -> int:
        """The number of classes, with those of the null word, the ends of a sentence, and unknown words."""
        return FIRST_CLASS + self.classes

    @cached_property
    def blocks(self) -> dict[str, tuple[int, int]]:
        """Block -> where it begins, and its size. Those that shrink when a model is saved come last."""
        c = self.all_classes
        sizes = {
            "source": {"source": self.states + 1, "source_class": c},
            "identity": {"identity": 1, "identity_length": LENGTHS},
            "prefix": {"prefix": 1},
            "ortho": {"ortho": len(ORTHO_EDGES)},
            "dice": {"dice": len(DICE_EDGES)},
            "m1": {"m1": 3},
            "m1log": {"m1log": 1},
            "classpair": {"classpair": c * c},
            "diag": {"diag": 1, "diag_class": c},
            "jump": {
                "jump": SYMBOLS,
                "jump_length": SYMBOLS * BINS,
                "jump_class": SYMBOLS * c,
                "jump_classes": SYMBOLS * c * c,
            },
            "nulljump": {"nulljump": 4},
            "cycle": {"cycle": 1},
            "user": {"user": self.user},
            "pair": {"pair_null": self.outputs, "pair": self.couples},
            "bigram": {"bigram_edge": 4 * self.states + 3, "bigram_classes": c * c, "bigram": self.bigrams},
        }
        blocks, start = {}, 0
        for family, parts in sizes.items():
            if family == "user" or family in self.families:
                for block, size in parts.items():
                    blocks[block] = start, size
                    start += size
        return blocks

    @property
    def size(self) -> int:
        return max((start + size for start, size in self.blocks.values()), default=0)

    def start(self, block: str) -> int:
        """Where a block begins, -1 if it is not used."""
        return self.blocks.get(block, (-1, 0))[0]

    def shape(self, remember: bool) -> Shape:
        names = Shape._fields[: Shape._fields.index("classes")]
        return Shape(*[*map(self.start, names), self.all_classes, self.states, int(remember)])


@dataclass(frozen=True)
class Side:
    """The types of one side of some text, and what the model knows about them.

    ``vocab``: the text's own; ``known``: int32, the id of each type in the model, ``UNKNOWN`` for new words;
    ``classes``: int32, the class of each type, the four that are not learned coming first.
    """

    vocab: Vocab
    known: np.ndarray
    classes: np.ndarray
    romanise: Callable[[str], str] | None = None

    @cached_property
    def spelling(self) -> tuple[np.ndarray, np.ndarray]:
        """The characters of all types as the romaniser writes them, int32, and where each type begins."""
        return self.letters if self.romanise is None else _characters(map(self.romanise, self._words))

    @cached_property
    def letters(self) -> tuple[np.ndarray, np.ndarray]:
        """The characters of all types as they are written, and where each type begins."""
        return _characters(self._words)

    @property
    def _words(self) -> list[str]:
        return ["", "", "", *self.vocab.strings[FIRST:]]

    @cached_property
    def prefixes(self) -> np.ndarray:
        """A number for the first three characters of each type, int64; -1 for short words and those with digits."""
        characters, starts = self.letters
        lengths = np.diff(starts)
        words = self.vocab.strings
        digits = np.array([any(map(str.isdigit, word)) for word in words])
        good = np.flatnonzero((lengths > COPY_LETTERS) & ~digits)
        one, two, three = (characters[starts[good] + k].astype(np.int64) for k in range(3))
        result = np.full(len(words), -1, np.int64)
        result[good] = one << 42 | two << 21 | three  # a character has at most 21 bits
        return result


def _characters(words: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    words = list(words)
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), "<i4")
    return frozen(codes, np.int32), frozen(starts_of([len(word) for word in words]), np.int64)


class Facts(NamedTuple):
    """The features of one direction: their numbers (``layout``), what the training text says about couples of the
    model's types, the ``bigrams`` of states that have a feature, and those of the ``user``.

    - ``keys``: int64 (n,), rising: source type times the number of target types, plus target type;
    - ``forward``, ``reverse``: float32 (n,), Model 1's p(t | x) and p(x | t), x being the state;
    - ``from_null``: float32 (output types,), p(t | null); ``dice``: uint8 (n,), the bin, 0 for none;
    - ``swap``: whether states are target types; ``target_types``: their number.
    """

    layout: Layout
    bigrams: Couples
    user: UserFeatures
    keys: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    from_null: np.ndarray
    dice: np.ndarray
    swap: bool
    target_types: int

    def find(self, states: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The place of couples in ``keys``, int64; -1 where they are not known."""
        source, target = (outputs, states) if self.swap else (states, outputs)
        wanted = source.astype(np.int64) * self.target_types + target
        if len(self.keys) == 0:
            return np.full(len(wanted), -1)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where((self.keys[place] == wanted) & (source >= FIRST) & (target >= FIRST), place, -1)


def same_types(states: Vocab, outputs: Vocab) -> np.ndarray:
    """For each state type the output type with the same string, int32; ``UNKNOWN`` where there is none."""
    same = outputs.mapping_from(states)
    same[:FIRST] = UNKNOWN
    return same


def couple_features(
    facts: Facts, states: Side, outputs: Side, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features of couples: where those of each begin (int64), their numbers (int32) and values (float64).

    ``rows`` are state types, ``len(states.vocab)`` for the null word, ``columns`` output types.
    """
    layout, n, null = facts.layout, len(rows), rows == len(states.vocab)
    words = np.where(null, UNKNOWN, rows)  # the null word has no string
    found: list[tuple[np.ndarray, np.ndarray | float]] = []  # numbers (n,), -1 for none, and values

    def add(block: str, offsets: np.ndarray | int, where: np.ndarray, values: np.ndarray | float = 1.0) -> None:
        if block in layout.blocks:
            found.append((np.where(where, layout.start(block) + offsets, -1), values))

    known_states, known_outputs = states.known[words], outputs.known[columns]
    place = facts.find(known_states, known_outputs)
    place[null] = -1
    met = place >= 0
    at = np.where(met, place, 0)
    add("pair_null", known_outputs, null & (known_outputs >= FIRST))
    add("pair", at, met)
    add("source", np.where(null, layout.states, known_states), null | (known_states >= FIRST))
    state_classes = np.where(null, FIRST_CLASS - 1, states.classes[words])
    add("source_class", state_classes, np.ones(n, bool))
    add("classpair", state_classes * layout.all_classes + outputs.classes[columns], np.ones(n, bool))
    same = (same_types(states.vocab, outputs.vocab)[words] == columns) & (words >= FIRST)
    add("identity", 0, same)
    if "identity" in layout.blocks:
        lengths = np.diff(states.letters[1])[words]
        add("identity_length", np.minimum(LENGTHS - 1, np.log(lengths + 1) / np.log(1.3) + 1e-9).astype(np.int64), same)
    if "prefix" in layout.blocks:
        prefixes = states.prefixes[words]
        add("prefix", 0, (prefixes >= 0) & (prefixes == outputs.prefixes[columns]) & ~same)
    if "ortho" in layout.blocks:
        similar, pairs = np.zeros(n), frozen(np.stack([words, columns]), np.int32)
        for first, last in pairwise(chunks_of(np.ones(n, np.int64), _COUPLES_A_CALL).tolist()):
            similarities(*states.spelling, *outputs.spelling, pairs, first, last, similar)
        bins = np.digitize(similar, ORTHO_EDGES)
        add("ortho", bins - 1, bins > 0)
    if "dice" in layout.blocks and len(facts.dice):
        bins = facts.dice[at].astype(np.int64)
        add("dice", bins - 1, met & (bins > 0))
    if layout.blocks.keys() & {"m1", "m1log"}:
        forward, reverse = np.zeros((2, n))
        forward[null] = facts.from_null[known_outputs[null]]
        forward[met], reverse[met] = facts.forward[place[met]], facts.reverse[place[met]]
        for k, value in enumerate((forward, reverse, np.sqrt(forward * reverse))):
            add("m1", k, value >= SMALLEST_M1, value)
        add("m1log", 0, np.ones(n, bool), np.log(np.maximum(forward, LEAST_LOG)))
    numbers = np.stack([each for each, _ in found], axis=1) if found else np.zeros((n, 0), np.int64)
    values = np.stack([np.broadcast_to(value, n) for _, value in found], axis=1) if found else np.zeros((n, 0))
    there = numbers >= 0
    return starts_of(there.sum(axis=1)), numbers[there].astype(np.int32), values[there].astype(np.float64)


def _class(number: int) -> str:
    return _CLASSES[number] if number < FIRST_CLASS else f"c{number - FIRST_CLASS}"


_BINNED = [np.flatnonzero(log_bins(1000)[1:] == k) + 1 for k in range(BINS)]
_LENGTHS = [f"{each[0]}..{each[-1]}" if len(each) > 1 else "".join(map(str, each)) for each in _BINNED]
_LENGTHS[-1] = f"{_BINNED[-1][0]}.."
"""The names of bins of lengths."""


def _jump(kind: int) -> str:
    if kind == 0:
        return "S"
    return ("+" if kind <= BINS else "-") + _LENGTHS[(kind - 1) % BINS]


def feature_names(facts: Facts, numbers: np.ndarray, states: Vocab, outputs: Vocab, couples: Couples) -> list[str]:
    """The names of the features with these ``numbers``; ``couples``: those of the model, source by source."""
    layout, bigrams, c = facts.layout, facts.bigrams, facts.layout.all_classes
    heads = [rows_of(table).tolist() for table in (couples, bigrams)]

    def pair(k: int) -> str:
        x, t = heads[0][k], int(couples.columns[k])
        return f"{states.word(t)} {outputs.word(x)}" if facts.swap else f"{states.word(x)} {outputs.word(t)}"

    def edge(k: int) -> str:
        kind, x = divmod(k, layout.states)
        if kind == 4:
            return ("<null> <null>", "<null> </s>", "<s> <null>")[x]
        word = states.word(x)
        return (f"{word} <null>", f"{word} </s>", f"<null> {word}", f"<s> {word}")[kind]

    describe: dict[str, Callable[[int], str]] = {
        "pair": pair,
        "pair_null": lambda k: f"<null> {outputs.word(k)}",
        "source": lambda k: "<null>" if k == layout.states else states.word(k),
        "source_class": _class,
        "identity_length": lambda k: str(k),
        "ortho": lambda k: f"{ORTHO_EDGES[k]:.1f}",
        "dice": lambda k: f"{DICE_EDGES[k]:g}",
        "m1": lambda k: _MODEL1[k],
        "m1log": lambda k: "log p(t|x)",
        "classpair": lambda k: f"{_class(k // c)} {_class(k % c)}",
        "diag_class": _class,
        "jump": _jump,
        "jump_length": lambda k: f"{_jump(k // BINS)} {_LENGTHS[k % BINS]}",
        "jump_class": lambda k: f"{_jump(k // c)} {_class(k % c)}",
        "jump_classes": lambda k: f"{_jump(k // c // c)} {_class(k // c % c)} {_class(k % c)}",
        "bigram": lambda k: f"{states.word(heads[1][k])} {states.word(int(bigrams.columns[k]))}",
        "bigram_edge": edge,
        "bigram_classes": lambda k: f"{_class(k // c)} {_class(k % c)}",
        "nulljump": lambda k: ("word word", "word <null>", "<null> word", "<null> <null>")[k],
        "user": lambda k: facts.user.names[k],
    }
    names = {}
    for block, (start, size) in layout.blocks.items():
        for number in numbers[(numbers >= start) & (numbers < start + size)].tolist():
            more = describe[block](number - start) if block in describe else ""
            names[number] = f"{block} {more}".rstrip()
    return [names[number] for number in numbers.tolist()]


Function = Callable[[str | None, str | None], Mapping[str, float]]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
LARGEST = 1e6
"""The largest absolute value of a feature."""


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
    - ``function``: called for every couple, in addition to the table or instead of it.
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
            left: list[str | None] = [*states.strings, None]
            right: list[str | None] = [*outputs.strings]
            words = ((left[x], right[t]) for x, t in zip(rows.tolist(), columns.tolist(), strict=True))
            fired = [(k, *each) for k, pair in enumerate(words) for each in self._call(*by_role(pair, swap), learn)]
            k, number, value = zip(*fired, strict=True) if fired else ((), (), ())
            found.append((np.array(k, np.int64), np.array(number, np.int32), np.array(value, np.float64)))
        couples, numbers, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(couples, kind="stable")
        return couples[order], numbers[order], values[order]

    def _from_table(self, states: Vocab, outputs: Vocab, rows: np.ndarray, columns: np.ndarray, swap: bool) -> Rows:
        sides, found = by_role((self.source_vocab, self.target_vocab), swap), []
        for own, vocab, types in zip(sides, (states, outputs), (rows, columns), strict=True):
            known = np.append(own.mapping_from(vocab), START)
            known[:FIRST] = UNKNOWN
            found.append(known[types])
        source, target = by_role((found[0], found[1]), swap)
        width = np.int64(len(self.target_vocab) + 1)
        keys = self.places[:, 0] * width + self.places[:, 1]
        wanted = source * width + target
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        last[(source == UNKNOWN) | (target == UNKNOWN)] = 0
        counts = np.maximum(last - first, 0)
        begins = starts_of(counts)
        lines = np.arange(begins[-1]) + np.repeat(first - begins[:-1], counts)
        return np.repeat(np.arange(len(rows)), counts), self.places[lines, 2], self.values[lines]

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
        source, target = (
            seen.setdefault(each[0], FIRST + len(seen)) if each else START
            for seen, each in zip(ids, words, strict=True)
        )
        key = source, target, names.setdefault(name, len(names))
        if key in found:
            raise InputError(path, number, f"the feature {name} of these words for the second time")
        found[key] = value
    if not found:
        raise InputError(path, None, "there are no features in this file")
    keys = sorted(found)
    values = np.array([found[key] for key in keys], np.float64)
    vocabs = Vocab.from_words(ids[0]), Vocab.from_words(ids[1])
    return UserFeatures(list(names), *vocabs, np.array(keys, np.int32).reshape(-1, 3), values)
