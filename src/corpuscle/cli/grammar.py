"""``corpuscle grammar``: learn grammars from treebanks, parse, compare trees with gold ones, draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from corpuscle.cli.command import (
    COUNT,
    Figures,
    argument,
    command,
    option,
    output,
    resume,
    task_group,
    trainer,
)
from corpuscle.cli.common import load, table_text, warn_of_overlap
from corpuscle.cli.constituents import read_found, read_sentences, read_trees, shown, written_lists, written_tree
from corpuscle.cli.trees import comparing
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock
from corpuscle.text.wording import percent, seconds

if TYPE_CHECKING:
    from corpuscle.grammar import TreebankGrammar

__all__ = ["group"]

group = task_group("grammar")

PUNCTUATION = ("auto", "penn", "form", "none")


@trainer(group, only=("spectral", "em", "pcfg"))
@argument("trees", many=True)
@output()
@option("dev", "Choose the weight of the PCFG by these trees.", metavar="TREES")
@resume
def train(model: TreebankGrammar, trees: tuple[str, ...], output: str, dev: str | None, resume: bool) -> Figures:
    """Learn a grammar from bracketed trees: files, or folders of them; or, from a CoNLL-U file, a tagger."""

    begin, bank = clock(), read_trees(*trees)
    development = None if dev is None else read_trees(dev)
    if dev is not None and "mix" not in model.SETTINGS:
        raise SettingError("a PCFG has nothing that --dev could choose")
    if resume and not hasattr(model, "checkpoint"):
        raise SettingError("--resume is for --method em: the others learn in one pass")
    if hasattr(model, "checkpoint"):
        with model.checkpoint(bank, output, resume) as checkpoint:
            model.fit(bank, development, checkpoint=checkpoint).save(output)
    else:
        model.fit(bank, development).save(output)
    figures: dict[str, Any] = {**model.provenance_, "tuned": sorted(model.chosen_)}
    figures["seconds"] = clock() - begin
    return Figures(
        figures,
        f"{output}: {figures['trees']:,} trees, {figures['phrases']:,} phrases, {figures['tags']:,} tags, "
        f"{figures['rules']:,} rules, {seconds(figures['seconds'])}",
    )


_tags = option(
    "tags",
    "gold: the tags in the input are right (trees, CoNLL-U, or word/TAG); predict: only its words are read.",
    type=click.Choice(("predict", "gold")),
    default="predict",
)
_tagger = option("tagger", "Take the tags of this tagger.", metavar="MODEL")


@command(group, work=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@_tags
@_tagger
@option("nbest", "The N best trees of each sentence, and a blank line.", metavar="N", type=COUNT)
@option("confidence", "Write how likely each node is behind its label (NP~0.93).", is_flag=True)
def parse(
    model: str, input: str, output: str, tags: str, tagger: str | None, nbest: int | None, confidence: bool
) -> None:
    """Parse text, a sentence a line, or the words of trees or of a CoNLL-U file; writes a tree a line."""
    from corpuscle.text.files import write_atomically

    if nbest is not None and confidence:
        raise SettingError("--confidence is of the best tree: not with --nbest")
    loaded = load(model, "grammar")
    words, given = read_sentences(input, loaded.needs_tags or tags == "gold", tagger)
    if nbest is not None:
        text = written_lists(loaded.best_trees(words, nbest, given))
    else:
        text = written_tree(loaded.parse(words, given), confidence)
    with write_atomically(output, "w") as file:
        file.write(text)


@command(group, work=True, seed=True, figures=False)
@argument("model")
@argument("input", default="-")
@output("-")
@_tags
@_tagger
@option("draws", "How many trees of each sentence.", metavar="N", type=COUNT, default=1)
def sample(model: str, input: str, output: str, tags: str, tagger: str | None, draws: int, seed: int) -> None:
    """Draw trees of sentences, each by its probability under the grammar's PCFG; writes them as parse --nbest does."""
    from corpuscle.text.files import write_atomically

    loaded = load(model, "grammar", ("grammar.pcfg", "grammar.em", "grammar.spectral"))
    words, given = read_sentences(input, tags == "gold", tagger)
    text = written_lists(loaded.sample_trees(words, draws, seed=seed, tags=given))
    with write_atomically(output, "w") as file:
        file.write(text)


@command(group, work=True)
@argument("model")
@argument("input", default="-")
def probability(model: str, input: str) -> Figures:
    """The probability of trees, or of sentences over all their trees (log10, a line each)."""
    import numpy as np

    from corpuscle.cli.constituents import is_brackets

    loaded = load(model, "grammar")
    if input != "-" and is_brackets(input):
        logs = loaded.probability(read_trees(input))
    else:
        logs = loaded.sentence_probability(read_sentences(input, False, None)[0])
    tens = logs / np.log(10.0)
    possible = np.isfinite(tens)
    figures = {
        "log10": float(tens[possible].sum()), "items": len(tens), "impossible": int((~possible).sum()),
        "each": [float(value) if fine else None for value, fine in zip(tens, possible, strict=True)],
    }  # fmt: skip
    return Figures(figures, table_text((), ([float(value)] for value in tens)))


@command(group, work=True)
@argument("model")
@argument("input", default="-")
@option("least", "Only constituents with at least this share.", metavar="X", type=click.FloatRange(0, 1), default=0.01)
def marginals(model: str, input: str, least: float) -> Figures:
    """How likely every constituent of every sentence is, over all its trees."""
    loaded = load(model, "grammar")
    words, given = read_sentences(input, loaded.needs_tags, None)
    found = loaded.marginals(words, float(least), given)
    sentences = [
        {"words": words.words(i), "spans": [each._asdict() for each in spans]} for i, spans in enumerate(found)
    ]
    rows = [(i, *each) for i, spans in enumerate(found, 1) for each in spans]
    return Figures({"sentences": sentences}, table_text(("sentence", "label", "first", "end", "share"), rows))


@command(group, figures=False)
@argument("trees")
@output("-")
@option("heads", "A table of heads; else Penn's where labels are, or the first child.", metavar="FILE")
def dependencies(trees: str, output: str, heads: str | None) -> None:
    """Turn trees into dependencies by a table of heads; writes CoNLL-U with their tags as XPOS."""
    from corpuscle.grammar import read_heads, to_dependencies
    from corpuscle.text import write_conllu

    table = None if heads is None else read_heads(heads)
    write_conllu(to_dependencies(read_trees(trees), table), output)


_punctuation = option(
    "punctuation",
    "What punctuation is: words with such Penn tags, words of such letters, or none; auto: penn or form.",
    type=click.Choice(PUNCTUATION),
    default=PUNCTUATION[0],
)
_max_length = option("max_length", "Only sentences of at most so many words.", metavar="N", type=COUNT)


@command(group, work=True, seed=True)
@argument("gold")
@argument("trees", required=False)
@option("model", "Parse the words of the gold trees with this model first.", metavar="FILE")
@_tags
@_punctuation
@_max_length
@option("by", "Also by label or length.", type=click.Choice(("label", "length")))
def evaluate(
    gold: str, trees: str | None, model: str | None, tags: str, punctuation: str, max_length: int | None,
    by: str | None, seed: int,
) -> Figures:  # fmt: skip
    """Labelled and unlabelled brackets, exact trees, crossing brackets, tags, by the conventions of EVALB, with
    95 % intervals; a blank line among TREES is a sentence that was not parsed."""
    from corpuscle.measure import bracket_scores, bracket_scores_by

    if (trees is None) == (model is None):
        raise SettingError("give a file of trees, or --model")
    right, shares = read_trees(gold), dict[str, float]()
    if model is not None:
        loaded = load(model, "grammar")
        words, given = read_sentences(gold, loaded.needs_tags or tags == "gold", None)
        shares = warn_of_overlap(loaded, words, model)
        guess = loaded.parse(words, given).trees
    else:
        guess = read_found(str(trees), len(right))
    with comparing(trees or gold):
        result = bracket_scores(right, guess, punctuation=punctuation, max_length=max_length, seed=seed)
    figures, text = result.to_json() | shares, result.text()
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
        labelled, unlabelled = percent(result["labelled_f1"]), percent(result["unlabelled_f1"])
        lines.append(f"{path}: labelled F1 {labelled}, unlabelled {unlabelled}")
    for figure in ("labelled_f1", "unlabelled_f1", "spans_f1"):
        difference = compare_brackets(right, sides[trees_a], sides[trees_b], figure=figure, **how)  # type: ignore[arg-type]
        values |= difference.to_json() if figure == "labelled_f1" else {figure: difference.to_json()}
        lines.append(f"{figure.replace('_f1', ' F1')}: {difference.text()}")
    return Figures(values, "\n".join(lines))


@command(group, figures=False)
@argument("trees")
@output(form="figure")
@option("tree", "Which tree, from 1 on.", metavar="N", type=COUNT, default=1)
@option("other", "Another parse of the same sentences: it hangs below the words.", metavar="TREES")
def draw(trees: str, output: str, tree: int, other: str | None) -> None:
    """Draw a tree (SVG or PNG); nodes whose label ends in ~ and a number (NP~0.93) are the fainter the less sure they
    are."""
    from corpuscle.figures import draw_constituents, save_figure

    words, nodes = shown(read_trees(trees), trees, tree)
    below = None
    if other is not None:
        same, below = shown(read_trees(other), other, tree)
        if same != words:
            raise InputError(other, None, f"tree {tree:,} has other words")
    save_figure(draw_constituents(words, nodes, below, title=" ".join(words)), output)


from corpuscle.cli import common_grammar, induction  # noqa: E402, F401  (their commands belong to this group)
