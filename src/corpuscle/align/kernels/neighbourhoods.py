"""Neighbourhoods: in how many sentence pairs two types meet, and which words no allowed link would reach.

Dyer, Clark, Lavie and Smith, "Unsupervised word alignment with arbitrary features", 2011, section 3.3 (shrinking the
discriminative neighbourhood).
"""

from __future__ import annotations

from corpuscle.align.kernels.cooccurrence import shape_of
from corpuscle.compiled import kernel


@kernel
def meetings(pairs, first, last, stamps, counts):
    """Add to ``counts`` int64 (n_couples,) the sentence pairs of first..last-1 in which each couple meets.

    ``stamps`` int32 (n_couples,) holds the last pair in which each was seen, counted from 1.
    """
    for sentence in range(first, last):
        for cell in range(pairs.cell_starts[sentence], pairs.cell_starts[sentence + 1]):
            couple = pairs.cells[cell]
            if stamps[couple] != sentence + 1:
                stamps[couple] = sentence + 1
                counts[couple] += 1


@kernel
def reach(pairs, first, last, table, from_null, allowed):
    """Allow for every output that no state of its sentence may generate the couple with the largest ``table`` entry.

    ``pairs``: see ``cooccurrence.Directed``. ``allowed`` bool (n_couples,) is changed; ``from_null`` bool, by output
    type, says what the null word may generate.
    """
    for sentence in range(first, last):
        m, n, state_step, output_step = shape_of(pairs, sentence)
        for j in range(n):
            reached = from_null[pairs.outputs[pairs.output_starts[sentence] + j]]
            best = -1
            for i in range(m):
                couple = pairs.cells[pairs.cell_starts[sentence] + i * state_step + j * output_step]
                reached = reached or allowed[couple]
                if best < 0 or table[couple] > table[best]:
                    best = couple
            if not reached and best >= 0:
                allowed[best] = True
