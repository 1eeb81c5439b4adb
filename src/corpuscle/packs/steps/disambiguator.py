"""The disambiguator of a pack: which analysis of a word is right where it stands.

Analyses are those of the annotated sentences, and of the kit's lexicon if there is one; then they consist of what
both have. A model learns from nine tenths of the sentences and is measured on the others, beside the most frequent
analysis of each word. The model in the pack has the same settings and learned from all sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.disambiguate import BaselineDisambiguator, Disambiguator, Ranker, read_candidates
from corpuscle.disambiguate.analysers import Entry
from corpuscle.disambiguate.labels import MISSING, elements_of
from corpuscle.errors import InputError
from corpuscle.measure import analyses, ranks_of
from corpuscle.packs.chapters import disambiguator as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step, check_enough, naming, wrong_files
from corpuscle.text.treebank import Treebank
from corpuscle.text.wording import clip

__all__ = ["DISAMBIGUATOR"]

FILE = "models/disambiguator.model"
SETTINGS = {"method": "full", "nbest": 3}
FEWEST_SENTENCES = 20
"""With fewer, a tenth of them says nothing."""
_WORDS, _AROUND, _SENTENCES, _LONGEST = 16, 3, 2, 12


def check(job: Job) -> list[InputError]:
    """What is wrong with the annotated sentences and the lexicon."""
    lexicon = [(path,) for path in job.kit.paths("lexicon")]
    return [*wrong_files(lambda: job.trees, [()]), *wrong_files(read_candidates, lexicon)]


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to rank analyses, and measure on sentences that were held out."""
    path = job.kit.paths("tagged")[0]
    check_enough(path, int((job.trees.corpus.lengths > 0).sum()), FEWEST_SENTENCES, "annotated sentence")
    train, held = job.split_trees
    with naming(path):
        table, elements = _table(job)
        given: dict[str, Any] = {"analyser": "table" if table else "lexicon", "elements": elements}
        common = given | job.work
        model = Ranker(**common).fit(train, table)
        frequency = BaselineDisambiguator(**given).fit(train, table)
        final = Ranker(**common).fit(job.trees, table)
    final.save(job.pack / FILE)
    baseline = _measured(frequency, held, job.seed)
    return {
        "sentences": len(job.trees),
        "held_out": len(held),
        "elements": list(final.elements_),
        "analyses": final.provenance_["labels"],
        "measures": _measured(model, held, job.seed),
        "baseline": {name: baseline[name] for name in ("a1", "ambiguous_a1") if name in baseline},
        "words": _words(model, held, settings["nbest"]),
        "drawn": _drawn(model, held),
        "also_from": ["lexicon"] if table else [],
    }


def _table(job: Job) -> tuple[list[Entry] | None, tuple[str, ...]]:
    """The analyses of the lexicon, and what those and the sentences have in common; nothing without a lexicon, or with
    one that has neither lemmas nor parts of speech of the sentences."""
    paths = job.kit.paths("lexicon")
    if not paths:
        return None, ()
    table = read_candidates(paths[0])
    there = {name for entry in table for name in entry.values}
    elements = tuple(name for name in elements_of(job.trees) if name in there)
    return (table, elements) if len(elements) > 1 else (None, ())


def _measured(model: Disambiguator, held: Treebank, seed: int) -> dict[str, Any]:
    ranking = model.rank(held)
    ranks = ranks_of(ranking.starts, ranking.labels, model.gold(held, ranking))
    return analyses(ranking.starts, ranks, model.knows(held), held.corpus.sentence_starts, seed=seed).to_json()


def _words(model: Disambiguator, held: Treebank, nbest: int) -> list[dict[str, Any]]:
    """Words that have several analyses, with the words around them, one of each form, spread over the sentences."""
    names, ids = model.labels_of(held)
    right = [names[label] for label in ids.tolist()]
    found: dict[str, dict[str, Any]] = {}
    for sentence, (first, last) in zip(
        model.readings(held, nbest), pairwise(held.corpus.sentence_starts.tolist()), strict=True
    ):
        forms = [word["form"] for word in sentence]
        for i, (word, label) in enumerate(zip(sentence, right[first:last], strict=True)):
            if len(word["analyses"]) > 1 and word["form"] not in found:
                found[word["form"]] = {
                    "before": clip(" ".join(forms[max(0, i - _AROUND) : i])),
                    "form": clip(word["form"]),
                    "after": clip(" ".join(forms[i + 1 : i + 1 + _AROUND])),
                    "candidates": word["candidates"],
                    "analyses": [_shown(each, model, label) for each in word["analyses"]],
                }
    some = list(found.values())
    return [some[i] for i in np.unique(np.linspace(0, len(some) - 1, _WORDS).astype(int))] if some else []


def _drawn(model: Disambiguator, held: Treebank) -> list[list[dict[str, Any]]]:
    """The beginnings of the sentences with most words that have several analyses, each word with its first two."""
    readings = sorted(
        (sentence[:_LONGEST] for sentence in model.readings(held, 2)),
        key=lambda words: -sum(len(word["analyses"]) > 1 for word in words),
    )
    return [
        [
            {"form": clip(word["form"]), "readings": [[_named(each), each["probability"]] for each in word["analyses"]]}
            for word in words
        ]
        for words in readings[:_SENTENCES]
    ]


def _named(analysis: dict[str, Any]) -> str:
    """An analysis in a few words: its gloss or lemma, and what else it has."""
    values = analysis["elements"]
    name = analysis["gloss"] or values.get("lemma", MISSING)
    return clip(" ".join([name, *(v for key, v in values.items() if key != "lemma" and v != MISSING)]), 60)


def _shown(analysis: dict[str, Any], model: Disambiguator, right: str) -> dict[str, Any]:
    values = analysis["elements"]
    return {
        "lemma": clip(values.get("lemma", MISSING)),
        "values": clip(" ".join(value for name, value in values.items() if name != "lemma" and value != MISSING), 60),
        "vowelled": clip(analysis["vowelled"]),
        "gloss": clip(analysis["gloss"]),
        "probability": round(analysis["probability"], 3),
        "right": "\t".join(values[name] for name in model.elements_) == right,
    }


DISAMBIGUATOR = Step(
    name="disambiguator", title="Analyses of words", version=1, needs=("tagged",), writes=(FILE,), run=run,
    report=chapter.report, check=check, settings=SETTINGS, wants=("lexicon",),
    learned="which analysis of a word is right where it stands", kernels="corpuscle.disambiguate",
)  # fmt: skip
