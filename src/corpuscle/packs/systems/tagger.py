"""The tagger of a pack: parts of speech, morphology and lemmas, how many are right, and which are taken for which.

A tagger learns from nine tenths of the annotated sentences and is measured on the tenth that it has not seen. Then one
is learned from all of them with the same settings: that is the one in the pack.
"""

from __future__ import annotations

from dataclasses import dataclass

from corpuscle.measure import Result, tagging, tagging_by_tag
from corpuscle.measure.tags import TAG_LAYERS, mistakes
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, grade, learned_from
from corpuscle.packs.step import Job, Settings, Step, check_enough, declared
from corpuscle.tag import Tagger
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import counted, percent

FILE = "models/tagger.model"
FEWEST_SENTENCES = 20  # with fewer, a tenth of them says nothing


@dataclass(frozen=True)
class Tagged(Findings):
    """How good a tagger is on sentences that were held out, tag by tag, and where it goes wrong: ``confusions`` (right
    tag, tag found, words) and ``errors`` (before, word, after, tag found, right tag, whether the word was known)."""

    sentences: int
    held_out: int
    layers: tuple[str, ...]
    measures: Result
    tags: Table
    confusions: tuple[tuple[str, str, int], ...]
    errors: tuple[tuple[str, str, str, str, str, bool], ...]

    def chapter(self, step: Step) -> Chapter:
        found, main = self.measures, self.layers[0]
        share, low, high = found[main], found[f"{main}_low"], found[f"{main}_high"]
        called, simple, calling, new = step.labels[main], "", "", ""
        if main == "upos" and self.tags:
            most = max(self.tags, key=lambda row: row["words"])
            chance = percent(most["words"] / max(1, sum(row["words"] for row in self.tags)), 0)
            simple = f"{most['tag']} for every word: {chance}"
            calling = f"; calling every word {most['tag']} would give {chance}"
        if "unknown" in found.figures and "known" in found.figures:
            unknown = counted(int(found["unknown_words"]), "unknown word")
            new = f" Of words that it had met {percent(found['known'])} were right, of {unknown} "
            new += f"{percent(found['unknown'])}."
        others = "".join(f", {percent(found[name])} of the {step.labels[name]}" for name in self.layers[1:])
        names = (*self.layers, "all", "sentence", "known", "unknown")
        how = grade(share, (0.95, "Good"), (0.85, "Usable"), (0, "Weak"))
        return Chapter(
            headline=f"tagger: {percent(share)} of the {called} right in unseen sentences",
            figures={
                "sentences": self.sentences, "held_out": self.held_out,
                **{name: found[name] for name in names if name in found.figures}, "low": low, "high": high,
            },
            cards=[Card(percent(share, 0), f"{called} right in unseen sentences", simple)],
            body=[
                learned_from(
                    counted(self.sentences, "annotated sentence"), "tagger",
                    f"gets {percent(share)} of the {called} right in the {counted(self.held_out, 'sentence')} "
                    f"it has not seen {between(low, high)}{others}; {percent(found['sentence'])} of the sentences "
                    f"have no error at all.{new}", "sentences",
                ),
                page.plots([page.bars(
                    [(f"{isolated(given)} for {isolated(right)}", words) for right, given, words in self.confusions],
                    "The most frequent errors in sentences that were held out.",
                    title="Which tag is found for which", value_label="words",
                )]),
                *page.titled(
                    "Tag by tag", ("tag", "words", "precision", "recall", "most often taken for"),
                    [(row["tag"], row["words"], percent(row["precision"]), percent(row["recall"]), row["confused"])
                     for row in self.tags], (1, 2, 3),
                ),
                *page.titled("Words that came out wrong", ("before", "word", "after", "found", "right", "word"),
                             [(*error, "" if known else "unknown") for *error, known in self.errors]),
            ],
            verdict=f"{how}: {percent(share, 0)} of the words of unseen sentences are right{calling}.",
        )  # fmt: skip


def learn(job: Job, settings: Settings) -> Tagged:
    path, bank = job.kit.paths("tagged")[0], job.trees
    check_enough(path, int((bank.corpus.lengths > 0).sum()), FEWEST_SENTENCES, "annotated sentence")
    tagger, _, held, _ = job.measured(
        lambda part: job.fit(Tagger(**job.common), part, name=FILE), bank, job.held_trees, file=FILE, path=path
    )
    found, known = tagger.annotate(held.without(*TAG_LAYERS.values())), tagger.known(held)
    measures = tagging(held, found, known, seed=job.seed)
    layers = tuple(name for name in TAG_LAYERS if name in measures.figures)
    wrong = mistakes(held, found, tagger.layers_[0], known.tolist())
    return Tagged(len(bank), len(held), layers, measures, tuple(tagging_by_tag(held, found)), *wrong)


TAGGER = declared("tagger", 1, (FILE,), learn, Tagged, check=Job.check_trees)
