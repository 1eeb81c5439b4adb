"""What models are least sure of, the least sure first: where an annotator's minute is worth most.

Each item has what the model would say, in the form in which annotations are kept (``corpuscle.web.layers``), how sure
it is (``confidence``, 0..1), and which share of an annotator's keystrokes that guess is expected to save: labelling n
words takes n, correcting a guess one to accept it and one for each word that is expected to be wrong.
"""

from __future__ import annotations

from typing import Any

from corpuscle.settings import setting
from corpuscle.web.verbs import constituents
from corpuscle.web.verbs.letters import SEGMENTERS, Segmenting, apply
from corpuscle.web.verbs.pairs import ALIGNERS, Linking, align
from corpuscle.web.verbs.table import Lines, bank_of, verb
from corpuscle.web.verbs.texts import normalise
from corpuscle.web.verbs.trees import model_types, rows_of, tagged_for

__all__ = ["saved"]

_TEXT = "a b c"


class Doubtful(Lines):
    """Text of which the least sure sentences are wanted."""

    n: int = setting("How many items.", default=20, low=1, high=500)


class DoubtfulLetters(Segmenting, Doubtful):
    """Text without spaces of which the least sure lines are wanted."""


class DoubtfulPairs(Linking):
    """Sentence pairs of which the least sure are wanted."""

    n: int = setting("How many items.", default=20, low=1, high=500)


def saved(confidence: list[float]) -> float:
    """The share of keystrokes that a guess is expected to save, given how sure each of its parts is.

    >>> saved([1.0, 1.0, 1.0, 0.0]), saved([])
    (0.5, 0.0)
    """
    n = len(confidence)
    return max(0.0, 1.0 - (1.0 + sum(1.0 - sure for sure in confidence)) / n) if n else 0.0


def _ranked(items: list[dict[str, Any]], n: int, **more: Any) -> dict[str, Any]:
    """Items of a layer, the least sure first, each text once."""
    once = {str(item["value"]): item for item in items}
    return {"items": sorted(once.values(), key=lambda item: item["confidence"])[:n], **more}


def _item(value: dict[str, Any], sure: list[float]) -> dict[str, Any]:
    return {"value": value, "confidence": min(sure, default=1.0), "by_part": sure, "saved": saved(sure)}


@verb("tag", Doubtful, name="doubts", text=_TEXT)
def of_tags(model: Any, given: Any) -> dict[str, Any]:
    """Sentences whose tags are least sure, with the tags."""
    rows = rows_of(model.annotate(bank_of(given), confidence=True), "TagConfidence")
    choices = _tags(model)
    return _ranked([_tree(words) for words in rows], given.n, layer="trees", choices=choices)


def _tags(model: Any) -> list[str]:
    """The values of the first layer of a tagger, the most frequent first."""
    labels = [label.split("\t")[0] for label in model.labels_.strings[3:]]
    return list(dict.fromkeys(labels))[:60]


def _tree(words: list[dict[str, Any]]) -> dict[str, Any]:
    sure = [word.pop("confidence") for word in words]
    return _item({"words": words}, [1.0 if each is None else each for each in sure])


@verb("disambiguate", Doubtful, name="doubts", text=_TEXT)
def of_analyses(model: Any, given: Any) -> dict[str, Any]:
    """Sentences whose analyses are least sure, with the likeliest analyses of each word."""
    from corpuscle.disambiguate.labels import columns_of

    bank, names = bank_of(given), ("lemma", "upos", "xpos", "feats")
    items = []
    for words, told in zip(rows_of(model.annotate(bank), "Prob"), model.readings(bank, 9), strict=True):
        asked = {
            i: [dict(zip(names, columns_of(each["elements"]), strict=True)) for each in word["analyses"]]
            for i, word in enumerate(told)
        }
        items.append(_tree(words) | {"asked": asked})
    return _ranked(items, given.n, layer="trees", choices=[])


@verb("parse", Doubtful, name="doubts", kinds=("parse.mst",), beside="tag", text=_TEXT)
def of_trees(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """Sentences whose trees are least sure, with the trees."""
    rows = rows_of(model.annotate(tagged_for(model, given, tagger), confidence=True), "Confidence")
    choices = list(model.relations_.strings[3:])
    return _ranked([_tree(words) for words in rows], given.n, layer="trees", choices=choices)


@verb("entities", Doubtful, name="doubts", text=_TEXT)
def of_mentions(model: Any, given: Any) -> dict[str, Any]:
    """Sentences whose mentions are least sure, with the mentions."""
    from corpuscle.entities.documents import from_corpus

    corpus = bank_of(given).corpus
    tagged, items = model.tag(from_corpus(corpus)), []
    for words, found, sure in zip(corpus, tagged.mentions, tagged.by_token, strict=True):
        mentions = [{"type": each.type, "tokens": list(each.tokens)} for each in found]
        items.append(_item({"words": list(words), "mentions": mentions}, sure.tolist()))
    return _ranked(items, given.n, layer="entities", choices=model_types(model))


@verb("segment", DoubtfulLetters, name="doubts", kinds=SEGMENTERS, text="abcab")
def of_letters(model: Any, given: Any) -> dict[str, Any]:
    """Lines whose boundaries are least sure, with the words."""
    items = []
    for line in apply(model, given)["lines"]:
        if line["words"]:
            sure = [max(gap["probability"], 1 - gap["probability"]) for gap in line["boundaries"]]
            items.append(_item({"words": line["words"]}, sure))
    return _ranked(items, given.n, layer="segment", choices=[])


@verb("align", DoubtfulPairs, name="doubts", kinds=ALIGNERS, source="a b", target="c d")
def of_pairs(model: Any, given: Any) -> dict[str, Any]:
    """Sentence pairs whose links are least sure, with the links."""
    items = []
    for pair in align(model, given)["pairs"]:
        if pair["source"] and pair["target"]:
            links = [[link["source"], link["target"]] for link in pair["links"]]
            value = {"source": pair["source"], "target": pair["target"], "links": links}
            items.append(_item(value, [link["probability"] for link in pair["links"]] or [0.0]))
    return _ranked(items, given.n, layer="links", choices=[])


@verb("grammar", Doubtful, name="doubts", beside="tag", text=_TEXT)
def of_constituents(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """Sentences whose constituent trees are least sure, with the trees."""
    items = [
        _item({"tree": each["tree"]}, [min(1.0, max(0.0, node["sure"])) for node in each["nodes"]])
        for each in constituents.parse(model, given, tagger)["sentences"]
    ]
    return _ranked(items, given.n, layer="brackets", choices=[])


@verb("normalise", Doubtful, name="doubts", text="u there")
def of_messages(model: Any, given: Any) -> dict[str, Any]:
    """Messages with unknown words, the least sure first, with standard forms and candidates."""
    items = []
    for message in normalise(model, given)["messages"]:
        words, standard = message["typed"].split(), message["typed"].split()
        for word in message["asked"]:
            standard[word["token"]] = word["form"]
        if words:
            value = {"words": words, "standard": standard, "oov": [word["token"] for word in message["asked"]]}
            item = _item(value, [word["confidence"] for word in message["asked"]])
            asked = {word["token"]: [c["form"] for c in word["candidates"]] for word in message["asked"]}
            items.append(item | {"asked": asked})
    return _ranked(items, given.n, layer="normalise", choices=[])
