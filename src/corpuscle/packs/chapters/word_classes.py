"""The chapter about word classes: their tree, all of them with their most frequent words, and how much of the text each
covers."""

from __future__ import annotations

import numpy as np

from corpuscle.figures import LeafShown, bar_plot, merge_tree
from corpuscle.packs import page
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import element, h3, p
from corpuscle.text.wording import clip, counted, percent

__all__ = ["report"]

_BARS, _SHOWN = 10, 24


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    classes = findings["classes"]
    grouped = counted(len(classes), "class", "classes")
    bits = findings["mutual_information_bits"]
    half = 1 + int(np.searchsorted(np.cumsum([c["share"] for c in classes]), 0.5))
    cards = [
        page.card(
            element("h4", f"{percent(c['share'])} of the text · {counted(c['types'], 'word')}"),
            p(page.words(c["words"]), " …" if c["types"] > len(c["words"]) else "", dir="auto", translate="no"),
        )
        for c in classes
    ]
    plot = bar_plot(
        [clip(" ".join(c["words"][:2]), 24) for c in classes[:_BARS]],
        [round(100 * c["share"], 1) for c in classes[:_BARS]], title="The largest classes",
        value_label="% of the text; named by the two most frequent words",
    )  # fmt: skip
    shown = findings["tree"]
    leaves = [LeafShown(*leaf) for leaf in shown["leaves"]]
    tree = merge_tree(leaves, shown["merges"], shown["values"])
    cut = f" The tree is cut where {len(leaves)} are left." if len(leaves) < len(classes) else ""
    if len(cards) > _SHOWN:
        folded = element("summary", f"{len(cards) - _SHOWN} smaller classes"), page.grid(cards[_SHOWN:])
        cards[_SHOWN:] = [element("details", *folded)]
    return Chapter(
        headline=f"word classes: {grouped} of {counted(findings['types'], 'word')}",
        figures={"classes": len(classes), **pick(findings, "types", "mutual_information_bits")},
        cards=[Card(f"{bits:.1f} bits", f"that a class tells about the next one; {grouped}", "by chance: 0")],
        body=[
            p(
                "Words of one class stand in similar places: the words before and after them belong to the same "
                "classes. Nobody told the computer what a noun or an ending is; many classes will still look like "
                "parts of speech, paradigm cells, or topics. Rare words are placed by little evidence: trust the "
                "first ones of a class most."
            ),
            p(
                f"The largest class has {percent(classes[0]['share'])} of the text. Knowing the class of a word tells "
                f"{findings['mutual_information_bits']:.2f} bits about the class of the next. The number of classes "
                f"follows a rule (the {step.settings['classes']}); the last command below learns another number of "
                "them."
            ),
            page.plots([page.figure(plot, f"{half} of {grouped} cover half of the text.")]),
            h3("The class tree"),
            p(
                "Classes that are used alike come together first: those two are merged, again and again, whose merger "
                f"loses the least of what a class tells about the next.{cut} The string of zeros and ones is the way "
                "from the left to a class; its beginnings are coarser classes, for taggers and parsers that want "
                "features of several grains."
            ),
            page.plots([page.figure(tree, natural=True)]),
            h3("All classes, the largest first"),
            page.grid(cards),
        ],
        commands=[
            ("corpuscle classes show {model}", "the classes with their words"),
            ("corpuscle classes export {model}", "a list of words with their classes"),
            ("corpuscle classes export {model} --format paths", "a list of words with the paths of their classes"),
            ("corpuscle classes train TEXT -o classes.model --classes 50", "classes of another grain"),
        ],
    )
