"""LatentTrees: how likely the words of a sentence are, given its tree, if every word has a hidden state.

Learned from a treebank in seconds, without EM (``kernels.latent`` has the model and its mathematics): words get rows of
a basis, moments of triples of words in the gold trees are added up in one pass, and a few small matrices are inverted.
The value of a tree compares trees of one sentence; it is no language model over trees.

What words are (``Basis``): rows U with one of three ways back to single words:

- ``plain``: U spans what the states say (singular vectors of counts): a = U (U'U)^-1;
- ``weighted``: U does so divided by the frequency p of each word (canonical directions): a = p U (U'PU)^-1;
- ``operators``: any other vectors: every word has an operator of its own, k^2 numbers.

The states behind the observables are recovered from them, and polished by EM. With exact moments D(y) = G diag(G'y)
G^-1 for every y, so the eigenvectors of D for a random y are the columns of G, and all parameters follow. With
estimates they are numbers near probabilities, some of them negative; without those they are where EM starts, which
otherwise starts at random and ends anywhere.

Dhillon, Rodu, Collins, Foster and Ungar, "Spectral dependency parsing with latent variables", 2012; Hsu, Kakade and
Zhang, "A spectral algorithm for learning hidden Markov models", 2009, appendix C, for recovery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.engine.linalg.cca import diagonal_cca, duals_of
from corpuscle.engine.linalg.lowrank import krylov_svd
from corpuscle.engine.linalg.sparse import Rows, SparseOperator
from corpuscle.errors import SettingError
from corpuscle.model import Array, vocab_arrays
from corpuscle.parse.kernels import latent as kernels
from corpuscle.parse.kernels.latent import LEFT, PAIRS, RIGHT, Expectations, Moments, Observables, States, Trees
from corpuscle.parse.settings import RerankSettings
from corpuscle.random import Random
from corpuscle.scale import chunks_of, each
from corpuscle.text.corpus import Preprocessing, starts_of
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import END, FIRST, UNKNOWN, Vocab
from corpuscle.words import LrmvlVectors, OsccaVectors, SvdVectors, TsccaVectors, WordVectors
from corpuscle.words.spelling import signature_of, vocabulary_of

_SMALLEST = 1e-3
"""Directions of S whose singular values are below this part of the largest are left out."""
_CUT = 1e-6
"""Smaller singular values, as parts of the largest, are zero in an inverse."""
_WORDS = 1 << 16
"""Words whose moments are summed, or whose trees are scored, in one piece of work."""

LATENT = {
    **vocab_arrays("latent/words/", "words"),
    **vocab_arrays("latent/tags/", "tags"),
    "latent/start": Array("float64", ("rank",), finite=True),
    "latent/end": Array("float64", ("rank",), finite=True),
    "latent/steps": Array("float64", (2, "rank", "rank"), finite=True),
    "latent/maps": Array("float64", ("rank", "rank", "rank"), finite=True),
    "latent/duals": Array("float64", ("duals", "rank"), finite=True),
    "latent/operators": Array("float64", ("operators", "rank", "rank"), finite=True),
    "latent/tag_operators": Array("float64", ("tag_operators", "rank", "rank"), finite=True),
    "latent/stops": Array("float64", ("stops", "rank"), finite=True),
    "latent/floor": Array("float64", (1,), finite=True),
}
"""The arrays of a latent tree model inside of another model."""


class Basis(NamedTuple):
    """A row for every symbol: ``rows`` float64 (len(vocab), k); ``weights`` float64 (len(vocab),), where the
    way is weighted; ``way``: plain, weighted or operators; ``spelling``: what is done to words that
    are looked up."""

    vocab: Vocab
    rows: np.ndarray
    weights: np.ndarray
    way: str
    spelling: Preprocessing = Preprocessing(nfc=False)

    def duals(self, rows: np.ndarray) -> np.ndarray:
        """The duals of rows (len(vocab), rank) that are combinations of ours; none where operators are needed."""
        if self.way == "operators":
            return np.zeros((0, rows.shape[1]))
        return np.ascontiguousarray(duals_of(rows, self.weights if self.way == "weighted" else None))


class Likelihoods(NamedTuple):
    """Of trees: ``logs`` float64, log p of the words given the tree, and ``known`` bool: whether the estimate was
    positive; where it was not, ``logs`` has the floor."""

    logs: np.ndarray
    known: np.ndarray


def tags_of(bank: Treebank, layer: str, vocab: Vocab) -> np.ndarray:
    """The ids of tags in a vocabulary, int32 (n_words,)."""
    tags = getattr(bank, layer)
    return vocab.encode(tags.vocab.strings).astype(np.int32)[tags.ids]


def trees_of(bank: Treebank, marks: np.ndarray, vocab: Vocab | None, spelling: Preprocessing) -> Trees:
    """The trees of a treebank; their symbols are words of ``vocab`` (known by themselves, what they look like, or
    unknown), without one the ``marks``, which are those of tags."""
    symbols = marks
    if vocab is not None:
        words = bank.corpus.vocab
        ids = np.full(len(words), UNKNOWN, np.int32)
        for i, word in enumerate(words.strings[FIRST:], FIRST):
            spelled = spelling.spell(word)
            ids[i] = vocab.id(spelled)
            if ids[i] == UNKNOWN:
                ids[i] = vocab.id(signature_of(spelled))
        symbols = ids[bank.corpus.tokens]
    symbols, marks, heads = (np.ascontiguousarray(array, np.int32) for array in (symbols, marks, bank.heads))
    starts = np.ascontiguousarray(bank.corpus.sentence_starts, np.int64)
    return Trees(symbols, marks, heads, starts, np.ones(len(bank)))


# ---- what words are


def basis_of_pairs(bank: Treebank, settings: RerankSettings, layer: str) -> Basis:
    """Rows from which words (or tags) are children of which: singular vectors of counts of child and (side, head), or
    canonical directions of the two. Rare words are classes by what they look like."""
    if settings.observe == "tags":
        found = getattr(bank, layer)
        vocab = Vocab.from_words(found.vocab.strings[FIRST:])
        symbols = tags_of(bank, layer, vocab)
    else:
        counted = bank.corpus.counted()
        vocab, mapping = vocabulary_of(counted.vocab, settings.min_count, None, "signature")
        symbols = mapping[counted.tokens]
    pairs = _pairs(symbols, bank, len(vocab), settings.stops)
    wanted = min(settings.states, len(vocab) - 1, int((np.diff(pairs.starts) > 0).sum()))
    if not len(pairs.values) or wanted < 1:
        raise SettingError("no word of the treebank has a head: there is nothing to learn vectors from")
    weights = np.bincount(symbols, minlength=len(vocab)) / max(1, len(symbols))
    if settings.projection == "svd":
        rows = krylov_svd(SparseOperator(pairs, settings.workers), wanted, seed=settings.seed).left
        way = "plain"
    else:
        more, shares = settings.kappa / max(1, len(symbols)), pairs.row_sums()
        weights, heads = (np.where(sums > 0, sums + more, 0.0) for sums in (shares, pairs.column_sums()))
        rows = diagonal_cca(pairs, weights, heads, wanted, workers=settings.workers, seed=settings.seed).left
        rows[:, 0] = np.divide(shares, weights, out=np.zeros(len(shares)), where=weights > 0)  # so for kappa 0
        way = "weighted"
    return _with_unknown(Basis(vocab, np.ascontiguousarray(rows), weights, way))


def _pairs(symbols: np.ndarray, bank: Treebank, n: int, stops: bool) -> Rows:
    """How likely a word and (its side, its head) are, (n, 2n + 1); the last column is the root."""
    lengths, width = bank.corpus.lengths, 2 * n + 1
    begins = np.repeat(bank.corpus.sentence_starts[:-1], lengths)
    parents = begins + bank.heads - 1
    columns = np.where(np.arange(len(parents)) < parents, LEFT, RIGHT) * n + symbols[np.maximum(parents, 0)]
    columns = np.where(bank.heads > 0, columns, width - 1)
    if stops:
        columns = np.concatenate([columns, symbols, symbols + n])
        symbols = np.concatenate([symbols, np.full(2 * len(symbols), END)])
    keys, counts = np.unique(symbols.astype(np.int64) * width + columns, return_counts=True)
    starts = np.searchsorted(keys, np.arange(n + 1) * width).astype(np.int64)
    return Rows(starts, (keys % width).astype(np.int32), counts / max(1, counts.sum()), width)


def basis_of_vectors(vectors: WordVectors | tuple[Vocab, np.ndarray]) -> Basis:
    """Rows from word vectors: the projection that they were made of, with the frequencies of the words; of vectors
    without such (``read_vectors``) the vectors."""
    if isinstance(vectors, tuple):
        vocab, matrix = vectors
        return _with_unknown(Basis(vocab, matrix.astype(np.float64), np.ones(len(vocab)), "operators"))
    rows, counts = vectors.projection_.astype(np.float64), vectors.vocab_.counts.astype(np.float64)
    power, way = 1.0, "operators"
    if isinstance(vectors, OsccaVectors | TsccaVectors):
        counts, way = counts + vectors.kappa, "weighted"
        power = vectors.power if isinstance(vectors, OsccaVectors) else 1.0
    elif isinstance(vectors, LrmvlVectors):
        way = "weighted"
    elif isinstance(vectors, SvdVectors) and vectors.power == 1.0:
        way = "plain"
    weights = (counts / max(1.0, counts.sum())) ** power
    if way == "weighted":  # that all words are words is a direction, which a method may leave out, or find roughly
        rows = np.hstack([np.ones((len(rows), 1)), rows])
    return _with_unknown(Basis(vectors.vocab_, rows, weights, way, vectors.preprocessing))


def _with_unknown(basis: Basis) -> Basis:
    """Where the unknown word has no row, it gets the mean of the rarest words, and their mean weight."""
    rows, weights = basis.rows, basis.weights.copy()
    if rows[UNKNOWN].any():
        return basis
    counts = np.where(rows.any(axis=1), basis.vocab.counts, 0)[FIRST:]
    seen = counts > 0
    rare = np.flatnonzero(counts == counts[seen].min() if seen.any() else rows[FIRST:].any(axis=1)) + FIRST
    if len(rare):
        rows = rows.copy()
        rows[UNKNOWN], weights[UNKNOWN] = rows[rare].mean(axis=0), weights[rare].mean()
    return basis._replace(rows=rows, weights=weights)


# ---- learning


class LatentTrees(NamedTuple):
    """A learned model: ``words``: the symbols, ``tags``: their vocabulary, ``layer``: of which layer; ``model``: what
    trees are scored by; ``floor``: what trees without a positive estimate get; ``facts``: how it was learned."""

    words: Vocab
    tags: Vocab
    layer: str
    observe: str
    spelling: Preprocessing
    model: Observables
    floor: float
    facts: dict[str, Any]

    def score(self, bank: Treebank, lists: np.ndarray, heads: np.ndarray, workers: int | None = None) -> Likelihoods:
        """Of every tree: those of sentence s are ``lists[s]`` to ``lists[s + 1]`` (int64), and ``heads`` int32 has the
        heads of one after the other."""
        marks = tags_of(bank, self.layer, self.tags)
        trees = trees_of(bank, marks, None if self.observe == "tags" else self.words, self.spelling)
        return score_trees(self.model, trees, lists, heads, self.floor, workers)

    def probability(self, bank: Treebank, workers: int | None = None) -> Likelihoods:
        """Of the trees of a treebank."""
        lists = np.arange(len(bank) + 1, dtype=np.int64)
        return self.score(bank, lists, np.ascontiguousarray(bank.heads, np.int32), workers)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a file keeps, see ``LATENT``."""
        found = {**self.words.arrays("latent/words/"), **self.tags.arrays("latent/tags/")}
        found |= {f"latent/{name}": array for name, array in self.model._asdict().items() if name != "tags"}
        return found | {"latent/tag_operators": self.model.tags, "latent/floor": np.array([self.floor])}

    def extra(self) -> dict[str, Any]:
        """Small facts that a file keeps."""
        return {"layer": self.layer, "spelling": self.spelling.settings, "facts": self.facts}

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray], extra: Mapping[str, Any], observe: str) -> LatentTrees:
        """The model of a file; ``ValueError`` where its parts do not fit each other."""
        words, tags = (Vocab.from_arrays(arrays, f"latent/{name}/") for name in ("words", "tags"))
        names = ("start", "end", "steps", "maps", "duals", "operators", "tag_operators", "stops")
        model = Observables(*(np.ascontiguousarray(arrays[f"latent/{name}"]) for name in names))
        rows = len(model.duals) or len(model.operators)
        if rows != len(tags if observe == "tags" else words) or min(len(model.duals), len(model.operators)):
            raise ValueError("its operators do not fit its words")
        if len(model.tags) != (len(tags) if observe == "both" else 0) or len(model.stops) not in (0, 2):
            raise ValueError("its operators do not fit its tags")
        spelling, layer, facts = (extra.get(name) for name in ("spelling", "layer", "facts"))
        if not isinstance(spelling, dict) or layer not in ("xpos", "tags") or not isinstance(facts, dict):
            raise ValueError("it does not say what its words are")
        try:
            how = Preprocessing(**spelling)
        except (TypeError, SettingError):
            raise ValueError("it does not say how its words are spelled") from None
        return cls(words, tags, layer, observe, how, model, float(arrays["latent/floor"][0]), facts)


def score_trees(
    model: Observables, trees: Trees, lists: np.ndarray, heads: np.ndarray, floor: float, workers: int | None = None
) -> Likelihoods:
    """Log p of the trees of lists, see ``LatentTrees.score``."""
    lengths, counts = np.diff(trees.starts), np.diff(lists)
    bounds = chunks_of(lengths * counts + 1, _WORDS).tolist()
    begins = starts_of(lengths * counts)
    signs, logs = np.zeros(int(lists[-1])), np.zeros(int(lists[-1]))

    def work(piece: tuple[int, int]) -> None:
        first, last = piece
        room = kernels.list_room(int(lengths[first:last].max()), int(counts[first:last].max()), len(model.start))
        here = slice(int(lists[first]), int(lists[last]))
        own = heads[begins[first] : begins[last]]
        kernels.score_lists(model, trees, first, last, lists, own, room, signs[here], logs[here])

    each(work, list(pairwise(bounds)), workers)
    known = (signs > 0) & np.isfinite(logs)
    return Likelihoods(np.where(known, logs, floor), known)


def moments_of(trees: Trees, basis: np.ndarray, which: int, settings: RerankSettings, marks: int) -> Moments:
    """Means over all triples of trees (sums, if there are none), as the settings say."""
    lengths, by_nodes, stop = np.diff(trees.starts), settings.weighting == "nodes", END if settings.stops else -1

    def work(piece: tuple[int, int]) -> Moments:
        sums = kernels.moments_for(basis.shape[1], marks)
        kernels.add_triples(trees, *piece, basis, stop, which, by_nodes, sums)
        return sums

    whole = _summed(kernels.moments_for(basis.shape[1], marks), work, lengths, settings.workers)
    for name, array in whole._asdict().items():
        if name not in ("total", "seen") and whole.total[0] > 0:
            array /= whole.total[0]
    return whole


def _summed(whole: Any, work: Callable[[tuple[int, int]], Any], lengths: np.ndarray, workers: int | None) -> Any:
    """Add what is found in parts of the sentences to a record of arrays."""
    for part in each(work, list(pairwise(chunks_of(lengths + 1, _WORDS).tolist())), workers):
        for total, more in zip(whole, part, strict=True):
            total += more
    return whole


def _inverse(matrix: np.ndarray) -> np.ndarray:
    return np.linalg.pinv(matrix, rcond=_CUT)


def _directions(moments: Moments, most: int) -> np.ndarray:
    """The directions that middle and last words agree on most, orthonormal (k, rank): ``most``, or fewer if the
    moments have a smaller rank."""
    agreed = moments.middle_last
    _, vectors = np.linalg.eigh(agreed @ agreed.T + agreed.T @ agreed)
    for rank in range(min(most, len(vectors)), 0, -1):
        chosen = vectors[:, : -1 - rank : -1]
        values = np.linalg.svd(chosen.T @ agreed @ chosen, compute_uv=False)
        if values[-1] > _SMALLEST * values[0]:
            break
    return chosen


def _turned(moments: Moments, chosen: np.ndarray) -> Moments:
    """Moments of rows times ``chosen`` (k, rank)."""

    def square(matrix: np.ndarray) -> np.ndarray:
        return chosen.T @ matrix @ chosen

    tensor = np.einsum("abc,ai,bj,cl->ijl", moments.tensor, chosen, chosen, chosen, optimize=True)
    return moments._replace(
        last=moments.last @ chosen, middle_last=square(moments.middle_last), middle_first=square(moments.middle_first),
        first_last=square(moments.first_last), tensor=tensor, marked=square(moments.marked),
    )  # fmt: skip


class _Side(NamedTuple):
    """One set of triples, inverted: ``step``: E, ``end``: c_inf, ``maps``: D, ``marked``: D of each mark."""

    step: np.ndarray
    end: np.ndarray
    maps: np.ndarray
    marked: np.ndarray


def _inverted(moments: Moments) -> _Side:
    inverse = _inverse(moments.middle_last)
    step = moments.first_last @ inverse
    back, tensor = _inverse(step), moments.tensor.transpose(1, 0, 2)
    return _Side(step, moments.last @ inverse, back @ tensor @ inverse, back @ moments.marked @ inverse)


def _used(seen: Mapping[int, int], wanted: str) -> tuple[str, tuple[int, ...]]:
    """Which estimator is taken, and which triples it has, the most frequent first."""
    chains = tuple(sorted((side for side in (LEFT, RIGHT) if seen[side]), key=lambda side: -seen[side]))
    estimator = wanted
    if wanted == "auto":
        estimator = "pairs" if seen[PAIRS] >= seen[LEFT] + seen[RIGHT] else "chain"
    if estimator == "pairs" and not seen[PAIRS]:
        raise SettingError("no word has children on both sides: the estimator pairs has no triples; try chain")
    if estimator == "chain" and not chains:
        raise SettingError("no word has both a child and a head: the estimator chain has no triples; try pairs")
    return estimator, (PAIRS,) if estimator == "pairs" else chains


def observables_of(
    trees: Trees, basis: Basis, settings: RerankSettings, marks: int
) -> tuple[Observables, dict[str, Any]]:
    """The observables of trees, with operators of marks if ``marks`` is not 0, and how they were found."""
    counts = np.bincount(trees.symbols, minlength=len(basis.rows))
    counts[END] += 2 * len(trees.symbols) if settings.stops else 0
    # whitened, so that the second moment of words is the identity: the scale of rows says nothing
    values, vectors = np.linalg.eigh((basis.rows.T * counts) @ basis.rows / max(1, counts.sum()))
    kept = values > _CUT**2 * values[-1]
    rows = basis.rows @ (vectors[:, kept] / np.sqrt(values[kept]))

    def sums(which: int, of: Trees, count: int) -> Moments:
        return moments_of(of, rows, which, settings, count)

    found = {which: sums(which, trees, marks) for which in (PAIRS, LEFT, RIGHT)}
    seen = {which: int(moments.seen[0]) for which, moments in found.items()}
    estimator, used = _used(seen, settings.estimator)
    chosen = _directions(found[used[0]], settings.states)
    rank = chosen.shape[1]
    turned = {which: _turned(found[which], chosen) for which in used}
    used = tuple(which for which in used if np.linalg.matrix_rank(turned[which].middle_last, rtol=_SMALLEST) == rank)
    sides = {which: _inverted(turned[which]) for which in used}
    total = sum(turned[which].total[0] for which in used)

    def mean(name: str, of: Mapping[int, _Side]) -> np.ndarray:
        parts = (turned[which].total[0] / total * getattr(of[which], name) for which in used)
        return np.ascontiguousarray(sum(parts))

    if estimator == "pairs":
        right = turned[PAIRS].first_last.T @ _inverse(turned[PAIRS].middle_first)
        steps = np.stack([sides[PAIRS].step, right])
    else:
        steps = np.stack([sides.get(side, sides[used[0]]).step for side in (LEFT, RIGHT)])
    rows, operators = rows @ chosen, np.zeros((0, rank, rank))
    if basis.way == "operators":
        own = trees._replace(marks=trees.symbols)
        operators = mean("marked", {which: _inverted(sums(which, own, len(rows))) for which in used})
    roots = np.flatnonzero(trees.heads == 0)
    weights = np.repeat(trees.weights, np.diff(trees.starts))[roots]
    model = Observables(
        weights @ rows[trees.symbols[roots]] / weights.sum(), mean("end", sides), steps, mean("maps", sides),
        basis.duals(rows), operators, mean("marked", sides), np.zeros((0, rank)),
    )  # fmt: skip
    if settings.stops:
        # A stop has no children, so it is in the middle of nothing: its dual is all that is needed of it.
        stop = model.duals[END] if len(model.duals) else duals_of(rows)[END]
        model = model._replace(stops=np.ascontiguousarray(stop @ model.steps))
    if not all(np.isfinite(array).all() for array in model):
        raise SettingError(f"the moments of {seen[used[0]]:,} triples cannot be inverted: fewer states, or more trees")
    return model, {"estimator": estimator, "rank": rank, "triples": sum(seen[which] for which in used)}


def learn(
    bank: Treebank, settings: RerankSettings, layer: str, vectors: WordVectors | tuple[Vocab, np.ndarray] | None = None
) -> LatentTrees:
    """Learn from gold trees; ``layer``: which tags; ``vectors``: of words, else from the trees themselves."""
    basis = basis_of_pairs(bank, settings, layer) if vectors is None else basis_of_vectors(vectors)
    if vectors is not None and basis.rows.shape[1] < settings.states:
        raise SettingError(f"vectors of {basis.rows.shape[1]} dimensions are too few for {settings.states} states")
    if settings.stops and not basis.rows[END].any():
        # the stop gets a direction of its own, and is as frequent as both stops of all words
        rows = np.hstack([basis.rows, np.zeros((len(basis.rows), 1))])
        weights = basis.weights / max(basis.weights.sum(), 1e-300) / 3
        rows[END, -1], weights[END] = 1.0, 2 / 3
        basis = basis._replace(rows=rows, weights=weights)
    tags = Vocab.from_words(getattr(bank, layer).vocab.strings[FIRST:])
    words = Vocab.from_words([]) if settings.observe == "tags" else basis.vocab
    marks = tags_of(bank, layer, tags)
    trees = trees_of(bank, marks, None if settings.observe == "tags" else words, basis.spelling)
    model, facts = observables_of(trees, basis, settings, len(tags) if settings.observe == "both" else 0)
    if settings.recover and len(model.duals):
        model, _ = polished(recovered(model, settings.seed), trees, settings.polish, settings.workers)
    found = LatentTrees(words, tags, layer, settings.observe, basis.spelling, model, 0.0, facts)
    known = found.probability(bank, settings.workers)
    lowest = float(known.logs[known.known].min(initial=0.0))
    facts["not_positive"] = int((~known.known).sum())
    return found._replace(floor=lowest - 1.0)


# ---- the states behind the observables


_TRIES = 20
_WORST = 1e12
"""Eigenvectors of a larger condition number are not states."""
_NO_STATE = 1e-6
_FLOOR = 1e-3
"""What a distribution has at least, as a part of the uniform one, where states are recovered."""
_PRIOR = 1e-3
"""Added to expected counts."""


def recovered(model: Observables, seed: int = 1) -> Observables:
    """The same model in the basis of its states, made of probabilities: with G the eigenvectors of D(y) for a random y,
    scaled so that c_inf' G = 1', they are G^-1 E G, G'a and G^-1 c_1, without what is negative. So every tree has a
    positive value. Of several y that is taken whose eigenvectors come closest to diagonalising the others' D."""
    rank = len(model.start)
    random = Random(seed, "parse.latent.recovery")
    tries = [np.tensordot(2.0 * random.uniforms(rank) - 1.0, model.maps, 1) for _ in range(_TRIES)]

    def misfit(vectors: np.ndarray) -> float:
        if np.linalg.cond(vectors) > _WORST:
            return np.inf
        turned = np.linalg.solve(vectors, np.array(tries) @ vectors)
        diagonal = (np.einsum("mii->mi", turned).real ** 2).sum()
        return float((np.abs(turned) ** 2).sum() / diagonal)

    states = min((np.linalg.eig(matrix)[1] for matrix in tries), key=misfit)
    scale = model.end @ states
    states = states / np.where(np.abs(scale) > _NO_STATE, scale, 1.0)
    back = np.linalg.inv(states)

    def shares(array: np.ndarray, axis: int) -> np.ndarray:
        return _shares(np.maximum(array.real, 0.0), axis, _FLOOR / array.shape[axis])

    steps = shares(back @ model.steps @ states, 1)
    duals = shares(model.duals @ states, 0)
    unit = np.eye(rank)
    of_tags = np.einsum("tii->ti", back @ model.tags @ states)
    tags = shares(of_tags, 0)[:, :, None] * unit if len(of_tags) else model.tags
    stops = duals[END] @ steps if len(model.stops) else model.stops
    return Observables(
        shares(back @ model.start, 0), np.ones(rank), steps, np.ascontiguousarray(unit[:, :, None] * unit[:, None, :]),
        duals, model.operators, np.ascontiguousarray(tags), np.ascontiguousarray(stops),
    )  # fmt: skip


def _shares(counts: np.ndarray, axis: int, prior: float) -> np.ndarray:
    """Counts, each with a little more, as shares along an axis."""
    smoothed = counts + prior
    return np.ascontiguousarray(smoothed / smoothed.sum(axis=axis, keepdims=True))


def _expected(trees: Trees, states: States, workers: int | None) -> Expectations:
    """Expected counts of all trees, those of stops too."""
    lengths = np.diff(trees.starts)

    def work(piece: tuple[int, int]) -> Expectations:
        found = kernels.expectations_for(states)
        kernels.expect(trees, *piece, states, found)
        return found

    whole = _summed(kernels.expectations_for(states), work, lengths, workers)
    for side in range(len(states.stops)):
        both = whole.stopped / states.stops[side] * states.steps[side] * states.words[END][:, None]
        whole.steps[side] += both
        whole.words[END] += both.sum(axis=1)
    return whole


def polished(
    model: Observables, trees: Trees, passes: int, workers: int | None = None
) -> tuple[Observables, list[float]]:
    """Recovered observables after ``passes`` of EM on trees, and the log likelihood before each of them."""
    history: list[float] = []
    for _ in range(passes):
        shown = np.ascontiguousarray(np.einsum("tii->ti", model.tags))
        counts = _expected(trees, States(model.start, model.steps, model.duals, shown, model.stops), workers)
        history.append(float(counts.log[0]))
        steps, words = _shares(counts.steps, 1, _PRIOR), _shares(counts.words, 0, _PRIOR)
        tags = _shares(counts.tags, 0, _PRIOR)[:, :, None] * np.eye(len(model.start)) if len(model.tags) else model.tags
        model = model._replace(
            start=_shares(counts.start, 0, _PRIOR), steps=steps, duals=words, tags=np.ascontiguousarray(tags),
            stops=np.ascontiguousarray(words[END] @ steps) if len(model.stops) else model.stops,
        )  # fmt: skip
    return model, history
