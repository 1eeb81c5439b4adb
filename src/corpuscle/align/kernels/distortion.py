"""Jumps: the hidden Markov model of word alignment without any m by m matrix.

States are the positions 1..m of the generating side and, for each of them and for the start 0, a null copy, which
emits with the null word's table and remembers where the last word came from. From position i' or its null copy:

    to position i:  (1 - p0) ((1 - rho) c(i - i') / sum over i'' of c(i'' - i') + rho / m)
    to the null copy of i':  p0

c depends on the distance alone, so a step of the forward pass is a product with a Toeplitz matrix: scaled by the norms
of the rows it reads ``jumps`` along its diagonals and nothing else. A position and its null copy go on alike, so they
are merged before the step. That makes it a special case of ``engine.dp.chains``, whose 2 m + 1 states would take 1.4
times as long (m = n = 20; 1.2 times at 40 or 80).

Forward values are scaled at each output: to sum to one, or by the largest. The best path is read from the finished
table: whence a state came is looked for only where the path goes.

Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation", 1996; the null copies are those of Och
and Ney, "A systematic comparison of various statistical alignment models", 2003.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.kernels.cooccurrence import shape_of
from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM


class Law(NamedTuple):
    """What one direction of the model is.

    - ``jumps``: float64 (2 width + 1,), c of the distances -width..width, with width at least the longest sentence;
    - ``null``: float32 (output types,), what the null word generates; ``p0``: how often; ``rho``: the share of jumps to
      anywhere.
    """

    jumps: np.ndarray
    null: np.ndarray
    p0: float
    rho: float


class _Table(NamedTuple):
    """Room for a sentence pair of at most m states and n outputs.

    - ``emission``: (n, m), the probability of an output from each position; ``nulls``: (n,), from the null word;
    - ``words``: (n, m), forward, the positions 1..m; ``merged``: (n + 1, m + 1), before each output, a position 0..m
      and its null copy together; ``scales``: (n,), by what the values of an output were multiplied (sums) or divided
      (best);
    - ``norms``: (m + 1,), 1 / sum over i of c(i - i') for i' = 0..m.
    """

    emission: np.ndarray
    nulls: np.ndarray
    words: np.ndarray
    merged: np.ndarray
    scales: np.ndarray
    norms: np.ndarray


@part
def _new_table(pairs):
    """Room for every sentence pair."""
    m, n = 1, 1
    for sentence in range(len(pairs.cell_starts) - 1):
        m = max(m, pairs.state_starts[sentence + 1] - pairs.state_starts[sentence])
        n = max(n, pairs.output_starts[sentence + 1] - pairs.output_starts[sentence])
    return _Table(
        np.empty((n, m)), np.empty(n), np.empty((n, m)), np.empty((n + 1, m + 1)), np.empty(n), np.empty(m + 1)
    )


@part(bare=True)
def _prepare(pairs, sentence, law, values, table):
    """Fill all of the table that does not depend on the sweep; ``values`` float32 (n_cells,): the translation
    probability of every cell."""
    width, start = len(law.jumps) // 2, pairs.cell_starts[sentence]
    m, n, state_step, output_step = shape_of(pairs, sentence)
    for before in range(m + 1):
        total = 0.0
        for i in range(1, m + 1):
            total += law.jumps[width + i - before]
        table.norms[before] = 1.0 / total
    for j in range(n):
        table.nulls[j] = law.null[pairs.outputs[pairs.output_starts[sentence] + j]]
        for i in range(m):
            table.emission[j, i] = values[start + j * output_step + i * state_step]
    for k in range(m + 1):
        table.merged[0, k] = 0.0
    table.merged[0, 0] = 1.0


def jump_sweep(semiring: int) -> Any:
    """The kernel of the forward pass."""

    @part(bare=True)
    def sweep(law, table, m, n, logarithm):
        """Fill ``words``, ``merged`` and ``scales``; returns ``logarithm`` plus the logs of what was scaled away."""
        jumps, p0, rho, width = law.jumps, law.p0, law.rho, len(law.jumps) // 2
        for j in range(n):
            before, merged, words = table.merged[j], table.merged[j + 1], table.words[j]
            from_null = p0 * table.nulls[j]
            mass = 0.0
            if semiring == SUM:
                for k in range(m + 1):
                    mass += before[k]
            for i in range(m):  # the largest value begins below that of any path
                words[i] = mass * (1.0 - p0) * rho / m if semiring == SUM else -1.0
            for k in range(m + 1):
                share = before[k] * table.norms[k] * (1.0 - p0) * (1.0 - rho)
                even = before[k] * (1.0 - p0) * rho / m
                offset = width + 1 - k
                if semiring == SUM:
                    if share > 1e-12 * mass:  # most positions are improbable; what they add is lost in rounding
                        for i in range(m):
                            words[i] += share * jumps[offset + i]
                else:
                    for i in range(m):
                        value = share * jumps[offset + i] + even
                        words[i] = value if value > words[i] else words[i]
            total = before[0] * from_null
            for i in range(m):
                words[i] *= table.emission[j, i]
                if semiring == SUM:
                    total += words[i] + before[i + 1] * from_null
                else:
                    total = max(total, words[i], before[i + 1] * from_null)
            if semiring == SUM:
                scale = 1.0 / total
                merged[0] = before[0] * from_null * scale
                for i in range(m):
                    words[i] *= scale
                    merged[i + 1] = words[i] + before[i + 1] * from_null * scale
                table.scales[j] = scale
            else:
                merged[0] = before[0] * from_null / total
                for i in range(m):
                    words[i] /= total
                    merged[i + 1] = max(words[i], before[i + 1] * from_null / total)
                table.scales[j] = total
            logarithm += math.log(total)
        return logarithm

    return sweep


_sum_jumps, _best_jumps = jump_sweep(SUM), jump_sweep(MAX)


@kernel
def jump_posteriors(pairs, law, links, nulls, jump_counts):
    """Probabilities of links in sentence pairs, seen from one direction, as in ``translation.posteriors``.

    Adds the expected number of jumps of every distance to ``jump_counts`` (as ``jumps``); returns the log-likelihood.
    """
    jumps, p0, rho, width = law.jumps, law.p0, law.rho, len(law.jumps) // 2
    table = _new_table(pairs)
    behind = np.empty(table.merged.shape[1])  # backward of the present output
    coming = np.empty(table.merged.shape[1])  # emission times backward of the next output
    reached = np.empty(table.merged.shape[1])
    mirrored = jumps[::-1].copy()  # so that inner loops run forwards through memory
    from_where = np.zeros(len(jumps))
    likelihood = 0.0
    for sentence in range(len(pairs.cell_starts) - 1):
        m, n, state_step, output_step = shape_of(pairs, sentence)
        if m == 0 or n == 0:
            continue
        start, begin = pairs.cell_starts[sentence], pairs.output_starts[sentence]
        _prepare(pairs, sentence, law, links, table)
        likelihood = _sum_jumps(law, table, m, n, likelihood)
        behind[: m + 1] = 1.0
        for j in range(n - 1, -1, -1):
            words, merged, scale = table.words[j], table.merged[j], table.scales[j]
            linked = 0.0
            for i in range(m):
                value = words[i] * behind[i + 1]
                links[start + j * output_step + i * state_step] = value
                linked += value
            nulls[begin + j] = max(0.0, 1.0 - linked)
            sum_coming = 0.0
            for i in range(m):
                coming[i] = table.emission[j, i] * behind[i + 1] * scale
                sum_coming += coming[i]
            uniform = (1.0 - p0) * rho / m * sum_coming
            from_null = p0 * table.nulls[j] * scale
            reached[: m + 1] = 0.0
            for i in range(m):
                offset = width - 1 - i
                for k in range(m + 1):
                    reached[k] += coming[i] * mirrored[offset + k]
            for k in range(m + 1):
                share = table.norms[k] * (1.0 - p0) * (1.0 - rho)
                behind[k] = uniform + share * reached[k] + from_null * behind[k]
                scaled = merged[k] * share
                if scaled > 1e-9:  # expected jumps are counts of the order of one
                    offset = width + 1 - k
                    for i in range(m):
                        from_where[offset + i] += scaled * coming[i]
    for d in range(len(jumps)):
        jump_counts[d] += from_where[d] * jumps[d]
    return likelihood


@part(bare=True)
def _whence(law, table, m, j, i):
    """The position 0..m from which the best path to position i + 1 at output j comes, the smallest of equal ones."""
    best, where = -1.0, 0
    for k in range(m + 1):
        share = table.merged[j, k] * table.norms[k] * (1.0 - law.p0) * (1.0 - law.rho)
        even = table.merged[j, k] * (1.0 - law.p0) * law.rho / m
        value = share * law.jumps[len(law.jumps) // 2 + 1 - k + i] + even
        if value > best:
            best, where = value, k
    return where


@part(bare=True)
def _copy(law, table, j, k):
    """The forward value of the null copy of position k at output j, in the table of the best."""
    return table.merged[j, k] * (law.p0 * table.nulls[j]) / table.scales[j]


@kernel
def best_path(pairs, law, values, best):
    """The most probable state of every output: ``best`` int32 (n_outputs,), from 0; -1 is the null word.

    ``values`` float32 (n_cells,): the translation probability of every cell. Ties go to the smaller position.
    """
    table = _new_table(pairs)
    for sentence in range(len(pairs.cell_starts) - 1):
        m, n, _, _ = shape_of(pairs, sentence)
        begin = pairs.output_starts[sentence]
        if m == 0 or n == 0:
            best[begin : begin + n] = -1
            continue
        _prepare(pairs, sentence, law, values, table)
        _best_jumps(law, table, m, n, 0.0)
        at, is_null, top = 0, True, -1.0
        for k in range(m + 1):
            if k > 0 and table.words[n - 1, k - 1] > top:
                at, is_null, top = k, False, table.words[n - 1, k - 1]
            if _copy(law, table, n - 1, k) > top:
                at, is_null, top = k, True, _copy(law, table, n - 1, k)
        for j in range(n - 1, -1, -1):
            best[begin + j] = -1 if is_null else at - 1
            if not is_null:
                at = _whence(law, table, m, j, at - 1)
            if j > 0:
                is_null = at == 0 or _copy(law, table, j - 1, at) > table.words[j - 1, at - 1]
