"""Documents: the texts that topics are learned from and read along.

Four ways to say where a document ends: blank lines in a text, the files of a folder, an index of lines (``documents``),
or JSON lines, one document each. Whatever the source, the outcome is a ``Corpus`` with ``document_starts``.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.text.corpus import Corpus, Preprocessing, starts_of
from corpuscle.text.files import STDIO, AnyPath, expand, read_lines
from corpuscle.text.origin import Origin
from corpuscle.text.plain import read_strings, read_text
from corpuscle.text.vocab import Vocab

LONG = 50_000
"""A document of more words than this has hardly one mixture of topics."""

_JSON = (".jsonl", ".jsonl.gz", ".jsonl.xz")


def read_documents(
    *paths: AnyPath,
    documents: AnyPath | None = None,
    split: int | None = None,
    vocab: Vocab | None = None,
    unk_token: str = "unknown",
    preprocessing: Preprocessing | None = None,
) -> Corpus:
    """Read documents: tokens between spaces, a sentence a line.

    - ``paths``: texts with blank lines between documents (``-``: stdin), folders whose files are documents, or JSON
      lines (``.jsonl``) with ``text``, a string of lines, or ``sentences``, a list of strings, and perhaps an ``id``;
    - ``documents``: the TSV file with ``first_line`` and ``lines`` of every document, for one text;
    - ``split``: long documents are cut, after every so many sentences, see ``split_documents``;
    - ``vocab``, ``unk_token``, ``preprocessing``: as in ``read_text``.

    Documents without words are left out, with a warning. It is an error if there are no words at all.
    """
    settings: dict[str, Any] = {"vocab": vocab, "unk_token": unk_token, "preprocessing": preprocessing}
    packed = [os.fspath(path).endswith(_JSON) for path in paths]
    if any(packed):
        if not all(packed) or documents is not None:
            raise SettingError("JSON lines hold whole documents: give no other files and no index with them")
        corpus = _read_json(paths, settings)
    else:
        corpus = read_text(*paths, blank="document", documents=documents, **settings)
        if documents is None:
            _report_empty_files(paths, corpus)
    if split is not None:
        corpus = split_documents(corpus, split)
    starts = document_bounds(corpus)
    filled = np.flatnonzero(np.diff(starts) > 0)
    if len(filled) == 0:
        raise corpus.error("no document has a word")
    if len(filled) < len(starts) - 1:
        _report(len(starts) - 1 - len(filled))
        corpus = pick_documents(corpus, filled)
    longest = int(np.diff(starts).max())
    if longest > LONG:
        warn(f"{paths[0]}: a document has {longest:,} words; topics say more about texts that are cut into chapters")
    return corpus


def _report(empty: int) -> None:
    warn(f"{empty} document{'s' if empty > 1 else ''} without words left out")


def _report_empty_files(paths: Sequence[AnyPath], corpus: Corpus) -> None:
    """Files of folders that have no line of text are no documents at all to the reader of plain text."""
    folders = [path for path in paths if os.fspath(path) != STDIO and os.path.isdir(path)]
    # Files of several folders may have the same name, so names are counted.
    names = Counter(Path(file).name.split(".txt")[0] for file in expand(folders))
    empty = (names - Counter(corpus.labels or ())).total()
    if empty:
        _report(empty)


def _read_json(paths: Sequence[AnyPath], settings: dict[str, Any]) -> Corpus:
    sentences: list[str] = []
    lengths: list[int] = []
    labels: list[str] = []
    firsts: list[int] = []
    lines: list[int] = []
    for path in paths:
        firsts.append(len(sentences))
        for number, line in read_lines(path):
            if line.strip():
                found, label = _of_json(line, path, number)
                sentences += found
                lines += [number] * len(found)
                lengths.append(len(found))
                labels.append(label or f"{os.fspath(path)}:{number}")
    files, rows = tuple(os.fspath(path) for path in paths), range(len(lines))
    origin = Origin(files, tuple(firsts), np.array(lines, np.int64), rows)
    corpus = dataclasses.replace(read_strings(sentences, **settings), origin=origin)
    return corpus.with_documents(starts_of(lengths), labels)


def _of_json(line: str, path: AnyPath, number: int) -> tuple[list[str], str | None]:
    """The sentences and the name of one document; sentences without words are dropped."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(path, number, f"not JSON: {error}") from None
    if not isinstance(value, dict) or ("text" in value) == ("sentences" in value):
        raise InputError(path, number, 'a document is an object with "text" or with "sentences"')
    lines = value["text"].split("\n") if isinstance(value.get("text"), str) else value.get("sentences")
    if not isinstance(lines, list) or not all(isinstance(sentence, str) for sentence in lines):
        raise InputError(path, number, '"text" is a string, "sentences" a list of strings')
    if any("\n" in sentence or "\0" in sentence for sentence in lines):
        raise InputError(path, number, "a line end or a NUL byte in a sentence")
    if any("\ud800" <= letter <= "\udfff" for sentence in lines for letter in sentence if letter >= "\ud800"):
        raise InputError(path, number, "half a surrogate pair, which is no character")
    label = value.get("id")
    return [sentence for sentence in lines if sentence.strip(" \t\r\v\f")], None if label is None else str(label)


def document_bounds(corpus: Corpus) -> np.ndarray:
    """Where documents begin and the last one ends, in tokens: int64 (n_documents + 1,); one document if none are
    marked."""
    starts = corpus.document_starts
    return corpus.sentence_starts[[0, len(corpus)] if starts is None else starts]


def pick_documents(corpus: Corpus, chosen: np.ndarray) -> Corpus:
    """Some documents by index or mask, in that order, with their labels."""
    if corpus.document_starts is None:
        raise ValueError("the corpus has no documents")
    starts, lengths = corpus.document_starts[:-1], np.diff(corpus.document_starts)
    index = np.arange(len(starts))[chosen]
    picked = starts_of(lengths[index])
    lines = np.repeat(starts[index] - picked[:-1], lengths[index]) + np.arange(picked[-1])
    labels = None if corpus.labels is None else [corpus.labels[i] for i in index]
    return corpus.select(lines).with_documents(picked, labels)


def split_documents(corpus: Corpus, sentences: int) -> Corpus:
    """Documents cut after every so many sentences; the parts of ``letter`` are ``letter:1``, ``letter:2`` and so on,
    a document that is short enough keeps its name."""
    if sentences < 1:
        raise SettingError(f"documents are split after at least one sentence, not {sentences}")
    starts = np.array([0, len(corpus)]) if corpus.document_starts is None else corpus.document_starts
    parts = np.maximum(1, -(-np.diff(starts) // sentences))
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    begins = np.repeat(starts[:-1], parts) + part * sentences
    labels = None
    if corpus.labels is not None:
        names = np.repeat(np.arange(len(parts)), parts).tolist()
        pairs = zip(names, part.tolist(), strict=True)
        labels = [f"{corpus.labels[i]}:{n + 1}" if parts[i] > 1 else corpus.labels[i] for i, n in pairs]
    return corpus.with_documents(np.append(begins, len(corpus)), labels)
