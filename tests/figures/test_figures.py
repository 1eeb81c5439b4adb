"""Claims about corpuscle.figures: valid, safe, complete, deterministic pictures."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.figures import Place, Series, bar_plot, box_plot, line_plot, place_map
from corpuscle.figures.plots import axis, label
from corpuscle.figures.svg import text_width
from corpuscle.text.html import escape

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    assert root.tag == SVG + "svg"
    assert root.get("viewBox") and root.get("width") is None  # it takes the width it is given
    assert root.get("role") == "img" and root.find(SVG + "title") is not None
    assert "prefers-color-scheme:dark" in (root.findtext(SVG + "style") or "")
    return root


def tips(root: ElementTree.Element) -> list[str]:
    return [title.text or "" for element in root for title in element.findall(SVG + "title")]


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(SVG + "text")]


def test_a_line_plot_contains_every_point_and_name():
    root = parsed(
        line_plot(
            [Series("first", [1, 2, 3], [30, 20, 25], [29, 19, 24], [31, 21, 26]), Series("second", [1, 3], [5, 6])],
            title="A title", x_label="order", y_label="perplexity", x_ticks=[1, 2, 3], numbers=True,
        )
    )  # fmt: skip
    assert len(list(root.iter(SVG + "path"))) == 2
    assert "first: 2, 20 (19 to 21)" in tips(root) and "second: 3, 6" in tips(root)
    assert {"A title", "order", "perplexity", "first", "second", "30"} <= set(texts(root))
    assert "1: 30, 2: 20, 3: 25" in (root.findtext(SVG + "desc") or "")


def test_higher_values_are_drawn_higher():
    root = parsed(line_plot([Series("s", [1, 2], [10, 20])], title="t"))
    first, second = root.iter(SVG + "circle")
    assert float(second.get("cy", "")) < float(first.get("cy", ""))
    assert float(second.get("cx", "")) > float(first.get("cx", ""))


def test_plots_beside_each_other_can_have_one_scale():
    heights = [
        next(parsed(line_plot([Series("s", [1, 2], y)], title="t", reach=(0, 100))).iter(SVG + "circle")).get("cy")
        for y in ([20, 30], [20, 95])
    ]
    assert heights[0] == heights[1]
    alone = parsed(line_plot([Series("s", [1, 2], [20, 30])], title="t"))
    assert next(alone.iter(SVG + "circle")).get("cy") != heights[0]


def test_points_that_cannot_be_drawn_leave_a_gap():
    root = parsed(line_plot([Series("s", [1, 2, 3, 4], [1, math.nan, 10, 0])], title="t", log_y=True))
    path = next(root.iter(SVG + "path")).get("d", "")
    assert path.count("M") == 2 and path.count("L") == 0
    with pytest.raises(ValueError):
        line_plot([Series("s", [1], [math.inf])], title="t")


def test_bars_are_as_long_as_their_values():
    root = parsed(bar_plot(["a", "b"], [10, 20], low=[9, 18], high=[11, 22], title="t", value_label="v"))
    a, b = (float(rect.get("width", "")) for rect in root.iter(SVG + "rect"))
    assert b == pytest.approx(2 * a, abs=0.02)
    assert "a: 10" in tips(root)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gives_valid_svg_that_shows_it(text):
    shown = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    lines = parsed(line_plot([Series(text, [1, 2], [3, 4]), Series("b", [1], [1])], title="t " + text, x_label=text))
    bars = parsed(bar_plot([text, "x"], [1, 2], title=text))
    assert (lines.findtext(SVG + "title"), bars.findtext(SVG + "title")) == ("t " + shown, shown)


def test_markup_in_names_stays_text():
    svg = line_plot([Series("<script>alert(1)</script>", [1], [1])], title="<script>")
    assert "<script" not in svg and escape("a<b'\"&") == "a&lt;b&#39;&quot;&amp;"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-1e12, 1e12).filter(lambda v: v == 0 or abs(v) > 1e-9), min_size=1, max_size=20),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_axes_hold_their_values_and_have_few_round_ticks(values, zero, tight):
    result = axis(values, 0, 100, zero=zero, tight=tight)
    assert result.low <= min(values) and max(values) <= result.high
    assert 1 <= len(result.ticks) <= 12
    assert all(-1e-6 <= result.place(v) <= 100 + 1e-6 for v in values)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=20), st.booleans())
def test_log_axes_hold_their_values(values, tight):
    result = axis(values, 0, 100, log=True, tight=tight)
    assert all(-1e-6 <= result.place(v) <= 100 + 1e-6 for v in values)
    assert 1 <= len(result.ticks) <= 12 and all(t > 0 for t in result.ticks)


def test_ticks_are_the_ones_a_person_would_choose():
    assert axis([0, 97], 0, 1).ticks == (0, 20, 40, 60, 80, 100)
    assert axis([0.11, 0.29], 0, 1).ticks == (0.1, 0.15, 0.2, 0.25, 0.3)
    assert axis([1, 1000], 0, 1, log=True).ticks == (1, 10, 100, 1000)
    assert [label(x) for x in (0, 1234, 1e5, 0.001)] == ["0", "1,234", "100k", "0.001"]


DRAWN = """
from corpuscle.figures import LeafShown, Series, TopicShown, line_plot, merge_tree, topic_list
print(line_plot([Series("s", [1, 2], [3, 4])], title="one"))
print(topic_list([TopicShown(0, 0.5, ["bank", "money"], ["interest rate"]), TopicShown(1, 0.25, ["cat"])]))
print(merge_tree([LeafShown("0", ["cat", "dog"]), LeafShown("1", ["of"])], [[0, 1]], [1.0, 0.0]))
"""


def test_the_same_data_gives_the_same_bytes_in_every_process_and_ids_differ_between_plots():
    first, second = (
        subprocess.run([sys.executable, "-c", DRAWN], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout and first.stdout.count(b"</svg>") == 3, first.stderr
    ids = [
        parsed(line_plot([Series("s", [1, 2], [3, 4])], title=title)).find(SVG + "title").get("id")
        for title in ("one", "two")
    ]
    assert ids[0] != ids[1]


def test_parts_of_different_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        Series("s", [1, 2], [1])
    with pytest.raises(ValueError, match="names for"):
        bar_plot(["a"], [1, 2], title="t")


def test_names_on_a_map_cover_neither_points_nor_each_other():
    chance = np.random.default_rng(1)
    places = [Place(f"word{i}", *chance.normal(size=2).tolist(), i % 3, strong=i == 7) for i in range(80)]
    picture = place_map(places, title="Words")
    assert picture == place_map(places, title="Words") and picture.count("<circle") == 80
    names = re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)"( class="ti")?( text-anchor="\w+")?>(word\d+)<', picture)
    assert 30 < len(names) <= 80 and "word7" in {name for *_, name in names}
    boxes = []
    for x, y, _, anchor, name in names:
        width, shift = text_width(name), {' text-anchor="end"': 1.0, ' text-anchor="middle"': 0.5}.get(anchor, 0.0)
        boxes.append((float(x) - shift * width, float(y) - 10, float(x) + (1 - shift) * width, float(y) + 1))
    for i, (a, b, c, d) in enumerate(boxes):
        assert a >= 0 and c <= 640 and b >= 0 and d <= 480
        assert not any(a < g and e < c and b < h and f < d for e, f, g, h in boxes[:i])
    with pytest.raises(ValueError, match="nothing to draw"):
        place_map([], title="")


def test_a_map_of_one_place_and_of_words_that_run_from_right_to_left():
    assert place_map([Place("a", 0.0, 0.0)], title="One").count("<circle") == 1
    assert 'direction="rtl"' in place_map([Place("שלום", 0.0, 0.0), Place("b", 1.0, 1.0)], title="Two")


def test_a_box_plot_says_medians_and_draws_what_lies_beyond_the_whiskers():
    numbers = [*range(1, 10), 100]
    root = parsed(box_plot(["one", "two"], {"a": [numbers, [3.0]], "b": [[5, 5], []]}, title="Boxes", value_label="z"))
    assert {"one", "two", "a", "b", "z", "Boxes"} <= set(texts(root))
    assert "median 5.5, half of them from 3.25 to 7.75" in tips(root) and "100" in tips(root)
    boxes = [element for element in root.iter(SVG + "rect") if element.find(SVG + "title") is not None]
    assert len(boxes) == 3
    assert "two, a: median 3" in (root.findtext(SVG + "desc") or "")
    with pytest.raises(ValueError):
        box_plot(["one"], {"a": []}, title="")
