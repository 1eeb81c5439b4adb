"""Aligner: what all models of word alignment can do, each in its own way; the methods by name; and one alignment from
those of both directions (``symmetrise``, see ``kernels.links`` for the rules).

A model has the expected counts of couples (a source and a target type that were linked) in both directions, and what
its method adds. Direction 0 (forward) lets source words generate target words, direction 1 (backward) the other way
round; all that leaves this module has links (source, target).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.align.counts import CELLS_A_CHUNK, Posteriors, pairs_of, read_only
from corpuscle.align.kernels import em
from corpuscle.align.kernels import links as joining
from corpuscle.align.kernels.cooccurrence import Couples, directed, locate
from corpuscle.align.kernels.loglinear import LONGEST
from corpuscle.align.settings import DECODINGS, DEFAULT_SYMMETRISATION, MATRICES, SYMMETRISATIONS, WAYS, check_choice
from corpuscle.catalogue import TASKS, find
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError, warn
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Arrays, Container, Kind, Model, Part, Record, save, vocab_arrays
from corpuscle.scale import chunks_of, workers
from corpuscle.settings import learned
from corpuscle.text.alignments import AlignmentMatrix, Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.settings import TextSettings
from corpuscle.text.vocab import Vocab

_SMALLEST = 0.01
"""Entries of matrices below this are zero."""

LINKED = {
    **vocab_arrays("source/", "source_types"),
    **vocab_arrays("target/", "target_types"),
    "couples/row_starts": Array("int64", ("source_types+4",), offsets_into="couples"),
    "couples/columns": Array("int32", ("couples",), low=0, high="target_types+3"),
    "counts": Array("float32", (2, "couples"), low=0, finite=True),
    "history": Array("float64", ("passes", 2), finite=True),
}
"""The arrays of every model."""

COUNTED = LINKED | {
    "null/forward": Array("float64", ("target_types+3",), low=0, finite=True),
    "null/backward": Array("float64", ("source_types+3",), low=0, finite=True),
}
"""The arrays of every model whose table comes from counts."""


def check_rows(loaded: Container, name: str = "couples") -> None:
    """An error if the columns of a table of couples do not rise in every row."""
    columns, starts = loaded.arrays[f"{name}/columns"], loaded.arrays[f"{name}/row_starts"]
    inside = np.ones(len(columns), bool)
    inside[starts[:-1][starts[:-1] < len(columns)]] = False
    if (np.diff(columns, prepend=-1)[inside] <= 0).any():
        raise ValueError(f"the {name.split('/')[0]} of a word are not in order")


def signature_of(bitext: Bitext) -> str:
    """A short hash of the text of both sides."""
    return bitext.source.signature() + bitext.target.signature()


class Aligner(TextSettings, Model, ABC):
    """A learned model of word alignment; its subclasses are the methods.

    - ``source_vocab_``, ``target_vocab_``: the words of both sides;
    - ``couples_``: which of them were linked; ``counts_``: float32 (2, n_couples), their expected links, by direction;
    - ``null_counts_``: the expected number of times that each target word (direction 0) or source word (direction 1)
      came from the null word, of models whose table comes from counts;
    - ``history_``: the log-likelihood of the training text per token, by pass and direction.
    """

    method: ClassVar[str]
    limited: ClassVar[bool] = False
    """Whether very long sentence pairs get no links."""
    PARTIAL: ClassVar[Kind]
    SAVED: ClassVar = {
        "source_vocab_": Record(Vocab, "source/"),
        "target_vocab_": Record(Vocab, "target/"),
        "couples_": Record(Couples, "couples/"),
        "counts_": Arrays("counts"),
        "history_": Arrays("history"),
    }

    max_length: int
    source_vocab_: Vocab = learned()
    target_vocab_: Vocab = learned()
    couples_: Couples = learned()
    counts_: np.ndarray = learned()
    null_counts_: tuple[np.ndarray, np.ndarray] = learned()
    history_: np.ndarray = learned()

    @abstractmethod
    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Self | None = None) -> Self:
        """Learn from sentence pairs. ``checkpoint`` keeps unfinished work; ``base`` is a model of the same method whose
        counts are built upon: it learns from new pairs what it does not know, and need not see the old ones again."""

    @abstractmethod
    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        """Link probabilities of sentence pairs that ``prepared`` has made."""

    def best(self, pairs: Any, direction: int) -> np.ndarray:
        """The best state of every output, int32, -1 for the null word."""
        found = self.posteriors(pairs, direction)
        best = np.empty(len(found.nulls), np.int32)
        em.strongest(directed(pairs, direction), found.links, found.nulls, best)
        return best

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ``k`` best alignments of every sentence pair: states int32 (k, n_outputs), from 0, -1 for the null word,
        and log-probabilities float64 (k,), -inf where there are fewer."""
        raise SettingError(f"the method {self.method} has no list of best alignments, only their links' probabilities")

    def cut(self, bitext: Bitext) -> tuple[list[Any], Any]:
        """Sentence pairs in chunks of bounded size, and what they have in common, for ``prepared``."""
        bitext = Bitext(bitext.source.recode(self.source_vocab_), bitext.target.recode(self.target_vocab_))
        return [pairs_of(part.source, part.target, cells=False) for part in slices(bitext, CELLS_A_CHUNK)], None

    def prepared(self, chunk: Any, common: Any) -> Any:
        """A chunk for ``posteriors``, ``best`` and ``best_paths``: here the pairs with their cells."""
        pairs = read_only(chunk)._replace(cells=np.empty(int(chunk.cell_starts[-1]), np.int32))
        locate(pairs, self.couples_)
        return pairs

    def map(self, bitext: Bitext, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """``function(model, pairs, *arguments)`` of every chunk of a bitext, in order; the function has a name in its
        module, so that a cluster can find it."""
        if self.limited:
            warn_of_long_pairs(bitext)
        chunks, common = self.cut(bitext)
        with workers(self.workers, self.cluster) as pool:
            yield from pool.scatter(chunks).map(_of_chunk, (self, common, function, arguments))

    def __getstate__(self) -> dict[str, Any]:
        """A model that goes to another process works there by itself."""
        return self.__dict__ | {"workers": 1, "cluster": None}

    def align(
        self, bitext: Bitext, symmetrise: str = DEFAULT_SYMMETRISATION, decode: str = "viterbi", threshold: float = 0.5
    ) -> Alignments:
        """Links of sentence pairs, new ones or those of the training text.

        ``decode``: ``viterbi`` takes the best state of each output, ``posterior`` all links with a probability of at
        least ``threshold``. ``symmetrise``: one of ``SYMMETRISATIONS``, or ``posterior``, which takes the links whose
        probabilities in both directions have a geometric mean of at least ``threshold``. Weights are those means.
        """
        return self.align_all(bitext, (symmetrise,), decode, threshold)[symmetrise]

    def align_all(
        self, bitext: Bitext, ways: tuple[str, ...], decode: str = "viterbi", threshold: float = 0.5
    ) -> dict[str, Alignments]:
        """The links of several symmetrisations at the cost of one."""
        for how in ways:
            check_choice("the symmetrisation", how, WAYS)
        check_choice("the decoding of links", decode, DECODINGS)
        if not 0 < threshold <= 1:
            raise SettingError(f"the threshold is above 0 and at most 1, not {threshold}")
        joint = [how for how in ways if how != "posterior"]
        result: dict[str, Alignments] = {}
        if joint and decode == "posterior":
            both = [self.matrix(bitext, one).links(threshold) for one in ("forward", "backward")]
            result = {how: symmetrise(both[0], both[1], how) for how in joint}
        elif joint:
            found = list(self.map(bitext, _best_links, joint))
            result = {how: Alignments.concatenated([parts[k] for parts in found]) for k, how in enumerate(joint)}
        if "posterior" in ways:
            result["posterior"] = self.matrix(bitext).links(threshold)
        return {how: dataclasses.replace(links, bitext=bitext) for how, links in result.items()}

    def matrix(self, bitext: Bitext, matrix: str = "geo") -> AlignmentMatrix:
        """How probable each link is: in one direction (``forward``, ``backward``), or the geometric (``geo``) or
        arithmetic ``mean`` of both; or its share in the ten best alignments of either (``nbest``), weighted by their
        probabilities. Entries below 0.01 are zero."""
        check_choice("a matrix", matrix, MATRICES)
        if matrix == "nbest":
            return n_best_matrix(self, bitext)
        shapes = np.column_stack([bitext.source.lengths, bitext.target.lengths]).astype(np.int32)
        found = list(self.map(bitext, _matrices, matrix))
        return AlignmentMatrix(np.concatenate(found) if found else np.zeros(0, np.float32), shapes)

    def weighted(self, links: Alignments, bitext: Bitext) -> Alignments:
        """These links with their probabilities (geometric mean of both directions) as weights."""
        matrix = self.matrix(bitext)
        pairs = links.pairs
        cells = matrix.starts[pairs] + links.links[:, 0].astype(np.int64) * matrix.shapes[pairs, 1] + links.links[:, 1]
        return dataclasses.replace(links, weights=matrix.weights[cells].astype(np.float64))

    def confidence(self, bitext: Bitext) -> np.ndarray:
        """How well the sentences of each pair translate each other, float64 (n_pairs,) in 0..1.

        It is the mean, over the words of both sides, of the probability that the word is linked to anything, as both
        directions see it; a pair with an empty side has 0.
        """
        matrix = self.matrix(bitext)
        sums = np.add.reduceat(np.append(matrix.weights, 0.0), np.minimum(matrix.starts[:-1], len(matrix.weights)))
        sums[matrix.shapes.prod(axis=1) == 0] = 0.0
        lengths = matrix.shapes.sum(axis=1) / 2
        return np.minimum(1.0, np.divide(sums, lengths, out=np.zeros(len(lengths)), where=lengths > 0))

    def log_likelihood(self, bitext: Bitext) -> np.ndarray:
        """The natural log of the probability of all target words given the source sentences, and of all source words
        given the target sentences, float64 (2,). A word that the model does not know has almost none."""
        return np.array([*self.map(bitext, _likelihoods), [0.0, 0.0]]).sum(axis=0)

    def checkpoint(self, bitext: Bitext, path: str | PathLike[str], resume: bool = False) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, self.PARTIAL, self.dependence(), signature_of(bitext), resume=resume)

    def dependence(self) -> dict[str, Any]:
        """What the result of ``fit`` depends on, apart from the text."""
        return self.settings


def slices(bitext: Bitext, cells: int) -> Iterator[Bitext]:
    """Consecutive parts of a bitext, of about ``cells`` cells each."""
    bounds = chunks_of(bitext.source.lengths * bitext.target.lengths + 1, cells).tolist()
    for first, last in pairwise(bounds):
        yield bitext[first:last]


def _of_chunk(chunk: Any, job: tuple[Aligner, Any, Callable[..., Any], tuple[Any, ...]]) -> Any:
    model, common, function, arguments = job
    return function(model, model.prepared(chunk, common), *arguments)


def _best_links(model: Aligner, pairs: Any, ways: list[str]) -> list[Alignments]:
    """The best states of each output, symmetrised in several ways."""
    found = []
    for d, outputs in enumerate((pairs.target_starts, pairs.source_starts)):
        best, lengths = model.best(pairs, d), np.diff(outputs)
        position = np.arange(len(best)) - np.repeat(outputs[:-1], lengths)
        links = np.column_stack([best, position]).astype(np.int32)
        own = Alignments(links, outputs, np.ones(len(links), bool)).filtered(best >= 0)
        found.append((own.transposed() if d else own).sorted())
    return [symmetrise(found[0], found[1], how) for how in ways]


def _matrices(model: Aligner, pairs: Any, matrix: str) -> np.ndarray:
    """One matrix for the wanted directions, small entries set to zero; float32 (n_cells,)."""
    wanted = {"forward": (0,), "backward": (1,)}.get(matrix, (0, 1))
    links = [model.posteriors(pairs, d).links for d in wanted]
    if len(links) == 2:
        links = [np.sqrt(links[0] * links[1]) if matrix == "geo" else (links[0] + links[1]) / np.float32(2)]
    result = np.minimum(links[0], np.float32(1))
    result[result < _SMALLEST] = 0
    return result


def _likelihoods(model: Aligner, pairs: Any) -> list[float]:
    return [model.posteriors(pairs, d).likelihood for d in (0, 1)]


def _check_matrix(container: Container) -> None:
    shapes, weights = container.arrays["alignment/shapes"], container.arrays["alignment/weights"]
    if int(shapes.astype(np.object_).prod(axis=1).sum()) != len(weights):
        raise ValueError("the matrices do not have the sizes that they should have")


class MatrixFile:
    """The kind of file that holds an ``AlignmentMatrix``; ``corpuscle.load`` gives the matrix itself."""

    KIND = Kind(
        "align.matrix",
        1,
        {
            "alignment/weights": Array("float32", ("cells",), low=0, high=1.0001),
            "alignment/shapes": Array("int32", ("pairs", 2), low=0),
        },
        check=_check_matrix,
    )

    @classmethod
    def from_container(cls, container: Container) -> AlignmentMatrix:
        return AlignmentMatrix.from_arrays(container.arrays)


def save_matrix(matrix: AlignmentMatrix, path: str | PathLike[str], /, **settings: str) -> None:
    """Write the matrices; ``settings`` say how they were made."""
    sourced = {name: (value, "given") for name, value in settings.items()}
    save(path, Part(MatrixFile.KIND, matrix.arrays(), settings=sourced))


METHODS = tuple(TASKS["align"].methods)
DEFAULT_METHOD = METHODS[0]


def learner(method: str = DEFAULT_METHOD, **settings: Any) -> Any:
    """An aligner that has learned nothing yet."""
    check_choice("the method", method, METHODS)
    return find(TASKS["align"].methods[method].learner)(**settings)


def align_pairs(
    bitext: Bitext, method: str = DEFAULT_METHOD, symmetrise: str = DEFAULT_SYMMETRISATION, **settings: Any
) -> Alignments:
    """Learn from a bitext and align it: both directions, symmetrised. Tokens may be words, characters or anything."""
    return learner(method, **settings).fit(bitext).align(bitext, symmetrise)


_NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
"""Where a link may grow to, the last four along diagonals."""

_STEPS = {
    "intersection": (0, 0), "union": (0, joining.ALL), "grow": (4, 0), "grow-diag": (8, 0),
    "grow-diag-final": (8, joining.OR), "grow-diag-final-and": (8, joining.AND),
}  # fmt: skip
"""How many neighbours a link has, and the last step."""

_CELLS_A_CALL = 4_000_000


def symmetrise(forward: Alignments, backward: Alignments, how: str = DEFAULT_SYMMETRISATION) -> Alignments:
    """Join two alignments of the same sentence pairs, both with links (source, target); the result is sorted.

    >>> one = Alignments.from_pairs([[(0, 0), (1, 1), (3, 3), (4, 3)]])
    >>> two = Alignments.from_pairs([[(0, 0), (1, 1), (1, 2), (4, 5)]])
    >>> symmetrise(one, two, "grow-diag").links.tolist()
    [[0, 0], [1, 1], [1, 2]]
    """
    check_choice("the symmetrisation", how, SYMMETRISATIONS)
    if len(forward) != len(backward):
        raise ValueError(f"{len(forward)} sentence pairs, but the other alignments have {len(backward)}")
    if how in ("forward", "backward"):
        return (forward if how == "forward" else backward).sorted()
    neighbours, final = _STEPS[how]
    steps = np.array(_NEIGHBOURS, np.int64)[:neighbours]
    lengths = np.zeros((len(forward), 2), np.int64)
    for each in forward, backward:
        np.maximum.at(lengths, each.pairs, each.links + 1)
    one, other = (
        joining.Links(frozen(each.links, np.int32), frozen(each.starts, np.int64)) for each in (forward, backward)
    )
    parts = []
    for first, last in pairwise(chunks_of(lengths.prod(axis=1) + 1, _CELLS_A_CALL).tolist()):
        most = sum(int(each.starts[last] - each.starts[first]) for each in (forward, backward))
        links, starts = np.empty((most, 2), np.int32), np.zeros(last - first + 1, np.int64)
        count = joining.symmetrise(one, other, lengths, first, last, steps, final, links, starts)
        parts.append(Alignments(links[:count].copy(), starts, np.ones(count, bool)))
    return Alignments.concatenated(parts)


class Ranked(NamedTuple):
    """An alignment: ``links`` int32 (n_links, 2), source and target, sorted; ``probability`` given both sentences."""

    links: np.ndarray
    probability: float


def warn_of_long_pairs(bitext: Bitext) -> None:
    """Warn about sentence pairs that are too long for a table of all steps."""
    long = int((np.maximum(bitext.source.lengths, bitext.target.lengths) > LONGEST).sum())
    if long:
        warn(f"{long:,} sentence pairs have a side of more than {LONGEST:,} words and get no links")


def n_best(model: Aligner, bitext: Bitext, k: int, direction: int) -> Iterator[list[Ranked]]:
    """The ``k`` most probable alignments of every sentence pair, best first, fewer where there are no more.

    Direction 0 links every target word to a source word or to nothing, direction 1 the other way round. A pair with a
    side of more than ``LONGEST`` words has one alignment, without links.
    """
    if not 1 <= k <= 10_000:
        raise SettingError(f"the number of best alignments is between 1 and 10000, not {k}")
    if not model.limited:  # else it says so itself
        warn_of_long_pairs(bitext)
    for ranked in model.map(bitext, _ranked_pairs, direction, k):
        yield from ranked


def _ranked_pairs(model: Aligner, pairs: Any, direction: int, k: int) -> list[list[Ranked]]:
    found = []
    for paths, scores in model.best_paths(pairs, direction, k):
        ranked = []
        for path, score in zip(paths, scores.tolist(), strict=True):
            if score == -np.inf:
                break
            linked = np.flatnonzero(path >= 0)
            links = np.column_stack([path[linked], linked]).astype(np.int32)
            if direction:
                links = links[:, ::-1]
            ranked.append(Ranked(links[np.lexsort((links[:, 1], links[:, 0]))], min(1.0, float(np.exp(score)))))
        found.append(ranked)
    return found


def n_best_matrix(model: Aligner, bitext: Bitext, k: int = 10) -> AlignmentMatrix:
    """The share of each link in the ``k`` best alignments, weighted by probability; the mean of both directions."""
    shapes = np.column_stack([bitext.source.lengths, bitext.target.lengths])
    matrices = [np.zeros(shape) for shape in shapes.tolist()]
    for direction in 0, 1:
        for matrix, ranked in zip(matrices, n_best(model, bitext, k, direction), strict=True):
            total = sum(each.probability for each in ranked)
            for each in ranked:
                matrix[each.links[:, 0], each.links[:, 1]] += each.probability / total / 2
    return AlignmentMatrix.from_matrices(np.where(matrix < _SMALLEST, 0, np.minimum(matrix, 1)) for matrix in matrices)
