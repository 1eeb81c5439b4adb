"""Linear algebra of large sparse matrices: what counts say when they are seen as a matrix.

- ``sparse``: products of sparse matrices with dense blocks, shared out by rows;
- ``lowrank``: the first singular values and vectors of a matrix or an operator;
- ``cca``: the directions in which two views of the same items, or several, agree; duals of a basis;
- ``unit_rows``: vectors of length one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

__all__ = ["unit_rows"]


def unit_rows(rows: Any) -> Any:
    """Rows of length one, float64, of a dense or sparse matrix; a row of zeros stays."""
    if issparse(rows):
        lengths = np.sqrt(np.asarray(rows.power(2).sum(axis=1)))
        return diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ rows
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros(rows.shape), where=lengths > 0)
