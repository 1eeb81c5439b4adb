"""The topics of a pack: what the documents are about, and how much it helps to know.

A model of the method SWITCHING takes each word from the general language or from one of the topics of its document. It
and a model without topics learn from the same nine tenths of the documents and are measured on the others; then one
with topics, with the same settings, learns from everything: that is the one in the pack.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.packs.chapters import topics as chapter
from corpuscle.packs.heldout import held_documents
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, LeftOut, Step, by_rule, check_enough, naming
from corpuscle.text.corpus import Corpus
from corpuscle.text.tables import write_table
from corpuscle.text.wording import clip
from corpuscle.topics import NgramTopicModel, document_topics, mark, pick_documents, summaries

__all__ = ["TOPICS", "number_of_sweeps", "number_of_topics"]

FILE, TABLE, DOCUMENTS = "models/topics.model", "topics.tsv", "documents.tsv"
FEWEST_DOCUMENTS = 20
MOST, FEWEST, WORDS = 200, 15, 1_000_000
SETTINGS = {
    "method": "switching",
    "sampler": "table",
    "order": 3,
    "min_count": 2,
    "topics": "square root of the documents, 5 to 50",
    "sweeps": f"{MOST}; fewer, down to {FEWEST}, for large texts",
    "sweeps_without_topics": 50,
    "particles": 10,
}

_WORDS, _PHRASES, _EXAMPLES, _MARKED, _LONGEST = 12, 6, 3, 2, 160


def number_of_topics(documents: int) -> int:
    """The rule: how many topics for so many documents.

    >>> number_of_topics(20), number_of_topics(400), number_of_topics(100_000)
    (5, 20, 50)
    """
    return max(5, min(50, round(math.sqrt(documents))))


def number_of_sweeps(words: int) -> int:
    """The rule: how many sweeps over a text of so many words.

    >>> number_of_sweeps(10_000), number_of_sweeps(66_000), number_of_sweeps(10_000_000)
    (100, 15, 15)
    """
    return max(FEWEST, min(MOST, WORDS // max(1, words)))


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn topics, write them and those of every document, and measure with and without on unseen documents."""
    text, folder = job.text, job.kit.folder / "text"
    documents = 0 if text.document_starts is None else len(text.document_starts) - 1
    check_enough(folder, documents, FEWEST_DOCUMENTS, "document", use=" for topics")
    assert text.document_starts is not None
    text = text.with_documents(text.document_starts, job.document_names())
    held = held_documents(text, job.seed)
    if not held.any():
        raise LeftOut(folder, None, "the documents are too large for a tenth of the text to be held out")
    rules = {"topics": number_of_topics(documents), "sweeps": number_of_sweeps(text.n_tokens)}
    chosen = {name: by_rule(settings[name], rule) for name, rule in rules.items()}
    training, unseen = pick_documents(text, ~held).counted(), pick_documents(text, held)

    def learned(corpus: Corpus, name: str, topical: bool = True, save: bool = False) -> NgramTopicModel:
        rounds = chosen["sweeps"]
        of_topics = {"topics": chosen["topics"], "sampler": settings["sampler"]} if topical else {}
        model = NgramTopicModel(
            method=settings["method"] if topical else "hpylm",
            order=settings["order"],
            sweeps=rounds if topical else max(rounds, settings["sweeps_without_topics"]),
            **of_topics,
            min_count=settings["min_count"],
            **job.work,
        )
        return job.fit(model, corpus, name=name, save=save)

    with naming(folder):
        plain = learned(training, "models/topics.plain.model", topical=False)
        measured = learned(training, "models/topics.measured.model")
        final = learned(text, FILE, save=True)
    figures = {
        name: model.perplexity(unseen, particles=settings["particles"], seed=job.seed).to_json()
        for name, model in (("plain", plain), ("topics", measured))
    }
    read = document_topics(final, text, particles=settings["particles"], seed=job.seed)
    shares = np.array([document.shares for document in read])
    shown = [
        {
            "number": topic.number,
            "share": topic.share,
            "words": [clip(word) for word, _ in topic.words],
            "phrases": [clip(phrase.text) for phrase in topic.phrases],
            "documents": [read[i].name for i in np.argsort(-shares[:, topic.number - 1])[:_EXAMPLES]],
        }
        for topic in summaries(final, _WORDS, _PHRASES)
    ]
    rows = (
        (each.number, each.share, " ".join(word for word, _ in each.words), " | ".join(p.text for p in each.phrases))
        for each in summaries(final, 50, 50)
    )
    write_table(job.pack / TABLE, ("topic", "share", "words", "phrases"), rows)
    heading = ("document", "words", *(f"topic_{k}" for k in range(1, final.topics_ + 1)))
    mixed = ((document.name, document.words, *document.shares) for document in read)
    write_table(job.pack / DOCUMENTS, heading, mixed)
    return {
        "documents": documents,
        "words": text.n_tokens,
        **chosen,
        "held_out": {"documents": int(held.sum()), "words": unseen.n_tokens},
        "measures": figures,
        "topics_shown": shown,
        "history": final.history_.tolist(),
        "marked": _marked(final, text, np.flatnonzero(held)[:_MARKED], job.seed, settings["particles"]),
    }


def _marked(
    model: NgramTopicModel, text: Corpus, chosen: np.ndarray, seed: int, particles: int
) -> list[dict[str, Any]]:
    """The beginnings of some documents: words by sentence, how topical each word is, and its topic."""
    some = pick_documents(text, chosen)
    assert some.document_starts is not None and some.labels is not None
    result = []
    for number, found in enumerate(mark(model, some, particles=particles, seed=seed)):
        first, last = some.document_starts[number : number + 2]
        sentences: list[list[str]] = []
        for sentence in some[int(first) : int(last)]:
            if sum(map(len, sentences)) + len(sentence) > _LONGEST and sentences:
                break
            sentences.append([clip(word) for word in sentence])
        n = sum(map(len, sentences))
        result.append(
            {
                "name": some.labels[number],
                "sentences": sentences,
                "topical": np.round(found.topical[:n], 3).tolist(),
                "topics": found.topics[:n].tolist(),
            }
        )
    return result


TOPICS = Step(
    name="topics", title="Topics", version=4, needs=("text",), writes=(FILE, TABLE, DOCUMENTS), run=run,
    report=chapter.report, check=Job.check_text, settings=SETTINGS, after=("segment",), learned="topics",
    kernels="corpuscle.topics",
)  # fmt: skip
