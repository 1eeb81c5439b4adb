"""What training does between two matrix products: gates, layer normalisation and attention, forward and backward.

As ``cells``, with what the way back needs. PyTorch would do the same in a dozen operations a cell, each with an array
of its own that is written, read and differentiated by itself; here a cell is one pass over its rows in either
direction. The products are left to BLAS.

Notation of ``cells``: X the input's part of the gates, with its bias; A = h U; N = LN(A) = g n with n = (A - mean) s, s
one over the standard deviation; r, z = sigmoid(X + N), c = tanh(X + r N), h' = (1 - z) c + z h. With dh' given:

    dz = dh' (h - c)    da_c = dh' (1 - z) (1 - c^2)    da_r = da_c N_c r (1 - r)    da_z = dz z (1 - z)
    dX = (da_r, da_z, da_c)    dN = (da_r, da_z, da_c r)    dh = z dh' + dA U'
    dn = g dN    dA = s (dn - mean(dn) - n mean(n dn))

Attention: shares p = softmax(v . tanh(k + q)), found = sum of p times values; keys and queries come as powers e^2k and
e^2q, as in ``cells``, gradients are those of k and q, and the way back computes tanh(k + q) = 1 - 2 u with u = 1 / (1 +
e^2k e^2q) anew instead of keeping it: its derivative is 4 u (1 - u). All arrays float32 and contiguous; t: the
position. Derivatives through time: Werbos, "Backpropagation through time: what it does and how to do it", 1990; of
normalised sums: Ba, Kiros and Hinton, "Layer normalization", 2016, supplement; several operations as one in both
directions: Appleyard, Kocisky and Blunsom, "Optimizing performance of recurrent neural networks on GPUs", 2016,
section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corpuscle.compiled import kernel, part
from corpuscle.neural.kernels.cells import dot, energy, moments, power, sigmoid, softmax, tanh

_ZERO, _ONE, _TWO, _FOUR = np.float32(0), np.float32(1), np.float32(2), np.float32(4)


class Trace(NamedTuple):
    """What the way back needs of a cell, with a first axis for positions and a second one for groups of rows, which
    have parameters of their own: ``normal`` (n, groups, b, 3d), A and then n; ``scales`` (n, groups, b), s; ``gates``
    (n, groups, b, 3d): r, z, c. ``gain`` (groups, 3d): g."""

    normal: np.ndarray
    scales: np.ndarray
    gates: np.ndarray
    gain: np.ndarray


class Looks(NamedTuple):
    """What attention looks at: ``keys`` (b, n, a) as powers, ``values`` (b, n, m), ``lengths`` (b,) int64, of the
    sources, and ``v`` (a,); and its ``shares`` (positions, b, n)."""

    keys: np.ndarray
    values: np.ndarray
    lengths: np.ndarray
    v: np.ndarray
    shares: np.ndarray


@part(inline=True, contract=True)
def _standard(x):
    """Subtract the mean of a vector, divide by the standard deviation, in place; one over the latter."""
    mean, scale = moments(x)
    for i in range(x.size):
        x[i] = (x[i] - mean) * scale
    return scale


@part(reorder=True)
def _means(gradient, normal):
    """The means of a vector, and of its products with another."""
    plain, product = _ZERO, _ZERO
    for i in range(gradient.size):
        plain += gradient[i]
        product += gradient[i] * normal[i]
    size = np.float32(gradient.size)
    return plain / size, product / size


@part(inline=True, contract=True)
def _back(gradient, normal, scale, gain, gain_gradient):
    """From dN to dA, in place; what the gain gets is added to ``gain_gradient``."""
    for i in range(gain.size):
        gain_gradient[i] += gradient[i] * normal[i]
        gradient[i] *= gain[i]
    mean, product = _means(gradient, normal)
    for i in range(gain.size):
        gradient[i] = scale * (gradient[i] - mean - normal[i] * product)


@kernel(contract=True)
def normalise(t, normal, scales, gain, bias, out):
    """out[t] = g n + bias, rows (b, m); ``normal`` (n, b, m) and ``scales`` (n, b) as in ``Trace``."""
    for row in range(out.shape[1]):
        x, y = normal[t, row], out[t, row]
        scales[t, row] = _standard(x)
        for i in range(x.size):
            y[i] = x[i] * gain[i] + bias[i]


@kernel(contract=True)
def normalise_back(t, gradient, normal, scales, gain, gain_gradient):
    """From the gradient of g n, rows gradient[t] (b, m), to that of what was normalised, in place."""
    for row in range(gradient.shape[1]):
        _back(gradient[t, row], normal[t, row], scales[t, row], gain, gain_gradient)


@kernel(contract=True)
def gru(t, inputs, trace, alive, before, out):
    """The next states out[t] of the states before[t], (groups, b, d); rows not ``alive`` (n, groups, b) keep theirs.
    ``inputs`` (n, groups, b, 3d), or (1, groups, 1, 3d) where there is a bias alone: X; ``trace.normal[t]`` is A."""
    groups, rows, d = out.shape[1:]
    shared = inputs.shape[0] == 1 and inputs.shape[2] == 1
    for group in range(groups):
        for row in range(rows):
            state, after = before[t, group, row], out[t, group, row]
            if not alive[t, group, row]:
                for i in range(d):
                    after[i] = state[i]
                continue
            x = inputs[0, group, 0] if shared else inputs[t, group, row]
            normal, gates = trace.normal[t, group, row], trace.gates[t, group, row]
            gain = trace.gain[group]
            trace.scales[t, group, row] = _standard(normal)
            for i in range(3 * d):
                gates[i] = normal[i] * gain[i]
            r, z, c = gates[:d], gates[d : 2 * d], gates[2 * d :]
            x_r, x_z, x_c = x[:d], x[d : 2 * d], x[2 * d :]
            for i in range(d):
                r[i] = sigmoid(x_r[i] + r[i])
                z[i] = sigmoid(x_z[i] + z[i])
                c[i] = tanh(x_c[i] + r[i] * c[i])
                after[i] = c[i] + z[i] * (state[i] - c[i])


@kernel(contract=True)
def gru_back(t, trace, alive, before, gradient, inputs_gradient, product_gradient, gain_gradient):
    """From the gradient of the next states, (groups, b, d), to that of the states, in place, without what comes through
    A; ``inputs_gradient[t]``: dX; ``product_gradient[t]``: dA, both (groups, b, 3d)."""
    groups, rows, d = gradient.shape
    for group in range(groups):
        for row in range(rows):
            dx, da = inputs_gradient[t, group, row], product_gradient[t, group, row]
            if not alive[t, group, row]:
                dx[:] = _ZERO
                da[:] = _ZERO
                continue
            state, dh = before[t, group, row], gradient[group, row]
            normal, gates = trace.normal[t, group, row], trace.gates[t, group, row]
            gain = trace.gain[group]
            r, z, c = gates[:d], gates[d : 2 * d], gates[2 * d :]
            n_c, g_c = normal[2 * d :], gain[2 * d :]
            dx_r, dx_z, dx_c = dx[:d], dx[d : 2 * d], dx[2 * d :]
            for i in range(d):
                dx_c[i] = dh[i] * (_ONE - z[i]) * (_ONE - c[i] * c[i])
                dx_r[i] = dx_c[i] * n_c[i] * g_c[i] * r[i] * (_ONE - r[i])
                dx_z[i] = dh[i] * (state[i] - c[i]) * z[i] * (_ONE - z[i])
                dh[i] *= z[i]
            da_r, da_z, da_c = da[:d], da[d : 2 * d], da[2 * d :]
            for i in range(d):
                da_r[i] = dx_r[i]
                da_z[i] = dx_z[i]
                da_c[i] = dx_c[i] * r[i]
            _back(da, normal, trace.scales[t, group, row], gain, gain_gradient[group])


@kernel(contract=True)
def attend(t, looks, queries, found):
    """What attention finds, found[t] (b, m), with queries[t] (b, a), which become powers, and its shares."""
    for row in range(found.shape[1]):
        shares, out, query = looks.shares[t, row, : looks.lengths[row]], found[t, row], queries[t, row]
        power(query)
        for i in range(shares.size):
            shares[i] = energy(looks.keys[row, i], query, looks.v)
        softmax(shares)
        out[:] = _ZERO
        for i in range(shares.size):
            share, value = shares[i], looks.values[row, i]
            for j in range(out.size):
                out[j] += share * value[j]


@part(inline=True, contract=True)
def _energy_back(key, query, v, gradient, query_gradient, key_gradient, v_gradient):
    for i in range(v.size):
        u = _ONE / (_ONE + key[i] * query[i])
        inside = gradient * v[i] * _FOUR * u * (_ONE - u)
        v_gradient[i] += gradient * (_ONE - _TWO * u)
        key_gradient[i] += inside
        query_gradient[i] += inside


@kernel(contract=True)
def attend_back(t, looks, queries, found_gradient, shares_gradient, queries_gradient, gradients):
    """From the gradients of what was found, (b, m), and of the shares, (positions, b, n), which are changed, to that of
    the queries, queries_gradient[t]; ``gradients``: those of keys, values and v, which are added to."""
    keys_gradient, values_gradient, v_gradient = gradients
    for row in range(found_gradient.shape[0]):
        n = looks.lengths[row]
        shares, down, dp = looks.shares[t, row, :n], found_gradient[row], shares_gradient[t, row, :n]
        query, dq = queries[t, row], queries_gradient[t, row]
        dq[:] = _ZERO
        for i in range(n):
            value, dvalue, share = looks.values[row, i], values_gradient[row, i], shares[i]
            dp[i] += dot(down, value)
            for j in range(down.size):
                dvalue[j] += share * down[j]
        mean = dot(shares, dp)
        for i in range(n):
            slope = shares[i] * (dp[i] - mean)
            _energy_back(looks.keys[row, i], query, looks.v, slope, dq, keys_gradient[row, i], v_gradient)
