"""ProjectedParser: a parser for a language without trees, from translations of a parsed language.

A[a, i] is how strongly source word a and target word i are linked, Y[a, b] = 1 where a is the head of b. What speaks
for an arc from target word i to j, and what against it, is

    for(i, j)     = sum_ab A[a, i] A[b, j] Y[a, b]        = (A' Y A)[i, j]
    against(i, j) = sum_ab A[a, i] A[b, j] (1 - Y[a, b])  = (sum_a A[a, i]) (sum_b A[b, j]) - for(i, j)
    Cp(i, j)      = sigmoid(kappa (for - against)),       or (for + e) / (for + against + 2 e)

Words without links have Cp = 1/2: nothing is known of them. Pairs with Cp above a threshold are arcs, pairs below 1
minus it are none, the others are not used, and a classifier of pairs learns from both. No whole tree is needed. With
kappa = 1, as printed in the paper, two words with one certain link each have Cp = 0.73 at best, so that nothing passes
the paper's own threshold of 0.85; kappa = 4 is the default.

For comparison the classifier can learn from whole trees instead: ``direct``: arcs are copied along the links on which
both directions agree, heads without a link are skipped, words without one hang on their nearest neighbour that has
one; ``tree``: the best projective tree by Cp.

Jiang and Liu, "Dependency parsing and projection based on word-pair classification", 2010, section 4 (A, Y, Cp, b for
the threshold); Hwa, Resnik, Weinberg, Cabezas and Kolak, "Bootstrapping parsers via syntactic projection across
parallel texts", 2005 (direct); weighted links as in Liu, Xia, Xiao and Liu, "Weighted alignment matrices for
statistical machine translation", 2009.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle import model as container
from corpuscle.engine.dp import charts
from corpuscle.errors import InputError, warn
from corpuscle.learning import Checkpoint
from corpuscle.measure.dependencies import punctuation
from corpuscle.parse.base import DependencyParser, check_weights, signature
from corpuscle.parse.kernels.pairs import NO, UNKNOWN, YES, Instances, collect
from corpuscle.parse.pairs import PAIRS, PARTIAL, PairClassifier, pair_parts, room_for_pairs, sampling_of
from corpuscle.parse.settings import ProjectionSettings
from corpuscle.parse.words import tag_layers
from corpuscle.text.alignments import AlignmentMatrix, Alignments
from corpuscle.text.heldout import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST

THRESHOLDS = (0.65, 0.75, 0.8, 0.85, 0.9, 0.95)
COVERAGES = (0.0, 0.5, 0.8)
"""What development trees choose from."""
_EPSILON = 0.05
_PASSES = 5
_NAMED = 0.25
"""A relation is projected along arcs with at least this evidence for them."""
_RELATED = 20_000
"""The largest number of sentences that relations are learned from."""


def evidence(links: np.ndarray, heads: np.ndarray, same_source: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """What speaks for and against every arc, float64 (target, target), heads first.

    ``links``: (source, target); ``heads``: (source,), counted from 1, 0 for the root. Without ``same_source`` links of
    two words to the same source word do not speak against an arc.
    """
    of_heads = np.where(heads[:, None] > 0, links[heads - 1], 0.0)
    for_arc = of_heads.T @ links
    totals = links.sum(0)
    against = np.outer(totals, totals) - for_arc
    return for_arc, against if same_source else against - links.T @ links


def probabilities(for_arc: np.ndarray, against: np.ndarray, kappa: float | None) -> np.ndarray:
    """Cp of every arc, float64 (target, target); ``kappa`` None: the ratio of what speaks for it."""
    if kappa is None:
        return (for_arc + _EPSILON) / (for_arc + against + 2.0 * _EPSILON)
    return 1.0 / (1.0 + np.exp(-np.clip(kappa * (for_arc - against), -500.0, 500.0)))


def direct_tree(links: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, int]:
    """A target tree by copied arcs, int32 (target,), and how many of its words have a link; without any, no tree."""
    n = links.shape[1]
    sources = np.where(links.max(0, initial=0.0) > 0.0, links.argmax(0), -1)
    partner = {int(a): j for j, a in enumerate(sources) if a >= 0 and links[a].argmax() == j}
    tree = np.full(n, -1, np.int32)
    for b, j in partner.items():
        head = int(heads[b])
        while head and head - 1 not in partner:
            head = int(heads[head - 1])
        tree[j] = partner[head - 1] + 1 if head else 0
    linked = np.flatnonzero(tree >= 0)
    if len(linked):
        roots = np.flatnonzero(tree == 0)
        tree[roots[1:]] = roots[0] + 1
        for j in np.flatnonzero(tree < 0).tolist():
            tree[j] = linked[np.argmin(np.abs(linked - j))] + 1
    return tree, len(linked)


class Projection(NamedTuple):
    """Parsed sentences, their translations and the links between them, pair by pair."""

    source: Treebank
    target: Treebank
    links: Alignments | AlignmentMatrix

    def check(self, path: str | PathLike[str] | None = None) -> None:
        """Raise an ``InputError`` that names the pair unless everything fits; ``path``: of the links."""
        if len(self.source) != len(self.target):
            counts = f"{len(self.source):,} source and {len(self.target):,} target sentences"
            raise self.target.error(f"{counts}: they are no translations of each other")
        if len(self.links) != len(self.source):
            raise InputError(path, None, f"links of {len(self.links):,} sentence pairs; there are {len(self.source):,}")
        lengths = np.column_stack([self.source.corpus.lengths, self.target.corpus.lengths])
        weights = self.links.weights
        if isinstance(self.links, AlignmentMatrix):
            wrong = np.flatnonzero((self.links.shapes != lengths).any(1))
            if len(wrong):
                (a, i), (m, n) = self.links.shapes[wrong[0]].tolist(), lengths[wrong[0]].tolist()
                raise InputError(path, None, f"pair {wrong[0] + 1}: a matrix of {a} by {i} for {m} and {n} words")
        else:
            outside = (self.links.links >= lengths[self.links.pairs]).any(1)
            if outside.any():
                where = int(np.argmax(outside))
                a, i = self.links.links[where].tolist()
                reason = f"pair {self.links.pairs[where] + 1}: the link {a}-{i} lies outside the sentences"
                raise InputError(path, None, reason)
        if weights is not None and not ((weights >= 0.0) & (weights <= 1.0001)).all():
            raise InputError(path, None, "the weight of a link is not between 0 and 1")

    def matrix(self, number: int) -> np.ndarray:
        """The links of a pair, float64 (source, target)."""
        if isinstance(self.links, AlignmentMatrix):
            return self.links.matrix(number).astype(np.float64)
        found = np.zeros((int(self.source.corpus.lengths[number]), int(self.target.corpus.lengths[number])))
        begin, end = self.links.starts[number : number + 2]
        weights = 1.0 if self.links.weights is None else self.links.weights[begin:end]
        found[tuple(self.links.links[begin:end].T)] = weights
        return found

    def signature(self) -> str:
        """A hash of both sides and the links."""
        digest = hashlib.blake2b((signature(self.source) + signature(self.target)).encode(), digest_size=16)
        weights = np.empty(0) if self.links.weights is None else np.ascontiguousarray(self.links.weights)
        digest.update(weights.tobytes())
        if isinstance(self.links, Alignments):
            digest.update(np.ascontiguousarray(self.links.links).tobytes())
        return digest.hexdigest()


class ProjectedParser(PairClassifier, ProjectionSettings, DependencyParser):
    """A parser of pairs that learned from projected arcs."""

    KIND: ClassVar[container.Kind] = container.Kind(
        "parse.projected", 1, PAIRS, components=pair_parts, check=check_weights
    )

    def checkpoint(self, data: Any, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a ``Projection``."""
        return Checkpoint(path, PARTIAL, self.settings, data.signature(), resume=resume)

    def fit(
        self, data: Projection, dev: Treebank | None = None, *, checkpoint: Checkpoint | None = None
    ) -> ProjectedParser:
        """Learn from sentence pairs; target trees choose the threshold (or the coverage), unless it was given."""
        data.check()
        self.chosen_, self.items_ = {}, item_hashes(data.target.corpus)
        usable = self._usable(data)
        self._choose_tags(data.target)
        name, levels = ("threshold", THRESHOLDS) if self.method == "instances" else ("coverage", COVERAGES)
        level = self.settings[name]
        if dev is not None:
            dev.check_trees()
            self.tuning_items_ = item_hashes(dev.corpus)
            if self.origins[name] != "given":
                level = self.chosen_[name] = self._best(levels, lambda at: self._learn_pairs(usable, at), dev)
        checkpoint = checkpoint or Checkpoint(signature=data.signature())
        trees = self._learn_pairs(usable, level, checkpoint)
        self._learn_names(usable, trees, checkpoint)
        return self

    def _usable(self, data: Projection) -> _Usable:
        """The pairs that can be learned from; the provenance counts the others by reason."""
        lengths = np.column_stack([data.source.corpus.lengths, data.target.corpus.lengths])
        filled, sound = (lengths > 0).all(1), data.source.sound_trees(single_root=True)
        short = lengths[:, 1] <= self.max_length
        self.provenance_ = {
            "sentences": len(data.source), "words": data.target.corpus.n_tokens,
            "broken_trees": int((~sound & filled).sum()), "too_long": int((filled & sound & ~short).sum()),
        }  # fmt: skip
        if self.provenance_["broken_trees"]:
            warn(f"{self.provenance_['broken_trees']:,} source trees have a cycle or several roots: they are not used")
        marks = np.zeros(data.target.corpus.n_tokens, bool) if self.punctuation else punctuation(data.target)
        return _Usable(data, np.flatnonzero(filled & sound & short), marks, self.floor)

    def _choose_tags(self, bank: Treebank) -> None:
        """Universal tags, else finer ones, else word classes, which are learned unless they were given."""
        try:
            there: tuple[str, ...] = tag_layers(bank)
        except InputError:
            there = ()
        layer = {"upos": "tags", "xpos": "xpos"}.get(self.tag_layer)
        if layer is not None and layer not in there:
            raise bank.error(f"the target words have no {self.tag_layer.upper()}")
        if self.tag_layer == "auto" and self.classes_ is None and there:
            layer = "tags" if "tags" in there else "xpos"
        self.tag_layers_ = () if layer is None else (layer,)
        if layer is None and self.classes_ is None:
            from corpuscle.words import ExchangeClasses

            if self.tag_layer == "auto":
                warn(f"the target words have no tags: {self.classes} word classes take their place")
            learner = ExchangeClasses(classes=self.classes, seed=self.seed, workers=self.workers, cluster=self.cluster)
            self.classes_ = learner.fit(bank.corpus)

    def tagged_by(self, tagger: Any, bank: Treebank) -> Treebank:
        """The text as it is: a tagger is of another language."""
        return bank

    # ---- what is learned from

    def probabilities(self, links: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """Cp of every arc of a sentence, float64 (target, target)."""
        kappa = None if self.evidence == "ratio" else self.kappa
        return probabilities(*evidence(links, heads, self.same_source), kappa)

    def _labels(self, usable: _Usable, threshold: float) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Of every pair its number, what is known of its arcs (int8), and Cp (float32), both (target, target)."""
        for number in usable.numbers.tolist():
            links, heads = usable.links(number), usable.data.source.sentence_heads(number)
            sure = self.probabilities(links, heads)
            labels = np.full(sure.shape, UNKNOWN, np.int8)
            labels[sure > threshold], labels[sure < 1.0 - threshold] = YES, NO
            unused = usable.marks[slice(*usable.data.target.corpus.sentence_starts[number : number + 2])]
            labels[unused], labels[:, unused] = UNKNOWN, UNKNOWN
            np.fill_diagonal(labels, UNKNOWN)
            yield number, labels, sure.astype(np.float32)

    def instances(self, usable: _Usable, threshold: float, ratio: float) -> tuple[Instances, float]:
        """The pairs that are sure enough, sampled, and by how much sampling raises logits."""
        available = np.zeros(2, np.int64)
        for _, labels, _ in self._labels(usable, threshold):
            available += [np.count_nonzero(labels == NO), np.count_nonzero(labels == YES)]
        if not available[YES]:
            raise usable.data.target.error(_NOTHING)
        sampling, correction = sampling_of(self.seed, available, ratio, self.max_pairs)
        found, at = room_for_pairs(int(sampling.wanted.sum())), 0
        for number, labels, sure in self._labels(usable, threshold):
            at = collect(number, labels, sure, sampling, found, at)
        return found, correction

    def _trees(self, usable: _Usable, coverage: float) -> tuple[np.ndarray, Treebank]:
        """The numbers of the pairs that give a tree, and their target sentences with these trees."""
        chart, numbers, trees = charts.chart_for(self.max_length), [], []
        for number in usable.numbers.tolist():
            links, heads = usable.links(number), usable.data.source.sentence_heads(number)
            n = links.shape[1]
            tree, linked = direct_tree(links, heads)
            if linked == 0 or linked < coverage * n:
                continue
            if self.method == "tree":
                arcs, sure = np.zeros((n + 1, n + 1)), self.probabilities(links, heads)
                arcs[1:, 1:] = np.log(np.maximum(sure, 1e-12)) if self.tree_score == "log" else sure
                charts.best_heads(n, arcs, charts.NO_SIBLINGS, True, chart, tree)
            numbers.append(number)
            trees.append(tree)
        chosen = usable.data.target.select(np.array(numbers, np.int64))
        return np.array(numbers, np.int64), chosen.replace(heads=np.concatenate([np.zeros(0, np.int32), *trees]))

    def _learn_pairs(
        self, usable: _Usable, level: float, checkpoint: Checkpoint | None = None
    ) -> tuple[np.ndarray, Treebank] | None:
        """Learn the weights of pairs; the trees that they were learned from, if they were."""
        if self.method == "instances":
            self.instances_, self.correction_ = self.instances(usable, level, self.ratio)
            self._learn(usable.data.target, self.instances_, checkpoint or Checkpoint(), self.weighted)
            return None
        numbers, bank = self._trees(usable, level)
        if not (bank.heads > 0).any():
            raise usable.data.target.error(_NOTHING)
        self.instances_ = self._learn_from(bank, self.ratio, checkpoint)
        self.provenance_ |= {"trees": len(bank)}
        return numbers, bank

    def _learn_names(self, usable: _Usable, trees: tuple[np.ndarray, Treebank] | None, checkpoint: Checkpoint) -> None:
        """Learn relations from those of the source arcs, in the trees of the training sentences as they are parsed by
        now, or in those that were learned from."""
        source = usable.data.source
        names = source.relations.vocab.strings[FIRST:]
        self._forget_relations()
        if not names:
            return
        if trees is None:
            numbers = usable.numbers[:_RELATED]
            bank = usable.data.target.select(numbers)
            bank = bank.replace(heads=self.parse(bank).heads)
        else:
            numbers, bank = trees[0][:_RELATED], trees[1][:_RELATED]
        starts = bank.corpus.sentence_starts
        ids = np.full(len(bank.heads), -1, np.int32)
        for place, number in enumerate(numbers.tolist()):
            begin, end = source.corpus.sentence_starts[number : number + 2]
            relations = source.relations.ids[begin:end] - FIRST
            # of every arc of the target tree, how strongly it comes from each source arc (the root from the root)
            links, heads = usable.links(number), source.heads[begin:end]
            rooted = np.column_stack([np.zeros(len(links)), links])
            of_heads = np.where(heads[:, None] > 0, rooted[heads - 1], 0.0)
            of_heads[heads == 0, 0] = 1.0
            strength = of_heads[:, bank.sentence_heads(place)] * links
            named = relations[strength.argmax(0)]
            ids[starts[place] : starts[place + 1]] = np.where(strength.max(0) >= _NAMED, named, -1)
        if not (ids >= 0).any():
            return
        self._relation_weights(self._layers(bank), bank, ids, names, _PASSES, checkpoint)


_NOTHING = "no pair of words is sure to be an arc; a lower --threshold, a larger --kappa or other links may help"


class _Usable(NamedTuple):
    """The pairs that are learned from: their ``numbers``; ``marks`` bool (target words,): words that are left out."""

    data: Projection
    numbers: np.ndarray
    marks: np.ndarray
    floor: float

    def links(self, number: int) -> np.ndarray:
        """The links of a pair that are strong enough, float64 (source, target)."""
        links = self.data.matrix(number)
        return np.where(links >= self.floor, links, 0.0)
