"""What people have, as what a verb works on: paths, strings and lists become corpora, bitexts, treebanks and trees.

There is one reader for each type of data; methods of models and commands use the same. It takes the value and the model
that it is for, which says how its texts are read (``model.read`` for files, ``model.reading`` for strings, where it has
them), and how a file is to be taken (``raw``: as running text). What is read knows the files it came from, see
``Origin``; what is none of the forms that a reader takes is an error that says how to make one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike, fspath
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.text.bitext import Bitext
from corpuscle.text.brackets import parse_brackets, read_brackets
from corpuscle.text.conllu import is_treebank, read_conllu
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import STDIO, AnyPath, expand, read_lines, read_raw
from corpuscle.text.formats import format_of
from corpuscle.text.origin import Listed, Origin
from corpuscle.text.pairs import Pair, checked_pairs, read_news, read_pairs
from corpuscle.text.plain import read_strings, read_text
from corpuscle.text.running import prepare
from corpuscle.text.sentences import split_words
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees

Path = str | PathLike


def corpus(value: Any, model: Any) -> Any:
    """A text, or what the model reads from a file (the words of trees, say)."""
    if isinstance(value, Path) and hasattr(model, "read"):
        return model.read(value)
    return Corpus.checked(value, **getattr(model, "reading", {}))


def read_sentences(paths: Sequence[AnyPath], raw: bool = False, **settings: Any) -> Corpus:
    """Texts with a sentence on each line, or (``raw``) running text, split into sentences and tokens first;
    ``settings``: as for ``read_text``."""
    if not raw:
        return read_text(*paths, **settings)
    sentences = [" ".join(sentence) for path in paths for sentence in prepare(_running(path))]
    return replace(read_strings(sentences, **settings), origin=Origin(tuple(map(str, paths))))


def _running(path: AnyPath) -> str:
    """The running text of a file."""
    form = format_of(path)
    return read_raw(path) if form is None else "\n".join(form.lines(path))


def read_bank(path: AnyPath, raw: bool = False) -> Treebank:
    """A CoNLL-U file (``.conllu``, or stdin); or a text with a sentence of words on each line, or (``raw``) running
    text, split into sentences and tokens first, as a treebank without annotation."""
    if is_treebank(path) or (path == STDIO and not raw):
        if raw:
            raise SettingError("--raw means nothing for a CoNLL-U file, which has its words already")
        return read_conllu(path)
    if not raw:
        text = read_text(path)
        return Treebank.from_sentences(text.select(text.lengths > 0))
    prepared = prepare(_running(path))
    spaces = ["_" if gap else "SpaceAfter=No" for gap in prepared.gaps()[1:]]
    misc = [spaces[first:last] for first, last in pairwise(prepared.sentence_starts.tolist())]
    return Treebank.from_sentences(prepared, misc=misc, origin=Origin.of(path))


def split_messages(lines: Iterable[str], raw: bool = False) -> list[list[str]]:
    """Lines as lists of words, by their spaces or (``raw``) split into tokens."""
    return [(split_words(line) if raw else line).split() for line in lines]


def read_messages(paths: Sequence[AnyPath], raw: bool = False) -> Listed[list[str]]:
    """The messages of texts, a line each, see ``split_messages``."""
    found: list[list[str]] = []
    files, firsts = expand(paths), []
    for file in files:
        firsts.append(len(found))
        found += split_messages((line for _, line in read_lines(file)), raw)
    return Listed(found, Origin(tuple(files), tuple(firsts), rows=range(len(found))) if files else None)


def bitext(value: Any, model: Any) -> Bitext:
    """Sentence pairs: two sides, a file of ``source ||| target``, or a list of pairs of strings."""
    return Bitext.checked(value, getattr(model, "preprocessing", None))


def treebank(value: Any, model: Any) -> Treebank:
    """A treebank; from a text without annotation, too."""
    if isinstance(value, Path):
        return read_bank(value)
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
    return checked_pairs(Listed(found, getattr(value, "origin", None)))
