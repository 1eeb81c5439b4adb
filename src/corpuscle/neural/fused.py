"""Recurrent layers as single steps of PyTorch's differentiation: compiled loops over positions, forward and backward.

``network`` says what is computed, operation by operation; this computes the same for GRU cells with layer normalisation
in float32: ``layer`` is a deep cell that goes over a sequence, ``base`` the first layer of the decoder with its
attention. Positions come first in all arrays, so that the rows of one are contiguous; gradients of matrices are
products over all positions at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import require
from corpuscle.neural.kernels import gradients as kernels
from corpuscle.neural.kernels.cells import powers

torch: Any = require("torch", extra="neural")

Tensor = Any


class _Cell:
    """A GRU cell of a layer over n positions, for groups of b rows, of which some are ``alive`` (n, groups, b): U
    (groups, d, 3d), gain (groups, 3d); ``mask`` (groups, b, d) of its dropout, or None; ``inputs``: their parts of the
    gates; ``way``: the states before and after it, (n, groups, b, d) each."""

    def __init__(
        self,
        U: Tensor,
        gain: Tensor,
        mask: Tensor | None,
        inputs: Tensor,
        alive: np.ndarray,
        way: tuple[Tensor, Tensor],
    ):
        before, out = way
        shape = (*alive.shape, U.shape[-1])
        self.U, self.mask, self.before = U, mask, before
        self.normal, gates, scales = U.new_empty(shape), np.empty(shape, np.float32), np.empty(alive.shape, np.float32)
        self.trace = kernels.Trace(self.normal.numpy(), scales, gates, gain.contiguous().numpy())
        self.seen = None if mask is None else U.new_empty(before.shape)
        self.forward = inputs.numpy(), self.trace, alive, before.numpy(), out.numpy()

    def step(self, t: int) -> None:
        """From before[t] to out[t]."""
        seen = self.before[t]
        if self.seen is not None:
            seen = torch.mul(seen, self.mask, out=self.seen[t])
        torch.bmm(seen, self.U, out=self.normal[t])
        kernels.gru(t, *self.forward)

    def begin_back(self, gradient: Tensor) -> None:
        """Make room for gradients; ``gradient`` is that of the states."""
        self.dx, self.da = torch.empty_like(self.normal), torch.empty_like(self.normal)
        self.gradient, self.through = gradient, torch.empty_like(gradient)
        self.dgain = np.zeros_like(self.trace.gain)
        _, _, alive, before, _ = self.forward
        self.backward = self.trace, alive, before, gradient.numpy(), self.dx.numpy(), self.da.numpy(), self.dgain

    def back(self, t: int) -> None:
        """From the gradient of out[t] to that of before[t], in place."""
        kernels.gru_back(t, *self.backward)
        torch.bmm(self.da[t], self.U.mT, out=self.through)
        if self.mask is None:
            self.gradient += self.through
        else:
            self.gradient.addcmul_(self.through, self.mask)

    def gradients(self) -> tuple[Tensor, Tensor]:
        """Of U and of the gain."""
        seen = self.before if self.seen is None else self.seen
        left, right = (x.transpose(0, 1).reshape(x.shape[1], -1, x.shape[-1]) for x in (seen, self.da))
        return left.mT @ right, torch.from_numpy(self.dgain)


class _Product:
    """A product with layer normalisation, LN(x W; gain) + bias, at m positions, for b rows; ``out`` (m, b, width)."""

    def __init__(self, W: Tensor, gain: Tensor, bias: Tensor, out: Tensor):
        self.W, self.normal, self.out = W, torch.empty_like(out), out
        self.scales, self.gain = np.empty(out.shape[:2], np.float32), gain.numpy()
        self.forward = self.normal.numpy(), self.scales, self.gain, bias.numpy(), out.numpy()

    def step(self, t: int, x: Tensor) -> None:
        """Make out[t] of x (b, size)."""
        torch.mm(x, self.W, out=self.normal[t])
        kernels.normalise(t, *self.forward)

    def begin_back(self, gradient: Tensor) -> None:
        """Say where the gradient of ``out`` will be; it becomes that of x W."""
        self.gradient, self.dgain = gradient, np.zeros_like(self.gain)
        self.backward = gradient.numpy(), self.normal.numpy(), self.scales, self.gain, self.dgain

    def back(self, t: int) -> Tensor:
        """The gradient of x."""
        kernels.normalise_back(t, *self.backward)
        return self.gradient[t] @ self.W.T

    def gradients(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Of W and of the gain; ``x`` (m * b, size): all that went in."""
        return x.T @ self.gradient.flatten(0, 1), torch.from_numpy(self.dgain)


class _Layer(torch.autograd.Function):
    """States (n, groups, b, d) of a deep cell; inputs: X (n, groups, b, 3d), the first states (groups, b, d), alive
    (n, groups, b), a mask or None for each cell, then U, gain of every cell, and the biases of all but the first."""

    @staticmethod
    def forward(context: Any, inputs: Tensor, start: Tensor, alive: Tensor, masks: Any, *parameters: Tensor) -> Tensor:
        pairs, biases = parameters[: 2 * len(masks)], parameters[2 * len(masks) :]
        cells, states = _on_their_way(
            [inputs, *(bias[None, :, None] for bias in biases)], start, alive.numpy(), masks, pairs
        )
        for t in range(len(inputs)):
            for cell in cells:
                cell.step(t)
        context.cells = cells
        return states[1:]

    @staticmethod
    def backward(context: Any, *outer: Tensor) -> tuple[Any, ...]:
        (given,) = outer
        cells = context.cells
        gradient = torch.zeros_like(given[0], memory_format=torch.contiguous_format)
        for cell in cells:
            cell.begin_back(gradient)
        for t in reversed(range(len(given))):
            gradient += given[t]
            for cell in reversed(cells):
                cell.back(t)
        made = [x for cell in cells for x in cell.gradients()]
        biases = [cell.dx.sum((0, 2)) for cell in cells[1:]]
        return cells[0].dx, gradient, None, None, *made, *biases


class _Attention(NamedTuple):
    """Parameters of the attention and of the cell behind it: W (d, a), gw, v (a,); W2 (m, 3d), gx, b (3d,)."""

    W: Tensor
    gw: Tensor
    v: Tensor
    W2: Tensor
    gx: Tensor
    b: Tensor


class _Base(torch.autograd.Function):
    """States (m, b, d), what the attention found (m, b, 2d) and its shares (m, b, n); inputs: X (m, 1, b, 3d), the
    first states (1, b, d), keys (b, n, a), values (b, n, 2d), lengths of sources (b,), a mask for what was found, masks
    of cells, ``_Attention``, then as in ``_Layer`` without the bias of the second cell."""

    @staticmethod
    def forward(
        context: Any, inputs: Tensor, start: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, drop: Any,
        masks: Any, *parameters: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        m, _, b, width = inputs.shape
        size = len(_Attention._fields)
        a, cut = _Attention(*parameters[:size]), parameters[size:]
        pairs, biases = cut[: 2 * len(masks)], cut[2 * len(masks) :]
        second = start.new_empty(m, 1, b, width)
        x = [inputs, second, *(bias[None, :, None] for bias in biases)]
        cells, states = _on_their_way(x, start, np.ones((m, 1, b), bool), masks, pairs)
        asking = _Product(a.W, a.gw, torch.zeros_like(a.v), start.new_empty(m, b, len(a.v)))
        reading = _Product(a.W2, a.gx, a.b, second[:, 0])
        found, shares = values.new_empty(m, b, values.shape[-1]), values.new_zeros(m, b, values.shape[1])
        seen = found if drop is None else torch.empty_like(found)
        powers((kept := keys.clone()).flatten(0, 1).numpy())
        looks = kernels.Looks(*(x.numpy() for x in (kept, values, lengths, a.v, shares)))
        looking = looks, asking.out.numpy(), found.numpy()
        for t in range(m):
            cells[0].step(t)
            asking.step(t, cells[1].before[t, 0])
            kernels.attend(t, *looking)
            if drop is not None:
                torch.mul(found[t], drop, out=seen[t])
            reading.step(t, seen[t])
            for cell in cells[1:]:
                cell.step(t)
        context.cells, context.asking, context.reading, context.looks = cells, asking, reading, looks
        context.drop, context.seen = drop, seen
        return states[1:, 0], found, shares

    @staticmethod
    def backward(context: Any, *outer: Tensor) -> tuple[Any, ...]:
        given, found_given, shares_given = outer
        cells, asking, reading, looks = context.cells, context.asking, context.reading, context.looks
        gradient = torch.zeros_like(cells[0].before[0])
        for cell in cells:
            cell.begin_back(gradient)
        asking.begin_back(torch.empty_like(asking.out))
        reading.begin_back(cells[1].dx[:, 0])
        made = np.zeros_like(looks.keys), np.zeros_like(looks.values), np.zeros_like(looks.v)
        db, shares_given = torch.zeros_like(reading.gradient[0, 0]), shares_given.contiguous().clone().numpy()
        for t in reversed(range(len(given))):
            gradient[0] += given[t]
            for cell in reversed(cells[1:]):
                cell.back(t)
            db += reading.gradient[t].sum(0)
            down = reading.back(t)
            if context.drop is not None:
                down *= context.drop
            down += found_given[t]
            kernels.attend_back(t, looks, asking.out.numpy(), down.numpy(), shares_given, asking.gradient.numpy(), made)
            gradient[0] += asking.back(t)
            cells[0].back(t)
        keys, values, v = map(torch.from_numpy, made)
        W, gw = asking.gradients(cells[1].before.flatten(0, 2))
        W2, gx = reading.gradients(context.seen.flatten(0, 1))
        pairs = [x for cell in cells for x in cell.gradients()]
        biases = [cell.dx.sum((0, 2)) for cell in cells[2:]]
        return cells[0].dx, gradient, keys, values, None, None, None, W, gw, v, W2, gx, db, *pairs, *biases


def _on_their_way(
    inputs: Sequence[Tensor], start: Tensor, alive: np.ndarray, masks: Sequence[Tensor | None], pairs: Sequence[Tensor]
) -> tuple[list[_Cell], Tensor]:
    """The cells of a deep cell over all positions, and its states (n + 1, groups, b, d), the first ones ``start``."""
    between = [start.new_empty(len(alive), *start.shape) for _ in masks]
    states = torch.cat([start[None], between.pop()])
    ways = pairwise([states[:-1], *between, states[1:]])
    each = zip(pairs[::2], pairs[1::2], masks, inputs, ways, strict=True)
    return [_Cell(U, gain, mask, x, alive, way) for U, gain, mask, x, way in each], states


def _grouped(cells: Sequence[Any]) -> list[Tensor]:
    """U and gain of every cell with an axis for groups of rows."""
    pairs = ((cell.U.reshape(-1, *cell.U.shape[-2:]), cell.gh.reshape(-1, cell.gh.shape[-1])) for cell in cells)
    return list(chain(*pairs))


def layer(
    cells: Sequence[Any], projected: Tensor, start: Tensor, alive: Tensor, masks: Sequence[Tensor | None]
) -> Tensor:
    """The states (n, groups, b, d) of deep cells with these inputs' parts of the gates, (n, groups, b, 3d)."""
    biases = [cell.b.reshape(-1, cell.b.shape[-1]) for cell in cells[1:]]
    made: Tensor = _Layer.apply(projected.contiguous(), start, alive, masks, *_grouped(cells), *biases)
    return made


def base(
    cells: Sequence[Any], projected: Tensor, start: Tensor, keys: Tensor, values: Tensor, real: Tensor,
    drop: Tensor | None, masks: Sequence[Tensor | None], attention: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """States (m, b, d), what attention found, and its shares; ``attention``: W, gain and v."""
    second = cells[1]
    parameters = [*attention, second.W, second.gx, second.b, *_grouped(cells), *(cell.b[None] for cell in cells[2:])]
    grouped = [None if mask is None else mask[None] for mask in masks]
    made: tuple[Tensor, Tensor, Tensor] = _Base.apply(
        projected[:, None].contiguous(), start[None], keys.contiguous(), values.contiguous(), real.sum(1), drop,
        grouped, *parameters,
    )  # fmt: skip
    return made
