"""What there is to look at in word vectors: words of middle frequency, and whether nearest neighbours behave alike."""

from __future__ import annotations

import numpy as np

from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import FIRST
from corpuscle.words import HmmClasses, PpmiVectors

_ASKED = 500  # at most this number of words is compared


def alike(vectors: PpmiVectors, model: HmmClasses) -> tuple[float, float, int]:
    """How often vectors and hidden classes agree, how often by chance, and of how many words."""
    words = [word for word in vectors.vocab_.strings[FIRST:] if word in model.vocab_]
    sizes = np.bincount([model.class_of(word) for word in words], minlength=model.n_classes_) / max(1, len(words))
    asked = [word for word in words[:_ASKED] if vectors.vectors_of([word]).any()]
    nearest = [(word, near[0][0]) for word in asked if (near := vectors.nearest(word, 1))]
    pairs = [(model.class_of(word), model.class_of(other)) for word, other in nearest if other in model.vocab_]
    same, chance = [float(a == b) for a, b in pairs], [sizes[a] for a, _ in pairs]
    return float(np.mean(same or [0.0])), float(np.mean(chance or [0.0])), len(pairs)


def of_middle_frequency(text: Corpus, least: int, vectors: PpmiVectors, most: int) -> list[str]:
    """Words with vectors to show: the most frequent ones after those that make up half of the text, where they are
    frequent enough; otherwise all that are."""
    counts = text.vocab.counts
    order = np.argsort(-counts[FIRST:], kind="stable") + FIRST
    after = order[np.cumsum(counts[order]) > counts[FIRST:].sum() / 2]
    kept = [id for id in after if counts[id] >= least] or [id for id in order if counts[id] >= least]
    words = (text.vocab.word(int(id)) for id in kept)
    return [word for word in words if vectors.vectors_of([word]).any()][:most]
