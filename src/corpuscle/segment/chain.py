"""One Markov chain over segmentations: the sampler of ``NestedSegmenter``, in steps of a fraction of a second.

Random numbers are keyed by sweep and step, so a chain can stop after any step and go on. Sweep 0 brings the sentences
into the model, those with given words first. If these suffice, or with ``growing``, each other sentence is cut by what
the model has learned from those before it; else it comes with words of branching entropy. Words are taken to be long at
first: what is too long falls apart, but short words never join."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.engine.restaurants import pool as col
from corpuscle.engine.restaurants.contexts import check_contexts, tree_depths
from corpuscle.engine.restaurants.seating import sample_parameters
from corpuscle.learning import Learner
from corpuscle.lm.pitman_yor import pool_arrays, tree_arrays
from corpuscle.model import Array
from corpuscle.random import Random, shuffle
from corpuscle.segment.kernels import gibbs, state
from corpuscle.segment.kernels.lattice import new_lattice
from corpuscle.segment.kernels.lengths import length_factors, length_law, root_tables, sample_means
from corpuscle.segment.kernels.model import BOUNDARY_BASE, LENGTH, grown_nested, new_nested
from corpuscle.segment.kernels.state import tree_of
from corpuscle.segment.letters import Material
from corpuscle.text.corpus import starts_of
from corpuscle.text.scripts import TYPES, WORD_TYPES

if TYPE_CHECKING:
    from corpuscle.segment.base import Segmenter


STOP_PRIOR = (4.0, 1.0)
"""How letters stop before anything is known: four in five at every context."""

MIXED = TYPES.index("mixed")

HISTORY = ("log_likelihood", "perplexity", "words", "lexicon", "word_length")
"""What is noted first after every sweep: the log probability of words and seating; the perplexity per letter of
sentences that are not given, each by the model of all others; words, distinct words, letters per word. The sampled
parameters follow, see ``Segmenter.history_columns``."""

_STEP = 1 << 15
_MEAN_PRIOR = (0.2, 0.1)
_GROWTH = 1.15

_FEW, _MANY = 0.01, 0.1
"""If words are given for less than the first share of the letters, a chain begins with words of branching entropy; for
less than the second, it holds parameters at first."""

_HELD, _DISCOUNTS, _STRENGTHS = 0.5, (0.6, 0.0, 0.0), (200.0, 20_000.0, 20_000.0)
"""For this share of the sweeps the model of words has these parameters, by length of context. With sampled ones it
trusts contexts so much that it keeps the words that it began with; with these, words hardly depend on the words before
them, and the lexicon is learned first."""


def letter_base(masks: np.ndarray) -> float:
    """The probability of a letter of which nothing is known: of all letters, one for unknown ones, and END."""
    return 1.0 / (len(masks) - 1)


class Chain(Learner):
    """The state of a chain, and its sweeps. ``settings``: order, max_word, sweeps, max_context, end_probability,
    paths, length_norm, mh, start."""

    SPELLED: ClassVar[bool] = True
    """Whether words are spelled by letters; else those are never seated."""

    def __init__(self, material: Material, settings: Mapping[str, Any], seed: int):
        self.material, self.settings, self.seed = material, settings, seed
        starts = material.starts
        self.room = room = int(np.diff(starts).max(initial=1))
        self.nested = new_nested(
            material.text, material.masks, WORD_TYPES, order=settings["order"], longest=material.longest,
            deepest=settings["max_context"], types=len(TYPES), letter_base=letter_base(material.masks),
            boundary_base=settings["end_probability"], stop_prior=STOP_PRIOR, room=room,
        )  # fmt: skip
        self.lattice = new_lattice(room, settings["max_word"], settings["order"])
        self.cuts = material.cuts.copy()
        self.seated = np.zeros(len(starts) - 1, np.uint8)
        self.means = np.full(len(TYPES), float(settings["max_word"]))
        given = 1.0 if settings["start"] == "growing" else material.in_given().mean()
        self.branching = given < _FEW
        self.held = _HELD * settings["sweeps"] if given < _MANY else 0.0
        if self.held:
            self.nested.words.discounts[:] = _DISCOUNTS[: settings["order"]]
            self.nested.words.strengths[:] = _STRENGTHS[: settings["order"]]
        self.sums = np.zeros(1)
        self._buffers = np.zeros(room + 1, np.int32), np.zeros(room + 1, np.int32)
        self._undo = np.zeros(room, np.uint8), gibbs.new_notes(room) if settings["mh"] else np.zeros(0, np.int32)
        self.n_steps = max(1, -(-len(material.text) // _STEP))
        self._order: tuple[int, np.ndarray, np.ndarray] | None = None
        self._set_lengths(0, 0)

    def _set_lengths(self, sweep: int, step: int) -> None:
        """The factors of the base measure for the present letters and means."""
        law = length_law(self.nested, self.settings["paths"], self.seed, (sweep << 32) + step)
        boundary = float(self.nested.bases[BOUNDARY_BASE])
        self.nested.factors[:] = length_factors(law, self.means, boundary, MIXED, self.settings["length_norm"])

    def _sequence(self, sweep: int) -> tuple[np.ndarray, np.ndarray]:
        """The order of the sentences in a sweep, and where its steps begin in it."""
        if self._order is None or self._order[0] != sweep:
            order = np.arange(len(self.seated))
            shuffle(Random(self.seed, "segment.order", sweep).array(), order)
            if sweep == 0:
                order = order[np.argsort(self.material.given[order] == 0, kind="stable")]
            ends = np.cumsum(np.diff(self.material.starts)[order])
            bounds = np.searchsorted(ends, np.arange(1, self.n_steps) * (ends[-1] / self.n_steps))
            self._order = sweep, order, np.concatenate([[0], bounds, [len(order)]])
        return self._order[1:]

    def steps(self, sweep: int) -> int:
        return self.n_steps

    def step(self, sweep: int, number: int) -> None:
        order, bounds = self._sequence(sweep)
        if sweep == number == 0 and self.branching:
            self.cuts = self.material.first_words(self.settings["max_word"])
        stream = Random(self.seed, "segment.nested", sweep, number).array()
        if number == 0:
            self.sums[:] = 0.0
        sentences = gibbs.Sentences(
            self.material.starts, self.material.gaps, self._fixed(sweep), self.seated, self.cuts, *self._buffers,
            self.sums, *self._undo,
        )  # fmt: skip
        at, last = int(bounds[number]), int(bounds[number + 1])
        while at < last:
            # While a model grows from nothing its letters change fast, and with them the lengths that they imply.
            piece = last if sweep else min(last, max(at + 1, int(at * _GROWTH)))
            while at < piece:
                at = gibbs.sweep(self.nested, self.lattice, sentences, order, at, piece, stream)
                if at < piece:
                    self.nested = grown_nested(self.nested, 2 * self.room)
            if sweep == 0 and at < last:
                self._set_lengths(0, at)

    def _fixed(self, sweep: int) -> np.ndarray:
        """Which sentences keep their words in a sweep: uint8 (sentences,)."""
        given = self.material.given
        return np.ones_like(given) if sweep == 0 and self.branching else given

    def finish(self, sweep: int) -> list[float]:
        """End a sweep: draw all parameters. Returns what is noted, see ``HISTORY``."""
        if sweep >= self.held:
            sample_parameters(self.nested.words, self.seed, 2 * sweep)
        sample_parameters(self.nested.letters, self.seed, 2 * sweep + 1)
        self.means = sample_means(self.nested, _MEAN_PRIOR, self.seed, sweep)
        self._set_lengths(sweep + 1, 0)
        free = np.diff(self.material.starts)[self._fixed(sweep) == 0].sum()
        words, _ = root_tables(self.nested)
        n_words = int(self.cuts.sum())
        perplexity = float(np.exp(-self.sums[0] / free)) if free else float("nan")
        drawn = [getattr(pool, name) for pool in self.nested[:2] for name in ("discounts", "strengths")]
        noted = [state.log_joint(self.nested), perplexity, n_words, len(words), len(self.cuts) / max(1, n_words)]
        return [*noted, *np.concatenate([*drawn, self.means]).tolist()]

    def sample(self) -> dict[str, np.ndarray]:
        """What prediction needs of the present state."""
        return {**state.freeze_nested(self.nested), "means": self.means.copy()}

    def state(self) -> dict[str, np.ndarray]:
        own = {"cuts": self.cuts.copy(), "seated": self.seated.copy(), "means": self.means.copy()}
        return {**state.to_arrays(self.nested), **own, "sums": self.sums.copy()}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        if len(arrays["cuts"]) != len(self.cuts) or len(arrays["seated"]) != len(self.seated):
            raise ValueError("it does not fit the text")
        cuts, seated = np.array(arrays["cuts"]), np.array(arrays["seated"])
        given = self.material.in_given()
        if (cuts > 1).any() or (seated > 1).any() or (cuts != self.material.cuts)[given].any():
            raise ValueError("it does not fit the text")
        nested = state.from_arrays(self.nested, arrays)
        state.verify_nested(nested, self.material.starts, seated, cuts, self.SPELLED)
        lengths = nested.rows[root_tables(nested)[0], LENGTH]
        if (lengths > self.material.longest).any() or nested.words.nodes[0, col.CUSTOMERS] < 0:
            raise ValueError("it does not fit the text")
        self.nested, self.cuts, self.seated = nested, cuts, seated
        self.means, self.sums = np.array(arrays["means"]), np.array(arrays["sums"])


def chain_arrays(prefix: str) -> dict[str, Array]:
    """The arrays of an unfinished chain."""
    return {
        **pool_arrays(f"{prefix}words/", f"{prefix}words/laws"),
        **pool_arrays(f"{prefix}letters/", f"{prefix}letters/laws"),
        f"{prefix}rows": Array("int32", (f"{prefix}rows", 3)),
        f"{prefix}hashes": Array("uint64", (f"{prefix}rows",)),
        f"{prefix}records": Array("int32", (f"{prefix}records", 2)),
        f"{prefix}orders": Array("uint8", (f"{prefix}records", "longest+1")),
        f"{prefix}counters": Array("int64", (2, 3), low=-1),
        f"{prefix}factors": Array("float64", (len(TYPES), "longest+1"), low=0.0, finite=True),
        f"{prefix}cuts": Array("uint8", ("letters",), high=2),
        f"{prefix}seated": Array("uint8", ("sentences",), high=2),
        f"{prefix}means": Array("float64", (len(TYPES),), low=0.0, finite=True),
        f"{prefix}sums": Array("float64", (1,), finite=True),
    }


def sample_arrays(prefix: str) -> dict[str, Array]:
    """The arrays of one sample in a file."""
    return {
        f"{prefix}lexicon": Array("int32", (f"{prefix}spelling",), low=0, high="types+3"),
        f"{prefix}lexicon_starts": Array("int64", (f"{prefix}lexicon+1",), offsets_into=f"{prefix}spelling"),
        f"{prefix}occurrences": Array("int64", (f"{prefix}lexicon+1",), low=0),
        f"{prefix}factors": Array("float64", (len(TYPES), "longest+1"), low=0.0, high=1e100),
        f"{prefix}means": Array("float64", (len(TYPES),), low=0.0, finite=True),
        **tree_arrays(f"{prefix}words/", f"{prefix}lexicon+1", f"{prefix}words/laws", stops=False),
        **tree_arrays(f"{prefix}letters/", "types+3", f"{prefix}letters/laws"),
    }


def model_arrays(extra: Mapping[str, Any]) -> dict[str, container.Array]:
    """The arrays of a model."""
    samples = extra["samples"]
    if type(samples) is not int or not 1 <= samples <= 10**5:
        raise ValueError("it does not say how many samples it has")
    arrays = {**container.VOCAB, **container.TRAINING_ITEMS}
    arrays["history"] = container.Array("float64", ("chains", "sweeps", "columns"))
    for number in range(samples):
        arrays |= sample_arrays(f"sample/{number}/")
    return arrays


def check_sample(sample: Mapping[str, np.ndarray], order: int, max_context: int, max_word: int) -> None:
    """What declarations cannot express about one sample; ``ValueError``."""
    words, letters = tree_of(sample, "words"), tree_of(sample, "letters")
    for tree, deepest in ((words, order - 1), (letters, max_context)):
        check_contexts(tree)
        customers = starts_of(tree.customers)[tree.first_entry]
        if np.diff(customers).max() > np.iinfo(np.int32).max:
            raise ValueError("a context has more customers than there can be")
        if tree_depths(tree.first_child).max() > deepest:
            raise ValueError("a context is longer than the model looks back")
    if len(sample["words/discounts"]) != order or len(sample["letters/discounts"]) != max_context + 1:
        raise ValueError("a sample has a discount and a strength for every length of context")
    n_words = len(sample["lexicon_starts"]) - 1
    if not np.array_equal(words.dishes[: words.first_entry[1]], np.arange(n_words + 1)):
        raise ValueError("the words without context are not those of the lexicon")
    lengths = np.diff(sample["lexicon_starts"])
    if n_words and not 1 <= lengths.min() <= lengths.max() < sample["factors"].shape[1]:
        raise ValueError("a word is longer than the longest")
    if sample["factors"].shape[1] <= max_word:
        raise ValueError("its lengths do not fit its longest word")
    spelled = sample["lexicon"].astype("<i4").tobytes()
    starts = (4 * sample["lexicon_starts"]).tolist()
    if len({spelled[a:b] for a, b in pairwise(starts)}) != n_words:
        raise ValueError("a word stands twice in the lexicon")
    for name in ("words", "letters"):
        if not (sample[f"{name}/strengths"] + sample[f"{name}/discounts"] > 0).all():
            raise ValueError("a context that passes nothing on")


def check_model(model: Segmenter) -> None:
    """Validate what a file claims to be before any kernel sees it; ``ValueError``."""
    if type(model.max_word_) is not int or model.max_word_ < 1 or type(model.types_) is not bool:
        raise ValueError("it does not say how long its words are")
    if model.chains * model.samples != len(model.samples_) or model.history_.shape[2] != len(model.history_columns()):
        raise ValueError("its settings do not fit its samples or its history")
    marks = model.inner_marks_
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise ValueError("its punctuation marks are no strings")
    for sample in model.samples_:
        check_sample(sample, model.order, model.max_context, model.max_word_)
