"""Disambiguation: which of the analyses of a word is right where it stands, learned from a treebank.

- ``Ranker``: counts of analyses and their elements in context, weighed;
- ``PairRanker``: lemmas and all other elements ranked one by one;
- ``BaselineDisambiguator``: the most frequent analysis, or the first one;
- ``Ranking``: ranked analyses of words; ``read_candidates``: a table of them.

``fit(treebank)``, ``rank``, ``readings``, ``annotate``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.disambiguate.analysers import read_candidates
    from corpuscle.disambiguate.base import Disambiguator, Ranking
    from corpuscle.disambiguate.baselines import BaselineDisambiguator
    from corpuscle.disambiguate.pairs import PairRanker
    from corpuscle.disambiguate.ranker import Ranker
    from corpuscle.disambiguate.warming import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
