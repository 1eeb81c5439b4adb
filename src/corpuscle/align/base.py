"""Aligner: what all models of word alignment have in common, the model file, and what can be done with it.

A model is the expected counts of couples (a source and a target type that were linked) in both directions, and what
its method adds: the pull of the diagonal, or the counts of jumps. Tables of probabilities are made from the counts when
they are needed, so that learning can go on from a saved model.

Direction 0 (forward) lets source words generate target words, direction 1 (backward) the other way round; all that
leaves this module has links (source, target).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.align.kernels import symmetry, translation
from corpuscle.align.kernels.cooccurrence import Couples, Pairs, locate, pairs_of
from corpuscle.align.kernels.fertility import MOST
from corpuscle.align.symmetrise import check_symmetrisation, symmetrise
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Container, Kind, save, vocab_arrays
from corpuscle.scale import chunks_of, workers
from corpuscle.text.alignments import AlignmentMatrix, Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import starts_of
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import Vocab

__all__ = ["DECODINGS", "DEFAULT_SYMMETRISATION", "MATRICES", "MAX_JUMP", "Aligner", "Posteriors", "Tables"]

MAX_JUMP = 50
"""Longer jumps share one count in each direction."""

UNSEEN = 1e-9
"""The probability of a couple that was never seen together."""

DECODINGS = ("viterbi", "posterior")
MATRICES = ("geo", "mean", "forward", "backward", "nbest")
DEFAULT_SYMMETRISATION = "grow-diag-final-and"

_CELLS_A_CHUNK = 200_000
_SMALLEST = 0.01
"""Entries of matrices below this are zero."""


class Tables(NamedTuple):
    """Probabilities of one direction: ``couples`` float32 (n_couples + 1,), the last for couples that are not in the
    table; ``null`` float32 (output types,), what the null word generates."""

    couples: np.ndarray
    null: np.ndarray


class Posteriors(NamedTuple):
    """Link probabilities of one direction in some sentence pairs: ``links`` float32 (n_cells,) in the order of cells,
    ``nulls`` float32 (n_outputs,), ``likelihood``: the log-likelihood of the outputs, nan where it is not known."""

    links: np.ndarray
    nulls: np.ndarray
    likelihood: float


def _check(container: Container) -> None:
    from corpuscle.align import METHODS

    method = METHODS.get(str(container.settings.get("method")))
    if method is None or method.KIND.name != container.kind:
        raise ValueError("it does not say by which method it was learned")
    fertile = container.settings["method"] == "fertility"
    if any((f"fertilities/{side}" in container.arrays) != fertile for side in ("source", "target")):
        raise ValueError("it has no fertilities, or should not have any")
    if fertile and max(container.arrays[name].sum() for name in ("counts", "null/forward", "null/backward")) >= 2**31:
        raise ValueError("it counts more links than there can be")
    columns, starts = container.arrays["couples/columns"], container.arrays["couples/row_starts"]
    inside = np.ones(len(columns), bool)
    inside[starts[:-1][starts[:-1] < len(columns)]] = False
    if (np.diff(columns, prepend=-1)[inside] <= 0).any():
        raise ValueError("the couples of a word are not in order")


class Aligner(ABC):
    """A learned model of word alignment; its subclasses are the methods.

    - ``source_vocab_``, ``target_vocab_``: the words of both sides;
    - ``couples_``: which of them were linked; ``counts_``: float32 (2, n_couples), how often, by direction;
    - ``null_counts_``: how often each target word (direction 0) or source word (direction 1) came from nothing;
    - ``strengths_``: float64 (2,), the pull of the diagonal; ``jumps_``: float64 (2, 101), counts of jumps;
    - ``fertilities_``: of ``fertility`` only, float32 (types, MOST + 1) of source and of target types: how often a word
      had 0, 1, ... links;
    - ``history_``: the log-likelihood of the training text a token, by iteration and direction.
    """

    method: ClassVar[str]

    KIND = Kind(
        "align.model",
        1,
        {
            **vocab_arrays("source/", "source_types"),
            **vocab_arrays("target/", "target_types"),
            "couples/row_starts": Array("int64", ("source_types+4",), offsets_into="couples"),
            "couples/columns": Array("int32", ("couples",), low=0, high="target_types+3"),
            "counts": Array("float32", (2, "couples"), low=0, finite=True),
            "null/forward": Array("float64", ("target_types+3",), low=0, finite=True),
            "null/backward": Array("float64", ("source_types+3",), low=0, finite=True),
            "strengths": Array("float64", (2,), low=0.1, high=14.001),
            "jumps": Array("float64", (2, 2 * MAX_JUMP + 1), low=1e-12, high=1e15),
            "history": Array("float64", ("iterations", 2), finite=True),
            "fertilities/source": Array("float32", ("source_types+3", MOST + 1), low=0, finite=True, optional=True),
            "fertilities/target": Array("float32", ("target_types+3", MOST + 1), low=0, finite=True, optional=True),
        },
        check=_check,
    )

    source_vocab_: Vocab
    target_vocab_: Vocab
    couples_: Couples
    counts_: np.ndarray
    null_counts_: tuple[np.ndarray, np.ndarray]
    strengths_: np.ndarray
    jumps_: np.ndarray
    fertilities_: tuple[np.ndarray, np.ndarray]
    history_: np.ndarray
    preprocessing_: Preprocessing
    provenance_: Mapping[str, Any]
    alpha: float
    bayes: bool
    max_length: int
    workers: int | None

    # What a method defines.

    @abstractmethod
    def posteriors(self, pairs: Pairs, first: int, last: int, direction: int, tables: Tables) -> Posteriors:
        """Link probabilities of sentence pairs first..last-1 whose cells are filled."""

    def best(self, pairs: Pairs, first: int, last: int, direction: int, tables: Tables) -> np.ndarray:
        """The best state of every output, int32, -1 for the null word."""
        found = self.posteriors(pairs, first, last, direction, tables)
        outputs, states = _sides(pairs, direction)
        best = np.empty(int(outputs[last] - outputs[first]), np.int32)
        symmetry.strongest(
            outputs, states, pairs.cell_starts, first, last, direction == 1, found.links, found.nulls, best
        )
        return best

    def more_arrays(self) -> dict[str, np.ndarray]:
        """What the method adds to the model file."""
        return {}

    def take_more(self, arrays: Mapping[str, np.ndarray]) -> None:  # noqa: B027 (most methods add nothing)
        """Take it from there."""

    # What all can do.

    @cached_property
    def tables_(self) -> tuple[Tables, Tables]:
        """The probabilities of both directions."""
        return self._tables(0), self._tables(1)

    def _tables(self, direction: int) -> Tables:
        """Probabilities from counts, with the floor for couples that were never seen."""
        counts = np.ascontiguousarray(self.counts_[direction], np.float64)
        table = tables_from(self.couples_, counts, self.null_counts_[direction], direction, self.alpha, self.bayes)
        np.maximum(table.couples, UNSEEN, out=table.couples)
        np.maximum(table.null, UNSEEN, out=table.null)
        return Tables(frozen(table.couples, np.float32), frozen(table.null, np.float32))

    def _pieces(self, bitext: Bitext) -> Iterator[Bitext]:
        """The pairs in chunks of bounded size, in the ids of this model."""
        bitext = Bitext(bitext.source.recode(self.source_vocab_), bitext.target.recode(self.target_vocab_))
        bounds = chunks_of(bitext.source.lengths * bitext.target.lengths + 1, _CELLS_A_CHUNK).tolist()
        for first, last in pairwise(bounds):
            yield bitext[first:last]

    def _located(self, piece: Bitext) -> Pairs:
        source, target = piece.source, piece.target
        pairs = pairs_of(source.tokens, source.sentence_starts, target.tokens, target.sentence_starts)
        locate(pairs, self.couples_, 0, len(piece))
        return pairs

    def _map(self, bitext: Bitext, function: Any) -> Iterator[Any]:
        """``function(pairs)`` of every chunk of a bitext, in order."""
        with workers(self.workers) as pool:
            yield from pool.scatter(list(self._pieces(bitext))).map(lambda piece: function(self._located(piece)))

    def align(
        self,
        bitext: Bitext,
        symmetrise: str = DEFAULT_SYMMETRISATION,
        decode: str = "viterbi",
        threshold: float = 0.5,
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
            check_symmetrisation(how)
        if decode not in DECODINGS:
            raise SettingError(f"links are decoded by one of {', '.join(DECODINGS)}, not {decode!r}")
        if not 0 < threshold <= 1:
            raise SettingError(f"the threshold is above 0 and at most 1, not {threshold}")
        joint = [how for how in ways if how != "posterior"]
        if joint and decode == "posterior":
            both = self._posterior_links(bitext, threshold)
            result = {how: symmetrise(*both, how) for how in joint}
        else:
            result = self._best_links(bitext, joint)
        if "posterior" in ways:
            result["posterior"] = self.matrix(bitext).links(threshold)
        return result

    def _best_links(self, bitext: Bitext, ways: list[str]) -> dict[str, Alignments]:
        """The best states of each output, symmetrised in several ways."""

        if ways:
            _ = self.tables_  # once, before threads ask for them

        def best(pairs: Pairs) -> list[Alignments]:
            both = []
            for direction, outputs in enumerate((pairs.target_starts, pairs.source_starts)):
                states = self.best(pairs, 0, len(outputs) - 1, direction, self.tables_[direction])
                both.append(links_from_best(states, outputs, direction))
            return [symmetrise(both[0], both[1], how) for how in ways]

        found = list(self._map(bitext, best)) if ways else []
        return {how: joined_alignments([parts[k] for parts in found]) for k, how in enumerate(ways)}

    def _posterior_links(self, bitext: Bitext, threshold: float) -> tuple[Alignments, Alignments]:
        return tuple(self.matrix(bitext, kind).links(threshold) for kind in ("forward", "backward"))  # type: ignore

    def matrix(self, bitext: Bitext, kind: str = "geo") -> AlignmentMatrix:
        """How probable each link is: in one direction (``forward``, ``backward``), or the geometric (``geo``) or
        arithmetic ``mean`` of both; or how often it is among the ten best alignments of either (``nbest``), weighed by
        their probabilities. Entries below 0.01 are zero."""
        if kind not in MATRICES:
            raise SettingError(f"a matrix is one of {', '.join(MATRICES)}, not {kind!r}")
        if kind == "nbest":
            from corpuscle.align.nbest import n_best_matrix

            return n_best_matrix(self, bitext)

        def matrices(pairs: Pairs) -> np.ndarray:
            last = len(pairs.source_starts) - 1
            wanted = {"forward": (0,), "backward": (1,)}.get(kind, (0, 1))
            links = [self.posteriors(pairs, 0, last, d, self.tables_[d]).links for d in wanted]
            return joined_posteriors(links, kind)

        shapes = np.column_stack([bitext.source.lengths, bitext.target.lengths]).astype(np.int32)
        found = list(self._map(bitext, matrices))
        return AlignmentMatrix(np.concatenate(found) if found else np.zeros(0, np.float32), shapes)

    def weighted(self, links: Alignments, bitext: Bitext) -> Alignments:
        """The same links with their probabilities (geometric mean of both directions) as weights."""
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

        def likelihoods(pairs: Pairs) -> list[float]:
            last = len(pairs.source_starts) - 1
            return [self.posteriors(pairs, 0, last, d, self.tables_[d]).likelihood for d in (0, 1)]

        return np.array([*self._map(bitext, likelihoods), [0.0, 0.0]]).sum(axis=0)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a model file."""
        arrays = {
            **self.source_vocab_.arrays("source/"),
            **self.target_vocab_.arrays("target/"),
            "couples/row_starts": self.couples_.row_starts,
            "couples/columns": self.couples_.columns,
            "counts": self.counts_,
            "null/forward": self.null_counts_[0],
            "null/backward": self.null_counts_[1],
            "strengths": self.strengths_,
            "jumps": self.jumps_,
            "history": self.history_,
            **self.more_arrays(),
        }
        save(
            path,
            self.KIND,
            arrays,
            settings=self.settings_,
            preprocessing=self.preprocessing_.settings,
            provenance=self.provenance_,
        )

    @property
    def settings_(self) -> dict[str, tuple[Any, str]]:
        """The settings, with their origin."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {
            name: (value, "default" if defaults.get(name) == value else "given")
            for name, value in self.settings().items()
        }

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""
        fields = [field.name for field in dataclasses.fields(self) if field.name != "workers"]  # type: ignore[arg-type]
        return {"method": self.method} | {name: getattr(self, name) for name in fields}

    @classmethod
    def from_container(cls, container: Container) -> Aligner:
        """The model of a file."""
        from corpuscle.align import METHODS

        settings = dict(container.settings)
        learner = METHODS[settings.pop("method")]
        known = {field.name for field in dataclasses.fields(learner)} - {"workers"}
        if settings.keys() != known:
            raise SettingError(f"{container.path}: its settings are not those of the method {learner.method}")
        model = learner(**settings)
        arrays = container.arrays
        model.source_vocab_ = Vocab.from_arrays(arrays, "source/")
        model.target_vocab_ = Vocab.from_arrays(arrays, "target/")
        model.couples_ = Couples(
            frozen(arrays["couples/row_starts"], np.int64), frozen(arrays["couples/columns"], np.int32)
        )
        model.counts_ = arrays["counts"]
        model.null_counts_ = arrays["null/forward"], arrays["null/backward"]
        model.strengths_, model.jumps_ = arrays["strengths"], arrays["jumps"]
        model.history_ = arrays["history"]
        model.take_more(arrays)
        model.preprocessing_ = Preprocessing(**container.preprocessing)
        model.provenance_ = container.provenance
        return model

    @abstractmethod
    def fit(
        self,
        bitext: Bitext,
        *,
        preprocessing: Preprocessing | None = None,
        checkpoint: Checkpoint | None = None,
        base: Aligner | None = None,
    ) -> Self:
        """Learn from sentence pairs."""


def _sides(pairs: Pairs, direction: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the outputs and the states of each sentence pair begin."""
    both = pairs.target_starts, pairs.source_starts
    return (both[1], both[0]) if direction else both


def references_from(
    couples: Couples,
    counts: np.ndarray,
    direction: int,
    alpha: float,
    bayes: bool,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """What the entries of every generating type are divided by, float64 (see ``translation.references_of``).

    ``start``: sums of counts and numbers of couples that are not in the table, by generating type.
    """
    n_states = max(len(couples.row_starts) - 1, int(couples.columns.max(initial=0)) + 1)
    totals, supports = (np.zeros(n_states), np.zeros(n_states)) if start is None else (each.copy() for each in start)
    translation.totals_of(couples, frozen(counts, np.float64), direction == 1, totals, supports)
    references = np.empty(len(totals))
    translation.references_of(totals, supports, alpha, bayes, references)
    return references


def tables_from(
    couples: Couples,
    counts: np.ndarray,
    null_counts: np.ndarray,
    direction: int,
    alpha: float,
    bayes: bool,
    references: np.ndarray | None = None,
) -> Tables:
    """Probabilities from the expected counts of one direction; the entry beyond the last couple is zero."""
    swap, counts = direction == 1, frozen(counts, np.float64)
    if references is None:
        references = references_from(couples, counts, direction, alpha, bayes)
    table = np.zeros(len(counts) + 1, np.float32)
    rows = np.arange(0, len(couples.row_starts) - 1)
    bounds = chunks_of(np.diff(couples.row_starts)[rows], 4_000_000).tolist() if len(rows) else [0]
    for first, last in pairwise(bounds):
        translation.normalise(couples, counts, swap, alpha, bayes, references, first, last, table)
    null = np.empty(len(null_counts), np.float32)
    translation.normalise_one(frozen(null_counts, np.float64), alpha, bayes, float(len(null_counts)), null)
    return Tables(table, null)


def joined_posteriors(links: list[np.ndarray], kind: str) -> np.ndarray:
    """One matrix from those of the directions, small entries set to zero; float32."""
    if kind == "geo":
        result = np.sqrt(links[0] * links[1])
    elif kind == "mean":
        result = (links[0] + links[1]) / np.float32(2)
    else:
        result = links[0]
    result = np.minimum(result, np.float32(1))
    result[result < _SMALLEST] = 0
    return result


def joined_alignments(parts: list[Alignments]) -> Alignments:
    """The alignments of consecutive pieces of a text as one."""
    if not parts:
        return Alignments(np.zeros((0, 2), np.int32), np.zeros(1, np.int64), np.zeros(0, bool))
    links, sure = (np.concatenate([getattr(part, name) for part in parts]) for name in ("links", "sure"))
    return Alignments(links, starts_of(np.concatenate([np.diff(part.starts) for part in parts])), sure)


def links_from_best(best: np.ndarray, outputs: np.ndarray, direction: int) -> Alignments:
    """The links (source, target) of the best states of all outputs, which begin at ``outputs`` in each pair."""
    lengths = np.diff(outputs)
    linked = np.flatnonzero(best >= 0)
    position = np.arange(len(best)) - np.repeat(starts_of(lengths)[:-1], lengths)
    links = np.column_stack([best[linked], position[linked]]).astype(np.int32)
    pairs = np.repeat(np.arange(len(lengths)), lengths)[linked]
    starts = starts_of(np.bincount(pairs, minlength=len(lengths)))
    found = Alignments(links, starts, np.ones(len(links), bool))
    return found.transposed().sorted() if direction else found.sorted()
