"""Compiling ahead of first use."""

from __future__ import annotations

from corpuscle.grammar.latent import EmGrammar
from corpuscle.grammar.pcfg import Pcfg
from corpuscle.grammar.spectral import SpectralGrammar
from corpuscle.text.brackets import parse_brackets

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    trees = parse_brackets(["(S (NP (D a) (N b)) (VP (V c)))", "(S (NP (D a) (N d)) (VP (V c) (NP (D a) (N b))))"] * 5)
    for model in (Pcfg(decode="best"), EmGrammar(states=2, iterations=1), SpectralGrammar(states=2, decode="brackets")):
        model.fit(trees)
        model.parse(trees.words)
        model.best_trees(trees.words[:2], 2)
        model.probability(trees)
        model.replace(decode="rules").fit(trees).parse(trees.words[:1])
