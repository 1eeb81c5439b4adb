"""Beside KenLM: its figures, recorded with version 0.3.0, hold everywhere; where it is installed, it is asked again.

The commands that gave the figures, for the texts that ``made_text`` writes:

    lmplz -o ORDER --text train.txt --arpa ORDER.arpa 2> discounts
    query -v summary ORDER.arpa < test.txt
    head -40 train.txt | lmplz -o 3 --discount_fallback --prune 0 0 1 > tests/data/lmplz-3.arpa
    echo SENTENCE | query -v word tests/data/lmplz-3.arpa
"""

import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from corpuscle.lm import NgramModel, read_arpa, write_arpa
from corpuscle.lm.ngram import FAMILY
from corpuscle.random import Random
from corpuscle.text import read_strings

ARPA = Path(__file__).parents[1] / "data" / "lmplz-3.arpa"

PERPLEXITIES = {
    2: (27.01180694872288, 26.55431730290346),
    3: (28.81931216396337, 28.336637413775193),
    4: (29.1510910295796, 28.662297449352902),
    5: (29.19261437279126, 28.70367767060613),
}
"""What ``query`` says of test.txt: by order, with unknown words and without."""

DISCOUNTS = [
    [0.0909091, 1.61818, 2.53247],
    [0.738351, 0.637315, 0.859678],
    [0.817294, 1.20101, 1.71698],
    [0.921324, 1.43501, 1.78041],
    [0.960502, 1.0848, 1.66861],
]
"""What ``lmplz`` prints at order 5: D1, D2 and D3+ of every order, six significant digits."""

TOTALS = {
    "absolute": -3220.8346,
    "backoff-kn": -3191.5302,
    "kn": -3124.05,
    "backoff-mkn": -3241.5104,
    "mkn": -3090.4217,
}
"""By method: the sum of ``kenlm.Model.score`` (log10) over test.txt, KenLM reading our ARPA file of order 4."""

SCORES = {
    "": [-0.9951775],
    "w1": [-1.1590977, -0.57867813],
    "never w0 w0 never": [-2.6793435, -1.226865, -0.74490124, -3.0351765, -0.870366],
    "w3 w97 w7 w217 w30 w31 w61": [
        -1.4002934,
        -1.7285022,
        -0.99350333,
        -1.4357729,
        -0.98422086,
        -0.16617002,
        -0.23274225,
        -0.913615,
    ],
    "w0 w3 w94 w217 w131": [-0.6202029, -0.92353255, -2.6495285, -2.2519693, -2.4052572, -0.870366],
}
"""Sentence -> log10 of each of its words and of </s>, according to ``query`` with the file of ``lmplz``."""


def made_text(seed, sentences, types):
    """Lines of frequent and rare words, each of which often follows from the one before it."""
    lines = []
    for i in range(sentences):
        dice, word, words = Random(seed, "tests.kenlm", 0, i), 0, []
        for _ in range(dice.below(13)):
            if dice.uniform() < 0.7:
                word = (31 * word + int(5 * dice.uniform() ** 2)) % 300
            else:
                word = int(types * dice.uniform() ** 3)
            words.append(f"w{word}")
        lines.append(" ".join(words))
    return lines


TRAIN, TEST = made_text(1, 4000, 400), made_text(2, 300, 420)


def trained(method="mkn", order=4, min_count=1):
    return NgramModel(method=method, order=order, min_count=min_count).fit(read_strings(TRAIN))


def test_the_texts_are_those_that_kenlm_has_read():
    assert read_strings(TRAIN).signature() == "0156c675531aa0936c71b7756f5c599a"
    assert read_strings(TEST).signature() == "6fb41c661831824f191799acb3a3000a"


@pytest.mark.parametrize("order", PERPLEXITIES)
def test_perplexities_are_those_of_lmplz_and_query(order):
    model = trained(order=order)
    result = model.perplexity(read_strings(TEST, model.vocab_), draws=2)
    assert (result["tokens"], result["oov"]) == (2110, 6)
    assert result["perplexity"] == pytest.approx(PERPLEXITIES[order][0], rel=1e-6)
    assert result["perplexity_without_oov"] == pytest.approx(PERPLEXITIES[order][1], rel=1e-6)


def test_discounts_are_those_of_lmplz():
    np.testing.assert_allclose(trained(order=5).discounts_[:, 1:], DISCOUNTS, rtol=1e-5)


@pytest.mark.parametrize("method", TOTALS)
def test_arpa_files_mean_to_us_what_they_mean_to_kenlm(tmp_path, method):
    model = trained(method)
    write_arpa(model, tmp_path / "m.arpa")
    for reader in model, read_arpa(tmp_path / "m.arpa"):
        assert reader.score(TEST).log_probability.sum() / math.log(10) == pytest.approx(TOTALS[method], abs=1e-3)


@pytest.mark.parametrize("sentence", SCORES)
def test_a_pruned_file_of_lmplz_is_read_as_kenlm_reads_it(sentence):
    events = read_arpa(ARPA).events(read_strings([sentence]))
    np.testing.assert_allclose(events.log_probability / math.log(10), SCORES[sentence], atol=2e-6)


@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize("method", FAMILY)
def test_kenlm_reads_our_arpa_files_and_agrees(tmp_path, method, min_count):
    kenlm = pytest.importorskip("kenlm")
    model = trained(method, min_count=min_count)
    write_arpa(model, tmp_path / "m.arpa")
    theirs = kenlm.Model(str(tmp_path / "m.arpa"))
    scores = [[score for score, _, _ in theirs.full_scores(line)] for line in TEST]
    ours = model.events(read_strings(TEST)).log_probability / math.log(10)
    np.testing.assert_allclose(ours, np.concatenate(scores), atol=1e-5)
    if min_count == 1:
        assert sum(map(theirs.score, TEST)) == pytest.approx(TOTALS[method], abs=1e-3)


@pytest.mark.parametrize("sentence", SCORES)
def test_kenlm_still_gives_the_recorded_scores(sentence):
    theirs = pytest.importorskip("kenlm").Model(str(ARPA))
    assert [score for score, _, _ in theirs.full_scores(sentence)] == pytest.approx(SCORES[sentence], abs=2e-6)


@pytest.mark.skipif(shutil.which("lmplz") is None, reason="KenLM's estimator is not on PATH")
def test_lmplz_estimates_the_same_model(tmp_path):
    command = ["lmplz", "-o", "5", "-S", "100M", "-T", str(tmp_path), "--arpa", str(tmp_path / "theirs.arpa")]
    done = subprocess.run(command, input="\n".join([*TRAIN, ""]), text=True, check=True, capture_output=True)
    printed = re.findall(r"^\d \d+ D1=(\S+) D2=(\S+) D3\+=(\S+)", done.stderr, re.M)
    assert np.array(printed, float).tolist() == DISCOUNTS
    test = read_strings(TEST)
    ours, theirs = trained(order=5).events(test), read_arpa(tmp_path / "theirs.arpa").events(test)
    np.testing.assert_allclose(ours.log_probability / math.log(10), theirs.log_probability / math.log(10), atol=1e-5)
