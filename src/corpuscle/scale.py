"""From one core to a cluster: the same statistics, the same bytes, however many workers there are.

Most learners add up statistics over chunks of the corpus. The chunks are scattered once; then, in every iteration,

    with workers(count) as pool:
        held = pool.scatter(chunks)
        for _ in range(iterations):
            totals = held.map_reduce(expected_counts, add, broadcast=parameters)

computes ``expected_counts(chunk, parameters)`` wherever a chunk is and combines the results. Two rules make the outcome
independent of the workers: where the data are cut depends on data and settings only (``chunks_of``), and results are
combined along a binary tree whose shape depends only on the number of chunks. A finished model that is applied to a
stream of chunks needs neither: ``pool.map(function, chunks, model)``, see ``Model.spread``.

Threads do the work (kernels release the GIL), or processes (``processes``) where work is done by a library that holds
the GIL between many small steps; with ``cluster`` Dask does. In processes and there, functions must have a name in a
module, and chunks, results and what is broadcast go through pickle. A worker starts no workers of its own: what is
shared out inside of shared work is done in place. Nothing else in the package starts threads or talks to a cluster.

Python hears Ctrl-C only in the main thread, and only between two of its own instructions. So even a single worker is a
thread beside the main one, which waits for it and can be interrupted at any moment, however long a kernel takes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Protocol

import numpy as np

from corpuscle.errors import CorpuscleError, SettingError, require, warn

CONNECT_SECONDS = 5
AHEAD = 2
"""So many chunks for each worker are handed out before the first result is asked for."""

_thread = threading.local()


class Chunks(Protocol):
    """Chunks that have been handed to workers, who keep them."""

    def map(self, function: Callable[..., Any], broadcast: Any = None) -> Iterator[Any]:
        """``function(chunk)`` of every chunk in order; ``function(chunk, broadcast)`` if that is not None."""
        ...

    def map_reduce(
        self, function: Callable[..., Any], combine: Callable[[Any, Any], Any], broadcast: Any = None
    ) -> Any:
        """The results of ``map``, combined to one. ``combine(a, b)`` is associative up to rounding and changes neither
        argument; ``a`` comes from chunks before those of ``b``."""
        ...


class Workers(Protocol):
    """A pool of workers."""

    count: int

    def map(self, function: Callable[..., Any], chunks: Iterable[Any], broadcast: Any = None) -> Iterator[Any]:
        """``function(chunk)`` or ``function(chunk, broadcast)`` of every chunk of a stream, in order; only a few of
        them are in memory at a time."""
        ...

    def scatter(self, chunks: Sequence[Any]) -> Chunks:
        """Hand the chunks out, for several rounds of work on them."""
        ...


def default_workers() -> int:
    """As many workers as this process has cores; one where a worker asks."""
    if _is_worker():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def starts_of(lengths: Iterable[int] | np.ndarray) -> np.ndarray:
    """Offsets from lengths: int64 (n + 1), beginning with 0."""
    lengths = np.asarray(list(lengths) if not isinstance(lengths, np.ndarray) else lengths, np.int64)
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def chunks_of(weights: np.ndarray, target: int) -> np.ndarray:
    """Cut items into consecutive chunks of about ``target`` total weight: int64 (n_chunks + 1,), where chunks begin.

    Nothing but the weights and the target decides.

    >>> chunks_of(np.array([3, 3, 3, 3, 3]), 6).tolist()
    [0, 2, 4, 5]
    """
    if target < 1:
        raise SettingError(f"a chunk weighs at least 1, not {target}")
    before = np.cumsum(weights, dtype=np.int64) - weights
    chunk = before // target
    first = np.flatnonzero(np.diff(chunk, prepend=-1))
    return np.append(first, len(weights)).astype(np.int64)


def each(function: Callable[[Any], Any], items: Sequence[Any], count: int | None = None) -> list[Any]:
    """``function(item)`` of every item in order, on ``count`` threads of this process, which share its memory."""
    with workers(min(count or default_workers(), max(1, len(items)))) as pool:
        return list(pool.map(function, items))


def beside() -> Executor:
    """One thread beside this one, for what can be done meanwhile: ``submit`` gives a future; a ``with`` block waits."""
    return ThreadPoolExecutor(1, thread_name_prefix="corpuscle")


_one_thread = cache(beside)
"""The thread beside the main one, where a single worker works."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread.cache_clear)  # the child of a fork has none of our threads


def _is_worker() -> bool:
    return getattr(_thread, "works", False)


def _work(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)``, done by a worker."""
    before, _thread.works = _is_worker(), True
    try:
        return function(*arguments)
    finally:
        _thread.works = before


def _in_order(submit: Callable[[Any], Any], items: Iterable[Any], ahead: int) -> Iterator[Any]:
    """The result of ``submit(item)``, a future, for every item in order; so many are under way at a time, so that
    memory does not grow with the number of items."""
    running: deque[Any] = deque()
    try:
        for item in items:
            running.append(submit(item))
            while running and (len(running) > ahead or running[0].done()):
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()


def _tree(results: Iterable[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """Combine results in order, along a tree whose shape depends on their number only.

    It works like counting in binary: two neighbours of the same height become one that is higher by one.
    """
    heights: list[int] = []
    values: list[Any] = []
    for result in results:
        heights.append(0)
        values.append(result)
        while len(heights) > 1 and heights[-1] == heights[-2]:
            right, left = values.pop(), values.pop()
            values.append(combine(left, right))
            heights.pop()
            heights[-1] += 1
    if not values:
        raise ValueError("there are no chunks to add up")
    while len(values) > 1:
        right, left = values.pop(), values.pop()
        values.append(combine(left, right))
    return values[0]


class _Threads:
    def __init__(self, count: int, executor: Executor | None):
        self.count, self.executor = count, executor

    def map(self, function: Callable[..., Any], chunks: Iterable[Any], broadcast: Any = None) -> Iterator[Any]:
        executor, more = self.executor, () if broadcast is None else (broadcast,)
        if executor is None:
            yield from (function(chunk, *more) for chunk in chunks)
        else:
            submit = partial(executor.submit, _work, function)
            yield from _in_order(lambda chunk: submit(chunk, *more), chunks, AHEAD * self.count)

    map_held = map

    def reduce_held(self, function: Callable[..., Any], combine: Callable[..., Any], held: Any, broadcast: Any) -> Any:
        return _tree(self.map(function, held, broadcast), combine)

    def scatter(self, chunks: Sequence[Any]) -> Chunks:
        return _Held(self, chunks)


class _Held:
    """Chunks as a pool holds them: themselves, or the futures of parcels on a cluster."""

    def __init__(self, pool: _Threads | _Cluster, chunks: Sequence[Any]):
        self.pool, self.chunks = pool, chunks

    def map(self, function: Callable[..., Any], broadcast: Any = None) -> Iterator[Any]:
        return self.pool.map_held(function, self.chunks, broadcast)

    def map_reduce(
        self, function: Callable[..., Any], combine: Callable[[Any, Any], Any], broadcast: Any = None
    ) -> Any:
        return self.pool.reduce_held(function, combine, self.chunks, broadcast)


class _Parcel:
    """Something on its way to or from a worker, in one: Dask would take a list or a dictionary apart."""

    def __init__(self, content: Any):
        self.content = content


def _work_there(function: Callable[..., Any], *arguments: _Parcel) -> _Parcel:
    """``function(*arguments)``, done by a worker of a cluster."""
    return _Parcel(_work(function, *(argument.content for argument in arguments)))


class _Cluster:
    def __init__(self, client: Any, count: int):
        self.client, self.count = client, count

    def submitter(self, function: Callable[..., Any], broadcast: Any) -> Callable[[Any], Any]:
        """What hands out a parcel or the future of one, after it has handed out once what all of them need."""
        more = () if broadcast is None else self.client.scatter([_Parcel(broadcast)], broadcast=True, hash=False)
        return lambda parcel: self.client.submit(_work_there, function, parcel, *more, pure=False)

    def map_held(self, function: Callable[..., Any], parcels: Iterable[Any], broadcast: Any = None) -> Iterator[Any]:
        """The results of ``function`` for parcels or futures of parcels, in order."""
        for parcel in _in_order(self.submitter(function, broadcast), parcels, AHEAD * self.count):
            yield parcel.content

    def reduce_held(self, function: Callable[..., Any], combine: Callable[..., Any], held: Any, broadcast: Any) -> Any:
        futures = list(map(self.submitter(function, broadcast), held))
        try:
            # The same tree as with threads, planned here and computed where the results are.
            total = _tree(futures, lambda a, b: self.client.submit(_work_there, combine, a, b, pure=False))
            return total.result().content
        except BaseException:
            self.client.cancel(futures)
            raise

    def map(self, function: Callable[..., Any], chunks: Iterable[Any], broadcast: Any = None) -> Iterator[Any]:
        return self.map_held(function, map(_Parcel, chunks), broadcast)

    def scatter(self, chunks: Sequence[Any]) -> Chunks:
        return _Held(self, self.client.scatter(list(map(_Parcel, chunks)), hash=False) if len(chunks) else [])


def _find(distributed: Any, address: str) -> Any:
    """What the scheduler says of itself, if there is one: a client that finds none cannot always be stopped."""

    async def identity() -> Any:
        async with distributed.rpc(address) as scheduler:
            return await scheduler.identity()

    try:
        distributed.comm.resolve_address(address)
        with beside() as other:
            return other.submit(asyncio.run, asyncio.wait_for(identity(), CONNECT_SECONDS)).result()
    except Exception as error:  # what a stranger answers may be anything
        reason = str(error) or f"nothing is heard for {CONNECT_SECONDS} seconds"
        raise SettingError(f"no Dask cluster answers at {address}: {reason}") from error


def dashboard(address: str) -> str | None:
    """Where the scheduler at an address shows what its cluster does, if it does."""
    distributed = require("distributed", extra="cluster")
    port = _find(distributed, address).get("services", {}).get("dashboard")
    return port and distributed.utils.format_dashboard_link(distributed.comm.get_address_host(address), port)


@contextmanager
def _connected(cluster: Any) -> Iterator[Any]:
    """A Dask client: the given one, or one for the scheduler at an address. What happens to a cluster is one line."""
    distributed = require("distributed", extra="cluster")
    if isinstance(cluster, distributed.Client):
        client, address = cluster, cluster.scheduler.address
    elif isinstance(cluster, str):
        address = cluster
        _find(distributed, address)
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    else:
        raise SettingError(
            f"a cluster is the address of a Dask scheduler, or a dask.distributed.Client; not {cluster!r}"
        )
    try:
        yield client
    except (distributed.KilledWorker, distributed.comm.CommClosedError, CancelledError) as error:
        raise CorpuscleError(f"the cluster at {address} has dropped the work: {error}") from error
    finally:
        if client is not cluster:
            client.close()


@contextmanager
def workers(count: int | None = None, cluster: Any = None) -> Iterator[Workers]:
    """Some workers: ``count`` threads (default: one for each core), or a Dask cluster, given by the address of its
    scheduler or by a ``dask.distributed.Client``. Errors come through unchanged; Ctrl-C drops what waits."""
    if count is not None and count < 1:
        raise SettingError(f"there must be at least one worker, not {count}")
    if cluster is not None and count is not None:
        raise SettingError("give a number of workers or a cluster, not both: the cluster has its own workers")
    if cluster is not None and not _is_worker():
        with _connected(cluster) as client:
            threads = sum(client.nthreads().values())
            if threads == 0:
                warn("the cluster has no workers yet; the work waits for them")
            yield _Cluster(client, max(1, threads))
        return
    count = count or default_workers()
    if count == 1 or _is_worker():
        is_main = threading.current_thread() is threading.main_thread()
        try:
            yield _Threads(1, _one_thread() if is_main else None)
        except KeyboardInterrupt:
            _one_thread.cache_clear()  # a kernel cannot be stopped, but nobody waits for it
            raise
        return
    executor = ThreadPoolExecutor(count, thread_name_prefix="corpuscle")
    try:
        yield _Threads(count, executor)
    except KeyboardInterrupt:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def _deaf() -> None:
    """Ctrl-C is for the process that started this one."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def processes(count: int | None = None, cluster: Any = None) -> Iterator[Workers]:
    """Workers that are processes of their own, ``count`` of them (default: one for each core); a single one is a thread
    of this process, and a cluster is a cluster, see ``workers``."""
    count = count if count is not None or cluster is not None else default_workers()
    if cluster is not None or count == 1 or _is_worker():
        with workers(None if cluster is not None else count, cluster) as pool:
            yield pool
        return
    import multiprocessing

    with _no_script():
        executor = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _deaf)
        try:
            yield _Threads(count or 1, executor)
        finally:
            executor.shutdown(cancel_futures=True)


@contextmanager
def _no_script() -> Iterator[None]:
    """A new process would run the script that is running here again, as far as it is not under ``if __name__ ==``."""
    main = vars(sys.modules["__main__"])
    script = main.pop("__file__", None) if main.get("__spec__") is None else None
    try:
        yield
    finally:
        if script is not None:
            main["__file__"] = script


def started(function: Callable[..., None], *arguments: Any) -> tuple[Any, Any]:
    """A process that runs ``function(pipe, *arguments)``, and our end of the pipe."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *arguments))
    with _no_script():
        process.start()
    theirs.close()
    return process, ours
