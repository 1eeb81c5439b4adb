"""Binary trees, and what is counted in them: symbols, binary rules, roots, words; and how it stands in a file.

Treebank trees become binary ones whose words all have a tag, and back. What is not learned is taken out: traces and
what they leave empty, function tags, an outermost node that says nothing, a node over a node with the same label. A
chain of nodes becomes one (``NP+NNP``), which makes every node a pair or a tag; wider ones are factored
(``text.binary``). A label that is a phrase and a tag gets ``^t`` where it is a tag.

How likely a tag has a word is smoothed twice. Words that are seen at most ``rare`` times are replaced by their
signature: what they look like (capitals, digits, hyphens) and the longest of their last letters that enough rare words
share. Everything here is a distribution over the words that are kept and the signatures. With c counts, a a tag of the
grammar (``NP+NNP``), t its treebank tag (NNP), s(x) the signature of x:

    p(x | t) = (c(t, x) + w p(s(x) | t) c(x) / c(s(x))) / (c(t) + w)
    p(x | a) = (c(a, x) + v p(x | t)) / (c(a) + v)

so a word can have any tag that words of its look have, and any chain above that tag. With v = w = 0 it is the relative
frequency.

Petrov, Barrett, Thibaux and Klein, "Learning accurate, compact, and interpretable tree annotation", 2006 (classes of
unknown words).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from corpuscle.engine.dp.cky import Rules, rules_for
from corpuscle.errors import warn
from corpuscle.hashing import find
from corpuscle.model import Array, Container, vocab_arrays
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.trees import Trees, binarise, chain_of, collapse_unaries, expand_unaries, original_label, unbinarise
from corpuscle.text.vocab import FIRST, Vocab

# ---- binary trees


_TAG = "^t"


def clean(trees: Trees) -> Trees:
    """Trees without traces, function tags, meaningless roots and repeated labels; a root without a label is a TOP."""
    trees = trees.without_traces().without_functions().without_root().without_repeats()
    if (trees.labels.ids > 0).all():
        return trees
    return dataclasses.replace(trees, labels=Layer.from_strings([each or "TOP" for each in trees.labels.strings()], ""))


def prepare(trees: Trees, side: str, horizontal: int, vertical: int) -> Trees:
    """Clean trees as binary ones; every word has a tag of its own."""
    trees = clean(trees)
    bare = np.flatnonzero(~trees.preterminals[trees._word_nodes])
    if len(bare):
        number = int(np.searchsorted(trees.words.sentence_starts, bare[0], "right")) - 1
        word = trees.words.vocab.word(int(trees.words.tokens[bare[0]]))
        raise trees.error(f"tree {number + 1:,}: the word {word!r} has no tag of its own", number)
    trees = binarise(collapse_unaries(trees), side, horizontal, vertical)
    ids, tags = trees.labels.ids, trees.preterminals
    values = trees.labels.values
    both = np.intersect1d(ids[tags], ids[~tags]).tolist()
    if not both:
        return trees
    warn(
        f"{len(both)} labels are phrases and tags: {', '.join(values[id] for id in both[:5])}; as tags they get {_TAG}"
    )
    wrong = tags & np.isin(ids, both)
    labels = [values[id] + _TAG if bad else values[id] for id, bad in zip(ids.tolist(), wrong.tolist(), strict=True)]
    return dataclasses.replace(trees, labels=Layer.from_strings(labels, missing=""))


def sequence_trees(bank: Treebank) -> Trees:
    """Words with their tags (XPOS where there are any, else UPOS) as trees that branch to the right: above the words
    from the i-th on stands ``=t``, t the i-th tag. A rule ``=t`` -> t ``=u`` is a step from one tag to the next, so a
    grammar with hidden states is a tagger with hidden states behind its tags."""
    tags = (bank.xpos if bank.xpos.ids.any() else bank.tags).strings()
    names = sorted({*tags, *(f"={tag}" for tag in tags)})
    number = {name: at for at, name in enumerate(names)}
    found = []
    for first, last in pairwise(bank.corpus.sentence_starts.tolist()):
        nodes, n = [], last - first
        for i, tag in enumerate(tags[first:last]):
            nodes += [(number[f"={tag}"], i, n)] if i + 1 < n else []
            nodes.append((number[tag], i, i + 1))
        found.append(np.array(nodes, np.int32).reshape(-1, 3))
    return trees_from(found, bank.corpus, names)


def restore(trees: Trees) -> Trees:
    """Binary trees as they would stand in a treebank."""
    return expand_unaries(unbinarise(trees))


class Symbols(NamedTuple):
    """The labels of binary trees: phrases first, then tags; ``base``: of each tag, the number of the treebank's own
    tag, which is the last of its chain, int64 (n_tags,); ``bases``: their names."""

    names: list[str]
    n_phrases: int
    base: np.ndarray
    bases: list[str]

    @classmethod
    def of(cls, names: list[str], n_phrases: int) -> Symbols:
        """From the names of phrases and tags."""
        ends = [chain_of(original_label(name))[-1] for name in names[n_phrases:]]
        bases = sorted(set(ends))
        numbers = {name: number for number, name in enumerate(bases)}
        return cls(names, n_phrases, np.array([numbers[end] for end in ends], np.int64), bases)


class TreeNodes(NamedTuple):
    """The nodes of all binary trees in preorder, as numbers.

    - ``symbols``: int32 (n_nodes,); ``parents``, ``lefts``, ``rights``: int64 (n_nodes,), nodes or -1;
    - ``words``: int64 (n_nodes,), the word below a tag as an index into all words, -1 for phrases;
    - ``spans``: int64 (n_nodes, 2), within the sentence; ``tree_starts``: int64 (n_trees + 1,).
    """

    symbols: np.ndarray
    parents: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    words: np.ndarray
    spans: np.ndarray
    tree_starts: np.ndarray


def nodes_of(trees: Trees) -> tuple[Symbols, TreeNodes]:
    """The nodes of prepared trees, and their symbols."""
    values, tags = trees.labels.values, trees.preterminals
    used = np.unique(trees.labels.ids)
    is_tag = np.zeros(len(values), bool)
    is_tag[trees.labels.ids[tags]] = True
    order = sorted(used.tolist(), key=lambda id: (bool(is_tag[id]), values[id]))
    numbers = np.full(len(values), -1, np.int32)
    numbers[order] = np.arange(len(order))
    starts, items = trees.children
    first, second = starts[:-1], starts[:-1] + 1
    pair = ~tags
    lefts, rights, words = (np.full(trees.n_nodes, -1, np.int64) for _ in range(3))
    lefts[pair], rights[pair] = items[first[pair]], items[second[pair]]
    words[tags] = ~items[first[tags]]
    parents = np.where(trees.parents < 0, -1, trees._node_parents)
    symbols = Symbols.of([values[id] for id in order], int((~is_tag[order]).sum()))
    spans = trees.spans.astype(np.int64)
    return symbols, TreeNodes(numbers[trees.labels.ids], parents, lefts, rights, words, spans, trees.tree_starts)


def trees_from(found: list[np.ndarray], words: Corpus, names: list[str]) -> Trees:
    """Trees from nodes (symbol, first word, end) in preorder, int32 (n_nodes, 3); none for a sentence without a tree,
    whose words are then left out."""
    parents: list[int] = []
    word_parents: list[int] = []
    for nodes in found:
        stack: list[tuple[int, int]] = []  # end of a span, number of its node
        above: dict[int, int] = {}  # the lowest node above each word
        for number, (_, first, end) in enumerate(nodes.tolist()):
            while stack and stack[-1][0] <= first:
                stack.pop()
            parents.append(stack[-1][1] if stack else -1)
            stack.append((end, number))
            if end - first == 1:
                above[first] = number
        word_parents += above.values()
    all_nodes = np.concatenate([np.empty((0, 3), np.int32), *found])
    empty = np.array([len(nodes) == 0 for nodes in found], bool)
    if empty.any():
        kept = words.tokens[np.repeat(~empty, words.lengths)]
        words = Corpus(kept, starts_of(np.where(empty, 0, words.lengths)), words.vocab, origin=words.origin)
    return Trees(
        words,
        Layer.from_strings([names[symbol] for symbol in all_nodes[:, 0].tolist()], missing=""),
        np.array(parents, np.int32),
        np.ascontiguousarray(all_nodes[:, 1:], np.int32),
        starts_of([len(nodes) for nodes in found]),
        np.array(word_parents, np.int32),
    )


TABLES: dict[str, Array] = {
    **vocab_arrays("symbols/", "symbols"), **vocab_arrays("words/", "words"), **vocab_arrays("looks/", "looks"),
    "rules/parents": Array("int32", ("rules",), low=0, high="phrases"),
    "rules/lefts": Array("int32", ("rules",), low=0, high="symbols"),
    "rules/rights": Array("int32", ("rules",), low=0, high="symbols"),
    "rules/counts": Array("float64", ("rules",), low=0.0, finite=True),
    "root/counts": Array("float64", ("symbols",), low=0.0, finite=True, sums="positive"),
    "lexicon/offsets": Array("int64", ("entries+1",), offsets_into="pairs"),
    "lexicon/tags": Array("int32", ("pairs",), low=0, high="tags"),
    "lexicon/counts": Array("float64", ("pairs",), low=0.0, finite=True),
}  # fmt: skip

# ---- words


UNKNOWN = "<>"
"""The signature of words that look like nothing before."""
_ENOUGH = 5


def signatures_of(word: str) -> list[str]:
    """What an unknown word looks like, the most telling first."""
    shape = "<"
    if word[:1].isupper():
        shape += "A" if len(word) > 1 and word.isupper() else "C"
    if any(c.isdigit() for c in word):
        shape += "0" if not any(c.isalpha() for c in word) else "1"
    if "-" in word:
        shape += "-"
    if not any(c.isalnum() for c in word):
        shape += "."
    ends = [word.lower()[-length:] for length in (3, 2, 1) if len(word) > length + 1 and word[-length:].isalpha()]
    return [*(f"{shape}>{end}" for end in ends), f"{shape}>"]


def _members(groups: np.ndarray, count: int) -> csr_array:
    """Which group each item is in: 0 and 1, (n_items, n_groups)."""
    return csr_array((np.ones(len(groups)), (np.arange(len(groups)), groups)), shape=(len(groups), count))


class Lexicon:
    """Counts of tags with words.

    - ``words``: the words that are kept; ``looks``: the signatures of others, whose entries follow those of the words;
    - ``counts``: float64 (n_entries, n_tags), sparse: how often a tag has a word or a signature;
    - ``chains``, ``classes``: v and w above.
    """

    def __init__(
        self, words: list[str], looks: list[str], counts: csr_array, symbols: Symbols, chains: float, classes: float
    ):
        self.words, self.looks, self.counts = words, looks, counts
        self.chains, self.classes = chains, classes
        self._number = {word: number for number, word in enumerate(words)}
        self._look = {look: number for number, look in enumerate(looks)}
        self._base = symbols.base
        look_of = [*(self._look_of(word) for word in words), *range(len(looks))]
        self._look_number = np.array(look_of, np.int64)
        self.by_tag = np.asarray(counts.sum(axis=0)).ravel()
        self._by_base = np.bincount(self._base, self.by_tag, len(symbols.bases))
        self._to_base = _members(self._base, len(symbols.bases))
        of_entry = np.asarray(counts.sum(axis=1)).ravel()
        of_look = np.bincount(self._look_number, of_entry, len(looks))
        self._share = of_entry / np.maximum(of_look[self._look_number], 1e-300)
        looking = csr_array(_members(self._look_number, len(looks)).T)
        self._looks_by_base = (looking @ counts @ self._to_base).toarray() / np.maximum(self._by_base, 1e-300)

    @classmethod
    def learned(
        cls, words: Sequence[str], tags: np.ndarray, symbols: Symbols, rare: int, chains: float, classes: float
    ) -> tuple[Lexicon, np.ndarray]:
        """From words and the numbers of their tags (from 0 on); also the entry of every word, int64 (n_words,)."""
        seen = Counter(words)
        kept = sorted(word for word, count in seen.items() if count > rare)
        known = {word: number for number, word in enumerate(kept)}
        unknown = {word: count for word, count in seen.items() if count <= rare}
        common = Counter(look for word, count in unknown.items() for look in signatures_of(word) * count)
        chosen = {
            word: next((look for look in signatures_of(word) if common[look] >= _ENOUGH), UNKNOWN) for word in unknown
        }
        looks = sorted({*chosen.values(), UNKNOWN})
        number = known | {word: len(known) + looks.index(look) for word, look in chosen.items()}
        entries = np.array([number[word] for word in words], np.int64)
        table = np.ones(len(entries)), (entries, tags)
        counts = csr_array(table, shape=(len(known) + len(looks), len(symbols.base)))
        if classes > 0:  # words that look like nothing before have the tags of rare words, as one word that was seen
            rare_ones = entries >= len(known)
            shares = np.bincount(tags[rare_ones] if rare_ones.any() else tags, minlength=len(symbols.base))
            last = np.full(len(shares), len(known) + looks.index(UNKNOWN))
            extra = shares / shares.sum(), (last, np.arange(len(shares)))
            counts = csr_array(counts + csr_array(extra, shape=counts.shape))
        counts.sum_duplicates()
        counts.eliminate_zeros()
        counts.sort_indices()
        return cls(kept, looks, counts, symbols, chains, classes), entries

    def _look_of(self, word: str) -> int:
        return next((self._look[look] for look in signatures_of(word) if look in self._look), self._look[UNKNOWN])

    def entry(self, word: str, first: bool = False) -> int:
        """The number of a word, or of its class if it is unknown; the first word of a sentence may be written large."""
        number = self._number.get(word)
        if number is None and first:
            number = self._number.get(word[:1].lower() + word[1:])
        return len(self.words) + self._look_of(word) if number is None else number

    def entries(self, sentence: Sequence[str]) -> np.ndarray:
        """The entries of the words of a sentence, int64."""
        return np.array([self.entry(word, i == 0) for i, word in enumerate(sentence)], np.int64)

    def weights(self, entries: np.ndarray) -> np.ndarray:
        """How likely every tag has these entries, float64 (len(entries), n_tags)."""
        rows = self.counts[entries].toarray()
        looks = self._looks_by_base[self._look_number[entries]] * self._share[entries][:, None]
        base = (rows @ self._to_base + self.classes * looks) / np.maximum(self._by_base + self.classes, 1e-300)
        return (rows + self.chains * base[:, self._base]) / np.maximum(self.by_tag + self.chains, 1e-300)


class Tables(NamedTuple):
    """A treebank's counts: ``rules`` with relative frequencies as weights, ``counts`` of rules float64 (n_rules,),
    ``roots`` float64 (n_symbols,)."""

    symbols: Symbols
    rules: Rules
    counts: np.ndarray
    roots: np.ndarray
    lexicon: Lexicon

    @property
    def root(self) -> np.ndarray:
        """How likely each symbol is the root, float64 (n_symbols,)."""
        return self.roots / max(self.roots.sum(), 1e-300)

    def arrays(self) -> dict[str, np.ndarray]:
        """As they stand in a file, see ``TABLES``."""
        table = self.lexicon.counts
        return {
            **Vocab.from_words(self.symbols.names).arrays("symbols/"),
            **Vocab.from_words(self.lexicon.words).arrays("words/"),
            **Vocab.from_words(self.lexicon.looks).arrays("looks/"),
            "rules/parents": self.rules.parents, "rules/lefts": self.rules.lefts, "rules/rights": self.rules.rights,
            "rules/counts": self.counts, "root/counts": self.roots, "lexicon/offsets": table.indptr.astype(np.int64),
            "lexicon/tags": table.indices.astype(np.int32), "lexicon/counts": table.data,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_phrases: int, chains: float, classes: float) -> Tables:
        """From arrays that have been validated."""
        names, words, looks = (
            Vocab.from_arrays(arrays, prefix).strings[FIRST:] for prefix in ("symbols/", "words/", "looks/")
        )
        symbols = Symbols.of(names, n_phrases)
        shape = (len(words) + len(looks), len(names) - n_phrases)
        table = csr_array((arrays["lexicon/counts"], arrays["lexicon/tags"], arrays["lexicon/offsets"]), shape=shape)
        lexicon = Lexicon(words, looks, table, symbols, chains, classes)
        parents, lefts, rights = (arrays[f"rules/{part}"] for part in ("parents", "lefts", "rights"))
        roots = np.array(arrays["root/counts"])
        return cls.of(symbols, parents, lefts, rights, arrays["rules/counts"], roots, lexicon)

    @classmethod
    def of(
        cls, symbols: Symbols, parents: Any, lefts: Any, rights: Any, counts: Any, roots: np.ndarray, lexicon: Lexicon
    ) -> Tables:
        """From counts; rules are ordered as ``rules_for`` wants them."""
        n = len(symbols.names)
        counts = np.array(counts, np.float64)
        rules = rules_for(parents, lefts, rights, counts, n)
        totals = np.bincount(rules.parents, counts, n)
        return cls(symbols, rules._replace(weights=counts / totals[rules.parents]), counts, roots, lexicon)


def check_tables(content: Container) -> None:
    arrays, extra = content.arrays, content.extra
    names = Vocab.from_arrays(arrays, "symbols/").strings[FIRST:]
    if not 0 <= extra.get("phrases", -1) < len(names) or extra.get("tags") != len(names) - extra["phrases"]:
        raise ValueError("its phrases and tags are not its symbols")
    sizes = [len(arrays[f"{part}/offsets"]) - 1 for part in ("words", "looks", "lexicon")]
    if sizes[0] + sizes[1] != sizes[2]:
        raise ValueError("its lexicon does not have an entry for each word and each look")
    if UNKNOWN not in Vocab.from_arrays(arrays, "looks/").strings:
        raise ValueError("its lexicon has no place for unknown words")
    left, right, parent = (arrays[f"rules/{part}"].astype(np.int64) for part in ("lefts", "rights", "parents"))
    if (np.diff((left * len(names) + right) * len(names) + parent) <= 0).any() or (arrays["rules/counts"] <= 0).any():
        raise ValueError("its rules are not in order")
    rows = np.repeat(np.arange(sizes[2]), np.diff(arrays["lexicon/offsets"]))
    keys = rows * (len(names) + 1) + arrays["lexicon/tags"]
    if (np.diff(keys) <= 0).any() or (arrays["lexicon/counts"] <= 0).any():
        raise ValueError("its lexicon is not in order")


class Counted(NamedTuple):
    """A treebank as numbers: its nodes; ``rules`` int64 (n_nodes,), the rule of each phrase, -1 for tags; ``pairs``
    int64 (n_nodes,), the place of a tag and its word in the lexicon's counts, -1 for phrases."""

    nodes: TreeNodes
    rules: np.ndarray
    pairs: np.ndarray

    @property
    def roots(self) -> np.ndarray:
        """The root of every tree that has nodes."""
        return np.flatnonzero(self.nodes.parents < 0)


def _pairs(nodes: TreeNodes, entries: np.ndarray, tables: Tables) -> np.ndarray:
    """Where the tag and the word of each tag node stand in the lexicon's counts; -1 where they do not."""
    table, n_phrases = tables.lexicon.counts, tables.symbols.n_phrases
    width = table.shape[1]
    keys = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)) * width + table.indices
    tags = nodes.words >= 0
    pairs = np.full(len(tags), -1, np.int64)
    pairs[tags] = find(entries[nodes.words[tags]] * width + nodes.symbols[tags] - n_phrases, keys)
    return pairs


def count_trees(binary: Trees, *, rare: int, chains: float, classes: float) -> tuple[Tables, Counted]:
    """Count prepared trees."""
    if binary.n_nodes == 0:
        raise binary.error("there are no trees with words")
    symbols, nodes = nodes_of(binary)
    n, tags = len(symbols.names), nodes.words >= 0
    tag_of = np.empty(binary.words.n_tokens, np.int64)
    tag_of[nodes.words[tags]] = nodes.symbols[tags] - symbols.n_phrases
    words = binary.words.vocab.decode(binary.words.tokens.tolist())
    lexicon, entries = Lexicon.learned(words, tag_of, symbols, rare, chains, classes)
    pair = ~tags
    left, right = (nodes.symbols[children[pair]].astype(np.int64) for children in (nodes.lefts, nodes.rights))
    keys, number, counts = np.unique(
        (left * n + right) * n + nodes.symbols[pair], return_inverse=True, return_counts=True
    )
    roots = np.bincount(nodes.symbols[nodes.parents < 0], minlength=n).astype(np.float64)
    tables = Tables.of(symbols, keys % n, keys // n // n, keys // n % n, counts, roots, lexicon)
    rules = np.full(len(tags), -1, np.int64)
    rules[pair] = number
    return tables, Counted(nodes, rules, _pairs(nodes, entries, tables))


def number_nodes(binary: Trees, tables: Tables) -> tuple[Counted, np.ndarray, np.ndarray]:
    """Prepared trees of any origin by the numbers of known symbols and rules; also the lexicon's entries of all words,
    and which trees have nothing that is not known, bool (n_trees,). A word that is new to its tag has the pair -1."""
    theirs, nodes = nodes_of(binary)
    n, names = len(tables.symbols.names), {name: i for i, name in enumerate(tables.symbols.names)}
    symbols = np.array([names.get(name, -1) for name in theirs.names], np.int64)[nodes.symbols]
    tags = nodes.words >= 0
    tree = np.repeat(np.arange(len(binary)), np.diff(nodes.tree_starts))
    unknown = (symbols < 0) | (tags != (symbols >= tables.symbols.n_phrases))
    nodes = nodes._replace(symbols=np.maximum(symbols, tables.symbols.n_phrases * tags).astype(np.int32))
    known = (tables.rules.lefts.astype(np.int64) * n + tables.rules.rights) * n + tables.rules.parents
    wanted = (nodes.symbols[nodes.lefts].astype(np.int64) * n + nodes.symbols[nodes.rights]) * n + nodes.symbols
    rules = np.where(tags, -1, find(wanted, known))
    unknown |= ~tags & (rules < 0)
    entries = np.concatenate([np.empty(0, np.int64), *map(tables.lexicon.entries, binary.words)])
    whole = np.bincount(tree, unknown, len(binary)) == 0
    return Counted(nodes, rules, _pairs(nodes, entries, tables)), entries, whole
