"""The chapter about the constituency parser: how many brackets are right, of which labels, and some trees."""

from __future__ import annotations

from corpuscle.figures import NodeShown, draw_constituents
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, h3, p
from corpuscle.text.wording import counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures = findings["measures"]
    return Chapter(
        headline=f"constituency parser: F1 {percent(figures['labelled_f1'])} of brackets in unseen sentences",
        figures={
            **pick(findings, "trees", "held_out", "rules", "baseline"),
            **pick(figures, "labelled_f1", "labelled_f1_low", "labelled_f1_high", "unlabelled_f1", "exact", "crossing"),
        },
        cards=[
            Card(
                percent(figures["labelled_f1"], 0), "F1 of brackets in unseen sentences",
                f"a plain PCFG: {percent(findings['baseline'], 0)}",
            )
        ],
        body=[_in_words(findings), *_labels(findings), *_examples(findings)],
        commands=[
            ("corpuscle grammar parse {model} TEXT", "parse other sentences"),
            ("corpuscle grammar parse {model} TEXT --confidence > PARSED", "and say how sure each node is"),
            ("corpuscle grammar draw PARSED -o tree.svg --tree 1", "a picture of a tree"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    figures = findings["measures"]
    return p(
        f"Learned from {counted(findings['trees'], 'tree')}. A grammar trained without a tenth of them finds "
        f"{percent(figures['labelled_recall'])} of the brackets in {counted(findings['held_out'], 'sentence')} that it "
        f"has not seen, and {percent(figures['labelled_precision'])} of those it finds are right: F1 "
        f"{percent(figures['labelled_f1'])} (95 % interval: {percent(figures['labelled_f1_low'])} to "
        f"{percent(figures['labelled_f1_high'])}). A plain PCFG of the same trees has {percent(findings['baseline'])}. "
        f"Without labels it is {percent(figures['unlabelled_f1'])}; {percent(figures['exact'])} of the trees are right "
        "as a whole. Only words were given, no tags. The grammar in the pack has the same settings, and learned from "
        "all trees."
    )


def _labels(findings: Findings) -> list[Html]:
    rows = [
        (row["name"], row["gold"], percent(row["precision"]), percent(row["recall"]), percent(row["f1"]))
        for row in findings["labels"]
    ]
    return [h3("By label"), page.table(("label", "brackets", "precision", "recall", "F1"), rows, (1, 2, 3, 4))]


def _examples(findings: Findings) -> list[Html]:
    if not findings["examples"]:
        return []
    figures = []
    for row in findings["examples"]:
        found, right = ([NodeShown(*node) for node in row[side]] for side in ("found", "right"))
        said = "The tree is right." if _same(row) else "What only one of the trees has stands out."
        figures.append(
            page.figure(draw_constituents(row["words"], found, right, " ".join(row["words"])), said, natural=True)
        )
    return [
        h3("Parses of unseen sentences"),
        p("Above the words what the parser found, the fainter the less sure; below them what it should have found."),
        *figures,
    ]


def _same(row: Findings) -> bool:
    """Whether a tree that was found is the right one."""
    return [node[:4] for node in row["found"]] == [node[:4] for node in row["right"]]
