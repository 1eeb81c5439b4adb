"""Verbs about the words of sentences: tags, analyses, entities, dependency trees."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from corpuscle.settings import setting
from corpuscle.web.verbs.table import Lines, bank_of, lines_of, verb

if TYPE_CHECKING:
    from corpuscle.text.treebank import Treebank

__all__ = ["model_types", "rows_of", "tagged_for"]

_TEXT = "a b c"


class Reading(Lines):
    """Text, and what its reader knows."""

    familiar: str = setting("Words or lemmas that the reader knows, with spaces between them.", default="")


class Analysing(Reading):
    """Text, what its reader knows, and how many analyses of each word."""

    nbest: int = setting("How many analyses of a word.", default=5, low=1, high=50)


def _note(misc: str, name: str) -> float | None:
    """A number that MISC says."""
    notes = dict(note.partition("=")[::2] for note in misc.split("|"))
    return float(notes[name]) if name in notes else None


def rows_of(bank: Treebank, confidence: str = "") -> list[list[dict[str, Any]]]:
    """The words of each sentence with their annotation, named as the columns of CoNLL-U; ``confidence``: what MISC
    calls how sure a word's annotation is."""
    columns = {
        "lemma": bank.lemmas, "upos": bank.tags, "xpos": bank.xpos, "feats": bank.features, "deprel": bank.relations,
    }  # fmt: skip
    values: dict[str, list[Any]] = {name: layer.strings() for name, layer in columns.items() if layer.ids.any()}
    values["form"] = bank.corpus.vocab.decode(bank.corpus.tokens.tolist())
    if (bank.heads >= 0).any():
        values["head"] = bank.heads.tolist()
    if confidence:
        values["confidence"] = [_note(misc, confidence) for misc in bank.misc.strings()]
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return [rows[a:b] for a, b in pairwise(bank.corpus.sentence_starts.tolist())]


def _told(bank: Treebank, confidence: str) -> dict[str, Any]:
    from corpuscle.text.conllu import format_conllu

    sentences = [{"words": words} for words in rows_of(bank, confidence)]
    return {"sentences": sentences, "conllu": "".join(format_conllu(bank)) if len(bank) else ""}


@verb("tag", Lines, text=_TEXT)
def tag(model: Any, given: Any) -> dict[str, Any]:
    """Parts of speech, morphology and lemmas of the words of each sentence, and how sure they are."""
    return _told(model.annotate(bank_of(given), confidence=True), "TagConfidence")


def tagged_for(model: Any, given: Any, tagger: Any) -> Treebank:
    """A text with the tags that a parser needs: its own tagger's, or those of the tagger beside it. A projected parser
    is of another language than the tagger."""
    bank = bank_of(given)
    if tagger is None or model.KIND.name == "parse.projected":
        return bank if model.KIND.name in ("parse.projected", "parse.branching") else model.tagged(bank)
    return tagger.annotate(bank)


@verb("parse", Lines, beside="tag", text=_TEXT)
def parse(model: Any, given: Any, tagger: Any = None) -> dict[str, Any]:
    """The dependency tree of each sentence, how sure each arc is where the parser knows, and its picture."""
    from corpuscle.figures import draw_arcs

    bank = tagged_for(model, given, tagger)
    sure = "Confidence" if model.KIND.name == "parse.mst" else ""
    found = _told(model.annotate(bank, confidence=bool(sure)), sure)
    for sentence in found["sentences"]:
        words = sentence["words"]
        tags = [word.get("upos", "_") for word in words]
        sentence["svg"] = draw_arcs(
            [word["form"] for word in words],
            [word.get("head", 0) for word in words],
            [word.get("deprel", "") for word in words],
            tags=tags if any(tag != "_" for tag in tags) else None,
            confidence=[word["confidence"] for word in words] if sure else None,
        )
    return found


@verb("disambiguate", Analysing, text=_TEXT)
def analyse(model: Any, given: Any) -> dict[str, Any]:
    """The likeliest analyses of the words of each sentence, with vowelled forms and glosses where they are known."""
    from corpuscle.text.conllu import format_conllu

    bank, known = bank_of(given), frozenset(given.familiar.split())
    conllu = "".join(format_conllu(model.annotate(bank))) if len(bank) else ""
    return {"sentences": [{"words": words} for words in model.readings(bank, given.nbest, known)], "conllu": conllu}


@verb("disambiguate", Reading, text=_TEXT, familiar="a")
def vocabulary(model: Any, given: Any) -> dict[str, Any]:
    """What there is to learn in a text: lemmas that its reader does not know, the most frequent first, with vowelled
    form and gloss, and how hard the text is for that: the share of its lemmas and of its words that they make."""
    from corpuscle.disambiguate.reading import vocabulary as vocabulary_of

    found = vocabulary_of(model.readings(bank_of(given), 1), frozenset(given.familiar.split()))
    return {**found._asdict(), "cards": [card._asdict() for card in found.cards]}


@verb("entities", Lines, text=_TEXT)
def entities(model: Any, given: Any) -> dict[str, Any]:
    """The mentions in each sentence, also with gaps, how sure each is, and a picture."""
    from corpuscle.entities.documents import from_corpus
    from corpuscle.figures import draw_mentions
    from corpuscle.text import Corpus

    words = [line.split() for line in lines_of(given)]
    tagged = model.tag(from_corpus(Corpus.from_sentences(words)))
    sentences = []
    for each, mentions, sure in zip(words, tagged.mentions, tagged.confidence, strict=True):
        found = [
            {"type": m.type, "tokens": list(m.tokens), "text": " ".join(each[t] for t in m.tokens), "confidence": c}
            for m, c in zip(mentions, sure, strict=True)
        ]
        svg = draw_mentions(each, mentions, confidence=sure) if each else ""
        sentences.append({"words": each, "mentions": found, "svg": svg})
    return {"sentences": sentences, "types": model_types(model)}


def model_types(model: Any) -> list[str]:
    """The types of mentions that a tagger knows."""
    if model.KIND.name == "entities.dictionary":
        return sorted(model.dictionary_.types)
    return sorted({label.partition("-")[2] for label in model.labels_.strings[3:]} - {""})
