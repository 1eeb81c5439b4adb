"""Pictures of how a name is written: by which phrases, or with an eye on which letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpuscle.figures import alignment_grid, phrase_lattice
from corpuscle.text.characters import SPACE

if TYPE_CHECKING:
    from corpuscle.transliterate.neural import NeuralTransliterator
    from corpuscle.transliterate.phrase import PhraseTransliterator

__all__ = ["draw_attention", "draw_lattice"]


def draw_lattice(model: PhraseTransliterator, word: str, nbest: int) -> str:
    """The best ways to write a word, phrase by phrase, as SVG."""
    found = model.derivations(word, nbest)
    return phrase_lattice([(target, phrases) for (target, _), phrases in found], title=f"Ways to write {word}")


def draw_attention(model: NeuralTransliterator, name: str, target: str | None = None) -> str:
    """Which letters of a name a model looks at while it writes each letter of its best way, or of a given one, as SVG.
    The end of a name is a letter, too."""
    source, written, shares = model.attention(name, target)
    left, right = ([letter.replace(SPACE, "␣") for letter in side] + ["∎"] for side in (source, written))
    return alignment_grid(left, right, weights=shares.T, title=f"Where the model looks in {name}")
