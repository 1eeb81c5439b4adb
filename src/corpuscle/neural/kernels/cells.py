"""What networks do between two matrix products: gates, layer normalisation, attention.

The products themselves are left to BLAS; everything else of a step is done here in one pass over the rows. Rows are
vectors, d the size of a state; all arrays float32 and contiguous.

- GRU: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014, with the reset gate after the
  product: r, z = sigmoid(X + U), c = tanh(X + r U), h' = (1 - z) c + z h, where X is the input's part with the bias
  and U the state's part, h times a matrix, three parts side by side in the order r, z, c;
- multiplicative LSTM: Krause, Lu, Murray and Renals, "Multiplicative LSTM for sequence modelling", 2016, eq. 6-10;
- layer normalisation: Ba, Kiros and Hinton, "Layer normalization", 2016, eq. 4, with a gain;
- attention: Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate", 2015,
  appendix A.1.2. A linear map of a weighted sum is the weighted sum of the mapped vectors: so the vectors of a source
  are multiplied once with all that the decoder does to what attention finds, and no step multiplies it again. And
  tanh(k + q) = 1 - 2 / (1 + e^2k e^2q): keys and queries are kept as powers, so that a pair of them costs a division;
- attention with several heads: Vaswani et al., "Attention is all you need", 2017, eq. 1.

A gain of size 0 means: no normalisation.

**Exponential, sigmoid and hyperbolic tangent** in single precision are written so that loops over them vectorise. A
call of the mathematical library stops the vectoriser, and a recurrent network spends a third of its time in such calls.
Here exp(x) = 2^n e^r with n the nearest integer to x / log 2, so that r is between -log 2 / 2 and log 2 / 2; e^r is a
polynomial of degree 6, and n is added to the exponent bits of a float32. Relative error below 3e-7 for -87 <= x <= 88;
smaller x count as -87, so that exp(-inf) is 1.6e-38, and NaN stays NaN. Hoang, Dwojak, Krislauks, Torregrosa and
Heafield, "Fast neural machine translation implementation", 2018, section 3.1, has the softmax that needs it.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types

from corpuscle.compiled import kernel, lowered, part

_ONE, _TWO = np.float32(1), np.float32(2)
_LOW, _HIGH = np.float32(-87.0), np.float32(88.0)
_LOG2_E = np.float32(1.44269504)
_LOG_2_HIGH, _LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_SHIFT = np.float32(12582912.0)  # 1.5 * 2^23: adding it leaves an integer in the low bits of a float32
# e^r = 1 + r + r^2 (c_0 + ... + c_4 r^4), fitted to the smallest largest error, 3e-9, on that interval
_C0, _C1, _C2, _C3, _C4 = (np.float32(c) for c in (0.5, 0.166665193, 0.0416661967, 0.00836884634, 0.00139510318))


@lowered(lambda shifted: np.exp2(shifted - _SHIFT))
def _exponent(context, shifted):
    """2^n as a float32, from 1.5 * 2^23 + n: its low bits, plus the bias, are moved to where the exponent is."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(32)
        bits = builder.bitcast(arguments[0], word)
        biased = builder.add(bits, ir.Constant(word, 127))
        return builder.bitcast(builder.shl(biased, ir.Constant(word, 23)), ir.FloatType())

    return types.float32(types.float32), generate


@part(inline=True, contract=True)
def exponential(x):
    """e^x, float32."""
    x = _LOW if x < _LOW else (_HIGH if x > _HIGH else x)
    shifted = x * _LOG2_E + _SHIFT
    n = shifted - _SHIFT
    r = x - n * _LOG_2_HIGH - n * _LOG_2_LOW
    polynomial = _C0 + r * (_C1 + r * (_C2 + r * (_C3 + r * _C4)))
    return (_ONE + r + r * r * polynomial) * _exponent(shifted)


@part(inline=True, contract=True)
def sigmoid(x):
    """1 / (1 + e^-x), float32."""
    return _ONE / (_ONE + exponential(-x))


@part(inline=True, contract=True)
def tanh(x):
    """(e^x - e^-x) / (e^x + e^-x), float32."""
    return _TWO / (_ONE + exponential(-_TWO * x)) - _ONE


EPSILON = np.float32(1e-5)
"""Added to variances."""
_LARGEST = np.float32(43)
"""Keys and queries beyond it, whose powers would leave the range of float32, count as this: tanh is 1 there."""


@part(reorder=True)
def moments(x):
    """The mean of a vector and one over its standard deviation."""
    size = np.float32(x.size)
    mean = np.float32(0)
    for i in range(x.size):
        mean += x[i]
    mean /= size
    variance = np.float32(0)
    for i in range(x.size):
        variance += (x[i] - mean) * (x[i] - mean)
    return mean, _ONE / np.sqrt(variance / size + EPSILON)


@part(inline=True, contract=True)
def _normalise(x, gain):
    """Normalise a vector in place."""
    if gain.size:
        mean, scale = moments(x)
        for i in range(x.size):
            x[i] = (x[i] - mean) * scale * gain[i]


@kernel(contract=True)
def normalise(x, gain, bias):
    """Normalise the rows of x (rows, m) in place and add a bias (m,), or none if its size is 0."""
    for row in range(x.shape[0]):
        _normalise(x[row], gain)
        if bias.size:
            vector = x[row]
            for i in range(bias.size):
                vector[i] += bias[i]


@kernel(contract=True)
def gru(inputs, places, products, gain, h):
    """The next states, in place of ``h`` (rows, d). ``inputs`` (n, 3d): X with its bias, the row of each state in
    ``places`` (rows,) int32; ``products`` (rows, 3d): h U, normalised here.

    An array for the result besides h, which might be h itself, would keep the loop from being vectorised.
    """
    d = h.shape[1]
    for row in range(h.shape[0]):
        product, x, state = products[row], inputs[places[row]], h[row]
        _normalise(product, gain)
        u_r, u_z, u_c = product[:d], product[d : 2 * d], product[2 * d :]
        x_r, x_z, x_c = x[:d], x[d : 2 * d], x[2 * d :]
        for i in range(d):
            z = sigmoid(x_z[i] + u_z[i])
            c = tanh(x_c[i] + sigmoid(x_r[i] + u_r[i]) * u_c[i])
            state[i] = c + z * (state[i] - c)


@kernel(contract=True)
def mlstm(inputs, places, products, gain, memory, out):
    """The next states ``out`` (rows, d) and, in place, ``memory`` (rows, d). ``inputs`` (n, 4d), ``places`` (rows,) and
    ``products`` (rows, 4d) are as in ``gru``, with the parts input, forget, output, candidate."""
    d = memory.shape[1]
    for row in range(memory.shape[0]):
        product, x, cell, after = products[row], inputs[places[row]], memory[row], out[row]
        _normalise(product, gain)
        u_i, u_f, u_o, u_c = product[:d], product[d : 2 * d], product[2 * d : 3 * d], product[3 * d :]
        x_i, x_f, x_o, x_c = x[:d], x[d : 2 * d], x[2 * d : 3 * d], x[3 * d :]
        for i in range(d):
            put = sigmoid(x_i[i] + u_i[i]) * tanh(x_c[i] + u_c[i])
            cell[i] = sigmoid(x_f[i] + u_f[i]) * cell[i] + put
            after[i] = sigmoid(x_o[i] + u_o[i]) * tanh(cell[i])


@part(inline=True, contract=True)
def power(x):
    """A vector x as e^2x, in place."""
    for i in range(x.size):
        x[i] = exponential(_TWO * min(max(x[i], -_LARGEST), _LARGEST))


@kernel(contract=True)
def powers(x):
    """Keys or queries (rows, a) as e^2x, in place."""
    for row in range(x.shape[0]):
        power(x[row])


@part(reorder=True)
def energy(key, query, v):
    """v . tanh(k + q) without its constant sum of v, given e^2k and e^2q."""
    energy = np.float32(0)
    for i in range(v.size):
        energy += v[i] / (_ONE + key[i] * query[i])
    return -_TWO * energy


@part(inline=True, contract=True)
def softmax(energies):
    """Softmax in place."""
    peak = energies[0]
    for i in range(energies.size):
        peak = max(peak, energies[i])
    total = np.float32(0)
    for i in range(energies.size):
        energies[i] = exponential(energies[i] - peak)
        total += energies[i]
    for i in range(energies.size):
        energies[i] /= total


@kernel(contract=True)
def attend(queries, gain, v, keys, starts, sentences, shares):
    """Where attention looks: ``shares`` (rows, longest sentence), softmax(v . tanh(key + query)) over a sentence.

    ``queries`` (rows, a), normalised here in place; ``keys`` (n_positions, a) as ``powers``, those of all sentences one
    after the other, which begin at ``starts`` (n_sentences + 1,) int64; ``sentences`` (rows,) int32: which one a row
    looks at.
    """
    for row in range(queries.shape[0]):
        first, last = starts[sentences[row]], starts[sentences[row] + 1]
        query, weights = queries[row], shares[row, : last - first]
        _normalise(query, gain)
        power(query)
        for i in range(weights.size):
            weights[i] = energy(keys[first + i], query, v)
        softmax(weights)


@kernel(contract=True)
def mix(shares, values, starts, sentences, out):
    """What attention finds: ``out`` (rows, m), sums of ``values`` (n_positions, m) weighted by ``shares``."""
    for row in range(out.shape[0]):
        first, last = starts[sentences[row]], starts[sentences[row] + 1]
        found = out[row]
        found[:] = np.float32(0)
        for i in range(last - first):
            weight, value = shares[row, i], values[first + i]
            for j in range(found.size):
                found[j] += weight * value[j]


@kernel(contract=True)
def read(parts, table, places, found, gain):
    """The vectors before the output layer, in place of ``parts`` (rows, e): tanh of the normalised sum of the parts of
    the state, of the last symbol (rows ``places`` of ``table``) and of what attention has found (rows, e)."""
    for row in range(parts.shape[0]):
        part, symbol, context = parts[row], table[places[row]], found[row]
        for i in range(part.size):
            part[i] += symbol[i] + context[i]
        _normalise(part, gain)
        for i in range(part.size):
            part[i] = tanh(part[i])


@part(reorder=True)
def dot(a, b):
    total = np.float32(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel(contract=True)
def heads(queries, pairs, places, which, counts, shares, out):
    """Attention with several heads: ``out`` (rows, e), side by side what each head finds for the part of ``queries``
    (rows, e) that is its own.

    ``pairs`` (n, 2e): keys and values; row r sees those at ``places[which[r], : counts[which[r]]]``, int32.
    ``shares`` (n_heads, longest) is scratch; it keeps what the last row looked at.
    """
    e, n_heads = queries.shape[1], shares.shape[0]
    size = e // n_heads
    scale = np.float32(1.0 / np.sqrt(size))
    for row in range(queries.shape[0]):
        seen = places[which[row], : counts[which[row]]]
        for head in range(n_heads):
            first, last = head * size, (head + 1) * size
            query, found, weights = queries[row, first:last], out[row, first:last], shares[head, : seen.size]
            for i in range(seen.size):
                weights[i] = dot(query, pairs[seen[i], first:last]) * scale
            softmax(weights)
            found[:] = np.float32(0)
            for i in range(seen.size):
                weight, value = weights[i], pairs[seen[i], e + first : e + last]
                for j in range(size):
                    found[j] += weight * value[j]
