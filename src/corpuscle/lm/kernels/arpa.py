"""The lines of ARPA files, written and parsed in compiled passes.

The format is that of Stolcke, "SRILM - an extensible language modeling toolkit", 2002 (ngram-format): a log10
probability, the words, and a log10 back-off weight where there is one. Writing never allocates: a full buffer ends the
call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part

OK, NO_NUMBER, TOO_FEW, TOO_MANY, SECTION = range(5)
"""How ``get_lines`` ends."""

# Bytes as numbers: 9 tab, 10 newline, 32 space, 43 +, 45 -, 46 point, 48 the digit 0, 69 and 101 E and e, 92 backslash.


@part
def put_number(value, out, at):
    """Write a log10 (-99 or more, below 100) with ten decimals at ``out[at:]``; returns the next free place."""
    if value < 0:
        out[at] = 45
        at += 1
        value = -value
    scaled = np.uint64(value * 1e10 + 0.5)
    whole = scaled // np.uint64(10_000_000_000)
    fraction = scaled - whole * np.uint64(10_000_000_000)
    if whole >= np.uint64(10):
        out[at] = np.uint64(48) + whole // np.uint64(10)
        whole = whole % np.uint64(10)
        at += 1
    out[at] = np.uint64(48) + whole
    out[at + 1] = 46
    upper = fraction // np.uint64(100_000)  # two halves, so that their divisions overlap
    lower = fraction - upper * np.uint64(100_000)
    for digit in range(5, 0, -1):
        rest = upper // np.uint64(10)
        out[at + 1 + digit] = np.uint64(48) + upper - rest * np.uint64(10)
        upper = rest
        rest = lower // np.uint64(10)
        out[at + 6 + digit] = np.uint64(48) + lower - rest * np.uint64(10)
        lower = rest
    return at + 12


class Lines(NamedTuple):
    """What is written: ``words`` and ``first_child`` of a trie, ``numbers`` float64 (rows,) and ``weights`` float64
    (contexts,) as log10; the spelling of word w is ``text[offsets[w]:offsets[w + 1]]``, at most ``longest`` bytes."""

    words: np.ndarray
    first_child: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray
    text: np.ndarray
    offsets: np.ndarray
    longest: int


@kernel
def put_rows(lines, m, first, last, ancestors, out):
    """Write the lines of the rows ``first`` to ``last`` of order m, as far as they fit: ``(next row, bytes written)``.

    ``ancestors``: int64 (order,), the rows of the shorter n-grams that ``first`` begins with, kept up to date.
    """
    first_child, offsets, weights = lines.first_child, lines.offsets, lines.weights
    at = 0
    room = len(out) - m * (lines.longest + 1) - 64
    for row in range(first, last):
        if at > room:
            return row, at
        ancestors[m - 1] = row
        for k in range(m - 2, -1, -1):
            if first_child[ancestors[k] + 1] > ancestors[k + 1]:
                break
            while first_child[ancestors[k] + 1] <= ancestors[k + 1]:
                ancestors[k] += 1
        at = put_number(lines.numbers[row], out, at)
        out[at] = 9
        for k in range(m):
            word = lines.words[ancestors[k]]
            for i in range(offsets[word], offsets[word + 1]):
                at += 1
                out[at] = lines.text[i]
            at += 1
            out[at] = 32
        if row < len(weights) and weights[row] != 0.0:
            out[at] = 9
            at = put_number(weights[row], out, at + 1)
        out[at] = 10
        at += 1
    return last, at


@part
def get_number(data, begin, end):
    """A decimal number in ``data[begin:end]``: ``(it, whether it is one)``."""
    at, sign = begin, 1.0
    if at < end and (data[at] == 45 or data[at] == 43):
        sign = -1.0 if data[at] == 45 else 1.0
        at += 1
    digits, mantissa, exponent = 0, np.int64(0), 0
    seen_point = False
    while at < end and (48 <= data[at] <= 57 or (data[at] == 46 and not seen_point)):
        if data[at] == 46:
            seen_point = True
        else:
            if mantissa < 100_000_000_000_000_000:
                mantissa = 10 * mantissa + (data[at] - 48)
                exponent -= 1 if seen_point else 0
            elif not seen_point:
                exponent += 1
            digits += 1
        at += 1
    if digits > 0 and at < end and (data[at] == 101 or data[at] == 69):
        at += 1
        minus = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        power, power_digits = 0, 0
        while at < end and 48 <= data[at] <= 57 and power < 100_000:
            power = 10 * power + (data[at] - 48)
            power_digits += 1
            at += 1
        if power_digits == 0:
            return 0.0, False
        exponent += -power if minus else power
    value = np.float64(mantissa)
    if exponent < 0:
        value = np.float64(value / 10.0 ** (-exponent) if exponent > -300 else 0.0)
    elif exponent > 0:
        value *= 10.0 ** min(exponent, 300)
    return sign * value, digits > 0 and at == end


@kernel
def get_lines(data, position, m, first, last, numbers, weights, text, ends, used):
    """Parse the lines of n-grams ``first`` to ``last``: ``(code, position, n-gram reached, lines read, bytes used)``.

    ``text`` receives the words of all n-grams one after the other, from ``used`` on, ``ends`` where each ends. Stops at
    a line that begins with a backslash, and when ``text`` is full.
    """
    lines = 0
    while first < last and position < len(data):
        line_end = position
        while line_end < len(data) and data[line_end] != 10:
            line_end += 1
        if used + line_end - position > len(text):
            return OK, position, first, lines, used
        at, field = position, 0
        numbers_here = 0.0
        while True:
            while at < line_end and (data[at] == 32 or 9 <= data[at] <= 13):
                at += 1
            if at == line_end:
                break
            begin = at
            while at < line_end and not (data[at] == 32 or 9 <= data[at] <= 13):
                at += 1
            if field == 0:
                if data[begin] == 92:
                    return SECTION, position, first, lines, used
                numbers_here, good = get_number(data, begin, at)
                if not good or numbers_here > 1e-6:
                    return NO_NUMBER, position, first, lines, used
                numbers[first], weights[first] = numbers_here, 0.0
            elif field <= m:
                for i in range(begin, at):
                    text[used] = data[i]
                    used += 1
                ends[first * m + field] = used
            else:
                weight, good = get_number(data, begin, at)
                if not good or field > m + 1:
                    return TOO_MANY, position, first, lines, used
                weights[first] = weight
            field += 1
        if 0 < field <= m:
            return TOO_FEW, position, first, lines, used
        position = line_end + 1
        lines += 1
        if field > 0:
            first += 1
    return OK, min(position, len(data)), first, lines, used
