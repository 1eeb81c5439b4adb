"""``corpuscle grammar``: constituent trees: compare them with gold ones, draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import COUNT, Figures, argument, command, option, output, task_group
from corpuscle.cli.common import table_text
from corpuscle.cli.trees import comparing
from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.figures import NodeShown
    from corpuscle.text import Trees

__all__ = ["group"]

group = task_group("grammar")

PUNCTUATION = ("auto", "penn", "form", "none")


def read_trees(path: str) -> Trees:
    """Bracketed trees."""
    from corpuscle.text import read_brackets

    trees = read_brackets(path)
    if len(trees) == 0:
        raise InputError(path, None, "there are no trees in this file")
    return trees


def read_found(path: str, wanted: int) -> Trees:
    """Trees that a parser has written; where there are fewer than wanted, one a line, and a blank line is none."""
    from corpuscle.text import read_brackets

    trees = read_brackets(path)
    return trees if len(trees) >= wanted else read_brackets(path, lines=True)


_punctuation = option(
    "punctuation",
    "What punctuation is: words with such Penn tags, words of such letters, or none; auto: penn or form.",
    type=click.Choice(PUNCTUATION),
    default=PUNCTUATION[0],
)
_max_length = option("max_length", "Only sentences of at most so many words.", metavar="N", type=COUNT)


@command(group, seed=True)
@argument("gold")
@argument("trees")
@_punctuation
@_max_length
@option("by", "Also by label or length.", type=click.Choice(("label", "length")))
def evaluate(gold: str, trees: str, punctuation: str, max_length: int | None, by: str | None, seed: int) -> Figures:
    """Labelled and unlabelled brackets, exact trees, crossing brackets, tags, by the conventions of EVALB, with
    95 % intervals; a blank line among TREES is a sentence that was not parsed."""
    from corpuscle.measure import bracket_scores, bracket_scores_by

    right = read_trees(gold)
    guess = read_found(trees, len(right))
    with comparing(trees):
        result = bracket_scores(right, guess, punctuation=punctuation, max_length=max_length, seed=seed)
    figures, text = result.to_json(), result.text()
    if by is not None:
        rows = bracket_scores_by(right, guess, by, punctuation=punctuation, max_length=max_length)
        figures[f"by_{by}"] = rows
        heading = (by, "right", "found", "gold", "precision", "recall", "F1")
        text += "\n" + table_text(heading, [list(row.values()) for row in rows])
    return Figures(figures, text)


@command(group, seed=True)
@argument("gold")
@argument("trees_a")
@argument("trees_b")
@_punctuation
@_max_length
def compare(gold: str, trees_a: str, trees_b: str, punctuation: str, max_length: int | None, seed: int) -> Figures:
    """Compare two parses of the same sentences: the differences of their F1, paired by sentence."""
    from corpuscle.measure import bracket_scores, compare_brackets

    right = read_trees(gold)
    sides = {path: read_found(path, len(right)) for path in dict.fromkeys((trees_a, trees_b))}
    how = {"punctuation": punctuation, "max_length": max_length, "seed": seed}
    values: dict[str, Any] = {}
    lines = []
    for path, side in ((trees_a, "a"), (trees_b, "b")):
        with comparing(path):
            result = bracket_scores(right, sides[path], **how)  # type: ignore[arg-type]
        values |= {f"{name}_{side}": result[name] for name in ("labelled_f1", "unlabelled_f1", "exact")}
        lines.append(f"{path}: labelled F1 {result['labelled_f1']:.2%}, unlabelled {result['unlabelled_f1']:.2%}")
    for figure in ("labelled_f1", "unlabelled_f1", "spans_f1"):
        difference = compare_brackets(right, sides[trees_a], sides[trees_b], figure=figure, **how)  # type: ignore[arg-type]
        values |= difference.to_json() if figure == "labelled_f1" else {figure: difference.to_json()}
        lines.append(f"{figure.replace('_f1', ' F1')}: {difference.text()}")
    return Figures(values, "\n".join(lines))


def _shown(trees: Trees, path: str, number: int) -> tuple[list[str], list[NodeShown]]:
    """The words and nodes of one tree, for a picture."""
    from corpuscle.figures import NodeShown

    if number > len(trees):
        raise InputError(path, None, f"it has {len(trees):,} trees, and none of number {number:,}")
    here = trees[number - 1 : number]
    labels, parents = here.labels.strings(), here.parents.tolist()
    nodes = []
    for label, parent, (first, end) in zip(labels, parents, here.spans.tolist(), strict=True):
        name, mark, sure = label.rpartition("~")
        known = mark and sure.replace(".", "", 1).isdigit()
        nodes.append(NodeShown(name if known else label, parent, first, end, min(float(sure), 1.0) if known else None))
    return here.words.words(0), nodes


@command(group, figures=False)
@argument("trees")
@output(form="svg")
@option("tree", "Which tree, from 1 on.", metavar="N", type=COUNT, default=1)
@option("other", "Another parse of the same sentences: it hangs below the words.", metavar="TREES")
def draw(trees: str, output: str, tree: int, other: str | None) -> None:
    """Draw a tree (SVG); nodes whose label ends in ~ and a number (NP~0.93) are the fainter the less sure they are."""
    from corpuscle.figures import draw_constituents
    from corpuscle.text.files import write_atomically

    words, nodes = _shown(read_trees(trees), trees, tree)
    below = None
    if other is not None:
        same, below = _shown(read_trees(other), other, tree)
        if same != words:
            raise InputError(other, None, f"tree {tree:,} has other words")
    with write_atomically(output, "w") as file:
        file.write(draw_constituents(words, nodes, below, title=" ".join(words)) + "\n")


from corpuscle.cli import induction  # noqa: E402, F401  (its commands belong to this group)
