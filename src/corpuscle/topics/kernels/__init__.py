"""Compiled code of topic models.

- ``state``: the n-grams of a text, and a sampler's state; ``check``: of that; ``seating``: restaurants of all topics;
- ``token_sampler``, ``blocks``: Gibbs sampling, word by word and block by block;
- ``lda``: latent Dirichlet allocation, the prior of topics, unigram rescaling; ``frozen``, ``particles``: prediction.
"""
