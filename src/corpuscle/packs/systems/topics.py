"""The topics of a pack: what the documents are about, and how much it helps to know.

A model of the method SWITCHING takes each word from the general language or from one of the topics of its document. It
and a model without topics learn from the same nine tenths of the documents and are measured on the others; then one
with topics, with the same settings, learns from everything: that is the one in the pack.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.figures import shaded_text
from corpuscle.figures.svg import colour_of
from corpuscle.measure import Result
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, grade, pick
from corpuscle.packs.step import Job, LeftOut, Settings, Step, by_rule, check_enough, declared, naming
from corpuscle.text.heldout import held_documents
from corpuscle.text.html import Html, element, fragment, h3, p, span
from corpuscle.text.scripts import isolated
from corpuscle.text.tables import write_table
from corpuscle.text.wording import clip, counted, percent
from corpuscle.topics import NgramTopicModel, document_topics, pick_documents, summaries
from corpuscle.topics.inspection import beginnings

FILE, TABLE, DOCUMENTS = "models/topics.model", "topics.tsv", "documents.tsv"
FEWEST_DOCUMENTS = 20
MOST, FEWEST, WORDS = 200, 15, 1_000_000

_WORDS, _PHRASES, _EXAMPLES, _MARKED, _LONGEST = 12, 6, 3, 2, 160
_WIDTH = 460.0
_number = "{:,.1f}".format


def number_of_topics(documents: int) -> int:
    """The rule: the number of topics by that of documents.

    >>> number_of_topics(20), number_of_topics(400), number_of_topics(100_000)
    (5, 20, 50)
    """
    return max(5, min(50, round(math.sqrt(documents))))


def number_of_sweeps(words: int) -> int:
    """The rule: the number of sweeps by that of words.

    >>> number_of_sweeps(10_000), number_of_sweeps(66_000), number_of_sweeps(10_000_000)
    (100, 15, 15)
    """
    return max(FEWEST, min(MOST, WORDS // max(1, words)))


@dataclass(frozen=True)
class Topics(Findings):
    """What the topics of the documents are (``topics_shown``), and the perplexity of those that were held
    out, with and without topics; ``history``: log probability by sweep; ``marked``: texts with the topics of words."""

    documents: int
    words: int
    topics: int
    sweeps: int
    held_out: Mapping[str, int]
    measures: Mapping[str, Result]
    topics_shown: Table
    history: tuple[float, ...]
    marked: Table

    def chapter(self, step: Step) -> Chapter:
        plain, topical = self.measures["plain"], self.measures["topics"]
        without, perplexity = plain["perplexity"], topical["perplexity"]
        gain, documents = 1 - perplexity / without, counted(self.documents, "document")
        how = grade(gain, (0.1, "Topics help"), (0.02, "Topics help a little"), (-9, "Topics do not help"))
        than = f"{percent(abs(gain), 0)} {'better' if gain > 0 else 'worse'}"
        return Chapter(
            headline=f"{self.topics} topics of {documents}: perplexity of unseen documents {perplexity:,.1f}, without "
            f"topics {without:,.1f}",
            figures={
                **pick(self, "topics", "documents", "sweeps"), "held_out_documents": self.held_out["documents"],
                **pick(topical, "perplexity", "low", "high"), "perplexity_without_topics": without,
            },
            cards=[Card(f"{perplexity:,.1f}", f"perplexity of unseen documents, {counted(self.topics, 'topic')}",
                        f"without topics: {without:,.1f}")],
            body=[
                p("Each word comes from the general language or from a topic of its document: the model has found "
                  f"out which, from nothing but the words, in {self.sweeps} rounds over the text. The number of "
                  f"topics follows a rule (the {step.settings['topics']}): {self.topics} for {documents}. More about "
                  f"each of them is in {TABLE}, and how much of each is in every document in {DOCUMENTS}."),
                p(f"Does it help? On {counted(self.held_out['documents'], 'document')} "
                  f"({counted(self.held_out['words'], 'word')}) that neither had seen, a model with topics has a "
                  f"perplexity of {perplexity:,.1f} {between(**pick(topical, 'low', 'high'), write=_number)}, and "
                  "one without topics, of the same order and with at least "
                  f"{step.settings['sweeps_without_topics']} rounds, {without:,.1f} "
                  f"({' to '.join(map(_number, pick(plain, 'low', 'high').values()))}): it is {percent(abs(gain))} "
                  f"{'lower' if gain > 0 else 'higher'}. The model guesses the topics of a document while it reads "
                  "it. Words that occur only once are unknown to both, and ends of sentences are not predicted, so "
                  "these figures cannot be compared with those of the language model. The model in the pack has the "
                  "same settings and learned from all documents."),
                h3("Topics, the most used first"),
                p("The words that say most about each topic; below them phrases that it likes, and where there is "
                  "most of it."),
                page.grid(map(_topic, self.topics_shown)), h3("Topical words"),
                p("The beginnings of some documents, read by the model in the pack, so that the topics are those "
                  "above. It has learned from these documents too, so it knows them better than it would know new "
                  "ones."),
                page.plots([
                    page.figure(shaded_text(
                        text["sentences"], text["topical"], text["topics"],
                        title=f"Document {isolated(text['name'][-60:])}", width=_WIDTH,
                    ), "The stronger the ground, the likelier a word comes from a topic, which the colour tells.")
                    for text in self.marked
                ]),
                page.plots([page.curve(
                    "log probability", list(range(len(self.history))), self.history,
                    "A line that still rises at the right wants more rounds.", title="Has it settled?",
                    x_label="rounds over the text", y_label="log probability",
                )]),
            ],
            verdict=f"{how}: unseen documents are predicted {than} with them.",
        )  # fmt: skip


def _topic(topic: Mapping[str, Any]) -> Html:
    shown = dict.fromkeys(phrase.removeprefix("<s> ") for phrase in topic["phrases"])  # few readers know what <s> is
    phrases = page.words(shown, between=" · ")
    return page.card(
        element("h4", f"topic {topic['number']} · {percent(topic['share'])} of the topical words"),
        p(page.words(topic["words"]), dir="auto", translate="no"),
        p(phrases, class_="note", dir="auto", translate="no") if phrases else fragment(),
        page.note("above all in ", span(page.words(topic["documents"]), translate="no")),
        style=f"border-inline-start: 0.4rem solid {colour_of(topic['number'])}",
    )


def learn(job: Job, settings: Settings) -> Topics:
    text, folder = job.text, job.kit.folder / "text"
    documents = 0 if text.document_starts is None else len(text.document_starts) - 1
    check_enough(folder, documents, FEWEST_DOCUMENTS, "document", use=" for topics")
    assert text.document_starts is not None
    text = text.with_documents(text.document_starts, job.document_names())
    held = held_documents(text, job.seed)
    if not held.any():
        raise LeftOut(folder, None, "the documents are too large for a tenth of the text to be held out")
    topics = by_rule(settings["topics"], number_of_topics(documents))
    sweeps = by_rule(settings["sweeps"], number_of_sweeps(text.n_tokens))
    training, unseen = pick_documents(text, ~held).counted(), pick_documents(text, held)
    same = {"order": settings["order"], "min_count": settings["min_count"], **job.common}
    how = {name: settings[name] for name in ("method", "sampler")}
    topical = NgramTopicModel(sweeps=sweeps, topics=topics, **how, **same)
    plain = NgramTopicModel(method="hpylm", sweeps=max(sweeps, settings["sweeps_without_topics"]), **same)
    with naming(folder):
        job.fit(plain, training, name="models/topics.plain.model")
        measured = job.fit(topical.replace(), training, name="models/topics.measured.model")
        final = job.fit(topical, text, name=FILE, save=True)
    particles = settings["particles"]
    measures = {
        name: model.perplexity(unseen, particles=particles, seed=job.seed)
        for name, model in (("plain", plain), ("topics", measured))
    }
    read = document_topics(final, text, particles=particles, seed=job.seed)
    shares = np.array([document.shares for document in read])
    shown = tuple(
        {"number": topic.number, "share": topic.share, "words": [clip(word) for word, _ in topic.words],
         "phrases": [clip(phrase.text) for phrase in topic.phrases],
         "documents": [read[i].name for i in np.argsort(-shares[:, topic.number - 1])[:_EXAMPLES]]}
        for topic in summaries(final, _WORDS, _PHRASES)
    )  # fmt: skip
    rows = (
        (each.number, each.share, " ".join(word for word, _ in each.words), " | ".join(p.text for p in each.phrases))
        for each in summaries(final, 50, 50)
    )
    write_table(job.pack / TABLE, ("topic", "share", "words", "phrases"), rows)
    heading = ("document", "words", *(f"topic_{k}" for k in range(1, final.topics_ + 1)))
    write_table(job.pack / DOCUMENTS, heading, ((each.name, each.words, *each.shares) for each in read))
    return Topics(
        documents=documents, words=text.n_tokens, topics=topics, sweeps=sweeps,
        held_out={"documents": int(held.sum()), "words": unseen.n_tokens}, measures=measures, topics_shown=shown,
        history=tuple(final.history_.tolist()),
        marked=beginnings(final, text, np.flatnonzero(held)[:_MARKED], _LONGEST, job.seed, particles),
    )  # fmt: skip


TOPICS = declared("topics", 4, (FILE, TABLE, DOCUMENTS), learn, Topics, check=Job.check_text)
