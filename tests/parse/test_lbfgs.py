"""L-BFGS against SciPy, and in pieces; envelopes against a grid."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from corpuscle.learning import sweep
from corpuscle.parse.boosted import Line, best_point, envelope
from corpuscle.parse.lbfgs import Minimiser
from corpuscle.random import Random


def quadratic(n):
    random = Random(1, "lbfgs", n)
    root, target = random.uniforms(n, n), random.uniforms(n)
    matrix = root @ root.T + 0.1 * np.eye(n)
    return lambda x: (float((x - target) @ matrix @ (x - target)) / 2, matrix @ (x - target)), target


def test_it_finds_the_minimum_of_a_quadratic_function():
    function, target = quadratic(20)
    learner = Minimiser(function, np.zeros(20), tolerance=1e-15)
    for step in range(150):
        sweep(learner, step)
    assert learner.point == pytest.approx(target, abs=1e-5)


def test_it_finds_what_scipy_finds_on_a_hard_valley():
    start = np.array([-1.2, 1.0, 0.5, 2.0])
    learner = Minimiser(lambda x: (float(rosen(x)), rosen_der(x)), start, tolerance=0.0)
    values = [sweep(learner, step) for step in range(120)]
    assert all(after <= before for before, after in pairwise(values))
    reference = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B")
    assert learner.point == pytest.approx(reference.x, abs=1e-4)


def test_stopped_and_resumed_it_goes_the_same_way():
    function, _ = quadratic(12)
    whole, before, after = (Minimiser(function, np.zeros(12)) for _ in range(3))
    for step in range(12):
        sweep(whole, step)
    for step in range(5):
        sweep(before, step)
    after.restore(before.state(), 5, 0)
    for step in range(5, 12):
        sweep(after, step)
    assert after.point.tobytes() == whole.point.tobytes()
    with pytest.raises(ValueError, match="does not fit"):
        Minimiser(function, np.zeros(3)).restore(before.state(), 5, 0)


def at(x, line):
    return line.height + line.slope * x


def test_an_envelope_has_every_line_that_is_best_somewhere_and_no_other():
    for seed in range(20):
        random = Random(seed, "envelope")
        lines = [Line(*(4 * random.uniforms(2) - 2).tolist(), number) for number in range(30)]
        asked = []

        def best_at(x, lines=lines, asked=asked):
            asked.append(x)
            return max(lines, key=partial(at, x))

        found = envelope(best_at, 0.0, 5.0)
        grid = np.linspace(0, 5, 5001)
        on_top = list(dict.fromkeys(best_at(x).item for x in grid.tolist()))
        items = [line.item for _, line in found]
        assert [item for item in items if item in on_top] == on_top
        for x, line in found:
            assert at(x, line) == pytest.approx(max(at(x, other) for other in lines))


def test_the_best_point_lies_in_the_best_interval():
    random = Random(3, "steps")
    pieces = []
    for _ in range(8):
        corners = np.sort(5 * random.uniforms(4)).tolist()
        pieces.append([(x, float(random.below(10))) for x in [0.0, *corners]])

    def total(x):
        return sum([height for begin, height in steps if begin <= x][-1] for steps in pieces)

    best, point = best_point(pieces, 5.0)
    assert total(point) == best == max(total(x) for x in np.linspace(0, 5, 20001))
    assert best_point([[(0.0, 1.0)]], 5.0) == (1.0, 2.5)
