"""Whatever numbers a stranger writes into the arrays of a model file, reading it and every verb of it end with an
answer or with one clear complaint: no signal, no traceback, no warning of NumPy.

What is tried runs in other processes, so that a signal ends none of the tests:
``python -m tests.model.test_hostile_floats KIND...`` says what goes wrong; the last line of stderr is what was tried
last. With many arrays each edit is tried with one verb, in turn; ``--all`` (``pytest -m slow``) tries all.
"""

import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import corpuscle
from corpuscle.catalogue import TASKS
from corpuscle.errors import CorpuscleError
from tests.hostile import arrays_in
from tests.test_verbs import forms, verbs
from tests.tiny_models import FOLDER

FILLINGS = {"zeros": 0.0, "NaN": np.nan, "inf": np.inf, "-inf": -np.inf, "-1": -1.0, "huge": 1e90, "tiny": 1e-300}
INTEGERS = ("disambiguate.sequence", "words.hmm", "words.exchange")
"""Kinds whose whole numbers are edited, too."""
FEW, LIMIT = 60, 600
"""Edits of a kind that are all tried with all verbs; seconds for a task."""


def _numbers(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Other whole numbers: extreme ones everywhere or in one place, the same in other orders, any that rise."""
    dice, info = np.random.default_rng(1), np.iinfo(values.dtype)
    for number in sorted({0, 1, info.min, info.max, info.max // 2, int(values.max())}):
        yield f"= {number}", np.full_like(values, number)
        for at in sorted({0, len(values) // 2, len(values) - 1}):
            one = values.copy()
            one[at] = number
            yield f"[{at}] = {number}", one
    yield "turned", values[::-1]
    yield "shuffled", dice.permutation(values)
    yield "repeated", np.concatenate([values[:1], values[:-1]])
    yield "random", np.sort(dice.integers(info.min, info.max, len(values), values.dtype, endpoint=True))


def _edits(kind: str) -> Iterator[tuple[str, bytes]]:
    for name, values, put in arrays_in((FOLDER / f"{kind}.model").read_bytes()):
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                for what, number in FILLINGS.items():
                    yield f"{name} = {what}", put(np.full_like(values, number))
        elif kind in INTEGERS:
            for what, others in _numbers(values):
                yield f"{name} {what}", put(others)


def _try_all(kinds: list[str], everything: bool, folder: Path) -> None:
    warnings.simplefilter("error", RuntimeWarning)
    for kind in kinds:
        edits = list(_edits(kind))
        for number, (what, data) in enumerate(edits):
            (folder / "bad.model").write_bytes(data)
            print(kind, what, file=sys.stderr, flush=True)
            try:
                model = corpuscle.load(folder / "bad.model")
            except CorpuscleError:
                continue
            except Exception:
                print(f"{kind}, {what}, load: {traceback.format_exc()}", flush=True)
                continue
            asked = list(verbs(model))
            if len(edits) > FEW and not everything:
                asked = asked[number % max(1, len(asked)) :][:1]
            for verb, text in asked:
                given = forms("tagged" if kind.startswith("parse.") else text, folder)[0]
                try:
                    answer = getattr(model, verb)(given)
                    list(answer) if isinstance(answer, Iterator) else answer
                except CorpuscleError:
                    pass
                except Exception:
                    print(f"{kind}, {what}, {verb}: {traceback.format_exc()}", flush=True)


def _tried(task: str, *options: str) -> None:
    command = [sys.executable, "-m", "tests.model.test_hostile_floats", *options, *TASKS[task].kinds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if task.kinds])
def test_no_numbers_do_worse_than_an_error(task):
    _tried(task)


@pytest.mark.slow
@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if task.kinds])
def test_no_numbers_do_worse_than_an_error_with_any_verb(task):
    _tried(task, "--all")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as room:
        _try_all([each for each in sys.argv[1:] if each != "--all"], "--all" in sys.argv, Path(room))
