"""Penn bracketings: ``(S (NP (DT the) (NN dog)) (VP (VBD slept)))``.

A tree may stand on one line or on many, with or without an outermost node that has no label. Words and labels are kept
as they are written (``-LRB-`` stays ``-LRB-``). Nothing here recurses: the depth of a tree is limited by memory only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from corpuscle.errors import InputError
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.files import AnyPath, decode, open_bytes, write_atomically
from corpuscle.text.layers import Layer, Numbering
from corpuscle.text.origin import Origin
from corpuscle.text.trees import Trees

_TOKEN = re.compile(r"[()\n]|[^() \t\n\r\v\f]+")
_FORBIDDEN = re.compile(r"[() \t\n\r\v\f]")


def _unbalanced(text: str) -> int:
    """The column, from 1 on, of the first closing bracket too many, or where the tree begins that is not closed."""
    depth = place = 0
    for found in re.finditer(r"[()]", text):
        if depth == 0:
            place = found.start()
        depth += 1 if found[0] == "(" else -1
        if depth < 0:
            break
    return place - text.rfind("\n", 0, place)


class _Builder:
    """Collects the arrays of the trees while their brackets are read."""

    def __init__(self, labelled: bool, lines: bool):
        self.labelled, self.lines = labelled, lines
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.nodes: list[int] = []
        self.lengths: list[int] = []
        self.lines_of_trees: list[int] = []
        self.files: list[tuple[str, int]] = []
        self.words = Numbering()
        self.word_parents: list[int] = []

    def add(self, text: str, path: AnyPath | None) -> None:
        if path is not None:
            self.files.append((os.fspath(path), len(self.nodes)))
        line, opened = 1, 0
        stack: list[int] = []
        labels, words = self.labels, []
        base, length = len(labels), 0
        fresh = trees_on_line = 0  # fresh: the last token was an opening bracket
        if self.lines and text and not text.endswith("\n"):
            text += "\n"
        for token in _TOKEN.findall(text):
            if token == "(":
                if fresh and self.labelled and len(stack) > 1:
                    raise InputError(path, line, "a node without a label; only an outermost node may have none")
                if not stack:
                    opened = line
                    trees_on_line += 1
                    if self.lines and trees_on_line > 1:
                        raise InputError(path, line, "a second tree on a line")
                self.parents.append(stack[-1] if stack else -1)
                stack.append(len(labels) - base)
                labels.append("")
                self.begins.append(length)
                self.ends.append(0)
                fresh = 1
            elif token == ")":
                if not stack:
                    raise InputError(path, line, f"unbalanced: a closing bracket too many (column {_unbalanced(text)})")
                node = base + stack.pop()
                if self.begins[node] == length:
                    raise InputError(path, line, f"a node without words: ({labels[node][:40]})")
                self.ends[node] = length
                fresh = 0
                if not stack:
                    self._finish(base, length, opened)
                    base, length = len(labels), 0
            elif token == "\n":
                if self.lines:
                    if stack:
                        raise InputError(path, line, "unbalanced: the tree is not closed at the end of its line")
                    if not trees_on_line:
                        self._finish(base, 0, line)
                    trees_on_line = 0
                line += 1
            elif not stack:
                raise InputError(path, line, f"text outside of brackets: {token[:40]!r}")
            elif fresh and self.labelled:
                labels[-1] = token
                fresh = 0
            else:
                words.append(token)
                self.word_parents.append(stack[-1])
                length += 1
                fresh = 0
        if stack:
            where = f"column {_unbalanced(text)}"
            raise InputError(path, opened, f"unbalanced: the tree that begins here is not closed ({where})")
        self.words.add(words)

    def _finish(self, base: int, length: int, line: int) -> None:
        self.nodes.append(len(self.labels) - base)
        self.lengths.append(length)
        self.lines_of_trees.append(line)

    def trees(self) -> Trees:
        tokens, vocab = self.words.finish()
        origin = None
        if self.files:
            files, firsts = zip(*self.files, strict=True)
            origin = Origin(files, firsts, np.array(self.lines_of_trees, np.int64), range(len(self.nodes)))
        return Trees(
            Corpus(tokens, starts_of(self.lengths), vocab, origin=origin),
            Layer.from_strings(self.labels, missing=""),
            np.array(self.parents, np.int32),
            np.array([self.begins, self.ends], np.int32).T.copy(),
            starts_of(self.nodes),
            np.array(self.word_parents, np.int32),
        )


def read_brackets(
    *paths: AnyPath,
    labelled: bool = True,
    lines: bool = False,
    keep_traces: bool = True,
    keep_functions: bool = True,
    keep_root: bool = True,
) -> Trees:
    """Read trees from files; a folder stands for all files in it, sorted by name.

    ``labelled`` False reads brackets without labels, ``((the dog) slept)``. ``lines`` wants exactly one tree on every
    line and reads a blank line as the tree of an empty sentence. The ``keep`` options take out traces and what they
    leave empty, cut function tags, or take out an outermost node without a meaning (see ``Trees``).
    """
    builder = _Builder(labelled, lines)
    for path in paths:
        for file in _files(path):
            builder.add(decode(open_bytes(file), file), file)
    trees = builder.trees()
    if not keep_traces:
        trees = trees.without_traces()
    if not keep_functions:
        trees = trees.without_functions()
    return trees if keep_root else trees.without_root()


def _files(path: AnyPath) -> list[AnyPath]:
    if not os.path.isdir(path):
        return [path]
    inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith("."))
    if not inside:
        raise InputError(path, None, "no files in this folder")
    return list(inside)


def parse_brackets(texts: Iterable[str]) -> Trees:
    """Trees from strings, a tree each.

    >>> parse_brackets(["(S (NP you) (VP slept))"]).spans.tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    builder = _Builder(labelled=True, lines=True)
    for text in texts:
        builder.add(text.replace("\n", " ") + "\n", None)
    return builder.trees()


def format_brackets(trees: Trees, labelled: bool = True, indent: bool = False) -> Iterator[str]:
    """Each tree as a string on one line; with ``indent`` on several."""
    starts, items = (array.tolist() for array in trees.children)
    words = trees.words.vocab.decode(trees.words.tokens.tolist())
    labels = trees.labels.strings() if labelled else [""] * trees.n_nodes
    leaf = trees.preterminals.tolist()
    for first, last in pairwise(trees.tree_starts.tolist()):
        parts: list[str] = []
        stack: list[tuple[int | None, int, bool]] = [(first, 0, False)] if last > first else []
        while stack:
            item, depth, broken = stack.pop()
            if item is None:
                parts.append(")")
                continue
            parts.append("\n" + "  " * depth if broken else " ")
            if item < 0:
                parts.append(words[~item])
                continue
            parts.append("(" + labels[item])
            stack.append((None, depth, False))
            children = items[starts[item] : starts[item + 1]]
            own_lines = indent and any(child >= 0 and not leaf[child] for child in children)
            stack.extend((child, depth + 1, own_lines) for child in reversed(children))
        text = "".join(parts[1:])
        yield text if labelled else text.replace("( ", "(")


def write_brackets(trees: Trees, path: AnyPath, labelled: bool = True, indent: bool = False) -> None:
    """Write trees, one per line unless ``indent`` is set; the tree of an empty sentence is a blank line."""
    for what, values in (
        ("word", trees.words.vocab.decode(np.unique(trees.words.tokens))),
        ("label", [trees.labels.values[id] for id in np.unique(trees.labels.ids)]),
    ):
        for value in values:
            if _FORBIDDEN.search(value) or (what == "word" and not value):
                raise InputError(path, None, f"a bracketing cannot hold the {what} {value!r}")
    if labelled and (np.delete(trees.labels.ids, trees.roots) == 0).any():
        raise InputError(path, None, "a node that is not outermost has no label")
    with write_atomically(path, "w") as output:
        for text in format_brackets(trees, labelled, indent):
            output.write(text + "\n")
