"""Analysers: who proposes the analyses of a form.

``Lexicon``: those that a form has in a treebank, and in a table of forms if there is one. ``Proposals``: those of
Buckwalter's tables (``buckwalter``). ``Guesser``: for any other
form, those of the words of the treebank that share its longest ending (5 letters down to none), with the lemma by the
rule that made theirs. A form without letters has the one analysis that most such forms have.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.buckwalter import load_tables
from corpuscle.disambiguate.labels import MISSING, label_of, written
from corpuscle.errors import InputError
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array, vocab_arrays
from corpuscle.tag import apply_rule, lemma_rule
from corpuscle.text.corpus import starts_of
from corpuscle.text.files import AnyPath
from corpuscle.text.tables import read_table
from corpuscle.text.vocab import FIRST, Vocab

LONGEST, MOST = 5, 20
"""Letters of the longest ending that is looked up; analyses that are guessed at most."""
_RULE_END = "\x1f"

LEXICON = {
    "lexicon/forms": Array("uint64", ("lexicon_forms",), rising=True),
    "lexicon/starts": Array("int64", ("lexicon_forms+1",), offsets_into="lexicon_entries"),
    "lexicon/labels": Array("int32", ("lexicon_entries",), low=0, high="types"),
}
GUESSER = {
    **vocab_arrays("guesses/", "guesses"),
    "endings/keys": Array("uint64", ("endings",), rising=True),
    "endings/starts": Array("int64", ("endings+1",), offsets_into="ending_guesses"),
    "endings/guesses": Array("int32", ("ending_guesses",), low=0, high="guesses"),
}


class Entry(NamedTuple):
    """A line of a table: a form and the values of its analysis."""

    form: str
    values: Mapping[str, str]


def read_candidates(path: AnyPath) -> list[Entry]:
    """Read a table of lemma, form and features (``UPOS=NOUN|Case=Nom``; UPOS is ``pos``, XPOS is ``dpos``)."""
    names, entries = {"UPOS": "pos", "XPOS": "dpos"}, []
    for line, (lemma, form, features) in read_table(path, ("lemma", "form", "features"), skip_blank=True):
        if not lemma or not form:
            raise InputError(path, line, "a lemma and a form are expected")
        pairs = [pair.partition("=") for pair in features.split("|") if pair not in ("", "_")]
        wrong = next((key for key, equals, value in pairs if not (key and equals and value)), None)
        if wrong is not None:
            raise InputError(path, line, f"a feature is a name=value, not {wrong[:40]!r}")
        entries.append(Entry(form, {"lemma": lemma} | {names.get(key, key): value for key, _, value in pairs}))
    if not entries:
        raise InputError(path, None, "there are no analyses in it")
    return entries


class Lexicon(NamedTuple):
    """The labels of forms: ``forms`` uint64 (n,), hashes, ascending; those of form i are
    ``labels[starts[i]:starts[i + 1]]``, int32, ids of labels, in the order in which they came."""

    forms: np.ndarray
    starts: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, forms: np.ndarray, labels: np.ndarray) -> Lexicon:
        """From pairs, uint64 (n,) and int32 (n,)."""
        order = np.lexsort((np.arange(len(forms)), labels, forms))
        forms, labels = forms[order], labels[order]
        new = np.ones(len(forms), bool)
        new[1:] = (np.diff(forms) > 0) | (np.diff(labels) != 0)
        forms, labels, came = forms[new], labels[new], order[new]
        again = np.lexsort((came, forms))
        distinct, counts = np.unique(forms, return_counts=True)
        return cls(distinct, starts_of(counts), labels[again].astype(np.int32))

    def ids(self, forms: Sequence[str]) -> list[list[int]]:
        """The labels of each form, or else of its lower case."""
        at = find(hashes_of(forms), self.forms)
        lower = find(hashes_of([form.lower() for form in forms]), self.forms)
        rows = np.where(at >= 0, at, lower).tolist()
        begins, labels = self.starts.tolist(), self.labels.tolist()
        return [labels[begins[row] : begins[row + 1]] if row >= 0 else [] for row in rows]

    def knows(self, forms: Sequence[str]) -> np.ndarray:
        """Which forms it has, as they are, bool (n,)."""
        return find(hashes_of(forms), self.forms) >= 0


def _endings(form: str) -> Iterator[str]:
    """Under which strings the guesses for a form are, the most special ones first."""
    if any(map(str.isalpha, form)):
        for length in range(min(LONGEST, len(form)), 0, -1):
            yield form[-length:]
    else:
        yield "\x1edigits" if any(map(str.isdigit, form)) else "\x1esigns"
    yield "\x1eany"


class Guesser(NamedTuple):
    """Guesses by endings: ``guesses``, each a rule for the lemma and the other values of a label; ``endings``: hashes,
    uint64, ascending; those of ending i are ``ids[starts[i]:starts[i + 1]]``, those of most words first."""

    guesses: Vocab
    endings: np.ndarray
    starts: np.ndarray
    ids: np.ndarray

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]], elements: Sequence[str]) -> Guesser:
        """From distinct pairs of a form and a label."""
        place = elements.index("lemma") if "lemma" in elements else None
        votes = defaultdict[str, Counter[str]](Counter)
        for form, label in pairs:
            values, rule = label.split("\t"), ""
            if place is not None:
                lemma = values[place]
                rule = lemma_rule(form, lemma) if lemma != MISSING else ""
                values[place] = MISSING
            guess = rule + _RULE_END + "\t".join(values)
            for ending in _endings(form):
                votes[ending][guess] += 1
        kept = {
            ending: [guess for guess, _ in sorted(each.items(), key=lambda item: (-item[1], item[0]))][:MOST]
            for ending, each in votes.items()
        }
        vocab = Vocab.from_words(sorted({guess for guesses in kept.values() for guess in guesses}))
        names = sorted(kept)
        hashes = hashes_of(names)
        order = np.argsort(hashes)
        rows = [kept[names[i]] for i in order.tolist()]
        ids = (vocab.encode([guess for row in rows for guess in row]) - FIRST).astype(np.int32)
        return cls(vocab, hashes[order], starts_of(map(len, rows)), ids)

    @classmethod
    def none(cls) -> Guesser:
        """One that guesses nothing."""
        return cls.learn([], [])

    def guess(self, form: str, elements: Sequence[str]) -> list[str]:
        """The labels of words with the longest ending of a form that is known."""
        place = elements.index("lemma") if "lemma" in elements else None
        for at in find(hashes_of(list(_endings(form))), self.endings).tolist():
            if at < 0:
                continue
            labels: dict[str, None] = {}
            for id in self.ids[self.starts[at] : self.starts[at + 1]].tolist():
                rule, _, rest = self.guesses.word(FIRST + id).partition(_RULE_END)
                values = rest.split("\t")
                if place is not None and rule:
                    values[place] = apply_rule(rule, form) or form
                labels["\t".join(values)] = None
            found = list(labels)
            return found if any(map(str.isalpha, form)) else found[:1]
        return []

    def arrays(self) -> dict[str, np.ndarray]:
        """As they go into a model file, see ``GUESSER``."""
        own = {"endings/keys": self.endings, "endings/starts": self.starts, "endings/guesses": self.ids}
        return self.guesses.arrays("guesses/") | own

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Guesser:
        """As they stand in a model file."""
        own = (arrays[f"endings/{name}"] for name in ("keys", "starts", "guesses"))
        return cls(Vocab.from_arrays(arrays, "guesses/"), *own)

    def check(self, n_elements: int) -> None:
        """``ValueError`` unless every guess is one."""
        for guess in self.guesses.strings[FIRST:]:
            rule, end, rest = guess.partition(_RULE_END)
            case, *more = rule.split(" ", 2)
            if not end or rest.count("\t") != n_elements - 1:
                raise ValueError("its guesses do not fit its elements")
            if rule and (case not in ("", "l") or len(more) != 2 or not (more[0].isascii() and more[0].isdigit())):
                raise ValueError("its rules for lemmas are none")


class Proposals(NamedTuple):
    """The labels of Buckwalter's tables: ``folder`` of the tables, whether to ``expand`` endings, and what a label
    consists of."""

    folder: str
    expand: bool
    elements: tuple[str, ...]

    def notes(self, form: str) -> Mapping[str, tuple[str, str]]:
        """The labels of a form, in the order of the tables, each with the first vowelled form and gloss it has."""
        return _proposed(self, form)


@lru_cache(maxsize=1 << 17)
def _proposed(proposals: Proposals, form: str) -> dict[str, tuple[str, str]]:
    labels: dict[str, tuple[str, str]] = {}
    for each in load_tables(proposals.folder).analyse(form, proposals.expand):
        labels.setdefault(label_of(each.values, proposals.elements), (each.vowelled, each.gloss))
    return labels


def analysed(
    forms: Sequence[str],
    known: Vocab,
    lexicon: Lexicon,
    guesser: Guesser,
    elements: Sequence[str],
    proposals: Proposals | None = None,
) -> tuple[list[str], list[list[int]]]:
    """The labels of each form by tables and a lexicon, or else a guesser, or else one that says nothing; ids of the
    labels that are returned first: those that are ``known``, then the others."""
    new: dict[str, int] = {}

    def number(label: str) -> int:
        at = known.ids.get(label)
        return new.setdefault(label, len(known) - FIRST + len(new)) if at is None else at - FIRST

    found = lexicon.ids(forms)
    for place, (ids, form) in enumerate(zip(found, forms, strict=True)):
        if proposals is not None:
            found[place] = ids = list(dict.fromkeys([*map(number, proposals.notes(form)), *ids]))
        if not ids:
            guesses = guesser.guess(form, elements) or [label_of({}, elements)]
            ids.extend(map(number, guesses))
    return [*known.strings[FIRST:], *new], found


def table_pairs(entries: Iterable[Entry], elements: Sequence[str], strip_vowels: bool) -> list[tuple[str, str]]:
    """The forms and labels of a table."""
    return [(written(entry.form, strip_vowels), label_of(entry.values, elements)) for entry in entries]
