"""Compiling ahead of first use."""

from __future__ import annotations

import os
import tempfile

from corpuscle.model import read
from corpuscle.parse.boosted import BoostedParser
from corpuscle.parse.mst import MstParser
from corpuscle.parse.pairs import PairParser
from corpuscle.parse.projection import ProjectedParser, Projection
from corpuscle.parse.rerank import Reranker
from corpuscle.text.alignments import Alignments
from corpuscle.text.treebank import Treebank

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    bank = Treebank.from_sentences(
        [["a", "b", "c"], ["b", "a"]], heads=[[2, 0, 2], [0, 1]], tags=[["A", "B", "A"], ["B", "A"]],
        relations=[["x", "root", "y"], ["root", "x"]],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        for order in (1, 2):
            for decode in ("projective", "nonprojective"):
                trees = 1 if order == 2 and decode == "nonprojective" else 2
                parser = MstParser(order=order, decode=decode, passes=1, trees=trees, hash_bits=10, relation_bits=8)
                with parser.checkpoint(bank, path) as checkpoint:
                    parser.fit(bank, checkpoint=checkpoint).save(path)
                loaded = MstParser.from_container(read(path))
                loaded.annotate(bank, confidence=True)
                if trees > 1:
                    loaded.k_best(bank, 2)
        base = loaded
        pairs = PairParser(hash_bits=10, relation_bits=8, passes=2)
        with pairs.checkpoint(bank, path) as checkpoint:
            pairs.fit(bank, checkpoint=checkpoint).save(path)
        for decoder in ("eisner", "chart", "mst"):
            saved = read(path)
            saved.header["settings"]["decoder"][0] = decoder
            PairParser.from_container(saved).k_best(bank, 2)
        pairs.annotate(bank)
        BoostedParser(base, pairs).fit(bank).annotate(bank)
        links = Alignments.from_pairs([[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)]])
        for method in ("instances", "tree"):
            ProjectedParser(method=method, hash_bits=10, relation_bits=8, passes=2).fit(Projection(bank, bank, links))
        few = Treebank.from_sentences([["a", "b", "c"]] * 4, heads=[[2, 0, 2]] * 4, tags=[["A", "B", "A"]] * 4)
        base = MstParser(order=1, passes=1, hash_bits=10, relation_bits=8).fit(few)
        every = ("base", "tags", "logp", "structure")
        for observe, learner in (("words", "maxent"), ("both", "perceptron")):
            ranker = Reranker(observe=observe, learner=learner, features=every, nbest=2, passes=1, hash_bits=10)
            ranker.fit(few, base, few).save(path)
        Reranker.from_container(read(path)).best_trees(few, 2)
