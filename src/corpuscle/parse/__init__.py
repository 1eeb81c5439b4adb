"""Dependency parsing: which word depends on which, learned from a treebank.

- ``MstParser``: the best tree under a linear model of its arcs and pairs of neighbouring modifiers;
- ``Reranker``: the best of its best trees, by features of whole trees;
- ``LatentTrees``: how likely words are given their tree, by hidden states;
- ``PairParser``: the best tree by how likely each word is the head of each other one;
- ``ProjectedParser``: such a parser learned from a ``Projection``: translations of parsed sentences, and links;
- ``BoostedParser``: an ``MstParser`` and such a parser in one;
- ``BranchingParser``: every word hangs on its neighbour;
- ``learning_curve``: how good parsers of growing parts of a treebank are.

``fit(treebank)``, ``parse``, ``annotate``, ``k_best``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.parse.base import BranchingParser
    from corpuscle.parse.boosted import BoostedParser
    from corpuscle.parse.decoding import Parses, Ranked
    from corpuscle.parse.latent import LatentTrees, Likelihoods
    from corpuscle.parse.mst import MstParser, Point, learning_curve
    from corpuscle.parse.pairs import PairParser
    from corpuscle.parse.projection import ProjectedParser, Projection
    from corpuscle.parse.rerank import Reranker
    from corpuscle.parse.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
