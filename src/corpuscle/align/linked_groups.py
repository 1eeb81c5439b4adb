"""Links that people have drawn between the words of sentence pairs, as data for an aligner.

Words that are linked, directly or by others, make a group, and each group is a small sentence pair of its own that the
aligner learns from beside the whole sentences: Brown, Della Pietra, Della Pietra, Goldsmith, Hajic, Mercer, Mohanty,
"But dictionaries are data too", 1993.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from corpuscle.errors import InputError
from corpuscle.text.alignments import Alignments, read_pharaoh
from corpuscle.text.bitext import Bitext, read_bitext
from corpuscle.text.corpus import Corpus

Pair = tuple[list[str], list[str]]


def read_linked(path: str, sides: dict[str, str]) -> tuple[Bitext, Alignments]:
    """The links of a file (Pharaoh), and the sentences of both files beside it; ``sides``: their paths by suffix."""
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
    """The groups of all annotated pairs of some files but those pairs in ``without``, each given as its two sentences;
    for the files see ``read_linked``."""
    found: list[Pair] = []
    for each in files:
        bitext, links = read_linked(*each)
        for i, (source, target) in enumerate(bitext):
            if (" ".join(source), " ".join(target)) not in without:
                found += groups_of(source, target, links.pair(i))
    return found


def with_groups(bitext: Bitext, groups: list[Pair]) -> Bitext:
    """Sentence pairs with groups of linked words behind them."""
    if not groups:
        return bitext
    sides = ([*side, *(pair[i] for pair in groups)] for i, side in enumerate((bitext.source, bitext.target)))
    return Bitext(*map(Corpus.from_sentences, sides))
