"""The kernel for graphics processors, in Triton's interpreter, finds what the compiled one finds."""

import importlib.util
import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np, torch
from corpuscle.neural.kernels.search import NoClass, fused_topk
from corpuscle.errors import SettingError
from corpuscle.neural import gpu
rng = np.random.default_rng(1)
for n in 1, 5, 1500:
    for k in {1, 9, 20} & {*range(1, n + 1)}:
        for kind in "random", "ties", "constant", "ascending", "forbidden":
            scores, bias = rng.normal(0, 3, (3, n)).astype(np.float32), rng.normal(size=n).astype(np.float32)
            if kind in ("ties", "constant"):
                scores, bias = np.round(scores) * (kind == "ties"), bias * 0
            elif kind == "ascending":
                scores.sort(axis=1)
            elif kind == "forbidden" and n > 1:
                scores[:, n // 2] = -np.inf
            ours = fused_topk(scores, bias, k)
            classes, logs = gpu.fused_topk(torch.from_numpy(scores), torch.from_numpy(bias), k)
            if k <= 16 or kind == "random":
                assert np.array_equal(ours.classes, classes.numpy()), (n, k, kind)
            assert np.allclose(ours.logs, logs.numpy(), atol=1e-5, rtol=1e-5), (n, k, kind)
for value, reason in (np.nan, "finite"), (-np.inf, "allowed"):
    scores = torch.zeros(2, 5)
    scores[1] = value
    try:
        gpu.fused_topk(scores, None, 2)
    except NoClass as error:
        assert error.row == 1 and reason in error.reason
    else:
        raise AssertionError(reason)
try:
    gpu.fused_topk(torch.zeros(2, 5), None, 6)
except SettingError as error:
    assert "from 1 to 5" in str(error)
else:
    raise AssertionError("six of five")
print("all alike")
"""


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None, reason="needs Triton"
)
def test_the_kernel_for_graphics_processors_finds_what_the_compiled_one_finds():
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"}
    )
    assert done.stdout == "all alike\n", done.stderr[-2000:]
