"""ARPA files: how back-off models travel between tools.

Text in three layers: a header with the number of n-grams of each order, a section for each order with lines
``log10 P <tab> n-gram [<tab> log10 back-off weight]``, and an end mark. The reserved symbols are written ``<unk>``,
``<s>``, ``</s>``; a *word* that looks like one of them gets a backslash before it (``\\<unk>``), so that every
vocabulary survives the journey. Numbers have ten decimals: a round trip is exact to 1e-9 (and to seven digits
where a model file, which keeps such numbers as float32, stands between). Reading and writing lines is
compiled.
"""

from __future__ import annotations

import itertools
import re
from os import PathLike
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.engine.ngrams.trie import frozen_ngrams, linked_tables, look_up
from corpuscle.errors import InputError
from corpuscle.lm.kernels.arpa import NO_NUMBER, SECTION, TOO_FEW, TOO_MANY, Lines, get_lines, put_rows
from corpuscle.lm.ngram import IMPORTED, NgramModel
from corpuscle.scale import workers
from corpuscle.text.corpus import starts_of
from corpuscle.text.files import open_bytes, write_atomically
from corpuscle.text.vocab import FIRST, MARKUP, START, UNKNOWN, Vocab

_LN10 = float(np.log(10.0))
_NOTHING = -99.0
_ROWS = 1 << 15
_LOOKS_RESERVED = re.compile(rb"\\*(<unk>|<UNK>|<s>|</s>)")


def _spellings(vocab: Vocab) -> tuple[np.ndarray, np.ndarray]:
    """The bytes and offsets of all ids as they stand in an ARPA file."""
    blob, offsets = vocab.bytes.tobytes(), vocab.offsets.tolist()
    words = [symbol.encode() for symbol in MARKUP]
    words += [blob[a:b] for a, b in itertools.pairwise(offsets)]
    if _LOOKS_RESERVED.search(blob):
        words[FIRST:] = [b"\\" + word if _LOOKS_RESERVED.fullmatch(word) else word for word in words[FIRST:]]
    return frozen(np.frombuffer(b"".join(words), np.uint8), np.uint8), frozen(starts_of(map(len, words)), np.int64)


def write_arpa(model: NgramModel, path: str | PathLike[str]) -> None:
    """Write a back-off model as an ARPA file (packed if the name ends in .gz or .xz)."""
    tables = model.tables_
    levels = tables.levels.tolist()
    text, offsets = _spellings(model.vocab_)
    with np.errstate(invalid="ignore"):
        numbers = np.maximum(tables.log_probability / _LN10, _NOTHING)
        weights = np.maximum(tables.backoff / _LN10, _NOTHING)
    longest = int(np.diff(offsets).max())
    all_lines = Lines(tables.words, tables.first_child, numbers, weights, text, offsets, longest)

    def lines(first: int, m: int) -> list[bytes]:
        last = min(first + _ROWS, levels[m])
        ancestors = np.zeros(tables.order, np.int64)
        ancestors[m - 1] = first
        for k in range(m - 2, -1, -1):
            ancestors[k] = np.searchsorted(tables.first_child, ancestors[k + 1], side="right") - 1
        pieces = []
        out = np.empty(_ROWS * 64 + m * (longest + 1) + 64, np.uint8)
        while first < last:
            first, used = put_rows(all_lines, m, first, last, ancestors, out)
            pieces.append(out[:used].tobytes())
        return pieces

    with write_atomically(path) as file, workers(model.threads) as pool:
        counts = "".join(f"ngram {m}={levels[m] - levels[m - 1]}\n" for m in range(1, tables.order + 1))
        file.write(f"\\data\\\n{counts}".encode())
        for m in range(1, tables.order + 1):
            file.write(f"\n\\{m}-grams:\n".encode())
            starts = list(range(levels[m - 1], levels[m], _ROWS))
            for pieces in pool.scatter(starts).map(lines, broadcast=m):
                file.writelines(pieces)
        file.write(b"\n\\end\\\n")


_REASONS = {
    NO_NUMBER: "the line does not begin with a log probability, a number of at most 0",
    TOO_FEW: "the n-gram has too few words",
    TOO_MANY: "something other than a back-off weight follows the n-gram",
}


class _Section(NamedTuple):
    """The n-grams of one order: log10 probabilities, back-off weights, their words as bytes with offsets, its line."""

    numbers: np.ndarray
    weights: np.ndarray
    text: np.ndarray
    ends: np.ndarray
    line: int


class _Reader:
    """Goes through an ARPA file from top to bottom, knowing in which line it is."""

    def __init__(self, path: str | PathLike[str]):
        self.path = path
        content = open_bytes(path)
        try:
            content.decode()
        except UnicodeDecodeError as error:
            raise self.error(f"invalid UTF-8: {error.reason}", content.count(b"\n", 0, error.start) + 1) from None
        if b"\0" in content:
            raise self.error("NUL byte", content.count(b"\n", 0, content.index(b"\0")) + 1)
        self.content, self.position, self.line = content, 3 if content.startswith(b"\xef\xbb\xbf") else 0, 0
        self.data = frozen(np.frombuffer(content, np.uint8), np.uint8)

    def error(self, reason: str, line: int | None = None) -> InputError:
        return InputError(self.path, self.line if line is None else line, reason)

    def next_line(self) -> bytes:
        """The next line that is not blank, without white space around it; fails at the end of the file."""
        while self.position < len(self.content):
            end = self.content.find(b"\n", self.position)
            end = len(self.content) if end < 0 else end
            line, self.position = self.content[self.position : end].strip(), end + 1
            self.line += 1
            if line:
                return line
        raise self.error("the file ends too early: \\end\\ is missing")

    def header(self) -> list[int]:
        """The number of n-grams of each order."""
        try:
            while self.next_line() != b"\\data\\":
                pass
        except InputError:
            raise InputError(self.path, None, "not an ARPA file: it has no line \\data\\") from None
        counts: list[int] = []
        while (match := re.fullmatch(rb"ngram\s+(\d{1,4})\s*=\s*(\d{1,18})", line := self.next_line())) is not None:
            if int(match[1]) != len(counts) + 1:
                raise self.error(f"the count of order {len(counts) + 1} is missing")
            counts.append(int(match[2]))
        if not counts:
            raise self.error("no 'ngram 1=...' in the header")
        self._expect(line, b"\\1-grams:")
        return counts

    def _expect(self, line: bytes, wanted: bytes) -> None:
        if line != wanted:
            raise self.error(f"expected {wanted.decode()}, found {line[:40].decode(errors='replace')!r}")

    def section(self, m: int, count: int, follows: bytes) -> _Section:
        """The n-grams of order m, whose heading has been read; and the heading that must follow."""
        if count > len(self.content):
            raise self.error(f"the header claims {count} n-grams of order {m}, more than the file can hold")
        heading = self.line
        numbers, weights = np.zeros(count), np.zeros(count)
        text, ends = np.empty(1 << 16, np.uint8), np.zeros(count * m + 1, np.int64)
        done = used = 0
        while done < count:
            before = done
            code, self.position, done, lines, used = get_lines(
                self.data, self.position, m, done, min(count, done + 200_000), numbers, weights, text, ends, used
            )
            self.line += lines
            if code in _REASONS:
                raise self.error(_REASONS[code], self.line + 1)
            if code == SECTION or self.position >= len(self.data):
                if done < count:
                    raise self.error(f"{done} n-grams of order {m}, but the header says {count}", self.line + 1)
            elif done == before or used + (1 << 15) > len(text):
                line_end = self.content.find(b"\n", self.position)
                needed = (line_end if line_end >= 0 else len(self.content)) - self.position
                text.resize(2 * len(text) + needed, refcheck=False)
        self._expect(self.next_line(), follows)
        return _Section(numbers, weights, text[:used], ends, heading)


def _unigrams(reader: _Reader, section: _Section) -> tuple[Vocab, Vocab, np.ndarray]:
    """The vocabulary of the unigram section, the words as they are spelled in the file, and the ids of these."""
    spelled = Vocab(section.text, section.ends)
    words = [word.encode() for word in spelled.strings[FIRST:]]
    reserved = {symbol.encode(): id for id, symbol in enumerate(MARKUP)} | {b"<UNK>": UNKNOWN}
    others = (word for word in words if word not in reserved)
    ordinary = [word.removeprefix(b"\\" if _LOOKS_RESERVED.fullmatch(word) else b"").decode() for word in others]
    listed = [reserved[word] for word in words if word in reserved]
    if len(set(ordinary)) < len(ordinary) or len(set(listed)) < len(listed):
        raise reader.error("a unigram is listed twice", section.line)
    numbers = itertools.count(FIRST)
    ids = [reserved[word] if word in reserved else next(numbers) for word in words]
    return Vocab.from_words(ordinary), spelled, np.array(ids, np.int64)


def _natural(numbers: np.ndarray) -> np.ndarray:
    """Natural logs; what is written for log 0 becomes that."""
    return np.where(numbers <= _NOTHING, -np.inf, numbers * _LN10)


def read_arpa(path: str | PathLike[str]) -> NgramModel:
    """Read an ARPA file of any order, packed or not, as a model."""
    reader = _Reader(path)
    counts = reader.header()
    order = len(counts)
    headings = [f"\\{m}-grams:".encode() for m in range(2, order + 1)] + [b"\\end\\"]
    sections = [reader.section(m, count, headings[m - 1]) for m, count in enumerate(counts, 1)]
    vocab, spelled, first_ids = _unigrams(reader, sections[0])
    n_types = len(vocab)
    log_probability, backoff = np.full(n_types, -np.inf), np.zeros(n_types)
    log_probability[first_ids], backoff[first_ids] = _natural(sections[0].numbers), _natural(sections[0].weights)
    levels, words = [0, n_types], [np.arange(n_types, dtype=np.int32)]
    children: list[np.ndarray] = []
    probabilities, weights = [log_probability], [backoff]
    for m, section in enumerate(sections[1:], 2):
        grams = spelled.index.look_up(section.text, section.ends).reshape(-1, m)
        if (grams == UNKNOWN).any():
            number = int(np.flatnonzero((grams == UNKNOWN).any(1))[0]) + 1
            raise reader.error(f"n-gram {number} of order {m} has a word that is no unigram", section.line)
        grams = first_ids[grams - FIRST]
        first_child, none = np.concatenate([*children, [levels[-1]]]), np.empty(0)
        known = frozen_ngrams(np.array(levels), np.concatenate(words), first_child, none, none)
        contexts = look_up(known, grams[:, :-1])
        if (contexts < 0).any():
            number = int(np.flatnonzero(contexts < 0)[0]) + 1
            raise reader.error(f"n-gram {number} of order {m} begins with an n-gram that is not listed", section.line)
        sorting = np.lexsort((grams[:, -1], contexts))
        keys = contexts[sorting] * np.int64(n_types) + grams[sorting, -1]
        if (np.diff(keys) == 0).any():
            raise reader.error(f"an n-gram of order {m} is listed twice", section.line)
        children.append(levels[-1] + np.searchsorted(contexts[sorting], np.arange(levels[-2], levels[-1])))
        words.append(grams[sorting, -1].astype(np.int32))
        probabilities.append(_natural(section.numbers[sorting]))
        weights.append(_natural(section.weights[sorting]))
        levels.append(levels[-1] + len(grams))
    all_words, log_probability = np.concatenate(words), np.concatenate(probabilities)
    log_probability[all_words == START] = -np.inf  # never predicted, although some tools write log 1 there
    first_child = np.concatenate([*children, [levels[-1] if order > 1 else 0]])
    backoff = np.concatenate([*weights[:-1], []])
    tables = linked_tables(np.array(levels), all_words, first_child, log_probability, backoff)
    unk_token = "literal" if MARKUP[UNKNOWN] in vocab else "unknown"
    return NgramModel.from_tables(tables, vocab, method=IMPORTED, min_count=1, unk_token=unk_token)
