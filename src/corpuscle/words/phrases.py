"""Phrases: what a few words mean together, by message passing on their tree or by sums and products of their vectors.

Every phrase is a small tree with a *uniform* distribution of the class of its root. With e_w the emissions of a word
and up_d = T' e_d what a dependent tells its head, the head in context is

    h ~ e_head * product over the dependents d of up_d

and each dependent hears from the head what the others have said: the message passing of sentences, which this is
(``engine.dp.trees``), so that any tree will do. A phrase as one distribution (``COMPOSITIONS``):

- ``head``, ``add``: the head, or the mean of all words, out of context;
- ``head-context``, ``add-context``: the same in the context of the phrase;
- ``product``: the product of all words out of context; ``weighted``: the head counts ``weight``, the dependents share
  the rest; ``dilation``: the head, stretched along each dependent d by ``stretch``: (d.d) h + (stretch - 1) (d.h) d.
  These three are the baselines of vector spaces, and divided by their sums.

Grave, Obozinski and Bach, "A Markovian approach to distributional semantics with application to semantic
compositionality", 2014, section 6; Mitchell and Lapata, "Composition in distributional models of semantics", 2010, for
the baselines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.errors import SettingError, warn
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.layers import Layer
from corpuscle.text.pairs import Phrase
from corpuscle.words.forests import Forest
from corpuscle.words.hmm_learning import Parameters, batches_of, links_of, token_shares, weights_of
from corpuscle.words.meaning import Meaning, floored

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
    """Phrases as distributions, in each of some ways; a phrase with an unknown word is an error.

    ``weight``: how much the head counts in ``weighted``, from 0 to 1; ``stretch``: that of ``dilation``, from 1 on."""
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
                result = _dilated(rows[head], others, stretch)
            else:
                result = _product(rows, meaning.least_probability)
                vanished += result is None
            found[way][i] = 1.0 / rows.shape[1] if result is None else result / result.sum()
    return Composed(found, vanished, impossible)


def _dilated(head: np.ndarray, others: np.ndarray, stretch: float) -> np.ndarray:
    """A head (C,), stretched along each of the others (n, C)."""
    for other in others:
        head = (other @ other) * head + (stretch - 1) * (other @ head) * other
    return head


def _product(rows: np.ndarray, least: float) -> np.ndarray | None:
    """The product of rows (n, C) without their zeros; None if they have no class in common."""
    if not (rows > 0).all(axis=0).any():
        return None
    logs = np.log(floored(rows, least)).sum(axis=0)
    return np.exp(logs - logs.max())
