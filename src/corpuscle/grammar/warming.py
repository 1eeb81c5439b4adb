"""Compiling ahead of first use."""

from __future__ import annotations

from corpuscle.grammar.ccm import ConstituentContext
from corpuscle.grammar.common import CommonGrammar
from corpuscle.grammar.induction import branching
from corpuscle.grammar.latent import EmGrammar
from corpuscle.grammar.pcfg import Pcfg
from corpuscle.grammar.sentences import Sentences, bank_of_trees, heuristic_tops
from corpuscle.grammar.spectral import SpectralGrammar
from corpuscle.grammar.treemetric import TreeMetric
from corpuscle.text.brackets import parse_brackets
from corpuscle.text.trees import Trees

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    trees = parse_brackets(["(S (NP (D a) (N b)) (VP (V c)))", "(S (NP (D a) (N d)) (VP (V c) (NP (D a) (N b))))"] * 5)
    for model in (Pcfg(decode="best"), EmGrammar(states=2, iterations=1), SpectralGrammar(states=2, decode="brackets")):
        model.fit(trees)
        model.parse(trees.words)
        model.best_trees(trees.words[:2], 2)
        model.sample_trees(trees.words[:1], 1)
        model.probability(trees)
        model.replace(decode="rules").fit(trees).parse(trees.words[:1])
    common = CommonGrammar(nonterminals=2, restarts=1, annealing=0, iterations=2).fit([trees.words])
    common.parse(trees.words)
    _induce(trees.relabel(lambda label: {"D": "DET", "N": "NOUN", "V": "VERB"}.get(label, label)))


def _induce(trees: Trees) -> None:
    bank = bank_of_trees(trees)
    sentences = Sentences.from_bank(bank)
    TreeMetric(dimensions=2, rank=1, decode="risk").fit(bank).brackets(bank)
    branching("random", sentences.lengths, heuristic_tops(sentences))
    for start in ("splits", "random"):
        ConstituentContext(start=start, iterations=1, decode="risk").fit(bank).brackets(bank)
