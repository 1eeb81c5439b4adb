"""Byte pair encoding: merges and pieces are those of a plain program that counts everything anew."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.neural.subwords import LONGEST, Subwords
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import UNKNOWN


def _joined(word, pair):
    at = 0
    while at + 1 < len(word):
        if (word[at], word[at + 1]) == pair:
            word[at : at + 2] = ["".join(pair)]
        at += 1


def plain(counts, merges):
    """Count all pairs, join the most frequent one everywhere, count again; the pairs, and the words in pieces."""
    letters = sorted({letter for word in counts for letter in word})
    order = {symbol: i for i, symbol in enumerate([*letters, *(f"{letter} " for letter in letters)])}
    words, made = {word: [*word[:-1], f"{word[-1]} "] for word in counts}, []
    while len(made) < merges:
        pairs = Counter()
        for word, pieces in words.items():
            for pair in pairwise(pieces):
                pairs[pair] += counts[word]
        best = min(pairs, key=lambda pair: (-pairs[pair], order[pair[0]], order[pair[1]]), default=None)
        if best is None or pairs[best] < 2:
            break
        made.append(best)
        order.setdefault("".join(best), len(order))
        for pieces in words.values():
            _joined(pieces, best)
    return made, words


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 5), min_size=1, max_size=25),
    st.integers(0, 40),
)
def test_merges_and_pieces_are_those_of_the_plain_program(counts, merges):
    made, words = plain(counts, merges)
    learned = Subwords.learn(counts, merges)
    strings = learned.vocab.strings
    assert [(strings[left], strings[right]) for left, right, _ in learned.merges.tolist()] == made
    assert [learned.vocab.decode(pieces) for pieces in learned.encode(list(counts))] == list(words.values())
    learned.check()


def test_a_new_word_is_cut_by_the_same_merges_in_the_same_order():
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    made, _ = plain(counts, 8)
    learned, new = Subwords.learn(counts, 8), ["lowest", "newer", "wider"]
    for word, pieces in zip(new, learned.encode(new), strict=True):
        expected = [*word[:-1], f"{word[-1]} "]
        for pair in made:
            _joined(expected, pair)
        assert learned.vocab.decode(pieces) == expected


def test_pieces_are_the_text_again_and_know_their_words():
    text = Corpus.from_sentences([["newest", "low"], [], ["lowest"]])
    learned = Subwords.learn({"low": 5, "newest": 6}, 6)
    symbols, words, starts = pieces = learned.pieces(text)
    assert [learned.join(part) for part in pieces.split()] == ["newest low", "", "lowest"]
    assert starts[1] == starts[2] and words[: starts[1]].tolist() == sorted(words[: starts[1]]) and words[0] == 0
    assert len(symbols) == starts[-1] and set(words.tolist()) == {0, 1}


def test_letters_that_were_never_seen_are_unknown_and_long_words_are_cut_first():
    learned = Subwords.learn({"aaa": 3, "ab": 2}, 3)
    assert learned.encode(["axa"])[0].tolist().count(UNKNOWN) == 1
    long = "a" * (3 * LONGEST + 1)
    assert learned.join(np.concatenate(learned.encode([long]))) == long


def test_a_merge_that_does_not_make_its_piece_is_refused():
    learned = Subwords.learn({"low": 5, "newest": 6}, 4)
    merges = np.array(learned.merges)
    merges[0, 2] = merges[1, 2]
    with pytest.raises(ValueError, match="do not make"):
        Subwords(learned.vocab, merges).check()
