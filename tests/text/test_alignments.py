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
        ("0-0:1 1-1:0.5\n0-0:.5", 2, "'0-0:.5' is not a link"),
        ("0-0 1-1 0-0", 1, "same link twice"),
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
        ("1 1 1 P\n1 1 1 P\n", 2, "twice"),
        ("1 1 1 P\n1 1 1 S\n1 1 1 S\n", 3, "twice"),
        ("0 1 1 S\n", 1, "counted from 1"),
        ("1 1 0 S\n", 1, "counted from 1"),
        ("1 1 1 S 0.5 x\n", 1, "expected: sentence"),
        ("1 1 x S\n", 1, "expected: sentence"),
        ("1 1 1 S 1e999\n", None, "too large"),
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


def test_the_highest_sentence_number_grows_with_the_lines(tmp_path):
    (tmp_path / "a").write_text("1 1 1\n1002000 1 1\n")
    assert len(read_naacl(tmp_path / "a")) == 1_002_000
    (tmp_path / "a").write_text("1 1 1\n1002001 1 1\n")
    with pytest.raises(InputError, match="a:2: there is no sentence 1002001"):
        read_naacl(tmp_path / "a")
    with pytest.raises(InputError, match="a:2: there is no sentence 1002001"):
        read_naacl(tmp_path / "a", sentences=1_002_000)
    assert len(read_naacl(tmp_path / "a", sentences=1_002_001)) == 1_002_001
    (tmp_path / "a").write_text("")
    assert len(read_naacl(tmp_path / "a")) == 0 and read_naacl(tmp_path / "a").links.shape == (0, 2)


def test_a_sure_link_replaces_a_possible_one_whichever_comes_first(tmp_path):
    for text in ("1 1 1 P 0.25\n1 1 1 S 0.5\n", "1 1 1 S 0.5\n1 1 1 P 0.25\n"):
        (tmp_path / "a").write_text(text)
        links = read_naacl(tmp_path / "a")
        assert (links.sure.tolist(), links.weights.tolist()) == ([True], [0.5])


@pytest.mark.parametrize("weight", [-0.5, np.inf, np.nan])
def test_weights_that_are_none_are_not_written(tmp_path, weight):
    links = Alignments.from_pairs([[(0, 0), (1, 1)]], weights=[[0.0, weight]])
    for write in (write_pharaoh, write_naacl):
        with pytest.raises(InputError, match="/a: the weights of links are finite and not negative"):
            write(links, tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_marks_and_weights_are_one_for_each_link():
    for marks in ({"sure": [[True]]}, {"weights": [[1.0]]}, {"weights": [[1.0, 0.5], [0.2]]}):
        with pytest.raises(ValueError, match="one value for each link"):
            Alignments.from_pairs([[(0, 0), (1, 1)], []], **marks)


def test_slices_are_consecutive_and_selections_any():
    links = Alignments.from_pairs([[(0, 0)], [], [(1, 2), (3, 4)], [(5, 6)]], weights=[[1.0], [], [2.0, 3.0], [4.0]])
    assert links.pairs.tolist() == [0, 2, 2, 3]
    assert as_sets(links[1:3]) == [set(), {(1, 2), (3, 4)}] and links[1:3].weights.tolist() == [2.0, 3.0]
    assert len(links[3:1]) == 0 and len(links[-2:]) == 2
    with pytest.raises(ValueError, match="step 1"):
        links[::2]
    chosen = links.select(np.array([False, False, True, True]))
    assert as_sets(chosen) == [{(1, 2), (3, 4)}, {(5, 6)}] and chosen.weights.tolist() == [2.0, 3.0, 4.0]
    assert links.select(np.array([3, 0])).weights.tolist() == [4.0, 1.0]


def test_links_are_sorted_by_source_then_target():
    links = Alignments.from_pairs(
        [[(1, 0), (0, 2), (0, 1)], [(0, 0)]], [[True, False, True], [False]], [[1.0, 2.0, 3.0], [4.0]]
    ).sorted()
    assert links.links.tolist() == [[0, 1], [0, 2], [1, 0], [0, 0]]
    assert (links.sure.tolist(), links.weights.tolist()) == ([True, False, True, False], [3.0, 2.0, 1.0, 4.0])
    assert links.starts.tolist() == [0, 3, 4]
    turned = links.transposed()
    assert turned.links.tolist() == [[1, 0], [2, 0], [0, 1], [0, 0]]
    assert turned.weights is links.weights and turned.sure is links.sure and turned.starts is links.starts


def test_links_are_sure_unless_something_else_is_said(tmp_path):
    assert Alignments.from_pairs([[(0, 0), (1, 1)]]).sure.tolist() == [True, True]
    (tmp_path / "a").write_text("\n")
    for links in (Alignments.from_pairs([[]]), read_pharaoh(tmp_path / "a")):
        assert links.sure.dtype == bool and links.links.dtype == np.int32 and links.links.shape == (0, 2)
    assert Alignments.from_pairs([[]]).union(Alignments.from_pairs([[]])).links.shape == (0, 2)


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
    for link in ((2, 0), (-1, 0), (0, -1)):
        with pytest.raises(InputError, match=f":2: the link {link[0]}-{link[1]} lies outside"):
            Alignments.from_pairs([[(0, 0)], [link]]).check_range(bitext, "gold")
    with pytest.raises(InputError, match="alignments of 1 sentence pairs, but the bitext has 2"):
        Alignments.from_pairs([[]]).check_range(bitext)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5), st.integers(0, 9))
@settings(deadline=None)
def test_matrices(shapes, seed):
    numbers = np.random.default_rng(seed)
    matrices = [numbers.random(shape, dtype=np.float32) for shape in shapes]
    table = AlignmentMatrix.from_matrices(matrices)
    again = AlignmentMatrix.from_arrays(table.arrays())
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
    for shapes in ([[-2, -2]], [[4, 1, 1]], [4]):
        with pytest.raises(ValueError, match="pairs of lengths"):
            AlignmentMatrix(np.zeros(4, np.float32), np.array(shapes, np.int32))
    with pytest.raises(ValueError, match="4 weights for matrices of 4 cells"):
        AlignmentMatrix(np.zeros((2, 2), np.float32), np.array([[2, 2]], np.int32))


def test_the_threshold_of_links_is_a_half_and_reached_by_what_equals_it():
    table = AlignmentMatrix.from_matrices([np.array([[0.5, 0.49], [0.75, 0.25]])])
    assert table.weights.dtype == np.float32 and table.shapes.dtype == np.int32
    assert table.links().links.tolist() == [[0, 0], [1, 0]]
    assert table.links(0.25).weights.tolist() == [0.5, float(np.float32(0.49)), 0.75, 0.25]
    links = table.links()
    assert links.sure.tolist() == [True, True] and links.sure.dtype == bool and links.links.dtype == np.int32
    assert links.weights.dtype == np.float64
    assert AlignmentMatrix.from_matrices([]).weights.dtype == np.float32
    assert set(table.arrays()) == {"alignment/weights", "alignment/shapes"}
    assert np.array_equal(AlignmentMatrix.from_arrays(table.arrays()).matrix(0), table.matrix(0))
