"""Brown clustering: merge, again and again, the two classes whose merger loses the least mutual information.

Let n(A, B) count the tokens of class B whose parent is of class A, l(A) how often A is a parent and r(B) how often B
occurs, in the whole text; the parent of the first word, the *root*, is a class of its own that is never merged. Words
come into a *window* of classes by falling frequency, each as a class of its own; whenever there is one class more than
wanted, the pair with the smallest loss is merged. With q(A, B) = n(A, B) log(n(A, B) N / (l(A) r(B))), summed over the
classes x of the window and the root, N times the loss of I is

    Loss(i, j) = sum_x [q(i,x) + q(j,x) - q(i+j,x)] + [q(x,i) + q(x,j) - q(x,i+j)],      and what (i,j)x(i,j) loses.

Written out, every logarithm of a margin comes with a count that does not depend on x, and sums up: with f(x) = x log x,
h(a, b) = f(a + b) - f(a) - f(b), and l'(A), r'(B) the margins within the window,

    Loss(i, j) = (l'(i) + l'(j)) log(l(i) + l(j)) - l'(i) log l(i) - l'(j) log l(j), likewise for r,   - S(i, j),
    S(i, j) = sum_x h(n(i,x), n(j,x)) + h(n(x,i), n(x,j)) over x other than i and j
              + f(n(i,i) + n(i,j) + n(j,i) + n(j,j)) - f(n(i,i)) - f(n(i,j)) - f(n(j,i)) - f(n(j,j)).

h is zero where one of its counts is. So S(i, j) knows only the classes that both i and j meet, and a word or class that
meets k classes changes S in k rows and in its own: O(k C) for putting it into the window, for taking it out, and for
merging, which is taking the class with fewer tokens out and putting it into the other. (Textbook bookkeeping, which
keeps Loss itself, changes all C^2 of them.)

Finding the pair. A pair is looked for in the row of the class that changed last. By the log-sum inequality no term of
Loss is negative, so a new word never makes a loss smaller; a merger can, but only for pairs of which one meets the
class that was taken out. Hence each row has a lower bound of its losses that costs O(k C) to keep, and only rows whose
bound is below the best loss are looked at again.

Rounding. The values of f are rounded to multiples of a power of two so coarse that sums of them are exact in float64,
and so fine that they do not matter. S is then a function of the classes alone, whatever the order of additions: it does
not drift, and a window that is built anew from unfinished work goes on to the same bytes.

Brown, Della Pietra, deSouza, Lai and Mercer, "Class-based n-gram models of natural language", 1992, section 3, where
the marginals of left and right neighbours are one and the same; on trees they are not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.words.kernels.exchange import DOWN, LARGEST_TABLE, UP, Neighbours, class_pairs, neighbours_of, x_log_x

NOWHERE = -(1 << 30)  # the home of a word that is not in the window yet


class Window(NamedTuple):
    """The classes of a window of ``slots`` places; the root is number ``slots``. W words.

    - ``homes`` int32 (W + 1,): -1 - slot for the word that stands for all of its class, another word of its class for
      the others, ``NOWHERE`` outside of the window; ``words`` int32 (slots,): the word that stands for each class;
    - ``active`` bool (slots,);
    - ``cells`` int32 (2, slots + 1, slots): cells[DOWN, k, c] = n(c, k) and cells[UP, k, c] = n(k, c);
    - ``margins`` float64 (2, slots + 1): l and r, of the whole text; ``inside``: l' and r', within the window;
    - ``logs`` float64 (2, slots, slots): log(l(i) + l(j)) and log(r(i) + r(j)), and log l(i), log r(i) where i = j;
      ``spent`` float64 (slots,): l'(i) log l(i) + r'(i) log r(i);
    - ``shared`` float64 (slots, slots): S; minus infinity where a slot is free, and of a class with itself;
    - ``clock`` int64 (1,): how often a class has changed; ``born`` int64 (slots,): the clock when each last did;
    - ``bounds`` float64 (slots,): no loss of a class with one born before it is below its bound by more than
      ``tolerance`` float64 (1,);
    - ``xlogx`` float64: f(0), f(1), ..., rounded to multiples of ``grid`` float64 (1,).
    """

    homes: np.ndarray
    words: np.ndarray
    active: np.ndarray
    cells: np.ndarray
    margins: np.ndarray
    inside: np.ndarray
    logs: np.ndarray
    spent: np.ndarray
    shared: np.ndarray
    clock: np.ndarray
    born: np.ndarray
    bounds: np.ndarray
    tolerance: np.ndarray
    xlogx: np.ndarray
    grid: np.ndarray


class Outsider(NamedTuple):
    """A word or a class outside of the window, and the classes that it meets in there.

    - ``totals`` int64 (2, slots + 1): how often it has each class as its child, and as its parent;
    - ``seen`` int64 (2, slots + 1), ``n_seen`` int64 (2,): the classes where that is not zero;
    - ``own`` int64 (3,): how often it is its own parent, and its l and r.
    """

    totals: np.ndarray
    seen: np.ndarray
    n_seen: np.ndarray
    own: np.ndarray


class Log(NamedTuple):
    """What was merged: nodes 0..W-1 are the words, W + m comes of merger m.

    - ``merges`` int32 (W - 1, 2): the two nodes of each merger, the one with more tokens first; ``losses`` float64
      (W - 1,): what it cost;
    - ``nodes`` int32 (slots,): the node in each slot; ``n_merges`` int64 (1,): how many mergers there were.
    """

    merges: np.ndarray
    losses: np.ndarray
    nodes: np.ndarray
    n_merges: np.ndarray


def empty_window(near: Neighbours, slots: int, total: int) -> Window:
    """A window for the words of a text of ``total`` tokens, with nothing in it but the root."""
    words = len(near.selves) - 1
    most = total * math.log(max(total, 2))
    grid = 2.0 ** (math.ceil(math.log2(16 * most)) - 53)
    homes = np.full(words + 1, NOWHERE, np.int32)
    homes[words] = -1 - slots
    margins = np.zeros((2, slots + 1))
    margins[:, slots] = near.degrees[:, words]
    counts = np.arange(min(2 * total + 2, LARGEST_TABLE))
    # Every class x adds at most six values to S(i, j), each off by half a step of the grid.
    tolerance = np.array([8 * (slots + 1) * grid])
    cells, logs = np.zeros((2, slots + 1, slots), np.int32), np.zeros((2, slots, slots))
    return Window(
        homes, np.zeros(slots, np.int32), np.zeros(slots, np.bool_), cells, margins, np.zeros((2, slots + 1)), logs,
        np.zeros(slots), np.full((slots, slots), -np.inf), np.zeros(1, np.int64), np.zeros(slots, np.int64),
        np.full(slots, np.inf), tolerance, np.round(x_log_x(counts) / grid) * grid, np.array([grid]),
    )  # fmt: skip


def grouped(near: Neighbours, groups: np.ndarray, n_groups: int) -> Neighbours:
    """Groups of words as words: int (W,) in 0..n_groups-1, or -1 for words that are left out. The degrees still count
    what is left out."""
    kept = np.append(groups >= 0, True)
    assigned = np.append(groups, n_groups)[kept]
    degrees = [np.bincount(assigned, side[kept], n_groups + 1) for side in near.degrees]
    pairs = class_pairs(near, groups, n_groups)
    return neighbours_of(pairs)._replace(degrees=np.stack(degrees).astype(np.int64))


def filled_window(near: Neighbours, places: np.ndarray, slots: int) -> Window:
    """The window in which the words are at ``places``, int (W,): a slot, or -1 outside."""
    classes = grouped(near, places, slots)
    window = empty_window(classes, slots, int(near.degrees[UP].sum()))
    used, words = np.unique(places, return_index=True)
    homes = np.where(places >= 0, words[np.searchsorted(used, places)], NOWHERE)
    homes = np.append(homes, -1 - slots).astype(np.int32)
    words, used = words[used >= 0], used[used >= 0].astype(np.int64)
    refill(classes, window, used)
    homes[words] = -1 - used
    window.words[used] = words
    return window._replace(homes=homes)


def places(window: Window) -> np.ndarray:
    """The slot of each word, int32 (W,); -1 outside."""
    homes = window.homes[:-1].copy()
    while (inner := homes >= 0).any():
        homes[inner] = window.homes[homes[inner]]
    return np.where(homes == NOWHERE, -1, -1 - homes).astype(np.int32)


def empty_log(words: int, slots: int) -> Log:
    """The record of mergers before the first one."""
    mergers = max(words - 1, 0)
    return Log(np.zeros((mergers, 2), np.int32), np.zeros(mergers), np.zeros(slots, np.int32), np.zeros(1, np.int64))


@part
def _value(f, grid, x):
    """f(x) = x log x for an integer, on the grid."""
    if x < len(f):
        return f[x]
    return math.floor(x * math.log(x) / grid + 0.5) * grid


@part
def _nobody(slots):
    side = (2, slots + 1)
    return Outsider(np.zeros(side, np.int64), np.empty(side, np.int64), np.zeros(2, np.int64), np.zeros(3, np.int64))


@part
def _clear(outsider):
    for side in range(2):
        for k in outsider.seen[side, : outsider.n_seen[side]]:
            outsider.totals[side, k] = 0
        outsider.n_seen[side] = 0


@part
def _meet(outsider, side, k, count):
    if outsider.totals[side, k] == 0:
        outsider.seen[side, outsider.n_seen[side]] = k
        outsider.n_seen[side] += 1
    outsider.totals[side, k] += count


@part
def _slot_of(homes, word):
    """The slot of a word's class, or a negative number outside of the window."""
    while homes[word] >= 0:
        above = homes[word]
        if homes[above] >= 0:
            homes[word] = homes[above]
        word = above
    return -1 - homes[word] if homes[word] != NOWHERE else -1


@part
def _take_out(window, slot, outsider):
    """Take a class out of the window; it becomes the outsider."""
    cells, shared, slots = window.cells, window.shared, len(window.active)
    f, grid = window.xlogx, window.grid[0]
    _clear(outsider)
    for side in range(2):
        across = cells[1 - side, slot]
        for k in range(slots):
            if across[k] > 0 and k != slot:
                _meet(outsider, side, k, across[k])
        if cells[side, slots, slot] > 0:
            _meet(outsider, side, slots, cells[side, slots, slot])
        outsider.own[1 + side] = window.margins[side, slot]
    outsider.own[0] = cells[UP, slot, slot]
    for side in range(2):
        seen, totals = outsider.seen[side], outsider.totals[side]
        for k in seen[: outsider.n_seen[side]]:
            window.inside[1 - side, k] -= totals[k]
            cells[side, k, slot] = 0
            if k < slots:
                value = _value(f, grid, totals[k])
                for other in seen[: outsider.n_seen[side]]:
                    if other < slots:
                        both = _value(f, grid, totals[k] + totals[other]) - value - _value(f, grid, totals[other])
                        shared[k, other] -= both
    window.margins[:, slot] = 0.0
    window.inside[:, slot] = 0.0
    cells[:, slot] = 0
    shared[slot], shared[:, slot] = -np.inf, -np.inf
    window.active[slot], window.bounds[slot], window.spent[slot] = False, np.inf, 0.0


@part
def _square(window, i, j):
    """What S(i, j) has of the four cells that i and j have among themselves."""
    f, grid, cells = window.xlogx, window.grid[0], window.cells
    in_i, in_j = np.int64(cells[UP, i, i]), np.int64(cells[UP, j, j])
    there, back = np.int64(cells[UP, i, j]), np.int64(cells[DOWN, i, j])
    if there == 0 and back == 0 and (in_i == 0 or in_j == 0):
        return 0.0
    before = _value(f, grid, in_i) + _value(f, grid, in_j) + _value(f, grid, there) + _value(f, grid, back)
    return _value(f, grid, in_i + in_j + there + back) - before


@part
def _share(window, slot, outsider):
    """Let S of the pairs of other classes know that the outsider comes to the slot."""
    cells, shared, slots = window.cells, window.shared, len(window.active)
    f, grid = window.xlogx, window.grid[0]
    met = np.empty(slots, np.int64)
    for side in range(2):
        before, more = cells[1 - side, slot], outsider.totals[side]
        n = 0
        for j in range(slots):
            if before[j] + more[j] > 0 and j != slot:
                met[n] = j
                n += 1
        for i in outsider.seen[side, : outsider.n_seen[side]]:
            if i in (slot, slots):
                continue
            old, new = np.int64(before[i]), before[i] + more[i]
            change = _value(f, grid, new) - _value(f, grid, old)
            row = shared[i]
            for j in met[:n]:
                a, b = np.int64(before[j]), before[j] + more[j]
                added = _value(f, grid, new + b) - _value(f, grid, old + a) - change
                if a == b:  # the outsider does not meet j, whose row has no turn of its own
                    row[j] += added
                    shared[j, i] += added
                else:
                    row[j] += added - (_value(f, grid, b) - _value(f, grid, a))


@part
def _share_own(window, slot, outsider):
    """Let S of the slot's own pairs know what it gains; the cells that it has with itself and the other are left to
    ``_square``."""
    slots, f, grid = len(window.active), window.xlogx, window.grid[0]
    row = window.shared[slot]
    for side in range(2):
        for k in outsider.seen[side, : outsider.n_seen[side]]:
            if k == slot:
                continue
            others = window.cells[side, k]
            old = np.int64(others[slot])
            new = old + outsider.totals[side, k]
            change = _value(f, grid, new) - _value(f, grid, old)
            kept = row[k] if k < slots else 0.0
            if 2 * window.margins[1 - side, k] + 1 < len(f):
                # No class has more with k than k has with all of them; twice, where the slot meets itself.
                for j in range(slots):
                    row[j] += (f[others[j] + new] - f[others[j] + old]) - change
            else:
                for j in range(slots):
                    row[j] += (_value(f, grid, others[j] + new) - _value(f, grid, others[j] + old)) - change
            if k < slots:
                row[k] = kept


@part
def _put(window, slot, outsider):
    """Put the outsider into a slot, which may be free."""
    cells, shared, slots = window.cells, window.shared, len(window.active)
    row = shared[slot]
    for j in range(slots):
        if not window.active[slot] and window.active[j]:
            row[j] = 0.0
        row[j] -= _square(window, slot, j)
    _share(window, slot, outsider)
    _share_own(window, slot, outsider)
    both = outsider.own[0]
    for side in range(2):
        window.margins[side, slot] += outsider.own[1 + side]
        window.inside[side, slot] += outsider.own[0]
        for k in outsider.seen[side, : outsider.n_seen[side]]:
            count = outsider.totals[side, k]
            window.inside[side, slot] += count
            window.inside[1 - side, k] += count
            if k == slot:
                both += count
                continue
            cells[side, k, slot] += count
            if k < slots:
                cells[1 - side, slot, k] += count
    cells[:, slot, slot] += both
    window.active[slot] = True
    window.clock[0] += 1
    window.born[slot] = window.clock[0]
    row[slot] = -np.inf
    for j in range(slots):
        row[j] += _square(window, slot, j)
        shared[j, slot] = row[j]
        for side in range(2):
            together = math.log(max(window.margins[side, slot] + window.margins[side, j], 1.0))
            window.logs[side, slot, j] = window.logs[side, j, slot] = together
    for side in range(2):
        window.logs[side, slot, slot] = math.log(max(window.margins[side, slot], 1.0))
    _spend(window, slot)
    for side in range(2):
        for k in outsider.seen[side, : outsider.n_seen[side]]:
            if k < slots:
                _spend(window, k)


@part
def _spend(window, i):
    """Renew l'(i) log l(i) + r'(i) log r(i)."""
    window.spent[i] = window.inside[0, i] * window.logs[0, i, i] + window.inside[1, i] * window.logs[1, i, i]


@part
def losses(window, i, loss):
    """Fill ``loss``, float64 (slots,): N times the information lost by merging class i with each other; infinite for a
    free slot and for i itself."""
    down, up, spent = window.inside[0], window.inside[1], window.spent
    logs_down, logs_up, shared = window.logs[0, i], window.logs[1, i], window.shared[i]
    for j in range(len(loss)):
        margins = (down[i] + down[j]) * logs_down[j] + (up[i] + up[j]) * logs_up[j]
        loss[j] = (margins - (spent[i] + spent[j])) - shared[j]


@part
def _nearest(window, i, loss):
    """Of the classes born before class i, the one with the smallest loss, the lowest slot if there are several; renews
    the bound of i, and fills ``loss``."""
    losses(window, i, loss)
    born, nearest, smallest = window.born, i, np.inf
    for j in range(len(loss)):
        if loss[j] < smallest and born[j] < born[i]:
            nearest, smallest = j, loss[j]
    window.bounds[i] = smallest
    return nearest


@part
def _bound(window, i, loss):
    """Renew the bound of class i, and those of classes born after it, whose losses with i may be smaller now."""
    _nearest(window, i, loss)
    born, bounds = window.born, window.bounds
    for j in range(len(loss)):
        if loss[j] < bounds[j] and born[j] > born[i]:
            bounds[j] = loss[j]


@part
def closest(window, loss):
    """The pair of classes with the smallest loss, by the lowest slots if there are several, and that loss."""
    bounds = window.bounds
    while True:
        lowest = np.argmin(bounds)
        bound = bounds[lowest]
        _nearest(window, lowest, loss)
        if bounds[lowest] <= bound:
            break
    limit, best = bounds[lowest] + window.tolerance[0], np.inf
    first, second = lowest, lowest
    for i in range(len(loss)):
        if bounds[i] <= limit:
            j = _nearest(window, i, loss)
            low, high = min(i, j), max(i, j)
            if bounds[i] < best or (bounds[i] == best and (low < first or (low == first and high < second))):
                first, second, best = low, high, bounds[i]
    return first, second, best


@part
def _merge_closest(window, log, outsider, loss):
    a, b, lost = closest(window, loss)
    slots, up = len(window.active), window.margins[UP]
    words = len(window.homes) - 1
    merger = log.n_merges[0]
    larger, smaller = (a, b) if up[a] >= up[b] else (b, a)
    log.merges[merger, 0], log.merges[merger, 1] = log.nodes[larger], log.nodes[smaller]
    log.losses[merger] = lost
    log.n_merges[0] += 1
    if window.inside[0, a] + window.inside[1, a] < window.inside[0, b] + window.inside[1, b]:
        a, b = b, a
    log.nodes[a] = words + merger
    window.homes[window.words[b]] = window.words[a]
    _take_out(window, b, outsider)
    _put(window, a, outsider)
    _bound(window, a, loss)
    for side in range(2):
        for k in outsider.seen[side, : outsider.n_seen[side]]:
            if k < slots and k != a and (side == 0 or outsider.totals[0, k] == 0):
                _bound(window, k, loss)


@part
def _come(near, window, word, slot, outsider, loss):
    """Let a word come into a free slot as a class of its own."""
    _clear(outsider)
    for side in range(2):
        for i in range(near.starts[side, word], near.starts[side, word + 1]):
            k = _slot_of(window.homes, np.int64(near.others[i]))
            if k >= 0:
                _meet(outsider, side, k, near.counts[i])
        outsider.own[1 + side] = near.degrees[side, word]
    outsider.own[0] = near.selves[word]
    window.homes[word] = -1 - slot
    window.words[slot] = word
    _put(window, slot, outsider)
    _bound(window, slot, loss)


@kernel
def merge(near, window, log, first, last, mergers):
    """Let the words first..last-1 come into the window; whenever it is full, the closest pair is merged. Then
    ``mergers`` pairs more."""
    slots = len(window.active)
    outsider, loss = _nobody(slots), np.empty(slots)
    for word in range(first, last):
        slot = np.argmin(window.active)
        log.nodes[slot] = word
        _come(near, window, word, slot, outsider, loss)
        if window.active.all():
            _merge_closest(window, log, outsider, loss)
    for _ in range(mergers):
        _merge_closest(window, log, outsider, loss)


@kernel
def refill(near, window, used):
    """Let the words ``used``, int64, come into the slots that have their numbers."""
    slots = len(window.active)
    outsider, loss = _nobody(slots), np.empty(slots)
    for slot in used:
        _come(near, window, slot, slot, outsider, loss)
