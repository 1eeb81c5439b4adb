"""From the texts that a segmenter is given to what its chains work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.errors import SettingError, warn
from corpuscle.segment.chain import Material
from corpuscle.segment.letters import (
    FORBIDDEN,
    FORCED,
    Letters,
    around_punctuation,
    check_stretches,
    first_letters,
    inner_marks,
    joined,
    known_gaps,
    letters_of,
    line_of,
    pieces,
    typical,
)
from corpuscle.text.corpus import Corpus
from corpuscle.text.origin import error_about
from corpuscle.text.scripts import character_masks
from corpuscle.text.vocab import Vocab

if TYPE_CHECKING:
    from corpuscle.segment.base import Segmenter

_LONGEST = 200
"""No given word is longer."""


class Given(NamedTuple):
    """All letters, those of the text before those of the gold lines, and what follows from them."""

    letters: Letters
    material: Material
    max_word: int
    types: bool
    inner_marks: list[str]


def letter_masks(vocab: Vocab, types: bool) -> np.ndarray:
    """The scripts of letters, uint16 (letters,), all alike where words have no types."""
    masks = character_masks(vocab)
    return masks if types else np.full_like(masks, character_masks(Vocab.from_words([]))[0])


def _begins(letters: Letters, units: str) -> np.ndarray:
    """Where the words of segmented text begin: bool (n,)."""
    begins = (letters.gaps == FORCED) | (units == "words")
    begins[first_letters(letters.starts)] = True
    return begins


def prepare(text: Corpus | None, gold: Corpus | None, settings: Segmenter) -> Given:
    """The material for chains, checked; settings that are None are chosen by the text."""
    if gold is not None and settings.units == "words":
        raise SettingError("gold lines mean nothing where words are units: white space separates the units")
    parts = [letters_of(corpus, settings.units, settings.joiner) for corpus in (text, gold) if corpus is not None]
    letters = joined(parts) if parts else None
    if letters is None or len(letters.tokens) == 0:
        raise error_about(gold if text is None else text, "the training text is empty")
    auto_types, auto_length = typical(letters.vocab, letters.tokens)
    types = auto_types if settings.types is None else settings.types
    max_word = settings.max_word or auto_length
    is_gold = np.zeros(len(letters), bool)
    if gold is not None:
        is_gold[len(letters) - len(gold) :] = True
    if settings.spaces == "gold":
        is_gold[:] = True
    in_gold = np.repeat(is_gold, np.diff(letters.starts))
    begins = _begins(letters, settings.units)
    allowed = np.where(in_gold, begins, letters.gaps != FORBIDDEN)
    starts = pieces(letters, allowed)
    line = np.minimum(np.searchsorted(letters.starts, starts[:-1], "right"), len(letters)) - 1
    gaps = known_gaps(letters, settings.spaces)
    inner = inner_marks(letters, begins, in_gold) if types else []
    if types:
        gaps = around_punctuation(letters, gaps, inner)
    gaps = np.where(in_gold, 0, gaps).astype(np.uint8)
    cuts = np.zeros(len(letters.tokens), np.uint8)
    cuts[in_gold & begins] = 1
    longest = max_word
    if in_gold.any():
        places = np.append(np.flatnonzero(cuts), len(cuts))
        inside = in_gold[places[:-1]]
        lengths = np.diff(places)[inside] if len(places) > 1 else np.zeros(0, np.int64)
        lengths = np.minimum(lengths, _to_line_end(letters, places[:-1][inside]))
        longest = max(longest, int(lengths.max(initial=1)))
        if longest > _LONGEST:
            at = line_of(letters, int(places[:-1][inside][lengths.argmax()]))
            raise letters.error(f"a given word has {longest} letters; at most {_LONGEST} are possible", at)
        if longest > max_word:
            over = int((lengths > max_word).sum())
            warn(f"{over} given words are longer than {max_word} letters; such words are kept, but never proposed")
    check_stretches(letters, gaps, max_word)
    material = Material(
        np.ascontiguousarray(letters.tokens, np.int32), starts, gaps, is_gold[line].astype(np.uint8), cuts,
        letter_masks(letters.vocab, types), longest,
    )  # fmt: skip
    return Given(letters, material, max_word, types, inner)


def _to_line_end(letters: Letters, places: np.ndarray) -> np.ndarray:
    """How many letters of its line are left at each place."""
    return letters.starts[np.searchsorted(letters.starts, places, "right")] - places
