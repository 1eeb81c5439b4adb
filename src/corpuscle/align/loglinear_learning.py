"""What learns the log-linear model: both directions side by side, slice by slice, pass by pass.

Slices depend on the text alone, and each direction is learned by one thread at a time: the same bytes on any number of
workers. Between slices the state of both directions can be kept and taken up again.

In agreement (after Liang, Taskar and Klein 2006) each direction says before every pass, with the weights that it has by
then, how probable it finds every link of the training text. In the pass, the other direction multiplies the weight of
each of its own links by that: what is expected given the outputs is expected from links that both believe in. What is
expected without the outputs stays as it was. An output comes from the null word as far as the other direction, where it
is a state, lets nothing come from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from corpuscle import learning
from corpuscle.align.kernels.loglinear import CELLS, OUTPUTS, STATES, Direction, Shape, Text, workspace
from corpuscle.align.kernels.loglinear_links import link_posteriors
from corpuscle.align.kernels.loglinear_sums import Job, learn
from corpuscle.align.loglinear_data import Encoded, transposition
from corpuscle.align.settings import LogLinearSettings
from corpuscle.compiled import frozen
from corpuscle.engine.optim import online
from corpuscle.errors import SettingError
from corpuscle.model import Array
from corpuscle.random import Random, shuffle
from corpuscle.scale import Workers, chunks_of

__all__ = ["PARTIAL", "Passes", "guided"]

_WORK_A_CALL = 100_000_000
"""About how many multiplications one call of a kernel makes."""

_SMALLEST, _SMALLEST_NULL = np.float32(1e-3), np.float32(1e-2)
"""No direction forbids what the other would do: probabilities are at least this, of links and of the null word."""

_CELLS_A_CALL = 100_000

_SIDES = ("forward", "backward")

PARTIAL = learning.partial(
    "align.loglinear",
    {
        f"{name}/{side}": Array("float64", (f"{side}_features",), finite=True, optional=name == "before")
        for name in ("weights", "paid", "before")
        for side in _SIDES
    }
    | {
        "squares/forward": Array("float64", ("forward_squares",), low=0, finite=True),
        "squares/backward": Array("float64", ("backward_squares",), low=0, finite=True),
        "owed": Array("float64", (2,), low=0, finite=True),
        "so_far": Array("float64", (2,), finite=True),
    },
)
"""The kind of file that keeps unfinished work."""


def _cost(encoded: Encoded) -> np.ndarray:
    """About how much work each sentence pair is, int64 (n_pairs,)."""
    text, neighbours = encoded
    sizes = np.concatenate([[0], np.cumsum(np.diff(neighbours.row_starts)[text.states])])
    m, n = np.diff(text.starts[STATES]), np.diff(text.starts[OUTPUTS])
    return 8 * (m + 1) ** 2 * (n + 10) + 10 * np.diff(sizes[text.starts[STATES]])


def _learned(direction: Direction, job: Job) -> float:
    """Learn from some sentence pairs; their log-likelihood before that. Without rates nothing is learned."""
    sums, share = np.zeros(2), float(len(job.rates) > 0)
    learn(direction, job, share, share, sums)
    return float(sums[0] - sums[1])


class Passes:
    """A learner (see ``corpuscle.learning``) whose sweeps are passes over the text and whose steps are slices of it.

    A row of its history has, for each direction, the mean log-likelihood a token that the batches of the pass had
    before they were learned from, in agreement with what the other direction thought of their links. ``weights``:
    those of both directions, at first those to begin with.
    """

    def __init__(
        self,
        encoded: list[Encoded],
        shapes: list[Shape],
        weights: list[np.ndarray],
        settings: LogLinearSettings,
        pool: Workers,
    ):
        self.settings, self.pool, self.encoded, self.shapes, self.weights = settings, pool, encoded, shapes, weights
        self.n = encoded[0].text.starts.shape[1] - 1
        self.tokens = np.array([each.text.starts[OUTPUTS, -1] for each in encoded], np.float64)
        self.so_far = np.zeros(2)
        self._before: list[np.ndarray] = []
        self._pass = -1
        self._begin({})
        self.cost = _cost(encoded[0]) + _cost(encoded[1])

    def _begin(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Both directions at the start, or as they were kept."""
        owed, self.directions = arrays.get("owed", np.zeros(2)), []
        for d, (side, each) in enumerate(zip(_SIDES, self.encoded, strict=True)):
            size = len(self.weights[d])
            first = {"weights": self.weights[d], "paid": np.zeros(size)}
            first["squares"] = np.zeros(size * self.settings.adaptive)
            state = {name: np.array(arrays.get(f"{name}/{side}", array)) for name, array in first.items()}
            if any(len(state[name]) != len(array) for name, array in first.items()):
                raise ValueError("it does not fit the text")
            self.weights[d] = state["weights"]
            learner = online.learner_of(state["weights"], state["paid"], state["squares"], float(owed[d]))
            self.directions.append(Direction(*each, self.shapes[d], learner, workspace(*each, self.shapes[d])))

    def steps(self, sweep: int) -> int:
        """How many slices the text has, in the order of this pass."""
        self._enter(sweep)
        return len(self._slices)

    def _enter(self, sweep: int) -> None:
        """Prepare a pass: the order of its sentence pairs."""
        if sweep != self._pass:
            self._pass, self._order = sweep, np.arange(self.n)
            shuffle(Random(self.settings.seed, "align.loglinear", sweep).array(), self._order)
            self._slices = _slices(self.cost[self._order], self.settings.batch)

    def step(self, sweep: int, number: int) -> None:
        """Learn from a slice."""
        settings, n = self.settings, self.n
        self._enter(sweep)
        if number == 0 and settings.agreement:
            self._before = [_settled(one.learner) for one in self.directions]
            self._guide()
        per_pass = -(-n // settings.batch)
        progress = (sweep * per_pass + np.arange(per_pass)) * settings.batch / n
        rates = settings.rate * settings.decay**progress
        job = Job(self._order, *self._slices[number], settings.batch, rates, settings.beta / n)
        self.so_far += list(self.pool.scatter(self.directions).map(_learned, job))
        if not np.isfinite(self.so_far).all():
            raise SettingError(f"the weights ran away; try a smaller rate than {settings.rate}")

    def _guide(self) -> None:
        """Let each direction know what the other one thought before the pass."""
        both = guided(self.encoded, self.shapes, self._before, self.pool)
        self._read([each.text for each in both])

    def _read(self, texts: list[Text]) -> None:
        """Let both directions go on with these texts."""
        self.directions = [one._replace(text=text) for one, text in zip(self.directions, texts, strict=True)]

    def finish(self, sweep: int) -> np.ndarray:
        """End a pass: its row of the history."""
        row, self.so_far = self.so_far / self.tokens, np.zeros(2)
        return row

    def likelihood(self) -> np.ndarray:
        """The log-likelihood a token of the final weights, float64 (2,); nothing is learned any more."""
        for one in self.directions:
            online.settle(one.learner)
            one.learner.clock[0] = -1  # from now on it only reads
        self._read([each.text for each in self.encoded])
        total, batch = np.zeros(2), self.settings.batch
        for first, last in _slices(self.cost, batch):
            job = Job(np.arange(self.n), first, last, batch, np.zeros(0), 0.0)
            total += list(self.pool.scatter(self.directions).map(_learned, job))
        return total / self.tokens

    def state(self) -> dict[str, np.ndarray]:
        """What both directions have learned, and what they thought before the pass."""
        state = {f"before/{side}": each for side, each in zip(_SIDES, self._before, strict=False)}
        for side, one in zip(_SIDES, self.directions, strict=True):
            weights, paid, squares = one.learner.weights, one.learner.paid, one.learner.squares
            state |= {f"weights/{side}": weights, f"paid/{side}": paid, f"squares/{side}": squares}
        state["owed"] = np.array([float(one.learner.owed[0]) for one in self.directions])
        return state | {"so_far": self.so_far}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        """Take back what ``state`` gave."""
        self._begin(arrays)
        self.so_far = np.array(arrays["so_far"])
        if number > 0 and self.settings.agreement:
            self._before = [np.array(arrays[f"before/{side}"]) for side in _SIDES]
            if [len(each) for each in self._before] != [len(each) for each in self.weights]:
                raise ValueError("it does not fit the text")
            self._guide()


def _settled(learner: online.Online) -> np.ndarray:
    """A copy of the weights after all have paid what they owe."""
    online.settle(learner)
    return learner.weights.copy()


def _slices(cost: np.ndarray, batch: int) -> list[tuple[int, int]]:
    """Where to cut an order of sentence pairs into calls of a kernel: between batches."""
    starts = np.arange(0, len(cost), batch)
    bounds = chunks_of(np.add.reduceat(cost, starts), _WORK_A_CALL)
    return list(pairwise([*starts[bounds[:-1]].tolist(), len(cost)]))


def _chunks(text: Text) -> list[tuple[int, int]]:
    return list(pairwise(chunks_of(np.diff(text.starts[CELLS]), _CELLS_A_CALL).tolist()))


def _link_probabilities(encoded: Encoded, shape: Shape, weights: np.ndarray) -> np.ndarray:
    """How probable every link is, float32 (n_cells,), within the neighbourhood, by one direction alone."""
    direction = encoded.read_with(shape, weights)
    cells, outputs = direction.text.starts[CELLS], direction.text.starts[OUTPUTS]
    links, nulls = np.zeros(int(cells[-1]), np.float32), np.zeros(int(outputs[-1]), np.float32)
    for first, last in _chunks(direction.text):
        own = links[cells[first] : cells[last]]
        own_nulls = nulls[outputs[first] : outputs[last]]
        link_posteriors(direction, first, last, own, own_nulls)
    return np.minimum(links, np.float32(1))


def _seen_from(text: Text, links: np.ndarray) -> np.ndarray:
    """The links of the other direction in the order of the cells of this one."""
    result = np.empty_like(links)
    for first, last in _chunks(text):
        part = slice(text.starts[CELLS, first], text.starts[CELLS, last])
        result[part] = links[part][transposition(text.starts[:, first : last + 1] - text.starts[:, first : first + 1])]
    return result


def _unlinked(text: Text, links: np.ndarray) -> np.ndarray:
    """The probability that nothing comes from each state, float32 (n_states,), outputs being independent."""
    outputs = np.repeat(np.diff(text.starts[OUTPUTS]), np.diff(text.starts[STATES]))
    begins = np.cumsum(outputs) - outputs
    rest = np.maximum(np.float32(1) - links, np.float32(1e-6))
    return np.exp(np.add.reduceat(np.log(rest), begins))


def guided(encoded: list[Encoded], shapes: list[Shape], weights: list[np.ndarray], pool: Workers) -> list[Encoded]:
    """Both directions of a text without empty sentences, each with what the other one's weights say about it."""
    links = list(pool.scatter([0, 1]).map(lambda d: _link_probabilities(encoded[d], shapes[d], weights[d])))
    result = []
    for d, one in enumerate(encoded):
        other = _seen_from(one.text, links[1 - d])
        unlinked = _unlinked(encoded[1 - d].text, links[1 - d])
        guide = frozen(np.log(np.maximum(other, _SMALLEST)), np.float32)
        null_guide = frozen(np.log(np.maximum(unlinked, _SMALLEST_NULL)), np.float32)
        result.append(one._replace(text=one.text._replace(guide=guide, null_guide=null_guide)))
    return result
