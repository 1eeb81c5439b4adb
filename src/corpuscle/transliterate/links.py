"""Which letters of a name belong to which letters of its transliteration.

``joint`` cuts both sides together into small pieces and cannot cross (``kernels.joint``). The other aligners
are those of sentences (``corpuscle.align``), run in both directions and symmetrised, then repaired by two rules: no two
links cross, and no target letter stays without a link.

``LetterMap`` reads the simplest transliterator off such links: every letter becomes what it most often stands for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.align import lexical_weights
from corpuscle.align.settings import DEFAULT_SYMMETRISATION
from corpuscle.compiled import frozen
from corpuscle.engine.phrase_extraction import linked
from corpuscle.learning import Checkpoint, Kept, Learner
from corpuscle.settings import learned
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.pairs import Pair
from corpuscle.text.vocab import FIRST
from corpuscle.transliterate.base import Candidate
from corpuscle.transliterate.kernels import joint
from corpuscle.transliterate.kernels.joint import attach_targets, uncross
from corpuscle.transliterate.preparation import prepare
from corpuscle.transliterate.settings import ALIGNER, RULES, SpellingSettings

SHAPE_PRIOR = np.array([0.5, 0.2, 0.2, 0.05, 0.04, 0.01])
"""The probability of each shape of ``joint.SHAPES`` before EM: letters seldom vanish."""


class JointEM(Kept, Learner):
    """EM of the joint aligner: ``probability`` float64 (n_pieces,); a row of its history is the log-likelihood."""

    KEEPS: ClassVar[tuple[str, ...]] = ("probability",)

    def __init__(self, grid: joint.Grid):
        self.grid, self.probability = grid, joint.start(grid, SHAPE_PRIOR)

    def finish(self, sweep: int) -> float:
        counts, likelihood = joint.expectation(self.grid, self.probability)
        self.probability = counts / counts.sum()
        return likelihood


def align_letters(
    bitext: Bitext,
    aligner: str = "joint",
    passes: int = 10,
    symmetrise: str = DEFAULT_SYMMETRISATION,
    rules: Sequence[str] = RULES,
    checkpoint: Checkpoint | None = None,
    **work: Any,
) -> Alignments:
    """Align the letters of name pairs. Only the joint aligner keeps unfinished work in a ``checkpoint``;
    ``symmetrise``, ``rules`` and ``work`` (``workers``, ``cluster``) are for the others."""
    if aligner == "joint":
        source, target = bitext.source, bitext.target
        grid = joint.grid(
            source.tokens - FIRST + 1, source.sentence_starts, target.tokens - FIRST + 1, target.sentence_starts
        )
        em = JointEM(grid)
        (checkpoint or Checkpoint()).run(em, passes, lasting=True, title="letters")
        return _attached(*joint.links(grid, em.probability), bitext)
    from corpuscle.align import align_pairs

    return repair(align_pairs(bitext, aligner, symmetrise, passes=passes, **work).sorted(), bitext, rules)


def _attached(links: np.ndarray, starts: np.ndarray, bitext: Bitext) -> Alignments:
    names = linked(links, starts, bitext.source.sentence_starts, bitext.target.sentence_starts)
    links, starts = attach_targets(names)
    return Alignments(links, starts, np.ones(len(links), bool))


def repair(alignments: Alignments, bitext: Bitext, rules: Sequence[str] = RULES) -> Alignments:
    """First ``uncross``, which keeps most links, among equals those of frequent pairs; then ``attach``."""
    source, target = bitext.source, bitext.target
    if "uncross" in rules:
        letters, pairs = lexical_weights(bitext, alignments, np.ones(len(bitext))), alignments.pairs
        f = source.tokens[source.sentence_starts[pairs] + alignments.links[:, 0]].astype(np.int64)
        e = target.tokens[target.sentence_starts[pairs] + alignments.links[:, 1]]
        where = np.searchsorted(letters.keys, f * letters.n_targets + e)
        names = linked(alignments.links, alignments.starts, source.sentence_starts, target.sentence_starts)
        alignments = alignments.filtered(
            uncross(names, frozen(letters.forward[where] * letters.backward[where], np.float64))
        )
    return _attached(alignments.links, alignments.starts, bitext) if "attach" in rules else alignments


class LetterMap(SpellingSettings):
    """A map from source letters to target strings, after an alignment that leaves no target letter out.

    Learned: ``map_``, a dict. An unseen letter is left out.
    """

    aligner: str = ALIGNER

    map_: dict[str, str] = learned()

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Count what is linked to each letter; the most frequent string wins, of equally frequent ones the first."""
        words = prepare(pairs, self.spelling).words
        sources = [self.spelling.symbols(word.source) for word in words]
        targets = [self.spelling.symbols(word.targets[0]) for word in words]
        bitext = Bitext(Corpus.from_sentences(sources), Corpus.from_sentences(targets))
        alignments = align_letters(bitext, self.aligner)
        counts: dict[str, Counter[str]] = {}
        links, starts = alignments.links.tolist(), alignments.starts.tolist()
        for source, target, (first, last) in zip(sources, targets, pairwise(starts), strict=True):
            written = [""] * len(source)
            for i, j in links[first:last]:
                written[i] += target[j]
            for letter, string in zip(source, written, strict=True):
                counts.setdefault(letter, Counter())[string] += 1
        self.map_ = {letter: found.most_common(1)[0][0] for letter, found in counts.items()}
        return self

    def transliterate(self, names: Iterable[str]) -> list[list[Candidate]]:
        """One candidate per name, with score 0; an empty name has none."""
        result = []
        for name in names:
            words = self.spelling.normal(name).split()
            written = ["".join(self.map_.get(letter, "") for letter in self.spelling.symbols(word)) for word in words]
            result.append([Candidate(" ".join(written), 0.0)] if words else [])
        return result
