"""Re-ranking a parser's best trees, on development trees with gold tags: the parser, + features of tags, + log p.

Lists are made once for each treebank, order and treatment of punctuation, by jackknife, and kept beside the cells: the
rows of a cell differ in features, estimator, length of the list and vectors alone. Punctuation can be stripped before
everything, as the paper does: what hung on it hangs on its head then. What is chosen is chosen by held-out lists of
training sentences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.harness import CELLS, Call, Cell, Claim, row, source_digest, typical

SOURCES = ("corpuscle/parse/**/*.py", "corpuscle/engine/dp/*.py")
TREEBANKS = {
    "ptb": ("ptb-sample/train.dep.conll", "ptb-sample/dev.dep.conll"),
    "ewt": ("ud-english-ewt/train.conllu", "ud-english-ewt/dev.conllu"),
}
PLAIN = "tags"
FULL = ("tags, log p", "tags, log p, 20 states")
"""Rows of which claims are made: whichever has more right heads in held-out training lists."""
ROWS: dict[str, dict[str, Any]] = {
    PLAIN: {"features": ["base", "tags"]},
    "tags, log p": {},
    "tags, log p, 20 states": {"states": 20},
    "tags, log p by {}": {},
    "tags, log p, 20 best": {"nbest": 20},
    "tags, log p, 5 best": {"nbest": 5},
}
"""Rows of every cell; {}: the estimator of the other triples than those that are more."""
FEWER = {"ptb": "pairs", "ewt": "chain"}
OTHERS: dict[str, dict[str, Any]] = {
    "log p": {"features": ["base", "logp"]},
    "tags, log p by svd": {"projection": "svd"},
    "tags, log p, perceptron": {"learner": "perceptron"},
    "tags, log p of tags": {"observe": "tags"},
    "tags, raw log p": {"recover": False, "stops": False},
    "tags, log p, children": {"features": ["base", "tags", "logp", "structure"]},
}
"""Further rows of the sample of the Penn Treebank, first order, punctuation counted; vectors of words are others."""
VECTORS = {"oscca": "OsccaVectors", "lrmvl": "LrmvlVectors"}
NBEST = 50
FILES = CELLS / "files"
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
        rows: dict[str, dict[str, Any]] = {
            row.format(FEWER[name]): {"settings": {"estimator": FEWER[name]} if "{}" in row else settings}
            for row, settings in ROWS.items()
        }
        if label == "ptb, order 1":
            rows |= {row: {"settings": settings} for row, settings in OTHERS.items()}
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


class Kept(NamedTuple):
    """What is made once for all rows of a cell: a parser, its jackknife, its lists of development sentences, and the
    beginning of the names of the files."""

    parser: Any
    jackknife: Any
    dev: Any
    stem: Path


def _kept(bank: Any, dev: Any, order: int) -> Kept:
    """The parser and its lists, made now or kept from call to call."""
    import numpy as np

    from corpuscle import load
    from corpuscle.parse import MstParser, Reranker
    from corpuscle.parse.kernels.reranking import Lists
    from corpuscle.parse.lists import Jackknife, lists_of
    from corpuscle.text.layers import Layer

    text = repr((bank.corpus.signature(), dev.corpus.signature(), order, NBEST))
    stem = FILES / f"parse-lists-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    model, kept = stem.with_suffix(".parser"), stem.with_suffix(".npz")
    if not kept.exists():
        FILES.mkdir(parents=True, exist_ok=True)
        plain = bank.replace(relations=Layer.unset(bank.corpus.n_tokens))
        parser = MstParser(order=order, decode="projective", workers=1).fit(plain)
        parser.save(model)
        made = Reranker(nbest=NBEST, workers=1).jackknife(plain, parser)
        every: list[Any] = [*made.folds, lists_of(parser, dev, NBEST)]
        made_of = ((f"{i}/{name}", array) for i, each in enumerate(every) for name, array in each._asdict().items())
        np.savez(kept, **dict(made_of))
    with np.load(kept) as arrays:
        count = len(arrays.files) // len(Lists._fields)
        every = [Lists(*(arrays[f"{i}/{name}"] for name in Lists._fields)) for i in range(count)]
    return Kept(load(model), Jackknife(every[:-1], None), every[-1], stem)


class Chosen(NamedTuple):
    """The heads that a re-ranker chooses: of development sentences, and of training sentences, fold by fold, by weights
    of the other folds; and the CPU seconds of hidden states of all training trees."""

    dev: Any
    held_out: Any
    seconds: float


def _chosen(ranker: Any, bank: Any, gold: Any, kept: Kept, vectors: Any = None, timer: Any = None) -> Chosen:
    """Learn a re-ranker from kept lists, and choose among those of development and of held-out sentences."""
    import time
    from contextlib import nullcontext
    from itertools import islice

    import numpy as np

    from corpuscle.parse import latent
    from corpuscle.parse.lists import Judged, best_trees_of, heads_of, learn_weights, ranking_of, scores_of

    learn, learn_states, folds, seconds = ranker._learn, latent.learn, [], []

    def watched(every: Any, parts: Any, *more: Any) -> Any:
        folds.extend(parts)
        return learn(every, parts, *more)

    def timed(*arguments: Any) -> Any:
        begin = time.process_time()
        learned = learn_states(*arguments)
        seconds.append(time.process_time() - begin)
        return learned

    ranker._learn, latent.learn = watched, timed
    with timer or nullcontext():
        ranker.fit(bank, kept.parser, vectors=vectors, lists=kept.jackknife)
    latent.learn = learn_states
    lists, scores = ranker.ranked(gold, found=kept.dev)
    chosen, held_out = ranker.chosen_, []
    value = chosen["base_weight" if ranker.learner == "perceptron" else "variance"]
    for fold in folds:
        others = Judged.joined([each for each in folds if each is not fold])
        weights = list(islice(learn_weights(ranker, others, value), chosen.get("passes", 1)))[-1]
        best = best_trees_of(fold.lists, scores_of(fold.lists, ranking_of(ranker, weights), 1))
        held_out.append(heads_of(fold.lists, best))
    return Chosen(heads_of(lists, best_trees_of(lists, scores)), np.concatenate(held_out), seconds[0])


def _by_tags(bank: Any, gold: Any, kept: Kept) -> Chosen:
    """The trees that are chosen without log p, kept from call to call."""
    import numpy as np

    from corpuscle.parse import Reranker

    path = kept.stem.with_name(f"{kept.stem.name}-{source_digest(SOURCES)}.npz")
    if not path.exists():
        ranker = Reranker(nbest=NBEST, workers=1, features=tuple(ROWS[PLAIN]["features"]))
        np.savez(path, **_chosen(ranker, bank, gold, kept)._asdict())
    with np.load(path) as arrays:
        return Chosen(*(arrays[name] for name in Chosen._fields))


def job(
    timer: Any, train: str, dev: str, order: int, stripped: bool, settings: dict[str, Any], vectors: str = ""
) -> dict[str, float]:
    """Learn a re-ranker from kept lists, and compare the trees that it chooses with those of others."""
    import numpy as np

    from corpuscle import words
    from corpuscle.measure import attachment, compare_attachment
    from corpuscle.parse import Reranker
    from corpuscle.parse.lists import best_trees_of, heads_of, joined, right_heads, shortened
    from corpuscle.text import read_conllu

    bank, gold = read_conllu(train), read_conllu(dev)
    if stripped:
        bank, gold = without_punctuation(bank), without_punctuation(gold)
    kept, known = _kept(bank, gold, order), None
    by_tags = _by_tags(bank, gold, kept)
    if vectors:
        known = getattr(words, VECTORS[vectors])(dimensions=30, min_count=2, rare="signature").fit(bank.corpus)
    if "features" in settings:
        settings = settings | {"features": tuple(settings["features"])}
    ranker = Reranker(**{"nbest": NBEST, "workers": 1, **settings})
    found, lists = _chosen(ranker, bank, gold, kept, known, timer), shortened(kept.dev, ranker.nbest)
    right = right_heads(lists, gold.heads)
    figures = {"oracle UAS": 100 * float(right[best_trees_of(lists, right)].sum() / gold.corpus.n_tokens),
               "hidden states CPU s": found.seconds}  # fmt: skip
    folds = joined(kept.jackknife.folds)
    held_out = bank.select(np.concatenate(ranker._folds(bank)))
    for what, trees, given, mine, plain in (
        ("", gold, lists, found.dev, by_tags.dev), ("held-out ", held_out, folds, found.held_out, by_tags.held_out),
    ):  # fmt: skip
        base, result, other = (
            trees.replace(heads=heads) for heads in (heads_of(given, given.firsts[:-1]), mine, plain)
        )
        for whose, parse in (("parser ", base), ("", result)):
            measured = attachment(trees, parse)
            figures |= {f"{what}{whose}{name}": 100 * float(measured[name]) for name in ("uas", "complete")}
        for name, before in (("gain", base), ("over tags", other)):
            gain = compare_attachment(trees, result, before, figure="uas")
            figures |= {
                f"{what}{name}": 100 * gain.difference, f"{what}{name} low": 100 * gain.low,
                f"{what}{name} high": 100 * gain.high, f"{what}{name} p": gain.p_value,
            }  # fmt: skip
    return figures


def _gain(figures: dict[str, float], name: str) -> str:
    value, low, high = (figures[f"{name}{end}"] for end in ("", " low", " high"))
    return f"{value:+.2f} ({low:+.2f} to {high:+.2f})"


def claims(results: dict[str, Any]) -> list[Claim]:
    """What re-ranking gains, and log p of it, on development and on held-out training sentences."""
    found = []
    for cell in LABELS:
        for where in ("", "held-out "):
            for what, name, paper in (("re-ranking", "gain", "0.9"), ("log p beside tags", "over tags", "0.3 to 0.4")):
                text = f"{cell}{', held-out training sentences' if where else ''}: UAS gained by {what}"
                claim = Claim(f"{text} (the paper, another treebank: {paper})", "0.3")
                if cell in results:
                    full = max(FULL, key=lambda side: typical(results[cell], side, "held-out uas"))
                    figures = results[cell]["runs"][full][0]["figures"]
                    gain, low, high = (figures[f"{where}{name}{end}"] for end in ("", " low", " high"))
                    holds = None if low <= 0 <= high else gain >= 0.3
                    claim = Claim(claim.text, claim.target, _gain(figures, f"{where}{name}"), holds)
                found.append(claim)
    return found


def tables(results: dict[str, Any]) -> list[str]:
    """Cells one after the other, the parser above its re-rankers."""
    made = []
    head = ["trees by", "held-out UAS", "over the parser", "over tags", "UAS", "over the parser", "p", "over tags", "p",
            "complete", "oracle UAS", "hidden states CPU s", "CPU s"]  # fmt: skip
    for result in results.values():
        runs = {side: runs[0] for side, runs in result["runs"].items()}
        same = next(iter(runs.values()))["figures"]
        lines = [row(head), row(["---"] + ["---:"] * (len(head) - 1))]
        parser = [f"{same[name]:.2f}" for name in ("held-out parser uas", "parser uas", "parser complete")]
        lines.append(row(["the parser", parser[0], "", "", parser[1], "", "", "", "", parser[2], "", "", ""]))
        for side, run in runs.items():
            lines.append(row([side, *_shown(side, run["figures"]), f"{run['cpu']:.0f}"]))
        about = f"({result['date']}, load {result['load']:.1f}, {result['others']:.0%} of the cores taken by others)"
        made.append("\n".join([f"### {result['title']}", "", *lines, "", about, ""]))
    return made


def _shown(side: str, figures: dict[str, float]) -> list[str]:
    """The figures of a row."""
    cells = [f"{figures['held-out uas']:.2f}", _gain(figures, "held-out gain"), _gain(figures, "held-out over tags")]
    cells.append(f"{figures['uas']:.2f}")
    for name in ("gain", "over tags"):
        cells += [_gain(figures, name), f"{figures[f'{name} p']:.3f}"]
    if side == PLAIN:
        cells[2] = cells[6] = cells[7] = ""
    cells += [f"{figures[name]:.2f}" for name in ("complete", "oracle UAS")]
    return [*cells, f"{figures['hidden states CPU s']:.1f}"]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return (
        "Gold tags. Lists of 50 (20, 5) trees; those of training sentences by a jackknife of three folds, one for all "
        "rows of a table. *held-out UAS*: that of the trees chosen in the lists of each training fold by weights of "
        "the others; the variance of weights (the perceptron: the weight of the parser's score and the number of "
        "passes) is the one of four (the perceptron: 80) with the most, and claims are of 10 or 20 hidden states, "
        "whichever has more: what little choosing adds is in these figures, and the lists of the other folds come from "
        "parsers that have seen this one. *UAS* and what follows: all development sentences, on which nothing is "
        "chosen. *over the parser*, *over tags*: the difference from the parser's first tree and from re-ranking "
        "without log p, with its paired 95 % interval and p. *complete*, *oracle UAS*: sentences without a mistake, "
        "and UAS of the best trees of the lists. *hidden states*: estimating them once, from all training trees; *CPU "
        "s*: the whole row with reading files, without the jackknife's parsers."
    )
