"""The contexts of a text as a suffix trie, written from the nearest word outwards, and collapsed to a suffix tree.

The root is the empty context, and a child is its parent with one more word before it. An *entry* is a context with a
word that followed it, in other words an n-gram; its parent entry is the n-gram without its oldest word. So the suffixes
of ``engine.ngrams.trie`` are the parents of both, and all that is new here is an order: preorder, in which a subtree is
a range and parents come before children. Everything below a word that stands before the predicted one is a range, too,
which threads can have for themselves.

Collapsed: a context whose every occurrence has the same word before it says nothing that this longer context does not
say. Chains of such contexts, each with as many occurrences as the next, become one node that stands for ``sizes`` of
them. They have the same next words with the same counts, so that one entry stands for one of each.

Weiner, "Linear pattern matching algorithms", 1973; Nelakanti et al., "Structured penalties for log-linear language
models", 2013, section 2.2 (S is the trie, T the tree).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import Ngrams, find, frozen_ngrams, suffixes_of


class SuffixTree(NamedTuple):
    """Contexts in preorder, the empty one first, and their entries, those of the same context side by side.

    - ``parents``: int32 (nodes,), the context without its farthest word, -1 for the root;
    - ``depths``: int32 (nodes,), how many words a context has; a collapsed one, the shortest of its contexts;
    - ``sizes``: int32 (nodes,), for how many contexts of the trie it stands;
    - ``ends``: int32 (nodes,), how many positions have no longer context than this;
    - ``starts``: int64 (nodes + 1,), where the entries of each node begin;
    - ``entry_parents``: int32 (entries,), -1 for those of the root, which are the symbols in their order;
    - ``words``: int32 (entries,), the next words; ``counts``: int32 (entries,), how often they follow;
    - ``entry_of``: int32 (rows,), the entry that every row of the n-grams has become.
    """

    parents: np.ndarray
    depths: np.ndarray
    sizes: np.ndarray
    ends: np.ndarray
    starts: np.ndarray
    entry_parents: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    entry_of: np.ndarray

    @property
    def n_entries(self) -> int:
        return len(self.words)

    @property
    def entry_nodes(self) -> np.ndarray:
        """The context of each entry, int32 (entries,)."""
        return np.repeat(np.arange(len(self.parents), dtype=np.int32), np.diff(self.starts))


_TYPES = (np.int32, np.int32, np.int32, np.int32, np.int64, np.int32, np.int32, np.int32, np.int32)


def _frozen(*arrays: np.ndarray) -> SuffixTree:
    return SuffixTree(*map(frozen, arrays, _TYPES))


@kernel
def _places(ngrams, alive, places):
    """The place of each context in preorder, from 1 on (0 is the root); -1 where it is not alive. Siblings come by
    their farthest word, because rows do. Returns the number of nodes."""
    n = len(alive)
    below, free = np.zeros(n, np.int64), np.zeros(n, np.int64)
    total, at = 1, 1
    for context in range(n - 1, -1, -1):
        if alive[context]:
            total += 1
            below[context] += 1
            if ngrams.suffix[context] >= 0:
                below[ngrams.suffix[context]] += below[context]
    for context in range(n):
        places[context] = -1
        if not alive[context]:
            continue
        parent = ngrams.suffix[context]
        if parent < 0:
            places[context] = at
            at += below[context]
        else:
            places[context] = free[parent]
            free[parent] += below[context]
        free[context] = places[context] + 1
    return total


@kernel
def _fill(ngrams, counts, places, tree):
    """Copy contexts and rows to their places; ``tree.starts`` has the numbers of entries, and becomes their starts."""
    starts, entry_of = tree.starts, tree.entry_of
    for node in range(len(tree.parents)):
        starts[node + 1] += starts[node]
    for row in range(starts[1]):
        entry_of[row] = row
        tree.entry_parents[row], tree.words[row], tree.counts[row] = -1, row, counts[row]
        tree.ends[0] += counts[row]
    for context in range(len(places)):
        node = places[context]
        if node < 0:
            continue
        suffix = ngrams.suffix[context]
        parent = places[suffix] if suffix >= 0 else 0
        tree.parents[node], tree.depths[node], tree.sizes[node] = parent, tree.depths[parent] + 1, 1
        first = ngrams.first_child[context]
        for row in range(first, ngrams.first_child[context + 1]):
            entry = starts[node] + row - first
            entry_of[row] = entry
            tree.entry_parents[entry] = entry_of[ngrams.suffix[row]]
            tree.words[entry], tree.counts[entry] = ngrams.words[row], counts[row]
            tree.ends[node] += counts[row]
            tree.ends[parent] -= counts[row]


def suffix_trie(ngrams: Ngrams, predictable: np.ndarray) -> SuffixTree:
    """The trie of the contexts of some n-grams; words that are not ``predictable``, bool (n_types,), follow nothing."""
    n_types = int(ngrams.levels[1])
    counts = np.array(ngrams.counts)
    counts[:n_types][~predictable] = 0
    sums = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    alive = sums[ngrams.first_child[1:]] > sums[ngrams.first_child[:-1]]
    places = np.empty(len(alive), np.int64)
    nodes = _places(ngrams, alive, places)
    starts = np.zeros(nodes + 1, np.int64)
    starts[1] = n_types
    starts[places[alive] + 1] = np.diff(ngrams.first_child)[alive]
    arrays = [np.zeros(n, np.int32) for n in (nodes, len(ngrams.words)) for _ in range(4)]
    tree = SuffixTree(*arrays[:4], starts, *arrays[4:])  # type: ignore[call-arg]
    tree.parents[0], tree.sizes[0] = -1, 1
    _fill(ngrams, frozen(counts, np.int32), places, tree)
    return _frozen(*tree)


@kernel
def _map_entries(tree, kept, entries):
    """Where each entry goes: to those of its node if that is kept, else to what its parent entry has become."""
    at = 0
    for node in range(len(kept)):
        for entry in range(tree.starts[node], tree.starts[node + 1]):
            if kept[node]:
                entries[entry] = at
                at += 1
            else:
                entries[entry] = entries[tree.entry_parents[entry]]


def _kept(tree: SuffixTree) -> np.ndarray:
    """Whether a context occurs less often than its parent, bool (nodes,); those next to the root are always kept."""
    occurrences = np.add.reduceat(tree.counts.astype(np.int64), tree.starts[:-1])
    return (tree.parents <= 0) | (occurrences != occurrences[np.maximum(tree.parents, 0)])


def collapsed(tree: SuffixTree) -> SuffixTree:
    """The suffix tree of a trie: contexts that always occur within one longer context are one with it."""
    kept, above = _kept(tree), np.maximum(tree.parents, 0)
    nodes = np.cumsum(kept) - 1  # a chain follows its first context in preorder, so all of it gets the number of that
    entries = np.empty(tree.n_entries, np.int32)
    _map_entries(tree, kept, entries)
    total = int(kept.sum())
    of_kept = np.repeat(kept, np.diff(tree.starts))
    parents = np.where(tree.parents[kept] < 0, -1, nodes[above[kept]])
    entry_parents = tree.entry_parents[of_kept]
    return _frozen(
        parents,
        tree.depths[kept],
        np.bincount(nodes, tree.sizes, total),
        np.bincount(nodes, tree.ends, total),
        np.concatenate([[0], np.cumsum(np.diff(tree.starts)[kept])]),
        np.where(entry_parents < 0, -1, entries[entry_parents]),
        tree.words[of_kept],
        tree.counts[of_kept],
        entries[tree.entry_of],
    )


@kernel
def _levels(parents, kept, levels):
    for node in range(1, len(parents)):
        levels[node] = levels[parents[node]] + kept[node]


def levels_of(tree: SuffixTree) -> np.ndarray:
    """How many nodes of the collapsed tree are above each node of it, or of its trie: int32 (nodes,)."""
    levels = np.zeros(len(tree.parents), np.int32)
    _levels(tree.parents, _kept(tree), levels)
    return levels


@kernel
def _longest_matches(ngrams, symbols, start, end, contexts, rows):
    """``longest_matches`` of one stream."""
    state = np.int64(-1)
    for i in range(len(symbols)):
        word = np.int64(symbols[i])
        row, at = np.int64(-1), state
        while row < 0 and at >= 0 and word != start:
            row = find(ngrams.words, np.int64(ngrams.first_child[at]), np.int64(ngrams.first_child[at + 1]), word)
            at = np.int64(ngrams.suffix[at])
        row = row if row >= 0 else word
        contexts[i], rows[i] = (state, row) if word != start else (-2, -2)
        # The next context is the longest ending of this n-gram that words follow.
        state = row if word != end else np.int64(-1)
        while state >= 0 and (
            state >= len(ngrams.first_child) - 1 or ngrams.first_child[state] == ngrams.first_child[state + 1]
        ):
            state = np.int64(ngrams.suffix[state])


def with_all_words(ngrams: Ngrams, order: int) -> Ngrams:
    """The same n-grams, and up to an order those that never occurred: every word after every context that was followed
    by some word."""
    n_types, levels = int(ngrams.levels[1]), ngrams.levels.tolist()
    sums = np.concatenate([[0], np.cumsum(ngrams.counts, dtype=np.int64)])
    followed = sums[ngrams.first_child[1:]] > sums[ngrams.first_child[:-1]]
    context_of = np.repeat(np.arange(len(followed)), np.diff(ngrams.first_child))  # of the rows behind the unigrams
    place = np.full(len(ngrams.words), -1)  # the new row of each old one
    place[:n_types] = np.arange(n_types)
    new_levels, words, counts, children = [0, n_types], [ngrams.words[:n_types]], [ngrams.counts[:n_types]], []
    for m in range(2, ngrams.order + 1):
        before, here = slice(levels[m - 2], levels[m - 1]), slice(levels[m - 1], levels[m])
        n_before = new_levels[-1] - new_levels[-2]
        at = place[before] - new_levels[-2]
        number = np.zeros(n_before, np.int64)
        number[at] = np.where(followed[before], n_types, 0) if m <= order else np.diff(ngrams.first_child)[before]
        starts = new_levels[-1] + np.cumsum(number) - number
        contexts = context_of[here.start - n_types : here.stop - n_types]
        first = starts[place[contexts] - new_levels[-2]]
        own = ngrams.words[here] if m <= order else np.arange(here.start, here.stop) - ngrams.first_child[contexts]
        place[here] = first + own
        total = int(number.sum())
        new = place[here] - new_levels[-1]
        level_words = np.empty(total, np.int32)
        if m <= order:
            level_words = np.tile(np.arange(n_types, dtype=np.int32), total // n_types)
        level_words[new] = ngrams.words[here]
        level_counts = np.zeros(total, np.int32)
        level_counts[new] = ngrams.counts[here]
        words.append(level_words)
        counts.append(level_counts)
        children.append(starts)
        new_levels.append(new_levels[-1] + total)
    first_child = np.concatenate([*children, new_levels[-1:]]) if children else np.zeros(1, np.int32)
    all_words = np.concatenate(words)
    suffix = suffixes_of(all_words, first_child)
    return frozen_ngrams(np.array(new_levels), all_words, first_child, suffix, np.concatenate(counts))


def longest_matches(ngrams: Ngrams, symbols: np.ndarray, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """For every symbol of a text with its boundaries the longest context before it, and the longest n-gram that it
    ends, as rows: int32 (n,) each, -1 for the empty context, -2 twice at start symbols, which nothing predicts."""
    contexts, rows = np.empty(len(symbols), np.int32), np.empty(len(symbols), np.int32)
    _longest_matches(ngrams, frozen(symbols, np.int32), start, end, contexts, rows)
    return contexts, rows
