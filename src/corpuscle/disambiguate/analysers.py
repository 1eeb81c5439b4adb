"""Analysers: who proposes the analyses of a form.

``Lexicon``: those that a form has in a treebank, and in a table of forms if there is one. ``proposed``: those of
Buckwalter's tables (``buckwalter``). ``Guesser``: for any other form, those of the words of the treebank that share its
longest ending (5 letters down to none), with the lemma by the rule that made theirs. A form without letters has the one
analysis that most such forms have.

Which analysis of Buckwalter's tables a word of a treebank has: the one that agrees most with its columns.

An analysis must have the lemma of the word, compared without what sources write differently: the order of vowel and
doubling sign, the sign of no vowel, seats of hamza, dagger alif, vowels before alif and at the end, numbers of lemmas.
Among those, the part of speech counts twice, and each feature that both sides have counts for or against.

Multiword tokens as one word each: ``wktAbhm``, *and their book*, is a noun with something before and behind it.

Of the words of a range, the first that no clitic usually is makes the analysis; the nearest before it is its feature
``pre1``, those farther away ``pre2``, those behind it ``pron``, each as lemma/UPOS.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from corpuscle.disambiguate.analyses import MISSING, columns_of, label_of, pairs_of
from corpuscle.disambiguate.buckwalter import Buckwalter, from_latin, load_tables
from corpuscle.errors import InputError
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array, vocab_arrays
from corpuscle.tag import apply_rule, lemma_rule
from corpuscle.text.corpus import Corpus, starts_of
from corpuscle.text.files import AnyPath
from corpuscle.text.layers import Layer, Numbering
from corpuscle.text.tables import read_table
from corpuscle.text.treebank import LAYERS, Insertions, Treebank
from corpuscle.text.vocab import FIRST, Vocab

LONGEST, MOST = 5, 20  # letters of the longest ending that is looked up; analyses that are guessed at most
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
        own = {"endings/keys": self.endings, "endings/starts": self.starts, "endings/guesses": self.ids}
        return self.guesses.arrays("guesses/") | own

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Guesser:
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


@lru_cache(maxsize=1 << 17)
def proposed(folder: str, expand: bool, elements: tuple[str, ...], form: str) -> Mapping[str, tuple[str, str]]:
    """The labels of a form in the order of Buckwalter's tables (a folder), each with the first vowelled form and gloss
    it has; ``expand``: one for each ending that is not written."""
    labels: dict[str, tuple[str, str]] = {}
    for each in load_tables(folder).analyse(form, expand):
        labels.setdefault(label_of(each.values, elements), (each.vowelled, each.gloss))
    return labels


_SEATS = str.maketrans("أإآٱ", "اااا", "ـ\u0652\u0670")
_NUMBER = re.compile(r"(-[uia]+)?(_[0-9]+)?$")
_SHORT = "\u064b-\u0650"
_PARTS = {
    "NOUN": ("NOUN", "ABBREV"), "PROPN": ("NOUN",), "ADJ": ("ADJ", "NOUN"), "VERB": ("VERB",), "AUX": ("VERB",),
    "ADV": ("ADV", "FUNC_WORD"), "ADP": ("PREP",), "CONJ": ("CONJ",), "CCONJ": ("CONJ",), "SCONJ": ("CONJ",),
    "PRON": ("PRON", "REL_PRON", "DEM_PRON"), "DET": ("DEM_PRON", "REL_PRON", "DET"), "INTJ": ("INTERJ",),
    "PART": ("NEG_PART", "INTERROG_PART", "FUT_PART", "FUNC_WORD", "PART"),
}  # fmt: skip
_FEATURES = {
    "Person": {"1": "1", "2": "2", "3": "3"}, "Gender": {"Masc": "M", "Fem": "F"},
    "Number": {"Sing": "S", "Dual": "D", "Plur": "P"}, "Mood": {"Ind": "I", "Sub": "S", "Jus": "J"},
    "Aspect": {"Perf": "PERFECT", "Imp": "IMPERFECT"}, "Case": {"Nom": "NOM", "Acc": "ACC", "Gen": "GEN"},
    "Definite": {"Def": "DEF", "Ind": "INDEF", "Red": "DEF", "Com": "DEF"},
}  # fmt: skip


@lru_cache(maxsize=1 << 16)
def bare_lemma(lemma: str) -> str:
    """A lemma as it is compared, in Arabic letters; one in Latin letters is taken for Buckwalter's.

    >>> bare_lemma("katab-u_1") == bare_lemma("كَتَب"), bare_lemma("kitAb_1") == bare_lemma("كِتَاب")
    (True, True)
    """
    if lemma.isascii():
        lemma = from_latin(_NUMBER.sub("", lemma))
    lemma = unicodedata.normalize("NFC", lemma).translate(_SEATS)
    return re.sub(f"[{_SHORT}]+(?=ا|$)", "", lemma)


def _features_of(values: Mapping[str, str]) -> dict[str, str]:
    """What an analysis says about the features of a treebank."""
    found = {
        name: values[key]
        for name, keys in {
            "Person": ("persuf", "perpos"), "Gender": ("gensuf", "genpos"), "Number": ("numsuf", "numpos"),
            "Mood": ("mood",), "Aspect": ("dpos",), "Case": ("case",),
        }.items()
        for key in keys
        if key in values
    }  # fmt: skip
    kind, _, case = found.get("Case", "").rpartition("_")
    if kind:
        found |= {"Case": case, "Definite": kind}
    if "det" in values:
        found["Definite"] = "DEF"
    return found


def agreement(values: Mapping[str, str], lemma: str, tag: str, features: Mapping[str, str]) -> int | None:
    """How well an analysis agrees with the columns of a word, None where its lemma is another one."""
    if bare_lemma(values["lemma"]) != bare_lemma(lemma):
        return None
    score = 2 * (values.get("pos") in _PARTS.get(tag, ())) + ((values.get("dpos") == "PROP") == (tag == "PROPN"))
    found = _features_of(values)
    for name, codes in _FEATURES.items():
        mine, theirs = found.get(name), codes.get(features.get(name, ""))
        if mine and theirs:
            score += 1 if mine == theirs or (name in ("Mood", "Case") and theirs in mine) else -1
    for name in ("pre1", "pre2", "pron"):
        score += 1 if (name in values) == (name in features) else -1
    return score


def matched(bank: Treebank, tables: Buckwalter, expand: bool) -> Treebank:
    """The treebank with the analyses of the tables in its columns; where none fits, the word keeps lemma and tag."""
    rows: dict[tuple[str, ...], tuple[str, str, str, str]] = {}
    forms = bank.corpus.vocab.strings
    layers = (bank.lemmas.strings(), bank.tags.strings(), bank.features.strings())
    keys = list(zip([forms[token] for token in bank.corpus.tokens.tolist()], *layers, strict=True))
    for form, lemma, tag, features in dict.fromkeys(keys):
        fits = [
            (score, each.values) for each in tables.analyse(form, expand)
            if (score := agreement(each.values, lemma, tag, pairs_of(features))) is not None
        ]  # fmt: skip
        values = max(fits, key=itemgetter(0))[1] if fits else {"lemma": lemma, "pos": tag}
        known = {name: value for name, value in values.items() if value != "_"}
        rows[form, lemma, tag, features] = columns_of(known)
    names = ("lemmas", "tags", "xpos", "features")
    columns = zip(*(rows[key] for key in keys), strict=True) if keys else ((),) * 4
    return bank.replace(**{name: Layer.from_strings(column) for name, column in zip(names, columns, strict=True)})


_CLITICS = frozenset({"ADP", "AUX", "CCONJ", "CONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ"})


def _main(tags: list[str]) -> int:
    """The word of a range that the others lean on.

    >>> _main(["CCONJ", "NOUN", "PRON"]), _main(["ADP", "PRON"])
    (1, 0)
    """
    return next((i for i, tag in enumerate(tags) if tag not in _CLITICS), 0)


def joined(bank: Treebank) -> Treebank:
    """The treebank with one word for each multiword token; trees and empty nodes go where there is such a token."""
    if not len(bank.ranges):
        return bank
    starts = bank.corpus.sentence_starts
    lemmas, tags, features = (getattr(bank, name).strings() for name in ("lemmas", "tags", "features"))
    kept = np.ones(bank.corpus.n_tokens, bool)
    forms = {}
    for sentence, (first, last), form in zip(
        bank.ranges.sentences.tolist(), bank.ranges.numbers.tolist(), bank.ranges.forms, strict=True
    ):
        begin, end = int(starts[sentence]) + first - 1, int(starts[sentence]) + last
        main = begin + _main(tags[begin:end])
        kept[begin:end] = False
        kept[main], forms[main] = True, form

        def name(token: int) -> str:
            return f"{lemmas[token]}/{tags[token]}".replace("|", "_")

        near = max(begin, main - 1)
        parts = {"pre1": range(near, main), "pre2": range(begin, near), "pron": range(main + 1, end)}
        more = [f"{key}={'+'.join(map(name, tokens))}" for key, tokens in parts.items() if len(tokens)]
        features[main] = "|".join([*(() if features[main] == "_" else (features[main],)), *more]) or "_"
    words, numbering = bank.corpus.vocab.strings, Numbering()
    places = np.flatnonzero(kept).tolist()
    numbering.add(forms.get(i) or words[bank.corpus.tokens[i]] for i in places)
    tokens, vocab = numbering.finish()
    counts = np.concatenate([[0], np.cumsum(kept)])
    origin = None if bank.origin is None else bank.origin.by_item()
    corpus = Corpus(tokens, starts_of(np.diff(counts[starts])), vocab, origin=origin)
    if bank.corpus.document_starts is not None:
        corpus = corpus.with_documents(bank.corpus.document_starts, bank.corpus.labels)
    layers = {name: getattr(bank, name)[places] for name in LAYERS}
    unset, nothing = Layer.unset(len(tokens)), Insertions.build()
    layers |= {"features": Layer.from_strings([features[i] for i in places]), "relations": unset, "deps": unset}
    return Treebank(
        corpus, np.full(len(tokens), -1, np.int32), **layers, comments=bank.comments, ranges=nothing, empties=nothing
    )
