"""CoNLL-U: ten tab-separated columns per word, a blank line after each sentence.

The reader is strict: what it accepts, the writer gives back byte for byte (but for CR, a byte order mark, and the final
blank line, which is there once). Comments, multiword ranges and empty nodes are kept. The columns and their rules are
those of https://universaldependencies.org/format.html; CoNLL-X files, which have ten columns too, are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.files import AnyPath, read_lines, suffix_of, write_atomically
from corpuscle.text.layers import Layer, Numbering
from corpuscle.text.origin import Origin
from corpuscle.text.treebank import LAYERS, Insertions, Treebank, comment_value
from corpuscle.text.vocab import FIRST

_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_SPACED = ("FORM", "LEMMA", "MISC")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_HEAD = re.compile(r"0|[1-9][0-9]{0,8}")
_BATCH = 100_000
"""Words whose fields are held as strings at one time."""


@dataclass
class _Sentence:
    """Where the reader is inside a sentence: checks the order of its lines."""

    index: int
    words: int = 0
    comments: list[str] = field(default_factory=list)
    ranges: list[tuple[int, int, int, str]] = field(default_factory=list)
    empties: list[tuple[int, int, int, str]] = field(default_factory=list)

    def insert(self, fields: list[str]) -> str | None:
        """Take a line that is no word; if it may not stand here, returns why."""
        id, following = fields[0], self.words + 1
        open_range = bool(self.ranges) and self.ranges[-1][1] == following
        if match := _RANGE.fullmatch(id):
            first, last = int(match[1]), int(match[2])
            if last < first:
                return f"the range {id} ends before it begins"
            if first != following or open_range:
                return f"the range {id} must stand right before its first word"
            if self.ranges and first <= self.ranges[-1][2]:
                return f"the range {id} overlaps the one before it"
            self.ranges.append((self.index, first, last, "\t".join(fields[1:])))
        elif match := _EMPTY.fullmatch(id):
            after, number = int(match[1]), int(match[2])
            before = self.empties[-1][2] if self.empties and self.empties[-1][1] == after else 0
            if after != self.words or number != before + 1 or open_range:
                return f"the empty node {id} is out of order"
            self.empties.append((self.index, after, number, "\t".join(fields[1:])))
        else:
            return f"the id is {id[:40]!r} where {following} is expected"
        return None

    def close(self) -> str | None:
        """Why the sentence may not end here, if there is a reason."""
        if not self.words:
            return "a sentence without words"
        if self.ranges and self.ranges[-1][2] > self.words:
            return f"the range {self.ranges[-1][1]}-{self.ranges[-1][2]} goes beyond the sentence"
        return None


def is_treebank(path: AnyPath) -> bool:
    """Whether a file is CoNLL-U: it has its columns, whatever its name, or its name ends in ``.conllu``."""
    return suffix_of(path) == ".conllu"


def read_conllu(path: AnyPath) -> Treebank:
    """Read a CoNLL-U file; see ``Treebank`` for what comes back."""
    lines = [line for _, line in read_lines(path)]
    while lines and not lines[-1]:
        lines.pop()
    numberings = [Numbering() if name == "FORM" else Numbering("_") for name in _COLUMNS[1:]]
    lengths: list[int] = []
    first_lines = [1]
    comments: list[tuple[str, ...]] = []
    ranges: list[tuple[int, int, int, str]] = []
    empties: list[tuple[int, int, int, str]] = []
    rows: list[str] = []

    def flush() -> None:
        # One split for all rows: no list for each, so nothing for the garbage collector to walk through.
        fields = "\t".join(rows).split("\t")
        for column, numbering in enumerate(numberings, 1):
            numbering.add(fields[column::10])
        rows.clear()

    current = _Sentence(0)
    for number, line in enumerate([*lines, ""] if lines else [], 1):
        if not line:
            if reason := current.close():
                raise InputError(path, number, reason)
            lengths.append(current.words)
            first_lines.append(number + 1)
            comments.append(tuple(current.comments))
            ranges += current.ranges
            empties += current.empties
            current = _Sentence(len(lengths))
            if len(rows) > _BATCH:
                flush()
        elif line[0] == "#":
            if current.words or current.ranges or current.empties:
                raise InputError(path, number, "a comment inside a sentence; comments come before its words")
            current.comments.append(line)
        else:
            if line.count("\t") != 9:
                raise InputError(path, number, f"{line.count(chr(9)) + 1} columns instead of 10")
            if line.startswith(f"{current.words + 1}\t"):
                current.words += 1
                rows.append(line)
            else:
                fields = line.split("\t")
                if reason := _bad_field(fields) or current.insert(fields):
                    raise InputError(path, number, reason)
    flush()
    _check_fields(path, lines, numberings)
    starts = starts_of(lengths)
    columns = dict(zip(_COLUMNS[1:], numberings, strict=True))
    tokens, vocab = columns.pop("FORM").finish()
    documents, labels = _documents(comments)
    origin = replace(Origin.of(path, first_lines[:-1]), word_lines=True)
    corpus = Corpus(tokens, starts, vocab, documents, labels, origin=origin)
    heads = _heads(path, lines, columns.pop("HEAD"), starts)
    layers: dict[str, Any] = dict(zip(LAYERS, (numbering.layer() for numbering in columns.values()), strict=True))
    layers |= {"ranges": Insertions.build(ranges), "empties": Insertions.build(empties)}
    return Treebank(corpus, heads, **layers, comments=tuple(comments))


def _bad_field(fields: Sequence[str]) -> str | None:
    """What is wrong with a field: it is empty, or has a space where none is allowed."""
    for name, value in zip(_COLUMNS, fields, strict=True):
        if not value:
            return f"the {name} column is empty"
        if " " in value and name not in _SPACED:
            return f"a space in the {name} column"
    return None


def _check_fields(path: AnyPath, lines: list[str], numberings: list[Numbering]) -> None:
    """Look at each distinct value once; only when one is bad, look for its line."""
    for name, numbering in zip(_COLUMNS[1:], numberings, strict=True):
        if all(type and (name in _SPACED or " " not in type) for type in numbering.types):
            continue
        for number, line in enumerate(lines, 1):
            if line and line[0] != "#" and (reason := _bad_field(line.split("\t"))):
                raise InputError(path, number, reason)


def _heads(path: AnyPath, lines: list[str], numbering: Numbering, starts: np.ndarray) -> np.ndarray:
    """The head numbers, int32, checked to lie within their sentences."""
    ids, vocab = numbering.finish()
    types = vocab.strings
    numbers = [int(type) if _HEAD.fullmatch(type) else -2 for type in types[FIRST:]]
    heads = np.array([-1] * FIRST + numbers, np.int32)[ids]
    wrong = np.flatnonzero((heads == -2) | (heads > np.repeat(np.diff(starts), np.diff(starts))))
    if len(wrong):
        token = int(wrong[0])
        words = (i for i, line in enumerate(lines, 1) if line.split("\t", 1)[0].isdecimal())
        line = next(islice(words, token, None))
        reason = "is not a number" if heads[token] == -2 else "lies outside the sentence"
        raise InputError(path, line, f"the head {types[ids[token]][:40]!r} {reason}")
    return heads


def _documents(comments: list[tuple[str, ...]]) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """Where documents start, and their names, from the comments ``# newdoc``."""
    found: dict[int, str] = {}
    for sentence, lines in enumerate(comments):
        for key in ("newdoc", "newdoc id"):
            if (label := comment_value(lines, key)) is not None:
                found[sentence] = label
    if not found:
        return None, None
    found = {0: "", **found}
    return np.array([*found, len(comments)], np.int64), tuple(found.values())


def write_conllu(treebank: Treebank, path: AnyPath) -> None:
    """Write a CoNLL-U file: what ``read_conllu`` read comes out as it was, with the layers as they are now."""
    _check_writable(treebank, path)
    with write_atomically(path, "w") as output:
        output.writelines(_blocks(treebank))


def format_conllu(treebank: Treebank) -> list[str]:
    """The sentences of a treebank as a CoNLL-U file has them, each with the empty line behind it."""
    _check_writable(treebank, None)
    return list(_blocks(treebank))


def rows_by_sentence(bank: Treebank, confidence: str = "") -> list[list[dict[str, Any]]]:
    """The words of each sentence with their annotation, named as the columns of CoNLL-U, for JSON; ``confidence``: what
    MISC calls how sure a word's annotation is."""
    columns = {
        "lemma": bank.lemmas, "upos": bank.tags, "xpos": bank.xpos, "feats": bank.features, "deprel": bank.relations,
    }  # fmt: skip
    values: dict[str, list[Any]] = {name: layer.strings() for name, layer in columns.items() if layer.ids.any()}
    values["form"] = bank.corpus.vocab.decode(bank.corpus.tokens.tolist())
    if (bank.heads >= 0).any():
        values["head"] = bank.heads.tolist()
    if confidence:
        notes = [dict(note.partition("=")[::2] for note in misc.split("|")) for misc in bank.misc.strings()]
        values["confidence"] = [float(each[confidence]) if confidence in each else None for each in notes]
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return [rows[a:b] for a, b in pairwise(bank.corpus.sentence_starts.tolist())]


def treebank_as_json(bank: Treebank, confidence: str = "") -> dict[str, Any]:
    """A treebank as plain data, see ``rows_by_sentence``, and as CoNLL-U."""
    sentences = [{"words": words} for words in rows_by_sentence(bank, confidence)]
    return {"sentences": sentences, "conllu": "".join(format_conllu(bank)) if len(bank) else ""}


def _blocks(treebank: Treebank) -> Iterator[str]:
    """The lines of each sentence and the empty line behind it."""
    corpus = treebank.corpus
    numbers = ["_", *map(str, range(int(corpus.lengths.max(initial=0)) + 1))]  # of heads, from -1 on
    layers = [getattr(treebank, name).strings() for name in LAYERS]
    fields = [
        [numbers[position] for position in (corpus.positions + 2).tolist()],
        corpus.vocab.decode(corpus.tokens.tolist()),
        *layers[:4],
        [numbers[head] for head in (treebank.heads + 1).tolist()],
        *layers[4:],
    ]
    rows = ["\t".join(row) for row in zip(*fields, strict=True)]
    inserted = _inserted(treebank)
    for sentence, (begin, end) in enumerate(pairwise(corpus.sentence_starts.tolist())):
        lines = rows[begin:end]
        for position, line in reversed(inserted.get(sentence, [])):
            lines.insert(position, line)
        yield "\n".join([*treebank.comments[sentence], *lines, "\n"])


def _inserted(treebank: Treebank) -> dict[int, list[tuple[int, str]]]:
    """For each sentence that has any: its ranges and empty nodes in order, with the number of words before them."""
    items = []
    for each, mark in ((treebank.ranges, "-"), (treebank.empties, ".")):
        for sentence, (a, b), columns in zip(each.sentences.tolist(), each.numbers.tolist(), each.columns, strict=True):
            before = a - 1 if mark == "-" else a  # an empty node stands before a range that begins there
            items.append((sentence, before, mark == "-", b, f"{a}{mark}{b}\t{columns}"))
    return {
        sentence: [(item[1], item[4]) for item in group] for sentence, group in groupby(sorted(items), itemgetter(0))
    }


def _check_writable(treebank: Treebank, path: AnyPath | None) -> None:
    """Refuse what a CoNLL-U file cannot hold."""
    lengths = treebank.corpus.lengths
    if len(lengths) and lengths.min() == 0:
        sentence = int(lengths.argmin()) + 1
        raise InputError(path, None, f"CoNLL-U has no empty sentences: sentence {sentence} has no words")
    if (treebank.heads > np.repeat(lengths, lengths)).any() or (treebank.heads < -1).any():
        raise InputError(path, None, "a head lies outside its sentence")
    forms = Layer(treebank.corpus.tokens, treebank.corpus.vocab)
    for name, layer in [("FORM", forms), *((name, getattr(treebank, name)) for name in LAYERS)]:
        for value in layer.used:
            if not value or any(mark in value for mark in "\t\n\r"):
                raise InputError(path, None, f"CoNLL-U cannot hold the value {value!r} ({name})")
    for lines in treebank.comments:
        for line in lines:
            if not line.startswith("#") or "\n" in line or "\r" in line:
                raise InputError(path, None, f"a comment is one line that begins with '#', not {line!r}")
