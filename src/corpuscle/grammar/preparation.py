"""From treebank trees to binary ones whose words all have a tag, and back.

What is not learned is taken out: traces and what they leave empty, function tags, an outermost node that says nothing,
a node over a node with the same label. A chain of nodes becomes one (``NP+NNP``), which makes every node a pair or a
tag; wider ones are factored (``text.trees``). A label that is a phrase and a tag gets ``^t`` where it is a tag.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.errors import warn
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees, binarise, chain_of, collapse_unaries, expand_unaries, original_label, unbinarise

_TAG = "^t"


def clean(trees: Trees) -> Trees:
    """Trees without traces, function tags, meaningless roots and repeated labels; a root without a label is a TOP."""
    trees = trees.without_traces().without_functions().without_root().without_repeats()
    if (trees.labels.ids > 0).all():
        return trees
    return dataclasses.replace(trees, labels=Layer.from_strings([each or "TOP" for each in trees.labels.strings()], ""))


def prepare(trees: Trees, side: str, horizontal: int, vertical: int) -> Trees:
    """Clean trees as binary ones; every word has a tag of its own."""
    trees = clean(trees)
    bare = np.flatnonzero(~trees.preterminals[trees._word_nodes])
    if len(bare):
        number = int(np.searchsorted(trees.words.sentence_starts, bare[0], "right")) - 1
        word = trees.words.vocab.word(int(trees.words.tokens[bare[0]]))
        raise trees.error(f"tree {number + 1:,}: the word {word!r} has no tag of its own", number)
    trees = binarise(collapse_unaries(trees), side, horizontal, vertical)
    ids, tags = trees.labels.ids, trees.preterminals
    values = trees.labels.values
    both = np.intersect1d(ids[tags], ids[~tags]).tolist()
    if not both:
        return trees
    warn(
        f"{len(both)} labels are phrases and tags: {', '.join(values[id] for id in both[:5])}; as tags they get {_TAG}"
    )
    wrong = tags & np.isin(ids, both)
    labels = [values[id] + _TAG if bad else values[id] for id, bad in zip(ids.tolist(), wrong.tolist(), strict=True)]
    return dataclasses.replace(trees, labels=Layer.from_strings(labels, missing=""))


def sequence_trees(bank: Treebank) -> Trees:
    """Words with their tags (XPOS where there are any, else UPOS) as trees that branch to the right: above the words
    from the i-th on stands ``=t``, t the i-th tag. A rule ``=t`` -> t ``=u`` is a step from one tag to the next, so a
    grammar with hidden states is a tagger with hidden states behind its tags."""
    tags = (bank.xpos if bank.xpos.ids.any() else bank.tags).strings()
    names = sorted({*tags, *(f"={tag}" for tag in tags)})
    number = {name: at for at, name in enumerate(names)}
    found = []
    for first, last in pairwise(bank.corpus.sentence_starts.tolist()):
        nodes, n = [], last - first
        for i, tag in enumerate(tags[first:last]):
            nodes += [(number[f"={tag}"], i, n)] if i + 1 < n else []
            nodes.append((number[tag], i, i + 1))
        found.append(np.array(nodes, np.int32).reshape(-1, 3))
    return trees_from(found, bank.corpus, names)


def restore(trees: Trees) -> Trees:
    """Binary trees as they would stand in a treebank."""
    return expand_unaries(unbinarise(trees))


class Symbols(NamedTuple):
    """The labels of binary trees: phrases first, then tags; ``base``: of each tag, the number of the treebank's own
    tag, which is the last of its chain, int64 (n_tags,); ``bases``: their names."""

    names: list[str]
    n_phrases: int
    base: np.ndarray
    bases: list[str]

    @classmethod
    def of(cls, names: list[str], n_phrases: int) -> Symbols:
        """From the names of phrases and tags."""
        ends = [chain_of(original_label(name))[-1] for name in names[n_phrases:]]
        bases = sorted(set(ends))
        numbers = {name: number for number, name in enumerate(bases)}
        return cls(names, n_phrases, np.array([numbers[end] for end in ends], np.int64), bases)


class TreeNodes(NamedTuple):
    """The nodes of all binary trees in preorder, as numbers.

    - ``symbols``: int32 (n_nodes,); ``parents``, ``lefts``, ``rights``: int64 (n_nodes,), nodes or -1;
    - ``words``: int64 (n_nodes,), the word below a tag as an index into all words, -1 for phrases;
    - ``spans``: int64 (n_nodes, 2), within the sentence; ``tree_starts``: int64 (n_trees + 1,).
    """

    symbols: np.ndarray
    parents: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    words: np.ndarray
    spans: np.ndarray
    tree_starts: np.ndarray


def nodes_of(trees: Trees) -> tuple[Symbols, TreeNodes]:
    """The nodes of prepared trees, and their symbols."""
    values, tags = trees.labels.values, trees.preterminals
    used = np.unique(trees.labels.ids)
    is_tag = np.zeros(len(values), bool)
    is_tag[trees.labels.ids[tags]] = True
    order = sorted(used.tolist(), key=lambda id: (bool(is_tag[id]), values[id]))
    numbers = np.full(len(values), -1, np.int32)
    numbers[order] = np.arange(len(order))
    starts, items = trees.children
    first, second = starts[:-1], starts[:-1] + 1
    pair = ~tags
    lefts, rights, words = (np.full(trees.n_nodes, -1, np.int64) for _ in range(3))
    lefts[pair], rights[pair] = items[first[pair]], items[second[pair]]
    words[tags] = ~items[first[tags]]
    parents = np.where(trees.parents < 0, -1, trees._node_parents)
    symbols = Symbols.of([values[id] for id in order], int((~is_tag[order]).sum()))
    spans = trees.spans.astype(np.int64)
    return symbols, TreeNodes(numbers[trees.labels.ids], parents, lefts, rights, words, spans, trees.tree_starts)


def trees_from(found: list[np.ndarray], words: Corpus, names: list[str]) -> Trees:
    """Trees from nodes (symbol, first word, end) in preorder, int32 (n_nodes, 3); none for a sentence without a tree,
    whose words are then left out."""
    parents: list[int] = []
    word_parents: list[int] = []
    for nodes in found:
        stack: list[tuple[int, int]] = []  # end of a span, number of its node
        for number, (_, first, end) in enumerate(nodes.tolist()):
            while stack and stack[-1][0] <= first:
                stack.pop()
            parents.append(stack[-1][1] if stack else -1)
            stack.append((end, number))
            if end - first == 1:
                word_parents.append(number)
    all_nodes = np.concatenate([np.empty((0, 3), np.int32), *found])
    empty = np.array([len(nodes) == 0 for nodes in found], bool)
    if empty.any():
        words = _emptied(words, empty)
    return Trees(
        words,
        Layer.from_strings([names[symbol] for symbol in all_nodes[:, 0].tolist()], missing=""),
        np.array(parents, np.int32),
        np.ascontiguousarray(all_nodes[:, 1:], np.int32),
        starts_of([len(nodes) for nodes in found]),
        np.array(word_parents, np.int32),
    )


def _emptied(words: Corpus, which: np.ndarray) -> Corpus:
    """The corpus with some sentences left empty."""
    lengths = np.where(which, 0, words.lengths)
    tokens = words.tokens[np.repeat(~which, words.lengths)]
    return Corpus(tokens, starts_of(lengths), words.vocab, origin=words.origin)
