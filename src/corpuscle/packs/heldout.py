"""Holding out: a tenth of the text that a model does not see, so that its figures mean something.

Whole documents are held out where there are enough of them, since sentences of one document share words and would
make a model look better than it is. A text with fewer than ten documents, or with documents so large that those that
fit into two tenths are hardly anything, is split by sentences. In a text of which one sentence is nearly all, even
those are far less than a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from corpuscle.random import Random, purpose_id, shuffle, stream
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.wording import percent

SHARE = 0.1
T = TypeVar("T")
FEWEST_DOCUMENTS = 10
"""With fewer, documents are not kept together."""


class Split(NamedTuple):
    """Two parts of a text; ``groups`` says what was kept together: ``"documents"`` or ``"sentences"``.

    ``train`` has a vocabulary of its own words only; ``held_out`` keeps that of the whole text, which spells all its
    words.
    """

    train: Corpus
    held_out: Corpus
    groups: str


def part_held(share: float) -> str:
    """A share of the text that was held out, for people: a tenth, unless it is far from one."""
    return "a tenth" if abs(share - SHARE) <= SHARE / 2 else percent(share)


def tenth(items: Sequence[T], seed: int, purpose: str) -> list[T]:
    """A tenth of some items of equal weight, in random order; at least one."""
    return Random(seed, purpose).shuffled(items)[: max(1, round(SHARE * len(items)))]


def _draw(weights: np.ndarray, seed: int) -> np.ndarray:
    """Groups in random order, as many as it takes to reach the share, without those that would exceed twice the share.

    At least half of them stay, even where the share is not reached.
    """
    order = np.arange(len(weights))
    shuffle(stream(seed, purpose_id("packs.heldout"), 0, 0), order)
    taken: list[int] = []
    total, held = int(weights.sum()), 0
    for group in order:
        if held >= SHARE * total or 2 * (len(taken) + 1) > len(weights):
            break
        if held + weights[group] <= 2 * SHARE * total:
            taken.append(int(group))
            held += int(weights[group])
    return np.array(taken, np.int64)


def held_documents(corpus: Corpus, seed: int) -> np.ndarray:
    """A tenth of the text in whole documents: which of them, bool (n_documents,). None are, if there are few or if each
    is too large."""
    starts = corpus.document_starts
    if starts is None:
        return np.zeros(0, bool)
    held = np.zeros(len(starts) - 1, bool)
    if len(held) >= FEWEST_DOCUMENTS:
        held[_draw(np.diff(starts_of(_sizes(corpus))[starts]), seed)] = True
    return held


def _sizes(corpus: Corpus) -> np.ndarray:
    """Tokens of each sentence with its end, which a model predicts too."""
    return corpus.lengths + 1


def held_sentences(corpus: Corpus, seed: int) -> tuple[np.ndarray, str]:
    """A tenth of the tokens, the same for the same text and seed: which sentences, bool (n_sentences,), and what was
    kept together."""
    sizes, documents = _sizes(corpus), held_documents(corpus, seed)
    held, groups = np.zeros(len(corpus), bool), "documents"
    if documents.any():
        assert corpus.document_starts is not None
        held = np.repeat(documents, np.diff(corpus.document_starts))
    if sizes[held].sum() < SHARE / 2 * sizes.sum():
        held, groups = np.zeros(len(corpus), bool), "sentences"
        held[_draw(sizes, seed)] = True
    return held, groups


def split(corpus: Corpus, seed: int) -> Split:
    """Hold out a tenth of the tokens: the same for the same text and seed."""
    held, groups = held_sentences(corpus, seed)
    return Split(corpus.select(~held).counted(), corpus.select(held), groups)
