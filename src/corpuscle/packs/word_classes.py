"""The word classes of a pack: words that are used alike, found by the exchange algorithm.

The number of classes is the square root of the number of words that occur at least twice, at least 2 and at most
1,000: few enough that each is seen often, many enough to be more than parts of speech, and the time stays
proportional to the text. The classes are learned from the whole text; there is nothing to tune, and so nothing is
held out.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.figures import bar_plot
from corpuscle.packs import page
from corpuscle.packs.step import Chapter, Findings, Job, Step, unfinished
from corpuscle.text.vocab import FIRST
from corpuscle.words import ExchangeClasses

__all__ = ["WORD_CLASSES", "number_of_classes"]

FILE = "models/classes.model"
SETTINGS = {"method": "exchange", "classes": "square root of the words that occur at least twice"}
_MOST_CLASSES = 1000
_WORDS_SHOWN, _BARS, _CLASSES_SHOWN = 12, 10, 24


def number_of_classes(counts: np.ndarray) -> int:
    """The rule: from the counts of all words, how many classes.

    >>> number_of_classes(np.array([1] * 500 + [2] * 400))
    20
    """
    frequent = int((np.asarray(counts) >= 2).sum())
    return min(_MOST_CLASSES, len(counts), max(2, round(math.sqrt(frequent))))


def _run(job: Job, settings: Mapping[str, Any]) -> Findings:
    text, path = job.text, job.pack / FILE
    model = ExchangeClasses(classes=number_of_classes(text.vocab.counts[FIRST:]), seed=job.seed, workers=job.workers)
    with unfinished(lambda resume: model.checkpoint(text, path, resume), path) as checkpoint:
        model.fit(text, checkpoint=checkpoint)
        model.save(path)
    sizes = np.bincount(model.classes_[FIRST:], minlength=model.n_classes_)
    counts = model.class_counts_
    classes = [
        {
            "class": number,
            "types": int(sizes[number]),
            "count": int(counts[number]),
            "share": float(counts[number] / text.n_tokens),
            "words": [page.clip(word) for word, _ in model.words_of(number, _WORDS_SHOWN)],
        }
        for number in range(model.n_classes_)
    ]
    return {
        "classes": classes,
        "types": len(text.vocab) - FIRST,
        "mutual_information_bits": model.mutual_information_ / math.log(2),
        "passes": len(model.history_) - 1,
        "bytes": path.stat().st_size,
    }


def _report(findings: Findings, pack: str) -> Chapter:
    model = shlex.quote(f"{pack}/{FILE}")
    classes = findings["classes"]
    grouped = page.counted(len(classes), "class", "classes")
    half = 1 + int(np.searchsorted(np.cumsum([c["share"] for c in classes]), 0.5))
    cards = [
        f'<div class="class"><h4>{page.percent(c["share"])} of the text · {page.counted(c["types"], "word")}</h4>'
        f'<p dir="auto" translate="no">{page.words(c["words"])}{" …" if c["types"] > len(c["words"]) else ""}</p></div>'
        for c in classes
    ]
    names = [page.clip(" ".join(c["words"][:2]), 24) for c in classes[:_BARS]]
    plot = page.figure(
        bar_plot(
            names,
            [round(100 * c["share"], 1) for c in classes[:_BARS]],
            title="The largest classes",
            value_label="% of the text; named by the two most frequent words",
        ),
        f"{half} of {grouped} cover half of the text.",
    )
    return Chapter(
        headline=f"word classes: {grouped} of {page.counted(findings['types'], 'word')}",
        figures={
            "classes": len(classes),
            "types": findings["types"],
            "mutual_information_bits": findings["mutual_information_bits"],
        },
        cards=[(page.count(len(classes)), "word classes")],
        body=page.paragraph(
            "Words of one class stand in similar places: the words before and after them belong to the same classes. "
            "Nobody told the computer what a noun or an ending is; many classes will still look like parts of speech, "
            "paradigm cells, or topics. Rare words are placed by little evidence: trust the first ones of a class most."
        )
        + page.paragraph(
            f"The largest class has {page.percent(classes[0]['share'])} of the text. Knowing the class of a word tells "
            f"{findings['mutual_information_bits']:.2f} bits about the class of the next. The number of classes "
            f"follows a rule (the {SETTINGS['classes']}); the last command below learns another number of them."
        )
        + page.plots([plot])
        + '<h3>All classes, the largest first</h3><div class="grid">'
        + page.long_list(cards, _CLASSES_SHOWN, f"{len(cards) - _CLASSES_SHOWN} smaller classes")
        + "</div>",
        commands=[
            (f"corpuscle classes show {model}", "the classes with their words"),
            (f"corpuscle classes export {model}", "a list of words with their classes"),
            ("corpuscle classes train TEXT -o classes.model --classes 50", "classes of another grain"),
        ],
    )


WORD_CLASSES = Step(
    name="classes",
    title="Word classes",
    version=2,
    needs=("text",),
    writes=(FILE,),
    run=_run,
    report=_report,
    settings=SETTINGS,
    after=("segment",),
    kernels="corpuscle.words",
)
