"""Phrase pairs, repaired links and joint pieces against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.engine.phrase_extraction import extract, intern, linked, trie
from corpuscle.random import Random
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.transliterate.kernels import joint
from corpuscle.transliterate.kernels.joint import attach_targets, blocks, phrase_blocks, uncross
from corpuscle.transliterate.links import JointEM, repair
from corpuscle.transliterate.settings import RULES

LENGTH = st.integers(1, 6)


@st.composite
def alignments(draw):
    """Lengths and links of a few pairs."""
    pairs = []
    for _ in range(draw(st.integers(1, 3))):
        n, m = draw(LENGTH), draw(LENGTH)
        cells = list(itertools.product(range(n), range(m)))
        pairs.append((n, m, sorted(draw(st.sets(st.sampled_from(cells), max_size=8)))))
    return pairs


def csr(pairs):
    starts = np.cumsum([0, *(len(links) for *_, links in pairs)])
    links = np.array([link for *_, links in pairs for link in links], np.int32).reshape(-1, 2)
    source = np.cumsum([0, *(n for n, _, _ in pairs)])
    target = np.cumsum([0, *(m for _, m, _ in pairs)])
    return links, starts, source, target


def rectangles(n, m, links, longest):
    """All phrase pairs by their definition."""
    for i1, i2, j1, j2 in itertools.product(range(n), range(n), range(m), range(m)):
        if i1 <= i2 < i1 + longest and j1 <= j2 < j1 + longest:
            inside = [(i1 <= i <= i2, j1 <= j <= j2) for i, j in links]
            if any(a and b for a, b in inside) and all(a == b for a, b in inside):
                bits = sum(1 << (8 * (i - i1) + j - j1) for i, j in links if i1 <= i <= i2)
                yield i1, i2 - i1 + 1, j1, j2 - j1 + 1, bits


@settings(max_examples=200, deadline=None)
@given(alignments(), st.integers(1, 7))
def test_extraction_is_the_enumeration_of_all_rectangles(pairs, longest):
    links, starts, source, target = csr(pairs)
    found = extract(linked(links, starts, source, target), longest)
    rows = sorted(
        (int(p), int(s - source[p]), int(n), int(t - target[p]), int(m), int(bits))
        for p, s, n, t, m, bits in zip(*found, strict=True)
    )
    expected = sorted((p, *row) for p, pair in enumerate(pairs) for row in rectangles(*pair, longest))
    assert rows == expected


@settings(max_examples=200, deadline=None)
@given(alignments(), st.integers(0, 2**32))
def test_uncrossing_keeps_the_best_of_the_largest_subsets_without_crossings(pairs, seed):
    links, starts, *_ = csr(pairs)
    random = Random(seed, "test")
    weights = np.array([random.uniform() for _ in range(len(links))])
    keep = uncross(linked(*csr(pairs)), weights)
    for p, (_, _, own) in enumerate(pairs):
        values = weights[starts[p] : starts[p + 1]]
        best = (-1, -1.0)
        for chosen in itertools.product((False, True), repeat=len(own)):
            kept = [link for link, on in zip(own, chosen, strict=True) if on]
            if all((i - k) * (j - m) >= 0 for (i, j), (k, m) in itertools.combinations(kept, 2)):
                best = max(best, (len(kept), float(values[list(chosen)].sum())))
        mask = keep[starts[p] : starts[p + 1]]
        assert mask.sum() == best[0]
        assert values[mask].sum() == pytest.approx(max(best[1], 0.0), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(alignments())
def test_after_both_rules_every_target_is_linked_and_nothing_crosses(pairs):
    links, starts, source, target = csr(pairs)
    keep = uncross(linked(links, starts, source, target), np.ones(len(links)))
    pair = np.repeat(np.arange(len(pairs)), np.diff(starts))
    kept_starts = np.concatenate([[0], np.cumsum(np.bincount(pair[keep], minlength=len(pairs)))])
    new, new_starts = attach_targets(linked(links[keep], kept_starts, source, target))
    for p, (n, m, _) in enumerate(pairs):
        own = new[new_starts[p] : new_starts[p + 1]].tolist()
        assert {j for _, j in own} == set(range(m))
        assert all(0 <= i < n for i, _ in own)
        assert all((i - a) * (j - b) >= 0 for (i, j), (a, b) in itertools.combinations(own, 2))


def test_hanuman_the_crossing_vowel_goes_and_the_last_one_joins_n():
    # hanuman -> hanumAna: the second a of the source is linked to A, and wrongly the first a too; the final a is free.
    links = np.array([(0, 0), (1, 1), (1, 5), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)], np.int32)
    sides = np.array([0, 7]), np.array([0, 8])
    keep = uncross(linked(links, np.array([0, len(links)]), *sides), np.ones(len(links)))
    assert links[~keep].tolist() == [[1, 5]]
    kept = links[keep]
    repaired, _ = attach_targets(linked(kept, np.array([0, len(kept)]), *sides))
    assert [link for link in repaired.tolist() if link[0] == 6] == [[6, 6], [6, 7]]


@settings(max_examples=100, deadline=None)
@given(alignments())
def test_blocks_are_closed_and_cover_both_sides_in_order(pairs):
    links, starts, source, target = csr(pairs)
    found, found_starts = blocks(linked(links, starts, source, target))
    for p, (n, m, own) in enumerate(pairs):
        rows = found[found_starts[p] : found_starts[p + 1]] - [source[p], 0, target[p], 0]
        at = [0, 0]
        for begin, length, other, width in rows.tolist():
            assert [begin, other] == at and length + width > 0
            at = [begin + length, other + width]
            for i, j in own:
                assert (begin <= i < begin + length) == (other <= j < other + width)
        assert at == [n, m]


def test_a_phrase_has_the_blocks_of_its_place_in_the_name():
    pairs = [(4, 5, [(0, 0), (1, 1), (1, 2), (2, 3), (3, 4)])]
    found = extract(linked(*csr(pairs)), 7)
    pieces, piece_starts = phrase_blocks(found)
    whole = {tuple(row) for row in blocks(linked(*csr(pairs)))[0].tolist()}
    assert {tuple(row) for row in pieces.tolist()} == whole
    assert np.diff(piece_starts).max() == 4


def test_interning_numbers_stretches_by_content():
    text = np.array([1, 2, 1, 2, 3], np.int32)
    ids, firsts = intern(text, np.array([0, 2, 1, 3, 4, 0]), np.array([2, 2, 2, 2, 1, 0]))
    assert ids[0] == ids[1] and len(set(ids.tolist())) == 5 and len(firsts) == 5


def test_a_trie_finds_every_phrase():
    phrases = {(1,), (1, 2), (2, 1, 3), (3,), (1, 2, 5), (2, 1)}
    rows = sorted(phrases)
    padded = np.array([[*row, *[-1] * (3 - len(row))] for row in rows], np.int32)
    nodes, node_of = trie(padded, np.array([len(row) for row in rows]))
    for row, node in zip(rows, node_of.tolist(), strict=True):
        low, high, at = 0, nodes.roots, -1
        for symbol in row:
            at = low + nodes.symbols[low:high].tolist().index(symbol)
            low, high = int(nodes.first_child[at]), int(nodes.first_child[at + 1])
        assert at == node


# ---- joint pieces


def cuts(x, y):
    """All ways to cut two sequences side by side."""
    if not x and not y:
        yield ()
    for a, b in joint.SHAPES.tolist():
        if a <= len(x) and b <= len(y):
            for rest in cuts(x[a:], y[b:]):
                yield ((tuple(x[:a]), tuple(y[:b])), *rest)


def test_joint_expectation_is_the_sum_over_all_ways_to_cut():
    source, target = [1, 2, 1], [1, 3, 2]
    grid = joint.grid(np.array(source), np.array([0, 3]), np.array(target), np.array([0, 3]))
    random = Random(3, "test")
    probability = np.array([random.uniform() for _ in range(grid.n_pieces)])
    names = {}
    for i, j, shape in itertools.product(range(4), range(4), range(len(joint.SHAPES))):
        piece = grid.pieces[i * 4 + j, shape]
        if piece >= 0:
            a, b = joint.SHAPES[shape]
            names[tuple(source[i - a : i]), tuple(target[j - b : j])] = piece
    totals, counts = 0.0, np.zeros(grid.n_pieces)
    for cut in cuts(source, target):
        p = np.prod([probability[names[piece]] for piece in cut])
        totals += p
        for piece in cut:
            counts[names[piece]] += p
    found, likelihood = joint.expectation(grid, probability)
    assert likelihood == pytest.approx(np.log(totals), abs=1e-12)
    np.testing.assert_allclose(found, counts / totals, atol=1e-12)


def test_joint_likelihood_never_falls():
    random = Random(1, "test")
    names = [[1 + random.below(4) for _ in range(2 + random.below(5))] for _ in range(60)]
    other = [[5 - letter for letter in name for _ in range(1 + (letter == 2))] for name in names]
    flat = [np.array([x for name in side for x in name]) for side in (names, other)]
    starts = [np.cumsum([0, *map(len, side)]) for side in (names, other)]
    grid = joint.grid(flat[0], starts[0], flat[1], starts[1])
    em, history = JointEM(grid), []
    for number in range(12):
        history.append(em.finish(number))
    probability = em.probability
    assert (np.diff(history) >= -1e-9).all() and probability.sum() == pytest.approx(1.0)
    links, link_starts = joint.links(grid, probability)
    first = links[: link_starts[1]].tolist()
    assert len(first) == len(other[0])


@settings(max_examples=50, deadline=None)
@given(alignments())
def test_the_two_rules_are_switched_one_by_one(pairs):
    links, starts, source, target = csr(pairs)
    sides = [Corpus.from_sentences([list("abcdef"[:n]) for n in np.diff(bounds)]) for bounds in (source, target)]
    bitext, given = Bitext(*sides), Alignments(links, starts, np.ones(len(links), bool))
    none, first, second, both = (repair(given, bitext, rules) for rules in ((), RULES[:1], RULES[1:], RULES))
    assert none is given
    for found, crossing, complete in (first, False, False), (second, True, True), (both, False, True):
        for i, (_, m, own) in enumerate(pairs):
            cells = {tuple(link) for link in found.pair(i).tolist()}
            if not crossing:
                assert all((i - k) * (j - h) >= 0 for (i, j), (k, h) in itertools.product(cells, cells))
            if complete:
                assert {j for _, j in cells} == set(range(m))
            if found is first:
                assert cells <= set(own)
            if found is second:
                assert cells >= set(own)
