"""Column files: one line per token with its annotations in columns, a blank line between sentences.

The files of the CoNLL shared tasks on chunks and names, and what came after them: the first column is the word, the
last one usually a tag (see ``mention_tags``). A sentence that consists of one ``-DOCSTART-`` line begins a document.

*Normalised* are messages with what their writers meant: every token as typed, and its standard form. A standard form
may be several words (``wanna``: ``want to``); it is empty where the token before already says it all (``a`` ``lot``
typed apart), and the token itself where nothing is wrong. Three formats:

- two columns, one line per token: as typed, as meant (MultiLexNorm); a third column may say what happened;
- three columns with a flag in the middle (LexNorm): ``IV`` a word of the lexicon, ``OOV`` none, ``NO`` not a word at
  all (punctuation, mentions, addresses);
- JSON lines, in files whose names end in ``.jsonl``: ``{"input": ["u", "there"], "output": ["you", "there"]}``
  (W-NUT 2015).

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011; Baldwin et al., "Shared
tasks of the 2015 workshop on noisy user-generated text", 2015; van der Goot et al., "MultiLexNorm: a shared task on
multilingual lexical normalization", 2021.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.files import AnyPath, read_blocks, read_lines, suffix_of, write_atomically
from corpuscle.text.layers import Layer, Numbering, flattened
from corpuscle.text.mention_tags import Span, spans_of_tags
from corpuscle.text.origin import Origin, Sourced

DOCUMENT = "-DOCSTART-"
"""The first column of a line that begins a document."""

_BATCH = 100_000


@dataclass(frozen=True, eq=False)
class Columns:
    """Sentences with named layers.

    - ``corpus``: the first column; its documents are those of the file;
    - ``layers``: the other columns by name, in order; an empty field is id 0;
    - ``separator``: what stands between fields, a tab or a space, say;
    - ``comments``: for each sentence its comment lines, if comments were asked for;
    - ``breaks``: for each document the line that began it, or None; None where there are no documents.
    """

    corpus: Corpus
    layers: Mapping[str, Layer]
    separator: str = "\t"
    comments: tuple[tuple[str, ...], ...] | None = None
    breaks: tuple[str | None, ...] | None = None

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sequence[str]], **layers: Iterable[Sequence[str]]) -> Columns:
        """From sentences of words, and layers of the same shape by name."""
        sentences = list(sentences)
        flat = {name: flattened(name, rows, sentences) for name, rows in layers.items()}
        columns = {name: Layer.from_strings(values, missing="") for name, values in flat.items()}
        return cls(Corpus.from_sentences(sentences), columns)

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, name: str) -> Layer:
        return self.layers[name]

    def select(self, sentences: np.ndarray) -> Columns:
        """Any sentences by index or mask, in that order; documents are not kept."""
        tokens, _ = items_of(self.corpus.sentence_starts, sentences)
        layers = {name: layer[tokens] for name, layer in self.layers.items()}
        comments = self.comments and tuple(self.comments[i] for i in np.arange(len(self))[sentences])
        return Columns(self.corpus.select(sentences), layers, self.separator, comments)

    def values(self, name: str, sentence: int) -> list[str]:
        """The values of one layer in one sentence."""
        begin, end = self.corpus.sentence_starts[sentence : sentence + 2]
        return self.layers[name][begin:end].strings()

    def spans(
        self, name: str, scheme: str = "bio", repair: bool = False, path: AnyPath | None = None
    ) -> list[list[Span]]:
        """The spans that a layer of tags stands for, sentence by sentence; see ``spans_of_tags``."""
        tags, found = self.layers[name].strings(), []
        for number, (begin, end) in enumerate(pairwise(self.corpus.sentence_starts.tolist()), 1):
            try:
                found.append(spans_of_tags(tags[begin:end], scheme, repair))
            except InputError as error:
                raise InputError(path, None, f"sentence {number}, {error.reason}") from None
        return found


def read_columns(
    path: AnyPath,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    *,
    comments: bool = False,
    allow_empty: bool = False,
) -> Columns:
    """Read a column file.

    ``names`` are those of all columns, the word first; without them there are ``label`` for the last column and
    ``column2``, ``column3``, ... between. ``separator`` None means: tabs if the first line of a token has one, else
    runs of spaces. ``comments`` keeps lines that begin with ``#`` before a sentence (without it they are tokens).
    ``allow_empty`` lets fields other than the word be empty. Several blank lines count as one.
    """
    if separator == "":
        raise SettingError("the separator must not be empty")
    if names is not None and (not names or len(set(names)) != len(names)):
        raise SettingError(f"the columns need distinct names, not {list(names)}")
    runs = False
    numberings = [Numbering(), *(Numbering("") for _ in names[1:])] if names else []
    rows: list[list[str]] = []

    def split(line: str) -> list[str]:
        """The fields of a line; the first line decides what separates them, unless that was given."""
        nonlocal separator, runs
        if separator is None:
            separator = "\t" if "\t" in line else " "
            runs = separator == " "
        fields = line.split(separator)
        return [field for field in fields if field] if runs else fields

    def flush() -> None:
        for numbering, column in zip(numberings, zip(*rows, strict=True), strict=False):
            numbering.add(column)
        rows.clear()

    lengths, first_lines, starts = list[int](), list[int](), list[int]()
    notes: list[tuple[str, ...]] = []
    breaks: list[str | None] = []
    for block in read_blocks(path):
        first = 0
        while comments and first < len(block) and block[first][1][0] == "#":
            first += 1
        if first == len(block):
            raise InputError(path, block[-1][0], "a comment without a sentence")
        sentence = [(number, split(line)) for number, line in block[first:]]
        documents = [number for number, fields in sentence if fields[0] == DOCUMENT]
        if documents:
            if len(block) > 1:
                raise InputError(path, documents[0], f"{DOCUMENT} stands alone, with blank lines around it")
            starts.append(len(lengths))
            breaks.append(block[0][1])
            continue
        for number, fields in sentence:
            if not numberings:
                numberings = [Numbering(), *(Numbering("") for _ in fields[1:])]
            if len(fields) != len(numberings):
                raise InputError(path, number, f"{len(fields)} columns instead of {len(numberings)}")
            if not fields[0].strip(" \t") or ("" in fields and not allow_empty):
                empty = 1 if not fields[0].strip(" \t") else fields.index("") + 1
                raise InputError(path, number, f"column {empty} is empty")
            rows.append(fields)
        notes.append(tuple(line for _, line in block[:first]))
        lengths.append(len(sentence))
        first_lines.append(sentence[0][0])
        if len(rows) > _BATCH:
            flush()
    flush()
    word, *others = numberings or [Numbering()]
    tokens, vocab = word.finish()
    names = names or ["word", *(f"column{i}" for i in range(2, len(others) + 1)), "label"]
    layers = {name: numbering.layer() for name, numbering in zip(names[1:], others, strict=False)}
    corpus = Corpus(tokens, starts_of(lengths), vocab, origin=Origin.of(path, first_lines))
    if starts:
        if starts[0] > 0:
            starts, breaks = [0, *starts], [None, *breaks]
        corpus = corpus.with_documents(np.array([*starts, len(corpus)]))
    return Columns(
        corpus, layers, separator or "\t", tuple(notes) if comments else None, tuple(breaks) if starts else None
    )


def write_columns(columns: Columns, path: AnyPath) -> None:
    """Write a column file; what ``read_columns`` read comes out as it was, with one blank line between sentences."""
    _check_writable(columns, path)
    corpus = columns.corpus
    fields = [corpus.vocab.decode(corpus.tokens.tolist()), *(layer.strings() for layer in columns.layers.values())]
    rows = [columns.separator.join(row) for row in zip(*fields, strict=True)]
    begins: dict[int, list[str]] = {}
    if columns.breaks is not None and corpus.document_starts is not None:
        for sentence, line in zip(corpus.document_starts.tolist(), columns.breaks, strict=False):
            begins.setdefault(sentence, []).extend([] if line is None else [line, ""])
    with write_atomically(path, "w") as output:
        for sentence, (begin, end) in enumerate(pairwise(corpus.sentence_starts.tolist())):
            notes = columns.comments[sentence] if columns.comments else ()
            block = [*begins.get(sentence, ()), *notes, *rows[begin:end], "\n"]
            output.write("\n".join(block))
        output.write("\n".join([*begins.get(len(corpus), ()), ""]))


def _check_writable(columns: Columns, path: AnyPath) -> None:
    """Refuse what would not be read back."""
    corpus = columns.corpus
    if len(corpus) and corpus.lengths.min() == 0:
        sentence = int(corpus.lengths.argmin()) + 1
        raise InputError(path, None, f"a column file has no empty sentences: sentence {sentence} has no words")
    forbidden = {columns.separator, "\t", "\n", "\r"}
    words = Layer(corpus.tokens, corpus.vocab)
    for name, layer in [("word", words), *columns.layers.items()]:
        for value in layer.used:
            if any(mark in value for mark in forbidden) or (layer is words and value.strip(" ") in ("", DOCUMENT)):
                raise InputError(path, None, f"this file cannot hold the value {value!r} ({name})")
    if columns.comments is not None:
        first = corpus.vocab.decode(corpus.tokens[corpus.sentence_starts[:-1]].tolist())
        if any(word.startswith("#") for word in first):
            raise InputError(path, None, "in a file with comments a sentence cannot begin with '#'")


FLAGS = ("IV", "OOV", "NO")
"""The flags of tokens in LexNorm."""


@dataclass(frozen=True, eq=False)
class Normalised(Sourced):
    """Messages, token by token.

    - ``corpus``: as typed, one sentence per message;
    - ``meant``: the standard form of each token, which may be empty or have spaces;
    - ``notes``: LexNorm's flag, or what happened to a token; unset where the file does not say.
    """

    corpus: Corpus
    meant: Layer
    notes: Layer

    @classmethod
    def from_messages(
        cls,
        typed: Iterable[Sequence[str]],
        meant: Iterable[Sequence[str]],
        notes: Iterable[Sequence[str]] | None = None,
        origin: Origin | None = None,
    ) -> Normalised:
        """From lists of tokens of the same shape."""
        messages = list(typed)
        corpus = dataclasses.replace(Corpus.from_sentences(messages), origin=origin)
        said = Layer.unset(corpus.n_tokens, "")
        if notes is not None:
            said = Layer.from_strings(flattened("notes", notes, messages), missing="")
        return cls(corpus, Layer.from_strings(flattened("meant", meant, messages), missing=""), said)

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def origin(self) -> Origin | None:
        """Where the messages came from: that of their words."""
        return self.corpus.origin

    def select(self, messages: np.ndarray) -> Normalised:
        """Any messages by index or mask, in that order."""
        tokens, _ = items_of(self.corpus.sentence_starts, messages)
        return Normalised(self.corpus.select(messages), self.meant[tokens], self.notes[tokens])

    def standard(self, message: int) -> list[str]:
        """The standard forms of the tokens of one message."""
        begin, end = self.corpus.sentence_starts[message : message + 2]
        return self.meant[begin:end].strings()

    @property
    def flagged(self) -> bool:
        """Whether the notes are flags of LexNorm."""
        return bool(self.notes.ids.all()) and set(self.notes.used) <= set(FLAGS)


def read_normalised(path: AnyPath) -> Normalised:
    """Read messages with their standard forms: JSON lines where the name ends in ``.jsonl``, else columns."""
    if suffix_of(path) == ".jsonl":
        return _read_json(path)
    columns = read_columns(path, separator="\t", allow_empty=True)
    names = list(columns.layers)
    if len(names) not in (1, 2):
        found = f"{len(names) + 1} columns"
        raise InputError(path, None, f"{found}, where a token, its standard form and perhaps a note are expected")
    if len(names) == 1:
        return Normalised(columns.corpus, columns[names[0]], Layer.unset(columns.corpus.n_tokens, ""))
    second, third = (columns[name] for name in names)
    if set(second.used) <= set(FLAGS):
        return Normalised(columns.corpus, third, second)
    return Normalised(columns.corpus, second, third)


def _read_json(path: AnyPath) -> Normalised:
    typed: list[list[str]] = []
    meant: list[list[str]] = []
    lines: list[int] = []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(path, number, "not a line of JSON") from None
        holder = record if isinstance(record, dict) else {}
        sides: list[Any] = [holder.get(name) for name in ("input", "output")]
        for name, side in zip(("input", "output"), sides, strict=True):
            if not isinstance(side, list) or not all(isinstance(token, str) for token in side):
                raise InputError(path, number, f'needs "{name}", a list of strings')
        if len(sides[0]) != len(sides[1]):
            raise InputError(path, number, f"{len(sides[0])} tokens typed, but {len(sides[1])} standard forms")
        if not all(token.strip() for token in sides[0]):
            raise InputError(path, number, "a token is empty")
        typed.append(sides[0])
        meant.append(sides[1])
        lines.append(number)
    return Normalised.from_messages(typed, meant, origin=Origin.of(path, lines))


def write_normalised(messages: Normalised, path: AnyPath) -> None:
    """Write messages with their standard forms: JSON lines where the name ends in ``.jsonl``, LexNorm where they have
    its flags, else columns."""
    if str(path).endswith(".jsonl"):
        with write_atomically(path, "w") as file:
            for i in range(len(messages)):
                record = {"input": messages.corpus.words(i), "output": messages.standard(i)}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        return
    layers = {"meant": messages.meant}
    if messages.flagged:
        layers = {"flag": messages.notes, "meant": messages.meant}
    elif messages.notes.ids.any():
        layers["note"] = messages.notes
    write_columns(Columns(messages.corpus, layers), path)
