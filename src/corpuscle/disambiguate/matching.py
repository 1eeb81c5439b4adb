"""Which analysis of Buckwalter's tables a word of a treebank has: the one that agrees most with its columns.

An analysis must have the lemma of the word, compared without what sources write differently: the order of vowel and
doubling sign, the sign of no vowel, seats of hamza, dagger alif, vowels before alif and at the end, numbers of lemmas.
Among those, the part of speech counts twice, and each feature that both sides have counts for or against.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from corpuscle.disambiguate.buckwalter import Analysis, Buckwalter, from_latin
from corpuscle.disambiguate.labels import columns_of, pairs_of
from corpuscle.text.layers import Layer
from corpuscle.text.treebank import Treebank

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
        found = _best(tables.analyse(form, expand), lemma, tag, pairs_of(features))
        values = {"lemma": lemma, "pos": tag} if found is None else found.values
        known = {name: value for name, value in values.items() if value != "_"}
        rows[form, lemma, tag, features] = columns_of(known)
    names = ("lemmas", "tags", "xpos", "features")
    columns = zip(*(rows[key] for key in keys), strict=True) if keys else ((),) * 4
    return bank.replace(**{name: Layer.from_strings(column) for name, column in zip(names, columns, strict=True)})


def _best(found: Sequence[Analysis], lemma: str, tag: str, features: Mapping[str, str]) -> Analysis | None:
    """The first of the analyses that agree most."""
    best, most = None, -100
    for each in found:
        score = agreement(each.values, lemma, tag, features)
        if score is not None and score > most:
            best, most = each, score
    return best
