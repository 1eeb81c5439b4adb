"""Forest: sentences in which every token has a parent, its left neighbour (a chain) or its head (a tree).

Classes, hidden Markov models and what is made of them ask only which token each token hangs on, so one record serves
running text and treebanks. What a *word* is in a treebank is a choice: its form, its lemma, or one of them with its
part of speech (``head/NOUN``).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corpuscle.errors import InputError, SettingError
from corpuscle.text.conllu import is_treebank, read_conllu
from corpuscle.text.corpus import Corpus, Preprocessing, items_of, starts_of
from corpuscle.text.files import AnyPath, expand
from corpuscle.text.layers import Layer, Numbering, aligned_signature
from corpuscle.text.plain import read_text
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, START, UNKNOWN, Vocab

_ROOT = -1


def words_of(treebank: Treebank, layer: str = "form", preprocessing: Preprocessing | None = None) -> Corpus:
    """The words of a treebank as a text: its forms or lemmas, alone or with tags (``form/tag``). A token without a
    lemma is its form. White space inside a word becomes ``_``; preprocessing may not split words."""
    preprocessing = preprocessing or Preprocessing()
    if preprocessing.tokenise != "none":
        raise SettingError("tokenise means nothing for a treebank, which has its words already")
    name, _, tag = layer.partition("/")
    strings, words = list(treebank.corpus.vocab.strings), treebank.corpus.tokens.astype(np.int64)
    if name == "lemma":
        words = np.where(treebank.lemmas.ids != UNKNOWN, len(strings) + treebank.lemmas.ids, words)
        strings += treebank.lemmas.vocab.strings
    spellings = ["_".join(preprocessing.spell(string).split()) or "_" for string in strings]
    tags, endings = np.zeros(len(words), np.int64), [""]
    if tag:
        tags = treebank.tags.ids.astype(np.int64)
        endings = ["/_", *("/" + each for each in treebank.tags.vocab.strings[1:])]
    pairs, tokens = np.unique(words * len(endings) + tags, return_inverse=True)
    numbering = Numbering()
    numbering.add(spellings[pair // len(endings)] + endings[pair % len(endings)] for pair in pairs.tolist())
    ids, vocab = numbering.finish()
    tokens = ids[tokens]
    vocab.counts[:] = np.bincount(tokens, minlength=len(vocab))
    return dataclasses.replace(treebank.corpus, tokens=tokens, vocab=vocab)


@dataclass(frozen=True, eq=False)
class Forest:
    """Sentences whose tokens have parents.

    - ``corpus``: the words;
    - ``parents``: int32 (n_tokens,), the position of each token's parent among all tokens, -1 where it is the root;
    - ``relations``: the name of the link from each token to its parent, or None.

    >>> Forest.chain(Corpus.from_sentences([["a", "b"], ["c"]])).parents.tolist()
    [-1, 0, -1]
    """

    corpus: Corpus
    parents: np.ndarray
    relations: Layer | None = None

    @classmethod
    def chain(cls, corpus: Corpus) -> Forest:
        """Every token hangs on its left neighbour."""
        parents = np.arange(-1, len(corpus.tokens) - 1, dtype=np.int32)
        firsts = corpus.sentence_starts[:-1]
        parents[firsts[firsts < corpus.sentence_starts[1:]]] = _ROOT
        return cls(corpus, parents)

    @classmethod
    def tree(cls, treebank: Treebank, words: Corpus | None = None) -> Forest:
        """Every token hangs on its head; ``InputError`` for a word without a head, or heads that run in a circle.
        ``words``: what stands for the tokens, see ``words_of``, if not their forms."""
        treebank.check_trees()
        starts = treebank.corpus.sentence_starts
        heads = np.repeat(starts[:-1], np.diff(starts)) + treebank.heads - 1
        parents = np.where(treebank.heads > 0, heads, _ROOT).astype(np.int32)
        return cls(words or words_of(treebank), parents, treebank.relations)

    @classmethod
    def of(cls, text: Corpus | Forest, structure: str) -> Forest:
        """A text as a forest of the given structure, ``chain`` or ``tree``; trees cannot be made of running text."""
        if isinstance(text, Corpus | Treebank) and structure == "tree":
            raise SettingError("trees are needed: Forest.tree(read_conllu(path)) has them, running text has none")
        if isinstance(text, Forest):
            return text if structure == "tree" else cls.chain(text.corpus)
        return cls.chain(Corpus.checked(text))

    @classmethod
    def joined(cls, parts: Sequence[Forest]) -> Forest:
        """Several texts one after the other; without documents. Relations stay if all have them."""
        if len(parts) == 1:
            return parts[0]
        numbering, tokens, parents = Numbering(), [], []
        for part, before in zip(parts, starts_of(part.n_tokens for part in parts).tolist(), strict=False):
            mapping = np.append(np.arange(FIRST), numbering.add(part.corpus.vocab.strings[FIRST:])).astype(np.int32)
            tokens.append(mapping[part.corpus.tokens])
            parents.append(np.where(part.parents >= 0, part.parents + before, _ROOT).astype(np.int32))
        _, vocab = numbering.finish()
        vocab.counts[:] = sum(np.bincount(each, minlength=len(vocab)) for each in tokens)
        starts = starts_of(np.concatenate([part.corpus.lengths for part in parts]))
        layers = [part.relations for part in parts if part.relations is not None]
        relations = Layer.from_strings(name for layer in layers for name in layer.strings())
        corpus = Corpus(np.concatenate(tokens), starts, vocab)
        return cls(corpus, np.concatenate(parents), relations if len(layers) == len(parts) else None)

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, sentences: slice) -> Forest:
        corpus = self.corpus[sentences]
        return dataclasses.replace(self.select(np.arange(len(self))[sentences]), corpus=corpus)

    def select(self, sentences: np.ndarray) -> Forest:
        """Any sentences by index or mask, in that order."""
        source, starts = items_of(self.corpus.sentence_starts, sentences)
        moved = np.repeat(starts[:-1] - self.corpus.sentence_starts[:-1][sentences], np.diff(starts))
        parents = self.parents[source]
        return Forest(
            self.corpus.select(sentences),
            np.where(parents >= 0, parents + moved, _ROOT).astype(np.int32),
            None if self.relations is None else self.relations[source],
        )

    @property
    def n_tokens(self) -> int:
        return self.corpus.n_tokens

    @property
    def parent_words(self) -> np.ndarray:
        """The word that each token hangs on, ``START`` for the root; int32 (n_tokens,)."""
        return np.where(self.parents >= 0, self.corpus.tokens[self.parents], START).astype(np.int32)

    def recode(self, vocab: Vocab) -> Forest:
        """The same trees in the ids of another vocabulary; words that it lacks become ``UNKNOWN``."""
        return dataclasses.replace(self, corpus=self.corpus.recode(vocab))

    def signature(self) -> str:
        """A short hash of the words, their parents and relations."""
        relations = () if self.relations is None else (self.relations,)
        return aligned_signature(self.corpus.signature(), self.parents, *relations)


def forest_of(
    bank: Treebank, structure: str, layer: str = "form", preprocessing: Preprocessing | None = None
) -> Forest:
    """The words of a layer of a treebank as chains, or as its trees."""
    words = words_of(bank, layer, preprocessing)
    return Forest.chain(words) if structure == "chain" else Forest.tree(bank, words)


def read_forest(
    paths: Sequence[AnyPath], structure: str, layer: str = "form", preprocessing: Preprocessing | None = None
) -> Corpus | Forest:
    """Files as a text of the given structure; a Corpus where all of them are plain text, which has chains only. Files
    named ``.conllu`` are treebanks; so is stdin where trees are needed."""
    files = expand(list(paths))
    banks = [is_treebank(file) or (structure == "tree" and os.fspath(file) == "-") for file in files]
    if not any(banks) and structure == "chain":
        return read_text(*paths, preprocessing=preprocessing)
    parts = []
    for file, is_bank in zip(files, banks, strict=True):
        if is_bank:
            parts.append(forest_of(read_conllu(file), structure, layer, preprocessing))
        elif structure == "tree":
            raise InputError(file, None, "trees are needed, and this is no CoNLL-U file (.conllu)")
        else:
            parts.append(Forest.chain(read_text(file, preprocessing=preprocessing)))
    return Forest.joined(parts)
