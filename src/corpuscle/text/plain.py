"""Plain text: one sentence per line, tokens between white space. The door through which most text comes in.

Conventions: UTF-8; lines end at LF (a CR before it is white space, a BOM at the start is dropped); tokens are split at
ASCII white space only. No line is ever dropped: a line of white space is an empty sentence, or the end of a document
where the caller says so. A literal ``<unk>`` is the unknown symbol, or an ordinary word where the caller says so.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.text.corpus import SPACE, Corpus, Preprocessing, renumbered, spell_out, starts_of
from corpuscle.text.files import STDIO, AnyPath, expand, open_stream, write_atomically
from corpuscle.text.formats import format_of
from corpuscle.text.origin import Origin
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, MARKUP, UNKNOWN, Vocab

BLOCK = 1 << 20
"""How many bytes ``iter_text`` asks for at a time."""
_LONG = 1 << 25
"""Lines of more bytes in all are not kept for the sake of a larger chunk."""

_WRITTEN = {SPACE: " ", "\\" + SPACE: SPACE}
"""What characters of running text stand for."""

_MOST_LINES = 1 << 48
"""More than any text has, and small enough to add up."""


def _check(units: str, blank: str, unk_token: str) -> None:
    for name, value, allowed in (
        ("units", units, ("words", "characters", "graphemes")),
        ("blank", blank, ("sentence", "document")),
        ("unk_token", unk_token, ("unknown", "literal")),
    ):
        if value not in allowed:
            raise SettingError(f"{name} is one of {', '.join(map(repr, allowed))}, not {value!r}")


def read_text(
    *paths: AnyPath,
    vocab: Vocab | None = None,
    units: str = "words",
    blank: str = "sentence",
    unk_token: str = "unknown",
    preprocessing: Preprocessing | None = None,
    documents: AnyPath | None = None,
) -> Corpus:
    """Read text files (``-``: stdin; folders: their .txt files) one after the other into one Corpus.

    - ``vocab``: use the ids of this vocabulary, in which unknown words become ``UNKNOWN``; otherwise types are numbered
      in the order in which they are first seen;
    - ``units``: tokens are ``words``, ``characters`` or ``graphemes``, the latter two with ``SPACE`` between words;
    - ``blank``: a white-space-only line is an empty ``sentence`` or the end of a ``document``; in the latter case a
      document also ends with its file, and a file of a folder is one document whatever blank lines it has;
    - ``unk_token``: a literal ``<unk>`` is the ``unknown`` symbol or a ``literal`` word;
    - ``preprocessing``: what is done to the words; by default Unicode NFC and nothing else;
    - ``documents``: a TSV file that says which lines make up which document, see ``read_document_index``.
    """
    from corpuscle.text.scan import Scanner

    _check(units, blank, unk_token)
    if not paths:
        raise SettingError("no text to read")
    scanner = Scanner()
    files: list[tuple[str, int, bool]] = []  # name, number of the line after its last, whether it is in a folder
    for path in paths:
        in_folder = os.fspath(path) != STDIO and os.path.isdir(path)
        for file in expand([path]):
            first = scanner.n_lines
            for data in _blocks_of_lines(file, _MOST_LINES, BLOCK << 3):
                scanner.feed(data, file, 1 + scanner.n_lines - first)
            files.append((file, scanner.n_lines, in_folder))
    tokens, starts, found = scanner.finish()
    firsts = (0, *(after for _, after, _ in files[:-1]))
    origin = Origin(tuple(name for name, _, _ in files), firsts, rows=range(scanner.n_lines))
    corpus = Corpus(tokens, starts, found, origin=origin)
    corpus = _finish(corpus, vocab, units, unk_token, preprocessing or Preprocessing())
    if documents is not None:
        return _by_index(corpus, documents, blank)
    return _by_blank_lines(corpus, files, origin) if blank == "document" else corpus


def read_strings(
    lines: Iterable[str],
    vocab: Vocab | None = None,
    *,
    units: str = "words",
    unk_token: str = "unknown",
    preprocessing: Preprocessing | None = None,
) -> Corpus:
    """The same for sentences that are in memory already, one string each, without line ends.

    >>> list(read_strings(["to be", "or not"]))
    [['to', 'be'], ['or', 'not']]
    """
    from corpuscle.text.scan import Scanner

    _check(units, "sentence", unk_token)
    lines = list(lines)
    scanner = Scanner()
    if lines:
        scanner.feed(("\n".join(lines) + "\n").encode(), None)
    if scanner.n_lines != len(lines):
        raise ValueError("a sentence has a line end in it")
    return _finish(Corpus(*scanner.finish()), vocab, units, unk_token, preprocessing or Preprocessing())


def _finish(corpus: Corpus, vocab: Vocab | None, units: str, unk_token: str, preprocessing: Preprocessing) -> Corpus:
    """From the words as they stand in the text to the units and ids that were asked for."""
    if unk_token == "unknown":
        corpus = _without_markup(corpus)
    corpus = preprocessing.apply(corpus)
    if unk_token == "unknown":
        corpus = _without_markup(corpus)  # lower-casing makes <unk> of <UNK>
    if units != "words":
        corpus = spell_out(corpus, units)
    return corpus if vocab is None else _recode_in_place(corpus, vocab.mapping_from(corpus.vocab), vocab)


def _recode_in_place(corpus: Corpus, mapping: np.ndarray, vocab: Vocab) -> Corpus:
    """Renumber tokens that nothing else refers to, without a second copy of them."""
    renumbered(corpus.tokens, mapping, out=corpus.tokens)
    return dataclasses.replace(corpus, vocab=vocab)


def _without_markup(corpus: Corpus) -> Corpus:
    """Make the type ``<unk>``, if there is one, the unknown symbol."""
    markup = np.frombuffer(MARKUP[UNKNOWN].encode(), np.uint8)
    type = int(corpus.vocab.index.look_up(markup, np.array([0, len(markup)]))[0])
    if type == UNKNOWN:
        return corpus
    mapping = np.arange(len(corpus.vocab), dtype=np.int32)
    mapping[type:] -= 1
    mapping[type] = UNKNOWN
    vocab = corpus.vocab.subset(np.delete(np.arange(FIRST, len(corpus.vocab)), type - FIRST))
    vocab.counts[UNKNOWN] += corpus.vocab.counts[type]
    return _recode_in_place(corpus, mapping, vocab)


def _by_blank_lines(corpus: Corpus, files: list[tuple[str, int, bool]], origin: Origin) -> Corpus:
    """Drop blank lines; a document is what stands between two of them in a file, or a whole file of a folder."""
    blank = corpus.lengths == 0
    begins = ~blank
    begins[1:] &= blank[:-1]
    labels: dict[int, str] = {}
    first = 0
    for name, last, in_folder in files:
        text = first + np.flatnonzero(~blank[first:last])[:1]
        if in_folder:
            begins[first:last] = False
            labels.update((int(line), Path(name).name.split(".txt")[0]) for line in text)
        begins[text] = True
        first = last
    kept = np.cumsum(~blank) - 1
    begin_lines = np.flatnonzero(begins)
    names = None
    if labels:
        names = [labels.get(line) or "{}:{}".format(*origin.place(line)) for line in begin_lines.tolist()]
    starts = corpus.sentence_starts[np.append(np.flatnonzero(~blank), len(corpus))]
    text_only = Corpus(corpus.tokens, starts, corpus.vocab, origin=origin[~blank])
    return text_only.with_documents(np.append(kept[begin_lines], len(starts) - 1), names)


def read_document_index(path: AnyPath) -> tuple[np.ndarray, list[str] | None]:
    """Which lines belong to which document: int64 (n, 2), first line (from 0) and number of lines; and their labels.

    The file has a header with the columns ``first_line`` (counted from 1) and ``lines`` in any place; without a header
    these are the first two columns. The label is the column ``id`` or else the first of the others, if there is one.
    """
    rows: list[tuple[int, int]] = []
    labels: list[str] = []
    names, end = list[str](), 0
    label: str | None = None
    for number, fields in read_table(path):
        if not names:
            header = not fields[0].isdecimal() or "lines" in fields
            names = fields if header else ["first_line", "lines", *map(str, range(len(fields) - 2))][: len(fields)]
            if "first_line" not in names or "lines" not in names:
                raise InputError(path, number, "a document index has the columns first_line and lines")
            others = [name for name in names if name not in ("first_line", "lines")]
            label = "id" if "id" in names else next(iter(others), None)
            if header:
                continue
        if len(fields) != len(names):
            raise InputError(path, number, f"{len(fields)} columns instead of {len(names)}")
        row = dict(zip(names, fields, strict=True))
        try:
            first, length = int(row["first_line"]) - 1, int(row["lines"])
        except ValueError:
            raise InputError(path, number, "first_line and lines are whole numbers") from None
        if not max(abs(first), abs(length)) < _MOST_LINES:
            raise InputError(path, number, "no text has so many lines")
        if first < end or length < 0:
            raise InputError(path, number, "documents come in order, do not overlap, and lines count from 1")
        end = first + length
        rows.append((first, length))
        if label is not None:
            labels.append(row[label])
    return np.array(rows, np.int64).reshape(-1, 2), None if label is None else labels


def _by_index(corpus: Corpus, path: AnyPath, blank: str) -> Corpus:
    """The lines that the index names, grouped into documents; other lines are left out."""
    index, labels = read_document_index(path)
    for row, (first, length) in enumerate(index.tolist()):
        if first + length > len(corpus):
            reason = f"document {row + 1} ends at line {first + length}, but the text has {len(corpus)} lines"
            raise InputError(path, None, reason)
    starts = starts_of(index[:, 1])
    lines = np.repeat(index[:, 0] - starts[:-1], index[:, 1]) + np.arange(starts[-1])
    if blank == "document":
        text = corpus.lengths[lines] > 0
        starts = np.concatenate([[0], np.cumsum(text)])[starts]
        lines = lines[text]
    chosen = corpus if len(lines) == len(corpus) else corpus.select(lines)
    return chosen.with_documents(starts, labels)


def iter_text(
    path: AnyPath,
    vocab: Vocab | None = None,
    lines_per_chunk: int = 10_000,
    *,
    units: str = "words",
    unk_token: str = "unknown",
    preprocessing: Preprocessing | None = None,
) -> Iterator[Corpus]:
    """Read a text of any length as one Corpus per ``lines_per_chunk`` lines; only one of them is in memory at a time.

    Without ``vocab`` each chunk numbers its own types.
    """
    from corpuscle.text.scan import Scanner

    _check(units, "sentence", unk_token)
    if lines_per_chunk < 1:
        raise SettingError(f"lines_per_chunk is at least 1, not {lines_per_chunk}")
    first_line = 1
    for data in _blocks_of_lines(path, lines_per_chunk):
        scanner = Scanner()
        scanner.feed(data, path, first_line)
        tokens, starts, found = scanner.finish()
        origin = Origin((os.fspath(path),), rows=range(first_line - 1, first_line - 1 + scanner.n_lines))
        first_line += scanner.n_lines
        corpus = Corpus(tokens, starts, found, origin=origin)
        yield _finish(corpus, vocab, units, unk_token, preprocessing or Preprocessing())


def _blocks_of_lines(path: AnyPath, lines: int, most: int = _LONG) -> Iterator[bytes]:
    """The bytes of a file in chunks of exactly ``lines`` lines, or fewer from ``most`` bytes on, and at the end; of a
    file in another format than plain text all at once."""
    if (form := format_of(path)) is not None:
        yield "".join(f"{line}\n" for line in form.lines(path)).encode()
        return
    with open_stream(path) as stream:
        parts: list[bytes] = []
        missing, size = lines, 0
        while block := stream.read(BLOCK):
            while (count := block.count(b"\n")) >= missing or (count and size > most):
                cut = len(block)
                if count > missing or not block.endswith(b"\n"):
                    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
                    cut = int(ends[min(count, missing) - 1]) + 1
                parts.append(block[:cut])
                yield b"".join(parts)
                parts, block, missing, size = [], block[cut:], lines, 0
            if block:
                parts.append(block)
                missing -= count
                size += len(block)
        if parts:
            yield b"".join(parts)


def write_text(corpus: Corpus, path: AnyPath, *, units: str = "words") -> None:
    """Write one sentence per line, and a blank line between documents if there are any.

    With ``units`` other than ``words`` tokens are joined into running text again. Reserved symbols are written as
    people see them, ``<unk>`` for the unknown.
    """
    _check(units, "sentence", "unknown")
    last_of_document = frozenset[int]()
    if corpus.document_starts is not None:
        last_of_document = frozenset((corpus.document_starts[1:-1] - 1).tolist())
    with write_atomically(path, "wb") as output:
        for first in range(0, len(corpus), 1 << 14):
            lines: list[str] = []
            for i, words in enumerate(corpus[first : first + (1 << 14)], first):
                lines.append(" ".join(words) if units == "words" else "".join(_WRITTEN.get(u, u) for u in words))
                if i in last_of_document:
                    lines.append("")
            output.write(("\n".join(lines) + "\n").encode())


def warm() -> None:
    """Compile and cache the kernels of this floor by running each once."""
    from corpuscle.hashing import string_hashes
    from corpuscle.text.scan import Index, Scanner

    scanner = Scanner()
    scanner.feed(b"a b", None)
    vocab = scanner.finish()[2]
    string_hashes(vocab.bytes, vocab.offsets)
    Index.of(vocab.bytes, vocab.offsets).look_up(vocab.bytes, vocab.offsets)
