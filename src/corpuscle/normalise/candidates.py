"""The candidates of typed words: what can be said of them without the context, and where they stand in messages.

Columns of ``Entry.table`` are the ``FEATURES``; those that depend on the context are added in a message. A replacement
seen in annotated messages counts as ``log((n + a) / (N + a k))``, n of the N occurrences of the typed word, k the
candidates that were seen and the word itself; 0 if it was never seen. Two words without their common beginning and end
are their change (of ``talkin`` and ``talking`` nothing and ``g``); the number of annotated pairs that have it shows
which slips people make. A pair is stretched if it is the same with every run of a letter written once. The words before
and behind a word with several replacements change their odds: log of P(form | typed, neighbour) by P(form | typed).

The tokens of messages that have something to choose from are *places*. A message is a stream of words and places
(``kernels.context``). Several tokens that are known to be one word (``al right``: *alright*) are replaced before
anything else, the longest such run first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.lm import NgramModel
from corpuscle.normalise.kernels.context import OFFSETS, Candidates, Stream, Windows, contexts_of, score_candidates
from corpuscle.normalise.lexicon import Messages
from corpuscle.normalise.tokens import change_of, is_examined, reduced
from corpuscle.text.corpus import starts_of
from corpuscle.text.vocab import END, START

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser


FEATURES = (
    "channel", "edits", "prefix", "suffix", "subsequence", "sound", "frequency", "itself", "itself a word",
    "itself never seen", "letters of itself", "seen", "most seen", "slang", "more words", "split", "stretched",
    "change seen", "itself among unknown words", "seen after", "seen before", "context", "support",
)  # fmt: skip
"""What a candidate is ranked by."""
CHANNEL, SOUND, FREQUENCY, ITSELF, NEVER_SEEN, SEEN, SLANG, SPLIT, CHANGE, AMONG, AFTER, CONTEXT, SUPPORT = map(
    FEATURES.index,
    (
        "channel", "sound", "frequency", "itself", "itself never seen", "seen", "slang", "split", "change seen",
        "itself among unknown words", "seen after", "context", "support",
    ),
)  # fmt: skip
DEFAULTS = np.zeros(len(FEATURES))
"""Weights without annotated messages."""
DEFAULTS[[CHANNEL, SOUND, SPLIT, CONTEXT, SUPPORT]] = 1.0, 4.0, -4.0, 1.0, 1.0
_CUT = np.zeros(len(FEATURES))
"""Weights by which candidates are chosen that are compared in context."""
_CUT[[CHANNEL, SOUND, FREQUENCY]] = 1.0, 4.0, 1.0
SEEN_COLUMNS = [NEVER_SEEN, SEEN, SEEN + 1]
_ADDED = 0.1
_PRIOR = 2.0
"""The weight, in occurrences, of what was seen without regard to the neighbour, compared with what was seen with it."""
_SPLITS = 3
"""The number of ways to read a token as two words that are candidates."""


class Entry(NamedTuple):
    """The candidates of a typed word.

    - ``forms``: in lower case; ``table``: float64 (n, n_features), 0 where a feature depends on the message;
    - ``scores``: float64 (n,), the weighted sum of the table; ``own``: which is the word itself, -1: none; ``seen``:
      whether the word was seen in annotated messages;
    - ``numbers``: int32 (n,), which word of the lexicon each is, -1: none;
    - ``counts``: float64 (n,), how often each was seen; ``unseen``: bool (n,), those that would be
      candidates if they had not been seen;
    - ``words``, ``lengths``: the words of each in the language model, int32, and how many, int64 (n,);
    - ``stands``: the words that stand for the typed word in the context of others, int32.
    """

    forms: list[str]
    table: np.ndarray
    scores: np.ndarray
    own: int
    seen: bool
    numbers: np.ndarray
    counts: np.ndarray
    unseen: np.ndarray
    words: np.ndarray
    lengths: np.ndarray
    stands: np.ndarray


def squeezed(word: str) -> str:
    """A word with every run of a letter written once."""
    return "".join(letter for letter, _ in groupby(word))


def seen_columns(counts: np.ndarray, itself: np.ndarray) -> np.ndarray:
    """How often candidates were seen as three features: ``itself never seen``, ``seen`` and ``most seen``."""
    total, columns = counts.sum(), np.zeros((len(counts), 3))
    if total <= 0:
        columns[:, 0] = itself
        return columns
    kinds = np.count_nonzero(counts) + 1
    columns[:, 1] = np.log((counts + _ADDED) / (total + _ADDED * kinds))
    columns[np.argmax(counts), 2] = 1.0
    return columns


def side_columns(model: Normaliser, place: Place, answer: int = -1) -> np.ndarray | None:
    """What both neighbours say of candidates that were seen: log of P(form | typed, neighbour) by P(form | typed),
    float64 (n, 2); None if nothing was seen with either. ``answer``: this candidate counts as seen once less."""
    entry, (left, right) = place.entry, place.sides
    before, behind = model.after_.of.get(f"{left} {place.typed}"), model.before_.of.get(f"{place.typed} {right}")
    if before is None and behind is None:
        return None
    less = np.zeros(len(entry.forms))
    if answer >= 0:
        less[answer] = 1.0
    seen = np.maximum(entry.counts - less, 0.0)
    share = (seen + _ADDED) / (seen.sum() + _ADDED * (np.count_nonzero(seen) + 1))
    columns = np.zeros((len(seen), 2))
    for k, found in enumerate((before, behind)):
        if found is not None:
            counts = np.maximum(np.array([found.get(form, 0) for form in entry.forms], np.float64) - less, 0.0)
            columns[:, k] = np.log((counts / share + _PRIOR) / (counts.sum() + _PRIOR))
    return columns


def entry_of(model: Normaliser, typed: str, wrong: bool) -> Entry:
    """The candidates of a typed word in lower case; ``wrong``: it is known to be ill-formed."""
    lexicon = model.lexicon_
    token, known = reduced(typed, model.repeats), typed in lexicon
    seen = model.seen_.of.get(typed, {})
    slang = next(iter(model.slang_.of.get(typed, {})), None)
    if slang is not None and " " in slang and not model.allow_multiword:
        slang = None
    special: dict[str, None] = {}
    if not wrong and (known or model.annotated):
        special[typed] = None
    special |= dict.fromkeys(form for form in seen if not (wrong and form == typed))
    if slang is not None and (wrong or model.annotated or not known):
        special[slang] = None
    only = model.combine == "dictionary" or (slang is not None and not model.annotated and not known)
    near, anyway = np.zeros(0, np.int32), {typed, slang}
    if not only and (wrong or not known):
        near = lexicon.confusion_set(token, model.reach)
        if model.allow_multiword and model.combine == "loglinear":
            splits = lexicon.splits(token, _SPLITS)
            anyway |= set(splits)
            special |= dict.fromkeys(splits)
        others = {lexicon.number[form]: form for form in {typed, *special} if form in lexicon}
        known_before = np.isin(near, list(others))
        anyway |= {others[k] for k in near[known_before].tolist()}
        near = near[~known_before]
    table = np.zeros((len(near), len(FEATURES)))  # of words of the lexicon
    table[:, :6], table[:, FREQUENCY] = lexicon.compare(token, near), lexicon.log_frequency[near]
    if model.combine in ("loglinear", "channel") and len(near) > model.candidates:
        best = np.sort(np.argsort(-(table @ _CUT), kind="stable")[: model.candidates])
        near, table = near[best], table[best]
    forms = [*special, *(lexicon.strings[k] for k in near.tolist())]
    if special:
        table = np.vstack([_special_table(model, token, typed, list(special), slang), table])
    counts = np.array([seen.get(form, 0) for form in forms], np.float64)
    own = np.array([form == typed for form in forms], bool)
    table[:, SEEN_COLUMNS] = seen_columns(counts, own)
    changes = [change_of(typed, form) for form in forms]
    table[:, CHANGE] = [math.log1p(model.changes.get(change, 0)) for change in changes]
    table[:, CHANGE - 1] = [form != typed and squeezed(form) == squeezed(typed) for form in forms]
    unseen = np.array([form in anyway or i >= len(special) for i, form in enumerate(forms)], bool)
    words = [model.lm_.vocab_.encode(form.split()) for form in forms]
    stands = next(iter(seen), None) if seen else slang if slang is not None and not known else typed
    assert stands is not None
    return Entry(
        forms, table, table @ model.weights_[int(counts.any())], int(np.argmax(own)) if own.any() else -1,
        bool(counts.any()), np.array([lexicon.number.get(form, -1) for form in forms], np.int32), counts, unseen,
        np.concatenate([np.zeros(0, np.int32), *words]).astype(np.int32), np.array([*map(len, words)], np.int64),
        model.lm_.vocab_.encode(stands.split()).astype(np.int32),
    )  # fmt: skip


def _special_table(model: Normaliser, token: str, typed: str, forms: list[str], slang: str | None) -> np.ndarray:
    lexicon = model.lexicon_
    table = np.zeros((len(forms), len(FEATURES)))
    table[:, :6] = lexicon.compare_forms(token, forms)
    least = float(lexicon.log_frequency.min())
    for i, form in enumerate(forms):
        own = form == typed
        number = lexicon.number.get(form)
        table[i, FREQUENCY] = least if number is None else lexicon.log_frequency[number]
        table[i, ITSELF:NEVER_SEEN] = own, own and typed in lexicon
        table[i, NEVER_SEEN + 1] = own * math.log(len(typed))
        table[i, SLANG : SLANG + 2] = form == slang, len(form.split()) - 1
        table[i, SPLIT] = " " in form and form.replace(" ", "") == token
    return table


EDGES = ("<s>", "</s>")
"""What stands before the first and behind the last token of a message."""


class Type(NamedTuple):
    """What is known of a token in lower case wherever it stands: whether it may be changed, whether it is in the
    lexicon, its candidates if there is a choice, and the words that stand for it in the language model."""

    examined: bool
    known: bool
    entry: Entry | None
    words: list[int]


class Place(NamedTuple):
    """A token with several candidates: its message and its place there, how it was typed, in lower case, the share of
    unknown words of the message, and the tokens on both sides."""

    message: int
    token: int
    typed: str
    entry: Entry
    unknown: float
    sides: tuple[str, str]

    def table(self, model: Normaliser, scores: np.ndarray, answer: int = -1) -> np.ndarray:
        """The features of the candidates, given their ``CONTEXT`` and ``SUPPORT``, (n, 2): float64 (n, n_features);
        ``answer`` as in ``side_columns``."""
        table = self.entry.table.copy()
        table[:, AMONG] = table[:, ITSELF] * self.unknown
        sides = side_columns(model, self, answer)
        if sides is not None:
            table[:, AFTER : AFTER + 2] = sides
        table[:, [CONTEXT, SUPPORT]] = scores
        return table


class Places(NamedTuple):
    """The places of some messages, ``each``; the messages as a stream; and tokens that are decided already: message,
    token, form and how certain that is."""

    each: list[Place]
    stream: Stream
    decided: list[tuple[int, int, str, float]]

    @property
    def entries(self) -> list[Entry]:
        return [place.entry for place in self.each]

    def candidates(self) -> Candidates:
        """All candidates, one after the other."""
        words = np.concatenate([np.zeros(0, np.int32), *(entry.words for entry in self.entries)])
        lengths = np.concatenate([np.zeros(0, np.int64), *(entry.lengths for entry in self.entries)])
        places = starts_of(len(entry.forms) for entry in self.entries)
        return Candidates(frozen(places, np.int64), frozen(words, np.int32), frozen(starts_of(lengths), np.int64))


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
    each: list[Place] = []
    decided: list[tuple[int, int, str, float]] = []
    items: list[int] = []
    bounds = [0]
    for i, message in enumerate(messages):
        lower = [token.lower() for token in message]
        asked = [False] * len(lower) if wrong is None else [*map(bool, wrong[i])]
        types = [model.once(type_of, token, asked[k]) for k, token in enumerate(lower)]
        may = [one.examined for one in types] if wrong is None else asked
        runs = dict(_runs(model, lower, may)) if model.runs else {}
        n_examined = sum(one.examined for one in types)
        share = sum(one.examined and not one.known for one in types) / max(1, n_examined)
        items.append(START)
        k = 0
        while k < len(lower):
            if k in runs:
                length, form, sure = runs[k]
                decided.extend((i, k + n, "" if n else form, sure) for n in range(length))
                items += model.lm_.vocab_.encode(form.split()).tolist()
                k += length
                continue
            entry = types[k].entry
            if may[k] and entry is not None:
                items.append(-1 - len(each))
                left, right = lower[k - 1] if k else EDGES[0], lower[k + 1] if k + 1 < len(lower) else EDGES[1]
                each.append(Place(i, k, lower[k], entry, share, (left, right)))
            else:
                items += types[k].words
            k += 1
        items.append(END)
        bounds.append(len(items))
    stream = Stream(frozen(np.array(items, np.int32), np.int32), frozen(np.array(bounds), np.int64))
    return Places(each, stream, decided)


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
    """The score of each candidate in its place by a language model: float64; ``ids``: of our words in its vocabulary,
    if that is another. At other places stands what they most often stand for, or the ``chosen`` candidates."""
    if chosen is None:
        words = np.concatenate([np.zeros(0, np.int32), *(entry.stands for entry in places.entries)])
        starts = starts_of(len(entry.stands) for entry in places.entries)
        ranges = np.column_stack([starts[:-1], starts[1:]])
    else:
        words, ranges = candidates.words, np.column_stack([candidates.starts[chosen], candidates.starts[chosen + 1]])
    reach = len(lm.sizes_) - 1
    contexts = np.empty((len(places.each), 2 * reach), np.int32)
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
                word, alike = model.once(neighbour_of, messages[i][k + offset].lower())
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
