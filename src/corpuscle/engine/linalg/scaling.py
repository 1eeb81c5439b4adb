"""Classical scaling: points in a plane, given nothing but the distances between them.

If D holds Euclidean distances, B = -1/2 J D^2 J with J = I - 11'/n holds the inner products of the points around their
mean, whose coordinates are the eigenvectors of B times the square roots of its eigenvalues. The first two are the plane
that keeps most. It is exact where the points lie in a plane, and there is no chance in it.

Torgerson, "Multidimensional scaling: I. Theory and method", 1952.
"""

from __future__ import annotations

import numpy as np

__all__ = ["classical_scaling"]


def classical_scaling(distances: np.ndarray, dimensions: int = 2) -> tuple[np.ndarray, float]:
    """Coordinates of points with the given distances (n, n), float64 (n, dimensions), and which share of the squared
    distances they keep; the coordinate furthest from 0 on each axis is positive."""
    squares = np.asarray(distances, np.float64) ** 2
    inner = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(inner)
    order = np.argsort(-values, kind="stable")[:dimensions]
    kept = np.maximum(values[order], 0.0)
    places = np.zeros((len(squares), dimensions))
    places[:, : len(order)] = vectors[:, order] * np.sqrt(kept)
    furthest = np.abs(places).argmax(axis=0)
    places *= np.where(places[furthest, np.arange(dimensions)] < 0, -1.0, 1.0)
    total = np.maximum(values, 0.0).sum()
    return places, float(kept.sum() / total) if total > 0 else 1.0
