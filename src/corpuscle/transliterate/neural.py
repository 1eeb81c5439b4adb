"""NeuralTransliterator: a network reads the letters of a name and writes those of the other script, one by one.

Names of several words are learned and written word by word where both sides have as many, otherwise whole, spaces being
a letter. Several models may write together, the mean of their log probabilities deciding at each letter, and models
that write from the end rank what those have found. Names of one language alone help too: a model of the other
direction, or of this one, makes pairs of them.

``Memory``: a network that has met a word once or twice mostly writes it by its own rules, so it serves as the prior of
what a word becomes: with c(w, t) the number of names in which t stood for w, and P' the network's distribution,

    P(t | w) = (c(w, t) + a P'(t | w)) / (c(w) + a)

Grundkiewicz and Heafield, "Neural machine translation techniques for named entity transliteration", 2018; MacKay and
Peto, "A hierarchical Dirichlet language model", 1995, eq. 11 (a Dirichlet prior of strength a).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from corpuscle.errors import SettingError, require, warn
from corpuscle.learning import Checkpoint, partial
from corpuscle.model import Array, Container, Kind, vocab_arrays
from corpuscle.neural.base import TOLERANCE, Difference, Lessons, Networks, check_networks, guide_of, network_arrays
from corpuscle.settings import learned
from corpuscle.text.corpus import SPACE
from corpuscle.text.origin import error_about
from corpuscle.text.pairs import Pair
from corpuscle.text.scripts import clusters
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.text.wording import percent
from corpuscle.transliterate.base import Candidate, Transliterator, combined, reversed_pairs
from corpuscle.transliterate.preparation import word_pairs, words_match
from corpuscle.transliterate.settings import NeuralSettings

STRENGTH = 0.5
"""The weight of the prior, in names."""


class Memory:
    """Words and their targets. ``entries``: a vocabulary of word and target with a tab between them, with counts."""

    def __init__(self, entries: Vocab):
        self.entries = entries

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Memory:
        """The memory of pairs of words, each of them from one name."""
        counts = Counter(map("\t".join, pairs))
        return cls(Vocab.from_words(counts, list(counts.values())))

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The number of occurrences of each target of a word."""
        found: dict[str, dict[str, int]] = {}
        for entry, count in zip(self.entries.strings[FIRST:], self.entries.counts[FIRST:].tolist(), strict=True):
            word, _, target = entry.partition("\t")
            found.setdefault(word, {})[target] = count
        return found

    def log(self, word: str, target: str, prior: float) -> float:
        """The log probability of a target; ``prior``: that of the network.

        >>> memory = Memory.of([("road", "r"), ("road", "r"), ("road", "ro")])
        >>> [round(math.exp(memory.log("road", target, math.log(0.7))), 3) for target in ("r", "o")]
        [0.671, 0.1]
        >>> round(memory.log("roads", "r", -2.0), 3)
        -2.0
        """
        if word not in self.counts:
            return prior
        seen = self.counts[word]
        count = math.log(seen[target]) if seen.get(target) else -math.inf
        return float(np.logaddexp(count, math.log(STRENGTH) + prior)) - math.log(sum(seen.values()) + STRENGTH)


SMALL = 2000
"""With fewer pairs attention is led by the links of the aligner."""

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
    ends = np.cumsum([len(letter) for letter in letters])
    last = np.searchsorted(ends, np.cumsum([len(cluster) for cluster in clusters("".join(letters))]), "right").tolist()
    parts = [range(*bounds) for bounds in pairwise([0, *last])]  # the letters of each cluster
    return np.array([place for part in reversed(parts) for place in part], np.int64)


def _letters_of(rows: Iterable[tuple[list[str], list[str]]]) -> Vocab:
    return Vocab.from_words(sorted({letter for row in rows for side in row for letter in side}))


def _check(loaded: Container) -> None:
    check_networks(loaded, NeuralTransliterator.restored(loaded.described))
    if any(entry.count("\t") != 1 for entry in _memory(loaded).entries.strings[FIRST:]):
        raise ValueError("what it remembers are no pairs")


def _memory(loaded: Container) -> Memory:
    """The memory of a file; older files have none."""
    return Memory(Vocab.from_arrays(loaded.arrays, "memory/")) if "memories" in loaded.extra else Memory.of([])


def _all_arrays(extra: Mapping[str, Any]) -> dict[str, Array]:
    return network_arrays(extra) | (vocab_arrays("memory/", "memories") if "memories" in extra else {})


class NeuralTransliterator(NeuralSettings, Networks, Transliterator):
    """Learns to write names in another script, letter by letter.

    Learned: see ``Networks``; its symbols are the letters of both sides, and accuracy is that of whole names, or of
    words that are written one by one. And ``memory_``, the names or words of the pairs.
    """

    KIND: ClassVar[Kind] = Kind("transliterate.neural", 1, _all_arrays, check=_check)

    NEURAL = True
    MEANINGLESS: ClassVar = {"sum": "a neural model has one way to write a string: there is nothing to add up"}

    memory_: Memory = learned()

    def checkpoint(
        self,
        pairs: Sequence[Pair],
        dev: Sequence[Pair] | None,
        path: str | PathLike[str],
        resume: bool = False,
        synthetic: Synthetic | None = None,
    ) -> Checkpoint:
        """Where ``fit`` keeps unfinished work while it learns the model ``path``: of the model that makes pairs of
        names, if one is trained, then of the members."""
        require("torch", extra="neural")
        from corpuscle.neural.training import member_arrays

        helper = [] if synthetic is None or synthetic.helper is not None else [member_arrays("helpers", "0")]
        kind = partial("transliterate.neural", *helper, member_arrays("members"))
        return Checkpoint(path, kind, self.settings, self._signature(pairs, dev, synthetic), resume=resume)

    def _signature(self, pairs: Sequence[Pair], dev: Sequence[Pair] | None, synthetic: Synthetic | None) -> str:
        more = [] if synthetic is None else [Pair(name, (synthetic.side,)) for name in synthetic.names]
        helper = None if synthetic is None or synthetic.helper is None else synthetic.helper.provenance_
        return self.signature(pairs, dev, more) + ("" if helper is None else str(helper.get("signature")))

    def check_development(self, dev: Sequence[Pair]) -> None:
        """An error if the model cannot be validated on these pairs."""
        if not len(dev):
            raise error_about(dev, "the development pairs are empty, and there is nothing to validate on")
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
        out of the pairs, a tenth, at most 500. Without ``hold_out`` all are learned from and the last weights are kept.
        """
        require("torch", extra="neural")
        self._check_size(pairs, 50, 200, "--method phrase learns more from so few")
        if self.whole_names is None:
            self.chosen_["whole_names"] = not words_match(pairs)
        training, validation = self.divided(pairs, self.seed, VALIDATION) if dev is None else (pairs, dev)
        if not self.hold_out:
            if dev is not None:
                raise SettingError("with development pairs no names are held out: leave out --no-hold-out")
            if self.schedule_of(self.architecture) != "linear":
                raise SettingError("only a rate that falls in a line ends without held-out names: --schedule linear")
            training = pairs
        checkpoint = checkpoint or Checkpoint()
        made = [] if synthetic is None else self._synthesised(training, validation, synthetic, checkpoint)
        self._learn(training, validation, made, checkpoint)
        self._memorise(pairs)
        self._remember(pairs, validation if dev is not None else ())
        self.provenance_ = {
            "pairs": len(pairs),
            "tuning_pairs": len(validation) if self.hold_out else 0,
            "synthetic_pairs": len(made),
            "signature": self._signature(pairs, dev, synthetic),
        }
        return self

    def _parts(self, pairs: Iterable[Pair]) -> list[tuple[str, str]]:
        """Every name, or every word of it, with each of its accepted targets; those of repeated names are repeated."""
        return [
            part
            for source, targets in pairs
            for part in dict.fromkeys(part for target in targets for part in self._cut(source, target))
        ]

    def _rows(self, pairs: Iterable[Pair]) -> list[tuple[list[str], list[str]]]:
        """The letters of different parts of names and of their targets, without what is too long."""
        rows, long = [], 0
        for source, target in dict.fromkeys(self._parts(pairs)):
            left, right = self._letters(source), self._letters(target)
            if not left or not right:
                raise error_about(pairs, f"the pair {source!r}, {target!r} has an empty side")
            if max(len(left), len(right)) <= self.max_length:
                rows.append((left, right))
            else:
                long += 1
        if long:
            warn(f"pairs of more than {self.max_length} letters are left out: {long}")
        if not rows:
            raise error_about(pairs, f"all pairs are longer than {self.max_length} letters")
        return rows

    @property
    def _by_word(self) -> bool:
        """Whether names are cut into words; a file that does not say so has learned from whole ones."""
        return self.chosen_.get("whole_names", self.whole_names) is False

    def _words(self, name: str) -> list[str]:
        """The parts of a name that are written one by one."""
        normal = self.spelling.normal(name)
        return normal.split() if self._by_word else [normal] if normal else []

    def _cut(self, source: str, target: str) -> list[tuple[str, str]]:
        """The parts of a name with their targets, ``SPACE`` for spaces; the whole name where words do not match."""
        left, right = self.spelling.normal(source), self.spelling.normal(target)
        whole = left.replace(" ", SPACE), right.replace(" ", SPACE)
        return (word_pairs(left, right) if self._by_word else []) or [whole]

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
        self.vocab_ = _letters_of([*rows, *more])
        if len(self.vocab_) > MANY_SYMBOLS:
            warn(f"{len(self.vocab_):,} different letters make a large model, and most of them are rare")
        lessons = self._lessons(rows * times + more, validation, guided=len(rows))
        self._train(lessons, checkpoint, workers=self.workers, cluster=self.cluster)

    def _lessons(self, rows: list[tuple[list[str], list[str]]], validation: Sequence[Pair], guided: int) -> Lessons:
        """Pairs of letters as numbers, with links if there are too few pairs (``guided``) to do without them.
        Validation is on new names, if there are any."""
        guide = self.guide if self.guide is not None else GUIDE if guided < SMALL else 0.0
        accepted: dict[tuple[str, ...], list[np.ndarray]] = {}
        encode = self.vocab_.encode
        for source, target in self._rows(validation):
            accepted.setdefault(tuple(source), []).append(encode(target))
        known = {tuple(source) for source, _ in rows}
        accepted = {source: targets for source, targets in accepted.items() if source not in known} or accepted
        numbers = [(encode(left), encode(right)) for left, right in rows]
        held = [(encode(source), targets) for source, targets in accepted.items()]
        return Lessons(numbers, held, guide=guide, links=self._links(rows) if guide else None, choose=self.hold_out)

    def _memorise(self, pairs: Sequence[Pair]) -> None:
        self.memory_ = Memory.of(self._parts(pairs) if self.remember else [])

    def _order_from_end(self, symbols: np.ndarray) -> np.ndarray:
        return _backwards(self.vocab_.decode(symbols))

    def _links(self, rows: list[tuple[list[str], list[str]]]) -> list[np.ndarray]:
        """For each pair the links of the aligner as a matrix (target letters, source letters) whose rows sum to one."""
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
        helper = synthetic.helper or self._helper(training, validation, to_source, checkpoint)
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
        """A single model of the direction that writes the missing side."""
        helper = self.replace(ensemble=1, right_to_left=0, oversample=None, whole_names=not self._by_word)
        pairs, held = (reversed_pairs(training), reversed_pairs(validation)) if to_source else (training, validation)
        rows = helper._rows(pairs)
        helper.vocab_ = _letters_of(rows)
        helper._train(helper._lessons(rows, held, guided=len(rows)), checkpoint, "helpers")
        helper._memorise(pairs)
        return helper

    def summary(self) -> tuple[dict[str, Any], str]:
        trained = self.training_figures("validation_accuracy")
        figures = {"synthetic_pairs": self.provenance_["synthetic_pairs"], **trained}
        models = f"{figures['models']} model" + "s" * (figures["models"] > 1)
        if not self.hold_out:
            return figures | {"validation_accuracy": None, "cross_entropy": None}, f"{models}, no names were held out"
        return figures, f"{models}, {percent(figures['validation_accuracy'])} of held-out names right without a beam"

    # ---- writing names

    def check_precision(self, names: Iterable[str], precision: str, tolerance: float = TOLERANCE) -> Difference:
        """An error if a precision changes more than this share of what is written for the first 200 names."""
        sources = [self.vocab_.encode(self._letters(word)) for name in names for word in self._words(name)]
        return self._precise(sources, precision, tolerance, beam=self.beam)

    @property
    def known_letters(self) -> Vocab:
        return self.vocab_

    def _written(
        self, names: list[str], n_best: int, beam: int | None = None, precision: str | None = None
    ) -> list[list[Candidate]]:
        """Scores are mean log probabilities per letter, summed over the parts; the beam is at least ``n_best``."""
        beam = max(n_best, beam or self.beam)
        words = [[self._pieces(word) for word in self._words(name)] for name in names]
        wanted = list(dict.fromkeys(tuple(piece) for name in words for word in name for piece, known in word if known))
        ranked = dict(zip(wanted, self._ranked(wanted, n_best, beam, precision), strict=True))

        def written(pieces: list[tuple[list[str], bool]]) -> list[Candidate]:
            lists = [ranked[tuple(piece)] if known else [Candidate("".join(piece), 0.0)] for piece, known in pieces]
            return combined(lists, n_best, "")

        found = [combined(list(map(written, name)), n_best) for name in words]
        return [[Candidate(" ".join(c.target.replace(SPACE, " ").split()), c.score) for c in each] for each in found]

    def _pieces(self, word: str) -> list[tuple[list[str], bool]]:
        """The letters of a word in one piece, or in runs of known and unknown ones (``copy_unknown``)."""
        letters = self._letters(word)
        if not self.copy_unknown:
            return [(letters, True)]
        return [(list(run), known) for known, run in groupby(letters, lambda letter: letter in self.vocab_)]

    def _ranked(
        self, names: Sequence[tuple[str, ...]], n_best: int, beam: int, precision: str | None
    ) -> list[list[Candidate]]:
        if not names:
            return []
        strange = sorted({letter for name in names for letter in name if letter not in self.vocab_})
        if strange:
            warn(f"letters that were not in the pairs: {' '.join(strange[:10])}")
        found = self._best([self.vocab_.encode(name) for name in names], n_best, beam, precision)
        lists = [[Candidate("".join(self.vocab_.decode(h.symbols)), float(h.score)) for h in each] for each in found]
        return self._remembered(["".join(name) for name in names], lists, n_best)

    def _remembered(self, words: Sequence[str], lists: list[list[Candidate]], n_best: int) -> list[list[Candidate]]:
        """Candidates with those of words that were in the pairs among them, in the order of the memory."""
        models, known = self.ensemble + self.right_to_left, self.memory_.counts
        places = [number for number, word in enumerate(words) if word in known]
        pools = [dict.fromkeys([*(c.target for c in lists[i]), *known[words[i]]]) for i in places]
        parts = {(words[i], target): 0.0 for i, pool in zip(places, pools, strict=True) for target in pool}
        logs = self._logs(list(parts)) @ [self.ensemble / models, self.right_to_left / models]
        parts.update(zip(parts, logs.tolist(), strict=True))
        scale = models if self.right_to_left else 1
        for i, pool in zip(places, pools, strict=True):
            totals = [(target, self.memory_.log(words[i], target, parts[words[i], target])) for target in pool]
            ranked = [Candidate(target, scale * log / (len(self._letters(target)) + 1)) for target, log in totals]
            lists[i] = sorted(ranked, key=lambda candidate: -candidate.score)[:n_best]
        return lists

    def _logs(self, parts: Sequence[tuple[str, str]]) -> np.ndarray:
        """Mean log probabilities of targets by the networks of either direction, float64 (n, 2); 0 without networks."""
        sources, targets = ([self.vocab_.encode(self._letters(part[side])) for part in parts] for side in (0, 1))
        logs = np.zeros((len(parts), 2))
        for way in range(1 + bool(self.right_to_left) if parts else 0):
            decoder = self.backwards if way else self.decoder()
            each = self._scored(decoder, sources, [[target] for target in targets], turned=way == 1)
            logs[:, way] = np.concatenate(each)
        return logs

    def scores(self, names: Sequence[str], candidates: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """For each candidate of each name the mean log probability by the models of either direction, with what is
        remembered, float64 (n, 2); 0 where no model writes from the end."""
        cuts = [[self._cut(name, target) for target in each] for name, each in zip(names, candidates, strict=True)]
        parts = list(dict.fromkeys(part for each in cuts for cut in each for part in cut))
        logs = self._logs(parts)
        for way in range(1 + bool(self.right_to_left)):
            logs[:, way] = [self.memory_.log(*part, log) for part, log in zip(parts, logs[:, way], strict=True)]
        of = dict(zip(parts, logs, strict=True))
        return [np.array([np.sum([of[part] for part in cut], 0) for cut in each]).reshape(-1, 2) for each in cuts]

    def attention(self, name: str, target: str | None = None) -> tuple[list[str], list[str], np.ndarray]:
        """Which letters the first model looks at: the letters of the name and of what is written (the best way, or the
        given one), and shares float64 (target letters and end, source letters and end)."""
        from scipy.linalg import block_diag

        letters = self._letters(name)
        if not letters:
            raise SettingError("there is no letter in the name")
        written = self.transliterate([name])[0][0].target if target is None else target
        parts = [[self.vocab_.encode(self._letters(side)) for side in part] for part in self._cut(name, written)]
        shares = block_diag(*(self._looked(*part) for part in parts))  # the space after a word is its end
        return letters, self._letters(written), shares

    # ---- the file

    def _arrays(self) -> Mapping[str, np.ndarray]:
        return {**super()._arrays(), **self.memory_.entries.arrays("memory/")}

    def _extra(self) -> dict[str, Any]:
        return super()._extra() | {"memories": len(self.memory_.entries) - FIRST}

    def _restore(self, loaded: Container) -> None:
        super()._restore(loaded)
        self.memory_ = _memory(loaded)
