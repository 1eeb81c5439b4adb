"""ClassTree: in which order classes merge until one is left, and the bit strings that follow from it.

Leaves are numbered 0..n-1; node n + m is made by merger m of two nodes, the first of which has more tokens (bit 0). The
path of a leaf is the bits from the top to it. A tree that is cut after some mergers gives fewer, larger classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.model import Array

__all__ = ["TREE", "ClassTree", "paths_below", "tops"]

TREE = {
    "tree/merges": Array("int32", ("mergers", 2), low=0, optional=True),
    "tree/losses": Array("float64", ("mergers",), finite=True, optional=True),
}
"""How a model file keeps a tree."""


def tops(merges: np.ndarray, leaves: int) -> np.ndarray:
    """The node above each leaf that is part of no other, int64 (leaves,), after all mergers; ``ValueError`` if they are
    impossible: every node is merged once, and after it was made.

    >>> tops(np.array([[1, 2], [4, 0]]), 4).tolist()
    [5, 5, 5, 3]
    """
    made = leaves + np.arange(len(merges))
    if len(merges) and ((merges < 0).any() or (merges >= made[:, None]).any()):
        raise ValueError("a class is merged before it is there")
    if len(np.unique(merges)) < merges.size:
        raise ValueError("a class is merged twice")
    above = list(range(leaves + len(merges)))
    for node, (first, second) in zip(reversed(made.tolist()), reversed(merges.tolist()), strict=True):
        above[first] = above[second] = above[node]
    return np.array(above[:leaves], np.int64)


def paths_below(merges: np.ndarray, leaves: int, top: int) -> Iterator[tuple[str, int]]:
    """The path from the node ``top`` to each leaf below it, and the leaf, by rising paths."""
    pairs = merges.tolist()
    waiting = [(top, "")]
    while waiting:
        node, path = waiting.pop()
        if node < leaves:
            yield path, node
        else:
            first, second = pairs[node - leaves]
            waiting += [(second, path + "1"), (first, path + "0")]


class ClassTree(NamedTuple):
    """The mergers of n classes into one.

    - ``merges`` int32 (n - 1, 2): the two nodes of each, see above;
    - ``losses`` float64 (n - 1,): the mutual information that each loses, in nats.
    """

    merges: np.ndarray
    losses: np.ndarray

    @property
    def leaves(self) -> int:
        """n, the number of classes."""
        return len(self.merges) + 1

    @property
    def paths(self) -> list[str]:
        """The bit string of each class.

        >>> ClassTree(np.array([[1, 2], [3, 0]]), np.zeros(2)).paths
        ['1', '00', '01']
        """
        paths = [""] * self.leaves
        for path, leaf in paths_below(self.merges, self.leaves, 2 * self.leaves - 2):
            paths[leaf] = path
        return paths

    def groups(self, classes: int) -> np.ndarray:
        """The node of each class, int64 (n,), when so many are left.

        >>> ClassTree(np.array([[1, 2], [3, 0]]), np.zeros(2)).groups(2).tolist()
        [0, 3, 3]
        """
        if not 1 <= classes <= self.leaves:
            raise SettingError(f"{self.leaves} classes can become 1 to {self.leaves}, not {classes}")
        return tops(self.merges[: self.leaves - classes], self.leaves)

    def cut(self, numbers: np.ndarray) -> ClassTree:
        """The tree of fewer classes, of which each class belongs to the one in ``numbers``, int (n,): new numbers, from
        0 on, of the ``groups``."""
        classes = int(numbers.max()) + 1
        done = self.leaves - classes
        names = np.zeros(2 * self.leaves - 1, np.int32)
        names[self.groups(classes)] = numbers
        names[self.leaves + done :] = classes + np.arange(classes - 1)
        return ClassTree(names[self.merges[done:]], self.losses[done:])

    def arrays(self) -> dict[str, np.ndarray]:
        """The tree as a model file keeps it."""
        return {"tree/merges": self.merges, "tree/losses": self.losses}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> ClassTree | None:
        """The tree of a model file, or None if it has none."""
        return cls(arrays["tree/merges"], arrays["tree/losses"]) if "tree/merges" in arrays else None

    @staticmethod
    def check(arrays: Mapping[str, np.ndarray], classes: int) -> None:
        """``ValueError`` unless the arrays of a model file are a tree of so many classes, or none is there."""
        if ("tree/merges" in arrays) != ("tree/losses" in arrays):
            raise ValueError("half of its class tree is missing")
        if "tree/merges" in arrays:
            if len(arrays["tree/merges"]) != classes - 1:
                raise ValueError("its class tree does not fit the number of classes")
            tops(arrays["tree/merges"], classes)
