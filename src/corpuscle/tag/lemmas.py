"""Lemmas: rules for endings, chosen by the longest ending that was seen with the same label.

A rule cuts letters off the end of a form (or of its lower case) and puts others in their place. A form that was seen
with a label has the rule that it had most often; any other has the rule that most words with its longest known ending
and the same label have. Endings that would give the rule of the next shorter one are not kept.

Ripple-down rules as in Plisson, Lavrac and Mladenic, "A rule based approach to word lemmatization", 2004.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array, vocab_arrays
from corpuscle.text.corpus import Corpus
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST, Vocab

_LONGEST = 8  # letters of the longest ending that is looked up

LEMMAS = {
    **vocab_arrays("rules/", "rules"),
    "endings": Array("uint64", ("endings",), rising=True),
    "endings/rules": Array("int32", ("endings",), low=0, high="rules"),
}


def lemma_rule(form: str, lemma: str) -> str:
    """What makes the lemma of a form: ``l`` if in lower case, how many letters to cut, what to put there.

    >>> lemma_rule("Houses", "house"), lemma_rule("went", "go"), lemma_rule("Anna", "Anna")
    ('l 1 ', ' 4 go', ' 0 ')
    """
    rules = []
    for case, start in (("", form), ("l", form.lower())):
        common = 0
        while start[common : common + 1] == lemma[common : common + 1] != "":
            common += 1
        rules.append((len(lemma) - common, case, f"{case} {len(start) - common} {lemma[common:]}"))
    return min(rules)[2]


def apply_rule(rule: str, form: str) -> str | None:
    """The lemma, None where the form is too short for the rule."""
    case, cut, ending = rule.split(" ", 2)
    start = form.lower() if case else form
    if int(cut) > len(start):
        return None
    return (start[: len(start) - int(cut)] + ending) or None


def _keys(form: str, label: str) -> Iterator[str]:
    """Under which strings a form with a label is looked up, the most special one first."""
    yield f"{form} {label}"
    lower = form.lower()
    for length in range(min(_LONGEST, len(lower)), -1, -1):
        yield f"{length}{lower[len(lower) - length :]}\t{label}"


class Lemmatiser(NamedTuple):
    """Rules, and which one each ending has: the arrays that ``LEMMAS`` declares."""

    rules: Vocab
    endings: np.ndarray
    rule_of: np.ndarray

    @classmethod
    def learn(cls, bank: Treebank, labels: Sequence[str]) -> Lemmatiser:
        """From forms with lemmas and labels; without rules where the treebank has no lemmas."""
        corpus, votes = bank.corpus, defaultdict[str, Counter[str]](Counter)
        forms, lemmas = corpus.vocab.strings, bank.lemmas.values
        triples = Counter(zip(corpus.tokens.tolist(), labels, bank.lemmas.ids.tolist(), strict=True))
        for (type_, label, lemma), count in triples.items():
            if lemma:
                special, *endings = _keys(forms[type_], label)
                rule = lemma_rule(forms[type_], lemmas[lemma])
                votes[special][rule] += count
                for key in endings:
                    votes[key][rule] += 1
        best = {key: min((-count, rule) for rule, count in rules.items())[1] for key, rules in votes.items()}
        kept: dict[str, str] = {}
        for type_, label in {(type_, label) for type_, label, lemma in triples if lemma}:
            before = ""
            for key in reversed(list(_keys(forms[type_], label))):
                if best[key] != before:
                    kept[key] = before = best[key]
        rules = Vocab.from_words(sorted(set(kept.values())))
        names = sorted(kept)
        hashes = hashes_of(names)
        order = np.argsort(hashes)
        return cls(rules, hashes[order], (rules.encode([kept[key] for key in names]) - FIRST).astype(np.int32)[order])

    @property
    def n_rules(self) -> int:
        return len(self.rules) - FIRST

    def lemmas(self, corpus: Corpus, labels: np.ndarray, names: Vocab) -> Layer:
        """The lemma of every word with its label, int32 (n_words,) in ``names``; where no rule fits, the form."""
        n_labels = len(names) - FIRST
        pairs, inverse = np.unique(corpus.tokens.astype(np.int64) * n_labels + labels, return_inverse=True)
        forms, found = [corpus.vocab.word(pair // n_labels) for pair in pairs.tolist()], []
        keys = [list(_keys(form, names.word(FIRST + pair % n_labels)))
                for form, pair in zip(forms, pairs.tolist(), strict=True)]  # fmt: skip
        rows = find(hashes_of([key for each in keys for key in each]), self.endings).tolist()
        rules = [self.rules.strings[FIRST + rule] for rule in self.rule_of.tolist()]
        for form, (a, b) in zip(forms, pairwise(np.cumsum([0, *map(len, keys)]).tolist()), strict=True):
            fitting = (apply_rule(rules[row], form) for row in rows[a:b] if row >= 0)
            found.append(next((lemma for lemma in fitting if lemma), form))
        kinds = Layer.from_strings(found)
        return Layer(kinds.ids[inverse], kinds.vocab)

    def arrays(self) -> dict[str, np.ndarray]:
        return self.rules.arrays("rules/") | {"endings": self.endings, "endings/rules": self.rule_of}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Lemmatiser:
        return cls(Vocab.from_arrays(arrays, "rules/"), arrays["endings"], arrays["endings/rules"])

    def check(self) -> None:
        for rule in self.rules.strings[FIRST:]:
            case, *more = rule.split(" ", 2)
            if case not in ("", "l") or len(more) != 2 or not (more[0].isascii() and more[0].isdigit()):
                raise ValueError("its rules for lemmas are none")
