"""The dependency parser of a pack: how often heads and relations are right, with how many trees, and what goes wrong.

Parsers of a quarter, a half and all of nine tenths of the trees are measured on the tenth that none of them
has seen. Then one is learned from all trees, with the same settings: that is the one in the pack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.figures import Series, draw_arcs, line_plot
from corpuscle.measure import Result, attachment_by
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, between, grade, learned_from
from corpuscle.packs.findings import Findings, Table, pick
from corpuscle.packs.job import Job
from corpuscle.packs.step import LeftOut, Step, check_enough, naming
from corpuscle.parse import MstParser, learning_curve
from corpuscle.text.html import Html
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import counted, percent

FILE = "models/parser.model"
FEWEST_SENTENCES = 50
"""With fewer, a tenth held out says nothing."""

_RELATIONS, _EXAMPLES, _LONGEST = 12, 3, 14
_ENDS = ("", "_low", "_high")
_RARE = 5
"""Relations that the held-out trees have less often are not judged."""


@dataclass(frozen=True)
class Drawn:
    """A sentence with the tree that was found, how sure each arc is, and the heads that are right, if anybody knows."""

    words: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str]
    confidence: Sequence[float]
    right: Sequence[int] | None = None

    def figure(self, title: str = "") -> Html:
        """Both trees as a picture."""
        wrong = sum(a != b for a, b in zip(self.heads, self.right or self.heads, strict=True))
        said = f"{counted(wrong, 'head')} of {len(self.heads)} wrong." if wrong else "All heads are right."
        svg = draw_arcs(
            self.words, self.heads, self.relations, confidence=self.confidence, other=self.right,
            title=title or " ".join(self.words),
        )  # fmt: skip
        return page.figure(svg, said if self.right is not None else "", natural=True)


@dataclass(frozen=True)
class Parsed(Findings):
    """How good a parser is on ``held_out`` sentences, its ``worst`` relations, and some parses; ``crossing``: whether
    its arcs may cross; ``curve``: from how many trees, heads and heads with relations right, each with its interval."""

    sentences: int
    words: int
    held_out: int
    crossing: bool
    measures: Result
    curve: tuple[tuple[float, ...], ...]
    worst: Table
    examples: tuple[Drawn, ...]

    def chapter(self, step: Step) -> Chapter:
        """How often the parser is right, by how many trees, which relations are hard, and some parses."""
        found, (fewest, less_right, *_), last = self.measures, self.curve[0], self.curve[-1]
        uas, words = found["uas"], int(found["words"])
        less = grows = ""
        if len(self.curve) > 1:
            trees, was = counted(int(fewest), "sentence"), percent(less_right, 0)
            less, gained = f"learned from {trees}: {was}", last[1] - less_right
            helps = "helps" if gained > 0.02 else "would hardly help"
            grows = f"; with {trees} it was {was}, so more annotation {helps}"
        how = grade(uas, (0.85, "Good"), (0.7, "Usable"), (0, "Weak"))
        rows = [(row["name"], row["words"], percent(row["uas"]), percent(row["las"])) for row in self.worst]
        return Chapter(
            headline=f"parser: {percent(uas)} of {counted(words, 'unseen word')} get the right head",
            figures={
                **pick(self, "sentences", "held_out"),
                **pick(found, "uas", "uas_low", "uas_high", "las", "las_low", "las_high", "complete"),
            },
            cards=[Card(percent(uas, 0), "heads right in unseen sentences", less)],
            body=[
                learned_from(
                    f"{counted(self.sentences, 'sentence')} with trees", "parser",
                    f"finds the right head of {percent(uas)} of the {counted(words, 'word')} in "
                    f"{counted(self.held_out, 'sentence')} that it has not seen "
                    f"{between(found['uas_low'], found['uas_high'])}, and the right relation to it, too, of "
                    f"{percent(found['las'])} ({percent(found['las_low'])} to {percent(found['las_high'])}); "
                    f"{percent(found['complete'])} of the sentences are right as a whole. Part-of-speech tags were "
                    f"those of the file. Arcs {'may' if self.crossing else 'do not'} cross.", "trees",
                ),
                self._course(),
                *page.titled(
                    "The hardest relations", ("relation", "words", "right heads", "right heads and relations"), rows,
                    (1, 2, 3),
                ),
                *(page.PARSES if self.examples else []),
                *(example.figure() for example in self.examples),
            ],
            commands=[
                ("corpuscle parse apply {model} TAGGED.conllu --confidence", "parse other tagged sentences"),
                ("corpuscle parse apply {model} TAGGED.conllu --nbest 5", "the five best trees of each"),
                ("corpuscle parse draw PARSED.conllu -o tree.svg --sentence 1", "a picture of a tree"),
            ],
            verdict=f"{how}: {percent(uas, 0)} of the words of unseen sentences have the right head{grows}.",
        )  # fmt: skip

    def _course(self) -> Html:
        """The learning curve."""
        if len(self.curve) < 2:
            return page.plots([])
        sizes, *columns = zip(*self.curve, strict=True)
        shares = [[100 * share for share in column] for column in columns]
        series = [Series("heads", sizes, *shares[:3]), Series("heads and relations", sizes, *shares[3:])]
        plot = line_plot(
            series, title="How good with how many trees", x_label="training sentences", y_label="% right", log_x=True,
            x_ticks=sizes,
        )  # fmt: skip
        gained = columns[0][-1] - columns[0][-2]
        more = f"The last doubling of the trees brought {100 * gained:.1f} points of heads"
        hint = "more trees would go on helping" if gained > 0.005 else "more trees of this kind would help little"
        return page.plots([page.figure(plot, f"{more}; {hint}.")])


def learn(job: Job, settings: Mapping[str, Any]) -> Parsed:
    """Learn to parse, and measure on trees that were held out."""
    path, bank = job.kit.paths("tagged")[0], job.trees
    check_enough(path, len(bank), FEWEST_SENTENCES, "annotated sentence")
    if (bank.heads < 0).all():
        raise LeftOut(path, None, "the words have no heads")
    with naming(path):
        bank.check_trees()
        single = bool((np.add.reduceat(bank.heads == 0, bank.corpus.sentence_starts[:-1]) == 1).all())
        learner = MstParser(order=settings["order"], single_root=single, **job.common)
        train, held = job.split_trees
        points = list(learning_curve(learner, train, held, settings["points"]))
        final = job.fit(learner.replace(), bank, name=FILE, save=True)
    found, measures = points[-1].parser.annotate(held, confidence=True), points[-1].result
    rows = [row for row in attachment_by(held, found, "relation") if float(row["words"]) >= _RARE]
    named = final.provenance_["relations"] > 0
    return Parsed(
        sentences=len(bank),
        words=bank.corpus.n_tokens,
        held_out=len(held),
        crossing=final.crossing_,
        measures=measures,
        curve=tuple((each.sentences, *(each.result[f"{name}{end}"] for name in ("uas", "las") for end in _ENDS))
                    for each in points),
        worst=tuple(sorted(rows, key=lambda row: float(row["las"]))[:_RELATIONS]) if named else (),
        examples=_examples(held, found),
    )  # fmt: skip


def _examples(held: Treebank, found: Treebank) -> tuple[Drawn, ...]:
    """A few sentences with our tree and the heads that are right: some with mistakes first."""
    lengths, starts = held.corpus.lengths, held.corpus.sentence_starts
    wrong = np.add.reduceat(np.append(held.heads != found.heads, False).astype(np.int64), starts[:-1])
    fitting = np.flatnonzero((lengths > 3) & (lengths <= _LONGEST))
    chosen = fitting[np.lexsort((fitting, -np.minimum(wrong[fitting], 2)))][:_EXAMPLES]
    examples = []
    for sentence in chosen.tolist():
        ours, right = found[sentence : sentence + 1], held.sentence_heads(sentence).tolist()
        sure = [float(note.rpartition("=")[2]) for note in ours.misc.strings()]
        examples.append(Drawn(ours.corpus.words(0), ours.heads.tolist(), ours.relations.strings(), sure, right))
    return tuple(examples)


PARSER = Step(
    name="parser", title="Dependency parser", version=1, needs=("tagged",), writes=(FILE,), learn=learn,
    findings=Parsed, check=Job.check_trees, settings={"method": "mst", "order": 2, "points": 3},
    learned="a dependency parser", kernels="corpuscle.parse",
)  # fmt: skip
