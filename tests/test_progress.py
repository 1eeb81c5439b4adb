"""Progress and stopping."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from corpuscle import progress

SHOW = """
from corpuscle import progress
with progress.bar("learning", total=3) as bar:
    for _ in range(3):
        bar.advance(note="I 0.5")
with progress.bar("reading", total=2) as bar:
    bar.advance()
"""


def test_messages_go_to_stderr_unless_quiet(capsys):
    progress.say("one")
    progress.quiet()
    progress.say("two")
    progress.quiet(False)
    assert capsys.readouterr() == ("", "one\n")


def test_a_bar_shows_on_a_terminal_and_nowhere_else():
    pty = pytest.importorskip("pty")
    assert subprocess.run([sys.executable, "-c", SHOW], capture_output=True, check=True).stderr == b""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    subprocess.run([sys.executable, "-c", SHOW], stderr=theirs, check=True, env=environment)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "learning" in shown and "3/3" in shown and "I 0.5" in shown and "reading" in shown


def test_the_first_ctrl_c_asks_and_the_second_insists():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), progress.stopping() as stop:
        assert not stop.requested
        signal.raise_signal(signal.SIGINT)
        assert stop.requested
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with progress.stopping() as stop:
            seen.append((stop.requested, signal.getsignal(signal.SIGINT)))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, before)]


SLOW = """
import time
from corpuscle import progress
progress.SILENCE = 0.2
with progress.working("topics"), progress.bar("sweeps", total=40) as bar:
    bar.advance(7)
    time.sleep(1.0)
"""

COMPILE = """
import time
from corpuscle import progress
progress.SILENCE = 0.2
from corpuscle.compiled import kernel

@kernel
def inner(x):
    return x + 1

@kernel
def outer(x):
    return inner(x) * 2

began, work = time.perf_counter(), progress.clock()
outer(3)
print(progress.COMPILATION.kernels, progress.COMPILATION.seconds, time.perf_counter() - began, progress.clock() - work)
"""


def test_work_gives_a_sign_of_life_also_where_nobody_watches():
    said = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, check=True, text=True).stderr.splitlines()
    assert 2 <= len(said) <= 6 and all(line.startswith("topics: sweeps 7 of 40, ") for line in said)


def test_compiling_is_announced_where_nobody_watches_and_is_no_work(tmp_path):
    (tmp_path / "program.py").write_text(COMPILE)
    command = [sys.executable, str(tmp_path / "program.py")]
    environment = os.environ | {"CORPUSCLE_CACHE": str(tmp_path / "cache")}
    cold, warm = (
        subprocess.run(command, capture_output=True, check=True, text=True, env=environment) for _ in range(2)
    )
    kernels, compiling, wall, work = map(float, cold.stdout.split())
    first, *more = cold.stderr.splitlines()
    assert kernels == 2 and 0 < compiling <= wall and work == pytest.approx(wall - compiling, abs=0.05)
    assert first == "compiling kernels for this machine (first use only) ..."
    assert all(line.startswith("compiling kernels: ") for line in more)
    assert float(warm.stdout.split()[0]) == 0 and warm.stderr == ""
