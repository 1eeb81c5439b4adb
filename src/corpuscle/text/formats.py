"""Files from elsewhere: the formats that lines of text have to be taken out of, and the encodings of text.

A format, such as that of a word processor, has a name, the ends of names of its files, and a function
``"module:function"`` from a path to lines. Wherever a text is read, and in kits, files that are called so are read by
it. Other packages add formats, see ``corpuscle.catalogue``. What is in no format is text as it is.

UTF-8 is the rule for text, and a byte-order mark declares UTF-8, UTF-16 or UTF-32. Any other encoding must be named by
the user: a guess is offered, never applied. Lines that are no UTF-8 in a file that otherwise is are found one by one,
so that they can be left out and listed.

The guess decodes the beginning of a file in every encoding of a list and takes the one under which the words look most
like words: letters of one script, no capitals inside a word, mostly small letters; the first of those that come near.
"""

from __future__ import annotations

import codecs
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from corpuscle.catalogue import extensions, find
from corpuscle.errors import InputError, SettingError
from corpuscle.text.files import AnyPath, numbered_lines, open_bytes
from corpuscle.text.scripts import script_of_letter


@dataclass(frozen=True)
class Format:
    """A format of text; ``help``: what it is, in a few words."""

    name: str
    suffixes: tuple[str, ...]
    read: str
    help: str

    def lines(self, path: AnyPath) -> list[str]:
        """The lines of a file, without line ends."""
        return [line for text in find(self.read)(path) for line in text.split("\n")]


FORMATS = (
    Format("docx", (".docx",), "corpuscle.text.xml:read_docx", "text of Word, a paragraph a line"),
    Format("odt", (".odt",), "corpuscle.text.xml:read_odt", "text of LibreOffice, a paragraph a line"),
)
_OURS = frozenset({
    "", ".txt", ".gz", ".xz", ".conllu", ".tsv", ".csv", ".mrg", ".src", ".tgt", ".jsonl", ".tmx", ".eaf", ".flextext",
    ".sfm", ".toolbox", ".xml", ".md",
})  # fmt: skip
"""Suffixes that no other package can claim."""


def formats() -> tuple[Format, ...]:
    """All formats, ours first."""
    return *FORMATS, *extensions("formats").values()


def format_of(path: AnyPath) -> Format | None:
    """The format of a file by the end of its name, if it is in one."""
    name = os.fspath(path).lower()
    suffix = os.path.splitext(name)[1]
    if suffix in _OURS:
        return None
    return next((each for each in formats() if name.endswith(each.suffixes)), None)


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GUESSES = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1258", "tis_620", "shift_jis",
    "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
_BEGINNING = 1 << 16
_WIDE = 0.2  # UTF-16 of alphabetic scripts has at least this share of zeros in every other byte
_NEAR = 0.1  # scores of encodings that differ by less are equal
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Decoded:
    """The text of a file, its encoding, whether a byte-order mark named it, and the numbers of lines that cannot be
    read, which are empty in the text; ``guess``: an encoding that would explain them."""

    text: str
    encoding: str
    marked: bool
    bad: tuple[int, ...] = ()
    guess: str | None = None

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that can be read, with their numbers from 1 on."""
        bad = set(self.bad)
        return ((number, line) for number, line in numbered_lines(self.text) if number not in bad)


def checked_encoding(name: str) -> str:
    """The name of an encoding, if Python knows it."""
    try:
        codecs.lookup(name)
        "".encode(name)  # not one from bytes to bytes
    except (LookupError, UnicodeError, ValueError):
        raise SettingError(f"{name!r} is no encoding; try utf-16, cp1252, cp1251, shift_jis or gb18030") from None
    return name


def read_any(path: AnyPath, encoding: str | None = None) -> Decoded:
    """Read a file in UTF-8, in what its byte-order mark says, or else in the ``encoding`` that the user has named."""
    data = open_bytes(path, lines=False)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], name, path, marked=True)
    try:
        return _without_nul(data.decode(), "utf-8", False)
    except UnicodeDecodeError:
        if encoding is not None:
            return _decoded(data, encoding, path, marked=False)
    texts = []
    for row in data.split(b"\n"):
        try:
            texts.append(row.decode())
        except UnicodeDecodeError:
            texts.append("\0")
    return replace(_without_nul("\n".join(texts), "utf-8", False), guess=guess_encoding(data))


def _decoded(data: bytes, encoding: str, path: AnyPath, marked: bool) -> Decoded:
    try:
        return _without_nul(data.decode(encoding), encoding, marked)
    except UnicodeDecodeError as error:
        line = data.count("\n".encode(encoding), 0, error.start) + 1
        raise InputError(path, line, f"not {encoding}: {error.reason}") from None


def _without_nul(text: str, encoding: str, marked: bool) -> Decoded:
    """Lines with a NUL are no text."""
    if "\0" not in text:
        return Decoded(text, encoding, marked)
    lines = text.split("\n")
    bad = tuple(number for number, line in enumerate(lines, 1) if "\0" in line)
    guess = guess_encoding(text.encode(encoding, "surrogatepass"))
    return Decoded("\n".join("" if "\0" in line else line for line in lines), encoding, marked, bad, guess)


def guess_encoding(data: bytes) -> str | None:
    """The encoding that a file which is not UTF-8 may have; None if nothing fits."""
    some = data[:_BEGINNING]
    for name, zeros in ("utf-16-le", some[1::2].count(0)), ("utf-16-be", some[::2].count(0)):
        if zeros > _WIDE * len(some) / 2:
            return name
    scores = {name: score for name in _GUESSES if (score := _plausible(some, name)) is not None}
    best = max(scores.values(), default=0.0)
    return next((name for name, score in scores.items() if score >= best - _NEAR), None)


def _plausible(data: bytes, encoding: str) -> float | None:
    """How much the words of a text look like words in this encoding; None if it cannot be."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return None
    high = [c for c in text if c > "\x7f"]
    if not high or any(unicodedata.category(c) in ("Cc", "Co", "Cn") for c in high):
        return None
    letters = sum(unicodedata.category(c)[0] in "LM" for c in high) / len(high)
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    odd = sum(_is_odd(word) for word in words) / max(1, len(words))
    cased = [c for c in high if c.lower() != c.upper()]
    capitals = sum(c.isupper() for c in cased) / len(cased) if cased else 0.0
    scripts = Counter(script_of_letter(c) for c in high)
    syllables = (scripts["Hiragana"] + scripts["Hangul"]) / len(high) - scripts["Halfwidth"] / len(high)
    ascii_letters = sum(c.isascii() and c.isalpha() for c in text)
    is_latin = scripts["Latin"] > len(high) / 2
    unlikely = is_latin == (len(high) > ascii_letters)  # in Latin text most letters are plain, elsewhere few are
    return letters - odd - 0.3 * capitals + 0.5 * syllables - 0.5 * unlikely


def _is_odd(word: str) -> bool:
    """A word of several scripts, or with a capital after a small letter; kana and Han go together."""
    scripts = {script_of_letter(c) for c in word if unicodedata.category(c)[0] == "L"} - {""}
    if scripts <= {"Han", "Hiragana", "Katakana"}:
        return False
    return len(scripts) > 1 or any(a.islower() and b.isupper() for a, b in pairwise(word))
