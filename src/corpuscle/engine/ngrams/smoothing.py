"""From n-gram counts to probabilities: adjusted counts, discounts, and the Kneser-Ney family.

Notation of a kernel: h a context, a(h w) the adjusted count of an n-gram, D(k) the discount of count k (the third entry
serves all larger counts), h' the context without its oldest word. Interpolated models give every word a share of the
freed mass, back-off models only the unseen ones:

    interpolated  P(w|h) = (a(h w) - D(a(h w)) + b(h) P(w|h')) / a(h),     b(h) = the sum of all discounts in h
    back-off      P(w|h) = (a(h w) - D(a(h w))) / a(h) if seen, else beta(h) P(w|h')

Kneser and Ney, "Improved backing-off for m-gram language modeling", 1995; Chen and Goodman, "An empirical study of
smoothing techniques for language modeling", 1999, for the modified discounts and the interpolated form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import BackoffTables, Ngrams, automaton, find, linked_tables, log_tables, step
from corpuscle.memory import pieces


class Discounts(NamedTuple):
    """``values``: float64 (order, 4), D(0) = 0, D(1), D(2), D(3 and more) of each order; ``fallback``: the orders,
    counted from 1, whose counts could not give discounts."""

    values: np.ndarray
    fallback: tuple[int, ...]


@kernel
def _count_left_extensions(words, suffix, first, last, start, adjusted):
    for row in range(first, last):
        if words[row] != start:
            adjusted[suffix[row]] += 1


def adjusted_counts(ngrams: Ngrams, start: int, keep_start: bool, raw: bool = False) -> np.ndarray:
    """a(g) of every row, int32: below the highest order the number of distinct symbols to the left of g.

    ``keep_start``: n-grams of two or more symbols that begin with ``start`` keep their counts, since nothing stands to
    their left. ``raw``: counts at every order (absolute discounting). N-grams that end in ``start`` are contexts only
    and have a = 0.
    """
    adjusted = np.array(ngrams.counts)
    levels = ngrams.levels.tolist()
    if not raw:
        adjusted[: levels[-2]] = 0
        for order in range(2, ngrams.order + 1):
            _count_left_extensions(ngrams.words, ngrams.suffix, levels[order - 1], levels[order], start, adjusted)
        if keep_start:
            first, last = start, start + 1
            for _ in range(2, ngrams.order):
                first, last = int(ngrams.first_child[first]), int(ngrams.first_child[last])
                adjusted[first:last] = ngrams.counts[first:last]
    adjusted[ngrams.words == start] = 0
    return adjusted


@kernel
def _count_few_extensions(words, suffix, start, below, few):
    """``few[g - below]`` := the number of rows whose suffix is g, at most 5."""
    for row in range(len(words)):
        if words[row] != start and few[suffix[row] - below] < 5:
            few[suffix[row] - below] += 1


def count_of_counts(ngrams: Ngrams, start: int, keep_start: bool, raw: bool = False) -> np.ndarray:
    """How many n-grams of each order have an adjusted count, see ``adjusted_counts``, of exactly 1, 2, 3 and 4: int64
    (order, 4). In addition to the n-grams, which may be mapped, this takes a byte for each of those of one order."""
    tallies = np.zeros((ngrams.order, 4), np.int64)
    levels, first, last = ngrams.levels.tolist(), start, start + 1
    for m, tally in enumerate(tallies, 1):
        rows = slice(levels[m - 1], levels[m])
        adjusted = ngrams.counts[rows]
        if not raw and m < ngrams.order:
            adjusted, above = np.zeros(rows.stop - rows.start, np.uint8), slice(levels[m], levels[m + 1])
            for words, suffix in zip(pieces(ngrams.words[above]), pieces(ngrams.suffix[above]), strict=True):
                _count_few_extensions(words, suffix, start, rows.start, adjusted)
            if keep_start and m > 1:
                first, last = int(ngrams.first_child[first]), int(ngrams.first_child[last])
                adjusted[first - rows.start : last - rows.start] = np.minimum(ngrams.counts[first:last], 5)
        for words, counts in zip(pieces(ngrams.words[rows]), pieces(adjusted), strict=True):
            tally += np.bincount(np.minimum(counts[words != start], 5), minlength=6)[1:5]
    return tallies


def good_turing_discounts(counts: np.ndarray, modified: bool) -> Discounts:
    """The discounts that ``count_of_counts`` suggests, one D (plain) or three (modified) for each order.

    Where a needed count is 0 or a discount leaves 0..k, the order gets 0.5 (plain) or 0.5, 1, 1.5.
    """
    values, fallback = np.zeros((len(counts), 4)), []
    for m, (n1, n2, n3, n4) in enumerate(counts.tolist()):
        found: tuple[float, ...] = ()
        if all((n1, n2, n3, n4) if modified else (n1, n2)):
            y = n1 / (n1 + 2 * n2)
            found = (y, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3) if modified else (y, y, y)
        if not found or not all(0 <= d <= k for k, d in enumerate(found, 1)):
            fallback.append(m + 1)
            found = (0.5, 1.0, 1.5) if modified else (0.5, 0.5, 0.5)
        values[m, 1:] = found
    return Discounts(values, tuple(fallback))


@kernel
def _estimate_children(
    first_child, suffix, adjusted, discounts, interpolated, vocabulary, first, last, probability, backoff
):
    """Probabilities of the rows below the contexts ``first`` to ``last``, and those contexts' back-off weights."""
    for context in range(first, last):
        total, freed, lower, seen = 0, 0.0, 0.0, 0
        for row in range(first_child[context], first_child[context + 1]):
            count = adjusted[row]
            if count > 0:
                total += count
                freed += discounts[min(count, 3)]
                lower += probability[suffix[row]]
                seen += 1
        keep, weight = 1.0, 1.0
        if total > 0:
            if interpolated:
                weight = freed / total
            elif seen == vocabulary:  # nothing is left to back off to: the counts keep all their mass
                keep, weight = 0.0, 0.0
            else:
                weight = freed / total / (1.0 - lower)
        backoff[context] = weight
        for row in range(first_child[context], first_child[context + 1]):
            count = adjusted[row]
            share = weight * probability[suffix[row]]
            if count == 0:
                probability[row] = share
            else:
                direct = (count - keep * discounts[min(count, 3)]) / total
                probability[row] = direct + share if interpolated else direct


def estimate_unigrams(
    adjusted: np.ndarray, discounts: np.ndarray, interpolated: bool, uniform: bool, predictable: np.ndarray
) -> np.ndarray:
    """P(w) of every symbol, the freed mass (if ``uniform``) spread over all predictable symbols or the unseen ones."""
    counts = np.where(predictable, adjusted, 0).astype(np.float64)
    total = counts.sum()
    if not uniform and total > 0:
        return counts / total
    freed = discounts[np.minimum(counts, 3).astype(np.int64)]
    receivers = predictable if interpolated or total == 0 else predictable & (counts == 0)
    if not receivers.any():
        return counts / total
    if total == 0:
        return receivers / receivers.sum()
    return (counts - freed) / total + receivers * (freed.sum() / total / receivers.sum())


def estimate(
    ngrams: Ngrams,
    adjusted: np.ndarray,
    discounts: np.ndarray,
    *,
    interpolated: bool,
    predictable: np.ndarray,
    uniform: bool = True,
) -> BackoffTables:
    """The back-off tables of a model of the Kneser-Ney family.

    ``predictable``: bool (n_types,), the symbols that share the probability mass (not the start symbol).
    """
    levels = ngrams.levels.tolist()
    probability, backoff = np.empty(levels[-1]), np.ones(levels[-2])
    probability[: levels[1]] = estimate_unigrams(
        adjusted[: levels[1]], discounts[0], interpolated, uniform, predictable
    )
    vocabulary = int(np.count_nonzero(probability[: levels[1]]))  # the words that can be predicted at all
    for m in range(1, ngrams.order):
        for first in range(levels[m - 1], levels[m], 1 << 20):
            last = min(first + (1 << 20), levels[m])
            _estimate_children(
                ngrams.first_child, ngrams.suffix, adjusted, discounts[m], interpolated, vocabulary,
                first, last, probability, backoff,
            )  # fmt: skip
    return log_tables(ngrams, probability, backoff)


@kernel
def context_totals(first_child, adjusted, totals):
    """For every context a(h), and how many words after it have the counts 1, 2, 3 and more: int64 (contexts, 4)."""
    for context in range(len(first_child) - 1):
        totals[context, :] = 0
        for row in range(first_child[context], first_child[context + 1]):
            count = adjusted[row]
            if count > 0:
                totals[context, 0] += count
                totals[context, min(count, 3)] += 1


@kernel
def discount_features(words, first_child, adjusted, totals, symbols, end, order, known, numbers):
    """What an interpolated model needs to know of every event of a text, whatever its discounts.

    ``symbols``: a stream with boundary symbols; event i predicts ``symbols[i]`` from what stands before it, back to the
    last ``end``. ``known``: int32 (n_symbols,), how many orders above the first have a context that was seen.
    ``numbers``: int32 (n_symbols, order, 5), for each order a(h w) and the ``totals`` of h; of order 1 only the count.
    """
    history = np.empty(order, np.int64)
    length = 0
    for i in range(len(symbols)):
        word = symbols[i]
        numbers[i, 0, 0] = adjusted[word]
        known[i] = 0
        for m in range(1, length + 1):
            context = history[length - m]
            for j in range(length - m + 1, length):
                context = find(words, np.int64(first_child[context]), np.int64(first_child[context + 1]), history[j])
                if context < 0:
                    break
            if context < 0 or totals[context, 0] == 0:
                break
            row = find(words, np.int64(first_child[context]), np.int64(first_child[context + 1]), word)
            numbers[i, m, 0] = adjusted[row] if row >= 0 else 0
            numbers[i, m, 1:] = totals[context]
            known[i] = m
        if word == end:
            length = 0
        elif order > 1:
            if length == order - 1:
                history[: length - 1] = history[1:length]
                length -= 1
            history[length] = word
            length += 1


@kernel
def discount_gradient(numbers, known, events, unigram_total, types_by_count, types, discounts, gradient):
    """Log likelihood of the events under some discounts, float64 (order, 4), and its gradient (added up in place).

    ``types_by_count``: float64 (4,), how many types have the count 1, 2, 3 and more, from index 1.
    """
    total_log = 0.0
    chain, freed = np.empty(len(discounts)), np.zeros(len(discounts))  # by order
    for k in range(1, 4):
        freed[0] += discounts[0, k] * types_by_count[k]
    for e in range(len(events)):
        i = events[e]
        count = int(numbers[i, 0, 0])
        chain[0] = (count - discounts[0, min(count, 3)] + freed[0] / types) / unigram_total
        for m in range(1, known[i] + 1):
            count = int(numbers[i, m, 0])
            freed[m] = 0.0
            for k in range(1, 4):
                freed[m] += discounts[m, k] * numbers[i, m, 1 + k]
            chain[m] = (count - discounts[m, min(count, 3)] + freed[m] * chain[m - 1]) / numbers[i, m, 1]
        probability = chain[known[i]]
        total_log += np.log(probability)
        slope = 1.0 / probability
        for m in range(known[i], 0, -1):
            count = int(numbers[i, m, 0])
            for k in range(1, 4):
                gradient[m, k] += slope * numbers[i, m, 1 + k] * chain[m - 1] / numbers[i, m, 1]
            gradient[m, min(count, 3)] -= slope / numbers[i, m, 1]
            slope *= freed[m] / numbers[i, m, 1]
        count = int(numbers[i, 0, 0])
        for k in range(1, 4):
            gradient[0, k] += slope * types_by_count[k] / types / unigram_total
        gradient[0, min(count, 3)] -= slope / unigram_total
    return total_log


@kernel
def _log_history_probability(tables, start, end, out):
    """Log probability of every context, its own words read from the left.

    As many sentences begin as end: ``start``, which is never predicted, has the probability of ``end``; one ``start``
    after another costs nothing.
    """
    for row in range(tables.levels[1]):
        out[row] = tables.log_probability[end if row == start else row]
    for m in range(1, len(tables.levels) - 2):
        for context in range(tables.levels[m - 1], tables.levels[m]):
            for row in range(tables.first_child[context], tables.first_child[context + 1]):
                out[row] = out[context] + (0.0 if tables.words[row] == start else tables.log_probability[row])


@kernel
def _relative_entropy(model, history, first, last, divergence):
    for context in range(first, last):
        begin, end = model.contexts[context].first_child, model.contexts[context + 1].first_child
        below = np.int64(model.contexts[context].suffix)
        free, free_below = 1.0, 1.0
        for row in range(begin, end):
            free -= np.exp(model.rows[row].log_probability)
            divergence[row] = step(model, below, model.words[row])[1]
            free_below -= np.exp(divergence[row])
        free, free_below = max(free, 1e-300), max(free_below, 1e-300)
        old = np.log(free) - np.log(free_below)
        for row in range(begin, end):
            here, lower = model.rows[row].log_probability, divergence[row]
            new = np.log(free + np.exp(here)) - np.log(free_below + np.exp(lower))
            change = np.exp(here) * (lower + new - here) + free * (new - old)
            divergence[row] = -np.exp(history[context]) * change


def relative_entropy(tables: BackoffTables, start: int, end: int) -> np.ndarray:
    """How much the model changes, in nats a word, if one n-gram is left to back-off: float64 (rows,), 0 for unigrams.

    Stolcke (1998): the context is weighted by its probability under the model, and its back-off weight is recomputed as
    if only that n-gram were gone.
    """
    history, divergence = np.zeros(len(tables.backoff)), np.zeros(len(tables.words))
    if tables.order > 1:
        _log_history_probability(tables, start, end, history)
        model = automaton(tables)
        for first in range(0, len(tables.backoff), 1 << 20):
            _relative_entropy(model, history, first, min(first + (1 << 20), len(tables.backoff)), divergence)
    return divergence


@kernel
def _keep_ancestors(first_child, keep, levels):
    """A context stays if one of its continuations stays."""
    for m in range(len(levels) - 2, 0, -1):
        for context in range(levels[m - 1], levels[m]):
            for row in range(first_child[context], first_child[context + 1]):
                if keep[row]:
                    keep[context] = True


@kernel
def _renormalise(model, first, last):
    """Back-off weights that make the contexts ``first`` to ``last`` sum to one again, given the rows that are left;
    where rounding leaves nothing to share, the weight stays as it is."""
    for context in range(first, last):
        seen, lower, n_children = 0.0, 0.0, 0
        below = np.int64(model.contexts[context].suffix)
        for row in range(model.contexts[context].first_child, model.contexts[context + 1].first_child):
            seen += np.exp(model.rows[row].log_probability)
            lower += np.exp(step(model, below, model.words[row])[1])
            n_children += 1
        if n_children == 0:
            model.contexts[context].backoff = 0.0
        elif seen < 1.0 and lower < 1.0:
            model.contexts[context].backoff = np.log(1.0 - seen) - np.log(1.0 - lower)


def prune_rows(tables: BackoffTables, keep: np.ndarray) -> BackoffTables:
    """Leave out the rows that are not in ``keep`` (bool); contexts of kept rows and unigrams always stay.

    Probabilities stay as they are; back-off weights are recomputed so that every context sums to one.
    """
    shape, kept = kept_rows(tables, keep)
    contexts = kept[: len(shape[2]) - 1]
    pruned = linked_tables(*shape, tables.log_probability[kept], tables.backoff[contexts])
    model = automaton(pruned)
    for m in range(1, pruned.order):
        _renormalise(model, int(pruned.levels[m - 1]), int(pruned.levels[m]))
    return pruned._replace(backoff=frozen(model.contexts["backoff"][:-1], np.float64))


def kept_rows(
    tables: BackoffTables | Ngrams, keep: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """``levels``, ``words`` and ``first_child`` of a trie with the rows that are in ``keep`` (bool), their contexts and
    the unigrams alone; and which rows these are, int64 (kept,)."""
    levels = tables.levels.tolist()
    keep = np.array(keep, bool)
    keep[: levels[1]] = True
    _keep_ancestors(tables.first_child, keep, tables.levels)
    order = max(m for m in range(1, tables.order + 1) if keep[levels[m - 1] : levels[m]].any())
    new_levels = np.array([0, *(int(keep[:level].sum()) for level in levels[1 : order + 1])])
    kept = np.flatnonzero(keep)
    contexts = kept[kept < levels[order - 1]]
    rows_before = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    # The rows below kept contexts follow one another without gaps: a kept row's context is always kept.
    first_child = (
        np.append(rows_before[tables.first_child[contexts]], new_levels[-1]) if order > 1 else np.zeros(1, np.int64)
    )
    return (new_levels, tables.words[kept], first_child), kept
