"""Glossed texts of a pack: what linguists have annotated, read again by everybody, with what is missing proposed.

A word without a gloss gets the one that it has most often elsewhere in the kit, and a word without morphs those that it
has elsewhere; both are marked by a question mark. The texts go out as a page, as ``.flextext`` and as plain lines;
words with their morphs become a table that can serve as a gold standard of segmentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, pick
from corpuscle.packs.step import Job, Settings, Step, check_enough, declared
from corpuscle.text import interlinear
from corpuscle.text.html import Html, bdi, div, element, h3, p, span
from corpuscle.text.tables import write_table
from corpuscle.text.wording import clip, count, counted, percent

TEXT, PAGE, FLEXTEXT, MORPHS = "interlinear.txt", "interlinear.html", "interlinear.flextext", "morphs.tsv"
_SHOWN, _LONGEST = 4, 12


@dataclass(frozen=True)
class Glossed(Findings):
    """How much is translated and ``glossed``, how many glosses are ``proposed``, and how many forms have any."""

    texts: int
    phrases: int
    translated: int
    words: int
    glossed: int
    proposed: int
    glosses: int
    morphs: int
    shown: Table

    def chapter(self, step: Step) -> Chapter:
        share, phrases = percent(self.glossed / max(1, self.words), 0), counted(self.phrases, "phrase")
        text, html, flextext, morphs = (element("a", name, href=name) for name in (TEXT, PAGE, FLEXTEXT, MORPHS))
        return Chapter(
            headline=f"glossed texts: {phrases} in {counted(self.texts, 'text')}, {share} of "
            f"{counted(self.words, 'word')} with a gloss, {count(self.proposed)} more proposed",
            figures=pick(self, "texts", "phrases", "translated", "words", "glossed", "proposed", "glosses", "morphs"),
            cards=[Card(share, "words of the glossed texts that have a gloss")],
            body=[
                p(f"{phrases} were read, {count(self.translated)} of them with a free translation. "
                  f"{count(self.glosses)} forms have a gloss. {count(self.proposed)} words without one got the gloss "
                  "that the same word, or its morphs, have most often elsewhere; a question mark says so."),
                p("All texts: ", html, " (to read), ", flextext, " (for FLEx), ", text, " (plain lines). Words with "
                  "their morphs, for example to judge a segmenter: ", morphs, "."),
                h3("The first phrases"), *map(_phrase, self.shown),
            ],
            verdict=f"{share} of the words have a gloss by people; {counted(self.proposed, 'gloss', 'glosses')} "
            "proposed.",
        )  # fmt: skip


def learn(job: Job, settings: Settings) -> Glossed:
    tiers, paths = job.kit.described.tiers, map(Path, job.kit.paths("interlinear"))
    texts = [interlinear.read_interlinear(path, path.suffix.lower()[1:], tiers) for path in paths]
    phrases = [phrase for text in texts for phrase in text.phrases]
    check_enough(job.kit.folder, len(phrases), 1, "phrase")
    table, parts = interlinear.gloss_table(phrases), interlinear.morph_table(phrases)
    glosses, morphs = ({form: value for form, value, _ in rows} for rows in (table, parts))
    whole = [
        replace(text, phrases=tuple(interlinear.completed(each, glosses, morphs) for each in text.phrases))
        for text in texts
    ]
    for name in (TEXT, PAGE, FLEXTEXT):
        interlinear.write_interlinear(whole, job.pack / name)
    write_table(job.pack / MORPHS, ("word", "morphs", "count"), parts)
    glossed = sum(bool(word.glossed) for phrase in phrases for word in phrase.words)
    after = [word for text in whole for phrase in text.phrases for word in phrase.words]
    first = [phrase for text in whole for phrase in text.phrases if phrase.words][:_SHOWN]
    shown = tuple(
        {"words": [(clip(w.form), clip(w.segmented), clip(w.glossed)) for w in phrase.words[:_LONGEST]],
         "translation": phrase.translation} for phrase in first
    )  # fmt: skip
    return Glossed(
        texts=len(texts), phrases=len(phrases), translated=sum(bool(phrase.translation) for phrase in phrases),
        words=len(after), glossed=glossed, proposed=sum(bool(word.glossed) for word in after) - glossed,
        glosses=len(table), morphs=len(parts), shown=shown,
    )  # fmt: skip


def _phrase(row: Mapping[str, Any]) -> Html:
    """Word above morphs above gloss."""
    words = [span(element("b", bdi(w)), bdi(cut), span(gloss), class_="glossed") for w, cut, gloss in row["words"]]
    free = [page.note("‘", row["translation"], "’")] if row["translation"] else []
    return div(div(*words, class_="line", dir="auto"), *free, class_="igt")


INTERLINEAR = declared("interlinear", 1, (TEXT, PAGE, FLEXTEXT, MORPHS), learn, Glossed)
