"""Compiling ahead of first use."""

from __future__ import annotations

from corpuscle.disambiguate.ranker import Ranker
from corpuscle.text.treebank import Treebank

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    bank = Treebank.from_sentences([["a", "b"]] * 64, tags=[["A", "B"], ["B", "B"]] * 32)
    Ranker(crossfit=2).fit(bank).annotate(bank)
