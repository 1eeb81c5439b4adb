"""Networks: what everything that writes with trained networks shares, whatever its symbols are.

Several models may write together, the mean of their log probabilities deciding at each symbol, and models that write
from the end rank what those have found. A task that uses networks defines their symbols, and how pairs become
examples. Before numbers of 8 bits are trusted, ``check_precision`` counts what they change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.errors import SettingError
from corpuscle.figures import alignment_grid
from corpuscle.learning import Checkpoint
from corpuscle.model import ITEMS, Array, Arrays, Container, Model, Record, numbered, separated, vocab_arrays
from corpuscle.neural.decoder import Decoder, Hypothesis
from corpuscle.neural.output import Shortlist
from corpuscle.neural.reference import Weights, shapes
from corpuscle.neural.settings import Architecture, NetworkSettings
from corpuscle.scale import starts_of
from corpuscle.settings import Seeded, learned
from corpuscle.text.corpus import SPACE
from corpuscle.text.vocab import END, FIRST, START, Vocab

SAMPLE, TOLERANCE = 200, 0.005
"""The number of sources that are compared first, and the share of them that may have another target."""


class Difference(NamedTuple):
    """Of how many ``sources`` the best target has ``changed``, and how far the natural log of the probability of the
    first decoder's target is off in the second: the ``mean`` and the ``most``."""

    sources: int
    changed: int
    mean: float
    most: float


def difference(one: Decoder, other: Decoder, sources: Sequence[np.ndarray], **given: Any) -> Difference:
    """How another decoder differs; ``given``: settings of the search."""
    some = [source for source in sources if len(source)]
    if not some:
        return Difference(0, 0, 0.0, 0.0)
    best, others = ([found[0].symbols for found in decoder.decode(some, **given)] for decoder in (one, other))
    changed = sum(not np.array_equal(a, b) for a, b in zip(best, others, strict=True))
    apart = np.abs(one.score(some, best) - other.score(some, best))
    return Difference(len(some), changed, float(apart.mean()), float(apart.max()))


def check_precision(
    one: Decoder, other: Decoder, sources: Sequence[np.ndarray], tolerance: float = TOLERANCE, **given: Any
) -> Difference:
    """An error if fewer bits change more of the targets of the first different sources than the tolerance allows."""
    some = list({source.tobytes(): source for source in sources}.values())[:SAMPLE]
    found = difference(one, other, some, **given)
    if found.changed > tolerance * found.sources:
        raise SettingError(
            f"with precision {other.precision}, {found.changed} of {found.sources} targets change: "
            f"a tolerance of {found.changed / found.sources:.3f} would allow that"
        )
    return found


RERANKED, WIDEST = 20, 1000
"""The number of candidates that are ranked from the end, and the width of the widest beam."""


class Lessons(NamedTuple):
    """What networks learn from: ``rows``, pairs of sources and targets as ids; ``validation``, sources with their
    accepted targets; ``quality``: what decides which weights are kept, ``accuracy`` or ``bleu``, unless ``choose`` is
    False, and they are the last; ``guide``: how much the attention is led by ``links``, for each row a matrix float32
    (target, source) whose rows sum to one, or to 0."""

    rows: Sequence[tuple[np.ndarray, np.ndarray]]
    validation: Sequence[tuple[np.ndarray, Sequence[np.ndarray]]]
    quality: str = "accuracy"
    guide: float = 0.0
    links: Sequence[np.ndarray] | None = None
    choose: bool = True


def guide_of(links: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Which positions of a source belong to each position of its target, float32 (m, n): rows sum to one, or to 0 where
    nothing is linked. ``links`` (k, 2): source and target units that belong together; ``rows`` (m,), ``columns`` (n,):
    of which unit each target and source position is a part.

    >>> guide_of(np.array([[0, 1], [1, 1]]), np.array([0, 1, 1]), np.array([0, 1])).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    """
    units = np.zeros((rows.max(initial=-1) + 1, columns.max(initial=-1) + 1), np.float32)
    units[links[:, 1], links[:, 0]] = 1
    matrix = units[rows][:, columns]
    return matrix / np.maximum(1, matrix.sum(axis=1, keepdims=True))


def _architecture(extra: Mapping[str, Any]) -> Architecture:
    given, types = extra.get("architecture"), {name: type(value) for name, value in vars(Architecture()).items()}
    if not isinstance(given, Mapping) or {name: type(value) for name, value in given.items()} != types:
        raise ValueError("it does not say how large its models are")
    return Architecture(**given)


def _models(extra: Mapping[str, Any]) -> int:
    counts = [extra.get(name) for name in ("members", "right_to_left")]
    if not all(type(count) is int and 0 <= count <= 100 for count in counts) or not counts[0]:
        raise ValueError("it does not say how many models it has")
    return sum(counts)  # type: ignore[arg-type]


def network_arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays of a file with networks, see ``Kind``."""
    symbols = extra.get("symbols")
    if type(symbols) is not int or not FIRST <= symbols < 1 << 24:
        raise ValueError("it does not say how many symbols it knows")
    wanted = shapes(_architecture(extra), symbols, symbols)
    each = {name: Array("float32", shape, finite=True) for name, shape in wanted.items()}
    history = {"history": Array("float64", ("validations", 2), finite=True)}
    return vocab_arrays() | ITEMS | history | numbered("model", [each] * _models(extra))


def check_networks(loaded: Container, settings: NetworkSettings) -> None:
    """What the declarations of the arrays cannot say."""
    extra = loaded.extra
    if len(loaded.arrays["vocab/counts"]) != extra["symbols"]:
        raise ValueError("its symbols are not those of its models")
    if _architecture(extra) != settings.architecture:
        raise ValueError("its models are not of the size that its settings say")
    if (extra["members"], extra["right_to_left"]) != (settings.ensemble, settings.right_to_left):
        raise ValueError("it has not as many models as its settings say")


class Networks(NetworkSettings, Seeded, Model):
    """Networks over one table of symbols.

    Learned: ``vocab_``, the symbols of both sides; ``models_``, the arrays of each model, those that write from the
    end last; ``history_`` float64 (validations, 2): cross-entropy and accuracy (or BLEU), means over the models.
    """

    SAVED: ClassVar = {"vocab_": Record(Vocab), "history_": Arrays("history", copied=True)}

    vocab_: Vocab = learned()
    models_: list[dict[str, np.ndarray]] = learned()
    history_: np.ndarray = learned()

    # ---- learning

    def _order_from_end(self, symbols: np.ndarray) -> np.ndarray:
        """The order of some symbols from the end, int64."""
        return np.arange(len(symbols))[::-1]

    def _train(self, lessons: Lessons, checkpoint: Checkpoint, count: str = "members", **work: Any) -> None:
        """Learn; ``count``: see ``member_arrays``; ``work``: workers or a cluster."""
        from corpuscle.neural.training import train

        kinds = [0] * self.ensemble + [1] * self.right_to_left
        seeds = [self.seed + 1000 * number for number in range(len(kinds))]
        tasks = self._tasks(lessons)
        self.models_, self.history_ = train(tasks, kinds, seeds, checkpoint, count, **work)
        for name in ("_decoders", "backwards"):
            self.__dict__.pop(name, None)

    def _tasks(self, lessons: Lessons) -> list[Any]:
        """What the models learn from: from left to right, and with reversed targets."""
        from corpuscle.neural.training import Examples, Task, plan_of

        a, tasks = self.architecture, []
        plan = plan_of(self, len(lessons.rows), lessons.guide)._replace(choose=lessons.choose)
        for turned in (False, True)[: 1 + bool(self.right_to_left)]:
            order: Callable[[np.ndarray], Any] = self._order_from_end if turned else lambda _: slice(None)
            known = None
            if lessons.links is not None and lessons.guide:
                known = [matrix[order(row[1])] for row, matrix in zip(lessons.rows, lessons.links, strict=True)]
            rows = [(source, target[order(target)]) for source, target in lessons.rows]
            right = [[target[order(target)] for target in targets] for _, targets in lessons.validation]
            held = [(row[0], targets[0]) for row, targets in zip(lessons.validation, right, strict=True)]
            accepted = [{tuple(target.tolist()) for target in targets} for targets in right]
            examples = Examples.of(rows, known), Examples.of(held)
            tasks.append(Task(a, (self.vocab_, self.vocab_), *examples, accepted, plan, lessons.quality))
        return tasks

    def training_figures(self, quality: str) -> dict[str, Any]:
        """What there is to say about new networks; ``quality``: the name of what chose their weights."""
        return {
            "models": len(self.models_),
            "parameters": int(sum(array.size for array in self.models_[0].values())),
            "validations": len(self.history_),
            quality: float(self.history_[:, 1].max()),
            "cross_entropy": float(self.history_[:, 0].min()),
        }

    # ---- writing

    def weights(self, model: int) -> Weights:
        return Weights(self.architecture, self.vocab_, self.vocab_, self.models_[model])

    def decoder(self, precision: str = "fp32") -> Decoder:
        """The models that write from left to right, together."""
        decoders = vars(self).setdefault("_decoders", {})
        if precision not in decoders:
            forwards = [self.weights(model) for model in range(self.ensemble)]
            decoders[precision] = Decoder(forwards, precision=precision)
        return decoders[precision]

    @cached_property
    def backwards(self) -> Decoder:
        """The models that write from the end, together."""
        return Decoder([self.weights(model) for model in range(self.ensemble, len(self.models_))])

    def _precise(
        self, sources: Sequence[np.ndarray], precision: str, tolerance: float = TOLERANCE, **given: Any
    ) -> Difference:
        """An error if a precision changes more than this share of what is written for the first 200 sources."""
        one, other = self.decoder(), self.decoder(precision)
        return check_precision(one, other, sources, tolerance, workers_=self.workers, **given)

    def _best(
        self, sources: Sequence[np.ndarray], n_best: int, beam: int, precision: str | None = None,
        shortlist: Shortlist | None = None, scores: bool = True,
    ) -> list[list[Hypothesis]]:  # fmt: skip
        """The best targets of each source, ranked by the models of both directions; none for an empty source. Without
        ``scores`` there are no probabilities where a beam of 1 needs none."""
        if n_best < 1:
            raise SettingError(f"n_best is at least 1, not {n_best}")
        most = min(WIDEST, max(n_best, RERANKED if self.right_to_left else 1))
        found = self.decoder(precision or "fp32").decode(
            sources, beam=min(WIDEST, max(beam, most)), nbest=most, scores=scores or self.right_to_left > 0,
            shortlist=shortlist, workers_=self.workers, cluster=self.cluster,
        )  # fmt: skip
        if self.right_to_left:
            found = self._reranked(sources, found)
        return [each[:n_best] for each in found]

    def _reranked(self, sources: Sequence[np.ndarray], found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """Candidates by (sum over the models of both directions of log P) / (length + 1)."""
        targets = [[hypothesis.symbols for hypothesis in each] for each in found]
        result = []
        for each, logs in zip(found, self._scored(self.backwards, sources, targets, turned=True), strict=True):
            totals = [
                (self.ensemble * hypothesis.log + self.right_to_left * log) / (len(hypothesis.symbols) + 1)
                for hypothesis, log in zip(each, logs.tolist(), strict=True)
            ]
            again = [hypothesis._replace(score=total) for hypothesis, total in zip(each, totals, strict=True)]
            result.append(sorted(again, key=lambda hypothesis: -hypothesis.score))
        return result

    def _scored(
        self, decoder: Decoder, sources: Sequence[np.ndarray], targets: Sequence[Sequence[np.ndarray]], turned: bool
    ) -> list[np.ndarray]:
        """The log probability of each target of each source, from the end if ``turned``."""
        flat = [target for each in targets for target in each]
        if turned:
            flat = [target[self._order_from_end(target)] for target in flat]
        owners = [source for source, each in zip(sources, targets, strict=True) for _ in each]
        logs = decoder.score(owners, flat, workers_=self.workers, cluster=self.cluster)
        return [logs[a:b] for a, b in pairwise(starts_of(map(len, targets)).tolist())]

    def _looked(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Where the first model looks while it writes a target: shares float64 (target and END, source and END)."""
        from corpuscle.neural.reference import encode, start, step

        weights = self.weights(0)
        encoded = encode(weights, np.append(source, END))
        state, rows = start(weights, encoded), []
        for symbol in [START, *target.tolist()]:
            _, state, shares = step(weights, encoded, state, symbol)
            rows.append(shares)
        return np.array(rows)

    # ---- the file

    def _arrays(self) -> Mapping[str, np.ndarray]:
        return {**super()._arrays(), **numbered("model", self.models_)}

    def _extra(self) -> dict[str, Any]:
        return {
            "architecture": dataclasses.asdict(self.architecture),
            "symbols": len(self.vocab_),
            "members": self.ensemble,
            "right_to_left": self.right_to_left,
        }

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.models_ = separated("model", loaded.arrays, _models(loaded.extra))


def draw_attention(model: Any, text: str, target: str | None = None) -> str:
    """Which symbols of a text a model looks at while it writes each symbol of its best target, or of a given one, as
    SVG. The end of a text is a symbol, too."""
    source, written, shares = model.attention(text, target)
    left, right = ([each.replace(SPACE, "␣").rstrip(" ") for each in side] + ["∎"] for side in (source, written))
    return alignment_grid(left, right, weights=shares.T, title=f"Where the model looks in {text}")
