"""Normalisation: messages as they were typed in a hurry, back to standard spelling.

- ``Normaliser``: learned from text and a word list, or from annotated messages; ``Choice``: what became of a token;
  ``explained``: a message with what was changed in it, and why;
- ``Replacements``, ``read_slang``: a dictionary of slang; ``read_words``: a word list;
  ``read_sounds``: a table of phonetic codes;
- ``survey_of``: how much of a text is unknown, ``error_categories``; ``Noise``: typing as in annotated messages;
  ``Languages``: the language of a message.

``fit``, ``choices``, ``normalise``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.normalise.corpus_tools import Languages, Noise, Survey, error_categories, survey_of
    from corpuscle.normalise.decoding import Choice, explained
    from corpuscle.normalise.lexicon import Replacements, read_slang, read_words
    from corpuscle.normalise.normaliser import Normaliser
    from corpuscle.normalise.tokens import read_sounds
    from corpuscle.normalise.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
