"""The heap against sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.compiled import kernel
from corpuscle.engine import heap


@kernel
def push(priorities, items, size, priority, item):
    heap.push(priorities, items, size, priority, item)


@kernel
def pop(priorities, items, size):
    heap.pop(priorities, items, size)


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=60))
def test_the_top_is_always_the_largest(events):
    priorities, items, held = np.zeros(60), np.zeros(60, np.int64), {}
    for number, priority in enumerate(events):
        if priority is not None:
            push(priorities, items, len(held), float(priority), number)
            held[number] = priority
        elif held:
            assert priorities[0] == max(held.values()) == held[items[0]]
            top = int(items[0])
            pop(priorities, items, len(held))
            del held[top]
        assert sorted(items[: len(held)].tolist()) == sorted(held)


@given(st.lists(st.integers(-3, 3), max_size=50))
def test_sorting_is_stable_and_falls(values):
    order = np.zeros(len(values), np.int64)
    heap.sort(np.array(values, float), order, len(values))
    assert order.tolist() == sorted(range(len(values)), key=lambda i: -values[i])
