"""Dependency trees against gold trees: how many words have the right head (UAS), and the right relation, too (LAS).

Each figure is given over all words and without punctuation: words that the gold file tags as such (UPOS PUNCT, or the
tags of the Penn Treebank), or, where it has no tags, whose letters are all punctuation. ``complete``: sentences in
which every head is right; ``root``: sentences whose roots are the right ones. In the mode ``conll18`` relations are
compared without their subtypes (``acl:relcl`` is ``acl``), as in the shared task of 2018. Sentences are resampled.

Buchholz and Marsi, "CoNLL-X shared task on multilingual dependency parsing", 2006; Zeman et al., "CoNLL 2018 shared
task: multilingual parsing from raw text to universal dependencies", 2018.
"""

from __future__ import annotations

import unicodedata

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_all, compare
from corpuscle.measure.counts import share
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.treebank import Treebank

__all__ = ["attachment", "attachment_by", "compare_attachment"]

ATTACHMENT = (
    Shown("las", "LAS"), Shown("uas", "UAS"), Shown("las_nopunct", "LAS without punctuation"),
    Shown("uas_nopunct", "UAS without punctuation"), Shown("complete", "complete"), Shown("root", "root"),
    Shown("words", "words", ","), Shown("sentences", "sentences", ","),
)  # fmt: skip
_PENN = frozenset(("``", "''", ",", ".", ":", "-LRB-", "-RRB-", "PUNCT"))
_COLUMNS = {
    "uas": (0, 2), "las": (1, 2), "uas_nopunct": (3, 5), "las_nopunct": (4, 5), "complete": (6, 8), "root": (7, 8),
}  # fmt: skip
"""Figure -> the columns of its part and of its whole."""


def punctuation(bank: Treebank) -> np.ndarray:
    """Which words are punctuation, bool (n_words,)."""
    for layer in (bank.tags, bank.xpos):
        if layer.ids.any():
            return np.array([tag in _PENN for tag in layer.vocab.strings])[layer.ids]
    marks = [all(unicodedata.category(letter)[0] == "P" for letter in form) for form in bank.corpus.vocab.strings]
    return np.array(marks, bool)[bank.corpus.tokens]


def _right(gold: Treebank, found: Treebank, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Which words have the right head, and which the right relation, too: bool (n_words,)."""
    if len(gold) != len(found) or not np.array_equal(gold.corpus.sentence_starts, found.corpus.sentence_starts):
        raise ValueError("the two treebanks do not have the same sentences")
    heads = gold.heads == found.heads
    names = [layer.strings() for layer in (gold.relations, found.relations)]
    if mode == "conll18":
        names = [[name.partition(":")[0] for name in of_bank] for of_bank in names]
    return heads, heads & np.array([a == b for a, b in zip(*names, strict=True)], bool)


def _statistics(gold: Treebank, found: Treebank, mode: str) -> np.ndarray:
    """By sentence, the columns that ``_COLUMNS`` names: float64 (n_sentences, 9)."""
    heads, relations = _right(gold, found, mode)
    words = np.ones(len(heads))
    spoken = ~punctuation(gold)
    roots_differ = (gold.heads == 0) != (found.heads == 0)
    starts, filled = gold.corpus.sentence_starts, np.flatnonzero(gold.corpus.lengths > 0)

    def sums(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values.astype(np.float64), starts[filled]) if len(filled) else np.zeros(0)

    of_words = [sums(each) for each in (heads, relations, words, heads & spoken, relations & spoken, spoken)]
    complete, root = of_words[0] == of_words[2], sums(roots_differ) == 0
    return np.column_stack([*of_words, complete, root, np.ones(len(filled))]).astype(np.float64)


def attachment(
    gold: Treebank, found: Treebank, *, mode: str = "plain", draws: int = 1000, seed: int = 1
) -> Result:
    """UAS, LAS, complete trees and roots, each with its interval; the headline is LAS."""
    statistics = _statistics(gold, found, mode)
    if not len(statistics):
        raise ValueError("there are no words to compare")
    rates = {name: _rate(*columns) for name, columns in _COLUMNS.items()}
    rates["las"] = rates.pop("las")  # the headline comes last
    figures, interval = bootstrap_all(statistics, rates, draws=draws, seed=seed)
    figures |= {"words": int(statistics[:, 2].sum()), "sentences": len(statistics)}
    how = signature("las", relations=mode, interval=resampled("sentences", draws, seed))
    return Result(figures, interval, how, ATTACHMENT)


def _rate(part: int, whole: int):  # type: ignore[no-untyped-def]
    return lambda sums: share(sums[..., part], sums[..., whole])


def compare_attachment(
    gold: Treebank, one: Treebank, other: Treebank, *, figure: str = "las", mode: str = "plain", seed: int = 1
) -> Comparison:
    """A figure of one parse minus that of the other, by paired bootstrap over sentences."""
    a, b = _statistics(gold, one, mode), _statistics(gold, other, mode)
    shown = next(shown for shown in ATTACHMENT if shown.name == figure)
    return compare(a, b, _rate(*_COLUMNS[figure]), seed=seed, of=shown, items="sentences")


def attachment_by(gold: Treebank, found: Treebank, by: str, mode: str = "plain") -> list[dict[str, float | str]]:
    """UAS and LAS of words by their gold ``relation``, the ``distance`` of their gold head or the ``length`` of their
    sentence: rows of ``name``, ``words``, ``uas``, ``las``, most words first."""
    heads, relations = _right(gold, found, mode)
    lengths = np.repeat(gold.corpus.lengths, gold.corpus.lengths)
    positions = np.arange(len(heads)) - np.repeat(gold.corpus.sentence_starts[:-1], gold.corpus.lengths) + 1
    if by == "relation":
        names = np.array(gold.relations.strings(), object)
    elif by == "distance":
        gaps = np.abs(gold.heads - positions)
        names = np.where(gold.heads == 0, "root", np.where(gaps > 10, "more than 10", gaps.astype(str)))
    else:
        tens = (lengths - 1) // 10
        names = np.array([f"{10 * ten + 1} to {10 * ten + 10}" for ten in tens.tolist()], object)
    rows: list[dict[str, float | str]] = []
    for name in sorted(set(names.tolist())):
        here = names == name
        rows.append({
            "name": str(name), "words": int(here.sum()),
            "uas": float(heads[here].mean()), "las": float(relations[here].mean()),
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-float(row["words"]), str(row["name"])))
