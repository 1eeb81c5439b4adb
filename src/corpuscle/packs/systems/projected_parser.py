"""The projected parser of a pack: trees for the other language of the translations, which has no treebank.

One side of the translations is in the language of the kit's treebank: that whose words the treebank knows better. The
pack's own tagger and parser parse that side. Where the pack has none, as without tags, a parser learns from the
treebank with word classes in the place of tags; it is measured on a tenth that it has not seen. Through the links of
the pack's word alignment the arcs come over to the other side, and a parser of that language, in which word classes
stand for tags, learns from the pairs of words that are sure enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle import load
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, grade
from corpuscle.packs.findings import Findings, pick
from corpuscle.packs.job import Job
from corpuscle.packs.step import LeftOut, Step, by_rule, check_enough, naming
from corpuscle.packs.systems.alignments import FILE as ALIGNER
from corpuscle.packs.systems.parser import FILE as PARSER
from corpuscle.packs.systems.parser import Drawn
from corpuscle.packs.systems.tagger import FILE as TAGGER
from corpuscle.parse import BranchingParser, PairParser, ProjectedParser, Projection
from corpuscle.text import Corpus, Treebank
from corpuscle.text.html import p
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import clip, count, counted, percent
from corpuscle.words import ExchangeClasses

FILE = "models/projected.parser"
FEWEST_SENTENCES = 100
"""Of the treebank: with fewer, its parser is not worth projecting."""

_KNOWN = 0.5
"""The treebank knows at least this share of the words of a side in its own language."""

_DRAWN, _SHORTEST, _LONGEST = 2, 5, 12


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
        """The better neighbour."""
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
        """How good the parser of the treebank is, what came over, and some trees."""
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
                p(
                    f"The treebank knows {percent(self.known)} of the words of the {first} language of the "
                    f"translations, so that is its language. {self._source()} parsed the {first} side of {pairs}; "
                    f"through the word alignment {arcs} that are sure enough to learn from came over to the "
                    f"{count(self.words)} words of the {second} side. There are no gold trees of that language to "
                    "compare with: these figures say how much came over, not how many trees are right."
                ),
                *([page.note("The fainter an arc, the less sure the parser is.")] if self.trees else []),
                page.plots([tree.figure("A sentence of the other language") for tree in self.trees]),
            ],
            commands=[
                ("corpuscle parse apply {model} SENTENCES.conllu", "parse sentences of the other language"),
                ("corpuscle parse apply {model} SENTENCES.conllu --confidence", "with how sure it is of each arc"),
            ],
            verdict=self._verdict(),
        )

    def _source(self) -> str:
        """Who parsed the language of the treebank."""
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


def _bank(text: Corpus) -> Treebank:
    return Treebank.from_sentences([text.words(i) for i in range(len(text))])


def _known(text: Corpus, bank: Treebank) -> float:
    """The share of the words of a text that a treebank has."""
    known = set(bank.corpus.vocab.strings[FIRST:])
    there = np.array([word in known for word in text.vocab.strings])
    return float(there[text.tokens].mean()) if text.n_tokens else 0.0


def _classes(text: Corpus, settings: Mapping[str, Any]) -> int:
    """How many word classes a text gets."""
    types = int((text.vocab.counts[FIRST:] > 0).sum())
    return by_rule(settings["classes"], min(200, max(20, types // 10)))


def learn(job: Job, settings: Mapping[str, Any]) -> Projected:
    """Learn a parser of the treebank's language, parse one side of the translations, and project to the other."""
    path, bank = job.kit.paths("tagged")[0], job.trees
    check_enough(path, len(bank), FEWEST_SENTENCES, "sentence")
    bitext = job.parallel.bitext
    shares = [_known(side, bank) for side in (bitext.source, bitext.target)]
    if max(shares) < _KNOWN:
        raise LeftOut(path, None, "neither side of the translations is in the language of the treebank")
    matrix = load(job.pack / ALIGNER).matrix(bitext)
    own, other = bitext.source, bitext.target
    if shares[1] > shares[0]:
        own, other, matrix = other, own, matrix.transposed()
    target, judged = _bank(other), None
    with naming(path):
        parsed = _by_the_pack(job, _bank(own))
        if parsed is None:
            parsed, judged = _by_classes(job, _bank(own), settings)
    chosen = {"classes": _classes(target.corpus, settings), **{name: settings[name] for name in ("threshold", "kappa")}}
    model, data = ProjectedParser(tag_layer="classes", **job.common, **chosen), Projection(parsed, target, matrix)
    with naming(job.kit.folder / "parallel"):
        job.fit(model, data, name=FILE, save=True)
    return Projected(
        pairs=len(data.source),
        treebank=len(bank),
        side=int(shares[1] > shares[0]),
        known=max(shares),
        judged=judged,
        arcs=model.provenance_["arcs"],
        words=model.provenance_["words"],
        trees=_examples(model, data.target),
    )


def _by_the_pack(job: Job, side: Treebank) -> Treebank | None:
    """The trees of the pack's tagger and parser; None without these, or if the parser needs tags of another kind."""
    if not all((job.pack / name).is_file() for name in (TAGGER, PARSER)):
        return None
    tagger, parser = load(job.pack / TAGGER), load(job.pack / PARSER)
    if not set(parser.tag_layers_) <= set(tagger.layers_):
        return None
    return parser.annotate(tagger.annotate(side))


def _by_classes(job: Job, side: Treebank, settings: Mapping[str, Any]) -> tuple[Treebank, Judged]:
    """The trees of a parser with word classes in the place of tags, and how often it is right."""
    train, unseen = job.split_trees
    text = Corpus.from_sentences([each.corpus.words(i) for each in (train, side) for i in range(len(each))])
    parser = PairParser(tag_layer="classes", **job.common)
    parser.classes_ = ExchangeClasses(classes=_classes(text, settings), **job.common).fit(text)
    parser.fit(train)
    rivals = (parser, BranchingParser(method="left"), BranchingParser(method="right"))
    return parser.annotate(side), Judged(len(unseen), *(_right(each, unseen) for each in rivals))


def _right(parser: Any, bank: Treebank) -> float:
    """The share of words that get the right head."""
    return float((parser.parse(bank).heads == bank.heads).mean())


def _examples(model: ProjectedParser, bank: Treebank) -> tuple[Drawn, ...]:
    """A few sentences of a fair length with their trees."""
    fair = np.flatnonzero((bank.corpus.lengths >= _SHORTEST) & (bank.corpus.lengths <= _LONGEST))[:_DRAWN]
    parsed = model.annotate(bank.select(fair), confidence=True)
    relations, starts = parsed.relations.strings(), parsed.corpus.sentence_starts
    sure = [float(note.rpartition("=")[2]) for note in parsed.misc.strings()]
    return tuple(
        Drawn([clip(word) for word in parsed.corpus.words(i)], parsed.sentence_heads(i).tolist(),
              relations[starts[i] : starts[i + 1]], sure[starts[i] : starts[i + 1]])
        for i in range(len(parsed))
    )  # fmt: skip


PROJECTED = Step(
    name="projected", title="Parser of the other language", version=3, needs=("tagged", "parallel"), writes=(FILE,),
    learn=learn, findings=Projected, after=("align", "tagger", "parser"),
    settings={"classes": "one for ten types, 20 to 200", "threshold": 0.85, "kappa": 4.0},
    learned="a parser projected to the other language", kernels="corpuscle.parse",
)  # fmt: skip
