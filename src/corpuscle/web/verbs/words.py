"""Verbs about words: neighbours, analogies, maps, classes, senses."""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Settings, setting
from corpuscle.web.verbs.table import K, Lines, Word, lines_of, verb

__all__: list[str] = []

_HMM, _MOST_TOKENS = ("words.hmm",), 50


class Analogy(K):
    """Three words."""

    a: str = setting("A word.", default="")
    b: str = setting("What is to it ...", default="")
    c: str = setting("... as the answer is to this one.", default="")


class Words(K):
    """Some words."""

    words: str = setting("Words with spaces between them; none: the most frequent ones.", default="")


class Classes(Word):
    """Which classes."""

    classes: int = setting("Cut the tree where so many classes are left.", default=40, low=1, high=200)


class InContext(Word, Lines):
    """A word, and sentences with it."""


class Two(Settings):
    """Two words or phrases."""

    first: str = setting("A word or phrase.", default="")
    second: str = setting("Another one.", default="")


def _near(found: Any) -> list[dict[str, Any]]:
    return [{"word": word, "similarity": similarity, "count": count} for word, similarity, count in found]


@verb("vectors", Word, word="a", k=3)
def nearest(model: Any, given: Any) -> dict[str, Any]:
    """The words nearest to a word."""
    found = model.nearest(given.word, given.k)
    rows = [{"word": word, "cosine": cosine} for word, cosine in found]
    return {"word": given.word, "known": given.word in model, "words": rows}


@verb("vectors", Analogy, a="a", b="b", c="c", k=3)
def analogy(model: Any, given: Any) -> dict[str, Any]:
    """What is to one word as a second is to a third."""
    found = model.analogy(given.a, given.b, given.c, given.k)
    return {"a": given.a, "b": given.b, "c": given.c, "words": [{"word": w, "cosine": x} for w, x in found]}


@verb("vectors", Words, words="a", k=3)
def map_(model: Any, given: Any) -> dict[str, Any]:
    """A picture of words where their vectors are: given ones and their neighbours, or frequent ones."""
    from corpuscle.words.map import draw_map

    words = given.words.split()[:20]
    return {"words": words, "svg": draw_map(model, words, given.k if words else max(given.k, 60))}


@verb("classes", Word, word="a", k=5)
def word(model: Any, given: Any) -> dict[str, Any]:
    """The classes of a word, with their shares of its tokens and their first words."""
    known = given.word in model.vocab_
    rows = [
        {"class": number, "share": share, "words": [each for each, _ in model.words_of(number, given.k)]}
        for number, share in model.classes_of(given.word)
        if share >= 0.01
    ]
    count = int(model.vocab_.counts[model.vocab_.id(given.word)]) if known else 0
    return {"word": given.word, "known": known, "count": count, "classes": rows}


@verb("classes", K, k=5)
def show(model: Any, given: Any) -> dict[str, Any]:
    """The most frequent words of each class, and its path in the class tree."""
    paths = [None] * model.n_classes_ if model.tree_ is None else model.tree_.paths
    counts = model.class_counts_
    rows = [
        {"class": number, "path": paths[number], "count": int(counts[number]),
         "words": [{"word": word, "count": value} for word, value in model.words_of(number, given.k)]}
        for number in range(min(model.n_classes_, 1000))
    ]  # fmt: skip
    return {"classes": rows}


@verb("classes", Classes, kinds=("words.exchange", "words.brown"), classes=5, k=5)
def tree(model: Any, given: Any) -> dict[str, Any]:
    """A picture of the class tree with the most frequent words of each class."""
    from corpuscle.words import draw_tree

    return {"svg": draw_tree(model.coarsened(min(given.classes, model.n_classes_)), given.k)}


def _meaning(model: Any) -> Any:
    from corpuscle.words import Meaning

    return Meaning(model)


@verb("meaning", Word, kinds=_HMM, word="a", k=3)
def similar(model: Any, given: Any) -> dict[str, Any]:
    """The words nearest in meaning to a word, or to the head of a phrase in its context."""
    from corpuscle.words import compose

    meaning = _meaning(model)
    phrase = meaning.phrase(given.word)
    id = meaning.id(phrase.terms[phrase.head])
    vector = meaning.vectors[id]
    if len(phrase.terms) > 1:
        vector = compose(meaning, [phrase], ways=["head-context"]).vectors["head-context"][0]
    found = meaning.nearest(vector, given.k, meaning.tag(id), [id])
    return {
        "word": meaning.vocab.word(id), "phrase": str(phrase), "count": round(meaning.counts[id]),
        "rare": bool(meaning.rare(id)), "words": _near(found),
    }  # fmt: skip


@verb("meaning", Two, kinds=_HMM, first="a", second="b")
def compare(model: Any, given: Any) -> dict[str, Any]:
    """How alike two words or phrases are, in all ways to compose them."""
    from corpuscle.words import COMPOSITIONS, compose

    meaning = _meaning(model)
    phrases = [meaning.phrase(each) for each in (given.first, given.second)]
    alone = all(len(phrase.terms) == 1 for phrase in phrases)
    composed = compose(meaning, phrases, ways=COMPOSITIONS[:1] if alone else COMPOSITIONS)
    values = {way: float(meaning.similarity_of(rows[:1], rows[1:])[0]) for way, rows in composed.vectors.items()}
    return {"first": str(phrases[0]), "second": str(phrases[1]), "similarity": values}


def _in_context(model: Any, given: Any) -> tuple[Any, Any]:
    """The meanings of a model, and the sentences that were given, as it reads them."""
    from corpuscle.text import read_strings
    from corpuscle.words.forests import Forest
    from corpuscle.words.senses import Sentences

    if model.structure == "tree":
        raise SettingError("this model has learned from trees, and plain text has none")
    corpus = read_strings(lines_of(given), preprocessing=model.preprocessing)
    return _meaning(model), Sentences(Forest.chain(corpus), lambda i: " ".join(corpus.words(i)))


def _token(token: Any) -> dict[str, Any]:
    return {"sentence": token.sentence, "token": token.place, "text": token.shown}


@verb("meaning", InContext, kinds=_HMM, word="a", text="a b c", k=3)
def senses(model: Any, given: Any) -> dict[str, Any]:
    """The senses of a word in some sentences: its tokens clustered, with the words nearest to each cluster."""
    from corpuscle.words.senses import senses as find_senses

    meaning, sentences = _in_context(model, given)
    rows = [
        {"share": sense.share, "tokens": len(sense.tokens), "words": _near(sense.words),
         "examples": [_token(token) for token in sense.tokens[:5]]}
        for sense in find_senses(meaning, given.word, sentences, None, given.k)
    ]  # fmt: skip
    return {"word": meaning.vocab.word(meaning.id(given.word)), "senses": rows}


@verb("meaning", InContext, kinds=_HMM, word="a", text="a b c", k=3)
def substitutes(model: Any, given: Any) -> dict[str, Any]:
    """What could stand in the place of a word, for each of its first tokens in some sentences."""
    from corpuscle.words.senses import substitutes as find_substitutes

    meaning, sentences = _in_context(model, given)
    found = find_substitutes(meaning, given.word, sentences, given.k, _MOST_TOKENS)
    rows = [_token(token) | {"words": _near(words)} for token, words in found]
    return {"word": meaning.vocab.word(meaning.id(given.word)), "tokens": rows}


@verb("meaning", Words, kinds=_HMM, words="a", k=3)
def meanings(model: Any, given: Any) -> dict[str, Any]:
    """A picture of words by their meaning, with their neighbours."""
    from corpuscle.words.senses import draw_meanings

    words = given.words.split()[:20]
    if not words:
        raise SettingError("words: at least one is needed")
    return {"words": words, "svg": draw_meanings(_meaning(model), words, None, given.k, 1)}
