"""The features of arcs and of neighbouring modifiers, as places in a table of weights.

A feature is a template with values: (4, tag of the head, tag of the modifier), say. It is never stored: its hash is the
place of its weight in a table of 2^bits. Values are 64-bit hashes of strings, so a sum of their products with odd
constants, one a role, is a hash of all of them; the template is one more summand, and so are direction and distance.

For an arc from h to m, with lexical value w (form, prefix, ...), tag t, and those of the neighbours of a position:

- from each lexical layer, with the first tag layer: the head's (w t), (w), (t); the modifier's; and of both (w t w t),
  (t w t), (w w t), (w t t), (w t w), (w w), (t t);
- from each tag layer: (t b t) for every distinct tag b between them; (t t+1 t-1 t), (t-1 t t-1 t), (t t+1 t t+1),
  (t-1 t t t+1), and each with one neighbour left out.

Every one with and without direction and distance (1, 2, 3, 4, 5, 6-10, more), or with the distance of Collins (see
``collins``), or with both. Of two neighbouring modifiers s and m of h: (t t t), (t t), (w w), (w t), (t w), with and
without direction and distance of s and m.

McDonald, Crammer and Pereira, "Online large-margin training of dependency parsers", 2005, table 1; McDonald and
Pereira, "Online learning of approximate dependency parsing algorithms", 2006, section 4; Collins, "A new statistical
parser based on bigram lexical dependencies", 1996, section 3.1.2; hashing as in Weinberger, Dasgupta, Langford, Smola
and Attenberg, "Feature hashing for large scale multitask learning", 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import part

LENGTH, COLLINS, BOTH = 0, 1, 2
"""The distance that features are combined with."""
TAG_BITS = 10
N_TAGS = 1 << TAG_BITS
"""Tags as numbers, the first bits of their hashes, are below this."""

_HEAD, _MODIFIER, _THIRD, _FOURTH = (np.uint64(odd) for odd in (
    0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93
))  # fmt: skip
_FIFTH, _SIXTH, _TEMPLATE, _SPREAD = (np.uint64(odd) for odd in (
    0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0xBF58476D1CE4E5B9
))  # fmt: skip
_LEXICAL, _TAGS, _SIBLINGS = 0, 64, 128
"""Where the templates of each group begin; a layer takes 1,000 numbers."""


class Layers(NamedTuple):
    """What is known of the words of some sentences, position by position.

    A sentence of n words takes n + 3 places: one before it, the root, its words, one behind it. Position p of a
    sentence is at ``starts[sentence] + 1 + p``, where the root is position 0.

    - ``starts``: int64 (n_sentences + 1,);
    - ``lexical``: uint64 (lexical layers, places), hashes of forms and the like, 0 where there is none;
    - ``tags``: uint64 (tag layers, places), hashes of tags; ``numbers``: int32 (tag layers, places), tags as numbers;
    - ``distance``: LENGTH, COLLINS or BOTH; ``verbs``, ``commas``: int32 (places + 1,), how many there are before each
      place, empty where the distance is the length.
    """

    starts: np.ndarray
    lexical: np.ndarray
    tags: np.ndarray
    numbers: np.ndarray
    distance: int
    verbs: np.ndarray
    commas: np.ndarray


@part(inline=True)
def collins(verbs, commas, i, j):
    """Six answers about words at places i and j as one number below 128: is i before j, are they adjacent, is a verb
    between them, how many commas are (0, 1, 2, more), does a comma follow the first, does one precede the second?"""
    low, high = min(i, j), max(i, j)
    return (
        (1 if i < j else 0)
        + (2 if high - low == 1 else 0)
        + (4 if verbs[high] > verbs[low + 1] else 0)
        + 8 * min(3, commas[high] - commas[low + 1])
        + (32 if commas[low + 2] > commas[low + 1] else 0)
        + (64 if commas[high] > commas[high - 1] else 0)
    )


@part(inline=True)
def _distance(h, m):
    """Direction and bucket of a distance: 1 to 14."""
    gap = m - h if m > h else h - m
    bucket = gap if gap <= 5 else 6 if gap <= 10 else 7
    return bucket if m > h else bucket + 7


@part(inline=True)
def _place(value, shift):
    """Where the weight of a feature with this hash stands."""
    key = (value ^ (value >> np.uint64(32))) * _SPREAD
    return np.uint32((key ^ (key >> np.uint64(29))) * _SPREAD >> shift)


@part(inline=True)
def _add(value, template, spread, shift, places, count):
    """Put the place of a feature into ``places``, once alone and once with ``spread``."""
    value += np.uint64(template) * _TEMPLATE
    places[count] = _place(value, shift)
    places[count + 1] = _place(value + spread, shift)
    return count + 2


@part(inline=True)
def place_of(a, b, c, template, shift):
    """The place of the feature of a template with three values."""
    return _place(a * _HEAD + b * _MODIFIER + c * _THIRD + np.uint64(template) * _TEMPLATE, shift)


@part(inline=True)
def _lexical_features(w, t, w_m, t_m, first, spread, shift, places, count):
    """The unigrams and bigrams of a pair of layers."""
    hw, ht, mw, mt = w * _HEAD, t * _MODIFIER, w_m * _THIRD, t_m * _FOURTH
    if w != 0:
        count = _add(hw + ht, first, spread, shift, places, count)
        count = _add(hw, first + 1, spread, shift, places, count)
        count = _add(hw + ht + mt, first + 2, spread, shift, places, count)
    if w_m != 0:
        count = _add(mw + mt, first + 3, spread, shift, places, count)
        count = _add(mw, first + 4, spread, shift, places, count)
        count = _add(ht + mw + mt, first + 5, spread, shift, places, count)
    if w != 0 and w_m != 0:
        count = _add(hw + ht + mw + mt, first + 6, spread, shift, places, count)
        count = _add(hw + mw + mt, first + 7, spread, shift, places, count)
        count = _add(hw + ht + mw, first + 8, spread, shift, places, count)
        count = _add(hw + mw, first + 9, spread, shift, places, count)
    return count


@part(inline=True)
def _tag_features(tags, h, m, first, spread, shift, places, count):
    """Tags of both words and of their neighbours; h and m are places."""
    ht, mt = tags[h] * _HEAD, tags[m] * _MODIFIER
    before_h, after_h = tags[h - 1] * _THIRD, tags[h + 1] * _FOURTH
    before_m, after_m = tags[m - 1] * _FIFTH, tags[m + 1] * _SIXTH
    both = ht + mt
    for value in (
        ht, mt, both, both + after_h + before_m, both + before_h + before_m, both + after_h + after_m,
        both + before_h + after_m, both + after_h, both + before_h, both + before_m, both + after_m,
    ):  # fmt: skip
        count = _add(value, first, spread, shift, places, count)
        first += 1
    return count


@part
def arc_features(layers, base, h, m, shift, marks, places):
    """``places`` uint32 := where the weights of the features of the arc from position h to m stand; returns how many.

    ``base``: the place of the root of the sentence; ``marks``: int64 (tags + 1,), room; its last entry counts.
    """
    count = 0
    hp, mp = base + h, base + m
    apart = _distance(h, m)
    if layers.distance != LENGTH:
        answers = 16 * (1 + collins(layers.verbs, layers.commas, hp, mp))
        apart = answers if layers.distance == COLLINS else answers + apart
    spread = np.uint64(apart) * _SIXTH
    for layer in range(len(layers.lexical)):
        words, tags, first = layers.lexical[layer], layers.tags[0], _LEXICAL + 1000 * layer
        count = _lexical_features(words[hp], tags[hp], words[mp], tags[mp], first, spread, shift, places, count)
    low, high = (hp, mp) if h < m else (mp, hp)
    for layer in range(len(layers.tags)):
        tags, numbers, first = layers.tags[layer], layers.numbers[layer], _TAGS + 1000 * layer
        count = _tag_features(tags, hp, mp, first, spread, shift, places, count)
        marks[-1] += 1
        both = tags[hp] * _HEAD + tags[mp] * _MODIFIER
        for between in range(low + 1, high):
            if marks[numbers[between]] != marks[-1]:
                marks[numbers[between]] = marks[-1]
                count = _add(both + tags[between] * _THIRD, first + 11, spread, shift, places, count)
    return count


@part
def sibling_features(layers, base, h, s, m, shift, places):
    """``places`` uint32 := where the weights of the features of the neighbouring modifiers s and m of h stand (s = h:
    m is the first); returns how many."""
    count = 0
    spread = np.uint64(_distance(s, m) + (0 if s != h else 20)) * _SIXTH
    for layer in range(len(layers.tags)):
        first = _SIBLINGS + 1000 * layer
        tags, words = layers.tags[layer], layers.lexical[0]
        ht, mt = tags[base + h] * _HEAD, tags[base + m] * _MODIFIER
        st = tags[base + s] * _THIRD if s != h else _FOURTH
        count = _add(ht + st + mt, first, spread, shift, places, count)
        count = _add(st + mt, first + 1, spread, shift, places, count)
        if s != h:
            sw, mw = words[base + s] * _FIFTH, words[base + m] * _SIXTH
            if layer == 0:
                count = _add(sw + mw, first + 2, spread, shift, places, count)
            count = _add(sw + mt, first + 3, spread, shift, places, count)
            count = _add(st + mw, first + 4, spread, shift, places, count)
    return count
