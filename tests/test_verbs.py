"""Every verb of every model takes a path, a list of strings, a list of lists of words, or what they stand for."""

import dataclasses
import inspect
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import corpuscle
from corpuscle.catalogue import TASKS
from corpuscle.errors import CorpuscleError
from corpuscle.model.base import READERS, reader_of
from corpuscle.text import Bitext, Corpus, Treebank, read_conllu
from tests.tiny_models import FOLDER, TREES

KINDS = [kind for task in TASKS.values() for kind in task.kinds if kind not in ("align.matrix", "metric.model")]
"""A matrix has no verbs, and a metric works on vectors."""
LINES = ["the cat sees the dog", "a bird sings", "the dog sings"]
SOURCES, TARGETS = ["das haus", "ein kleines buch"], ["the house", "a small book"]
BRACKETS = ["(S (NP (DT the) (NN cat)) (VP (VBZ sings)))", "(S (NP (NNP Ann)) (VP (VBZ sings)))"]
NOT_VERBS = {"fit", "checkpoint", "cut", "map", "prepared", "encoded", "signature", "chain"}
"""Learning, and the steps of it."""


def verbs(model):
    """The methods of a model that need one text and nothing else: name and what kind of text."""
    for name, method in inspect.getmembers(type(model), inspect.isfunction):
        if not name.startswith("_") and name not in NOT_VERBS:
            parameters = list(inspect.signature(method).parameters.values())[1:]
            needed = [each for each in parameters if each.default is each.empty and each.kind < each.VAR_POSITIONAL]
            if len(needed) == 1 and (place := READERS.get(reader_of(needed[0]))) is not None:
                yield name, place.rpartition(":")[2]


def forms(kind, folder):
    """A text as what a verb works on, and in all the forms in which it may be given."""
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in LINES))
    (folder / "pairs.txt").write_text("".join(f"{s} ||| {t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)))
    (folder / "trees.mrg").write_text("".join(f"{line}\n" for line in BRACKETS))
    words = [line.split() for line in LINES]
    corpus = Corpus.from_sentences(words)
    usual = [str(folder / "text.txt"), folder / "text.txt", LINES, words, corpus]
    sides = [(side, [line.split() for line in side]) for side in (SOURCES, TARGETS)]
    both = [Corpus.from_sentences(split) for _, split in sides]
    pairs = list(zip(SOURCES, TARGETS, strict=True))
    (folder / "trees.conllu").write_text(TREES)
    return {
        "corpus": usual,
        "treebank": [*usual, Treebank.from_sentences(words)],
        "tagged": [str(folder / "trees.conllu"), folder / "trees.conllu", read_conllu(folder / "trees.conllu")],
        "messages": usual,
        "given": usual[2:],  # documents: a file is one document, each string is one
        "bitext": [Bitext(*both), str(folder / "pairs.txt"), pairs, tuple(both), (SOURCES, TARGETS)],
        "trees": [str(folder / "trees.mrg"), BRACKETS],
        "names": [LINES, str(folder / "text.txt")],
        "pairs": [pairs, [(s, (t,)) for s, t in pairs]],
    }[kind]


def plain(value):
    """A result as what can be compared."""
    if isinstance(value, Iterator):
        return plain(list(value))
    if isinstance(value, Corpus):
        return list(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value):
        return [plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if hasattr(value, "to_json"):
        return plain(value.to_json())
    if isinstance(value, float):
        return round(value, 9) if value == value else "nan"
    return value if isinstance(value, str | int | bool | None) else repr(value)


def asked(model, verb, given):
    """What a verb says, or its complaint, without the name of the file."""
    try:
        return plain(getattr(model, verb)(given))
    except CorpuscleError as error:
        return type(error).__name__


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_takes_what_people_have(kind, tmp_path):
    model = corpuscle.load(FOLDER / f"{kind}.model")
    told = Counter()
    for verb, what in verbs(model):
        what = "tagged" if kind.startswith("parse.") else what  # parsers need tags
        answers = [asked(model, verb, given) for given in forms(what, tmp_path)]
        different = [i for i, answer in enumerate(answers) if answer != answers[0]]
        assert not different, (verb, what, different, answers[0], answers[different[0]])
        told[isinstance(answers[0], str) and answers[0].endswith(("Error", "Learned"))] += 1
    assert told[False] >= 1, told
