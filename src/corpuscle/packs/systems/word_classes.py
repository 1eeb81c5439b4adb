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
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.figures import LeafShown, merge_tree
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, pick
from corpuscle.packs.step import Job, Settings, Step, declared
from corpuscle.text.html import element, h3, p
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import clip, counted, percent
from corpuscle.words import ExchangeClasses, tree_shown

FILE = "models/classes.model"
_MOST_CLASSES, _WORDS_SHOWN, _BARS, _SHOWN = 1000, 12, 10, 24
_LEAVES = 40  # the picture of the tree has at most this number of classes


def number_of_classes(counts: np.ndarray) -> int:
    """The rule: from the counts of all words, how many classes.

    >>> number_of_classes(np.array([1] * 500 + [2] * 400))
    20
    """
    frequent = int((np.asarray(counts) >= 2).sum())
    return min(_MOST_CLASSES, len(counts), max(2, round(math.sqrt(frequent))))


@dataclass(frozen=True)
class Classes(Findings):
    """All classes, the largest first, with their most frequent words and share of the text, and their tree."""

    classes: Table
    types: int
    mutual_information_bits: float
    passes: int
    tree: Mapping[str, Any]

    def chapter(self, step: Step) -> Chapter:
        classes, bits = self.classes, self.mutual_information_bits
        leaves = [LeafShown(*leaf) for leaf in self.tree["leaves"]]
        grouped, types = counted(len(classes), "class", "classes"), counted(self.types, "word")
        half = 1 + int(np.searchsorted(np.cumsum([c["share"] for c in classes]), 0.5))
        cards = [
            page.card(
                element("h4", f"{percent(c['share'])} of the text · {counted(c['types'], 'word')}"),
                p(page.words(c["words"]), " …" if c["types"] > len(c["words"]) else "", dir="auto", translate="no"),
            )
            for c in classes
        ]
        if len(cards) > _SHOWN:
            folded = element("summary", f"{len(cards) - _SHOWN} smaller classes"), page.grid(cards[_SHOWN:])
            cards[_SHOWN:] = [element("details", *folded)]
        cut = f" The tree is cut where {len(leaves)} are left." if len(leaves) < len(classes) else ""
        return Chapter(
            headline=f"word classes: {grouped} of {types}",
            figures={"classes": len(classes), **pick(self, "types", "mutual_information_bits")},
            cards=[Card(f"{bits:.1f} bits", f"that a class tells about the next one; {grouped}", "by chance: 0")],
            body=[
                p("Words of one class stand in similar places: the words before and after them belong to the same "
                  "classes. Nobody told the computer what a noun or an ending is; many classes will still look like "
                  "parts of speech, paradigm cells, or topics. Rare words are placed by little evidence: trust the "
                  "first ones of a class most."),
                p(f"The largest class has {percent(classes[0]['share'])} of the text. Knowing the class of a word "
                  f"tells {bits:.2f} bits about the class of the next. The number of classes follows a rule (the "
                  f"{step.settings['classes']}); the last command below learns another number of them."),
                page.plots([page.bars(
                    [(clip(" ".join(c["words"][:2]), 24), round(100 * c["share"], 1)) for c in classes[:_BARS]],
                    f"{half} of {grouped} cover half of the text.", title="The largest classes",
                    value_label="% of the text; named by the two most frequent words",
                )]),
                h3("The class tree"),
                p("Classes that are used alike come together first: those two are merged, again and again, whose "
                  f"merger loses the least of what a class tells about the next.{cut} The string of zeros and ones "
                  "is the way from the left to a class; its beginnings are coarser classes, for taggers and parsers "
                  "that want features of several grains."),
                page.plots([page.figure(merge_tree(leaves, self.tree["merges"], self.tree["values"]), natural=True)]),
                h3("All classes, the largest first"), page.grid(cards),
            ],
            verdict=f"The class of a word tells {bits:.1f} bits about the class of the next one; 0 would be chance. "
            f"{types} were placed, the rare ones by little evidence.",
        )  # fmt: skip


def learn(job: Job, settings: Settings) -> Classes:
    text = job.text
    model = ExchangeClasses(classes=number_of_classes(text.vocab.counts[FIRST:]), **job.common)
    job.fit(model, text, name=FILE, save=True)
    sizes, counts = np.bincount(model.classes_[FIRST:], minlength=model.n_classes_), model.class_counts_
    classes = [
        {
            "class": number, "types": int(sizes[number]), "count": int(counts[number]),
            "share": float(counts[number] / text.n_tokens),
            "words": [clip(word) for word, _ in model.words_of(number, _WORDS_SHOWN)],
        }
        for number in range(model.n_classes_)
    ]  # fmt: skip
    tree = tree_shown(model.coarsened(min(_LEAVES, model.n_classes_)), _WORDS_SHOWN)
    bits, passes = model.mutual_information_ / math.log(2), len(model.history_) - 1
    return Classes(tuple(classes), len(text.vocab) - FIRST, bits, passes, tree)


WORD_CLASSES = declared("classes", 3, (FILE,), learn, Classes, check=Job.check_text)
