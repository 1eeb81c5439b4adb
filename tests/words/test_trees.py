"""Class trees: what can be one, paths, cuts."""

from __future__ import annotations

import numpy as np
import pytest

from corpuscle.random import Random
from corpuscle.words.classes import ClassTree, paths_below, tops


def random_tree(seed: int, leaves: int = 30) -> ClassTree:
    """Nodes merged in a random order."""
    random, alive, merges = Random(seed, "tree"), list(range(leaves)), []
    while len(alive) > 1:
        merges.append([alive.pop(random.below(len(alive))) for _ in range(2)])
        alive.append(leaves + len(merges) - 1)
    return ClassTree(np.array(merges, np.int32).reshape(-1, 2), np.linspace(0.1, 0.2, leaves - 1))


@pytest.mark.parametrize("seed", range(5))
def test_paths_lead_from_the_top_to_every_class(seed: int) -> None:
    tree = random_tree(seed)
    for leaf, path in enumerate(tree.paths):
        node = 2 * tree.leaves - 2
        for bit in path:
            node = int(tree.merges[node - tree.leaves, int(bit)])
        assert node == leaf
    found = list(paths_below(tree.merges, tree.leaves, 2 * tree.leaves - 2))
    assert found == sorted(found) and {leaf: path for path, leaf in found} == dict(enumerate(tree.paths))


@pytest.mark.parametrize("classes", [1, 2, 11, 29, 30])
def test_a_cut_tree_is_the_tree_of_its_groups(classes: int) -> None:
    tree = random_tree(classes)
    nodes, numbers = np.unique(tree.groups(classes), return_inverse=True)
    assert len(nodes) == classes
    rest = tree.cut(numbers)
    assert rest.leaves == classes and rest.losses.tolist() == tree.losses[30 - classes :].tolist()
    paths = rest.paths
    assert all(path.startswith(paths[number]) for path, number in zip(tree.paths, numbers, strict=True))


def test_a_tree_of_one_class_is_a_leaf() -> None:
    tree = random_tree(1, 1)
    assert tree.paths == [""] and tree.groups(1).tolist() == [0] and tree.cut(np.zeros(1, int)).leaves == 1


def test_impossible_mergers_are_refused() -> None:
    for merges, reason in (
        ([[0, 5]], "before it is there"),
        ([[0, -1]], "before it is there"),
        ([[0, 0]], "twice"),
        ([[0, 1], [0, 2]], "twice"),
    ):
        with pytest.raises(ValueError, match=reason):
            tops(np.array(merges), 4)


def test_a_tree_that_is_a_comb_of_many_words_needs_no_recursion() -> None:
    n = 5000
    comb = np.array([[n + m - 1 if m else 0, m + 1] for m in range(n - 1)])
    assert tops(comb, n).tolist() == [2 * n - 2] * n
    assert max(len(path) for path, _ in paths_below(comb, n, 2 * n - 2)) == n - 1
