"""Grammars without trees: the same bytes on one thread, on two, and on a cluster of processes."""

import numpy as np
import pytest

from corpuscle.grammar import CommonGrammar, ConstituentContext, TreeMetric
from corpuscle.text import Corpus
from tests.grammar.test_treemetric import bank
from tests.test_cluster import is_same_everywhere


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("corpuscle.grammar.variational._TOKENS", 40)
    monkeypatch.setattr("corpuscle.grammar.ccm._WORK", 2000)
    monkeypatch.setattr("corpuscle.grammar.treemetric._WORK", 5000)
    monkeypatch.setattr("corpuscle.grammar.common._WORK", 500)


def test_grammars_without_trees_are_the_same_everywhere(cluster):
    text = bank(60)
    words = [list(sentence) for sentence in text.corpus]
    texts = [Corpus.from_sentences(words), Corpus.from_sentences([[f"x{word}" for word in row] for row in words])]

    def common(**where):
        model = CommonGrammar(nonterminals=3, restarts=1, annealing=2, iterations=3, **where).fit(texts)
        return np.concatenate([model.grammars_[0].pairs, model.grammars_[1].pairs]), model.parse(texts[0]).trees.spans

    def metric(**where):
        model = TreeMetric(dimensions=6, rank=3, **where).fit(text)
        found = model.brackets(text, confidence=True)
        return model.distances_, found.spans, found.shares

    def ccm(**where):
        model = ConstituentContext(iterations=3, **where).fit(text)
        return model.counts_[0], model.brackets(text).spans

    for learned in (common, metric, ccm):
        assert is_same_everywhere(cluster, learned)
