"""What the verbs of word classes, word vectors and meaning share: their texts, what words tell other tasks, warming."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

from corpuscle.errors import InputError, SettingError
from corpuscle.verbs import File, Input, a_model, annotated, made_by, path, setting, text, treebank

if TYPE_CHECKING:
    from corpuscle.text import Corpus, Treebank
    from corpuscle.words import Forest, WordFeatures

__all__ = [
    "ANNOTATION", "how_many", "no_raw", "of_data", "read_features", "read_text_or_bank", "read_words",
    "warm", "word_features", "words_of_a_text",
]  # fmt: skip


def how_many(help: str, default: Any = 10, **facts: Any) -> Any:
    """A setting that counts something: from 1 on."""
    return setting(help, default=default, low=1, high=10**9, **facts)


_BANK: Any = annotated()
ANNOTATION = _BANK.options
"""What makes a treebank of a text."""


def no_raw(raw: bool) -> None:
    """Files are sentences already, unless a treebank is made of them."""
    if raw:
        raise SettingError("--raw is for text that is tagged or parsed first: with --tagger or --parser")


def words_of_a_text(*options: str, **facts: Any) -> Any:
    """Texts or treebanks as a learner or a model of classes reads them; ``options``: those of ``ANNOTATION``."""
    return made_by("corpuscle.words.verbs:read_words", many=True, options={o: ANNOTATION[o] for o in options}, **facts)


def read_words(
    value: Any, model: Any, declared: Input, *, raw: bool = False, tagger: Any = None, parser: Any = None
) -> Corpus | Forest:
    """Files, or what else a text can be, as a model of classes reads them, tagged or parsed first if that is asked
    for."""
    from corpuscle.text.inputs import check_filled
    from corpuscle.words import Forest, forest_of

    files = value if isinstance(value, tuple) and all(isinstance(each, File) for each in value) else (value,)
    if tagger is not None or parser is not None:
        banks = [_BANK.read(file, raw=raw, tagger=tagger, parser=parser) for file in files]
        found = Forest.joined([forest_of(bank, model.structure, model.layer, model.preprocessing) for bank in banks])
    elif isinstance(value, Forest):
        found = value
    elif all(isinstance(file, str | PathLike) for file in files):
        no_raw(raw)
        found = model.read(*files)
    else:
        found = text().read(value, model, raw=raw)
    check_filled(declared, found, value)
    return found


def read_text_or_bank(
    value: Any, model: Any, declared: Input, *, raw: bool, tagger: Any, parser: Any
) -> Corpus | Treebank:
    """A treebank (a file of that name, stdin where the model has learned from trees, or a text that is tagged or parsed
    first), or else a text in the ids of the model."""
    from corpuscle.text import Treebank
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.inputs import text as read_text

    a_file = isinstance(value, str | PathLike)
    is_bank = a_file and (is_treebank(value) or (str(value) == "-" and model.structure == "tree"))
    if tagger is not None or parser is not None or is_bank or isinstance(value, Treebank):
        return _BANK.read(value, raw=raw, tagger=tagger, parser=parser)
    return read_text(value, model, declared, raw=raw, vocab=model.vocab_)


@contextmanager
def of_data() -> Iterator[None]:
    """Complaints about values are complaints about the data that they were read from."""
    try:
        yield
    except ValueError as error:
        raise InputError(None, None, str(error)) from None


# ---- what words tell other tasks


def word_features(*methods: str) -> Any:
    """``--class-model`` and ``--vectors``: word classes and vectors as features of words; ``methods``: of a training,
    those that have features."""
    classes = "Take the classes of words in this model as features."
    vectors = "Take clusters of word vectors as features: a model of vectors train, or .txt."
    options = {
        "class_model": a_model("classes", "words.exchange", "words.brown", help=classes, option=True, methods=methods),
        "vectors": path(vectors, option=True, methods=methods),
    }
    return made_by("corpuscle.words.verbs:read_features", default=None, options=options, only_options=True)


def read_features(value: Any, model: Any, declared: Input, *, class_model: Any, vectors: Any) -> WordFeatures:
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


# ---- compiling ahead


def warm() -> None:
    """Compile the kernels of classes, vectors and meaning by learning from a few words."""
    import numpy as np

    from corpuscle.catalogue import TASKS, find
    from corpuscle.text import Corpus
    from corpuscle.text import warm as warm_text
    from corpuscle.text.pairs import ScoredPair
    from corpuscle.words import BrownClasses, ExchangeClasses, HmmClasses, LrmvlVectors
    from corpuscle.words.kernels import brown, exchange

    warm_text()
    corpus = Corpus.from_sentences([["a", "b", "a"], ["c", "b"]])
    for start in "best", "random":
        ExchangeClasses(classes=2, passes=1, start=start, workers=1).fit(corpus)
    BrownClasses(classes=2, workers=1).fit(corpus)
    model = HmmClasses(classes=2, passes=1, workers=1).fit(corpus)
    model.apply(corpus)
    model.evaluate(corpus)
    model.draw(corpus)
    near = exchange.neighbours_of(exchange.count_pairs(np.array([[2, 0, 1], [0, 1, 1]]), 2))
    table = exchange.class_counts(near, np.arange(2), 2)
    proposals = np.zeros(2, np.int32)
    exchange.propose(near, table, 0, 2, proposals)
    exchange.settle(near, table, 0, 2, proposals)
    brown.filled_window(near, np.arange(2, dtype=np.int32), 3)
    corpus = Corpus.from_sentences([["the", "cat", "sat"], ["a", "cat", "ran"], ["the", "dog", "sat", "there"]] * 2)
    more = Corpus.from_sentences([["the", "bird", "sat"]])
    for method in TASKS["vectors"].methods.values():
        learner = find(method.learner)
        passes = {"passes": 1} if learner is LrmvlVectors else {}
        vectors = learner(dimensions=2, min_count=1, workers=1, **passes).fit(corpus)
        vectors.apply(more)
    vectors.similarity([ScoredPair("cat", "dog", 1.0), ScoredPair("the", "sat", 0.0)], draws=1)
