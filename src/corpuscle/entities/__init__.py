"""Entities: mentions of people, places, disorders in text, also those that have gaps or share words.

- ``Documents``: texts with mentions and all that is known of their tokens; ``read_documents``: of any format;
- ``CrfTagger``: a conditional random field, learned from annotated documents;
- ``DictionaryTagger``: the longest strings that were mentions before;
- ``Dictionary``, ``read_dictionary``: entries as features;
- ``Tagged``: what a tagger found, with its confidence; ``Guess``: what else it may be; ``Feature``: a heavy feature;
- ``draw_documents``: a page of texts with their mentions.

``fit(documents)``, ``tag``, ``guesses``, ``annotate``, ``save``.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.entities.base import EntityTagger, Guess, Tagged
    from corpuscle.entities.crf import CrfTagger
    from corpuscle.entities.dictionary import Dictionary, DictionaryTagger, read_dictionary
    from corpuscle.entities.documents import Documents, read_documents
    from corpuscle.entities.inspection import Feature, draw_documents
    from corpuscle.entities.verbs import warm

__all__, __getattr__, __dir__ = contents(__name__, __file__)
