"""The transliterator of a pack: how names are written in the other script, how often rightly, and what goes wrong.

A model learns from nine tenths of the names (and tunes its weights on a tenth of those) and is measured on the tenth
that it has not seen. Where there are many names and PyTorch is installed, a network and both together are measured,
too, and the best is chosen. Then that is learned from all names, with the same settings and the weights of the first:
it is the one in the pack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from corpuscle.errors import InputError
from corpuscle.measure import news_measures
from corpuscle.packs.chapters import transliterator as chapter
from corpuscle.packs.heldout import tenth
from corpuscle.packs.job import Job
from corpuscle.packs.step import Findings, LeftOut, Step, check_enough, naming, wrong_files
from corpuscle.text.characters import clusters
from corpuscle.text.pairs import Pair, read_pairs
from corpuscle.text.wording import clip
from corpuscle.transliterate import (
    CombinedTransliterator,
    LetterMap,
    NeuralTransliterator,
    PhraseTransliterator,
    Transliterator,
)

__all__ = ["TRANSLITERATOR"]

FILE = "models/names.model"
NETWORK = "models/names-network.model"
SETTINGS: dict[str, Any] = {
    "method": "the best of phrase, neural and combined",
    "candidates": 20,
    "neural_from": 2000,
    "network": {"preset": "tiny"},
}
FEWEST_NAMES = 100
"""With fewer, nine tenths of nine tenths are too few to learn from."""

_ERRORS, _CONFUSIONS, _DRAWN, _WAYS, _TUNING = 12, 10, 2, 4, 500


def check(job: Job) -> list[InputError]:
    """The lines that are no names."""
    wrong: list[InputError] = []
    unreadable = wrong_files(read_pairs, [(path, wrong) for path in job.kit.paths("names")])
    return wrong + unreadable


def run(job: Job, settings: Mapping[str, Any]) -> Findings:
    """Learn to write names in the other script, and measure on names that were held out."""
    paths = job.kit.paths("names")
    pairs = [pair for path in paths for pair in read_pairs(path)]
    check_enough(paths[0], len(pairs), FEWEST_NAMES, "name")
    with naming(paths[0]):
        return _learned(job, pairs, settings)


def _letter_by_letter(train: list[Pair], test: list[Pair]) -> list[list[str]]:
    """How the names would be written if every letter became what it most often stands for."""
    simple = LetterMap().fit(train)
    return [[candidate.target for candidate in found] for found in simple.transliterate(_sources(test))]


def _learned(job: Job, pairs: list[Pair], settings: Mapping[str, Any]) -> Findings:
    model = PhraseTransliterator(**job.work)
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
        rivals |= _networks(job, train, settings["network"])
    references = [[normal(target) for target in pair.targets] for pair in test]
    written = {
        name: [[c.target for c in found] for found in rival.transliterate(_sources(test), settings["candidates"])]
        for name, rival in rivals.items()
    }
    figures = {name: news_measures(lists, references, seed=job.seed) for name, lists in written.items()}
    chosen = max(figures, key=lambda name: figures[name].to_json()["acc"])
    measured, candidates = figures[chosen], written[chosen]
    _final(job, pairs, model, rivals[chosen], settings["network"]).save(job.pack / FILE)
    wrong: list[dict[str, Any]] = [
        {
            "source": clip(pair.source),
            "found": clip(found[0]) if found else "",
            "wanted": clip(wanted[0]),
            "rank": next((rank for rank, target in enumerate(found, 1) if target in wanted), None),
        }
        for pair, found, wanted in zip(test, candidates, references, strict=True)
        if not found or found[0] not in wanted
    ]
    confused = Counter(_difference(row["found"], row["wanted"]) for row in wrong)
    words = list(dict.fromkeys(max(normal(pair.source).split(), key=len) for pair in test))
    return {
        "pairs": len(pairs),
        "held_out": len(test),
        "tuned_on": model.provenance_["tuning_pairs"],
        "rounds": len(model.history_),
        "measures": measured.to_json(),
        "chosen": chosen,
        "rivals": {name: found.to_json()["acc"] for name, found in figures.items()},
        "baseline": news_measures(_letter_by_letter(train, test), references, seed=job.seed).to_json()["acc"],
        "errors": wrong[:_ERRORS],
        "confusions": [[found, wanted, n] for (found, wanted), n in confused.most_common(_CONFUSIONS)],
        "wrong": len(wrong),
        "lattices": [[word, _ways(model, word)] for word in words[:_DRAWN]] if chosen == "phrase" else [],
    }


def _sources(pairs: list[Pair]) -> list[str]:
    return [pair.source for pair in pairs]


def _networks(job: Job, train: list[Pair], size: Mapping[str, Any]) -> dict[str, Transliterator]:
    """A network, and it together with phrases; both are tuned on names that neither has learned from."""
    network = NeuralTransliterator(**job.work, **size)
    rest, tuning = network.divided(train, job.seed, _TUNING)
    job.fit(network, rest, tuning, name=NETWORK)
    phrase = PhraseTransliterator(**job.work).fit(rest)
    return {"neural": network, "combined": CombinedTransliterator().fit(phrase, network, tuning)}


def _final(
    job: Job, pairs: list[Pair], model: PhraseTransliterator, chosen: Transliterator, size: Mapping[str, Any]
) -> Transliterator:
    """The chosen kind of model, learned from all names, with the weights that were found."""
    network = NeuralTransliterator(**job.work, **size, hold_out=False)
    if isinstance(chosen, NeuralTransliterator):
        return job.fit(network, pairs, None, name=NETWORK)
    phrase = PhraseTransliterator(**job.work, tune=False).fit(pairs)
    if not isinstance(chosen, CombinedTransliterator):
        phrase.set_weights(model.weights_.tolist())
        return phrase
    phrase.set_weights(chosen.phrase_.weights_.tolist())
    return chosen.with_models(phrase, job.fit(network, pairs, None, name=NETWORK))


def _ways(model: PhraseTransliterator, word: str) -> list[Any]:
    """The best ways to write a word: the whole and its phrases."""
    return [[target, [list(phrase) for phrase in phrases]] for (target, _), phrases in model.derivations(word, _WAYS)]


def _difference(found: str, wanted: str) -> tuple[str, str]:
    """What is left of two strings without the grapheme clusters that they have in common at the beginning and end.

    >>> _difference("karan", "kiran")
    ('a', 'i')
    """
    a, b = clusters(found), clusters(wanted)
    first = 0
    while first < min(len(a), len(b)) and a[first] == b[first]:
        first += 1
    last = 0
    while last < min(len(a), len(b)) - first and a[-1 - last] == b[-1 - last]:
        last += 1
    return "".join(a[first : len(a) - last]), "".join(b[first : len(b) - last])


TRANSLITERATOR = Step(
    name="names", title="Transliterator of names", version=4, needs=("names",), writes=(FILE,), run=run,
    report=chapter.report, check=check, settings=SETTINGS, learned="a transliterator of names",
    kernels="corpuscle.transliterate",
)  # fmt: skip
