"""The ladder of phrase-based transliteration, English to Hindi: rules on links, symmetrisations, tuning, models.

Every rung adds or changes one thing, so that it can be seen what each is worth: no rule on links, the first (none
cross), both (no target letter is left out); every symmetrisation; untuned and tuned on BLEU; then the joint model and
the context model. Figures are of the development file, which no model has seen. The origin of a name is told by two
letter models of Latin spelling: of Hindi words as people write them (``translit-dakshina``) and of the foreign names of
an English-Vietnamese list (``translit-en-vi``); a name belongs to the one that finds it more likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.harness import Call, Cell, Claim, row
from bench.transliterate import PLAIN, SETS, SOURCES

WAYS = ("intersection", "union", "grow", "grow-diag", "grow-diag-final", "grow-diag-final-and", "forward", "backward")
RANKS = (1, 5, 20)
LINKS = ("hmm", "ibm1")
QUICK: dict[str, Any] = {**PLAIN, "tune": False}
RUNGS: dict[str, dict[str, Any]] = {
    "no rule": {**QUICK, "heuristics": False},
    "no links cross": {**QUICK, "attach": False},
    "no target left out": {**QUICK, "uncross": False},
    "both rules": QUICK,
    "Model 1, no rule": {**QUICK, "aligner": "ibm1", "heuristics": False},
    "Model 1, no links cross": {**QUICK, "aligner": "ibm1", "attach": False},
    "Model 1, both rules": {**QUICK, "aligner": "ibm1"},
    **{f"both rules, {way}": {**QUICK, "symmetrise": way} for way in WAYS if way != "grow-diag-final-and"},
    "no rule, tuned on BLEU": {**PLAIN, "heuristics": False},
    "both rules, tuned on BLEU": PLAIN,
    "joint aligner, tuned on BLEU": {**PLAIN, "aligner": "joint"},
    "with the joint model": {"context": 0},
    "with the joint and the context model (default)": {},
}


def cells(data: Path) -> Iterator[Cell]:
    """A cell for each rung."""
    train, dev = (str(data / path) for path in SETS["en-hi"])
    native, foreign = data / "translit-dakshina/hi.dev.tsv", data / "translit-en-vi/train.tsv"
    texts = {"train": train, "dev": dev, "native": str(native), "foreign": str(foreign)}
    inputs = (Path(train), Path(dev), native, foreign)
    for name, settings in RUNGS.items():
        side = Call("en-hi", "bench.transliterate_ladder:rung", {**texts, "settings": settings})
        yield Cell(name, name, (side,), inputs=inputs, repeats=1, warm_up=False, sources=SOURCES)
    sides = [Call(method, "bench.transliterate_ladder:repairs", {"train": train, "method": method}) for method in LINKS]
    yield Cell("links", "links", tuple(sides), inputs=inputs[:1], repeats=1, warm_up=False, sources=SOURCES)


def _origins(names: list[str], native: str, foreign: str) -> list[bool]:
    """Whether each name looks foreign."""
    from corpuscle.lm import NgramModel
    from corpuscle.text.corpus import Corpus
    from corpuscle.text.files import read_lines

    def letters(words: list[str]) -> Corpus:
        return Corpus.from_sentences([list(word.lower()) for word in words])

    spelled = {
        native: [line.split("\t")[1] for _, line in read_lines(native)],
        foreign: [line.split("\t")[0] for _, line in read_lines(foreign)],
    }
    words = [max(name.split(), key=len) for name in names]
    scores = []
    for path in native, foreign:
        model = NgramModel(order=5, min_count=1).fit(letters(spelled[path]))
        scores.append([float(model.events(letters([word])).log_probability.sum()) for word in words])
    return [other > own for own, other in zip(*scores, strict=True)]


def rung(timer, train: str, dev: str, native: str, foreign: str, settings: dict[str, Any]) -> dict[str, float]:
    """Learn with some settings; accuracy among the first 1, 5 and 20 candidates, and by origin."""
    from corpuscle.measure import accuracy_at, news_measures
    from corpuscle.transliterate import PhraseTransliterator, read_names, warm

    warm()
    model = PhraseTransliterator(**settings, workers=1)
    with timer:
        model.fit(read_names(train))
    pairs = read_names(dev)
    normal = model.spelling.normal
    ranked = model.transliterate([pair.source for pair in pairs], max(RANKS))
    found = [[candidate.target for candidate in own] for own in ranked]
    wanted = [[normal(target) for target in pair.targets] for pair in pairs]
    result = news_measures(found, wanted)
    figures = {name: float(result[name]) for name in ("acc", "acc_low", "acc_high", "f_score", "mrr")}
    figures |= {f"acc at {rank}": share for rank, share in accuracy_at(found, wanted, RANKS).items()}
    origins = _origins([normal(pair.source) for pair in pairs], native, foreign)
    for name, which in ("native", False), ("foreign", True):
        rows = [i for i, is_foreign in enumerate(origins) if is_foreign == which]
        figures[f"{name} names"] = len(rows)
        for rank, share in accuracy_at([found[i] for i in rows], [wanted[i] for i in rows], RANKS).items():
            figures[f"{name} acc at {rank}"] = share
    return figures


def repairs(timer, train: str, method: str) -> dict[str, float]:
    """How many links the rules remove and add."""
    from corpuscle.transliterate import PhraseTransliterator, read_names
    from corpuscle.transliterate.links import repair

    with timer:
        model = PhraseTransliterator(**{**QUICK, "aligner": method, "heuristics": False}, workers=1)
        model.fit(read_names(train))
    found, bitext = model.alignments_, model.bitext_
    straight = repair(found, bitext, ("uncross",))
    whole = repair(straight, bitext, ("attach",))
    counts = len(found.links), len(found.links) - len(straight.links), len(whole.links) - len(straight.links)
    return dict(zip(("links", "removed", "added"), map(float, counts), strict=True))


# ---- the report


def tables(results: dict[str, Any]) -> list[str]:
    """The ladder, and errors by origin."""
    head = ["", *(f"ACC at {rank}" for rank in RANKS), "95 % interval of ACC", "mean F", "MRR", "CPU s of training"]
    lines = ["### The ladder, English to Hindi", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    head = ["", *(f"{origin}, ACC at {rank}" for origin in ("native", "foreign") for rank in RANKS)]
    origins = ["### By origin of the name", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
    for name in filter(results.__contains__, RUNGS):
        run = results[name]["runs"]["en-hi"][0]
        figures = run["figures"]
        shares = [f"{figures[f'acc at {rank}']:.3f}" for rank in RANKS]
        interval = f"{figures['acc_low']:.3f} to {figures['acc_high']:.3f}"
        others = [f"{figures['f_score']:.3f}", f"{figures['mrr']:.3f}", f"{run['cpu']:.0f}"]
        lines.append(row([name, *shares, interval, *others]))
        shown = [f"{figures[f'{origin} acc at {rank}']:.3f}" for origin in ("native", "foreign") for rank in RANKS]
        origins.append(row([name, *shown]))
    return ["\n".join(lines), "\n".join(origins)]


def _acc(results: dict[str, Any], name: str, what: str = "acc") -> float | None:
    return results[name]["runs"]["en-hi"][0]["figures"][what] if name in results else None


def _gain(results: dict[str, Any], first: str, second: str) -> tuple[str, bool | None]:
    """How much higher the ACC of the second rung is, with a 95 % interval as if other names had been asked of each
    (that of the same names is narrower), and whether it is."""
    rungs = [results[name]["runs"]["en-hi"][0]["figures"] for name in (first, second)]
    names = rungs[0]["native names"] + rungs[0]["foreign names"]
    gain = rungs[1]["acc"] - rungs[0]["acc"]
    wide = 1.96 * sum(rung["acc"] * (1 - rung["acc"]) / names for rung in rungs) ** 0.5
    shown = f"{gain:+.3f} ({gain - wide:+.3f} to {gain + wide:+.3f})"
    return shown, None if abs(gain) <= wide else gain > 0


def claims(results: dict[str, Any]) -> list[Claim]:
    """What the paper says about its ladder."""
    made = []
    for text, first, second in (
        ("ACC with both rules minus that without, HMM links, untuned", "no rule", "both rules"),
        ("ACC with both rules minus that without, Model 1 links, untuned", "Model 1, no rule", "Model 1, both rules"),
        ("ACC with both rules minus that without, tuned", "no rule, tuned on BLEU", "both rules, tuned on BLEU"),
        ("ACC tuned on BLEU minus that untuned, both rules", "both rules", "both rules, tuned on BLEU"),
        ("ACC with the joint model minus phrases alone", "both rules, tuned on BLEU", "with the joint model"),
        ("ACC with the context model minus without it", "with the joint model", list(RUNGS)[-1]),
    ):
        if first in results and second in results:
            made.append(Claim(text, "above 0", *_gain(results, first, second)))
    name = "both rules, tuned on BLEU"
    foreign, native = _acc(results, name, "foreign acc at 1"), _acc(results, name, "native acc at 1")
    if foreign is not None and native is not None:
        measured = f"{foreign:.3f} and {native:.3f}"
        made.append(Claim("ACC of foreign names lower than of native ones, tuned", "yes", measured, foreign < native))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    counts = next((results[name]["runs"]["en-hi"][0]["figures"] for name in RUNGS if name in results), {})
    moved = results["links"]["runs"] if "links" in results else {}
    told = f" ({counts['native names']:.0f} native, {counts['foreign names']:.0f} foreign)" if counts else ""
    return "\n".join([
        "### Notes", "",
        "- Links by HMM unless another aligner is named, grow-diag-final-and unless another way is; no joint model and "
        "no context model before the last two rungs.",
        *(
            f"- Of {run['figures']['links']:,.0f} links by {method} that the rules see, the first removes "
            f"{run['figures']['removed']:,.0f}, the second adds {run['figures']['added']:,.0f}."
            for method, (run,) in moved.items()
        ),
        f"- Origins are told by two letter models{told}, not by people.",
    ])  # fmt: skip
