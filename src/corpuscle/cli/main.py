"""``corpuscle TASK ACTION ...``: finds the task, runs it, turns whatever goes wrong into one line and an exit code.

A task's module is imported only when the task is used, so that ``corpuscle --help`` and shell completion answer at
once and cost neither NumPy nor Numba. Exit codes: 0; 2 for bad input, bad usage or a missing extra; 1 for our bugs;
130 for interrupts.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import traceback
import warnings
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from corpuscle import __version__
from corpuscle.cli.common import one_line
from corpuscle.errors import CorpuscleError, CorpuscleWarning, Interrupted

__all__ = ["COMMANDS", "TASKS", "main", "run"]

TASKS = {
    "text": ("corpuscle.cli.text", "Prepare running text: sentences, tokens, formats."),
    "lm": ("corpuscle.cli.lm", "Language models: how likely is a sentence, what comes next."),
    "segment": ("corpuscle.cli.segment", "Word segmentation: where the words are in text without spaces."),
    "classes": ("corpuscle.cli.classes", "Word classes: which words behave alike."),
    "align": ("corpuscle.cli.align", "Word alignment: which words translate which."),
    "transliterate": ("corpuscle.cli.transliterate", "Transliteration: write names in another script."),
    "topics": ("corpuscle.cli.topics", "Topics: language models that adapt to the document at hand."),
    "samples": ("corpuscle.cli.samples", "A made-up language whose truth is known, to try things on."),
}
"""Task -> (module with its Typer ``app``, one line of help)."""

COMMANDS = {
    "learn": ("corpuscle.cli.learn", "Learn everything that a folder of files allows."),
    "info": ("corpuscle.cli.info", "Show what is in a model file."),
    "warm": ("corpuscle.cli.warm", "Compile the kernels of a task now instead of at its first use."),
}
"""Commands without actions -> (module whose ``app`` has one command of that name, one line of help)."""

# Typer has its own copy of click in some versions and imports click in others; either way this is the base class
# of every complaint about usage.
ClickException: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"corpuscle {__version__}")
        raise typer.Exit


@app.callback()
def corpuscle(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Learn language technology from small corpora. Begin with: corpuscle learn."""


class _Lazy(TyperGroup):
    """Stands for a task or command until it is used: only then its module is imported."""

    def __init__(self, name: str, module: str, help: str, is_task: bool):
        super().__init__(name=name, help=help, rich_markup_mode=None)
        self.module, self.is_task = module, is_task

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments with the real command, which takes over from here."""
        task = importlib.import_module(self.module).app
        task.rich_markup_mode = None
        group = get_group(task)
        if not self.is_task:
            return group.commands[self.name or ""].make_context(info_name, args, parent=parent, **extra)
        if not args and not extra.get("resilient_parsing"):
            args = ["--help"]
        return group.make_context(info_name, args, parent=parent, **extra)


def _root() -> Any:
    """The whole command tree, tasks still asleep."""
    root: Any = get_command(app)
    for table, is_task in (TASKS, True), (COMMANDS, False):
        for name, (module, help) in table.items():
            root.add_command(_Lazy(name, module, help, is_task), name)
    return root


def _complain(message: object) -> None:
    print(f"error: {one_line(message)}", file=sys.stderr, flush=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, CorpuscleWarning):
        print(f"warning: {one_line(message)}", file=file or sys.stderr, flush=True)
    else:
        print(
            warnings.formatwarning(message, category, filename, lineno, line), file=file or sys.stderr, end=""
        )


def _reason(error: OSError) -> str:
    """What the operating system said, after the file it said it about."""
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"


def _usage(error: Any) -> str:
    """A complaint about usage, and where to look."""
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message} (see {context.command_path} --help)"


def _abandon_stdout() -> None:
    """Nobody reads on: let the interpreter's last flush go nowhere instead of complaining."""
    with contextlib.suppress(
        OSError, ValueError, AttributeError
    ):  # where stdout is not a file there is no flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _execute(args: list[str]) -> int:
    root = _root()
    if "_CORPUSCLE_COMPLETE" in os.environ:
        root.main(args, prog_name="corpuscle")
    with root.make_context("corpuscle", args or ["--help"]) as context:
        root.invoke(context)
    sys.stdout.flush()
    return 0


def main(args: list[str] | None = None) -> int:
    """Run a command line (default: this process's) and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CorpuscleWarning)
        warnings.showwarning = _show_warning
        try:
            return _execute(sys.argv[1:] if args is None else args)
        except typer.Exit as exit:
            return exit.exit_code
        except ClickException as error:
            _complain(_usage(error))
            return 2
        except (KeyboardInterrupt, typer.Abort):
            print("interrupted", file=sys.stderr)
            return 130
        except Interrupted as stop:
            print(one_line(stop), file=sys.stderr)
            return 130
        except CorpuscleError as error:
            _complain(error)
            return 2
        except BrokenPipeError:
            _abandon_stdout()
            return 0
        except MemoryError as error:
            _complain(f"out of memory: {error}" if str(error) else "out of memory")
            return 2
        except OSError as error:
            if error.errno == errno.ENOSPC:
                _abandon_stdout()
            _complain(_reason(error))
            return 2
        except Exception as error:
            traceback.print_exc()
            print(
                f"internal error, please report it: {type(error).__name__}: {one_line(error)}",
                file=sys.stderr,
            )
            return 1


def run() -> None:
    """The entry point: UTF-8 whatever the locale, something to read from and write to, one thread for BLAS, then
    ``main``."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (open as long as the process lives)
    for stream, errors in (
        (sys.stdin, "strict"),
        (sys.stdout, "surrogateescape"),
        (sys.stderr, "backslashreplace"),
    ):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)
    # The cores are for our own threads: small products on BLAS's threads, too, took up to 18 times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
