"""The word classes of a pack: words that are used alike, found by the exchange algorithm.

The number of classes is the square root of the number of words that occur at least twice, at least 2 and at most 1,000:
few enough that each is seen often, many enough to be more than parts of speech, and the time stays proportional to the
text. The classes are learned from the whole text; there is nothing to tune, and so nothing is held out.

Exchange finds classes of higher mutual information than Brown clustering in the same time; the class tree, which Brown
clustering is liked for, comes from merging the classes that were found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.packs.chapters import word_classes as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import clip
from corpuscle.words import ExchangeClasses, tree_shown

__all__ = ["WORD_CLASSES", "number_of_classes"]

FILE = "models/classes.model"
SETTINGS = {"method": "exchange", "classes": "square root of the words that occur at least twice"}
_MOST_CLASSES = 1000
_WORDS_SHOWN = 12
_LEAVES = 40
"""So many classes the picture of the tree has at most."""


def number_of_classes(counts: np.ndarray) -> int:
    """The rule: from the counts of all words, how many classes.

    >>> number_of_classes(np.array([1] * 500 + [2] * 400))
    20
    """
    frequent = int((np.asarray(counts) >= 2).sum())
    return min(_MOST_CLASSES, len(counts), max(2, round(math.sqrt(frequent))))


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn the classes of all words of the text."""
    text = job.text
    model = ExchangeClasses(classes=number_of_classes(text.vocab.counts[FIRST:]), **job.work)
    job.fit(model, text, name=FILE, save=True)
    sizes = np.bincount(model.classes_[FIRST:], minlength=model.n_classes_)
    counts = model.class_counts_
    classes = [
        {
            "class": number,
            "types": int(sizes[number]),
            "count": int(counts[number]),
            "share": float(counts[number] / text.n_tokens),
            "words": [clip(word) for word, _ in model.words_of(number, _WORDS_SHOWN)],
        }
        for number in range(model.n_classes_)
    ]
    return {
        "classes": classes,
        "types": len(text.vocab) - FIRST,
        "mutual_information_bits": model.mutual_information_ / math.log(2),
        "passes": len(model.history_) - 1,
        "tree": tree_shown(model.coarsened(min(_LEAVES, model.n_classes_)), _WORDS_SHOWN),
    }


WORD_CLASSES = Step(
    name="classes", title="Word classes", version=3, needs=("text",), writes=(FILE,), run=run, report=chapter.report,
    check=Job.check_text, settings=SETTINGS, after=("segment",), kernels="corpuscle.words",
)  # fmt: skip
