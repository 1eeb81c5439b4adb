"""The channel of a normaliser: its defaults, and its estimation by expectation maximisation.

From annotated messages every changed word is an example with one word that was meant; without, the words of the
messages outside the lexicon, each with its confusion set and the frequencies of that in clean text as prior.

Cook and Stevenson, "An unsupervised model for text message normalization", 2009.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpuscle.model import Array
from corpuscle.normalise.kernels.channel import COUNTS, Channel, add_counts
from corpuscle.normalise.kernels.deletions import Spelled
from corpuscle.normalise.tokens import is_examined, letters_of_word, reduced

if TYPE_CHECKING:
    from corpuscle.normalise.normaliser import Normaliser

CHANNEL = {"channel": Array("float64", (12,), low=0.0, finite=True)}
_TYPES = np.array([152.0, 111.0, 24.0, 4.0])
"""How often Cook and Stevenson met stylistic changes, subsequences, prefixes and suffixes."""
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


def default_channel(alphabet: int) -> Channel:
    """The channel as Cook and Stevenson found it, over an alphabet of this size."""
    return Channel(
        insert=0.05, keep=0.9, substitute=0.05, delete=0.05, alphabet=float(max(2, alphabet)), first=0.98,
        consonant=0.85, vowel=0.35, types=_TYPES / _TYPES.sum(),
    )  # fmt: skip


def channel_array(channel: Channel) -> np.ndarray:
    """As a model file has it: float64 (12,)."""
    return np.array([*channel[:-1], *channel.types])


def channel_from_array(array: np.ndarray) -> Channel:
    """From that of a file; ``ValueError`` where these are no probabilities."""
    insert, keep, substitute, delete, alphabet, *kept = array[:8].tolist()
    shares = [insert, *kept]
    if not (abs(keep + substitute + delete - 1) < 1e-6 and abs(array[8:].sum() - 1) < 1e-6 and alphabet >= 2):
        raise ValueError("the probabilities of its channel do not add up to one")
    if not all(0 < share < 1 for share in shares):
        raise ValueError("its channel has a probability that is not between 0 and 1")
    return Channel(insert, keep, substitute, delete, alphabet, kept[0], kept[1], kept[2], array[8:].astype(np.float64))


def fitted_channel(
    channel: Channel, examples: Sequence[Example], spelled: Spelled, vowels: np.ndarray
) -> tuple[Channel, list[float]]:
    """A channel under which the examples are more likely, from one to begin with, and the log likelihood before each
    pass."""
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
