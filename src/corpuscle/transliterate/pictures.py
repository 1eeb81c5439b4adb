"""Pictures of how a name is written, phrase by phrase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpuscle.figures import phrase_lattice

if TYPE_CHECKING:
    from corpuscle.transliterate.phrase import PhraseTransliterator

__all__ = ["draw_lattice"]


def draw_lattice(model: PhraseTransliterator, word: str, nbest: int) -> str:
    """The best ways to write a word, phrase by phrase, as SVG."""
    found = model.derivations(word, nbest)
    return phrase_lattice([(target, phrases) for (target, _), phrases in found], title=f"Ways to write {word}")
