"""The methods of word alignment by name, and what can be done with any of them in one call."""

from __future__ import annotations

from typing import Any

from corpuscle.align.settings import DEFAULT_SYMMETRISATION
from corpuscle.catalogue import TASKS, find
from corpuscle.errors import SettingError
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext

__all__ = ["DEFAULT_METHOD", "METHODS", "align_pairs", "learner", "warm", "warm_defaults"]

METHODS = tuple(TASKS["align"].methods)
DEFAULT_METHOD = METHODS[0]


def learner(method: str = DEFAULT_METHOD, **settings: Any) -> Any:
    """An aligner that has learned nothing yet."""
    if method not in METHODS:
        raise SettingError(f"the method is one of {', '.join(METHODS)}, not {method!r}")
    return find(TASKS["align"].methods[method].learner)(**settings)


def align_pairs(
    bitext: Bitext, method: str = DEFAULT_METHOD, symmetrise: str = DEFAULT_SYMMETRISATION, **settings: Any
) -> Alignments:
    """Learn from a bitext and align it: both directions, symmetrised. Tokens may be words, characters or anything."""
    return learner(method, **settings).fit(bitext).align(bitext, symmetrise)


def warm() -> None:
    """Compile the kernels of this task by running them on a tiny bitext."""
    _warm(METHODS)


def warm_defaults() -> None:
    """Compile what the default method needs, and the hidden Markov model, which knows likelihoods."""
    _warm(("hmm", DEFAULT_METHOD))


def _warm(methods: tuple[str, ...]) -> None:
    from corpuscle.align.nbest import n_best
    from corpuscle.measure.links import alignment_error
    from corpuscle.text.corpus import Corpus
    from corpuscle.text.plain import warm as warm_text

    warm_text()
    bitext = Bitext(Corpus.from_sentences([["a", "b"], ["b"]]), Corpus.from_sentences([["x", "y"], ["y"]]))
    models = {method: learner(method, passes=2, workers=1).fit(bitext) for method in methods}
    for model in models.values():
        links = model.align(bitext)
        model.matrix(bitext)
    alignment_error(links, links, draws=2)
    hmm = models["hmm"]
    hmm.replace().fit(bitext, base=hmm)
    list(n_best(hmm, bitext, 2, 0))
