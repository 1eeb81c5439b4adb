"""Grammars: constituent trees learned from treebanks, and from text that nobody has annotated.

From trees (``fit(trees)``, ``parse``, ``best_trees``, ``probability``, ``marginals``, ``save``):

- ``Pcfg``: relative frequencies of a treebank's rules;
- ``EmGrammar``: symbols with hidden states, learned by expectation-maximisation;
- ``SpectralGrammar``: with hidden states from moments of features, in one pass;
- ``Parsed``: trees with their confidence; ``Constituent``: a label over a span, and its share of all trees;
- ``Features``, ``NodesSeen``: features of one's own for ``SpectralGrammar.fit``;
- ``sequence_trees``: words with tags as trees that branch to the right, which makes a grammar a tagger;
- ``to_dependencies``, ``read_heads``: dependencies by a table of heads.

From words with tags or classes (``fit(bank)``, ``brackets``, ``parse``, ``save``):

- ``TreeMetric``, ``ConstituentContext``: brackets without trees to learn from; ``class_vectors``: classes as vectors;
  ``TagMap``, ``read_tag_map``: tags as universal ones; ``Brackets``;
- ``branching``, ``BRANCHINGS``: trees that know nothing of words; ``trees_of``: brackets as trees;
  ``span_f1``, ``span_table``: how many brackets are right, compared with these;
- ``Sentences``: words and tags as inducers see them; ``bank_of_trees``: those of trees;
  ``gold_spans``, ``heuristic_tops``, ``oracle_tops``.

From sentences of several languages (``fit(texts, languages)``, ``parse``, ``perplexity``, ``save``):

- ``CommonGrammar``: a grammar for each, and a common one behind them; ``starts_from_groups``, ``starts_from_tags``;
- ``common_rules``, ``category_words``, ``deviations``, ``language_distances``, ``language_tree``: what it says.

Trees are ``corpuscle.text.Trees``; ``corpuscle.measure.bracket_scores`` compares them with gold ones.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.grammar.base import Constituent, Parsed, Pcfg, TreebankGrammar
    from corpuscle.grammar.ccm import ConstituentContext
    from corpuscle.grammar.common import (
        CommonGrammar,
        CommonRule,
        category_words,
        common_rules,
        deviations,
        language_distances,
        language_tree,
        starts_from_groups,
        starts_from_tags,
    )
    from corpuscle.grammar.heads import HeadTable, read_heads, to_dependencies
    from corpuscle.grammar.induction import (
        BRANCHINGS,
        BracketInducer,
        Brackets,
        branching,
        span_f1,
        span_table,
        trees_of,
    )
    from corpuscle.grammar.latent import EmGrammar
    from corpuscle.grammar.sentences import (
        Sentences,
        TagMap,
        bank_of_trees,
        gold_spans,
        heuristic_tops,
        oracle_tops,
        read_tag_map,
    )
    from corpuscle.grammar.spectral import Features, NodesSeen, SpectralGrammar
    from corpuscle.grammar.tables import sequence_trees
    from corpuscle.grammar.treemetric import TreeMetric, class_vectors
    from corpuscle.grammar.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
