"""Tags as new text would have them, for every sentence of a treebank: each part is tagged by a tagger of the others.

What is learned from gold tags alone trusts tags more than it should. Ten folds as in McDonald, Crammer and Pereira,
"Online large-margin training of dependency parsers", 2005, section 4.
"""

from __future__ import annotations

import numpy as np

from corpuscle.random import folds
from corpuscle.scale import each
from corpuscle.tag.tagger import Tagger
from corpuscle.text.corpus import items_of
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.words import WordSources

__all__ = ["jackknife"]


def jackknife(
    tagger: Tagger, bank: Treebank, n_folds: int = 10, *, sources: WordSources | None = None
) -> Treebank:
    """The treebank with the tags, and lemmas, of taggers that did not see them: one like ``tagger`` (whose settings it
    has, fitted or not) for each part, learned from the other parts; ``sources``: as for ``Tagger.fit``.

    The parts are learned side by side on the threads of ``tagger``; their number changes nothing.
    """
    n_folds = min(n_folds, len(bank))
    if n_folds < 2:
        raise bank.error("one sentence cannot be tagged by a tagger of the others")
    part_of = folds(tagger.seed, "tag.jackknife", len(bank), n_folds)

    def tagged(part: int) -> Treebank:
        learner = tagger.replace(workers=1)
        return learner.fit(bank.select(part_of != part), sources=sources).annotate(bank.select(part_of == part))

    parts = each(tagged, range(n_folds), tagger.threads)
    order = np.concatenate([np.flatnonzero(part_of == part) for part in range(n_folds)])
    tokens, _ = items_of(bank.corpus.sentence_starts, order)
    places = np.argsort(tokens)
    names = {name for part in parts for name in ("tags", "xpos", "features", "lemmas") if getattr(part, name).ids.any()}
    return bank.replace(**{
        name: Layer.from_strings([value for part in parts for value in getattr(part, name).strings()])[places]
        for name in sorted(names)
    })  # fmt: skip
