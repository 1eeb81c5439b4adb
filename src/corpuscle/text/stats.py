"""The plain figures of a text: how much there is of it, and how much of it is new."""

from __future__ import annotations

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["characters_of_types", "text_stats"]


def characters_of_types(vocab: Vocab) -> np.ndarray:
    """How many characters each ordinary type has, int64 (len(vocab) - FIRST,)."""
    begins_character = (vocab.bytes & 0xC0) != 0x80  # the bytes of UTF-8 that follow a first one are 10xxxxxx
    return np.diff(np.concatenate([[0], np.cumsum(begins_character)])[vocab.offsets])


def text_stats(corpus: Corpus, known: Corpus | None = None) -> dict[str, int | float]:
    """Counts of a corpus; with ``known`` also how many of its words that other corpus never has.

    ``words`` are tokens without sentence ends, ``tokens`` with them; ``characters`` are those of the words. An unknown
    symbol in the text is out of any vocabulary.
    """
    vocab = corpus.vocab
    counts = np.bincount(corpus.tokens, minlength=len(vocab))
    used = counts[FIRST:] > 0
    figures: dict[str, int | float] = {
        "tokens": corpus.n_tokens + len(corpus),
        "words": corpus.n_tokens,
        "types": int(used.sum()),
        "words_seen_once": int((counts[FIRST:] == 1).sum()),
        "sentences": len(corpus),
        "empty_sentences": int((corpus.lengths == 0).sum()),
        "longest_sentence": int(corpus.lengths.max(initial=0)),
        "characters": int((counts[FIRST:] * characters_of_types(vocab)).sum()),
    }
    if known is not None:
        is_new = known.vocab.mapping_from(vocab)[FIRST:] == UNKNOWN
        oov = int(counts[UNKNOWN] + counts[FIRST:][is_new].sum())
        figures |= {
            "oov": oov,
            "oov_rate": oov / corpus.n_tokens if corpus.n_tokens else float("nan"),
            "oov_types": int((used & is_new).sum()),
        }
    return figures
