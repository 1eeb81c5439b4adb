"""NeuralTranslator: a network reads the pieces of a sentence and writes those of its translation, one by one.

Pieces are learned from both languages together, so that names and numbers look alike on both sides and one matrix
embeds them all. The links of the aligner lead the attention, and say which few targets a sentence can need
(``Shortlist``), so that the output layer may be computed for those alone.

Hoang, Dwojak, Krislauks, Torregrosa and Heafield, "Fast neural machine translation implementation", 2018, for models
and search; Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units", 2016.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from corpuscle.errors import SettingError, require, warn
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Array, Container, Kind
from corpuscle.neural.base import TOLERANCE, Difference, Lessons, Networks, check_networks, guide_of, network_arrays
from corpuscle.neural.output import Shortlist
from corpuscle.neural.subwords import MERGES, Subwords
from corpuscle.settings import learned
from corpuscle.text.alignments import Alignments
from corpuscle.text.bitext import Bitext
from corpuscle.text.corpus import Corpus
from corpuscle.text.vocab import UNKNOWN, Vocab
from corpuscle.text.wording import number
from corpuscle.translate.base import Links, Translation, Translator, each_of
from corpuscle.translate.settings import NeuralSettings

VALIDATION = 500
"""The largest number of pairs that are held out to stop the training."""

DEFAULT_MERGES = 5000

SHORTLIST = {
    "shortlist/always": Array("int32", ("always",), low=0, high="types+3"),
    "shortlist/likely": Array("int32", ("types+3", "likely"), low=-1, high="types+3"),
}


def _arrays(extra: Any) -> dict[str, Array]:
    return network_arrays(extra) | MERGES | SHORTLIST


def _check(loaded: Container) -> None:
    check_networks(loaded, NeuralTranslator.restored(loaded.described))
    Subwords(Vocab.from_arrays(loaded.arrays), loaded.arrays["merges"]).check()


class NeuralTranslator(NeuralSettings, Networks, Translator):
    """Learns to translate, piece by piece.

    Learned: see ``Networks``, its symbols are pieces of words; ``subwords_``, which cuts words into them;
    ``shortlist_``, the targets that pieces were linked to.
    """

    KIND: ClassVar[Kind] = Kind("translate.neural", 1, _arrays, check=_check)
    NEURAL: ClassVar[bool] = True
    MEANINGLESS: ClassVar[Mapping[str, str]] = {"names": "is for phrases: a network spells words that it does not know"}

    subwords_: Subwords = learned()
    shortlist_: Shortlist = learned()

    def _unfinished(self) -> Kind:
        require("torch", extra="neural")
        from corpuscle.neural.training import member_arrays

        return partial("translate.neural", member_arrays("members"))

    def fit(
        self,
        bitext: Bitext,
        dev: Bitext | None = None,
        links: Links | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Learn from sentence pairs, and from the ``links`` of their words if those are known already (of one aligner:
        attention has one place to be led to).

        Training stops, and the best weights are chosen, by ``dev``, which is used for nothing else, or by pairs that
        are held out: a tenth, at most 500.
        """
        require("torch", extra="neural")
        usable = self._usable(bitext)
        held = self._held_out(usable, VALIDATION) if dev is None else usable[:0]
        kept = np.setdiff1d(usable, held)
        part = bitext.select(kept)
        part = Bitext(part.source.counted(), part.target.counted())
        validation = bitext.select(held) if dev is None else self._development(dev, "validate")
        merges = 0 if self.units == "characters" else DEFAULT_MERGES if self.merges is None else self.merges
        self.subwords_ = Subwords.learn(_counts(part), merges)
        self.vocab_ = self.subwords_.vocab
        linked = None
        if self.guide or self.shortlist:
            if links is not None and len(each_of(links)) != 1:
                raise SettingError(f"a network is led by the links of one aligner, not of {len(each_of(links))}")
            linked = self._align(part) if links is None else each_of(links)[0].select(kept)
        lessons = self._lessons(part, validation, linked)
        self._train(lessons, checkpoint or Checkpoint(), workers=self.workers, cluster=self.cluster)
        figures = {"learned_from": len(lessons.rows), "tuning_pairs": len(lessons.validation)}
        self._remember(bitext, validation, dev, links, **figures)
        return self

    def summary(self) -> tuple[dict[str, Any], str]:
        figures = {"pieces": len(self.vocab_), **self.training_figures("validation_bleu")}
        bleu = number(figures["validation_bleu"])
        return figures, f"{len(self.vocab_):,} pieces, BLEU {bleu} held out, without a beam"

    def _lessons(self, part: Bitext, validation: Bitext, linked: Alignments | None) -> Lessons:
        """Pairs as pieces, and which of these are linked; learns the shortlist."""
        rows, kept = self._rows(part)
        held, _ = self._rows(validation)
        matrices = None if linked is None else _matrices(part, self.subwords_, linked, kept)
        self.shortlist_ = self._listed(rows, matrices if self.shortlist else None)
        return Lessons(rows, [(source, [target]) for source, target in held], "bleu", self.guide, matrices)

    def _rows(self, pairs: Bitext) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
        """The pieces of pairs that are not too long, and the numbers of those pairs."""
        sides = [self.subwords_.pieces(side).split() for side in (pairs.source, pairs.target)]
        longest = np.max([[len(pieces) for pieces in side] for side in sides], axis=0)
        kept = np.flatnonzero(longest <= self.max_length)
        if not len(kept):
            raise pairs.error(f"all pairs are longer than {self.max_length} pieces")
        if len(kept) < len(pairs):
            warn(f"pairs of more than {self.max_length} pieces are left out: {len(pairs) - len(kept)}")
        return [(sides[0][i], sides[1][i]) for i in kept.tolist()], kept

    def _listed(
        self, rows: Sequence[tuple[np.ndarray, np.ndarray]], matrices: Sequence[np.ndarray] | None
    ) -> Shortlist:
        """The targets that each piece was linked to, and the most frequent ones; an empty list without links."""
        size = len(self.vocab_)
        if matrices is None:
            return Shortlist(np.zeros(0, np.int32), np.full((size, 0), -1, np.int32))
        found = [np.nonzero(matrix) for matrix in matrices]
        sources = np.concatenate([row[0][i] for row, (_, i) in zip(rows, found, strict=True)])
        targets = np.concatenate([row[1][j] for row, (j, _) in zip(rows, found, strict=True)])
        weights = np.concatenate([matrix[places] for matrix, places in zip(matrices, found, strict=True)])
        counts = np.bincount(np.concatenate([target for _, target in rows]), minlength=size)
        return Shortlist.of_links(sources, targets, weights, counts, size, best=self.shortlist)

    # ---- translating

    def check_precision(self, text: Corpus, precision: str, tolerance: float = TOLERANCE) -> Difference:
        """An error if a precision changes more than this share of the translations of the first 200 sentences."""
        return self._precise(self.subwords_.pieces(text).split(), precision, tolerance, beam=self.beam)

    def translate(
        self,
        text: Corpus,
        n_best: int = 1,
        beam: int | None = None,
        precision: str | None = None,
        shortlist: bool = False,
        scores: bool = True,
    ) -> list[list[Translation]]:
        """The best translations of each sentence, best first; an empty sentence has none. Scores are mean log
        probabilities of a piece. ``beam``: another one than the settings say; ``precision``: ``fp32`` or ``int8``,
        which is quicker; ``shortlist``: write only what the pieces of the sentences were linked to in training;
        ``scores``: without them (NaN) a beam of 1 needs no softmax."""
        if shortlist and not self.shortlist_.likely.shape[1]:
            raise SettingError("the model was trained without a shortlist (--shortlist 0)")
        sources = self.subwords_.pieces(text).split()
        if any((source == UNKNOWN).any() for source in sources):
            known = self.vocab_.ids
            letters = {letter for word in text.vocab.decode(np.unique(text.tokens)) for letter in word}
            warn(f"letters that were not in the pairs: {' '.join(sorted(letters - known.keys())[:10])}")
        beam = self.beam if beam is None else self.SETTINGS["beam"].checked(beam)
        found = self._best(sources, n_best, beam, precision, self.shortlist_ if shortlist else None, scores)
        return [[Translation(self.subwords_.join(h.symbols), float(h.score)) for h in each] for each in found]

    def best(self, text: Corpus, **how: Any) -> list[str]:
        return super().best(text, scores=False, **how)

    def attention(self, sentence: str, target: str | None = None) -> tuple[list[str], list[str], np.ndarray]:
        """Where the first model looks: the pieces of the sentence and of what is written (the best translation, or the
        given one), and shares float64 (target pieces and end, source pieces and end)."""
        text = Corpus.from_sentences([sentence.split()])
        if not text.n_tokens:
            raise SettingError("there is no word in the sentence")
        written = self.translate(text)[0][0].target if target is None else target
        both = [np.concatenate([*self.subwords_.encode(each.split()), np.zeros(0, np.int32)]).astype(np.int32)
                for each in (sentence, written)]  # fmt: skip
        return self.vocab_.decode(both[0]), self.vocab_.decode(both[1]), self._looked(*both)

    # ---- the file

    def _arrays(self) -> dict[str, np.ndarray]:
        listed = {"shortlist/always": self.shortlist_.always, "shortlist/likely": self.shortlist_.likely}
        return {**super()._arrays(), "merges": self.subwords_.merges, **listed}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.subwords_ = Subwords(self.vocab_, loaded.arrays["merges"])
        self.shortlist_ = Shortlist(loaded.arrays["shortlist/always"], loaded.arrays["shortlist/likely"])


def _counts(pairs: Bitext) -> dict[str, int]:
    """The frequency of each word, on both sides together."""
    counts: Counter[str] = Counter()
    for side in pairs.source, pairs.target:
        numbers = np.bincount(side.tokens, minlength=len(side.vocab)).tolist()
        counts.update({word: number for word, number in zip(side.vocab.strings, numbers, strict=True) if number})
    return counts


def _matrices(pairs: Bitext, subwords: Subwords, linked: Alignments, which: Iterable[int]) -> list[np.ndarray]:
    """For some pairs the links of the words that their pieces belong to, see ``guide_of``."""
    source, target = (subwords.pieces(side) for side in (pairs.source, pairs.target))
    return [guide_of(linked.pair(pair), target.words_of(pair), source.words_of(pair)) for pair in which]
