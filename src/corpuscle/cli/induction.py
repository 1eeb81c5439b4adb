"""``corpuscle grammar induce`` and what belongs to it: brackets from text that nobody has annotated with trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.cli.command import Figures, argument, command, option, output, resume, trainer
from corpuscle.cli.common import load, table_text
from corpuscle.cli.grammar import group
from corpuscle.errors import InputError, SettingError
from corpuscle.progress import clock

if TYPE_CHECKING:
    from corpuscle.grammar import BracketInducer
    from corpuscle.text import Treebank, Trees

__all__ = ["read_tagged"]

INDUCERS = ("treemetric", "ccm")


def read_tagged(path: str) -> tuple[Treebank, Trees | None]:
    """Words with tags: of CoNLL-U, of trees (which come along), or of lines of word/TAG or word_TAG; of lines of plain
    words there are no tags."""
    from corpuscle.grammar import bank_of_trees
    from corpuscle.text import Treebank, read_brackets, read_conllu, read_text
    from corpuscle.text.conllu import is_treebank

    if is_treebank(path):
        return read_conllu(path), None
    corpus = read_text(path)
    corpus = corpus.select(corpus.lengths > 0)
    lines = list(corpus)
    if not lines:
        raise InputError(path, None, "an empty text: there are no words to learn from")
    if lines[0][0].startswith("("):
        trees = read_brackets(path, keep_traces=False, keep_functions=False)
        return bank_of_trees(trees), trees
    mark = next((each for each in "/_" if all(all(word.rpartition(each)[::2]) for word in lines[0])), None)
    if mark is None:
        return Treebank.from_sentences(corpus), None
    for number, line in enumerate(lines):
        wrong = next((word for word in line if not all(word.rpartition(mark)[::2])), None)
        if wrong is not None:
            raise corpus.error(f"expected word{mark}TAG, as on the lines before, not {wrong[:40]!r}", number)
    words, tags = ([[word.rpartition(mark)[at] for word in line] for line in lines] for at in (0, 2))
    return Treebank.from_sentences(words, xpos=tags, origin=corpus.origin), None


def _vectors(vectors: str | None, class_model: str | None) -> Any:
    """Word vectors of a file, a model, or a model of classes; None without any."""
    from corpuscle.grammar import class_vectors
    from corpuscle.text import read_vectors

    if vectors is not None:
        if vectors.endswith((".txt", ".vec", ".txt.gz", ".vec.gz")):
            return read_vectors(vectors)
        model = load(vectors, "vectors")
        return model.vocab_, model.vectors_
    if class_model is None:
        return None
    return class_vectors(load(class_model, "classes", ("words.exchange", "words.brown")))


def _fit(model: BracketInducer, bank: Treebank, output: str, given: dict[str, Any], resume: bool) -> None:
    """Learn and save: with checkpoints where learning has iterations."""
    from corpuscle.cli.common import sources_of
    from corpuscle.grammar import ConstituentContext, TreeMetric, read_tag_map

    more: dict[str, Any] = {"sources": sources_of(given["class_model"], None)}
    if given["tag_map"] is not None:
        more["tag_map"] = read_tag_map(given["tag_map"])
    if isinstance(model, ConstituentContext):
        if given["vectors"] is not None:
            raise SettingError("--vectors means nothing with --method ccm")
        with model.checkpoint(bank, output, resume) as checkpoint:
            model.fit(bank, **more, checkpoint=checkpoint).save(output)
        return
    assert isinstance(model, TreeMetric)
    if resume:
        raise SettingError("--resume means nothing with --method treemetric, which learns in one pass")
    model.fit(bank, **more, vectors=_vectors(given["vectors"], given["class_model"])).save(output)


@trainer(group, name="induce", only=INDUCERS)
@argument("text")
@output()
@option("vectors", "Word vectors (a model, or text of word2vec); else they are learned from TEXT.", metavar="FILE")
@option("class_model", "Word classes, as vectors or (--symbols) in the place of tags.", metavar="MODEL")
@option("tag_map", "Universal tags of other tags than Penn's: PATTERN, tab, tag.", metavar="TSV")
@resume
def induce(model: BracketInducer, text: str, output: str, resume: bool, **given: Any) -> Figures:
    """Learn brackets from words with tags (CoNLL-U, word/TAG) or classes (plain text), without trees to learn from.

    Where TEXT is trees, only their words and tags are learned from, and the brackets are compared with theirs."""

    from corpuscle.grammar import span_table

    begin = clock()
    bank, trees = read_tagged(text)
    _fit(model, bank, output, given, resume)
    figures: dict[str, Any] = {**model.provenance_, "seconds": clock() - begin}
    shown = f"{output}: {figures['sentences']:,} sentences, {figures['words']:,} words, {figures['symbols']:,} symbols"
    if trees is not None:
        name = model.KIND.name.rpartition(".")[2]
        found = model.brackets(bank, gold=trees)
        figures["brackets"] = span_table(model.sentences(bank), trees, {name: found}, seed=model.settings["seed"])
        heading = ("trees", "words at most", "sentences", "F1", "without whole sentences", "mean of sentences")
        shown += "\n" + table_text(heading, [list(row.values()) for row in figures["brackets"]])
    return Figures(figures, f"{shown}")


@command(group, figures=False)
@argument("model")
@output("-")
def distances(model: str, output: str) -> None:
    """Write the distances of an induced grammar: symbols, how many words apart, distance (TSV)."""
    from corpuscle.text.tables import write_table

    table = load(model, "grammar", ("grammar.treemetric",)).distances_
    n, _, far = table.shape
    rows = ((a, b, apart, table[a, b, apart]) for a in range(n) for b in range(n) for apart in range(1, far))
    write_table(output, ("left", "right", "apart", "distance"), rows)
