"""Sparse matrices whose products with dense blocks are compiled and shared out by rows.

A matrix is kept in rows (``starts``, ``columns``, ``values``: the compressed sparse rows of every textbook) and, as it
is applied from both sides, in columns too. Row i of A X is the sum of a_ij X[j] over the entries of the row: for each
entry one pass over a contiguous row of X, which vectorises. A thread has rows of the result to itself and adds up in
the order of the entries, so the number of threads changes no bit.

Saad, "Iterative methods for sparse linear systems", 2003, section 3.4. A is m x n, X is n x l.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from corpuscle.compiled import kernel
from corpuscle.scale import chunks_of, each

WORK = 1 << 23
"""About how many multiplications are one piece of work."""


class Rows(NamedTuple):
    """A sparse matrix in rows.

    - ``starts`` int64 (m + 1,): where the entries of each row begin, and the end of the last;
    - ``columns`` int32 (entries,): rising within a row; ``values`` float64 (entries,);
    - ``width``: n, the number of columns.
    """

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, self.width

    def row_sums(self) -> np.ndarray:
        """The sum of each row, float64 (m,)."""
        return np.bincount(self.row_numbers(), self.values, len(self.starts) - 1)

    def column_sums(self) -> np.ndarray:
        """The sum of each column, float64 (n,)."""
        return np.bincount(self.columns, self.values, self.width)

    def row_numbers(self) -> np.ndarray:
        """The row of each entry, int32 (entries,)."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))

    def csr(self) -> csr_array:
        return csr_array((self.values, self.columns, self.starts), self.shape)

    def dense(self) -> np.ndarray:
        """The matrix as an array (m, n); for small ones."""
        return self.csr().toarray()

    @classmethod
    def of(cls, matrix: Any) -> Rows:
        """A sparse matrix of SciPy, or the entries of an array (m, n) that are not zero."""
        matrix = csr_array(matrix, dtype=np.float64)
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, matrix.shape[1])


@kernel
def multiply(starts, columns, values, block, first, result):
    """Fill ``result`` (rows, l) with the rows of A X from row ``first`` on; ``block`` is X (n, l)."""
    width = block.shape[1]
    for i in range(len(result)):
        row = result[i]
        row[:] = 0.0
        for entry in range(starts[first + i], starts[first + i + 1]):
            value = values[entry]
            other = block[columns[entry]]
            for c in range(width):
                row[c] += value * other[c]


def transposed(matrix: Rows) -> Rows:
    """A', in rows."""
    return Rows.of(matrix.csr().tocsc().T)


def added(a: Rows, b: Rows) -> Rows:
    """A + B, of the same shape."""
    if a.shape != b.shape:
        raise ValueError(f"matrices of the shapes {a.shape} and {b.shape} cannot be added")
    return Rows.of(a.csr() + b.csr())


def scaled(matrix: Rows, left: np.ndarray, right: np.ndarray) -> Rows:
    """diag(left) A diag(right), left (m,) and right (n,)."""
    values = matrix.values * np.repeat(left, np.diff(matrix.starts)) * right[matrix.columns]
    return matrix._replace(values=values)


class SparseOperator(LinearOperator):
    """A sparse matrix as an operator: ``matmat`` (A X) and ``rmatmat`` (A' Y) on ``workers`` threads.

    SciPy's operators can be added, multiplied and transposed, so products and centred matrices are never formed.
    """

    def __init__(self, matrix: Rows, workers: int | None = None):
        super().__init__(np.float64, matrix.shape)
        self.matrix, self.other, self.workers = matrix, transposed(matrix), workers

    def _multiply(self, matrix: Rows, block: Any) -> np.ndarray:
        block = np.ascontiguousarray(block, np.float64)
        result = np.empty((len(matrix.starts) - 1, block.shape[1]))
        edges = chunks_of(np.diff(matrix.starts) + 1, max(1, WORK // max(1, block.shape[1])))

        def product(piece: tuple[int, int]) -> None:
            first, last = piece
            multiply(matrix.starts, matrix.columns, matrix.values, block, first, result[first:last])

        each(product, list(pairwise(edges.tolist())), self.workers)
        return result

    def _matmat(self, X: Any) -> np.ndarray:
        return self._multiply(self.matrix, X)

    def _rmatmat(self, X: Any) -> np.ndarray:
        return self._multiply(self.other, X)

    def _matvec(self, x: Any) -> np.ndarray:
        return self._multiply(self.matrix, np.reshape(x, (-1, 1)))[:, 0]

    def _rmatvec(self, x: Any) -> np.ndarray:
        return self._multiply(self.other, np.reshape(x, (-1, 1)))[:, 0]
