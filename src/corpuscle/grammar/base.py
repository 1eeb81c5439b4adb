"""What all grammars of a treebank can do: parse, say how likely trees and sentences are, and how sure they are; and the
plainest of them, the treebank PCFG."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import count, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.engine.dp.cky import cell_numbers
from corpuscle.errors import SettingError
from corpuscle.grammar.kernels.vectors import Latent, TreeData, inside_trees, pairs_for
from corpuscle.grammar.parsing import (
    Directions,
    Serving,
    decode,
    flat,
    k_best_of_pcfg,
    leaves_of,
    look_at,
    sample_of_pcfg,
    word_vectors,
)
from corpuscle.grammar.settings import PcfgSettings, TreebankSettings
from corpuscle.grammar.tables import (
    TABLES,
    Counted,
    Tables,
    check_tables,
    count_trees,
    number_nodes,
    prepare,
    restore,
    trees_from,
)
from corpuscle.model import TRAINING_ITEMS, Container, Kind, Model
from corpuscle.random import purpose_id, stream
from corpuscle.scale import chunks_of
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.trees import Trees, chain_of, original_label

_WORK = 20_000
"""The sum of cubed lengths of a chunk of sentences."""


class Constituent(NamedTuple):
    """A label over a span of words, and the share of all trees that have it."""

    label: str
    first: int
    end: int
    share: float


class Parsed(NamedTuple):
    """Trees as they would stand in a treebank; ``confidence``: the share of each node, float64 (n_nodes,); ``logp``: of
    each sentence float64 (n_trees,), -inf where there is no tree; ``failed``: which trees are flat, bool (n_trees,)."""

    trees: Trees
    confidence: np.ndarray
    logp: np.ndarray
    failed: np.ndarray

    def constituents(self, least: float) -> list[list[Constituent]]:
        """Of each tree the nodes that are at least so likely."""
        rows = zip(self.trees.labels.strings(), *self.trees.spans.T.tolist(), self.confidence.tolist(), strict=True)
        found = [Constituent(*row) for row in rows]
        bounds = pairwise(self.trees.tree_starts.tolist())
        return [[each for each in found[a:b] if each.share >= least] for a, b in bounds]


class _Found(NamedTuple):
    nodes: np.ndarray
    sure: np.ndarray
    logp: float
    failed: bool


class TreebankGrammar(TreebankSettings, Model):
    """What all grammars do that learn from trees; a grammar is this and a class of settings: ``fit(trees)``,
    ``parse``, ``probability``, ``marginals``.

    Learned: ``tables_``, what is counted.
    """

    needs_tags = False  # words are enough
    tables_: Tables = learned()

    @cached_property
    def serving(self) -> Serving:
        """The grammar as parsing needs it, made once."""
        raise TypeError(f"{type(self).__name__} cannot parse")

    def _prepare(self) -> None:
        self.serving  # noqa: B018

    @property
    def _mix(self) -> float:
        """The weight of the plain PCFG when a tree is chosen."""
        return self.chosen_.get("mix", getattr(self, "mix", 0.0))

    def binary(self, trees: Trees) -> Trees:
        """Trees as the grammar sees them."""
        return prepare(trees, self.side, self.horizontal, self.vertical)

    def _count(self, trees: Trees) -> Counted:
        """Count a treebank, and remember what it was."""
        for cached in ("serving", "_labels"):
            vars(self).pop(cached, None)
        binary = self.binary(trees)
        weights = {"chains": self.chain_weight, "classes": self.look_weight}
        self.tables_, counted = count_trees(binary, rare=self.rare_count, **weights)
        self.items_, self.chosen_ = item_hashes(binary.words), {}
        symbols = self.tables_.symbols
        self.provenance_ = {
            "trees": len(binary), "words": binary.words.n_tokens, "phrases": symbols.n_phrases,
            "tags": len(symbols.base), "rules": len(self.tables_.counts),
        }  # fmt: skip
        return counted

    # ---- parsing

    def parse(self, corpus: Corpus, tags: Sequence[Sequence[str]] | None = None) -> Parsed:
        """The trees of sentences; ``tags``: the treebank's tag of each word, where they are known."""
        return self._parsed(corpus, self._of_each(TreebankGrammar._one, self._jobs(corpus, tags)))

    def best_trees(self, corpus: Corpus, k: int, tags: Sequence[Sequence[str]] | None = None) -> list[Parsed]:
        """The k best trees of each sentence, best first: those of the plain PCFG, in the order of this grammar's own
        probability of them, which is their ``logp``."""
        return self._lists(corpus, self._of_each(TreebankGrammar._several, self._jobs(corpus, tags), k=k))

    def sample_trees(
        self, corpus: Corpus, draws: int, *, seed: int = 1, tags: Sequence[Sequence[str]] | None = None
    ) -> list[Parsed]:
        """Trees of each sentence, drawn by their probability under the plain PCFG; ``logp`` is this grammar's own."""
        numbers = count()
        jobs = ([(*job, next(numbers)) for job in chunk] for chunk in self._jobs(corpus, tags))
        return self._lists(corpus, self._of_each(TreebankGrammar._drawn, jobs, draws=draws, seed=seed))

    def _of_each(self, method: Callable[..., Any], jobs: Iterable[list[Any]], **more: Any) -> list[Any]:
        """What a method returns for each sentence."""
        return [each for chunk in self.spread(partial(_of_chunk, method=method, **more), jobs) for each in chunk]

    def _lists(self, corpus: Corpus, lists: list[list[_Found]]) -> list[Parsed]:
        """Several trees of each sentence."""
        return [self._parsed(corpus.select(np.full(len(trees), i, np.int64)), trees) for i, trees in enumerate(lists)]

    def _parsed(self, corpus: Corpus, found: list[_Found]) -> Parsed:
        """Trees as they would stand in a treebank, of binary ones."""
        trees = trees_from([each.nodes for each in found], corpus, self.tables_.symbols.names)
        sure = np.concatenate([np.empty(0), *(each.sure for each in found)])
        logp, failed = (np.array([getattr(each, name) for each in found]) for name in ("logp", "failed"))
        return Parsed(restore(trees), sure[_restored_nodes(trees)], logp, failed)

    def _jobs(self, corpus: Corpus, tags: Sequence[Sequence[str]] | None) -> Iterator[list[tuple[Any, Any]]]:
        """Chunks of sentences: the entries of words and the numbers of their tags."""
        lexicon, symbols = self.tables_.lexicon, self.tables_.symbols
        numbers = {name: number for number, name in enumerate(symbols.bases)}
        for first, last in pairwise(chunks_of(np.minimum(corpus.lengths, self.max_length) ** 3 + 1, _WORK).tolist()):
            jobs = []
            for i in range(first, last):
                words = corpus.words(i)
                bases = None
                if tags is not None:
                    if len(tags[i]) != len(words):
                        raise SettingError(f"sentence {i + 1:,} has {len(words)} words and {len(tags[i])} tags")
                    bases = np.array([numbers.get(tag, -1) for tag in tags[i]], np.int64)
                jobs.append((lexicon.entries(words), bases))
            yield jobs

    def _one(self, entries: np.ndarray, bases: np.ndarray | None) -> _Found:
        if len(entries) == 0:
            return _Found(np.empty((0, 3), np.int32), np.empty(0), 0.0, False)
        serving, mix = self.serving, self._mix
        if len(entries) > self.max_length:
            return _flat(serving, leaves_of(self.tables_, entries, bases))
        shares = look_at(serving, entries, bases, self.prune_below, self.decode != "best")
        nodes = decode(serving, shares, self.decode, mix)
        if len(nodes) == 0:
            return _flat(serving, shares.leaves)
        cells = cell_numbers(shares.n, nodes[:, 1], nodes[:, 2])
        sure = np.minimum(shares.items(mix)[cells, nodes[:, 0]], 1.0)
        return _Found(nodes, sure, shares.logp, False)

    def _several(self, entries: np.ndarray, bases: np.ndarray | None, k: int) -> list[_Found]:
        one = self._one(entries, bases)
        if len(entries) == 0 or one.failed:
            return [one]
        shares = look_at(self.serving, entries, bases, self.prune_below, False)
        trees = k_best_of_pcfg(self.serving, shares, k)
        found = [_Found(tree, np.ones(len(tree)), self._tree_logp(tree, entries), False) for tree in trees]
        return sorted(found, key=lambda each: -each.logp)

    def _drawn(
        self, entries: np.ndarray, bases: np.ndarray | None, number: int, *, draws: int, seed: int
    ) -> list[_Found]:
        """Trees of the sentence of this number."""
        if not 0 < len(entries) <= self.max_length:
            return [self._one(entries, bases)]
        shares = look_at(self.serving, entries, bases, self.prune_below, False)
        if not shares.logp > -math.inf:
            return [self._one(entries, bases)]
        trees = sample_of_pcfg(self.serving, shares, draws, stream(seed, purpose_id("grammar.sample"), number, 0))
        return [_Found(tree, np.ones(len(tree)), self._tree_logp(tree, entries), False) for tree in trees]

    # ---- probabilities

    def _tree_logp(self, nodes: np.ndarray, entries: np.ndarray) -> float:
        """The log probability of one binary tree of this grammar, given as nodes."""
        corpus = Corpus.from_sentences([["x"] * len(entries)])
        binary = trees_from([nodes], corpus, self.tables_.symbols.names)
        counted, _, known = number_nodes(binary, self.tables_)
        return float(self._totals(counted, entries, known)[0])

    def _totals(self, counted: Counted, entries: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Log probabilities of binary trees, float64 (n_trees,); -inf unless positive."""
        serving, nodes, tables = self.serving, counted.nodes, self.tables_
        tags = np.flatnonzero(nodes.words >= 0)
        symbols = nodes.symbols[tags] - tables.symbols.n_phrases
        leaf = np.zeros((len(nodes.symbols), serving.latent.most))
        for first in range(0, len(tags), 1000):
            some = slice(first, first + 1000)
            words = entries[nodes.words[tags[some]]]
            rows = np.arange(len(words))
            weights = tables.lexicon.weights(words)[rows, symbols[some]]
            leaf[tags[some]] = weights[:, None] * word_vectors(serving, words)[rows, symbols[some]]
        data = TreeData(nodes.symbols, nodes.lefts, nodes.rights, counted.rules, nodes.tree_starts, known)
        totals = np.zeros(len(known))
        inside_trees(data, tables.rules, serving.latent, serving.root, leaf, totals)
        return totals

    def probability(self, trees: Trees) -> np.ndarray:
        """Log probabilities of trees with their words, float64 (n_trees,); -inf for what the grammar cannot make."""
        counted, entries, known = number_nodes(self.binary(trees), self.tables_)
        return self._totals(counted, entries, known)

    def sentence_probability(self, corpus: Corpus) -> np.ndarray:
        """Log probabilities of sentences, over all their trees, float64 (n_sentences,)."""
        return np.array(self._of_each(TreebankGrammar._logp, self._jobs(corpus, None)))

    def _logp(self, entries: np.ndarray, bases: None) -> float:
        return look_at(self.serving, entries, bases, 0.0, True).logp if len(entries) else 0.0

    def marginals(
        self, corpus: Corpus, least: float = 0.01, tags: Sequence[Sequence[str]] | None = None
    ) -> list[list[Constituent]]:
        """Of each sentence the constituents that at least this share of all trees have, by position."""
        return self._of_each(TreebankGrammar._constituents, self._jobs(corpus, tags), least=least)

    def _constituents(self, entries: np.ndarray, bases: np.ndarray | None, least: float) -> list[Constituent]:
        if not 0 < len(entries) <= self.max_length:
            return []
        shares = look_at(self.serving, entries, bases, self.prune_below, True)
        n, items = shares.n, shares.items(self._mix)
        totals: dict[tuple[int, int, str], float] = defaultdict(float)
        cells = ((first, first + width) for width in range(1, n + 1) for first in range(n + 1 - width))
        for cell, (first, end) in enumerate(cells):
            for symbol in np.flatnonzero(items[cell] > 0).tolist():
                for label in self._labels[symbol]:
                    totals[first, end, label] += float(items[cell, symbol])
        return [Constituent(label, a, b, min(p, 1.0)) for (a, b, label), p in sorted(totals.items()) if p >= least]

    @cached_property
    def _labels(self) -> list[list[str]]:
        """The labels of the treebank that each symbol stands for, outermost first; none for parts of split nodes."""
        names = self.tables_.symbols.names
        return [[] if name.startswith("@") else chain_of(original_label(name)) for name in names]

    def _real(self) -> np.ndarray:
        return np.array([not name.startswith("@") for name in self.tables_.symbols.names], bool)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **self.tables_.arrays()}

    def _extra(self) -> dict[str, Any]:
        symbols = self.tables_.symbols
        return {**super()._extra(), "phrases": symbols.n_phrases, "tags": len(symbols.base)}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.tables_ = Tables.from_arrays(loaded.arrays, loaded.extra["phrases"], self.chain_weight, self.look_weight)


def _flat(serving: Serving, leaves: np.ndarray) -> _Found:
    nodes = flat(serving, leaves)
    return _Found(nodes, np.zeros(len(nodes)), -math.inf, True)


def _restored_nodes(binary: Trees) -> np.ndarray:
    """For every node of restored trees, the node of the binary trees that it comes from."""
    drop = np.array([label.startswith("@") for label in binary.labels.values], bool)[binary.labels.ids]
    drop[binary.roots] = False
    kept = np.flatnonzero(~drop)
    lengths = np.array([len(chain_of(original_label(label))) for label in binary.labels.values], np.int64)
    return np.repeat(kept, lengths[binary.labels.ids[kept]])


def _of_chunk(jobs: list[Any], model: TreebankGrammar, method: Callable[..., Any], **more: Any) -> list[Any]:
    return [method(model, *job, **more) for job in jobs]


class Pcfg(PcfgSettings, TreebankGrammar):
    """A treebank PCFG: relative frequencies of rules, roots and words. Learned: ``tables_``, its counts.

    With ``horizontal`` and ``vertical`` Markovisation a symbol remembers siblings and ancestors (Johnson, "PCFG models
    of linguistic tree representations", 1998; Klein and Manning, "Accurate unlexicalized parsing", 2003).
    """

    KIND: ClassVar[Kind] = Kind("grammar.pcfg", 1, {**TRAINING_ITEMS, **TABLES}, check=check_tables)

    def fit(self, trees: Trees, dev: Trees | None = None) -> Pcfg:
        """Count a treebank."""
        if dev is not None:
            raise SettingError("a PCFG has nothing that --dev could choose")
        self._count(trees)
        return self

    @cached_property
    def serving(self) -> Serving:
        tables, n = self.tables_, len(self.tables_.symbols.names)
        rules, pairs = np.arange(len(tables.counts)), pairs_for(tables.rules, n)
        latent = Latent(np.ones(n, np.int64), rules, tables.rules.weights, pairs, 1)
        ones = Directions(np.ones((tables.lexicon.counts.nnz, 1)), np.ones((len(tables.symbols.base), 1)))
        return Serving(tables, latent, tables.root[:, None].copy(), ones, self._real())
