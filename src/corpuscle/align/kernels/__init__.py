"""Compiled code of word alignment.

- ``cooccurrence``: which types meet, and where that is counted; ``em``: Model 1, the diagonal and the Markov model;
- ``fertility``: drawn links; ``loglinear``, ``loglinear_paths``: the globally normalised model, learned online;
- ``links``: two directions become one, phrase pairs with gaps become hierarchical rules.
"""
