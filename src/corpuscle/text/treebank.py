"""Treebank: a corpus of word forms with layers of annotation aligned to its tokens.

``heads`` follow the files of the field: the head of a word is the number of another word of its sentence, counted from
1; 0 means that the word is the root, -1 that no head is given. So ``heads - 1`` are zero-based positions, and a heads
array can go straight to a parser whose position 0 is an artificial root. All other layers are ids with their own
vocabulary (see ``Layer``), id 0 where the file has ``_``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike
from typing import Any

import numpy as np

from corpuscle.errors import InputError, UnfitData, expect
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.layers import Layer, flattened
from corpuscle.text.origin import Origin, Sourced

LAYERS = ("lemmas", "tags", "xpos", "features", "relations", "deps", "misc")
"""The layers of a treebank other than ``heads``, in the order of the columns of a CoNLL-U file."""


@dataclass(frozen=True, eq=False)
class Insertions:
    """Lines between the words of a CoNLL-U file: multiword ranges (``3-4``) or empty nodes (``5.1``).

    - ``sentences``: int64 (n,), the sentence of each, non-decreasing;
    - ``numbers``: int32 (n, 2): first and last word of a range, or the word before an empty node and its own number;
    - ``columns``: the other nine columns, verbatim, joined by tabs.
    """

    sentences: np.ndarray
    numbers: np.ndarray
    columns: tuple[str, ...]

    @classmethod
    def build(cls, rows: Iterable[tuple[int, int, int, str]] = ()) -> Insertions:
        """From rows of sentence, number, number, columns."""
        rows = list(rows)
        return cls(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1:3] for row in rows], np.int32).reshape(len(rows), 2),
            tuple(row[3] for row in rows),
        )

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def forms(self) -> list[str]:
        """The FORM of each line."""
        return [columns.split("\t", 1)[0] for columns in self.columns]

    def of(self, sentence: int) -> list[tuple[int, int, str]]:
        """The lines of one sentence: number, number, columns."""
        begin, end = np.searchsorted(self.sentences, [sentence, sentence + 1])
        numbers = self.numbers[begin:end].tolist()
        return [(a, b, columns) for (a, b), columns in zip(numbers, self.columns[begin:end], strict=True)]

    def select(self, chosen: np.ndarray) -> Insertions:
        """The lines of the chosen sentences, which are numbered anew in that order."""
        return Insertions.build((new, *line) for new, old in enumerate(chosen.tolist()) for line in self.of(old))


_NOTHING = Insertions.build()


@dataclass(frozen=True, eq=False)
class Treebank(Sourced):
    """Sentences with trees and tags. All layers are as long as ``corpus.tokens``.

    - ``corpus``: the word forms; ``# newdoc`` comments are its documents;
    - ``heads``: int32, see above; ``relations``: their names;
    - ``tags``: universal tags (UPOS); ``xpos``: tags of the treebank's own; ``lemmas``; ``features``: the whole FEATS
      string as one value (``feature()`` takes it apart); ``deps``: enhanced dependencies, verbatim; ``misc``;
    - ``comments``: for each sentence its lines that begin with ``#``;
    - ``ranges``, ``empties``: multiword tokens and empty nodes.
    """

    corpus: Corpus
    heads: np.ndarray
    relations: Layer
    tags: Layer
    xpos: Layer
    lemmas: Layer
    features: Layer
    deps: Layer
    misc: Layer
    comments: tuple[tuple[str, ...], ...]
    ranges: Insertions = _NOTHING
    empties: Insertions = _NOTHING

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        heads: Iterable[Sequence[int]] | None = None,
        comments: Iterable[Sequence[str]] | None = None,
        origin: Origin | None = None,
        **layers: Iterable[Sequence[str]],
    ) -> Treebank:
        """From sentences of strings; each layer (a name of ``LAYERS``) is a sequence of the same shape. The
        origin of a Corpus of sentences stays.

        >>> bank = Treebank.from_sentences([["dogs", "bark"]], heads=[[2, 0]], tags=[["NOUN", "VERB"]])
        >>> bank.tags.strings(), bank.lemmas.strings()
        (['NOUN', 'VERB'], ['_', '_'])
        """
        if not set(layers) <= set(LAYERS):
            raise TypeError(f"no such layer: {', '.join(sorted(set(layers) - set(LAYERS)))}")
        origin = origin or getattr(sentences, "origin", None)
        sentences = list(sentences)
        corpus = dataclasses.replace(Corpus.from_sentences(sentences), origin=origin and origin.by_item())
        columns: dict[str, Any] = dict.fromkeys(LAYERS, Layer.unset(corpus.n_tokens))
        columns |= {name: Layer.from_strings(flattened(name, rows, sentences)) for name, rows in layers.items()}
        lines = tuple(tuple(rows) for rows in comments) if comments is not None else ((),) * len(corpus)
        if len(lines) != len(corpus):
            raise ValueError(f"comments for {len(lines)} sentences, but there are {len(corpus)}")
        numbers = np.full(corpus.n_tokens, -1, np.int32)
        if heads is not None:
            numbers[:] = flattened("heads", heads, sentences)
        return cls(corpus, numbers, **columns, comments=lines)

    @classmethod
    def checked(cls, value: Any) -> Treebank:
        """A Treebank as it is; or what a path (CoNLL-U) or a list of lists of words stands for."""
        if isinstance(value, str | PathLike):
            from corpuscle.text.conllu import read_conllu

            return read_conllu(value)
        if isinstance(value, list | tuple) and value and all(isinstance(item, list | tuple) for item in value):
            return cls.from_sentences(value)
        if isinstance(value, Corpus):
            return cls.from_sentences(value)
        return expect(value, cls, "read_conllu(path) or Treebank.from_sentences([[...], ...], heads=...) makes one")

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def origin(self) -> Origin | None:
        return self.corpus.origin

    def filled(self, what: str = "treebank") -> Treebank:
        """The treebank itself, unless it has no words, which is an error."""
        self.corpus.filled(what)
        return self

    def __getitem__(self, sentences: slice) -> Treebank:
        return self._part(self.corpus[sentences], np.arange(len(self))[sentences])

    def select(self, sentences: np.ndarray) -> Treebank:
        """Any sentences by index or mask, in that order; documents are not kept."""
        return self._part(self.corpus.select(sentences), np.arange(len(self))[sentences])

    def _part(self, corpus: Corpus, chosen: np.ndarray) -> Treebank:
        """The layers that belong to the chosen sentences."""
        tokens, _ = items_of(self.corpus.sentence_starts, chosen)
        return Treebank(
            corpus,
            self.heads[tokens],
            **{name: getattr(self, name)[tokens] for name in LAYERS},
            comments=tuple(self.comments[i] for i in chosen),
            ranges=self.ranges.select(chosen),
            empties=self.empties.select(chosen),
        )

    def replace(self, **layers: np.ndarray | Layer) -> Treebank:
        """The same sentences with other layers: ``treebank.replace(heads=heads, relations=relations)``."""
        for name, layer in layers.items():
            if name != "heads" and name not in LAYERS:
                raise TypeError(f"no such layer: {name}")
            if len(layer) != len(self.corpus.tokens):
                raise ValueError(f"{name} has {len(layer)} values for {len(self.corpus.tokens)} tokens")
        return dataclasses.replace(self, **layers)  # type: ignore[arg-type]

    def without(self, *layers: str) -> Treebank:
        """The same sentences without the values of some layers.

        >>> Treebank.from_sentences([["a"]], tags=[["X"]]).without("tags").tags.strings()
        ['_']
        """
        return self.replace(**dict.fromkeys(layers, Layer.unset(len(self.heads))))

    def with_misc(self, name: str, values: Sequence[str]) -> Treebank:
        """The same sentences with ``name=value`` in the MISC of every token; what it had by that name goes.

        >>> bank = Treebank.from_sentences([["a", "b"]], misc=[["SpaceAfter=No|Class=2", "_"]])
        >>> bank.with_misc("Class", ["7", "1"]).misc.strings()
        ['SpaceAfter=No|Class=7', 'Class=1']
        """

        @cache
        def noted(before: str, value: str) -> str:
            kept = [note for note in before.split("|") if note != "_" and note.partition("=")[0] != name]
            return "|".join([*kept, f"{name}={value}"])

        pairs = zip(self.misc.strings(), values, strict=True)
        return self.replace(misc=Layer.from_strings(noted(before, value) for before, value in pairs))

    def without_words(self, dropped: np.ndarray) -> Treebank:
        """The sentences without some words, a mask bool (n_tokens,): what hung on one hangs on its head. If it was the
        root, the first of its words is the new one, and the others hang on that.

        Sentences without any other word go, and so do multiword ranges and empty nodes.

        >>> bank = Treebank.from_sentences([["(", "a", ")", "b"]], heads=[[3, 1, 0, 3]])
        >>> bank.without_words(np.array([True, False, True, False])).heads.tolist()
        [0, 1]
        """
        self.check_trees()
        starts, kept = self.corpus.sentence_starts, np.flatnonzero(~dropped)
        first = np.repeat(starts[:-1], np.diff(starts))
        root = len(self.heads)
        up = np.append(np.where(self.heads > 0, first + self.heads - 1, root), root)
        gone = np.append(dropped, False)
        while gone[up[kept]].any():
            up = np.where(gone[up], up[up], up)
        sentences = np.searchsorted(starts, kept, side="right") - 1
        is_root = up[kept] == root
        top = np.full(len(starts) - 1, root)
        np.minimum.at(top, sentences[is_root], kept[is_root])
        heads = np.where(is_root & (top[sentences] != kept), top[sentences], up[kept])
        chosen, lengths = np.unique(sentences, return_counts=True)
        new_starts = starts_of(lengths.tolist())
        place = np.zeros(root + 1, np.int64)
        place[kept] = np.arange(len(kept)) - np.repeat(new_starts[:-1], lengths) + 1
        origin = None if self.origin is None else self.origin[chosen].by_item()
        corpus = Corpus(self.corpus.tokens[kept], new_starts, self.corpus.vocab, origin=origin)
        layers = {name: getattr(self, name)[kept] for name in LAYERS}
        comments = tuple(self.comments[i] for i in chosen)
        return Treebank(corpus, place[heads].astype(np.int32), **layers, comments=comments)

    def sentence_heads(self, index: int) -> np.ndarray:
        """The heads of one sentence (a view)."""
        return self.heads[self.corpus.sentence_starts[index] : self.corpus.sentence_starts[index + 1]]

    def sentence_id(self, index: int) -> str | None:
        """What the ``# sent_id = ...`` comment says, or None."""
        return comment_value(self.comments[index], "sent_id")

    def feature(self, name: str) -> Layer:
        """One feature of every token, ``Case`` say: its value, or id 0 where the token has none."""

        def value(features: str) -> str:
            pairs = (pair.partition("=") for pair in features.split("|"))
            return next((value for key, _, value in pairs if key == name), "_")

        return self.features.map(value)

    def text(self, index: int) -> str:
        """The sentence as it was written: with the forms of multiword tokens, spaces where no ``SpaceAfter=No`` is."""
        begin, end = self.corpus.sentence_starts[index : index + 2]
        misc, words = self.misc[begin:end].strings(), self.corpus.words(index)
        forms = list(zip(words, misc, strict=True))
        for first, last, columns in reversed(self.ranges.of(index)):
            fields = columns.split("\t")
            forms[first - 1 : last] = [(fields[0], fields[-1])]
        spaced = [form + ("" if "SpaceAfter=No" in misc.split("|") else " ") for form, misc in forms]
        return "".join(spaced).rstrip(" ")

    def check_trees(self, single_root: bool = False) -> None:
        """Raise an ``InputError`` that names sentence and token, and their line, unless every sentence is a tree.

        A word without a head, heads that run in a circle and (with ``single_root``) a second root are errors.
        """
        starts, heads = self.corpus.sentence_starts, self.heads
        missing = np.flatnonzero(heads < 0)
        if len(missing):
            raise self._fault(missing[0], "has no head")
        reach = self._reach()
        lost = np.flatnonzero(reach != len(heads))
        if len(lost):
            raise self._fault(reach[lost[0]], "is its own ancestor: the heads run in a circle")
        if single_root:
            roots = np.flatnonzero(heads == 0)
            sentence = np.searchsorted(starts, roots, side="right") - 1
            second = np.flatnonzero(sentence[1:] == sentence[:-1])
            if len(second):
                raise self._fault(roots[second[0] + 1], "is a second root")

    def check_lengths(self, most: int) -> None:
        """Raise ``UnfitData`` if a sentence has more than ``most`` words."""
        lengths = self.corpus.lengths
        long = np.flatnonzero(lengths > most)
        if len(long):
            reason = f"begins a sentence of {lengths[long[0]]:,} words; parsers take at most {most:,}"
            raise self._fault(self.corpus.sentence_starts[long[0]], reason, UnfitData)

    def sound_trees(self, single_root: bool = False) -> np.ndarray:
        """Which sentences are trees, bool (n_sentences,), as ``check_trees`` understands it."""
        starts, bad = self.corpus.sentence_starts, (self.heads < 0) | (self._reach() != len(self.heads))
        faults, roots = (np.concatenate([[0], np.cumsum(each)]) for each in (bad, self.heads == 0))
        sound = faults[starts[1:]] == faults[starts[:-1]]
        return sound & (roots[starts[1:]] - roots[starts[:-1]] <= 1) if single_root else sound

    def _reach(self) -> np.ndarray:
        """Where the heads of every word lead in the end: to ``len(heads)``, the root, or to a word of a circle."""
        starts, heads = self.corpus.sentence_starts, self.heads
        lengths, root = np.diff(starts), len(heads)
        # Follow all heads at once, twice as far each time: what never reaches a root runs into a circle.
        reach = np.append(np.where(heads > 0, np.repeat(starts[:-1], lengths) + heads - 1, root), root)
        for _ in range(int(lengths.max(initial=0)).bit_length()):
            reach = reach[reach]
        return reach[:-1]

    def _fault(self, token: int, reason: str, kind: type[InputError] = InputError) -> InputError:
        sentence = int(np.searchsorted(self.corpus.sentence_starts, token, side="right")) - 1
        number = int(token - self.corpus.sentence_starts[sentence]) + 1
        name = self.sentence_id(sentence)
        where = f"sentence {sentence + 1}" + (f" ({name[:80]})" if name else "")
        word = self.corpus.vocab.word(self.corpus.tokens[token])
        path, line = (None, None) if self.origin is None else self.origin.place(sentence)
        if line is not None and self.origin is not None and self.origin.word_lines:
            ranges = sum(first <= number for first, _, _ in self.ranges.of(sentence))
            empties = sum(after < number for after, _, _ in self.empties.of(sentence))
            line += len(self.comments[sentence]) + ranges + empties + number - 1
        return kind(path, line, f"{where}, word {number} ({word[:40]}) {reason}")


def comment_value(comments: Sequence[str], key: str) -> str | None:
    """The value of a ``# key = value`` comment; an empty string for a bare ``# key``."""
    for line in comments:
        name, _, value = line[1:].partition("=")
        if name.strip(" ") == key:
            return value.strip(" ")
    return None
