"""The chapter about induced brackets: some trees, and why they are a hypothesis."""

from __future__ import annotations

from corpuscle.figures import NodeShown, draw_constituents
from corpuscle.packs import page
from corpuscle.packs.step import Chapter, Findings, Step, pick
from corpuscle.text.html import Html, h3, p
from corpuscle.text.wording import counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    return Chapter(
        headline=f"induced brackets, a hypothesis: from {counted(findings['sentences'], 'sentence')} without trees",
        figures=pick(findings, "sentences", "words", "classes", "confidence", "right_branching"),
        cards=[],
        body=[_in_words(findings), *_examples(findings)],
        commands=[
            ("corpuscle grammar parse {model} TEXT --confidence > PARSED", "brackets of other sentences"),
            ("corpuscle grammar draw PARSED -o tree.svg --tree 1", "a picture of a tree"),
            ("corpuscle grammar induce TAGGED -o brackets.model", "from words with tags: usually better"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    return p(
        "Which words belong together? Nobody has told the computer: words whose neighbours vary together are taken to "
        "be near in a tree, and a bracket is likely to end where punctuation often stands between such words. "
        f"{counted(findings['classes'], 'word class', 'word classes')} stood in the place of tags. This is a "
        "hypothesis about how sentences are built, not an annotation: look at it, and test it. A bracket is held to be "
        f"{percent(findings['confidence'], 0)} likely on average, by a model that may be wrong; "
        f"{percent(findings['right_branching'], 0)} of the trees just branch to the right."
    )


def _examples(findings: Findings) -> list[Html]:
    if not findings["examples"]:
        return []
    figures = [
        page.figure(
            draw_constituents(row["words"], [NodeShown(*node) for node in row["nodes"]], None, " ".join(row["words"])),
            natural=True,
        )
        for row in findings["examples"]
    ]
    return [h3("Trees of short sentences"), p("The fainter a node, the less sure."), *figures]
