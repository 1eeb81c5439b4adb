"""Preprocessing: what is done to the words of a text after it has been read, and before anything is learned from it.

It is applied to vocabulary types, not to tokens: a corpus of a hundred million tokens has perhaps a million types. All
types are written as one string, one type a line, and changed together; the byte scanner reads the result back, which
merges types that have become equal and splits those that have become several words.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Callable

import numpy as np

from corpuscle.settings import Settings
from corpuscle.text.corpus import Corpus, renumbered, starts_of
from corpuscle.text.settings import TextSettings
from corpuscle.text.vocab import FIRST, Vocab


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
    """All ordinary types, one a line."""
    n_types = len(vocab) - FIRST
    lines = np.full(len(vocab.bytes) + n_types, ord("\n"), np.uint8)
    lines[np.arange(len(vocab.bytes)) + np.repeat(np.arange(n_types), np.diff(vocab.offsets))] = vocab.bytes
    return lines.tobytes()


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
