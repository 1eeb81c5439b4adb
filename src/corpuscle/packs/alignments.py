"""The word alignment of a pack: which words translate which, a dictionary, and the pairs that hardly translate.

A model learns from nine tenths of the pairs and is measured on the others; another one, with the same settings, learns
from all of them: that is the one in the pack, and links and dictionary are its own.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align import DEFAULT_METHOD, DEFAULT_SYMMETRISATION, METHODS, Aligner, learner
from corpuscle.align.lexicon import lexicon
from corpuscle.errors import CorpuscleWarning, InputError
from corpuscle.figures import alignment_grid, bar_plot
from corpuscle.packs import dictionary, page
from corpuscle.packs.heldout import SHARE
from corpuscle.packs.step import Chapter, Findings, Job, LeftOut, Step, blaming, unfinished
from corpuscle.packs.unseen_pairs import Doubts, doubts, measure_unseen
from corpuscle.random import Random
from corpuscle.text import Bitext, read_bitext, read_text
from corpuscle.text.alignments import write_pharaoh
from corpuscle.text.corpus import starts_of
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST

__all__ = ["ALIGNMENTS"]

FILE, LINKS, TSV, HTML, SUSPICIOUS = (
    "models/align.model",
    "alignments.txt",
    "dictionary.tsv",
    "dictionary.html",
    "suspicious.tsv",
)
SETTINGS = {
    "method": DEFAULT_METHOD,
    "symmetrisation": DEFAULT_SYMMETRISATION,
    "dictionary_from_links": 1.0,
    "dictionary_from_score": 0.1,
    "doubts_by": "hmm",
    "suspicious": "no surer than 90 % of the pairs matched by chance",
}
FEWEST_PAIRS = 50
"""With fewer, nothing can be learned about most words."""

_DRAWN, _SHORTEST, _LONGEST = 3, 4, 14
_SHOWN, _WORST, _WORDS = 24, 8, 30
_BY_CHANCE = 0.9
_FOUND = "unseen sentences whose translation is found among {}"


class Parallel(NamedTuple):
    """All sentence pairs of a kit; ``files``: the source file of each part and how many pairs it has."""

    bitext: Bitext
    files: list[tuple[str, int]]

    def place(self, pair: int) -> tuple[str, int]:
        """The source file of a pair, and its line there, counted from 1."""
        starts = starts_of(count for _, count in self.files)
        part = int(np.searchsorted(starts, pair, side="right")) - 1
        return self.files[part][0], pair - int(starts[part]) + 1


def read_parallel(job: Job) -> Parallel:
    """The pairs of all ``parallel/NAME.src`` with ``parallel/NAME.tgt``, by name; an error if lines do not match."""
    sides: dict[str, dict[str, str]] = {}
    for path in job.kit.paths("parallel"):
        name = Path(path).name.removesuffix(".gz").removesuffix(".xz")
        stem, _, side = name.rpartition(".")
        if side in sides.setdefault(stem, {}):
            raise InputError(path, None, f"there is also {Path(sides[stem][side]).name}; which one is meant?")
        sides[stem][side] = path
    for stem, found in sides.items():
        if len(found) == 1:
            other = f"{stem}.{'tgt' if 'src' in found else 'src'}"
            raise InputError(next(iter(found.values())), None, f"the other language is missing: there is no {other}")
    parts = [read_bitext(found["src"], found["tgt"]) for found in sides.values()]
    names = [_printable(Path(found["src"]).name) for found in sides.values()]
    files = list(zip(names, map(len, parts), strict=True))
    if len(parts) == 1:
        return Parallel(parts[0], files)
    both = [read_text(*(found[side] for found in sides.values())) for side in ("src", "tgt")]
    return Parallel(Bitext(*both), files)


def _printable(name: str) -> str:
    """A file name for a table: what is no character, or not visible, is written as Python does it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def _run(job: Job, settings: Mapping[str, Any]) -> Findings:
    parallel = read_parallel(job)
    bitext, path = parallel.bitext, job.pack / FILE
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    filled, longest = np.flatnonzero((lengths > 0).all(axis=1)), METHODS[settings["method"]].max_length
    short = int((lengths[filled] <= longest).all(axis=1).sum())
    if short < FEWEST_PAIRS:
        which = "sentence pairs" if short == len(filled) else f"sentence pairs of at most {longest} words"
        raise LeftOut(job.kit.folder / "parallel", None, f"only {short} {which}; at least {FEWEST_PAIRS} are needed")
    order = np.array(Random(job.seed, "packs/parallel").shuffled(range(len(filled))))
    held = filled[order[: max(1, round(SHARE * len(filled)))]]
    training = bitext.select(np.setdiff1d(filled, held))
    training = Bitext(training.source.counted(), training.target.counted())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpuscleWarning)  # what there is to say is said about all pairs
        measured = _learned(training, path.with_name("align.measured.model"), job, settings["method"])
        halves = doubts(
            bitext.select(filled),
            lambda pairs, half: _learned(pairs, path.with_name(f"align.half{half}.model"), job, settings["doubts_by"]),
            _BY_CHANCE,
            job.seed,
        )
    final = _learned(bitext, path, job, settings["method"])
    final.save(path)
    write_pharaoh(final.align(bitext, settings["symmetrisation"]), job.pack / LINKS)
    low, score = settings["dictionary_from_links"], settings["dictionary_from_score"]
    entries = lexicon(final, min_count=low, min_score=score, examples=bitext)
    dictionary.write_table(entries, bitext, job.pack / TSV)
    dictionary.write_page(entries, bitext, job.pack / HTML)
    return {
        "pairs": len(filled),
        "files": [list(file) for file in parallel.files],
        "words": lengths[filled].sum(axis=0).tolist(),
        "types": [len(bitext.source.vocab) - FIRST, len(bitext.target.vocab) - FIRST],
        "held_out": measure_unseen(measured, bitext.select(held), job.seed),
        "bits_with": halves.bits_with,
        "bits_without": halves.bits_without,
        "grids": _grids(measured, bitext.select(held), settings["symmetrisation"]),
        "entries": len(entries),
        "headwords": len({entry.source for entry in entries}),
        "shown": dictionary.headwords(entries)[:_SHOWN],
        "confidence": np.histogram(halves.confidence, np.linspace(0, 1, 11))[0].tolist(),
        **_suspicious(parallel, filled, halves, job.pack / SUSPICIOUS),
        "bytes": path.stat().st_size,
    }


def _learned(bitext: Bitext, path: Path, job: Job, method: str) -> Aligner:
    chance = {"seed": job.seed} if hasattr(METHODS[method], "seed") else {}
    model = learner(method, workers=job.workers, **chance)
    with (
        blaming(job.kit.folder / "parallel"),
        unfinished(lambda resume: model.checkpoint(bitext, path, resume), path) as checkpoint,
    ):
        return model.fit(bitext, checkpoint=checkpoint)


def _grids(model: Aligner, held_out: Bitext, symmetrisation: str) -> list[dict[str, Any]]:
    """A few unseen pairs, the first ones of a fair length, with the probabilities of links and the links."""
    lengths = np.column_stack([held_out.source.lengths, held_out.target.lengths])
    fair = ((lengths >= _SHORTEST) & (lengths <= _LONGEST)).all(axis=1)
    drawn = held_out.select(np.flatnonzero(fair)[:_DRAWN])
    matrix, links = model.matrix(drawn), model.align(drawn, symmetrisation)
    return [
        {
            "source": [page.clip(word) for word in source],
            "target": [page.clip(word) for word in target],
            "weights": np.round(matrix.matrix(i).astype(np.float64), 3).tolist(),
            "links": links.pair(i).tolist(),
        }
        for i, (source, target) in enumerate(drawn)
    ]


def _suspicious(parallel: Parallel, filled: np.ndarray, halves: Doubts, path: Path) -> dict[str, Any]:
    """List the pairs that hardly translate each other in a file, the worst first; and the least sure ones of all.

    ``filled`` are the pairs that ``halves`` is about.
    """
    confidence = halves.confidence
    order = np.argsort(confidence, kind="stable")
    bad = order[confidence[order] <= halves.by_chance]

    def row(number: int) -> tuple[str, int, float, list[str], list[str]]:
        pair = int(filled[number])
        source, target = parallel.bitext.source.words(pair), parallel.bitext.target.words(pair)
        return *parallel.place(pair), float(confidence[number]), source, target

    listed = ((*place, " ".join(source), " ".join(target)) for *place, source, target in map(row, bad.tolist()))
    write_table(path, (), listed)
    worst = [
        [name, line, round(value, 4), page.beginning(source, _WORDS), page.beginning(target, _WORDS)]
        for name, line, value, source, target in map(row, order[:_WORST].tolist())
    ]
    return {"suspicious": len(bad), "by_chance": halves.by_chance, "worst": worst}


def _report(findings: Findings, pack: str) -> Chapter:
    held, model = findings["held_out"], shlex.quote(f"{pack}/{FILE}")
    found = held["found"] / held["asked"] if held["asked"] else None
    figures = {name: findings[name] for name in ("pairs", "entries", "suspicious")} | {
        "held_out_pairs": held["pairs"],
        "found": found,
        **{name: held[name] for name in ("agreement", "coverage")},
        **{name: findings[name] for name in ("bits_with", "bits_without")},
    }
    return Chapter(
        headline=(
            f"word alignment: {page.counted(findings['entries'], 'dictionary entry', 'dictionary entries')} from "
            f"{page.counted(findings['pairs'], 'sentence pair')}, {findings['suspicious']:,} of them suspicious"
        ),
        figures=figures,
        cards=[
            (page.count(findings["entries"]), "dictionary entries"),
            *([] if found is None else [(page.percent(found, 0), _FOUND.format(held["choices"]))]),
        ],
        body=_in_words(findings) + _pictures(findings) + _dictionary(findings) + _doubts(findings),
        commands=[
            (f"corpuscle align apply {model} SRC TGT", "the links of other sentence pairs"),
            (f"corpuscle align draw {model} SRC TGT -o grid.svg --line 1", "a sentence pair as a picture"),
            (f"corpuscle align lexicon {model} --min-score 0.3", "a dictionary of sure entries only"),
            (f"corpuscle align filter {model} SRC TGT", "sentence pairs that hardly translate each other"),
        ],
    )


def _in_words(findings: Findings) -> str:
    held = findings["held_out"]
    agreed, (known, other_known) = page.percent(held["agreement"]), map(page.percent, held["coverage"])
    learned = page.paragraph(
        f"Learned from {page.counted(findings['pairs'], 'sentence pair')} with {page.count(findings['words'][0])} and "
        f"{page.count(findings['words'][1])} words, in both directions at once. Nothing told the computer which words "
        "belong together: a link is what makes the other sentence most probable."
    )
    shown = "could not be asked for the translations of sentences of that tenth, since they are all the same"
    if held["asked"]:
        shown = (
            f"was shown {page.counted(held['asked'], 'sentence')} of that tenth, each with {held['choices']} "
            "translations of which one is right: it preferred the right one in "
            f"{page.percent(held['found'] / held['asked'])} of the cases (guessing would give "
            f"{page.percent(1 / held['choices'], 0)})"
        )
    judged = page.paragraph(
        f"How good is it? A model that learned without a tenth of the pairs ({page.count(held['pairs'])}, drawn by the "
        f"seed) {shown}. The model knows {known} and {other_known} of the words in the "
        f"unseen pairs. Of all links that either direction sees, both see {agreed}. There are no gold links to compare "
        "with, so these figures say how much was learned, not how many links are right. The model in the pack has the "
        "same settings and learned from all pairs."
    )
    return learned + judged + _guessing(findings)


def _guessing(findings: Findings) -> str:
    """How much the other sentence helps to guess a word."""
    (before, other_before), (after, other_after) = (
        [2 ** min(bits, 99) for bits in findings[name]] for name in ("bits_without", "bits_with")
    )
    return page.paragraph(
        "Each half of the pairs was also looked at by a model (a hidden Markov model) that learned from the other "
        f"half. Guessing a word of the first language by its frequency is choosing among {before:,.0f} words; with the "
        f"translation at hand it is choosing among {after:,.1f}. For the second language the numbers are "
        f"{other_before:,.0f} and {other_after:,.1f}. This is about words that those models know."
    )


def _pictures(findings: Findings) -> str:
    grids = [
        page.figure(
            alignment_grid(
                grid["source"],
                grid["target"],
                np.array(grid["weights"]),
                [(i, j) for i, j in grid["links"]],
                title=f"Unseen pair {number}",
            ),
            natural=True,
        )
        for number, grid in enumerate(findings["grids"], 1)
    ]
    if not grids:
        return ""
    key = page.note(
        "The stronger the colour of a square, the more probable the link; dots are the links that were chosen."
    )
    return f"<h3>Links</h3>{key}{page.plots(grids)}"


def _dictionary(findings: Findings) -> str:
    said = (
        f"{page.counted(findings['entries'], 'entry', 'entries')} of {page.counted(findings['headwords'], 'word')}, "
        "with examples and how sure each is, are in"
    )
    links = [f'<a href="{name}">{name}</a>' for name in (HTML, TSV)]
    return (
        f"<h3>Dictionary</h3><p>{page.escape(said)} {links[0]} (to read) and {links[1]} (to work with). The most "
        f"frequent ones:</p>{dictionary.listed(findings['shown'])}"
    )


def _doubts(findings: Findings) -> str:
    number, chance = findings["suspicious"], findings["by_chance"]
    listed = "No pair is" if number == 0 else "1 pair is" if number == 1 else f"{page.count(number)} pairs are"
    said = (
        "The confidence of a pair is the mean probability that its words are linked to anything, by the model that "
        "learned from the other half of the pairs. Of sentences that were matched by chance "
        f"{page.percent(_BY_CHANCE, 0)} have a confidence below {chance:.2f}. {listed} no surer than that (all of them "
        "are in suspicious.tsv): look for lines that have shifted, free translations and other languages. Pairs of "
        "rare words can be right and still be among them. The least sure ones:"
    )
    rows = [(f"{name}:{line}", f"{value:.2f}", *sides) for name, line, value, *sides in findings["worst"]]
    bins = [f"{i / 10:.1f} to {(i + 1) / 10:.1f}" for i in range(10)]
    plot = bar_plot(
        bins,
        findings["confidence"],
        title="How sure the model is of the pairs",
        value_label="sentence pairs by confidence",
    )
    return (
        f"<h3>Suspicious pairs</h3>{page.paragraph(said)}"
        + page.table(("line", "confidence", "one language", "the other"), rows, (1,))
        + page.plots([page.figure(plot)])
    )


ALIGNMENTS = Step(
    name="align",
    title="Word alignment and dictionary",
    version=2,
    needs=("parallel",),
    writes=(FILE, LINKS, TSV, HTML, SUSPICIOUS),
    run=_run,
    report=_report,
    settings=SETTINGS,
    learned="word alignments with a dictionary",
    kernels="corpuscle.align",
)
