"""Constituency parsing on development trees: labelled F1 by treebank PCFG, Markovised, and with hidden states.

Words are the input, without tags. All methods share the binarisation (right, no siblings, no ancestors) but the
second, which remembers a sibling (h = 1). ``speed``: sentences of 20 words and one of
100, by the grammar of ``ptb-sample`` with eight states. Floresta's labels are cut to what stands behind the plus sign.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

SETS = ("ptb-sample", "gum-const", "craft-const", "cess-esp", "floresta-pt", "sinica-zh", "icepahc-is", "alpino-nl")
STATES = (2, 4, 8, 16)
PARTS = [
    "base",
    "features",
    "heads",
    "latent",
    "lexicon",
    "moments",
    "parsing",
    "pcfg",
    "preparation",
    "spectral",
    "tables",
]
SOURCES = (
    *(f"corpuscle/grammar/{part}.py" for part in PARTS), "corpuscle/grammar/kernels/trees.py",
    "corpuscle/grammar/kernels/vectors.py", "corpuscle/engine/dp/cky.py", "corpuscle/measure/brackets.py",
)  # fmt: skip
PCFG, MARKOV, EM, MOMENTS, CLUSTER = "pcfg", "pcfg, h = 1", "em", "spectral, moments", "spectral, cluster"
WAYS: dict[str, dict[str, Any]] = {
    PCFG: {"method": "pcfg"}, MARKOV: {"method": "pcfg", "horizontal": 1}, EM: {"method": "em"},
    MOMENTS: {"method": "spectral", "estimate": "moments"}, CLUSTER: {"method": "spectral", "estimate": "cluster"},
}  # fmt: skip
STARTS = 5


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each treebank, then the number of states, five starts of EM, and speed, on the first."""
    for name in SETS:
        files = _files(data, name)
        sides = [Call(way, "bench.grammar:job", {**files, "settings": settings}) for way, settings in WAYS.items()]
        yield _cell(name, files, sides)
    files = _files(data, SETS[0])
    sides = [
        Call(f"{way}, {states} states", "bench.grammar:job", {**files, "settings": {**WAYS[way], "states": states}})
        for way in (EM, MOMENTS, CLUSTER)
        for states in STATES
    ]
    yield _cell("states", files, sides)
    yield _cell("starts", files, [Call("both", "bench.grammar:starts", files)])
    yield _cell("speed", files, [Call("spectral", "bench.grammar:speed", files)])


def _files(data: Path, name: str) -> dict[str, str]:
    return {part: str(data / name / f"{part}.mrg") for part in ("train", "dev")}


def _cell(name: str, files: dict[str, str], sides: list[Call]) -> Cell:
    inputs = tuple(Path(path) for path in files.values() if Path(path).is_file())
    return Cell(name, name, tuple(sides), None, inputs, None, 1, False, SOURCES)


def _read(path: str) -> Any:
    from corpuscle.text import read_brackets

    trees = read_brackets(path).without_traces()
    if "floresta" in path:
        trees = trees.relabel(lambda label: label.partition("+")[2] or label)
    return trees.select(trees.words.lengths > 0)


def _learner(settings: dict[str, Any]) -> Any:
    from corpuscle.grammar import EmGrammar, Pcfg, SpectralGrammar

    settings = dict(settings)
    return {"pcfg": Pcfg, "em": EmGrammar, "spectral": SpectralGrammar}[settings.pop("method")](**settings)


def job(timer: Any, train: str, dev: str, settings: dict[str, Any]) -> dict[str, float]:
    """Learn from one part, parse the other; CPU seconds of both."""
    from corpuscle.grammar import warm
    from corpuscle.measure import bracket_scores

    warm()
    known, gold = _read(train), _read(dev)
    with timer:
        begin = time.process_time()
        model = _learner(settings).fit(known)
        learned = time.process_time()
        found = model.parse(gold.words)
        parsed = time.process_time()
    every, short = (bracket_scores(gold, found.trees, max_length=most) for most in (None, 40))
    return {
        "F1": 100 * float(every["labelled_f1"]), "F1 up to 40 words": 100 * float(short["labelled_f1"]),
        "low": 100 * float(short["labelled_f1_low"]), "high": 100 * float(short["labelled_f1_high"]),
        "unlabelled F1": 100 * float(every["unlabelled_f1"]), "tags": 100 * float(every["tags"]),
        "exact": 100 * float(every["exact"]), "not parsed": float(found.failed.sum()),
        "training CPU s": learned - begin, "parsing CPU ms a sentence": 1000 * (parsed - learned) / len(gold),
    }  # fmt: skip


def starts(timer: Any, train: str, dev: str) -> dict[str, float]:
    """CPU seconds of learning with eight states: moments, and five starts of fifty iterations of EM."""
    from corpuscle.grammar import EmGrammar, SpectralGrammar, warm

    warm()
    known = _read(train)
    seconds = []
    for learner in (SpectralGrammar(workers=1), EmGrammar(starts=STARTS, workers=1)):
        begin = time.process_time()
        with timer:
            learner.fit(known)
        seconds.append(time.process_time() - begin)
    return {"moments, CPU s": seconds[0], "EM, CPU s": seconds[1], "times as long": seconds[1] / seconds[0]}


def speed(timer: Any, train: str, dev: str) -> dict[str, float]:
    """CPU milliseconds of sentences of about 20 words, and seconds and memory of one of 100."""
    import resource

    import numpy as np

    from corpuscle.grammar import SpectralGrammar, warm
    from corpuscle.text import Corpus

    warm()
    model, gold = SpectralGrammar(states=8, workers=1).fit(_read(train)), _read(dev)
    lengths = gold.words.lengths
    some = gold.words.select(np.flatnonzero((lengths >= 19) & (lengths <= 21)))
    model.parse(some[:2])
    begin = time.process_time()
    with timer:
        model.parse(some)
    short = time.process_time() - begin
    words = [word for sentence in gold.words for word in sentence][:100]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    model.parse(Corpus.from_sentences([words]))
    return {
        "20 words, CPU ms": 1000 * short / len(some), "rules": float(model.provenance_["rules"]),
        "100 words, CPU s": time.process_time() - begin,
        "100 words, more memory in MB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """What the first treebank must show, training time on all, and speed."""
    found, first = [], results.get(SETS[0])
    at = "F1 up to 40 words"
    claim = Claim("Grammars, ptb-sample up to 40 words: F1 of the PCFG with h = 1", "at least 70")
    if first:
        value = typical(first, MARKOV, at)
        claim = Claim(claim.text, claim.target, f"{value:.1f}", value >= 70)
    found.append(claim)
    for way in (EM, MOMENTS, CLUSTER):
        claim = Claim(f"Grammars, ptb-sample up to 40 words: {way} above the PCFG of its binarisation", "at least 5")
        if first:
            value = typical(first, way, at) - typical(first, PCFG, at)
            claim = Claim(claim.text, claim.target, f"{value:.1f}", value >= 5)
        found.append(claim)
    measured = [results[name] for name in SETS if name in results]
    claim = Claim("Grammars: treebanks on which moments are within 1 point of EM", "most of eight")
    if measured:
        near = sum(typical(each, MOMENTS, at) > typical(each, EM, at) - 1 for each in measured)
        claim = Claim(claim.text, claim.target, f"{near} of {len(measured)} measured", 2 * near > len(SETS))
    found.append(claim)
    claim = Claim("Grammars: CPU seconds of learning from moments, the slowest treebank", "below 60")
    if measured:
        value = max(typical(each, MOMENTS, "training CPU s") for each in measured)
        claim = Claim(claim.text, claim.target, f"{value:.1f} ({len(measured)} treebanks)", value < 60)
    found.append(claim)
    claim = Claim("Grammars: a sentence of 20 words, eight states, CPU ms", "below 50")
    if "speed" in results:
        value = typical(results["speed"], "spectral", "20 words, CPU ms")
        claim = Claim(claim.text, claim.target, f"{value:.1f}", value < 50)
    return [*found, claim]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes", "",
        "- Settings are the defaults, chosen on the development part of `ptb-sample`; `low` and `high` are the 95 %",
        "  interval of F1 up to 40 words, a bootstrap over sentences. Words are the input; no tags are given.",
        "- Seconds are CPU seconds of all threads. EM has one start and 50 iterations, clusters five iterations.",
    ]  # fmt: skip
    return "\n".join(lines)
