"""Bilingual lexica: which words translate which, how often and how surely, with examples, from a learned model; and
the other way round, links that people have drawn between the words of sentence pairs, as data for an aligner.

Words that people have linked, directly or by others, make a group, and each group is a small sentence pair of its own
that the aligner learns from in addition to the whole sentences: Brown, Della Pietra, Della Pietra, Goldsmith, Hajic,
Mercer and Mohanty, "But dictionaries are data too", 1993.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from corpuscle.align.base import Aligner
from corpuscle.align.counts import rows_of
from corpuscle.errors import InputError
from corpuscle.text.alignments import Alignments, read_pharaoh
from corpuscle.text.bitext import Bitext, read_bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST, Vocab

_LEVEL, _SLOPE = 2.22, 0.25
"""Fitted to gold links of one half of the sentences of es-en, of fr-en and of the sample, each with the same weight;
bench/align_dictionary.py measures on the other half and elsewhere."""


class Entry(NamedTuple):
    """One translation.

    - ``links``: how many links are expected (mean of both directions);
    - ``forward`` is p(target | source), ``backward`` p(source | target); ``score`` their geometric mean;
    - ``example``: the number of a sentence pair (from 0) in which the two are linked, -1 if there is none.
    """

    source: str
    target: str
    links: float
    forward: float
    backward: float
    score: float
    example: int = -1

    @property
    def strength(self) -> float:
        """Its score, had both words been linked once more, to something else.

        A pair of words that was linked once, and always, has 0.5; one linked a hundred times 0.99.
        """
        shares = [self.links / (self.links / max(share, 1e-9) + 1) for share in (self.forward, self.backward)]
        return math.sqrt(shares[0] * shares[1])

    @property
    def confidence(self) -> float:
        """The expected share of right links, 0..1: a logistic function of the strength, fitted to gold links."""
        strength = min(max(self.strength, 1e-4), 1 - 1e-4)
        return 1 / (1 + math.exp(-_LEVEL - _SLOPE * math.log(strength / (1 - strength))))

    def shown_in(self, bitext: Bitext) -> list[str]:
        """Both sides of its example; empty where it has none."""
        sides = (bitext.source, bitext.target)
        return [" ".join(side.words(self.example)) if self.example >= 0 else "" for side in sides]


def _folded(vocab: Vocab) -> np.ndarray:
    """For each word the id of the same word in lower case, if the vocabulary has that; int64 (len(vocab),)."""
    ids = {word: number for number, word in enumerate(vocab.strings) if number >= FIRST}
    return np.array([ids.get(word.lower(), i) if i >= FIRST else i for i, word in enumerate(vocab.strings)], np.int64)


def _couples(model: Aligner, fold_case: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Couples of words: source words, target words, their expected links in both directions, float64 (2, n), and one of
    the model's couples that each comes from, the most frequent one."""
    rows, columns = rows_of(model.couples_).astype(np.int64), model.couples_.columns.astype(np.int64)
    counts = model.counts_.astype(np.float64)
    if not fold_case:
        return rows, columns, counts, np.arange(len(rows))
    width = len(model.target_vocab_)
    keys = _folded(model.source_vocab_)[rows] * width + _folded(model.target_vocab_)[columns]
    order = np.lexsort((-counts.sum(axis=0), keys))
    distinct, first, inverse = np.unique(keys[order], return_index=True, return_inverse=True)
    together = np.stack([np.bincount(inverse, row[order], len(distinct)) for row in counts])
    return distinct // width, distinct % width, together, order[first]


def lexicon(
    model: Aligner,
    *,
    min_links: float = 1.0,
    min_score: float = 0.1,
    examples: Bitext | None = None,
    fold_case: bool = False,
) -> list[Entry]:
    """The translations with enough links and a sufficient score, by falling frequency of the source word, then score.

    With ``examples``, a bitext, each entry gets the pair in which its link is most probable (shorter pairs first among
    equals), if that probability is at least 0.5. ``fold_case``: a word with capitals counts as the word in lower
    case, where the text has that, too.
    """
    rows, columns, counts, couple = _couples(model, fold_case)
    by_source = np.bincount(rows, counts[0], len(model.source_vocab_))
    by_target = np.bincount(columns, counts[1], len(model.target_vocab_))
    forward = counts[0] / np.maximum(by_source[rows], 1e-12)
    backward = counts[1] / np.maximum(by_target[columns], 1e-12)
    score, mean = np.sqrt(forward * backward), counts.mean(axis=0)
    kept = np.flatnonzero((mean >= min_links) & (score >= min_score) & (rows >= FIRST) & (columns >= FIRST))
    frequency = model.source_vocab_.counts[rows]
    kept = kept[np.lexsort((columns[kept], -score[kept], rows[kept], -frequency[kept]))]
    found = np.full(len(kept), -1) if examples is None else _examples(model, examples, couple[kept])
    words = zip(model.source_vocab_.decode(rows[kept]), model.target_vocab_.decode(columns[kept]), strict=True)
    figures = np.column_stack([mean, forward, backward, score])[kept].tolist()
    rest = zip(words, figures, found.tolist(), strict=True)
    return [Entry._make((*pair, *numbers, example)) for pair, numbers, example in rest]


def _examples(model: Aligner, bitext: Bitext, couples: np.ndarray) -> np.ndarray:
    """For each couple the sentence pair where its link is most probable, -1 if none is probable enough."""
    links = model.matrix(bitext).links()
    source = bitext.source.recode(model.source_vocab_)
    target = bitext.target.recode(model.target_vocab_)
    assert links.weights is not None
    left = source.tokens[source.sentence_starts[links.pairs] + links.links[:, 0]].astype(np.int64)
    right = target.tokens[target.sentence_starts[links.pairs] + links.links[:, 1]]
    width = np.int64(len(model.target_vocab_))
    keys = left * width + right
    lengths = (source.lengths + target.lengths)[links.pairs]
    order = np.lexsort((links.pairs, lengths, -np.round(links.weights, 2), keys))
    first = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
    rows = np.searchsorted(model.couples_.row_starts, couples, side="right") - 1
    wanted = rows * width + model.couples_.columns[couples]
    place = np.searchsorted(keys[first], wanted)
    hit = place < len(first)
    hit[hit] = keys[first][place[hit]] == wanted[hit]
    result = np.full(len(couples), -1)
    result[hit] = links.pairs[first[place[hit]]]
    return result


Pair = tuple[list[str], list[str]]


def read_linked(path: str, sides: dict[str, str]) -> tuple[Bitext, Alignments]:
    """The links of a file (Pharaoh), and the sentences that they link; ``sides``: the paths of these, by suffix."""
    if missing := [side for side in (".src", ".tgt") if side not in sides]:
        raise InputError(path, None, f"the sentences are missing: there is no {Path(path).stem}{missing[0]}")
    bitext, links = read_bitext(sides[".src"], sides[".tgt"]), read_pharaoh(path)
    if len(bitext) != len(links):
        raise InputError(path, None, f"{len(links)} lines of links, but {len(bitext)} sentence pairs")
    links.check_range(bitext, path)
    return bitext, links


def groups_of(source: list[str], target: list[str], links: np.ndarray) -> Iterator[Pair]:
    """The words of a pair that are linked with each other; ``links``: int (n, 2), places from 0 on.

    >>> list(groups_of(["a", "b", "c"], ["x", "y"], np.array([[0, 1], [2, 0], [2, 1]])))
    [(['a', 'c'], ['x', 'y'])]
    >>> list(groups_of(["a", "b", "c"], ["x", "y"], np.array([[0, 1], [2, 0]])))
    [(['a'], ['y']), (['c'], ['x'])]
    """
    n, words = len(source), len(source) + len(target)
    edges = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1] + n)), shape=(words, words))
    number, group = connected_components(edges, directed=False)
    for each in range(number):
        places = np.flatnonzero(group == each).tolist()
        pair = [source[i] for i in places if i < n], [target[i - n] for i in places if i >= n]
        if all(pair):
            yield pair


def linked_groups(files: Iterable[tuple[str, dict[str, str]]], without: Collection[tuple[str, str]] = ()) -> list[Pair]:
    """The groups of all pairs of some files (see ``read_linked``) but those ``without``, as their sentences."""
    found: list[Pair] = []
    for each in files:
        bitext, links = read_linked(*each)
        for i, (source, target) in enumerate(bitext):
            if (" ".join(source), " ".join(target)) not in without:
                found += groups_of(source, target, links.pair(i))
    return found


def with_groups(bitext: Bitext, groups: list[Pair]) -> Bitext:
    """A bitext, followed by groups of linked words as sentence pairs."""
    if not groups:
        return bitext
    sides = ([*side, *(pair[i] for pair in groups)] for i, side in enumerate((bitext.source, bitext.target)))
    return Bitext(*map(Corpus.from_sentences, sides))


_LIKELY, _SURE, SEVERAL = 0.87, 0.9, 1.5
_KINDS = ("content", "frequent", "alike")


def frequent_words(corpus: Corpus) -> set[str]:
    """The most frequent words, those that make up half of a text: few of them have a meaning of their own."""
    counts = corpus.vocab.counts[FIRST:]
    order = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    return {corpus.vocab.word(int(i) + FIRST) for i in order[before < 0.5 * counts.sum()]}


def kind_of(entry: Entry, frequent: set[str]) -> str:
    """``content``, ``frequent`` (half of the text consists of such words, and of marks), or ``alike``: written the same
    way in both languages, or without letters."""
    if entry.source.casefold() == entry.target.casefold() or not any(map(str.isalpha, entry.source)):
        return "alike"
    return "frequent" if entry.source in frequent else "content"


def content_first(entries: Iterable[Entry], frequent: set[str]) -> list[Entry]:
    """Entries by kind, and within a kind in their order."""
    return sorted(entries, key=lambda entry: _KINDS.index(kind_of(entry, frequent)))


def how_sure(links: float, confidence: float) -> str:
    """``seen once``, whatever its confidence, ``unsure``, ``likely`` or ``sure``.

    >>> how_sure(1.0, 0.95), how_sure(2.0, 0.95)
    ('seen once', 'sure')
    """
    if links < SEVERAL:
        return "seen once"
    return "sure" if confidence >= _SURE else "likely" if confidence >= _LIKELY else "unsure"
