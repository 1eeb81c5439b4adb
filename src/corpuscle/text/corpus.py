"""Corpus: text as integers in flat arrays, encoded once, at the door.

A sentence is a slice of ``tokens``; a document is a slice of sentences. A corpus of characters is a corpus whose
vocabulary is characters. Nothing here knows about files: the readers of this floor make corpora, and everything above
uses them.

``text_stats`` counts how much there is of a text, and how much of it is new.

``Preprocessing`` is what is done to the words of a text after it has been read, and before anything is learned from it.
It is applied to vocabulary types, not to tokens: a corpus of a hundred million tokens has perhaps a million types. All
types are written as one string, one type per line, and changed together; the byte scanner reads the result back, which
merges types that have become equal and splits those that have become several words.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from corpuscle.errors import SettingError, expect
from corpuscle.memory import pieces
from corpuscle.settings import Settings
from corpuscle.text.layers import Numbering
from corpuscle.text.origin import Origin, Sourced
from corpuscle.text.settings import TextSettings
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab, items_of, starts_of

SPACE = "\u2581"
"""The character that stands for white space between words; a real one in the text is written after a backslash."""

_ESCAPED = "\\" + SPACE


def renumbered(tokens: np.ndarray, mapping: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """``mapping[tokens]`` as int32, chunk by chunk: NumPy would first make a copy of all tokens twice their size."""
    mapping = mapping.astype(np.int32, copy=False)
    out = np.empty(len(tokens), np.int32) if out is None else out
    for first in range(0, len(tokens), 1 << 18):
        out[first : first + (1 << 18)] = mapping[tokens[first : first + (1 << 18)]]
    return out


@dataclass(frozen=True, eq=False)
class Corpus(Sourced):
    """Sentences of token ids.

    - ``tokens``: int32 (n_tokens,);
    - ``sentence_starts``: int64 (n_sentences + 1,), where each sentence begins, and the end of the last;
    - ``document_starts``: int64 (n_documents + 1,) in sentences, or None where the text has no documents;
    - ``labels``: a name for each document, or None;
    - ``offsets``: int64 (n_tokens, 2), begin and end of each token in the characters of the raw text, or None;
    - ``origin``: the files it was read from, or None; see ``Origin``.

    >>> corpus = Corpus.from_sentences([["a", "b"], [], ["b"]])
    >>> len(corpus), corpus.words(0), len(corpus[1:]), corpus.n_tokens
    (3, ['a', 'b'], 2, 3)
    """

    tokens: np.ndarray
    sentence_starts: np.ndarray
    vocab: Vocab
    document_starts: np.ndarray | None = None
    labels: tuple[str, ...] | None = None
    offsets: np.ndarray | None = None
    origin: Origin | None = None

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sequence[str]], vocab: Vocab | None = None) -> Corpus:
        """Encode sentences of strings, with a new vocabulary unless one is given; the origin of a Corpus stays."""
        origin = getattr(sentences, "origin", None)
        sentences = list(sentences)
        if any(isinstance(sentence, str) for sentence in sentences):
            raise SettingError("a sentence is a list of words, not a string: read_strings([...]) splits strings")
        words = chain.from_iterable(sentences)
        if vocab is None:
            numbering = Numbering()
            numbering.add(words)
            tokens, vocab = numbering.finish()
        else:
            tokens = vocab.encode(words)
        return cls(tokens, starts_of(map(len, sentences)), vocab, origin=origin)

    @classmethod
    def checked(cls, value: Any, **reading: Any) -> Corpus:
        """A Corpus as it is; or what a path, a list of sentences as strings, or a list of lists of words stands for.

        ``reading``: how text is read, see ``read_text``; words that are given one by one stay as they are.

        >>> Corpus.checked(["a b", "b"]).n_tokens, Corpus.checked([["a", "b"], []]).n_tokens
        (3, 2)
        """
        from corpuscle.text.plain import read_strings, read_text

        if isinstance(value, cls):
            return value
        if isinstance(value, str | PathLike):
            return read_text(value, **reading)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return read_strings(value, **reading)
        if isinstance(value, list | tuple) and all(isinstance(item, list | tuple) for item in value):
            return cls.from_sentences(value)
        how = "give one, a path, a list of sentences as strings, or a list of lists of words"
        return expect(value, cls, how)

    def __repr__(self) -> str:
        documents = "" if self.document_starts is None else f", {len(self.document_starts) - 1:,} documents"
        return f"Corpus({len(self):,} sentences, {self.n_tokens:,} tokens{documents}, {self.vocab!r})"

    def _repr_html_(self) -> str:
        from corpuscle.text.html import show_sentences

        return show_sentences(self, len(self))

    def __len__(self) -> int:
        return len(self.sentence_starts) - 1

    @property
    def n_tokens(self) -> int:
        """The number of tokens, without boundary symbols."""
        return int(self.sentence_starts[-1] - self.sentence_starts[0])

    @property
    def lengths(self) -> np.ndarray:
        """The length of every sentence, int64 (n_sentences,)."""
        return np.diff(self.sentence_starts)

    @property
    def positions(self) -> np.ndarray:
        """The place of every token in its sentence, from 0, int64 (n_tokens,)."""
        return np.arange(len(self.tokens)) - np.repeat(self.sentence_starts[:-1], self.lengths)

    def filled(self, what: str = "text") -> Corpus:
        """The corpus itself, unless it has no tokens, which is an error; ``what``: what it is to the one who asks."""
        if self.n_tokens == 0:
            raise self.error(f"the {what} is empty")
        return self

    def sentence(self, index: int) -> np.ndarray:
        """The token ids of one sentence (a view)."""
        if not 0 <= index < len(self):
            raise IndexError(f"there is no sentence {index}: they are numbered from 0 to {len(self) - 1}")
        return self.tokens[self.sentence_starts[index] : self.sentence_starts[index + 1]]

    def words(self, index: int) -> list[str]:
        return self.vocab.decode(self.sentence(index))

    def __iter__(self) -> Iterator[list[str]]:
        return (self.words(i) for i in range(len(self)))

    def __getitem__(self, sentences: slice) -> Corpus:
        """Some consecutive sentences, as a Corpus that shares this one's arrays."""
        if not isinstance(sentences, slice):
            raise TypeError(f"corpus[first:last] are some sentences; corpus.words({sentences!r}) is one of them")
        first, last, step = sentences.indices(len(self))
        if step != 1:
            raise ValueError("a slice of sentences has step 1; use select() for others")
        last = max(first, last)
        begin, end = self.sentence_starts[first], self.sentence_starts[last]
        documents, labels = None, None
        if self.document_starts is not None:
            cut = np.clip(self.document_starts, first, last) - first
            kept = np.flatnonzero(np.diff(cut) > 0)
            documents = np.append(cut[kept], last - first)
            labels = None if self.labels is None else tuple(self.labels[i] for i in kept)
        return Corpus(
            self.tokens[begin:end],
            self.sentence_starts[first : last + 1] - begin,
            self.vocab,
            documents,
            labels,
            None if self.offsets is None else self.offsets[begin:end],
            None if self.origin is None else self.origin[first:last],
        )

    def select(self, sentences: np.ndarray) -> Corpus:
        """Any sentences by index or mask, in that order; documents are not kept."""
        source, starts = items_of(self.sentence_starts, sentences)
        offsets = None if self.offsets is None else self.offsets[source]
        origin = None if self.origin is None else self.origin[sentences]
        return Corpus(self.tokens[source], starts, self.vocab, offsets=offsets, origin=origin)

    def map_tokens(self, mapping: np.ndarray, vocab: Vocab) -> Corpus:
        """Give every token the new id ``mapping[id]`` in another vocabulary."""
        return dataclasses.replace(self, tokens=renumbered(self.tokens, mapping), vocab=vocab)

    def recode(self, vocab: Vocab) -> Corpus:
        """The same text in the ids of another vocabulary; words that it lacks become ``UNKNOWN``."""
        if vocab is self.vocab:
            return self
        return self.map_tokens(vocab.mapping_from(self.vocab), vocab)

    def counted(self) -> Corpus:
        """The same text with a vocabulary that counts it; of a larger text's vocabulary only the words that it has.

        A vocabulary that counts this very text stays as it is: words that it lists without having seen them are meant.
        """
        counts = np.zeros(len(self.vocab), np.int64)
        for piece in pieces(self.tokens):  # NumPy would make a copy of all tokens twice their size
            counts += np.bincount(piece, minlength=len(counts))
        if np.array_equal(counts, self.vocab.counts):
            return self
        vocab, mapping = Vocab(self.vocab.bytes, self.vocab.offsets, counts).cut()
        return self.map_tokens(mapping, vocab)

    def with_documents(self, document_starts: np.ndarray, labels: Sequence[str] | None = None) -> Corpus:
        """The same sentences, grouped into documents."""
        return dataclasses.replace(
            self,
            document_starts=np.asarray(document_starts, np.int64),
            labels=None if labels is None else tuple(labels),
        )

    def signature(self) -> str:
        """A short hash of the text itself: the same for the same sentences, whatever the numbering of words."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(np.ascontiguousarray(np.diff(self.sentence_starts)).tobytes())
        seen, first = np.unique(self.tokens, return_index=True)
        order = np.argsort(first)
        rank = np.zeros(len(self.vocab), np.int32)
        rank[seen[order]] = np.arange(len(seen))
        digest.update(np.ascontiguousarray(rank[self.tokens]).tobytes())
        digest.update("\n".join(self.vocab.word(i) for i in seen[order]).encode())
        return digest.hexdigest()


def characters_of_types(vocab: Vocab) -> np.ndarray:
    """How many characters each ordinary type has, int64 (len(vocab) - FIRST,)."""
    begins_character = (vocab.bytes & 0xC0) != 0x80  # the bytes of UTF-8 that follow a first one are 10xxxxxx
    return np.diff(np.concatenate([[0], np.cumsum(begins_character)])[vocab.offsets])


def text_stats(corpus: Corpus, known: Corpus | None = None) -> dict[str, int | float]:
    """Counts of a corpus; with ``known`` also how many of its words that other corpus never has.

    ``words`` are tokens without sentence ends, ``tokens`` with them; ``characters`` are those of the words. An unknown
    symbol in the text is out of any vocabulary.
    """
    vocab = corpus.vocab
    counts = np.bincount(corpus.tokens, minlength=len(vocab))
    used = counts[FIRST:] > 0
    figures: dict[str, int | float] = {
        "tokens": corpus.n_tokens + len(corpus),
        "words": corpus.n_tokens,
        "types": int(used.sum()),
        "words_seen_once": int((counts[FIRST:] == 1).sum()),
        "sentences": len(corpus),
        "empty_sentences": int((corpus.lengths == 0).sum()),
        "longest_sentence": int(corpus.lengths.max(initial=0)),
        "characters": int((counts[FIRST:] * characters_of_types(vocab)).sum()),
    }
    if known is not None:
        is_new = known.vocab.mapping_from(vocab)[FIRST:] == UNKNOWN
        oov = int(counts[UNKNOWN] + counts[FIRST:][is_new].sum())
        figures |= {
            "oov": oov,
            "oov_rate": oov / corpus.n_tokens if corpus.n_tokens else float("nan"),
            "oov_types": int((used & is_new).sum()),
        }
    return figures


class Preprocessing(Settings):
    """What is done to the words of a text; saved in a model and applied again to whatever the model is used on.

    >>> Preprocessing(lowercase=True, digits=True, tokenise="simple").words("In 1984, Élan!")
    ['in', '0000', ',', 'élan', '!']
    """

    nfc: bool = TextSettings.SETTINGS["nfc"]  # type: ignore[assignment]
    lowercase: bool = TextSettings.SETTINGS["lowercase"]  # type: ignore[assignment]
    digits: bool = TextSettings.SETTINGS["digits"]  # type: ignore[assignment]
    tokenise: str = TextSettings.SETTINGS["tokenise"]  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Preprocessing) and self.settings == other.settings

    def __hash__(self) -> int:
        return hash(tuple(self.settings.values()))

    def spell(self, text: str) -> str:
        """Text after all steps; line breaks stay where they are."""
        if self.nfc and not text.isascii():
            text = unicodedata.normalize("NFC", text)
        if self.tokenise == "simple":
            from corpuscle.text.sentences import split_words

            text = split_words(text)
        if self.lowercase:
            text = text.lower()
        if self.digits:
            text = re.sub(r"\d", "0", text)
        return text

    def words(self, line: str) -> list[str]:
        """The words of one line after all steps, for interactive use."""
        return [word for word in re.split(r"[ \t\n\v\f\r]+", self.spell(line)) if word]

    def apply(self, corpus: Corpus) -> Corpus:
        """The corpus after all steps; itself if they change nothing."""
        nothing_to_do = Preprocessing(nfc=False) == self.replace(nfc=False)
        if nothing_to_do and (not self.nfc or bool((corpus.vocab.bytes < 128).all())):
            return corpus
        return respell(corpus, self.spell)


def types_as_lines(vocab: Vocab) -> bytes:
    """All ordinary types, one per line."""
    return np.insert(vocab.bytes, vocab.offsets[1:], ord("\n")).tobytes()


def respell(corpus: Corpus, spell: Callable[[str], str]) -> Corpus:
    """Replace every type by the words that ``spell`` makes of it; it gets all types as lines and returns as many lines.

    Types are numbered anew in the order in which they are first seen. Character offsets survive where no type becomes
    several words.
    """
    from corpuscle.text.scan import Scanner

    before = types_as_lines(corpus.vocab).decode()
    after = spell(before)
    if after == before:
        return corpus
    scanner = Scanner()
    scanner.feed(after.encode(), None)
    words, starts, vocab = scanner.finish()
    if len(starts) - 1 != len(corpus.vocab) - FIRST:
        raise ValueError("spelling must give one line for each type")
    # Reserved symbols stand for themselves.
    words = np.concatenate([np.arange(FIRST, dtype=np.int32), words])
    starts = np.concatenate([np.arange(FIRST), starts + FIRST])
    lengths = np.diff(starts)
    vocab.counts = np.bincount(words, np.repeat(corpus.vocab.counts, lengths), len(vocab)).astype(np.int64)
    if (lengths == 1).all():
        return corpus.map_tokens(words, vocab)
    return expand_tokens(corpus, words, starts, vocab)


def expand_tokens(corpus: Corpus, words: np.ndarray, starts: np.ndarray, vocab: Vocab) -> Corpus:
    """Put ``words[starts[id]:starts[id + 1]]`` in the place of every token; sentences and documents stay."""
    lengths = np.diff(starts).astype(np.int32)
    ends = starts_of(renumbered(corpus.tokens, lengths))
    tokens = np.empty(ends[-1], np.int32)
    for first in range(0, len(corpus.tokens), 1 << 18):  # chunks, for the sake of memory
        chunk = corpus.tokens[first : first + (1 << 18)]
        begin, end = ends[first], ends[first + len(chunk)]
        shift = np.repeat(starts[chunk] - ends[first : first + len(chunk)], lengths[chunk])
        tokens[begin:end] = words[shift + np.arange(begin, end)]
    starts = ends[corpus.sentence_starts]
    return dataclasses.replace(corpus, tokens=tokens, sentence_starts=starts, vocab=vocab, offsets=None)


def spell_out(corpus: Corpus, units: str) -> Corpus:
    """A corpus of words as a corpus of its characters (``characters`` or ``graphemes``), ``SPACE`` between words.

    ``SPACE`` is always the first ordinary type; white space at the ends of lines is not counted.
    """
    from corpuscle.text.scan import Scanner
    from corpuscle.text.scripts import clusters

    split = clusters if units == "graphemes" else list
    types = types_as_lines(corpus.vocab).decode().split("\n")[:-1]
    # Every word brings the space before it; the one at the start of a sentence is taken away again.
    lines = [" ".join([SPACE, *(_ESCAPED if unit == SPACE else unit for unit in split(word))]) for word in types]

    scanner = Scanner()
    scanner.feed("\n".join([SPACE, *lines]).encode(), None)
    units_of, starts, vocab = scanner.finish()
    # The reserved symbols stay whole; line 0 made sure that SPACE has its number even in an empty text.
    reserved = np.array([FIRST, 0, FIRST, 1, FIRST, 2], np.int32)
    units_of = np.concatenate([reserved, units_of[1:]])
    starts = np.concatenate([[0, 2, 4], starts[1:] - 1 + len(reserved)])
    spelled = expand_tokens(corpus, units_of, starts, vocab)
    keep = np.ones(len(spelled.tokens), bool)
    lengths = spelled.lengths
    keep[spelled.sentence_starts[:-1][lengths > 0]] = False
    tokens = spelled.tokens[keep]
    weights = np.repeat(corpus.vocab.counts, np.diff(starts))
    vocab.counts = np.bincount(units_of, weights, len(vocab)).astype(np.int64)
    vocab.counts[FIRST] -= (lengths > 0).sum()
    starts = starts_of(np.where(lengths > 0, lengths - 1, 0))
    return dataclasses.replace(spelled, tokens=tokens, sentence_starts=starts)
