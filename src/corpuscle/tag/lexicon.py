"""What a tagger knows before it sees a sentence: its labels, the words it has met, and what words look like.

A label is a combination of the values of all layers that are learned (UPOS, XPOS, FEATS), written with tabs between
them. The lexicon has the forms of the training text, by their hashes, with the labels that each was seen with. While
weights are learned, a word that occurs once is treated as if it were unknown, so that unknown words find weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array
from corpuscle.tag.kernels import Labels, Words, hash_affixes
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.text.wording import shape_of
from corpuscle.words import WordFeatures

_ENDINGS, _BEGINNINGS = 5, 4
_WORD, _TAGS, _SHAPE, _ENDING, _BEGINNING = 0, 1, 2, 3, 3 + _ENDINGS
_SOURCES = _BEGINNING + _BEGINNINGS
"""Columns of values: the word in lower case, the tags it may have, its shape, endings, beginnings; then the sources."""
_TWICE = 2  # words that occur less often have no features of their own
_USUAL = 0.05
"""A coarse tag is one that a word may have if it has at least this share of its occurrences."""
_SELDOM = 10
"""Labels that at least two words of at most this number of occurrences have are those of open classes."""

ARRAYS = {
    "forms": Array("uint64", ("forms",), rising=True),
    "counts": Array("int64", ("forms",), low=1),
    "tags": Array("uint64", ("forms",)),
    "lexicon/starts": Array("int64", ("forms+1",), offsets_into="pairs"),
    "lexicon/labels": Array("int32", ("pairs",), low=0, high="types"),
    "words": Array("uint64", ("words",), rising=True),
    "open": Array("int32", ("open",), low=0, high="types"),
}


def _templates(n_sources: int) -> np.ndarray:
    """What is looked at: for each template up to three pairs of a distance and a column, int32 (n, 3, 2)."""
    third, second = _ENDING + 2, _ENDING + 1
    found = [[(0, column)] for column in range(_SOURCES)]
    found += [[(far, column)] for column in (_WORD, _TAGS) for far in (-2, -1, 1, 2)]
    found += [[(far, column)] for column in (third, _SHAPE) for far in (-1, 1)]
    found += [
        [(0, _WORD), (-1, _WORD)], [(0, _WORD), (1, _WORD)], [(-1, _WORD), (1, _WORD)],
        [(0, _TAGS), (1, _TAGS)], [(0, _TAGS), (-1, _TAGS)], [(-1, _TAGS), (0, _TAGS), (1, _TAGS)],
        [(0, _TAGS), (1, _TAGS), (2, _TAGS)], [(0, _WORD), (0, _SHAPE)], [(0, third), (0, _SHAPE)],
        [(0, second), (-1, _TAGS)], [(0, third), (1, _TAGS)], [(0, third), (-1, _WORD)],
        [(0, _SHAPE), (-1, _SHAPE)], [(0, _SHAPE), (1, _SHAPE)], [(0, second), (0, _BEGINNING + 1)],
    ]  # fmt: skip
    for column in range(_SOURCES, _SOURCES + n_sources):
        found += [[(far, column)] for far in (-1, 0, 1)] + [[(0, column), (1, column)], [(-1, column), (0, column)]]
    return np.array([[*pairs, *[(0, -1)] * (3 - len(pairs))] for pairs in found], np.int32)


class Lexicon(NamedTuple):
    """The labels with their parts, see ``Labels``, and the arrays that ``ARRAYS`` declares."""

    labels: Labels
    arrays: Mapping[str, np.ndarray]

    @classmethod
    def learn(cls, corpus: Corpus, ids: np.ndarray, names: Vocab, by_tag: bool) -> Lexicon:
        """From the words of a treebank and their labels, ``ids`` int32 (n_words,), in ``names``."""
        n_labels, types = len(names) - FIRST, np.unique(corpus.tokens)
        hashes = hashes_of([corpus.vocab.word(type_) for type_ in types.tolist()])
        ranks = np.argsort(np.argsort(hashes))
        pairs, counts = np.unique(ranks[np.searchsorted(types, corpus.tokens)] * n_labels + ids, return_counts=True)
        order = np.lexsort((-counts, pairs // n_labels))
        rows, labels, counts = pairs[order] // n_labels, pairs[order] % n_labels, counts[order]
        starts = np.searchsorted(rows, np.arange(len(types) + 1))
        totals = np.add.reduceat(counts, starts[:-1])
        parts = _parts(names, by_tag)
        coarse, usual = parts[1][parts[0][labels]], counts >= _USUAL * totals[rows]
        tags = [",".join(map(str, dict.fromkeys(coarse[a:b][usual[a:b]].tolist()))) for a, b in
                pairwise(starts.tolist())]  # fmt: skip
        seldom = np.bincount(labels[totals[rows] <= _SELDOM], minlength=n_labels)
        opened = np.flatnonzero(seldom >= min(2, seldom.max())).astype(np.int32)
        frequent: Counter[str] = Counter()
        for form, count in zip(corpus.vocab.strings, np.bincount(corpus.tokens, minlength=len(corpus.vocab)).tolist(),
                               strict=True):  # fmt: skip
            frequent[form.lower()] += count
        words = np.unique(hashes_of([form for form, count in frequent.items() if count >= _TWICE]))
        return cls.of(names, by_tag, {
            "forms": np.sort(hashes), "counts": totals.astype(np.int64), "tags": hashes_of(tags),
            "lexicon/starts": starts.astype(np.int64), "lexicon/labels": labels.astype(np.int32),
            "words": words, "open": opened,
        })  # fmt: skip

    @classmethod
    def of(cls, names: Vocab, by_tag: bool, arrays: Mapping[str, np.ndarray]) -> Lexicon:
        """From the arrays of a file; ``by_tag``: labels begin with a UPOS."""
        kept = {name: frozen(arrays[name], arrays[name].dtype) for name in ARRAYS}
        lexicon = kept["lexicon/starts"], kept["lexicon/labels"], kept["open"]
        return cls(Labels(*_parts(names, by_tag), *lexicon), kept)

    def words(self, corpus: Corpus, closed: int, sources: WordFeatures, *, learning: bool = False) -> Words:
        """The words of a text as the kernels see them; ``closed``: see ``TaggerSettings``."""
        forms, arrays = corpus.vocab.strings, self.arrays
        lower = [form.lower() for form in forms]
        lowered, shapes = hashes_of(lower), hashes_of([shape_of(form[:12], 1, ".") for form in forms])
        entries = find(hashes_of(forms), arrays["forms"])
        counts = np.where(entries >= 0, arrays["counts"][entries], 0)
        if learning:
            entries[counts < _TWICE] = -1
        # A word that is known in lower case only, as at the beginning of a sentence, is taken for that one.
        others = find(lowered, arrays["forms"])
        others[arrays["counts"][others] < _TWICE] = -1
        trusted = (counts >= _TWICE) | ((entries < 0) & (others >= 0))
        entries = np.where(entries < 0, others, entries).astype(np.int32)
        values = np.zeros((len(forms) + 2, _SOURCES + sources.n_columns), np.uint64)
        values[:-2, _WORD] = np.where(find(lowered, arrays["words"]) >= 0, lowered, 0)
        values[:-2, _TAGS] = np.where(trusted, arrays["tags"][entries], shapes)
        values[:-2, _SHAPE] = shapes
        affixes = [np.zeros((len(forms), width), np.uint64) for width in (_ENDINGS, _BEGINNINGS)]
        encoded = [form.encode() for form in lower]
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        hash_affixes(np.frombuffer(b"".join(encoded), np.uint8), offsets, *affixes)
        values[:-2, _ENDING:_SOURCES] = np.hstack(affixes)
        values[:-2, _SOURCES:] = sources.of(forms)
        values[-2:] = hashes_of(["<before>", "<after>"])[:, None]
        open_, templates = (counts < closed) | (entries < 0), _templates(sources.n_columns)
        return Words(corpus.sentence_starts, np.asarray(corpus.tokens, np.int32), values, entries, open_, templates)


def _parts(names: Vocab, by_tag: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """The parts of all labels as in ``Labels``: its UPOS, or else the first letter of its tag, and its FEATS."""
    numbers: dict[str, int] = {}
    rows = []
    for label in names.strings[FIRST:]:
        values = label.split("\t")
        coarse = values[0] if by_tag else values[0][:1]
        features = values[-1].split("|") if "=" in values[-1] else []
        rows.append([numbers.setdefault(part, len(numbers)) for part in dict.fromkeys([" " + coarse, *features])])
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.array([part for row in rows for part in row], np.int32), len(numbers)
