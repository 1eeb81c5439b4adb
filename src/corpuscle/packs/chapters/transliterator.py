"""The chapter about the transliterator: how often it is right, ways to write a name, and typical errors."""

from __future__ import annotations

from corpuscle.figures import bar_plot, phrase_lattice
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, h3, p
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import clip, count, counted, percent

__all__ = ["report"]


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    figures = findings["measures"]
    return Chapter(
        headline=(
            f"transliterator: {percent(figures['acc'])} of {counted(findings['held_out'], 'unseen name')} "
            "right at the first try"
        ),
        figures={
            "pairs": findings["pairs"],
            "names": findings["held_out"],
            **pick(figures, "acc", "f_score", "mrr", "map_ref", "acc_low", "acc_high"),
        },
        cards=[
            Card(
                percent(figures["acc"], 0), "unseen names written right",
                f"letter by letter: {percent(findings['baseline'], 0)}",
            )
        ],
        body=[_in_words(findings), *_rivals(findings), _pictures(findings), *_errors(findings)],
        commands=[
            ("corpuscle transliterate apply {model} NAMES", "write names in the other script"),
            ("corpuscle transliterate apply {model} NAMES --nbest 5", "the five best ways to write each"),
        ],
    )


def _in_words(findings: Findings) -> Html:
    figures = findings["measures"]
    tuned = f"were tuned on {counted(findings['tuned_on'], 'name')} of the other nine tenths"
    if not findings["rounds"]:
        tuned = "are those it began with: the other nine tenths gave nothing to tune them on"
    return p(
        f"Learned from {counted(findings['pairs'], 'name')} in two scripts. A model trained without a tenth of "
        f"them writes {percent(figures['acc'])} of the {counted(findings['held_out'], 'name')} it has not "
        f"seen as the list has them (95 % interval: {percent(figures['acc_low'])} to "
        f"{percent(figures['acc_high'])}). Its answers share {percent(figures['f_score'])} of their letters "
        f"with the right ones; the mean reciprocal rank of the right one is {figures['mrr']:.2f}. The weights of its "
        f"features {tuned}. The model in the pack has the same settings and weights, and learned from all names."
    )


def _rivals(findings: Findings) -> list[Html]:
    """What was compared, where there was a choice."""
    names = {"phrase": "phrases of letters", "neural": "a network", "combined": "both together"}
    shares = [f"{names[name]} {percent(acc)}" for name, acc in findings["rivals"].items()]
    if len(shares) == 1:
        return []
    said = ", ".join(shares)
    return [p(f"Measured on the same unseen names: {said}. In the pack: {names[findings['chosen']]}.")]


def _pictures(findings: Findings) -> Html:
    plots = [
        page.figure(
            phrase_lattice(
                [(target, [(source, written) for source, written in phrases]) for target, phrases in ways],
                title=f"Ways to write {isolated(clip(word, 24))}",
            ),
            "An unseen name, piece by piece; the best way is on top.",
        )
        for word, ways in findings["lattices"]
        if ways
    ]
    if confusions := findings["confusions"]:
        bars = bar_plot(
            [f"{isolated(found) or '∅'} for {isolated(wanted) or '∅'}" for found, wanted, _ in confusions],
            [n for *_, n in confusions], title="What is written for what", value_label="wrong names",
        )  # fmt: skip
        plots.append(page.figure(bars, "Where the answer and the right one part; ∅ is nothing."))
    return page.plots(plots)


def _errors(findings: Findings) -> list[Html]:
    if not findings["errors"]:
        return []
    rows = [
        (row["source"], row["found"] or "∅", row["wanted"], "not found" if row["rank"] is None else row["rank"])
        for row in findings["errors"]
    ]
    return [
        h3("Typical errors"),
        p(f"{counted(findings['wrong'], 'name')} of {count(findings['held_out'])} came out wrong. The first:"),
        page.table(("name", "written", "right", "rank of the right one"), rows, (3,)),
    ]
