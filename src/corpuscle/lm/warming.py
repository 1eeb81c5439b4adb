"""Compiling ahead of first use."""

from __future__ import annotations

import os
import tempfile
import warnings

import numpy as np

from corpuscle.engine.ngrams.merging import merge_ngrams
from corpuscle.engine.ngrams.spilling import Spilled, merge_spilled
from corpuscle.engine.ngrams.trie import look_up
from corpuscle.errors import CorpuscleWarning
from corpuscle.lm.arpa import read_arpa, write_arpa
from corpuscle.lm.cache import CacheModel
from corpuscle.lm.hmm import HmmModel
from corpuscle.lm.loglinear import LogLinearModel
from corpuscle.lm.ngram import NgramModel
from corpuscle.lm.pitman_yor import HpyModel
from corpuscle.lm.plre import PlreModel
from corpuscle.model import read
from corpuscle.text.corpus import Corpus
from corpuscle.text.plain import warm as warm_text

__all__ = ["warm"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few words."""
    warm_text()
    corpus = Corpus.from_sentences([["a", "b", "a"], ["b", "c"], ["a"]])
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        for settings in ({}, {"boundary": "none"}, {"method": "backoff-mkn"}, {"prune": (0, 1), "entropy": 1e-9}):
            model = NgramModel(order=3, min_count=1, **settings).fit(corpus)
            if model.ngrams_ is not None:
                merge_ngrams(model.ngrams_, model.ngrams_)
                merge_spilled([Spilled(model.ngrams_, 1, folder)] * 2, folder)
                look_up(model.ngrams_, np.array([[3, 4]]))
            model.save(path)
            loaded = NgramModel.from_container(read(path))
            loaded.perplexity(corpus, draws=10)
            loaded.next_words(["a"])  # lays the model out, so that from now on it scores otherwise
            loaded.perplexity(corpus, draws=10)
        NgramModel(order=2, min_count=1).fit(corpus, dev=corpus)
        PlreModel(order=3, min_count=1, ranks=(2,), lower="mass").fit(corpus).perplexity(corpus, draws=10)
        cache = CacheModel(min_count=1).fit(corpus)
        cache.perplexity(corpus, draws=10)
        cache.next_words(["a"])
        for order in (2, "infinite"):
            sampled = HpyModel(order=order, sweeps=2, samples=1, min_count=1).fit(corpus)
            sampled.perplexity(corpus, draws=10)
            sampled.next_words(["a"])
            with sampled.checkpoint(corpus, path) as checkpoint:
                checkpoint.every = 0.0
                sampled.fit(corpus, checkpoint=checkpoint)
        for estimator in "hkz", "em":
            hidden = HmmModel(states=1, estimator=estimator, min_count=1, pool=1).fit(corpus)
            hidden.perplexity(corpus, draws=10)
        common = LogLinearModel(order=2, passes=1, min_count=1)
        for made in (
            common.replace(penalty="l1", signed=2),
            common,
            common.replace(penalty="tree-linf", estimator="stochastic"),
            common.replace(penalty="tree-linf", boundary="none", weighted=0.9, weighting="node"),
        ):
            with made.checkpoint(corpus, path) as checkpoint:
                made.fit(corpus, corpus, checkpoint=checkpoint).save(path)
            begun = LogLinearModel.from_container(read(path))
            begun.perplexity(corpus, draws=10)
            common.replace(order=3).fit(corpus, start=begun)
        write_arpa(model, path)
        read_arpa(path)
