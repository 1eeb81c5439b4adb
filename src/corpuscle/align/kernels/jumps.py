"""Jumps: the hidden Markov model of word alignment without any m by m matrix.

States are the positions 1..m of the generating side and, for each of them and for the start 0, a null copy, which
emits with the null word's table and remembers where the last word came from. From position i' or its null copy:

    to position i:  (1 - p0) ((1 - rho) c(i - i') / sum over i'' of c(i'' - i') + rho / m)
    to the null copy of i':  p0

c depends on the distance alone, so a step of the forward pass is a product with a Toeplitz matrix: scaled by the norms
of the rows it reads ``jumps`` along its diagonals and nothing else. Forward values are scaled to sum to one at each
output.

``jumps`` is float64 (2 width + 1,): c of the distances -width..width, with width at least the longest sentence.

Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation", 1996; the null copies are those of Och
and Ney, "A systematic comparison of various statistical alignment models", 2003.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.compiled import kernel

__all__ = ["best_path", "jump_posteriors"]


@kernel
def _norms(jumps, width, m, norms):
    """1 / sum over i of c(i - i') for i' = 0..m, by moving a window over ``jumps``."""
    total = 0.0
    for i in range(1, m + 1):
        total += jumps[width + i]
    norms[0] = 1.0 / total
    for before in range(1, m + 1):
        total = 0.0
        for i in range(1, m + 1):
            total += jumps[width + i - before]
        norms[before] = 1.0 / total


@kernel
def _gather(values, start, swap, m, n, emission):
    """``emission[j, i]``: the probability of output j from state i + 1; ``values`` has those of all cells."""
    state_step, output_step = (1, m) if swap else (n, 1)
    for j in range(n):
        for i in range(m):
            emission[j, i] = values[start + j * output_step + i * state_step]


@kernel
def _step_forward(before, norms, jumps, width, m, p0, rho, into):
    """Where a word's state comes from: ``into[i - 1]`` for positions 1..m, from all of 0..m (``before``)."""
    mass = 0.0
    for i in range(m + 1):
        mass += before[i]
    for i in range(m):
        into[i] = mass * (1.0 - p0) * rho / m
    for k in range(m + 1):
        scaled = before[k] * norms[k] * (1.0 - p0) * (1.0 - rho)
        if scaled > 1e-12 * mass:
            offset = width + 1 - k
            for i in range(m):
                into[i] += scaled * jumps[offset + i]


@kernel
def jump_posteriors(pairs, first, last, swap, null, jumps, p0, rho, links, nulls, jump_counts):
    """Probabilities of links in sentence pairs first..last-1 of one direction, as in ``translation.posteriors``.

    Adds the expected number of jumps of every distance to ``jump_counts`` (as ``jumps``); returns the log-likelihood.
    """
    outputs = pairs.source if swap else pairs.target
    output_starts = pairs.source_starts if swap else pairs.target_starts
    state_starts = pairs.target_starts if swap else pairs.source_starts
    width = len(jumps) // 2
    most_states, most_outputs = 1, 1
    for sentence in range(first, last):
        most_states = max(most_states, state_starts[sentence + 1] - state_starts[sentence])
        most_outputs = max(most_outputs, output_starts[sentence + 1] - output_starts[sentence])
    emission = np.empty((most_outputs, most_states))
    words = np.empty((most_outputs, most_states))  # forward, states 1..m
    merged = np.empty((most_outputs + 1, most_states + 1))  # forward, a position and its null copy together
    behind = np.empty(most_states + 1)  # backward of the present output
    coming = np.empty(most_states)  # emission times backward of the next output
    reached = np.empty(most_states + 1)
    norms = np.empty(most_states + 1)
    scales = np.empty(most_outputs)
    mirrored = jumps[::-1].copy()  # so that inner loops run forwards through memory
    from_where = np.zeros(len(jumps))
    base = pairs.cell_starts[first]
    likelihood = 0.0
    for sentence in range(first, last):
        m = state_starts[sentence + 1] - state_starts[sentence]
        n = output_starts[sentence + 1] - output_starts[sentence]
        if m == 0 or n == 0:
            continue
        start = pairs.cell_starts[sentence]
        state_step, output_step = (1, m) if swap else (n, 1)
        begin = output_starts[sentence]
        _norms(jumps, width, m, norms)
        _gather(links, start - base, swap, m, n, emission)
        merged[0, : m + 1] = 0.0
        merged[0, 0] = 1.0
        for j in range(n):
            _step_forward(merged[j], norms, jumps, width, m, p0, rho, words[j])
            from_null = p0 * null[outputs[begin + j]]
            total = merged[j, 0] * from_null
            for i in range(m):
                words[j, i] *= emission[j, i]
                total += words[j, i] + merged[j, i + 1] * from_null
            scale = 1.0 / total
            merged[j + 1, 0] = merged[j, 0] * from_null * scale
            for i in range(m):
                words[j, i] *= scale
                merged[j + 1, i + 1] = words[j, i] + merged[j, i + 1] * from_null * scale
            scales[j] = scale
            likelihood += math.log(total)
        behind[: m + 1] = 1.0
        for j in range(n - 1, -1, -1):
            linked = 0.0
            for i in range(m):
                value = words[j, i] * behind[i + 1]
                links[start + j * output_step + i * state_step - base] = value
                linked += value
            nulls[begin + j - output_starts[first]] = max(0.0, 1.0 - linked)
            sum_coming = 0.0
            for i in range(m):
                coming[i] = emission[j, i] * behind[i + 1] * scales[j]
                sum_coming += coming[i]
            uniform = (1.0 - p0) * rho / m * sum_coming
            from_null = p0 * null[outputs[begin + j]] * scales[j]
            reached[: m + 1] = 0.0
            for i in range(m):
                offset = width - 1 - i
                for k in range(m + 1):
                    reached[k] += coming[i] * mirrored[offset + k]
            for k in range(m + 1):
                share = norms[k] * (1.0 - p0) * (1.0 - rho)
                behind[k] = uniform + share * reached[k] + from_null * behind[k]
                scaled = merged[j, k] * share
                if scaled > 1e-9:
                    offset = width + 1 - k
                    for i in range(m):
                        from_where[offset + i] += scaled * coming[i]
    for d in range(len(jumps)):
        jump_counts[d] += from_where[d] * jumps[d]
    return likelihood


@kernel
def best_path(pairs, first, last, swap, values, null, jumps, p0, rho, best):
    """The most probable state of every output: ``best`` int32 (outputs of these pairs,), from 0; -1 is the null word.

    ``values`` float32: the translation probability of every cell of these pairs. Ties go to the smaller position.
    """
    outputs = pairs.source if swap else pairs.target
    output_starts = pairs.source_starts if swap else pairs.target_starts
    state_starts = pairs.target_starts if swap else pairs.source_starts
    width = len(jumps) // 2
    most_states, most_outputs = 1, 1
    for sentence in range(first, last):
        most_states = max(most_states, state_starts[sentence + 1] - state_starts[sentence])
        most_outputs = max(most_outputs, output_starts[sentence + 1] - output_starts[sentence])
    emission = np.empty((most_outputs, most_states))
    norms = np.empty(most_states + 1)
    words = np.empty(most_states + 1)
    copies = np.empty(most_states + 1)
    into = np.empty(most_states + 1)
    came_from = np.empty((most_outputs, most_states + 1), np.int32)  # whence a word's state; null copies stay
    was_null = np.empty((most_outputs, most_states + 1), np.bool_)  # whether position k was better as a null copy
    for sentence in range(first, last):
        m = state_starts[sentence + 1] - state_starts[sentence]
        n = output_starts[sentence + 1] - output_starts[sentence]
        begin = output_starts[sentence]
        if m == 0:
            for j in range(n):
                best[begin + j - output_starts[first]] = -1
            continue
        if n == 0:
            continue
        _norms(jumps, width, m, norms)
        _gather(values, pairs.cell_starts[sentence] - pairs.cell_starts[first], swap, m, n, emission)
        words[: m + 1] = 0.0
        copies[: m + 1] = 0.0
        copies[0] = 1.0
        for j in range(n):
            into[: m + 1] = -1.0
            for k in range(m + 1):
                was_null[j, k] = copies[k] > words[k]
                value = max(words[k], copies[k])
                share = value * norms[k] * (1.0 - p0) * (1.0 - rho)
                even = value * (1.0 - p0) * rho / m
                offset = width + 1 - k
                for i in range(m):
                    score = share * jumps[offset + i] + even
                    if score > into[i + 1]:
                        into[i + 1] = score
                        came_from[j, i + 1] = k
            from_null = p0 * null[outputs[begin + j]]
            largest = 0.0
            for k in range(m + 1):
                copies[k] = max(words[k], copies[k]) * from_null
                words[k] = into[k] * emission[j, k - 1] if k > 0 else 0.0
                largest = max(largest, copies[k], words[k])
            for k in range(m + 1):
                words[k] /= largest
                copies[k] /= largest
        at, null_now, top = 0, True, -1.0
        for k in range(m + 1):
            if words[k] > top:
                at, null_now, top = k, False, words[k]
            if copies[k] > top:
                at, null_now, top = k, True, copies[k]
        for j in range(n - 1, -1, -1):
            best[begin + j - output_starts[first]] = -1 if null_now else at - 1
            if not null_now:
                at = came_from[j, at]
            null_now = was_null[j, at]
