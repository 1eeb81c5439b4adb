"""NeuralTransliterator: a network reads the letters of a name and writes those of the other script, one by one.

Names are learned whole, spaces being a letter. Several models may write together, the mean of their log probabilities
deciding at each letter, and models that write from the end rank what those have found. Names of one language alone help
too: a model of the other direction, or of this one, makes pairs of them.

Grundkiewicz and Heafield, "Neural machine translation techniques for named entity transliteration", 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.errors import InputError, SettingError, require, warn
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Container, Kind
from corpuscle.neural.base import Lessons, Networks, check_networks, network_arrays
from corpuscle.neural.examples import guide_of
from corpuscle.neural.precision import TOLERANCE, Difference
from corpuscle.text.characters import SPACE, clusters
from corpuscle.text.pairs import Pair, checked_pairs
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.base import Candidate, Transliterator, combined, reversed_pairs
from corpuscle.transliterate.settings import NeuralSettings

__all__ = ["NeuralTransliterator", "Synthetic"]

FEWEST, FEW, SMALL = 50, 200, 2000
"""With fewer pairs there is nothing to learn; with few the phrase model is better; small sets need guidance."""

GUIDE, VALIDATION = 0.5, 500
SYNTHETIC_LENGTH, SYNTHETIC_SHARE, MOST_OVERSAMPLED = 35, 0.48, 16
MANY_SYMBOLS = 5000


class Synthetic(NamedTuple):
    """Names of one language: ``side`` says which one, ``source`` or ``target``. A model makes pairs of them:
    ``helper``, from targets to sources for names of the target side, from sources to targets for others; None: train
    one."""

    names: Sequence[str]
    side: str
    helper: Transliterator | None = None


def _backwards(letters: Sequence[str]) -> np.ndarray:
    """The order of letters from the end, int64; grapheme clusters stay as they are, so that no mark loses its letter.

    >>> _backwards(["k", "e", "\u0301", "a"]).tolist()
    [3, 1, 2, 0]
    """
    places, first = [], 0
    text, ends = "".join(letters), np.cumsum([len(letter) for letter in letters]).tolist()
    done = 0
    for cluster in clusters(text):
        done += len(cluster)
        last = first
        while last < len(letters) and ends[last] <= done:
            last += 1
        places.append(range(first, last))
        first = last
    return np.array([place for part in reversed(places) for place in part], np.int64)


def _check(loaded: Container) -> None:
    check_networks(loaded, NeuralTransliterator.restored(loaded.described))


def _partial(helper: bool) -> Kind:
    """What is kept of an unfinished training: of the model that makes pairs of names, if one is trained, then of the
    members."""
    from corpuscle.neural.members import member_arrays

    stages = [member_arrays("helpers", "0")] * helper + [member_arrays("members")]
    return partial("transliterate.neural", *stages)


class NeuralTransliterator(NeuralSettings, Networks, Transliterator):
    """Learns to write names in another script, letter by letter.

    Learned: see ``Networks``; its symbols are the letters of both sides, and accuracy is that of whole names.
    """

    KIND: ClassVar[Kind] = Kind("transliterate.neural", 1, network_arrays, check=_check)

    def checkpoint(
        self,
        pairs: Sequence[Pair],
        dev: Sequence[Pair] | None,
        path: str | PathLike[str],
        resume: bool = False,
        synthetic: Synthetic | None = None,
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``."""
        require("torch", extra="neural")
        kind = _partial(synthetic is not None and synthetic.helper is None)
        return Checkpoint(path, kind, self.settings, self._signature(pairs, dev, synthetic), resume=resume)

    def _signature(self, pairs: Sequence[Pair], dev: Sequence[Pair] | None, synthetic: Synthetic | None) -> str:
        more = [] if synthetic is None else [Pair(name, (synthetic.side,)) for name in synthetic.names]
        helper = None if synthetic is None or synthetic.helper is None else synthetic.helper.provenance_
        return self.signature(pairs, dev, more) + ("" if helper is None else str(helper.get("signature")))

    def check_development(self, dev: Sequence[Pair]) -> None:
        """An error if nothing can be validated on these pairs."""
        if not len(dev):
            raise InputError(None, None, "the development pairs are empty, and there is nothing to validate on")
        self._rows(dev)

    def fit(
        self,
        pairs: Sequence[Pair],
        dev: Sequence[Pair] | None = None,
        checkpoint: Checkpoint | None = None,
        synthetic: Synthetic | None = None,
    ) -> Self:
        """Learn from names with their accepted targets, each of which counts.

        Training stops, and the best weights are chosen, by ``dev``, which is used for nothing else, or by names held
        out of the pairs: a tenth of them, at most 500.
        """
        require("torch", extra="neural")
        pairs = checked_pairs(pairs)
        if len(pairs) < FEWEST:
            raise InputError(None, None, f"only {len(pairs)} pairs; at least {FEWEST} are needed")
        if len(pairs) < FEW:
            warn(f"only {len(pairs)} pairs: --method phrase learns more from so few")
        training, validation = self.divided(pairs, self.seed, VALIDATION) if dev is None else (pairs, list(dev))
        checkpoint = checkpoint or Checkpoint()
        made: list[Pair] = []
        if synthetic is not None:
            made = self._synthesised(training, validation, synthetic, checkpoint)
        self._learn(training, validation, made, checkpoint)
        self._remember(pairs, validation if dev is not None else ())
        self.provenance_ = {
            "pairs": len(pairs),
            "tuning_pairs": len(validation),
            "synthetic_pairs": len(made),
            "signature": self._signature(pairs, dev, synthetic),
        }
        return self

    def _rows(self, pairs: Iterable[Pair]) -> list[tuple[list[str], list[str]]]:
        """Letters of every name with those of each of its accepted targets, without what is too long or empty."""
        rows, long = [], 0
        for source, targets in pairs:
            left = self._letters(source)
            for target in dict.fromkeys(self.spelling.normal(target) for target in targets):
                right = self._letters(target)
                if not left or not right:
                    raise InputError(None, None, f"the pair {source!r}, {target!r} has an empty side")
                if max(len(left), len(right)) <= self.max_length:
                    rows.append((left, right))
                else:
                    long += 1
        if long:
            warn(f"pairs of more than {self.max_length} letters are left out: {long}")
        if not rows:
            raise InputError(None, None, f"all pairs are longer than {self.max_length} letters")
        return rows

    def _letters(self, name: str) -> list[str]:
        return self.spelling.symbols(self.spelling.normal(name).replace(" ", SPACE))

    def _learn(
        self, training: Sequence[Pair], validation: Sequence[Pair], made: Sequence[Pair], checkpoint: Checkpoint
    ) -> None:
        rows, more = self._rows(training), self._rows(made) if made else []
        times = 1
        if more:
            times = self.oversample or round(SYNTHETIC_SHARE * len(more) / len(rows))
            times = max(1, min(times, self.oversample or MOST_OVERSAMPLED))
            if self.oversample is None:
                self.chosen_["oversample"] = times
        elif self.oversample is not None:
            raise SettingError("oversample is for real pairs among synthetic ones: give --synthetic, too")
        self.vocab_ = Vocab.from_words(sorted({letter for row in (*rows, *more) for side in row for letter in side}))
        if len(self.vocab_) > MANY_SYMBOLS:
            warn(f"{len(self.vocab_):,} different letters make a large model, and most of them are rare")
        lessons = self._lessons(rows * times + more, validation, guided=len(rows))
        self._train(lessons, checkpoint, workers=self.workers, cluster=self.cluster)

    def _lessons(
        self, rows: list[tuple[list[str], list[str]]], validation: Sequence[Pair], guided: int
    ) -> Lessons:
        """Pairs of letters as numbers, with links where so few pairs (``guided``) need them."""
        guide = self.guide if self.guide is not None else GUIDE if guided < SMALL else 0.0
        accepted: dict[tuple[str, ...], list[np.ndarray]] = {}
        encode = self.vocab_.encode
        for source, target in self._rows(validation):
            accepted.setdefault(tuple(source), []).append(encode(target))
        numbers = [(encode(left), encode(right)) for left, right in rows]
        held = [(encode(source), targets) for source, targets in accepted.items()]
        return Lessons(numbers, held, guide=guide, links=self._links(rows) if guide else None)

    def _order_from_end(self, symbols: np.ndarray) -> np.ndarray:
        return _backwards(self.vocab_.decode(symbols))

    def _links(self, rows: list[tuple[list[str], list[str]]]) -> list[np.ndarray]:
        """For each pair a matrix (target letters, source letters): what the aligner links, rows that sum to one."""
        from corpuscle.text.bitext import Bitext
        from corpuscle.text.corpus import Corpus
        from corpuscle.transliterate.links import align_letters

        bitext = Bitext(*(Corpus.from_sentences([row[side] for row in rows]) for side in (0, 1)))
        found = align_letters(bitext, self.aligner, workers=self.workers)
        return [
            guide_of(found.pair(number), np.arange(len(right)), np.arange(len(left)))
            for number, (left, right) in enumerate(rows)
        ]

    def _synthesised(
        self, training: Sequence[Pair], validation: Sequence[Pair], synthetic: Synthetic, checkpoint: Checkpoint
    ) -> list[Pair]:
        """Pairs that a model makes of names of one side, without those that are known or too long."""
        normal, to_source = self.spelling.normal, synthetic.side == "target"
        helper = synthetic.helper
        if helper is None:
            helper = self._helper(training, validation, to_source, checkpoint)
        names = list(dict.fromkeys(normal(name) for name in synthetic.names))
        known = {(normal(source), normal(target)) for source, targets in training for target in targets}
        held = {normal(pair.source) for pair in validation}
        made = []
        for name, found in zip(names, helper.transliterate(names), strict=True):
            if not name or not found:
                continue
            pair = (found[0].target, name) if to_source else (name, found[0].target)
            long = max(len(self._letters(side)) for side in pair) > SYNTHETIC_LENGTH
            if all(pair) and not long and pair[0] not in held and pair not in known:
                made.append(Pair(pair[0], (pair[1],)))
        if not made:
            warn("no synthetic pair is new: learning from the real ones alone")
        return made

    def _helper(
        self, training: Sequence[Pair], validation: Sequence[Pair], to_source: bool, checkpoint: Checkpoint
    ) -> NeuralTransliterator:
        """A single model of the direction that makes the missing side."""
        helper = self.replace(ensemble=1, right_to_left=0, oversample=None)
        pairs, held = (reversed_pairs(training), reversed_pairs(validation)) if to_source else (training, validation)
        rows = helper._rows(pairs)
        helper.vocab_ = Vocab.from_words(sorted({letter for row in rows for side in row for letter in side}))
        helper._train(helper._lessons(rows, held, guided=len(rows)), checkpoint, "helpers")
        return helper

    # ---- writing names

    def check_precision(self, names: Iterable[str], precision: str, tolerance: float = TOLERANCE) -> Difference:
        """Make sure that a precision changes no more than this share of what is written for the first 200 names; an
        error if it does."""
        sources = [self.vocab_.encode(letters) for name in names if (letters := self._letters(name))]
        return self._precise(sources, precision, tolerance, beam=self.beam)

    @property
    def known_letters(self) -> Vocab:
        """The letters of sources in the pairs that were learned from."""
        return self.vocab_

    def transliterate(
        self,
        names: Iterable[str],
        n_best: int = 1,
        sum: bool = False,
        beam: int | None = None,
        precision: str | None = None,
    ) -> list[list[Candidate]]:
        """The best ways to write each name, best first; an empty name has none. Scores are mean log probabilities of a
        letter. ``beam``: another one than the settings say, at least ``n_best``; ``precision``: ``fp32`` or ``int8``,
        which is quicker."""
        if sum:
            raise SettingError("a neural model has one way to write a string: there is nothing to add up")
        beam = max(n_best, self.beam if beam is None else self.SETTINGS["beam"].checked(beam))
        pieces = [self._pieces(name) for name in names]
        wanted = list(dict.fromkeys(tuple(piece) for name in pieces for piece, known in name if known))
        ranked = dict(zip(wanted, self._ranked(wanted, n_best, beam, precision), strict=True))
        lists = [
            [ranked[tuple(piece)] if known else [Candidate("".join(piece), 0.0)] for piece, known in name]
            for name in pieces
        ]
        found = [combined(each, n_best, "") for each in lists]
        return [[Candidate(" ".join(c.target.replace(SPACE, " ").split()), c.score) for c in each] for each in found]

    def _pieces(self, name: str) -> list[tuple[list[str], bool]]:
        """The letters of a name, in one piece; with ``copy_unknown`` cut where letters are not known, and whether each
        piece is."""
        letters = self._letters(name)
        if not self.copy_unknown:
            return [(letters, True)] if letters else []
        pieces: list[tuple[list[str], bool]] = []
        for letter in letters:
            known = letter in self.vocab_
            if pieces and pieces[-1][1] == known:
                pieces[-1][0].append(letter)
            else:
                pieces.append(([letter], known))
        return pieces

    def _ranked(
        self, names: Sequence[tuple[str, ...]], n_best: int, beam: int, precision: str | None
    ) -> list[list[Candidate]]:
        if not names:
            return []
        strange = sorted({letter for name in names for letter in name if letter not in self.vocab_})
        if strange:
            warn(f"letters that were not in the pairs: {' '.join(strange[:10])}")
        found = self._best([self.vocab_.encode(name) for name in names], n_best, beam, precision)
        return [[Candidate("".join(self.vocab_.decode(h.symbols)), float(h.score)) for h in each] for each in found]

    def scores(self, names: Sequence[str], candidates: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """For each candidate of each name the mean log probability by the models of either direction, float64 (n, 2);
        0 where no model writes from the end."""
        sources = [self.vocab_.encode(self._letters(name)) for name in names]
        targets = [[self.vocab_.encode(self._letters(target)) for target in each] for each in candidates]
        one = self._scored(self.decoder(), sources, targets, turned=False)
        other = self._scored(self.backwards, sources, targets, turned=True) if self.right_to_left else one
        return [
            np.column_stack([first, second * bool(self.right_to_left)])
            for first, second in zip(one, other, strict=True)
        ]

    def attention(self, name: str, target: str | None = None) -> tuple[list[str], list[str], np.ndarray]:
        """Which letters the first model looks at: the letters of the name and of what is written (the best way, or the
        given one), and shares float64 (target letters and end, source letters and end)."""
        letters = self._letters(name)
        if not letters:
            raise SettingError("there is no letter in the name")
        written = self._letters(self.transliterate([name])[0][0].target if target is None else target)
        return letters, written, self._looked(self.vocab_.encode(letters), self.vocab_.encode(written))
