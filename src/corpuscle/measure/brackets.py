"""Constituent trees against gold trees: which brackets were found?

A bracket is a node with its label and its span. As in EVALB with the parameters of Collins: traces and what they leave
empty are taken out, then the words of punctuation; an outermost TOP, ROOT, S1 or unlabelled node does not count, nor do
tags; labels are cut at their function tags (``NP-SBJ`` is ``NP``) and PRT is ADVP. Brackets are multisets: a span with
the same label twice must be found twice. Punctuation is what the gold tree says it is, in both trees. (EVALB deletes by
each tree's own tags, and leaves out a sentence whose trees then differ in length.)

- ``labelled``, ``unlabelled``: precision, recall and F1 over all brackets, with or without their labels;
- ``spans``: of sets of spans of two words or more, as in unsupervised parsing: a chain of nodes over the same words is
  one, and the whole sentence is one of the gold spans;
- ``..._proper``: each of these without brackets around the whole sentence; ``spans_sentences``: the mean of the
  sentences' F1 of spans;
- ``exact``: trees whose labelled brackets are all right; ``crossing``: found brackets in a sentence that cross a gold
  one; ``no_crossing``: trees without such; ``tags``: words with the right tag; ``unparsed``: sentences without a tree.

Sentences are resampled; lengths count punctuation. Sentences without words, or with punctuation alone, do not count.

Black et al., "A procedure for quantitatively comparing the syntactic coverage of English grammars", 1991; Sekine and
Collins, "EVALB", 1997; Klein, "The unsupervised learning of natural language structure", 2005 (spans).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.measure.bootstrap import Figure, bootstrap_all, compare, f1_rates, rate, share
from corpuscle.measure.dependencies import PENN, of_punctuation
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.trees import ROOTS, Trees

PUNCTUATION = ("auto", "penn", "form", "none")
"""What punctuation is: words with tags of the Penn Treebank, words of such letters, none; auto: penn where there are
such tags, else form."""
_SAME = {"PRT": "ADVP"}
_KINDS = ("labelled", "unlabelled", "spans", "labelled_proper", "unlabelled_proper", "spans_proper")
_COLUMNS = [f"{kind}_{part}" for kind in _KINDS for part in ("right", "found", "gold")] + [
    "exact", "crossing", "no_crossing", "tags", "words", "unparsed", "spans_sentence", "trees",
]  # fmt: skip
BRACKETS = (
    Shown("labelled_f1", "labelled F1"), Shown("labelled_precision", "precision"), Shown("labelled_recall", "recall"),
    Shown("unlabelled_f1", "unlabelled F1"), Shown("labelled_f1_proper", "labelled F1 without whole sentences"),
    Shown("spans_f1", "F1 of spans"), Shown("spans_f1_proper", "F1 of spans without whole sentences"),
    Shown("exact", "exact trees"), Shown("crossing", "crossing brackets a tree", "."),
    Shown("no_crossing", "trees without crossing"), Shown("tags", "tags"), Shown("unparsed", "trees not found", ","),
    Shown("trees", "trees", ","),
)  # fmt: skip


def spoken_words(trees: Trees, punctuation: str = "auto") -> np.ndarray:
    """Which words are not punctuation, bool (n_words,)."""
    tags = trees.word_tags
    marks = np.array([tag in PENN for tag in tags], bool)
    if punctuation == "none":
        return np.ones(len(tags), bool)
    if punctuation == "penn" or (punctuation == "auto" and marks.any()):
        return ~marks
    return ~of_punctuation(trees.words)


class _Pair(NamedTuple):
    """Gold and found trees that are ready to be compared, their brackets with numbers for labels (``names``), the
    length of each sentence, and which sentences count, bool (n_sentences,)."""

    gold: Trees
    found: Trees
    wanted: _Nodes
    got: _Nodes
    names: dict[str, int]
    lengths: np.ndarray
    counted: np.ndarray


def _prepared(gold: Trees, found: Trees, punctuation: str, max_length: int | None) -> _Pair:
    """The trees without traces, roots, functions and punctuation, over the same words."""
    if len(gold) != len(found):
        raise ValueError(f"{len(gold):,} gold trees, but {len(found):,} found ones")
    gold, found = (trees.without_traces().without_functions() for trees in (gold, found))
    failed = np.diff(found.tree_starts) == 0
    for i in np.flatnonzero(~failed).tolist():
        if gold.words.words(i) != found.words.words(i):
            raise ValueError(f"tree {i + 1:,} has other words than the gold tree")
    spoken = spoken_words(gold, punctuation)
    lengths = gold.words.lengths
    here = np.repeat(~failed, lengths)
    gold, found = gold.without_words(~spoken), found.without_words(~spoken[here])
    gold, found = (trees.relabel(lambda label: _SAME.get(label, label)) for trees in (gold, found))
    counted = gold.words.lengths > 0
    if max_length is not None:
        counted &= lengths <= max_length
    names: dict[str, int] = {}
    return _Pair(gold, found, _nodes(gold, names), _nodes(found, names), names, lengths, counted)


class _Nodes(NamedTuple):
    """The brackets of trees: the number of the tree, first word, end, label; each int64 (n_brackets,)."""

    tree: np.ndarray
    first: np.ndarray
    end: np.ndarray
    label: np.ndarray

    def of(self, chosen: np.ndarray) -> _Nodes:
        return _Nodes(*(each[chosen] for each in self))


def _nodes(trees: Trees, names: dict[str, int]) -> _Nodes:
    """All brackets that count: neither tags nor a root that says nothing."""
    numbers = np.array([names.setdefault(label, len(names)) for label in trees.labels.values], np.int64)
    keep = ~trees.preterminals
    silent = np.array([label in ROOTS for label in trees.labels.values])
    keep[trees.roots] &= ~silent[trees.labels.ids[trees.roots]]
    tree = np.repeat(np.arange(len(trees)), np.diff(trees.tree_starts))
    spans = trees.spans.astype(np.int64)
    return _Nodes(tree, spans[:, 0], spans[:, 1], numbers[trees.labels.ids]).of(keep)


def _matched(gold: _Nodes, found: _Nodes, trees: int) -> np.ndarray:
    """By tree: how many brackets are found and right, found, gold: float64 (n_trees, 3)."""
    rows = np.concatenate([np.column_stack(gold), np.column_stack(found)])
    keys, number = np.unique(rows, axis=0, return_inverse=True)
    number = number.ravel()
    wanted, got = (np.bincount(part, minlength=len(keys)) for part in np.split(number, [len(gold.tree)]))
    both = np.bincount(keys[:, 0], np.minimum(wanted, got), trees)
    return np.column_stack([both, *(np.bincount(each.tree, minlength=trees) for each in (found, gold))])


def _as_spans(nodes: _Nodes, whole: np.ndarray | None = None) -> _Nodes:
    """Spans of two words or more, each once; ``whole``: the lengths of sentences whose whole is to be among them."""
    rows = np.column_stack(nodes)
    if whole is not None:
        trees = np.flatnonzero(whole > 0)
        rows = np.concatenate([rows, np.column_stack([trees, 0 * trees, whole[trees], 0 * trees])])
    rows = rows[rows[:, 2] - rows[:, 1] > 1]
    rows[:, 3] = 0
    rows = np.unique(rows, axis=0)
    return _Nodes(*rows.T)


def _crossing(gold: _Nodes, found: _Nodes, trees: int) -> np.ndarray:
    """How many found brackets of each tree cross a gold one, float64 (n_trees,)."""
    crossing = np.zeros(trees)
    edges = [np.searchsorted(each.tree, np.arange(trees + 1)) for each in (gold, found)]
    for i in range(trees):
        wanted, got = (slice(each[i], each[i + 1]) for each in edges)
        first, end = found.first[got, None], found.end[got, None]
        cross = ((first < gold.first[wanted]) & (gold.first[wanted] < end) & (end < gold.end[wanted])) | (
            (gold.first[wanted] < first) & (first < gold.end[wanted]) & (gold.end[wanted] < end)
        )
        crossing[i] = cross.any(axis=1).sum()
    return crossing


def bracket_counts(
    gold: Trees, found: Trees, *, punctuation: str = "auto", max_length: int | None = None
) -> np.ndarray:
    """What is counted, by sentence that counts: float64 (n_sentences, n_columns)."""
    pair = _prepared(gold, found, punctuation, max_length)
    wanted, got = pair.wanted, pair.got
    n, lengths = len(pair.gold), pair.gold.words.lengths
    columns: list[np.ndarray] = []
    for proper in (False, True):
        sides = [wanted, got]
        if proper:
            sides = [each.of(each.end - each.first < lengths[each.tree]) for each in sides]
        plain = [each._replace(label=0 * each.label) for each in sides]
        columns.append(_matched(sides[0], sides[1], n))
        columns.append(_matched(plain[0], plain[1], n))
        columns.append(_matched(_as_spans(sides[0], None if proper else lengths), _as_spans(sides[1]), n))
    labelled, spans, crossing = columns[0], columns[2], _crossing(wanted, got, n)
    exact = (labelled[:, 0] == labelled[:, 1]) & (labelled[:, 0] == labelled[:, 2])
    failed = np.diff(pair.found.tree_starts) == 0
    f1 = np.where(spans[:, 1] + spans[:, 2] > 0, share(2 * spans[:, 0], spans[:, 1] + spans[:, 2]), 1.0)
    columns += [exact & ~failed, crossing, (crossing == 0) & ~failed]
    columns += [_right_tags(pair), lengths, failed, f1, np.ones(n)]
    return np.column_stack(columns).astype(np.float64)[pair.counted]


def _right_tags(pair: _Pair) -> np.ndarray:
    """How many words of each sentence have the right tag, float64 (n_trees,)."""
    wanted, got = pair.gold.word_tags, pair.found.word_tags
    n, lengths = len(pair.gold), pair.gold.words.lengths
    trees = np.repeat(np.arange(n), lengths)
    parsed = pair.found.words.lengths[trees] > 0
    right = np.zeros(len(wanted), bool)
    right[parsed] = [a == b for a, b in zip(np.array(wanted, object)[parsed], got, strict=True)]
    return np.bincount(trees, right, n)


def _at(name: str) -> int:
    return _COLUMNS.index(name)


def _figures() -> dict[str, Figure]:
    rates = {name: rate(_at(name), _at("trees")) for name in ("exact", "crossing", "no_crossing")}
    rates |= {"tags": rate(_at("tags"), _at("words")), "spans_sentences": rate(_at("spans_sentence"), _at("trees"))}
    for end in ("_proper", ""):
        for kind in ("spans", "unlabelled", "labelled"):
            rates |= f1_rates(_at(f"{kind}{end}_right"), f"{kind}_{{}}{end}")
    return rates  # labelled F1, the headline, comes last


def bracket_scores(
    gold: Trees,
    found: Trees,
    *,
    punctuation: str = "auto",
    max_length: int | None = None,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """All figures with their intervals; the headline is labelled F1. ``max_length``: of sentences up to it."""
    statistics = bracket_counts(gold, found, punctuation=punctuation, max_length=max_length)
    if not len(statistics):
        raise ValueError("there are no sentences to compare")
    figures, interval = bootstrap_all(statistics, _figures(), draws=draws, seed=seed)
    sums = statistics.sum(axis=0)
    figures |= {name: int(sums[_at(name)]) for name in ("words", "unparsed", "trees")}
    figures |= {name: int(sums[_at(f"labelled_{name}")]) for name in ("right", "found", "gold")}
    how = signature(
        "labelled f1", brackets="evalb, collins", punctuation=punctuation, lengths=max_length or "all",
        interval=resampled("sentences", draws, seed),
    )  # fmt: skip
    return Result(figures, interval, how, BRACKETS)


def compare_brackets(
    gold: Trees,
    one: Trees,
    other: Trees,
    *,
    figure: str = "labelled_f1",
    punctuation: str = "auto",
    max_length: int | None = None,
    seed: int = 1,
) -> Comparison:
    """A figure of one parse minus that of the other, by paired bootstrap over sentences."""
    a, b = (bracket_counts(gold, each, punctuation=punctuation, max_length=max_length) for each in (one, other))
    shown = next((shown for shown in BRACKETS if shown.name == figure), Shown(figure, figure.replace("_", " ")))
    return compare(a, b, _figures()[figure], seed=seed, of=shown, items="sentences")


def bracket_scores_by(
    gold: Trees, found: Trees, by: str, *, punctuation: str = "auto", max_length: int | None = None
) -> list[dict[str, float | str]]:
    """Labelled precision, recall and F1 by the ``label`` of brackets or the ``length`` of sentences: rows of ``name``,
    ``right``, ``found``, ``gold``, ``precision``, ``recall``, ``f1``, most gold brackets first."""
    pair = _prepared(gold, found, punctuation, max_length)
    sides = [each.of(pair.counted[each.tree]) for each in (pair.wanted, pair.got)]
    if by == "label":
        grouped = [each._replace(tree=each.label, label=each.tree) for each in sides]
        titles = list(pair.names)
    else:
        tens = (np.maximum(pair.lengths, 1) - 1) // 10
        grouped = [each._replace(tree=tens[each.tree], label=each.label * len(tens) + each.tree) for each in sides]
        titles = [f"{10 * ten + 1} to {10 * ten + 10}" for ten in range(int(tens.max(initial=0)) + 1)]
    sums = _matched(grouped[0], grouped[1], len(titles))
    rows: list[dict[str, float | str]] = [
        {
            "name": title, "right": int(right), "found": int(got), "gold": int(wanted),
            "precision": float(share(right, got)), "recall": float(share(right, wanted)),
            "f1": float(share(2 * right, got + wanted)),
        }
        for title, (right, got, wanted) in zip(titles, sums, strict=True)
        if got or wanted
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-int(row["gold"]), str(row["name"])))
