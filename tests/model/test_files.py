"""The committed files of every kind of model can be read, and give themselves back."""

import numpy as np
import pytest

import corpuscle
from corpuscle.catalogue import TASKS
from corpuscle.model import read
from tests.tiny_models import COMMANDS, FOLDER, make

KINDS = [kind for task in TASKS.values() for kind in task.kinds]


def test_every_kind_of_the_catalogue_has_a_committed_file():
    assert sorted(COMMANDS) == sorted(KINDS) == sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_a_committed_file_is_read(kind):
    path = FOLDER / f"{kind}.model"
    assert read(path).kind == kind
    assert corpuscle.load(path) is not None


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "align.matrix"])  # weights, no learner
def test_a_model_that_was_read_writes_the_same_file(kind, tmp_path):
    path = FOLDER / f"{kind}.model"
    corpuscle.load(path).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_the_committed_files_are_what_their_commands_write(tmp_path):
    for kind, content in make():
        (tmp_path / kind).write_bytes(content)
        made, committed = read(tmp_path / kind), read(FOLDER / f"{kind}.model")
        headers = [{**each.header, "checksum": None} for each in (made, committed)]
        assert headers[0] == headers[1], kind
        assert made.arrays.keys() == committed.arrays.keys(), kind
        for name, array in made.arrays.items():  # last bits depend on the BLAS
            np.testing.assert_allclose(array, committed.arrays[name], atol=1e-7, err_msg=f"{kind}: {name}")
