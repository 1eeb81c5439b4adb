"""Brackets against gold brackets: EVALB's conventions by hand-made cases and by PYEVALB."""

import pytest

from corpuscle.measure import bracket_counts, bracket_scores, bracket_scores_by, compare_brackets, spoken_words
from corpuscle.random import Random
from corpuscle.text import format_brackets, parse_brackets

GOLD = [
    "(TOP (S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .)))",
    "(TOP (S (NP (NNS cats)) (VP (VBP sleep)) (. .)))",
]


def scores(gold, found, **how):
    return bracket_scores(parse_brackets(gold), parse_brackets(found), draws=10, **how)


def test_gold_against_itself_is_perfect():
    result = scores(GOLD, GOLD)
    for name in ("labelled_f1", "unlabelled_f1", "spans_f1", "labelled_f1_proper", "exact", "no_crossing", "tags"):
        assert result[name] == 1.0
    assert (result["gold"], result["crossing"], result["unparsed"], result["trees"], result["words"]) == (7, 0, 0, 2, 7)


def test_a_wrong_label_a_wrong_span_and_a_wrong_tag():
    found = [
        "(TOP (S (NP (DT the) (NN dog) (VBD saw)) (NP (DT a) (NN cat)) (. .)))",
        "(S (ADJP (NNP cats)) (VP (VBP sleep)) (. .))",
    ]
    result = scores(GOLD, found)
    # Right: S and NP (a cat) of the first, S and VP of the second; found 3 + 3, gold 4 + 3.
    assert result["labelled_precision"] == pytest.approx(4 / 6) and result["labelled_recall"] == pytest.approx(4 / 7)
    assert result["unlabelled_recall"] == pytest.approx(5 / 7)
    assert result["crossing"] == 0.5 and result["no_crossing"] == 0.5 and result["exact"] == 0
    assert result["tags"] == pytest.approx(6 / 7)
    # Spans of two words or more: gold 4 (S, NP, VP, NP; S), one of three found of the first is wrong.
    assert result["spans_precision"] == pytest.approx(3 / 4) and result["spans_recall"] == pytest.approx(3 / 5)
    assert result["spans_precision_proper"] == pytest.approx(1 / 2)


def test_a_bracket_that_is_there_twice_must_be_found_twice():
    gold, found = ["(S (NP (NP (NN a) (NN b))) (VP (VB c)))"], ["(S (NP (NN a) (NN b)) (VP (VB c)))"]
    assert scores(gold, found)["labelled_recall"] == pytest.approx(3 / 4)
    assert scores(gold, found)["labelled_precision"] == 1.0 and scores(gold, found)["spans_f1"] == 1.0
    assert scores(found, gold)["labelled_precision"] == pytest.approx(3 / 4)


def test_prt_is_advp_and_functions_do_not_count():
    gold = ["(S (NP-SBJ=2 (PRP I)) (VP (VBD gave) (PRT (RP up))))"]
    assert scores(gold, ["(S (NP (PRP I)) (VP (VBD gave) (ADVP (RP up))))"])["labelled_f1"] == 1.0


def test_traces_and_what_they_leave_empty_are_taken_out():
    gold = ["(S (NP (-NONE- *)) (VP (VB go) (ADVP (RB home))))"]
    assert scores(gold, ["(S (VP (VB go) (ADVP (RB home))))"])["labelled_f1"] == 1.0


def test_punctuation_is_what_gold_says_even_where_the_parser_tags_it_otherwise():
    found = [GOLD[0].replace("(. .)", "(NN .)"), GOLD[1]]
    assert scores(GOLD, found)["labelled_f1"] == 1.0
    assert scores(GOLD, found, punctuation="none")["tags"] == pytest.approx(8 / 9)
    assert scores(GOLD, found, punctuation="form")["labelled_f1"] == 1.0
    assert not spoken_words(parse_brackets(["(S (X a) (F ,))"]))[1]


def test_a_sentence_without_a_tree_counts_with_no_brackets():
    result = scores(GOLD, [GOLD[0], ""])
    assert result["unparsed"] == 1 and result["labelled_recall"] == pytest.approx(4 / 7)
    assert result["labelled_precision"] == 1.0 and result["exact"] == 0.5 and result["tags"] == pytest.approx(5 / 7)


def test_lengths_count_punctuation_and_sentences_of_punctuation_do_not_count():
    assert scores(GOLD, GOLD, max_length=3)["trees"] == 1
    assert scores([*GOLD, "(S (. .))"], [*GOLD, "(S (. .))"])["trees"] == 2
    with pytest.raises(ValueError, match="no sentences"):
        scores(GOLD, GOLD, max_length=1)


def test_other_words_or_another_number_of_trees_are_errors():
    with pytest.raises(ValueError, match="tree 2 has other words"):
        scores(GOLD, [GOLD[0], GOLD[1].replace("cats", "dogs")])
    with pytest.raises(ValueError, match="2 gold trees, but 1"):
        scores(GOLD, GOLD[:1])


def test_rows_by_label_and_length_add_up():
    found = parse_brackets(["(S (NP (DT the) (NN dog) (VBD saw)) (NP (DT a) (NN cat)) (. .))", GOLD[1]])
    gold = parse_brackets(GOLD)
    for by in ("label", "length"):
        rows = bracket_scores_by(gold, found, by)
        assert sum(row["gold"] for row in rows) == 7 and sum(row["found"] for row in rows) == 6
        assert sum(row["right"] for row in rows) == 5
    names = {row["name"]: row for row in bracket_scores_by(gold, found, "label")}
    assert names["NP"]["recall"] == pytest.approx(2 / 3) and names["VP"]["f1"] == pytest.approx(2 / 3)


def test_a_parse_against_itself_does_not_differ():
    gold = parse_brackets(GOLD)
    difference = compare_brackets(gold, gold, parse_brackets([GOLD[0], ""]))
    assert difference.difference > 0 and compare_brackets(gold, gold, gold).difference == 0


def damaged(trees, seed):
    """Trees with some nodes taken out and some labels changed."""
    random = Random(seed, "brackets.damage")
    drop = random.uniforms(trees.n_nodes) < 0.25
    drop[trees.roots] = False
    drop &= ~trees.preterminals
    names = [label if random.uniforms(1)[0] < 0.8 or label == "S" else "X" for label in trees.labels.values]
    numbers = dict(zip(trees.labels.values, names, strict=True))
    return trees.without_nodes(drop).relabel(lambda label: numbers[label])


def test_figures_are_those_of_pyevalb():
    evalb = pytest.importorskip("PYEVALB.scorer")
    from PYEVALB import parser

    from corpuscle.samples import generate

    gold = generate(1, sentences=60).trees().without_repeats()
    found = damaged(gold, 1).without_repeats()
    rows = bracket_counts(gold, found, punctuation="none")
    pairs = zip(format_brackets(gold), format_brackets(found), strict=True)
    for (one, other), row in zip(pairs, rows, strict=True):
        result = evalb.Scorer().score_trees(*(parser.create_from_bracket_string(text) for text in (one, other)))
        assert (row[0], row[1], row[2]) == (result.matched_brackets, result.test_brackets, result.gold_brackets)
        assert row[19] == result.cross_brackets and row[21] == result.correct_tags
