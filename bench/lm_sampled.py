"""More text than there is: a text, and behind it sentences drawn from a language model of order 5 of it.

    python -m bench.lm_sampled TEXT TARGET TOKENS

An interpolated model says a word in two steps: with the probability that a context frees it goes on to the shorter one,
else it says one of its own words. Their shares are added up once, so a draw is a binary search for each context.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import numpy as np

from corpuscle.compiled import frozen, kernel
from corpuscle.engine.ngrams.trie import ROOT, state_of, step
from corpuscle.lm import NgramModel
from corpuscle.random import Random, uniform
from corpuscle.text import read_text
from corpuscle.text.vocab import END, START, UNKNOWN

BLOCK = 1 << 18


@kernel
def add_up_shares(tables, shares):
    """``shares[row]`` := what a context itself gives to its words up to this one."""
    for context in range(len(tables.backoff)):
        total, freed = 0.0, np.exp(tables.backoff[context])
        for row in range(tables.first_child[context], tables.first_child[context + 1]):
            total += np.exp(tables.log_probability[row]) - freed * np.exp(tables.log_probability[tables.suffix[row]])
            shares[row] = total


@kernel
def draw_words(tables, model, shares, unigrams, initial, stream, tokens):
    """Fill ``tokens`` with sentences, each behind the END of the one before; the unknown word is never said."""
    state = initial
    for i in range(len(tokens)):
        word = np.int64(UNKNOWN)
        while word == UNKNOWN:
            context = state
            while context != ROOT:
                first, last = np.int64(tables.first_child[context]), np.int64(tables.first_child[context + 1])
                place = first + np.searchsorted(shares[first:last], uniform(stream), side="right")
                if place < last:
                    word = np.int64(tables.words[place])
                    break
                context = np.int64(tables.suffix[context])
            if context == ROOT:
                word = np.int64(np.searchsorted(unigrams, uniform(stream) * unigrams[-1], side="right"))
        tokens[i] = word
        state = initial if word == END else step(model, state, word)[0]


def main(text: str, target: str, tokens: int) -> None:
    """Write a text of so many tokens."""
    corpus = read_text(text, unk_token="literal")
    left = tokens - corpus.n_tokens
    learned = NgramModel(order=5, min_count=1).fit(corpus)
    tables, model = learned.tables_, learned.automaton_
    shares = np.zeros(len(tables.words))
    add_up_shares(tables, shares)
    unigrams = np.cumsum(np.exp(tables.log_probability[: len(learned.vocab_)]))
    initial = state_of(model, frozen(np.array([START]), np.int32))
    words = np.array([*learned.vocab_.strings[:END], "\n", *learned.vocab_.strings[END + 1 :]], object)
    with open(Path(target).with_suffix(".partial"), "wb") as file:
        file.write(Path(text).read_bytes())
        for block in count():
            ids = np.empty(BLOCK, np.int32)
            stream = Random(1, "bench.lm_sampled", 0, block).array()
            draw_words(tables, model, shares, unigrams, initial, stream, ids)
            ends = np.cumsum(ids != END)
            ids = ids[: int(np.searchsorted(ends, left)) + 1]
            left -= int(ends[len(ids) - 1])
            ids[-1] = END
            file.write(" ".join(words[ids]).replace(" \n ", "\n").replace(" \n", "\n").encode())
            if left <= 0:
                break
    Path(target).with_suffix(".partial").rename(target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
