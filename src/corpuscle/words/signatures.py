"""Classes for rare words: what a word looks like tells more than that it is rare.

The signature of a word is whether it has a capital, a digit or a hyphen, and its last letters; rare words of one
signature share a type.
"""

from __future__ import annotations

import numpy as np

from corpuscle.text.vocab import FIRST, UNKNOWN, Vocab

__all__ = ["signature_of", "vocabulary_of"]

_SUFFIX = 2


def signature_of(word: str) -> str:
    """What a word looks like, as the name of a type.

    >>> signature_of("Walking"), signature_of("1,234"), signature_of("up")
    ('<unk:A:ng>', '<unk:0>', '<unk:>')
    """
    if any(map(str.isdecimal, word)):
        return "<unk:0>" if not any(map(str.isalpha, word)) else "<unk:0a>"
    marks = ("A" if word[:1].isupper() else "") + ("-" if "-" in word[1:-1] else "")
    ending = word[-_SUFFIX:].lower() if len(word) > 2 * _SUFFIX and word[-_SUFFIX:].isalpha() else ""
    return f"<unk:{':'.join(filter(None, (marks, ending)))}>"


def vocabulary_of(vocab: Vocab, min_count: int, max_types: int | None, rare: str) -> tuple[Vocab, np.ndarray]:
    """A vocabulary cut at these bounds and sorted by falling counts, and a map from old ids to new ones, int32.

    With ``rare`` "signature" the types below are put into classes by their signatures, those classes that are not rare
    themselves; everything else is ``UNKNOWN``.
    """
    if rare == "signature":
        _, mapping = vocab.cut(min_count, max_types)
        gone = np.flatnonzero(mapping[FIRST:] == UNKNOWN) + FIRST
        names = [signature_of(vocab.word(int(id))) for id in gone]
        # Strings of the text that are spelled like a class are of that class.
        strings = np.array(vocab.strings[FIRST:], dtype=object)
        strings[gone - FIRST] = names
        unique = {word: number for number, word in enumerate(dict.fromkeys(strings))}
        numbers = np.array([unique[word] for word in strings], np.int64)
        counts = np.bincount(numbers, vocab.counts[FIRST:], len(unique)).astype(np.int64)
        merged = Vocab.from_words(unique, counts)
        merged.counts[:FIRST] = vocab.counts[:FIRST]
        first = np.concatenate([np.arange(FIRST), FIRST + numbers])
        smaller, second = merged.cut(min_count)
        mapping = second[first]
    else:
        smaller, mapping = vocab.cut(min_count, max_types)
    order = np.argsort(-smaller.counts[FIRST:], kind="stable") + FIRST
    rank = np.arange(len(smaller), dtype=np.int32)
    rank[order] = np.arange(FIRST, len(smaller))
    counts = smaller.counts
    result = smaller.subset(order)
    result.counts = np.concatenate([counts[:FIRST], counts[order]])
    return result, rank[mapping]
