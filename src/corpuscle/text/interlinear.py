"""Interlinear glossed text: phrases with their words, the morphs and glosses under them, and a free translation.

What field linguists keep in ELAN (``.eaf``), FLEx (``.flextext``) and Toolbox (standard format markers) becomes one
kind of record, and goes out again as HTML, as ``.flextext`` and as plain text of three lines and a translation:

    kitab-lar-ı    oku-du-m
    book-PL-ACC    read-PST-1SG
    ‘I read the books.’

Tiers play their roles by name (``role_of_tier``); a user can say otherwise (``tiers``: role -> name of the tier).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from corpuscle.text.characters import clusters
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.html import Html, bdi, div, document, element, fragment, p, span

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
    for role, named in (tiers or {}).items():
        if named == name or named == name.partition("@")[0]:
            return role
    if tiers and set(tiers.values()) & {name, kind}:
        return next(role for role, named in tiers.items() if named in (name, kind))
    for text in (name.partition("@")[0], kind):
        plain = re.sub(r"[\s_]+", "-", text.strip().lower())
        if plain in _ROLES and _ROLES[plain] not in (tiers or {}):
            return _ROLES[plain]
    return ""


def words_of(forms: Sequence[str], morphs: Sequence[str], glosses: Sequence[str]) -> tuple[Word, ...]:
    """Words from three rows of strings, one for each word: ``kitab-lar`` with ``book-PL``."""
    made = []
    for form, broken, gloss in zip_longest(forms, morphs, glosses, fillvalue=""):
        parts, meanings = (_BREAKS.split(text) if text else [] for text in (broken, gloss))
        if len(parts) != len(meanings):
            meanings = meanings if not parts else [*meanings, *[""] * len(parts)][: len(parts)]
        pairs = tuple(Morph(a, b) for a, b in zip(parts, meanings, strict=False))
        made.append(Word(form or _BREAKS.sub("", broken), pairs, gloss if not pairs else ""))
    return tuple(word for word in made if word.form)


def gloss_table(phrases: Iterable[Phrase]) -> list[tuple[str, str, int]]:
    """Words and morphs with the gloss that each has most often, and how often; the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for phrase in phrases:
        for word in phrase.words:
            if word.glossed:
                found.setdefault(word.form, Counter())[word.glossed] += 1
            for morph in word.morphs if len(word.morphs) > 1 else ():
                if morph.gloss:
                    found.setdefault(morph.form, Counter())[morph.gloss] += 1
    best = [(form, *counts.most_common(1)[0]) for form, counts in found.items()]
    return sorted(best, key=lambda row: (-row[2], row[0]))


def morph_table(phrases: Iterable[Phrase]) -> list[tuple[str, str, int]]:
    """Words with the morphs that each consists of most often, spaces between them, and how often."""
    found: dict[str, Counter[str]] = {}
    for phrase in phrases:
        for word in phrase.words:
            if word.morphs:
                found.setdefault(word.form, Counter())[word.segmented.replace("-", " ")] += 1
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


# ---- out


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
