"""ExchangeClasses: word classes by the exchange algorithm; see ``kernels.exchange`` for the mathematics.

The end of a sentence is not predicted: as in the model on trees, every token has a parent and that is all, so there
are as many pairs as tokens. The start of a sentence is a parent of its own kind and of its own class.

The exchange algorithm climbs to a hill top near its start, and which start is near a high one depends on the text: on
news, giving the most frequent words classes of their own leads up to a tenth higher than the textbook's start, on
picture captions it leads less high. After three passes the order is nearly always that of the end. So, by default,
both starts are tried for three passes, and the better one goes on.

The state of a search is the class of every word, and where in which pass it stands; all counts follow from the classes.
A pass is cut into steps that are short enough for Ctrl-C: many small batches one after the other, or a large one, for
whose words all threads make proposals. So a search can stop and go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle import learning
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Kind
from corpuscle.random import Random, shuffle
from corpuscle.scale import Workers, workers
from corpuscle.text.corpus import Corpus
from corpuscle.words.classes import CLASSES, Pass, WordClasses, check_classes, count_words
from corpuscle.words.forests import Forest
from corpuscle.words.kernels import exchange
from corpuscle.words.settings import ExchangeSettings
from corpuscle.words.trees import class_tree, merging_state

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


PARALLEL = 1_000_000
"""A batch that adds up this many numbers (about a millisecond) is worth handing to threads."""
LONGEST = 100_000_000
"""No call of a kernel adds up many more numbers than this, so that Ctrl-C is heard."""

STATE = {
    "classes": Array("int32", ("words",), low=0, high="n_classes"),
    "moved": Array("int64", (1,), low=0),
}
"""The arrays of unfinished work."""


def first_classes(start: str, words: int, n_classes: int, seed: int) -> np.ndarray:
    """The classes of the words, by falling frequency, before the first pass, int32 (words,); none is empty."""
    ranks = np.arange(words, dtype=np.int32)
    if start == "frequent":
        return np.minimum(ranks, np.int32(n_classes - 1))
    if start == "random":
        shuffle(Random(seed, "exchange start").array(), ranks)
    return ranks % np.int32(n_classes)


class Search(learning.Learner):
    """Moves words between classes; ``converged`` when a pass has moved none."""

    converged: bool

    def __init__(self, near: exchange.Neighbours, n_classes: int, pool: Workers):
        self.near, self.n_classes, self.pool = near, n_classes, pool
        self.words = len(near.selves) - 1
        self.total = int(near.degrees[exchange.UP].sum())
        self.starts = exchange.batches(near)
        self.proposals = np.zeros(self.words, np.int32)
        rows = np.minimum(np.diff(near.starts, axis=1)[:, :-1], n_classes).sum(axis=0)
        # A word costs a row of numbers for each class that it occurs with, and a few rows in any case.
        self.work = np.concatenate([[0], np.cumsum(n_classes * (rows + 4))])
        self.large = np.diff(self.work[self.starts]) >= PARALLEL
        self.bounds = self._bounds()

    def _bounds(self) -> list[int]:
        """The batches with which steps begin, and their number."""
        work, bounds = self.work[self.starts], [0]
        while (first := bounds[-1]) < len(self.large):
            end = min(max(int(np.searchsorted(work, work[first] + LONGEST)), first + 1), len(self.large))
            if self.large[first:end].any():
                end = first + max(1, int(self.large[first:end].argmax()))
            bounds.append(end)
        return bounds

    def begin(self, classes: np.ndarray) -> None:
        """Start from given classes, int (words,)."""
        self.table = exchange.class_counts(self.near, classes, self.n_classes)
        self.moved, self.converged = 0, False

    def passes(
        self,
        classes: np.ndarray,
        most: int,
        checkpoint: Checkpoint,
        facts: Mapping[str, int],
        before: Sequence[Pass] = (),
    ) -> tuple[np.ndarray, list[Pass]]:
        """Passes from given classes until nothing moves, at most so many: the class of each word, int32 (words,), and
        the history, which goes on from the passes ``before``."""
        self.begin(classes)
        start = [*before] or [Pass(self.information, 0)]
        history, _ = checkpoint.run(
            self, most, columns=2, facts=facts, converged=lambda: self.converged, lasting=True, title="exchange",
            note="I {:.4f}",
        )  # fmt: skip
        return self.classes.copy(), start + [Pass(known, int(moved)) for known, moved in history.tolist()]

    @property
    def classes(self) -> np.ndarray:
        """The present class of each word, int32 (words,)."""
        return self.table.classes[:-1]

    @property
    def information(self) -> float:
        """The mutual information of the classes of parent and child, in nats."""
        return exchange.objective(self.table) / self.total + float(np.log(self.total))

    def steps(self, sweep: int) -> int:
        return len(self.bounds) - 1

    def step(self, sweep: int, number: int) -> None:
        """Some small batches one after the other, or a large one by all threads together."""
        first, last = self.bounds[number : number + 2]
        if self.large[first]:
            self.moved += self._together(first)
        else:
            self.moved += exchange.sweep(self.near, self.table, self.starts, first, last, self.proposals)

    def _together(self, batch: int) -> int:
        """All threads propose, each for its share of the words; then the proposals are settled in order."""
        first, last = self.starts[batch], self.starts[batch + 1]
        shares = np.linspace(self.work[first], self.work[last], self.pool.count + 1)[1:-1]
        ends = [first, *np.clip(np.searchsorted(self.work, shares), first, last), last]
        for _ in self.pool.scatter(list(pairwise(ends))).map(
            lambda share: exchange.propose(self.near, self.table, share[0], share[1], self.proposals)
        ):
            pass
        return exchange.settle(self.near, self.table, first, last, self.proposals)

    def finish(self, sweep: int) -> tuple[float, int]:
        """End a pass: the mutual information, and how many words have moved."""
        row, self.moved = (self.information, self.moved), 0
        self.converged = row[1] == 0
        return row

    def state(self) -> dict[str, np.ndarray]:
        """The classes, and how many words have moved in this pass."""
        return {"classes": self.classes.copy(), "moved": np.array([self.moved])}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        moved, history = np.append(arrays["history"][:, 1], arrays["moved"][0]), arrays["history"]
        if len(arrays["classes"]) != self.words or not np.isfinite(history).all():
            raise ValueError("it does not fit the text")
        if not ((moved >= 0) & (moved <= self.words)).all():
            raise ValueError("more words have moved than there are")
        self.begin(arrays["classes"])
        self.moved, self.converged = int(arrays["moved"][0]), sweep > 0 and history[-1, 1] == 0
