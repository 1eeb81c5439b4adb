"""Heads: which child of a phrase its word of rank comes from; and dependencies that follow from them.

A table has a line for each phrase: its label, the side from which its children are looked at, and labels in the order
of their rank. The head is the first child from that side with the label of best rank; if none is in the table, the
first child from that side. ``*`` is the line of phrases that have none.

Collins, "Head-driven statistical models for natural language parsing", 1999, appendix A (the table for Penn labels is
written after it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from corpuscle.errors import InputError
from corpuscle.grammar.sentences import bank_of_trees
from corpuscle.grammar.tables import Symbols, TreeNodes
from corpuscle.text.files import AnyPath, decode, open_bytes
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees, chain_of, original_label


class HeadRule(NamedTuple):
    """The side from which children are looked at, and the ranks of their labels."""

    from_left: bool
    ranks: Mapping[str, int]


HeadTable = Mapping[str, HeadRule]

_PENN = """
ADJP left NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP right CC RB IN
FRAG right
INTJ left
LST right LS :
NAC left NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NP right NN NNP NNS NNPS NX POS JJR NP $ ADJP PRN CD JJ JJS RB QP
NX right NN NNP NNS NNPS NX POS JJR NP $ ADJP PRN CD JJ JJS RB QP
PP right IN TO VBG VBN RP FW
PRN left
PRT right RP
QP left $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC right VP NP ADVP ADJP PP
S left TO IN VP S SBAR ADJP UCP NP
SBAR left WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ left SQ S SINV SBARQ FRAG
SINV left VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ left VBZ VBD VBP VB MD VP SQ
UCP right
VP left TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP left CC WRB JJ ADJP
WHADVP right CC WRB
WHNP left WDT WP WP$ WHADJP WHPP WHNP
WHPP right IN TO FW
* left
"""


def _rules(text: str, path: AnyPath | None) -> dict[str, HeadRule]:
    table: dict[str, HeadRule] = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) < 2 or fields[1] not in ("left", "right"):
            raise InputError(path, number, "expected a label, left or right, and labels by their rank")
        if fields[0] in table:
            raise InputError(path, number, f"a second line for {fields[0]}")
        table[fields[0]] = HeadRule(fields[1] == "left", {label: rank for rank, label in enumerate(fields[2:])})
    return {"*": HeadRule(True, {}), **table}


PENN: HeadTable = _rules(_PENN, None)
LEFT: HeadTable = {"*": HeadRule(True, {})}


def read_heads(path: AnyPath) -> HeadTable:
    """Read a table of heads."""
    return _rules(decode(open_bytes(path), path), path)


def head_table(trees: Trees) -> HeadTable:
    """The table that fits trees: Penn's, where they have its labels, else the first child."""
    return PENN if {"NP", "VP", "NN"} <= set(trees.labels.used) else LEFT


def head_words(trees: Trees, table: HeadTable) -> np.ndarray:
    """The head of every node as an index into all words, int64 (n_nodes,)."""
    starts, items = (each.tolist() for each in trees.children)
    labels = trees.labels.strings()
    heads = [0] * trees.n_nodes
    for node in range(trees.n_nodes - 1, -1, -1):
        children = items[starts[node] : starts[node + 1]]
        rule = table.get(labels[node], table["*"])
        ordered = children if rule.from_left else children[::-1]
        best = min(ordered, key=lambda item: rule.ranks.get(labels[item], 1000) if item >= 0 else 999)
        heads[node] = heads[best] if best >= 0 else ~best
    return np.array(heads, np.int64)


def binary_heads(nodes: TreeNodes, symbols: Symbols, table: HeadTable) -> np.ndarray:
    """The head of every node of binary trees as an index into all words, as in the trees they were made of."""
    chains = [chain_of(original_label(name)) for name in symbols.names]
    rules = [table.get(chain[-1], table["*"]) for chain in chains]
    part = [name.startswith("@") for name in symbols.names]
    of, lefts, rights = nodes.symbols.tolist(), nodes.lefts.tolist(), nodes.rights.tolist()
    heads, ranks = nodes.words.tolist(), [0] * len(of)
    for node in range(len(of) - 1, -1, -1):
        if lefts[node] < 0:
            continue
        rule = rules[of[node]]
        pair = lefts[node], rights[node]
        left, right = (ranks[at] if part[of[at]] else rule.ranks.get(chains[of[at]][0], 1000) for at in pair)
        first = left < right or (left == right and rule.from_left)
        ranks[node], heads[node] = min(left, right), heads[pair[0] if first else pair[1]]
    return np.array(heads, np.int64)


def to_dependencies(trees: Trees, table: HeadTable | None = None) -> Treebank:
    """Dependencies: the head of a child hangs on the head of its phrase; tags of the trees are XPOS. Traces and words
    without a tree are left out."""
    trees = trees.without_traces().without_functions()
    words = trees.words
    heads_of = head_words(trees, table or head_table(trees))
    first = np.repeat(words.sentence_starts[:-1], words.lengths)
    heads = np.zeros(words.n_tokens, np.int64)
    names = np.full(words.n_tokens, "dep", object)
    starts, items = (each.tolist() for each in trees.children)
    labels = trees.labels.strings()
    for node in range(trees.n_nodes):
        top = int(heads_of[node])
        for item in items[starts[node] : starts[node + 1]]:
            word = int(heads_of[item]) if item >= 0 else ~item
            if word != top:
                heads[word] = top - first[word] + 1
                names[word] = f"{labels[node]}:{labels[item] if item >= 0 else '_'}"
    for root in trees.roots.tolist():
        names[heads_of[root]] = "root"
    bank = bank_of_trees(trees)
    return bank.replace(heads=heads.astype(bank.heads.dtype), relations=Layer.from_strings(names.tolist()))
