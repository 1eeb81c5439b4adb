"""Matrices of link probabilities as a file, for whoever projects along them."""

from __future__ import annotations

from os import PathLike

import numpy as np

from corpuscle.model import Array, Container, Kind, Part, save
from corpuscle.text.alignments import AlignmentMatrix

__all__ = ["MatrixFile", "save_matrix"]


def _check(container: Container) -> None:
    shapes, weights = container.arrays["alignment/shapes"], container.arrays["alignment/weights"]
    if int(shapes.astype(np.object_).prod(axis=1).sum()) != len(weights):
        raise ValueError("the matrices do not have the sizes that they should have")


class MatrixFile:
    """The kind of file that holds an ``AlignmentMatrix``; ``corpuscle.load`` gives the matrix itself."""

    KIND = Kind(
        "align.matrix",
        1,
        {
            "alignment/weights": Array("float32", ("cells",), low=0, high=1.0001),
            "alignment/shapes": Array("int32", ("pairs", 2), low=0),
        },
        check=_check,
    )

    @classmethod
    def from_container(cls, container: Container) -> AlignmentMatrix:
        """The matrices of a file."""
        return AlignmentMatrix.from_arrays(container.arrays)


def save_matrix(matrix: AlignmentMatrix, path: str | PathLike[str], **settings: str) -> None:
    """Write the matrices; ``settings`` say how they were made."""
    given = {name: (value, "given") for name, value in settings.items()}
    save(path, Part(MatrixFile.KIND, matrix.arrays(), settings=given))
