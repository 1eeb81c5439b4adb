"""Text as letters with gaps between them, and what is known about where words begin; segmented lines back again.

A *letter* is what is never cut: a character, a grapheme cluster, or (phrases instead of words) a word. Text comes as a
corpus of what stands between white space, one sentence per line. ``prepare`` makes of the texts that a segmenter is
given what its chains work on, ``Material``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corpuscle.errors import SettingError, UnfitData, warn
from corpuscle.segment.kernels.boundaries import autonomous_words
from corpuscle.segment.kernels.lattice import FORBIDDEN, FORCED
from corpuscle.text.corpus import SPACE, Corpus, spell_out, starts_of
from corpuscle.text.origin import error_about
from corpuscle.text.scan import Scanner
from corpuscle.text.scripts import TYPES, WORD_TYPES, character_masks
from corpuscle.text.vocab import FIRST, MARKUP, Vocab

if TYPE_CHECKING:
    from corpuscle.segment.base import Segmenter

LONGEST_LINE = 500
"""Longer lines are cut into pieces, at punctuation where there is any."""

_INNER = 0.05
"""A punctuation mark that is joined to a neighbour more often than this, where words are given, is a letter."""

_LONGEST = 200
"""No given word is longer."""

PHRASE_MARK = "_"
"""What stands between the words of a phrase."""


@dataclass(frozen=True, eq=False)
class Letters:
    """Lines of letters.

    - ``tokens``: int32 (n,), ids of ``vocab``, which has letters only; ``starts``: int64 (lines + 1,);
    - ``gaps``: uint8 (n,), FORCED where white space stood before a letter, FORBIDDEN where a joiner did, else 0,
      see ``kernels.lattice``;
    - ``texts``: the texts that have the lines, one after the other.
    """

    tokens: np.ndarray
    starts: np.ndarray
    vocab: Vocab
    gaps: np.ndarray
    texts: tuple[Corpus, ...] = ()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def as_corpus(self) -> Corpus:
        return Corpus(self.tokens, self.starts, self.vocab)

    def error(self, reason: str, line: int) -> UnfitData:
        """The error that something is wrong with a line, where it stands in its file."""
        before = 0
        for text in self.texts:
            if line < before + len(text):
                return error_about(text, reason, line if text.origin is None else line - before)
            before += len(text)
        return UnfitData(None, line + 1, reason)


def line_of(letters: Letters, place: int) -> int:
    return int(np.searchsorted(letters.starts, place, "right")) - 1


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
    starts = starts_of(kept)[letters.starts]
    vocab = letters.vocab.subset(np.delete(np.arange(FIRST, len(letters.vocab)), id - FIRST))
    gaps = gaps[kept]
    gaps[first_letters(starts)] = 0
    return Letters(tokens, starts, vocab, gaps, letters.texts)


def letters_of(corpus: Corpus, units: str = "characters", joiner: str | None = None) -> Letters:
    """The letters of a corpus of what stands between white space. ``joiner``: a character that is no part of the text
    and says that there is no boundary."""
    reserved = corpus.tokens < FIRST
    if reserved.any():  # what was written is cut: here reserved symbols, as ``<unk>``, are strings like all others
        vocab = Vocab.from_words(dict.fromkeys([*corpus.vocab.strings[FIRST:], *MARKUP]))
        literal = vocab.encode(MARKUP)[np.minimum(corpus.tokens, FIRST - 1)]
        corpus = replace(corpus, tokens=np.where(reserved, literal, corpus.tokens), vocab=vocab)
    spelled = corpus if units == "words" else spell_out(corpus, units)
    gaps = np.zeros(len(spelled.tokens), np.uint8)
    letters = Letters(spelled.tokens, spelled.sentence_starts, spelled.vocab, gaps, (corpus,))
    if units == "words":
        return letters
    letters = _without(letters, spelled.tokens == FIRST, FORCED, FIRST)
    escaped = "\\" + SPACE
    if escaped in letters.vocab:  # a real one in the text
        strings = [SPACE if string == escaped else string for string in letters.vocab.strings[FIRST:]]
        letters = replace(letters, vocab=Vocab.from_words(strings, letters.vocab.counts[FIRST:]))
    if joiner is not None and (id := letters.vocab.id(joiner)) >= FIRST:
        letters = _without(letters, letters.tokens == id, FORBIDDEN, id)
    return letters


def joined(several: list[Letters]) -> Letters:
    """Several texts one after the other, with one vocabulary."""
    words = dict.fromkeys(word for letters in several for word in letters.vocab.strings[FIRST:])
    vocab = Vocab.from_words(words)
    tokens = np.concatenate([vocab.mapping_from(letters.vocab)[letters.tokens] for letters in several])
    vocab.counts = np.bincount(tokens, minlength=len(vocab)).astype(np.int64)
    starts = starts_of(np.concatenate([np.diff(letters.starts) for letters in several]))
    gaps = np.concatenate([letters.gaps for letters in several])
    return Letters(tokens, starts, vocab, gaps, tuple(text for each in several for text in each.texts))


def pieces(letters: Letters, allowed: np.ndarray | None = None) -> np.ndarray:
    """The starts of lines and, where a line is longer than LONGEST_LINE letters, of the pieces that it is cut into:
    after punctuation if possible, else anywhere. int64 (pieces + 1,). ``allowed``: bool (n,), the letters before which
    a cut is possible (default: all that are not FORBIDDEN)."""
    lengths = np.diff(letters.starts)
    long = np.flatnonzero(lengths > LONGEST_LINE)
    if len(long) == 0:
        return letters.starts
    punctuation = WORD_TYPES[character_masks(letters.vocab)] == TYPES.index("punctuation")
    allowed = letters.gaps != FORBIDDEN if allowed is None else allowed
    extra: list[int] = []
    for line in long.tolist():
        begin, end = int(letters.starts[line]), int(letters.starts[line + 1])
        while end - begin > LONGEST_LINE:
            places = begin + 1 + np.flatnonzero(allowed[begin + 1 : begin + LONGEST_LINE + 1])
            after = places[punctuation[letters.tokens[places - 1]]]
            if len(places) == 0:
                raise letters.error(f"more than {LONGEST_LINE} letters without a boundary", line)
            begin = int(after[-1] if len(after) else places[-1])
            extra.append(begin)
    warn(f"{len(long)} lines have more than {LONGEST_LINE} letters; they were cut, after punctuation where possible")
    return np.sort(np.concatenate([letters.starts, np.array(extra, np.int64)]))


def check_stretches(letters: Letters, gaps: np.ndarray, longest: int) -> None:
    """Every stretch without an allowed boundary fits into a word, or ``InputError``."""
    allowed = gaps != FORBIDDEN
    allowed[first_letters(letters.starts)] = True
    places = np.append(np.flatnonzero(allowed), len(letters.tokens))
    over = np.flatnonzero(np.diff(places) > longest)
    if len(over):
        line = line_of(letters, int(places[over[0]]))
        raise letters.error(f"a stretch without boundaries that is longer than a word of {longest} letters", line)


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
    inside = np.repeat(place - starts_of(lengths)[:-1], lengths) + np.arange(lengths.sum())
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
    """Whether words have types by script, and how long a word may be. Types help where most letters are of a script
    that is written without spaces; elsewhere, as in transcripts of speech, a digit may be a sound."""
    counts = np.bincount(
        WORD_TYPES[character_masks(vocab)], np.bincount(tokens, minlength=len(vocab)), minlength=len(TYPES)
    )
    share = dict(zip(TYPES, counts / max(1.0, counts.sum()), strict=True))
    kana = share["hiragana"] + share["katakana"]
    if share["han"] + kana + share["hangul"] + share["thai"] < 0.5:
        return False, 10
    return True, 4 if share["han"] > 0.5 and kana < 0.1 else 8 if kana >= 0.1 else 10


def known_gaps(letters: Letters, spaces: str) -> np.ndarray:
    """The gaps if white space is forced boundaries, all boundaries (``gold``), or nothing (``remove``); joiners always
    count."""
    gaps = letters.gaps.copy()
    if spaces == "gold":
        gaps[gaps != FORCED] = FORBIDDEN
        gaps[first_letters(letters.starts)] = 0
    elif spaces == "remove":
        gaps[gaps == FORCED] = 0
    return gaps


def around_punctuation(letters: Letters, gaps: np.ndarray, inner: Collection[str] = ()) -> np.ndarray:
    """Gaps in which a boundary is forced between punctuation and anything else but digits (as in ``5.3%``), and between
    two different punctuation marks, wherever nothing else is known; but for the marks ``inner``."""
    return np.where((gaps == 0) & _beside_marks(letters, inner), FORCED, gaps).astype(np.uint8)


def inner_marks(letters: Letters, begins: np.ndarray, given: np.ndarray) -> list[str]:
    """The punctuation marks that often stand inside words (as in ``O'Neill``), where words are given."""
    beside, tokens = _beside_marks(letters) & given, letters.tokens
    ids = np.concatenate([tokens[beside], tokens[:-1][beside[1:]]])
    joined = np.concatenate([~begins[beside], ~begins[1:][beside[1:]]])
    n = len(letters.vocab)
    often = np.bincount(ids[joined], minlength=n) > _INNER * np.bincount(ids, minlength=n)
    marks = WORD_TYPES[character_masks(letters.vocab)] == TYPES.index("punctuation")
    return [letters.vocab.word(int(id)) for id in np.flatnonzero(often & marks)]


def _beside_marks(letters: Letters, inner: Collection[str] = ()) -> np.ndarray:
    """Which letters stand between punctuation and something from which it is apart: bool (n,)."""
    kinds = WORD_TYPES[character_masks(letters.vocab)][letters.tokens]
    mark, digit = kinds == TYPES.index("punctuation"), kinds == TYPES.index("digits")
    before = np.zeros(len(kinds), bool)
    before[1:] = np.where(
        mark[1:] & mark[:-1],
        letters.tokens[1:] != letters.tokens[:-1],
        (mark[1:] != mark[:-1]) & ~digit[1:] & ~digit[:-1],
    )
    before[first_letters(letters.starts)] = False
    if inner:
        free = np.isin(letters.tokens, letters.vocab.encode(inner))
        before &= ~free
        before[1:] &= ~free[:-1]
    return before


@dataclass(frozen=True)
class Material:
    """What a chain works on: sentences (or pieces of long lines) as letters.

    - ``text``: int32 (n,); ``starts``: int64 (sentences + 1,); ``gaps``: uint8 (n,), see ``Letters``;
    - ``given``: uint8 (sentences,), whether the words of a sentence are given, and ``cuts``: uint8 (n,), where they
      begin;
    - ``masks``: uint16 (letters,), the scripts of the letters; ``longest``: letters of the longest word of all.
    """

    text: np.ndarray
    starts: np.ndarray
    gaps: np.ndarray
    given: np.ndarray
    cuts: np.ndarray
    masks: np.ndarray
    longest: int

    def first_words(self, longest: int) -> np.ndarray:
        """Where words begin: as they are given, else by branching entropy. uint8 (n,)"""
        begins = self.gaps == FORCED
        begins[first_letters(self.starts)] = True
        stretches = np.append(np.flatnonzero(begins), len(self.text))
        found = autonomous_words(self.text, stretches, self.gaps != FORBIDDEN, longest)
        return np.where(self.in_given(), self.cuts, found)

    def in_given(self) -> np.ndarray:
        """Which letters are of sentences whose words are given: bool (n,)."""
        return np.repeat(self.given != 0, np.diff(self.starts))


def letter_masks(vocab: Vocab, types: bool) -> np.ndarray:
    """The scripts of letters, uint16 (letters,), all alike where words have no types."""
    masks = character_masks(vocab)
    return masks if types else np.full_like(masks, character_masks(Vocab.from_words([]))[0])


def prepare(text: Corpus | None, gold: Corpus | None, model: Segmenter) -> tuple[Letters, Material]:
    """All letters, those of the text before those of the gold lines, and the material for chains, checked. Sets
    ``max_word_`` and ``types_``, by the text where the settings are None, and ``inner_marks_``."""
    if gold is not None and model.units == "words":
        raise SettingError("gold lines mean nothing where words are units: white space separates the units")
    parts = [letters_of(corpus, model.units, model.joiner) for corpus in (text, gold) if corpus is not None]
    letters = joined(parts) if parts else None
    if letters is None or len(letters.tokens) == 0:
        raise error_about(gold if text is None else text, "the training text is empty")
    auto_types, auto_length = typical(letters.vocab, letters.tokens)
    model.types_ = types = auto_types if model.types is None else model.types
    model.max_word_ = max_word = model.max_word or auto_length
    is_gold = np.zeros(len(letters), bool)
    if gold is not None:
        is_gold[len(letters) - len(gold) :] = True
    if model.spaces == "gold":
        is_gold[:] = True
    in_gold = np.repeat(is_gold, np.diff(letters.starts))
    begins = (letters.gaps == FORCED) | (model.units == "words")  # the words of segmented text
    begins[first_letters(letters.starts)] = True
    allowed = np.where(in_gold, begins, letters.gaps != FORBIDDEN)
    starts = pieces(letters, allowed)
    line = np.minimum(np.searchsorted(letters.starts, starts[:-1], "right"), len(letters)) - 1
    gaps = known_gaps(letters, model.spaces)
    model.inner_marks_ = inner_marks(letters, begins, in_gold) if types else []
    if types:
        gaps = around_punctuation(letters, gaps, model.inner_marks_)
    gaps = np.where(in_gold, 0, gaps).astype(np.uint8)
    cuts = np.zeros(len(letters.tokens), np.uint8)
    cuts[in_gold & begins] = 1
    longest = max_word
    if in_gold.any():
        places = np.flatnonzero(cuts)
        ends = letters.starts[np.searchsorted(letters.starts, places, "right")]  # of their lines
        lengths = np.minimum(np.diff(places, append=len(cuts)), ends - places)
        longest = max(longest, int(lengths.max()))
        if longest > _LONGEST:
            at = line_of(letters, int(places[lengths.argmax()]))
            raise letters.error(f"a given word has {longest} letters; at most {_LONGEST} are possible", at)
        if longest > max_word:
            over = int((lengths > max_word).sum())
            warn(f"{over} given words are longer than {max_word} letters; such words are kept, but never proposed")
    check_stretches(letters, gaps, max_word)
    material = Material(
        np.ascontiguousarray(letters.tokens, np.int32), starts, gaps, is_gold[line].astype(np.uint8), cuts,
        letter_masks(letters.vocab, types), longest,
    )  # fmt: skip
    return letters, material
