"""Topics: language models that know what the document at hand is about.

- ``RescalingModel``: a Pitman-Yor language model bent towards the topics of latent Dirichlet allocation;
- ``TopicModel``: what all models of this task can do;
- ``read_documents``, ``pick_documents``, ``document_bounds``: collections of documents.
"""

from typing import TYPE_CHECKING

from corpuscle.lazily import contents

if TYPE_CHECKING:
    from corpuscle.topics.base import TopicModel
    from corpuscle.topics.documents import document_bounds, pick_documents, read_documents
    from corpuscle.topics.rescaling import RescalingModel

__all__, __getattr__ = contents(
    __name__,
    {
        "base": "TopicModel",
        "documents": "document_bounds pick_documents read_documents",
        "rescaling": "RescalingModel",
    },
)
