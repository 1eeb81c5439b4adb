"""The chapter about analyses of words: how often the right one is first, and words with their analyses."""

from __future__ import annotations

from typing import Any

from corpuscle.figures import WordShown, bar_plot, draw_readings
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step
from corpuscle.text.html import Html, h3, p
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures, baseline = findings["measures"], findings["baseline"]
    names = ("a1", "a2", "ceiling", "ambiguous_a1", "unseen_a1", "low", "high")
    return Chapter(
        headline=(
            f"analyses: the right one first for {percent(figures['a1'])} of the words in unseen sentences, "
            f"{percent(baseline['a1'])} by frequency"
        ),
        figures={
            "sentences": findings["sentences"], "held_out": findings["held_out"],
            **{name: figures[name] for name in names if name in figures}, "frequency_a1": baseline["a1"],
        },
        cards=[
            Card(
                percent(figures["a1"], 0), "of words with the right analysis first",
                f"the most frequent one: {percent(findings['baseline']['a1'], 0)}",
            )
        ],
        body=[_in_words(findings), _picture(findings), *_words(findings)],
        commands=[
            ("corpuscle disambiguate apply {model} TEXT --json", "the likeliest analyses of every word, for readers"),
            ("corpuscle disambiguate vocabulary {model} TEXT -o CARDS.tsv", "the words to learn in a text"),
            ("corpuscle disambiguate update {model} MORE.conllu -o MODEL", "count what an annotator has chosen"),
        ],
    )  # fmt: skip


def _in_words(findings: Findings) -> Html:
    figures, baseline = findings["measures"], findings["baseline"]
    said = (
        f"Learned from {counted(findings['sentences'], 'annotated sentence')}"
        f"{' and a lexicon' if findings['also_from'] else ''}; an analysis has {', '.join(findings['elements'])}. A "
        f"model trained without a tenth of the sentences puts the right analysis first for {percent(figures['a1'])} of "
        f"the words in those it has not seen (95 % interval: {percent(figures['low'])} to {percent(figures['high'])}), "
        f"and among the first two for {percent(figures['a2'])}; taking the most frequent analysis of each word, "
        f"{percent(baseline['a1'])}. A word has {figures['candidates']:.1f} analyses to choose from, and for "
        f"{percent(figures['ceiling'])} of the words the right one is among them."
    )
    if "ambiguous_a1" in figures:
        said += (
            f" Of {counted(figures['ambiguous_words'], 'word')} that have several, one of them right, "
            f"{percent(figures['ambiguous_a1'])} get it; by frequency {percent(baseline['ambiguous_a1'])}."
        )
    return p(said + " The model in the pack has the same settings and learned from all sentences.")


def _picture(findings: Findings) -> Html:
    figures, baseline = findings["measures"], findings["baseline"]
    rows = [("at random", figures["random"]), ("most frequent", baseline["a1"]), ("by context", figures["a1"])]
    rows += [("first two", figures["a2"]), ("any candidate", figures["ceiling"])]
    bars = bar_plot([name for name, _ in rows], [100 * value for _, value in rows],
                    title="Words with the right analysis", value_label="per cent")  # fmt: skip
    return page.plots([page.figure(bars, "In sentences that were held out.")])


def _words(findings: Findings) -> list[Html]:
    if not findings["words"]:
        return []
    rows = []
    for word in findings["words"]:
        around = f"{word['before']} [{isolated(word['form'])}] {word['after']}".strip()
        for number, analysis in enumerate(word["analyses"]):
            rows.append((around if number == 0 else "", *_row(analysis)))
    drawn = [
        page.figure(draw_readings([WordShown(word["form"], word["readings"]) for word in words]),
                    "The two likeliest analyses of each word; the longer the line, the likelier.")
        for words in findings["drawn"]
    ]  # fmt: skip
    heading = ("word", "lemma", "analysis", "vowelled, gloss", "probability", "right")
    note = "From unseen sentences: a word of each form, its likeliest analyses, and which one an annotator chose."
    return [h3("Words with their analyses"), *drawn, p(note), page.table(heading, rows, (4,))]


def _row(analysis: dict[str, Any]) -> tuple[str, ...]:
    note = ", ".join(filter(None, (analysis["vowelled"], analysis["gloss"])))
    right = "✓" if analysis["right"] else ""
    return analysis["lemma"], analysis["values"], note, percent(analysis["probability"]), right
