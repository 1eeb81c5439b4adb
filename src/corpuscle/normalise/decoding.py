"""Which candidate a token becomes: scores of all candidates of some messages, the best of each, and why.

- ``loglinear``: weighted features; all places of a message are decided together (``kernels.context``), or one by one
  with the most frequent readings of their neighbours; then each is compared with its candidates, given the others;
- ``sum``: similarities plus context (language model and bank, each scaled to 0..1 over the candidates); ``similarity``,
  ``context``: one of the two; ``channel``: log P(t | s) P(s); ``dictionary``: the most frequent replacement. Of equal
  candidates the one that fits the context better is taken, then the more frequent, then the first.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, sections 4.2 and 4.3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from corpuscle.normalise.bank import Matches, fits, matches
from corpuscle.normalise.candidates import (
    AFTER,
    AMONG,
    CONTEXT,
    FEATURES,
    FREQUENCY,
    SLANG,
    SUPPORT,
    Entry,
    Place,
    Places,
    context_scores,
    places_of,
    side_columns,
    windows_of,
)
from corpuscle.normalise.kernels.context import Candidates, best_candidates, decode_messages
from corpuscle.normalise.lexicon import Messages
from corpuscle.normalise.tokens import with_case

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser

_KEPT = 10
_SIMILAR = np.array([1, 2, 3, 4, 5])
_TRIED = 8
"""The number of candidates of a token that take part in joint decoding."""


class Choice(NamedTuple):
    """What became of a token: its place, how it was typed, its form, how certain that is; and its candidates, best
    first, with their scores and the parts of their features."""

    place: int
    typed: str
    form: str
    confidence: float
    ranked: list[tuple[str, float, dict[str, float]]]

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        candidates = [{"form": form, "score": score, "parts": parts} for form, score, parts in self.ranked]
        return {
            "token": self.place, "typed": self.typed, "form": self.form, "confidence": self.confidence,
            "candidates": candidates,
        }  # fmt: skip


def explained(message: Sequence[str], choices: Sequence[Choice]) -> dict[str, Any]:
    """A message with what was changed in it and why, as JSON has it."""
    forms = list(message)
    for choice in choices:
        forms[choice.place] = choice.form
    changes = [choice.described() for choice in choices if choice.form != choice.typed]
    return {"typed": " ".join(message), "text": " ".join(filter(None, forms)), "changes": changes}


class _Scored(NamedTuple):
    """All candidates of some messages: by the language model, by the bank, and altogether (-inf: not considered)."""

    context: np.ndarray
    support: np.ndarray
    total: np.ndarray


def choose(chunk: tuple[Messages, Any, int], model: Normaliser) -> list[list[Choice]]:
    """What becomes of the tokens of messages that have candidates; ``chunk``: messages, which tokens are known to be
    ill-formed if any is, and how many candidates to list."""
    messages, wrong, ranked = chunk
    places = places_of(model, messages, wrong)
    candidates = places.candidates()
    scored = _scored(model, messages, places, candidates)
    n = len(places.each)
    best, confidence = np.empty(n, np.int64), np.empty(n)
    frequency = np.concatenate([np.zeros(0), *(entry.table[:, FREQUENCY] for entry in places.entries)])
    best_candidates(candidates.places, scored.total, scored.context, frequency, best, confidence)
    if model.combine == "dictionary":
        confidence[:] = 1.0
    stays = _stays(model, messages, places, candidates, scored.context) if wrong is None else np.zeros(n, bool)
    least = model.least_confidence if wrong is None else model.min_confidence or 0.0
    found: list[list[Choice]] = [[] for _ in messages]
    begins = candidates.places.tolist()
    for k, (place, top, sure) in enumerate(zip(places.each, best.tolist(), confidence.tolist(), strict=True)):
        typed, form = messages[place.message][place.token], place.entry.forms[top - begins[k]]
        is_kept = stays[k] or form == place.typed or sure < least
        rows = _ranked(model, place, scored, slice(*begins[k : k + 2]))[:ranked] if ranked else []
        form = typed if is_kept else with_case(form, typed)
        found[place.message].append(Choice(place.token, typed, form, sure, rows))
    for message, token, form, sure in places.decided:
        typed = messages[message][token]
        found[message].append(Choice(token, typed, with_case(form, typed), sure, []))
    for message in {row[0] for row in places.decided}:
        found[message].sort()
    return found


def support_of(model: Normaliser, messages: Messages, places: Places) -> np.ndarray:
    """What the words around a place say for each of its candidates by the bank: float64, 0 without a bank."""
    if not len(model.bank_.keys):
        return np.zeros(sum(len(entry.forms) for entry in places.entries))
    return _matches(model, messages, places).sums


def _matches(model: Normaliser, messages: Messages, places: Places) -> Matches:
    windows = windows_of(model, messages, [(place.message, place.token) for place in places.each])
    which = np.repeat(np.arange(len(places.each)), [len(entry.forms) for entry in places.entries])
    numbers = np.concatenate([np.zeros(0, np.int32), *(entry.numbers for entry in places.entries)])
    return matches(model.bank_, windows, which, numbers, model.expand)


def _scored(model: Normaliser, messages: Messages, places: Places, candidates: Candidates) -> _Scored:
    context = context_scores(places, candidates, model.lm_, None)
    support = support_of(model, messages, places)
    if model.combine != "loglinear":
        parts = [
            _plain_scores(model, entry, context[a:b], support[a:b])
            for entry, (a, b) in zip(places.entries, pairwise(candidates.places.tolist()), strict=True)
        ]
        return _Scored(context, support, np.concatenate([np.zeros(0), *parts]))
    weight = float(model.weights_[1, CONTEXT])
    own = _own_scores(model, places, support)
    total = own + weight * context
    if model.decode == "joint" and places.each:
        chosen, limits = np.empty(len(places.each), np.int64), (_TRIED, model.beam)
        decode_messages(model.lm_.automaton_, places.stream, candidates, own, total, weight, limits, chosen)
        context = context_scores(places, candidates, model.lm_, None, chosen)
        total = own + weight * context
    return _Scored(context, support, total)


def _own_scores(model: Normaliser, places: Places, support: np.ndarray) -> np.ndarray:
    """The weighted features of all candidates without that of the language model."""
    weights = model.weights_
    scores = np.concatenate([np.zeros(0), *(entry.scores for entry in places.entries)])
    if len(model.bank_.keys):
        seen = np.repeat([int(e.seen) for e in places.entries], [len(e.forms) for e in places.entries])
        scores += weights[seen.astype(np.int64), SUPPORT] * support
    at = 0
    for place in places.each:
        entry = place.entry
        if entry.own >= 0:
            scores[at + entry.own] += weights[int(entry.seen), AMONG] * place.unknown
        if entry.seen and (sides := side_columns(model, place)) is not None:
            scores[at : at + len(sides)] += sides @ weights[1, AFTER : AFTER + 2]
        at += len(entry.forms)
    return scores


def _plain_scores(model: Normaliser, entry: Entry, context: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The scores of the candidates of one token by what the weighted features are compared with."""
    table = entry.table
    if model.combine == "channel":
        return np.asarray(table[:, 0] + table[:, FREQUENCY])
    if model.combine == "dictionary":
        return np.asarray(entry.counts + 0.5 * table[:, SLANG])
    scores = np.zeros(len(table))
    if model.combine != "context":
        scores += table[:, _SIMILAR].sum(axis=1)
    if model.combine != "similarity":
        scores += scaled(context) + scaled(support)
    scores[np.argsort(-context, kind="stable")[_kept(model, len(table)) :]] = -np.inf
    return scores


def _kept(model: Normaliser, n: int) -> int:
    """How many of n candidates the language model keeps."""
    return max(_KEPT, int(np.ceil(model.keep * n)))


def scaled(values: np.ndarray) -> np.ndarray:
    """Values scaled to 0..1; 0 where all are the same."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def _stays(
    model: Normaliser, messages: Messages, places: Places, candidates: Candidates, context: np.ndarray
) -> np.ndarray:
    """Which places are well-formed by the detector, if there is one: bool (n_places,); words of the slang are not."""
    stays = np.zeros(len(places.each), bool)
    if model.detector_ is None or not len(stays):
        return stays
    fitting = fits(model.detector_, _matches(model, messages, places))
    for k, (begin, end) in enumerate(pairwise(candidates.places.tolist())):
        if not places.each[k].entry.table[:, SLANG].any():
            best = np.argsort(-context[begin:end], kind="stable")[: _kept(model, end - begin)]
            stays[k] = fitting[begin:end][best].sum() < model.positives
    return stays


def _ranked(model: Normaliser, place: Place, scored: _Scored, mine: slice) -> list[tuple[str, float, dict[str, float]]]:
    """The candidates of a place, best first, with their scores and what each feature adds (loglinear) or is."""
    entry, total = place.entry, scored.total[mine]
    table = place.table(model, np.column_stack([scored.context[mine], scored.support[mine]]))
    order = np.lexsort((-table[:, FREQUENCY], -table[:, CONTEXT], -total)).tolist()
    values = table * model.weights_[int(entry.seen)] if model.combine == "loglinear" else table

    def parts(c: int) -> dict[str, float]:
        return {FEATURES[f]: float(values[c, f]) for f in np.flatnonzero(values[c]).tolist()}

    return [(entry.forms[c], float(total[c]), parts(c)) for c in order if total[c] > -np.inf]
