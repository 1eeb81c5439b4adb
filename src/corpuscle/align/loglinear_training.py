"""What the log-linear model learns from, and how: neighbourhoods; sentence pairs as kernels take them, one direction
with all features of all couples; and both directions learned side by side, slice by slice.

The neighbourhood says which words a word may generate while the model is learned; its oracle how good links can be:

- ``full``: every word of the other side; ``cooc``: those that it shares a sentence pair with;
- ``model1``: those with at least 1/10,000 of the probability of its best translation under IBM Model 1;
- ``eb-model1``: the same under Model 1 with a sparse Dirichlet prior.

Every word of the training text stays reachable: where nothing may generate it, the likeliest word of its sentence may.

Slices depend on the text alone, and each direction is learned by one thread at a time: the same bytes on any number of
workers. Between slices the state of both directions can be kept and restored.

In agreement (after Liang, Taskar and Klein 2006) each direction computes, before every pass, the probability of every
link of the training text. In the pass, the other direction multiplies the weight of each of its links by that, where it
sums over the alignments of given outputs; the free sums stay as they are. An output comes from the null word as far as
nothing comes from it in the other direction, where it is a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle import learning
from corpuscle.align.counts import (
    CELLS_A_CHUNK,
    Estimation,
    StoredPairs,
    TranslationTables,
    pairs_of,
    rows_of,
    sorted_couples,
    tables_from,
)
from corpuscle.align.distortion import Uniform
from corpuscle.align.em_models import Expectation
from corpuscle.align.features import (
    COPY_LETTERS,
    DICE_EDGES,
    Facts,
    Side,
    by_role,
    couple_features,
    log_bins,
    same_types,
)
from corpuscle.align.kernels import cooccurrence
from corpuscle.align.kernels import loglinear as kernels
from corpuscle.align.kernels.cooccurrence import Couples, Pairs, couples_of, directed, locate
from corpuscle.align.kernels.loglinear import (
    CELLS,
    OUTPUTS,
    SCORES,
    STATES,
    Direction,
    Neighbours,
    Shape,
    Text,
    reader_of,
    workspace,
)
from corpuscle.align.kernels.loglinear_paths import Job, couple_scores, learn, link_posteriors
from corpuscle.align.settings import LogLinearSettings
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.model import Array
from corpuscle.random import Random, shuffle
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
    def learn(cls, bitext: Bitext, name: str, pool: Workers) -> Neighbourhood:
        source, target = bitext.source, bitext.target
        sizes = len(source.vocab), len(target.vocab)
        pairs = pairs_of(source, target)
        couples = _all_couples(pairs, *sizes) if name == "full" else couples_of(pairs, *sizes)
        rows = rows_of(couples).astype(np.int32)
        stored, estimation = StoredPairs(pairs, couples, (sizes[1], sizes[0])), Estimation(ALPHA, name != "model1")
        em = Expectation(stored, estimation, pool, Uniform())
        for number in range(_PASSES if name == "model1" else _BAYES_PASSES):
            em.finish(number)
        counts = em.counts
        assert counts is not None
        tables = [tables_from(couples, counts.couples[d], counts.nulls[d], d, estimation) for d in (0, 1)]
        allowed = np.ones((2, len(rows)), bool)
        from_null = [np.bincount(side.tokens, minlength=len(side.vocab)) > 0 for side in (target, source)]
        if name in ("model1", "eb-model1"):
            for d, states in enumerate((rows, couples.columns)):
                table, null = tables[d].couples[:-1], tables[d].null
                best = np.zeros(sizes[d], np.float32)
                np.maximum.at(best, states, table)
                allowed[d] = table >= np.float32(CUT) * best[states]
                from_null[d] &= null >= np.float32(CUT) * null.max(initial=0)
                own, likely = directed(pairs, d), frozen(tables[d].couples, np.float32)
                for first, last in _chunks(pairs.cell_starts, CELLS_A_CHUNK):
                    cooccurrence.reach(own, first, last, likely, from_null[d], allowed[d])
        dice = _dice(bitext, pairs, couples, rows)
        return cls(couples, rows, allowed, (from_null[0], from_null[1]), (tables[0], tables[1]), dice)

    def couples_of(self, direction: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The couples that a direction may use, by types of states and outputs, and the outputs of the null word."""
        chosen = self.allowed[direction]
        couples = by_role((self.rows[chosen], self.couples.columns[chosen]), direction)
        return *couples, np.flatnonzero(self.from_null[direction])

    def size(self, direction: int) -> int:
        """How many couples a direction may use, those of the null word included."""
        return int(self.allowed[direction].sum() + self.from_null[direction].sum())


def _sentences_with(corpus: Corpus) -> np.ndarray:
    """In how many sentences each type occurs."""
    types = len(corpus.vocab)
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    return np.bincount(np.unique(sentences * np.int64(types) + corpus.tokens) % types, minlength=types)


def _dice(bitext: Bitext, pairs: Pairs, couples: Couples, rows: np.ndarray) -> np.ndarray:
    """The bins of 2 c(x, t) / (c(x) + c(t)), counted in sentence pairs."""
    together, stamps = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int32)
    for first, last in _chunks(pairs.cell_starts, CELLS_A_CHUNK):
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


NO_GUIDE = frozen(np.zeros(0), np.float32)
"""Of a direction that learns alone."""


class Encoded(NamedTuple):
    """One direction of some sentence pairs for kernels: the text, and the features of its couples."""

    text: Text
    neighbours: Neighbours

    def read_with(self, shape: Shape, weights: np.ndarray) -> Direction:
        """All that kernels need to align with some weights; nothing is learned."""
        work = workspace(*self, shape)
        couple_scores(self.neighbours, frozen(weights, np.float64), work.couples[SCORES])
        return Direction(*self, shape, reader_of(np.array(weights)), work)


def transposition(starts: np.ndarray) -> np.ndarray:
    """For each cell of a text with these ``starts``, state by state, its place output by output, int64 (n_cells,)."""
    m, n = np.diff(starts[STATES]), np.diff(starts[OUTPUTS])
    pair = np.repeat(np.arange(len(m)), m * n)
    inside = np.arange(len(pair)) - starts[CELLS][pair]
    i, j = inside // n[pair], inside % n[pair]
    return starts[CELLS][pair] + j * m[pair] + i


def bigrams_of(corpus: Corpus) -> Couples:
    """All types that share a sentence, either order, as a table whose rows rise."""
    pairs = pairs_of(corpus, corpus)
    found = couples_of(pairs, len(corpus.vocab), len(corpus.vocab))
    return sorted_couples(rows_of(found), found.columns, len(corpus.vocab))[0]


def words_of_pairs(states: Corpus, outputs: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The neighbourhood for prediction: every word with every word of its sentence pair, the null word with all.

    Returns state types (``len(states.vocab)`` for the null word) and output types.
    """
    found = couples_of(pairs_of(states, outputs), len(states.vocab), len(outputs.vocab))
    return with_null(rows_of(found), found.columns, np.unique(outputs.tokens), len(states.vocab))


def with_null(
    states: np.ndarray, outputs: np.ndarray, of_null: np.ndarray, n_states: int
) -> tuple[np.ndarray, np.ndarray]:
    """Couples (types of states and outputs), then those of the null word, type ``n_states``; int32 both."""
    rows = np.append(states, np.full(len(of_null), n_states))
    return rows.astype(np.int32), np.append(outputs, of_null).astype(np.int32)


def _copies(states: Side, outputs: Side, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The couple of each state type that is a copy, -1 where there is none."""
    n = len(states.vocab)
    same = np.append(same_types(states.vocab, outputs.vocab), -1)
    long = np.append(np.diff(states.letters[1]) >= COPY_LETTERS, False)
    found = np.flatnonzero((same[rows] == columns) & (columns >= FIRST) & long[rows])
    result = np.full(n + 1, -1, np.int32)
    result[rows[found]] = found
    return result


def _with_user(
    features: tuple[np.ndarray, np.ndarray, np.ndarray], more: tuple[np.ndarray, np.ndarray, np.ndarray], start: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features of couples and those of the user, couple by couple."""
    starts, numbers, values = features
    couples, names, their_values = more
    both = np.concatenate([np.repeat(np.arange(len(starts) - 1), np.diff(starts)), couples])
    order = np.argsort(both, kind="stable")
    new_starts = starts.copy()
    new_starts[1:] += np.cumsum(np.bincount(couples, minlength=len(starts) - 1))
    numbers = np.concatenate([numbers, names + np.int32(start)])[order]
    return new_starts, numbers, np.concatenate([values, their_values])[order]


def encode(bitext: Bitext, sides: tuple[Side, Side], rows: np.ndarray, columns: np.ndarray, facts: Facts) -> Encoded:
    """One direction of some sentence pairs, with a neighbourhood of state types ``rows`` and output types ``columns``.

    ``sides``: what the model knows about source and target types.
    """
    layout = facts.layout
    states, outputs = by_role((bitext.source, bitext.target), facts.swap)
    sides = by_role(sides, facts.swap)
    table, order = sorted_couples(rows, columns, len(states.vocab) + 1)
    rows, columns = rows[order], columns[order]
    pairs = pairs_of(states, outputs)
    locate(pairs, table)
    n_couples = len(rows)
    null_cells = np.full(len(outputs.vocab), n_couples, np.int32)
    null_row = slice(*table.row_starts[-2:])
    null_cells[columns[null_row]] = np.arange(n_couples, dtype=np.int32)[null_row]
    copies = np.full(len(states.vocab) + 1, -1, np.int32)
    if "cycle" in layout.families:
        copies = _copies(*sides, rows, columns)
    found = couple_features(facts, *sides, rows, columns)
    if layout.user:
        more = facts.user.of(states.vocab, outputs.vocab, rows, columns, facts.swap, False)
        found = _with_user(found, more, layout.start("user"))
    bigram_cells, bigram_starts = np.zeros(0, np.int32), np.zeros_like(pairs.cell_starts)
    if "bigram" in layout.families:
        known = Corpus(sides[0].known[states.tokens].astype(np.int32), states.sentence_starts, states.vocab)
        both = pairs_of(known, known)
        locate(both, facts.bigrams)
        both.cells[both.cells == len(facts.bigrams.columns)] = -1
        bigram_cells, bigram_starts = both.cells, both.cell_starts
    longest = max(int(side.lengths.max(initial=0)) for side in (states, outputs))
    starts = np.stack([pairs.source_starts, pairs.target_starts, pairs.cell_starts, bigram_starts])
    cells = frozen(pairs.cells, np.int32), frozen(bigram_cells, np.int32), frozen(starts, np.int64)
    types = frozen(np.stack([sides[0].classes, sides[0].known]), np.int32)
    text = Text(pairs.source, pairs.target, *cells, types, log_bins(longest + 2), NO_GUIDE, NO_GUIDE)
    features_of_couples = (frozen(*each) for each in zip(found, (np.int64, np.int32, np.float64), strict=True))
    neighbours = Neighbours(
        table.row_starts, frozen(null_cells, np.int32), frozen(copies, np.int32), *features_of_couples
    )
    return Encoded(text, neighbours)


_WORK_A_CALL = 100_000_000
"""The approximate number of multiplications in one call of a kernel."""

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
    | {f"squares/{side}": Array("float64", (f"{side}_squares",), low=0, finite=True) for side in _SIDES}
    | {"owed": Array("float64", (2,), low=0, finite=True), "so_far": Array("float64", (2,), finite=True)},
)
"""The kind of file that keeps unfinished work."""


def _cost(encoded: Encoded) -> np.ndarray:
    """The approximate number of multiplications for each sentence pair, int64 (n_pairs,)."""
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

    A row of its history has, for each direction, the mean log-likelihood per token of the batches of the pass, each
    before it was learned from; in agreement, as guided by the other direction. ``weights``: those of both directions,
    at first those to begin with.
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
            squares = np.zeros(size * self.settings.adaptive)
            first = {"weights": self.weights[d], "paid": np.zeros(size), "squares": squares}
            state = {name: np.array(arrays.get(f"{name}/{side}", array)) for name, array in first.items()}
            if any(len(state[name]) != len(array) for name, array in first.items()):
                raise ValueError("it does not fit the text")
            self.weights[d] = state["weights"]
            learner = kernels.learner_of(**state, owed=float(owed[d]))
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
        settings, n = self.settings, self.n
        self._enter(sweep)
        if number == 0 and settings.agreement:
            for one in self.directions:
                kernels.settle(one.learner)
            self._before = [one.learner.weights.copy() for one in self.directions]
            self._go_on_with(guided(self.encoded, self.shapes, self._before, self.pool))
        per_pass = -(-n // settings.batch)
        progress = (sweep * per_pass + np.arange(per_pass)) * settings.batch / n
        rates = settings.rate * settings.decay**progress
        job = Job(self._order, *self._slices[number], settings.batch, rates, settings.beta / n)
        self.so_far += list(self.pool.scatter(self.directions).map(_learned, job))
        if not np.isfinite(self.so_far).all():
            raise SettingError(f"the weights ran away; try a smaller rate than {settings.rate}")

    def _go_on_with(self, both: list[Encoded]) -> None:
        self.directions = [one._replace(text=each.text) for one, each in zip(self.directions, both, strict=True)]

    def finish(self, sweep: int) -> np.ndarray:
        """End a pass: its row of the history."""
        row, self.so_far = self.so_far / self.tokens, np.zeros(2)
        return row

    def likelihood(self) -> np.ndarray:
        """The log-likelihood per token under the final weights, float64 (2,); nothing is learned any more."""
        for one in self.directions:
            kernels.settle(one.learner)
            one.learner.clock[0] = -1  # from now on it only reads
        self._go_on_with(self.encoded)
        total, batch = np.zeros(2), self.settings.batch
        for first, last in _slices(self.cost, batch):
            job = Job(np.arange(self.n), first, last, batch, np.zeros(0), 0.0)
            total += list(self.pool.scatter(self.directions).map(_learned, job))
        return total / self.tokens

    def state(self) -> dict[str, np.ndarray]:
        """What both directions have learned, and their weights before the pass."""
        state = {f"before/{side}": each for side, each in zip(_SIDES, self._before, strict=False)}
        for side, one in zip(_SIDES, self.directions, strict=True):
            state |= {f"{name}/{side}": getattr(one.learner, name) for name in ("weights", "paid", "squares")}
        state["owed"] = np.array([float(one.learner.owed[0]) for one in self.directions])
        return state | {"so_far": self.so_far}

    def restore(self, arrays: Mapping[str, np.ndarray], sweep: int, number: int) -> None:
        self._begin(arrays)
        self.so_far = np.array(arrays["so_far"])
        if number > 0 and self.settings.agreement:
            self._before = [np.array(arrays[f"before/{side}"]) for side in _SIDES]
            if [len(each) for each in self._before] != [len(each) for each in self.weights]:
                raise ValueError("it does not fit the text")
            self._go_on_with(guided(self.encoded, self.shapes, self._before, self.pool))


def _slices(cost: np.ndarray, batch: int) -> list[tuple[int, int]]:
    """Where to cut an order of sentence pairs into calls of a kernel: between batches."""
    starts = np.arange(0, len(cost), batch)
    bounds = chunks_of(np.add.reduceat(cost, starts), _WORK_A_CALL)
    return list(pairwise([*starts[bounds[:-1]].tolist(), len(cost)]))


def _chunks(cell_starts: np.ndarray, cells: int) -> list[tuple[int, int]]:
    """Where sentence pairs are cut for calls of kernels: consecutive (first, last)."""
    return list(pairwise(chunks_of(np.diff(cell_starts), cells).tolist()))


def link_probabilities(encoded: Encoded, shape: Shape, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of links, float32 (n_cells,), and of no link, by output, in one direction alone."""
    direction = encoded.read_with(shape, weights)
    cells, outputs = direction.text.starts[CELLS], direction.text.starts[OUTPUTS]
    links, nulls = np.zeros(int(cells[-1]), np.float32), np.zeros(int(outputs[-1]), np.float32)
    for first, last in _chunks(cells, _CELLS_A_CALL):
        own = links[cells[first] : cells[last]], nulls[outputs[first] : outputs[last]]
        link_posteriors(direction, first, last, *own)
    return np.minimum(links, np.float32(1)), nulls


def _seen_from(text: Text, links: np.ndarray) -> np.ndarray:
    """The links of the other direction in the order of the cells of this one."""
    result = np.empty_like(links)
    for first, last in _chunks(text.starts[CELLS], _CELLS_A_CALL):
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
    """Both directions of a text without empty sentences, each guided by the links that the other one's weights give."""
    links = list(pool.scatter([0, 1]).map(lambda d: link_probabilities(encoded[d], shapes[d], weights[d])[0]))
    result = []
    for one, other, theirs in zip(encoded, encoded[::-1], links[::-1], strict=True):
        seen, unlinked = _seen_from(one.text, theirs), _unlinked(other.text, theirs)
        guide = frozen(np.log(np.maximum(seen, _SMALLEST)), np.float32)
        null_guide = frozen(np.log(np.maximum(unlinked, _SMALLEST_NULL)), np.float32)
        result.append(one._replace(text=one.text._replace(guide=guide, null_guide=null_guide)))
    return result
