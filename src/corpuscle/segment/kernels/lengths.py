"""How long words are: the law that the letters imply, the law that is wanted, and the factor between them.

A model of letters, left to itself, makes too many short words. Let J(type, k) be the probability that it spells a word
of a type with k letters, k = 1..longest, J its sum. With a Poisson law of the lengths of every type, cut off at the
longest word (a mixture of scripts has at least two letters), the base measure of words is

    (1 - P($)) * spelled(w) / J * Poisson(k | lambda of the type) / P(k | type),     P(k | type) = J(type, k) / J(type)

which sums to one. J is estimated by letters that never end their word: a path of letters, END excluded, survives each
step with probability 1 - P(END), and adds what does not survive to the law. A share of one in a hundred of the law of
all types together keeps every P(k | type) above zero.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 4.3, equations 13-17, whose printed form (``paper``) divides by the law of all types together and does not cut
the Poisson law off.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from corpuscle.compiled import kernel, part
from corpuscle.engine.ngrams.trie import find
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.contexts import Predictor, freeze, predictor
from corpuscle.engine.restaurants.pool import used_rows
from corpuscle.random import Random, below, gamma, uniform
from corpuscle.segment.kernels.model import BEGIN, BOUNDARY, END, LENGTH, LETTER_BASE, START, Nested

_POOLED = 0.01
"""The share of the law of all types together in that of each."""
_TRIES = 64
"""How often a letter is drawn until it is not END."""
_FIRST = 3
"""The first ordinary letter."""

_SPELLINGS = 1 << 14
"""Words that one call spells at most until one is kept."""


@part(bare=True)
def _walk(model, spelling, length, deepest, path):
    """``path`` := the existing contexts of what follows ``spelling[:length]``; returns how many."""
    path[0] = 0
    count = 1
    while count <= min(length, deepest):
        node = path[count - 1]
        low, high = np.int64(model.first_child[node]), np.int64(model.first_child[node + 1])
        child = find(model.symbols, low, high, spelling[length - count])
        if child < 0:
            break
        path[count] = child
        count += 1
    return count


@part(bare=True)
def _end_probability(model, path, count, most, base):
    """P(END) after a context of which ``count`` nodes exist, the root included, and ``most`` symbols may be seen."""
    here, reach, total = base, 1.0, 0.0
    for n in range(count):
        node = path[n]
        here *= model.passed_on[node]
        entry = find(model.dishes, np.int64(model.first_entry[node]), np.int64(model.first_entry[node + 1]), END)
        if entry >= 0:
            here += model.share[entry]
        if n < most:
            total += reach * model.stop[node] * here
            reach *= 1.0 - model.stop[node]
    return total + reach * here


@part(bare=True)
def _draw_letter(model, path, count, most, letters, stream):
    """A letter, perhaps END, after the same context."""
    n = 0
    while n < count - 1 and (n == most or uniform(stream) >= model.stop[path[n]]):
        n += 1
    # From the context where the letter stops down to shorter ones, as often as the restaurants pass it on.
    while n >= 0:
        node = path[n]
        left = uniform(stream) - model.passed_on[node]
        if left >= 0.0:
            last = np.int64(model.first_entry[node + 1]) - 1
            for entry in range(model.first_entry[node], last + 1):
                left -= model.share[entry]
                if left < 0.0:
                    break
            return np.int64(model.dishes[min(entry, last)])
        n -= 1
    letter = below(stream, letters - 1) + _FIRST - 1  # END, or an ordinary letter, or the unknown one
    return letter if letter < letters else np.int64(0)


@kernel(bare=True)
def _survive(model, masks, kinds, base, deepest, paths, law, spelling, path, stream):
    longest = law.shape[1] - 1
    spelling[0] = START
    for _ in range(paths):
        alive, mask = 1.0, 0
        for k in range(longest + 1):
            most = min(k + 1, deepest)
            count = _walk(model, spelling, k + 1, deepest, path)
            end = _end_probability(model, path, count, most, base)
            if k > 0:
                law[kinds[mask], k] += alive * end / paths
            alive *= 1.0 - end  # the path goes on with a letter that is not END
            letter = np.int64(END)
            tries = 0
            while letter == END and tries < _TRIES:
                letter = _draw_letter(model, path, count, most, len(masks), stream)
                tries += 1
            if letter == END:  # hardly any word gets this far
                break
            spelling[k + 1] = letter
            mask |= masks[letter]


def speller(nested: Nested) -> Predictor:
    """The letters of a model, ready to spell words."""
    pool = nested.letters
    prior = (float(pool.stop_prior[0]), float(pool.stop_prior[1]))
    return predictor(freeze(pool, 0), pool.discounts, pool.strengths, prior)


@kernel(bare=True)
def _spell_kept(model, nested, ceiling, spelling, path, stream):
    """``spelling[1:]`` := a word that is kept with probability factor / ceiling; returns its length, 0 if none was."""
    longest, deepest = nested.factors.shape[1] - 1, len(path) - 2
    spelling[0] = START
    for _ in range(_SPELLINGS):
        length, mask, letter = 0, 0, np.int64(START)
        while length <= longest:
            count = _walk(model, spelling, length + 1, deepest, path)
            letter = _draw_letter(model, path, count, min(length + 1, deepest), len(nested.masks), stream)
            if letter < _FIRST:  # the end, or a letter that the text does not have
                break
            spelling[length + 1] = letter
            mask |= nested.masks[letter]
            length += 1
        if letter == END and length > 0 and uniform(stream) * ceiling < nested.factors[nested.kinds[mask], length]:
            return length
    return 0


def new_word(nested: Nested, model: Predictor, stream: np.ndarray) -> tuple[int, ...]:
    """The letters of a word that is drawn from the base measure, none of them unknown; empty if many tries failed.
    ``model``: its ``speller``."""
    masks = np.unique(nested.masks[_FIRST:])
    kinds = np.unique(nested.kinds[masks[:, None] | masks])  # of words of one script, and of two
    longest, deepest = nested.factors.shape[1] - 1, len(nested.letters.path) - 2
    spelling, path = np.zeros(longest + 3, np.int32), np.zeros(deepest + 2, np.int64)
    length = _spell_kept(model, nested, float(nested.factors[kinds].max()), spelling, path, stream)
    return tuple(spelling[1 : length + 1].tolist())


def length_law(nested: Nested, paths: int, seed: int, iteration: int) -> np.ndarray:
    """An estimate of J: float64 (types, longest + 1)."""
    deepest = len(nested.letters.path) - 2
    law = np.zeros_like(nested.factors)
    _survive(
        speller(nested), nested.masks, nested.kinds, float(nested.bases[LETTER_BASE]), deepest, paths, law,
        np.zeros(law.shape[1] + 2, np.int32), np.zeros(deepest + 2, np.int64),
        Random(seed, "nested.lengths", iteration).array(),
    )  # fmt: skip
    return law


def length_factors(
    law: np.ndarray,
    means: np.ndarray,
    boundary: float,
    mixed: int | None = None,
    norm: str = "type",
    pooled: float = _POOLED,
) -> np.ndarray:
    """The factor of a word's spelling in the base measure: float64 (types, longest + 1), 0 for length 0. ``means``:
    float64 (types,), the parameter of the Poisson law of every type; ``mixed``: the type whose words have at
    least two letters; ``norm``: ``type``, ``paper`` or ``none`` (the letters decide); ``pooled``: the share of the law
    of all types together."""
    longest = law.shape[1] - 1
    lengths = np.arange(longest + 1)
    law = law.copy()
    law[:, 0] = 0.0
    everything = law.sum()
    factors = np.full(law.shape, (1.0 - boundary) / everything)
    if norm != "none":
        with np.errstate(divide="ignore"):
            logs = lengths * np.log(means)[:, None] - means[:, None] - gammaln(lengths + 1.0)
        poisson = np.exp(logs)
        poisson[:, 0] = 0.0
        of_all = law.sum(0)
        if norm == "paper":
            factors = (1.0 - boundary) * poisson / np.maximum(of_all, 1e-300)
        else:
            allowed = np.tile(lengths >= 1, (len(law), 1))
            if mixed is not None and longest >= 2:
                allowed[mixed, 1] = False
            poisson *= allowed
            poisson /= poisson.sum(1, keepdims=True)
            within = np.where(allowed, of_all, 0.0) + 1e-300
            own = law + 1e-300 * allowed
            given = (1 - pooled) * own / own.sum(1, keepdims=True)
            given += pooled * within / within.sum(1, keepdims=True)
            seen = law.sum(1, keepdims=True) > 0
            given = np.where(seen, given, within / within.sum(1, keepdims=True))
            factors = np.where(allowed, factors * poisson / np.where(allowed, given, 1.0), 0.0)
    factors[:, 0] = 0.0
    return factors


def root_tables(nested: Nested) -> tuple[np.ndarray, np.ndarray]:
    """The words that have tables in the root, without ``$``, and how many: int64 arrays of the same length."""
    _, entries = used_rows(nested.words)
    rows = entries[(entries[:, col.NODE] == 0) & (entries[:, col.DISH] != BOUNDARY)]
    return rows[:, col.DISH].astype(np.int64), rows[:, col.TABLES].astype(np.int64)


def word_types(nested: Nested, words: np.ndarray) -> np.ndarray:
    """The types of some words by number: int64 (n,)."""
    lengths = nested.rows[words, LENGTH].astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    letters = nested.text[np.repeat(nested.rows[words, BEGIN] - starts, lengths) + np.arange(lengths.sum())]
    return nested.kinds[np.bitwise_or.reduceat(nested.masks[letters], starts)].astype(np.int64)


def sample_means(nested: Nested, prior: tuple[float, float], seed: int, iteration: int) -> np.ndarray:
    """Draw the Poisson parameter of every type given the words of the root's tables: float64 (types,). The prior is
    Gamma(shape, rate); that the Poisson law is cut off is not taken into account."""
    words, tables = root_tables(nested)
    types, lengths = word_types(nested, words), nested.rows[words, LENGTH].astype(np.int64)
    n = len(nested.factors)
    shapes = prior[0] + np.bincount(types, tables * lengths, n)
    rates = prior[1] + np.bincount(types, tables, n)
    stream = Random(seed, "nested.means", iteration).array()
    return np.array([gamma(stream, shape) / rate for shape, rate in zip(shapes, rates, strict=True)])
