"""The settings of grammars."""

from __future__ import annotations

from typing import Any

from corpuscle.settings import Parallel, Seeded, Settings, setting
from corpuscle.text.settings import TextSettings

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
        "Words with at most N occurrences are known by what they look like.", default=1, low=0, high=1000
    )
    chain_weight: float = setting(
        "Weight of a word's own tag where a chain of nodes stands above it.", default=20.0, low=0.0
    )
    look_weight: float = setting("Weight of what words look like.", default=20.0, low=0.0)
    decode: str = setting(
        "The tree with most expected brackets, of the rules most likely to be right, or the most probable one (pcfg).",
        default="brackets",
        choices=("brackets", "rules", "best"),
    )
    prune_below: float = setting(
        "Leave out what the PCFG gives less than this share of all trees.", default=1e-5, low=0.0, high=0.5
    )
    max_length: int = setting("Longer sentences get a flat tree.", default=200, low=1, high=1000)


class PcfgSettings(TreebankSettings, Parallel):
    """Settings of treebank PCFGs: relative frequencies of rules."""


_STATES: Any = setting("Hidden states of a symbol at most.", default=8, low=1, high=64)
_NODES_A_STATE: Any = setting("A symbol has a state for every N nodes.", default=10, low=1)
_MIX: Any = setting("Weight of the PCFG when a tree is chosen.", default=0.1, low=0.0, high=1.0)
_STRICT: Any = setting("A tag without a universal one, or one that is new, is an error.", default=False)
"""What several methods have in common."""


class EmSettings(TreebankSettings, Seeded, Parallel):
    """Settings of grammars whose states are learned by expectation-maximisation."""

    states: int = _STATES
    nodes_a_state: int = _NODES_A_STATE
    mix: float = _MIX
    iterations: int = setting("Iterations at most.", default=50, low=1, high=10_000)
    starts: int = setting("Random starts; the most likely one counts.", default=1, low=1, high=100)
    smoothing: float = setting(
        "How much of a state's rules are those of all states of its symbol.", default=0.05, low=0.0, high=1.0
    )


class SpectralSettings(TreebankSettings, Seeded, Parallel):
    """Settings of grammars whose states are learned from moments of features."""

    states: int = _STATES
    nodes_a_state: int = _NODES_A_STATE
    mix: float = _MIX
    estimate: str = setting(
        "From moments, or states observed as clusters of what moments say.",
        default="moments",
        choices=("moments", "cluster"),
    )
    inside: tuple[str, ...] = setting("What is looked at in a node's own tree.", default=INSIDE[:8], choices=INSIDE)
    outside: tuple[str, ...] = setting("What is looked at around it.", default=OUTSIDE[:7], choices=OUTSIDE)
    kappa: float = setting("Pseudo-count of features when they are scaled.", default=5.0, low=0.0)
    smoothing: float = setting("A rule's moments weigh sqrt(n) to this number.", default=10.0, low=0.0)
    rank_tolerance: float = setting(
        "Singular values below this share of the largest do not count.", default=0.01, low=0.0, below=1.0
    )
    min_count: int = setting("Features that are rarer are not used.", default=2, low=1)
    iterations: int = setting("EM iterations after --estimate cluster.", default=5, low=0, high=10_000)


SYMBOLS = ("universal", "fine", "classes", "universal-classes", "fine-classes")


class TreeMetricSettings(Seeded, Parallel):
    """Settings of brackets by additive distances."""

    strict: bool = _STRICT
    symbols: str = setting(
        "What distances are between: universal or fine tags, word classes, or classes within tags.",
        default="universal",
        choices=SYMBOLS,
    )
    dimensions: int = setting("How many numbers vectors have that are learned here.", default=50, low=2, high=1000)
    rank: int = setting("How many singular values a distance looks at.", default=7, low=1, high=1000)
    gamma: float = setting("How different distances in words may be that share what is seen.", default=0.4, above=0.0)
    kernel: str = setting("They share it by how near they are, or all alike.", default="graded",
                          choices=("graded", "binary"))  # fmt: skip
    max_distance: int = setting("Words farther apart are as far as this.", default=40, low=1, high=200)
    max_length: int = setting("Learn from sentences of at most N words.", default=200, low=2, high=200)
    backoff: float = setting("Classes within tags: as many pairs count for the tags.", default=200.0, above=0.0)
    min_count: int = setting("Classes within tags: rarer ones are the tag alone.", default=100, low=1)
    edge: str = setting("Lengths of edges: means over words, or least squares.", default="mean",
                        choices=("mean", "least-squares"))  # fmt: skip
    top_bracket: str = setting(
        "Where a sentence divides: by the rule, by learned boundaries, at the longest edge, or as in given trees.",
        default="heuristic",
        choices=("heuristic", "learned", "free", "oracle"),
    )
    decode: str = setting("The shortest tree, or that with the most expected brackets.", default="shortest",
                          choices=("shortest", "risk"))  # fmt: skip
    temperature: float = setting("Trees weigh exp(- cost / temperature).", default=1.0, above=0.0)
    boundaries: float = setting("Weight of where punctuation would stand; 0 as in the paper.", default=0.0, low=0.0)
    lean: float = setting("Cost of wide left children, by the log of their width; 0 as in the paper.", default=0.0,
                          low=0.0)  # fmt: skip


class CcmSettings(Seeded, Parallel):
    """Settings of the constituent-context model."""

    strict: bool = _STRICT
    symbols: str = setting("What strings are of: universal or fine tags, word classes, or both.", default="fine",
                           choices=SYMBOLS)  # fmt: skip
    max_length: int = setting("Learn from sentences of at most N words.", default=10, low=2, high=100)
    start: str = setting("Brackets at first: by random splits, in the mean, or drawn at random.", default="splits",
                         choices=("splits", "random"))  # fmt: skip
    constituents: float = setting("Pseudo-count of every string and context as a bracket.", default=2.0, above=0.0)
    distituents: float = setting("Pseudo-count of every string and context as no bracket.", default=8.0, above=0.0)
    empty_spans: bool = setting("Empty spans are strings that are no brackets.", default=False)
    iterations: int = setting("Iterations at most.", default=40, low=0, high=10_000)
    tolerance: float = setting("Stop when the objective gains less, as a share.", default=1e-5, low=0.0)
    decode: str = setting("The most probable tree, or that with the most expected brackets.", default="best",
                          choices=("best", "risk"))  # fmt: skip


class CommonSettings(TextSettings, Seeded, Parallel):
    """Settings of grammars of several languages with a common one behind them."""

    estimate: str = setting(
        "A common grammar behind all languages, a Bayesian one for each by itself, or one for each by EM.",
        default="common",
        choices=("common", "separate", "em"),
    )
    nonterminals: int = setting("How many categories.", default=20, low=2, high=100)
    max_length: int = setting("Longer sentences are left out.", default=10, low=1, high=60)
    min_count: int = setting("Rarer words of a language are one unknown word.", default=1, low=1, high=10**9)
    word_prior: float = setting("Count of every word in every category beforehand.", default=0.1, above=0.0)
    emit_shape: float = setting("Gamma prior of emitting or branching: shape.", default=1.0, low=1.0)
    emit_rate: float = setting("And rate.", default=1.0, above=0.0)
    pair_shape: float = setting("Gamma prior of pairs of categories: shape.", default=1.0, low=1.0)
    pair_rate: float = setting("And rate.", default=1.0, above=0.0)
    common_steps: int = setting("Steps of the common grammar in an iteration.", default=1, low=1, high=1000)
    start: str = setting(
        "Words at first: at random, all of a class alike (class models), or by their tags (CoNLL-U).",
        default="random",
        choices=("random", "classes", "tags"),
    )
    annealing: int = setting(
        "Iterations before the first in which weights are raised to powers from 1/2 to 1; 0 as in the paper.",
        default=50,
        low=0,
        high=10_000,
    )
    root_once: bool = setting("The root category stands at the top alone.", default=False)
    iterations: int = setting("Iterations at most.", default=200, low=1, high=10_000)
    tolerance: float = setting("Stop when the objective gains less, as a share.", default=1e-6, low=0.0)
    restarts: int = setting("Random starts; the one with the best objective counts.", default=5, low=1, high=100)
