"""The constituency parser of a pack: which brackets are right in held-out trees, compared with a plain PCFG.

A grammar learns from nine tenths of the trees and is measured on the others. The one in the pack has the same settings
and learned from all trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.figures import NodeShown, draw_constituents
from corpuscle.grammar import Parsed, Pcfg, SpectralGrammar
from corpuscle.measure import Result, bracket_scores, bracket_scores_by
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, between, compared, learned_from
from corpuscle.packs.findings import Findings, Table, pick
from corpuscle.packs.heldout import held_sentences
from corpuscle.packs.job import Job
from corpuscle.packs.step import Step, check_enough, checked_by
from corpuscle.text.brackets import read_brackets
from corpuscle.text.html import Html, h3
from corpuscle.text.trees import Trees
from corpuscle.text.wording import counted, percent

FILE = "models/grammar.model"
FEWEST_TREES = 50
"""With fewer, a tenth held out says nothing."""

_LABELS, _EXAMPLES, _LONGEST = 12, 3, 14
_F1 = ("labelled_f1", "labelled_f1_low", "labelled_f1_high")


@dataclass(frozen=True)
class Drawn:
    """A sentence with the tree that was found, and the right one."""

    words: Sequence[str]
    right: Sequence[NodeShown]
    found: Sequence[NodeShown]

    def figure(self) -> Html:
        """Both trees as a picture."""
        same = [node[:4] for node in self.found] == [node[:4] for node in self.right]
        said = "The tree is right." if same else "What only one of the trees has stands out."
        svg = draw_constituents(self.words, self.found, self.right, " ".join(self.words))
        return page.figure(svg, said, natural=True)


@dataclass(frozen=True)
class Parses(Findings):
    """How good a grammar is on ``held_out`` trees; ``baseline``: F1 of a plain PCFG."""

    trees: int
    words: int
    rules: int
    held_out: int
    measures: Result
    baseline: float
    labels: Table
    examples: tuple[Drawn, ...]

    def chapter(self, step: Step) -> Chapter:
        """How many brackets are right, of which labels, and some trees."""
        found, (f1, low, high) = self.measures, pick(self.measures, *_F1).values()
        plain = percent(self.baseline)
        rows = [
            (row["name"], row["gold"], percent(row["precision"]), percent(row["recall"]), percent(row["f1"]))
            for row in self.labels
        ]
        return Chapter(
            headline=f"constituency parser: F1 {percent(f1)} of brackets in unseen sentences",
            figures={
                **pick(self, "trees", "held_out", "rules", "baseline"),
                **pick(found, *_F1, "unlabelled_f1", "exact", "crossing"),
            },
            cards=[Card(
                percent(f1, 0), "F1 of brackets in unseen sentences", f"a plain PCFG: {percent(self.baseline, 0)}"
            )],
            body=[
                learned_from(
                    counted(self.trees, "tree"), "grammar",
                    f"finds {percent(found['labelled_recall'])} of the brackets in "
                    f"{counted(self.held_out, 'sentence')} that it has not seen, and "
                    f"{percent(found['labelled_precision'])} of those it finds are right: F1 {percent(f1)} "
                    f"{between(low, high)}. A plain PCFG of the same trees has {plain}. Without labels it is "
                    f"{percent(found['unlabelled_f1'])}; {percent(found['exact'])} of the trees are right as a whole. "
                    "Only words were given, no tags.", "trees",
                ),
                h3("By label"),
                page.table(("label", "brackets", "precision", "recall", "F1"), rows, (1, 2, 3, 4)),
                *(page.PARSES if self.examples else []),
                *(example.figure() for example in self.examples),
            ],
            commands=[
                ("corpuscle grammar parse {model} TEXT", "parse other sentences"),
                ("corpuscle grammar parse {model} TEXT --confidence > PARSED", "and say how sure each node is"),
                ("corpuscle grammar draw PARSED -o tree.svg --tree 1", "a picture of a tree"),
            ],
            verdict=compared("F1", f1, self.baseline, "a plain PCFG"),
        )  # fmt: skip


def learn(job: Job, settings: Mapping[str, Any]) -> Parses:
    """Learn to parse, and measure on trees that were held out."""
    path = job.kit.paths("trees")[0]
    trees = read_brackets(path).without_traces()
    check_enough(path, len(trees), FEWEST_TREES, "tree")
    learner = SpectralGrammar(estimate=settings["estimate"], states=settings["states"], **job.common)
    grammar, train, test, final = job.measured(
        lambda part: learner.replace().fit(part), trees, held_sentences(trees.words, job.seed)[0], file=FILE, path=path
    )
    found, plain = grammar.parse(test.words), Pcfg(**job.workers).fit(train).parse(test.words)
    return Parses(
        trees=len(trees),
        words=trees.words.n_tokens,
        rules=final.provenance_["rules"],
        held_out=len(test),
        measures=bracket_scores(test, found.trees, seed=job.seed),
        baseline=bracket_scores(test, plain.trees, draws=1, seed=job.seed)["labelled_f1"],
        labels=tuple(bracket_scores_by(test, found.trees, "label")[:_LABELS]),
        examples=_examples(test, found),
    )


def _nodes(trees: Trees, sure: np.ndarray | None = None) -> list[NodeShown]:
    """The nodes of one tree, for a picture."""
    values = [None] * trees.n_nodes if sure is None else [round(float(each), 3) for each in sure]
    rows = zip(trees.labels.strings(), trees.parents.tolist(), trees.spans.tolist(), values, strict=True)
    return [NodeShown(label, parent, first, end, value) for label, parent, (first, end), value in rows]


def _examples(test: Trees, found: Parsed) -> tuple[Drawn, ...]:
    """A few short sentences with our tree and the right one: some with mistakes first."""
    right = test.without_functions().without_root()
    lengths = right.words.lengths
    fitting = np.flatnonzero((lengths > 3) & (lengths <= _LONGEST))
    same = [np.array_equal(right[i : i + 1].spans, found.trees[i : i + 1].spans) for i in fitting.tolist()]
    chosen, starts = fitting[np.lexsort((fitting, np.array(same, bool)))][:_EXAMPLES].tolist(), found.trees.tree_starts
    return tuple(
        Drawn(right.words.words(i), _nodes(right[i : i + 1]),
              _nodes(found.trees[i : i + 1], found.confidence[starts[i] : starts[i + 1]]))
        for i in chosen
    )  # fmt: skip


GRAMMAR = Step(
    name="grammar", title="Constituency parser", version=1, needs=("trees",), writes=(FILE,), learn=learn,
    findings=Parses, check=checked_by(read_brackets, "trees"), learned="a constituency parser",
    settings={"method": "spectral", "estimate": "moments", "states": 8}, kernels="corpuscle.grammar",
)  # fmt: skip
