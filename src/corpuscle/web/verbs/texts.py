"""Verbs about running text: how likely it is, where its words are, of which class they are, what it is about."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Seeded, setting
from corpuscle.web.verbs.letters import SEGMENTERS, Context
from corpuscle.web.verbs.table import K, Lines, corpus_of, lines_of, split_lines, verb

__all__: list[str] = []

_TEXT = "a b c\nb c a"


class Samples(Seeded):
    """How sentences are drawn."""

    n: int = setting("How many sentences.", default=5, low=1, high=100)
    temperature: float = setting("Below 1: likelier words.", default=1.0, low=0.01, high=100.0)
    max_length: int = setting("Cut sentences at this many words.", default=50, low=1, high=1000)


class Topical(Seeded, Lines):
    """Documents with blank lines between them."""

    top: int = setting("So many topics of each document.", default=3, low=1, high=100)
    particles: int = setting("Guesses at a document's topics.", default=10, low=1, high=100)


class Shown(K):
    """What is shown of each topic."""

    phrases: int = setting("Phrases of each topic.", default=5, low=0, high=100)


class Directions(K):
    """What is shown of a map."""

    directions: int = setting("How many directions.", default=10, low=1, high=200)


@verb("lm", Lines, text=_TEXT)
def surprisal(model: Any, given: Any) -> dict[str, Any]:
    """How surprising each word of each sentence is, in bits, and how likely each sentence is."""
    import numpy as np

    corpus = corpus_of(model, given)
    events = model.events(corpus)
    bits, starts = (events.log_probability / -np.log(2)).tolist(), events.starts.tolist()
    unknown, scores = events.unknown.tolist(), events.by_sentence()
    end = [] if model.boundary == "none" else ["</s>"]
    sentences = []
    for i, (begin, last) in enumerate(pairwise(starts)):
        words = [*corpus.words(i), *end]
        rows = zip(words, bits[begin:last], unknown[begin:last], strict=True)
        sentences.append({
            "words": [{"word": word, "bits": value, "oov": bool(oov)} for word, value, oov in rows],
            "tokens": int(scores.tokens[i]), "oov": int(scores.oov[i]),
            "log10": float(scores.log_probability[i] / np.log(10)),
        })  # fmt: skip
    total = float(events.log_probability.sum())
    perplexity = float(np.exp(min(700.0, -total / len(bits)))) if bits else None
    return {"sentences": sentences, "tokens": len(bits), "oov": int(sum(unknown)), "perplexity": perplexity}


@verb("lm", Context, context="a", k=3)
def next_(model: Any, given: Any) -> dict[str, Any]:
    """The most likely next words after the beginning of a sentence."""
    context = model.words_of(given.context)
    begin = [] if model.boundary == "none" else ["<s>"]
    found = model.next_words([*begin, *context], given.k)
    return {"context": context, "next": [{"word": word, "probability": p} for word, p in found]}


@verb("segment", Samples, kinds=SEGMENTERS, n=2)
@verb("lm", Samples, n=2)
def sample(model: Any, given: Any) -> dict[str, Any]:
    """Random sentences of the model."""
    drawn = model.sample(given.n, seed=given.seed, temperature=given.temperature, max_length=given.max_length)
    return {"sentences": [list(words) for words in drawn]}


@verb("classes", Lines, text=_TEXT)
def classes(model: Any, given: Any) -> dict[str, Any]:
    """The class of each word of each sentence."""
    if model.settings.get("structure", "chain") == "tree":
        raise SettingError("this model has learned from trees: it has classes of words in trees, not in plain text")
    corpus = corpus_of(model, given)
    applied = [list(words) for words in model.apply(corpus.recode(model.vocab_))]
    known = model.vocab_
    return {
        "sentences": [
            [
                {"word": word, "class": int(number) if number.isdigit() else None, "known": word in known}
                for word, number in zip(words, numbers, strict=True)
            ]
            for words, numbers in zip(corpus, applied, strict=True)
        ]
    }


def _documents(model: Any, given: Any) -> Any:
    """Documents as a model of topics reads them: blank lines between them."""
    import numpy as np

    corpus, starts, begun = corpus_of(model, given), [], False
    for i, n in enumerate(corpus.lengths.tolist()):
        if n and not begun:
            starts.append(i)
        begun = n > 0
    if not starts:
        raise SettingError("text: there are no words in it")
    starts[0] = 0
    return corpus.with_documents(np.array([*starts, len(corpus)], np.int64))


@verb("topics", Topical, text=_TEXT)
def topics(model: Any, given: Any) -> dict[str, Any]:
    """What each document is about: its largest topics with their typical words."""
    from corpuscle.topics import document_topics, summaries

    found = document_topics(model, _documents(model, given), particles=given.particles, seed=given.seed)
    typical = {topic.number: [word for word, _ in topic.words] for topic in summaries(model, 5, 0)}
    documents = []
    for document in found:
        best = [int(k) for k in (-document.shares).argsort(kind="stable")[: given.top]]
        shown = [{"topic": k + 1, "share": float(document.shares[k]), "words": typical[k + 1]} for k in best]
        about = {"document": document.name, "words": int(document.words), "oov": int(document.oov)}
        documents.append(about | {"topics": shown})
    return {"documents": documents}


@verb("topics", Topical, kinds=("topics.ngram",), text=_TEXT)
def mark(model: Any, given: Any) -> dict[str, Any]:
    """How topical each word is, and its topic; as a picture, too."""
    from corpuscle.figures import shaded_text
    from corpuscle.topics import mark as marked

    corpus = _documents(model, given)
    found = marked(model, corpus, particles=given.particles, seed=given.seed)
    words = [words for words in corpus if words]
    topical = [share for document in found for share in document.topical.tolist()]
    of = [int(topic) for document in found for topic in document.topics.tolist()]
    flat = iter(zip(topical, of, strict=True))
    sentences = [
        [{"word": word, "topical": share, "topic": topic} for word, (share, topic) in zip(each, flat, strict=False)]
        for each in words
    ]
    return {"sentences": sentences, "svg": shaded_text(words, topical, of)}


@verb("topics", Shown, k=5)
def show(model: Any, given: Any) -> dict[str, Any]:
    """All topics with their typical words and phrases; as a picture, too."""
    from corpuscle.figures import TopicShown, topic_list
    from corpuscle.topics import summaries

    found = summaries(model, given.k, given.phrases)
    shown = [TopicShown(t.number, t.share, [w for w, _ in t.words], [p.text for p in t.phrases]) for t in found]
    values = [{"number": t.number, "share": t.share, "words": list(t.words), "phrases": list(t.phrases)} for t in shown]
    return {"topics": values, "svg": topic_list(shown)}


@verb("normalise", Lines, text="u there")
def normalise(model: Any, given: Any) -> dict[str, Any]:
    """Messages in standard spelling: what was changed, from what, among which candidates."""
    from corpuscle.normalise import explained

    messages = [line.split() for line in lines_of(given)]
    return {
        "messages": [
            explained(message, choices) | {"asked": [choice.described() for choice in choices]}
            for message, choices in zip(messages, model.choices(messages, ranked=9), strict=True)
        ]
    }


class Texts(K):
    """Texts, one a line."""

    text: str = setting("Texts, one a line.", default="")


@verb("metric", Directions, directions=2, k=3)
def features(model: Any, given: Any) -> dict[str, Any]:
    """The features that weigh most in the first directions of the map."""
    values = model.solution_.values.tolist()[: given.directions]
    rows = [
        {"direction": i, "value": value,
         "features": [{"feature": name, "weight": weight} for name, weight in model.top_features(i, given.k)]}
        for i, value in enumerate(values)
    ]  # fmt: skip
    return {"directions": rows}


@verb("metric", Texts, text=_TEXT)
def neighbours(model: Any, given: Any) -> dict[str, Any]:
    """Which of some texts are nearest to each of them, and how far away."""
    texts = [line for line in split_lines(given.text) if line.strip()]
    if model.features_ is None:
        raise SettingError("this metric has learned from vectors, not from texts")
    if len(texts) < 2:
        raise SettingError("text: at least two lines are needed")
    found, distances = model.neighbours(texts, min(given.k, len(texts) - 1))
    rows = zip(texts, found.tolist(), distances.tolist(), strict=True)
    return {
        "texts": [
            {"text": text, "near": [{"text": texts[i], "distance": d} for i, d in zip(near, far, strict=True)]}
            for text, near, far in rows
        ]
    }
