"""The normaliser of a pack: messages typed in a hurry, in the spelling of the kit's text.

Words are those that the text has twice or more, and the forms of the lexicon. Where what was meant is known of some
messages (``noisy.tsv``), a model learns from nine tenths of these and is measured on the others, beside the most
frequent replacement of each word; the model in the pack learned from all of them. Without, only words that the text
does not have are changed, and nothing can be measured: the report shows what becomes of the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corpuscle.errors import InputError
from corpuscle.measure import normalisation_scores
from corpuscle.normalise import Choice, Normaliser, error_categories, read_slang, survey_of
from corpuscle.normalise.tokens import is_examined
from corpuscle.packs.chapters import normaliser as chapter
from corpuscle.packs.heldout import tenth
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, LeftOut, Step, check_enough, naming, wrong_files
from corpuscle.text.files import read_lines
from corpuscle.text.normalised import Normalised, read_normalised
from corpuscle.text.tables import read_table
from corpuscle.text.wording import clip

__all__ = ["NORMALISER"]

FILE = "models/normaliser.model"
SETTINGS = {"decode": "joint", "min_count": 2}
FEWEST_MESSAGES, FEWEST_PAIRS = 10, 30
_SHOWN, _FREQUENT, _CHANGES, _LONGEST = 10, 12, 15, 30


def _optional(job: Job, role: str) -> str | None:
    return next(iter(job.kit.paths(role)), None)


def check(job: Job) -> list[InputError]:
    """The files that cannot be read."""
    wrong = wrong_files(lambda path: list(read_lines(path)), [(path,) for path in job.kit.paths("noisy")])
    wrong += wrong_files(read_normalised, [(path,) for path in job.kit.paths("meant")])
    return wrong + wrong_files(read_slang, [(path,) for path in job.kit.paths("slang")])


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to normalise, measure it where something is known, and show what becomes of the messages."""
    path = job.kit.paths("noisy")[0]
    messages = [line.split() for _, line in read_lines(path)]
    check_enough(path, sum(map(bool, messages)), FEWEST_MESSAGES, "message")
    pairs, slang = _optional(job, "meant"), _optional(job, "slang")
    gold = None if pairs is None else read_normalised(pairs)
    if gold is not None:
        check_enough(str(pairs), len(gold), FEWEST_PAIRS, "message with what was meant", "messages with what was meant")
    clean = [job.text.words(i) for i in range(len(job.text))] if job.kit.paths("text") else []
    if not clean and gold is None:
        raise LeftOut(path, None, "no running text to learn standard spelling from")
    standard = [] if gold is None else [" ".join(gold.standard(i)).split() for i in range(len(gold))]
    words = _words(job, [*clean, *standard], settings["min_count"])
    meanings = None if slang is None else read_slang(slang)

    def learned(some: Normalised | None, combine: str = "loglinear") -> Normaliser:
        model = Normaliser(combine=combine, decode=settings["decode"], **job.work)
        return model.fit(messages, some, clean=clean, words=words, slang=meanings)

    with naming(path):
        final = learned(gold)
        final.save(job.pack / FILE)
        measured = {} if gold is None else _measured(job, gold, learned)
    choices = final.choices(messages, ranked=3)
    roles = ("text", "lexicon", "meant", "slang")
    return {
        "messages": len(messages),
        "words": len(words),
        "survey": survey_of(messages, final.lexicon_.number)._asdict(),
        "annotated": 0 if gold is None else len(gold),
        "errors": {} if gold is None else error_categories(gold, () if slang is None else final.slang_.of.keys()),
        **measured,
        **_changes(messages, choices),
        "also_from": [role for role in roles if job.kit.paths(role)],
    }


def _words(job: Job, sentences: Sequence[Sequence[str]], least: int) -> list[str]:
    """The words of the text that it has often enough, and the forms of the lexicon."""
    counts = Counter(word.lower() for sentence in sentences for word in sentence if is_examined(word))
    words = {word for word, count in counts.items() if count >= least}
    for path in job.kit.paths("lexicon"):
        words |= {form.lower() for _, (_, form, *_) in read_table(path, ("lemma", "form", "features"))}
    return sorted(words)


def _measured(job: Job, gold: Normalised, learned: Any) -> Findings:
    """Figures on a tenth of the annotated messages, of a model and of a dictionary that have not seen it."""
    held = np.sort(np.array(tenth(range(len(gold)), job.seed, "packs/normaliser")))
    test, train = gold.select(held), gold.select(np.setdiff1d(np.arange(len(gold)), held))
    typed = [list(message) for message in test.corpus]
    figures = normalisation_scores(test, learned(train).normalise(typed), seed=job.seed).to_json()
    baseline = normalisation_scores(test, learned(train, "dictionary").normalise(typed), seed=job.seed, draws=1)["f1"]
    return {"held_out": {**figures, "messages": len(test)}, "baseline": baseline}


def _changes(messages: Sequence[Sequence[str]], choices: Sequence[Sequence[Choice]]) -> Findings:
    """How many words are changed, which changes are frequent, and some messages before and after, with the reasons."""
    changed = [[choice for choice in some if choice.form != choice.typed] for some in choices]
    pairs = Counter((one.typed.lower(), one.form.lower()) for some in changed for one in some)
    order = sorted((i for i, some in enumerate(changed) if some), key=lambda i: (-min(3, len(changed[i])), i))
    return {
        "changed": sum(map(len, changed)),
        "changed_messages": sum(map(bool, changed)),
        "frequent": [[*map(clip, pair), n] for pair, n in pairs.most_common(_FREQUENT)],
        "examples": [_example(messages[i], changed[i]) for i in order[:_SHOWN]],
        "reasons": [_reason(one) for i in order for one in changed[i]][:_CHANGES],
    }


def _example(message: Sequence[str], changed: Sequence[Choice]) -> Findings:
    """A message before and after; only its beginning where it is long."""
    forms = list(message)
    for one in changed:
        forms[one.place] = one.form
    places = [one.place for one in changed if one.place < _LONGEST]
    return {"before": [*map(clip, message[:_LONGEST])], "after": [*map(clip, forms[:_LONGEST])], "places": places}


def _reason(one: Choice) -> Findings:
    """A changed word with its best candidates, and what spoke most for the first of them against the second."""
    parts = [parts for _, _, parts in one.ranked[:2]]
    why = ""
    if len(parts) == 2:
        names = dict.fromkeys([*parts[0], *parts[1]])
        why = max(names, key=lambda name: parts[0].get(name, 0.0) - parts[1].get(name, 0.0), default="")
    others = [clip(form) for form, *_ in one.ranked[1:]]
    row = {"typed": clip(one.typed), "form": clip(one.form), "others": others, "why": why}
    return row | {"confidence": float(one.confidence)}


NORMALISER = Step(
    name="normaliser", title="Messages in standard spelling", version=1, needs=("noisy",), writes=(FILE,), run=run,
    report=chapter.report, check=check, settings=SETTINGS, learned="to write messages in standard spelling",
    kernels="corpuscle.normalise", wants=("text", "lexicon", "meant", "slang"),
)  # fmt: skip
