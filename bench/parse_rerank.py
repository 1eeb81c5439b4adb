"""Re-ranking a parser's best trees, on development trees with gold tags: the parser, + features of tags, + log p.

Lists are made once for each treebank, order and treatment of punctuation, by jackknife, and kept beside the cells: the
rows of a cell differ in features, estimator, length of the list and vectors alone. Punctuation can be stripped before
everything, as the paper does: what hung on it hangs on its head then. Passes and the weight of the parser's score are
chosen on every other development sentence, and figures are of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import CELLS, Call, Cell, Claim, typical

SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/engine/dp/*.py")
TREEBANKS = {
    "ptb": ("ptb-sample/train.dep.conll", "ptb-sample/dev.dep.conll"),
    "ewt": ("ud-english-ewt/train.conllu", "ud-english-ewt/dev.conllu"),
}
ROWS: dict[str, dict[str, Any]] = {
    "tags": {"features": ["base", "tags"]},
    "tags, log p": {},
    "tags, log p by pairs": {"estimator": "pairs"},
    "tags, log p by svd": {"projection": "svd"},
    "tags, log p of tags": {"observe": "tags"},
    "tags, raw log p": {"recover": False, "stops": False},
    "tags, log p, children": {"features": ["base", "tags", "logp", "structure"]},
    "log p": {"features": ["base", "logp"]},
    "tags, log p, 20 best": {"nbest": 20},
    "tags, log p, 5 best": {"nbest": 5},
}
VECTORS = {"oscca": "OsccaVectors", "lrmvl": "LrmvlVectors"}
NBEST = 50
FILES = CELLS / "files"
FULL = "tags, log p"
LABELS = {
    f"{name}, order {order}" + (", no punctuation" if stripped else ""): (name, order, stripped)
    for name in TREEBANKS for order in (1, 2) for stripped in (False, True) if name == "ptb" or not stripped
}  # fmt: skip
"""Cell -> treebank, order, whether punctuation is stripped: that of the sample of the Penn Treebank."""


def cells(data: Path) -> Iterator[Cell]:
    """Both treebanks, both orders; the sample of the Penn Treebank without punctuation, too."""
    for label, (name, order, stripped) in LABELS.items():
        train, dev = (data / file for file in TREEBANKS[name])
        facts = {"train": str(train), "dev": str(dev), "order": order, "stripped": stripped}
        rows: dict[str, dict[str, Any]] = {row: {"settings": settings} for row, settings in ROWS.items()}
        if order == 1 and not stripped:
            rows |= {f"tags, log p by {each}": {"settings": {}, "vectors": each} for each in VECTORS}
        sides = [Call(row, "bench.parse_rerank:job", {**facts, **more}) for row, more in rows.items()]
        yield Cell(label, label, tuple(sides), inputs=(train, dev), repeats=1, warm_up=False, sources=SOURCES)


def without_punctuation(bank: Any) -> Any:
    """A treebank without punctuation; what hung on it hangs on its head. Sentences without a single root go."""
    import numpy as np

    from corpuscle.measure.dependencies import punctuation
    from corpuscle.text.treebank import Treebank

    marks, sentences, heads = punctuation(bank), [], []
    layers: dict[str, list[list[str]]] = {"tags": [], "xpos": []}
    for number, begin in enumerate(bank.corpus.sentence_starts[:-1].tolist()):
        old = bank.sentence_heads(number).tolist()
        kept = np.flatnonzero(~marks[begin : begin + len(old)]).tolist()
        new = {0: 0} | {at + 1: i for i, at in enumerate(kept, 1)}
        found = []
        for at in kept:
            head = old[at]
            while head not in new:
                head = old[head - 1]
            found.append(new[head])
        if found.count(0) != 1:
            continue
        words = bank.corpus.words(number)
        sentences.append([words[at] for at in kept])
        heads.append(found)
        for name, rows in layers.items():
            names = getattr(bank, name)[begin : begin + len(old)].strings()
            rows.append([names[at] for at in kept])
    given = {name: rows for name, rows in layers.items() if any(tag != "_" for row in rows for tag in row)}
    return Treebank.from_sentences(sentences, heads=heads, **given)


def _lists(bank: Any, tuning: Any, test: Any, order: int) -> tuple[Any, Any, Any]:
    """A parser, its jackknife with the tuning part, and its lists of the test part; kept from call to call."""
    import numpy as np

    from corpuscle import load
    from corpuscle.parse import MstParser, Reranker
    from corpuscle.parse.kernels.reranking import Lists
    from corpuscle.parse.lists import Jackknife, lists_of

    text = repr((bank.corpus.signature(), tuning.corpus.signature(), order, NBEST))
    stem = FILES / f"parse-lists-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    model, kept = stem.with_suffix(".parser"), stem.with_suffix(".npz")
    if not kept.exists():
        FILES.mkdir(parents=True, exist_ok=True)
        parser = MstParser(order=order, decode="projective", workers=2).fit(bank)
        parser.save(model)
        made = Reranker(nbest=NBEST, workers=2).jackknife(bank, parser, tuning)
        every: list[Any] = [*made.folds, made.dev, lists_of(parser, test, NBEST)]
        made_of = ((f"{i}/{name}", array) for i, each in enumerate(every) for name, array in each._asdict().items())
        np.savez(kept, **dict(made_of))
    with np.load(kept) as arrays:
        count = len(arrays.files) // len(Lists._fields)
        every = [Lists(*(arrays[f"{i}/{name}"] for name in Lists._fields)) for i in range(count)]
    return load(model), Jackknife(every[:-2], every[-2]), every[-1]


def job(
    timer: Any, train: str, dev: str, order: int, stripped: bool, settings: dict[str, Any], vectors: str = ""
) -> dict[str, float]:
    """Learn a re-ranker from kept lists, and parse the second half of the development trees."""
    import time

    import numpy as np

    from corpuscle import words
    from corpuscle.measure import attachment, compare_attachment
    from corpuscle.parse import Reranker, latent
    from corpuscle.parse.lists import best_trees_of, right_heads, shortened
    from corpuscle.text import read_conllu

    bank, gold = read_conllu(train), read_conllu(dev)
    if stripped:
        bank, gold = without_punctuation(bank), without_punctuation(gold)
    tuning, test = (gold.select(np.arange(first, len(gold), 2)) for first in (0, 1))
    parser, lists, of_test = _lists(bank, tuning, test, order)
    known = None
    if vectors:
        known = getattr(words, VECTORS[vectors])(dimensions=30, min_count=2, rare="signature").fit(bank.corpus)
    if "features" in settings:
        settings = settings | {"features": tuple(settings["features"])}
    ranker = Reranker(**{"nbest": NBEST, "workers": 2, **settings})
    begin = time.process_time()
    latent.learn(bank, ranker, parser.tag_layers_[0], known)
    seconds = time.process_time() - begin
    with timer:
        ranker.fit(bank, parser, tuning, vectors=known, lists=lists)
    found, base = ranker.annotate(test), parser.annotate(test)
    result, before = attachment(test, found), attachment(test, base)
    gain = compare_attachment(test, found, base, figure="uas")
    of_test = shortened(of_test, ranker.nbest)
    right = right_heads(of_test, test.heads)
    return {
        "parser UAS": 100 * float(before["uas"]), "UAS": 100 * float(result["uas"]),
        "gain": 100 * gain.difference, "gain low": 100 * gain.low, "gain high": 100 * gain.high, "p": gain.p_value,
        "parser complete": 100 * float(before["complete"]), "complete": 100 * float(result["complete"]),
        "oracle UAS": 100 * float(right[best_trees_of(of_test, right)].sum() / test.corpus.n_tokens),
        "hidden states CPU s": seconds,
    }  # fmt: skip


def claims(results: dict[str, Any]) -> list[Claim]:
    """What re-ranking gains, and log p of it."""
    found = []
    for cell in LABELS:
        for what, before, figure, paper in (
            ("re-ranking", FULL, "parser UAS", "0.9"), ("log p beside tags", "tags", "UAS", "0.3 to 0.4"),
        ):  # fmt: skip
            claim = Claim(f"{cell}: UAS gained by {what} (the paper, another treebank: {paper})", "0.3")
            if cell in results:
                gain = typical(results[cell], FULL, "UAS") - typical(results[cell], before, figure)
                claim = Claim(claim.text, claim.target, f"{gain:.2f}", gain >= 0.3)
            found.append(claim)
    return found


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "UAS of every other development sentence, gold tags; passes and the weight of the parser's score are chosen on "
        "the others. `gain` is over the parser's first tree, with its paired 95 % interval; times are CPU seconds."
    )
