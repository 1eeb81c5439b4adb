"""FLEx: interlinear texts as FieldWorks exports them (``.flextext``): phrases of words of morphs, items of each.

An item has a type and a language: ``txt`` the form (``punct`` for punctuation), ``gls`` a gloss, of a phrase its free
translation. Where there are several languages, the one with most items of a kind counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath
from corpuscle.text.interlinear import Interlinear, Morph, Phrase, TierFound, Word
from corpuscle.text.xml import read_xml

__all__ = ["read_flextext"]


def read_flextext(path: AnyPath, tiers: Mapping[str, str] | None = None) -> Interlinear:
    """The phrases of all texts of a file; ``tiers``: role -> type and language of an item (``phrase gls fr``)."""
    root = read_xml(path)
    if root.tag != "document":
        raise InputError(path, None, f"not a FLEx text: its root element is {root.tag!r}")
    counts: Counter[tuple[str, str, str]] = Counter()
    for level in ("phrase", "word", "morph"):
        for part in root.iter(level):
            if level != "phrase" or part.find("words") is not None or part.find("item") is not None:
                counts.update((level, item.get("type", ""), item.get("lang", "")) for item in part.findall("item"))
    wanted = {
        "translation": _most(counts, "phrase", ("gls",), tiers, "translation"),
        "glosses": _most(counts, "morph", ("gls",), tiers, "glosses"),
        "word glosses": _most(counts, "word", ("gls",), tiers, ""),
        "words": _most(counts, "word", ("txt",), tiers, "words"),
        "morphs": _most(counts, "morph", ("txt", "cf"), tiers, "morphs"),
        "transcription": _most(counts, "phrase", ("txt",), tiers, "transcription"),
    }
    played = {key: role.removeprefix("word ") for role, key in wanted.items() if key}
    found = tuple(TierFound(" ".join(key), played.get(key, ""), n) for key, n in sorted(counts.items()))
    phrases = [_phrase(part, wanted) for part in root.iter("phrase") if part.find("item") is not None or len(part)]
    languages = {
        name: key[2] for name, key in (("text", wanted["words"]), ("translation", wanted["translation"])) if key
    }
    return Interlinear(Path(path).stem, tuple(each for each in phrases if each.text), found, languages)


_Key = tuple[str, str, str]


def _most(
    counts: Counter[_Key], level: str, types: Iterable[str], tiers: Mapping[str, str] | None, role: str
) -> _Key | None:
    """The items of a level that play a role: those that the user named, else the most frequent of the first type."""
    if role and tiers and role in tiers:
        return next((key for key in counts if " ".join(key) == tiers[role]), None)
    for kind in types:
        own = {key: n for key, n in counts.items() if key[:2] == (level, kind)}
        if own:
            return max(own, key=lambda key: own[key])
    return None


def _item(part: Element, key: _Key | None) -> str:
    if key is None:
        return ""
    for item in part.findall("item"):
        if (item.get("type", ""), item.get("lang", "")) == key[1:]:
            return " ".join((item.text or "").split())
    return ""


def _phrase(part: Element, wanted: Mapping[str, _Key | None]) -> Phrase:
    words: list[Word] = []
    pieces: list[str] = []
    for word in part.iter("word"):
        punctuation = next((i.text or "" for i in word.findall("item") if i.get("type") == "punct"), "")
        form = _item(word, wanted["words"])
        if not form:
            if punctuation and pieces:
                pieces[-1] += punctuation.strip()
            continue
        morphs = [Morph(_item(m, wanted["morphs"]), _item(m, wanted["glosses"])) for m in word.iter("morph")]
        words.append(Word(form, tuple(m for m in morphs if m.form), _item(word, wanted["word glosses"])))
        pieces.append(form)
    number = next((i.text or "" for i in part.findall("item") if i.get("type") == "segnum"), "")
    text = _item(part, wanted["transcription"]) or " ".join(pieces)
    return Phrase(text, tuple(words), _item(part, wanted["translation"]), number)
