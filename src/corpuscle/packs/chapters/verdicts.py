"""Verdicts: what a figure means, in one sentence. Better than what, and is that good for this much text?

Every step of ``learn`` has one here: they stand in the summary of the report, for people who read only that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corpuscle.packs.step import Findings, Step
from corpuscle.text.wording import counted, percent

__all__ = ["most_frequent", "verdict_of"]

_COUNTED = ("few", "many")


def _amount(n: float, little: float, fair: float, thing: str, sizes: tuple[str, str] = ("little", "much")) -> str:
    """How much material that is."""
    small, large = sizes
    size = f"very {small}" if n < little else small if n < fair else "a fair amount of" if n < 10 * fair else large
    return f"from {size} {thing}"


def _grade(value: float, *bounds: tuple[float, str]) -> str:
    """The word of the first bound that a value reaches."""
    return next(word for bound, word in bounds if value >= bound)


def _language_model(found: Findings) -> str:
    frequency = found["orders"][0]["perplexity"]
    chosen = min((row["perplexity"] for row in found["methods"]), default=frequency)
    amount = _amount(found["words"], 20_000, 200_000, "text")
    gain = frequency / max(chosen, 1e-9)
    how = _grade(gain, (3, "It has learned how words follow one another"), (1.5, "It has learned something"),
                 (0, "It knows hardly more than frequencies"))  # fmt: skip
    return f"{how} {amount}: {gain:.1f} times better than guessing by frequency ({frequency:,.0f} to {chosen:,.0f})."


def _segmenter(found: Findings) -> str:
    share, chance = found["agreement"]["boundary_f1"], found["words"] / max(1, found["letters"])
    how = _grade(share, (0.95, "Steady"), (0.85, "Fairly steady"), (0, "Unsteady: more text is needed"))
    return (
        f"{how}: with and without a tenth of the text {percent(share, 0)} of the boundaries are the same; as many "
        f"cuts at random would agree on {percent(chance, 0)}."
    )


def _classes(found: Findings) -> str:
    bits = found["mutual_information_bits"]
    return (
        f"The class of a word tells {bits:.1f} bits about the class of the next one; 0 would be chance. "
        f"{counted(found['types'], 'word')} were placed, the rare ones by little evidence."
    )


def _vectors(found: Findings) -> str:
    trust = "neighbours are hints" if found["tokens"] < 1_000_000 else "neighbours can be relied on"
    near = found["alike"]
    learned = f"Learned {_amount(found['tokens'], 100_000, 1_000_000, 'text')}: {trust}."
    if not near["words"]:
        return learned
    return (
        f"{learned} The nearest neighbour of a word behaves as it does in {percent(near['share'], 0)} of the cases, "
        f"any word in {percent(near['chance'], 0)}."
    )


def _topics(found: Findings) -> str:
    plain, topical = (found["measures"][name]["perplexity"] for name in ("plain", "topics"))
    gain = 1 - topical / plain
    how = _grade(gain, (0.1, "Topics help"), (0.02, "Topics help a little"), (-9, "Topics do not help"))
    return (
        f"{how}: unseen documents are predicted {percent(abs(gain), 0)} {'better' if gain > 0 else 'worse'} with them."
    )


def _align(found: Findings) -> str:
    held, amount = found["held_out"], _amount(found["pairs"], 500, 5_000, "translations", _COUNTED)
    if not held["asked"]:
        return f"Not measured: all translations are the same ({amount})."
    share = held["found"] / held["asked"]
    how = _grade(share, (0.9, "Good"), (0.6, "Usable"), (0, "Weak: more pairs are needed"))
    return (
        f"{how}, {amount}: the right one of {held['choices']} translations is found for {percent(share, 0)} of unseen "
        f"sentences, {percent(1 / held['choices'], 0)} by chance."
    )


def _names(found: Findings) -> str:
    share = found["measures"]["acc"]
    how = _grade(share, (0.7, "Good"), (0.4, "Useful with several candidates"), (0, "Weak"))
    return (
        f"{how}: {percent(share, 0)} of unseen names are written exactly as wanted at the first attempt, "
        f"{percent(found['baseline'], 0)} letter by letter."
    )


def _translate(found: Findings) -> str:
    score, amount = 100 * found["measures"]["bleu"], _amount(found["pairs"], 2_000, 50_000, "translations", _COUNTED)
    how = _grade(score, (40, "Good drafts"), (20, "Drafts to correct"), (10, "Rough drafts"), (0, "Hardly usable"))
    return (
        f"{how}, {amount}: BLEU {score:.0f}, where 100 are the very words of the other translator; "
        f"{percent(found['unknown'], 0)} of the words of new sentences are unknown."
    )


def most_frequent(rows: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """The tag that most words have, and their share."""
    most = max(rows, key=lambda row: row["words"])
    return most["tag"], most["words"] / max(1, sum(row["words"] for row in rows))


def _tagger(found: Findings) -> str:
    measures, rows = found["measures"], found["tags"]
    main = next(name for name in ("upos", "xpos", "feats", "lemma") if name in measures)
    said = f"{percent(measures[main], 0)} of the words of unseen sentences are right"
    if main == "upos" and rows:
        tag, share = most_frequent(rows)
        said += f"; calling every word {tag} would give {percent(share, 0)}"
    return f"{_grade(measures[main], (0.95, 'Good'), (0.85, 'Usable'), (0, 'Weak'))}: {said}."


def _parser(found: Findings) -> str:
    uas, curve = found["measures"]["uas"], found["curve"]
    grows = ""
    if len(curve) > 1:
        gain = curve[-1][1] - curve[0][1]
        less = f"with {counted(curve[0][0], 'sentence')} it was {percent(curve[0][1], 0)}"
        grows = f"; {less}, so more annotation {'helps' if gain > 0.02 else 'would hardly help'}"
    how = _grade(uas, (0.85, "Good"), (0.7, "Usable"), (0, "Weak"))
    return f"{how}: {percent(uas, 0)} of the words of unseen sentences have the right head{grows}."


def _projected(found: Findings) -> str:
    if found["by"] == "pack":
        share = found["arcs"] / max(1, found["words"])
        how = _grade(share, (0.5, "Much came over"), (0.25, "A part came over"), (0, "Little came over"))
        return (
            f"{how}: {100 * share:.0f} arcs for a hundred words, by the trees of the pack's parser; nobody has "
            "annotated the other language."
        )
    best = max(found["uas_left"], found["uas_right"])
    how = _grade(found["uas"] - best, (0.3, "Much better"), (0.1, "Better"), (-9, "Hardly better"))
    return (
        f"{how} than hanging every word on its neighbour ({percent(found['uas'], 0)} beside {percent(best, 0)} right, "
        "measured on the language of the treebank); nobody has annotated the other one."
    )


def _beside(what: str, name: str) -> Callable[[float, float], str]:
    """A figure beside that of a simple way."""

    def said(ours: float, simple: float) -> str:
        how = _grade(ours - simple, (0.1, "Much better"), (0.02, "Better"), (-0.02, "As good"), (-9, "Worse"))
        link = "as" if how == "As good" else "than"
        return f"{how} {link} {name}: {what} {percent(ours, 0)} beside {percent(simple, 0)}."

    return said


_ENTITIES = _beside("F1", "looking up what was marked before")
_ANALYSES = _beside("right for", "the most frequent analysis of each word")
_BRACKETS = _beside("F1", "a plain PCFG")
_MESSAGES = _beside("F1", "the most frequent replacement of each word")


def _normalise(found: Findings) -> str:
    if found.get("held_out") is None:
        return "Not measured: nobody has said what was meant (noisy.tsv would)."
    return _MESSAGES(found["held_out"]["f1"], found["baseline"])


def _interlinear(found: Findings) -> str:
    share, proposed = found["glossed"] / max(1, found["words"]), counted(found["proposed"], "gloss", "glosses")
    return f"{percent(share, 0)} of the words have a gloss by people; {proposed} proposed."


def _brackets(found: Findings) -> str:
    return (
        f"A hypothesis from {counted(found['sentences'], 'sentence')} without trees: nothing to measure it by. "
        f"{percent(found['right_branching'], 0)} of the trees just branch to the right, as a blind guess would."
    )


_VERDICTS: dict[str, Callable[[Findings], str]] = {
    "interlinear": _interlinear,
    "segment": _segmenter,
    "lm": _language_model,
    "classes": _classes,
    "vectors": _vectors,
    "topics": _topics,
    "align": _align,
    "names": _names,
    "translate": _translate,
    "tagger": _tagger,
    "disambiguator": lambda found: _ANALYSES(found["measures"]["a1"], found["baseline"]["a1"]),
    "parser": _parser,
    "projected": _projected,
    "normaliser": _normalise,
    "entities": lambda found: _ENTITIES(found["held_out"]["strict_f1"], found["baseline"]),
    "brackets": _brackets,
    "grammar": lambda found: _BRACKETS(found["measures"]["labelled_f1"], found["baseline"]),
}


def verdict_of(step: Step, findings: Findings) -> str:
    """What the figures of a step mean; empty for a step that is not one of ours."""
    is_ours = step.report.__module__.startswith(__name__.rpartition(".")[0])
    return _VERDICTS[step.name](findings) if is_ours and step.name in _VERDICTS else ""
