"""Dependency parsing: which word depends on which, learned from a treebank.

- ``MstParser``: the best tree under a linear model of its arcs and pairs of neighbouring modifiers;
- ``Reranker``: the best of its best trees, by features of whole trees;
- ``LatentTrees``: how likely words are given their tree, by hidden states.

``fit(treebank)``, ``parse``, ``annotate``, ``k_best``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.parse.latent import LatentTrees, Likelihoods
    from corpuscle.parse.mst import MstParser, Parses
    from corpuscle.parse.rerank import Reranker
    from corpuscle.parse.warming import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
