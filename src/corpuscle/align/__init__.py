"""Word alignment: which words of a sentence translate which words of its translation, learned from sentence pairs.

- ``Model1``, ``Diagonal``, ``HMM``, ``Fertility``, ``LogLinear``: the methods, each of them an ``Aligner``;
- ``load``: a saved model of any method; ``read_features``: a table of features for ``LogLinear``;
- ``align_pairs``: links of a bitext in one call; ``n_best``: the most probable alignments of one direction;
- ``symmetrise``: one alignment from those of two directions.
"""

from __future__ import annotations

import inspect
from os import PathLike
from typing import Any

from corpuscle.align.base import DECODINGS, DEFAULT_SYMMETRISATION, MATRICES, Aligner
from corpuscle.align.features_user import read_features
from corpuscle.align.fertility import Fertility
from corpuscle.align.loglinear import LogLinear
from corpuscle.align.models import HMM, Diagonal, Model1
from corpuscle.align.nbest import n_best
from corpuscle.align.symmetrise import SYMMETRISATIONS, symmetrise
from corpuscle.errors import SettingError
from corpuscle.model import read
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext

__all__ = [
    "DECODINGS",
    "DEFAULT_METHOD",
    "DEFAULT_SYMMETRISATION",
    "HMM",
    "MATRICES",
    "METHODS",
    "SYMMETRISATIONS",
    "Aligner",
    "Diagonal",
    "Fertility",
    "LogLinear",
    "Model1",
    "align_pairs",
    "learner",
    "load",
    "n_best",
    "read_features",
    "symmetrise",
    "warm",
    "warm_defaults",
]

METHODS: dict[str, Any] = {
    "ibm1": Model1,
    "diagonal": Diagonal,
    "hmm": HMM,
    "fertility": Fertility,
    "loglinear": LogLinear,
}
"""Method -> its class."""

DEFAULT_METHOD = "fertility"


def learner(method: str = DEFAULT_METHOD, **settings: Any) -> Any:
    """An aligner that has learned nothing yet."""
    if method not in METHODS:
        raise SettingError(f"the method is one of {', '.join(METHODS)}, not {method!r}")
    known = set(inspect.signature(METHODS[method]).parameters)
    for name in settings.keys() - known:
        raise SettingError(f"{name} means nothing with the method {method}")
    return METHODS[method](**settings)


def load(path: str | PathLike[str]) -> Aligner:
    """A saved model of any method, and of no other task."""
    container = read(path, (Aligner.KIND, LogLinear.KIND))
    home: Any = LogLinear if container.kind == LogLinear.KIND.name else Aligner
    return home.from_container(container)


def align_pairs(
    bitext: Bitext, method: str = DEFAULT_METHOD, symmetrise: str = DEFAULT_SYMMETRISATION, **settings: Any
) -> Alignments:
    """Learn from a bitext and align it: both directions, symmetrised. Tokens may be words, characters or anything."""
    return learner(method, **settings).fit(bitext).align(bitext, symmetrise)


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny bitext."""
    _warm(tuple(METHODS))


def warm_defaults() -> None:
    """Compile what the default method needs, and the hidden Markov model, which knows likelihoods."""
    _warm(("hmm", DEFAULT_METHOD))


def _warm(methods: tuple[str, ...]) -> None:
    from corpuscle.text.corpus import Corpus

    bitext = Bitext(Corpus.from_sentences([["a", "b"], ["b"]]), Corpus.from_sentences([["x", "y"], ["y"]]))
    for method in methods:
        model = learner(method, iterations=2, workers=1).fit(bitext)
        model.align(bitext)
        model.matrix(bitext)
