"""The word alignment of a pack: which words translate which, a dictionary, and the pairs that hardly translate.

A model learns from nine tenths of the pairs and is measured on the others; another one, with the same settings, learns
from all of them: that is the one in the pack, and links and dictionary are its own. Links that people have drawn are
learned from, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpuscle.align import Aligner, learner
from corpuscle.align import lexicon as lexica
from corpuscle.align.evaluation import Halves, measure_unseen, score_by_halves
from corpuscle.align.lexicon import how_sure, linked_groups, read_linked, with_groups
from corpuscle.errors import CorpuscleWarning
from corpuscle.figures import alignment_grid
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, amount, grade, pick
from corpuscle.packs.kit import shown_name
from corpuscle.packs.step import Job, Settings, Step, check_enough, declared, naming, wrong_files
from corpuscle.packs.systems import dictionary
from corpuscle.packs.systems.dictionary import PAGE, TABLES
from corpuscle.text import Bitext
from corpuscle.text.alignments import write_pharaoh
from corpuscle.text.heldout import tenth
from corpuscle.text.html import Html, element, fragment, h3, p
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import beginning, clip, count, counted, percent

FILE, LINKS, SUSPICIOUS = "models/align.model", "alignments.txt", "suspicious.tsv"
BY_CHANCE = 0.92
"""A pair is called suspicious if a model is no surer of it than of this share of sentences matched by chance."""

FEWEST_PAIRS = 50  # with fewer, nothing can be learned about most words
UNNAMED = ("the first language", "the second language")
_DRAWN, _SHORTEST, _LONGEST = 3, 4, 14
_SHOWN, _WORST, _WORDS = 24, 8, 30
_HELPS = 0.8


@dataclass(frozen=True)
class Unseen:
    """What a model makes of pairs that it has not seen, see ``measure_unseen``."""

    pairs: int
    coverage: Sequence[float]
    agreement: float
    confidence: float
    found: int
    asked: int
    choices: int

    @property
    def share(self) -> float | None:
        """How often it finds the right translation; None where there is nothing to choose from."""
        return self.found / self.asked if self.asked else None

    @property
    def chance(self) -> float:
        return 1 / max(1, self.choices)


@dataclass(frozen=True)
class Grid:
    """A sentence pair with the probabilities of links, and the links."""

    source: Sequence[str]
    target: Sequence[str]
    weights: Sequence[Sequence[float]]
    links: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Aligned(Findings):
    """What was learned from ``pairs`` and groups of ``linked`` words: a dictionary of ``entries`` (``shown``: the first
    headwords), what models make of unseen pairs (bits per word with and without the translation; ``confidence``:
    pairs by tenths), and which pairs are ``suspicious`` (``worst``: file, line, confidence, both sentences)."""

    linked: int
    pairs: int
    files: tuple[tuple[str, int], ...]
    words: Sequence[int]
    types: Sequence[int]
    held_out: Unseen
    bits_with: Sequence[float]
    bits_without: Sequence[float]
    grids: tuple[Grid, ...]
    entries: int
    seen_once: int
    sure: int
    headwords: int
    on_page: int
    languages: Sequence[str]
    shown: Table
    confidence: Sequence[int]
    suspicious: int
    by_chance: float
    worst: tuple[tuple[str, int, float, str, str], ...]

    def chapter(self, step: Step) -> Chapter:
        held, share = self.held_out, self.held_out.share
        much = amount(self.pairs, 500, 5_000, "translations", ("few", "many"))
        verdict = f"Not measured: all translations are the same ({much})."
        cards = [Card(count(self.entries), f"dictionary entries, {count(self.seen_once)} seen only once")]
        if share is not None:
            what = f"unseen sentences whose translation is found among {held.choices}"
            cards.append(Card(percent(share, 0), what, f"by chance: {percent(held.chance, 0)}"))
            how = grade(share, (0.9, "Good"), (0.6, "Usable"), (0, "Weak: more pairs are needed"))
            verdict = (
                f"{how}, {much}: the right one of {held.choices} translations is found for {percent(share, 0)} of "
                f"unseen sentences, {percent(held.chance, 0)} by chance."
            )
        return Chapter(
            headline=f"word alignment: {counted(self.entries, 'dictionary entry', 'dictionary entries')} "
            f"({self.seen_once:,} seen only once) from {counted(self.pairs, 'sentence pair')}, {self.suspicious:,} of "
            "them suspicious",
            figures={
                **pick(self, "pairs", "entries", "seen_once", "sure", "suspicious"), "held_out_pairs": held.pairs,
                "found": share, "agreement": held.agreement, "coverage": list(held.coverage),
                "bits_with": list(self.bits_with), "bits_without": list(self.bits_without),
            },
            cards=cards,
            body=[*self._in_words(), *self._grids(), *self._dictionary(), *self._suspicious()],
            verdict=verdict,
        )  # fmt: skip

    def _in_words(self) -> list[Html]:
        held, (known, other_known) = self.held_out, map(percent, self.held_out.coverage)
        shown = "could not be asked for the translations of sentences of that tenth, since they are all the same"
        if held.share is not None:
            shown = (
                f"was shown {counted(held.asked, 'sentence')} of that tenth, each with {held.choices} translations of "
                f"which one is right: it preferred the right one in {percent(held.share)} of the cases (guessing would "
                f"give {percent(held.chance, 0)})"
            )
        before, other_before = (2 ** min(bits, 99) for bits in self.bits_without)
        after, other_after = (2 ** min(bits, 99) for bits in self.bits_with)
        helped = after < _HELPS * before and other_after < _HELPS * other_before
        doubt = "" if helped else " Where the translation hardly helps there are too few pairs to learn from."
        told = "Nothing told the computer which words belong together"
        if self.linked:
            groups = counted(self.linked, "group")
            told = f"Beside {groups} of words that people have linked, {told[0].lower()}{told[1:]}"
        return [
            p(f"Learned from {counted(self.pairs, 'sentence pair')} with {count(self.words[0])} and "
              f"{count(self.words[1])} words, in both directions at once. {told}: a link is what makes the other "
              "sentence most probable."),
            p(f"How good is it? A model that learned without a tenth of the pairs ({count(held.pairs)}, drawn by the "
              f"seed) {shown}. The model knows {known} and {other_known} of the words in the unseen pairs. Of all "
              f"links that either direction sees, both see {percent(held.agreement)}. There are no gold links to "
              "compare with, so these figures say how much was learned, not how many links are right. The model in "
              "the pack has the same settings and learned from all pairs."),
            p("Each half of the pairs was also looked at by a model (a hidden Markov model) that learned from the "
              f"other half. Guessing a word of {self.languages[0]} by its frequency is choosing among "
              f"{before:,.1f} words; with the translation at hand it is choosing among {after:,.1f}. For "
              f"{self.languages[1]} the numbers are {other_before:,.1f} and {other_after:,.1f}. This is about words "
              "that those models know. Each guess is mixed from the translation and the frequency, by a weight that "
              f"was found on other pairs.{doubt}"),
        ]  # fmt: skip

    def _grids(self) -> list[Html]:
        drawn = [
            alignment_grid(each.source, each.target, np.array(each.weights), each.links, title=f"Unseen pair {number}")
            for number, each in enumerate(self.grids, 1)
        ]
        said = "The stronger the colour of a square, the more probable the link; dots are the links that were chosen."
        figures = page.plots(page.figure(svg, natural=True) for svg in drawn)
        return [h3("Links"), page.note(said), figures] if drawn else []

    def _dictionary(self) -> list[Html]:
        to_read, *to_work_with = (element("a", name, href=name) for name in (PAGE, *TABLES))
        on_page = "" if self.on_page == self.entries else f", {count(self.on_page)} of them"
        return [
            h3("Dictionary"),
            p(f"{counted(self.entries, 'entry', 'entries')} of {counted(self.headwords, 'word')}, with examples and "
              "how sure each is, are in ", fragment(*to_work_with, between=", "),
              " (to work with; LIFT is for FLEx) and in ", to_read, f" (to read and search{on_page}). ",
              f"{count(self.sure)} of them are sure; {count(self.seen_once)} rest on a single link, which may be an "
              "accident. The most frequent content words:"),
            page.grid(map(dictionary.card, self.shown)), dictionary.key(),
        ]  # fmt: skip

    def _suspicious(self) -> list[Html]:
        n = self.suspicious
        listed = "No pair is" if n == 0 else "1 pair is" if n == 1 else f"{count(n)} pairs are"
        rows = [(f"{name}:{line}", f"{value:.2f}", *sides) for name, line, value, *sides in self.worst]
        return [
            h3("Suspicious pairs"),
            p("The confidence of a pair is the mean probability that its words are linked to anything, by the model "
              "that learned from the other half of the pairs. Some sentences make a model sure of any translation, "
              "so what counts is how much surer it is of a pair than of the same two sentences with others of their "
              f"length. Of sentences that were matched by chance {percent(BY_CHANCE, 0)} gain less than "
              f"{self.by_chance:.3f}. {listed} no better than that (all of them are in {SUSPICIOUS}): look for lines "
              "that have shifted, free translations and other languages. Pairs of rare words can be right and still "
              "be among them. The most doubtful ones:"),
            page.table(("line", "confidence", *(name[:1].upper() + name[1:] for name in self.languages)), rows, (1,)),
            page.plots([page.bars(
                [(f"{i / 10:.1f} to {(i + 1) / 10:.1f}", n) for i, n in enumerate(self.confidence)],
                title="How sure the model is of the pairs", value_label="sentence pairs by confidence",
            )]),
        ]  # fmt: skip


def _linked(job: Job) -> list[tuple[str, dict[str, str]]]:
    """Every ``links/NAME.links`` with what there is of ``NAME.src`` and ``NAME.tgt``, by suffix."""
    found: dict[str, dict[str, str]] = {}
    for path in map(Path, job.kit.paths("links")):
        found.setdefault(path.stem, {})[path.suffix.lower()] = str(path)
    return [(sides[".links"], sides) for sides in found.values() if ".links" in sides]


def learn(job: Job, settings: Settings) -> Aligned:
    bitext, folder = job.parallel, job.kit.folder / "parallel"
    assert bitext.origin is not None
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    filled, longest = np.flatnonzero((lengths > 0).all(axis=1)), learner(settings["method"]).max_length
    short = int((lengths[filled] <= longest).all(axis=1).sum())
    which = "" if short == len(filled) else f" of at most {longest} words"
    check_enough(folder, short, FEWEST_PAIRS, f"sentence pair{which}", f"sentence pairs{which}")

    def learned(pairs: Bitext, method: str, name: str, save: bool = False) -> Aligner:
        seeded = job.common if "seed" in learner(method).settings else job.workers
        with naming(folder):
            return job.fit(learner(method, **seeded), pairs, name=name, save=save)

    held = np.array(tenth(filled.tolist(), job.seed, "packs/parallel"))
    unseen = {(" ".join(source), " ".join(target)) for source, target in bitext.select(held)}
    rest, links = bitext.select(np.setdiff1d(filled, held)), _linked(job)
    training = Bitext(rest.source.counted(), rest.target.counted())
    training, groups = with_groups(training, linked_groups(links, without=unseen)), linked_groups(links)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpuscleWarning)  # what there is to say is said about all pairs
        measured = learned(training, settings["method"], "models/align.measured.model")

        def learned_from_half(pairs: Bitext, half: int) -> Aligner:
            return learned(pairs, settings["doubts_by"], f"models/align.half{half}.model")

        halves = score_by_halves(bitext.select(filled), learned_from_half, BY_CHANCE, job.seed)
    final = learned(with_groups(bitext, groups), settings["method"], FILE, save=True)
    write_pharaoh(final.align(bitext, settings["symmetrise"]), job.pack / LINKS)
    low, score = settings["dictionary_from_links"], settings["dictionary_from_score"]
    entries = lexica.lexicon(final, min_links=low, min_score=score, examples=bitext, fold_case=True)
    languages = [job.kit.languages.get(side, name) for side, name in zip(("source", "target"), UNNAMED, strict=True)]
    on_page = dictionary.write(entries, bitext, job.pack, languages, job.glosses)
    sureness = [how_sure(entry.links, entry.confidence) for entry in entries]
    best = lexica.content_first(entries, lexica.frequent_words(bitext.source))
    suspicious, worst = _suspicious(bitext, filled, halves, job.pack / SUSPICIOUS)
    sizes = np.diff([*bitext.origin.firsts, len(bitext)]).tolist()
    files = zip(map(shown_name, bitext.origin.files), sizes, strict=True)
    return Aligned(
        linked=len(groups), pairs=len(filled), files=tuple(files), words=lengths[filled].sum(axis=0).tolist(),
        types=(len(bitext.source.vocab) - FIRST, len(bitext.target.vocab) - FIRST),
        held_out=Unseen(**measure_unseen(measured, bitext.select(held), job.seed)), bits_with=halves.bits_with,
        bits_without=halves.bits_without, grids=_grids(measured, bitext.select(held), settings["symmetrise"]),
        entries=len(entries), seen_once=sureness.count("seen once"), sure=sureness.count("sure"),
        headwords=len({entry.source for entry in entries}), on_page=on_page, languages=languages,
        shown=tuple(dictionary.headwords(best, job.glosses)[:_SHOWN]),
        confidence=np.histogram(halves.confidence, np.linspace(0, 1, 11))[0].tolist(), suspicious=suspicious,
        by_chance=halves.by_chance, worst=worst, also_from=("links",) if groups else (),
    )  # fmt: skip


def _grids(model: Aligner, held_out: Bitext, symmetrise: str) -> tuple[Grid, ...]:
    """A few unseen pairs, the first ones of a fair length, with the probabilities of links and the links."""
    lengths = np.column_stack([held_out.source.lengths, held_out.target.lengths])
    fair = ((lengths >= _SHORTEST) & (lengths <= _LONGEST)).all(axis=1)
    drawn = held_out.select(np.flatnonzero(fair)[:_DRAWN])
    matrix, links = model.matrix(drawn), model.align(drawn, symmetrise)
    return tuple(
        Grid([clip(word) for word in source], [clip(word) for word in target],
             np.round(matrix.matrix(number).astype(np.float64), 3).tolist(),
             [(i, j) for i, j in links.pair(number).tolist()])
        for number, (source, target) in enumerate(drawn)
    )  # fmt: skip


def _suspicious(bitext: Bitext, filled: np.ndarray, halves: Halves, path: Path) -> tuple[int, tuple[Any, ...]]:
    """List the pairs that hardly translate each other in a file, the worst first; how many they are, and the least sure
    ones of all. ``filled`` are the pairs that ``halves`` is about."""
    order = np.argsort(halves.surplus, kind="stable")
    bad = order[halves.surplus[order] <= halves.by_chance]

    def row(number: int) -> tuple[str, int | None, float, list[str], list[str]]:
        pair = int(filled[number])
        assert bitext.origin is not None
        name, line = bitext.origin.place(pair)
        sides = bitext.source.words(pair), bitext.target.words(pair)
        return shown_name(name), line, float(halves.confidence[number]), *sides

    listed = ((*place, " ".join(source), " ".join(target)) for *place, source, target in map(row, bad.tolist()))
    write_table(path, (), listed)
    worst = (
        (name, line, round(value, 4), beginning(source, _WORDS), beginning(target, _WORDS))
        for name, line, value, source, target in map(row, order[:_WORST].tolist())
    )
    return len(bad), tuple(worst)


ALIGNMENTS = declared(
    "align", 4, (FILE, LINKS, *TABLES, PAGE, SUSPICIOUS), learn, Aligned,
    check=lambda job: job.check_parallel() + wrong_files(read_linked, _linked(job)),
)  # fmt: skip
