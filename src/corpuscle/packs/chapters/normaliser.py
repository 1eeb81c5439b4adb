"""The chapter about messages in standard spelling: before and after, what was changed and why."""

from __future__ import annotations

from corpuscle.figures import bar_plot
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, h3, p
from corpuscle.text.wording import count, counted, percent

__all__ = ["report"]

_WHY = {
    "channel": "likely slip of the fingers", "edits": "few letters differ", "prefix": "begins alike",
    "suffix": "ends alike", "subsequence": "letters in common", "sound": "sounds alike", "frequency": "frequent word",
    "seen": "seen in annotated messages", "most seen": "seen most often", "slang": "dictionary of slang",
    "more words": "several words", "split": "two words written together", "stretched": "letters were repeated",
    "change seen": "such slips were seen", "seen after": "seen behind this word",
    "seen before": "seen before this word", "context": "fits the context", "support": "goes with the words around",
}  # fmt: skip


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures, survey = findings.get("held_out"), findings["survey"]
    strange = survey["unknown"] / max(1, survey["tokens"])
    said = f"{percent(strange)} of the words are not standard, {counted(findings['changed'], 'word')} changed"
    if figures is not None:
        said = f"F1 {percent(figures['f1'])} on {counted(figures['messages'], 'unseen message')}, {said}"
    numbers = {**pick(findings, "messages", "annotated", "changed"), "unknown_rate": strange}
    if figures is not None:
        numbers |= {**pick(figures, "f1", "precision", "recall", "low", "high"), "baseline_f1": findings["baseline"]}
    card = Card(percent(strange, 0), "of the words of messages are not in the text")
    if figures is not None:
        simple = f"most frequent replacement: {percent(findings['baseline'], 0)}"
        card = Card(percent(figures["f1"], 0), "F1 of corrected words in unseen messages", simple)
    return Chapter(
        headline=f"messages: {said}",
        figures=numbers,
        cards=[card],
        body=[_in_words(findings), _pictures(findings), *_messages(findings), *_reasons(findings)],
        commands=[
            ("corpuscle normalise apply {model} TEXT", "write messages in standard spelling"),
            ("corpuscle normalise apply {model} TEXT --explain", "with candidates and what decided"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    survey, figures = findings["survey"], findings.get("held_out")
    said = (
        f"{counted(survey['messages'], 'message')} with {counted(survey['tokens'], 'word')}, of which "
        f"{count(survey['unknown'])} ({percent(survey['unknown'] / max(1, survey['tokens']))}) are not among the "
        f"{counted(findings['words'], 'standard word')}. {count(findings['changed'])} were changed, in "
        f"{counted(findings['changed_messages'], 'message')}. "
    )
    if figures is None:
        return p(
            said + "Nobody has said what was meant, so nothing could be measured: words outside the list count as "
            "ill-formed, names among them. A file noisy.tsv with messages as typed and as meant, token by token, would "
            "teach which words are wrong, and how many come out right."
        )
    return p(
        said + f"A model trained without a tenth of the {counted(findings['annotated'], 'annotated message')} finds "
        f"{percent(figures['recall'])} of the ill-formed words of the others and what they mean, and "
        f"{percent(figures['precision'])} of its changes are right: F1 {percent(figures['f1'])} (95 % interval: "
        f"{percent(figures['low'])} to {percent(figures['high'])}); the most frequent replacement of each word has "
        f"{percent(findings['baseline'])}. {percent(figures['word_accuracy'])} of all words are as they were meant. "
        "The model in the pack has the same settings and learned from all messages."
    )


def _pictures(findings: Findings) -> Html:
    bins = findings["survey"]["histogram"]
    labels = [f"{10 * k} to {10 * (k + 1)} %" for k in range(len(bins))]
    plots = [page.figure(
        bar_plot(labels, bins, title="How strange messages are", value_label="messages"),
        "Messages by the share of their words that are not standard.",
    )]  # fmt: skip
    if findings["errors"]:
        plots.append(page.figure(
            bar_plot(
                list(findings["errors"]), list(findings["errors"].values()), title="Kinds of errors",
                value_label="words",
            ),
            "What is wrong with the words of the annotated messages.",
        ))  # fmt: skip
    return page.plots(plots)


def _messages(findings: Findings) -> list[Html]:
    if not findings["examples"]:
        return [p("No message was changed.")]
    rows = [(" ".join(row["before"]), " ".join(filter(None, row["after"]))) for row in findings["examples"]]
    changes = [(typed, form, count(n)) for typed, form, n in findings["frequent"]]
    return [
        h3("Before and after"), page.table(("as typed", "in standard spelling"), rows),
        h3("What is changed most often"), page.table(("typed", "becomes", "times"), changes, (2,)),
    ]  # fmt: skip


def _reasons(findings: Findings) -> list[Html]:
    if not findings["reasons"]:
        return []
    rows = [
        (
            row["typed"], row["form"], ", ".join(row["others"]), _WHY.get(row["why"], row["why"]),
            percent(row["confidence"]),
        )
        for row in findings["reasons"]
    ]  # fmt: skip
    head = ("typed", "becomes", "other candidates", "what spoke for it", "sure")
    return [h3("Why"), page.table(head, rows, (4,))]
