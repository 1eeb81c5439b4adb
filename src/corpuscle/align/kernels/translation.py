"""Translation tables: who generated whom, by IBM Model 1 and by Model 2 with a diagonal, and how counts become tables.

One direction of a sentence pair has *states* (the side that generates) and *outputs* (the side that is generated); each
output comes from one state or from the null word, independently of the others. ``posteriors`` computes the probability
of every link under either model; learners add these up as expected counts of couples (``add_counts``) and turn the
counts into tables again (``normalise``), by maximum likelihood or by variational Bayes with a symmetric Dirichlet
prior, T = exp(psi(c + alpha) - psi(sum of c + alpha)), whose rows sum to less than one.

The diagonal prior: an output j of n comes from the null word with probability p0, else from state i of m in proportion
to exp(lambda h), h = -|i/m - j/n|, positions counted from 1. To both sides of the diagonal the weights are geometric
series, so sums over i have closed forms.

Brown, Della Pietra, Della Pietra and Mercer, "The mathematics of statistical machine translation: parameter
estimation", 1993, sections 4.1 and 4.2; Dyer, Chahuneau and Smith, "A simple, fast, and effective reparameterization
of IBM Model 2", 2013 (lambda and h are theirs); Riley and Gildea, "Improving the IBM alignment models using
variational Bayes", 2012.
"""

from __future__ import annotations

import math

import numpy as np

from corpuscle.align.kernels.cooccurrence import shape_of
from corpuscle.compiled import kernel, part

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
    plain = g * (1.0 - power) / (1.0 - r)
    ramp = r * (1.0 - count * power / r + (count - 1) * power) / (1.0 - r) ** 2
    return plain, a * plain + step * g * ramp


@part
def diagonal_sums(j, m, n, strength):
    """For output j (from 1) of n and m states: the sum over i of exp(lambda h), and the sum of h exp(lambda h)."""
    below = j * m // n
    r = math.exp(-strength / m)
    h_up = -abs((below + 1) / m - j / n)
    h_down = -abs(below / m - j / n)
    up, up_h = _series(h_up, math.exp(strength * h_up), -1.0 / m, r, m - below)
    down, down_h = _series(h_down, math.exp(strength * h_down), -1.0 / m, r, below)
    return up + down, up_h + down_h


@kernel
def expected_h(shapes, counts, strength):
    """The mean of h under the prior over all outputs; ``shapes`` (k, 2) are (m, n), each seen so many times."""
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
def add_all_counts(pairs, links, counts, singles, by_source, source_totals, by_target, target_totals):
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


@kernel
def add_counts(cells, links, counts):
    """Add a probability to the count of each cell's couple, or of each output's type; ``counts`` float64."""
    for cell in range(len(cells)):
        counts[cells[cell]] += links[cell]


@kernel
def totals_of(couples, counts, swap, totals, supports):
    """Sums of counts by generating type, and how many types each can generate."""
    for s in range(len(couples.row_starts) - 1):
        for k in range(couples.row_starts[s], couples.row_starts[s + 1]):
            state = couples.columns[k] if swap else s
            totals[state] += counts[k]
            supports[state] += 1


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
def references_of(totals, supports, alpha, bayes, references):
    """What the entries of each row are divided by (``bayes``: as a logarithm)."""
    for state in range(len(totals)):
        if bayes:
            references[state] = digamma(totals[state] + alpha * supports[state]) if supports[state] > 0.0 else 0.0
        else:
            references[state] = totals[state]


@kernel
def normalise(couples, counts, swap, alpha, bayes, references, first, last, table):
    """Turn the counts of rows first..last-1 into probabilities of their generating types."""
    for s in range(first, last):
        for k in range(couples.row_starts[s], couples.row_starts[s + 1]):
            state = couples.columns[k] if swap else s
            table[k] = _entry(counts[k], references[state], alpha, bayes)


@kernel
def normalise_one(counts, alpha, bayes, support, table):
    """Turn counts into the probabilities of one generating type, the null word."""
    total = counts.sum()
    reference = digamma(total + alpha * support) if bayes else total
    for k in range(len(counts)):
        table[k] = _entry(counts[k], reference, alpha, bayes)
