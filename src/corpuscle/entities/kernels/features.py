"""Features of tokens by templates, as hashes.

A template names up to three places beside a token, each by a distance and a column of values; a feature is the template
with the values that stand there. It has one number of 64 bits, mixed from both, and is never spelled out. A template of
which a value is missing (0) gives no feature.

Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for segmenting and labeling sequence
data", 2001, section 3 (features of a state and the whole observation); Weinberger, Dasgupta, Langford, Smola and
Attenberg, "Feature hashing for large scale multitask learning", 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.random import mix

_FIRST, _SECOND, _THIRD = (
    np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)  # fmt: skip


class Tokens(NamedTuple):
    """The tokens of some sentences.

    - ``starts``: int64 (n_sentences + 1,), where sentences begin;
    - ``values``: uint64 (n_tokens + 2, columns), what is known of each token, 0 for nothing; the last two rows stand
      before and behind every sentence;
    - ``templates``: int32 (templates, 3, 2), up to three pairs of a distance and a column, -1 for no column;
    - ``numbers``: uint64 (templates,), the number of each, which does not depend on what columns a text has.
    """

    starts: np.ndarray
    values: np.ndarray
    templates: np.ndarray
    numbers: np.ndarray


@part(inline=True)
def feature(tokens, first, last, i, t):
    """The feature of template t at token i of a sentence from ``first`` to ``last``; 0 if a value is missing."""
    key = tokens.numbers[t] * _THIRD
    for k in range(3):
        column = tokens.templates[t, k, 1]
        if column >= 0:
            at = i + tokens.templates[t, k, 0]
            # A place outside of the sentence has the values of the last two rows.
            row = len(tokens.values) - 2 if at < first else len(tokens.values) - 1 if at >= last else at
            value = tokens.values[row, column]
            if value == 0:
                return np.uint64(0)
            key = mix((key ^ value) * (_FIRST if k == 0 else _SECOND))
    return key


@kernel
def features(tokens, begin, end, found):
    """``found`` uint64 (tokens, templates) := the features of all tokens of the sentences from ``begin`` to ``end``."""
    base = tokens.starts[begin]
    for sentence in range(begin, end):
        first, last = tokens.starts[sentence], tokens.starts[sentence + 1]
        for i in range(first, last):
            for t in range(len(tokens.templates)):
                found[i - base, t] = feature(tokens, first, last, i, t)
