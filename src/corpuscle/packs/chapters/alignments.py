"""The chapter about word alignment: how much was learned, links as grids, the dictionary, and suspicious pairs."""

from __future__ import annotations

import numpy as np

from corpuscle.figures import alignment_grid, bar_plot
from corpuscle.packs import page
from corpuscle.packs.chapters import dictionary
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.html import Html, element, fragment, h3, p
from corpuscle.text.wording import count, counted, percent

__all__ = ["BY_CHANCE", "report"]

_HELPS = 0.8
BY_CHANCE = 0.92
"""A pair is called suspicious if a model is no surer of it than of this share of sentences matched by chance."""


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    held = findings["held_out"]
    found = held["found"] / held["asked"] if held["asked"] else None
    what = f"unseen sentences whose translation is found among {held['choices']}"
    chance = f"by chance: {percent(1 / max(1, held['choices']), 0)}"
    return Chapter(
        headline=(
            f"word alignment: {counted(findings['entries'], 'dictionary entry', 'dictionary entries')} "
            f"({findings['seen_once']:,} seen only once) from {counted(findings['pairs'], 'sentence pair')}, "
            f"{findings['suspicious']:,} of them suspicious"
        ),
        figures={
            **pick(findings, "pairs", "entries", "seen_once", "sure", "suspicious"),
            "held_out_pairs": held["pairs"],
            "found": found,
            **pick(held, "agreement", "coverage"),
            **pick(findings, "bits_with", "bits_without"),
        },
        cards=[
            Card(count(findings["entries"]), f"dictionary entries, {count(findings['seen_once'])} seen only once"),
            *([] if found is None else [Card(percent(found, 0), what, chance)]),
        ],
        body=[*_in_words(findings), *_pictures(findings), *_dictionary(findings, step), *_suspicious(findings, step)],
        commands=[
            ("corpuscle align apply {model} SRC TGT", "the links of other sentence pairs"),
            ("corpuscle align draw {model} SRC TGT -o grid.svg --line 1", "a sentence pair as a picture"),
            ("corpuscle align lexicon {model} --min-links 2 --min-score 0.5", "a dictionary of sure entries only"),
            ("corpuscle align filter {model} SRC TGT", "sentence pairs that hardly translate each other"),
        ],
    )


def _in_words(findings: Findings) -> list[Html]:
    held = findings["held_out"]
    agreed, (known, other_known) = percent(held["agreement"]), map(percent, held["coverage"])
    shown = "could not be asked for the translations of sentences of that tenth, since they are all the same"
    if held["asked"]:
        shown = (
            f"was shown {counted(held['asked'], 'sentence')} of that tenth, each with {held['choices']} "
            "translations of which one is right: it preferred the right one in "
            f"{percent(held['found'] / held['asked'])} of the cases (guessing would give "
            f"{percent(1 / held['choices'], 0)})"
        )
    (before, other_before), (after, other_after) = (
        [2 ** min(bits, 99) for bits in findings[name]] for name in ("bits_without", "bits_with")
    )
    helped = after < _HELPS * before and other_after < _HELPS * other_before
    linked, told = findings.get("linked", 0), "Nothing told the computer which words belong together"
    if linked:
        told = f"Beside {counted(linked, 'group')} of words that people have linked, {told[0].lower()}{told[1:]}"
    doubt = "" if helped else " Where the translation hardly helps there are too few pairs to learn from."
    return [
        p(
            f"Learned from {counted(findings['pairs'], 'sentence pair')} with {count(findings['words'][0])} and "
            f"{count(findings['words'][1])} words, in both directions at once. {told}: "
            "a link is what makes the other sentence most probable."
        ),
        p(
            f"How good is it? A model that learned without a tenth of the pairs ({count(held['pairs'])}, drawn by the "
            f"seed) {shown}. The model knows {known} and {other_known} of the words in the "
            f"unseen pairs. Of all links that either direction sees, both see {agreed}. There are no gold links to "
            "compare with, so these figures say how much was learned, not how many links are right. The model in the "
            "pack has the same settings and learned from all pairs."
        ),
        p(
            "Each half of the pairs was also looked at by a model (a hidden Markov model) that learned from the other "
            f"half. Guessing a word of {findings['languages'][0]} by its frequency is choosing among {before:,.1f} "
            f"words; with the translation at hand it is choosing among {after:,.1f}. For {findings['languages'][1]} "
            f"the numbers are {other_before:,.1f} and {other_after:,.1f}. This is about words that those models know. "
            "Each guess is mixed from the translation and the frequency, by a weight that was found on other "
            f"pairs.{doubt}"
        ),
    ]


def _title(name: str) -> str:
    return name[:1].upper() + name[1:]


def _pictures(findings: Findings) -> list[Html]:
    grids = [
        page.figure(
            alignment_grid(
                grid["source"], grid["target"], np.array(grid["weights"]), [(i, j) for i, j in grid["links"]],
                title=f"Unseen pair {number}",
            ),
            natural=True,
        )
        for number, grid in enumerate(findings["grids"], 1)
    ]  # fmt: skip
    if not grids:
        return []
    return [
        h3("Links"),
        page.note(
            "The stronger the colour of a square, the more probable the link; dots are the links that were chosen."
        ),
        page.plots(grids),
    ]


def _dictionary(findings: Findings, step: Step) -> list[Html]:
    _, _, tsv, comma, lift, html, _ = step.writes
    said = (
        f"{counted(findings['entries'], 'entry', 'entries')} of {counted(findings['headwords'], 'word')}, "
        "with examples and how sure each is, are in "
    )
    on_page = "" if findings["on_page"] == findings["entries"] else f", {count(findings['on_page'])} of them"
    doubt = (
        f"{count(findings['sure'])} of them are sure; {count(findings['seen_once'])} rest on a single link, which may "
        "be an accident."
    )
    to_read, *to_work_with = (element("a", name, href=name) for name in (html, tsv, comma, lift))
    return [
        h3("Dictionary"),
        p(
            said, fragment(*to_work_with, between=", "), " (to work with; LIFT is for FLEx) and in ", to_read,
            f" (to read and search{on_page}). ", doubt, " The most frequent content words:",
        ),
        page.grid(map(dictionary.card, findings["shown"])),
        dictionary.key(),
    ]


def _suspicious(findings: Findings, step: Step) -> list[Html]:
    number = findings["suspicious"]
    listed = "No pair is" if number == 0 else "1 pair is" if number == 1 else f"{count(number)} pairs are"
    rows = [(f"{name}:{line}", f"{value:.2f}", *sides) for name, line, value, *sides in findings["worst"]]
    plot = bar_plot(
        [f"{i / 10:.1f} to {(i + 1) / 10:.1f}" for i in range(10)], findings["confidence"],
        title="How sure the model is of the pairs", value_label="sentence pairs by confidence",
    )  # fmt: skip
    return [
        h3("Suspicious pairs"),
        p(
            "The confidence of a pair is the mean probability that its words are linked to anything, by the model that "
            "learned from the other half of the pairs. Some sentences make a model sure of any translation, so what "
            "counts is how much surer it is of a pair than of the same two sentences with others of their length. Of "
            f"sentences that were matched by chance {percent(BY_CHANCE, 0)} gain less than "
            f"{findings['by_chance']:.3f}. {listed} no better than that (all of them are in {step.writes[-1]}): look "
            "for lines that have shifted, free translations and other languages. Pairs of rare words can be right and "
            "still be among them. The most doubtful ones:"
        ),
        page.table(("line", "confidence", *map(_title, findings["languages"])), rows, (1,)),
        page.plots([page.figure(plot)]),
    ]
