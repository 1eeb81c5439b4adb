"""Models and their headers: saving, reading, loading.

The header of a model: ``kind``, ``kind_version``, ``container_version``, ``settings`` (name -> [value, origin], the
origin being given, default or tuned), ``preprocessing``, ``provenance``, ``extra`` (small facts of the kind's own),
``components`` (prefix -> header of a model within the model) and ``checksum``.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from corpuscle import __version__
from corpuscle.catalogue import find, home_of
from corpuscle.errors import InputError, SettingError
from corpuscle.model import container
from corpuscle.model.kinds import Invalid, Kind, validate
from corpuscle.scale import beside

_T = TypeVar("_T")

CONTAINER_VERSION = 1
ORIGINS = ("given", "default", "tuned")
NEWER = "written by a newer version of Corpuscle"
WRONG = "a damaged model: its checksum is wrong"

Settings = Mapping[str, tuple[Any, str]]


@dataclass
class Part:
    """A model as it goes into a file: ``settings``: name -> (value, origin); ``components``: prefix -> Part."""

    kind: Kind
    arrays: Mapping[str, np.ndarray]
    settings: Settings = field(default_factory=dict)
    preprocessing: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    components: Mapping[str, Part] = field(default_factory=dict)


@dataclass
class Container:
    """A model as it comes out of a file: checked, its arrays mapped, not yet an object of its class."""

    path: str
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The value of every setting."""
        return {name: value for name, (value, _) in self.header["settings"].items()}

    @property
    def described(self) -> dict[str, tuple[Any, str]]:
        """Every setting with its value and origin."""
        return {name: (value, origin) for name, (value, origin) in self.header["settings"].items()}

    @property
    def kind(self) -> str:
        return self.header["kind"]

    @property
    def extra(self) -> dict[str, Any]:
        return self.header["extra"]

    @property
    def preprocessing(self) -> dict[str, Any]:
        """What was done to the training text."""
        return self.header["preprocessing"]

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the model comes from."""
        return self.header["provenance"]

    def component(self, prefix: str) -> Container:
        return Container(self.path, self.header["components"][prefix], stripped(prefix + "/", self.arrays))


def prefixed(prefix: str, items: Mapping[str, _T]) -> dict[str, _T]:
    """Arrays or their declarations, with a prefix before every name."""
    return {prefix + name: item for name, item in items.items()}


def numbered(name: str, several: Iterable[Mapping[str, _T]]) -> dict[str, _T]:
    """The arrays of several things in one: those of the first under ``NAME/0/``, and so on."""
    return {key: item for i, items in enumerate(several) for key, item in prefixed(f"{name}/{i}/", items).items()}


def separated(name: str, items: Mapping[str, _T], count: int) -> list[dict[str, _T]]:
    """The inverse of ``numbered``: what stands under ``NAME/0/`` .. ``NAME/COUNT-1/``."""
    return [stripped(f"{name}/{i}/", items) for i in range(count)]


def stripped(prefix: str, items: Mapping[str, _T]) -> dict[str, _T]:
    """The arrays whose names have a prefix, without it."""
    return {name[len(prefix) :]: item for name, item in items.items() if name.startswith(prefix)}


def _python(value: Any) -> Any:
    """NumPy's numbers and arrays for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot stand in the header of a model")


def _header(part: Part) -> dict[str, Any]:
    for name, (_, origin) in part.settings.items():
        if origin not in ORIGINS:
            raise ValueError(f"the origin of {name} is {origin!r}, not one of {', '.join(ORIGINS)}")
    return {
        "kind": part.kind.name,
        "kind_version": part.kind.version,
        "settings": {name: [value, origin] for name, (value, origin) in part.settings.items()},
        "preprocessing": dict(part.preprocessing),
        "provenance": dict(part.provenance),
        "extra": dict(part.extra),
        "components": {prefix: _header(inner) for prefix, inner in part.components.items()},
    }


def _all_arrays(part: Part) -> dict[str, np.ndarray]:
    arrays = dict(part.arrays)
    for prefix, inner in part.components.items():
        arrays.update({f"{prefix}/{name}": array for name, array in _all_arrays(inner).items()})
    return arrays


def source_date() -> datetime.datetime | None:
    """The date that the environment variable SOURCE_DATE_EPOCH sets for everything that is written, or None."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return None
    try:
        return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    except (ValueError, OverflowError, OSError):
        raise SettingError(f"SOURCE_DATE_EPOCH is {epoch!r}, not a number of seconds") from None


def save(path: str | PathLike[str], part: Part) -> None:
    """Write a model: all of it or nothing, the same bytes for the same model."""
    if os.fspath(path) == "-":
        raise InputError(path, None, "a model is written to a file, not to stdout")
    header = _header(part) | {"container_version": CONTAINER_VERSION, "checksum": "sha256:" + container.UNSEALED}
    # Only SOURCE_DATE_EPOCH dates a model: a clock in the header would make the same model different bytes every time.
    created = {"created": moment.strftime("%Y-%m-%dT%H:%M:%SZ")} if (moment := source_date()) else {}
    header["provenance"] = {"corpuscle": __version__} | created | header["provenance"]
    text = json.dumps(
        header, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_python
    )
    arrays = _all_arrays(part)
    _check(part.kind, Container(os.fspath(path), container.parse_json(text), arrays))
    container.write(path, {"corpuscle": text}, arrays)


def _check_header(header: Any, depth: int = 0) -> None:
    """The shape of a header that comes from outside; ``Invalid`` if it is not one."""
    if type(header) is not dict or depth > 8:
        raise Invalid("its header is not one of ours")
    for name, kind in ("kind", str), ("kind_version", int):
        if type(header.get(name)) is not kind:
            raise Invalid(f"its header has no {name}")
    for name in "settings", "preprocessing", "provenance", "extra", "components":
        if type(header.get(name)) is not dict:
            raise Invalid(f"its header has no {name}")
    for setting in header["settings"].values():
        if type(setting) is not list or len(setting) != 2 or setting[1] not in ORIGINS:
            raise Invalid("its settings have no origin")
    for inner in header["components"].values():
        _check_header(inner, depth + 1)


def _open(path: str | PathLike[str]) -> tuple[container.Layout, dict[str, Any]]:
    """The layout and header of one of our files."""
    layout = container.read_layout(path)
    if "corpuscle" not in layout.metadata:
        raise InputError(path, None, "a safetensors file, but not a Corpuscle model")
    try:
        header = container.parse_json(layout.metadata["corpuscle"])
        version = header.get("container_version") if type(header) is dict else None
        if type(version) is not int or version < 1:
            raise Invalid("its header has no container_version")
        if version > CONTAINER_VERSION:
            raise InputError(path, None, f"{NEWER} (container version {version}, known: {CONTAINER_VERSION})")
        _check_header(header)
    except (ValueError, RecursionError) as error:
        raise InputError(path, None, f"a damaged model: {error}") from None
    return layout, header


def _written(path: str | PathLike[str], header: Mapping[str, Any]) -> str:
    """The digits of the checksum that a header gives."""
    written = header.get("checksum")
    if type(written) is not str or not written.startswith("sha256:") or len(written) != 71:
        raise InputError(path, None, "a damaged model: it has no checksum")
    return written[7:]


def read_header(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, container.Place], int]:
    """The header of a model of any kind, the places of its arrays, and the size of the file; its checksum is right."""
    layout, header = _open(path)
    written = _written(path, header)
    if container.checksum_of(layout, written) != written:
        raise InputError(path, None, WRONG)
    return header, layout.places, len(layout.data)


def _check(kind: Kind, content: Container) -> Container:
    """Migrate, step by step, and validate a model and its components; whatever is wrong with it is ``Invalid``."""
    version = content.header["kind_version"]
    if version > kind.version:
        raise InputError(content.path, None, f"{NEWER} ({kind.name} version {version}, known: {kind.version})")
    for older in range(version, kind.version):
        if older not in kind.migrations:
            raise Invalid(f"version {older} of {kind.name} is too old for this version of Corpuscle")
        header, migrated = kind.migrations[older](content.header, content.arrays)
        content = Container(content.path, header | {"kind_version": older + 1}, migrated)
    arrays = dict(content.arrays)
    declared = kind.components_for(content.extra)
    if content.header["components"].keys() != declared.keys():
        raise Invalid(f"it should have the components {sorted(declared)}")
    components = {}
    for prefix, kinds in declared.items():
        inner = content.component(prefix)
        known = [candidate for candidate in kinds if candidate.name == inner.kind]
        if not known:
            raise Invalid(f"its component {prefix!r} is of kind {inner.kind!r}")
        checked = _check(known[0], inner)
        components[prefix] = checked.header
        arrays = {name: array for name, array in arrays.items() if not name.startswith(prefix + "/")}
        content.arrays.update({f"{prefix}/{name}": array for name, array in checked.arrays.items()})
    content.header = content.header | {"components": components}
    validate(kind.arrays_for(content.extra), arrays, content.extra)
    if kind.check is not None:
        kind.check(content)
    return content


def _home(path: str | PathLike[str], name: str) -> Any:
    home = home_of(name)
    if home is None:
        raise InputError(path, None, f"a model of unknown kind {name!r}, perhaps {NEWER}")
    return find(home)


def _finish(path: str | PathLike[str], kind: Kind, layout: container.Layout, header: dict[str, Any]) -> Container:
    """The model, its checksum verified in a second thread while its arrays are validated."""
    written = _written(path, header)
    with beside() as other:
        checksum = other.submit(container.checksum_of, layout, written)
        try:
            return _check(kind, Container(os.fspath(path), header, container.read_arrays(layout)))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
            # A hostile header can make the functions of a kind stumble in any of these ways.
            raise InputError(path, None, f"a damaged model: {error}") from error
        finally:
            if checksum.result() != written:
                raise InputError(path, None, WRONG)


def read(path: str | PathLike[str], kind: Kind | tuple[Kind, ...] | None = None) -> Container:
    """Read a model of the given kind (or one of the kinds, or any known kind), completely checked."""
    layout, header = _open(path)
    if kind is None:
        return _finish(path, _home(path, header["kind"]).KIND, layout, header)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for candidate in kinds:
        if candidate.name == header["kind"]:
            return _finish(path, candidate, layout, header)
    wanted = " or ".join(candidate.name for candidate in kinds)
    raise InputError(path, None, f"a model of kind {header['kind']!r}, where {wanted} is needed")


def load(path: str | PathLike[str]) -> Any:
    """Load a model of any kind as an object of its class."""
    layout, header = _open(path)
    home = _home(path, header["kind"])
    return home.from_container(_finish(path, home.KIND, layout, header))
