"""Vectors by canonical correlation of words with what stands around them ("eigenwords"): OSCCA, TSCCA, LR-MVL.

Three views of a token: W, which word it is; L and R, the words at the offsets -h to -1 and 1 to h, each offset by
itself (one-hot vectors side by side). The boundaries of a sentence are symbols, so every view of every token is full.

- **OSCCA**, in one step: CCA of W with [L R]. The second moment of [L R] is taken to be diagonal.
- **TSCCA**, in two: CCA of L with R gives projections Phi of both, the state that the two sides agree on; then CCA of W
  with S = [L Phi_L, R Phi_R]. S is a short dense vector for each token and never formed: only W'S and S'S are needed,
  and both are Phi' C Phi of sparse counts C. Needs less text for rare words, in theory.

Counts may be replaced by a power of them, with 0.5 as the default, which makes the variance of small and large counts
alike; diagonals and cross-moments are treated the same way. A new word with counts n of contexts has the projection
n^power Psi / (rho count(w)), Psi being the projection of contexts.

**LR-MVL**, low-rank multi-view learning, has contexts of all lengths. A dictionary A of word vectors begins at random.
In each pass over the text the left and the right smooth of every token (see ``kernels.contexts``) are made from it; CCA
of the two sides finds what they agree on, k/2 directions of each; the projected sides, Z = [left Phi, right Psi], are
the state of a token, and the new A[w] is the mean of Z over the tokens of w, its columns centred and scaled to unit
deviation. It ends when the space of A no longer turns.

All that a pass needs are sums over tokens: second moments of both sides, and sums by word. In the end vectors are the
dictionary (``mean``), or the projection of CCA of words with states (``cca``). A token in its context is
[left Phi, A[word], right Psi], see ``token_vectors``; of an unknown word only the outer parts are known.

Dhillon, Foster and Ungar 2011 (LR-MVL) and 2015; Dhillon, Rodu, Foster and Ungar 2012 for two steps; Stratos, Kim,
Collins and Hsu 2014 for the square root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from corpuscle import learning
from corpuscle.engine.linalg.cca import Canonical, dense_cca, diagonal_cca, one_hot_cca
from corpuscle.engine.linalg.lowrank import gaussian
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Arrays, Container, Fact, Kind
from corpuscle.model.saved import Saved
from corpuscle.scale import Chunks, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import UNKNOWN
from corpuscle.words.cooccurrence import At, chunks_of_corpus, count_contexts
from corpuscle.words.kernels.contexts import add_by_word, smooths
from corpuscle.words.settings import LrmvlSettings, OsccaSettings, TsccaSettings
from corpuscle.words.vectors import VECTORS, WordVectors, check_vectors, numbers

CANONICAL = {**VECTORS, "contexts": numbers("slots", "types+3", "dimensions")}


def check_slots(loaded: Container) -> None:
    check_vectors(loaded)
    window, bag = loaded.settings.get("window"), loaded.settings.get("bag")
    if type(window) is not int or len(loaded.arrays["contexts"]) != (1 if bag else 2 * window):
        raise ValueError("its contexts do not fit its window")


def _offsets(window: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The places of the words on the left and on the right of a token."""
    return tuple(range(-window, 0)), tuple(range(1, window + 1))


class _Slots:
    """What OSCCA and TSCCA do alike."""

    SAVED: ClassVar[Mapping[str, Saved]] = {**WordVectors.SAVED, "contexts_": Arrays("contexts")}

    contexts_: np.ndarray

    def _count(self: Any, corpus: Corpus, rows: tuple[int, ...], columns: tuple[int, ...], bag: bool = False) -> Rows:
        return count_contexts(corpus, At(rows, columns, bag, len(corpus.vocab)), self.workers, self.cluster)

    def _powered(self: Any, counts: np.ndarray) -> np.ndarray:
        """Diagonals of second moments from counts: kappa added, the power taken; 0 where there is nothing."""
        return np.where(counts > 0, (counts + self.kappa) ** self.power, 0.0)

    def _rows_of_new(self: Any, corpus: Corpus, new: int, power: float) -> np.ndarray:
        """The rows of new words from their contexts, which were learned for this power of counts."""
        known, types, slots = len(self.vocab_), len(corpus.vocab), len(self.contexts_)
        left, right = _offsets(self.window)
        counts = self._count(corpus, (0,), left + right, bag=slots == 1)
        begin = counts.starts[known]
        slot, word = np.divmod(counts.columns[begin:], types)
        columns = slot * known + np.where(word < known, word, UNKNOWN)  # to each other, new words are unknown
        whole = csr_array((counts.values[begin:], columns, counts.starts[known:] - begin), shape=(new, slots * known))
        whole.sum_duplicates()
        whole.data **= power
        rows = whole @ self.contexts_.reshape(slots * known, -1).astype(np.float64)
        return rows / self.singular_values_ * self.singular_values_**self.exponent


class OsccaVectors(OsccaSettings, _Slots, WordVectors):
    """Vectors by canonical correlation of words with their contexts.

    ``contexts_`` float32 (slots, len(vocab_), dimensions): Psi.
    """

    KIND: ClassVar[Kind] = Kind("words.oscca", 1, CANONICAL, check=check_slots)

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        types = len(self.vocab_)
        left, right = _offsets(self.window)
        counts = self._count(corpus, (0,), left + right, self.bag)
        xx = self._powered(np.bincount(corpus.tokens, minlength=types))
        yy = self._powered(counts.column_sums())
        powers = counts._replace(values=counts.values**self.power)
        wanted = self._wanted(types - 2, self.drop_first)
        found = diagonal_cca(powers, xx, yy, wanted, workers=self.workers, rounds=self.rounds, seed=self.seed)
        self._keep(found.left, found.correlations, self.drop_first)
        self.contexts_ = found.right[:, self.drop_first :].astype(np.float32).reshape(-1, types, self.dimensions)

    def _from_contexts(self, corpus: Corpus, new: int) -> np.ndarray:
        return self._rows_of_new(corpus, new, self.power)


class TsccaVectors(TsccaSettings, _Slots, WordVectors):
    """Vectors by canonical correlation of left with right contexts, then of words with what these agree on; learned: as
    ``OsccaVectors``."""

    KIND: ClassVar[Kind] = Kind("words.tscca", 1, CANONICAL, check=check_slots)

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        types, (left, right) = len(self.vocab_), _offsets(self.window)
        wanted = self._wanted(types - 2, self.drop_first)
        between = self._count(corpus, left, right)
        lefts, rights = (self._powered(sums / self.window) for sums in (between.row_sums(), between.column_sums()))
        powers = between._replace(values=between.values**self.power)
        state = diagonal_cca(powers, lefts, rights, wanted, workers=self.workers, rounds=self.rounds, seed=self.seed)
        phi = np.zeros((2 * self.window, types, 2 * wanted))  # of each slot, into its half of S
        phi[: self.window, :, :wanted] = state.left.reshape(self.window, types, wanted)
        phi[self.window :, :, wanted:] = state.right.reshape(self.window, types, wanted)
        flat = phi.reshape(-1, 2 * wanted)

        def with_contexts(offset: int) -> np.ndarray:
            """The products of what stands at an offset with S, (types, 2 wanted)."""
            return SparseOperator(self._count(corpus, (offset,), left + right), self.workers).matmat(flat)

        cross, moment = with_contexts(0), np.zeros((2 * wanted, 2 * wanted))  # W'S, S'S
        for slot, offset in enumerate(left + right):
            moment += phi[slot].T @ with_contexts(offset)
        words = np.bincount(corpus.tokens, minlength=types)
        found = one_hot_cca(np.where(words > 0, words + self.kappa, 0.0), cross, moment, wanted)
        self._keep(found.left, found.correlations, self.drop_first)
        self.contexts_ = (phi @ found.right[:, self.drop_first :]).astype(np.float32)

    def _from_contexts(self, corpus: Corpus, new: int) -> np.ndarray:
        return self._rows_of_new(corpus, new, 1.0)


# ---- LR-MVL


BLOCK = 1 << 11  # tokens, about, whose smooths are in memory at a time
ANGLE = 1e-3  # in radians; the dictionary stands still when its space turns by less

LRMVL = {
    **VECTORS,
    "dictionary": numbers("types+3", "dimensions", dtype="float64"),
    "left": numbers("smooths", "left", dtype="float64"),
    "right": numbers("smooths", "right", dtype="float64"),
    "state": numbers("dimensions", "dimensions", dtype="float64"),
}

Given = tuple[np.ndarray, np.ndarray]
"""What smooths are made of: the dictionary float64 (types, k), and the rates float64 (rates,)."""


class Moments(NamedTuple):
    """Sums over tokens: second moments of the two sides (smooths, smooths), and sums of both sides by word
    (types, smooths)."""

    left: np.ndarray
    between: np.ndarray
    right: np.ndarray
    left_words: np.ndarray
    right_words: np.ndarray


def _blocks(chunk: Corpus, given: Given) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The tokens of a chunk with their left and right smooths, some sentences at a time."""
    for block in chunks_of_corpus(chunk, BLOCK):
        yield block.tokens, *smooths(block.tokens, block.sentence_starts, *given)


def _moments(chunk: Corpus, given: Given) -> Moments:
    dictionary, rates = given
    types, width = len(dictionary), len(rates) * dictionary.shape[1]
    sums = Moments(*(np.zeros((width, width)) for _ in range(3)), *(np.zeros((types, width)) for _ in range(2)))
    for tokens, left, right in _blocks(chunk, given):
        for total, a, b in ((sums.left, left, left), (sums.between, left, right), (sums.right, right, right)):
            total += a.T @ b
        add_by_word(tokens, left, sums.left_words)
        add_by_word(tokens, right, sums.right_words)
    return sums


def _add(a: Moments, b: Moments) -> Moments:
    return Moments(*map(np.add, a, b))


class _Dictionary(learning.Kept, learning.Learner):
    """Learns the dictionary, pass by pass."""

    KEEPS: ClassVar[tuple[str, ...]] = ("dictionary",)

    def __init__(self, held: Chunks, counts: np.ndarray, dictionary: np.ndarray, rates: np.ndarray, n_tokens: int):
        self.held, self.counts, self.rates, self.n_tokens = held, counts, rates, n_tokens
        self.dictionary, self.angle = self.centred(dictionary), np.inf

    def moments(self) -> Moments:
        """The sums of a pass with the present dictionary."""
        return self.held.map_reduce(_moments, _add, (self.dictionary, self.rates))

    def project(self, moments: Moments) -> Canonical:
        """What the two sides agree on: from smooths to states, ``left`` (smooths, l), ``right`` (smooths, r)."""
        k = self.dictionary.shape[1]
        half = -(-k // 2)
        left, between, right = (each / self.n_tokens for each in moments[:3])
        found = dense_cca(left, between, right)
        if len(found.correlations) < half:
            raise SettingError(f"{k} dimensions are too many: the two sides agree on {len(found.correlations)} each")
        return Canonical(found.left[:, :half], found.correlations[:half], found.right[:, : k - half])

    def means(self, moments: Moments, project: Canonical) -> tuple[np.ndarray, np.ndarray]:
        """The mean state of each word, float64 (types, k), and its deviation over tokens, float64 (k,)."""
        sums = np.hstack([moments.left_words @ project.left, moments.right_words @ project.right])
        means = sums / np.maximum(1, self.counts)[:, None]
        weights = self.counts / self.n_tokens
        deviation = np.sqrt(weights @ means**2 - (weights @ means) ** 2)
        if not (deviation > 0).all():
            raise SettingError("a direction says nothing: fewer dimensions are needed for this text")
        return means, deviation

    def centred(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors (types, k) whose mean over tokens is zero, so that the zeros before and after a sentence are an
        average word, and smooths do not tell how far it is to the end."""
        return vectors - self.counts @ vectors / self.n_tokens

    def finish(self, sweep: int) -> float:
        moments = self.moments()
        means, deviation = self.means(moments, self.project(moments))
        before, self.dictionary = self.dictionary, self.centred(means / deviation)
        # The largest angle between the column spaces of the dictionaries before and after.
        bases = np.linalg.qr(before)[0], np.linalg.qr(self.dictionary)[0]
        cosines = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
        self.angle = float(np.arccos(np.clip(cosines.min(), -1.0, 1.0)))
        return self.angle

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        if not np.isfinite(arrays["history"]).all():
            raise ValueError("it does not fit the text")
        super().restore(arrays, sweep, number)
        self.angle = float(arrays["history"][-1, 0]) if sweep else np.inf


def check_sides(loaded: Container) -> None:
    check_vectors(loaded)
    left, right, rates = loaded.arrays["left"], loaded.arrays["right"], loaded.settings.get("rates")
    dimensions = len(loaded.arrays["singular_values"])
    fits = isinstance(rates, list) and len(left) == len(rates) * dimensions
    if not fits or left.shape[1] + right.shape[1] != dimensions:
        raise ValueError("its sides do not fit its rates and dimensions")
    angles = loaded.extra.get("angles")
    if not isinstance(angles, list) or not all(isinstance(angle, float) for angle in angles):
        raise ValueError("it does not say by how much its dictionary turned")


class LrmvlVectors(LrmvlSettings, WordVectors):
    """Vectors by LR-MVL.

    - ``dictionary_`` float64 (len(vocab_), dimensions): A, from which smooths are made;
    - ``left_``, ``right_`` float64 (smooths, about half of the dimensions): Phi and Psi;
    - ``state_`` float64 (dimensions, dimensions): from the state of a token to a row of the projection;
    - ``angles_``: by how much the dictionary turned in each pass.
    """

    KIND: ClassVar[Kind] = Kind("words.lrmvl", 1, LRMVL, check=check_sides)
    PARTIAL: ClassVar[Kind] = learning.partial(
        "words.lrmvl", {"dictionary": numbers("types", "dimensions", dtype="float64")}
    )
    SAVED: ClassVar = {
        **WordVectors.SAVED,
        **{f"{name}_": Arrays(name) for name in ("dictionary", "left", "right", "state")},
        "angles_": Fact("angles", list),
    }

    dictionary_: np.ndarray = learned()
    left_: np.ndarray = learned()
    right_: np.ndarray = learned()
    state_: np.ndarray = learned()
    angles_: list[float] = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rates:
            raise SettingError("rates: at least one is needed")

    def _learn(self, corpus: Corpus, checkpoint: Checkpoint) -> None:
        types = len(self.vocab_)
        self._wanted(types - 3)
        counts = np.bincount(corpus.tokens, minlength=types)
        with workers(self.workers, self.cluster) as pool:
            held = pool.scatter(chunks_of_corpus(corpus))
            start = gaussian(types, self.dimensions, self.seed)
            learner = _Dictionary(held, counts, start, np.array(self.rates), corpus.n_tokens)
            history, _ = checkpoint.run(
                learner, self.passes, converged=lambda: learner.angle < ANGLE, title="passes", note="angle {:.4f}"
            )
            self.dictionary_, self.angles_ = learner.dictionary, history[:, 0].tolist()
            moments = learner.moments()
        project = learner.project(moments)
        self.left_, self.right_ = project.left, project.right
        if self.last == "mean":
            means, deviation = learner.means(moments, project)
            both = np.concatenate([project.correlations, project.correlations[: self.right_.shape[1]]])
            order = np.argsort(-both, kind="stable")  # of both sides, by falling correlation
            self.state_ = np.diag(1 / deviation)[:, order]
            self._keep((means / deviation)[:, order], np.minimum(both[order], 1.0))
            return
        ll, lr, rr = (each / corpus.n_tokens for each in moments[:3])
        moment = np.block([
            [self.left_.T @ ll @ self.left_, self.left_.T @ lr @ self.right_],
            [self.right_.T @ lr.T @ self.left_, self.right_.T @ rr @ self.right_],
        ])
        cross = np.hstack([moments.left_words @ self.left_, moments.right_words @ self.right_]) / corpus.n_tokens
        found = one_hot_cca(counts / corpus.n_tokens, cross, moment, self.dimensions)
        self.state_ = found.right / found.correlations
        self._keep(found.left, found.correlations)

    def _states(self, corpus: Corpus) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The tokens of a text in the ids of ``vocab_`` and their projected left and right sides, by blocks."""
        given = np.array(self.dictionary_), np.array(self.rates)  # writable, as when learning
        for tokens, left, right in _blocks(corpus, given):
            yield tokens, left @ self.left_, right @ self.right_

    def token_vectors(self, corpus: Corpus) -> np.ndarray:
        """A vector for each token of a text in its context, float64 (n_tokens, 2 * dimensions): what stands to the
        left, the dictionary's vector of the word, what stands to the right."""
        parts = [np.empty((0, 2 * self.dimensions))]
        for tokens, left, right in self._states(corpus.recode(self.vocab_)):
            parts.append(np.hstack([left, self.dictionary_[tokens], right]))
        return np.concatenate(parts)

    def _from_contexts(self, corpus: Corpus, new: int) -> np.ndarray:
        known = len(self.vocab_)
        mapping = np.append(np.arange(known), np.full(new, UNKNOWN))
        sums, seen = np.zeros((new, self.dimensions)), 0
        for tokens, left, right in self._states(corpus.map_tokens(mapping, self.vocab_)):
            ids = corpus.tokens[seen : seen + len(tokens)] - np.int32(known)
            seen += len(tokens)
            add_by_word(ids[ids >= 0], np.hstack([left, right])[ids >= 0], sums)
        counts = np.bincount(corpus.tokens, minlength=known + new)[known:]
        return (sums / counts[:, None]) @ self.state_ * self.singular_values_**self.exponent
