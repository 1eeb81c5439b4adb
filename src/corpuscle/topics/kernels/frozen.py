"""One sample of a topic model, laid out for prediction. ``freeze`` keeps the counts of a state that prediction needs,
as a model file holds them; ``predictor`` turns these and the parameters into probabilities; ``likelihoods`` gives the
probability of words under every topic.

Noji, Mochihashi and Miyao, "Improvements to the Bayesian topic n-gram models", 2013, equations 2 and 4: their a and b
are discount and strength, their lambda_h is the switch of a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel, part
from corpuscle.engine.ngrams.trie import find
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.contexts import tree_depths
from corpuscle.engine.restaurants.pool import used_rows
from corpuscle.scale import starts_of
from corpuscle.topics.kernels import seating as at
from corpuscle.topics.kernels.particles import Likelihoods
from corpuscle.topics.kernels.seating import DOUBLY, STOPPING, SWITCHING, Seats
from corpuscle.topics.kernels.state import Grams

_SLICE = 1 << 13


def _offsets(of: np.ndarray, n: int, first: int = 0) -> np.ndarray:
    """Where the items of each of n owners begin, int32 (n + 1,); ``of`` rises."""
    return (first + starts_of(np.bincount(of, minlength=n))).astype(np.int32)


def freeze(seats: Seats, grams: Grams) -> dict[str, np.ndarray]:
    """The counts of the present state.

    - ``row_symbols``, ``row_children``: the n-grams that have customers, int32 (rows,) and (rows + 1,), depth by depth;
      the extensions to the left of row r are rows ``row_children[r]`` to ``row_children[r + 1]``;
    - ``context_symbols``, ``context_children``: the same for contexts; number 0 is the empty one;
    - ``row_entries``: int32 (rows + 1,), the entries of each row: ``topics`` (rising), ``customers``, ``tables``;
    - ``switches``, ``stops``: int32 (contexts, 2), customers of labels 0 and 1; words that stopped or went on;
    - ``discounts``, ``strengths``, ``switch_strengths``: float64 (depths,); ``alpha``: float64 (K,).
    """
    live = seats.rows[:, at.FIRST_ENTRY] >= 0
    number = np.cumsum(live) - 1
    parent = grams.row_parent[live]
    roots = int((parent < 0).sum())
    used = seats.contexts[:, at.FIRST_NODE] >= 0
    used |= (seats.contexts[:, at.SWITCH] >= 0) | (seats.contexts[:, [at.STOPPED, at.PASSED]].sum(1) > 0)
    used[0] = True
    context_number = np.cumsum(used) - 1
    above = grams.context_parent[used]
    _, entries = used_rows(seats.pool)
    shadows = entries[(entries[:, col.NODE] >= 0) & (entries[:, col.OWN] >= 0), col.OWN]
    main = entries[:, col.NODE] >= 0
    main[shadows] = False
    chosen = np.flatnonzero(main)
    rows, topics = number[entries[chosen, 1]], seats.links[chosen, at.OF_TOPIC]
    order = np.lexsort((topics, rows))
    chosen = chosen[order]
    shadow = entries[chosen, col.OWN]
    counts = [
        (entries[chosen, column] + np.where(shadow >= 0, entries[shadow, column], 0)).astype(np.int32)
        for column in (col.CUSTOMERS, col.TABLES)
    ]
    node = seats.contexts[used, at.SWITCH].astype(np.int64)
    switches = np.zeros((len(node), 2), np.int32)
    switches[node >= 0] = seats.switch.entries[2 * node[node >= 0, None] + np.arange(2), col.CUSTOMERS]
    return {
        "row_symbols": grams.row_symbol[live],
        "row_children": _offsets(number[parent[roots:]], int(live.sum()), roots),
        "context_symbols": grams.context_symbol[used],
        "context_children": _offsets(context_number[above[1:]], int(used.sum()), 1),
        "row_entries": _offsets(rows[order], int(live.sum())),
        "topics": topics[order].astype(np.int32),
        "customers": counts[0],
        "tables": counts[1],
        "switches": switches,
        "stops": seats.contexts[used][:, [at.STOPPED, at.PASSED]].astype(np.int32),
        "discounts": seats.pool.discounts.copy(),
        "strengths": seats.pool.strengths.copy(),
        "switch_strengths": seats.switch.strengths.copy(),
        "alpha": seats.alpha[1:].copy(),
    }


class Predictor(NamedTuple):
    """What prediction needs. Topic 0 is the global one.

    - ``method``, ``fixed``: as in ``Seats``; ``base``: the probability of any word at first; ``unseen``: of going
      deeper where nothing is known;
    - ``row_symbols``, ``row_children``, ``context_symbols``, ``context_children``: see ``freeze``;
    - ``row_entries``: int32 (rows + 1,), with ``entry_topic``: int32 and ``entry_share``: float64 (entries,), what the
      restaurant itself gives to the word;
    - ``context_nodes``: int32 (contexts + 1,), with ``node_topic`` and ``node_passing``: what it passes on;
    - ``topical``, ``stop``: float64 (contexts,).
    """

    method: int
    fixed: bool
    base: float
    unseen: float
    row_symbols: np.ndarray
    row_children: np.ndarray
    context_symbols: np.ndarray
    context_children: np.ndarray
    row_entries: np.ndarray
    entry_topic: np.ndarray
    entry_share: np.ndarray
    context_nodes: np.ndarray
    node_topic: np.ndarray
    node_passing: np.ndarray
    topical: np.ndarray
    stop: np.ndarray


def _tree(symbols: np.ndarray, children: np.ndarray, roots: int) -> tuple[np.ndarray, np.ndarray]:
    """Parents (-1 for roots) and depths of the items of a tree in breadth-first order; ``ValueError`` if it is none."""
    n = len(symbols)
    if not 0 < roots <= n or children[0] != roots or children[-1] != n or (children[:-1] <= np.arange(n)).any():
        raise ValueError("the n-grams are not a tree")
    parent = np.concatenate([np.full(roots, -1), np.repeat(np.arange(n), np.diff(children))])
    siblings = parent[1:] == parent[:-1]
    if (symbols[1:] <= symbols[:-1])[siblings].any():
        raise ValueError("the extensions of an n-gram must rise")
    return parent, tree_depths(children, roots)


def _contexts_of_rows(sample: Mapping[str, np.ndarray], row_parent: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The context of every row; ``ValueError`` if one is missing."""
    n_types = 1 + max(int(sample[name].max(initial=0)) for name in ("row_symbols", "context_symbols"))
    keys = above[1:] * n_types + sample["context_symbols"][1:]
    context = np.zeros(len(row_parent), np.int64)
    roots = int((row_parent < 0).sum())
    first = roots
    while first < len(context):  # depth by depth, since a parent's context comes first
        last = int(sample["row_children"][first])
        wanted = context[row_parent[first:last]] * n_types + sample["row_symbols"][first:last]
        place = np.searchsorted(keys, wanted)
        if len(keys) == 0 or (keys[np.minimum(place, len(keys) - 1)] != wanted).any():
            raise ValueError("an n-gram without its context")
        context[first:last] = place + 1
        first = last
    return context


def _stopping(sample: Mapping[str, np.ndarray]) -> np.ndarray:
    """The probability of using just a context and no longer one: float64 (contexts,)."""
    counts = sample["stops"] + np.array(STOPPING)
    return counts[:, 0] / counts.sum(1)


def predictor(
    sample: Mapping[str, np.ndarray], method: int, base: float, *, fixed: bool, top: float = 0.5
) -> Predictor:
    """A sample ready to predict; ``ValueError`` if its arrays contradict one another."""
    roots = int(sample["row_children"][0])
    row_parent, _ = _tree(sample["row_symbols"], sample["row_children"], roots)
    above, depth = _tree(sample["context_symbols"], sample["context_children"], 1)
    if depth.max() >= len(sample["discounts"]):
        raise ValueError("a context that is too long")
    context = _contexts_of_rows(sample, row_parent, above)
    customers, tables, topics = sample["customers"], sample["tables"], sample["topics"].astype(np.int64)
    if (tables > customers).any() or (tables < 1).any():
        raise ValueError("every word has customers and at most as many tables")
    of_row = np.repeat(np.arange(len(row_parent)), np.diff(sample["row_entries"]))
    if (np.diff(topics) <= 0)[np.diff(of_row) == 0].any():
        raise ValueError("the topics of an n-gram must rise")
    keys, of_node = np.unique(context[of_row] * (int(topics.max(initial=0)) + 1) + topics, return_inverse=True)
    node_context, node_topic = np.divmod(keys, int(topics.max(initial=0)) + 1)
    law = depth[node_context]
    discount, strength = sample["discounts"][law], sample["strengths"][law]
    totals, opened = (np.bincount(of_node, weights=counts, minlength=len(keys)) for counts in (customers, tables))
    scale = 1.0 / (strength + totals)
    topical = np.empty(len(depth))
    for m in range(int(depth.max()) + 1):
        here = np.flatnonzero(depth == m)
        prior = sample["switch_strengths"][m] * (topical[above[here]] if m else top)
        ones, both = sample["switches"][here, 1], sample["switches"][here].sum(1)
        with np.errstate(invalid="ignore"):
            value = (ones + prior) / (both + sample["switch_strengths"][m])
        topical[here] = np.where(both > 0, value, topical[above[here]] if m else top)
    return Predictor(
        method, fixed, base, STOPPING[0] / sum(STOPPING), frozen(sample["row_symbols"], np.int32),
        frozen(sample["row_children"], np.int32), frozen(sample["context_symbols"], np.int32),
        frozen(sample["context_children"], np.int32), frozen(sample["row_entries"], np.int32), frozen(topics, np.int32),
        frozen((customers - discount[of_node] * tables) * scale[of_node], np.float64),
        frozen(_offsets(node_context, len(depth)), np.int32), frozen(node_topic, np.int32),
        frozen((strength + discount * opened) * scale, np.float64), frozen(topical, np.float64),
        frozen(_stopping(sample), np.float64),
    )  # fmt: skip


@part(bare=True)
def _climb(model, here, context, row):
    """From Q_k(w | h) to P_k(w | h), in ``here``, for the topics that have something in the context."""
    if context >= 0:
        for node in range(model.context_nodes[context], model.context_nodes[context + 1]):
            here[model.node_topic[node]] *= model.node_passing[node]
    if row >= 0:
        for entry in range(model.row_entries[row], model.row_entries[row + 1]):
            here[model.entry_topic[entry]] += model.entry_share[entry]


@part(bare=True)
def _lean(model, here, context, row, topical):
    """From P_k(w | h') to Q_k(w | h) where topics lean on the global one: P_0(w | h), which is returned."""
    shared = here[0]
    if context >= 0:
        node = model.context_nodes[context]
        if node < model.context_nodes[context + 1] and model.node_topic[node] == 0:
            shared *= model.node_passing[node]
    if row >= 0:
        entry = model.row_entries[row]
        if entry < model.row_entries[row + 1] and model.entry_topic[entry] == 0:
            shared += model.entry_share[entry]
    rest = (1.0 - topical) * shared
    for k in range(len(here)):
        here[k] = topical * here[k] + rest
    return shared


class _Asked(NamedTuple):
    """Words to predict: ``symbols`` int32, a stream; ``places`` int64 (n,), where in it each word stands or would
    stand; ``words`` int32 (n,); ``available`` uint8 (n,), how many symbols before its place count as its context."""

    symbols: np.ndarray
    places: np.ndarray
    words: np.ndarray
    available: np.ndarray


@part(bare=True)
def _likelihood(model, asked, i, here, total):
    """``total`` := sum over the depths that the word may use of P(depth) S_k P_k(word), S being the switch; its value
    for topic 0 is that of a global word. Returns the probability that the word is topical."""
    place, word, longest = asked.places[i], asked.words[i], np.int64(asked.available[i])
    for k in range(len(here)):
        here[k], total[k] = model.base, 0.0
    context, row = np.int64(0), find(model.row_symbols, np.int64(0), np.int64(model.row_children[0]), word)
    reach, topical, switched = 1.0, model.topical[0], 0.0
    for m in range(longest + 1):
        if m > 0:
            symbol = asked.symbols[place - m]
            if context >= 0:
                low, high = np.int64(model.context_children[context]), np.int64(model.context_children[context + 1])
                context = find(model.context_symbols, low, high, symbol)
            if row >= 0:
                low, high = np.int64(model.row_children[row]), np.int64(model.row_children[row + 1])
                row = find(model.row_symbols, low, high, symbol)
            if context >= 0:
                topical = model.topical[context]
        if model.method == DOUBLY:
            shared = _lean(model, here, context, row, topical)
            _climb(model, here, context, row)
            here[0] = shared
        else:
            _climb(model, here, context, row)
        if model.fixed and m < longest:
            continue
        stop = 1.0
        if m < longest:
            stop = model.stop[context] if context >= 0 else model.unseen
        weight, reach = reach * stop, reach * (1.0 - stop)
        share = topical if model.method == SWITCHING else 1.0
        switched += weight * share
        for k in range(len(here)):
            total[k] += weight * share * here[k]
        total[0] += weight * (1.0 - 2.0 * share) * here[0]
    return switched


@kernel(bare=True)
def _likelihoods(model, asked, first, last, here, total, result):
    for i in range(first, last):
        share = _likelihood(model, asked, i, here, total)
        for k in range(result.topics.shape[1]):
            result.topics[i, k] = total[k + 1] / share if share > 0.0 else 0.0
        result.common[i] = total[0] / (1.0 - share) if share < 1.0 else 0.0
        result.switch[i] = share


def likelihoods(
    model: Predictor, topics: int, symbols: np.ndarray, places: np.ndarray, words: np.ndarray, available: np.ndarray
) -> Likelihoods:
    """The likelihoods of n words under each of N topics, see ``_Asked``."""
    n = len(words)
    result = Likelihoods(np.empty((n, topics)), np.empty(n), np.empty(n))
    kinds = np.int32, np.int64, np.int32, np.uint8
    asked = _Asked(*map(frozen, (symbols, places, words, available), kinds))
    here, total = np.empty(topics + 1), np.empty(topics + 1)
    for first in range(0, n, _SLICE):
        _likelihoods(model, asked, first, min(first + _SLICE, n), here, total, result)
    return result


def used_depths(sample: Mapping[str, np.ndarray]) -> np.ndarray:
    """The probability that a word after the context of each row uses just that: float64 (rows,). After the longest
    contexts there is no choice."""
    row_parent, _ = _tree(sample["row_symbols"], sample["row_children"], int(sample["row_children"][0]))
    above, depth = _tree(sample["context_symbols"], sample["context_children"], 1)
    stop = np.where(depth == len(sample["discounts"]) - 1, 1.0, _stopping(sample))
    reach = np.ones(len(depth))
    for m in range(1, int(depth.max()) + 1):
        here = np.flatnonzero(depth == m)
        reach[here] = reach[above[here]] * (1.0 - stop[above[here]])
    return (reach * stop)[_contexts_of_rows(sample, row_parent, above)]
