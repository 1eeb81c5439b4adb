"""Linear algebra of large sparse matrices: what counts say when they are seen as a matrix.

- ``sparse``: products of sparse matrices with dense blocks, shared out by rows;
- ``lowrank``: the first singular values and vectors of a matrix or an operator;
- ``cca``: the directions in which two views of the same items, or several, agree.
"""
