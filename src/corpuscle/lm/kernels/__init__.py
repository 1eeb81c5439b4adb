"""Compiled code of language models, and what computes with it on arrays alone.

- ``arpa``: numbers and rows of ARPA files; ``cache``: words of the document so far;
- ``merging``, ``external_counting``: n-gram counts of several texts together, in memory and on disk;
- ``backoff_on_counts``: a few events read from counts, before a model is laid out;
- ``ensemble``, ``kl_factorisation``: low rank orders between those of n-grams, and the factors that they are made of;
- ``suffixes``, ``loglinear``, ``proximal``, ``accelerated``: tries of contexts, the loss of a log-linear model over
  them, penalties on trees of weights, and gradients with momentum;
- ``operators``: what a hidden Markov model believes after each word.
"""
