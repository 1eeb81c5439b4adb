"""Alignments: Pharaoh and NAACL files, set operations against plain sets, matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text.alignments import (
    AlignmentMatrix,
    Alignments,
    read_naacl,
    read_pharaoh,
    write_naacl,
    write_pharaoh,
)
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus

PHARAOH = "0-0 1?2 2-1\n\n3-3\n"
WEIGHTED = "0-0:0.93 1?2:1e-05\n0-1:1.0\n"
NAACL = "1 1 1 S\n1 2 3 P\n3 4 4 S\n"


def as_sets(alignments):
    return [{tuple(link) for link in alignments.pair(i).tolist()} for i in range(len(alignments))]


def test_pharaoh_links(tmp_path):
    (tmp_path / "a").write_text(PHARAOH.replace("1?2", "1p2"))
    links = read_pharaoh(tmp_path / "a")
    assert links.links.tolist() == [[0, 0], [1, 2], [2, 1], [3, 3]]
    assert links.links.dtype == np.int32
    assert links.starts.tolist() == [0, 3, 3, 4]
    assert links.sure.tolist() == [True, False, True, True]
    assert links.weights is None
    assert as_sets(links.only_sure()) == [{(0, 0), (2, 1)}, set(), {(3, 3)}]
    write_pharaoh(links, tmp_path / "b")
    assert (tmp_path / "b").read_text() == PHARAOH


def test_weights_round_trip(tmp_path):
    (tmp_path / "a").write_text(WEIGHTED)
    links = read_pharaoh(tmp_path / "a")
    assert links.weights.tolist() == [0.93, 1e-5, 1.0]
    write_pharaoh(links, tmp_path / "b")
    assert (tmp_path / "b").read_text() == WEIGHTED
    bad = Alignments(links.links, links.starts, links.sure, np.array([1.0, np.nan, 0.0]))
    with pytest.raises(InputError, match="finite"):
        write_pharaoh(bad, tmp_path / "c")


def test_naacl_links_count_from_one(tmp_path):
    (tmp_path / "a").write_text("0001 1 1\n1 2 3 P\n3 4 4 P\n3 4 4 S\n")
    links = read_naacl(tmp_path / "a")
    assert links.links.tolist() == [[0, 0], [1, 2], [3, 3]]
    assert links.sure.tolist() == [True, False, True]
    assert len(links) == 3
    assert len(read_naacl(tmp_path / "a", sentences=5)) == 5
    write_naacl(links, tmp_path / "b")
    assert (tmp_path / "b").read_text() == NAACL
    (tmp_path / "w").write_text("1 1 1 S 0.5\n2 1 1 P 0.25\n")
    write_naacl(read_naacl(tmp_path / "w"), tmp_path / "b")
    assert (tmp_path / "b").read_text() == (tmp_path / "w").read_text()


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("0-0\n1:1", 2, "'1:1' is not a link"),
        ("-1-0", 1, "not a link"),
        ("0-0:x", 1, "not a link"),
        ("0-9999999999", 1, "not a link"),
        ("٣-0", 1, "not a link"),
        ("0-0 0?0", 1, "same link twice"),
        ("0-0:0.5 1-1", 1, "some links have weights"),
        ("0-0\n1-1:1", 2, "some links have weights"),
        ("0-0:1e999", None, "too large"),
    ],
)
def test_bad_pharaoh_lines(tmp_path, text, line, reason):
    (tmp_path / "a").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_pharaoh(tmp_path / "a")
    assert caught.value.line == line
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1 1\n", 1, "expected: sentence"),
        ("1 1 1 S\n\n", 2, "expected: sentence"),
        ("1 0 1 S\n", 1, "counted from 1"),
        ("1 1 1 X\n", 1, "S or P"),
        ("1 1 1 S x\n", 1, "not a weight"),
        ("1 1 1 S\n1 1 1 S\n", 2, "twice"),
        ("999999999 1 1 S\n", 1, "no sentence"),
        ("1001001 1 1\n", 1, "no sentence"),
        ("1 1 1 S 0.5\n1 1 2 S", None, "others have none"),
    ],
)
def test_bad_naacl_lines(tmp_path, text, line, reason):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError) as caught:
        read_naacl(tmp_path / "a")
    assert caught.value.line == line
    assert reason in caught.value.reason


pair = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.tuples(st.booleans(), st.floats(0, 1)))


def build(rows, weighted):
    return Alignments.from_pairs(
        [list(row) for row in rows],
        [[sure for sure, _ in row.values()] for row in rows],
        [[weight for _, weight in row.values()] for row in rows] if weighted else None,
    )


@given(st.lists(pair, max_size=4), st.booleans())
@settings(deadline=None)
def test_files_round_trip(tmp_path_factory, rows, weighted):
    path = tmp_path_factory.mktemp("links") / "a"
    links = build(rows, weighted)
    for write, read in [
        (write_pharaoh, read_pharaoh),
        (write_naacl, lambda path: read_naacl(path, sentences=len(rows))),
    ]:
        write(links, path)
        again, expected = read(path).sorted(), links.sorted()
        assert np.array_equal(again.links, expected.links)
        assert np.array_equal(again.starts, expected.starts)
        assert np.array_equal(again.sure, expected.sure)
        if weighted and len(links.links):
            assert np.array_equal(again.weights, expected.weights)


@given(st.lists(st.tuples(pair, pair), max_size=4))
@settings(deadline=None)
def test_set_operations_are_those_of_sets(rows):
    left, right = build([a for a, _ in rows], True), build([b for _, b in rows], False)
    union, both = left.union(right), left.intersection(right)
    assert as_sets(union) == [set(a) | set(b) for a, b in rows]
    assert as_sets(both) == [set(a) & set(b) for a, b in rows]
    assert as_sets(union.only_sure()) == [
        {link for side in (a, b) for link, (sure, _) in side.items() if sure} for a, b in rows
    ]
    assert as_sets(both.only_sure()) == [
        {link for link in set(a) & set(b) if a[link][0] and b[link][0]} for a, b in rows
    ]
    assert as_sets(left.transposed()) == [{(j, i) for i, j in a} for a, _ in rows]
    assert as_sets(left[1:]) == [set(a) for a, _ in rows[1:]]
    assert as_sets(left.select(np.arange(len(rows))[::-1])) == [set(a) for a, _ in rows[::-1]]


def test_alignments_of_other_lengths_do_not_mix():
    with pytest.raises(ValueError, match="1 sentence pairs, but the other"):
        Alignments.from_pairs([[]]).union(Alignments.from_pairs([]))


def test_links_must_lie_within_the_bitext():
    bitext = Bitext(Corpus.from_sentences([["a"], ["b", "c"]]), Corpus.from_sentences([["x", "y"], ["z"]]))
    Alignments.from_pairs([[(0, 1)], [(1, 0)]]).check_range(bitext)
    with pytest.raises(InputError, match="gold:2: the link 0-1 lies outside a sentence pair of 2 and 1 words"):
        Alignments.from_pairs([[(0, 1)], [(0, 1)]]).check_range(bitext, "gold")
    with pytest.raises(InputError, match="alignments of 1 sentence pairs, but the bitext has 2"):
        Alignments.from_pairs([[]]).check_range(bitext)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5), st.integers(0, 9))
@settings(deadline=None)
def test_matrices(shapes, seed):
    numbers = np.random.default_rng(seed)
    matrices = [numbers.random(shape, dtype=np.float32) for shape in shapes]
    table = AlignmentMatrix.from_matrices(matrices)
    again = AlignmentMatrix.from_arrays(table.arrays("m/"), "m/")
    assert len(again) == len(shapes)
    links = again.links(0.5)
    for i, matrix in enumerate(matrices):
        assert np.array_equal(again.matrix(i), matrix)
        assert np.array_equal(again.transposed().matrix(i), matrix.T)
        assert links.pair(i).tolist() == np.argwhere(matrix >= 0.5).tolist()
    assert np.array_equal(links.weights, np.concatenate([m[m >= 0.5] for m in matrices] or [[]]))


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 weights for matrices of 4 cells"):
        AlignmentMatrix(np.zeros(3, np.float32), np.array([[2, 2]], np.int32))
    with pytest.raises(ValueError, match="pairs of lengths"):
        AlignmentMatrix(np.zeros(4, np.float32), np.array([[-2, -2]], np.int32))
