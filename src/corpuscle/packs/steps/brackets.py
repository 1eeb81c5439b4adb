"""The induced brackets of a pack: which words of a sentence may belong together, learned from text and word classes.

Nobody has annotated anything, so nothing can be measured: what is shown is a hypothesis. The word classes of the pack,
merged until few are left, stand in the place of tags; where punctuation stands says where brackets end.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

import corpuscle
from corpuscle.grammar import TreeMetric, branching, trees_of
from corpuscle.packs.chapters import brackets as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step, check_enough, naming
from corpuscle.packs.steps.word_classes import FILE as CLASSES
from corpuscle.text.treebank import Treebank
from corpuscle.words import class_sources

__all__ = ["BRACKETS"]

FILE = "models/brackets.model"
SETTINGS = {
    "method": "treemetric", "classes": 20, "boundaries": 1.0, "lean": 3.0, "max_length": 30, "sentences": 20_000,
    "rank": 5, "dimensions": 30,
}  # fmt: skip
FEWEST = 1000
"""With fewer sentences, words co-vary by chance."""
_EXAMPLES = 4


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn brackets from the first sentences that are neither too short nor too long."""
    lengths = job.text.lengths
    good = np.flatnonzero((lengths > 2) & (lengths <= settings["max_length"]))[: settings["sentences"]]
    path = job.kit.paths("text")[0]
    check_enough(path, len(good), FEWEST, "sentence", use=f" of 3 to {settings['max_length']} words")
    bank = Treebank.from_sentences(list(job.text.select(good)))
    classes = corpuscle.load(job.pack / CLASSES)
    sources = class_sources(classes.coarsened(min(settings["classes"], classes.n_classes_)))
    model = TreeMetric(
        symbols="classes", top_bracket="learned", **job.work,
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
    return {
        "sentences": model.provenance_["sentences"],
        "words": model.provenance_["words"],
        "classes": model.provenance_["symbols"],
        "confidence": float(inner.mean()) if len(inner) else 1.0,
        "right_branching": float(np.mean(list(same))),
        "examples": _examples(model, part),
    }


def _examples(model: TreeMetric, bank: Treebank) -> list[dict[str, Any]]:
    """The surest of the short sentences, with their trees."""
    lengths = model.sentences(bank).lengths
    short = bank.select((lengths >= 5) & (lengths <= 9))
    if len(short) == 0:
        return []
    trees, sure = trees_of(model.sentences(short), model.brackets(short, confidence=True))
    starts = trees.tree_starts
    inner = trees.spans[:, 1] - trees.spans[:, 0] > 1
    means = [float(sure[a:b][inner[a:b]].mean()) for a, b in pairwise(starts.tolist())]
    rows = []
    for i in np.argsort(-np.array(means), kind="stable")[:_EXAMPLES].tolist():
        one, a = trees[i : i + 1], int(starts[i])
        labels = ["" if label == "W" else label for label in one.labels.strings()]
        spans, parents = one.spans.tolist(), one.parents.tolist()
        values = [round(float(sure[a + j]), 3) for j in range(one.n_nodes)]
        rows.append({
            "words": one.words.words(0),
            "nodes": [[labels[j], parents[j], *spans[j], values[j]] for j in range(one.n_nodes)],
        })  # fmt: skip
    return rows


BRACKETS = Step(
    name="brackets", title="Induced brackets", version=1, needs=("text",), writes=(FILE,), run=run,
    report=chapter.report, check=Job.check_text, settings=SETTINGS, after=("segment", "classes"),
    learned="brackets that nobody has annotated", kernels="corpuscle.grammar",
)  # fmt: skip
