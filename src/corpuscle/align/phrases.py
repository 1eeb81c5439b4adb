"""The phrase table: which target phrases stand for which source phrases, how often, and how well their words agree; and
how a model file keeps it.

The four features of an entry, in the order of the Moses text form, all natural logs: phi(f|e), lex(f|e), phi(e|f),
lex(e|f), where f is the source and e the target phrase. phi are relative frequencies; lex multiplies, along the links
inside the phrase, the relative frequencies of linked words. Words may be letters: transliteration has such tables, too.
A table of hierarchical rules has phrase pairs with gaps, and the same features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from corpuscle.align.kernels.links import PAD, SYMBOLS, extract_rules, number_rows, patterns
from corpuscle.compiled import frozen
from corpuscle.engine.phrase_decoding import Options, find_nodes
from corpuscle.engine.phrase_extraction import (
    LONGEST,
    LexicalWeights,
    Occurrences,
    Trie,
    extract,
    intern,
    lexical,
    linked,
    trie,
)
from corpuscle.model import Array, Container, vocab_arrays
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus, items_of, starts_of
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.vocab import Vocab

FEATURES = ("phi(f|e)", "lex(f|e)", "phi(e|f)", "lex(e|f)")

FLOOR = 1e-12
"""Lexical weights are not smaller than this."""


def lexical_weights(bitext: Bitext, alignments: Alignments, weights: np.ndarray) -> LexicalWeights:
    """Relative frequencies of linked words; a word without links is linked to nothing. ``weights`` are by pair."""
    source, target = bitext.source, bitext.target
    n_targets = len(target.vocab)
    pairs = alignments.pairs
    left = source.sentence_starts[pairs] + alignments.links[:, 0]
    right = target.sentence_starts[pairs] + alignments.links[:, 1]
    alone_left = np.ones(len(source.tokens), bool)
    alone_right = np.ones(len(target.tokens), bool)
    alone_left[left], alone_right[right] = False, False
    by_word = [np.repeat(weights, corpus.lengths) for corpus in (source, target)]
    f = np.concatenate([source.tokens[left], source.tokens[alone_left], np.zeros(alone_right.sum(), np.int32)])
    e = np.concatenate([target.tokens[right], np.zeros(alone_left.sum(), np.int32), target.tokens[alone_right]])
    counts = np.concatenate([weights[pairs], by_word[0][alone_left], by_word[1][alone_right]])
    keys, inverse = np.unique(f.astype(np.int64) * n_targets + e, return_inverse=True)
    joint = np.bincount(inverse, counts, len(keys))
    f, e = keys // n_targets, keys % n_targets
    forward = joint / np.bincount(f, joint)[f]
    backward = joint / np.bincount(e, joint)[e]
    return LexicalWeights(keys, forward, backward, n_targets)


@dataclass(eq=False)
class PhraseTable:
    """All phrase pairs of aligned text, with their counts.

    - ``trie``: the source phrases; ``first_entry``: int64 (nodes + 1,), the entries of each node, frequent first;
    - ``target_starts``: int64 (entries + 1,), ``targets``: int32, the target phrases;
    - ``counts``: float64 (entries,); ``lexical``: float32 (entries, 2), lex(f|e) and lex(e|f);
    - ``links``: uint64 (entries,), the inner links as bits, see ``engine.phrase_extraction.Occurrences``;
    - ``piece_starts``: int64 (entries + 1,), ``pieces``: int32, each entry cut into its smallest pieces, where a model
      needs them; otherwise there are none.
    """

    trie: Trie
    first_entry: np.ndarray
    target_starts: np.ndarray
    targets: np.ndarray
    counts: np.ndarray
    lexical: np.ndarray
    links: np.ndarray
    piece_starts: np.ndarray
    pieces: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """As a model file keeps it, see ``TABLE_ARRAYS``, which also has the vocabulary of the source."""
        trie = {"trie/symbols": self.trie.symbols, "trie/first_child": self.trie.first_child}
        return trie | {name: getattr(self, name) for name in _TABLE}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> PhraseTable:
        """The inverse of ``arrays``."""
        symbols, first_child = arrays["trie/symbols"], arrays["trie/first_child"]
        trie = Trie(frozen(symbols, np.int32), frozen(first_child, np.int32), int(first_child[0]))
        return _table(trie, [arrays[name] for name in _TABLE])

    @cached_property
    def nodes(self) -> np.ndarray:
        """The node of each entry, int64."""
        return np.repeat(np.arange(len(self.first_entry) - 1), np.diff(self.first_entry))

    @cached_property
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """How often the source and the target phrase of each entry occur in all entries, float64 (entries,) each."""
        ids, _ = intern(self.targets, self.target_starts[:-1], np.diff(self.target_starts))
        return np.bincount(self.nodes, self.counts)[self.nodes], np.bincount(ids, self.counts)[ids]

    @cached_property
    def features(self) -> np.ndarray:
        """The four features of each entry, float64 (entries, 4)."""
        return log_features(self.counts, self.totals, self.lexical)

    def options(self, weights: np.ndarray, limit: int) -> tuple[Options, np.ndarray]:
        """The ``limit`` best entries of each source phrase under some weights, for the decoder; and which they are."""
        scores = self.features @ weights
        order = np.lexsort((np.arange(len(scores)), -scores, self.nodes))
        rank = np.arange(len(scores)) - self.first_entry[self.nodes]
        kept = order[rank < limit]
        first_option = starts_of(np.minimum(np.diff(self.first_entry), limit))
        where, starts = items_of(self.target_starts, kept)
        piece_where, piece_starts = items_of(self.piece_starts, kept)
        options = Options(
            *self.trie,
            frozen(first_option, np.int64),
            frozen(scores[kept], np.float64),
            frozen(starts, np.int64),
            frozen(self.targets[where], np.int32),
            frozen(piece_starts, np.int64),
            frozen(self.pieces[piece_where], np.int32),
        )
        return options, kept

    def matching(self, corpus: Corpus) -> np.ndarray:
        """Which entries have a source phrase that occurs in a text in the source vocabulary, bool (entries,)."""
        nodes = np.zeros(len(self.trie.symbols), bool)
        found = np.empty((corpus.n_tokens, max(1, self.trie.depth)), np.int64)
        tokens = frozen(corpus.tokens, np.int32)
        for begin, end in pairwise(corpus.sentence_starts.tolist()):
            find_nodes(self.trie, tokens[begin:end], found.shape[1], found[begin:end])
        nodes[found[found >= 0]] = True
        return nodes[self.nodes]

    def source_phrases(self) -> list[tuple[int, ...]]:
        """The symbols of every node's phrase."""
        phrases: list[tuple[int, ...]] = [()] * len(self.trie.symbols)
        symbols, first_child = self.trie.symbols.tolist(), self.trie.first_child.tolist()
        for node in range(self.trie.roots):
            phrases[node] = (symbols[node],)
        for node in range(len(symbols)):
            for child in range(first_child[node], first_child[node + 1]):
                phrases[child] = (*phrases[node], symbols[child])
        return phrases

    def lines(self, source: Vocab, target: Vocab) -> Iterator[str]:
        """The table in the Moses text form: phrases, four probabilities, links, and the counts of e, f and both."""
        phrases, entries = self.source_phrases(), self.target_starts.tolist()
        of_source, of_target = self.totals
        probabilities = np.exp(self.features)
        for entry, node in enumerate(self.nodes.tolist()):
            e = self.targets[entries[entry] : entries[entry + 1]].tolist()
            f, e = map(escaped, source.decode(phrases[node])), map(escaped, target.decode(e))
            counts = of_target[entry], of_source[entry], self.counts[entry]
            yield line_of([*f], [*e], probabilities[entry], int(self.links[entry]), counts)


def log_features(counts: np.ndarray, totals: tuple[np.ndarray, np.ndarray], lexical: np.ndarray) -> np.ndarray:
    """The four features of entries, float64 (entries, 4); ``totals``: the counts of their sources and targets."""
    lex = np.maximum(lexical.astype(np.float64), FLOOR)
    return np.log(np.column_stack([counts / totals[1], lex[:, 0], counts / totals[0], lex[:, 1]]))


_ESCAPES = str.maketrans({"&": "&amp;", "|": "&#124;", "[": "&#91;", "]": "&#93;"})


def escaped(word: str) -> str:
    """A word without the bars and brackets that separate fields and mark gaps.

    >>> escaped("a|b")
    'a&#124;b'
    """
    return word.translate(_ESCAPES)


def line_of(f: list[str], e: list[str], probabilities: np.ndarray, bits: int, counts: tuple[float, ...]) -> str:
    """An entry in the Moses text form."""
    links = [f"{i}-{j}" for i in range(len(f)) for j in range(len(e)) if bits >> (LONGEST * i + j) & 1]
    scores, counted = (" ".join(f"{value:.6g}" for value in values) for values in (probabilities, counts))
    return " ||| ".join((" ".join(f), " ".join(e), scores, " ".join(links), counted))


def merged_links(bitext: Bitext, alignments: Sequence[Alignments]) -> tuple[Bitext, Alignments, np.ndarray]:
    """Several alignments of one text as one of a longer text, in which every pair stands once for each of them: the
    text, the links, and what each pair counts."""
    each = np.tile(np.arange(len(bitext)), len(alignments))
    text = bitext if len(alignments) == 1 else bitext.select(each)
    links = Alignments.concatenated([own.sorted() for own in alignments])
    return text, links, np.full(len(each), 1.0 / len(alignments))


def _best_links(key: np.ndarray, count: np.ndarray, lex: np.ndarray) -> np.ndarray:
    """Of the rows with the same key, the one with the largest count, then the largest lex(e|f)."""
    order = np.lexsort((-lex[:, 1], -count, key))
    return order[np.flatnonzero(np.diff(key[order], prepend=-1))]


def build_table(
    bitext: Bitext, alignments: Alignments, weights: np.ndarray, longest: int
) -> tuple[PhraseTable, Occurrences]:
    """Extract, count and weigh all phrase pairs of at most ``longest`` words; ``weights`` are float64 by pair. Returns
    the table, and one place where each of its entries occurs with the links that it has."""
    source, target = bitext.source, bitext.target
    pairs = linked(alignments.links, alignments.starts, source.sentence_starts, target.sentence_starts)
    found = extract(pairs, longest)
    source_ids, source_firsts = intern(source.tokens, found.source, found.source_length)
    target_ids, target_firsts = intern(target.tokens, found.target, found.target_length)
    # The same phrase pair with the same inner links is one row; of these rows one is chosen for each phrase pair.
    key = source_ids * len(target_firsts) + target_ids
    order = np.lexsort((found.links, key))
    fresh = np.ones(len(order), bool)
    fresh[1:] = (np.diff(key[order]) != 0) | (found.links[order][1:] != found.links[order][:-1])
    begins = np.flatnonzero(fresh)
    rows = Occurrences(*(column[order[begins]] for column in found))
    row_key = key[order[begins]]
    row_count = np.add.reduceat(weights[found.pair][order], begins) if len(begins) else np.empty(0)
    lex = lexical(source.tokens, target.tokens, rows, lexical_weights(bitext, alignments, weights))
    chosen = _best_links(row_key, row_count, lex)
    count = np.bincount(np.unique(row_key, return_inverse=True)[1], row_count)
    lengths = found.source_length[source_firsts].astype(np.int64)
    phrases = np.full((len(source_firsts), longest), -1, np.int32)
    for i in range(longest):
        inside = lengths > i
        phrases[inside, i] = source.tokens[found.source[source_firsts[inside]] + i]
    nodes, node_of = trie(phrases, lengths)
    node = node_of[row_key[chosen] // len(target_firsts)]
    order = np.lexsort((np.arange(len(chosen)), -count, node))
    picked = Occurrences(*(column[chosen[order]] for column in rows))
    starts = starts_of(picked.target_length)
    where = np.repeat(picked.target - starts[:-1], np.diff(starts)) + np.arange(starts[-1])
    first_entry = starts_of(np.bincount(node, minlength=len(nodes.symbols)))
    arrays = first_entry, starts, target.tokens[where], count[order], lex[chosen[order]], picked.links
    no_pieces = np.zeros(len(chosen) + 1), np.empty(0)
    return _table(nodes, (*arrays, *no_pieces)), picked


_TABLE = {
    "first_entry": Array("int64", ("nodes+1",), offsets_into="entries"),
    "target_starts": Array("int64", ("entries+1",), offsets_into="target_symbols"),
    "targets": Array("int32", ("target_symbols",), low=3, high="target_types+3"),
    "counts": Array("float64", ("entries",), finite=True),
    "lexical": Array("float32", ("entries", 2), low=0.0, finite=True),
    "links": Array("uint64", ("entries",)),
    "piece_starts": Array("int64", ("entries+1",), offsets_into="entry_pieces"),
    "pieces": Array("int32", ("entry_pieces",), low=3, high="piece_types+3"),
}
"""The arrays of a ``PhraseTable``, in their order, without its trie."""


def _table(trie: Trie, arrays: Sequence[np.ndarray]) -> PhraseTable:
    """A table whose arrays have the types that kernels are compiled for."""
    return PhraseTable(trie, *(frozen(a, declared.dtype) for a, declared in zip(arrays, _TABLE.values(), strict=True)))


TABLE_ARRAYS = {
    **vocab_arrays("source/", "source_types"),
    "trie/symbols": Array("int32", ("nodes",), low=0, high="source_types+3"),
    "trie/first_child": Array("int32", ("nodes+1",), low=0, high="nodes+1", rising=True),
    **_TABLE,
}
"""The arrays of a model with a phrase table and the vocabulary of its source; the header has ``roots``,
``target_types`` and ``piece_types``."""


def check_table(loaded: Container) -> None:
    """What the kernels rely on and the declarations cannot say."""
    arrays, roots = loaded.arrays, loaded.extra.get("roots")
    symbols, first_child = arrays["trie/symbols"], arrays["trie/first_child"]
    if type(roots) is not int or not 0 < roots <= len(symbols) or first_child[0] != roots:
        raise ValueError("the phrase trie does not begin with its roots")
    if first_child[-1] != len(symbols) or (first_child[:-1] <= np.arange(len(symbols))).any():
        raise ValueError("a phrase in the trie is not longer than the one it extends")
    begins = np.zeros(len(symbols) + 1, bool)
    begins[first_child] = begins[0] = True
    if ((np.diff(symbols) <= 0) & ~begins[1:-1]).any():
        raise ValueError("the symbols after a phrase must rise")
    if Trie(symbols, first_child, roots).depth > LONGEST or np.diff(arrays["target_starts"]).max(initial=0) > LONGEST:
        raise ValueError(f"a phrase has more than {LONGEST} symbols")
    if not (arrays["counts"] > 0).all():
        raise ValueError("every entry of the table has been seen")
    if len(loaded.component("lm").arrays["vocab/counts"]) != loaded.extra.get("target_types", -4) + 3:
        raise ValueError("the table and its component 'lm' have different symbols")


@dataclass(eq=False)
class RuleTable:
    """All hierarchical rules of aligned text.

    - ``rows``: int32 (rules, SYMBOLS + LONGEST), see ``kernels.links``; ``links``: uint64 (rules,), inner links;
    - ``counts``: float64 (rules,); ``lexical``: float64 (rules, 2), lex(f|e) and lex(e|f).
    """

    rows: np.ndarray
    links: np.ndarray
    counts: np.ndarray
    lexical: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """How often the source and the target side of each rule occur in all rules, float64 (rules,) each."""
        sides = (number_rows(self.rows[:, :SYMBOLS])[0], number_rows(self.rows[:, SYMBOLS:])[0])
        of_source, of_target = (np.bincount(ids, self.counts)[ids] for ids in sides)
        return of_source, of_target

    @cached_property
    def features(self) -> np.ndarray:
        """The four features of each rule, float64 (rules, 4), in the order of ``phrases.FEATURES``."""
        return log_features(self.counts, self.totals, self.lexical)

    def matching(self, corpus: Corpus, longest: int) -> np.ndarray:
        """Which rules can be used in a text, bool (rules,): their source side matches a stretch of at most ``longest``
        words. The text has the vocabulary of the source."""
        there = patterns(corpus.tokens, corpus.sentence_starts, longest)
        ids, _ = number_rows(np.concatenate([there, self.rows[:, :SYMBOLS]]))
        return np.isin(ids[len(there) :], ids[: len(there)])

    def lines(self, source: Vocab, target: Vocab) -> Iterator[str]:
        """The table as text, a rule a line: ``[X]``, both sides, four probabilities, links, and the counts of e, f and
        both; gaps are ``[X,1]`` and ``[X,2]``."""
        of_source, of_target = self.totals
        probabilities = np.exp(self.features)
        for rule, row in enumerate(self.rows.tolist()):
            f, e = (
                [escaped(vocab.word(symbol)) if symbol >= 0 else f"[X,{-symbol}]" for symbol in side if symbol != PAD]
                for vocab, side in ((source, row[:SYMBOLS]), (target, row[SYMBOLS:]))
            )
            counts = of_target[rule], of_source[rule], self.counts[rule]
            yield "[X] ||| " + line_of(f, e, probabilities[rule], int(self.links[rule]), counts)


def build_rules(bitext: Bitext, alignments: Alignments, weights: np.ndarray, longest: int) -> RuleTable:
    """Extract, count and weigh all rules from phrase pairs of at most ``longest`` words; ``weights`` by pair. Of the
    links that a rule has in different places the most frequent stay, of those the ones with the largest lex(e|f)."""
    source, target = bitext.source, bitext.target
    pairs = linked(alignments.links, alignments.starts, source.sentence_starts, target.sentence_starts)
    rows, links, counts = extract_rules(pairs, source.tokens, target.tokens, weights, longest)
    f, e = (np.ascontiguousarray(side) for side in (rows[:, :SYMBOLS], rows[:, SYMBOLS:]))
    n = np.arange(len(f))
    lengths = [(side != PAD).sum(axis=1).astype(np.int32) for side in (f, e)]
    places = Occurrences(n.astype(np.int32), n * SYMBOLS, lengths[0], n * LONGEST, lengths[1], links)
    lex = lexical(f.ravel(), e.ravel(), places, lexical_weights(bitext, alignments, weights))
    rule, _ = number_rows(rows)
    chosen = _best_links(rule, counts, lex)
    totals = np.bincount(rule, counts)
    order = np.lexsort((*e[chosen].T[::-1], -totals, *f[chosen].T[::-1]))
    chosen = chosen[order]
    return RuleTable(rows[chosen], links[chosen], totals[order], lex[chosen])


def write_table(
    path: AnyPath,
    bitext: Bitext,
    alignments: Sequence[Alignments],
    longest: int = 7,
    hierarchical: bool = False,
    text: Corpus | None = None,
) -> tuple[int, int | None]:
    """Write the phrases (or rules) that one or several alignments of a bitext give; with a ``text`` only those that can
    be used in it. Returns how many there are, and how many the text can use."""
    pairs = merged_links(bitext, alignments)
    vocabs = bitext.source.vocab, bitext.target.vocab
    table = build_rules(*pairs, longest) if hierarchical else build_table(*pairs, longest)[0]
    used = None
    if text is not None:
        test = text.recode(vocabs[0])
        used = table.matching(test, longest) if isinstance(table, RuleTable) else table.matching(test)
    kept = np.ones(len(table), bool) if used is None else used
    with write_atomically(path, "w") as out:
        out.writelines(line + "\n" for line, wanted in zip(table.lines(*vocabs), kept, strict=True) if wanted)
    return len(table), None if used is None else int(used.sum())
