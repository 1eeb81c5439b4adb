"""What ONNX Runtime computes from an exported model is what the reference computes."""

import json
import sys

import numpy as np
import pytest

from corpuscle.errors import MissingExtra
from corpuscle.neural import PRESETS, encode, start, step
from corpuscle.neural.onnx_export import encoder_file, write_onnx
from corpuscle.text.vocab import END, START
from tests.neural.made import SMALL, made

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def answers(session, given):
    """What a session gives, by name, of the inputs that it wants."""
    names = [output.name for output in session.get_outputs()]
    wanted = {each.name: given[each.name] for each in session.get_inputs()}
    return dict(zip(names, session.run(None, wanted), strict=True))


def session(path):
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("architecture", [*SMALL.values(), PRESETS["tiny"]], ids=[*SMALL, "tiny"])
def test_an_exported_model_gives_the_probabilities_of_the_reference(architecture, tmp_path):
    weights = made(architecture)
    paths = write_onnx(weights, tmp_path / "m.onnx")
    assert paths == (tmp_path / "m.onnx", tmp_path / "m.encoder.onnx") == (paths[0], encoder_file(paths[0]))
    decoder, encoder = map(session, paths)
    assert json.loads(encoder.get_modelmeta().custom_metadata_map["symbols"])[:4] == ["<unk>", "<s>", "</s>", "a"]
    rng = np.random.default_rng(1)
    lengths = np.array([4, 1, 6])
    source = rng.integers(3, len(weights.source), (3, 6))
    source[np.arange(3), lengths - 1] = END
    kept = answers(encoder, {"source": source, "lengths": lengths})
    symbols = rng.integers(3, len(weights.target), (3, 4))
    symbols[:, 0] = START
    plain = [encode(weights, source[i, : lengths[i]]) for i in range(3)]
    states = [start(weights, each) for each in plain]
    for j in range(4):
        seen = symbols[:, j] if architecture.recurrent else symbols[:, : j + 1]
        found = answers(decoder, {**kept, "symbols": seen, "lengths": lengths})
        kept |= {name.removeprefix("next_"): value for name, value in found.items() if name != "logs"}
        for i in range(3):
            logits, states[i], _ = step(weights, plain[i], states[i], int(symbols[i, j]))
            expected = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
            assert np.abs(found["logs"][i] - expected).max() < 1e-4


def test_without_the_extra_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"corpuscle\[onnx\]"):
        write_onnx(made(SMALL["gru"]), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
