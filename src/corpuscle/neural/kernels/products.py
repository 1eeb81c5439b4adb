"""Matrices that vectors are multiplied with: in single precision by BLAS, or in 8 bits by our own kernel.

Jacob, Kligys, Chen, Zhu, Tang, Howard, Adam and Kalenichenko, "Quantization and training of neural networks for
efficient integer-arithmetic-only inference", 2018, eq. 1-5. A column w of a matrix is stored as whole numbers q from
-127 to 127 with w = s q, so s is a 127th of its largest absolute value; a vector x is rounded likewise when it comes,
x = t p. Then x . w = s t sum_i p_i q_i, and the sum is one of small whole numbers, exact in 32 bits. Processors
multiply bytes without sign with bytes with sign, so p + 128 is stored, and 128 sum_i q_i, known in advance, taken
off.

Columns stand in strips of 16, four rows of a strip together: in one step a processor with VNNI multiplies four
numbers of a vector with four rows of 16 columns, 64 products, and adds them to 16 sums. Eight vectors and two strips
are done at a time, so that sums stay in registers. Others do the same in more instructions; the result is the same
number.
"""

from __future__ import annotations

from itertools import chain

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from corpuscle.compiled import kernel, lowered, part

LANES, ROWS, STRIPS = 16, 8, 2
WIDTH = LANES * STRIPS
_LARGEST = np.float32(127)


class Matrix:
    """A matrix (n_in, n_out) in single precision; BLAS does the products."""

    def __init__(self, weights: np.ndarray):
        self.weights = np.ascontiguousarray(weights, np.float32)
        self.outputs = weights.shape[1]

    def __call__(self, x: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None) -> np.ndarray:
        """``x`` (rows, n_in) times the matrix, or times its columns from ``first`` to ``last``, written to ``out``."""
        return np.matmul(x, self.weights[:, first:last], out=out)


def _vnni() -> ir.VectorType | None:
    """What type the instruction takes its bytes in, which differs between versions of LLVM; None without VNNI."""
    if not llvmlite.binding.get_host_cpu_features().get("avx512vnni"):
        return None
    for form, kind in ("<64 x i8>", ir.VectorType(ir.IntType(8), 4 * LANES)), ("<16 x i32>", _SUMS):
        try:
            llvmlite.binding.parse_assembly(f"declare <16 x i32> @{_VNNI}(<16 x i32>, {form}, {form})").verify()
            return kind
        except RuntimeError:
            continue
    return None


_VNNI, _SUMS = "llvm.x86.avx512.vpdpbusd.512", ir.VectorType(ir.IntType(32), LANES)
BYTES = _vnni()


def _dot_vnni(builder, sums, four, strip):
    """Sums of 16 columns, plus four numbers times four rows of them: one instruction."""
    kind = ir.FunctionType(_SUMS, [_SUMS, BYTES, BYTES])
    step = cgutils.get_or_insert_function(builder.module, kind, _VNNI)
    return builder.call(step, [sums, builder.bitcast(four, BYTES), builder.bitcast(strip, BYTES)])


def _dot_plain(builder, sums, four, strip):
    """Sums of 16 columns, plus four numbers times four rows of them, byte after byte."""
    word = ir.IntType(32)
    vector = ir.VectorType(word, LANES)

    def every(value):
        return ir.Constant(vector, [value] * LANES)

    for byte in range(4):
        number = builder.and_(builder.lshr(four, every(8 * byte)), every(255))
        weight = builder.ashr(builder.shl(strip, every(24 - 8 * byte)), every(24))
        sums = builder.add(sums, builder.mul(number, weight))
    return sums


def _tile_python(x, row, size, q, place, sums):
    """What a tile is, byte by byte."""
    strips = q[place : place + WIDTH * size].reshape(STRIPS, size // 4, LANES, 4).transpose(0, 2, 1, 3)
    sums[:] = x[row : row + ROWS].astype(np.int32) @ strips.reshape(WIDTH, size).T.astype(np.int32)


def _tile(dot):
    """Inside a kernel: ``tile(x, row, size, q, place, sums)``, the products of the 8 vectors from ``row`` on, x (n,
    size) uint8, with the 2 strips from ``q[place]`` on, 16 ``size`` int8 each, written to sums (8, 32) int32."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(32)
        zeros = ir.Constant(_SUMS, [0] * LANES)
        arrays = [context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 3, 5)]
        vectors, columns, out = arrays
        row, size, place = arguments[1], arguments[2], arguments[4]

        def number(value):
            return ir.Constant(row.type, value)

        def at(start, *terms):
            for term in terms:
                start = builder.gep(start, [term])
            return start

        def seen(pointer, kind):
            return builder.bitcast(pointer, kind.as_pointer())

        starts = [at(vectors, builder.mul(builder.add(row, number(i)), size)) for i in range(ROWS)]
        strips = [at(columns, place, builder.mul(size, number(LANES * j))) for j in range(STRIPS)]
        totals = [[cgutils.alloca_once(builder, _SUMS) for _ in strips] for _ in starts]
        for total in chain(*totals):
            builder.store(zeros, total)
        with cgutils.for_range(builder, builder.udiv(size, number(4))) as loop:
            weights = [
                builder.load(seen(at(strip, builder.mul(loop.index, number(4 * LANES))), _SUMS), align=1)
                for strip in strips
            ]
            for start, line in zip(starts, totals, strict=True):
                bits = builder.load(seen(at(start, builder.mul(loop.index, number(4))), word), align=1)
                single = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), bits, ir.Constant(word, 0))
                four = builder.shuffle_vector(single, ir.Constant(_SUMS, ir.Undefined), zeros)
                for strip, total in zip(weights, line, strict=True):
                    builder.store(dot(builder, builder.load(total), four, strip), total)
        for i, total in enumerate(chain(*totals)):
            builder.store(builder.load(total), seen(at(out, number(LANES * i)), _SUMS), align=4)
        return context.get_dummy_value()

    @lowered(_tile_python)
    def tile(context, x, row, size, q, place, sums):
        return types.void(x, types.int64, types.int64, q, types.int64, sums), generate

    return tile


_tile_plain, _tile_best = _tile(_dot_plain), _tile(_dot_plain if BYTES is None else _dot_vnni)


@kernel(bare=True)
def _round(x, bits, p, scales, scale_bits):
    """Rows of x (rows, n) as bytes p + 128 (more rows, size) and their scales; ``bits`` and ``scale_bits`` are x and
    the scales as whole numbers: the largest of those vectorises, and is the largest of the floats."""
    for row in range(x.shape[0]):
        vector, words, out = x[row], bits[row], p[row]
        largest = np.int32(0)
        for i in range(vector.size):
            largest = max(largest, words[i] & np.int32(2147483647))
        scale_bits[row] = largest
        factor = _LARGEST / scales[row] if scales[row] > 0 else np.float32(0)
        for i in range(vector.size):
            out[i] = np.uint8(np.int32(vector[i] * factor + np.float32(128.5)))
        scales[row] /= _LARGEST


@part(inline=True)
def _rescale(line, shift, factor, scale, out):
    """Write the sums of a vector with some columns, as floats, to out."""
    for j in range(out.size):
        out[j] = np.float32(line[j] - shift[j]) * (factor * scale[j])


@kernel(bare=True)
def _multiply(p, scales, q, matrix, first, out, sums, plain):
    """The product of rounded vectors p with the columns from ``first`` on, a multiple of 32; see ``SmallMatrix``;
    ``plain``: without the instruction, on any processor."""
    size, shift, scale = p.shape[1], matrix[0][first:], matrix[1][first:]
    for a in range(0, out.shape[1], WIDTH):
        b = min(a + WIDTH, out.shape[1])
        for row in range(0, out.shape[0], ROWS):
            if plain:
                _tile_plain(p, row, size, q, (first + a) * size, sums)
            else:
                _tile_best(p, row, size, q, (first + a) * size, sums)
            for i in range(row, min(row + ROWS, out.shape[0])):
                _rescale(sums[i - row], shift[a:b], scales[i], scale[a:b], out[i, a:b])


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


class SmallMatrix(Matrix):
    """A matrix (n_in, n_out) in 8 bits."""

    def __init__(self, weights: np.ndarray):
        n_in, self.outputs = weights.shape
        self.size = _up(n_in, 4)
        self.scale = np.zeros(_up(self.outputs, WIDTH), np.float32)
        self.scale[: self.outputs] = np.abs(weights).max(axis=0, initial=0) / _LARGEST
        q = np.zeros((self.size, len(self.scale)), np.int8)
        divisors = np.where(self.scale > 0, self.scale, 1)[: self.outputs]
        q[:n_in, : self.outputs] = np.rint(weights / divisors)
        self.shift = 128 * q.sum(axis=0, dtype=np.int32)
        # strip, four rows, column in the strip, row in the four
        self.q = q.reshape(self.size // 4, 4, -1, LANES).transpose(2, 0, 3, 1).reshape(-1).copy()

    def __call__(self, x: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None) -> np.ndarray:
        """``x`` (rows, n_in) times the matrix, or times its columns from ``first``, a multiple of 32, to ``last``."""
        x = np.ascontiguousarray(x)
        p, scales = np.zeros((_up(len(x), ROWS), self.size), np.uint8), np.empty(len(x), np.float32)
        _round(x, x.view(np.int32), p, scales, scales.view(np.int32))
        sums = np.empty((ROWS, WIDTH), np.int32)
        _multiply(p, scales, self.q, (self.shift, self.scale), first, out, sums, BYTES is None)
        return out


MATRICES: dict[str, type[Matrix]] = {"fp32": Matrix, "int8": SmallMatrix}
"""By precision."""
