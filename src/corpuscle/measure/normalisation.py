"""Normalised messages against what was meant, in lower case.

- ``precision``: the share of changed tokens that became what was meant (and was not typed); ``recall``: the share of
  ill-formed tokens, those that were not typed as they were meant, that became it; ``f1``; ``accuracy``: recall under
  the name that it has where the ill-formed tokens are known beforehand;
- ``word_accuracy``: tokens that are as they were meant, changed or not; ``error_reduction``: by what share there are
  fewer wrong tokens than were typed, negative if there are more;
- ``word_error_rate``: edits between the words of the messages (a token may become several), by the words meant.

Messages are resampled. Baldwin et al., "Shared tasks of the 2015 workshop on noisy user-generated text", 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpuscle.compiled import frozen
from corpuscle.measure.bootstrap import bootstrap_all, f1_rates, rate, share
from corpuscle.measure.overlaps import edit_distance
from corpuscle.measure.result import Result, Shown, resampled, signature
from corpuscle.measure.translations import bleu
from corpuscle.text.columns import Normalised

_SHOWN = (
    Shown("f1", "F1"), Shown("precision", "precision"), Shown("recall", "recall"),
    Shown("word_accuracy", "words as meant"), Shown("error_reduction", "fewer errors by"),
    Shown("word_error_rate", "word error rate"), Shown("bleu", "BLEU"), Shown("ill_formed", "ill-formed", ","),
    Shown("changed", "changed", ","), Shown("messages", "messages", ","),
)  # fmt: skip
_FIGURES = {
    "precision": rate(0, 1),
    "recall": rate(0, 2),
    "accuracy": rate(0, 2),
    "word_accuracy": rate(3, 4),
    "error_reduction": lambda sums: share(sums[..., 3] - sums[..., 4] + sums[..., 2], sums[..., 2]),
    "word_error_rate": rate(5, 6),
    "f1": f1_rates()["f1"],
}


def _text(forms: Sequence[str]) -> str:
    """The words of a message as one text in lower case."""
    return " ".join(" ".join(forms).lower().split())


def normalisation_counts(gold: Normalised, found: Sequence[Sequence[str]]) -> np.ndarray:
    """By message: changed and right, changed, ill-formed, as meant, tokens, word edits, words meant; float64 (n, 7)."""
    if len(gold) != len(found):
        raise ValueError(f"{len(gold)} gold messages, but {len(found)} normalised ones")
    rows = np.zeros((len(gold), 7))
    ids: dict[str, int] = {}
    for i, (typed, forms) in enumerate(zip(gold.corpus, found, strict=True)):
        meant = gold.standard(i)
        if len(forms) != len(meant):
            raise ValueError(f"message {i + 1} has {len(meant)} tokens, but {len(forms)} normalised ones")
        for one, right, form in zip(typed, meant, forms, strict=True):
            was, is_, should = one.lower(), form.lower(), right.lower()
            rows[i, :5] += (was != is_ == should, was != is_, was != should, is_ == should, 1)
        ours, theirs = (
            frozen(np.array([ids.setdefault(word, len(ids)) for word in _text(side).split()], np.int32), np.int32)
            for side in (forms, meant)
        )
        rows[i, 5:] = edit_distance(ours, theirs, max(len(ours), len(theirs))), len(theirs)
    return rows


def detection(
    gold: Normalised, found: Sequence[Sequence[str]], looked_at: Sequence[Sequence[bool]]
) -> dict[str, float]:
    """How well ill-formed tokens are detected, among those that are looked at: ``detection_precision``, the
    share of changed tokens that are ill-formed, ``detection_recall``, ``detection_f1``, ``detection_tokens``."""
    changed = wrong = both = tokens = 0
    for i, (typed, forms) in enumerate(zip(gold.corpus, found, strict=True)):
        for one, right, form, mine in zip(typed, gold.standard(i), forms, looked_at[i], strict=True):
            if mine:
                is_changed, is_wrong = one.lower() != form.lower(), one.lower() != right.lower()
                tokens, changed, wrong = tokens + 1, changed + is_changed, wrong + is_wrong
                both += is_changed and is_wrong
    figures = {"precision": float(share(both, changed)), "recall": float(share(both, wrong))}
    figures |= {"f1": float(share(2 * both, changed + wrong)), "tokens": tokens}
    return {f"detection_{name}": value for name, value in figures.items()}


def normalisation_scores(
    gold: Normalised, found: Sequence[Sequence[str]], *, draws: int = 1000, seed: int = 1
) -> Result:
    """Every figure with its 95 % interval; the headline interval is that of F1."""
    rows = normalisation_counts(gold, found)
    if not len(rows):
        raise ValueError("there are no messages to compare")
    values, interval = bootstrap_all(rows, _FIGURES, draws=draws, seed=seed)
    texts = [_text(forms) for forms in found], [_text(gold.standard(i)) for i in range(len(gold))]
    values["bleu"] = bleu(*texts, draws=1, seed=seed)["bleu"]
    sums = rows.sum(axis=0).astype(np.int64).tolist()
    values |= {"changed": sums[1], "ill_formed": sums[2], "tokens": sums[4], "messages": len(rows)}
    how = signature("normalisation", case="lower", interval=resampled("messages", draws, seed))
    return Result(values, interval, how, _SHOWN)
