"""Tagging: parts of speech, morphology and lemmas of words in sentences, learned from a treebank.

- ``Tagger``: labels of UPOS, XPOS and FEATS by a conditional random field over pruned candidates; lemmas by rules;
- ``WordTagger``: the base of taggers, for methods of your own;
- ``jackknife``: a treebank with tags as new text would have them, for what is learned from tags;
- ``lemma_rule``, ``apply_rule``: what makes a lemma of a form.

``fit(treebank)``, ``tag``, ``annotate``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.tag.lemmas import apply_rule, lemma_rule
    from corpuscle.tag.tagger import TAGGED, Tagger, Tagging, WordTagger, jackknife
    from corpuscle.tag.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
