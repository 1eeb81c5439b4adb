"""The chapter about the parser: how often it is right, by how many trees, which relations are hard, and some parses."""

from __future__ import annotations

from corpuscle.figures import Series, draw_arcs, line_plot
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, h3, p
from corpuscle.text.wording import counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures, curve = findings["measures"], findings["curve"]
    less = f"learned from {counted(curve[0][0], 'sentence')}: {percent(curve[0][1], 0)}" if len(curve) > 1 else ""
    return Chapter(
        headline=f"parser: {percent(figures['uas'])} of {counted(figures['words'], 'unseen word')} get the right head",
        figures={
            **pick(findings, "sentences", "held_out"),
            **pick(figures, "uas", "uas_low", "uas_high", "las", "las_low", "las_high", "complete"),
        },
        cards=[Card(percent(figures["uas"], 0), "heads right in unseen sentences", less)],
        body=[_in_words(findings), _curve(findings), *_worst(findings), *_examples(findings)],
        commands=[
            ("corpuscle parse apply {model} TAGGED.conllu --confidence", "parse other tagged sentences"),
            ("corpuscle parse apply {model} TAGGED.conllu --nbest 5", "the five best trees of each"),
            ("corpuscle parse draw PARSED.conllu -o tree.svg --sentence 1", "a picture of a tree"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    figures = findings["measures"]
    arcs = "Arcs may cross." if findings["crossing"] else "Arcs do not cross."
    return p(
        f"Learned from {counted(findings['sentences'], 'sentence')} with trees. A parser trained without a tenth of "
        f"them finds the right head of {percent(figures['uas'])} of the {counted(figures['words'], 'word')} in "
        f"{counted(findings['held_out'], 'sentence')} that it has not seen (95 % interval: "
        f"{percent(figures['uas_low'])} to {percent(figures['uas_high'])}), and the right relation to it, too, of "
        f"{percent(figures['las'])} ({percent(figures['las_low'])} to {percent(figures['las_high'])}); "
        f"{percent(figures['complete'])} of the sentences are right as a whole. Part-of-speech tags were those of the "
        f"file. {arcs} The parser in the pack has the same settings, and learned from all trees."
    )


def _curve(findings: Findings) -> Html:
    sizes, *columns = zip(*findings["curve"], strict=True)
    shares = [[100 * value for value in column] for column in columns]
    series = [
        Series(name, sizes, *shares[first : first + 3])
        for name, first in (("heads", 0), ("heads and relations", 3))
    ]  # fmt: skip
    if len(sizes) < 2:
        return page.plots([])
    plot = line_plot(
        series, title="How good with how many trees", x_label="training sentences", y_label="% right", log_x=True,
        x_ticks=sizes,
    )  # fmt: skip
    gained = columns[0][-1] - columns[0][-2]
    more = f"The last doubling of the trees brought {100 * gained:.1f} points of heads"
    hint = "; more trees would go on helping." if gained > 0.005 else "; more trees of this kind would help little."
    return page.plots([page.figure(plot, more + hint)])


def _worst(findings: Findings) -> list[Html]:
    if not findings["worst"]:
        return []
    rows = [(row["name"], row["words"], percent(row["uas"]), percent(row["las"])) for row in findings["worst"]]
    return [
        h3("The hardest relations"),
        page.table(("relation", "words", "right heads", "right heads and relations"), rows, (1, 2, 3)),
    ]


def _examples(findings: Findings) -> list[Html]:
    if not findings["examples"]:
        return []
    figures = [
        page.figure(
            draw_arcs(
                row["words"], row["heads"], row["relations"], confidence=row["confidence"], other=row["right"],
                title=" ".join(row["words"]),
            ),
            _differences(row["heads"], row["right"]), natural=True,
        )
        for row in findings["examples"]
    ]  # fmt: skip
    return [
        h3("Parses of unseen sentences"),
        p("Above the words what the parser found, the fainter the less sure; below them what it should have found."),
        *figures,
    ]


def _differences(heads: list[int], right: list[int]) -> str:
    wrong = sum(a != b for a, b in zip(heads, right, strict=True))
    return "All heads are right." if not wrong else f"{counted(wrong, 'head')} of {len(heads)} wrong."
