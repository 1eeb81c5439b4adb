"""The transliterator of a pack: how names are written in the other script, how often rightly, and what goes wrong.

A model learns from nine tenths of the names (and tunes its weights on a tenth of those) and is measured on the tenth
that it has not seen. Where there are many names and PyTorch is installed, a network and both together are measured,
too, and the best is chosen. Then that is learned from all names, with the same settings and the weights of the first:
it is the one in the pack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from corpuscle.errors import InputError
from corpuscle.figures import phrase_lattice
from corpuscle.measure import Result, news_measures
from corpuscle.measure.names import difference
from corpuscle.packs import page
from corpuscle.packs.chapter import Card, Chapter, Findings, Table, between, grade, learned_from, pick
from corpuscle.packs.step import Job, LeftOut, Settings, Step, check_enough, declared, naming, wrong_files
from corpuscle.text.heldout import tenth
from corpuscle.text.html import p
from corpuscle.text.pairs import Pair, read_pairs
from corpuscle.text.scripts import isolated
from corpuscle.text.wording import clip, count, counted, percent
from corpuscle.transliterate import (
    CombinedTransliterator,
    LetterMap,
    NeuralTransliterator,
    PhraseTransliterator,
    Transliterator,
)

FILE = "models/names.model"
NETWORK = "models/names-network.model"
FEWEST_NAMES = 100  # with fewer, nine tenths of nine tenths are too few to learn from
_ERRORS, _CONFUSIONS, _DRAWN, _WAYS, _TUNING = 12, 10, 2, 4, 500

Ways = tuple[str, tuple[tuple[str, tuple[tuple[str, str], ...]], ...]]
"""A word with the best ways to write it: the whole and its phrases."""


@dataclass(frozen=True)
class Written(Findings):
    """How often names that were held out are written as wanted, by all methods that were tried (``rivals``: ACC) and
    letter by letter (``baseline``); what goes wrong, and ways to write a name (``lattices``)."""

    pairs: int
    held_out: int
    tuned_on: int
    rounds: int
    measures: Result
    chosen: str
    rivals: Mapping[str, float]
    baseline: float
    errors: Table
    confusions: tuple[tuple[str, str, int], ...]
    wrong: int
    lattices: tuple[Ways, ...]

    def chapter(self, step: Step) -> Chapter:
        found, interval = self.measures, (self.measures["acc_low"], self.measures["acc_high"])
        acc, exactly, simple = percent(found["acc"]), percent(found["acc"], 0), percent(self.baseline, 0)
        tuned = f"were tuned on {counted(self.tuned_on, 'name')} of the other nine tenths"
        if not self.rounds:
            tuned = "are those it began with: the other nine tenths gave nothing to tune them on"
        shares = ", ".join(f"{step.labels[name]} {percent(share)}" for name, share in self.rivals.items())
        chosen = f"Measured on the same unseen names: {shares}. In the pack: {step.labels[self.chosen]}."
        how = grade(found["acc"], (0.7, "Good"), (0.4, "Useful with several candidates"), (0, "Weak"))
        return Chapter(
            headline=f"transliterator: {acc} of {counted(self.held_out, 'unseen name')} right at the first try",
            figures={
                "pairs": self.pairs, "names": self.held_out,
                **pick(found, "acc", "f_score", "mrr", "map_ref", "acc_low", "acc_high"),
            },
            cards=[Card(exactly, "unseen names written right", f"letter by letter: {simple}")],
            body=[
                learned_from(
                    f"{counted(self.pairs, 'name')} in two scripts", "model",
                    f"writes {acc} of the {counted(self.held_out, 'name')} it has not seen as the list has them "
                    f"{between(*interval)}. Its answers share {percent(found['f_score'])} of their letters with the "
                    f"right ones; the mean reciprocal rank of the right one is {found['mrr']:.2f}. The weights of its "
                    f"features {tuned}.", "names", same="settings and weights",
                ),
                *([p(chosen)] if len(self.rivals) > 1 else []),
                page.plots([
                    *(page.figure(
                        phrase_lattice(ways, title=f"Ways to write {isolated(clip(word, 24))}"),
                        "An unseen name, piece by piece; the best way is on top.",
                    ) for word, ways in self.lattices if ways),
                    page.bars(
                        [(f"{isolated(found) or '∅'} for {isolated(wanted) or '∅'}", n)
                         for found, wanted, n in self.confusions],
                        "Where the answer and the right one part; ∅ is nothing.", title="What is written for what",
                        value_label="wrong names",
                    ),
                ]),
                *page.titled("Typical errors", ("name", "written", "right", "rank of the right one"),
                             [(row["source"], row["found"] or "∅", row["wanted"], row["rank"] or "not found")
                              for row in self.errors], (3,),
                             f"{counted(self.wrong, 'name')} of {count(self.held_out)} came out wrong. The first:"),
            ],
            verdict=f"{how}: {exactly} of unseen names are written exactly as wanted at the first attempt, {simple} "
            "letter by letter.",
        )  # fmt: skip


def check(job: Job) -> list[InputError]:
    wrong: list[InputError] = []
    unreadable = wrong_files(read_pairs, [(path, wrong) for path in job.kit.paths("names")])
    return wrong + unreadable


def learn(job: Job, settings: Settings) -> Written:
    paths = job.kit.paths("names")
    pairs = [pair for path in paths for pair in read_pairs(path)]
    check_enough(paths[0], len(pairs), FEWEST_NAMES, "name")
    with naming(paths[0]):
        return _learned(job, pairs, settings)


def _learned(job: Job, pairs: list[Pair], settings: Settings) -> Written:
    model = PhraseTransliterator(**job.common)
    normal = model.spelling.normal
    sources = list(dict.fromkeys(normal(pair.source) for pair in pairs))
    if len(sources) == 1:
        raise LeftOut(None, None, "all names are the same")
    held = set(tenth(sources, job.seed, "packs/names"))
    train = [pair for pair in pairs if normal(pair.source) not in held]
    test = [pair for pair in pairs if normal(pair.source) in held]
    job.fit(model, train, None, name=FILE)
    rivals: dict[str, Transliterator] = {"phrase": model}
    if len(train) >= settings["neural_from"] and find_spec("torch") is not None:
        network = NeuralTransliterator(**job.common, **settings["network"])
        rest, tuning = network.divided(train, job.seed, _TUNING)  # both are tuned on names that neither has learned
        job.fit(network, rest, tuning, name=NETWORK)
        phrase = PhraseTransliterator(**job.common).fit(rest)
        rivals |= {"neural": network, "combined": CombinedTransliterator().fit(phrase, network, tuning)}
    references = [[normal(target) for target in pair.targets] for pair in test]

    def written(rival: Any, *most: int) -> list[list[str]]:
        return [[one.target for one in found] for found in rival.transliterate([pair.source for pair in test], *most)]

    answers = {name: written(rival, settings["candidates"]) for name, rival in rivals.items()}
    measures = {name: news_measures(lists, references, seed=job.seed) for name, lists in answers.items()}
    chosen = max(measures, key=lambda name: measures[name]["acc"])
    _final(job, pairs, model, rivals[chosen], settings["network"]).save(job.pack / FILE)
    wrong: list[dict[str, Any]] = [
        {"source": clip(pair.source), "found": clip(found[0]) if found else "", "wanted": clip(wanted[0]),
         "rank": next((rank for rank, target in enumerate(found, 1) if target in wanted), None)}
        for pair, found, wanted in zip(test, answers[chosen], references, strict=True)
        if not found or found[0] not in wanted
    ]  # fmt: skip
    confused = Counter(difference(row["found"], row["wanted"]) for row in wrong).most_common(_CONFUSIONS)
    words = list(dict.fromkeys(max(normal(pair.source).split(), key=len) for pair in test))
    ways = {word: model.derivations(word, _WAYS) for word in words[:_DRAWN] if chosen == "phrase"}
    lattices = tuple((w, tuple((best, tuple(pieces)) for (best, _), pieces in found)) for w, found in ways.items())
    return Written(
        pairs=len(pairs), held_out=len(test), tuned_on=model.provenance_["tuning_pairs"], rounds=len(model.history_),
        measures=measures[chosen], chosen=chosen, rivals={name: found["acc"] for name, found in measures.items()},
        baseline=news_measures(written(LetterMap().fit(train)), references, seed=job.seed)["acc"],
        errors=tuple(wrong[:_ERRORS]),
        confusions=tuple((found, wanted, n) for (found, wanted), n in confused), wrong=len(wrong), lattices=lattices,
    )  # fmt: skip


def _final(
    job: Job, pairs: list[Pair], model: PhraseTransliterator, chosen: Transliterator, size: Mapping[str, Any]
) -> Transliterator:
    """The chosen kind of model, learned from all names, with the weights that were found."""
    network = NeuralTransliterator(**job.common, **size, hold_out=False)
    if isinstance(chosen, NeuralTransliterator):
        return job.fit(network, pairs, None, name=NETWORK)
    phrase = PhraseTransliterator(**job.common, tune=False).fit(pairs)
    if not isinstance(chosen, CombinedTransliterator):
        phrase.set_weights(model.weights_.tolist())
        return phrase
    phrase.set_weights(chosen.phrase_.weights_.tolist())
    return chosen.with_models(phrase, job.fit(network, pairs, None, name=NETWORK))


TRANSLITERATOR = declared("names", 4, (FILE,), learn, Written, check=check)
