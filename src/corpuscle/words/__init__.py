"""Words: which of them behave alike, and a vector for each, learned from raw text or from trees.

- ``BrownClasses``: one class for each word, by merging;
- ``ExchangeClasses``: one class for each word, by the exchange algorithm;
- ``HmmClasses``: classes of tokens, which depend on the context, by hidden Markov models;
  ``ambiguous_words``: words of several senses, by their classes;
- ``Forest``: sentences whose words have parents, their left neighbours or their heads; ``read_forest``;
- ``WordClasses``: what every method can do: its classes can be shown, exported and applied to text;
- ``ClassTree``: how the classes would merge into one, which gives them bit strings;
  ``draw_tree``, ``tree_shown``: its picture;
- ``PpmiVectors``, ``SvdVectors``: vectors from what stands near a word;
- ``OsccaVectors``, ``TsccaVectors``, ``LrmvlVectors``: vectors by canonical correlation;
- ``WordVectors``: what every method can do: neighbours, analogies, similarities, maps, vectors of unknown words;
  ``draw_map``, ``map_shown``: a map of words.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.words.brown import BrownClasses
    from corpuscle.words.canonical import OsccaVectors, TsccaVectors
    from corpuscle.words.classes import Pass, WordClasses
    from corpuscle.words.drawing import draw_tree, tree_shown
    from corpuscle.words.exchange import ExchangeClasses
    from corpuscle.words.forests import Forest, forest_of, is_treebank, read_forest, words_of
    from corpuscle.words.hmm import HmmClasses, HmmPass
    from corpuscle.words.lrmvl import LrmvlVectors
    from corpuscle.words.map import draw_map, map_shown
    from corpuscle.words.near import PpmiVectors, SvdVectors
    from corpuscle.words.senses import Sense, Senses, ambiguities, ambiguous_words
    from corpuscle.words.trees import ClassTree
    from corpuscle.words.vectors import WordVectors
    from corpuscle.words.warming import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
