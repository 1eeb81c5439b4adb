"""Noise that is learned from annotated messages, and put into clean text.

How often a word is changed, and into what: a word that was meant and seen typed otherwise is typed so as often; any
other word is changed as often as unseen words are, by a change of letters that annotated pairs have and that its own
letters allow (``candidates.change_of``: what is left of both words without their common beginning and end), drawn by
how many pairs have it. What comes out has its truth beside it: messages to learn from, or to be measured on.

Han and Baldwin, "Lexical normalisation of short text messages: makn sens a #twitter", 2011, section 5 (synthetic pairs
for a translation model).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from corpuscle.normalise.candidates import change_of
from corpuscle.normalise.tokens import is_examined
from corpuscle.random import Random
from corpuscle.text.normalised import Normalised

__all__ = ["Noise"]

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
        for i, message in enumerate(gold.corpus):
            for one, right in zip(message, gold.standard(i), strict=True):
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
        """How much was seen."""
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
        options, weights = [], []
        for where, was in sorted(self._fitting(word)):
            for became, count in sorted(self.changes[where, was].items()):
                options.append((where, was, became))
                weights.append(float(count))
        if not options:
            return word
        where, was, became = random.choice(options, weights)
        if where == 0:
            result = became + word[len(was) :]
        elif where == 2:
            result = word[: len(word) - len(was)] + became
        else:
            places = [k for k in range(1, len(word)) if word.startswith(was, k)]
            at = random.choice(places)
            result = word[:at] + became + word[at + len(was) :]
        return result or word

    def _fitting(self, word: str) -> set[tuple[int, str]]:
        """The changes that the letters of a word allow."""
        n = len(word)
        parts = {(1, word[a:b]) for a in range(1, n) for b in range(a, min(n, a + 4))}
        parts |= {(0, word[:b]) for b in range(min(n, 6) + 1)} | {(2, word[a:]) for a in range(max(0, n - 6), n + 1)}
        return parts & self.changes.keys()

    def corrupt(self, messages: Sequence[Sequence[str]], seed: int, purpose: str = "normalise.noise") -> Normalised:
        """Messages as they may be typed, beside what they mean. A word that becomes several tokens stays one token."""
        results = []
        for i, message in enumerate(messages):
            random = Random(seed, purpose, 0, i)
            results.append([
                self.typed(word.lower(), random).replace(" ", "") or word if is_examined(word) else word
                for word in message
            ])  # fmt: skip
        return Normalised.from_messages(results, messages)
