"""What every topic model can do: it gives the log probability of every word of a collection of documents, each word
given all words before it in its document. Reading documents and perplexity are the same for all models.

Documents end at blank lines of a text, with the files of a folder, where an index of lines (``documents``) says so, or
with the lines of a JSON lines file. In each case the outcome is a ``Corpus`` with ``document_starts``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.measure import Result, perplexity
from corpuscle.model import Kind, Model
from corpuscle.scale import chunks_of
from corpuscle.settings import Seeded, learned
from corpuscle.text.corpus import Corpus, Preprocessing, items_of, starts_of
from corpuscle.text.files import STDIO, AnyPath, expand, read_lines, suffix_of
from corpuscle.text.heldout import item_hashes
from corpuscle.text.html import table
from corpuscle.text.origin import Origin
from corpuscle.text.plain import read_strings, read_text
from corpuscle.text.settings import TextSettings, TokenSettings
from corpuscle.text.vocab import UNKNOWN, Vocab
from corpuscle.topics.kernels.particles import Likelihoods, Reader
from corpuscle.topics.settings import PLAIN, TopicSettings

LONG = 50_000
"""A document of more words than this has hardly one mixture of topics."""


def read_documents(
    *paths: AnyPath,
    documents: AnyPath | None = None,
    split: int | None = None,
    vocab: Vocab | None = None,
    unk_token: str = "unknown",
    preprocessing: Preprocessing | None = None,
) -> Corpus:
    """Read documents: tokens between spaces, a sentence a line.

    - ``paths``: texts with blank lines between documents (``-``: stdin), folders whose files are documents, or JSON
      lines (``.jsonl``) with ``text``, a string of lines, or ``sentences``, a list of strings, and perhaps an ``id``;
    - ``documents``: the TSV file with ``first_line`` and ``lines`` of every document, for one text;
    - ``split``: documents are cut after every N sentences, see ``split_documents``;
    - ``vocab``, ``unk_token``, ``preprocessing``: as in ``read_text``.

    Documents without words are left out, with a warning. It is an error if there are no words at all.
    """
    settings: dict[str, Any] = {"vocab": vocab, "unk_token": unk_token, "preprocessing": preprocessing}
    packed = [suffix_of(path) == ".jsonl" for path in paths]
    if any(packed):
        if not all(packed) or documents is not None:
            raise SettingError("JSON lines hold whole documents: give no other files and no index with them")
        corpus = _read_json(paths, settings)
    else:
        corpus = read_text(*paths, blank="document", documents=documents, **settings)
        if documents is None:
            _report_empty_files(paths, corpus)
    if split is not None:
        corpus = split_documents(corpus, split)
    starts = document_bounds(corpus)
    filled = np.flatnonzero(np.diff(starts) > 0)
    if len(filled) == 0:
        raise corpus.error("no document has a word")
    if len(filled) < len(starts) - 1:
        _report(len(starts) - 1 - len(filled))
        corpus = pick_documents(corpus, filled)
    longest = int(np.diff(starts).max())
    if longest > LONG:
        warn(f"{paths[0]}: a document has {longest:,} words; topics say more about texts that are cut into chapters")
    return corpus


def _report(empty: int) -> None:
    warn(f"{empty} document{'s' if empty > 1 else ''} without words left out")


def _report_empty_files(paths: Sequence[AnyPath], corpus: Corpus) -> None:
    """Files of folders that have no line of text are no documents at all to the reader of plain text."""
    folders = [path for path in paths if os.fspath(path) != STDIO and os.path.isdir(path)]
    # Files of several folders may have the same name, so names are counted.
    names = Counter(Path(file).name.split(".txt")[0] for file in expand(folders))
    empty = (names - Counter(corpus.labels or ())).total()
    if empty:
        _report(empty)


def _read_json(paths: Sequence[AnyPath], settings: dict[str, Any]) -> Corpus:
    files = tuple(os.fspath(path) for path in paths)
    sentences, lines, firsts = list[str](), list[int](), list[int]()  # sentences, their lines, the first of each file
    lengths, labels = list[int](), list[str]()
    for file, path in zip(files, paths, strict=True):
        firsts.append(len(sentences))
        for number, line in read_lines(path):
            if line.strip():
                found, label = _of_json(line, path, number)
                sentences += found
                lines += [number] * len(found)
                lengths.append(len(found))
                labels.append(label or f"{file}:{number}")
    origin = Origin(files, tuple(firsts), np.array(lines, np.int64), range(len(lines)))
    corpus = dataclasses.replace(read_strings(sentences, **settings), origin=origin)
    return corpus.with_documents(starts_of(lengths), labels)


def _of_json(line: str, path: AnyPath, number: int) -> tuple[list[str], str | None]:
    """The sentences and the name of one document; sentences without words are dropped."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(path, number, f"not JSON: {error}") from None
    if not isinstance(value, dict) or ("text" in value) == ("sentences" in value):
        raise InputError(path, number, 'a document is an object with "text" or with "sentences"')
    lines = value["text"].split("\n") if isinstance(value.get("text"), str) else value.get("sentences")
    if not isinstance(lines, list) or not all(isinstance(sentence, str) for sentence in lines):
        raise InputError(path, number, '"text" is a string, "sentences" a list of strings')
    if any("\n" in sentence or "\0" in sentence for sentence in lines):
        raise InputError(path, number, "a line end or a NUL byte in a sentence")
    if any("\ud800" <= letter <= "\udfff" for sentence in lines for letter in sentence if letter >= "\ud800"):
        raise InputError(path, number, "half a surrogate pair, which is no character")
    label = value.get("id")
    return [sentence for sentence in lines if sentence.strip(" \t\r\v\f")], None if label is None else str(label)


def document_bounds(corpus: Corpus) -> np.ndarray:
    """Where documents begin, in tokens: int64 (n_documents + 1,); one document if none are marked."""
    starts = corpus.document_starts
    return corpus.sentence_starts[[0, len(corpus)] if starts is None else starts]


def pick_documents(corpus: Corpus, chosen: np.ndarray) -> Corpus:
    """Some documents by index or mask, in that order, with their labels."""
    if corpus.document_starts is None:
        raise ValueError("the corpus has no documents")
    index = np.arange(len(corpus.document_starts) - 1)[chosen]
    lines, picked = items_of(corpus.document_starts, index)
    labels = None if corpus.labels is None else [corpus.labels[i] for i in index]
    return corpus.select(lines).with_documents(picked, labels)


def split_documents(corpus: Corpus, sentences: int) -> Corpus:
    """Documents cut after every N sentences; the parts of ``letter`` are ``letter:1``, ``letter:2`` and so on; one
    that is not cut keeps its name."""
    if sentences < 1:
        raise SettingError(f"documents are split after at least one sentence, not {sentences}")
    starts = np.array([0, len(corpus)]) if corpus.document_starts is None else corpus.document_starts
    parts = np.maximum(1, -(-np.diff(starts) // sentences))
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    begins = np.repeat(starts[:-1], parts) + part * sentences
    labels = None
    if corpus.labels is not None:
        names = np.repeat(np.arange(len(parts)), parts).tolist()
        pairs = zip(names, part.tolist(), strict=True)
        labels = [f"{corpus.labels[i]}:{n + 1}" if parts[i] > 1 else corpus.labels[i] for i, n in pairs]
    return corpus.with_documents(np.append(begins, len(corpus)), labels)


Look = Callable[[int, int], Likelihoods]
"""What a sample of a model says about the words of a text from one position to another."""

_WORDS = 1 << 10
"""About how many words of documents a worker reads at a time."""
_PIECE = 1 << 12
"""How many words of a document are looked at at a time."""


class DocumentChunk(NamedTuple):
    """Consecutive documents to be read with one sample of a model: the number of the first, and the arrays of their
    ``Corpus``, whose vocabulary is the model's."""

    sample: int
    first: int
    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray


def of_documents(
    chunk: DocumentChunk, model: TopicModel, read: Callable[[Reader, Look, int, int], Any], **settings: Any
) -> list[Any]:
    """``read(reader, look, first, last)`` of every document, with a new ``Reader`` with these settings, and the
    document's place among the words that ``look`` sees."""
    corpus = Corpus(chunk.tokens, chunk.sentence_starts, model.vocab_, chunk.document_starts)
    alpha, look = model._look(corpus, chunk.sample)
    return [
        read(Reader(alpha, document=chunk.first + number, **settings), look, first, last)
        for number, (first, last) in enumerate(pairwise(document_bounds(corpus).tolist()))
    ]


def all_words(reader: Reader, look: Look, first: int, last: int) -> np.ndarray:
    """Read a document; the natural log of the probability of each of its words given all before it: (words,)."""
    slices = range(first, last, _PIECE)
    return np.concatenate([np.empty(0), *(reader.read(look(at, min(at + _PIECE, last))) for at in slices)])


class TopicModel(TopicSettings, TokenSettings, TextSettings, Seeded, Model, ABC):
    """A distribution over documents, one word after the other; sentences begin anew, but their ends are not predicted.

    ``vocab_`` are the words that it knows, ``items_`` hashes of the sentences that it has learned from, ``history_``
    float64 (sweeps + 1,) the log probability of text and state after each sweep.
    """

    PARTIAL: ClassVar[Kind]
    """An unfinished run."""

    method: str = learned()
    vocab_: Vocab = learned()
    history_: np.ndarray = learned()

    @property
    def has_topics(self) -> bool:
        """Whether it knows topics: all but those of the method HPYLM."""
        return self.method != PLAIN

    @property
    def n_samples(self) -> int:
        """How many samples read a document."""
        return 1

    @abstractmethod
    def uses(self) -> np.ndarray:
        """How often every word had every topic, from topic 0, the global one, on: int64 (ids, topics + 1)."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """How many contexts the last sample has, in all its n-gram models together."""

    def _repr_html_(self) -> str:
        """The topics: their shares and most typical words."""
        from corpuscle.topics.inspection import summaries

        rows = [(t.number, f"{t.share:.1%}", " ".join(word for word, _ in t.words)) for t in summaries(self, 12, 0)]
        return table(("topic", "share", "words"), rows, numbers=(1,))

    def read(self, *paths: Any, documents: Any = None, split: int | None = None) -> Corpus:
        """Documents as this learner reads them, see ``read_documents``."""
        return read_documents(*paths, documents=documents, split=split, **self.reading)

    def checkpoint(self, corpus: Corpus, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a corpus."""
        digest = hashlib.blake2b(document_bounds(corpus).tobytes(), digest_size=8).hexdigest()
        return Checkpoint(path, self.PARTIAL, self.settings, f"{corpus.signature()}-{digest}", resume=resume)

    def fit(
        self, corpus: Corpus, *, checkpoint: Checkpoint | None = None, log: Callable[[int, float], None] | None = None
    ) -> Self:
        """Learn from documents. ``checkpoint`` keeps unfinished work; ``log`` gets number and log probability of each
        sweep of the topics."""
        self.stays_here("a Gibbs chain is sequential by nature")
        self._learn(corpus, checkpoint or Checkpoint(), log)
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            delattr(self, name)  # it followed from what had been learned before
        return self

    @abstractmethod
    def _learn(self, corpus: Corpus, checkpoint: Checkpoint, log: Callable[[int, float], None] | None) -> None:
        """All sweeps, from where the checkpoint stands."""

    def _known_words(self, corpus: Corpus) -> Corpus:
        """A text to learn from, its rare words unknown; sets ``vocab_`` and what the file says about the text.
        ``InputError`` if it is too small."""
        lengths = np.diff(document_bounds(corpus))
        if not (lengths > 1).any():
            raise corpus.error("no document has two words")
        if len(lengths) == 1 and self.topics_ > 1:
            warn("the text is a single document; topics are what tells documents apart, and blank lines end them")
        self.items_ = item_hashes(corpus)
        self.provenance_ = {"documents": len(lengths), "sentences": len(corpus), "tokens": corpus.n_tokens}
        self.vocab_, mapping = corpus.vocab.cut(self.min_count)
        corpus = corpus.map_tokens(mapping, self.vocab_)
        if len(np.unique(corpus.tokens)) < 2:
            raise corpus.error(f"fewer than two different words occur {self.min_count} times")
        return corpus

    @abstractmethod
    def _look(self, corpus: Corpus, sample: int) -> tuple[np.ndarray, Look]:
        """The prior of the topics in a sample, float64 (topics,), and its look at some documents in our words."""

    def _by_sample(self, corpus: Corpus, function: Callable[[DocumentChunk, Any], list[Any]]) -> list[list[Any]]:
        """The results of ``function(chunk, model)``, such as ``of_documents``, for all documents: a list by sample."""
        corpus = corpus.recode(self.vocab_)
        lines = np.array([0, len(corpus)]) if corpus.document_starts is None else corpus.document_starts
        bounds = chunks_of(np.diff(corpus.sentence_starts[lines]), _WORDS).tolist()

        def chunk(sample: int, first: int, last: int) -> DocumentChunk:
            text = corpus[int(lines[first]) : int(lines[last])]
            return DocumentChunk(
                sample, first, text.tokens, text.sentence_starts, lines[first : last + 1] - lines[first]
            )

        pairs = list(pairwise(bounds if len(bounds) > 1 else [0, 0]))
        groups = ((sample, [chunk(sample, *pair) for pair in pairs]) for sample in range(self.n_samples))
        return [list(chain.from_iterable(found)) for _, found in self.spread_groups(function, groups)]

    @abstractmethod
    def sample_log_probabilities(self, corpus: Corpus, **reading: Any) -> np.ndarray:
        """The natural log of the probability of every word given all before it in its document, by each sample (one, if
        the model averages its samples before it reads): float64 (samples, n_tokens). ``reading``: ``particles``,
        ``every``, ``mode``, ``rejuvenate`` and ``seed``, see ``kernels.particles.Reader``."""

    def log_probabilities(self, corpus: Corpus, **reading: Any) -> np.ndarray:
        """``sample_log_probabilities``, the probabilities averaged over samples: float64 (n_tokens,)."""
        return _averaged(self.sample_log_probabilities(corpus, **reading))

    def perplexity(self, corpus: Corpus, *, draws: int = 1000, seed: int = 1, **reading: Any) -> Result:
        """Perplexity with a bootstrap interval over documents, with and without unknown words; ``reading`` as in
        ``sample_log_probabilities``."""
        return self.perplexities(corpus, draws=draws, seed=seed, **reading)[0]

    def perplexities(
        self, corpus: Corpus, *, draws: int = 1000, seed: int = 1, **reading: Any
    ) -> tuple[Result, list[float]]:
        """As ``perplexity``, and the perplexity by each of the samples alone, all from one reading."""
        by_sample = self.sample_log_probabilities(corpus, seed=seed, **reading)
        logs, bounds = _averaged(by_sample), document_bounds(corpus)
        unknown = corpus.recode(self.vocab_).tokens == UNKNOWN
        document = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        every, known, oov = (
            np.bincount(document, values, len(bounds) - 1) for values in (logs, np.where(unknown, 0.0, logs), unknown)
        )
        result = perplexity(
            every, np.diff(bounds), oov.astype(np.int64), known, draws=draws, seed=seed, events="tokens",
            items="documents",
        )  # fmt: skip
        return result, np.exp(-by_sample.mean(1)).tolist()


def _averaged(by_sample: np.ndarray) -> np.ndarray:
    """The log of the mean probability over samples, (samples, words): (words,)."""
    return np.logaddexp.reduce(by_sample, axis=0) - np.log(len(by_sample))
