"""Looking into a topic model: topics with words and phrases, topical contexts, topics of documents, marked texts."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import UNKNOWN
from corpuscle.text.wording import clip
from corpuscle.topics.base import Look, TopicModel, all_words, document_bounds, of_documents, pick_documents
from corpuscle.topics.kernels.frozen import likelihoods, used_depths
from corpuscle.topics.kernels.particles import Reader, marks
from corpuscle.topics.kernels.seating import SWITCHING
from corpuscle.topics.ngram import NgramTopicModel

_WITH_GLOBAL = ("hierarchical", "switching")
"""The methods that have a global topic, and know how topical a context is."""

_STEADY = 3
"""The least number of customers of a phrase in its topic."""


class Phrase(NamedTuple):
    """An n-gram of a topic: its words, how likely the last one is after the others there, and its customers."""

    text: str
    score: float
    customers: int


class TopicSummary(NamedTuple):
    """A topic, from 1 on: its share of all topical words, its typical words with their counts, its phrases. The global
    topic has number 0; its share is that of all words."""

    number: int
    share: float
    words: list[tuple[str, int]]
    phrases: list[Phrase]


class ContextShown(NamedTuple):
    """A context, the probability that the word after it is topical, and the customers that say so."""

    text: str
    topical: float
    customers: int


class DocumentTopics(NamedTuple):
    """What a document is about: its name, how many words it has, how many of them are unknown to the model, and the
    shares of the topics in it once all of it has been read, float64 (topics,), summing to one."""

    name: str
    words: int
    oov: int
    shares: np.ndarray


class Mark(NamedTuple):
    """A document: its words, how topical each is (0..1), and its likeliest topic, from 1 on."""

    words: list[str]
    topical: np.ndarray
    topics: np.ndarray


def summaries(model: TopicModel, words: int = 10, phrases: int = 10) -> list[TopicSummary]:
    """All topics, the most used first. Words are ranked by what they say about a topic: n log(p(w | k) / p(w))."""
    counts = model.uses()
    counts[UNKNOWN] = 0
    totals, by_word = counts.sum(0), counts.sum(1)
    found = _phrases(model, phrases)
    result = []
    for k in sorted(range(1, model.topics_ + 1), key=lambda k: -totals[k]):
        share = totals[k] / max(1, totals[1:].sum())
        typical = _typical(model, counts[:, k], by_word, words)
        result.append(TopicSummary(k, float(share), typical, found.get(k, [])))
    return result


def global_summary(model: TopicModel, words: int = 10, phrases: int = 10) -> TopicSummary | None:
    """The global topic of a model that has one (``hierarchical``, ``switching``): words and phrases that documents
    share whatever they are about. In a hierarchical model no word is drawn from it directly: it has no share, and its
    words are ranked by the tables that lean on it."""
    if not isinstance(model, NgramTopicModel) or model.method not in _WITH_GLOBAL:
        return None
    counts = model.uses()
    by_word, of_all, of_global = counts.sum(1), max(1, counts.sum()), counts[:, 0]
    if model.method == "hierarchical":
        sample = model.samples_[-1]
        first = sample["row_entries"][: int(sample["row_children"][0])]  # topics rise: 0 is the first, if it is there
        rows = np.flatnonzero((np.diff(sample["row_entries"])[: len(first)] > 0) & (sample["topics"][first] == 0))
        of_global = np.zeros(len(counts), np.int64)
        of_global[sample["row_symbols"][rows]] = sample["customers"][first[rows]]
    typical = _typical(model, np.where(np.arange(len(counts)) == UNKNOWN, 0, of_global), by_word, words)
    return TopicSummary(0, float(counts[:, 0].sum() / of_all), typical, _phrases(model, phrases).get(0, []))


def _typical(model: TopicModel, counts: np.ndarray, by_word: np.ndarray, most: int) -> list[tuple[str, int]]:
    """The words that say most about a topic in which they have these counts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.log(counts / counts.sum()) - np.log(by_word / by_word.sum())
        score = np.where(counts > 0, counts * lift, -np.inf)
    best = np.argsort(-score, kind="stable")[:most]
    return [(model.vocab_.word(int(w)), int(counts[w])) for w in best if score[w] > 0]


def _ngrams(symbols: np.ndarray, children: np.ndarray, first: int) -> list[np.ndarray]:
    """The symbols of every item of a tree, its own first, then those of its ancestors; -1 where there are no more."""
    parent = np.concatenate([np.full(first, -1), np.repeat(np.arange(len(symbols)), np.diff(children))])
    result, at = [], np.arange(len(symbols))
    while (at >= 0).any():
        result.append(np.where(at >= 0, symbols[at], -1))
        at = np.where(at >= 0, parent[at], -1)
    return result


def _phrases(model: TopicModel, most: int) -> dict[int, list[Phrase]]:
    """The best n-grams of two words or more of each topic, the global one among them. The score is P_k(w | h), in
    models of variable order times P(h is used); it would prefer what is rare and certain, so n-grams are ranked by
    score times customers. A phrase that begins a sentence begins with ``<s>``."""
    if not isinstance(model, NgramTopicModel) or not model.has_topics or most < 1:
        return {}
    sample = model.samples_[-1]
    roots = int(sample["row_children"][0])
    row = np.repeat(np.arange(len(sample["row_symbols"])), np.diff(sample["row_entries"]))
    chosen = np.flatnonzero((row >= roots) & (sample["customers"] >= _STEADY))
    grams = np.array(_ngrams(sample["row_symbols"], sample["row_children"], roots)).T
    chosen = chosen[(grams[row[chosen]] != UNKNOWN).all(1)]
    rows, place = np.unique(row[chosen], return_inverse=True)
    lengths = (grams[rows] >= 0).sum(1)
    ends = np.cumsum(lengths)
    symbols = grams[rows][grams[rows] >= 0].astype(np.int32)  # each n-gram oldest first, its word last
    fixed = model._predictors[-1]._replace(fixed=True)
    switched = fixed._replace(method=SWITCHING)  # where there is a global topic, its words are those that do not switch
    score = np.empty(len(chosen))
    for first in range(0, len(rows), 1 << 14):
        some = slice(first, first + (1 << 14))
        asked = symbols, ends[some] - 1, symbols[ends[some] - 1], (lengths[some] - 1).astype(np.uint8)
        common = likelihoods(switched, model.topics_, *asked).common
        by_topic = np.column_stack([common, likelihoods(fixed, model.topics_, *asked).topics])
        here = np.flatnonzero((place >= first) & (place < first + (1 << 14)))
        score[here] = by_topic[place[here] - first, sample["topics"][chosen[here]]]
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
    """How topical contexts with at least N (``least``) switch customers are, the least topical first."""
    if not isinstance(model, NgramTopicModel) or model.method not in _WITH_GLOBAL:
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


def document_names(corpus: Corpus) -> list[str]:
    """The names of the documents; their numbers, from 1 on, where they have none."""
    return list(corpus.labels or map(str, range(1, len(document_bounds(corpus)))))


def _mixture(reader: Reader, look: Look, first: int, last: int) -> np.ndarray:
    """What a document is about at its end."""
    all_words(reader, look, first, last)
    return reader.mixture


def _marked(reader: Reader, look: Look, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """How topical the words of a document are, and their topics, once it has been read."""
    words = look(first, last)
    reader.read(words)
    return marks(words, reader.mixture)


def document_topics(model: TopicModel, corpus: Corpus, *, particles: int = 10, seed: int = 1) -> list[DocumentTopics]:
    """The mixture of topics that is expected at the end of every document, averaged over particles and samples. A
    document without known words has the mixture that the model expects of any."""
    if not model.has_topics:
        raise SettingError("a model of the method hpylm has no topics: it cannot say what a document is about")
    read = partial(of_documents, read=_mixture, particles=particles, seed=seed)
    shares = np.mean(model._by_sample(corpus, read), axis=0)
    unknown = starts_of(corpus.recode(model.vocab_).tokens == UNKNOWN)
    return [
        DocumentTopics(name, last - first, int(unknown[last] - unknown[first]), mixed)
        for name, (first, last), mixed in zip(
            document_names(corpus), pairwise(document_bounds(corpus).tolist()), shares, strict=True
        )
    ]


def mark(model: TopicModel, corpus: Corpus, *, particles: int = 10, seed: int = 1) -> list[Mark]:
    """How topical every word of some documents is, averaged over samples, and its topic by the last sample, once the
    whole document has been read. Without a switch all words are topical."""
    if not isinstance(model, NgramTopicModel) or not model.has_topics:
        raise SettingError("marking words needs a model of the method hpytm, hierarchical or switching")
    read = partial(of_documents, read=_marked, particles=particles, seed=seed)
    by_sample = model._by_sample(corpus, read)
    return [
        Mark(
            corpus.vocab.decode(corpus.tokens[first:last]),
            np.mean([topical for topical, _ in of_document], axis=0),
            of_document[-1][1] + 1,
        )
        for (first, last), *of_document in zip(pairwise(document_bounds(corpus).tolist()), *by_sample, strict=True)
    ]


def beginnings(
    model: NgramTopicModel, text: Corpus, chosen: np.ndarray, longest: int, seed: int, particles: int
) -> tuple[dict[str, Any], ...]:
    """The beginnings of some documents, whole sentences of about the ``longest`` number of words at most: words by
    sentence, how topical each word is, and its topic."""
    some = pick_documents(text, chosen)
    assert some.document_starts is not None and some.labels is not None
    result = []
    marked, edges = mark(model, some, particles=particles, seed=seed), pairwise(some.document_starts.tolist())
    for name, found, (first, last) in zip(some.labels, marked, edges, strict=True):
        lengths = np.cumsum(some.lengths[first:last])
        whole = max(1, int((lengths <= longest).sum()))  # sentences
        n = int(lengths[whole - 1])
        sentences = [[*map(clip, sentence)] for sentence in some[first : first + whole]]
        topical, topics = np.round(found.topical[:n], 3).tolist(), found.topics[:n].tolist()
        result.append({"name": name, "sentences": sentences, "topical": topical, "topics": topics})
    return tuple(result)
