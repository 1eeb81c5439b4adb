"""ExchangeClasses: word classes by the exchange algorithm; see ``kernels.exchange`` for the mathematics.

The end of a sentence is not predicted: as in the model on trees, every token has a parent and that is all, so there
are as many pairs as tokens. The start of a sentence is a parent of its own kind and of its own class.

The exchange algorithm climbs to a hill top near its start, and which start is near a high one depends on the text: on
news, giving the most frequent words classes of their own leads up to a tenth higher than the textbook's start, on
picture captions it leads less high. After three passes the order is nearly always that of the end. So, by default,
both starts are tried for three passes, and the better one goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle import learning
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Kind
from corpuscle.scale import workers
from corpuscle.text.corpus import Corpus
from corpuscle.words.classes import CLASSES, Pass, WordClasses, check_classes
from corpuscle.words.counting import count_words
from corpuscle.words.forests import Forest
from corpuscle.words.merging import class_tree, merging_state
from corpuscle.words.search import STATE, Search, first_classes
from corpuscle.words.settings import ExchangeSettings

__all__ = ["ExchangeClasses"]

TRIAL = 3
"""For how many passes the two starts are tried before one of them is chosen."""


def _state(extra: Mapping[str, Any], stage: int) -> dict[str, Array]:
    """The arrays of a stage: words are exchanged until the stage ``fold``, where classes are merged."""
    return merging_state("n_classes") if extra["fold"] == stage else STATE


PARTIAL = learning.partial("words.exchange", *(partial(_state, stage=stage) for stage in range(4)))
"""An unfinished run: two starts and the better one of them, or one start; then the class tree."""


class ExchangeClasses(ExchangeSettings, WordClasses):
    """Learns one class for each word by the exchange algorithm.

    The start ``frequent`` gives each of the most frequent words a class of its own and all others the last one;
    ``cyclic`` puts the i-th most frequent word into class i mod C; ``best`` tries both; ``random`` deals the words out
    by the seed, equally many to each class. Words below the cut-offs share one type, the unknown word, which has a
    class like any other. The result is the same for any number of workers.
    """

    KIND: ClassVar[Kind] = Kind("words.exchange", 1, CLASSES, check=check_classes)

    def fit(self, text: Corpus | Forest, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, or from trees; ``checkpoint`` keeps unfinished work."""
        vocab, ids, near, sizes = count_words(text, self)
        checkpoint = checkpoint or Checkpoint(signature=text.signature())
        facts = {"n_classes": self.classes, "fold": 3 if self.start == "best" else 1}
        self.stays_here("where a word goes depends on the words before it")
        with workers(self.workers) as pool:
            classes, self.history_ = self._climb(Search(near, self.classes, pool), checkpoint, facts)
        self._number(vocab, ids, classes, self.classes)
        self.tree_ = class_tree(near, self.classes_[ids], self.classes, checkpoint, facts)
        self.provenance_ = {**sizes, "signature": checkpoint.signature}
        return self

    def checkpoint(self, text: Corpus | Forest, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a text."""
        return Checkpoint(path, PARTIAL, self.settings, text.signature(), resume=resume)

    def _climb(self, search: Search, checkpoint: Checkpoint, facts: Mapping[str, int]) -> tuple[np.ndarray, list[Pass]]:
        """The class of each word, int32 (words,), and the history, after all passes from the start of choice."""

        def start(name: str, most: int) -> tuple[np.ndarray, list[Pass]]:
            return search.passes(first_classes(name, search.words, self.classes, self.seed), most, checkpoint, facts)

        if self.start != "best":
            return start(self.start, self.passes)
        trial = min(TRIAL, self.passes)
        tried = [start(name, trial) for name in ("frequent", "cyclic")]
        classes, history = max(tried, key=lambda result: result[1][-1].mutual_information)
        return search.passes(classes, self.passes - trial if history[-1].moved else 0, checkpoint, facts, history)
