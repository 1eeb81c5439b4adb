"""Trees without crossing arcs from trees with them: an arc that crosses another is lifted to the head of its head.

The arc into m from h is projective if every word between h and m hangs on h, directly or not. Of those that are not,
the shortest is lifted first (the leftmost of equals), until none is left: the fewest and shortest lifts, as the field
does it. A word that hangs on the root is never lifted.

Nivre and Nilsson, "Pseudo-projective dependency parsing", 2005, section 2.
"""

from __future__ import annotations

from corpuscle.compiled import kernel, part


@part
def _is_projective(heads, m):
    """Whether every word between m and its head hangs on that head."""
    h = heads[m - 1]
    for between in range(min(h, m) + 1, max(h, m)):
        above = between
        while above != 0 and above != h:
            above = heads[above - 1]
        if above != h:
            return False
    return True


@kernel
def lift(heads, starts, lifted):
    """``lifted`` int32 (n_words,) := the heads of all sentences, lifted; sentence i begins at ``starts[i]``."""
    lifted[:] = heads
    for sentence in range(len(starts) - 1):
        tree = lifted[starts[sentence] : starts[sentence + 1]]
        while True:
            shortest, found = len(tree) + 1, 0
            for m in range(1, len(tree) + 1):
                length = abs(tree[m - 1] - m)
                if 1 < length < shortest and tree[m - 1] != 0 and not _is_projective(tree, m):
                    shortest, found = length, m
            if found == 0:
                break
            tree[found - 1] = tree[tree[found - 1] - 1]


@kernel
def crossings(heads, starts):
    """How many sentences have crossing arcs."""
    count = 0
    for sentence in range(len(starts) - 1):
        tree = heads[starts[sentence] : starts[sentence + 1]]
        crosses = False
        for m in range(1, len(tree) + 1):
            low, high = min(m, tree[m - 1]), max(m, tree[m - 1])
            for other in range(low + 1, high):
                if other > 0 and not low <= tree[other - 1] <= high:
                    crosses = True
            if crosses:
                break
        count += crosses
    return count
