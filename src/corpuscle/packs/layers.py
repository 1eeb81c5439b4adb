"""Layers: what the models of a pack say about a text, word by word and sentence by sentence.

A text is read once: running text is split into sentences and words by ``text prepare``, and the sentences of a language
without spaces by the pack's segmenter. Each model then adds what it can say, one after the other; the parser sees the
tags of the tagger, as it does everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from corpuscle.text.corpus import Corpus, Preprocessing
from corpuscle.text.html import bdi, div, element, p, small, table
from corpuscle.text.running import prepare
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, UNKNOWN

if TYPE_CHECKING:
    from corpuscle.packs.pack import LoadedPack

Text = str | Sequence[str] | Sequence[Sequence[str]]
"""Running text, sentences of running text, or sentences of words."""

_TREE = ("tags", "xpos", "features", "lemmas")
_TOPICS, _TYPICAL = 3, 5


@dataclass(frozen=True)
class Layers:
    """A text and what is known about it.

    - ``text``: the running text, if that was given;
    - ``words``: its sentences as lists of words;
    - ``offsets``: begin and end of every word in the characters of ``text``, None where words were given;
    - ``layers``: name -> values, also as attributes (``layers.surprisal``). Most have a list for every sentence with a
      value for every word: ``surprisal`` (bits; the end of the sentence last), ``known``, ``classes``, ``senses``,
      ``tags``, ``xpos``, ``features``, ``lemmas``, ``heads`` (words from 1 on, 0: the root), ``relations``,
      ``dictionary`` (the best translation of a word that is not unsure), ``glosses`` (those of the kit). ``entities``
      are dictionaries with ``sentence``, ``words`` (numbers), ``type`` and ``text``; ``topics`` has the largest topics
      of the whole text; ``translation`` a string for every sentence.
    """

    text: str | None
    words: list[list[str]]
    offsets: list[list[tuple[int, int]]] | None
    layers: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.layers:
            raise AttributeError(f"no layer {name!r}; there are {', '.join(self.layers) or 'none'}")
        return self.layers[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.layers]

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"text": self.text, "words": self.words, "offsets": self.offsets, "layers": dict(self.layers)}

    def _repr_html_(self) -> str:
        """A table for each sentence: the words, and below them what is known of each."""
        by_word = [name for name, values in self.layers.items() if name not in ("entities", "topics", "translation")]
        parts = []
        for number, words in enumerate(self.words):
            rows = [
                (small(name), *(_shown(value) for value in self.layers[name][number][: len(words)])) for name in by_word
            ]
            parts.append(table(("", *map(bdi, words)), rows))
            if "translation" in self.layers:
                parts.append(p(self.layers["translation"][number], dir="auto"))
        for name in ("entities", "topics"):
            for item in self.layers.get(name, ()):
                parts.append(p(element("b", name), " ", ", ".join(f"{key} {value}" for key, value in item.items())))
        return div(*parts)


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Reading:
    """A text as the models of a pack see it."""

    pack: LoadedPack
    words: list[list[str]]
    corpus: Corpus

    @property
    def bank(self) -> Treebank:
        """As a treebank without annotation."""
        return Treebank.from_sentences(self.words)

    def by_sentence(self, values: Iterable[Any]) -> list[list[Any]]:
        """Values of all words, a list for every sentence."""
        flat = list(values)
        return [flat[a:b] for a, b in pairwise(self.corpus.sentence_starts.tolist())]


def read(pack: LoadedPack, text: Text) -> tuple[str | None, list[list[str]], list[list[tuple[int, int]]] | None]:
    """A text in sentences and words, with the place of every word where there is running text."""
    if not isinstance(text, str):
        given = list(text)
        if all(not isinstance(sentence, str) for sentence in given):
            return None, [list(sentence) for sentence in given if sentence], None
        text = "\n\n".join(map(str, given))
    prepared = prepare(text)
    starts, edges = prepared.sentence_starts.tolist(), [tuple(edge) for edge in prepared.offsets.tolist()]
    offsets = [edges[a:b] for a, b in pairwise(starts)]
    if "segment" in pack:
        offsets = _segmented(pack, text, offsets)
    return text, [[text[a:b] for a, b in sentence] for sentence in offsets], offsets


def _segmented(pack: LoadedPack, text: str, sentences: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """The words of text without spaces, cut where the segmenter cuts; what it has removed stays between words."""
    lines = [[text[sentence[0][0] : sentence[-1][1]]] for sentence in sentences]
    found = pack.segment.segment(Corpus.from_sentences([["".join(line[0].split())] for line in lines]))
    result = []
    for number, sentence in enumerate(sentences):
        at, words = sentence[0][0], []
        for word in found.words(number):
            begin, left = at, len(word)
            while left:
                if text[at].isspace():
                    begin += at == begin
                else:
                    left -= 1
                at += 1
            words.append((begin, at))
        result.append(words)
    return result


def layers_of(pack: LoadedPack, text: Text, names: Iterable[str] | None = None) -> Layers:
    """What the models of a pack say about a text; ``names``: only these models."""
    raw, words, offsets = read(pack, text)
    layers: dict[str, Any] = {}
    if words:
        reading = Reading(pack, words, Preprocessing().apply(Corpus.from_sentences(words)))
        for name in [name for name in LAYERS if name in pack and (names is None or name in names)]:
            layers |= LAYERS[name](reading, pack.model(name))
        for name, meanings in ("dictionary", pack.translations), ("glosses", pack.glosses):
            if meanings and (names is None or name in names):
                layers[name] = [[meanings.get(word) for word in sentence] for sentence in words]
    return Layers(raw, words, offsets, layers)


# ---- what each model says


def _surprisal(reading: Reading, model: Any) -> dict[str, Any]:
    bits, starts = model.surprisals(reading.corpus)
    known = reading.corpus.recode(model.vocab_).tokens != UNKNOWN
    return {
        "surprisal": [bits[a:b].tolist() for a, b in pairwise(starts.tolist())],
        "known": reading.by_sentence(known.tolist()),
    }


def _classes(name: str) -> Callable[[Reading, Any], dict[str, Any]]:
    def apply(reading: Reading, model: Any) -> dict[str, Any]:
        found = model.apply(reading.corpus)
        return {name: reading.by_sentence((found.tokens - FIRST).tolist())}

    return apply


def _topics(reading: Reading, model: Any) -> dict[str, Any]:
    from corpuscle.topics import document_topics, summaries

    corpus = reading.corpus.with_documents(np.array([0, len(reading.corpus)]))
    [about] = document_topics(model, corpus)
    typical = {topic.number: [word for word, _ in topic.words] for topic in summaries(model, _TYPICAL, 0)}
    best = (-about.shares).argsort(kind="stable")[:_TOPICS].tolist()
    return {"topics": [{"topic": k + 1, "share": float(about.shares[k]), "words": typical[k + 1]} for k in best]}


def _tags(reading: Reading, model: Any) -> dict[str, Any]:
    bank = model.annotate(reading.bank)
    names = [name for name in _TREE if name in model.layers_ or (name == "lemmas" and model.lemmatiser_.n_rules)]
    return {name: reading.by_sentence(getattr(bank, name).strings()) for name in names}


def _trees(reading: Reading, model: Any) -> dict[str, Any]:
    bank = reading.bank
    bank = reading.pack.tagger.annotate(bank) if "tagger" in reading.pack else model.tagged(bank)
    parsed = model.annotate(bank)
    return {
        "heads": reading.by_sentence(parsed.heads.tolist()),
        "relations": reading.by_sentence(parsed.relations.strings()),
    }


def _entities(reading: Reading, model: Any) -> dict[str, Any]:
    from corpuscle.entities.documents import from_corpus

    found = model.tag(from_corpus(reading.corpus)).mentions
    return {
        "entities": [
            {
                "sentence": number,
                "words": list(mention.tokens),
                "type": mention.type,
                "text": " ".join(reading.words[number][i] for i in mention.tokens),
            }
            for number, mentions in enumerate(found)
            for mention in mentions
        ]
    }


def _translation(reading: Reading, model: Any) -> dict[str, Any]:
    return {"translation": [best[0].target if best else "" for best in model.translate(reading.corpus)]}


LAYERS: dict[str, Callable[[Reading, Any], dict[str, Any]]] = {
    "lm": _surprisal,
    "classes": _classes("classes"),
    "senses": _classes("senses"),
    "topics": _topics,
    "tagger": _tags,
    "parser": _trees,
    "entities": _entities,
    "translate": _translation,
}
"""Name of a model -> what it adds, in this order."""
