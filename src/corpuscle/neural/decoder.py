"""Beam search with trained models at the speed of the machine: ``Decoder(weights).decode(sources)``.

Hoang, Dwojak, Krislauks, Torregrosa and Heafield, "Fast neural machine translation implementation", 2018, section
3.3. Sentences are sorted by length and read in batches; the decoder's rows are the live hypotheses of all sentences
of a batch. Hypotheses that end leave their rows, sentences that end leave the batch, and when half of its rows are
free, the next ones join it (``refill``); what is kept of sentences that have ended is dropped now and then.
``batching="naive"`` does none of this: it computes as many rows as at the beginning until the last hypothesis has
ended, to compare with; the result is the same.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.neural.forward import Batch, Buffers, Encoded, Network, State, network, stacked
from corpuscle.neural.kernels.products import MATRICES
from corpuscle.neural.kernels.search import Finished, Live, NoClass, Nodes, Ranked, advance, choose, follow
from corpuscle.neural.output import Ensemble, Output, Shortlist
from corpuscle.neural.reference import Weights, shapes
from corpuscle.neural.settings import Architecture, DecodingSettings
from corpuscle.scale import starts_of, workers
from corpuscle.text.vocab import END, START, UNKNOWN, Vocab

WINDOW, CHUNK = 4096, 1024
"""The number of sentences that are sorted by length together, and of those that are the work of one thread at a time,
unless a batch has more."""
SCORED = 256
"""The number of given targets that are scored together."""
_COUNTS = ("sentences", "symbols", "batches", "steps", "rows", "live")


class Hypothesis(NamedTuple):
    """A target: its ``symbols`` int32, END left out; ``score``, by which it is ranked; ``log``, the natural log of its
    probability. Both are NaN where no probabilities were computed."""

    symbols: np.ndarray
    score: float
    log: float


@dataclass
class Report:
    """What a run has done. ``rows``: vectors that went through the decoder, ``live``: those of them that were needed;
    ``seconds`` of CPU by stage, of all threads; ``peak_memory`` of the process in MB; ``curve``: rows and microseconds
    of each step, one batch after the other."""

    sentences: int = 0
    symbols: int = 0
    batches: int = 0
    steps: int = 0
    rows: int = 0
    live: int = 0
    softmax: bool = True
    precision: str = "fp32"
    seconds: dict[str, float] = field(default_factory=dict)
    peak_memory: float = 0.0
    curve: list[tuple[int, float]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begin = time.thread_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.thread_time() - begin

    def add(self, other: Report) -> None:
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, seconds in other.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.curve += other.curve

    def to_json(self) -> dict[str, Any]:
        names = (*_COUNTS, "softmax", "precision", "peak_memory")
        return {name: getattr(self, name) for name in names} | {"seconds": dict(self.seconds)}


class _Block:
    """Sentences that are being written: what models have read of them, live hypotheses and their states. ``sources``
    are in the order in which they are read, ``numbers`` (n,) their places in the input."""

    def __init__(
        self, sources: list[np.ndarray], numbers: np.ndarray,
        decoder: Decoder, settings: DecodingSettings, shortlist: Shortlist | None,
    ):  # fmt: skip
        self.sources, self.numbers, self.settings, self.shortlist = sources, numbers, settings, shortlist
        self.report, self.room = Report(softmax=decoder.needs_softmax(settings)), Buffers()
        self.networks, n = decoder.networks, len(sources)
        self.output = self.whole = decoder.output
        lengths = np.array([len(source) for source in sources])
        limits = np.minimum(settings.length_factor * lengths + settings.length_extra, 1 << 20).astype(np.int32)
        shape = (n, settings.beam)
        scores, totals, nodes = np.full(shape, -np.inf), np.full(shape, -np.inf), np.full(shape, -1, np.int32)
        self.finished = Finished(np.zeros(n, np.int32), scores, totals, nodes, np.zeros(shape, np.int32), limits)
        none = self.symbols = self.held = np.zeros(0, np.int32)  # held: the sentences that are encoded
        self.live = Live(none, np.zeros(0), none, none)
        self.nodes, self.used = Nodes(np.empty(4096, np.int32), np.empty(4096, np.int32)), 0
        self.slots = np.zeros(n, np.int32)  # where each of them is among those
        self.encoded: list[Encoded] = []
        self.states: list[State] = []
        self.rooms = [Buffers() for _ in self.networks]

    # ---- sentences come and go

    def begin(self, first: int, last: int) -> None:
        """Read more sentences and give each its first hypothesis, an empty one."""
        new = np.arange(first, last, dtype=np.int32)
        with self.report.stage("encode"):
            batch = Batch.ended(self.sources[first:last])
            limits = self.finished.limits[new]
            read = [net.encode(batch, room, limits) for net, room in zip(self.networks, self.rooms, strict=True)]
            encoded, states = [encoded for encoded, _ in read], [first for _, first in read]
            if len(self.live.sentences):
                self.drop()
                encoded = [old.joined(more) for old, more in zip(self.encoded, encoded, strict=True)]
                states = [stacked(old, more) for old, more in zip(self.states, states, strict=True)]
            else:
                self.held = np.zeros(0, np.int32)
            self.encoded, self.states = encoded, states
        self.held = np.concatenate([self.held, new])
        self.slots[self.held] = np.arange(len(self.held))
        start = Live(new, np.zeros(len(new)), np.full(len(new), -1, np.int32), np.zeros(len(new), np.int32))
        self.live = Live(*(np.concatenate(pair) for pair in zip(self.live, start, strict=True)))
        self.symbols = np.concatenate([self.symbols, np.full(len(new), START, np.int32)])
        if self.shortlist is not None:
            allowed = self.shortlist.allowed(np.concatenate([self.sources[i] for i in self.held]))
            self.output = self.whole.only(allowed)
        self.report.batches += 1
        self.report.symbols += len(batch.symbols)

    def open(self) -> np.ndarray:
        """The sentences that have live hypotheses."""
        sentences = self.live.sentences
        return sentences[np.diff(sentences, prepend=-1) != 0]

    def drop(self) -> None:
        """Keep nothing of sentences that have ended."""
        still = self.open()
        if len(still) < len(self.held):
            self.encoded = [each.only(self.slots[still]) for each in self.encoded]
            self.held = still
            self.slots[still] = np.arange(len(still))

    # ---- one step

    def step(self) -> None:
        """Lengthen all hypotheses by a symbol. Naive batching computes as many rows as hypotheses could live."""
        settings, report, live = self.settings, self.report, self.live
        begin = time.perf_counter()
        n, constant = len(live.sentences), len(self.held) * settings.beam if settings.batching == "naive" else 0
        rows = max(n, constant) if live.lengths[0] else n
        sentences, symbols = self.slots[live.sentences], self.symbols
        if rows > n:
            sentences, symbols = np.pad(sentences, (0, rows - n)), np.pad(symbols, (0, rows - n))
        with report.stage("network"):
            hidden, self.states = _stepped(self.networks, self.encoded, sentences, symbols, self.states, self.rooms)
        width = settings.beam - self.finished.counts
        try:
            with report.stage("output"):
                if report.softmax:
                    found = self.output.best(hidden, int(width[live.sentences].max()), self.room)
                else:
                    found = self.output.first(hidden, self.room)
        except NoClass as error:
            row = min(error.row, n - 1)
            number = int(self.numbers[live.sentences[row]])
            raise InputError(None, number + 1, f"step {int(live.lengths[row]) + 1}: {error.reason}") from None
        with report.stage("search"):
            parents = self._select(Ranked(found.classes[:n], found.logs[:n]), width)
        with report.stage("states"):
            if constant:
                parents = np.pad(parents, (0, constant - len(parents)))
            self.states = [tuple(array[parents] for array in state) for state in self.states]
        report.steps += 1
        report.rows += rows
        report.live += n
        report.curve.append((rows, 1e6 * (time.perf_counter() - begin)))

    def _select(self, found: Ranked, width: np.ndarray) -> np.ndarray:
        """Choose the best continuations; the rows that they come from."""
        settings, live = self.settings, self.live
        most = int(width[self.open()].sum())
        parents, picks = np.empty(most, np.int32), np.empty(most, np.int32)
        count = choose(live, *found, width, parents, picks, np.empty(settings.beam, np.int32))
        if self.used + count > len(self.nodes.before):
            more = np.empty(self.used + count, np.int32)
            self.nodes = Nodes(*(np.concatenate([array, more]) for array in self.nodes))
        out = Live(np.empty(count, np.int32), np.empty(count), np.empty(count, np.int32), np.empty(count, np.int32))
        chosen = parents[:count], picks[:count]
        rule = END, float(settings.normalisation), settings.nbest if settings.prune else 0
        kept = advance(live, found, chosen, self.nodes, self.used, self.finished, rule, out)
        self.used += count
        self.live = Live(*(array[:kept] for array in out))
        self.symbols = self.nodes.symbols[self.live.nodes]
        return parents[:kept]

    # ---- the whole

    def run(self) -> None:
        settings, n = self.settings, len(self.sources)
        cuts = _cuts([len(source) + 1 for source in self.sources], settings)
        joins = settings.refill and settings.batching != "naive"
        for first, last in pairwise(cuts):
            room = (last - first) * settings.beam // 2 if joins else 0
            while len(self.live.sentences) > room:
                self._on()
            self.begin(first, last)
            self._on()
        while len(self.live.sentences):
            self._on()
        self.report.sentences += n

    def _on(self) -> None:
        """A step; then, when less than half of the sentences are left, keep no more than those."""
        self.step()
        if self.settings.batching != "naive" and 2 * len(self.open()) < len(self.held):
            self.drop()

    def results(self) -> list[list[Hypothesis]]:
        done, wanted = self.finished, min(self.settings.nbest, self.settings.beam)
        order = np.argsort(-done.scores, axis=1, kind="stable")[:, :wanted]
        there = np.arange(order.shape[1]) < done.counts[:, None]
        scores, logs, lasts, depths = (
            np.take_along_axis(array, order, axis=1)[there]
            for array in (done.scores, done.totals, done.nodes, done.depths)
        )
        starts = starts_of(depths)
        symbols = np.empty(starts[-1], np.int32)
        follow(self.nodes, lasts, starts, symbols)
        if not self.report.softmax:
            scores = logs = np.full(len(lasts), np.nan)
        spans = [symbols[a:b] for a, b in pairwise(starts.tolist())]
        every = list(map(Hypothesis, spans, scores.tolist(), logs.tolist()))
        return [every[a:b] for a, b in pairwise(starts_of(there.sum(axis=1)).tolist())]


def _cuts(lengths: Sequence[int], settings: DecodingSettings) -> list[int]:
    """Where batches begin, which are limited in sentences or in symbols."""
    if settings.batch is not None:
        return [*range(0, len(lengths), settings.batch), len(lengths)]
    cuts, symbols = [0], 0
    for i, length in enumerate(lengths):
        if symbols and symbols + length > settings.batch_symbols:
            cuts.append(i)
            symbols = 0
        symbols += length
    return [*cuts, len(lengths)]


def _stepped(
    networks: Sequence[Network], encoded: Sequence[Encoded], sentences: np.ndarray, symbols: np.ndarray,
    states: Sequence[State], rooms: Sequence[Buffers],
) -> tuple[list[np.ndarray], list[State]]:  # fmt: skip
    """A step of several networks, see ``Recurrent.step``: their vectors, and their states."""
    each = zip(networks, encoded, states, rooms, strict=True)
    steps = [net.step(read, sentences, symbols, state, room) for net, read, state, room in each]
    return [vectors for vectors, _ in steps], [state for _, state in steps]


def _write(work: tuple[Any, ...], run: tuple[Any, ...]) -> tuple[list[list[Hypothesis]], Report]:
    """A part of a run, for one thread: its sources with their numbers, and what all parts share, see ``_Block``."""
    block = _Block(*work, *run)
    block.run()
    with block.report.stage("results"):
        return block.results(), block.report


class Decoder:
    """Trained models, ready to be applied. Several with the same symbols are an ensemble.

    :param precision: ``fp32``, or ``int8`` for the products with matrices.
    :param forbidden: symbols that are never written.
    :param arithmetic: an ensemble takes the mean of probabilities instead of their logs.
    """

    def __init__(
        self, weights: Weights | Sequence[Weights], *, precision: str = "fp32",
        forbidden: Sequence[int] = (UNKNOWN, START), arithmetic: bool = False,
    ):  # fmt: skip
        self.weights = (weights,) if isinstance(weights, Weights) else tuple(weights)
        if precision not in MATRICES:
            raise SettingError(f"precision is one of {', '.join(MATRICES)}; not {precision!r}")
        if any(each.target != self.weights[0].target or each.source != self.weights[0].source for each in self.weights):
            raise SettingError("the models of an ensemble must have the same symbols")
        matrix = MATRICES[precision]
        self.precision = precision
        self.networks: list[Network] = [network(each.checked(), matrix) for each in self.weights]
        outputs = [Output.of(each, matrix) for each in self.weights]
        self.output = Ensemble([output.without(forbidden) for output in outputs], arithmetic)
        self.every_symbol = Ensemble(outputs, arithmetic)
        self.report_ = Report()

    def __repr__(self) -> str:
        return f"<Decoder of {len(self.weights)} models, {self.precision}>"

    def needs_softmax(self, settings: DecodingSettings) -> bool:
        """Whether probabilities are needed: unless a greedy search with one model does not report them."""
        return settings.scores or settings.beam > 1 or len(self.networks) > 1

    def decode(
        self, sources: Sequence[np.ndarray], settings: DecodingSettings | None = None, *,
        shortlist: Shortlist | None = None, workers_: int | None = None, cluster: Any = None, **given: Any,
    ) -> list[list[Hypothesis]]:  # fmt: skip
        """The best targets of every source, best first; none for an empty source. What the run has done is in
        ``report_``.

        :param sources: symbols of each source, without END.
        :param settings: how to search, or single settings by name: ``beam=5``.
        :param workers_: threads, by default one for each core; or a Dask ``cluster``.
        """
        settings = settings if settings is not None else DecodingSettings(**given)
        if settings.beam > len(self.output):
            warn(f"there are only {len(self.output)} symbols: a beam of {settings.beam} cannot be filled in one step")
        lengths = np.array([len(source) for source in sources], np.int64)
        there = np.flatnonzero(lengths)
        order = there
        if settings.sort:
            windows = [there[first : first + WINDOW] for first in range(0, len(there), WINDOW)]
            order = np.concatenate([w[np.argsort(-lengths[w], kind="stable")] for w in windows] or [there])
        size = max(CHUNK, settings.batch or 0)
        parts = [order[first : first + size] for first in range(0, len(order), size)]
        results: list[list[Hypothesis]] = [[] for _ in sources]
        self.report_ = report = Report(softmax=self.needs_softmax(settings), precision=self.precision)
        with _blas().limit(limits=1), workers(workers_, cluster) as pool:
            chunks = (([sources[i] for i in part], part) for part in parts)
            for part, (found, done) in zip(parts, pool.map(_write, chunks, (self, settings, shortlist)), strict=True):
                report.add(done)
                for i, hypotheses in zip(part.tolist(), found, strict=True):
                    results[i] = hypotheses
        scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
        report.peak_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
        return results

    def score(
        self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], workers_: int | None = None,
        cluster: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """The natural logs of the probabilities of given targets (END follows each), float64 (n,). Forbidden symbols
        count as well as others here, so that every target has a probability."""
        lengths = np.array([len(target) for target in targets], np.int64)
        order = np.argsort(-lengths, kind="stable")
        parts = [order[first : first + SCORED] for first in range(0, len(order), SCORED)]
        totals = np.zeros(len(order))
        with _blas().limit(limits=1), workers(workers_, cluster) as pool:
            chunks = (([sources[i] for i in part], [targets[i] for i in part]) for part in parts)
            for part, found in zip(parts, pool.map(_scored, chunks, self), strict=True):
                totals[part] = found
        return totals


def _scored(pairs: tuple[list[np.ndarray], list[np.ndarray]], decoder: Decoder) -> np.ndarray:
    """Logs of the probabilities of targets, the longest first."""
    sources, targets = pairs
    batch = Batch.ended(sources)
    symbols, starts = Batch.ended(targets)
    lengths = np.diff(starts)
    rooms = [Buffers() for _ in decoder.networks]
    read = [net.encode(batch, room, lengths) for net, room in zip(decoder.networks, rooms, strict=True)]
    encoded, states = [encoded for encoded, _ in read], [first for _, first in read]
    totals = np.zeros(len(targets))
    before = np.full(len(targets), START, np.int32)
    for step in range(int(lengths.max(initial=0))):
        rows = np.arange(np.searchsorted(-lengths, -step, side="left"), dtype=np.int32)
        states = [tuple(array[: len(rows)] for array in state) for state in states]
        hidden, states = _stepped(decoder.networks, encoded, rows, before[: len(rows)], states, rooms)
        before = symbols[starts[rows] + step]
        totals[rows] += decoder.every_symbol.logs(hidden)[rows, before]
    return totals


def warm_decoder() -> None:
    """Compile every kernel by writing with models of all kinds that have learned nothing."""
    small: dict[str, Any] = {"embedding": 8, "state": 8, "attention": 8, "decoder_layers": 2}
    vocab = Vocab.from_words("ab")
    sources = [np.array([3, 4], np.int32), np.array([4], np.int32)]
    for kind in ({}, {"layer_norm": False}, {"cell": "mlstm"}, {"cell": "transformer", "heads": 2}):
        architecture = Architecture(**small, **kind)
        wanted = shapes(architecture, len(vocab), len(vocab))
        arrays = {name: np.ones(shape, np.float32) for name, shape in wanted.items()}
        for precision in MATRICES:
            decoder = Decoder(Weights(architecture, vocab, vocab, arrays), precision=precision)
            decoder.decode(sources, beam=2, nbest=2, batch=1)
            decoder.decode(sources, beam=1, scores=False)
            decoder.score(sources, sources)


@cache
def _blas() -> Any:
    """The threads of BLAS, of which each product may use one: sentences are shared out, not matrices."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
