"""What a normaliser learns in addition to words: the weights of features, and its channel.

**The weights** are learned from annotated messages. Of seen words it matters what they stood for, of others what they
look like; so both have weights of their own, but the language model has one weight for whole messages. Each annotated
token is treated as unseen: without itself among the replacements, with a language model of the other parts of the
messages (jackknife), and, if no list of words is given, with their words alone. The weights have the highest likelihood
(``engine.likelihood``). Most words are right, which favours leaving them alone; so the weights of the word itself are
then lowered as far as F1 of the changes in the annotated messages rises.

**The channel** is estimated by expectation maximisation, from the changed words of annotated messages; without, from
words outside the lexicon, each with its confusion set and the frequencies of that in clean text as prior.

Och and Ney, "Discriminative training and maximum entropy models for statistical machine translation", 2002; Cook and
Stevenson, "An unsupervised model for text message normalization", 2009."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.engine import likelihood
from corpuscle.engine.mert import Pools
from corpuscle.lm import NgramModel
from corpuscle.normalise.candidates import (
    CHANGE,
    CONTEXT,
    DEFAULTS,
    FEATURES,
    ITSELF,
    SEEN,
    SEEN_COLUMNS,
    context_scores,
    places_of,
    seen_columns,
)
from corpuscle.normalise.decoding import support_of
from corpuscle.normalise.kernels.words import COUNTS, Channel, Spelled, add_counts
from corpuscle.normalise.lexicon import Messages
from corpuscle.normalise.tokens import annotated_tokens, is_examined, letters_of_word, reduced
from corpuscle.random import folds
from corpuscle.text.columns import Normalised
from corpuscle.text.corpus import starts_of

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser


_FOLDS = 5
_PENALTY = 1e-6
"""On squared weights; most words are right as they are, so that the mean likelihood changes little."""
_THRESHOLDS = np.arange(0.0, 0.96, 0.05)
_LOWER = np.arange(0.0, 2.05, 0.1)


def fitted_weights(
    model: Normaliser,
    typed: Messages,
    meant: Messages,
    clean: Messages,
    standard: Messages,
    knowing: Callable[[Messages], Normaliser],
) -> np.ndarray | None:
    """The weights for messages as typed and as meant, token by token: float64 (2, n_features), of unseen and of seen
    words; None if there is nothing to learn from. ``clean``: more text; ``standard``: what was meant as plain
    sentences; ``knowing``: the model that knows the words of some of the latter only."""
    fold_of = folds(model.seed, "normalise.weights", len(typed), _FOLDS)
    tables: list[np.ndarray] = []
    right: list[np.ndarray] = []
    ill_formed = 0
    for fold in range(_FOLDS):
        others = [standard[i] for i in np.flatnonzero(fold_of != fold).tolist()]
        mine = np.flatnonzero(fold_of == fold).tolist()
        if any(others) and mine:
            lm = model.language_model([*clean, *others])
            ill_formed += _add(knowing(others), [typed[i] for i in mine], [meant[i] for i in mine], lm, tables, right)
    if not tables:
        return None
    starts, width = starts_of(map(len, tables)), len(FEATURES)
    pools = Pools(starts, np.vstack(tables), np.concatenate(right).astype(np.float64)[:, None])
    positive = np.tile(np.isin(np.arange(width), [0, SEEN, CONTEXT]), 2)
    _, found = likelihood.maximise(pools, np.tile(DEFAULTS, 2), positive, _PENALTY)
    weights = found.reshape(2, width)
    weights[0, CONTEXT] = weights[1, CONTEXT]
    weights[:, ITSELF] -= _lower_by(pools, found, ill_formed)
    return weights


def _add(
    model: Normaliser, typed: Messages, meant: Messages, lm: NgramModel, tables: list[np.ndarray],
    right: list[np.ndarray],
) -> int:  # fmt: skip
    """Add the candidates of some messages, and which are right; returns how many tokens of them are ill-formed."""
    places = places_of(model, typed, None)
    candidates = places.candidates()
    scores = np.zeros((len(candidates.starts) - 1, 2))
    scores[:, 0] = context_scores(places, candidates, lm, lm.vocab_.mapping_from(model.lm_.vocab_))
    scores[:, 1] = support_of(model, typed, places)
    ill_formed = 0
    for place, (begin, end) in zip(places.each, pairwise(candidates.places.tolist()), strict=True):
        entry, answer = place.entry, " ".join(meant[place.message][place.token].lower().split())
        ill_formed += answer != place.typed
        own = np.array([form == answer for form in entry.forms])
        at = int(np.argmax(own)) if own.any() else -1
        counts = np.maximum(entry.counts - own, 0.0)
        kept = entry.unseen | (counts > 0)
        if kept.sum() < 2:
            continue
        table = place.table(model, scores[begin:end], at)
        table[:, SEEN_COLUMNS] = seen_columns(counts, table[:, ITSELF] > 0)
        if at >= 0 and entry.counts[at] == 1 and table[at, ITSELF] == 0:  # without it, its change is rarer by one
            shared = table[:, CHANGE] == table[at, CHANGE]
            table[shared, CHANGE] = np.log(np.maximum(np.exp(table[shared, CHANGE]) - 1.0, 1.0))
        # Features of an unseen word in the first half of the columns, those of a seen one in the second; the context
        # always in the second.
        both = np.zeros((int(kept.sum()), 2, table.shape[1]))
        both[:, int(counts.any())] = table[kept]
        both[:, :, CONTEXT] = [0.0, 1.0] * table[kept, CONTEXT, None]
        tables.append(both.reshape(len(both), -1))
        right.append(own[kept])
    return ill_formed


def _lower_by(pools: Pools, weights: np.ndarray, ill_formed: int) -> np.ndarray:
    """By how much to lower the weights of the word itself, unseen and seen, for the highest F1 of changes: float64
    (2,); the least of equals."""
    scores, begins = pools.features @ weights, pools.starts[:-1]
    itself, right = pools.features[:, [ITSELF, len(FEATURES) + ITSELF]] > 0, pools.statistics[:, 0] > 0
    item = np.repeat(np.arange(len(begins)), np.diff(pools.starts))
    is_seen = np.logical_or.reduceat(itself[:, 1], begins)
    found = np.zeros((2, len(_LOWER), 2))  # right changes and all changes, by kind of word and shift
    for k, less in enumerate(_LOWER):
        moved = scores - less * itself.any(axis=1)
        best = np.flatnonzero(moved == np.maximum.reduceat(moved, begins)[item])
        best = best[np.unique(item[best], return_index=True)[1]]
        changed = best[~itself[best].any(axis=1)]
        for seen in (0, 1):
            mine = changed[is_seen[item[changed]] == seen]
            found[seen, k] = right[mine].sum(), len(mine)
    both = found[0][:, None] + found[1][None]
    figures = 2.0 * both[..., 0] / np.maximum(1, both[..., 1] + ill_formed)
    return _LOWER[list(np.unravel_index(int(np.argmax(figures)), figures.shape))]


def best_threshold(model: Normaliser, dev: Normalised) -> float:
    """The least confidence with the highest F1 of changes in some annotated messages."""
    rows = []
    for i, choices in enumerate(model.choices(list(dev.corpus))):
        meant = dev.standard(i)
        rows += [
            (one.confidence, one.form.lower() == meant[one.place].lower())
            for one in choices if one.form.lower() != one.typed.lower()
        ]  # fmt: skip
    sure, right = np.array(rows, np.float64).reshape(-1, 2).T
    wrong = sum(one.lower() != other.lower() for one, other in annotated_tokens(dev))
    figures = [2.0 * right[sure >= least].sum() / max(1, (sure >= least).sum() + wrong) for least in _THRESHOLDS]
    return float(_THRESHOLDS[int(np.argmax(figures))])


_TYPED = 2000
"""The number of words that the channel is fitted to without annotated messages."""
_PASSES = 10
_ADDED = 0.5
"""Added to every expected count, so that nothing becomes impossible."""


class Example(NamedTuple):
    """A typed word, its letters int32, and the words that may have been meant by number, int32, with their prior
    probabilities, float64; ``times``: how often it was typed."""

    typed: np.ndarray
    words: np.ndarray
    shares: np.ndarray
    times: float


def fitted_channel(
    channel: Channel, examples: Sequence[Example], spelled: Spelled, vowels: np.ndarray
) -> tuple[Channel, list[float]]:
    """A channel under which the examples are more likely, and the log likelihood before each pass."""
    history = []
    for _ in range(_PASSES):
        counts, total = np.full(COUNTS, _ADDED), 0.0
        for one in examples:
            own = np.zeros(COUNTS)
            value = add_counts(one.typed, spelled, vowels, one.words, one.shares, channel, own)
            if value > -np.inf:
                total += one.times * value
                counts += one.times * own
        history.append(total)
        types, (insert, *read, end), kept = counts[:4], counts[4:9], counts[9:].reshape(3, 2)
        keep, substitute, delete = (np.array(read) / sum(read)).tolist()
        first, consonant, vowel = (kept[:, 0] / kept.sum(axis=1)).tolist()
        insert = float(insert / (insert + sum(read) + end))
        shares = types / types.sum()
        channel = Channel(insert, keep, substitute, delete, channel.alphabet, first, consonant, vowel, shares)
    return channel, history


def pair_examples(model: Normaliser, pairs: Sequence[tuple[str, str]]) -> list[Example]:
    """The changed words of annotated messages, as typed and as meant, in lower case."""
    number = model.lexicon_.number
    found = Counter(pair for pair in pairs if pair[0] != pair[1] and pair[1] in number)
    return [
        Example(letters_of_word(reduced(typed, model.repeats)), np.array([number[meant]], np.int32), np.ones(1), times)
        for (typed, meant), times in found.items()
    ]


def message_examples(model: Normaliser, messages: Sequence[Sequence[str]]) -> list[Example]:
    """The most frequent words of messages (lower case) that are not in the lexicon, with their confusion sets."""
    lexicon, examples = model.lexicon_, []
    words = Counter(word for message in messages for word in message if is_examined(word) and word not in lexicon)
    for word, times in words.most_common(_TYPED):
        token = reduced(word, model.repeats)
        near = lexicon.confusion_set(token, model.reach)
        if len(near):
            prior = np.exp(lexicon.log_frequency[near])
            examples.append(Example(letters_of_word(token), near, prior / prior.sum(), times))
    return examples
