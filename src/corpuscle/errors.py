"""What can go wrong through no fault of ours, and how it is said.

Every error that a user can cause is a ``CorpuscleError``; the command line prints it as one line, ``error: ...``, and
exits with code 2. Anything else that reaches the command line is a bug of ours and exits with code 1.
"""

from __future__ import annotations

import importlib
import warnings
from os import PathLike
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


class CorpuscleError(Exception):
    """An error with a cause that the user can see and mend."""


class InputError(CorpuscleError):
    """Bad input: which file, which line (counted from 1) if there is one, and why.

    >>> str(InputError("a.txt", 3, "invalid UTF-8"))
    'a.txt:3: invalid UTF-8'
    """

    def __init__(self, path: str | PathLike[str] | None, line: int | None, reason: str):
        self.path = None if path is None else str(path)
        self.line = line
        self.reason = reason
        where = "" if self.path is None else self.path + (f":{line}" if line is not None else "") + ": "
        super().__init__(where + reason)

    def __reduce__(self):
        return type(self), (self.path, self.line, self.reason)


class UnfitData(InputError):
    """Data that are in order, but of no use for what they are needed for: too few, too long, without tags. Who has
    other data can do without these."""


class SettingError(CorpuscleError, ValueError):
    """A setting that makes no sense; the message gives the value and what would be right."""


class NotLearned(CorpuscleError):
    """A model is asked for something that it has not learned yet."""


class MissingExtra(CorpuscleError, ImportError):
    """An optional dependency is needed and not installed."""


class Interrupted(CorpuscleError):
    """The user asked to stop; everything worth keeping has been written. Exit code 130."""


class CorpuscleWarning(UserWarning):
    """Something that the user should know about, though work goes on."""


def warn(message: str) -> None:
    """Tell the user something without stopping; the command line prints it as ``warning: ...``."""
    warnings.warn(message, CorpuscleWarning, stacklevel=2)


def expect(value: Any, kind: type[T], how: str) -> T:
    """The value, if it is of the right kind; ``how`` says how to make one."""
    if isinstance(value, kind):
        return value
    raise SettingError(f"a {kind.__name__} is needed, not a value of type {type(value).__name__}: {how}")


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"this needs {module}: pip install 'corpuscle[{extra}]'") from error
