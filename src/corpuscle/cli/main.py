"""``corpuscle TASK ACTION ...``: finds the task, runs it, turns whatever goes wrong into one line and an exit code.

The tasks follow from the catalogue. A task's module is imported only when the task is used, so that help and shell
completion answer at once and cost neither NumPy nor Numba. Exit codes: 0; 2 for bad input, bad usage or a missing
extra; 1 for our bugs; 130 for interrupts.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import errno
import os
import signal
import sys
import traceback
import warnings
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from corpuscle import __version__
from corpuscle.catalogue import COMMANDS, TASKS, find
from corpuscle.cli.command import CONTEXT
from corpuscle.errors import CorpuscleError, CorpuscleWarning, Interrupted
from corpuscle.progress import complain, complaint, is_interrupt


class _Root(click.Group):
    """All tasks and commands of the catalogue, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*TASKS, *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in TASKS and cmd_name not in COMMANDS:
            return None
        from corpuscle.cli.derive import command_of, group_of

        return group_of(cmd_name) if cmd_name in TASKS else command_of(find(COMMANDS[cmd_name].verb))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of the catalogue that begin like this, without importing anything, and options."""
        names = [
            CompletionItem(name, help=each.help)
            for name, each in (TASKS | COMMANDS).items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Tasks"):
            formatter.write_dl([(name, task.help) for name, task in TASKS.items()])
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


def _root() -> click.Group:
    about = "Learn language technology from small corpora. Begin with: corpuscle learn."
    root = _Root("corpuscle", help=about, context_settings=CONTEXT)
    return click.version_option(__version__, message="corpuscle %(version)s")(root)


def _show_warning(message, category, filename, lineno, file=None, line=None):  # as ``warnings.showwarning``
    if issubclass(category, CorpuscleWarning):
        print(f"warning: {complaint(message)}", file=file or sys.stderr, flush=True)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), file=file or sys.stderr, end="")


def _usage(error: click.ClickException) -> str:
    """A complaint about usage, and where to look."""
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message} (see {context.command_path} --help)"


def _abandon_stdout() -> None:
    """Nobody reads on: let the interpreter's last flush go nowhere instead of complaining."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # where stdout is not a file there is no flush
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
        except click.exceptions.NoArgsIsHelpError as error:
            print(error.format_message())
            return 0
        except click.exceptions.Exit as exit:
            return exit.exit_code
        except click.ClickException as error:
            complain(_usage(error))
            return 2
        except (KeyboardInterrupt, click.Abort):
            print("interrupted", file=sys.stderr)
            return 130
        except Interrupted as stop:
            print(complaint(stop), file=sys.stderr)
            return 130
        except CorpuscleError as error:
            complain(error)
            return 2
        except BrokenPipeError:
            _abandon_stdout()
            return 0
        except MemoryError as error:
            complain(f"out of memory: {error}" if str(error) else "out of memory")
            return 2
        except OSError as error:
            if error.errno == errno.ENOSPC:
                _abandon_stdout()
            reason = (error.strerror or str(error) or type(error).__name__).lower()
            complain(reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}")
            return 2
        except Exception as error:
            if is_interrupt(error):
                print("interrupted", file=sys.stderr)
                return 130
            traceback.print_exc()
            print(f"internal error, please report it: {type(error).__name__}: {complaint(error)}", file=sys.stderr)
            return 1


def _hear(unraisable: sys.UnraisableHookArgs) -> None:
    """Python drops a Ctrl-C that comes while it calls a finaliser or the like: it comes again in a moment."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
    elif hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
    else:
        _thread.interrupt_main()


def _leave(code: int) -> NoReturn:
    """End the process at once: a kernel that still runs in a thread is not waited for."""
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run() -> None:
    """The entry point: UTF-8 whatever the locale, something to read from and write to, one thread for BLAS, then
    ``main``."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (open as long as the process lives)
    for stream, errors in ((sys.stdin, "strict"), (sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)
    # The cores are for our own threads: small products on BLAS's threads, too, took up to 18 times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.unraisablehook = _hear
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # everything is done
    if code == 130:
        _leave(code)
    sys.exit(code)
