"""Which language a message is in: byte n-grams of messages beside prototypes of languages.

The prototype q of a language is the distribution of byte n-grams (1 to 3) in some of its text; a message has another,
p. Their skew divergence

    s(p, q) = sum over x of p(x) log(p(x) / (a q(x) + (1 - a) p(x)))

is 0 where they are equal and stays finite where q lacks something; the language is that of the nearest prototype.

Lee, "On the effectiveness of the skew divergence for statistical language analysis", 2001; Baldwin and Lui, "Language
identification: the long and the short of the matter", 2010.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corpuscle.text.origin import error_about

__all__ = ["Languages"]

_ORDERS = (1, 2, 3)
_SKEW = 0.99
_TABLE = 1 << 16


def _grams(text: str) -> np.ndarray:
    """The byte n-grams of a text as numbers below 3 times ``_TABLE``: single bytes, pairs, and threes, the latter by a
    hash; int64."""
    data = np.frombuffer(f" {text.lower()} ".encode("utf-8", "surrogatepass"), np.uint8).astype(np.int64)
    pairs = data[:-1] * 256 + data[1:]
    threes = (pairs[:-1] * 40503 + data[2:] * 30011) % _TABLE
    return np.concatenate([data, _TABLE + pairs, 2 * _TABLE + threes])


class Languages:
    """Prototypes of languages: ``names``, and their distributions, float64 (n_languages, n_grams)."""

    def __init__(self, texts: Mapping[str, Sequence[str]]):
        if len(texts) < 2:
            reason = "languages are told apart from each other: give texts of two at least"
            raise error_about(next(iter(texts.values()), None), reason)
        self.names = sorted(texts)
        self.prototypes = np.zeros((len(texts), len(_ORDERS) * _TABLE))
        for row, name in zip(self.prototypes, self.names, strict=True):
            for line in texts[name]:
                np.add.at(row, _grams(line), 1.0)
            if not row.any():
                raise error_about(texts[name], f"the text of language {name} is empty")
            row /= row.sum()

    def __repr__(self) -> str:
        """What it can tell apart."""
        return f"<Languages {', '.join(self.names)}>"

    def divergences(self, message: str) -> np.ndarray:
        """The skew divergence of a message from each prototype: float64 (n_languages,)."""
        grams, counts = np.unique(_grams(message), return_counts=True)
        p = counts / counts.sum()
        return np.asarray((p * np.log(p / (_SKEW * self.prototypes[:, grams] + (1 - _SKEW) * p))).sum(axis=1))

    def language(self, message: str) -> str:
        """The language of the nearest prototype, of equal ones the first by alphabet."""
        return self.names[int(np.argmin(self.divergences(message)))]
