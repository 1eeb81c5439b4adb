"""Compiling ahead of first use."""

from __future__ import annotations

import os
import tempfile

from corpuscle.model import read
from corpuscle.tag.tagger import Tagger
from corpuscle.text.treebank import Treebank

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    bank = Treebank.from_sentences([["a", "b", "a"], ["b", "a"]], tags=[["A", "B", "B"], ["B", "A"]])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        tagger = Tagger(passes=1, hash_bits=10)
        with tagger.checkpoint(bank, path) as checkpoint:
            tagger.fit(bank, checkpoint=checkpoint).save(path)
        Tagger.from_container(read(path)).annotate(bank, confidence=True)
