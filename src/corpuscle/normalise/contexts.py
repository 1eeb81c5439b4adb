"""The tokens of messages that have something to choose from, and their candidates laid out for kernels.

A message is a stream of words and places (``kernels.context``). Several tokens that are known to be one word (``al
right``: *alright*) are replaced before anything else, the longest such run first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.lm import NgramModel
from corpuscle.normalise.candidates import AFTER, AMONG, CONTEXT, ITSELF, SUPPORT, Entry, entry_of, side_columns
from corpuscle.normalise.kernels.bank import OFFSETS, Windows
from corpuscle.normalise.kernels.context import Candidates, Stream, contexts_of, score_candidates
from corpuscle.normalise.tokens import is_examined, reduced
from corpuscle.text.corpus import starts_of
from corpuscle.text.vocab import END, START

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser

EDGES = ("<s>", "</s>")
"""What stands before the first and behind the last token of a message."""

Messages = Sequence[Sequence[str]]


class Type(NamedTuple):
    """What is known of a token in lower case wherever it stands: whether it may be changed, whether it is in the
    lexicon, its candidates if there is a choice, and the words that stand for it in the language model."""

    examined: bool
    known: bool
    entry: Entry | None
    words: list[int]


class Places(NamedTuple):
    """The places of some messages: message and token, candidates, the share of unknown words of the message, what
    stands on both sides; the messages as a stream; and tokens that are decided already, with the form of each."""

    messages: list[int]
    tokens: list[int]
    entries: list[Entry]
    unknown: list[float]
    sides: list[tuple[str, str]]
    stream: Stream
    decided: list[tuple[int, int, str, float]]

    def candidates(self) -> Candidates:
        """All candidates, one after the other."""
        words = np.concatenate([np.zeros(0, np.int32), *(entry.words for entry in self.entries)])
        lengths = np.concatenate([np.zeros(0, np.int64), *(entry.lengths for entry in self.entries)])
        places = starts_of(len(entry.forms) for entry in self.entries)
        return Candidates(frozen(places, np.int64), frozen(words, np.int32), frozen(starts_of(lengths), np.int64))

    def table(self, k: int, typed: str, model: Normaliser, scores: np.ndarray, answer: int = -1) -> np.ndarray:
        """The features of the candidates of place k, given their ``CONTEXT`` and ``SUPPORT``, (n, 2): float64
        (n, n_features). ``answer``: as if this candidate had been seen once less."""
        entry = self.entries[k]
        table = entry.table.copy()
        table[:, AMONG] = table[:, ITSELF] * self.unknown[k]
        sides = side_columns(model, entry, typed, self.sides[k], answer)
        if sides is not None:
            table[:, AFTER : AFTER + 2] = sides
        table[:, [CONTEXT, SUPPORT]] = scores
        return table


def type_of(model: Normaliser, token: str, wrong: bool) -> Type:
    """What is known of a token; ``wrong``: that it is ill-formed."""
    examined, known = is_examined(token) and token not in model.never_, token in model.lexicon_
    ids = model.lm_.vocab_.encode([token]).tolist()
    if not examined and not wrong:
        return Type(examined, known, None, ids)
    entry = entry_of(model, token, wrong)
    settled = not entry.forms or entry.forms == [token]
    return Type(examined, known, None if settled else entry, entry.stands.tolist())


def places_of(model: Normaliser, messages: Messages, wrong: Sequence[Sequence[bool]] | None) -> Places:
    """The tokens of messages that may be changed; ``wrong``: those that are to be, and no others."""
    places = Places([], [], [], [], [], Stream(np.zeros(0, np.int32), np.zeros(1, np.int64)), [])
    items: list[int] = []
    bounds = [0]
    for i, message in enumerate(messages):
        lower = [token.lower() for token in message]
        asked = None if wrong is None else wrong[i]
        types = [model.type(token, asked is not None and bool(asked[k])) for k, token in enumerate(lower)]
        if asked is None:
            may = [one.examined for one in types]
        else:
            may = [bool(flag) for flag in asked]
        runs = dict(_runs(model, lower, may)) if model.runs else {}
        n_examined = sum(one.examined for one in types)
        share = sum(one.examined and not one.known for one in types) / max(1, n_examined)
        items.append(START)
        k = 0
        while k < len(lower):
            if k in runs:
                length, form, sure = runs[k]
                places.decided.extend((i, k + n, "" if n else form, sure) for n in range(length))
                items += model.lm_.vocab_.encode(form.split()).tolist()
                k += length
                continue
            entry = types[k].entry
            if may[k] and entry is not None:
                items.append(-1 - len(places.entries))
                places.messages.append(i)
                places.tokens.append(k)
                places.entries.append(entry)
                places.unknown.append(share)
                left = lower[k - 1] if k else EDGES[0]
                places.sides.append((left, lower[k + 1] if k + 1 < len(lower) else EDGES[1]))
            else:
                items += types[k].words
            k += 1
        items.append(END)
        bounds.append(len(items))
    stream = Stream(frozen(np.array(items, np.int32), np.int32), frozen(np.array(bounds), np.int64))
    return places._replace(stream=stream)


def _runs(model: Normaliser, lower: list[str], may: list[bool]) -> list[tuple[int, tuple[int, str, float]]]:
    """Where runs of tokens begin that stand for one form: place, and length, form and how certain that is."""
    found, k = [], 0
    while k < len(lower):
        for run, form, sure in model.runs.get(lower[k], ()):
            n = len(run)
            if tuple(lower[k : k + n]) == run and all(may[k : k + n]) and sure >= model.least_confidence:
                found.append((k, (n, form, sure)))
                k += n - 1
                break
        k += 1
    return found


def context_scores(
    places: Places, candidates: Candidates, lm: NgramModel, ids: np.ndarray | None, chosen: np.ndarray | None = None
) -> np.ndarray:
    """The score of each candidate in its place by a language model: float64. ``ids``: what our words are in its
    vocabulary, where it is another. Around it stands what places most often stand for, or the ``chosen`` candidates."""
    if chosen is None:
        words = np.concatenate([np.zeros(0, np.int32), *(entry.stands for entry in places.entries)])
        starts = starts_of(len(entry.stands) for entry in places.entries)
        ranges = np.column_stack([starts[:-1], starts[1:]])
    else:
        words, ranges = candidates.words, np.column_stack([candidates.starts[chosen], candidates.starts[chosen + 1]])
    reach = len(lm.sizes_) - 1
    contexts = np.empty((len(places.entries), 2 * reach), np.int32)
    contexts_of(places.stream, frozen(words, np.int32), frozen(ranges, np.int64), reach, contexts)
    if ids is not None:
        contexts = np.where(contexts < 0, -1, ids[contexts])
        candidates = candidates._replace(words=frozen(ids[candidates.words], np.int32))
    scores = np.empty(len(candidates.starts) - 1)
    score_candidates(lm.automaton_, frozen(contexts, np.int32), candidates, scores)
    return scores


def windows_of(model: Normaliser, messages: Messages, places: Sequence[tuple[int, int]]) -> Windows:
    """What stands around some tokens, message and token each: words of the lexicon, and those that sound like them."""
    own = np.full((len(places), len(OFFSETS)), -1, np.int32)
    near, lengths = [np.zeros(0, np.int32)], []
    for row, (i, k) in enumerate(places):
        for o, offset in enumerate(OFFSETS):
            word, alike = -1, near[0]
            if 0 <= k + offset < len(messages[i]):
                word, alike = model.neighbour(messages[i][k + offset].lower())
            own[row, o] = word
            near.append(alike)
            lengths.append(len(alike))
    return Windows(frozen(own, np.int32), frozen(np.concatenate(near), np.int32), frozen(starts_of(lengths), np.int64))


def neighbour_of(model: Normaliser, token: str) -> tuple[int, np.ndarray]:
    """The number of a neighbour in the lexicon, -1: none, and those contexts of the bank that sound like it."""
    number, none = model.lexicon_.number.get(token, -1), np.zeros(0, np.int32)
    if not is_examined(token) or model.expand == 0 or model.reach.sound_distance < 0:
        return number, none
    alike = model.lexicon_.sounding_alike(reduced(token, model.repeats), model.reach)
    return number, alike[model.bank_contexts[alike] & (alike != number)]
