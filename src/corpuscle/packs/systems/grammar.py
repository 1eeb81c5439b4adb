"""The constituency parser of a pack: which brackets are right in held-out trees, compared with a plain PCFG.

A grammar learns from nine tenths of the trees and is measured on the others. The one in the pack has the same settings
and learned from all trees.

The induced brackets of a pack: which words of a sentence may belong together, learned from text and word classes.

Nobody has annotated anything, so nothing can be measured: what is shown is a hypothesis. The word classes of the pack,
merged until few are left, stand in the place of tags; where punctuation stands says where brackets end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import corpuscle
from corpuscle.figures import NodeShown, draw_constituents
from corpuscle.grammar import Pcfg, SpectralGrammar, TreeMetric, branching
from corpuscle.grammar.induction import in_trees, surest
from corpuscle.measure import Result, bracket_scores, bracket_scores_by
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, compared, learned_from, pick
from corpuscle.packs.step import Job, Settings, Step, check_enough, checked_by, declared, naming
from corpuscle.packs.systems.word_classes import FILE as CLASSES
from corpuscle.text.brackets import read_brackets
from corpuscle.text.heldout import held_sentences
from corpuscle.text.html import Html, h3, p
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import counted, percent
from corpuscle.words import class_sources

FILE = "models/grammar.model"
FEWEST_TREES = 50  # with fewer, a tenth held out says nothing
_LABELS, _EXAMPLES, _LONGEST = 12, 3, 14
_F1 = ("labelled_f1", "labelled_f1_low", "labelled_f1_high")


@dataclass(frozen=True)
class Drawn:
    """A sentence with the tree that was found, and the right one."""

    words: Sequence[str]
    right: Sequence[NodeShown]
    found: Sequence[NodeShown]

    def figure(self) -> Html:
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
        found, (f1, low, high) = self.measures, pick(self.measures, *_F1).values()
        plain = percent(self.baseline, 0)
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
            cards=[Card(percent(f1, 0), "F1 of brackets in unseen sentences", f"a plain PCFG: {plain}")],
            body=[
                learned_from(
                    counted(self.trees, "tree"), "grammar",
                    f"finds {percent(found['labelled_recall'])} of the brackets in "
                    f"{counted(self.held_out, 'sentence')} that it has not seen, and "
                    f"{percent(found['labelled_precision'])} of those it finds are right: F1 {percent(f1)} "
                    f"{between(low, high)}. A plain PCFG of the same trees has {percent(self.baseline)}. Without "
                    f"labels it is {percent(found['unlabelled_f1'])}; {percent(found['exact'])} of the trees are right "
                    "as a whole. Only words were given, no tags.", "trees",
                ),
                h3("By label"), page.table(("label", "brackets", "precision", "recall", "F1"), rows, (1, 2, 3, 4)),
                *page.parses(example.figure() for example in self.examples),
            ],
            verdict=compared("F1", f1, self.baseline, "a plain PCFG"),
        )  # fmt: skip


def learn(job: Job, settings: Settings) -> Parses:
    path = job.kit.paths("trees")[0]
    trees = read_brackets(path).without_traces()
    check_enough(path, len(trees), FEWEST_TREES, "tree")
    learner = SpectralGrammar(estimate=settings["estimate"], states=settings["states"], **job.common)
    grammar, train, test, final = job.measured(
        lambda part: learner.replace().fit(part), trees, held_sentences(trees.words, job.seed)[0], file=FILE, path=path
    )
    found, plain = grammar.parse(test.words), Pcfg(**job.workers).fit(train).parse(test.words)
    return Parses(
        trees=len(trees), words=trees.words.n_tokens, rules=final.provenance_["rules"], held_out=len(test),
        measures=bracket_scores(test, found.trees, seed=job.seed),
        baseline=bracket_scores(test, plain.trees, draws=1, seed=job.seed)["labelled_f1"],
        labels=tuple(bracket_scores_by(test, found.trees, "label")[:_LABELS]),
        examples=tuple(Drawn(*each) for each in in_trees(test, found, _LONGEST, _EXAMPLES)),
    )  # fmt: skip


GRAMMAR = declared("grammar", 1, (FILE,), learn, Parses, check=checked_by(trees=read_brackets))


BRACKETS_FILE = "models/brackets.model"
FEWEST_SENTENCES = 1000  # with fewer sentences, words co-vary by chance
_INDUCED = 4


@dataclass(frozen=True)
class Induced:
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
    examples: tuple[Induced, ...]

    def chapter(self, step: Step) -> Chapter:
        sentences = counted(self.sentences, "sentence")
        figures = [
            page.figure(draw_constituents(each.words, each.nodes, None, " ".join(each.words)), natural=True)
            for each in self.examples
        ]
        return Chapter(
            headline=f"induced brackets, a hypothesis: from {sentences} without trees",
            figures=pick(self, "sentences", "words", "classes", "confidence", "right_branching"), cards=[],
            body=[
                p("Which words belong together? Nobody has told the computer: words whose neighbours vary together "
                  "are taken to be near in a tree, and a bracket is likely to end where punctuation often stands "
                  f"between such words. {counted(self.classes, 'word class', 'word classes')} stood in the place of "
                  "tags. This is a hypothesis about how sentences are built, not an annotation: look at it, and "
                  f"test it. A bracket is held to be {percent(self.confidence, 0)} likely on average, by a model "
                  f"that may be wrong; {percent(self.right_branching, 0)} of the trees just branch to the right."),
                *([h3("Trees of short sentences"), p("The fainter a node, the less sure."), *figures] * bool(figures)),
            ],
            verdict=f"A hypothesis from {sentences} without trees: nothing to measure it by. "
            f"{percent(self.right_branching, 0)} of the trees just branch to the right, as a blind guess would.",
        )  # fmt: skip


def induce(job: Job, settings: Settings) -> Bracketed:
    """Learn brackets from the first sentences that are neither too short nor too long."""
    lengths = job.text.lengths
    good = np.flatnonzero((lengths > 2) & (lengths <= settings["max_length"]))[: settings["sentences"]]
    path = job.kit.paths("text")[0]
    check_enough(path, len(good), FEWEST_SENTENCES, "sentence", use=f" of 3 to {settings['max_length']} words")
    bank = Treebank.from_sentences(list(job.text.select(good)))
    classes = corpuscle.load(job.pack / CLASSES)
    sources = class_sources(classes.coarsened(min(settings["classes"], classes.n_classes_)))
    model = TreeMetric(
        symbols="classes", top_bracket="learned", **job.common,
        **{name: settings[name] for name in ("boundaries", "lean", "max_length", "rank", "dimensions")},
    )  # fmt: skip
    with naming(path):
        model.fit(bank, sources=sources)
    model.save(job.pack / BRACKETS_FILE)
    part = bank[:1000]
    found, words = model.brackets(part, confidence=True), model.sentences(part).lengths
    right = branching("right", words, np.ones(len(words), np.int64))
    same = (np.array_equal(a, b) for a, b in zip(found.lists(words), right.lists(words), strict=True))
    inner = found.shares[found.spans[:, 1] - found.spans[:, 0] < np.repeat(words, np.maximum(words - 1, 0))]
    return Bracketed(
        sentences=model.provenance_["sentences"], words=model.provenance_["words"],
        classes=model.provenance_["symbols"], confidence=float(inner.mean()) if len(inner) else 1.0,
        right_branching=float(np.mean(list(same))),
        examples=tuple(Induced(*each) for each in surest(model, part, _INDUCED)),
    )  # fmt: skip


BRACKETS = declared("brackets", 1, (BRACKETS_FILE,), induce, Bracketed, check=Job.check_text)
