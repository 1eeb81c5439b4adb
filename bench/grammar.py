"""Constituency parsing on development trees: labelled F1 by treebank PCFG, Markovised, and with hidden states.

Words are the input, without tags. All methods share the binarisation (right, no siblings, no ancestors) but the
second PCFG, which remembers a sibling (h = 1). Of treebanks but the first at most ``SENTENCES`` development sentences
are parsed, evenly spaced. ``starts``: five starts of EM beside moments; ``peer``: disco-dop's PCFG beside ours, where
DISCODOP names a Python with it; ``speed``: sentences of 20 words, all of a development part on two threads, one
sentence of 100 words; ``tagger``: tags as trees that branch to the right, beside ``tag``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, typical

SETS = ("ptb-sample", "gum-const", "craft-const", "cess-esp", "floresta-pt", "sinica-zh", "icepahc-is", "alpino-nl")
STATES = (8, 2, 4, 16)
SENTENCES = 50
PEER = os.environ.get("DISCODOP", "")
PARTS = ("base", "heads", "latent", "parsing", "spectral", "tables")
SOURCES = (
    *(f"corpuscle/grammar/{part}.py" for part in PARTS),
    "corpuscle/grammar/kernels/vectors.py", "corpuscle/engine/dp/cky.py", "corpuscle/measure/brackets.py",
)  # fmt: skip
PCFG, MARKOV, EM, MOMENTS, CLUSTER = "pcfg", "pcfg, h = 1", "em", "spectral, moments", "spectral, cluster"
PLAIN: dict[str, dict[str, Any]] = {PCFG: {"method": "pcfg"}, MARKOV: {"method": "pcfg", "horizontal": 1}}
LATENT: dict[str, dict[str, Any]] = {
    MOMENTS: {"method": "spectral", "estimate": "moments"}, EM: {"method": "em"},
    CLUSTER: {"method": "spectral", "estimate": "cluster"},
}  # fmt: skip
STARTS = 5
TAGGED, TAGGED_DEV = 4000, 1000
ALL, SHORT = "F1", "F1 up to 40 words"
TRAINING, PARSING = "training CPU s", "parsing CPU ms a sentence"


def _ways(name: str, states: int) -> dict[str, dict[str, Any]]:
    """What is compared on a treebank with so many states; 0: without. Clusters on the first treebank alone."""
    if not states:
        return PLAIN
    return {way: {**more, "states": states} for way, more in LATENT.items() if way != CLUSTER or name == SETS[0]}


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each treebank and number of states; starts, peer, speed and tagger."""
    for states in (0, *STATES):
        for name in SETS:
            files = _files(data, name)
            yield _cell(_name(name, states), files, "bench.grammar:job", {**files, "ways": _ways(name, states)})
        if states == 0:
            files = _files(data, SETS[0])
            yield _cell("speed", files, "bench.grammar:speed", files)
            yield _cell("peer", files, "bench.grammar:peer", files)
    files = _files(data, SETS[0])
    yield _cell("starts", files, "bench.grammar:starts", files)
    tagged = {part: str(data / "ud-english-ewt" / f"{part}.conllu") for part in ("train", "dev")}
    yield _cell("tagger", tagged, "bench.grammar:tagger", tagged)


def _name(name: str, states: int) -> str:
    return f"{name}, {states} states" if states else f"{name}, no states"


def _files(data: Path, name: str) -> dict[str, str]:
    return {part: str(data / name / f"{part}.mrg") for part in ("train", "dev")}


def _cell(name: str, files: dict[str, str], function: str, arguments: dict[str, Any]) -> Cell:
    inputs = tuple(Path(path) for path in files.values() if Path(path).is_file())
    return Cell(name, name, (Call("all", function, arguments),), None, inputs, None, 1, False, SOURCES)


def _read(path: str, most: int | None = None) -> Any:
    """The trees of a file that have words, or so many of them."""
    import numpy as np

    from bench.tagsets import read_treebank

    trees = read_treebank(Path(path))
    trees = trees.select(trees.words.lengths > 0)
    if most is None or len(trees) <= most:
        return trees
    return trees.select(np.linspace(0, len(trees) - 1, most).astype(np.int64))


def _learner(settings: dict[str, Any]) -> Any:
    from corpuscle.grammar import EmGrammar, Pcfg, SpectralGrammar

    settings = {"workers": 1, **settings}
    return {"pcfg": Pcfg, "em": EmGrammar, "spectral": SpectralGrammar}[settings.pop("method")](**settings)


def _scores(gold: Any, trees: Any) -> dict[str, float]:
    from corpuscle.measure import bracket_scores

    every, short = (bracket_scores(gold, trees, max_length=most) for most in (None, 40))
    return {
        ALL: 100 * float(every["labelled_f1"]), SHORT: 100 * float(short["labelled_f1"]),
        "low": 100 * float(short["labelled_f1_low"]), "high": 100 * float(short["labelled_f1_high"]),
        "unlabelled F1": 100 * float(every["unlabelled_f1"]), "tags": 100 * float(every["tags"]),
        "exact": 100 * float(every["exact"]),
    }  # fmt: skip


def job(timer: Any, train: str, dev: str, ways: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Learn from one part, parse the other; CPU seconds of both; for each of several ways."""
    from corpuscle.grammar import warm

    warm()
    known, gold = _read(train), _read(dev, None if "ptb-sample" in dev else SENTENCES)
    figures: dict[str, float] = {"sentences": len(gold)}
    for way, settings in ways.items():
        with timer:
            begin = time.process_time()
            model = _learner(settings).fit(known)
            learned = time.process_time()
            found = model.parse(gold.words)
            parsed = time.process_time()
        own = _scores(gold, found.trees) | {
            "not parsed": float(found.failed.sum()), TRAINING: learned - begin,
            PARSING: 1000 * (parsed - learned) / len(gold),
        }  # fmt: skip
        figures |= {f"{way}: {figure}": value for figure, value in own.items()}
    return figures


def starts(timer: Any, train: str, dev: str) -> dict[str, float]:
    """CPU seconds of learning with eight states: moments, and five starts of fifty iterations of EM; F1 of both."""
    from corpuscle.grammar import EmGrammar, SpectralGrammar, warm

    warm()
    known, gold = _read(train), _read(dev)
    figures: dict[str, float] = {}
    for name, learner in (("moments", SpectralGrammar(workers=1)), ("EM", EmGrammar(starts=STARTS, workers=1))):
        begin = time.process_time()
        with timer:
            learner.fit(known)
        figures[f"{name}, CPU s"] = time.process_time() - begin
        figures[f"{name}, {SHORT}"] = _scores(gold, learner.parse(gold.words).trees)[SHORT]
    return figures | {"times as long": figures["EM, CPU s"] / figures["moments, CPU s"]}


def speed(timer: Any, train: str, dev: str) -> dict[str, float]:
    """CPU milliseconds of sentences of about 20 words; seconds of all up to 40 on two threads; seconds and memory of
    one of 100."""
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
    long, memory = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    both = model.replace(workers=2)
    for name, value in vars(model).items():
        if name.endswith("_"):
            setattr(both, name, value)
    many = gold.words.select(np.flatnonzero(lengths <= 40))
    begin, wall = time.process_time(), time.perf_counter()
    both.parse(many)
    return {
        "20 words, CPU ms": 1000 * short / len(some), "rules": float(model.provenance_["rules"]),
        "100 words, CPU s": long, "100 words, more memory in MB": memory / 1024, "up to 40 words": len(many),
        "up to 40 words, CPU s": time.process_time() - begin, "up to 40 words, wall s": time.perf_counter() - wall,
    }  # fmt: skip


def _pyevalb(gold: Any, found: Any) -> dict[str, float]:
    """In how many trees our counts of brackets (right, found, gold, crossing, tags) are those of PYEVALB."""
    from PYEVALB import parser, scorer

    from corpuscle.grammar.tables import clean
    from corpuscle.measure import bracket_counts
    from corpuscle.text import format_brackets

    gold, same, judge = clean(gold), 0, scorer.Scorer()
    rows = bracket_counts(gold, found, punctuation="none")
    for one, guess, row in zip(format_brackets(gold), format_brackets(found), rows, strict=True):
        result = judge.score_trees(*(parser.create_from_bracket_string(text) for text in (one, guess)))
        theirs = (result.matched_brackets, result.test_brackets, result.gold_brackets, result.cross_brackets)
        same += (*theirs, result.correct_tags) == tuple(row[[0, 1, 2, 19, 21]])
    return {"trees with the counts of PYEVALB": float(same)}


def peer(timer: Any, train: str, dev: str) -> dict[str, float]:
    """disco-dop's PCFG and ours, both with h = 1 and the most probable tree, on sentences of up to 40 words."""
    import resource
    import subprocess
    import tempfile

    from corpuscle.grammar import Pcfg, warm
    from corpuscle.text import format_brackets, read_brackets

    warm()
    known, gold = _read(train), _read(dev)
    gold = gold.select(gold.words.lengths <= 40)
    figures: dict[str, float] = {"sentences": len(gold)}
    for decode in ("best", "brackets"):
        begin = time.process_time()
        with timer:
            model = Pcfg(horizontal=1, decode=decode, workers=1).fit(known)
            learned = time.process_time()
            found = model.parse(gold.words)
        own = {ALL: _scores(gold, found.trees)[ALL], TRAINING: learned - begin}
        own[PARSING] = 1000 * (time.process_time() - learned) / len(gold)
        figures |= {f"ours, {decode}: {figure}": value for figure, value in own.items()}
    figures |= _pyevalb(gold, found.trees)
    if not PEER:
        return figures
    seconds = []
    for parsed in (gold[:1], gold):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for name, trees in (("train", known), ("dev", parsed)):
                clean = trees.without_functions().without_root().with_root("ROOT")
                (place / f"{name}.mrg").write_text("".join(line + "\n" for line in format_brackets(clean)))
            (place / "p.prm").write_text(_DISCODOP)
            (place / "evaluation.prm").write_text("CUTOFF_LEN 40\nLABELED 1\nDELETE_LABEL ROOT\n")
            begin = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([PEER, "-m", "discodop.cli", "runexp", "p.prm"], cwd=place, check=True, capture_output=True)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime)
            trees_found = read_brackets(place / "p" / "pcfg.mrg")
    figures["disco-dop: CPU s with one sentence to parse"] = seconds[0]
    figures[f"disco-dop: {PARSING}"] = 1000 * (seconds[1] - seconds[0]) / len(gold)
    return figures | {f"disco-dop: {ALL}": _scores(gold, trees_found)[ALL]}


_DISCODOP = """
stages=[dict(name='pcfg', mode='pcfg')],
corpusfmt='bracket', evalparam='evaluation.prm',
traincorpus=dict(path='train.mrg', encoding='utf-8', maxwords=500, numsents=100000),
testcorpus=dict(path='dev.mrg', encoding='utf-8', maxwords=40, numsents=100000, skiptrain=False),
postagging=dict(method='unknownword', model='4', unknownthreshold=1, openclassthreshold=50),
binarization=dict(method='default', factor='right', h=1, v=1),
numproc=1, verbosity=1,
"""


def tagger(timer: Any, train: str, dev: str) -> dict[str, float]:
    """UPOS by grammars of right-branching trees and by the tagger of ``tag``: accuracy of words, CPU seconds."""
    import numpy as np

    from corpuscle.grammar import EmGrammar, Pcfg, SpectralGrammar, sequence_trees, warm
    from corpuscle.measure.tags import TAG_LAYERS
    from corpuscle.tag import Tagger
    from corpuscle.text import read_conllu

    warm()
    known, gold = read_conllu(train)[:TAGGED], read_conllu(dev)[:TAGGED_DEV]
    known, gold = known.without("xpos", "features", "lemmas"), gold.without("xpos", "features", "lemmas")
    right, figures = gold.tags.strings(), {"sentences": float(len(gold.corpus))}
    learners: dict[str, Any] = {PCFG: Pcfg(workers=1), "tag": Tagger(workers=1)}
    for states in STATES[:3]:
        learners[f"{EM}, {states} states"] = EmGrammar(states=states, workers=1)
        learners[f"{MOMENTS}, {states} states"] = SpectralGrammar(states=states, workers=1)
    for name, learner in learners.items():
        begin = time.process_time()
        with timer:
            learner.fit(known if name == "tag" else sequence_trees(known))
            learned = time.process_time()
            if name == "tag":
                found = learner.annotate(gold.without(*TAG_LAYERS.values())).tags.strings()
            else:
                found = learner.parse(gold.corpus).trees.word_tags
        figures[f"{name}: accuracy"] = 100 * float(np.mean([a == b for a, b in zip(right, found, strict=True)]))
        figures |= {f"{name}: {TRAINING}": learned - begin, f"{name}: tagging CPU s": time.process_time() - learned}
    return figures


def _of(results: dict[str, Any], name: str, states: int, way: str, figure: str) -> float | None:
    """A figure, if it is there."""
    cell = results.get(_name(name, states))
    return None if cell is None or way not in _ways(name, states) else typical(cell, "all", f"{way}: {figure}")


def tables(results: dict[str, Any]) -> list[str]:
    """Each figure by way, number of states and treebank; then the other cells, a figure a line."""
    lines: list[str] = []
    rows = [(states, way) for states in (0, *sorted(STATES)) for way in _ways(SETS[0], states)]
    titles = {
        SHORT: "Labelled F1, up to 40 words", ALL: "Labelled F1, all lengths", TRAINING: "Training, CPU seconds",
        PARSING: "Parsing, CPU milliseconds a sentence", "tags": "Tags that are right",
    }  # fmt: skip
    for figure, title in titles.items():
        lines += ["", f"### {title}", "", f"| grammar | {' | '.join(SETS)} |", "| --- |" + " ---: |" * len(SETS)]
        for states, way in rows:
            values = [_of(results, name, states, way, figure) for name in SETS]
            if all(value is None for value in values):
                continue
            shown = " | ".join("" if value is None else f"{value:.1f}" for value in values)
            lines.append(f"| {way}{f', {states} states' if states else ''} | {shown} |")
    for name in ("starts", "peer", "speed", "tagger"):
        if name in results:
            lines += ["", f"### {name}", "", "| figure | value |", "| --- | ---: |"]
            first = results[name]["runs"]["all"][0]["figures"]
            lines += [f"| {figure} | {typical(results[name], 'all', figure):,.1f} |" for figure in first]
    return ["\n".join(lines)]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What the first treebank must show, training time on all, and speed."""

    def claim(text: str, target: str, value: float | None, holds: bool | None, shown: str = "{:.1f}") -> Claim:
        return Claim(text, target) if value is None else Claim(text, target, shown.format(value), holds)

    first, found = SETS[0], []
    value = _of(results, first, 0, MARKOV, SHORT)
    text = "Grammars, ptb-sample up to 40 words: F1 of the PCFG with h = 1"
    found.append(claim(text, "at least 70", value, (value or 0) >= 70))
    plain = _of(results, first, 0, PCFG, SHORT)
    for way in (EM, MOMENTS, CLUSTER):
        values = [_of(results, first, states, way, SHORT) for states in STATES]
        best = max((each for each in values if each is not None), default=None)
        value = None if best is None or plain is None else best - plain
        text = f"Grammars, ptb-sample up to 40 words: {way} above the PCFG of its binarisation, the best of its states"
        found.append(claim(text, "at least 5", value, (value or 0) >= 5))
    near, compared = 0, 0
    for states in STATES:
        for name in SETS:
            ours, theirs = (_of(results, name, states, way, SHORT) for way in (MOMENTS, EM))
            if ours is not None and theirs is not None:
                near, compared = near + (ours > theirs - 1), compared + 1
    shown = f"{near} of {compared} measured, of {len(SETS) * len(STATES)} treebanks and numbers of states"
    holds = 2 * near > compared if compared >= len(SETS) else None
    text = "Grammars: moments within 1 point of EM at the same states"
    found.append(claim(text, "on most", near if compared else None, holds, shown))
    times = [_of(results, name, states, MOMENTS, TRAINING) for name in SETS for states in STATES]
    known = [each for each in times if each is not None]
    text = "Grammars: CPU seconds of learning from moments, the slowest treebank and number of states"
    found.append(claim(text, "below 60", max(known, default=None), max(known, default=0) < 60))
    for text, target, figure, most in (
        ("Grammars: a sentence of 20 words, eight states, CPU ms", "below 50", "20 words, CPU ms", 50),
        ("Grammars: ptb-sample dev up to 40 words, eight states, CPU s of both threads", "below 60 s on two threads",
         "up to 40 words, CPU s", 60),
        ("Grammars: a sentence of 100 words, CPU s", "seconds", "100 words, CPU s", 10),
        ("Grammars: a sentence of 100 words, more memory in MB", "below 200", "100 words, more memory in MB", 200),
    ):  # fmt: skip
        value = typical(results["speed"], "all", figure) if "speed" in results else None
        found.append(claim(text, target, value, (value or 0) < most))
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    counted = []
    for name in SETS:
        numbers = {states: results[_name(name, states)] for states in (0, *STATES) if _name(name, states) in results}
        each = [f"{typical(cell, 'all', 'sentences'):.0f}" for cell in numbers.values()]
        if each:
            other = f" ({' and '.join(dict.fromkeys(each[1:]))} with states)" if set(each[1:]) - {each[0]} else ""
            counted.append(f"{name} {each[0]}{other}")
    return "\n".join([
        "### Notes", "",
        "- Settings are the defaults, chosen on the development part of `ptb-sample`. Words are the input; no tags are",
        f"  given. Sentences parsed: {', '.join(counted)}, evenly spaced.",
        "- `peer`: in the trees whose counts are not those of PYEVALB ours has one right bracket more: an ADVP that",
        "  is a PRT in the other tree, which EVALB's settings (and ours) take for the same, and PYEVALB does not. The",
        "  memory of a sentence of 100 words is by how much it raised the peak of the process: 0 says that learning",
        "  took more before (39 MB in another run).",
        "- Seconds are CPU seconds on one thread. EM has one start and 50 iterations (five starts in `starts`),",
        "  clusters have five iterations. That moments take a twentieth of EM's time (a tutorial of 2013 says so) is",
        "  about another EM; what it is beside ours, which is compiled, `starts` says.",
        f"- `tagger`: UPOS of the first {TAGGED:,} training and {TAGGED_DEV:,} dev sentences of `ud-english-ewt`.",
        "- `peer`: disco-dop (PCFG, h = 1, v = 1, its model 4 of unknown words) parses the same sentences; its seconds",
        "  are of one process that reads, counts, parses and scores." if PEER or "peer" in results else "",
    ])  # fmt: skip
