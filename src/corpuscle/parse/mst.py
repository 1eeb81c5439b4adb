"""MstParser: the highest-scoring dependency tree under a linear model of its arcs and pairs of neighbouring modifiers.

Learned online (``kernels.training``) over hashed features (``kernels.features``); trees are found exactly by
``engine.dp.charts`` (no crossing arcs) or ``engine.dp.spanning`` (first order, crossing), and by hill climbing from the
best projective tree (second order, crossing). Relations are chosen arc by arc in the finished tree.

McDonald, Crammer and Pereira, "Online large-margin training of dependency parsers", 2005; McDonald and Pereira, "Online
learning of approximate dependency parsing algorithms", 2006.
"""

from __future__ import annotations

import dataclasses
import hashlib
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle import learning
from corpuscle import model as container
from corpuscle.engine.dp import charts, spanning
from corpuscle.errors import InputError, SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.parse.kernels.lifting import crossings, lift
from corpuscle.parse.kernels.relations import relate
from corpuscle.parse.kernels.training import Decoding, Learning, Room, decode, room_for, score
from corpuscle.parse.settings import MstSettings
from corpuscle.parse.training import ARCS, RELATIONS, ArcLearner, RelationLearner
from corpuscle.parse.words import N_TAGS, TAG_LAYERS, layers_of, tag_layers
from corpuscle.scale import chunks_of
from corpuscle.settings import learned
from corpuscle.tag import Tagger, jackknife
from corpuscle.text.layers import Layer
from corpuscle.text.overlap import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab

__all__ = ["LONGEST", "PARTIAL", "MstParser", "Parses"]

LONGEST = 1000
"""Words of the longest sentence that is parsed: the room for pairs grows with their cube."""
_PAIRED = 300
"""Longer sentences are parsed without pairs, which is said."""
_CUBES = 1 << 18
"""A worker parses sentences whose lengths, cubed, add up to about this."""
_CROSSING = 0.05
"""More crossing trees than this part make a parser consider crossing arcs."""

PARTIAL = learning.partial("parse.mst", ARCS, RELATIONS)
"""An unfinished run: arcs, then relations."""


class Parses(NamedTuple):
    """Trees of some sentences: ``heads`` int32 and ``relations`` int32 (n_words,), ids of the parser's relations;
    ``scores`` float64 (n_sentences,); ``confidence`` float64 (n_words,), how likely each arc is, or empty."""

    heads: np.ndarray
    relations: np.ndarray
    scores: np.ndarray
    confidence: np.ndarray


class MstParser(MstSettings, container.Model):
    """A graph-based dependency parser.

    Learned: ``weights_`` float32 (2^hash_bits,), ``relation_weights_`` float32 (2^relation_bits, relations),
    ``relations_``: a ``Vocab`` of their names; ``tag_layers_``: which layers it takes for tags; ``crossing_``: whether
    its trees may have crossing arcs; ``history_`` float64 (passes, 2): the share of training words that got a wrong
    head in each pass, and of development words that got the right one.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "parse.mst",
        1,
        {
            **container.VOCAB,
            **container.ITEMS,
            "weights": container.Array("float32", ("table",), finite=True),
            "relation_weights": container.Array("float32", ("rows", "types"), finite=True),
            "history": container.Array("float64", ("passes", 2), finite=True),
        },
        components=lambda extra: {"tagger": (Tagger.KIND,)} if extra.get("tagger") else {},
        check=lambda loaded: _check(loaded),
    )

    weights_: np.ndarray = learned()
    relation_weights_: np.ndarray = learned()
    relations_: Vocab = learned()
    tag_layers_: tuple[str, ...] = learned()
    crossing_: bool = learned()
    tagger_: Tagger | None = learned()
    history_: np.ndarray = learned()

    def checkpoint(self, bank: Treebank, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from trees."""
        return Checkpoint(path, PARTIAL, self.settings, signature(bank), resume=resume)

    def fit(self, bank: Treebank, dev: Treebank | None = None, *, checkpoint: Checkpoint | None = None) -> MstParser:
        """Learn from trees; development trees choose after how many passes to stop."""
        if Treebank.checked(bank).corpus.n_tokens == 0:
            raise InputError(None, None, "the treebank is empty")
        bank.check_trees(single_root=self.single_root)
        if dev is not None:
            dev.check_trees()
        checkpoint = checkpoint or Checkpoint(signature=signature(bank))
        self.tagger_ = None
        if self.tags == "jackknife":
            learner = Tagger(seed=self.seed, workers=self.workers)
            self.tagger_, bank = learner.fit(bank), jackknife(learner, bank)
            dev = dev and self.tagged(dev)
        self.tag_layers_, self.chosen_ = tag_layers(bank), {}
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
        layers = layers_of(bank, self.tag_layers_)
        self._learn_arcs(layers, heads, starts, dev, checkpoint)
        self._learn_relations(layers, bank, checkpoint)
        return self

    def _decoding(self, order: int) -> Decoding:
        return Decoding(order, self.crossing_, self.single_root, np.uint64(64 - self.hash_bits))

    def _learn_arcs(
        self, layers: Any, heads: np.ndarray, starts: np.ndarray, dev: Treebank | None, checkpoint: Checkpoint
    ) -> None:
        size = 1 << self.hash_bits
        step = self.step if self.learner == "mira" else 0.0
        weights, delta = np.zeros(size, np.float32), np.zeros(size, np.float32)
        under_way = Learning(weights, np.zeros(size), delta, np.zeros(1, np.int64), self.trees, step)
        longest = int(np.diff(starts).max())
        if longest > LONGEST:
            raise InputError(None, None, f"a sentence of {longest:,} words; parsers learn from at most {LONGEST:,}")
        room = room_for(longest, self.order, N_TAGS, self.trees)

        def judge(weights: np.ndarray) -> float:
            assert dev is not None
            self.weights_, self.relation_weights_ = weights, np.empty((0, 0), np.float32)
            return float((self.parse(dev).heads == dev.heads).mean())

        learner = ArcLearner(
            layers, heads, starts, self._decoding(self.order), under_way, room,
            seed=self.seed, judge=None if dev is None else judge,
        )  # fmt: skip
        facts = {"table": size}
        run = checkpoint.run(
            learner, self.passes, columns=2, facts=facts, lasting=True, title="passes", note="wrong {:.3f}"
        )
        self.history_ = run.history
        self.weights_ = learner.mean()
        if dev is not None:
            self.tuning_items_ = item_hashes(dev.corpus)
            self.weights_ = learner.best
            self.chosen_["passes"] = int(np.argmax(self.history_[:, 1])) + 1

    def _learn_relations(self, layers: Any, bank: Treebank, checkpoint: Checkpoint) -> None:
        names = bank.relations.vocab.strings[FIRST:]
        self.relations_ = Vocab.from_words(names)
        rows = 1 << self.relation_bits
        ids = np.maximum(bank.relations.ids - FIRST, 0).astype(np.int32)
        if not names or (bank.relations.ids < FIRST).any():
            self.relations_, self.relation_weights_ = Vocab.from_words([]), np.zeros((0, 0), np.float32)
            return
        room = room_for(int(bank.corpus.lengths.max()), 1, N_TAGS)
        known = bank.heads.astype(np.int32), ids, bank.corpus.sentence_starts
        learner = RelationLearner(layers, known, rows, len(names), room, seed=self.seed)
        passes = min(self.passes, _RELATION_PASSES)
        facts = {"rows": rows, "relations": len(names)}
        checkpoint.run(learner, passes, facts=facts, title="relations", note="wrong {:.3f}")
        self.relation_weights_ = learner.mean()

    # ---- parsing

    def parse(self, bank: Treebank, *, confidence: bool = False) -> Parses:
        """The best tree of every sentence; ``confidence``: also how likely each of its arcs is."""
        layers, starts = self._layers(bank), bank.corpus.sentence_starts
        lengths = np.minimum(bank.corpus.lengths, _PAIRED).astype(np.int64)
        bounds = chunks_of(lengths**3 + 1, _CUBES).tolist()
        if self.order == 2 and bank.corpus.lengths.max(initial=0) > _PAIRED:
            warn(f"sentences of more than {_PAIRED} words are parsed by their arcs alone")
        chunks = [(layers, first, last, confidence) for first, last in pairwise(bounds)]
        parts = list(self.spread(_parse_chunk, chunks))
        if not parts:
            return Parses(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0))
        assert len(starts) - 1 == sum(len(part.scores) for part in parts)
        return Parses(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def tagged(self, bank: Treebank) -> Treebank:
        """The treebank with the tags of the tagger inside, whatever it had."""
        if self.tagger_ is None:
            raise SettingError("this parser has no tagger inside: train one with tags jackknife, or give a tagger")
        return self.tagger_.annotate(bank.without(*self.tagger_.layers_))

    def annotate(self, bank: Treebank, *, confidence: bool = False) -> Treebank:
        """The treebank with our heads and relations; ``confidence``: with how likely each arc is in MISC."""
        parses = self.parse(bank, confidence=confidence)
        if confidence:
            bank = bank.with_misc("Confidence", [f"{value:.3f}" for value in parses.confidence])
        return bank.replace(heads=parses.heads, relations=self._named(parses.relations))

    def _named(self, relations: np.ndarray) -> Layer:
        if not len(self.relations_.strings[FIRST:]):
            return Layer.unset(len(relations))
        return Layer((relations + FIRST).astype(np.int32), self.relations_)

    def _layers(self, bank: Treebank) -> Any:
        longest = int(bank.corpus.lengths.max(initial=0))
        if longest > LONGEST:
            where = int(np.argmax(bank.corpus.lengths)) + 1
            raise InputError(None, None, f"sentence {where} has {longest:,} words; at most {LONGEST:,} are parsed")
        lacking = [name for name in self.tag_layers_ if bank.corpus.n_tokens and not getattr(bank, name).ids.any()]
        if lacking:
            column = " and ".join({"tags": "UPOS", "xpos": "XPOS"}[name] for name in lacking)
            raise InputError(None, None, f"the words have no {column}, which this parser learned from")
        return layers_of(bank, self.tag_layers_)

    def k_best(self, bank: Treebank, k: int) -> list[list[tuple[np.ndarray, float]]]:
        """The k best trees of every sentence, heads int32 with their scores, the best one first."""
        if self.crossing_ and self.order == 2:
            raise SettingError("the best trees with crossing arcs are known in the first order only")
        layers, results = self._layers(bank), []
        room = room_for(int(bank.corpus.lengths.max(initial=1)), self.order, N_TAGS, k)
        for sentence, n in enumerate(bank.corpus.lengths.tolist()):
            results.append(self._best_of(layers, sentence, n, k, room))
        return results

    def best_trees(self, bank: Treebank, k: int) -> Treebank:
        """Every sentence with its k best trees, one after the other, with ``# rank`` and ``# score`` comments."""
        lists = self.k_best(bank, k)
        ranked = [(sentence, rank, score) for sentence, trees in enumerate(lists) for rank, (_, score) in
                  enumerate(trees or [(np.empty(0, np.int32), 0.0)], 1)]  # fmt: skip
        repeated = bank.select(np.array([sentence for sentence, _, _ in ranked], np.int64))
        heads = np.concatenate([tree for trees in lists for tree, _ in trees] or [np.empty(0, np.int32)])
        comments = tuple(
            (*repeated.comments[i], f"# rank = {rank}", f"# score = {score:.6f}")
            for i, (_, rank, score) in enumerate(ranked)
        )
        relations = self._named(self._relate(repeated, heads))
        return dataclasses.replace(repeated.replace(heads=heads, relations=relations), comments=comments)

    def _relate(self, bank: Treebank, heads: np.ndarray) -> np.ndarray:
        """The best relations of given trees, int32 (n_words,)."""
        layers, found = self._layers(bank), np.zeros(len(heads), np.int32)
        room = room_for(int(bank.corpus.lengths.max(initial=1)), 1, N_TAGS)
        scores, shift = np.zeros(self.relation_weights_.shape[1], np.float32), np.uint64(64 - self.relation_bits)
        for sentence, (first, last) in enumerate(pairwise(bank.corpus.sentence_starts.tolist())):
            if len(scores):
                tree, names = heads[first:last], found[first:last]
                relate(layers, sentence, tree, shift, self.relation_weights_, room, scores, names)
        return found

    def _best_of(self, layers: Any, sentence: int, n: int, k: int, room: Room) -> list[tuple[np.ndarray, float]]:
        if n == 0:
            return []
        decoding = self._decoding(self.order)
        score(layers, sentence, decoding, self.weights_, room.marks, room.places, room.arcs, room.siblings)
        heads, scores = np.zeros((k, n), np.int32), np.zeros(k)
        if self.crossing_:
            arcs = np.ascontiguousarray(room.arcs[: n + 1, : n + 1])
            count = spanning.k_best_trees(n, arcs, self.single_root, k, heads, scores)
        else:
            count = charts.k_best(n, room.arcs, room.siblings, self.single_root, k, room.chart, heads, scores)
        return [(heads[i], float(scores[i])) for i in range(count)]

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"weights": self.weights_, "relation_weights": self.relation_weights_, "history": self.history_}
        return self.relations_.arrays() | arrays

    def _extra(self) -> dict[str, Any]:
        return {
            "tag_layers": list(self.tag_layers_), "crossing": self.crossing_, "tagger": self.tagger_ is not None
        }  # fmt: skip

    def _components(self) -> dict[str, container.Part]:
        return {} if self.tagger_ is None else {"tagger": self.tagger_.part()}

    def _restore(self, loaded: container.Container) -> None:
        arrays = loaded.arrays
        self.weights_, self.relation_weights_ = arrays["weights"], arrays["relation_weights"]
        self.history_, self.relations_ = arrays["history"], Vocab.from_arrays(arrays)
        self.tag_layers_, self.crossing_ = tuple(loaded.extra["tag_layers"]), loaded.extra["crossing"]
        inside = loaded.extra.get("tagger")
        self.tagger_ = Tagger.from_container(loaded.component("tagger")) if inside else None


_RELATION_PASSES = 5


def signature(bank: Treebank) -> str:
    """A hash of words, heads and the names of relations."""
    digest = hashlib.blake2b(bank.corpus.signature().encode(), digest_size=16)
    digest.update(np.ascontiguousarray(bank.heads, np.int32).tobytes())
    for layer in (bank.relations, *(getattr(bank, name) for name in TAG_LAYERS)):
        digest.update("\n".join(layer.strings()).encode())
    return digest.hexdigest()


def _parse_chunk(chunk: tuple[Any, int, int, bool], parser: MstParser) -> Parses:
    """The parses of some sentences."""
    layers, first, last, confidence = chunk
    lengths = (np.diff(layers.starts[first : last + 1]) - 3).tolist()
    longest, total = max(lengths, default=0), sum(lengths)
    order = parser.order if longest <= _PAIRED else 1
    room, decoding = room_for(longest, order, N_TAGS), parser._decoding(order)
    heads, relations = np.zeros(total, np.int32), np.zeros(total, np.int32)
    scores, likely = np.zeros(last - first), np.zeros(total if confidence else 0)
    named = parser.relation_weights_.shape[1]
    room_of_scores, shift = np.zeros(named, np.float32), np.uint64(64 - parser.relation_bits)
    outside, shares = charts.chart_for(longest), np.zeros((longest + 1, longest + 1))
    at = 0
    for sentence, n in zip(range(first, last), lengths, strict=True):
        tree = heads[at : at + n]
        if n:
            score(layers, sentence, decoding, parser.weights_, room.marks, room.places, room.arcs, room.siblings)
            scores[sentence - first] = decode(n, decoding, room, tree)
            if named:
                found = relations[at : at + n]
                relate(layers, sentence, tree, shift, parser.relation_weights_, room, room_of_scores, found)
            if confidence:
                likely[at : at + n] = _confidence(n, tree, decoding, room, outside, shares)
        at += n
    return Parses(heads, relations, scores, likely)


def _confidence(
    n: int, tree: np.ndarray, decoding: Decoding, room: Room, outside: charts.Chart, shares: np.ndarray
) -> np.ndarray:
    """How likely each arc of a tree is among all trees that the parser considers, by the scores in ``room``."""
    words = np.arange(n)
    if decoding.crossing:
        found, _ = spanning.shares(room.arcs[: n + 1, : n + 1], decoding.single)
        return found[tree, words + 1]
    charts.tilt(n, tree, room.arcs, room.siblings)
    charts.expectations(n, room.arcs, room.siblings, decoding.single, room.chart, outside, shares)
    return np.minimum(shares[tree, words + 1], 1.0)


def _check(loaded: container.Container) -> None:
    """What the declarations of the arrays cannot say."""
    model, arrays, extra = MstParser.restored(loaded.described), loaded.arrays, loaded.extra
    tags, crossing = extra.get("tag_layers"), extra.get("crossing")
    if not isinstance(tags, list) or not tags or any(name not in TAG_LAYERS for name in tags):
        raise ValueError("it does not say which layers are tags")
    if type(extra.get("tagger", False)) is not bool:
        raise ValueError("it does not say whether there is a tagger in it")
    if type(crossing) is not bool:
        raise ValueError("it does not say whether arcs may cross")
    if len(arrays["weights"]) != 1 << model.hash_bits:
        raise ValueError("its table of weights does not fit its settings")
    if arrays["relation_weights"].shape[1] and len(arrays["relation_weights"]) != 1 << model.relation_bits:
        raise ValueError("its table of relations does not fit its settings")


