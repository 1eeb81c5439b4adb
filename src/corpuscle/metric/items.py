"""Items with labels, from files: texts, or vectors.

A row of a table has a label first. If all other fields of the first row are numbers, the items are vectors, all of the
same length; otherwise the last field is a text. Fields are separated by tabs, or, in a file whose name ends in
``.csv``, by commas. In running text with documents, every sentence is an item and its document the label.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from corpuscle.errors import InputError
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import AnyPath, read_lines, suffix_of
from corpuscle.text.plain import read_text
from corpuscle.text.tables import read_table


class Items(NamedTuple):
    """Texts or vectors with labels: ``content``, a list of strings or float64 (items, n); ``labels``."""

    content: list[str] | np.ndarray
    labels: list[str]

    @property
    def is_text(self) -> bool:
        """Whether they are texts."""
        return isinstance(self.content, list)


def _rows(path: AnyPath) -> Iterator[tuple[int, list[str]]]:
    if suffix_of(path) != ".csv":
        yield from read_table(path)
        return
    for number, line in read_lines(path):
        yield number, next(csv.reader([line]), [""])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_items(path: AnyPath) -> Items:
    """The items of a table, the label first."""
    labels: list[str] = []
    texts: list[str] = []
    vectors: list[list[float]] = []
    numeric = False
    for line, fields in _rows(path):
        if len(fields) < 2:
            raise InputError(path, line, "a label, a tab, and a text or numbers are expected")
        if not labels:
            numeric = all(_number(field) is not None for field in fields[1:])
        labels.append(fields[0])
        if not numeric:
            texts.append(fields[-1])
            continue
        numbers = [_number(field) for field in fields[1:]]
        wrong = next((field for field, number in zip(fields[1:], numbers, strict=True) if number is None), None)
        if wrong is not None:
            raise InputError(path, line, f"{wrong[:40]!r} is not a number, and the first row has numbers only")
        if not np.isfinite(numbers).all():  # type: ignore[arg-type]
            raise InputError(path, line, "numbers must be finite")
        if vectors and len(numbers) != len(vectors[0]):
            raise InputError(path, line, f"{len(numbers)} numbers, where the first row has {len(vectors[0])}")
        vectors.append(numbers)  # type: ignore[arg-type]
    if not labels:
        raise InputError(path, None, "there are no items")
    return Items(np.array(vectors), labels) if numeric else Items(texts, labels)


def read_documents(path: AnyPath, documents: AnyPath | None = None) -> Items:
    """The sentences of a text, labelled by their documents: blank lines part them, or an index of documents does."""
    corpus: Corpus = read_text(path, documents=documents, blank="sentence" if documents else "document")
    if corpus.document_starts is None:
        raise InputError(path, None, "this text has no documents")
    sizes = np.diff(corpus.document_starts)
    names = corpus.labels or tuple(map(str, range(1, len(sizes) + 1)))
    labels = [name for name, size in zip(names, sizes.tolist(), strict=True) for _ in range(size)]
    return Items([" ".join(sentence) for sentence in corpus], labels)
