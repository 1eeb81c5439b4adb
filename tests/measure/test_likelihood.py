"""Claims about corpuscle.measure.likelihood: perplexity against its definition."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corpuscle import measure
from tests.measure.numbers import numbers


def test_perplexity_is_exp_of_the_mean_negative_log_probability():
    events = [np.log([0.5, 0.25]), np.log([0.125]), np.log([0.5, 0.5, 0.5])]
    result = measure.perplexity([e.sum() for e in events], [len(e) for e in events])
    bits = (1 + 2 + 3 + 1 + 1 + 1) / 6
    assert result["bits_per_token"] == pytest.approx(bits)
    assert result["perplexity"] == result["perplexity_without_oov"] == pytest.approx(2**bits)
    assert (result["tokens"], result["oov"]) == (6, 0)
    assert result["low"] <= result["perplexity"] <= result["high"]
    assert {"perplexity", "low", "high", "deviation", "signature"} <= json.loads(json.dumps(result.to_json())).keys()


def test_perplexity_without_oov_leaves_those_events_out():
    result = measure.perplexity(np.log([2**-6, 2**-2]), [2, 2], oov=[1, 0], known_log_probabilities=np.log([0.5, 0.25]))
    assert result["perplexity"] == pytest.approx(4)
    assert result["perplexity_without_oov"] == pytest.approx(2)
    assert result["oov"] == 1


def test_an_impossible_event_gives_infinity_and_null_in_json():
    result = measure.perplexity([-math.inf, -1.0], [1, 1], oov=[1, 0], known_log_probabilities=[0.0, -1.0])
    assert result["perplexity"] == math.inf and result["perplexity_without_oov"] == pytest.approx(math.e)
    assert result.to_json()["perplexity"] is None
    json.dumps(result.to_json(), allow_nan=False)


def test_perplexity_of_nothing_but_oov_has_no_value_without_them():
    result = measure.perplexity([-1.0], [1], oov=[1], known_log_probabilities=[0.0])
    assert result.to_json()["perplexity_without_oov"] is None


def test_comparing_perplexities_equals_their_difference():
    a, b, tokens = -10 * numbers(90), -11 * numbers(90, 5), np.full(90, 4)
    comparison = measure.compare_perplexity(a, b, tokens)
    difference = measure.perplexity(a, tokens)["perplexity"] - measure.perplexity(b, tokens)["perplexity"]
    assert comparison.difference == pytest.approx(difference)
    assert comparison.low < comparison.difference < comparison.high


def test_likelihood_a_token_is_the_logarithm_of_perplexity():
    logs, tokens = np.array([-4.0, -9.0, -2.5]), np.array([2, 3, 1])
    result = measure.token_likelihood(logs, tokens, {"support": 2.0})
    other = measure.perplexity(logs, tokens)
    assert result["log_likelihood"] == pytest.approx(-15.5 / 6) and result["tokens"] == 6 and result["support"] == 2.0
    assert result["perplexity"] == pytest.approx(other["perplexity"])
    assert result["low"] == pytest.approx(-np.log(other["high"])) and "nats" in result.signature
    with pytest.raises(ValueError, match="at least one token"):
        measure.token_likelihood([], [], {})
