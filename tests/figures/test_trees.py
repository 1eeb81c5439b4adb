"""The picture of a tree of mergers: every leaf in its place, nothing crosses, safe whatever the words are."""

from __future__ import annotations

import pytest

from corpuscle.figures import LeafShown, merge_tree
from tests.figures.test_directions import found
from tests.figures.test_figures import SVG, parsed, texts, tips
from tests.packs.test_page import languages

LEAVES = [
    LeafShown("10", ["<b>", "of"], "class 0"),
    LeafShown("0", ["cat", "dog"]),
    LeafShown("11", [f"w{i}" for i in range(99)]),
]
MERGES, VALUES = [[0, 2], [1, 3]], [2.0, 1.5, 0.0]


def test_leaves_stand_in_the_order_of_their_paths_with_their_words() -> None:
    root = parsed(merge_tree(LEAVES, MERGES, VALUES, title="Tree", value_label="bits"))
    shown = texts(root)
    assert {"Tree", "bits", "cat dog", "<b> of"} <= set(shown)
    assert any(text.startswith("w0 w1") and "w98" not in text for text in shown)
    heights = [float(found(root, name).get("y")) for name in ("<b> of", "cat dog", "11")]
    assert heights[1] < heights[0] < heights[2]
    assert found(root, "<b> of").get("y") == found(root, "10").get("y")
    assert "class 0" in tips(root) and "this merger loses 0.5; 1.5 bits are left" in tips(root)
    assert root.findtext(SVG + "desc").startswith("0: cat dog; 10: <b> of; 11: w0 w1 w2")


def test_a_node_is_drawn_where_its_value_is_and_between_its_two() -> None:
    root = parsed(merge_tree(LEAVES, MERGES, VALUES))
    first, second = (path.get("d") for path in root.iter(SVG + "path"))
    assert first.startswith("M270 ") and first.endswith("H270")
    x_of_first = float(first.split("H")[1].split("V")[0])
    assert second.endswith(f"H{x_of_first:g}") and "H16V" in second
    assert x_of_first == pytest.approx(16 + 254 * 1.5 / 2)


def test_one_leaf_alone_and_leaves_that_do_not_fit() -> None:
    parsed(merge_tree(LEAVES[:1], [], [0.0]))
    with pytest.raises(ValueError, match="3 leaves with 1 mergers"):
        merge_tree(LEAVES, MERGES[:1], VALUES)
    with pytest.raises(ValueError, match="not every leaf"):
        merge_tree(LEAVES, [[0, 1], [1, 3]], VALUES)


@languages
def test_words_lie_right_of_the_tree_whichever_way_they_run(way, sentence) -> None:
    words = sentence.split()[:2]
    root = parsed(merge_tree([LeafShown("0", words), LeafShown("1", ["x"])], [[0, 1]], [1.0, 0.0]))
    line = found(root, " ".join(words))
    backwards = way == "rtl"
    assert (line.get("direction"), line.get("text-anchor")) == (("rtl", "end") if backwards else (None, None))
    assert float(line.get("x")) > 270
