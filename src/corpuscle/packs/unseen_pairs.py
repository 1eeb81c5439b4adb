"""What a model of word alignment makes of sentence pairs that it has not seen, where there are no gold links.

How much better does it guess a word when it may look at the translation of the sentence? How often does it find the
right translation of a sentence among others? Both are questions with a known answer, and no annotation is needed. And
which pairs hardly translate each other? Those of which a model that has not seen them is no surer than of sentences
that were matched by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from corpuscle.align import Aligner
from corpuscle.random import Random
from corpuscle.text import Bitext
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import UNKNOWN

__all__ = ["doubts", "measure_unseen"]

_CHOICES, _ASKED = 10, 200


def measure_unseen(model: Aligner, training: Bitext, held_out: Bitext, seed: int) -> dict[str, Any]:
    """What a model that learned from ``training`` makes of other pairs; lists are of the source, then of the target.

    - ``coverage``: the share of words that the model knows;
    - ``bits_with``, ``bits_without``: bits a known word, given the sentence on the other side (None if the method does
      not say how probable a sentence is) or by frequency alone;
    - ``agreement``: of the links that either direction has, the share that both have;
    - ``found`` of ``asked`` sentences: the right one of ``choices`` translations has the highest confidence.
    """
    sides = [(held_out.source, training.source), (held_out.target, training.target)]
    known = [_known(held, learned) for held, learned in sides]
    given = model.log_likelihood(Bitext(*known))[::-1]  # the source's first
    alone = [_by_frequency(corpus, learned) for corpus, (_, learned) in zip(known, sides, strict=True)]
    sizes = np.array([max(1, corpus.n_tokens) for corpus in known]) * math.log(2)
    one, two = model.align_all(held_out, ("forward", "backward")).values()
    agreed, either = len(one.intersection(two).links), len(one.union(two).links)
    return {
        "pairs": len(held_out),
        "coverage": [k.n_tokens / max(1, held.n_tokens) for k, (held, _) in zip(known, sides, strict=True)],
        "bits_with": (-given / sizes).tolist() if np.isfinite(given).all() else None,
        "bits_without": (-np.array(alone) / sizes).tolist(),
        "agreement": agreed / max(1, either),
        "confidence": float(model.confidence(held_out).mean()),
        **_choices(model, held_out, seed),
    }


def _known(corpus: Corpus, training: Corpus) -> Corpus:
    """A text without the words that do not occur in the training text, in the ids of the latter."""
    recoded = corpus.recode(training.vocab)
    kept = recoded.tokens != UNKNOWN
    sentence = np.repeat(np.arange(len(recoded)), recoded.lengths)[kept]
    starts = starts_of(np.bincount(sentence, minlength=len(recoded)))
    return Corpus(recoded.tokens[kept], starts, recoded.vocab)


def _by_frequency(corpus: Corpus, training: Corpus) -> float:
    """The log probability of a text by the frequencies of words alone."""
    frequencies = training.vocab.counts[corpus.tokens] / training.vocab.counts.sum()
    return float(np.log(frequencies).sum())


def _choices(model: Aligner, held_out: Bitext, seed: int) -> dict[str, int]:
    """For some sentences: is the right one of several translations the one of highest confidence?"""
    asked, choices = min(_ASKED, len(held_out)), min(_CHOICES, len(held_out))
    random = Random(seed, "packs/choices")
    offered = []
    for pair in range(asked):
        others = [other for other in random.shuffled(range(len(held_out))) if other != pair]
        offered += [pair, *others[: choices - 1]]
    sources = held_out.source.select(np.repeat(np.arange(asked), choices))
    confidence = model.confidence(Bitext(sources, held_out.target.select(np.array(offered)))).reshape(asked, choices)
    found = (confidence[:, :1] > confidence[:, 1:]).all(axis=1)
    return {"found": int(found.sum()), "asked": asked, "choices": choices}


def doubts(
    bitext: Bitext, learned: Callable[[Bitext, int], Aligner], share: float, seed: int
) -> tuple[np.ndarray, float]:
    """How sure of each pair a model is that learned from the other half of the pairs, float64 (n_pairs,); and how sure
    it is of pairs matched by chance: so sure that ``share`` of them lie below.

    ``learned(pairs, half)`` gives a model. A pair with an empty side has confidence 0.
    """
    order = np.array(Random(seed, "packs/halves").shuffled(range(len(bitext))))
    confidence, by_chance = np.zeros(len(bitext)), []
    for half in (0, 1):
        inside = np.sort(order[half::2])
        model = learned(bitext.select(np.sort(order[1 - half :: 2])), half)
        confidence[inside] = model.confidence(bitext.select(inside))
        mixed = order[half::2]
        by_chance.append(model.confidence(Bitext(bitext.source.select(mixed), bitext.target.select(np.roll(mixed, 1)))))
    return confidence, float(np.quantile(np.concatenate(by_chance), share))
