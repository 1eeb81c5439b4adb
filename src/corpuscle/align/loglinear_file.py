"""The model file of the log-linear aligner: which arrays it has, and what must be true of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corpuscle.align.base import LINKED, check_rows, couples_from
from corpuscle.align.features import Layout, by_role
from corpuscle.align.features_user import LARGEST, UserFeatures
from corpuscle.align.kernels.loglinear import FIRST_CLASS
from corpuscle.align.settings import LogLinearSettings
from corpuscle.model import Array, Container, Kind, vocab_arrays
from corpuscle.text.vocab import FIRST, START, Vocab

if TYPE_CHECKING:
    from corpuscle.align.loglinear import LogLinear

__all__ = ["KIND", "arrays_of", "restore"]

DIRECTIONS = ("forward", "backward")


def _size(loaded: Container, settings: LogLinearSettings, direction: int) -> int:
    """How many features a direction has."""
    arrays = loaded.arrays
    states, outputs = by_role((len(arrays["source/counts"]), len(arrays["target/counts"])), direction)
    couples, bigrams = len(arrays["couples/columns"]), len(arrays[f"bigrams/{DIRECTIONS[direction]}/columns"])
    user = len(arrays["user/names/offsets"]) - 1
    return Layout(settings.families, couples, bigrams, states, outputs, settings.classes, user).size


def _check(loaded: Container) -> None:
    settings, arrays = LogLinearSettings.restored(loaded.described), loaded.arrays
    for name in "function", "romaniser":
        if type(loaded.extra.get(name)) is not bool:
            raise ValueError(f"it does not say whether it had a {name}")
    check_rows(arrays, "couples")
    for d, direction in enumerate(DIRECTIONS):
        side = ("source", "target")[d]
        if arrays[f"classes/{side}"].max(initial=0) >= FIRST_CLASS + settings.classes:
            raise ValueError("a word has a class that is not there")
        starts, columns = arrays[f"bigrams/{direction}/row_starts"], arrays[f"bigrams/{direction}/columns"]
        if len(starts) != (len(arrays[f"{side}/counts"]) + 1 if "bigram" in settings.families else 1):
            raise ValueError("it has bigrams of other words")
        check_rows(arrays, f"bigrams/{direction}")
        if columns.max(initial=0) >= len(arrays[f"{side}/counts"]):
            raise ValueError("it has bigrams of other words")
        numbers = arrays[f"weights/{direction}/features"]
        if (np.diff(numbers) <= 0).any() or numbers.max(initial=-1) >= _size(loaded, settings, d):
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
        **LINKED,
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
    },
    check=_check,
)


def arrays_of(model: LogLinear) -> dict[str, np.ndarray]:
    """What a model file keeps of a log-linear model besides what it keeps of all models."""
    user = model.user_
    arrays = {
        "m1": model.m1_,
        "dice": model.dice_,
        "classes/source": model.classes_[0],
        "classes/target": model.classes_[1],
        **Vocab.from_words(user.names).arrays("user/names/"),
        **user.source_vocab.arrays("user/source/"),
        **user.target_vocab.arrays("user/target/"),
        "user/places": user.places,
        "user/values": user.values,
    }
    for d, direction in enumerate(DIRECTIONS):
        numbers = np.flatnonzero(model.weights_[d])
        arrays |= {
            f"m1/null/{direction}": model.null_m1_[d],
            f"bigrams/{direction}/row_starts": model.bigrams_[d].row_starts,
            f"bigrams/{direction}/columns": model.bigrams_[d].columns,
            f"weights/{direction}/features": numbers,
            f"weights/{direction}/values": model.weights_[d][numbers],
        }
    return arrays


def restore(model: LogLinear, loaded: Container) -> None:
    """Take from a file what ``arrays_of`` has written."""
    arrays = loaded.arrays
    model.m1_, model.dice_ = arrays["m1"], arrays["dice"]
    model.null_m1_ = arrays["m1/null/forward"], arrays["m1/null/backward"]
    model.classes_ = arrays["classes/source"], arrays["classes/target"]
    model.bigrams_ = couples_from(arrays, "bigrams/forward"), couples_from(arrays, "bigrams/backward")
    names = Vocab.from_arrays(arrays, "user/names/").strings[FIRST:]
    source, target = (Vocab.from_arrays(arrays, f"user/{side}/") for side in ("source", "target"))
    model.user_ = UserFeatures(names, source, target, arrays["user/places"], arrays["user/values"])
    weights = []
    for d, direction in enumerate(DIRECTIONS):
        dense = np.zeros(model.layout(d).size)
        dense[arrays[f"weights/{direction}/features"]] = arrays[f"weights/{direction}/values"]
        weights.append(dense)
    model.weights_ = weights[0], weights[1]
    model.missing_ = [f"a {name} of your own" for name in ("function", "romaniser") if loaded.extra[name]]
