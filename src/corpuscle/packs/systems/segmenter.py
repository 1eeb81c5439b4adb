"""The segmenter of a pack: the words of a text that is written without spaces.

Nothing but the text is needed. A model learns from nine tenths of it and is measured on the others; another one, with
the same settings, learns from everything and splits the whole text into words, which is what all later steps work on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from corpuscle.measure import Result, segmentation_scores
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, grade, pick, with_counts
from corpuscle.packs.step import FEWEST_SPACES, SEGMENTED, Job, LeftOut, Step, by_rule, declared, naming
from corpuscle.segment import NestedSegmenter
from corpuscle.segment.base import Example, examples, without
from corpuscle.segment.chain import HISTORY
from corpuscle.text import read_text, write_text
from corpuscle.text.heldout import part_held, split
from corpuscle.text.html import Html, bdi, fragment, h3, p, small, span
from corpuscle.text.scripts import clusters
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import clip, count, counted, percent

FILE, WORDS = "models/segment.model", "words.tsv"
MOST, FEWEST, LETTERS = 200, 30, 40_000_000

_EXAMPLES, _LONGEST, _FREQUENT = 24, 60, 40
_SURE, _MAYBE, _MOST_LETTERS = 0.8, 0.2, 12


def number_of_sweeps(letters: int) -> int:
    """The rule: the number of sweeps over a text by its letters.

    >>> number_of_sweeps(100_000), number_of_sweeps(400_000), number_of_sweeps(10_000_000)
    (200, 100, 30)
    """
    return max(FEWEST, min(MOST, LETTERS // max(1, letters)))


@dataclass(frozen=True)
class Segmented(Findings):
    """The words that were found among the ``letters`` of a text, how well letters that were held out are predicted (in
    whole ``groups``), and how far a model that has not seen those and the one in the pack agree there.

    ``history``: sweep by sweep; ``growth``: different words (``types``) among the first n that were ``read``;
    ``lengths``: shares of words with 1, 2, 3 ... letters; the last is for all longer ones.
    """

    letters: int
    words: int
    types: int
    sweeps: int
    max_word: int
    groups: str
    held_out: Result
    agreement: Mapping[str, float]
    history: tuple[tuple[float, ...], ...]
    growth: Mapping[str, tuple[int, ...]]
    lengths: tuple[float, ...]
    frequent: tuple[tuple[str, int], ...]
    examples: tuple[Example, ...]

    def chapter(self, step: Step) -> Chapter:
        held, agreed, length = self.held_out, self.agreement, self.letters / max(1, self.words)
        boundaries, chance = percent(agreed["boundary_f1"], 0), percent(1 / max(1.0, length), 0)
        how = grade(
            agreed["boundary_f1"], (0.95, "Steady"), (0.85, "Fairly steady"), (0, "Unsteady: more text is needed")
        )
        return Chapter(
            headline=f"word segmenter: {counted(self.types, 'different word')} of {length:.1f} letters on average, "
            f"{held['bits_per_letter']:.2f} bits per letter of unseen text",
            figures={
                **pick(self, "letters", "words", "types", "sweeps"),
                **pick(held, "perplexity", "low", "high", "bits_per_letter", "known"),
                "agreement": agreed["f1"], "boundary_agreement": agreed["boundary_f1"],
            },
            cards=[Card(boundaries, "word boundaries on which two models agree", f"cuts at random: {chance}")],
            body=[*self._in_words(length), self._plots(), *self._frequent(), *self._examples()],
            verdict=f"{how}: with and without a tenth of the text {boundaries} of the boundaries are the same; as many "
            f"cuts at random would agree on {percent(self.words / max(1, self.letters), 0)}.",
        )  # fmt: skip

    def _in_words(self, length: float) -> list[Html]:
        held, agreed, part = self.held_out, self.agreement, part_held(self.held_out["letters"] / self.letters)
        low, high = pick(held, "low", "high").values()
        return [
            p(f"Fewer than {percent(FEWEST_SPACES, 0)} of the characters of this text are spaces, so its words had "
              f"to be found first. In {self.sweeps} rounds over the text the computer drew the words of each "
              "sentence anew, given those of all others: words are what makes the whole text most probable. It found "
              f"{count(self.words)} words, {count(self.types)} different ones, with {length:.2f} letters on average. "
              f"The longest word it considers has {self.max_word} letters. The split text is in {SEGMENTED}, all "
              f"words are in {WORDS}, and all that follows in this report is about those words."),
            p(f"There are no gold words to compare with. A model that learned without {part} of the text "
              f"({counted(int(held['sentences']), 'sentence')}) needs {held['bits_per_letter']:.2f} bits to predict "
              f"a letter of that part (perplexity {held['perplexity']:.2f}, 95 % interval {low:.2f} to {high:.2f}). "
              f"{percent(held['known'])} of the words that it finds there also occur in the rest. It and the model "
              "in the pack, which has the same settings and learned from everything, agree on "
              f"{percent(agreed['f1'])} of the words and {percent(agreed['boundary_f1'])} of the boundaries of these "
              "sentences: where they do not, the text says too little, and one should not trust either."),
        ]  # fmt: skip

    def _plots(self) -> Html:
        rounds, history = list(range(1, len(self.history) + 1)), list(zip(*self.history, strict=True))
        courses = (
            (0, "log probability", "Has it settled?",
             "In the first half words hardly depend on their neighbours; a line that still rises at the right wants "
             "more rounds."),
            (1, "perplexity of a letter", "How well letters are predicted", "Each sentence given all others."),
            (3, "different words", "The lexicon, round by round", "Words are tried, kept and dropped."),
        )  # fmt: skip
        return page.plots([
            *(page.curve(name, rounds, history[i], said, title=title, x_label="rounds over the text", y_label=name)
              for i, name, title, said in courses),
            page.curve(
                "different words", self.growth["read"], self.growth["types"],
                "Most languages show nearly a straight line (Heaps' law).", title="How the lexicon grows with the text",
                x_label="words of text read", y_label="different words", log_x=True, log_y=True,
            ),
        ])  # fmt: skip

    def _frequent(self) -> list[Html]:
        shown = [fragment(bdi(word, class_="word"), " ", small(count(n), dir="ltr"), " ") for word, n in self.frequent]
        lengths = ", ".join(
            f"{i}{' or more' if i == len(self.lengths) else ''}: {percent(share, 0)}"
            for i, share in enumerate(self.lengths, 1)
            if share >= 0.005
        )
        said = page.note(f"Letters of a word, by share of the text: {lengths}.")
        return [h3("The most frequent words"), p(*shown, dir="auto", translate="no"), said]

    def _examples(self) -> list[Html]:
        key = p(
            span("|", class_="cut"), " a boundary; ", span("|", class_="cut unsure"),
            f" one of which the model is less than {percent(_SURE, 0)} sure; ", span("¦", class_="maybe"),
            f" none, though it is at least {percent(_MAYBE, 0)} sure of one", class_="key",
        )  # fmt: skip
        return [h3("Unseen sentences, split"), key, *map(_split, self.examples)]


def _split(example: Example) -> Html:
    """A sentence with its boundaries; one that parts a grapheme cluster is shown behind it."""
    spelled = [letter for letter, _, _ in example]
    text = "".join(spelled)
    ends = list(accumulate(map(len, clusters(text)), initial=0))
    boundaries: dict[int, tuple[bool, float]] = {}
    for at, (_, cut, probability) in zip(accumulate(map(len, spelled), initial=0), example, strict=False):
        place = ends[bisect_left(ends, at)]
        boundaries[place] = max(boundaries.get(place, (False, 0.0)), (cut, probability))
    parts: list[object] = []
    for begin, end in pairwise(ends):
        cut, probability = boundaries[begin]
        if begin and (cut or probability >= _MAYBE):
            kind = "maybe" if not cut else "cut" if probability >= _SURE else "cut unsure"
            parts.append(span("|" if cut else "¦", class_=kind, title=percent(probability, 0)))
        parts.append(text[begin:end])
    return page.sentence(*parts)


def learn(job: Job, settings: Mapping[str, Any]) -> Segmented:
    raw, folder = job.raw, job.kit.folder / "text"
    if not job.unspaced:
        reason = f"{percent(job.share_of_spaces)} of the characters of the text are spaces: its words are known"
        raise LeftOut(folder, None, reason)
    sweeps = by_rule(settings["sweeps"], number_of_sweeps(job.letters))
    model, cut = NestedSegmenter(order=settings["order"], sweeps=sweeps, **job.common), None
    if (paths := job.kit.paths("segmented")) and (lines := read_text(*paths, unk_token="literal")).n_tokens:
        cut = lines  # that somebody has cut into words
    train, held_out, groups = split(raw, job.seed)
    with naming(folder):
        measured = job.fit(model.replace(), train, without(cut, held_out), name="models/segment.measured.model")
        final = job.fit(model, raw, cut, name=FILE, save=True)
        words = final.segment(raw)
        unseen, seen = measured.segment(held_out), final.segment(held_out)
        found = measured.perplexity(held_out, spaces=None, seed=job.seed)
    if raw.document_starts is not None:
        words = words.with_documents(raw.document_starts)
    write_text(words, job.pack / SEGMENTED)
    counts = np.bincount(words.tokens, minlength=len(words.vocab))
    order = np.argsort(-counts, kind="stable")
    frequent = [(words.vocab.word(int(i)), int(counts[i])) for i in order if counts[i] and i >= FIRST]
    write_table(job.pack / WORDS, (), frequent)
    _, first = np.unique(words.tokens, return_index=True)
    read = np.unique(np.geomspace(1, max(1, words.n_tokens), 40).astype(np.int64))
    letters = np.array([0] * FIRST + [min(len(word), _MOST_LETTERS) for word in words.vocab.strings[FIRST:]])
    lengths = np.bincount(letters[words.tokens], minlength=_MOST_LETTERS + 1)[1:]
    agreed = segmentation_scores(seen, unseen, draws=1)
    known = unseen.recode(measured.segment(train).vocab).tokens != UNKNOWN
    return Segmented(
        letters=job.letters, words=words.n_tokens, types=len(frequent), sweeps=sweeps, max_word=final.max_word_,
        groups=groups, held_out=with_counts(found, sentences=len(held_out), known=float(known.mean())),
        agreement={name: 1.0 if agreed["f1"] == 1.0 else agreed[name] for name in ("f1", "boundary_f1")},
        history=final.history_[0, 1:, : len(HISTORY)].tolist(),  # nothing is predicted before the first round
        growth={"read": read.tolist(), "types": np.searchsorted(np.sort(first), read, side="left").tolist()},
        lengths=tuple((lengths / max(1, lengths.sum())).tolist()),
        frequent=tuple((clip(word), n) for word, n in frequent[:_FREQUENT]),
        examples=examples(measured, held_out[:_EXAMPLES], _LONGEST, job.seed),
        also_from=() if cut is None else ("segmented",),
    )  # fmt: skip


SEGMENTER = declared("segment", 3, (FILE, SEGMENTED, WORDS), learn, Segmented, check=Job.check_text)
