"""Taggers on development sentences: how many tags are right, of known and of unknown words, and what it costs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, joined, table, typical

ENGLISH = "english-ewt"
OTHERS = (
    "french-sequoia", "chinese", "arabic-padt", "turkish-imst", "hindi-hdtb", "finnish-tdt", "czech-fictree",
    "japanese-gsd", "german-gsd",
)  # fmt: skip
RAW = {"german-gsd": "de", "czech-fictree": "cs", "french-sequoia": "fr", "finnish-tdt": "fi"}
"""Treebanks for which there is raw text of other kinds."""
SOURCES = ("corpuscle/tag/**/*.py", "corpuscle/measure/tags.py", "corpuscle/words/word_features.py")
LOOKS = 5
PEERS = {"crfsuite": "crfsuite_job", "UDPipe 1": "udpipe_job"}
UDPIPE = os.environ.get("UDPIPE_PYTHON", "")


def cells(data: Path) -> Iterator[Cell]:
    """English beside its peers, then the other treebanks, some with classes and vectors of raw text."""
    for name in (ENGLISH, *OTHERS):
        train, dev = (data / f"ud-{name}" / f"{part}.conllu" for part in ("train", "dev"))
        files: dict[str, Any] = {"train": str(train), "dev": str(dev)}
        sides = [Call("corpuscle", "bench.tag:job", files | ({"looks": LOOKS} if name == ENGLISH else {}))]
        texts = [data / "multi30k" / f"train.{RAW.get(name)}", data / "tatoeba11" / f"{RAW.get(name)}.txt"]
        raw = [path for path in texts if path.exists()]
        if name in RAW:
            for source in ("classes", "vectors"):
                more = {"raw": [str(path) for path in raw], "source": source}
                sides.append(Call(f"with {source}", "bench.tag:job", files | more))
        yield Cell(name, name, tuple(sides), inputs=(train, dev, *raw), repeats=1, warm_up=False, sources=SOURCES)
        if name == ENGLISH:
            for peer, function in PEERS.items():
                if function != "udpipe_job" or UDPIPE:
                    call = Call(peer, f"bench.tag:{function}", files)
                    yield Cell(peer, name, (call,), inputs=(train, dev), repeats=1, warm_up=False, sources=SOURCES)


def _measured(gold: Any, found: Any, known: Any, begin: float, learned: float, done: float) -> dict[str, float]:
    from corpuscle.measure import tagging

    result = tagging(gold, found, known)
    names = {"upos": "UPOS", "xpos": "XPOS", "feats": "FEATS", "lemma": "lemmas", "all": "all", "unknown": "unknown"}
    figures = {shown: 100 * float(result[name]) for name, shown in names.items() if name in result.figures}
    edges = {f"UPOS {edge}": 100 * float(result[f"upos_{edge}"]) for edge in ("low", "high")}
    speed = {"training CPU s": learned - begin, "words a CPU second": gold.corpus.n_tokens / (done - learned)}
    return figures | edges | speed


def _sources(paths: list[str], source: str) -> Any:
    """Classes or vectors of the words of running text."""
    from corpuscle.text.files import read_raw
    from corpuscle.text.running import prepare
    from corpuscle.words import ExchangeClasses, PpmiVectors, class_sources, vector_sources

    text = prepare("\n".join(read_raw(path) for path in paths), line_breaks="sentence").corpus()
    if source == "classes":
        return class_sources(ExchangeClasses(classes=200, min_count=2).fit(text))
    vectors = PpmiVectors(dimensions=50, min_count=3).fit(text)
    return vector_sources(vectors.vocab_, vectors.vectors_)


def job(
    timer: Any, train: str, dev: str, raw: list[str] | None = None, source: str = "", looks: int = 1
) -> dict[str, float]:
    """Train a tagger and tag the development words (so many times: the median of their CPU seconds counts); CPU seconds
    without those of classes and vectors."""
    import time
    from itertools import pairwise
    from statistics import median

    from corpuscle.measure.tags import TAG_LAYERS
    from corpuscle.tag import Tagger, warm
    from corpuscle.text import read_conllu

    warm()
    bank, gold = read_conllu(train), read_conllu(dev)
    sources = _sources(raw, source) if raw else None
    bare = gold.without(*TAG_LAYERS.values())
    with timer:
        begin = time.process_time()
        tagger = Tagger(workers=1).fit(bank, sources=sources)
        times = [time.process_time()]
        for _ in range(looks):
            tagger.tag(bare)
            times.append(time.process_time())
    learned, seconds = times[0], median(b - a for a, b in pairwise(times))
    return _measured(gold, tagger.annotate(bare), tagger.known(gold), begin, learned, learned + seconds)


def _features(words: list[str]) -> list[list[str]]:
    """Features of words as our tagger has them, without the tags that words were seen with."""
    from corpuscle.tag.lexicon import shape_of

    lower = ["<before>", "<before>", *(word.lower() for word in words), "<after>", "<after>"]
    rows = []
    for i, word in enumerate(words, 2):
        low, shape = lower[i], shape_of(word)
        row = [f"w={low}", f"s={shape}", f"ws={low} {shape}"]
        row += [f"e{k}={low[-k:]}" for k in range(1, 6) if k < len(low)]
        row += [f"b{k}={low[:k]}" for k in range(1, 5) if k < len(low)]
        row += [f"{far}={lower[i + far]}" for far in (-2, -1, 1, 2)]
        row += [f"-1 0={lower[i - 1]} {low}", f"0 1={low} {lower[i + 1]}", f"-1 1={lower[i - 1]} {lower[i + 1]}"]
        row += [f"e-1={lower[i - 1][-3:]}", f"e+1={lower[i + 1][-3:]}", f"e3s={low[-3:]} {shape}"]
        rows.append(row)
    return rows


def crfsuite_job(timer: Any, train: str, dev: str) -> dict[str, float]:
    """A chain of CRFsuite over UPOS, by 50 rounds of L-BFGS."""
    import tempfile
    import time

    import numpy as np
    import pycrfsuite

    from corpuscle.text import read_conllu
    from corpuscle.text.layers import Layer

    bank, gold = read_conllu(train), read_conllu(dev)
    with timer, tempfile.NamedTemporaryFile() as file:
        begin = time.process_time()
        trainer = pycrfsuite.Trainer(verbose=False)
        tags, starts = bank.tags.strings(), bank.corpus.sentence_starts.tolist()
        for i in range(len(bank)):
            trainer.append(_features(bank.corpus.words(i)), tags[starts[i] : starts[i + 1]])
        trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 50})
        trainer.train(file.name)
        learned = time.process_time()
        tagger, found = pycrfsuite.Tagger(), []
        tagger.open(file.name)
        for i in range(len(gold)):
            found += tagger.tag(_features(gold.corpus.words(i)))
        done = time.process_time()
    known = np.array([form in bank.corpus.vocab for form in gold.corpus.vocab.strings])[gold.corpus.tokens]
    bare = gold.without("xpos", "features", "lemmas").replace(tags=Layer.from_strings(found))
    return _measured(gold, bare, known, begin, learned, done)


def udpipe_job(timer: Any, train: str, dev: str) -> dict[str, float]:
    """UDPipe's tagger with its default settings, in a Python that has it."""
    import json
    import subprocess

    with timer:
        command, home = [UDPIPE, "-m", "bench.tag", train, dev], Path(__file__).parents[1]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _udpipe(train: str, dev: str) -> None:
    """Runs in a Python without Corpuscle."""
    import json
    import tempfile
    import time

    import ufal.udpipe as udpipe

    def read(path: str) -> Any:
        reader, sentences = udpipe.InputFormat.newConlluInputFormat(), udpipe.Sentences()
        with open(path, encoding="utf-8") as file:
            reader.setText(file.read())
        while True:
            sentence = udpipe.Sentence()
            if not reader.nextSentence(sentence, udpipe.ProcessingError()):
                return sentences
            sentences.push_back(sentence)

    begin, error = time.process_time(), udpipe.ProcessingError()
    content = udpipe.Trainer.train("morphodita_parsito", read(train), udpipe.Sentences(), "none", "", "none", error)
    learned = time.process_time()
    with tempfile.NamedTemporaryFile() as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        file.flush()
        model = udpipe.Model.load(file.name)
    gold, ours = read(dev), read(dev)
    begin_tagging = time.process_time()
    for sentence in ours:
        model.tag(sentence, model.DEFAULT)
    done, n, right = time.process_time(), 0, [0, 0, 0]
    for wanted, found in zip(gold, ours, strict=True):
        for a, b in zip(list(wanted.words)[1:], list(found.words)[1:], strict=True):
            n += 1
            right[0] += a.upostag == b.upostag
            right[1] += a.xpostag == b.xpostag
            right[2] += a.lemma == b.lemma
    print(json.dumps({
        "UPOS": 100 * right[0] / n, "XPOS": 100 * right[1] / n, "lemmas": 100 * right[2] / n,
        "training CPU s": learned - begin, "words a CPU second": n / (done - begin_tagging),
    }))  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """How right and how fast English is tagged."""
    found = []
    for text, target, figure, least in (
        ("English: UPOS", "95 %", "UPOS", 95.0), ("English: words a CPU second", "100,000", "words a CPU second", 1e5),
    ):  # fmt: skip
        claim = Claim(text, target)
        if ENGLISH in results:
            value = typical(results[ENGLISH], "corpuscle", figure)
            claim = Claim(text, target, f"{value:,.1f}" if least < 1000 else f"{value:,.0f}", value >= least)
        found.append(claim)
    for peer in PEERS:
        for figure, target in (("UPOS", "above {:.2f}"), ("training CPU s", "below {:.1f}")):
            claim = Claim(f"English: {figure}, beside {peer}", "better")
            if ENGLISH in results and peer in results:
                value, other = typical(results[ENGLISH], "corpuscle", figure), typical(results[peer], peer, figure)
                low, high = (typical(results[ENGLISH], "corpuscle", f"UPOS {edge}") for edge in ("low", "high"))
                holds = value < other if figure != "UPOS" else None if low <= other <= high else value > other
                claim = Claim(claim.text, target.format(other), f"{value:.2f}", holds)
            found.append(claim)
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """A table for each treebank, English with its peers."""
    return list(map(table, joined(results)))


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Trained on the whole training part with default settings, on one worker; `all` are words that are right in "
        "every layer, `unknown` is UPOS of words that the training part does not have. Classes (200, exchange) and "
        "vectors (50 dimensions, PPMI) are learned from the text of multi30k and tatoeba11, whose time is not counted. "
        "CRFsuite has the features of ours, without the tags that words were seen with, and learns UPOS alone. Words a "
        f"CPU second of English are the median of {LOOKS} times, since once takes a fifth of a second."
    )


if __name__ == "__main__":
    import sys

    _udpipe(*sys.argv[1:])
