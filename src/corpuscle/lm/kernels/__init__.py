"""Compiled code of language models, and what computes with it on arrays alone.

- ``arpa``: numbers and rows of ARPA files; ``counting``: n-gram counts of several texts together, in memory and on
  disk;
- ``scoring``: a few events read from counts before a model is laid out, and words of the document so far;
- ``plre``: low rank orders between those of n-grams, and the factors that they are made of;
- ``loglinear``, ``proximal``: the loss of a log-linear model over a tree of contexts, penalties on trees of weights,
  and gradients with momentum; ``spectral``: operators of a hidden Markov model, learned and applied.
"""
