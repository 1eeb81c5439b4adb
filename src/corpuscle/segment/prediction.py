"""A segmenter as a language model: which word comes next, and sentences drawn from it.

The words that a model knows are a finite list, and every context gives each of them a probability; what is left belongs
to all other words together, which the base measure spells letter by letter. So nothing is unknown, and nothing has to
be normalised:

    P(a new word | context) = 1 - sum of P(w | context) over the words w that the model knows, and the end

A new word is drawn by rejection: the letters spell a word, which is kept with a probability in proportion to the factor
of its type and length (see ``kernels.lengths``), and only if it is new. Letters that the training text does not have
are never drawn.

Mochihashi, Yamada and Ueda, "Bayesian unsupervised word segmentation with nested Pitman-Yor language modeling", 2009,
section 3: "a word n-gram language model directly from characters".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from corpuscle.engine.restaurants.contexts import distribution, predictor
from corpuscle.errors import SettingError
from corpuscle.random import Random
from corpuscle.segment.kernels.apply import final_states
from corpuscle.segment.kernels.lengths import new_word, speller
from corpuscle.segment.kernels.model import BOUNDARY, BOUNDARY_BASE, Nested
from corpuscle.segment.kernels.state import base_logs, tree_of

_ATTEMPTS = 64
"""Blocks of spellings that are tried for one new word."""

_ALWAYS_ON = (0.0, 1.0)
"""Words look at all of their context: the prior of a tree in which nobody stops early."""


class Prediction:
    """One sample of a model, ready to predict words: ``lexicon`` holds the spelling of each by its number, as a tuple
    of letters (the end of a sentence, number 0, has none)."""

    def __init__(self, sample: Mapping[str, np.ndarray], nested: Nested):
        self.nested = nested
        spelled, starts = sample["lexicon"].tolist(), sample["lexicon_starts"].tolist()
        self.lexicon = [(), *(tuple(spelled[begin:end]) for begin, end in pairwise(starts))]
        self._known = set(self.lexicon)
        parameters = sample["words/discounts"], sample["words/strengths"]
        self._words = predictor(tree_of(sample, "words"), *parameters, _ALWAYS_ON)
        self._back = len(parameters[0]) - 1
        logs = base_logs(nested, np.arange(1, len(self.lexicon)))
        self._base = np.concatenate([nested.bases[BOUNDARY_BASE : BOUNDARY_BASE + 1], np.exp(logs)])
        self._speller = speller(nested)

    def after_words(self, words: Sequence[int]) -> np.ndarray:
        """P(word | the words before it, by number; -1: a new one), float64 (words of the lexicon + 2,): the end, the
        known words, and last any new word."""
        context = [int(BOUNDARY)] * self._back + list(words)
        known = distribution(self._words, np.array(context[len(context) - self._back :], np.int64), self._base)
        return np.append(known, max(0.0, 1.0 - known.sum()))

    def after_letters(self, text: np.ndarray, gaps: np.ndarray, longest: int) -> np.ndarray:
        """P(word | the letters before it are whole words), as ``after_words``, over all segmentations of the letters.

        ``text``: int32 (n,); ``gaps``: uint8 (n,), what is known of them; ``longest``: letters of a word.
        """
        if len(text) == 0:
            return self.after_words([])
        contexts, weights = final_states(self.nested, text, gaps, longest)
        found = zip(contexts.tolist(), (weights / weights.sum()).tolist(), strict=True)
        return np.sum([weight * self.after_words(context) for context, weight in found], axis=0)

    def spell(self, stream: np.ndarray) -> tuple[int, ...]:
        """The letters of a new word, drawn from the base measure."""
        for _ in range(_ATTEMPTS):
            letters = new_word(self.nested, self._speller, stream)
            if letters and letters not in self._known:
                return letters
        raise SettingError("the model hardly spells any new words; it cannot be sampled from")

    def sentences(self, n: int, seed: int, temperature: float, max_length: int) -> Iterator[list[tuple[int, ...]]]:
        """Random sentences of at most so many words, each as its letters; a new word is one event for the
        temperature."""
        if not 0 < temperature < np.inf:
            raise SettingError(f"temperature is above 0 and finite, not {temperature}")
        for i in range(n):
            stream, numbers = Random(seed, "segment.sample", 0, i), list[int]()
            spelling, words = Random(seed, "segment.spelling", 0, i).array(), list[tuple[int, ...]]()
            while len(words) < max_length:
                probability = self.after_words(numbers)
                cumulative = np.cumsum((probability / probability.max()) ** (1.0 / temperature))
                word = int(np.searchsorted(cumulative, stream.uniform() * cumulative[-1], side="right"))
                if word == BOUNDARY:
                    break
                new = word == len(self.lexicon)
                numbers.append(-1 if new else word)
                words.append(self.spell(spelling) if new else self.lexicon[word])
            yield words
