"""Log-linear models over the contexts of a text: the suffix tree of contexts, exact loss and gradient in two passes.

**The tree.** Contexts are a suffix trie, written from the nearest word outwards. The root is the empty context, and a
child is its parent with one more word before it. An *entry* is a context with a word that followed it, in other words
an n-gram; its parent entry is the n-gram without its oldest word. So the suffixes of ``engine.ngrams.trie`` are the
parents of both, and all that is new here is an order: preorder, in which a subtree is a range and parents come before
children. Everything below a word that stands before the predicted one is a range, too, which threads can have for
themselves.

Collapsed: a context whose every occurrence has the same word before it says nothing that this longer context does not
say. Chains of such contexts, each with as many occurrences as the next, become one node that stands for ``sizes`` of
them. They have the same next words with the same counts, so that one entry stands for one of each.

**The model.** Every context s of a history x adds a weight to the scores of the words that have followed it:

    score(v | x) = sum of g_s w(s, v) over the contexts s of x that v followed in training
    p(v | x) = exp score(v | x) / Z(x)

Most words have followed the root alone, so Z changes little from a context to a longer one. With E(s, v) = exp of the
score up to s, which is that of the parent entry times exp(g w),

    Z(s) = Z(parent of s) + sum over the entries of s of E(parent entry) (exp(g w) - 1)

needs the entries of s and nothing else: all normalisers of a text cost one pass down the tree, parents first. The
gradient of the summed loss needs one pass up. With A(s) = sum of 1/Z over the positions whose history has s,

    G(s, v) = sum over these positions of p(v | history)
            = E(s, v) A(s) + sum over children s' of [G(s', v) - E(s, v) A(s')]

and the slope of w(s, v) is G - count. Neither pass depends on how many words there are times how many positions.

A collapsed node stands for c contexts with one weight: its g has the factor c, its slope, which is that of each of
them, has not. ``base`` are the scores of words before any weight: 0, or minus infinity for what is never predicted.

Nelakanti, Archambeau, Mairal, Bach and Bouchard, "Structured penalties for log-linear language models", 2013, eq. 1-2
and section 2.2 (S is the trie, T the tree); Weiner, "Linear pattern matching algorithms", 1973; the sums over shared
contexts follow Wu and Khudanpur, "Efficient training methods for maximum entropy language modeling", 2000.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import Ngrams, find, frozen_ngrams, suffixes_of
from corpuscle.scale import starts_of


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
    alive = np.diff(starts_of(counts)[ngrams.first_child]) > 0
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
        starts_of(np.diff(tree.starts)[kept]),
        np.where(entry_parents < 0, -1, entries[entry_parents]),
        tree.words[of_kept],
        tree.counts[of_kept],
        entries[tree.entry_of],
    )


def levels_of(tree: SuffixTree) -> np.ndarray:
    """How many nodes of the collapsed tree are above each node of it, or of its trie: int32 (nodes,)."""
    levels, kept = np.zeros(len(tree.parents), np.int32), _kept(tree)
    for depth in range(1, int(tree.depths.max()) + 1):
        here = np.flatnonzero(tree.depths == depth)
        levels[here] = levels[tree.parents[here]] + kept[here]
    return levels


@kernel
def _longest_matches(ngrams, symbols, start, end, contexts, rows):
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
    """The same n-grams, and up to an order those that never occurred: all words after all contexts with a next word."""
    n_types, levels = int(ngrams.levels[1]), ngrams.levels.tolist()
    followed = np.diff(starts_of(ngrams.counts)[ngrams.first_child]) > 0
    context_of = np.repeat(np.arange(len(followed)), np.diff(ngrams.first_child))  # of the rows behind the unigrams
    place = np.arange(len(ngrams.words))  # the new row of each old one
    new_levels, words, counts, children = [0, n_types], [ngrams.words[:n_types]], [ngrams.counts[:n_types]], []
    for m in range(2, ngrams.order + 1):
        here = slice(levels[m - 1], levels[m])
        contexts, own = place[context_of[here.start - n_types : here.stop - n_types]], ngrams.words[here]
        at = np.arange(len(own))
        if m <= order:
            all_contexts = place[levels[m - 2] + np.flatnonzero(followed[levels[m - 2] : levels[m - 1]])]
            at = np.searchsorted(all_contexts, contexts) * n_types + own
            contexts = np.repeat(all_contexts, n_types)
            own = np.tile(np.arange(n_types, dtype=np.int32), len(all_contexts))
        place[here] = new_levels[-1] + at
        words.append(own)
        counts.append(np.zeros(len(own), np.int32))
        counts[-1][at] = ngrams.counts[here]
        children.append(new_levels[-1] + np.searchsorted(contexts, np.arange(*new_levels[-2:])))
        new_levels.append(new_levels[-1] + len(own))
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


class Passes(NamedTuple):
    """What a node's weight counts for, and room for the passes over a suffix tree.

    - ``tree``: its ``ends`` and ``counts`` are those of the text to be predicted;
    - ``gains``: float64 (nodes,), what a score gains by a weight of 1; ``slopes``: float64 (nodes,), the same for one
      of the contexts of a collapsed node;
    - ``base``: float64 (n_types,);
    - ``exps``: float64 (entries,), E; ``totals``, ``sums``: float64 (nodes,), Z and A. All E and Z are divided by the
      exponential of the largest score at the root.
    """

    tree: SuffixTree
    gains: np.ndarray
    slopes: np.ndarray
    base: np.ndarray
    exps: np.ndarray
    totals: np.ndarray
    sums: np.ndarray


@kernel
def root_down(passes, weights, positions):
    """The pass down at the root: its part of the loss, with what all ``positions`` have in common."""
    tree, n, gain = passes.tree, passes.tree.starts[1], passes.gains[0]
    top, total, linear = -np.inf, 0.0, 0.0
    for e in range(n):
        top = max(top, passes.base[e] + gain * weights[e])
    for e in range(n):  # with the largest score taken off, no exponential is too large
        passes.exps[e] = math.exp(passes.base[e] + gain * weights[e] - top)
        total += passes.exps[e]
        linear += tree.counts[e] * gain * weights[e]
    passes.totals[0] = total
    return tree.ends[0] * math.log(total) + positions * top - linear


@kernel
def tree_down(passes, weights, first, last):
    """The pass down over the nodes ``first`` to ``last``, whose parents are among them or the root: their loss."""
    tree, exps, counts = passes.tree, passes.exps, passes.tree.counts
    loss = 0.0
    for s in range(first, last):
        gain, total = passes.gains[s], passes.totals[tree.parents[s]]
        for e in range(tree.starts[s], tree.starts[s + 1]):
            above = exps[tree.entry_parents[e]]
            exps[e] = above
            if weights[e] != 0.0:  # penalties leave most at zero: these cost no exponential
                added = gain * weights[e]
                more = above * math.expm1(added)  # exp - 1 loses nothing where g w is small
                total += more
                exps[e] += more
                loss -= counts[e] * added
        passes.totals[s] = total
        if tree.ends[s] > 0:
            loss += tree.ends[s] * math.log(total)
    return loss


@kernel
def tree_up(passes, positions, first, last, root, gradient):
    """The pass up over the same nodes: ``gradient`` (entries,), divided by ``positions``, and in ``root``
    (n_types + 1,) what goes up to the root, whose last number is for A."""
    tree, exps, sums, n = passes.tree, passes.exps, passes.sums, passes.tree.starts[1]
    for e in range(tree.starts[first], tree.starts[last]):
        gradient[e] = 0.0
    for s in range(first, last):
        sums[s] = 0.0
    for s in range(last - 1, first - 1, -1):  # children first; until its node comes, gradient[e] gathers theirs
        here = sums[s] + tree.ends[s] / passes.totals[s]  # A(s)
        if tree.parents[s] == 0:
            root[n] += here
        else:
            sums[tree.parents[s]] += here
        for e in range(tree.starts[s], tree.starts[s + 1]):
            expected = gradient[e] + exps[e] * here  # G(s, v)
            parent = tree.entry_parents[e]
            rest = expected - exps[parent] * here  # a term of the sum over children in G of the parent
            if parent < n:
                root[parent] += rest
            else:
                gradient[parent] += rest
            gradient[e] = passes.slopes[s] * (expected - tree.counts[e]) / positions


@kernel
def root_up(passes, positions, root, gradient):
    """The pass up at the root, after all others, with the sum of what they left for it."""
    tree, n = passes.tree, passes.tree.starts[1]
    here = root[n] + tree.ends[0] / passes.totals[0]
    for e in range(n):
        gradient[e] = passes.slopes[0] * (root[e] + passes.exps[e] * here - tree.counts[e]) / positions


@kernel
def descend(tree, point, gradient, metric, scale, signed, out, first, last):
    """A step against the gradient at the nodes ``first`` to ``last``, not below 0 from depth ``signed`` on."""
    for s in range(first, last):
        for e in range(tree.starts[s], tree.starts[s + 1]):
            out[e] = point[e] - gradient[e] / (scale * metric[e])
            if out[e] < 0.0 and tree.depths[s] >= signed:
                out[e] = 0.0


@kernel
def add_upwards(tree, counts):
    """Add the count of each entry to that of its parent, children first, in place."""
    for e in range(len(counts) - 1, -1, -1):
        if tree.entry_parents[e] >= 0:
            counts[tree.entry_parents[e]] += counts[e]


@kernel
def score_rows(ngrams, added, base, scores, totals):
    """Scores of all n-grams and log Z of all contexts from what every n-gram adds to its score, ``added`` (rows,):
    ``scores`` (rows,), and ``totals`` (contexts + 1,), whose last number is that of the empty context."""
    n, contexts = len(base), len(ngrams.first_child) - 1
    top, total = -np.inf, 0.0
    for row in range(n):
        scores[row] = base[row] + added[row]
        top = max(top, scores[row])
    for row in range(n):
        total += math.exp(scores[row] - top)
    totals[contexts] = total
    for context in range(contexts):
        suffix = ngrams.suffix[context]
        total = totals[suffix if suffix >= 0 else contexts]  # suffixes stand before: theirs are final, not yet logs
        for row in range(ngrams.first_child[context], ngrams.first_child[context + 1]):
            above = scores[ngrams.suffix[row]]
            scores[row] = above + added[row]
            if added[row] != 0.0:
                total += math.exp(above - top) * math.expm1(added[row])
        totals[context] = total
    for context in range(contexts + 1):
        totals[context] = math.log(totals[context]) + top
