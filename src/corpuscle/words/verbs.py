"""What words tell other tasks: an input of their verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.verbs import Input, a_model, path

if TYPE_CHECKING:
    from corpuscle.words import WordSources

__all__ = ["read_features", "word_features"]


def word_features() -> Any:
    """``--class-model`` and ``--vectors``: word classes and vectors as features of words."""
    classes = "Take the classes of words in this model as features."
    vectors = "Take clusters of word vectors as features: a model of vectors train, or .txt."
    options = {
        "class_model": a_model("classes", "words.exchange", "words.brown", help=classes, option=True),
        "vectors": path(vectors, option=True),
    }
    return Input("corpuscle.words.verbs:read_features", default=None, options=options, only_options=True)


def read_features(value: Any, model: Any, declared: Input, *, class_model: Any, vectors: Any) -> WordSources:
    """What word classes and word vectors, a model of ours or word2vec text, say of words."""
    from corpuscle.text import read_vectors
    from corpuscle.words import class_sources, joint_sources, vector_sources

    if value is not None:
        return value
    found = [] if class_model is None else [class_sources(class_model)]
    if isinstance(vectors, str) and vectors.endswith((".txt", ".vec", ".txt.gz", ".vec.gz")):
        found.append(vector_sources(*read_vectors(vectors), model.seed))
    elif vectors is not None:
        learned = a_model("vectors").read(vectors)
        found.append(vector_sources(learned.vocab_, learned.vectors_, model.seed))
    return joint_sources(*found)
