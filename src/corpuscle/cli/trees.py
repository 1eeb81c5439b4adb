"""What commands of parsers read and write: treebanks, lists of trees, what is known of words, links between texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corpuscle.cli.common import load
from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.text.treebank import Treebank

__all__ = [
    "comparing", "confidence", "list_lengths", "read_links", "read_target", "read_trees", "write_instances",
]  # fmt: skip


def read_trees(path: str) -> Treebank:
    from corpuscle.text import read_conllu

    return read_conllu(path).filled()


@contextmanager
def comparing(path: str) -> Iterator[None]:
    """What does not fit the gold trees is an error about a file."""
    try:
        yield
    except ValueError as error:
        raise InputError(path, None, str(error)) from None


def confidence(bank: Treebank) -> Any:
    """What MISC says of the confidence of arcs, float64 (n_words,); empty unless all words have it."""
    import numpy as np

    notes = [dict(note.partition("=")[::2] for note in misc.split("|")) for misc in bank.misc.strings()]
    try:
        sure = np.array([float(note["Confidence"]) for note in notes if "Confidence" in note])
    except ValueError:
        return np.empty(0)
    return sure if len(sure) == len(notes) and ((sure >= 0) & (sure <= 1)).all() else np.empty(0)


def list_lengths(bank: Treebank) -> Any:
    """How many trees each sentence of an n-best file has, by its # rank comments; None if it is none."""
    import numpy as np

    from corpuscle.text.treebank import comment_value

    ranks = [comment_value(lines, "rank") for lines in bank.comments]
    if None in ranks:
        return None
    firsts = np.flatnonzero(np.array(ranks) == "1")
    return np.diff(np.append(firsts, len(ranks))) if len(firsts) and firsts[0] == 0 else None


def read_target(path: str) -> Treebank:
    """A target text: CoNLL-U by its name, else plain text without tags."""
    from corpuscle.text import read_text
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.treebank import Treebank

    if is_treebank(path):
        return read_trees(path)
    text = read_text(path)
    return Treebank.from_sentences([text.words(i) for i in range(len(text))], origin=text.origin)


def read_links(links: str | None, matrix: str | None) -> Any:
    from corpuscle.text.alignments import read_links

    return load(str(matrix), "align", ("align.matrix",)) if links is None else read_links(links)


def write_instances(model: Any, path: str) -> None:
    from corpuscle.text.tables import write_table

    found = model.instances_
    weights = abs(2.0 * found.sure - 1.0) if model.weighted else found.sure * 0.0 + 1.0
    columns = (found.sentences + 1, found.heads, found.modifiers, (found.sure > 0.5) * 1, found.sure, weights)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    write_table(path, ("sentence", "head", "modifier", "arc", "sure", "weight"), rows)
