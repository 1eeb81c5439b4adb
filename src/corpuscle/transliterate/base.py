"""What all transliterators share: candidates, ranked ways to write a name; which names they have learned from; the way
back; and the XML of the NEWS tasks."""

from __future__ import annotations

import hashlib
import heapq
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple
from xml.sax.saxutils import escape

from corpuscle.errors import InputError, SettingError, warn
from corpuscle.model import Model
from corpuscle.random import Random
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import AnyPath, suffix_of, write_atomically
from corpuscle.text.heldout import item_hashes, seen
from corpuscle.text.inputs import pairs as read_name_pairs
from corpuscle.text.origin import Listed, error_about
from corpuscle.text.pairs import Pair, read_news
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import Vocab
from corpuscle.transliterate.settings import SpellingSettings


class Candidate(NamedTuple):
    """A way to write a name, and its score: a weighted sum of natural logs, comparable within one name only."""

    target: str
    score: float


class Transliterator(SpellingSettings, Model):
    """The base of transliterators.

    ``NEURAL``: whether networks write, or take part: they warn of unknown letters by themselves, and what has only
    networks can learn from names of one side, too. ``MEANINGLESS``: options of ``transliterate`` that mean nothing, and
    why.
    """

    NEURAL: ClassVar[bool] = False
    MEANINGLESS: ClassVar[Mapping[str, str]] = {}

    def member(self, method: str) -> Any:
        """The model of a method: this one, unless it is made of several."""
        return self

    def transliterate(
        self,
        names: Iterable[str],
        n_best: int = 1,
        sum: bool = False,
        beam: int | None = None,
        precision: str | None = None,
    ) -> list[list[Candidate]]:
        """The best ways to write each name, best first; an empty name has none.

        Of phrases, ``sum``: the score of a string adds up the probabilities of its rewritings, among the best 200 of
        each word. Of networks, ``precision``: ``fp32`` or ``int8``, which is quicker. Of either, ``beam``: another one
        than the settings say.
        """
        if n_best < 1:
            raise SettingError(f"n_best is at least 1, not {n_best}")
        given = {"sum": sum or None, "beam": beam, "precision": precision}
        for name, why in self.MEANINGLESS.items():
            if given.pop(name) is not None:
                raise SettingError(why)
        if beam is not None:
            given["beam"] = self.SETTINGS["beam"].checked(beam)
        return self._written(list(names), n_best, **given)

    @abstractmethod
    def _written(self, *names_and_count: Any, **given: Any) -> list[list[Candidate]]:
        """The n best ways to write a list of names; ``given``: the options that mean something to this model."""

    @property
    @abstractmethod
    def known_letters(self) -> Vocab:
        """The letters of sources in the pairs that were learned from."""

    def unknown_letters(self, names: Iterable[str]) -> Counter[str]:
        """The letters of names that were in no pair, with the number of names that have each: they are copied or left
        out. Spaces and what is neither a letter nor a mark (hyphens, digits) are always copied, and not among them."""
        found: Counter[str] = Counter()
        for name in names:
            letters = {letter for word in self.spelling.normal(name).split() for letter in self.spelling.symbols(word)}
            found.update(letter for letter in letters if letter not in self.known_letters and letter[0].isalpha())
        return found

    def overlap(self, pairs: Sequence[Pair]) -> tuple[float, float]:
        """The shares of names that were in the training and in the tuning pairs."""
        if not len(pairs):
            return 0.0, 0.0
        names = self._names(pairs)
        return float(seen(self.items_, names).mean()), float(seen(self.tuning_items_, names).mean())

    @staticmethod
    def _check_size(pairs: Sequence[Pair], fewest: int, few: int, advice: str) -> None:
        """An error for fewer than ``fewest`` pairs, a warning for fewer than ``few``."""
        if len(pairs) < fewest:
            raise error_about(pairs, f"only {len(pairs)} pairs; at least {fewest} are needed")
        if len(pairs) < few:
            warn(f"only {len(pairs)} pairs: {advice}")

    def _remember(self, training: Iterable[Pair], tuning: Iterable[Pair]) -> None:
        """Keep hashes of names that were learned from."""
        self.items_, self.tuning_items_ = item_hashes(self._names(training)), item_hashes(self._names(tuning))

    def _names(self, pairs: Iterable[Pair]) -> Corpus:
        return Corpus.from_sentences([list(self.spelling.normal(pair.source)) for pair in pairs])

    @staticmethod
    def signature(*parts: Iterable[Pair] | None) -> str:
        """A hash of lists of pairs."""
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            for source, targets in part or ():
                digest.update("\t".join([source, *targets, "\n"]).encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
        return digest.hexdigest()

    def divided(self, pairs: Sequence[Pair], seed: int, most: int | None = None) -> tuple[list[Pair], list[Pair]]:
        """A seeded tenth of the sources held out, at most ``most``; a single one stays for training."""
        names = list(dict.fromkeys(self.spelling.normal(pair.source) for pair in pairs))
        count = min(max(1, len(names) // 10), len(names) - 1, len(names) if most is None else most)
        chosen = set(Random(seed, "transliterate/held out").shuffled(names)[:count])
        inside = [self.spelling.normal(pair.source) in chosen for pair in pairs]
        origin = getattr(pairs, "origin", None)
        parts = ([pair for pair, out in zip(pairs, inside, strict=True) if out is held] for held in (False, True))
        training, held_out = (Listed(part, origin and origin.loose()) for part in parts)
        return training, held_out


def combined(words: Sequence[Sequence[Candidate]], n_best: int, between: str = " ") -> list[Candidate]:
    """The best ways to write a name, by the sum of scores, from the ranked ways to write each of its words.

    >>> lists = [[Candidate("a", -1.0), Candidate("b", -2.0)], [Candidate("c", 0.0), Candidate("d", -0.5)]]
    >>> [(target, score) for target, score in combined(lists, 3)]
    [('a c', -1.0), ('a d', -1.5), ('b c', -2.0)]
    """
    if not words or not all(words):
        return []

    def entry(ranks: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return -sum(ranked[rank].score for ranked, rank in zip(words, ranks, strict=True)), ranks

    first = (0,) * len(words)
    heap, seen = [entry(first)], {first}
    found: list[Candidate] = []
    while heap and len(found) < n_best:
        cost, ranks = heapq.heappop(heap)
        found.append(Candidate(between.join(r[rank].target for r, rank in zip(words, ranks, strict=True)), -cost))
        for position, rank in enumerate(ranks):
            longer = (*ranks[:position], rank + 1, *ranks[position + 1 :])
            if rank + 1 < len(words[position]) and longer not in seen:
                seen.add(longer)
                heapq.heappush(heap, entry(longer))
    return found


def reversed_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """The way back: every target with all the sources it was accepted for.

    >>> reversed_pairs([Pair("a", ("x", "y")), Pair("b", ("x",))])
    [Pair(source='x', targets=('a', 'b')), Pair(source='y', targets=('a',))]
    """
    sources: dict[str, dict[str, None]] = {}
    for source, targets in pairs:
        for target in targets:
            sources.setdefault(target, {})[source] = None
    origin = getattr(pairs, "origin", None)
    return Listed((Pair(target, tuple(found)) for target, found in sources.items()), origin and origin.loose())


_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML can hold, not even escaped."""


def read_names(path: AnyPath) -> list[Pair]:
    """Name pairs from TSV, or from the XML of the NEWS tasks where the file's name ends in ``.xml``."""
    return read_name_pairs(path, None)


def result_lines(names: Iterable[tuple[str, Sequence[Candidate]]]) -> Iterator[str]:
    """Ranked candidates as the NEWS tasks want them, line by line: the rank of a target is its ID.

    A character that XML cannot hold becomes U+FFFD, with a warning.
    """
    replaced = 0

    def text(name: str) -> str:
        nonlocal replaced
        clean, count = _NOT_XML.subn("\ufffd", name)
        replaced += count
        return escape(clean)

    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        '<TransliterationTaskResults SourceLang="" TargetLang="" GroupID="Corpuscle" RunID="1" '
        'RunType="Standard" Comments="">'
    )
    for number, (source, candidates) in enumerate(names, 1):
        yield f'  <Name ID="{number}">'
        yield f"    <SourceName>{text(source)}</SourceName>"
        for rank, (target, _) in enumerate(candidates, 1):
            yield f'    <TargetName ID="{rank}">{text(target)}</TargetName>'
        yield "  </Name>"
    yield "</TransliterationTaskResults>"
    if replaced:
        warn(f"characters that XML cannot hold are written as U+FFFD: {replaced}")


def write_results(names: Iterable[tuple[str, Sequence[Candidate]]], path: AnyPath) -> None:
    """Write ranked candidates as the NEWS tasks want them, see ``result_lines``."""
    with write_atomically(path, "w") as output:
        output.writelines(f"{line}\n" for line in result_lines(names))


def read_results(path: AnyPath) -> list[list[str]]:
    """Ranked targets from what ``apply`` writes: one target a line; source, rank, target, score a line; or XML."""
    if suffix_of(path) == ".xml":
        return [list(pair.targets) for pair in read_news(path, results=True)]
    results: list[list[str]] = []
    for number, fields in read_table(path):
        if len(fields) == 1:
            results.append([target for target in fields if target])
            continue
        if len(fields) != 4 or not (fields[1].isascii() and fields[1].isdecimal()):
            raise InputError(path, number, "expected a target, or source, rank, target and score separated by tabs")
        rank = int(fields[1]) if len(fields[1]) < 10 else 0
        if rank == 1 or rank == 0:
            results.append([])
        if not results or rank != len(results[-1]) + (rank > 0):
            raise InputError(path, number, f"rank {fields[1]} does not follow the one before it")
        if rank:
            results[-1].append(fields[2])
    return results
