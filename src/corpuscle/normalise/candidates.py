"""The candidates of a typed word, with all that can be said of them without the context.

Columns of ``Entry.table``, in the order of ``FEATURES``; what depends on the context is added where a word stands.
Replacements that were seen in annotated messages count as ``log((n + a) / (N + a k))``, n of the N occurrences of the
typed word, k candidates that were seen and the word itself; 0 where it was never seen. What is left of two words
without their common beginning and end is their change (of ``talkin`` and ``talking`` nothing and ``g``): how many pairs
of annotated messages have it tells slips that people make from those that they do not. A pair is stretched if it is the
same with every run of a letter written once. What stood before and behind a word that was seen with several forms
changes their odds: log of P(form | typed, neighbour) by P(form | typed), for the neighbour on either side.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.normalise.tokens import change_of, reduced

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


def side_columns(
    model: Normaliser, entry: Entry, typed: str, sides: tuple[str, str], answer: int = -1
) -> np.ndarray | None:
    """What the words on both sides say of candidates that were seen: log of P(form | typed, neighbour) by
    P(form | typed), float64 (n, 2); none where nothing was seen with either. ``answer``: without one time that this
    candidate was right."""
    before, behind = model.after_.of.get(f"{sides[0]} {typed}"), model.before_.of.get(f"{typed} {sides[1]}")
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
    slang = model.meaning(typed)
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
    table = _near_table(model, token, near)
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


def _near_table(model: Normaliser, token: str, near: np.ndarray) -> np.ndarray:
    """The features of words of the lexicon."""
    table = np.zeros((len(near), len(FEATURES)))
    table[:, :6] = model.lexicon_.compare(token, near)
    table[:, FREQUENCY] = model.lexicon_.log_frequency[near]
    return table


def _special_table(model: Normaliser, token: str, typed: str, forms: list[str], slang: str | None) -> np.ndarray:
    """The features of the word itself and of replacements."""
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
