"""Text as letters with gaps between them: what is known about where words begin, and segmented lines back again.

A *letter* is the smallest unit that is never cut: a character, a grapheme cluster, or (phrases instead of words) a
word. Text comes as a corpus of what stands between white space, one line a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corpuscle.errors import InputError, warn
from corpuscle.text.characters import SPACE, spell_out
from corpuscle.text.corpus import Corpus
from corpuscle.text.scan import Scanner
from corpuscle.text.scripts import TYPES, WORD_TYPES, character_masks
from corpuscle.text.vocab import FIRST, Vocab

__all__ = [
    "FORBIDDEN",
    "FORCED",
    "LONGEST_LINE",
    "UNITS",
    "Letters",
    "around_punctuation",
    "first_letters",
    "joined",
    "known_gaps",
    "letters_of",
    "pieces",
    "word_corpus",
]

FORCED, FORBIDDEN = 1, 2
"""Known of the gap before a letter: a word begins here; no word begins here. As in ``engine.nested_lattice``."""

UNITS = ("characters", "graphemes", "words")

LONGEST_LINE = 500
"""Longer lines are cut into pieces, at punctuation where there is any."""

PHRASE_MARK = "_"
"""What stands between the words of a phrase."""


@dataclass(frozen=True, eq=False)
class Letters:
    """Lines of letters.

    - ``tokens``: int32 (n,), ids of ``vocab``, which has letters only; ``starts``: int64 (lines + 1,);
    - ``gaps``: uint8 (n,), FORCED where white space stood before a letter, FORBIDDEN where a joiner did, else 0.
    """

    tokens: np.ndarray
    starts: np.ndarray
    vocab: Vocab
    gaps: np.ndarray

    def __len__(self) -> int:
        """The number of lines."""
        return len(self.starts) - 1

    def as_corpus(self) -> Corpus:
        """The lines as a corpus of letters."""
        return Corpus(self.tokens, self.starts, self.vocab)

    def recode(self, vocab: Vocab) -> np.ndarray:
        """The letters in the ids of another vocabulary, int32 (n,)."""
        return vocab.mapping_from(self.vocab)[self.tokens]


def first_letters(starts: np.ndarray) -> np.ndarray:
    """Where the lines begin that have letters."""
    return starts[:-1][np.diff(starts) > 0]


def _without(letters: Letters, removed: np.ndarray, mark: int, id: int) -> Letters:
    """Take out the tokens ``removed`` (of type ``id``) and mark the gaps where they stood."""
    kept = ~removed
    gaps = letters.gaps.copy()
    gaps[1:][removed[:-1]] = mark
    tokens = letters.tokens[kept]
    tokens[tokens > id] -= 1
    starts = np.concatenate([[0], np.cumsum(kept)])[letters.starts]
    vocab = letters.vocab.subset(np.delete(np.arange(FIRST, len(letters.vocab)), id - FIRST))
    gaps = gaps[kept]
    gaps[first_letters(starts)] = 0
    return Letters(tokens, starts, vocab, gaps)


def letters_of(corpus: Corpus, units: str = "characters", joiner: str | None = None) -> Letters:
    """The letters of a corpus of words as they stand between white space.

    ``joiner``: a character that says that there is no boundary where it stands, and is no part of the text.
    """
    if units == "words":
        return Letters(corpus.tokens, corpus.sentence_starts, corpus.vocab, np.zeros(len(corpus.tokens), np.uint8))
    spelled = spell_out(corpus, units)
    letters = Letters(spelled.tokens, spelled.sentence_starts, spelled.vocab, np.zeros(len(spelled.tokens), np.uint8))
    letters = _without(letters, spelled.tokens == FIRST, FORCED, FIRST)
    escaped = "\\" + SPACE
    if escaped in letters.vocab:  # a real one in the text
        strings = [SPACE if string == escaped else string for string in letters.vocab.strings[FIRST:]]
        plain = Vocab.from_words(strings, letters.vocab.counts[FIRST:])
        letters = Letters(letters.tokens, letters.starts, plain, letters.gaps)
    if joiner is not None and (id := letters.vocab.id(joiner)) >= FIRST:
        letters = _without(letters, letters.tokens == id, FORBIDDEN, id)
    return letters


def joined(several: list[Letters]) -> Letters:
    """Several texts one after the other, with one vocabulary."""
    words = dict.fromkeys(word for letters in several for word in letters.vocab.strings[FIRST:])
    vocab = Vocab.from_words(words)
    tokens = np.concatenate([letters.recode(vocab) for letters in several])
    vocab.counts = np.bincount(tokens, minlength=len(vocab)).astype(np.int64)
    starts, offset = [np.zeros(1, np.int64)], 0
    for letters in several:
        starts.append(letters.starts[1:] + offset)
        offset += len(letters.tokens)
    gaps = np.concatenate([letters.gaps for letters in several])
    return Letters(tokens, np.concatenate(starts), vocab, gaps)


def pieces(letters: Letters, whole: np.ndarray | None = None) -> np.ndarray:
    """The starts of lines and, where a line is longer than LONGEST_LINE letters, of the pieces that it is cut into:
    after punctuation if possible, else anywhere. int64 (pieces + 1,).

    ``whole``: bool (n,), the letters at which a cut is allowed (default: all that are not FORBIDDEN).
    """
    lengths = np.diff(letters.starts)
    long = np.flatnonzero(lengths > LONGEST_LINE)
    if len(long) == 0:
        return letters.starts
    punctuation = WORD_TYPES[character_masks(letters.vocab)] == TYPES.index("punctuation")
    allowed = letters.gaps != FORBIDDEN if whole is None else whole
    extra: list[int] = []
    for line in long.tolist():
        begin, end = int(letters.starts[line]), int(letters.starts[line + 1])
        while end - begin > LONGEST_LINE:
            places = begin + 1 + np.flatnonzero(allowed[begin + 1 : begin + LONGEST_LINE + 1])
            after = places[punctuation[letters.tokens[places - 1]]]
            if len(places) == 0:
                raise InputError(None, None, f"line {line + 1}: more than {LONGEST_LINE} letters without a boundary")
            begin = int(after[-1] if len(after) else places[-1])
            extra.append(begin)
    warn(f"{len(long)} lines have more than {LONGEST_LINE} letters; they were cut, after punctuation where possible")
    return np.sort(np.concatenate([letters.starts, np.array(extra, np.int64)]))


def check_stretches(letters: Letters, longest: int) -> None:
    """Every stretch without an allowed boundary fits into a word, or ``InputError``."""
    allowed = letters.gaps != FORBIDDEN
    allowed[first_letters(letters.starts)] = True
    places = np.append(np.flatnonzero(allowed), len(letters.tokens))
    if len(places) > 1 and np.diff(places).max() > longest:
        at = int(places[int(np.diff(places).argmax())])
        line = int(np.searchsorted(letters.starts, at, "right"))
        raise InputError(None, line, f"a stretch without boundaries that is longer than a word of {longest} letters")


def segmented_bytes(letters: Letters, cuts: np.ndarray, units: str) -> bytes:
    """The lines with a space before every letter where a word begins (in phrases ``_`` between other words)."""
    first = np.zeros(len(letters.tokens), bool)
    first[first_letters(letters.starts)] = True
    begins = cuts != 0
    separated = (begins | (units == "words")) & ~first
    types = letters.tokens - FIRST
    lengths = np.diff(letters.vocab.offsets)[types]
    line = np.repeat(np.arange(len(letters)), np.diff(letters.starts))
    place = np.cumsum(lengths + separated) - lengths + line
    result = np.full(int((lengths + separated).sum()) + len(letters), 10, np.uint8)
    inside = np.repeat(place - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
    source = np.repeat(letters.vocab.offsets[types] - place, lengths) + inside
    result[inside] = letters.vocab.bytes[source]
    result[place[separated] - 1] = np.where(begins[separated], 32, ord(PHRASE_MARK))
    return result.tobytes()


def word_corpus(letters: Letters, cuts: np.ndarray, units: str) -> Corpus:
    """The segmented lines as a corpus of words."""
    scanner = Scanner()
    scanner.feed(segmented_bytes(letters, cuts, units), None)
    return Corpus(*scanner.finish())


def typical(vocab: Vocab, tokens: np.ndarray) -> tuple[bool, int]:
    """What the script of a text suggests: whether words have types by script, and how long a word may be.

    Types help where most letters are of a script that is written without spaces; elsewhere, as in transcripts of
    speech, a digit may be a sound.
    """
    counts = np.bincount(
        WORD_TYPES[character_masks(vocab)], np.bincount(tokens, minlength=len(vocab)), minlength=len(TYPES)
    )
    share = dict(zip(TYPES, counts / max(1.0, counts.sum()), strict=True))
    kana = share["hiragana"] + share["katakana"]
    if share["han"] + kana + share["hangul"] + share["thai"] < 0.5:
        return False, 10
    return True, 4 if share["han"] > 0.5 and kana < 0.1 else 8 if kana >= 0.1 else 10


def known_gaps(letters: Letters, spaces: str) -> np.ndarray:
    """What is known of the gaps where white space counts, or (``remove``) does not; joiners always do."""
    removed = (spaces == "remove") & (letters.gaps == FORCED)
    return np.where(removed, 0, letters.gaps).astype(np.uint8)


def around_punctuation(letters: Letters, gaps: np.ndarray) -> np.ndarray:
    """Gaps in which a boundary is forced between punctuation and anything else but digits (as in ``5.3%``), and between
    two different punctuation marks, wherever nothing else is known."""
    kinds = WORD_TYPES[character_masks(letters.vocab)][letters.tokens]
    mark, digit = kinds == TYPES.index("punctuation"), kinds == TYPES.index("digits")
    before = np.zeros(len(kinds), bool)
    before[1:] = np.where(
        mark[1:] & mark[:-1],
        letters.tokens[1:] != letters.tokens[:-1],
        (mark[1:] != mark[:-1]) & ~digit[1:] & ~digit[:-1],
    )
    before[first_letters(letters.starts)] = False
    return np.where((gaps == 0) & before, FORCED, gaps).astype(np.uint8)
