"""The words of the Quran with their analyses as CoNLL-U: chapters are documents, verses are sentences.

A line is ``chapter:verse:word``, the vocalised word, and its analysis: prefixes (``w:CONJ+``, ``Al+``), ``POS:``,
``LEM:``, ``ROOT:``, then voice, mood, person, gender, number and case, and an attached pronoun (``PRON:3MS``).
"""

from __future__ import annotations

import re
from pathlib import Path

_PERSON = re.compile(r"([123])?([MF])?([SDP])?")
_PLAIN = {
    "PERF": "Aspect", "IMPF": "Aspect", "IMPV": "Aspect", "ACT": "Voice", "PASS": "Voice", "PCPL": "Kind", "VN": "Kind",
    "NOM": "Case", "ACC": "Case", "GEN": "Case", "INDEF": "Definite",
}  # fmt: skip


def columns(analysis: str) -> tuple[str, str, str]:
    """Lemma, part of speech and features of an analysis.

    >>> columns("w:CONJ+ Al+ POS:N LEM:rasuwl ROOT:rsl M GEN")
    ('rasuwl', 'N', 'Case=GEN|Gender=M|det=Al|pre1=w:CONJ')
    """
    lemma = tag = ""
    found: dict[str, str] = {}
    before, behind = [], []
    for part in analysis.split():
        key, colon, value = part.partition(":")
        person = _PERSON.fullmatch(part)
        if part.endswith("+"):
            before.append(part[:-1])
        elif key == "POS":
            if tag:
                behind.append(value)
            tag = tag or value
        elif key == "LEM":
            lemma = lemma or value
        elif key == "PRON":
            found["pron"] = value
        elif key == "MOOD":
            found["Mood"] = value
        elif part in _PLAIN:
            found[_PLAIN[part]] = part
        elif part.startswith("("):
            found["Form"] = part.strip("()")
        elif person and not colon:
            names = ("Person", "Gender", "Number")
            found |= {name: value for name, value in zip(names, person.groups(), strict=True) if value}
    if "Al" in before:
        before.remove("Al")
        found["det"] = "Al"
    parts = {"pre1": before[-1:], "pre2": before[:-1], "suf": behind}
    found |= {name: "+".join(values) for name, values in parts.items() if values}
    features = "|".join(f"{name}={found[name].replace('|', '/')}" for name in sorted(found))
    return lemma or "_", tag or "_", features or "_"


def convert(source: Path, glosses: Path, target: Path) -> None:
    """Write a file of the corpus as CoNLL-U."""
    meaning = dict(line.split("\t")[:2] for line in glosses.read_text("utf-8").splitlines() if "\t" in line)
    lines: list[str] = []
    before: tuple[str, ...] = ()
    number = 0
    for line in source.read_text("utf-8").splitlines():
        if line.startswith("#") or line.count("\t") != 2:
            continue
        place, word, analysis = line.split("\t")
        at = tuple(place.split(":")[:2])
        if at != before:
            lines += [""] * bool(before) + [f"# newdoc id = {at[0]}"] * (at[:1] != before[:1])
            lines.append(f"# sent_id = {at[0]}:{at[1]}")
            before, number = at, 0
        number += 1
        lemma, tag, features = columns(analysis)
        note = f"Gloss={meaning[lemma].replace(' ', '_').replace('|', '/')}" if lemma in meaning else "_"
        row = [str(number), word.replace(" ", ""), lemma, tag, "_", features, "_", "_", "_", note]
        lines.append("\t".join(row))
    target.write_text("\n".join([*lines, "", ""]), encoding="utf-8")
