"""Word segmentation: where the words are in text that does not show them, without a dictionary.

- ``NestedSegmenter``: a nested Pitman-Yor language model, learned from unsegmented text, from segmented text or both;
- ``DirichletSegmenter``, ``TrivialSegmenter``: what it is measured against;
- ``Segmenter``: what all that have learned can do: segment, show words and boundaries, and, being language models,
  score text (``LineScores``), say what comes next (``NextWords``) and make up sentences;
- ``Letters``, ``letters_of``, ``word_corpus``: text as letters and gaps, and segmented text back again.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.segment.base import LexiconEntry, LineScores, NestedSegmenter, NextWords, Segmenter
    from corpuscle.segment.baselines import DirichletSegmenter, TrivialSegmenter
    from corpuscle.segment.letters import Letters, letters_of, word_corpus
    from corpuscle.segment.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
