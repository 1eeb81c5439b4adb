"""Memory: what the process has, pieces of long arrays, and arrays in files that nobody sees."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle import memory
from corpuscle.errors import InputError
from corpuscle.memory import ArrayFile, pieces, release, resident, trim


def test_the_resident_set_grows_with_what_is_written_and_shrinks_when_it_is_gone():
    trim()
    before = resident()
    array = np.ones(1 << 24)
    assert resident() - before > 0.9 * array.nbytes
    del array
    trim()
    assert resident() - before < 1 << 24


def test_a_mapped_array_is_in_memory_only_where_it_is_looked_at(tmp_path):
    file = ArrayFile(np.int32, tmp_path)
    for first in range(0, 1 << 24, 1 << 20):
        file.append(np.arange(first, first + (1 << 20)))
    mapped = file.mapped()
    before = resident()
    assert int(mapped.sum(dtype=np.int64)) == (1 << 23) * ((1 << 24) - 1)
    assert resident() - before > 0.9 * mapped.nbytes
    release(mapped[5:])
    assert resident() - before < 0.1 * mapped.nbytes
    assert sum(int(piece[0]) for piece in pieces(mapped)) == 6 * memory.PIECE
    assert resident() - before < 0.1 * mapped.nbytes and mapped[-1] == (1 << 24) - 1


@given(st.lists(st.integers(-9, 9)), st.integers(1, 5), st.integers(0, 2))
def test_pieces_are_the_array_in_order_and_overlap_as_asked(items, size, overlap):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "PIECE", size)
        found = [piece.tolist() for piece in pieces(np.array(items), overlap)]
    assert [item for piece in found for item in piece[:size]] == items
    assert all(piece == items[i * size : i * size + size + overlap] for i, piece in enumerate(found))


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=5), st.data())
def test_what_was_appended_can_be_read_and_mapped(parts, data):
    file, items = ArrayFile(np.int32), [item for part in parts for item in part]
    for part in parts:
        file.append(np.array(part, np.int64))
    first = data.draw(st.integers(0, len(items)))
    last = data.draw(st.integers(first, len(items)))
    assert file.read(first, last).tolist() == items[first:last]
    assert file.mapped().tolist() == items


def test_files_of_arrays_have_no_name(tmp_path):
    file = ArrayFile(np.int64, tmp_path)
    file.append(np.arange(1000))
    assert os.listdir(tmp_path) == [] and file.mapped()[-1] == 999


def test_a_folder_that_is_missing_is_one_clear_error(tmp_path):
    with pytest.raises(InputError, match="cannot write temporary files: no such file"):
        ArrayFile(np.int32, tmp_path / "none")
