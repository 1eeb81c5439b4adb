"""What a tagger knows of each token, as columns of hashes, and the templates that make features of them.

What a first pass found of the same words in other sentences are columns for a second pass. ``near``, ``whole``: the
label that most other occurrences of a word have in the sentences nearby, or in the whole text, and how many of them are
in mentions. Nearby are those of the same document, or thirty to either side where sentences are all there is.

Short forms and what they are short for are columns, too: "Huntington disease ( HD )", and HD ever after. A word of two
to ten letters in brackets, one of them a capital, is short for the words before it if its letters occur in them in
order, the first at the beginning of a word; the search goes from the right, and the shortest such stretch is the long
form. ``long``: the first or a later word of a long form; ``short``: a short form where it is explained, or elsewhere in
the sentences nearby; ``bracket``: any word in brackets.

NC-values: how much the open-class words around a word are those that stand around mentions.

From training mentions, for each section S of the notes (all sections together where S has fewer than 20 mentions):

    weight_B(b, S) = mentions in S with the word b among the two tokens before them / mentions in S

and weight_A for the two tokens behind. The score of a token adds up the weights of its own two neighbours on a side;
that of a word type in a section is the sum over its occurrences (``raw``, as published: it grows with frequency) or
their mean (``mean``). ``token`` takes the neighbours of the occurrence alone. A score is none, low, medium or high,
by the thirds of the scores in the training text that are not 0.

Krishnan and Manning, "An effective two-stage model for exploiting non-local dependencies in named entity recognition",
2006; Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical text", 2003;
Frantzi, Ananiadou and Mima, "Automatic recognition of multi-word terms: the C-value/NC-value method", 2000; Parikh,
Avinesh, Mustafi, Agarwalla and Mungi, "ThinkMiners: disorder recognition using conditional random fields and
distributional semantics", 2014, section 3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from corpuscle.entities.dictionary import Dictionary
from corpuscle.entities.documents import Documents
from corpuscle.entities.kernels.features import SHARES, Tokens, elsewhere
from corpuscle.entities.settings import CrfSettings
from corpuscle.hashing import find, hashes_of
from corpuscle.model import Array
from corpuscle.random import folds
from corpuscle.text.wording import shape_of
from corpuscle.words import WordFeatures

Template = tuple[tuple[int, str], ...]
_NEIGHBOURS = ("<before>", "<after>")
LEVELS = ("", "low", "medium", "high")


@dataclass(frozen=True, eq=False)
class Sheet:
    """The tokens of documents with all that is known of them, and the templates of their features."""

    tokens: Tokens
    templates: tuple[Template, ...]

    @classmethod
    def of(
        cls, documents: Documents, settings: CrfSettings, sources: WordFeatures, dictionary: Dictionary | None,
        levels: np.ndarray | None, first_pass: Mapping[str, np.ndarray],
    ) -> Sheet:  # fmt: skip
        """``levels``: the NC-classes of the tokens, or None; ``first_pass``: columns of what that found elsewhere."""
        corpus, affixes = documents.corpus, settings.affixes
        forms = corpus.vocab.strings
        columns: dict[str, np.ndarray] = {}

        def by_form(name: str, values: Sequence[str]) -> None:
            columns[name] = hashes_of(values)[corpus.tokens]

        by_form("word", [form.lower() for form in forms])
        by_form("form", forms)
        by_form("shape", [shape_of(form) for form in forms])
        by_form("outline", [shape_of(form, 1) for form in forms])
        for k in range(1, affixes + 1):
            by_form(f"prefix{k}", [form[:k] if len(form) > k else "" for form in forms])
            by_form(f"suffix{k}", [form[-k:] if len(form) > k else "" for form in forms])
        for name, layer in (("tag", documents.tags), ("chunk", documents.chunks), ("lemma", documents.lemmas)):
            if layer.ids.any():
                columns[name] = np.where(layer.ids > 0, hashes_of(layer.values)[layer.ids], 0).astype(np.uint64)
        if len(set(documents.sections.ids.tolist())) > 1:
            columns["section"] = hashes_of(documents.sections.values)[documents.sections.ids]
        if any(documents.sources):
            columns["source"] = np.repeat(hashes_of(documents.sources)[documents.document_of], corpus.lengths)
        if dictionary is not None:
            columns["entry"] = dictionary.marks(documents)
        if levels is not None:
            marks = hashes_of(LEVELS)
            columns["nc before"], columns["nc after"] = marks[levels[:, 0]], marks[levels[:, 1]]
        columns |= short_forms(documents)
        columns |= first_pass
        if sources.n_columns:
            columns |= {f"source{k}": values[corpus.tokens] for k, values in enumerate(sources.of(forms).T)}
        numbered = {
            template: number for number, template in enumerate(_templates(columns, settings.window, affixes), 1)
            if all(name in columns for _, name in template)
        }  # fmt: skip
        templates = tuple(numbered)
        number = {name: k for k, name in enumerate(columns)}
        rows = [[(d, number[name]) for d, name in template] + [(0, -1)] * (3 - len(template)) for template in templates]
        outside = np.repeat(hashes_of(_NEIGHBOURS)[:, None], len(columns), axis=1)
        values = np.ascontiguousarray(np.concatenate([np.column_stack(list(columns.values())), outside]))
        numbers = np.array([*numbered.values()], np.uint64)
        return cls(Tokens(corpus.sentence_starts, values, np.array(rows, np.int32), numbers), templates)

    @property
    def names_of_templates(self) -> list[str]:
        """How each template is called: ``word[-1] word[0]``, say."""
        return [" ".join(f"{name}[{d:+d}]" if d else f"{name}" for d, name in each) for each in self.templates]


def _templates(columns: Sequence[str] | dict[str, np.ndarray], window: int, affixes: int) -> list[Template]:
    """All templates in their order, also those whose columns are missing: each has the same number in every text, and
    in a file, so that new ones come last."""
    around = range(-window, window + 1)
    near = range(-min(1, window), min(1, window) + 1)
    made: list[Template] = [((d, name),) for name in ("word", "form", "outline") for d in around]
    made += [((0, "shape"),), *([((-1, "shape"),), ((1, "shape"),)] if window else [])]
    made += [((0, f"{side}{k}"),) for side in ("prefix", "suffix") for k in range(1, affixes + 1)]
    if affixes >= 3:
        made += [((d, "suffix3"),) for d in around if d]
    if affixes >= 3 and window:
        made += [((-1, "suffix3"), (0, "suffix3")), ((0, "suffix3"), (1, "suffix3"))]
        made += [((-1, "word"), (0, "suffix3")), ((0, "suffix3"), (1, "word"))]
    if window:
        made += [((-1, "word"), (0, "word")), ((0, "word"), (1, "word")), ((-1, "word"), (1, "word"))]
        made += [((-1, "outline"), (0, "outline")), ((0, "outline"), (1, "outline"))]
        made += [((-1, "outline"), (0, "outline"), (1, "outline"))]
    for name in ("long", "short"):
        made += [((d, name),) for d in near]
    made += [((0, "long"), (0, "word")), ((0, "short"), (0, "outline"))]
    made += [((0, "bracket"), *more) for more in ((), ((0, "outline"),), ((0, "word"),))]
    made += [((0, "lemma"),), ((0, "entry"),), ((0, "entry"), (0, "word")), ((-1, "entry"),), ((1, "entry"),)]
    made += [((d, "tag"),) for d in around] + [((d, "chunk"),) for d in near]
    made += [((-1, "tag"), (0, "tag")), ((0, "tag"), (1, "tag")), ((0, "tag"), (0, "outline"))]
    made += [((0, "section"),), ((0, "section"), (0, "word")), ((0, "source"),), ((0, "source"), (0, "word"))]
    made += [((0, "nc before"),), ((0, "nc after"),), ((0, "nc before"), (0, "nc after"))]
    for name in COLUMNS:
        made += [((d, name),) for d in near] + [((-1, name), (0, name)), ((0, name), (1, name))] * (window > 0)
    made += [(*((0, name) for name in COLUMNS),)]
    for name in columns:
        if name.startswith("source") and name != "source":
            made += [((d, name),) for d in around]
            if window:
                made += [((-1, name), (0, name)), ((0, name), (1, name))]
    made += [((-2, "word"), (-1, "word")), ((1, "word"), (2, "word"))] * (window > 1)
    made += [((-1, "prefix3"),), ((1, "prefix3"),)] * (window > 0 and affixes >= 3)
    return list(dict.fromkeys(made))


COLUMNS = ("near", "whole")
FOLDS = 3
_NEARBY = 30
_RUN = 20


def parts_of(documents: Documents, seed: int) -> np.ndarray:
    """Which of a few parts each document belongs to, int64; documents of one sentence stay with those beside them."""
    run = max(1, min(_RUN, len(documents) // FOLDS)) if len(documents) == len(documents.corpus) else 1
    n = -(-len(documents) // run)
    return np.repeat(folds(seed, "entities.passes", n, min(FOLDS, n)), run)[: len(documents)]


def regions_of(documents: Documents) -> np.ndarray:
    """The sentences near each, from and to: int64 (n_sentences, 2)."""
    n = len(documents.corpus)
    if len(documents) == n:
        here = np.arange(n)
        return np.column_stack([np.maximum(here - _NEARBY, 0), np.minimum(here + _NEARBY + 1, n)])
    starts = documents.corpus.document_starts
    assert starts is not None
    return np.column_stack([starts[documents.document_of], starts[documents.document_of + 1]])


def document_features(documents: Documents, tags: Sequence[str]) -> dict[str, np.ndarray]:
    """The columns, hashes of a label and a share, 0 for nothing, uint64 (n_tokens,); ``tags``: of a first pass."""
    corpus, words = documents.corpus, documents.lowered
    names = ["O", *sorted(set(tags) - {"O"})]
    number = {name: k for k, name in enumerate(names)}
    labels = np.array([number[tag] for tag in tags], np.int32)
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    order = np.argsort(words, kind="stable")
    found = np.zeros((len(words), 2), np.int32)
    if len(words):
        groups = np.concatenate([[0], np.flatnonzero(np.diff(words[order])) + 1, [len(words)]]).astype(np.int64)
        elsewhere(groups, order, labels, sentences, regions_of(documents), len(names), found)
    spelled = hashes_of(["", *(f"{name} {share}" for name in names for share in range(SHARES))])
    return {name: spelled[found[:, k]] for k, name in enumerate(COLUMNS)}


SHORT_FORMS = ("long", "short", "bracket")
_OPEN, _CLOSE = ("(", "["), (")", "]")
_FEWEST, _MOST = 2, 10


def long_form(words: Sequence[str], at: int) -> int:
    """Where the long form of the short form ``words[at]`` begins among the words before the bracket, or -1.

    >>> long_form(["with", "Huntington", "disease", "(", "HD", ")"], 4)
    1
    """
    short = words[at].lower()
    most = min(len(short) + 5, 2 * len(short))
    text = " ".join(list(words[max(0, at - 1 - most) : at - 1])).lower()
    place = len(text)
    for number in range(len(short) - 1, -1, -1):
        letter = short[number]
        if not letter.isalnum():
            continue
        place -= 1
        while place >= 0 and (text[place] != letter or (number == 0 and place > 0 and text[place - 1].isalnum())):
            place -= 1
        if place < 0:
            return -1
    return at - 1 - len(text[place:].split())


def short_forms(documents: Documents) -> dict[str, np.ndarray]:
    """The columns, hashes of what a token is, 0 for nothing, uint64 (n_tokens,); none where nothing is in brackets."""
    corpus = documents.corpus
    opens = np.array([form in _OPEN for form in corpus.vocab.strings], bool)[corpus.tokens]
    sentence_of = np.repeat(np.arange(len(corpus)), corpus.lengths)
    if not opens.any():
        return {}
    long, short, bracket = (np.zeros(corpus.n_tokens, np.int8) for _ in SHORT_FORMS)
    explained: dict[str, list[int]] = defaultdict(list)
    for i in np.unique(sentence_of[opens]).tolist():
        words, first, inside = corpus.words(i), int(corpus.sentence_starts[i]), False
        for k, word in enumerate(words):
            inside = word not in _CLOSE and (inside or word in _OPEN)
            if not inside or word in _OPEN:
                continue
            bracket[first + k] = 1
            alone = words[k - 1] in _OPEN and k + 1 < len(words) and words[k + 1] in _CLOSE
            if alone and _FEWEST <= len(word) <= _MOST and word[0].isalnum() and any(map(str.isupper, word)):
                begin = long_form(words, k)
                if begin >= 0:
                    explained[word].append(i)
                    short[first + k] = 1
                    long[first + begin : first + k - 1] = 2
                    long[first + begin] = 1
    regions = regions_of(documents)
    for word, places in explained.items():  # sentences, rising
        at = np.flatnonzero((corpus.tokens == corpus.vocab.id(word)) & (short == 0))
        begins, ends = np.searchsorted(places, regions[sentence_of[at]]).T
        short[at[begins < ends]] = 2
    marks = hashes_of(["", "1", "2"])
    return {name: marks[values] for name, values in zip(SHORT_FORMS, (long, short, bracket), strict=True)}


WINDOW = 2
_FEWEST_MENTIONS = 20  # a section with fewer mentions has the weights of all sections together
_FOLDS = 5
_SMALL = 1000  # in texts of fewer tokens a word type says nothing: its occurrence is judged alone
_OPEN_CLASS = ("N", "V", "ADJ", "ADV", "JJ", "RB")
ALL = np.uint64(0)  # the section that stands for all sections
NC_ARRAYS = {
    "nc/keys": Array("uint64", ("nc_words",), rising=True),
    "nc/weights": Array("float64", ("nc_words", 2), low=0.0, high=1.0000001),
    "nc/sections": Array("uint64", ("nc_sections",), rising=True),
    "nc/thresholds": Array("float64", (2, 2), low=0.0, finite=True),
}


def open_class(documents: Documents) -> np.ndarray:
    """Which tokens are nouns, verbs, adjectives or adverbs by their tags, bool (n_tokens,)."""
    is_open = [name.startswith(_OPEN_CLASS) and name != "NUM" for name in documents.tags.vocab.strings]
    return np.array(is_open, bool)[documents.tags.ids]


def _keys(documents: Documents) -> tuple[np.ndarray, np.ndarray]:
    """Of each token the hash of its word in lower case, and of its section: uint64 (n_tokens,)."""
    sections = hashes_of([f"section {name}" for name in documents.sections.values])[documents.sections.ids]
    return documents.lowered, sections


def _joint(word: np.ndarray, section: np.ndarray) -> np.ndarray:
    """One number for a word in a section."""
    with np.errstate(over="ignore"):
        return word * np.uint64(0x9E3779B97F4A7C15) ^ section


class NcValues(NamedTuple):
    """Weights of context words, and the thresholds of the classes of scores.

    - ``keys``: uint64 (n,), words in sections, ascending; ``weights``: float64 (n, 2), before and behind mentions;
    - ``sections``: uint64, those with weights of their own; ``thresholds``: float64 (2, 2), by side.
    """

    keys: np.ndarray
    weights: np.ndarray
    sections: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def learn(cls, documents: Documents, scope: str) -> NcValues:
        words, sections = _keys(documents)
        is_open, starts = open_class(documents), documents.corpus.sentence_starts
        contexts: list[tuple[int, int, int]] = []  # token, section of its mention as a token, side
        of_mentions: list[int] = []
        for i, (first, last) in enumerate(pairwise(starts.tolist())):
            for mention in documents.mentions[i]:
                begin, end = first + mention.tokens[0], first + mention.tokens[-1] + 1
                of_mentions.append(begin)
                contexts += [(t, begin, 0) for t in range(max(first, begin - WINDOW), begin) if is_open[t]]
                contexts += [(t, begin, 1) for t in range(end, min(last, end + WINDOW)) if is_open[t]]
        at = sections[of_mentions] if of_mentions else np.zeros(0, np.uint64)
        names, counts = np.unique(at, return_counts=True)
        own = names[counts >= _FEWEST_MENTIONS]
        totals = {int(name): int(count) for name, count in zip(names, counts, strict=True)}
        table: dict[tuple[int, int], np.ndarray] = {}
        seen = {(int(words[t]), begin, side) for t, begin, side in contexts}
        for word, begin, side in seen:
            section = int(sections[begin])
            for place, total in ((section, totals[section]), (int(ALL), len(of_mentions))):
                if place == int(ALL) or section in own:
                    table.setdefault((word, place), np.zeros(2))[side] += 1.0 / total
        pairs = list(table)
        keys = _joint(
            np.array([word for word, _ in pairs], np.uint64), np.array([place for _, place in pairs], np.uint64)
        )
        order = np.argsort(keys)
        weights = np.array([table[pair] for pair in pairs]).reshape(-1, 2)
        self = cls(keys[order], np.minimum(weights[order], 1.0), own, np.zeros((2, 2)))
        scores = self.scores(documents, scope)
        thresholds = np.array([
            np.quantile(side[side > 0], [1 / 3, 2 / 3]) if (side > 0).any() else np.zeros(2) for side in scores.T
        ])  # fmt: skip
        return self._replace(thresholds=thresholds)

    def scores(self, documents: Documents, scope: str) -> np.ndarray:
        """The scores of all tokens, before and behind: float64 (n_tokens, 2)."""
        words, sections = _keys(documents)
        place = np.where(np.isin(sections, self.sections), sections, ALL)
        sentence = np.repeat(np.arange(len(documents.corpus)), documents.corpus.lengths)
        is_open, n = open_class(documents), len(words)
        scores = np.zeros((n, 2))
        for side, sign in ((0, -1), (1, 1)):
            for distance in range(1, WINDOW + 1):
                here = np.arange(max(0, -sign * distance), n - max(0, sign * distance))
                there = here + sign * distance
                good = (sentence[here] == sentence[there]) & is_open[there]
                row = find(_joint(words[there[good]], place[here[good]]), self.keys)
                scores[here[good], side] += np.where(row >= 0, self.weights[row, side] if len(self.keys) else 0.0, 0.0)
        if scope == "token" or n < _SMALL:
            return scores
        _, number, count = np.unique(_joint(words, sections), return_inverse=True, return_counts=True)
        sums = np.column_stack([np.bincount(number, scores[:, side], len(count)) for side in (0, 1)])
        return (sums if scope == "raw" else sums / count[:, None])[number]

    def classes(self, documents: Documents, scope: str) -> np.ndarray:
        """0 none, 1 low, 2 medium, 3 high, before and behind: int64 (n_tokens, 2)."""
        scores = self.scores(documents, scope)
        above = [np.searchsorted(edges, side, "left") for side, edges in zip(scores.T, self.thresholds, strict=True)]
        return np.where(scores > 0, 1 + np.column_stack(above), 0)


def cross_fitted(documents: Documents, scope: str, seed: int) -> np.ndarray:
    """The classes of training tokens, each by the weights of other documents, so that no mention supports its own
    context: int64 (n_tokens, 2)."""
    part = folds(seed, "entities.nc", len(documents), min(_FOLDS, len(documents)))
    found = np.zeros((documents.corpus.n_tokens, 2), np.int64)
    document = np.repeat(documents.document_of, documents.corpus.lengths)
    for fold in range(part.max(initial=-1) + 1):
        held = np.flatnonzero(part == fold)
        others = np.flatnonzero(part != fold)
        if len(others):
            learned = NcValues.learn(documents.select(others), scope)
            found[np.isin(document, held)] = learned.classes(documents.select(held), scope)
    return found
