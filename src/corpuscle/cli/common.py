"""What commands share besides their options: inputs, models, and errors with a file's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corpuscle.cli.command import work_of
from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.text import Corpus
    from corpuscle.text.treebank import Treebank
    from corpuscle.words import WordSources

__all__ = [
    "annotated", "load", "naming", "read_bank", "read_input", "refuse_markup", "sources_of", "table_text",
    "warn_of_overlap",
]  # fmt: skip


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors about a text that has no name yet carry the name of its file."""
    try:
        yield
    except InputError as error:
        raise InputError(error.path or path, error.line, error.reason) from error


def load(path: str, task: str, kinds: Sequence[str] | None = None) -> Any:
    """A model of a task (``kinds``: of some of its kinds), and of no other; it shares its work as the user asked."""
    from corpuscle.catalogue import TASKS, find
    from corpuscle.model import read

    kinds = kinds or tuple(TASKS[task].kinds)
    loaded = read(path)
    if loaded.kind not in kinds:
        raise InputError(path, None, f"a model of kind {loaded.kind}, where {' or '.join(kinds)} is needed")
    model = find(TASKS[task].kinds[loaded.kind]).from_container(loaded)
    for name, value in work_of().items():
        setattr(model, name, value)
    return model


def table_text(heading: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table as a command shows it, without the last line feed; ``heading`` as in ``write_table``."""
    from corpuscle.text.tables import format_row

    lines = [format_row(heading)] if heading else []
    return "".join([*lines, *(format_row(row) for row in rows)]).removesuffix("\n")


def warn_of_overlap(model: Any, corpus: Corpus, name: str) -> dict[str, float]:
    """See ``text.overlap.overlap_shares``."""
    from corpuscle.text.overlap import overlap_shares

    return overlap_shares(model, corpus, name)


def read_input(paths: Sequence[str], raw: bool = False, **settings: Any) -> Corpus:
    """A text with a sentence on each line, or (``--raw``) running text."""
    from corpuscle.text.reading import read_sentences

    return read_sentences(paths, raw, **settings)


def read_bank(path: str, raw: bool = False) -> Treebank:
    """A CoNLL-U file, or a text as a treebank without annotation."""
    from corpuscle.text.reading import read_bank

    return read_bank(path, raw)


def annotated(path: str, raw: bool, tagger: str | None, parser: str | None) -> Treebank:
    """A text or treebank, see ``read_bank``, with the tags of a tagger and the trees of a parser; a parser that has a
    tagger inside needs no other one."""
    bank = read_bank(path, raw)
    if tagger is not None:
        other = load(tagger, "tag")
        bank = other.annotate(bank.without(*other.layers_))
    if parser is not None:
        loaded = load(parser, "parse")
        bank = loaded.annotate(bank if tagger is not None else loaded.tagged(bank))
    return bank


def sources_of(class_model: str | None, vectors: str | None, seed: int = 1) -> WordSources:
    """What word classes and word vectors, a model of ours or word2vec text, say of words."""
    from corpuscle.text import read_vectors
    from corpuscle.words import class_sources, joint_sources, vector_sources

    found = []
    if class_model is not None:
        found.append(class_sources(load(class_model, "classes", ("words.exchange", "words.brown"))))
    if vectors is not None and vectors.endswith((".txt", ".vec", ".txt.gz", ".vec.gz")):
        found.append(vector_sources(*read_vectors(vectors), seed))
    elif vectors is not None:
        model = load(vectors, "vectors")
        found.append(vector_sources(model.vocab_, model.vectors_, seed))
    return joint_sources(*found)


def refuse_markup(corpus: Corpus, paths: Sequence[str]) -> None:
    """Complain about a literal ``<s>`` or ``</s>`` where it stands."""
    from corpuscle.lm import find_markup

    found = find_markup(corpus)
    if found is not None:
        line, symbol = found
        raise corpus.error(f"a literal {symbol} in a sentence; --allow-markup accepts it as a word", line)
