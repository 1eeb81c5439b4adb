"""Messages with what their writers meant: every token as typed, beside its standard form.

A standard form may be several words (``wanna``: ``want to``); it is empty where the token before already says it all
(``a`` ``lot`` typed apart), and the token itself where nothing is wrong. Three formats:

- two columns, a token a line: as typed, as meant (MultiLexNorm); a third column may say what happened;
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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.text.columns import Columns, read_columns, write_columns
from corpuscle.text.corpus import Corpus, items_of
from corpuscle.text.files import AnyPath, read_lines, suffix_of, write_atomically
from corpuscle.text.layers import Layer, flattened
from corpuscle.text.origin import Origin, Sourced

FLAGS = ("IV", "OOV", "NO")
"""What LexNorm says of a token."""


@dataclass(frozen=True, eq=False)
class Normalised(Sourced):
    """Messages, token by token.

    - ``corpus``: as typed, a message a sentence;
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
        """The number of messages."""
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
