"""Classes as features, of parsed text: learned on its trees, and of the same sentences as chains.

The text is that of ``classes_features``, the Brown corpus, WikiText-2 and the text of two treebanks, 3.4 million
tokens, cut into sentences, tagged and parsed by our own parser, which learned from EWT; the sets are parsed by it, too.
Rows differ in the structure alone: the parent of a word is the word to its left (*chain*) or its head (*tree*), in
learning and where classes of a token are found. Tasks, features (those of the paper: the class and whether it is
capitalised) and judges are those of ``classes_features``: 128 classes of the 25,000 most frequent words, digits as 0,
hidden Markov models from Brown clusters with 5 passes, as features by probability (*posteriors*). Nothing was tuned.
``tree - chain`` is the paired difference from the row above it: of F1 by bootstrap over sentences, of accuracy over the
50 splits, whose interval is that of the mean. Grave, Obozinski and Bach, "Hidden Markov tree models for semantic class
induction", 2013, Tables 3 and 5.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import classes_features as features
from bench import english
from bench.classes_features import NONE, POSTERIORS, Learned, compared, grouped_runs
from bench.harness import Call, Cell, Claim, row

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Brown": ("brown", {}),
    "HMM, Brown": ("hmm", {"init": "brown"}),
}
STRUCTURES = ("chain", "tree")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}, {structure}": (learner, {**settings, "structure": structure})
    for name, (learner, settings) in LEARNERS.items()
    for structure in STRUCTURES
}
PARSED = Learned("parsed", lambda data: [english.running_text(data)], 128, 5, METHODS, parsed=True)
SOURCES = (*features.SOURCES, *english.SOURCES)
NAMES, SENSES = ("conll2003-en", "ncbi-disease"), "semcor-supersense"


def cells(data: Path) -> Iterator[Cell]:
    """Names of two sets, and supersenses."""
    if not all(map(importlib.util.find_spec, features.NEEDED)):
        return
    for name in NAMES:
        for method in (NONE, *METHODS):
            shown = method + POSTERIORS if method.startswith("HMM") else method
            yield _cell(data, f"names, {name}", shown, "names", name)
    for method in (NONE, *METHODS):
        yield _cell(data, f"supersenses, {SENSES}", method, "supersenses", SENSES)


def _cell(data: Path, title: str, method: str, function: str, name: str) -> Cell:
    """One side alone, so that it can be run and kept alone."""
    side = Call(method, f"bench.classes_parsed:{function}", {"data": str(data), "name": name, "method": method})
    plain = "-".join(f"{title} {method}".replace(",", "").split())
    inputs = tuple(sorted((data / name).glob("*.tsv")))
    return Cell(plain, title, (side,), None, inputs, partial(english.text, data), 1, False, SOURCES)


def names(timer, data: str, name: str, method: str) -> dict[str, Any]:
    """Spans by a CRF that has the class and the capital alone."""
    return features.names(timer, data, name, method, "paper", PARSED)


def supersenses(timer, data: str, name: str, method: str) -> dict[str, Any]:
    """Accuracy on nouns and on verbs, by split."""
    return features.supersenses(timer, data, name, method, PARSED)


# ---- what it shows


def _differences(tree: dict[str, Any], chain: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Figure -> tree minus chain with its paired interval."""
    import numpy as np

    if "F1" in tree["figures"]:
        told = compared(tree, chain)
        return {"F1": (tree["figures"]["F1"] - chain["figures"]["F1"], 100 * told.low, 100 * told.high)}
    found = {}
    for kind in ("noun", "verb"):
        gaps = np.subtract(*(run["curves"][f"{kind} splits"] for run in (tree, chain)))
        mean, spread = gaps.mean(), 1.96 * gaps.std(ddof=1) / len(gaps) ** 0.5
        found[f"{kind}s"] = mean, mean - spread, mean + spread
    return found


def _pairs(runs: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A row of trees, and that of chains beside it."""
    for name in runs:
        if (other := name.replace(", tree", ", chain")) != name and other in runs:
            yield name, other


def claims(results: dict[str, Any]) -> list[Claim]:
    """What trees bring, method by method."""
    made = []
    for title, runs in grouped_runs(results).items():
        for name, other in _pairs(runs):
            for figure, (gap, low, high) in _differences(runs[name], runs[other]).items():
                text = f"{title}, {name.replace(', tree', '')}: {figure} of trees over chains"
                holds = None if low <= 0 <= high else gap > 0
                made.append(Claim(text, "above 0", f"{gap:+.2f} ({low:+.2f} to {high:+.2f})", holds))
    return made or [Claim("classes of trees over classes of chains, parsed text", "above 0")]


def tables(results: dict[str, Any]) -> list[str]:
    """A table for each task and set."""
    made = []
    for title, runs in grouped_runs(results).items():
        figures = list(dict.fromkeys(key for run in runs.values() for key in run["figures"]))
        beside = dict(_pairs(runs))
        judged = ["F1"] if "F1" in figures else ["nouns", "verbs"]
        head = ["", "CPU s", *figures, *(f"{figure}, tree - chain (95 %)" for figure in judged)]
        lines = [f"### {title}", "", row(head), row(["---"] + ["---:"] * (len(head) - 1))]
        for name, run in runs.items():
            cells = [name, f"{run['cpu']:.0f}"]
            cells += [f"{run['figures'][key]:,.2f}" if key in run["figures"] else "" for key in figures]
            if name in beside:
                gaps = _differences(run, runs[beside[name]])
                cells += ["{:+.2f} ({:+.2f} to {:+.2f})".format(*gaps[figure]) for figure in judged]
            lines.append(row(cells + [""] * (len(head) - len(cells))))
        made.append("\n".join([*lines, ""]))
    return made


def notes(results: dict[str, Any]) -> str:
    """How to read the tables."""
    return "### Notes\n\n" + " ".join("".join((__doc__ or "").split("\n\n")[1:]).split())
