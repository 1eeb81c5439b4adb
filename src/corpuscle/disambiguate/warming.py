"""Compiling ahead of first use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corpuscle.disambiguate.sequence import SequenceRanker
from corpuscle.disambiguate.twopass import TwoPassRanker
from corpuscle.text.treebank import Treebank

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    bank = Treebank.from_sentences([["a", "b"]] * 64, tags=[["A", "B"], ["B", "B"]] * 32)
    bank = replace(bank, corpus=bank.corpus.with_documents(np.arange(0, 65, 8)))
    for learner in (TwoPassRanker(crossfit=2), SequenceRanker(crossfit=2)):
        learner.fit(bank).annotate(bank)
