"""Bytes in and out: packed files, stdin, clear errors, and writing that never leaves half a file."""

import gzip
import io
import lzma
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.errors import InputError
from corpuscle.text.files import accept, expand, open_bytes, open_stream, read_lines, write_atomically


class Terminal:
    """Stands in for sys.stdin or sys.stdout."""

    def __init__(self, data: bytes = b""):
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("name", ["a", "a.gz", "a.xz"])
@pytest.mark.parametrize("data", [b"", b"x", "grüße\n".encode() * 1000])
def test_what_is_written_is_read_back(tmp_path, name, data):
    with write_atomically(tmp_path / name) as file:
        file.write(data)
    assert open_bytes(tmp_path / name) == data
    with open_stream(tmp_path / name) as stream:
        assert b"".join(iter(lambda: stream.read(100), b"")) == data


def test_archives_are_known_by_their_first_bytes(tmp_path):
    (tmp_path / "plain").write_bytes(gzip.compress(b"zip", mtime=0))
    (tmp_path / "other").write_bytes(lzma.compress(b"xz"))
    assert open_bytes(tmp_path / "plain") == b"zip" and open_bytes(tmp_path / "other") == b"xz"


def test_packing_the_same_text_twice_gives_the_same_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        with write_atomically(tmp_path / name, "w") as file:
            file.write("same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_dash_is_stdin_and_stdout_also_packed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal(gzip.compress(b"in", mtime=0)))
    assert open_bytes("-") == b"in"
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    with write_atomically("-", "w") as file:
        file.write("é\n")
    with write_atomically("-") as file:
        file.write(b"b")
    assert out.buffer.getvalue() == "é\nb".encode()


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("cut.gz", gzip.compress(b"some text" * 100, mtime=0)[:-9], "truncated"),
        ("head.gz", gzip.compress(b"text", mtime=0)[:5], "truncated"),
        ("cut.xz", lzma.compress(b"some text" * 100)[:-9], "truncated"),
        ("bad.xz", lzma.compress(b"some text" * 100)[:30] + b"x" * 50, "corrupt"),
        ("no.gz", b"plain", "not a gz archive"),
        ("no.xz", b"plain", "not a xz archive"),
    ],
)
def test_a_damaged_archive_is_an_error_that_names_it(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=f"{name}: .*{reason}"):
        open_bytes(tmp_path / name)


def test_missing_files_folders_and_odd_names_are_errors(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_bytes(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a directory"):
        open_bytes(tmp_path)
    with pytest.raises(InputError, match="null"):
        open_bytes("a\0b")
    with pytest.raises(InputError, match="cannot write"), write_atomically("a\0b"):
        pass
    with pytest.raises(InputError, match="no such file"), write_atomically(tmp_path / "no" / "folder"):
        pass
    with pytest.raises(InputError, match="is a directory"), write_atomically(tmp_path):
        pass


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "t"
    target.write_text("old")
    with pytest.raises(RuntimeError), write_atomically(target, "w") as file:
        file.write("new")
        raise RuntimeError
    assert target.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["t"]


def test_writing_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with write_atomically(tmp_path / "link", "w") as file:
        file.write("x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_a_full_device_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no space left"), write_atomically("/dev/full") as file:
        file.write(b"x" * 100_000)


@pytest.mark.skipif(sys.platform != "linux", reason="needs resource limits")
@pytest.mark.parametrize("name", ["out", "out.gz", "out.xz"])
def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path, name):
    program = """
import os, resource, sys
from corpuscle.errors import InputError
from corpuscle.text.files import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    with write_atomically(sys.argv[1]) as file:
        for _ in range(100):
            file.write(os.urandom(1000))
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path / name], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{tmp_path / name}: cannot write: ")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_stands_for_its_text_files_in_order(tmp_path):
    for name in ("b.txt", "a.txt.gz", "c.txt.xz", "d.tsv"):
        (tmp_path / name).touch()
    found = expand([tmp_path, "-", "x"])
    assert found == [str(tmp_path / name) for name in ("a.txt.gz", "b.txt", "c.txt.xz")] + ["-", "x"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no \.txt files"):
        expand([tmp_path / "empty"])


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"))), st.sampled_from(["\n", "\r\n"]))
def test_lines_come_with_their_numbers(tmp_path_factory, lines, end):
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(line + end for line in lines).encode())
    assert list(read_lines(path)) == list(enumerate(lines, 1))


def test_lines_end_at_lf_only_and_bad_bytes_name_their_line(tmp_path):
    path = tmp_path / "x"
    path.write_bytes("a\u2028b\x85c\x1cd\re\n\nlast".encode())
    assert list(read_lines(path)) == [(1, "a\u2028b\x85c\x1cd\re"), (2, ""), (3, "last")]
    path.write_bytes(b"good\nbad\xff\n")
    with pytest.raises(InputError, match="x:2: invalid UTF-8"):
        list(read_lines(path))
    path.write_bytes(b"good\n\nnul\0\n")
    with pytest.raises(InputError, match="x:3: NUL"):
        list(read_lines(path))


@pytest.fixture
def limits():
    """Sets the limits of sizes for a test."""
    yield accept
    accept(None)


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(1, 40), st.integers(1, 50))
def test_a_line_is_refused_exactly_where_it_is_too_long(tmp_path_factory, lengths, limit, block):
    data = b"\n".join(b"x" * length for length in lengths)
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(data)
    accept(limit)
    try:
        with open_stream(path) as stream:
            read = b"".join(iter(lambda: stream.read(block), b""))
    except InputError as error:
        assert error.line == next(i for i, length in enumerate(lengths, 1) if length > limit)
    else:
        assert read == data and max(map(len, data.split(b"\n"))) <= limit
    finally:
        accept(None)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_an_archive_may_unpack_to_so_much_and_no_more(tmp_path, limits, pack):
    (tmp_path / "bomb").write_bytes(pack(b"a line\n" * 10_000_000))
    with pytest.raises(InputError, match=r"bomb: unpacks to more than 67,108,864 bytes; --max-bytes accepts it"):
        open_bytes(tmp_path / "bomb")
    limits(70_000_000)
    assert len(open_bytes(tmp_path / "bomb")) == 70_000_000
    limits(69_999_999)
    with pytest.raises(InputError, match="unpacks to more than"):
        open_bytes(tmp_path / "bomb")


def test_a_long_line_is_refused_but_not_in_a_file_without_lines(tmp_path):
    (tmp_path / "long").write_bytes(b"short\n" + b"x" * (1 << 24) + b"x\n")
    with pytest.raises(InputError, match=r"long:2: a line of more than 16,777,216 bytes; --max-bytes accepts it"):
        open_bytes(tmp_path / "long")
    assert len(open_bytes(tmp_path / "long", lines=False)) == (1 << 24) + 8
