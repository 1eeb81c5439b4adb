"""Compiling ahead of first use."""

from __future__ import annotations

import os
import tempfile

from corpuscle.entities.crf import CrfTagger
from corpuscle.entities.dictionary import DictionaryTagger
from corpuscle.entities.documents import from_standoff
from corpuscle.model import read
from corpuscle.text.standoff import Mention, Standoff

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    texts = [Standoff("a b c", (Mention("X", ((0, 1),)),)), Standoff("b a", (Mention("X", ((2, 3),)),))]
    documents = from_standoff(texts)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        dictionary = DictionaryTagger().fit(documents)
        dictionary.tag(documents)
        learner = CrfTagger(iterations=1, min_count=1, nc="none", passes=2)
        tagger = learner.fit(documents, dictionary=dictionary.dictionary_)
        pieces = from_standoff([Standoff("a b c d c", (Mention("X", ((0, 1), (4, 5))),))] * 4)
        CrfTagger(iterations=1, min_count=1, nc="none", gaps="learned").fit(pieces).tag(pieces)
        tagger.save(path)
        loaded = CrfTagger.from_container(read(path))
        loaded.tag(documents), loaded.guesses(documents, 2)
