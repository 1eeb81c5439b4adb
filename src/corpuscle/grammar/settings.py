"""The settings of grammars."""

from __future__ import annotations

from corpuscle.settings import Parallel, Seeded, Settings, setting

__all__ = ["EmSettings", "LatentSettings", "PcfgSettings", "SpectralSettings", "TreebankSettings"]

INSIDE = ("left", "right", "rule", "rule-left", "rule-right", "head", "width", "word", "suffix")
OUTSIDE = ("above", "two-above", "three-above", "parent", "grandparent", "head", "widths", "before", "after")


class TreebankSettings(Settings):
    """How trees are made binary, how words are known, how a tree is chosen."""

    side: str = setting(
        "A node with more than two children splits off its first child (right), or its last (left).",
        default="right",
        choices=("right", "left"),
    )
    horizontal: int = setting("How many siblings a part of a split node remembers.", default=0, low=0, high=10)
    vertical: int = setting("How many levels a phrase knows, itself included.", default=1, low=1, high=5)
    rare_count: int = setting(
        "Words seen at most so often are known by what they look like.", default=1, low=0, high=1000
    )
    chain_weight: float = setting(
        "Weight of a word's own tag where a chain of nodes stands above it.", default=20.0, low=0.0
    )
    look_weight: float = setting("Weight of what words look like.", default=20.0, low=0.0)
    decode: str = setting(
        "The tree with most expected brackets, of the rules most likely to be right, or the most probable one (pcfg).",
        default="rules",
        choices=("brackets", "rules", "best"),
    )
    prune_below: float = setting(
        "Leave out what the PCFG gives less than this share of all trees.", default=1e-5, low=0.0, high=0.5
    )
    max_length: int = setting("Longer sentences get a flat tree.", default=200, low=1, high=1000)


class PcfgSettings(TreebankSettings, Parallel):
    """Settings of treebank PCFGs: relative frequencies of rules."""


class LatentSettings(TreebankSettings, Seeded, Parallel):
    """What grammars with hidden states share."""

    states: int = setting("Hidden states of a symbol at most.", default=8, low=1, high=64)
    nodes_a_state: int = setting("A symbol has a state for each of so many nodes.", default=10, low=1)
    mix: float = setting("Weight of the PCFG when a tree is chosen.", default=0.1, low=0.0, high=1.0)


class EmSettings(LatentSettings):
    """Settings of grammars whose states are learned by expectation-maximisation."""

    iterations: int = setting("Iterations at most.", default=50, low=1, high=10_000)
    starts: int = setting("Random starts; the most likely one counts.", default=1, low=1, high=100)
    smoothing: float = setting(
        "How much of a state's rules are those of all states of its symbol.", default=0.05, low=0.0, high=1.0
    )


class SpectralSettings(LatentSettings):
    """Settings of grammars whose states are learned from moments of features."""

    estimate: str = setting(
        "From moments, or states observed as clusters of what moments say.",
        default="moments",
        choices=("moments", "cluster"),
    )
    inside: tuple[str, ...] = setting("What is looked at in a node's own tree.", default=INSIDE[:8], choices=INSIDE)
    outside: tuple[str, ...] = setting("What is looked at around it.", default=OUTSIDE[:7], choices=OUTSIDE)
    kappa: float = setting("Features are scaled as if seen so much more often.", default=5.0, low=0.0)
    smoothing: float = setting("A rule's moments weigh sqrt(n) to this number.", default=10.0, low=0.0)
    rank_tolerance: float = setting(
        "Singular values below this share of the largest do not count.", default=0.01, low=0.0, below=1.0
    )
    min_count: int = setting("Features that are rarer are not used.", default=2, low=1)
    iterations: int = setting("EM iterations after --estimate cluster.", default=5, low=0, high=10_000)
