"""The one door to Numba: the decorator for kernels, and where their machine code is kept.

Numba's own cache notices when the file of a kernel changes, but not when a kernel that it calls does. So every module
of kernels has a cache directory that is named by a hash of its source and of all our sources that it imports, directly
or not (and of the Numba version, and of the bounds-checking flag, which a warm cache would silently ignore): a change
is another directory for the modules that it can reach, and for no others. Directories that nobody has used for 60 days
are removed; where none can be written, a temporary one serves until the process ends. Files of the cache carry a
checksum: a damaged one is made again. Processes that need the same kernel at the same time compile it once: whoever
comes second waits. A release for Linux carries machine code of its own, for processors of the level x86-64-v3; where it
fits, kernels that it does not have are compiled for that level, too. Importing this module imports Numba; modules
without kernels do not need it.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import pickle  # of the user's own cache of machine code, never of a model
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from corpuscle.progress import COMPILATION, say

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

F = TypeVar("F", bound=Callable[..., Any])

KEEP_SECONDS = 60 * 24 * 3600

_PACKAGE = Path(__file__).parent
_SILENT = _PACKAGE / "progress.py"  # no kernel depends on what is said about it
_IMPORT = re.compile(r"^\s*from (corpuscle[\w.]*) import (\([^)]*\)|[^\n#]*)", re.M)


def _source_of(module: str) -> Path | None:
    """The file of one of our modules, if there is such a module."""
    place = _PACKAGE.joinpath(*module.split(".")[1:])
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@cache
def _imports(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """A source, and the files of ours that it imports from."""
    source = path.read_bytes()
    found = []
    for package, names in _IMPORT.findall(source.decode()):
        modules = [f"{package}.{name}" for name in re.findall(r"\w+", names)]
        found += [file for module in (package, *modules) if (file := _source_of(module)) is not None]
    return source, tuple(found)


def fingerprint(module: str) -> str:
    """A hash of everything of ours that the machine code of a module, of ours or not, depends on."""
    file = getattr(sys.modules.get(module), "__file__", None)
    ours = module.partition(".")[0] == "corpuscle"
    todo = [path for path in [_source_of(module) if ours else file and Path(file)] if path]
    sources: dict[str, bytes] = {}
    while todo:
        path = todo.pop()
        name = path.relative_to(_PACKAGE).as_posix() if path.is_relative_to(_PACKAGE) else path.name
        if name not in sources and path != _SILENT:
            sources[name], more = _imports(path)
            todo += more
    digest = hashlib.blake2b(digest_size=8)
    flags = [os.environ.get(name, "") for name in ("NUMBA_BOUNDSCHECK", "CORPUSCLE_PLAIN_NUMBA")]
    digest.update(" ".join([version("numba"), *flags]).encode())
    for _, source in sorted(sources.items()):
        digest.update(source)
    return digest.hexdigest()


def _temporary_directory() -> Path:
    directory = tempfile.mkdtemp(prefix="corpuscle-kernels-")
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a fork of this process
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return Path(directory)


def _choose_root() -> Path:
    """CORPUSCLE_CACHE, or a folder in the user's cache folder; a temporary one if that cannot be written."""
    chosen = os.environ.get("CORPUSCLE_CACHE")
    try:
        base = Path(chosen or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "corpuscle")
        base.mkdir(parents=True, exist_ok=True)
        for old in base.glob("kernels-*"):
            with suppress(OSError):
                if time.time() - old.stat().st_mtime > KEEP_SECONDS:
                    shutil.rmtree(old)
    except (OSError, RuntimeError):  # the latter of a user without a home
        return _temporary_directory()
    return base if os.access(base, os.W_OK) else _temporary_directory()


cache_root = _choose_root()
"""The folder of the cache directories of all modules."""
is_temporary = cache_root.name.startswith("corpuscle-kernels-")
"""Whether the cache ends with this process."""


@cache
def cache_directory(module: str) -> Path:
    """Where the machine code of a module is kept."""
    directory = cache_root / f"kernels-{module.removeprefix('corpuscle.')}-{fingerprint(module)}"
    with suppress(OSError):
        directory.mkdir(exist_ok=True)
        os.utime(directory)  # the day of its last use
    return directory


import numba  # noqa: E402

# Numba imports scipy.linalg, which takes a sixth of a second, only to note that there is a BLAS. A stand-in tells it
# the same, and is gone before anything could use it.
_BLAS = "scipy.linalg.cython_blas"
if _BLAS not in sys.modules:
    sys.modules[_BLAS] = ModuleType(_BLAS)
    try:
        import numba.np.arraymath
    finally:
        del sys.modules[_BLAS]

from llvmlite import binding, ir  # noqa: E402
from numba.core import caching, cgutils, event, types  # noqa: E402
from numba.core.dispatcher import OmittedArg  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

_LEVEL = "x86-64-v3"
_FEATURES = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}


def _find_shipped() -> Path | None:
    """The machine code that came with the package, if there is some and this processor runs it."""
    folder, config = _PACKAGE / "machine_code" / _LEVEL, cast(Any, numba.config)
    if not folder.is_dir() or (config.CPU_NAME or _LEVEL) != _LEVEL or sys.platform != "linux":
        return None
    if not {name for name, there in binding.get_host_cpu_features().items() if there} >= _FEATURES:
        return None
    config.CPU_NAME, config.CPU_FEATURES = _LEVEL, ""
    return folder


_shipped = _find_shipped()


class _Counter(event.Listener):
    """Tells ``progress`` when a kernel is compiled; Numba compiles one at a time, and functions of its own with it."""

    def on_start(self, event: Any) -> None:
        COMPILATION.begin()

    def on_end(self, event: Any) -> None:
        COMPILATION.end(ours=not event.data["dispatcher"].py_func.__module__.startswith("numba."))


event.register("numba:compile", _Counter())


def frozen(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """A contiguous read-only view (a copy only if need be).

    Numba compiles a kernel once more for read-only arrays. An argument that is always frozen has one type, wherever it
    comes from: a learner, a bytes object or a mapped model file.
    """
    view = np.ascontiguousarray(array, dtype).view(np.ndarray)[:]
    view.flags.writeable = False
    return view


class _CacheFile(caching.IndexDataCacheFile):
    """The index and the machine code of a kernel, each file behind its checksum; a damaged file counts as missing."""

    def _read(self, path: str) -> Any:
        try:
            data = Path(path).read_bytes()
        except OSError:
            return None
        if _checksum(data[16:]) != data[:16]:
            return None
        try:
            return pickle.loads(data[16:])
        except (AttributeError, ImportError):  # a record among the signatures has moved to another module since
            return None

    def _write(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(_checksum(data) + data)

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = self._read(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


class _Locator(caching._CacheLocator):
    """The directory of a module's machine code. Its name depends on all sources that matter, so that neither where
    these lie nor their time does: checkouts and environments with equal sources share what was compiled."""

    def __init__(self, function: Callable[..., Any], file: str):
        self._function, self._py_file = function, file

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(cache_directory(self._function.__module__))

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return str(self._function.__code__.co_firstlineno)


class _CacheOfResults(caching.CompileResultCacheImpl):
    """What is kept of a kernel, and where."""

    _locator_classes: ClassVar = [_Locator]


class _Cache(caching.FunctionCache):
    """Numba's cache of a kernel over such files; where they cannot be written, the next process compiles again."""

    _impl_class = _CacheOfResults
    told = False

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, "")
        self._files = [self._cache_file]
        if _shipped is not None:
            place = str(_shipped / Path(self._cache_path).name)
            self._files.insert(0, _CacheFile(place, self._impl.filename_base, ""))
        self._lock = _Lock(os.path.join(self._cache_path, f"{self._impl.filename_base}.lock"))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or by another process meanwhile; None: the caller compiles it and saves it."""
        found = super().load_overload(sig, target_context)
        if found is None and self._lock.take():
            found = super().load_overload(sig, target_context)
            if found is not None:
                self._lock.release()
        return found

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self._index_key(sig, target_context.codegen())
        found = (files.load(key) for files in self._files)
        data = next((each for each in found if each is not None), None)
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            if not _Cache.told:
                say(f"the cache of kernels cannot be written ({error.strerror}): the next run compiles again")
            _Cache.told = True
        finally:
            self._lock.release()


class _Lock:
    """The right to compile a kernel, a lock on a file; kernels of one factory share it. It ends with the process.

    No two processes wait for each other: a kernel never calls one that calls it, so that whoever holds a lock waits
    only for kernels further down.
    """

    _held: ClassVar[set[str]] = set()
    _PATIENCE = 120.0  # seconds; then both compile

    def __init__(self, path: str):
        self._path, self._file = path, -1

    def take(self) -> bool:
        """Wait until nobody else holds it; False where there is nothing to wait for."""
        if fcntl is None or self._path in self._held:
            return False
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return False
        end = time.monotonic() + self._PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > end:
                    os.close(file)
                    return False
                time.sleep(0.02)
            else:
                self._file = file
                self._held.add(self._path)
                return True

    def release(self) -> None:
        if self._file >= 0:
            self._held.discard(self._path)
            with suppress(OSError):
                os.unlink(self._path)  # who waits for it has it open, and looks into the cache first
            os.close(self._file)
            self._file = -1


KNOWN = numba.__version__.startswith("0.68.") and not os.environ.get("CORPUSCLE_PLAIN_NUMBA")
"""Whether this is a Numba that the tests run with. What is done here beyond ``njit(cache=True)`` reaches into Numba and
is left out with any other: kernels then compile more often and run longer, with the same results."""


def _compiled(function: F, wrappers: bool, **options: Any) -> F:
    """Numba's decorator, with the cache directory of the function's module; the function itself where compiling is
    switched off (``NUMBA_DISABLE_JIT``)."""
    config = cast(Any, numba.config)
    if config.DISABLE_JIT:
        return function
    before, config.CACHE_DIR = config.CACHE_DIR, str(cache_directory(function.__module__))
    try:
        if not KNOWN:
            options = {"fastmath": options.get("fastmath", False)}
            return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function))
        options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": not wrappers}
        made = cast(Any, numba.njit(nogil=True, error_model="numpy", **options)(function))
        made._cache = _Cache(function)
    finally:
        config.CACHE_DIR = before
    made.get_call_template = partial(_call_template, made)
    if not wrappers:
        made.add_overload = partial(_keep_from_python, made)
        made._compile_for_args = partial(_door, made)
    return cast(F, made)


def _call_template(made: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a kernel that calls this one is told of its types: an integer is an int64, whatever its value and width.

    Numba would compile ``f(x, 0)``, ``f(x, 1)`` and ``f(x, i)`` for a 32-bit ``i`` one by one.
    """
    named = {name: _widened(kind) for name, kind in named.items()}
    return type(made).get_call_template(made, tuple(map(_widened, arguments)), named)


def _widened(kind: Any) -> Any:
    kind = cast(Any, types).unliteral(kind)
    return types.int64 if kind in types.signed_domain else kind


def _keep_from_python(made: Any, compiled: Any) -> None:
    """Note what was compiled, without a way in from Python."""
    made.overloads[tuple(compiled.signature.args)] = compiled


def _door(made: Any, *arguments: Any) -> Callable[..., Any]:
    """What Python calls in place of a part: a kernel that does nothing else, compiled anew by each process. For tests,
    benchmarks and the curious."""
    if not hasattr(made, "door"):
        inner = made
        outer = numba.njit(error_model="numpy")(lambda *arguments: inner(*arguments))

        def enter(*given: Any) -> Any:  # a default comes as an object that has its value
            return outer(*(each.value if isinstance(each, OmittedArg) else each for each in given))

        made.door = enter
    return made.door


def kernel(function: F | None = None, *, bare: bool = False, contract: bool = False, reorder: bool = False) -> Any:
    """Compile a function of arrays and numbers that Python calls: cached on disk, without the GIL, with NumPy's
    division by zero.

    - ``bare``: it allocates nothing and does not count the references to its arrays. A record of many arrays that goes
      from kernel to kernel can cost more in counting than in work: a sweep over restaurants is eight times as fast.
    - ``contract`` (and bare): a product and the sum that it goes into may be one instruction, rounded once: a cell of
      a network takes three quarters of the time.
    - ``reorder`` (and bare): sums may be added up in any order, so that they vectorise: several times as fast for dot
      products in single precision. The order is fixed when it is compiled, so results still depend on nothing else.
    """
    return _marked(function, True, bare, contract, reorder)


def part(
    function: F | None = None,
    *,
    bare: bool = False,
    inline: bool = False,
    contract: bool = False,
    reorder: bool = False,
) -> Any:
    """A kernel that only kernels call: no wrappers for Python and C, which often take longer to compile than itself.

    ``inline`` (and bare): it becomes a part of the kernels that call it; passing a record of two dozen arrays takes
    longer than most of what small kernels do with it.
    """
    return _marked(function, False, bare, contract, reorder, inline)


def _marked(function: F | None, wrappers: bool, bare: bool, contract: bool, reorder: bool, inline: bool = False) -> Any:
    options: dict[str, Any] = {"_nrt": False} if bare or contract or reorder or inline else {}
    if contract or reorder:
        options["fastmath"] = {"reassoc", "contract"} if reorder else {"contract"}
    if inline:
        options["forceinline"] = True
    decorate: Any = partial(_compiled, wrappers=wrappers, **options)
    return decorate if function is None else decorate(function)


def lowered(twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A function of a few machine instructions (Numba's ``intrinsic``), with its twin in Python for when compiling is
    switched off."""
    return lambda generator: twin if cast(Any, numba.config).DISABLE_JIT else intrinsic(generator)


@lowered(lambda array, index: None)
def prefetch(context, array, index):
    """Inside a kernel: ask for ``array[index]`` (one axis, index not negative) to be in the cache soon.

    A loop that knows early which element it will need can do other work instead of waiting for memory.
    """

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        place = cgutils.get_item_pointer(
            context, builder, kind, context.make_array(kind)(context, builder, arguments[0]), [arguments[1]]
        )
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, number, number, number]), "llvm.prefetch.p0i8"
        )
        read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(hint, [builder.bitcast(place, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
