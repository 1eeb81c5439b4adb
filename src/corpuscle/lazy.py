"""Tables of contents that cost nothing: a package names its public things, and a module is imported when one is used.

A package's ``__init__`` imports them under ``if TYPE_CHECKING``, for readers and type checkers, and then says

    __all__, __getattr__ = contents(__name__, {"conllu": "read_conllu write_conllu", ...})
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["contents"]


def contents(package: str, modules: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """``__all__`` and a module-level ``__getattr__`` for a package, from submodule -> its public names."""
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), __getattr__
