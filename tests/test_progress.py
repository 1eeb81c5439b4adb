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
with progress.bar("reading") as bar:
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
