"""Mentions in text against gold mentions: found exactly, or at least touched?

A mention is compared by its type and the characters it covers, white space left out, so that pieces with a gap count as
what they are and never by their outer edges.

- *strict*: the same characters;
- *relaxed*: at least one character in common. Precision is the share of found mentions that touch a gold one, recall
  that of gold mentions that are touched; ``one_to_one`` lets every mention be used once, in the largest matching.

``simple`` and ``complex`` are strict figures of mentions in one piece that share no character with another of their
type, and of all others; ``discontinuous`` those of mentions with a gap. Documents are resampled.

Pradhan et al., "SemEval-2014 task 7: analysis of clinical text", 2014.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_all, compare, harmonic, rate
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.standoff import Standoff

KINDS = ("strict", "relaxed", "simple", "complex", "discontinuous")
"""What is counted; each has four columns: found mentions that are right, found, gold mentions that are found, gold."""
MENTIONS = (
    Shown("strict_f1", "strict F1"), Shown("strict_precision", "precision"), Shown("strict_recall", "recall"),
    Shown("relaxed_f1", "relaxed F1"), Shown("discontinuous_f1", "with gaps, strict F1"),
    Shown("complex_f1", "with gaps or shared words, strict F1"), Shown("gold", "gold mentions", ","),
    Shown("found", "found mentions", ","), Shown("documents", "documents", ","),
)  # fmt: skip

Key = tuple[str, frozenset[int]]
"""What a mention is compared by: its type and the characters that it covers."""


def _keys(document: Standoff, only: str | None) -> set[Key]:
    """The mentions of a document, or those of one type, that cover more than white space."""
    keys = set()
    for mention in document.mentions:
        covered = (i for begin, end in mention.spans for i in range(begin, end))
        characters = frozenset(i for i in covered if not document.text[i].isspace())
        if characters and (only is None or mention.type == only):
            keys.add((mention.type, characters))
    return keys


def _has_gap(key: Key, text: str) -> bool:
    """Whether something that is not white space lies between characters of a mention and is none of them."""
    first, last = min(key[1]), max(key[1])
    return any(i not in key[1] and not text[i].isspace() for i in range(first, last))


def _shared(keys: set[Key]) -> set[Key]:
    """The mentions that have a character in common with another of their type."""
    at: dict[tuple[str, int], list[Key]] = defaultdict(list)
    for key in keys:
        for i in key[1]:
            at[key[0], i].append(key)
    return {key for several in at.values() if len(several) > 1 for key in several}


def _touching(some: set[Key], others: set[Key]) -> int:
    """How many of some mentions have a character in common with one of the others of their type."""
    covered = {(type, i) for type, characters in others for i in characters}
    return sum(any((type, i) in covered for i in characters) for type, characters in some)


def _matched(some: set[Key], others: set[Key]) -> int:
    """The size of the largest matching of mentions that touch."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rows, columns = sorted(some, key=str), sorted(others, key=str)
    touch = [[a[0] == b[0] and not a[1].isdisjoint(b[1]) for b in columns] for a in rows]
    if not rows or not columns:
        return 0
    return int((maximum_bipartite_matching(csr_array(np.array(touch)), "column") >= 0).sum())


def mention_counts(
    gold: Sequence[Standoff], found: Sequence[Standoff], *, one_to_one: bool = False, only: str | None = None
) -> np.ndarray:
    """Four counts of each kind for each document: float64 (n_documents, 20); ``only`` mentions of that type."""
    if len(gold) != len(found):
        raise ValueError(f"{len(gold):,} gold documents, but {len(found):,} found ones")
    rows = []
    for number, (right, guess) in enumerate(zip(gold, found, strict=True), 1):
        if right.text != guess.text:
            raise ValueError(f"document {number} ({right.name or 'without a name'}) has another text")
        wanted, got = _keys(right, only), _keys(guess, only)
        both = wanted & got
        touched = [_matched(got, wanted)] * 2 if one_to_one else [_touching(got, wanted), _touching(wanted, got)]
        gaps = {key for key in wanted | got if _has_gap(key, right.text)}
        complex_wanted, complex_got = (side & (gaps | _shared(side)) for side in (wanted, got))
        kinds = (wanted, got), (wanted - complex_wanted, got - complex_got), (complex_wanted, complex_got)
        strict, *others = [
            [len(have & both), len(have), len(want & both), len(want)]
            for want, have in (*kinds, (wanted & gaps, got & gaps))
        ]
        rows.append([*strict, touched[0], len(got), touched[1], len(wanted), *chain.from_iterable(others)])
    return np.array(rows, np.float64).reshape(-1, 4 * len(KINDS))


def _ratios(kind: str) -> dict[str, Callable[[Any], Any]]:
    at = 4 * KINDS.index(kind)

    precision, recall = rate(at, at + 1), rate(at + 2, at + 3)
    return {
        f"{kind}_precision": precision, f"{kind}_recall": recall,
        f"{kind}_f1": lambda sums: harmonic(precision(sums), recall(sums)),
    }  # fmt: skip


def mention_scores(
    gold: Sequence[Standoff],
    found: Sequence[Standoff],
    *,
    one_to_one: bool = False,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Precision, recall and F1 of every kind, with intervals; the headline is strict F1."""
    statistics = mention_counts(gold, found, one_to_one=one_to_one)
    if not len(statistics):
        raise ValueError("there are no documents to compare")
    ratios = {name: ratio for kind in (*KINDS[1:], KINDS[0]) for name, ratio in _ratios(kind).items()}
    figures, interval = bootstrap_all(statistics, ratios, draws=draws, seed=seed)
    sums = statistics.sum(axis=0).astype(int).tolist()
    figures |= {"gold": sums[3], "found": sums[1], "documents": len(statistics)}
    figures |= {f"{kind}_gold": sums[4 * i + 3] for i, kind in enumerate(KINDS) if i >= 2}
    how = signature(
        "strict f1", of="mentions by type and characters", relaxed="one to one" if one_to_one else "any overlap",
        interval=resampled("documents", draws, seed),
    )  # fmt: skip
    return Result(figures, interval, how, MENTIONS)


def mention_scores_by_type(gold: Sequence[Standoff], found: Sequence[Standoff]) -> list[dict[str, float | str]]:
    """Strict and relaxed F1 of each type, most gold mentions first."""
    types = sorted({mention.type for document in (*gold, *found) for mention in document.mentions})
    rows: list[dict[str, float | str]] = []
    for type in types:
        sums = mention_counts(gold, found, only=type).sum(axis=0)
        figures = {name: float(ratio(sums)) for kind in KINDS[:2] for name, ratio in _ratios(kind).items()}
        rows.append({"name": type, "gold": int(sums[3]), "found": int(sums[1]), **figures})
    return sorted(rows, key=lambda row: (-int(row["gold"]), str(row["name"])))


def compare_mentions(
    gold: Sequence[Standoff],
    one: Sequence[Standoff],
    other: Sequence[Standoff],
    *,
    figure: str = "strict_f1",
    seed: int = 1,
) -> Comparison:
    """A figure of one tagger minus that of the other, by paired bootstrap over documents."""
    kind = figure.rpartition("_")[0]
    a, b = mention_counts(gold, one), mention_counts(gold, other)
    shown = next((shown for shown in MENTIONS if shown.name == figure), Shown(figure, figure.replace("_", " ")))
    return compare(a, b, _ratios(kind)[figure], seed=seed, of=shown, items="documents")
