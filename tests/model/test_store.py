"""Model files: what goes in comes out, the same model is the same bytes, and nothing hostile gets through."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import corpuscle
from corpuscle import model
from corpuscle.catalogue import TASKS, find
from corpuscle.compiled import frozen, kernel
from corpuscle.errors import InputError, SettingError
from corpuscle.model import VOCAB, Array, Container, Kind, Part
from corpuscle.model.kinds import Invalid, validate
from corpuscle.text.vocab import Vocab
from tests.hostile import _build, _parse, reseal, survives_hostile_edits

ROWS = {
    "starts": Array("int64", ("rows+1",), offsets_into="cells"),
    "columns": Array("int32", ("cells",), low=0, high="types+3"),
    "weights": Array("float64", ("cells",), finite=True),
    "grid": Array("float32", ("rows", 2)),
    "flags": Array("bool", ("rows",), optional=True),
    "ranks": Array("int64", ("ranks",), rising=True, optional=True),
}


def check_total(content: Container) -> None:
    if content.extra["total"] != len(content.arrays["weights"]):
        raise ValueError("the total is wrong")


TOY = Kind("test.toy", 1, {**VOCAB, **ROWS}, check=check_total)
LEVELS = Kind(
    "test.levels",
    1,
    lambda extra: {f"level/{n}": Array("int32", (f"size{n}",), low=0) for n in range(min(int(extra["levels"]), 9))},
)
PAIR = Kind("test.pair", 1, {"mix": Array("float64", (2,))}, components={"a": (TOY, LEVELS), "b": (LEVELS,)})


@kernel
def gather(starts, columns, weights, counts):
    total = 0.0
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            total += weights[j] * counts[columns[j]]
    return total


def toy_arrays(rows=4, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, rows)
    cells = int(lengths.sum())
    return {
        **Vocab.from_words(["ba", "ñu", "日本", "x"], [4, 3, 2, 1]).arrays(),
        "starts": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "columns": rng.integers(0, 7, cells).astype(np.int32),
        "weights": rng.random(cells),
        "grid": rng.random((rows, 2)).astype(np.float32),
        "flags": rng.random(rows) < 0.5,
    }


def save_toy(path, arrays=None, **changes):
    arrays = toy_arrays() if arrays is None else arrays
    parts = {
        "settings": {"order": (3, "given"), "discounts": (np.array([0.5, 0.1]), "tuned")},
        "preprocessing": {"nfc": True},
        "provenance": {"seed": 1, "tokens": np.int64(12)},
        "extra": {"total": len(arrays["weights"])},
    }
    model.save(path, Part(TOY, arrays, **(parts | changes)))
    return path


@pytest.fixture
def toy(tmp_path):
    return save_toy(tmp_path / "toy.model")


def edited(path, change):
    """Change the header of a model file by a function and make the checksum right again."""
    header, body = _parse(path.read_bytes())
    ours = json.loads(header["__metadata__"]["corpuscle"])
    change(header, ours)
    header["__metadata__"]["corpuscle"] = json.dumps(ours, separators=(",", ":"))
    path.write_bytes(reseal(_build(header, body)))
    return path


def refused(path, reason, kind=TOY):
    with pytest.raises(InputError, match=reason) as caught:
        model.read(path, kind)
    assert str(caught.value).startswith(f"{path}: ")


def test_what_goes_in_comes_out(toy):
    content = model.read(toy, TOY)
    for name, array in toy_arrays().items():
        assert np.array_equal(content.arrays[name], array) and content.arrays[name].dtype == array.dtype
    assert content.settings == {"order": 3, "discounts": [0.5, 0.1]}
    assert {name: origin for name, (_, origin) in content.described.items()} == {"order": "given", "discounts": "tuned"}
    assert content.provenance == {"seed": 1, "tokens": 12, "corpuscle": corpuscle.__version__}
    assert content.preprocessing == {"nfc": True}
    assert Vocab.from_arrays(content.arrays).strings[3:] == ["ba", "ñu", "日本", "x"]


def test_it_is_a_safetensors_file_with_aligned_arrays(toy):
    arrays = toy_arrays()
    loaded = load_file(toy)
    assert loaded.keys() == arrays.keys()
    assert all(np.array_equal(loaded[name], arrays[name]) for name in arrays)
    assert all(array.flags.aligned for array in model.read(toy, TOY).arrays.values())


def test_arrays_are_mapped_read_only(toy):
    with pytest.raises(ValueError, match="read-only"):
        model.read(toy, TOY).arrays["weights"][:] = 0


def gathered(arrays):
    """Work as a task does: kernels get frozen arrays, so loaded and learned ones share their machine code."""
    names = ("starts", "columns", "weights", "vocab/counts")
    return [frozen(arrays[name], arrays[name].dtype) for name in names]


def test_frozen_arrays_are_one_type_for_kernels_wherever_they_come_from(toy):
    assert gather(*gathered(toy_arrays())) == gather(*gathered(model.read(toy, TOY).arrays))
    assert len(gather.signatures) == 1


def test_the_same_model_is_the_same_bytes(tmp_path, toy):
    turned = {"settings": {"discounts": (np.array([0.5, 0.1]), "tuned"), "order": (3, "given")}}
    turned["provenance"] = {"tokens": np.int64(12), "seed": 1}
    other = save_toy(tmp_path / "other.model", dict(reversed(toy_arrays().items())), **turned)
    assert other.read_bytes() == toy.read_bytes()


def test_source_date_epoch_sets_the_creation_date(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "tomorrow")
    with pytest.raises(SettingError, match="SOURCE_DATE_EPOCH is 'tomorrow'"):
        save_toy(tmp_path / "m")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    monkeypatch.setenv("TZ", "UTC-9")
    time.tzset()
    try:
        assert model.read(save_toy(tmp_path / "m"), TOY).provenance["created"] == "1970-01-02T00:00:00Z"
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_components_nest_under_prefixes(tmp_path):
    ranks = {"level/0": np.arange(3, dtype=np.int32)}
    levels = Part(LEVELS, ranks, extra={"levels": 1}, settings={"n": (1, "default")})
    toy = Part(TOY, toy_arrays(), extra={"total": len(toy_arrays()["weights"])})
    model.save(tmp_path / "m", Part(PAIR, {"mix": np.array([0.5, 0.5])}, components={"a": toy, "b": levels}))
    content = model.read(tmp_path / "m", PAIR)
    assert np.array_equal(content.component("a").arrays["columns"], toy_arrays()["columns"])
    assert content.component("b").settings == {"n": 1} and content.component("b").kind == "test.levels"
    edited(tmp_path / "m", lambda header, ours: ours["components"]["b"].update(kind="test.toy"))
    refused(tmp_path / "m", "component 'b' is of kind 'test.toy'", PAIR)


def test_a_model_within_a_model_is_checked_too(tmp_path):
    bad = toy_arrays()
    bad["columns"][0] = 99
    toy = Part(TOY, bad, extra={"total": len(bad["weights"])})
    levels = Part(LEVELS, {}, extra={"levels": 0})
    with pytest.raises(ValueError, match="'columns' has the value 99"):
        model.save(tmp_path / "m", Part(PAIR, {"mix": np.zeros(2)}, components={"a": toy, "b": levels}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("starts", [0, 2, 1, 3, 6], "not a list of offsets"),
        ("starts", [0, 1, 1, 3, 7], "not a list of offsets"),
        ("starts", [1, 1, 1, 3, 6], "not a list of offsets"),
        ("columns", [0, 1, 2, 3, 4, 7], "has the value 7, not below 7"),
        ("columns", [0, 1, 2, 3, 4, -1], "has the value -1, below 0"),
        ("weights", [0, 1, 2, 3, np.nan, 5], "not finite"),
        ("weights", [0, 1, 2, 3, np.inf, 5], "not finite"),
        ("weights", [0, 1, 2, 3, 1e120, 5], "no learner arrives at"),
        ("weights", [0, 1, 2], "does not fit"),
        ("grid", np.zeros((4, 3)), "does not fit"),
        ("grid", np.zeros(8), "has 1 axes, not 2"),
        ("starts", [], "too short|does not fit"),
        ("vocab/bytes", np.frombuffer(b"ba\xc3\xb1u\xe6\x97\xa5\xe6\x9c\xacn", np.uint8)[::-1], "not UTF-8"),
        ("vocab/bytes", np.frombuffer("bañu日本\n".encode(), np.uint8), "line feed"),
        ("vocab/offsets", [0, 2, 2, 11, 12], "empty string"),
        ("vocab/offsets", [0, 2, 6, 11, 12], "cut inside a character"),
        ("vocab/counts", [0, 0, 0, 1, 1, 1, -1], "below 0"),
        ("ranks", [-3, 5, 5, 4], "falls somewhere"),
    ],
)
def test_every_declared_property_is_checked(tmp_path, name, value, reason):
    arrays = toy_arrays() | {
        "starts": np.array([0, 2, 2, 4, 6]),
        "columns": np.arange(6, dtype=np.int32),
        "weights": np.ones(6),
        "ranks": np.array([-3, 5, 5, 9]),
    }
    path = save_toy(tmp_path / "m", arrays)
    bad = arrays | {name: np.asarray(value, arrays[name].dtype)}
    with pytest.raises(ValueError, match=reason):
        save_toy(path, bad, extra={"total": 6})
    careless = Kind("test.toy", 1, {n: Array(str(a.dtype), tuple(a.shape)) for n, a in bad.items()})
    model.save(path, Part(careless, bad, extra={"total": 6}))
    refused(path, reason)


def test_distributions_must_have_sums():
    rows = np.array([[0.5, 0.25, 0.25], [0.25, 0.0, 0.75]])
    for sums, changes, array, good in (
        ("positive", {}, rows * 7.0, True), ("positive", {}, rows * [[1.0], [0.0]], False),
        ("one", {}, rows, True), ("one", {}, rows * 1.001, False), ("one", {}, np.zeros((0, 3)), True),
        ("one", {}, np.zeros((2, 0)), False), ("one", {"along": 0}, rows, False), ("one", {"along": 0}, rows.T, True),
        ("positive", {"parts": ("first", "first+1")}, rows, True),
        ("positive", {"parts": ("first+1", "first")}, rows[:, [0, 1, 1]], False),
        ("positive", {"parts": ("first", "first")}, rows, False),
    ):  # fmt: skip
        declared = Array("float64", ("rows", "columns"), low=0.0, finite=True, sums=sums, **changes)
        with nullcontext() if good else pytest.raises(Invalid, match=r"sum to one|above zero|does not fit"):
            validate({"table": declared}, {"table": np.ascontiguousarray(array)}, {"first": 1})


def test_a_vocabulary_with_a_word_twice_is_refused(tmp_path):
    arrays = toy_arrays()
    arrays["vocab/bytes"] = np.frombuffer("baba日本xx".encode(), np.uint8)
    arrays["vocab/offsets"] = np.array([0, 2, 4, 10, 12])
    with pytest.raises(ValueError, match="a string twice"):
        save_toy(tmp_path / "m", arrays)


def test_bools_that_are_neither_are_refused(toy):
    header, body = _parse(toy.read_bytes())
    begin = header["flags"]["data_offsets"][0]
    toy.write_bytes(reseal(_build(header, body[:begin] + b"\x02" + body[begin + 1 :])))
    refused(toy, "neither true nor false")


def test_missing_and_surplus_arrays_are_refused(tmp_path):
    arrays = toy_arrays()
    del arrays["flags"]
    assert "flags" not in model.read(save_toy(tmp_path / "m", arrays), TOY).arrays
    with pytest.raises(ValueError, match="'grid' is missing"):
        save_toy(tmp_path / "m", {name: array for name, array in arrays.items() if name != "grid"})
    with pytest.raises(ValueError, match="'more' does not belong here"):
        save_toy(tmp_path / "m", arrays | {"more": np.zeros(1)})


def test_files_that_are_not_models_get_clear_errors(tmp_path, toy):
    good = toy.read_bytes()
    path = tmp_path / "strange"
    refused(path, "no such file")
    path.mkdir()
    refused(path, "is a directory")
    path.rmdir()
    for content, reason in [
        (b"", "an empty file"),
        (b"abc", "not a model file"),
        (b"just some text, and more than ten bytes of it", "not a model file"),
        (b"\x1f\x8b" + bytes(100), "not a model file"),
        (good[:-1], "truncated: 1 bytes are missing"),
        (good[:100], "truncated model"),
        (good + b"x", "1 bytes too many"),
        ((2).to_bytes(8, "little") + b"{}", "not a Corpuscle model"),
        ((200_000).to_bytes(8, "little") + b'{"a":' + b"[" * 199_995, "nested too deeply|Expecting"),
    ]:
        path.write_bytes(content)
        refused(path, reason)
    save_file({"a": np.zeros(3)}, path)
    refused(path, "a safetensors file, but not a Corpuscle model")


def test_newer_and_unknown_and_wrong_kinds_say_so(toy):
    with pytest.raises(InputError, match=r"a model of kind 'test.toy', where test.levels is needed"):
        model.read(toy, LEVELS)
    for look in (corpuscle.load, model.read):
        with pytest.raises(InputError, match=f"{toy}: a model of unknown kind 'test.toy', perhaps written by a newer"):
            look(toy)
    edited(toy, lambda header, ours: ours.update(kind_version=2))
    refused(toy, r"written by a newer version of Corpuscle \(test.toy version 2, known: 1\)")
    edited(toy, lambda header, ours: ours.update(container_version=2))
    refused(toy, r"written by a newer version of Corpuscle \(container version 2, known: 1\)")


@pytest.mark.parametrize(("kind", "home"), [pair for task in TASKS.values() for pair in task.kinds.items()])
def test_every_kind_of_model_has_a_class_that_knows_it(kind, home):
    assert find(home).KIND.name == kind


def test_an_older_version_is_migrated_before_it_is_checked(toy):
    def to_two(header, arrays):
        renamed = {("mass" if name == "weights" else name): array for name, array in arrays.items()}
        return header | {"extra": {}}, renamed

    arrays = {("mass" if name == "weights" else name): array for name, array in TOY.arrays.items()}
    content = model.read(toy, Kind("test.toy", 2, arrays, migrations={1: to_two}))
    assert np.array_equal(content.arrays["mass"], toy_arrays()["weights"]) and content.header["kind_version"] == 2
    refused(toy, "version 1 of test.toy is too old", Kind("test.toy", 3, arrays, migrations={2: to_two}))


def test_migrations_go_step_by_step(toy):
    def step(header, arrays):
        return header | {"extra": {"steps": [*header["extra"].get("steps", []), header["kind_version"]]}}, arrays

    content = model.read(toy, Kind("test.toy", 4, TOY.arrays, migrations={1: step, 2: step, 3: step}))
    assert content.extra == {"steps": [1, 2, 3]} and content.header["kind_version"] == 4


def test_a_model_of_any_of_several_kinds_is_read(toy):
    assert model.read(toy, (LEVELS, TOY)).kind == "test.toy"
    with pytest.raises(InputError, match=r"where test.levels or test.pair is needed"):
        model.read(toy, (LEVELS, PAIR))


def test_a_model_of_any_known_kind_is_read_and_loaded():
    path = Path(__file__).parents[1] / "data" / "models" / "words.exchange.model"
    content, loaded = model.read(path), corpuscle.load(path)
    assert content.kind == type(loaded).KIND.name == "words.exchange" and content.path == str(path)


def test_what_a_model_says_about_itself_is_kept_with_its_origin(toy):
    content = model.read(toy, TOY)
    assert content.described == {"order": (3, "given"), "discounts": ([0.5, 0.1], "tuned")}
    header, entries, size = model.read_header(toy)
    assert header == content.header and set(entries) == set(content.arrays) and size == toy.stat().st_size


def test_what_no_header_can_hold_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="the origin of order is 'guessed', not one of given, default, tuned"):
        save_toy(tmp_path / "m", settings={"order": (3, "guessed")})
    with pytest.raises(TypeError, match="cannot stand in the header"):
        save_toy(tmp_path / "m", provenance={"what": object()})
    with pytest.raises(ValueError, match="JSON compliant"):
        save_toy(tmp_path / "m", provenance={"what": float("nan")})
    with pytest.raises(InputError, match="-: a model is written to a file, not to stdout"):
        save_toy("-")
    assert not list(tmp_path.iterdir())


def nested(levels):
    """Models within models, so many."""
    part: dict = {"kind": "k", "kind_version": 1, "settings": {}, "preprocessing": {}, "provenance": {}, "extra": {}}
    return part | {"components": {"a": nested(levels - 1)} if levels else {}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *(({name: None}, f"its header has no {name}") for name in ("kind", "kind_version", "settings")),
        *(({name: []}, f"its header has no {name}") for name in ("preprocessing", "provenance", "extra", "components")),
        ({"kind_version": True}, "its header has no kind_version"),
        ({"container_version": "1"}, "its header has no container_version"),
        ({"container_version": 0}, "its header has no container_version"),
        ({"settings": {"a": 1}}, "its settings have no origin"),
        ({"settings": {"a": [1]}}, "its settings have no origin"),
        ({"settings": {"a": [1, "given", 2]}}, "its settings have no origin"),
        ({"settings": {"a": [1, "guessed"]}}, "its settings have no origin"),
        ({"components": {"a": 1}}, "its header is not one of ours"),
        ({"components": {"a": {}}}, "its header has no kind"),
        ({"components": {"a": nested(8)}}, "its header is not one of ours"),
        ({"components": {"a": nested(7)}}, "it should have the components"),
    ],
)
def test_headers_of_another_shape_are_damage(toy, change, reason):
    edited(toy, lambda header, ours: ours.update(change))
    refused(toy, f"a damaged model: {reason}")


@pytest.mark.parametrize("checksum", [None, 7, "sha256:", "sha256:" + "0" * 63, "sha512:" + "0" * 64, "0" * 71])
def test_without_a_checksum_nothing_is_read(toy, checksum):
    header, body = _parse(toy.read_bytes())
    ours = json.loads(header["__metadata__"]["corpuscle"]) | {"checksum": checksum}
    header["__metadata__"]["corpuscle"] = json.dumps(ours)
    toy.write_bytes(_build(header, body))
    refused(toy, "a damaged model: it has no checksum")
    with pytest.raises(InputError, match=f"{toy}: a damaged model: it has no checksum"):
        model.read_header(toy)


def test_arrays_of_several_things_are_numbered_and_separated_again():
    several = [{"x": 1, "y/z": 2}, {}, {"x": 3}]
    joined = model.prefixed("a/", model.numbered("part", several))
    assert joined == {"a/part/0/x": 1, "a/part/0/y/z": 2, "a/part/2/x": 3}
    assert model.separated("part", model.stripped("a/", joined | {"b/part/0/x": 9}), 3) == several


def test_a_check_of_the_kind_itself_is_an_input_error(toy):
    edited(toy, lambda header, ours: ours["extra"].update(total=1))
    refused(toy, "a damaged model: the total is wrong")
    edited(toy, lambda header, ours: ours.update(extra={}))
    refused(toy, "a damaged model")


def test_any_flipped_byte_is_noticed(toy):
    good = toy.read_bytes()
    for where in range(0, len(good), 7):
        toy.write_bytes(good[:where] + bytes([good[where] ^ 16]) + good[where + 1 :])
        with pytest.raises(InputError):
            model.read(toy, TOY)


def test_damage_is_called_damage_whatever_else_it_breaks(toy):
    header, body = _parse(toy.read_bytes())
    begin, end = header["columns"]["data_offsets"]
    bad = _build(header, body[:begin] + bytes([255]) * (end - begin) + body[end:])
    toy.write_bytes(bad)
    refused(toy, "its checksum is wrong")
    toy.write_bytes(reseal(bad))
    refused(toy, "'columns' has the value -1, below 0")


def use_toy(path):
    """Load and compute; the uncompiled kernel would raise IndexError where the compiled one reads elsewhere."""
    arrays = model.read(path, TOY).arrays
    inputs = gathered(arrays)
    assert inputs[1].min(initial=0) >= 0 and inputs[0].min() >= 0
    with np.errstate(all="ignore"):
        assert np.allclose(gather(*inputs), gather.py_func(*inputs), equal_nan=True)
    assert len(Vocab.from_arrays(arrays).strings) == len(arrays["vocab/counts"])
    model.read_header(path)


def test_hostile_edits_never_do_worse_than_an_error(toy):
    assert survives_hostile_edits(toy, use_toy, edits=400) > 200


@pytest.mark.slow
def test_many_hostile_edits_never_do_worse_than_an_error(toy):
    survives_hostile_edits(toy, use_toy, edits=20_000, seed=2)


def test_models_within_models_survive_hostile_edits(tmp_path):
    levels = Part(LEVELS, {f"level/{n}": np.arange(n, dtype=np.int32) for n in range(3)}, extra={"levels": 3})
    toy = Part(TOY, toy_arrays(), extra={"total": len(toy_arrays()["weights"])})
    model.save(tmp_path / "m", Part(PAIR, {"mix": np.array([0.5, 0.5])}, components={"a": toy, "b": levels}))
    survives_hostile_edits(tmp_path / "m", lambda path: model.read(path, PAIR), edits=200)


@settings(max_examples=60)
@given(data=st.binary(max_size=300))
def test_random_bytes_are_never_a_model(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "random.model"
    for content in data, len(data).to_bytes(8, "little") + b"{" + data:
        path.write_bytes(content)
        with pytest.raises(InputError):
            model.read(path, TOY)


def test_writing_is_all_or_nothing(tmp_path, toy, monkeypatch):
    before = toy.read_bytes()
    with pytest.raises(InputError, match="no such file or directory"):
        save_toy(tmp_path / "nowhere" / "m")
    with pytest.raises(InputError, match="is a directory"):
        save_toy(tmp_path)
    with pytest.raises(InputError, match="not to stdout"):
        save_toy("-")
    with pytest.raises(ValueError, match="too large"):
        save_toy(toy, extra={"total": len(toy_arrays()["weights"]), "text": "x" * (1 << 23)})
    with pytest.raises(ValueError, match="origin"):
        save_toy(toy, settings={"order": (3, "guessed")})
    assert toy.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["toy.model"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_devices_are_written_to_and_not_replaced(tmp_path, toy):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as reader:
        received = reader.submit((tmp_path / "pipe").read_bytes)
        save_toy(tmp_path / "pipe")
        assert received.result() == toy.read_bytes()
    assert (tmp_path / "pipe").is_fifo()
    save_toy(os.devnull)
    assert not os.path.isfile(os.devnull)


def test_a_full_disk_is_an_input_error(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(InputError, match="cannot write"):
            save_toy(tmp_path / "m")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


def test_reading_a_header_costs_no_numba(toy):
    code = f"import sys; from corpuscle.model import read_header; read_header({str(toy)!r})"
    subprocess.run([sys.executable, "-c", code + "; assert 'numba' not in sys.modules"], check=True)


def test_a_committed_file_of_version_one_still_loads():
    content = model.read(Path(__file__).parents[1] / "data" / "toy-1.model", TOY)
    assert np.array_equal(content.arrays["columns"], toy_arrays()["columns"])
