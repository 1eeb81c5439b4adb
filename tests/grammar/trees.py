"""A small grammar with hidden states whose trees can all be written down, with their probabilities."""

from itertools import product

import numpy as np

from corpuscle.random import Random

WORDS = ("x", "y", "z")
RULES = {
    "S": [("A", "B"), ("B", "A"), ("p", "A"), ("A", "q")],
    "A": [("p", "q"), ("q", "p")],
    "B": [("p", "p"), ("q", "q"), ("p", "A")],
}
STATES = 2


class Truth:
    """q, s, t and the root's states, drawn at random."""

    def __init__(self, seed):
        random = Random(seed, "grammar.truth")

        def shares(*shape):
            drawn = 0.05 + random.uniforms(*shape)
            return drawn / drawn.sum(axis=-1, keepdims=True)

        self.root = shares(STATES)
        self.choice = {a: shares(STATES, len(rules)) for a, rules in RULES.items()}
        self.word = {a: shares(STATES, len(WORDS)) for a in "pq"}
        pairs = [(a, rule) for a, rules in RULES.items() for rule in rules]
        self.left = {pair: shares(STATES, STATES) for pair in pairs}
        self.right = {pair: shares(STATES, STATES) for pair in pairs}

    def inside(self, tree):
        """The vector of a tree: (label, word) or (label, left, right)."""
        if len(tree) == 2:
            return self.word[tree[0]][:, WORDS.index(tree[1])]
        a, rule = tree[0], (tree[1][0], tree[2][0])
        vectors = self.left[a, rule] @ self.inside(tree[1]), self.right[a, rule] @ self.inside(tree[2])
        return self.choice[a][:, RULES[a].index(rule)] * vectors[0] * vectors[1]

    def probability(self, tree):
        return float(self.root @ self.inside(tree))


def all_trees(label):
    """Every tree with this label at its root."""
    if label in "pq":
        return [(label, word) for word in WORDS]
    return [(label, *pair) for b, c in RULES[label] for pair in product(all_trees(b), all_trees(c))]


def brackets(tree):
    return f"({tree[0]} {tree[1]})" if len(tree) == 2 else f"({tree[0]} {brackets(tree[1])} {brackets(tree[2])})"


def nodes(tree, outside="*"):
    """Every node in preorder: its inside tree, and its outside tree as a string with a star at its place."""
    yield tree, outside
    if len(tree) == 3:
        left, right = brackets(tree[1]), brackets(tree[2])
        yield from nodes(tree[1], outside.replace("*", f"({tree[0]} * {right})"))
        yield from nodes(tree[2], outside.replace("*", f"({tree[0]} {left} *)"))


def vectors(keys, width, seed):
    """A random vector for each distinct key, float64 (len(keys), width)."""
    distinct, number = np.unique(keys, return_inverse=True)
    return (Random(seed, "grammar.vectors").uniforms(len(distinct), width) - 0.5)[number.ravel()]
