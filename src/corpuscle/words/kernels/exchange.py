"""The exchange algorithm: put each word into the class where the class bigram model likes it best.

The model gives every word one class and every token a parent (its left neighbour in running text, its head in a tree;
a parent-only symbol, the *root*, stands before the first word):

    p(w | parent) = p(w | class(w)) p(class(w) | class(parent)).

Let n(A, B) count the tokens of class B whose parent is of class A, l(A) its row sums (how often A is a parent) and
r(B) its column sums (how often B occurs). With f(x) = x log x, the log-likelihood is, up to a constant of the words,

    F = sum f(n(A, B)) - sum f(l(A)) - sum f(r(B)),      A over all classes and the root, which is a class of its own.

A pass visits the words by falling frequency and moves each to the class that raises F most. Moving a word w touches
only the cells (its class, k) and (k, its class) where k is a class of one of w's neighbours, so the gains of *all*
classes cost one row of C numbers for each neighbouring class: the rows are contiguous because the table is kept both
ways round. Where w occurs once with k, which is most often the case, the row to add up, f(n + 1) - f(n), is kept ready.

Threads. Words are taken in batches; ``propose`` finds the best class of each word of a batch against counts that stand
still (any number of threads, each with its own words), then ``settle`` goes through the batch in order, recomputes the
exact gain of each proposal against the counts of that moment and carries it out only if F rises. Batches depend on the
data alone, so the result does not depend on the number of threads, and F never falls. Frequent words are batches of
their own: for them, this is the textbook algorithm.

Kneser and Ney, "Improved clustering techniques for class-based statistical language modelling", 1993; Martin, Liermann
and Ney, "Algorithms for bigram and trigram word clustering", 1998.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from corpuscle.compiled import kernel, part

DOWN, UP = 0, 1
"""The two sides of a word: its children, and its parents."""

LARGEST_TABLE = 1 << 20  # x log x is looked up below this and computed above it


class Neighbours(NamedTuple):
    """How often each word occurs with each other word; W words, and the root as number W.

    - ``starts`` int64 (2, W + 2), ``others`` int32, ``counts`` int32: the entries starts[side, w]..starts[side, w + 1]
      list the children (``DOWN``) or the parents (``UP``) of w; the root has children only;
    - ``selves`` int32 (W + 1,): how often w is its own parent, which the lists leave out;
    - ``degrees`` int64 (2, W + 1): how often each word has a child, and has a parent (its frequency).
    """

    starts: np.ndarray
    others: np.ndarray
    counts: np.ndarray
    selves: np.ndarray
    degrees: np.ndarray


class ClassCounts(NamedTuple):
    """The counts of C classes and what is derived from them; the root is class C.

    - ``classes`` int32 (W + 1,): the class of each word, and C for the root;
    - ``sizes`` int64 (C,): how many words each class has;
    - ``cells`` int32 (2, C + 1, C): what changes when a word with a neighbour of class k is put into class c:
      cells[DOWN, k, c] = n(c, k) and cells[UP, k, c] = n(k, c), so the classes c lie side by side;
    - ``values``, ``steps`` float64 (2, C + 1, C): f(n) and f(n + 1) - f(n) of those counts;
    - ``margins`` int64 (2, C + 1): l and r; ``margin_values``: f of them;
    - ``xlogx`` float64: f(0), f(1), ... as far as the table goes;
    - ``tolerance`` float64 (1,): gains below this are rounding, and count as ties.
    """

    classes: np.ndarray
    sizes: np.ndarray
    cells: np.ndarray
    values: np.ndarray
    steps: np.ndarray
    margins: np.ndarray
    margin_values: np.ndarray
    xlogx: np.ndarray
    tolerance: np.ndarray


class Context(NamedTuple):
    """The neighbours of one word, added up by class; one for each thread.

    - ``totals`` int32 (2, C + 1): how often the word occurs with each class;
    - ``seen`` int32 (2, C + 1), ``n_seen`` int64 (2,): the classes where that is not zero.
    """

    totals: np.ndarray
    seen: np.ndarray
    n_seen: np.ndarray


def count_pairs(both: np.ndarray, words: int) -> csr_array:
    """How often each word (row) is the parent of each (column), int32 (words + 1, words + 1), in pairs of word numbers,
    int (2, n): parents, which may be ``words``, the root, and children."""
    # Sorting the pairs is several times as fast as letting SciPy add up duplicates.
    keys, counts = np.unique(both[0].astype(np.int64) * (words + 1) + both[1], return_counts=True)
    return csr_array((counts.astype(np.int32), np.divmod(keys, words + 1)), shape=(words + 1, words + 1))


def neighbours_of(pairs: csr_array) -> Neighbours:
    """What each word occurs with, by the counts of all pairs."""
    degrees = np.stack([pairs.sum(axis=axis, dtype=np.int64) for axis in (1, 0)])
    selves = pairs.diagonal()
    down = csr_array(pairs - diags_array(selves, dtype=np.int32))
    up = csr_array(down.T)
    starts = np.stack([down.indptr, len(down.data) + up.indptr.astype(np.int64)])
    others = np.concatenate([down.indices, up.indices]).astype(np.int32)
    return Neighbours(starts, others, np.concatenate([down.data, up.data]), selves, degrees)


def class_pairs(near: Neighbours, classes: np.ndarray, n_classes: int) -> csr_array:
    """As ``count_pairs``, of the classes of words, int (W,) in 0..n_classes-1; words of class -1 are left out."""
    assigned, words = np.append(classes, n_classes), np.arange(len(classes) + 1)
    down = slice(0, near.starts[DOWN, -1])
    parents = assigned[np.concatenate([np.repeat(words, np.diff(near.starts[DOWN])), words])]
    children = assigned[np.concatenate([near.others[down], words])]
    counts = np.concatenate([near.counts[down], near.selves])
    inside = (parents >= 0) & (children >= 0) & (counts > 0)
    return csr_array((counts[inside], (parents[inside], children[inside])), shape=(n_classes + 1, n_classes + 1))


def class_counts(near: Neighbours, classes: np.ndarray, n_classes: int) -> ClassCounts:
    """The counts of a given assignment, int (W,), of words to classes 0..n_classes-1."""
    assigned, side = np.append(classes, n_classes).astype(np.int32), n_classes + 1
    by_parent = class_pairs(near, classes, n_classes).toarray()[:, :n_classes]
    cells = np.zeros((2, side, n_classes), np.int32)
    cells[DOWN, :n_classes] = by_parent[:n_classes].T
    cells[UP] = by_parent
    margins = np.stack([np.bincount(assigned, degrees, side) for degrees in near.degrees]).astype(np.int64)
    total, values = int(near.degrees[UP].sum()), x_log_x(cells)
    return ClassCounts(
        assigned, np.bincount(assigned[:-1], minlength=n_classes), cells, values, x_log_x(cells + 1) - values, margins,
        x_log_x(margins), x_log_x(np.arange(min(total + 2, LARGEST_TABLE))),
        np.array([max(1e-9, 1e-13 * total * math.log(max(total, 1)))]),
    )  # fmt: skip


def x_log_x(counts: np.ndarray) -> np.ndarray:
    """x log x of an array, with 0 log 0 = 0."""
    return counts * np.log(np.maximum(counts, 1))


def objective(table: ClassCounts) -> float:
    """F of the present assignment."""
    return math.fsum(table.values[UP].ravel()) - math.fsum(table.margin_values.ravel())


def batches(near: Neighbours, share: float = 0.005, most: int = 8192) -> np.ndarray:
    """Where the batches begin, int64 (n + 1,): up to ``most`` consecutive words with at most ``share`` of all tokens. A
    word more frequent than that is a batch of its own."""
    mass = np.concatenate([[0], np.cumsum(near.degrees[UP, :-1])])
    starts = [0]
    while starts[-1] < len(mass) - 1:
        end = int(np.searchsorted(mass, mass[starts[-1]] + share * mass[-1], side="right")) - 1
        starts.append(max(starts[-1] + 1, min(end, starts[-1] + most)))
    return np.array(starts, np.int64)


@part
def _value(xlogx, x):
    """f(x) = x log x for an integer."""
    if x < len(xlogx):
        return xlogx[x]
    return x * math.log(x)


@part
def empty_context(n_classes):
    side = (2, n_classes + 1)
    return Context(np.zeros(side, np.int32), np.empty(side, np.int32), np.zeros(2, np.int64))


@part
def _gather(near, classes, word, context):
    """Add up a word's neighbours by class."""
    for side in range(2):
        totals, seen = context.totals[side], context.seen[side]
        for i in range(context.n_seen[side]):  # only what the word before has touched: the rest is zero
            totals[seen[i]] = 0
        n = 0
        for i in range(near.starts[side, word], near.starts[side, word + 1]):
            k = classes[near.others[i]]
            if totals[k] == 0:
                seen[n] = k
                n += 1
            totals[k] += near.counts[i]
        context.n_seen[side] = n


@part
def _gain_of_staying(near, table, word, context):
    """What F loses when the word is taken out of its class: the gain of putting it back."""
    f, own = table.xlogx, table.classes[word]
    gain = 0.0
    rest = table.cells[UP, own, own] - near.selves[word]
    for side in range(2):
        for i in range(context.n_seen[side]):
            k = context.seen[side, i]
            if k == own:
                rest -= context.totals[side, k]
            else:
                n = table.cells[side, k, own] - context.totals[side, k]
                gain += table.values[side, k, own] - _value(f, n)
        without = table.margins[side, own] - near.degrees[side, word]
        gain -= table.margin_values[side, own] - _value(f, without)
    return gain + table.values[UP, own, own] - _value(f, rest)


@part
def gains(near, table, word, context, gain):
    """Fill ``gain``, float64 (C,): what F gains when the word, taken out of its class, is put into each class; that of
    its own class is the gain of staying.

    The tables still contain the word. Only the row and the column of its own class differ from the tables without it,
    and into the gain of another class they enter for k = own alone.
    """
    _gather(near, table.classes, word, context)
    f, own = table.xlogx, table.classes[word]
    gain[:] = 0.0
    # The classes c run innermost: their cells lie side by side, so each loop reads memory in one stream.
    for side in range(2):
        for i in range(context.n_seen[side]):
            k = context.seen[side, i]
            count = context.totals[side, k]
            cells, values = table.cells[side, k], table.values[side, k]
            if k == own:
                here = context.totals[1 - side]
                for c in range(len(gain)):
                    n = cells[c] - here[c]
                    gain[c] += _value(f, n + count) - _value(f, n)
            elif count == 1:
                # Most neighbours occur once, and f(n + 1) - f(n) is kept ready for them.
                steps = table.steps[side, k]
                for c in range(len(gain)):
                    gain[c] += steps[c]
            elif table.margins[1 - side, k] + count < len(f):
                # An upper bound of every sum below, that of the own class included, whose cell counts the word already.
                for c in range(len(gain)):
                    gain[c] += f[cells[c] + count] - values[c]
            else:
                for c in range(len(gain)):
                    gain[c] += _value(f, cells[c] + count) - values[c]
        margins, margin_values, degree = table.margins[side], table.margin_values[side], near.degrees[side, word]
        for c in range(len(gain)):
            gain[c] -= _value(f, margins[c] + degree) - margin_values[c]
    for c in range(len(gain)):
        # The cell (c, c) was reached from both sides; it changes once, by everything.
        n, down, up = table.cells[UP, c, c], context.totals[DOWN, c], context.totals[UP, c]
        both = down + up + near.selves[word]
        if both > 0:
            gain[c] += _value(f, n + both) - _value(f, n + down) - _value(f, n + up) + table.values[UP, c, c]
    gain[own] = _gain_of_staying(near, table, word, context)


@part
def _move(near, table, word, target, context):
    """Take a word out of its class and put it into another."""
    f, root = table.xlogx, len(table.sizes)
    for sign in range(-1, 2, 2):  # out of the old class, then into the new one, by the same additions
        if sign > 0:
            table.classes[word] = target
        own = table.classes[word]
        table.sizes[own] += sign
        for side in range(2):
            table.margins[side, own] += sign * near.degrees[side, word]
            table.margin_values[side, own] = _value(f, table.margins[side, own])
            _add(table, side, own, own, sign * near.selves[word])
            for i in range(context.n_seen[side]):
                k = context.seen[side, i]
                _add(table, side, k, own, sign * context.totals[side, k])
                if k != root:
                    _add(table, 1 - side, own, k, sign * context.totals[side, k])


@part
def _add(table, side, k, c, count):
    """Add to one cell and renew what is derived from it."""
    n = table.cells[side, k, c] + count
    value = _value(table.xlogx, n)
    table.cells[side, k, c] = n
    table.values[side, k, c] = value
    table.steps[side, k, c] = _value(table.xlogx, n + 1) - value


@kernel
def propose(near, table, first, last, proposals):
    """Write the best class of the words first..last-1 to ``proposals``, int32 (W,); reads the counts, changes nothing.
    A word stays where it is on ties, and where it is the only one."""
    n_classes = len(table.sizes)
    context, gain = empty_context(n_classes), np.empty(n_classes)
    for word in range(first, last):
        own = best = table.classes[word]
        if table.sizes[own] > 1:
            gains(near, table, word, context, gain)
            best_gain = gain[own] + table.tolerance[0]  # ties stay, else words could go round for ever
            for c in range(n_classes):
                if gain[c] > best_gain:
                    best, best_gain = c, gain[c]
        proposals[word] = best


@kernel
def settle(near, table, first, last, proposals):
    """Carry out the proposals for the words first..last-1 that still raise F, in order; returns how many did."""
    context, moved = empty_context(len(table.sizes)), 0
    for word in range(first, last):
        own, wanted = table.classes[word], proposals[word]
        if wanted == own or table.sizes[own] == 1:
            continue
        _gather(near, table.classes, word, context)
        gain = -_gain_of_staying(near, table, word, context)
        for attempt in range(2):
            # Once into the wanted class; if that turns out not to raise F, once more, back into the old one.
            _move(near, table, word, own if attempt else wanted, context)
            if gain + _gain_of_staying(near, table, word, context) > table.tolerance[0]:
                moved += 1
                break
    return moved


@kernel
def sweep(near, table, starts, first, last, proposals):
    """Propose and settle the batches first..last-1 one after the other; returns how many words moved."""
    moved = 0
    for batch in range(first, last):
        propose(near, table, starts[batch], starts[batch + 1], proposals)
        moved += settle(near, table, starts[batch], starts[batch + 1], proposals)
    return moved
