"""The chapter about the tagger: how many tags are right, which are taken for which, and words that came out wrong."""

from __future__ import annotations

from corpuscle.figures import bar_plot
from corpuscle.packs import page
from corpuscle.packs.chapters.verdicts import most_frequent
from corpuscle.packs.step import Card, Chapter, Findings, Step
from corpuscle.text.html import Html, h3, p
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import counted, percent

__all__ = ["report"]

_NAMES = {
    "upos": "parts of speech", "xpos": "tags of the treebank", "feats": "morphological features", "lemma": "lemmas",
}  # fmt: skip


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures, layers = findings["measures"], findings["layers"]
    main, simple = layers[0], ""
    if main == "upos" and findings["tags"]:
        tag, share = most_frequent(findings["tags"])
        simple = f"{tag} for every word: {percent(share, 0)}"
    return Chapter(
        headline=f"tagger: {percent(figures[main])} of the {_NAMES[main]} right in unseen sentences",
        figures={
            "sentences": findings["sentences"], "held_out": findings["held_out"],
            **{name: figures[name] for name in (*layers, "all", "sentence", "known", "unknown") if name in figures},
            "low": figures[f"{main}_low"], "high": figures[f"{main}_high"],
        },
        cards=[Card(percent(figures[main], 0), f"{_NAMES[main]} right in unseen sentences", simple)],
        body=[_in_words(findings), _pictures(findings), *_by_tag(findings), *_errors(findings)],
        commands=[
            ("corpuscle tag apply {model} TEXT", "tag a text, one sentence a line"),
            ("corpuscle tag apply {model} RAW --raw", "tag running text"),
            ("corpuscle tag evaluate GOLD.conllu --model {model} --by tag", "how many are right, tag by tag"),
        ],
    )  # fmt: skip


def _in_words(findings: Findings) -> Html:
    figures, layers = findings["measures"], findings["layers"]
    main = layers[0]
    others = "".join(f", {percent(figures[name])} of the {_NAMES[name]}" for name in layers[1:])
    new = ""
    if "unknown" in figures and "known" in figures:
        new = (
            f" Of words that it had met {percent(figures['known'])} were right, of "
            f"{counted(figures['unknown_words'], 'unknown word')} {percent(figures['unknown'])}."
        )
    return p(
        f"Learned from {counted(findings['sentences'], 'annotated sentence')}. A tagger trained without a tenth of "
        f"them gets {percent(figures[main])} of the {_NAMES[main]} right in the "
        f"{counted(findings['held_out'], 'sentence')} it has not seen (95 % interval: "
        f"{percent(figures[f'{main}_low'])} to {percent(figures[f'{main}_high'])}){others}; "
        f"{percent(figures['sentence'])} of the sentences have no error at all.{new} The "
        "tagger in the pack has the same settings, and learned from all sentences."
    )


def _pictures(findings: Findings) -> Html:
    if not findings["confusions"]:
        return page.plots([])
    bars = bar_plot(
        [f"{isolated(found)} for {isolated(wanted)}" for wanted, found, _ in findings["confusions"]],
        [n for *_, n in findings["confusions"]], title="Which tag is found for which", value_label="words",
    )  # fmt: skip
    return page.plots([page.figure(bars, "The most frequent errors in sentences that were held out.")])


def _by_tag(findings: Findings) -> list[Html]:
    rows = [
        (row["tag"], row["words"], percent(row["precision"]), percent(row["recall"]), row["confused"])
        for row in findings["tags"]
    ]
    heading = ("tag", "words", "precision", "recall", "most often taken for")
    return [h3("Tag by tag"), page.table(heading, rows, (1, 2, 3))]


def _errors(findings: Findings) -> list[Html]:
    if not findings["errors"]:
        return []
    rows = [
        (before, word, after, found, wanted, "" if known else "unknown")
        for before, word, after, found, wanted, known in findings["errors"]
    ]
    return [
        h3("Words that came out wrong"),
        page.table(("before", "word", "after", "found", "right", "word"), rows),
    ]
