"""What all translators share: translations, the pairs they can learn from, links between words, what is held out."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np

from corpuscle.align import learner
from corpuscle.errors import warn
from corpuscle.learning import Checkpoint
from corpuscle.model import Kind, Model
from corpuscle.random import Random
from corpuscle.settings import Seeded
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.heldout import item_hashes
from corpuscle.text.settings import TextSettings

Links = Alignments | Sequence[Alignments]
"""The links of all pairs, by one aligner or by several."""

FEWEST, FEW = 10, 2000
"""With fewer pairs there is nothing to learn; with few the result is poor."""

LONGEST = 100
"""Pairs with a longer side are not learned from."""


class Translation(NamedTuple):
    """A translation, its words separated by spaces; and its score, comparable within one sentence only."""

    target: str
    score: float


def each_of(links: Links) -> list[Alignments]:
    """The links of each aligner."""
    return [links] if isinstance(links, Alignments) else list(links)


class Translator(TextSettings, Seeded, Model):
    """The base of translators.

    ``NEURAL``: whether it is made of networks; ``MEANINGLESS``: options that mean nothing to it, and why.
    """

    aligner: str
    symmetrise: str
    NEURAL: ClassVar[bool]
    MEANINGLESS: ClassVar[Mapping[str, str]]

    @abstractmethod
    def translate(self, *given: Any, **how: Any) -> list[list[Translation]]:
        """The ``n_best`` translations of each sentence of a ``text``, best first; an empty sentence has none."""

    def best(self, text: Corpus, **how: Any) -> list[str]:
        """The best translation of each sentence; an empty sentence has an empty one. ``how``: as for ``translate``."""
        return [ranked[0].target if ranked else "" for ranked in self.translate(text, **how)]

    @abstractmethod
    def summary(self) -> tuple[dict[str, Any], str]:
        """What there is to say about a new model: figures, and words."""

    @abstractmethod
    def _unfinished(self) -> Kind:
        """What a file of unfinished training holds."""

    def checkpoint(
        self, bitext: Bitext, dev: Bitext | None, links: Links | None, path: str | PathLike[str], resume: bool = False
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        return Checkpoint(path, self._unfinished(), self.settings, self.signature(bitext, dev, links), resume=resume)

    @staticmethod
    def _usable(bitext: Bitext) -> np.ndarray:
        """The numbers of the pairs that can be learned from, int64."""
        lengths = np.column_stack([bitext.source.lengths, bitext.target.lengths])
        usable = np.flatnonzero(((lengths > 0) & (lengths <= LONGEST)).all(axis=1))
        if len(usable) < FEWEST:
            which = f"sentence pairs of 1 to {LONGEST} words"
            raise bitext.error(f"only {len(usable)} {which}; at least {FEWEST} are needed")
        if len(usable) < FEW:
            warn(f"only {len(usable)} sentence pairs: expect a poor draft; ten thousand make a useful one")
        return usable

    def _held_out(self, usable: np.ndarray, most: int) -> np.ndarray:
        """A seeded tenth of the pairs, at most ``most``."""
        count = max(1, min(len(usable) // 10, most))
        return np.sort(Random(self.seed, "translate/held out").shuffled(usable.tolist())[:count])

    @staticmethod
    def _development(pairs: Bitext, purpose: str) -> Bitext:
        """The development pairs of which neither side is empty."""
        kept = np.flatnonzero((pairs.source.lengths > 0) & (pairs.target.lengths > 0))
        if not len(kept):
            raise pairs.error(f"the development pairs are empty, and there is nothing to {purpose} on")
        return pairs.select(kept)

    def _remember(
        self, bitext: Bitext, tuning: Bitext, dev: Bitext | None, links: Links | None, **figures: int
    ) -> None:
        """Keep hashes of the sentences, and the provenance of the model, ``figures`` included."""
        self.items_, self.tuning_items_ = item_hashes(bitext.source), item_hashes(tuning.source)
        signature = self.signature(bitext, dev, links)
        self.provenance_ = {"sentence_pairs": len(bitext), **figures, "signature": signature}

    def _align(self, bitext: Bitext) -> Alignments:
        model = learner(self.aligner, workers=self.workers, cluster=self.cluster)
        if "seed" in model.settings:
            model = model.replace(seed=self.seed)
        return model.fit(bitext).align(bitext, self.symmetrise).sorted()

    @staticmethod
    def signature(bitext: Bitext, dev: Bitext | None, links: Links | None) -> str:
        """A hash of the training and development pairs and of the links."""
        digest = hashlib.blake2b(digest_size=16)
        for pairs in bitext, dev:
            for side in () if pairs is None else (pairs.source, pairs.target):
                digest.update(side.signature().encode())
            digest.update(b"\0")
        for own in () if links is None else each_of(links):
            digest.update(own.links.tobytes() + own.starts.tobytes())
        return digest.hexdigest()
