"""Readers of the inputs of verbs: what a command line, a form or a Python program hands over, as what a verb works on.

Each takes the value (a path, ``Typed`` text, lists, or the thing itself), the model that it is for, which says how its
texts are read, and the ``Input`` that was declared; some take settings of the reading. Whether a text may be empty is
decided here, where its name is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from typing import Any

from corpuscle.catalogue import find, home_of
from corpuscle.errors import InputError, SettingError
from corpuscle.text import given
from corpuscle.text.conllu import is_treebank, read_conllu
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import STDIO, AnyPath, read_raw
from corpuscle.text.plain import read_strings, read_text
from corpuscle.text.running import prepare
from corpuscle.text.treebank import Treebank
from corpuscle.verbs import File, Input, Typed

__all__ = [
    "a_model", "as_given", "bitext", "messages", "names", "pairs", "read_bank", "read_input", "text", "treebank",
    "trees", "word",
]  # fmt: skip


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


def _lines(typed: Typed, raw: bool) -> list[str]:
    """The sentences of text that was typed; the last line feed ends the last line."""
    if raw:
        return [" ".join(sentence) for sentence in prepare(typed.text)]
    lines = [line.rstrip("\r") for line in typed.text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _filled(declared: Input, corpus: Corpus, value: Any) -> None:
    """Complain about a text without words where it may not be one."""
    if declared.empty and corpus.n_tokens == 0:
        first = value[0] if isinstance(value, tuple) and value else value
        raise InputError(str(first) if _is_path(first) else None, None, declared.empty)


def read_input(paths: Sequence[str], raw: bool = False, **settings: Any) -> Corpus:
    """A text with a sentence on each line, or (``--raw``) running text, split into sentences and tokens first."""
    if not raw:
        return read_text(*paths, **settings)
    return read_strings([" ".join(sentence) for path in paths for sentence in prepare(read_raw(path))], **settings)


def read_bank(path: AnyPath, raw: bool = False) -> Treebank:
    """A CoNLL-U file (``.conllu``, or stdin); or a text with a sentence of words on each line, or (``--raw``) running
    text, split into sentences and tokens first, as a treebank without annotation."""
    if is_treebank(path) or (path == STDIO and not raw):
        if raw:
            raise SettingError("--raw means nothing for a CoNLL-U file, which has its words already")
        return read_conllu(path)
    if not raw:
        corpus = read_text(path)
        return Treebank.from_sentences([corpus.words(i) for i in range(len(corpus)) if corpus.lengths[i]])
    prepared = prepare(read_raw(path))
    spaces = ["_" if gap else "SpaceAfter=No" for gap in prepared.gaps()[1:]]
    starts = prepared.sentence_starts.tolist()
    return Treebank.from_sentences(prepared, misc=[spaces[a:b] for a, b in pairwise(starts)])


def text(value: Any, model: Any, declared: Input, *, raw: bool = False, **reading: Any) -> Any:
    """A text as the model reads it; ``reading``: what else is known about its files, such as ``documents``."""
    settings = getattr(model, "reading", {}) | reading
    if isinstance(value, Typed):
        corpus = read_strings(_lines(value, raw), **settings)
    elif isinstance(value, File) or (isinstance(value, tuple) and value and isinstance(value[0], File)):
        corpus = read_input(value if isinstance(value, tuple) else (value,), raw, **settings)
    else:
        corpus = given.corpus(value, model)
    _filled(declared, corpus, value)
    return corpus


def treebank(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Treebank:
    """A treebank; also a text without annotation, where the declaration has ``raw``."""
    if isinstance(value, Typed):
        bank = Treebank.from_sentences([words for words in map(str.split, _lines(value, raw)) if words])
    elif _is_path(value):
        bank = read_bank(value, raw) if "raw" in declared.options else read_conllu(value)
    else:
        bank = given.treebank(value, model)
    _filled(declared, bank.corpus, value)
    return bank


def _read_by(reader: Any) -> Any:
    """The reader of the inputs of a kind, for which typed text is a list of lines."""

    def read(value: Any, model: Any, declared: Input) -> Any:
        return reader(_lines(value, False) if isinstance(value, Typed) else value, model)

    return read


trees, bitext, pairs = map(_read_by, (given.trees, given.bitext, given.pairs))
names, messages = map(_read_by, (given.names, given.messages))


def as_given(value: Any, model: Any, declared: Input) -> Any:
    """What was given; the verb reads it."""
    return value


def word(value: Any, model: Any, declared: Input) -> Any:
    """Words that were typed or given as strings."""
    return value.text if isinstance(value, Typed) else value


def a_model(value: Any, model: Any, declared: Input) -> Any:
    """A model of one of the declared kinds, from its file, or as it is; or several of them."""
    if declared.many:
        return [_model(each, declared) for each in value]
    return _model(value, declared)


def _model(value: Any, declared: Input) -> Any:
    if not _is_path(value):
        return value
    from corpuscle.model import read

    loaded = read(value)
    if loaded.kind not in declared.kinds:
        wanted = " or ".join(declared.kinds)
        raise InputError(value, None, f"a model of kind {loaded.kind}, where {wanted} is needed")
    return find(str(home_of(loaded.kind))).from_container(loaded)
