"""A tenth of a text held out: a model does not see it, so that its figures mean something.

Whole documents are held out where there are enough of them, since sentences of one document share words and would make
a model look better than it is. A text with fewer than ten documents, or with documents so large that those that fit
into two tenths are hardly anything, is split by sentences. In a text of which one sentence is nearly all, even those
are far less than a tenth.

Models keep the hashes of the sentences that they learned from, so that each evaluation can say how many of its own a
model has seen (``overlap``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.errors import warn
from corpuscle.hashing import string_hashes
from corpuscle.random import Random, purpose_id, shuffle, stream
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.kernels import hash_sentences
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.text.wording import percent

T = TypeVar("T")
SHARE = 0.1
FEWEST_DOCUMENTS = 10  # with fewer, documents are not kept together


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
    """Groups in random order until their share is reached, without those that would exceed it twice.

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
        held[_draw(np.diff(starts_of(corpus.lengths + 1)[starts]), seed)] = True
    return held


def held_sentences(corpus: Corpus, seed: int) -> tuple[np.ndarray, str]:
    """A tenth of the tokens, the same for the same text and seed: which sentences, bool (n_sentences,), and what was
    kept together."""
    # A model predicts the end of a sentence, too.
    sizes, documents = corpus.lengths + 1, held_documents(corpus, seed)
    held, groups = np.zeros(len(corpus), bool), "documents"
    if documents.any():
        assert corpus.document_starts is not None
        held = np.repeat(documents, np.diff(corpus.document_starts))
    if sizes[held].sum() < SHARE / 2 * sizes.sum():
        held, groups = np.zeros(len(corpus), bool), "sentences"
        held[_draw(sizes, seed)] = True
    return held, groups


def split(corpus: Corpus, seed: int) -> Split:
    held, groups = held_sentences(corpus, seed)
    return Split(corpus.select(~held).counted(), corpus.select(held), groups)


def coverage(train: Corpus, held_out: Corpus, seed: int) -> dict[str, Any]:
    """The shares of held-out words that are ``unseen`` after n tokens have been ``read``, and that the n most frequent
    words (``vocabulary``) have ``covered``; ``held_out`` has the vocabulary of ``train``.

    Sentences are read in random order: in their own, the curve would show where topics change, not how much text is
    needed.
    """
    order = np.arange(len(train))
    shuffle(stream(seed, purpose_id("packs.coverage"), 0, 0), order)
    n_types = len(train.vocab)
    first_seen = np.full(n_types, train.n_tokens, np.int64)
    types, first = np.unique(train.select(order).tokens, return_index=True)
    first_seen[types] = first
    first_seen[UNKNOWN] = train.n_tokens
    reached = np.sort(first_seen[held_out.tokens])
    read = np.unique(np.geomspace(min(100, train.n_tokens), train.n_tokens, 25).astype(np.int64))
    unseen = 1 - np.searchsorted(reached, read, side="left") / max(1, len(reached))

    by_frequency = np.argsort(-train.vocab.counts[FIRST:], kind="stable") + FIRST
    rank = np.full(n_types, n_types, np.int64)
    rank[by_frequency] = np.arange(len(by_frequency))
    ranks = np.sort(rank[held_out.tokens])
    sizes = np.unique(np.geomspace(1, max(1, len(by_frequency)), 30).astype(np.int64))
    covered = np.searchsorted(ranks, sizes, side="left") / max(1, len(ranks))
    return {"read": read.tolist(), "unseen": unseen.tolist(), "vocabulary": sizes.tolist(), "covered": covered.tolist()}


def _sentence_hashes(corpus: Corpus) -> np.ndarray:
    vocab, hashes = corpus.vocab, np.empty(len(corpus), np.uint64)
    # The reserved ids have no string and hash as themselves.
    of_types = np.concatenate([np.arange(FIRST, dtype=np.uint64), string_hashes(vocab.bytes, vocab.offsets)])
    tokens, starts = frozen(corpus.tokens, np.int32), frozen(corpus.sentence_starts, np.int64)
    hash_sentences(tokens, starts, of_types, hashes)
    return hashes


def item_hashes(corpus: Corpus) -> np.ndarray:
    """The hashes of the different non-empty sentences of a corpus, uint64, ascending."""
    return np.unique(_sentence_hashes(corpus)[corpus.lengths > 0])


def seen(hashes: np.ndarray, corpus: Corpus) -> np.ndarray:
    """For each sentence whether it is among the hashed ones, bool (n_sentences,); an empty sentence never is."""
    return np.isin(_sentence_hashes(corpus), hashes) & (corpus.lengths > 0)


def overlap(hashes: np.ndarray, corpus: Corpus) -> float:
    """The share of the non-empty sentences of a corpus that are among the hashed ones; no number if there are none."""
    total = np.count_nonzero(corpus.lengths)
    return np.count_nonzero(seen(hashes, corpus)) / total if total else float("nan")


def overlap_shares(model: Any, corpus: Corpus, name: str) -> dict[str, float]:
    """How much of a text a model has seen before; a warning, with the model's name, if that is more than a little."""
    shares = {"overlap_training": overlap(model.items_, corpus), "overlap_tuning": overlap(model.tuning_items_, corpus)}
    for key, share in shares.items():
        if share > 0.05:
            warn(f"{percent(share, 0)} of these sentences were in the {key[8:]} text of {name}")
    return shares
