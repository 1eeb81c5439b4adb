"""What all inducers of brackets share: symbols for words, the same table of baselines, trees from brackets.

A model is learned from words with tags (or word classes), not from trees, and gives every sentence a binary bracketing:
a hypothesis about how it is built. Trees have the label X everywhere. Baselines that know nothing are always shown
too: branching to the right or left, balanced, random, and to the right within the two parts of the top bracket.

How many brackets are right: these are sets of spans of two words or more, without punctuation; F1 = 2 hits / (found +
gold), all sentences of at most N words together. The whole sentence is a bracket in both; ``proper`` is without
it, ``sentences`` the mean over sentences (published figures differ in this, and seldom say).

Klein, "The unsupervised learning of natural language structure", 2005, section 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.figures import NodeShown
from corpuscle.grammar.base import Constituent, Parsed
from corpuscle.grammar.kernels.spans import random_bracketing
from corpuscle.grammar.sentences import (
    UNIVERSAL,
    Sentences,
    TagMap,
    WordSymbols,
    gold_spans,
    heuristic_tops,
    oracle_tops,
    symbol_arrays,
)
from corpuscle.grammar.tables import trees_from
from corpuscle.model import TRAINING_ITEMS, Container, Model, Record
from corpuscle.random import purpose_id, stream
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.heldout import item_hashes
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.words import SOURCES, WordFeatures

BRANCHINGS = ("right", "left", "balanced", "random", "top-right")
LABEL = "X"
LONGEST = 200
"""Words of the longest sentence that gets brackets."""

INDUCED = {**symbol_arrays("symbols"), **SOURCES, **TRAINING_ITEMS}
"""The arrays of every inducer; each adds its own."""


class Brackets(NamedTuple):
    """The brackets of sentences, max(0, n - 1) for n words, one sentence after the other.

    - ``spans``: int32 (n_brackets, 2), half open, over words without punctuation, preorder;
    - ``lengths``: float64 (n_brackets,), of the edges above them, or empty; ``shares``: how likely each is, or empty.
    """

    spans: np.ndarray
    lengths: np.ndarray
    shares: np.ndarray

    def lists(self, words: np.ndarray) -> list[np.ndarray]:
        """The spans of each sentence, whose numbers of words are given."""
        starts = starts_of(np.maximum(words - 1, 0)).tolist()
        return [self.spans[a:b] for a, b in pairwise(starts)]


def _right(i: int, j: int) -> list[tuple[int, int]]:
    return [(k, j) for k in range(i, j - 1)]


def random_brackets(words: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """Brackets of sentences by uniform splits, int32 (n_brackets, 2)."""
    found = [np.zeros((max(0, n - 1), 2), np.int32) for n in words.tolist()]
    for which, (n, own) in enumerate(zip(words.tolist(), found, strict=True)):
        random_bracketing(n, stream(seed, purpose_id(purpose), 0, which), own)
    return np.concatenate([np.zeros((0, 2), np.int32), *found])


def _balanced(i: int, j: int) -> list[tuple[int, int]]:
    if j - i < 2:
        return []
    k = (i + j + 1) // 2
    return [(i, j), *_balanced(i, k), *_balanced(k, j)]


def branching(kind: str, words: np.ndarray, tops: np.ndarray, seed: int = 1) -> Brackets:
    """Trees that know nothing of words: see ``BRANCHINGS``; ``top-right`` takes the first word of the right part."""
    if kind not in BRANCHINGS:
        raise SettingError(f"branching is one of {', '.join(BRANCHINGS)}; not {kind!r}")
    if kind == "random":
        return Brackets(random_brackets(words, seed, "grammar.branching"), np.zeros(0), np.zeros(0))
    found: list[Any] = [np.zeros((0, 2), np.int32)]
    for n, top in zip(words.tolist(), tops.tolist(), strict=True):
        if n < 2:
            continue
        if kind == "balanced":
            found.append(_balanced(0, n))
        elif kind == "left":
            found.append([(0, k) for k in range(n, 1, -1)])
        elif kind == "right":
            found.append(_right(0, n))
        else:
            found.append([(0, n), *_right(0, top), *_right(top, n)])
    return Brackets(np.concatenate(found).astype(np.int32), np.zeros(0), np.zeros(0))


def trees_of(sentences: Sentences, brackets: Brackets) -> tuple[Trees, np.ndarray]:
    """Brackets as trees over all tokens: a node X for each, tags above words, punctuation below the smallest bracket
    that has words on both sides of it; and how likely each node is, float64 (n_nodes,), 1 where that is not known."""
    corpus, fine = sentences.bank.corpus, sentences.fine
    positions = np.flatnonzero(sentences.kept) - np.repeat(corpus.sentence_starts[:-1], sentences.lengths)
    tags, names = (fine.ids + 1, fine.values) if fine.ids.any() else (np.ones(corpus.n_tokens, np.int32), ["W"])
    shares = brackets.shares if len(brackets.shares) else np.ones(len(brackets.spans))
    found, likely, at = [], [np.zeros(0)], 0
    for which, n in enumerate(sentences.lengths.tolist()):
        first, last = corpus.sentence_starts[which : which + 2].tolist()
        inner, words = slice(at + 1, at + max(1, n - 1)), np.arange(last - first)
        at += max(0, n - 1)
        place = positions[sentences.starts[which] : sentences.starts[which + 1]]
        begins, ends = (place[brackets.spans[inner, side] - side] + side for side in (0, 1))
        whole = np.zeros(int(last > first), np.int64)  # the bracket above everything
        nodes = np.stack([
            np.concatenate([whole, np.zeros_like(begins), tags[first:last]]),
            np.concatenate([whole, begins, words]), np.concatenate([whole + last - first, ends, words + 1]),
        ], axis=1)  # fmt: skip
        preorder = np.lexsort((-nodes[:, 2], nodes[:, 1]))
        found.append(nodes[preorder].astype(np.int32))
        likely.append(np.concatenate([whole + 1.0, shares[inner], np.ones(len(words))])[preorder])
    return trees_from(found, corpus, [LABEL, *names]), np.concatenate(likely)


class BracketInducer(Model):
    """What all models do that give sentences brackets; one is this and a class of settings: ``fit(bank)``,
    ``brackets(bank)``, ``annotate(bank)``.

    A class of it has the settings ``symbols``, ``strict``, ``max_length``. Learned: ``symbols_``; ``known_``: classes
    of words, where symbols have them; ``tag_map_``: how tags become universal ones. ``TAKES_VECTORS``: ``fit`` takes
    vectors of words.
    """

    TAKES_VECTORS: ClassVar[bool] = False
    SAVED: ClassVar = {"symbols_": Record(WordSymbols, "symbols/"), "known_": Record(WordFeatures)}

    symbols_: WordSymbols = learned()
    known_: WordFeatures = WordFeatures.none()
    tag_map_: TagMap = TagMap.built_in()

    def sentences(self, bank: Treebank) -> Sentences:
        """The treebank as this model sees it."""
        found = Sentences.from_bank(bank, self.tag_map_, strict=self.settings["strict"])
        longest = int(found.lengths.max(initial=0))
        if longest > LONGEST:
            where = int(np.argmax(found.lengths))
            reason = f"sentence {where + 1:,} has {longest:,} words without punctuation; at most {LONGEST} get brackets"
            raise bank.error(reason, where)
        return found

    def brackets(self, bank: Treebank, *, gold: Trees | None = None, confidence: bool = False) -> Brackets:
        """The brackets of every sentence; ``gold``: trees whose top brackets are read, with top bracket oracle;
        ``confidence``: also how likely each is."""
        raise NotImplementedError

    @property
    def needs_tags(self) -> bool:
        """Whether words alone are not enough."""
        return self.settings["symbols"] != "classes"

    def parse(self, corpus: Corpus, tags: Sequence[Sequence[str]] | None = None) -> Parsed:
        """The trees of sentences with their tags, and how likely each bracket is."""
        bank = Treebank.from_sentences(corpus)
        if tags is not None:
            bank = bank.replace(xpos=Layer.from_strings([tag for row in tags for tag in row]))
        trees, confidence = trees_of(self.sentences(bank), self.brackets(bank, confidence=True))
        return Parsed(trees, confidence, np.zeros(len(bank)), np.zeros(len(bank), bool))

    def marginals(
        self, corpus: Corpus, least: float = 0.01, tags: Sequence[Sequence[str]] | None = None
    ) -> list[list[Constituent]]:
        """The brackets of each sentence's tree that are at least so likely, over all trees."""
        found = self.parse(corpus, tags).constituents(least)
        return [[each for each in tree if each.label == LABEL] for tree in found]

    def best_trees(self, corpus: Corpus, k: int, tags: Sequence[Sequence[str]] | None = None) -> list[Parsed]:
        raise SettingError("induced brackets are one tree a sentence: there are no n best")

    def probability(self, trees: Trees) -> np.ndarray:
        raise SettingError("induced brackets have no probabilities of words")

    sentence_probability = probability

    def annotate(self, bank: Treebank, *, gold: Trees | None = None) -> Trees:
        """Every sentence as a tree."""
        return trees_of(self.sentences(bank), self.brackets(bank, gold=gold))[0]

    def _chosen_sentences(self, bank: Treebank, sources: WordFeatures | None, tag_map: TagMap | None) -> Sentences:
        """The sentences to learn from, of two words to ``max_length``; classes and map of tags are kept."""
        most = self.settings["max_length"]
        self.tag_map_ = tag_map or TagMap.observed(bank)
        self.known_ = sources or WordFeatures.none()
        everything = Sentences.from_bank(bank, self.tag_map_, strict=self.settings["strict"])
        good = (everything.lengths >= 2) & (everything.lengths <= most)
        if not good.any():
            raise bank.error(f"no sentence has from 2 to {most} words (without punctuation)")
        self.items_ = item_hashes(bank.corpus)
        self.provenance_ = {"sentences": int(good.sum()), "left_out": int((~good).sum())}
        return everything.select(good)

    def _extra(self) -> dict[str, Any]:
        own = dict(super()._extra())
        if self.tag_map_ is TagMap.built_in():
            return own
        return {**own, "tag_map": [[name, tag, finite] for name, tag, finite in self.tag_map_.patterns()]}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        if "tag_map" in loaded.extra:
            self.tag_map_ = TagMap.from_patterns(tuple(row) for row in loaded.extra["tag_map"])


def check_induced(loaded: Container) -> None:
    tags = loaded.arrays["symbols/tags"]
    if len(tags) == 0 or (tags[tags] != tags).any():
        raise ValueError("its symbols have no tags")
    rows: Any = loaded.extra.get("tag_map", [])
    good = isinstance(rows, list) and len(rows) < 10_000 and all(
        isinstance(row, list) and len(row) == 3 and isinstance(row[0], str) and row[1] in UNIVERSAL
        and isinstance(row[2], bool) for row in rows
    )  # fmt: skip
    if not good:
        raise ValueError("its map of tags is none")


# ---- how many brackets are right


LIMITS = (10, 20, 40)


def span_f1(gold: Sequence[np.ndarray], found: Sequence[np.ndarray], words: np.ndarray, limit: int) -> dict[str, float]:
    """``f1``, ``proper``, ``sentences`` of spans (n_brackets, 2) of each sentence of 2 to ``limit`` words."""
    rows = []
    for right, guess, n in zip(gold, found, words.tolist(), strict=True):
        if 2 <= n <= limit:
            wanted, got = ({tuple(span) for span in spans.tolist()} for spans in (right, guess))
            both, whole = len(wanted & got), ((0, n) in got, (0, n) in wanted)
            rows.append((both, len(got), len(wanted), both - all(whole), len(got) - whole[0], len(wanted) - whole[1]))
    if not rows:
        return dict.fromkeys(("f1", "proper", "sentences"), float("nan"))
    table = np.array(rows, np.float64)
    sums, each = table.sum(axis=0), 2 * table[:, 0] / (table[:, 1] + table[:, 2])
    proper = 2 * sums[3] / (sums[4] + sums[5]) if sums[4] + sums[5] else np.nan
    return {"f1": float(2 * sums[0] / (sums[1] + sums[2])), "proper": float(proper), "sentences": float(each.mean())}


def span_table(
    sentences: Sentences, trees: Trees, others: Mapping[str, Brackets], limits: Iterable[int] = LIMITS, seed: int = 1
) -> list[dict[str, Any]]:
    """Rows of ``name``, ``limit``, ``sentences_counted`` and figures of ``span_f1``: branching of all kinds (with gold
    top brackets, too: what a perfect choice of tops would give), then the ``others``."""
    words, gold = sentences.lengths, gold_spans(trees, sentences.kept)
    tops = heuristic_tops(sentences)
    found = {kind: branching(kind, words, tops, seed) for kind in BRANCHINGS}
    found["oracle-top-right"] = branching("top-right", words, oracle_tops(gold, words, tops), seed)
    rows = []
    for limit in limits:
        counted = int(((words >= 2) & (words <= limit)).sum())
        for name, brackets in {**found, **others}.items():
            figures = span_f1(gold, brackets.lists(words), words, limit)
            rows.append({"name": name, "limit": limit, "sentences_counted": counted, **figures})
    return rows


# ---- pictures

Nodes = list[NodeShown]


def _nodes(trees: Trees, sure: np.ndarray | None = None) -> Nodes:
    values = [None] * trees.n_nodes if sure is None else [round(float(each), 3) for each in sure]
    rows = zip(trees.labels.strings(), trees.parents.tolist(), trees.spans.tolist(), values, strict=True)
    return [NodeShown(label, parent, first, end, value) for label, parent, (first, end), value in rows]


def in_trees(gold: Trees, found: Parsed, longest: int, most: int) -> list[tuple[list[str], Nodes, Nodes]]:
    """Short sentences, of at most the ``longest`` number of words, with the right tree and the one that was found: some
    with mistakes first."""
    right = gold.without_functions().without_root()
    lengths = right.words.lengths
    fitting = np.flatnonzero((lengths > 3) & (lengths <= longest))
    same = [np.array_equal(right[i : i + 1].spans, found.trees[i : i + 1].spans) for i in fitting.tolist()]
    chosen, starts = fitting[np.lexsort((fitting, np.array(same, bool)))][:most].tolist(), found.trees.tree_starts
    sure = (found.confidence[starts[i] : starts[i + 1]] for i in chosen)
    return [
        (right.words.words(i), _nodes(right[i : i + 1]), _nodes(found.trees[i : i + 1], each))
        for i, each in zip(chosen, sure, strict=True)
    ]


def surest(model: BracketInducer, bank: Treebank, most: int) -> list[tuple[list[str], Nodes]]:
    """The surest of the short sentences, with their trees."""
    lengths = model.sentences(bank).lengths
    short = bank.select((lengths >= 5) & (lengths <= 9))
    if len(short) == 0:
        return []
    trees, sure = trees_of(model.sentences(short), model.brackets(short, confidence=True))
    starts = trees.tree_starts
    inner = trees.spans[:, 1] - trees.spans[:, 0] > 1
    means = np.array([float(sure[a:b][inner[a:b]].mean()) for a, b in pairwise(starts.tolist())])
    rows = []
    for i in np.argsort(-means, kind="stable")[:most].tolist():
        nodes = _nodes(trees[i : i + 1], sure[starts[i] : starts[i + 1]])
        shown = [node._replace(label="") if node.label == "W" else node for node in nodes]
        rows.append((trees.words.words(i), shown))
    return rows
