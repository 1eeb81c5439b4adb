"""Compiling ahead: all kernels of word segmentation, on a few letters."""

from __future__ import annotations

import os
import tempfile

from corpuscle.model import read
from corpuscle.segment.baselines import DirichletSegmenter
from corpuscle.segment.npylm import NestedSegmenter
from corpuscle.text.corpus import Corpus
from corpuscle.text.plain import warm as warm_text

__all__ = ["warm"]


def warm() -> None:
    """Compile the kernels of this task by running them on a few letters."""
    warm_text()
    text = Corpus.from_sentences([["abab"], ["ab", "a"], ["abba"]])
    DirichletSegmenter(sweeps=1, workers=1).fit(text)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        for mh in True, False:
            model = NestedSegmenter(sweeps=2, mh=mh, workers=1)
            with model.checkpoint(text, None, path) as checkpoint:
                checkpoint.every = 0.0
                model.fit(text, checkpoint=checkpoint).save(path)
        loaded = NestedSegmenter.from_container(read(path))
        loaded.segment(text)
        loaded.posterior(text, draws=2)
        loaded.perplexity(text, draws=10)
        loaded.lexicon()
        loaded.next_words(text)
        list(loaded.sample(2, max_length=5))
