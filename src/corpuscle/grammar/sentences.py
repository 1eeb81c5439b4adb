"""Sentences as the inducers of brackets see them: tags, what is punctuation, where a sentence's top bracket may be.

Trees are over words; punctuation is taken out first and put back last. The distances of words cannot tell where a tree
is rooted, so the place of the top bracket comes from elsewhere: R is the number, among the words, of the first word of
the right part. ``heuristic_tops``, on the whole sentence:

1. from right to left, the first comma, semicolon or colon that has a verb before it, and behind it a noun (or pronoun)
   with a verb somewhere behind that: R is the first word behind the mark;
2. else the first finite verb, or the second word if that is the first;
3. else the second word.

Parikh, Cohen and Xing, "Spectral unsupervised parsing with additive tree metrics", 2014, section 4.3.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from corpuscle.errors import warn
from corpuscle.grammar.tagsets import PUNCTUATION, UNIVERSAL, TagMap
from corpuscle.text.corpus import items_of
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees

_MARKS = frozenset(",;:，；：、")
_VERB, _NOUNS, _X = UNIVERSAL.index("VERB"), [UNIVERSAL.index("NOUN"), UNIVERSAL.index("PRON")], UNIVERSAL.index("X")
_POINT = UNIVERSAL.index(PUNCTUATION)


def bank_of_trees(trees: Trees) -> Treebank:
    """The words of trees, with the labels of the nodes right above them as XPOS."""
    nodes = trees._word_nodes
    labels = np.where(trees.preterminals[nodes], trees.labels.ids[nodes], 0).astype(np.int32)
    tags = Layer(labels, trees.labels.vocab).strings()
    starts = trees.words.sentence_starts.tolist()
    return Treebank.from_sentences(trees.words, xpos=[tags[a:b] for a, b in pairwise(starts)])


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
            points = np.array([bool(form) and _is_punctuation(form) for form in forms])
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
        before = np.concatenate([[0], np.cumsum(kept)])
        starts = before[bank.corpus.sentence_starts].astype(np.int64)
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

    def marks(self) -> np.ndarray:
        """Which tokens are commas, semicolons or colons, bool (n_tokens,)."""
        names = np.array([form in _MARKS for form in self.bank.corpus.vocab.strings])
        return names[self.bank.corpus.tokens] & ~self.kept


def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character)[0] in "PS" for character in form)


def heuristic_tops(sentences: Sentences) -> np.ndarray:
    """R of each sentence, see the top: int64 (n_sentences,); 1 also where there are fewer than two words."""
    verbs, nouns, marks = sentences.universal == _VERB, np.isin(sentences.universal, _NOUNS), sentences.marks()
    words_before = np.concatenate([[0], np.cumsum(sentences.kept)])
    tops = np.ones(len(sentences), np.int64)
    for which, (a, b) in enumerate(pairwise(sentences.bank.corpus.sentence_starts.tolist())):
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
