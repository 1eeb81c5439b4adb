"""Word classes: which words behave alike, learned from raw text.

- ``ExchangeClasses``: one class for each word, by the exchange algorithm;
- ``WordClasses``: what every method ends in, a model file that can be shown, exported and applied to text;
- ``ClassLearner``: what all methods of this task have in common.
"""

from corpuscle.words.classes import ClassLearner, Pass, WordClasses
from corpuscle.words.exchange import ExchangeClasses

__all__ = ["ClassLearner", "ExchangeClasses", "Pass", "WordClasses", "warm"]


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny text."""
    from corpuscle.text.corpus import Corpus

    corpus = Corpus.from_sentences([["a", "b", "a"], ["c", "b"]])
    for workers in 1, 2:
        ExchangeClasses(classes=2, passes=1, workers=workers).fit(corpus)
