"""From one core to a cluster: the same statistics, the same bytes, however many workers there are.

Most learners add up statistics over pieces of the corpus. The pieces are scattered once; then, in every iteration,

    with workers(count) as pool:
        pieces = pool.scatter(chunks)
        for _ in range(iterations):
            totals = pieces.map_reduce(expected_counts, add, broadcast=parameters)

computes ``expected_counts(chunk, parameters)`` wherever a chunk is and combines the results. Two rules make the outcome
independent of the workers: where the data are cut depends on data and settings only (``chunks_of``), and results are
combined along a binary tree whose shape depends only on the number of chunks. Threads do the work (kernels release
the GIL); with ``cluster`` Dask does.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from corpuscle.errors import SettingError, require

__all__ = ["Pieces", "Workers", "chunks_of", "default_workers", "each", "workers"]

CONNECT_SECONDS = 20


class Pieces(Protocol):
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

    def scatter(self, chunks: Sequence[Any]) -> Pieces:
        """Hand the chunks out."""
        ...


def default_workers() -> int:
    """As many workers as this process has cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
        return list(pool.scatter(items).map(function))


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


def _arguments(broadcast: Any) -> tuple[Any, ...]:
    return () if broadcast is None else (broadcast,)


class _Threads:
    def __init__(self, count: int, executor: ThreadPoolExecutor | None):
        self.count, self.executor = count, executor

    def scatter(self, chunks: Sequence[Any]) -> Pieces:
        return _ThreadPieces(self, list(chunks))


class _ThreadPieces:
    def __init__(self, pool: _Threads, chunks: list[Any]):
        self.pool, self.chunks = pool, chunks

    def map(self, function: Callable[..., Any], broadcast: Any = None) -> Iterator[Any]:
        executor, more = self.pool.executor, _arguments(broadcast)
        if executor is None:
            yield from (function(chunk, *more) for chunk in self.chunks)
            return
        # Only so many results wait for their turn, so that memory does not grow with the number of chunks.
        ahead = 2 * self.pool.count
        running: deque[Future[Any]] = deque()
        try:
            for chunk in self.chunks:
                running.append(executor.submit(function, chunk, *more))
                if len(running) > ahead:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()

    def map_reduce(
        self, function: Callable[..., Any], combine: Callable[[Any, Any], Any], broadcast: Any = None
    ) -> Any:
        return _tree(self.map(function, broadcast), combine)


class _Cluster:
    def __init__(self, client: Any, count: int):
        self.client, self.count = client, count

    def scatter(self, chunks: Sequence[Any]) -> Pieces:
        return _ClusterPieces(self.client, self.client.scatter(list(chunks), hash=False) if len(chunks) else [])


class _ClusterPieces:
    def __init__(self, client: Any, chunks: list[Any]):
        self.client, self.chunks = client, chunks

    def _submit(self, function: Callable[..., Any], broadcast: Any) -> list[Any]:
        more = () if broadcast is None else self.client.scatter([broadcast], broadcast=True, hash=False)
        return [self.client.submit(function, chunk, *more, pure=False) for chunk in self.chunks]

    def map(self, function: Callable[..., Any], broadcast: Any = None) -> Iterator[Any]:
        futures = deque(self._submit(function, broadcast))
        try:
            while futures:
                yield futures.popleft().result()
        finally:
            self.client.cancel(list(futures))

    def map_reduce(
        self, function: Callable[..., Any], combine: Callable[[Any, Any], Any], broadcast: Any = None
    ) -> Any:
        futures = self._submit(function, broadcast)
        try:
            # The same tree as with threads, planned here and computed where the results are.
            return _tree(futures, lambda a, b: self.client.submit(combine, a, b, pure=False)).result()
        except BaseException:
            self.client.cancel(futures)
            raise


def _connect(cluster: Any) -> tuple[Any, bool]:
    """A Dask client, and whether it is ours to close."""
    distributed = require("distributed", extra="cluster")
    if not isinstance(cluster, str):
        return cluster, False
    try:
        return distributed.Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False), True
    except (OSError, ValueError, TimeoutError) as error:
        raise SettingError(f"no Dask cluster answers at {cluster}: {error}") from error


@contextmanager
def workers(count: int | None = None, cluster: Any = None) -> Iterator[Workers]:
    """Some workers: ``count`` threads (default: one for each core), or a Dask cluster, given by the address of its
    scheduler or by a ``dask.distributed.Client``. Errors come through unchanged; Ctrl-C drops what waits."""
    if count is not None and count < 1:
        raise SettingError(f"there must be at least one worker, not {count}")
    if cluster is not None:
        if count is not None:
            raise SettingError("give a number of workers or a cluster, not both: the cluster has its own workers")
        client, ours = _connect(cluster)
        try:
            yield _Cluster(client, max(1, len(client.scheduler_info()["workers"])))
        finally:
            if ours:
                client.close()
        return
    count = default_workers() if count is None else count
    if count == 1:
        yield _Threads(1, None)
        return
    executor = ThreadPoolExecutor(count, thread_name_prefix="corpuscle")
    try:
        yield _Threads(count, executor)
    finally:
        executor.shutdown(cancel_futures=True)
