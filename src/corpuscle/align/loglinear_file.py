"""The model file of the log-linear aligner: which arrays it has, and what must be true of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.align.base import Aligner
from corpuscle.align.features import FAMILIES, Layout, by_role
from corpuscle.align.features_names import feature_names
from corpuscle.align.features_user import LARGEST, UserFeatures
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.loglinear import FIRST_CLASS
from corpuscle.compiled import frozen
from corpuscle.model import Array, Container, Kind, vocab_arrays
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import FIRST, START, Vocab

__all__ = ["KIND", "Stored"]

DIRECTIONS = ("forward", "backward")


def _rising_rows(name: str, columns: np.ndarray, starts: np.ndarray) -> None:
    inside = np.ones(len(columns), bool)
    inside[starts[:-1][starts[:-1] < len(columns)]] = False
    if (np.diff(columns, prepend=-1)[inside] <= 0).any():
        raise ValueError(f"the rows of {name} are not in order")


def _layout(container: Container, direction: int) -> Layout:
    arrays, settings = container.arrays, container.settings
    states, outputs = by_role((len(arrays["source/counts"]), len(arrays["target/counts"])), direction)
    bigrams = len(arrays[f"bigrams/{DIRECTIONS[direction]}/columns"])
    return Layout(
        tuple(settings["families"]), len(arrays["couples/columns"]), bigrams, states, outputs,
        settings["classes"], len(arrays["user/names/offsets"]) - 1,
    )  # fmt: skip


def _check(container: Container) -> None:
    settings, arrays = container.settings, container.arrays
    if settings.get("method") != "loglinear":
        raise ValueError("it does not say by which method it was learned")
    families, classes = settings.get("families"), settings.get("classes")
    if type(families) is not list or not all(type(family) is str and family in FAMILIES for family in families):
        raise ValueError("it does not say which features it has")
    if type(classes) is not int or not 1 <= classes <= 500:
        raise ValueError("it does not say how many classes it has")
    for name in "function", "romaniser":
        if type(container.extra.get(name)) is not bool:
            raise ValueError(f"it does not say whether it had a {name}")
    _rising_rows("couples", arrays["couples/columns"], arrays["couples/row_starts"])
    for d, direction in enumerate(DIRECTIONS):
        side = ("source", "target")[d]
        if arrays[f"classes/{side}"].max(initial=0) >= FIRST_CLASS + classes:
            raise ValueError("a word has a class that is not there")
        starts, columns = arrays[f"bigrams/{direction}/row_starts"], arrays[f"bigrams/{direction}/columns"]
        if len(starts) != (len(arrays[f"{side}/counts"]) + 1 if "bigram" in families else 1):
            raise ValueError("it has bigrams of other words")
        _rising_rows("bigrams", columns, starts)
        if columns.max(initial=0) >= len(arrays[f"{side}/counts"]):
            raise ValueError("it has bigrams of other words")
        numbers = arrays[f"weights/{direction}/features"]
        if (np.diff(numbers) <= 0).any() or numbers.max(initial=-1) >= max(_layout(container, d).size, 0):
            raise ValueError("it has weights of features that are not there")
    places = arrays["user/places"].astype(np.int64)
    limits = [len(arrays[f"user/{part}/offsets"]) - 1 for part in ("source", "target", "names")]
    if len(places) and (
        (places[:, 0] >= limits[0] + FIRST).any()
        or (places[:, 1] >= limits[1] + FIRST).any()
        or (places[:, 2] >= limits[2]).any()
        or (places[:, :2] < START).any()
    ):
        raise ValueError("it has features of words that are not there")
    keys = (places[:, 0] * (limits[1] + FIRST) + places[:, 1]) * (limits[2] + 1) + places[:, 2]
    if (np.diff(keys) <= 0).any():
        raise ValueError("the features of the user are not in order")


KIND = Kind(
    "align.loglinear",
    1,
    {
        **vocab_arrays("source/", "source_types"),
        **vocab_arrays("target/", "target_types"),
        "couples/row_starts": Array("int64", ("source_types+4",), offsets_into="couples"),
        "couples/columns": Array("int32", ("couples",), low=0, high="target_types+3"),
        "counts": Array("float32", (2, "couples"), low=0, finite=True),
        "m1": Array("float32", (2, "couples"), low=0, high=1.001),
        "m1/null/forward": Array("float32", ("target_types+3",), low=0, high=1.001),
        "m1/null/backward": Array("float32", ("source_types+3",), low=0, high=1.001),
        "dice": Array("uint8", ("couples",), high=11),
        "classes/source": Array("int32", ("source_types+3",), low=0),
        "classes/target": Array("int32", ("target_types+3",), low=0),
        **{
            name: array
            for direction in DIRECTIONS
            for name, array in {
                f"bigrams/{direction}/row_starts": Array(
                    "int64", (f"{direction}_rows",), offsets_into=f"{direction}_bigrams"
                ),
                f"bigrams/{direction}/columns": Array("int32", (f"{direction}_bigrams",), low=0),
                f"weights/{direction}/features": Array("int64", (f"{direction}_weights",), low=0),
                f"weights/{direction}/values": Array("float64", (f"{direction}_weights",), low=-LARGEST, high=LARGEST),
            }.items()
        },
        **vocab_arrays("user/names/", "user_names"),
        **vocab_arrays("user/source/", "user_source"),
        **vocab_arrays("user/target/", "user_target"),
        "user/places": Array("int32", ("user_places", 3), low=0),
        "user/values": Array("float64", ("user_places",), low=-LARGEST, high=LARGEST + 1),
        "history": Array("float64", ("passes", 2), finite=True),
    },
    check=_check,
)


def _couples(arrays: dict[str, Any], name: str) -> Couples:
    return Couples(frozen(arrays[f"{name}/row_starts"], np.int64), frozen(arrays[f"{name}/columns"], np.int32))


class Stored(Aligner):
    """What a log-linear model consists of, in memory and in its file.

    - ``m1_``: float32 (2, n_couples), Model 1's probabilities of both directions, ``null_m1_`` those of the null word;
    - ``dice_``: uint8 (n_couples,), the bin of the Dice coefficient; ``classes_``: the class of each type, both sides;
    - ``bigrams_``: for each direction the bigrams of states that have a weight;
    - ``weights_``: for each direction the weights of all features, float64; ``user_``: features of the user's own;
    - ``missing_``: functions that the model was learned with and that have not been set again.
    """

    KIND = KIND

    families: tuple[str, ...]
    classes: int
    m1_: np.ndarray
    null_m1_: tuple[np.ndarray, np.ndarray]
    dice_: np.ndarray
    classes_: tuple[np.ndarray, np.ndarray]
    bigrams_: tuple[Couples, Couples]
    weights_: tuple[np.ndarray, np.ndarray]
    user_: UserFeatures
    missing_: list[str]

    def layout(self, direction: int) -> Layout:
        """The numbers of the features of one direction."""
        states, outputs = by_role((len(self.source_vocab_), len(self.target_vocab_)), direction)
        n_bigrams = len(self.bigrams_[direction].columns)
        return Layout(
            self.families, len(self.couples_.columns), n_bigrams, states, outputs, self.classes, len(self.user_.names)
        )

    def names(self, direction: int, numbers: np.ndarray) -> list[str]:
        """What some features of one direction are called."""
        states, outputs = by_role((self.source_vocab_, self.target_vocab_), direction)
        tables = self.couples_, self.bigrams_[direction]
        layout = self.layout(direction)
        return feature_names(layout, numbers, states, outputs, *tables, self.user_.names, direction == 1)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a model file keeps of a self."""
        user = self.user_
        arrays = {
            **self.source_vocab_.arrays("source/"),
            **self.target_vocab_.arrays("target/"),
            "couples/row_starts": self.couples_.row_starts,
            "couples/columns": self.couples_.columns,
            "counts": self.counts_,
            "m1": self.m1_,
            "dice": self.dice_,
            "classes/source": self.classes_[0],
            "classes/target": self.classes_[1],
            **Vocab.from_words(user.names).arrays("user/names/"),
            **user.source_vocab.arrays("user/source/"),
            **user.target_vocab.arrays("user/target/"),
            "user/places": user.places,
            "user/values": user.values,
            "history": self.history_,
        }
        for d, direction in enumerate(DIRECTIONS):
            numbers = np.flatnonzero(self.weights_[d])
            arrays |= {
                f"m1/null/{direction}": self.null_m1_[d],
                f"bigrams/{direction}/row_starts": self.bigrams_[d].row_starts,
                f"bigrams/{direction}/columns": self.bigrams_[d].columns,
                f"weights/{direction}/features": numbers,
                f"weights/{direction}/values": self.weights_[d][numbers],
            }
        return arrays

    def restore(self, container: Container) -> None:
        """Take everything from a file."""
        arrays: dict[str, Any] = container.arrays
        self.source_vocab_, self.target_vocab_ = (
            Vocab.from_arrays(arrays, f"{side}/") for side in ("source", "target")
        )
        self.couples_ = _couples(arrays, "couples")
        self.counts_, self.m1_, self.dice_ = arrays["counts"], arrays["m1"], arrays["dice"]
        self.null_m1_ = arrays["m1/null/forward"], arrays["m1/null/backward"]
        self.classes_ = arrays["classes/source"], arrays["classes/target"]
        self.bigrams_ = _couples(arrays, "bigrams/forward"), _couples(arrays, "bigrams/backward")
        names = Vocab.from_arrays(arrays, "user/names/").strings[FIRST:]
        words = [Vocab.from_arrays(arrays, f"user/{side}/") for side in ("source", "target")]
        self.user_ = UserFeatures(names, words[0], words[1], arrays["user/places"], arrays["user/values"])
        weights = []
        for d, direction in enumerate(DIRECTIONS):
            dense = np.zeros(self.layout(d).size)
            dense[arrays[f"weights/{direction}/features"]] = arrays[f"weights/{direction}/values"]
            weights.append(dense)
        self.weights_ = weights[0], weights[1]
        self.history_ = arrays["history"]
        self.preprocessing_ = Preprocessing(**container.preprocessing)
        self.provenance_ = container.provenance
        self.missing_ = [f"a {name} of your own" for name in ("function", "romaniser") if container.extra[name]]
