"""WordClasses: every word has one class; the model that each method of this task ends in.

Classes are numbered by falling frequency, so class 0 has the most tokens. The figures are those of the class bigram
model p(w | parent) = p(w | class(w)) p(class(w) | class(parent)) with maximum-likelihood parameters, in which the
parent of a word is its left neighbour or its head: its log-likelihood is N (I - H), where H is the entropy of the
words and I the mutual information of the classes of parent and child (Brown et al. 1992). Only I depends on the
classes.

*ClassTree*: in which order classes merge until one is left, and the bit strings that follow from it. Leaves are
numbered 0..n-1; node n + m is made by merger m of two nodes, the first of which has more tokens (bit 0). The path of a
leaf is the bits from the top to it. A tree that is cut after some mergers gives fewer, larger classes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from copy import copy
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import VOCAB, Array, Arrays, Container, Fact, Kind, Model, Record
from corpuscle.model.saved import Saved
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, Preprocessing
from corpuscle.text.scripts import isolated
from corpuscle.text.tables import write_table
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN, Vocab
from corpuscle.text.wording import clip
from corpuscle.words.forests import Forest, words_of

# ---- the class tree


TREE = {
    "tree/merges": Array("int32", ("mergers", 2), low=0, optional=True),
    "tree/losses": Array("float64", ("mergers",), finite=True, optional=True),
}
"""How a model file keeps a tree."""


def tops(merges: np.ndarray, leaves: int) -> np.ndarray:
    """The node above each leaf that is part of no other, int64 (leaves,), after all mergers; ``ValueError`` if they are
    impossible: every node is merged once, and after it was made.

    >>> tops(np.array([[1, 2], [4, 0]]), 4).tolist()
    [5, 5, 5, 3]
    """
    made = leaves + np.arange(len(merges))
    if len(merges) and ((merges < 0).any() or (merges >= made[:, None]).any()):
        raise ValueError("a class is merged before it is there")
    if len(np.unique(merges)) < merges.size:
        raise ValueError("a class is merged twice")
    above = list(range(leaves + len(merges)))
    for node, (first, second) in zip(reversed(made.tolist()), reversed(merges.tolist()), strict=True):
        above[first] = above[second] = above[node]
    return np.array(above[:leaves], np.int64)


def paths_below(merges: np.ndarray, leaves: int, top: int) -> Iterator[tuple[str, int]]:
    """The path from the node ``top`` to each leaf below it, and the leaf, by rising paths."""
    pairs = merges.tolist()
    waiting = [(top, "")]
    while waiting:
        node, path = waiting.pop()
        if node < leaves:
            yield path, node
        else:
            first, second = pairs[node - leaves]
            waiting += [(second, path + "1"), (first, path + "0")]


class ClassTree(NamedTuple):
    """The mergers of n classes into one.

    - ``merges`` int32 (n - 1, 2): the two nodes of each, see above;
    - ``losses`` float64 (n - 1,): the mutual information that each loses, in nats.
    """

    merges: np.ndarray
    losses: np.ndarray

    @property
    def leaves(self) -> int:
        """n, the number of classes."""
        return len(self.merges) + 1

    @property
    def paths(self) -> list[str]:
        """The bit string of each class.

        >>> ClassTree(np.array([[1, 2], [3, 0]]), np.zeros(2)).paths
        ['1', '00', '01']
        """
        paths = [""] * self.leaves
        for path, leaf in paths_below(self.merges, self.leaves, 2 * self.leaves - 2):
            paths[leaf] = path
        return paths

    def groups(self, classes: int) -> np.ndarray:
        """The node of each class, int64 (n,), when ``classes`` are left.

        >>> ClassTree(np.array([[1, 2], [3, 0]]), np.zeros(2)).groups(2).tolist()
        [0, 3, 3]
        """
        if not 1 <= classes <= self.leaves:
            raise SettingError(f"{self.leaves} classes can become 1 to {self.leaves}, not {classes}")
        return tops(self.merges[: self.leaves - classes], self.leaves)

    def cut(self, numbers: np.ndarray) -> ClassTree:
        """The tree of fewer classes, of which each class belongs to the one in ``numbers``, int (n,): new numbers, from
        0 on, of the ``groups``."""
        classes = int(numbers.max()) + 1
        done = self.leaves - classes
        names = np.zeros(2 * self.leaves - 1, np.int32)
        names[self.groups(classes)] = numbers
        names[self.leaves + done :] = classes + np.arange(classes - 1)
        return ClassTree(names[self.merges[done:]], self.losses[done:])


# ---- classes


class Pass(NamedTuple):
    """How far learning had come after a pass over the words; the first entry of a history is the start."""

    mutual_information: float
    moved: int


HISTORY = {
    "history/mutual_information": Array("float64", ("passes",), finite=True),
    "history/moved": Array("int64", ("passes",), low=0),
}


class _History(Saved):
    """A history in a file: an array for each figure of a pass."""

    def arrays(self, value: list[Pass]) -> dict[str, np.ndarray]:
        return {
            name: np.array(each, HISTORY[name].dtype)
            for name, each in zip(HISTORY, zip(*value, strict=True), strict=True)
        }

    def restored(self, loaded: Container) -> list[Pass]:
        return [Pass(*step) for step in zip(*(loaded.arrays[name].tolist() for name in HISTORY), strict=True)]


def check_classes(loaded: Container) -> None:
    arrays, n_classes = loaded.arrays, loaded.extra.get("classes")
    classes = arrays["classes"]
    if classes[START] != -1 or classes[END] != -1 or (np.delete(classes, [START, END]) < 0).any():
        raise ValueError("every word has a class, and sentence boundaries have none")
    if type(n_classes) is not int:
        raise ValueError("it does not say how many classes there are")
    if len(arrays["history/moved"]) == 0:
        raise ValueError("it has no history")
    if ("tree/merges" in arrays) != ("tree/losses" in arrays):
        raise ValueError("half of its class tree is missing")
    if "tree/merges" in arrays:
        if len(arrays["tree/merges"]) != n_classes - 1:
            raise ValueError("its class tree does not fit the number of classes")
        tops(arrays["tree/merges"], n_classes)


PIECE = 1 << 20  # words that get their classes at a time
COUNTED = {**VOCAB, "vocab/counts": dataclasses.replace(VOCAB["vocab/counts"], sums="positive")}
"""The arrays of a vocabulary whose words have been counted."""
CLASSES = {**COUNTED, "classes": Array("int32", ("types+3",), low=-1, high="classes"), **HISTORY, **TREE}
"""The arrays of a model."""


def _classes_of(words: np.ndarray, model: WordClasses) -> np.ndarray:
    """The classes of words as ids of the vocabulary of classes, int32 (n,); boundaries of sentences stay."""
    return np.where((words == START) | (words == END), words, FIRST + model.classes_[words]).astype(np.int32)


class WordClasses(Model):
    """One class for each word.

    - ``vocab_``: the words, with their counts in the training text; words below the cut-offs count as ``UNKNOWN``;
    - ``classes_`` int32 (len(vocab_),): the class of each id, -1 for the boundaries of sentences. Where the training
      text had unknown words their class was learned; else they get the class that has most of the rarest words;
    - ``n_classes_``, ``mutual_information_`` (nats), ``likelihood_`` (log-likelihood of the training text, nats), and
      ``history_``, a list of ``Pass``;
    - ``tree_``: how the classes would merge into one, see ``ClassTree``; None in old files.
    """

    PARTIAL: ClassVar[Kind | None] = None
    """The kind of file that keeps its unfinished work."""
    FORMAT: ClassVar[str] = "tsv"
    """How ``export`` writes unless it is told."""

    SAVED: ClassVar = {
        "vocab_": Record(Vocab),
        "classes_": Arrays("classes"),
        "n_classes_": Fact("classes"),
        "history_": _History(),
        "tree_": Record(ClassTree, "tree/"),
    }

    vocab_: Vocab = learned()
    classes_: np.ndarray = learned()
    n_classes_: int = learned()
    history_: list[Any] = learned()
    tree_: ClassTree | None = learned()

    def checkpoint(self, text: Corpus | Forest, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a text."""
        return Checkpoint(path, self.PARTIAL, self.settings, text.signature(), resume=resume)

    @property
    def mutual_information_(self) -> float:
        """I, in nats: how much the class of a parent says about the class of its child."""
        return self.history_[-1].mutual_information

    @property
    def n_tokens_(self) -> int:
        """N, the number of training tokens."""
        return int(self.vocab_.counts.sum())

    @property
    def likelihood_(self) -> float:
        """The log-likelihood of the training text, N (I - H), in nats."""
        counts = self.vocab_.counts[self.vocab_.counts > 0]
        entropy = float(np.log(counts.sum()) - (counts * np.log(counts)).sum() / counts.sum())
        return self.n_tokens_ * (self.mutual_information_ - entropy)

    @property
    def class_counts_(self) -> np.ndarray:
        """How many training tokens each class has, int64 (n_classes,)."""
        inside = self.classes_ >= 0
        sums = np.zeros(self.n_classes_, np.int64)
        np.add.at(sums, self.classes_[inside], self.vocab_.counts[inside])
        return sums

    def _class_unknown(self) -> None:
        """Where the training text had no unknown words, their class is the one that has most of the rarest words."""
        counts = self.vocab_.counts
        seen = (counts > 0) & (self.classes_ >= 0)
        if counts[UNKNOWN] == 0 and seen.any():
            self.classes_[UNKNOWN] = np.bincount(self.classes_[seen & (counts == counts[seen].min())]).argmax()

    def class_of(self, word: str) -> int:
        """The class of a word; an unknown word has one too."""
        return int(self.classes_[self.vocab_.id(word)])

    def words_of(self, number: int, k: int | None = None, by: str = "count") -> list[tuple[str, Any]]:
        """The ``k`` most frequent words of a class (default: all), with their counts; ``by`` anything else they can be
        chosen only where a word has several classes."""
        self._check_class(number)
        if by != "count":
            raise SettingError(f"words are chosen by {by} where they have several classes, by count where one each")
        members = np.flatnonzero((self.classes_ == number) & (self.vocab_.counts > 0))
        members = members[np.argsort(-self.vocab_.counts[members], kind="stable")][:k]
        return [(self.vocab_.word(int(i)), int(self.vocab_.counts[i])) for i in members]

    def classes_of(self, word: str) -> list[tuple[int, float]]:
        """The classes that a word has, the most frequent one first, with their shares of its tokens."""
        return [(self.class_of(word), 1.0)]

    def _check_class(self, number: int) -> None:
        if not 0 <= number < self.n_classes_:
            raise SettingError(f"there is no class {number}; classes are 0 to {self.n_classes_ - 1}")

    def as_dict(self) -> dict[str, int]:
        """The class of every word of the vocabulary; unknown words are not in it."""
        return dict(zip(self.vocab_.strings[FIRST:], self.classes_[FIRST:].tolist(), strict=True))

    def apply(self, text: Corpus | Forest) -> Corpus:
        """The sentences with classes for words: a Corpus whose vocabulary is the class numbers as strings; class c has
        the id ``FIRST + c``."""
        corpus = text.corpus if isinstance(text, Forest) else text
        vocab = Vocab.from_words(map(str, range(self.n_classes_)), self.class_counts_)
        words = corpus.recode(self.vocab_).tokens
        pieces = (words[first : first + PIECE] for first in range(0, len(words), PIECE))
        classes = [np.empty(0, np.int32), *self.spread(_classes_of, pieces)]
        return dataclasses.replace(corpus, tokens=np.concatenate(classes), vocab=vocab)

    def annotate(self, bank: Treebank, layer: str = "form", preprocessing: Preprocessing | None = None) -> Treebank:
        """A treebank with the class of every word in its MISC, ``Class=17``; its words are those of ``words_of``."""
        words = words_of(bank, layer, preprocessing).recode(self.vocab_).tokens
        return bank.with_misc("Class", list(map(str, self.classes_[words].tolist())))

    def write_posteriors(self, text: Any, path: str | PathLike[str]) -> None:
        """Write how likely each class is at each token of a text, where that depends on the context."""
        raise SettingError("here every word has one class, wherever it stands: there are no posteriors to write")

    def class_tree(self) -> ClassTree:
        """The tree of the classes; an error if the model has none."""
        if self.tree_ is None:
            raise SettingError("this model has no class tree, which older versions did not learn: learn it anew")
        return self.tree_

    def coarsened(self, classes: int) -> Self:
        """A model of the same words with fewer classes: the tree is cut where ``classes`` are left."""
        tree, counts = self.class_tree(), self.class_counts_
        group = np.unique(tree.groups(classes), return_inverse=True)[1]
        number = np.empty(classes, np.int32)
        number[np.argsort(-np.bincount(group, counts, classes), kind="stable")] = np.arange(classes)
        coarse = copy(self)
        coarse.classes_ = np.where(self.classes_ >= 0, number[group][self.classes_], -1).astype(np.int32)
        coarse.n_classes_, coarse.tree_ = classes, tree.cut(number[group])
        lost = float(tree.losses[: self.n_classes_ - classes].sum())
        coarse.history_ = [Pass(self.mutual_information_ - lost, 0)]
        return coarse

    def rows(self, format: str | None = None, full_paths: bool = False) -> Iterator[tuple[object, object, int]]:
        """The words class by class, each class by falling count.

        ``tsv`` rows are word, class, count; ``paths`` rows are path, word, count, as tools for Brown clusters read
        them, by rising paths. ``full_paths``: each word has a path of its own, that of its class and what was merged
        below it; only Brown clustering knows that. The default is ``FORMAT``.
        """
        format = format or self.FORMAT
        if format not in ("tsv", "paths"):
            raise SettingError(f"the format is tsv or paths, not {format!r}")
        if full_paths:
            if format != "paths":
                raise SettingError("full_paths means nothing without the format paths")
            yield from self._full_paths()
        elif format == "tsv":
            for number in range(self.n_classes_):
                for word, count in WordClasses.words_of(self, number):
                    yield word, number, count
        else:
            for path, number in sorted((path, number) for number, path in enumerate(self.class_tree().paths)):
                for word, count in WordClasses.words_of(self, number):
                    yield path, word, count

    def _full_paths(self) -> Iterator[tuple[str, str, int]]:
        raise SettingError("full paths are those of Brown clustering; these classes were not made by merging")

    def export(self, path: str | PathLike[str], format: str | None = None, full_paths: bool = False) -> None:
        write_table(path, (), self.rows(format, full_paths))


# ---- pictures


def tree_shown(model: WordClasses, k: int = 10) -> dict[str, Any]:
    """The arguments of ``merge_tree`` for all classes of a model, with ``k`` words each, as plain data."""
    tree, counts = model.class_tree(), model.class_counts_
    left = model.mutual_information_ - np.cumsum([0.0, *tree.losses])
    leaves = []
    for number, path in enumerate(tree.paths):
        words = [clip(word) for word, _ in model.words_of(number, k)]
        tip = f"class {number}, {counts[number]:,} tokens: {' '.join(map(isolated, words))}"
        leaves.append((path, words, tip))
    return {"leaves": leaves, "merges": tree.merges.tolist(), "values": (left / math.log(2)).tolist()}


def draw_tree(model: WordClasses, k: int = 10) -> str:
    """The class tree as an SVG element, with the ``k`` most frequent words of each class."""
    from corpuscle.figures import LeafShown, merge_tree

    shown = tree_shown(model, k)
    return merge_tree([LeafShown(*leaf) for leaf in shown.pop("leaves")], **shown)
