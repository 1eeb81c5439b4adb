"""The simplest transliterator, to compare others with: every letter becomes what it most often stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Self

from corpuscle.settings import learned
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.pairs import Pair
from corpuscle.transliterate.base import Candidate
from corpuscle.transliterate.links import align_letters
from corpuscle.transliterate.preparation import prepare
from corpuscle.transliterate.settings import ALIGNER, SpellingSettings


class LetterMap(SpellingSettings):
    """A map from source letters to target strings, after an alignment that leaves no target letter out.

    Learned: ``map_``, a dict. An unseen letter is left out.
    """

    aligner: str = ALIGNER

    map_: dict[str, str] = learned()

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Count what is linked to each letter; the most frequent string wins, of equally frequent ones the first."""
        words = prepare(pairs, self.spelling).words
        sources = [self.spelling.symbols(word.source) for word in words]
        targets = [self.spelling.symbols(word.targets[0]) for word in words]
        bitext = Bitext(Corpus.from_sentences(sources), Corpus.from_sentences(targets))
        alignments = align_letters(bitext, self.aligner)
        counts: dict[str, Counter[str]] = {}
        links, starts = alignments.links.tolist(), alignments.starts.tolist()
        for source, target, (first, last) in zip(sources, targets, pairwise(starts), strict=True):
            written = [""] * len(source)
            for i, j in links[first:last]:
                written[i] += target[j]
            for letter, string in zip(source, written, strict=True):
                counts.setdefault(letter, Counter())[string] += 1
        self.map_ = {letter: found.most_common(1)[0][0] for letter, found in counts.items()}
        return self

    def transliterate(self, names: Iterable[str]) -> list[list[Candidate]]:
        """The one way to write each name, with score 0."""
        result = []
        for name in names:
            words = self.spelling.normal(name).split()
            written = ["".join(self.map_.get(letter, "") for letter in self.spelling.symbols(word)) for word in words]
            result.append([Candidate(" ".join(written), 0.0)] if words else [])
        return result
