"""Settings: declared once, on the class that has them.

    class NgramSettings(Seeded, Parallel):
        order: int | str = setting("How many words a model looks at.", default=3, low=1, high=100, words=("auto",))
        boundary: str = setting("How sentences begin.", default="single", choices=("single", "pad", "none"))

From such a declaration come the constructor and its checks, ``repr``, the origin of every value (given, default or
tuned), the header of the model file, what resuming compares, the options of the command line, the tables of the
documentation and a JSON schema. The declarations of a task live in a module that imports neither NumPy nor Numba, so
that help and usage errors are quick; the class that learns inherits from them.

The settings of what has been learned never change: what ``fit`` chooses in their place is told to ``chosen_``, what it
learns has a trailing underscore. ``replace`` gives an unfitted learner with other settings; ``set_params`` says with
which settings the next ``fit`` learns.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, Union, dataclass_transform, get_args, get_origin, get_type_hints

from corpuscle.errors import SettingError

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def option_of(name: str) -> str:
    """How a setting is spelled on the command line.

    >>> option_of("max_word")
    '--max-word'
    """
    return "--" + name.replace("_", "-")


def size_of(text: str) -> int:
    """A size such as 3000, 500M or 2G in bytes.

    >>> size_of("2k")
    2048
    """
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)", text.upper())
    if match is None or int(match[1]) == 0:
        raise SettingError(f"a size is a number of bytes such as 500M or 2G, not {text[:40]!r}")
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ")


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting.

    - ``default``: ``...`` if it must be given; ``help``: one line; ``shown``: what help shows as the default, where
      the value says too little;
    - ``choices``: the values that a text may have; ``words``: texts that may stand where a number is expected;
    - ``low``, ``high``: the least and the greatest number; ``above``, ``below``: bounds that it may not reach;
    - ``metavar``: what help writes for the value; ``parse``: from the text of the command line to the value;
    - ``runtime``: how the work is done, not what comes of it: neither saved nor compared;
    - ``excludes``: the name of another setting that means the same in another way: one of the two stays None;
    - ``flag``: how the command line spells it, where that is not ``--name``, or ``-k`` for one letter;
      ``repeated``: there, a tuple is given as the option several times;
    - ``name``, ``type``, ``items``, ``optional``: from the declaration: type of the value, or of its items if it is a
      tuple, and whether it may be None.
    """

    default: Any
    help: str
    choices: tuple[Any, ...] = ()
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    shown: str = ""
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    runtime: bool = False
    excludes: str = ""
    flag: str = ""
    repeated: bool = False
    name: str = ""
    type: Any = str
    items: bool = False
    optional: bool = False

    @property
    def option(self) -> str:
        return self.flag or (f"-{self.name}" if len(self.name) == 1 else option_of(self.name))

    @property
    def required(self) -> bool:
        return self.default is ...

    def expected(self) -> str:
        """What a right value is, for complaints."""
        if self.choices:
            return ("some of " if self.items else "one of ") + ", ".join(map(str, self.choices))
        what = _KINDS.get(self.type, "a value")
        if self.low is not None and self.high is not None:
            what += f" from {self.low:,} to {self.high:,}"
        elif self.low is not None:
            what += f" from {self.low:,} on"
        elif self.above is not None and self.below is not None:
            what += f" between {self.above} and {self.below}"
        elif self.above is not None:
            what += f" above {self.above}"
        if self.items:
            what = "a list, each " + what
        return ", or ".join([what, *self.words])

    def _item(self, value: Any) -> Any:
        """One value of the declared type within its bounds; ``ValueError`` or ``TypeError`` if it is none."""
        if self.type in (bool, str):
            if type(value) is not self.type:
                raise TypeError
        elif self.type is int:
            if isinstance(value, bool):
                raise TypeError
            value = operator.index(value)
        elif self.type is float:
            if isinstance(value, bool | str):
                raise TypeError
            value = float(value)
            if not math.isfinite(value):
                raise ValueError
        if self.choices and value not in self.choices:
            raise ValueError
        if self.type in (int, float):
            low = (self.low is not None and value < self.low) or (self.above is not None and value <= self.above)
            high = (self.high is not None and value > self.high) or (self.below is not None and value >= self.below)
            if low or high:
                raise ValueError
        return value

    def checked(self, value: Any) -> Any:
        """The value as the setting holds it; ``SettingError`` with what would be right if it is not one."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return value
        try:
            if self.items:
                if isinstance(value, str):
                    raise TypeError
                return tuple(self._item(item) for item in value)
            return self._item(value)
        except (TypeError, ValueError, OverflowError):
            raise SettingError(f"{self.name} is {self.expected()}; not {value!r}") from None

    def parsed(self, text: str) -> Any:
        """The value that a text on the command line stands for."""
        if text in self.words:
            return text
        try:
            if self.parse is not None:
                return self.parse(text)
            if self.items:
                return tuple(self.type(item) for item in text.split(",")) if text else ()
            return text if self.type is Any else self.type(text)
        except SettingError as error:
            raise SettingError(f"{self.name}: {error}") from None
        except ValueError:
            raise SettingError(f"{self.name} is {self.expected()}; not {text!r}") from None

    def default_text(self) -> str:
        """What help and tables show as the default; empty if there is nothing to show."""
        if self.shown or self.default in (None, False, (), ...):
            return self.shown
        if self.default is True:
            return "on"
        return ",".join(map(str, self.default)) if self.items else str(self.default)

    def value_text(self) -> str:
        """What help writes for the value: its choices, a name, or its type; nothing for a switch."""
        if self.type is bool:
            return ""
        if self.metavar or self.choices:
            return self.metavar or "|".join(map(str, self.choices))
        name = {int: "N", float: "X"}.get(self.type, "TEXT")
        return "|".join([f"{name},..." if self.items else name, *self.words])

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        names = {int: "integer", float: "number", bool: "boolean", str: "string"}
        one: dict[str, Any] = {"type": names[self.type]} if self.type in names else {}
        bounds = {"minimum": self.low, "maximum": self.high}
        bounds |= {"exclusiveMinimum": self.above, "exclusiveMaximum": self.below}
        one |= {key: bound for key, bound in bounds.items() if bound is not None}
        if self.choices:
            one["enum"] = list(self.choices)
        whole: dict[str, Any] = {"type": "array", "items": one} if self.items else one
        others = [{"enum": list(self.words)}] * bool(self.words) + [{"type": "null"}] * self.optional
        whole = {"anyOf": [whole, *others]} if others else whole
        return whole | {"description": self.help} | ({} if self.required else {"default": self.default})


def setting(help: str, *, default: Any, **facts: Any) -> Any:
    """Declare a setting, see ``Setting``."""
    return Setting(default, help, **facts)


class _Learned:
    """Marks an attribute that the constructor does not take."""


def learned(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that is not a setting: ``vocab_: Vocab = learned()``."""
    return _Learned()


def typed(declared: Setting, name: str, annotation: Any) -> Setting:
    """The declaration with its name and what its annotation says."""
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    kinds = [option for option in options if option is not type(None)]
    if declared.words and str in kinds and len(kinds) > 1:
        kinds.remove(str)
    kind, items = kinds[0], get_origin(kinds[0]) is tuple
    if items:
        kind = get_args(kind)[0]
    return dataclasses.replace(declared, name=name, type=kind, items=items, optional=type(None) in options)


def check_together(declarations: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
    """Complain about two values of which one excludes the other."""
    for name, declared in declarations.items():
        other = declared.excludes
        if other and values.get(name) is not None and values.get(other) is not None:
            raise SettingError(f"give {name} or a {other}, not both: a {other} has {name} of its own")


WORKERS: Any = setting(
    "How many workers share the work.",
    default=None,
    low=1,
    high=1024,
    shown="one for each core",
    runtime=True,
    excludes="cluster",
)
CLUSTER: Any = setting("Work on the Dask cluster at this address.", default=None, metavar="ADDRESS", runtime=True)


@dataclass_transform(kw_only_default=True, field_specifiers=(setting, learned))
class Settings:
    """The base of everything that has settings; they are given to the constructor by name.

    ``SETTINGS``: name -> declaration, those of base classes first. ``LEARNED``: the attributes that are declared as
    learned. ``chosen_``: name -> the value that ``fit`` chose where the setting left it open.

    >>> class Toy(Settings):
    ...     order: int = setting("How many words.", default=3, low=1)
    >>> Toy(order=5), Toy(order=5).origins, Toy().replace(order=2)
    (Toy(order=5), {'order': 'given'}, Toy(order=2))
    >>> Toy(order=0)
    Traceback (most recent call last):
    corpuscle.errors.SettingError: order is a whole number from 1 on; not 0
    """

    SETTINGS: ClassVar[Mapping[str, Setting]] = {}
    LEARNED: ClassVar[frozenset[str]] = frozenset()

    chosen_: dict[str, Any] = learned()
    _origins: dict[str, str] = learned()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        declared: dict[str, Setting] = {}
        for base in reversed(cls.__mro__[1:]):
            declared |= vars(base).get("SETTINGS", {})
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        hints = get_type_hints(cls, localns={"ClassVar": ClassVar}) if own else {}
        for name, value in own.items():
            declared[name] = typed(value, name, hints[name])
        inherited = (vars(base).get("LEARNED", frozenset()) for base in cls.__mro__[1:])
        cls.LEARNED = frozenset(n for n, value in vars(cls).items() if isinstance(value, _Learned)).union(*inherited)
        for name in [name for name, value in vars(cls).items() if isinstance(value, Setting | _Learned)]:
            delattr(cls, name)
        cls.SETTINGS = declared

    def __init__(self, **given: Any) -> None:
        self._begin(given, dict.fromkeys(given, "given"))

    def _begin(self, values: Mapping[str, Any], origins: dict[str, str]) -> None:
        declarations = type(self).SETTINGS
        for name in values:
            if name not in declarations:
                raise SettingError(f"{type(self).__name__} has no setting {name!r}; it has {', '.join(declarations)}")
        complete = {
            name: declared.checked(values[name]) if name in values else declared.default
            for name, declared in declarations.items()
        }
        check_together(declarations, complete)
        vars(self).update(complete, _origins=origins, chosen_={})
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check what single declarations cannot say, and prepare what will be learned."""

    def __setattr__(self, name: str, value: Any) -> None:
        declared = type(self).SETTINGS.get(name)
        if declared is not None:
            if not declared.runtime:
                raise AttributeError(f"{name} is a setting: use replace({name}=...), which gives a new learner")
            value = declared.checked(value)
            check_together(type(self).SETTINGS, vars(self) | {name: value})
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        given = [name for name in type(self).SETTINGS if self._origins.get(name, "default") != "default"]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in given)})"

    @property
    def settings(self) -> dict[str, Any]:
        """The value of every setting on which the result depends."""
        return {name: getattr(self, name) for name, declared in self.SETTINGS.items() if not declared.runtime}

    @property
    def origins(self) -> dict[str, str]:
        """Where the value of every such setting comes from: given, default, or tuned."""
        tuned = dict.fromkeys(self.chosen_, "tuned")
        return {name: (self._origins | tuned).get(name, "default") for name in self.settings}

    def described(self) -> dict[str, tuple[Any, str]]:
        """Every such setting with its value (the chosen one where there is one) and origin, as a model file has it."""
        origins = self.origins
        return {name: (self.chosen_.get(name, value), origins[name]) for name, value in self.settings.items()}

    def _refuse(self, names: tuple[str, ...], where: str) -> None:
        """Complain about those of some settings that were given."""
        for name in names:
            if self.origins[name] == "given":
                raise SettingError(f"{name} means nothing {where}")

    def replace(self, **changes: Any) -> Self:
        """A new, unfitted learner with these settings changed."""
        given = {name: getattr(self, name) for name, origin in self._origins.items() if origin == "given"}
        return self._anew(given | changes)

    def _anew(self, given: Mapping[str, Any]) -> Self:
        """An unfitted learner with these settings, made of the same parts."""
        return type(self)(**given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every setting by name, as scikit-learn asks for them; ``deep`` means nothing here."""
        return {name: getattr(self, name) for name in self.SETTINGS}

    def set_params(self, **changes: Any) -> Self:
        """Change settings in place, as scikit-learn does it. See ``replace``, and ``Model.set_params``."""
        fresh = self.replace(**changes)
        vars(self).clear()
        vars(self).update(vars(fresh))
        return self

    @classmethod
    def restored(cls, described: Mapping[str, tuple[Any, str]]) -> Self:
        """A learner with settings that were read from a file, see ``described``; a wrong one is a ``SettingError``, and
        so is one that says how or where work is done, which is not for a file to decide."""
        for name in described:
            if name in cls.SETTINGS and cls.SETTINGS[name].runtime:
                raise SettingError(f"{name} cannot come from a file")
        self = cls.__new__(cls)
        values = {name: value for name, (value, _) in described.items()}
        self._begin(values, {name: origin for name, (_, origin) in described.items()})
        return self

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON schema of all settings, for forms."""
        properties = {name: declared.schema() for name, declared in cls.SETTINGS.items() if not declared.runtime}
        return {"title": cls.__name__, "type": "object", "properties": properties, "additionalProperties": False}


class Parallel(Settings):
    """Settings of everything that can share its work."""

    workers: int | None = WORKERS
    cluster: Any = CLUSTER


class Seeded(Settings):
    """The setting of everything that makes random choices."""

    seed: int = setting("Seed of every random choice.", default=1, low=0, high=2**63 - 1)
