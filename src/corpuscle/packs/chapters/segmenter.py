"""The chapter about the segmenter: how its words were found, how sure they are, how the lexicon grew, and examples."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from corpuscle.packs import page
from corpuscle.packs.heldout import part_held
from corpuscle.packs.job import FEWEST_SPACES
from corpuscle.packs.step import Card, Chapter, Findings, Step, pick
from corpuscle.text.characters import clusters
from corpuscle.text.html import Html, bdi, fragment, h3, p, small, span
from corpuscle.text.wording import count, counted, percent

__all__ = ["report"]

_SURE, _MAYBE = 0.8, 0.2


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    held = findings["held_out"]
    length = findings["letters"] / max(1, findings["words"])
    return Chapter(
        headline=(
            f"word segmenter: {counted(findings['types'], 'different word')} of {length:.1f} letters on average, "
            f"{held['bits_per_letter']:.2f} bits a letter of unseen text"
        ),
        figures={
            **pick(findings, "letters", "words", "types", "sweeps"),
            **pick(held, "perplexity", "low", "high", "bits_per_letter", "known"),
            "agreement": findings["agreement"]["f1"],
            "boundary_agreement": findings["agreement"]["boundary_f1"],
        },
        cards=[
            Card(
                percent(findings["agreement"]["boundary_f1"], 0), "word boundaries on which two models agree",
                f"cuts at random: {percent(1 / max(1.0, length), 0)}",
            )
        ],
        body=[*_in_words(findings, step, length), _plots(findings), *_frequent(findings), *_examples(findings)],
        commands=[
            ("corpuscle segment apply {model} TEXT", "split other text into words"),
            ("corpuscle segment lexicon {model}", "the words it knows"),
        ],
    )


def _in_words(findings: Findings, step: Step, length: float) -> list[Html]:
    held, agreed, (_, segmented, words) = findings["held_out"], findings["agreement"], step.writes
    part = part_held(held["letters"] / findings["letters"])
    return [
        p(
            f"Fewer than {percent(FEWEST_SPACES, 0)} of the characters of this text are spaces, so its words had to "
            f"be found first. In {findings['sweeps']} rounds over the text the computer drew the words of each "
            "sentence anew, given those of all others: words are what makes the whole text most probable. It found "
            f"{count(findings['words'])} words, {count(findings['types'])} different ones, with {length:.2f} "
            f"letters on average. The longest word it considers has {findings['max_word']} letters. The split text is "
            f"in {segmented}, all words are in {words}, and all that follows in this report is about those words."
        ),
        p(
            f"There are no gold words to compare with. A model that learned without {part} of the text "
            f"({counted(held['sentences'], 'sentence')}) needs {held['bits_per_letter']:.2f} bits to predict a letter "
            f"of that part (perplexity {held['perplexity']:.2f}, 95 % interval {held['low']:.2f} to "
            f"{held['high']:.2f}). "
            f"{percent(held['known'])} of the words that it finds there also occur in the rest. It and the model in "
            f"the pack, which has the same settings and learned from everything, agree on {percent(agreed['f1'])} of "
            f"the words and {percent(agreed['boundary_f1'])} of the boundaries of these sentences: where they do not, "
            "the text says too little, and one should not trust either."
        ),
    ]


def _plots(findings: Findings) -> Html:
    history, growth = np.array(findings["history"]), findings["growth"]
    rounds = list(range(1, len(history) + 1))
    courses = (
        (
            0, "log probability", "Has it settled?",
            "In the first half words hardly depend on their neighbours; a line that still rises at the right wants "
            "more rounds.",
        ),
        (1, "perplexity of a letter", "How well letters are predicted", "Each sentence given all others."),
        (3, "different words", "The lexicon, round by round", "Words are tried, kept and dropped."),
    )  # fmt: skip
    plots = [
        page.curve(
            name, rounds, history[:, i].tolist(), said, title=title, x_label="rounds over the text", y_label=name
        )
        for i, name, title, said in courses
    ]
    plots.append(
        page.curve(
            "different words", growth["read"], growth["types"],
            "Most languages show nearly a straight line (Heaps' law).", title="How the lexicon grows with the text",
            x_label="words of text read", y_label="different words", log_x=True, log_y=True,
        )
    )  # fmt: skip
    return page.plots(plots)


def _frequent(findings: Findings) -> list[Html]:
    frequent = findings["frequent"]
    shown = [fragment(bdi(word, class_="word"), " ", small(count(n), dir="ltr"), " ") for word, n in frequent]
    lengths = ", ".join(
        f"{i}{' or more' if i == len(findings['lengths']) else ''}: {percent(share, 0)}"
        for i, share in enumerate(findings["lengths"], 1)
        if share >= 0.005
    )
    return [
        h3("The most frequent words"),
        p(*shown, dir="auto", translate="no"),
        page.note(f"Letters of a word, by share of the text: {lengths}."),
    ]


def _examples(findings: Findings) -> list[Html]:
    key = p(
        span("|", class_="cut"),
        " a boundary; ",
        span("|", class_="cut unsure"),
        f" one of which the model is less than {percent(_SURE, 0)} sure; ",
        span("¦", class_="maybe"),
        f" none, though it is at least {percent(_MAYBE, 0)} sure of one",
        class_="key",
    )
    return [h3("Unseen sentences, split"), key, *map(_split, findings["examples"])]


def _split(example: list[list[Any]]) -> Html:
    """A sentence with its boundaries; one that parts a grapheme cluster is shown behind it."""
    spelled = [letter for letter, _, _ in example]
    text = "".join(spelled)
    ends = list(accumulate(map(len, clusters(text)), initial=0))
    boundaries: dict[int, tuple[bool, float]] = {}
    for at, (_, cut, probability) in zip(accumulate(map(len, spelled), initial=0), example, strict=False):
        place = ends[bisect_left(ends, at)]
        boundaries[place] = max(boundaries.get(place, (False, 0.0)), (cut, probability))
    parts: list[object] = []
    for begin, end in pairwise(ends):
        cut, probability = boundaries[begin]
        if begin and (cut or probability >= _MAYBE):
            kind = "maybe" if not cut else "cut" if probability >= _SURE else "cut unsure"
            parts.append(span("|" if cut else "¦", class_=kind, title=percent(probability, 0)))
        parts.append(text[begin:end])
    return page.sentence(*parts)
