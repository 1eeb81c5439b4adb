"""Phrase tables and hierarchical rules from links, against their definitions."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpuscle.align import build_rules, build_table, merged_links
from corpuscle.align.kernels.links import PAD, SYMBOLS, patterns
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus


@st.composite
def aligned(draw):
    """A few sentence pairs over small vocabularies, and their links."""
    pairs = []
    for _ in range(draw(st.integers(1, 3))):
        source, target = (draw(st.lists(st.sampled_from(words), min_size=1, max_size=6)) for words in ("abc", "xyz"))
        cells = list(itertools.product(range(len(source)), range(len(target))))
        pairs.append((source, target, sorted(draw(st.sets(st.sampled_from(cells), max_size=7)))))
    return pairs


def texts(pairs):
    source, target, links = zip(*pairs, strict=True)
    bitext = Bitext(Corpus.from_sentences(source), Corpus.from_sentences(target))
    return bitext, Alignments.from_pairs(links), np.ones(len(bitext))


def tight(n, m, links, longest):
    """All phrase pairs whose outermost words are linked, by definition."""
    for i1, i2, j1, j2 in itertools.product(range(n), range(n), range(m), range(m)):
        if not (i1 <= i2 < i1 + longest and j1 <= j2 < j1 + longest):
            continue
        inside = [(i1 <= i <= i2, j1 <= j <= j2) for i, j in links]
        edges = {i for i, _ in links} >= {i1, i2} and {j for _, j in links} >= {j1, j2}
        if edges and any(a and b for a, b in inside) and all(a == b for a, b in inside):
            yield i1, i2, j1, j2


def replaced(words, first, last, gaps, which):
    """The words first..last with gaps as numbers."""
    out, x = [], first
    while x <= last:
        gap = next((g for g, span in enumerate(gaps, 1) if span[which] == x), None)
        out.append(words[x] if gap is None else gap)
        x = x + 1 if gap is None else gaps[gap - 1][which + 1] + 1
    return tuple(out)


def rules_of(source, target, links, longest):
    """All rules of a sentence pair by definition, with their shares."""
    spans, found = list(tight(len(source), len(target), links, longest)), Counter()
    for span in spans:
        i1, i2, j1, j2 = span
        inner = [s for s in spans if s != span and i1 <= s[0] <= s[1] <= i2]
        own = []
        for gaps in [(), *((g,) for g in inner), *((g, h) for g in inner for h in inner if h[0] > g[1] + 1)]:
            f = replaced(source, i1, i2, gaps, 0)
            free = [i for i, _ in links if i1 <= i <= i2 and not any(g[0] <= i <= g[1] for g in gaps)]
            if len(f) <= SYMBOLS and free:
                own.append((f, replaced(target, j1, j2, gaps, 2)))
        for rule in own:
            found[rule] += 1.0 / len(own)
    return found


def spelled(row, vocab):
    return tuple(vocab.word(symbol) if symbol >= 0 else -symbol for symbol in row.tolist() if symbol != PAD)


@settings(max_examples=150, deadline=None)
@given(aligned(), st.integers(1, 6))
def test_rules_are_those_of_the_definition_and_a_phrase_pair_counts_once(pairs, longest):
    bitext, alignments, weights = texts(pairs)
    table = build_rules(bitext, alignments, weights, longest)
    wanted = sum((rules_of(*pair, longest) for pair in pairs), Counter())
    vocabs = bitext.source.vocab, bitext.target.vocab
    rows = [(row[:SYMBOLS], row[SYMBOLS:]) for row in table.rows]
    found = {tuple(map(spelled, row, vocabs)): n for row, n in zip(rows, table.counts.tolist(), strict=True)}
    assert len(found) == len(table) and found == pytest.approx(dict(wanted))


@settings(max_examples=60, deadline=None)
@given(aligned())
def test_without_gaps_rules_are_tight_phrases_and_probabilities_sum_to_one(pairs):
    table = build_rules(*texts(pairs), 6)
    for column, side in ((2, slice(None, SYMBOLS)), (0, slice(SYMBOLS, None))):
        sums = Counter()
        for row, feature in zip(table.rows, table.features[:, column].tolist(), strict=True):
            sums[row[side].tobytes()] += np.exp(feature)
        assert all(total == pytest.approx(1.0) for total in sums.values())


def matches(pattern, words, longest):
    """Whether a source side matches a stretch of a sentence, by trying all."""

    def rest(pattern, at, first):
        if not pattern:
            return at - first <= longest
        if isinstance(pattern[0], str):
            return at < len(words) and words[at] == pattern[0] and rest(pattern[1:], at + 1, first)
        return any(rest(pattern[1:], end, first) for end in range(at + 1, len(words) + 1))

    return any(rest(pattern, first, first) for first in range(len(words)))


@settings(max_examples=60, deadline=None)
@given(aligned(), st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=2), st.integers(1, 6))
def test_the_rules_and_phrases_that_a_text_can_use(pairs, test, longest):
    bitext, *links = texts(pairs)
    corpus = Corpus.from_sentences(test, bitext.source.vocab)
    rules = build_rules(bitext, *links, longest)
    for row, used in zip(rules.rows, rules.matching(corpus, longest).tolist(), strict=True):
        pattern = spelled(row[:SYMBOLS], bitext.source.vocab)
        assert used == any(matches(pattern, words, longest) for words in test)
    table, _ = build_table(bitext, *links, longest)
    phrases = table.source_phrases()
    for node, used in zip(table.nodes.tolist(), table.matching(corpus).tolist(), strict=True):
        pattern = tuple(bitext.source.vocab.decode(phrases[node]))
        assert used == any(matches(pattern, words, longest) for words in test)


def test_every_pattern_of_a_text_is_listed_once():
    corpus = Corpus.from_sentences([list("abab"), list("b")])
    rows = patterns(corpus.tokens, corpus.sentence_starts, 3)
    found = {spelled(row, corpus.vocab) for row in rows}
    assert len(found) == len(rows)
    assert found == {
        ("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "b", "a"), ("b", "a", "b"), ("a", 1), ("b", 1), (1, "a"),
        (1, "b"), ("a", "b", 1), ("b", "a", 1), ("a", 1, "a"), ("b", 1, "b"), (1, "b", "a"), (1, "a", "b"),
        (1, "a", 2), (1, "b", 2),
    }  # fmt: skip


def test_two_alignments_count_by_halves_and_the_same_one_twice_changes_nothing():
    bitext, links, weights = texts([(["a", "b"], ["x", "y"], [(0, 0), (1, 1)])])
    other = Alignments.from_pairs([[(0, 1)]])
    once, _ = build_table(bitext, links, weights, 7)
    twice, _ = build_table(*merged_links(bitext, [links, links]), 7)
    vocabs = bitext.source.vocab, bitext.target.vocab
    assert list(once.lines(*vocabs)) == list(twice.lines(*vocabs))
    both, _ = build_table(*merged_links(bitext, [links, other]), 7)
    lines = [line.split(" ||| ") for line in both.lines(*vocabs)]
    assert {(f, e): counts.split()[2] for f, e, _, _, counts in lines if f == "a"} == {
        ("a", "x"): "0.5", ("a", "y"): "0.5", ("a", "x y"): "0.5"
    }  # fmt: skip


def test_bars_and_brackets_are_escaped():
    bitext, links, weights = texts([(["|||", "a&b"], ["[X,1]", "y"], [(0, 0), (1, 1)])])
    table, _ = build_table(bitext, links, weights, 1)
    lines = [line.split(" ||| ")[:2] for line in table.lines(bitext.source.vocab, bitext.target.vocab)]
    assert sorted(lines) == [["&#124;&#124;&#124;", "&#91;X,1&#93;"], ["a&amp;b", "y"]]
