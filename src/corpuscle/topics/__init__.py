"""Topics: language models that know what the document at hand is about.

- ``read_documents``, ``pick_documents``, ``document_bounds``: collections of documents.
"""

from typing import TYPE_CHECKING

from corpuscle.lazily import contents

if TYPE_CHECKING:
    from corpuscle.topics.documents import document_bounds, pick_documents, read_documents

__all__, __getattr__ = contents(__name__, {"documents": "document_bounds pick_documents read_documents"})
