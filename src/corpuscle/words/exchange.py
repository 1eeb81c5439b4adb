"""ExchangeClasses: word classes by the exchange algorithm; see ``kernels.exchange`` for the mathematics.

The end of a sentence is not predicted: as in the model on trees, every token has a parent and that is all, so there
are as many pairs as tokens. The start of a sentence is a parent of its own kind and of its own class.

The exchange algorithm climbs to a hill top near its start, and which start is near a high one depends on the text: on
news, giving the most frequent words classes of their own leads up to a tenth higher than the textbook's start, on
picture captions it leads less high. After three passes the order is nearly always that of the end. So, by default,
both starts are tried for three passes, and the better one goes on.
"""

from __future__ import annotations

import hashlib
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
from corpuscle.words.kernels import exchange
from corpuscle.words.search import PARTIAL, Search, first_classes
from corpuscle.words.settings import ExchangeSettings

__all__ = ["ExchangeClasses", "previous_tokens"]

PAIRS = 1 << 20
"""So many pairs of words are counted at a time."""
TRIAL = 3
"""For how many passes the two starts are tried before one of them is chosen."""


def previous_tokens(corpus: Corpus) -> np.ndarray:
    """The left neighbour of every token, ``START`` for the first of a sentence; int32 (n_tokens,)."""
    before = np.empty_like(corpus.tokens)
    before[1:] = corpus.tokens[:-1]
    firsts = corpus.sentence_starts[:-1]
    before[firsts[firsts < corpus.sentence_starts[1:]]] = START
    return before


class ExchangeClasses(ExchangeSettings, WordClasses):
    """Learns one class for each word by the exchange algorithm.

    The start ``frequent`` gives each of the most frequent words a class of its own and all others the last one;
    ``cyclic`` puts the i-th most frequent word into class i mod C; ``best`` tries both; ``random`` deals the words out
    by the seed, equally many to each class. Words below the cut-offs share one type, the unknown word, which has a
    class like any other. The result is the same for any number of workers.
    """

    KIND: ClassVar[Kind] = Kind("words.exchange", 1, CLASSES, check=check_classes)

    def fit(self, corpus: Corpus, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, where the parent of a token is its left neighbour; ``checkpoint`` keeps unfinished
        work."""
        signature = Corpus.checked(corpus).signature() if checkpoint is None else checkpoint.signature
        parents = previous_tokens(corpus)
        return self._fit(parents, corpus.tokens, corpus.vocab, len(corpus), signature, checkpoint)

    def fit_pairs(
        self, parents: np.ndarray, children: np.ndarray, vocab: Vocab, *, checkpoint: Checkpoint | None = None
    ) -> Self:
        """Learn from any pairs of parent and child, such as heads and dependents: two arrays of ids of equal length,
        in which every token is a child once and the parent may be ``START``, the root."""
        if len(parents) != len(children):
            raise SettingError(f"{len(parents)} parents cannot be paired with {len(children)} children")
        signature = hashlib.blake2b(digest_size=16)
        for ids in parents, children, vocab.bytes, vocab.offsets:
            signature.update(np.ascontiguousarray(ids).tobytes())
        roots = int((parents == START).sum())
        return self._fit(parents, children, vocab, roots, signature.hexdigest(), checkpoint)

    def checkpoint(self, corpus: Corpus, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a corpus."""
        return Checkpoint(path, PARTIAL, self.settings, corpus.signature(), resume=resume)

    def _fit(
        self,
        parents: np.ndarray,
        children: np.ndarray,
        vocab: Vocab,
        sentences: int,
        signature: str,
        checkpoint: Checkpoint | None,
    ) -> Self:
        if len(children) == 0:
            raise SettingError("there are no words to learn classes from")
        seen = np.bincount(children, minlength=len(vocab)).astype(np.int64)
        vocab, mapping = Vocab(vocab.bytes, vocab.offsets, seen).cut(self.min_count, self.max_types)
        ids = np.flatnonzero(vocab.counts)
        ids = ids[np.argsort(-vocab.counts[ids], kind="stable")]
        if self.classes > len(ids):
            raise SettingError(f"{self.classes} classes are too many for {len(ids)} different words")
        rank = np.full(len(vocab), -1, np.int32)
        rank[ids] = np.arange(len(ids))
        rank[START] = len(ids)
        near = self._neighbours(rank[mapping[np.stack([parents, children])]], len(ids))
        self.stays_here("where a word goes depends on the words before it")
        with workers(self.workers) as pool:
            classes, self.history_ = self._climb(Search(near, self.classes, pool), checkpoint or Checkpoint())
        self._number(vocab, ids, classes, self.classes)
        self.provenance_ = {
            "sentences": sentences,
            "words": len(children),
            "types": len(ids) - bool(vocab.counts[UNKNOWN]),
            "signature": signature,
        }
        return self

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
