"""Readers of the inputs of verbs: what a command line, a form or a Python program hands over, as what a verb works on.

Each takes the value (a path, ``Typed`` text, lists, or the thing itself), the model that it is for, which says how its
texts are read, and the ``Input`` that was declared; some take settings of the reading. Whether a text may be empty is
decided here, where its name is known.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from corpuscle.catalogue import find, home_of
from corpuscle.errors import InputError, SettingError
from corpuscle.text import reading
from corpuscle.text.bitext import Bitext, read_bitext
from corpuscle.text.conllu import read_conllu
from corpuscle.text.files import read_lines, read_raw
from corpuscle.text.plain import read_strings
from corpuscle.text.running import prepare
from corpuscle.text.treebank import Treebank
from corpuscle.verbs import File, Input, Typed


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


def _is_file(value: Any) -> bool:
    """Whether it is a file, or several, of a command line."""
    return isinstance(value, File) or (isinstance(value, tuple) and bool(value) and isinstance(value[0], File))


def _lines(typed: Typed, raw: bool) -> list[str]:
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


def text(value: Any, model: Any, declared: Input, *, raw: bool = False, **known: Any) -> Any:
    """A text as the model reads it; ``known``: what else is known about its files, such as ``documents``."""
    settings = getattr(model, "reading", {}) | known
    if isinstance(value, Typed):
        corpus = read_strings(_lines(value, raw), **settings)
    elif _is_file(value) or (_is_path(value) and (raw or known)):
        corpus = reading.read_sentences(value if isinstance(value, tuple) else (value,), raw, **settings)
    else:
        corpus = reading.corpus(value, model)
    check_filled(declared, corpus, value)
    return corpus


def treebank(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Treebank:
    """A treebank; also a text without annotation, where the declaration has ``raw``."""
    if isinstance(value, Typed):
        bank = Treebank.from_sentences([words for words in map(str.split, _lines(value, raw)) if words])
    elif _is_path(value):
        bank = reading.read_bank(value, raw) if "raw" in declared.options else read_conllu(value)
    else:
        bank = reading.treebank(value, model)
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


def _read_by(reader: Any) -> Any:
    """The reader of the inputs of a kind, for which typed text is a list of lines."""

    def read(value: Any, model: Any, declared: Input) -> Any:
        return reader(_lines(value, False) if isinstance(value, Typed) else value, model)

    return read


def bitext(value: Any, model: Any, declared: Input, *, target: Any = None) -> Bitext:
    """Sentence pairs; ``target``: their other side, where the value is the source alone."""
    if target is None and isinstance(value, Typed):
        target = Typed("")
    sides = value if target is None else (value, target)
    if not isinstance(sides, tuple) or len(sides) != 2:
        return reading.bitext(sides, model)
    if all(isinstance(side, Typed) for side in sides):
        source, other = (_lines(side, False) for side in sides)
        if len(source) != len(other):
            raise SettingError(f"source has {len(source)} lines, target {len(other)}: they must be as many")
        return Bitext(*(read_strings(side, **getattr(model, "reading", {})) for side in (source, other)))
    if all(map(_is_path, sides)):
        return read_bitext(*sides, **getattr(model, "reading", {}))
    return reading.bitext(sides, model)


trees, pairs, names = map(_read_by, (reading.trees, reading.pairs, reading.names))


def messages(value: Any, model: Any, declared: Input, *, raw: bool = False) -> Any:
    """Messages as lists of words, by their spaces or (``raw``) split into tokens."""
    if isinstance(value, Typed):
        return reading.split_messages(_lines(value, False), raw)
    if _is_file(value):
        return reading.read_messages(value if isinstance(value, tuple) else (value,), raw)
    return reading.messages(value, model)


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
