"""Corpuscle learns language technology from small corpora.

The floors, from the ground up (a module imports only from floors below its own):

- the ground: ``catalogue`` (every task, said once), ``settings``, ``learning``, ``model``, ``scale`` and smaller ones;
- ``text``: corpora and file formats;
- ``engine``: the mathematics that several tasks share, compiled, arrays in and arrays out;
- ``measure``, ``figures``: evaluation and pictures;
- the tasks of the catalogue, each with its ``kernels``;
- ``samples``: a generated language whose truth is known;
- ``packs``: everything that can be learned from one folder;
- ``web``: the workbench in the browser;
- ``cli``: the command line.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, TypeVar, overload

__version__ = "0.1.0"

__all__ = ["__version__", "load"]

_Model = TypeVar("_Model")


@overload
def load(path: str | PathLike[str]) -> Any: ...
@overload
def load(path: str | PathLike[str], expected: type[_Model]) -> _Model: ...


def load(path: str | PathLike[str], expected: type[Any] | None = None) -> Any:
    """Load a model file, or the folder of a pack as one object (``corpuscle.packs.LoadedPack``).

    The class follows from the kind that is written in the file. ``expected``: the class it must have, or a base of it,
    which also tells type checkers what comes back: ``load("lm.model", LanguageModel)``.
    """
    from pathlib import Path

    loaded: Any
    if Path(path).is_dir():
        from corpuscle.catalogue import find

        loaded = find("corpuscle.packs.pack:LoadedPack")(path)
    else:
        from corpuscle.model import load as load_model

        loaded = load_model(path)
    if expected is not None and not isinstance(loaded, expected):
        from corpuscle.errors import InputError

        raise InputError(path, None, f"holds a {type(loaded).__name__}, where a {expected.__name__} is expected")
    return loaded
