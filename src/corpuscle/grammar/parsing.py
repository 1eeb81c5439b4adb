"""One sentence: the plain PCFG's chart, what of it is kept, the chart of vectors over that, and the tree that is
chosen.

The plain pass is exact; an item whose share of all trees it gives is below ``prune`` is left out of the second one,
unless it is part of the most probable tree. If nothing complete is left, the threshold is lowered.

Goodman, "Parsing algorithms and metrics", 1996 (most expected brackets); Charniak et al., "Multilevel coarse-to-fine
PCFG parsing", 2006.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.engine.dp import cky
from corpuscle.grammar.kernels import vectors as kernels
from corpuscle.grammar.kernels.spans import BRACKETS
from corpuscle.grammar.kernels.vectors import Items, Latent, Plain
from corpuscle.grammar.tables import Tables


class Directions(NamedTuple):
    """What a word says of the states of its tag: its vector is its probability times this, float64 (n_pairs, most) in
    the order of the lexicon's counts, or (n_tags, most) where a word is new to its tag."""

    pairs: np.ndarray
    tags: np.ndarray


class Serving(NamedTuple):
    """A grammar that is ready to parse: counts, tensors, vectors of the root float64 (n_symbols, most), of words; which
    symbols are of the treebank and not parts of split nodes, bool (n_symbols,)."""

    tables: Tables
    latent: Latent
    root: np.ndarray
    directions: Directions
    real: np.ndarray


class Fine(NamedTuple):
    """A chart of vectors: its items, their insides and outsides, the exponents of cells."""

    items: Items
    vectors: np.ndarray
    exponents: np.ndarray
    outside: np.ndarray


class Shares(NamedTuple):
    """What is known of a sentence: the plain chart with its outside, the chart of vectors (None: the plain one is all
    there is), and the logarithm of its probability; -inf if there is no tree."""

    n: int
    leaves: np.ndarray
    chart: cky.Chart
    outside: np.ndarray
    fine: Fine | None
    logp: float

    def plain(self, mix: float) -> Plain:
        """The plain chart as the other kernels want it."""
        return Plain(self.chart.inside, self.outside, self.chart.exponents, mix)

    def items(self, mix: float) -> np.ndarray:
        """The share of all trees that have each item, float64 (n_cells, n_symbols); ``mix`` of it by the plain PCFG."""
        plain = self.chart.inside * self.outside
        if self.fine is None:
            return plain
        items, shares = self.fine.items, np.zeros_like(plain)
        if len(items.symbols):
            values = np.add.reduceat(self.fine.vectors * self.fine.outside, items.places[:-1])
            cells = np.repeat(np.arange(len(plain)), np.diff(items.starts))
            shares[cells, items.symbols] = np.maximum(values, 0.0)
            shares = (1.0 - mix) * shares + mix * np.where(items.number >= 0, plain, 0.0)
        return shares


def leaves_of(tables: Tables, entries: np.ndarray, bases: np.ndarray | None) -> np.ndarray:
    """How likely each symbol has each word, float64 (n, n_symbols); ``bases``: the treebank's tags, -1 where not known,
    which leave a word nothing else."""
    weights = tables.lexicon.weights(entries)
    if bases is not None:
        fits = (tables.symbols.base[None, :] == bases[:, None]) | (bases[:, None] < 0)
        chosen = np.where(fits, weights, 0.0)
        # A word that cannot have its tag: all words have the same probability given that tag.
        alike = np.where(fits, 1.0 / np.maximum(tables.lexicon.by_tag.sum(), 1.0), 0.0)
        weights = np.where(chosen.any(axis=1, keepdims=True), chosen, alike)
    return np.concatenate([np.zeros((len(entries), tables.symbols.n_phrases)), weights], axis=1)


def look_at(serving: Serving, entries: np.ndarray, bases: np.ndarray | None, prune: float, latent: bool) -> Shares:
    """Inside and outside of a sentence with at least one word; ``latent``: vectors, too."""
    tables, n = serving.tables, len(entries)
    leaves = leaves_of(tables, entries, bases)
    chart = cky.chart_for(n, leaves.shape[1])
    logp = cky.sum_chart(n, tables.rules, tables.root, leaves, cky.NO_SPANS, cky.ALL, chart)
    outside = np.zeros_like(chart.inside)
    found = Shares(n, leaves, chart, outside, None, logp)
    if logp > -math.inf:
        cky.expectations(n, tables.rules, tables.root, cky.NO_SPANS, chart, outside, np.zeros(len(tables.counts)))
    if not latent or not logp > -math.inf:
        return found
    shares = chart.inside * outside
    if prune > 0.0:
        best = best_of_pcfg(serving, leaves)
        shares[cky.cell_numbers(n, best[:, 1], best[:, 2]), best[:, 0]] = 1.0
    for threshold in (prune, prune * 1e-3, 0.0):
        fine, total, exponent = _fine(serving, n, leaves, entries, shares > threshold)
        if total > 0.0:
            kernels.outside_vectors(
                n, tables.rules, serving.latent, fine.items, serving.root, fine.vectors, fine.exponents, fine.outside
            )
            return found._replace(fine=fine, logp=math.log(total) + exponent * math.log(2.0))
    return found._replace(logp=-math.inf)


def _fine(
    serving: Serving, n: int, leaves: np.ndarray, entries: np.ndarray, keep: np.ndarray
) -> tuple[Fine, float, int]:
    latent, tables = serving.latent, serving.tables
    items = kernels.items_for(keep, latent.ranks)
    vectors = np.zeros(items.places[-1])
    words = items.starts[n]
    cells = np.repeat(np.arange(n), np.diff(items.starts[: n + 1]))
    symbols = items.symbols[:words]
    said = word_vectors(serving, entries)[cells, symbols - tables.symbols.n_phrases]
    said = said * leaves[cells, symbols][:, None]
    vectors[: items.places[words]] = said[np.arange(latent.most) < latent.ranks[symbols][:, None]]
    exponents = np.zeros(len(keep), np.int64)
    total, exponent = kernels.inside_vectors(n, tables.rules, latent, items, serving.root, vectors, exponents)
    return Fine(items, vectors, exponents, np.zeros_like(vectors)), total, exponent


def word_vectors(serving: Serving, entries: np.ndarray) -> np.ndarray:
    """What words say of the states of all tags, float64 (n, n_tags, most)."""
    table, said = serving.tables.lexicon.counts, np.repeat(serving.directions.tags[None], len(entries), axis=0)
    for i, entry in enumerate(entries.tolist()):
        first, last = table.indptr[entry], table.indptr[entry + 1]
        said[i, table.indices[first:last]] = serving.directions.pairs[first:last]
    return said


def decode(serving: Serving, shares: Shares, how: str, mix: float) -> np.ndarray:
    """The chosen tree, int32 (n_nodes, 3): symbols and spans in preorder; empty if there is none."""
    if how == "best":
        return best_of_pcfg(serving, shares.leaves)
    if how == "rules" and shares.fine is not None:
        return _most_rules(serving, shares, mix)
    return _most_brackets(serving, shares, mix)


def _logs(serving: Serving, leaves: np.ndarray) -> tuple[cky.Rules, np.ndarray, np.ndarray]:
    tables = serving.tables
    with np.errstate(divide="ignore"):
        return tables.rules._replace(weights=np.log(tables.rules.weights)), np.log(tables.root), np.log(leaves)


def best_of_pcfg(serving: Serving, leaves: np.ndarray) -> np.ndarray:
    """The most probable tree of the plain PCFG; ``leaves``: see ``leaves_of``."""
    return _best(*_logs(serving, leaves), cky.NO_SPANS)


def _best(rules: cky.Rules, root: np.ndarray, leaves: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """The best tree by logarithms of weights, empty if there is none."""
    n, symbols = leaves.shape
    chart, tree = cky.chart_for(n, symbols), np.zeros((2 * n - 1, 3), np.int32)
    cky.best_chart(n, rules, root, leaves, spans, cky.ALL, chart)
    return tree if cky.best_tree(n, rules, root, chart, tree) else tree[:0]


def k_best_of_pcfg(serving: Serving, shares: Shares, k: int) -> np.ndarray:
    """The k most probable trees of the plain PCFG, int32 (count, n_nodes, 3)."""
    rules, root, leaves = _logs(serving, shares.leaves)
    chart = cky.chart_for(shares.n, len(root))
    cky.best_chart(shares.n, rules, root, leaves, cky.NO_SPANS, cky.ALL, chart)
    trees = np.zeros((k, 2 * shares.n - 1, 3), np.int32)
    return trees[: cky.k_best(shares.n, rules, root, k, chart, trees, np.zeros(k))]


def sample_of_pcfg(serving: Serving, shares: Shares, draws: int, random: np.ndarray) -> np.ndarray:
    """Trees drawn by their probability under the plain PCFG, int32 (draws, n_nodes, 3)."""
    trees = np.zeros((draws, 2 * shares.n - 1, 3), np.int32)
    for tree in trees:
        cky.sample_tree(shares.n, serving.tables.rules, serving.tables.root, shares.chart, random, tree)
    return trees


def _most_brackets(serving: Serving, shares: Shares, mix: float) -> np.ndarray:
    """The tree whose brackets have most shares in all; the whole sentence is a symbol of the treebank."""
    n, items = shares.n, shares.items(mix)
    items[-1, ~serving.real] = 0.0
    symbols, scores = items.argmax(axis=1), items.max(axis=1)
    scores[scores <= 0.0] = -math.inf
    tree = _best(BRACKETS, np.zeros(1), np.zeros((n, 1)), scores)
    tree[:, 0] = symbols[cky.cell_numbers(n, tree[:, 1], tree[:, 2])]
    return tree


def _most_rules(serving: Serving, shares: Shares, mix: float) -> np.ndarray:
    """The tree whose rules have the greatest product of shares."""
    n, fine = shares.n, shares.fine
    assert fine is not None
    items = fine.items
    scores, ways = np.zeros(len(items.symbols)), np.zeros((len(items.symbols), 3), np.int64)
    kernels.best_rules(
        n, serving.tables.rules, serving.latent, items, fine.vectors, fine.exponents, fine.outside, shares.plain(mix),
        scores, ways,
    )  # fmt: skip
    first, last = items.starts[-2], items.starts[-1]
    tree = np.zeros((2 * n - 1, 3), np.int32)
    top = first + int(scores[first:last].argmax()) if last > first else -1
    if top < 0 or not scores[top] > -math.inf:
        return _most_brackets(serving, shares, mix)
    kernels.walk(n, top, items, ways, tree)
    return tree


def flat(serving: Serving, leaves: np.ndarray) -> np.ndarray:
    """All words under the most frequent root, each with its most likely tag."""
    tables = serving.tables
    n, n_phrases = len(leaves), tables.symbols.n_phrases
    frequent = n_phrases + tables.lexicon.by_tag.argmax()
    tags = np.where(leaves.any(axis=1), leaves.argmax(axis=1), frequent)
    root = int(np.where(np.arange(len(tables.roots)) < n_phrases, tables.roots, -1.0).argmax())
    rows = [(root, 0, n)] if n > 1 and n_phrases else []
    return np.array([*rows, *((tag, i, i + 1) for i, tag in enumerate(tags.tolist()))], np.int32)
