"""Power low rank ensembles beside the count models, Pitman-Yor and class models: perplexity, curves, speed, a decoder.

Rarer words than twice are the unknown word in all models, so their perplexities can be compared. The development parts:
``wikitext2/valid.txt``; every twentieth document of ``brown``; ``russian/nerel-news.dev.txt``, for which the models
learn from the news, web and encyclopedia texts of that set. What is tuned is tuned on the first half of a development
part; only the figure of the second half is fair then, so every side gives it too.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from bench.harness import CELLS, CORPUSCLE, Call, Cell, Claim, Commands, row, typical
from bench.lm import make_growth_text

SETS = ("wikitext2", "brown", "russian")
RUSSIAN = ("mixed-news.txt", "nerel-news.txt", "opencorpora.txt", "web-sentences.txt")
ENGLISH = ("wikitext2/train.txt", "brown/brown.txt", "ml-papers/train.txt", "align-fr-en/train.en")
COUNTED = ("backoff-kn", "kn", "backoff-mkn", "mkn")
CLASSES = (32, 128, 512, 1024)
THOUSANDS = (250, 500, 1000, 2000)
MILLIONS = (1, 2, 4)
PAIRS = 4000
"""Names that the transliterator learns from: enough to see whether a model helps it, and ten tunings take minutes."""
PAPER = {"powers": (0.5,), "ranks": (50, 2)}
"""One order in between, as in the paper."""
TRIED: dict[str, dict[str, Any]] = {
    "default": {},
    "one order in between": {"powers": (0.5,)},
    "three orders in between": {"powers": (0.75, 0.5, 0.25)},
    "powers 0.8, 0.2": {"powers": (0.8, 0.2)},
    "equal powers 0.5, 0.5": {"powers": (0.5, 0.5)},
    "low rank order 2 only": {"ranks": (64,)},
    "low rank order 3 only": {"ranks": (0, 2)},
    "modified discounts": {"discounting": "modified"},
    "lower orders by mass": {"lower": "mass"},
    "modified, by mass": {"discounting": "modified", "lower": "mass"},
    "5 passes": {"passes": 5},
    "10 passes": {"passes": 10},
    "40 passes": {"passes": 40},
    "seed 2": {"seed": 2},
}
SPEED = ("--method", "plre", "--ranks", "64,2")
SOURCES = (
    "corpuscle/lm/plre.py", "corpuscle/lm/ngram.py", "corpuscle/lm/kernels/plre.py",
    *(f"corpuscle/engine/ngrams/{name}.py" for name in ("counting", "smoothing", "trie")),
)  # fmt: skip
"""What perplexities depend on."""
MIXED = tuple(f"corpuscle/lm/{name}.py" for name in ("classes", "mixture", "pitman_yor"))
"""What ``auto`` depends on beside them."""


def cells(data: Path) -> Iterator[Cell]:
    """Perplexities first, set by set; then curves, large text, a decoder, speed."""
    for name in SETS:
        yield _cell(data, f"order 3, {name}", name, _methods(name, 3))
        yield _cell(data, f"classes, {name}", name, [_side(f"{n} classes", name, 3, classes=n) for n in CLASSES])
        sides = [_side(f"{kind}, order {order}", name, order, kind) for order in (2, 4) for kind in ("mkn", "plre")]
        yield _cell(data, f"orders, {name}", name, [*sides, _side("hpy, order 4", name, 4, "hpy", sweeps=30)])
    for name in SETS:
        yield _cell(data, f"tried, {name}", name, [_side(what, name, 3, "plre", **s) for what, s in TRIED.items()])
    ranks = [("order 2", (rank, 2)) for rank in (8, 32, 64, 128, 256)]
    ranks += [("order 3", (64, rank)) for rank in (0, 1, 5, 20)]
    sides = [_side(f"{which}, rank {r[which == 'order 3']}", "wikitext2", 3, "plre", ranks=r) for which, r in ranks]
    yield _cell(data, "ranks", "wikitext2", sides)
    for name in ("wikitext2", "russian"):
        sizes = THOUSANDS if name == "wikitext2" else THOUSANDS[:3]
        sides = [_side(f"{kind}, {n} thousand", name, 3, kind, thousands=n) for n in sizes for kind in ("mkn", "plre")]
        yield _cell(data, f"growing text, {name}", name, sides)
    sides = [_side("mkn", "english", 4, "mkn"), _side("mkn, tuned", "english", 4, "mkn", tuned=True)]
    sides += [_side("plre", "english", 4, "plre"), _side("plre, order 4 as it is", "english", 4, "plre", ranks=(64, 2))]
    sides += [_side(f"{kind}, no boundaries", "english", 4, kind, boundary="none") for kind in ("mkn", "plre")]
    yield _cell(data, "all English text", "english", sides)
    sides = [Call("auto", "bench.lm_plre:best", {"data": str(data)})]
    title = "The best model for a text: WikiText-2 with documents"
    yield Cell("auto", title, tuple(sides), repeats=1, warm_up=False, sources=(*SOURCES, *MIXED))
    names = {which: str(data / "translit-en-hi" / f"{which}.tsv") for which in ("train", "dev")}
    sides = [Call("en-hi", "bench.lm_plre:inside_a_decoder", names)]
    sources = (*SOURCES, "corpuscle/transliterate/**/*.py")
    yield Cell("decoder", "Inside the transliteration decoder", tuple(sides), repeats=1, warm_up=False, sources=sources)
    yield from _speed(data)


def _speed(data: Path) -> Iterator[Cell]:
    train, model = str(data / "wikitext2" / "train.txt"), str(CELLS / "files" / "plre.lm")
    timed = str(CELLS / "files" / "timed.lm")
    command = (CORPUSCLE, "lm", "train", train, "-o", timed, "--order", "3")
    sides = [
        Commands("plre", ((*command, *SPEED),)),
        Commands("plre, one worker", ((*command, *SPEED, "--workers", "1"),)),
        Commands("mkn", (command,)),
    ]
    same: dict[str, Any] = {"inputs": (Path(train),), "sources": SOURCES}
    yield Cell("training", "Training on WikiText-2, order 3", tuple(sides), peer="mkn", **same)
    fits = [Call(f"{n} workers", "bench.lm_plre:fit", {"data": str(data), "workers": n}) for n in (1, 2)]
    yield Cell("workers", "Fitting an encoded text, WikiText-2, order 3", tuple(fits), peer="1 workers", **same)
    text = {"model": model, "text": train}
    sides = [Call("plre", "bench.lm_sides:score_corpus", text)]
    learn = partial(subprocess.run, (CORPUSCLE, "lm", "train", train, "-o", model, *SPEED, "--quiet"), check=True)
    yield Cell("scoring", "Scoring WikiText-2 train, order 3", tuple(sides), prepare=learn, **same)
    for millions in MILLIONS:
        grown = CELLS / "files" / f"growth-{millions}m.txt"
        side = Commands("plre", ((CORPUSCLE, "lm", "train", str(grown), "-o", timed, *SPEED),))
        title = f"Training on {millions} million tokens of different text, order 3"
        make = partial(make_growth_text, data, millions)
        yield Cell(f"growth-{millions}m", title, (side,), prepare=make, sources=SOURCES)


def _cell(data: Path, name: str, of_set: str, sides: list[Call]) -> Cell:
    calls = tuple(Call(side.name, side.function, {**side.arguments, "data": str(data)}) for side in sides)
    inputs = _inputs(data, of_set)
    return Cell(name, f"Perplexity: {name}", calls, repeats=1, warm_up=False, sources=SOURCES, inputs=inputs)


def _side(name: str, of_set: str, order: int, method: str = "class", **settings: Any) -> Call:
    return Call(name, "bench.lm_plre:perplexity", {"name": of_set, "order": order, "method": method, **settings})


def _methods(name: str, order: int) -> list[Call]:
    sides = [_side(method, name, order, method) for method in COUNTED]
    sides += [_side("mkn, tuned", name, order, "mkn", tuned=True), _side("hpy", name, order, "hpy", sweeps=30)]
    sides += [_side("plre, as in the paper", name, order, "plre", **PAPER), _side("plre", name, order, "plre")]
    return [*sides, _side("plre, tuned", name, order, "plre", tuned=True)]


def _inputs(data: Path, name: str) -> tuple[Path, ...]:
    files = {
        "wikitext2": ("wikitext2/train.txt", "wikitext2/valid.txt"),
        "brown": ("brown/brown.txt", "brown/docs.tsv"),
        "russian": tuple(f"russian/{file}" for file in (*RUSSIAN, "nerel-news.dev.txt")),
        "english": (*ENGLISH, "wikitext2/valid.txt", "brown/docs.tsv"),
    }[name]
    return tuple(data / file for file in files)


# ---- what must be shown


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    found = []
    for name in SETS:
        least = 4 if name == "russian" else 3
        for order, cell in (3, f"order 3, {name}"), (4, f"orders, {name}"):
            ending = "" if order == 3 else ", order 4"
            for other, aim in ("mkn", least), ("hpy", 0):
                text = f"{name}, order {order}: plre below {other}"
                found.append(_below(text, results.get(cell), (f"plre{ending}", f"{other}{ending}"), aim))
        text = f"{name}, order 3, second half: plre below mkn with tuned discounts"
        found.append(_below(text, results.get(f"order 3, {name}"), ("plre", "mkn, tuned"), 0, "second half"))
    if "training" in results:
        times = typical(results["training"], "plre", "cpu") / typical(results["training"], "mkn", "cpu")
        found.append(Claim("training order 3, times the CPU time of mkn", "10", f"{times:.1f}", times <= 10))
    if "workers" in results:
        faster = typical(results["workers"], "1 workers") / typical(results["workers"], "2 workers")
        found.append(Claim("two workers, times faster than one", "1.6", f"{faster:.2f}", faster >= 1.6))
    if "scoring" in results:
        speed = typical(results["scoring"], "plre", "tokens") / typical(results["scoring"], "plre", "cpu")
        found.append(Claim("tokens scored a CPU second", "300,000", f"{speed:,.0f}", speed >= 300_000))
    for small, large in pairwise(MILLIONS):
        if f"growth-{large}m" in results:
            share = typical(results[f"growth-{large}m"], "plre", "cpu")
            share /= typical(results[f"growth-{small}m"], "plre", "cpu")
            found.append(Claim(f"CPU time for {large}M over {small}M tokens", "2.5", f"{share:.2f}", share <= 2.5))
    if "auto" in results:
        ours, theirs = (typical(results["auto"], "auto", name) for name in ("perplexity", "mkn"))
        share = 100 * (1 - ours / theirs)
        text = "auto below mkn, second half of WikiText-2 valid, with documents"
        found.append(Claim(text, "8 %", f"{share:.1f} %", share >= 8))
    if "decoder" in results:
        gain = typical(results["decoder"], "en-hi", "plre, mean") - typical(results["decoder"], "en-hi", "mkn, mean")
        found.append(Claim("accuracy inside the transliteration decoder, plre - mkn", "0", f"{gain:+.4f}", gain >= 0))
    return found


def _below(text: str, result: Any, sides: tuple[str, str], least: float, what: str = "perplexity") -> Claim:
    if result is None:
        return Claim(text, f"{least} %")
    ours, theirs = (typical(result, side, what) for side in sides)
    share = 100 * (1 - ours / theirs)
    return Claim(text, f"{least} %", f"{share:.1f} %", share >= least)


def tables(results: dict[str, Any]) -> Iterator[str]:
    """Perplexities without times of busy machines; the others as they are."""
    from bench.harness import table

    for result in results.values():
        sides = list(result["runs"])
        figures = list(result["runs"][sides[0]][0]["figures"])
        if "perplexity" not in figures:
            yield table(result)
            continue
        shown = ("CPU s", "peak MB", *figures)
        lines = [f"### {result['title']}", "", row(["", *shown]), row(["---"] + ["---:"] * len(shown))]
        for side in sides:
            numbers = [typical(result, side, what) for what in ("cpu", "peak", *figures)]
            shown = [f"{number:.4g}" if i < 2 else f"{number:.2f}" for i, number in enumerate(numbers)]
            lines.append(row([side, *shown]))
        yield "\n".join(lines)


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "\n".join(
        [
            "### Notes",
            "",
            "- `below mkn`: per cent below modified Kneser-Ney of the same order on the same text, with the ends of "
            "the 95 % interval and the p-value of a paired bootstrap over sentences; `spread`: the standard deviation "
            "over ten resampled texts.",
            "- CPU s: training alone, on an encoded text. `hpy`: 30 sweeps, 5 samples.",
            f"- All English text: {', '.join(ENGLISH)}; measured on the development part of WikiText-2.",
            "- Inside the decoder: ten tunings (seeds) of the system of phrases and letters, English to Hindi, the "
            f"first {PAIRS:,} names, with mkn as its letter model; then the letter model is replaced and the weights "
            "stay as they are.",
        ]
    )


# ---- the sides


def _texts(data: str, name: str):
    """Training and development text."""
    import numpy as np

    from corpuscle.text import Corpus, read_text

    def read(*files):
        texts = [read_text(str(Path(data) / file)) for file in files]
        return texts[0] if len(texts) == 1 else Corpus.from_sentences(chain.from_iterable(texts))

    if name == "wikitext2":
        return read("wikitext2/train.txt"), read("wikitext2/valid.txt")
    if name == "russian":
        return read(*(f"russian/{file}" for file in RUSSIAN)), read("russian/nerel-news.dev.txt")
    if name == "english":
        return read(*ENGLISH), read("wikitext2/valid.txt")
    corpus = read("brown/brown.txt")
    documents = [line.split("\t") for line in (Path(data) / "brown" / "docs.tsv").read_text().splitlines()[1:]]
    held_out = np.zeros(len(corpus), bool)
    for _, _, first, lines, _ in documents[19::20]:
        held_out[int(first) - 1 : int(first) - 1 + int(lines)] = True
    return corpus.select(~held_out), corpus.select(held_out)


def perplexity(timer, data: str, name: str, order: int, method: str, **more: Any) -> dict[str, float]:
    """Perplexity of a development part and of its second half, and how far it is below mkn."""
    import numpy as np

    from corpuscle.lm import NgramModel, compare_events

    train, dev = _texts(data, name)
    thousands, tuned = more.pop("thousands", 0), more.pop("tuned", False)
    if thousands:
        train = train[: int(np.searchsorted(train.sentence_starts, thousands * 1000))]
    half = len(dev) // 2
    boundary = {"boundary": more["boundary"]} if "boundary" in more else {}
    settings = {"order": order, "min_count": 2}
    with timer:
        model = _fitted(train, method, settings, more, dev[:half] if tuned else None)
    mkn = NgramModel(method="mkn", **settings, **boundary).fit(train)
    ours, theirs = model.events(dev), mkn.events(dev)
    compared = compare_events(ours, theirs)
    base = float(np.exp(-theirs.log_probability.mean()))
    scores = ours.by_sentence()
    chance = np.random.default_rng(1)
    draws = [chance.integers(len(dev), size=len(dev)) for _ in range(10)]
    resampled = [np.exp(-scores.log_probability[d].sum() / scores.tokens[d].sum()) for d in draws]
    second = slice(int(ours.starts[half]), None)
    figures = {
        "perplexity": float(np.exp(-ours.log_probability.mean())),
        "spread": float(np.std(resampled)),
        "second half": float(np.exp(-ours.log_probability[second].mean())),
        "below mkn": -100 * compared.difference / base,
        "low": -100 * compared.high / base,
        "high": -100 * compared.low / base,
        "p": compared.p_value,
        "vocabulary": len(model.vocab_),
        "unknown %": 100 * float(ours.unknown.mean()),
    }
    return figures


def best(timer, data: str) -> dict[str, float]:
    """What ``--method auto`` makes of WikiText-2, chosen on the first half of the articles of valid, measured on the
    others; an article begins with a heading of the first level."""
    import re

    from corpuscle.lm import AutoModel, NgramModel

    train, dev = _texts(data, "wikitext2")
    lines = (Path(data) / "wikitext2" / "valid.txt").read_text(encoding="utf-8").split("\n")[: len(dev)]
    begins = [i for i, line in enumerate(lines) if i and re.fullmatch(" = [^=].*[^=] = ?", line)]
    dev, middle = dev.with_documents([0, *begins, len(dev)]), begins[len(begins) // 2]
    with timer:
        model = AutoModel().fit(train, dev[:middle])
    test = dev[middle:]
    found = [model, NgramModel().fit(train)]
    ours, theirs = (float(each.perplexity(test, draws=1)["perplexity"]) for each in found)
    weights = {f"{name}, weight": part["weight"] for name, part in model.parts_.items()}
    return {"perplexity": ours, "mkn": theirs} | weights


def _fitted(train: Any, method: str, settings: dict[str, Any], more: dict[str, Any], dev: Any) -> Any:
    from corpuscle.lm import ClassModel, HpyModel, NgramModel, PlreModel
    from corpuscle.words import ExchangeClasses

    if method == "plre":
        return PlreModel(**settings, **more).fit(train, dev)
    if method == "hpy":
        return HpyModel(**settings, **more).fit(train)
    if method == "class":
        classes = ExchangeClasses(classes=more["classes"], min_count=2, passes=5).fit(train)
        return ClassModel(classes.as_dict(), NgramModel(**{**settings, "min_count": 1})).fit(train)
    return NgramModel(method=method, **settings, **more).fit(train, dev)


def fit(timer, data: str, workers: int) -> dict[str, float]:
    """Fit an encoded text, kernels warm."""
    from corpuscle.lm import PlreModel

    train, _ = _texts(data, "wikitext2")
    PlreModel(ranks=(8, 2)).fit(train[:2000])
    with timer:
        model = PlreModel(ranks=(64, 2), workers=workers).fit(train)
    return {"n-grams": len(model.ngrams_.words)}


def inside_a_decoder(timer, train: str, dev: str, runs: int = 10) -> dict[str, float]:
    """Accuracy with mkn and with an ensemble as letter model, weights tuned for mkn, over several tunings."""
    import numpy as np

    from bench.transliterate import PLAIN, _figures
    from corpuscle.lm import PlreModel
    from corpuscle.transliterate import PhraseTransliterator, read_names

    pairs, names = read_names(train)[:PAIRS], [pair.source for pair in read_names(dev)]

    def accuracy(model):
        model.__dict__.pop("decoder", None)
        return _figures([[c.target for c in ranked] for ranked in model.transliterate(names)], dev)["acc"]

    found = []
    for seed in range(1, runs + 1):
        with timer:
            model = PhraseTransliterator(seed=seed, **PLAIN).fit(pairs)
        before = accuracy(model)
        model.lm_ = PlreModel(order=model.order, min_count=1, allow_markup=True).fit(model.bitext_.target)
        found.append((before, accuracy(model)))
    figures = {}
    for name, column in zip(("mkn", "plre"), np.array(found).T, strict=True):
        figures |= {f"{name}, mean": float(column.mean()), f"{name}, spread": float(column.std())}
    differences = np.diff(np.array(found), axis=1)[:, 0]
    return figures | {"smallest difference": float(differences.min()), "largest difference": float(differences.max())}
