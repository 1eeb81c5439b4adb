"""ELAN: annotations of recordings (``.eaf``), tiers of annotations that hang on a time line or on one another.

An annotation of a lower tier names the one above it (``ANNOTATION_REF``) or lies within its time. A phrase is an
annotation of a transcription tier; its words, morphs, glosses and translation are what hangs on it, directly or not,
in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath
from corpuscle.text.interlinear import Interlinear, Phrase, TierFound, Word, role_of_tier, words_of
from corpuscle.text.xml import read_xml

__all__ = ["read_eaf"]


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
    times = {slot.get("TIME_SLOT_ID", ""): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    found, roles, parents = [], dict[str, str](), dict[str, str]()
    by_tier: dict[str, list[_Annotation]] = {}
    for tier in root.iter("TIER"):
        name = tier.get("TIER_ID", "")
        roles[name] = role_of_tier(name, tier.get("LINGUISTIC_TYPE_REF", ""), tiers)
        parents[name] = tier.get("PARENT_REF", "")
        by_tier[name] = _annotations(tier, times)
        found.append(TierFound(name, roles[name], len(by_tier[name])))
    phrases: list[tuple[int, int, Phrase]] = []
    for name in [name for name, role in roles.items() if role == "transcription"]:
        speaker = name.partition("@")[2]
        own = [each for each in roles if _hangs_on(each, name, parents) or (speaker and each.endswith("@" + speaker))]
        for number, top in enumerate(by_tier[name], 1):
            phrases.append((top.begin, len(phrases), _phrase(top, own, roles, by_tier, f"{name} {number}")))
    phrases.sort(key=lambda row: row[:2])
    return Interlinear(Path(path).stem, tuple(phrase for *_, phrase in phrases if phrase.text), tuple(found))


def _time(value: str | None) -> int:
    return int(value) if value is not None and value.isascii() and value.isdecimal() and len(value) < 16 else -1


def _annotations(tier: Element, times: Mapping[str, str | None]) -> list[_Annotation]:
    """The annotations of a tier in their order: by time, or as each names the one before it."""
    made: list[_Annotation] = []
    for annotation in tier.iter("ANNOTATION"):
        for child in annotation:
            value = child.find("ANNOTATION_VALUE")
            text = " ".join((value.text or "").split()) if value is not None else ""
            begin, end = (_time(times.get(child.get(f"TIME_SLOT_REF{i}", ""))) for i in (1, 2))
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


def _phrase(
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
        if roles[tier] and (roles[tier] != "transcription"):
            rows.setdefault(roles[tier], []).extend(below[tier])
    translation = " ".join(each.text for each in rows.get("translation", ()) if each.text)
    return Phrase(top.text, _words(rows), translation, reference)


def _words(rows: Mapping[str, list[_Annotation]]) -> tuple[Word, ...]:
    """Words from the tiers of words, morphs and glosses: by what hangs on each word, or white space within one."""
    words, morphs, glosses = (rows.get(role, []) for role in ("words", "morphs", "glosses"))
    if not words and not morphs:
        return ()

    def one(annotations: list[_Annotation]) -> list[str]:
        return [part for each in annotations for part in each.text.split()]

    if words and any(each.above == word.name for word in words for each in morphs):
        broken = ["-".join(m.text.strip("-=") for m in morphs if m.above == word.name) for word in words]
        named = {word.name: {word.name, *(m.name for m in morphs if m.above == word.name)} for word in words}
        meant = ["-".join(g.text.strip("-=") for g in glosses if g.above in named[word.name]) for word in words]
        return words_of([word.text for word in words], broken, meant)
    return words_of(one(words), one(morphs), one(glosses))
