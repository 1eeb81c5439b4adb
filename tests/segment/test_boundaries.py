"""Claims about segment.kernels.boundaries: the sampler against enumerated posteriors, and nothing left behind."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from corpuscle.compiled import kernel
from corpuscle.engine.restaurants.hierarchy import remove
from corpuscle.engine.restaurants.pool import CELL_ROWS, CUSTOMERS, ENTRIES, FREE_COUNT, NODES, USED
from corpuscle.engine.restaurants.seating import verify
from corpuscle.random import Random
from corpuscle.segment.kernels import boundaries
from corpuscle.segment.kernels.boundaries import INSIDE, SENTENCE, WORD, Boundaries, come, log_joint, new_choice, sweep
from corpuscle.segment.kernels.model import BOUNDARY, WORDS, context_of, drop_word, grown_nested, new_nested

LONGEST = 4


@kernel(bare=True)
def visit(nested, text, choice, sweeps, visits, stream):
    """Many sweeps over a short text; counts the states."""
    for _ in range(sweeps):
        sweep(nested, text, 0, len(text.gaps), 1.0, choice, stream)
        state = 0
        for i in range(len(text.gaps)):
            state |= np.int64(text.begins[i] != INSIDE) << i
        visits[state] += 1


def bases_of(letters: int, stop: float, boundary: float, longest: int = LONGEST) -> np.ndarray:
    k = np.arange(longest + 1)
    bases = (1 - boundary) * stop * (1 - stop) ** (k - 1.0) * float(letters) ** -k
    bases[0] = boundary
    return bases


@kernel(bare=True)
def go(nested, text, first, last, stream):
    """Take the words that begin at the letters ``first`` to ``last``, and the ends of their sentences, out again."""
    begins, names = text.begins, text.names
    for i in range(first, last):
        if begins[i] == INSIDE:
            continue
        end = i + 1
        while begins[end] == INSIDE:
            end += 1
        word = np.int64(names[i])
        if begins[end] == SENTENCE:
            remove(nested.words, context_of(nested, word, BOUNDARY, False), BOUNDARY, stream)
        remove(nested.words, context_of(nested, boundaries._word_before(text, i), BOUNDARY, False), word, stream)
        drop_word(nested, word)


class Chain:
    """A text and its segmentation, from a random start."""

    def __init__(self, lines, order, strengths, bases, seed=1, longest=LONGEST):
        letters = sorted(set("".join(lines)))
        text = np.array([3 + letters.index(c) for line in lines for c in line], np.int32)
        self.n, self.lines, self.bases, self.longest = len(text), lines, bases, longest
        self.nested = new_nested(
            text, np.zeros(8, np.uint16), np.zeros(2048, np.uint8), order=order, longest=longest, deepest=0, room=64
        )
        self.nested.words.discounts[:] = 0.0
        self.nested.words.strengths[:] = strengths
        self.begins, self.names = np.zeros(self.n + 1, np.uint8), np.zeros(self.n + 1, np.int32)
        self.gaps = np.zeros(self.n, np.uint8)
        self.starts = np.cumsum([0, *map(len, lines)])
        stream = Random(seed, "test start")
        self.begins[:-1] = [stream.below(2) if i % longest else WORD for i in range(self.n)]
        self.begins[self.starts] = SENTENCE
        self.text = Boundaries(self.gaps, self.begins, self.names, bases, longest)
        self.choice, self.stream = new_choice(), Random(seed, "test boundaries").array()

    def come(self):
        at = 0
        while (at := come(self.nested, self.text, at, self.n, self.stream)) < self.n:
            self.nested = grown_nested(self.nested)

    def sweep(self, heat=1.0):
        at = 0
        while at < self.n:
            at = sweep(self.nested, self.text, at, self.n, heat, self.choice, self.stream)
            if at < self.n:
                self.nested = grown_nested(self.nested)

    @property
    def words(self):
        lines = []
        for begin, line in zip(self.starts, self.lines, strict=False):
            cuts = [i for i in range(len(line)) if self.begins[begin + i] != INSIDE]
            lines.append(tuple(line[a:b] for a, b in zip(cuts, [*cuts[1:], len(line)], strict=True)))
        return tuple(lines)


def segmentations(line: str):
    for cuts in product((False, True), repeat=len(line) - 1):
        words = [line[0]]
        for character, cut in zip(line[1:], cuts, strict=True):
            if cut:
                words.append(character)
            else:
                words[-1] += character
        yield tuple(words)


def exact(lines, order, strengths, bases):
    """The posterior of all segmentations of all lines, summed over all ways to sit."""

    def probability(events, local, root):
        """P(events): sequential draws from Dirichlet processes; a table in a context is a customer of the root."""
        if not events:
            return 1.0
        (context, word), rest = events[0], events[1:]
        of_word, of_all = root.get(word, 0), sum(root.values())
        base = bases[0] if word == "$" else bases[len(word)]
        from_root = (of_word + strengths[0] * base) / (strengths[0] + of_all)
        if order == 1:
            return from_root * probability(rest, local, {**root, word: of_word + 1})
        seen, in_context = local.get((context, word), 0), sum(n for (c, _), n in local.items() if c == context)
        after = {**local, (context, word): seen + 1}
        opens = strengths[1] * from_root * probability(rest, after, {**root, word: of_word + 1})
        joins = seen * probability(rest, after, root) if seen else 0.0
        return (opens + joins) / (strengths[1] + in_context)

    posterior = {}
    for chosen in product(*(list(segmentations(line)) for line in lines)):
        if any(len(word) > LONGEST for words in chosen for word in words):
            continue
        events = [pair for words in chosen for pair in zip(("$", *words), (*words, "$"), strict=True)]
        posterior[chosen] = probability(events, {}, {})
    total = sum(posterior.values())
    return {key: value / total for key, value in posterior.items()}


@pytest.mark.parametrize(("order", "strengths"), [(1, (1.5,)), (2, (1.5, 0.7)), (2, (0.3, 4.0))])
def test_segmentations_are_visited_as_often_as_the_enumerated_posterior_says(order, strengths):
    lines, bases = ["abab", "aba"], bases_of(2, 0.5, 0.1)
    truth = exact(lines, order, strengths, bases)
    chain = Chain(lines, order, strengths, bases)
    chain.come()
    visits, sweeps = np.zeros(1 << chain.n, np.int64), 200_000
    visit(chain.nested, chain.text, chain.choice, sweeps, visits, chain.stream)
    counts = {}
    for state in np.flatnonzero(visits):
        cuts = [(int(state) >> i) & 1 for i in range(chain.n)]
        chain.begins[:-1] = cuts
        counts[chain.words] = int(visits[state])
    assert set(counts) <= set(truth)
    assert sum(abs(counts.get(key, 0) / sweeps - p) for key, p in truth.items()) / 2 < 0.015


def test_a_hotter_chain_is_flatter_and_a_forced_gap_stays():
    lines, bases = ["aaaaaaaa"] * 3, bases_of(2, 0.5, 0.1, 8)
    entropies = []
    for heat in (1.0, 0.1):
        chain = Chain(lines, 1, (0.1,), bases, longest=8)
        chain.gaps[3], chain.gaps[12] = 1, 2
        chain.begins[3], chain.begins[12] = WORD, INSIDE
        chain.come()
        counts = Counter()
        for _ in range(3000):
            chain.sweep(heat)
            counts[chain.words] += 1
            assert chain.begins[3] == WORD and chain.begins[12] == INSIDE
        shares = np.array(list(counts.values())) / 3000
        entropies.append(-(shares * np.log(shares)).sum())
    assert entropies[1] > entropies[0] + 1.0


@pytest.mark.parametrize("order", [1, 2])
def test_what_came_can_go_and_nothing_remains(order):
    stream = Random(5, "test text")
    lines = ["".join("abcd"[stream.below(4)] for _ in range(1 + stream.below(30))) for _ in range(60)]
    chain = Chain(lines, order, (20.0, 10.0)[:order], bases_of(4, 0.3, 0.05, 6), longest=6)
    chain.come()
    for _ in range(5):
        chain.sweep()
        direct = verify(chain.nested.words)
        assert direct.sum() == sum(len(words) + 1 for words in chain.words)
        assert max(len(word) for words in chain.words for word in words) <= 6
    assert np.isfinite(log_joint(chain.nested, chain.bases))
    go(chain.nested, chain.text, 0, chain.n, chain.stream)
    pool = chain.nested.words
    assert pool.nodes[0, CUSTOMERS] == 0
    for row, kept in ((NODES, 1), (ENTRIES, 0), (CELL_ROWS, 0)):
        assert pool.counters[row, USED] - pool.counters[row, FREE_COUNT] == kept
    assert chain.nested.counters[WORDS, USED] - chain.nested.counters[WORDS, FREE_COUNT] == 1


def test_words_repeated_in_many_lines_are_found():
    stream = Random(2, "test words")
    words = ["abc", "de", "fghi", "jk", "lmno"]
    gold = [[stream.choice(words) for _ in range(2 + stream.below(4))] for _ in range(200)]
    chain = Chain(["".join(line) for line in gold], 2, (50.0, 20.0), bases_of(15, 0.3, 0.05, 10), longest=10)
    chain.come()
    joint = [log_joint(chain.nested, chain.bases)]
    for i in range(30):
        chain.sweep(min(1.0, (i + 1) / 20))
        joint.append(log_joint(chain.nested, chain.bases))
    assert joint[-1] > joint[0]
    right = sum(found == tuple(line) for found, line in zip(chain.words, gold, strict=True))
    assert right > 120


def test_where_no_cut_has_a_score_every_letter_is_a_word():
    cuts = np.zeros(6, np.uint8)
    scores, allowed = np.full((6, 4), np.nan, np.float32), np.ones(6, bool)
    boundaries._best(scores, np.array([0, 4, 6]), allowed, cuts)
    assert cuts.tolist() == [1] * 6
