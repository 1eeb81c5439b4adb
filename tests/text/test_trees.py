"""Constituent trees: bracketings round trip, transformations do what they say, inverses are exact."""

import dataclasses
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.errors import InputError, SettingError
from corpuscle.text.brackets import format_brackets, parse_brackets, read_brackets, write_brackets
from corpuscle.text.corpus import Corpus
from corpuscle.text.trees import binarise, collapse_unaries, expand_unaries, unbinarise

SAMPLE = """\
(TOP (S (NP-SBJ-1 (DT lo) (NN melu)) (VP (VB sadi) (NP (-NONE- *T*-1)) (PP=2 (P ta) (NP (NN vo)))) (. .)))
( (FRAG (-LRB- -LRB-) (NN ze) (-RRB- -RRB-)))
(X bare (Y words) here)
"""


def strings(trees):
    return list(format_brackets(trees))


def nested(text):
    """A tree as nested lists, by a recursive reader that is too simple to be wrong."""
    tokens = re.findall(r"[()]|[^()\s]+", text)

    def read(position):
        label, children = "", []
        position += 1
        if tokens[position] not in "()":
            label, position = tokens[position], position + 1
        while tokens[position] != ")":
            if tokens[position] == "(":
                child, position = read(position)
            else:
                child, position = tokens[position], position + 1
            children.append(child)
        return [label, *children], position + 1

    return read(0)[0]


def nodes(tree, parent=-1, at=0, found=None):
    """All nodes of nested lists in preorder: label, parent, span."""
    found = [] if found is None else found
    index = len(found)
    found.append(None)
    end = at
    for child in tree[1:]:
        end = end + 1 if isinstance(child, str) else nodes(child, index, end, found)
    found[index] = (tree[0], parent, at, end)
    return found if parent == -1 else end


symbols = st.text(st.sampled_from("abXY@|^+\\-<>é"), min_size=1, max_size=3)
shapes = st.recursive(
    st.tuples(symbols, symbols).map(lambda pair: f"({pair[0]} {pair[1]})"),
    lambda below: st.tuples(symbols, st.lists(st.one_of(below, symbols), min_size=1, max_size=5)).map(
        lambda node: f"({node[0]} {' '.join(node[1])})"
    ),
    max_leaves=14,
)
treebanks = st.lists(st.one_of(shapes, shapes.map(lambda tree: f"( {tree})"), st.just("")), max_size=4)


@given(treebanks)
@settings(deadline=None)
def test_arrays_are_what_a_recursive_reader_finds(texts):
    trees = parse_brackets(texts)
    assert len(trees) == len(trees.words) == len(texts)
    starts, items = trees.children
    for i, text in enumerate(texts):
        first, last = trees.tree_starts[i : i + 2]
        labels = trees.labels.strings()[first:last]
        rows = list(zip(labels, trees.parents[first:last].tolist(), *trees.spans[first:last].T.tolist(), strict=True))
        assert rows == (nodes(nested(text)) if text else [])
        begin = trees.words.sentence_starts[i]
        for word in range(trees.words.lengths[i]):
            node = int(trees.word_parents[begin + word]) + first
            assert ~(begin + word) in items[starts[node] : starts[node + 1]]


@given(treebanks)
@settings(deadline=None)
def test_bracketings_round_trip(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("trees")
    write_brackets(parse_brackets(texts), folder / "a")
    assert (folder / "a").read_text(encoding="utf-8") == "".join(text + "\n" for text in texts)
    assert strings(read_brackets(folder / "a", lines=True)) == texts
    assert strings(read_brackets(folder / "a")) == [text for text in texts if text]
    write_brackets(parse_brackets(texts), folder / "b", indent=True)
    assert strings(read_brackets(folder / "b")) == [text for text in texts if text]


@given(treebanks, st.sampled_from(["left", "right"]), st.sampled_from([0, 1, 2, None]), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_unbinarise_is_the_exact_inverse(texts, side, horizontal, vertical):
    trees = parse_brackets(texts)
    binary = binarise(trees, side, horizontal, vertical)
    assert np.diff(binary.children[0]).max(initial=0) <= 2
    assert strings(unbinarise(binary)) == texts
    parsed = parse_brackets(strings(binary))  # spans and parents are what the written tree has
    assert np.array_equal(parsed.spans, binary.spans)
    assert np.array_equal(parsed.parents, binary.parents)


@given(treebanks, st.booleans(), st.booleans(), st.sampled_from("+|@"))
@settings(max_examples=200, deadline=None)
def test_expand_unaries_is_the_exact_inverse(texts, preterminals, root, joint):
    trees = parse_brackets(texts)
    short = collapse_unaries(trees, joint, preterminals, root)
    assert strings(expand_unaries(short, joint)) == texts
    parsed = parse_brackets(strings(short))
    assert np.array_equal(parsed.parents, short.parents)
    if preterminals and root:
        assert not short.unaries.any()


@given(treebanks)
@settings(deadline=None)
def test_the_whole_preparation_of_a_grammar_is_undone(texts):
    trees = parse_brackets(texts)
    assert strings(expand_unaries(unbinarise(binarise(collapse_unaries(trees), "left", 1, 2)))) == texts


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("right", 0, 1), "(A (B b) (@A (C c) (@A (D d) (E e))))"),
        (("left", 0, 1), "(A (@A (@A (B b) (C c)) (D d)) (E e))"),
        (("right", 1, 1), "(A (B b) (@A|B (C c) (@A|C (D d) (E e))))"),
        (("right", None, 1), "(A (B b) (@A|B (C c) (@A|B|C (D d) (E e))))"),
        (("left", 1, 1), "(A (@A|E (@A|D (B b) (C c)) (D d)) (E e))"),
        (("left", 2, 1), "(A (@A|E (@A|D|E (B b) (C c)) (D d)) (E e))"),
    ],
)
def test_binarisation_as_in_the_books(settings, expected):
    assert strings(binarise(parse_brackets(["(A (B b) (C c) (D d) (E e))"]), *settings)) == [expected]


def test_vertical_context_is_that_of_the_original_tree():
    tree = parse_brackets(["(S (A (B (c d)) (e f) (g h)))"])
    assert strings(binarise(tree, vertical=2)) == ["(S (A^S (B^A (c d)) (@A^S (e f) (g h))))"]
    assert strings(binarise(tree, vertical=3)) == ["(S (A^S (B^A^S (c d)) (@A^S (e f) (g h))))"]


def test_marks_in_labels_are_escaped():
    tree = parse_brackets(["(A|B (@x a) (y^z b) (c+d c))"])
    assert strings(binarise(tree, horizontal=1)) == [r"(A\|B (\@x a) (@A\|B|\@x (y\^z b) (c+d c)))"]
    assert strings(collapse_unaries(parse_brackets(["(A (c+d c))"]))) == [r"(A+c\+d c)"]


def test_a_factored_root_becomes_its_phrase():
    assert strings(unbinarise(parse_brackets(["(@A^S|B (C c) (@A (D d) (E e)))"]))) == ["(A (C c) (D d) (E e))"]


def test_traces_functions_and_roots_go_when_asked(tmp_path):
    (tmp_path / "a").write_text(SAMPLE)
    assert strings(read_brackets(tmp_path / "a")) == SAMPLE.splitlines()
    clean = read_brackets(tmp_path / "a", keep_traces=False, keep_functions=False, keep_root=False)
    assert strings(clean) == [
        "(S (NP (DT lo) (NN melu)) (VP (VB sadi) (PP (P ta) (NP (NN vo)))) (. .))",
        "(FRAG (-LRB- -LRB-) (NN ze) (-RRB- -RRB-))",
        "(X bare (Y words) here)",
    ]
    assert clean.words.words(0) == ["lo", "melu", "sadi", "ta", "vo", "."]
    top = clean.with_root("TOP")
    assert strings(top)[1:] == ["(TOP (FRAG (-LRB- -LRB-) (NN ze) (-RRB- -RRB-)))", "(TOP (X bare (Y words) here))"]
    assert strings(top.without_root()) == strings(clean)
    assert strings(parse_brackets(["(TOP (A a) (B b))"]).without_root()) == ["(TOP (A a) (B b))"]


@given(treebanks, st.data())
@settings(deadline=None)
def test_taking_out_words_takes_out_empty_nodes(texts, data):
    trees = parse_brackets(texts)
    n = trees.words.n_tokens
    drop = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    flags = iter(drop.tolist())

    def show(tree):
        return tree if isinstance(tree, str) else f"({' '.join([tree[0], *map(show, tree[1:])])})"

    def strip(tree):
        below = []
        for child in tree[1:]:
            if isinstance(child, str):
                if not next(flags):
                    below.append(child)
            elif (stripped := strip(child)) is not None:
                below.append(stripped)
        return [tree[0], *below] if below else None

    stripped = [strip(nested(text)) if text else None for text in texts]
    assert strings(trees.without_words(drop)) == ["" if tree is None else show(tree) for tree in stripped]


def test_all_words_gone_leaves_an_empty_tree():
    trees = parse_brackets(["(S (-NONE- *))", "(S (A a))"]).without_traces()
    assert strings(trees) == ["", "(S (A a))"]
    assert trees.words.lengths.tolist() == [0, 1]


def test_repeated_labels_become_one():
    assert strings(parse_brackets(["(X (X (X (Y (Y y)))))"]).without_repeats()) == ["(X (Y y))"]
    assert strings(parse_brackets(["(X (X x) (X y))"]).without_repeats()) == ["(X (X x) (X y))"]


def test_slices_and_selections():
    texts = ["(A a)", "", "(B (C c) d)", "(D d)"]
    trees = parse_brackets(texts)
    assert strings(trees[1:3]) == texts[1:3]
    assert strings(trees.select(np.array([3, 0, 2]))) == [texts[3], texts[0], texts[2]]
    assert strings(trees[:0]) == []


def test_brackets_without_labels(tmp_path):
    (tmp_path / "a").write_text("((DT NN) (VBD (DT NN)))\n(a)\n")
    trees = read_brackets(tmp_path / "a", labelled=False)
    assert trees.spans.tolist() == [[0, 5], [0, 2], [2, 5], [3, 5], [0, 1]]
    write_brackets(trees, tmp_path / "b", labelled=False)
    assert (tmp_path / "b").read_text() == (tmp_path / "a").read_text()


def test_ten_thousand_levels(tmp_path):
    deep = "(A " * 10_000 + "(B b) (C c) (D d)" + ")" * 10_000
    trees = parse_brackets([deep])
    assert strings(trees) == [deep]
    assert strings(unbinarise(binarise(trees, vertical=2))) == [deep]
    assert strings(expand_unaries(collapse_unaries(trees))) == [deep]
    assert collapse_unaries(trees).n_nodes == 4
    assert trees.without_repeats().n_nodes == 4


def test_the_time_for_a_node_grows_with_its_children_not_with_their_square():
    def seconds(children, side):
        trees, times = parse_brackets(["(S " + "(A a) " * children + ")"]), []
        for _ in range(3):
            begin = time.process_time()
            binary = binarise(trees, side, horizontal=2)
            times.append(time.process_time() - begin)
            assert binary.n_nodes == 2 * children - 1
        return min(times)

    for side in ("left", "right"):
        assert seconds(20_000, side) < 50 * seconds(1_000, side)  # 20 times, not 400


def test_a_folder_is_all_its_files(tmp_path):
    (tmp_path / "2.mrg").write_text("(B b)")
    (tmp_path / "1.mrg").write_text("(A\n  (C a))\n")
    assert strings(read_brackets(tmp_path)) == ["(A (C a))", "(B b)"]
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / ".hidden").write_text("(C c)")
    (tmp_path / "none" / "deeper").mkdir()
    assert strings(read_brackets(tmp_path / "2.mrg", tmp_path)) == ["(B b)", "(A (C a))", "(B b)"]
    with pytest.raises(InputError, match="no files"):
        read_brackets(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("(A a)\n (B b\n\n", 2, "begins here is not closed (column 2)"),
        ("(A a))\n", 1, "closing bracket too many (column 6)"),
        ("(A a)\n)", 2, "closing bracket too many"),
        ("(A a)\nb", 2, "outside of brackets: 'b'"),
        ("(A\n (B))", 2, "without words: (B)"),
        ("()", 1, "without words"),
        ("( (A a)\n(A ( (B b))))", 2, "without a label"),
        ("(A ((B b)))", 1, "without a label"),
        ("(A a)\n\n\n(B b))\n", 4, "closing bracket too many"),
        ("(A a)\n\n(B\n\n(C c)\n", 3, "begins here is not closed"),
        ("(A a) (B\n)", 2, "without words: (B)"),
        ("(A a) ((B b) (C\n))", 2, "without words: (C)"),
    ],
)
def test_errors_name_the_line(tmp_path, text, line, reason):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError) as caught:
        read_brackets(tmp_path / "a")
    assert str(caught.value).startswith(f"{tmp_path / 'a'}:{line}: ")
    assert reason in caught.value.reason


def test_a_file_that_is_not_text_is_an_error(tmp_path):
    (tmp_path / "latin").write_bytes(b"(A a)\n(B \xe9)\n")
    with pytest.raises(InputError, match=r"latin:2: invalid UTF-8"):
        read_brackets(tmp_path / "latin")


def test_one_tree_a_line_when_asked(tmp_path):
    (tmp_path / "a").write_text("(A a)\n(B\nb)")
    with pytest.raises(InputError, match="a:2: unbalanced: the tree is not closed at the end of its line"):
        read_brackets(tmp_path / "a", lines=True)
    (tmp_path / "a").write_text("(A a)\n(B b) (C c)")
    with pytest.raises(InputError, match="a:2: a second tree"):
        read_brackets(tmp_path / "a", lines=True)


def test_a_blank_line_is_an_empty_tree_when_there_is_one_a_line(tmp_path):
    for text in ("(A a)\n\n(B b)", "(A a)\n\n(B b)\n"):
        (tmp_path / "a").write_text(text)
        trees = read_brackets(tmp_path / "a", lines=True)
        assert strings(trees) == ["(A a)", "", "(B b)"] and trees.words.lengths.tolist() == [1, 0, 1]
    assert strings(read_brackets(tmp_path / "a")) == ["(A a)", "(B b)"]
    write_brackets(trees, tmp_path / "b")
    assert (tmp_path / "b").read_text() == "(A a)\n\n(B b)\n"


def test_children_with_structure_stand_on_lines_of_their_own(tmp_path):
    tree = "(S (NP (D a) (N b)) (VP (V c) (NP (N d)) e))"
    lines = "(S\n  (NP (D a) (N b))\n  (VP\n    (V c)\n    (NP (N d))\n    e))"
    assert list(format_brackets(parse_brackets([tree]), indent=True)) == [lines]
    assert strings(parse_brackets([lines, tree])) == [tree, tree]
    write_brackets(parse_brackets([tree]), tmp_path / "a", indent=True)
    assert (tmp_path / "a").read_text() == lines + "\n"
    assert list(format_brackets(parse_brackets([tree]), labelled=False)) == ["(((a) (b)) ((c) ((d)) e))"]


@pytest.mark.parametrize("mark", ["(", ")", " ", "\t", "\n", "\r", "\v", "\f"])
def test_words_and_labels_with_brackets_or_space_are_not_written(tmp_path, mark):
    labels = parse_brackets(["(A (B b))"]).relabel(lambda label: f"x{mark}y" if label == "B" else label)
    with pytest.raises(InputError, match="a bracketing cannot hold the label"):
        write_brackets(labels, tmp_path / "out")
    words = dataclasses.replace(parse_brackets(["(A b)"]), words=Corpus.from_sentences([[f"x{mark}y"]]))
    with pytest.raises(InputError, match="a bracketing cannot hold the word"):
        write_brackets(words, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_empty_word_is_not_written(tmp_path):
    trees = dataclasses.replace(parse_brackets(["(A b)"]), words=Corpus.from_sentences([[""]]))
    with pytest.raises(InputError, match="a bracketing cannot hold the word ''"):
        write_brackets(trees, tmp_path / "out")


def test_only_an_outermost_node_may_be_without_a_label(tmp_path):
    bare = parse_brackets(["(A (B b))", "(C c)"]).relabel(lambda label: "" if label in "AC" else label)
    write_brackets(bare, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "( (B b))\n( c)\n"
    with pytest.raises(InputError, match="a node that is not outermost has no label"):
        write_brackets(bare.relabel(lambda label: ""), tmp_path / "out")


def test_what_brackets_cannot_hold_is_not_written(tmp_path):
    trees = parse_brackets(["(A (B b))"])
    for bad in [trees.relabel(lambda label: "(" + label), trees.relabel(lambda label: "")]:
        with pytest.raises(InputError):
            write_brackets(bad, tmp_path / "out")
    for wrong in [{"side": "up"}, {"horizontal": -1}, {"vertical": 0}]:
        with pytest.raises(SettingError):
            binarise(trees, **wrong)
    with pytest.raises(SettingError):
        collapse_unaries(trees, "++")
    with pytest.raises(ValueError, match="several roots"):
        parse_brackets(["(A (B b) (C c))"]).without_nodes(np.array([True, False, False]))
    assert not list(tmp_path.iterdir())
