"""ExchangeClasses and BrownClasses: one class for each word, by exchanging words, or by merging classes.

*Exchange*; see ``kernels.exchange`` for the mathematics. The end of a sentence is not predicted: as in the model on
trees, every token has a parent and that is all, so there are as many pairs as tokens. The start of a sentence is a
parent of its own kind and of its own class.

The exchange algorithm climbs to a hill top near its start, and which start is near a high one depends on the text: on
news, giving the most frequent words classes of their own leads up to a tenth higher than the textbook's start, on
picture captions it leads less high. After three passes the order is nearly always that of the end. So, by default,
both starts are tried for three passes, and the better one goes on.

The state of a search is the class of every word, and where in which pass it stands; all counts follow from the classes.
A pass is cut into steps that are short enough for Ctrl-C: many small batches one after the other, or a large one, for
whose words all threads make proposals. So a search can stop and go on.

*Merging* (Brown clustering); see ``kernels.brown``. Words come by falling frequency, each as a class of its own, and
whenever there is one class too many, those two are merged that lose the least mutual information. When all words have
come, the merging goes on until one class is left: this gives every class its bit string, and any smaller number of
classes.

``Merging`` finds the class tree of both methods: words come into a window of classes, then all classes become one. The
state of this learner is the place of every word in the window, and what was merged so far; everything else follows
from the places, to the last bit. It can stop between any two words.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle import learning
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Arrays, Container, Kind
from corpuscle.random import Random, shuffle
from corpuscle.scale import Workers, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import START, UNKNOWN, Vocab
from corpuscle.words.classes import CLASSES, ClassTree, Pass, WordClasses, check_classes, paths_below, tops
from corpuscle.words.forests import Forest
from corpuscle.words.kernels import brown, exchange
from corpuscle.words.settings import BrownSettings, ExchangeSettings

PAIRS = 1 << 20  # pairs of words that are counted at a time


class Counted(NamedTuple):
    """W words by falling frequency, the earlier first where they are equally frequent.

    - ``vocab``: the vocabulary after the cut-offs; ``ids`` int64 (W,): the id of each word, which may be ``UNKNOWN``;
    - ``near``: what each word occurs with; the root is number W;
    - ``provenance``: sizes of the text.
    """

    vocab: Vocab
    ids: np.ndarray
    near: exchange.Neighbours
    provenance: dict[str, int]


def count_words(text: Corpus | Forest, settings: ExchangeSettings | BrownSettings) -> Counted:
    """The words of a text and their neighbours, as the settings of a learner ask; too few words are an error."""
    forest = Forest.of(text, settings.structure)
    if forest.n_tokens == 0:
        raise SettingError("there are no words to learn classes from")
    forest = dataclasses.replace(forest, corpus=forest.corpus.counted())
    vocab, mapping = forest.corpus.vocab.cut(settings.min_count, settings.max_types)
    ids = np.flatnonzero(vocab.counts)
    ids = ids[np.argsort(-vocab.counts[ids], kind="stable")]
    if settings.classes > len(ids):
        raise SettingError(f"{settings.classes} classes are too many for {len(ids)} different words")
    rank = np.full(len(vocab), -1, np.int32)
    rank[ids] = np.arange(len(ids))
    rank[START] = len(ids)
    pairs = rank[mapping[np.stack([forest.parent_words, forest.corpus.tokens])]]
    chunks = [pairs[:, first : first + PAIRS] for first in range(0, pairs.shape[1], PAIRS)]
    with workers(settings.workers, settings.cluster) as pool:
        count = partial(exchange.count_pairs, words=len(ids))
        near = exchange.neighbours_of(pool.scatter(chunks).map_reduce(count, operator.add))
    sizes = {"sentences": len(forest), "words": forest.n_tokens, "types": len(ids) - bool(vocab.counts[UNKNOWN])}
    return Counted(vocab, ids, near, sizes)


# ---- the class tree


LONGEST_MERGING = 20_000_000  # no call of a kernel looks at many more numbers, so that Ctrl-C is heard


def merging_state(words: str) -> dict[str, Array]:
    """The arrays of unfinished work; ``words`` names the number of words, ``n_classes`` is that of classes."""
    return {
        "places": Array("int32", (words,), low=-1, high="n_classes+1"),
        "nodes": Array("int32", ("n_classes+1",), low=0),
        "merges": Array("int32", (f"{words}-1", 2), low=0),
        "losses": Array("float64", (f"{words}-1",), finite=True),
        "n_merges": Array("int64", (1,), low=0, high=words),
    }


class Merging(learning.Learner):
    """Merges words by falling frequency: sweep 0 until ``n_classes`` are left, sweep 1 until one is."""

    def __init__(self, near: exchange.Neighbours, n_classes: int):
        self.near, self.n_classes = near, n_classes
        self.words, self.slots = len(near.selves) - 1, n_classes + 1
        self.total = int(near.degrees[exchange.UP].sum())
        self.window = brown.empty_window(near, self.slots, self.total)
        self.log = brown.empty_log(self.words, self.slots)
        rows = np.minimum(np.diff(near.starts, axis=1)[:, :-1], n_classes).sum(axis=0)
        # A word costs a row for each class that it meets, when it comes and when it is merged, and a few in any case.
        work = np.cumsum(n_classes * (rows + 8))
        self.bounds = np.append(np.flatnonzero(np.diff(work // LONGEST_MERGING, prepend=-1)), self.words)
        self.at_once = max(1, LONGEST_MERGING // (4 * n_classes * n_classes))

    @property
    def classes(self) -> np.ndarray:
        """The present class of each word, int32 (words,), from 0 on in the order of slots; all words are in."""
        return np.unique(brown.places(self.window), return_inverse=True)[1].astype(np.int32)

    @property
    def merges(self) -> np.ndarray:
        """What was merged so far, int32 (mergers, 2); leaves are the words."""
        return self.log.merges[: self.log.n_merges[0]]

    def steps(self, sweep: int) -> int:
        return len(self.bounds) - 1 if sweep == 0 else -(-(self.n_classes - 1) // self.at_once)

    def step(self, sweep: int, number: int) -> None:
        first, last, mergers = 0, 0, 0
        if sweep == 0:
            first, last = self.bounds[number : number + 2]
        else:
            mergers = min(self.at_once, self.n_classes - 1 - number * self.at_once)
        brown.merge(self.near, self.window, self.log, first, last, mergers)

    def finish(self, sweep: int) -> float:
        """The mutual information that all mergers so far have lost."""
        return float(self.log.losses.sum()) / self.total

    def state(self) -> dict[str, np.ndarray]:
        log = {name: array.copy() for name, array in self.log._asdict().items()}
        return {"places": brown.places(self.window), **log}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        places, count = arrays["places"], int(arrays["n_merges"][0])
        come = self.bounds[number] if sweep == 0 else self.words
        if len(places) != self.words or ((places >= 0) != (np.arange(self.words) < come)).any():
            raise ValueError("it does not fit the text")
        nodes = arrays["nodes"][places[:come]]
        if (tops(arrays["merges"][:count], self.words)[:come] != nodes).any():
            raise ValueError("what was merged does not fit the classes")
        self.log = brown.Log(*(np.array(arrays[name]) for name in brown.Log._fields))
        self.window = brown.filled_window(self.near, places, self.slots)


def take_over(
    model: ExchangeClasses | BrownClasses, counted: Counted, classes: np.ndarray, checkpoint: Checkpoint,
    facts: Mapping[str, int],
) -> None:  # fmt: skip
    """Let a model have the classes that were learned, int (W,) in 0..n_classes-1: number them by falling frequency,
    give the rest of the ids theirs, and find the class tree: classes are merged like words."""
    (vocab, ids, near, sizes), n_classes = counted, model.classes
    first = np.full(n_classes, len(ids))
    np.minimum.at(first, classes, np.arange(len(ids)))
    number = np.empty(n_classes, np.int32)
    number[np.lexsort((first, -np.bincount(classes, vocab.counts[ids], n_classes)))] = np.arange(n_classes)
    model.vocab_, model.n_classes_, model.classes_ = vocab, n_classes, np.full(len(vocab), -1, np.int32)
    model.classes_[ids] = number[classes]
    model._class_unknown()
    merging = Merging(brown.grouped(near, model.classes_[ids], n_classes), n_classes)
    checkpoint.run(merging, 2, facts=facts, title="class tree", note="")
    model.tree_ = ClassTree(merging.log.merges, merging.log.losses / merging.total)
    model.provenance_ = {**sizes, "signature": checkpoint.signature}


# ---- exchange


TRIAL = 3  # for how many passes the two starts are tried before one of them is chosen


def _state(extra: Mapping[str, Any], stage: int) -> dict[str, Array]:
    """The arrays of a stage: words are exchanged until the stage ``fold``, where classes are merged."""
    return merging_state("n_classes") if extra["fold"] == stage else STATE


class ExchangeClasses(ExchangeSettings, WordClasses):
    """Learns one class for each word by the exchange algorithm.

    The start ``frequent`` gives each of the most frequent words a class of its own and all others the last one;
    ``cyclic`` puts the i-th most frequent word into class i mod C; ``best`` tries both; ``random`` deals the words out
    by the seed, equally many to each class. Words below the cut-offs share one type, the unknown word, which has a
    class like any other. The result is the same for any number of workers.
    """

    KIND: ClassVar[Kind] = Kind("words.exchange", 1, CLASSES, check=check_classes)
    # Unfinished: two starts and the better one of them, or one start; then the class tree.
    PARTIAL: ClassVar[Kind] = learning.partial("words.exchange", *(partial(_state, stage=n) for n in range(4)))

    def fit(self, text: Corpus | Forest, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, or from trees; ``checkpoint`` keeps unfinished work."""
        counted = count_words(text, self)
        checkpoint = checkpoint or Checkpoint(signature=text.signature())
        facts = {"n_classes": self.classes, "fold": 3 if self.start == "best" else 1}
        self.stays_here("where a word goes depends on the words before it")
        with workers(self.workers) as pool:
            classes, self.history_ = self._climb(Search(counted.near, self.classes, pool), checkpoint, facts)
        take_over(self, counted, classes, checkpoint, facts)
        return self

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


PARALLEL = 1_000_000  # a batch that adds up this many numbers (about a millisecond) is worth handing to threads
LONGEST = 100_000_000  # no call of a kernel adds up many more numbers, so that Ctrl-C is heard

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
        work = self.work[self.starts]
        self.large, self.bounds = np.diff(work) >= PARALLEL, [0]
        # The batches with which steps begin: a large one is a step of its own.
        while (first := self.bounds[-1]) < len(self.large):
            end = min(max(int(np.searchsorted(work, work[first] + LONGEST)), first + 1), len(self.large))
            if self.large[first:end].any():
                end = first + max(1, int(self.large[first:end].argmax()))
            self.bounds.append(end)

    def begin(self, classes: np.ndarray) -> None:
        """Start from given classes, int (words,)."""
        self.table = exchange.class_counts(self.near, classes, self.n_classes)
        self.moved, self.converged = 0, False

    def passes(
        self, classes: np.ndarray, most: int, checkpoint: Checkpoint, facts: Mapping[str, int],
        before: Sequence[Pass] = (),
    ) -> tuple[np.ndarray, list[Pass]]:  # fmt: skip
        """Passes from given classes until nothing moves, at most ``most``: the class of each word, int32 (words,), and
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
        """Some small batches one after the other; or a large one, for whose words all threads make proposals, each for
        its share, which are then settled in order."""
        batch, end = self.bounds[number : number + 2]
        if not self.large[batch]:
            self.moved += exchange.sweep(self.near, self.table, self.starts, batch, end, self.proposals)
            return
        first, last = self.starts[batch : batch + 2]
        shares = np.linspace(self.work[first], self.work[last], self.pool.count + 1)[1:-1]
        ends = [first, *np.clip(np.searchsorted(self.work, shares), first, last), last]
        list(self.pool.map(lambda at: exchange.propose(self.near, self.table, *at, self.proposals), pairwise(ends)))
        self.moved += exchange.settle(self.near, self.table, first, last, self.proposals)

    def finish(self, sweep: int) -> tuple[float, int]:
        """End a pass: the mutual information, and how many words have moved."""
        row, self.moved = (self.information, self.moved), 0
        self.converged = row[1] == 0
        return row

    def state(self) -> dict[str, np.ndarray]:
        return {"classes": self.classes.copy(), "moved": np.array([self.moved])}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        moved, history = np.append(arrays["history"][:, 1], arrays["moved"][0]), arrays["history"]
        if len(arrays["classes"]) != self.words or not np.isfinite(history).all():
            raise ValueError("it does not fit the text")
        if not ((moved >= 0) & (moved <= self.words)).all():
            raise ValueError("more words have moved than there are")
        self.begin(arrays["classes"])
        self.moved, self.converged = int(arrays["moved"][0]), sweep > 0 and history[-1, 1] == 0


# ---- merging


def check_merges(loaded: Container) -> None:
    check_classes(loaded)
    arrays = loaded.arrays
    if "merges" not in arrays:
        return
    words = np.flatnonzero(arrays["vocab/counts"])
    pairs = np.stack([tops(arrays["merges"], len(arrays["classes"]))[words], arrays["classes"][words]])
    if not loaded.extra["classes"] == len(np.unique(pairs, axis=1).T) == len(np.unique(pairs[0])):
        raise ValueError("its classes are not those that were merged")


class BrownClasses(BrownSettings, WordClasses):
    """Learns one class for each word by merging (Brown clustering), and exchanges words afterwards if ``passes`` say.

    Words below the cut-offs share one type, the unknown word, which has a class like any other. Beside what
    ``WordClasses`` has:

    - ``merges_`` int32 (words - classes, 2): what was merged until the classes were left; leaves are the ids of words,
      node len(vocab_) + m comes of merger m, and of the two the one with more tokens is first. None where words were
      exchanged afterwards.
    """

    KIND: ClassVar[Kind] = Kind(
        "words.brown", 1, {**CLASSES, "merges": Array("int32", ("merges", 2), low=0, optional=True)}, check=check_merges
    )
    # Unfinished: words are merged, then exchanged, then classes are merged.
    PARTIAL: ClassVar[Kind] = learning.partial("words.brown", merging_state("words"), STATE, merging_state("n_classes"))
    FORMAT: ClassVar[str] = "paths"
    SAVED: ClassVar = {**WordClasses.SAVED, "merges_": Arrays("merges")}

    merges_: np.ndarray | None = learned()

    def fit(self, text: Corpus | Forest, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, or from trees; ``checkpoint`` keeps unfinished work."""
        counted = count_words(text, self)
        checkpoint, facts = checkpoint or Checkpoint(signature=text.signature()), {"n_classes": self.classes}
        self.stays_here("which classes are merged depends on the mergers before")
        merging = Merging(counted.near, self.classes)
        checkpoint.run(merging, 1, facts=facts, lasting=True, title="merging", note="")
        with workers(self.workers) as pool:
            search = Search(counted.near, self.classes, pool)
            classes, self.history_ = search.passes(merging.classes, self.passes, checkpoint, facts)
        nodes = len(counted.vocab) + np.arange(len(merging.merges))
        names = np.append(counted.ids, nodes).astype(np.int32)
        self.merges_ = names[merging.merges] if np.array_equal(classes, merging.classes) else None
        take_over(self, counted, classes, checkpoint, facts)
        return self

    def coarsened(self, classes: int) -> Self:
        coarse = super().coarsened(classes)
        if self.merges_ is not None:
            nodes = np.empty(2 * self.n_classes_ - 1, np.int32)
            nodes[: self.n_classes_] = self._tops()
            nodes[self.n_classes_ :] = len(self.vocab_) + len(self.merges_) + np.arange(self.n_classes_ - 1)
            done = nodes[self.class_tree().merges[: self.n_classes_ - classes]]
            coarse.merges_ = np.concatenate([self.merges_, done])
        return coarse

    def _tops(self) -> np.ndarray:
        """The node of each class among ``merges_``, int64 (n_classes,)."""
        assert self.merges_ is not None
        words = np.flatnonzero(self.vocab_.counts)
        nodes = np.empty(self.n_classes_, np.int64)
        nodes[self.classes_[words]] = tops(self.merges_, len(self.vocab_))[words]
        return nodes

    def _full_paths(self) -> Iterator[tuple[str, str, int]]:
        if self.merges_ is None:
            raise SettingError("there are no full paths where words were exchanged after merging (passes)")
        nodes, vocab = self._tops().tolist(), self.vocab_
        for path, number in sorted((path, number) for number, path in enumerate(self.class_tree().paths)):
            for below, word in paths_below(self.merges_, len(vocab), nodes[number]):
                yield path + below, vocab.word(word), int(vocab.counts[word])
