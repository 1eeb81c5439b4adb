"""Perplexity: as how many equally likely words a text looks to a model.

``exp(-(1/N) sum ln P)`` over all predicted events: every token and one ``</s>`` a sentence, never ``<s>``. Words
outside the vocabulary are predicted as the unknown word and counted; since a model could look good by knowing few
words, the figure without them is given, too, with their number. The interval is a bootstrap over sentences.

Also what models are least sure of, the least sure first: where an annotator's minute is worth most. Each item has what
the model would say, in the form in which annotations are kept, how sure it is (``confidence``, 0..1), and which share
of an annotator's keystrokes that guess is expected to save: labelling n words takes n, correcting a guess one to accept
it and one for each word that is expected to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.measure.bootstrap import bootstrap_ratio, paired_bootstrap
from corpuscle.measure.result import Comparison, Result, Shown, resampled, signature
from corpuscle.text.wording import number, percent

TOKENS = (
    Shown("perplexity", "perplexity", "."), Shown("perplexity_without_oov", "without oov", "."),
    Shown("tokens", "tokens", ","), Shown("oov/tokens", "oov"), Shown("bits_per_token", "bits a token", "."),
)  # fmt: skip
LIKELIHOOD = (
    Shown("log_likelihood", "log-likelihood a token", "."), Shown("perplexity", "perplexity", "."),
    Shown("tokens", "tokens", ","), Shown("oov/tokens", "oov"), Shown("projected", "projected", "."),
    Shown("support", "support", "."),
)  # fmt: skip
LETTERS = (
    Shown("perplexity", "perplexity a letter", "."), Shown("letters", "letters", ","),
    Shown("unknown/letters", "unknown"), Shown("bits_per_letter", "bits a letter", "."),
)  # fmt: skip


def perplexity(
    log_probabilities: Any,
    tokens: Any,
    oov: Any = None,
    known_log_probabilities: Any = None,
    *,
    draws: int = 1000,
    seed: int = 1,
    events: str = "tokens and </s>",
    items: str = "sentences",
) -> Result:
    """Perplexity from sums by sentence.

    - ``log_probabilities``: natural log of the probability of each sentence (its ``</s>`` included);
    - ``tokens``: the number of its events, ``</s>`` included;
    - ``oov``: how many of them are out of vocabulary (default: none);
    - ``known_log_probabilities``: the log probability of the other events alone; needed when there are
      ``oov``;
    - ``events``, ``items``: what was predicted, and what the sums are of, for the signature.

    Figures: ``perplexity``, ``perplexity_without_oov``, ``tokens``, ``oov``, ``bits_per_token``, ``low``, ``high``.
    """
    log_probabilities = np.asarray(log_probabilities, np.float64)
    tokens = np.asarray(tokens, np.int64)
    n_tokens = int(tokens.sum())
    if n_tokens == 0:
        raise ValueError("perplexity needs at least one event")
    n_oov = 0 if oov is None else int(np.sum(oov))
    if known_log_probabilities is None:
        if n_oov:
            raise ValueError("with events out of vocabulary, known_log_probabilities is needed")
        known_log_probabilities = log_probabilities
    with np.errstate(all="ignore"):
        cross_entropy = -log_probabilities.sum() / n_tokens
        known = -np.sum(known_log_probabilities) / np.float64(n_tokens - n_oov)
        interval = bootstrap_ratio(-log_probabilities, tokens, draws=draws, seed=seed, transform=np.exp)
        figures = {
            "perplexity": float(np.exp(cross_entropy)),
            "perplexity_without_oov": float(np.exp(known)),
            "tokens": n_tokens,
            "oov": n_oov,
            "bits_per_token": float(cross_entropy / np.log(2)),
            "low": interval.low,
            "high": interval.high,
        }
    how = signature("perplexity", events=events, unknown="included", interval=resampled(items, draws, seed))
    return Result(figures, interval, how, TOKENS, _of_documents if items == "documents" else _of_sentences)


def _of_sentences(result: Result) -> str:
    known, ends = result["perplexity_without_oov"], " with </s>" if "</s>" in result.signature else ""
    one = "\nall unknown words count as one word, which is easy to predict: compare with models of the same words alone"
    return (
        f"perplexity {number(result['perplexity'])} (95 % {number(result['low'])} to {number(result['high'])})"
        + ("" if np.isnan(known) else f", without unknown words {number(known)}")
        + f"\n{result['tokens']:,} tokens{ends}, {result['oov']:,} unknown "
        f"({percent(result['oov'] / result['tokens'])}), {number(result['bits_per_token'])} bits a token"
        + (one if result["perplexity"] < known else "")
    )


def _of_documents(result: Result) -> str:
    known = result["perplexity_without_oov"]
    return (
        f"perplexity {number(result['perplexity'])} (95 % {number(result['low'])} to {number(result['high'])}), "
        f"{result['tokens']:,} words, {result['oov']:,} unknown"
        + (f", {number(known)} without them" if np.isfinite(known) else "")
    )


def token_likelihood(
    log_probabilities: Any, tokens: Any, more: Mapping[str, float | int], *, draws: int = 1000, seed: int = 1
) -> Result:
    """The mean log-likelihood per token, in nats, from sums by sentence: natural logs of probabilities, without an end
    of the sentence, and numbers of tokens.

    Figures: ``log_likelihood``, ``low``, ``high``, ``perplexity``, ``tokens``, and ``more`` of the caller's.
    """
    log_probabilities, tokens = np.asarray(log_probabilities, np.float64), np.asarray(tokens, np.int64)
    n_tokens = int(tokens.sum())
    if n_tokens == 0:
        raise SettingError("a likelihood needs at least one token that the model knows")
    with np.errstate(all="ignore"):
        mean = log_probabilities.sum() / n_tokens
        interval = bootstrap_ratio(log_probabilities, tokens, draws=draws, seed=seed)
        figures = {
            "log_likelihood": float(mean),
            "perplexity": float(np.exp(-mean)),
            "tokens": n_tokens,
            "low": interval.low,
            "high": interval.high,
            **more,
        }
    how = signature("log-likelihood", unit="nats", events="tokens", interval=resampled("sentences", draws, seed))
    return Result(figures, interval, how, LIKELIHOOD)


def letter_perplexity(
    log_probabilities: Any, letters: Any, more: Mapping[str, float | int], *, draws: int = 1000, seed: int = 1
) -> Result:
    """Perplexity per letter from sums by sentence: natural logs of the probabilities, and numbers of letters.

    Figures: ``perplexity``, ``low``, ``high``, ``bits_per_letter``, ``letters``, and ``more`` of the caller's, among
    them ``unknown``: how many letters the training text does not have.
    """
    found = perplexity(log_probabilities, letters, draws=draws, seed=seed, events="letters")
    figures = {name: found[name] for name in ("perplexity", "low", "high")}
    figures |= {"bits_per_letter": found["bits_per_token"], "letters": found["tokens"], **more}
    return Result(figures, found.interval, found.signature, LETTERS, _of_letters)


def _of_letters(result: Result) -> str:
    return (
        f"perplexity {number(result['perplexity'])} a letter ({number(result['low'])} to {number(result['high'])}), "
        f"{result['letters']:,} letters, {result['unknown']:,} of them unknown"
    )


def compare_perplexity(
    log_probabilities_a: Any, log_probabilities_b: Any, tokens: Any, *, draws: int = 1000, seed: int = 1
) -> Comparison:
    """The perplexity of model A minus that of model B on the same sentences (negative: A is better)."""
    a, b = np.asarray(log_probabilities_a, np.float64), np.asarray(log_probabilities_b, np.float64)
    of = Shown("perplexity", "perplexity", ".")
    with np.errstate(over="ignore"):
        return paired_bootstrap(-a, -b, tokens, draws=draws, seed=seed, transform=np.exp, of=of, items="sentences")


def expected_saving(confidence: Sequence[float]) -> float:
    """The share of keystrokes that a guess is expected to save, given how sure each of its parts is.

    >>> expected_saving([1.0, 1.0, 1.0, 0.0]), expected_saving([])
    (0.5, 0.0)
    """
    n = len(confidence)
    return max(0.0, 1.0 - (1.0 + sum(1.0 - sure for sure in confidence)) / n) if n else 0.0


def unsure_item(value: Mapping[str, Any], sure: Sequence[float]) -> dict[str, Any]:
    """An item for annotators: what a model would say, and how sure each part of that is."""
    return {"value": value, "confidence": min(sure, default=1.0), "by_part": sure, "saved": expected_saving(sure)}


def unsure_words(words: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The item of a sentence whose words have a ``confidence``, which is None where nothing was in doubt."""
    sure = [1.0 if (each := word.pop("confidence")) is None else each for word in words]
    return unsure_item({"words": words}, sure)


def least_sure(items: Iterable[dict[str, Any]], n: int, **more: Any) -> dict[str, Any]:
    """The n least sure items, each text once; ``more``: what goes with them."""
    once = {str(item["value"]): item for item in items}
    return {"items": sorted(once.values(), key=lambda item: item["confidence"])[:n], **more}
