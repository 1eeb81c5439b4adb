"""HmmClasses: the class of a word depends on where it stands: hidden Markov models on chains and on dependency trees.

    p(words, classes) = product over tokens k of  p(class of k | class of its parent) p(word of k | class of k)

The parent of a token is its left neighbour or its head; the class of a token without a parent is drawn from a
distribution of its own. "head" can be a body part here and a leader there: the class of a token is what its whole
sentence makes likely. Learning is in ``hmm_learning``, the mathematics in ``engine.dp.trees``.

Out of context, a word is the mean of its tokens: the expected number of its tokens of each class, ``counts_``, divided
by their sum. They are those of the training text under the finished model.

Grave, Obozinski and Bach, "Hidden Markov tree models for semantic class induction", 2013.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle import learning
from corpuscle.catalogue import TASKS, find
from corpuscle.engine.dp import trees
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.measure import Result, token_likelihood
from corpuscle.model import TRAINING_ITEMS, Array, Arrays, Container, Fact, Kind, Record
from corpuscle.random import purpose_id
from corpuscle.scale import Workers, chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, Preprocessing
from corpuscle.text.files import write_atomically
from corpuscle.text.heldout import item_hashes
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN, Vocab
from corpuscle.words import hmm_learning
from corpuscle.words.classes import COUNTED, ClassTree, WordClasses
from corpuscle.words.forests import Forest, forest_of
from corpuscle.words.hmm_learning import FEW, STATE, Chunk, Em, Parameters, expect, token_shares
from corpuscle.words.settings import WAYS, HmmSettings

LARGE = 100_000  # texts with at least this number of tokens are learned from online
PARTS = 8  # the number of chunks of a batch of online learning


class HmmPass(NamedTuple):
    """How a pass went: the log-likelihood a token (nats), and how many classes messages kept on average. The last entry
    of a history is the finished model."""

    log_likelihood: float
    support: float


def _check(loaded: Container) -> None:
    arrays, relations = loaded.arrays, loaded.extra.get("relations")
    if not isinstance(relations, list) or not all(isinstance(name, str) for name in relations):
        raise ValueError("it does not say which relations it knows")
    if len(relations) + 1 != len(arrays["steps"]):
        raise ValueError("it has not one table of transitions for each relation")
    if arrays["counts"][[START, END]].any() or len(arrays["history"]) == 0:
        raise ValueError("it cannot come from learning")


_ARRAYS = {
    **COUNTED,
    "first": Array("float32", ("classes",), low=0, high=1.001, sums="one"),
    "steps": Array("float32", ("links", "classes", "classes"), low=0, high=1.001, sums="one", along=1),
    "emission": Array("float32", ("types+3", "classes"), low=0, high=1.001),
    "counts": Array("float32", ("types+3", "classes"), low=0, finite=True),
    "roots": Array("float64", ("classes",), low=0, finite=True),
    "links": Array("float64", ("classes",), low=0, finite=True),
    "represented": Array("float32", ("types+3", "classes"), low=0, finite=True, optional=True),
    "history": Array("float64", ("passes", 2), finite=True),
    **TRAINING_ITEMS,
}


_LEARNED = ("first", "steps", "emission", "counts", "roots", "links", "represented")


class HmmClasses(HmmSettings, WordClasses):
    """Learns classes of tokens by a hidden Markov model.

    - ``first_`` float32 (C,), ``steps_`` float32 (1 + relations, C, C), ``emission_`` float32 (len(vocab_), C): the
      probabilities of classes of roots, of the class i of a child, given class j of its parent (``steps_[0, i, j]``: of
      any relation; then one for each of ``relations_``), and of words, given classes. A word that was not in the
      training text has a row of zeros and is no evidence for any class;
    - ``counts_`` float32 (len(vocab_), C): how many of the training tokens of each word are expected to be of each
      class; ``roots_`` and ``links_`` float64 (C,): how many roots, and links from parents, are; ``represented_``: the
      same as ``counts_`` of another text, exactly, where words shall mean what they do there, or None;
    - ``classes_`` int32 (len(vocab_),): the class that each word has most often; ``history_``, a list of ``HmmPass``.

    Classes are numbered by falling frequency. The result is the same for any number of workers.
    """

    KIND: ClassVar[Kind] = Kind("words.hmm", 1, _ARRAYS, check=_check)
    PARTIAL: ClassVar[Kind] = learning.partial("words.hmm", STATE)
    SAVED: ClassVar = {
        "vocab_": Record(Vocab),
        **{f"{name}_": Arrays(name) for name in _LEARNED},
        "relations_": Fact("relations", list),
        "n_classes_": Fact("classes"),
    }

    first_: np.ndarray = learned()
    steps_: np.ndarray = learned()
    emission_: np.ndarray = learned()
    counts_: np.ndarray = learned()
    roots_: np.ndarray = learned()
    links_: np.ndarray = learned()
    represented_: np.ndarray | None = learned()
    relations_: list[str] = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.represented_ = None

    # ---- learning

    def fit(self, text: Corpus | Forest, *, checkpoint: Checkpoint | None = None) -> Self:
        """Learn from running text, or from trees; ``checkpoint`` keeps unfinished work."""
        forest = Forest.of(text, self.structure)
        signature = text.signature() if checkpoint is None else checkpoint.signature
        lengths = forest.corpus.lengths
        usable = (lengths > 0) & (lengths <= (self.max_length or lengths.max(initial=0)))
        forest = forest.select(usable)
        if forest.n_tokens == 0:
            raise SettingError("there are no words to learn classes from")
        self.items_ = item_hashes(forest.corpus)
        corpus = forest.corpus.counted()
        vocab, mapping = corpus.vocab.cut(self.min_count, self.max_types)
        forest = dataclasses.replace(forest, corpus=corpus.map_tokens(mapping, vocab))
        self.relations_ = self._relations(forest)
        sizes = {"sentences": len(forest), "words": forest.n_tokens, "types": len(vocab) - FIRST}
        left_out = {"empty": int((lengths == 0).sum()), "too_long": int((lengths > 0).sum()) - len(forest)}
        self.provenance_ = {**sizes, **left_out, "signature": signature}
        self._choose(forest.n_tokens)
        with workers(self.workers, self.cluster) as pool:
            em = self._learner(forest, vocab, pool, checkpoint)
            run = (checkpoint or Checkpoint()).run(
                em, self._now("passes"), columns=2, converged=lambda: em.converged, title="passes",
                note="log-likelihood {:.4f} a token",
            )  # fmt: skip
            self._take(em, vocab, run.history)
        return self

    def _choose(self, tokens: int) -> None:
        """What the settings leave open."""
        online = self.estimator == "online" or (self.estimator == "auto" and tokens >= LARGE)
        chosen = {
            "estimator": "online" if online else "batch",
            "passes": 10 if online else 50,
            "k_best": 16 if self.classes >= 64 and not self.epsilon else "all",
        }
        self.chosen_ = {name: value for name, value in chosen.items() if getattr(self, name) in (None, "auto")}

    def _now(self, name: str) -> Any:
        """The value of a setting: the chosen one where it was left open."""
        return self.chosen_.get(name, getattr(self, name))

    def _relations(self, forest: Forest) -> list[str]:
        """The relations with tables of their own: those that are not rare, by their names."""
        if not self.labelled:
            return []
        if forest.relations is None:
            raise SettingError("labelled transitions need trees whose relations have names")
        names = np.array([value.partition(":")[0] for value in forest.relations.values])
        found, counts = np.unique(names[forest.relations.ids[forest.parents >= 0]], return_counts=True)
        return [str(name) for name, count in zip(found, counts, strict=True) if count >= FEW and name != "_"]

    def _learner(self, forest: Forest, vocab: Vocab, pool: Workers, checkpoint: Checkpoint | None) -> Em:
        """What learns, at its start; where unfinished work will take its place, the start does not matter."""
        n_classes = self.split or self.classes
        doublings = (self.classes // n_classes).bit_length() - 1
        links, n_links = hmm_learning.links_of(forest, self.relations_), len(self.relations_) + 1
        batch, k = self._now("estimator") == "batch", hmm_learning.most_kept(self._now("k_best"), self.classes)
        tokens = forest.n_tokens if batch else self.batch_tokens
        size = hmm_learning.chunk_size(self.classes, k) if batch else max(tokens // PARTS, self.classes**2 // 100, 1)
        if self.init == "random" or (checkpoint is not None and checkpoint.state is not None):
            roots = int((forest.parents < 0).sum())
            start = hmm_learning.from_nothing(vocab.counts > 0, forest.n_tokens, roots, n_links, n_classes, self.seed)
        else:
            learner = find(TASKS["classes"].methods[self.init].learner)
            seeded = {"seed": self.seed} if "seed" in learner.SETTINGS else {}
            hard = learner(classes=n_classes, structure=self.structure, workers=self.workers, **seeded).fit(forest)
            start = hmm_learning.from_classes(forest, links, (n_links, n_classes), hard.classes_, self.floor)
        settings = HmmSettings(**self.settings | self.chosen_)
        return Em(hmm_learning.batches_of(forest, links, tokens, size), start, doublings, settings, pool)

    def _take(self, em: Em, vocab: Vocab, history: np.ndarray) -> None:
        """Take over what was learned: number the classes, count them in the text."""
        while em.doublings:
            em.double()
        model = (*em.first_and_steps(), em.emissions())
        first, steps, emission = (array.astype(np.float32).astype(np.float64) for array in model)
        counts, (likelihood, kept, redone, impossible) = em.count(first, steps, emission)
        order = np.argsort(-counts.emission.sum(axis=0), kind="stable")
        arrays = first[order], steps[:, order][:, :, order], emission[:, order], counts.emission[:, order]
        rows = (np.ascontiguousarray(array, np.float32) for array in arrays)  # chosen columns lie the other way round
        self.first_, self.steps_, self.emission_, self.counts_ = rows
        self.roots_, self.links_ = counts.first[order], counts.steps.sum(axis=(0, 1))[order]
        last = float(likelihood / em.tokens), float(kept / em.tokens)
        self.history_ = [HmmPass(*row) for row in (*history.tolist(), last)]
        self.vocab_ = vocab
        self.provenance_ |= {"redone": int(redone), "impossible": int(impossible)}
        self.represented_ = None
        self._derive()
        empty = int((self.counts_.sum(axis=0) < 0.5).sum())
        if empty:
            warn(f"{empty} of {self.n_classes_} classes have hardly any tokens: fewer classes would do")

    def _derive(self) -> None:
        """The class of each word, from what is expected."""
        for stale in "shares_", "_weights", "_logs":
            vars(self).pop(stale, None)
        self.n_classes_, self.tree_ = len(self.first_), None
        self.classes_ = self.counts_.argmax(axis=1).astype(np.int32)
        self.classes_[[START, END]] = -1
        self._class_unknown()

    # ---- what was learned

    @property
    def likelihood_(self) -> float:
        """The log-likelihood of the training text, in nats, by the projection that it was learned with."""
        return self.history_[-1].log_likelihood * self.n_tokens_

    @property
    def mutual_information_(self) -> float:
        """How much the class of a parent says about the class of its child, in nats, as the model expects it."""
        pairs = np.vstack([self.steps_[0].T.astype(np.float64) * self.links_[:, None], self.roots_])
        pairs /= pairs.sum()
        apart = np.outer(pairs.sum(axis=1), pairs.sum(axis=0))
        both = pairs > 0
        return float((pairs[both] * np.log(pairs[both] / apart[both])).sum())

    @property
    def class_counts_(self) -> np.ndarray:
        """How many training tokens are expected to be of each class, float64 (C,)."""
        return self.counts_.sum(axis=0, dtype=np.float64)

    def class_tree(self) -> ClassTree:
        """An error: classes that depend on the context have no tree."""
        raise SettingError("a hidden Markov model has no class tree: Brown clusters and classes by exchange have one")

    @cached_property
    def shares_(self) -> np.ndarray:
        """Words out of context: the share of each class among the tokens of each word, float64 (len(vocab_), C); zeros
        for words that the training text lacks."""
        counts = self.counts_.astype(np.float64)
        sums = counts.sum(axis=1, keepdims=True)
        return counts / np.where(sums > 0, sums, 1.0)

    def classes_of(self, word: str) -> list[tuple[int, float]]:
        shares = self.shares_[self.vocab_.id(word)]
        best = np.argsort(-shares, kind="stable")
        return [(int(number), float(shares[number])) for number in best if shares[number] > 0]

    def words_of(self, number: int, k: int | None = None, by: str = "count") -> list[tuple[str, float]]:
        """The ``k`` first words of a class (default: all), with the values by which they are chosen.

        ``count``: how many of its tokens are expected to be of the class; ``emission``: the probability of the word,
        given the class; ``share``: of the class among the tokens of the word; ``lift``: how much more probable the word
        is, given the class, than without.
        """
        self._check_class(number)
        if by not in WAYS:
            raise SettingError(f"words are chosen by {', '.join(WAYS)}; not {by!r}")
        counts = self.counts_[:, number].astype(np.float64)
        values = {
            "count": counts,
            "emission": self.emission_[:, number].astype(np.float64),
            "share": self.shares_[:, number],
            "lift": self.emission_[:, number] * (self.n_tokens_ / np.maximum(self.vocab_.counts, 1)),
        }[by]
        members = np.flatnonzero((values > 0) & (self.vocab_.counts > 0))
        members = members[np.lexsort((-counts[members], -values[members]))][:k]
        return [(self.vocab_.word(int(id)), float(values[id])) for id in members]

    def nearest(self, number: int, k: int = 5) -> list[tuple[int, float]]:
        """The ``k`` classes whose words are most like those of a class, with the overlap of both distributions, the sum
        of the square roots of their products: 1 if they are equal, 0 if they share no word."""
        self._check_class(number)
        roots = np.sqrt(self.emission_.astype(np.float64))
        overlap = roots[:, number] @ roots
        best = [int(other) for other in np.argsort(-overlap, kind="stable") if other != number]
        return [(other, float(overlap[other])) for other in best[:k]]

    # ---- texts

    @cached_property
    def _weights(self) -> trees.Weights:
        """The model for kernels; a word that was not in the training text says nothing."""
        emission = self.emission_.astype(np.float64)
        emission[~emission.any(axis=1)] = 1.0
        return hmm_learning.weights_of(self.first_.astype(np.float64), self.steps_.astype(np.float64), emission)

    @cached_property
    def _logs(self) -> trees.Weights:
        with np.errstate(divide="ignore"):
            return trees.Weights(*map(np.log, self._weights))

    def _prepare(self) -> None:
        self._weights, self._logs  # noqa: B018

    def _forest(self, text: Corpus | Forest) -> Forest:
        """A text as this model reads it, in its vocabulary."""
        forest = Forest.of(text, self.structure)
        if self.relations_ and forest.relations is None:
            raise SettingError("this model has transitions by relations, and the trees have none")
        return forest if forest.corpus.vocab is self.vocab_ else forest.recode(self.vocab_)

    def _chunks(self, forest: Forest) -> Iterator[Chunk]:
        size = hmm_learning.chunk_size(self.n_classes_, self.n_classes_)
        links = hmm_learning.links_of(forest, self.relations_)
        for first, last in pairwise(chunks_of(forest.corpus.lengths, size)):
            yield hmm_learning.chunk_of(forest, links, first, last)

    def apply(self, text: Corpus | Forest) -> Corpus:
        """The same sentences with classes for words, those that are most likely together (Viterbi): a Corpus whose
        vocabulary is the class numbers as strings. The id of class c in it is ``FIRST + c``."""
        forest = self._forest(text)
        return self._classes(forest, np.concatenate([np.empty(0, np.int32), *self.spread(_best, self._chunks(forest))]))

    def annotate(self, bank: Treebank, layer: str = "form", preprocessing: Preprocessing | None = None) -> Treebank:
        """A treebank with the most likely classes of its tokens in its MISC, ``Class=17``."""
        forest = forest_of(bank, self.structure, layer, preprocessing)
        return bank.with_misc("Class", list(map(str, (self.apply(forest).tokens - FIRST).tolist())))

    def draw(self, text: Corpus | Forest, seed: int = 1) -> Corpus:
        """The same sentences with classes for words, drawn at random as the model has them, given the words."""
        forest = self._forest(text)
        found, first = [np.empty(0, np.int32)], 0
        for chunk in self._chunks(forest):
            classes = np.empty(len(chunk.order), np.int32)
            trees.random_classes(*hmm_learning.ready(chunk, self._weights), seed, purpose_id("classes"), first, classes)
            found.append(classes[np.argsort(chunk.order)])
            first += len(chunk.nodes.starts) - 1
        return self._classes(forest, np.concatenate(found))

    def _classes(self, forest: Forest, classes: np.ndarray) -> Corpus:
        """Classes as a Corpus; where the model thinks a sentence impossible, -1, those of its words out of context."""
        impossible = classes < 0
        if impossible.any():
            tokens = np.count_nonzero(impossible)
            warn(f"{tokens} tokens of sentences without any probability get the classes of their words out of context")
        classes = np.where(impossible, self.classes_[forest.corpus.tokens], classes)
        vocab = Vocab.from_words(map(str, range(self.n_classes_)), np.rint(self.class_counts_).astype(np.int64))
        return dataclasses.replace(forest.corpus, tokens=(FIRST + classes).astype(np.int32), vocab=vocab)

    def posteriors(self, text: Corpus | Forest) -> Iterator[np.ndarray]:
        """How likely each class is at each token, given its sentence: float32 (tokens, C), some sentences at a time, in
        order. Tokens of a sentence that the model thinks impossible have zeros."""
        return self.spread(_posteriors, self._chunks(self._forest(text)))

    def expected_counts(self, text: Corpus | Forest) -> np.ndarray:
        """How many of the tokens of each word in a text are expected to be of each class, exactly, float64
        (len(vocab_), C): the sums of ``posteriors``, which are not kept."""
        forest, total = self._forest(text), np.zeros(self.emission_.shape)
        for types, counts in self.spread(_expected, self._chunks(forest)):
            total[types] += counts
        return total

    def write_posteriors(self, text: Corpus | Forest, path: str | PathLike[str]) -> None:
        """Write ``posteriors`` of all tokens to a file of NumPy, float32 (tokens, C); ``-`` is stdout."""
        forest = self._forest(text)
        about = {"descr": "<f4", "fortran_order": False, "shape": (forest.n_tokens, self.n_classes_)}
        with write_atomically(path) as file:
            np.lib.format.write_array_header_1_0(file, about)
            for rows in self.posteriors(forest):
                file.write(rows.astype("<f4", copy=False).tobytes())

    def log_likelihoods(self, text: Corpus | Forest, projected: bool = False) -> tuple[np.ndarray, float]:
        """The logarithm of the probability of each sentence, float64 (sentences,), and how many classes messages kept
        on average: exactly, or by the projection that the model was learned with. Words that the training text lacks
        count if it had unknown words; else they are left out."""
        forest = self._forest(text)
        parts = list(self.spread(partial(_likelihoods, projected=projected), self._chunks(forest)))
        logs = np.concatenate([np.empty(0), *(logs for logs, _ in parts)])
        return logs, sum(kept for _, kept in parts) / max(1, forest.n_tokens)

    def log_likelihood(self, text: Corpus | Forest) -> float:
        """The logarithm of the probability of a text, in nats."""
        return float(self.log_likelihoods(text)[0].sum())

    def evaluate(self, text: Corpus | Forest) -> Result:
        """The log-likelihood a token of a text, exactly and by the projection of learning, with its support."""
        forest = self._forest(text)
        exact, _ = self.log_likelihoods(forest)
        projected, support = self.log_likelihoods(forest, projected=True)
        unknown = forest.corpus.tokens == UNKNOWN
        counted = np.ones(len(unknown), bool) if self.vocab_.counts[UNKNOWN] else ~unknown
        sums = np.concatenate([[0], np.cumsum(counted)])[forest.corpus.sentence_starts]
        more = {"projected": projected.sum() / max(1, sums[-1]), "support": support, "oov": int(unknown.sum())}
        return token_likelihood(exact, np.diff(sums), more)

    # ---- files

    def _arrays(self) -> dict[str, np.ndarray]:
        return {**super()._arrays(), "history": np.array(self.history_, np.float64)}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.history_ = [HmmPass(*row) for row in loaded.arrays["history"].tolist()]
        self._derive()


def _best(chunk: Chunk, model: HmmClasses) -> np.ndarray:
    """The most likely classes of a chunk, int32 (tokens,); -1 where a sentence is impossible."""
    nodes, logs = hmm_learning.ready(chunk, model._logs)
    classes = np.empty(len(chunk.order), np.int32)
    trees.best_classes(nodes, logs, classes, np.empty(len(nodes.starts) - 1))
    return classes[np.argsort(chunk.order)]


def _posteriors(chunk: Chunk, model: HmmClasses) -> np.ndarray:
    """How likely each class is at each token of a chunk, float32 (tokens, C)."""
    return token_shares(chunk, Parameters(model._weights, model.n_classes_, 0.0)).astype(np.float32)


def _expected(chunk: Chunk, model: HmmClasses) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the words of a chunk, and how many of their tokens are expected to be of each class (ids, C)."""
    return chunk.types, expect(chunk, Parameters(model._weights, model.n_classes_, 0.0)).emission


def _likelihoods(chunk: Chunk, model: HmmClasses, projected: bool) -> tuple[np.ndarray, int]:
    """The log-likelihood of each sentence of a chunk, exactly or by the projection of learning, float64, and how many
    entries of messages were kept."""
    (nodes, weights), classes = hmm_learning.ready(chunk, model._weights), model.n_classes_
    how = (hmm_learning.most_kept(model._now("k_best"), classes), model.epsilon) if projected else (classes, 0.0)
    result, tallies = np.empty(len(nodes.starts) - 1), np.zeros(2, np.int64)
    trees.likelihoods(nodes, weights, *how, result, tallies)
    return result, int(tallies[0])
