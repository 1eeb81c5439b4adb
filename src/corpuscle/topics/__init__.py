"""Topics: language models that know what the document at hand is about.

- ``NgramTopicModel``: Pitman-Yor language models whose words choose topics: HPYLM, HPYTM, HIERARCHICAL, SWITCHING;
- ``RescalingModel``: a Pitman-Yor language model bent towards the topics of latent Dirichlet allocation;
- ``DocumentReader``: what comes next in a document that is being written;
- ``summaries``, ``global_summary``, ``contexts``, ``mark``: topics with phrases, what they share, how topical contexts
  are, the topical words of a text;
- ``TopicModel``: what all models of this task can do;
- ``read_documents``, ``pick_documents``, ``split_documents``, ``document_bounds``: collections of documents.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.topics.base import TopicModel, document_bounds, pick_documents, read_documents, split_documents
    from corpuscle.topics.inspection import contexts, document_topics, global_summary, mark, summaries
    from corpuscle.topics.ngram import DocumentReader, NgramTopicModel
    from corpuscle.topics.rescaling import RescalingModel
    from corpuscle.topics.verbs import warm, warm_defaults

__all__, __getattr__, __dir__ = contents(__name__, __file__)
