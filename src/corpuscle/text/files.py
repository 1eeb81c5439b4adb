"""Files: bytes in and bytes out, with errors that a user can act on.

Reading takes a path, or ``-`` for stdin, and unpacks gzip and xz, which it knows by their first bytes. A named pipe is
copied aside when it is first opened, so that it may be read again like any file; stdin is read as it comes. Writing
goes to a new file in the same folder, which takes the place of the target only when everything has been written: an
interrupted or failed command leaves no half-written file and destroys no old one.

Two limits guard the memory: an archive may unpack to 100 times its own size (64 MiB in any case), and a line may have
16 MiB, which no sentence has. ``accept`` (``--max-bytes``) sets both.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias, cast

from corpuscle.atomic import note, replacing
from corpuscle.errors import InputError

AnyPath: TypeAlias = str | PathLike[str]

STDIO = "-"
"""The path that means stdin or stdout."""

BOM = b"\xef\xbb\xbf"
"""The byte-order mark that some editors put before UTF-8."""

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_MOST_TIMES, _LEAST_LIMIT, _LINE_LIMIT, _BLOCK = 100, 1 << 26, 1 << 24, 1 << 20
_accepted: int | None = None


def accept(size: int | None) -> None:
    """Accept archives that unpack to at most ``size`` bytes, and lines of at most ``size``; None: the usual limits."""
    global _accepted
    _accepted = size


_CORRUPT = (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError)


@contextmanager
def reading(path: AnyPath) -> Iterator[None]:
    """Turn what the operating system and the unpackers say about an input into an ``InputError``."""
    try:
        yield
    except _CORRUPT as error:
        raise InputError(path, None, f"corrupt or truncated archive: {error}") from error
    except OSError as error:
        raise InputError(path, None, (error.strerror or str(error)).lower()) from error
    except ValueError as error:  # a NUL in a path
        raise InputError(path, None, str(error)) from error


class _Replayed(io.RawIOBase):
    """A reader of a file that is kept open, with a position of its own."""

    def __init__(self, kept: IO[bytes]):
        self._kept, self._at = kept, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """As much as the buffer holds, or what is left."""
        data = os.pread(self._kept.fileno(), len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


_pipes: dict[tuple[int, int], IO[bytes]] = {}
"""What came out of named pipes, by device and inode: it cannot be read from them again."""


def _open(path: AnyPath) -> BinaryIO:
    """An input file; of a named pipe, all that came out of it."""
    status = os.stat(path)
    if not stat.S_ISFIFO(status.st_mode):
        return cast(BinaryIO, open(path, "rb"))
    key = status.st_dev, status.st_ino
    if key not in _pipes:
        kept = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the process)
        with open(path, "rb") as pipe:
            shutil.copyfileobj(pipe, kept, _BLOCK)
        kept.flush()
        _pipes[key] = kept
    return cast(BinaryIO, io.BufferedReader(_Replayed(_pipes[key]), _BLOCK))


class _Counted(io.RawIOBase):
    """A stream that knows how much of it has been read."""

    def __init__(self, stream: BinaryIO):
        self.stream, self.size = stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """As much as there is at the moment."""
        count: int = cast(Any, self.stream).readinto1(buffer)
        self.size += count
        return count


def _unpacked(raw: BinaryIO, path: AnyPath) -> BinaryIO:
    """The stream itself, or what is packed in it."""
    magic = cast(Any, raw).peek(6)[:6]
    if magic.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if magic.startswith(_XZ):
        return cast(BinaryIO, lzma.LZMAFile(raw))
    suffix = os.path.splitext(os.fspath(path))[1]
    if suffix in (".gz", ".xz"):
        raise InputError(path, None, f"not a {suffix[1:]} archive, in spite of its name")
    return raw


class _Stream:
    """A binary stream whose reading errors name the file, and which keeps to the limits."""

    def __init__(self, stream: BinaryIO, packed: _Counted, path: AnyPath, lines: bool):
        self._stream, self._packed, self._path = stream, packed, path
        self._is_archive = isinstance(stream, gzip.GzipFile | lzma.LZMAFile)
        self._line_limit = (_accepted or _LINE_LIMIT) if lines else sys.maxsize
        self._size = self._line = self._n_lines = 0

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; fewer when that is all there is at the moment, none at the end."""
        with reading(self._path):
            data: bytes = cast(Any, self._stream).read1(size)
        self._size += len(data)
        limit = _accepted or max(_LEAST_LIMIT, _MOST_TIMES * self._packed.size)
        if self._is_archive and self._size > limit:
            raise InputError(self._path, None, f"unpacks to more than {limit:,} bytes; --max-bytes accepts it")
        self._follow_lines(data)
        return data

    def _follow_lines(self, data: bytes) -> None:
        """Count the lines, and complain about one that is too long."""
        begin = -self._line
        while len(data) - begin > self._line_limit:
            end = data.rfind(b"\n", 0, max(0, begin + self._line_limit + 1))
            if end < max(0, begin):
                line = self._n_lines + 1 + data.count(b"\n", 0, max(0, begin))
                reason = f"a line of more than {self._line_limit:,} bytes; --max-bytes accepts it"
                raise InputError(self._path, line, reason)
            begin = end + 1
        self._n_lines += data.count(b"\n")
        last = data.rfind(b"\n")
        self._line = len(data) - last - 1 if last >= 0 else self._line + len(data)


@contextmanager
def open_stream(path: AnyPath, *, lines: bool = True) -> Iterator[_Stream]:
    """A stream of the (unpacked) bytes of a file or of stdin, for input that should not be held in memory; ``lines``:
    it has lines, which must not be too long."""
    with ExitStack() as stack:
        with reading(path):
            if os.fspath(path) == STDIO:
                raw = cast(BinaryIO, sys.stdin.buffer)
            else:
                raw = stack.enter_context(_open(path))
            packed = _Counted(raw)
            stream = _unpacked(cast(BinaryIO, io.BufferedReader(packed, _BLOCK)), path)
        yield _Stream(stream, packed, path, lines)


_UNMISTAKABLE = {
    ".conllu": rb"\d+(-\d+|\.\d+)?(\t[^\t\n]*){9}(\n|\Z)", ".jsonl": rb'\{"[^"\n]*":',
    ".tmx": rb"(<\?xml[^>]*>\s*)?<tmx\b", ".xml": rb"(<\?xml[^>]*>\s*)?<Transliteration",
}  # fmt: skip
"""How files begin that can be nothing else."""


def head_of(path: AnyPath) -> bytes:
    """How a file begins, from its first line that is neither blank nor a comment on; nothing of stdin, which is read
    once, nor of what cannot be read, about which its reader complains."""
    name = os.fspath(path)
    try:
        kind = 0 if name == STDIO else os.stat(name).st_mode
        if stat.S_ISFIFO(kind):
            data = open_bytes(path)
        elif stat.S_ISREG(kind):
            with open_stream(path, lines=False) as stream:
                data = stream.read(_BLOCK)
        else:
            return b""
    except (InputError, OSError, ValueError):
        return b""
    return re.sub(rb"\A(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*", b"", data.removeprefix(BOM))


def suffix_of(path: AnyPath) -> str:
    """What a file is: what it begins with decides, where that can be nothing else, then the end of its name: ``.tsv``
    of ``table.tsv.gz``. The name of a pipe says nothing: its first line that is no comment decides alone (``.conllu``,
    ``.jsonl``, ``.mrg``, ``.tsv`` or none of these)."""
    name, head = os.fspath(path), head_of(path)
    known = next((suffix for suffix, begins in _UNMISTAKABLE.items() if re.match(begins, head)), None)
    if known is not None:
        return known
    try:
        piped = name != STDIO and stat.S_ISFIFO(os.stat(name).st_mode)
    except (OSError, ValueError):
        piped = False
    if not piped:
        return os.path.splitext(name.removesuffix(".gz").removesuffix(".xz"))[1]
    first = head.partition(b"\n")[0]
    if first.count(b"\t") == 9:
        return ".conllu"
    return {b"{": ".jsonl", b"(": ".mrg"}.get(first[:1], ".tsv" if b"\t" in first else "")


def open_bytes(path: AnyPath, *, lines: bool = True) -> bytes:
    """All (unpacked) bytes of a file, or of stdin for ``-``."""
    with open_stream(path, lines=lines) as stream:
        data = io.BytesIO()
        while block := stream.read(_BLOCK):
            data.write(block)
        return data.getvalue()


def decode(data: bytes, path: AnyPath | None, first_line: int = 1) -> str:
    """The text of UTF-8 bytes; invalid UTF-8 and NUL are errors that name the line. A BOM at the start is dropped."""
    if data.startswith(BOM):
        data = data[len(BOM) :]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise InputError(path, line, "invalid UTF-8") from None
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(path, first_line + data.count(b"\n", 0, nul), "NUL byte in text")
    return text


def read_lines(path: AnyPath) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, from 1, without LF or CR LF.

    The whole file is checked before the first line comes, so nothing is half-read.
    """
    yield from numbered_lines(decode(open_bytes(path), path))


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, from 1, without LF or CR LF."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return ((number, line.removesuffix("\r")) for number, line in enumerate(lines, 1))


def read_raw(path: AnyPath) -> str:
    """A text as it is, with its byte order mark and line ends: offsets count them, and they can be restored."""
    data = open_bytes(path)
    return ("\ufeff" if data.startswith(BOM) else "") + decode(data, path)


def read_blocks(path: AnyPath, blank: str = " \t") -> Iterator[list[tuple[int, str]]]:
    """The runs of lines between blank lines, which consist of nothing but ``blank``; lines with their numbers."""
    for filled, block in groupby(read_lines(path), lambda line: bool(line[1].strip(blank))):
        if filled:
            yield list(block)


def expand(paths: Iterable[AnyPath]) -> list[str]:
    """The files to read: a folder stands for its ``*.txt``, ``*.txt.gz`` and ``*.txt.xz``, sorted by name."""
    files: list[str] = []
    for path in paths:
        if os.fspath(path) == STDIO or not os.path.isdir(path):
            files.append(os.fspath(path))
            continue
        with reading(path):
            inside = sorted(p for p in Path(path).iterdir() if p.name.endswith((".txt", ".txt.gz", ".txt.xz")))
        if not inside:
            raise InputError(path, None, "no .txt files in this folder")
        files.extend(map(str, inside))
    return files


@contextmanager
def write_atomically(path: AnyPath, mode: str = "wb") -> Iterator[Any]:
    """A file object to write to: bytes (``wb``) or UTF-8 text (``w``); the file appears when the block ends well.

    ``-`` is stdout. A name in ``.gz`` or ``.xz`` packs. A full disk, a missing folder and the like are an
    ``InputError``; after any error the target is what it was before.
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode is 'wb' or 'w', not {mode!r}")
    name = os.fspath(path)
    if name == STDIO:
        tally = _Tally(cast(BinaryIO, sys.stdout.buffer))
        with _as_text(cast(BinaryIO, tally), mode) as output:
            yield output
        sys.stdout.buffer.flush()
    else:
        with replacing(path) as raw, _packed(raw, name) as packed:
            tally = _Tally(packed)
            with _as_text(cast(BinaryIO, tally), mode) as output:
                yield output
    note(name, tally.bytes, tally.lines if tally.is_text else None)


class _Tally(io.BufferedIOBase):
    """Counts the bytes and lines that go to a file."""

    def __init__(self, file: BinaryIO):
        self._file, self.bytes, self.lines, self.is_text = file, 0, 0, True

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        data = bytes(data)
        self._file.write(data)
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        self.is_text = self.is_text and b"\0" not in data
        return len(data)

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()


def _packed(raw: BinaryIO, name: str) -> AbstractContextManager[Any]:
    """What to write to: a packer where the name asks for one. No time stamp, so that equal text gives equal bytes."""
    if name.endswith(".gz"):
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    return lzma.LZMAFile(raw, "wb") if name.endswith(".xz") else nullcontext(raw)


@contextmanager
def _as_text(raw: BinaryIO, mode: str) -> Iterator[IO[Any]]:
    if mode == "wb":
        yield raw
        return
    text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    try:
        yield text
        text.flush()
    finally:
        with suppress(OSError, ValueError):
            text.detach()
