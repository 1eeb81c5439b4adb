"""The constituency parser of a pack: which brackets are right in trees that were held out, beside a plain PCFG.

A grammar learns from nine tenths of the trees and is measured on the others. The one in the pack has the same settings
and learned from all trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.grammar import Parsed, Pcfg, SpectralGrammar
from corpuscle.measure import bracket_scores, bracket_scores_by
from corpuscle.packs.chapters import grammar as chapter
from corpuscle.packs.heldout import held_sentences
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step, check_enough, naming, wrong_files
from corpuscle.text.brackets import read_brackets
from corpuscle.text.trees import Trees

__all__ = ["GRAMMAR"]

FILE = "models/grammar.model"
SETTINGS = {"method": "spectral", "estimate": "moments", "states": 8}
FEWEST_TREES = 50
"""With fewer, a tenth held out says nothing."""
_LABELS, _EXAMPLES, _LONGEST = 12, 3, 14


def check(job: Job) -> list[InputError]:
    """What is wrong with the file of trees."""
    return wrong_files(read_brackets, [(path,) for path in job.kit.paths("trees")])


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to parse, and measure on trees that were held out."""
    path = job.kit.paths("trees")[0]
    trees = read_brackets(path).without_traces()
    check_enough(path, len(trees), FEWEST_TREES, "tree")
    learner = SpectralGrammar(estimate=settings["estimate"], states=settings["states"], **job.work)
    held, _ = held_sentences(trees.words, job.seed)
    train, test = trees.select(~held), trees.select(held)
    with naming(path):
        measured = learner.replace(**job.crew).fit(train)
        plain = Pcfg(**job.crew).fit(train)
        final = learner.fit(trees)
    final.save(job.pack / FILE)
    found = measured.parse(test.words)
    return {
        "trees": len(trees),
        "words": trees.words.n_tokens,
        "rules": final.provenance_["rules"],
        "held_out": len(test),
        "measures": bracket_scores(test, found.trees, seed=job.seed).to_json(),
        "baseline": bracket_scores(test, plain.parse(test.words).trees, draws=1, seed=job.seed)["labelled_f1"],
        "labels": bracket_scores_by(test, found.trees, "label")[:_LABELS],
        "examples": _examples(test, found),
    }


def _nodes(trees: Trees, sure: np.ndarray | None) -> list[list[Any]]:
    """The nodes of one tree, for a picture."""
    values = [None] * trees.n_nodes if sure is None else [round(float(each), 3) for each in sure]
    rows = zip(trees.labels.strings(), trees.parents.tolist(), trees.spans.tolist(), values, strict=True)
    return [[label, parent, *span, value] for label, parent, span, value in rows]


def _examples(test: Trees, found: Parsed) -> list[dict[str, Any]]:
    """A few short sentences with our tree and the right one: some with mistakes first."""
    right = test.without_functions().without_root()
    lengths = right.words.lengths
    fitting = np.flatnonzero((lengths > 3) & (lengths <= _LONGEST))
    same = np.array([
        np.array_equal(right[i : i + 1].spans, found.trees[i : i + 1].spans) for i in fitting.tolist()
    ], bool)  # fmt: skip
    chosen = fitting[np.lexsort((fitting, same))][:_EXAMPLES]
    starts = found.trees.tree_starts
    return [
        {
            "words": right.words.words(i), "right": _nodes(right[i : i + 1], None),
            "found": _nodes(found.trees[i : i + 1], found.confidence[starts[i] : starts[i + 1]]),
        }
        for i in chosen.tolist()
    ]  # fmt: skip


GRAMMAR = Step(
    name="grammar", title="Constituency parser", version=1, needs=("trees",), writes=(FILE,), run=run,
    report=chapter.report, check=check, settings=SETTINGS, learned="a constituency parser", kernels="corpuscle.grammar",
)  # fmt: skip
