"""Expectation and maximisation: link probabilities under each law of positions, and tables from expected counts.

One direction of a sentence pair has *states* (the side that generates) and *outputs* (the side that is generated); each
output comes from one state or from the null word. Learners add up the probabilities of links as expected counts of
couples and turn the counts into tables again (``normalise``), by maximum likelihood or by variational Bayes with a
symmetric Dirichlet prior, T = exp(psi(c + alpha) - psi(sum of c + alpha)), whose rows sum to less than one.

``posteriors``: outputs are independent, by IBM Model 1, or by Model 2 with a diagonal prior: output j of n comes from
the null word with probability p0, else from state i of m in proportion to exp(lambda h), h = -|i/m - j/n|, positions
counted from 1. On both sides of the diagonal the weights are geometric series, so sums over i have closed forms.

``jump_posteriors``, ``best_path``: the hidden Markov model without an m by m matrix. States are the positions 1..m and,
for each of them and for the start 0, a null copy, which emits by the null word's table and remembers where the last
word came from. From position i' or its null copy:

    to position i:  (1 - p0) ((1 - rho) c(i - i') / sum over i'' of c(i'' - i') + rho / m)
    to the null copy of i':  p0

c depends on the distance alone, so a step of the forward pass is a product with a Toeplitz matrix, read from ``jumps``
along its diagonals. A position and its null copy go on alike, so they are merged before the step; ``engine.dp.chains``
with all 2 m + 1 states would take 1.4 times as long (m = n = 20). Forward values are scaled at each output: to sum to
one, or by the largest. The best path is read from the finished table, without back pointers.

Brown, Della Pietra, Della Pietra and Mercer, "The mathematics of statistical machine translation: parameter
estimation", 1993, sections 4.1 and 4.2; Dyer, Chahuneau and Smith, "A simple, fast, and effective reparameterization of
IBM Model 2", 2013 (lambda and h are theirs); Riley and Gildea, "Improving the IBM alignment models using variational
Bayes", 2012; Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation", 1996; the null copies are
those of Och and Ney, "A systematic comparison of various statistical alignment models", 2003.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corpuscle.align.kernels.cooccurrence import shape_of
from corpuscle.compiled import kernel, part
from corpuscle.engine.dp import MAX, SUM

UNIFORM, DIAGONAL = 0, 1
"""Priors of positions: all states and the null word alike, or near the diagonal."""

FLOOR = 1e-30
"""No entry of a table is smaller: digamma of a tiny count would underflow."""

_UNDERFLOW = math.log(FLOOR)


@part
def digamma(x):
    """The derivative of log gamma, for x > 0."""
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return result + math.log(x) - 0.5 / x - series


@part
def _series(a, g, step, r, count):
    """Sums over k < count of g r^k and of (a + k step) g r^k."""
    if count <= 0:
        return 0.0, 0.0
    if 1.0 - r < 1e-6:  # nearly uniform: the closed form would divide zero by zero
        plain, weighted = 0.0, 0.0
        for _ in range(count):
            plain += g
            weighted += a * g
            g *= r
            a += step
        return plain, weighted
    power = r**count
    # The closed forms of g sum r^k and of sum k r^k.
    plain = g * (1.0 - power) / (1.0 - r)
    ramp = r * (1.0 - count * power / r + (count - 1) * power) / (1.0 - r) ** 2
    return plain, a * plain + step * g * ramp


@part
def diagonal_sums(j, m, n, strength):
    """For output j (from 1) of n and m states: the sum over i of exp(lambda h), and the sum of h exp(lambda h)."""
    below = j * m // n  # the states up to this one lie on one side of the diagonal, the others on the other
    r = math.exp(-strength / m)
    h_up = -abs((below + 1) / m - j / n)
    h_down = -abs(below / m - j / n)
    up, up_h = _series(h_up, math.exp(strength * h_up), -1.0 / m, r, m - below)
    down, down_h = _series(h_down, math.exp(strength * h_down), -1.0 / m, r, below)
    return up + down, up_h + down_h


@kernel
def expected_h(shapes, counts, strength):
    """The mean of h under the prior over all outputs; ``shapes`` (k, 2) are (m, n), each seen ``counts`` times."""
    total, outputs = 0.0, 0.0
    for k in range(len(shapes)):
        m, n = shapes[k, 0], shapes[k, 1]
        for j in range(1, n + 1):
            plain, weighted = diagonal_sums(j, m, n, strength)
            total += counts[k] * weighted / plain
        outputs += counts[k] * n
    return total / outputs


@part
def _diagonal_weights(j, m, n, strength, p0, weights):
    """The prior of states 1..m for output j, into ``weights`` (m,)."""
    below = j * m // n
    r = math.exp(-strength / m)
    plain, _ = diagonal_sums(j, m, n, strength)
    scale = (1.0 - p0) / plain
    g = scale * math.exp(-strength * abs((below + 1) / m - j / n))
    for i in range(below, m):
        weights[i] = g
        g *= r
    g = scale * math.exp(-strength * abs(below / m - j / n))
    for i in range(below - 1, -1, -1):
        weights[i] = g
        g *= r


@kernel
def posteriors(pairs, null, kind, strength, p0, links, nulls):
    """Probabilities of links in sentence pairs, seen from one direction (``cooccurrence.Directed``).

    ``links`` float32 (n_cells,) has the translation probability of each cell, and gets the probability of its link;
    ``null`` float32 (output types,) is what the null word generates. Fills ``nulls`` float32 (n_outputs,). Returns the
    log-likelihood, the sum of h over links and the sum of the links themselves.
    """
    likelihood, sum_h, mass = 0.0, 0.0, 0.0
    longest = 1
    for sentence in range(len(pairs.cell_starts) - 1):
        longest = max(longest, pairs.state_starts[sentence + 1] - pairs.state_starts[sentence])
    weights = np.empty(longest)
    for sentence in range(len(pairs.cell_starts) - 1):
        m, n, state_step, output_step = shape_of(pairs, sentence)
        if kind == UNIFORM:
            weights[:m] = 1.0 / (m + 1)
            p0 = 1.0 / (m + 1)
        for j in range(n):
            if kind == DIAGONAL:
                _diagonal_weights(j + 1, m, n, strength, p0, weights)
            output = pairs.output_starts[sentence] + j
            from_null = p0 * null[pairs.outputs[output]]
            total = from_null
            cell = pairs.cell_starts[sentence] + j * output_step
            for i in range(m):
                value = weights[i] * links[cell + i * state_step]
                links[cell + i * state_step] = value
                total += value
            scale, step, middle = 1.0 / total, 1.0 / m, (j + 1) / n
            for i in range(m):
                value = links[cell + i * state_step] * scale
                links[cell + i * state_step] = value
                mass += value
                sum_h -= value * abs((i + 1) * step - middle)
            nulls[output] = from_null * scale
            likelihood += math.log(total)
    return likelihood, sum_h, mass


@kernel
def translate(pairs, swap, table, singles, references, alpha, bayes, values):
    """The translation probability of every cell, into ``values`` float32 (n_cells,).

    ``table`` float32 (n_shared + 1,) has those of shared couples; ``singles`` float32 are the counts of singles and
    ``references`` those of their generating types.
    """
    n_shared = len(table) - 1
    cell = 0
    for sentence in range(len(pairs.source_starts) - 1):
        for i in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                couple = pairs.cells[cell]
                if couple < n_shared:
                    values[cell] = table[couple]
                else:
                    state = pairs.target[j] if swap else pairs.source[i]
                    values[cell] = _entry(np.float64(singles[couple - n_shared]), references[state], alpha, bayes)
                cell += 1


@kernel
def add_counts(pairs, links, counts, singles, by_source, source_totals, by_target, target_totals):
    """Add the probability of every cell to the count of its shared couple, or keep it as that of its single; add those
    of singles by source type, by target type, or by both."""
    n_shared = len(counts)
    cell = 0
    for sentence in range(len(pairs.source_starts) - 1):
        for i in range(pairs.source_starts[sentence], pairs.source_starts[sentence + 1]):
            for j in range(pairs.target_starts[sentence], pairs.target_starts[sentence + 1]):
                couple = pairs.cells[cell]
                if couple < n_shared:
                    counts[couple] += links[cell]
                else:
                    singles[couple - n_shared] = links[cell]
                    if by_source:
                        source_totals[pairs.source[i]] += links[cell]
                    if by_target:
                        target_totals[pairs.target[j]] += links[cell]
                cell += 1


@part
def _entry(count, reference, alpha, bayes):
    """One entry of a table; ``reference`` belongs to its row: the sum of its counts, or digamma of its posterior."""
    if not bayes:
        return max(FLOOR, count / reference) if reference > 0.0 else FLOOR
    x = count + alpha
    if x < 0.4 and -1.0 / x - reference < _UNDERFLOW:  # digamma(x) < -1 / x there: most couples end here
        return FLOOR
    return max(FLOOR, math.exp(digamma(x) - reference))


@kernel
def references_of(couples, counts, swap, alpha, bayes, totals, supports):
    """Turn ``totals`` into what the entries of each row are divided by (``bayes``: as a logarithm), after adding up the
    counts by generating type, and how many types each can generate; both may begin with those of other couples."""
    for s in range(len(couples.row_starts) - 1):
        for k in range(couples.row_starts[s], couples.row_starts[s + 1]):
            state = couples.columns[k] if swap else s
            totals[state] += counts[k]
            supports[state] += 1
    if bayes:
        for state in range(len(totals)):
            totals[state] = digamma(totals[state] + alpha * supports[state]) if supports[state] > 0.0 else 0.0


@kernel
def normalise(couples, counts, swap, alpha, bayes, references, first, last, table):
    """Turn the counts of rows first..last-1 into probabilities of their generating types."""
    for s in range(first, last):
        for k in range(couples.row_starts[s], couples.row_starts[s + 1]):
            state = couples.columns[k] if swap else s
            table[k] = _entry(counts[k], references[state], alpha, bayes)


class JumpLaw(NamedTuple):
    """The hidden Markov model of one direction.

    - ``jumps``: float64 (2 width + 1,), c of the distances -width..width, with width at least the longest sentence;
    - ``null``: float32 (output types,), what the null word generates, with probability ``p0``; ``rho``: the share of
      jumps to anywhere.
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
    m, n = 1, 1
    for sentence in range(len(pairs.cell_starts) - 1):
        m = max(m, pairs.state_starts[sentence + 1] - pairs.state_starts[sentence])
        n = max(n, pairs.output_starts[sentence + 1] - pairs.output_starts[sentence])
    return _Table(
        np.empty((n, m)), np.empty(n), np.empty((n, m)), np.empty((n + 1, m + 1)), np.empty(n), np.empty(m + 1)
    )


@part(bare=True)
def _prepare(pairs, sentence, law, values, table):
    """Fill what does not depend on the sweep; ``values`` float32 (n_cells,): translation probabilities of cells."""
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
    """Probabilities of links in sentence pairs, seen from one direction, as in ``posteriors``.

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


@kernel
def strongest(pairs, links, nulls, best):
    """The most probable state of every output: ``best`` int32 (n_outputs,), -1 for the null word.

    ``pairs``: see ``cooccurrence.Directed``; ``links`` and ``nulls`` as ``posteriors`` fills them. Ties go to the null
    word, then to the smaller position.
    """
    for sentence in range(len(pairs.cell_starts) - 1):
        m, n, state_step, output_step = shape_of(pairs, sentence)
        for j in range(n):
            output = pairs.output_starts[sentence] + j
            top = nulls[output]
            best[output] = -1
            for i in range(m):
                value = links[pairs.cell_starts[sentence] + j * output_step + i * state_step]
                if value > top:
                    top = value
                    best[output] = i
