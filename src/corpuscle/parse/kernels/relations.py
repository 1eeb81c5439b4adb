"""Relations of arcs: a linear classifier over the features of an arc and of its surroundings in the tree.

Every feature has a row with a weight for each relation. The features of an arc are those of ``features``, and of the
modifier's place among the modifiers of its head: the tags of its neighbours on either side, whether it is the first or
the last one, how many modifiers it has itself. Learned on right trees by the averaged perceptron: where the best
relation is wrong, the rows of the right one gain what those of the wrong one lose.

McDonald, Lerman and Pereira, "Multilingual dependency analysis with a two-stage discriminative parser", 2006, section
3; the perceptron as in Collins, "Discriminative training methods for hidden Markov models", 2002.
"""

from __future__ import annotations

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.parse.kernels.features import arc_features, place_of

_FIRST = 4000
"""Where the templates of this module begin."""


@part(inline=True)
def _neighbour(heads, m, step):
    """The next modifier of the same head in a direction, 0 if there is none."""
    s = m + step
    while 1 <= s <= len(heads):
        if heads[s - 1] == heads[m - 1]:
            return s
        s += step
    return 0


@part
def _arc(layers, base, heads, m, shift, marks, places):
    """``places`` := the rows of the features of the arc into m; returns how many."""
    h = heads[m - 1]
    count = arc_features(layers, base, h, m, shift, marks, places)
    tags = layers.tags[0]
    left, right, modifiers = _neighbour(heads, m, -1), _neighbour(heads, m, 1), 0
    for head in heads:
        modifiers += head == m
    ends = 1 if left == 0 else 0
    ends += 2 if right == 0 else 0
    ht, mt = tags[base + h], tags[base + m]
    lt = tags[base + left] if left > 0 else np.uint64(1)
    rt = tags[base + right] if right > 0 else np.uint64(1)
    for template, a, b, c in (
        (0, mt, lt, ht), (1, mt, rt, ht), (2, lt, mt, rt), (3, mt, ht, np.uint64(ends)),
        (4, mt, ht, np.uint64(min(modifiers, 4) + 10)),
    ):  # fmt: skip
        places[count] = place_of(a, b, c, _FIRST + template, shift)
        count += 1
    return count


@part(inline=True)
def _best(weights, places, count, scores):
    """``scores`` (relations,) := the sums of the rows; returns the relation of the largest."""
    scores[:] = 0.0
    for i in range(count):
        row = weights[places[i]]
        for relation in range(len(scores)):
            scores[relation] += row[relation]
    return np.argmax(scores)


@kernel
def relate(layers, sentences, heads, shift, weights, room, scores, relations):
    """``relations`` int32 := the best relation of each arc of some trees, one tree after the other in ``heads`` int32;
    ``sentences`` int64: whose trees they are."""
    first = 0
    for sentence in sentences:
        base = layers.starts[sentence] + 1
        last = first + layers.starts[sentence + 1] - layers.starts[sentence] - 3
        for m in range(1, last - first + 1):
            count = _arc(layers, base, heads[first:last], m, shift, room.marks, room.places)
            relations[first + m - 1] = _best(weights, room.places, count, scores)
        first = last


@kernel
def learn_relations(layers, order_of, bank, shift, learning, room, scores):
    """Learn from the trees of the sentences ``order_of`` int64; returns how many arcs got a wrong relation.

    ``bank``: heads and relations int32 (n_words,), -1 where nothing is known, first words int64; ``learning``: weights
    and totals float32 (2^bits, relations), clock int64 (1,).
    """
    heads, relations, first_word = bank
    weights, totals, clock = learning
    wrong = 0
    for sentence in order_of:
        first, last = first_word[sentence], first_word[sentence + 1]
        base = layers.starts[sentence] + 1
        for m in range(1, last - first + 1):
            right = relations[first + m - 1]
            if right < 0:
                continue
            count = _arc(layers, base, heads[first:last], m, shift, room.marks, room.places)
            found = _best(weights, room.places, count, scores)
            if found != right:
                wrong += 1
                age = np.float32(clock[0])
                for i in range(count):
                    place = room.places[i]
                    weights[place, right] += 1.0
                    weights[place, found] -= 1.0
                    totals[place, right] += age
                    totals[place, found] -= age
            clock[0] += 1
    return wrong
