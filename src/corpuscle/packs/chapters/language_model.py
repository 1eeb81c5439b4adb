"""The chapter about the language model: how sure it is, whether more text would help, and what surprises it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corpuscle.catalogue import TASKS
from corpuscle.figures import Series, line_plot
from corpuscle.packs import page
from corpuscle.packs.heldout import FEWEST_DOCUMENTS, part_held
from corpuscle.packs.step import Card, Chapter, Findings, Step
from corpuscle.text.html import Html, bdi, fragment, h3, p, span
from corpuscle.text.wording import clip, count, percent

__all__ = ["report"]

_SHADES, _BITS_A_SHADE = 7, 2.5
_SHARES = (0.0, 100.0)
"""The scale of two plots of shares that stand beside each other."""


def report(findings: Findings, step: Step) -> Chapter:
    """What was found by the step."""
    chosen = next(row for row in findings["methods"] if row["method"] == findings["method"])
    held = findings["held_out"]
    unseen = chosen["oov"] / max(1, held["words"])
    return Chapter(
        headline=(
            f"language model ({findings['method']}) of order {findings['order']}: "
            f"held-out perplexity {_shown(chosen['perplexity'])} "
            f"({_shown(chosen['low'])} to {_shown(chosen['high'])}), {percent(unseen)} unknown words"
        ),
        figures={name: chosen[name] for name in chosen if name != "signature"},
        cards=[
            Card(count(findings["words"]), f"words of text read, {count(findings['types'])} different ones"),
            Card(
                _shown(chosen["perplexity"]), f"perplexity on unseen text, {percent(unseen)} of its words unknown",
                f"by frequency alone: {_shown(findings['orders'][0]['perplexity'])}",
            ),
        ],
        body=[
            *_in_words(findings, chosen, unseen),
            *_methods(findings),
            _plots(findings),
            *_sentences(findings),
            page.note(f"How the figures were counted: {chosen['signature'].replace('|', ', ')}."),
        ],
        commands=[
            ("corpuscle lm score {model} TEXT --by-word", "the surprisal of every word of a text"),
            ("corpuscle lm perplexity {model} TEXT", "how well the model predicts a text"),
            ('corpuscle lm next {model} "SOME WORDS"', "what may come next"),
            ("corpuscle lm sample {model} -n 5", "sentences that the model makes up"),
            ("corpuscle lm export {model} -o lm.arpa --approximate", "the model for other tools"),
        ],
    )


def _shown(number: float | None) -> str:
    return "infinite" if number is None else f"{number:,.1f}" if number < 1000 else f"{number:,.0f}"


def _in_words(findings: Findings, chosen: Mapping[str, Any], unseen: float) -> list[Html]:
    held, order = findings["held_out"], findings["order"]
    looks = "looks at each word alone" if order == 1 else f"looks at the last {order - 1} words to predict the next"
    if order == 2:
        looks = "looks at the last word to predict the next"
    whole = "whole documents"
    if held["groups"] == "sentences":
        few = findings["documents"] < FEWEST_DOCUMENTS
        whole = f"single sentences, since {'there are few documents' if few else 'nearly all is in a few documents'}"
    part = part_held(held["words"] / max(1, findings["words"]))
    marked = ", or the text itself marks them as unknown" if findings["marked_unknown"] else ""
    unknown = (
        f"{percent(unseen)} of the words were unknown: they do not occur in the text it learned from{marked}. "
        f"Leaving them out, the perplexity is {_shown(chosen['perplexity_without_oov'])}."
        if chosen["oov"]
        else "Not a single word was unknown."
    )
    parts = [
        p(
            f"The model {looks}. On text that it had not seen it was, on average, as unsure as if it had to choose "
            f"among {_shown(chosen['perplexity'])} equally likely words (that is its perplexity; for another sample of "
            f"sentences one would expect {_shown(chosen['low'])} to {_shown(chosen['high'])}). {unknown}"
        ),
        p(
            f"These figures come from models trained without {part} of the text ({count(held['sentences'])} "
            f"sentences, {count(held['words'])} words, {whole}, drawn by the seed). The order was chosen by the "
            f"same part. The model in the pack was then trained once more, with the same settings, on all "
            f"{count(findings['words'])} words, so it should be a little better than the figures say."
        ),
    ]
    if findings["segmented"]:
        parts.append(
            p(
                "The words are those that the segmenter has found. It was not told anything about that part, but it "
                "has read it, which flatters these figures a little; and they are figures a word, so they cannot be "
                "compared with those of other words for the same text."
            )
        )
    sentences = held["repeated_sentences"] / held["sentences"]
    if sentences >= 0.005:
        words = held["repeated_words"] / max(1, held["words"])
        parts.append(
            p(
                f"{percent(sentences)} of the held-out sentences, with {percent(words)} of the words, also "
                "occur word for word in the rest of the text. Repetition makes figures look better than they are."
            )
        )
    return parts


def _methods(findings: Findings) -> list[Html]:
    """The methods beside one another on the held-out part."""
    base, rows = findings["methods"][0]["perplexity"], []
    for row in sorted(findings["methods"], key=lambda row: row["perplexity"] or float("inf")):
        share = row["perplexity"] / base - 1 if base and row["perplexity"] else 0.0
        beside = "" if row is findings["methods"][0] else f"{100 * share:+.1f} %"
        interval = f"{_shown(row['low'])} to {_shown(row['high'])}"
        rows.append((TASKS["lm"].methods[row["method"]].help, _shown(row["perplexity"]), interval, beside))
    return [
        h3("Which method"),
        p(f"At order {findings['order']}; the first one is in the pack."),
        page.table(("method", "held-out perplexity", "95 % interval", "beside Kneser-Ney"), rows, numbers=(1, 2, 3)),
    ]


def _plots(findings: Findings) -> Html:
    rows = [row for row in findings["orders"] if row["perplexity"] is not None]
    plots = []
    if rows:
        line = Series(
            "held-out perplexity", *([row[name] for row in rows] for name in ("order", "perplexity", "low", "high"))
        )
        plots.append(
            page.figure(
                line_plot(
                    [line], title="How much context helps",
                    x_label="order: words the model looks at, with the predicted one",
                    y_label="held-out perplexity (lower is better)", x_ticks=line.x, numbers=True,
                ),
                f"The best order is {findings['order']}. The band is the 95 % interval.",
            )
        )  # fmt: skip
    coverage, frequencies = findings["coverage"], findings["frequencies"]
    plots += [
        page.curve(
            "unknown words", coverage["read"], [100 * u for u in coverage["unseen"]], _trend(coverage),
            title="Would more text help?", x_label="words of text read", y_label="unknown words in unseen text, %",
            log_x=True, reach=_SHARES,
        ),
        page.curve(
            "covered", coverage["vocabulary"], [100 * c for c in coverage["covered"]], _few_words(coverage),
            title="How few words cover the text", x_label="most frequent words known",
            y_label="share of unseen text that they cover, %", log_x=True, reach=_SHARES,
        ),
        page.curve(
            "words", frequencies["rank"], frequencies["count"],
            "In most languages this is nearly a straight line (Zipf's law). Steps at the right are the rare words.",
            title="Frequent and rare words", x_label="rank of the word", y_label="how often it occurs", log_x=True,
            log_y=True,
        ),
    ]  # fmt: skip
    return page.plots(plots)


def _trend(coverage: Mapping[str, Any]) -> str:
    now = coverage["unseen"][-1]
    half = float(np.interp(coverage["read"][-1] / 2, coverage["read"], coverage["unseen"]))
    return (
        f"After half of the text {percent(half)} of the words of unseen text were unknown, after all of it "
        f"{percent(now)}."
    )


def _few_words(coverage: Mapping[str, Any]) -> str:
    known = [size for size in (10, 100, 1000, 10_000) if size <= coverage["vocabulary"][-1]]
    shares = np.interp(known, coverage["vocabulary"], coverage["covered"])
    said = [f"{count(size)} words cover {percent(share, 0)}" for size, share in zip(known, shares, strict=True)]
    return f"The most frequent {', '.join(said)}." if said else ""


def _shaded(sentence: Mapping[str, Any]) -> Html:
    """A sentence, each word the darker the more surprising it is; unknown words are underlined."""
    parts = []
    for word, bits, unknown in [*sentence["words"], *([["…", 0.0, False]] if sentence["cut"] else [])]:
        # A surprisal without bound is stored as None.
        shade = _SHADES - 1 if bits is None else min(_SHADES - 1, max(0, int(bits / _BITS_A_SHADE)))
        tip = "impossible" if bits is None else f"{bits:.1f} bits"
        marks = (" unknown", ", unknown") if unknown else ("", "")
        parts.append(bdi(clip(word), class_=f"s{shade}{marks[0]}", title=f"{tip}{marks[1]}"))
    return page.sentence(fragment(*parts, between=" "))


def _key() -> Html:
    """What the shading means."""
    steps = [span(f"{i * _BITS_A_SHADE:g}{'+' if i == _SHADES - 1 else ''}", class_=f"s{i}") for i in range(_SHADES)]
    return p("surprisal in bits: ", *steps, " ", span("never seen before", class_="unknown"), class_="key")


def _sentences(findings: Findings) -> list[Html]:
    sizes = [(f"n-grams of order {m}", count(n)) for m, n in enumerate(findings["ngrams"], 1)]
    return [
        h3("The most surprising sentences"),
        p(
            "The unseen sentences that the model found hardest, word for word. Look here first for other languages, "
            "misspellings, lists, and passages that were not split into words well."
        ),
        _key(),
        *map(_shaded, findings["surprising"]),
        h3("The most ordinary ones"),
        *map(_shaded, findings["ordinary"]),
        h3("Sentences that the model made up"),
        *(page.sentence(page.words(words)) for words in findings["sampled"] if words),
        h3("Size"),
        page.facts([*sizes, ("file", f"{findings['bytes'] / 1e6:.2f} MB")]),
    ]
