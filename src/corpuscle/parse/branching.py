"""BranchingParser: every word hangs on its left neighbour, or on its right one; what a parser has to beat."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.errors import SettingError
from corpuscle.parse.base import DependencyParser
from corpuscle.parse.decoding import Parses, Ranked
from corpuscle.parse.settings import BranchingSettings
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import Vocab

__all__ = ["BranchingParser"]


class BranchingParser(BranchingSettings, DependencyParser):
    """``right``: the head of a word is the one before it, the first is the root (branches grow to the right); ``left``:
    the one behind it, the last is the root. There is nothing to learn, and relations have no names."""

    KIND: ClassVar[container.Kind] = container.Kind("parse.branching", 1, {})

    def __post_init__(self) -> None:
        super().__post_init__()
        self.relations_ = Vocab.from_words([])

    def parse(self, bank: Treebank, *, confidence: bool = False) -> Parses:
        """The one tree of every sentence; it is neither likely nor unlikely."""
        if confidence:
            raise SettingError("trees that know nothing of words have no confidence")
        starts, lengths = bank.corpus.sentence_starts, bank.corpus.lengths
        before = np.arange(bank.corpus.n_tokens) - np.repeat(starts[:-1], lengths)
        behind = np.where(before + 2 > np.repeat(lengths, lengths), 0, before + 2)
        heads = (before if self.method == "right" else behind).astype(np.int32)
        return Parses(heads, np.zeros(len(heads), np.int32), np.zeros(len(bank)), np.empty(0))

    def ranked(self, bank: Treebank, k: int) -> Ranked:
        """The one tree of every sentence."""
        parses, counts = self.parse(bank), (bank.corpus.lengths > 0).astype(np.int64)
        return Ranked(counts, np.zeros(int(counts.sum())), parses.heads, parses.relations)

    def summary(self) -> dict[str, Any]:
        """Nothing to say."""
        return {}

    def _arrays(self) -> dict[str, np.ndarray]:
        return {}

    def _restore(self, loaded: container.Container) -> None:
        """Nothing to take back."""
