"""Entities on development parts: strict F1 by dictionary, with plain features, with classes and vectors of raw text.

Classes (500 Brown clusters) and vectors (100 dimensions) come from Brown, WikiText-2 and the training texts of three
biomedical sets together, for English sets only; nothing of a development part is among them. ``craft`` compares tags
with and without those for gaps. ``speed``: the tags of a development part by our decoder and by python-crfsuite's
tagger, which is fed the same features from Python.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.harness import CELLS, Call, Cell, Claim, typical

FILES = CELLS / "files"
RAW = FILES / "entities-raw.txt"
ENGLISH = {
    "ncbi-disease": "ncbi-disease/{}.bio.tsv", "conll2003-en": "conll2003-en/{}.bio.tsv",
    "bc5cdr-disease": "bc5cdr-disease/{}.bio.tsv", "e3c-en": "e3c-clinical/en.{}.bio.tsv",
    "wnut17": "wnut17/{}.bio.tsv",
}  # fmt: skip
OTHERS = {
    "e3c-fr": "e3c-clinical/fr.{}.bio.tsv", "e3c-es": "e3c-clinical/es.{}.bio.tsv",
    "conll2002-es": "conll2002-es/{}.bio.tsv",
}  # fmt: skip
GAPS = "craft-concepts"
TARGETS = {"ncbi-disease": 82.5, "conll2003-en": 91.7}
SOURCES = ("corpuscle/entities/**/*.py", "corpuscle/engine/dp/chains.py", "corpuscle/measure/mentions.py")
PLAIN, FULL = "plain features", "with classes and vectors"


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each set, then gaps, then speed."""
    for name, pattern in (ENGLISH | OTHERS).items():
        files = {part: str(data / pattern.format(part)) for part in ("train", "dev")}
        sides = [Call("dictionary", "bench.entities:job", {**files, "method": "dictionary"})]
        sides.append(Call(PLAIN, "bench.entities:job", files))
        if name in ENGLISH:
            sides.append(Call(FULL, "bench.entities:job", {**files, "raw": str(RAW)}))
        yield _cell(name, files, sides, partial(_make_raw, data))
    files = {part: str(data / GAPS / part) for part in ("train", "dev")}
    ways = {f"tags {way}": {**files, "settings": {"encoding": way}} for way in ("biodh", "bio")}
    sides = [Call(way, "bench.entities:job", arguments) for way, arguments in ways.items()]
    yield _cell(GAPS, files, sides, None)
    files = {part: str(data / ENGLISH["ncbi-disease"].format(part)) for part in ("train", "dev")}
    yield _cell("speed", files, [Call("both", "bench.entities:speed", files)], None)


def _cell(name: str, files: dict[str, str], sides: list[Call], prepare: Any) -> Cell:
    inputs = tuple(Path(path) for path in files.values() if Path(path).is_file())
    return Cell(name, name, tuple(sides), None, inputs, prepare, 1, False, SOURCES)


def _make_raw(data: Path) -> None:
    """All running text in one file: sentences of tokens."""
    if RAW.exists():
        return
    from corpuscle.entities import read_documents

    lines = [
        line
        for path in (data / "brown" / "brown.txt", data / "wikitext2" / "train.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for path in (data / "ncbi-disease/train.bio.tsv", data / "bc5cdr-disease/train.bio.tsv", data / GAPS / "train"):
        lines += [" ".join(words) for words in read_documents(str(path), skip_faulty=True).corpus]
    FILES.mkdir(parents=True, exist_ok=True)
    RAW.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sources(raw: str) -> Any:
    """Classes and vectors of a text, learned once."""
    import corpuscle
    from corpuscle.words import BrownClasses, PpmiVectors, class_sources, joint_sources, vector_sources

    classes, vectors = FILES / "entities-brown.model", FILES / "entities-ppmi.model"
    if not classes.exists():
        learner = BrownClasses(classes=500, min_count=2)
        learner.fit(learner.read(raw)).save(classes)
    if not vectors.exists():
        other = PpmiVectors(dimensions=100, min_count=3, lowercase=True)
        other.fit(other.read(raw)).save(vectors)
    loaded = corpuscle.load(vectors)
    return joint_sources(class_sources(corpuscle.load(classes)), vector_sources(loaded.vocab_, loaded.vectors_))


def job(
    timer: Any, train: str, dev: str, method: str = "crf", raw: str = "", settings: dict[str, Any] | None = None
) -> dict[str, float]:
    """Learn from one part, tag the other; CPU seconds of both."""
    from corpuscle.entities import CrfTagger, DictionaryTagger, read_documents, warm
    from corpuscle.measure import mention_scores

    warm()
    known, gold = (read_documents(path, skip_faulty=True) for path in (train, dev))
    with timer:
        begin = time.process_time()
        if method == "dictionary":
            tagger: Any = DictionaryTagger().fit(known)
        else:
            tagger = CrfTagger(**(settings or {})).fit(known, sources=_sources(raw) if raw else None)
        learned = time.process_time()
        found = tagger.annotate(gold)
        tagged = time.process_time()
    result = mention_scores(gold.texts, found)
    names = ("strict_precision", "strict_recall", "strict_f1", "relaxed_f1", "discontinuous_f1")
    figures = {name.replace("_", " "): 100 * float(result[name]) for name in names}
    return {
        **figures, "low": 100 * result.interval.low, "high": 100 * result.interval.high,
        "training CPU s": learned - begin, "tokens a CPU second": gold.corpus.n_tokens / (tagged - learned),
    }  # fmt: skip


def speed(timer: Any, train: str, dev: str) -> dict[str, float]:
    """The seconds to tag a text from documents to tags: ours, and python-crfsuite's tagger with the same features."""
    import tempfile

    import pycrfsuite

    from corpuscle.entities import CrfTagger, read_documents, warm
    from corpuscle.entities.learning import all_features
    from corpuscle.text.gapped import tags_of_mentions

    warm()
    known, gold = read_documents(train), read_documents(dev)
    tagger = CrfTagger(iterations=50, workers=1).fit(known)
    sheet, starts = tagger.tokens_of(known), known.corpus.sentence_starts
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 0.1, "max_iterations": 50, "feature.minfreq": 2})
    rows = all_features(sheet).tolist()
    for i, mentions in enumerate(known.mentions):
        here = [[str(key) for key in row] for row in rows[starts[i] : starts[i + 1]]]
        trainer.append(here, list(tags_of_mentions(mentions, len(here)).tags))
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/crf")
        peer = pycrfsuite.Tagger()
        peer.open(f"{folder}/crf")
        ours, theirs = [], []
        for _ in range(5):
            begin = time.process_time()
            with timer:
                found = tagger.best_tags(gold)
            ours.append(time.process_time() - begin)
            begin = time.process_time()
            sheet, starts = tagger.tokens_of(gold), gold.corpus.sentence_starts.tolist()
            rows, other = all_features(sheet).tolist(), []
            for first, last in pairwise(starts):
                other += peer.tag([[str(key) for key in row] for row in rows[first:last]])
            theirs.append(time.process_time() - begin)
    same = sum(a == b for a, b in zip(found, other, strict=True)) / len(found)
    ratios = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    return {
        "ours, tokens a CPU second": len(found) / sorted(ours)[2], "times python-crfsuite": ratios[2],
        "least": ratios[0], "most": ratios[-1], "same tags": same,
    }  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """The targets of two sets, gaps, and speed."""
    found = []
    for name, target in TARGETS.items():
        claim = Claim(f"Entities, {name}: strict F1", f"at least {target}")
        if name in results:
            value = typical(results[name], FULL, "strict f1")
            claim = Claim(claim.text, claim.target, f"{value:.1f}", value >= target)
        found.append(claim)
    claim = Claim("Entities with gaps (CRAFT): strict F1", "at least 30")
    if GAPS in results:
        value = typical(results[GAPS], "tags biodh", "discontinuous f1")
        claim = Claim(claim.text, claim.target, f"{value:.1f}", value >= 30)
    found.append(claim)
    claim = Claim("Entities: times as fast as python-crfsuite's tagger with the same features", "at least 3")
    if "speed" in results:
        value = typical(results["speed"], "both", "times python-crfsuite")
        claim = Claim(claim.text, claim.target, f"{value:.1f}", value >= 3)
    return [*found, claim]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    lines = [
        "### Notes", "",
        "- Settings are the defaults; intervals are a bootstrap over documents (over sentences where a file has none).",
        "- Seconds are CPU seconds; weights are learned on one core.",
    ]  # fmt: skip
    return "\n".join(lines)
