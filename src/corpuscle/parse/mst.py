"""MstParser: the highest-scoring dependency tree under a linear model of its arcs and pairs of neighbouring modifiers.

Learned online (``kernels.training``) over hashed features (``kernels.features``); trees are found exactly by
``engine.dp.charts`` (no crossing arcs) or ``engine.dp.spanning`` (first order, crossing), and by hill climbing from the
best projective tree (second order, crossing). Relations are chosen arc by arc in the finished tree.

McDonald, Crammer and Pereira, "Online large-margin training of dependency parsers", 2005; McDonald and Pereira, "Online
learning of approximate dependency parsing algorithms", 2006.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.measure import Result, attachment
from corpuscle.model import Array
from corpuscle.parse.base import LONGEST, RELATIONS, Averaged, DependencyParser, check_weights, signature
from corpuscle.parse.decoding import PAIRED, TEMPERATURES, chunks_for, temper_chunk
from corpuscle.parse.kernels.features import Layers
from corpuscle.parse.kernels.training import Decoding, Learning, crossings, learn, lift, room_for
from corpuscle.parse.settings import MstSettings
from corpuscle.parse.words import SOURCES, TAG_LAYERS, layers_of, sources_of, tag_layers
from corpuscle.random import Random, folds
from corpuscle.settings import learned
from corpuscle.tag import Tagger, jackknife
from corpuscle.text.heldout import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import SOURCES as WORD_SOURCES
from corpuscle.words import WordFeatures

_JUDGED = 500
"""Sentences that confidence is calibrated on; more do not help."""
_CROSSING = 0.05
"""More crossing trees than this part make a parser consider crossing arcs."""

ARCS = {
    "weights": Array("float32", ("table",), finite=True),
    "totals": Array("float64", ("table",), finite=True),
    "clock": Array("int64", (1,), low=0),
    "best": Array("float32", ("best",), finite=True),
    "best_share": Array("float64", (1,), finite=True),
}

PARTIAL = learning.partial("parse.mst", ARCS, RELATIONS)
"""An unfinished run: arcs, then relations."""


class MstParser(MstSettings, DependencyParser):
    """A graph-based dependency parser.

    Learned: ``weights_`` float32 (2^hash_bits,), ``relation_weights_`` float32 (2^relation_bits, relations),
    ``relations_``: a ``Vocab`` of their names; ``tag_layers_``: which layers it takes for tags; ``sources_``: which
    others it uses with forms; ``known_``: what raw text says of words; ``crossing_``: whether its trees
    may have crossing arcs; ``temperature_``: what scores are divided by before confidence is taken from them;
    ``history_`` float64 (passes, 2): the share of training words that got a wrong head in each pass, while a wrong one
    gains the margin, and of development words that got the right one.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "parse.mst",
        1,
        {
            **container.VOCAB,
            **container.ITEMS,
            **{name: dataclasses.replace(array, optional=True) for name, array in WORD_SOURCES.items()},
            "weights": Array("float32", ("table",), finite=True),
            "relation_weights": Array("float32", ("rows", "types"), finite=True),
            "history": Array("float64", ("passes", 2), finite=True),
        },
        components=lambda extra: {"tagger": (Tagger.KIND,)} if extra.get("tagger") else {},
        check=lambda loaded: _check(loaded),
    )
    SAVED: ClassVar = {
        "relations_": container.Record(Vocab),
        "weights_": container.Arrays("weights"),
        "relation_weights_": container.Arrays("relation_weights"),
        "history_": container.Arrays("history"),
        "tag_layers_": container.Fact("tag_layers", tuple),
        "sources_": container.Fact("sources", tuple),
        "crossing_": container.Fact("crossing"),
        "temperature_": container.Fact("temperature"),
        "tagger_": container.Inner("tagger", "corpuscle.tag:Tagger"),
    }
    KNOWS_WORDS = True
    CALIBRATED = True

    weights_: np.ndarray = learned()
    crossing_: bool = learned()
    temperature_: float = learned()
    history_: np.ndarray = learned()

    def checkpoint(
        self, bank: Treebank, path: str | PathLike[str], resume: bool = False, known: WordFeatures | None = None
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, PARTIAL, self.settings, signature(bank, known), resume=resume)

    def fit(
        self,
        bank: Treebank,
        dev: Treebank | None = None,
        *,
        known: WordFeatures | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> MstParser:
        """Learn from trees, and from what raw text says of words; development trees choose after how many passes to
        stop, and calibrate confidence."""
        bank.filled().check_trees(single_root=self.single_root)
        bank.check_lengths(LONGEST)
        if dev is not None:
            dev.check_trees()
        checkpoint = checkpoint or Checkpoint(signature=signature(bank, known))
        self.tagger_ = None
        if self.tags == "jackknife":
            learner = Tagger(seed=self.seed, workers=self.workers)
            self.tagger_, bank = learner.fit(bank, sources=known), jackknife(learner, bank, sources=known)
            dev = dev and self.tagged(dev)
        self.tag_layers_, self.sources_, self.chosen_ = tag_layers(bank), sources_of(bank, self.sources), {}
        self.known_ = known or WordFeatures.none()
        if self.tagger_ is None:
            # Paths of several lengths, clusters of several sizes stand in for tags that may be wrong; beside right ones
            # they are noise to a parser of few trees.
            self.known_ = self.known_.alone()
        starts = bank.corpus.sentence_starts
        crossing = int(crossings(bank.heads, starts))
        auto = crossing > _CROSSING * len(bank)
        self.crossing_ = auto if self.decode == "auto" else self.decode == "nonprojective"
        if self.crossing_ and self.order == 2 and self.trees > 1:
            raise SettingError("the best trees with crossing arcs are known in order 1 only: trees 1, or order 1")
        heads = bank.heads.astype(np.int32)
        if not self.crossing_:
            heads = np.empty_like(heads)
            lift(bank.heads.astype(np.int32), starts, heads)
        self.provenance_ = {
            "sentences": len(bank), "words": bank.corpus.n_tokens, "crossing": crossing,
            "lifted": int((heads != bank.heads).sum()), "relations": len(bank.relations.vocab) - FIRST,
        }  # fmt: skip
        self.items_ = item_hashes(bank.corpus)
        layers = layers_of(bank, self.tag_layers_, self.sources_, self.known_, self.distance)
        self._learn_arcs(layers, heads, starts, dev, checkpoint)
        self._learn_relations(layers, bank, min(self.passes, _RELATION_PASSES), checkpoint)
        self.temperature_ = 1.0
        if dev is not None:
            self._calibrate([(self, dev)])
        elif self.folds:
            parts = folds(self.seed, "parse.folds", len(bank), self.folds)
            rest = (bank.select(parts != part) for part in range(self.folds))
            like, seen = self.replace(folds=0, tags="gold", workers=self.workers), self.known_.all_serve()
            learners = (like.replace(workers=self.workers).fit(each, known=seen) for each in rest)
            self._calibrate([(each, bank.select(parts == part)) for part, each in enumerate(learners)])
        return self

    def _calibrate(self, judged: Sequence[tuple[MstParser, Treebank]]) -> None:
        """Choose the temperature at which confidence is most likely, by parsers and trees that they did not learn."""
        losses = np.zeros(len(TEMPERATURES))
        for parser, bank in judged:
            some = bank.select(np.unique(np.linspace(0, len(bank) - 1, min(len(bank), _JUDGED)).astype(np.int64)))
            parts = list(parser.spread(temper_chunk, chunks_for(parser._layers(some), 1)))
            heads, likely = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            likely = np.where((heads == some.heads)[:, None], likely, 1.0 - likely)
            losses -= np.log(np.clip(likely, 1e-6, 1.0)).sum(axis=0)
        self.temperature_ = float(TEMPERATURES[np.argmin(losses)])

    def decoding(self, order: int) -> Decoding:
        """How trees are found with features of this order."""
        return Decoding(order, self.crossing_, self.single_root, np.uint64(64 - self.hash_bits))

    def _learn_arcs(
        self, layers: Layers, heads: np.ndarray, starts: np.ndarray, dev: Treebank | None, checkpoint: Checkpoint
    ) -> None:
        def judge(weights: np.ndarray) -> float:
            assert dev is not None
            self.weights_, self.relation_weights_ = weights, np.empty((0, 0), np.float32)
            return float((self.parse(dev).heads == dev.heads).mean())

        learner = ArcLearner(self, layers, heads, starts, None if dev is None else judge)
        run = checkpoint.run(
            learner, self.passes, columns=2, facts={"table": 1 << self.hash_bits}, lasting=True, title="passes",
            note="wrong {:.3f}",
        )  # fmt: skip
        self.history_, self.weights_ = run.history, learner.mean()
        if dev is not None:
            self.tuning_items_ = item_hashes(dev.corpus)
            self.weights_ = learner.best
            self.chosen_["passes"] = int(np.argmax(self.history_[:, 1])) + 1

    # ---- parsing

    def _layers(self, bank: Treebank) -> Layers:
        if self.order == 2 and bank.corpus.lengths.max(initial=0) > PAIRED:
            warn(f"sentences of more than {PAIRED} words are parsed by their arcs alone")
        return super()._layers(bank)

    def check_ranking(self) -> None:
        if self.crossing_ and self.order == 2:
            raise SettingError("the best trees with crossing arcs are known in the first order only")

    # ---- the file

    def summary(self) -> dict[str, Any]:
        figures = {
            "order": self.order, "nonprojective": self.crossing_, "passes": self.chosen_.get("passes", self.passes),
            "wrong_heads": float(self.history_[-1, 0]), "sources": [*self.tag_layers_, *self.sources_],
            "known_words": len(self.known_.words), "temperature": self.temperature_,
        }  # fmt: skip
        return figures | ({"uas_dev": float(self.history_[:, 1].max())} if "passes" in self.chosen_ else {})

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **self.known_.arrays()}

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "tagger": self.tagger_ is not None}

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        # Files of earlier versions do not have all of these.
        self.sources_, self.temperature_ = self.sources_ or (), self.temperature_ or 1.0
        known = "sources/words" in loaded.arrays
        self.known_ = WordFeatures.from_arrays(loaded.arrays) if known else WordFeatures.none()


class ArcLearner(Averaged):
    """Learns the weights of arcs and pairs of a parser; ``judge``: mean weights -> how good they are, or None."""

    def __init__(
        self, parser: MstParser, layers: Layers, heads: np.ndarray, starts: np.ndarray,
        judge: Callable[[np.ndarray], float] | None,
    ):  # fmt: skip
        super().__init__(starts, parser.seed, "parse.arcs", (1 << parser.hash_bits,))
        step, cost = (parser.step, float(parser.augmented)) if parser.learner == "mira" else (0.0, 0.0)
        delta, longest = np.zeros_like(self.weights), int(np.diff(starts).max(initial=1))
        self._learning = Learning(self.weights, self.totals, delta, self.clock, parser.trees, step, cost)
        self._text, self._decoding, self._judge = (layers, heads, starts), parser.decoding(parser.order), judge
        self._room = room_for(longest, parser.order, parser.trees)
        self._touched = np.empty((parser.trees, (longest + 4) * 4 * len(self._room.places)), np.uint32)
        self.best, self.best_share = np.empty(0, np.float32), np.full(1, -1.0)

    def step(self, sweep: int, number: int) -> None:
        layers, heads, starts = self._text
        how = self._decoding, self._learning, self._room, self._touched
        self._wrong += learn(layers, self.part(sweep, number), heads, starts, *how)

    def finish(self, sweep: int) -> list[float]:
        """The share of training words with a wrong head in this pass, and how good the means are (0: not judged)."""
        share = 0.0
        if self._judge is not None:
            mean = self.mean()
            share = self._judge(mean)
            if share > self.best_share[0]:
                self.best, self.best_share[0] = mean, share
        return [*super().finish(sweep), share]

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"best": self.best, "best_share": self.best_share}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        super().restore(arrays, sweep, number)
        self.best, self.best_share = np.array(arrays["best"]), np.array(arrays["best_share"])


_RELATION_PASSES = 5


def _check(loaded: container.Container) -> None:
    arrays, extra = loaded.arrays, loaded.extra
    tags, crossing, sources = extra.get("tag_layers"), extra.get("crossing"), extra.get("sources", [])
    if not isinstance(tags, list) or not tags or any(name not in TAG_LAYERS for name in tags):
        raise ValueError("it does not say which layers are tags")
    if not isinstance(sources, list) or any(name not in SOURCES for name in sources):
        raise ValueError("it does not say what stands beside forms")
    if ("sources/words" in arrays) != ("sources/values" in arrays):
        raise ValueError("half of what it knows of words is missing")
    if not isinstance(warmth := extra.get("temperature", 1.0), float) or not 1e-3 < warmth < 1e6:
        raise ValueError("its temperature is not a number that scores can be divided by")
    if type(extra.get("tagger", False)) is not bool:
        raise ValueError("it does not say whether there is a tagger in it")
    if type(crossing) is not bool:
        raise ValueError("it does not say whether arcs may cross")
    check_weights(loaded)


# ---- learning curves


_LEAST = 20
"""A parser of fewer sentences says nothing."""


class Point(NamedTuple):
    """The size of the training part in sentences and words, the parser learned from it, and its scores."""

    sentences: int
    words: int
    parser: MstParser
    result: Result


def learning_curve(
    learner: MstParser, bank: Treebank, held_out: Treebank, points: int = 5, *, known: WordFeatures | None = None
) -> Iterator[Point]:
    """Parsers of a part of the trees, of twice as many, and so on to all of them, smallest first; each part has the
    sentences of the one before it, drawn at random."""
    if len(bank) < _LEAST:
        raise bank.error(f"a learning curve needs at least {_LEAST} sentences, not {len(bank)}")
    order = np.argsort(Random(learner.seed, "parse.curve").uniforms(len(bank)), kind="stable")
    sizes = [size for halvings in range(points - 1, -1, -1) if (size := len(bank) >> halvings) >= _LEAST]
    for size in sizes:
        part = bank.select(np.sort(order[:size]))
        parser = learner.replace().fit(part, known=known)
        result = attachment(held_out, parser.annotate(held_out), seed=learner.seed)
        yield Point(size, part.corpus.n_tokens, parser, result)
