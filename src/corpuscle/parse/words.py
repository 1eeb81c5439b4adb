"""What parsers see of the words of a treebank: hashes of forms, prefixes and tags, position by position.

Hashes of strings stand for the strings, so that a parser needs no vocabulary: a word that it has never seen has
features without weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.errors import InputError
from corpuscle.parse.kernels.features import Layers
from corpuscle.text.hashes import hashes_of
from corpuscle.text.treebank import Treebank

__all__ = ["TAG_LAYERS", "layers_of", "tag_layers"]

TAG_LAYERS = ("xpos", "tags")
"""The layers that can serve as tags, the finest one first."""

PREFIX = 5
"""Words that are longer than this have a prefix of as many letters beside them."""
_OUTSIDE = ("<before>", "<root>", "<after>")
_TAG_BITS = 10
N_TAGS = 1 << _TAG_BITS
"""Tags as numbers, the first bits of their hashes, are below this."""
_USUAL = 0.5


def tag_layers(bank: Treebank) -> tuple[str, ...]:
    """The layers of a treebank that say something of at least half of its words; an ``InputError`` if none does."""
    n = max(1, bank.corpus.n_tokens)
    found = tuple(name for name in TAG_LAYERS if np.count_nonzero(getattr(bank, name).ids) >= _USUAL * n)
    if not found:
        raise InputError(None, None, "the words have no part-of-speech tags, neither UPOS nor XPOS")
    return found


def layers_of(bank: Treebank, tags: Sequence[str]) -> Layers:
    """The words of a treebank as the kernels see them; ``tags``: which layers are tags."""
    corpus, lengths = bank.corpus, bank.corpus.lengths
    starts = np.concatenate([[0], np.cumsum(lengths + 3)]).astype(np.int64)
    where = np.arange(corpus.n_tokens) + np.repeat(starts[:-1] + 2 - corpus.sentence_starts[:-1], lengths)
    outside = hashes_of(_OUTSIDE)

    def laid_out(strings: Sequence[str], ids: np.ndarray) -> np.ndarray:
        row = np.empty(starts[-1], np.uint64)
        row[where] = hashes_of(strings)[ids]
        row[starts[:-1]], row[starts[:-1] + 1], row[starts[1:] - 1] = outside
        return row

    forms = corpus.vocab.strings
    lexical = [laid_out(forms, corpus.tokens)]
    lexical += [laid_out([form[:PREFIX] if len(form) > PREFIX else "" for form in forms], corpus.tokens)]
    rows = [laid_out(layer.vocab.strings, layer.ids) for layer in (getattr(bank, name) for name in tags)]
    hashed = np.array(rows)
    pairs = np.array([(layer, 0) for layer in range(len(lexical))], np.int64)
    return Layers(starts, np.array(lexical), hashed, (hashed >> np.uint64(64 - _TAG_BITS)).astype(np.int32), pairs)
