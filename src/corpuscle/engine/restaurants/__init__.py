"""Hierarchical Pitman-Yor processes: restaurants in flat arrays.

- ``pool``: the arrays and the names of their columns, found by hashing, freed and reused;
- ``hierarchy``: restaurants of fixed depth over them; ``variable``: restaurants of variable depth;
- ``contexts``: a finished model of variable depth, for prediction;
- ``seating``: parameters, probability and soundness of a whole pool; ``gibbs``: sweeps over a text.
"""
