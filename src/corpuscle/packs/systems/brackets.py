"""The induced brackets of a pack: which words of a sentence may belong together, learned from text and word classes.

Nobody has annotated anything, so nothing can be measured: what is shown is a hypothesis. The word classes of the pack,
merged until few are left, stand in the place of tags; where punctuation stands says where brackets end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import corpuscle
from corpuscle.figures import NodeShown, draw_constituents
from corpuscle.grammar import TreeMetric, branching, trees_of
from corpuscle.packs import page
from corpuscle.packs.chapter import Chapter
from corpuscle.packs.findings import Findings, pick
from corpuscle.packs.job import Job
from corpuscle.packs.step import Step, check_enough, naming
from corpuscle.packs.systems.word_classes import FILE as CLASSES
from corpuscle.text.html import h3, p
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import counted, percent
from corpuscle.words import class_sources

FILE = "models/brackets.model"
SETTINGS = {
    "method": "treemetric", "classes": 20, "boundaries": 1.0, "lean": 3.0, "max_length": 30, "sentences": 20_000,
    "rank": 5, "dimensions": 30,
}  # fmt: skip
FEWEST = 1000
"""With fewer sentences, words co-vary by chance."""
_EXAMPLES = 4


@dataclass(frozen=True)
class Drawn:
    """A sentence with its tree."""

    words: Sequence[str]
    nodes: Sequence[NodeShown]


@dataclass(frozen=True)
class Bracketed(Findings):
    """How much was read, how sure inner brackets are on average, and how many trees just branch to the right."""

    sentences: int
    words: int
    classes: int
    confidence: float
    right_branching: float
    examples: tuple[Drawn, ...]

    def chapter(self, step: Step) -> Chapter:
        """Some trees, and why they are a hypothesis."""
        sentences = counted(self.sentences, "sentence")
        figures = [
            page.figure(draw_constituents(each.words, each.nodes, None, " ".join(each.words)), natural=True)
            for each in self.examples
        ]
        return Chapter(
            headline=f"induced brackets, a hypothesis: from {sentences} without trees",
            figures=pick(self, "sentences", "words", "classes", "confidence", "right_branching"),
            cards=[],
            body=[
                p(
                    "Which words belong together? Nobody has told the computer: words whose neighbours vary together "
                    "are taken to be near in a tree, and a bracket is likely to end where punctuation often stands "
                    f"between such words. {counted(self.classes, 'word class', 'word classes')} stood in the place of "
                    "tags. This is a hypothesis about how sentences are built, not an annotation: look at it, and "
                    f"test it. A bracket is held to be {percent(self.confidence, 0)} likely on average, by a model "
                    f"that may be wrong; {percent(self.right_branching, 0)} of the trees just branch to the right."
                ),
                *([h3("Trees of short sentences"), p("The fainter a node, the less sure."), *figures] * bool(figures)),
            ],
            commands=[
                ("corpuscle grammar parse {model} TEXT --confidence > PARSED", "brackets of other sentences"),
                ("corpuscle grammar draw PARSED -o tree.svg --tree 1", "a picture of a tree"),
                ("corpuscle grammar induce TAGGED -o brackets.model", "from words with tags: usually better"),
            ],
            verdict=f"A hypothesis from {sentences} without trees: nothing to measure it by. "
            f"{percent(self.right_branching, 0)} of the trees just branch to the right, as a blind guess would.",
        )


def learn(job: Job, settings: Mapping[str, Any]) -> Bracketed:
    """Learn brackets from the first sentences that are neither too short nor too long."""
    lengths = job.text.lengths
    good = np.flatnonzero((lengths > 2) & (lengths <= settings["max_length"]))[: settings["sentences"]]
    path = job.kit.paths("text")[0]
    check_enough(path, len(good), FEWEST, "sentence", use=f" of 3 to {settings['max_length']} words")
    bank = Treebank.from_sentences(list(job.text.select(good)))
    classes = corpuscle.load(job.pack / CLASSES)
    sources = class_sources(classes.coarsened(min(settings["classes"], classes.n_classes_)))
    model = TreeMetric(
        symbols="classes", top_bracket="learned", **job.common,
        **{name: settings[name] for name in ("boundaries", "lean", "max_length", "rank", "dimensions")},
    )  # fmt: skip
    with naming(path):
        model.fit(bank, sources=sources)
    model.save(job.pack / FILE)
    part = bank[:1000]
    found, words = model.brackets(part, confidence=True), model.sentences(part).lengths
    right = branching("right", words, np.ones(len(words), np.int64))
    same = (np.array_equal(a, b) for a, b in zip(found.lists(words), right.lists(words), strict=True))
    inner = found.shares[found.spans[:, 1] - found.spans[:, 0] < np.repeat(words, np.maximum(words - 1, 0))]
    return Bracketed(
        sentences=model.provenance_["sentences"],
        words=model.provenance_["words"],
        classes=model.provenance_["symbols"],
        confidence=float(inner.mean()) if len(inner) else 1.0,
        right_branching=float(np.mean(list(same))),
        examples=_examples(model, part),
    )


def _examples(model: TreeMetric, bank: Treebank) -> tuple[Drawn, ...]:
    """The surest of the short sentences, with their trees."""
    lengths = model.sentences(bank).lengths
    short = bank.select((lengths >= 5) & (lengths <= 9))
    if len(short) == 0:
        return ()
    trees, sure = trees_of(model.sentences(short), model.brackets(short, confidence=True))
    starts = trees.tree_starts
    inner = trees.spans[:, 1] - trees.spans[:, 0] > 1
    means = [float(sure[a:b][inner[a:b]].mean()) for a, b in pairwise(starts.tolist())]
    rows = []
    for i in np.argsort(-np.array(means), kind="stable")[:_EXAMPLES].tolist():
        one, values = trees[i : i + 1], sure[starts[i] : starts[i + 1]].tolist()
        labels = ["" if label == "W" else label for label in one.labels.strings()]
        nodes = zip(labels, one.parents.tolist(), one.spans.tolist(), values, strict=True)
        shown = [NodeShown(label, parent, a, b, round(value, 3)) for label, parent, (a, b), value in nodes]
        rows.append(Drawn(one.words.words(0), shown))
    return tuple(rows)


BRACKETS = Step(
    name="brackets", title="Induced brackets", version=1, needs=("text",), writes=(FILE,), learn=learn,
    findings=Bracketed, check=Job.check_text, settings=SETTINGS, after=("segment", "classes"),
    learned="brackets that nobody has annotated", kernels="corpuscle.grammar",
)  # fmt: skip
