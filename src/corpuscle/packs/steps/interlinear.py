"""Glossed texts of a pack: what linguists have annotated, read again by everybody, with what is missing proposed.

A word without a gloss gets the one that it has most often elsewhere in the kit, and a word without morphs those that it
has elsewhere; both are marked by a question mark. The texts go out as a page, as ``.flextext`` and as plain lines;
words with their morphs become a table that can serve as a gold standard of segmentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpuscle.packs.chapters import interlinear as chapter
from corpuscle.packs.job import Job
from corpuscle.packs.preparation import form_of, read_interlinear
from corpuscle.packs.step import Findings, Step, check_enough
from corpuscle.text.interlinear import Interlinear, completed, gloss_table, morph_table, write_interlinear
from corpuscle.text.tables import write_table
from corpuscle.text.wording import clip

__all__ = ["INTERLINEAR"]

TEXT, PAGE, FLEXTEXT, MORPHS = "interlinear.txt", "interlinear.html", "interlinear.flextext", "morphs.tsv"
_SHOWN, _LONGEST = 4, 12


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Read all glossed texts, propose what is missing, and write them in three forms."""
    described, names = job.kit.described, job.kit.files["interlinear"]
    texts = [read_interlinear(job.kit.path(name), form_of(name), dict(described.tiers)) for name in names]
    phrases = [phrase for text in texts for phrase in text.phrases]
    check_enough(job.kit.folder, len(phrases), 1, "phrase")
    table, parts = gloss_table(phrases), morph_table(phrases)
    glosses, morphs = ({form: value for form, value, _ in rows} for rows in (table, parts))
    whole = [
        Interlinear(text.name, tuple(completed(p, glosses, morphs) for p in text.phrases), text.tiers, text.languages)
        for text in texts
    ]
    for name in (TEXT, PAGE, FLEXTEXT):
        write_interlinear(whole, job.pack / name)
    write_table(job.pack / MORPHS, ("word", "morphs", "count"), parts)
    before = [word for phrase in phrases for word in phrase.words]
    after = [word for text in whole for phrase in text.phrases for word in phrase.words]
    return {
        "texts": len(texts),
        "phrases": len(phrases),
        "translated": sum(bool(phrase.translation) for phrase in phrases),
        "words": len(after),
        "glossed": sum(bool(word.glossed) for word in before),
        "proposed": sum(bool(word.glossed) for word in after) - sum(bool(word.glossed) for word in before),
        "glosses": len(table),
        "morphs": len(parts),
        "shown": [
            {
                "words": [[clip(w.form), clip(w.segmented), clip(w.glossed)] for w in phrase.words[:_LONGEST]],
                "translation": phrase.translation,
            }
            for phrase in [p for text in whole for p in text.phrases if p.words][:_SHOWN]
        ],
    }


INTERLINEAR = Step(
    name="interlinear", title="Glossed texts", version=1, needs=("interlinear",),
    writes=(TEXT, PAGE, FLEXTEXT, MORPHS), run=run, report=chapter.report,
    learned="the glosses and morphs of annotated texts",
)  # fmt: skip
