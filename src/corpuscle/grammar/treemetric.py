"""TreeMetric: brackets without trees to learn from, by distances that add up along a latent tree.

How strongly the vectors of two words co-vary says how far apart they are in the tree of their sentence; tags that
behave alike share what is known. The shortest tree over these distances is found exactly, given where the
sentence divides at the top (``sentences``). Nothing is drawn at random and nothing is started anywhere.

Beyond the paper, and off unless asked for:

- ``boundaries``: the tags around a gap between words say how likely punctuation (or the end of a sentence) is to stand
  there, log p(boundary | left tag, right tag), counted in the text; a bracket scores the sum of its two gaps;
- ``lean``: a left child of w words costs lean log(w), since most languages at hand branch to the right;
- ``top_bracket learned``: every place is possible, as likely as its boundary, and the place of the rule e^3 times more;
- ``decode risk``: trees weigh exp(- length / temperature), and the tree with the most expected brackets wins;
- symbols with word classes: distances of classes within tags, shrunk to those of the tags.

Distances between tags come from the vectors of the words that have them: two words whose latent parents are near
co-vary strongly. With S(s, t, delta) the sum of w w'^T over all pairs of words
with tags s and t, delta words apart, N their number, and a kernel that shares what is seen at similar distances,

    K(delta, delta') = max(0, 1 - |delta - delta'| / (delta + delta') / gamma)        (graded; binary: 1 where > 0)
    Sigma(s, t, delta) = sum_delta' K S(s, t, delta') / sum_delta' K N(s, t, delta')
    d(s, t, delta) = - log LAM(Sigma(s, t, delta)) + 1/2 log LAM(Sigma(s, s, 0)) + 1/2 log LAM(Sigma(t, t, 0))

where LAM is the product of the m largest singular values and Sigma(s, s, 0) the uncentred second moment of a tag. Along
the latent tree such distances add up. A pair seen less than m times in effect has no rank m: then all its distances are
taken together, and if that is still too little, the largest distance of the table is its own.

Symbols may be finer than tags (a tag with a word class). The moments of a pair of symbols are shrunk to those of their
tags: (sum K S + backoff Sigma of the tags) / (sum K N + backoff).

Parikh, Cohen and Xing, "Spectral unsupervised parsing with additive tree metrics", 2014, eq. 1-2 and section 4.1;
Ponvert, Baldridge and Erk, "Simple unsupervised grammar induction from raw text with cascaded finite state models",
2011, for what punctuation says about boundaries.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.engine.linalg import unit_rows
from corpuscle.errors import SettingError, warn
from corpuscle.grammar.induction import INDUCED, LONGEST, BracketInducer, Brackets, check_induced
from corpuscle.grammar.kernels.minimum_evolution import LEAST_SQUARES, MEAN, Found, Metric, shortest_trees
from corpuscle.grammar.kernels.spans import BRACKETS
from corpuscle.grammar.sentences import (
    Sentences,
    TagMap,
    WordSymbols,
    gold_spans,
    heuristic_tops,
    oracle_tops,
    symbol_arrays,
)
from corpuscle.grammar.settings import TreeMetricSettings
from corpuscle.model import Array, Arrays, Container, Fact, Kind, Record
from corpuscle.scale import chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import OsccaVectors, WordClasses, WordFeatures

# ---- distances


_SMALLEST = 1e-8


class Words(NamedTuple):
    """The words of a text: ``symbols`` int64 (n,); ``starts`` int64 (n_sentences + 1,); ``vectors`` float64 (n, p);
    ``tags`` int64 (n_symbols,): the symbol that stands for the tag of a symbol, itself where it is one."""

    symbols: np.ndarray
    starts: np.ndarray
    vectors: np.ndarray
    tags: np.ndarray


class Estimator(NamedTuple):
    """``rank`` m, ``gamma``, whether the kernel is ``graded``, the greatest ``distance``, and ``backoff``."""

    rank: int
    gamma: float
    graded: bool
    distance: int
    backoff: float


def smoothing(estimator: Estimator) -> np.ndarray:
    """The kernel, float64 (distance, distance); row and column 0 are for words one apart."""
    delta = np.arange(1, estimator.distance + 1, dtype=np.float64)
    apart = np.abs(delta[:, None] - delta) / (delta[:, None] + delta)
    kernel = np.maximum(0.0, 1.0 - apart / estimator.gamma)
    return kernel if estimator.graded else (kernel > 0).astype(np.float64)


def _log_volume(moments: np.ndarray, rank: int) -> np.ndarray:
    """The sum of logarithms of the largest singular values of matrices (..., p, p)."""
    values = np.linalg.svd(moments, compute_uv=False)[..., :rank]
    return np.log(np.maximum(values, _SMALLEST)).sum(axis=-1)


def _sums(
    members: np.ndarray, labels: np.ndarray, n_labels: int, words: Words, distance: int
) -> tuple[np.ndarray, np.ndarray]:
    """S (labels, distance, p, p) and N (labels, distance) of pairs whose left words are ``members``, by the label of
    the right word."""
    p = words.vectors.shape[1]
    moments, counts = np.zeros((n_labels, distance, p, p)), np.zeros((n_labels, distance))
    ends = words.starts[np.searchsorted(words.starts, members, side="right")]
    for delta in range(1, distance + 1):
        good = members + delta < ends
        left = members[good]
        if len(left) == 0:
            break
        label = labels[left + delta]
        order = np.argsort(label, kind="stable")
        bounds = np.searchsorted(label[order], np.arange(n_labels + 1))
        counts[:, delta - 1] = np.diff(bounds)
        for which in np.flatnonzero(counts[:, delta - 1]).tolist():
            at = left[order[bounds[which] : bounds[which + 1]]]
            moments[which, delta - 1] = words.vectors[at].T @ words.vectors[at + delta]
    return moments, counts


def _smoothed(sums: np.ndarray, numbers: np.ndarray, estimator: Estimator) -> tuple[np.ndarray, np.ndarray]:
    """S and N by kernel weights, of the same shapes."""
    kernel = smoothing(estimator)
    return np.einsum("de,sepq->sdpq", kernel, sums, optimize=True), numbers @ kernel.T


def _tag_row(tag: int, broadcast: tuple[Words, Estimator, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Distances from one tag to all symbols, float64 (symbols, distance), NaN where there is too little, and the
    moments that they are of, (symbols, distance, p, p)."""
    words, estimator, _ = broadcast
    of_words = words.tags[words.symbols]
    sums, numbers = _sums(np.flatnonzero(of_words == tag), of_words, len(words.tags), words, estimator.distance)
    moments, counts = _smoothed(sums, numbers, estimator)
    little = counts < estimator.rank
    total, number = sums.sum(axis=1), numbers.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        everywhere = (total / number[:, None, None])[:, None]
        sigmas = np.where(little[..., None, None], everywhere, moments / counts[..., None, None])
    effective = np.where(little, number[:, None], counts)
    values = np.full(counts.shape, np.nan)
    enough = effective >= estimator.rank
    values[enough] = -_log_volume(sigmas[enough], estimator.rank)
    return values, sigmas


def _fine_row(symbol: int, broadcast: tuple[Words, Estimator, np.ndarray]) -> np.ndarray:
    """Distances from one symbol to all symbols, shrunk to those of its tag: float64 (symbols, distance)."""
    words, estimator, table = broadcast
    tag = int(words.tags[symbol])
    coarse, sigmas = (of_tag[words.tags] for of_tag in _tag_row(tag, broadcast))
    values = table[tag][words.tags].copy()
    sums = _sums(np.flatnonzero(words.symbols == symbol), words.symbols, len(words.tags), words, estimator.distance)
    moments, counts = _smoothed(*sums, estimator)
    seen = (counts > 0) & np.isfinite(coarse)
    mixed = (moments[seen] + estimator.backoff * sigmas[seen]) / (counts[seen] + estimator.backoff)[:, None, None]
    values[seen] = -_log_volume(mixed, estimator.rank)
    return values


def _own(words: Words, estimator: Estimator) -> np.ndarray:
    """1/2 log LAM of the second moment of every symbol, float64 (symbols,)."""
    own, of_words = np.zeros(len(words.tags)), words.tags[words.symbols]

    def moment(at: np.ndarray) -> np.ndarray:
        return words.vectors[at].T @ words.vectors[at]

    for symbol, tag in enumerate(words.tags.tolist()):
        coarse = of_words == tag
        if coarse.any():
            mean = moment(coarse) / coarse.sum()
            if tag != symbol:
                at = words.symbols == symbol
                mean = (moment(at) + estimator.backoff * mean) / (at.sum() + estimator.backoff)
            own[symbol] = 0.5 * _log_volume(mean, estimator.rank)
    return own


def distance_table(
    words: Words, estimator: Estimator, threads: int | None = None, cluster: object = None
) -> np.ndarray:
    """All distances, float64 (symbols, symbols, distance + 1), entry 0 of the last axis 0; finite."""
    n = len(words.tags)
    tags = np.flatnonzero(words.tags == np.arange(n))
    own = _own(words, estimator)
    table = np.full((n, n, estimator.distance), np.nan)
    with workers(threads, cluster) as pool:
        for tag, row in zip(tags, pool.map(_values_of_tag, tags.tolist(), (words, estimator, table)), strict=True):
            table[tag] = row
        table[tags] = table[tags][:, words.tags]
        fine = [symbol for symbol in range(n) if words.tags[symbol] != symbol]
        for symbol, values in zip(fine, pool.map(_fine_row, fine, (words, estimator, table)), strict=True):
            table[symbol] = values
    table += own[:, None, None] + own[None, :, None]
    largest = np.nanmax(table) if np.isfinite(table).any() else 1.0
    result = np.zeros((n, n, estimator.distance + 1))
    result[..., 1:] = np.where(np.isfinite(table), table, largest)
    return result


def _values_of_tag(tag: int, broadcast: tuple[Words, Estimator, np.ndarray]) -> np.ndarray:
    return _tag_row(tag, broadcast)[0]


_WORK = 200_000
"""The sum of the fourth powers of lengths in a chunk of sentences."""
_TRUST = 3.0
"""How much likelier, as a logarithm, the place of the rule is, where others are possible."""
_PRIOR = 5.0
"""The pseudo-count of gaps of a pair of tags, distributed as the two tags alone predict."""


class TreeMetric(TreeMetricSettings, BracketInducer):
    """Brackets by additive distances.

    Learned: ``distances_`` float64 (symbols, symbols, distance + 1), between a symbol and another one, by the number
    of words from the first to the second; ``gap_symbols_`` and ``gaps_`` float64 (gap symbols, gap symbols), log
    p(boundary); ``gap_kind_``: these are fine tags, or classes where the text had no tags.
    """

    KIND: ClassVar[Kind] = Kind(
        "grammar.treemetric",
        1,
        {
            **INDUCED,
            **symbol_arrays("gap_symbols"),
            "distances": Array("float64", ("symbols", "symbols", "distances"), finite=True),
            "gaps": Array("float64", ("gap_symbols", "gap_symbols"), high=1e-9, finite=True),
        },
        check=lambda loaded: _check(loaded),
    )
    SAVED: ClassVar = {
        **BracketInducer.SAVED,
        "distances_": Arrays("distances"),
        "gaps_": Arrays("gaps"),
        "gap_symbols_": Record(WordSymbols, "gap_symbols/"),
        "gap_kind_": Fact("gap_kind"),
    }
    TAKES_VECTORS = True

    distances_: np.ndarray = learned()
    gaps_: np.ndarray = learned()
    gap_symbols_: WordSymbols = learned()
    gap_kind_: str = learned()

    def fit(
        self,
        bank: Treebank,
        *,
        vectors: tuple[Vocab, np.ndarray] | None = None,
        sources: WordFeatures | None = None,
        tag_map: TagMap | None = None,
    ) -> Self:
        """Learn from words with tags; ``vectors``: of words, a row for each of a vocabulary (default: learned from the
        same words by canonical correlation); ``sources``: classes of words, see ``class_sources``."""
        sentences = self._chosen_sentences(bank, sources, tag_map)
        self.symbols_ = WordSymbols.learn(sentences, self.symbols, self.known_, self.min_count)
        symbols = self.symbols_.of(sentences, self.symbols, self.known_).astype(np.int64)
        vocab, matrix = self._own_vectors(bank.corpus) if vectors is None else vectors
        if self.rank > matrix.shape[1]:
            raise SettingError(f"rank {self.rank} is more than the {matrix.shape[1]} numbers of a vector")
        rows = self._rows(sentences, symbols, vocab, matrix)
        few = np.bincount(self.symbols_.tags[symbols], minlength=len(self.symbols_.keys))
        if lacking := int(((few > 0) & (few < self.rank)).sum()):
            warn(f"{lacking} tags have fewer than {self.rank} words")
        words = Words(symbols, sentences.starts, rows, self.symbols_.tags)
        estimator = Estimator(self.rank, self.gamma, self.kernel == "graded", self.max_distance, self.backoff)
        self.distances_ = distance_table(words, estimator, self.workers, self.cluster)
        self._learn_gaps(sentences)
        self.provenance_ |= {"words": len(symbols), "symbols": len(self.symbols_.keys), "dimensions": matrix.shape[1]}
        return self

    def _own_vectors(self, corpus: Corpus) -> tuple[Vocab, np.ndarray]:
        types = len(np.unique(corpus.tokens))
        dimensions = min(self.dimensions, max(2, types // 2))
        if dimensions < self.rank:
            raise corpus.error(f"only {types} different words: too few for vectors of rank {self.rank}")
        where: dict[str, Any] = {"seed": self.seed, "workers": self.workers, "cluster": self.cluster}
        learner = OsccaVectors(dimensions=dimensions, min_count=1, **where).fit(corpus)
        return learner.vocab_, learner.vectors_

    def _rows(self, sentences: Sentences, symbols: np.ndarray, vocab: Vocab, matrix: np.ndarray) -> np.ndarray:
        """The vector of every word, a unit vector; where there is none, the mean of its tag."""
        corpus = sentences.bank.corpus
        types = np.asarray(matrix, np.float64)[vocab.mapping_from(corpus.vocab)]
        rows = unit_rows(types)[corpus.tokens[sentences.kept]]
        missing = ~rows.any(axis=1)
        if missing.all():
            raise corpus.error("none of these words has a vector")
        tags = self.symbols_.tags[symbols]
        for tag in np.unique(tags[missing]).tolist():
            own = (tags == tag) & ~missing
            rows[(tags == tag) & missing] = rows[own if own.any() else ~missing].mean(axis=0)
        return rows

    def _learn_gaps(self, sentences: Sentences) -> None:
        """Count between which tags punctuation stands, or the end of a sentence."""
        what = self.gap_kind_ = "fine" if sentences.fine.ids.any() else "classes"
        self.gap_symbols_ = WordSymbols.learn(sentences, what, self.known_)
        symbols, n = self.gap_symbols_.of(sentences, what, self.known_).astype(np.int64), len(self.gap_symbols_.keys)
        tokens = np.flatnonzero(sentences.kept)
        end = np.zeros(len(tokens), bool)
        end[sentences.starts[1:] - 1] = True
        boundary = (end | (np.diff(tokens, append=tokens[-1] + 2) > 1))[:-1]
        there, total = np.zeros((n, n)), np.zeros((n, n))
        np.add.at(there, (symbols[:-1][boundary], symbols[1:][boundary]), 1.0)
        np.add.at(total, (symbols[:-1], symbols[1:]), 1.0)
        share = there.sum() / total.sum()

        def odds(axis: int) -> np.ndarray:
            p = (there.sum(axis=axis) + _PRIOR * share) / (total.sum(axis=axis) + _PRIOR)
            return np.log(p / (1.0 - np.minimum(p, 1.0 - 1e-9)))

        both = odds(1)[:, None] + odds(0)[None, :] - math.log(share / (1.0 - min(share, 1.0 - 1e-9)))
        prior = 1.0 / (1.0 + np.exp(-both))
        self.gaps_ = np.minimum(np.log((there + _PRIOR * prior) / (total + _PRIOR)), 0.0)

    # ---- brackets

    def tops(self, sentences: Sentences, gold: Trees | None = None) -> np.ndarray:
        """The first word of the right part of each sentence, int64 (n_sentences,), by the rule or from gold trees."""
        tops = heuristic_tops(sentences)
        if self.top_bracket != "oracle":
            return tops
        if gold is None:
            raise SettingError("top bracket oracle needs trees, whose top brackets it reads")
        return oracle_tops(gold_spans(gold, sentences.kept), sentences.lengths, tops)

    def brackets(self, bank: Treebank, *, gold: Trees | None = None, confidence: bool = False) -> Brackets:
        """The shortest tree of every sentence, or that with the most expected brackets; with lengths of edges (not
        with decode risk) and, where asked for, how likely each bracket is."""
        sentences = self.sentences(bank)
        symbols = self.symbols_.of(sentences, self.symbols, self.known_, self.strict)
        gaps = self.gap_symbols_.of(sentences, self.gap_kind_, self.known_)
        starts, tops = sentences.starts, self.tops(sentences, gold)
        bounds = chunks_of(sentences.lengths**4 + 1, _WORK).tolist()
        jobs = (
            (symbols[starts[a] : starts[b]], gaps[starts[a] : starts[b]], starts[a : b + 1] - starts[a], tops[a:b],
             confidence)
            for a, b in pairwise(bounds)
        )  # fmt: skip
        found = [_room(0, 0, 0), *self.spread(_find, jobs)]
        spans, lengths, _, shares, _ = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Brackets(spans, lengths, shares if confidence or self.decode == "risk" else np.zeros(0))

    def _roots(self, gaps: np.ndarray, top: int) -> np.ndarray:
        """Logarithms of weights of the first word of the right part, float64 (n + 1,)."""
        n = len(gaps)
        roots = np.full(n + 1, -np.inf)
        if self.top_bracket == "learned" and n > 1:
            roots[1:n] = self.gaps_[gaps[:-1], gaps[1:]]
            roots[top] += _TRUST
        elif n > 1:
            roots[top if self.top_bracket != "free" else 1] = 0.0
        return roots


def _check(loaded: Container) -> None:
    check_induced(loaded)
    if loaded.arrays["distances"].shape[2] < 2 or len(loaded.arrays["gaps"]) == 0:
        raise ValueError("it has no distances")
    if loaded.extra.get("gap_kind") not in ("fine", "classes"):
        raise ValueError("it does not say what stands beside boundaries")


def _find(job: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool], model: TreeMetric) -> Found:
    symbols, gaps, starts, tops, confidence = job
    lengths = np.diff(starts)
    rows = [model._roots(gaps[a:b], top) for a, b, top in zip(starts[:-1], starts[1:], tops.tolist(), strict=True)]
    roots, root_starts = np.concatenate([np.zeros(0), *rows]), starts_of(lengths + 1)
    found = _room(int(np.maximum(lengths - 1, 0).sum()), len(symbols), len(lengths))
    lean = model.lean * np.log(np.maximum(np.arange(LONGEST + 1), 1.0))
    estimator, risk = MEAN if model.edge == "mean" else LEAST_SQUARES, int(model.decode == "risk")
    metric = Metric(model.distances_, model.boundaries * model.gaps_, lean, estimator, model.temperature, risk)
    shortest_trees((symbols, gaps), starts, roots, root_starts, metric, BRACKETS, confidence, found)
    if model.top_bracket == "free":
        _root_at_longest(found, lengths)
    return found


def _room(brackets: int, words: int, sentences: int) -> Found:
    spans, lengths, shares = np.zeros((brackets, 2), np.int32), np.zeros(brackets), np.zeros(brackets)
    return Found(spans, lengths, np.zeros(words), shares, np.zeros(sentences))


def _root_at_longest(found: Found, lengths: np.ndarray) -> None:
    """Move the roots of trees that are rooted above their first words to the longest edge between first and last word.

    That way leads over the nodes [1, n), [k, n), ... down to the last word. Rooted above [k, n), the nodes before it on
    the way have everything before their splits below them: [j, n) becomes [0, k) for the next node [k, n)."""
    at = begin = 0
    for n in lengths.tolist():
        if n > 2:
            spans, edges = found.brackets[at : at + n - 1], found.lengths[at : at + n - 1]
            spine = np.flatnonzero((spans[:, 1] == n) & (spans[:, 0] > 0))
            splits, along = np.append(spans[spine, 0], n - 1), np.append(edges[spine], found.leaves[begin + n - 1])
            moved = int(np.argmax(along))
            for which in range(moved):
                node = spine[which]
                spans[node] = 0, splits[which + 1]
                edges[node] = along[which + 1]
            edges[0] = along[moved]
            order = np.lexsort((-spans[:, 1], spans[:, 0]))
            spans[:], edges[:] = spans[order].copy(), edges[order].copy()
        at, begin = at + max(0, n - 1), begin + n


def class_vectors(model: WordClasses) -> tuple[Vocab, np.ndarray]:
    """Classes as vectors: one number for each class, 1 for the word's own, and the first bits of its path, if classes
    have a tree."""
    classes, n = model.classes_, model.n_classes_
    paths = [] if model.tree_ is None else model.tree_.paths
    bits = math.ceil(math.log2(max(2, n))) if paths else 0
    rows = np.zeros((n, n + bits), np.float32)
    rows[:, :n] = np.eye(n)
    for number, path in enumerate(paths):
        rows[number, n : n + len(path[:bits])] = [float(bit) for bit in path[:bits]]
    matrix = np.zeros((len(classes), n + bits), np.float32)
    matrix[FIRST:] = rows[classes[FIRST:]]
    return model.vocab_, matrix
