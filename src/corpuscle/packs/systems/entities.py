"""The entity tagger of a pack: what is marked in the annotated documents of a kit, found in others.

A model learns from nine tenths of the documents and is measured on the others, as is the dictionary of strings that
were mentions in those nine tenths. The model in the pack has the same settings and learned from all documents. Where
the kit has running text, the classes of its words that the pack has learned are features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import corpuscle
from corpuscle.entities import CrfTagger, DictionaryTagger, Documents, read_documents
from corpuscle.entities.inspection import faults
from corpuscle.figures import draw_mentions
from corpuscle.measure import Result, mention_scores, mention_scores_by_type
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, compared, learned_from, pick, with_counts
from corpuscle.packs.step import Job, Settings, Step, check_enough, declared, wrong_files
from corpuscle.packs.systems.word_classes import FILE as CLASSES
from corpuscle.text.heldout import tenth
from corpuscle.text.html import h3, p
from corpuscle.text.mention_tags import TokenMention
from corpuscle.text.wording import clip, count, counted, percent
from corpuscle.words import class_sources

FILE = "models/entities.model"
FEWEST_DOCUMENTS, FEWEST_MENTIONS = 10, 30  # with fewer, a tenth held out says nothing
_EXAMPLES, _UNSURE, _LONGEST = 6, 8, 40


@dataclass(frozen=True)
class Marked:
    """A sentence with what was found in it and what should have been; ``surest``: how sure the model is of it."""

    words: Sequence[str]
    found: Sequence[TokenMention]
    confidence: Sequence[float]
    right: Sequence[TokenMention]
    surest: float

    def listed(self, mentions: Sequence[TokenMention]) -> str:
        return "; ".join(f"{type}: {' '.join(self.words[token] for token in tokens)}" for type, tokens in mentions)


@dataclass(frozen=True)
class Found(Findings):
    """What is marked in the documents, and how much of it is found in those that were ``held_out``; ``baseline``: F1 of
    a dictionary; ``classes``: whether word classes are features; ``expressible``: the share that tags can say."""

    documents: int
    words: int
    mentions: int
    types: tuple[tuple[str, int], ...]
    classes: bool
    expressible: float
    held_out: Result
    baseline: float
    by_type: Table
    errors: tuple[tuple[str, int], ...]
    examples: tuple[Marked, ...]
    unsure: tuple[Marked, ...]

    def chapter(self, step: Step) -> Chapter:
        found, interval = self.held_out, pick(self.held_out, "low", "high")
        f1, baseline, unseen = found["strict_f1"], percent(self.baseline), int(found["documents"])
        looked_up = f"looking up what was marked: {percent(self.baseline, 0)}"
        said = (
            f"finds {percent(found['strict_recall'])} of the mentions in the {counted(unseen, 'document')} it has not "
            f"seen, and {percent(found['strict_precision'])} of what it finds is right to the letter: F1 {percent(f1)} "
            f"{between(**interval)}. A dictionary of the mentions of the other documents reaches {baseline}. Counting "
            f"every mention that shares a letter with the right one, F1 is {percent(found['relaxed_f1'])}."
        )
        if found["discontinuous_gold"]:
            said += f" Of mentions with a gap alone it is {percent(found['discontinuous_f1'])}."
        if (lost := 1 - self.expressible) > 0.005:
            said += f" {percent(lost)} of the mentions nest or overlap in ways that tags cannot say."
        if self.classes:
            said += " Classes of words, learned from the running text of the kit, are among its features."
        return Chapter(
            headline=f"entities: F1 {percent(f1)} on {counted(unseen, 'unseen document')}, {baseline} by a dictionary",
            figures={
                **pick(self, "documents", "mentions"), "baseline_f1": self.baseline,
                **pick(found, "strict_f1", "relaxed_f1", "discontinuous_f1"), **interval,
            },
            cards=[Card(percent(f1, 0), "F1 of entities in unseen documents", looked_up)],
            body=[
                learned_from(
                    f"{counted(self.mentions, 'mention')} in {counted(self.documents, 'document')}", "model", said,
                    "documents", "the documents",
                ),
                page.plots([
                    page.bars(self.types, "How many are marked in the documents.", title="Mentions by type",
                              value_label="mentions"),
                    page.bars([(step.labels[kind], n) for kind, n in self.errors],
                              "Mentions of unseen documents that were not found right.", title="What goes wrong",
                              value_label="mentions"),
                ]),
                h3("By type"),
                page.table(("type", "in unseen documents", "precision", "recall", "F1"),
                           [(row["name"], count(row["gold"]),
                             *(percent(row[f"strict_{name}"]) for name in ("precision", "recall", "f1")))
                            for row in self.by_type], (1, 2, 3, 4)),
                *([
                    h3("Sentences with their entities"), p("From unseen documents; fainter lines are less sure."),
                    *(page.figure(draw_mentions(
                        each.words, each.found, confidence=each.confidence, title="Found entities"
                    )) for each in self.examples),
                ] if self.examples else []),
                *page.titled(
                    "Where it is least sure", ("sentence", "found", "marked", "sure"),
                    [(" ".join(row.words), row.listed(row.found), row.listed(row.right), percent(row.surest))
                     for row in self.unsure], (3,), "Sentences that would teach it most: annotate such ones next.",
                ),
            ],
            verdict=compared("F1", f1, self.baseline, "looking up what was marked before"),
        )  # fmt: skip


def _files(job: Job) -> list[str]:
    paths = job.kit.paths("entities")
    texts = [path for path in paths if Path(path).suffix != ".ann"]
    return texts or paths


def learn(job: Job, settings: Settings) -> Found:
    documents, folder = read_documents(*_files(job)), job.kit.folder / "entities"
    mentions = sum(len(text.mentions) for text in documents.texts)
    check_enough(folder, len(documents), FEWEST_DOCUMENTS, "document with entities", "documents with entities")
    check_enough(folder, mentions, FEWEST_MENTIONS, "mention")
    classes, numbers = job.pack / CLASSES, range(len(documents))
    held = np.isin(numbers, tenth(numbers, job.seed, "packs/entities"))
    sources = class_sources(corpuscle.load(classes)) if classes.exists() else None

    def fit(some: Documents) -> CrfTagger:
        return CrfTagger(encoding=settings["encoding"], **job.common).fit(some, sources=sources)

    model, train, test, final = job.measured(fit, documents, held, file=FILE, path=folder)
    tagged = model.tag(test)
    found, known = test.annotated(tagged.mentions), DictionaryTagger().fit(train).annotate(test)
    scores = mention_scores(test.texts, found, seed=job.seed)
    errors = Counter(kind for pair in zip(test.texts, found, strict=True) for kind, *_ in faults(*pair))
    order = np.argsort(tagged.surest, kind="stable").tolist()
    return Found(
        documents=len(documents), words=documents.corpus.n_tokens, mentions=mentions,
        types=tuple(Counter(mention.type for text in documents.texts for mention in text.mentions).most_common()),
        classes=sources is not None, expressible=final.provenance_["expressible"],
        held_out=with_counts(scores, documents=len(test), mentions=sum(len(text.mentions) for text in test.texts)),
        baseline=mention_scores(test.texts, known, seed=job.seed, draws=1)["strict_f1"],
        by_type=tuple(mention_scores_by_type(test.texts, found)), errors=tuple(errors.most_common()),
        examples=tuple([_example(test, tagged, i) for i in order if test.mentions[i]][-_EXAMPLES:]),
        unsure=tuple(_example(test, tagged, i) for i in order[:_UNSURE]),
    )  # fmt: skip


def _example(documents: Documents, tagged: Any, sentence: int) -> Marked:
    """A sentence with its mentions; only its beginning where it is long."""
    words = [clip(word, 30) for word in documents.corpus.words(sentence)[:_LONGEST]]

    def within(mentions: Any) -> list[TokenMention]:
        return [TokenMention(each.type, each.tokens) for each in mentions if each.tokens[-1] < len(words)]

    found, right = tagged.mentions[sentence], documents.mentions[sentence]
    pairs = zip(found, tagged.confidence[sentence], strict=True)
    sure = [round(value, 3) for each, value in pairs if each.tokens[-1] < len(words)]
    return Marked(words, within(found), sure, within(right), float(tagged.surest[sentence]))


ENTITIES = declared(
    "entities", 2, (FILE,), learn, Found,
    check=lambda job: wrong_files(read_documents, [(path,) for path in _files(job)]),
)  # fmt: skip
