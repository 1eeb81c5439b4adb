"""Word classes: which words behave alike, learned from raw text.

- ``ExchangeClasses``: one class for each word, by the exchange algorithm;
- ``WordClasses``: what every method ends in, a model file that can be shown, exported and applied to text.
"""

from corpuscle.words.classes import Pass, WordClasses
from corpuscle.words.exchange import ExchangeClasses

__all__ = ["ExchangeClasses", "Pass", "WordClasses", "warm"]


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny text."""
    import numpy as np

    from corpuscle.text.corpus import Corpus
    from corpuscle.words.kernels import exchange

    corpus = Corpus.from_sentences([["a", "b", "a"], ["c", "b"]])
    for start in "best", "random":
        ExchangeClasses(classes=2, passes=1, start=start, workers=1).fit(corpus)
    near = exchange.neighbours(np.array([2, 0, 1]), np.array([0, 1, 1]), 2)
    table = exchange.tables(near, np.arange(2), 2)
    proposals = np.zeros(2, np.int32)
    exchange.propose(near, table, 0, 2, proposals)
    exchange.settle(near, table, 0, 2, proposals)
    exchange.gains(near, table, 0, np.empty(2))
