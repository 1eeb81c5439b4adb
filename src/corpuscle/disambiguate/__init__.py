"""Disambiguation: which of the analyses of a word is right where it stands, learned from a treebank.

- ``Ranker``: counts of analyses and their elements in context, weighed, or elements that vote;
- ``TwoPassRanker``: once more with the analyses of neighbours;
- ``SequenceRanker``: the analyses of a sentence chosen together;
- ``PairRanker``: lemmas and all other elements ranked one by one;
- ``BaselineDisambiguator``: the most frequent analysis, or the first one;
- ``Ranking``: ranked analyses of words; ``read_candidates``: a table of them; ``load_tables``: Buckwalter's;
- ``vocabulary``: what there is to learn in a text, and how hard it is to read.

``fit(treebank)``, ``rank``, ``readings``, ``annotate``, ``updated``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.disambiguate.analysers import read_candidates
    from corpuscle.disambiguate.analyses import Ranking
    from corpuscle.disambiguate.base import Disambiguator, vocabulary
    from corpuscle.disambiguate.buckwalter import load_tables
    from corpuscle.disambiguate.ranker import BaselineDisambiguator, Ranker
    from corpuscle.disambiguate.sequence import SequenceRanker
    from corpuscle.disambiguate.twopass import PairRanker, TwoPassRanker
    from corpuscle.disambiguate.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
