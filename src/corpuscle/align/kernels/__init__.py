"""Compiled code of word alignment.

- ``cooccurrence``, ``sharing``, ``neighbourhoods``: which types meet, and where that is counted;
- ``translation``: Model 1 and the diagonal model; ``jumps``: the hidden Markov model; ``fertility``: drawn links;
- ``loglinear``, ``loglinear_sums``, ``loglinear_links``: the globally normalised model;
- ``symmetry``: two directions become one; ``spelling``: how alike two strings are.
"""
