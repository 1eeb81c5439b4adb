"""Word alignments against gold links (Och and Ney 2003).

Gold links are sure (S) or merely possible; P are all of them. For links A: precision |A and P| / |A|, recall |A and S|
/ |S|, alignment error rate AER = 1 - (|A and S| + |A and P|) / (|A| + |S|). Sentence pairs are what is resampled.
"""

from __future__ import annotations

import numpy as np

from corpuscle.measure.bootstrap import bootstrap_all, compare, harmonic, rate, share
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.alignments import Alignments
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST
from corpuscle.text.wording import percent

LINKS = (
    Shown("aer", "AER"), Shown("precision", "precision"), Shown("recall", "recall"), Shown("f1", "F1"),
    Shown("links", "links", ","), Shown("sentence_pairs", "sentence pairs", ","),
)  # fmt: skip


_precision, _recall = rate(1, 2), rate(0, 3)


def _f1(sums: np.ndarray) -> np.ndarray:
    return harmonic(_precision(sums), _recall(sums))


def _aer(sums: np.ndarray) -> np.ndarray:
    wrong = sums[..., 2] + sums[..., 3] - sums[..., 0] - sums[..., 1]
    return share(wrong, sums[..., 2] + sums[..., 3])


def _statistics(gold: Alignments, found: Alignments) -> np.ndarray:
    """By sentence pair: links found that are sure, that are possible, all links found, all sure links."""
    if len(gold) != len(found):
        raise ValueError(f"gold links of {len(gold)} sentence pairs, but {len(found)} were aligned")
    pairs = len(gold)
    hits = [np.bincount(found.intersection(each).pairs, minlength=pairs) for each in (gold.only_sure(), gold)]
    sizes = [np.bincount(each.pairs, minlength=pairs) for each in (found, gold.only_sure())]
    return np.column_stack([*hits, *sizes]).astype(np.float64)


def alignment_error(gold: Alignments, found: Alignments, *, draws: int = 1000, seed: int = 1) -> Result:
    """AER, precision, recall and F1, each with its interval (``aer_low`` and so on); the headline is AER.

    >>> gold = Alignments.from_pairs([[(0, 0), (1, 1), (2, 3), (2, 2), (3, 3)]], [[True] * 3 + [False] * 2])
    >>> found = Alignments.from_pairs([[(0, 0), (1, 1), (2, 2), (3, 1)]])
    >>> round(alignment_error(gold, found)["aer"], 3)
    0.286
    """
    rates = {"precision": _precision, "recall": _recall, "f1": _f1, "aer": _aer}
    figures, interval = bootstrap_all(_statistics(gold, found), rates, draws=draws, seed=seed)
    figures |= {
        "links": len(found.links),
        "sure": int(gold.sure.sum()),
        "possible": len(gold.links),
        "sentence_pairs": len(gold),
    }
    how = signature("aer", possible="sure or possible", interval=resampled("sentence pairs", draws, seed))
    return Result(figures, interval, how, LINKS, _text)


def _text(result: Result) -> str:
    lines = [
        f"{shown.label:>9}: {percent(result[shown.name])} "
        f"({percent(result[f'{shown.name}_low'])} to {percent(result[f'{shown.name}_high'])})"
        for shown in LINKS[:4]
    ]
    gold = f"{result['sure']:,} sure and {result['possible']:,} possible gold links"
    return "\n".join([*lines, f"{result['links']:,} links, {gold}"])


def compare_alignments(
    gold: Alignments, one: Alignments, other: Alignments, *, draws: int = 1000, seed: int = 1
) -> Comparison:
    """The AER of one alignment minus that of the other, by paired bootstrap over sentence pairs."""
    a, b = _statistics(gold, one), _statistics(gold, other)
    return compare(a, b, _aer, draws=draws, seed=seed, of=LINKS[0], items="sentence pairs")


def singleton_fertility(found: Alignments, text: Corpus, training: Corpus) -> float:
    """The mean number of links of the source tokens whose type occurs once in the training text; NaN if there are none.

    Rare words that collect links are the typical fault of aligners that know no fertility.
    """
    once = np.bincount(training.tokens, minlength=len(training.vocab)) == 1
    once[:FIRST] = False  # unknown words are many types
    known = training.vocab.mapping_from(text.vocab)[text.tokens]
    singletons = once[known]
    positions = text.sentence_starts[found.pairs] + found.links[:, 0]
    links = np.bincount(positions, minlength=text.n_tokens)
    return float(links[singletons].mean()) if singletons.any() else float("nan")
