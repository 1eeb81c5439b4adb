"""Log-linear language models on suffix trees: perplexity and parameters by order and penalty, time of proximal steps.

``splits``: four times 100,000 tokens of the Brown corpus for training, 20,000 each for development and test, by whole
documents of all categories; lower case, proper nouns (by the tags) and numbers replaced, words that occur once unknown,
as in the paper's Figure 2. ``steps``: its Figure 3. ``peer``: SPAMS on the same trees, where SPAMS_PYTHON names a
Python that has it. ``passes``: what one pass costs on more and more text. ``signed``: weights that may be negative.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.harness import CELLS, HERE, Call, Cell, Claim, row, table, typical

PEER = os.environ.get("SPAMS_PYTHON", "")
SPLITS, ORDERS, DEPTHS = 4, (2, 3, 5, 8, 12), (2, 3, 4, 6, 8, 10, 12)
FEWER, LAST_CHOICE = (2, 5, 12), 5
"""Orders of the other splits; strengths are chosen up to this order, and longer ones have that of this order."""
SIZES = {"train": 100_000, "dev": 20_000, "test": 20_000}
TOKENS = (125_000, 250_000, 500_000, 1_000_000)
MODELS = {
    "l1": ("l1", 1.0, "feature"),
    "l2": ("l2", 1.0, "feature"),
    "tree-l2": ("tree-l2", 1.0, "feature"),
    "tree-linf": ("tree-linf", 1.0, "feature"),
    "weighted l1": ("l1", 0.7, "feature"),
    "weighted l2": ("l2", 0.5, "feature"),
    "weighted tree-l2": ("tree-l2", 1.1, "feature"),
    "weighted tree-linf": ("tree-linf", 0.85, "feature"),
    "tree-linf weighted by node": ("tree-linf", 0.85, "node"),
}
SOURCES = tuple(
    f"corpuscle/{name}.py"
    for name in ("lm/kernels/proximal", "lm/kernels/loglinear", "lm/loglinear_fitting")
)
FILES = CELLS / "files"


def cells(data: Path) -> Iterator[Cell]:
    """All of them, cheap ones first."""
    brown = tuple(data / "brown" / name for name in ("brown.txt", "brown.tags", "docs.tsv"))

    def cell(name: str, title: str, calls: list[Call], repeats: int = 1) -> Cell:
        return Cell(
            f"loglinear-{name}", title, tuple(calls), inputs=brown, repeats=repeats, warm_up=False, sources=SOURCES,
            prepare=lambda: write_splits(data / "brown"),
        )  # fmt: skip

    def call(name: str, function: str, **arguments: Any) -> Call:
        return Call(name, f"bench.lm_loglinear:{function}", arguments)

    yield cell("steps", "Time of a proximal step, tree l-infinity (Figure 3)", [call("all", "proximal_steps")])
    if PEER:
        yield cell("peer", "Proximal operators beside SPAMS", [call("all", "beside_spams", peer=PEER)])
    brown_text = str(brown[0])
    yield cell("passes", "What a pass costs, order 5", [
        call(f"{tokens:,} tokens", "one_pass", text=brown_text, tokens=tokens) for tokens in TOKENS
    ])  # fmt: skip
    yield cell("signed", "Weights that may be negative: order 2, squared l2, 20,000 tokens", [
        call(name, "signed_weights", signed=signed)
        for name, signed in (("none", 0), ("unigrams", 1), ("unigrams and bigrams", 2))
    ])  # fmt: skip
    for split in range(SPLITS):
        yield cell(f"counts-{split}", f"split {split}: counts", [call("counts", "counted", split=split)])
        for name in MODELS:
            yield cell(f"split-{split}-{_short(name)}", f"split {split}: {name}", [
                call(name, "by_order", split=split, model_name=name)
            ])  # fmt: skip
        yield cell(f"auto-{split}", f"split {split}: strength and weight chosen, early stopping, order 5", [
            call(penalty, "automatic", split=split, penalty=penalty) for penalty in ("tree-l2", "tree-linf")
        ])  # fmt: skip


def _short(name: str) -> str:
    return name.replace(" ", "-")


def write_splits(folder: Path) -> None:
    """The texts of all splits."""
    import csv

    FILES.mkdir(parents=True, exist_ok=True)
    if (FILES / f"loglinear-{SPLITS - 1}.test.txt").exists():
        return
    lines, tags = ((folder / f"brown.{what}").read_text().split("\n") for what in ("txt", "tags"))
    with open(folder / "docs.tsv", newline="") as file:
        documents = list(csv.DictReader(file, delimiter="\t"))
    for split in range(SPLITS):
        parts: dict[str, list[str]] = {part: [] for part in SIZES}
        have = dict.fromkeys(SIZES, 0)
        for number, document in enumerate(documents[split::SPLITS]):
            part = {5: "test", 11: "dev"}.get(number % 12, "train" if number % 12 in (0, 2, 4, 7, 9) else "")
            first = int(document["first_line"]) - 1
            for at in range(first, first + int(document["lines"])):
                words = replaced(lines[at].split(), tags[at].split())
                if part and words and have[part] < SIZES[part]:
                    parts[part].append(" ".join(words))
                    have[part] += len(words)
        for part, sentences in parts.items():
            (FILES / f"loglinear-{split}.{part}.txt").write_text("\n".join(sentences) + "\n")


def replaced(words: list[str], tags: list[str]) -> list[str]:
    """A sentence in lower case, with one symbol for proper nouns and one for numbers."""
    found = []
    for word, tag in zip(words, tags, strict=True):
        if re.match(r"np[s$]*(\+.*)?$", tag.split("-")[0]):
            found.append("<proper>")
        else:
            found.append("#n" if tag.startswith("cd") or re.search(r"\d", word) else word.lower())
    return found


def _texts(split: int) -> list[Any]:
    from corpuscle.text import read_text

    return [read_text(FILES / f"loglinear-{split}.{part}.txt") for part in SIZES]


def _scores(model: Any, test: Any, name: str) -> dict[str, float]:
    """Perplexity of the known words, as the paper has it, and of all tokens."""
    result = model.perplexity(test, draws=1)
    return {f"{name}": float(result["perplexity_without_oov"]), f"{name}, all": float(result["perplexity"])}


def counted(timer, split: int) -> dict[str, float]:
    """Interpolated Kneser-Ney, plain and modified."""
    from corpuscle.lm import NgramModel, warm

    warm()
    train, _, test = _texts(split)
    found: dict[str, float] = {}
    for order in ORDERS:
        for method in ("kn", "mkn"):
            with timer:
                model = NgramModel(method=method, order=order, workers=1).fit(train)
            found |= _scores(model, test, f"{method} {order}")
            found[f"{method} {order}, parameters"] = sum(model.sizes_)
    return found


def by_order(timer, split: int, model_name: str) -> dict[str, float]:
    """One penalty at several orders, each from the weights of the order before, trained to the end: its strength is
    chosen on the development text of the first split, and is the same for the others."""
    from corpuscle.lm import LogLinearModel, warm

    warm()
    train, dev, test = _texts(split)
    penalty, weighted, weighting = MODELS[model_name]
    chosen = FILES / f"loglinear-strengths-{_short(model_name)}.json"
    strengths = json.loads(chosen.read_text()) if split else {}
    found: dict[str, float] = {}
    model = None
    for order in FEWER if split else ORDERS:
        settings: dict[str, Any] = {"early": False, "tolerance": 4e-4, "workers": 1, "order": order}
        settings |= {"penalty": penalty, "weighted": weighted, "weighting": weighting}
        with timer:
            if split or order > LAST_CHOICE:
                strength = strengths[str(min(order, LAST_CHOICE))]
                model = LogLinearModel(strength=strength, **settings).fit(train, start=model)
            else:
                model = LogLinearModel(**settings).fit(train, dev, start=model)
        strengths[str(order)] = model.strength_
        found |= _scores(model, test, f"{order}")
        found |= {f"{order}, {what}": model.provenance_[what] for what in ("parameters", "nonzero")}
        found |= {f"{order}, strength": model.strength_, f"{order}, passes": 10.0 * len(model.history_)}
    if split == 0:
        chosen.write_text(json.dumps(strengths))
    return found


def automatic(timer, split: int, penalty: str) -> dict[str, float]:
    """What ``lm train --method loglinear --dev`` does: strength and weight chosen, early stopping."""
    from corpuscle.lm import LogLinearModel, warm

    warm()
    train, dev, test = _texts(split)
    with timer:
        model = LogLinearModel(penalty=penalty, workers=1).fit(train, dev)
    found = {"strength": model.strength_, "weighted": model.weighted_, "passes": 10.0 * len(model.history_)}
    return {**_scores(model, test, "perplexity"), **found, "nonzero": model.provenance_["nonzero"]}


def _tree(corpus: Any, order: int):
    """The trie of a text's contexts, and which words can be predicted."""
    import numpy as np

    from corpuscle.lm import LogLinearModel
    from corpuscle.lm.kernels.loglinear import suffix_trie

    model = LogLinearModel(order=order)
    corpus = model._take(corpus)
    return suffix_trie(model._counting(corpus)(), model._predictable), np.array(model._predictable)


def _best(function: Any, repeats: int = 5) -> float:
    """The least CPU time of some calls, after one that compiles."""
    import time

    function()
    spent = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        spent.append(time.process_time() - begin)
    return min(spent)


def proximal_steps(timer) -> dict[str, float]:
    """Tree l-infinity by random pivots and by heaps, on tries and trees: by order, and by the size of the text. The
    point is what counts suggest, so that contexts that occur together have the same weights."""
    import numpy as np

    from corpuscle.lm.kernels.loglinear import collapsed
    from corpuscle.lm.kernels.proximal import forest_of, tree_linf
    from tests.lm.pivot import tree_linf_by_pivot

    train = _texts(0)[0]
    found: dict[str, float] = {}

    def times(name: str, corpus: Any, order: int) -> None:
        trie = _tree(corpus, order)[0]
        for kind, tree in (("trie", trie), ("tree", collapsed(trie))):
            forest, u = forest_of(tree.entry_parents, 0.3, tree.sizes[tree.entry_nodes]), np.log1p(tree.counts)
            found[f"{name}, {kind}: entries"] = tree.n_entries
            for how, operator in (("pivot", tree_linf_by_pivot), ("heap", tree_linf)):
                found[f"{name}, {kind}: {how} ms"] = 1e3 * _best(lambda: operator(forest, u), 3)  # noqa: B023

    with timer:
        for order in DEPTHS:
            times(f"order {order}", train, order)
        for share in (1, 2, 4, 8):
            times(f"{12_500 * share:,} tokens", train[: len(train) * share // 8], 5)
    return found


def beside_spams(timer, peer: str) -> dict[str, float]:
    """Both tree norms here and there, on the trie of the first split, with random weights."""
    import subprocess

    import numpy as np

    from corpuscle.lm.kernels.proximal import forest_of, tree_l2, tree_linf
    from tests.lm.pivot import preorder

    train, found = _texts(0)[0], {}
    with timer:
        for order in (3, 5, 8):
            trie = _tree(train, order)[0]
            n = trie.n_entries
            sizes, places, back = np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
            preorder(trie.entry_parents, sizes, places)
            back[places] = np.arange(n)
            above = trie.entry_parents[places]
            parents = np.where(above < 0, -1, back[above])
            for strength in (0.1, 0.5):
                u = np.abs(np.random.default_rng(order).normal(0, 1, n))
                path = FILES / "loglinear-tree.npz"
                np.savez(path, parents=parents, u=u, thresholds=np.full(n, strength))
                run = subprocess.run([peer, "bench/lm_loglinear_peer.py", str(path)], capture_output=True, check=True)
                theirs = json.loads(run.stdout)
                forest = forest_of(parents, strength)
                for norm, operator in (("tree-l2", tree_l2), ("tree-linf", tree_linf)):
                    name, w = f"order {order}, {norm} {strength}", operator(forest, u)
                    found[f"{name}: ours ms"] = 1e3 * _best(lambda: operator(forest, u), 3)  # noqa: B023
                    found[f"{name}: SPAMS ms"] = 1e3 * theirs[norm]["seconds"]
                    found[f"{name}: difference"] = abs(theirs[norm]["squares"] / (w**2).sum() - 1.0)
    return found


def one_pass(timer, text: str, tokens: int) -> dict[str, float]:
    """The CPU seconds of an iteration, gradient, proximal step and line search, and of building the tree."""
    import time

    import numpy as np

    from corpuscle.lm.kernels.loglinear import collapsed
    from corpuscle.lm.kernels.proximal import Fista
    from corpuscle.lm.loglinear_fitting import Objective, Shape
    from corpuscle.text import read_text

    corpus = read_text(text)
    corpus = corpus[: int(np.searchsorted(corpus.sentence_starts, tokens))]
    found: dict[str, float] = {}
    with timer:
        begin = time.process_time()
        trie, predictable = _tree(corpus, 5)
        found["building s"] = time.process_time() - begin
        for penalty in ("tree-l2", "tree-linf"):
            tree = collapsed(trie) if penalty == "tree-linf" else trie
            method = Fista(Objective(tree, predictable, Shape(penalty), 0.8), np.zeros(tree.n_entries))
            for _ in range(30):
                method.step()
            found[f"{penalty}: entries"] = tree.n_entries
            found[f"{penalty}: pass s"] = _best(method.step, 10)
    return found


def signed_weights(timer, signed: int) -> dict[str, float]:
    """A bigram model of a fifth of the first split whose weights may be negative up to an order."""
    from corpuscle.lm import LogLinearModel, warm

    warm()
    train, dev, test = _texts(0)
    train = train[: len(train) // 5]
    with timer:
        settings = {"penalty": "l2", "weighted": 1.0, "early": False, "tolerance": 4e-4, "workers": 1}
        model = LogLinearModel(order=2, signed=signed, **settings).fit(train, dev)
    found = _scores(model, test, "perplexity")
    return {**found, "parameters": model.provenance_["parameters"], "strength": model.strength_}


def _figure(results: dict[str, Any], name: str, order: int, what: str = "", split: int = 0) -> float:
    """What a model or ``kn``, ``mkn`` has at an order in a split; NaN if it was not measured."""
    counts = name in ("kn", "mkn")
    result = results.get(f"loglinear-counts-{split}" if counts else f"loglinear-split-{split}-{_short(name)}")
    key = f"{name} {order}" if counts else f"{order}"
    figures = result["runs"]["counts" if counts else name][0]["figures"] if result else {}
    return figures.get(f"{key}, {what}" if what else key, float("nan"))


def _beside_kn(results: dict[str, Any], name: str, order: int) -> list[float]:
    """Perplexity over that of kn, in all splits that have been measured."""
    figures = [[_figure(results, each, order, split=i) for each in (name, "kn")] for i in range(SPLITS)]
    return [ours / theirs for ours, theirs in figures if ours == ours and theirs == theirs]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What these figures must show."""
    import math

    found = []

    def claim(text: str, limit: float, measured: float) -> None:
        if math.isfinite(measured):
            found.append(Claim(text, f"{limit:g}", f"{measured:.3f}", measured <= limit))
        else:
            found.append(Claim(text, f"{limit:g}"))

    for name, limit in (("weighted tree-l2", 1.0), ("weighted tree-linf", 1.05), ("tree-linf weighted by node", 1.05)):
        for order in ORDERS[2:]:
            ratios = _beside_kn(results, name, order)
            text = f"{name}, order {order}: perplexity over that of kn, mean of {len(ratios)} splits"
            claim(text, limit, fmean(ratios) if ratios else math.nan)
    grown = _figure(results, "tree-linf weighted by node", 12, "parameters")
    grown /= _figure(results, "tree-linf weighted by node", 3, "parameters")
    claim("parameters of tree-linf weighted by node, order 12 over order 3 (the logarithms: 2.26)", 2.26, grown)
    if (peer := results.get("loglinear-peer")) is not None:
        figures = peer["runs"]["all"][0]["figures"]
        ratios = [figures[key] / figures[key.replace("ours", "SPAMS")] for key in figures if "ours" in key]
        claim("proximal operators: time over that of SPAMS, the worst of the trees", 1.0, max(ratios))
        differs = max(value for key, value in figures.items() if "difference" in key)
        claim("proximal operators: relative difference from SPAMS", 1e-9, differs)
    if (passes := results.get("loglinear-passes")) is not None:
        seconds = typical(passes, f"{TOKENS[-1]:,} tokens", "tree-l2: pass s")
        claim("CPU seconds of a pass over a million tokens, order 5, tree-l2", 60.0, seconds)
    return found


def tables(results: dict[str, Any]) -> Iterator[str]:
    """Figure 2, Figure 3, the peer and the rest."""
    lines = ["### Perplexity of known words by order (Figure 2a, b), first split", ""]
    names = ["kn", "mkn", *MODELS]
    heads = [f"order {order}" for order in ORDERS]
    for what, title in (
        ("", ""),
        ("all", "### The same over all tokens, the unknown word among them"),
        ("parameters", "### Parameters (Figure 2c): entries of the trie, or of the collapsed tree"),
        ("nonzero", "### Weights that are not zero"),
        ("strength", "### Strengths, chosen on the development text"),
        ("passes", "### Passes (all trials together)"),
    ):
        lines += [title, ""] if title else []
        lines += [row(["", *heads]), row(["---"] + ["---:"] * len(ORDERS))]
        for name in names:
            if name in ("kn", "mkn") and what in ("nonzero", "strength", "passes"):
                continue
            values = [_figure(results, name, order, what) for order in ORDERS]
            digits = ".2f" if what in ("", "all", "strength") else ",.0f"
            if any(value == value for value in values):
                lines.append(row([name, *(f"{value:{digits}}" for value in values)]))
        lines.append("")
    lines += ["### Perplexity over that of kn: mean (least to most) of the splits", ""]
    lines += [row(["", *heads]), row(["---"] + ["---:"] * len(ORDERS))]
    for name in names[1:]:
        shown = [_spread(_beside_kn(results, name, order)) for order in ORDERS]
        lines += [row([name, *shown])] if any(shown) else []
    lines.append("")
    for key, title in (("peer", "### Beside SPAMS"), ("steps", "### Proximal steps of tree l-infinity (Figure 3)")):
        if (result := results.get(f"loglinear-{key}")) is not None:
            lines += [title, "", *_split_table(result["runs"]["all"][0]["figures"]), ""]
    _draw(results)
    yield "\n".join(lines)
    yield from (table(each) for name, each in results.items() if re.search("passes|signed|auto", name))


def _spread(values: list[float]) -> str:
    if len(values) < 2:
        return "".join(f"{value:.3f}" for value in values)
    return f"{fmean(values):.3f} ({min(values):.3f} to {max(values):.3f}, {len(values)} splits)"


def _draw(results: dict[str, Any]) -> None:
    """Figures 2 and 3 for the page."""
    from corpuscle.figures import Series, line_plot

    images = HERE.parent / "docs" / "images"
    weighted = [name for name in MODELS if "weighted" in name]
    for file, title, names, what in (
        ("perplexity", "Perplexity of known words by order", ["kn", *(set(MODELS) - set(weighted))], ""),
        ("weighted", "The same with weights by depth", ["kn", *weighted], ""),
        ("parameters", "Parameters by order", ["kn", "weighted tree-l2", "tree-linf weighted by node"], "parameters"),
    ):
        lines = [
            Series(name, ORDERS, [_figure(results, name, order, what) for order in ORDERS])
            for name in ("kn", *MODELS)
            if name in names
        ]
        lines = [line for line in lines if all(value == value for value in line.y)]
        if len(lines) == len(names):
            label = what or "perplexity"
            picture = line_plot(lines, title=title, x_label="order", y_label=label, x_ticks=ORDERS)
            (images / f"lm-loglinear-{file}.svg").write_text(picture + "\n", encoding="utf-8")
    if (steps := results.get("loglinear-steps")) is not None:
        figures = steps["runs"]["all"][0]["figures"]
        lines = [
            Series(f"{how}, {kind}", DEPTHS, [figures[f"order {order}, {kind}: {how} ms"] for order in DEPTHS])
            for how, kind in (("pivot", "trie"), ("pivot", "tree"), ("heap", "trie"), ("heap", "tree"))
        ]
        title = "Time of a proximal step of tree l-infinity, 100,000 tokens"
        picture = line_plot(lines, title=title, x_label="order", y_label="ms", x_ticks=DEPTHS)
        (images / "lm-loglinear-steps.svg").write_text(picture + "\n", encoding="utf-8")


def _split_table(figures: dict[str, float]) -> list[str]:
    """Figures whose names are "row: column" as a table."""
    rows = list(dict.fromkeys(key.partition(": ")[0] for key in figures))
    columns = list(dict.fromkeys(key.partition(": ")[2] for key in figures))

    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"

    body = [row([name, *(shown(figures.get(f"{name}: {column}")) for column in columns)]) for name in rows]
    return [row(["", *columns]), row(["---"] + ["---:"] * len(columns)), *body]


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    splits = len({name.split("-")[2] for name in results if "-split-" in name})
    return "\n".join(
        [
            "### Notes",
            "",
            f"- Splits measured: {splits} of {SPLITS}, those after the first with orders "
            f"{', '.join(map(str, FEWER))} and the strengths of the first; strengths are chosen up to order "
            f"{LAST_CHOICE}, longer ones have that of order {LAST_CHOICE}.",
            "- All models of a split have the same words; perplexity leaves unknown words "
            "out, as the paper's does, unless it says otherwise, and includes `</s>`.",
            "- Models by order are trained to the end (no early stopping), each from the weights of the order before; "
            "`auto` is what `--dev` does by default: strength and weight chosen and early stopping, all on the "
            "development text.",
            "- Weighted: a weight at depth d counts a^d times, with a = 1.1 (tree-l2), 0.85 (tree-linf), 0.7 (l1), 0.5 "
            "(l2), the paper's values; by node, d is the depth in the collapsed tree, which is then learned on.",
            "- A pass is one iteration: gradient, proximal step, and the loss at the new point for the line search.",
            "" if PEER else "- SPAMS_PYTHON did not name a Python with spams-bin.",
        ]
    )
