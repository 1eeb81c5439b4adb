"""Compiling ahead of first use."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.plain import warm as warm_text
from corpuscle.topics.ngram import NgramTopicModel
from corpuscle.topics.products import mark
from corpuscle.topics.reading import DocumentReader
from corpuscle.topics.rescaling import RescalingModel

__all__ = ["warm", "warm_defaults"]


def _tiny() -> Corpus:
    return Corpus.from_sentences([["a", "b", "a"], ["b", "c"], ["a"]]).with_documents(np.array([0, 2, 3]))


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    warm_defaults()
    corpus = _tiny()
    rescaled = RescalingModel(topics=2, order=3, sweeps=2, word_sweeps=2, samples=1, min_count=1).fit(corpus)
    rescaled.perplexity(corpus, draws=10)
    with tempfile.TemporaryDirectory() as folder:
        rescaled.save(os.path.join(folder, "model"))


def warm_defaults() -> None:
    """Compile what the default method needs."""
    warm_text()
    corpus = _tiny()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        sampled = NgramTopicModel(topics=2, order=2, sweeps=2, min_count=1)
        with sampled.checkpoint(corpus, path) as checkpoint:
            checkpoint.every = 0.0
            sampled.fit(corpus, checkpoint=checkpoint)
        mark(sampled, corpus)
        DocumentReader(sampled).observe("a")
        sampled.perplexity(corpus, draws=10, rejuvenate=True)
