"""Grammars: constituent trees learned from treebanks, and from text that nobody has annotated.

Trees are ``corpuscle.text.Trees``; ``corpuscle.measure.bracket_scores`` compares them with gold ones.

- ``TreeMetric``, ``ConstituentContext``: brackets from words with tags or classes, without trees to learn from;
  ``class_vectors``: classes as vectors; ``TagMap``, ``read_tag_map``: tags as universal ones; ``Brackets``;
- ``branching``, ``BRANCHINGS``: trees that know nothing of words; ``trees_of``: brackets as trees;
  ``span_f1``, ``span_table``: how many brackets are right, beside these;
- ``Sentences``: words and tags as inducers see them; ``bank_of_trees``: those of trees;
  ``gold_spans``, ``heuristic_tops``, ``oracle_tops``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.grammar.ccm import ConstituentContext
    from corpuscle.grammar.induction import BRANCHINGS, BracketInducer, Brackets, branching, trees_of
    from corpuscle.grammar.scores import span_f1, span_table
    from corpuscle.grammar.sentences import Sentences, bank_of_trees, gold_spans, heuristic_tops, oracle_tops
    from corpuscle.grammar.tagsets import TagMap, read_tag_map
    from corpuscle.grammar.treemetric import TreeMetric, class_vectors
    from corpuscle.grammar.warming import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
