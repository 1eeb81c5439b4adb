"""Topic n-gram models by enumeration of all seatings, word after word; seatings that look alike are merged."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np

from corpuscle.topics.kernels.seating import DOUBLY, SWITCHING


class Brute:
    """``discounts``, ``strengths``, ``switches``: by depth. A state maps ("w", k, h, w, label) and ("s", h, l) to the
    sorted sizes of tables."""

    def __init__(self, method, types, discounts, strengths, switches=(1.0, 1.0, 1.0), top=0.5):
        self.method, self.base, self.top = method, 1.0 / types, top
        self.discounts, self.strengths, self.switches = discounts, strengths, switches

    @staticmethod
    def _seated(state, key, size):
        """One customer more at a table of a size (0: a new one)."""
        sizes = list(dict(state).get(key, ()))
        if size:
            sizes.remove(size)
        changed = dict(state)
        changed[key] = tuple(sorted([*sizes, size + 1]))
        return frozenset(changed.items())

    def switched(self, state, h, label):
        """Ways in which a customer with a label sits down at the switch of h: pairs of probability and state."""
        content = dict(state)
        strength = self.switches[len(h)]
        customers = sum(sum(sizes) for key, sizes in content.items() if key[:2] == ("s", h))
        sizes = content.get(("s", h, label), ())
        for size in set(sizes):
            yield sizes.count(size) * size / (customers + strength), self._seated(state, ("s", h, label), size)
        opened = self._seated(state, ("s", h, label), 0)
        above = [(self.top if label else 1 - self.top, opened)] if h == () else self.switched(opened, h[1:], label)
        for chance, after in above:
            yield strength / (customers + strength) * chance, after

    def seated(self, state, k, h, w):
        """The same for a word w in topic k after h, whose first word is the oldest."""
        content = dict(state)
        a, b = self.discounts[len(h)], self.strengths[len(h)]
        here = [(key, sizes) for key, sizes in content.items() if key[:3] == ("w", k, h)]
        customers, tables = sum(sum(sizes) for _, sizes in here), sum(len(sizes) for _, sizes in here)
        for key, sizes in here:
            if key[3] == w:
                for size in set(sizes):
                    yield sizes.count(size) * (size - a) / (b + customers), self._seated(state, key, size)
        opening = (b + a * tables) / (b + customers)
        for label in (0, 1) if self.method == DOUBLY and k > 0 else (1,):
            opened = self._seated(state, ("w", k, h, w, label), 0)
            ways = self.switched(opened, h, label) if self.method == DOUBLY and k > 0 else [(1.0, opened)]
            for chance, after in ways:
                if label == 0:
                    above = self.seated(after, 0, h, w)
                elif h:
                    above = self.seated(after, k, h[1:], w)
                else:
                    above = [(self.base, after)]
                for more, final in above:
                    yield opening * chance * more, final

    def likelihood(self, words):
        """P(words and switches | topics) for (topic, context, word) triples."""
        states = {frozenset(): 1.0}
        for k, h, w in words:
            found = defaultdict(float)
            for state, weight in states.items():
                ways = self.switched(state, h, int(k > 0)) if self.method == SWITCHING else [(1.0, state)]
                for chance, after in ways:
                    for more, final in self.seated(after, k, h, w):
                        found[final] += weight * chance * more
            states = found
        return sum(states.values())

    @staticmethod
    def stopping(contexts, depths, prior=(4.0, 1.0)):
        """P(every word uses so much of its context), in models of infinite order; the last choice is none."""
        counts, result = defaultdict(lambda: list(prior)), 1.0
        for h, depth in zip(contexts, depths, strict=True):
            for m in range(min(depth + 1, len(h))):
                seen, passed = counts[h[len(h) - m :]], int(m < depth)
                result *= seen[passed] / sum(seen)
                seen[passed] += 1
        return result

    def posterior(self, documents, alpha, order):
        """P(topics of all words | words): a dict. ``documents``: lists of words, each a sentence that 1 begins."""
        first = 0 if self.method == SWITCHING else 1
        places = [
            (j, tuple([1, *d][max(0, i + 2 - order) : i + 1]), w)
            for j, d in enumerate(documents)
            for i, w in enumerate(d)
        ]
        weights, known = {}, {}
        for topics in product(range(first, len(alpha) + 1), repeat=len(places)):
            weight, counts = 1.0, np.zeros((len(documents), len(alpha) + 1))
            for (j, _, _), k in zip(places, topics, strict=True):
                if k > 0:
                    weight *= (counts[j, k] + alpha[k - 1]) / (counts[j].sum() + sum(alpha))
                    counts[j, k] += 1
            # But for the global one, topics have no names: their restaurants are alike.
            names = {0: 0} | {k: i for i, k in enumerate(dict.fromkeys(k for k in topics if k > 0), 1)}
            renamed = tuple(names[k] for k in topics)
            if renamed not in known:
                known[renamed] = self.likelihood([(k, h, w) for (_, h, w), k in zip(places, renamed, strict=True)])
            weights[topics] = weight * known[renamed]
        total = sum(weights.values())
        return {topics: weight / total for topics, weight in weights.items()}
