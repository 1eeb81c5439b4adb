"""What is done with texts before anything is learned: survey them, put noise into them, tell their languages.

**A survey of texts**: how many of their words a lexicon does not have, and the errors of annotated ones by category:
``letter``, typed and meant word differ in letters only, by at most half of the longer one; ``letter and number``,
digits stand within what was typed; ``number``, a digit stands for a whole word; ``slang``, the word is in a dictionary
of slang, or means several words; ``other``.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 3.

**Noise** is learned from annotated messages, and put into clean text. A word that was seen is typed as it was, equally
often; any other word is changed as often as words are on average, by a change of letters (``change_of``: what is left
of typed and meant word without their common beginning and end) that its letters allow, in proportion to the number of
annotated pairs that have it. The outcome is annotated: messages to learn from, or to evaluate on.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 5 (synthetic pairs
for a translation model).

**Which language** a message is in: byte n-grams of messages, compared with prototypes of languages. The prototype q of
a language is the distribution of byte n-grams (1 to 3) in some of its text; a message has another, p. Their skew
divergence

    s(p, q) = sum over x of p(x) log(p(x) / (a q(x) + (1 - a) p(x)))

is 0 where they are equal and stays finite where q lacks something; the language is that of the nearest prototype.

Lee, "On the effectiveness of the skew divergence for statistical language analysis", 2001; Baldwin and Lui, "Language
identification: the long and the short of the matter", 2010."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corpuscle.measure.overlaps import edit_distance
from corpuscle.normalise.tokens import annotated_tokens, change_of, is_examined, letters_of_word
from corpuscle.random import Random
from corpuscle.text.columns import Normalised
from corpuscle.text.origin import error_about

CATEGORIES = ("letter", "number", "letter and number", "slang", "other")
_BINS = 10


class Survey(NamedTuple):
    """Counts of a text: ``messages``; ``tokens`` that may be words, and ``unknown`` ones, and the same of types;
    ``histogram``: messages by tenths of unknown tokens; ``frequent``: the most frequent unknown words with counts."""

    messages: int
    tokens: int
    unknown: int
    types: int
    unknown_types: int
    histogram: list[int]
    frequent: list[tuple[str, int]]


def survey_of(messages: Iterable[Sequence[str]], known: Collection[str], most: int = 20) -> Survey:
    """Count the words of messages that are not ``known`` (in lower case). The histogram leaves out messages without
    words; its last bin includes the share 1."""
    types: Counter[str] = Counter()
    histogram = np.zeros(_BINS, np.int64)
    n = 0
    for message in messages:
        n += 1
        words = [token.lower() for token in message if is_examined(token)]
        types.update(words)
        if words:
            share = sum(word not in known for word in words) / len(words)
            histogram[min(_BINS - 1, int(share * _BINS))] += 1
    strange = Counter({word: count for word, count in types.items() if word not in known})
    return Survey(
        n, types.total(), strange.total(), len(types), len(strange), histogram.tolist(),
        sorted(strange.items(), key=lambda item: (-item[1], item[0]))[:most],
    )  # fmt: skip


def category_of(typed: str, meant: str, slang: Collection[str] = ()) -> str:
    """The category of one error.

    >>> [category_of(*pair) for pair in (("talkin", "talking"), ("4", "for"), ("b4", "before"), ("lol", "laugh aloud"))]
    ['letter', 'number', 'letter and number', 'slang']
    """
    typed, meant = typed.lower(), meant.lower()
    if typed in slang or " " in meant:
        return "slang"
    if typed.isdigit():
        return "number"
    if any(char.isdigit() for char in typed):
        return "letter and number"
    a, b = letters_of_word(typed), letters_of_word(meant)
    longer = max(len(a), len(b))
    return "letter" if edit_distance(a, b, longer) <= longer / 2 else "other"


def error_categories(gold: Normalised, slang: Collection[str] = ()) -> dict[str, int]:
    """How many errors of annotated messages each category has."""
    tokens = annotated_tokens(gold)
    found = Counter(category_of(one, right, slang) for one, right in tokens if one.lower() != right.lower())
    return {name: found[name] for name in CATEGORIES}


_FEWEST = 10
_ADDED = 1.0


class Noise:
    """What happens to words as they are typed: ``typed_as``, meant word -> typed forms with counts; ``changes``,
    (where, meant letters) -> typed letters with counts, where 0 is the beginning of a word, 2 its end, 1 inside;
    ``rate``, how often a word is changed that is not in ``typed_as``."""

    def __init__(self, gold: Normalised):
        self.typed_as: dict[str, Counter[str]] = {}
        self.changes: dict[tuple[int, str], Counter[str]] = {}
        words = changed = 0
        for one, right in annotated_tokens(gold):
            typed, meant = one.lower(), " ".join(right.lower().split())
            if not meant or not is_examined(meant.split()[0]):
                continue
            words, changed = words + 1, changed + (typed != meant)
            self.typed_as.setdefault(meant, Counter())[typed] += 1
            if typed != meant and " " not in meant:
                became, was = change_of(typed, meant)
                kept = len(meant) - len(was)
                where = 0 if typed == became + meant[len(was) :] else 2 if typed == meant[:kept] + became else 1
                self.changes.setdefault((where, was), Counter())[became] += 1
        if changed < _FEWEST:
            raise gold.error(f"only {changed} changed words; at least {_FEWEST} are needed to learn noise")
        self.rate = changed / words

    def __repr__(self) -> str:
        return f"<Noise of {len(self.typed_as):,} words, {len(self.changes):,} kinds of changes>"

    def typed(self, word: str, random: Random) -> str:
        """A word (lower case) as it may be typed."""
        seen = self.typed_as.get(word)
        if seen is not None:
            forms = sorted(seen)
            known = sum(seen.values())
            if random.uniform() < known / (known + _ADDED):
                return random.choice(forms, [float(seen[form]) for form in forms])
        if random.uniform() >= self.rate:
            return word
        n, options, weights = len(word), [], []
        parts = {(1, word[a:b]) for a in range(1, n) for b in range(a, min(n, a + 4))}
        parts |= {(0, word[:b]) for b in range(min(n, 6) + 1)} | {(2, word[a:]) for a in range(max(0, n - 6), n + 1)}
        for where, was in sorted(parts & self.changes.keys()):
            for became, count in sorted(self.changes[where, was].items()):
                options.append((where, was, became))
                weights.append(float(count))
        if not options:
            return word
        where, was, became = random.choice(options, weights)
        if where == 0:
            result = became + word[len(was) :]
        elif where == 2:
            result = word[: n - len(was)] + became
        else:
            at = random.choice([k for k in range(1, n) if word.startswith(was, k)])
            result = word[:at] + became + word[at + len(was) :]
        return result or word

    def corrupt(self, messages: Sequence[Sequence[str]], seed: int, purpose: str = "normalise.noise") -> Normalised:
        """Messages as they may be typed, with what they mean. A word that becomes several tokens stays one token."""
        results = []
        for i, message in enumerate(messages):
            random = Random(seed, purpose, 0, i)
            results.append([
                self.typed(word.lower(), random).replace(" ", "") or word if is_examined(word) else word
                for word in message
            ])  # fmt: skip
        return Normalised.from_messages(results, messages)


_SKEW = 0.99
_TABLE = 1 << 16


def _grams(text: str) -> np.ndarray:
    """The bytes, pairs and (hashed) triples of bytes of a text as numbers below 3 times ``_TABLE``: int64."""
    data = np.frombuffer(f" {text.lower()} ".encode("utf-8", "surrogatepass"), np.uint8).astype(np.int64)
    pairs = data[:-1] * 256 + data[1:]
    threes = (pairs[:-1] * 40503 + data[2:] * 30011) % _TABLE  # odd factors: both parts reach every cell
    return np.concatenate([data, _TABLE + pairs, 2 * _TABLE + threes])


class Languages:
    """Prototypes of languages: ``names``, and their distributions, float64 (n_languages, n_grams)."""

    def __init__(self, texts: Mapping[str, Sequence[str]]):
        if len(texts) < 2:
            reason = "languages are told apart from each other: give texts of two at least"
            raise error_about(next(iter(texts.values()), None), reason)
        self.names = sorted(texts)
        self.prototypes = np.zeros((len(texts), 3 * _TABLE))
        for row, name in zip(self.prototypes, self.names, strict=True):
            for line in texts[name]:
                np.add.at(row, _grams(line), 1.0)
            if not row.any():
                raise error_about(texts[name], f"the text of language {name} is empty")
            row /= row.sum()

    def __repr__(self) -> str:
        return f"<Languages {', '.join(self.names)}>"

    def divergences(self, message: str) -> np.ndarray:
        """The skew divergence of a message from each prototype: float64 (n_languages,)."""
        grams, counts = np.unique(_grams(message), return_counts=True)
        p = counts / counts.sum()
        return np.asarray((p * np.log(p / (_SKEW * self.prototypes[:, grams] + (1 - _SKEW) * p))).sum(axis=1))

    def language(self, message: str) -> str:
        """The language of the nearest prototype, of equal ones the first by alphabet."""
        return self.names[int(np.argmin(self.divergences(message)))]
