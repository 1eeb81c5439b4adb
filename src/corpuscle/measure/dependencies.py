"""Dependency trees against gold trees: how many words have the right head (UAS), and the right relation, too (LAS).

Each figure is given over all words and without punctuation, which is, of the gold file: words with the UPOS PUNCT
(``upos``), with a tag of punctuation of the Penn Treebank (``penn``), or whose letters are all punctuation in
Unicode, as in CoNLL-X (``form``); ``auto`` takes ``upos`` where the file has that tag, else ``penn`` where it has tags.
``complete``: sentences in which every head is right; ``root``: sentences whose roots are the right ones. In the mode
``conll18`` relations are compared without their subtypes (``acl:relcl`` is ``acl``), as in the shared task of 2018, and
``clas`` is its F1 of words whose relation is neither a function word's nor punctuation. Sentences are resampled.

Buchholz and Marsi, "CoNLL-X shared task on multilingual dependency parsing", 2006; Zeman et al., "CoNLL 2018 shared
task: multilingual parsing from raw text to universal dependencies", 2018.
"""

from __future__ import annotations

import unicodedata

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_all, compare, rate, sums_by_sentence
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.corpus import Corpus
from corpuscle.text.treebank import Treebank

ATTACHMENT = (
    Shown("las", "LAS"), Shown("uas", "UAS"), Shown("las_nopunct", "LAS without punctuation"),
    Shown("uas_nopunct", "UAS without punctuation"), Shown("complete", "complete"), Shown("root", "root"),
    Shown("words", "words", ","), Shown("sentences", "sentences", ","),
)  # fmt: skip
CLAS = Shown("clas", "CLAS")
PENN = frozenset(("``", "''", ",", ".", ":"))
"""Tags of punctuation in the Penn Treebank."""
_FUNCTIONAL = frozenset(("aux", "cop", "mark", "det", "clf", "case", "cc", "punct"))
_COLUMNS = {
    "uas": (0, 2), "las": (1, 2), "uas_nopunct": (3, 5), "las_nopunct": (4, 5), "complete": (6, 8), "root": (7, 8),
    "clas": (9, 10),
}  # fmt: skip
"""Figure -> the columns of its part and of its whole."""


def of_punctuation(corpus: Corpus) -> np.ndarray:
    """Which words consist of characters that are punctuation in Unicode, bool (n_words,)."""
    marks = [all(unicodedata.category(letter)[0] == "P" for letter in word) for word in corpus.vocab.strings]
    return np.array(marks, bool)[corpus.tokens]


def punctuation(bank: Treebank, what: str = "auto") -> np.ndarray:
    """Which words are punctuation, bool (n_words,)."""
    tagged, named = bank.tags.ids.any(), bank.xpos.ids.any()
    if what == "auto":
        what = "upos" if "PUNCT" in bank.tags.vocab.strings else "penn" if tagged or named else "form"
    if what == "form":
        return of_punctuation(bank.corpus)
    layer, names = (bank.tags, frozenset(("PUNCT",))) if what == "upos" else (bank.xpos if named else bank.tags, PENN)
    if len(layer.ids) and not layer.ids.any():
        raise ValueError(f"punctuation by {what} is asked for, but there are no such tags")
    return np.array([tag in names for tag in layer.vocab.strings])[layer.ids]


def _names(bank: Treebank, mode: str) -> list[str]:
    """The relations of words, in the mode ``conll18`` without their subtypes."""
    names = bank.relations.strings()
    return [name.partition(":")[0] for name in names] if mode == "conll18" else names


def _right(gold: Treebank, found: Treebank, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Which words have the right head, and which the right relation, too: bool (n_words,)."""
    if len(gold) != len(found) or not np.array_equal(gold.corpus.sentence_starts, found.corpus.sentence_starts):
        raise ValueError("the two treebanks do not have the same sentences")
    heads = gold.heads == found.heads
    pairs = zip(_names(gold, mode), _names(found, mode), strict=True)
    return heads, heads & np.array([a == b for a, b in pairs], bool)


def _statistics(gold: Treebank, found: Treebank, mode: str, punct: str = "auto") -> np.ndarray:
    """By sentence, the columns that ``_COLUMNS`` names: float64 (n_sentences, 11)."""
    heads, relations = _right(gold, found, mode)
    spoken = ~punctuation(gold, punct)
    content = [np.array([name not in _FUNCTIONAL for name in _names(bank, mode)], bool) for bank in (gold, found)]
    of_words = (heads, relations, np.ones(len(heads)), heads & spoken, relations & spoken, spoken)
    clas = (2 * (relations & content[0]), content[0] + content[1].astype(int))
    other_roots = (gold.heads == 0) != (found.heads == 0)
    sums = sums_by_sentence(gold.corpus.sentence_starts, (*of_words, other_roots, *clas))
    complete, root = sums[:, 0] == sums[:, 2], sums[:, 6] == 0
    return np.column_stack([sums[:, :6], complete, root, np.ones(len(sums)), sums[:, 7:]])


def attachment(
    gold: Treebank, found: Treebank, *, mode: str = "plain", punct: str = "auto", draws: int = 1000, seed: int = 1
) -> Result:
    """UAS, LAS, complete trees and roots, each with its interval; the headline is LAS."""
    statistics = _statistics(gold, found, mode, punct)
    if not len(statistics):
        raise ValueError("there are no words to compare")
    names = [name for name in _COLUMNS if name not in ("las", "clas")] + ["clas"] * (mode == "conll18") + ["las"]
    rates = {name: rate(*_COLUMNS[name]) for name in names}  # the headline comes last
    figures, interval = bootstrap_all(statistics, rates, draws=draws, seed=seed)
    figures |= {"words": int(statistics[:, 2].sum()), "sentences": len(statistics)}
    how = signature("las", relations=mode, punctuation=punct, interval=resampled("sentences", draws, seed))
    return Result(figures, interval, how, (*ATTACHMENT, CLAS) if mode == "conll18" else ATTACHMENT)


def oracle(gold: Treebank, ranked: Treebank, counts: np.ndarray, *, mode: str = "plain") -> dict[str, float]:
    """What the best tree of each list scores: ``ranked`` has ``counts`` int64 (n_sentences,) trees of every sentence,
    one after the other. Best is the tree with most right heads, for LAS with most right heads and relations."""
    if len(counts) != len(gold) or (counts < 1).any() or counts.sum() != len(ranked):
        raise ValueError("the lists of trees are not those of the gold sentences")
    repeated = gold.select(np.repeat(np.arange(len(gold)), counts))
    heads, relations = sums_by_sentence(repeated.corpus.sentence_starts, _right(repeated, ranked, mode)).T
    filled = gold.corpus.lengths > 0
    counts, words = counts[filled], gold.corpus.lengths[filled]
    firsts = np.cumsum(counts) - counts
    best = np.maximum.reduceat(heads, firsts)
    return {
        "oracle_uas": float(best.sum() / words.sum()),
        "oracle_las": float(np.maximum.reduceat(relations, firsts).sum() / words.sum()),
        "oracle_complete": float((best == words).mean()),
        "trees": float(counts.mean()),
    }


def compare_attachment(
    gold: Treebank,
    one: Treebank,
    other: Treebank,
    *,
    figure: str = "las",
    mode: str = "plain",
    punct: str = "auto",
    seed: int = 1,
) -> Comparison:
    """A figure of one parse minus that of the other, by paired bootstrap over sentences."""
    a, b = (_statistics(gold, found, mode, punct) for found in (one, other))
    shown = next(shown for shown in (*ATTACHMENT, CLAS) if shown.name == figure)
    return compare(a, b, rate(*_COLUMNS[figure]), seed=seed, of=shown, items="sentences")


def attachment_by(gold: Treebank, found: Treebank, by: str, mode: str = "plain") -> list[dict[str, float | str]]:
    """UAS and LAS of words by their gold ``relation``, the ``distance`` of their gold head or the ``length`` of their
    sentence: rows of ``name``, ``words``, ``uas``, ``las``, most words first."""
    heads, relations = _right(gold, found, mode)
    if by == "relation":
        names = np.array(gold.relations.strings(), object)
    elif by == "distance":
        gaps = np.abs(gold.heads - gold.corpus.positions - 1)
        names = np.where(gold.heads == 0, "root", np.where(gaps > 10, "more than 10", gaps.astype(str)))
    else:
        tens = (np.repeat(gold.corpus.lengths, gold.corpus.lengths) - 1) // 10
        names = np.array([f"{10 * ten + 1} to {10 * ten + 10}" for ten in tens.tolist()], object)
    rows: list[dict[str, float | str]] = []
    for name in sorted(set(names.tolist())):
        here = names == name
        rows.append({
            "name": str(name), "words": int(here.sum()),
            "uas": float(heads[here].mean()), "las": float(relations[here].mean()),
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-float(row["words"]), str(row["name"])))
