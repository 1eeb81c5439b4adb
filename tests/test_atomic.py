"""Claims about corpuscle.atomic: a file is whole or as it was, keeps its permissions, and killed runs leave nothing."""

import os
import stat
import subprocess
import sys

import pytest

from corpuscle.atomic import replacing

KILLED = """
import os, sys
from corpuscle.atomic import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os._exit(9)
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="asks whether a process runs")
def test_what_a_killed_run_left_is_removed_by_the_next_and_nothing_else_is(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    (left,) = tmp_path.glob("a.*.part")
    ours = left.with_name(left.name.replace(left.name.split("-")[-2], str(os.getpid())))
    for other in (ours, tmp_path / "b.other-1-0.part", tmp_path / "a.part", tmp_path / ("b" + left.name)):
        other.write_bytes(b"keep")
    assert left.read_bytes() == b"half" and path.read_bytes() == b"old"
    with replacing(path) as file:
        assert not left.exists()
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert {each.name for each in tmp_path.iterdir()} == {"a", ours.name, "b.other-1-0.part", "a.part", "b" + left.name}
