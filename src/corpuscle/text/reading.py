"""What people have, as what a verb works on: paths, strings and lists become corpora, bitexts, treebanks and trees.

Each function takes the value and the model that it is for, which says how its texts are read (``model.read`` for files,
``model.reading`` for strings, where it has them).
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from corpuscle.text.bitext import Bitext
from corpuscle.text.brackets import parse_brackets, read_brackets
from corpuscle.text.conllu import is_treebank
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import read_lines
from corpuscle.text.origin import Listed, Origin
from corpuscle.text.pairs import Pair, read_news, read_pairs
from corpuscle.text.plain import read_text
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees

__all__ = ["bitext", "corpus", "messages", "names", "pairs", "treebank", "trees"]

Path = str | PathLike


def corpus(value: Any, model: Any) -> Any:
    """A text, or what the model reads from a file (the words of trees, say)."""
    if isinstance(value, Path) and hasattr(model, "read"):
        return model.read(value)
    return Corpus.checked(value, **getattr(model, "reading", {}))


def bitext(value: Any, model: Any) -> Bitext:
    """Sentence pairs: two sides, a file of ``source ||| target``, or a list of pairs of strings."""
    return Bitext.checked(value, getattr(model, "preprocessing", None))


def treebank(value: Any, model: Any) -> Treebank:
    """A treebank; from a text without annotation, too."""
    if isinstance(value, Path) and not is_treebank(str(value)):
        text = read_text(value)
        return Treebank.from_sentences(text.select(text.lengths > 0))
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        value = [words for words in map(str.split, value) if words]
    return Treebank.checked(value)


def trees(value: Any, model: Any) -> Any:
    """Constituent trees: a file of bracketings, or strings."""
    if isinstance(value, Path):
        return read_brackets(value)
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return parse_brackets(value)
    return Trees.checked(value)


def messages(value: Any, model: Any) -> Any:
    """Messages as lists of words: lines of a file, or strings."""
    lines = names(value, model)
    return Listed((line.split() if isinstance(line, str) else line for line in lines), getattr(lines, "origin", None))


def names(value: Any, model: Any) -> Any:
    """Names: the lines of a file, or strings."""
    if not isinstance(value, Path):
        return value
    lines = [line for _, line in read_lines(value)]
    return Listed(lines, Origin((fspath(value),), rows=range(len(lines))))


def pairs(value: Any, model: Any) -> Any:
    """Name pairs: a file, or pairs of strings."""
    if isinstance(value, Path):
        return read_news(value) if str(value).endswith(".xml") else read_pairs(value)
    found = (
        Pair(pair[0], (pair[1],) if isinstance(pair[1], str) else pair[1])
        if isinstance(pair, list | tuple) and len(pair) == 2
        else pair
        for pair in value
    )
    return Listed(found, getattr(value, "origin", None))
