"""Bitext: sentences and their translations, two corpora of equal length.

Files: two text files whose lines belong together; or one file with ``source ||| target`` on a line; or one with a tab
between the two; or a translation memory (``.tmx``). Text is treated as ``read_text`` does it; an empty side is an empty
sentence.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.text.corpus import Corpus, Preprocessing
from corpuscle.text.files import AnyPath, decode, open_bytes, suffix_of, write_atomically
from corpuscle.text.origin import Origin, Sourced
from corpuscle.text.plain import read_strings, read_text, write_text
from corpuscle.text.vocab import SPACES, Vocab

BARS, TAB = "|||", "\t"
"""What may stand between the two sides of a line."""

_BARS = re.compile(r"(?:^|(?<=[ \t\r\v\f]))\|\|\|(?=[ \t\r\v\f]|$)")


@dataclass(frozen=True, eq=False)
class Bitext(Sourced):
    """Two corpora; sentence i of ``target`` translates sentence i of ``source``.

    >>> bitext = Bitext(Corpus.from_sentences([["a", "b"]]), Corpus.from_sentences([["c"]]))
    >>> list(bitext)
    [(['a', 'b'], ['c'])]
    """

    source: Corpus
    target: Corpus

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(f"{len(self.source)} source sentences, but {len(self.target)} target sentences")

    def __repr__(self) -> str:
        return f"Bitext({len(self):,} sentence pairs, {self.source.n_tokens:,} and {self.target.n_tokens:,} tokens)"

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[tuple[list[str], list[str]]]:
        return zip(self.source, self.target, strict=True)

    def __getitem__(self, pairs: slice) -> Bitext:
        return Bitext(self.source[pairs], self.target[pairs])

    def select(self, pairs: np.ndarray) -> Bitext:
        """Any pairs by index or mask, in that order."""
        return Bitext(self.source.select(pairs), self.target.select(pairs))

    @property
    def origin(self) -> Origin | None:
        """Where the pairs came from: that of the source side."""
        return self.source.origin

    def swapped(self) -> Bitext:
        """The other direction."""
        return Bitext(self.target, self.source)


def read_bitext(
    source: AnyPath,
    target: AnyPath | None = None,
    *,
    separator: str = BARS,
    source_vocab: Vocab | None = None,
    target_vocab: Vocab | None = None,
    unk_token: str = "unknown",
    preprocessing: Preprocessing | None = None,
) -> Bitext:
    """Read two files, or one file with both sides on a line and ``separator`` (``BARS`` or ``TAB``) between them.

    One file whose name ends in ``.tmx`` is a translation memory, see ``read_tmx``.
    """
    _check_separator(separator)
    if target is not None:
        read = partial(read_text, unk_token=unk_token, preprocessing=preprocessing)
        left, right = read(source, vocab=source_vocab), read(target, vocab=target_vocab)
        if len(left) != len(right):
            raise InputError(target, None, f"{len(right)} lines, but {os.fspath(source)} has {len(left)}")
        return Bitext(left, right)
    if suffix_of(source).lower() == ".tmx":
        from corpuscle.text.xml import read_tmx

        sides, origin = read_tmx(source), Origin.of(source)
    else:
        sides = _split(source, separator)
        origin = Origin((os.fspath(source),), rows=range(len(sides[0])))
    encode = partial(read_strings, unk_token=unk_token, preprocessing=preprocessing)
    both = map(encode, sides, (source_vocab, target_vocab))
    return Bitext(*(dataclasses.replace(side, origin=origin) for side in both))


def _check_separator(separator: str) -> None:
    if separator not in (BARS, TAB):
        raise SettingError(f"the separator of a bitext is '|||' or a tab, not {separator!r}")


def _split(path: AnyPath, separator: str) -> tuple[list[str], list[str]]:
    left, right, text = [], [], decode(open_bytes(path), path)
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        sides = line.split(TAB) if separator == TAB else _BARS.split(line)
        if len(sides) != 2:
            name = "tab" if separator == TAB else "'|||'"
            raise InputError(path, number, f"expected one {name} between source and target, found {len(sides) - 1}")
        left.append(sides[0])
        right.append(sides[1])
    return left, right


def write_bitext(bitext: Bitext, source: AnyPath, target: AnyPath | None = None, *, separator: str = BARS) -> None:
    """Write two files, or one with ``separator`` between the sides of a line."""
    _check_separator(separator)
    if target is not None:
        write_text(bitext.source, source)
        write_text(bitext.target, target)
        return
    for corpus in (bitext.source, bitext.target):
        for word in corpus.vocab.decode(np.unique(corpus.tokens).tolist()):
            if not word or SPACES.search(word) or (word == BARS and separator == BARS):
                raise InputError(source, None, f"this file cannot hold the word {word!r}")
    between = TAB if separator == TAB else f" {BARS} "
    with write_atomically(source, "w") as output:
        for left, right in bitext:
            output.write(f"{' '.join(left)}{between}{' '.join(right)}\n")
