"""Grammars: constituent trees learned from treebanks, and from text that nobody has annotated.

- ``Pcfg``: relative frequencies of a treebank's rules;
- ``EmGrammar``: symbols with hidden states, learned by expectation-maximisation;
- ``SpectralGrammar``: with hidden states from moments of features, in one pass;
- ``Parsed``: trees with their confidence; ``Constituent``: a label over a span, and its share of all trees;
- ``to_dependencies``, ``read_heads``: dependencies by a table of heads.

``fit(trees)``, ``parse``, ``best_trees``, ``probability``, ``marginals``, ``save``. Trees are ``corpuscle.text.Trees``;
``corpuscle.measure.bracket_scores`` compares them with gold ones.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.grammar.base import Constituent, Parsed, TreebankGrammar
    from corpuscle.grammar.heads import HeadTable, read_heads, to_dependencies
    from corpuscle.grammar.latent import EmGrammar
    from corpuscle.grammar.pcfg import Pcfg
    from corpuscle.grammar.spectral import SpectralGrammar
    from corpuscle.grammar.warming import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
