"""Words in their sentences: the tokens of a word, which senses they fall into, what could stand in their place, a map.

In context, a token is a distribution over classes, so the tokens of one word can be clustered: by Ward's method on the
square roots of their distributions, whose Euclidean distance is Hellinger's. There are as many senses as classes that
have at least a tenth of the tokens, unless the user says otherwise.

On the map, words out of context and tokens in context stand together, by classical scaling of their Hellinger
distances, which finds points in a plane, given nothing but the distances between them. If D holds Euclidean distances,
B = -1/2 J D^2 J with J = I - 11'/n holds the inner products of the points around their mean, whose coordinates are the
eigenvectors of B times the square roots of its eigenvalues. The first two are the plane that keeps most. It is exact
where the points lie in a plane, and there is no chance in it.

Which words are worth such a look, the model alone can tell: those whose tokens are of classes that differ. How
ambiguous a word is: draw two of its tokens, and a word from the class of each; the measure is how little the two
distributions of words have in common,

    1 - sum over classes c, d of  s(c) s(d) sum over words v of sqrt(p(v | c) p(v | d)),

where s are the shares of classes among the tokens of the word. It is 0 for a word of one class, and hardly more for a
word between two classes of the same words, however evenly it is shared (Rao's quadratic entropy, with the Hellinger
affinity of classes).

Torgerson, "Multidimensional scaling: I. Theory and method", 1952.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.figures.maps import Place, place_map
from corpuscle.text.conllu import is_treebank, read_conllu
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import AnyPath
from corpuscle.text.plain import read_text
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST
from corpuscle.words.forests import Forest, forest_of
from corpuscle.words.hmm import HmmClasses
from corpuscle.words.meaning import Meaning, similarity_matrix

MOST_SENSES, SHARE = 6, 0.1
MOST_TOKENS = 2000  # of more tokens of a word, every n-th is clustered


class Sentences(NamedTuple):
    """A text as a model reads it, and each of its sentences as people do."""

    text: Forest
    shown: Callable[[int], str]


class Token(NamedTuple):
    """A token of a word: its sentence and place in it, both from 0 on, the sentence as people read it, and a few words
    around the token."""

    sentence: int
    place: int
    shown: str
    near: str


class Sense(NamedTuple):
    """Some tokens of a word that are alike: their mean (C,), their share of all its tokens, the words nearest to them,
    their most frequent classes with shares, and tokens, those nearest to the mean first."""

    vector: np.ndarray
    share: float
    words: list[tuple[str, float, int]]
    classes: list[tuple[int, float]]
    tokens: list[Token]


def sentences_of(model: HmmClasses, text: Treebank | Corpus) -> Sentences:
    if isinstance(text, Treebank):
        return Sentences(forest_of(text, model.structure, model.layer, model.preprocessing), text.text)
    return Sentences(Forest.chain(text), lambda i: " ".join(text.words(i)))


def read_sentences(model: HmmClasses, path: AnyPath) -> Sentences:
    """A text for a model: trees (CoNLL-U) where it needs them, else a treebank or plain text by the name of the file.
    Trees cannot be made of plain text: ``InputError``."""
    if is_treebank(path) or (model.structure == "tree" and os.fspath(path) == "-"):
        return sentences_of(model, read_conllu(path))
    if model.structure == "tree":
        raise InputError(path, None, "trees are needed, and this is no CoNLL-U file (.conllu)")
    return sentences_of(model, read_text(path, preprocessing=model.preprocessing))


def tokens_of(meaning: Meaning, id: int, sentences: Sentences, most: int) -> tuple[list[Token], np.ndarray]:
    """The tokens of a word in a text, at most ``most``, evenly over the text, and their distributions in context,
    float64 (tokens, C). Sentences that the model thinks impossible are left out."""
    forest = sentences.text.recode(meaning.vocab)
    starts = forest.corpus.sentence_starts
    found = np.flatnonzero(forest.corpus.tokens == id)
    if len(found) > most:
        found = found[np.arange(most) * len(found) // most]
    where = np.searchsorted(starts, found, side="right") - 1
    chosen = np.unique(where)
    rows = np.concatenate([np.empty((0, meaning.vectors.shape[1])), *meaning.model.posteriors(forest.select(chosen))])
    begins = np.concatenate([[0], np.cumsum(forest.corpus.lengths[chosen])])
    places = found - starts[where]
    rows = rows[begins[np.searchsorted(chosen, where)] + places]
    possible = rows.any(axis=1)
    tokens = []
    for s, p in zip(where[possible].tolist(), places[possible].tolist(), strict=True):
        # Two words on either side, without parts of speech.
        near = [word.rpartition("/")[0] or word for word in sentences.text.corpus.words(s)[max(0, p - 2) : p + 3]]
        tokens.append(Token(s, p, sentences.shown(s), " ".join(near)))
    return tokens, rows[possible] / rows[possible].sum(axis=1, keepdims=True)


def _tokens_or_error(
    meaning: Meaning, word: str, sentences: Sentences, most: int
) -> tuple[int, list[Token], np.ndarray]:
    id = meaning.id(word)
    tokens, rows = tokens_of(meaning, id, sentences, most)
    if not tokens:
        raise SettingError(f"the word {meaning.vocab.word(id)!r} does not occur in these sentences")
    return id, tokens, rows


def senses(meaning: Meaning, word: str, sentences: Sentences, number: int | None = None, k: int = 10) -> list[Sense]:
    """The senses of a word in a text, by falling share: ``number``, or as many as classes have a tenth of its tokens;
    each with its ``k`` nearest words of the same part of speech."""
    from scipy.cluster.hierarchy import fcluster, linkage

    id, tokens, rows = _tokens_or_error(meaning, word, sentences, MOST_TOKENS)
    if number is None:
        number = int(np.clip((rows.mean(axis=0) >= SHARE).sum(), 1, MOST_SENSES))
    groups = np.ones(len(rows), np.int64)
    if number > 1 and len(rows) > 1:
        groups = fcluster(linkage(np.sqrt(rows), "ward"), min(number, len(rows)), "maxclust")
    found = []
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        mean = rows[members].mean(axis=0)
        order = members[np.argsort(-meaning.similarities(mean[None], rows[members])[0], kind="stable")]
        classes = [(int(c), float(mean[c])) for c in np.argsort(-mean, kind="stable")[:3] if mean[c] >= 0.01]
        words = meaning.nearest(mean, k, meaning.tag(id), [id])
        found.append(Sense(mean, len(members) / len(rows), words, classes, [tokens[i] for i in order]))
    return sorted(found, key=lambda sense: -sense.share)


def substitutes(
    meaning: Meaning, word: str, sentences: Sentences, k: int = 10, most: int = 20
) -> list[tuple[Token, list[tuple[str, float, int]]]]:
    """Tokens of a word, at most ``most``, each with the ``k`` words that are most like it where it stands, of the same
    part of speech."""
    id, tokens, rows = _tokens_or_error(meaning, word, sentences, most)
    return list(zip(tokens, (meaning.nearest(row, k, meaning.tag(id), [id]) for row in rows), strict=True))


def draw_meanings(
    meaning: Meaning, words: Sequence[str], sentences: Sentences | None = None, k: int = 12, most: int = 12
) -> str:
    """An SVG of words out of context, with the ``k`` nearest of each, and of their tokens in some sentences, at most
    ``most`` of each word; near every token also the two words that could stand there best."""
    given = list(dict.fromkeys(meaning.id(word) for word in words))
    if not given:
        raise SettingError("a map needs at least one word")
    tokens: list[Token] = []
    rows = np.empty((0, meaning.vectors.shape[1]))
    shown = dict.fromkeys(given)
    for id in given:
        near = meaning.nearest(meaning.vectors[id], k, meaning.tag(id), given)
        if sentences is not None:
            more, distributions = tokens_of(meaning, id, sentences, most)
            tokens, rows = tokens + more, np.concatenate([rows, distributions])
            for row in distributions:
                near += meaning.nearest(row, 2, meaning.tag(id), given)
        shown |= dict.fromkeys(meaning.vocab.id(word) for word, _, _ in near)
    if sentences is not None and not tokens:
        raise SettingError(f"none of the words {', '.join(words)[:80]} occurs in these sentences")
    ids = list(shown)
    points = np.concatenate([meaning.vectors[ids], rows])
    places, kept = classical_scaling(-similarity_matrix(points, points))
    names = [
        Place(token.near, x, y, 1, token.shown, True)
        for token, (x, y) in zip(tokens, places[len(ids) :].tolist(), strict=True)
    ]
    for id, (x, y) in zip(ids, places[: len(ids)].tolist(), strict=True):
        word, count = meaning.vocab.word(id), round(meaning.counts[id])
        names.append(Place(word, x, y, 0, f"{word}: the mean of {count:,} tokens", id in given))
    title = "Words by their meaning" + (" (blue), and tokens in context (orange)" if tokens else "")
    part = "n/a" if np.isnan(kept) else f"{kept:.0%}"
    spoken = f"{len(ids)} words and {len(tokens)} tokens; the plane keeps {part} of their squared distances. "
    spoken += "; ".join(f"{place.name} at {place.x:.2f}, {place.y:.2f}" for place in names[:60])
    return place_map(names, title=title, description=spoken)


def classical_scaling(distances: np.ndarray) -> tuple[np.ndarray, float]:
    """Coordinates of points with the given distances (n, n), float64 (n, 2), and which share of the squared distances
    they keep; the coordinate furthest from 0 on each axis is positive."""
    squares = np.asarray(distances, np.float64) ** 2
    inner = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(inner)
    order = np.argsort(-values, kind="stable")[:2]
    kept = np.maximum(values[order], 0.0)
    places = np.zeros((len(squares), 2))
    places[:, : len(order)] = vectors[:, order] * np.sqrt(kept)
    places *= np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    total = np.maximum(values, 0.0).sum()
    return places, float(kept.sum() / total) if total > 0 else 1.0  # points in one place stay there


# ---- ambiguous words


SEARCHED = 1000  # tokens of a word that are searched for a clear sentence


class ClassOfWord(NamedTuple):
    """One class of a word: its number, its share of the tokens of the word, other words of the class, the most frequent
    first, and a sentence in which the word is most probably of it: its words, and the place of the word among them."""

    number: int
    share: float
    words: list[str]
    sentence: list[str]
    place: int


class AmbiguousWord(NamedTuple):
    """A word, how often it occurs, how ambiguous it is (0..1), and its classes by falling share."""

    word: str
    tokens: int
    ambiguity: float
    classes: list[ClassOfWord]


def ambiguities(model: HmmClasses) -> np.ndarray:
    """How ambiguous each word is, float64 (len(vocab_),), from 0 to 1; 0 for words that the training text lacks."""
    roots = np.sqrt(model.emission_.astype(np.float64))
    shares = model.shares_
    alike = np.einsum("vc,vc->v", shares @ (roots.T @ roots), shares)
    return np.where(shares.any(axis=1), np.clip(1.0 - alike, 0.0, 1.0), 0.0)


def ambiguous_words(
    model: HmmClasses, text: Corpus | Forest, k: int = 12, least: int = 20, share: float = 0.1, others: int = 8
) -> list[AmbiguousWord]:
    """The ``k`` most ambiguous words of at least ``least`` tokens that have two or more classes of at least ``share``
    of their tokens, each class with ``others`` of its words and a sentence of the text, if it has one."""
    counts, found = model.vocab_.counts, ambiguities(model)
    several = (model.shares_ >= share).sum(axis=1) >= 2
    ids = np.flatnonzero(several & (counts >= least) & (np.arange(len(counts)) >= FIRST))
    ids = ids[np.argsort(-found[ids], kind="stable")[:k]]
    places = _clearest(model, text, ids)
    result = []
    for row, id in enumerate(ids):
        word, classes = model.vocab_.word(int(id)), []
        for number, part in model.classes_of(word):
            place = places.get((row, number))
            if part >= share and place is not None:
                members = model.words_of(number, others + 1)
                words = [other for other, tokens in members if other != word and tokens >= 0.5][:others]
                classes.append(ClassOfWord(number, part, words, *place))
        result.append(AmbiguousWord(word, int(counts[id]), float(found[id]), classes))
    return result


def _clearest(
    model: HmmClasses, text: Corpus | Forest, ids: np.ndarray
) -> dict[tuple[int, int], tuple[list[str], int]]:
    """Number of a word and class -> the sentence in which the word is most probably of that class, and where it stands
    there; of the first ``SEARCHED`` tokens of a word and whatever other sentences show."""
    forest = Forest.of(text, model.structure)
    recoded = forest.recode(model.vocab_)
    wanted = np.zeros(recoded.n_tokens, bool)
    for id in ids:
        wanted[np.flatnonzero(recoded.corpus.tokens == id)[:SEARCHED]] = True
    has = np.add.reduceat(np.append(wanted, False), recoded.corpus.sentence_starts[:-1]) > 0
    has &= recoded.corpus.lengths > 0
    forest, recoded = forest.select(has), recoded.select(has)
    row_of = {int(id): row for row, id in enumerate(ids)}
    best = np.zeros((len(ids), model.n_classes_))
    where = np.full((len(ids), model.n_classes_), -1)
    first = 0
    for part in model.posteriors(recoded):
        tokens = recoded.corpus.tokens[first : first + len(part)]
        for place in np.flatnonzero(np.isin(tokens, ids)):
            row = row_of[int(tokens[place])]
            better = part[place] > best[row]
            best[row, better], where[row, better] = part[place][better], first + place
        first += len(part)
    starts = forest.corpus.sentence_starts
    sentences = np.searchsorted(starts, where, side="right") - 1
    return {
        (row, number): (forest.corpus.words(int(sentences[row, number])), int((where - starts[sentences])[row, number]))
        for row, number in np.argwhere(where >= 0).tolist()
    }
