"""Commands that are of no task: look at a pack in the browser, see what is in a model file, compile ahead."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from corpuscle.catalogue import TASKS, find
from corpuscle.errors import SettingError
from corpuscle.progress import aligned, one_line
from corpuscle.settings import size_of
from corpuscle.text.wording import seconds as shown_seconds
from corpuscle.text.wording import size
from corpuscle.verbs import Answer, Shown, path, setting, verb, word

_WITH_KERNELS = tuple(name for name, each in TASKS.items() if each.kernels)


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, str(value))]
    return rows


def _section(title: str, rows: Sequence[tuple[str, ...]]) -> list[str]:
    return ["", title, *("  " + line for line in aligned(rows))] if rows else []


@verb("info", "info lm.model")
def info(model: str = path()) -> Shown:
    """Show what is in a model file: kind, settings and where they come from, training data, arrays."""
    from corpuscle.model import read_header

    header, places, length = read_header(model)
    lines = [one_line(f"{header['kind']} (version {header['kind_version']}), {size(length)}")]
    lines += _section("settings", [(name, str(value), origin) for name, (value, origin) in header["settings"].items()])
    for part in "preprocessing", "provenance", "extra":
        lines += _section(part, _flat(header[part]))
    lines += _section("components", [(name, part["kind"]) for name, part in header["components"].items()])
    shapes = {name: " x ".join(map(str, place.shape)) for name, place in places.items()}
    lines += _section("arrays", [(name, e.dtype.name, shapes[name], size(e.size)) for name, e in places.items()])
    arrays = {name: {"dtype": e.dtype.name, "shape": e.shape, "bytes": e.size} for name, e in places.items()}
    return Answer({**header, "bytes": length, "arrays": arrays}, "\n".join(lines))


@verb("warm", "warm lm")
def warm(task: str | None = word(default=None, offers=_WITH_KERNELS)) -> Shown:
    """Compile the kernels of a task (default: of all tasks) now instead of at its first use."""
    if task is not None and task not in _WITH_KERNELS:
        raise SettingError(f"nothing to warm for {task!r}; tasks with kernels: {', '.join(_WITH_KERNELS)}")
    took = {}
    for name in _WITH_KERNELS if task is None else [task]:
        begin = time.perf_counter()
        find(f"{TASKS[name].package}:warm")()
        took[name] = round(time.perf_counter() - begin, 3)
    return Answer({"seconds": took}, "\n".join(f"{name}: {shown_seconds(value)}" for name, value in took.items()))


@verb("serve", "serve pack\nserve lm.model --port 8080", work=True, json=False)
def serve(
    pack: str = path(default="pack", offers="dir"),
    *,
    host: str = setting(
        "Listen on this address; any but this machine's own needs a token, which is printed.",
        metavar="ADDRESS",
        default="127.0.0.1",
    ),
    port: int = setting("Listen on this port; 0: any free one.", default=8765, low=0, high=65535),
    open: bool = setting("Open the page in a browser.", default=False),
    read_only: bool = setting("Write nothing: no annotations, no learning.", default=False),
    kit: str | None = path(
        "The folder that annotations and new files go to (default: the pack's own).", metavar="KIT", option=True
    ),
    seconds: float = setting("Refuse what takes longer.", default=60.0, low=0.1, high=3600),
    memory: int = setting("Memory of each worker process.", default=2 << 30, shown="2G", metavar="SIZE", parse=size_of),
    work: Mapping[str, Any],
) -> None:
    """Serve a pack, or one model file, as a page in the browser, until Ctrl-C. A folder that is not there yet becomes
    an empty workbench: drop files there and learn."""
    from corpuscle.web.guard import Limits
    from corpuscle.web.server import serve as serve_pack

    limits = Limits(seconds=seconds, memory=memory)
    serve_pack(pack, host=host, port=port, open_page=open, read_only=read_only, kit=kit, limits=limits, **work)
