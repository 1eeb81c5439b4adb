"""The chapter about topics: what they are, whether they help, and texts whose topical words are shaded."""

from __future__ import annotations

from typing import Any

from corpuscle.figures import shaded_text
from corpuscle.figures.svg import colour_of
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, element, fragment, h3, p, span
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import counted, percent

__all__ = ["report"]

_WIDTH = 460.0


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    plain, topics = findings["measures"]["plain"], findings["measures"]["topics"]
    return Chapter(
        headline=(
            f"{findings['topics']} topics of {counted(findings['documents'], 'document')}: perplexity of unseen "
            f"documents {topics['perplexity']:,.1f}, without topics {plain['perplexity']:,.1f}"
        ),
        figures={
            **pick(findings, "topics", "documents", "sweeps"),
            "held_out_documents": findings["held_out"]["documents"],
            **pick(topics, "perplexity", "low", "high"),
            "perplexity_without_topics": plain["perplexity"],
        },
        cards=[
            Card(
                f"{topics['perplexity']:,.1f}",
                f"perplexity of unseen documents, {counted(findings['topics'], 'topic')}",
                f"without topics: {plain['perplexity']:,.1f}",
            )
        ],
        body=[
            *_in_words(findings, step),
            h3("Topics, the most used first"),
            p(
                "The words that say most about each topic; below them phrases that it likes, and where there is most "
                "of it."
            ),
            page.grid(map(_topic, findings["topics_shown"])),
            *_texts(findings),
            _course(findings["history"]),
        ],
        commands=[
            ("corpuscle topics show {model}", "the topics with their words and phrases"),
            ("corpuscle topics apply {model} DOCUMENTS", "what new documents are about"),
            ("corpuscle topics mark {model} DOCUMENT", "how topical each word of a document is"),
            ("corpuscle topics perplexity {model} DOCUMENTS", "how well the model predicts documents"),
        ],
    )


def _in_words(findings: Findings, step: Step) -> list[Html]:
    plain, topics, held = findings["measures"]["plain"], findings["measures"]["topics"], findings["held_out"]
    _, table, documents = step.writes
    change = 1 - topics["perplexity"] / plain["perplexity"]
    verdict = f"{percent(abs(change))} {'lower' if change > 0 else 'higher'}"
    return [
        p(
            "Each word comes from the general language or from a topic of its document: the model has found out which, "
            f"from nothing but the words, in {findings['sweeps']} rounds over the text. The number of topics "
            f"follows a rule (the {step.settings['topics']}): {findings['topics']} for "
            f"{counted(findings['documents'], 'document')}. More about each of them is in {table}, and how much "
            f"of each is in every document in {documents}."
        ),
        p(
            f"Does it help? On {counted(held['documents'], 'document')} ({counted(held['words'], 'word')}) that "
            f"neither had seen, a model with topics has a perplexity of {topics['perplexity']:,.1f} (95 % interval "
            f"{topics['low']:,.1f} to {topics['high']:,.1f}), and one without topics, of the same order and with at "
            f"least {step.settings['sweeps_without_topics']} rounds, {plain['perplexity']:,.1f} "
            f"({plain['low']:,.1f} to {plain['high']:,.1f}): it is {verdict}. The model guesses the topics of a "
            "document while it reads it. Words that occur only once are unknown to both, and ends of sentences are not "
            "predicted, so these figures cannot be compared with those of the language model. The model in the pack "
            "has the same settings and learned from all documents."
        ),
    ]


def _topic(topic: dict[str, Any]) -> Html:
    shown = dict.fromkeys(phrase.removeprefix("<s> ") for phrase in topic["phrases"])  # few readers know what <s> is
    phrases = page.words(shown, between=" · ")
    return page.card(
        element("h4", f"topic {topic['number']} · {percent(topic['share'])} of the topical words"),
        p(page.words(topic["words"]), dir="auto", translate="no"),
        p(phrases, class_="note", dir="auto", translate="no") if phrases else fragment(),
        page.note("above all in ", span(page.words(topic["documents"]), translate="no")),
        style=f"border-inline-start: 0.4rem solid {colour_of(topic['number'])}",
    )


def _texts(findings: Findings) -> list[Html]:
    figures = [
        page.figure(
            shaded_text(
                text["sentences"], text["topical"], text["topics"],
                title=f"Document {isolated(text['name'][-60:])}", width=_WIDTH,
            ),
            "The stronger the ground, the likelier a word comes from a topic, which the colour tells.",
        )
        for text in findings["marked"]
    ]  # fmt: skip
    return [
        h3("Topical words"),
        p(
            "The beginnings of some documents, read by the model in the pack, so that the topics are those above. It "
            "has learned from these documents too, so it knows them better than it would know new ones."
        ),
        page.plots(figures),
    ]


def _course(history: list[float]) -> Html:
    plot = page.curve(
        "log probability", list(range(len(history))), history,
        "A line that still rises at the right wants more rounds.", title="Has it settled?",
        x_label="rounds over the text", y_label="log probability",
    )  # fmt: skip
    return page.plots([plot])
