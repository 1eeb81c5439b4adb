"""What a common grammar says: its rules, the words of its categories in every language, how far languages deviate.

The common probability of A -> B C is the prior mean alpha_A1 / (alpha_A0 + alpha_A1) beta_ABC / sum beta_A; the
strength of A, sum beta_A, says how much the languages agree on it. Languages differ by how they branch: their
distance is the Jensen-Shannon divergence of their rows phi_lA, the categories weighted by how often the two use
them; a tree joins the nearest ones first (average linkage).

Iwata, Mochihashi and Sawada, "Learning common grammar from multilingual corpus", 2010, sections 3 and 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.grammar.common import CommonGrammar
from corpuscle.text.vocab import FIRST


class CommonRule(NamedTuple):
    """A rule of the common grammar: categories, its probability, how much languages agree on its parent, and for each
    language an example: a typical word of either child."""

    parent: int
    left: int
    right: int
    probability: float
    strength: float
    examples: dict[str, str]


def category_words(model: CommonGrammar, most: int = 10) -> list[dict[str, list[str]]]:
    """The most typical words of each category in each language, by how likely the category says them; none where it
    hardly says any (less than a word)."""
    table: list[dict[str, list[str]]] = [{} for _ in range(model.nonterminals)]
    for name, vocab, grammar in zip(model.languages_, model.vocabs_, model.grammars_, strict=True):
        means = grammar.means().words
        prior = 0.0 if model.estimate == "em" else model.word_prior
        said = (grammar.words - prior).sum(axis=1)
        for category in range(model.nonterminals):
            order = np.argsort(-means[category, 1:], kind="stable")[:most]
            good = order[grammar.words[category, 1:][order] > 2 * prior]
            words = [vocab.strings[i + FIRST] for i in good.tolist()]
            table[category][name] = words if said[category] >= 1.0 or model.estimate == "em" else []
    return table


def common_rules(model: CommonGrammar, most: int = 30) -> list[CommonRule]:
    """The most probable rules of the common grammar that some language uses, by how often all use them."""
    common, k = model.common_, model.nonterminals
    branch = common.emits[:, 1] / common.emits.sum(axis=1)
    strength = common.pairs.sum(axis=1)
    probability = branch[:, None] * common.pairs / strength[:, None]
    used = np.mean([(each.emits[:, 1:] * each.means().pairs) for each in model.grammars_], axis=0)
    words = category_words(model, 1)
    rules = []
    for at in np.argsort(-used.ravel(), kind="stable")[:most].tolist():
        parent, column = divmod(at, len(model.allowed))
        left, right = divmod(int(model.allowed[column]), k)
        examples = {
            name: " ".join(first[0] if (first := words[child][name]) else f"<{child}>" for child in (left, right))
            for name in model.languages_
        }
        rules.append(
            CommonRule(parent, left, right, float(probability[parent, column]), float(strength[parent]), examples)
        )
    return rules


def _rows(model: CommonGrammar) -> tuple[np.ndarray, np.ndarray]:
    """Mean branching rows of each language (L, K, n_pairs), and how often each category branches (L, K)."""
    prior = 0.0 if model.estimate == "em" else model.common_.emits[:, 1]
    used = np.array([np.maximum(each.emits[:, 1] - prior, 0.0) for each in model.grammars_])
    shares = used / np.maximum(used.sum(axis=1, keepdims=True), 1e-300)
    return np.array([each.means().pairs for each in model.grammars_]), shares


def _divergence(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """KL of rows (K, n), summed over the last axis."""
    good = one > 0
    return np.where(good, one * np.log(np.where(good, one, 1.0) / np.where(good, other, 1.0)), 0.0).sum(axis=-1)


def deviations(model: CommonGrammar) -> dict[str, float]:
    """How far the branching of each language is from the common one: KL, by how often it uses each category."""
    rows, used = _rows(model)
    mean = model.common_.pairs / model.common_.pairs.sum(axis=1, keepdims=True)
    return {name: float(used[i] @ _divergence(rows[i], mean)) for i, name in enumerate(model.languages_)}


def language_distances(model: CommonGrammar) -> np.ndarray:
    """Distances between languages, float64 (L, L)."""
    rows, used = _rows(model)
    n = len(rows)
    table = np.zeros((n, n))
    for a in range(n):
        for b in range(a):
            middle = (rows[a] + rows[b]) / 2
            both = (_divergence(rows[a], middle) + _divergence(rows[b], middle)) / 2
            table[a, b] = table[b, a] = (used[a] + used[b]) / 2 @ both
    return table


def language_tree(model: CommonGrammar) -> str:
    """The tree of languages in Newick's notation, nearest first."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    names = list(model.languages_)
    if len(names) == 1:
        return f"{names[0]};"
    for one, other, height, _ in linkage(squareform(language_distances(model)), "average").tolist():
        names.append(f"({names[int(one)]},{names[int(other)]}):{height:.4f}")
    return f"{names[-1].rpartition(':')[0]};"
