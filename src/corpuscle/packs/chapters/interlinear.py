"""The chapter about glossed texts: how much is glossed, what is proposed, a few phrases, and where all of them are."""

from __future__ import annotations

from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, bdi, div, element, h3, p, span
from corpuscle.text.wording import count, counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    share = findings["glossed"] / max(1, findings["words"])
    return Chapter(
        headline=(
            f"glossed texts: {counted(findings['phrases'], 'phrase')} in {counted(findings['texts'], 'text')}, "
            f"{percent(share, 0)} of {counted(findings['words'], 'word')} with a gloss, "
            f"{count(findings['proposed'])} more proposed"
        ),
        figures=pick(findings, "texts", "phrases", "translated", "words", "glossed", "proposed", "glosses", "morphs"),
        cards=[Card(percent(share, 0), "words of the glossed texts that have a gloss")],
        body=[*_in_words(findings, step), *map(_phrase, findings["shown"])],
        commands=[],
    )


def _in_words(findings: Findings, step: Step) -> list[Html]:
    text, html, flextext, morphs = (element("a", name, href=name) for name in step.writes)
    return [
        p(
            f"{counted(findings['phrases'], 'phrase')} were read, {count(findings['translated'])} of them with a free "
            f"translation. {count(findings['glosses'])} forms have a gloss. "
            f"{count(findings['proposed'])} words without one got the gloss that the same word, or its morphs, have "
            "most often elsewhere; a question mark says so."
        ),
        p("All texts: ", html, " (to read), ", flextext, " (for FLEx), ", text, " (plain lines). Words with their "
          "morphs, for example to judge a segmenter: ", morphs, "."),
        h3("The first phrases"),
    ]  # fmt: skip


def _phrase(phrase: Findings) -> Html:
    words = [
        span(element("b", bdi(form)), bdi(morphs), span(gloss), class_="glossed")
        for form, morphs, gloss in phrase["words"]
    ]
    free = [page.note("‘", phrase["translation"], "’")] if phrase["translation"] else []
    return div(div(*words, class_="line", dir="auto"), *free, class_="igt")
