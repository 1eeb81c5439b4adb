"""Duals of a basis: what turns reduced observations back into those of one symbol.

Where a model of symbols has the observation matrix O (n, k) and only U'O is known, duals A with A'U = I and the range
of O recover single symbols: O'U a_x = O' delta_x. Left singular vectors of co-occurrence have that range themselves;
canonical directions are U = P^-1 O M for the diagonal P of the symbols' second moments.

Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", 2009; Foster, Rodu and Ungar, "Spectral
dimensionality reduction for HMMs", 2012. n symbols, d dimensions.
"""

from __future__ import annotations

import numpy as np


def duals_of(basis: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The duals A of a basis U, (n, d): A'U = I, and the range of A is that of U, or of P U where ``weights`` (n,) is
    the diagonal of P."""
    weighted = basis if weights is None else basis * weights[:, None]
    return weighted @ np.linalg.pinv(basis.T @ weighted)
