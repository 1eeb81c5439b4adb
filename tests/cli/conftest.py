"""Running command lines."""

import pytest

from corpuscle import progress
from corpuscle.catalogue import TASKS
from corpuscle.cli.main import main
from tests.cli import TOY


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command line in this process, with the toy task: (exit code, stdout, stderr)."""
    monkeypatch.setitem(TASKS, "toy", TOY)

    def run(*arguments):
        code = main(list(map(str, arguments)))
        progress.quiet(False)
        return code, *capsys.readouterr()

    return run
