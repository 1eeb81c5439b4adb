"""Dynamic programs: each is written once for its structure, and its semiring decides whether it adds up or maximises.

A dynamic program combines the weights along a path (*times*) and those of alternative paths (*plus*). Times distributes
over plus, so all paths with the same beginning can be taken together, whatever the two operations are:

=======  ======  =======  ========  =======  ======================================================================
         plus    times    of none   of both  answer
=======  ======  =======  ========  =======  ======================================================================
``SUM``  a + b   a b      0         1        the sum over all paths: probabilities, expected counts, samples
``MAX``  max     a + b    -inf      0        the best path: weights are given as logarithms
=======  ======  =======  ========  =======  ======================================================================

Logarithms are exact about which of two paths is better, and do not underflow. Sums are taken of the weights themselves,
scaled where they could become too small: a sum of logarithms would need an exponential for each term, which takes 40 to
50 times as long. Where a program computes its weights on its way (``align.kernels.em``, ``segment.kernels.lattice``),
both semirings multiply weights, scaled; of none is 0 then.

A program is made by a factory, whose kernel closes over the semiring and nothing else::

    sum_chain, best_chain = chain(SUM), chain(MAX)

so that its branches on the semiring are decided when it is compiled, and both kernels are found in the cache on disk by
the next process. (A kernel that closes over another kernel is not.)

Goodman, "Semiring parsing", 1999.

``chains`` (all paths through positions with the same states), ``trees`` (all ways to give the nodes of a forest
classes), ``charts`` (all projective dependency trees), ``spanning`` (all dependency trees), ``cky`` (all binary trees
by rules), ``dense`` (the same for a dense grammar, by products of matrices). Expected counts and k best are passes over
the table that a program leaves behind.
"""

SUM, MAX = 0, 1
