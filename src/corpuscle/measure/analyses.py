"""Ranked analyses against gold ones: how often the right one is first, or among the first two.

``a1``, ``a2``: the shares of words whose right analysis is first, or among the first two; ``e1``, ``e2``: of all
others; ``ceiling``: is a candidate at all; ``mrr``: mean reciprocal rank, 0 where it is none; ``random``: what a random
order would have as ``a1``; ``unseen_a1``: of words that the analyser does not know; ``ambiguous_a1``, ``ambiguous_e1``,
``ambiguous_e2``: of words with several candidates, one of them right; ``candidates``: how many a word has;
``keystrokes``: the mean rank, or one more than there are candidates where none is right: what an annotator looks at.
Sentences are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_all
from corpuscle.measure.counts import share
from corpuscle.measure.result import Result, Shown, resampled, signature

_SHOWN = (
    Shown("a1", "first"), Shown("a2", "first or second"), Shown("ceiling", "a candidate"),
    Shown("mrr", "reciprocal rank", "."),
    Shown("random", "at random"), Shown("ambiguous_a1", "ambiguous words"), Shown("unseen_a1", "unseen words"),
    Shown("candidates", "candidates a word", "."), Shown("keystrokes", "to look at", "."),
    Shown("words", "words", ","), Shown("unseen_words", "unseen", ","),
    Shown("ambiguous_words", "ambiguous", ","),
)  # fmt: skip


def ranks_of(starts: np.ndarray, labels: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """The rank of the gold label of each word, from 1, or 0 where it is no candidate, int64 (n_words,); ``starts``
    int64 (n_words + 1,): of the ``labels`` of each word, in their order.

    >>> ranks_of(np.array([0, 2, 3]), np.array([4, 5, 4]), np.array([5, 7])).tolist()
    [2, 0]
    """
    item = np.repeat(np.arange(len(gold)), np.diff(starts))
    right = np.flatnonzero(labels == gold[item])
    ranks = np.zeros(len(gold), np.int64)
    ranks[item[right]] = right - starts[item[right]] + 1
    return ranks


def analyses(
    starts: np.ndarray,
    ranks: np.ndarray,
    known: np.ndarray,
    sentences: np.ndarray,
    *,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Of words with ranks as ``ranks_of`` gives them, ``known`` bool (n_words,) to their analyser, in sentences that
    begin at ``sentences`` int64 (n_sentences + 1,)."""
    if not len(ranks):
        raise ValueError("there are no words to compare")
    sizes = np.diff(starts)
    inside = ranks > 0
    many = (sizes > 1) & inside
    columns = {
        "words": np.ones(len(ranks)), "first": ranks == 1, "two": inside & (ranks <= 2), "inside": inside,
        "inverse": np.where(inside, 1 / np.maximum(ranks, 1), 0), "chance": inside / np.maximum(sizes, 1),
        "sizes": sizes, "looks": np.where(inside, ranks, sizes + 1),
        "new": ~known, "new_first": ~known & (ranks == 1), "many": many, "many_first": many & (ranks == 1),
        "many_two": many & (ranks <= 2),
    }  # fmt: skip
    filled = sentences[:-1][np.diff(sentences) > 0]
    sums = [np.add.reduceat(np.asarray(values, np.float64), filled) for values in columns.values()]
    statistics = np.column_stack(sums)
    places = list(columns)

    def rate(part: str, whole: str = "words", inverse: bool = False) -> Any:
        a, b = places.index(part), places.index(whole)
        if inverse:
            return lambda sums: 1 - share(sums[..., a], sums[..., b])
        return lambda sums: share(sums[..., a], sums[..., b])

    rates = {
        "a2": rate("two"), "e1": rate("first", inverse=True), "e2": rate("two", inverse=True),
        "ceiling": rate("inside"), "mrr": rate("inverse"), "random": rate("chance"), "candidates": rate("sizes"),
        "keystrokes": rate("looks"),
    }  # fmt: skip
    if many.any():
        rates |= {
            "ambiguous_a1": rate("many_first", "many"), "ambiguous_e1": rate("many_first", "many", inverse=True),
            "ambiguous_e2": rate("many_two", "many", inverse=True),
        }  # fmt: skip
    if not known.all():
        rates["unseen_a1"] = rate("new_first", "new")
    rates["a1"] = rate("first")  # the headline comes last
    figures, interval = bootstrap_all(statistics, rates, draws=draws, seed=seed)
    figures |= {
        "words": len(ranks), "sentences": len(filled), "unseen_words": int((~known).sum()),
        "ambiguous_words": int(many.sum()),
    }  # fmt: skip
    how = signature("a1", ties="analyser", interval=resampled("sentences", draws, seed))
    return Result(figures, interval, how, tuple(shown for shown in _SHOWN if shown.name in figures))


def analyses_by_element(
    starts: np.ndarray, labels: np.ndarray, values: np.ndarray, gold: np.ndarray, elements: Sequence[str]
) -> list[dict[str, Any]]:
    """By element: rows of ``element``, ``e1`` and ``e2``, the shares of words whose first analysis, or none of whose
    first two, has the right value. ``values`` int64 (n_labels, n_elements): of labels; ``gold``
    int64 (n_words, n_elements)."""
    one = labels[starts[:-1]]
    two = labels[np.minimum(starts[:-1] + 1, starts[1:] - 1)]
    first, either = values[one] == gold, (values[one] == gold) | (values[two] == gold)
    return [
        {"element": name, "e1": float(1 - first[:, i].mean()), "e2": float(1 - either[:, i].mean())}
        for i, name in enumerate(elements)
    ]


def analyses_by_probability(probabilities: np.ndarray, right: np.ndarray, parts: int = 10) -> list[dict[str, Any]]:
    """How often first analyses are right by how likely they were said to be: rows of ``above`` (the probabilities are
    from there on, up to the next row), ``words``, ``probability`` (their mean) and ``right`` (their share). Equal parts
    of the unit interval; those without words are left out. ``probabilities`` float64 (n_words,), ``right`` bool.

    >>> analyses_by_probability(np.array([0.95, 0.92, 0.31]), np.array([True, True, False]))[0]["above"]
    0.3
    """
    part = np.minimum((probabilities * parts).astype(np.int64), parts - 1)
    rows = []
    for number in np.unique(part).tolist():
        here = part == number
        rows.append({
            "above": number / parts, "words": int(here.sum()), "probability": float(probabilities[here].mean()),
            "right": float(right[here].mean()),
        })  # fmt: skip
    return rows
