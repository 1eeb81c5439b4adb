"""What a model of word alignment makes of sentence pairs that it has not seen, where there are no gold links.

How much better does it predict a word given the translation of the sentence? How often does it find the right
translation of a sentence among others? And which pairs hardly translate each other? Those of which a model that has not
seen them is no surer, compared with the same sentences in other pairs, than of sentences that were matched by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.base import Aligner
from corpuscle.align.kernels.cooccurrence import Pairs, directed
from corpuscle.measure.bootstrap import share
from corpuscle.random import Random
from corpuscle.text import Bitext
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.vocab import UNKNOWN, Vocab

_CHOICES, _ASKED = 10, 200
_TUNED_ON = 500
_OTHERS, _MOST_COMPARED = 12, 100_000
_WEIGHTS = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99], np.float32)


def measure_unseen(model: Aligner, held_out: Bitext, seed: int) -> dict[str, Any]:
    """What a model makes of pairs that it has not seen.

    - ``coverage``: the share of words that the model knows, of the source and of the target;
    - ``agreement``: of the links that either direction has, the share that both have;
    - ``found`` of ``asked`` sentences: the right one of ``choices`` translations has the highest confidence.
    """
    sides = (held_out.source, model.source_vocab_), (held_out.target, model.target_vocab_)
    one, two = model.align_all(held_out, ("forward", "backward")).values()
    agreed, either = len(one.intersection(two).links), len(one.union(two).links)
    return {
        "pairs": len(held_out),
        "coverage": [float(share(_known(held, vocab).n_tokens, held.n_tokens)) for held, vocab in sides],
        "agreement": float(share(agreed, either)),
        "confidence": float(model.confidence(held_out).mean()),
        **_choices(model, held_out, seed),
    }


def _known(corpus: Corpus, vocab: Vocab) -> Corpus:
    """A text without the words that a vocabulary does not have, in the ids of the latter."""
    recoded = corpus.recode(vocab)
    kept = recoded.tokens != UNKNOWN
    sentence = np.repeat(np.arange(len(recoded)), recoded.lengths)[kept]
    starts = starts_of(np.bincount(sentence, minlength=len(recoded)))
    return Corpus(recoded.tokens[kept], starts, recoded.vocab)


def _by_frequency(corpus: Corpus) -> float:
    """The log probability of a text by the frequencies of words in its vocabulary alone."""
    frequencies = corpus.vocab.counts[corpus.tokens] / corpus.vocab.counts.sum()
    return float(np.log(frequencies).sum())


def _log_likelihood(model: Aligner, bitext: Bitext, weights: np.ndarray) -> np.ndarray:
    """The log probability of the target and of the source given the other side, float64 (n, 2), by ``weights`` float32
    (n, 2): with this one a word is translated as the model does it, else it is drawn by frequency alone."""
    return np.array([*model.map(bitext, _mixed, weights), np.zeros(weights.shape)]).sum(axis=0)


def _mixed(model: Any, pairs: Pairs, weights: np.ndarray) -> np.ndarray:
    """``_log_likelihood`` of a chunk."""
    pair = np.repeat(np.arange(len(pairs.cell_starts) - 1), np.diff(pairs.cell_starts))
    row, column = np.divmod(np.arange(len(pair)) - pairs.cell_starts[pair], np.diff(pairs.target_starts)[pair])
    outputs = pairs.target[pairs.target_starts[pair] + column], pairs.source[pairs.source_starts[pair] + row]
    result = np.zeros(weights.shape)
    for d, vocab in enumerate((model.target_vocab_, model.source_vocab_)):
        (table, null), frequency = model.tables_[d], (vocab.counts / vocab.counts.sum()).astype(np.float32)
        for i, weight in enumerate(weights[:, d]):
            links = weight * table[pairs.cells] + (1 - weight) * frequency[outputs[d]]
            from_null = weight * null + (1 - weight) * frequency
            result[i, d] = model.law.expect(directed(pairs, d), links, from_null).likelihood
    return result


def _best_weights(model: Aligner, bitext: Bitext) -> np.ndarray:
    """The weights of ``_log_likelihood`` that suit some pairs which the model has not seen, float32 (1, 2)."""
    some = bitext.select(np.linspace(0, len(bitext), min(len(bitext), _TUNED_ON), endpoint=False).astype(np.int64))
    likelihoods = _log_likelihood(model, some, np.repeat(_WEIGHTS[:, None], 2, axis=1))
    return _WEIGHTS[likelihoods.argmax(axis=0)][None]


def _choices(model: Aligner, held_out: Bitext, seed: int) -> dict[str, int]:
    """For some sentences: is the right one of several different translations the one of highest confidence?

    No sentence is asked about if all have the same translation.
    """
    targets = [held_out.target.sentence(pair).tobytes() for pair in range(len(held_out))]
    choices = min(_CHOICES, len(set(targets)))
    asked = min(_ASKED, len(held_out)) if choices > 1 else 0
    random = Random(seed, "packs/choices")
    offered: list[int] = []
    for pair in range(asked):
        different = {targets[pair]: pair}
        for other in random.shuffled(range(len(held_out))):
            different.setdefault(targets[other], other)
        offered += list(different.values())[:choices]
    sources = held_out.source.select(np.repeat(np.arange(asked), choices))
    target = held_out.target.select(np.array(offered, np.int64))
    confidence = model.confidence(Bitext(sources, target)).reshape(asked, choices)
    found = (confidence[:, :1] > confidence[:, 1:]).all(axis=1)
    return {"found": int(found.sum()), "asked": asked, "choices": choices}


def _with_others(model: Aligner, bitext: Bitext) -> tuple[np.ndarray, np.ndarray]:
    """The mean confidence of each source sentence with other targets, and of each target with other sources, whose
    length is nearly that of its own; both float64 (n_pairs,)."""
    n = len(bitext)
    others = min(n - 1, max(1, min(_OTHERS, _MOST_COMPARED // max(1, n))))
    means = []
    for side in (1, 0):
        by_length = np.argsort((bitext.source, bitext.target)[side].lengths, kind="stable")
        place = np.empty(n, np.int64)
        place[by_length] = np.arange(n)
        total = np.zeros(n)
        for k in range(1, others + 1):
            near = by_length[(place + (k + 1) // 2 * (1 if k % 2 else -1)) % n]
            pairs = (bitext.source, bitext.target.select(near)) if side else (bitext.source.select(near), bitext.target)
            total += model.confidence(Bitext(*pairs))
        means.append(total / max(1, others))
    return means[0], means[1]


class Halves(NamedTuple):
    """Figures of models that learned from the other half of the pairs.

    - ``confidence``: of each pair, float64 (n_pairs,);
    - ``surplus``: by how much it exceeds that of its two sentences with others of their length, float64 (n_pairs,);
    - ``by_chance``: a quantile of the surplus of sentences that were matched by chance;
    - ``bits_with``, ``bits_without``: bits per word of source and target that the model knows, given the sentence on
    the other side (mixed with the frequency of the word), or by frequency alone.
    """

    confidence: np.ndarray
    surplus: np.ndarray
    by_chance: float
    bits_with: list[float]
    bits_without: list[float]


def score_by_halves(bitext: Bitext, learned: Callable[[Bitext, int], Aligner], share: float, seed: int) -> Halves:
    """Learn from one half of the pairs and score the other, and the other way round; ``learned(pairs, half)`` returns a
    model whose method has likelihoods. No side of a pair is empty.

    Pairs with a side without known words say nothing about what the other sentence is worth, and are not in the bits.
    The weight of frequencies is tuned on the half that the model has learned from, as seen by the other model.
    """
    order = np.array(Random(seed, "packs/halves").shuffled(range(len(bitext))))
    confidence, surplus, by_chance = np.zeros(len(bitext)), np.zeros(len(bitext)), []
    given, alone, sizes = np.zeros(2), np.zeros(2), np.zeros(2)
    sides: list[tuple[Aligner, Bitext]] = []
    for half in (0, 1):
        other = bitext.select(np.sort(order[1 - half :: 2]))
        model = learned(Bitext(other.source.counted(), other.target.counted()), half)
        mixed, inside = order[half::2], np.sort(order[half::2])
        unseen = bitext.select(inside)
        confidence[inside] = model.confidence(unseen)
        of_source, of_target = _with_others(model, unseen)
        surplus[inside] = confidence[inside] - (of_source + of_target) / 2
        order_inside = np.searchsorted(inside, mixed)
        turned = np.roll(order_inside, 1)
        matched = Bitext(unseen.source.select(order_inside), unseen.target.select(turned))
        by_chance.append(model.confidence(matched) - (of_source[order_inside] + of_target[turned]) / 2)
        known = Bitext(_known(unseen.source, model.source_vocab_), _known(unseen.target, model.target_vocab_))
        known = known.select((known.source.lengths > 0) & (known.target.lengths > 0))
        sides.append((model, known))
        alone += [_by_frequency(known.source), _by_frequency(known.target)]
        sizes += [known.source.n_tokens, known.target.n_tokens]
    for side, other_side in (sides, sides[::-1]):
        given += _log_likelihood(*side, _best_weights(*other_side))[0, ::-1]  # the source's first
    bits = np.maximum(1, sizes) * math.log(2)
    threshold = float(np.quantile(np.concatenate(by_chance), share))
    return Halves(confidence, surplus, threshold, (-given / bits).tolist(), (-alone / bits).tolist())
