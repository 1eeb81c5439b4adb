"""What every tagger can do, whatever is inside: it gives each word a label, and labels make up layers of a treebank.

A tagger of another method, also of another package, is a class with ``fit``, ``tag`` and ``known``; what its ``fit``
takes besides a treebank it declares. Annotation, commands and the workbench follow.

``jackknife``: tags as new text would have them, for every sentence of a treebank: each part is tagged by a tagger of
the others. What is learned from gold tags alone trusts tags more than it should. Ten folds as in McDonald, Crammer and
Pereira, "Online large-margin training of dependency parsers", 2005, section 4.

``Tagger``: parts of speech and morphology of words in sentences, as a conditional random field over pruned candidates.
The label of a word is the combination of its UPOS, XPOS and FEATS, whichever the treebank has, so that they fit each
other. Labels are scored by hashed features, found by exact search among the candidates of each word, and learned by
adaptive gradients (all in ``kernels``). Lemmas follow from forms and labels by rules for endings (``lemmas``).

Mueller, Schmid and Schuetze, "Efficient higher-order CRFs for morphological tagging", 2013.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle import learning
from corpuscle.compiled import frozen
from corpuscle.hashing import find, hashes_of
from corpuscle.learning import Checkpoint, Shuffled
from corpuscle.model import ITEMS, VOCAB, Array, Arrays, Container, Fact, Kind, Model, Record
from corpuscle.random import folds
from corpuscle.scale import chunks_of, each
from corpuscle.settings import learned
from corpuscle.tag import kernels
from corpuscle.tag.kernels import Labels, Learning, Room, Words, room_for
from corpuscle.tag.lemmas import LEMMAS, Lemmatiser
from corpuscle.tag.lexicon import ARRAYS, Lexicon
from corpuscle.tag.settings import TaggerSettings
from corpuscle.text.corpus import items_of
from corpuscle.text.heldout import item_hashes
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import WordFeatures
from corpuscle.words.word_features import SOURCES


class Tagging(NamedTuple):
    """Labels of words: ``labels`` int32 (n_words,), ids of the tagger's labels; ``confidence`` float64 (n_words,), how
    likely each is, or empty."""

    labels: np.ndarray
    confidence: np.ndarray


class WordTagger(Model, ABC):
    """A tagger: ``labels_`` is a ``Vocab`` of labels, each with the values of all ``layers_`` (names of layers of a
    treebank), tabs between them.

    ``TUNES``: its ``fit`` takes development sentences (``dev``); ``SOURCES``: it takes what raw text says about words
    (``sources``).
    """

    TUNES: ClassVar[bool] = False
    SOURCES: ClassVar[bool] = False

    labels_: Vocab = learned()
    layers_: tuple[str, ...] = learned()

    @abstractmethod
    def fit(self, bank: Treebank, *more: Any, **named: Any) -> Self:
        """Learn from the words and tags of a treebank."""

    @abstractmethod
    def tag(self, bank: Treebank, *, confidence: bool = False) -> Tagging:
        """The best label of every word; ``confidence``: also how likely it is."""

    @abstractmethod
    def known(self, bank: Treebank) -> np.ndarray:
        """Which words were in the training text, bool (n_words,)."""

    def summary(self) -> dict[str, Any]:
        """Figures of what was learned, besides the sizes of the treebank."""
        return {}

    def _lemmas(self, bank: Treebank, labels: np.ndarray) -> Layer | None:
        """Lemmas of words with these labels, if there were any to learn from."""
        return None

    def annotate(self, bank: Treebank, *, confidence: bool = False) -> Treebank:
        """The treebank with the best tags, and lemmas if there were any to learn from; ``confidence``: with how likely
        each label is in MISC (``TagConfidence=``)."""
        found = self.tag(bank, confidence=confidence)
        if confidence:
            bank = bank.with_misc("TagConfidence", [f"{value:.3f}" for value in found.confidence])
        values = [label.split("\t") for label in self.labels_.strings[FIRST:]]
        layers: dict[str, Layer] = {}
        for column, name in enumerate(self.layers_):
            kinds = Layer.from_strings(row[column] for row in values)
            layers[name] = Layer(kinds.ids[found.labels], kinds.vocab)
        if (lemmas := self._lemmas(bank, found.labels)) is not None:
            layers["lemmas"] = lemmas
        return bank.replace(**layers)


def jackknife(
    tagger: WordTagger, bank: Treebank, n_folds: int = 10, *, sources: WordFeatures | None = None
) -> Treebank:
    """The treebank with the tags, and lemmas, of taggers that did not see them: one like ``tagger`` (whose settings it
    has, fitted or not) for each part, learned from the other parts; ``sources``: for a tagger that takes them. The
    parts are learned in parallel on the threads of ``tagger``, whose number changes nothing."""
    n_folds = min(n_folds, len(bank))
    if n_folds < 2:
        raise bank.error("one sentence cannot be tagged by a tagger of the others")
    part_of = folds(getattr(tagger, "seed", 1), "tag.jackknife", len(bank), n_folds)

    def tagged(part: int) -> Treebank:
        learner = tagger.replace(workers=1)
        more = {} if sources is None else {"sources": sources}
        return learner.fit(bank.select(part_of != part), **more).annotate(bank.select(part_of == part))

    parts = each(tagged, range(n_folds), tagger.threads)
    order = np.concatenate([np.flatnonzero(part_of == part) for part in range(n_folds)])
    tokens, _ = items_of(bank.corpus.sentence_starts, order)
    places = np.argsort(tokens)
    names = {name for part in parts for name in ("tags", "xpos", "features", "lemmas") if getattr(part, name).ids.any()}
    return bank.replace(**{
        name: Layer.from_strings([value for part in parts for value in getattr(part, name).strings()])[places]
        for name in sorted(names)
    })  # fmt: skip


# ---- conditional random field


TAGGED = ("tags", "xpos", "features")
"""The layers of a treebank that make up a label."""
_USUAL = 0.01  # a layer is learned if at least this share of the words has a value
_WORDS = 4000  # words, about, that a worker tags at a time

STATE = {
    "weights": Array("float32", ("table",), finite=True),
    "totals": Array("float64", ("table",), finite=True),
    "squares": Array("float32", ("table",), finite=True, low=0),
    "clock": Array("int64", (1,), low=0),
    "wrong": Array("int64", (1,), low=0),
    "best": Array("float32", ("best",), finite=True),
    "best_share": Array("float64", (1,), finite=True),
}
_ARRAYS = {
    **VOCAB, **ITEMS, **ARRAYS, **SOURCES, **LEMMAS, "weights": STATE["weights"],
    "history": Array("float64", ("passes", 2), finite=True),
}  # fmt: skip


# ---- learning, pass by pass


class TagLearner(Shuffled):
    """Learns weights from words, their right labels, and all labels; ``judge``: mean weights -> how good they are."""

    def __init__(
        self, text: tuple[Words, np.ndarray, Labels], under_way: Learning, room: Room, seed: int,
        judge: Callable[[np.ndarray], float] | None,
    ):  # fmt: skip
        super().__init__(np.diff(text[0].starts), seed, "tag.words")
        self._text, self._learning, self._room, self._judge = text, under_way, room, judge
        self._weights = frozen(under_way.weights, np.float32)
        self._wrong = 0
        self.best, self.best_share = np.empty(0, np.float32), np.full(1, -1.0)

    def step(self, sweep: int, number: int) -> None:
        words, gold, labels = self._text
        order = self.part(sweep, number)
        self._wrong += kernels.learn(words, order, gold, labels, self._weights, self._learning, self._room)

    def mean(self) -> np.ndarray:
        """The mean of the weights after all sentences so far, float32."""
        return (self._learning.weights - self._learning.totals / max(1, self._learning.clock[0])).astype(np.float32)

    def finish(self, sweep: int) -> list[float]:
        """The share of training words with a wrong label in this pass, and how good the means are (0: not judged)."""
        share, wrong = 0.0, self._wrong / max(1, len(self._text[1]))
        self._wrong = 0
        if self._judge is not None:
            mean = self.mean()
            share = self._judge(mean)
            if share > self.best_share[0]:
                self.best, self.best_share[0] = mean, share
        return [wrong, share]

    def state(self) -> dict[str, np.ndarray]:
        kept = {name: getattr(self._learning, name) for name in ("weights", "totals", "squares", "clock")}
        return kept | {"best": self.best, "best_share": self.best_share, "wrong": np.array([self._wrong], np.int64)}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        for name in ("weights", "totals", "squares", "clock"):
            getattr(self._learning, name)[:] = arrays[name]
        self.best, self.best_share = np.array(arrays["best"]), np.array(arrays["best_share"])
        self._wrong = int(arrays["wrong"][0])


class Tagger(TaggerSettings, WordTagger):
    """A tagger.

    Learned: ``weights_`` float32; ``labels_``: a ``Vocab`` of labels, the most frequent one first; ``layers_``: which
    layers they consist of; ``lexicon_``, ``sources_``, ``lemmatiser_``; ``history_`` float64 (passes, 2): the share of
    training words that got a wrong label in each pass, and of development words that got the right one.
    """

    KIND: ClassVar[Kind] = Kind("tag.crf", 1, _ARRAYS, check=lambda loaded: _check(loaded))
    SAVED: ClassVar = {
        "layers_": Fact("layers", tuple),
        "labels_": Record(Vocab),
        "sources_": Record(WordFeatures),
        "lemmatiser_": Record(Lemmatiser),
        "weights_": Arrays("weights"),
        "history_": Arrays("history"),
    }

    TUNES = SOURCES = True

    weights_: np.ndarray = learned()
    lexicon_: Lexicon = learned()
    sources_: WordFeatures = learned()
    lemmatiser_: Lemmatiser = learned()
    history_: np.ndarray = learned()

    def checkpoint(self, bank: Treebank, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path`` from a treebank."""
        return Checkpoint(path, learning.partial("tag.crf", STATE), self.settings, signature(bank), resume=resume)

    def fit(
        self,
        bank: Treebank,
        dev: Treebank | None = None,
        *,
        sources: WordFeatures | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Tagger:
        """Learn from tagged sentences; development sentences choose after how many passes to stop; ``sources``,
        what raw text says about words, are further features."""
        n_words = bank.corpus.n_tokens
        self.layers_ = tuple(name for name in TAGGED if np.count_nonzero(getattr(bank, name).ids) > _USUAL * n_words)
        if not self.layers_:
            raise bank.error("the words have no tags to learn from: neither UPOS, XPOS nor FEATS")
        strings = _labels_of(bank, self.layers_)
        counted = sorted(Counter(strings).items(), key=lambda item: (-item[1], item[0]))
        self.labels_ = Vocab.from_words([label for label, _ in counted], [count for _, count in counted])
        gold = (self.labels_.encode(strings) - FIRST).astype(np.int32)
        self.sources_, self.chosen_ = sources or WordFeatures.none(), {}
        self.lexicon_ = Lexicon.learn(bank.corpus, gold, self.labels_, self.layers_[0] == "tags")
        self.lemmatiser_ = Lemmatiser.learn(bank, strings)
        self.items_ = item_hashes(bank.corpus)
        self.provenance_ = {
            "sentences": len(bank), "words": n_words, "labels": len(counted),
            "lemma_rules": self.lemmatiser_.n_rules,
        }  # fmt: skip
        self._learn(bank, gold, dev, checkpoint or Checkpoint(signature=signature(bank)))
        return self

    def _learn(self, bank: Treebank, gold: np.ndarray, dev: Treebank | None, checkpoint: Checkpoint) -> None:
        labels = self.lexicon_.labels
        words = self.lexicon_.words(bank.corpus, self.closed, self.sources_, learning=True)
        # The last feature of the table needs room for all parts and labels.
        size = (1 << self.hash_bits) + labels.n_parts + len(self.labels_) - FIRST
        under_way = Learning(
            np.zeros(size, np.float32), np.zeros(size), np.zeros(size, np.float32), np.zeros(1, np.int64), self.rate,
            self._shift,
        )  # fmt: skip

        def judge(weights: np.ndarray) -> float:
            assert dev is not None
            self.weights_ = weights
            found, right = self.tag(dev).labels, _labels_of(dev, self.layers_)
            return float((found + FIRST == self.labels_.encode(right)).mean())

        room = room_for(int(bank.corpus.lengths.max()), words, labels)
        learner = TagLearner((words, gold, labels), under_way, room, self.seed, None if dev is None else judge)
        # A hash of what is learned with besides the treebank, which a resumed run must share.
        digest = hashlib.blake2b(b"" if dev is None else signature(dev).encode(), digest_size=16)
        for array in self.sources_.arrays().values():
            digest.update(array.tobytes())
        facts = {"table": size, "besides": digest.hexdigest()}
        run = checkpoint.run(learner, self.passes, columns=2, facts=facts, title="passes", note="wrong {:.3f}")
        self.history_, self.weights_ = run.history, learner.mean()
        if dev is not None:
            self.tuning_items_, self.weights_ = item_hashes(dev.corpus), learner.best
            self.chosen_["passes"] = int(np.argmax(self.history_[:, 1])) + 1

    def summary(self) -> dict[str, Any]:
        """Passes, and the shares of words that were wrong in the last one and right in development sentences."""
        figures = {"passes": self.chosen_.get("passes", self.passes), "wrong": float(self.history_[-1, 0])}
        return figures | ({"right_dev": float(self.history_[:, 1].max())} if "passes" in self.chosen_ else {})

    @property
    def _shift(self) -> np.uint64:
        return np.uint64(64 - self.hash_bits)

    # ---- tagging

    def tag(self, bank: Treebank, *, confidence: bool = False) -> Tagging:
        words = self.lexicon_.words(bank.corpus, self.closed, self.sources_)
        bounds = chunks_of(bank.corpus.lengths + 1, _WORDS).tolist()
        parts = list(self.spread(_tag_chunk, [(words, first, last, confidence) for first, last in pairwise(bounds)]))
        nothing = Tagging(np.empty(0, np.int32), np.empty(0))
        return Tagging(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))

    def _lemmas(self, bank: Treebank, labels: np.ndarray) -> Layer | None:
        return self.lemmatiser_.lemmas(bank.corpus, labels, self.labels_) if self.lemmatiser_.n_rules else None

    def known(self, bank: Treebank) -> np.ndarray:
        rows = find(hashes_of(bank.corpus.vocab.strings), self.lexicon_.arrays["forms"])
        return (rows >= 0)[bank.corpus.tokens]

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), **self.lexicon_.arrays}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.lexicon_ = Lexicon.of(self.labels_, self.layers_[0] == "tags", loaded.arrays)


def _labels_of(bank: Treebank, layers: tuple[str, ...]) -> list[str]:
    return list(map("\t".join, zip(*(getattr(bank, name).strings() for name in layers), strict=True)))


def signature(bank: Treebank) -> str:
    digest = hashlib.blake2b(bank.corpus.signature().encode(), digest_size=16)
    for name in (*TAGGED, "lemmas"):
        digest.update("\n".join(getattr(bank, name).strings()).encode())
    return digest.hexdigest()


def _tag_chunk(chunk: tuple[Words, int, int, bool], tagger: Tagger) -> Tagging:
    words, first, last, confidence = chunk
    labels, weights, shift = tagger.lexicon_.labels, frozen(tagger.weights_, np.float32), tagger._shift
    starts = words.starts[first : last + 1].tolist()
    room = room_for(int(np.diff(words.starts[first : last + 1]).max(initial=0)), words, labels)
    found, likely = np.zeros(starts[-1] - starts[0], np.int32), np.zeros(starts[-1] - starts[0] if confidence else 0)
    for begin, end in pairwise(starts):
        here = slice(begin - starts[0], end - starts[0])
        kernels.score_sentence(words, begin, end, labels, weights, shift, room)
        kernels.best_labels(end - begin, room, found[here])
        if confidence:
            kernels.expectations(end - begin, room)
            same = room.candidates[: end - begin] == found[here][:, None]
            inside = np.arange(same.shape[1]) < room.counts[: end - begin, None]
            likely[here] = np.minimum((room.local[: end - begin] * (same & inside)).sum(axis=1), 1.0)
    return Tagging(found, likely)


def _check(loaded: Container) -> None:
    model, arrays, layers = Tagger.restored(loaded.described), loaded.arrays, loaded.extra.get("layers")
    if not isinstance(layers, list) or not layers or layers != [name for name in TAGGED if name in layers]:
        raise ValueError("it does not say which layers it tags")
    names = Vocab.from_arrays(arrays)
    if not len(arrays["open"]) or any(label.count("\t") != len(layers) - 1 for label in names.strings[FIRST:]):
        raise ValueError("its labels do not fit its layers")
    if (np.diff(arrays["lexicon/starts"]) == 0).any():
        raise ValueError("a word of its lexicon has no label")
    parts = Lexicon.of(names, layers[0] == "tags", arrays).labels
    if len(arrays["weights"]) != (1 << model.hash_bits) + parts.n_parts + len(names) - FIRST:
        raise ValueError("its table of weights does not fit its settings")
    Lemmatiser.from_arrays(arrays).check()
