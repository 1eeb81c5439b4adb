"""Dynamic programs: each is written once for its structure, and its semiring decides whether it adds up or maximises.

``semirings`` (what that means), ``chains`` (all paths through positions with the same states), ``nbest`` (the n best
paths of a decoder's lattice), ``trees`` (all ways to give the nodes of a forest classes), ``charts`` (all projective
dependency trees), ``cky`` (all binary trees by rules), ``spanning`` (all dependency trees), ``projections`` (rows of a
table, cut to their largest entries). Expected counts and k best are passes over the table that a program leaves behind.
"""
