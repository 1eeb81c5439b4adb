"""Tables of contents that cost nothing: a package names its public things, and a module is imported when one is used.

A package's ``__init__`` imports them under ``if TYPE_CHECKING``, for readers and type checkers, and then says

    __all__, __getattr__, __dir__ = contents(__name__, __file__)

A public name may be that of the module it stands in (``measure.bootstrap.bootstrap``). Importing a module binds it in
its package, where it would hide the public thing; so a package with such contents binds no module to a public name.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_IMPORT = re.compile(r"^    from (corpuscle[\w.]*) import (\([^)]*\)|[^\n#]*)", re.M)


def contents(package: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, and ``__getattr__`` and ``__dir__`` of a package: what the block of its source file imports."""
    source = Path(file).read_text(encoding="utf-8")
    homes = {name: module for module, names in _IMPORT.findall(source) for name in re.findall(r"\w+", names)}

    class Package(ModuleType):
        def __setattr__(self, name: str, value: Any) -> None:
            if name not in homes or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

    sys.modules[package].__class__ = Package

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*homes, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return sorted(homes), __getattr__, __dir__
