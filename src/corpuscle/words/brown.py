"""BrownClasses: word classes by merging; see ``kernels.brown`` for the mathematics.

Words come by falling frequency, each as a class of its own, and whenever there is one class too many, those two are
merged that lose the least mutual information. When all words have come, the merging goes on until one class is left:
this gives every class its bit string, and any smaller number of classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import ClassVar, Self

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Array, Arrays, Container, Kind
from corpuscle.scale import workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.words.classes import CLASSES, WordClasses, check_classes, count_words
from corpuscle.words.exchange import STATE, Search
from corpuscle.words.forests import Forest
from corpuscle.words.settings import BrownSettings
from corpuscle.words.trees import Merging, class_tree, merging_state, paths_below, tops

PARTIAL = partial("words.brown", merging_state("words"), STATE, merging_state("n_classes"))
"""An unfinished run: words are merged, then exchanged, then classes are merged."""


def check_merges(loaded: Container) -> None:
    """What the declarations of the arrays cannot say."""
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
    FORMAT: ClassVar[str] = "paths"

    SAVED: ClassVar = {**WordClasses.SAVED, "merges_": Arrays("merges")}

    merges_: np.ndarray | None = learned()

    def fit(self, text: Corpus | Forest, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, or from trees; ``checkpoint`` keeps unfinished work."""
        vocab, ids, near, sizes = count_words(text, self)
        checkpoint, facts = checkpoint or Checkpoint(signature=text.signature()), {"n_classes": self.classes}
        self.stays_here("which classes are merged depends on the mergers before")
        merging = Merging(near, self.classes)
        checkpoint.run(merging, 1, facts=facts, lasting=True, title="merging", note="")
        with workers(self.workers) as pool:
            search = Search(near, self.classes, pool)
            classes, self.history_ = search.passes(merging.classes, self.passes, checkpoint, facts)
        names = np.append(ids, len(vocab) + np.arange(len(merging.merges))).astype(np.int32)
        self.merges_ = names[merging.merges] if np.array_equal(classes, merging.classes) else None
        self._number(vocab, ids, classes, self.classes)
        self.tree_ = class_tree(near, self.classes_[ids], self.classes, checkpoint, facts)
        self.provenance_ = {**sizes, "signature": checkpoint.signature}
        return self

    def checkpoint(self, text: Corpus | Forest, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a text."""
        return Checkpoint(path, PARTIAL, self.settings, text.signature(), resume=resume)

    def coarsened(self, classes: int) -> Self:
        """A model of the same words with fewer classes: the tree is cut where so many are left."""
        coarse = super().coarsened(classes)
        if self.merges_ is not None:
            nodes = np.empty(2 * self.n_classes_ - 1, np.int32)
            nodes[: self.n_classes_] = self._tops()
            first = len(self.vocab_) + len(self.merges_)
            nodes[self.n_classes_ :] = first + np.arange(self.n_classes_ - 1)
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
