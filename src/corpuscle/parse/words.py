"""What parsers see of the words of a treebank: hashes of forms, prefixes and tags, position by position.

Hashes of strings stand for the strings, so that a parser needs no vocabulary: a word that it has never seen has
features without weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.hashing import hashes_of
from corpuscle.parse.kernels.features import BOTH, COLLINS, LENGTH, TAG_BITS, Layers
from corpuscle.text.corpus import starts_of
from corpuscle.text.treebank import Treebank
from corpuscle.words import WordFeatures

TAG_LAYERS = ("xpos", "tags")
"""The layers that can serve as tags, the finest one first."""
SOURCES = {"lemmas": 0.5, "features": 0.2}
"""Layers that can be used in addition to forms, and the share of words that must have them."""

DISTANCES = {"length": LENGTH, "collins": COLLINS, "both": BOTH}
_COMMAS = frozenset(",，、،")
_VERBS = ("VERB", "AUX")

PREFIX = 5
"""Longer words are also known by their prefix of this length."""
_OUTSIDE = ("<before>", "<root>", "<after>")
_USUAL = 0.5


def tag_layers(bank: Treebank) -> tuple[str, ...]:
    """The layers of a treebank that say something of at least half of its words; an ``InputError`` if none does."""
    n = max(1, bank.corpus.n_tokens)
    found = tuple(name for name in TAG_LAYERS if np.count_nonzero(getattr(bank, name).ids) >= _USUAL * n)
    if not found:
        raise bank.error("the words have no part-of-speech tags, neither UPOS nor XPOS")
    return found


def sources_of(bank: Treebank, wanted: Sequence[str]) -> tuple[str, ...]:
    """The wanted sources that a treebank has: lemmas of at least half of its words, FEATS of a fifth (many words have
    none in any language)."""
    n = max(1, bank.corpus.n_tokens)
    return tuple(name for name, least in SOURCES.items()
                 if name in wanted and np.count_nonzero(getattr(bank, name).ids) >= least * n)  # fmt: skip


def marks_before(bank: Treebank, tags: str | None, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many verbs, by a layer of tags (None: there are none), and how many commas stand before each place, int32
    (places + 1,)."""
    corpus = bank.corpus
    where = np.arange(corpus.n_tokens) + np.repeat(starts[:-1] + 2 - corpus.sentence_starts[:-1], corpus.lengths)

    def before(marked: np.ndarray) -> np.ndarray:
        counts = np.zeros(starts[-1] + 1, np.int32)
        counts[where[marked] + 1] = 1
        return np.cumsum(counts, dtype=np.int32)

    comma = np.array([form in _COMMAS for form in corpus.vocab.strings])
    verbs = np.zeros(corpus.n_tokens, bool)
    if tags is not None:
        layer = getattr(bank, tags)
        verbs = np.array([tag in _VERBS or tag.startswith("V") for tag in layer.vocab.strings])[layer.ids]
    return before(verbs), before(comma[corpus.tokens])


def layers_of(
    bank: Treebank,
    tags: Sequence[str],
    sources: Sequence[str] = (),
    known: WordFeatures | None = None,
    distance: str = "length",
) -> Layers:
    """The words of a treebank as the kernels see them; ``tags``: which layers are tags; ``sources``: which others are
    used with forms; ``known``: what raw text says of forms; ``distance``: a name of ``DISTANCES``."""
    corpus, lengths = bank.corpus, bank.corpus.lengths
    starts = starts_of(lengths + 3)
    where = np.arange(corpus.n_tokens) + np.repeat(starts[:-1] + 2 - corpus.sentence_starts[:-1], lengths)
    outside = hashes_of(_OUTSIDE)

    def laid_out(hashes: np.ndarray, ids: np.ndarray) -> np.ndarray:
        row = np.empty(starts[-1], np.uint64)
        row[where] = hashes[ids]
        row[starts[:-1]], row[starts[:-1] + 1], row[starts[1:] - 1] = outside
        return row

    def layer(name: str) -> np.ndarray:
        found = getattr(bank, name)
        return laid_out(hashes_of(["", *found.vocab.strings[1:]]), found.ids)

    forms = corpus.vocab.strings
    lexical = [hashes_of(forms), hashes_of([form[:PREFIX] if len(form) > PREFIX else "" for form in forms])]
    lexical += list((known or WordFeatures.none()).of(forms).T)
    rows = [laid_out(hashes, corpus.tokens) for hashes in lexical] + [layer(name) for name in sources]
    hashed = np.array([layer(name) for name in tags])
    numbers = (hashed >> np.uint64(64 - TAG_BITS)).astype(np.int32)
    marks = (np.zeros(0, np.int32),) * 2 if distance == "length" else marks_before(bank, tags[0], starts)
    return Layers(starts, np.array(rows), hashed, numbers, DISTANCES[distance], *marks)
