"""The twelve universal tags, and how the tags of a treebank are mapped to them.

Induction of brackets wants few tags, the same in every language: verbs, nouns and punctuation must be known as such. A
map is a list of patterns: a tag, or the beginning of tags and a ``*``; the longest that fits wins. Built in are those
of Universal Dependencies and of the Penn treebank; others come from a file of lines ``PATTERN<tab>UNIVERSAL``, with
``nonfinite`` behind another tab for verb forms that do not begin a predicate (participles).

Petrov, Das and McDonald, "A universal part-of-speech tagset", 2012.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath
from corpuscle.text.tables import read_table
from corpuscle.text.treebank import Treebank

UNIVERSAL = ("VERB", "NOUN", "PRON", "ADJ", "ADV", "ADP", "CONJ", "DET", "NUM", "PRT", "X", ".")
PUNCTUATION = "."
_NONFINITE = "nonfinite"

_BUILT_IN = {
    "VERB": "VERB AUX VB VBD VBP VBZ MD",
    "VERB nonfinite": "VBG VBN",
    "NOUN": "NOUN PROPN NN NNS NNP NNPS NML",
    "PRON": "PRON PRP PRP$ WP WP$ EX",
    "ADJ": "ADJ JJ JJR JJS AFX",
    "ADV": "ADV RB RBR RBS WRB",
    "ADP": "ADP IN",
    "CONJ": "CONJ CCONJ SCONJ CC",
    "DET": "DET DT PDT WDT",
    "NUM": "NUM CD",
    "PRT": "PRT PART POS RP TO",
    "X": "X INTJ SYM FW UH LS GW ADD $ # XX",
    ".": ". PUNCT , : `` '' -LRB- -RRB- HYPH NFP",
}


@dataclass(frozen=True)
class TagMap:
    """``exact``: tag -> (universal tag, whether a verb is finite); ``prefixes``: the same for beginnings of tags."""

    exact: Mapping[str, tuple[str, bool]]
    prefixes: Mapping[str, tuple[str, bool]]

    @classmethod
    def from_patterns(cls, patterns: Iterable[tuple[str, str, bool]]) -> TagMap:
        """From (pattern, universal tag, whether finite)."""
        rows = list(patterns)
        return cls(
            {name: (tag, finite) for name, tag, finite in rows if not name.endswith("*")},
            {name[:-1]: (tag, finite) for name, tag, finite in rows if name.endswith("*")},
        )

    @classmethod
    @cache
    def built_in(cls) -> TagMap:
        """The tags of Universal Dependencies and of the Penn treebank."""
        return cls.from_patterns(
            (name, target.split()[0], _NONFINITE not in target)
            for target, names in _BUILT_IN.items()
            for name in names.split()
        )

    @classmethod
    def observed(cls, bank: Treebank) -> TagMap:
        """What XPOS of a treebank are as universal tags, where all words have both; else the map that is built in."""
        if not (bank.xpos.ids.any() and bank.tags.ids.any()):
            return cls.built_in()
        universal = {tag: (cls.built_in().of(tag) or ("X", True))[0] for tag in bank.tags.values}
        finite = {value: "VerbForm=Part" not in value for value in bank.features.values}
        layers = (bank.xpos, bank.tags, bank.features)
        counts = Counter(
            (name, universal[tag], finite[features])
            for name, tag, features in zip(*(layer.strings() for layer in layers), strict=True)
        )
        return cls.from_patterns(sorted(counts, key=lambda row: (counts[row], row)))  # the most frequent is the last

    def patterns(self) -> Iterator[tuple[str, str, bool]]:
        yield from ((name, *target) for name, target in self.exact.items())
        yield from ((f"{name}*", *target) for name, target in self.prefixes.items())

    def of(self, tag: str) -> tuple[str, bool] | None:
        """The universal tag and whether it is finite; None if no pattern fits.

        >>> TagMap.built_in().of("VBG")
        ('VERB', False)
        """
        if tag in self.exact:
            return self.exact[tag]
        for end in range(len(tag), -1, -1):
            if tag[:end] in self.prefixes:
                return self.prefixes[tag[:end]]
        return None


def read_tag_map(path: AnyPath) -> TagMap:
    """A map from a file, see the top."""
    rows = []
    for number, fields in read_table(path, skip_blank=True):
        if len(fields) not in (2, 3) or not fields[0]:
            raise InputError(path, number, "a line is PATTERN, a tab, a universal tag, and perhaps a tab and nonfinite")
        if fields[1] not in UNIVERSAL:
            raise InputError(path, number, f"{fields[1][:40]!r} is no universal tag; those are {' '.join(UNIVERSAL)}")
        if len(fields) == 3 and (fields[2] != _NONFINITE or fields[1] != "VERB"):
            raise InputError(path, number, f"only a VERB can be {_NONFINITE}, not {fields[2][:40]!r}")
        rows.append((fields[0], fields[1], len(fields) == 2))
    if not rows:
        raise InputError(path, None, "an empty map of tags")
    return TagMap.from_patterns(rows)
