"""The normaliser of a pack: messages typed in a hurry, in the spelling of the kit's text.

Words are those that the text has twice or more, and the forms of the lexicon. Where what was meant is known of some
messages (``noisy.tsv``), a model learns from nine tenths of these and is measured on the others, as is the most
frequent replacement of each word; the model in the pack learned from all of them. Without, only words that the text
does not have are changed, and nothing can be measured: the report shows what becomes of the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpuscle.measure import Result, normalisation_scores
from corpuscle.normalise import Choice, Normaliser, error_categories, read_slang, survey_of
from corpuscle.normalise.tokens import is_examined
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, compared, pick, with_counts
from corpuscle.packs.step import Job, LeftOut, Settings, Step, check_enough, checked_by, declared, naming
from corpuscle.text.columns import Normalised, read_normalised
from corpuscle.text.files import read_lines
from corpuscle.text.heldout import tenth
from corpuscle.text.html import p
from corpuscle.text.tables import read_table
from corpuscle.text.wording import clip, count, counted, percent

FILE = "models/normaliser.model"
FEWEST_MESSAGES, FEWEST_PAIRS = 10, 30
_SHOWN, _FREQUENT, _CHANGES, _LONGEST = 10, 12, 15, 30


@dataclass(frozen=True)
class Messages(Findings):
    """What is changed in ``messages``, and how rightly in those that were ``held_out``, where people have
    ``annotated`` some (``errors``: words by kind); ``baseline``: F1 of the most frequent replacements; ``words``: how
    many are standard; ``examples``, ``reasons``: messages before and after, and why words were changed."""

    messages: int
    words: int
    survey: Mapping[str, Any]
    annotated: int
    errors: Mapping[str, int]
    changed: int
    changed_messages: int
    frequent: tuple[tuple[str, str, int], ...]
    examples: Table
    reasons: Table
    held_out: Result | None = None
    baseline: float = 0.0

    def chapter(self, step: Step) -> Chapter:
        survey, found = self.survey, self.held_out
        strange, changed = survey["unknown"] / max(1, survey["tokens"]), counted(self.changed, "word")
        headline = f"{percent(strange)} of the words are not standard, {changed} changed"
        figures = {**pick(self, "messages", "annotated", "changed"), "unknown_rate": strange}
        card = Card(percent(strange, 0), "of the words of messages are not in the text")
        verdict = "Not measured: nobody has said what was meant (noisy.tsv would)."
        if found is not None:
            f1, simple = found["f1"], f"most frequent replacement: {percent(self.baseline, 0)}"
            headline = f"F1 {percent(f1)} on {counted(int(found['messages']), 'unseen message')}, {headline}"
            figures |= {**pick(found, "f1", "precision", "recall", "low", "high"), "baseline_f1": self.baseline}
            card = Card(percent(f1, 0), "F1 of corrected words in unseen messages", simple)
            verdict = compared("F1", f1, self.baseline, "the most frequent replacement of each word")
        rows = [(" ".join(row["before"]), " ".join(filter(None, row["after"]))) for row in self.examples]
        return Chapter(
            headline=f"messages: {headline}", figures=figures, cards=[card],
            body=[
                p(self._in_words(strange)),
                page.plots([
                    page.bars([(f"{10 * k} to {10 * (k + 1)} %", n) for k, n in enumerate(survey["histogram"])],
                              "Messages by the share of their words that are not standard.",
                              title="How strange messages are", value_label="messages"),
                    page.bars(self.errors.items(), "What is wrong with the words of the annotated messages.",
                              title="Kinds of errors", value_label="words"),
                ]),
                *([] if rows else [p("No message was changed.")]),
                *page.titled("Before and after", ("as typed", "in standard spelling"), rows),
                *page.titled("What is changed most often", ("typed", "becomes", "times"),
                             [(typed, form, count(n)) for typed, form, n in self.frequent], (2,)),
                *page.titled(
                    "Why", ("typed", "becomes", "other candidates", "what spoke for it", "sure"),
                    [(row["typed"], row["form"], ", ".join(row["others"]), step.labels.get(row["why"], row["why"]),
                      percent(row["confidence"])) for row in self.reasons], (4,),
                ),
            ],
            verdict=verdict,
        )  # fmt: skip

    def _in_words(self, strange: float) -> str:
        survey, found = self.survey, self.held_out
        said = (
            f"{counted(survey['messages'], 'message')} with {counted(survey['tokens'], 'word')}, of which "
            f"{count(survey['unknown'])} ({percent(strange)}) are not among the "
            f"{counted(self.words, 'standard word')}. {count(self.changed)} were changed, in "
            f"{counted(self.changed_messages, 'message')}. "
        )
        if found is None:
            return (
                f"{said}Nobody has said what was meant, so nothing could be measured: words outside the list count as "
                "ill-formed, names among them. A file noisy.tsv with messages as typed and as meant, token by token, "
                "would teach which words are wrong, and how many come out right."
            )
        return (
            f"{said}A model trained without a tenth of the {counted(self.annotated, 'annotated message')} finds "
            f"{percent(found['recall'])} of the ill-formed words of the others and what they mean, and "
            f"{percent(found['precision'])} of its changes are right: F1 {percent(found['f1'])} "
            f"{between(**pick(found, 'low', 'high'))}; the most frequent replacement of each word has "
            f"{percent(self.baseline)}. {percent(found['word_accuracy'])} of all words are as they were meant. The "
            "model in the pack has the same settings, and learned from all messages."
        )


def learn(job: Job, settings: Settings) -> Messages:
    path = job.kit.paths("noisy")[0]
    messages = [line.split() for _, line in read_lines(path)]
    check_enough(path, sum(map(bool, messages)), FEWEST_MESSAGES, "message")
    pairs, slang = (next(iter(job.kit.paths(role)), None) for role in ("meant", "slang"))
    gold = None if pairs is None else read_normalised(pairs)
    if gold is not None:
        check_enough(str(pairs), len(gold), FEWEST_PAIRS, "message with what was meant", "messages with what was meant")
    clean = [job.text.words(i) for i in range(len(job.text))] if job.kit.paths("text") else []
    if not clean and gold is None:
        raise LeftOut(path, None, "no running text to learn standard spelling from")
    standard = [] if gold is None else [" ".join(gold.standard(i)).split() for i in range(len(gold))]
    words = _words(job, [*clean, *standard], settings["min_count"])
    meanings = None if slang is None else read_slang(slang)

    def fit(some: Normalised | None, combine: str = "loglinear") -> Normaliser:
        own = job.common | ({"decode": settings["decode"]} if combine == "loglinear" else {})
        return Normaliser(combine=combine, **own).fit(messages, some, clean=clean, words=words, slang=meanings)

    with naming(path):
        measures, baseline = None, 0.0
        if gold is None:
            final = fit(None)
            final.save(job.pack / FILE)
        else:
            held = np.isin(range(len(gold)), tenth(range(len(gold)), job.seed, "packs/normaliser"))
            model, train, test, final = job.measured(fit, gold, held, file=FILE, path=path)
            typed = [list(message) for message in test.corpus]
            scores = normalisation_scores(test, model.normalise(typed), seed=job.seed)
            measures = with_counts(scores, messages=len(test))
            simple = fit(train, "dictionary").normalise(typed)
            baseline = normalisation_scores(test, simple, seed=job.seed, draws=1)["f1"]
    choices = final.choices(messages, ranked=3)
    changed = [[choice for choice in some if choice.form != choice.typed] for some in choices]
    frequent = Counter((one.typed.lower(), one.form.lower()) for some in changed for one in some)
    order = sorted((i for i, some in enumerate(changed) if some), key=lambda i: (-min(3, len(changed[i])), i))
    return Messages(
        messages=len(messages), words=len(words), survey=survey_of(messages, final.lexicon_.number)._asdict(),
        annotated=0 if gold is None else len(gold),
        errors={} if gold is None else error_categories(gold, () if slang is None else final.slang_.of.keys()),
        changed=sum(map(len, changed)), changed_messages=sum(map(bool, changed)),
        frequent=tuple((clip(a), clip(b), n) for (a, b), n in frequent.most_common(_FREQUENT)),
        examples=tuple(_example(messages[i], changed[i]) for i in order[:_SHOWN]),
        reasons=tuple([_reason(one) for i in order for one in changed[i]][:_CHANGES]), held_out=measures,
        baseline=baseline,
        also_from=tuple(role for role in ("text", "lexicon", "meant", "slang") if job.kit.paths(role)),
    )  # fmt: skip


def _words(job: Job, sentences: Sequence[Sequence[str]], least: int) -> list[str]:
    """The words of the text that it has often enough, and the forms of the lexicon."""
    counts = Counter(word.lower() for sentence in sentences for word in sentence if is_examined(word))
    words = {word for word, count in counts.items() if count >= least}
    for path in job.kit.paths("lexicon"):
        words |= {form.lower() for _, (_, form, *_) in read_table(path, ("lemma", "form", "features"))}
    return sorted(words)


def _example(message: Sequence[str], changed: Sequence[Choice]) -> dict[str, Any]:
    """A message before and after; only its beginning where it is long."""
    forms = list(message)
    for one in changed:
        forms[one.place] = one.form
    places = [one.place for one in changed if one.place < _LONGEST]
    return {"before": [*map(clip, message[:_LONGEST])], "after": [*map(clip, forms[:_LONGEST])], "places": places}


def _reason(one: Choice) -> dict[str, Any]:
    """A changed word with its best candidates, and what spoke most for the first of them against the second."""
    parts, why = [parts for _, _, parts in one.ranked[:2]], ""
    if len(parts) == 2:
        names = dict.fromkeys([*parts[0], *parts[1]])
        why = max(names, key=lambda name: parts[0].get(name, 0.0) - parts[1].get(name, 0.0), default="")
    others, sure = [clip(form) for form, *_ in one.ranked[1:]], float(one.confidence)
    return {"typed": clip(one.typed), "form": clip(one.form), "others": others, "why": why, "confidence": sure}


NORMALISER = declared(
    "normaliser", 2, (FILE,), learn, Messages,
    check=checked_by(noisy=lambda path: list(read_lines(path)), meant=read_normalised, slang=read_slang),
)  # fmt: skip
