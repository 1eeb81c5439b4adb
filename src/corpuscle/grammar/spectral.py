"""Grammars with hidden states from moments: one pass of counting and a singular value decomposition for each symbol.

``estimate`` moments: the operators of ``moments``, exact in the limit, of either sign on finite data. ``cluster``:
nodes of a symbol are clustered by their projected features (k-means), clusters are taken for states that were seen,
and a few iterations of expectation-maximisation follow; all numbers are probabilities then.

Cohen, Stratos, Collins, Foster and Ungar, "Spectral learning of latent-variable PCFGs", 2012; Narayan and Cohen,
"Diversity in spectral learning for natural language parsing", 2015 (clusters).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from corpuscle.errors import warn
from corpuscle.grammar.base import TreebankGrammar
from corpuscle.grammar.features import (
    Features,
    NodesSeen,
    feature_matrix,
    head_begin,
    inside_values,
    outside_values,
    user_values,
)
from corpuscle.grammar.heads import binary_heads, head_table
from corpuscle.grammar.kernels.trees import States
from corpuscle.grammar.kernels.vectors import Latent, pairs_for
from corpuscle.grammar.latent import STATES, StateLearner, normalised, ranks_of, serving_of, tune_mix
from corpuscle.grammar.moments import Moments, Operators, operators_of, project
from corpuscle.grammar.parsing import Directions, Serving
from corpuscle.grammar.settings import SpectralSettings
from corpuscle.grammar.tables import TABLES, Counted, check_tables
from corpuscle.learning import Checkpoint
from corpuscle.model import ITEMS, Array, Arrays, Container, Kind, Record
from corpuscle.scale import each, workers
from corpuscle.settings import learned
from corpuscle.text.trees import Trees

_SMOOTHING = 0.05
_LARGE = 1e3

OPERATORS: dict[str, Array] = {
    "operators/ranks": Array("int64", ("symbols",), low=1, high="most+1"),
    "operators/starts": Array("int64", ("rules",), low=0),
    "operators/values": Array("float64", ("numbers",), finite=True),
    "operators/root": Array("float64", ("symbols", "most"), finite=True),
    "operators/pairs": Array("float64", ("pairs", "most"), finite=True),
    "operators/tags": Array("float64", ("tags", "most"), finite=True),
}


def _arrays_for(extra: Mapping[str, Any]) -> dict[str, Array]:
    return {**ITEMS, **TABLES, **(STATES if extra.get("estimate") == "cluster" else OPERATORS)}


def _check(content: Container) -> None:
    check_tables(content)
    if "operators/ranks" in content.arrays:
        ranks = content.arrays["operators/ranks"]
        sizes = np.prod([ranks[content.arrays[f"rules/{part}"]] for part in ("parents", "lefts", "rights")], axis=0)
        starts = np.cumsum(sizes) - sizes
        if not np.array_equal(starts, content.arrays["operators/starts"]) or sizes.sum() != len(
            content.arrays["operators/values"]
        ):
            raise ValueError("its operators do not fit its rules")


class SpectralGrammar(SpectralSettings, TreebankGrammar):
    """A grammar whose hidden states are learned from moments of features.

    Learned: ``ranks_`` int64 (n_symbols,) and ``operators_``, an ``Operators``; or, with ``estimate`` cluster,
    ``counts_``, the ``States``. What the other estimate would have learned is None.
    """

    KIND: ClassVar[Kind] = Kind("grammar.spectral", 1, _arrays_for, check=_check)
    SAVED: ClassVar = {
        "ranks_": Arrays("operators/ranks", copied=True),
        "operators_": Record(Operators, "operators/", copied=True),
        "counts_": Record(States, "states/", copied=True),
    }

    ranks_: Any = learned()
    operators_: Any = learned()
    counts_: Any = learned()

    def fit(
        self, trees: Trees, dev: Trees | None = None, *, inside: Features | None = None, outside: Features | None = None
    ) -> SpectralGrammar:
        """Learn from a treebank; development trees choose the weight of the PCFG. ``inside`` and ``outside``: functions
        that give features of one's own beside those of the settings; an outside one must see nothing of a node's own
        tree."""
        counted = self._count(trees)
        self.ranks_ = self.operators_ = self.counts_ = None
        moments = self._moments(trees, counted, inside, outside)
        if self.estimate == "cluster":
            self._cluster(counted, moments)
        else:
            self.ranks_ = moments.ranks
            self.operators_ = operators_of(counted, self.tables_, moments, self.smoothing)
            top = float(np.abs(self.operators_.values).max(initial=0.0))
            if top > _LARGE:
                warn(f"operators of up to {top:.3g}: a larger --rank-tolerance or --nodes-a-state would be safer")
        tune_mix(self, dev)
        return self

    def _moments(
        self, trees: Trees, counted: Counted, inside: Features | None = None, outside: Features | None = None
    ) -> Moments:
        nodes, tables = counted.nodes, self.tables_
        heads = binary_heads(nodes, tables.symbols, head_table(trees))
        tags = nodes.words >= 0
        tag_of = np.zeros(int(tags.sum()), np.int64)
        tag_of[nodes.words[tags]] = tables.symbols.base[nodes.symbols[tags] - tables.symbols.n_phrases]
        binary = self.binary(trees).words
        words = binary.vocab.decode(binary.tokens.tolist())
        entries = np.zeros(len(words), np.int64)
        rows = np.repeat(np.arange(tables.lexicon.counts.shape[0]), np.diff(tables.lexicon.counts.indptr))
        entries[nodes.words[tags]] = rows[counted.pairs[tags]]
        _, suffixes = np.unique([word[-3:].lower() for word in words], return_inverse=True)
        at = np.maximum(nodes.words, 0)
        lengths = np.repeat(binary.lengths, np.diff(nodes.tree_starts))
        own = inside_values(counted, tag_of[heads], entries[at], suffixes.ravel()[at])
        around = outside_values(counted, tag_of[heads], heads, lengths, entries)
        names, begin = tables.symbols.names, head_begin(counted, lengths)
        seen = NodesSeen(
            [names[symbol] for symbol in nodes.symbols.tolist()], nodes.parents, nodes.lefts, nodes.rights,
            nodes.spans + begin[:, None], np.stack([begin, begin + lengths], axis=1), words,
        )  # fmt: skip
        more, others = user_values(inside, seen), user_values(outside, seen)
        phi = feature_matrix(nodes.symbols, own | more, (*self.inside, *more), self.min_count)
        psi = feature_matrix(nodes.symbols, around | others, (*self.outside, *others), self.min_count)
        return project(
            nodes.symbols.astype(np.int64), phi, psi, ranks_of(self), kappa=self.kappa, tolerance=self.rank_tolerance,
            seed=self.seed,
        )  # fmt: skip

    def _cluster(self, counted: Counted, moments: Moments) -> None:
        """States as clusters of nodes, then expectation-maximisation."""
        nodes, tables, ranks = counted.nodes, self.tables_, ranks_of(self)
        most, state = int(ranks.max()), np.zeros(len(nodes.symbols), np.int64)
        order = np.argsort(nodes.symbols, kind="stable")
        edges = np.searchsorted(nodes.symbols[order], np.arange(len(ranks) + 1))

        def clusters(a: int) -> None:
            from sklearn.cluster import KMeans

            rows, m = order[edges[a] : edges[a + 1]], moments.ranks[a]
            points = np.concatenate([moments.inside[rows, :m], moments.outside[rows, :m]], axis=1)
            points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
            points *= np.tile(moments.values[a, :m] / moments.values[a, 0], 2)
            distinct = len(np.unique(points.round(9), axis=0))
            state[rows] = KMeans(int(min(ranks[a], distinct)), n_init=1, random_state=self.seed).fit(points).labels_

        each(clusters, [a for a in range(len(ranks)) if ranks[a] > 1], self.threads)
        counts = States(
            ranks, np.zeros((len(ranks), most)), np.zeros((len(tables.counts), most)),
            np.zeros((len(tables.counts), most, most)), np.zeros((len(tables.counts), most, most)),
            np.zeros((tables.lexicon.counts.nnz, most)),
        )  # fmt: skip
        np.add.at(counts.root, (nodes.symbols[counted.roots], state[counted.roots]), 1.0)
        phrase, tags = np.flatnonzero(counted.rules >= 0), np.flatnonzero(counted.pairs >= 0)
        here = counted.rules[phrase], state[phrase]
        np.add.at(counts.rule, here, 1.0)
        np.add.at(counts.left, (*here, state[nodes.lefts[phrase]]), 1.0)
        np.add.at(counts.right, (*here, state[nodes.rights[phrase]]), 1.0)
        np.add.at(counts.pair, (counted.pairs[tags], state[tags]), 1.0)
        self.counts_ = counts
        if self.iterations:
            with workers(self.workers, self.cluster) as pool:
                learner = StateLearner(counted, tables, normalised(counts, tables, 0.01), pool)
                done = Checkpoint().run(learner, self.iterations, title="iterations")
            self.counts_ = learner.counts
            self.provenance_ |= {"logp": float(done.history[-1, 0])}

    def _serving(self) -> Serving:
        tables, real = self.tables_, self._real()
        if self.estimate == "cluster":
            return serving_of(self.counts_, tables, _SMOOTHING, real)
        found, ranks = self.operators_, self.ranks_
        pairs, most = pairs_for(tables.rules, len(ranks)), found.root.shape[1]
        latent = Latent(ranks, found.starts, found.values, pairs, most)
        return Serving(tables, latent, found.root, Directions(found.pairs, found.tags), real)

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "estimate": self.estimate}
