"""Labels: what an analysis consists of, read from a treebank, and the hashes by which its parts are counted.

A label is a complete analysis: the values of its elements in a fixed order, joined by tabs; ``-`` where it has none.
The elements are ``lemma``, ``pos`` (UPOS), ``dpos`` (XPOS) and the names of FEATS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from corpuscle.disambiguate.kernels.counting import N_KINDS, fill_contexts
from corpuscle.errors import SettingError
from corpuscle.hashing import hashes_of
from corpuscle.text.treebank import Treebank

MISSING = "-"
"""The value of an element that an analysis does not have."""

_COLUMNS = {"lemma": "lemmas", "pos": "tags", "dpos": "xpos"}
_VOWELS = re.compile("[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+")
EDGES = hashes_of(["\x02", "\x03"])
"""What stands before the first word of a sentence, and behind the last."""


def written(form: str, strip_vowels: bool = True) -> str:
    """A form as people write it, without the vowel signs of Arabic; a form of nothing else stays.

    >>> written("\u0628\u0650"), written("house")
    ('\u0628', 'house')
    """
    return (_VOWELS.sub("", form) or form) if strip_vowels else form


def pairs_of(features: str) -> dict[str, str]:
    """The names and values of FEATS."""
    return dict(pair.partition("=")[::2] for pair in features.split("|") if "=" in pair)


def elements_of(bank: Treebank, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The elements that the analyses of a treebank have, or those that are wanted, which it must have."""
    there = [name for name, layer in _COLUMNS.items() if getattr(bank, layer).ids.any()]
    there += sorted({key for features in bank.features.values for key in pairs_of(features)})
    missing = [name for name in wanted if name not in there]
    if missing:
        raise SettingError(
            f"the treebank has no element {missing[0]!r}; it has {', '.join(there) or 'neither lemmas nor tags'}"
        )
    if not there:
        raise bank.error("the words have no analyses to learn from: neither lemma, UPOS, XPOS nor FEATS")
    return tuple(dict.fromkeys(wanted)) or tuple(there)


def label_of(values: Mapping[str, str], elements: Sequence[str]) -> str:
    """A label from the values of its elements."""
    return "\t".join(values.get(name) or MISSING for name in elements)


def labels_of(bank: Treebank, elements: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The distinct labels of a treebank in the order in which they come, and which one each word has, int32."""
    layers = [bank.lemmas, bank.tags, bank.xpos, bank.features]
    if not bank.corpus.n_tokens:
        return [], np.zeros(0, np.int32)
    kinds, inverse = np.unique(np.column_stack([layer.ids for layer in layers]), axis=0, return_inverse=True)
    names = []
    for ids in kinds.tolist():
        lemma, pos, dpos, features = (layer.values[id] if id else "" for layer, id in zip(layers, ids, strict=True))
        names.append(label_of(pairs_of(features) | {"lemma": lemma, "pos": pos, "dpos": dpos}, elements))
    numbers: dict[str, int] = {}
    words = inverse.ravel()
    _, first = np.unique(words, return_index=True)
    for kind in words[np.sort(first)].tolist():
        numbers.setdefault(names[kind], len(numbers))
    return list(numbers), np.array([numbers[name] for name in names], np.int32)[words]


def columns_of(values: Mapping[str, str]) -> tuple[str, str, str, str]:
    """LEMMA, UPOS, XPOS and FEATS of a label."""
    given = {name: value for name, value in values.items() if value != MISSING}
    features = "|".join(f"{name}={given[name]}" for name in sorted(given, key=str.lower) if name not in _COLUMNS)
    lemma, pos, dpos = (given.get(name, "_") for name in _COLUMNS)
    return lemma, pos, dpos, features or "_"


def label_hashes(labels: Sequence[str], elements: Sequence[str]) -> np.ndarray:
    """Hashes of whole labels and of the values of their elements, uint64 (n_labels, 1 + n_elements)."""
    hashes = np.zeros((len(labels), 1 + len(elements)), np.uint64)
    hashes[:, 0] = hashes_of(["\t" + label for label in labels])
    rows = [label.split("\t") for label in labels]
    for column, element in enumerate(elements):
        numbers: dict[str, int] = {}
        ids = [numbers.setdefault(row[column], len(numbers)) for row in rows]
        if ids:
            hashes[:, 1 + column] = hashes_of([f"{element}={value}" for value in numbers])[ids]
    return hashes


def contexts_of(forms: Sequence[str], tokens: np.ndarray, words: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The contexts of tokens (see ``kernels.counting``), uint64 (n_tokens, 14); ``forms``: of each type, ``tokens``:
    types, ``words``: their hashes, ``starts``: of sentences."""
    contexts = np.zeros((len(tokens), N_KINDS), np.uint64)
    if not len(tokens):
        return contexts
    filled = starts[:-1][np.diff(starts) > 0]
    last = starts[1:][np.diff(starts) > 0] - 1
    fields = [np.zeros(len(tokens), np.uint64)]
    for here in (words, *(hashes_of([form[part] for form in forms])[tokens] for part in (slice(1), slice(-1, None)))):
        before, behind = np.roll(here, 1), np.roll(here, -1)
        before[filled], behind[last] = EDGES
        fields += [before, behind]
    fill_contexts(words, np.array(fields), contexts)
    return contexts
