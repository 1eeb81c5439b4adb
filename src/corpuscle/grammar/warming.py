"""Compiling ahead of first use."""

from __future__ import annotations

from corpuscle.grammar.ccm import ConstituentContext
from corpuscle.grammar.induction import branching
from corpuscle.grammar.treemetric import TreeMetric
from corpuscle.text.treebank import Treebank

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    sentences = [["the", "cat", "sees", "a", "dog"], ["a", "cat", "sings"]] * 4
    tags = [["DET", "NOUN", "VERB", "DET", "NOUN"], ["DET", "NOUN", "VERB"]] * 4
    bank = Treebank.from_sentences(sentences, tags=tags)
    metric = TreeMetric(dimensions=2, rank=1, decode="risk").fit(bank)
    metric.brackets(bank)
    branching("random", metric.sentences(bank).lengths, metric.tops(metric.sentences(bank)))
    for start in ("splits", "random"):
        ConstituentContext(start=start, iterations=1, decode="risk").fit(bank).brackets(bank)
