"""Word vectors in the text format of word2vec: a word and its numbers on a line, separated by spaces.

A first line with the number of words and of dimensions is written, and may be missing on reading. Row i of a matrix is
the vector of id i, so ``matrix[corpus.tokens]`` are the vectors of a text. A literal ``<unk>``, ``<s>`` or ``</s>`` is
the vector of the reserved symbol; reserved symbols without one are zeros.
"""

from __future__ import annotations

import re

import numpy as np

from corpuscle.errors import InputError
from corpuscle.text.files import AnyPath, read_lines, write_atomically
from corpuscle.text.vocab import FIRST, MARKUP, Vocab

_HEADER = re.compile(r"([0-9]{1,9}) ([0-9]{1,9})[ \t]*")
_FIELD = re.compile(r"[^ \t\v\f\r]+")
_SPACE = re.compile(r"[ \t\n\r\v\f]")
_NUMBERS = re.compile(r"[-+0-9.eE ]*")
_LARGEST = float(np.finfo(np.float32).max)


def read_vectors(path: AnyPath) -> tuple[Vocab, np.ndarray]:
    """Read vectors: the vocabulary, and a float32 matrix (len(vocab), dimensions).

    A first line of two integers is the header, unless what follows shows that it is a word with a vector of one number.
    """
    lines = list(read_lines(path))
    announced = None
    match = _HEADER.fullmatch(lines[0][1]) if lines else None
    if match and (len(lines) == 1 or len(_FIELD.findall(lines[1][1])) == int(match[2]) + 1):
        announced = (int(match[1]), int(match[2]))
        lines = lines[1:]
    words: dict[str, int] = {}
    rows: list[np.ndarray] = []
    width = None if announced is None else announced[1]
    for number, line in lines:
        word, *numbers = _fields(line)
        if not word:
            raise InputError(path, number, "a line without a word")
        if width is None:
            width = len(numbers)
        if len(numbers) != width:
            reason = f"{len(numbers)} numbers instead of {width} (words must not contain spaces)"
            raise InputError(path, number, reason)
        if word in words:
            raise InputError(path, number, f"the word {word[:40]!r} occurs twice")
        words[word] = len(rows)
        rows.append(_numbers(numbers, path, number))
    if announced is not None and announced[0] != len(rows):
        raise InputError(path, None, f"{len(rows)} words, but the first line announces {announced[0]}")
    ordinary = [word for word in words if word not in MARKUP]
    matrix = np.zeros((FIRST + len(ordinary), width or 0), np.float32)
    order = [*MARKUP, *ordinary]
    for id, word in enumerate(order):
        if word in words:
            matrix[id] = rows[words[word]]
    return Vocab.from_words(ordinary), matrix


def _fields(line: str) -> list[str]:
    """The word and the numbers, as strings; at least one string."""
    fields = line.rstrip(" ").split(" ")
    if "" in fields or "\t" in line:
        fields = _FIELD.findall(line) or [""]
    return fields


def _numbers(texts: list[str], path: AnyPath, line: int) -> np.ndarray:
    """The numbers of a line, float32; Python's ``float`` would take more than should stand there."""
    try:
        if _NUMBERS.fullmatch(" ".join(texts)):
            row = np.array(list(map(float, texts)), np.float64)
            if (np.abs(row) <= _LARGEST).all():
                return row.astype(np.float32)
    except ValueError:
        pass
    bad = next(text for text in texts if not _is_number(text))
    raise InputError(path, line, f"{bad[:40]!r} is not a number that can be used")


def _is_number(text: str) -> bool:
    try:
        return bool(_NUMBERS.fullmatch(text) and abs(float(text)) <= _LARGEST)
    except ValueError:
        return False


def write_vectors(vocab: Vocab, matrix: np.ndarray, path: AnyPath) -> None:
    """Write vectors with a header; the shortest digits that give the same float32 again.

    Reserved symbols come first, and only those that have a vector other than zeros.
    """
    matrix = np.asarray(matrix, np.float32)
    if matrix.ndim != 2 or len(matrix) != len(vocab):
        raise ValueError(f"a matrix of shape {matrix.shape} for {len(vocab)} ids")
    if not np.isfinite(matrix).all():
        raise InputError(path, None, "a vector has a number that is not finite")
    reserved = [id for id in range(FIRST) if matrix[id].any()]
    kept = [*reserved, *range(FIRST, len(vocab))]
    for word in vocab.strings[FIRST:]:
        if not word or _SPACE.search(word) or word in MARKUP:
            raise InputError(path, None, f"this file cannot hold the word {word!r}")
    with write_atomically(path, "w") as output:
        output.write(f"{len(kept)} {matrix.shape[1]}\n")
        for id in kept:
            output.write(" ".join([vocab.strings[id], *map(str, matrix[id])]) + "\n")
