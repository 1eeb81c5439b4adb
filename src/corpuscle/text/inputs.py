"""Readers: what people have, as what a verb works on: paths, strings, lists and typed text become corpora, bitexts,
treebanks, trees, messages, names and pairs.

There is one reader for each type of data; methods of models, commands, forms and Python programs use the same. It takes
the value (a path, ``Typed`` text, lists, or the thing itself), the model that it is for, which says how its texts are
read (``model.read`` for files, ``model.reading`` for strings, where it has them), and, from a verb, the ``Input`` that
was declared, with settings of the reading: ``raw`` is running text. What is read knows the files it came from, see
``Origin``; what is none of the forms that a reader takes is an error that says how to make one. Whether a text may be
empty is decided here, where its name is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike, fspath
from typing import Any

from corpuscle.catalogue import find, home_of
from corpuscle.errors import InputError, SettingError, expect
from corpuscle.text.bitext import Bitext, read_bitext
from corpuscle.text.brackets import parse_brackets, read_brackets
from corpuscle.text.conllu import is_treebank, read_conllu
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import STDIO, AnyPath, expand, read_lines, read_raw, suffix_of
from corpuscle.text.formats import format_of
from corpuscle.text.origin import Listed, Origin
from corpuscle.text.pairs import Pair, read_news, read_pairs
from corpuscle.text.plain import read_strings, read_text
from corpuscle.text.running import prepare
from corpuscle.text.sentences import split_words
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees
from corpuscle.verbs import File, Input, Typed


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


def _is_file(value: Any) -> bool:
    """Whether it is a file, or several, of a command line."""
    return isinstance(value, File) or (isinstance(value, tuple) and bool(value) and isinstance(value[0], File))


def _are_strings(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, str) for item in value)


def _lines(typed: Typed, raw: bool = False) -> list[str]:
    """The sentences of text that was typed; the last line feed ends the last line."""
    if raw:
        return [" ".join(sentence) for sentence in prepare(typed.text)]
    lines = [line.rstrip("\r") for line in typed.text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def check_filled(declared: Input, corpus: Any, value: Any) -> None:
    """Complain about a text without words where it may not be one."""
    if declared.empty and corpus.n_tokens == 0:
        first = value[0] if isinstance(value, tuple) and value else value
        raise InputError(str(first) if _is_path(first) else None, None, declared.empty)


def corpus(value: Any, model: Any) -> Any:
    """A text, or what the model reads from a file (the words of trees, say)."""
    if _is_path(value) and hasattr(model, "read"):
        return model.read(value)
    return Corpus.checked(value, **getattr(model, "reading", {}))


def text(value: Any, model: Any, declared: Input, *, raw: bool = False, **known: Any) -> Any:
    """A text as the model reads it; ``known``: what else is known about its files, such as ``documents``."""
    settings = getattr(model, "reading", {}) | known
    if isinstance(value, Typed):
        found = read_strings(_lines(value, raw), **settings)
    elif _is_file(value) or (_is_path(value) and (raw or known)):
        found = read_sentences(value if isinstance(value, tuple) else (value,), raw, **settings)
    else:
        found = corpus(value, model)
    check_filled(declared, found, value)
    return found


def read_sentences(paths: Sequence[AnyPath], raw: bool = False, **settings: Any) -> Corpus:
    """Texts with a sentence on each line, or (``raw``) running text, split into sentences and tokens first;
    ``settings``: as for ``read_text``."""
    if not raw:
        return read_text(*paths, **settings)
    sentences = [" ".join(sentence) for path in paths for sentence in prepare(_running(path))]
    return replace(read_strings(sentences, **settings), origin=Origin(tuple(map(str, paths))))


def _running(path: AnyPath) -> str:
    form = format_of(path)
    return read_raw(path) if form is None else "\n".join(form.lines(path))


def read_bank(path: AnyPath, raw: bool = False) -> Treebank:
    """A CoNLL-U file, or stdin; or a text with a sentence of words on each line, or (``raw``) running
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


def treebank(value: Any, model: Any, declared: Input | None = None, *, raw: bool = False) -> Treebank:
    """A treebank; from a text without annotation, too, unless its declaration has no ``raw``."""
    if isinstance(value, Typed):
        bank = Treebank.from_sentences([words for words in map(str.split, _lines(value, raw)) if words])
    elif _is_path(value):
        annotated_only = declared is not None and "raw" not in declared.options
        bank = read_conllu(value) if annotated_only else read_bank(value, raw)
    else:
        if _are_strings(value):
            value = [words for words in map(str.split, value) if words]
        bank = Treebank.checked(value)
    if declared is not None:
        check_filled(declared, bank.corpus, value)
    return bank


def annotated(value: Any, model: Any, declared: Input, *, raw: bool, tagger: Any, parser: Any) -> Treebank:
    """A treebank with the tags of a tagger and the trees of a parser, if they are given; a parser that has a tagger
    inside needs no other one."""
    bank = treebank(value, model, declared, raw=raw)
    if tagger is not None:
        bank = tagger.annotate(bank.without(*tagger.layers_))
    if parser is not None:
        bank = parser.annotate(bank if tagger is not None else parser.tagged(bank))
    return bank


def bitext(value: Any, model: Any, declared: Input | None = None, *, target: Any = None) -> Bitext:
    """Sentence pairs: two sides, a file of ``source ||| target``, or a list of pairs of strings; ``target``: their
    other side, where the value is the source alone."""
    if target is None and isinstance(value, Typed):
        target = Typed("")
    sides = value if target is None else (value, target)
    preprocessing = getattr(model, "preprocessing", None)
    if isinstance(sides, tuple) and len(sides) == 2:
        settings = getattr(model, "reading", {})
        if declared is not None and all(isinstance(side, Typed) for side in sides):
            source, other = map(_lines, sides)
            if len(source) != len(other):
                raise SettingError(f"source has {len(source)} lines, target {len(other)}: they must be as many")
            return Bitext(read_strings(source, **settings), read_strings(other, **settings))
        if declared is not None and all(map(_is_path, sides)):
            return read_bitext(*sides, **settings)
        return Bitext(*(Corpus.checked(side, preprocessing=preprocessing) for side in sides))
    if _is_path(sides):
        return read_bitext(sides, preprocessing=preprocessing)
    if isinstance(sides, list) and sides and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in sides):
        return Bitext(*(Corpus.checked(list(side), preprocessing=preprocessing) for side in zip(*sides, strict=True)))
    return expect(sides, Bitext, "read_bitext(source, target) or Bitext(corpus, corpus) makes one")


def trees(value: Any, model: Any, declared: Input | None = None) -> Any:
    """Constituent trees: a file of bracketings, or strings."""
    if _is_path(value):
        return read_brackets(value)
    if isinstance(value, Typed):
        value = _lines(value)
    if _are_strings(value):
        return parse_brackets(value)
    return expect(value, Trees, "read_brackets(path) or parse_brackets([...]) makes one")


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


def messages(value: Any, model: Any, declared: Input | None = None, *, raw: bool = False) -> Any:
    """Messages as lists of words, by their spaces or (``raw``) split into tokens: lines of files, or strings."""
    if isinstance(value, Typed):
        return split_messages(_lines(value), raw)
    if _is_file(value):
        return read_messages(value if isinstance(value, tuple) else (value,), raw)
    found = names(value, model)
    return Listed((line.split() if isinstance(line, str) else line for line in found), getattr(found, "origin", None))


def names(value: Any, model: Any, declared: Input | None = None) -> Any:
    """Names: the lines of a file, or strings."""
    if not _is_path(value):
        return _lines(value) if isinstance(value, Typed) else value
    found = [line for _, line in read_lines(value)]
    return Listed(found, Origin((fspath(value),), rows=range(len(found))))


def pairs(value: Any, model: Any, declared: Input | None = None) -> Any:
    """Name pairs: a file, or pairs of strings."""
    if _is_path(value):
        return read_news(value) if suffix_of(value) == ".xml" else read_pairs(value)
    found = Listed[Pair]([], getattr(value, "origin", None))
    for number, pair in enumerate(_lines(value) if isinstance(value, Typed) else value):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise SettingError(f"pair {number} is {repr(pair)[:60]}, where Pair(source, (target, ...)) is needed")
        found.append(Pair(pair[0], (pair[1],) if isinstance(pair[1], str) else pair[1]))
    return found


def read_file(value: Any, model: Any, declared: Input) -> Any:
    """What the declared function reads from a file; anything else as it is."""
    return find(declared.file_reader)(value) if _is_path(value) else value


def lines(value: Any, model: Any, declared: Input, *, raw: bool = False) -> list[str]:
    """The lines of a file, or of what was typed, or the sentences of typed running text."""
    if _is_path(value):
        return [line for _, line in read_lines(value)]
    return _lines(value, raw) if isinstance(value, Typed) else list(value)


def running_text(value: Any, model: Any, declared: Input) -> str:
    """Running text as it is."""
    return value.text if isinstance(value, Typed) else read_raw(value)


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
