"""Claims about corpuscle.measure.result: what a result says about itself."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable
from functools import partial

import pytest

from corpuscle import measure
from corpuscle.lm import NgramModel
from corpuscle.segment import NestedSegmenter
from corpuscle.text import Alignments, Corpus


def test_signatures_say_what_was_counted():
    result = measure.perplexity([-1.0, -2.0], [1, 2], draws=50, seed=9)
    assert result.signature.startswith("perplexity|events:tokens and </s>|")
    assert "50 draws, seed 9" in result.signature and "version:" in result.signature


def results() -> dict[str, measure.Result]:
    """A result of every metric."""
    gold, found = Corpus.from_sentences([["the", "cat"], ["a"]]), Corpus.from_sentences([["thecat"], ["a"]])
    links = [Alignments.from_pairs([pairs], [[True] * len(pairs)]) for pairs in ([(0, 0), (1, 1)], [(0, 0)])]
    return {
        "perplexity": measure.perplexity([-9.0, -7.0], [4, 3], [1, 0], [-6.0, -7.0]),
        "letters": measure.letter_perplexity([-9.0], [5], {"unknown": 1, "sentences": 1}),
        "f1": measure.precision_recall([1, 2], [2, 2], [2, 4]),
        "accuracy": measure.accuracy([1, 0], [1, 1]),
        "clusterings": measure.compare_clusterings([0, 1], [1, 0]),
        "links": measure.alignment_error(*links),
        "names": measure.news_measures([["a"], ["b"]], [["a"], ["c"]]),
        "segmentation": measure.segmentation_scores(gold, found),
    }


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("perplexity", "perplexity 9.833 (95 % 9.488 to 10.312) | without oov 8.729 | tokens 7 | oov 14.3 % | "),
        ("letters", "perplexity a letter 6.050 (95 % 6.050 to 6.050) | letters 5 | unknown 20.0 % | bits a letter 2.5"),
        ("f1", "F1 60.0 % (95 % 50.0 % to 66.7 %) | precision 75.0 % (95 % 50.0 % to 100.0 %) | recall 50.0 % ("),
        ("accuracy", "accuracy 50.0 % (95 % 0.0 % to 100.0 %) | decisions 2 | signature accuracy|of:tokens|"),
        ("clusterings", "V-measure 100.0 % | homogeneity 100.0 % | "),
        ("links", "AER 33.3 % (95 % 33.3 % to 33.3 %) | precision 100.0 % (95 % "),
        ("names", "ACC 0.500 (95 % 0.000 to 1.000) | mean F 0.500 ("),
        ("segmentation", "words F1 40.0 % (95 % 0.0 % to 100.0 %) | precision 50.0 % ("),
    ],
)
def test_a_result_is_one_line_that_can_be_cited(name, beginning):
    result = results()[name]
    assert str(result) == repr(result) and str(result).startswith(beginning)
    assert str(result).endswith(f" | signature {result.signature}") and "\n" not in str(result)


def test_a_notebook_shows_a_table_with_every_figure_and_the_signature():
    for result in results().values():
        html = result._repr_html_()
        assert html.count("<tr>") == str(result).count(" | ") + 1
        assert result.signature.replace("</s>", "&lt;/s&gt;") in html


def test_the_text_of_a_result_is_what_commands_show():
    found = {name: result.text() for name, result in results().items()}
    assert found["perplexity"] == (
        "perplexity 9.833 (95 % 9.488 to 10.312), without unknown words 8.729\n"
        "7 tokens with </s>, 1 unknown (14.3 %), 3.298 bits a token"
    )
    assert found["letters"] == "perplexity 6.050 a letter (6.050 to 6.050), 5 letters, 1 of them unknown"
    assert found["links"].splitlines() == [
        "      AER: 33.3 % (33.3 % to 33.3 %)",
        "precision: 100.0 % (100.0 % to 100.0 %)",
        "   recall: 50.0 % (50.0 % to 50.0 %)",
        "       F1: 66.7 % (66.7 % to 66.7 %)",
        "1 links, 2 sure and 2 possible gold links",
    ]
    labels = ("ACC", "mean F", "MRR", "MAP_ref")
    assert found["names"].splitlines() == [*(f"{x}: 0.500 (95 % 0.000 to 1.000)" for x in labels), "2 names"]
    assert found["segmentation"].splitlines() == [
        "words      precision 50.0 %, recall 33.3 %, F1 40.0 %",
        "boundaries precision n/a, recall 0.0 %, F1 0.0 %",
        "lexicon    precision 50.0 %, recall 33.3 %, F1 40.0 %",
        "95 % interval of the words' F1: 0.0 % to 100.0 %",
    ]
    assert found["accuracy"] == "accuracy 50.0 % (95 % 0.0 % to 100.0 %)\ndecisions 2"
    documents = measure.perplexity([-9.0], [4], [4], [0.0], events="tokens", items="documents")
    assert documents.text() == "perplexity 9.488 (95 % 9.488 to 9.488), 4 words, 4 unknown"


def test_a_figure_without_a_value_is_shown_as_such():
    result = measure.perplexity([-1.0], [1], oov=[1], known_log_probabilities=[0.0])
    assert "without" not in result.text() and result.to_json()["perplexity_without_oov"] is None
    assert str(result).count("n/a") == result._repr_html_().count("n/a") == 1


def test_a_comparison_says_what_was_compared_and_how():
    comparison = measure.compare_perplexity([-30.0, -12.0], [-31.0, -14.0], [10, 5])
    assert str(comparison).startswith("difference of perplexity -3.641 (95 % -5.421 to -2.112) | p 0.002 | signature ")
    assert comparison.text() == "difference -3.641 (95 % -5.421 to -2.112), p = 0.002"
    assert "paired bootstrap of sentences, 1000 draws, seed 1" in comparison.signature
    assert "-5.421 to -2.112" in comparison._repr_html_()
    rates = measure.compare_f1([[1, 2, 2], [2, 2, 2]], [[1, 2, 2], [1, 2, 2]], draws=10)
    assert str(rates).startswith("difference of F1 25.0 % (95 % 0.0 % to 50.0 %) | p ")
    assert set(rates.to_json()) == {"difference", "low", "high", "deviation", "p_value"}


def test_the_signature_has_the_unit_that_was_predicted():
    text = Corpus.from_sentences([["ab", "ab"], ["ba"]] * 5)
    letters = NestedSegmenter(sweeps=2).fit(text).perplexity(text)
    assert letters.signature.startswith("perplexity|events:letters|unknown:included|interval:bootstrap of sentences")
    words = NgramModel(order=1).fit(text).perplexity(text)
    assert words.signature.startswith("perplexity|events:tokens and </s>|")


def resampling() -> dict[str, tuple[str, Callable[..., measure.Result | measure.Comparison]]]:
    """Every metric that draws items again: how its signature begins, and it as a function of ``draws`` and ``seed``."""
    dice = random.Random(1)
    gold = [dice.randrange(4, 9) for _ in range(12)]
    right, other = ([dice.randrange(1, n) for n in gold] for _ in range(2))
    found = [n + dice.randrange(3) for n in right]
    tables = [list(zip(right, found, gold, strict=True)), list(zip(other, gold, gold, strict=True))]
    names = [["".join(dice.choices("abc", k=4)) for _ in range(3)] for _ in gold]
    links = [Alignments.from_pairs([[(i, i) for i in range(n) if dice.random() < 0.7] for n in gold]) for _ in range(3)]
    words = [Corpus.from_sentences([cut("abcdefgh"[:n], dice) for n in gold]) for _ in range(3)]
    return {
        "f1": ("f1|of:spans|average:micro|", partial(measure.precision_recall, right, [9] * 12, gold)),
        "accuracy": ("accuracy|of:tokens|", partial(measure.accuracy, right, gold)),
        "names": ("NEWS|letters:code points|normalisation:NFC|", partial(measure.news_measures, names, names[::-1])),
        "links": ("aer|possible:sure or possible|", partial(measure.alignment_error, *links[:2])),
        "segmentation": ("segmentation|boundaries:inner|", partial(measure.segmentation_scores, *words[:2])),
        "f1, two": ("difference of F1|", partial(measure.compare_f1, *tables)),
        "links, two": ("difference of AER|", partial(measure.compare_alignments, *links)),
        "segmentation, two": ("difference of F1|", partial(measure.compare_segmentations, *words)),
    }


def cut(text: str, dice: random.Random) -> list[str]:
    return re.sub(r"(.)", lambda match: match[1] + " " * (dice.random() < 0.5), text).split()


UNITS = {"names": "names", "links": "sentence pairs", "segmentation": "sentences"}


@pytest.mark.parametrize("name", list(resampling()))
def test_items_are_drawn_as_often_and_with_the_seed_that_were_given(name):
    begins, metric = resampling()[name]
    result, units = metric(draws=7, seed=5), UNITS.get(name.split(",")[0], "items")
    assert f"bootstrap of {units}, 7 draws, seed 5|version:" in result.signature
    assert f"bootstrap of {units}, 1000 draws, seed 1|version:" in metric().signature
    assert result.signature.startswith(begins), result.signature
    assert metric(draws=7, seed=5) == result
    for other in (metric(draws=7, seed=6), metric(draws=90, seed=5)):
        if isinstance(result, measure.Comparison):
            assert (other.low, other.high) != (result.low, result.high) and other.difference == result.difference
            continue
        edges = {figure.removesuffix("_low") for figure in result.figures if figure.endswith("_low")}
        assert all(
            any(other[figure + edge] != result[figure + edge] for edge in ("_low", "_high"))
            for figure in edges
            if result[figure + "_low"] != result[figure + "_high"]
        )
        assert other.interval != result.interval


def test_results_travel_between_processes():
    for result in results().values():
        assert str(pickle.loads(pickle.dumps(result))) == str(result)
