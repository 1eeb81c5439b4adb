"""The chapter about the projected parser: how good the parser of the treebank is, what came over, and some trees."""

from __future__ import annotations

from corpuscle.figures import draw_arcs
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, p
from corpuscle.text.wording import clip, count, counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    return Chapter(
        headline=(
            f"parser of the other language: {counted(findings['arcs'], 'arc')} came over from "
            f"{counted(findings['pairs'], 'sentence pair')}"
        ),
        figures=pick(findings, "pairs", "treebank", *_judged(findings), "arcs", "words"),
        cards=[_card(findings)],
        body=[_in_words(findings), *_pictures(findings)],
        commands=[
            ("corpuscle parse apply {model} SENTENCES.conllu", "parse sentences of the other language"),
            ("corpuscle parse apply {model} SENTENCES.conllu --confidence", "with how sure it is of each arc"),
        ],
    )


def _card(findings: Findings) -> Card:
    came = "arcs projected to the other language"
    if findings["by"] == "pack":
        return Card(count(findings["arcs"]), came, f"an arc for each word: {count(findings['words'])}")
    simple = max(findings["uas_left"], findings["uas_right"])
    what = f"heads right in the language of the treebank; {counted(findings['arcs'], 'arc')} came over"
    return Card(percent(findings["uas"], 0), what, f"every word on its neighbour: {percent(simple, 0)}")


def _judged(findings: Findings) -> tuple[str, ...]:
    """The figures of the parser of the treebank, which the pack's own one has in a chapter of its own."""
    return ("unseen", "uas", "uas_left", "uas_right") if findings["by"] == "classes" else ()


def _source(findings: Findings) -> str:
    """Who parsed the language of the treebank."""
    if findings["by"] == "pack":
        return f"The tagger and the parser of its {counted(findings['treebank'], 'sentence')}, see their chapters, "
    return (
        f"A parser that learned from nine tenths of its {counted(findings['treebank'], 'sentence')}, with word classes "
        f"in the place of tags, gives {percent(findings['uas'])} of the words of the "
        f"{counted(findings['unseen'], 'unseen sentence')} the right head (hanging every word on its neighbour: "
        f"{percent(max(findings['uas_left'], findings['uas_right']))}). It "
    )


def _in_words(findings: Findings) -> Html:
    first, second = ("second", "first") if findings["side"] else ("first", "second")
    return p(
        f"The treebank knows {percent(findings['known'])} of the words of the {first} language of the translations, so "
        f"that is its language. {_source(findings)}"
        f"parsed the {first} side of {counted(findings['pairs'], 'sentence pair')}; through the word alignment "
        f"{counted(findings['arcs'], 'arc')} that are sure enough to learn from came over to the "
        f"{count(findings['words'])} words of the {second} side. There are no gold trees of that language to compare "
        "with: these figures say how much came over, not how many trees are right."
    )


def _pictures(findings: Findings) -> list[Html]:
    drawn = [
        page.figure(
            draw_arcs(
                [clip(word) for word in tree["words"]], tree["heads"], tree["relations"],
                confidence=tree["confidence"], title="A sentence of the other language",
            ),
            natural=True,
        )
        for tree in findings["trees"]
    ]  # fmt: skip
    return [page.note("The fainter an arc, the less sure the parser is."), page.plots(drawn)] if drawn else []
