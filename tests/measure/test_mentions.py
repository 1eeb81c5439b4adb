"""Mentions against gold mentions: strict, relaxed, with gaps."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.measure import compare_mentions, mention_scores, mention_scores_by_type
from corpuscle.text import Mention, Standoff

TEXT = "the left and right atrium are dilated"


def document(*mentions, text=TEXT):
    return Standoff(text, tuple(Mention(type, spans) for type, spans in mentions))


LEFT = ("X", ((4, 8), (19, 25), (30, 37)))
RIGHT = ("X", ((13, 18), (19, 25), (30, 37)))
SIMPLE = ("Y", ((0, 3),))
GOLD = [document(LEFT, RIGHT, SIMPLE), document()]


def test_gold_against_itself_is_perfect_and_relaxed_is_never_below_strict():
    result = mention_scores(GOLD, GOLD)
    for name in ("strict_f1", "relaxed_f1", "simple_f1", "complex_f1", "discontinuous_f1"):
        assert result[name] == 1.0
    assert (result["gold"], result["complex_gold"], result["discontinuous_gold"], result["documents"]) == (3, 2, 2, 2)


def test_a_piece_that_is_shifted_by_a_character_fails_strict_only():
    moved = ("X", ((4, 8), (19, 25), (31, 37)))
    result = mention_scores(GOLD, [document(moved, RIGHT, SIMPLE), document()])
    assert result["strict_f1"] == pytest.approx(2 / 3) and result["relaxed_f1"] == 1.0
    assert result["discontinuous_f1"] == pytest.approx(0.5)


def test_the_outer_span_is_not_the_mention():
    outer = ("X", ((4, 37),))
    result = mention_scores([document(LEFT)], [document(outer)])
    assert result["strict_f1"] == 0.0 and result["relaxed_f1"] == 1.0 and result["discontinuous_f1"] == 0.0


def test_white_space_does_not_count_and_types_do():
    one, two = ("X", ((4, 12),)), ("X", ((4, 8), (9, 12)))
    assert mention_scores([document(one)], [document(two)])["strict_f1"] == 1.0
    assert mention_scores([document(one)], [document(("Y", one[1]))])["relaxed_f1"] == 0.0


def test_nothing_to_find_and_nothing_found_is_no_figure_and_nothing_found_of_something_is_0():
    assert math.isnan(mention_scores([document()], [document()])["strict_f1"])
    assert mention_scores([document(SIMPLE)], [document()])["strict_f1"] == 0.0


def test_one_to_one_uses_every_mention_once():
    both = [document(("X", ((4, 8),)), ("X", ((9, 12),)))]
    wide = [document(("X", ((4, 12),)))]
    assert mention_scores(both, wide)["relaxed_recall"] == 1.0
    assert mention_scores(both, wide, one_to_one=True)["relaxed_recall"] == 0.5


def test_by_type_and_paired():
    rows = mention_scores_by_type(GOLD, [document(LEFT, SIMPLE), document()])
    assert [(row["name"], row["gold"], row["found"]) for row in rows] == [("X", 2, 1), ("Y", 1, 1)]
    assert rows[0]["strict_recall"] == 0.5 and rows[0]["strict_precision"] == 1.0
    difference = compare_mentions(GOLD * 20, GOLD * 20, [document(), document()] * 20)
    assert difference.difference == 1.0 and difference.p_value < 0.05


def test_other_texts_and_other_numbers_of_documents_are_errors():
    with pytest.raises(ValueError, match=r"document 1 .* another text"):
        mention_scores([document()], [document(text="b")])
    with pytest.raises(ValueError, match="2 gold documents, but 1 found"):
        mention_scores(GOLD, GOLD[:1])


SPAN = st.tuples(st.integers(0, 30), st.integers(1, 6)).map(lambda at: ("X", ((at[0], at[0] + at[1]),)))


@given(st.lists(SPAN, max_size=4), st.lists(SPAN, max_size=4))
@settings(max_examples=80, deadline=None)
def test_relaxed_figures_are_never_below_strict_ones(gold, found):
    result = mention_scores([document(*gold)], [document(*found)], draws=10)
    for name in ("precision", "recall", "f1"):
        strict, relaxed = (result[f"{kind}_{name}"] for kind in ("strict", "relaxed"))
        assert relaxed >= strict - 1e-12 or (math.isnan(strict) and math.isnan(relaxed))
