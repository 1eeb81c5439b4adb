"""What commands of grammars read and write: bracketed trees, sentences with or without tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from corpuscle.cli.common import load
from corpuscle.errors import InputError

if TYPE_CHECKING:
    from corpuscle.figures import NodeShown
    from corpuscle.grammar import Parsed
    from corpuscle.text import Corpus, Trees
    from corpuscle.text.origin import Origin

__all__ = ["is_brackets", "read_found", "read_sentences", "read_trees", "shown", "written_lists", "written_tree"]


def read_trees(*paths: str) -> Trees:
    """Bracketed trees; of a CoNLL-U file, its tags as trees that branch to the right."""
    from dataclasses import replace

    from corpuscle.grammar import sequence_trees
    from corpuscle.text import read_brackets, read_conllu
    from corpuscle.text.conllu import is_treebank

    if is_treebank(paths[0]) and len(paths) == 1:
        bank = read_conllu(paths[0])
        trees = sequence_trees(replace(bank, corpus=_escaped(bank.corpus, bank.origin)))
    else:
        trees = read_brackets(*paths)
    if len(trees) == 0:
        raise InputError(paths[0], None, "there are no trees in this file")
    return trees


def read_found(path: str, wanted: int) -> Trees:
    """Trees that a parser has written; where there are fewer than wanted, one a line, and a blank line is none."""
    from corpuscle.text import read_brackets

    trees = read_brackets(path)
    return trees if len(trees) >= wanted else read_brackets(path, lines=True)


def is_brackets(path: str) -> bool:
    """Whether a file holds trees: what it begins with is an opening bracket and it has as many closing ones."""
    import os

    from corpuscle.text.files import decode, open_bytes

    if os.path.isdir(path):
        return True
    text = decode(open_bytes(path), path)
    return text.lstrip()[:1] == "(" and text.count("(") == text.count(")") and text.rstrip()[-1:] == ")"


def _escaped(sentences: Iterable[Iterable[str]], origin: Origin | None) -> Corpus:
    """Words as they stand in trees, where brackets are others."""
    from dataclasses import replace

    from corpuscle.text import Corpus

    rows = ([word.replace("(", "-LRB-").replace(")", "-RRB-") for word in each] for each in sentences)
    return replace(Corpus.from_sentences(list(rows)), origin=origin)


def read_sentences(path: str, gold: bool, tagger: str | None) -> tuple[Corpus, list[list[str]] | None]:
    """The sentences of a text, of trees or of a CoNLL-U file, and the tags of their words, if they are wanted."""
    from corpuscle.text import read_conllu, read_text
    from corpuscle.text.conllu import is_treebank
    from corpuscle.text.treebank import Treebank

    tags: list[list[str]] | None = None
    if path != "-" and is_treebank(path):
        bank = read_conllu(path)
        words = _escaped(bank.corpus, bank.origin)
        layer = (bank.xpos if bank.xpos.ids.any() else bank.tags).strings()
        tags = _by_sentence(layer, words) if gold else None
    elif path != "-" and is_brackets(path):
        trees = read_trees(path).without_traces().without_functions()
        words, tags = trees.words, _by_sentence(trees.word_tags, trees.words) if gold else None
    else:
        text = read_text(path)
        lines = list(text)
        if gold:
            tags = [_tags_of(text, number, line) for number, line in enumerate(lines)]
            lines = [[word.rpartition("/")[0] for word in line] for line in lines]
        words = _escaped(lines, text.origin)
    if tagger is not None:
        tagged = load(tagger, "tag").annotate(Treebank.from_sentences(words))
        tags = _by_sentence((tagged.xpos if tagged.xpos.ids.any() else tagged.tags).strings(), words)
    return words, tags


def _tags_of(text: Corpus, number: int, line: list[str]) -> list[str]:
    """The tags of a line of word/TAG."""
    wrong = next((word for word in line if not all(word.rpartition("/")[::2])), None)
    if wrong is not None:
        raise text.error(f"expected word/TAG, not {wrong[:40]!r}", number)
    return [word.rpartition("/")[2] for word in line]


def _by_sentence(values: list[str], words: Corpus) -> list[list[str]]:
    from itertools import pairwise

    starts = words.sentence_starts.tolist()
    return [values[first:last] for first, last in pairwise(starts)]


def written_tree(parsed: Parsed, confidence: bool) -> str:
    """Trees as lines; ``confidence``: with how likely each node is."""
    from dataclasses import replace

    from corpuscle.text import format_brackets
    from corpuscle.text.layers import Layer

    trees = parsed.trees
    if confidence:
        labels = [f"{name}~{sure:.3f}" for name, sure in zip(trees.labels.strings(), parsed.confidence, strict=True)]
        trees = replace(trees, labels=Layer.from_strings(labels, missing=""))
    return "".join(line + "\n" for line in format_brackets(trees.with_root()))


def written_lists(lists: list[Parsed]) -> str:
    """Several trees of each sentence, a line each, and a blank line between sentences."""
    from corpuscle.text import format_brackets

    blocks = ["".join(line + "\n" for line in format_brackets(each.trees.with_root())) for each in lists]
    return "\n".join(block if block.strip() else "\n" for block in blocks)


def shown(trees: Trees, path: str, number: int) -> tuple[list[str], list[NodeShown]]:
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
