"""Sentences as the inducers of brackets see them: tags, what is punctuation, where a sentence's top bracket may be.

Trees are over words; punctuation is taken out first and put back last. The distances of words cannot tell where a tree
is rooted, so the place of the top bracket is decided separately: R is the number, among the words, of the first word of
the right part. ``heuristic_tops``, on the whole sentence:

1. from right to left, the first comma, semicolon or colon that has a verb before it, and behind it a noun (or pronoun)
   with a verb somewhere behind that: R is the first word behind the mark;
2. else the first finite verb, or the second word if that is the first;
3. else the second word.

Induction of brackets wants few tags, the same in every language: verbs, nouns and punctuation must be known as such. A
``TagMap`` from the tags of a treebank to the twelve universal ones is a list of patterns: a tag, or the beginning of
tags and a ``*``; the longest that fits wins. Built in are those of Universal Dependencies and of the Penn treebank;
others come from a file of lines ``PATTERN<tab>UNIVERSAL``, with ``nonfinite`` behind another tab for verb forms that do
not begin a predicate (participles).

To an inducer a word is its symbol, one number for its tag, its class, or both (``WordSymbols``). A symbol is known by a
hash of its tag (universal or fine) and of its class, so a model needs no vocabulary. Where both count, every tag is a
symbol, too, without a class: what is too rare or new is taken for that. A tag that was not seen in training is the most
frequent symbol with the same universal tag, or an error.

Parikh, Cohen and Xing, "Spectral unsupervised parsing with additive tree metrics", 2014, section 4.3; Petrov, Das and
McDonald, "A universal part-of-speech tagset", 2012.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array
from corpuscle.text.corpus import items_of, starts_of
from corpuscle.text.files import AnyPath
from corpuscle.text.layers import Layer
from corpuscle.text.tables import read_table
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.words import WordFeatures

# ---- universal tags


UNIVERSAL = ("VERB", "NOUN", "PRON", "ADJ", "ADV", "ADP", "CONJ", "DET", "NUM", "PRT", "X", ".")
PUNCTUATION = "."
_NONFINITE = "nonfinite"

_BUILT_IN = {
    "VERB": "VERB AUX VB VBD VBP VBZ MD",
    "VERB nonfinite": "VBG VBN",
    "NOUN": "NOUN PROPN NN NNS NNP NNPS NML",
    "PRON": "PRON PRP PRP$ WP WP$ EX",
    "ADJ": "ADJ JJ JJR JJS AFX",
    "ADV": "ADV RB RBR RBS WRB",
    "ADP": "ADP IN",
    "CONJ": "CONJ CCONJ SCONJ CC",
    "DET": "DET DT PDT WDT",
    "NUM": "NUM CD",
    "PRT": "PRT PART POS RP TO",
    "X": "X INTJ SYM FW UH LS GW ADD $ # XX",
    ".": ". PUNCT , : `` '' -LRB- -RRB- HYPH NFP",
}


@dataclass(frozen=True)
class TagMap:
    """``rows``: pattern -> (universal tag, whether a verb is finite)."""

    rows: Mapping[str, tuple[str, bool]]

    @classmethod
    def from_patterns(cls, patterns: Iterable[tuple[str, str, bool]]) -> TagMap:
        """From (pattern, universal tag, whether finite); of equal patterns the last one counts."""
        return cls({name: (tag, finite) for name, tag, finite in patterns})

    @classmethod
    @cache
    def built_in(cls) -> TagMap:
        """The tags of Universal Dependencies and of the Penn treebank."""
        return cls.from_patterns(
            (name, target.split()[0], _NONFINITE not in target)
            for target, names in _BUILT_IN.items()
            for name in names.split()
        )

    @classmethod
    def observed(cls, bank: Treebank) -> TagMap:
        """What XPOS of a treebank are as universal tags, where all words have both; else the map that is built in."""
        if not (bank.xpos.ids.any() and bank.tags.ids.any()):
            return cls.built_in()
        universal = {tag: (cls.built_in().of(tag) or ("X", True))[0] for tag in bank.tags.values}
        finite = {value: "VerbForm=Part" not in value for value in bank.features.values}
        layers = (bank.xpos, bank.tags, bank.features)
        counts = Counter(
            (name, universal[tag], finite[features])
            for name, tag, features in zip(*(layer.strings() for layer in layers), strict=True)
        )
        return cls.from_patterns(sorted(counts, key=lambda row: (counts[row], row)))  # the most frequent is the last

    def patterns(self) -> list[tuple[str, str, bool]]:
        """All rows, whole tags first."""
        return sorted(((name, *target) for name, target in self.rows.items()), key=lambda row: row[0].endswith("*"))

    def of(self, tag: str) -> tuple[str, bool] | None:
        """The universal tag and whether it is finite; None if no pattern fits.

        >>> TagMap.built_in().of("VBG")
        ('VERB', False)
        """
        patterns = [tag, *(f"{tag[:end]}*" for end in range(len(tag), -1, -1))]
        return next((self.rows[pattern] for pattern in patterns if pattern in self.rows), None)


def read_tag_map(path: AnyPath) -> TagMap:
    """A map from a file, see the top."""
    rows = []
    for number, fields in read_table(path, skip_blank=True):
        if len(fields) not in (2, 3) or not fields[0]:
            raise InputError(path, number, "a line is PATTERN, a tab, a universal tag, and perhaps a tab and nonfinite")
        if fields[1] not in UNIVERSAL:
            raise InputError(path, number, f"{fields[1][:40]!r} is no universal tag; those are {' '.join(UNIVERSAL)}")
        if len(fields) == 3 and (fields[2] != _NONFINITE or fields[1] != "VERB"):
            raise InputError(path, number, f"only a VERB can be {_NONFINITE}, not {fields[2][:40]!r}")
        rows.append((fields[0], fields[1], len(fields) == 2))
    if not rows:
        raise InputError(path, None, "an empty map of tags")
    return TagMap.from_patterns(rows)


_MARKS = frozenset(",;:，；：、")
_VERB, _NOUNS, _X = UNIVERSAL.index("VERB"), [UNIVERSAL.index("NOUN"), UNIVERSAL.index("PRON")], UNIVERSAL.index("X")
_POINT = UNIVERSAL.index(PUNCTUATION)


def bank_of_trees(trees: Trees) -> Treebank:
    """The words of trees, with the labels of the nodes right above them as XPOS."""
    tags = Layer.from_strings([tag or "_" for tag in trees.word_tags])
    return Treebank.from_sentences(trees.words).replace(xpos=tags)


@dataclass(frozen=True, eq=False)
class Sentences:
    """A treebank of which only words and tags are used.

    - ``bank``; ``fine``: the tags of its own (XPOS where there are any, else UPOS);
    - ``universal``: int64 (n_tokens,), numbers in ``UNIVERSAL``; ``finite``: bool (n_tokens,), of verbs;
    - ``kept``: bool (n_tokens,), what is not punctuation; ``starts``: int64 (n_sentences + 1,), where sentences begin
      among the words that are kept.
    """

    bank: Treebank
    fine: Layer
    universal: np.ndarray
    finite: np.ndarray
    kept: np.ndarray
    starts: np.ndarray

    @classmethod
    def from_bank(cls, bank: Treebank, tag_map: TagMap | None = None, *, strict: bool = False) -> Sentences:
        """Map the tags; those that no pattern fits are X, with a warning, or an error if it is ``strict``. Without any
        tags all words are X, but for those of punctuation characters."""
        tag_map = tag_map or TagMap.built_in()
        n = bank.corpus.n_tokens
        fine = bank.xpos if bank.xpos.ids.any() else bank.tags
        layer = fine if tag_map is not TagMap.built_in() or not bank.tags.ids.any() else bank.tags
        if not layer.ids.any():
            forms = bank.corpus.vocab.strings
            points = np.array([bool(form) and all(unicodedata.category(c)[0] in "PS" for c in form) for form in forms])
            universal = np.where(points[bank.corpus.tokens], _POINT, _X)
            return cls._kept(bank, fine, universal, np.zeros(n, bool))
        found = [tag_map.of(tag) for tag in layer.values]
        lacking = [layer.values[id] for id in np.unique(layer.ids).tolist() if found[id] is None]
        if lacking:
            reason = f"no universal tag is known for {', '.join(lacking[:8])}{' ...' if len(lacking) > 8 else ''}"
            if strict:
                raise bank.error(f"{reason}: give a map of tags")
            warn(f"{reason}: they are X")
        tags = np.array([_X if each is None else UNIVERSAL.index(each[0]) for each in found])
        finite = np.array([each is not None and each[1] for each in found])[layer.ids]
        participles = np.array(["VerbForm=Part" in value for value in bank.features.values])
        return cls._kept(bank, fine, tags[layer.ids], finite & ~participles[bank.features.ids])

    @classmethod
    def _kept(cls, bank: Treebank, fine: Layer, universal: np.ndarray, finite: np.ndarray) -> Sentences:
        kept = universal != _POINT
        starts = starts_of(kept)[bank.corpus.sentence_starts]
        return cls(bank, fine, universal.astype(np.int64), finite & (universal == _VERB), kept, starts)

    def __len__(self) -> int:
        return len(self.bank)

    @property
    def lengths(self) -> np.ndarray:
        """How many words each sentence has, without punctuation: int64 (n_sentences,)."""
        return np.diff(self.starts)

    def select(self, sentences: np.ndarray) -> Sentences:
        """Any sentences by index or mask, in that order."""
        bank = self.bank.select(sentences)
        tokens, _ = items_of(self.bank.corpus.sentence_starts, np.arange(len(self))[sentences])
        return Sentences._kept(bank, self.fine[tokens], self.universal[tokens], self.finite[tokens])


def heuristic_tops(sentences: Sentences) -> np.ndarray:
    """R of each sentence, see the top: int64 (n_sentences,); 1 also where there are fewer than two words."""
    corpus = sentences.bank.corpus
    verbs, nouns = sentences.universal == _VERB, np.isin(sentences.universal, _NOUNS)
    marks = np.array([form in _MARKS for form in corpus.vocab.strings])[corpus.tokens] & ~sentences.kept
    words_before = starts_of(sentences.kept)
    tops = np.ones(len(sentences), np.int64)
    for which, (a, b) in enumerate(pairwise(corpus.sentence_starts.tolist())):
        of_verbs = a + np.flatnonzero(verbs[a:b])
        if len(of_verbs) == 0:
            continue
        # A mark is good if it stands behind the first verb and before a noun that stands before the last verb.
        of_nouns = a + np.flatnonzero(nouns[a:b])
        last_noun = of_nouns[of_nouns < of_verbs[-1]].max(initial=-1)
        good = a + np.flatnonzero(marks[a:b])
        good = good[(good > of_verbs[0]) & (good < last_noun)]
        finite = a + np.flatnonzero(sentences.finite[a:b])
        if len(good):
            tops[which] = words_before[good[-1]] - words_before[a]
        elif len(finite):
            tops[which] = max(1, words_before[finite[0]] - words_before[a])
    return tops


def gold_spans(trees: Trees, kept: np.ndarray) -> list[np.ndarray]:
    """The brackets of each tree over its kept words (bool (n_words,)), of at least two words, each once and the whole
    sentence among them: int64 (n_brackets, 2)."""
    bare = trees.without_words(~kept)
    lengths, spans = bare.words.lengths.tolist(), []
    for n, (a, b) in zip(lengths, pairwise(bare.tree_starts.tolist()), strict=True):
        own = np.concatenate([bare.spans[a:b].astype(np.int64), [[0, n]]])
        spans.append(np.unique(own[own[:, 1] - own[:, 0] > 1], axis=0).reshape(-1, 2))
    return spans


def oracle_tops(spans: list[np.ndarray], lengths: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """R from gold brackets: the inner end of the widest one that is not the whole sentence and touches either end (that
    at the right end, of two); ``otherwise`` where there is none."""
    tops = otherwise.copy()
    for which, (own, n) in enumerate(zip(spans, lengths.tolist(), strict=True)):
        at_end = own[(own[:, 1] == n) & (own[:, 0] > 0), 0]
        at_begin = own[(own[:, 0] == 0) & (own[:, 1] < n), 1]
        right, left = at_end.min(initial=n), at_begin.max(initial=0)
        if len(at_end) and n - right >= left:
            tops[which] = right
        elif len(at_begin):
            tops[which] = left
    return tops


# ---- symbols


_MIX = np.uint64(0x9E3779B97F4A7C15)


def symbol_arrays(name: str) -> dict[str, Array]:
    """The arrays of ``WordSymbols`` in a file."""
    return {
        f"{name}/keys": Array("uint64", (name,), rising=True),
        f"{name}/tags": Array("int64", (name,), low=0, high=name),
        f"{name}/usual": Array("int64", (len(UNIVERSAL),), low=0, high=name),
    }


class WordSymbols(NamedTuple):
    """The symbols of a model.

    - ``keys``: uint64 (n,), ascending; ``tags``: int64 (n,), the symbol of the tag alone (itself where it is one);
    - ``usual``: int64 (12,), the most frequent symbol of each universal tag, of all where there is none.
    """

    keys: np.ndarray
    tags: np.ndarray
    usual: np.ndarray

    @classmethod
    def learn(cls, sentences: Sentences, what: str, sources: WordFeatures, fewest: int = 1) -> WordSymbols:
        """The symbols of the words (not the punctuation) of sentences; with a class only from ``fewest`` on."""
        tags, full = _keys(sentences, what, sources)
        universal = sentences.universal[sentences.kept]
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
        universal = sentences.universal[sentences.kept]
        found = find(full, self.keys)
        found = np.where(found < 0, find(tags, self.keys), found)
        if strict and (found < 0).any():
            token = int(np.flatnonzero(sentences.kept)[np.argmax(found < 0)])
            sentence = int(np.searchsorted(sentences.bank.corpus.sentence_starts, token, side="right")) - 1
            reason = f"sentence {sentence + 1:,}: the tag {sentences.fine.strings()[token]!r} was not there in training"
            raise sentences.bank.error(reason, sentence)
        return np.where(found < 0, self.usual[universal], found).astype(np.int32)


def _keys(sentences: Sentences, what: str, sources: WordFeatures) -> tuple[np.ndarray, np.ndarray]:
    """Of each word that is kept the hash of its tag, and of its tag and class: uint64 (n_words,). Without tags in the
    text, or where classes stand for them, the class is the tag."""
    bank, kept, classes = sentences.bank, sentences.kept, None
    if what.endswith("classes"):
        if sources.n_columns == 0:
            raise SettingError(f"--symbols {what} needs word classes: give a class model")
        classes = sources.of(bank.corpus.vocab.strings)[:, 0][bank.corpus.tokens[kept]]
    if what == "classes":
        assert classes is not None
        return classes, classes
    if bank.corpus.n_tokens and not sentences.fine.ids.any():
        raise bank.error("the words have no tags; --symbols classes works with word classes alone")
    if what.startswith("universal"):
        tags = hashes_of([f"universal {name}" for name in UNIVERSAL])[sentences.universal[kept]]
    else:
        tags = hashes_of([f"fine {name}" for name in sentences.fine.values])[sentences.fine.ids[kept]]
    if classes is None:
        return tags, tags
    with np.errstate(over="ignore"):
        return tags, np.where(classes == 0, tags, tags * _MIX ^ classes)
