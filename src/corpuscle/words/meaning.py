"""Meaning: words and phrases as distributions over the classes of a hidden Markov model, out of context and in it.

- In context, a token is the posterior distribution of its class, given its whole sentence (``HmmClasses.posteriors``).
- Out of context, a word is the mean of its tokens: row a of the expected counts, divided by its sum. The model has them
  of its training text; ``represent`` takes those of another text, exactly.

Both live on the same simplex, so a word here can be compared with a word anywhere.

A dependent and its head are of different parts of speech, and mostly of different classes. What a dependent with the
distribution v says about its head is the message u = T' v, where T[i, j] = p(class i of a child | class j of its
parent); see ``Meaning.mapped``.

How alike two distributions are, four measures say, the higher the more alike.

    hellinger   - H,  H = sqrt(1 - sum sqrt(p q)) = |sqrt(p) - sqrt(q)| / sqrt(2)               -1 .. 0
    js          - (sum p log(p / m) + sum q log(q / m)) / 2,  m = (p + q) / 2               - log 2 .. 0
    kl          - (sum p log(p / q) + sum q log(q / p)),  p and q floored and divided by their sums first
    cosine      p . q / (|p| |q|)                                                                 0 .. 1

H is a Euclidean distance, of the points sqrt(p) / sqrt(2), so one matrix product gives all similarities of many rows;
so it is with cosines, and with kl, whose logarithms of quotients are differences.

What the few words of a phrase mean together follows by message passing on their tree, or by sums and products of their
vectors. Every phrase is a small tree with a *uniform* distribution of the class of its root. With e_w the emissions of
a word and up_d = T' e_d what a dependent tells its head, the head in context is

    h ~ e_head * product over the dependents d of up_d

and each dependent hears from the head what the others have said: the message passing of sentences, which this is
(``engine.dp.trees``), so that any tree will do. A phrase as one distribution (``COMPOSITIONS``):

- ``head``, ``add``: the head, or the mean of all words, out of context;
- ``head-context``, ``add-context``: the same in the context of the phrase;
- ``product``: the product of all words out of context; ``weighted``: the head counts ``weight``, the dependents share
  the rest; ``dilation``: the head, stretched along each dependent d by ``stretch``: (d.d) h + (stretch - 1) (d.h) d.
  These three are the baselines of vector spaces, and divided by their sums.

Grave, Obozinski and Bach, "A Markovian approach to distributional semantics with application to semantic
compositionality", 2014, measures: section 5.1, phrases: section 6; Hellinger, "Neue Begründung der Theorie
quadratischer Formen von unendlichvielen Veränderlichen", 1909; Lin, "Divergence measures based on the Shannon entropy",
1991, for js; Mitchell and Lapata, "Composition in distributional models of semantics", 2010, for the baselines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.linalg import unit_rows
from corpuscle.errors import SettingError, expect, warn
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.files import AnyPath
from corpuscle.text.layers import Layer
from corpuscle.text.pairs import Phrase, Term, parse_phrase, phrase_of
from corpuscle.text.tables import write_table
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.words.forests import Forest
from corpuscle.words.hmm import HmmClasses
from corpuscle.words.hmm_learning import Parameters, batches_of, links_of, token_shares, weights_of
from corpuscle.words.settings import MEASURES, MeaningSettings

NOUN = "NOUN"


def represent(model: HmmClasses, text: Corpus | Forest) -> HmmClasses:
    """A model in which words mean what they do in this text, by exact inference: the mean of their tokens there."""
    counts = expect(model, HmmClasses, "HmmClasses(...).fit(text) is one").expected_counts(text)
    if not counts.any():
        raise SettingError("no word of this text has a meaning in the model")
    other = copy(model)
    other.represented_ = counts.astype(np.float32)
    return other


def write_tokens(model: HmmClasses, text: Corpus | Forest, path: AnyPath, k: int = 16) -> None:
    """Write a table of the tokens of a text in context: sentence and token, from 0 on, word, and its ``k`` likeliest
    classes as ``class:probability``, a chunk of sentences at a time."""

    def rows() -> Iterator[tuple[object, ...]]:
        corpus = text.corpus if isinstance(text, Forest) else text
        places = ((s, p) for s, length in enumerate(corpus.lengths.tolist()) for p in range(length))
        words = iter(corpus.tokens.tolist())
        for chunk in model.posteriors(text):
            for classes, row in zip(np.argsort(-chunk, axis=1, kind="stable")[:, :k], chunk, strict=True):
                shares = " ".join(f"{c}:{row[c]:.4g}" for c in classes.tolist() if row[c] > 0)
                yield *next(places), corpus.vocab.word(next(words)), shares

    write_table(path, ("sentence", "token", "word", "classes"), rows(), escaped=True)


class Meaning(MeaningSettings):
    """What words mean by a model.

    - ``model``: the hidden Markov model; ``vectors`` float64 (len(vocab), C): words out of context, rows that add up to
      one, zeros for words without any token; ``counts`` float64 (len(vocab),): of how many tokens each is the mean;
    - ``tagged``: whether its words have parts of speech, ``head/NOUN``.
    """

    def __init__(self, model: HmmClasses, **given: Any):
        super().__init__(**given)
        self.model = expect(model, HmmClasses, "HmmClasses(...).fit(text) is one")
        counts = np.asarray(model.counts_ if model.represented_ is None else model.represented_, np.float64)
        self.counts = counts.sum(axis=1)
        self.vectors = counts / np.where(self.counts > 0, self.counts, 1.0)[:, None]
        self.vocab, self.tagged = model.vocab_, model.layer.endswith("/tag")

    # ---- words

    @cached_property
    def _readings(self) -> dict[str, list[int]]:
        """Spelling -> the ids of the words that are spelled so, one for each part of speech, most frequent first."""
        readings = defaultdict(list)
        ids = np.flatnonzero(self.counts[FIRST:] > 0) + FIRST
        for id in ids[np.argsort(-self.counts[ids], kind="stable")].tolist():
            word = self.vocab.word(id)
            readings[word.rpartition("/")[0] if self.tagged else word].append(id)
        return dict(readings)

    def spelled(self, word: str) -> str:
        """A word as the training text had it."""
        return "_".join(self.model.preprocessing.spell(word).split()) or "_"

    def tag(self, id: int) -> str:
        """The part of speech of a word; nothing where words have none."""
        return self.vocab.word(id).rpartition("/")[2] if self.tagged else ""

    def readings(self, term: Term) -> list[int]:
        """The ids of all words that a term may be: the noun first, then by falling frequency."""
        if self.tagged and term.tag:
            id = self.vocab.id(f"{self.spelled(term.word)}/{term.tag}")
            return [id] if id != UNKNOWN and self.counts[id] > 0 else []
        return sorted(self._readings.get(self.spelled(term.word), []), key=lambda id: self.tag(id) != NOUN)

    def find(self, term: Term) -> int | None:
        """The id of a word: a noun if there is one, else the most frequent part of speech; None if it is unknown."""
        return next(iter(self.readings(term)), None)

    def id(self, word: str | Term) -> int:
        """The id of a word, ``head`` or ``head/NOUN``; ``SettingError`` if it is unknown."""
        term = word if isinstance(word, Term) else Term.parse(word)
        found = self.find(term)
        if found is None:
            raise SettingError(f"nothing is known of the word {str(term)[:80]!r}")
        return found

    def vector(self, word: str | Term) -> np.ndarray:
        """A word out of context, float64 (C,)."""
        return self.vectors[self.id(word)]

    def phrase(self, text: str | Phrase | Sequence[Term]) -> Phrase:
        """A phrase with its tree; words without parts of speech have their most frequent ones. ``SettingError`` if
        there is no pattern for it."""
        try:
            parsed = parse_phrase(text) if isinstance(text, str) else text
            if isinstance(parsed, Phrase):
                return parsed
            tagged = []
            for term in parsed:
                found = self._readings.get(self.spelled(term.word))
                tagged.append(Term(term.word, self.tag(found[0])) if found and not term.tag else term)
            return phrase_of(tagged)
        except ValueError as error:
            raise SettingError(f"the phrase {str(text)[:60]!r}: {error}") from None

    def rare(self, ids: Any) -> np.ndarray:
        """Whether words have fewer tokens than ``rare_below``, bool; their counts are sums, and rounded."""
        return self.counts[ids] < self.rare_below - 0.5

    # ---- comparing

    def similarities(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The similarity of each row of p (m, C) with each of q (n, C), float64 (m, n)."""
        return similarity_matrix(p, q, self.measure, self.least_probability)

    def similarity_of(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The similarity of each row of p (n, C) with the same row of q, float64 (n,)."""
        return similarity_rows(p, q, self.measure, self.least_probability)

    def similarity(self, a: str, b: str) -> float:
        """How alike two words are, out of context."""
        return float(self.similarity_of(self.vector(a)[None], self.vector(b)[None])[0])

    def nearest(
        self, vector: np.ndarray, k: int = 10, tag: str = "", without: Sequence[int] = ()
    ) -> list[tuple[str, float, int]]:
        """The ``k`` words nearest to a distribution (C,), with similarities and how many tokens they are the mean of;
        only those of one part of speech, if it is named, and none of some ids. Rare words are left out."""
        ids = np.flatnonzero((self.counts > 0) & ~self.rare(slice(None)))
        ids = ids[(ids >= FIRST) & ~np.isin(ids, np.asarray(without, np.int64))]
        if tag and self.tagged:
            ids = ids[self.tags[ids] == tag]
        scores = self.similarities(vector[None], self.vectors[ids])[0]
        best = np.argsort(-scores, kind="stable")[:k]
        return [(self.vocab.word(int(ids[i])), float(scores[i]), round(self.counts[ids[i]])) for i in best]

    @cached_property
    def tags(self) -> np.ndarray:
        """The part of speech of each id, as strings (len(vocab),)."""
        return np.array(["" if id < FIRST else self.tag(id) for id in range(len(self.vocab))])

    # ---- heads and dependents

    @property
    def has_trees(self) -> bool:
        """Whether transitions lead from heads to dependents, not from neighbours to neighbours."""
        return self.model.structure == "tree"

    def check_trees(self) -> None:
        """``SettingError`` unless it ``has_trees``."""
        if not self.has_trees:
            raise SettingError("a model of chains knows neighbours, not heads: learn one with --structure tree")

    def step(self, relation: str | None = None) -> np.ndarray:
        """T, float64 (C, C), of a relation, if the model has one of its own for it, or of all relations."""
        self.check_trees()
        relations = self.model.relations_
        link = 1 + relations.index(relation) if relation in relations else 0
        return self.model.steps_[link].astype(np.float64)

    def mapped(self, rows: np.ndarray, relation: str | None = None) -> np.ndarray:
        """What dependents with these distributions (n, C) say about the class of their head, rows (n, C) that add up to
        one.

        T' v is a likelihood, no distribution. ``head_prior``: ``uniform`` divides it by its sum: all classes of a head
        are alike beforehand; ``marginal`` lets them be as frequent as among all heads; ``jeffrey`` asks of each class
        of the dependent which heads it has, sum over i of v[i] T[i, j] / (sum over j of T[i, j]).
        """
        step = self.step(relation)
        if self.head_prior == "jeffrey":
            sums = step.sum(axis=1, keepdims=True)
            step = step / np.where(sums > 0, sums, 1.0)
        said = rows @ step
        if self.head_prior == "marginal":
            said = said * self.model.links_
        sums = said.sum(axis=1, keepdims=True)
        return np.where(sums > 0, said / np.where(sums > 0, sums, 1.0), 1.0 / said.shape[1])


FLOOR = 1e-12


def floored(rows: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Rows (n, C) without zeros that add up to one."""
    raised = np.maximum(rows, floor)
    return raised / raised.sum(axis=-1, keepdims=True)


def _divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """sum p log(p / q) along the last axis, where 0 log 0 = 0 and q is 0 only where p is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(p / q), 0.0).sum(axis=-1)


def _jensen_shannon(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    m = (p + q) / 2
    return -np.maximum(_divergence(p, m) + _divergence(q, m), 0.0) / 2


def similarity_rows(p: np.ndarray, q: np.ndarray, measure: str = MEASURES[0], floor: float = FLOOR) -> np.ndarray:
    """The similarity of each row of p with the same row of q, float64 (n,); p and q: (n, C)."""
    _check(measure)
    if measure == "hellinger":
        return -np.sqrt(np.maximum(1.0 - np.sqrt(p * q).sum(axis=-1), 0.0))
    if measure == "cosine":
        return np.einsum("ij,ij->i", unit_rows(p), unit_rows(q))
    if measure == "js":
        return _jensen_shannon(p, q)
    p, q = floored(p, floor), floored(q, floor)
    return -((p - q) * (np.log(p) - np.log(q))).sum(axis=-1)


def similarity_matrix(p: np.ndarray, q: np.ndarray, measure: str = MEASURES[0], floor: float = FLOOR) -> np.ndarray:
    """The similarity of each row of p (m, C) with each of q (n, C), float64 (m, n)."""
    _check(measure)
    if measure == "hellinger":
        return -np.sqrt(np.maximum(1.0 - np.sqrt(p) @ np.sqrt(q).T, 0.0))
    if measure == "cosine":
        return unit_rows(p) @ unit_rows(q).T
    if measure == "js":
        return np.array([_jensen_shannon(row, q) for row in p]).reshape(len(p), len(q))
    p, q = floored(p, floor), floored(q, floor)
    logs_p, logs_q = np.log(p), np.log(q)
    alone = (p * logs_p).sum(axis=1)[:, None] + (q * logs_q).sum(axis=1)
    return np.minimum(p @ logs_q.T + logs_p @ q.T - alone, 0.0)


def _check(measure: str) -> None:
    if measure not in MEASURES:
        raise SettingError(f"a measure is one of {', '.join(MEASURES)}; not {measure!r}")


# ---- phrases


COMPOSITIONS = ("head", "add", "head-context", "add-context", "product", "weighted", "dilation")
CHUNK = 8192


class Composed(NamedTuple):
    """Phrases as distributions: ``vectors``: way -> float64 (phrases, C); how many products had nothing left and became
    uniform; how many phrases are impossible by the model, whose words stand alone."""

    vectors: dict[str, np.ndarray]
    vanished: int
    impossible: int


def phrase_posteriors(meaning: Meaning, phrases: Sequence[Phrase]) -> tuple[np.ndarray, np.ndarray, int]:
    """The words of phrases in their contexts, float64 (words, C), where each phrase begins among them, int64 (phrases
    + 1,), and how many phrases are impossible: their words are e_w, divided by its sum. Unknown words are errors."""
    meaning.check_trees()
    model = meaning.model
    ids = np.array([meaning.id(term) for phrase in phrases for term in phrase.terms], np.int32)
    starts = starts_of(len(phrase.terms) for phrase in phrases)
    parents = [
        int(start) + head - 1 if head else -1
        for phrase, start in zip(phrases, starts, strict=False)
        for head in phrase.heads
    ]
    names = Layer.from_strings([name for phrase in phrases for name in phrase.relations])
    forest = Forest(Corpus(ids, starts, model.vocab_), np.array(parents, np.int32), names)
    uniform, steps = np.full(model.n_classes_, 1.0 / model.n_classes_), model.steps_.astype(np.float64)
    shares = [np.empty((0, model.n_classes_))]
    for batch in batches_of(forest, links_of(forest, model.relations_), max(1, len(ids)), CHUNK):
        weights = weights_of(uniform, steps, model.emission_[batch.types].astype(np.float64))
        shares += [token_shares(chunk, Parameters(weights, model.n_classes_, 0.0)) for chunk in batch.chunks]
    rows = np.concatenate(shares)
    lost = np.flatnonzero(rows.sum(axis=1) == 0)
    impossible = int(np.isin(starts[:-1], lost).sum())
    if impossible:
        alone = model.emission_[ids[lost]].astype(np.float64)
        rows[lost] = alone / np.maximum(alone.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        warn(f"{impossible} phrases are impossible: their words are taken by themselves")
    return rows, starts, impossible


def compose(
    meaning: Meaning,
    phrases: Sequence[Phrase],
    *,
    weight: float = 0.5,
    stretch: float = 2.0,
    ways: Sequence[str] = COMPOSITIONS,
) -> Composed:
    """Phrases as distributions, in each of some ways; a phrase with an unknown word is an error. ``weight``: that of
    the head in ``weighted``, from 0 to 1; ``stretch``: that of ``dilation``, from 1 on."""
    if not set(ways) <= set(COMPOSITIONS) or not ways:
        raise SettingError(f"ways to compose are {', '.join(COMPOSITIONS)}; not {', '.join(map(str, ways))}")
    if not 0 <= weight <= 1 or not stretch >= 1:
        raise SettingError(f"the weight of a head is from 0 to 1, a stretch from 1 on, not {weight} and {stretch}")
    inside, starts, impossible = np.empty((0, 0)), starts_of(len(phrase.terms) for phrase in phrases), 0
    if any(way.endswith("-context") for way in ways):
        inside, starts, impossible = phrase_posteriors(meaning, phrases)
    found, vanished = {way: np.zeros((len(phrases), meaning.vectors.shape[1])) for way in ways}, 0
    for i, phrase in enumerate(phrases):
        alone, head = np.array([meaning.vector(term) for term in phrase.terms]), phrase.head
        for way in ways:
            rows = inside[starts[i] : starts[i + 1]] if way.endswith("-context") else alone
            others = np.delete(rows, head, axis=0)
            if way.startswith("head") or (way != "product" and not len(others)):
                result = rows[head]
            elif way.startswith("add"):
                result = rows.mean(axis=0)
            elif way == "weighted":
                result = weight * rows[head] + (1 - weight) * others.mean(axis=0)
            elif way == "dilation":
                result = rows[head]
                for other in others:
                    result = (other @ other) * result + (stretch - 1) * (other @ result) * other
            else:
                result = _product(rows, meaning.least_probability)
                vanished += result is None
            found[way][i] = 1.0 / rows.shape[1] if result is None else result / result.sum()
    return Composed(found, vanished, impossible)


def _product(rows: np.ndarray, least: float) -> np.ndarray | None:
    """The product of rows (n, C) without their zeros; None if they have no class in common."""
    if not (rows > 0).all(axis=0).any():
        return None
    logs = np.log(floored(rows, least)).sum(axis=0)
    return np.exp(logs - logs.max())
