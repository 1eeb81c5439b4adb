"""Fewer bits are refused when they change more than they may."""

import numpy as np
import pytest

from corpuscle.errors import SettingError
from corpuscle.neural.base import check_precision, difference
from corpuscle.neural.decoder import Decoder
from corpuscle.text.vocab import END
from tests.neural.made import SMALL, made

RNG = np.random.default_rng(3)
SOURCES = [RNG.integers(3, 10, 1 + i % 7).astype(np.int32) for i in range(40)]


def changed_model():
    """A model and another that writes something else."""
    weights = made(SMALL["gru"])
    weights.arrays["output_bias"][END] += 1
    other = made(SMALL["gru"], seed=2)
    return Decoder(weights), Decoder(other)


def test_a_decoder_does_not_differ_from_itself():
    one, _ = changed_model()
    assert difference(one, one, SOURCES, beam=2) == (40, 0, 0.0, 0.0)
    assert difference(one, one, [SOURCES[0][:0]]) == (0, 0, 0.0, 0.0)


def test_changed_targets_are_counted_and_refused_above_the_tolerance():
    one, other = changed_model()
    found = difference(one, other, SOURCES, beam=2)
    best, others = (decoder.decode(SOURCES, beam=2) for decoder in (one, other))
    changed = [not np.array_equal(a[0].symbols, b[0].symbols) for a, b in zip(best, others, strict=True)]
    assert found.changed == sum(changed) > 1 and found.most >= found.mean > 0
    with pytest.raises(SettingError, match=r"with precision fp32, \d+ of \d+ targets change: a tolerance of"):
        check_precision(one, other, SOURCES, beam=2)
    assert check_precision(one, other, SOURCES, tolerance=1.0, beam=2).changed > 0
    assert check_precision(one, one, SOURCES, tolerance=0.0).changed == 0
