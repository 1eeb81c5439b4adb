"""The chapter about entities: how many are found, by type, what goes wrong, and sentences with marks."""

from __future__ import annotations

from typing import Any

from corpuscle.figures import bar_plot, draw_mentions
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.gapped import TokenMention
from corpuscle.text.html import Html, h3, p
from corpuscle.text.wording import count, counted, percent

__all__ = ["report"]

_KINDS = {
    "missed": "missed",
    "false": "found where there is none",
    "boundaries": "found with other words",
    "type": "found with another type",
}


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures = findings["held_out"]
    return Chapter(
        headline=(
            f"entities: F1 {percent(figures['strict_f1'])} on {counted(figures['documents'], 'unseen document')}, "
            f"{percent(findings['baseline'])} by a dictionary"
        ),
        figures={
            "documents": findings["documents"],
            "mentions": findings["mentions"],
            "baseline_f1": findings["baseline"],
            **pick(figures, "strict_f1", "relaxed_f1", "discontinuous_f1", "low", "high"),
        },
        cards=[
            Card(
                percent(figures["strict_f1"], 0), "F1 of entities in unseen documents",
                f"looking up what was marked: {percent(findings['baseline'], 0)}",
            )
        ],
        body=[_in_words(findings), _pictures(findings), *_by_type(findings), *_sentences(findings)],
        commands=[
            ("corpuscle entities apply {model} TEXT", "find entities in a text"),
            ("corpuscle entities apply {model} TEXT --format brat -o FOLDER", "as files for the annotation tool brat"),
            ("corpuscle entities uncertain {model} TEXT", "the sentences to annotate next"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    figures, lost = findings["held_out"], 1 - findings["expressible"]
    learned = f"{counted(findings['mentions'], 'mention')} in {counted(findings['documents'], 'document')}"
    said = (
        f"Learned from {learned}. A model trained without a tenth of the documents finds "
        f"{percent(figures['strict_recall'])} of the mentions in the {counted(figures['documents'], 'document')} it "
        f"has not seen, and {percent(figures['strict_precision'])} of what it finds is right to the letter: F1 "
        f"{percent(figures['strict_f1'])} (95 % interval: {percent(figures['low'])} to {percent(figures['high'])}). A "
        f"dictionary of the mentions of the other documents reaches {percent(findings['baseline'])}. Counting every "
        f"mention that shares a letter with the right one, F1 is {percent(figures['relaxed_f1'])}."
    )
    if figures["discontinuous_gold"]:
        said += f" Of mentions with a gap alone it is {percent(figures['discontinuous_f1'])}."
    if lost > 0.005:
        said += f" {percent(lost)} of the mentions nest or overlap in ways that tags cannot say."
    if findings["classes"]:
        said += " Classes of words, learned from the running text of the kit, are among its features."
    return p(said + " The model in the pack has the same settings and learned from all documents.")


def _pictures(findings: Findings) -> Html:
    types = [type for type, _ in findings["types"]]
    plots = [page.figure(bar_plot(
        types, [n for _, n in findings["types"]], title="Mentions by type", value_label="mentions"
    ), "How many are marked in the documents.")]  # fmt: skip
    if findings["errors"]:
        kinds = [_KINDS[kind] for kind, _ in findings["errors"]]
        bars = bar_plot(kinds, [n for _, n in findings["errors"]], title="What goes wrong", value_label="mentions")
        plots.append(page.figure(bars, "Mentions of unseen documents that were not found right."))
    return page.plots(plots)


def _by_type(findings: Findings) -> list[Html]:
    rows = [
        (row["name"], count(row["gold"]), *(percent(row[f"strict_{name}"]) for name in ("precision", "recall", "f1")))
        for row in findings["by_type"]
    ]
    return [h3("By type"), page.table(("type", "in unseen documents", "precision", "recall", "F1"), rows, (1, 2, 3, 4))]


def _sentences(findings: Findings) -> list[Html]:
    parts: list[Html] = []
    if findings["examples"]:
        parts += [h3("Sentences with their entities"), p("From unseen documents; fainter lines are less sure.")]
        parts += [page.figure(_drawn(example, "found")) for example in findings["examples"]]
    if findings["unsure"]:
        parts += [h3("Where it is least sure"), p("Sentences that would teach it most: annotate such ones next.")]
        rows = [
            (" ".join(row["words"]), _listed(row, "found"), _listed(row, "right"), percent(row["surest"]))
            for row in findings["unsure"]
        ]
        parts.append(page.table(("sentence", "found", "marked", "sure"), rows, (3,)))
    return parts


def _drawn(example: dict[str, Any], which: str) -> Any:
    mentions = [TokenMention(type, tuple(tokens)) for type, tokens in example[which]]
    return draw_mentions(example["words"], mentions, confidence=example["confidence"], title="Found entities")


def _listed(example: dict[str, Any], which: str) -> str:
    return "; ".join(
        f"{type}: {' '.join(example['words'][token] for token in tokens)}" for type, tokens in example[which]
    )
