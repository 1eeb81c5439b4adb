"""Trees whose words have hidden states, by linear algebra: moments of three words, and the probability of a tree.

Every word j of a given tree has a hidden state h_j, which its head's state and its side (left or right of the head)
decide, and which decides the word:

    p(x, h | tree) = pi(h_root) prod_j t_d(j)(h_j | h_head(j)) prod_j o(x_j | h_j),   O[x, h] = o(x | h).

With rows u_x of a basis U, G = U'O invertible, and triples (first, middle, last) of words that are independent given
the state of the middle one, all moments over the same triples,

    S = E[u_middle u_last'],   S~ = E[u_middle u_first'],   W = E[u_first u_last'],   m = E[u_last],
    K(y) = E[u_first (y . u_middle) u_last'],

the model is known in the basis of G, without a state in sight:

    E = W S^-1 = G T G^-1,   D(y) = E^-1 K(y) S^-1 = G diag(G'y) G^-1,   c_inf' = m' S^-1 = 1' G^-1,   c_1 = G pi,

T being the transitions from middle to first. The triples are a left child, its head and a right child of it (``PAIRS``:
E is E_L, and E_R = W' S~^-1), or a child on one side, its head and the head of that (``LEFT``, ``RIGHT``). Bottom-up,

    s_i' = c_inf' D(a_x) prod_(j child of i) D(E_d(j)' s_j),     p(x | tree) = prod_(r root) s_r' c_1,

where a_x is the dual of u_x, O'U a_x = O' delta_x, so that c_inf' D(a_x) = a_x', which is what is computed; where there
are no duals, it is c_inf' D_x with D_x = E^-1 E[u_first 1{x_middle = x} u_last'] S^-1. The factors commute with exact
moments only; their order is: the word, its tag, left children outward, right children outward. Vectors are divided by
their largest entry after each factor. Subtrees that trees of one sentence share are computed once.

Words without children, articles say, are in the middle of no triple, and real words are not as much alike as their
states say. So every word may have a *stop* on either side, a last child that is a symbol of its own without children:
then all words are in the middle of triples, and p also says how likely it is that there are no more children.

EM takes one pass up and one down a tree (``expect``). In the basis of states everything is a probability: o(x | h),
t_side(c | h), pi(h). Up, beta_i(h) = p(words from i down | h) = o(x_i | h) prod_j m_j(h) with m_j(h) = sum_c t(c | h)
beta_j(c) over children j; stops are children without children. Down, gamma of the root is pi beta, normalised, and

    p(h_j = c, h_i = h | words) = gamma_i(h) t(c | h) beta_j(c) / m_j(h),

whose sum over h is gamma_j. Sums of these are the expected counts. Every beta is divided by its largest entry.

n symbols, k dimensions or states. Dhillon, Rodu, Collins, Foster and Ungar, "Spectral dependency parsing with latent
variables", 2012, sections 3 and 4, with moments over one population in place of those printed there: those are exact
only where all words have the same distribution of states; Crouse, Nowak and Baraniuk, "Wavelet-based statistical signal
processing using hidden Markov models", 1998, appendix (upward-downward algorithm); Durand, Goncalves and Guedon,
"Computational methods for hidden Markov tree models", 2004, for scaling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

LEFT, RIGHT, PAIRS = 0, 1, 2
"""Which triples: a child left (right) of its head, with the head of that; a child on either side."""

_HASH = np.uint64(0x9E3779B97F4A7C15)


class Trees(NamedTuple):
    """Trees with symbols: ``symbols``, ``marks`` (their tags, or what operators are wanted of) and ``heads`` int32
    (n_words,); ``starts`` int64 (n_sentences + 1,); ``weights`` float64 (n_sentences,): how often each was seen."""

    symbols: np.ndarray
    marks: np.ndarray
    heads: np.ndarray
    starts: np.ndarray
    weights: np.ndarray


class Moments(NamedTuple):
    """Sums over triples: ``total`` (1,): their weight, ``seen`` int64 (1,): their number; ``last`` (k,): m,
    ``middle_last`` (k, k): S, ``middle_first`` (k, k): S~, ``first_last`` (k, k): W, ``tensor`` (k, k, k) [first,
    middle, last]: K; ``marked`` (marks, k, k): W by the mark of the middle word, or no rows."""

    total: np.ndarray
    seen: np.ndarray
    last: np.ndarray
    middle_last: np.ndarray
    middle_first: np.ndarray
    first_last: np.ndarray
    tensor: np.ndarray
    marked: np.ndarray


class Observables(NamedTuple):
    """What a tree is scored by: ``start`` (k,): c_1, ``end`` (k,): c_inf, ``steps`` (2, k, k): E of both sides,
    ``maps`` (k, k, k): D of the unit vectors, ``duals`` (n, k): a_x, or no rows, then ``operators`` (n, k, k): D_x;
    ``tags`` (n_tags, k, k): D of tags, or no rows; ``stops`` (2, k): E_d' a of the stop on both sides, or no rows."""

    start: np.ndarray
    end: np.ndarray
    steps: np.ndarray
    maps: np.ndarray
    duals: np.ndarray
    operators: np.ndarray
    tags: np.ndarray
    stops: np.ndarray


class ListRoom(NamedTuple):
    """Room for the trees of one sentence: children in linked lists (``first`` int32 (2, n + 1), ``next`` int32
    (n + 1,)); of each word how many children ``wait``, its ``subtree``, and the ``order`` of words, int32 (n + 1,); of
    each known subtree its word, its children's subtrees (``below``, from ``begin`` on), its vector and the logarithm
    of its scale; a hash ``table`` int32 of them; two vectors."""

    first: np.ndarray
    next: np.ndarray
    wait: np.ndarray
    subtree: np.ndarray
    order: np.ndarray
    word: np.ndarray
    begin: np.ndarray
    below: np.ndarray
    values: np.ndarray
    logs: np.ndarray
    table: np.ndarray
    vectors: np.ndarray


def moments_for(k: int, marks: int = 0) -> Moments:
    middle_last, middle_first, first_last = np.zeros((3, k, k))
    tensor, marked = np.zeros((k, k, k)), np.zeros((marks, k, k))
    return Moments(
        np.zeros(1), np.zeros(1, np.int64), np.zeros(k), middle_last, middle_first, first_last, tensor, marked
    )


def list_room(longest: int, trees: int, k: int) -> ListRoom:
    """Room for lists of up to ``trees`` trees of sentences of up to ``longest`` words."""
    words, most = longest + 1, max(1, longest * trees)
    follow, wait, subtree, order = np.zeros((4, words), np.int32)
    table = np.zeros(1 << (2 * most).bit_length(), np.int32)
    word, begin, below = np.zeros(most, np.int32), np.zeros(most + 1, np.int64), np.zeros(most, np.int32)
    return ListRoom(
        np.zeros((2, words), np.int32), follow, wait, subtree, order, word, begin, below,
        np.zeros((most, k)), np.zeros(most), table, np.zeros((2, k)),
    )  # fmt: skip


@part(bare=True)
def _outer(a, b, scale, target):
    """Add the outer product of two vectors, scaled, to a matrix."""
    for i in range(len(a)):
        part = scale * a[i]
        for j in range(len(b)):
            target[i, j] += part * b[j]


@kernel
def add_triples(trees, first, last, basis, stop, which, by_nodes, moments):
    """Add the triples of the sentences ``first`` to ``last``; ``stop``: the symbol of stops, -1 if there are none;
    ``which``: see ``PAIRS``; ``by_nodes``: all triples with the same middle word count as one."""
    longest = np.max(np.diff(trees.starts[first : last + 1]))
    sums, counts = np.zeros((2, longest, basis.shape[1])), np.zeros((2, longest))  # over the children of each word
    for sentence in range(first, last):
        begin = trees.starts[sentence]
        n = trees.starts[sentence + 1] - begin
        sums[:, :n] = 0.0
        counts[:, :n] = 0.0
        if stop >= 0:
            sums[:, :n] = basis[stop]
            counts[:, :n] = 1.0
        for j in range(n):
            head = trees.heads[begin + j] - 1
            if head >= 0:
                side = LEFT if j < head else RIGHT
                sums[side, head] += basis[trees.symbols[begin + j]]
                counts[side, head] += 1.0
        for v in range(n):
            parent = trees.heads[begin + v] - 1
            if which == PAIRS:
                a, b, one, other = counts[LEFT, v], counts[RIGHT, v], sums[LEFT, v], sums[RIGHT, v]
            elif parent >= 0:
                a, b, one, other = counts[which, v], 1.0, sums[which, v], basis[trees.symbols[begin + parent]]
            else:
                continue
            if a == 0.0 or b == 0.0:
                continue
            scale = trees.weights[sentence] / (a * b if by_nodes else 1.0)
            middle = basis[trees.symbols[begin + v]]
            moments.total[0] += scale * a * b
            moments.seen[0] += np.int64(a * b)
            for i in range(len(other)):
                moments.last[i] += scale * a * other[i]
            _outer(middle, other, scale * a, moments.middle_last)
            _outer(middle, one, scale * b, moments.middle_first)
            _outer(one, other, scale, moments.first_last)
            for i in range(len(one)):
                _outer(middle, other, scale * one[i], moments.tensor[i])
            if len(moments.marked) > 0:
                _outer(one, other, scale, moments.marked[trees.marks[begin + v]])


@part(bare=True)
def _copy(source, target):  # bare code has no assignment to slices
    for i in range(len(source)):
        target[i] = source[i]


@part(bare=True)
def _scaled(vector):
    """Divide a vector by its largest absolute entry; returns the logarithm of that, -inf for zeros."""
    largest = 0.0
    for i in range(len(vector)):
        largest = max(largest, abs(vector[i]))
    if not 0.0 < largest < np.inf:
        vector[:] = 0.0
        return -np.inf
    for i in range(len(vector)):
        vector[i] /= largest
    return np.log(largest)


@part(bare=True)
def _through(vector, matrix, weight, result):
    """Add ``weight`` vector' matrix to a row."""
    for a in range(len(vector)):
        part = weight * vector[a]
        for b in range(len(result)):
            result[b] += part * matrix[a, b]


@part(bare=True)
def _apply(vector, maps, weights, result):
    """vector' D(weights), scaled, in the place of the vector; returns the logarithm of the scale."""
    result[:] = 0.0
    for j in range(len(weights)):
        _through(vector, maps[j], weights[j], result)
    _copy(result, vector)
    return _scaled(vector)


@part(bare=True)
def _operate(vector, operator, result):
    """vector' operator, scaled, in the place of the vector; returns the logarithm of the scale."""
    result[:] = 0.0
    _through(vector, operator, 1.0, result)
    _copy(result, vector)
    return _scaled(vector)


@part(bare=True)
def _inside(model, node, word, tag, children, room, value):
    """Fill ``value`` with s' of a word whose children's subtrees are known; returns the logarithm of its scale."""
    passed, spare = room.vectors[0], room.vectors[1]
    if len(model.duals) > 0:
        _copy(model.duals[word], value)
        log = _scaled(value)
    else:
        _copy(model.end, value)
        log = _operate(value, model.operators[word], spare)
    if len(model.tags) > 0:
        log += _operate(value, model.tags[tag], spare)
    at = 0
    for side in range(2):  # left children outward, then the left stop; then those on the right
        while at < len(children) and (side == RIGHT or room.word[children[at]] < node):
            child = children[at]
            passed[:] = 0.0
            _through(room.values[child], model.steps[side], 1.0, passed)
            log += room.logs[child] + _apply(value, model.maps, passed, spare)
            at += 1
        if len(model.stops) > 0:
            log += _apply(value, model.maps, model.stops[side], spare)
    return log


@part(bare=True)
def _subtree(model, node, word, tag, room, known):
    """The number of the subtree of a word, whose children are done, among the ``known`` ones; a new one is the next."""
    begin = room.begin[known]
    end, key = begin, np.uint64(node) * _HASH
    for side in range(2):
        child = room.first[side, node]
        while child > 0:
            room.below[end] = room.subtree[child]
            key = (key ^ np.uint64(room.below[end] + 1)) * _HASH
            key ^= key >> np.uint64(31)
            end += 1
            child = room.next[child]
    mask = np.uint64(len(room.table) - 1)
    place = key & mask
    while room.table[place] > 0:
        old = room.table[place] - 1
        same = room.word[old] == node and room.begin[old + 1] - room.begin[old] == end - begin
        at = 0
        while same and at < end - begin:
            same = room.below[room.begin[old] + at] == room.below[begin + at]
            at += 1
        if same:
            return old
        place = (place + np.uint64(1)) & mask
    room.table[place] = known + 1
    room.word[known] = node
    room.begin[known + 1] = end
    room.logs[known] = _inside(model, node, word, tag, room.below[begin:end], room, room.values[known])
    return known


@part(bare=True)
def _bottom_up(heads, wait, order):
    """``order`` := the words of a tree, children before heads; ``wait`` (n + 1,): how many children are still to
    come."""
    n = len(heads)
    wait[: n + 1] = 0
    for j in range(n):
        wait[heads[j]] += 1
    done = 0
    for j in range(1, n + 1):
        if wait[j] == 0:
            order[done] = j
            done += 1
    at = 0
    while at < done:
        head = heads[order[at] - 1]
        at += 1
        wait[head] -= 1
        if head > 0 and wait[head] == 0:
            order[done] = head
            done += 1


@part(bare=True)
def _link(heads, room):
    """Lists of the children of every word of a tree, outward."""
    n = len(heads)
    room.first[:, : n + 1] = 0
    for j in range(1, n + 1):
        head = heads[j - 1]
        if head > j:
            room.next[j] = room.first[LEFT, head]
            room.first[LEFT, head] = j
    for j in range(n, 0, -1):
        head = heads[j - 1]
        if head < j:
            room.next[j] = room.first[RIGHT, head]
            room.first[RIGHT, head] = j


@part(bare=True)
def _score_tree(model, words, tags, heads, room, known):
    """The sign and the logarithm of the magnitude of p(words | tree), and how many subtrees are known then."""
    _link(heads, room)
    _bottom_up(heads, room.wait, room.order)
    for at in range(len(heads)):
        node = room.order[at]
        room.subtree[node] = _subtree(model, node, words[node - 1], tags[node - 1], room, known)
        known = max(known, room.subtree[node] + 1)
    sign, log = 1.0, 0.0
    child = room.first[RIGHT, 0]
    while child > 0:
        value = 0.0
        for i in range(len(model.start)):
            value += room.values[room.subtree[child], i] * model.start[i]
        if value == 0.0:
            return 0.0, -np.inf, known
        sign *= np.sign(value)
        log += room.logs[room.subtree[child]] + np.log(abs(value))
        child = room.next[child]
    return sign, log, known


@kernel
def score_lists(model, trees, first, last, lists, heads, room, signs, logs):
    """Fill ``signs`` and ``logs`` for the trees of the sentences ``first`` to ``last``: those of sentence s are
    ``lists[s]`` to ``lists[s + 1]``, and their ``heads`` stand one tree after the other. The symbols are those of
    ``trees``, the marks its tags. ``signs``, ``logs`` and ``heads`` begin with the first tree of ``first``."""
    at, number = 0, 0
    for sentence in range(first, last):
        begin, end = trees.starts[sentence], trees.starts[sentence + 1]
        n = end - begin
        room.table[:] = 0
        known = 0
        for _ in range(lists[sentence], lists[sentence + 1]):
            signs[number], logs[number], known = _score_tree(
                model, trees.symbols[begin:end], trees.marks[begin:end], heads[at : at + n], room, known
            )
            number += 1
            at += n


# ---- expected counts, for EM


class States(NamedTuple):
    """Probabilities: ``start`` (k,), ``steps`` (2, k, k) [side, child, head], ``words`` (n, k), ``tags`` (n_tags, k) or
    no rows, ``stops`` (2, k): m of a stop on each side, or no rows."""

    start: np.ndarray
    steps: np.ndarray
    words: np.ndarray
    tags: np.ndarray
    stops: np.ndarray


class Expectations(NamedTuple):
    """Expected counts: ``start``, ``steps``, ``words``, ``tags`` as in ``States``; ``stopped`` (k,): of the states of
    all words; ``log`` (1,): the log likelihood."""

    start: np.ndarray
    steps: np.ndarray
    words: np.ndarray
    tags: np.ndarray
    stopped: np.ndarray
    log: np.ndarray


def expectations_for(states: States) -> Expectations:
    start, steps, words, tags = (np.zeros_like(array) for array in states[:4])
    return Expectations(start, steps, words, tags, np.zeros(len(start)), np.zeros(1))


@kernel
def expect(trees, first, last, states, found):
    """Add the expected counts of the trees of the sentences ``first`` to ``last`` to ``found``."""
    k, longest = len(states.start), np.max(np.diff(trees.starts[first : last + 1]))
    beta, message, gamma = np.zeros((longest + 1, k)), np.zeros((longest + 1, k)), np.zeros((longest + 1, k))
    order, wait = np.zeros(longest + 1, np.int32), np.zeros(longest + 1, np.int32)
    for sentence in range(first, last):
        begin, end = trees.starts[sentence], trees.starts[sentence + 1]
        heads, n = trees.heads[begin:end], end - begin
        _bottom_up(heads, wait, order)
        for j in range(1, n + 1):
            word, tag = trees.symbols[begin + j - 1], trees.marks[begin + j - 1]
            for h in range(k):
                value = states.words[word, h]
                if len(states.tags) > 0:
                    value *= states.tags[tag, h]
                if len(states.stops) > 0:
                    value *= states.stops[LEFT, h] * states.stops[RIGHT, h]
                beta[j, h] = value
        # upwards: a word is complete when all of its children have sent their messages
        for at in range(n):
            j = order[at]
            largest = 0.0
            for h in range(k):
                largest = max(largest, beta[j, h])
            found.log[0] += np.log(largest)  # beta is scaled, the log likelihood keeps what was taken out
            head = heads[j - 1]
            for h in range(k):
                beta[j, h] /= largest
            if head > 0:
                step = states.steps[LEFT if j < head else RIGHT]
                for h in range(k):
                    message[j, h] = 0.0
                for c in range(k):
                    part = beta[j, c]
                    for h in range(k):
                        message[j, h] += part * step[c, h]
                for h in range(k):
                    beta[head, h] *= message[j, h]
        # downwards: gamma is the distribution of a word's state, given the whole sentence
        for at in range(n - 1, -1, -1):
            j = order[at]
            head = heads[j - 1]
            own = gamma[j]
            own[:] = 0.0
            if head == 0:
                total = 0.0
                for h in range(k):
                    own[h] = states.start[h] * beta[j, h]
                    total += own[h]
                found.log[0] += np.log(total)
                for h in range(k):
                    own[h] /= total
                    found.start[h] += own[h]
            else:
                side = LEFT if j < head else RIGHT
                for c in range(k):
                    below = beta[j, c]
                    for h in range(k):
                        # the head's gamma holds this child's message: divided out, then the two states together
                        both = gamma[head, h] * states.steps[side, c, h] * below / message[j, h]
                        found.steps[side, c, h] += both
                        own[c] += both
            for h in range(k):
                found.words[trees.symbols[begin + j - 1], h] += own[h]
                found.stopped[h] += own[h]
                if len(states.tags) > 0:
                    found.tags[trees.marks[begin + j - 1], h] += own[h]
