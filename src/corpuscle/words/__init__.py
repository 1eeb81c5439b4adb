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
  ``draw_map``, ``map_shown``: a map of words;
- ``Meaning``: words as distributions over the classes of a hidden Markov model; ``represent``: out of context, by
  another text; ``compose``: phrases; ``senses``, ``substitutes``, ``draw_meanings``: tokens in context;
- ``WordFeatures``: classes and clusters of vectors as features of taggers and parsers; ``class_sources``,
  ``vector_sources``, ``joint_sources``;
- ``judge_pairs``, ``sweep``, ``judge_phrases``, ``judge_relations``: how well meanings agree with people.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.words.canonical import LrmvlVectors, OsccaVectors, TsccaVectors
    from corpuscle.words.classes import ClassTree, Pass, WordClasses, draw_tree, tree_shown
    from corpuscle.words.cooccurrence import PpmiVectors, SvdVectors
    from corpuscle.words.forests import Forest, forest_of, read_forest, words_of
    from corpuscle.words.hard_classes import BrownClasses, ExchangeClasses
    from corpuscle.words.hmm import HmmClasses, HmmPass
    from corpuscle.words.meaning import COMPOSITIONS, Meaning, compose, represent
    from corpuscle.words.senses import (
        AmbiguousWord,
        ClassOfWord,
        ambiguities,
        ambiguous_words,
        draw_meanings,
        read_sentences,
        senses,
        substitutes,
    )
    from corpuscle.words.similarity_benchmarks import (
        RatedPhrases,
        Standardised,
        draw_relations,
        judge_pairs,
        judge_phrases,
        judge_relations,
        pair_scores,
        sweep,
    )
    from corpuscle.words.vectors import WordVectors, draw_map, map_shown
    from corpuscle.words.verbs import warm
    from corpuscle.words.word_features import SOURCES, WordFeatures, class_sources, joint_sources, vector_sources

__all__, __getattr__, __dir__ = contents(__name__, __file__)
