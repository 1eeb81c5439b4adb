"""Work on pieces of a corpus: the same bytes with any number of workers, threads or cluster."""

import ast
import os
import socket
import threading
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpuscle
from corpuscle.errors import CorpuscleError, CorpuscleWarning, InputError, SettingError
from corpuscle.scale import beside, chunks_of, default_workers, each, processes, workers
from corpuscle.settings import Parallel


def weighted_sum(chunk, scale):
    """Rounds differently for every order of summation."""
    return np.array([(chunk * scale).sum(), (1.0 / (chunk + scale)).sum()])


def add(a, b):
    return a + b


def join(a, b):
    return f"({a}{b})"


def fail(chunk):
    raise InputError("corpus.txt", int(chunk[0]), "something is wrong")


def pid(chunk):
    return os.getpid()


def names_of_nested_workers(chunk, _=None):
    """The threads that do the work of pools inside of shared work."""
    with workers(4) as pool:
        inner = list(pool.map(lambda _: threading.current_thread().name, range(8)))
    return {threading.current_thread().name, *inner, *each(lambda _: threading.current_thread().name, range(8), 3)}, (
        default_workers()
    )


def die(chunk):
    os._exit(1)


@pytest.fixture
def chunks():
    values = np.random.default_rng(3).random(10_001)
    starts = chunks_of(np.ones(len(values), np.int64), 300)
    return [values[a:b] for a, b in pairwise(starts)]


def total(chunks, count=None, cluster=None):
    with workers(count, cluster) as pool:
        pieces = pool.scatter(chunks)
        once = pieces.map_reduce(weighted_sum, add, broadcast=0.3)
        return pieces.map_reduce(weighted_sum, add, broadcast=once[0]).tobytes()


def test_any_number_of_threads_gives_the_same_bytes(chunks):
    assert len({total(chunks, count) for count in (None, 1, 2, 3, 8)}) == 1


def test_a_cluster_of_processes_gives_the_same_bytes_as_threads(chunks, cluster):
    distributed = pytest.importorskip("distributed")
    by_threads = total(chunks, 2)
    assert total(chunks, cluster=cluster) == by_threads
    with distributed.Client(cluster) as client:
        assert total(chunks, cluster=client) == by_threads
        assert client.status == "running"  # a client that is not ours stays open
        with workers(cluster=client) as pool:
            pieces = pool.scatter(chunks)
            homes = set(pieces.map(pid))
            assert len(homes) == 2 and os.getpid() not in homes
            assert list(pieces.map(weighted_sum, 2.0))[5].tobytes() == weighted_sum(chunks[5], 2.0).tobytes()
            with pytest.raises(InputError, match="something is wrong"):
                pieces.map_reduce(fail, add)


def test_map_keeps_the_order_of_the_chunks():
    with workers(4) as pool:
        assert list(pool.scatter(range(100)).map(lambda chunk: chunk * 2)) == [2 * i for i in range(100)]


def test_results_combine_along_a_tree_that_only_their_number_shapes():
    for count in 1, 3:
        with workers(count) as pool:
            assert pool.scatter("abcdefg").map_reduce(str, join) == "(((ab)(cd))((ef)g))"


def test_errors_come_through_unchanged_and_stop_the_rest():
    for count in 1, 2:
        with workers(count) as pool, pytest.raises(InputError) as caught:
            pool.scatter([np.array([7])] * 50).map_reduce(fail, add)
        assert caught.value.line == 7


def test_an_interrupt_drops_the_work_that_waits():
    done, release = [], threading.Event()

    def work(chunk):
        if chunk == 0:
            raise KeyboardInterrupt
        release.wait(5)
        done.append(chunk)

    with pytest.raises(KeyboardInterrupt), workers(2) as pool:
        try:
            pool.scatter(range(100)).map_reduce(work, add)
        finally:
            release.set()
    assert len(done) < 10


def test_a_stream_is_read_only_a_little_ahead():
    taken = []

    def stream():
        for number in range(1000):
            taken.append(number)
            yield number

    for count in 1, 2:
        taken.clear()
        with workers(count) as pool:
            results = pool.map(lambda piece: -piece, stream())
            assert [next(results) for _ in range(3)] == [0, -1, -2]
            assert len(taken) <= 20
            results.close()


def test_workers_start_no_workers_of_their_own(cluster):
    for more in {"count": 2}, {"cluster": cluster}:
        with workers(**more) as pool:
            for names, default in pool.map(names_of_nested_workers, range(6)):
                assert len(names) == 1 and default == 1
    names, _ = names_of_nested_workers(0)  # nobody's worker, so there are threads again
    assert len(names) > 1


def test_processes_keep_the_order_pass_errors_on_and_are_other_processes():
    with processes(2) as pool:
        assert list(pool.map(divmod, [7, 8, 9], 4)) == [(1, 3), (2, 0), (2, 1)]
        assert os.getpid() not in pool.map(_process, range(4))
        with pytest.raises(ZeroDivisionError):
            list(pool.map(divmod, [1, 2], 0))
    with processes(1) as pool:
        assert list(pool.map(_process, range(2))) == [os.getpid()] * 2


def _process(_):
    return os.getpid()


def test_one_thread_beside_this_one():
    with beside() as other:
        assert other.submit(lambda: threading.current_thread().name).result() != threading.current_thread().name


def test_workers_and_a_cluster_exclude_each_other():
    with pytest.raises(SettingError, match="not both"), workers(2, "tcp://127.0.0.1:1"):
        pass
    with pytest.raises(SettingError, match="not both"):
        Parallel(workers=2, cluster="tcp://127.0.0.1:1")
    for first, second in (("workers", 2), ("cluster", "tcp://127.0.0.1:1")), (("cluster", "tcp://x:1"), ("workers", 2)):
        learner = Parallel(**dict([first]))
        with pytest.raises(SettingError, match="not both"):
            setattr(learner, *second)
        assert getattr(learner, second[0]) is None
        setattr(learner, first[0], None)
        setattr(learner, *second)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "localhost", "nonsense://nowhere", "tcp://no.such.host:8786", ""]
)
def test_a_bad_address_is_one_line_within_ten_seconds(address):
    pytest.importorskip("distributed")
    begin = time.monotonic()
    with pytest.raises(SettingError) as caught, workers(cluster=address):
        pass
    assert time.monotonic() - begin < 10 and "\n" not in str(caught.value) and address in str(caught.value)


def test_a_server_that_is_no_scheduler_is_one_line_within_ten_seconds():
    pytest.importorskip("distributed")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        address, begin = f"tcp://127.0.0.1:{server.getsockname()[1]}", time.monotonic()
        with pytest.raises(SettingError, match="no Dask cluster answers at"), workers(cluster=address):
            pass
        assert time.monotonic() - begin < 10
    with pytest.raises(SettingError, match="not 8786"), workers(cluster=8786):
        pass


def test_a_cluster_without_workers_is_waited_for_and_one_that_dies_is_a_clear_error():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        pytest.warns(CorpuscleWarning, match="no workers yet"),
        workers(cluster=cluster.scheduler_address) as pool,
    ):
        results = pool.map(str, [1])
        cluster.scale(1)
        assert list(results) == ["1"]
        with (
            pytest.raises(CorpuscleError, match="has dropped the work"),
            workers(cluster=cluster.scheduler_address) as other,
        ):
            list(other.map(die, [1]))


ALLOWED = {
    "scale.py": {"threading", "concurrent.futures", "multiprocessing"},
    "progress.py": {"threading"},  # is this the main thread, which hears Ctrl-C?
    "web/annotations.py": {"threading"},  # a lock: two requests may write the same file
    "web/worker.py": {"threading"},  # one that answers, in place of the main thread
    "packs/crew.py": {"threading"},  # threads that wait for processes, or show how far they are; they compute nothing
    "packs/run.py": {"threading"},  # a lock: several of them write down what was done
}


def test_nothing_else_starts_threads_or_processes_or_talks_to_a_cluster():
    root, found = Path(corpuscle.__file__).parent, {}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in names:
                if name.split(".")[0] in (
                    "threading",
                    "concurrent",
                    "multiprocessing",
                    "dask",
                    "distributed",
                    "joblib",
                ):
                    found.setdefault(path.relative_to(root).as_posix(), set()).add(name)
    assert found == ALLOWED


def test_no_workers_no_chunks_and_no_cluster_are_clear_errors():
    with pytest.raises(SettingError, match="at least one worker"), workers(0):
        pass
    with workers(1) as pool, pytest.raises(ValueError, match="no chunks"):
        pool.scatter([]).map_reduce(str, join)
    pytest.importorskip("distributed")
    with pytest.raises(SettingError, match="no Dask cluster answers at"), workers(cluster="nonsense://nowhere"):
        pass


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 100))
def test_chunks_cover_all_items_in_order_and_are_not_much_heavier_than_asked(weights, target):
    weights = np.array(weights, np.int64)
    starts = chunks_of(weights, target)
    assert starts[-1] == len(weights) and (len(weights) == 0 or starts[0] == 0)
    assert (np.diff(starts) > 0).all()
    for a, b in pairwise(starts):
        assert weights[a:b].sum() < target + 50 + 1
