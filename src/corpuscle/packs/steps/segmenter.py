"""The segmenter of a pack: the words of a text that is written without spaces.

Nothing but the text is needed. A model learns from nine tenths of it and is measured on the others; another one, with
the same settings, learns from everything and splits the whole text into words, which is what all later steps work on.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from corpuscle.measure import segmentation_scores
from corpuscle.packs.chapters import segmenter as chapter
from corpuscle.packs.heldout import split
from corpuscle.packs.job import SEGMENTED, Job
from corpuscle.packs.step import Findings, LeftOut, Step, by_rule, naming
from corpuscle.segment import NestedSegmenter
from corpuscle.segment.chain import HISTORY
from corpuscle.text import read_text, write_text
from corpuscle.text.corpus import Corpus
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import clip, percent

__all__ = ["SEGMENTER", "number_of_sweeps"]

FILE, WORDS = "models/segment.model", "words.tsv"
MOST, FEWEST, LETTERS = 200, 30, 40_000_000
SETTINGS = {"method": "npylm", "order": 2, "sweeps": f"{MOST}; fewer, down to {FEWEST}, for large texts"}

_EXAMPLES, _LONGEST, _DRAWS, _FREQUENT = 24, 60, 50, 40


def number_of_sweeps(letters: int) -> int:
    """The rule: how many sweeps over a text of so many letters.

    >>> number_of_sweeps(100_000), number_of_sweeps(400_000), number_of_sweeps(10_000_000)
    (200, 100, 30)
    """
    return max(FEWEST, min(MOST, LETTERS // max(1, letters)))


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Split the text into words, write it with a list of its words, and measure on a tenth that was held out."""
    raw, folder = job.raw, job.kit.folder / "text"
    if not job.unspaced:
        reason = f"{percent(job.share_of_spaces)} of the characters of the text are spaces: its words are known"
        raise LeftOut(folder, None, reason)
    sweeps = by_rule(settings["sweeps"], number_of_sweeps(job.letters))

    def learned(text: Corpus, cut: Corpus | None, name: str, save: bool = False) -> NestedSegmenter:
        model = NestedSegmenter(order=settings["order"], sweeps=sweeps, **job.work)
        return job.fit(model, text, cut, name=name, save=save)

    train, held_out, groups = split(raw, job.seed)
    cut = _cut_lines(job)
    with naming(folder):
        measured = learned(train, _without(cut, held_out), "models/segment.measured.model")
        final = learned(raw, cut, FILE, save=True)
        words = final.segment(raw)
        unseen, seen = measured.segment(held_out), final.segment(held_out)
        figures = measured.perplexity(held_out, spaces=None, seed=job.seed).to_json()
    if raw.document_starts is not None:
        words = words.with_documents(raw.document_starts)
    write_text(words, job.pack / SEGMENTED)
    counts = np.bincount(words.tokens, minlength=len(words.vocab))
    order = np.argsort(-counts, kind="stable")
    frequent = [(words.vocab.word(int(i)), int(counts[i])) for i in order if counts[i] and i >= FIRST]
    write_table(job.pack / WORDS, (), frequent)
    agreed = segmentation_scores(seen, unseen, draws=1).to_json()
    known = unseen.recode(measured.segment(train).vocab).tokens != UNKNOWN
    return {
        "also_from": [] if cut is None else ["segmented"],
        "letters": job.letters,
        "words": words.n_tokens,
        "types": len(frequent),
        "sweeps": sweeps,
        "max_word": final.max_word_,
        "held_out": {"groups": groups, "sentences": len(held_out), "known": float(known.mean()), **figures},
        "agreement": {name: 1.0 if agreed["f1"] == 1.0 else agreed[name] for name in ("f1", "boundary_f1")},
        "history": final.history_[0, 1:, : len(HISTORY)].tolist(),  # nothing is predicted before the first round
        "growth": _growth(words),
        "lengths": _lengths(words),
        "frequent": [[clip(word), n] for word, n in frequent[:_FREQUENT]],
        "examples": _examples(measured, held_out, job.seed),
    }


def _cut_lines(job: Job) -> Corpus | None:
    """Lines that somebody has cut into words, if there are any."""
    paths = job.kit.paths("segmented")
    lines = read_text(*paths, unk_token="literal") if paths else None
    return None if lines is None or lines.n_tokens == 0 else lines


def _without(lines: Corpus | None, text: Corpus) -> Corpus | None:
    """Lines whose letters are not among those of a text: what is measured must not have been seen."""
    if lines is None:
        return None
    held = {"".join(words) for words in text}
    kept = np.array(["".join(words) not in held for words in lines])
    return lines.select(kept).counted() if kept.any() else None


def _growth(words: Corpus) -> dict[str, list[int]]:
    """How many different words there are among the first n words of the text."""
    _, first = np.unique(words.tokens, return_index=True)
    read = np.unique(np.geomspace(1, max(1, words.n_tokens), 40).astype(np.int64))
    return {"read": read.tolist(), "types": np.searchsorted(np.sort(first), read, side="left").tolist()}


def _lengths(words: Corpus) -> list[float]:
    """The share of words with 1, 2, 3 ... letters; the last is for all longer ones."""
    lengths = np.array([0] * FIRST + [min(len(word), 12) for word in words.vocab.strings[FIRST:]])
    counts = np.bincount(lengths[words.tokens], minlength=13)[1:]
    return (counts / max(1, counts.sum())).tolist()


def _examples(model: NestedSegmenter, held_out: Corpus, seed: int) -> list[list[list[Any]]]:
    """Unseen sentences as letters with the chosen cut and the probability of a cut before each."""
    some = held_out[:_EXAMPLES]
    words = model.segment(some)
    letters, probabilities = model.posterior(some, draws=_DRAWS, seed=seed)
    spelled = letters.vocab.decode(letters.tokens)
    result = []
    for i, (first, last) in enumerate(pairwise(letters.starts.tolist())):
        begins, at = set(), 0
        for word in words.words(i):
            begins.add(at)
            at += len(word)
        cuts, at = [], 0
        for letter in spelled[first:last]:
            cuts.append(at in begins)
            at += len(letter)
        rows = zip(spelled[first:last], cuts, probabilities[first:last].tolist(), strict=True)
        result.append([[letter, cut, round(p, 2)] for letter, cut, p in list(rows)[:_LONGEST]])
    return [example for example in result if example]


SEGMENTER = Step(
    name="segment", title="Word segmenter", version=2, needs=("text",), writes=(FILE, SEGMENTED, WORDS), run=run,
    report=chapter.report, check=Job.check_text, settings=SETTINGS, learned="a word segmenter",
    kernels="corpuscle.segment", wants=("segmented",),
)  # fmt: skip
