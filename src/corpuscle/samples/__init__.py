"""A made-up language whose truth is known, from one seed: to try things on, and for tests to compare with.

- ``generate(seed)``: a ``Language``, with documents by topic, trees, a sister language with aligned translations, names
  in two scripts, noisy messages and their repair, notes with entities, and a lexicon;
- ``write(folder, seed)``: the same as a folder of files, a kit for ``corpuscle learn``, with the truth in ``gold/``.

How it is made, from the bottom up: ``sounds`` (and scripts), ``lexicon`` (and morphology), ``concepts`` and
``meaning`` (what is said), ``grammar`` (how it is said), ``documents``, ``names``, ``messages``, ``entities``,
``language`` (all of them, and how the sister language says it), and ``kit`` (files).
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.samples.documents import Document, Sentence
    from corpuscle.samples.entities import Note
    from corpuscle.samples.grammar import Grammar
    from corpuscle.samples.kit import write, write_language
    from corpuscle.samples.language import Language, Pair, Sizes, generate
    from corpuscle.samples.lexicon import Lexicon, Word
    from corpuscle.samples.messages import Message
    from corpuscle.samples.names import Name
    from corpuscle.samples.sounds import Script

__all__, __getattr__, __dir__ = contents(__name__, __file__)
