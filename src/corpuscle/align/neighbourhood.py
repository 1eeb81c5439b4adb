"""Which words a word may stand for while the log-linear model is learned, and how well that serves: the oracle.

- ``full``: every word of the other side; ``cooc``: those that it shares a sentence pair with;
- ``model1``: those with at least 1/10,000 of the probability of its best translation under IBM Model 1;
- ``eb-model1``: the same under Model 1 with a sparse Dirichlet prior.

Every word of the training text stays reachable: where nothing may generate it, the likeliest word of its sentence may.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from corpuscle.align.counts import (
    CELLS_A_CHUNK,
    Estimation,
    LinkCounts,
    StoredPairs,
    TranslationTables,
    pairs_of,
    tables_from,
)
from corpuscle.align.distortion import Uniform
from corpuscle.align.em_models import Expectation
from corpuscle.align.features import DICE_EDGES, SMALLEST_M1
from corpuscle.align.kernels import cooccurrence
from corpuscle.align.kernels.cooccurrence import Couples, Pairs, couples_of, directed, locate
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.scale import Workers, chunks_of
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST

CUT = 1e-4
"""A translation has at least this share of the probability of the best one."""
ALPHA = 0.01
_PASSES, _BAYES_PASSES = 5, 8
_MOST_COUPLES = 20_000_000


def _chunks(pairs: Pairs) -> list[tuple[int, int]]:
    """Where sentence pairs are cut for calls of kernels: consecutive (first, last)."""
    return list(pairwise(chunks_of(np.diff(pairs.cell_starts), CELLS_A_CHUNK).tolist()))


def _all_couples(pairs: Pairs, source_types: int, target_types: int) -> Couples:
    """Every word with every word; fills the cells."""
    sources, targets = np.unique(pairs.source), np.unique(pairs.target)
    if len(sources) * len(targets) > _MOST_COUPLES:
        raise SettingError(
            f"the full neighbourhood of {len(sources):,} and {len(targets):,} words is too large; use cooc or eb-model1"
        )
    row_starts = np.zeros(source_types + 1, np.int64)
    row_starts[sources + 1] = len(targets)
    couples = Couples(frozen(np.cumsum(row_starts), np.int64), frozen(np.tile(targets, len(sources)), np.int32))
    locate(pairs, couples)
    return couples


@dataclass
class Neighbourhood:
    """What two directions may link, and what Model 1 and the sentence pairs say about it.

    - ``couples``: all that were considered, row by row of the source; ``rows``: int32, the source type of each;
    - ``allowed``: bool (2, n_couples), by direction; ``from_null``: two bool arrays, by output type;
    - ``tables``: Model 1 of both directions; ``dice``: uint8 (n_couples,), the bin of the coefficient, 0 for none.
    """

    couples: Couples
    rows: np.ndarray
    allowed: np.ndarray
    from_null: tuple[np.ndarray, np.ndarray]
    tables: tuple[TranslationTables, TranslationTables]
    dice: np.ndarray

    @classmethod
    def learn(cls, bitext: Bitext, name: str, pool: Workers, cut: float = CUT) -> Neighbourhood:
        """The neighbourhood of all words of a bitext."""
        source, target = bitext.source, bitext.target
        sizes = len(source.vocab), len(target.vocab)
        pairs = pairs_of(source, target)
        couples = _all_couples(pairs, *sizes) if name == "full" else couples_of(pairs, *sizes)
        rows = np.repeat(np.arange(sizes[0], dtype=np.int32), np.diff(couples.row_starts))
        stored, estimation = StoredPairs(pairs, couples, (sizes[1], sizes[0])), Estimation(ALPHA, name != "model1")
        counts = _model1(stored, estimation, _PASSES if name == "model1" else _BAYES_PASSES, pool)
        tables = [tables_from(couples, counts.couples[d], counts.nulls[d], d, estimation) for d in (0, 1)]
        allowed = np.ones((2, len(rows)), bool)
        from_null = [np.bincount(side.tokens, minlength=len(side.vocab)) > 0 for side in (target, source)]
        if name in ("model1", "eb-model1"):
            for d, states in enumerate((rows, couples.columns)):
                table, null = tables[d].couples[:-1], tables[d].null
                best = np.zeros(sizes[d], np.float32)
                np.maximum.at(best, states, table)
                allowed[d] = table >= np.float32(cut) * best[states]
                from_null[d] &= null >= np.float32(cut) * null.max(initial=0)
                own, likely = directed(pairs, d), frozen(tables[d].couples, np.float32)
                for first, last in _chunks(pairs):
                    cooccurrence.reach(own, first, last, likely, from_null[d], allowed[d])
        dice = _dice(bitext, pairs, couples, rows)
        return cls(couples, rows, allowed, (from_null[0], from_null[1]), (tables[0], tables[1]), dice)

    @property
    def worth_keeping(self) -> np.ndarray:
        """The couples that some feature is about, bool (n_couples,): allowed, or met often, or likely."""
        likely = np.maximum(self.tables[0].couples[:-1], self.tables[1].couples[:-1]) >= SMALLEST_M1
        return self.allowed.any(axis=0) | (self.dice > 0) | likely

    def size(self, direction: int) -> int:
        """How many couples a direction may use, those of the null word included."""
        return int(self.allowed[direction].sum() + self.from_null[direction].sum())


def _model1(text: StoredPairs, estimation: Estimation, passes: int, pool: Workers) -> LinkCounts:
    """The counts of IBM Model 1."""
    em = Expectation(text, estimation, pool, Uniform())
    for number in range(passes):
        em.finish(number)
    assert em.counts is not None
    return em.counts


def _sentences_with(corpus: Corpus) -> np.ndarray:
    """In how many sentences each type occurs."""
    types = len(corpus.vocab)
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    return np.bincount(np.unique(sentences * np.int64(types) + corpus.tokens) % types, minlength=types)


def _dice(bitext: Bitext, pairs: Pairs, couples: Couples, rows: np.ndarray) -> np.ndarray:
    """The bins of 2 c(x, t) / (c(x) + c(t)), counted in sentence pairs."""
    together, stamps = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int32)
    for first, last in _chunks(pairs):
        cooccurrence.meetings(pairs, first, last, stamps, together)
    both = _sentences_with(bitext.source)[rows] + _sentences_with(bitext.target)[couples.columns]
    return np.digitize(2 * together / np.maximum(both, 1), DICE_EDGES).astype(np.uint8)


def allowed_links(
    gold: Alignments, bitext: Bitext, neighbourhood: Neighbourhood, training: Bitext, direction: int
) -> Alignments:
    """The gold links, sure or possible, that a neighbourhood allows: their AER is that of its oracle."""
    source = training.source.vocab.mapping_from(bitext.source.vocab)[bitext.source.tokens]
    target = training.target.vocab.mapping_from(bitext.target.vocab)[bitext.target.tokens]
    left = source[bitext.source.sentence_starts[gold.pairs] + gold.links[:, 0]]
    right = target[bitext.target.sentence_starts[gold.pairs] + gold.links[:, 1]]
    width = np.int64(len(training.target.vocab))
    chosen = neighbourhood.allowed[direction]
    keys = np.sort(neighbourhood.rows[chosen] * width + neighbourhood.couples.columns[chosen])
    kept = np.isin(left * width + right, keys) & (left >= FIRST) & (right >= FIRST)
    return gold.filtered(kept)
