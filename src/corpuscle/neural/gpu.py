"""Bias, softmax and the k best classes in one pass, for tensors on a graphics processor: a Triton kernel.

Hoang, Dwojak, Krislauks, Torregrosa and Heafield, "Fast neural machine translation implementation", 2018, section 3.1;
``corpuscle.neural.kernels.search`` has the idea and its notation. One program does one row, a block of classes after
the other. The k best of a block are found one by one: its largest score, if it is above the smallest that is kept,
takes that one's place.

Without a graphics processor the kernel runs in Triton's interpreter, ``TRITON_INTERPRET=1``, which is how it is tested.
"""

from __future__ import annotations

from typing import Any

from corpuscle.errors import SettingError, require
from corpuscle.neural.kernels.search import NoClass

torch: Any = require("torch", extra="neural")
triton: Any = require("triton", extra="gpu")
tl: Any = require("triton.language", extra="gpu")

BLOCK, MOST = 1024, 16


@triton.jit
def _best_of_row(  # type: ignore[no-untyped-def]
    scores, bias, classes, logs, n, K: tl.constexpr, KEPT: tl.constexpr, BLOCK: tl.constexpr
):
    """The K best classes of a row of n scores; KEPT is K, rounded up to a power of two."""
    row = tl.program_id(0)
    places = tl.arange(0, KEPT)
    values = tl.where(places < K, float("-inf"), float("inf"))
    names = tl.full((KEPT,), 2147483647, tl.int32)
    peak = tl.full((), float("-inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < n
        x = tl.load(scores + row * n + columns, mask=inside, other=float("-inf"))
        x = x + tl.load(bias + columns, mask=inside, other=0.0)
        largest = tl.maximum(peak, tl.max(x, 0))
        reached = tl.where(largest == float("-inf"), 0.0, largest)
        before = tl.where(peak == float("-inf"), 0.0, tl.exp(peak - reached))
        total = total * before + tl.sum(tl.exp(x - reached), 0)
        peak = largest
        for _ in range(K):
            found = tl.max(x, 0)
            name = tl.min(tl.where(x == found, columns, 2147483647), 0)
            least = tl.min(values, 0)
            last = tl.max(tl.where(values == least, names, -1), 0)
            place = tl.min(tl.where(values == least, tl.where(names == last, places, KEPT), KEPT), 0)
            place = tl.where(found > least, place, KEPT)
            values = tl.where(places == place, found, values)
            names = tl.where(places == place, name, names)
            x = tl.where(columns == name, float("-inf"), x)
    values = tl.where(places < K, values, float("-inf"))
    for place in range(K):
        found = tl.max(values, 0)
        name = tl.min(tl.where(values == found, names, 2147483647), 0)
        tl.store(logs + row * K + place, found - peak - tl.log(total))
        tl.store(classes + row * K + place, tl.where(found == float("-inf"), -1, name))
        values = tl.where(names == name, float("-inf"), values)


def fused_topk(logits: Any, bias: Any = None, k: int = 1) -> tuple[Any, Any]:
    """The k most probable classes of each row, int32 (rows, k), and the natural logs of their probabilities, float32;
    of tensors: ``logits`` (rows, n), ``bias`` (n,). More than 16 are left to the framework's own softmax and sort."""
    scores = logits.float().contiguous()
    rows, n = scores.shape
    if not 1 <= k <= n:
        raise SettingError(f"the number of best classes is from 1 to {n}, not {k}")
    added = torch.zeros(n, device=scores.device) if bias is None else bias.float().contiguous()
    if k > MOST:
        logs, classes = torch.topk(torch.log_softmax(scores + added, -1), k)
        classes = classes.int()
    else:
        classes = torch.empty(rows, k, dtype=torch.int32, device=scores.device)
        logs = torch.empty(rows, k, dtype=torch.float32, device=scores.device)
        _best_of_row[(rows,)](scores, added, classes, logs, n, k, triton.next_power_of_2(k), BLOCK)
    bad = ~torch.isfinite(logs[:, 0])
    if bad.any():
        row = int(bad.nonzero()[0])
        forbidden = bool((scores[row] + added == -torch.inf).all())
        raise NoClass(row, "no class is allowed" if forbidden else "a score is not a finite number")
    return classes, logs
