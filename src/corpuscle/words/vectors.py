"""WordVectors: a vector for every word, and what can be done with vectors; the model that each method ends in.

A method finds directions in what stands around words: a *projection* (a row for each word), singular values that say
how much each direction holds, and *contexts*, the other side of the same factorisation, through which whatever stands
around an unknown word gives that word a row too. From the projection come the vectors that people use:

1. each direction is scaled by a power of its singular value, each row made a unit vector;
2. what the spelling of the words says about these rows (see ``spelling``) is added;
3. the mean of all words and a few directions that all words share are removed, and rows made unit vectors again.

The second and third step are what is known to help where text is small: Bojanowski et al. 2017 for pieces of words, Mu
and Viswanath 2018 ("all-but-the-top") for common directions. The projection is kept as it is found.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from corpuscle.engine.linalg import unit_rows
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.measure.correlation import spearman
from corpuscle.measure.result import Result
from corpuscle.model import VOCAB, Array, Arrays, Container, Kind, Model, Record, vocab_arrays
from corpuscle.model.saved import Saved
from corpuscle.settings import Seeded, learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.pairs import ScoredPair
from corpuscle.text.scripts import isolated
from corpuscle.text.settings import TextSettings
from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab, write_vectors
from corpuscle.words.settings import VectorSettings
from corpuscle.words.spelling import Spelling, learn_spelling, signature_of, vocabulary_of

if TYPE_CHECKING:
    from corpuscle.figures import Place

LARGEST = 1e30  # numbers in a model of vectors stay far below: products of some of them stay finite


def numbers(*shape: int | str, dtype: str = "float32", low: float = -LARGEST) -> Array:
    """The declaration of an array of moderate numbers."""
    return Array(dtype, shape, low=low, high=LARGEST, finite=True)


VECTORS = {
    **VOCAB,
    "vectors": numbers("types+3", "dimensions"),
    "projection": numbers("types+3", "dimensions"),
    "singular_values": numbers("dimensions", dtype="float64", low=1 / LARGEST),
    "common/mean": numbers("dimensions", dtype="float64"),
    "common/directions": numbers("common", "dimensions", dtype="float64"),
    **vocab_arrays("pieces/", "pieces"),
    "pieces/vectors": numbers("pieces+3", "dimensions"),
}
"""The arrays of every method; each adds those of its contexts."""


def check_vectors(loaded: Container) -> None:
    if loaded.arrays["vectors"].shape[1] != loaded.settings.get("dimensions") or not loaded.arrays["vectors"].size:
        raise ValueError("its vectors do not have the dimensions that it names")
    values = loaded.arrays["singular_values"]
    if (np.diff(values) > 0).any() or values[-1] <= 1e-9 * values[0]:
        raise ValueError("its singular values rise somewhere, or become too small")


class WordVectors(VectorSettings, TextSettings, Seeded, Model):
    """A vector for each word.

    - ``vocab_``: the words by falling count, with their counts in the training text: the unigram weights;
    - ``vectors_`` float32 (len(vocab_), dimensions): unit rows, zeros where a word has no vector;
    - ``projection_`` float32 (len(vocab_), dimensions): what was found, unscaled; ``singular_values_`` float64
      (dimensions,), falling;
    - ``spelling_``: what pieces of words say; ``mean_`` float64 (dimensions,) and ``directions_`` float64 (directions,
      dimensions): what all words share.
    """

    PARTIAL: ClassVar[Kind | None] = None
    SAVED: ClassVar[Mapping[str, Saved]] = {
        "vocab_": Record(Vocab),
        **{f"{name}_": Arrays(name) for name in ("vectors", "projection", "singular_values")},
        "mean_": Arrays("common/mean"),
        "directions_": Arrays("common/directions"),
        "spelling_": Record(Spelling),
    }

    vocab_: Vocab = learned()
    vectors_: np.ndarray = learned()
    projection_: np.ndarray = learned()
    singular_values_: np.ndarray = learned()
    spelling_: Spelling = learned()
    mean_: np.ndarray = learned()
    directions_: np.ndarray = learned()

    # ---- learning

    def checkpoint(self, corpus: Corpus, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work; there is none where a method goes over its counts once."""
        return Checkpoint(path, self.PARTIAL, self.settings, corpus.signature(), resume=resume)

    def fit(self, corpus: Corpus, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text; ``checkpoint`` keeps unfinished work."""
        if corpus.n_tokens == 0:
            raise SettingError("there are no words to learn vectors from")
        signature = corpus.signature() if checkpoint is None else checkpoint.signature
        corpus = corpus.counted()
        vocab, mapping = vocabulary_of(corpus.vocab, self.min_count, self.max_types, self.rare)
        if len(vocab) == FIRST:
            raise SettingError(f"no word occurs {self.min_count} times: there is nothing to learn vectors of")
        corpus = corpus.map_tokens(mapping, vocab)
        self.vocab_ = vocab
        self._learn(corpus, checkpoint or Checkpoint())
        self._finish()
        sizes = {"sentences": len(corpus), "words": corpus.n_tokens, "types": len(vocab) - FIRST}
        self.provenance_ = {**sizes, "signature": signature}
        return self

    @abstractmethod
    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        """Find projection, singular values and contexts from a text in the ids of ``vocab_``."""

    def _scaled(self) -> np.ndarray:
        """The rows that vectors are made of: the projection, scaled, float64 (len(vocab_), dimensions)."""
        return self.projection_ * self.singular_values_**self.exponent

    @abstractmethod
    def _from_contexts(self, corpus: Corpus, new: int) -> np.ndarray:
        """Rows like those of ``_scaled`` for the last ``new`` ids of a text whose other ids are those of ``vocab_``,
        from what stands around them, float64 (new, dimensions)."""

    def _wanted(self, most: int, dropped: int = 0) -> int:
        """How many directions must be found, if the first ones are dropped; there are at most ``most``."""
        wanted = self.dimensions + dropped
        if wanted > most:
            what = f"{self.dimensions} dimensions" + (f" after {dropped}" if dropped else "")
            raise SettingError(f"{what} are too many for {len(self.vocab_) - FIRST} words: at most {most} can be found")
        return wanted

    def _keep(self, projection: np.ndarray, values: np.ndarray, dropped: int = 0) -> None:
        """Take over what was found, without the first directions; too few of them are an error."""
        floor = 1e-9 * values[0]
        if values[-1] <= floor:
            rank, few = int((values > floor).sum()), ", ".join(f"{value:.3g}" for value in values[:8])
            raise SettingError(
                f"{self.dimensions} dimensions are too many: the counts have rank {rank} (singular values {few}, ...)"
            )
        self.projection_ = projection[:, dropped:].astype(np.float32)
        self.singular_values_ = values[dropped:]

    def _finish(self) -> None:
        """The vectors of all words."""
        rows = unit_rows(self._scaled())
        counts, dimensions = self.vocab_.counts, rows.shape[1]
        self.spelling_ = Spelling(Vocab.from_words([]), np.zeros((FIRST, dimensions), np.float32))
        if self.spelling > 0:
            words = self.vocab_.strings[FIRST:]
            self.spelling_, said = learn_spelling(words, counts[FIRST:], rows[FIRST:], self.workers)
            rows[FIRST:] += self.spelling * said
        self.mean_, self.directions_ = np.zeros(dimensions), np.zeros((self.directions, dimensions))
        if self.directions:
            self.mean_ = rows[FIRST:].mean(axis=0)
            centred = rows[FIRST:] - self.mean_
            _, vectors = np.linalg.eigh(centred.T @ centred)
            self.directions_ = np.ascontiguousarray(vectors[:, : -1 - self.directions : -1].T)
        self.vectors_ = self._without_common(rows).astype(np.float32)

    def _without_common(self, rows: np.ndarray) -> np.ndarray:
        """Unit rows without what all words share; rows of zeros stay."""
        centred = rows - self.mean_
        centred -= (centred @ self.directions_.T) @ self.directions_
        centred[~rows.any(axis=1)] = 0.0
        return unit_rows(centred)

    # ---- vectors of words

    def spelled(self, word: str) -> str:
        """A word as the training text had it: lower-cased, for instance, if that was."""
        return self.preprocessing.spell(word)

    def __contains__(self, word: str) -> bool:
        """Whether a word has a vector of its own."""
        return self.spelled(word) in self.vocab_

    def vectors_of(self, words: Sequence[str]) -> np.ndarray:
        """The vectors of words, float32 (words, dimensions). A word that the training text had too rarely, or never,
        has that of its spelling; without known pieces, that of its signature, if such classes were learned, or of the
        unknown word, if it has one; else zeros."""
        spelled = [self.spelled(word) for word in words]
        ids = self.vocab_.encode(spelled)
        found = self.vectors_[ids]
        new = np.flatnonzero(ids == UNKNOWN)
        if len(new):
            found[new] = self._unseen([spelled[int(i)] for i in new], np.zeros((len(new), found.shape[1])))
        return found

    def _unseen(self, words: Sequence[str], rows: np.ndarray) -> np.ndarray:
        """Vectors of unknown words from unit rows of their contexts, zeros where there are none, and their spelling."""
        rows = rows + self.spelling * self.spelling_.vectors_of(words)
        vectors = self._without_common(rows).astype(np.float32)
        for i in np.flatnonzero(~rows.any(axis=1)):
            vectors[i] = self.vectors_[self.vocab_.id(signature_of(words[int(i)]))]
        return vectors

    def vector(self, word: str) -> np.ndarray:
        """The vector of a word, see ``vectors_of``; ``SettingError`` if nothing is known of it."""
        vector = self.vectors_of([word])[0]
        if not vector.any():
            raise SettingError(f"nothing is known of the word {word!r}")
        return vector

    def apply(self, corpus: Corpus) -> tuple[Vocab, np.ndarray]:
        """The words of a text, which has been prepared as the settings say, with their vectors (len(vocab),
        dimensions); those of unknown words come from their contexts in this text and from their spelling."""
        corpus = corpus.counted()
        ids = self.vocab_.mapping_from(corpus.vocab)
        new = np.flatnonzero(ids[FIRST:] == UNKNOWN) + FIRST
        vectors = self.vectors_[ids]
        if len(new):
            ids[new] = len(self.vocab_) + np.arange(len(new))
            joined = Vocab.from_words([*self.vocab_.strings[FIRST:], *(corpus.vocab.word(int(i)) for i in new)])
            rows = unit_rows(self._from_contexts(corpus.map_tokens(ids, joined), len(new)))
            vectors[new] = self._unseen([corpus.vocab.word(int(i)) for i in new], rows)
        return corpus.vocab, vectors

    # ---- what can be asked

    def _ranked(self, query: np.ndarray, k: int, without: Iterable[str]) -> list[tuple[str, float]]:
        """The ``k`` words whose vectors have the largest cosines with a query."""
        cosines = self.vectors_[FIRST:] @ (query / max(np.linalg.norm(query), np.finfo(np.float32).tiny))
        cosines[~self.vectors_[FIRST:].any(axis=1)] = -np.inf
        for word in without:
            if (id := self.vocab_.id(self.spelled(word))) >= FIRST:
                cosines[id - FIRST] = -np.inf
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(self.vocab_.word(FIRST + int(i)), float(cosines[i])) for i in best if np.isfinite(cosines[i])]

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` words nearest to a word, with their cosines."""
        return self._ranked(self.vector(word), k, [word])

    def analogy(self, a: str, b: str, c: str, k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` words that are to ``c`` what ``b`` is to ``a``: nearest to b - a + c, none of the three."""
        return self._ranked(self.vector(b) - self.vector(a) + self.vector(c), k, [a, b, c])

    def similarity(self, pairs: Sequence[ScoredPair], *, draws: int = 1000, seed: int = 1) -> Result:
        """Spearman's correlation of cosines with the scores of pairs of words, of those that have vectors both."""
        if not pairs:
            raise SettingError("there are no pairs to compare with")
        *sides, scores = zip(*pairs, strict=True)
        first, second = (self.vocab_.encode(map(self.spelled, side)) for side in sides)
        known = (first != UNKNOWN) & (second != UNKNOWN)
        if (n := known.sum()) < 2:
            raise SettingError(f"{n} of {len(pairs)} pairs have vectors of both words; at least two are needed")
        cosines = np.einsum("ij,ij->i", self.vectors_[first[known]], self.vectors_[second[known]])
        return spearman(cosines, np.array(scores)[known], pairs=len(pairs), draws=draws, seed=seed)

    def analogies(self, questions: Sequence[tuple[str, str, str, str]]) -> tuple[np.ndarray, np.ndarray]:
        """Of every question a : b = c : d whether all of its words have vectors, and whether d is found first, both
        bool (questions,)."""
        known = np.array([all(word in self for word in question) for question in questions], bool)
        found = [
            covered and self.analogy(*question[:3], k=1)[0][0] == self.spelled(question[3])
            for question, covered in zip(questions, known, strict=True)
        ]
        return known, np.array(found, bool)

    def coordinates(self, words: Sequence[str]) -> np.ndarray:
        """Where words stand on a map: the two main directions of their vectors, float64 (words, 2)."""
        rows = self.vectors_of(words).astype(np.float64)
        rows -= rows.mean(axis=0)
        left, values, _ = np.linalg.svd(rows, full_matrices=False)
        places = np.zeros((len(rows), 2))
        places[:, : min(2, len(values))] = (left * values)[:, :2]
        return places * np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)

    # ---- files

    def export(self, path: str | PathLike[str]) -> None:
        """Write all vectors as word2vec text (``-``: stdout)."""
        write_vectors(self.vocab_, self.vectors_, path)


# ---- pictures


FREQUENT, NEIGHBOURS = 100, 12


def map_shown(model: WordVectors, words: Sequence[str] = (), k: int | None = None) -> list[Place]:
    """The points of a map: the ``k`` most frequent words (default: 100), or given words and the ``k`` nearest of each
    (default: 12), which share the colour of theirs; ``SettingError`` for a word of which nothing is known."""
    from corpuscle.figures import Place

    given = list(dict.fromkeys(words))
    found = {word: group for group, word in enumerate(given)}
    for group, word in enumerate(given):
        for near, _ in model.nearest(word, k or NEIGHBOURS):
            found.setdefault(near, group)
    if not given:
        ids = np.flatnonzero(model.vectors_.any(axis=1))
        found = dict.fromkeys(model.vocab_.decode(ids[ids >= FIRST][: k or FREQUENT]), 0)
    shown = list(found)
    ids = model.vocab_.encode(map(model.spelled, shown))
    counts = np.where(ids == UNKNOWN, 0, model.vocab_.counts[ids])
    return [
        Place(word, float(x), float(y), group, f"{isolated(word)}: {count:,} times in the text", word in given)
        for (word, group), (x, y), count in zip(found.items(), model.coordinates(shown), counts, strict=True)
    ]


def draw_map(model: WordVectors, words: Sequence[str] = (), k: int | None = None) -> str:
    """An SVG of the words of ``map_shown``."""
    from corpuscle.figures import place_map

    return place_map(map_shown(model, words, k), title="Words by their vectors")


_ASKED = 500  # at most this number of words is compared


def alike(vectors: WordVectors, model: Any) -> tuple[float, float, int]:
    """How often vectors and the classes of a model agree, how often by chance, and of how many words."""
    words = [word for word in vectors.vocab_.strings[FIRST:] if word in model.vocab_]
    sizes = np.bincount([model.class_of(word) for word in words], minlength=model.n_classes_) / max(1, len(words))
    asked = [word for word in words[:_ASKED] if vectors.vectors_of([word]).any()]
    nearest = [(word, near[0][0]) for word in asked if (near := vectors.nearest(word, 1))]
    pairs = [(model.class_of(word), model.class_of(other)) for word, other in nearest if other in model.vocab_]
    same, chance = [float(a == b) for a, b in pairs], [sizes[a] for a, _ in pairs]
    return float(np.mean(same or [0.0])), float(np.mean(chance or [0.0])), len(pairs)


def of_middle_frequency(text: Corpus, least: int, vectors: WordVectors, most: int) -> list[str]:
    """Words with vectors to show: the most frequent ones after those that make up half of the text, where they are
    frequent enough; otherwise all that are."""
    counts = text.vocab.counts
    order = np.argsort(-counts[FIRST:], kind="stable") + FIRST
    after = order[np.cumsum(counts[order]) > counts[FIRST:].sum() / 2]
    kept = [id for id in after if counts[id] >= least] or [id for id in order if counts[id] >= least]
    words = (text.vocab.word(int(id)) for id in kept)
    return [word for word in words if vectors.vectors_of([word]).any()][:most]
