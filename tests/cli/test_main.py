"""The command line: quick to answer, one line for each mistake, the promised exit codes."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpuscle import __version__, model
from corpuscle.catalogue import COMMANDS, TASKS
from corpuscle.cli import main as cli
from corpuscle.model import VOCAB, Array, Kind, Part
from corpuscle.text.vocab import Vocab
from tests.schemas import FRACTION, conforms, last_line_conforms

HEAVY = ("numpy", "numba", "scipy", "rich", "dask", "distributed")

TOY_PROCESS = "from corpuscle.cli import main; from tests.cli import TOY; main.TASKS['toy'] = TOY; main.run()"


def process(code, *arguments, **options):
    """Run Python code in a fresh process, as the installed command would run."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


def test_help_imports_nothing_heavy():
    code = f"""
import sys
from corpuscle.cli import main
try:
    main.run()
finally:
    heavy = [name for name in {HEAVY} if name in sys.modules]
    print(heavy, file=sys.stderr)
"""
    done = process(code, "--help")
    assert done.returncode == 0 and done.stderr.strip() == b"[]"
    for name, each in (TASKS | COMMANDS).items():
        assert f"{name} " in done.stdout.decode() and each.help[:40] in done.stdout.decode()


def test_completion_imports_nothing_heavy_and_offers_the_tasks():
    code = f"""
import sys
from corpuscle.cli import main
try:
    main.run()
finally:
    assert not [name for name in {HEAVY} if name in sys.modules]
"""
    environment = {"_CORPUSCLE_COMPLETE": "bash_complete", "COMP_WORDS": "corpuscle ", "COMP_CWORD": "1"}
    done = process(code, env=os.environ | environment)
    offered = {line.removeprefix("plain,") for line in done.stdout.decode().splitlines()}
    assert offered >= TASKS.keys() | COMMANDS.keys(), done.stderr


def test_without_arguments_there_is_help(run):
    for arguments in (), ("toy",):
        code, out, err = run(*arguments)
        assert code == 0 and out.startswith("Usage: corpuscle") and err == ""


def test_the_version(run):
    assert run("--version") == (0, f"corpuscle {__version__}\n", "")


@pytest.mark.parametrize(
    ("how", "code", "line"),
    [
        ("input", 2, "error: a.txt:3: invalid UTF-8 \\x1b[2J"),
        ("endless", 2, f"error: a.txt:3: an unknown word: {'x' * 574} ... {'x' * 231}, in the vocabulary"),
        ("setting", 2, "error: order is 0, it must be at least 1"),
        ("require", 2, "error: this needs no_such_module: pip install 'corpuscle[neural]'"),
        ("memory", 2, "error: out of memory: cannot allocate 3 GB"),
        ("interrupt", 130, "interrupted"),
        ("wrapped", 130, "interrupted"),
        ("interrupted", 130, "stopped after iteration 3; --resume goes on"),
    ],
)
def test_mistakes_are_one_line_and_an_exit_code(run, how, code, line):
    assert run("toy", "fail", how) == (code, "", line + "\n")


@pytest.mark.parametrize("wanted, threads", [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_blas_gets_one_thread_unless_the_user_says_otherwise(wanted, threads):
    code = "import os; from corpuscle.cli import main as m; m.main = lambda: print(os.environ['OPENBLAS_NUM_THREADS'])"
    other = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", f"{code}; m.run()"]
    done = subprocess.run(command, env=other | wanted, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{threads}\n")


def test_bugs_exit_with_one_and_a_traceback(run):
    code, out, err = run("toy", "fail", "bug")
    assert code == 1 and out == ""
    assert "Traceback" in err and err.splitlines()[-1].endswith("ZeroDivisionError: oh")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-such-option",),
        ("toyy",),
        ("toy", "feil"),
        ("toy", "fail"),
        ("toy", "fail", "input", "more"),
        ("toy", "fail", "input", "--seed", "x"),
        ("toy", "fail", "input", "--seed", "-1"),
        ("toy", "fail", "input", "--workers", "0"),
        ("toy", "fail", "input", "--seed"),
        ("info",),
        ("warm", "nonsense"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_two(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"), [("--seed", 2**63), ("--seed", -1), ("--workers", 0), ("--workers", 1025)]
)
def test_seeds_and_workers_beyond_reason_are_bad_usage(run, option, value):
    code, out, err = run("classes", "train", "text", "-o", "model", option, value)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert option in err


def toy_process(*arguments, stdout=subprocess.PIPE, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", TOY_PROCESS, "toy", *arguments],
        cwd=Path(__file__).parents[2],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
    )


def test_a_broken_pipe_is_silent():
    with toy_process("fail", "pipe") as done:
        assert done.communicate() == (b"", b"") and done.wait() == 0
    with toy_process("flood", LC_ALL="C", PYTHONIOENCODING="latin-1") as flood:
        assert flood.stdout.readline().decode() == "ñandú 日本\n"  # UTF-8 whatever the locale says
        flood.stdout.close()
        assert flood.stderr.read() == b"" and flood.wait() == 0


def test_a_full_disk_is_an_error():
    with toy_process("fail", "disk") as done:
        assert done.communicate() == (b"", b"error: big.model: no space left on device\n") and done.wait() == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_an_error():
    with open("/dev/full", "wb") as full, toy_process("flood", stdout=full) as flood:
        assert flood.stderr.read() == b"error: no space left on device\n" and flood.wait() == 2


def test_ctrl_c_exits_with_130():
    with toy_process("wait") as waiting:
        waiting.stdout.readline()
        waiting.send_signal(signal.SIGINT)
        assert waiting.communicate()[1] == b"interrupted\n" and waiting.wait() == 130


def test_results_are_json_in_the_last_line_and_messages_go_to_stderr(run):
    code, out, err = run("toy", "show", "--json")
    assert code == 0
    assert err == "warning: the text is short\nwarning: the text is short\nworking\n"
    assert out == '{"rate": 0.25, "worst": null, "n": 3, "words": ["ñ", "日"]}\n'
    assert last_line_conforms(out, {"rate": FRACTION, "worst": float | None, "n": int, "words": [str]})
    assert run("toy", "show", "--quiet")[2].count("\n") == 2  # warnings stay
    assert run("toy", "show")[1].splitlines()[0] == "rate: 0.250"


def test_warnings_of_others_look_as_usual(run, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        cli._show_warning("strange", RuntimeWarning, "file.py", 3)
    assert "RuntimeWarning: strange" in capsys.readouterr().err


@pytest.fixture
def model_file(tmp_path):
    kind = Kind("test.toy", 1, {**VOCAB, "weights": Array("float32", ("types", 2))})
    arrays = {**Vocab.from_words(["a", "b"]).arrays(), "weights": np.zeros((2, 2), np.float32)}
    part = Part(
        kind,
        arrays,
        settings={"order": (3, "given"), "discount": (0.75, "tuned")},
        preprocessing={"nfc": True},
        provenance={"seed": 1, "data": {"tokens": 12}},
    )
    model.save(tmp_path / "m", part)
    return tmp_path / "m"


def test_info_shows_the_header_of_a_model(run, model_file):
    code, out, err = run("info", model_file)
    assert code == 0 and err == ""
    assert out.startswith("test.toy (version 1), ")
    lines = [line.split() for line in out.splitlines()]
    for line in "order 3 given", "discount 0.75 tuned", "data.tokens 12", "nfc True", "weights float32 2 x 2 16 bytes":
        assert line.split() in lines


def test_info_as_json_conforms_to_its_schema(run, model_file):
    header = {
        "kind": str,
        "kind_version": int,
        "container_version": int,
        "checksum": str,
        "settings": {str: [Any]},
        "preprocessing": {str: Any},
        "provenance": {str: Any},
        "extra": {str: Any},
        "components": {str: Any},
        "bytes": int,
        "arrays": {str: {"dtype": str, "shape": [int], "bytes": int}},
    }
    printed = last_line_conforms(run("info", model_file, "--json")[1], header)
    assert printed["settings"]["discount"] == [0.75, "tuned"] and printed["bytes"] == model_file.stat().st_size


def test_info_about_a_damaged_model_says_so(run, model_file):
    good = model_file.read_bytes()
    for bad in (good[:-1] + bytes([good[-1] ^ 1]), good.replace(b"tuned", b"given")):
        model_file.write_bytes(bad)
        assert run("info", model_file)[::2] == (2, f"error: {model_file}: a damaged model: its checksum is wrong\n")


def test_info_about_something_else_is_an_error(run, tmp_path):
    (tmp_path / "text").write_text("not a model, just some text\n")
    assert run("info", tmp_path / "text")[0::2] == (2, f"error: {tmp_path / 'text'}: not a model file\n")
    assert run("info", tmp_path)[0::2] == (2, f"error: {tmp_path}: is a directory\n")
    assert run("info", tmp_path / "none")[0::2] == (2, f"error: {tmp_path / 'none'}: no such file or directory\n")


def test_warm_says_how_long_it_took(run):
    last_line_conforms(run("warm", "text", "--json")[1], {"seconds": {"text": float}})


def test_the_schema_checker_notices():
    for value, schema in [
        (1.5, FRACTION),
        ({"a": 1}, {"a": str}),
        ({"a": 1, "b": 2}, {"a": int}),
        ({}, {"a": int}),
        ([1, "x"], [int]),
        (True, int),
        (None, float),
    ]:
        with pytest.raises(AssertionError):
            conforms(value, schema)
    conforms({"a": None, "c": 1}, {"a": float | None, "b?": str, "c": float})


def test_closed_standard_streams_are_no_bug_of_ours():
    import subprocess
    import sys

    command = f"{sys.executable} -m corpuscle text stats - <&- >&-"
    process = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True)
    assert process.returncode == 0 and process.stderr == ""


def test_long_lines_and_large_archives_are_refused_unless_accepted(run, tmp_path):
    (tmp_path / "long.txt").write_bytes(b"x " * (1 << 23) + b"x\n")
    code, _, message = run("text", "stats", tmp_path / "long.txt")
    assert code == 2 and message.endswith("long.txt:1: a line of more than 16,777,216 bytes; --max-bytes accepts it\n")
    assert run("text", "stats", tmp_path / "long.txt", "--max-bytes", "17m")[0] == 0
    assert run("text", "stats", tmp_path / "long.txt")[0] == 2  # for one command only
    for size in ("", "0", "2X", "-1", "1.5G"):
        assert run("text", "stats", tmp_path / "long.txt", "--max-bytes", size)[0] == 2


LONG_KERNEL = """
import sys, time
from corpuscle.compiled import kernel
from corpuscle.scale import workers

@kernel
def long(n):
    total = 0.0
    for i in range(n):
        total += i % 7.0
    return total

def work(n):
    print("begins", flush=True)
    return long(n)

long(10)
def run():
    with workers(int(sys.argv[1])) as pool:
        list(pool.map(work, [10**11]))
    return 0
from corpuscle.cli import main
main._execute = lambda args: run()
main.run()
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_is_heard_while_a_kernel_runs(tmp_path, workers):
    (tmp_path / "program.py").write_text(LONG_KERNEL)
    command = [sys.executable, str(tmp_path / "program.py"), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"begins\n"
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(timeout=30) == 130 and child.stderr.read().endswith(b"interrupted\n")
        finally:
            child.kill()


def test_the_child_of_a_fork_has_workers_of_its_own():
    code = """
import os
from corpuscle.scale import workers
def total():
    with workers(1) as pool:
        return sum(pool.map(abs, [-1, 2]))
assert total() == 3
child = os.fork()
if child == 0:
    os._exit(total())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
"""
    assert process(code, timeout=60).returncode == 0


def test_an_interrupt_in_a_finaliser_is_not_lost():
    code = """
import time
from corpuscle.cli import main
class Last:
    def __del__(self):
        raise KeyboardInterrupt
def work(args):
    last = Last()
    del last
    time.sleep(60)
main._execute = work
main.run()
"""
    done = process(code, timeout=30)
    assert done.returncode == 130 and done.stderr == b"interrupted\n"
