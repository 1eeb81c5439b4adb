"""The dependency parser of a pack: how often heads and relations are right, with how many trees, and what goes wrong.

Parsers of a quarter, a half and all of nine tenths of the trees are measured on the tenth that none of them
has seen. Then one is learned from all trees, with the same settings: that is the one in the pack.

The projected parser of a pack: trees for the other language of the translations, which has no treebank.

One side of the translations is in the language of the kit's treebank: that whose words the treebank knows better. The
pack's own tagger and parser parse that side. Where the pack has none, as without tags, a parser learns from the
treebank with word classes in the place of tags; it is measured on a tenth that it has not seen. Through the links of
the pack's word alignment the arcs come over to the other side, and a parser of that language, in which word classes
stand for tags, learns from the pairs of words that are sure enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from corpuscle import load
from corpuscle.figures import Series, draw_arcs, line_plot
from corpuscle.measure import Result, attachment_by
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, grade, learned_from, pick
from corpuscle.packs.step import Job, LeftOut, Settings, Step, by_rule, check_enough, declared, naming
from corpuscle.packs.systems.alignments import FILE as ALIGNER
from corpuscle.packs.systems.tagger import FILE as TAGGER
from corpuscle.parse import BranchingParser, MstParser, PairParser, ProjectedParser, Projection, learning_curve
from corpuscle.text import Corpus, Treebank
from corpuscle.text.html import Html, p
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import clip, count, counted, percent
from corpuscle.words import ExchangeClasses

FILE = "models/parser.model"
FEWEST_SENTENCES = 50  # with fewer, a tenth held out says nothing
_RELATIONS, _EXAMPLES, _LONGEST = 12, 3, 14
_ENDS = ("", "_low", "_high")
_RARE = 5  # relations that the held-out trees have less often are not judged


@dataclass(frozen=True)
class Drawn:
    """A sentence with the tree that was found, how sure each arc is, and the heads that are right, if anybody knows."""

    words: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str]
    confidence: Sequence[float]
    right: Sequence[int] | None = None

    def figure(self, title: str = "") -> Html:
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
                *page.parses(example.figure() for example in self.examples),
            ],
            verdict=f"{how}: {percent(uas, 0)} of the words of unseen sentences have the right head{grows}.",
        )  # fmt: skip

    def _course(self) -> Html:
        if len(self.curve) < 2:
            return page.plots([])
        sizes, *shares = ([100 * value if i else value for value in column]
                          for i, column in enumerate(zip(*self.curve, strict=True)))  # fmt: skip
        plot = line_plot(
            [Series("heads", sizes, *shares[:3]), Series("heads and relations", sizes, *shares[3:])],
            title="How good with how many trees", x_label="training sentences", y_label="% right", log_x=True,
            x_ticks=sizes,
        )  # fmt: skip
        gained = self.curve[-1][1] - self.curve[-2][1]
        more = f"The last doubling of the trees brought {100 * gained:.1f} points of heads"
        hint = "more trees would go on helping" if gained > 0.005 else "more trees of this kind would help little"
        return page.plots([page.figure(plot, f"{more}; {hint}.")])


def learn(job: Job, settings: Settings) -> Parsed:
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
        sentences=len(bank), words=bank.corpus.n_tokens, held_out=len(held), crossing=final.crossing_,
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
    return _drawn(found.select(chosen), held.select(chosen))


def _drawn(parsed: Treebank, right: Treebank | None = None) -> tuple[Drawn, ...]:
    """Parsed sentences, with the heads that are right, if these are known."""
    relations, starts = parsed.relations.strings(), parsed.corpus.sentence_starts.tolist()
    sure = [float(note.rpartition("=")[2]) for note in parsed.misc.strings()]
    return tuple(
        Drawn([clip(word) for word in parsed.corpus.words(i)], parsed.sentence_heads(i).tolist(), relations[a:b],
              sure[a:b], None if right is None else right.sentence_heads(i).tolist())
        for i, (a, b) in enumerate(pairwise(starts))
    )  # fmt: skip


PARSER = declared("parser", 1, (FILE,), learn, Parsed, check=Job.check_trees)


PROJECTED_FILE = "models/projected.parser"
FEWEST_PROJECTED = 100  # of the treebank: with fewer, its parser is not worth projecting
_KNOWN = 0.5  # the treebank knows at least this share of the words of a side in its own language
_DRAWN, _SHORTEST, _LONGEST_DRAWN = 2, 5, 12


@dataclass(frozen=True)
class Judged:
    """How many heads are right in ``unseen`` sentences of the treebank, by a parser with word classes for tags, and
    when every word hangs on its left or right neighbour."""

    unseen: int
    uas: float
    uas_left: float
    uas_right: float

    @property
    def simple(self) -> float:
        return max(self.uas_left, self.uas_right)


@dataclass(frozen=True)
class Projected(Findings):
    """What came over: ``arcs`` to the ``words`` of one side of the pairs; ``side``: which one is in the language of the
    treebank (0, 1); ``judged``: its parser, where that is not the pack's own."""

    pairs: int
    treebank: int
    side: int
    known: float
    judged: Judged | None
    arcs: int
    words: int
    trees: tuple[Drawn, ...]

    def chapter(self, step: Step) -> Chapter:
        judged, arcs, pairs = self.judged, counted(self.arcs, "arc"), counted(self.pairs, "sentence pair")
        if judged is None:
            card = Card(count(self.arcs), "arcs projected to the other language",
                        f"an arc for each word: {count(self.words)}")  # fmt: skip
        else:
            what = f"heads right in the language of the treebank; {arcs} came over"
            card = Card(percent(judged.uas, 0), what, f"every word on its neighbour: {percent(judged.simple, 0)}")
        first, second = ("second", "first") if self.side else ("first", "second")
        return Chapter(
            headline=f"parser of the other language: {arcs} came over from {pairs}",
            figures=pick(self, "pairs", "treebank") | (vars(judged) if judged else {}) | pick(self, "arcs", "words"),
            cards=[card],
            body=[
                p(f"The treebank knows {percent(self.known)} of the words of the {first} language of the "
                  f"translations, so that is its language. {self._source()} parsed the {first} side of {pairs}; "
                  f"through the word alignment {arcs} that are sure enough to learn from came over to the "
                  f"{count(self.words)} words of the {second} side. There are no gold trees of that language to "
                  "compare with: these figures say how much came over, not how many trees are right."),
                *([page.note("The fainter an arc, the less sure the parser is.")] if self.trees else []),
                page.plots([tree.figure("A sentence of the other language") for tree in self.trees]),
            ],
            verdict=self._verdict(),
        )  # fmt: skip

    def _source(self) -> str:
        judged, sentences = self.judged, counted(self.treebank, "sentence")
        if judged is None:
            return f"The tagger and the parser of its {sentences}, see their chapters,"
        return (
            f"A parser that learned from nine tenths of its {sentences}, with word classes in the place of tags, gives "
            f"{percent(judged.uas)} of the words of the {counted(judged.unseen, 'unseen sentence')} the right head "
            f"(hanging every word on its neighbour: {percent(judged.simple)}). It"
        )

    def _verdict(self) -> str:
        if self.judged is None:
            share = self.arcs / max(1, self.words)
            how = grade(share, (0.5, "Much came over"), (0.25, "A part came over"), (0, "Little came over"))
            return (
                f"{how}: {100 * share:.0f} arcs per hundred words, by the trees of the pack's parser; nobody has "
                "annotated the other language."
            )
        uas, simple = self.judged.uas, self.judged.simple
        how = grade(uas - simple, (0.3, "Much better"), (0.1, "Better"), (-9, "Hardly better"))
        return (
            f"{how} than hanging every word on its neighbour ({percent(uas, 0)} right, compared with "
            f"{percent(simple, 0)}, measured on the language of the treebank); nobody has annotated the other one."
        )


def _classes(text: Corpus, settings: Settings) -> int:
    types = int((text.vocab.counts[FIRST:] > 0).sum())
    return by_rule(settings["classes"], min(200, max(20, types // 10)))


def project(job: Job, settings: Settings) -> Projected:
    """Learn a parser of the treebank's language, parse one side of the translations, and project to the other."""
    path, bank = job.kit.paths("tagged")[0], job.trees
    check_enough(path, len(bank), FEWEST_PROJECTED, "sentence")
    bitext = job.parallel
    known = (side.recode(bank.corpus.vocab).tokens != UNKNOWN for side in (bitext.source, bitext.target))
    shares = [float(each.sum() / max(1, len(each))) for each in known]
    if max(shares) < _KNOWN:
        raise LeftOut(path, None, "neither side of the translations is in the language of the treebank")
    matrix = load(job.pack / ALIGNER).matrix(bitext)
    own, other = bitext.source, bitext.target
    if shares[1] > shares[0]:
        own, other, matrix = other, own, matrix.transposed()
    side, target, judged = Treebank.from_sentences(list(own)), Treebank.from_sentences(list(other)), None
    with naming(path):
        if (parsed := _by_the_pack(job, side)) is None:
            parsed, judged = _by_classes(job, side, settings)
    chosen = {"classes": _classes(target.corpus, settings), **{name: settings[name] for name in ("threshold", "kappa")}}
    model, data = ProjectedParser(tag_layer="classes", **job.common, **chosen), Projection(parsed, target, matrix)
    with naming(job.kit.folder / "parallel"):
        job.fit(model, data, name=PROJECTED_FILE, save=True)
    lengths = data.target.corpus.lengths
    shown = data.target.select(np.flatnonzero((lengths >= _SHORTEST) & (lengths <= _LONGEST_DRAWN))[:_DRAWN])
    return Projected(
        pairs=len(data.source), treebank=len(bank), side=int(shares[1] > shares[0]), known=max(shares), judged=judged,
        arcs=model.provenance_["arcs"], words=model.provenance_["words"],
        trees=_drawn(model.annotate(shown, confidence=True)),
    )  # fmt: skip


def _by_the_pack(job: Job, side: Treebank) -> Treebank | None:
    """The trees of the pack's tagger and parser; None without these, or if the parser needs tags of another kind."""
    if not all((job.pack / name).is_file() for name in (TAGGER, FILE)):
        return None
    tagger, parser = load(job.pack / TAGGER), load(job.pack / FILE)
    fits = set(parser.tag_layers_) <= set(tagger.layers_)
    return parser.annotate(tagger.annotate(side)) if fits else None


def _by_classes(job: Job, side: Treebank, settings: Settings) -> tuple[Treebank, Judged]:
    """The trees of a parser with word classes in the place of tags, and how often it is right."""
    train, unseen = job.split_trees
    text = Corpus.from_sentences([*train.corpus, *side.corpus])
    parser = PairParser(tag_layer="classes", **job.common)
    parser.classes_ = ExchangeClasses(classes=_classes(text, settings), **job.common).fit(text)
    parser.fit(train)
    rivals = (parser, BranchingParser(method="left"), BranchingParser(method="right"))
    right = (float((each.parse(unseen).heads == unseen.heads).mean()) for each in rivals)
    return parser.annotate(side), Judged(len(unseen), *right)


PROJECTED = declared("projected", 3, (PROJECTED_FILE,), project, Projected)
