"""Which letters of a name belong to which letters of its transliteration.

``joint`` cuts both sides together into small units and cannot cross (``kernels.joint``). The other aligners
are those of sentences (``corpuscle.align``), run in both directions and symmetrised, then repaired by two rules: no two
links cross, and no target letter stays without a link.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corpuscle.align.settings import DEFAULT_SYMMETRISATION
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.vocab import FIRST
from corpuscle.transliterate.kernels import joint
from corpuscle.transliterate.kernels.phrases import attach_targets, uncross
from corpuscle.transliterate.table import letter_weights

__all__ = ["align_letters", "repair"]

SHAPE_PRIOR = np.array([0.5, 0.2, 0.2, 0.05, 0.04, 0.01])
"""How much of the probability each shape of ``joint.SHAPES`` has before EM: letters seldom vanish."""


def align_letters(
    bitext: Bitext,
    aligner: str = "joint",
    iterations: int = 10,
    symmetrise: str = DEFAULT_SYMMETRISATION,
    heuristics: bool = True,
    **work: Any,
) -> Alignments:
    """Align the letters of name pairs. ``symmetrise``, ``heuristics`` and ``work`` (``workers``, ``cluster``) do not
    concern the joint aligner."""
    if aligner == "joint":
        source, target = bitext.source, bitext.target
        grid = joint.grid(
            source.tokens - FIRST + 1, source.sentence_starts, target.tokens - FIRST + 1, target.sentence_starts
        )
        probability, _ = joint.learn(grid, iterations, SHAPE_PRIOR)
        return _attached(*joint.links(grid, probability), bitext)
    from corpuscle.align import align_pairs

    found = align_pairs(bitext, method=aligner, symmetrise=symmetrise, iterations=iterations, **work).sorted()
    return repair(found, bitext) if heuristics else found


def _attached(links: np.ndarray, starts: np.ndarray, bitext: Bitext) -> Alignments:
    links, starts = attach_targets(links, starts, bitext.source.lengths, bitext.target.lengths)
    return Alignments(links, starts, np.ones(len(links), bool))


def repair(alignments: Alignments, bitext: Bitext) -> Alignments:
    """The two rules. Of crossing links as many as possible stay, then those of letters that often belong together."""
    letters = letter_weights(bitext, alignments, np.ones(len(bitext)))
    pairs = alignments.pairs
    f = bitext.source.tokens[bitext.source.sentence_starts[pairs] + alignments.links[:, 0]].astype(np.int64)
    e = bitext.target.tokens[bitext.target.sentence_starts[pairs] + alignments.links[:, 1]]
    where = np.searchsorted(letters.keys, f * letters.n_targets + e)
    keep = uncross(alignments.links, alignments.starts, letters.forward[where] * letters.backward[where])
    starts = np.zeros(len(alignments.starts), np.int64)
    np.cumsum(np.bincount(pairs[keep], minlength=len(alignments)), out=starts[1:])
    return _attached(alignments.links[keep], starts, bitext)
