"""The chapter about the draft translator: how near its drafts come to people's translations, and some of them."""

from __future__ import annotations

from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, h3, p
from corpuscle.text.wording import counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures, unseen = findings["measures"], counted(findings["held_out"], "unseen sentence")
    return Chapter(
        headline=f"draft translator: BLEU {100 * figures['bleu']:.1f} on {unseen}",
        figures={
            "pairs": findings["pairs"],
            "sentences": findings["held_out"],
            **pick(figures, "bleu", "low", "high", "length_ratio"),
            **pick(findings, "unknown"),
        },
        cards=[
            Card(
                f"{100 * figures['bleu']:.0f}", "BLEU of drafts of unseen sentences",
                "the very words of the other translator: 100",
            )
        ],
        body=[_in_words(findings), *_examples(findings)],
        commands=[
            ("corpuscle translate apply {model} SENTENCES", "a draft of each sentence"),
            ("corpuscle translate apply {model} SENTENCES --nbest 5", "the five best of each"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    figures = findings["measures"]
    return p(
        f"Learned from {counted(findings['pairs'], 'sentence pair')}: {counted(findings['entries'], 'phrase pair')}. A "
        f"model trained without a tenth of them, its weights tuned on {counted(findings['tuned_on'], 'pair')} of the "
        f"others, was measured on {counted(findings['held_out'], 'sentence')} that it has not seen: BLEU "
        f"{100 * figures['bleu']:.1f} (95 % interval: {100 * figures['low']:.1f} to {100 * figures['high']:.1f}; words "
        f"as they are in the files). {counted(findings['same'], 'draft')} of these are the translation in the file, "
        f"word for word; {percent(findings['unknown'])} of the words were unknown and are copied. A draft is to be "
        "corrected, not to be trusted. The model in the pack has the same settings and weights, and learned from all "
        "pairs."
    )


def _examples(findings: Findings) -> list[Html]:
    return [
        h3("Drafts of unseen sentences"),
        page.table(("sentence", "draft", "translation in the file"), findings["examples"]),
    ]
