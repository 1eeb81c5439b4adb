"""The entity tagger of a pack: what is marked in the annotated documents of a kit, found in others.

A model learns from nine tenths of the documents and is measured on the others, beside the dictionary of strings that
were mentions in those nine tenths. The model in the pack has the same settings and learned from all documents. Where
the kit has running text, the classes of its words that the pack has learned are features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import corpuscle
from corpuscle.entities import CrfTagger, DictionaryTagger, Documents, read_documents
from corpuscle.entities.errors import faults
from corpuscle.errors import InputError
from corpuscle.measure import mention_scores, mention_scores_by_type
from corpuscle.packs.chapters import entities as chapter
from corpuscle.packs.heldout import tenth
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, Step, check_enough, naming, wrong_files
from corpuscle.packs.steps.word_classes import FILE as CLASSES
from corpuscle.text.wording import clip
from corpuscle.words import class_sources

__all__ = ["ENTITIES"]

FILE = "models/entities.model"
SETTINGS = {"method": "crf", "encoding": "biodh"}
FEWEST_DOCUMENTS, FEWEST_MENTIONS = 10, 30
"""With fewer, a tenth held out says nothing."""

_EXAMPLES, _UNSURE, _LONGEST = 6, 8, 40


def _files(job: Job) -> list[str]:
    """Texts with their annotation stand for both; everything else for itself."""
    paths = job.kit.paths("entities")
    texts = [path for path in paths if Path(path).suffix != ".ann"]
    return texts or paths


def check(job: Job) -> list[InputError]:
    """The files that cannot be read."""
    return wrong_files(read_documents, [(path,) for path in _files(job)])


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to find what is marked, and measure on documents that were held out."""
    documents = read_documents(*_files(job))
    folder = job.kit.folder / "entities"
    mentions = sum(len(text.mentions) for text in documents.texts)
    check_enough(folder, len(documents), FEWEST_DOCUMENTS, "document with entities", "documents with entities")
    check_enough(folder, mentions, FEWEST_MENTIONS, "mention")
    held = np.sort(np.array(tenth(range(len(documents)), job.seed, "packs/entities")))
    test, train = documents.select(held), documents.select(np.setdiff1d(np.arange(len(documents)), held))

    classes = job.pack / CLASSES
    sources = class_sources(corpuscle.load(classes)) if classes.exists() else None

    def learned(some: Documents) -> CrfTagger:
        return CrfTagger(encoding=settings["encoding"], **job.work).fit(some, sources=sources)

    with naming(folder):
        measured = learned(train)
        final = learned(documents)
    final.save(job.pack / FILE)
    tagged = measured.tag(test)
    found = test.annotated(tagged.mentions)
    known = DictionaryTagger().fit(train).annotate(test)
    figures = mention_scores(test.texts, found, seed=job.seed).to_json()
    errors = Counter(kind for pair in zip(test.texts, found, strict=True) for kind, *_ in faults(*pair))
    order = np.argsort(tagged.surest, kind="stable").tolist()
    return {
        "documents": len(documents),
        "words": documents.corpus.n_tokens,
        "mentions": mentions,
        "types": Counter(mention.type for text in documents.texts for mention in text.mentions).most_common(),
        "classes": sources is not None,
        "expressible": final.provenance_["expressible"],
        "held_out": {"documents": len(test), "mentions": sum(len(text.mentions) for text in test.texts), **figures},
        "baseline": mention_scores(test.texts, known, seed=job.seed, draws=1)["strict_f1"],
        "by_type": mention_scores_by_type(test.texts, found),
        "errors": errors.most_common(),
        "examples": [_example(test, tagged, i) for i in order if test.mentions[i]][-_EXAMPLES:],
        "unsure": [_example(test, tagged, i) for i in order[:_UNSURE]],
    }


def _example(documents: Documents, tagged: Any, sentence: int) -> dict[str, Any]:
    """A sentence with what was found in it and what should have been; only its beginning where it is long."""
    words = documents.corpus.words(sentence)[:_LONGEST]

    def shown(mentions: Any) -> list[list[Any]]:
        return [[each.type, list(each.tokens)] for each in mentions if each.tokens[-1] < len(words)]

    found = [
        (mention, sure)
        for mention, sure in zip(tagged.mentions[sentence], tagged.confidence[sentence], strict=True)
        if mention.tokens[-1] < len(words)
    ]
    return {
        "words": [clip(word, 30) for word in words],
        "found": shown(mention for mention, _ in found),
        "confidence": [round(sure, 3) for _, sure in found],
        "right": shown(documents.mentions[sentence]),
        "surest": float(tagged.surest[sentence]),
    }


ENTITIES = Step(
    name="entities", title="Entities", version=2, needs=("entities",), writes=(FILE,), run=run,
    report=chapter.report, check=check, settings=SETTINGS, after=("classes",), learned="to find entities",
    kernels="corpuscle.entities",
)  # fmt: skip
