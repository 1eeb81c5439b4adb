"""ExchangeClasses: word classes by the exchange algorithm; see ``kernels.exchange`` for the mathematics.

The end of a sentence is not predicted: as in the model on trees, every token has a parent and that is all, so there
are as many pairs as tokens. The start of a sentence is a parent of its own kind and of its own class.

The exchange algorithm climbs to a hill top near its start, and which start is near a high one depends on the text: on
news, giving the most frequent words classes of their own leads up to a tenth higher than the textbook's start, on
picture captions it leads less high. After three passes the order is nearly always that of the end. So, by default,
both starts are tried for three passes, and the better one goes on.
"""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import ClassVar, Self

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Kind
from corpuscle.scale import workers
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import START, UNKNOWN, Vocab
from corpuscle.words.classes import CLASSES, Pass, WordClasses, check_classes
from corpuscle.words.forests import Forest
from corpuscle.words.kernels import exchange
from corpuscle.words.search import PARTIAL, Search, first_classes
from corpuscle.words.settings import ExchangeSettings

__all__ = ["ExchangeClasses"]

PAIRS = 1 << 20
"""So many pairs of words are counted at a time."""
TRIAL = 3
"""For how many passes the two starts are tried before one of them is chosen."""


class ExchangeClasses(ExchangeSettings, WordClasses):
    """Learns one class for each word by the exchange algorithm.

    The start ``frequent`` gives each of the most frequent words a class of its own and all others the last one;
    ``cyclic`` puts the i-th most frequent word into class i mod C; ``best`` tries both; ``random`` deals the words out
    by the seed, equally many to each class. Words below the cut-offs share one type, the unknown word, which has a
    class like any other. The result is the same for any number of workers.
    """

    KIND: ClassVar[Kind] = Kind("words.exchange", 1, CLASSES, check=check_classes)

    def fit(self, text: Corpus | Forest, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, or from trees; ``checkpoint`` keeps unfinished work."""
        forest = Forest.of(text, self.structure)
        corpus, signature = forest.corpus, text.signature() if checkpoint is None else checkpoint.signature
        if corpus.n_tokens == 0:
            raise SettingError("there are no words to learn classes from")
        seen = np.bincount(corpus.tokens, minlength=len(corpus.vocab)).astype(np.int64)
        vocab, mapping = Vocab(corpus.vocab.bytes, corpus.vocab.offsets, seen).cut(self.min_count, self.max_types)
        ids = np.flatnonzero(vocab.counts)
        ids = ids[np.argsort(-vocab.counts[ids], kind="stable")]
        if self.classes > len(ids):
            raise SettingError(f"{self.classes} classes are too many for {len(ids)} different words")
        rank = np.full(len(vocab), -1, np.int32)
        rank[ids] = np.arange(len(ids))
        rank[START] = len(ids)
        near = self._neighbours(rank[mapping[np.stack([forest.parent_words, corpus.tokens])]], len(ids))
        self.stays_here("where a word goes depends on the words before it")
        with workers(self.workers) as pool:
            classes, self.history_ = self._climb(Search(near, self.classes, pool), checkpoint or Checkpoint())
        self._number(vocab, ids, classes, self.classes)
        self.provenance_ = {
            "sentences": len(corpus),
            "words": corpus.n_tokens,
            "types": len(ids) - bool(vocab.counts[UNKNOWN]),
            "signature": signature,
        }
        return self

    def checkpoint(self, text: Corpus | Forest, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a text."""
        return Checkpoint(path, PARTIAL, self.settings, text.signature(), resume=resume)

    def _neighbours(self, pairs: np.ndarray, words: int) -> exchange.Neighbours:
        """What each word occurs with; pairs of parents and children int32 (2, n_tokens)."""
        chunks = [pairs[:, first : first + PAIRS] for first in range(0, pairs.shape[1], PAIRS)]
        with workers(self.workers, self.cluster) as pool:
            count = partial(exchange.count_pairs, words=words)
            return exchange.neighbours_of(pool.scatter(chunks).map_reduce(count, exchange.merge_pairs), words)

    def _climb(self, search: Search, checkpoint: Checkpoint) -> tuple[np.ndarray, list[Pass]]:
        """The class of each word, int32 (words,), and the history, after all passes from the start of choice."""

        def passes(classes: np.ndarray, most: int, before: list[Pass]) -> tuple[np.ndarray, list[Pass]]:
            search.begin(classes)
            before = before or [Pass(search.information, 0)]
            history, _ = checkpoint.run(
                search, most, columns=2, facts={"n_classes": self.classes}, converged=lambda: search.converged,
                lasting=True, title="exchange", note="I {:.4f}",
            )  # fmt: skip
            rows = [Pass(information, int(moved)) for information, moved in history.tolist()]
            return search.classes.copy(), before + rows

        def start(name: str) -> np.ndarray:
            return first_classes(name, search.words, self.classes, self.seed)

        if self.start != "best":
            return passes(start(self.start), self.passes, [])
        trial = min(TRIAL, self.passes)
        tried = [passes(start(name), trial, []) for name in ("frequent", "cyclic")]
        classes, history = max(tried, key=lambda result: result[1][-1].mutual_information)
        return passes(classes, self.passes - trial if history[-1].moved else 0, history)
