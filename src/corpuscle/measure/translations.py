"""BLEU: how many short stretches of words translations share with those that people made (Papineni et al. 2002).

BLEU = exp(min(0, 1 - r/c) + mean over n = 1..4 of log(matches_n / totals_n)) of the sums over all sentences, where c
and r are the lengths of translations and references; a precision without matches is 1 / (2^k totals_n) for the k-th of
them, as mteval has it. Those are the definitions and the smoothing (``exp``) of sacreBLEU, and a test compares both.
Words are compared as they are; ``tokenise`` names one of sacreBLEU's tokenisers (13a, intl, zh, char, ...), which then
must be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corpuscle.errors import SettingError, require
from corpuscle.measure.bootstrap import bootstrap, compare, share
from corpuscle.measure.overlaps import Candidates, bleu_statistics
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.corpus import starts_of

_BLEU = Shown("bleu", "BLEU", ".")


def _tokeniser(name: str) -> Callable[[str], str]:
    if name == "none":
        return str
    metrics = require("sacrebleu.metrics", extra="translate")
    known = sorted(metrics.BLEU.TOKENIZERS)
    if name not in known:
        raise SettingError(f"the tokeniser is one of {', '.join(known)}, not {name!r}")
    made: Callable[[str], str] = metrics.BLEU(tokenize=name, force=True).tokenizer
    return made


def bleu_rows(translations: Sequence[str], references: Sequence[str], tokenise: str = "none") -> np.ndarray:
    """The statistics of every sentence, float64 (n, 10): matches and totals of 1- to 4-grams, and both lengths."""
    if len(translations) != len(references):
        raise ValueError(f"{len(translations)} translations, but {len(references)} references")
    split, ids = _tokeniser(tokenise), dict[str, int]()

    def numbered(lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = [[ids.setdefault(word, len(ids)) for word in split(line).split()] for line in lines]
        return np.array([word for row in rows for word in row], np.int32), starts_of(map(len, rows))

    items = np.arange(len(references))
    ones = np.arange(len(references) + 1)
    return bleu_statistics(Candidates(*numbered(translations), *numbered(references), ones, items))


def _figure(sums: np.ndarray) -> Any:
    """BLEU of sums (..., 10)."""
    matches, totals = sums[..., 0:8:2], sums[..., 1:8:2]
    misses = np.cumsum(matches == 0, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(matches > 0, matches / totals, 1.0 / (2.0**misses * totals))
        brevity = np.minimum(0.0, 1.0 - sums[..., 9] / sums[..., 8])
        value = np.exp(brevity + np.log(shares).mean(axis=-1))
    return np.where((totals > 0).all(axis=-1) & (matches[..., 0] > 0), value, 0.0)


def bleu(
    translations: Sequence[str], references: Sequence[str], *, tokenise: str = "none", draws: int = 1000, seed: int = 1
) -> Result:
    """Corpus BLEU, a fraction, with its 95 % interval, the four precisions and the ratio of lengths."""
    rows = bleu_rows(translations, references, tokenise)
    sums = rows.sum(axis=0) if len(rows) else np.zeros(10)
    figures: dict[str, float | int] = {"bleu": float(_figure(sums))}
    for n in range(4):
        figures[f"precision_{n + 1}"] = float(share(sums[2 * n], sums[2 * n + 1]))
    figures["length_ratio"] = float(share(sums[8], sums[9]))
    figures["sentences"] = len(rows)
    how = signature(
        "BLEU", references=1, case="mixed", tokeniser=tokenise, smoothing="exp",
        interval=resampled("sentences", draws, seed),
    )  # fmt: skip
    shown = (_BLEU, Shown("length_ratio", "length ratio", "."), Shown("sentences", "sentences", ","))
    return Result(figures, bootstrap(rows, _figure, draws=draws, seed=seed), how, shown)


def compare_bleu(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[str],
    *,
    tokenise: str = "none",
    draws: int = 1000,
    seed: int = 1,
) -> Comparison:
    """The BLEU of the first translations minus that of the second, by a paired bootstrap of sentences."""
    ours, theirs = (bleu_rows(each, references, tokenise) for each in (first, second))
    return compare(ours, theirs, _figure, draws=draws, seed=seed, of=_BLEU, items="sentences")
