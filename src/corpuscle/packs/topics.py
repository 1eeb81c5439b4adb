"""The topics of a pack: what the documents are about, and how much it helps to know.

A model of the method SWITCHING takes each word from the general language or from one of the topics of its document. It
and a model without topics learn from the same nine tenths of the documents and are measured on the others; then one
with topics, with the same settings, learns from everything: that is the one in the pack.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.figures import shaded_text
from corpuscle.packs import page
from corpuscle.packs.heldout import held_documents
from corpuscle.packs.step import Chapter, Findings, Job, LeftOut, Step, blaming, unfinished
from corpuscle.text.corpus import Corpus
from corpuscle.text.tables import write_table
from corpuscle.topics import NgramTopicModel, document_topics, mark, pick_documents, summaries
from corpuscle.topics.products import document_names

__all__ = ["TOPICS", "number_of_iterations", "number_of_topics"]

FILE, TABLE, DOCUMENTS = "models/topics.model", "topics.tsv", "documents.tsv"
FEWEST_DOCUMENTS = 20
MOST, FEWEST, WORDS = 200, 15, 1_000_000
SETTINGS = {
    "method": "switching",
    "sampler": "table",
    "order": 3,
    "min_count": 2,
    "topics": "square root of the documents, 5 to 50",
    "iterations": f"{MOST}; fewer, down to {FEWEST}, for large texts",
    "iterations_without_topics": 50,
    "particles": 10,
}

_WORDS, _PHRASES, _EXAMPLES, _MARKED, _LONGEST, _WIDTH = 12, 6, 3, 2, 160, 460.0


def number_of_topics(documents: int) -> int:
    """The rule: how many topics for so many documents.

    >>> number_of_topics(20), number_of_topics(400), number_of_topics(100_000)
    (5, 20, 50)
    """
    return max(5, min(50, round(math.sqrt(documents))))


def number_of_iterations(words: int) -> int:
    """The rule: how many sweeps over a text of so many words.

    >>> number_of_iterations(10_000), number_of_iterations(66_000), number_of_iterations(10_000_000)
    (100, 15, 15)
    """
    return max(FEWEST, min(MOST, WORDS // max(1, words)))


def _run(job: Job, settings: Mapping[str, Any]) -> Findings:
    text, folder, path = job.text, job.kit.folder / "text", job.pack / FILE
    documents = 0 if text.document_starts is None else len(text.document_starts) - 1
    if documents < FEWEST_DOCUMENTS:
        reason = f"only {page.counted(documents, 'document')}; at least {FEWEST_DOCUMENTS} are needed for topics"
        raise LeftOut(folder, None, reason)
    held = held_documents(text, job.seed)
    if not held.any():
        raise LeftOut(folder, None, "the documents are too large for a tenth of the text to be held out")
    rules = {"topics": number_of_topics(documents), "iterations": number_of_iterations(text.n_tokens)}
    chosen = {name: rules[name] if isinstance(settings[name], str) else settings[name] for name in rules}
    training, unseen = pick_documents(text, ~held).counted(), pick_documents(text, held)

    def learned(corpus: Corpus, name: str, topical: bool = True) -> NgramTopicModel:
        rounds = chosen["iterations"]
        model = NgramTopicModel(
            settings["method"] if topical else "hpylm",
            chosen["topics"] if topical else None,
            settings["order"],
            iterations=rounds if topical else max(rounds, settings["iterations_without_topics"]),
            sampler=settings["sampler"],
            min_count=settings["min_count"],
            seed=job.seed,
            workers=job.workers,
        )
        place = path.with_name(name)
        with unfinished(lambda resume: model.checkpoint(corpus, place, resume), place) as checkpoint:
            return model.fit(corpus, checkpoint=checkpoint)

    with blaming(folder):
        plain = learned(training, "topics.plain.model", topical=False)
        measured = learned(training, "topics.measured.model")
        final = learned(text, path.name)
    final.save(path)
    figures = {
        name: model.perplexity(unseen, particles=settings["particles"], seed=job.seed).to_json()
        for name, model in (("plain", plain), ("topics", measured))
    }
    read = document_topics(final, text, particles=settings["particles"], seed=job.seed, workers=job.workers)
    shares = np.array([document.shares for document in read])
    shown = [
        {
            "number": topic.number,
            "share": topic.share,
            "words": [page.clip(word) for word, _ in topic.words],
            "phrases": [page.clip(phrase.text) for phrase in topic.phrases],
            "documents": [page.clip(read[i].name) for i in np.argsort(-shares[:, topic.number - 1])[:_EXAMPLES]],
        }
        for topic in summaries(final, _WORDS, _PHRASES)
    ]
    rows = (
        (each.number, each.share, " ".join(word for word, _ in each.words), " | ".join(p.text for p in each.phrases))
        for each in summaries(final, 50, 50)
    )
    write_table(job.pack / TABLE, ("topic", "share", "words", "phrases"), rows)
    heading = ("document", "words", *(f"topic_{k}" for k in range(1, final.topics + 1)))
    mixed = ((" ".join(document.name.split()), document.words, *document.shares) for document in read)
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
        "bytes": path.stat().st_size,
    }


def _marked(
    model: NgramTopicModel, text: Corpus, chosen: np.ndarray, seed: int, particles: int
) -> list[dict[str, Any]]:
    """The beginnings of some documents: words by sentence, how topical each word is, and its topic."""
    some, names = pick_documents(text, chosen), document_names(text)
    assert some.document_starts is not None
    result = []
    for number, found in enumerate(mark(model, some, particles=particles, seed=seed)):
        first, last = some.document_starts[number : number + 2]
        sentences: list[list[str]] = []
        for sentence in some[int(first) : int(last)]:
            if sum(map(len, sentences)) + len(sentence) > _LONGEST and sentences:
                break
            sentences.append([page.clip(word) for word in sentence])
        n = sum(map(len, sentences))
        result.append(
            {
                "name": page.clip(names[chosen[number]]),
                "sentences": sentences,
                "topical": np.round(found.topical[:n], 3).tolist(),
                "topics": found.topics[:n].tolist(),
            }
        )
    return result


def _report(findings: Findings, pack: str) -> Chapter:
    model, (plain, topics) = shlex.quote(f"{pack}/{FILE}"), _both(findings)
    return Chapter(
        headline=(
            f"{findings['topics']} topics of {page.counted(findings['documents'], 'document')}: perplexity of unseen "
            f"documents {topics['perplexity']:,.1f}, without topics {plain['perplexity']:,.1f}"
        ),
        figures={
            **{name: findings[name] for name in ("topics", "documents", "iterations")},
            "held_out_documents": findings["held_out"]["documents"],
            **{name: topics[name] for name in ("perplexity", "low", "high")},
            "perplexity_without_topics": plain["perplexity"],
        },
        cards=[(page.count(findings["topics"]), "topics")],
        body=_in_words(findings) + _topics(findings) + _texts(findings) + _course(findings),
        commands=[
            (f"corpuscle topics show {model}", "the topics with their words and phrases"),
            (f"corpuscle topics apply {model} DOCUMENTS", "what new documents are about"),
            (f"corpuscle topics mark {model} DOCUMENT", "how topical each word of a document is"),
            (f"corpuscle topics perplexity {model} DOCUMENTS", "how well the model predicts documents"),
        ],
    )


def _both(findings: Findings) -> tuple[dict[str, Any], dict[str, Any]]:
    return findings["measures"]["plain"], findings["measures"]["topics"]


def _in_words(findings: Findings) -> str:
    (plain, topics), held = _both(findings), findings["held_out"]
    change = 1 - topics["perplexity"] / plain["perplexity"]
    verdict = f"{page.percent(abs(change))} {'lower' if change > 0 else 'higher'}"
    learned = page.paragraph(
        "Each word comes from the general language or from a topic of its document: the model has found out which, "
        f"from nothing but the words, in {findings['iterations']} rounds over the text. The number of topics follows a "
        f"rule (the {SETTINGS['topics']}): {findings['topics']} for "
        f"{page.counted(findings['documents'], 'document')}. More about each of them is in {TABLE}, and how much "
        f"of each is in every document in {DOCUMENTS}."
    )
    judged = page.paragraph(
        f"Does it help? On {page.counted(held['documents'], 'document')} ({page.counted(held['words'], 'word')}) that "
        f"neither had seen, a model with topics has a perplexity of {topics['perplexity']:,.1f} (95 % interval "
        f"{topics['low']:,.1f} to {topics['high']:,.1f}), and one without topics, of the same order and with at least "
        f"{SETTINGS['iterations_without_topics']} rounds, {plain['perplexity']:,.1f} ({plain['low']:,.1f} to "
        f"{plain['high']:,.1f}): it is {verdict}. The model guesses the topics of a document while it reads it. Words "
        "that occur only once are unknown to both, and ends of sentences are not predicted, so these figures cannot be "
        "compared with those of the language model. The model in the pack has the same settings and learned from all "
        "documents."
    )
    return learned + judged


def _topics(findings: Findings) -> str:
    cards = []
    for topic in findings["topics_shown"]:
        phrases = " · ".join(f'<bdi class="word">{page.escape(phrase)}</bdi>' for phrase in topic["phrases"])
        cards.append(
            f'<div class="class"><h4>topic {topic["number"]} · {page.percent(topic["share"])} of the topical words</h4>'
            f'<p dir="auto" translate="no">{page.words(topic["words"])}</p>'
            + (f'<p class="note" dir="auto" translate="no">{phrases}</p>' if phrases else "")
            + f'<p class="note">above all in <span translate="no">{page.words(topic["documents"])}</span></p></div>'
        )
    said = "The words that say most about each topic; below them phrases that it likes, and where there is most of it."
    return f'<h3>Topics, the most used first</h3>{page.paragraph(said)}<div class="grid">{"".join(cards)}</div>'


def _texts(findings: Findings) -> str:
    figures = [
        page.figure(
            shaded_text(
                text["sentences"], text["topical"], text["topics"], title=f"Document {text['name']}", width=_WIDTH
            ),
            "The stronger the ground, the likelier a word comes from a topic, which the colour tells.",
        )
        for text in findings["marked"]
    ]
    said = (
        "The beginnings of some documents, read by the model in the pack, so that the topics are those above. It has "
        "learned from these documents too, so it knows them better than it would know new ones."
    )
    return f"<h3>Topical words</h3>{page.paragraph(said)}{page.plots(figures)}"


def _course(findings: Findings) -> str:
    history = findings["history"]
    plot = page.curve(
        "log probability",
        list(range(len(history))),
        history,
        "A line that still rises at the right wants more rounds.",
        title="Has it settled?",
        x_label="rounds over the text",
        y_label="log probability",
    )
    return page.plots([plot])


TOPICS = Step(
    name="topics",
    title="Topics",
    version=3,
    needs=("text",),
    writes=(FILE, TABLE, DOCUMENTS),
    run=_run,
    report=_report,
    settings=SETTINGS,
    after=("segment",),
    learned="topics",
    kernels="corpuscle.topics",
)
