"""Word segmentation: where the words are in text that does not show them, without a dictionary.

- ``NestedSegmenter``: a nested Pitman-Yor language model, learned from unsegmented text, from segmented text or both;
- ``DirichletSegmenter``, ``TrivialSegmenter``: what it is measured against;
- ``Letters``, ``letters_of``, ``word_corpus``: text as letters and gaps, and segmented text back again.
"""

from corpuscle.segment.baselines import DirichletSegmenter, TrivialSegmenter
from corpuscle.segment.letters import Letters, letters_of, word_corpus
from corpuscle.segment.npylm import LexiconEntry, NestedSegmenter

__all__ = [
    "DirichletSegmenter",
    "Letters",
    "LexiconEntry",
    "NestedSegmenter",
    "TrivialSegmenter",
    "letters_of",
    "warm",
    "word_corpus",
]


def warm() -> None:
    """Compile every kernel of this task by running it on a few letters."""
    import os
    import tempfile

    from corpuscle.model import read
    from corpuscle.text.corpus import Corpus

    text = Corpus.from_sentences([["abab"], ["ab", "a"], ["abba"]])
    DirichletSegmenter(iterations=1, workers=1).fit(text)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        model = NestedSegmenter(iterations=2, mh=True, workers=1)
        with model.checkpoint(text, None, path) as checkpoint:
            checkpoint.every = 0.0
            model.fit(text, checkpoint=checkpoint).save(path)
        loaded = NestedSegmenter.from_container(read(path))
        loaded.segment(text)
        loaded.posterior(text, draws=2)
        loaded.perplexity(text, draws=10)
        loaded.lexicon()
