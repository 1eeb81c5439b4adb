"""Grammars with hidden states from moments: one pass of counting and a singular value decomposition for each symbol.

``estimate`` moments: operators of rules, exact in the limit, of either sign on finite data. ``cluster``: nodes of a
symbol are clustered by their projected features (k-means), clusters are taken for states that were seen, and a few
iterations of expectation-maximisation follow; all numbers are probabilities then.

A feature is a template with a value, seen at nodes of one label: what their own tree looks like, or what is around it.
Inside: the ``left`` and the ``right`` child; the
``rule``; the rule with the rule or word at its left (``rule-left``) or right child; the tag of the ``head``; the
``width``. Of tags the ``word`` (or what it looks like, if it is rare) and its last letters (``suffix``). Outside: the
rule ``above`` with the node marked, with the one above that (``two-above``) and a third; the labels of ``parent`` and
``grandparent``; the tag of the first other ``head`` on the way up; the ``widths`` to both sides; the word ``before``
and ``after``. Nothing of a node's own tree is outside of it.

Moments of these features give operators of rules, in place of probabilities of states. For every label a, with the
features phi of a node's own tree and psi of what is around it (every node of every tree, with weight one):

    Om_a = mean of phi psi',  its singular vectors U_a, V_a;  y = U_a' phi,  z = V_a' psi,  Sig_a = mean of y z'
    E_(a -> b c)[k, l, r] = (1 / M_a) sum over nodes with the rule of z[k] y_left[l] y_right[r]
    C_(a -> b c)[u, l, r] = sum_k Sig_a^-1[k, u] E[k, l, r];  c_(a -> x) = ((1 / M_a) sum of z) Sig_a^-1
    root_a = (1 / trees) sum over roots a of y

With exact moments the product of operators along a tree is its probability (checked in the tests). Drawing one node of
each tree, as the paper has it, is not enough: the chance of a node depends on the size of its tree, which ties inside
to outside. Rules and words that are rare are smoothed: a mean of three vectors by means of two and of one, with weight
sqrt(n) / (C + sqrt(n)) for n occurrences.

Cohen, Stratos, Collins, Foster and Ungar, "Spectral learning of latent-variable PCFGs", 2012, figure 3 and theorem 2;
features and smoothing as in Cohen, Stratos, Collins, Foster and Ungar, "Experiments with spectral learning of
latent-variable PCFGs", 2013, section 4; Narayan and Cohen, "Diversity in spectral learning for natural language
parsing", 2015 (clusters).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator

from corpuscle.engine.linalg.lowrank import krylov_svd
from corpuscle.errors import SettingError, warn
from corpuscle.grammar.base import TreebankGrammar
from corpuscle.grammar.heads import binary_heads, head_table
from corpuscle.grammar.kernels.vectors import Latent, States, pairs_for
from corpuscle.grammar.latent import STATES, StateLearner, check_states, normalised, ranks_of, serving_of, tune_mix
from corpuscle.grammar.parsing import Directions, Serving
from corpuscle.grammar.settings import SpectralSettings
from corpuscle.grammar.tables import TABLES, Counted, Tables, check_tables
from corpuscle.learning import Checkpoint
from corpuscle.model import ITEMS, Array, Arrays, Container, Kind, Record
from corpuscle.scale import each, starts_of, workers
from corpuscle.settings import learned
from corpuscle.text.trees import Trees

# ---- features of nodes


_BUCKETS = np.array([0, 1, 2, 3, 4, 5, 7, 11, 21])


def _bucket(numbers: np.ndarray) -> np.ndarray:
    return np.searchsorted(_BUCKETS, numbers, "right")


def _joined(*values: np.ndarray) -> np.ndarray:
    """One number for each combination of values, int64; -1 where one of them is -1."""
    result = values[0].astype(np.int64)
    for more in values[1:]:
        missing = (result < 0) | (more < 0)
        _, here = np.unique(result, return_inverse=True)
        width = int(more.max(initial=0)) + 1
        result = np.where(missing, -1, here.ravel().astype(np.int64) * width + more)
    return result


def inside_values(
    counted: Counted, heads: np.ndarray, words: np.ndarray, suffixes: np.ndarray
) -> dict[str, np.ndarray]:
    """Template -> the value of each node, int64 (n_nodes,), -1 for none. ``heads``: the tag of the head of each node;
    ``words``: entries of tags' words; ``suffixes``: numbers of their last letters."""
    nodes, rules = counted.nodes, counted.rules
    phrase = rules >= 0
    left, right = (np.where(phrase, nodes.symbols[child], -1) for child in (nodes.lefts, nodes.rights))
    content = np.where(phrase, rules, rules.max(initial=0) + 1 + words)
    at_left, at_right = (np.where(phrase, content[child], -1) for child in (nodes.lefts, nodes.rights))
    return {
        "left": left, "right": right, "rule": rules, "rule-left": _joined(rules, at_left),
        "rule-right": _joined(rules, at_right), "head": np.where(phrase, heads, -1),
        "width": np.where(phrase, _bucket(nodes.spans[:, 1] - nodes.spans[:, 0]), -1),
        "word": np.where(phrase, -1, words), "suffix": np.where(phrase, -1, suffixes),
    }  # fmt: skip


def outside_values(
    counted: Counted, heads: np.ndarray, head_words: np.ndarray, sentences: np.ndarray, entries: np.ndarray
) -> dict[str, np.ndarray]:
    """Template -> the value of each node, int64 (n_nodes,). ``heads``, ``head_words``: tag and number of the head of
    each node; ``sentences``: int64 (n_nodes, 2), the words of its sentence; ``entries``: of all words."""
    nodes, rules = counted.nodes, counted.rules
    up, root = np.maximum(nodes.parents, 0), nodes.parents < 0
    none = int(rules.max(initial=0)) + 1
    side = np.where(root, 2, nodes.lefts[up] == np.arange(len(up)))
    above = np.where(root, none * 3, rules[up] * 3 + side)
    top = int(nodes.symbols.max(initial=0)) + 1
    parent = np.where(root, top, nodes.symbols[up])
    two = _joined(above, above[up])
    other = np.full(len(up), int(heads.max(initial=0)) + 1)
    climbing = up.copy()
    waiting = ~root
    while waiting.any():
        differs = waiting & (head_words[climbing] != head_words)
        other[differs] = heads[climbing[differs]]
        waiting &= ~differs & (nodes.parents[climbing] >= 0)
        climbing = np.where(waiting, np.maximum(nodes.parents[climbing], 0), climbing)
    first, end, begin = nodes.spans[:, 0], nodes.spans[:, 1], sentences[:, 0]
    lengths = sentences[:, 1] - begin
    edge = int(entries.max(initial=0)) + 1
    before = np.where(first > 0, entries[np.maximum(begin + first - 1, 0)], edge)
    after = np.where(end < lengths, entries[np.minimum(begin + end, len(entries) - 1)], edge)
    return {
        "above": above, "two-above": two, "three-above": _joined(two, above[up[up]]), "parent": parent,
        "grandparent": _joined(parent, parent[up]), "head": other,
        "widths": _bucket(first) * 16 + _bucket(lengths - end), "before": before, "after": after,
    }  # fmt: skip


class NodesSeen(NamedTuple):
    """All nodes of the binary trees in preorder, for features of one's own: their ``labels``; ``parents``, ``lefts``
    and ``rights`` int64 (n_nodes,), nodes or -1; ``spans`` int64 (n_nodes, 2), their words among all ``words``;
    ``sentences`` int64 (n_nodes, 2), those of their sentence."""

    labels: list[str]
    parents: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    spans: np.ndarray
    sentences: np.ndarray
    words: list[str]


Features = Callable[[NodesSeen], Mapping[str, Sequence[str]]]
"""Name -> a value for each node, empty for none."""


def user_values(function: Features | None, nodes: NodesSeen) -> dict[str, np.ndarray]:
    """What a function of the user says, as numbers: int64 (n_nodes,), -1 for none."""
    found = {}
    for name, values in (function(nodes) if function else {}).items():
        if len(values) != len(nodes.labels):
            raise SettingError(f"the feature {name!r} has {len(values):,} values for {len(nodes.labels):,} nodes")
        _, numbers = np.unique(["", *values], return_inverse=True)
        found[f"user {name}"] = numbers.ravel()[1:].astype(np.int64) - 1
    return found


def feature_matrix(
    symbols: np.ndarray, values: dict[str, np.ndarray], names: tuple[str, ...], min_count: int
) -> csr_array:
    """Which node has which feature: 0 and 1, float64 (n_nodes, n_features), the first of which all nodes have."""
    rows, columns, count = [np.arange(len(symbols))], [np.zeros(len(symbols), np.int64)], 1
    for name in names:
        has = np.flatnonzero(values[name] >= 0)
        keys = _joined(symbols[has], values[name][has])
        _, number, counts = np.unique(keys, return_inverse=True, return_counts=True)
        number = number.ravel()
        keep = counts >= min_count
        places = np.cumsum(keep) - 1 + count
        chosen = keep[number]
        rows.append(has[chosen])
        columns.append(places[number[chosen]])
        count += int(keep.sum())
    where = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(where[0])), where), shape=(len(symbols), count))


# ---- moments and operators


_DENSE = 60


class Moments(NamedTuple):
    """Projected features of all nodes: ``inside`` and ``outside`` float64 (n_nodes, most), 0 beyond the rank of a
    node's label; ``ranks`` int64 (n_symbols,); ``values`` float64 (n_symbols, most), the singular values."""

    inside: np.ndarray
    outside: np.ndarray
    ranks: np.ndarray
    values: np.ndarray


class Operators(NamedTuple):
    """``starts`` int64 (n_rules,) and ``values`` float64: the tensors of rules, one after the other; ``root`` float64
    (n_symbols, most); ``pairs`` float64 (n_pairs, most), ``tags`` float64 (n_tags, most): see ``Directions``."""

    starts: np.ndarray
    values: np.ndarray
    root: np.ndarray
    pairs: np.ndarray
    tags: np.ndarray


def _cross(phi: csr_array, psi: csr_array, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first singular vectors and values of phi' psi / n."""
    n = phi.shape[0]
    if min(phi.shape[1], psi.shape[1]) <= _DENSE or k + 8 >= min(phi.shape[1], psi.shape[1]):
        left, values, right = np.linalg.svd((phi.T @ psi).toarray() / n, full_matrices=False)
        return left[:, :k], values[:k], right[:k].T
    operator = LinearOperator(
        (phi.shape[1], psi.shape[1]), matvec=lambda v: phi.T @ (psi @ v) / n, rmatvec=lambda v: psi.T @ (phi @ v) / n,
        matmat=lambda v: phi.T @ (psi @ v) / n, rmatmat=lambda v: psi.T @ (phi @ v) / n, dtype=np.float64,
    )  # fmt: skip
    found = krylov_svd(operator, k, width=k, rounds=6, seed=seed)
    return found.left, found.values, found.right


def _used(features: csr_array, kappa: float) -> csr_array:
    """The columns that are not empty, scaled by sqrt(n / (count + kappa)) where kappa is not negative."""
    counts = np.asarray((features != 0).sum(axis=0)).ravel()
    features = csr_array(features[:, np.flatnonzero(counts)])
    if kappa < 0:
        return features
    return features @ diags_array(np.sqrt(features.shape[0] / (counts[counts > 0] + kappa)))


def project(
    symbols: np.ndarray, phi: csr_array, psi: csr_array, most: np.ndarray, *, kappa: float, tolerance: float, seed: int
) -> Moments:
    """Project the features of all nodes; ``most`` int64 (n_symbols,): the largest ranks; ``kappa`` -1: no scaling."""
    n, width = len(symbols), int(most.max())
    inside, outside = np.zeros((n, width)), np.zeros((n, width))
    ranks, singular = np.ones(len(most), np.int64), np.zeros((len(most), width))
    order, edges = _groups(symbols, len(most))
    for a in range(len(most)):
        rows = order[edges[a] : edges[a + 1]]
        if len(rows) == 0:
            continue
        mine, around = _used(phi[rows], kappa), _used(psi[rows], kappa)
        left, values, right = _cross(mine, around, int(min(most[a], *mine.shape, around.shape[1])), seed)
        rank = max(1, int((values > tolerance * values[0]).sum()))
        ranks[a], singular[a, :rank] = rank, values[:rank]
        inside[rows, :rank], outside[rows, :rank] = mine @ left[:, :rank], around @ right[:, :rank]
    return Moments(inside, outside, ranks, singular)


def _groups(keys: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The items of each key: their numbers in order of keys (those below 0 left out), and where each key begins."""
    order = np.argsort(keys, kind="stable")
    return order, np.searchsorted(keys[order], np.arange(count + 1))


def _mean_by(keys: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """The mean of the rows of each key, float64 (count, width)."""
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, keys, rows)
    return sums / np.maximum(np.bincount(keys, minlength=count), 1)[:, None]


def _weight(occurrences: Any, smoothing: float) -> Any:
    root = np.sqrt(occurrences)
    return root / (smoothing + root)


def _smooth(
    z: np.ndarray, left: np.ndarray, right: np.ndarray, means: list[np.ndarray], smoothing: float
) -> np.ndarray:
    """The mean of z x left x right over the nodes of a rule, smoothed."""
    three = np.einsum("nk,nl,nr->klr", z, left, right, optimize=True) / len(z)
    if smoothing == 0:
        return three
    weight = _weight(len(z), smoothing)
    own = [each.mean(axis=0) for each in (z, left, right)]
    two = (
        np.einsum("kl,r->klr", z.T @ left / len(z), own[2]) + np.einsum("kr,l->klr", z.T @ right / len(z), own[1])
        + np.einsum("lr,k->klr", left.T @ right / len(z), own[0])
    ) / 3  # fmt: skip
    single = [weight * mine + (1 - weight) * general for mine, general in zip(own, means, strict=True)]
    one = np.einsum("k,l,r->klr", *single)
    return weight * three + (1 - weight) * (weight * two + (1 - weight) * one)


def operators_of(counted: Counted, tables: Tables, moments: Moments, smoothing: float) -> Operators:
    """Operators of rules, words and roots from projected features."""
    nodes, ranks, n_phrases = counted.nodes, moments.ranks, tables.symbols.n_phrases
    symbols = nodes.symbols.astype(np.int64)
    n_symbols = len(ranks)
    sizes = np.bincount(symbols, minlength=n_symbols)
    inverse = np.zeros((n_symbols, moments.inside.shape[1], moments.inside.shape[1]))
    order, edges = _groups(symbols, n_symbols)
    for a in range(n_symbols):
        rows, m = order[edges[a] : edges[a + 1]], ranks[a]
        if len(rows):
            inverse[a, :m, :m] = np.linalg.inv(moments.inside[rows, :m].T @ moments.outside[rows, :m] / len(rows))
    around = _mean_by(symbols, moments.outside, n_symbols)
    phrase = np.flatnonzero(counted.rules >= 0)
    lefts, rights = nodes.lefts[phrase], nodes.rights[phrase]
    as_left, as_right = (_mean_by(symbols[child], moments.inside[child], n_symbols) for child in (lefts, rights))
    order, edges = _groups(counted.rules, len(tables.counts))
    blocks, rules = [], tables.rules
    for r in range(len(tables.counts)):
        rows = order[edges[r] : edges[r + 1]]
        a, b, c = rules.parents[r], rules.lefts[r], rules.rights[r]
        views = (
            moments.outside[rows, : ranks[a]], moments.inside[nodes.lefts[rows], : ranks[b]],
            moments.inside[nodes.rights[rows], : ranks[c]],
        )  # fmt: skip
        means = [around[a, : ranks[a]], as_left[b, : ranks[b]], as_right[c, : ranks[c]]]
        mean = _smooth(*views, means, smoothing) * (len(rows) / sizes[a])
        blocks.append(np.einsum("ku,klr->ulr", inverse[a, : ranks[a], : ranks[a]], mean).ravel())
    starts = starts_of(map(len, blocks))[:-1]
    root = np.zeros((n_symbols, moments.inside.shape[1]))
    np.add.at(root, symbols[counted.roots], moments.inside[counted.roots])
    tags = np.flatnonzero(counted.pairs >= 0)
    table = tables.lexicon.counts
    of_pair = _mean_by(counted.pairs[tags], moments.outside[tags], table.nnz)
    seen = np.bincount(counted.pairs[tags], minlength=table.nnz)[:, None]
    weight = _weight(seen, smoothing) if smoothing > 0 else (seen > 0) * 1.0
    general = around[n_phrases:]
    of_pair = weight * of_pair + (1 - weight) * general[table.indices]
    return Operators(
        starts, np.concatenate([np.empty(0), *blocks]), root / len(counted.roots),
        np.einsum("nk,nku->nu", of_pair, inverse[n_phrases + table.indices]),
        np.einsum("nk,nku->nu", general, inverse[n_phrases:]),
    )  # fmt: skip


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


def _check(content: Container) -> None:
    if "operators/ranks" not in content.arrays:
        check_states(content)
    else:
        check_tables(content)
        ranks = content.arrays["operators/ranks"]
        sizes = np.prod([ranks[content.arrays[f"rules/{part}"]] for part in ("parents", "lefts", "rights")], axis=0)
        starts = np.cumsum(sizes) - sizes
        where, values = content.arrays["operators/starts"], content.arrays["operators/values"]
        if not np.array_equal(starts, where) or sizes.sum() != len(values):
            raise ValueError("its operators do not fit its rules")


class SpectralGrammar(SpectralSettings, TreebankGrammar):
    """A grammar whose hidden states are learned from moments of features.

    Learned: ``ranks_`` int64 (n_symbols,) and ``operators_``, an ``Operators``; or, with ``estimate`` cluster,
    ``counts_``, the ``States``. What the other estimate would have learned is None.
    """

    KIND: ClassVar[Kind] = Kind(
        "grammar.spectral", 1, check=_check,
        arrays=lambda extra: {**ITEMS, **TABLES, **(STATES if extra.get("estimate") == "cluster" else OPERATORS)},
    )  # fmt: skip
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
        for more features than those of the settings; an outside one must not look into a node's own tree."""
        if self.estimate != "cluster":
            self._refuse(("iterations",), "without estimate cluster")
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

    def _moments(self, trees: Trees, counted: Counted, inside: Features | None, outside: Features | None) -> Moments:
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
        at, bounds = np.maximum(nodes.words, 0), np.stack([binary.sentence_starts[:-1], binary.sentence_starts[1:]], 1)
        sentences = np.repeat(bounds, np.diff(nodes.tree_starts), axis=0)
        own = inside_values(counted, tag_of[heads], entries[at], suffixes.ravel()[at])
        around = outside_values(counted, tag_of[heads], heads, sentences, entries)
        names = tables.symbols.names
        seen = NodesSeen(
            [names[symbol] for symbol in nodes.symbols.tolist()], nodes.parents, nodes.lefts, nodes.rights,
            nodes.spans + sentences[:, :1], sentences, words,
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
        order, edges = _groups(nodes.symbols, len(ranks))

        def clusters(a: int) -> None:
            from sklearn.cluster import KMeans

            rows, m = order[edges[a] : edges[a + 1]], moments.ranks[a]
            points = np.concatenate([moments.inside[rows, :m], moments.outside[rows, :m]], axis=1)
            points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
            points *= np.tile(moments.values[a, :m] / moments.values[a, 0], 2)
            distinct = len(np.unique(points.round(9), axis=0))
            state[rows] = KMeans(int(min(ranks[a], distinct)), n_init=1, random_state=self.seed).fit(points).labels_

        each(clusters, [a for a in range(len(ranks)) if ranks[a] > 1], self.threads)
        n = len(tables.counts)
        shapes = (len(ranks), most), (n, most), (n, most, most), (n, most, most), (tables.lexicon.counts.nnz, most)
        counts = States(ranks, *map(np.zeros, shapes))
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

    @cached_property
    def serving(self) -> Serving:
        tables, real = self.tables_, self._real()
        if self.estimate == "cluster":
            return serving_of(self.counts_, tables, _SMOOTHING, real)
        found, ranks = self.operators_, self.ranks_
        pairs, most = pairs_for(tables.rules, len(ranks)), found.root.shape[1]
        latent = Latent(ranks, found.starts, found.values, pairs, most)
        return Serving(tables, latent, found.root, Directions(found.pairs, found.tags), real)

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "estimate": self.estimate}
