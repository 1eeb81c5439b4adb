"""Grammars with hidden states, and their learning by expectation-maximisation from trees.

p(tree, states) = root(a1, h1) prod q(rule | h, a) prod s(left state | h, rule) t(right state | h, rule); the states are
summed out. Trees are given, so the E step is a pass up and down each of them (``kernels.vectors``). What is kept in a
model file are expected counts; probabilities follow from them. Rules of a state are smoothed towards those of all
states of their symbol when trees are parsed, not while it learns.

Matsuzaki, Miyao and Tsujii, "Probabilistic CFG with latent annotations", 2005; Petrov, Barrett, Thibaux and Klein,
"Learning accurate, compact, and interpretable tree annotation", 2006 (smoothing).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from corpuscle.grammar.base import TreebankGrammar
from corpuscle.grammar.kernels.vectors import Latent, States, TreeData, expect, pairs_for
from corpuscle.grammar.parsing import Directions, Serving
from corpuscle.grammar.settings import EmSettings
from corpuscle.grammar.tables import TABLES, Counted, Tables, check_tables
from corpuscle.learning import Checkpoint, Learner, partial
from corpuscle.measure.brackets import bracket_scores
from corpuscle.model import ITEMS, Array, Container, Kind, Record
from corpuscle.random import Random
from corpuscle.scale import Workers, chunks_of, starts_of, workers
from corpuscle.settings import learned
from corpuscle.text.heldout import item_hashes
from corpuscle.text.trees import Trees

_PSEUDO = 1e-3
_NODES = 20_000
"""Nodes in a chunk of trees to learn from."""
_MIXES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)

STATES: dict[str, Array] = {
    "states/ranks": Array("int64", ("symbols",), low=1, high="most+1"),
    "states/root": Array("float64", ("symbols", "most"), low=0.0, finite=True),
    "states/rule": Array("float64", ("rules", "most"), low=0.0, finite=True),
    "states/left": Array("float64", ("rules", "most", "most"), low=0.0, finite=True),
    "states/right": Array("float64", ("rules", "most", "most"), low=0.0, finite=True),
    "states/pair": Array("float64", ("pairs", "most"), low=0.0, finite=True),
}


def check_states(content: Container) -> None:
    """Besides the tables: the states of the children of a rule are counted as often as the rule."""
    check_tables(content)
    rules = content.arrays["states/rule"].sum(axis=1)
    for side in ("left", "right"):
        if (np.abs(content.arrays[f"states/{side}"].sum(axis=(1, 2)) - rules) > 1e-6 * rules).any():
            raise ValueError("its counts of states do not fit its rules")


def zeros_like(states: States) -> States:
    return States(states.ranks, *(np.zeros_like(each) for each in states[1:]))


_COUNTS = Record(States, "states/", copied=True)


def _mask(ranks: np.ndarray, tables: Tables) -> States:
    """Which entries of states exist, as 0 and 1."""
    exists = (np.arange(int(ranks.max())) < ranks[:, None]).astype(np.float64)
    rules, tags = tables.rules, tables.symbols.n_phrases + tables.lexicon.counts.indices
    parent = exists[rules.parents]
    left, right = (parent[:, :, None] * exists[child][:, None, :] for child in (rules.lefts, rules.rights))
    return States(ranks, exists, parent, left, right, exists[tags])


def normalised(counts: States, tables: Tables, pseudo: float = _PSEUDO) -> States:
    """Probabilities from expected counts; ``pseudo`` counts are spread as the treebank has them, so that one state for
    each symbol gives relative frequencies."""
    shape, table = _mask(counts.ranks, tables), tables.lexicon.counts
    rule = counts.rule + pseudo * tables.rules.weights[:, None] * shape.rule
    by_parent = np.zeros_like(counts.root)
    np.add.at(by_parent, tables.rules.parents, rule)
    pair = counts.pair + pseudo * (table.data / tables.lexicon.by_tag[table.indices])[:, None] * shape.pair
    by_tag = np.zeros((len(tables.symbols.base), pair.shape[1]))
    np.add.at(by_tag, table.indices, pair)
    left, right = (each + pseudo * mask for each, mask in ((counts.left, shape.left), (counts.right, shape.right)))
    at_root = counts.root + pseudo * shape.root * (tables.root / counts.ranks)[:, None]

    def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

    return States(
        counts.ranks, at_root / at_root.sum(), ratio(rule, by_parent[tables.rules.parents]),
        ratio(left, left.sum(axis=2, keepdims=True)), ratio(right, right.sum(axis=2, keepdims=True)),
        ratio(pair, by_tag[table.indices]),
    )  # fmt: skip


def serving_of(counts: States, tables: Tables, smoothing: float, real: np.ndarray) -> Serving:
    """A grammar with hidden states as parsing needs it."""
    rules, ranks, most = tables.rules, counts.ranks, counts.root.shape[1]
    states = normalised(counts, tables)
    sizes = counts.rule.sum(axis=1)[:, None, None]
    rule = (1 - smoothing) * states.rule + smoothing * rules.weights[:, None] * _mask(ranks, tables).rule
    sides = []
    for side, total in ((states.left, counts.left), (states.right, counts.right)):
        mean = total.sum(axis=1, keepdims=True) / np.maximum(sizes, 1e-300)
        sides.append((1 - smoothing) * side + smoothing * mean)
    blocks = [
        (rule[r, :a, None, None] * sides[0][r, :a, :b, None] * sides[1][r, :a, None, :c]).ravel()
        for r, (a, b, c) in enumerate(zip(ranks[rules.parents], ranks[rules.lefts], ranks[rules.rights], strict=True))
    ]
    starts = starts_of(map(len, blocks))[:-1]
    values = np.concatenate([np.empty(0), *blocks])
    latent = Latent(ranks, starts, values, pairs_for(rules, len(ranks)), most)
    return Serving(tables, latent, states.root, _directions(counts, tables), real)


def _directions(counts: States, tables: Tables) -> Directions:
    """p(state | word, tag) / p(state | tag), the former smoothed by the latter as a pseudo-count."""
    table, n_tags = tables.lexicon.counts, len(tables.symbols.base)
    ranks = counts.ranks[tables.symbols.n_phrases :]
    exists = (np.arange(counts.root.shape[1]) < ranks[:, None]).astype(np.float64)
    by_tag = np.zeros((n_tags, counts.root.shape[1]))
    np.add.at(by_tag, table.indices, counts.pair)
    prior = (by_tag + _PSEUDO * exists) / (by_tag + _PSEUDO * exists).sum(axis=1, keepdims=True)
    here = prior[table.indices]
    share = (counts.pair + 0.1 * here) / (counts.pair.sum(axis=1, keepdims=True) + 0.1)
    return Directions(np.divide(share, here, out=np.zeros_like(share), where=here > 0), exists)


def chunks(counted: Counted) -> list[tuple[TreeData, np.ndarray]]:
    """Trees in chunks, each with the pairs of its tags."""
    nodes, parts = counted.nodes, []
    for first, last in pairwise(chunks_of(np.diff(nodes.tree_starts), _NODES).tolist()):
        begin, end = int(nodes.tree_starts[first]), int(nodes.tree_starts[last])
        inner = nodes.tree_starts[first : last + 1] - begin
        data = TreeData(
            nodes.symbols[begin:end], nodes.lefts[begin:end] - begin, nodes.rights[begin:end] - begin,
            counted.rules[begin:end], inner, np.ones(last - first, bool),
        )  # fmt: skip
        parts.append((data, counted.pairs[begin:end]))
    return parts


def _expect(chunk: tuple[TreeData, np.ndarray], given: tuple[Any, States]) -> tuple[States, float]:
    rules, states = given
    counts = zeros_like(states)
    return counts, expect(*chunk, rules, states, counts)


def _both(some: tuple[States, float], others: tuple[States, float]) -> tuple[States, float]:
    sums = (a + b for a, b in zip(some[0][1:], others[0][1:], strict=True))
    return States(some[0].ranks, *sums), some[1] + others[1]


class StateLearner(Learner):
    """Expectation-maximisation, an iteration a sweep: ``counts`` are what was expected last."""

    def __init__(self, counted: Counted, tables: Tables, states: States, pool: Workers):
        self.tables, self.states, self.counts = tables, states, zeros_like(states)
        self.chunks = pool.scatter(chunks(counted))
        self._found = 0.0

    def finish(self, sweep: int) -> float:
        """The expected counts and the next probabilities; returns the log probability of all trees before."""
        self.counts, self._found = self.chunks.map_reduce(_expect, _both, (self.tables.rules, self.states))
        self.states = normalised(self.counts, self.tables)
        return self._found

    def state(self) -> dict[str, np.ndarray]:
        return {**_COUNTS.arrays(self.counts), "logp": np.array([self._found])}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        self.counts = States(*(np.array(arrays[f"states/{name}"]) for name in States._fields))
        self._found = float(arrays["logp"][0])
        if sweep > 0:
            self.states = normalised(self.counts, self.tables)


def ranks_of(model: Any) -> np.ndarray:
    """How many states each symbol has, int64 (n_symbols,): one per ``nodes_a_state`` nodes, at most ``states``."""
    tables = model.tables_
    nodes = np.bincount(tables.rules.parents, tables.counts, len(tables.symbols.names))
    nodes[tables.symbols.n_phrases :] += tables.lexicon.by_tag
    return np.clip(nodes // model.nodes_a_state, 1, model.states).astype(np.int64)


def tune_mix(model: TreebankGrammar, dev: Trees | None) -> None:
    """Choose the weight of the PCFG in a grammar by development trees, unless it was given."""
    if dev is None or model.origins["mix"] == "given":
        return
    words = dev.without_traces().words
    model.tuning_items_ = item_hashes(words)
    scores = []
    for mix in _MIXES:
        model.chosen_ = {**model.chosen_, "mix": mix}
        scores.append(bracket_scores(dev, model.parse(words).trees, draws=1)["labelled_f1"])
    model.chosen_ = {**model.chosen_, "mix": _MIXES[int(np.argmax(scores))]}


PARTIAL = partial("grammar.em", lambda extra: {**STATES, "logp": Array("float64", (1,), finite=True)})


class EmGrammar(EmSettings, TreebankGrammar):
    """A grammar whose hidden states are learned by expectation-maximisation.

    Learned: ``counts_``, the expected counts of states; ``history_``: log probabilities of the trees by iteration.
    """

    KIND: ClassVar[Kind] = Kind("grammar.em", 1, {**ITEMS, **TABLES, **STATES}, check=check_states)
    SAVED: ClassVar = {"counts_": _COUNTS}

    counts_: States = learned()
    history_: np.ndarray = learned()

    def checkpoint(self, trees: Trees, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, PARTIAL, self.settings, trees.words.signature(), resume=resume)

    def fit(self, trees: Trees, dev: Trees | None = None, *, checkpoint: Checkpoint | None = None) -> EmGrammar:
        """Learn from a treebank; development trees choose the weight of the PCFG."""
        counted = self._count(trees)
        checkpoint = checkpoint or Checkpoint()
        runs = []
        with workers(self.workers, self.cluster) as pool:
            for start in range(self.starts):
                learner = StateLearner(counted, self.tables_, self._start(start), pool)
                sizes = {"symbols": len(self.tables_.symbols.names), "most": int(ranks_of(self).max()), "start": start}
                sizes |= {"rules": len(self.tables_.counts), "pairs": self.tables_.lexicon.counts.nnz}
                done = checkpoint.run(
                    learner, self.iterations, lasting=self.starts > 1, facts=sizes, title="iterations",
                )  # fmt: skip
                runs.append((float(done.history[-1, 0]), -start, learner.counts, done.history[:, 0]))
        best = max(runs, key=lambda each: each[:2])
        self.counts_, self.history_ = best[2], best[3]
        self.provenance_ |= {"logp": best[0], "iterations": len(best[3])}
        tune_mix(self, dev)
        return self

    def _start(self, number: int) -> States:
        """Random states around relative frequencies."""
        ranks, tables, random = ranks_of(self), self.tables_, Random(self.seed, "grammar.em", number)
        shape, most = _mask(ranks, tables), int(ranks.max())

        def around(frequencies: np.ndarray) -> np.ndarray:
            """Frequencies for all states, each changed by at most a fiftieth."""
            return frequencies[:, None] * (1.0 + 0.02 * (2.0 * random.uniforms(len(frequencies), most) - 1.0))

        counts = (
            tables.roots[:, None] * shape.root, around(tables.counts) * shape.rule,
            (0.01 + random.uniforms(*shape.left.shape)) * shape.left,
            (0.01 + random.uniforms(*shape.right.shape)) * shape.right, around(tables.lexicon.counts.data) * shape.pair,
        )  # fmt: skip
        return normalised(States(ranks, *counts), tables, 0.0)

    @cached_property
    def serving(self) -> Serving:
        return serving_of(self.counts_, self.tables_, self.smoothing, self._real())
