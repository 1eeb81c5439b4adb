"""A trained neural model is applied and exported without PyTorch."""

from pathlib import Path

import pytest

import corpuscle
from corpuscle.cli.main import main

MODEL = str(Path(__file__).parents[1] / "data" / "models" / "transliterate.neural.model")


@pytest.fixture
def names(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("tolana\n\nmika\n", encoding="utf-8")
    return str(path)


def test_no_names_have_no_transliterations():
    model = corpuscle.load(MODEL)
    assert model.transliterate([]) == [] and model.transliterate([""]) == [[]]


def test_apply_finds_the_method_in_the_file_and_keeps_empty_lines(names, capsys):
    assert main(["transliterate", "apply", MODEL, names, "--nbest", "3", "--beam", "4", "--quiet"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows] == [
        *(["tolana", str(rank)] for rank in (1, 2, 3)), ["", "0"], *(["mika", str(rank)] for rank in (1, 2, 3))
    ]  # fmt: skip
    scores = [float(row[3]) for row in rows if row[3]]
    assert scores[:3] == sorted(scores[:3], reverse=True) and max(scores) < 0


def test_eight_bits_are_refused_where_they_change_names_unless_that_is_allowed(names, capsys):
    command = ["transliterate", "apply", MODEL, names, "--precision", "int8", "--quiet"]
    assert main([*command, "--tolerance", "0"]) == 2
    said = capsys.readouterr()
    assert not said.out and "targets change: a tolerance of" in said.err
    assert main([*command, "--tolerance", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_neural_model_becomes_onnx_files(tmp_path, capsys):
    runtime = pytest.importorskip("onnxruntime")
    assert main(["transliterate", "export", MODEL, "-o", str(tmp_path / "m.onnx"), "--quiet"]) == 0
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"m.1.onnx", "m.1.encoder.onnx", "m.2.onnx", "m.2.encoder.onnx"}
    for path in tmp_path.iterdir():
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        assert "lengths" in [each.name for each in session.get_inputs()]
    assert main(["transliterate", "export", MODEL]) == 2
    assert "several files: say where with -o" in capsys.readouterr().err
