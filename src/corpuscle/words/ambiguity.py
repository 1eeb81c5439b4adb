"""Words of several senses, as far as a hidden Markov model can tell: words whose tokens are of classes that differ.

How ambiguous a word is: draw two of its tokens, and a word from the class of each; the measure is how little the two
distributions of words have in common,

    1 - sum over classes c, d of  s(c) s(d) sum over words v of sqrt(p(v | c) p(v | d)),

where s are the shares of classes among the tokens of the word. It is 0 for a word of one class, and hardly more for a
word between two classes of the same words, however evenly it is shared (Rao's quadratic entropy, with the Hellinger
affinity of classes). ``senses`` looks at the tokens of one word instead, and clusters them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST
from corpuscle.words.forests import Forest
from corpuscle.words.hmm import HmmClasses

MOST = 1000
"""So many tokens of a word are looked at for a clear sentence."""


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
            place = places[row][number]
            if part >= share and place is not None:
                members = model.words_of(number, others + 1)
                words = [other for other, tokens in members if other != word and tokens >= 0.5][:others]
                classes.append(ClassOfWord(number, part, words, *place))
        result.append(AmbiguousWord(word, int(counts[id]), float(found[id]), classes))
    return result


def _clearest(model: HmmClasses, text: Corpus | Forest, ids: np.ndarray) -> list[list[tuple[list[str], int] | None]]:
    """For each of some words and each class, the sentence in which the word is most probably of that class, and where
    it stands there; of the first ``MOST`` tokens of a word and whatever other sentences show."""
    forest = Forest.of(text, model.structure)
    recoded = forest.recode(model.vocab_)
    wanted = np.zeros(recoded.n_tokens, bool)
    for id in ids:
        wanted[np.flatnonzero(recoded.corpus.tokens == id)[:MOST]] = True
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
    return [
        [
            None if at < 0 else (forest.corpus.words(int(s)), int(at - starts[s]))
            for at, s in zip(where[row], sentences[row], strict=True)
        ]
        for row in range(len(ids))
    ]
