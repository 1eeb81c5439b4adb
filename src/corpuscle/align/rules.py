"""The table of hierarchical rules: phrase pairs with gaps, with the features that a phrase table has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corpuscle.align.kernels.gaps import PAD, SYMBOLS, Texts, extract_rules, number_rows, patterns
from corpuscle.align.phrases import (
    PhraseTable,
    build_table,
    escaped,
    lexical_weights,
    line_of,
    log_features,
    merged_links,
)
from corpuscle.engine.phrase_extraction import LONGEST, Occurrences, lexical, linked
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import AnyPath, write_atomically
from corpuscle.text.vocab import Vocab


@dataclass(eq=False)
class RuleTable:
    """All hierarchical rules of aligned text.

    - ``rows``: int32 (rules, SYMBOLS + LONGEST), see ``kernels.gaps``; ``links``: uint64 (rules,), inner links;
    - ``counts``: float64 (rules,); ``lexical``: float64 (rules, 2), lex(f|e) and lex(e|f).
    """

    rows: np.ndarray
    links: np.ndarray
    counts: np.ndarray
    lexical: np.ndarray

    def __len__(self) -> int:
        """The number of rules."""
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
    found = extract_rules(pairs, Texts(source.tokens, target.tokens), weights, longest)
    sides = found.rows[:, :SYMBOLS], found.rows[:, SYMBOLS:]
    f, e = (np.ascontiguousarray(side) for side in sides)
    n = np.arange(len(f))
    lengths = [(side != PAD).sum(axis=1).astype(np.int32) for side in (f, e)]
    places = Occurrences(n.astype(np.int32), n * SYMBOLS, lengths[0], n * LONGEST, lengths[1], found.links)
    lex = lexical(f.ravel(), e.ravel(), places, lexical_weights(bitext, alignments, weights))
    rule, _ = number_rows(found.rows)
    order = np.lexsort((-lex[:, 1], -found.counts, rule))
    chosen = order[np.flatnonzero(np.diff(rule[order], prepend=-1))]
    counts = np.bincount(rule, found.counts)
    order = np.lexsort((*found.rows[chosen].T[SYMBOLS:][::-1], -counts, *found.rows[chosen].T[:SYMBOLS][::-1]))
    chosen = chosen[order]
    return RuleTable(found.rows[chosen], found.links[chosen], counts[order], lex[chosen])


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
    test = None if text is None else text.recode(vocabs[0])
    table: RuleTable | PhraseTable
    used = None
    if hierarchical:
        table = build_rules(*pairs, longest)
        used = None if test is None else table.matching(test, longest)
    else:
        table, _ = build_table(*pairs, longest)
        used = None if test is None else table.matching(test)
    kept = np.ones(len(table), bool) if used is None else used
    with write_atomically(path, "w") as out:
        out.writelines(line + "\n" for line, wanted in zip(table.lines(*vocabs), kept, strict=True) if wanted)
    return len(table), None if used is None else int(used.sum())
