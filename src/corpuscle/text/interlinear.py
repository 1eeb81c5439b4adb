"""Interlinear glossed text: phrases with their words, the morphs and glosses under them, and a free translation.

What field linguists keep in ELAN (``.eaf``), FLEx (``.flextext``) and Toolbox (standard format markers) becomes one
kind of record, and goes out again as HTML, as ``.flextext`` and as plain text of three lines and a translation:

    kitab-lar-ı    oku-du-m
    book-PL-ACC    read-PST-1SG
    ‘I read the books.’

Tiers play their roles by name (``role_of_tier``); a user can say otherwise (``tiers``: role -> name of the tier).

FLEx: interlinear texts as FieldWorks exports them (``.flextext``): phrases of words of morphs, items of each. An item
has a type and a language: ``txt`` the form (``punct`` for punctuation), ``gls`` a gloss, of a phrase its free
translation. Where there are several languages, the one with most items of a kind counts.

ELAN: annotations of recordings (``.eaf``), tiers of annotations that hang on a time line or on one another. An
annotation of a lower tier names the one above it (``ANNOTATION_REF``) or lies within its time. A phrase is an
annotation of a transcription tier; its words, morphs, glosses and translation are what hangs on it, directly or not,
in order.

Toolbox and Shoebox: records of fields with standard format markers, a backslash and a name before each.

    \\ref 1
    \\tx kitabları   okudum
    \\mb kitab -lar -ı    oku -du  -m
    \\ge book  -PL  -ACC  read -PST -1SG
    \\ft I read the books.

A record begins with ``\\ref``, ``\\id`` or the marker that its file has most often of these. Interlinear lines may be
wrapped: then a record has several ``\\tx``. A morph belongs to a word by its hyphen, so columns need not be exact.

LIFT (Lexicon Interchange FormaT): dictionaries as FLEx, WeSay and other tools of the field exchange them. An entry has
a lexical unit, and a sense with a gloss for each translation, each with an example. How sure a translation is stands in
a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.formats import read_any
from corpuscle.text.html import Html, bdi, div, document, element, fragment, p, span
from corpuscle.text.scripts import clusters
from corpuscle.text.xml import read_xml

TIER_ROLES = ("transcription", "words", "morphs", "glosses", "translation")
"""What a tier can be."""

_NAMES = {
    "transcription": "tx txt text transcription transcript utterance utterances orth orthography phrase ts",
    "words": "wd word words w mot mots wordform",
    "morphs": "mb mph morph morphs morpheme morphemes mot-mb m mo seg segmentation underlying",
    "glosses": "ge gl gls gloss glosses igt interlinear g mg morph-gloss gloss-en",
    "translation": "ft f tl tr trans translation translations free free-translation phrase-gls english",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
_BREAKS = re.compile(r"(?<=[^\s])[-=~](?=[^\s])")


@dataclass(frozen=True)
class Morph:
    """A morph with its gloss; empty if there is none."""

    form: str
    gloss: str = ""


@dataclass(frozen=True)
class Word:
    """A word as it is written, its morphs in order, and its own gloss if it has one."""

    form: str
    morphs: tuple[Morph, ...] = ()
    gloss: str = ""

    @property
    def segmented(self) -> str:
        """Its morphs with hyphens between them; the word where there are none."""
        return "-".join(morph.form.strip("-=~") for morph in self.morphs) or self.form

    @property
    def glossed(self) -> str:
        """The glosses of its morphs with hyphens between them, or its own gloss."""
        if any(morph.gloss for morph in self.morphs):
            return "-".join(morph.gloss.strip("-=~") or "?" for morph in self.morphs)
        return self.gloss


@dataclass(frozen=True)
class Phrase:
    """A phrase: its running text, its words, its free translation, and where it stands in its file."""

    text: str
    words: tuple[Word, ...] = ()
    translation: str = ""
    reference: str = ""


@dataclass(frozen=True)
class TierFound:
    """A tier of a file: its name, the role it plays (empty: none), and how many annotations it has."""

    name: str
    role: str
    annotations: int


@dataclass(frozen=True)
class Interlinear:
    """A text: its phrases, and the tiers of the file that it comes from; languages are codes, if the file has them."""

    name: str
    phrases: tuple[Phrase, ...]
    tiers: tuple[TierFound, ...] = ()
    languages: Mapping[str, str] = field(default_factory=dict)


def role_of_tier(name: str, kind: str = "", tiers: Mapping[str, str] | None = None) -> str:
    """The role of a tier by its name, the part before ``@`` (the speaker), or by the kind that the file gives it.

    >>> role_of_tier("tx@SP1"), role_of_tier("A_Translation-gls-en", "ft"), role_of_tier("notes")
    ('transcription', 'translation', '')
    """
    tiers, before = tiers or {}, name.partition("@")[0]
    for names in ((name, before), (kind,)):
        for role, named in tiers.items():
            if named in names:
                return role
    for text in (before, kind):
        role = _ROLES.get(re.sub(r"[\s_]+", "-", text.strip().lower()), "")
        if role and role not in tiers:
            return role
    return ""


def words_of(forms: Sequence[str], morphs: Sequence[str], glosses: Sequence[str]) -> tuple[Word, ...]:
    """Words from three rows of strings, one for each word: ``kitab-lar`` with ``book-PL``."""
    made = []
    for form, broken, gloss in zip_longest(forms, morphs, glosses, fillvalue=""):
        parts, meanings = (_BREAKS.split(text) if text else [] for text in (broken, gloss))
        pairs = tuple(map(Morph, parts, [*meanings, *[""] * len(parts)]))
        made.append(Word(form or _BREAKS.sub("", broken), pairs, gloss if not pairs else ""))
    return tuple(word for word in made if word.form)


def gloss_table(phrases: Iterable[Phrase]) -> list[tuple[str, str, int]]:
    """Words and morphs with the gloss that each has most often, and how often; the most frequent first."""
    words = (word for phrase in phrases for word in phrase.words)
    units = ([Morph(word.form, word.glossed), *(word.morphs if len(word.morphs) > 1 else ())] for word in words)
    return _most_frequent((unit.form, unit.gloss) for several in units for unit in several)


def morph_table(phrases: Iterable[Phrase]) -> list[tuple[str, str, int]]:
    """Words with the morphs that each consists of most often, spaces between them, and how often."""
    words = (word for phrase in phrases for word in phrase.words if word.morphs)
    return _most_frequent((word.form, word.segmented.replace("-", " ")) for word in words)


def _most_frequent(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Each form with what goes with it most often, if anything does, and how often; the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for form, other in pairs:
        if other:
            found.setdefault(form, Counter())[other] += 1
    best = [(form, *counts.most_common(1)[0]) for form, counts in found.items()]
    return sorted(best, key=lambda row: (-row[2], row[0]))


def completed(
    phrase: Phrase, glosses: Mapping[str, str], morphs: Mapping[str, str] | None = None, mark: str = "?"
) -> Phrase:
    """A phrase whose words without a gloss have that of a table, and those without morphs, too, each marked as a
    proposal; a phrase without words gets those of its text."""
    words = phrase.words or tuple(Word(form) for form in phrase.text.split())

    def complete(word: Word) -> Word:
        if word.glossed:
            return word
        parts = word.morphs or tuple(Morph(form) for form in (morphs or {}).get(word.form, "").split())
        if len(parts) > 1 and any(part.form in glosses for part in parts):
            known = tuple(replace(part, gloss=glosses.get(part.form, "") + mark) for part in parts)
            return replace(word, morphs=known)
        return replace(word, gloss=glosses[word.form] + mark) if word.form in glosses else word

    return replace(phrase, words=tuple(map(complete, words)))


_STYLE = """
:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
.phrase{margin:0 0 1.6rem;break-inside:avoid}.words{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem}
.word{display:inline-flex;flex-direction:column}.word b{font-weight:600}.word i{font-style:normal}
.word span{opacity:.75;font-variant-caps:small-caps}.number{opacity:.6;font-size:.85em}.free{margin:.3rem 0 0}
"""


def _html(texts: Sequence[Interlinear]) -> Html:
    parts = []
    for text in texts:
        parts.append(element("h2", text.name))
        for number, phrase in enumerate(text.phrases, 1):
            words = [
                span(element("b", bdi(word.form)), element("i", bdi(word.segmented)), span(word.glossed), class_="word")
                for word in phrase.words or (Word(phrase.text),)
            ]
            free = [p("‘", phrase.translation, "’", class_="free", dir="auto")] if phrase.translation else []
            running = div(*words, class_="words", dir="auto")
            parts.append(div(span(phrase.reference or number, class_="number"), running, *free, class_="phrase"))
    return document("Interlinear glossed text", _STYLE, *parts)


def _width(text: str) -> int:
    return len(clusters(text))


def _three_lines(texts: Sequence[Interlinear]) -> str:
    lines = []
    for text in texts:
        for phrase in text.phrases:
            rows = [(word.segmented, word.glossed or "?") for word in phrase.words] or [(phrase.text, "")]
            widths = [max(map(_width, row)) for row in rows]
            for side in (0, 1):
                padded = (row[side] + " " * (w - _width(row[side])) for row, w in zip(rows, widths, strict=True))
                lines.append("  ".join(padded).rstrip())
            lines += [f"‘{phrase.translation}’" if phrase.translation else "", ""]
    return "\n".join(lines[:-1]) + "\n" if lines else ""


def _item(kind: str, language: str, text: str) -> list[Html]:
    return [element("item", text, type=kind, lang=language)] if text else []


def _flex_word(word: Word, own: str, other: str) -> Html:
    morphs = [
        element("morph", *_item("txt", own, morph.form), *_item("gls", other, morph.gloss)) for morph in word.morphs
    ]
    inside = [element("morphemes", *morphs)] if morphs else []
    return element("word", *_item("txt", own, word.form), *inside, *_item("gls", other, word.gloss))


def _flextext(texts: Sequence[Interlinear]) -> str:
    made = []
    for text in texts:
        own, other = text.languages.get("text", "und"), text.languages.get("translation", "en")
        paragraphs = [
            element(
                "phrase",
                *_item("segnum", other, phrase.reference or str(number)),
                *_item("txt", own, phrase.text),
                element("words", *(_flex_word(word, own, other) for word in phrase.words)),
                *_item("gls", other, phrase.translation),
            )
            for number, phrase in enumerate(text.phrases, 1)
        ]
        wrapped = [element("paragraph", element("phrases", phrase)) for phrase in paragraphs]
        title = _item("title", other, text.name)
        made.append(element("interlinear-text", *title, element("paragraphs", fragment(*wrapped, between="\n"))))
    return element("document", "\n", fragment(*made, between="\n"), "\n", version=2) + "\n"


def write_interlinear(texts: Sequence[Interlinear], path: AnyPath) -> None:
    """Write glossed texts by suffix: ``.html``, ``.flextext``, anything else as three lines and a translation."""
    name = str(path).lower()
    made = _html if name.endswith(".html") else _flextext if name.endswith(".flextext") else _three_lines
    with write_atomically(path, "w") as file:
        file.write(made(texts))


_Key = tuple[str, str, str]
"""The level, type and language of an item."""

_ITEMS = (
    ("translation", "phrase", ("gls",)),
    ("glosses", "morph", ("gls",)),
    ("word glosses", "word", ("gls",)),
    ("words", "word", ("txt",)),
    ("morphs", "morph", ("txt", "cf")),
    ("transcription", "phrase", ("txt",)),
)
"""Role, level and types of items, the most frequent language of the first type that a file has."""


def read_interlinear(path: AnyPath, form: str, tiers: Mapping[str, str], encoding: str | None = None) -> Interlinear:
    """A text with glosses, by its form: ``eaf``, ``flextext``, else Toolbox."""
    if form in ("eaf", "flextext"):
        return (read_eaf if form == "eaf" else read_flextext)(path, tiers)
    return read_toolbox(path, tiers, encoding)


def read_flextext(path: AnyPath, tiers: Mapping[str, str] | None = None) -> Interlinear:
    """The phrases of all texts of a file; ``tiers``: role -> type and language of an item (``phrase gls fr``)."""
    root = read_xml(path)
    if root.tag != "document":
        raise InputError(path, None, f"not a FLEx text: its root element is {root.tag!r}")
    counts: Counter[_Key] = Counter()
    for level in ("phrase", "word", "morph"):
        for part in root.iter(level):
            if level != "phrase" or part.find("words") is not None or part.find("item") is not None:
                counts.update((level, item.get("type", ""), item.get("lang", "")) for item in part.findall("item"))
    wanted: dict[str, _Key | None] = {}
    for role, level, types in _ITEMS:
        own = [key for kind in types for key in counts if key[:2] == (level, kind)]
        own = [key for key in own if key[1] == own[0][1]]
        wanted[role] = max(own, key=lambda key: counts[key], default=None)
        if tiers and role in tiers:
            wanted[role] = next((key for key in counts if " ".join(key) == tiers[role]), None)
    played = {key: role.removeprefix("word ") for role, key in wanted.items() if key}
    found = tuple(TierFound(" ".join(key), played.get(key, ""), n) for key, n in sorted(counts.items()))
    parts = [part for part in root.iter("phrase") if part.find("item") is not None or len(part)]
    phrases = [_flextext_phrase(part, wanted) for part in parts]
    languages = {
        name: key[2] for name, key in (("text", wanted["words"]), ("translation", wanted["translation"])) if key
    }
    return Interlinear(Path(path).stem, tuple(each for each in phrases if each.text), found, languages)


def _item_of(part: Element, key: _Key | None) -> str:
    if key is None:
        return ""
    for item in part.findall("item"):
        if (item.get("type", ""), item.get("lang", "")) == key[1:]:
            return " ".join((item.text or "").split())
    return ""


def _flextext_phrase(part: Element, wanted: Mapping[str, _Key | None]) -> Phrase:
    words: list[Word] = []
    pieces: list[str] = []
    for word in part.iter("word"):
        punctuation = next((i.text or "" for i in word.findall("item") if i.get("type") == "punct"), "")
        form = _item_of(word, wanted["words"])
        if not form:
            if punctuation and pieces:
                pieces[-1] += punctuation.strip()
            continue
        morphs = [Morph(_item_of(m, wanted["morphs"]), _item_of(m, wanted["glosses"])) for m in word.iter("morph")]
        words.append(Word(form, tuple(m for m in morphs if m.form), _item_of(word, wanted["word glosses"])))
        pieces.append(form)
    number = next((i.text or "" for i in part.findall("item") if i.get("type") == "segnum"), "")
    text = _item_of(part, wanted["transcription"]) or " ".join(pieces)
    return Phrase(text, tuple(words), _item_of(part, wanted["translation"]), number)


@dataclass
class _Annotation:
    name: str
    text: str
    above: str
    begin: int
    end: int
    order: int


def read_eaf(path: AnyPath, tiers: Mapping[str, str] | None = None) -> Interlinear:
    """The phrases of an ELAN file, in the order of time; ``tiers``: role -> name of the tier that plays it."""
    root = read_xml(path)
    if root.tag != "ANNOTATION_DOCUMENT":
        raise InputError(path, None, f"not an ELAN file: its root element is {root.tag!r}")
    slots = ((slot.get("TIME_SLOT_ID", ""), slot.get("TIME_VALUE", "")) for slot in root.iter("TIME_SLOT"))
    times = {name: int(time) if re.fullmatch("[0-9]{1,15}", time) else -1 for name, time in slots}
    found, roles, parents = [], dict[str, str](), dict[str, str]()
    by_tier: dict[str, list[_Annotation]] = {}
    for tier in root.iter("TIER"):
        name = tier.get("TIER_ID", "")
        roles[name] = role_of_tier(name, tier.get("LINGUISTIC_TYPE_REF", ""), tiers)
        parents[name] = tier.get("PARENT_REF", "")
        by_tier[name] = _annotations(tier, times)
        found.append(TierFound(name, roles[name], len(by_tier[name])))
    phrases: list[tuple[int, Phrase]] = []
    for name in [name for name, role in roles.items() if role == "transcription"]:
        speaker = name.partition("@")[2]
        own = [each for each in roles if _hangs_on(each, name, parents) or (speaker and each.endswith("@" + speaker))]
        for number, top in enumerate(by_tier[name], 1):
            phrases.append((top.begin, _elan_phrase(top, own, roles, by_tier, f"{name} {number}")))
    phrases.sort(key=itemgetter(0))
    return Interlinear(Path(path).stem, tuple(phrase for _, phrase in phrases if phrase.text), tuple(found))


def _annotations(tier: Element, times: Mapping[str, int]) -> list[_Annotation]:
    """The annotations of a tier in their order: by time, or as each names the one before it."""
    made: list[_Annotation] = []
    for annotation in tier.iter("ANNOTATION"):
        for child in annotation:
            value = child.find("ANNOTATION_VALUE")
            text = " ".join((value.text or "").split()) if value is not None else ""
            begin, end = (times.get(child.get(f"TIME_SLOT_REF{i}", ""), -1) for i in (1, 2))
            above, before = child.get("ANNOTATION_REF", ""), child.get("PREVIOUS_ANNOTATION", "")
            order = next((each.order + 1 for each in made if each.name == before), 0) if before else 0
            made.append(_Annotation(child.get("ANNOTATION_ID", ""), text, above, begin, end, order))
    return sorted(made, key=lambda each: (each.begin, each.order)) if any(e.begin >= 0 for e in made) else made


def _hangs_on(tier: str, top: str, parents: Mapping[str, str]) -> bool:
    seen = set()
    while tier and tier not in seen:
        if tier == top:
            return True
        seen.add(tier)
        tier = parents.get(tier, "")
    return False


def _elan_phrase(
    top: _Annotation,
    tiers: list[str],
    roles: Mapping[str, str],
    by_tier: Mapping[str, list[_Annotation]],
    reference: str,
) -> Phrase:
    """A transcription with all that hangs on it, or lies within its time."""
    under, order = {top.name}, [tier for tier in tiers if by_tier[tier]]
    below: dict[str, list[_Annotation]] = {}
    for _ in order:  # a tier may be listed before the one that it hangs on
        for tier in order:
            inside = [
                each
                for each in by_tier[tier]
                if each.above in under or (not each.above and 0 <= top.begin <= each.begin and each.end <= top.end)
            ]
            under |= {each.name for each in inside}
            below[tier] = sorted(inside, key=lambda each: each.order) if inside and inside[0].above else inside
    rows: dict[str, list[_Annotation]] = {}
    for tier in order:
        if roles[tier] not in ("", "transcription"):
            rows.setdefault(roles[tier], []).extend(below[tier])
    translation = " ".join(each.text for each in rows.get("translation", ()) if each.text)
    return Phrase(top.text, _words(rows), translation, reference)


def _words(rows: Mapping[str, list[_Annotation]]) -> tuple[Word, ...]:
    """Words from the tiers of words, morphs and glosses: by what hangs on each word, or white space within one."""
    words, morphs, glosses = (rows.get(role, []) for role in ("words", "morphs", "glosses"))
    if words and any(each.above == word.name for word in words for each in morphs):
        broken = ["-".join(m.text.strip("-=") for m in morphs if m.above == word.name) for word in words]
        named = {word.name: {word.name, *(m.name for m in morphs if m.above == word.name)} for word in words}
        meant = ["-".join(g.text.strip("-=") for g in glosses if g.above in named[word.name]) for word in words]
        return words_of([word.text for word in words], broken, meant)
    return words_of(*([part for each in row for part in each.text.split()] for row in (words, morphs, glosses)))


_MARKER = re.compile(r"\\(\S+)[ \t]?(.*)")
_BEGINS = ("ref", "rf", "id")
_HEADER = "\\_sh"


def is_toolbox(beginning: str) -> bool:
    """Whether a text begins with the line by which Toolbox knows its files."""
    return beginning.lstrip("\ufeff \r\n").startswith(_HEADER)


def _fields(text: str) -> list[tuple[str, str]]:
    """Markers and what follows them; a line without a marker goes on with the field before it."""
    found: list[tuple[str, str]] = []
    for line in text.split("\n"):
        if match := _MARKER.match(line):
            found.append((match[1], match[2].rstrip()))
        elif found and line.strip():
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


def read_toolbox(path: AnyPath, tiers: Mapping[str, str] | None = None, encoding: str | None = None) -> Interlinear:
    """The phrases of a file; ``tiers``: role -> marker, without its backslash."""
    fields = _fields(read_any(path, encoding).text)
    counts = Counter(marker for marker, _ in fields)
    begins = next((marker for marker in _BEGINS if counts[marker] > 1), None)
    roles = {marker: role_of_tier(marker, "", tiers) for marker in counts}
    found = tuple(TierFound("\\" + marker, roles[marker], n) for marker, n in counts.items())
    records: list[list[tuple[str, str]]] = []
    for marker, content in fields:
        # Where no marker begins a record, a transcription after a translation does.
        translated = bool(records) and any(roles[other] == "translation" for other, _ in records[-1])
        is_next = begins is None and roles[marker] == "transcription" and translated
        if marker == begins or not records or is_next:
            records.append([])
        records[-1].append((marker, content))
    phrases = [phrase for record in records if (phrase := _toolbox_phrase(record, roles, begins)).text]
    return Interlinear(Path(path).stem, tuple(phrases), found)


def _toolbox_phrase(record: list[tuple[str, str]], roles: Mapping[str, str], begins: str | None) -> Phrase:
    rows: dict[str, list[str]] = {}
    for marker, content in record:
        if roles[marker]:
            rows.setdefault(roles[marker], []).append(" ".join(content.split()))
    text = " ".join(rows.get("transcription", rows.get("words", [])))
    glosses = [part for row in rows.get("glosses", []) for part in row.split()]
    words: tuple[Word, ...] = ()
    if "morphs" in rows:
        words = words_of(*_by_word(text.split(), rows["morphs"], glosses))
    elif len(glosses) == len(text.split()):
        words = tuple(Word(form, (), gloss) for form, gloss in zip(text.split(), glosses, strict=True))
    reference = next((content for marker, content in record if marker == begins), "")
    return Phrase(text, words, " ".join(rows.get("translation", [])), reference)


def _by_word(forms: list[str], rows: list[str], glosses: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The morphs and glosses of each word, joined by hyphens; a word goes on where a morph begins with a hyphen, or the
    one before ends in one."""
    morphs = [part for row in rows for part in row.split()]
    broken, meant = list[str](), list[str]()
    joins = False
    for morph, gloss in zip(morphs, [*glosses, *[""] * len(morphs)], strict=False):
        plain, meaning = morph.strip("-=~"), gloss.strip("-=~")
        if broken and (joins or morph[0] in "-=~"):
            broken[-1] += "-" + plain
            meant[-1] += "-" + meaning
        else:
            broken.append(plain)
            meant.append(meaning)
        joins = len(morph) > 1 and morph[-1] in "-=~"
    return (forms if len(forms) == len(broken) else []), broken, meant


class Sense(NamedTuple):
    """A translation, a note on it, and an example with its translation, empty if there is none."""

    gloss: str
    note: str = ""
    example: str = ""
    translation: str = ""


def _form(language: str, text: str) -> Html:
    return element("form", element("text", text), lang=language)


def _sense(name: str, sense: Sense, languages: tuple[str, str]) -> Html:
    own, other = languages
    parts = [element("gloss", element("text", sense.gloss), lang=other)]
    if sense.example:
        free = [element("translation", _form(other, sense.translation))] if sense.translation else []
        parts.append(element("example", _form(own, sense.example), *free))
    if sense.note:
        parts.append(element("note", _form("en", sense.note), type="confidence"))
    return element("sense", *parts, id=name)


def write_lift(
    words: Iterable[tuple[str, Sequence[Sense]]], path: AnyPath, languages: tuple[str, str] = ("qaa", "qab")
) -> None:
    """Write words with their senses; ``languages``: codes of the words and of their translations."""
    entries = [
        element(
            "entry",
            element("lexical-unit", _form(languages[0], word)),
            *(_sense(f"{number}-{place}", sense, languages) for place, sense in enumerate(senses, 1)),
            id=number,
        )
        for number, (word, senses) in enumerate(words, 1)
    ]
    with write_atomically(path, "w") as file:
        file.write(element("lift", "\n", fragment(*entries, between="\n"), "\n", version="0.13", producer="Corpuscle"))
