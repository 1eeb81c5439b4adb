"""The probability of a nested model, its soundness, and its arrays.

``to_arrays`` and ``from_arrays`` keep all of a running sampler, row by row. ``freeze_nested`` and ``thaw`` keep what
prediction needs: the counts of both hierarchies and the spelling of the words, renumbered from 1 on by falling count.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from corpuscle.compiled import kernel
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants import seating
from corpuscle.engine.restaurants.contexts import Contexts, freeze, tree_depths
from corpuscle.engine.restaurants.pool import (
    FREE,
    NONE,
    Restaurants,
    find_child,
    find_context,
    find_entry,
    indexed_anew,
    longer,
    new_pool,
    used_rows,
)
from corpuscle.scale import starts_of
from corpuscle.segment.kernels import model
from corpuscle.segment.kernels.lengths import root_tables, word_types

_OWN = {"rows": model.WORDS, "hashes": model.WORDS, "records": model.RECORDS, "orders": model.RECORDS}
"""Arrays, and the row of ``counters`` that says how much of each is used."""


def log_joint(nested: model.Nested) -> float:
    """Natural log of the joint probability of the words, their spelling and both seatings."""
    words, tables = root_tables(nested)
    factors = nested.factors[word_types(nested, words), nested.rows[words, model.LENGTH]]
    boundaries = float(nested.words.nodes[0, col.TABLES]) - float(tables.sum())
    return float(
        seating.log_seating(nested.words)
        + seating.log_seating(nested.letters)
        + seating.log_stopping(nested.letters, model.START)
        + (tables * np.log(factors)).sum()
        + boundaries * np.log(nested.bases[model.BOUNDARY_BASE])
        + float(nested.letters.nodes[0, col.TABLES]) * np.log(nested.bases[model.LETTER_BASE])
    )


@kernel(bare=True)
def _base_logs(nested, words, out):
    for i in range(len(words)):
        out[i] = math.log(model.base_probability(nested, words[i]))


def base_logs(nested: model.Nested, words: np.ndarray) -> np.ndarray:
    """The log probabilities of some words, by number, in the base measure: float64 (n,)."""
    out = np.zeros(len(words))
    _base_logs(nested, np.ascontiguousarray(words, np.int64), out)
    return out


_claim = partial(seating.claim, "an unsound model of words")


@kernel(bare=True)
def _check_words(nested, tables):
    """Whether every word stands in the text, is found by its letters, and has a chain of as many records as tables."""
    used = nested.counters[model.RECORDS, col.USED]
    for word in range(1, nested.counters[model.WORDS, col.USED]):
        begin, length = np.int64(nested.rows[word, model.BEGIN]), np.int64(nested.rows[word, model.LENGTH])
        if begin == FREE:
            continue
        if begin < 0 or length < 1 or length >= nested.factors.shape[1] or begin + length > len(nested.text):
            return False
        if model.hash_stretch(nested.text, begin, length) != nested.hashes[word]:
            return False
        record = np.int64(nested.rows[word, model.LAST_RECORD])
        for _ in range(tables[word]):
            if record < 0 or record >= used or nested.records[record, model.OWNER] != word:
                return False
            record = np.int64(nested.records[record, model.AFTER])
        if record != nested.rows[word, model.LAST_RECORD]:
            return False
    for word in range(1, nested.counters[model.WORDS, col.USED]):  # now that all are sound: a search compares them
        if nested.rows[word, model.BEGIN] != FREE:
            begin, length = np.int64(nested.rows[word, model.BEGIN]), np.int64(nested.rows[word, model.LENGTH])
            if model.find_at(nested, begin, length) != word:
                return False
    return True


@kernel(bare=True)
def _count_spellings(nested, counts):
    """``counts`` := how many letters each entry of the letters has, by the records; False if one has no place."""
    letters = nested.letters
    deepest = len(letters.path) - 2
    for record in range(nested.counters[model.RECORDS, col.USED]):
        word = np.int64(nested.records[record, model.OWNER])
        if word == FREE:
            continue
        length = model.spell_word(nested, word)
        for i in range(1, length + 2):
            order = np.int64(nested.orders[record, i - 1])
            if order > min(i, deepest):
                return False
            node = find_context(letters, 0, nested.spelling, i, order)
            entry = find_entry(letters, node, np.int64(nested.spelling[i]))
            if letters.nodes[node, col.LAW] != order or entry < 0:
                return False
            counts[entry] += 1
    return True


@kernel(bare=True)
def _count_words(nested, starts, seated, cuts, ends, numbers, counts):
    """``counts`` := how many words of the text each entry of the words has; False if one has no place."""
    words = nested.words
    order = len(words.discounts)
    for sentence in range(len(starts) - 1):
        first, n = starts[sentence], starts[sentence + 1] - starts[sentence]
        if n == 0 or not seated[sentence]:
            continue
        if cuts[first] == 0:
            return False
        count = model.word_ends(cuts, first, n, ends)
        model.find_numbers(nested, first, ends, count, numbers)
        for i in range(count + 1):
            word, node = model.word_at(numbers, i, count), np.int64(0)
            for back in range(1, order):
                node = find_child(words, node, model.word_at(numbers, i - back, count))
                if node < 0:
                    return False
            entry = find_entry(words, node, word)
            if word < 0 or entry < 0:
                return False
            counts[entry] += 1
    return True


def verify_nested(
    nested: model.Nested, starts: np.ndarray, seated: np.ndarray, cuts: np.ndarray, spelled: bool = True
) -> None:
    """Check every count of a model against the segmented text that is in it; ``ValueError`` says what is wrong.
    ``spelled=False``: a model that does not spell its words, see ``boundaries``."""
    direct_words = seating.verify(nested.words)
    direct_letters = seating.verify(nested.letters, variable=True)
    for pool in (nested.words, nested.letters):
        parents = used_rows(pool)[0][:, col.PARENT]
        _claim(len(parents) > 0 and parents[0] == NONE and not (parents[1:] == NONE).any(), "more than one root")
    for row, items in ((model.WORDS, nested.rows), (model.RECORDS, nested.records)):
        seating.verify_free(items, nested.counters, row, "words and records")
    used = int(nested.counters[model.WORDS, col.USED])
    live = nested.rows[:used, model.BEGIN] != FREE
    words, tables = root_tables(nested)
    _claim(used > 0 and live[0] and (words < used).all(), "words without a number")
    counts = np.zeros(used, np.int64)
    counts[words] = tables
    _claim(((counts > 0) == live)[1:].all(), "numbers without a word")
    owners = nested.records[: int(nested.counters[model.RECORDS, col.USED]), model.OWNER]
    counts *= spelled
    _claim(int((owners != FREE).sum()) == int(counts.sum()), "records without a table")
    _claim(((owners[owners != FREE] > 0) & (owners[owners != FREE] < used)).all(), "records without a word")
    _claim(_check_words(nested, counts), "words that do not stand in the text")
    found = np.zeros(len(direct_letters), np.int64)
    placed = _count_spellings(nested, found)
    _claim(placed and np.array_equal(found, direct_letters), "other letters than those of its words")
    found = np.zeros(len(direct_words), np.int64)
    room = int(np.diff(starts).max(initial=0)) + 1
    ends, numbers = np.zeros(room, np.int32), np.zeros(room, np.int32)
    placed = _count_words(nested, starts, seated, cuts, ends, numbers, found)
    _claim(placed and np.array_equal(found, direct_words), "other words than those of the text")


def to_arrays(nested: model.Nested) -> dict[str, np.ndarray]:
    """All that changes while a model is sampled."""
    pools = {name: seating.to_arrays(getattr(nested, name)) for name in ("words", "letters")}
    arrays = {f"{name}/{key}": array for name, pool in pools.items() for key, array in pool.items()}
    for name, row in _OWN.items():
        arrays[name] = getattr(nested, name)[: nested.counters[row, col.USED]].copy()
    return arrays | {"counters": nested.counters.copy(), "factors": nested.factors.copy()}


def from_arrays(fresh: model.Nested, arrays: Mapping[str, np.ndarray]) -> model.Nested:
    """A model as it was, put into a fresh one of the same text and settings; ``verify_nested`` checks the rest."""
    pools: dict[str, Any] = {}
    for name in ("words", "letters"):
        pool: Restaurants = getattr(fresh, name)
        kept = {key: arrays[f"{name}/{key}"] for key in seating.to_arrays(pool)}
        _claim(len(kept["discounts"]) == len(pool.discounts), "another order")
        pools[name] = seating.from_arrays(pool, kept, variable=name == "letters")
    _claim(arrays["orders"].shape[1:] == fresh.orders.shape[1:], "another length of words")
    _claim(arrays["factors"].shape == fresh.factors.shape, "other types of words")
    own = {name: longer(arrays[name], max(len(getattr(fresh, name)), 2 * len(arrays[name]))) for name in _OWN}
    used = [len(arrays["rows"]), len(arrays["records"])]
    _claim(arrays["counters"][:, col.USED].tolist() == used and used[0] > 0, "counters that do not fit")
    _claim(len(arrays["hashes"]) == used[0] and len(arrays["orders"]) == used[1], "counters that do not fit")
    replaced = pools | own | {name: np.array(arrays[name]) for name in ("counters", "factors")}
    return model.indexed_words(fresh._replace(**replaced))


def freeze_nested(nested: model.Nested) -> dict[str, np.ndarray]:
    """What prediction needs, in arrays for a file: the spelling of the words, most frequent first, in ``lexicon`` and
    ``lexicon_starts``, how often each occurs in ``occurrences``, the counts of both hierarchies, the parameters."""
    _, entries = used_rows(nested.words)
    used = int(nested.counters[model.WORDS, col.USED])
    full = (entries[:, col.NODE] >= 0) & (
        nested.words.nodes[np.maximum(entries[:, col.NODE], 0), col.LAW] == len(nested.words.discounts) - 1
    )
    counts = np.bincount(entries[full, col.DISH], entries[full, col.CUSTOMERS], used).astype(np.int64)
    live = 1 + np.flatnonzero(nested.rows[1:used, model.BEGIN] != FREE)
    live = live[np.lexsort((nested.rows[live, model.BEGIN], -counts[live]))]
    lengths = nested.rows[live, model.LENGTH].astype(np.int64)
    starts = starts_of(lengths)
    source = np.repeat(nested.rows[live, model.BEGIN] - starts[:-1], lengths) + np.arange(starts[-1])
    number = np.full(used, -1, np.int64)
    number[model.BOUNDARY], number[live] = 0, 1 + np.arange(len(live))
    renumbered = nested.words._replace(nodes=nested.words.nodes.copy(), entries=nested.words.entries.copy())
    inner = np.flatnonzero(renumbered.nodes[:, col.PARENT] >= 0)
    renumbered.nodes[inner, col.SYMBOL] = number[renumbered.nodes[inner, col.SYMBOL]]
    seen = entries[:, col.NODE] >= 0
    renumbered.entries[: len(entries)][seen, col.DISH] = number[entries[seen, col.DISH]]
    arrays = {
        "lexicon": nested.text[source],
        "lexicon_starts": starts,
        "occurrences": np.concatenate([counts[:1], counts[live]]),
        "factors": nested.factors.copy(),
    }
    for name, pool in (("words", renumbered), ("letters", nested.letters)):
        arrays |= {f"{name}/{key}": array for key, array in freeze(pool, 0)._asdict().items()}
        arrays |= {f"{name}/discounts": pool.discounts.copy(), f"{name}/strengths": pool.strengths.copy()}
    for key in ("stops", "passes"):
        del arrays[f"words/{key}"]
    return arrays


def _thawed(tree: Contexts, discounts: np.ndarray, strengths: np.ndarray, prior: tuple[float, float]) -> Restaurants:
    """A pool that predicts as the one did whose counts these are; its tables have no sizes."""
    nodes, entries = len(tree.symbols), len(tree.dishes)
    pool = new_pool(len(discounts), nodes=nodes, entries=entries, cells=1, indexed=False, stop_prior=prior)
    of = np.repeat(np.arange(nodes), np.diff(tree.first_entry))
    pool.nodes[0, col.PARENT] = pool.nodes[0, col.SYMBOL] = NONE
    pool.nodes[1:, col.PARENT] = np.repeat(np.arange(nodes), np.diff(tree.first_child))
    pool.nodes[1:, col.SYMBOL] = tree.symbols[1:]
    pool.nodes[:, col.LAW] = tree_depths(tree.first_child)
    pool.nodes[:, col.CUSTOMERS] = np.bincount(of, tree.customers, nodes)
    pool.nodes[:, col.TABLES] = np.bincount(of, tree.tables, nodes)
    pool.nodes[:, col.CHILDREN] = np.diff(tree.first_child)
    pool.nodes[:, col.STOPS], pool.nodes[:, col.PASSES] = tree.stops, tree.passes
    pool.entries[:, col.NODE], pool.entries[:, col.DISH] = of, tree.dishes
    pool.entries[:, col.UP] = pool.entries[:, col.CELLS] = NONE
    pool.entries[:, col.CUSTOMERS], pool.entries[:, col.TABLES] = tree.customers, tree.tables
    pool.counters[col.NODES, col.USED], pool.counters[col.ENTRIES, col.USED] = nodes, entries
    pool.discounts[:], pool.strengths[:] = discounts, strengths
    return indexed_anew(pool)


def tree_of(arrays: Mapping[str, np.ndarray], name: str) -> Contexts:
    """The counts of one of the two hierarchies in a file."""
    nothing = np.zeros(len(arrays[f"{name}/symbols"]), np.int32)
    return Contexts(*(arrays.get(f"{name}/{field}", nothing) for field in Contexts._fields))


def thaw(
    arrays: Mapping[str, np.ndarray],
    masks: np.ndarray,
    kinds: np.ndarray,
    letter_base: float,
    boundary_base: float,
    stop_prior: tuple[float, float],
) -> model.Nested:
    """A model that predicts as the frozen one did; nothing can be added to it."""
    pools = [
        _thawed(tree_of(arrays, name), arrays[f"{name}/discounts"], arrays[f"{name}/strengths"], stop_prior)
        for name in ("words", "letters")
    ]
    starts = np.asarray(arrays["lexicon_starts"], np.int64)
    rows = np.full((len(starts), 3), NONE, np.int32)
    rows[model.BOUNDARY, :2] = 0
    rows[1:, model.BEGIN], rows[1:, model.LENGTH] = starts[:-1], np.diff(starts)
    counters = np.zeros((2, 3), np.int64)
    counters[:, col.FREE_HEAD] = NONE
    counters[model.WORDS, col.USED] = len(rows)
    factors = np.array(arrays["factors"], np.float64)
    longest = factors.shape[1] - 1
    nested = model.Nested(
        pools[0], pools[1], np.array(arrays["lexicon"], np.int32), np.ascontiguousarray(masks, np.uint16),
        np.ascontiguousarray(kinds, np.uint8), rows, np.zeros(len(rows), np.uint64), np.zeros(1, np.int32),
        np.zeros((1, 2), np.int32), np.zeros((1, longest + 1), np.uint8), counters, factors,
        np.array([letter_base, boundary_base]), np.zeros(longest + 2, np.int32),
    )  # fmt: skip
    _hash_words(nested)
    return model.indexed_words(nested)


@kernel(bare=True)
def _hash_words(nested):
    for word in range(1, len(nested.rows)):
        nested.hashes[word] = model.hash_stretch(
            nested.text, nested.rows[word, model.BEGIN], nested.rows[word, model.LENGTH]
        )
