"""The hash table against a dictionary: items come, go, are found, share keys."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.compiled import kernel
from corpuscle.engine import hashtable


@kernel
def find(index, keys, key):
    return hashtable.find(index, keys, key)


@kernel
def find_pair(index, keys, first, second):
    return hashtable.find(index, keys, hashtable.pair(first, second))


@kernel
def enter(index, keys, item):
    hashtable.enter(index, keys, item)


@kernel
def erase(index, keys, item):
    hashtable.erase(index, keys, item)


@kernel
def all_with(index, keys, key, found):
    """Write down all items with a key; returns how many."""
    count = 0
    slot = hashtable.probe(index, keys, key, hashtable.home(index, key))
    while index[slot] >= 0:
        found[count] = index[slot]
        count += 1
        slot = hashtable.probe(index, keys, key, hashtable.next_slot(index, slot))
    return count


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 15)), max_size=60))
@pytest.mark.parametrize("columns", [0, 3])
def test_what_came_and_has_not_gone_is_found(columns, events):
    numbers = np.arange(16) % 5 * (1 << 33) + np.arange(16)
    keys = numbers.astype(np.uint64)
    if columns:
        keys = np.zeros((16, columns), np.int32)
        keys[:, 0], keys[:, 1] = numbers >> 32, numbers & 0xFFFFFFFF
    index, present = hashtable.new_index(16), set()
    for comes, item in events:
        if comes and item not in present:
            enter(index, keys, item)
            present.add(item)
        elif not comes and item in present:
            erase(index, keys, item)
            present.remove(item)
        for each in range(16):
            if columns:
                found = find_pair(index, keys, np.int64(keys[each, 0]), np.int64(keys[each, 1]))
            else:
                found = find(index, keys, keys[each])
            assert found == (each if each in present else hashtable.EMPTY)
    assert (index >= 0).sum() == len(present)


def test_items_with_the_same_key_are_found_one_after_the_other():
    keys = np.array([7, 9, 7, 7, 9], np.uint64)
    index, found = hashtable.new_index(5, np.int64), np.zeros(5, np.int64)
    for item in range(5):
        enter(index, keys, item)
    assert found[: all_with(index, keys, np.uint64(7), found)].tolist() == [0, 2, 3]
    erase(index, keys, 0)
    assert found[: all_with(index, keys, np.uint64(7), found)].tolist() == [2, 3]


def test_a_grown_index_finds_the_same():
    keys = np.arange(100, dtype=np.uint64) * np.uint64(1 << 40)
    index = hashtable.new_index(100, np.int64)
    grown = hashtable.grown(index, keys, 20, 100)
    assert len(grown) == 4 * len(index)
    assert [find(grown, keys, key) for key in keys] == [hashtable.EMPTY] * 20 + list(range(20, 100))
