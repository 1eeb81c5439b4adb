"""Compiling ahead: all kernels of transliteration, on a few made-up names."""

from __future__ import annotations

import os
import tempfile
import warnings

import numpy as np

from corpuscle.errors import CorpuscleWarning
from corpuscle.measure import news_measures
from corpuscle.model import read
from corpuscle.random import Random
from corpuscle.text.alignments import Alignments
from corpuscle.text.pairs import Pair
from corpuscle.transliterate.links import repair
from corpuscle.transliterate.phrase import PhraseTransliterator

__all__ = ["warm", "warm_defaults"]


def warm() -> None:
    """Compile every kernel of this task by running it on a few made-up names."""
    _warm(("bleu", "fscore", "likelihood"))


def warm_defaults() -> None:
    """Compile what the default settings need."""
    _warm(("likelihood",))


def _warm(metrics: tuple[str, ...]) -> None:
    names = ["".join(Random(1, "warm", 0, i).choice("abc") for _ in range(3 + i % 3)) for i in range(60)]
    pairs = [Pair(name, (name.replace("c", "ks"),)) for name in names]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", CorpuscleWarning)
        path = os.path.join(folder, "model")
        for metric in metrics:
            model = PhraseTransliterator(metric=metric, restarts=0, rounds=1, tuning_nbest=3).fit(pairs)
        crossed = Alignments.from_pairs([[(0, 0)] for _ in range(len(model.bitext_))])
        repair(crossed, model.bitext_)
        model.save(path)
        loaded = PhraseTransliterator.from_container(read(path))
        loaded.transliterate(["abc"])
        found = loaded.transliterate(["abc"], n_best=3, sum=True)
        news_measures([[candidate.target for candidate in found[0]]], [["abks"]], draws=2)
        assert np.isfinite(loaded.weights_).all()
