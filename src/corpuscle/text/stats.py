"""The plain figures of a text: how much there is of it, and how much of it is new."""

from __future__ import annotations

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN

__all__ = ["text_stats"]


def text_stats(corpus: Corpus, known: Corpus | None = None) -> dict[str, int | float]:
    """Counts of a corpus; with ``known`` also how many of its words that other corpus never has.

    ``words`` are tokens without sentence ends, ``tokens`` with them; ``characters`` are those of the words. An unknown
    symbol in the text is out of any vocabulary.
    """
    vocab = corpus.vocab
    counts = np.bincount(corpus.tokens, minlength=len(vocab))
    begins_character = np.concatenate([[0], np.cumsum((vocab.bytes & 0xC0) != 0x80)])
    lengths = np.diff(begins_character[vocab.offsets])
    used = counts[FIRST:] > 0
    figures: dict[str, int | float] = {
        "tokens": corpus.n_tokens + len(corpus),
        "words": corpus.n_tokens,
        "types": int(used.sum()),
        "words_seen_once": int((counts[FIRST:] == 1).sum()),
        "sentences": len(corpus),
        "empty_sentences": int((corpus.lengths == 0).sum()),
        "longest_sentence": int(corpus.lengths.max(initial=0)),
        "characters": int((counts[FIRST:] * lengths).sum()),
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
