"""What the features of the log-linear model are called, for those who want to see what was learned.

A name is its block and what it is about: ``pair house maison`` (the word that generates comes first), ``jump +6..7``,
``classpair c12 c4``. ``<null>`` is the null word, ``<s>`` and ``</s>`` are the ends of a sentence, ``c?`` is the class
of words without one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corpuscle.align.features import DICE_EDGES, ORTHO_EDGES, Layout, log_bins
from corpuscle.align.kernels.cooccurrence import Couples
from corpuscle.align.kernels.loglinear import BINS, FIRST_CLASS
from corpuscle.align.tables import rows_of
from corpuscle.text.vocab import Vocab

__all__ = ["feature_names"]

_CLASSES = ("c?", "<s>", "</s>", "<null>")
_MODEL1 = ("p(t|x)", "p(x|t)", "sqrt(p(t|x)p(x|t))")


def _class(number: int) -> str:
    return _CLASSES[number] if number < FIRST_CLASS else f"c{number - FIRST_CLASS}"


def _ranges() -> list[str]:
    """The lengths of each bin."""
    bins = log_bins(1000)[1:]
    found = [np.flatnonzero(bins == k) + 1 for k in range(BINS)]
    shown = [f"{each[0]}..{each[-1]}" if len(each) > 1 else "".join(map(str, each)) for each in found]
    return [*shown[:-1], f"{found[-1][0]}.."]


_LENGTHS = _ranges()


def _jump(kind: int) -> str:
    if kind == 0:
        return "S"
    return ("+" if kind <= BINS else "-") + _LENGTHS[(kind - 1) % BINS]


def feature_names(
    layout: Layout,
    numbers: np.ndarray,
    states: Vocab,
    outputs: Vocab,
    couples: Couples,
    bigrams: Couples,
    user: list[str],
    swap: bool,
) -> list[str]:
    """The names of some features, given by number; ``couples`` are source by source, ``swap`` if states are targets."""
    c = layout.all_classes
    heads = [rows_of(table).tolist() for table in (couples, bigrams)]

    def pair(k: int) -> str:
        x, t = heads[0][k], int(couples.columns[k])
        return f"{states.word(t)} {outputs.word(x)}" if swap else f"{states.word(x)} {outputs.word(t)}"

    def edge(k: int) -> str:
        kind, x = divmod(k, layout.states)
        if kind == 4:
            return ("<null> <null>", "<null> </s>", "<s> <null>")[x]
        word = states.word(x)
        return (f"{word} <null>", f"{word} </s>", f"<null> {word}", f"<s> {word}")[kind]

    describe: dict[str, Callable[[int], str]] = {
        "pair": pair,
        "pair_null": lambda k: f"<null> {outputs.word(k)}",
        "source": lambda k: "<null>" if k == layout.states else states.word(k),
        "source_class": _class,
        "identity_length": lambda k: str(k),
        "ortho": lambda k: f"{ORTHO_EDGES[k]:.1f}",
        "dice": lambda k: f"{DICE_EDGES[k]:g}",
        "m1": lambda k: _MODEL1[k],
        "m1log": lambda k: "log p(t|x)",
        "classpair": lambda k: f"{_class(k // c)} {_class(k % c)}",
        "diag_class": _class,
        "jump": _jump,
        "jump_length": lambda k: f"{_jump(k // BINS)} {_LENGTHS[k % BINS]}",
        "jump_class": lambda k: f"{_jump(k // c)} {_class(k % c)}",
        "jump_classes": lambda k: f"{_jump(k // c // c)} {_class(k // c % c)} {_class(k % c)}",
        "bigram": lambda k: f"{states.word(heads[1][k])} {states.word(int(bigrams.columns[k]))}",
        "bigram_edge": edge,
        "bigram_classes": lambda k: f"{_class(k // c)} {_class(k % c)}",
        "nulljump": lambda k: ("word word", "word <null>", "<null> word", "<null> <null>")[k],
        "user": lambda k: user[k],
    }
    names = {}
    for block, (start, size) in layout.blocks.items():
        for number in numbers[(numbers >= start) & (numbers < start + size)].tolist():
            more = describe[block](number - start) if block in describe else ""
            names[number] = f"{block} {more}".rstrip()
    return [names[number] for number in numbers.tolist()]
