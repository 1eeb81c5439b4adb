"""The projected parser of a pack: trees for the other language of the translations, which has no treebank.

One side of the translations is in the language of the kit's treebank: that whose words the treebank knows better. The
pack's own tagger and parser parse that side. Where the pack has none, as without tags, a parser learns from the
treebank with word classes in the place of tags; it is measured on a tenth that it has not seen. Through the links of
the pack's word alignment the arcs come over to the other side, and a parser of that language, in which word classes
stand for tags, learns from the pairs of words that are sure enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle import load
from corpuscle.packs.chapters import projected_parser as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, LeftOut, Step, by_rule, check_enough, naming, pick
from corpuscle.packs.steps.alignments import FILE as ALIGNER
from corpuscle.packs.steps.alignments import read_parallel
from corpuscle.packs.steps.parser import FILE as PARSER
from corpuscle.packs.steps.tagger import FILE as TAGGER
from corpuscle.parse import BranchingParser, PairParser, ProjectedParser, Projection
from corpuscle.text import Corpus, Treebank
from corpuscle.text.vocab import FIRST
from corpuscle.words import ExchangeClasses

__all__ = ["PROJECTED"]

FILE = "models/projected.parser"
SETTINGS = {"classes": "one for ten types, 20 to 200", "threshold": 0.85, "kappa": 4.0}
FEWEST_SENTENCES = 100
"""Of the treebank: with fewer, its parser is not worth projecting."""
_KNOWN = 0.5
"""The treebank knows at least this share of the words of a side in its own language."""
_DRAWN, _SHORTEST, _LONGEST = 2, 5, 12


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


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn a parser of the treebank's language, parse one side of the translations, and project to the other."""
    path = job.kit.paths("tagged")[0]
    bank = job.trees
    check_enough(path, len(bank), FEWEST_SENTENCES, "sentence")
    bitext = read_parallel(job).bitext
    shares = [_known(side, bank) for side in (bitext.source, bitext.target)]
    if max(shares) < _KNOWN:
        raise LeftOut(path, None, "neither side of the translations is in the language of the treebank")
    matrix = load(job.pack / ALIGNER).matrix(bitext)
    own, other = bitext.source, bitext.target
    if shares[1] > shares[0]:
        own, other, matrix = other, own, matrix.transposed()
    target = _bank(other)
    with naming(path):
        parsed = _by_the_pack(job, _bank(own))
        judged: Findings = {"by": "pack"}
        if parsed is None:
            parsed, judged = _by_classes(job, _bank(own), settings)
    chosen = {"classes": _classes(target.corpus, settings), **pick(settings, "threshold", "kappa")}
    model = ProjectedParser(tag_layer="classes", **job.work, **chosen)
    data = Projection(parsed, target, matrix)
    with naming(job.kit.folder / "parallel"):
        job.fit(model, data, name=FILE, save=True)
    return {
        "pairs": len(data.source),
        "treebank": len(bank),
        "side": int(shares[1] > shares[0]),
        "known": max(shares),
        **judged,
        "arcs": model.provenance_["arcs"],
        "words": model.provenance_["words"],
        "trees": _examples(model, data.target),
    }


def _by_the_pack(job: Job, side: Treebank) -> Treebank | None:
    """The trees of the pack's tagger and parser; None without these, or if the parser needs tags of another kind."""
    if not all((job.pack / name).is_file() for name in (TAGGER, PARSER)):
        return None
    tagger, parser = load(job.pack / TAGGER), load(job.pack / PARSER)
    if not set(parser.tag_layers_) <= set(tagger.layers_):
        return None
    return parser.annotate(tagger.annotate(side))


def _by_classes(job: Job, side: Treebank, settings: Mapping[str, Any]) -> tuple[Treebank, Findings]:
    """The trees of a parser with word classes in the place of tags, and how often it is right."""
    train, unseen = job.split_trees
    words = [each.corpus.words(i) for each in (train, side) for i in range(len(each))]
    text = Corpus.from_sentences(words)
    parser = PairParser(tag_layer="classes", **job.work)
    parser.classes_ = ExchangeClasses(classes=_classes(text, settings), **job.work).fit(text)
    parser.fit(train)
    return parser.annotate(side), {
        "by": "classes",
        "unseen": len(unseen),
        "uas": _right(parser, unseen),
        "uas_left": _right(BranchingParser(method="left"), unseen),
        "uas_right": _right(BranchingParser(method="right"), unseen),
    }


def _right(parser: Any, bank: Treebank) -> float:
    """The share of words that get the right head."""
    return float((parser.parse(bank).heads == bank.heads).mean())


def _examples(model: ProjectedParser, bank: Treebank) -> list[dict[str, Any]]:
    """A few sentences of a fair length with their trees."""
    fair = np.flatnonzero((bank.corpus.lengths >= _SHORTEST) & (bank.corpus.lengths <= _LONGEST))[:_DRAWN]
    parsed = model.annotate(bank.select(fair), confidence=True)
    relations, starts = parsed.relations.strings(), parsed.corpus.sentence_starts
    sure = [float(note.rpartition("=")[2]) for note in parsed.misc.strings()]
    return [
        {
            "words": parsed.corpus.words(i),
            "heads": parsed.sentence_heads(i).tolist(),
            "relations": relations[starts[i] : starts[i + 1]],
            "confidence": sure[starts[i] : starts[i + 1]],
        }
        for i in range(len(parsed))
    ]


PROJECTED = Step(
    name="projected", title="Parser of the other language", version=2, needs=("tagged", "parallel"), writes=(FILE,),
    run=run, report=chapter.report, settings=SETTINGS, after=("align", "tagger", "parser"),
    learned="a parser projected to the other language", kernels="corpuscle.parse",
)  # fmt: skip
