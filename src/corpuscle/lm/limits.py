"""Counting within a limit to memory: how long a chunk of the text may be, and what to say if it is too little.

The limit is about the whole process: what it has when counting begins (the text, the vocabulary, the compiled kernels),
what a chunk takes while it is counted, and what merging takes. The result does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from corpuscle.engine.ngrams.spilling import count_spilled, counting_bytes, merging_bytes, overlapping
from corpuscle.engine.ngrams.trie import Ngrams
from corpuscle.errors import SettingError
from corpuscle.memory import resident, trim
from corpuscle.scale import chunks_of
from corpuscle.text.corpus import Corpus

if TYPE_CHECKING:
    from corpuscle.lm.ngram import NgramModel

__all__ = ["counting_within"]

MARGIN = 48 << 20
"""For what is small: kernels that have not been used yet, blocks of files, the header of the model."""
LEAST_SYMBOLS, MOST_CHUNKS = 1 << 18, 64
"""A chunk is not shorter than this, and there are not more of them: a merge of very many would take long."""


def counting_within(
    model: NgramModel, corpus: Corpus, limit: int, folder: str | PathLike[str] | None
) -> Callable[[], Ngrams]:
    """What counts the n-grams of a text in the words of the model with at most ``limit`` bytes of memory, in chunks
    that go to temporary files in ``folder`` if need be; ``SettingError`` if that is too little."""
    trim()
    n_types, here = len(model.vocab_), resident() + MARGIN
    n_symbols, longest = corpus.n_tokens, 2 * model.order_
    if model.boundary != "none":
        n_symbols += len(corpus) * (model._left + 1)
        longest = int(corpus.lengths.max()) + model._left + 1
    each, besides = counting_bytes(model.order_, n_types)
    if here + besides + each * n_symbols <= limit:
        return model._counting(corpus)
    each_merged, besides_merged = merging_bytes(model.order_, n_types)
    shortest = max(LEAST_SYMBOLS, -(-n_symbols // MOST_CHUNKS))
    least = here + max(besides + each * (shortest + longest), besides_merged + each_merged * n_symbols)
    if least > limit:
        given, enough = limit / (1 << 20), -(-least // (1 << 20))
        raise SettingError(f"{given:.0f}M of memory are too little to count this text; {enough}M would do")
    streams = _streams(model, corpus, (limit - here - besides) // each - longest)
    return partial(count_spilled, streams, partial(model._count, workers=model.threads), folder)


def _streams(model: NgramModel, corpus: Corpus, size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Chunks of about so many symbols, as streams with their signs, see ``count_spilled``."""
    if model.boundary == "none":
        bounds = [*range(0, corpus.n_tokens - model.order_, size), corpus.n_tokens]
        yield from overlapping(corpus.tokens, bounds, model.order_)
        return
    for first, last in pairwise(chunks_of(corpus.lengths + model._left + 1, size).tolist()):
        yield model._symbols(corpus[first:last]), 1
