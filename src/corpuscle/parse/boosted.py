"""BoostedParser: a graph-based parser whose arcs also count what a classifier of pairs thinks of them.

    score(tree) = s_B(tree) + weight * s_C(tree),

where s_B is the score of the graph-based parser and s_C the sum of log C over the arcs between words. Both are sums
over arcs (and pairs of modifiers), so the best tree is found as before. The weight is tuned exactly: along a line the
best score of a sentence is a convex function, made of the straight lines of a few trees, and its corners are found by
parsing (``envelope``). It means something for this pair of parsers only: the size of s_B depends on how
long the graph-based parser was trained.

Jiang and Liu, "Dependency parsing and projection based on word-pair classification", 2010, section 5; Och, "Minimum
error rate training in statistical machine translation", 2003.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle import model as container
from corpuscle.catalogue import find, home_of
from corpuscle.parse.base import DependencyParser
from corpuscle.parse.decoding import Chunk, Parses, Ranked, parse_chunk, rank_chunk
from corpuscle.parse.kernels.features import Layers
from corpuscle.parse.kernels.training import decode, room_for, score
from corpuscle.parse.mst import MstParser
from corpuscle.parse.pairs import PairClassifier, PairParser
from corpuscle.parse.projection import ProjectedParser
from corpuscle.parse.settings import BoostSettings
from corpuscle.text.heldout import item_hashes
from corpuscle.text.treebank import Treebank

_PARSERS = {"base": (MstParser.KIND,), "pairs": (PairParser.KIND, ProjectedParser.KIND)}
# ---- the weight


_SAME = 1e-9


class Line(NamedTuple):
    """A score as a function of x, height + slope x, and what has it."""

    height: float
    slope: float
    item: Any


def envelope(best_at: Callable[[float], Line], low: float, high: float) -> list[tuple[float, Line]]:
    """The lines that are the highest somewhere between ``low`` and ``high``, each with where it begins to be.

    A decoder finds the item whose score, height + slope x, is largest at a given x. Over an interval the largest score
    is a convex function made of a few such lines. They are all found by asking at both ends: if the two lines differ,
    the decoder is asked where they cross; if nothing is higher there, that is a corner, else both halves are searched.
    About two questions a line.
    """
    first, last = best_at(low), best_at(high)
    found, todo = [(low, first)], [(first, last)]
    while todo:
        left, right = todo.pop()
        if right.slope - left.slope <= _SAME * (1.0 + abs(left.slope)):
            continue
        x = min(max((left.height - right.height) / (right.slope - left.slope), low), high)
        middle, value = best_at(x), left.height + left.slope * x
        if middle.height + middle.slope * x <= value + _SAME * (1.0 + abs(value)):
            found.append((x, right))
        else:
            todo += [(middle, right), (left, middle)]
    return found


def best_point(pieces: Sequence[Sequence[tuple[float, float]]], high: float) -> tuple[float, float]:
    """The largest sum of step functions up to ``high``, and the middle of the first interval that has it.

    ``pieces``: of each function where its steps begin and how high they are; all begin at the same point.

    >>> best_point([[(0.0, 1.0), (2.0, 3.0)], [(0.0, 2.0), (3.0, 0.0)]], 5.0)
    (5.0, 2.5)
    """
    total = sum(steps[0][1] for steps in pieces)
    low = pieces[0][0][0] if pieces else 0.0
    changes = sorted((x, after - before) for steps in pieces for (_, before), (x, after) in pairwise(steps))
    best, point = total, (low + (changes[0][0] if changes else high)) / 2.0
    for number, (x, change) in enumerate(changes):
        total += change
        end = changes[number + 1][0] if number + 1 < len(changes) else high
        if total > best and end > x:
            best, point = total, (x + end) / 2.0
    return best, point


def _parse_chunk(task: tuple[Layers, Chunk], parser: BoostedParser) -> Parses:
    return parse_chunk(task[1], parser.base, partial(parser.add_to, task[0]))


def _rank_chunk(task: tuple[Layers, Chunk], parser: BoostedParser) -> Ranked:
    return rank_chunk(task[1], parser.base, partial(parser.add_to, task[0]))


class BoostedParser(BoostSettings, DependencyParser):
    """Two parsers in one: ``base``, graph-based, and ``pairs``, a classifier of pairs.

    Learned: ``weight_``: that of the classifier; ``right_``: the share of development words with the right head.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "parse.boosted",
        1,
        {"weight": container.Array("float64", (1,), low=0.0, finite=True)} | container.ITEMS,
        components=_PARSERS,
    )
    WORK = (_parse_chunk, _rank_chunk)

    def __init__(self, base: MstParser, pairs: PairClassifier, **settings: Any):
        super().__init__(**settings)
        self.base, self.pairs, self.weight_, self.right_ = base, pairs, 0.0, 0.0
        self.relations_, self.relation_weights_ = base.relations_, base.relation_weights_
        self.items_ = np.unique(np.concatenate([base.items_, pairs.items_]))
        self.tuning_items_ = np.unique(np.concatenate([base.tuning_items_, pairs.tuning_items_]))

    def _anew(self, given: Mapping[str, Any]) -> BoostedParser:
        return BoostedParser(self.base, self.pairs, **given)

    def fit(self, dev: Treebank) -> BoostedParser:
        """Find the weight by which most words of development trees get the right head."""
        dev.filled().check_trees()
        self.tuning_items_ = np.unique(np.concatenate([self.tuning_items_, item_hashes(dev.corpus)]))
        heads, pieces = dev.heads, []
        for sentence, best_at in self._lines(dev):
            gold, lines = dev.sentence_heads(sentence), envelope(best_at, 0.0, self.max_weight)
            pieces.append([(x, float((line.item == gold).sum())) for x, line in lines])
        right, self.weight_ = best_point(pieces, self.max_weight)
        self.right_ = right / len(heads)
        self.provenance_ = {"sentences": len(dev), "words": len(heads), "trees": sum(map(len, pieces))}
        return self

    def _lines(self, bank: Treebank) -> Iterator[tuple[int, Callable[[float], Line]]]:
        """Of every sentence its number, and a function from a weight to the line of the best tree."""
        longest, base = int(bank.corpus.lengths.max(initial=0)), self.base
        room, own = room_for(longest, base.order), np.zeros((longest + 1, longest + 1))
        layers, seen, decoding = base._layers(bank), self.pairs._layers(bank), base.decoding(base.order)

        def best_at(weight: float) -> Line:
            tree = np.zeros(n, np.int32)
            room.arcs[:] = plain + weight * own
            total = decode(n, decoding, room, tree)
            slope = float(own[tree, np.arange(1, n + 1)].sum())
            return Line(total - weight * slope, slope, tree)

        for sentence, n in enumerate(bank.corpus.lengths.tolist()):
            if n:
                score(layers, sentence, decoding, base.weights_, room.marks, room.places, room.arcs, room.siblings)
                self.pairs.score(seen, sentence, own)
                plain = room.arcs.copy()
                yield sentence, best_at

    def check_ranking(self) -> None:
        self.base.check_ranking()

    def _jobs(self, bank: Treebank, wanted: int) -> list[Any]:
        layers = self.pairs._layers(bank)
        return [(layers, chunk) for chunk in self.base._jobs(bank, wanted)]

    def add_to(self, layers: Layers, sentence: int, arcs: np.ndarray) -> None:
        """Add what the classifier thinks of the arcs of a sentence to their scores."""
        n = int(layers.starts[sentence + 1] - layers.starts[sentence]) - 3
        own = np.zeros((n + 1, n + 1))
        self.pairs.score(layers, sentence, own)
        arcs[: n + 1, : n + 1] += self.weight_ * own

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        return {"weight": np.array([self.weight_])}

    def _components(self) -> dict[str, container.Part]:
        return {"base": self.base.part(), "pairs": self.pairs.part()}

    @classmethod
    def from_container(cls, loaded: container.Container) -> BoostedParser:
        """The model of a file that has been read and validated."""
        base, pairs = (find(str(home_of(each.kind))).from_container(each) for each in map(loaded.component, _PARSERS))
        settings = {name: value for name, (value, origin) in loaded.described.items() if origin == "given"}
        self = cls(base, pairs, **settings)
        self.provenance_, self.weight_ = dict(loaded.provenance), float(loaded.arrays["weight"][0])
        self.items_ = loaded.arrays.get("items/training", self.items_)
        self.tuning_items_ = loaded.arrays.get("items/tuning", self.tuning_items_)
        return self
