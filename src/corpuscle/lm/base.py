"""What every language model can do, whatever is inside: two primitives and the verbs that follow from them.

A model gives the log probability of every event of a text (``_events``) and the distribution of the next word
(``_distribution``). Both follow from an ``automaton_`` over a trie of n-grams where a model is laid out as one,
whatever its probabilities come from; decoders can take such a model inside. Perplexity, surprisal, suggestions and
sampling are the same for all models and live here.

A model that is learned from text has a ``fit(corpus, ...)``, which begins with ``_take``. What ``lm train`` has to know
of it is said by its class (``TUNES``, ``DRAWS`` and others); what it has learned by ``summary``, and
whether it has the form of an ARPA file by ``check_arpa`` and ``as_ngram``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.engine.ngrams import trie
from corpuscle.engine.ngrams.counting import add_boundaries, count_ngrams
from corpuscle.engine.ngrams.trie import Automaton, Ngrams
from corpuscle.errors import InputError, SettingError
from corpuscle.learning import Checkpoint
from corpuscle.lm.kernels.counting import merge_ngrams
from corpuscle.measure import Comparison, Result, compare_perplexity, perplexity
from corpuscle.model import Kind, Model
from corpuscle.random import Random
from corpuscle.scale import chunks_of, starts_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.html import show_shaded
from corpuscle.text.plain import read_strings
from corpuscle.text.vocab import END, MARKUP, START, UNKNOWN, Vocab
from corpuscle.text.wording import clip

if TYPE_CHECKING:
    from corpuscle.lm.ngram import NgramModel

_CHARACTERS, _EVENTS = 1 << 18, 1 << 16
"""How much text a worker encodes and scores at a time, or scores when it has been encoded."""
_COUNTED = 1 << 20
"""About how many tokens a worker of a cluster counts at a time."""
_ONE_STREAM = "a text without sentence boundaries is one stream, which is read here"


class SentenceScores(NamedTuple):
    """Figures of each sentence: events (with ``</s>``), unknown words, natural log probability of all events and of
    the known ones alone; arrays of (n_sentences,)."""

    tokens: np.ndarray
    oov: np.ndarray
    log_probability: np.ndarray
    known_log_probability: np.ndarray


class Events(NamedTuple):
    """The predicted events of a text.

    - ``log_probability``: float64 (n_events,), natural logs;
    - ``unknown``: bool (n_events,), whether the word is out of vocabulary;
    - ``starts``: int64 (n_sentences + 1,), where each sentence's events begin.
    """

    log_probability: np.ndarray
    unknown: np.ndarray
    starts: np.ndarray

    def by_sentence(self) -> SentenceScores:
        known = np.where(self.unknown, 0.0, self.log_probability)
        sums = np.zeros((3, len(self.starts) - 1))
        filled = np.flatnonzero(np.diff(self.starts))  # reduceat knows no empty slices
        for row, values in zip(sums, (self.unknown.astype(np.float64), self.log_probability, known), strict=True):
            row[filled] = np.add.reduceat(values, self.starts[filled]) if len(filled) else 0.0
        return SentenceScores(np.diff(self.starts), sums[0].astype(np.int64), sums[1], sums[2])


@dataclass(frozen=True, eq=False)
class Surprisals:
    """How surprising each event of a text is, in bits: ``bits, starts = surprisals``; a notebook shades its words.

    - ``bits``: float64 (n_events,); ``starts``: int64 (n_sentences + 1,); ``corpus``: the text.
    """

    bits: np.ndarray
    starts: np.ndarray
    corpus: Corpus

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.bits, self.starts))

    def _repr_html_(self) -> str:
        bounds = pairwise(self.starts.tolist())
        sentences = ((words, self.bits[a:b].tolist()) for words, (a, b) in zip(self.corpus, bounds, strict=True))
        return show_shaded(sentences, len(self.corpus), most=16.0, unit="bits")


def events_of(corpus: Corpus, values: np.ndarray) -> np.ndarray:
    """Values of tokens as values of events, with 0 (or False) at the end of each sentence: (n_events,)."""
    return np.insert(values, corpus.sentence_starts[1:], 0)


def find_markup(corpus: Corpus) -> tuple[int, str] | None:
    """The first sentence (counted from 0) with a literal ``<s>`` or ``</s>``, and which of them it has."""
    ids = corpus.vocab.encode((MARKUP[START], MARKUP[END]))
    known = ids[ids != UNKNOWN]
    where = np.flatnonzero(np.isin(corpus.tokens, known)) if len(known) else known
    if len(where) == 0:
        return None
    sentence = int(np.searchsorted(corpus.sentence_starts, where[0], side="right") - 1)
    return sentence, corpus.vocab.word(int(corpus.tokens[where[0]]))


def documents_of(corpus: Corpus) -> np.ndarray:
    """Where the documents of a text begin, int64 (n_documents + 1,) in sentences; a text without any has one for each
    stretch of sentences up to an empty one."""
    begins = np.flatnonzero(corpus.lengths == 0) + 1 if corpus.document_starts is None else corpus.document_starts
    return np.unique(np.concatenate([[0], begins, [len(corpus)]]))


_Piece = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Some sentences without their vocabulary: tokens, where sentences begin, and documents."""


def _cut(corpus: Corpus, by_document: bool) -> Iterator[_Piece]:
    """The pieces of a text that workers share, perhaps of whole documents; an empty text has an empty one."""
    units = documents_of(corpus) if by_document else np.arange(len(corpus) + 1)
    bounds = units[chunks_of(np.diff(corpus.sentence_starts[units]) + np.diff(units), _EVENTS)].tolist()
    for first, last in pairwise(bounds if len(bounds) > 1 else [0, 0]):
        piece = corpus[first:last]
        yield piece.tokens, piece.sentence_starts, documents_of(piece) if by_document else None


def _events_of(piece: _Piece, model: LanguageModel) -> Events:
    tokens, starts, documents = piece
    return model._events(Corpus(tokens, starts, model.vocab_, documents))


def _scores_of(sentences: Sequence[str], model: LanguageModel) -> SentenceScores:
    return model._events(read_strings(sentences, model.vocab_, **model.reading)).by_sentence()


class LanguageModel(Model, ABC):
    """A distribution over sentences of a vocabulary, one word after the other.

    - ``vocab_``: the words that it knows; ``order_``: how many words it looks at, the predicted one included;
    - ``boundary``: how sentences begin and end (``"single"``, ``"pad"`` or ``"none"``); ``min_count`` and
      ``allow_markup``: settings of what is learned from text, see ``WordSettings``;
    - ``TUNES``: its ``fit`` takes a development text; ``PARTIAL``: the kind of unfinished work, if its ``fit`` takes a
      checkpoint; ``STARTS``: it can begin with another model; ``CLASSES``: it can model sequences of word classes
      (``ClassModel``); ``DRAWS``: learning makes random choices, which a seed decides.
    """

    TUNES: ClassVar[bool] = False
    PARTIAL: ClassVar[Kind | None] = None
    STARTS: ClassVar[bool] = False
    DRAWS: ClassVar[bool] = True
    CLASSES: ClassVar[bool] = False
    memory: int | None = None
    """How much memory counting may take, where that can be limited."""
    by_document: bool = False
    """Whether its predictions depend on the document so far, beyond the sentence."""

    boundary: str = learned()
    min_count: int = learned()
    allow_markup: bool = learned()
    order_: int = learned()
    vocab_: Vocab = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        order = self.settings.get("order")
        self.order_ = order if isinstance(order, int) else 0

    @property
    @abstractmethod
    def reading(self) -> dict[str, Any]:
        """How its texts are read: arguments of ``read_text`` and its kin."""

    @property
    def method_name(self) -> str:
        """Its ``--method`` on the command line."""
        return self.KIND.name.partition(".")[2]

    def summary(self) -> dict[str, Any]:
        """Figures of what was learned, without the sizes of text and vocabulary."""
        return {"order": self.order_}

    def _check_boundary(self) -> None:
        if self.boundary == "none":
            raise SettingError("a model without sentence boundaries has no ARPA form")

    def check_arpa(self) -> None:
        """Complain before anything is learned if the model will have no ARPA form."""
        self.as_ngram()

    def as_ngram(self) -> NgramModel:
        """The model as a back-off model, where that is exact."""
        raise SettingError(f"a model of kind {self.KIND.name} has no ARPA form")

    def approximate_ngram(self) -> NgramModel:
        """A back-off model that approximates this one; the model itself, where that is exact."""
        return self.as_ngram()

    # ---- learning

    def checkpoint(self, corpus: Corpus, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work, if it takes a checkpoint, while it learns the model ``path``."""
        return Checkpoint(path, self.PARTIAL, self.settings, corpus.signature(), resume=resume)

    def _taken(self, corpus: Corpus) -> Corpus:
        """Check a training text, remember which, forget what was computed before: the text with its words counted."""
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del vars(self)[name]
        corpus.filled("training text")
        if not self.allow_markup and (found := find_markup(corpus)) is not None:
            reason = f"a literal {found[1]} in a sentence; allow_markup (--allow-markup) accepts it as a word"
            raise corpus.error(reason, found[0])
        self.items_, self.tuning_items_ = item_hashes(corpus), np.empty(0, np.uint64)
        self.chosen_ = {}
        return corpus.counted()

    def _take(self, corpus: Corpus) -> Corpus:
        """The same, and choose the words (``vocab_``): the text in these words."""
        corpus = self._taken(corpus)
        self.provenance_ = {"sentences": len(corpus), "words": corpus.n_tokens, "types_in_text": len(corpus.vocab) - 3}
        self.vocab_ = corpus.vocab
        if self.min_count > 1:
            self.vocab_, mapping = corpus.vocab.cut(self.min_count)
            corpus = corpus.map_tokens(mapping, self.vocab_)
        return corpus

    def _take_dev(self, dev: Corpus) -> Corpus:
        """Check a development text, and remember that settings were chosen on it: the text in the model's words."""
        self.tuning_items_ = item_hashes(dev.filled("development text"))
        return dev.recode(self.vocab_)

    @property
    def _left(self) -> int:
        """How many start symbols stand before a sentence."""
        return {"single": 1, "pad": self.order_ - 1, "none": 0}[self.boundary]

    def _symbols(self, corpus: Corpus) -> np.ndarray:
        """A text as one stream with its boundary symbols, int32."""
        if self.boundary == "none":
            return corpus.tokens
        return add_boundaries(corpus.tokens, corpus.sentence_starts, self._left, START, END)

    @property
    def _count(self) -> Callable[..., Ngrams]:
        """Counts the n-grams of a stream of symbols, on one thread or ``workers``; those of a cluster can have it."""
        end = END if self.boundary != "none" else -1
        return partial(count_ngrams, n_types=len(self.vocab_), order=self.order_, end=end)

    def _counting(self, corpus: Corpus) -> Callable[[], Ngrams]:
        """A function that counts the n-grams of a text in the words of the model; it needs the text no longer."""
        if self.cluster is None or self.boundary == "none":
            if self.boundary == "none":
                self.stays_here(_ONE_STREAM)
            return partial(self._count, self._symbols(corpus), workers=self.threads)
        bounds = chunks_of(corpus.lengths + 1, _COUNTED).tolist()
        pieces = [self._symbols(corpus[first:last]) for first, last in pairwise(bounds)]

        def count() -> Ngrams:
            with workers(cluster=self.cluster) as pool:
                return pool.scatter(pieces).map_reduce(self._count, merge_ngrams)

        return count

    @property
    def _predictable(self) -> np.ndarray:
        """Which ids can be predicted, bool (n_types,): not the start symbol."""
        predictable = np.ones(len(self.vocab_), bool)
        predictable[START] = False
        predictable[END] = self.boundary != "none"
        return predictable

    # ---- reading

    @property
    def automaton_(self) -> Automaton:
        """The model laid out for reading text, and for decoders (``engine.ngrams.trie.step``)."""
        raise SettingError(f"a model of kind {self.KIND.name} is no automaton")

    @property
    def initial_state(self) -> int:
        """The state of ``automaton_`` at the beginning of a sentence."""
        return self._initial(self.automaton_)

    def _initial(self, automaton: Automaton) -> int:
        return int(trie.state_of(automaton, np.full(self._left, START, np.int32)))

    def _state_after(self, context: list[str]) -> int:
        ids = self.vocab_.encode(context)
        if self._begins(context):
            ids = np.concatenate([np.full(max(1, self._left), START, np.int32), ids[1:]])
        return int(trie.state_of(self.automaton_, ids))

    def _score(self, automaton: Automaton, corpus: Corpus) -> np.ndarray:
        if self.boundary == "none":
            return trie.score_stream(automaton, corpus.tokens)
        initial = self._initial(automaton)
        return trie.score_sentences(automaton, corpus.tokens, corpus.sentence_starts, initial, END, self.threads)

    def _mean_score(self, automaton: Automaton, dev: Corpus, where: str = "") -> float:
        """Mean log probability of the events of a development text that have a probability at all."""
        scores = self._score(automaton, dev)
        possible = scores[np.isfinite(scores)]
        if len(possible) == 0:
            raise SettingError(f"{where}nothing in the development text has a probability")
        return float(possible.mean())

    def _scored(self, corpus: Corpus, scores: np.ndarray) -> Events:
        """The events of a text in the words of the model with these log probabilities."""
        if self.boundary == "none":
            return Events(scores, corpus.tokens == UNKNOWN, corpus.sentence_starts)
        starts = corpus.sentence_starts + np.arange(len(corpus) + 1)
        return Events(scores, events_of(corpus, corpus.tokens == UNKNOWN), starts)

    def _events(self, corpus: Corpus) -> Events:
        """The probability of every token and sentence end of a text in the words of the model."""
        return self._scored(corpus, self._score(self.automaton_, corpus))

    def _distribution(self, context: list[str]) -> np.ndarray:
        """P(next word | context) for every id of ``vocab_``: float64 (n_types,)."""
        return trie.distribution(self.automaton_, self._state_after(context), len(self.vocab_))

    def _begins(self, context: Sequence[str]) -> bool:
        """Whether a context is the beginning of a sentence: a first ``"<s>"`` is no word, except where a model that
        has no boundaries knows such a word."""
        if list(context[:1]) != [MARKUP[START]]:
            return False
        return self.boundary != "none" or MARKUP[START] not in self.vocab_

    def distribution(self, context: str | Sequence[str]) -> np.ndarray:
        """P(next word | context) for every id of ``vocab_``: float64 (n_types,).

        The context, words or a string to be split, may begin with ``"<s>"``, the beginning of a sentence.
        """
        return self._distribution(self.words_of(context))

    def events(self, corpus: Corpus) -> Events:
        """The probability of every token of a text and of every sentence end."""
        [(_, events)] = self.stream([corpus])
        return events

    def stream(self, corpora: Iterable[Corpus]) -> Iterator[tuple[Corpus, Events]]:
        """Every text of a stream with its events; only a few of them are in memory at a time."""
        texts = (Corpus.checked(corpus, **self.reading) for corpus in corpora)
        if self.boundary == "none":
            self.stays_here(_ONE_STREAM)
            yield from ((corpus, self._events(corpus.recode(self.vocab_))) for corpus in texts)
            return
        groups = ((corpus, _cut(corpus.recode(self.vocab_), self.by_document)) for corpus in texts)
        for corpus, parts in self.spread_groups(_events_of, groups):
            logs, unknown, starts = zip(*parts, strict=True)
            lengths = np.concatenate([np.diff(each) for each in starts])
            yield corpus, Events(np.concatenate(logs), np.concatenate(unknown), starts_of(lengths))

    def _prepare(self) -> None:
        self._events(Corpus.from_sentences([], self.vocab_))

    def perplexity(self, corpus: Corpus, *, draws: int = 1000, seed: int = 1) -> Result:
        """Perplexity with a bootstrap interval over sentences, with and without unknown words."""
        scores = self.events(corpus).by_sentence()
        if not scores.tokens.any():
            raise corpus.error("the text is empty")
        return perplexity(
            scores.log_probability, scores.tokens, scores.oov, scores.known_log_probability, draws=draws, seed=seed,
            events="tokens" if self.boundary == "none" else "tokens and </s>",
        )  # fmt: skip

    def words_of(self, words: str | Sequence[str]) -> list[str]:
        """The words of a string (behind a first ``<s>``), split as the model's training text was; words as they are."""
        if not isinstance(words, str):
            return list(words)
        begin, _, rest = words.lstrip().partition(" ")
        begins = begin == MARKUP[START]
        return [begin] * begins + read_strings([rest if begins else words], **self.reading).words(0)

    def score(self, sentences: str | Sequence[str]) -> SentenceScores:
        """Figures of sentences given as strings, read as the model's training text was; the fastest way for many."""
        sentences = [sentences] if isinstance(sentences, str) else sentences
        sizes = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
        bounds = [0, len(sentences)] if self.by_document else chunks_of(sizes, _CHARACTERS).tolist()
        pieces = [sentences[first:last] for first, last in pairwise(bounds)]
        parts = list(self.spread(_scores_of, pieces or [sentences]))
        return SentenceScores(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def surprisals(self, corpus: Corpus) -> Surprisals:
        """Surprisal of every event in bits, and where each sentence's events begin (its ``</s>`` comes last)."""
        events = self.events(corpus)
        return Surprisals(events.log_probability / -np.log(2), events.starts, corpus)

    def log_probability(self, sentence: str | Sequence[str]) -> float:
        """Natural log of the probability of one sentence, ``</s>`` included."""
        words = self.words_of(sentence)
        return float(self.events(Corpus.from_sentences([words], self.vocab_)).log_probability.sum())

    def next_words(self, context: str | Sequence[str], k: int = 10) -> list[tuple[str, float]]:
        """The k most likely next words with their probabilities; ``</s>`` may be one, the unknown word never is."""
        probability = self.distribution(context)
        probability[UNKNOWN] = 0.0
        k = min(k, int(np.count_nonzero(probability)))
        best = np.argpartition(-probability, k - 1)[:k] if k else np.empty(0, np.int64)
        best = best[np.lexsort((best, -probability[best]))]
        return [(self.vocab_.word(int(i)), float(probability[i])) for i in best]

    def sample(
        self, n: int = 1, *, seed: int = 1, temperature: float = 1.0, max_length: int = 100
    ) -> Iterator[list[str]]:
        """Random sentences of known words, at most ``max_length`` words each; low temperatures prefer likely words."""
        if not 0 < temperature < np.inf:
            raise SettingError(f"temperature is above 0 and finite, not {temperature}")
        begin = [] if self.boundary == "none" else [self.vocab_.word(START)]
        for i in range(n):
            stream, words = Random(seed, "lm.sample", 0, i), list(begin)
            while len(words) < max_length + len(begin):
                probability = self.distribution(words)
                probability[UNKNOWN] = 0.0
                if not probability.any():
                    raise SettingError("the model knows no word that it could say")
                heat = np.where(probability > 0, (probability / probability.max()) ** (1.0 / temperature), 0.0)
                cumulative = np.cumsum(heat)
                word = int(np.searchsorted(cumulative, stream.uniform() * cumulative[-1], side="right"))
                if word == END:
                    break
                words.append(self.vocab_.word(word))
            yield words[len(begin) :]


def compare(a: LanguageModel, b: LanguageModel, corpus_a: Corpus, corpus_b: Corpus, *, seed: int = 1) -> Comparison:
    """Perplexity of A minus that of B on the same sentences, each encoded for its model; paired bootstrap."""
    return compare_events(a.events(corpus_a), b.events(corpus_b), seed=seed)


def compare_events(a: Events, b: Events, *, seed: int = 1) -> Comparison:
    """The same for events that have been scored already."""
    if not len(a.log_probability):
        raise InputError(None, None, "the text is empty")
    if not np.array_equal(a.starts, b.starts):
        raise SettingError("the two models do not predict the same events: other units, boundaries or preprocessing")
    scores_a, scores_b = a.by_sentence(), b.by_sentence()
    return compare_perplexity(scores_a.log_probability, scores_b.log_probability, scores_a.tokens, seed=seed)


_FEWEST_WORDS = 6  # a sentence of a word or two is surprising by accident
Shown = dict[str, Any]


def surprises(
    model: LanguageModel, held_out: Corpus, high: int, low: int, most_words: int
) -> tuple[tuple[Shown, ...], tuple[Shown, ...]]:
    """The sentences with the highest and the lowest surprisal per word, each only once, as plain data: their first
    words with surprisal in bits (None: no bound) and whether they are unknown; ``bits_per_token``; ``cut``."""

    def rounded(bits: float) -> float | None:
        return round(float(bits), 3) if np.isfinite(bits) else None

    bits, starts = model.surprisals(held_out)
    lengths = held_out.lengths
    means = np.add.reduceat(bits, starts[:-1]) / np.diff(starts)
    long_enough = np.flatnonzero(lengths >= min(_FEWEST_WORDS, int(lengths.max())))
    unknown = model.vocab_.mapping_from(held_out.vocab) == UNKNOWN
    falling = long_enough[np.argsort(-means[long_enough], kind="stable")]

    def shown(i: int) -> Shown:
        ids = held_out.sentence(i)[:most_words]
        words = [[clip(held_out.vocab.word(int(id))), rounded(b), bool(unknown[id])]
                 for id, b in zip(ids, bits[starts[i] :], strict=False)]  # fmt: skip
        return {"words": words, "bits_per_token": rounded(means[i]), "cut": bool(lengths[i] > most_words)}

    def first(order: np.ndarray, most: int) -> tuple[Shown, ...]:
        distinct: dict[bytes, int] = {}
        for i in order.tolist():
            distinct.setdefault(held_out.sentence(i).tobytes(), i)
            if len(distinct) == most:
                break
        return tuple(map(shown, distinct.values()))

    return first(falling, high), first(falling[::-1], low)
