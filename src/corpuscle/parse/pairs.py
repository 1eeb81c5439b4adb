"""PairParser: a classifier says of every pair of words how likely one is the head of the other; the best tree follows.

The score of a tree is the sum of log C(h, m) over its arcs (of margins, for a support vector machine); it is found by
Eisner's chart, by the K best segments of every span, or among all trees. There is no root in the classifier: a tree of
n words has n - 1 arcs, and the word that is left over is the root.

Jiang and Liu, "Dependency parsing and projection based on word-pair classification", 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.catalogue import find, home_of
from corpuscle.engine.dp import charts, spanning
from corpuscle.errors import InputError, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.parse.base import LONGEST, RELATIONS, DependencyParser, check_weights, signature
from corpuscle.parse.decoding import Chunk, Parses, Ranked, parses_of, ranked_of
from corpuscle.parse.kernels import pairs as kernels
from corpuscle.parse.kernels.features import Layers
from corpuscle.parse.kernels.pairs import FEATURES, MAXENT, NO, SVM, UNKNOWN, YES, Instances, Sampling
from corpuscle.parse.lbfgs import Minimiser
from corpuscle.parse.settings import PairSettings
from corpuscle.parse.words import layers_of, marks_before, tag_layers
from corpuscle.random import Random
from corpuscle.scale import chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.heldout import item_hashes
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import words_of

RATIOS = (1.0, 1.5, 2.0, 2.5, 3.0)
"""The ratios that development trees choose from."""
TOLERANCE = 1e-6
"""Learning ends when a step gains less than this part of the loss."""
_RELATION_PASSES = 5
_PAIRS = 1 << 17
"""Pairs that one call of a kernel learns from."""

STATE = {
    "point": container.Array("float64", ("variables",), finite=True),
    "gradient": container.Array("float64", ("variables",), finite=True),
    "moves": container.Array("float64", ("moves", "variables"), finite=True),
    "changes": container.Array("float64", ("moves", "variables"), finite=True),
    "values": container.Array("float64", (2,), finite=True),
}
"""What a file keeps of an unfinished search for the best weights."""

PARTIAL = learning.partial("parse.pairs", STATE, RELATIONS)
"""An unfinished run: weights of pairs, then relations."""

PAIRS = {
    **container.VOCAB,
    **container.ITEMS,
    "weights": container.Array("float32", ("table",), finite=True),
    "relation_weights": container.Array("float32", ("rows", "types"), finite=True),
    "history": container.Array("float64", ("steps", 1), finite=True),
    "correction": container.Array("float64", (1,), finite=True),
}
"""The arrays of a model."""


def sampling_of(seed: int, available: np.ndarray, ratio: float, most: int) -> tuple[Sampling, float]:
    """A sample of pairs without and with an arc from those that are ``available``, int64 (2,): ``ratio`` times as many
    without as with one, ``most`` in all; and by how much it raises the logit of an arc."""
    yes = min(int(available[YES]), max(1, int(most / (1.0 + ratio))))
    no = min(int(available[NO]), round(ratio * yes))
    shares = [wanted / max(1, there) for wanted, there in zip((no, yes), available[[NO, YES]].tolist(), strict=True)]
    correction = math.log(max(shares[1], 1e-12) / max(shares[0], 1e-12)) if no else 0.0
    stream = Random(seed, "parse.pairs").array()
    return Sampling(stream, available.copy(), np.array([no, yes], np.int64)), correction


def room_for_pairs(n: int) -> Instances:
    return Instances(*(np.zeros(n, dtype) for dtype in (np.int32, np.int32, np.int32, np.float32)))


def pair_parts(extra: Any) -> dict[str, tuple[container.Kind, ...]]:
    """What is inside a model: word classes, where these stand for tags."""
    from corpuscle.words import BrownClasses, ExchangeClasses

    tags = extra.get("tag_layers")
    if not isinstance(tags, list) or tags not in ([], ["tags"], ["xpos"]):
        raise ValueError("it does not say which layer has the tags")
    return {} if tags else {"classes": (ExchangeClasses.KIND, BrownClasses.KIND)}


def _loss_of(chunk: tuple[np.ndarray, ...], broadcast: tuple[np.ndarray, int]) -> tuple[float, np.ndarray]:
    """The loss of some pairs (columns, signs, weights: see ``kernels.pairs.loss``), and its gradient."""
    gradient = np.zeros(len(broadcast[0]))
    return kernels.loss(*chunk, *broadcast, gradient), gradient


def _added(one: tuple[float, np.ndarray], other: tuple[float, np.ndarray]) -> tuple[float, np.ndarray]:
    return one[0] + other[0], one[1] + other[1]


def _trees(chunk: Chunk, k: int, parser: PairClassifier) -> Iterator[tuple[np.ndarray, ...]]:
    """Of every sentence its best trees, their scores and the scores of all arcs."""
    longest = max((n for _, n in chunk.sentences()), default=0)
    arcs, chart = np.zeros((longest + 1, longest + 1)), charts.chart_for(longest)
    for sentence, n in chunk.sentences():
        heads, scores, count = np.zeros((k, n), np.int32), np.zeros(k), 0
        if n:
            parser.score(chunk.layers, sentence, arcs)
            count = parser._decode(n, arcs, chart, heads, scores)
        yield heads[:count], scores[:count], arcs


def _parse_chunk(chunk: Chunk, parser: PairClassifier) -> Parses:
    """The best tree of every sentence; ``wanted`` 1: with C of its arcs."""
    heads, scores, likely = [], [], []
    for trees, values, arcs in _trees(chunk, 1, parser):
        heads.append(trees.ravel())
        scores.append(float(values.sum()))
        if chunk.wanted:
            best = arcs[trees.ravel(), np.arange(1, trees.size + 1)]
            # a support vector machine has no probabilities: its margins go through a sigmoid
            likely.append(np.exp(best) if parser.classifier == "maxent" else 1.0 / (1.0 + np.exp(-best)))
    return parses_of(chunk, parser, heads, scores, likely)


def _rank_chunk(chunk: Chunk, parser: PairClassifier) -> Ranked:
    best = [(trees.ravel(), values) for trees, values, _ in _trees(chunk, chunk.wanted, parser)]
    return ranked_of(chunk, parser, [heads for heads, _ in best], [scores for _, scores in best])


if TYPE_CHECKING:

    class _Beside(PairSettings, DependencyParser):
        """What ``PairClassifier`` stands beside."""

else:
    _Beside = container.Model


class PairClassifier(_Beside):
    """What parsers of pairs do; one is this, its settings, and ``DependencyParser``.

    Learned: ``weights_`` float32 (2^hash_bits,); ``correction_``: what is taken from every logit; ``history_`` float64
    (steps, 1): the penalised loss; ``classes_``: the word classes that stand for tags, or None.
    """

    SAVED: ClassVar = {
        "relations_": container.Record(Vocab),
        "weights_": container.Arrays("weights"),
        "relation_weights_": container.Arrays("relation_weights"),
        "history_": container.Arrays("history"),
        "tag_layers_": container.Fact("tag_layers", tuple),
    }

    WORK = (_parse_chunk, _rank_chunk)

    weights_: np.ndarray = learned()
    correction_: float = learned()
    history_: np.ndarray = learned()
    classes_: Any = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.classes_ = None

    @property
    def _kind(self) -> int:
        return MAXENT if self.classifier == "maxent" else SVM

    def _instances(self, bank: Treebank, ratio: float) -> tuple[Instances, float]:
        """Pairs of a treebank to learn from, and by how much their sampling raises logits."""
        lengths, arcs = bank.corpus.lengths.astype(np.int64), int((bank.heads > 0).sum())
        if not arcs:
            raise bank.error("no sentence has two words, so there is no arc to learn from")
        available = np.array([int((lengths * (lengths - 1)).sum()) - arcs, arcs], np.int64)
        sampling, correction = sampling_of(self.seed, available, ratio, self.max_pairs)
        found, at = room_for_pairs(int(sampling.wanted.sum())), 0
        for sentence in range(len(bank)):
            tree = bank.sentence_heads(sentence)
            labels = (np.arange(1, len(tree) + 1)[:, None] == tree).astype(np.int8)  # NO or YES
            np.fill_diagonal(labels, UNKNOWN)
            at = kernels.collect(sentence, labels, labels.astype(np.float32), sampling, found, at)
        return found, correction

    def _learn(self, bank: Treebank, found: Instances, checkpoint: Checkpoint, weighted: bool = False) -> None:
        layers, shift = self._layers(bank), np.uint64(64 - self.hash_bits)
        n, size = len(found.sure), 1 << self.hash_bits
        bounds = chunks_of(np.ones(n, np.int64), _PAIRS).tolist()
        columns = np.empty((n, FEATURES), np.uint32)
        counts = np.zeros(size, np.int64)
        for first, last in pairwise(bounds):
            part = Instances(*(field[first:last] for field in found))
            kernels.places_of(layers, part, shift, columns[first:last])
            counts += np.bincount(columns[first:last].reshape(-1), minlength=size)
        used = np.flatnonzero(counts >= self.min_count)
        names = np.full(size, len(used), np.int32)
        names[used] = np.arange(len(used))
        columns = columns.view(np.int32)
        for first, last in pairwise(bounds):
            columns[first:last] = names[columns[first:last]]
        signs = np.where(found.sure > 0.5, 1.0, -1.0).astype(np.float32)
        weights = np.abs(2.0 * found.sure - 1.0) if weighted else np.ones(n)
        everything = columns, signs, weights.astype(np.float32)
        chunks = [tuple(field[first:last] for field in everything) for first, last in pairwise(bounds)]
        classifier, penalty = self._kind, 1.0 / (4.0 * self.variance)
        with workers(self.workers, self.cluster) as pool:
            held = pool.scatter(chunks)

            def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
                value, gradient = held.map_reduce(_loss_of, _added, (np.append(point, 0.0), classifier))
                return value + penalty * float(point @ point), gradient[:-1] + 2.0 * penalty * point

            learner = Minimiser(objective, np.zeros(len(used)), tolerance=TOLERANCE)
            run = checkpoint.run(
                learner, self.passes, converged=learner.converged, facts={"variables": len(used)}, lasting=True,
                title="steps", note="loss {:.6g}",
            )  # fmt: skip
        self.history_, self.weights_ = run.history, np.zeros(size, np.float32)
        self.weights_[used] = learner.point
        self.correction_ = self.correction_ if self.prior_correction and classifier == MAXENT else 0.0
        self.provenance_ |= {"arcs": int((signs > 0).sum()), "others": int((signs < 0).sum()), "features": len(used)}

    def _learn_from(self, bank: Treebank, ratio: float, checkpoint: Checkpoint | None = None) -> Instances:
        """Learn the weights of pairs from trees; the pairs that they were learned from."""
        found, self.correction_ = self._instances(bank, ratio)
        self._learn(bank, found, checkpoint or Checkpoint())
        return found

    def _best(self, values: Sequence[float], learn: Callable[[float], Any], dev: Treebank) -> float:
        """The value with which development trees are parsed best."""
        right = {}
        self._forget_relations()
        for value in values:
            with suppress(InputError):  # nothing to learn from
                learn(value)
                right[value] = float((self.parse(dev).heads == dev.heads).mean())
        return max(right, key=right.__getitem__, default=values[0])

    # ---- what it sees

    def _tagged(self, bank: Treebank) -> Treebank:
        """The treebank with word classes as its universal tags."""
        bank.check_lengths(LONGEST)
        classes = self.classes_.apply(words_of(bank, "form", self.classes_.preprocessing))
        return bank.replace(tags=Layer(classes.tokens, classes.vocab))

    def _layers(self, bank: Treebank) -> Layers:
        """What the parser sees of sentences, with the verbs and commas that a distance of pairs consists of."""
        layers = super()._layers(bank) if self.tag_layers_ else layers_of(self._tagged(bank), ("tags",))
        verbs, commas = marks_before(bank, self.tag_layers_[0] if self.tag_layers_ else None, layers.starts)
        return layers._replace(verbs=verbs, commas=commas)

    def score(self, layers: Layers, sentence: int, arcs: np.ndarray) -> None:
        """``arcs`` (n + 1, n + 1) := log C(h, m) of a sentence (margins, for a support vector machine)."""
        shift = np.uint64(64 - self.hash_bits)
        kernels.score_pairs(layers, sentence, self.weights_, shift, self.correction_, self._kind, arcs)

    def _decode(self, n: int, arcs: np.ndarray, chart: charts.Chart, heads: np.ndarray, scores: np.ndarray) -> int:
        """``heads`` int32 (k, n), ``scores`` (k,) := the best trees by the scores of arcs; returns how many."""
        k = len(heads)
        if self.decoder == "chart":
            beam = max(k, self.beam)
            wide, values = np.zeros((beam, n), np.int32), np.zeros(beam)
            count = min(k, kernels.best_segments(n, arcs, beam, self.margin, self.per_root, wide, values))
            heads[:], scores[:] = wide[:k], values[:k]
            return count
        if self.decoder == "mst":
            square = np.ascontiguousarray(arcs[: n + 1, : n + 1])
            return spanning.k_best_trees(n, square, True, k, heads, scores)
        if k == 1:
            scores[0] = charts.best_heads(n, arcs, charts.NO_SIBLINGS, True, chart, heads[0])
            return 1
        return charts.k_best(n, arcs, charts.NO_SIBLINGS, True, k, chart, heads, scores)

    # ---- the file

    def summary(self) -> dict[str, Any]:
        return {"passes": len(self.history_), "loss": float(self.history_[-1, 0])}

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), "correction": np.array([self.correction_])}

    def _components(self) -> dict[str, container.Part]:
        return {} if self.tag_layers_ else {"classes": self.classes_.part()}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        self.correction_ = float(loaded.arrays["correction"][0])
        if not self.tag_layers_:
            part = loaded.component("classes")
            self.classes_ = find(str(home_of(part.kind))).from_container(part)


class PairParser(PairClassifier, PairSettings, DependencyParser):
    """A dependency parser by classification of pairs of words; what is learned: see ``PairClassifier``."""

    KIND: ClassVar[container.Kind] = container.Kind("parse.pairs", 1, PAIRS, components=pair_parts, check=check_weights)

    def checkpoint(self, bank: Treebank, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from trees."""
        return Checkpoint(path, PARTIAL, self.settings, signature(bank), resume=resume)

    def fit(self, bank: Treebank, dev: Treebank | None = None, *, checkpoint: Checkpoint | None = None) -> PairParser:
        """Learn from trees; development trees choose the ratio, unless it was given."""
        bank.filled().check_trees()
        bank.check_lengths(LONGEST)
        if dev is not None:
            dev.check_trees()
        self.chosen_ = {}
        self._choose_tags(bank)
        self.provenance_ = {
            "sentences": len(bank), "words": bank.corpus.n_tokens, "relations": len(bank.relations.vocab) - FIRST,
        }  # fmt: skip
        self.items_ = item_hashes(bank.corpus)
        checkpoint = checkpoint or Checkpoint(signature=signature(bank))
        ratio = self.ratio
        if dev is not None and self.origins["ratio"] != "given":
            ratio = self.chosen_["ratio"] = self._best(RATIOS, lambda ratio: self._learn_from(bank, ratio), dev)
            self.tuning_items_ = item_hashes(dev.corpus)
        self._learn_from(bank, ratio, checkpoint)
        self._learn_relations(self._layers(bank), bank, _RELATION_PASSES, checkpoint)
        return self

    def _choose_tags(self, bank: Treebank) -> None:
        """Decide what stands for tags: a layer of the treebank, or word classes."""
        if self.tag_layer == "classes":
            if self.classes_ is None:
                raise SettingError("tag_layer classes needs word classes: give a class model")
            self.tag_layers_ = ()
            return
        layer = {"upos": "tags", "xpos": "xpos"}.get(self.tag_layer)
        there = tag_layers(bank)
        if layer is not None and layer not in there:
            raise bank.error(f"the words have no {self.tag_layer.upper()}")
        self.tag_layers_ = (layer or there[0],)
