"""What all tests share: nothing of the user's, few examples that are the same every time."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from corpuscle import progress

# No clock in what tests write, and no settings of the person who runs them.
os.environ.pop("SOURCE_DATE_EPOCH", None)

# A shell that runs the tests in the background has Ctrl-C ignored, and every process that they start would ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Whether this run finds its kernels compiled must not change what a command says.
progress.COMPILATION.begin = progress.COMPILATION.end = lambda **_: None  # type: ignore[method-assign]

settings.register_profile(
    "corpuscle", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=False
)
settings.load_profile("corpuscle")


@pytest.fixture(scope="session")
def cluster():
    """The address of a Dask cluster of two processes on this computer."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as local:
        yield local.scheduler_address


@pytest.fixture(autouse=True)
def talkative():
    """A ``--quiet`` that one test gives to a command does not silence the next test."""
    yield
    progress.quiet(False)
