"""Compiled code of word alignment.

- ``cooccurrence``, ``couple_index``: which types meet, and where that is counted;
- ``translation``: Model 1 and the diagonal model; ``distortion``: the hidden Markov model; ``fertility``: drawn links;
- ``loglinear``, ``loglinear_paths``: the globally normalised model; ``online``: its weights, learned online;
- ``symmetry``: two directions become one; ``spelling``: how alike two strings are;
- ``gaps``: phrase pairs with gaps, for hierarchical rules.
"""
