"""How likely a tag has a word: counts, smoothed twice, and classes of unknown words.

Words that are seen at most ``rare`` times are replaced by their signature: what they look like (capitals, digits,
hyphens) and the longest of their last letters that enough rare words share. Everything here is a distribution over the
words that are kept and the signatures. With c counts, a a tag of the grammar (``NP+NNP``), t its treebank tag (NNP),
s(x) the signature of x:

    p(x | t) = (c(t, x) + w p(s(x) | t) c(x) / c(s(x))) / (c(t) + w)
    p(x | a) = (c(a, x) + v p(x | t)) / (c(a) + v)

so a word can have any tag that words of its look have, and any chain above that tag. With v = w = 0 it is the relative
frequency.

Petrov, Barrett, Thibaux and Klein, "Learning accurate, compact, and interpretable tree annotation", 2006 (classes of
unknown words).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from corpuscle.grammar.preparation import Symbols

__all__ = ["UNKNOWN", "Lexicon", "signatures_of"]

UNKNOWN = "<>"
"""The signature of words that look like nothing before."""
_ENOUGH = 5


def signatures_of(word: str) -> list[str]:
    """What an unknown word looks like, the most telling first."""
    shape = "<"
    if word[:1].isupper():
        shape += "A" if len(word) > 1 and word.isupper() else "C"
    if any(c.isdigit() for c in word):
        shape += "0" if not any(c.isalpha() for c in word) else "1"
    if "-" in word:
        shape += "-"
    if not any(c.isalnum() for c in word):
        shape += "."
    ends = [word.lower()[-length:] for length in (3, 2, 1) if len(word) > length + 1 and word[-length:].isalpha()]
    return [*(f"{shape}>{end}" for end in ends), f"{shape}>"]


class Lexicon:
    """Counts of tags with words.

    - ``words``: the words that are kept; ``looks``: the signatures of others, whose entries follow those of the words;
    - ``counts``: float64 (n_entries, n_tags), sparse: how often a tag has a word or a signature;
    - ``chains``, ``classes``: v and w above.
    """

    def __init__(
        self, words: list[str], looks: list[str], counts: csr_array, symbols: Symbols, chains: float, classes: float
    ):
        self.words, self.looks, self.counts = words, looks, counts
        self.chains, self.classes = chains, classes
        self._number = {word: number for number, word in enumerate(words)}
        self._look = {look: number for number, look in enumerate(looks)}
        self._base = symbols.base
        look_of = [*(self._look_of(word) for word in words), *range(len(looks))]
        self._look_number = np.array(look_of, np.int64)
        self.by_tag = np.asarray(counts.sum(axis=0)).ravel()
        self._by_base = np.bincount(self._base, self.by_tag, len(symbols.bases))
        self._to_base = csr_array(
            (np.ones(len(self._base)), (np.arange(len(self._base)), self._base)),
            shape=(len(self._base), len(symbols.bases)),
        )
        of_entry = np.asarray(counts.sum(axis=1)).ravel()
        of_look = np.bincount(self._look_number, of_entry, len(looks))
        self._share = of_entry / np.maximum(of_look[self._look_number], 1e-300)
        looking = csr_array(
            (np.ones(len(look_of)), (look_of, np.arange(len(look_of)))), shape=(len(looks), len(look_of))
        )
        self._looks_by_base = (looking @ counts @ self._to_base).toarray() / np.maximum(self._by_base, 1e-300)

    @classmethod
    def learned(
        cls, words: Sequence[str], tags: np.ndarray, symbols: Symbols, rare: int, chains: float, classes: float
    ) -> tuple[Lexicon, np.ndarray]:
        """From words and the numbers of their tags (from 0 on); also the entry of every word, int64 (n_words,)."""
        seen = Counter(words)
        kept = sorted(word for word, count in seen.items() if count > rare)
        known = {word: number for number, word in enumerate(kept)}
        unknown = {word: count for word, count in seen.items() if count <= rare}
        common = Counter(look for word, count in unknown.items() for look in signatures_of(word) * count)
        chosen = {
            word: next((look for look in signatures_of(word) if common[look] >= _ENOUGH), UNKNOWN) for word in unknown
        }
        looks = sorted({*chosen.values(), UNKNOWN})
        number = known | {word: len(known) + looks.index(look) for word, look in chosen.items()}
        entries = np.array([number[word] for word in words], np.int64)
        table = np.ones(len(entries)), (entries, tags)
        counts = csr_array(table, shape=(len(known) + len(looks), len(symbols.base)))
        if classes > 0:  # words that look like nothing before have the tags of rare words, as one word that was seen
            rare_ones = entries >= len(known)
            shares = np.bincount(tags[rare_ones] if rare_ones.any() else tags, minlength=len(symbols.base))
            last = np.full(len(shares), len(known) + looks.index(UNKNOWN))
            extra = shares / shares.sum(), (last, np.arange(len(shares)))
            counts = csr_array(counts + csr_array(extra, shape=counts.shape))
        counts.sum_duplicates()
        counts.eliminate_zeros()
        counts.sort_indices()
        return cls(kept, looks, counts, symbols, chains, classes), entries

    def _look_of(self, word: str) -> int:
        return next((self._look[look] for look in signatures_of(word) if look in self._look), self._look[UNKNOWN])

    def entry(self, word: str, first: bool = False) -> int:
        """The number of a word, or of its class if it is unknown; the first word of a sentence may be written large."""
        number = self._number.get(word)
        if number is None and first:
            number = self._number.get(word[:1].lower() + word[1:])
        return len(self.words) + self._look_of(word) if number is None else number

    def entries(self, sentence: Sequence[str]) -> np.ndarray:
        """The entries of the words of a sentence, int64."""
        return np.array([self.entry(word, i == 0) for i, word in enumerate(sentence)], np.int64)

    def weights(self, entries: np.ndarray) -> np.ndarray:
        """How likely every tag has these entries, float64 (len(entries), n_tags)."""
        rows = self.counts[entries].toarray()
        looks = self._looks_by_base[self._look_number[entries]] * self._share[entries][:, None]
        base = (rows @ self._to_base + self.classes * looks) / np.maximum(self._by_base + self.classes, 1e-300)
        return (rows + self.chains * base[:, self._base]) / np.maximum(self.by_tag + self.chains, 1e-300)
