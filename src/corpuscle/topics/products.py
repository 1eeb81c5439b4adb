"""What people look at in a topic model: topics with their words and phrases, topical contexts, marked texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.engine.particles import Reader, marks
from corpuscle.engine.topic_frozen import likelihoods, used_depths
from corpuscle.errors import SettingError
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, UNKNOWN
from corpuscle.topics.base import TopicModel
from corpuscle.topics.ngram import NgramTopicModel
from corpuscle.topics.rescaling import RescalingModel

__all__ = ["ContextShown", "Mark", "Phrase", "TopicSummary", "contexts", "mark", "summaries"]

_STEADY = 3
"""An n-gram must have so many customers in a topic to be one of its phrases."""


class Phrase(NamedTuple):
    """An n-gram of a topic: its words, how likely the last one is after the others there, and its customers."""

    text: str
    score: float
    customers: int


class TopicSummary(NamedTuple):
    """A topic, from 1 on: its share of all topical words, its typical words with their counts, its phrases."""

    number: int
    share: float
    words: list[tuple[str, int]]
    phrases: list[Phrase]


class ContextShown(NamedTuple):
    """A context, the probability that the word after it is topical, and the customers that say so."""

    text: str
    topical: float
    customers: int


class Mark(NamedTuple):
    """A document: its words, how topical each is (0..1), and its likeliest topic, from 1 on."""

    words: list[str]
    topical: np.ndarray
    topics: np.ndarray


def _uses(model: TopicModel) -> np.ndarray:
    """How often every word had every topic, from topic 0, the global one, on: int64 (ids, topics + 1)."""
    counts = np.zeros((len(model.vocab_), model.topics + 1), np.int64)
    if isinstance(model, RescalingModel):
        counts[[UNKNOWN, *range(FIRST, len(counts))], 1:] = model.types_
    elif isinstance(model, NgramTopicModel):
        counts[model.uses_["words"], model.uses_["topics"]] = model.uses_["counts"]
    return counts


def summaries(model: TopicModel, words: int = 10, phrases: int = 10) -> list[TopicSummary]:
    """All topics, the most used first. Words are ranked by what they say about a topic: n log(p(w | k) / p(w))."""
    counts = _uses(model)
    counts[UNKNOWN] = 0
    totals, by_word = counts.sum(0), counts.sum(1)
    found = _phrases(model, phrases)
    result = []
    for k in sorted(range(1, model.topics + 1), key=lambda k: -totals[k]):
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.log(counts[:, k] / totals[k]) - np.log(by_word / by_word.sum())
            score = np.where(counts[:, k] > 0, counts[:, k] * lift, -np.inf)
        best = np.argsort(-score, kind="stable")[:words]
        shown = [(model.vocab_.word(int(w)), int(counts[w, k])) for w in best if score[w] > 0]
        share = totals[k] / max(1, totals[1:].sum())
        result.append(TopicSummary(k, float(share), shown, found.get(k, [])))
    return result


def _ngrams(symbols: np.ndarray, children: np.ndarray, first: int) -> list[np.ndarray]:
    """The symbols of every item of a tree, its own first, then those of its ancestors; -1 where there are no more."""
    parent = np.concatenate([np.full(first, -1), np.repeat(np.arange(len(symbols)), np.diff(children))])
    result, at = [], np.arange(len(symbols))
    while (at >= 0).any():
        result.append(np.where(at >= 0, symbols[at], -1))
        at = np.where(at >= 0, parent[at], -1)
    return result


def _phrases(model: TopicModel, most: int) -> dict[int, list[Phrase]]:
    """The best n-grams of two words or more of each topic: P_k(w | h), in models of variable order times P(h is used).

    P_k(w | h) alone would prefer what is rare and certain, so phrases are ranked by customers times score.
    """
    if not isinstance(model, NgramTopicModel) or model.method == "hpylm" or most < 1:
        return {}
    sample = model.samples_[-1]
    roots = int(sample["row_children"][0])
    row = np.repeat(np.arange(len(sample["row_symbols"])), np.diff(sample["row_entries"]))
    chosen = np.flatnonzero((row >= roots) & (sample["customers"] >= _STEADY) & (sample["topics"] > 0))
    grams = np.array(_ngrams(sample["row_symbols"], sample["row_children"], roots)).T
    ordinary = ((grams[row[chosen]] >= FIRST) | (grams[row[chosen]] < 0)).all(1)
    chosen = chosen[ordinary]
    rows, place = np.unique(row[chosen], return_inverse=True)
    lengths = (grams[rows] >= 0).sum(1)
    ends = np.cumsum(lengths)
    symbols = grams[rows][grams[rows] >= 0].astype(np.int32)  # each n-gram oldest first, its word last
    fixed = model._predictors[-1]._replace(fixed=True)
    score = np.empty(len(chosen))
    for first in range(0, len(rows), 1 << 14):
        some = slice(first, first + (1 << 14))
        seen = likelihoods(
            fixed, model.topics, symbols, ends[some] - 1, symbols[ends[some] - 1], (lengths[some] - 1).astype(np.uint8)
        )
        here = np.flatnonzero((place >= first) & (place < first + (1 << 14)))
        score[here] = seen.topics[place[here] - first, sample["topics"][chosen[here]] - 1]
    if model.infinite:
        score *= used_depths(sample)[row[chosen]]
    result: dict[int, list[Phrase]] = {}
    for i in np.lexsort((chosen, -score * sample["customers"][chosen])).tolist():
        phrases = result.setdefault(int(sample["topics"][chosen[i]]), [])
        if len(phrases) < most:
            words = grams[rows[place[i]]]
            text = " ".join(model.vocab_.decode(words[words >= 0]))
            phrases.append(Phrase(text, float(score[i]), int(sample["customers"][chosen[i]])))
    return result


def contexts(model: TopicModel, least: int = 20) -> list[ContextShown]:
    """How topical contexts are, the least topical first; those with at least so many switch customers."""
    if not isinstance(model, NgramTopicModel) or model.method not in ("hierarchical", "switching"):
        raise SettingError("only hierarchical and switching models know how topical a context is")
    sample, predictor = model.samples_[-1], model._predictors[-1]
    grams = np.array(_ngrams(sample["context_symbols"], sample["context_children"], 1)).T
    grams[0] = -1
    customers = sample["switches"].sum(1)
    chosen = np.flatnonzero(customers >= least)
    chosen = chosen[np.lexsort((chosen, predictor.topical[chosen]))]
    depth = (grams >= 0).sum(1) - 1  # without the empty context at the end of each
    return [
        ContextShown(
            " ".join(model.vocab_.decode(grams[context, : max(0, depth[context])])),
            float(predictor.topical[context]),
            int(customers[context]),
        )
        for context in chosen
    ]


def mark(model: TopicModel, corpus: Corpus, *, particles: int = 10, seed: int = 1) -> list[Mark]:
    """How topical every word of some documents is, and its topic, once the whole document has been read; averaged over
    the samples of the model, the topic being that of the last. Where there is no switch all words are topical."""
    if not isinstance(model, NgramTopicModel) or model.method == "hpylm":
        raise SettingError("marking words needs a model of the method hpytm, hierarchical or switching")
    total: list[np.ndarray] = []
    likeliest: list[np.ndarray] = []
    for number, sample in enumerate(model.samples_):
        found = []
        for document, words in enumerate(model.document_likelihoods(corpus, number)):
            reader = Reader(sample["alpha"], particles=particles, seed=seed, document=document)
            reader.read(words)
            found.append(marks(words, reader.mixture))
        topical = [share for share, _ in found]
        total = topical if not total else [a + b for a, b in zip(total, topical, strict=True)]
        likeliest = [topics for _, topics in found]
    starts = np.cumsum([0, *(len(topics) for topics in likeliest)]).tolist()
    return [
        Mark(corpus.vocab.decode(corpus.tokens[a:b]), share / len(model.samples_), topics + 1)
        for a, b, share, topics in zip(starts[:-1], starts[1:], total, likeliest, strict=True)
    ]
