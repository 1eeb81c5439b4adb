"""The disambiguator of a pack: which analysis of a word is right where it stands.

Analyses are those of the annotated sentences, and of the kit's lexicon if there is one; then they consist of what
both have. A model learns from nine tenths of the sentences and is measured on the others, as is the most frequent
analysis of each word. The model in the pack has the same settings and learned from all sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.disambiguate import BaselineDisambiguator, Disambiguator, Ranker, read_candidates
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.analyses import MISSING, elements_of
from corpuscle.figures import WordShown, draw_readings
from corpuscle.measure import Result
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, compared, learned_from, pick
from corpuscle.packs.step import Job, Settings, Step, check_enough, checked_by, declared
from corpuscle.text.html import Html, h3, p
from corpuscle.text.scripts import isolated
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import clip, counted, percent

FILE = "models/disambiguator.model"
FEWEST_SENTENCES = 20  # with fewer, a tenth of them says nothing
_WORDS, _AROUND, _SENTENCES, _LONGEST = 16, 3, 2, 12


@dataclass(frozen=True)
class Ranked(Findings):
    """How often the right analysis comes first in ``held_out`` sentences, and when it is the most frequent one of each
    word (``baseline``); ``analyses``: how many different ones there are; ``words``: ambiguous ones with the words
    around them and their likeliest analyses; ``drawn``: sentences with readings."""

    sentences: int
    held_out: int
    elements: tuple[str, ...]
    analyses: int
    measures: Result
    baseline: Mapping[str, float]
    words: Table
    drawn: tuple[tuple[WordShown, ...], ...]

    def chapter(self, step: Step) -> Chapter:
        found, simple, interval = self.measures, self.baseline["a1"], pick(self.measures, "low", "high")
        a1, ceiling, sentences = found["a1"], found["ceiling"], counted(self.sentences, "annotated sentence")
        names = ("a1", "a2", "ceiling", "ambiguous_a1", "unseen_a1")
        baseline = f"the most frequent one: {percent(simple, 0)}"
        said = (
            f"puts the right analysis first for {percent(a1)} of the words in those it has not seen "
            f"{between(**interval)}, and among the first two for {percent(found['a2'])}; taking the most frequent "
            f"analysis of each word, {percent(simple)}. A word has {found['candidates']:.1f} analyses to choose from, "
            f"and for {percent(ceiling)} of the words the right one is among them."
        )
        if "ambiguous_a1" in found.figures:
            said += (
                f" Of {counted(int(found['ambiguous_words']), 'word')} that have several, one of them right, "
                f"{percent(found['ambiguous_a1'])} get it; by frequency {percent(self.baseline['ambiguous_a1'])}."
            )
        shares = [("at random", found["random"]), ("most frequent", simple), ("by context", a1)]
        shares += [("first two", found["a2"]), ("any candidate", ceiling)]
        return Chapter(
            headline=f"analyses: the right one first for {percent(a1)} of the words in unseen sentences, "
            f"{percent(simple)} by frequency",
            figures={
                **pick(self, "sentences", "held_out"),
                **{name: found[name] for name in names if name in found.figures}, **interval, "frequency_a1": simple,
            },
            cards=[Card(percent(a1, 0), "of words with the right analysis first", baseline)],
            body=[
                learned_from(f"{sentences}{' and a lexicon' if self.also_from else ''}; an analysis has "
                             f"{', '.join(self.elements)}", "model", said, "sentences", "the sentences"),
                page.plots([page.bars(
                    [(name, 100 * share) for name, share in shares], "In sentences that were held out.",
                    title="Words with the right analysis", value_label="per cent",
                )]),
                *(self._analyses() if self.words else []),
            ],
            verdict=compared("right for", a1, simple, "the most frequent analysis of each word"),
        )  # fmt: skip

    def _analyses(self) -> list[Html]:
        said = "The two likeliest analyses of each word; the longer the line, the likelier."
        rows = [
            ("" if i else f"{word['before']} [{isolated(word['form'])}] {word['after']}".strip(), each["lemma"],
             each["values"], ", ".join(filter(None, (each["vowelled"], each["gloss"]))), percent(each["probability"]),
             "✓" if each["right"] else "")
            for word in self.words for i, each in enumerate(word["analyses"])
        ]  # fmt: skip
        return [
            h3("Words with their analyses"), *(page.figure(draw_readings(words), said) for words in self.drawn),
            p("From unseen sentences: a word of each form, its likeliest analyses, and which one an annotator chose."),
            page.table(("word", "lemma", "analysis", "vowelled, gloss", "probability", "right"), rows, (4,)),
        ]  # fmt: skip


def learn(job: Job, settings: Settings) -> Ranked:
    path, bank = job.kit.paths("tagged")[0], job.trees
    check_enough(path, int((bank.corpus.lengths > 0).sum()), FEWEST_SENTENCES, "annotated sentence")
    table, elements = _table(job)
    given: dict[str, Any] = {"analyser": "table" if table else "lexicon", "elements": elements}
    model, train, held, final = job.measured(
        lambda part: Ranker(**given, **job.common).fit(part, table), bank, job.held_trees, file=FILE, path=path
    )
    baseline = BaselineDisambiguator(**given).fit(train, table).measured(held, job.seed)[0].figures
    return Ranked(
        sentences=len(bank), held_out=len(held), elements=final.elements_, analyses=final.provenance_["labels"],
        measures=model.measured(held, job.seed)[0],
        baseline={name: baseline[name] for name in ("a1", "ambiguous_a1") if name in baseline},
        words=_words(model, held, settings["nbest"]), drawn=_drawn(model, held),
        also_from=("lexicon",) if table else (),
    )  # fmt: skip


def _table(job: Job) -> tuple[list[Entry] | None, tuple[str, ...]]:
    """The analyses of the lexicon, and the elements that the sentences have, too; nothing if that is less than two."""
    paths = job.kit.paths("lexicon")
    if not paths:
        return None, ()
    table = read_candidates(paths[0])
    there = {name for entry in table for name in entry.values}
    elements = tuple(name for name in elements_of(job.trees) if name in there)
    return (table, elements) if len(elements) > 1 else (None, ())


def _words(model: Disambiguator, held: Treebank, nbest: int) -> Table:
    """Words that have several analyses, one of each form, spread over the sentences."""
    names, ids = model.labels_of(held)
    right = [names[label] for label in ids.tolist()]
    found: dict[str, dict[str, Any]] = {}
    bounds = pairwise(held.corpus.sentence_starts.tolist())
    for sentence, (first, last) in zip(model.readings(held, nbest), bounds, strict=True):
        forms = [word["form"] for word in sentence]
        for i, (word, label) in enumerate(zip(sentence, right[first:last], strict=True)):
            if len(word["analyses"]) > 1 and word["form"] not in found:
                found[word["form"]] = {
                    "before": clip(" ".join(forms[max(0, i - _AROUND) : i])), "form": clip(word["form"]),
                    "after": clip(" ".join(forms[i + 1 : i + 1 + _AROUND])), "candidates": word["candidates"],
                    "analyses": [_shown(each, model, label) for each in word["analyses"]],
                }  # fmt: skip
    some = list(found.values())
    return tuple(some[i] for i in np.unique(np.linspace(0, len(some) - 1, _WORDS).astype(int))) if some else ()


def _drawn(model: Disambiguator, held: Treebank) -> tuple[tuple[WordShown, ...], ...]:
    """The beginnings of the sentences with most words that have several analyses, each word with its first two."""

    def named(analysis: dict[str, Any]) -> str:
        name = analysis["gloss"] or analysis["elements"].get("lemma", MISSING)
        return clip(" ".join([name, *_others(analysis)]), 60)

    readings = sorted(
        (sentence[:_LONGEST] for sentence in model.readings(held, 2)),
        key=lambda words: -sum(len(word["analyses"]) > 1 for word in words),
    )
    return tuple(
        tuple(
            WordShown(clip(word["form"]), [(named(each), each["probability"]) for each in word["analyses"]])
            for word in words
        )
        for words in readings[:_SENTENCES]
    )


def _others(analysis: dict[str, Any]) -> list[str]:
    return [value for name, value in analysis["elements"].items() if name != "lemma" and value != MISSING]


def _shown(analysis: dict[str, Any], model: Disambiguator, right: str) -> dict[str, Any]:
    values = analysis["elements"]
    return {
        "lemma": clip(values.get("lemma", MISSING)), "values": clip(" ".join(_others(analysis)), 60),
        "vowelled": clip(analysis["vowelled"]), "gloss": clip(analysis["gloss"]),
        "probability": round(analysis["probability"], 3),
        "right": "\t".join(values[name] for name in model.elements_) == right,
    }  # fmt: skip


DISAMBIGUATOR = declared(
    "disambiguator", 2, (FILE,), learn, Ranked,
    check=lambda job: job.check_trees() + checked_by(lexicon=read_candidates)(job),
)  # fmt: skip
