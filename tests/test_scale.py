"""Work on pieces of a corpus: the same bytes with any number of workers, threads or cluster."""

import os
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.errors import InputError, SettingError
from corpuscle.scale import chunks_of, workers


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


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


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
    assert total(chunks, cluster=cluster.scheduler_address) == by_threads
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
