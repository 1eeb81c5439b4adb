"""LogLinear: word alignment with any features (Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with
arbitrary features", 2011), learned without gold links.

See ``kernels.loglinear`` for the model and how its weights are learned (most stay at zero), and
``corpuscle.align.features`` for the features. Each direction has its own weights.

To align, every word may stand for every word of the other sentence, whatever the neighbourhood was while learning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.align.base import LINKED, Aligner, check_rows, signature_of, slices
from corpuscle.align.counts import Posteriors, pairs_of, rows_of, sorted_couples
from corpuscle.align.em_models import KEEP, usable
from corpuscle.align.features import (
    LARGEST,
    LEAST_LOG,
    SMALLEST_M1,
    USER_ARRAYS,
    Facts,
    Function,
    Layout,
    Side,
    UserFeatures,
    by_role,
    check_user_arrays,
    feature_names,
    read_features,
)
from corpuscle.align.kernels import loglinear_paths
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.loglinear import CELLS, CLASS_UNKNOWN, FIRST_CLASS, LONGEST, OUTPUTS, STATES
from corpuscle.align.loglinear_training import (
    PARTIAL,
    Encoded,
    Neighbourhood,
    Passes,
    bigrams_of,
    encode,
    link_probabilities,
    transposition,
    with_null,
    words_of_pairs,
)
from corpuscle.align.settings import LogLinearSettings
from corpuscle.compiled import frozen
from corpuscle.errors import SettingError
from corpuscle.learning import Checkpoint
from corpuscle.model import Array, Arrays, Container, Kind, Record
from corpuscle.scale import workers as some_workers
from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.scripts import plain, romanise
from corpuscle.words import ExchangeClasses

_CELLS_A_CHUNK = 100_000
_WITH_CLASSES = {"classpair", "diag", "source", "jump", "bigram"}
_DIRECTIONS = ("forward", "source"), ("backward", "target")
"""The directions, and the sides that have their states."""


def _check(loaded: Container) -> None:
    settings, arrays = LogLinearSettings.restored(loaded.described), loaded.arrays
    for name in "function", "romaniser":
        if type(loaded.extra.get(name)) is not bool:
            raise ValueError(f"it does not say whether it had a {name}")
    check_rows(loaded)
    check_user_arrays(arrays)
    types = len(arrays["source/counts"]), len(arrays["target/counts"])
    couples, user = len(arrays["couples/columns"]), len(arrays["user/names/offsets"]) - 1
    for d, (direction, side) in enumerate(_DIRECTIONS):
        if arrays[f"classes/{side}"].max(initial=0) >= FIRST_CLASS + settings.classes:
            raise ValueError("a word has a class that is not there")
        starts, columns = arrays[f"bigrams/{direction}/row_starts"], arrays[f"bigrams/{direction}/columns"]
        if len(starts) != (types[d] + 1 if "bigram" in settings.families else 1):
            raise ValueError("it has bigrams of other words")
        check_rows(loaded, f"bigrams/{direction}")
        if columns.max(initial=0) >= types[d]:
            raise ValueError("it has bigrams of other words")
        layout = Layout(settings.families, couples, len(columns), *by_role(types, d), settings.classes, user)
        numbers = arrays[f"weights/{direction}/features"]
        if (np.diff(numbers) <= 0).any() or numbers.max(initial=-1) >= layout.size:
            raise ValueError("it has weights of features that are not there")


_ARRAYS = {
    **LINKED,
    "m1": Array("float32", (2, "couples"), low=0, high=1.001),
    "m1/null/forward": Array("float32", ("target_types+3",), low=0, high=1.001),
    "m1/null/backward": Array("float32", ("source_types+3",), low=0, high=1.001),
    "dice": Array("uint8", ("couples",), high=11),
    "classes/source": Array("int32", ("source_types+3",), low=0),
    "classes/target": Array("int32", ("target_types+3",), low=0),
    **USER_ARRAYS,
}
for _side, _ in _DIRECTIONS:
    _ARRAYS |= {
        f"bigrams/{_side}/row_starts": Array("int64", (f"{_side}_rows",), offsets_into=f"{_side}_bigrams"),
        f"bigrams/{_side}/columns": Array("int32", (f"{_side}_bigrams",), low=0),
        f"weights/{_side}/features": Array("int64", (f"{_side}_weights",), low=0),
        f"weights/{_side}/values": Array("float64", (f"{_side}_weights",), low=-LARGEST, high=LARGEST),
    }


_ROMANISERS: dict[str, Callable[[str], str] | None] = {"none": None, "plain": plain, "latin": romanise}


class EncodedPairs(NamedTuple):
    """Sentence pairs, both directions encoded; ``transposition``: the place of each cell in the other direction."""

    source_starts: np.ndarray
    target_starts: np.ndarray
    cell_starts: np.ndarray
    directions: tuple[Encoded, Encoded]
    transposition: np.ndarray


class LogLinear(LogLinearSettings, Aligner):
    """A globally normalised log-linear model of word alignment.

    ``features``: a table of features of your own (a file, or what ``read_features`` gives), or a function of two words.
    Functions, also one that writes words before spellings are compared, cannot be saved: ``set_functions``.

    - ``m1_``: float32 (2, n_couples), Model 1's probabilities of both directions, ``null_m1_`` those of the null word;
    - ``dice_``: uint8 (n_couples,), the bin of the Dice coefficient; ``classes_``: the class of each type, both sides;
    - ``bigrams_``: for each direction the bigrams of states that have a weight;
    - ``weights_``: for each direction the weights of all features, float64; ``user_``: features of the user's own;
    - ``missing_``: functions that the model was learned with and that have not been set again.

    Steps follow each other, so learning is sequential: the two directions go side by side, on threads.
    """

    method: ClassVar[str] = "loglinear"
    limited: ClassVar[bool] = True
    KIND: ClassVar[Kind] = Kind("align.loglinear", 1, _ARRAYS, check=_check)
    PARTIAL: ClassVar[Kind] = PARTIAL
    SAVED: ClassVar = Aligner.SAVED | {
        "m1_": Arrays("m1"),
        "null_m1_": Arrays("m1/null/forward", "m1/null/backward"),
        "dice_": Arrays("dice"),
        "classes_": Arrays("classes/source", "classes/target"),
        "user_": Record(UserFeatures),
    }

    m1_: np.ndarray = learned()
    null_m1_: tuple[np.ndarray, np.ndarray] = learned()
    dice_: np.ndarray = learned()
    classes_: tuple[np.ndarray, np.ndarray] = learned()
    bigrams_: tuple[Couples, Couples] = learned()
    weights_: tuple[np.ndarray, np.ndarray] = learned()
    user_: UserFeatures = learned()
    romaniser_: Callable[[str], str] | None = learned()
    missing_: list[str] = learned()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_length > LONGEST:
            raise SettingError(f"max_length is a whole number from 1 to {LONGEST:,}; not {self.max_length!r}")
        own = self.features
        if isinstance(own, str | PathLike):
            own = read_features(own, self.preprocessing)
        self.user_ = own if isinstance(own, UserFeatures) else UserFeatures(function=own)
        self.romaniser_, self.missing_ = None, []

    def set_functions(self, features: Function | None = None, romaniser: Callable[[str], str] | None = None) -> Self:
        """Give a model functions of your own: features of two words, and how words are written before spellings are
        compared, in the place of ``romanise``. A loaded model needs those that it was learned with."""
        if features is not None:
            self.user_.function = features
            self.missing_ = [name for name in self.missing_ if "function" not in name]
        if romaniser is not None:
            self.romaniser_ = romaniser
            self.missing_ = [name for name in self.missing_ if "romaniser" not in name]
        return self

    def layout(self, direction: int) -> Layout:
        """The numbers of the features of one direction."""
        states, outputs = by_role((len(self.source_vocab_), len(self.target_vocab_)), direction)
        couples, bigrams = len(self.couples_.columns), len(self.bigrams_[direction].columns)
        return Layout(self.families, couples, bigrams, states, outputs, self.classes, len(self.user_.names))

    def _features(self, direction: int) -> Facts:
        width = len(self.target_vocab_)
        keys = rows_of(self.couples_) * np.int64(width) + self.couples_.columns
        m1 = self.m1_[direction], self.m1_[1 - direction], self.null_m1_[direction]
        own = self.layout(direction), self.bigrams_[direction], self.user_
        return Facts(*own, keys, *m1, self.dice_, direction == 1, width)

    def _sides(self, bitext: Bitext) -> tuple[Side, Side]:
        romanise, sides = self.romaniser_ or _ROMANISERS[self.romanise], []
        known = (bitext.source, self.source_vocab_), (bitext.target, self.target_vocab_)
        for (corpus, vocab), classes in zip(known, self.classes_, strict=True):
            ids = vocab.mapping_from(corpus.vocab)
            sides.append(Side(corpus.vocab, ids, classes[ids], romanise))
        return sides[0], sides[1]

    def names(self, direction: int, numbers: np.ndarray) -> list[str]:
        """The names of some features of one direction."""
        states, outputs = by_role((self.source_vocab_, self.target_vocab_), direction)
        return feature_names(self._features(direction), numbers, states, outputs, self.couples_)

    def learned_features(self, direction: int) -> list[tuple[str, float]]:
        """The features of one direction with their weights, unless that is zero; the strongest first."""
        weights = self.weights_[direction]
        numbers = np.flatnonzero(weights)
        numbers = numbers[np.argsort(-np.abs(weights[numbers]), kind="stable")]
        return list(zip(self.names(direction, numbers), weights[numbers].tolist(), strict=True))

    def strongest(self, direction: int, count: int) -> list[tuple[str, float]]:
        """The ``count`` strongest features of each family in turn, features of one's own last."""
        found: dict[str, list[tuple[str, float]]] = {}
        for name, weight in self.learned_features(direction):
            found.setdefault(name.split()[0].partition("_")[0], []).append((name, weight))
        order = [*self.families, *(family for family in found if family not in self.families)]
        return [learned for family in order for learned in found.get(family, [])[:count]]

    def dependence(self) -> dict[str, Any]:
        """The settings, and what they do not say about features of the user's own."""
        return self.settings | {
            "user_features": self.user_.signature,
            "function": self.user_.function is not None,
            "romaniser": self.romaniser_ is not None,
        }

    def fit(self, bitext: Bitext, *, checkpoint: Checkpoint | None = None, base: Aligner | None = None) -> Self:
        """Learn from sentence pairs. ``checkpoint`` keeps unfinished work; there is no going on from a ``base``."""
        if base is not None:
            raise SettingError("a log-linear model does not go on from another one: learn from all the text")
        if not self.families and not self.user_.names and self.user_.function is None:
            raise SettingError("there are no features: name at least one family")
        signature = signature_of(bitext) if checkpoint is None else checkpoint.signature
        chosen = usable(bitext, self.max_length)
        text = bitext if chosen.all() else bitext.select(chosen)
        with some_workers(self.workers, self.cluster) as pool:
            neighbourhood = Neighbourhood.learn(text, self.neighbourhood, pool)
        encoded = self.encoded(text, neighbourhood)
        layouts = [self.layout(d) for d in (0, 1)]
        shapes = [each.shape(self.null_jump == "remember") for each in layouts]
        # Learning starts from Model 1, or from zeros without ``m1log``.
        start = [np.where(np.arange(each.size) == each.start("m1log"), 1.0, 0.0) for each in layouts]
        with some_workers(self.workers) as pool:
            passes = Passes(encoded, shapes, start, self, pool)
            checkpoint = checkpoint or Checkpoint()
            run = checkpoint.run(passes, self.passes, columns=2, title=self.method, note="{:.3f} {:.3f}")
            self.history_ = np.vstack([run.history, passes.likelihood()])
        self.weights_ = passes.weights[0], passes.weights[1]
        self.provenance_ = {
            "sentence_pairs": len(bitext),
            "learned_from": len(text),
            "source_tokens": text.source.n_tokens,
            "target_tokens": text.target.n_tokens,
            "couples": [neighbourhood.size(0), neighbourhood.size(1)],
            "signature": signature,
        }
        self._count(text)
        self._prune()
        return self

    def encoded(self, bitext: Bitext, neighbourhood: Neighbourhood) -> list[Encoded]:
        """Both directions of the training text, with all features of the couples of a neighbourhood."""
        self._study(bitext, neighbourhood)
        sizes = len(self.source_vocab_), len(self.target_vocab_)
        allowed = [with_null(*neighbourhood.couples_of(d), sizes[d]) for d in (0, 1)]
        if self.user_.function is not None:  # its names must be known before features are numbered
            for d in (0, 1):
                states, outputs = by_role((bitext.source, bitext.target), d)
                self.user_.of(states.vocab, outputs.vocab, *allowed[d], d == 1, True)
        sides = self._sides(bitext)
        return [encode(bitext, sides, *allowed[d], self._features(d)) for d in (0, 1)]

    def _study(self, bitext: Bitext, neighbourhood: Neighbourhood) -> None:
        """Keep what features are made of: Model 1, cooccurrences, classes."""
        self.source_vocab_, self.target_vocab_ = bitext.source.vocab, bitext.target.vocab
        # Couples that some feature is about: allowed, or met often, or likely.
        tables, dice = neighbourhood.tables, neighbourhood.dice
        likely = np.maximum(tables[0].couples[:-1], tables[1].couples[:-1]) >= SMALLEST_M1
        kept = np.flatnonzero(neighbourhood.allowed.any(axis=0) | (dice > 0) | likely)
        rows, columns = neighbourhood.rows[kept], neighbourhood.couples.columns[kept]
        self.couples_, order = sorted_couples(rows, columns, len(self.source_vocab_))
        kept = kept[order]
        self.m1_, self.null_m1_ = np.stack([table.couples[kept] for table in tables]), (tables[0].null, tables[1].null)
        self.dice_ = dice[kept]
        self.classes_ = self._learn_classes(bitext.source), self._learn_classes(bitext.target)
        none = Couples(frozen(np.zeros(1), np.int64), frozen(np.zeros(0), np.int32))
        wanted = "bigram" in self.families
        self.bigrams_ = (bigrams_of(bitext.source), bigrams_of(bitext.target)) if wanted else (none, none)

    def _learn_classes(self, corpus: Corpus) -> np.ndarray:
        """The class of every type, int32; that of unknown words is the one of most rare words."""
        if not _WITH_CLASSES & set(self.families):
            return np.full(len(corpus.vocab), CLASS_UNKNOWN, np.int32)
        types = int((np.bincount(corpus.tokens) > 0).sum())
        model = ExchangeClasses(classes=min(self.classes, types), workers=self.workers).fit(corpus)
        found = model.classes_[model.vocab_.mapping_from(corpus.vocab)]
        return np.where(found < 0, CLASS_UNKNOWN, FIRST_CLASS + found).astype(np.int32)

    def _count(self, bitext: Bitext) -> None:
        """The expected links of each couple in the training text, by direction, for dictionaries."""
        counts = np.zeros((2, len(self.couples_.columns) + 1))
        for part, both in zip(slices(bitext, _CELLS_A_CHUNK), self.map(bitext, _link_probabilities), strict=True):
            pairs = super().prepared(pairs_of(part.source, part.target, cells=False), None)
            for d in (0, 1):
                np.add.at(counts[d], pairs.cells, both[d].astype(np.float64))
        self.counts_ = counts[:, :-1].astype(np.float32)

    def _prune(self) -> None:
        """Drop couples and bigrams that no feature is about."""
        blocks = [self.layout(d).blocks for d in (0, 1)]
        likely = LEAST_LOG if "m1log" in self.families else SMALLEST_M1
        kept = (self.m1_.max(axis=0) >= likely) | (self.dice_ > 0) | (self.counts_.max(axis=0) >= KEEP)
        parts = [
            {block: weights[begin : begin + size] for block, (begin, size) in own.items()}
            for own, weights in zip(blocks, self.weights_, strict=True)
        ]
        for own in parts:
            kept |= own["pair"] != 0 if "pair" in own else False
        self.couples_ = _subset(self.couples_, kept)
        self.counts_, self.m1_, self.dice_ = self.counts_[:, kept], self.m1_[:, kept], self.dice_[kept]
        new, bigrams = [], []
        for own, table in zip(parts, self.bigrams_, strict=True):
            chosen = {"pair": kept, "bigram": own.get("bigram", np.zeros(0)) != 0}
            bigrams.append(_subset(table, chosen["bigram"]))
            new.append(np.concatenate([part[chosen.get(block, ...)] for block, part in own.items()]))
        self.weights_, self.bigrams_ = (new[0], new[1]), (bigrams[0], bigrams[1])

    def cut(self, bitext: Bitext) -> tuple[list[Any], Any]:
        """Sentence pairs in chunks, and the features of their words in both directions."""
        if self.missing_:
            raise SettingError(f"this model was learned with {' and '.join(self.missing_)}: set it before aligning")
        sides = self._sides(bitext)
        for side in sides:  # so that threads do not make them at the same time
            _ = side.spelling, side.letters, side.prefixes
        return list(slices(bitext, _CELLS_A_CHUNK)), (sides, (self._features(0), self._features(1)))

    def prepared(self, chunk: Bitext, common: Any) -> EncodedPairs:
        """Both directions of a chunk with all features of its words."""
        sides, features = common
        texts = (chunk.source, chunk.target), (chunk.target, chunk.source)
        forward, backward = (encode(chunk, sides, *words_of_pairs(*texts[d]), features[d]) for d in (0, 1))
        starts = forward.text.starts
        places = starts[STATES], starts[OUTPUTS], starts[CELLS]
        return EncodedPairs(*places, (forward, backward), transposition(starts))

    def posteriors(self, pairs: Any, direction: int) -> Posteriors:
        shape = self.layout(direction).shape(self.null_jump == "remember")
        links, nulls = link_probabilities(pairs.directions[direction], shape, self.weights_[direction])
        return Posteriors(links[pairs.transposition] if direction else links, nulls, float("nan"))

    def best(self, pairs: Any, direction: int) -> np.ndarray:
        return self.k_best(pairs, direction, 1, normalise=False)[0][0]

    def k_best(self, pairs: Any, direction: int, k: int, normalise: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` best alignments of sentence pairs: int32 (k, outputs), from 0, -1 for the null word, and their
        log-probabilities, float64 (k, n_pairs), or, not normalised, scores; -inf where there are fewer."""
        outputs = pairs.source_starts if direction else pairs.target_starts
        paths, scores = np.empty((k, int(outputs[-1])), np.int32), np.empty((k, len(outputs) - 1))
        shape = self.layout(direction).shape(self.null_jump == "remember")
        encoded = pairs.directions[direction].read_with(shape, self.weights_[direction])
        loglinear_paths.n_best(encoded, normalise, paths, scores)
        return paths, scores

    def best_paths(self, pairs: Any, direction: int, k: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        outputs = pairs.source_starts if direction else pairs.target_starts
        paths, scores = self.k_best(pairs, direction, k)
        for pair in range(len(outputs) - 1):
            yield paths[:, outputs[pair] : outputs[pair + 1]], scores[:, pair]

    def log_likelihood(self, bitext: Bitext) -> np.ndarray:
        """Not defined for new text: this model is normalised over the neighbourhoods of its training text."""
        raise SettingError(
            "a log-linear model gives no probabilities of new text; its history has those of the training"
        )

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = dict(super()._arrays())
        for d, (direction, _) in enumerate(_DIRECTIONS):
            numbers = np.flatnonzero(self.weights_[d])
            arrays |= {
                f"bigrams/{direction}/row_starts": self.bigrams_[d].row_starts,
                f"bigrams/{direction}/columns": self.bigrams_[d].columns,
                f"weights/{direction}/features": numbers,
                f"weights/{direction}/values": self.weights_[d][numbers],
            }
        return arrays

    def _extra(self) -> dict[str, bool]:
        return {"function": self.user_.function is not None, "romaniser": self.romaniser_ is not None}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        arrays = loaded.arrays
        forward, backward = (Record(Couples, f"bigrams/{direction}/").restored(loaded) for direction, _ in _DIRECTIONS)
        self.bigrams_ = forward, backward
        self.weights_ = np.zeros(self.layout(0).size), np.zeros(self.layout(1).size)
        for dense, (direction, _) in zip(self.weights_, _DIRECTIONS, strict=True):
            dense[arrays[f"weights/{direction}/features"]] = arrays[f"weights/{direction}/values"]
        self.missing_ = [f"a {name} of your own" for name in ("function", "romaniser") if loaded.extra[name]]


def _link_probabilities(model: LogLinear, pairs: EncodedPairs) -> list[np.ndarray]:
    return [model.posteriors(pairs, d).links for d in (0, 1)]


def _subset(couples: Couples, kept: np.ndarray) -> Couples:
    sums = np.concatenate([[0], np.cumsum(kept)])
    return Couples(frozen(sums[couples.row_starts], np.int64), frozen(couples.columns[kept], np.int32))
