"""What all learners have in common: settings in the constructor, arrays in a file, and who taught them.

A class says what its file holds (``KIND``), and how what it has learned stands there (``SAVED``). Where that is not
all, it adds to what is written (``_arrays``, ``_extra``, ``_components``) and taken back (``_restore``). Everything
else about files stands here.

The methods of a model take what people have. A method says by its annotation what it works on (``corpus: Corpus``);
called with something else, such as a path, a list of strings or a list of lists of words, it gets what ``READERS``
makes of that, as the model reads its texts. Nothing is imported before there is something to read.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from itertools import chain, islice
from os import PathLike
from types import FunctionType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from corpuscle.catalogue import find
from corpuscle.errors import NotLearned
from corpuscle.model.kinds import Kind
from corpuscle.model.saved import Saved
from corpuscle.model.store import Container, Part, save
from corpuscle.progress import say
from corpuscle.scale import default_workers, workers
from corpuscle.settings import CLUSTER, WORKERS, Settings, learned

T = TypeVar("T")

_NONE = np.empty(0, np.uint64)
_ITEMS = {"items/training": "items_", "items/tuning": "tuning_items_"}

READERS = {
    "Corpus": "corpuscle.text.inputs:corpus",
    "Corpus | Forest": "corpuscle.text.inputs:corpus",
    "Bitext": "corpuscle.text.inputs:bitext",
    "Treebank": "corpuscle.text.inputs:treebank",
    "Trees": "corpuscle.text.inputs:trees",
    "Documents": "corpuscle.entities.documents:given",
    "Messages": "corpuscle.text.inputs:messages",
    "Sequence[Pair]": "corpuscle.text.inputs:pairs",
    "names": "corpuscle.text.inputs:names",
}
"""What a parameter is annotated with -> what makes that of anything: called with the value and the model."""
_LISTS = frozenset({"Messages", "Sequence[Pair]", "names"})
"""No classes of ours: a model takes whatever has them, and only strings, lists, tuples and paths are read."""


def reader_of(parameter: inspect.Parameter) -> str:
    """The key of ``READERS`` for a parameter, if it is one: its annotation, None aside."""
    kind = str(parameter.annotation).removesuffix(" | None")
    return "names" if (kind, parameter.name) == ("Iterable[str]", "names") else kind


def _is_raw(value: Any, kind: str) -> bool:
    """Whether a value is yet to be read, or a mistake, not data of that kind; nothing stays nothing."""
    name = type(value).__name__
    if kind in _LISTS:
        return isinstance(value, str | list | tuple | PathLike) or (kind, name) == ("Messages", "Corpus")
    return value is not None and name not in kind.split(" | ")


def _as_called(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that reads what it is called with; itself if it works on nothing that is read. ``fit`` begins with the
    settings that ``set_params`` has left for it, and what ``checkpoint`` resumes is work with those."""
    parameters = inspect.signature(method).parameters.values()
    kinds = {(at, each.name): kind for at, each in enumerate(parameters) if (kind := reader_of(each)) in READERS}
    if not kinds and name not in ("fit", "checkpoint"):
        return method

    @wraps(method)
    def called(self: Model, *given: Any, **named: Any) -> Any:
        if name == "fit":
            self._renew()
        model = self._next if name == "checkpoint" else self
        values = [model, *given]
        for (at, parameter), kind in kinds.items():
            if at < len(values) and _is_raw(values[at], kind):
                values[at] = find(READERS[kind])(values[at], model)
            elif parameter in named and _is_raw(named[parameter], kind):
                named[parameter] = find(READERS[kind])(named[parameter], model)
        return method(*values, **named)

    return called


class Model(Settings):
    """A learner, and what it has learned.

    - ``provenance_``: sizes and signature of the training data;
    - ``items_``, ``tuning_items_``: hashes of the items that it was trained and tuned on, see ``text.overlap``; saved
      where the kind declares them, see ``ITEMS``;
    - ``RESUMES``: unfinished work can go on: it has a ``checkpoint``, and ``fit`` takes one.
    """

    KIND: ClassVar[Kind]
    SAVED: ClassVar[Mapping[str, Saved]] = {}
    """Attribute -> how it is saved, see ``model.saved``."""
    RESUMES: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "checkpoint" in vars(cls) and "RESUMES" not in vars(cls):
            cls.RESUMES = True
        # those of the class, and of what is mixed into it; those of other models are wrapped already
        parts = [base for base in cls.__mro__ if base is cls or not issubclass(base, Settings)]
        for name in dict.fromkeys(name for part in parts for name in vars(part)):
            owner = next(base for base in cls.__mro__ if name in vars(base))
            method = vars(owner)[name]
            if owner in parts and isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _as_called(name, method))

    workers: int | None = WORKERS
    cluster: Any = CLUSTER

    provenance_: dict[str, Any] = learned()
    items_: np.ndarray = learned()
    tuning_items_: np.ndarray = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.provenance_ = {}
        self.items_ = self.tuning_items_ = _NONE

    @property
    def threads(self) -> int:
        return self.workers or default_workers()

    def spread(self, function: Callable[[Any, Any], Any], chunks: Iterable[Any]) -> Iterator[Any]:
        """``function(chunk, model)`` of every chunk of a stream, in order, on threads, or on a cluster, to which the
        model goes once (not for a single chunk), and which finds the function by its name in its module."""
        stream = iter(chunks)
        begin = list(islice(stream, 2))
        if len(begin) > 1:
            self._prepare()
        with workers(self.workers, self.cluster) as pool, workers(1) as here:
            yield from (pool if len(begin) > 1 else here).map(function, chain(begin, stream), self)

    def spread_groups(
        self, function: Callable[[Any, Any], Any], groups: Iterable[tuple[T, Iterable[Any]]]
    ) -> Iterator[tuple[T, list[Any]]]:
        """As ``spread``, for pairs of something, such as a text, and its chunks (one or more): that, and results."""
        waiting: deque[tuple[T, int]] = deque()

        def stream() -> Iterator[Any]:
            for what, chunks in groups:
                several = list(chunks)
                waiting.append((what, len(several)))
                yield from several

        results: list[Any] = []
        for result in self.spread(function, stream()):
            results.append(result)
            if len(results) == waiting[0][1]:
                yield waiting.popleft()[0], results
                results = []

    def _prepare(self) -> None:
        """Compute what is computed only once, before the work is shared out."""

    def stays_here(self, why: str) -> None:
        if self.cluster is not None:
            say(f"not on the cluster: {why}")

    # ---- settings of the next fit

    @property
    def _next(self) -> Self:
        """The unfitted learner that ``fit`` will become, if ``set_params`` has been called since; else the model."""
        return vars(self).get("_unfitted", self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every setting by name, as scikit-learn asks for them: those with which ``fit`` would learn now."""
        current = super().get_params(deep)
        return current | self._next.settings

    def set_params(self, **changes: Any) -> Self:
        """Change settings in place, as scikit-learn does it. What has been learned is kept, and goes on being used and
        saved with the settings that it was learned with; the others count from the next ``fit`` on (``get_params`` has
        them). How the work is done (``workers``, ``cluster``) changes at once."""
        runtime = {name for name, declared in self.SETTINGS.items() if declared.runtime}
        at_once = {name: value for name, value in changes.items() if name in runtime}
        if changes.keys() - runtime:
            fresh = self._next.replace(**changes)
            learned_names = (name for name in vars(self).keys() - vars(fresh).keys() if name.endswith("_"))
            if not self.provenance_ and not any(learned_names):
                vars(self).clear()
                vars(self).update(vars(fresh))
                return self
            self._unfitted = fresh
        # None first: workers and a cluster exclude each other.
        for name, value in sorted(at_once.items(), key=lambda each: each[1] is not None):
            setattr(self, name, value)
            self._origins[name] = "given"
        return self

    def _renew(self) -> None:
        """Become the learner that ``set_params`` asked for, which has learned nothing."""
        if self._next is not self:
            runtime = {name: getattr(self, name) for name, declared in self.SETTINGS.items() if declared.runtime}
            fresh = vars(self._next) | runtime
            vars(self).clear()
            vars(self).update(fresh)

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there, and for a property that failed: that one is asked again, for its own error."""
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)
        if name in self.LEARNED or (name.endswith("_") and not name.startswith("_")):
            raise NotLearned(f"{type(self).__name__} has learned nothing yet (no {name}): call fit, or load a model")
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def __getstate__(self) -> dict[str, Any]:
        """A model that goes to another process knows no cluster."""
        return vars(self) | {"cluster": None}

    def _saved_values(self) -> list[tuple[Saved, Any]]:
        """How what has been learned is saved, and what that is."""
        values = [(how, getattr(self, name)) for name, how in self.SAVED.items()]
        return [(how, value) for how, value in values if value is not None]

    def _arrays(self) -> Mapping[str, np.ndarray]:
        """What has been learned."""
        return {name: array for how, value in self._saved_values() for name, array in how.arrays(value).items()}

    def _extra(self) -> Mapping[str, Any]:
        """Small facts for the header."""
        return {name: fact for how, value in self._saved_values() for name, fact in how.facts(value).items()}

    def _components(self) -> Mapping[str, Part]:
        """Models inside this one, by prefix."""
        return {name: part for how, value in self._saved_values() for name, part in how.parts(value).items()}

    def _restore(self, loaded: Container) -> None:
        """Take back what ``_arrays``, ``_extra`` and ``_components`` gave, already validated."""
        for name, how in self.SAVED.items():
            setattr(self, name, how.restored(loaded))

    def part(self) -> Part:
        """The model as it goes into a file, alone or inside another model."""
        arrays = dict(self._arrays())
        declared = self.KIND.arrays_for(self._extra())
        arrays |= {name: getattr(self, attribute) for name, attribute in _ITEMS.items() if name in declared}
        return Part(
            self.KIND,
            arrays,
            settings=self.described(),
            provenance=self.provenance_,
            extra=self._extra(),
            components=self._components(),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file."""
        save(path, self.part())

    @classmethod
    def restored_from(cls, loaded: Container) -> Self:
        """An unfitted learner with the settings of a file."""
        return cls.restored(loaded.described)

    @classmethod
    def from_container(cls, loaded: Container) -> Self:
        """The model of a file that has been read and validated."""
        self = cls.restored_from(loaded)
        self.provenance_ = dict(loaded.provenance)
        for name, attribute in _ITEMS.items():
            setattr(self, attribute, loaded.arrays.get(name, _NONE))
        self._restore(loaded)
        return self
