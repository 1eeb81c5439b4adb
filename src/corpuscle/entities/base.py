"""What all entity taggers can do: read documents, find mentions in them, say how sure they are."""

from __future__ import annotations

import dataclasses
from itertools import count
from typing import ClassVar, NamedTuple

import numpy as np

from corpuscle.entities.documents import Documents, read_documents
from corpuscle.entities.settings import DocumentSettings
from corpuscle.errors import SettingError
from corpuscle.model import Model
from corpuscle.text.mention_tags import TokenMention
from corpuscle.text.standoff import Attribute, Mention, Standoff


class Guess(NamedTuple):
    """A set of mentions that a sentence may have, and how likely it is."""

    mentions: tuple[TokenMention, ...]
    probability: float


class Tagged(NamedTuple):
    """What a tagger found: ``mentions`` of each sentence, how likely each is (``confidence``), and how sure the tag of
    each token is (``by_token``, of each sentence a float64 (n_tokens,))."""

    mentions: list[list[TokenMention]]
    confidence: list[list[float]]
    by_token: list[np.ndarray]

    @property
    def surest(self) -> np.ndarray:
        """How sure the least sure token of each sentence is, float64 (n_sentences,)."""
        return np.array([sure.min(initial=1.0) for sure in self.by_token])


class EntityTagger(DocumentSettings, Model):
    """A tagger: ``fit(documents)``, ``tag``, ``annotate``. ``HAS_FEATURES``: whether ``fit`` also takes what is known
    of words, ``sources`` and ``dictionary``."""

    HAS_FEATURES: ClassVar[bool] = False

    def read(self, *paths: str, format: str | None = None) -> Documents:
        """Files as documents, read as the settings say."""
        return read_documents(
            *paths, format=format, columns=self.columns or None, source=self.source, line_breaks=self.line_breaks,
            skip_faulty=self.skip_faulty,
        )  # fmt: skip

    @property
    def types(self) -> list[str]:
        """The types of the mentions that it knows."""
        raise TypeError(f"{type(self).__name__} has no types")

    def tag(self, documents: Documents) -> Tagged:
        """The mentions in documents."""
        raise TypeError(f"{type(self).__name__} cannot tag")

    def guesses(self, documents: Documents, nbest: int) -> list[list[Guess]]:
        """For each sentence, what its ``nbest`` best labellings say."""
        raise SettingError(f"a model of kind {self.KIND.name} knows one labelling of a sentence, not the best few")

    def annotate(self, documents: Documents, *, confidence: bool = False) -> list[Standoff]:
        """The documents with the mentions that were found; ``confidence``: how likely each is, as an attribute."""
        tagged = self.tag(documents)
        texts = documents.annotated(tagged.mentions)
        if not confidence:
            return texts
        sure = iter([value for sentence in tagged.confidence for value in sentence])

        def with_confidence(mention: Mention, number: int) -> Mention:
            noted = Attribute("Confidence", f"{next(sure):.3f}", f"A{number}")
            return dataclasses.replace(mention, attributes=(noted,))

        return [
            dataclasses.replace(text, mentions=tuple(map(with_confidence, text.mentions, count(1)))) for text in texts
        ]
