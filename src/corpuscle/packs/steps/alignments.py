"""The word alignment of a pack: which words translate which, a dictionary, and the pairs that hardly translate.

A model learns from nine tenths of the pairs and is measured on the others; another one, with the same settings, learns
from all of them: that is the one in the pack, and links and dictionary are its own. Links that people have drawn are
learned from, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align import DEFAULT_METHOD, DEFAULT_SYMMETRISATION, Aligner, learner
from corpuscle.align.lexicon import lexicon
from corpuscle.errors import CorpuscleWarning, InputError
from corpuscle.packs.chapters import alignments as chapter
from corpuscle.packs.chapters import dictionary
from corpuscle.packs.heldout import tenth
from corpuscle.packs.job import Job
from corpuscle.packs.kit import shown_name
from corpuscle.packs.step import Findings, Step, check_enough, naming, wrong_files
from corpuscle.packs.steps.links import check_links, linked_groups, with_groups
from corpuscle.packs.steps.unseen_pairs import Halves, measure_unseen, score_by_halves
from corpuscle.text import Bitext, read_bitext, read_text
from corpuscle.text.alignments import write_pharaoh
from corpuscle.text.corpus import starts_of
from corpuscle.text.files import write_atomically
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import beginning, clip

__all__ = ["ALIGNMENTS"]

FILE, LINKS, TSV, HTML, SUSPICIOUS = (
    "models/align.model",
    "alignments.txt",
    "dictionary.tsv",
    "dictionary.html",
    "suspicious.tsv",
)
TABLES = (TSV, "dictionary.csv", "dictionary.lift")
SETTINGS = {
    "method": DEFAULT_METHOD,
    "symmetrise": DEFAULT_SYMMETRISATION,
    "dictionary_from_links": 1.0,
    "dictionary_from_score": 0.1,
    "doubts_by": "hmm",
    "suspicious": "beside other sentences no surer than 92 % of the pairs matched by chance",
}
FEWEST_PAIRS = 50
"""With fewer, nothing can be learned about most words."""

UNNAMED = ("the first language", "the second language")
_DRAWN, _SHORTEST, _LONGEST = 3, 4, 14
_SHOWN, _WORST, _WORDS = 24, 8, 30


class Parallel(NamedTuple):
    """All sentence pairs of a kit; ``files``: the source file of each part and how many pairs it has."""

    bitext: Bitext
    files: list[tuple[str, int]]

    def place(self, pair: int) -> tuple[str, int]:
        """The source file of a pair, and its line there, counted from 1."""
        starts = starts_of(count for _, count in self.files)
        part = int(np.searchsorted(starts, pair, side="right")) - 1
        return self.files[part][0], pair - int(starts[part]) + 1


def _sides(job: Job) -> tuple[list[tuple[str, str]], list[InputError]]:
    """All ``parallel/NAME.src`` with ``parallel/NAME.tgt``, by name; and what is wrong with the others."""
    sides: dict[str, dict[str, str]] = {}
    wrong: list[InputError] = []
    for path in job.kit.paths("parallel"):
        name = Path(path).name.removesuffix(".gz").removesuffix(".xz")
        stem, _, side = name.rpartition(".")
        if side in sides.setdefault(stem, {}):
            wrong.append(InputError(path, None, f"there is also {Path(sides[stem][side]).name}; which one is meant?"))
        sides[stem][side] = path
    for stem, found in sides.items():
        if len(found) == 1:
            reason = f"the other language is missing: there is no {stem}.{'tgt' if 'src' in found else 'src'}"
            wrong.append(InputError(next(iter(found.values())), None, reason))
    return [(found["src"], found["tgt"]) for found in sides.values() if len(found) == 2], wrong


def check(job: Job) -> list[InputError]:
    """What is wrong with the translations: files without another side, lines that do not match."""
    pairs, wrong = _sides(job)
    return wrong + wrong_files(read_bitext, pairs) + check_links(job)


def read_parallel(job: Job) -> Parallel:
    """The pairs of all ``parallel/NAME.src`` with ``parallel/NAME.tgt``, by name."""
    pairs, _ = _sides(job)
    parts = [read_bitext(*paths) for paths in pairs]
    files = list(zip((shown_name(source) for source, _ in pairs), map(len, parts), strict=True))
    if len(parts) == 1:
        return Parallel(parts[0], files)
    return Parallel(Bitext(*(read_text(*paths) for paths in zip(*pairs, strict=True))), files)


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Align all pairs, write links and dictionary, and say what models make of pairs that they have not seen."""
    parallel, folder = read_parallel(job), job.kit.folder / "parallel"
    bitext = parallel.bitext
    lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    filled, longest = np.flatnonzero((lengths > 0).all(axis=1)), learner(settings["method"]).max_length
    short = int((lengths[filled] <= longest).all(axis=1).sum())
    which = "" if short == len(filled) else f" of at most {longest} words"
    check_enough(folder, short, FEWEST_PAIRS, f"sentence pair{which}", f"sentence pairs{which}")

    def learned(pairs: Bitext, method: str, name: str, save: bool = False) -> Aligner:
        model = learner(method, **job.crew)
        if "seed" in model.settings:
            model = model.replace(seed=job.seed)
        with naming(folder):
            return job.fit(model, pairs, name=name, save=save)

    held = np.array(tenth(filled.tolist(), job.seed, "packs/parallel"))
    unseen = {(" ".join(source), " ".join(target)) for source, target in bitext.select(held)}
    training = bitext.select(np.setdiff1d(filled, held))
    training = Bitext(training.source.counted(), training.target.counted())
    training, groups = with_groups(training, linked_groups(job, without=unseen)), linked_groups(job)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorpuscleWarning)  # what there is to say is said about all pairs
        measured = learned(training, settings["method"], "models/align.measured.model")
        halves = score_by_halves(
            bitext.select(filled),
            lambda pairs, half: learned(pairs, settings["doubts_by"], f"models/align.half{half}.model"),
            chapter.BY_CHANCE,
            job.seed,
        )
    final = learned(with_groups(bitext, groups), settings["method"], FILE, save=True)
    write_pharaoh(final.align(bitext, settings["symmetrise"]), job.pack / LINKS)
    low, score = settings["dictionary_from_links"], settings["dictionary_from_score"]
    entries = lexicon(final, min_links=low, min_score=score, examples=bitext, fold_case=True)
    how_sure = [dictionary.how_sure(e.links, e.confidence) for e in entries]
    languages = [job.kit.languages.get(side, name) for side, name in zip(("source", "target"), UNNAMED, strict=True)]
    dictionary.write_tables(entries, bitext, job.pack, TABLES, languages)
    page, on_page = dictionary.whole_page(entries, bitext, languages, job.glosses)
    with write_atomically(job.pack / HTML, "w") as file:
        file.write(page)
    best = dictionary.content_first(entries, dictionary.frequent_words(bitext.source))
    return {
        "also_from": ["links"] if groups else [],
        "linked": len(groups),
        "pairs": len(filled),
        "files": [list(file) for file in parallel.files],
        "words": lengths[filled].sum(axis=0).tolist(),
        "types": [len(bitext.source.vocab) - FIRST, len(bitext.target.vocab) - FIRST],
        "held_out": measure_unseen(measured, bitext.select(held), job.seed),
        "bits_with": halves.bits_with,
        "bits_without": halves.bits_without,
        "grids": _grids(measured, bitext.select(held), settings["symmetrise"]),
        "entries": len(entries),
        "seen_once": how_sure.count("seen once"),
        "sure": how_sure.count("sure"),
        "headwords": len({entry.source for entry in entries}),
        "on_page": on_page,
        "languages": languages,
        "shown": dictionary.headwords(best, job.glosses)[:_SHOWN],
        "confidence": np.histogram(halves.confidence, np.linspace(0, 1, 11))[0].tolist(),
        **_suspicious(parallel, filled, halves, job.pack / SUSPICIOUS),
    }


def _grids(model: Aligner, held_out: Bitext, symmetrise: str) -> list[dict[str, Any]]:
    """A few unseen pairs, the first ones of a fair length, with the probabilities of links and the links."""
    lengths = np.column_stack([held_out.source.lengths, held_out.target.lengths])
    fair = ((lengths >= _SHORTEST) & (lengths <= _LONGEST)).all(axis=1)
    drawn = held_out.select(np.flatnonzero(fair)[:_DRAWN])
    matrix, links = model.matrix(drawn), model.align(drawn, symmetrise)
    return [
        {
            "source": [clip(word) for word in source],
            "target": [clip(word) for word in target],
            "weights": np.round(matrix.matrix(i).astype(np.float64), 3).tolist(),
            "links": links.pair(i).tolist(),
        }
        for i, (source, target) in enumerate(drawn)
    ]


def _suspicious(parallel: Parallel, filled: np.ndarray, halves: Halves, path: Path) -> dict[str, Any]:
    """List the pairs that hardly translate each other in a file, the worst first; and the least sure ones of all.

    ``filled`` are the pairs that ``halves`` is about.
    """
    confidence = halves.confidence
    order = np.argsort(halves.surplus, kind="stable")
    bad = order[halves.surplus[order] <= halves.by_chance]

    def row(number: int) -> tuple[str, int, float, list[str], list[str]]:
        pair = int(filled[number])
        source, target = parallel.bitext.source.words(pair), parallel.bitext.target.words(pair)
        return *parallel.place(pair), float(confidence[number]), source, target

    listed = ((*place, " ".join(source), " ".join(target)) for *place, source, target in map(row, bad.tolist()))
    write_table(path, (), listed)
    worst = [
        [name, line, round(value, 4), beginning(source, _WORDS), beginning(target, _WORDS)]
        for name, line, value, source, target in map(row, order[:_WORST].tolist())
    ]
    return {"suspicious": len(bad), "by_chance": halves.by_chance, "worst": worst}


ALIGNMENTS = Step(
    name="align", title="Word alignment and dictionary", version=4, needs=("parallel",),
    writes=(FILE, LINKS, *TABLES, HTML, SUSPICIOUS), run=run, report=chapter.report, check=check,
    settings=SETTINGS, learned="word alignments with a dictionary", kernels="corpuscle.align", wants=("links",),
)  # fmt: skip
