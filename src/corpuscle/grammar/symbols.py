"""What a word is to an inducer of brackets: its tag, its class, or both, as one number.

A symbol is known by a hash of its tag (universal or fine) and of its class, so a model needs no vocabulary. Where both
count, every tag is a symbol, too, without a class: what is too rare or new is taken for that. A tag that was not seen
in training is the most frequent symbol with the same universal tag, or an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.grammar.sentences import Sentences
from corpuscle.grammar.tagsets import UNIVERSAL
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array
from corpuscle.words import WordFeatures

_MIX = np.uint64(0x9E3779B97F4A7C15)

SYMBOL_ARRAYS = {
    "symbols/keys": Array("uint64", ("symbols",), rising=True),
    "symbols/tags": Array("int64", ("symbols",), low=0, high="symbols"),
    "symbols/usual": Array("int64", (len(UNIVERSAL),), low=0, high="symbols"),
}


@dataclass(frozen=True, eq=False)
class WordSymbols:
    """The symbols of a model.

    - ``keys``: uint64 (n,), ascending; ``tags``: int64 (n,), the symbol of the tag alone (itself where it is one);
    - ``usual``: int64 (12,), the most frequent symbol of each universal tag, of all where there is none.
    """

    keys: np.ndarray
    tags: np.ndarray
    usual: np.ndarray

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def learn(cls, sentences: Sentences, what: str, sources: WordFeatures, fewest: int = 1) -> WordSymbols:
        """The symbols of the words (not the punctuation) of sentences; with a class only from ``fewest`` on."""
        tags, full = _keys(sentences, what, sources)
        tags, full, universal = (each[sentences.kept] for each in (tags, full, sentences.universal))
        if len(tags) == 0:
            raise sentences.bank.error("there are no words to learn from, but for punctuation")
        values, first, counts = np.unique(full, return_index=True, return_counts=True)
        chosen = counts >= fewest
        keys = np.unique(np.concatenate([tags, values[chosen]]))
        above = np.arange(len(keys))
        above[find(values[chosen], keys)] = find(tags[first[chosen]], keys)
        numbers = find(tags, keys)
        usual = np.full(len(UNIVERSAL), np.bincount(numbers).argmax(), np.int64)
        for tag in np.unique(universal).tolist():
            usual[tag] = np.bincount(numbers[universal == tag]).argmax()
        return cls(keys, above.astype(np.int64), usual)

    def of(self, sentences: Sentences, what: str, sources: WordFeatures, strict: bool = False) -> np.ndarray:
        """The symbols of all words that are kept, int32."""
        tags, full = _keys(sentences, what, sources)
        tags, full, universal = (each[sentences.kept] for each in (tags, full, sentences.universal))
        found = find(full, self.keys)
        found = np.where(found < 0, find(tags, self.keys), found)
        if strict and (found < 0).any():
            token = int(np.flatnonzero(sentences.kept)[np.argmax(found < 0)])
            sentence = int(np.searchsorted(sentences.bank.corpus.sentence_starts, token, side="right")) - 1
            reason = f"sentence {sentence + 1:,}: the tag {sentences.fine.strings()[token]!r} was not there in training"
            raise sentences.bank.error(reason, sentence)
        return np.where(found < 0, self.usual[universal], found).astype(np.int32)

    def arrays(self, prefix: str = "symbols/") -> dict[str, np.ndarray]:
        """As they go into a model file, see ``SYMBOL_ARRAYS``."""
        return {f"{prefix}keys": self.keys, f"{prefix}tags": self.tags, f"{prefix}usual": self.usual}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], prefix: str = "symbols/") -> WordSymbols:
        """As they stand in a model file."""
        return cls(*(arrays[prefix + name] for name in ("keys", "tags", "usual")))


def _keys(sentences: Sentences, what: str, sources: WordFeatures) -> tuple[np.ndarray, np.ndarray]:
    """Of each token the hash of its tag, and of its tag and class: uint64 (n_tokens,). Without tags in the text, or
    where classes stand for them, the class is the tag."""
    bank, classes = sentences.bank, None
    if what.endswith("classes"):
        if sources.n_columns == 0:
            raise SettingError(f"--symbols {what} needs word classes: give a class model")
        classes = sources.of(bank.corpus.vocab.strings)[:, 0][bank.corpus.tokens]
    if what == "classes":
        assert classes is not None
        return classes, classes
    if bank.corpus.n_tokens and not sentences.fine.ids.any():
        raise bank.error("the words have no tags; --symbols classes works with word classes alone")
    if what.startswith("universal"):
        tags = hashes_of([f"universal {name}" for name in UNIVERSAL])[sentences.universal]
    else:
        tags = hashes_of([f"fine {name}" for name in sentences.fine.values])[sentences.fine.ids]
    if classes is None:
        return tags, tags
    with np.errstate(over="ignore"):
        return tags, np.where(classes == 0, tags, tags * _MIX ^ classes)
